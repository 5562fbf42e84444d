/* SPDX-License-Identifier: MIT */
#include "energy/sensor_fit.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/err.h"
#include "energy/units.h"

/* The load over time is kept in cells of so long. */
#define CELL_NS	     (WTL_NS_PER_MS / 4)
#define WINDOW_MIN_S 0.001
#define WINDOW_MAX_S 2.0
#define DELAY_MAX_S  1.0
#define STEP_MIN_S   0.0001

/* Judgement: fewer new values say nothing, and readings have to go with the load. */
enum { UPDATES_MIN = 40, UPDATES_MAX = 20000, CELLS_MAX = 1 << 22, PARTS = 10 };
#define CORRELATION_MIN 0.8
/* The capacitor is chosen only if it leaves over less than this part of what the window leaves over. */
#define LOWPASS_PART 0.7
/* A value further off than this many usual deviations is of another load, or of a poll that came late. */
#define OUTLIER 5.0

/* A new value and when it appeared. */
struct update {
	double t_s, power_w;
	unsigned part; /* of PARTS stretches of time */
	bool is_out;
};

struct fit {
	struct update *updates;
	size_t n;
	double *on_s; /* how long the load was on up to each cell's start */
	double *low; /* the load as a capacitor shows it, of the time constant that was asked for last */
	double low_s;
	size_t n_cells;
	int64_t begin_ns;
	enum wtl_sensor_kind kind;
	unsigned without; /* a part that is left out; PARTS: none */
};

/* A candidate, and what it leaves over. */
struct point {
	double window_s, delay_s;
	double low_w, range_w, left, correlation;
	size_t n;
};

static int refuse(struct wtl_err *err, const char *why)
{
	return wtl_err_set(err, ENODATA, "sensor", NULL, "%s", why);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* ---- New values ---- */

/* When a value that is new appeared: half way between the poll that showed it first and the one before. */
static size_t find_updates(const struct wtl_power_log *polls, struct update updates[], size_t most)
{
	size_t n = 0;

	for (size_t i = 1; i < polls->n && n < most; i++) {
		const struct wtl_power_point *last = &polls->points[i - 1],
					     *now = &polls->points[i];

		if (now->power_w < last->power_w || now->power_w > last->power_w)
			updates[n++] = (struct update){
				.t_s = (double)(last->t_ns + (now->t_ns - last->t_ns) / 2 -
						polls->points[0].t_ns) /
				       1e9,
				.power_w = now->power_w};
	}
	return n;
}

/* The usual distance; then what whole numbers of it fit all of them best. */
static double period_of(const struct update updates[], size_t n, double gaps[])
{
	double least, period, sum = 0, count = 0;
	size_t n_gaps = n - 1, from, to;

	for (size_t i = 0; i < n_gaps; i++)
		gaps[i] = updates[i + 1].t_s - updates[i].t_s;
	qsort(gaps, n_gaps, sizeof(*gaps), compare);
	from = n_gaps / 10;
	least = gaps[from];
	for (to = from; to < n_gaps && gaps[to] <= 1.5 * least; to++)
		;
	period = gaps[from + (to - from) / 2];
	for (int pass = 0; pass < 3; pass++) {
		sum = count = 0;
		for (size_t i = 0; i < n_gaps; i++) {
			double times = round(gaps[i] / period);

			if (times < 1 || times > 5 || fabs(gaps[i] - times * period) > period / 3)
				continue;
			sum += gaps[i];
			count += times;
		}
		if (count > 0)
			period = sum / count;
	}
	return period;
}

static int take_updates(const struct wtl_power_log *polls, struct update **ret_updates,
			size_t *ret_n, double *ret_period_s, struct wtl_err *err)
{
	size_t room = polls->n < UPDATES_MAX ? polls->n + 1 : UPDATES_MAX;
	struct update *updates = calloc(room, sizeof(*updates));
	double *gaps = calloc(room, sizeof(*gaps));
	int rc = updates && gaps ? 0 : wtl_err_set(err, ENOMEM, "sensor", NULL, "out of memory");

	if (rc == 0) {
		*ret_n = find_updates(polls, updates, room);
		if (*ret_n < UPDATES_MIN)
			rc = refuse(err, "it showed too few new values to tell how it samples");
	}
	if (rc == 0)
		*ret_period_s = period_of(updates, *ret_n, gaps);
	free(gaps);
	if (rc < 0)
		free(updates);
	else
		*ret_updates = updates;
	return rc;
}

int wtl_sensor_update(const struct wtl_power_log *polls, int64_t *ret_update_ns,
		      struct wtl_err *err)
{
	struct update *updates = NULL;
	double period_s = 0;
	size_t n = 0;
	int rc = take_updates(polls, &updates, &n, &period_s, err);

	free(updates);
	if (rc == 0)
		*ret_update_ns = llround(1e9 * period_s);
	return rc;
}

/* ---- The load ---- */

static void fill_load(struct fit *fit, const struct wtl_sensor_load *load)
{
	double on_s = 0;
	size_t edge = 0;

	for (size_t i = 0; i < fit->n_cells; i++) {
		int64_t at_ns = fit->begin_ns + (int64_t)i * CELL_NS, end_ns = at_ns + CELL_NS;

		fit->on_s[i] = on_s;
		while (at_ns < end_ns) {
			bool is_on = edge % 2 == 1;
			int64_t next_ns = edge < load->n && load->edges_ns[edge] < end_ns
						  ? load->edges_ns[edge]
						  : end_ns;

			if (next_ns > at_ns) {
				on_s += is_on ? (double)(next_ns - at_ns) / 1e9 : 0.0;
				at_ns = next_ns;
			}
			if (edge < load->n && next_ns == load->edges_ns[edge])
				edge++;
		}
	}
}

static double at(const struct fit *fit, const double values[], double t_s)
{
	double cell = t_s * 1e9 / CELL_NS, whole = floor(cell);
	size_t i;

	if (cell < 0)
		return values[0];
	if (whole + 1 >= (double)fit->n_cells)
		return values[fit->n_cells - 1];
	i = (size_t)whole;
	return values[i] + (values[i + 1] - values[i]) * (cell - whole);
}

static void charge(struct fit *fit, double constant_s)
{
	double step = 1.0 - exp(-(double)CELL_NS / 1e9 / constant_s), value = 0;

	if (!(constant_s < fit->low_s) && !(constant_s > fit->low_s))
		return;
	fit->low_s = constant_s;
	for (size_t i = 0; i < fit->n_cells; i++) {
		double on = i > 0 ? (fit->on_s[i] - fit->on_s[i - 1]) / ((double)CELL_NS / 1e9) : 0;

		value += (on - value) * step;
		fit->low[i] = value;
	}
}

/* The part of the load that a value of that time has. */
static double load_at(const struct fit *fit, const struct point *point, double t_s)
{
	double end_s = t_s - point->delay_s;

	if (fit->kind == WTL_SENSOR_LOWPASS)
		return at(fit, fit->low, end_s);
	return (at(fit, fit->on_s, end_s) - at(fit, fit->on_s, end_s - point->window_s)) /
	       point->window_s;
}

/* ---- A candidate ---- */

/* The line from the load to power by least squares, and what it leaves over. */
static void judge(struct fit *fit, struct point *point)
{
	double n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0, dx, dy, d;

	if (fit->kind == WTL_SENSOR_LOWPASS)
		charge(fit, point->window_s);
	for (size_t i = 0; i < fit->n; i++) {
		const struct update *update = &fit->updates[i];
		double load;

		if (update->is_out || update->part == fit->without)
			continue;
		load = load_at(fit, point, update->t_s);
		n++;
		x += load;
		y += update->power_w;
		xx += load * load;
		xy += load * update->power_w;
		yy += update->power_w * update->power_w;
	}
	dx = xx - x * x / n;
	dy = yy - y * y / n;
	d = xy - x * y / n;
	point->n = (size_t)n;
	point->range_w = dx > 0 ? d / dx : 0;
	point->low_w = (y - point->range_w * x) / n;
	point->left = dx > 0 && d > 0 ? fmax(0, dy - d * d / dx) : dy;
	point->correlation = dx > 0 && dy > 0 ? d / sqrt(dx * dy) : 0;
}

static bool is_possible(const struct point *point)
{
	return point->window_s >= WINDOW_MIN_S && point->window_s <= WINDOW_MAX_S &&
	       point->delay_s >= -0.05 && point->delay_s <= DELAY_MAX_S;
}

/* Goes downhill, in ever smaller steps: of the window, of the delay, and of both with the middle where it is. */
static void descend(struct fit *fit, struct point *best, double step_s)
{
	static const struct {
		double window, delay;
	} ways[] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, -1}, {-1, 1}, {1, -0.5}, {-1, 0.5}};

	judge(fit, best);
	while (step_s >= STEP_MIN_S) {
		bool is_better = false;

		for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
			struct point next = *best;

			next.window_s += step_s * ways[i].window;
			next.delay_s += step_s * ways[i].delay;
			if (!is_possible(&next))
				continue;
			judge(fit, &next);
			if (next.left < best->left) {
				*best = next;
				is_better = true;
			}
		}
		if (!is_better)
			step_s /= 2;
	}
}

/* The best of a coarse grid, and then of what is around. */
static struct point search(struct fit *fit)
{
	struct point best = {.left = HUGE_VAL};

	for (double window_s = 0.003; window_s < WINDOW_MAX_S; window_s *= 1.3) {
		double step_s = fmax(0.004, window_s / 8);

		for (double delay_s = -0.02; delay_s <= DELAY_MAX_S; delay_s += step_s) {
			struct point point = {.window_s = window_s, .delay_s = delay_s};

			judge(fit, &point);
			if (point.left < best.left)
				best = point;
		}
	}
	descend(fit, &best, fmax(0.004, best.window_s / 8));
	return best;
}

/* What is far off is left out, and the rest is fitted again. */
static void leave_out(struct fit *fit, struct point *best, double deviations[])
{
	double most;

	for (size_t i = 0; i < fit->n; i++)
		deviations[i] = fabs(fit->updates[i].power_w - best->low_w -
				     best->range_w * load_at(fit, best, fit->updates[i].t_s));
	qsort(deviations, fit->n, sizeof(*deviations), compare);
	most = OUTLIER * 1.4826 * deviations[fit->n / 2];
	for (size_t i = 0; i < fit->n; i++)
		fit->updates[i].is_out =
			fabs(fit->updates[i].power_w - best->low_w -
			     best->range_w * load_at(fit, best, fit->updates[i].t_s)) > most;
	descend(fit, best, fmax(0.002, best->window_s / 8));
}

/* By leaving out a part of the time at a time (jackknife). */
static void find_errors(struct fit *fit, const struct point *best, struct wtl_sensor_found *found)
{
	double windows = 0, delays = 0;

	for (unsigned part = 0; part < PARTS; part++) {
		struct point point = *best;

		fit->without = part;
		descend(fit, &point, fmax(0.002, best->window_s / 16));
		windows += pow(point.window_s - best->window_s, 2);
		delays += pow(point.delay_s - best->delay_s, 2);
	}
	fit->without = PARTS;
	found->window_sd_ns = llround(1e9 * sqrt(windows * (PARTS - 1) / PARTS));
	found->latency_sd_ns = llround(1e9 * sqrt(delays * (PARTS - 1) / PARTS));
}

/* ---- All of it ---- */

static struct point choose_kind(struct fit *fit, double deviations[])
{
	struct point window, capacitor;

	window = search(fit);
	leave_out(fit, &window, deviations);
	fit->kind = WTL_SENSOR_LOWPASS;
	capacitor = search(fit);
	if (capacitor.left < LOWPASS_PART * window.left)
		return capacitor;
	fit->kind = WTL_SENSOR_BOXCAR;
	return window;
}

static int solve(struct fit *fit, double deviations[], struct wtl_sensor_found *found,
		 struct wtl_err *err)
{
	struct point best = choose_kind(fit, deviations);

	if (best.correlation < CORRELATION_MIN)
		return refuse(err,
			      "what it shows does not follow the load: does the load run on that "
			      "GPU, and nothing else?");
	judge(fit, &best);
	found->kind = fit->kind;
	found->low_w = best.low_w;
	found->high_w = best.low_w + best.range_w;
	found->rms_w = sqrt(best.left / (double)best.n);
	found->window_ns = llround(1e9 * best.window_s);
	found->latency_ns = best.delay_s > 0 ? llround(1e9 * best.delay_s) : 0;
	find_errors(fit, &best, found);
	if (fit->kind == WTL_SENSOR_LOWPASS) {
		found->window_ns *= 2;
		found->window_sd_ns *= 2;
	}
	return 0;
}

static int64_t usual_poll_ns(const struct wtl_power_log *polls)
{
	return (polls->points[polls->n - 1].t_ns - polls->points[0].t_ns) / (int64_t)(polls->n - 1);
}

int wtl_sensor_fit(const struct wtl_power_log *polls, const struct wtl_sensor_load *load,
		   struct wtl_sensor_found *ret_found, struct wtl_err *err)
{
	struct wtl_sensor_found found;
	struct fit fit = {.kind = WTL_SENSOR_BOXCAR, .without = PARTS};
	double period_s = 0, *deviations;
	int rc;

	if (polls->n < 2 || load->n < 2)
		return refuse(err, "there is nothing to compare");
	rc = take_updates(polls, &fit.updates, &fit.n, &period_s, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < fit.n; i++)
		fit.updates[i].part = (unsigned)(PARTS * i / fit.n);
	fit.begin_ns = polls->points[0].t_ns;
	fit.n_cells = (size_t)((polls->points[polls->n - 1].t_ns - fit.begin_ns) / CELL_NS) + 2;
	if (fit.n_cells > CELLS_MAX)
		fit.n_cells = CELLS_MAX;
	fit.on_s = calloc(fit.n_cells, sizeof(*fit.on_s));
	fit.low = calloc(fit.n_cells, sizeof(*fit.low));
	deviations = calloc(fit.n, sizeof(*deviations));
	if (fit.on_s && fit.low && deviations) {
		fill_load(&fit, load);
		found = (struct wtl_sensor_found){.n = fit.n,
						  .update_ns = llround(1e9 * period_s),
						  .poll_ns = usual_poll_ns(polls)};
		rc = solve(&fit, deviations, &found, err);
	} else {
		rc = wtl_err_set(err, ENOMEM, "sensor", NULL, "out of memory");
	}
	free(deviations);
	free(fit.low);
	free(fit.on_s);
	free(fit.updates);
	if (rc == 0)
		*ret_found = found;
	return rc;
}
