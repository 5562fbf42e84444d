/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_PUSH_LOG_H
#define WTL_SERVE_PUSH_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "serve/push_rows.h"

struct wtl_err;
struct wtl_store_writer;

/*
 * Rows in the agent's recording (docs/recording.md), so that what could not be pushed is pushed later,
 * even by the next run of the agent. A row has only what changed; from time to time it is a whole one.
 */

struct wtl_push_log {
	struct wtl_store_writer *writer;
	uint32_t series[6]; /* of the recording, as in push_log.c */
	int64_t *last;	    /* the last value of each series; WTL_PUSH_ENDED: it does not exist */
	size_t n_last, n_told;
	uint64_t row, whole; /* of the last row, and of the last whole one; 0: none */
};

/* Starts writing to that recording. done() in any case; the writer is borrowed. */
int wtl_push_log_begin(struct wtl_push_log *log, struct wtl_store_writer *writer);
void wtl_push_log_done(struct wtl_push_log *log);
/* Writes a row, with the next commit. */
int wtl_push_log_put(struct wtl_push_log *log, const struct wtl_push_table *table,
		     const struct wtl_push_row *row);

/* ---- Reading ---- */

struct wtl_push_reader;

/* Opens a recording, even while it is written: what is in it now. Rows below `from` are left out. */
int wtl_push_reader_open(const char *path, uint64_t from, struct wtl_push_reader **ret_reader,
			 struct wtl_err *err);
void wtl_push_reader_close(struct wtl_push_reader *reader); /* NULL is fine */
/* The reader's own series. */
struct wtl_push_table *wtl_push_reader_table(struct wtl_push_reader *reader);
/* The next row. 1; 0: there are no more; negative without memory. Damaged ones are skipped. */
int wtl_push_reader_next(struct wtl_push_reader *reader, struct wtl_push_row *row);

#endif
