/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "draw/parts.h"

/* Stacked areas. Extremes do not add up, so here each column of the picture shows the
 * means of its points: then the height of an area is power, and its size is energy. */

/* The height in pixels above which an area is seen as more than its edge. */
#define HEIGHT_SEEN 0.5

static bool is_known(const struct wtl_plot_panel *panel, size_t i)
{
	for (size_t s = 0; s < panel->n_series; s++)
		if (isfinite(panel->series[s].points[i].y))
			return true;
	return false;
}

/* From where on a point holds: from the one before, or from the end of a gap between them. */
static double begin_of(const struct wtl_plot_frame *frame, size_t i, const struct wtl_plot_gap *gap)
{
	const struct wtl_plot_point *points = frame->panel->series[0].points;
	int64_t from = i > 0 ? points[i - 1].x : points[i].x;

	if (gap && gap->to > from)
		from = gap->to;
	return wtl_plot_frame_x(frame, from > frame->from ? from : frame->from);
}

/* Returns at most two for each column of the picture: a break, and its points. */
static size_t find_columns(const struct wtl_plot_frame *frame, struct wtl_plot_column *columns)
{
	const struct wtl_plot_panel *panel = frame->panel;
	const struct wtl_plot_point *points = panel->series[0].points;
	const double width = (frame->box.right - frame->box.left) / (double)frame->n_columns;
	struct wtl_plot_walk walk = {.panel = panel};
	bool is_broken = false, is_inside;
	size_t n = 0;
	long at = -1;

	for (size_t i = 0; i < panel->series[0].n; i++) {
		double x = wtl_plot_frame_x(frame, points[i].x);
		long column = (long)floor((x - frame->box.left) / width);
		const struct wtl_plot_gap *gap;

		if (points[i].x < frame->from || points[i].x > frame->to)
			continue;
		gap = wtl_plot_gap_met(&walk, points[i].x, &is_inside);
		is_broken |= gap != NULL;
		if (is_inside || !is_known(panel, i)) {
			is_broken = true;
			continue;
		}
		/* A gap narrower than a column is not shown. */
		if (column > at && is_broken && n > 0)
			columns[n++] = (struct wtl_plot_column){.x = WTL_PLOT_UNKNOWN};
		if (column > at)
			columns[n++] = (struct wtl_plot_column){
				.first = i,
				.from_x = panel->has_steps ? begin_of(frame, i, gap) : x};
		columns[n - 1].end = i + 1;
		columns[n - 1].x = x;
		is_broken = false;
		at = column;
	}
	return n;
}

/* While others are known, a series that is not adds nothing. */
static double mean_of(const struct wtl_plot_series *series, const struct wtl_plot_column *column)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = column->first; i < column->end; i++) {
		if (!isfinite(series->points[i].y))
			continue;
		sum += series->points[i].y;
		n++;
	}
	return n > 0 ? sum / (double)n : 0;
}

/* The upper edge and, backwards, the lower one. Returns how many points each has. */
static size_t trace(const struct wtl_plot_frame *frame, const struct wtl_plot_column *columns,
		    size_t n)
{
	const bool has_steps = frame->panel->has_steps;
	const size_t per_column = has_steps ? 2 : 1, n_edge = n * per_column;
	struct wtl_plot_xy *at = frame->xy;

	for (size_t i = 0; i < n_edge; i++) {
		const struct wtl_plot_column *column = &columns[i / per_column];
		double x = has_steps && i % 2 == 0 ? column->from_x : column->x;

		at[i] = (struct wtl_plot_xy){x, wtl_plot_frame_y(frame, column->high)};
		at[2 * n_edge - 1 - i] =
			(struct wtl_plot_xy){x, wtl_plot_frame_y(frame, column->low)};
	}
	return n_edge;
}

/* The area's edge, except where it has hardly any height: there it would cover those of others. */
static void draw_edge(const struct wtl_plot_frame *frame, const struct wtl_plot_column *columns,
		      size_t n, size_t per_column, const struct wtl_plot_stroke *stroke)
{
	size_t from = 0;

	for (size_t i = 0; i <= n; i++) {
		if (i < n && wtl_plot_frame_y(frame, columns[i].low) -
					     wtl_plot_frame_y(frame, columns[i].high) >
				     HEIGHT_SEEN)
			continue;
		if (i > from) {
			/* Sloping edges begin at the neighbour before, and end at the one after. */
			size_t first = per_column == 1 && from > 0 ? from - 1 : from;
			size_t end = per_column == 1 && i < n ? i + 1 : i;

			frame->pen->ops->line(frame->pen, frame->xy + first * per_column,
					      (end - first) * per_column, stroke);
		}
		from = i + 1;
	}
}

static void draw_part(const struct wtl_plot_frame *frame, const struct wtl_plot_look *look,
		      const struct wtl_plot_column *columns, size_t n)
{
	const struct wtl_plot_fill fill = {
		.rgb = look->light, .alpha = 1, .hatch = look->hatch, .hatch_rgb = look->rgb};
	const struct wtl_plot_stroke stroke = {.rgb = look->rgb, .alpha = 1, .width = 1};
	double most = 0;
	size_t n_edge;

	for (size_t i = 0; i < n; i++)
		most = fmax(most, columns[i].high - columns[i].low);
	if (n == 0 || !(most > 0))
		return;
	n_edge = trace(frame, columns, n);
	if (n_edge > 1) {
		frame->pen->ops->area(frame->pen, frame->xy, 2 * n_edge, &fill);
		draw_edge(frame, columns, n, n_edge / n, &stroke);
		return;
	}
	frame->xy[1] = (struct wtl_plot_xy){frame->xy[0].x + 1, frame->xy[0].y};
	frame->pen->ops->line(frame->pen, frame->xy, 2, &stroke);
}

static void draw_series(const struct wtl_plot_frame *frame, size_t series, size_t n)
{
	struct wtl_plot_column *columns = frame->columns;
	const struct wtl_plot_look look = frame->looks[series];
	size_t from = 0;

	for (size_t i = 0; i < n; i++) {
		columns[i].low = columns[i].high;
		columns[i].high += mean_of(&frame->panel->series[series], &columns[i]);
	}
	for (size_t i = 0; i <= n; i++) {
		if (i < n && columns[i].end > columns[i].first)
			continue;
		draw_part(frame, &look, columns + from, i - from);
		from = i + 1;
	}
}

void wtl_plot_stack_draw(const struct wtl_plot_frame *frame)
{
	size_t n = frame->panel->n_series > 0 ? find_columns(frame, frame->columns) : 0;

	for (size_t s = 0; s < frame->panel->n_series; s++)
		draw_series(frame, s, n);
}
