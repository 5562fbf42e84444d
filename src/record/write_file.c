/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "record/database.h"
#include "record/writer.h"

enum { BUSY_MS = 10000, SHORT_BUSY_MS = 500, SQL_MAX = 65536 };

#define PAGES_MAX 1073741823 /* of a database, in every version of SQLite */

const char *const wtl_file_ends[WTL_FILE_ENDS] = {"", "-wal", "-shm", "-journal"};

/* ---- FILE-shm ---- */

/* SQLite was interrupted, so all of its connection is left as it is, but for its locks: POSIX
 * releases those of a process when it closes any descriptor of the file. */
static void abandon(struct wtl_file *file)
{
	int fd = open(file->names[WTL_FILE_SHM], O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd >= 0)
		close(fd);
	memset(file->inserts, 0, sizeof(file->inserts));
	file->begin = file->commit = NULL;
	file->db = NULL;
	file->vfs = NULL;
}

struct job {
	int (*work)(void *);
	void *context;
	int rc;
};

static void do_job(void *context)
{
	struct job *job = context;

	job->rc = job->work(job->context);
}

int wtl_file_guarded(struct wtl_file *file, int (*work)(void *), void *context)
{
	struct job job = {work, context, SQLITE_OK};

	if (!file->guard) {
		do_job(&job);
	} else if (file->guard(do_job, &job) < 0) {
		abandon(file);
		job.rc = WTL_FILE_SHM_CUT;
	}
	return job.rc;
}

/* Where FILE-shm was removed, or another file has its name, SQLite still has the one that it began with. */
static int check_shm(struct wtl_file *file)
{
	struct stat st;

	if (stat(file->names[WTL_FILE_SHM], &st) < 0 || st.st_ino != file->inodes[WTL_FILE_SHM])
		return SQLITE_OK;
	if (st.st_size < file->shm_bytes) {
		file->fault = -EIO;
		return WTL_FILE_SHM_CUT;
	}
	file->shm_bytes = st.st_size;
	return SQLITE_OK;
}

/* ---- Statements ---- */

int wtl_file_run(struct wtl_file *file, const char *sql)
{
	return sqlite3_exec(file->db, sql, NULL, NULL, NULL);
}

int wtl_file_run_with(struct wtl_file *file, const char *sql, int64_t first, int64_t second)
{
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(file->db, sql, -1, &stmt, NULL);

	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, first);
	sqlite3_bind_int64(stmt, 2, second);
	while (sqlite3_step(stmt) == SQLITE_ROW)
		;
	return sqlite3_finalize(stmt);
}

int wtl_file_number(struct wtl_file *file, const char *sql, int64_t *ret_number)
{
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(file->db, sql, -1, &stmt, NULL);

	if (rc)
		return rc;
	*ret_number = sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
	return sqlite3_finalize(stmt);
}

static int insert_of(struct wtl_file *file, const struct wtl_table *table, sqlite3_stmt **ret_stmt)
{
	struct wtl_buf sql;
	size_t i = 0;
	int rc;

	while (file->inserts[i].table && file->inserts[i].table != table)
		i++;
	*ret_stmt = file->inserts[i].stmt;
	if (file->inserts[i].table)
		return SQLITE_OK;
	wtl_buf_init(&sql, SQL_MAX);
	rc = SQLITE_NOMEM;
	if (wtl_table_insert_sql(table, &sql) == 0)
		rc = sqlite3_prepare_v3(file->db, wtl_buf_str(&sql), -1, SQLITE_PREPARE_PERSISTENT,
					ret_stmt, NULL);
	wtl_buf_done(&sql);
	if (rc)
		return rc;
	file->inserts[i].table = table;
	file->inserts[i].stmt = *ret_stmt;
	return SQLITE_OK;
}

int wtl_file_put(struct wtl_file *file, const struct wtl_table *table, const void *row)
{
	sqlite3_stmt *stmt;
	int rc = insert_of(file, table, &stmt);

	if (rc == SQLITE_OK)
		rc = wtl_row_bind(stmt, table, row);
	if (rc)
		return rc;
	sqlite3_step(stmt);
	return sqlite3_reset(stmt);
}

/* What is done each second is prepared once. */
static int run_kept(struct wtl_file *file, sqlite3_stmt **stmt, const char *sql)
{
	int rc = *stmt ? SQLITE_OK : sqlite3_prepare_v2(file->db, sql, -1, stmt, NULL);

	if (rc)
		return rc;
	sqlite3_step(*stmt);
	return sqlite3_reset(*stmt);
}

int wtl_file_begin(struct wtl_file *file)
{
	int rc = check_shm(file);

	return rc ? rc : run_kept(file, &file->begin, "BEGIN IMMEDIATE");
}

static int may_write(struct wtl_file *file)
{
	int rc = file->io ? wtl_io_out_check(file->io) : 0;

	if (rc >= 0)
		return SQLITE_OK;
	file->fault = rc;
	return SQLITE_IOERR;
}

/* Without this, a moved or removed file would go on being written where nobody can find it. */
static int check_names(struct wtl_file *file)
{
	struct stat wal;
	int has_moved = 0, rc;

	sqlite3_file_control(file->db, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
	if (has_moved)
		return SQLITE_READONLY_DBMOVED;
	if (fstat(file->lock, &wal) < 0 || wal.st_nlink > 0)
		return SQLITE_OK;
	/* FILE-wal has no name any more, but what is in it has been committed. */
	rc = sqlite3_wal_checkpoint_v2(file->db, NULL, SQLITE_CHECKPOINT_FULL, NULL, NULL);
	return rc ? rc : WTL_FILE_WAL_GONE;
}

int wtl_file_commit(struct wtl_file *file, int so_far)
{
	int rc = so_far ? so_far : may_write(file);

	if (rc == SQLITE_OK)
		rc = run_kept(file, &file->commit, "COMMIT");
	if (rc == SQLITE_OK)
		return check_names(file);
	if (!sqlite3_get_autocommit(file->db))
		wtl_file_run(file, "ROLLBACK");
	/* With a limit, nothing is written to the disk before the COMMIT, so the disk was not full. */
	return so_far == SQLITE_FULL && file->pages_max > 0 ? WTL_FILE_LIMIT : rc;
}

int wtl_file_limit(struct wtl_file *file, uint64_t pages)
{
	char sql[64];
	int64_t answer;
	int rc;

	snprintf(sql, sizeof(sql), "PRAGMA max_page_count=%llu",
		 (unsigned long long)(pages > 0 && pages < PAGES_MAX ? pages : PAGES_MAX));
	rc = wtl_file_number(file, sql, &answer);
	if (rc == SQLITE_OK)
		file->pages_max = pages > 0 ? (uint64_t)answer : 0;
	return rc;
}

/* ---- Words ---- */

int wtl_file_errno(struct wtl_file *file, int code)
{
	if (file->fault)
		return file->fault;
	return wtl_database_errno(file->db, code);
}

int wtl_file_complain(struct wtl_file *file, int code, struct wtl_err *err)
{
	const char *path = file->shown;
	int rc = wtl_file_errno(file, code);

	if (code == SQLITE_READONLY_DBMOVED)
		return wtl_err_set(err, ENOENT, "record", path,
				   "the recording stopped: its file was moved or removed (move it "
				   "back beside its -wal, and it can be read)");
	if (code == WTL_FILE_WAL_GONE)
		return wtl_err_set(
			err, ENOENT, "record", path,
			"the recording stopped: %s-wal was removed, without which nobody "
			"can find what comes; what was recorded is in the file",
			path);
	if (code == WTL_FILE_SHM_CUT)
		return wtl_err_set(
			err, EIO, "record", path,
			"the recording stopped: another program has truncated %s-shm, or its "
			"disk failed; what was recorded is in the file and its -wal",
			path);
	if (code == SQLITE_BUSY_SNAPSHOT)
		return wtl_err_set(err, rc, "record", path,
				   "the recording stopped: another program has been reading the "
				   "file for so long that it could not be kept small");
	if (rc == -EBUSY)
		return wtl_err_set(err, rc, "record", path,
				   "the recording stopped: another program holds the file locked");
	return wtl_err_set(err, rc, "record", path, "the recording stopped: %s",
			   rc == -EBADMSG ? "another program has changed the file"
					  : wtl_err_text(rc));
}

/* ---- Sizes of a ring's parts (write_ring.c) ---- */

enum { SHARE_OF_WAL = 8, SHARE_OF_PERIOD = 16 };

#define WAL_BYTES	 (UINT64_C(4) << 20)
#define WAL_BYTES_MAX	 (UINT64_C(64) << 20)
#define PERIOD_BYTES_MAX (UINT64_C(8) << 20)

static uint64_t share(uint64_t max_bytes, uint64_t divisor, uint64_t most)
{
	return max_bytes == 0 || max_bytes / divisor > most ? most : max_bytes / divisor;
}

uint64_t wtl_ring_wal_bytes(const struct wtl_store_options *options)
{
	return share(options->max_bytes, SHARE_OF_WAL, WAL_BYTES);
}

uint64_t wtl_ring_period_bytes(const struct wtl_store_options *options)
{
	return share(options->max_bytes, SHARE_OF_PERIOD, PERIOD_BYTES_MAX);
}

uint64_t wtl_ring_wal_bytes_max(const struct wtl_store_options *options)
{
	return share(options->max_bytes, 1, WAL_BYTES_MAX);
}

/* ---- The WAL ---- */

int wtl_file_set_journal(struct wtl_file *file, const char *mode)
{
	sqlite3_stmt *stmt;
	char sql[64];
	bool is_set;
	int rc;

	snprintf(sql, sizeof(sql), "PRAGMA journal_mode=%s", mode);
	rc = sqlite3_prepare_v2(file->db, sql, -1, &stmt, NULL);
	if (rc)
		return rc;
	is_set = sqlite3_step(stmt) == SQLITE_ROW &&
		 strcmp((const char *)sqlite3_column_text(stmt, 0), mode) == 0;
	rc = sqlite3_finalize(stmt);
	return rc || is_set ? rc : SQLITE_BUSY;
}

uint64_t wtl_file_wal_bytes(const struct wtl_file *file)
{
	struct stat st;

	return fstat(file->lock, &st) < 0 ? 0 : (uint64_t)st.st_size;
}

int wtl_file_empty_wal(struct wtl_file *file, int busy_ms)
{
	int rc = may_write(file);

	if (rc == SQLITE_OK)
		rc = check_shm(file);
	if (rc)
		return rc;
	sqlite3_busy_timeout(file->db, busy_ms);
	rc = sqlite3_wal_checkpoint_v2(file->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	sqlite3_busy_timeout(file->db, BUSY_MS);
	return (rc & 0xff) == SQLITE_BUSY ? SQLITE_BUSY_SNAPSHOT : rc;
}

/* ---- The end ---- */

/* One file again. A reader may keep that from happening. 0, or a negative errno. */
static int tidy(struct wtl_file *file)
{
	int rc = may_write(file), emptied;

	if (rc == SQLITE_OK)
		rc = check_shm(file);
	if (rc)
		return wtl_file_errno(file, rc);
	sqlite3_busy_timeout(file->db, SHORT_BUSY_MS);
	wtl_file_run(file, "PRAGMA incremental_vacuum");
	/* Then at least nothing is in the WAL alone. */
	emptied = sqlite3_wal_checkpoint_v2(file->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	emptied = emptied ? wtl_file_errno(file, emptied) : 0;
	/* A journal in a file could be somebody else's. */
	rc = wtl_file_set_journal(file, "memory");
	return rc && !emptied ? wtl_file_errno(file, rc) : emptied;
}

static int tidy_and_disconnect(void *context)
{
	struct wtl_file *file = context;
	int why = tidy(file);

	wtl_file_disconnect(file, !file->fault);
	return why;
}

/* What of SQLite's stays beside the file, "" for nothing; how much is in it, and why. Where nobody uses it (why is 0),
 * SQLite could not remove it, and returned no error. */
static const char *find_beside(const char *path, struct stat *ret_stat, int *why)
{
	for (size_t i = 1; i < WTL_FILE_ENDS; i++) {
		char *beside;
		int rc;

		if (asprintf(&beside, "%s%s", path, wtl_file_ends[i]) < 0)
			continue;
		rc = stat(beside, ret_stat);
		if (rc == 0 && !*why) {
			*why = unlink(beside) < 0 ? -errno : 0;
			rc = *why ? 0 : -1;
		}
		free(beside);
		if (rc == 0)
			return wtl_file_ends[i];
	}
	return "";
}

void wtl_file_disconnect(struct wtl_file *file, bool is_intact)
{
	for (size_t i = 0; i < WTL_STATEMENTS_MAX; i++) {
		sqlite3_finalize(file->inserts[i].stmt);
		file->inserts[i] = (struct wtl_insert){.table = NULL};
	}
	sqlite3_finalize(file->begin);
	sqlite3_finalize(file->commit);
	/* Without memory, there is not even a connection. */
	if (file->db && !is_intact)
		sqlite3_db_config(file->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_close(file->db);
	file->begin = file->commit = NULL;
	file->db = NULL;
}

static int disconnect_intact(void *file)
{
	wtl_file_disconnect(file, true);
	return SQLITE_OK;
}

static int disconnect(void *file)
{
	wtl_file_disconnect(file, false);
	return SQLITE_OK;
}

static void close_database(struct wtl_file *file, bool is_intact)
{
	wtl_file_guarded(file, is_intact ? disconnect_intact : disconnect, file);
	if (file->lock >= 0)
		close(file->lock);
	file->lock = -1;
}

void wtl_file_close(struct wtl_file *file, bool is_intact)
{
	close_database(file, is_intact);
	free(file->path);
	free(file->shown);
	wtl_vfs_free(file->vfs);
	if (file->folder >= 0)
		close(file->folder);
	for (size_t i = 0; i < WTL_FILE_ENDS; i++)
		free(file->names[i]);
	*file = (struct wtl_file){.lock = -1, .folder = -1};
}

int wtl_file_end(struct wtl_file *file, struct wtl_err *err)
{
	int why = wtl_file_guarded(file, tidy_and_disconnect, file);
	struct stat st = {.st_size = 0};
	const char *beside, *shown = file->shown;
	bool is_wal;

	why = why == WTL_FILE_SHM_CUT ? -EIO : why;
	close_database(file, false);
	beside = find_beside(file->path, &st, &why);
	is_wal = strcmp(beside, "-wal") == 0;
	if (beside[0])
		wtl_err_set(err, why, "record", shown, "all is recorded, but %s%s %s: %s", shown,
			    beside,
			    is_wal && st.st_size > 0 ? "has a part of it still" : "stays beside it",
			    why == -EBUSY ? "another program has it open" : wtl_err_text(why));
	wtl_file_close(file, false);
	return beside[0] != '\0';
}
