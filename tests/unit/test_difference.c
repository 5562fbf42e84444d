/* SPDX-License-Identifier: MIT */
#include "energy/difference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_independent_errors_add_in_quadrature(void **state)
{
	const struct wtl_measured a = {.value = 1000, .uncertainty = 30, .common = 15};
	const struct wtl_measured b = {.value = 1100, .uncertainty = 40, .common = 20};
	struct wtl_difference difference;

	(void)state;
	wtl_difference_of(&a, &b, -1.0, &difference);
	assert_false(difference.is_negative);
	assert_int_equal(difference.value, 100);
	assert_int_equal(difference.uncertainty, 50);
	assert_true(difference.is_significant);
	assert_true(difference.has_ratio);
	assert_true(fabs(difference.ratio - 0.1) < 1e-12);
}

static void test_negative(void **state)
{
	const struct wtl_measured a = {.value = 1100, .uncertainty = 40};
	const struct wtl_measured b = {.value = 1000, .uncertainty = 30};
	struct wtl_difference difference;

	(void)state;
	wtl_difference_of(&a, &b, -1.0, &difference);
	assert_true(difference.is_negative);
	assert_int_equal(difference.value, 100);
	assert_int_equal(difference.uncertainty, 50);
	assert_true(fabs(difference.ratio + 100.0 / 1100.0) < 1e-12);
}

/* All of their errors is the sensor's gain, 1 %: of the difference 1 % is left. */
static void test_a_common_gain_is_left_of_the_difference_alone(void **state)
{
	const struct wtl_measured a = {.value = 1000000, .uncertainty = 20000, .common = 10000.0};
	const struct wtl_measured b = {.value = 1100000, .uncertainty = 22000, .common = 11000.0};
	struct wtl_difference apart, together;

	(void)state;
	wtl_difference_of(&a, &b, -1.0, &apart);
	wtl_difference_of(&a, &b, 1000.0, &together);
	assert_int_equal(apart.value, together.value);
	assert_int_equal(apart.uncertainty, 29733);
	assert_int_equal(together.uncertainty, 2000);
}

static void test_what_is_not_common_stays(void **state)
{
	/* k = 1: 50 of its own and 120 common make 130. */
	const struct wtl_measured a = {.value = 5000, .uncertainty = 260, .common = 120.0};
	struct wtl_difference difference;

	(void)state;
	wtl_difference_of(&a, &a, 0.0, &difference);
	assert_int_equal(difference.value, 0);
	assert_int_equal(difference.uncertainty, (uint64_t)ceil(2.0 * sqrt(2.0) * 50.0));
	assert_false(difference.is_significant);
}

/* Rounding may make the common part more than the whole: that is no negative variance. */
static void test_common_beyond_the_whole(void **state)
{
	const struct wtl_measured a = {.value = 10, .uncertainty = 2, .common = 3.0};
	struct wtl_difference difference;

	(void)state;
	wtl_difference_of(&a, &a, 0.0, &difference);
	assert_int_equal(difference.uncertainty, 0);
	assert_false(difference.is_significant);
}

static void test_nothing_to_compare_with(void **state)
{
	const struct wtl_measured nothing = {.value = 0}, some = {.value = 5, .uncertainty = 1};
	struct wtl_difference difference;

	(void)state;
	wtl_difference_of(&nothing, &some, -1.0, &difference);
	assert_false(difference.has_ratio);
	assert_int_equal(difference.value, 5);
	assert_true(difference.is_significant);
	wtl_difference_of(&some, &nothing, -1.0, &difference);
	assert_true(difference.has_ratio && difference.is_negative);
	assert_true(fabs(difference.ratio + 1.0) < 1e-12);
}

static void test_extremes(void **state)
{
	const struct wtl_measured none = {.value = 0, .uncertainty = 0};
	const struct wtl_measured most = {.value = UINT64_MAX, .uncertainty = UINT64_MAX};
	struct wtl_difference difference;

	(void)state;
	wtl_difference_of(&none, &most, -1.0, &difference);
	assert_true(difference.value == UINT64_MAX);
	assert_true(difference.uncertainty >= UINT64_C(18000000000000000000));
	wtl_difference_of(&most, &most, -1.0, &difference);
	assert_int_equal(difference.value, 0);
	assert_true(difference.uncertainty >= UINT64_C(17900000000000000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_independent_errors_add_in_quadrature),
		cmocka_unit_test(test_negative),
		cmocka_unit_test(test_a_common_gain_is_left_of_the_difference_alone),
		cmocka_unit_test(test_what_is_not_common_stays),
		cmocka_unit_test(test_common_beyond_the_whole),
		cmocka_unit_test(test_nothing_to_compare_with),
		cmocka_unit_test(test_extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
