/* SPDX-License-Identifier: MIT */
#include "memvfs.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

struct memvfs_file memvfs_database, memvfs_wal;
static int open_now;

/* An open file; the first member is SQLite's. */
struct file {
	sqlite3_file base;
	const struct memvfs_file *of;
	void **regions; /* the WAL's index, which all who have a database open would share */
	int n_regions;
};

static struct file *file_of(sqlite3_file *file)
{
	return (struct file *)file;
}

static int file_close(sqlite3_file *file)
{
	(void)file;
	open_now--;
	return SQLITE_OK;
}

bool memvfs_is_closed(void)
{
	return open_now == 0;
}

static int file_read(sqlite3_file *file, void *to, int size, sqlite3_int64 at)
{
	const struct memvfs_file *of = file_of(file)->of;
	size_t n = (size_t)size, from = (size_t)at, there;

	there = from < of->len ? of->len - from : 0;
	there = there < n ? there : n;
	if (there)
		memcpy(to, of->bytes + from, there);
	memset((char *)to + there, 0, n - there);
	return there < n ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static int file_write(sqlite3_file *file, const void *from, int size, sqlite3_int64 at)
{
	(void)file;
	(void)from;
	(void)size;
	(void)at;
	return SQLITE_READONLY;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	(void)file;
	(void)size;
	return SQLITE_READONLY;
}

static int file_sync(sqlite3_file *file, int flags)
{
	(void)file;
	(void)flags;
	return SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret_size)
{
	*ret_size = (sqlite3_int64)file_of(file)->of->len;
	return SQLITE_OK;
}

static int file_lock(sqlite3_file *file, int level)
{
	(void)file;
	(void)level;
	return SQLITE_OK;
}

static int file_is_reserved(sqlite3_file *file, int *ret_is)
{
	(void)file;
	*ret_is = 0;
	return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int op, void *arg)
{
	(void)file;
	(void)op;
	(void)arg;
	return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *file)
{
	(void)file;
	return 4096;
}

static int file_features(sqlite3_file *file)
{
	(void)file;
	return 0;
}

static int shm_map(sqlite3_file *base, int region, int size, int extends, void volatile **ret)
{
	struct file *file = file_of(base);
	void **regions;

	*ret = NULL;
	if (region >= file->n_regions && !extends)
		return SQLITE_OK;
	while (region >= file->n_regions) {
		regions =
			realloc(file->regions, (size_t)(file->n_regions + 1) * sizeof(regions[0]));
		if (!regions)
			return SQLITE_NOMEM;
		file->regions = regions;
		regions[file->n_regions] = calloc(1, (size_t)size);
		if (!regions[file->n_regions])
			return SQLITE_NOMEM;
		file->n_regions++;
	}
	*ret = file->regions[region];
	return SQLITE_OK;
}

static int shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
	(void)file;
	(void)offset;
	(void)n;
	(void)flags;
	return SQLITE_OK;
}

static void shm_barrier(sqlite3_file *file)
{
	(void)file;
}

static int shm_unmap(sqlite3_file *base, int delete_it)
{
	struct file *file = file_of(base);

	(void)delete_it;
	for (int i = 0; i < file->n_regions; i++)
		free(file->regions[i]);
	free(file->regions);
	file->regions = NULL;
	file->n_regions = 0;
	return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
	.iVersion = 2,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_lock,
	.xCheckReservedLock = file_is_reserved,
	.xFileControl = file_control,
	.xSectorSize = file_sector,
	.xDeviceCharacteristics = file_features,
	.xShmMap = shm_map,
	.xShmLock = shm_lock,
	.xShmBarrier = shm_barrier,
	.xShmUnmap = shm_unmap,
};

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags,
		    int *ret_flags)
{
	struct file *file = file_of(base);

	(void)vfs;
	(void)name;
	*file = (struct file){.base.pMethods = NULL};
	if (flags & SQLITE_OPEN_MAIN_DB)
		file->of = &memvfs_database;
	else if (flags & SQLITE_OPEN_WAL)
		file->of = &memvfs_wal;
	if (!file->of || !file->of->bytes)
		return SQLITE_CANTOPEN;
	file->base.pMethods = &methods;
	open_now++;
	if (ret_flags)
		*ret_flags = (flags & ~SQLITE_OPEN_READWRITE) | SQLITE_OPEN_READONLY;
	return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)vfs;
	(void)name;
	(void)sync;
	return SQLITE_READONLY;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret_is)
{
	size_t len = strlen(name);

	(void)vfs;
	(void)flags;
	*ret_is = len > 4 && strcmp(name + len - 4, "-wal") == 0 && memvfs_wal.bytes;
	return SQLITE_OK;
}

static int vfs_full_name(sqlite3_vfs *vfs, const char *name, int size, char *to)
{
	(void)vfs;
	sqlite3_snprintf(size, to, "%s", name);
	return SQLITE_OK;
}

static sqlite3_vfs *the_real_one;

static int vfs_randomness(sqlite3_vfs *vfs, int size, char *to)
{
	(void)vfs;
	memset(to, 7, (size_t)size); /* an input does the same each time */
	return size;
}

static int vfs_sleep(sqlite3_vfs *vfs, int us)
{
	(void)vfs;
	return us;
}

static int vfs_time(sqlite3_vfs *vfs, double *ret_days)
{
	(void)vfs;
	return the_real_one->xCurrentTime(the_real_one, ret_days);
}

static int vfs_error(sqlite3_vfs *vfs, int size, char *text)
{
	(void)vfs;
	(void)size;
	(void)text;
	return 0;
}

void memvfs_take_over(void)
{
	static sqlite3_vfs vfs = {
		.iVersion = 1,
		.szOsFile = sizeof(struct file),
		.mxPathname = PATH_MAX,
		.zName = "wattle-fuzz",
		.xOpen = vfs_open,
		.xDelete = vfs_delete,
		.xAccess = vfs_access,
		.xFullPathname = vfs_full_name,
		.xRandomness = vfs_randomness,
		.xSleep = vfs_sleep,
		.xCurrentTime = vfs_time,
		.xGetLastError = vfs_error,
	};

	the_real_one = sqlite3_vfs_find(NULL);
	if (sqlite3_vfs_register(&vfs, 1) != SQLITE_OK)
		abort();
}

const char *memvfs_path(void)
{
	static char path[PATH_MAX];

	/* This program. */
	if (!path[0] && readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		abort();
	return path;
}
