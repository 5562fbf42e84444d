/* SPDX-License-Identifier: MIT */
#include "energy/calibration.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "energy/units.h"

/* Judgement: more means than this add nothing, and fewer say too little. */
enum { STEPS_MAX = 20000, STEPS_MIN = 40, LAGS_MAX = 1000, PARTS = 10 };
#define STEP_MIN_NS (10 * WTL_NS_PER_MS)
/* The meter and the sensor have to correlate, and power has to change by this part of its mean. */
#define CORRELATION_MIN 0.9
#define SPREAD_MIN	0.1
/* A stretch is even while power stays within that part of its range, for so many steps either way. */
#define EVEN_PART  0.05
#define EVEN_STEPS 3

int wtl_power_log_add(struct wtl_power_log *log, int64_t t_ns, double power_w)
{
	int rc;

	if (log->n > 0 && t_ns <= log->points[log->n - 1].t_ns)
		return 0;
	if (log->n == WTL_POWER_LOG_MAX)
		return -E2BIG;
	rc = wtl_array_reserve(&log->points, &log->room, log->n + 1, sizeof(*log->points));
	if (rc == 0)
		log->points[log->n++] = (struct wtl_power_point){t_ns, power_w};
	return rc;
}

void wtl_power_log_done(struct wtl_power_log *log)
{
	free(log->points);
	*log = (struct wtl_power_log){.n = 0};
}

static int64_t begin_of(const struct wtl_power_log *log)
{
	return log->points[0].t_ns;
}

static int64_t end_of(const struct wtl_power_log *log)
{
	return log->points[log->n - 1].t_ns;
}

/* Means over steps from start_ns on; the log reaches over all of them. */
static void take_means(const struct wtl_power_log *log, int64_t start_ns, int64_t step_ns,
		       double means[], size_t n)
{
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t from_ns = start_ns + (int64_t)i * step_ns, to_ns = from_ns + step_ns;
		double sum = 0.0;

		while (from_ns < to_ns) {
			int64_t next_ns;

			while (log->points[at + 1].t_ns <= from_ns)
				at++;
			next_ns = log->points[at + 1].t_ns;
			if (next_ns > to_ns)
				next_ns = to_ns;
			sum += log->points[at].power_w * (double)(next_ns - from_ns);
			from_ns = next_ns;
		}
		means[i] = sum / (double)step_ns;
	}
}

/* Sums of pairs. */
struct sums {
	double n, x, y, xx, xy, yy;
};

static void add_pair(struct sums *sums, double x, double y, double sign)
{
	sums->n += sign;
	sums->x += sign * x;
	sums->y += sign * y;
	sums->xx += sign * x * x;
	sums->xy += sign * x * y;
	sums->yy += sign * y * y;
}

/* What is less than that part of the squares is rounding: the values are all the same. */
#define ROUNDING 1e-9

static double spread(double squares, double sum, double n)
{
	double left = squares - sum * sum / n;

	return left > ROUNDING * squares ? left : 0.0;
}

static double correlation(const struct sums *s)
{
	double xx = spread(s->xx, s->x, s->n), yy = spread(s->yy, s->y, s->n);

	return xx > 0 && yy > 0 ? (s->xy - s->x * s->y / s->n) / sqrt(xx * yy) : 0.0;
}

/* The meter is taken as exact. What scatters is the moment that each of the sensor's figures is of,
 * which would flatten a line fitted the other way round. */
static double slope(const struct sums *s)
{
	double xy = s->xy - s->x * s->y / s->n;

	return xy > 0 ? spread(s->yy, s->y, s->n) / xy : 0.0;
}

/* Both as means over the same steps. */
struct pairs {
	double *sensor, *meter;
	bool *used;
	size_t n;
	int64_t step_ns;
};

static struct sums sums_at(const struct pairs *pairs, int64_t lag)
{
	struct sums sums = {.n = 0};

	for (size_t i = 0; i < pairs->n; i++) {
		int64_t k = (int64_t)i - lag;

		if (k >= 0 && k < (int64_t)pairs->n)
			add_pair(&sums, pairs->sensor[i], pairs->meter[k], 1.0);
	}
	return sums;
}

static int64_t find_lag(const struct pairs *pairs, int64_t max_lag_ns, double *ret_correlation)
{
	int64_t most = max_lag_ns / pairs->step_ns, best = 0;
	double highest = 0.0;

	if (most > LAGS_MAX)
		most = LAGS_MAX;
	if (most > (int64_t)pairs->n / 4)
		most = (int64_t)pairs->n / 4;
	for (int64_t i = 0; i <= 2 * most; i++) {
		/* 0, 1, -1, 2, …: of equal correlations, that of the smallest lag */
		int64_t lag = i % 2 ? (i + 1) / 2 : -(i / 2);
		struct sums sums = sums_at(pairs, lag);
		double value = correlation(&sums);

		if (value > highest) {
			highest = value;
			best = lag;
		}
	}
	*ret_correlation = highest;
	return best;
}

/* Moves the meter to the sensor's time. */
static void shift(struct pairs *pairs, int64_t lag)
{
	size_t away = (size_t)llabs(lag);

	if (lag > 0)
		pairs->sensor += away;
	else
		pairs->meter += away;
	pairs->n -= away;
}

static double range_of(const double values[], size_t n)
{
	double least = values[0], most = values[0];

	for (size_t i = 1; i < n; i++) {
		least = fmin(least, values[i]);
		most = fmax(most, values[i]);
	}
	return most - least;
}

static bool is_even(const double values[], size_t n, size_t i, double most)
{
	size_t from = i > EVEN_STEPS ? i - EVEN_STEPS : 0;
	size_t to = i + EVEN_STEPS < n ? i + EVEN_STEPS : n - 1;

	return range_of(values + from, to - from + 1) <= most;
}

/* Marks the pairs in even stretches, or all of them. Returns how many are used. */
static size_t choose(struct pairs *pairs)
{
	double sensor = EVEN_PART * range_of(pairs->sensor, pairs->n);
	double meter = EVEN_PART * range_of(pairs->meter, pairs->n);
	struct sums even = {.n = 0};

	for (size_t i = 0; i < pairs->n; i++) {
		pairs->used[i] = is_even(pairs->sensor, pairs->n, i, sensor) &&
				 is_even(pairs->meter, pairs->n, i, 2 * meter);
		if (pairs->used[i])
			add_pair(&even, pairs->sensor[i], pairs->meter[i], 1.0);
	}
	if (even.n >= STEPS_MIN && correlation(&even) >= CORRELATION_MIN)
		return (size_t)even.n;
	for (size_t i = 0; i < pairs->n; i++)
		pairs->used[i] = true;
	return pairs->n;
}

static struct sums sums_used(const struct pairs *pairs, size_t from, size_t to)
{
	struct sums sums = {.n = 0};

	for (size_t i = from; i < to; i++)
		if (pairs->used[i])
			add_pair(&sums, pairs->sensor[i], pairs->meter[i], 1.0);
	return sums;
}

/* The line, and by leaving out a part of the time at a time, how sure it is. */
static void fit_line(const struct pairs *pairs, struct wtl_calibration *calibration)
{
	struct sums all = sums_used(pairs, 0, pairs->n);
	double gains = 0.0, zeros = 0.0, parts = 0.0, left = 0.0;

	calibration->gain = slope(&all);
	calibration->zero_w = (all.y - calibration->gain * all.x) / all.n;
	for (size_t part = 0; part < PARTS; part++) {
		struct sums out =
			sums_used(pairs, pairs->n * part / PARTS, pairs->n * (part + 1) / PARTS);
		struct sums rest = {all.n - out.n,   all.x - out.x,   all.y - out.y,
				    all.xx - out.xx, all.xy - out.xy, all.yy - out.yy};
		double gain = slope(&rest);

		if (out.n == 0 || rest.n < 2)
			continue;
		gains += pow(gain - calibration->gain, 2);
		zeros += pow((rest.y - gain * rest.x) / rest.n - calibration->zero_w, 2);
		parts++;
	}
	/* The jackknife's variance: (n - 1) / n times the sum of squares. */
	calibration->gain_error = parts > 1 ? sqrt(gains * (parts - 1) / parts) : HUGE_VAL;
	calibration->zero_error_w = parts > 1 ? sqrt(zeros * (parts - 1) / parts) : HUGE_VAL;
	for (size_t i = 0; i < pairs->n; i++)
		if (pairs->used[i])
			left += pow(pairs->meter[i] - calibration->gain * pairs->sensor[i] -
					    calibration->zero_w,
				    2);
	calibration->rms_w = sqrt(left / all.n);
}

static int refuse(struct wtl_err *err, const char *why)
{
	return wtl_err_set(err, ENODATA, "calibration", NULL, "%s", why);
}

static int fit(struct pairs *pairs, int64_t max_lag_ns, struct wtl_calibration *ret,
	       struct wtl_err *err)
{
	struct wtl_calibration calibration = {.step_ns = pairs->step_ns};
	struct sums all = sums_at(pairs, 0);
	int64_t lag;

	if (range_of(pairs->meter, pairs->n) < SPREAD_MIN * fabs(all.y / all.n))
		return refuse(err,
			      "the load was too even to tell gain from zero: run something, and "
			      "nothing, in turn");
	lag = find_lag(pairs, max_lag_ns, &calibration.correlation);
	if (calibration.correlation < CORRELATION_MIN)
		return refuse(err,
			      "the sensor does not follow the wattmeter: is it the same machine, "
			      "and are both clocks right?");
	calibration.lag_ns = lag * pairs->step_ns;
	shift(pairs, lag);
	calibration.n = choose(pairs);
	fit_line(pairs, &calibration);
	*ret = calibration;
	return 0;
}

int wtl_calibration_fit(const struct wtl_power_log *sensor, const struct wtl_power_log *meter,
			int64_t max_lag_ns, struct wtl_calibration *ret_calibration,
			struct wtl_err *err)
{
	struct pairs pairs = {.step_ns = STEP_MIN_NS};
	const struct wtl_power_log *logs[] = {sensor, meter};
	int64_t from_ns, to_ns;
	double *values;
	int rc;

	if (sensor->n < 2 || meter->n < 2)
		return refuse(err, "there is nothing to compare");
	from_ns = begin_of(sensor) > begin_of(meter) ? begin_of(sensor) : begin_of(meter);
	to_ns = end_of(sensor) < end_of(meter) ? end_of(sensor) : end_of(meter);
	for (unsigned i = 0; i < 2; i++) {
		int64_t apart_ns =
			(end_of(logs[i]) - begin_of(logs[i])) / (int64_t)(logs[i]->n - 1);

		if (apart_ns > pairs.step_ns)
			pairs.step_ns = apart_ns;
	}
	if ((to_ns - from_ns) / pairs.step_ns > STEPS_MAX)
		pairs.step_ns = (to_ns - from_ns) / STEPS_MAX + 1;
	/* By division, as a product could overflow: in a log of two points, a step can be centuries long. */
	if ((to_ns - from_ns) / pairs.step_ns < STEPS_MIN)
		return refuse(err, "recording and wattmeter have too little time in common");
	pairs.n = (size_t)((to_ns - from_ns) / pairs.step_ns);
	values = malloc(2 * pairs.n * sizeof(*values));
	pairs.used = malloc(pairs.n * sizeof(*pairs.used));
	if (!values || !pairs.used) {
		free(values);
		free(pairs.used);
		return wtl_err_set(err, ENOMEM, "calibration", NULL, "out of memory");
	}
	pairs.sensor = values;
	pairs.meter = values + pairs.n;
	take_means(sensor, from_ns, pairs.step_ns, pairs.sensor, pairs.n);
	take_means(meter, from_ns, pairs.step_ns, pairs.meter, pairs.n);
	rc = fit(&pairs, max_lag_ns, ret_calibration, err);
	free(values);
	free(pairs.used);
	return rc;
}
