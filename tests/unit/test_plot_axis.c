/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "energy/units.h"
#include "draw/parts.h"

#include "unit.h"

static const int64_t minute = 60 * WTL_NS_PER_S, hour = 3600 * WTL_NS_PER_S,
		     day = 86400 * WTL_NS_PER_S;
/* 2026-11-21T08:00:00Z */
static const int64_t eight = 1795248000 * WTL_NS_PER_S;

static struct wtl_plot_axis values(const char *unit, enum wtl_plot_prefix prefix, double low,
				   double high, unsigned most, bool may_be_cut)
{
	const struct wtl_plot_panel panel = {
		.label = "Power", .unit = unit, .prefix = prefix, .may_be_cut = may_be_cut};
	struct wtl_plot_axis axis;

	wtl_plot_axis_values(&panel, low, high, most, &axis);
	return axis;
}

/* The labels with blanks between them. */
static void has_labels(const struct wtl_plot_axis *axis, const char *wanted)
{
	char got[1024] = "";
	size_t len = 0;

	for (size_t i = 0; i < axis->n; i++)
		len += (size_t)snprintf(got + len, sizeof(got) - len, "%s%s", i ? " " : "",
					axis->ticks[i].label);
	assert_string_equal(got, wanted);
}

static void test_steps(void **state)
{
	static const struct {
		double span;
		unsigned most;
		double step;
	} cases[] = {{10, 5, 2},    {10, 10, 1},      {10, 4, 5},     {11, 5, 5},
		     {1, 1, 1},	    {99, 5, 20},      {101, 5, 50},   {0.3, 3, 0.1},
		     {0.3, 2, 0.2}, {1e-9, 4, 5e-10}, {7e12, 7, 1e12}};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++)
		assert_true(fabs(wtl_plot_step(cases[i].span, cases[i].most) / cases[i].step - 1) <
			    1e-9);
}

static void test_values(void **state)
{
	struct wtl_plot_axis axis = values("W", WTL_PLOT_SI, 12, 187, 5, false);

	(void)state;
	has_labels(&axis, "0 50 100 150");
	assert_string_equal(axis.title, "Power (W)");
	assert_true(axis.low == 0);
	assert_true(axis.high > 187 && axis.high < 210);
	axis = values("W", WTL_PLOT_SI, 0, 0.0123, 5, false);
	has_labels(&axis, "0 5 10");
	assert_string_equal(axis.title, "Power (mW)");
	axis = values("W", WTL_PLOT_SI, 0, 25000, 5, false);
	has_labels(&axis, "0 10 20");
	assert_string_equal(axis.title, "Power (kW)");
	/* Four digits stay in their unit. */
	axis = values("J", WTL_PLOT_SI, 0, 9000, 5, false);
	has_labels(&axis, "0 2000 4000 6000 8000");
	axis = values("J", WTL_PLOT_SI, 0, 2e-7, 4, false);
	assert_string_equal(axis.symbol, "nJ");
	axis = values("W", WTL_PLOT_SI, -3, 3, 4, false);
	has_labels(&axis, "-2 0 2");
	axis = values("°C", WTL_PLOT_PLAIN, 0, 20000, 4, false);
	assert_string_equal(axis.title, "Power (°C)");
	has_labels(&axis, "0 10000 20000");
	axis = values(NULL, WTL_PLOT_SI, 0, 1, 5, false);
	assert_string_equal(axis.title, "Power");
}

/* The smallest and the largest watts that anybody has, and those below 0. */
static void test_sizes(void **state)
{
	static const struct {
		double low, high;
		const char *title;
	} axes[] = {
		{0, 1e-12, "nW"}, {0, 3e-9, "nW"},    {0, 5e-6, "µW"}, {0, 0.25, "mW"},
		{0, 30, "W"},	  {0, 25e3, "kW"},    {0, 4e7, "MW"},  {0, 6e9, "GW"},
		{-5, 5, "W"},	  {-4e7, -1e7, "MW"}, {0, 1e15, "PW"},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(axes); i++) {
		struct wtl_plot_axis axis =
			values("W", WTL_PLOT_SI, axes[i].low, axes[i].high, 6, false);

		if (strcmp(axis.symbol, axes[i].title) != 0)
			fail_msg("%g to %g: %s", axes[i].low, axes[i].high, axis.symbol);
		assert_true(axis.low <= axes[i].low && axis.high >= axes[i].high);
		assert_in_range(axis.n, 2, 8);
		/* No label is that of another. */
		for (size_t k = 1; k < axis.n; k++)
			assert_string_not_equal(axis.ticks[k].label, axis.ticks[k - 1].label);
	}
}

/* 0 has no sign, on whichever side the others lie. */
static void test_no_negative_zero(void **state)
{
	(void)state;
	for (double low = -3; low <= 0; low += 0.1) {
		struct wtl_plot_axis axis = values("W", WTL_PLOT_SI, low, 1, 6, false);
		char text[WTL_PLOT_MEASURE_MAX];

		for (size_t i = 0; i < axis.n; i++)
			assert_true(axis.ticks[i].label[0] != '-' ||
				    strpbrk(axis.ticks[i].label, "123456789"));
		wtl_plot_axis_measure(&axis, -1e-9, 0, text);
		assert_true(text[0] != '-');
	}
}

static void test_cut(void **state)
{
	struct wtl_plot_axis axis = values("J", WTL_PLOT_SI, 1002, 1018, 4, true);

	(void)state;
	has_labels(&axis, "1005 1010 1015");
	assert_true(axis.low > 1000 && axis.low < 1002);
	assert_true(axis.is_cut);
	assert_string_equal(axis.title, "Power (J), axis cut");
	/* From 0 where that shows enough, and where all are the same. */
	axis = values("J", WTL_PLOT_SI, 14, 20, 4, true);
	assert_true(axis.low == 0 && !axis.is_cut);
	assert_string_equal(axis.title, "Power (J)");
	axis = values("J", WTL_PLOT_SI, 50, 50, 4, true);
	assert_true(axis.low == 0 && axis.high > 50 && !axis.is_cut);
	axis = values("J", WTL_PLOT_SI, 0, 0, 5, true);
	has_labels(&axis, "0.0 0.2 0.4 0.6 0.8 1.0");
}

static void test_bytes(void **state)
{
	struct wtl_plot_axis axis = values("B", WTL_PLOT_BINARY, 0, 3.7 * 0x1p30, 8, false);

	(void)state;
	has_labels(&axis, "0.0 0.5 1.0 1.5 2.0 2.5 3.0 3.5");
	assert_string_equal(axis.title, "Power (GiB)");
	axis = values("B", WTL_PLOT_BINARY, 0, 700 * 0x1p20, 5, false);
	has_labels(&axis, "0 256 512");
	assert_string_equal(axis.symbol, "MiB");
	axis = values("B", WTL_PLOT_BINARY, 0, 100, 4, false);
	has_labels(&axis, "0 32 64 96");
	assert_string_equal(axis.symbol, "B");
	axis = values("B", WTL_PLOT_BINARY, 0, 0.9 * 0x1p40, 5, false);
	assert_string_equal(axis.symbol, "GiB");
}

static void test_measure(void **state)
{
	const struct wtl_plot_axis watts = values("W", WTL_PLOT_SI, 0, 187, 5, false);
	const struct wtl_plot_axis kilo = values("J", WTL_PLOT_SI, 0, 25000, 5, false);
	char text[WTL_PLOT_MEASURE_MAX];

	(void)state;
	wtl_plot_axis_measure(&watts, 47.31, WTL_PLOT_UNKNOWN, text);
	assert_string_equal(text, "47.3 W");
	wtl_plot_axis_measure(&watts, 47.31, 1.234, text);
	assert_string_equal(text, "47.3 ± 1.2 W");
	wtl_plot_axis_measure(&watts, 1162.2, 69.7, text);
	assert_string_equal(text, "1162 ± 70 W");
	/* As reports have it: no digit that the ± makes worthless. */
	wtl_plot_axis_measure(&watts, 4114.4, 271.3, text);
	assert_string_equal(text, "4110 ± 270 W");
	wtl_plot_axis_measure(&watts, 0.069243, 0.096635, text);
	assert_string_equal(text, "0.069 ± 0.097 W");
	wtl_plot_axis_measure(&watts, -4114.4, 271.3, text);
	assert_string_equal(text, "-4114 ± 271 W");
	wtl_plot_axis_measure(&kilo, 12345, 678, text);
	assert_string_equal(text, "12.35 ± 0.68 kJ");
	wtl_plot_axis_measure(&kilo, WTL_PLOT_UNKNOWN, HUGE_VAL, text);
	assert_string_equal(text, "0.0 kJ");
	wtl_plot_axis_measure(&kilo, DBL_MAX, DBL_MAX, text);
	assert_non_null(strstr(text, "kJ"));
}

static void test_numbers(void **state)
{
	struct wtl_plot_axis axis;

	(void)state;
	wtl_plot_axis_numbers("Run", 1, 6, 10, &axis);
	has_labels(&axis, "1 2 3 4 5 6");
	assert_string_equal(axis.title, "Run");
	assert_true(axis.ticks[0].at == 0);
	assert_true(axis.high == 5.5);
	wtl_plot_axis_numbers("Run", 1, 24, 8, &axis);
	has_labels(&axis, "1 5 10 15 20");
	wtl_plot_axis_numbers("Run", 1, 1, 8, &axis);
	has_labels(&axis, "1");
	wtl_plot_axis_numbers("Run", 1, 100000, 8, &axis);
	has_labels(&axis, "1 20000 40000 60000 80000 100000");
	wtl_plot_axis_numbers(NULL, 5, 7, 0, &axis);
	assert_true(axis.n >= 1);
}

static void utc(int64_t from, int64_t to, unsigned most, const char *title, const char *labels)
{
	struct wtl_plot_axis axis;

	wtl_plot_axis_utc(from, to, most, &axis);
	assert_string_equal(axis.title, title);
	has_labels(&axis, labels);
	for (size_t i = 0; i < axis.n; i++)
		assert_true(axis.ticks[i].at >= 0 && axis.ticks[i].at <= axis.high);
}

static void test_utc(void **state)
{
	(void)state;
	utc(eight, eight + 10 * minute, 6, "Time (UTC), 2026-11-21",
	    "08:00 08:02 08:04 08:06 08:08 08:10");
	utc(eight + WTL_NS_PER_S, eight + 20 * WTL_NS_PER_S, 5, "Time (UTC), 2026-11-21",
	    "08:00:05 08:00:10 08:00:15 08:00:20");
	utc(eight, eight + WTL_NS_PER_S, 4, "Time (UTC), 2026-11-21",
	    "08:00:00.0 08:00:00.5 08:00:01.0");
	utc(eight, eight + 20 * WTL_NS_PER_MS, 4, "Time (UTC), 2026-11-21",
	    "08:00:00.000 08:00:00.005 08:00:00.010 08:00:00.015 08:00:00.020");
	utc(eight, eight + 24 * hour, 6, "Time (UTC), from 2026-11-21", "12:00 18:00 11-22 06:00");
	utc(eight, eight + 5 * day, 6, "Date (UTC)",
	    "2026-11-22 2026-11-23 2026-11-24 2026-11-25 2026-11-26");
	utc(eight, eight + 100 * day, 5, "Date (UTC)",
	    "2026-11-23 2026-12-13 2027-01-02 2027-01-22 2027-02-11");
	/* Months and years have no steps of their own: days do, whatever the calendar does below them. */
	utc(eight, eight + 365 * day, 5, "Date (UTC)",
	    "2026-12-13 2027-03-23 2027-07-01 2027-10-09");
	utc(eight, eight + 12 * 365 * day, 4, "Date (UTC)", "2030-03-27 2035-09-17");
	/* The hours when clocks on walls are set: every one of them is there, once. */
	utc(INT64_C(1793491200) * WTL_NS_PER_S, INT64_C(1793491200) * WTL_NS_PER_S + 6 * hour, 7,
	    "Time (UTC), 2026-11-01", "11-01 01:00 02:00 03:00 04:00 05:00 06:00");
	utc(eight, eight + 1, 5, "Time (UTC), 2026-11-21", "08:00:00.000000000 08:00:00.000000001");
	utc(-minute, minute, 4, "Time (UTC), from 1969-12-31",
	    "23:59:00 23:59:30 01-01 00:00:30 00:01:00");
}

/* Whatever the data, an axis is finite, ascending, and has its ticks on it. */
static void check(const struct wtl_plot_axis *axis)
{
	double off =
		1e-6 * (axis->high - axis->low) + 1e-9 * fmax(fabs(axis->low), fabs(axis->high));

	assert_true(isfinite(axis->low) && isfinite(axis->high) && axis->low < axis->high);
	assert_true(axis->n <= WTL_PLOT_TICKS_MAX);
	for (size_t i = 0; i < axis->n; i++) {
		assert_true(axis->ticks[i].at >= axis->low - off);
		assert_true(axis->ticks[i].at <= axis->high + off);
		assert_true(axis->ticks[i].label[0] != '\0');
		if (i > 0)
			assert_true(axis->ticks[i].at > axis->ticks[i - 1].at);
	}
}

static void test_extremes(void **state)
{
	static const double ends[] = {0,	1,	   -1,	    WTL_PLOT_UNKNOWN,
				      HUGE_VAL, -HUGE_VAL, DBL_MAX, -DBL_MAX,
				      DBL_MIN,	5e-324,	   1e15,    1e15 + 1};
	static const int64_t times[] = {INT64_MIN, INT64_MIN + 1, -1,	    0, 1,
					1000,	   INT64_MAX - 1, INT64_MAX};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(ends); i++)
		for (size_t k = 0; k < UNIT_COUNT(ends); k++)
			for (unsigned prefix = 0; prefix < 6; prefix++) {
				struct wtl_plot_axis axis =
					values("W", (enum wtl_plot_prefix)(prefix % 3), ends[i],
					       ends[k], prefix, prefix > 2);

				check(&axis);
			}
	for (size_t i = 0; i < UNIT_COUNT(times); i++)
		for (size_t k = i + 1; k < UNIT_COUNT(times); k++) {
			struct wtl_plot_axis axis;

			wtl_plot_axis_utc(times[i], times[k], 5, &axis);
			check(&axis);
			wtl_plot_axis_numbers("Run", times[i], times[k], 5, &axis);
			assert_true(axis.n >= 1 && axis.low < axis.high);
		}
}

/* Between two ends of any size, there are some ticks, and not many more than were asked for. */
static double any_size(unsigned *seed)
{
	double power = pow(10, (double)(rand_r(seed) % 12) - 6);

	return power * (1 + rand_r(seed) % 1000);
}

static void test_how_many(void **state)
{
	unsigned seed = 1;

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		double low = any_size(&seed), span = any_size(&seed);
		unsigned most = 2 + (unsigned)rand_r(&seed) % 12, limit = (most < 3 ? 3 : most) + 2;
		int64_t to = 1 + (int64_t)(span * 1e9);
		struct wtl_plot_axis axis;

		axis = values("W", WTL_PLOT_SI, low, low + span, most, i % 2 > 0);
		check(&axis);
		assert_in_range(axis.n, axis.high - axis.low > 1e-9 * fabs(axis.high) ? 1 : 0,
				limit);
		wtl_plot_axis_utc(eight, eight + to, most, &axis);
		check(&axis);
		assert_in_range(axis.n, 0, limit);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_no_negative_zero),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_measure),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_utc),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_how_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
