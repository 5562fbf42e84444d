/* SPDX-License-Identifier: MIT */
#include "energy/alias.h"

#include <math.h>

/* The median of |x - y| over the standard deviation, for independent normal readings. */
#define MEDIAN_PER_SD 0.954

/* Longest beat believed in, in readings: a guess from a short look must end somewhere. */
#define MAX_PERIOD 40.0

/*
 * A sinusoid goes from reading to reading by sd x 2 pi / period. One that would have to be this many
 * times as large as that says is none: the readings stand still most of the time, and jump.
 */
#define MAX_STEEPNESS 4

static void swap(int64_t *a, int64_t *b)
{
	int64_t keep = *a;

	*a = *b;
	*b = keep;
}

/* The k-th smallest of v[0..n-1]; reorders v. Hoare's selection, the middle as pivot. */
static int64_t select_kth(int64_t *v, size_t n, size_t k)
{
	size_t lo = 0;
	size_t hi = n - 1;

	while (lo < hi) {
		int64_t pivot = v[lo + (hi - lo) / 2];
		size_t i = lo;
		size_t j = hi;

		for (;;) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i >= j)
				break;
			swap(&v[i++], &v[j--]);
		}
		if (k <= j)
			hi = j;
		else
			lo = j + 1;
	}
	return v[k];
}

static double median_change_uw(const int64_t *p, size_t n, size_t lag)
{
	int64_t change[WTL_ALIAS_MAX];
	size_t m = n - lag;

	for (size_t i = 0; i < m; i++)
		change[i] = p[i + lag] > p[i] ? p[i + lag] - p[i] : p[i] - p[i + lag];
	return (double)select_kth(change, m, m / 2);
}

/* The sinusoid that would move by `near` in lag/2 and by `far` in lag readings, if it is the worst. */
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

void wtl_alias_scan(const int64_t *power_uw, size_t n, struct wtl_alias *ret)
{
	static const struct {
		size_t history;
		size_t first;
		size_t last;
	} look[] = {{24, 2, 4}, {48, 4, 8}, {96, 8, 16}};

	*ret = (struct wtl_alias){0};
	for (size_t l = 0; l < sizeof(look) / sizeof(look[0]); l++) {
		size_t m = n < look[l].history ? n : look[l].history;
		const int64_t *p = power_uw + (n - m);
		double limit_uw;
		double step;
		double near;

		/* at least 5 lags + 4 readings: then two steps of the load cannot move the median */
		if (m < 5 * look[l].first + 4)
			break;
		limit_uw = span_sd_uw(p, m);
		step = median_change_uw(p, m, 1);
		near = l == 0 ? step : median_change_uw(p, m, look[l].first / 2);
		if (l == 0)
			ret->rough_uw = step / MEDIAN_PER_SD;
		for (size_t lag = look[l].first; lag <= look[l].last && m >= 5 * lag + 4;
		     lag *= 2) {
			double far = median_change_uw(p, m, lag);

			consider_beat(step, near, far, lag, limit_uw, ret);
			near = far;
		}
	}
}
