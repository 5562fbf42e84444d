/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "record/reader.h"

/*
 * While a read transaction is open, SQLite cannot empty the writer's WAL: a screen that is left open over
 * night would let it grow by gigabytes. So whatever the writer may still change is copied at the opening,
 * and the transaction ended. What is left in the file are chunks, which are never changed, but may be
 * dropped by a ring.
 */

enum { SQL_MAX = 65536 };

struct copy {
	struct wtl_store_reader *reader;
	const struct wtl_table *table;
	sqlite3_stmt *insert;
};

static int copy_row(void *context, const void *row)
{
	const struct copy *copy = context;
	int rc = wtl_row_bind(copy->insert, copy->table, &copy->reader->crc, row);

	if (rc == SQLITE_OK)
		sqlite3_step(copy->insert);
	return rc == SQLITE_OK && sqlite3_reset(copy->insert) == SQLITE_OK ? 0 : -ENOMEM;
}

static int prepare_copy(sqlite3 *db, const struct wtl_table *table, sqlite3_stmt **ret_insert)
{
	struct wtl_buf sql;
	int rc = SQLITE_NOMEM;

	wtl_buf_init(&sql, SQL_MAX);
	if (wtl_table_create_sql(table, &sql) == 0)
		rc = sqlite3_exec(db, wtl_buf_str(&sql), NULL, NULL, NULL);
	wtl_buf_clear(&sql);
	if (rc == SQLITE_OK && wtl_table_insert_sql(table, &sql) < 0)
		rc = SQLITE_NOMEM;
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, wtl_buf_str(&sql), -1, ret_insert, NULL);
	wtl_buf_done(&sql);
	return rc == SQLITE_OK ? 0 : -ENOMEM;
}

static int copy_table(struct wtl_store_reader *reader, sqlite3 *copies,
		      const struct wtl_table *table)
{
	struct copy copy = {.reader = reader, .table = table};
	const struct wtl_scan scan = {.row = copy_row, .context = &copy};
	int rc = prepare_copy(copies, table, &copy.insert);

	if (rc == 0)
		rc = wtl_reader_scan(reader, table, &scan);
	sqlite3_finalize(copy.insert);
	return rc;
}

static int copy_tables(struct wtl_store_reader *reader)
{
	const struct wtl_table *table;
	sqlite3 *copies = NULL;
	int rc = 0;

	if (sqlite3_open_v2(":memory:", &copies,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY |
				    SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK ||
	    sqlite3_exec(copies, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
		rc = -ENOMEM;
	for (size_t i = 0; rc == 0 && (table = wtl_table_at(i)); i++)
		if (wtl_reader_is_copied(table))
			rc = copy_table(reader, copies, table);
	if (rc == 0 && sqlite3_exec(copies, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		rc = -ENOMEM;
	if (rc == 0)
		reader->copies = copies;
	else
		sqlite3_close(copies);
	return rc;
}

static int copy_parts(struct wtl_store_reader *reader)
{
	uint64_t before = reader->n_bytes_read;

	for (size_t i = 0; i < reader->n_periods; i++) {
		struct wtl_read_period *period = &reader->periods[i];

		if (period->n_parts == 0)
			continue;
		period->is_copied = true;
		/* Together they are no larger than the file. */
		period->error = -EBADMSG;
		if (reader->n_bytes_read - before <= reader->guard.bytes)
			period->error = wtl_reader_load_parts(reader, period, &period->parts);
		if (period->error == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}

int wtl_reader_let_go(struct wtl_store_reader *reader)
{
	int rc = copy_parts(reader);

	if (rc == 0)
		rc = copy_tables(reader);
	if (rc == 0)
		rc = wtl_reader_prepare_lookups(reader);
	/* What cannot be read is an error where it is read, as in any other file. */
	if (rc == -ENOMEM)
		return rc;
	if (rc == 0)
		sqlite3_exec(reader->db, "COMMIT", NULL, NULL, NULL);
	/* Whoever writes it may also change its schema from now on. */
	reader->guard.is_closed = rc == 0;
	return 0;
}
