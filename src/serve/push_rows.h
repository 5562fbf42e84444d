/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_PUSH_ROWS_H
#define WTL_SERVE_PUSH_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/*
 * What is pushed: the series of a scrape, and a row of their values for each second. Names and
 * values are those of Prometheus' text (metrics.h), so pushed and scraped data are the same.
 */

/* A value is an integer divided by this: joules and watts come in eighths. */
enum { WTL_PUSH_EIGHTHS = 8, WTL_PUSH_MILLIONTHS = 1000000 };
#define WTL_PUSH_FINEST INT64_C(1000000000000000)

struct wtl_push_series {
	char *name; /* as in the text: wattle_host_power_watts{domain="package-0"} */
	int64_t denominator;
	uint64_t seen;	/* the last row that has it; 0: it has ended */
	uint64_t ended; /* the row that says that it ended; 0: it has not */
	uint64_t named; /* the row for which it took the place of another series; 0: it did not */
	char *labels;	/* encoded, once they were needed: push_wire.c */
	size_t labels_len;
};

/* Series come and go, with jobs and containers. The place of a series that ended in
 * a row below `read_from`, which is never read again, is free for another one. */
struct wtl_push_table {
	struct wtl_push_series *series;
	size_t n, room;
	struct wtl_hash by_name;
	uint64_t read_from; /* 0: no place is reused */
	uint64_t named;	    /* the last row for which a place was reused */
	uint64_t row;	    /* the row that is being read */
	size_t next;	    /* the next place to check for being free */
};

/* The value in the first row after a series' last one. */
#define WTL_PUSH_ENDED INT64_MIN

struct wtl_push_sample {
	uint32_t series;
	int64_t value;
};

/* Rows are numbered from 1 over all restarts. */
struct wtl_push_row {
	uint64_t number;
	int64_t t_utc_ms;
	struct wtl_push_sample *samples;
	size_t n, room;
	size_t n_left_out; /* samples of series for which there was no place */
};

enum { WTL_PUSH_SERIES_MAX = 65536 };

void wtl_push_table_done(struct wtl_push_table *table);
/* The index of the series with that name; a new one gets the denominator. -ENOMEM, -E2BIG. */
int64_t wtl_push_table_put(struct wtl_push_table *table, const char *name, size_t len,
			   int64_t denominator);
double wtl_push_value(const struct wtl_push_series *series, int64_t value);

void wtl_push_row_done(struct wtl_push_row *row);
int wtl_push_row_add(struct wtl_push_row *row, uint32_t series, int64_t value);
int wtl_push_row_copy(struct wtl_push_row *to, const struct wtl_push_row *from);
/* The row's number and time must be set, the number above all that were read
 * before. Lines that are no samples are skipped. Negative only without memory. */
int wtl_push_row_read(struct wtl_push_row *row, struct wtl_push_table *table, const char *text);

#endif
