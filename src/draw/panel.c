/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "draw/parts.h"

/* What is drawn around the curves: axes, grid, stretches without data. */

enum { TICK = 4, TICK_GAP = 14, TITLE_GAP = 31, LABEL_GAP = 4 };

static const struct wtl_plot_stroke grid = {.rgb = WTL_PLOT_GRID, .alpha = 1, .width = 0.8};
static const struct wtl_plot_stroke edge = {.rgb = WTL_PLOT_INK, .alpha = 1, .width = 1};
static const struct wtl_plot_lettering tick_x = {
	.size = WTL_SIZE_TEXT, .rgb = WTL_PLOT_INK, .align = WTL_ALIGN_MIDDLE};
static const struct wtl_plot_lettering tick_y = {
	.size = WTL_SIZE_TEXT, .rgb = WTL_PLOT_INK, .align = WTL_ALIGN_RIGHT};

static void draw_x_axis(const struct wtl_plot_frame *frame)
{
	struct wtl_plot_pen *pen = frame->pen;
	const struct wtl_plot_box *box = &frame->box;
	struct wtl_plot_lettering title = tick_x;
	double free_x = -HUGE_VAL;

	for (size_t i = 0; i < frame->x.n; i++) {
		const struct wtl_plot_tick *tick = &frame->x.ticks[i];
		double x = wtl_plot_frame_at(frame, tick->at), half;

		if (frame->panel->marks != WTL_PLOT_POINTS)
			wtl_plot_segment(pen, x, box->top, x, box->bottom, &grid);
		wtl_plot_segment(pen, x, box->bottom, x, box->bottom + TICK, &edge);
		half = pen->ops->width(pen, &tick_x, tick->label) / 2;
		/* On a narrow paper, two labels may meet. */
		if (!frame->has_x_labels || x - half < free_x)
			continue;
		pen->ops->text(pen, x, box->bottom + TICK_GAP + 2, &tick_x, tick->label);
		free_x = x + half + LABEL_GAP;
	}
	if (frame->has_x_labels)
		wtl_plot_text(pen, (box->left + box->right) / 2, box->bottom + TITLE_GAP + 2,
			      box->right - box->left, &title, frame->x.title);
}

static void draw_y_axis(const struct wtl_plot_frame *frame)
{
	struct wtl_plot_pen *pen = frame->pen;
	const struct wtl_plot_box *box = &frame->box;
	struct wtl_plot_lettering title = {.size = WTL_SIZE_TEXT,
					   .rgb = WTL_PLOT_INK,
					   .upwards = true,
					   .align = WTL_ALIGN_MIDDLE};
	double widest = 0;

	for (size_t i = 0; i < frame->y.n; i++) {
		const struct wtl_plot_tick *tick = &frame->y.ticks[i];
		double y = wtl_plot_frame_y(frame, tick->at);

		wtl_plot_segment(pen, box->left, y, box->right, y, &grid);
		pen->ops->text(pen, box->left - 7, y + 4, &tick_y, tick->label);
		widest = fmax(widest, pen->ops->width(pen, &tick_y, tick->label));
	}
	wtl_plot_text(pen, box->left - widest - 17, (box->top + box->bottom) / 2,
		      (box->bottom - box->top) * 1.2, &title, frame->y.title);
}

/* Two strokes across the foot of an axis that does not begin at 0. */
static void draw_cut(const struct wtl_plot_frame *frame)
{
	const struct wtl_plot_box gap = {frame->box.left - 3, frame->box.bottom - 13,
					 frame->box.left + 3, frame->box.bottom - 9};

	wtl_plot_box(frame->pen, &gap, &(struct wtl_plot_fill){.rgb = WTL_PLOT_PAPER, .alpha = 1});
	wtl_plot_segment(frame->pen, gap.left - 2, gap.bottom + 2, gap.right + 2, gap.bottom - 2,
			 &edge);
	wtl_plot_segment(frame->pen, gap.left - 2, gap.top + 2, gap.right + 2, gap.top - 2, &edge);
}

static void draw_gap(const struct wtl_plot_frame *frame, const struct wtl_plot_gap *gap)
{
	static const struct wtl_plot_fill fill = {
		.rgb = 0xf4f4f4, .alpha = 1, .hatch = WTL_HATCH_UP, .hatch_rgb = 0xc8c8c8};
	struct wtl_plot_lettering faint = {
		.size = WTL_SIZE_FAINT, .rgb = WTL_PLOT_FAINT, .align = WTL_ALIGN_MIDDLE};
	const char *name = gap->name ? gap->name : "no data";
	struct wtl_plot_box box = frame->box;
	double width, middle, height = box.bottom - box.top;
	char text[WTL_PLOT_TEXT_MAX];

	box.left = fmax(box.left, wtl_plot_frame_x(frame, gap->from));
	box.right = fmin(box.right, wtl_plot_frame_x(frame, gap->to));
	if (!(box.right > box.left))
		return;
	wtl_plot_box(frame->pen, &box, &fill);
	middle = (box.left + box.right) / 2;
	width = wtl_plot_fit(frame->pen, &faint, name, height - 12, text);
	faint.upwards = width + 12 > box.right - box.left;
	if (!text[0] || box.right - box.left < 14)
		return;
	/* On a white box, so that hatches do not run through it. */
	box = (struct wtl_plot_box){middle - width / 2 - 4, box.top + 5, middle + width / 2 + 4,
				    box.top + 20};
	if (faint.upwards)
		box = (struct wtl_plot_box){middle - 6.5, frame->box.top + 4, middle + 6.5,
					    frame->box.top + 12 + width};
	wtl_plot_box(frame->pen, &box, &(struct wtl_plot_fill){.rgb = WTL_PLOT_PAPER, .alpha = 1});
	if (faint.upwards)
		frame->pen->ops->text(frame->pen, middle + 3.5, (box.top + box.bottom) / 2, &faint,
				      text);
	else
		frame->pen->ops->text(frame->pen, middle, box.bottom - 4, &faint, text);
}

static void draw_title(const struct wtl_plot_frame *frame)
{
	static const struct wtl_plot_lettering title = {
		.size = WTL_SIZE_PANEL, .rgb = WTL_PLOT_INK, .bold = true, .keeps_end = true};

	if (frame->panel->title)
		wtl_plot_text(frame->pen, frame->box.left, frame->box.top - 8,
			      frame->box.right - frame->box.left + frame->key, &title,
			      frame->panel->title);
}

void wtl_plot_panel_draw(const struct wtl_plot_frame *frame)
{
	const struct wtl_plot_box *box = &frame->box;
	/* Marks at the very edge are not to be cut. */
	const double over = frame->panel->marks == WTL_PLOT_STACK ? 1 : 5;
	const struct wtl_plot_box inside = {box->left - over, box->top - over, box->right + over,
					    box->bottom + over};

	draw_title(frame);
	draw_x_axis(frame);
	if (frame->panel->marks == WTL_PLOT_BARS) {
		wtl_plot_bars_draw(frame);
	} else {
		draw_y_axis(frame);
		for (size_t i = 0; i < frame->panel->n_gaps; i++)
			draw_gap(frame, &frame->panel->gaps[i]);
		frame->pen->ops->clip(frame->pen, &inside);
		wtl_plot_marks_draw(frame);
		frame->pen->ops->clip(frame->pen, NULL);
		wtl_plot_segment(frame->pen, box->left, box->bottom, box->right, box->bottom,
				 &edge);
	}
	wtl_plot_segment(frame->pen, box->left, box->top, box->left, box->bottom, &edge);
	if (frame->y.is_cut)
		draw_cut(frame);
	wtl_plot_key_draw(frame);
}
