/* SPDX-License-Identifier: MIT */
#ifndef WTL_RECORD_DATABASE_H
#define WTL_RECORD_DATABASE_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

struct wtl_err;

/* What writer and readers have in common beside the tables. */

enum {
	WTL_APPLICATION_ID = 0x5754544c, /* "WTTL" */
	WTL_FORMAT_VERSION = 1,
	WTL_PAGE_BYTES = 4096,
};

/* Of sqlite3_open_v2(), where SQLite is loaded when it is first needed (cli/late_libraries.c): it is not there. */
#define WTL_DATABASE_NO_LIBRARY SQLITE_NOLFS
#define WTL_DATABASE_NO_LIBRARY_TEXT                                                          \
	"recordings need libsqlite3.so.0 and libzstd.so.1, which cannot be loaded (packages " \
	"libsqlite3-0 and libzstd1)"

/* The negative errno that an SQLite's code of a connection (may be NULL) stands for. */
int wtl_database_errno(sqlite3 *db, int code);

/* A path as SQLite takes it for nothing else but a path (free()); NULL: no memory. */
char *wtl_database_path(const char *path);
/* What such a path was before. */
const char *wtl_database_path_shown(const char *path);

/*
 * The writer holds a lock on FILE-wal, which is there while it writes and which SQLite itself does not
 * lock. The kernel takes it back however the writer ends; readers can see it without taking anything.
 * Take: a descriptor to close, or a negative errno (-EAGAIN: somebody else has it).
 */
int wtl_database_lock(const char *path);
bool wtl_database_is_locked(const char *path);

/* FILE-wal is there, and there is something in it. */
bool wtl_database_has_wal(const char *path);
bool wtl_database_may_read_wal(const char *path);
/* Of both. */
uint64_t wtl_database_bytes(const char *path);

#endif
