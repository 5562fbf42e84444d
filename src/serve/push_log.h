/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_PUSH_LOG_H
#define WTL_SERVE_PUSH_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "serve/push_rows.h"

struct wtl_err;
struct wtl_store_writer;

/*
 * Rows in the agent's recording (docs/recording.md), so that what could not be pushed is pushed later, also by the next
 * agent. Of each row only what became different is put; a whole one follows now and then.
 */

struct wtl_push_log {
	struct wtl_store_writer *writer;
	uint32_t series[6]; /* of the recording, as in push_log.c */
	int64_t *last;	    /* a value a series, as put last; WTL_PUSH_ENDED: it is not there */
	size_t n_last, n_told;
	uint64_t row, whole; /* that was put last, and the last whole one; 0: none */
};

/* Into that recording, from now on. done() in any case; the writer is borrowed. */
int wtl_push_log_begin(struct wtl_push_log *log, struct wtl_store_writer *writer);
void wtl_push_log_done(struct wtl_push_log *log);
/* With the next commit. */
int wtl_push_log_put(struct wtl_push_log *log, const struct wtl_push_table *table,
		     const struct wtl_push_row *row);

/* ---- Reading ---- */

struct wtl_push_reader;

/* A recording, also while it is written: what there is of it now. Of rows below `from` none is given. */
int wtl_push_reader_open(const char *path, uint64_t from, struct wtl_push_reader **ret_reader,
			 struct wtl_err *err);
void wtl_push_reader_close(struct wtl_push_reader *reader); /* NULL is fine */
/* Its series: the reader's own. */
struct wtl_push_table *wtl_push_reader_table(struct wtl_push_reader *reader);
/* The next row. 1; 0: there is no other one; negative without memory. Damaged ones are passed over. */
int wtl_push_reader_next(struct wtl_push_reader *reader, struct wtl_push_row *row);

#endif
