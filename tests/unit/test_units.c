/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "energy/units.h"

__extension__ typedef unsigned __int128 u128;

static struct wtl_unit from_scale(double joules)
{
	struct wtl_unit unit = {.num = 0, .den = 0};

	assert_true(wtl_unit_from_scale(joules, &unit));
	assert_true(unit.num > 0 && unit.den > 0);
	return unit;
}

static void test_whole_microjoules(void **state)
{
	static const uint64_t micro[] = {1, 61, 1000, 15300000, 1000000, 1000000000};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(micro); i++) {
		struct wtl_unit unit = from_scale((double)micro[i] / 1e6);

		assert_int_equal(unit.num, micro[i]);
		assert_int_equal(unit.den, 1);
	}
	/* 0.1 J, which no double is. */
	assert_int_equal(from_scale(0.1).num, 100000);
}

/* What perf prints for RAPL, and every other power of two down to 2^-62 J, is exact. */
static void test_powers_of_two(void **state)
{
	struct wtl_unit perf = from_scale(2.3283064365386963e-10);

	(void)state;
	assert_int_equal(wtl_unit_convert(perf, UINT64_C(1) << 32), 1000000);
	for (int k = 0; k <= 62; k++) {
		struct wtl_unit unit = from_scale(ldexp(1.0, -k));

		assert_int_equal(wtl_unit_convert(unit, UINT64_C(1) << k), 1000000);
		if (k >= 20) /* a count is less than a µJ */
			assert_int_equal(wtl_unit_convert(unit, (UINT64_C(1) << k) - 1), 999999);
	}
}

static void test_other_scales(void **state)
{
	static const double joules[] = {1.53e-5, 1.0 / 3.0,   6.10352e-05, 1e-9,
					3.3e-12, 999.9999999, 1.9e-13,	   M_PI * 1e-6};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(joules); i++) {
		struct wtl_unit unit = from_scale(joules[i]);
		double back = (double)unit.num / (double)unit.den / 1e6;

		assert_true(fabs(back - joules[i]) <= joules[i] * 1e-12);
	}
}

static void test_refused_scales(void **state)
{
	const double bad[] = {0.0,
			      -0.0,
			      -1.0,
			      (double)NAN,
			      (double)INFINITY,
			      -(double)INFINITY,
			      1000.0001,
			      1000.000000004,
			      DBL_MAX,
			      DBL_MIN,
			      5e-324,
			      1e-25,
			      3.1e-17};
	struct wtl_unit unit = {.num = 7, .den = 9};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
		assert_false(wtl_unit_from_scale(bad[i], &unit));
		assert_int_equal(unit.num, 7);
		assert_int_equal(unit.den, 9);
	}
	assert_int_equal(from_scale(1000.0).num, 1000000000);
}

static void test_convert(void **state)
{
	const struct wtl_unit third = {.num = 1, .den = 3}, huge = {.num = UINT64_MAX, .den = 1};

	(void)state;
	assert_int_equal(wtl_unit_convert(WTL_UNIT_MICRO, 0), 0);
	assert_true(wtl_unit_convert(WTL_UNIT_MICRO, UINT64_MAX) == UINT64_MAX);
	assert_int_equal(wtl_unit_convert(WTL_UNIT_MILLI, 17), 17000);
	assert_true(wtl_unit_convert(WTL_UNIT_MILLI, UINT64_MAX / 1000) ==
		    UINT64_MAX / 1000 * 1000);
	assert_true(wtl_unit_convert(WTL_UNIT_MILLI, UINT64_MAX / 1000 + 1) == UINT64_MAX);
	assert_int_equal(wtl_unit_convert(third, 5), 1);
	assert_true(wtl_unit_convert(third, UINT64_MAX) == UINT64_MAX / 3);
	assert_true(wtl_unit_convert(huge, 1) == UINT64_MAX);
	assert_true(wtl_unit_convert(huge, UINT64_MAX) == UINT64_MAX);
}

/* The counts that make up an energy never come to more than it. */
static void test_counts(void **state)
{
	const struct wtl_unit units[] = {WTL_UNIT_MICRO,
					 WTL_UNIT_MILLI,
					 {.num = 61, .den = 1},
					 {.num = 1000000, .den = UINT64_C(1) << 32},
					 {.num = 7, .den = 11}};
	static const uint64_t micro[] = {0, 1, 60, 61, 62, 999, 1000, 1000000, 123456789012345};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(units); i++)
		for (size_t k = 0; k < UNIT_COUNT(micro); k++) {
			uint64_t counts = wtl_unit_counts(units[i], micro[k]);

			assert_true(wtl_unit_convert(units[i], counts) <= micro[k]);
			assert_true((u128)(counts + 1) * units[i].num >
				    (u128)micro[k] * units[i].den);
		}
	assert_int_equal(wtl_unit_counts(units[3], 1000000), UINT64_C(1) << 32);
	assert_true(wtl_unit_counts(units[3], UINT64_MAX) == UINT64_MAX);
}

static void test_power(void **state)
{
	(void)state;
	assert_int_equal(wtl_power_uw(1000000, WTL_NS_PER_S), 1000000);
	assert_int_equal(wtl_power_uw(1, 3 * WTL_NS_PER_S), 0);
	assert_int_equal(wtl_power_uw(2, 3 * WTL_NS_PER_S), 1);
	assert_int_equal(wtl_power_uw(3, 2 * WTL_NS_PER_S), 2); /* a half goes up */
	assert_int_equal(wtl_power_uw(5, 0), 0);
	assert_int_equal(wtl_power_uw(5, -1), 0);
	assert_int_equal(wtl_power_uw(5, INT64_MIN), 0);
	assert_int_equal(wtl_power_uw(5, 1), 5000000000);
	assert_true(wtl_power_uw(UINT64_MAX, 1) == UINT64_MAX);
	assert_int_equal(wtl_power_uw(UINT64_MAX, INT64_MAX), 2000000000);
	assert_int_equal(wtl_power_uw(1, INT64_MAX), 0);
}

static void test_energy(void **state)
{
	(void)state;
	assert_int_equal(wtl_energy_uj(250000000, WTL_NS_PER_S), 250000000);
	assert_int_equal(wtl_energy_uj(1, WTL_NS_PER_S / 2), 1); /* a half goes up */
	assert_int_equal(wtl_energy_uj(1, WTL_NS_PER_S / 2 - 1), 0);
	assert_int_equal(wtl_energy_uj(5, 0), 0);
	assert_int_equal(wtl_energy_uj(5, -WTL_NS_PER_S), 0);
	assert_int_equal(wtl_energy_uj(5, INT64_MIN), 0);
	assert_true(wtl_energy_uj(UINT64_MAX, WTL_NS_PER_S) == UINT64_MAX);
	assert_true(wtl_energy_uj(UINT64_MAX, INT64_MAX) == UINT64_MAX);
	/* A kilowatt for a year. */
	assert_int_equal(wtl_energy_uj(1000000000, 365 * 86400 * WTL_NS_PER_S),
			 UINT64_C(31536000000000000));
}

static void test_power_and_energy_agree(void **state)
{
	static const uint64_t power_uw[] = {0, 1, 999, 143900000, 700000000};
	static const int64_t dt_ns[] = {WTL_NS_PER_S, 20 * WTL_NS_PER_S, 3600 * WTL_NS_PER_S};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(power_uw); i++)
		for (size_t k = 0; k < UNIT_COUNT(dt_ns); k++) {
			uint64_t energy_uj = wtl_energy_uj(power_uw[i], dt_ns[k]);

			assert_int_equal(wtl_power_uw(energy_uj, dt_ns[k]), power_uw[i]);
		}
}

static void test_add_sat(void **state)
{
	(void)state;
	assert_int_equal(wtl_add_sat(1, 2), 3);
	assert_true(wtl_add_sat(UINT64_MAX, 0) == UINT64_MAX);
	assert_true(wtl_add_sat(UINT64_MAX - 1, 1) == UINT64_MAX);
	assert_true(wtl_add_sat(UINT64_MAX, 1) == UINT64_MAX);
	assert_true(wtl_add_sat(UINT64_MAX, UINT64_MAX) == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_microjoules),
		cmocka_unit_test(test_powers_of_two),
		cmocka_unit_test(test_other_scales),
		cmocka_unit_test(test_refused_scales),
		cmocka_unit_test(test_convert),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_power),
		cmocka_unit_test(test_energy),
		cmocka_unit_test(test_power_and_energy_agree),
		cmocka_unit_test(test_add_sat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
