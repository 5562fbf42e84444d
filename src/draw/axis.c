/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "energy/units.h"
#include "document/format.h"
#include "draw/parts.h"

/* Values beyond ±LIMIT are drawn as ±LIMIT, and values within ±TINY as 0. */
#define LIMIT 1e30
#define TINY  1e-30
/* Room above the highest and below the lowest value, as a part of the axis. */
#define ROOM 0.06
/* With all values between this part of the highest and the highest, an axis from 0 would show a level line. */
#define CUT_FROM 0.75
#define CUT_TO	 0.999999

enum { DECIMALS_MAX = 9, PREFIXES = 9, PREFIX_UNIT = 3, LEAST = 3 };

/* Up to so many units stay without the next prefix. */
#define UNIT_MAX 9999.5

double wtl_plot_step(double span, unsigned most)
{
	double power = pow(10, floor(log10(span / most)));

	if (!(power > 0) || !isfinite(power))
		return span;
	for (;; power *= 10) {
		static const double steps[] = {1, 2, 5};

		for (size_t i = 0; i < 3; i++)
			if (span / (steps[i] * power) <= most * (1 + 1e-9))
				return steps[i] * power;
	}
}

/* Powers of two, for bytes. */
static double binary_step(double span, unsigned most)
{
	return exp2(ceil(log2(span / most)));
}

static unsigned decimals_of(double step)
{
	double decimals = -floor(log10(step) + 1e-9);

	return decimals < 0 ? 0 : decimals > DECIMALS_MAX ? DECIMALS_MAX : (unsigned)decimals;
}

static void put_number(char *text, size_t size, double value, unsigned decimals)
{
	struct wtl_buf buf;

	wtl_buf_init(&buf, 64);
	wtl_format_double(&buf, value, decimals);
	wtl_text_copy(text, size, wtl_buf_str(&buf));
	wtl_buf_done(&buf);
}

static double cut(double value, double otherwise)
{
	if (isnan(value))
		return otherwise;
	if (fabs(value) < TINY)
		return 0;
	return value < -LIMIT ? -LIMIT : value > LIMIT ? LIMIT : value;
}

/* ---- Values ---- */

/* Adds some room beyond the values: at both ends (everywhere), or at each end that is not at 0. */
static void add_room(double low, double high, bool everywhere, struct wtl_plot_axis *axis)
{
	double span = high - low;

	/* All of them are 0. */
	if (span <= 0) {
		axis->high = 1;
		return;
	}
	axis->high = high > 0 || everywhere ? high + span * ROOM : high;
	axis->low = low < 0 || everywhere ? low - span * ROOM : low;
}

/* Returns the largest value that matters, without its sign. */
static double set_ends(const struct wtl_plot_panel *panel, double low, double high,
		       struct wtl_plot_axis *axis)
{
	double largest;

	low = cut(low, 0);
	high = cut(high, 1);
	low = fmin(low, high);
	axis->is_cut = panel->may_be_cut && low > high * CUT_FROM && low < high * CUT_TO;
	if (!axis->is_cut) {
		low = fmin(low, 0);
		high = fmax(high, 0);
	}
	add_room(low, high, axis->is_cut, axis);
	/* If no value is below 0, the axis does not go there. */
	if (low >= 0)
		axis->low = fmax(axis->low, 0);
	largest = fmax(fabs(low), fabs(high));
	return largest > 0 ? largest : 1;
}

/* ---- Their unit ---- */

static double si_unit(double most, const char **ret_prefix)
{
	static const char *const prefixes[PREFIXES] = {"n", "µ", "m", "", "k", "M", "G", "T", "P"};
	double unit = 1e-9;
	unsigned i = 0;

	while (i + 1 < PREFIXES && most >= (i == PREFIX_UNIT ? UNIT_MAX : 999.95) * unit) {
		unit *= 1000;
		i++;
	}
	*ret_prefix = prefixes[i];
	/* Not `unit`, which may be a little off after the multiplications. */
	return pow(10, 3 * ((double)i - PREFIX_UNIT));
}

static double binary_unit(double most, const char **ret_prefix)
{
	static const char *const prefixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
	double unit = 1;
	unsigned i = 0;

	while (i + 1 < sizeof(prefixes) / sizeof(prefixes[0]) && most >= 1024 * unit) {
		unit *= 1024;
		i++;
	}
	*ret_prefix = prefixes[i];
	return unit;
}

static void set_unit(const struct wtl_plot_panel *panel, double most, struct wtl_plot_axis *axis)
{
	const char *prefix = "", *unit = panel->unit ? panel->unit : "";

	axis->unit = 1;
	if (panel->prefix == WTL_PLOT_SI)
		axis->unit = si_unit(most, &prefix);
	else if (panel->prefix == WTL_PLOT_BINARY)
		axis->unit = binary_unit(most, &prefix);
	snprintf(axis->symbol, sizeof(axis->symbol), "%s%.16s", prefix, unit);
	snprintf(axis->title, sizeof(axis->title), "%.80s%s%s%s%s",
		 panel->label ? panel->label : "", axis->symbol[0] ? " (" : "", axis->symbol,
		 axis->symbol[0] ? ")" : "", axis->is_cut ? ", axis cut" : "");
}

static void add_tick(struct wtl_plot_axis *axis, double at, const char *label)
{
	struct wtl_plot_tick *tick;

	if (axis->n >= WTL_PLOT_TICKS_MAX)
		return;
	tick = &axis->ticks[axis->n++];
	tick->at = at;
	wtl_text_copy(tick->label, sizeof(tick->label), label);
}

static void add_values(struct wtl_plot_axis *axis, double step)
{
	double first = ceil(axis->low / step - 1e-9);

	for (unsigned i = 0; i < WTL_PLOT_TICKS_MAX; i++) {
		double at = (first + i) * step;
		char label[48];

		if (at > axis->high + step * 1e-9)
			return;
		/* So far from 0 that adding a step does not change the number. */
		if (axis->n > 0 && at <= axis->ticks[axis->n - 1].at)
			return;
		put_number(label, sizeof(label), at / axis->unit, axis->decimals);
		add_tick(axis, at, label);
	}
}

void wtl_plot_axis_values(const struct wtl_plot_panel *panel, double low, double high,
			  unsigned most, struct wtl_plot_axis *ret_axis)
{
	double step, span, largest;

	memset(ret_axis, 0, sizeof(*ret_axis));
	/* With fewer ticks, none might fall on a round number. */
	most = most < LEAST ? LEAST : most;
	largest = set_ends(panel, low, high, ret_axis);
	set_unit(panel, largest, ret_axis);
	span = ret_axis->high - ret_axis->low;
	if (panel->prefix == WTL_PLOT_BINARY)
		step = ret_axis->unit * binary_step(span / ret_axis->unit, most);
	else
		step = wtl_plot_step(span, most);
	ret_axis->decimals = decimals_of(step / ret_axis->unit);
	/* 0.25, 0.125: each halving needs one more digit. */
	if (panel->prefix == WTL_PLOT_BINARY && step < ret_axis->unit)
		ret_axis->decimals = (unsigned)fmin(DECIMALS_MAX, -log2(step / ret_axis->unit));
	add_values(ret_axis, step);
}

/* Rounds as reports do, if the axis has a decimal prefix and the ± is a millionth of the unit or more. */
static bool put_as_reports(const struct wtl_plot_axis *axis, double value, double half,
			   char ret_text[WTL_PLOT_MEASURE_MAX])
{
	double scale = 6 + round(log10(axis->unit)), micro = value * 1e6, half_micro = half * 1e6;
	bool is_decimal = scale >= 0 && scale <= 15 && pow(10, scale - 6) == axis->unit;
	struct wtl_buf buf;
	unsigned last;

	if (!is_decimal || !(micro >= 0 && micro < 1e18) || !(half_micro >= 1 && half_micro < 1e18))
		return false;
	last = wtl_format_last_digit((uint64_t)llround(micro), (uint64_t)llround(half_micro));
	wtl_buf_init(&buf, WTL_PLOT_MEASURE_MAX);
	wtl_format_rounded(&buf, (uint64_t)llround(micro), last, (unsigned)scale);
	wtl_buf_puts(&buf, " ± ");
	wtl_format_rounded_up(&buf, (uint64_t)llround(half_micro), last, (unsigned)scale);
	wtl_buf_printf(&buf, "%s%s", axis->symbol[0] ? " " : "", axis->symbol);
	wtl_text_copy(ret_text, WTL_PLOT_MEASURE_MAX, wtl_buf_str(&buf));
	wtl_buf_done(&buf);
	return true;
}

void wtl_plot_axis_measure(const struct wtl_plot_axis *axis, double value, double half,
			   char ret_text[WTL_PLOT_MEASURE_MAX])
{
	const bool has_half = isfinite(half) && half > 0;
	double decimals = axis->decimals + 1;
	char number[32], uncertainty[32] = "";

	if (has_half && put_as_reports(axis, value, half, ret_text))
		return;
	value = cut(value, 0) / axis->unit;
	half = has_half ? cut(half, 0) / axis->unit : 0;
	if (has_half)
		decimals = 1 - floor(log10(half));
	decimals = fmin(fmax(decimals, 0), DECIMALS_MAX);
	put_number(number, sizeof(number), value, (unsigned)decimals);
	if (has_half)
		put_number(uncertainty, sizeof(uncertainty), half, (unsigned)decimals);
	snprintf(ret_text, WTL_PLOT_MEASURE_MAX, "%s%s%s%s%s", number, has_half ? " ± " : "",
		 uncertainty, axis->symbol[0] ? " " : "", axis->symbol);
}

/* ---- Runs ---- */

static void add_count(struct wtl_plot_axis *axis, int64_t from, double at)
{
	char label[48];

	put_number(label, sizeof(label), (double)from + at, 0);
	add_tick(axis, at, label);
}

void wtl_plot_axis_numbers(const char *label, int64_t from, int64_t to, unsigned most,
			   struct wtl_plot_axis *ret_axis)
{
	double span = wtl_plot_distance(from, to), step, at;

	memset(ret_axis, 0, sizeof(*ret_axis));
	ret_axis->unit = 1;
	snprintf(ret_axis->title, sizeof(ret_axis->title), "%.80s", label ? label : "");
	/* Half a run at both sides. */
	ret_axis->low = -0.5;
	ret_axis->high = span + 0.5;
	step = span > 0 ? fmax(1, wtl_plot_step(span, most < 1 ? 1 : most)) : 1;
	/* A tick for the first run, and round numbers from there on. */
	add_count(ret_axis, from, 0);
	at = ceil((double)from / step) * step - (double)from;
	if (at < step / 2)
		at += step;
	for (unsigned i = 0; i < WTL_PLOT_TICKS_MAX && at + i * step <= span; i++)
		add_count(ret_axis, from, at + i * step);
}

/* ---- Times ---- */

/* Up to a minute by decimal steps, then by those of clocks and calendars. */
static int64_t time_step(double span_ns, unsigned most)
{
	static const int64_t steps_s[] = {1,	 2,	5,     10,    15,     30,    60,
					  120,	 300,	600,   900,   1800,   3600,  7200,
					  10800, 21600, 43200, 86400, 172800, 604800};
	double step;

	if (span_ns / 1e9 <= most) {
		step = wtl_plot_step(span_ns, most);
		return step < 1 ? 1 : (int64_t)step;
	}
	for (size_t i = 0; i < sizeof(steps_s) / sizeof(steps_s[0]); i++)
		if (span_ns / 1e9 / (double)steps_s[i] <= most)
			return steps_s[i] * WTL_NS_PER_S;
	/* Whole days. */
	step = ceil(wtl_plot_step(span_ns / 86400e9, most));
	return step < 106000 ? (int64_t)step * 86400 * WTL_NS_PER_S : INT64_MAX;
}

/* The first multiple at or after from; false where there is none. */
static bool first_multiple(int64_t from, int64_t step, int64_t *ret_at)
{
	int64_t rest = from % step;

	if (rest < 0)
		rest += step;
	return !__builtin_add_overflow(from, rest ? step - rest : 0, ret_at);
}

/* Returns the step, and the first tick: with as many steps as it takes for one tick to be on the axis. */
static int64_t find_ticks(int64_t from, int64_t to, unsigned most, int64_t *ret_first)
{
	const double span = wtl_plot_distance(from, to);
	int64_t step;

	most = most < LEAST ? LEAST : most;
	do {
		step = time_step(span, most++);
	} while (most < WTL_PLOT_TICKS_MAX &&
		 (!first_multiple(from, step, ret_first) || *ret_first > to));
	return step;
}

/* "2026-11-21T08:00:00": 19 characters. */
static void put_utc(int64_t t_ns, char text[32])
{
	struct wtl_buf buf;

	wtl_buf_init(&buf, 64);
	wtl_format_utc(&buf, t_ns);
	wtl_text_copy(text, 32, wtl_buf_str(&buf));
	wtl_buf_done(&buf);
}

/* The date at midnight, else the clock, with as much as the step changes. */
static void utc_label(int64_t t_ns, int64_t step, char label[32])
{
	int64_t day = 86400 * WTL_NS_PER_S, within = t_ns % day;
	char utc[32];

	put_utc(t_ns, utc);
	within += within < 0 ? day : 0;
	if (step >= day)
		snprintf(label, 32, "%.10s", utc);
	else if (within == 0)
		snprintf(label, 32, "%.5s", utc + 5);
	else if (step >= 60 * WTL_NS_PER_S)
		snprintf(label, 32, "%.5s", utc + 11);
	else if (step >= WTL_NS_PER_S)
		snprintf(label, 32, "%.8s", utc + 11);
	else
		snprintf(label, 32, "%.8s.%0*lld", utc + 11, (int)decimals_of((double)step / 1e9),
			 (long long)(within % WTL_NS_PER_S) /
				 (long long)pow(10, 9 - decimals_of((double)step / 1e9)));
}

void wtl_plot_axis_utc(int64_t from, int64_t to, unsigned most, struct wtl_plot_axis *ret_axis)
{
	int64_t at = from, step = find_ticks(from, to, most, &at);
	char first[32], last[32];

	memset(ret_axis, 0, sizeof(*ret_axis));
	ret_axis->unit = 1;
	ret_axis->high = wtl_plot_distance(from, to);
	put_utc(from, first);
	put_utc(to, last);
	if (step >= 86400 * WTL_NS_PER_S)
		snprintf(ret_axis->title, sizeof(ret_axis->title), "Date (UTC)");
	else
		snprintf(ret_axis->title, sizeof(ret_axis->title), "Time (UTC), %s%.10s",
			 memcmp(first, last, 10) == 0 ? "" : "from ", first);
	while (at <= to && ret_axis->n < WTL_PLOT_TICKS_MAX) {
		char label[32];

		utc_label(at, step, label);
		add_tick(ret_axis, wtl_plot_distance(from, at), label);
		if (__builtin_add_overflow(at, step, &at))
			return;
	}
}
