/* SPDX-License-Identifier: MIT */
#ifndef WTL_FUZZ_MEMVFS_H
#define WTL_FUZZ_MEMVFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * SQLite's files in memory, for fuzz targets: one database and the WAL beside it, whatever they are called.
 * Nothing reaches a disk, and no lock is ever refused. Readers only: nothing can be written.
 */
struct memvfs_file {
	uint8_t *bytes; /* the caller's; NULL: there is no such file */
	size_t len;
};

extern struct memvfs_file memvfs_database, memvfs_wal;

/* From now on every database that is opened by a name is that one. */
void memvfs_take_over(void);

/* Whoever opened a file has closed it: of SQLite's, nothing was forgotten. */
bool memvfs_is_closed(void);

/* A regular file's name, for who looks at the file itself first. */
const char *memvfs_path(void);

#endif
