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

/* One process as the page says: v += (x - v)·dt / (4 s + dt). */
struct reference {
	double value;
	uint32_t sample_ppm;
	int64_t sample_ns;
	bool is_there;
};

static void reference_step(struct reference *all, int64_t dt_ns, int64_t now_ns)
{
	for (int i = 0; i < PROCESSES; i++) {
		double x = now_ns - all[i].sample_ns <= WTL_GPU_SAMPLE_NS ? all[i].sample_ppm : 0.0;

		if (all[i].is_there)
			all[i].value += (x - all[i].value) * (double)dt_ns / (4e9 + (double)dt_ns);
	}
}

static void test_formula(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct reference expected[PROCESSES] = {{0}};
		struct wtl_gpu_smooth smooth = {0};
		uint64_t random = seed;
		int64_t now_ns = second_ns;

		wtl_gpu_smooth_step(&smooth, now_ns);
		for (int step = 0; step < 400; step++) {
			int64_t dt_ns = (int64_t)(random_next(&random) % 3000 + 1) * MS;
			int who = (int)(random_next(&random) % PROCESSES);
			uint32_t ppm = (uint32_t)(random_next(&random) % (ALL + 1));

			if (random_next(&random) % 2) {
				assert_true(wtl_gpu_smooth_sample(&smooth, who + 1, ppm, now_ns));
				if (!expected[who].is_there)
					expected[who].value = ppm;
				expected[who].is_there = true;
				expected[who].sample_ppm = ppm;
				expected[who].sample_ns = now_ns;
			}
			now_ns += dt_ns;
			wtl_gpu_smooth_step(&smooth, now_ns);
			reference_step(expected, dt_ns, now_ns);
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
	wtl_gpu_smooth_step(&smooth, second_ns);
	assert_true(wtl_gpu_smooth_sample(&smooth, 7, 200000, second_ns));
	for (int64_t i = 2; i < 60; i++) {
		assert_true(wtl_gpu_smooth_sample(&smooth, 7, 900000, i * second_ns));
		wtl_gpu_smooth_step(&smooth, i * second_ns);
		value += (900000.0 - value) / 5.0;
		assert_true(fabs(wtl_gpu_smooth_get(&smooth, 7) - value) <= 6.0);
	}
	assert_in_range(wtl_gpu_smooth_get(&smooth, 7), 899000, 900000);
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
		wtl_gpu_smooth_step(&smooth, second_ns);
	assert_int_equal(wtl_gpu_smooth_get(&smooth, 1), 440000);
	/* Time that goes back is no time. */
	wtl_gpu_smooth_step(&smooth, second_ns / 2);
	assert_int_equal(wtl_gpu_smooth_get(&smooth, 1), 440000);
	wtl_gpu_smooth_done(&smooth);
}

/* A sample stands for a second and a half. */
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

		wtl_gpu_smooth_step(&smooth, second_ns);
		assert_true(wtl_gpu_smooth_sample(&smooth, 1, ALL, second_ns));
		wtl_gpu_smooth_step(&smooth, second_ns + cases[i].later_ns);
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

		wtl_gpu_smooth_step(&smooth, second_ns);
		assert_true(wtl_gpu_smooth_sample(&smooth, 1, first, second_ns));
		assert_true(wtl_gpu_smooth_sample(&smooth, 1, second, second_ns + dt_ns));
		wtl_gpu_smooth_step(&smooth, second_ns + dt_ns);
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
		cmocka_unit_test(test_formula),
		cmocka_unit_test(test_seconds),
		cmocka_unit_test(test_begins_with_the_first),
		cmocka_unit_test(test_old_samples),
		cmocka_unit_test(test_between),
		cmocka_unit_test(test_forget),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
