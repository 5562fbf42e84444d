/* SPDX-License-Identifier: MIT */
#include "commands/top/filter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "commands/top/field.h"
#include "top_bench.h"

#include "unit.h"

/* How many of the server's processes match. */
static unsigned count(const char *text)
{
	struct wtl_top_view view;
	struct wtl_filter filter = {.root = -1};
	struct wtl_filter_error error;
	unsigned n = 0;

	top_bench_server(&view);
	if (wtl_filter_parse(&filter, text, &error) < 0)
		fail_msg("'%s' at %d: %s", text, error.position, error.text);
	for (size_t i = 0; i < view.n_processes; i++)
		n += wtl_filter_match(&filter, &view.processes[i], WTL_TOP_DYNAMIC);
	wtl_top_view_done(&view);
	return n;
}

static void test_matches(void **state)
{
	static const struct {
		const char *text;
		unsigned n;
	} cases[] = {
		{"", 12},
		{"   ", 12},
		{"gpu_w > 10 && user == bob", 1},
		{"gpu_w>10&&user==bob", 1},
		{"gpu_w > 10 and user = bob", 1},
		{"user == bob", 5},
		{"user != bob", 6}, /* the folded row has no user */
		{"!(user == bob)", 7},
		{"not user == bob", 7},
		{"user == BOB", 5},
		{"user ~ o", 8},
		{"user !~ o", 3},
		{"cpu_w >= 9.71", 3},
		{"cpu_w > 9.71", 2},
		{"cpu_w = 9.71W", 1},
		{"cpu_w < 0.01 kW", 8}, /* those that ended have no power */
		{"w > 200", 1},
		{"power > 200 W", 1},
		{"j > 40kJ", 1},
		{"j > 11 Wh", 1},
		{"cpu >= 100 %", 2},
		{"cpu > 100%", 1},
		{"mem > 16MiB && mem < 20 M", 5},
		{"rss < 4097", 1},
		{"pid == 4321", 1},
		{"ppid = 4321 || pid = 4321", 3},
		{"pid = 1 | pid = 812", 2},
		{"pid=1 or pid=812 or pid=2210", 3},
		{"pid > 1 && pid < 5000 && user = bob", 5},
		{"container ~ docker", 1},
		{"!container ~ docker", 11},
		{"container = 'docker/3f1c2a9b77de'", 1},
		{"job = slurm/4711", 1},
		{"unit ~ session", 4},
		{"cgroup ~ user.slice", 4},
		{"state = kernel", 1},
		{"state = exited || state = folded", 2},
		{"command ~ \"--epochs 90\"", 1},
		{"name = python", 3},
		{"threads >= 1", 12},
		{"time > 5 min", 1},
		{"time > 0.1h", 1},
		{"gpu > 90", 1},
		{"gpu_mem > 30 GiB", 1},
		{"pss > 0", 0}, /* not known: not even this */
		{"uss >= 0", 0},
		{"!(pss > 0)", 12},
		{"python", 3},
		{"python || postgres", 4},
		{"\"train.py worker\"", 2},
		{"!python", 9},
		{"4321", 1},
		{"(((pid = 1)))", 1},
		{"! ! pid = 1", 1},
		{"pid = 1 || pid = 812 && user = bob", 1}, /* && before || */
		{"(pid = 1 || pid = 812) && user = root", 2},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		if (count(cases[i].text) != cases[i].n)
			fail_msg("'%s' matches %u, not %u", cases[i].text, count(cases[i].text),
				 cases[i].n);
	}
}

static void test_errors(void **state)
{
	static const struct {
		const char *text;
		int position;
		const char *says;
	} cases[] = {
		{"gpu_w >", 7, "a number belongs here"},
		{"watts > 1", 0, "no field 'watts'"},
		{"cpu_w > 3J", 9, "in watts, not in J"},
		{"cpu_w > 3 qq", 10, "out of place"},
		{"cpu_w > 3qq", 9, "unknown unit 'qq'"},
		{"cpu_w ~ 3", 6, "~ is for texts"},
		{"user > bob", 5, "a text"},
		{"user ==", 7, "missing"},
		{"user == 'bob", 8, "no end"},
		{"(pid = 1", 8, "')' is missing"},
		{"pid = 1)", 7, "out of place"},
		{"pid = 1 &&", 10, "something is missing"},
		{"&& pid = 1", 0, "out of place"},
		{"pid = x", 6, "a number belongs here"},
		{"pid = 1 W", 8, "plain number"},
		{"mem > 1 mW", 8, "in bytes"},
		{"python train", 7, "out of place"},
		{"python \xc3\xa9t\xc3\xa9", 7, "'\xc3\xa9' is out of place"},
		{"!", 1, "something is missing"},
		{"pid = -1", 6, "a number belongs here"},
		{"pid = 1.2.3", 6, "a number belongs here"},
	};
	struct wtl_filter filter = {.root = -1}, before;
	struct wtl_filter_error error;

	(void)state;
	assert_int_equal(wtl_filter_parse(&filter, "pid = 1", &error), 0);
	before = filter;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		if (wtl_filter_parse(&filter, cases[i].text, &error) != -EINVAL)
			fail_msg("'%s' is taken", cases[i].text);
		if (error.position != cases[i].position || !strstr(error.text, cases[i].says))
			fail_msg("'%s' at %d: %s", cases[i].text, error.position, error.text);
		assert_memory_equal(&filter, &before, sizeof(filter));
	}
}

static void test_bounds(void **state)
{
	struct wtl_filter filter = {.root = -1};
	struct wtl_filter_error error;
	char text[WTL_FILTER_MAX + 2];

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(wtl_filter_parse(&filter, text, &error), -EINVAL);
	text[WTL_FILTER_MAX] = '\0';
	assert_int_equal(wtl_filter_parse(&filter, text, &error), 0);
	/* Deeper, and with more terms, than there is room for. */
	memset(text, '(', WTL_FILTER_MAX);
	assert_int_equal(wtl_filter_parse(&filter, text, &error), -EINVAL);
	assert_non_null(strstr(error.text, "levels"));
	memset(text, '!', WTL_FILTER_MAX);
	assert_int_equal(wtl_filter_parse(&filter, text, &error), -EINVAL);
	for (size_t i = 0; i < WTL_FILTER_MAX; i++)
		text[i] = i % 2 ? '|' : 'a';
	text[WTL_FILTER_MAX - 1] = '\0';
	assert_int_equal(wtl_filter_parse(&filter, text, &error), -EINVAL);
	assert_non_null(strstr(error.text, "too long"));
}

static void test_shares(void **state)
{
	struct wtl_top_view view;
	struct wtl_filter filter = {.root = -1};
	struct wtl_filter_error error;
	const struct wtl_top_process *process;

	(void)state;
	top_bench_server(&view);
	process = top_bench_process(&view, 6006); /* 12.5 W dynamic, 22.5 W full */
	assert_int_equal(wtl_filter_parse(&filter, "cpu_w > 20", &error), 0);
	assert_false(wtl_filter_match(&filter, process, WTL_TOP_DYNAMIC));
	assert_true(wtl_filter_match(&filter, process, WTL_TOP_FULL));
	wtl_top_view_done(&view);
}

static void test_search(void **state)
{
	struct wtl_top_view view;
	const struct wtl_top_process *process;

	(void)state;
	top_bench_server(&view);
	process = top_bench_process(&view, 4321);
	assert_true(wtl_filter_search(process, "TRAIN", 5));
	assert_true(wtl_filter_search(process, "bo", 2));
	assert_true(wtl_filter_search(process, "4321", 4));
	assert_false(wtl_filter_search(process, "432", 3));
	assert_false(wtl_filter_search(process, "postgres", 8));
	assert_true(wtl_filter_search(process, "", 0));
	wtl_top_view_done(&view);
}

static void test_fields(void **state)
{
	(void)state;
	for (unsigned i = 0; i < WTL_FIELDS; i++) {
		const struct wtl_field_info *info = wtl_field_info((enum wtl_field)i);

		assert_non_null(info->name);
		assert_non_null(info->title);
		assert_true(info->width >= (int)strlen(info->title));
		assert_int_equal(wtl_field_find(info->name, strlen(info->name)), i);
		if (info->alias)
			assert_int_equal(wtl_field_find(info->alias, strlen(info->alias)), i);
	}
	assert_int_equal(wtl_field_find("CPU_W", 5), WTL_FIELD_CPU_POWER);
	assert_int_equal(wtl_field_find("", 0), WTL_FIELDS);
	assert_int_equal(wtl_field_find("cpu_wx", 6), WTL_FIELDS);
	assert_int_equal(wtl_field_find("cpu_wx", 5), WTL_FIELD_CPU_POWER);
}

/* Unknown is absent, never 0. */
/* Of the host, in a container. */
static void test_outside(void **state)
{
	static const enum wtl_field fields[] = {WTL_FIELD_CPU_POWER, WTL_FIELD_CPU, WTL_FIELD_TIME};
	struct wtl_top_process process = {.has_power = true, .consumer = {.pid = 7, .start_ns = 5}};
	struct wtl_field_value value;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(fields); i++) {
		process.consumer.start_ns = 5;
		process.consumer.cpu_ns = 0;
		assert_true(wtl_field_get(&process, fields[i], WTL_TOP_FULL, &value));
		process.consumer.start_ns = 0;
		assert_false(wtl_field_get(&process, fields[i], WTL_TOP_FULL, &value));
		process.consumer.start_ns = 5;
		process.consumer.cpu_ns = -1;
		assert_false(wtl_field_get(&process, fields[i], WTL_TOP_FULL, &value));
	}
	assert_true(wtl_field_get(&process, WTL_FIELD_POWER, WTL_TOP_FULL, &value));
}

static void test_unknown(void **state)
{
	static const enum wtl_field unknown[] = {
		WTL_FIELD_USER,	      WTL_FIELD_UID,	   WTL_FIELD_PID,	WTL_FIELD_PPID,
		WTL_FIELD_POWER,      WTL_FIELD_CPU_POWER, WTL_FIELD_GPU_POWER, WTL_FIELD_GPU,
		WTL_FIELD_THREADS,    WTL_FIELD_MEMORY,	   WTL_FIELD_PSS,	WTL_FIELD_USS,
		WTL_FIELD_GPU_MEMORY, WTL_FIELD_UNIT,	   WTL_FIELD_JOB,	WTL_FIELD_POD,
		WTL_FIELD_CONTAINER,  WTL_FIELD_CGROUP,	   WTL_FIELD_NAME,	WTL_FIELD_PER_CPU,
	};
	struct wtl_top_process process = {.consumer = {.uid = UINT32_MAX,
						       .gpu_ppm = UINT32_MAX,
						       .rss_bytes = UINT64_MAX,
						       .pss_bytes = UINT64_MAX,
						       .uss_bytes = UINT64_MAX,
						       .gpu_memory_bytes = UINT64_MAX}};
	struct wtl_field_value value;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(unknown); i++)
		if (wtl_field_get(&process, unknown[i], WTL_TOP_FULL, &value))
			fail_msg("%s is known", wtl_field_info(unknown[i])->name);
	assert_true(wtl_field_get(&process, WTL_FIELD_ENERGY, WTL_TOP_FULL, &value));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matches), cmocka_unit_test(test_errors),
		cmocka_unit_test(test_bounds),	cmocka_unit_test(test_shares),
		cmocka_unit_test(test_search),	cmocka_unit_test(test_fields),
		cmocka_unit_test(test_outside), cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
