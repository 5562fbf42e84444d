/* SPDX-License-Identifier: MIT */
#ifndef WTL_FUZZ_RECORDING_H
#define WTL_FUZZ_RECORDING_H

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "record/reader.h"
#include "record/table.h"

/*
 * Recordings in memory, for fuzz targets: tables as the writer makes them, and rows whose checksums fit, so that
 * what lies behind those is reached. One at a time: begun with no rows but series, filled, turned into the bytes
 * of a file as often as wanted, and forgotten.
 */

enum { RECORDING_SERIES = 8 };

sqlite3 *recording_begin(void);
void recording_put(const struct wtl_table *table, const void *row);
/* A statement that is prepared once for each text, with a number in it where it has a place for one. */
void recording_run(const char *sql, int64_t number);
/* Of *ret_len bytes; sqlite3_free(). */
uint8_t *recording_image(size_t *ret_len);
void recording_forget(void);

/*
 * Rows as an input has them: how many bytes a row takes (two bytes; the highest bit: a row of any table), what row
 * (one byte), and those. recording_put_row() puts one.
 */
struct recording_row {
	size_t len;
	unsigned what;
	bool is_of_any_table, has_action; /* the two highest bits of its length */
	const uint8_t *data;
};

/* false: there is no more. */
bool recording_next_row(const uint8_t **data, size_t *size, struct recording_row *ret_row);
void recording_put_row(const struct recording_row *row);

/* ---- Reading ---- */

enum { RECORDING_TABLES = 1, RECORDING_VALUES = 2 };

/* All rows of the tables, all values of the series, or both; a sum of what was read. */
uint64_t recording_read_parts(struct wtl_store_reader *reader, unsigned parts);

/* What there is in memvfs.h is opened, and read in one of several ways: from 5 on in the quickest one. */
void recording_read(size_t way);

#endif
