/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "record/database.h"
#include "record/reader.h"

/* ---- Rows, and the way around those that cannot be read ---- */

enum { STEPS_MAX = 4096 };

struct cursor {
	struct wtl_rows rows;
	void *row;
	bool has_key; /* a number, so that reading can go on behind a damaged page */
	int64_t next;
};

static int cursor_open(struct cursor *cursor, sqlite3 *db, const struct wtl_table *table)
{
	char rest[128], order[64] = "";
	int rc;

	*cursor = (struct cursor){.has_key = wtl_table_has_rowid(table)};
	/* No row has a number below 0, but that has to be seen. */
	if (cursor->has_key)
		cursor->next = INT64_MIN;
	for (size_t i = 0; i < table->n_keys; i++)
		snprintf(order + 2 * i, sizeof(order) - 2 * i, i ? ",%zu" : "%zu", i + 1);
	if (cursor->has_key)
		snprintf(rest, sizeof(rest), " WHERE %s >= ? ORDER BY 1", table->fields[0].name);
	else
		snprintf(rest, sizeof(rest), " ORDER BY %s", order);
	rc = wtl_rows_prepare(&cursor->rows, db, table, rest);
	if (rc)
		return wtl_database_errno(db, rc);
	cursor->row = malloc(table->size);
	return cursor->row ? 0 : -ENOMEM;
}

static void cursor_done(struct cursor *cursor)
{
	wtl_rows_done(&cursor->rows);
	free(cursor->row);
}

/* All rows from cursor->next on as far as they can be reached. SQLite's code, or in *ret_ended what a
 * callback returned. */
static int scan_on(struct wtl_store_reader *reader, struct cursor *cursor,
		   const struct wtl_scan *scan, int *ret_ended)
{
	sqlite3_stmt *stmt = cursor->rows.stmt;
	int rc;

	if (cursor->has_key)
		sqlite3_bind_int64(stmt, 1, cursor->next);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		int64_t key = sqlite3_column_int64(stmt, 0);

		/* Rows out of order are damage as well, and could go round for ever. */
		if (cursor->has_key && key < cursor->next)
			return SQLITE_CORRUPT;
		if (wtl_row_get(&cursor->rows, cursor->row) == 0 &&
		    wtl_row_is_sound(cursor->rows.table, cursor->row)) {
			*ret_ended = scan->row(scan->context, cursor->row);
		} else {
			reader->is_damaged = true;
			if (scan->damaged)
				*ret_ended = scan->damaged(scan->context, key, false);
		}
		if (*ret_ended || key == INT64_MAX)
			return SQLITE_DONE;
		cursor->next = key + 1;
		/* Each byte of a file is in one value. */
		if (cursor->rows.n_bytes > reader->guard.bytes)
			return SQLITE_INTERRUPT;
	}
	return rc;
}

static bool is_damage(int code)
{
	code &= 0xff;
	return code == SQLITE_CORRUPT || code == SQLITE_IOERR || code == SQLITE_NOTADB ||
	       code == SQLITE_TOOBIG || code == SQLITE_INTERRUPT;
}

bool wtl_reader_is_copied(const struct wtl_table *table)
{
	/* Not these: a reader knows all that it needs of them, or looks their rows up by number. */
	return table != &wtl_table_recording && table != &wtl_table_fact &&
	       table != &wtl_table_series && table != &wtl_table_period &&
	       table != &wtl_table_part && table != &wtl_table_chunk;
}

/* NULL: they are read from the file. */
static const struct wtl_buf *copies_of(const struct wtl_store_reader *reader,
				       const struct wtl_table *table)
{
	size_t i = 0;

	if (!reader->has_copies || !wtl_reader_is_copied(table))
		return NULL;
	while (wtl_table_at(i) != table)
		i++;
	return &reader->copies[i];
}

static int scan_copies(const struct wtl_buf *copies, const struct wtl_table *table,
		       const struct wtl_scan *scan)
{
	const uint8_t *at = (const uint8_t *)wtl_buf_str(copies), *end = at + copies->len;
	void *row = malloc(table->size);
	int ended = row ? 0 : -ENOMEM;

	while (ended == 0 && at < end) {
		wtl_row_unpack(&at, end, row);
		ended = scan->row(scan->context, row);
	}
	free(row);
	return ended;
}

int wtl_reader_scan(struct wtl_store_reader *reader, const struct wtl_table *table,
		    const struct wtl_scan *scan)
{
	const struct wtl_buf *copies = copies_of(reader, table);
	struct cursor cursor;
	int64_t step = 1;
	int ended;

	if (copies)
		return scan_copies(copies, table, scan);
	wtl_guard_start(&reader->guard);
	ended = cursor_open(&cursor, reader->db, table);
	for (int i = 0; ended == 0 && i < STEPS_MAX; i++) {
		int64_t before = cursor.next;
		int rc = scan_on(reader, &cursor, scan, &ended);

		sqlite3_reset(cursor.rows.stmt);
		if (rc == SQLITE_DONE || ended)
			break;
		if (!is_damage(rc)) {
			ended = wtl_database_errno(reader->db, rc);
			break;
		}
		reader->is_damaged = true;
		if (cursor.next < 0)
			cursor.next = 0;
		else if (cursor.next != before)
			step = 1;
		if (step == 1 && scan->damaged)
			ended = scan->damaged(scan->context, cursor.next, true);
		/* Other pages may be sound: it tries further and further behind. */
		if (!cursor.has_key || cursor.next > INT64_MAX / 2 - step ||
		    (rc & 0xff) == SQLITE_INTERRUPT)
			break;
		cursor.next += step;
		step *= 2;
	}
	cursor_done(&cursor);
	return ended;
}

/* ---- The tables ---- */

struct each {
	struct wtl_store_reader *reader;
	void *context;
	union {
		int (*domain)(void *, uint32_t, const struct wtl_stored_domain *);
		int (*channel)(void *, uint32_t, const struct wtl_channel *);
		int (*miss)(void *, uint32_t, const struct wtl_miss *);
		int (*consumer)(void *, const struct wtl_stored_consumer *);
		int (*window)(void *, const struct wtl_stored_window *);
		int (*gap)(void *, const struct wtl_stored_gap *);
		int (*account)(void *, const struct wtl_stored_account *);
		int (*baseline)(void *, const struct wtl_stored_baseline *);
	} row;
	/* For windows: energies that no callback has had yet, in the file or in the copies. */
	struct wtl_rows energy_rows;
	const uint8_t *copies_at, *copies_end;
	struct wattle_energy *energies;
	size_t energies_room;
	bool has_energies;
};

static int each(struct each *each, const struct wtl_table *table, int (*row)(void *, const void *))
{
	const struct wtl_scan scan = {.row = row, .context = each};

	return wtl_reader_scan(each->reader, table, &scan);
}

static int domain_row(void *context, const void *at)
{
	const struct each *each = context;
	const struct wtl_row_domain *row = at;

	return each->row.domain(each->context, row->id, &row->domain);
}

int wtl_store_each_domain(struct wtl_store_reader *reader,
			  int (*row)(void *, uint32_t, const struct wtl_stored_domain *),
			  void *context)
{
	struct each all = {.reader = reader, .context = context, .row.domain = row};

	return each(&all, &wtl_table_domain, domain_row);
}

static int channel_row(void *context, const void *at)
{
	const struct each *each = context;
	const struct wtl_row_channel *row = at;
	struct wtl_sensor_class class = row->class;
	struct wtl_channel channel = row->channel;

	class.name = row->class_name;
	channel.source = row->source;
	channel.class = row->has_class ? &class : NULL;
	return each->row.channel(each->context, row->id, &channel);
}

int wtl_store_each_channel(struct wtl_store_reader *reader,
			   int (*row)(void *, uint32_t, const struct wtl_channel *), void *context)
{
	struct each all = {.reader = reader, .context = context, .row.channel = row};

	return each(&all, &wtl_table_channel, channel_row);
}

static int miss_row(void *context, const void *at)
{
	const struct each *each = context;
	const struct wtl_row_miss *row = at;
	struct wtl_miss miss = row->miss;

	miss.source = row->source;
	return each->row.miss(each->context, row->id, &miss);
}

int wtl_store_each_miss(struct wtl_store_reader *reader,
			int (*row)(void *, uint32_t, const struct wtl_miss *), void *context)
{
	struct each all = {.reader = reader, .context = context, .row.miss = row};

	return each(&all, &wtl_table_miss, miss_row);
}

static int consumer_row(void *context, const void *at)
{
	const struct each *each = context;
	const struct wtl_row_consumer *row = at;
	struct wtl_stored_consumer stored = row->stored;

	wtl_group_find_step(&stored.group);
	stored.consumer.group = row->has_group ? &stored.group : NULL;
	stored.consumer.command = stored.command[0] ? stored.command : NULL;
	return each->row.consumer(each->context, &stored);
}

int wtl_store_each_consumer(struct wtl_store_reader *reader,
			    int (*row)(void *, const struct wtl_stored_consumer *), void *context)
{
	struct each all = {.reader = reader, .context = context, .row.consumer = row};

	return each(&all, &wtl_table_consumer, consumer_row);
}

/* The next row of that window; rows of windows before it are passed over. false: there is none. */
static bool next_copy(struct each *each, uint32_t window, struct wtl_row_energy *row)
{
	while (each->copies_at < each->copies_end) {
		const uint8_t *at = each->copies_at;

		wtl_row_unpack(&at, each->copies_end, row);
		if (row->window > window)
			return false;
		each->copies_at = at;
		if (row->window == window)
			return true;
	}
	return false;
}

static bool next_energy(struct each *each, uint32_t window, struct wtl_row_energy *row)
{
	struct wtl_rows *rows = &each->energy_rows;

	if (!rows->stmt)
		return next_copy(each, window, row);
	while (sqlite3_step(rows->stmt) == SQLITE_ROW) {
		if (wtl_row_get(rows, row) == 0 && wtl_row_is_sound(&wtl_table_energy, row))
			return true;
		each->reader->is_damaged = true;
	}
	return false;
}

/* A window's total and domains; of those that are damaged, nothing is known. */
static int read_energies(struct each *each, struct wtl_stored_window *window)
{
	struct wtl_row_energy row;
	int rc = 0;

	if (each->energy_rows.stmt)
		sqlite3_bind_int64(each->energy_rows.stmt, 1, window->id);
	while (rc == 0 && next_energy(each, window->id, &row)) {
		size_t domain;

		if (row.domain == -1) {
			window->total = row.energy;
			continue;
		}
		domain = (size_t)row.domain;
		rc = wtl_array_reserve(&each->energies, &each->energies_room, domain + 1,
				       sizeof(each->energies[0]));
		for (; rc == 0 && window->n_energies <= domain; window->n_energies++)
			each->energies[window->n_energies] =
				(struct wattle_energy){.status = WATTLE_STATUS_FAILED};
		if (rc == 0)
			each->energies[domain] = row.energy;
	}
	if (sqlite3_reset(each->energy_rows.stmt) == SQLITE_NOMEM)
		rc = -ENOMEM;
	window->energies = each->energies;
	return rc;
}

static int window_row(void *context, const void *at)
{
	struct each *each = context;
	const struct wtl_row_window *row = at;
	struct wtl_stored_window window = row->stored;
	int rc = 0;

	window.total = (struct wattle_energy){.status = WATTLE_STATUS_FAILED};
	if (each->has_energies)
		rc = read_energies(each, &window);
	return rc < 0 ? rc : each->row.window(each->context, &window);
}

int wtl_store_each_window(struct wtl_store_reader *reader,
			  int (*row)(void *, const struct wtl_stored_window *), void *context)
{
	struct each all = {
		.reader = reader,
		.context = context,
		.row.window = row,
		.has_energies = true,
	};
	const struct wtl_buf *copies = copies_of(reader, &wtl_table_energy);
	int rc = SQLITE_OK;

	if (copies) {
		all.copies_at = (const uint8_t *)wtl_buf_str(copies);
		all.copies_end = all.copies_at + copies->len;
	} else {
		rc = wtl_rows_prepare(&all.energy_rows, reader->db, &wtl_table_energy,
				      " WHERE window = ? ORDER BY domain");
	}
	rc = rc ? wtl_database_errno(reader->db, rc) : each(&all, &wtl_table_window, window_row);
	wtl_rows_done(&all.energy_rows);
	free(all.energies);
	return rc;
}

static int pass_over(void *context, const void *row)
{
	(void)context;
	(void)row;
	return 0;
}

int wtl_store_look_at_energies(struct wtl_store_reader *reader)
{
	const struct wtl_scan scan = {.row = pass_over};

	return wtl_reader_scan(reader, &wtl_table_energy, &scan);
}

int wtl_store_each_window_bare(struct wtl_store_reader *reader,
			       int (*row)(void *, const struct wtl_stored_window *), void *context)
{
	struct each all = {.reader = reader, .context = context, .row.window = row};

	return each(&all, &wtl_table_window, window_row);
}

/* Of tables whose rows are given as they stand. */
#define EACH(name, type, member)                                                           \
	static int name##_row(void *context, const void *at)                               \
	{                                                                                  \
		const struct each *each = context;                                         \
		const struct wtl_row_##name *row = at;                                     \
                                                                                           \
		return each->row.name(each->context, &row->member);                        \
	}                                                                                  \
                                                                                           \
	int wtl_store_each_##name(struct wtl_store_reader *reader,                         \
				  int (*row)(void *, const struct type *), void *context)  \
	{                                                                                  \
		struct each all = {.reader = reader, .context = context, .row.name = row}; \
                                                                                           \
		return each(&all, &wtl_table_##name, name##_row);                          \
	}

EACH(gap, wtl_stored_gap, gap)
EACH(account, wtl_stored_account, account)
EACH(baseline, wtl_stored_baseline, stored)
