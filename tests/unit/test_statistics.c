/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "energy/statistics.h"

static void assert_near(double got, double wanted, double tolerance)
{
	if (!(fabs(got - wanted) <= tolerance))
		fail_msg("%.12g is not %.12g within %g", got, wanted, tolerance);
}

/* Quantiles computed with mpmath to 30 digits. */
static void test_t95(void **state)
{
	static const struct {
		size_t df;
		double t;
	} known[] = {
		{1, 12.7062047},  {2, 4.30265273},  {3, 3.18244631},   {4, 2.77644511},
		{5, 2.57058184},  {6, 2.44691185},  {7, 2.36462425},   {8, 2.30600414},
		{9, 2.26215716},  {10, 2.22813885}, {11, 2.20098516},  {12, 2.17881283},
		{20, 2.08596345}, {30, 2.04227246}, {100, 1.98397152}, {1000, 1.96233908},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_near(wtl_statistics_t95(known[i].df), known[i].t, 0.00001);
	assert_near(wtl_statistics_t95(SIZE_MAX), 1.959963985, 1e-9);
	assert_true(isinf(wtl_statistics_t95(0)));
}

static void test_t95_falls(void **state)
{
	(void)state;
	for (size_t df = 1; df < 2000; df++)
		assert_true(wtl_statistics_t95(df) > wtl_statistics_t95(df + 1));
}

static void test_known_series(void **state)
{
	static const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
	struct wtl_statistics got;

	(void)state;
	wtl_statistics_of(values, 8, &got);
	assert_int_equal(got.n, 8);
	assert_near(got.mean, 5, 1e-12);
	assert_near(got.sd, sqrt(32.0 / 7), 1e-12);
	assert_near(got.ci95, 2.36462425 * sqrt(32.0 / 7 / 8), 1e-6);
	assert_near(got.min, 2, 0);
	assert_near(got.max, 9, 0);
}

static void test_one_by_one(void **state)
{
	static const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
	struct wtl_tally tally = {0};
	struct wtl_statistics got, wanted;

	(void)state;
	wtl_tally_statistics(&tally, &got);
	assert_int_equal(got.n, 0);
	assert_near(got.mean, 0, 0);
	for (size_t n = 1; n <= 8; n++) {
		wtl_tally_add(&tally, values[n - 1]);
		wtl_tally_statistics(&tally, &got);
		wtl_statistics_of(values, n, &wanted);
		assert_memory_equal(&got, &wanted, sizeof(got));
	}
}

static void test_few(void **state)
{
	static const double values[] = {3, -1};
	struct wtl_statistics got;

	(void)state;
	wtl_statistics_of(values, 0, &got);
	assert_int_equal(got.n, 0);
	assert_near(got.mean, 0, 0);
	wtl_statistics_of(values, 1, &got);
	assert_near(got.mean, 3, 0);
	assert_near(got.sd, 0, 0);
	assert_near(got.ci95, 0, 0);
	assert_near(got.min, 3, 0);
	assert_near(got.max, 3, 0);
	wtl_statistics_of(values, 2, &got);
	assert_near(got.mean, 1, 1e-12);
	assert_near(got.sd, sqrt(8), 1e-12);
	assert_near(got.ci95, 12.706205 * 2, 1e-5);
	assert_near(got.min, -1, 0);
	assert_near(got.max, 3, 0);
}

/* The naive sum of squares loses all digits here. */
static void test_large_offset(void **state)
{
	static const double values[] = {1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16};
	struct wtl_statistics got;

	(void)state;
	wtl_statistics_of(values, 4, &got);
	assert_near(got.mean, 1e9 + 10, 1e-6);
	assert_near(got.sd, sqrt(30), 1e-6);
}

static void test_not_finite(void **state)
{
	static const double first[] = {(double)NAN, 1, 2}, last[] = {1, 2, (double)NAN},
			    infinite[] = {1, HUGE_VAL};
	struct wtl_statistics got;

	(void)state;
	wtl_statistics_of(first, 3, &got);
	assert_true(isnan(got.mean) && isnan(got.sd) && isnan(got.min) && isnan(got.max));
	wtl_statistics_of(last, 3, &got);
	assert_true(isnan(got.mean) && isnan(got.ci95) && isnan(got.min) && isnan(got.max));
	wtl_statistics_of(infinite, 2, &got);
	assert_false(isfinite(got.mean));
	assert_false(isfinite(got.sd));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_t95),	     cmocka_unit_test(test_t95_falls),
		cmocka_unit_test(test_known_series), cmocka_unit_test(test_one_by_one),
		cmocka_unit_test(test_known_series), cmocka_unit_test(test_few),
		cmocka_unit_test(test_large_offset), cmocka_unit_test(test_not_finite),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
