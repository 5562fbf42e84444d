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
		assert_near(wtl_statistics_t95(known[i].df), known[i].t,
			    known[i].df <= 10 ? 0.000001 : 0.00001);
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

/* ---- Ratios ---- */

static struct wtl_ratio ratio_of(const double a[], const double b[], size_t n, double of_all)
{
	struct wtl_tally logs = {0};
	struct wtl_ratio ratio;

	for (size_t i = 0; i < n; i++)
		wtl_tally_add(&logs, log(b[i] / a[i]));
	wtl_ratio_of(&logs, of_all, &ratio);
	return ratio;
}

static void test_ratio(void **state)
{
	static const double a[] = {10, 11, 12, 13}, b[] = {22, 21, 25, 27};
	struct wtl_ratio ratio = ratio_of(a, b, 4, 0.0);

	(void)state;
	assert_int_equal(ratio.n, 4);
	/* By Python's statistics: geometric mean, and 3.18244631 * stdev / 2 of the logarithms. */
	assert_near(ratio.value, 2.0647008, 1e-6);
	assert_near(ratio.of_pairs, 0.0931658, 1e-6);
	assert_near(log(ratio.high / ratio.low), 2 * ratio.of_pairs, 1e-12);
	assert_true(wtl_ratio_is_significant(&ratio));
	ratio = ratio_of(a, b, 4, 0.3);
	assert_near(ratio.of_all, 0.6, 1e-12);
	assert_near(log(ratio.high / ratio.value), hypot(0.6, ratio.of_pairs), 1e-12);
	assert_true(wtl_ratio_is_significant(&ratio));
	ratio = ratio_of(a, b, 4, 0.4);
	assert_false(wtl_ratio_is_significant(&ratio));
	/* Two pairs that agree are enough. */
	ratio = ratio_of((const double[]){1.0, 1.0}, (const double[]){2.0, 2.001}, 2, 0.0);
	assert_true(ratio.low > 1.9 && wtl_ratio_is_significant(&ratio));
	ratio = ratio_of(b, a, 4, 0.0);
	assert_true(ratio.high < 1.0 && wtl_ratio_is_significant(&ratio));
	/* The same each time. */
	ratio = ratio_of(a, a, 4, 0.0);
	assert_true(ratio.low == 1.0 && ratio.high == 1.0);
	assert_false(wtl_ratio_is_significant(&ratio));
}

static void test_ratio_of_too_little(void **state)
{
	static const double a[] = {10, 10}, none[] = {0, 20}, b[] = {20, 20};
	struct wtl_ratio ratio = ratio_of(a, b, 1, 0.0);

	(void)state;
	assert_int_equal(ratio.n, 1);
	assert_near(ratio.value, 2, 1e-12);
	assert_false(wtl_ratio_is_significant(&ratio));
	assert_int_equal(ratio_of(a, b, 0, 0.0).n, 0);
	assert_int_equal(ratio_of(a, none, 2, 0.0).n, 0);
	assert_int_equal(ratio_of(none, a, 2, 0.0).n, 0);
	assert_int_equal(ratio_of(none, none, 2, 0.0).n, 0);
	assert_int_equal(ratio_of(a, b, 2, (double)NAN).n, 0);
}

/* By Box and Muller, from a generator of Knuth's. */
static double normal(uint64_t *seed)
{
	double u[2];

	for (size_t i = 0; i < 2; i++) {
		*seed = *seed * 6364136223846793005u + 1442695040888963407u;
		u[i] = ((double)(*seed >> 11) + 0.5) / 0x1p53;
	}
	return sqrt(-2 * log(u[0])) * cos(2 * 3.14159265358979 * u[1]);
}

/* 95 of 100 intervals hold the true ratio. Every run has noise of its own, neighbours drift alike, and all pairs
 * share an error. */
static void test_coverage(void **state)
{
	static const struct {
		size_t n;
		double noise, shared;
		unsigned least, most; /* of 10000 */
	} cases[] = {
		{2, 0.05, 0.0, 9400, 9600},   {3, 0.05, 0.0, 9400, 9600},
		{10, 0.05, 0.0, 9400, 9600},  {10, 0.15, 0.0, 9350, 9600},
		{10, 0.02, 0.05, 9400, 9700}, {5, 0.05, 0.03, 9400, 9800},
	};
	uint64_t seed = 7;

	(void)state;
	for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
		unsigned covered = 0;

		for (size_t trial = 0; trial < 10000; trial++) {
			double a[10], b[10], shared = 1 + cases[at].shared * normal(&seed);
			struct wtl_ratio ratio;

			for (size_t i = 0; i < cases[at].n; i++) {
				double drift = 1 + 0.1 * (double)i;

				a[i] = 100 * drift * (1 + cases[at].noise * normal(&seed));
				b[i] = 198 * drift * shared * (1 + cases[at].noise * normal(&seed));
			}
			ratio = ratio_of(a, b, cases[at].n, cases[at].shared);
			covered += ratio.low <= 1.98 && 1.98 <= ratio.high;
		}
		if (covered < cases[at].least || covered > cases[at].most)
			fail_msg("case %zu: %u of 10000", at, covered);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_t95),	     cmocka_unit_test(test_t95_falls),
		cmocka_unit_test(test_known_series), cmocka_unit_test(test_one_by_one),
		cmocka_unit_test(test_known_series), cmocka_unit_test(test_few),
		cmocka_unit_test(test_large_offset), cmocka_unit_test(test_not_finite),
		cmocka_unit_test(test_ratio),	     cmocka_unit_test(test_ratio_of_too_little),
		cmocka_unit_test(test_coverage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
