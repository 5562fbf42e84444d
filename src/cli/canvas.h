/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_CANVAS_H
#define WTL_CLI_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wtl_buf;

/*
 * A grid of character cells that a picture of the screen is made in. Nothing here knows of a
 * terminal. Text is taken as UTF-8 from anywhere: what is no character, or would steer a terminal,
 * becomes '?', and every cell holds what one cell can show.
 */

/* The meaning of a stretch of text; the terminal decides how that looks. */
enum wtl_style {
	WTL_STYLE_PLAIN,
	WTL_STYLE_STRONG,
	WTL_STYLE_FAINT,
	WTL_STYLE_TITLE,
	WTL_STYLE_HEADER, /* of a table */
	WTL_STYLE_SORTED, /* the table's column that it is sorted by */
	WTL_STYLE_SELECTED,
	WTL_STYLE_KEY, /* a key, and what it does */
	WTL_STYLE_LABEL,
	WTL_STYLE_CPU,
	WTL_STYLE_MEMORY,
	WTL_STYLE_GPU,
	WTL_STYLE_OTHER,
	/* The same four for a second quantity beside the first. */
	WTL_STYLE_CPU_2,
	WTL_STYLE_MEMORY_2,
	WTL_STYLE_GPU_2,
	WTL_STYLE_OTHER_2,
	WTL_STYLE_LIMIT,
	WTL_STYLE_IDLE,
	WTL_STYLE_WARN,
	WTL_STYLE_BAD,
	WTL_STYLES
};

/* Cells are small, since two pictures of them are kept in memory and compared
 * each time. Two are alike if their bytes are and neither has a mark. */
struct wtl_cell {
	uint32_t point : 21; /* what it shows; ' ' for nothing */
	uint32_t style : 8;
	uint32_t width : 2;    /* 1; 2: it covers the next cell, whose width is then 0 */
	uint32_t has_mark : 1; /* a combining one on it */
};

enum { WTL_CANVAS_MAX = 1000 }; /* rows, and columns */

struct wtl_canvas {
	int rows, columns;
	bool ascii; /* nothing beyond ASCII: known signs become a similar one, others '?' */
	struct wtl_cell *cells;
	size_t size;	 /* cells that there is memory for */
	uint32_t *marks; /* of cells that have one; NULL: there was none yet */
};

void wtl_canvas_init(struct wtl_canvas *canvas);
void wtl_canvas_done(struct wtl_canvas *canvas);
/* Empties it. Both are cut to 0 … WTL_CANVAS_MAX. Memory is only taken when it grows. 0 or -ENOMEM
 * (then it is as before). */
int wtl_canvas_resize(struct wtl_canvas *canvas, int rows, int columns);
void wtl_canvas_clear(struct wtl_canvas *canvas);
/* Makes n cells blank. */
void wtl_cells_clear(struct wtl_cell cells[], size_t n);

/* Anything outside is left out, also where row or column are negative. */
void wtl_canvas_put(struct wtl_canvas *canvas, int row, int column, uint32_t point,
		    enum wtl_style style);
void wtl_canvas_fill(struct wtl_canvas *canvas, int row, int column, int width, uint32_t point,
		     enum wtl_style style);
void wtl_canvas_restyle(struct wtl_canvas *canvas, int row, int column, int width,
			enum wtl_style style);

/* Text of at most `width` columns, its end cut and marked by "…". Returns the columns that it took. */
int wtl_canvas_text(struct wtl_canvas *canvas, int row, int column, int width, enum wtl_style style,
		    const char *text);
/* The same with its end at the end of the width. */
int wtl_canvas_right(struct wtl_canvas *canvas, int row, int column, int width,
		     enum wtl_style style, const char *text);
/* wtl_canvas_text() of at most 255 bytes. */
int wtl_canvas_printf(struct wtl_canvas *canvas, int row, int column, int width,
		      enum wtl_style style, const char *format, ...)
	__attribute__((format(printf, 6, 7)));

/* NULL outside. */
const struct wtl_cell *wtl_canvas_cell(const struct wtl_canvas *canvas, int row, int column);
/* The mark on one of its cells; 0: there is none. */
uint32_t wtl_canvas_mark(const struct wtl_canvas *canvas, const struct wtl_cell *cell);

/* All rows as lines of UTF-8, without the blanks at their ends. */
int wtl_canvas_dump(const struct wtl_canvas *canvas, struct wtl_buf *buf);
/* The same with a letter for each cell's style; '.' is a plain one. */
int wtl_canvas_dump_styles(const struct wtl_canvas *canvas, struct wtl_buf *buf);

/* The columns of cleaned text. */
int wtl_text_width(const char *text);
/* A code point as UTF-8: so many bytes. */
size_t wtl_point_bytes(uint32_t point, char bytes[4]);
/* Appends it. */
int wtl_point_add(struct wtl_buf *buf, uint32_t point);

#endif
