/* SPDX-License-Identifier: MIT */
#include "record/writer.h"

/*
 * A ring of max_bytes is made of: the WAL, which is emptied into the database when it has its share but may
 * have a period's chunks beyond that; the parts of the present period and of the one being merged; and
 * the rest, which may fill up before the oldest period goes.
 */

enum {
	SHARE_OF_WAL = 8,
	SHARE_OF_PERIOD = 16,
	PERIODS_IN_RESERVE = 3, /* two as parts, one in the WAL */
	/* The newest ones stay, whatever the limits say: the present one and the one before, of which nothing
	 * is missing, or the last two when all is over. */
	PERIODS_KEPT = 2,
};

#define HAS_MORE_THAN_KEPT "SELECT count(*) FROM (SELECT 1 FROM period LIMIT 1 OFFSET 2)"
_Static_assert(PERIODS_KEPT == 2, "the offset is that");

#define WAL_BYTES_MAX	 (UINT64_C(4) << 20)
#define PERIOD_BYTES_MAX (UINT64_C(8) << 20)
/* A reader's transaction keeps the WAL from being emptied: a short one is to do no harm. */
#define WAL_HELD_BYTES (UINT64_C(64) << 20)

static uint64_t share(uint64_t max_bytes, uint64_t divisor, uint64_t most)
{
	return max_bytes == 0 || max_bytes / divisor > most ? most : max_bytes / divisor;
}

uint64_t wtl_ring_wal_bytes(const struct wtl_store_options *options)
{
	return share(options->max_bytes, SHARE_OF_WAL, WAL_BYTES_MAX);
}

uint64_t wtl_ring_period_bytes(const struct wtl_store_options *options)
{
	return share(options->max_bytes, SHARE_OF_PERIOD, PERIOD_BYTES_MAX);
}

uint64_t wtl_ring_wal_bytes_max(const struct wtl_store_options *options)
{
	return options->max_bytes > WAL_HELD_BYTES ? options->max_bytes : WAL_HELD_BYTES;
}

static uint64_t database_bytes_max(const struct wtl_store_options *options)
{
	return options->max_bytes - wtl_ring_wal_bytes(options) -
	       PERIODS_IN_RESERVE * wtl_ring_period_bytes(options);
}

struct oldest {
	struct wtl_row_period period; /* of one that is damaged only the id */
	bool is_damaged;
	bool can_go; /* there are newer ones enough */
};

static int find_oldest(struct wtl_store_writer *writer, struct oldest *ret_oldest)
{
	struct wtl_file *file = &writer->file;
	int64_t has_more = 0;
	struct wtl_rows rows;
	int rc = wtl_rows_prepare(&rows, file->db, &wtl_table_period, " ORDER BY id LIMIT 1");

	*ret_oldest = (struct oldest){.can_go = false};
	if (rc == SQLITE_OK && sqlite3_step(rows.stmt) == SQLITE_ROW) {
		ret_oldest->can_go = true;
		if (wtl_row_get(&rows, &file->crc, &ret_oldest->period) < 0) {
			int64_t id = ret_oldest->period.id;

			ret_oldest->period = (struct wtl_row_period){.id = id};
			ret_oldest->is_damaged = true;
		}
	}
	if (rc == SQLITE_OK)
		rc = sqlite3_reset(rows.stmt);
	wtl_rows_done(&rows);
	if (rc == SQLITE_OK)
		rc = wtl_file_number(file, HAS_MORE_THAN_KEPT, &has_more);
	ret_oldest->can_go = ret_oldest->can_go && has_more > 0;
	return rc;
}

static int used_bytes(struct wtl_store_writer *writer, uint64_t *ret_bytes)
{
	int64_t pages = 0, free_pages = 0;
	int rc = wtl_file_number(&writer->file, "PRAGMA page_count", &pages);

	if (rc == SQLITE_OK)
		rc = wtl_file_number(&writer->file, "PRAGMA freelist_count", &free_pages);
	*ret_bytes = (uint64_t)(pages - free_pages) * WTL_PAGE_BYTES;
	return rc;
}

static int is_too_large(struct wtl_store_writer *writer, bool *ret_is)
{
	uint64_t bytes;
	int rc;

	*ret_is = false;
	if (writer->options.max_bytes == 0)
		return SQLITE_OK;
	rc = used_bytes(writer, &bytes);
	*ret_is = bytes > database_bytes_max(&writer->options);
	return rc;
}

/* What must stay alone is more than it may be, and all that is in reserve. */
static int note_over(struct wtl_store_writer *writer)
{
	const struct wtl_store_options *options = &writer->options;
	uint64_t bytes;
	int rc;

	if (options->max_bytes == 0 || writer->is_over)
		return SQLITE_OK;
	rc = used_bytes(writer, &bytes);
	if (rc == SQLITE_OK && bytes + wtl_ring_wal_bytes(options) > options->max_bytes)
		writer->is_over = true;
	return rc;
}

static int drop_period(struct wtl_store_writer *writer, int64_t id)
{
	struct wtl_file *file = &writer->file;
	int rc = wtl_file_run_with(file, "DELETE FROM chunk WHERE id >= ? AND id < ?",
				   id * WTL_STORE_SERIES_MAX, (id + 1) * WTL_STORE_SERIES_MAX);

	return rc ? rc : wtl_file_run_with(file, "DELETE FROM period WHERE id = ?", id, 0);
}

/* They are of all that was recorded, also of what is gone. */
static int drop_accounts(struct wtl_store_writer *writer)
{
	return wtl_file_run(&writer->file, "DELETE FROM account");
}

/* What is told of times before that period only. */
static int drop_before(struct wtl_store_writer *writer, const struct wtl_row_period *period)
{
	struct wtl_file *file = &writer->file;
	int64_t begin_ns = period->begin_mono_ns;
	int rc = drop_accounts(writer);

	if (rc == SQLITE_OK)
		rc = wtl_file_run_with(
			file, "DELETE FROM consumer WHERE end_period > 0 AND end_period < ?",
			period->id, 0);
	if (rc == SQLITE_OK)
		rc = wtl_file_run_with(file,
				       "DELETE FROM window WHERE NOT is_open AND id > 1 AND "
				       "begin_mono_ns + duration_ns < ?",
				       begin_ns, 0);
	if (rc == SQLITE_OK)
		rc = wtl_file_run(file, "DELETE FROM energy WHERE window NOT IN "
					"(SELECT id FROM window)");
	if (rc == SQLITE_OK)
		rc = wtl_file_run_with(
			file, "DELETE FROM gap WHERE begin_mono_ns + duration_ns < ?", begin_ns, 0);
	return rc;
}

/* The period, and what nobody needs who has the others. */
static int drop(struct wtl_store_writer *writer, struct oldest *oldest)
{
	int rc = drop_period(writer, oldest->period.id);

	if (rc == SQLITE_OK)
		rc = find_oldest(writer, oldest);
	return rc || oldest->is_damaged ? rc : drop_before(writer, &oldest->period);
}

static int trim(struct wtl_store_writer *writer)
{
	const struct wtl_store_options *options = &writer->options;
	struct oldest oldest;
	int rc = find_oldest(writer, &oldest);

	if (rc == SQLITE_OK && oldest.period.id > 1)
		rc = drop_accounts(writer);
	while (rc == SQLITE_OK && oldest.can_go) {
		bool is_too_large_now, is_too_old;

		/* Of one that is damaged nothing can be read, and it would be in the way of all others. */
		is_too_old =
			options->max_age_ns > 0 &&
			(oldest.is_damaged ||
			 oldest.period.end_mono_ns < writer->now_mono_ns - options->max_age_ns);
		rc = is_too_large(writer, &is_too_large_now);
		if (rc || !(is_too_old || is_too_large_now))
			break;
		rc = drop(writer, &oldest);
	}
	return rc ? rc : note_over(writer);
}

int wtl_ring_trim(struct wtl_store_writer *writer, bool is_end_of_period)
{
	const struct wtl_store_options *options = &writer->options;
	bool is_too_large_now = false;
	int rc = SQLITE_OK;

	if (options->max_bytes == 0 && options->max_age_ns == 0)
		return SQLITE_OK;
	if (options->max_bytes > 0)
		rc = wtl_file_hold_wal(&writer->file, wtl_ring_wal_bytes_max(options));
	if (rc == SQLITE_OK && !is_end_of_period)
		rc = is_too_large(writer, &is_too_large_now);
	if (rc || !(is_end_of_period || is_too_large_now))
		return rc;
	rc = wtl_file_begin(&writer->file);
	rc = wtl_file_commit(&writer->file, rc ? rc : trim(writer));
	return rc ? rc : wtl_file_run(&writer->file, "PRAGMA incremental_vacuum");
}
