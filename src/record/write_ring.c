/* SPDX-License-Identifier: MIT */
#include "record/writer.h"

/*
 * A ring of max_bytes is a file of so many pages (PRAGMA max_page_count). Where a transaction needs more, SQLite refuses
 * it, the oldest period is dropped, and the transaction is tried again: pages that became free are used again. Where
 * only the newest period is left, there is no limit until what is there fits again.
 *
 * FILE-wal comes beside that. It is emptied at an eighth of max_bytes, at most 4 MiB. One transaction writes each page
 * once, so it adds at most as much as the file has, and usually a period. Only a transaction of another program keeps
 * it from being emptied; at half of wtl_ring_wal_bytes_max() that one is waited for.
 */

/* Two periods stay, unless there is no room for what comes: the present one and the one before, of which nothing
 * is missing. */
#define HAS_MORE_THAN_KEPT "SELECT count(*) FROM (SELECT 1 FROM period LIMIT 1 OFFSET 2)"

/* ---- Dropping ---- */

struct oldest {
	struct wtl_row_period period; /* of a damaged one only the id; id 0: there is none */
	bool is_damaged;
};

static int find_oldest(struct wtl_store_writer *writer, struct oldest *ret_oldest)
{
	struct wtl_file *file = &writer->file;
	struct wtl_rows rows;
	int rc = wtl_rows_prepare(&rows, file->db, &wtl_table_period, " ORDER BY id LIMIT 1");

	*ret_oldest = (struct oldest){.is_damaged = false};
	if (rc == SQLITE_OK && sqlite3_step(rows.stmt) == SQLITE_ROW)
		ret_oldest->is_damaged = wtl_row_get(&rows, &ret_oldest->period) < 0;
	if (rc == SQLITE_OK)
		rc = sqlite3_reset(rows.stmt);
	wtl_rows_done(&rows);
	return rc;
}

struct deletion {
	const char *sql;
	int64_t limit;
};

static int delete_each(struct wtl_file *file, const struct deletion *deletions, size_t n)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < n; i++)
		rc = wtl_file_run_with(file, deletions[i].sql, deletions[i].limit, 0);
	return rc;
}

/* The period, which is the oldest, and accounts: they are of all that was recorded. */
static int delete_values(struct wtl_file *file, int64_t id)
{
	const struct deletion deletions[] = {
		{"DELETE FROM chunk WHERE id < ?", (id + 1) * WTL_STORE_SERIES_MAX},
		{"DELETE FROM part WHERE id < ?", (id + 1) * WTL_PARTS_MAX},
		{"DELETE FROM period WHERE id <= ?", id},
		{"DELETE FROM account", 0},
	};

	return delete_each(file, deletions, sizeof(deletions) / sizeof(deletions[0]));
}

/* Rows that are only of times before the period. */
static int delete_rows(struct wtl_file *file, const struct wtl_row_period *period)
{
	const struct deletion deletions[] = {
		{"DELETE FROM consumer WHERE end_period > 0 AND end_period < ?", period->id},
		{"DELETE FROM window WHERE NOT is_open AND id > 1 AND "
		 "begin_mono_ns + duration_ns < ?",
		 period->begin_mono_ns},
		{"DELETE FROM energy WHERE window NOT IN (SELECT id FROM window)", 0},
		{"DELETE FROM gap WHERE begin_mono_ns + duration_ns < ?", period->begin_mono_ns},
	};

	return delete_each(file, deletions, sizeof(deletions) / sizeof(deletions[0]));
}

static int drop(struct wtl_store_writer *writer, const struct oldest *oldest)
{
	struct wtl_file *file = &writer->file;
	int64_t id = oldest->period.id;
	struct oldest next;
	int rc = wtl_file_begin(file);

	if (rc == SQLITE_OK)
		rc = delete_values(file, id);
	if (rc == SQLITE_OK)
		rc = find_oldest(writer, &next);
	if (rc == SQLITE_OK && next.period.id == 0)
		next.period = writer->gather.period;
	if (rc == SQLITE_OK && next.period.id > 0 && !next.is_damaged)
		rc = delete_rows(file, &next.period);
	rc = wtl_file_commit(file, rc);
	if (rc)
		return rc;
	writer->has_dropped = true;
	if (writer->merge.gather.period.id == id)
		writer->merge.is_active = false;
	return SQLITE_OK;
}

/* ---- Room ---- */

/* Nobody can take a transaction away from another program: in the end, the recording stops. */
static int keep_wal_small(struct wtl_store_writer *writer)
{
	const struct wtl_store_options *options = &writer->options;
	uint64_t bytes = options->max_bytes ? wtl_file_wal_bytes(&writer->file) : 0;
	bool can_wait = bytes <= wtl_ring_wal_bytes_max(options) / 2;
	int rc;

	if (bytes <= wtl_ring_wal_bytes(options))
		return SQLITE_OK;
	rc = wtl_file_empty_wal(&writer->file, can_wait ? 0 : options->busy_ms);
	return rc == SQLITE_BUSY_SNAPSHOT && can_wait ? SQLITE_OK : rc;
}

static int make_room(struct wtl_store_writer *writer)
{
	struct oldest oldest;
	int rc = find_oldest(writer, &oldest);

	if (rc)
		return rc;
	if (oldest.period.id > 0 && oldest.period.id < writer->next_period - 1) {
		rc = drop(writer, &oldest);
		if (rc != WTL_FILE_LIMIT)
			return rc;
	}
	writer->is_over = writer->is_over_now = true;
	return wtl_file_limit(&writer->file, 0);
}

int wtl_ring_write(struct wtl_store_writer *writer,
		   int (*transaction)(struct wtl_store_writer *, void *), void *context)
{
	int rc = keep_wal_small(writer);

	while (rc == SQLITE_OK) {
		rc = transaction(writer, context);
		if (rc != WTL_FILE_LIMIT)
			break;
		rc = make_room(writer);
	}
	return rc;
}

/* ---- Trimming ---- */

static int is_too_large(struct wtl_store_writer *writer, bool *ret_is)
{
	int64_t pages = 0, free_pages = 0;
	int rc = wtl_file_number(&writer->file, "PRAGMA page_count", &pages);

	if (rc == SQLITE_OK)
		rc = wtl_file_number(&writer->file, "PRAGMA freelist_count", &free_pages);
	*ret_is = (uint64_t)(pages - free_pages) > writer->options.max_bytes / WTL_PAGE_BYTES;
	return rc;
}

/* Of a damaged one nothing can be read, and it would be in the way of all others. */
static bool is_too_old(const struct wtl_store_writer *writer, const struct oldest *oldest)
{
	int64_t max_age_ns = writer->options.max_age_ns;

	return max_age_ns > 0 && (oldest->is_damaged ||
				  oldest->period.end_mono_ns < writer->now_mono_ns - max_age_ns);
}

static int must_drop(struct wtl_store_writer *writer, const struct oldest *oldest, bool *ret_must)
{
	int64_t has_more = 0;
	int rc = SQLITE_OK;

	*ret_must = is_too_old(writer, oldest);
	if (!*ret_must && writer->is_over_now)
		rc = is_too_large(writer, ret_must);
	if (rc == SQLITE_OK && *ret_must)
		rc = wtl_file_number(&writer->file, HAS_MORE_THAN_KEPT, &has_more);
	*ret_must = *ret_must && has_more > 0;
	return rc;
}

/* The limit holds again as soon as the file has no more pages. */
static int limit_again(struct wtl_store_writer *writer)
{
	uint64_t pages = writer->options.max_bytes / WTL_PAGE_BYTES;
	int rc = wtl_file_limit(&writer->file, pages);

	if (rc == SQLITE_OK && writer->file.pages_max > pages)
		return wtl_file_limit(&writer->file, 0);
	writer->is_over_now = false;
	return rc;
}

int wtl_ring_trim(struct wtl_store_writer *writer)
{
	bool must, has_dropped = false;
	struct oldest oldest;
	int rc;

	if (writer->options.max_age_ns == 0 && !writer->is_over_now)
		return SQLITE_OK;
	for (;;) {
		rc = find_oldest(writer, &oldest);
		if (rc == SQLITE_OK)
			rc = must_drop(writer, &oldest, &must);
		if (rc || !must)
			break;
		rc = drop(writer, &oldest);
		if (rc)
			break;
		has_dropped = true;
	}
	if (rc == SQLITE_OK && (has_dropped || writer->is_over_now))
		rc = wtl_file_run(&writer->file, "PRAGMA incremental_vacuum");
	return rc == SQLITE_OK && writer->is_over_now ? limit_again(writer) : rc;
}
