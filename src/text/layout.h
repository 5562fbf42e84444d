/* SPDX-License-Identifier: MIT */
#ifndef WTL_TEXT_LAYOUT_H
#define WTL_TEXT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "document/report.h"

/* The layout of text for people on a terminal: columns, wrapping, colours. */

enum { WTL_LAYOUT_WIDTH = 80, WTL_GRID_COLUMNS = 11 };

enum wtl_tone {
	WTL_TONE_PLAIN,
	WTL_TONE_STRONG, /* what the reader came for */
	WTL_TONE_FAINT,	 /* what is beside the point */
	WTL_TONE_WARN,	 /* what needs a second look */
};

/* The columns that UTF-8 takes on a terminal; East Asian characters and emoji take two. Never asks
 * the locale. */
size_t wtl_layout_columns(const char *text, size_t len);

/* Appends text from outside, escaped for a terminal. With style->ascii nothing beyond ASCII is left:
 * common signs are spelled, other bytes become \xNN. NULL is "". */
int wtl_layout_text(struct wtl_buf *buf, const char *text, const struct wtl_output_style *style);

/* "±", or "+/-". */
const char *wtl_layout_plus_minus(const struct wtl_output_style *style);

/* Cuts what was appended since `start` to a number of columns, and marks the cut by "…" ("..."). What goes is its
 * end, its start, or its middle, for names that differ at their ends. columns: 3 or more; 8 for the middle. */
int wtl_layout_cut(struct wtl_buf *buf, size_t start, size_t columns,
		   const struct wtl_output_style *style);
int wtl_layout_cut_begin(struct wtl_buf *buf, size_t start, size_t columns,
			 const struct wtl_output_style *style);
int wtl_layout_cut_middle(struct wtl_buf *buf, size_t start, size_t columns,
			  const struct wtl_output_style *style);

/* Starts and ends a stretch in a tone; nothing without style->color. */
int wtl_layout_tone(struct wtl_buf *buf, enum wtl_tone tone, const struct wtl_output_style *style);
int wtl_layout_tone_end(struct wtl_buf *buf, enum wtl_tone tone,
			const struct wtl_output_style *style);

/* A blank at which wtl_layout_wrap() does not break. Escaped text never has it. */
#define WTL_LAYOUT_NO_BREAK '\x1f'

/* Makes every blank since `start` such a blank. */
void wtl_layout_keep(struct wtl_buf *buf, size_t start);

/* The same within each command ("sudo …") of a remedy, so that its lines can
 * be pasted: a shell takes the next line as a continuation only after "&&". */
void wtl_layout_keep_commands(struct wtl_buf *buf, size_t start);

/* Makes a paragraph of the escaped text since `start`, which stands at `column`: wrapped at the width, further
 * lines are indented. Ends the line. */
int wtl_layout_wrap(struct wtl_buf *buf, size_t start, size_t column, size_t indent);

/* Takes back what was appended after the first len bytes. */
void wtl_layout_truncate(struct wtl_buf *buf, size_t len);

/*
 * A table whose columns are as wide as their widest cell. Build a row by wtl_grid_begin(), then for
 * each cell append its (escaped) text to grid->rows and call wtl_grid_next(). A row may end early. Only
 * wtl_grid_render() frees it.
 */
struct wtl_grid {
	struct wtl_buf rows;
	const struct wtl_output_style *style;
	const char
		*align; /* one a column: 'l' left, 'r' right, 'u' left and close to the one before,
			  'c' left, and cut where the table is wider than the page, 'b' the same
			  but cut at the start: one of the two at most */
	size_t width[WTL_GRID_COLUMNS];
	size_t at;    /* the column of the next cell */
	size_t start; /* where it starts in rows */
	bool runs_on;
};

void wtl_grid_init(struct wtl_grid *grid, const char *align, const struct wtl_output_style *style);
void wtl_grid_begin(struct wtl_grid *grid, enum wtl_tone tone);
void wtl_grid_next(struct wtl_grid *grid);
/* Append the text, and go on to the next cell. */
void wtl_grid_cell(struct wtl_grid *grid, const char *escaped);
void wtl_grid_text(struct wtl_grid *grid, const char *text); /* from outside: escaped here */
void wtl_grid_number(struct wtl_grid *grid, uint64_t number);
/* A row, or its first cells; ended by NULL. */
void wtl_grid_row(struct wtl_grid *grid, enum wtl_tone tone, const char *const cells[]);
/* The next cell is the row's last and runs on over all columns that follow, wrapped. */
void wtl_grid_run_on(struct wtl_grid *grid);
/* Appends the table, and frees it. Also passes on an error that happened while it was built. */
int wtl_grid_render(struct wtl_grid *grid, struct wtl_buf *buf);

#endif
