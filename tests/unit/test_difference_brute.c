/* SPDX-License-Identifier: MIT */
/* Differences against a reference that knows no formula: every way in which the errors may fall. */
#include "energy/difference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* What a measurement is made of: its value, and standard errors of which two go with the sensor. */
struct errors {
	double value;
	double own; /* of this measurement alone */
};

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *seed >> 33;
}

/*
 * The standard deviation of b - a, where every error is its standard deviation upwards or downwards:
 * the mean square over all combinations is the exact variance of independent errors. gain is relative;
 * is_same: the sensor is wrong by the same in both.
 */
static double spread(const struct errors *a, const struct errors *b, double gain, bool is_same)
{
	double squares = 0.0;
	unsigned n = 0;

	for (unsigned signs = 0; signs < 16; signs++) {
		double own_a = signs & 1 ? a->own : -a->own, own_b = signs & 2 ? b->own : -b->own;
		double gain_a = signs & 4 ? gain : -gain, gain_b = signs & 8 ? gain : -gain;
		double found_a, found_b, off;

		if (is_same)
			gain_b = gain_a;
		found_a = a->value * (1.0 + gain_a) + own_a;
		found_b = b->value * (1.0 + gain_b) + own_b;
		off = (found_b - found_a) - (b->value - a->value);
		squares += off * off;
		n++;
	}
	return sqrt(squares / n);
}

static struct wtl_measured measured_of(const struct errors *errors, double gain)
{
	double common = errors->value * gain;

	return (struct wtl_measured){
		.value = (uint64_t)errors->value,
		.uncertainty = (uint64_t)llround(2.0 * hypot(common, errors->own)),
		.common = common,
	};
}

static void draw(uint64_t *seed, struct errors *errors)
{
	errors->value = (double)(1000000 + next(seed) % 1000000000);
	errors->own = (double)(1000 + next(seed) % 10000000);
}

/* Within the rounding up of the result, and what the roundings of the uncertainties do to it: common
 * parts are taken from their squares, which makes more of half a microjoule. */
static void assert_near(uint64_t found, double wanted, const struct wtl_measured *first,
			const struct wtl_measured *second)
{
	double rounded = ((double)first->uncertainty + (double)second->uncertainty) / wanted;

	if (fabs((double)found - wanted) > 1.0 + rounded)
		fail_msg("found %llu, wanted %.3f", (unsigned long long)found, wanted);
}

static void test_separate_sensors(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (unsigned i = 0; i < 5000; i++) {
		double gain = (double)(next(&seed) % 50000) / 1e6;
		struct wtl_difference difference;
		struct wtl_measured first, second;
		struct errors a, b;

		draw(&seed, &a);
		draw(&seed, &b);
		first = measured_of(&a, gain);
		second = measured_of(&b, gain);
		wtl_difference_of(&first, &second, -1.0, &difference);
		assert_near(difference.uncertainty, 2.0 * spread(&a, &b, gain, false), &first,
			    &second);
	}
}

static void test_the_same_sensor(void **state)
{
	uint64_t seed = 2;

	(void)state;
	for (unsigned i = 0; i < 5000; i++) {
		double gain = (double)(next(&seed) % 50000) / 1e6;
		struct wtl_difference difference;
		struct wtl_measured first, second;
		struct errors a, b;

		draw(&seed, &a);
		draw(&seed, &b);
		first = measured_of(&a, gain);
		second = measured_of(&b, gain);
		wtl_difference_of(&first, &second, gain * fabs(b.value - a.value), &difference);
		assert_near(difference.uncertainty, 2.0 * spread(&a, &b, gain, true), &first,
			    &second);
	}
}

/* Whatever the errors: the same sensor never makes a difference less sure. */
static void test_what_is_common_never_hurts(void **state)
{
	uint64_t seed = 3;

	(void)state;
	for (unsigned i = 0; i < 5000; i++) {
		double gain = (double)(next(&seed) % 200000) / 1e6;
		struct wtl_difference apart, together;
		struct wtl_measured first, second;
		struct errors a, b;

		draw(&seed, &a);
		draw(&seed, &b);
		first = measured_of(&a, gain);
		second = measured_of(&b, gain);
		wtl_difference_of(&first, &second, -1.0, &apart);
		wtl_difference_of(&first, &second, gain * fabs(b.value - a.value), &together);
		assert_true(together.uncertainty <= apart.uncertainty + 1);
		assert_int_equal(together.value, apart.value);
		assert_int_equal(together.is_negative, apart.is_negative);
	}
}

/* Swapped, a difference changes its sign and nothing else. */
static void test_swapped(void **state)
{
	uint64_t seed = 4;

	(void)state;
	for (unsigned i = 0; i < 5000; i++) {
		double gain = (double)(next(&seed) % 50000) / 1e6, common;
		struct wtl_difference there, back;
		struct wtl_measured first, second;
		struct errors a, b;

		draw(&seed, &a);
		draw(&seed, &b);
		first = measured_of(&a, gain);
		second = measured_of(&b, gain);
		common = i % 2 ? gain * fabs(b.value - a.value) : -1.0;
		wtl_difference_of(&first, &second, common, &there);
		wtl_difference_of(&second, &first, common, &back);
		assert_int_equal(there.value, back.value);
		assert_int_equal(there.uncertainty, back.uncertainty);
		assert_int_equal(there.is_significant, back.is_significant);
		if (there.value > 0)
			assert_int_not_equal(there.is_negative, back.is_negative);
	}
}

/* The ratio has the difference's sign, and is of the first. */
static void test_ratios(void **state)
{
	uint64_t seed = 5;

	(void)state;
	for (unsigned i = 0; i < 5000; i++) {
		const struct wtl_measured first = {.value = 1 + next(&seed) % 1000000},
					  second = {.value = next(&seed) % 1000000};
		double wanted = ((double)second.value - (double)first.value) / (double)first.value;
		struct wtl_difference difference;

		wtl_difference_of(&first, &second, -1.0, &difference);
		assert_true(difference.has_ratio);
		assert_true(fabs(difference.ratio - wanted) < 1e-12 * fmax(1.0, fabs(wanted)));
		assert_int_equal(difference.is_negative, wanted < 0.0);
		/* Without any error each difference is one, and none is none. */
		assert_int_equal(difference.uncertainty, 0);
		assert_int_equal(difference.is_significant, first.value != second.value);
	}
}

/* At its very uncertainty a difference is not yet significant; one more, and it is. */
static void test_the_edge_of_significance(void **state)
{
	struct wtl_difference difference;

	(void)state;
	for (uint64_t uncertainty = 1; uncertainty < 200; uncertainty++) {
		const struct wtl_measured first = {.value = 1000, .uncertainty = uncertainty};
		struct wtl_measured second = {.value = 1000 + uncertainty};

		wtl_difference_of(&first, &second, -1.0, &difference);
		assert_int_equal(difference.uncertainty, uncertainty);
		assert_false(difference.is_significant);
		second.value++;
		wtl_difference_of(&first, &second, -1.0, &difference);
		assert_true(difference.is_significant);
		second.value = 1000 - uncertainty;
		wtl_difference_of(&first, &second, -1.0, &difference);
		assert_true(difference.is_negative);
		assert_false(difference.is_significant);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_separate_sensors),
		cmocka_unit_test(test_the_same_sensor),
		cmocka_unit_test(test_what_is_common_never_hurts),
		cmocka_unit_test(test_swapped),
		cmocka_unit_test(test_ratios),
		cmocka_unit_test(test_the_edge_of_significance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
