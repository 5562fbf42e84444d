/* SPDX-License-Identifier: MIT */
/* Idle power is kept in a file from one session to the next. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "energy/baseline.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "meter/idle.h"
#include "meter/known_watts.h"
#include "meter_bench.h"
#include "unit.h"
#include "world.h"

struct session {
	struct meter_bench bench;
	struct wtl_io_ops ops;
	struct world world;
	struct wtl_consumers *consumers;
	size_t n_taken, domain;
	char noted[256]; /* the newest line that a tape would keep */
};

/* As a machine: takes the caller's word. */
static int keep_note(struct wtl_io *io, const char *name, char *text, size_t size)
{
	struct session *s = (struct session *)io;

	assert_string_equal(name, "idle");
	assert_true(strnlen(text, size) < sizeof(s->noted));
	assert_null(strchr(text, '\n'));
	strcpy(s->noted, text);
	return 1;
}

static const struct wtl_baseline idle = {
	.is_known = true,
	.idle_uw = 74050000,
	.uncertainty_uw = 600000,
	.t_utc_ns = INT64_C(1795258545) * WTL_NS_PER_S,
	.seen_ns = 12 * WTL_NS_PER_S,
};

static void start_with(struct session *s, enum wtl_weight weight)
{
	const struct wtl_consumers_options options = {.nvml_path = "", .weight = weight};

	memset(s, 0, sizeof(*s));
	meter_bench_root(&s->bench, "xeon-2s-dram");
	s->ops = *s->bench.io.ops;
	s->ops.out_write = pass_out_write;
	s->ops.note = keep_note;
	s->bench.io.ops = &s->ops;
	s->bench.nvml = "";
	meter_bench_open(&s->bench);
	world_init(&s->world);
	assert_int_equal(
		wtl_consumers_new(s->bench.meter, &s->world.io, &options, &s->consumers, NULL), 0);
}

static void start(struct session *s)
{
	start_with(s, WTL_WEIGHT_CPU_TIME);
}

static void finish(struct session *s)
{
	wtl_consumers_free(s->consumers);
	world_done(&s->world);
	meter_bench_done(&s->bench);
}

static void take(void *context, size_t domain, const struct wtl_baseline *taken)
{
	struct session *s = context;

	s->n_taken++;
	s->domain = domain;
	assert_true(taken->is_known);
	assert_int_equal(taken->idle_uw, idle.idle_uw);
	assert_int_equal(taken->uncertainty_uw, idle.uncertainty_uw);
	assert_int_equal(taken->t_utc_ns, idle.t_utc_ns);
	assert_int_equal(taken->seen_ns, idle.seen_ns);
}

static bool load(struct session *s, const char *path)
{
	s->n_taken = 0;
	return wtl_idle_load(s->bench.meter, s->consumers, path, take, s);
}

static void test_kept(void **state)
{
	char *dir = unit_tmpdir(), *path = unit_path(dir, "idle"), *text;
	struct session s;
	size_t package;

	(void)state;
	start(&s);
	package = meter_bench_find(&s.bench, "package-0");
	assert_true(load(&s, path)); /* there is none yet */
	assert_false(wtl_idle_is_known(s.bench.meter, s.consumers));
	wtl_consumers_set_baseline(s.consumers, package, &idle);
	assert_true(wtl_idle_is_known(s.bench.meter, s.consumers));
	wtl_idle_save(s.bench.meter, s.consumers, path);
	/* What is known already is not taken. */
	assert_true(load(&s, path));
	assert_int_equal(s.n_taken, 0);
	assert_string_equal(s.bench.log, "");
	finish(&s);

	text = unit_read(dir, "idle");
	assert_non_null(strstr(text, "wattle-idle/2\nmachine "));
	assert_non_null(strstr(text, "\npackage-0 rapl-"));
	start(&s);
	assert_true(load(&s, path));
	assert_int_equal(s.n_taken, 1);
	assert_int_equal(s.domain, package);
	assert_true(wtl_idle_is_known(s.bench.meter, s.consumers));
	finish(&s);
	free(text);
	free(path);
	unit_rmtree(dir);
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0;

	for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
		n++;
	return n;
}

/* What programs draw: as many as there is room for, those that were seen most. By CPU time alone, and for other devices,
 * lines stay. */
static void test_programs(void **state)
{
	char *dir = unit_tmpdir(), *path = unit_path(dir, "idle"), *text;
	char lines[16384] = "wattle-idle/2\n";
	struct session s;
	int len = (int)strlen(lines);

	(void)state;
	for (int i = 1; i <= 70; i++)
		len += snprintf(
			lines + len, sizeof(lines) - (size_t)len,
			"watts:packages p%d 10000000 500000 2026-11-21T10:55:45Z %d000000000\n", i,
			i);
	len += snprintf(
		lines + len, sizeof(lines) - (size_t)len,
		"watts:package-0 p1 10000000 500000 2026-11-21T10:55:45Z 1 0000000000000001\n"
		"watts:packages \n");
	for (int is_learned = 0; is_learned <= 1; is_learned++) {
		unit_write(dir, "idle", lines);
		start_with(&s, is_learned ? WTL_WEIGHT_LEARNED : WTL_WEIGHT_CPU_TIME);
		assert_true(load(&s, path));
		assert_int_equal(s.n_taken, 0);
		assert_int_equal(wtl_idle_is_known(s.bench.meter, s.consumers), is_learned);
		wtl_idle_save(s.bench.meter, s.consumers, path);
		text = unit_read(dir, "idle");
		assert_int_equal(count(text, "watts:packages p"), is_learned ? 64 : 70);
		assert_int_equal(count(text, "watts:packages p70 10000000 500000 "
					     "2026-11-21T10:55:45Z 70000000000\n"),
				 1);
		assert_int_equal(count(text, "watts:packages p6 "), is_learned ? 0 : 1);
		assert_int_equal(count(text, "watts:package-0 p1 10000000 500000 "
					     "2026-11-21T10:55:45Z 1 0000000000000001\n"),
				 1);
		free(text);
		finish(&s);
	}
	free(path);
	unit_rmtree(dir);
}

/* What is another machine's or version's, or not ours, is not taken; the last is not written over either. */
static void test_other_files(void **state)
{
	static const struct {
		const char *text, *log;
		bool may_be_kept;
	} files[] = {
		{"", "", true},
		{"wattle-idle/2\nmachine 3 Abacus\npackage-0 rapl-powercap 1 1 2026-11-21T10:55:45Z 1\n",
		 "", true},
		{"wattle-idle/1\n", "", true},
		{"wattle-idle/3\n", "is not a file of idle baselines", false},
		{"wattle-idle", "is not a file of idle baselines", false},
	};
	char *dir = unit_tmpdir(), *path = unit_path(dir, "idle");
	struct session s;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(files); i++) {
		start(&s);
		unit_write(dir, "idle", files[i].text);
		assert_int_equal(load(&s, path), files[i].may_be_kept);
		assert_int_equal(s.n_taken, 0);
		assert_int_equal(s.bench.log[0] != '\0', files[i].log[0] != '\0');
		assert_non_null(strstr(s.bench.log, files[i].log));
		finish(&s);
	}
	start(&s);
	assert_false(load(&s, dir));
	assert_non_null(strstr(s.bench.log, "cannot be read: "));
	wtl_idle_save(s.bench.meter, s.consumers, "/proc/none/idle");
	assert_non_null(strstr(s.bench.log, "cannot be kept in '/proc/none/idle'"));
	finish(&s);
	free(path);
	unit_rmtree(dir);
}

/* Lines of domains and sources that are not there, and lines that are none. */
static void test_other_lines(void **state)
{
	char *dir = unit_tmpdir(), *path = unit_path(dir, "idle"), *text, *end;
	char more[2048], *number;
	struct session s;

	(void)state;
	start(&s);
	wtl_consumers_set_baseline(s.consumers, meter_bench_find(&s.bench, "package-1"), &idle);
	wtl_idle_save(s.bench.meter, s.consumers, path);
	finish(&s);
	text = unit_read(dir, "idle");
	end = strchr(strchr(text, '\n') + 1, '\n') + 1;
	snprintf(more, sizeof(more),
		 "%.*spackage-9 rapl-perf 1 1 2026-11-21T10:55:45Z 1\nrubbish\n"
		 "package-0 hwmon 1 1 2026-11-21T10:55:45Z 1\n%s",
		 (int)(end - text), text, end);
	more[strlen(more) - 1] = '\0'; /* the last newline */
	unit_write(dir, "idle", more);
	start(&s);
	assert_true(load(&s, path));
	assert_int_equal(s.n_taken, 1);
	assert_int_equal(s.domain, meter_bench_find(&s.bench, "package-1"));
	finish(&s);
	/* Its device's number is none, or too short, or too long. */
	number = strrchr(more, ' ') + 1;
	for (int i = 0; i < 3; i++) {
		strcpy(number + 15, i == 0 ? "x" : i == 1 ? "" : "00");
		unit_write(dir, "idle", more);
		start(&s);
		assert_true(load(&s, path));
		assert_int_equal(s.n_taken, 0);
		finish(&s);
	}
	free(text);
	free(path);
	unit_rmtree(dir);
}

/* Another machine's lines, another GPU's and such as nobody understands stay; what is known anew replaces its
 * own. */
static void test_others_stay(void **state)
{
	char *dir = unit_tmpdir(), *path = unit_path(dir, "idle"), *text, *end;
	const char *kept[] = {
		"gpu-0 nvml 60000000 1 2026-11-21T10:55:45Z 1 0123456789abcdef\n",
		"package-0 hwmon 5 1 2026-11-21T10:55:45Z 1\n",
		"rubbish\n",
		"machine 00000000000000aa 8 Abacus\n",
		"package-0 rapl-perf 7 1 2026-11-21T10:55:45Z 1 0123456789abcdef\n",
	};
	struct wtl_baseline other = idle;
	char more[2048];
	struct session s;

	(void)state;
	start(&s);
	wtl_consumers_set_baseline(s.consumers, meter_bench_find(&s.bench, "package-0"), &idle);
	wtl_idle_save(s.bench.meter, s.consumers, path);
	finish(&s);
	text = unit_read(dir, "idle");
	snprintf(more, sizeof(more), "%s%s%s%s%s%s", text, kept[0], kept[1], kept[2], kept[3],
		 kept[4]);
	free(text);
	unit_write(dir, "idle", more);
	start(&s);
	assert_true(load(&s, path));
	assert_int_equal(s.n_taken, 1);
	finish(&s);

	start(&s);
	other.idle_uw = 81000000;
	wtl_consumers_set_baseline(s.consumers, meter_bench_find(&s.bench, "package-0"), &other);
	wtl_idle_save(s.bench.meter, s.consumers, path);
	finish(&s);
	text = unit_read(dir, "idle");
	for (size_t i = 0; i < UNIT_COUNT(kept); i++)
		assert_non_null(strstr(text, kept[i]));
	assert_null(strstr(text, " 74050000 "));
	end = strstr(text, " 81000000 ");
	assert_non_null(end);
	assert_null(strstr(end + 1, " 81000000 "));
	assert_null(strstr(strstr(text, "machine ") + 1, "\nmachine 0000000000000000"));
	free(text);
	free(path);
	unit_rmtree(dir);
}

/* Whatever is in the file is read, and written back in a form that is read again. */
static void test_damaged_files(void **state)
{
	char *dir = unit_tmpdir(), *path = unit_path(dir, "idle"), *good;
	uint64_t random = 12;
	struct session s;

	(void)state;
	start(&s);
	wtl_consumers_set_baseline(s.consumers, meter_bench_find(&s.bench, "package-0"), &idle);
	wtl_idle_save(s.bench.meter, s.consumers, path);
	good = unit_read(dir, "idle");
	for (int i = 0; i < 500; i++) {
		char text[512], *kept;

		snprintf(text, sizeof(text), "%s%s", good,
			 "machine 00000000000000aa 8 Abacus\npackage-0 rapl-perf 7 1 "
			 "2026-11-21T10:55:45Z 1 0123456789abcdef\n");
		for (int k = 0; k < 3; k++) {
			random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
			text[14 + (random >> 33) % (strlen(text) - 14)] =
				"0 \nmz"[(random >> 20) % 5];
		}
		text[14 + (random >> 40) % (strlen(text) - 13)] = '\0';
		unit_write(dir, "idle", text);
		load(&s, path);
		wtl_idle_save(s.bench.meter, s.consumers, path);
		kept = unit_read(dir, "idle");
		assert_memory_equal(kept, good, strlen(good));
		assert_int_equal(kept[strlen(kept) - 1], '\n');
		free(kept);
		assert_true(load(&s, path));
	}
	finish(&s);
	free(good);
	free(path);
	unit_rmtree(dir);
}

/* The same name and source on another device is not the same baseline. */
static void test_another_device(void **state)
{
	char *dir = unit_tmpdir(), *path = unit_path(dir, "idle"), *text;
	struct session s;

	(void)state;
	start(&s);
	wtl_consumers_set_baseline(s.consumers, meter_bench_find(&s.bench, "package-0"), &idle);
	wtl_idle_save(s.bench.meter, s.consumers, path);
	finish(&s);
	text = unit_read(dir, "idle");
	for (char *digit = strrchr(text, '\n') - 1; *digit != ' '; digit--)
		*digit = *digit == '0' ? '1' : '0';
	unit_write(dir, "idle", text);
	start(&s);
	assert_true(load(&s, path));
	assert_int_equal(s.n_taken, 0);
	finish(&s);
	free(text);
	free(path);
	unit_rmtree(dir);
}

/* What a program draws of one device is of that device: its number is on the line, and no other takes it. */
static void test_programs_of_a_device(void **state)
{
	static const char line[] =
		"watts:package-0 p2 10000000 500000 2026-11-21T10:55:45Z 7000000000 ";
	const struct wtl_known_watts known = {
		.of = "package-0",
		.name = "p2",
		.watts = {.is_known = true,
			  .idle_uw = 10000000,
			  .uncertainty_uw = 500000,
			  .t_utc_ns = INT64_C(1795258545) * WTL_NS_PER_S,
			  .seen_ns = 7 * WTL_NS_PER_S}};
	char *dir = unit_tmpdir(), *path = unit_path(dir, "idle"), *text, *at;
	struct session s;

	(void)state;
	start_with(&s, WTL_WEIGHT_LEARNED);
	assert_int_equal(wtl_consumers_know_watts(s.consumers, &known), 0);
	wtl_idle_save(s.bench.meter, s.consumers, path);
	finish(&s);
	text = unit_read(dir, "idle");
	at = strstr(text, line);
	assert_non_null(at);
	at += strlen(line);
	assert_int_equal(strspn(at, "0123456789abcdef"), 16);
	assert_int_equal(at[16], '\n');
	for (int is_other = 0; is_other <= 1; is_other++) {
		*at = is_other ? (char)(*at == '0' ? '1' : '0') : *at;
		unit_write(dir, "idle", text);
		start_with(&s, WTL_WEIGHT_LEARNED);
		assert_true(load(&s, path));
		assert_int_equal(wtl_idle_is_known(s.bench.meter, s.consumers), !is_other);
		/* So that a tape knows it, too. */
		assert_int_equal(strncmp(s.noted, line, strlen(line)) == 0, !is_other);
		finish(&s);
	}
	free(text);
	free(path);
	unit_rmtree(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept),	       cmocka_unit_test(test_programs),
		cmocka_unit_test(test_other_files),    cmocka_unit_test(test_other_lines),
		cmocka_unit_test(test_others_stay),    cmocka_unit_test(test_damaged_files),
		cmocka_unit_test(test_another_device), cmocka_unit_test(test_programs_of_a_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
