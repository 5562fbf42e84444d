/* SPDX-License-Identifier: MIT */
#ifndef WTL_RECORD_READER_H
#define WTL_RECORD_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "record/guard.h"
#include "record/names.h"
#include "record/store.h"
#include "record/table.h"

/* The parts of a reader, for read.c (opening), read_schema.c (is it one?), read_live.c (beside a writer),
 * read_table.c (rows), read_values.c (series) and check.c. */

struct wtl_fact {
	char *key, *value;
};

/* A series in a part. */
struct wtl_read_block {
	uint32_t series, len;
	const uint8_t *data;
};

struct wtl_read_part {
	uint8_t *data;
	struct wtl_read_block *blocks; /* their series rise */
	size_t n_blocks, blocks_room;
};

struct wtl_read_parts {
	struct wtl_read_part *list;
	size_t n, room;
	uint64_t n_values; /* of all */
};

/* A period, or a hole where some are missing. */
struct wtl_read_period {
	struct wtl_store_period times;
	int64_t id; /* of a hole: the first that is missing */
	uint32_t n_parts;
	bool is_lost;
	bool is_dropped; /* by the ring, since the opening */
	bool is_counted; /* its values are among n_values_counted */
	/* Its parts as of the opening, where a writer may go on with them. */
	bool is_copied;
	int error;
	struct wtl_read_parts parts;
};

struct wtl_series_values {
	int64_t *values;
	size_t room;
};

struct wtl_store_reader {
	char *path;
	sqlite3 *db;
	struct wtl_guard guard; /* of db */
	/* Of tables, as of the opening: packed rows, in order. Without, db holds that moment itself. */
	struct wtl_buf copies[WTL_TABLES];
	bool has_copies;
	struct wtl_row_recording recording;
	bool is_live, is_damaged;
	const struct wtl_table *misfit; /* whose rows do not fit each other; NULL: none */
	bool lacks_wal; /* what is newest is in FILE-wal, which cannot be read from there */
	struct wtl_names names;
	struct wtl_fact *facts;
	size_t n_facts, facts_room;
	struct wtl_read_period *periods;
	size_t n_periods, periods_room;
	/* Of the period that was asked for last. */
	size_t period; /* SIZE_MAX: none yet */
	int period_error;
	int64_t *counts; /* of chunks: values by series */
	size_t n_counts, counts_room;
	uint64_t n_chunk_values; /* of all series together */
	struct wtl_read_parts parts;
	/* What was looked up and decoded so far; and how many values the periods have that were asked for. */
	uint64_t n_bytes_read, n_values_read, n_values_counted;
	/* By series; room for so many values in all. */
	struct wtl_series_values *series;
	uint64_t n_room;
	size_t values_of; /* the period that they are of; SIZE_MAX: of none */
	uint8_t *block;	  /* unpacked */
	size_t block_room;
	/* By their number, those of parts by two; each is prepared when it is first needed. */
	struct wtl_rows period_rows, chunk_rows, part_rows;
	struct ZSTD_DCtx_s *zstd; /* NULL: nothing was unpacked yet */
};

/*
 * Calls back for each row that is sound, in the order of the key; what cannot be read is passed over, and
 * told to `damaged` (may be NULL) with the row's key, or with is_page set, the key from which on rows cannot
 * be reached. Ends with what a callback returned if that is not 0; else 0, -ENOMEM, -EIO or -EBADMSG where
 * there is no such table.
 */
struct wtl_scan {
	int (*row)(void *context, const void *row);
	int (*damaged)(void *context, int64_t key, bool is_page);
	void *context;
};
int wtl_reader_scan(struct wtl_store_reader *reader, const struct wtl_table *table,
		    const struct wtl_scan *scan);

/* The opening itself. A reader that holds the moment sees it in the file whatever the writer does
 * meanwhile, and lets the writer's WAL grow: for a short look only. */
int wtl_reader_open(const char *path, bool holds, struct wtl_store_reader **ret_reader,
		    struct wtl_err *err);

/* SQLite's code in words; a negative errno. */
int wtl_reader_complain(struct wtl_store_reader *reader, int code, struct wtl_err *err);

/* Before anything of its tables is read. 0 or negative. */
int wtl_reader_check_schema(struct wtl_store_reader *reader, struct wtl_err *err);

/* Copies what a writer may change, and ends the transaction. 0 or -ENOMEM. */
int wtl_reader_let_go(struct wtl_store_reader *reader);
/* Is that table copied? Those are that a writer may change. */
bool wtl_reader_is_copied(const struct wtl_table *table);

/* 0, -ENOMEM or -EBADMSG; *parts may have some even then. */
int wtl_reader_load_parts(struct wtl_store_reader *reader, const struct wtl_read_period *period,
			  struct wtl_read_parts *parts);
void wtl_read_parts_clear(struct wtl_read_parts *parts);

/* Compiles what finds periods and chunks. 0 or negative. */
int wtl_reader_prepare_lookups(struct wtl_store_reader *reader);

/* Frees what is known of the period. */
void wtl_reader_forget_period(struct wtl_store_reader *reader);

#endif
