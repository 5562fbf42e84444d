/* SPDX-License-Identifier: MIT */
#ifndef WTL_DRAW_PARTS_H
#define WTL_DRAW_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "draw/plot.h"

/* What the files that draw plots share. Lengths are pixels of 1/96 inch, y grows downwards. */

/* ---- The pen: all that is drawn goes through one of these (cairo.c; the tests have one of their
 * own that keeps a journal) ---- */

struct wtl_plot_xy {
	double x, y;
};

struct wtl_plot_box {
	double left, top, right, bottom;
};

struct wtl_plot_stroke {
	uint32_t rgb;
	double alpha, width;
	double dash; /* length of dashes; 0: solid */
};

enum wtl_plot_hatch {
	WTL_HATCH_NONE,
	WTL_HATCH_UP, /* like slashes */
	WTL_HATCH_DOWN,
	WTL_HATCH_CROSS,
	WTL_HATCH_LEVEL,
	WTL_HATCH_PLUMB,
	WTL_HATCH_GRID, /* level and plumb */
};

struct wtl_plot_fill {
	uint32_t rgb;
	double alpha;
	enum wtl_plot_hatch hatch;
	uint32_t hatch_rgb;
};

enum wtl_plot_align { WTL_ALIGN_LEFT, WTL_ALIGN_MIDDLE, WTL_ALIGN_RIGHT };

struct wtl_plot_lettering {
	double size;
	uint32_t rgb;
	bool bold;
	bool upwards;	/* read from below */
	bool keeps_end; /* cut in the middle: for names that differ at their ends */
	enum wtl_plot_align align;
};

struct wtl_plot_pen;

struct wtl_plot_pen_ops {
	void (*line)(struct wtl_plot_pen *pen, const struct wtl_plot_xy at[], size_t n,
		     const struct wtl_plot_stroke *stroke);
	/* What the points enclose. */
	void (*area)(struct wtl_plot_pen *pen, const struct wtl_plot_xy at[], size_t n,
		     const struct wtl_plot_fill *fill);
	/* Cleaned text with its base line at y. */
	void (*text)(struct wtl_plot_pen *pen, double x, double y,
		     const struct wtl_plot_lettering *lettering, const char *text);
	double (*width)(struct wtl_plot_pen *pen, const struct wtl_plot_lettering *lettering,
			const char *text);
	/* Nothing is drawn outside of it until the next call; NULL: everywhere. */
	void (*clip)(struct wtl_plot_pen *pen, const struct wtl_plot_box *box);
};

struct wtl_plot_pen {
	const struct wtl_plot_pen_ops *ops;
};

/* Few sizes: an SVG keeps the outlines of every letter for each of them. */
enum { WTL_SIZE_TITLE = 16, WTL_SIZE_PANEL = 12, WTL_SIZE_TEXT = 11, WTL_SIZE_FAINT = 10 };

/* Texts from outside: cleaned, and cut with "…" to the width. Returns its width. */
enum { WTL_PLOT_TEXT_MAX = 512 };
double wtl_plot_fit(struct wtl_plot_pen *pen, const struct wtl_plot_lettering *lettering,
		    const char *text, double width, char ret_text[WTL_PLOT_TEXT_MAX]);
/* Draws what fits. Returns its width. */
double wtl_plot_text(struct wtl_plot_pen *pen, double x, double y, double width,
		     const struct wtl_plot_lettering *lettering, const char *text);
/* Cleaned text for XML. */
void wtl_plot_escape(struct wtl_buf *buf, const char *text);
void wtl_plot_segment(struct wtl_plot_pen *pen, double x0, double y0, double x1, double y1,
		      const struct wtl_plot_stroke *stroke);
void wtl_plot_box(struct wtl_plot_pen *pen, const struct wtl_plot_box *box,
		  const struct wtl_plot_fill *fill);

/* ---- Axes (axis.c): arithmetic only ---- */

enum { WTL_PLOT_TICKS_MAX = 32 };

struct wtl_plot_tick {
	double at;
	char label[24];
};

struct wtl_plot_axis {
	double low, high; /* at its ends; times in ns since `from` */
	bool is_cut;	  /* it does not begin at 0, and is marked so */
	struct wtl_plot_tick ticks[WTL_PLOT_TICKS_MAX];
	size_t n;
	char title[128];
	double unit;	   /* what its numbers are multiples of: 1000 for kW */
	unsigned decimals; /* of its numbers */
	char symbol[24];   /* "kW" */
};

/* The largest of 1, 2 and 5 times a power of ten with at most `most` steps in span, which is > 0. */
double wtl_plot_step(double span, unsigned most);

/* An axis that shows low … high of the panel's values, with a little room. Whatever is not finite, or
 * beyond ±1e30, is cut. */
void wtl_plot_axis_values(const struct wtl_plot_panel *panel, double low, double high,
			  unsigned most, struct wtl_plot_axis *ret_axis);
/* Numbers of runs. */
void wtl_plot_axis_numbers(const char *label, int64_t from, int64_t to, unsigned most,
			   struct wtl_plot_axis *ret_axis);
/* Clock times. `at` and the ends are ns since `from`. */
void wtl_plot_axis_utc(int64_t from, int64_t to, unsigned most, struct wtl_plot_axis *ret_axis);

/* A value in the axis's unit, with two digits of its ±: "1.25 ± 0.14 kW".
 * Without a ± (NaN or 0), it has one digit more than the ticks: "1.25 kW". */
enum { WTL_PLOT_MEASURE_MAX = 112 };
void wtl_plot_axis_measure(const struct wtl_plot_axis *axis, double value, double half,
			   char ret_text[WTL_PLOT_MEASURE_MAX]);

/* b - a as a double, without overflow. */
double wtl_plot_distance(int64_t a, int64_t b);

/* ---- Looks (look.c): Okabe and Ito's colours, and what tells things apart without any ---- */

#define WTL_PLOT_INK   0x1a1a1au
#define WTL_PLOT_FAINT 0x5c5c5cu
#define WTL_PLOT_GRID  0xe3e3e3u
#define WTL_PLOT_PAPER 0xffffffu

struct wtl_plot_look {
	uint32_t rgb, light; /* for lines, for areas below hatches */
	enum wtl_plot_hatch hatch;
	unsigned mark; /* shape of its points: see wtl_plot_mark() */
	unsigned hue;  /* its number: those of one hue differ in hatch or mark */
	double width;  /* of its line */
};

/* Of all series of a panel. Areas that touch anywhere do not share a hue, as far as there are hues. */
void wtl_plot_looks(const struct wtl_plot_panel *panel, struct wtl_plot_look ret_looks[]);
void wtl_plot_mark(struct wtl_plot_pen *pen, double x, double y, double radius,
		   const struct wtl_plot_look *look);

/* ---- A panel ---- */

/* A column of a stack (stack.c): points first … end - 1. Without any, the stack breaks here. */
struct wtl_plot_column {
	size_t first, end;
	double from_x, x; /* its values hold from from_x to x (has_steps), or at x */
	double low, high; /* of the area being drawn */
};

struct wtl_plot_frame {
	struct wtl_plot_pen *pen;
	const struct wtl_plot_panel *panel;
	struct wtl_plot_look *looks; /* of its series */
	struct wtl_plot_box box;     /* of the curves */
	double key;		     /* width of the key at its right; 0: none */
	double figures;		     /* of bars: room for figures between box and key */
	double names;		     /* of bars: width of the names at its left */
	bool has_x_labels;
	int64_t from, to;
	struct wtl_plot_axis x, y; /* of bars: x are the values, y is not used */
	size_t n_columns;
	/* Memory to work in: the points of one reduced series, twice as many
	 * places on paper, and two of a stack's columns for each column. */
	struct wtl_plot_point *scratch;
	struct wtl_plot_xy *xy;
	struct wtl_plot_column *columns;
};

/* frame.c: where a value lies on the paper; at: as the axis counts. */
double wtl_plot_frame_at(const struct wtl_plot_frame *frame, double at);
double wtl_plot_frame_x(const struct wtl_plot_frame *frame, int64_t x);
double wtl_plot_frame_y(const struct wtl_plot_frame *frame, double y);

/* Not for a ± of more than half of the value: that is at most written. */
bool wtl_plot_range_is_drawn(const struct wtl_plot_point *point);
bool wtl_plot_level_has_band(const struct wtl_plot_level *level);

/* range.c: what a panel's points span. false: there are none. */
bool wtl_plot_range_x(const struct wtl_plot_panel *panel, int64_t *ret_from, int64_t *ret_to);
bool wtl_plot_range_y(const struct wtl_plot_panel *panel, int64_t from, int64_t to, double *ret_low,
		      double *ret_high);
/* The points of a series as they are drawn, broken at gaps: into frame->scratch. */
size_t wtl_plot_reduce(const struct wtl_plot_frame *frame, const struct wtl_plot_series *series);
/* For points in ascending order: the last gap between the one before and this one,
 * or NULL. A point inside a gap, where nothing was measured, counts as not known. */
struct wtl_plot_walk {
	const struct wtl_plot_panel *panel;
	size_t next;
	bool has_begun;
};
const struct wtl_plot_gap *wtl_plot_gap_met(struct wtl_plot_walk *walk, int64_t x,
					    bool *ret_inside);

/* panel.c, marks.c, stack.c, bars.c, key.c */
void wtl_plot_panel_draw(const struct wtl_plot_frame *frame);
/* Does the series have marks, whose shapes tell it apart without its colour? */
bool wtl_plot_has_marks(const struct wtl_plot_panel *panel, size_t series);
void wtl_plot_marks_draw(const struct wtl_plot_frame *frame);
void wtl_plot_stack_draw(const struct wtl_plot_frame *frame);
double wtl_plot_bars_names(struct wtl_plot_pen *pen, const struct wtl_plot_panel *panel,
			   double most);
void wtl_plot_bars_draw(const struct wtl_plot_frame *frame);
/* As wide as the names need, at most `most`. */
double wtl_plot_key_width(struct wtl_plot_pen *pen, const struct wtl_plot_panel *panel,
			  double most);
/* The least height with all names, and with their remarks if they are few. */
double wtl_plot_key_height(const struct wtl_plot_panel *panel);
void wtl_plot_key_draw(const struct wtl_plot_frame *frame);

/* check.c: what cannot be drawn. 0, -EINVAL or -ENODATA. */
struct wtl_err;
int wtl_plot_check(const struct wtl_plot_figure *figure, const struct wtl_plot_paper *paper,
		   struct wtl_err *err);

/* draw.c: the height that a figure takes, and all of it. 0 or -ENOMEM. */
double wtl_plot_figure_height(const struct wtl_plot_figure *figure);
/* The least height on which all of the figure is on the paper. */
double wtl_plot_figure_height_least(const struct wtl_plot_figure *figure);
int wtl_plot_figure_draw(const struct wtl_plot_figure *figure, struct wtl_plot_pen *pen,
			 double width, double height);

#endif
