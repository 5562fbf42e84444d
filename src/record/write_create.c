/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/outfile.h"
#include "record/database.h"
#include "record/writer.h"

/*
 * A recording begins in a file of another name, and gets its own when its tables are in it. So a recorder that is
 * killed never leaves anything of that name that is no recording.
 */

enum { BUSY_MS = 10000, SQL_MAX = 65536 };

/* ---- Words ---- */

static int complain_new(struct wtl_file *file, int code, struct wtl_err *err)
{
	const char *path = wtl_database_path_shown(file->path);
	int rc = code < 0 ? code : wtl_file_errno(file, code);

	return wtl_err_set(err, rc, "record", path, "no recording can be made there: %s",
			   wtl_err_text(rc));
}

static int complain_exists(struct wtl_file *file, struct wtl_err *err)
{
	const char *path = wtl_database_path_shown(file->path);

	if (wtl_database_is_locked(path))
		return wtl_err_set(err, EEXIST, "record", path,
				   "another recorder is writing this file right now");
	return wtl_err_set(err, EEXIST, "record", path,
			   "there is a file of that name already; a recording never replaces one");
}

/* ---- A file with its tables ---- */

/* The journal of what comes before the WAL is in memory: in a file, it could be somebody else's. */
static int connect(struct wtl_file *file, const char *path)
{
	int rc =
		sqlite3_open_v2(path, &file->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

	if (rc)
		return rc;
	sqlite3_extended_result_codes(file->db, 1);
	sqlite3_busy_timeout(file->db, BUSY_MS);
	return wtl_file_run(file, "PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY;"
				  "PRAGMA synchronous=FULL; PRAGMA journal_mode=MEMORY");
}

static int make_tables(struct wtl_file *file, const struct wtl_row_recording *recording)
{
	const struct wtl_table *table;
	struct wtl_buf sql;
	int rc = SQLITE_NOMEM;

	wtl_buf_init(&sql, SQL_MAX);
	wtl_buf_printf(&sql,
		       "PRAGMA page_size=%d;"
		       "PRAGMA auto_vacuum=INCREMENTAL;"
		       "PRAGMA synchronous=OFF;" /* it is synced as it enters the WAL */
		       "BEGIN IMMEDIATE;"
		       "PRAGMA application_id=%d;"
		       "PRAGMA user_version=%d;",
		       WTL_PAGE_BYTES, WTL_APPLICATION_ID, WTL_FORMAT_VERSION);
	for (size_t i = 0; (table = wtl_table_at(i)); i++) {
		wtl_table_create_sql(table, &sql);
		wtl_buf_putc(&sql, ';');
	}
	if (!sql.error)
		rc = wtl_file_run(file, wtl_buf_str(&sql));
	wtl_buf_done(&sql);
	if (rc == SQLITE_OK)
		rc = wtl_file_put(file, &wtl_table_recording, recording);
	return rc ? rc : wtl_file_run(file, "COMMIT");
}

/* The file, with nobody connected to it. */
static int prepare(struct wtl_file *file, const struct wtl_row_recording *recording,
		   struct wtl_err *err)
{
	char temp[PATH_MAX];
	int fd = wtl_outfile_temp(file->path, 0666, temp, sizeof(temp)), rc;

	if (fd < 0)
		return complain_new(file, fd, err);
	close(fd);
	rc = connect(file, temp);
	if (rc == SQLITE_OK)
		rc = make_tables(file, recording);
	if (rc)
		rc = complain_new(file, rc, err);
	wtl_file_disconnect(file, rc == 0);
	if (rc == 0) {
		rc = wtl_outfile_name(temp, file->path);
		if (rc == -EEXIST)
			complain_exists(file, err);
		else if (rc < 0)
			complain_new(file, rc, err);
	}
	if (rc < 0)
		unlink(temp);
	return rc;
}

/* ---- Opening ---- */

/* SQLite would take files of those names for its own, and remove them: of a recording that was killed, or of
 * somebody who calls his files like that. */
static int check_beside(struct wtl_file *file, struct wtl_err *err)
{
	const char *path = wtl_database_path_shown(file->path);

	for (size_t i = 1; i < WTL_FILE_ENDS; i++) {
		char *beside;
		struct stat st;
		bool has;

		if (asprintf(&beside, "%s%s", path, wtl_file_ends[i]) < 0)
			return wtl_err_set(err, ENOMEM, "record", path, "out of memory");
		has = lstat(beside, &st) == 0 && (!S_ISREG(st.st_mode) || st.st_size > 0);
		free(beside);
		if (has)
			return wtl_err_set(err, EEXIST, "record", path,
					   "there is a file %s%s already, and SQLite would take it "
					   "for its own; a recording never replaces one",
					   path, wtl_file_ends[i]);
	}
	return 0;
}

/* From here on, readers and the writer do not wait for each other. */
static int enter_wal(struct wtl_file *file, uint64_t wal_bytes)
{
	char sql[160];
	int rc = wtl_file_set_journal(file, "wal");

	if (rc)
		return rc == SQLITE_BUSY ? SQLITE_IOERR_LOCK : rc;
	/* A transaction is written when it is committed, each of its pages once. */
	snprintf(sql, sizeof(sql),
		 "PRAGMA cache_spill=OFF; PRAGMA cache_size=-256;"
		 "PRAGMA wal_autocheckpoint=%llu; PRAGMA journal_size_limit=%llu",
		 (unsigned long long)(wal_bytes / WTL_PAGE_BYTES), (unsigned long long)wal_bytes);
	return wtl_file_run(file, sql);
}

static int open_new(struct wtl_file *file, const struct wtl_row_recording *recording,
		    const struct wtl_store_options *options, struct wtl_err *err)
{
	int rc = connect(file, file->path);

	if (rc == SQLITE_OK)
		rc = enter_wal(file, wtl_ring_wal_bytes(options));
	if (rc == SQLITE_OK && options->max_bytes > 0)
		rc = wtl_file_limit(file, options->max_bytes / WTL_PAGE_BYTES);
	/* Once more: there is nothing to lock before something is in the WAL. */
	if (rc == SQLITE_OK)
		rc = wtl_file_put(file, &wtl_table_recording, recording);
	if (rc)
		return complain_new(file, rc, err);
	file->lock = wtl_database_lock(file->path);
	if (file->lock < 0)
		return wtl_err_set(err, file->lock, "record", file->path,
				   "the file cannot be locked: %s", wtl_err_text(file->lock));
	return 0;
}

static int create(struct wtl_file *file, const struct wtl_store_options *options,
		  const struct wtl_row_recording *recording, struct wtl_err *err)
{
	struct stat st;
	int rc = options->io ? wtl_io_out_check(options->io) : 0;

	if (rc < 0)
		return complain_new(file, rc, err);
	if (lstat(file->path, &st) == 0)
		return complain_exists(file, err);
	rc = check_beside(file, err);
	if (rc == 0)
		rc = prepare(file, recording, err);
	if (rc < 0)
		return rc;
	rc = open_new(file, recording, options, err);
	if (rc < 0) {
		wtl_file_disconnect(file, false);
		wtl_store_remove(file->path);
	}
	return rc;
}

void wtl_store_remove(const char *path)
{
	for (size_t i = 0; i < WTL_FILE_ENDS; i++) {
		char *one;

		if (asprintf(&one, "%s%s", path, wtl_file_ends[i]) < 0)
			continue;
		unlink(one);
		free(one);
	}
}

int wtl_file_create(struct wtl_file *file, const char *path,
		    const struct wtl_store_options *options,
		    const struct wtl_row_recording *recording, struct wtl_err *err)
{
	int rc;

	*file = (struct wtl_file){.lock = -1, .io = options->io};
	wtl_crc_init(&file->crc);
	file->path = wtl_database_path(path);
	if (!file->path)
		return wtl_err_set(err, ENOMEM, "record", path, "out of memory");
	rc = create(file, options, recording, err);
	if (rc < 0) {
		wtl_file_close(file, false);
		if (err)
			snprintf(err->path, sizeof(err->path), "%s", path);
	}
	return rc;
}
