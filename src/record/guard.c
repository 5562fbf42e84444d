/* SPDX-License-Identifier: MIT */
#include "record/guard.h"

#include <string.h>

#include "record/table.h"

enum {
	VALUE_BYTES_MAX = 128 << 20, /* of anything in the file */
	VALUE_BYTES_MIN = 1 << 16,
	SQL_BYTES_MAX = 1 << 14, /* of any statement, in the schema or of wattle */
	COLUMNS_MAX = WTL_FIELDS_MAX + 8,
	BUSY_MS = 5000,
	STEPS_AT_ONCE = 4096, /* of SQLite's machine: some 10 us */
	/* A row takes less than 2 steps a byte. */
	STEPS_PER_BYTE = 64,
	STEPS_MIN = 1 << 20,
	STEPS_OF_SCHEMA = 2 * STEPS_AT_ONCE, /* it takes some 200 */
};

#define BYTES_MAX \
	(UINT64_C(1) << 26) /* whose steps take a minute: a file with holes can be of any size */

/* ---- What is compiled ---- */

/* The last table comes first, as SQLite asks for each column. */
static bool is_own_table(struct wtl_guard *guard, const char *name)
{
	const struct wtl_table *table = guard->table;

	if (table && strcmp(table->name, name) == 0)
		return true;
	for (size_t i = 0; (table = wtl_table_at(i)); i++)
		if (strcmp(table->name, name) == 0) {
			guard->table = table;
			return true;
		}
	return strcmp(name, "sqlite_master") == 0 || strcmp(name, "sqlite_schema") == 0;
}

/* Statements are wattle's own; what they lead to, such as the body of a view, is the file's. */
static int authorize(void *context, int action, const char *first, const char *second,
		     const char *database, const char *inside)
{
	struct wtl_guard *guard = context;

	(void)second;
	if (guard->is_closed || inside)
		return SQLITE_DENY;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_TRANSACTION:
	case SQLITE_PRAGMA:
		return SQLITE_OK;
	case SQLITE_READ:
		return database && strcmp(database, "main") == 0 && is_own_table(guard, first)
			       ? SQLITE_OK
			       : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

static void limit(sqlite3 *db)
{
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, SQL_BYTES_MAX);
	sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, SQL_BYTES_MAX);
	sqlite3_limit(db, SQLITE_LIMIT_COLUMN, COLUMNS_MAX);
	sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 50);
	sqlite3_limit(db, SQLITE_LIMIT_COMPOUND_SELECT, 2);
	sqlite3_limit(db, SQLITE_LIMIT_FUNCTION_ARG, 0);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1);
	sqlite3_limit(db, SQLITE_LIMIT_VARIABLE_NUMBER, 8);
	sqlite3_limit(db, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
	sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
}

/* ---- Steps ---- */

static int count_steps(void *context)
{
	struct wtl_guard *guard = context;

	guard->steps_left -= guard->steps_left < STEPS_AT_ONCE ? guard->steps_left : STEPS_AT_ONCE;
	return guard->steps_left == 0;
}

void wtl_guard_start(struct wtl_guard *guard)
{
	uint64_t bytes = guard->bytes < BYTES_MAX ? guard->bytes : BYTES_MAX;

	guard->steps_left = bytes > 0 ? STEPS_MIN + bytes * STEPS_PER_BYTE : STEPS_OF_SCHEMA;
}

/* ---- Both ---- */

int wtl_guard_set(struct wtl_guard *guard, sqlite3 *db)
{
	int rc;

	*guard = (struct wtl_guard){.bytes = 0};
	wtl_guard_start(guard);
	sqlite3_extended_result_codes(db, 1);
	sqlite3_busy_timeout(db, BUSY_MS);
	limit(db);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	/* Without it, SQLite does not look into a file that was cut; nothing is written. */
	sqlite3_db_config(db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_progress_handler(db, STEPS_AT_ONCE, count_steps, guard);
	/* None of these reads the schema. */
	rc = sqlite3_exec(db,
			  "PRAGMA query_only=ON; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;"
			  "PRAGMA temp_store=MEMORY",
			  NULL, NULL, NULL);
	return rc ? rc : sqlite3_set_authorizer(db, authorize, guard);
}

void wtl_guard_allow(struct wtl_guard *guard, sqlite3 *db, uint64_t bytes)
{
	uint64_t longest = bytes < VALUE_BYTES_MIN ? VALUE_BYTES_MIN : bytes;

	guard->bytes = bytes;
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH,
		      longest < VALUE_BYTES_MAX ? (int)longest : VALUE_BYTES_MAX);
	wtl_guard_start(guard);
}
