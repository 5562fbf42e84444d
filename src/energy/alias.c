/* SPDX-License-Identifier: MIT */
#include "energy/alias.h"

#include <math.h>
#include <string.h>

/* The median of |x - y| over the standard deviation, for independent normal readings. */
#define MEDIAN_PER_SD 0.954

/* Longest beat believed in, in readings: a guess from a short look must end somewhere. */
#define MAX_PERIOD 40.0

/*
 * A sinusoid changes from reading to reading by sd x 2 pi / period. An sd of more than this many times what the changes
 * suggest is no sinusoid's: the readings stand still most of the time, and jump.
 */
#define MAX_STEEPNESS 4

/* The changes over some distance within the newest readings. Each list is kept in order of size, so that
 * a reading that comes costs no more than finding two places. */
static const struct list {
	size_t history, lag, at; /* where it begins in change_uw */
} lists[] = {
	{24, 1, 0},   {24, 2, 23},  {24, 4, 45},		/* */
	{48, 1, 65},  {48, 2, 112}, {48, 4, 158}, {48, 8, 202}, /* */
	{96, 1, 242}, {96, 4, 337}, {96, 8, 429}, {96, 16, 517},
};

_Static_assert(WTL_ALIAS_CHANGES == 517 + 96 - 16, "the last list's end");

enum { LISTS = sizeof(lists) / sizeof(lists[0]) };

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int64_t distance(int64_t a, int64_t b)
{
	return a > b ? a - b : b - a;
}

/* How many are less. Without a branch, which the processor could not predict. */
static size_t place_of(const int64_t *sorted, size_t n, int64_t value)
{
	size_t lo = 0;

	while (n > 0) {
		size_t half = n / 2;

		lo += (size_t)(sorted[lo + half] < value) * (n - half);
		n = half;
	}
	return lo;
}

static void insert(int64_t *sorted, size_t n, int64_t value)
{
	size_t to = place_of(sorted, n, value);

	memmove(sorted + to + 1, sorted + to, (n - to) * sizeof(*sorted));
	sorted[to] = value;
}

/* Another value in place of one that is there. */
static void replace(int64_t *sorted, size_t n, int64_t old, int64_t value)
{
	size_t from = place_of(sorted, n, old), to = place_of(sorted, n, value);

	if (to > from) {
		to--;
		memmove(sorted + from, sorted + from + 1, (to - from) * sizeof(*sorted));
	} else {
		memmove(sorted + to + 1, sorted + to, (from - to) * sizeof(*sorted));
	}
	sorted[to] = value;
}

/* How many changes a list has. */
static size_t length(const struct list *list, size_t n_readings)
{
	size_t n = least(n_readings, list->history);

	return n > list->lag ? n - list->lag : 0;
}

void wtl_alias_add(struct wtl_alias_readings *readings, int64_t power_uw)
{
	const int64_t *end;

	if (readings->begin + readings->n == 2 * WTL_ALIAS_MAX) {
		memcpy(readings->power_uw, readings->power_uw + readings->begin,
		       readings->n * sizeof(readings->power_uw[0]));
		readings->begin = 0;
	}
	end = readings->power_uw + readings->begin + readings->n;
	for (size_t i = 0; i < LISTS; i++) {
		const struct list *list = &lists[i];
		int64_t *sorted = readings->change_uw + list->at;
		size_t n = length(list, readings->n);
		int64_t change;

		if (readings->n < list->lag)
			continue;
		change = distance(power_uw, *(end - list->lag));
		if (readings->n < list->history)
			insert(sorted, n, change);
		else
			replace(sorted, n,
				distance(*(end - list->history),
					 *(end - list->history + list->lag)),
				change);
	}
	readings->power_uw[readings->begin + readings->n] = power_uw;
	if (readings->n < WTL_ALIAS_MAX)
		readings->n++;
	else
		readings->begin++;
}

static double median_change_uw(const struct wtl_alias_readings *readings, const struct list *list)
{
	return (double)readings->change_uw[list->at + length(list, readings->n) / 2];
}

/* Notes the sinusoid that moves by `near` in lag/2 and by `far` in lag readings, if it is worse than *worst. */
static void consider_beat(double step, double near, double far, size_t lag, double limit_uw,
			  struct wtl_alias *worst)
{
	double growth = near > 0 ? fmin(far / near, 2) : 2;
	double period = 2.0 * (double)lag;
	double sd;

	if (growth > M_SQRT2)
		period = fmin(M_PI * (double)lag / (2 * acos(growth / 2)), MAX_PERIOD);
	limit_uw = fmin(limit_uw, MAX_STEEPNESS * step * period / (2 * M_PI));
	sd = fmin(far / (2 * sin(M_PI * (double)lag / period)), limit_uw);
	if (sd * period > worst->beat_uw * worst->beat_updates) {
		worst->beat_uw = sd;
		worst->beat_updates = period;
	}
}

/* Standard deviation of the sinusoid that just spans what was seen. */
static double span_sd_uw(const int64_t *p, size_t n)
{
	int64_t low = p[0];
	int64_t high = p[0];

	for (size_t i = 1; i < n; i++) {
		low = p[i] < low ? p[i] : low;
		high = p[i] > high ? p[i] : high;
	}
	return (double)(high - low) / (2 * M_SQRT2);
}

void wtl_alias_scan(const struct wtl_alias_readings *readings, struct wtl_alias *ret)
{
	static const struct {
		size_t last;
		const struct list *step, *near, *far;
	} look[] = {
		{4, &lists[0], &lists[0], &lists[1]},
		{8, &lists[3], &lists[4], &lists[5]},
		{16, &lists[7], &lists[8], &lists[9]},
	};

	*ret = (struct wtl_alias){0};
	for (size_t l = 0; l < sizeof(look) / sizeof(look[0]); l++) {
		const struct list *list = look[l].far;
		size_t m = least(readings->n, list->history);
		double limit_uw, step, near;

		/* at least 5 lags + 4 readings: then two steps of the load cannot move the median */
		if (m < 5 * list->lag + 4)
			break;
		limit_uw = span_sd_uw(readings->power_uw + readings->begin + readings->n - m, m);
		step = median_change_uw(readings, look[l].step);
		near = median_change_uw(readings, look[l].near);
		if (l == 0)
			ret->rough_uw = step / MEDIAN_PER_SD;
		for (size_t lag = list->lag; lag <= look[l].last && m >= 5 * lag + 4; lag *= 2) {
			double far = median_change_uw(readings, list++);

			consider_beat(step, near, far, lag, limit_uw, ret);
			near = far;
		}
	}
}
