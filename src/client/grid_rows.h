/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLIENT_GRID_ROWS_H
#define WTL_CLIENT_GRID_ROWS_H

#include <stddef.h>
#include <stdint.h>

struct wtl_buf;

/* Intensities as APIs answered them, by time; and the file that keeps them, one for each API and zone. */

enum wtl_grid_kind {
	WTL_GRID_MEASURED,
	WTL_GRID_ESTIMATED, /* or forecast: it may change later */
	WTL_GRID_NONE,	    /* the API has no figure */
};

struct wtl_grid_row {
	int64_t t_utc_ns; /* its start; it lasts one step of the API */
	int64_t asked_utc_ns;
	uint32_t mg_per_kwh;
	enum wtl_grid_kind kind;
};

struct wtl_grid_rows {
	struct wtl_grid_row *rows;
	size_t n, room;
};

void wtl_grid_rows_done(struct wtl_grid_rows *rows); /* a zeroed one is fine */

/* Inserts the row, or replaces that of the same time. 0 or -ENOMEM. */
int wtl_grid_rows_put(struct wtl_grid_rows *rows, const struct wtl_grid_row *row);
/* NULL: there is no row at that time. */
const struct wtl_grid_row *wtl_grid_rows_at(const struct wtl_grid_rows *rows, int64_t t_utc_ns);

/*
 * The file: a first line "# wattle-intensity/1 SOURCE", then time, grams per kWh (empty: none),
 * "measured" or "estimated", and when it was asked for, with commas between. Invalid lines are
 * dropped, and so asked for again. A file of another source is -WTL_EFORMAT. 0 or -ENOMEM.
 */
int wtl_grid_rows_parse(struct wtl_grid_rows *ret_rows, const char *source, const char *text,
			size_t len);
void wtl_grid_rows_print(const struct wtl_grid_rows *rows, const char *source, struct wtl_buf *buf);

#endif
