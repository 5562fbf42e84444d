/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zstd.h>

#include "base/array.h"
#include "base/err.h"
#include "record/code.h"
#include "record/database.h"
#include "record/reader.h"

enum {
	BLOCK_BYTES_MAX = 128 << 20,
	/* Values that are kept room for from one period to another: twice what a writer puts into one. */
	ROOM_MAX = 8 << 20,
	/* A value takes 10 bytes at most. Where nothing happens, a thousand may be in one. */
	BYTES_PER_VALUE = 16,
	VALUES_PER_BYTE = 1024,
	READS_PER_BYTE = 64, /* of what is damaged, and read again and again */
};

#define READ_BYTES_MIN	 (UINT64_C(256) << 20)
#define VALUES_TOTAL_MIN (UINT64_C(64) << 20)

/* "2026-11-21T10:55:45Z" */
enum { TIME_SIZE = 40 };

static void put_time(int64_t t_utc_ns, char text[TIME_SIZE])
{
	time_t t = (time_t)(t_utc_ns / WTL_NS_PER_S);
	struct tm tm;

	if (!gmtime_r(&t, &tm) || strftime(text, TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		snprintf(text, TIME_SIZE, "?");
}

void wtl_read_parts_clear(struct wtl_read_parts *parts)
{
	for (size_t i = 0; i < parts->n; i++) {
		free(parts->list[i].data);
		free(parts->list[i].blocks);
	}
	parts->n = 0;
	parts->n_values = 0;
}

void wtl_reader_forget_period(struct wtl_store_reader *reader)
{
	wtl_read_parts_clear(&reader->parts);
	reader->n_counts = 0;
	reader->n_chunk_values = 0;
}

/* ---- Rows that are looked up by their number ---- */

/* Prepared once: later, beside a writer, nothing is compiled any more. */
int wtl_reader_prepare_lookups(struct wtl_store_reader *reader)
{
	int code = SQLITE_OK;

	if (!reader->period_rows.stmt)
		code = wtl_rows_prepare(&reader->period_rows, reader->db, &wtl_table_period,
					" WHERE id = ?");
	if (code == SQLITE_OK && !reader->chunk_rows.stmt)
		code = wtl_rows_prepare(&reader->chunk_rows, reader->db, &wtl_table_chunk,
					" WHERE id = ?");
	return code ? wtl_database_errno(reader->db, code) : 0;
}

/* SQLITE_ROW: the statement stands at it, until it is reset. */
static int look_up(struct wtl_rows *rows, int64_t id)
{
	sqlite3_bind_int64(rows->stmt, 1, id);
	return sqlite3_step(rows->stmt);
}

/* Has a ring dropped the period since the opening? */
static bool has_dropped(struct wtl_store_reader *reader, int64_t period)
{
	bool has = reader->has_copies && look_up(&reader->period_rows, period) == SQLITE_DONE;

	sqlite3_reset(reader->period_rows.stmt);
	return has;
}

/* ---- Words ---- */

static int complain(struct wtl_store_reader *reader, size_t period, int64_t series, int code,
		    const char *what, struct wtl_err *err)
{
	struct wtl_read_period *at = &reader->periods[period];
	char begin[TIME_SIZE], end[TIME_SIZE];

	/* What SQLite had no memory for is reported as missing. */
	if (code == -ENOMEM || sqlite3_errcode(reader->db) == SQLITE_NOMEM) {
		reader->period = SIZE_MAX; /* it may be read once there is memory */
		code = -ENOMEM;
	}
	if (code == -ENOMEM)
		return wtl_err_set(err, code, "record", wtl_database_path_shown(reader->path),
				   "out of memory");
	if (!at->is_lost && !at->is_copied && has_dropped(reader, at->id)) {
		at->is_dropped = true;
		series = -1;
		what = "the ring has dropped it since it was opened";
	}
	if (!at->is_dropped)
		reader->is_damaged = true;
	put_time(at->times.begin_utc_ns, begin);
	put_time(at->times.end_utc_ns, end);
	return wtl_err_set(err, code, "record", wtl_database_path_shown(reader->path),
			   "%s to %s (period %lld): %s%s%s", begin, end, (long long)at->id,
			   series >= 0 ? "series " : "",
			   series >= 0 ? reader->names.names[series] : "", what);
}

/* ---- A period as parts ---- */

/* Where each series of the part is. */
static int index_part(struct wtl_read_parts *parts, struct wtl_read_part *part, size_t len)
{
	const uint8_t *at = part->data, *end = at + len;
	uint64_t number = 0;

	while (at < end) {
		struct wtl_read_block *block;
		uint64_t more, block_len;
		int64_t n;

		if (wtl_varint_get(&at, end, &more) < 0 ||
		    wtl_varint_get(&at, end, &block_len) < 0 || block_len > (uint64_t)(end - at) ||
		    more >= WTL_STORE_SERIES_MAX - number || (part->n_blocks > 0 && more == 0))
			return -EBADMSG;
		n = wtl_code_count(at, (size_t)block_len);
		if (n <= 0 || (uint64_t)n > WTL_CODE_VALUES_MAX - parts->n_values)
			return -EBADMSG;
		if (wtl_array_reserve(&part->blocks, &part->blocks_room, part->n_blocks + 1,
				      sizeof(part->blocks[0])) < 0)
			return -ENOMEM;
		number += more;
		parts->n_values += (uint64_t)n;
		block = &part->blocks[part->n_blocks++];
		*block = (struct wtl_read_block){(uint32_t)number, (uint32_t)block_len, at};
		at += block_len;
	}
	return 0;
}

static int add_part(struct wtl_read_parts *parts, const struct wtl_row_part *row)
{
	struct wtl_read_part *part;
	size_t len = row->data.len;

	if (wtl_array_reserve(&parts->list, &parts->room, parts->n + 1, sizeof(parts->list[0])) < 0)
		return -ENOMEM;
	part = &parts->list[parts->n];
	*part = (struct wtl_read_part){.data = malloc(len + 1)};
	if (!part->data)
		return -ENOMEM;
	parts->n++;
	if (len > 0)
		memcpy(part->data, row->data.data, len);
	return index_part(parts, part, len);
}

int wtl_reader_load_parts(struct wtl_store_reader *reader, const struct wtl_read_period *period,
			  struct wtl_read_parts *parts)
{
	int64_t first = period->id * WTL_PARTS_MAX;
	struct wtl_rows *rows = &reader->part_rows;
	struct wtl_row_part row;
	int code = SQLITE_OK, rc = 0;

	if (!rows->stmt)
		code = wtl_rows_prepare(rows, reader->db, &wtl_table_part,
					" WHERE id >= ? AND id < ? ORDER BY id");
	if (code == SQLITE_OK) {
		rows->n_bytes = 0;
		sqlite3_bind_int64(rows->stmt, 1, first);
		sqlite3_bind_int64(rows->stmt, 2, first + period->n_parts);
		while (rc == 0 && (code = sqlite3_step(rows->stmt)) == SQLITE_ROW) {
			rc = wtl_row_get(rows, &row);
			if (row.id != first + (int64_t)parts->n ||
			    rows->n_bytes > reader->guard.bytes)
				rc = -EBADMSG;
			if (rc == 0)
				rc = add_part(parts, &row);
		}
		reader->n_bytes_read += rows->n_bytes;
	}
	if (rc == 0 && parts->n != period->n_parts)
		rc = wtl_database_errno(reader->db, code) == -ENOMEM ? -ENOMEM : -EBADMSG;
	sqlite3_reset(rows->stmt);
	return rc;
}

/* ---- No more than there can be in the file ---- */

/* Rows that share pages can each be as long as the file. */
static bool has_read_too_much(const struct wtl_store_reader *reader)
{
	return reader->n_bytes_read / BYTES_PER_VALUE >
	       reader->n_values_read +
		       (READ_BYTES_MIN + READS_PER_BYTE * reader->guard.bytes) / BYTES_PER_VALUE;
}

/* Small rows can stand for any number of values. What a period has is known; each counts once. */
static int count_values(struct wtl_store_reader *reader, struct wtl_read_period *period, uint64_t n)
{
	uint64_t most = VALUES_TOTAL_MIN + VALUES_PER_BYTE * reader->guard.bytes;

	if (period->is_counted)
		return 0;
	if (n > most - reader->n_values_counted)
		return -EBADMSG;
	reader->n_values_counted += n;
	period->is_counted = true;
	return 0;
}

static const struct wtl_read_block *find_block(const struct wtl_read_part *part, uint32_t series)
{
	size_t from = 0, to = part->n_blocks;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (part->blocks[middle].series < series)
			from = middle + 1;
		else
			to = middle;
	}
	return from < part->n_blocks && part->blocks[from].series == series ? &part->blocks[from]
									    : NULL;
}

/* ---- Room for values ---- */

/* Of each series as many as a period ever had, unless that is too much: then only those of this period. */
static void make_room(struct wtl_store_reader *reader, size_t period)
{
	if (reader->values_of == period)
		return;
	reader->values_of = period;
	if (reader->n_room <= ROOM_MAX)
		return;
	for (size_t i = 0; i < reader->names.n; i++) {
		free(reader->series[i].values);
		reader->series[i] = (struct wtl_series_values){.values = NULL};
	}
	reader->n_room = 0;
}

static int room_for(struct wtl_store_reader *reader, uint32_t series, size_t n)
{
	struct wtl_series_values *values = &reader->series[series];
	size_t before = values->room;
	int rc = wtl_array_reserve(&values->values, &values->room, n, sizeof(values->values[0]));

	reader->n_room += values->room - before;
	return rc;
}

static int values_of_parts(struct wtl_store_reader *reader, const struct wtl_read_parts *parts,
			   uint32_t series, size_t *ret_n)
{
	struct wtl_series_values *values = &reader->series[series];
	size_t n = 0;

	for (size_t i = 0; i < parts->n; i++) {
		const struct wtl_read_block *block = find_block(&parts->list[i], series);
		int64_t count;

		if (!block)
			continue;
		count = wtl_code_count(block->data, block->len);
		if (room_for(reader, series, n + (size_t)count) < 0)
			return -ENOMEM;
		if (wtl_code_get(block->data, block->len, values->values + n, (size_t)count) < 0)
			return -EBADMSG;
		n += (size_t)count;
	}
	*ret_n = n;
	return 0;
}

/* ---- A period as chunks ---- */

static int decode_counts(struct wtl_store_reader *reader, const struct wtl_bytes *bytes)
{
	int64_t n, sum = 0;

	if (bytes->len == 0)
		return 0;
	n = wtl_code_count(bytes->data, bytes->len);
	if (n < 0 || n > WTL_STORE_SERIES_MAX)
		return -EBADMSG;
	if (wtl_array_reserve(&reader->counts, &reader->counts_room, (size_t)n + 1,
			      sizeof(reader->counts[0])) < 0)
		return -ENOMEM;
	if (wtl_code_get(bytes->data, bytes->len, reader->counts, (size_t)n) < 0)
		return -EBADMSG;
	/* No more than one series could have: a writer ends a period at a quarter of that. */
	for (int64_t i = 0; i < n; i++) {
		if (reader->counts[i] < 0 || reader->counts[i] > WTL_CODE_VALUES_MAX - sum)
			return -EBADMSG;
		sum += reader->counts[i];
	}
	reader->n_counts = (size_t)n;
	reader->n_chunk_values = (uint64_t)sum;
	return 0;
}

static int load_counts(struct wtl_store_reader *reader, const struct wtl_read_period *period)
{
	struct wtl_rows *rows = &reader->period_rows;
	struct wtl_row_period row;
	int code, rc;

	rc = wtl_reader_prepare_lookups(reader);
	if (rc < 0)
		return rc;
	code = look_up(rows, period->id);
	rc = code == SQLITE_ROW	    ? wtl_row_get(rows, &row)
	     : code == SQLITE_NOMEM ? -ENOMEM
				    : -EBADMSG;
	if (rc == 0)
		rc = decode_counts(reader, &row.counts);
	sqlite3_reset(rows->stmt);
	return rc;
}

static int unpack(struct wtl_store_reader *reader, const struct wtl_row_chunk *chunk,
		  const uint8_t **ret_block)
{
	size_t len;

	if (chunk->packed == WTL_PACKED_NOT) {
		*ret_block = chunk->data.data;
		return chunk->data.len == chunk->size ? 0 : -EBADMSG;
	}
	if (chunk->size > BLOCK_BYTES_MAX)
		return -EBADMSG;
	if (!reader->zstd)
		reader->zstd = ZSTD_createDCtx();
	if (!reader->zstd ||
	    wtl_array_reserve(&reader->block, &reader->block_room, chunk->size + 1u, 1) < 0)
		return -ENOMEM;
	len = ZSTD_decompressDCtx(reader->zstd, reader->block, chunk->size, chunk->data.data,
				  chunk->data.len);
	*ret_block = reader->block;
	/* zstd's errors are larger than any size. */
	return len == chunk->size ? 0 : -EBADMSG;
}

static int decode_chunk(struct wtl_store_reader *reader, uint32_t series, size_t n)
{
	struct wtl_series_values *values = &reader->series[series];
	struct wtl_row_chunk chunk;
	const uint8_t *block = NULL;
	int rc = wtl_row_get(&reader->chunk_rows, &chunk);

	reader->n_bytes_read += chunk.data.len;
	if (rc == 0)
		rc = chunk.n == n ? unpack(reader, &chunk, &block) : -EBADMSG;
	/* The number of values in a block is checked before room is made for them. */
	if (rc == 0 && wtl_code_count(block, chunk.size) != (int64_t)n)
		rc = -EBADMSG;
	if (rc == 0)
		rc = room_for(reader, series, n);
	return rc < 0 ? rc : wtl_code_get(block, chunk.size, values->values, n);
}

static int values_of_chunk(struct wtl_store_reader *reader, int64_t period_id, uint32_t series,
			   size_t *ret_n)
{
	struct wtl_rows *rows = &reader->chunk_rows;
	int64_t n = series < reader->n_counts ? reader->counts[series] : 0;
	int code, rc;

	*ret_n = (size_t)n;
	if (n == 0)
		return 0;
	code = look_up(rows, period_id * WTL_STORE_SERIES_MAX + series);
	if (code == SQLITE_ROW)
		rc = decode_chunk(reader, series, (size_t)n);
	else
		rc = code == SQLITE_NOMEM ? -ENOMEM : -EBADMSG; /* damaged, or not there */
	sqlite3_reset(rows->stmt);
	return rc;
}

/* ---- Both ---- */

static int load_period(struct wtl_store_reader *reader, size_t i)
{
	const struct wtl_read_period *period = &reader->periods[i];

	if (period->is_copied)
		return period->error;
	if (reader->period == i)
		return reader->period_error;
	wtl_reader_forget_period(reader);
	reader->period = i;
	reader->period_error = period->n_parts > 0
				       ? wtl_reader_load_parts(reader, period, &reader->parts)
				       : load_counts(reader, period);
	return reader->period_error;
}

int wtl_store_values(struct wtl_store_reader *reader, uint32_t series, size_t period,
		     const int64_t **ret_values, size_t *ret_n, struct wtl_err *err)
{
	const struct wtl_read_parts *parts;
	struct wtl_read_period *at;
	size_t n = 0;
	int rc;

	if (period >= reader->n_periods || series >= reader->names.n)
		return wtl_err_set(err, ERANGE, "record", wtl_database_path_shown(reader->path),
				   "there is no such period or series");
	at = &reader->periods[period];
	if (at->is_lost)
		return complain(reader, period, -1, -EBADMSG, "all of it is missing", err);
	wtl_guard_start(&reader->guard);
	rc = has_read_too_much(reader) ? -EBADMSG : load_period(reader, period);
	parts = at->is_copied ? &at->parts : &reader->parts;
	if (rc == 0)
		rc = count_values(reader, at,
				  at->n_parts > 0 ? parts->n_values : reader->n_chunk_values);
	if (rc < 0)
		return complain(reader, period, -1, rc, "damaged", err);
	make_room(reader, period);
	if (at->n_parts > 0)
		rc = values_of_parts(reader, parts, series, &n);
	else
		rc = values_of_chunk(reader, at->id, series, &n);
	if (rc < 0)
		return complain(reader, period, series, rc, " is damaged", err);
	reader->n_values_read += n;
	*ret_values = n > 0 ? reader->series[series].values : NULL;
	*ret_n = n;
	return 0;
}
