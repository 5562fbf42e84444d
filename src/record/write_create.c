/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* Of FILE-wal and FILE-shm. Whoever may open the second one can hold locks on it that end the recording. */
#define OWNER_ONLY 0600

/* ---- Words ---- */

static int complain_new(struct wtl_file *file, int code, struct wtl_err *err)
{
	const char *path = file->shown;
	int rc;

	if (code == WTL_DATABASE_NO_LIBRARY)
		return wtl_err_set(err, WTL_ELIBRARY, "record", path, WTL_DATABASE_NO_LIBRARY_TEXT);
	rc = code < 0 ? code : wtl_file_errno(file, code);
	return wtl_err_set(err, rc, "record", path, "no recording can be made there: %s",
			   rc == -EBADMSG
				   ? "what was just written reads as something else: another "
				     "program has changed it, or the disk fails"
				   : wtl_err_text(rc));
}

static int complain_exists(struct wtl_file *file, struct wtl_err *err)
{
	const char *path = file->shown;
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return wtl_err_set(err, EEXIST, "record", path,
				   "it is a directory: name a file in it");
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
	int rc = sqlite3_open_v2(path, &file->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
				 file->vfs ? file->vfs->zName : NULL);

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
		       "PRAGMA synchronous=OFF;" /* it is synced as it enters the WAL */
		       "PRAGMA page_size=%d;"
		       "PRAGMA auto_vacuum=INCREMENTAL;"
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
	int rc, fd;
	struct stat st = {.st_ino = 0};

	wtl_outfile_sweep(file->path);
	fd = wtl_outfile_temp(file->path, file->io ? file->io->file_mode : 0, temp, sizeof(temp));
	if (fd < 0)
		return complain_new(file, fd, err);
	/* SQLite gives -wal and -shm the mode of the file, as it opens them. */
	if (fstat(fd, &st) == 0)
		(void)!fchmod(fd, OWNER_ONLY);
	file->inodes[0] = st.st_ino;
	file->mode = st.st_mode & 0777;
	rc = connect(file, temp);
	if (rc == SQLITE_OK)
		rc = make_tables(file, recording);
	if (rc)
		rc = complain_new(file, rc, err);
	wtl_file_disconnect(file, true); /* there is no WAL */
	close(fd);
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

/* ---- The files beside it ---- */

/* SQLite takes what has these names for its own, whoever it is of: it would write into a file that somebody else holds
 * open, or die of one that is truncated. So all of them are made here, and none is there already. */
static int make_beside(struct wtl_file *file, size_t i, struct wtl_err *err)
{
	const char *name = file->names[i];
	int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, OWNER_ONLY);
	struct stat st;

	if (fd < 0 && errno == EEXIST)
		return wtl_err_set(err, EEXIST, "record", file->shown,
				   "there is a file %s%s already, and SQLite would take it for its "
				   "own: remove it, or record to another name",
				   file->shown, wtl_file_ends[i]);
	if (fd < 0)
		return complain_new(file, -errno, err);
	if (fstat(fd, &st) == 0)
		file->inodes[i] = st.st_ino;
	close(fd);
	return 0;
}

static void remove_first(const char *path, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *one;

		if (asprintf(&one, "%s%s", path, wtl_file_ends[i]) < 0)
			continue;
		wtl_outfile_remove(one);
		free(one);
	}
}

static int make_all_beside(struct wtl_file *file, struct wtl_err *err)
{
	size_t i;
	int rc = 0;

	for (i = 1; rc == 0 && i < WTL_FILE_ENDS; i++) {
		if (asprintf(&file->names[i], "%s%s", file->path, wtl_file_ends[i]) < 0) {
			file->names[i] = NULL;
			rc = complain_new(file, -ENOMEM, err);
		} else {
			rc = make_beside(file, i, err);
		}
	}
	if (rc < 0)
		remove_first(file->path, i - 1);
	return rc;
}

/* ---- Opening ---- */

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

/* Where others may rename files, SQLite may have opened other files than were made: then ours are empty. */
static bool is_ours(struct wtl_file *file)
{
	struct stat st;
	int has_moved = 0;

	if (stat(file->path, &st) < 0 || st.st_ino != file->inodes[0] ||
	    sqlite3_file_control(file->db, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved) ||
	    has_moved || fstat(file->lock, &st) < 0 || st.st_ino != file->inodes[WTL_FILE_WAL] ||
	    st.st_size == 0 || stat(file->names[WTL_FILE_SHM], &st) < 0)
		return false;
	file->shm_bytes = st.st_size;
	return st.st_ino == file->inodes[WTL_FILE_SHM] && st.st_size > 0;
}

/* The mode that it is to have. By a descriptor that has no part in locks: closing another one would give SQLite's back. */
static void set_mode(const struct wtl_file *file)
{
	int fd = open(file->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	char name[32];

	if (fd < 0)
		return;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	if (fstat(fd, &st) == 0 && st.st_ino == file->inodes[0])
		(void)!chmod(name, file->mode);
	close(fd);
}

struct opening {
	struct wtl_file *file;
	const struct wtl_row_recording *recording;
	const struct wtl_store_options *options;
};

static int open_new(void *context)
{
	const struct opening *opening = context;
	const struct wtl_store_options *options = opening->options;
	struct wtl_file *file = opening->file;
	int rc = connect(file, file->path);

	if (rc == SQLITE_OK)
		rc = enter_wal(file, wtl_ring_wal_bytes(options));
	if (rc == SQLITE_OK)
		rc = wtl_file_limit(file, options->max_bytes / WTL_PAGE_BYTES);
	/* Once more: something is to be in the WAL. */
	if (rc == SQLITE_OK)
		rc = wtl_file_put(file, &wtl_table_recording, opening->recording);
	return rc;
}

static int hold(struct wtl_file *file, struct wtl_err *err)
{
	const char *path = file->shown;

	file->lock = wtl_database_lock(file->path);
	if (file->lock < 0)
		return wtl_err_set(err, file->lock, "record", path, "the file cannot be locked: %s",
				   wtl_err_text(file->lock));
	if (!is_ours(file))
		return wtl_err_set(err, EEXIST, "record", path,
				   "no recording can be made there: another program has put other "
				   "files in its place");
	unlink(file->names[WTL_FILE_JOURNAL]);
	set_mode(file);
	return 0;
}

static int begin(struct wtl_file *file, const struct wtl_store_options *options,
		 const struct wtl_row_recording *recording, struct wtl_err *err)
{
	struct opening opening = {file, recording, options};
	int rc = make_all_beside(file, err);

	if (rc < 0)
		return rc;
	rc = wtl_file_guarded(file, open_new, &opening);
	rc = rc ? complain_new(file, rc, err) : hold(file, err);
	if (rc < 0) {
		wtl_file_disconnect(file, false);
		wtl_store_remove(file->path);
	}
	return rc;
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
	rc = prepare(file, recording, err);
	return rc < 0 ? rc : begin(file, options, recording, err);
}

void wtl_store_remove(const char *path)
{
	remove_first(path, WTL_FILE_ENDS);
}

/* SQLite takes a path alone: by the descriptor's name it stays in that folder, whatever is put in the place of one on the
 * way. */
static int find_place(struct wtl_file *file, const char *path)
{
	struct wtl_outplace place;
	int rc;

	file->shown = strdup(path);
	file->path = wtl_database_path(path);
	if (!file->shown || !file->path)
		return -ENOMEM;
	if (!wtl_outplace_is_privileged() || access("/proc/self/fd", X_OK) < 0)
		return 0;
	rc = wtl_outplace_find(path, false, &place);
	if (rc < 0)
		return rc;
	file->folder = place.folder;
	free(file->path);
	if (asprintf(&file->path, "/proc/self/fd/%d/%s", place.folder, place.name) < 0)
		file->path = NULL;
	return file->path ? wtl_vfs_new(&file->vfs) : -ENOMEM;
}

int wtl_file_create(struct wtl_file *file, const char *path,
		    const struct wtl_store_options *options,
		    const struct wtl_row_recording *recording, struct wtl_err *err)
{
	struct stat st;
	int rc;

	*file = (struct wtl_file){
		.lock = -1, .folder = -1, .io = options->io, .guard = options->guard};
	rc = find_place(file, path);
	if (rc == -ENOMEM)
		wtl_err_set(err, ENOMEM, "record", path, "out of memory");
	else if (rc < 0)
		rc = lstat(path, &st) == 0 ? complain_exists(file, err)
					   : complain_new(file, rc, err);
	else
		rc = create(file, options, recording, err);
	if (rc < 0) {
		wtl_file_close(file, false);
		if (err)
			snprintf(err->path, sizeof(err->path), "%s", path);
	}
	return rc;
}
