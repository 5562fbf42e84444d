/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "draw/parts.h"

struct span {
	double low, high;
	double lowest; /* of the values alone */
};

static void widen(struct span *span, double y)
{
	if (!isfinite(y))
		return;
	if (y < span->low)
		span->low = y;
	if (y > span->high)
		span->high = y;
}

bool wtl_plot_range_is_drawn(const struct wtl_plot_point *point)
{
	return isfinite(point->low) && isfinite(point->high) &&
	       point->high - point->y <= point->y / 2;
}

bool wtl_plot_level_has_band(const struct wtl_plot_level *level)
{
	const struct wtl_plot_point point = {.y = level->y, .low = level->low, .high = level->high};

	return level->low < level->high && wtl_plot_range_is_drawn(&point);
}

bool wtl_plot_range_x(const struct wtl_plot_panel *panel, int64_t *ret_from, int64_t *ret_to)
{
	int64_t from = INT64_MAX, to = INT64_MIN;
	bool any = false;

	for (size_t s = 0; s < panel->n_series; s++) {
		const struct wtl_plot_series *series = &panel->series[s];

		for (size_t i = 0; i < series->n; i++) {
			int64_t x = series->points[i].x;

			any |= isfinite(series->points[i].y);
			from = x < from ? x : from;
			to = x > to ? x : to;
		}
	}
	if (panel->from < panel->to) {
		from = panel->from;
		to = panel->to;
	}
	*ret_from = from;
	*ret_to = to;
	return any;
}

static bool is_inside(const struct wtl_plot_point *point, int64_t from, int64_t to)
{
	return point->x >= from && point->x <= to && isfinite(point->y);
}

static void widen_by_series(struct span *span, const struct wtl_plot_series *series, int64_t from,
			    int64_t to)
{
	for (size_t i = 0; i < series->n; i++) {
		const struct wtl_plot_point *point = &series->points[i];

		if (!is_inside(point, from, to))
			continue;
		widen(span, point->y);
		span->lowest = fmin(span->lowest, point->y);
		if (series->has_range) {
			widen(span, point->low);
			widen(span, point->high);
		}
	}
	if (series->level.is_known && series->n > 0) {
		widen(span, series->level.y);
		if (wtl_plot_level_has_band(&series->level)) {
			widen(span, series->level.low);
			widen(span, series->level.high);
		}
	}
}

/* All series of a stack have the same x. */
static void widen_by_stack(struct span *span, const struct wtl_plot_panel *panel, int64_t from,
			   int64_t to)
{
	for (size_t i = 0; panel->n_series > 0 && i < panel->series[0].n; i++) {
		double sum = 0;
		bool any = false;

		for (size_t s = 0; s < panel->n_series; s++) {
			const struct wtl_plot_point *point = &panel->series[s].points[i];

			if (!is_inside(point, from, to))
				continue;
			sum += point->y;
			any = true;
		}
		if (any)
			widen(span, sum);
	}
}

static void widen_by_bars(struct span *span, const struct wtl_plot_panel *panel)
{
	for (size_t category = 0; category < panel->n_categories; category++) {
		double sum = 0;

		for (size_t s = 0; s < panel->n_series; s++) {
			const struct wtl_plot_series *series = &panel->series[s];

			for (size_t i = 0; i < series->n; i++) {
				if (series->points[i].x != (int64_t)category ||
				    !isfinite(series->points[i].y))
					continue;
				sum += series->points[i].y;
				if (series->has_range &&
				    wtl_plot_range_is_drawn(&series->points[i]))
					widen(span, series->points[i].high);
			}
		}
		widen(span, sum);
		if (panel->totals && wtl_plot_range_is_drawn(&panel->totals[category]))
			widen(span, panel->totals[category].high);
	}
}

bool wtl_plot_range_y(const struct wtl_plot_panel *panel, int64_t from, int64_t to, double *ret_low,
		      double *ret_high)
{
	struct span span = {.low = HUGE_VAL, .high = -HUGE_VAL, .lowest = HUGE_VAL};

	if (panel->marks == WTL_PLOT_STACK)
		widen_by_stack(&span, panel, from, to);
	else if (panel->marks == WTL_PLOT_BARS)
		widen_by_bars(&span, panel);
	else
		for (size_t s = 0; s < panel->n_series; s++)
			widen_by_series(&span, &panel->series[s], from, to);
	/* Values of 0 and more do not take the axis below 0 for their ± alone. */
	if (span.low < 0 && span.lowest >= 0 && span.lowest <= span.high)
		span.low = 0;
	*ret_low = span.low;
	*ret_high = span.high;
	return span.low <= span.high;
}

const struct wtl_plot_gap *wtl_plot_gap_met(struct wtl_plot_walk *walk, int64_t x, bool *ret_inside)
{
	const struct wtl_plot_panel *panel = walk->panel;
	const struct wtl_plot_gap *met = NULL;

	*ret_inside = false;
	for (; walk->next < panel->n_gaps && panel->gaps[walk->next].from < x; walk->next++) {
		if (walk->has_begun)
			met = &panel->gaps[walk->next];
		*ret_inside = panel->gaps[walk->next].to > x;
		if (*ret_inside)
			break;
	}
	walk->has_begun = true;
	return met;
}

size_t wtl_plot_reduce(const struct wtl_plot_frame *frame, const struct wtl_plot_series *series)
{
	struct wtl_plot_walk walk = {.panel = frame->panel};
	struct wtl_plot_reducer reducer;

	wtl_plot_reducer_init(&reducer, frame->from, frame->to, frame->n_columns, frame->scratch);
	for (size_t i = 0; i < series->n; i++) {
		const struct wtl_plot_point *point = &series->points[i];
		const struct wtl_plot_gap *gap;
		bool is_inside;

		gap = wtl_plot_gap_met(&walk, point->x, &is_inside);
		if (gap)
			wtl_plot_reducer_add(&reducer,
					     &(struct wtl_plot_point){
						     .x = gap->to < point->x ? gap->to : point->x,
						     .y = WTL_PLOT_UNKNOWN});
		if (!is_inside)
			wtl_plot_reducer_add(&reducer, point);
	}
	return wtl_plot_reducer_end(&reducer);
}
