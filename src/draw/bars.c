/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "draw/parts.h"

/* A row a category: its name, a bar of its series end to end, a whisker for the ±, and the figure. */

enum { NAME_GAP = 8, CAP = 3, FIGURE_GAP = 7, ROW_MAX = 34 };

/* The part of a row's height that its bar takes. */
#define THICKNESS 0.62

static const struct wtl_plot_lettering name_letters = {
	.size = WTL_SIZE_TEXT, .rgb = WTL_PLOT_INK, .align = WTL_ALIGN_RIGHT, .keeps_end = true};
static const struct wtl_plot_lettering figure_letters = {.size = WTL_SIZE_FAINT,
							 .rgb = WTL_PLOT_INK};

double wtl_plot_bars_names(struct wtl_plot_pen *pen, const struct wtl_plot_panel *panel,
			   double most)
{
	char text[WTL_PLOT_TEXT_MAX];
	double widest = 0;

	for (size_t i = 0; i < panel->n_categories; i++)
		widest = fmax(widest,
			      wtl_plot_fit(pen, &name_letters, panel->categories[i], most, text));
	return widest + NAME_GAP + 4;
}

static double value_x(const struct wtl_plot_frame *frame, double value)
{
	double part = (value - frame->x.low) / (frame->x.high - frame->x.low);

	part = !(part > 0) ? 0 : part > 1 ? 1 : part;
	return frame->box.left + part * (frame->box.right - frame->box.left);
}

static const struct wtl_plot_point *point_of(const struct wtl_plot_series *series, size_t category)
{
	for (size_t i = 0; i < series->n; i++)
		if (series->points[i].x == (int64_t)category)
			return &series->points[i];
	return NULL;
}

/* The series' parts of one bar. Returns their sum; false: there are none. */
static bool draw_parts(const struct wtl_plot_frame *frame, size_t category, double top,
		       double bottom, double *ret_sum)
{
	bool any = false;
	double sum = 0;

	for (size_t s = 0; s < frame->panel->n_series; s++) {
		const struct wtl_plot_point *point = point_of(&frame->panel->series[s], category);
		const struct wtl_plot_look look = frame->looks[s];
		struct wtl_plot_box box = {value_x(frame, sum), top, 0, bottom};

		if (!point || !isfinite(point->y) || point->y < 0)
			continue;
		any = true;
		sum += point->y;
		box.right = value_x(frame, sum);
		if (!(box.right > box.left))
			continue;
		wtl_plot_box(frame->pen, &box,
			     &(struct wtl_plot_fill){.rgb = look.light,
						     .alpha = 1,
						     .hatch = look.hatch,
						     .hatch_rgb = look.rgb});
		frame->pen->ops->line(
			frame->pen,
			(struct wtl_plot_xy[]){{box.left, top},
					       {box.right, top},
					       {box.right, bottom},
					       {box.left, bottom},
					       {box.left, top},
					       {box.right, top}},
			6, &(struct wtl_plot_stroke){.rgb = look.rgb, .alpha = 1, .width = 1});
	}
	*ret_sum = sum;
	return any;
}

/* Returns where it ends. */
static double draw_whisker(const struct wtl_plot_frame *frame, const struct wtl_plot_point *whole,
			   double y)
{
	const struct wtl_plot_stroke stroke = {.rgb = WTL_PLOT_INK, .alpha = 1, .width = 1.2};
	double low = value_x(frame, whole->low), high = value_x(frame, whole->high);

	if (!(whole->low < whole->high) || !wtl_plot_range_is_drawn(whole))
		return 0;
	wtl_plot_segment(frame->pen, low, y, high, y, &stroke);
	wtl_plot_segment(frame->pen, low, y - CAP, low, y + CAP, &stroke);
	wtl_plot_segment(frame->pen, high, y - CAP, high, y + CAP, &stroke);
	return high;
}

/* The bar's figure, to the right of it. */
static void draw_figure(const struct wtl_plot_frame *frame, const struct wtl_plot_point *whole,
			double x, double y)
{
	char text[WTL_PLOT_MEASURE_MAX];

	wtl_plot_axis_measure(&frame->x, whole->y, whole->high - whole->y, text);
	wtl_plot_text(frame->pen, x + FIGURE_GAP, y + 4,
		      frame->box.right + frame->figures - x - FIGURE_GAP, &figure_letters, text);
}

static void draw_bar(const struct wtl_plot_frame *frame, size_t category, double middle,
		     double half)
{
	const struct wtl_plot_panel *panel = frame->panel;
	struct wtl_plot_point whole = {.low = WTL_PLOT_UNKNOWN, .high = WTL_PLOT_UNKNOWN};
	const struct wtl_plot_point *only;
	double sum, end;

	wtl_plot_text(frame->pen, frame->box.left - NAME_GAP, middle + 4, frame->names,
		      &name_letters, panel->categories[category]);
	if (!draw_parts(frame, category, middle - half, middle + half, &sum)) {
		const struct wtl_plot_lettering faint = {.size = WTL_SIZE_FAINT,
							 .rgb = WTL_PLOT_FAINT};

		wtl_plot_text(frame->pen, frame->box.left + FIGURE_GAP, middle + 4, 200, &faint,
			      "not known");
		return;
	}
	only = panel->n_series == 1 && panel->series[0].has_range
		       ? point_of(&panel->series[0], category)
		       : NULL;
	if (panel->totals)
		only = &panel->totals[category];
	if (only)
		whole = *only;
	if (!isfinite(whole.y) || !only)
		whole.y = sum;
	end = draw_whisker(frame, &whole, middle);
	draw_figure(frame, &whole, fmax(end, value_x(frame, sum)), middle);
}

void wtl_plot_bars_draw(const struct wtl_plot_frame *frame)
{
	size_t n = frame->panel->n_categories;
	double row = (frame->box.bottom - frame->box.top) / (double)(n > 0 ? n : 1);

	for (size_t i = 0; i < n; i++)
		draw_bar(frame, i, frame->box.top + ((double)i + 0.5) * row,
			 fmin(row, ROW_MAX) * THICKNESS / 2);
}
