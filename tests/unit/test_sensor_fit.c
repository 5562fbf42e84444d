/* SPDX-License-Identifier: MIT */
/* What a power sensor is, found from what it shows under a load that is switched on and off. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/infile.h"
#include "energy/sensor_fit.h"
#include "energy/sensor_line.h"
#include "golden.h"

#define MS INT64_C(1000000)
#define S  (1000 * MS)

static uint64_t seed;

static double chance(void)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(seed >> 11) / 9007199254740992.0;
}

/* ---- A load and sensors that are made up ---- */

enum { EDGES = 400 };

struct world {
	int64_t edges_ns[EDGES];
	struct wtl_sensor_load load;
	struct wtl_power_log polls;
	int64_t end_ns;
};

static int64_t on_ns(const struct world *world, int64_t t_ns)
{
	int64_t sum_ns = 0;

	for (size_t i = 0; i < world->load.n && world->edges_ns[i] < t_ns; i += 2) {
		int64_t end_ns = i + 1 < world->load.n && world->edges_ns[i + 1] < t_ns
					 ? world->edges_ns[i + 1]
					 : t_ns;

		sum_ns += end_ns - world->edges_ns[i];
	}
	return sum_ns;
}

/* Steps of a second and a half, then stretches of 15 to 300 ms. */
static void make_load(struct world *world)
{
	int64_t t_ns = 1700000000 * S;
	size_t n = 0;

	for (; n < 4; n++)
		world->edges_ns[n] = t_ns += 1500 * MS;
	while (n < EDGES)
		world->edges_ns[n++] = t_ns += (int64_t)(15e6 * pow(20, chance()));
	world->load = (struct wtl_sensor_load){world->edges_ns, n};
	world->end_ns = t_ns;
}

struct sensor {
	const char *name;
	int64_t window_ns, update_ns, latency_ns; /* window 0: a capacitor of constant_ns */
	int64_t constant_ns, poll_ns;
	unsigned
		slips; /* each so many updates, one comes half a period late, and those after it, too; 0: none */
};

static double shown(const struct world *world, const struct sensor *sensor, int64_t t_ns,
		    double *charged, int64_t *charged_ns)
{
	int64_t end_ns = t_ns - sensor->latency_ns;

	if (sensor->window_ns)
		return (double)(on_ns(world, end_ns) - on_ns(world, end_ns - sensor->window_ns)) /
		       (double)sensor->window_ns;
	for (; *charged_ns < end_ns; *charged_ns += MS / 4) {
		double on =
			(double)(on_ns(world, *charged_ns + MS / 4) - on_ns(world, *charged_ns)) /
			((double)MS / 4);

		*charged +=
			(on - *charged) * (1 - exp(-(double)MS / 4 / (double)sensor->constant_ns));
	}
	return *charged;
}

static void poll_sensor(struct world *world, const struct sensor *sensor)
{
	int64_t t_ns = world->edges_ns[0] - S, next_ns = t_ns, charged_ns = t_ns - S;
	double charged = 0, power_w = 0;
	unsigned n_updates = 0;

	world->polls.n = 0;
	while (t_ns < world->end_ns) {
		while (next_ns <= t_ns) {
			power_w = 55 + 240 * shown(world, sensor, next_ns, &charged, &charged_ns);
			/* As NVML has it, with what a real board varies by. */
			power_w = round(1000 * (power_w + 1.5 * (chance() + chance() - 1))) / 1000;
			next_ns += sensor->update_ns;
			if (sensor->slips && ++n_updates % sensor->slips == 0)
				next_ns += sensor->update_ns / 2;
		}
		assert_int_equal(wtl_power_log_add(&world->polls, t_ns, power_w), 0);
		t_ns += (int64_t)((double)sensor->poll_ns * (0.7 + 0.6 * chance()));
		if (chance() < 0.002) /* somebody else had the processor */
			t_ns += 20 * MS;
	}
}

/* The classes of the study, each with a latency. To three digits, and as it is kept, it is in tests/golden/sensor-fit.txt. */
static void classes_are_found(void **state)
{
	static const struct sensor sensors[] = {
		{"A100, H100 instant", 25 * MS, 100 * MS, 4 * MS, 0, 3 * MS, 0},
		{"RTX 30 instant", 100 * MS, 100 * MS, 10 * MS, 0, 3 * MS, 0},
		{"RTX 30, H100 average", 1000 * MS, 100 * MS, 20 * MS, 0, 3 * MS, 0},
		{"V100, P100", 10 * MS, 20 * MS, 25 * MS, 0, 2 * MS, 0},
		{"K40", 0, 15 * MS, 8 * MS, 25 * MS, 2 * MS, 0},
		{"K80", 0, 100 * MS, 10 * MS, 200 * MS, 3 * MS, 0},
		{"polled slowly", 25 * MS, 100 * MS, 0, 0, 13 * MS, 0},
		{"that loses its step", 25 * MS, 100 * MS, 4 * MS, 0, 3 * MS, 5},
	};

	char key[WTL_KEPT_KEY_SIZE], line[WTL_KEPT_LINE_MAX];
	struct wtl_kept_sensor kept, again;
	struct wtl_sensor_class class;
	struct wtl_buf text;
	int64_t update_ns;

	(void)state;
	wtl_buf_init(&text, 1 << 16);
	memset(&kept, 0, sizeof(kept));
	memset(&again, 0, sizeof(again));
	for (size_t i = 0; i < sizeof(sensors) / sizeof(sensors[0]); i++) {
		const struct sensor *sensor = &sensors[i];
		int64_t window_ns = sensor->window_ns ? sensor->window_ns : 2 * sensor->constant_ns;
		struct world world = {.load.n = 0};
		struct wtl_sensor_found found;
		struct wtl_err err = {.code = 0};
		double window_off, delay_off;

		seed = 7 + i;
		make_load(&world);
		poll_sensor(&world, sensor);
		if (wtl_sensor_fit(&world.polls, &world.load, &found, &err) < 0)
			fail_msg("%s: %s", sensor->name, err.text);
		window_off = (double)(found.window_ns - window_ns) / MS;
		delay_off = (double)(found.latency_ns - sensor->latency_ns) / MS;
		wtl_buf_printf(&text,
			       "%s: update %.4g ms, %s %.3g +- %.2g, latency %.3g +- %.2g ms, "
			       "%.4g to %.4g W, %.3g W rms, %zu values, asked each %.3g ms\n",
			       sensor->name, (double)found.update_ns / MS,
			       found.kind == WTL_SENSOR_LOWPASS ? "capacitor" : "window",
			       (double)found.window_ns / MS, (double)found.window_sd_ns / MS,
			       (double)found.latency_ns / MS, (double)found.latency_sd_ns / MS,
			       found.low_w, found.high_w, found.rms_w, found.n,
			       (double)found.poll_ns / MS);
		assert_int_equal(wtl_sensor_update(&world.polls, &update_ns, &err), 0);
		assert_int_equal(update_ns, found.update_ns);
		wtl_kept_sensor_key(key, "GPU-1", WTL_POWER_INSTANT);
		wtl_kept_sensor_set(&kept, key, &found, 1700000000);
		assert_true(wtl_kept_sensor_print(line, &kept) > 0);
		assert_int_equal(wtl_kept_sensor_parse(line, strlen(line) - 1, &again), 0);
		assert_memory_equal(&kept, &again, sizeof(kept));
		class = (struct wtl_sensor_class){.field = WTL_POWER_INSTANT};
		wtl_kept_sensor_class(&kept, &class);
		wtl_buf_printf(&text, "%s: %.3g, %.3g, %.3g +- %.2g ms at %lld, sees %.3g %%, %s\n",
			       kept.key, (double)class.update_ns / MS, (double)class.window_ns / MS,
			       (double)class.latency_ns / MS, (double)class.latency_sd_ns / MS,
			       (long long)kept.t_utc_s, class.coverage_permille / 10.0,
			       class.known ? class.name : "-");
		assert_int_equal(class.kind, WTL_SENSOR_BOXCAR);
		assert_int_equal(found.kind,
				 sensor->window_ns ? WTL_SENSOR_BOXCAR : WTL_SENSOR_LOWPASS);
		assert_true(llabs(found.update_ns - sensor->update_ns) < sensor->update_ns / 50);
		assert_true(fabs(window_off) < 1.5 + 0.05 * (double)window_ns / MS);
		assert_true(fabs(delay_off) < 2 + (double)sensor->poll_ns / MS);
		assert_true(fabs(window_off) <
			    4 * (double)found.window_sd_ns / MS + (double)sensor->poll_ns / MS);
		assert_true(fabs(found.low_w - 55) < 3 && fabs(found.high_w - 295) < 6);
		wtl_power_log_done(&world.polls);
	}
	golden_check("sensor-fit.txt", wtl_buf_str(&text));
	wtl_buf_done(&text);
}

static void what_does_not_follow_is_refused(void **state)
{
	const struct sensor sensor = {"", 25 * MS, 100 * MS, 0, 0, 3 * MS, 0};
	struct world world = {.load.n = 0}, other = {.load.n = 0};
	struct wtl_sensor_found found;
	struct wtl_err err;

	(void)state;
	seed = 1;
	make_load(&world);
	poll_sensor(&world, &sensor);
	seed = 2;
	make_load(&other);
	assert_int_equal(wtl_sensor_fit(&world.polls, &other.load, &found, &err), -ENODATA);
	assert_non_null(strstr(err.text, "does not follow the load"));
	world.polls.n = 200;
	assert_int_equal(wtl_sensor_fit(&world.polls, &world.load, &found, &err), -ENODATA);
	assert_non_null(strstr(err.text, "too few new values"));
	world.load.n = 1;
	assert_int_equal(wtl_sensor_fit(&world.polls, &world.load, &found, &err), -ENODATA);
	wtl_power_log_done(&world.polls);
}

/* Its clock is ahead of the load's, so that what the last value shows is of a time after the log's end. */
static void values_come_early(void **state)
{
	const struct sensor sensor = {"", 100 * MS, 100 * MS, -10 * MS, 0, 3 * MS, 0};
	struct world world = {.load.n = 0};
	struct wtl_power_log *polls = &world.polls;
	struct wtl_sensor_found found;
	struct wtl_err err;

	(void)state;
	seed = 1;
	make_load(&world);
	poll_sensor(&world, &sensor);
	while (polls->points[polls->n - 1].power_w == polls->points[polls->n - 2].power_w)
		polls->n--;
	assert_int_equal(wtl_sensor_fit(polls, &world.load, &found, &err), 0);
	assert_true(llabs(found.window_ns - 100 * MS) < 2 * MS);
	assert_true(fabs(found.low_w - 55) < 1 && fabs(found.high_w - 295) < 1);
	assert_int_equal(found.latency_ns, 0);
	wtl_power_log_done(polls);
}

/* ---- Public traces ---- */

static char *read_trace(const char *name)
{
	const char *folder = getenv("WATTLE_SHARED_DATA");
	struct wtl_buf buf;
	char path[512];

	if (!folder || !*folder) {
		print_message("skipped: WATTLE_SHARED_DATA does not name a folder\n");
		skip();
	}
	snprintf(path, sizeof(path), "%s/gpu-power/%s.csv", folder, name);
	wtl_buf_init(&buf, 1 << 24);
	if (wtl_infile_read(path, &buf) < 0) {
		print_message("skipped: no %s\n", path);
		skip();
	}
	return buf.data;
}

/* Marks stand twice: an edge each, from off to on first. The last one is the end of all. */
static void read_load(struct world *world, const char *name)
{
	char *text = read_trace(name), *save = NULL;
	int64_t last_ns = 0;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		int64_t t_ns = strtoll(line, NULL, 10) * 1000;

		if (t_ns > last_ns && world->load.n < EDGES)
			world->edges_ns[world->load.n++] = t_ns;
		last_ns = t_ns > 0 ? t_ns : last_ns;
	}
	world->load.edges_ns = world->edges_ns;
	world->load.n -= world->load.n % 2;
	free(text);
}

static void read_polls(struct world *world, const char *name, unsigned column)
{
	char *text = read_trace(name), *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *at = line, *word = NULL;

		for (unsigned i = 0; i <= column && at; i++)
			word = strsep(&at, ",");
		if (word && *line >= '0' && *line <= '9')
			wtl_power_log_add(&world->polls, strtoll(line, NULL, 10) * MS, atof(word));
	}
	free(text);
}

/* The card's own meter is not looked at: the marks of the load are enough. */
static void real_cards(void **state)
{
	static const struct {
		const char *name;
		unsigned column;
		int64_t window_ns;
		double tolerance_ms;
	} cases[] = {
		/* One step says little: the card goes on heating for a second. */
		/* It charges and discharges in some 14 ms, as a mean over 28 does. */
		{"a100_square", 5, 25 * MS, 6},	    {"a100_square", 6, 25 * MS, 6},
		{"a100_steps", 5, 25 * MS, 20},	    {"rtx3090_steps", 6, 1000 * MS, 150},
		{"rtx3090_steps", 7, 100 * MS, 80},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world world = {.load.n = 0};
		struct wtl_sensor_found found;
		struct wtl_err err;
		char name[64];

		snprintf(name, sizeof(name), "%s_marks", cases[i].name);
		read_load(&world, name);
		snprintf(name, sizeof(name), "%s_nvml", cases[i].name);
		read_polls(&world, name, cases[i].column);
		if (wtl_sensor_fit(&world.polls, &world.load, &found, &err) < 0)
			print_message("%s: %s", cases[i].name, err.text);
		print_message(
			"%s column %u: update %.2f ms, %s %.1f ± %.1f ms, latency %.1f ± %.1f ms, "
			"%.1f to %.1f W, %.1f W rms, %zu values\n",
			cases[i].name, cases[i].column, (double)found.update_ns / MS,
			found.kind == WTL_SENSOR_LOWPASS ? "capacitor" : "window",
			(double)found.window_ns / MS, (double)found.window_sd_ns / MS,
			(double)found.latency_ns / MS, (double)found.latency_sd_ns / MS,
			found.low_w, found.high_w, found.rms_w, found.n);
		assert_true(llabs(found.update_ns - 100 * MS) < 3 * MS);
		assert_true(fabs((double)(found.window_ns - cases[i].window_ns) / MS) <=
			    cases[i].tolerance_ms);
		wtl_power_log_done(&world.polls);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes_are_found),
		cmocka_unit_test(what_does_not_follow_is_refused),
		cmocka_unit_test(values_come_early),
		cmocka_unit_test(real_cards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
