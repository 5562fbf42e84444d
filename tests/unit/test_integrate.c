/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "energy/integrate.h"
#include "golden.h"
#include "power_trace.h"

#define MS(x)  ((int64_t)(x)*1000000)
#define SEC(x) ((int64_t)(x)*1000000000)
#define W(x)   ((uint64_t)(x)*1000000)

/* A sensor without memory or delay: what it says is the power at that time. */
static const struct wtl_sensor_class pointlike = {
	.name = "pointlike", .kind = WTL_SENSOR_BOXCAR, .update_ns = MS(100), .known = true};

static const struct wtl_sensor_class *instant(enum wtl_gpu_arch arch)
{
	return wtl_sensor_class_find(arch, 570, WTL_POWER_INSTANT);
}

static struct wtl_integral_energy energy(const struct wtl_integral *in, int64_t from, int64_t to)
{
	struct wtl_integral_mark a, b;
	struct wtl_integral_energy e;

	assert_int_equal(wtl_integral_mark(in, from, &a), 0);
	assert_int_equal(wtl_integral_mark(in, to, &b), 0);
	assert_int_equal(wtl_integral_between(in, &a, &b, &e), 0);
	return e;
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

/* Every class, any phase: a constant power is exact to the microjoule and certain. */
static void test_constant(void **state)
{
	const struct wtl_sensor_class *class;

	(void)state;
	for (unsigned row = 0; (class = wtl_sensor_class_row(row)) != NULL; row++) {
		struct wtl_integral in;

		wtl_integral_init(&in, class, WTL_STAMP_POLL, 0);
		for (int64_t t = 0; t <= SEC(8); t += MS(15))
			assert_in_range(wtl_integral_add(&in, t, 123456789), 0, 1);
		for (int64_t from = SEC(6); from < SEC(7); from += 77777777) {
			struct wtl_integral_energy e = energy(&in, from, from + SEC(1));

			assert_int_equal(e.energy_uj, 123456789);
			assert_true(power_trace_combined_uj(&e) == 0);
			assert_int_equal(e.covered_ns, SEC(1));
			assert_int_equal(e.uncovered_ns, 0);
		}
	}
}

static void test_ramp_is_exact_under_jitter(void **state)
{
	struct wtl_integral in;
	struct wtl_integral_energy e;
	uint64_t seed = 3;
	int64_t t = 0;

	(void)state;
	wtl_integral_init(&in, &pointlike, WTL_STAMP_SENSOR, 0);
	/* 1 uW per us: power at t is t/1000 */
	while (t < SEC(6)) {
		assert_int_equal(wtl_integral_add(&in, t, (uint64_t)t / 1000), 1);
		t += 1000 * (int64_t)(30000 + next_random(&seed) % 140000);
	}
	/* integral of (t/1000 uW) dt from 2 s to 5 s = (25 - 4)/2 x 1e6 uJ */
	e = energy(&in, SEC(2), SEC(5));
	assert_in_range(e.energy_uj, 10500000 - 1, 10500000 + 1);
	assert_true(e.settled);
	assert_true(e.tail_uj == 0);
}

/* A boxcar of 100 ms sees a step; afterwards the energy is right within the stated edge. */
static void test_step_through_a_boxcar(void **state)
{
	const struct wtl_sensor_class *class = instant(WTL_GPU_ARCH_GA10X);
	struct wtl_integral in;
	struct wtl_integral_energy e;

	(void)state;
	wtl_integral_init(&in, class, WTL_STAMP_SENSOR, 0);
	/* 100 W, 300 W from 2.03 s on: the update at 2.1 s says 100 + 200 x 0.7 */
	for (int64_t t = 0; t <= SEC(4); t += MS(100))
		wtl_integral_add(&in, t, t <= SEC(2) ? W(100) : t == MS(2100) ? W(240) : W(300));
	e = energy(&in, SEC(1), SEC(3));
	assert_in_range(e.energy_uj, W(103 + 291) - W(1), W(103 + 291) + W(1));
	assert_true(e.settled);
}

/* Window ends all around steps of any phase: no finer than the boxcar, and the edge term says so. */
static void test_edges_within_a_boxcar(void **state)
{
	const struct wtl_sensor_class *class = instant(WTL_GPU_ARCH_GA10X);
	unsigned asked = 0;
	unsigned covered = 0;

	(void)state;
	for (int64_t step = MS(2000); step < MS(2100); step += MS(7)) {
		struct wtl_integral in;

		wtl_integral_init(&in, class, WTL_STAMP_SENSOR, 0);
		for (int64_t t = 0; t <= SEC(4); t += MS(100)) {
			int64_t high = t - step < 0 ? 0 : t - step > MS(100) ? MS(100) : t - step;

			wtl_integral_add(&in, t, W(100) + 2000 * (uint64_t)high / 1000);
		}
		for (int64_t to = MS(1900); to <= MS(2200); to += MS(5)) {
			struct wtl_integral_energy e = energy(&in, SEC(1), to);
			double truth = 100e-3 * (double)(to - SEC(1)) +
				       200e-3 * (double)(to > step ? to - step : 0);

			covered += fabs((double)e.energy_uj - truth) <=
				   2 * power_trace_combined_uj(&e);
			asked++;
			assert_true(e.edge_uj < 3e6);
		}
	}
	assert_true(covered >= 0.95 * asked);
}

/* Asked right after a step of a 1 s average: the newest reading fixes what the middle lacks. */
static void test_tail_of_a_long_average(void **state)
{
	const struct wtl_sensor_class *class =
		wtl_sensor_class_find(WTL_GPU_ARCH_GA10X, 570, WTL_POWER_AVERAGE);
	int64_t lag = class->latency_ns;
	struct wtl_integral in;
	struct wtl_integral_energy live, settled;
	double truth = 100e6 + 30e6; /* 1 s at 100 W, then 0.1 s at 300 W */

	(void)state;
	wtl_integral_init(&in, class, WTL_STAMP_SENSOR, 0);
	for (int64_t t = 0; t <= MS(6000); t += MS(100)) {
		int64_t high = t - SEC(3);

		if (t == MS(3200))
			live = energy(&in, SEC(2) - lag, MS(3100) - lag);
		high = high < 0 ? 0 : high > SEC(1) ? SEC(1) : high;
		wtl_integral_add(&in, t, W(100) + 200 * (uint64_t)high / 1000);
	}
	settled = energy(&in, SEC(2) - lag, MS(3100) - lag);
	assert_false(live.settled);
	assert_true(settled.settled);
	assert_true(fabs((double)live.energy_uj - truth) < 0.5e6);
	assert_true(fabs((double)settled.energy_uj - truth) <=
		    2 * power_trace_combined_uj(&settled));
	/* a pure shift by half the window is off by 200 W x (0.4 s)^2 / 2 s */
	assert_true(fabs((double)settled.energy_uj - truth) > 5e6);
}

static void test_repeats(void **state)
{
	struct wtl_integral in;

	(void)state;
	wtl_integral_init(&in, instant(WTL_GPU_ARCH_GA100), WTL_STAMP_POLL, 0);
	assert_int_equal(wtl_integral_add(&in, SEC(1), W(50)), 1);
	assert_int_equal(wtl_integral_add(&in, SEC(1), W(50)), 0);
	assert_int_equal(wtl_integral_add(&in, SEC(1), W(90)),
			 0); /* same stamp: first one counts */
	assert_int_equal(wtl_integral_add(&in, SEC(1) + MS(15), W(50)), 0);
	assert_int_equal(wtl_integral_add(&in, SEC(1) + MS(30), W(60)), 1);
	assert_int_equal(in.samples, 3);
	assert_int_equal(in.rejected, 0);
}

static void test_refused(void **state)
{
	struct wtl_integral in;
	struct wtl_integral_energy before, after;

	(void)state;
	wtl_integral_init(&in, &pointlike, WTL_STAMP_POLL, 0);
	for (int64_t t = 0; t <= SEC(2); t += MS(100))
		wtl_integral_add(&in, t, W(100 + t % 7));
	before = energy(&in, MS(500), MS(1500));
	assert_int_equal(wtl_integral_add(&in, SEC(1), W(900)), -EINVAL);
	assert_int_equal(wtl_integral_add(&in, SEC(1), WTL_INTEGRAL_MAX_UW), -EINVAL);
	assert_int_equal(wtl_integral_add(&in, INT64_MIN, W(1)), -EINVAL);
	assert_int_equal(wtl_integral_add(&in, SEC(3), WTL_INTEGRAL_MAX_UW + 1), -ERANGE);
	assert_int_equal(wtl_integral_add(&in, SEC(3), UINT64_MAX), -ERANGE);
	after = energy(&in, MS(500), MS(1500));
	assert_int_equal(in.rejected, 5);
	assert_int_equal(before.energy_uj, after.energy_uj);
	assert_int_equal(wtl_integral_add(&in, SEC(2) + MS(100), W(100)), 1);
}

static void test_no_samples(void **state)
{
	struct wtl_integral in;
	struct wtl_integral_mark mark = {.t_ns = 5};
	struct wtl_integral_energy e;

	(void)state;
	wtl_integral_init(&in, &pointlike, WTL_STAMP_POLL, 0);
	assert_int_equal(wtl_integral_mark(&in, 0, &mark), -ENODATA);
	assert_int_equal(mark.t_ns, 5);
	assert_int_equal(wtl_integral_between(&in, &mark, &mark, &e), -EINVAL);
	assert_int_equal(wtl_integral_total_uj(&in, SEC(1)), 0);
}

static void test_end_before_begin(void **state)
{
	struct wtl_integral in;
	struct wtl_integral_mark a, b;
	struct wtl_integral_energy e;

	(void)state;
	wtl_integral_init(&in, &pointlike, WTL_STAMP_POLL, 0);
	wtl_integral_add(&in, 0, W(1));
	wtl_integral_mark(&in, 10, &a);
	wtl_integral_mark(&in, 20, &b);
	assert_int_equal(wtl_integral_between(&in, &b, &a, &e), -EINVAL);
	assert_int_equal(wtl_integral_between(&in, &a, &a, &e), 0);
	assert_int_equal(e.energy_uj, 0);
}

/* A hole is uncovered time and brings no energy; both sides of it are whole. */
static void test_gap(void **state)
{
	struct wtl_integral in;
	struct wtl_integral_energy e;

	(void)state;
	wtl_integral_init(&in, &pointlike, WTL_STAMP_POLL, SEC(1));
	for (int64_t t = 0; t <= SEC(3); t += MS(10))
		wtl_integral_add(&in, t, W(100));
	for (int64_t t = SEC(8); t <= SEC(11); t += MS(10))
		wtl_integral_add(&in, t, W(200));
	assert_int_equal(in.gaps, 1);
	e = energy(&in, SEC(1), SEC(10));
	/* The first reading after it is taken to be half an update old. */
	assert_int_equal(e.energy_uj, W(2 * 100 + 2 * 200) + W(200) / 20);
	assert_int_equal(e.uncovered_ns, SEC(5) - MS(50));
	assert_int_equal(e.covered_ns, SEC(4) + MS(50));
	e = energy(&in, SEC(4), SEC(6));
	assert_int_equal(e.energy_uj, 0);
	assert_int_equal(e.uncovered_ns, SEC(2));
	assert_int_equal(e.covered_ns, 0);
}

/* A hole just within the limit is bridged; a sensor that goes silent is a gap while it lasts. */
static void test_gap_limits(void **state)
{
	struct wtl_integral in;
	struct wtl_integral_energy e;

	(void)state;
	wtl_integral_init(&in, &pointlike, WTL_STAMP_SENSOR, SEC(1));
	wtl_integral_add(&in, 0, W(100));
	wtl_integral_add(&in, SEC(1), W(100));
	e = energy(&in, 0, SEC(1));
	assert_int_equal(in.gaps, 0);
	assert_int_equal(e.energy_uj, W(100));
	e = energy(&in, 0, SEC(5));
	assert_int_equal(e.energy_uj, W(200));
	assert_int_equal(e.uncovered_ns, SEC(3));

	wtl_integral_init(&in, &pointlike, WTL_STAMP_SENSOR, SEC(1));
	wtl_integral_add(&in, 0, W(100));
	wtl_integral_add(&in, SEC(1) + 1, W(100));
	assert_int_equal(in.gaps, 1);

	wtl_integral_init(&in, &pointlike, WTL_STAMP_SENSOR, INT64_MAX);
	assert_true(in.gap_ns <= SEC(3600));
}

/* The time before the first reading's window is not known either. */
static void test_before_the_start(void **state)
{
	struct wtl_integral in;
	struct wtl_integral_energy e;

	(void)state;
	wtl_integral_init(&in, &pointlike, WTL_STAMP_POLL, 0);
	for (int64_t t = SEC(5); t <= SEC(6); t += MS(100))
		wtl_integral_add(&in, t, W(100));
	e = energy(&in, SEC(3), SEC(6));
	assert_int_equal(e.energy_uj, W(100) + W(100) / 20);
	assert_int_equal(e.uncovered_ns, SEC(2) - MS(50));
}

/* energy(a,b) + energy(b,c) == energy(a,c), to the microjoule, in any state and any order. */
static void test_additive(void **state)
{
	const struct wtl_sensor_class *class;
	uint64_t seed = 11;

	(void)state;
	for (unsigned row = 0; (class = wtl_sensor_class_row(row)) != NULL; row++) {
		struct wtl_integral_mark mark[40], m;
		struct wtl_integral_energy part, whole;
		struct wtl_integral in;
		unsigned marks = 0;
		uint64_t sum = 0;

		wtl_integral_init(&in, class, WTL_STAMP_POLL, 0);
		for (int64_t t = 0; t < SEC(60);
		     t += 1 + (int64_t)(next_random(&seed) % 30000000)) {
			uint64_t p = W(200 + t / SEC(1) % 5 * 20) + next_random(&seed) % 3000000;

			wtl_integral_add(&in, t, p);
			if (t > SEC(1) * (int64_t)marks && marks < 40)
				assert_int_equal(wtl_integral_mark(&in, t, &mark[marks++]), 0);
		}
		assert_int_equal(marks, 40);
		for (unsigned i = 0; i + 1 < marks; i++) {
			assert_int_equal(wtl_integral_between(&in, &mark[i], &mark[i + 1], &part),
					 0);
			assert_true(part.energy_uj > 0);
			sum += part.energy_uj;
		}
		m = mark[marks - 1];
		assert_int_equal(wtl_integral_between(&in, &mark[0], &m, &whole), 0);
		assert_int_equal(sum, whole.energy_uj);
		assert_true(whole.updates > 100);
	}
}

/* Hours: the start lies far behind the ring and still gives the right difference. */
static void test_long_window(void **state)
{
	struct wtl_integral in;
	struct wtl_integral_mark begin, end, lost;
	struct wtl_integral_energy e;

	(void)state;
	wtl_integral_init(&in, instant(WTL_GPU_ARCH_GA10X), WTL_STAMP_SENSOR, 0);
	for (int64_t t = 0; t <= SEC(3 * 3600); t += MS(100)) {
		wtl_integral_add(&in, t, t / MS(100) % 2 ? W(100) : W(300));
		if (t == SEC(10))
			wtl_integral_mark(&in, t, &begin);
	}
	assert_int_equal(wtl_integral_mark(&in, SEC(10), &lost), -ERANGE);
	wtl_integral_mark(&in, SEC(3 * 3600), &end);
	assert_int_equal(wtl_integral_between(&in, &begin, &end, &e), 0);
	assert_true(fabs((double)e.energy_uj - 200e6 * (3 * 3600 - 10)) <=
		    2 * power_trace_combined_uj(&e) + 20e6);
	assert_int_equal(e.updates, 10 * (3 * 3600 - 10));
	assert_int_equal(e.uncovered_ns, 0);
}

static void test_a_year_at_10_kw(void **state)
{
	struct wtl_integral in;
	struct wtl_integral_mark begin, end;
	struct wtl_integral_energy e;
	const int64_t hours = 365 * 24;

	(void)state;
	wtl_integral_init(&in, &pointlike, WTL_STAMP_SENSOR, SEC(3600));
	wtl_integral_add(&in, 0, W(10000));
	wtl_integral_mark(&in, 0, &begin);
	for (int64_t h = 1; h <= hours; h++)
		assert_int_equal(wtl_integral_add(&in, SEC(3600) * h, W(10000)), 1);
	wtl_integral_mark(&in, SEC(3600) * hours, &end);
	assert_int_equal(wtl_integral_between(&in, &begin, &end, &e), 0);
	assert_int_equal(e.energy_uj, W(10000) * 3600 * (uint64_t)hours);
	assert_int_equal(wtl_integral_total_uj(&in, SEC(3600) * hours), e.energy_uj);
	assert_true(isfinite(power_trace_combined_uj(&e)));
}

/* The greatest power and gap that are let in must not overflow on the way. */
static void test_extremes(void **state)
{
	struct wtl_integral in;
	struct wtl_integral_energy e;
	int64_t t = INT64_MAX - 10 * SEC(3600);

	(void)state;
	wtl_integral_init(&in, &pointlike, WTL_STAMP_SENSOR, SEC(3600));
	for (unsigned i = 0; i < 5; i++)
		wtl_integral_add(&in, t + SEC(3600) * i, i % 2 ? WTL_INTEGRAL_MAX_UW : 0);
	e = energy(&in, t, t + 4 * SEC(3600));
	assert_int_equal(e.energy_uj, WTL_INTEGRAL_MAX_UW * 3600 * 2);
	e = energy(&in, t, t + SEC(1800));
	assert_int_equal(e.energy_uj, WTL_INTEGRAL_MAX_UW * 3600 / 8);
}

/* Falling load: what was guessed too high is not taken back, and the truth catches up. */
static void test_total_never_falls(void **state)
{
	const struct wtl_sensor_class *class = instant(WTL_GPU_ARCH_GA100);
	struct wtl_integral in;
	struct wtl_integral_energy e;
	uint64_t last = 0;
	uint64_t seed = 5;
	uint64_t p = 0;

	(void)state;
	wtl_integral_init(&in, class, WTL_STAMP_POLL, 0);
	for (int64_t t = 0; t <= SEC(10); t += MS(10)) {
		uint64_t total;

		if (t % MS(100) == 0)
			p = t > SEC(9) ? 0 : W(next_random(&seed) % 2 ? 5 : 400);
		wtl_integral_add(&in, t, p);
		total = wtl_integral_total_uj(&in, t);
		assert_true(total >= last);
		last = total;
	}
	e = energy(&in, 0, SEC(10));
	assert_true(last >= e.energy_uj);
	assert_true((double)last <= (double)e.energy_uj * 1.05);
}

/* A window of milliseconds at the newest reading is no less certain than the power's own range: what the
 * sensor has not reported yet lies mostly outside of it. */
static void test_short_window_of_slow_sensor(void **state)
{
	const struct wtl_sensor_class *class;

	(void)state;
	for (unsigned row = 0; (class = wtl_sensor_class_row(row)) != NULL; row++) {
		struct wtl_integral in;
		uint64_t seed = row;

		wtl_integral_init(&in, class, WTL_STAMP_POLL, 0);
		for (int i = 0; i < 600; i++) {
			int64_t t = (i + 1) * MS(100);
			struct wtl_integral_mark a, b;
			struct wtl_integral_energy e;

			seed = seed * 6364136223846793005u + 1442695040888963407u;
			assert_return_code(wtl_integral_add(&in, t, (seed >> 36) % 200000000), 0);
			assert_int_equal(wtl_integral_mark(&in, t, &a), 0);
			assert_int_equal(wtl_integral_mark(&in, t + MS(6), &b), 0);
			assert_int_equal(wtl_integral_between(&in, &a, &b, &e), 0);
			/* 200 W for 6 ms, as much again on either side, and once more for the sensor's own average */
			assert_true(hypot(e.edge_uj, e.tail_uj) < 4 * 200e6 * 0.006);
		}
	}
}

/* After wtl_integral_settle_ns() a window's figure is final: later samples cannot move it. */
static void test_settled_is_final(void **state)
{
	const struct wtl_sensor_class *class;

	(void)state;
	for (unsigned row = 0; (class = wtl_sensor_class_row(row)) != NULL; row++) {
		struct wtl_integral in;
		struct wtl_integral_mark a = {0}, b = {0};
		struct wtl_integral_energy e, settled = {0};
		int64_t settle = 0;

		wtl_integral_init(&in, class, WTL_STAMP_POLL, 0);
		for (int64_t t = 0; t <= SEC(9); t += MS(10)) {
			uint64_t tick = (uint64_t)(t / class->update_ns);

			wtl_integral_add(&in, t, W(100 + tick * 37 % 91));
			if (t == SEC(5))
				wtl_integral_mark(&in, t, &a);
			if (t == SEC(6)) {
				wtl_integral_mark(&in, t, &b);
				settle = t + wtl_integral_settle_ns(&in);
			}
			if (t < SEC(6) || t < settle || class->update_ns * 100 < t - SEC(5))
				continue;
			wtl_integral_between(&in, &a, &b, &e);
			assert_true(e.settled);
			assert_true(e.tail_uj == 0);
			if (settled.energy_uj)
				assert_int_equal(e.energy_uj, settled.energy_uj);
			settled = e;
		}
		assert_true(settled.energy_uj > 0 || class->update_ns < MS(100));
	}
}

/* A value that stands still and then changes: it held until then, it did not slide there. */
static void test_held_value_does_not_slide(void **state)
{
	struct wtl_integral in;
	struct wtl_integral_energy e;

	(void)state;
	wtl_integral_init(&in, instant(WTL_GPU_ARCH_GA10X), WTL_STAMP_POLL, 0);
	for (int64_t t = 0; t <= MS(150); t += MS(10))
		wtl_integral_add(&in, t, t < MS(100) ? W(90) : W(100));
	for (int64_t t = MS(160); t <= SEC(6); t += MS(10))
		wtl_integral_add(&in, t, t < SEC(4) ? W(100) : W(500));
	e = energy(&in, SEC(1), SEC(3));
	assert_int_equal(e.energy_uj, W(200));
	e = energy(&in, SEC(1), SEC(5));
	/* the first 500 W reading averaged 3.895 to 3.995 s; sliding from 0.095 s would give 1600 J */
	assert_true(fabs((double)e.energy_uj - 842e6) < 5e6);
}

/* Slow polls of a fast sensor: unseen time is charged, and a steady load costs nothing. */
static void test_slow_polls(void **state)
{
	struct wtl_integral in;
	struct wtl_integral_energy restless, steady;
	uint64_t seed = 9;

	(void)state;
	wtl_integral_init(&in, instant(WTL_GPU_ARCH_GA10X), WTL_STAMP_POLL, SEC(5));
	for (int64_t t = 0; t <= SEC(60); t += SEC(1))
		wtl_integral_add(&in, t, W(100 + next_random(&seed) % 200));
	restless = energy(&in, SEC(10), SEC(50));
	assert_true(restless.sampling_uj > 0.01 * (double)restless.energy_uj);
	wtl_integral_init(&in, instant(WTL_GPU_ARCH_GA10X), WTL_STAMP_POLL, SEC(5));
	for (int64_t t = 0; t <= SEC(60); t += SEC(1))
		wtl_integral_add(&in, t, W(100));
	steady = energy(&in, SEC(10), SEC(50));
	assert_true(power_trace_combined_uj(&steady) == 0);
	assert_int_equal(steady.energy_uj, W(4000));
}

static void scan(const int64_t *power_uw, size_t n, struct wtl_alias *ret)
{
	struct wtl_alias_readings readings = {.n = 0};

	for (size_t i = 0; i < n; i++)
		wtl_alias_add(&readings, power_uw[i]);
	wtl_alias_scan(&readings, ret);
}

static void test_alias_scan(void **state)
{
	int64_t p[200];
	struct wtl_alias alias;

	(void)state;
	for (size_t i = 0; i < 200; i++)
		p[i] = i < 100 ? 60000000 : i < 160 ? 190000000 : 60000000;
	for (size_t n = 0; n <= 200; n++) { /* one or two steps are not a beat */
		scan(p, n, &alias);
		assert_true(alias.rough_uw == 0);
		assert_true(alias.beat_uw == 0);
	}
	for (unsigned period = 8; period <= 34; period += 2) {
		for (size_t i = 0; i < 200; i++)
			p[i] = 120000000 + (int64_t)(60e6 * sin(2 * M_PI * (double)i / period));
		scan(p, 200, &alias);
		/* sd 42.4 W, energy error sd x period: no less than it is, and not absurdly more */
		assert_true(alias.beat_uw * alias.beat_updates > 0.8 * 42.4e6 * period);
		assert_true(alias.beat_uw * alias.beat_updates < 1.05 * 42.4e6 * 40);
		assert_true(alias.beat_uw < 1.2 * 42.4e6);
	}
	/* Only long beats are looked for in a long look: a short one that ended a while ago is none any more. */
	for (size_t period = 4; period <= 8; period += 4) {
		size_t end = period == 4 ? 184 : 170;

		for (size_t i = 0; i < 200; i++)
			p[i] = i < end ? (int64_t)(60e6 * sin(2 * M_PI * ((double)i + 0.4) /
							      (double)period))
				       : 0;
		scan(p, end, &alias);
		assert_true(alias.beat_uw > 30e6);
		scan(p, 200, &alias);
		assert_true(alias.beat_uw == 0);
	}
}

static int by_size(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The changes over that distance within the newest readings, sorted anew. */
static void expect_changes(const int64_t *p, size_t n, size_t history, size_t lag,
			   const int64_t *sorted)
{
	int64_t change[WTL_ALIAS_MAX];
	size_t m = 0;

	for (size_t i = n > history ? n - history : 0; i + lag < n; i++)
		change[m++] = llabs(p[i + lag] - p[i]);
	qsort(change, m, sizeof(change[0]), by_size);
	for (size_t i = 0; i < m; i++)
		assert_int_equal(sorted[i], change[i]);
}

/* What is kept from reading to reading is what would be found anew. */
static void test_alias_changes(void **state)
{
	/* As the lists of alias.c lie behind each other. */
	const size_t lists[][2] = {{24, 1}, {24, 2}, {24, 4}, {48, 1}, {48, 2}, {48, 4},
				   {48, 8}, {96, 1}, {96, 4}, {96, 8}, {96, 16}};
	struct wtl_alias_readings readings = {.n = 0};
	uint64_t dice = 1;
	int64_t p[700];

	(void)state;
	for (size_t i = 0; i < 700; i++) {
		size_t at = 0;

		dice = dice * UINT64_C(6364136223846793005) + 1442695040888963407u;
		/* Many are alike at first. */
		p[i] = (int64_t)((dice >> 33) % (i < 350 ? 5 : 1000000000000));
		wtl_alias_add(&readings, p[i]);
		for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++) {
			expect_changes(p, i + 1, lists[k][0], lists[k][1], readings.change_uw + at);
			at += lists[k][0] - lists[k][1];
		}
		assert_int_equal(at, WTL_ALIAS_CHANGES);
	}
}

/* A sensor that was polled so often that it saw everything, and then not any more: as if it had been
 * scanned all along. */
static void test_alias_catches_up(void **state)
{
	struct wtl_integral in;
	struct wtl_alias anew;

	(void)state;
	for (int pause = 0; pause < 3; pause++) {
		int64_t power_uw[WTL_ALIAS_MAX], t_ns = SEC(10);
		uint64_t dice = 7;

		wtl_integral_init(&in, instant(WTL_GPU_ARCH_GA100), WTL_STAMP_SENSOR, 0);
		for (int i = 0; i < 600; i++) {
			/* 25 ms are seen of each reading. */
			bool is_dense = i >= 250 && i < 250 + 150 * pause;

			dice = dice * UINT64_C(6364136223846793005) + 1442695040888963407u;
			t_ns += is_dense ? MS(20) : MS(100);
			wtl_integral_add(&in, t_ns, W(100) + (dice >> 33) % W(50));
		}
		for (unsigned i = 0; i < WTL_ALIAS_MAX; i++)
			power_uw[WTL_ALIAS_MAX - 1 - i] =
				(int64_t)in
					.ring[(in.head + WTL_INTEGRAL_RING - 1 - i) %
					      WTL_INTEGRAL_RING]
					.power_uw;
		scan(power_uw, WTL_ALIAS_MAX, &anew);
		assert_true(anew.rough_uw > 0);
		assert_true(in.alias.rough_uw == anew.rough_uw);
		assert_true(in.alias.beat_uw == anew.beat_uw);
		assert_true(in.alias.beat_updates == anew.beat_updates);
	}
}

struct limit {
	double median_u;      /* greatest median of U over the energy */
	double part_of_naive; /* greatest rms error, over the naive sum's */
};

static const char *shared_data(void)
{
	const char *directory = getenv("WATTLE_SHARED_DATA");

	if (!directory || !*directory) {
		print_message("skipped: WATTLE_SHARED_DATA does not name a folder\n");
		skip();
	}
	return directory;
}

static void score_real(const char *directory, const struct power_case *c, struct limit limit,
		       double *covered)
{
	const struct wtl_sensor_class *class = wtl_sensor_class_find(c->arch, c->driver, c->field);
	struct power_trace trace, steady;
	struct power_score s;
	struct power_fit fit;

	if (power_trace_load(&trace, directory, c->trace, c->column) < 0 ||
	    power_trace_load(&steady, directory, c->fit_trace, c->column) < 0) {
		print_message("skipped: no %s in %s/gpu-power\n", c->trace, directory);
		skip();
	}
	assert_int_equal(power_trace_fit(&steady, &fit), 0);
	for (int settled = 0; settled < 2; settled++) {
		assert_int_equal(power_trace_score(&trace, &fit, class,
						   &(struct power_plan){.windows = 1000,
									.seed = 20,
									.settled = settled},
						   &s),
				 0);
		print_message("%s %s %s: covered %.1f %%, median U %.2f %%, rms error %.2f %%, "
			      "naive %.2f %%\n",
			      c->trace, c->column, settled ? "settled" : "live", 100 * s.coverage,
			      100 * s.median_u, 100 * s.rms_error, 100 * s.rms_naive);
		assert_true(s.coverage >= 0.95);
		assert_true(s.median_u <= limit.median_u);
		assert_true(s.rms_error <= limit.part_of_naive * s.rms_naive);
		if (settled)
			assert_int_equal(s.unsettled, 0);
		*covered += s.coverage / 2;
	}
	power_trace_free(&trace);
	power_trace_free(&steady);
}

/* The stated uncertainty against a physical meter. Limits leave a fifth of room or more. */
static void test_real_traces(void **state)
{
	const char *directory = shared_data();
	double covered = 0;

	(void)state;
	for (size_t i = 0; i < power_case_count; i++) {
		const struct power_case *c = &power_cases[i];
		/* no shift in time can undo the aliasing of the square wave; it must not harm */
		struct limit limit = {0.35, 1.05};

		if (strcmp(c->trace, "a100_steps") == 0)
			limit = (struct limit){0.02, 0.4};
		else if (strcmp(c->column, "power.draw.instant") == 0 &&
			 strcmp(c->trace, "rtx3090_steps") == 0)
			limit = (struct limit){0.01, 0.3};
		else if (strcmp(c->trace, "rtx3090_steps") == 0)
			limit = (struct limit){0.042, 0.25};
		score_real(directory, c, limit, &covered);
	}
	assert_true(covered / (double)power_case_count >= 0.95);
}

/* As `wattle run` measures: the sensor is first polled where the window begins, and asked again once it has
 * settled. A live window may end before a step was reported, above all of a sensor that averages. */
static void test_cold_windows(void **state)
{
	const char *directory = shared_data();
	const double lengths_s[] = {0.5, 1, 1.5, 2, 3, 5};

	(void)state;
	for (size_t i = 0; i < power_case_count * 4; i++) {
		const struct power_case *c = &power_cases[i / 4];
		const struct wtl_sensor_class *class =
			wtl_sensor_class_find(c->arch, c->driver, c->field);
		struct power_plan plan = {.windows = 400,
					  .seed = 30,
					  .poll_ms = i % 2 ? 100 : 20,
					  .settled = i % 4 / 2,
					  .most_uw = c->most_uw};
		struct power_trace trace, steady;
		struct power_score s;
		struct power_fit fit;

		if (power_trace_load(&trace, directory, c->trace, c->column) < 0 ||
		    power_trace_load(&steady, directory, c->fit_trace, c->column) < 0)
			skip();
		assert_int_equal(power_trace_fit(&steady, &fit), 0);
		for (size_t l = 0; l < sizeof(lengths_s) / sizeof(lengths_s[0]); l++) {
			plan.cold_s = lengths_s[l];
			assert_int_equal(power_trace_score(&trace, &fit, class, &plan, &s), 0);
			print_message("%s %s, first polled at the start, every %d ms, %.1f s%s: "
				      "covered %.1f %%, median U %.1f %%\n",
				      c->trace, c->column, (int)plan.poll_ms, plan.cold_s,
				      plan.settled ? ", settled" : "", 100 * s.coverage,
				      100 * s.median_u);
			assert_true(s.coverage >= 0.94);
			if (plan.cold_s >= 5 && strcmp(c->trace, "a100_square") != 0)
				assert_true(s.median_u <=
					    (class->window_ns < SEC(1) ? 0.035 : 0.05));
		}
		power_trace_free(&trace);
		power_trace_free(&steady);
	}
}

/*
 * Made-up square loads through the part-time sensor, so that the uncertainty is not fitted to the one
 * published beat. Beats of up to 40 readings are within what the scan claims.
 */
static void test_made_up_beats(void **state)
{
	const double periods_ms[] = {21,  37,  60,  90,	 95,  104,  107, 115,
				     130, 170, 230, 310, 700, 3000, 7777};
	const struct wtl_sensor_class *class = instant(WTL_GPU_ARCH_GA100);
	const struct power_fit exact = {.gain = 1};
	size_t n = sizeof(periods_ms) / sizeof(periods_ms[0]);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		struct power_trace trace;
		struct power_score s;

		assert_int_equal(power_trace_make(&trace, class, 40, periods_ms[i], 0.5, 60, 190),
				 0);
		assert_int_equal(power_trace_score(&trace, &exact, class,
						   &(struct power_plan){.windows = 400, .seed = 21},
						   &s),
				 0);
		print_message("period %4.0f ms: covered %5.1f %%, median U %5.2f %%, median error "
			      "%5.2f %%\n",
			      periods_ms[i], 100 * s.coverage, 100 * s.median_u,
			      100 * s.median_error);
		power_trace_free(&trace);
		assert_true(s.coverage >= 0.95);
		assert_true(s.median_u <= 0.45);
	}
}

/* The same from the first reading on: of all lengths together, for a beat is caught in the middle by some. */
static void test_made_up_beats_cold(void **state)
{
	const double periods_ms[] = {60, 95, 97, 104, 107, 130, 210, 310};
	const double lengths_s[] = {0.3, 0.5, 1, 1.5, 2, 3, 5};
	const struct wtl_sensor_class *class = instant(WTL_GPU_ARCH_GA100);
	const struct power_fit exact = {.gain = 1};

	(void)state;
	for (size_t i = 0; i < sizeof(periods_ms) / sizeof(periods_ms[0]); i++) {
		struct power_trace trace;
		double covered = 0;

		assert_int_equal(power_trace_make(&trace, class, 40, periods_ms[i], 0.5, 60, 190),
				 0);
		for (size_t l = 0; l < sizeof(lengths_s) / sizeof(lengths_s[0]); l++) {
			const struct power_plan plan = {.windows = 400,
							.seed = 31,
							.settled = 1,
							.cold_s = lengths_s[l],
							.most_uw = UINT64_C(250000000)};
			struct power_score s;

			assert_int_equal(power_trace_score(&trace, &exact, class, &plan, &s), 0);
			print_message("period %3.0f ms, first %.1f s: covered %5.1f %%, median U "
				      "%5.2f %%\n",
				      periods_ms[i], plan.cold_s, 100 * s.coverage,
				      100 * s.median_u);
			covered += s.coverage / (sizeof(lengths_s) / sizeof(lengths_s[0]));
		}
		power_trace_free(&trace);
		assert_true(covered >= 0.95);
	}
}

/* Square loads that an average over a second hides, in part or, at a period of one second, wholly. */
static void test_made_up_swings(void **state)
{
	static const struct {
		double low_w, high_w, duty;
	} loads[] = {{100, 300, 0.5}, {50, 350, 0.1}, {50, 350, 0.5}, {50, 350, 0.9},
		     {20, 350, 0.25}, {20, 60, 0.5},  {20, 380, 0.9}};
	const double periods_ms[] = {150, 300, 500, 700, 850, 950, 1000, 1050, 1300, 1700, 2000};
	const double lengths_s[] = {0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5};
	const struct wtl_sensor_class *class =
		wtl_sensor_class_find(WTL_GPU_ARCH_GA10X, 535, WTL_POWER_DRAW);
	const struct power_fit exact = {.gain = 1};
	const size_t n = sizeof(periods_ms) / sizeof(periods_ms[0]);

	(void)state;
	for (size_t load = 0; load < sizeof(loads) / sizeof(loads[0]); load++) {
		double covered[2][8] = {{0}};

		for (size_t i = 0; i < n; i++) {
			struct power_trace trace;

			assert_int_equal(power_trace_make(&trace, class, 60, periods_ms[i],
							  loads[load].duty, loads[load].low_w,
							  loads[load].high_w),
					 0);
			for (size_t l = 0; l < 16; l++) {
				const struct power_plan plan = {.windows = 30,
								.seed = 41,
								.settled = l % 2,
								.cold_s = lengths_s[l / 2],
								.most_uw = W(350)};
				struct power_score s;

				assert_int_equal(
					power_trace_score(&trace, &exact, class, &plan, &s), 0);
				covered[l % 2][l / 2] += s.coverage / (double)n;
			}
			power_trace_free(&trace);
		}
		for (size_t l = 0; l < 16; l++) {
			print_message("%.0f to %.0f W, %.0f %% of the time, first %.2f s%s: "
				      "covered %.1f %%\n",
				      loads[load].low_w, loads[load].high_w, 100 * loads[load].duty,
				      lengths_s[l / 2], l % 2 ? ", settled" : "",
				      100 * covered[l % 2][l / 2]);
			assert_true(covered[l % 2][l / 2] >= 0.95);
		}
	}
}

/* ---- What it says of one load, in figures ---- */

/* What a sensor shows of a load that jumps and creeps, and rests now and then; seldom absurd. */
static uint64_t restless_uw(const struct wtl_sensor_class *class, int64_t t_ns)
{
	int64_t at_ns = t_ns - t_ns % class->update_ns;
	uint64_t seed = (uint64_t)at_ns, noise_uw = next_random(&seed) % W(5);

	if (next_random(&seed) % 200 == 0)
		return WTL_INTEGRAL_MAX_UW + 1;
	if (at_ns / MS(1900) % 4 == 3)
		return W(40);
	return (at_ns / MS(700) % 3 ? W(90) : W(260)) + (uint64_t)(at_ns / MS(50)) * W(1) / 10 +
	       noise_uw;
}

static void put_figures(struct wtl_buf *buf, const struct wtl_integral *in,
			const struct wtl_integral_mark *a, const struct wtl_integral_mark *b)
{
	struct wtl_integral_energy e;

	assert_int_equal(wtl_integral_between(in, a, b, &e), 0);
	wtl_buf_printf(buf,
		       "  %.6g J in %.6g s, %.6g s unknown, %llu updates%s: sampling %.5g, "
		       "interpolation %.5g, edge %.5g, lag %.5g, tail %.5g J\n",
		       (double)e.energy_uj / 1e6, (double)e.covered_ns / 1e9,
		       (double)e.uncovered_ns / 1e9, (unsigned long long)e.updates,
		       e.settled ? "" : ", not settled", e.sampling_uj / 1e6,
		       e.interpolation_uj / 1e6, e.edge_uj / 1e6, e.lag_uj / 1e6, e.tail_uj / 1e6);
}

/* Each kind of sensor, polled at odd times, with a pause; windows as they end and later on, short, long, over the pause,
 * from before the first reading, and of times that have left the ring. */
static void test_figures(void **state)
{
	static const int64_t windows[][2] = {{900, 1000},  {1000, 2511},   {2000, 6000},
					     {100, 12345}, {11000, 11010}, {7000, 19000}};
	const struct wtl_sensor_class *class;
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 1 << 20);
	for (unsigned row = 0; (class = wtl_sensor_class_row(row)) != NULL; row++) {
		enum wtl_integral_stamp stamp = row % 3 ? WTL_STAMP_POLL : WTL_STAMP_SENSOR;
		struct wtl_integral_mark marks[6][2], first;
		struct wtl_integral in;
		uint64_t seed = row;
		int64_t t = 0;

		wtl_integral_init(&in, class, stamp, row % 2 ? 0 : MS(900));
		in.most_uw = row % 4 == 3 || 2 * class->window_ns < class->update_ns ? W(300) : 0;
		wtl_buf_printf(&buf, "%u %s\n", row, class->name);
		for (int k = 0; t < SEC(25); k++) {
			int64_t before = t;

			t += k % 400 == 399 ? MS(1500) : MS(5) + next_random(&seed) % MS(20);
			wtl_integral_add(&in, t, restless_uw(class, t));
			if (k == 0)
				assert_int_equal(wtl_integral_mark(&in, -SEC(2), &first), 0);
			for (int w = 0; w < 6; w++)
				for (int end = 0; end < 2; end++)
					if (before < MS(windows[w][end]) &&
					    t >= MS(windows[w][end])) {
						assert_int_equal(
							wtl_integral_mark(&in, t, &marks[w][end]),
							0);
						if (end)
							put_figures(&buf, &in, &marks[w][0],
								    &marks[w][1]);
					}
		}
		for (int w = 0; w < 6; w++) {
			put_figures(&buf, &in, &marks[w][0], &marks[w][1]);
			put_figures(&buf, &in, &first, &marks[w][0]);
		}
		wtl_buf_printf(&buf, "  %llu samples, %llu refused, %llu gaps, %.6g J in all\n",
			       (unsigned long long)in.samples, (unsigned long long)in.rejected,
			       (unsigned long long)in.gaps,
			       (double)wtl_integral_total_uj(&in, t) / 1e6);
	}
	golden_check("integrated.txt", wtl_buf_str(&buf));
	wtl_buf_done(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_window_of_slow_sensor),
		cmocka_unit_test(test_cold_windows),
		cmocka_unit_test(test_figures),
		cmocka_unit_test(test_made_up_beats_cold),
		cmocka_unit_test(test_made_up_swings),
		cmocka_unit_test(test_constant),
		cmocka_unit_test(test_ramp_is_exact_under_jitter),
		cmocka_unit_test(test_step_through_a_boxcar),
		cmocka_unit_test(test_edges_within_a_boxcar),
		cmocka_unit_test(test_tail_of_a_long_average),
		cmocka_unit_test(test_repeats),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_no_samples),
		cmocka_unit_test(test_end_before_begin),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_gap_limits),
		cmocka_unit_test(test_before_the_start),
		cmocka_unit_test(test_additive),
		cmocka_unit_test(test_long_window),
		cmocka_unit_test(test_a_year_at_10_kw),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_total_never_falls),
		cmocka_unit_test(test_settled_is_final),
		cmocka_unit_test(test_held_value_does_not_slide),
		cmocka_unit_test(test_slow_polls),
		cmocka_unit_test(test_alias_scan),
		cmocka_unit_test(test_alias_changes),
		cmocka_unit_test(test_alias_catches_up),
		cmocka_unit_test(test_real_traces),
		cmocka_unit_test(test_made_up_beats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
