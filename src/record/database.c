/* SPDX-License-Identifier: MIT */
#include "record/database.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

/* Why a read or a write failed: each of SQLite's files keeps its own errno, the connection only the newest. */
static int file_errno(sqlite3 *db)
{
	static const int pointers[] = {SQLITE_FCNTL_JOURNAL_POINTER, SQLITE_FCNTL_FILE_POINTER};
	int error = 0;

	for (size_t i = 0; error <= 0 && i < sizeof(pointers) / sizeof(pointers[0]); i++) {
		sqlite3_file *file = NULL;

		if (sqlite3_file_control(db, "main", pointers[i], &file) == SQLITE_OK && file &&
		    file->pMethods)
			file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &error);
	}
	return error > 0 ? error : sqlite3_system_errno(db);
}

static const struct {
	int code, error;
} known[] = {
	{SQLITE_NOMEM, ENOMEM},
	{SQLITE_FULL, ENOSPC},
	{SQLITE_BUSY, EBUSY},
	{SQLITE_LOCKED, EBUSY},
	{SQLITE_CORRUPT, EBADMSG},
	{SQLITE_NOTADB, EBADMSG},
	{SQLITE_TOOBIG, EBADMSG},
	{SQLITE_ERROR, EBADMSG},     /* a table or a column is not there */
	{SQLITE_INTERRUPT, EBADMSG}, /* more steps than the file can need */
	{SQLITE_AUTH, EBADMSG},	     /* what no recording has */
	{WTL_DATABASE_NO_LIBRARY, WTL_ELIBRARY},
};

int wtl_database_errno(sqlite3 *db, int code)
{
	int system = db ? sqlite3_system_errno(db) : 0;

	code &= 0xff;
	if (code == SQLITE_CANTOPEN || code == SQLITE_READONLY)
		return system ? -system : -EACCES;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].code == code)
			return -known[i].error;
	system = db ? file_errno(db) : 0;
	return system ? -system : -EIO;
}

char *wtl_database_path(const char *path)
{
	char *whole;

	return asprintf(&whole, "%s%s", path[0] == '/' ? "" : "./", path) < 0 ? NULL : whole;
}

const char *wtl_database_path_shown(const char *path)
{
	return path[0] == '/' ? path : path + 2;
}

/* 0: it is not there. A path that does not fit is none that could be opened. */
static uint64_t file_bytes(const char *path, const char *end)
{
	char whole[PATH_MAX + 8];
	struct stat st;

	snprintf(whole, sizeof(whole), "%s%s", path, end);
	return stat(whole, &st) < 0 ? 0 : (uint64_t)st.st_size;
}

bool wtl_database_has_wal(const char *path)
{
	return file_bytes(path, "-wal") > 0;
}

static int wal_open(const char *path, int flags)
{
	char *wal;
	int fd;

	if (asprintf(&wal, "%s-wal", path) < 0)
		return -ENOMEM;
	fd = open(wal, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		fd = -errno;
	free(wal);
	return fd;
}

bool wtl_database_may_read_wal(const char *path)
{
	int fd = wal_open(path, O_RDONLY);

	return fd >= 0 && close(fd) == 0;
}

uint64_t wtl_database_bytes(const char *path)
{
	return file_bytes(path, "") + file_bytes(path, "-wal");
}

int wtl_database_lock(const char *path)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	int fd = wal_open(path, O_RDWR), rc;

	if (fd < 0)
		return fd;
	if (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
		rc = errno == EACCES ? -EAGAIN : -errno;
		close(fd);
		return rc;
	}
	return fd;
}

bool wtl_database_is_locked(const char *path)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
	int fd = wal_open(path, O_RDONLY);
	bool is_locked;

	if (fd < 0)
		return false;
	is_locked = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
	close(fd);
	return is_locked;
}
