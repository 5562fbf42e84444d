/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "draw/parts.h"

#include "unit.h"

static struct wtl_plot_point point(int64_t x, double y)
{
	return (struct wtl_plot_point){.x = x, .y = y, .low = y - 1, .high = y + 1};
}

/* Reduces to so many columns; the result is the caller's to free(). */
static struct wtl_plot_point *reduce(const struct wtl_plot_point *points, size_t n, int64_t from,
				     int64_t to, size_t columns, size_t *ret_n)
{
	struct wtl_plot_point *out = calloc(wtl_plot_reduced_max(columns), sizeof(*out));
	struct wtl_plot_reducer reducer;

	assert_non_null(out);
	wtl_plot_reducer_init(&reducer, from, to, columns, out);
	for (size_t i = 0; i < n; i++)
		wtl_plot_reducer_add(&reducer, &points[i]);
	*ret_n = wtl_plot_reducer_end(&reducer);
	assert_true(*ret_n <= wtl_plot_reduced_max(columns));
	for (size_t i = 1; i < *ret_n; i++)
		assert_true(out[i - 1].x <= out[i].x);
	return out;
}

static void test_few_stay(void **state)
{
	const struct wtl_plot_point points[] = {point(0, 5), point(10, 3),
						point(20, WTL_PLOT_UNKNOWN), point(30, 7)};
	struct wtl_plot_point *out;
	size_t n;

	(void)state;
	out = reduce(points, 4, 0, 30, 100, &n);
	assert_int_equal(n, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(out[i].x, points[i].x);
		assert_true(isnan(points[i].y) ? isnan(out[i].y) : out[i].y == points[i].y);
	}
	free(out);
}

/* A single peak among a million is still there, and so is the first and the last. */
static void test_extremes_stay(void **state)
{
	size_t n = 1000000, n_out;
	struct wtl_plot_point *points = calloc(n, sizeof(*points)), *out;
	bool peak = false, dip = false;

	(void)state;
	assert_non_null(points);
	for (size_t i = 0; i < n; i++)
		points[i] = point((int64_t)i, 50 + (double)(i % 7));
	points[123456].y = 400;
	points[654321].y = -3;
	out = reduce(points, n, 0, (int64_t)n - 1, 700, &n_out);
	assert_in_range(n_out, 700, 4 * 700);
	for (size_t i = 0; i < n_out; i++) {
		peak |= out[i].y == 400 && out[i].x == 123456;
		dip |= out[i].y == -3 && out[i].x == 654321;
	}
	assert_true(peak && dip);
	assert_int_equal(out[0].x, 0);
	assert_int_equal(out[n_out - 1].x, n - 1);
	free(out);
	free(points);
}

/* All points of a column have the range of all of its points. */
static void test_ranges(void **state)
{
	const struct wtl_plot_point points[] = {
		{0, 5, 4, 6}, {1, 5, 2, 6}, {2, 5, 4, 9}, {99, 1, 0, 2}};
	struct wtl_plot_point *out;
	size_t n;

	(void)state;
	out = reduce(points, 4, 0, 99, 2, &n);
	assert_true(n >= 3);
	for (size_t i = 0; i + 1 < n; i++) {
		assert_true(out[i].low == 2);
		assert_true(out[i].high == 9);
	}
	assert_true(out[n - 1].low == 0);
	free(out);
}

static size_t count_breaks(const struct wtl_plot_point *points, size_t n)
{
	size_t breaks = 0;

	for (size_t i = 0; i < n; i++)
		breaks += isnan(points[i].y) != 0;
	return breaks;
}

/* A break is kept wherever in a column it lies: first, between, last, or alone. */
static void test_breaks(void **state)
{
	static const char *const shapes[] = {"a-b",  "-ab", "ab-", "-a-",  "a-b-",
					     "a--b", "-",   "--",  "-a-b-"};

	(void)state;
	for (size_t s = 0; s < UNIT_COUNT(shapes); s++) {
		struct wtl_plot_point points[8], *out;
		size_t len = strlen(shapes[s]), n;

		/* One column with the shape, and one after it. */
		for (size_t i = 0; i < len; i++)
			points[i] = point((int64_t)i,
					  shapes[s][i] == '-' ? WTL_PLOT_UNKNOWN : (double)i);
		points[len] = point(90, 1);
		out = reduce(points, len + 1, 0, 99, 2, &n);
		assert_true(count_breaks(out, n) >= 1);
		/* What follows is only connected where the shape ends with a value. */
		assert_int_equal(out[n - 1].x, 90);
		assert_int_equal(isnan(out[n - 2].y) != 0, shapes[s][len - 1] == '-');
		/* And what begins with a break begins with one. */
		assert_int_equal(isnan(out[0].y) != 0, shapes[s][0] == '-');
		free(out);
	}
}

static void test_outside(void **state)
{
	const struct wtl_plot_point points[] = {point(-5, 1), point(0, 2), point(10, 3),
						point(11, 4), point(INT64_MAX, 5)};
	struct wtl_plot_point *out;
	size_t n;

	(void)state;
	out = reduce(points, 5, 0, 10, 4, &n);
	assert_int_equal(n, 2);
	assert_true(out[0].y == 2);
	assert_true(out[1].y == 3);
	free(out);
	/* Nothing at all, and a width of nothing. */
	out = reduce(points, 0, 0, 10, 4, &n);
	assert_int_equal(n, 0);
	free(out);
	out = reduce(&points[1], 1, 0, 0, 0, &n);
	assert_int_equal(n, 1);
	free(out);
	out = reduce(points, 5, INT64_MIN, INT64_MAX, 3, &n);
	assert_true(n >= 2);
	free(out);
}

/* Time that stands still or goes back is not followed, but nothing breaks. */
static void test_not_ascending(void **state)
{
	const struct wtl_plot_point points[] = {point(5, 1),  point(5, 9), point(5, -9),
						point(50, 2), point(4, 3), point(60, 2)};
	struct wtl_plot_point *out;
	size_t n;

	(void)state;
	out = reduce(points, 3, 0, 99, 10, &n);
	assert_in_range(n, 3, 4);
	free(out);
	out = calloc(wtl_plot_reduced_max(10), sizeof(*out));
	free(out);
}

/* Against the plain way: in each column, the lowest and highest of what is drawn are those of the data,
 * and breaks lie between the same values. */
static void test_against_the_plain_way(void **state)
{
	unsigned seed = 5;

	(void)state;
	for (unsigned round = 0; round < 300; round++) {
		size_t n = 1 + (size_t)rand_r(&seed) % 2000,
		       columns = 1 + (size_t)rand_r(&seed) % 50;
		struct wtl_plot_point *points = calloc(n, sizeof(*points)), *out;
		double low[50], high[50];
		int64_t x = 0, to;
		size_t n_out;

		assert_non_null(points);
		for (size_t i = 0; i < n; i++) {
			x += rand_r(&seed) % 3;
			points[i] =
				point(x, rand_r(&seed) % 10 == 0 ? WTL_PLOT_UNKNOWN
								 : (double)(rand_r(&seed) % 1000));
		}
		to = x > 0 ? x : 1;
		out = reduce(points, n, 0, to, columns, &n_out);
		for (int pass = 0; pass < 2; pass++) {
			const struct wtl_plot_point *which = pass ? out : points;
			size_t many = pass ? n_out : n;

			for (size_t c = 0; pass == 0 && c < columns; c++) {
				low[c] = HUGE_VAL;
				high[c] = -HUGE_VAL;
			}
			for (size_t c = 0; c < columns; c++) {
				double lowest = HUGE_VAL, highest = -HUGE_VAL;

				for (size_t i = 0; i < many; i++) {
					size_t column = (size_t)((double)which[i].x / (double)to *
								 (double)columns);

					column = column < columns ? column : columns - 1;
					if (column != c || isnan(which[i].y))
						continue;
					lowest = fmin(lowest, which[i].y);
					highest = fmax(highest, which[i].y);
				}
				if (pass == 0) {
					low[c] = lowest;
					high[c] = highest;
				} else {
					assert_true(lowest == low[c] && highest == high[c]);
				}
			}
		}
		free(out);
		free(points);
	}
}

/* ---- Gaps that a panel names ---- */

static void test_gaps(void **state)
{
	const struct wtl_plot_gap gaps[] = {{10, 20, NULL}, {20, 25, NULL}, {40, 60, NULL}};
	const struct wtl_plot_panel panel = {.gaps = gaps, .n_gaps = 3};
	static const struct {
		int64_t x;
		bool met, inside;
	} steps[] = {{0, false, false}, {10, false, false}, {12, true, true},  {20, true, false},
		     {25, true, false}, {30, false, false}, {61, true, false}, {62, false, false}};
	struct wtl_plot_walk walk = {.panel = &panel};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(steps); i++) {
		bool inside;

		assert_int_equal(wtl_plot_gap_met(&walk, steps[i].x, &inside) != NULL,
				 steps[i].met);
		assert_int_equal(inside, steps[i].inside);
	}
	/* What lies before the first point is no gap between two. */
	walk = (struct wtl_plot_walk){.panel = &panel};
	{
		bool inside;

		assert_null(wtl_plot_gap_met(&walk, 30, &inside));
		assert_false(inside);
		assert_ptr_equal(wtl_plot_gap_met(&walk, 50, &inside), &gaps[2]);
		assert_true(inside);
		assert_ptr_equal(wtl_plot_gap_met(&walk, 70, &inside), &gaps[2]);
		assert_false(inside);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few_stay),
		cmocka_unit_test(test_extremes_stay),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_breaks),
		cmocka_unit_test(test_outside),
		cmocka_unit_test(test_not_ascending),
		cmocka_unit_test(test_against_the_plain_way),
		cmocka_unit_test(test_gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
