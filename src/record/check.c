/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "record/database.h"
#include "record/reader.h"

enum { LINE_SIZE = 320, STRUCTURE_LINES_MAX = 20, ROW_LINES_MAX = 20, PAGES_MAX = 1 << 28 };

struct check {
	struct wtl_store_reader *reader;
	void (*line)(void *context, const char *text);
	void *context;
	int n_lines;
	const struct wtl_table *table;
	size_t n_rows; /* of the table, that are damaged */
};

static void report(struct check *check, const char *text)
{
	char clean[LINE_SIZE];

	check->n_lines++;
	check->line(check->context, wtl_text_clean(clean, sizeof(clean), text, strlen(text)));
}

/* ---- SQLite's own structure ---- */

static int64_t count_pages(struct check *check)
{
	sqlite3_stmt *stmt;
	int64_t n = 0;

	if (sqlite3_prepare_v2(check->reader->db, "PRAGMA main.page_count", -1, &stmt, NULL) ==
		    SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return n;
}

static void check_structure(struct check *check)
{
	sqlite3_stmt *stmt;
	char line[LINE_SIZE];
	int64_t n_pages = count_pages(check);
	int n = 0, rc;

	/* SQLite has a bit for each, and a file with holes can have any number. */
	if (n_pages > PAGES_MAX) {
		snprintf(line, sizeof(line),
			 "structure: it has %lld pages, 1 TiB or more: too many to check",
			 (long long)n_pages);
		report(check, line);
		return;
	}
	wtl_guard_start(&check->reader->guard);
	snprintf(line, sizeof(line), "PRAGMA main.quick_check(%d)", STRUCTURE_LINES_MAX);
	rc = sqlite3_prepare_v2(check->reader->db, line, -1, &stmt, NULL);
	while (rc == SQLITE_OK && n < STRUCTURE_LINES_MAX && sqlite3_step(stmt) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(stmt, 0);

		if (!text || strcmp(text, "ok") == 0)
			continue;
		/* "*** in database main ***\n" comes before what is wrong. */
		if (strncmp(text, "*** ", 4) == 0 && strchr(text, '\n'))
			text = strchr(text, '\n') + 1;
		snprintf(line, sizeof(line), "structure: %s", text);
		line[strcspn(line, "\n")] = '\0';
		report(check, line);
		n++;
	}
	sqlite3_finalize(stmt);
}

static void check_wal(struct check *check)
{
	const char *path = wtl_database_path_shown(check->reader->path);
	char line[LINE_SIZE];

	if (!check->reader->lacks_wal)
		return;
	snprintf(line, sizeof(line), "its newest part is in %.200s-wal, %s", path,
		 wtl_database_may_read_wal(check->reader->path)
			 ? "which cannot be read in a directory where you may not write: copy both "
			   "to one where you may"
			 : "which only its owner may read; it is in the file when the recording "
			   "has ended");
	report(check, line);
}

/* ---- Tables ---- */

static int row_is_fine(void *context, const void *row)
{
	(void)context;
	(void)row;
	return 0;
}

static int row_is_damaged(void *context, int64_t key, bool is_page)
{
	struct check *check = context;
	const char *name = check->table->fields[0].name;
	char line[LINE_SIZE];

	if (++check->n_rows > ROW_LINES_MAX)
		return 0;
	if (check->table->fields[0].kind == WTL_FIELD_TEXT)
		snprintf(line, sizeof(line), "table %s: %s", check->table->name,
			 is_page ? "rows cannot be reached" : "a row is damaged");
	else
		snprintf(line, sizeof(line), "table %s: %s %lld%s", check->table->name, name,
			 (long long)key,
			 is_page ? ": rows from here on cannot be reached" : " is damaged");
	report(check, line);
	return 0;
}

static int check_table(struct check *check, const struct wtl_table *table)
{
	const struct wtl_scan scan = {
		.row = row_is_fine,
		.damaged = row_is_damaged,
		.context = check,
	};
	char line[LINE_SIZE];
	int rc;

	check->table = table;
	check->n_rows = 0;
	rc = wtl_reader_scan(check->reader, table, &scan);
	if (rc < 0 && rc != -ENOMEM) {
		snprintf(line, sizeof(line), "table %s: it cannot be read", table->name);
		report(check, line);
	}
	if (check->n_rows > ROW_LINES_MAX) {
		snprintf(line, sizeof(line), "table %s: and %zu more", table->name,
			 check->n_rows - ROW_LINES_MAX);
		report(check, line);
	}
	return rc == -ENOMEM ? rc : 0;
}

static void check_fit(struct check *check)
{
	char line[LINE_SIZE];

	if (!check->reader->misfit)
		return;
	snprintf(line, sizeof(line), "table %s: its rows do not fit each other",
		 check->reader->misfit->name);
	report(check, line);
}

/* ---- Series ---- */

static int check_period(struct check *check, size_t period)
{
	struct wtl_store_reader *reader = check->reader;
	struct wtl_err err = {.text = ""};
	const int64_t *values;
	size_t n;

	for (uint32_t series = 0; series < reader->names.n; series++) {
		int rc = wtl_store_values(reader, series, period, &values, &n, &err);

		if (rc == -ENOMEM)
			return rc;
		if (rc < 0)
			report(check, err.text);
		/* It is the same for all series. */
		if (reader->periods[period].is_lost || reader->period_error)
			break;
	}
	return 0;
}

int wtl_store_check(const char *path, void (*line)(void *context, const char *text), void *context,
		    struct wtl_err *err)
{
	struct check check = {.line = line, .context = context};
	const struct wtl_table *table;
	int rc = wtl_reader_open(path, true, &check.reader, err);

	if (rc < 0)
		return rc;
	check_structure(&check);
	check_wal(&check);
	check_fit(&check);
	/* Parts and chunks are checked as the values that they hold. */
	for (size_t i = 0; rc == 0 && (table = wtl_table_at(i)); i++)
		if (table != &wtl_table_part && table != &wtl_table_chunk)
			rc = check_table(&check, table);
	for (size_t i = 0; rc == 0 && i < check.reader->n_periods; i++)
		rc = check_period(&check, i);
	wtl_store_close(check.reader);
	if (rc < 0)
		return wtl_err_set(err, rc, "record", path, "out of memory");
	return check.n_lines;
}
