/* SPDX-License-Identifier: MIT */
/* The use of GPUs by process, smoothed: against the formula in floating point, and what has to hold of it. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "workload/gpu_smooth.h"

enum { MS = 1000000, ALL = 1000000, PROCESSES = 12 };

static const int64_t second_ns = 1000 * (int64_t)MS;

static uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* One process as the header says. */
struct reference {
	double value, averaged_s;
	int64_t told_ns;
	bool is_there, is_fresh;
	uint32_t sample_ppm;
};

static void reference_step(struct reference all[], int64_t dt_ns, int64_t now_ns, bool is_whole)
{
	double dt_s = (double)dt_ns / 1e9;
	bool any = false;

	for (int i = 0; i < PROCESSES; i++)
		any |= all[i].is_fresh;
	for (int i = 0; i < PROCESSES; i++) {
		struct reference *one = &all[i];
		double x = one->is_fresh ? one->sample_ppm : 0.0;

		if (!one->is_there)
			continue;
		if (one->is_fresh || (any && is_whole))
			one->told_ns = now_ns;
		else if (now_ns - one->told_ns <= 1500 * (int64_t)MS)
			continue;
		one->is_fresh = false;
		if (one->averaged_s == 0) {
			one->averaged_s = 1;
			continue;
		}
		one->value += (x - one->value) * dt_s / (one->averaged_s + dt_s);
		one->averaged_s = fmin(one->averaged_s + dt_s, 4);
	}
}

/* No time has passed for a step that is told to be before the last one. */
static void test_steps_back(void **state)
{
	struct wtl_gpu_smooth smooth = {0};

	(void)state;
	wtl_gpu_smooth_step(&smooth, second_ns, true);
	for (int i = 2; i <= 3; i++) {
		assert_true(wtl_gpu_smooth_sample(&smooth, 7, ALL / 2, i * second_ns));
		wtl_gpu_smooth_step(&smooth, i * second_ns, true);
	}
	assert_true(wtl_gpu_smooth_sample(&smooth, 7, 0, 2 * second_ns));
	wtl_gpu_smooth_step(&smooth, 2 * second_ns, true);
	assert_int_equal(wtl_gpu_smooth_get(&smooth, 7), ALL / 2);
	wtl_gpu_smooth_done(&smooth);
}

static void test_formula(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct reference expected[PROCESSES] = {{0}};
		struct wtl_gpu_smooth smooth = {0};
		uint64_t random = seed;
		int64_t now_ns = second_ns;

		wtl_gpu_smooth_step(&smooth, now_ns, true);
		for (int step = 0; step < 400; step++) {
			int64_t dt_ns = (int64_t)(random_next(&random) % 3000 + 1) * MS;
			uint64_t n_samples = random_next(&random) % 4;
			bool is_whole = random_next(&random) % 3 != 0;

			now_ns += dt_ns;
			for (uint64_t k = 0; k < n_samples; k++) {
				int who = (int)(random_next(&random) % PROCESSES);
				uint32_t ppm = (uint32_t)(random_next(&random) % (ALL + 1));

				assert_true(wtl_gpu_smooth_sample(&smooth, who + 1, ppm, now_ns));
				if (!expected[who].is_there)
					expected[who].value = ppm;
				expected[who].is_there = expected[who].is_fresh = true;
				expected[who].sample_ppm = ppm;
				expected[who].told_ns = now_ns;
			}
			wtl_gpu_smooth_step(&smooth, now_ns, is_whole);
			reference_step(expected, dt_ns, now_ns, is_whole);
			/* Each step is cut to a whole number, and the errors decay. */
			for (int i = 0; i < PROCESSES; i++)
				assert_true(fabs(wtl_gpu_smooth_get(&smooth, i + 1) -
						 expected[i].value) < 4.0 * 1000.0);
			for (int i = 0; i < PROCESSES; i++)
				assert_true(wtl_gpu_smooth_get(&smooth, i + 1) <= ALL);
		}
		wtl_gpu_smooth_done(&smooth);
	}
}

/* Close, where steps are as wattle takes them: a second. */
static void test_seconds(void **state)
{
	struct wtl_gpu_smooth smooth = {0};
	double value = 200000.0;

	(void)state;
	wtl_gpu_smooth_step(&smooth, second_ns, true);
	for (int64_t i = 2; i < 60; i++) {
		double averaged_s = i - 2 < 4 ? (double)(i - 2) : 4;
		uint32_t sample = i == 2 ? 200000 : 900000;

		assert_true(wtl_gpu_smooth_sample(&smooth, 7, sample, i * second_ns));
		wtl_gpu_smooth_step(&smooth, i * second_ns, true);
		value += (sample - value) / (averaged_s + 1);
		assert_true(fabs(wtl_gpu_smooth_get(&smooth, 7) - value) <= 6.0);
	}
	assert_in_range(wtl_gpu_smooth_get(&smooth, 7), 899000, 900000);
	wtl_gpu_smooth_done(&smooth);
}

/*
 * Drivers have no sample of who did nothing. One process works for `on` s and rests for `off` s, the
 * other one works half as hard or so, without rest: its parts of their energy, after so many seconds.
 */
static double duty_ratio(uint32_t busy, uint32_t idle, int on, int off, uint32_t steady, int n,
			 int first)
{
	struct wtl_gpu_smooth smooth = {0};
	double sums[2] = {0};

	for (int64_t i = 1; i <= n; i++) {
		uint32_t ppm = (i + first) % (on + off) < on ? busy : idle;
		double values[2];

		if (ppm)
			assert_true(wtl_gpu_smooth_sample(&smooth, 1, ppm, i * second_ns));
		assert_true(wtl_gpu_smooth_sample(&smooth, 2, steady, i * second_ns));
		wtl_gpu_smooth_step(&smooth, i * second_ns, true);
		for (int k = 0; k < 2; k++)
			values[k] = wtl_gpu_smooth_get(&smooth, k + 1);
		for (int k = 0; k < 2; k++)
			sums[k] += values[k] / (values[0] + values[1]);
	}
	wtl_gpu_smooth_done(&smooth);
	return sums[0] / sums[1];
}

static void test_duty_cycles(void **state)
{
	/* What was used in all of a period, by hand: 90 and 0 are 45 in the mean. */
	static const struct {
		uint32_t busy, idle;
		int on, off;
		uint32_t steady;
		double ratio;
	} cases[] = {
		{900000, 0, 1, 1, 450000, 1},	   {900000, 0, 2, 2, 450000, 1},
		{800000, 100000, 1, 1, 450000, 1}, {900000, 0, 1, 2, 300000, 1},
		{900000, 0, 2, 1, 600000, 1},	   {800000, 0, 1, 3, 200000, 1},
		{600000, 0, 1, 1, 600000, 0.5},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++)
		for (int first = 0; first < cases[i].on + cases[i].off; first++) {
			double minute = duty_ratio(cases[i].busy, cases[i].idle, cases[i].on,
						   cases[i].off, cases[i].steady, 60, first);
			double short_one = duty_ratio(cases[i].busy, cases[i].idle, cases[i].on,
						      cases[i].off, cases[i].steady, 12, first);

			/* What is left is how far the average swings, and how it begins. */
			assert_true(fabs(minute / cases[i].ratio - 1) < 0.1);
			assert_true(fabs(short_one / cases[i].ratio - 1) < 0.3);
		}
}

/* Both rest together: nothing is known, or nothing was done, and their parts stay. */
static void test_rest_together(void **state)
{
	struct wtl_gpu_smooth smooth = {0};

	(void)state;
	for (int64_t i = 1; i <= 40; i++) {
		if (i % 4 < 2) {
			assert_true(wtl_gpu_smooth_sample(&smooth, 1, 900000, i * second_ns));
			assert_true(wtl_gpu_smooth_sample(&smooth, 2, 300000, i * second_ns));
		}
		wtl_gpu_smooth_step(&smooth, i * second_ns, true);
		if (i >= 4)
			assert_true(fabs((double)wtl_gpu_smooth_get(&smooth, 1) /
						 wtl_gpu_smooth_get(&smooth, 2) -
					 3) < 0.01);
	}
	wtl_gpu_smooth_done(&smooth);
}

/* An answer of which not all could be read does not tell who did nothing. */
static void test_partial_answers(void **state)
{
	struct wtl_gpu_smooth smooth = {0};

	(void)state;
	assert_true(wtl_gpu_smooth_sample(&smooth, 1, 600000, second_ns));
	wtl_gpu_smooth_step(&smooth, second_ns, true);
	assert_true(wtl_gpu_smooth_sample(&smooth, 2, 400000, 2 * second_ns));
	wtl_gpu_smooth_step(&smooth, 2 * second_ns, false);
	assert_int_equal(wtl_gpu_smooth_get(&smooth, 1), 600000);
	/* But not for ever. */
	assert_true(wtl_gpu_smooth_sample(&smooth, 2, 400000, 3 * second_ns));
	wtl_gpu_smooth_step(&smooth, 3 * second_ns, false);
	assert_int_equal(wtl_gpu_smooth_get(&smooth, 1), 300000);
	assert_int_equal(wtl_gpu_smooth_get(&smooth, 2), 400000);
	wtl_gpu_smooth_done(&smooth);
}

/* The first sample counts at once, and steps without time change nothing. */
static void test_begins_with_the_first(void **state)
{
	struct wtl_gpu_smooth smooth = {0};

	(void)state;
	assert_int_equal(wtl_gpu_smooth_get(&smooth, 1), 0);
	assert_true(wtl_gpu_smooth_sample(&smooth, 1, 440000, second_ns));
	assert_int_equal(wtl_gpu_smooth_get(&smooth, 1), 440000);
	for (int i = 0; i < 10; i++)
		wtl_gpu_smooth_step(&smooth, second_ns, true);
	assert_int_equal(wtl_gpu_smooth_get(&smooth, 1), 440000);
	/* Time that goes back is no time. */
	wtl_gpu_smooth_step(&smooth, second_ns / 2, true);
	assert_int_equal(wtl_gpu_smooth_get(&smooth, 1), 440000);
	wtl_gpu_smooth_done(&smooth);
}

/* For a second and a half without any sample nothing is known. */
static void test_old_samples(void **state)
{
	static const struct {
		int64_t later_ns;
		bool stands;
	} cases[] = {{0, true},
		     {WTL_GPU_SAMPLE_NS - 1, true},
		     {WTL_GPU_SAMPLE_NS, true},
		     {WTL_GPU_SAMPLE_NS + 1, false},
		     {WTL_GPU_SAMPLE_NS * 100, false}};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		struct wtl_gpu_smooth smooth = {0};

		wtl_gpu_smooth_step(&smooth, second_ns, true);
		assert_true(wtl_gpu_smooth_sample(&smooth, 1, ALL, second_ns));
		wtl_gpu_smooth_step(&smooth, second_ns, true);
		wtl_gpu_smooth_step(&smooth, second_ns + cases[i].later_ns, true);
		if (cases[i].stands)
			assert_int_equal(wtl_gpu_smooth_get(&smooth, 1), ALL);
		else
			assert_true(wtl_gpu_smooth_get(&smooth, 1) < ALL);
		wtl_gpu_smooth_done(&smooth);
	}
}

/* It never leaves the range of its samples, and moves towards them. */
static void test_between(void **state)
{
	uint64_t random = 5;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		struct wtl_gpu_smooth smooth = {0};
		uint32_t first = (uint32_t)(random_next(&random) % (ALL + 1));
		uint32_t second = (uint32_t)(random_next(&random) % (ALL + 1));
		int64_t dt_ns = (int64_t)(random_next(&random) % (100 * (uint64_t)second_ns)) + 1;
		uint32_t value;

		assert_true(wtl_gpu_smooth_sample(&smooth, 1, first, second_ns));
		wtl_gpu_smooth_step(&smooth, second_ns, true);
		assert_true(wtl_gpu_smooth_sample(&smooth, 1, second, second_ns + dt_ns));
		wtl_gpu_smooth_step(&smooth, second_ns + dt_ns, true);
		value = wtl_gpu_smooth_get(&smooth, 1);
		assert_true(value >= (first < second ? first : second));
		assert_true(value <= (first > second ? first : second));
		wtl_gpu_smooth_done(&smooth);
	}
}

static void test_forget(void **state)
{
	struct wtl_gpu_smooth smooth = {0};

	(void)state;
	for (int pid = 1; pid <= 100; pid++)
		assert_true(wtl_gpu_smooth_sample(&smooth, pid, (uint32_t)pid * 1000, second_ns));
	for (int pid = 3; pid <= 100; pid += 3)
		assert_int_equal(wtl_gpu_smooth_get(&smooth, pid), pid * 1000);
	/* Nobody asked for the others. */
	assert_int_equal(wtl_gpu_smooth_forget(&smooth), (5050 - 3 * 561) * 1000);
	assert_int_equal(smooth.n, 33);
	for (int pid = 1; pid <= 100; pid++)
		assert_int_equal(wtl_gpu_smooth_get(&smooth, pid), pid % 3 ? 0 : pid * 1000);
	wtl_gpu_smooth_forget(&smooth);
	assert_int_equal(smooth.n, 33);
	/* Nobody asked since: samples that come late are not of someone unknown, and one who has the number
	 * now begins with its first. */
	assert_int_equal(wtl_gpu_smooth_forget(&smooth), 0);
	assert_int_equal(smooth.n, 33);
	assert_true(wtl_gpu_smooth_sample(&smooth, 3, 500000, 2 * second_ns));
	assert_true(wtl_gpu_smooth_sample(&smooth, 6, 700000, 2 * second_ns));
	assert_int_equal(wtl_gpu_smooth_get(&smooth, 3), 500000);
	assert_int_equal(wtl_gpu_smooth_get(&smooth, 9), 0);
	assert_int_equal(wtl_gpu_smooth_forget(&smooth), 0);
	assert_int_equal(smooth.n, 2);
	assert_int_equal(wtl_gpu_smooth_get(&smooth, 6), 0);
	wtl_gpu_smooth_done(&smooth);
}

/* One who has the number of someone forgotten has an average of its own. */
static void test_a_number_used_again(void **state)
{
	struct wtl_gpu_smooth smooth = {0};

	(void)state;
	assert_true(wtl_gpu_smooth_sample(&smooth, 1, ALL, second_ns));
	wtl_gpu_smooth_step(&smooth, second_ns, true);
	assert_int_equal(wtl_gpu_smooth_get(&smooth, 1), ALL);
	for (int i = 0; i < 2; i++)
		wtl_gpu_smooth_forget(&smooth);
	assert_true(wtl_gpu_smooth_sample(&smooth, 1, 400000, 3 * second_ns));
	wtl_gpu_smooth_step(&smooth, 3 * second_ns, true);
	assert_int_equal(wtl_gpu_smooth_get(&smooth, 1), 400000);
	assert_true(wtl_gpu_smooth_sample(&smooth, 1, 800000, 4 * second_ns));
	wtl_gpu_smooth_step(&smooth, 4 * second_ns, true);
	assert_int_equal(wtl_gpu_smooth_get(&smooth, 1), 600000);
	wtl_gpu_smooth_done(&smooth);
}

static void test_too_many(void **state)
{
	struct wtl_gpu_smooth smooth = {0};

	(void)state;
	for (int pid = 1; pid <= WTL_GPU_SMOOTH_MAX; pid++)
		assert_true(wtl_gpu_smooth_sample(&smooth, pid, 5, second_ns));
	assert_false(wtl_gpu_smooth_sample(&smooth, WTL_GPU_SMOOTH_MAX + 1, 5, second_ns));
	assert_int_equal(wtl_gpu_smooth_get(&smooth, WTL_GPU_SMOOTH_MAX + 1), 0);
	/* Those that are there go on. */
	assert_true(wtl_gpu_smooth_sample(&smooth, 1, 9, second_ns));
	wtl_gpu_smooth_done(&smooth);
	assert_int_equal(wtl_gpu_smooth_get(&smooth, 1), 0);
	wtl_gpu_smooth_done(&smooth);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps_back),
		cmocka_unit_test(test_formula),
		cmocka_unit_test(test_seconds),
		cmocka_unit_test(test_duty_cycles),
		cmocka_unit_test(test_rest_together),
		cmocka_unit_test(test_partial_answers),
		cmocka_unit_test(test_begins_with_the_first),
		cmocka_unit_test(test_old_samples),
		cmocka_unit_test(test_between),
		cmocka_unit_test(test_forget),
		cmocka_unit_test(test_a_number_used_again),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
