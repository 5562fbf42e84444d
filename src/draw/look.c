/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "draw/parts.h"

/*
 * Colours of M. Okabe and K. Ito, "Color Universal Design" (2008), which people with any kind
 * of colour vision tell apart, in an order in which neighbours differ in hue and lightness.
 * Black is kept for totals; yellow, which is too light for a line on white, is replaced by
 * wine (of P. Tol's "muted" scheme). Without colours, shapes of points and hatches tell series
 * apart: each hue has its own hatch, and takes that of another hue when it is used again.
 */
static const struct {
	uint32_t rgb, light;
	enum wtl_plot_hatch hatch;
} hues[] = {
	{0x0072b2, 0x8fc3e0, WTL_HATCH_NONE},  /* blue */
	{0xe69f00, 0xf8dfa5, WTL_HATCH_UP},    /* orange */
	{0x009e73, 0x8fd6c0, WTL_HATCH_DOWN},  /* bluish green */
	{0xcc79a7, 0xf0d3e2, WTL_HATCH_PLUMB}, /* reddish purple */
	{0xd55e00, 0xe8945c, WTL_HATCH_GRID},  /* vermilion */
	{0x56b4e9, 0xcde8f8, WTL_HATCH_CROSS}, /* sky blue */
	{0x882255, 0xb98aa5, WTL_HATCH_LEVEL}, /* wine */
};

enum {
	HUES = sizeof(hues) / sizeof(hues[0]),
	CORNERS_MAX = 16,
	HOLLOW_FROM = 5,
};

static bool has_height(const struct wtl_plot_series *series, size_t i)
{
	return i < series->n && series->points[i].y > 0;
}

/* For each hue, how often the area right below one of this series has it. */
static void count_below(const struct wtl_plot_panel *panel, size_t series,
			const struct wtl_plot_look looks[], size_t ret_below[HUES])
{
	memset(ret_below, 0, HUES * sizeof(*ret_below));
	if (panel->marks != WTL_PLOT_STACK && panel->marks != WTL_PLOT_BARS)
		return;
	for (size_t i = 0; i < panel->series[series].n; i++) {
		size_t below = series;

		if (!has_height(&panel->series[series], i))
			continue;
		while (below > 0 && !has_height(&panel->series[below - 1], i))
			below--;
		if (below > 0 && looks[below - 1].hue < HUES)
			ret_below[looks[below - 1].hue]++;
	}
}

static struct wtl_plot_look colourful(const struct wtl_plot_panel *panel, size_t series,
				      const struct wtl_plot_look looks[])
{
	size_t below[HUES], uses = 0;
	unsigned hue = series % HUES;

	count_below(panel, series, looks, below);
	for (unsigned i = 0; i < HUES; i++)
		if (below[(series + i) % HUES] < below[hue])
			hue = (unsigned)((series + i) % HUES);
	for (size_t s = 0; s < series; s++)
		uses += looks[s].hue == hue;
	return (struct wtl_plot_look){.rgb = hues[hue].rgb,
				      .light = hues[hue].light,
				      .hatch = hues[(hue + uses) % HUES].hatch,
				      .mark = (unsigned)(series % (2 * HOLLOW_FROM)),
				      .hue = hue,
				      .width = 1.4};
}

void wtl_plot_looks(const struct wtl_plot_panel *panel, struct wtl_plot_look ret_looks[])
{
	uint32_t light = 0xdedede;

	for (size_t s = 0; s < panel->n_series; s++) {
		if (panel->series[s].is_total) {
			ret_looks[s] = (struct wtl_plot_look){
				.rgb = WTL_PLOT_INK, .light = 0xa8a8a8, .hue = HUES, .width = 2.6};
		} else if (panel->series[s].is_rest) {
			ret_looks[s] = (struct wtl_plot_look){
				.rgb = 0x8a8a8a, .light = light, .hue = HUES, .width = 1.4};
			/* The second of them ("idle" and "others") is lighter. */
			light = 0xf4f4f4;
		} else {
			ret_looks[s] = colourful(panel, s, ret_looks);
		}
	}
}

/* Shapes as regular polygons: corners, and where the first of them is, in turns from the right. */
static const struct {
	unsigned corners;
	double turn, size;
} shapes[HOLLOW_FROM] = {
	{16, 0, 1},	  /* a disc */
	{4, 0.125, 1.25}, /* a square */
	{3, -0.25, 1.35}, /* a triangle on its side */
	{4, 0, 1.3},	  /* a diamond */
	{3, 0.25, 1.35},  /* a triangle on its tip */
};

void wtl_plot_mark(struct wtl_plot_pen *pen, double x, double y, double radius,
		   const struct wtl_plot_look *look)
{
	const unsigned shape = look->mark % HOLLOW_FROM, n = shapes[shape].corners;
	const bool is_hollow = look->mark >= HOLLOW_FROM;
	struct wtl_plot_xy at[CORNERS_MAX + 2];

	for (unsigned i = 0; i < n + 2; i++) {
		double angle = 2 * M_PI * ((double)i / n + shapes[shape].turn);

		at[i].x = x + radius * shapes[shape].size * cos(angle);
		at[i].y = y + radius * shapes[shape].size * sin(angle);
	}
	pen->ops->area(
		pen, at, n,
		&(struct wtl_plot_fill){.rgb = is_hollow ? WTL_PLOT_PAPER : look->rgb, .alpha = 1});
	/* A white rim sets it apart from its line. */
	pen->ops->line(pen, at, n + 2,
		       &(struct wtl_plot_stroke){.rgb = is_hollow ? look->rgb : WTL_PLOT_PAPER,
						 .alpha = 1,
						 .width = is_hollow ? 1.2 : 0.9});
}

/* ---- Small strokes that all parts use ---- */

void wtl_plot_segment(struct wtl_plot_pen *pen, double x0, double y0, double x1, double y1,
		      const struct wtl_plot_stroke *stroke)
{
	const struct wtl_plot_xy at[] = {{x0, y0}, {x1, y1}};

	pen->ops->line(pen, at, 2, stroke);
}

void wtl_plot_box(struct wtl_plot_pen *pen, const struct wtl_plot_box *box,
		  const struct wtl_plot_fill *fill)
{
	const struct wtl_plot_xy at[] = {{box->left, box->top},
					 {box->right, box->top},
					 {box->right, box->bottom},
					 {box->left, box->bottom}};

	pen->ops->area(pen, at, 4, fill);
}
