/* SPDX-License-Identifier: MIT */
#ifndef WTL_DRAW_PLOT_H
#define WTL_DRAW_PLOT_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wtl_buf;
struct wtl_err;

/*
 * Pictures for paper and screens: a figure is plain data, borrowed for the time of the call, and is drawn
 * as SVG, PNG or PDF into a buffer. Text may be raw: it is cleaned where it is drawn.
 */

/* A y that is not known. */
#define WTL_PLOT_UNKNOWN ((double)NAN)

struct wtl_plot_point {
	int64_t x; /* by the panel's x axis */
	double y;  /* in the unit of the panel; WTL_PLOT_UNKNOWN (not finite): a line breaks */
	double low, high; /* where the series has a range */
};

/* A horizontal line across a series' panel. */
struct wtl_plot_level {
	bool is_known;
	const char *name; /* "idle", "mean" */
	double y;
	double low, high; /* drawn as a band where low < high, unless the ± is large */
};

struct wtl_plot_series {
	const char *name;
	const char *remark; /* faint, below the name and after the level's figure; NULL: none */
	const struct wtl_plot_point *points;
	size_t n; /* x never falls, also where y is not known */
	bool has_range;
	bool is_rest;  /* what is left over ("others", "idle"): drawn in grey */
	bool is_total; /* the sum of the others: drawn in black, with the widest line */
	struct wtl_plot_level level;
};

/* A stretch that was not measured. Lines break there, and it is hatched. */
struct wtl_plot_gap {
	int64_t from, to;
	const char *name; /* "suspended"; NULL: "no data" */
};

enum wtl_plot_marks {
	WTL_PLOT_LINE,	/* from point to point, the range as a band */
	WTL_PLOT_STACK, /* stacked areas: every series has the same n and the same x */
	WTL_PLOT_BARS,	/* a row a category, x being its number from 0; series are put end to end */
	WTL_PLOT_POINTS, /* not joined, and without their range */
};

enum wtl_plot_x {
	WTL_PLOT_X_UTC,	     /* ns since 1970 */
	WTL_PLOT_X_NUMBER,   /* of a run */
	WTL_PLOT_X_CATEGORY, /* of WTL_PLOT_BARS */
};

enum wtl_plot_prefix {
	WTL_PLOT_PLAIN,	 /* the unit as it is: °C, % */
	WTL_PLOT_SI,	 /* mW, W, kW */
	WTL_PLOT_BINARY, /* B, KiB, MiB */
};

struct wtl_plot_panel {
	const char *title; /* NULL: none */
	enum wtl_plot_marks marks;
	enum wtl_plot_x x;
	const char *x_label;	  /* of X_NUMBER: "Run" */
	int64_t from, to;	  /* of the x axis; from >= to: as far as the points and gaps go */
	const char *label, *unit; /* of the values: "Power", "W" */
	enum wtl_plot_prefix prefix;
	bool has_steps;	 /* of a stack: a value is the mean since the point before it */
	bool may_be_cut; /* where all values are far from 0, the axis begins near them and is
			    * marked as cut; never for areas and bars */
	const struct wtl_plot_series *series;
	size_t n_series;
	const struct wtl_plot_gap *gaps; /* ascending, not overlapping */
	size_t n_gaps;
	/* Of WTL_PLOT_BARS: */
	const char *const *categories;
	size_t n_categories;
	const struct wtl_plot_point
		*totals; /* NULL, or the whole of each category with its range */
};

struct wtl_plot_figure {
	const char *title;	  /* of what: cut in the middle where there is no room for it */
	const char *summary;	  /* below it: "231 ± 12 J · mean 19.2 W"; NULL: none */
	const char *const *lines; /* below the title: source, method, machine, time */
	size_t n_lines;
	const struct wtl_plot_panel *panels; /* one below the other */
	size_t n_panels;
	bool shares_x;		  /* one x axis for all, below the last */
	const char *const *notes; /* below all: what the reader must know */
	size_t n_notes;
	int64_t t_utc_ns; /* when it was: kept in a PDF; 0: not known */
};

enum wtl_plot_format { WTL_PLOT_SVG, WTL_PLOT_PNG, WTL_PLOT_PDF };

enum {
	WTL_PLOT_WIDTH = 960,
	WTL_PLOT_WIDTH_MIN = 400, /* with less there is no room between names and keys */
	WTL_PLOT_SIZE_MIN = 240,
	WTL_PLOT_SIZE_MAX = 16000,
};

struct wtl_plot_paper {
	enum wtl_plot_format format;
	double width, height; /* pixels of 1/96 inch; 0: WTL_PLOT_WIDTH, as high as it takes */
	double scale;	      /* a PNG's pixels for each of these; 0: 1 */
};

/* Any point at all to be drawn? */
bool wtl_plot_is_empty(const struct wtl_plot_figure *figure);

/*
 * Appends the file to the buffer. 0, or negative with the reason in err: -ENODATA for a plot of nothing,
 * -WTL_ELIBRARY where this machine has no cairo, -EINVAL for a paper out of bounds, the buffer's error.
 */
int wtl_plot_draw(const struct wtl_plot_figure *figure, const struct wtl_plot_paper *paper,
		  struct wtl_buf *buf, struct wtl_err *err);

/* "svg", …; ended by NULL. */
extern const char *const wtl_plot_formats[];
/* One of these in either case. -EINVAL. */
int wtl_plot_format_find(const char *name, enum wtl_plot_format *ret_format);
/* Whether a file is a picture, by what follows the last dot of its path (or NULL), and of what format. */
bool wtl_plot_is_picture(const char *path, enum wtl_plot_format *ret_format);

/* ---- What is asked for ---- */

enum wtl_plot_what {
	WTL_PLOT_POWER,	    /* over time, a line a domain */
	WTL_PLOT_PROCESSES, /* who used it */
	WTL_PLOT_WINDOWS,   /* the energy of each window, or of each run */
	WTL_PLOT_MEMORY,    /* over time */
	WTL_PLOT_RUNS,	    /* repeated runs as a series */
	WTL_PLOT_EMISSIONS, /* duration, energy, emissions and their rate of runs, over time */
	WTL_PLOT_WHATS
};

enum wtl_plot_by { WTL_PLOT_BY_PROCESS, WTL_PLOT_BY_USER, WTL_PLOT_BY_CONTAINER, WTL_PLOT_BY_UNIT };

struct wtl_plot_wanted {
	enum wtl_plot_what what;
	bool has_what; /* false: the most useful one for the file */
	enum wtl_plot_by by;
	const char *const *domains; /* only these; none: those that count */
	size_t n_domains;
	unsigned top; /* consumers that are shown on their own */
	bool has_from, has_to;
	int64_t from_utc_ns, to_utc_ns;
};

/* "2026-11-21 08:00:00 to 08:10:37 UTC", for the lines below a title. */
void wtl_plot_put_times(struct wtl_buf *buf, int64_t from_utc_ns, int64_t to_utc_ns);
/* Adds "rapl-perf (counter)", unless the list has it already. */
void wtl_plot_put_source(struct wtl_buf *buf, const char *source, const char *method);

/* "power", "processes", …; ended by NULL. */
extern const char *const wtl_plot_whats[];

/* ---- Fewer points (reduce.c) ---- */

/*
 * Reduces any number of points to those that a picture of so many columns can show: of each
 * column the first, lowest, highest and last, and where the line breaks. Points come in
 * ascending x; those outside from … to are left out. The range of each point becomes that of all
 * points in its column. Drawing reduces points anyway: this is for callers that cannot keep all.
 */
struct wtl_plot_reducer {
	int64_t from, to;
	size_t n_columns;
	struct wtl_plot_point *points; /* room for wtl_plot_reduced_max(), the caller's */
	size_t n;		       /* there now */
	/* The column being filled. */
	size_t column, n_known;
	bool has_break, ends_broken;
	struct wtl_plot_point first, lowest, highest, last, broken, broken_last;
	double low, high;
};

size_t wtl_plot_reduced_max(size_t n_columns);
void wtl_plot_reducer_init(struct wtl_plot_reducer *reducer, int64_t from, int64_t to,
			   size_t n_columns, struct wtl_plot_point *points);
void wtl_plot_reducer_add(struct wtl_plot_reducer *reducer, const struct wtl_plot_point *point);
/* After the last point. Returns n. */
size_t wtl_plot_reducer_end(struct wtl_plot_reducer *reducer);

/* ---- Memory for figures (sheet.c) ---- */

/* Holds what a figure points to, all of which is freed together. The first failure sticks in `error`. */
struct wtl_plot_sheet {
	struct wtl_plot_figure figure;
	struct wtl_plot_block *blocks;
	int error;
};

void wtl_plot_sheet_init(struct wtl_plot_sheet *sheet);
void wtl_plot_sheet_done(struct wtl_plot_sheet *sheet);
/* Zeroed memory for n elements; NULL: no memory. */
void *wtl_plot_sheet_array(struct wtl_plot_sheet *sheet, size_t n, size_t size);
/* "" where there is no memory. */
const char *wtl_plot_sheet_printf(struct wtl_plot_sheet *sheet, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* A figure's summary: "NAME: 231 ± 12 J · mean power 19.3 ± 1.0 W", as far as they are known; NULL: neither is. */
const char *wtl_plot_sheet_summary(struct wtl_plot_sheet *sheet, const char *name,
				   const struct wtl_plot_point *energy_j,
				   const struct wtl_plot_point *mean_w);
/* "machine 13 %" */
const char *wtl_plot_sheet_percent(struct wtl_plot_sheet *sheet, const char *name, double ratio);
/* Adds a note below the figure: a whole sentence. */
void wtl_plot_sheet_note(struct wtl_plot_sheet *sheet, const char *note);
/* The figure's panels, n of them. NULL: no memory. */
struct wtl_plot_panel *wtl_plot_sheet_panels(struct wtl_plot_sheet *sheet, size_t n);

#endif
