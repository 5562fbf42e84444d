/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "draw/parts.h"

/* What is drawn for the values of a panel. */

enum { MARK_SPACING = 96, BATCH = 512 };

/* Points on paper, handed to the pen when there are many. */
struct path {
	const struct wtl_plot_frame *frame;
	struct wtl_plot_xy at[BATCH];
	size_t n;
	struct wtl_plot_stroke stroke;
};

static void path_flush(struct path *path)
{
	if (path->n > 1)
		path->frame->pen->ops->line(path->frame->pen, path->at, path->n, &path->stroke);
	/* A single point would not be seen. */
	if (path->n == 1)
		wtl_plot_segment(path->frame->pen, path->at[0].x - 0.7, path->at[0].y,
				 path->at[0].x + 0.7, path->at[0].y,
				 &(struct wtl_plot_stroke){.rgb = path->stroke.rgb,
							   .alpha = path->stroke.alpha,
							   .width = path->stroke.width + 1});
	path->n = 0;
}

static void path_add(struct path *path, double x, double y)
{
	if (path->n == BATCH) {
		struct wtl_plot_xy last = path->at[BATCH - 1];

		path_flush(path);
		path->at[path->n++] = last;
	}
	path->at[path->n++] = (struct wtl_plot_xy){x, y};
}

/* The lower end of a ±, which may be below the axis. */
static double low_y(const struct wtl_plot_frame *frame, double low)
{
	return fmin(frame->box.bottom, wtl_plot_frame_y(frame, low));
}

static void draw_whisker(const struct wtl_plot_frame *frame, const struct wtl_plot_point *point,
			 double x, uint32_t rgb)
{
	const struct wtl_plot_stroke stroke = {.rgb = rgb, .alpha = 1, .width = 1.2};
	double low, high;

	if (!isfinite(point->low) || !isfinite(point->high))
		return;
	low = low_y(frame, point->low);
	high = wtl_plot_frame_y(frame, point->high);
	wtl_plot_segment(frame->pen, x, low, x, high, &stroke);
	/* No end stroke where the ± goes on below the axis. */
	if (point->low >= frame->y.low)
		wtl_plot_segment(frame->pen, x - 3.5, low, x + 3.5, low, &stroke);
	wtl_plot_segment(frame->pen, x - 3.5, high, x + 3.5, high, &stroke);
}

/* ---- Lines ---- */

static void draw_line(const struct wtl_plot_frame *frame, const struct wtl_plot_look *look,
		      size_t n)
{
	struct path path = {.frame = frame,
			    .stroke = {.rgb = look->rgb, .alpha = 1, .width = look->width}};

	for (size_t i = 0; i < n; i++) {
		const struct wtl_plot_point *point = &frame->scratch[i];

		if (isnan(point->y))
			path_flush(&path);
		else
			path_add(&path, wtl_plot_frame_x(frame, point->x),
				 wtl_plot_frame_y(frame, point->y));
	}
	path_flush(&path);
}

/* The band of the points from … to, which are all known: along the upper edge, and back along the lower one. */
static void draw_band_part(const struct wtl_plot_frame *frame, const struct wtl_plot_look *look,
			   size_t from, size_t to)
{
	const struct wtl_plot_fill fill = {.rgb = look->rgb, .alpha = 0.22};
	const size_t most = 2 * (to - from);
	struct wtl_plot_xy *at = frame->xy;
	size_t n = 0;

	for (size_t i = from; i < to; i++) {
		const struct wtl_plot_point *point = &frame->scratch[i];

		/* Between two points with the same range it adds nothing. All points of a column have the same. */
		if (i > from && i + 1 < to && point[-1].low == point->low &&
		    point[-1].high == point->high && point[1].low == point->low &&
		    point[1].high == point->high)
			continue;
		at[n].x = wtl_plot_frame_x(frame, point->x);
		at[n].y = wtl_plot_frame_y(frame, point->high);
		n++;
		at[most - n].x = at[n - 1].x;
		at[most - n].y = low_y(frame, point->low);
	}
	/* The lower edge, put right behind the upper one. */
	memmove(at + n, at + most - n, n * sizeof(*at));
	if (n > 1)
		frame->pen->ops->area(frame->pen, at, 2 * n, &fill);
}

static void draw_band(const struct wtl_plot_frame *frame, const struct wtl_plot_look *look,
		      size_t n)
{
	size_t from = 0;

	for (size_t i = 0; i <= n; i++) {
		const struct wtl_plot_point *point = &frame->scratch[i];

		if (i < n && !isnan(point->y) && isfinite(point->low) && isfinite(point->high))
			continue;
		/* A single point has no width. */
		if (i == from + 1)
			draw_whisker(frame, &frame->scratch[from],
				     wtl_plot_frame_x(frame, frame->scratch[from].x), look->rgb);
		else
			draw_band_part(frame, look, from, i);
		from = i + 1;
	}
}

static void draw_level(const struct wtl_plot_frame *frame, const struct wtl_plot_series *series,
		       const struct wtl_plot_look *look)
{
	const struct wtl_plot_level *level = &series->level;
	struct wtl_plot_box box = frame->box;
	double y = wtl_plot_frame_y(frame, level->y);

	if (!level->is_known || !isfinite(level->y))
		return;
	box.top = fmax(box.top, wtl_plot_frame_y(frame, level->high));
	box.bottom = low_y(frame, level->low);
	if (wtl_plot_level_has_band(level))
		wtl_plot_box(frame->pen, &box,
			     &(struct wtl_plot_fill){.rgb = look->rgb, .alpha = 0.16});
	wtl_plot_segment(
		frame->pen, box.left, y, box.right, y,
		&(struct wtl_plot_stroke){.rgb = look->rgb, .alpha = 1, .width = 1.1, .dash = 6});
}

bool wtl_plot_has_marks(const struct wtl_plot_panel *panel, size_t series)
{
	return panel->marks == WTL_PLOT_POINTS ||
	       (panel->n_series > 1 && !panel->series[series].is_total);
}

/* A shape now and then, at least one, to tell lines apart without colours. A vertical line has it at its end. */
static void draw_line_marks(const struct wtl_plot_frame *frame, const struct wtl_plot_look *look,
			    size_t series, size_t n)
{
	double due = frame->box.left +
		     MARK_SPACING * (0.3 + (double)series / (double)frame->panel->n_series);
	const struct wtl_plot_point *last = NULL;
	bool has_mark = false;

	if (n > 1 && frame->scratch[0].x == frame->scratch[n - 1].x)
		due = frame->box.right + 1;
	for (size_t i = 0; i < n; i++) {
		const struct wtl_plot_point *point = &frame->scratch[i];
		double x = wtl_plot_frame_x(frame, point->x);

		if (isnan(point->y))
			continue;
		last = point;
		if (x < due)
			continue;
		wtl_plot_mark(frame->pen, x, wtl_plot_frame_y(frame, point->y), 4, look);
		has_mark = true;
		while (due <= x)
			due += MARK_SPACING;
	}
	if (last && !has_mark)
		wtl_plot_mark(frame->pen, wtl_plot_frame_x(frame, last->x),
			      wtl_plot_frame_y(frame, last->y), 4, look);
}

static void draw_lines(const struct wtl_plot_frame *frame)
{
	const struct wtl_plot_panel *panel = frame->panel;

	for (size_t s = 0; s < panel->n_series; s++) {
		const struct wtl_plot_look look = frame->looks[s];

		draw_level(frame, &panel->series[s], &look);
		if (panel->series[s].has_range)
			draw_band(frame, &look, wtl_plot_reduce(frame, &panel->series[s]));
	}
	for (size_t s = 0; s < panel->n_series; s++) {
		const struct wtl_plot_look look = frame->looks[s];
		size_t n = wtl_plot_reduce(frame, &panel->series[s]);

		draw_line(frame, &look, n);
		if (wtl_plot_has_marks(panel, s))
			draw_line_marks(frame, &look, s, n);
	}
}

/* ---- Points ---- */

static void draw_points(const struct wtl_plot_frame *frame)
{
	const struct wtl_plot_panel *panel = frame->panel;

	for (size_t s = 0; s < panel->n_series; s++) {
		const struct wtl_plot_series *series = &panel->series[s];
		const struct wtl_plot_look look = frame->looks[s];
		size_t n = wtl_plot_reduce(frame, series);

		draw_level(frame, series, &look);
		for (size_t i = 0; i < n; i++) {
			const struct wtl_plot_point *point = &frame->scratch[i];
			double x = wtl_plot_frame_x(frame, point->x);

			if (isnan(point->y))
				continue;
			wtl_plot_mark(frame->pen, x, wtl_plot_frame_y(frame, point->y), 3.8, &look);
		}
	}
}

void wtl_plot_marks_draw(const struct wtl_plot_frame *frame)
{
	if (frame->panel->marks == WTL_PLOT_STACK)
		wtl_plot_stack_draw(frame);
	else if (frame->panel->marks == WTL_PLOT_POINTS)
		draw_points(frame);
	else
		draw_lines(frame);
}
