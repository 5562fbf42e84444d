/* SPDX-License-Identifier: MIT */
#ifndef WTL_FUZZ_SQLITE_MEMORY_H
#define WTL_FUZZ_SQLITE_MEMORY_H

/*
 * Memory for SQLite, for fuzz targets: SQLite takes and gives back thousands of small blocks an execution, which
 * is half of the time with a sanitizer's own. What is behind a large block, and large ones that were given back, are
 * forbidden here as well. Before anything else of SQLite's; no thread but one may use it then.
 */
void sqlite_memory_take_over(void);

#endif
