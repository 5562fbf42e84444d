/* SPDX-License-Identifier: MIT */
/* Calibrations as they are kept, and what they make of readings. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "energy/calibration.h"
#include "energy/units.h"
#include "meter/calibrated.h"
#include "meter_bench.h"
#include "unit.h"

#define S    WTL_NS_PER_S
#define J    INT64_C(1000000)
#define ZONE "/sys/class/powercap/intel-rapl:0"
#define HEAD "wattle-calibration/1\n"
/* Gain 1.25 +- 2 %, zero 2 W +- 0.1 W. */
#define LINE " 1250000 2000000 20000 100000 300000 -40000 1700000000\n"

/* ---- Lines ---- */

static void test_lines(void **state)
{
	static const char *const good[] = {
		"a:b 1250000 -2000000 20000 100000 300000 -40000 1700000000\n",
		"a 100000 -100000000000 0 0 0 -3600000000 0\n",
		"a 10000000 100000000000 10000000 4294967295 100000000000 3600000000 9000000000\n",
	};
	static const char *const bad[] = {
		"",
		"a",
		" 1250000 0 0 0 0 0 0",
		"a 1250000 0 0 0 0 0",
		"a 1250000 0 0 0 0 0 0 0",
		"a 1250000 0 0 0 0 0 0 ",
		"a  1250000 0 0 0 0 0 0",
		"a 1250000 x 0 0 0 0 0",
		"a 99999 0 0 0 0 0 0",
		"a 10000001 0 0 0 0 0 0",
		"a 1250000 -100000000001 0 0 0 0 0",
		"a 1250000 100000000001 0 0 0 0 0",
		"a 1250000 0 -1 0 0 0 0",
		"a 1250000 0 10000001 0 0 0 0",
		"a 1250000 0 0 4294967296 0 0 0",
		"a 1250000 0 0 0 100000000001 0 0",
		"a 1250000 0 0 0 0 3600000001 0",
		"a 1250000 0 0 0 0 0 -1",
		"a 1250000 0 0 0 0 0 9000000001",
		"\x7f 1250000 0 0 0 0 0 0",
	};
	struct wtl_kept_calibration kept;
	char line[WTL_KEPT_LINE_MAX], key[100];

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(good); i++) {
		size_t len = strlen(good[i]);

		assert_int_equal(wtl_kept_calibration_parse(good[i], len - 1, &kept), 0);
		assert_int_equal(wtl_kept_calibration_print(line, &kept), len);
		assert_string_equal(line, good[i]);
	}
	for (size_t i = 0; i < UNIT_COUNT(bad); i++)
		if (wtl_kept_calibration_parse(bad[i], strlen(bad[i]), &kept) != -EINVAL)
			fail_msg("'%s' was read", bad[i]);
	/* The longest key, and one more. */
	for (size_t len = sizeof(kept.key) - 1; len <= sizeof(kept.key); len++) {
		char text[200];

		memset(key, 'k', len);
		key[len] = '\0';
		snprintf(text, sizeof(text), "%s 1250000 0 0 0 0 0 0", key);
		assert_int_equal(wtl_kept_calibration_parse(text, strlen(text), &kept),
				 len < sizeof(kept.key) ? 0 : -EINVAL);
	}
	/* A key of one character: any printable one will do; none will not. */
	strcpy(kept.key, "k");
	for (int c = 0; c < 256; c++) {
		kept.key[0] = (char)c;
		if (c > ' ' && c <= '~')
			assert_true(wtl_kept_calibration_print(line, &kept) > 0);
		else
			assert_int_equal(wtl_kept_calibration_print(line, &kept), -EINVAL);
	}
}

static void test_of_a_fit(void **state)
{
	const struct wtl_calibration fit = {.gain = 1.0446,
					    .zero_w = -22.6,
					    .gain_error = 0.0123,
					    .zero_error_w = 0.25,
					    .rms_w = 1.5,
					    .lag_ns = 512 * WTL_NS_PER_MS};
	struct wtl_calibration one;
	struct wtl_kept_calibration kept;

	(void)state;
	assert_int_equal(wtl_kept_calibration_set(&kept, "u:gpu", &fit, 1700000000), 0);
	assert_string_equal(kept.key, "u:gpu");
	assert_int_equal(kept.gain_ppm, 1044600);
	assert_int_equal(kept.zero_uw, -22600000);
	assert_int_equal(kept.gain_error_ppm, 12300);
	assert_int_equal(kept.zero_error_uw, 250000);
	assert_int_equal(kept.rms_uw, 1500000);
	assert_int_equal(kept.lag_us, 512000);
	assert_int_equal(kept.t_utc_s, 1700000000);
	/* No gain is surer than 1 %, and no sensor is off by more than ten times. */
	one = fit;
	one.gain_error = 0.001;
	assert_int_equal(wtl_kept_calibration_set(&kept, "u:gpu", &one, 0), 0);
	assert_int_equal(kept.gain_error_ppm, WTL_CALIBRATION_GAIN_PPM);
	one.gain = 11.0;
	assert_int_equal(wtl_kept_calibration_set(&kept, "u:gpu", &one, 0), -ERANGE);
	for (int i = 0; i < 4; i++) {
		one = fit;
		*(double *[]){&one.gain, &one.zero_w, &one.gain_error, &one.zero_error_w}[i] =
			i % 2 ? (double)NAN : 1e300;
		assert_int_equal(wtl_kept_calibration_set(&kept, "u:gpu", &one, 0), -ERANGE);
	}
	assert_int_equal(wtl_kept_calibration_set(&kept, "two words", &fit, 0), -ERANGE);
}

/* ---- The file ---- */

static void test_paths_and_keys(void **state)
{
	struct wtl_channel channel = {.domain = "package-0", .kind = WATTLE_KIND_GPU};
	char path[32], key[WTL_KEPT_KEY_SIZE];

	(void)state;
	assert_int_equal(wtl_calibration_path("/var/lib/idle", path, sizeof(path)), 0);
	assert_string_equal(path, "/var/lib/calibration");
	assert_int_equal(wtl_calibration_path("idle", path, sizeof(path)), 0);
	assert_string_equal(path, "calibration");
	assert_int_equal(wtl_calibration_path("/idle", path, 13), 0);
	assert_int_equal(wtl_calibration_path("/idle", path, 12), -ENAMETOOLONG);
	wtl_calibration_key(key, 0xabc, &channel);
	assert_string_equal(key, "0000000000000abc:package-0");
	wtl_calibration_key(key, 0xabc, NULL);
	assert_string_equal(key, "0000000000000abc:wall");
	strcpy(channel.serial, "GPU 7\x01~");
	wtl_calibration_key(key, 0xabc, &channel);
	assert_string_equal(key, "GPU_7_~:gpu");
}

static void expect_file(const char *dir, const char *wanted)
{
	char *text = unit_read(dir, "calibration");

	assert_non_null(text);
	assert_string_equal(text, wanted);
	free(text);
}

/* One line a key; lines of others, and what nobody understands, stay. */
static void test_keep(void **state)
{
	struct wtl_kept_calibration one = {.key = "one", .gain_ppm = 1000000};
	struct wtl_kept_calibration two = {.key = "two", .gain_ppm = 1200000};
	char *dir = unit_tmpdir(), *path = unit_path(dir, "calibration");
	struct wtl_io *io;

	(void)state;
	assert_int_equal(wtl_io_real_new(NULL, &io, NULL), 0);
	assert_int_equal(wtl_calibration_keep(io, path, &one), 0);
	expect_file(dir, HEAD "one 1000000 0 0 0 0 0 0\n");
	assert_int_equal(wtl_calibration_keep(io, path, &two), 0);
	one.zero_uw = 7;
	assert_int_equal(wtl_calibration_keep(io, path, &one), 0);
	expect_file(dir, HEAD "two 1200000 0 0 0 0 0 0\none 1000000 7 0 0 0 0 0\n");
	unit_write(dir, "calibration", HEAD "oneself new words\n\n?\none");
	assert_int_equal(wtl_calibration_keep(io, path, &one), 0);
	expect_file(dir, HEAD "oneself new words\n?\none\none 1000000 7 0 0 0 0 0\n");
	/* Nothing is written over another file, or of what is no calibration. */
	unit_write(dir, "calibration", "wattle-idle/2\n");
	assert_int_equal(wtl_calibration_keep(io, path, &one), -WTL_EFORMAT);
	unit_write(dir, "calibration", "wattle");
	assert_int_equal(wtl_calibration_keep(io, path, &one), -WTL_EFORMAT);
	expect_file(dir, "wattle");
	unit_write(dir, "calibration", HEAD);
	one.gain_ppm = 1;
	assert_int_equal(wtl_calibration_keep(io, path, &one), -EINVAL);
	expect_file(dir, HEAD);
	one.gain_ppm = 1000000;
	assert_int_equal(wtl_calibration_keep(io, path, &one), 0);
	expect_file(dir, HEAD "one 1000000 7 0 0 0 0 0\n");
	wtl_io_free(io);
	free(path);
	unit_rmtree(dir);
}

/* ---- A meter ---- */

static void put(struct meter_bench *bench, uint64_t package_uj, uint64_t dram_uj)
{
	meter_bench_write(bench, ZONE "/energy_uj", "%llu\n", (unsigned long long)package_uj);
	meter_bench_write(bench, ZONE ":0/energy_uj", "%llu\n", (unsigned long long)dram_uj);
}

/* A package with DRAM beside it, of a machine that is known by its number. */
static void start(struct meter_bench *bench)
{
	meter_bench_copy(bench, "");
	meter_bench_write(bench, "/etc/machine-id", "0123456789abcdef0123456789abcdef\n");
	meter_bench_write(bench, "/proc/cpuinfo", "processor: 0\nmodel name: Abacus\n");
	meter_bench_write(bench, ZONE "/name", "package-0\n");
	meter_bench_write(bench, ZONE "/max_energy_range_uj", "1999999999\n");
	meter_bench_write(bench, ZONE ":0/name", "dram\n");
	meter_bench_write(bench, ZONE ":0/max_energy_range_uj", "1999999999\n");
	put(bench, 1000, 1000);
	meter_bench_open(bench);
}

/* The file's lines; "@" in them is the machine's number. */
static void load_by(struct meter_bench *bench, const char *lines,
		    int (*how)(struct wattle_meter *meter, const char *idle_path))
{
	char *idle = unit_path(bench->copy, "idle"), text[1000];
	size_t len = 0;

	for (; *lines; lines++)
		len += (size_t)(*lines == '@'
					? snprintf(text + len, sizeof(text) - len, "%016llx",
						   (unsigned long long)bench->meter->machine.id)
					: snprintf(text + len, sizeof(text) - len, "%c", *lines));
	unit_write(bench->copy, "calibration", text);
	bench->log[0] = '\0';
	assert_int_equal(how(bench->meter, idle), 0);
	free(idle);
}

static void load(struct meter_bench *bench, const char *lines)
{
	load_by(bench, lines, wtl_calibrated_load);
}

static size_t channel_of(struct meter_bench *bench, const char *domain)
{
	for (size_t i = 0; i < bench->meter->catalog.n_channels; i++)
		if (strcmp(bench->meter->catalog.channels[i].domain, domain) == 0)
			return i;
	fail_msg("no %s", domain);
	return 0;
}

/* Ten seconds of 10 W and a wrap: gain and zero of the one, nothing of the other. */
static void test_meter(void **state)
{
	const struct wtl_kept_calibration *wall;
	struct wattle_energy package, dram;
	struct meter_bench bench;
	uint64_t shown_uj = 1000;

	(void)state;
	start(&bench);
	assert_null(wtl_calibrated_wall(bench.meter->calibrated));
	bench.meter->catalog.channels[channel_of(&bench, "package-0")].max_uw = 100000000;
	load(&bench, HEAD "other:package-0" LINE "@:wall" LINE "@:package-0" LINE
			  "@:package-0 2000000 0 0 0 0 0 0\n");
	assert_string_equal(bench.log, "");
	wall = wtl_calibrated_wall(bench.meter->calibrated);
	assert_non_null(wall);
	assert_int_equal(wall->zero_uw, 2000000);
	assert_int_equal(bench.meter->catalog.channels[channel_of(&bench, "package-0")].max_uw,
			 127000000);
	assert_int_equal(
		wtl_meter_zero_uw(bench.meter, (size_t)wattle_meter_find(bench.meter, "package-0")),
		200000);
	assert_int_equal(
		wtl_meter_zero_uw(bench.meter, (size_t)wattle_meter_find(bench.meter, "dram-0")),
		0);
	assert_int_equal(wtl_meter_zero_uw(bench.meter, SIZE_MAX), 200000);
	assert_string_equal(meter_bench_domain(&bench, "package-0").device,
			    "Abacus, calibrated 2023-11-14");
	meter_bench_tick(&bench, S);
	assert_int_equal(wattle_window_begin(bench.meter, "w"), 0);
	for (int i = 0; i < 10; i++) {
		shown_uj += 10000000;
		put(&bench, shown_uj, shown_uj);
		meter_bench_tick(&bench, S);
	}
	package = meter_bench_energy(&bench, "w", "package-0");
	dram = meter_bench_energy(&bench, "w", "dram-0");
	assert_int_equal(package.energy_uj, 145 * J);
	assert_int_equal(dram.energy_uj, 100 * J);
	/* 2 % of it and 0.1 W over 10 s, k = 2; the rest is the counter's steps. */
	assert_in_range(package.uncertainty_uj, 6132000, 6500000);
	/* It is loaded once. */
	load(&bench, HEAD "@:dram-0" LINE);
	meter_bench_tick(&bench, S);
	assert_int_equal(meter_bench_energy(&bench, "w", "dram-0").energy_uj, 100 * J);
	meter_bench_done(&bench);
}

/* A channel's maximum grows with gain and zero. A negative zero does not lower it, and an unknown maximum stays unknown. */
static void test_most_power(void **state)
{
	static const struct {
		const char *line;
		uint64_t max_uw, calibrated_max_uw;
	} rows[] = {
		{HEAD "@:package-0 1250000 2000000 0 0 0 0 0\n", 100000000, 127000000},
		{HEAD "@:package-0 1250000 -2000000 0 0 0 0 0\n", 100000000, 125000000},
		{HEAD "@:package-0 1250000 0 0 0 0 0 0\n", 100000000, 125000000},
		{HEAD "@:package-0 1250000 2000000 0 0 0 0 0\n", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
		struct meter_bench bench;
		uint64_t *max_uw;

		start(&bench);
		max_uw = &bench.meter->catalog.channels[channel_of(&bench, "package-0")].max_uw;
		*max_uw = rows[i].max_uw;
		load(&bench, rows[i].line);
		assert_string_equal(bench.log, "");
		assert_int_equal(*max_uw, rows[i].calibrated_max_uw);
		meter_bench_done(&bench);
	}
}

/* Where another machine's readings are read: what has a number of its own is the same sensor. */
static void test_serials_alone(void **state)
{
	struct wtl_channel *channels;
	struct meter_bench bench;
	size_t package, dram;

	(void)state;
	start(&bench);
	channels = bench.meter->catalog.channels;
	package = channel_of(&bench, "package-0");
	dram = channel_of(&bench, "dram-0");
	strcpy(channels[package].serial, "S1");
	load_by(&bench, HEAD "S1:cpu" LINE "@:dram-0" LINE "@:wall" LINE,
		wtl_calibrated_load_serials);
	assert_string_equal(wtl_calibrated_note(&channels[package]), "calibrated 2023-11-14");
	assert_null(wtl_calibrated_note(&channels[dram]));
	assert_null(wtl_calibrated_wall(bench.meter->calibrated));
	meter_bench_done(&bench);
}

/* What an agent reads was calibrated there. */
static void test_another_machine(void **state)
{
	struct wtl_channel *channels;
	struct meter_bench bench;
	size_t package;

	(void)state;
	start(&bench);
	channels = bench.meter->catalog.channels;
	package = channel_of(&bench, "package-0");
	channels[package].source = "serve";
	load(&bench, HEAD "@:package-0" LINE "@:dram-0" LINE);
	assert_null(wtl_calibrated_note(&channels[package]));
	assert_non_null(wtl_calibrated_note(&channels[channel_of(&bench, "dram-0")]));
	meter_bench_done(&bench);
}

static void test_files_that_cannot_be_read(void **state)
{
	static const struct {
		const char *lines, *log;
		bool is_taken;
	} files[] = {
		{HEAD "@:package-0" LINE "x\ny 1\n", "2 lines of '", true},
		{HEAD "nobody" LINE, "", false},
		{HEAD "@:package-0 1250000", "1 lines of '", false},
		{"wattle-calibration/2\n@:package-0" LINE, "cannot be read", false},
	};
	struct meter_bench bench;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(files); i++) {
		start(&bench);
		load(&bench, files[i].lines);
		assert_int_equal(bench.meter->calibrated != NULL, files[i].is_taken);
		assert_non_null(strstr(bench.log, files[i].log));
		if (!files[i].log[0])
			assert_string_equal(bench.log, "");
		meter_bench_done(&bench);
	}
	start(&bench);
	assert_int_equal(wtl_calibrated_load(bench.meter, "/nowhere/idle"), 0);
	assert_null(bench.meter->calibrated);
	assert_string_equal(bench.log, "");
	meter_bench_done(&bench);
}

/* ---- Readings ---- */

struct step {
	int64_t t_ns;
	uint64_t shown, wanted;
	enum how { FINE, FAILED, ANEW } how;
};

static uint64_t apply(struct meter_bench *bench, int64_t t_ns, uint64_t value, enum how how)
{
	struct wtl_reading reading = {
		.t_mono_ns = t_ns,
		.value = value,
		.status = how == FAILED ? WATTLE_STATUS_FAILED : WATTLE_STATUS_OK,
		.anew = how == ANEW,
	};

	wtl_calibrated_apply(bench->meter->calibrated, &reading, channel_of(bench, "package-0"), 1);
	return reading.value;
}

static void check_steps(const char *line, const struct step steps[], size_t n,
			void (*prepare)(struct wtl_channel *channel))
{
	struct meter_bench bench;

	start(&bench);
	load(&bench, line);
	if (prepare)
		prepare(&bench.meter->catalog.channels[channel_of(&bench, "package-0")]);
	for (size_t i = 0; i < n; i++) {
		uint64_t got = apply(&bench, steps[i].t_ns, steps[i].shown, steps[i].how);

		if (got != steps[i].wanted)
			fail_msg("step %zu: %llu instead of %llu", i, (unsigned long long)got,
				 (unsigned long long)steps[i].wanted);
	}
	meter_bench_done(&bench);
}

static void test_counter(void **state)
{
	static const struct step steps[] = {
		{1 * S, 1000, 1000, FINE},
		{2 * S, 1000 + 10 * J, 1000 + 14500000, FINE},
		{2 * S, 1000 + 10 * J, 1000 + 14500000, FINE}, /* the same reading */
		{3 * S, 1000 + 10 * J, 1000 + 14500000, FINE}, /* it stands still */
		{4 * S, 1000 + 20 * J, 1000 + 31 * J, FINE},   /* 12.5 J, and 2 W for two seconds */
		{5 * S, 77, 77, FAILED},		       /* no value */
		{6 * S, 1000 + 30 * J, 1000 + 47500000, FINE}, /* 12.5 J, and 2 W for two seconds */
		{7 * S, 500, 500, ANEW},		       /* it began again */
		{8 * S, 500 + 4, 500 + 5 + 2 * J, FINE},       /* 1.25 counts each */
		{9 * S, 500 + 5, 500 + 6 + 4 * J, FINE},       /* a fourth is left, */
		{10 * S, 500 + 8, 500 + 10 + 6 * J, FINE},     /* and counted now */
	};

	(void)state;
	check_steps(HEAD "@:package-0" LINE, steps, UNIT_COUNT(steps), NULL);
}

/* Behind its range it begins at 0 again, and so does what is made of it. */
static void test_wraps(void **state)
{
	static const struct step steps[] = {
		{1 * S, 1990 * J, 1990 * J, FINE},
		{2 * S, 10 * J, 17 * J, FINE},
		{3 * S, 14 * J, 24 * J, FINE},
	};

	(void)state;
	check_steps(HEAD "@:package-0" LINE, steps, UNIT_COUNT(steps), NULL);
}

/* An hour without a step has its zero. After a longer one, nobody knows whether the part was on. */
static void test_far_apart(void **state)
{
	static const struct step steps[] = {
		{1 * S, 1000, 1000, FINE},
		{3601 * S, 1000 + 4 * J, 1000 + (7205 - 3 * 2000) * J, FINE},
		{7202 * S, 1000 + 8 * J, 1000 + (7210 - 3 * 2000) * J, FINE},
	};

	(void)state;
	check_steps(HEAD "@:package-0" LINE, steps, UNIT_COUNT(steps), NULL);
}

static void no_range(struct wtl_channel *channel)
{
	channel->range = 0;
}

static void test_reset(void **state)
{
	static const struct step steps[] = {
		{1 * S, 1000, 1000, FINE},
		{2 * S, 900, 900, FINE},
		{3 * S, 900 + 4 * J, 900 + 7 * J, FINE},
	};

	(void)state;
	check_steps(HEAD "@:package-0" LINE, steps, UNIT_COUNT(steps), no_range);
}

/* A zero below 0 takes away, but never more than there was. */
static void test_less(void **state)
{
	static const struct step steps[] = {
		{1 * S, 1000, 1000, FINE},
		{2 * S, 1000 + 10 * J, 1000 + 2 * J, FINE},
		{3 * S, 1000 + 11 * J, 1000 + 2 * J, FINE},
		{4 * S, 1000 + 21 * J, 1000 + 4 * J, FINE},
	};

	(void)state;
	check_steps(HEAD "@:package-0 500000 -3000000 0 0 0 0 0\n", steps, UNIT_COUNT(steps), NULL);
}

static void is_of_quarters(struct wtl_channel *channel)
{
	channel->unit.den = 4;
}

/* A count of a quarter of a microjoule: 2 J are 2.5 J, and 2 more of the zero. */
static void test_small_counts(void **state)
{
	static const struct step steps[] = {
		{1 * S, 1000, 1000, FINE},
		{2 * S, 1000 + 8 * J, 1000 + 18 * J, FINE},
	};

	(void)state;
	check_steps(HEAD "@:package-0" LINE, steps, UNIT_COUNT(steps), is_of_quarters);
}

static void is_power(struct wtl_channel *channel)
{
	channel->quantity = WTL_QUANTITY_POWER;
	channel->unit = WTL_UNIT_MILLI;
}

static void test_power(void **state)
{
	static const struct step steps[] = {
		{1 * S, 100000, 127000, FINE},
		{1 * S, 100000, 127000, FINE},
		{2 * S, 0, 2000, FINE},
		{3 * S, 5, 5, FAILED},
		{4 * S, UINT64_MAX, UINT64_MAX, FINE},
	};
	static const struct step below[] = {{1 * S, 1000, 0, FINE}, {2 * S, 9000, 1500, FINE}};

	(void)state;
	check_steps(HEAD "@:package-0" LINE, steps, UNIT_COUNT(steps), is_power);
	check_steps(HEAD "@:package-0 500000 -3000000 0 0 0 0 0\n", below, UNIT_COUNT(below),
		    is_power);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_of_a_fit),
		cmocka_unit_test(test_paths_and_keys),
		cmocka_unit_test(test_keep),
		cmocka_unit_test(test_meter),
		cmocka_unit_test(test_most_power),
		cmocka_unit_test(test_serials_alone),
		cmocka_unit_test(test_another_machine),
		cmocka_unit_test(test_files_that_cannot_be_read),
		cmocka_unit_test(test_counter),
		cmocka_unit_test(test_wraps),
		cmocka_unit_test(test_far_apart),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_less),
		cmocka_unit_test(test_small_counts),
		cmocka_unit_test(test_power),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
