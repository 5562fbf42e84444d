/* SPDX-License-Identifier: MIT */
#ifndef WTL_RECORD_GUARD_H
#define WTL_RECORD_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

struct wtl_table;

/*
 * What SQLite may do with a file that a stranger made: read the tables of a recording and call nothing. No value is
 * longer than the file, and nothing takes more steps than a file of that size can need: pages that refer to each
 * other in a circle would else be read for ever.
 */
struct wtl_guard {
	uint64_t bytes; /* of the file with its WAL; 0: only its schema may be read yet */
	uint64_t steps_left;
	bool is_closed;		       /* nothing new is compiled */
	const struct wtl_table *table; /* the one whose columns were allowed last, or NULL */
};

/* Of a connection that has read nothing. The guard stays where it is until the connection is closed. SQLite's code. */
int wtl_guard_set(struct wtl_guard *guard, sqlite3 *db);

/* From now on, its tables may be read. */
void wtl_guard_allow(struct wtl_guard *guard, sqlite3 *db, uint64_t bytes);

/* Before something new is read: a table, or a period. Without steps left, it ends with SQLITE_INTERRUPT. */
void wtl_guard_start(struct wtl_guard *guard);

#endif
