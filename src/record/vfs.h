/* SPDX-License-Identifier: MIT */
#ifndef WTL_RECORD_VFS_H
#define WTL_RECORD_VFS_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

struct wtl_io;
struct wtl_vfs;

/*
 * A way for SQLite to reach files that asks wtl_io_out_check() before each write, sync, cut, removal
 * and growth of shared memory, and else is SQLite's usual one. Each writer has its own: SQLite keeps the
 * list of them (a global of the process, under a lock of its own) only while the writer is open.
 */
struct wtl_vfs *wtl_vfs_new(struct wtl_io *io); /* NULL: no memory; io may be NULL */
void wtl_vfs_free(struct wtl_vfs *vfs);		/* after the last connection; NULL is fine */

/* For sqlite3_open_v2(). */
const char *wtl_vfs_name(const struct wtl_vfs *vfs);

/* The negative errno with which the newest of those failed that did; 0: none did. */
int wtl_vfs_error(const struct wtl_vfs *vfs);

/*
 * From now on the database, its -wal and its -journal are at no moment more than bytes_max together (0: no
 * limit): a write that would make them so gets SQLITE_FULL, which is no error of wtl_vfs_error(). So does the
 * end of a transaction after which the -wal could not be emptied into the database, or the database alone
 * would leave less than bytes_kept.
 */
void wtl_vfs_limit(struct wtl_vfs *vfs, uint64_t bytes_max, uint64_t bytes_kept);

/* A write was refused for that since this was last asked. */
bool wtl_vfs_was_limited(struct wtl_vfs *vfs);

/* As large as FILE-wal is. */
uint64_t wtl_vfs_wal_bytes(const struct wtl_vfs *vfs);

#endif
