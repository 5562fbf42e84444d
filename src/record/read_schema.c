/* SPDX-License-Identifier: MIT */
/*
 * A file's schema must be wattle's own, word for word. SQLite takes everything else that can stand there for something
 * to be done: columns that are computed, indexes on expressions, views, tables that a module makes up.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "record/database.h"
#include "record/reader.h"

enum { SQL_MAX = 16384 };

_Static_assert(WTL_PAGE_BYTES == 4096, "as in the text");
static const char page_size[] = "4096";

int wtl_reader_complain(struct wtl_store_reader *reader, int code, struct wtl_err *err)
{
	int rc = wtl_database_errno(reader->db, code);

	if (code == WTL_DATABASE_NO_LIBRARY)
		return wtl_err_set(err, rc, "record", wtl_database_path_shown(reader->path),
				   WTL_DATABASE_NO_LIBRARY_TEXT);
	if (rc == -EBADMSG)
		return wtl_err_set(err, rc, "record", wtl_database_path_shown(reader->path),
				   "it was a recording, but its first pages are damaged: nothing "
				   "can be read");
	return wtl_err_set(err, rc, "record", wtl_database_path_shown(reader->path),
			   "it cannot be read: %s", wtl_err_text(rc));
}

/* What of it differs: "there is no", "table", "fact". */
static int complain(const struct wtl_store_reader *reader, struct wtl_err *err, const char *before,
		    const char *type, const char *name, const char *behind)
{
	return wtl_err_set(err, EBADMSG, "record", wtl_database_path_shown(reader->path),
			   "its tables are not those of a recording: %s%.20s %.60s%s", before, type,
			   name, behind);
}

/* The answer's column, "" where it is NULL. Was there memory for it? */
static bool take_text(struct wtl_store_reader *reader, sqlite3_stmt *stmt, int column,
		      const char **ret_text)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	*ret_text = text ? text : "";
	return text || sqlite3_errcode(reader->db) != SQLITE_NOMEM;
}

/* As this version makes it, or one that did not know its newest columns. 1, 0 or -ENOMEM. */
static int is_own(const struct wtl_table *table, const char *text, struct wtl_buf *sql)
{
	struct wtl_table older = *table;
	int rc = 0;

	for (; rc == 0 && older.n_fields >= older.n_keys; older.n_fields--) {
		wtl_buf_clear(sql);
		rc = wtl_table_create_sql(&older, sql);
		if (rc == 0)
			rc = strcmp(wtl_buf_str(sql), text) == 0;
	}
	return rc;
}

/* The table's bit in *seen is set; sql: room for what it should be. */
static int check_row(struct wtl_store_reader *reader, sqlite3_stmt *stmt, uint64_t *seen,
		     struct wtl_buf *sql, struct wtl_err *err)
{
	const char *text[4]; /* type, name, tbl_name, sql */
	const struct wtl_table *table;
	size_t i = 0;
	int rc;

	for (int k = 0; k < 4; k++)
		if (!take_text(reader, stmt, k, &text[k]))
			return wtl_reader_complain(reader, SQLITE_NOMEM, err);
	while ((table = wtl_table_at(i)) && strcmp(table->name, text[1]) != 0)
		i++;
	if (!table || *seen >> i & 1 || strcmp(text[0], "table") != 0)
		return complain(reader, err, "there is also ", text[0], text[1], "");
	rc = strcmp(text[2], text[1]) == 0 ? is_own(table, text[3], sql) : 0;
	if (rc < 0)
		return wtl_reader_complain(reader, SQLITE_NOMEM, err);
	if (rc == 0)
		return complain(reader, err, "", text[0], text[1], " is not as wattle makes it");
	*seen |= UINT64_C(1) << i;
	return 0;
}

/* Of the database as a whole: the answer to a PRAGMA. */
static int check_setting(struct wtl_store_reader *reader, const char *name, const char *expected,
			 struct wtl_err *err)
{
	const char *text = "";
	sqlite3_stmt *stmt;
	char sql[64];
	int code, rc = 0;

	snprintf(sql, sizeof(sql), "PRAGMA main.%s", name);
	code = sqlite3_prepare_v2(reader->db, sql, -1, &stmt, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_step(stmt);
	if (code == SQLITE_ROW && !take_text(reader, stmt, 0, &text))
		code = SQLITE_NOMEM;
	if (code != SQLITE_ROW)
		rc = wtl_reader_complain(reader, code, err);
	else if (strcmp(text, expected) != 0)
		rc = complain(reader, err, "its ", name, text, " is none of wattle's");
	sqlite3_finalize(stmt);
	return rc;
}

static int check_missing(const struct wtl_store_reader *reader, uint64_t seen, struct wtl_err *err)
{
	const struct wtl_table *table;

	for (size_t i = 0; (table = wtl_table_at(i)); i++)
		if (!(seen >> i & 1))
			return complain(reader, err, "there is no ", "table", table->name, "");
	return 0;
}

int wtl_reader_check_schema(struct wtl_store_reader *reader, struct wtl_err *err)
{
	struct wtl_buf sql;
	sqlite3_stmt *stmt;
	uint64_t seen = 0;
	int rc = 0;
	int code = sqlite3_prepare_v2(reader->db,
				      "SELECT type, name, tbl_name, sql FROM main.sqlite_schema",
				      -1, &stmt, NULL);

	wtl_buf_init(&sql, SQL_MAX);
	while (code == SQLITE_OK || code == SQLITE_ROW) {
		code = sqlite3_step(stmt);
		if (code == SQLITE_ROW)
			rc = check_row(reader, stmt, &seen, &sql, err);
		if (rc < 0)
			break;
	}
	wtl_buf_done(&sql);
	sqlite3_finalize(stmt);
	if (rc == 0 && code != SQLITE_DONE)
		rc = wtl_reader_complain(reader, code, err);
	if (rc == 0)
		rc = check_missing(reader, seen, err);
	if (rc == 0)
		rc = check_setting(reader, "page_size", page_size, err);
	return rc < 0 ? rc : check_setting(reader, "encoding", "UTF-8", err);
}
