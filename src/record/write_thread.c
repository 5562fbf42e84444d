/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "record/code.h"
#include "record/writer.h"

enum { ROW_BYTES = 256 }; /* of a row in the file, about */

/* ---- A commit ---- */

/* The blocks of all series over the stretch, into writer->part and to the period's. */
static int encode(struct wtl_store_writer *writer, const struct wtl_stretch *stretch)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i < stretch->n_runs; i++) {
		const struct wtl_value_run *run = &stretch->runs[i];
		struct wtl_buf *block = &writer->block;

		if (run->n == 0)
			continue;
		wtl_buf_clear(block);
		if (wtl_code_put(block, run->values, run->n) < 0 ||
		    wtl_gather_add(&writer->gather, i, block, run->n) < 0)
			return SQLITE_NOMEM;
		wtl_varint_put(&writer->part, i - before);
		wtl_varint_put(&writer->part, block->len);
		if (wtl_buf_add(&writer->part, block->data, block->len) < 0)
			return SQLITE_NOMEM;
		before = i;
	}
	return SQLITE_OK;
}

/* *period becomes what the row will be: the caller keeps that once it is committed. */
static int put_part(struct wtl_store_writer *writer, const struct wtl_stretch *stretch,
		    struct wtl_row_period *period)
{
	const struct wtl_row_part part = {
		.id = period->id * WTL_PARTS_MAX + period->parts,
		.end_mono_ns = stretch->end_mono_ns,
		.end_utc_ns = stretch->end_utc_ns,
		.data = {writer->part.data, writer->part.len},
	};
	int rc = SQLITE_OK;

	if (writer->part.len > 0) {
		rc = wtl_file_put(&writer->file, &wtl_table_part, &part);
		period->parts++;
	}
	period->end_mono_ns = stretch->end_mono_ns;
	period->end_utc_ns = stretch->end_utc_ns;
	return rc ? rc : wtl_file_put(&writer->file, &wtl_table_period, period);
}

/* The consumer's row once more, with its end. */
static int put_consumer_end(struct wtl_store_writer *writer, const struct wtl_row_consumer_end *end)
{
	struct wtl_file *file = &writer->file;
	struct wtl_row_consumer row;
	struct wtl_rows rows;
	int rc = wtl_rows_prepare(&rows, file->db, &wtl_table_consumer, " WHERE id = ?");
	bool has = false;

	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(rows.stmt, 1, end->id);
		has = sqlite3_step(rows.stmt) == SQLITE_ROW && wtl_row_get(&rows, &row) == 0;
		rc = sqlite3_reset(rows.stmt);
	}
	wtl_rows_done(&rows);
	if (rc || !has)
		return rc;
	row.stored.last_look = end->last_look;
	row.end_period = writer->next_period - 1;
	return wtl_file_put(file, &wtl_table_consumer, &row);
}

static int put_row(struct wtl_store_writer *writer, const struct wtl_table *table, const void *row)
{
	/* They are of all that was recorded. */
	if (table == &wtl_table_account && writer->has_dropped)
		return SQLITE_OK;
	if (table == &wtl_table_consumer_end)
		return put_consumer_end(writer, row);
	return wtl_file_put(&writer->file, table, row);
}

static int put_rows(struct wtl_store_writer *writer, const struct wtl_buf *rows)
{
	_Alignas(max_align_t) unsigned char row[WTL_ROW_SIZE_MAX];
	const uint8_t *at = (const uint8_t *)wtl_buf_str(rows), *end = at + rows->len;
	int rc = SQLITE_OK;

	while (rc == SQLITE_OK && at < end) {
		const struct wtl_table *table = wtl_row_unpack(&at, end, row);

		rc = put_row(writer, table, row);
	}
	return rc;
}

static void begin_period(struct wtl_store_writer *writer, const struct wtl_stretch *stretch)
{
	writer->gather.period = (struct wtl_row_period){
		.id = writer->next_period++,
		.begin_mono_ns = stretch->begin_mono_ns,
		.begin_utc_ns = stretch->begin_utc_ns,
	};
}

/* All that there is of the present period: it has no parts. */
static bool is_whole(const struct wtl_store_writer *writer, const struct wtl_stretch *stretch)
{
	return stretch->ends_period && !stretch->is_lost && writer->gather.period.parts == 0;
}

static int put_stretch(struct wtl_store_writer *writer, void *context)
{
	const struct wtl_stretch *stretch = context;
	struct wtl_row_period period = writer->gather.period;
	struct wtl_file *file = &writer->file;
	int rc = wtl_file_begin(file);

	if (rc == SQLITE_OK)
		rc = put_rows(writer, &stretch->rows);
	if (rc == SQLITE_OK && stretch->is_lost)
		rc = wtl_file_put(file, &wtl_table_gap, &stretch->gap);
	else if (rc == SQLITE_OK)
		rc = is_whole(writer, stretch) ? wtl_merge_whole_put(writer, stretch)
					       : put_part(writer, stretch, &period);
	rc = wtl_file_commit(file, rc);
	if (rc == SQLITE_OK)
		writer->gather.period = period;
	return rc;
}

/* The one that is full. */
static int write_stretch(void *context)
{
	struct wtl_store_writer *writer = context;
	struct wtl_stretch *stretch = writer->full;
	bool whole;
	int rc = SQLITE_OK;

	wtl_buf_clear(&writer->part);
	if (stretch->is_lost)
		writer->next_period++; /* the gap in the numbers shows what is missing */
	else if (writer->gather.period.id == 0)
		begin_period(writer, stretch);
	whole = is_whole(writer, stretch);
	if (!stretch->is_lost)
		rc = whole ? wtl_merge_whole(writer, stretch) : encode(writer, stretch);
	if (rc == SQLITE_OK)
		rc = wtl_ring_write(writer, put_stretch, stretch);
	writer->now_mono_ns = stretch->end_mono_ns;
	if (whole)
		wtl_merge_whole_end(writer);
	else if (rc == SQLITE_OK && stretch->ends_period)
		rc = wtl_merge_begin(writer);
	if (rc == SQLITE_OK && (stretch->ends_period || writer->is_over_now))
		rc = wtl_ring_trim(writer);
	return rc;
}

/* ---- The thread ---- */

/* Under the lock. */
static void stop(struct wtl_store_writer *writer, int code)
{
	writer->error = wtl_file_complain(&writer->file, code, &writer->err);
	writer->has_merge = false;
}

/* Under the lock, which it gives up meanwhile. */
static void do_stretch(struct wtl_store_writer *writer)
{
	struct wtl_stretch *stretch = writer->full;
	bool ends_period = stretch->ends_period;
	uint64_t rows_bytes = stretch->n_rows * ROW_BYTES;
	int rc = SQLITE_OK;

	pthread_mutex_unlock(&writer->lock);
	if (!writer->error)
		rc = wtl_file_guarded(&writer->file, write_stretch, writer);
	wtl_stretch_clear(stretch, writer->options.in_haste ? WTL_STRETCH_ROOM_ANY
							    : wtl_writer_room(writer));
	pthread_mutex_lock(&writer->lock);
	writer->full = NULL;
	writer->has_merge = !writer->error && writer->merge.is_active;
	if (rc)
		stop(writer, rc);
	else
		writer->n_written++;
	writer->period_bytes =
		ends_period ? 0 : writer->period_bytes + writer->part.len + rows_bytes;
}

static int merge(void *writer)
{
	return wtl_merge_step(writer);
}

static void do_merge(struct wtl_store_writer *writer)
{
	int rc;

	pthread_mutex_unlock(&writer->lock);
	rc = wtl_file_guarded(&writer->file, merge, writer);
	pthread_mutex_lock(&writer->lock);
	writer->has_merge = writer->merge.is_active;
	if (rc)
		stop(writer, rc);
}

static int put_recording(struct wtl_store_writer *writer, void *context)
{
	struct wtl_row_recording *recording = &writer->recording;
	int rc = wtl_file_begin(&writer->file);

	(void)context;
	if (rc == SQLITE_OK)
		rc = wtl_file_number(&writer->file, "SELECT min(id) FROM period",
				     &recording->first_period);
	if (rc == SQLITE_OK && recording->first_period == 0)
		recording->first_period = 1; /* there is none */
	if (rc == SQLITE_OK)
		rc = wtl_file_put(&writer->file, &wtl_table_recording, recording);
	return wtl_file_commit(&writer->file, rc);
}

/* All is written: what is left of the present period, and that it is whole. */
static int finish(void *context)
{
	struct wtl_store_writer *writer = context;
	struct wtl_row_recording *recording = &writer->recording;
	int rc;

	/* All values are on the disk already, in parts. The last commit's sync covers what is written from here on. */
	wtl_file_run(&writer->file, "PRAGMA synchronous=NORMAL");
	rc = wtl_merge_begin(writer);
	while (rc == SQLITE_OK && writer->merge.is_active)
		rc = wtl_merge_step(writer);
	if (rc)
		return rc;
	wtl_file_run(&writer->file, "PRAGMA synchronous=FULL");
	recording->is_whole = true;
	recording->last_period = writer->next_period - 1;
	recording->end_mono_ns = writer->last_mono_ns;
	recording->end_utc_ns = writer->last_utc_ns;
	return wtl_ring_write(writer, put_recording, NULL);
}

void *wtl_writer_run(void *context)
{
	struct wtl_store_writer *writer = context;
	int rc;

	pthread_mutex_lock(&writer->lock);
	for (;;) {
		if (writer->full)
			do_stretch(writer);
		else if (writer->has_merge)
			do_merge(writer);
		else if (writer->is_ending)
			break;
		else
			pthread_cond_wait(&writer->changed, &writer->lock);
		pthread_cond_broadcast(&writer->changed);
	}
	rc = writer->error ? SQLITE_OK : wtl_file_guarded(&writer->file, finish, writer);
	if (rc)
		stop(writer, rc);
	pthread_mutex_unlock(&writer->lock);
	if (writer->error)
		wtl_file_close(&writer->file, false);
	else
		writer->leaves_more = wtl_file_end(&writer->file, &writer->err);
	return NULL;
}
