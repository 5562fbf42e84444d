/* SPDX-License-Identifier: MIT */
#ifndef WTL_DOCUMENT_ROWS_H
#define WTL_DOCUMENT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wtl_buf;

/*
 * Tables of any length as CSV, JSON or a JSON object a line: one row after the other is appended to a
 * buffer, which the caller empties in between. What is not known is an empty cell, or no key. docs/export.md.
 */
enum wtl_rows_format { WTL_ROWS_CSV, WTL_ROWS_JSON, WTL_ROWS_NDJSON, WTL_ROWS_FORMATS };

extern const char *const wtl_rows_formats[]; /* their names, ended by NULL */

struct wtl_rows {
	enum wtl_rows_format format;
	struct wtl_buf *buf;
	const char *const *columns;
	size_t n_columns;
	size_t at;	/* the column of the next cell */
	size_t n_cells; /* of this row that are there */
	uint64_t n_rows;
};

/* The table's begin: a heading, say. `what` is what it is of. */
void wtl_rows_begin(struct wtl_rows *rows, enum wtl_rows_format format, const char *what,
		    const char *const columns[], size_t n_columns, struct wtl_buf *buf);
void wtl_rows_end(struct wtl_rows *rows);

/* A row: all of its cells in the order of the columns. */
void wtl_row_begin(struct wtl_rows *rows);
void wtl_row_nothing(struct wtl_rows *rows);
void wtl_row_text(struct wtl_rows *rows, const char *text); /* raw; NULL and "": not known */
void wtl_row_fixed(struct wtl_rows *rows, uint64_t value, unsigned decimals);
void wtl_row_integer(struct wtl_rows *rows, int64_t value);
void wtl_row_bool(struct wtl_rows *rows, bool value);
void wtl_row_utc(struct wtl_rows *rows, int64_t t_utc_ns);
void wtl_row_end(struct wtl_rows *rows);

#endif
