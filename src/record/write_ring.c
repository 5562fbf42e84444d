/* SPDX-License-Identifier: MIT */
#include "record/vfs.h"
#include "record/writer.h"

/*
 * A ring of max_bytes is made of: the WAL, which is emptied into the database when it has its share but may
 * have a period's chunks beyond that; the parts of the present period and of the one being merged; and
 * the rest, which may fill up before the oldest period goes.
 *
 * Those shares are what usually does. That max_bytes is kept at every moment is the VFS's doing: it refuses what has
 * no room, and the transaction is tried again with an empty WAL, and then with less and less history. A part of
 * the ring is kept free of the database, since dropping takes some room in the WAL as well.
 */

enum {
	SHARE_OF_WAL = 8,
	SHARE_OF_PERIOD = 16,
	PERIODS_IN_RESERVE = 3, /* two as parts, one in the WAL */
	/* The newest ones stay, whatever the limits say: the present one and the one before, of which nothing
	 * is missing, or the last two when all is over. */
	PERIODS_KEPT = 2,
	VACUUM_PAGES = 8,
	ROWS_AT_ONCE = 32,
};

#define HAS_MORE_THAN_KEPT "SELECT count(*) FROM (SELECT 1 FROM period LIMIT 1 OFFSET 2)"
_Static_assert(PERIODS_KEPT == 2, "the offset is that");

#define WAL_BYTES_MAX	 (UINT64_C(4) << 20)
#define PERIOD_BYTES_MAX (UINT64_C(8) << 20)

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

uint64_t wtl_ring_kept_bytes(const struct wtl_store_options *options)
{
	return wtl_ring_wal_bytes(options) +
	       (PERIODS_IN_RESERVE - 1) * wtl_ring_period_bytes(options);
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

int wtl_ring_grown_bytes(struct wtl_store_writer *writer, bool ends_period, uint64_t *ret_bytes)
{
	uint64_t bytes;
	int rc;

	*ret_bytes = 0;
	if (writer->options.max_bytes == 0)
		return SQLITE_OK;
	rc = used_bytes(writer, &bytes);
	/* What is there at first is no period's. */
	if (rc == SQLITE_OK &&
	    (ends_period || bytes < writer->period_base || writer->period_base == 0))
		writer->period_base = bytes;
	if (rc == SQLITE_OK)
		*ret_bytes = bytes - writer->period_base;
	return rc;
}

/* ---- Room ---- */

typedef int (*transaction_fn)(struct wtl_store_writer *writer, void *context);

static int empty_wal(struct wtl_store_writer *writer)
{
	return wtl_file_empty_wal(&writer->file, writer->options.busy_ms);
}

/* With all the room that there is. */
static int write_once(struct wtl_store_writer *writer, transaction_fn transaction, void *context)
{
	uint64_t wal_bytes = wtl_vfs_wal_bytes(writer->file.vfs);
	int rc = transaction(writer, context);

	if (rc != WTL_FILE_LIMIT)
		return rc;
	rc = empty_wal(writer);
	if (rc)
		return rc;
	return wal_bytes > 0 ? transaction(writer, context) : WTL_FILE_LIMIT;
}

/* What is free at the database's end is the file system's again, when the WAL is emptied. */
static int shrink(struct wtl_store_writer *writer)
{
	struct wtl_file *file = &writer->file;
	int64_t n_free = 0;
	int rc = wtl_file_vacuum(file, 0);

	if (rc != WTL_FILE_LIMIT)
		return rc;
	do {
		rc = empty_wal(writer);
		if (rc == SQLITE_OK)
			rc = wtl_file_vacuum(file, VACUUM_PAGES);
		if (rc == SQLITE_OK)
			rc = wtl_file_number(file, "PRAGMA freelist_count", &n_free);
	} while (rc == SQLITE_OK && n_free > 0);
	return rc == WTL_FILE_LIMIT ? SQLITE_OK : rc;
}

/* ---- Dropping ---- */

/* The period, and accounts: they are of all that was recorded. */
static int drop_values(struct wtl_store_writer *writer, void *context)
{
	const struct oldest *oldest = context;
	struct wtl_file *file = &writer->file;
	int64_t id = oldest->period.id;
	int rc = wtl_file_begin(file);

	if (rc == SQLITE_OK)
		rc = wtl_file_run(file, "DELETE FROM account");
	if (rc == SQLITE_OK)
		rc = wtl_file_run_with(file, "DELETE FROM chunk WHERE id >= ? AND id < ?",
				       id * WTL_STORE_SERIES_MAX, (id + 1) * WTL_STORE_SERIES_MAX);
	if (rc == SQLITE_OK)
		rc = wtl_file_run_with(file, "DELETE FROM part WHERE id >= ? AND id < ?",
				       id * WTL_PARTS_MAX, (id + 1) * WTL_PARTS_MAX);
	if (rc == SQLITE_OK)
		rc = wtl_file_run_with(file, "DELETE FROM period WHERE id = ?", id, 0);
	return wtl_file_commit(file, rc);
}

/* What is told of times before that period only. */
static int drop_rows(struct wtl_store_writer *writer, void *context)
{
	const struct wtl_row_period *period = context;
	struct wtl_file *file = &writer->file;
	int64_t begin_ns = period->begin_mono_ns;
	int rc = wtl_file_begin(file);

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
	return wtl_file_commit(file, rc);
}

struct crowd {
	int64_t end_period; /* they ended before that one */
	int n_dropped;
};

static int drop_some_consumers(struct wtl_store_writer *writer, void *context)
{
	struct crowd *crowd = context;
	struct wtl_file *file = &writer->file;
	int rc = wtl_file_begin(file);

	if (rc == SQLITE_OK)
		rc = wtl_file_run_with(file,
				       "DELETE FROM consumer WHERE id IN (SELECT id FROM consumer "
				       "WHERE end_period > 0 AND end_period < ? LIMIT ?)",
				       crowd->end_period, ROWS_AT_ONCE);
	crowd->n_dropped = sqlite3_changes(file->db);
	return wtl_file_commit(file, rc);
}

/* In a small ring, the WAL may have no room for a crowd that goes at once. */
static int drop_rows_by_pieces(struct wtl_store_writer *writer, struct wtl_row_period *period)
{
	struct crowd crowd = {.end_period = period->id};
	int rc;

	do {
		rc = write_once(writer, drop_some_consumers, &crowd);
	} while (rc == SQLITE_OK && crowd.n_dropped > 0);
	return rc ? rc : write_once(writer, drop_rows, period);
}

/* The oldest, and what nobody needs who has the others. */
static int drop(struct wtl_store_writer *writer, struct oldest *oldest)
{
	struct wtl_merge *merge = &writer->merge;
	int rc = write_once(writer, drop_values, oldest);

	if (rc)
		return rc;
	writer->has_dropped = true;
	if (merge->gather.period.id == oldest->period.id)
		merge->is_active = false;
	rc = find_oldest(writer, oldest);
	if (rc == SQLITE_OK && oldest->period.id == 0)
		oldest->period = writer->gather.period;
	if (rc || oldest->is_damaged || oldest->period.id == 0)
		return rc;
	rc = write_once(writer, drop_rows, &oldest->period);
	if (rc == WTL_FILE_LIMIT)
		rc = drop_rows_by_pieces(writer, &oldest->period);
	/* Without room for that they go with the next one. */
	return rc == WTL_FILE_LIMIT ? SQLITE_OK : rc;
}

/* All but the present period may go for what comes now. */
static int make_room(struct wtl_store_writer *writer)
{
	struct oldest oldest;
	int rc = find_oldest(writer, &oldest);

	if (rc)
		return rc;
	if (oldest.period.id == 0 || oldest.period.id == writer->gather.period.id)
		return WTL_FILE_LIMIT;
	rc = drop(writer, &oldest);
	return rc ? rc : shrink(writer);
}

int wtl_ring_write(struct wtl_store_writer *writer, transaction_fn transaction, void *context)
{
	struct wtl_file *file = &writer->file;
	int rc = SQLITE_OK;

	/* As long as somebody reads, it waits. */
	if (writer->options.max_bytes > 0 &&
	    wtl_vfs_wal_bytes(file->vfs) > wtl_ring_wal_bytes(&writer->options))
		rc = wtl_file_empty_wal(file, 0);
	if (rc && rc != SQLITE_BUSY_SNAPSHOT)
		return rc;
	rc = write_once(writer, transaction, context);
	while (rc == WTL_FILE_LIMIT) {
		rc = make_room(writer);
		if (rc == SQLITE_OK)
			rc = write_once(writer, transaction, context);
		else
			break;
	}
	return rc;
}

int wtl_ring_write_newest(struct wtl_store_writer *writer, transaction_fn transaction,
			  void *context)
{
	int rc = wtl_ring_write(writer, transaction, context);

	if (rc != WTL_FILE_LIMIT)
		return rc;
	writer->is_over = writer->is_over_now = true;
	wtl_vfs_limit(writer->file.vfs, 0, 0);
	return transaction(writer, context);
}

/* What had no room may have left. */
static int limit_again(struct wtl_store_writer *writer)
{
	const struct wtl_store_options *options = &writer->options;
	uint64_t bytes;
	int rc = used_bytes(writer, &bytes);

	if (rc || bytes > database_bytes_max(options))
		return rc;
	rc = shrink(writer);
	if (rc == SQLITE_OK)
		rc = wtl_file_empty_wal(&writer->file, 0);
	if (rc)
		return rc == SQLITE_BUSY_SNAPSHOT ? SQLITE_OK : rc;
	wtl_vfs_limit(writer->file.vfs, options->max_bytes, wtl_ring_kept_bytes(options));
	writer->is_over_now = false;
	return rc;
}

/* ---- Trimming ---- */

static int trim(struct wtl_store_writer *writer)
{
	const struct wtl_store_options *options = &writer->options;
	struct oldest oldest;
	int rc = find_oldest(writer, &oldest);

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
	return rc ? rc : shrink(writer);
}

int wtl_ring_trim(struct wtl_store_writer *writer, bool is_end_of_period)
{
	const struct wtl_store_options *options = &writer->options;
	bool is_too_large_now = false;
	int rc = SQLITE_OK;

	if (options->max_bytes == 0 && options->max_age_ns == 0)
		return SQLITE_OK;
	if (writer->is_over_now)
		rc = limit_again(writer);
	if (rc == SQLITE_OK && !is_end_of_period)
		rc = is_too_large(writer, &is_too_large_now);
	if (rc || !(is_end_of_period || is_too_large_now))
		return rc;
	rc = trim(writer);
	return rc == WTL_FILE_LIMIT ? SQLITE_OK : rc;
}
