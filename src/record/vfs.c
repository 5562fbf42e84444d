/* SPDX-License-Identifier: MIT */
#include "record/vfs.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/io.h"
#include "record/database.h"

/* A recording's files, as far as their sizes count. FILE-shm is memory. */
enum kind { KIND_DATABASE, KIND_WAL, KIND_JOURNAL, KIND_OTHER, KINDS };

enum { WAL_HEADER = 32, FRAME_HEADER = 24 };

struct wtl_vfs {
	sqlite3_vfs vfs; /* first: SQLite gives its address back */
	sqlite3_vfs *usual;
	struct wtl_io *io;
	int error;
	uint64_t bytes[KINDS];
	uint64_t bytes_committed; /* of the database, when the WAL has been emptied into it */
	uint64_t bytes_max, bytes_kept;
	bool was_limited;
	char name[32];
};

struct file {
	sqlite3_file file; /* first */
	struct wtl_vfs *vfs;
	enum kind kind;
	sqlite3_file inner[]; /* as large as the usual one's */
};

static struct wtl_vfs *own(sqlite3_vfs *vfs)
{
	return (struct wtl_vfs *)vfs;
}

static sqlite3_file *inner_of(sqlite3_file *file)
{
	return ((struct file *)file)->inner;
}

/* SQLite's code for a write that has to fail, or SQLITE_OK. */
static int may_write(struct wtl_vfs *vfs, int code)
{
	int rc = vfs->io ? wtl_io_out_check(vfs->io) : 0;

	if (rc >= 0)
		return SQLITE_OK;
	vfs->error = rc;
	return rc == -ENOSPC ? SQLITE_FULL : code;
}

static int may_write_file(sqlite3_file *file, int code)
{
	return may_write(((struct file *)file)->vfs, code);
}

/* What a write came to: SQLite itself soon forgets why one failed. */
static int written(sqlite3_file *file, int rc)
{
	sqlite3_file *inner = inner_of(file);
	int error = 0;

	if (rc == SQLITE_FULL)
		((struct file *)file)->vfs->error = -ENOSPC;
	if ((rc & 0xff) == SQLITE_IOERR &&
	    inner->pMethods->xFileControl(inner, SQLITE_FCNTL_LAST_ERRNO, &error) == SQLITE_OK &&
	    error > 0)
		((struct file *)file)->vfs->error = -error;
	return rc;
}

/* ---- Sizes ---- */

void wtl_vfs_limit(struct wtl_vfs *vfs, uint64_t bytes_max, uint64_t bytes_kept)
{
	vfs->bytes_max = bytes_max;
	vfs->bytes_kept = bytes_kept;
}

bool wtl_vfs_was_limited(struct wtl_vfs *vfs)
{
	bool was = vfs->was_limited;

	vfs->was_limited = false;
	return was;
}

uint64_t wtl_vfs_wal_bytes(const struct wtl_vfs *vfs)
{
	return vfs->bytes[KIND_WAL];
}

static enum kind kind_of(int flags)
{
	if (flags & SQLITE_OPEN_MAIN_DB)
		return KIND_DATABASE;
	if (flags & SQLITE_OPEN_WAL)
		return KIND_WAL;
	return flags & SQLITE_OPEN_MAIN_JOURNAL ? KIND_JOURNAL : KIND_OTHER;
}

/* The database's size that the end of a transaction tells of in the header of its last frame, where that is
 * what is written; else 0. SQLite's "Database File Format", 4.1. */
static uint64_t bytes_committed(enum kind kind, const uint8_t *from, uint64_t at, uint64_t len)
{
	uint32_t pages;

	if (kind != KIND_WAL || at < WAL_HEADER || len < FRAME_HEADER ||
	    (at - WAL_HEADER) % (FRAME_HEADER + WTL_PAGE_BYTES) != 0)
		return 0;
	pages = (uint32_t)from[4] << 24 | (uint32_t)from[5] << 16 | (uint32_t)from[6] << 8 |
		from[7];
	return (uint64_t)pages * WTL_PAGE_BYTES;
}

static bool is_within(const struct wtl_vfs *vfs, enum kind kind, const uint8_t *from, uint64_t at,
		      uint64_t len)
{
	uint64_t committed, sum = 0, bytes[KIND_OTHER];

	if (vfs->bytes_max == 0 || kind == KIND_OTHER)
		return true;
	for (size_t i = 0; i < KIND_OTHER; i++)
		bytes[i] = vfs->bytes[i];
	committed = bytes_committed(kind, from, at, len);
	if (committed > 0) {
		len = FRAME_HEADER + WTL_PAGE_BYTES;
		if (committed + vfs->bytes_kept > vfs->bytes_max)
			return false;
	} else {
		committed = vfs->bytes_committed;
	}
	if (committed > bytes[KIND_DATABASE])
		bytes[KIND_DATABASE] = committed;
	if (at + len > bytes[kind])
		bytes[kind] = at + len;
	for (size_t i = 0; i < KIND_OTHER; i++)
		sum += bytes[i];
	return sum <= vfs->bytes_max;
}

static void note_size(sqlite3_file *file, uint64_t bytes)
{
	((struct file *)file)->vfs->bytes[((struct file *)file)->kind] = bytes;
}

/* ---- A file ---- */

static int file_close(sqlite3_file *file)
{
	/* A WAL or a journal that is closed is removed next, or nothing is written any more. */
	note_size(file, 0);
	return inner_of(file)->pMethods->xClose(inner_of(file));
}

static int file_read(sqlite3_file *file, void *to, int len, sqlite3_int64 at)
{
	return inner_of(file)->pMethods->xRead(inner_of(file), to, len, at);
}

static int file_write(sqlite3_file *file, const void *from, int len, sqlite3_int64 at)
{
	const struct file *own = (struct file *)file;
	uint64_t end = (uint64_t)at + (uint64_t)len, committed;
	int rc = may_write_file(file, SQLITE_IOERR_WRITE);

	if (rc)
		return rc;
	if (!is_within(own->vfs, own->kind, from, (uint64_t)at, (uint64_t)len)) {
		own->vfs->was_limited = true;
		return SQLITE_FULL;
	}
	rc = written(file, inner_of(file)->pMethods->xWrite(inner_of(file), from, len, at));
	if (rc)
		return rc;
	if (end > own->vfs->bytes[own->kind])
		note_size(file, end);
	committed = bytes_committed(own->kind, from, (uint64_t)at, (uint64_t)len);
	if (committed > 0)
		own->vfs->bytes_committed = committed;
	return SQLITE_OK;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	int rc = may_write_file(file, SQLITE_IOERR_TRUNCATE);

	if (rc == SQLITE_OK)
		rc = written(file, inner_of(file)->pMethods->xTruncate(inner_of(file), size));
	if (rc == SQLITE_OK)
		note_size(file, (uint64_t)size);
	return rc;
}

static int file_sync(sqlite3_file *file, int flags)
{
	int rc = may_write_file(file, SQLITE_IOERR_FSYNC);

	return rc ? rc : written(file, inner_of(file)->pMethods->xSync(inner_of(file), flags));
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret_size)
{
	return inner_of(file)->pMethods->xFileSize(inner_of(file), ret_size);
}

static int file_lock(sqlite3_file *file, int level)
{
	return inner_of(file)->pMethods->xLock(inner_of(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
	return inner_of(file)->pMethods->xUnlock(inner_of(file), level);
}

static int file_check_reserved(sqlite3_file *file, int *ret_is_reserved)
{
	return inner_of(file)->pMethods->xCheckReservedLock(inner_of(file), ret_is_reserved);
}

static int file_control(sqlite3_file *file, int what, void *argument)
{
	return inner_of(file)->pMethods->xFileControl(inner_of(file), what, argument);
}

static int file_sector_size(sqlite3_file *file)
{
	return inner_of(file)->pMethods->xSectorSize(inner_of(file));
}

static int file_characteristics(sqlite3_file *file)
{
	return inner_of(file)->pMethods->xDeviceCharacteristics(inner_of(file));
}

static int file_shm_map(sqlite3_file *file, int region, int size, int extend,
			void volatile **ret_memory)
{
	int rc = extend ? may_write_file(file, SQLITE_IOERR_SHMSIZE) : SQLITE_OK;

	if (rc)
		return rc;
	return inner_of(file)->pMethods->xShmMap(inner_of(file), region, size, extend, ret_memory);
}

static int file_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
	return inner_of(file)->pMethods->xShmLock(inner_of(file), offset, n, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
	inner_of(file)->pMethods->xShmBarrier(inner_of(file));
}

static int file_shm_unmap(sqlite3_file *file, int remove)
{
	return inner_of(file)->pMethods->xShmUnmap(inner_of(file), remove);
}

static const sqlite3_io_methods file_methods = {
	.iVersion = 2,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_unlock,
	.xCheckReservedLock = file_check_reserved,
	.xFileControl = file_control,
	.xSectorSize = file_sector_size,
	.xDeviceCharacteristics = file_characteristics,
	.xShmMap = file_shm_map,
	.xShmLock = file_shm_lock,
	.xShmBarrier = file_shm_barrier,
	.xShmUnmap = file_shm_unmap,
};

/* ---- All files ---- */

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *to, int flags, int *ret_flags)
{
	struct file *file = (struct file *)to;
	sqlite3_vfs *usual = own(vfs)->usual;
	sqlite3_int64 size = 0;
	int rc;

	file->file.pMethods = NULL;
	file->vfs = own(vfs);
	file->kind = kind_of(flags);
	file->inner->pMethods = NULL;
	rc = usual->xOpen(usual, path, file->inner, flags, ret_flags);
	if (!file->inner->pMethods)
		return rc;
	file->file.pMethods = &file_methods;
	if (rc == SQLITE_OK && file_size(to, &size) == SQLITE_OK)
		note_size(to, (uint64_t)size);
	return rc;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int sync_directory)
{
	int rc = may_write(own(vfs), SQLITE_IOERR_DELETE);

	return rc ? rc : own(vfs)->usual->xDelete(own(vfs)->usual, path, sync_directory);
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *ret_answer)
{
	return own(vfs)->usual->xAccess(own(vfs)->usual, path, flags, ret_answer);
}

static int vfs_full_pathname(sqlite3_vfs *vfs, const char *path, int size, char *to)
{
	return own(vfs)->usual->xFullPathname(own(vfs)->usual, path, size, to);
}

static int vfs_randomness(sqlite3_vfs *vfs, int size, char *to)
{
	return own(vfs)->usual->xRandomness(own(vfs)->usual, size, to);
}

static int vfs_sleep(sqlite3_vfs *vfs, int us)
{
	return own(vfs)->usual->xSleep(own(vfs)->usual, us);
}

static int vfs_current_time(sqlite3_vfs *vfs, double *ret_day)
{
	return own(vfs)->usual->xCurrentTime(own(vfs)->usual, ret_day);
}

static int vfs_last_error(sqlite3_vfs *vfs, int size, char *text)
{
	return own(vfs)->usual->xGetLastError(own(vfs)->usual, size, text);
}

struct wtl_vfs *wtl_vfs_new(struct wtl_io *io)
{
	sqlite3_vfs *usual = sqlite3_vfs_find(NULL);
	struct wtl_vfs *own = usual ? calloc(1, sizeof(*own)) : NULL;

	if (!own)
		return NULL;
	own->usual = usual;
	own->io = io;
	/* Unlike any other's that is open. */
	snprintf(own->name, sizeof(own->name), "wattle-%p", (void *)own);
	own->vfs = (sqlite3_vfs){
		.iVersion = 1,
		.szOsFile = (int)sizeof(struct file) + usual->szOsFile,
		.mxPathname = usual->mxPathname,
		.zName = own->name,
		.xOpen = vfs_open,
		.xDelete = vfs_delete,
		.xAccess = vfs_access,
		.xFullPathname = vfs_full_pathname,
		.xRandomness = vfs_randomness,
		.xSleep = vfs_sleep,
		.xCurrentTime = vfs_current_time,
		.xGetLastError = vfs_last_error,
	};
	if (sqlite3_vfs_register(&own->vfs, 0) != SQLITE_OK) {
		free(own);
		return NULL;
	}
	return own;
}

void wtl_vfs_free(struct wtl_vfs *vfs)
{
	if (!vfs)
		return;
	sqlite3_vfs_unregister(&vfs->vfs);
	free(vfs);
}

const char *wtl_vfs_name(const struct wtl_vfs *vfs)
{
	return vfs->name;
}

int wtl_vfs_error(const struct wtl_vfs *vfs)
{
	return vfs->error;
}
