/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "energy/sensor_class.h"

#define MS(x) ((int64_t)(x)*1000000)

struct expectation {
	enum wtl_gpu_arch arch;
	int driver;
	enum wtl_power_field field;
	int window_ms;
	int update_ms;
	unsigned coverage;
	bool known;
};

/* The published table, cell by cell, and the holes in it. */
static const struct expectation expected[] = {
	{WTL_GPU_ARCH_HOPPER, 535, WTL_POWER_DRAW, 1000, 100, 1000, true},
	{WTL_GPU_ARCH_HOPPER, 570, WTL_POWER_AVERAGE, 1000, 100, 1000, true},
	{WTL_GPU_ARCH_HOPPER, 570, WTL_POWER_INSTANT, 25, 100, 250, true},
	{WTL_GPU_ARCH_HOPPER, 525, WTL_POWER_DRAW, 25, 100, 250, false},
	{WTL_GPU_ARCH_ADA, 525, WTL_POWER_DRAW, 1000, 100, 1000, true},
	{WTL_GPU_ARCH_ADA, 529, WTL_POWER_DRAW, 1000, 100, 1000, true},
	{WTL_GPU_ARCH_ADA, 530, WTL_POWER_DRAW, 100, 100, 1000, true},
	{WTL_GPU_ARCH_ADA, 531, WTL_POWER_DRAW, 1000, 100, 1000, true},
	{WTL_GPU_ARCH_ADA, 550, WTL_POWER_INSTANT, 100, 100, 1000, true},
	{WTL_GPU_ARCH_GA10X, 470, WTL_POWER_DRAW, 1000, 100, 1000, true},
	{WTL_GPU_ARCH_GA10X, 530, WTL_POWER_DRAW, 100, 100, 1000, true},
	{WTL_GPU_ARCH_GA10X, 535, WTL_POWER_DRAW, 1000, 100, 1000, true},
	{WTL_GPU_ARCH_GA10X, 535, WTL_POWER_AVERAGE, 1000, 100, 1000, true},
	{WTL_GPU_ARCH_GA10X, 535, WTL_POWER_INSTANT, 100, 100, 1000, true},
	{WTL_GPU_ARCH_GA10X, 0, WTL_POWER_DRAW, 25, 100, 250, false},
	{WTL_GPU_ARCH_GA100, 470, WTL_POWER_DRAW, 25, 100, 250, true},
	{WTL_GPU_ARCH_GA100, 530, WTL_POWER_DRAW, 25, 100, 250, true},
	{WTL_GPU_ARCH_GA100, 0, WTL_POWER_DRAW, 25, 100, 250, true},
	{WTL_GPU_ARCH_GA100, 535, WTL_POWER_INSTANT, 25, 100, 250, true},
	{WTL_GPU_ARCH_GA100, 535, WTL_POWER_AVERAGE, 1000, 100, 1000, false},
	{WTL_GPU_ARCH_TURING, 535, WTL_POWER_DRAW, 100, 100, 1000, true},
	{WTL_GPU_ARCH_TURING, 535, WTL_POWER_INSTANT, 100, 100, 1000, true},
	{WTL_GPU_ARCH_VOLTA, 450, WTL_POWER_DRAW, 10, 20, 500, true},
	{WTL_GPU_ARCH_PASCAL, 0, WTL_POWER_DRAW, 10, 20, 500, true},
	{WTL_GPU_ARCH_PASCAL, 550, WTL_POWER_INSTANT, 10, 20, 500, true},
	{WTL_GPU_ARCH_MAXWELL, 470, WTL_POWER_DRAW, 100, 100, 1000, true},
	{WTL_GPU_ARCH_KEPLER, 470, WTL_POWER_DRAW, 100, 100, 1000, true},
	{WTL_GPU_ARCH_GK110, 470, WTL_POWER_DRAW, 16, 15, 1000, true},
	{WTL_GPU_ARCH_BLACKWELL, 570, WTL_POWER_DRAW, 25, 100, 250, false},
	{WTL_GPU_ARCH_BLACKWELL, 570, WTL_POWER_AVERAGE, 1000, 100, 1000, false},
	{WTL_GPU_ARCH_BLACKWELL, 570, WTL_POWER_INSTANT, 25, 100, 250, false},
	{WTL_GPU_ARCH_UNKNOWN, 0, WTL_POWER_DRAW, 25, 100, 250, false},
};

static void test_published_cells(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		const struct expectation *e = &expected[i];
		const struct wtl_sensor_class *c =
			wtl_sensor_class_find(e->arch, e->driver, e->field);

		assert_non_null(c);
		assert_int_equal(c->field, e->field);
		assert_int_equal(c->window_ns, MS(e->window_ms));
		assert_int_equal(c->update_ns, MS(e->update_ms));
		assert_int_equal(c->coverage_permille, e->coverage);
		assert_int_equal(c->known, e->known);
		if (e->known)
			assert_int_equal(c->arch, e->arch);
	}
}

static void test_rows_are_sound(void **state)
{
	const struct wtl_sensor_class *c;
	unsigned n = 0;

	(void)state;
	for (; (c = wtl_sensor_class_row(n)) != NULL; n++) {
		assert_non_null(c->name);
		assert_true(strlen(c->name) < 40);
		assert_true(c->window_ns > 0 && c->update_ns > 0);
		assert_true(c->latency_ns >= 0 && c->latency_sd_ns > 0);
		assert_in_range(c->driver_min, 0, c->driver_max);
		assert_in_range(c->coverage_permille, 1, 1000);
		/* what a boxcar sees follows from its window and period */
		if (c->kind == WTL_SENSOR_BOXCAR && c->window_ns < c->update_ns)
			assert_int_equal(c->coverage_permille, 1000 * c->window_ns / c->update_ns);
		assert_int_equal(c->known, c->arch != WTL_GPU_ARCH_UNKNOWN);
		assert_int_equal(c->known, c->kind != WTL_SENSOR_ESTIMATE);
	}
	assert_true(n >= 20);
	assert_null(wtl_sensor_class_row(n));
	assert_null(wtl_sensor_class_row(UINT_MAX));
}

/* No two known rows may claim the same combination, or the order of rows would decide. */
static void test_no_overlap(void **state)
{
	const struct wtl_sensor_class *a, *b;

	(void)state;
	for (unsigned i = 0; (a = wtl_sensor_class_row(i)) != NULL; i++)
		for (unsigned j = i + 1; (b = wtl_sensor_class_row(j)) != NULL; j++)
			assert_false(a->arch == b->arch && a->field == b->field &&
				     a->driver_min <= b->driver_max &&
				     b->driver_min <= a->driver_max);
}

static void test_every_row_is_found(void **state)
{
	const struct wtl_sensor_class *c;

	(void)state;
	for (unsigned i = 0; (c = wtl_sensor_class_row(i)) != NULL; i++)
		assert_ptr_equal(wtl_sensor_class_find(c->arch, c->driver_max, c->field), c);
}

/* The guess must not be narrower than any class that it may stand for. */
static void test_guess_is_conservative(void **state)
{
	const enum wtl_power_field fields[] = {WTL_POWER_DRAW, WTL_POWER_AVERAGE,
					       WTL_POWER_INSTANT};

	(void)state;
	for (size_t f = 0; f < 3; f++) {
		const struct wtl_sensor_class *guess =
			wtl_sensor_class_find(WTL_GPU_ARCH_BLACKWELL, 600, fields[f]);
		const struct wtl_sensor_class *c;

		assert_false(guess->known);
		for (unsigned i = 0; (c = wtl_sensor_class_row(i)) != NULL; i++) {
			int64_t apart =
				wtl_sensor_class_delay_ns(c) - wtl_sensor_class_delay_ns(guess);

			if (!c->known || c->field != fields[f])
				continue;
			assert_true(c->coverage_permille >= guess->coverage_permille);
			assert_true((apart < 0 ? -apart : apart) <= 2 * guess->latency_sd_ns);
		}
	}
}

static void test_capability(void **state)
{
	static const struct {
		int major, minor;
		enum wtl_gpu_arch arch;
	} cards[] = {
		{3, 5, WTL_GPU_ARCH_GK110},	 {3, 7, WTL_GPU_ARCH_KEPLER},
		{5, 2, WTL_GPU_ARCH_MAXWELL},	 {6, 0, WTL_GPU_ARCH_PASCAL},
		{6, 1, WTL_GPU_ARCH_PASCAL},	 {7, 0, WTL_GPU_ARCH_VOLTA},
		{7, 2, WTL_GPU_ARCH_VOLTA},	 {7, 5, WTL_GPU_ARCH_TURING},
		{8, 0, WTL_GPU_ARCH_GA100},	 {8, 6, WTL_GPU_ARCH_GA10X},
		{8, 7, WTL_GPU_ARCH_GA10X},	 {8, 9, WTL_GPU_ARCH_ADA},
		{9, 0, WTL_GPU_ARCH_HOPPER},	 {10, 0, WTL_GPU_ARCH_BLACKWELL},
		{12, 0, WTL_GPU_ARCH_BLACKWELL}, {2, 0, WTL_GPU_ARCH_UNKNOWN},
		{0, 0, WTL_GPU_ARCH_UNKNOWN},	 {99, 0, WTL_GPU_ARCH_UNKNOWN},
		{-1, -1, WTL_GPU_ARCH_UNKNOWN},	 {3, 0, WTL_GPU_ARCH_KEPLER},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cards) / sizeof(cards[0]); i++)
		assert_int_equal(wtl_gpu_arch_from_capability(cards[i].major, cards[i].minor),
				 cards[i].arch);
}

static void test_delay(void **state)
{
	const struct wtl_sensor_class *c =
		wtl_sensor_class_find(WTL_GPU_ARCH_GA10X, 535, WTL_POWER_AVERAGE);

	(void)state;
	assert_int_equal(wtl_sensor_class_delay_ns(c), MS(520));
	/* Two sensors of Kepler: a K40's, and a K80's. */
	c = wtl_sensor_class_find(WTL_GPU_ARCH_GK110, 470, WTL_POWER_DRAW);
	assert_int_equal(wtl_sensor_class_delay_ns(c), MS(33));
	c = wtl_sensor_class_find(WTL_GPU_ARCH_KEPLER, 470, WTL_POWER_DRAW);
	assert_int_equal(wtl_sensor_class_delay_ns(c), MS(250));
}

/* Rows further apart than the sensor updates: half of the difference is taken off the latency. */
static void test_space(void **state)
{
	struct wtl_sensor_class class = {.update_ns = 100, .latency_ns = 10};

	(void)state;
	wtl_sensor_class_space(&class, 99);
	assert_int_equal(class.update_ns, 100);
	assert_int_equal(class.latency_ns, 10);
	wtl_sensor_class_space(&class, 160);
	assert_int_equal(class.update_ns, 160);
	assert_int_equal(class.latency_ns, -20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_published_cells),
		cmocka_unit_test(test_rows_are_sound),
		cmocka_unit_test(test_no_overlap),
		cmocka_unit_test(test_every_row_is_found),
		cmocka_unit_test(test_guess_is_conservative),
		cmocka_unit_test(test_capability),
		cmocka_unit_test(test_delay),
		cmocka_unit_test(test_space),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
