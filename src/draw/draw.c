/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "draw/parts.h"

/* Where everything goes: title and lines above, panels, notes below. */

enum {
	MARGIN = 18,
	TITLE_HEIGHT = 22,
	SUMMARY_HEIGHT = 19,
	LINE_HEIGHT = 16,
	NOTE_HEIGHT = 15,
	PANEL_GAP = 16,
	PANEL_TITLE = 22,
	AXIS_HEIGHT = 40, /* of an x axis with labels */
	ROW = 27,	  /* of a bar */
	BARS_MAX = 400,	  /* rows that a height is made for */
	TICK_ROOM = 76,	  /* for a label of an x axis */
	TICK_ROOM_Y = 34,
	FIGURES = 118, /* "1234.5 ± 123.4 kJ" */
	BARS_LEAST = 90,
};

/* For the names on each side: at most this part of the width. */
#define NAMES_PART 0.30

struct layout {
	const struct wtl_plot_figure *figure;
	struct wtl_plot_pen *pen;
	double width, left, figures, key;
	double names;	  /* the most that the names at one side may take */
	int64_t from, to; /* of all panels, where they share it */
	struct wtl_plot_frame frame;
};

/* ---- Heights ---- */

static bool has_x_axis(const struct wtl_plot_figure *figure, size_t panel)
{
	return !figure->shares_x || panel + 1 == figure->n_panels;
}

static double height_of(const struct wtl_plot_figure *figure, size_t i)
{
	static const double heights[] = {320, 210, 170};
	const struct wtl_plot_panel *panel = &figure->panels[i];
	size_t rows = panel->n_categories < BARS_MAX ? panel->n_categories : BARS_MAX;
	/* At least as high as the key beside it. */
	double key = wtl_plot_key_height(panel);

	if (panel->marks == WTL_PLOT_BARS)
		return fmax((double)(rows < 2 ? 2 : rows) * ROW, key);
	return fmax(heights[figure->n_panels > 3 ? 2 : figure->n_panels - 1], key);
}

static double around(const struct wtl_plot_figure *figure)
{
	double height = 2 * MARGIN + TITLE_HEIGHT + 6;

	height += figure->summary ? SUMMARY_HEIGHT : 0;
	height += LINE_HEIGHT * (double)figure->n_lines;
	height += NOTE_HEIGHT * (double)figure->n_notes + (figure->n_notes ? 8 : 0);
	for (size_t i = 0; i < figure->n_panels; i++) {
		height += figure->panels[i].title ? PANEL_TITLE : 0;
		height += has_x_axis(figure, i) ? AXIS_HEIGHT : 0;
		height += i > 0 ? PANEL_GAP : 4;
	}
	return height;
}

static double panels_height(const struct wtl_plot_figure *figure)
{
	double height = 0;

	for (size_t i = 0; i < figure->n_panels; i++)
		height += height_of(figure, i);
	return height;
}

double wtl_plot_figure_height(const struct wtl_plot_figure *figure)
{
	return ceil(around(figure) + panels_height(figure));
}

/* Rows of bars contain text, so they cannot be made as flat. */
static double stretch_least(const struct wtl_plot_figure *figure)
{
	for (size_t i = 0; i < figure->n_panels; i++)
		if (figure->panels[i].marks == WTL_PLOT_BARS)
			return 0.6;
	return 0.2;
}

double wtl_plot_figure_height_least(const struct wtl_plot_figure *figure)
{
	return ceil(around(figure) + stretch_least(figure) * panels_height(figure));
}

/* ---- Widths ---- */

static unsigned ticks_for(double length, double room)
{
	double n = floor(length / room);

	return n < 2 ? 2 : n > 20 ? 20 : (unsigned)n;
}

static double y_labels_width(struct layout *layout, const struct wtl_plot_panel *panel,
			     double height)
{
	static const struct wtl_plot_lettering letters = {.size = WTL_SIZE_TEXT};
	struct wtl_plot_axis axis;
	int64_t from, to;
	double low, high, widest = 0;

	wtl_plot_range_x(panel, &from, &to);
	if (!wtl_plot_range_y(panel, from, to, &low, &high))
		low = high = 0;
	wtl_plot_axis_values(panel, low, high, ticks_for(height, TICK_ROOM_Y), &axis);
	for (size_t i = 0; i < axis.n; i++)
		widest = fmax(widest,
			      layout->pen->ops->width(layout->pen, &letters, axis.ticks[i].label));
	return widest + 32;
}

/* All panels begin and end at the same x, so that times are aligned. */
static void find_sides(struct layout *layout, double stretch)
{
	const struct wtl_plot_figure *figure = layout->figure;
	double most = layout->width * NAMES_PART, room = 2 * most;

	/* Figures stand behind bars. */
	for (size_t i = 0; i < figure->n_panels; i++)
		if (figure->panels[i].marks == WTL_PLOT_BARS)
			layout->figures = FIGURES;
	if (layout->figures > 0)
		room = fmin(room, layout->width - 2 * MARGIN - FIGURES - BARS_LEAST);
	layout->names = room / 2;
	for (size_t i = 0; i < figure->n_panels; i++) {
		const struct wtl_plot_panel *panel = &figure->panels[i];
		double left =
			panel->marks == WTL_PLOT_BARS
				? wtl_plot_bars_names(layout->pen, panel, layout->names)
				: y_labels_width(layout, panel, height_of(figure, i) * stretch);

		layout->left = fmax(layout->left, left);
	}
	/* Keys get the room that names leave. */
	if (layout->figures > 0)
		most = fmin(most, fmax(room / 2, room - layout->left));
	for (size_t i = 0; i < figure->n_panels; i++)
		layout->key = fmax(layout->key,
				   wtl_plot_key_width(layout->pen, &figure->panels[i], most));
}

static void find_shared_x(struct layout *layout)
{
	const struct wtl_plot_figure *figure = layout->figure;

	layout->from = INT64_MAX;
	layout->to = INT64_MIN;
	for (size_t i = 0; i < figure->n_panels; i++) {
		int64_t from, to;

		if (!wtl_plot_range_x(&figure->panels[i], &from, &to))
			continue;
		layout->from = from < layout->from ? from : layout->from;
		layout->to = to > layout->to ? to : layout->to;
	}
}

/* ---- A panel ---- */

static void find_axes(struct layout *layout, struct wtl_plot_frame *frame)
{
	const struct wtl_plot_panel *panel = frame->panel;
	double width = frame->box.right - frame->box.left, low, high;
	unsigned most = ticks_for(width, TICK_ROOM);

	wtl_plot_range_x(panel, &frame->from, &frame->to);
	if (layout->figure->shares_x) {
		frame->from = layout->from;
		frame->to = layout->to;
	}
	if (!wtl_plot_range_y(panel, frame->from, frame->to, &low, &high))
		low = high = 0;
	if (panel->marks == WTL_PLOT_BARS) {
		wtl_plot_axis_values(panel, low, high, most, &frame->x);
		return;
	}
	wtl_plot_axis_values(panel, low, high,
			     ticks_for(frame->box.bottom - frame->box.top, TICK_ROOM_Y), &frame->y);
	/* An axis of one moment, or of none, is a second wide. */
	if (frame->from > frame->to)
		frame->from = frame->to = 0;
	if (frame->from == frame->to && panel->x != WTL_PLOT_X_NUMBER) {
		frame->from -= frame->from > INT64_MIN + 500000000 ? 500000000 : 0;
		frame->to += frame->to < INT64_MAX - 500000000 ? 500000000 : 0;
	}
	if (panel->x == WTL_PLOT_X_UTC)
		wtl_plot_axis_utc(frame->from, frame->to, most, &frame->x);
	else
		wtl_plot_axis_numbers(panel->x_label, frame->from, frame->to, most, &frame->x);
}

static double draw_panel(struct layout *layout, size_t i, double top, double stretch)
{
	const struct wtl_plot_figure *figure = layout->figure;
	const struct wtl_plot_panel *panel = &figure->panels[i];
	struct wtl_plot_frame frame = layout->frame;

	top += (i > 0 ? PANEL_GAP : 4) + (panel->title ? PANEL_TITLE : 0);
	frame.pen = layout->pen;
	frame.panel = panel;
	frame.has_x_labels = has_x_axis(figure, i);
	frame.key = layout->key;
	frame.figures = layout->figures;
	frame.names = layout->names;
	frame.box = (struct wtl_plot_box){MARGIN + layout->left, top,
					  layout->width - MARGIN - layout->key - layout->figures,
					  top + height_of(figure, i) * stretch};
	/* One for each pixel: fewer than take_memory() has made room for. */
	frame.n_columns = (size_t)fmax(1, frame.box.right - frame.box.left);
	wtl_plot_looks(panel, frame.looks);
	find_axes(layout, &frame);
	wtl_plot_panel_draw(&frame);
	return frame.box.bottom + (frame.has_x_labels ? AXIS_HEIGHT : 0);
}

/* ---- All of it ---- */

static double draw_head(const struct layout *layout)
{
	static const struct wtl_plot_lettering title = {
		.size = WTL_SIZE_TITLE, .rgb = WTL_PLOT_INK, .bold = true, .keeps_end = true};
	static const struct wtl_plot_lettering summary = {
		.size = WTL_SIZE_PANEL, .rgb = WTL_PLOT_INK, .bold = true};
	static const struct wtl_plot_lettering line = {
		.size = WTL_SIZE_TEXT, .rgb = WTL_PLOT_FAINT, .keeps_end = true};
	double room = layout->width - 2 * MARGIN, y = MARGIN + 14;

	wtl_plot_text(layout->pen, MARGIN, y, room, &title, layout->figure->title);
	if (layout->figure->summary) {
		y += SUMMARY_HEIGHT;
		wtl_plot_text(layout->pen, MARGIN, y, room, &summary, layout->figure->summary);
	}
	y += 4;
	for (size_t i = 0; i < layout->figure->n_lines; i++) {
		y += LINE_HEIGHT;
		wtl_plot_text(layout->pen, MARGIN, y, room, &line, layout->figure->lines[i]);
	}
	return y + 10;
}

static void draw_notes(const struct layout *layout, double y)
{
	static const struct wtl_plot_lettering letters = {
		.size = WTL_SIZE_FAINT, .rgb = WTL_PLOT_FAINT, .keeps_end = true};

	y += 4;
	for (size_t i = 0; i < layout->figure->n_notes; i++) {
		y += NOTE_HEIGHT;
		wtl_plot_text(layout->pen, MARGIN, y, layout->width - 2 * MARGIN, &letters,
			      layout->figure->notes[i]);
	}
}

static int take_memory(struct wtl_plot_frame *frame, const struct wtl_plot_figure *figure,
		       double width)
{
	size_t most = wtl_plot_reduced_max((size_t)width), n_series = 1;

	for (size_t i = 0; i < figure->n_panels; i++)
		if (figure->panels[i].n_series > n_series)
			n_series = figure->panels[i].n_series;
	frame->looks = calloc(n_series, sizeof(*frame->looks));
	frame->scratch = calloc(most, sizeof(*frame->scratch));
	frame->xy = calloc(2 * most, sizeof(*frame->xy));
	frame->columns = calloc(most, sizeof(*frame->columns));
	return frame->looks && frame->scratch && frame->xy && frame->columns ? 0 : -ENOMEM;
}

int wtl_plot_figure_draw(const struct wtl_plot_figure *figure, struct wtl_plot_pen *pen,
			 double width, double height)
{
	struct layout layout = {.figure = figure, .pen = pen, .width = width};
	double stretch = (height - around(figure)) / panels_height(figure), y;
	/* A little larger: the last pixel may be a partial one. */
	const struct wtl_plot_box paper = {0, 0, width + 2, height + 2};
	int rc = take_memory(&layout.frame, figure, width);

	if (rc == 0) {
		/* In too little height, panels run over the edge rather than upside down. */
		stretch = fmax(stretch, stretch_least(figure));
		wtl_plot_box(pen, &paper,
			     &(struct wtl_plot_fill){.rgb = WTL_PLOT_PAPER, .alpha = 1});
		y = draw_head(&layout);
		find_sides(&layout, stretch);
		find_shared_x(&layout);
		for (size_t i = 0; i < figure->n_panels; i++)
			y = draw_panel(&layout, i, y, stretch);
		draw_notes(&layout, y);
	}
	free(layout.frame.looks);
	free(layout.frame.scratch);
	free(layout.frame.xy);
	free(layout.frame.columns);
	return rc;
}
