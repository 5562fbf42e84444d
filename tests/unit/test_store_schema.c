/* SPDX-License-Identifier: MIT */
/* Recordings by strangers: what a schema can make SQLite do, and pages that lead nowhere. */
#include "unit.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/err.h"
#include "record/code.h"
#include "record/database.h"
#include "record/reader.h"
#include "record/writer.h"
#include "store_bench.h"

static int run_sql(const struct store_bench *bench, const char *sql)
{
	sqlite3 *db;
	int rc;

	assert_int_equal(sqlite3_open(bench->path, &db), SQLITE_OK);
	rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
	if (rc != SQLITE_OK)
		print_message("%s: %s\n", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	return rc;
}

struct image {
	char *bytes;
	size_t len;
};

static struct image load(const struct store_bench *bench)
{
	struct image image = {.len = 0};
	FILE *file = fopen(bench->path, "re");

	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	image.len = (size_t)ftell(file);
	rewind(file);
	image.bytes = malloc(image.len);
	assert_int_equal(fread(image.bytes, 1, image.len, file), image.len);
	fclose(file);
	return image;
}

static void put_back(const struct store_bench *bench, const struct image *image)
{
	unit_write_bytes(bench->dir, "r.wattle", image->bytes, image->len);
}

static struct image make_whole(struct store_bench *bench, size_t seconds)
{
	store_bench_create(bench);
	wtl_store_fact(bench->writer, "host", "here");
	store_bench_seconds(bench, seconds, 20);
	store_bench_end(bench);
	return load(bench);
}

static void take_line(void *context, const char *text)
{
	char *lines = context;
	size_t len = strlen(lines);

	snprintf(lines + len, 65536 - len, "%s\n", text);
}

/* Both say the same, and neither reads anything. */
static void expect_refused(const struct store_bench *bench, const char *words)
{
	struct wtl_store_reader *reader = NULL;
	struct wtl_err opened = {.text = ""}, checked = {.text = ""};

	if (wtl_store_open(bench->path, &reader, &opened) != -EBADMSG)
		fail_msg("it was read, where \"%s\" was expected", words);
	assert_int_equal(wtl_store_check(bench->path, NULL, NULL, &checked), -EBADMSG);
	assert_string_equal(opened.text, checked.text);
	if (!strstr(opened.text, words))
		fail_msg("\"%s\" does not say \"%s\"", opened.text, words);
}

/* ---- Schemas ---- */

#define OTHER(sql, words)                                              \
	{                                                              \
		sql, "its tables are not those of a recording: " words \
	}
/* A table's text in the schema. */
#define TEXT_OF(table, expression)                                              \
	"PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = " expression \
	" WHERE name = '" table "'"

static const struct schema {
	const char *sql, *words;
} schemas[] = {
	/* Columns that are computed, with what takes time and memory. */
	OTHER(TEXT_OF("fact",
		      "replace(sql, 'value TEXT', 'value TEXT AS (hex(zeroblob(100000000)))')"),
	      "table fact is not as wattle makes it"),
	OTHER(TEXT_OF("series", "replace(sql, 'name TEXT', 'name TEXT AS (''x'') STORED')"),
	      "table series is not as"),
	OTHER(TEXT_OF("chunk", "replace(sql, 'id >> 16', 'id >> 17')"), "table chunk is not as"),
	OTHER(TEXT_OF("gap", "replace(sql, 'text TEXT', 'text TEXT DEFAULT (hex(''x''))')"),
	      "table gap is not as"),
	OTHER("ALTER TABLE domain ADD COLUMN y AS (hex(x''))", "table domain is not as"),
	OTHER("ALTER TABLE series ADD COLUMN of_the_future", "table series is not as"),
	/* Constraints, collations, another case, another name for the same. */
	OTHER(TEXT_OF("window", "replace(sql, 'name TEXT', 'name TEXT COLLATE NOCASE')"),
	      "table window is not as"),
	OTHER(TEXT_OF("window", "replace(sql, 'name TEXT', 'name TEXT CHECK (name > 1)')"),
	      "table window is not as"),
	OTHER(TEXT_OF("period", "replace(sql, 'CREATE', 'create')"), "table period is not as"),
	OTHER(TEXT_OF("period", "sql || ' '"), "table period is not as"),
	OTHER(TEXT_OF("period", "sql || ' STRICT'"), "table period is not as"),
	OTHER(TEXT_OF("account", "replace(sql, ' WITHOUT ROWID', '')"), "table account is not as"),
	OTHER(TEXT_OF("gap", "sql || ' WITHOUT ROWID'"), "table gap is not as"),
	OTHER(TEXT_OF("gap", "NULL"), "table gap is not as"),
	OTHER(TEXT_OF("gap", "x'00'"), "table gap is not as"),
	OTHER("PRAGMA writable_schema=ON; UPDATE sqlite_schema SET tbl_name = 'gap' "
	      "WHERE name = 'miss'",
	      "table miss is not as"),
	OTHER("PRAGMA writable_schema=ON; UPDATE sqlite_schema SET name = 'gap' "
	      "WHERE name = 'miss'",
	      "table gap is not as"),
	OTHER("PRAGMA writable_schema=ON; UPDATE sqlite_schema SET name = 'fact' "
	      "WHERE name = 'miss'",
	      "there is also table fact"),
	OTHER("PRAGMA writable_schema=ON; UPDATE sqlite_schema SET type = 'view' "
	      "WHERE name = 'miss'",
	      "there is also view miss"),
	/* Other things of the names that wattle reads. */
	OTHER("DROP TABLE gap; CREATE VIEW gap AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
	      "SELECT i + 1 FROM n) SELECT i AS id, 0 AS kind, 0 AS begin_mono_ns, 0 AS "
	      "duration_ns, '' AS subject, '' AS text, 0 AS crc FROM n",
	      "there is also view gap"),
	OTHER("DROP TABLE gap; CREATE VIRTUAL TABLE gap USING fts5(id, kind, begin_mono_ns, "
	      "duration_ns, subject, text, crc)",
	      "table gap is not as"),
	OTHER("DROP TABLE baseline; CREATE VIRTUAL TABLE baseline USING rtree(domain, is_known, "
	      "is_modelled, idle_uw, uncertainty_uw)",
	      "table baseline is not as"),
	OTHER("DROP TABLE gap; CREATE VIRTUAL TABLE gap USING dbstat(main)", "table gap is not as"),
	OTHER("DROP TABLE gap; CREATE TABLE gap AS SELECT 1 AS id", "table gap is not as"),
	/* More than there should be, and less. */
	OTHER("CREATE TABLE note(text)", "there is also table note"),
	OTHER("CREATE INDEX n ON chunk(n)", "there is also index n"),
	OTHER("CREATE INDEX n ON fact(hex(key))", "there is also index n"),
	OTHER("CREATE VIEW v AS SELECT 1", "there is also view v"),
	OTHER("CREATE TRIGGER t AFTER INSERT ON fact BEGIN SELECT 1; END",
	      "there is also trigger t"),
	OTHER("ANALYZE", "there is also table sqlite_stat1"),
	OTHER("CREATE TABLE \"\x1b[31m\n\"(x)", "there is also table ?[31m"),
	OTHER("DROP TABLE miss", "there is no table miss"),
	OTHER("DROP TABLE recording", "there is no table recording"),
	OTHER("PRAGMA page_size=512; VACUUM", "its page_size 512 is none of wattle's"),
	OTHER("PRAGMA page_size=65536; VACUUM", "its page_size 65536 is none of wattle's"),
};

static void test_schemas(void **state)
{
	struct store_bench *bench = *state;
	struct image image = make_whole(bench, 3);
	size_t n_refused = 0;

	for (size_t i = 0; i < UNIT_COUNT(schemas); i++) {
		put_back(bench, &image);
		/* A module may not be there, with which SQLite was built elsewhere. */
		if (run_sql(bench, schemas[i].sql) != SQLITE_OK)
			continue;
		expect_refused(bench, schemas[i].words);
		n_refused++;
	}
	assert_in_range(n_refused, UNIT_COUNT(schemas) - 3, UNIT_COUNT(schemas));
	/* Neither does it write anything, nor is it confused by what is kept as it is. */
	put_back(bench, &image);
	assert_int_equal(run_sql(bench, "VACUUM"), SQLITE_OK);
	store_bench_expect(bench, 60);
	free(image.bytes);
}

/* The same tables in a database of UTF-16. */
static void test_encoding(void **state)
{
	struct store_bench *bench = *state;
	const struct wtl_table *table;
	struct wtl_buf sql;

	wtl_buf_init(&sql, 65536);
	wtl_buf_printf(&sql,
		       "PRAGMA encoding='UTF-16le'; PRAGMA page_size=%d; PRAGMA application_id=%d;"
		       "PRAGMA user_version=1",
		       WTL_PAGE_BYTES, WTL_APPLICATION_ID);
	for (size_t i = 0; (table = wtl_table_at(i)); i++) {
		wtl_buf_puts(&sql, ";");
		wtl_table_create_sql(table, &sql);
	}
	assert_int_equal(sql.error, 0);
	assert_int_equal(run_sql(bench, wtl_buf_str(&sql)), SQLITE_OK);
	wtl_buf_done(&sql);
	expect_refused(bench, "its encoding UTF-16le is none of wattle's");
}

/* Thousands of rows in the schema, and long ones. */
static void test_large_schemas(void **state)
{
	struct store_bench *bench = *state;
	struct image image = make_whole(bench, 3);

	assert_int_equal(run_sql(bench,
				 "PRAGMA writable_schema=ON; WITH n(i) AS (SELECT 1 UNION ALL "
				 "SELECT i + 1 FROM n LIMIT 100000) INSERT INTO sqlite_schema "
				 "SELECT 'table', 'n' || i, 'n' || i, 2, 'CREATE TABLE n' || i || "
				 "'(x)' FROM n"),
			 SQLITE_OK);
	expect_refused(bench, "there is also table n1");
	put_back(bench, &image);
	assert_int_equal(run_sql(bench, TEXT_OF("recording", "sql || hex(zeroblob(1000000))")),
			 SQLITE_OK);
	expect_refused(bench, "");
	free(image.bytes);
}

/* What somebody's own tables and indexes keep from being read is read once they are gone. */
static void test_own_tables_of_others(void **state)
{
	struct store_bench *bench = *state;
	struct image image = make_whole(bench, 3);

	assert_int_equal(run_sql(bench, "CREATE TABLE note(text); CREATE INDEX n ON chunk(n)"),
			 SQLITE_OK);
	expect_refused(bench, "there is also table note");
	assert_int_equal(run_sql(bench, "DROP TABLE note; DROP INDEX n"), SQLITE_OK);
	store_bench_expect(bench, 60);
	free(image.bytes);
}

/* ---- What may be compiled ---- */

static void test_guard(void **state)
{
	static const char *const allowed[] = {"SELECT value FROM main.fact", "BEGIN",
					      "SELECT sql FROM main.sqlite_schema",
					      "PRAGMA main.quick_check(1)"};
	static const char *const denied[] = {
		"SELECT hex('x')",
		"SELECT count(*) FROM main.fact",
		"SELECT load_extension('x')",
		"SELECT x FROM main.note",
		"SELECT x FROM v",
		"SELECT * FROM pragma_table_list",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n",
		"INSERT INTO main.fact VALUES('a', 'b', 0)",
		"UPDATE main.fact SET value = 'x'",
		"DELETE FROM main.fact",
		"CREATE TABLE x(y)",
		"CREATE TEMP TABLE x(y)",
		"ATTACH ':memory:' AS x",
		"ANALYZE",
		"SAVEPOINT s",
	};
	static const struct {
		int option, value;
	} settings[] = {
		{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},  {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
		{SQLITE_DBCONFIG_ENABLE_VIEW, 0},     {SQLITE_DBCONFIG_DQS_DML, 0},
		{SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1}, {SQLITE_DBCONFIG_DEFENSIVE, 1},
	};
	/* No more than wattle's own tables and statements need. */
	static const struct {
		int id, value;
	} limits[] = {
		{SQLITE_LIMIT_LENGTH, 1 << 14},
		{SQLITE_LIMIT_SQL_LENGTH, 1 << 14},
		{SQLITE_LIMIT_COLUMN, WTL_FIELDS_MAX + 8},
		{SQLITE_LIMIT_EXPR_DEPTH, 50},
		{SQLITE_LIMIT_COMPOUND_SELECT, 2},
		{SQLITE_LIMIT_FUNCTION_ARG, 0},
		{SQLITE_LIMIT_ATTACHED, 0},
		{SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1},
		{SQLITE_LIMIT_VARIABLE_NUMBER, 8},
		{SQLITE_LIMIT_TRIGGER_DEPTH, 1},
		{SQLITE_LIMIT_WORKER_THREADS, 0},
	};
	struct wtl_guard guard;
	sqlite3_stmt *stmt;
	sqlite3 *db;

	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "CREATE TABLE fact(key, value, crc); CREATE TABLE note(x);"
				      "CREATE VIEW v AS SELECT x FROM note",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 4); /* as some SQLite begins with */
	assert_int_equal(wtl_guard_set(&guard, db), SQLITE_OK);
	for (size_t i = 0; i < UNIT_COUNT(limits); i++)
		assert_int_equal(sqlite3_limit(db, limits[i].id, -1), limits[i].value);
	/* What is denied below is also switched off in SQLite. */
	for (size_t i = 0; i < UNIT_COUNT(settings); i++) {
		int value = -1;

		sqlite3_db_config(db, settings[i].option, -1, &value);
		assert_int_equal(value, settings[i].value);
	}
	wtl_guard_allow(&guard, db, 100000);
	for (size_t i = 0; i < UNIT_COUNT(allowed); i++) {
		if (sqlite3_prepare_v2(db, allowed[i], -1, &stmt, NULL) != SQLITE_OK)
			fail_msg("%s: %s", allowed[i], sqlite3_errmsg(db));
		sqlite3_finalize(stmt);
	}
	for (size_t i = 0; i < UNIT_COUNT(denied); i++)
		if (sqlite3_prepare_v2(db, denied[i], -1, &stmt, NULL) == SQLITE_OK)
			fail_msg("%s is compiled", denied[i]);
	guard.is_closed = true;
	for (size_t i = 0; i < UNIT_COUNT(allowed); i++)
		assert_int_equal(sqlite3_prepare_v2(db, allowed[i], -1, &stmt, NULL), SQLITE_AUTH);
	sqlite3_close(db);
}

/* How much may be done, and how long a value may be, by the size of the file. */
static void test_guard_by_size(void **state)
{
	static const struct {
		uint64_t bytes, steps;
		int longest;
	} sizes[] = {
		{1, (1 << 20) + 64, 1 << 16},
		{100000, (1 << 20) + 6400000, 100000},
		{UINT64_C(1) << 26, (1 << 20) + (UINT64_C(1) << 32), 1 << 26},
		{UINT64_MAX, (1 << 20) + (UINT64_C(1) << 32), 128 << 20},
	};
	struct wtl_guard guard;
	sqlite3 *db;

	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "CREATE TABLE fact(key, value, crc); WITH n(i) AS (SELECT 1 "
				      "UNION ALL SELECT i + 1 FROM n WHERE i < 100) "
				      "INSERT INTO fact(key) SELECT i FROM n",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(wtl_guard_set(&guard, db), SQLITE_OK);
	assert_in_range(guard.steps_left, 1000, 10000); /* for the schema alone */
	for (size_t i = 0; i < UNIT_COUNT(sizes); i++) {
		wtl_guard_allow(&guard, db, sizes[i].bytes);
		assert_int_equal(guard.steps_left, sizes[i].steps);
		assert_int_equal(sqlite3_limit(db, SQLITE_LIMIT_LENGTH, -1), sizes[i].longest);
	}
	/* 10000 rows, some steps each. */
	for (size_t i = 0; i < 2; i++) {
		guard.steps_left = i ? 1 << 20 : 10000;
		assert_int_equal(sqlite3_exec(db, "SELECT a.key FROM main.fact a, main.fact b",
					      NULL, NULL, NULL),
				 i ? SQLITE_OK : SQLITE_INTERRUPT);
	}
	assert_in_range(guard.steps_left, (1 << 20) - 200000, (1 << 20) - 20000);
	sqlite3_close(db);
}

/* The schema that was checked is the one that is read by, whatever whoever writes the file does to it later. */
static void test_schema_changes_later(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	uint64_t lost = 0;

	store_bench_create(bench);
	store_bench_seconds(bench, 25, 20);
	reader = store_bench_open(bench);
	assert_true(wtl_store_is_live(reader));
	assert_int_equal(store_bench_verify(reader, &lost), 500);
	assert_int_equal(lost, 0);
	assert_int_equal(run_sql(bench, "CREATE INDEX n ON chunk(hex(id))"), SQLITE_OK);
	store_bench_verify(reader, &lost);
	assert_int_equal(lost, 2); /* all that is not in memory */
	assert_true(wtl_store_is_damaged(reader));
	wtl_store_close(reader);
}

/* ---- Pages that refer to each other ---- */

static uint32_t root_of(const struct store_bench *bench, const char *table)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT rootpage FROM sqlite_schema WHERE name = '%s'", table);
	return (uint32_t)store_bench_number(bench, sql);
}

static void put16(uint8_t *at, size_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void put32(uint8_t *at, uint32_t value)
{
	uint32_t big = htobe32(value);

	memcpy(at, &big, sizeof(big));
}

/* An inner page of an index whose children are all the same one; SQLite's file format, 1.6. */
static void fill_inner(uint8_t page[WTL_PAGE_BYTES], uint32_t child)
{
	/* A record of three NULLs. */
	static const uint8_t payload[] = {5, 4, 0, 0, 0, 0};
	enum { HEADER = 12, CELL = 4 + 6, CELLS = 100 };

	memset(page, 0, WTL_PAGE_BYTES);
	page[0] = 2;
	put16(page + 3, CELLS);
	put16(page + 5, WTL_PAGE_BYTES - CELLS * CELL);
	put32(page + 8, child);
	for (size_t i = 0; i < CELLS; i++) {
		size_t at = WTL_PAGE_BYTES - (i + 1) * CELL;

		put16(page + HEADER + 2 * i, at);
		put32(page + at, child);
		memcpy(page + at + 4, payload, sizeof(payload));
	}
}

/* Its facts are 100^12 rows in a dozen pages: all of them could never be read. */
static void test_pages_in_a_circle(void **state)
{
	enum { LEVELS = 12 };
	struct store_bench *bench = *state;
	struct image image = make_whole(bench, 3);
	uint32_t root = root_of(bench, "fact"), n_pages = (uint32_t)(image.len / WTL_PAGE_BYTES);
	uint8_t *bytes = calloc(n_pages + LEVELS, WTL_PAGE_BYTES);
	struct wtl_store_reader *reader;
	static char lines[65536];

	memcpy(bytes, image.bytes, image.len);
	free(image.bytes);
	fill_inner(bytes + (size_t)(root - 1) * WTL_PAGE_BYTES, n_pages + 1);
	for (uint32_t i = 0; i < LEVELS; i++)
		fill_inner(bytes + (size_t)(n_pages + i) * WTL_PAGE_BYTES, n_pages + i + 2);
	/* The last ones are leaves without cells. */
	memset(bytes + (size_t)(n_pages + LEVELS - 1) * WTL_PAGE_BYTES, 0, WTL_PAGE_BYTES);
	bytes[(size_t)(n_pages + LEVELS - 1) * WTL_PAGE_BYTES] = 10;
	put16(bytes + (size_t)(n_pages + LEVELS - 1) * WTL_PAGE_BYTES + 5, WTL_PAGE_BYTES);
	put32(bytes + 28, n_pages + LEVELS);
	image = (struct image){(char *)bytes, (size_t)(n_pages + LEVELS) * WTL_PAGE_BYTES};
	put_back(bench, &image);
	reader = store_bench_open(bench);
	assert_true(wtl_store_is_damaged(reader));
	wtl_store_close(reader);
	lines[0] = '\0';
	assert_in_range(wtl_store_check(bench->path, take_line, lines, NULL), 2, 100);
	assert_non_null(strstr(lines, "structure: "));
	assert_non_null(strstr(lines, "table fact: rows cannot be reached"));
	free(bytes);
}

/* Each of them is sound, but a row that comes behind a later one is none that was written. */
static void test_rows_out_of_order(void **state)
{
	enum { POINTERS = 8 };
	struct store_bench *bench = *state;
	struct image image = make_whole(bench, 3);
	char *page = image.bytes + (size_t)(root_of(bench, "series") - 1) * WTL_PAGE_BYTES;
	struct wtl_store_reader *reader;
	static char lines[65536];
	char second[2];

	assert_int_equal(page[0], 13);
	memcpy(second, page + POINTERS + 2, 2);
	memcpy(page + POINTERS + 2, page + POINTERS + 4, 2);
	memcpy(page + POINTERS + 4, second, 2);
	put_back(bench, &image);
	reader = store_bench_open(bench);
	assert_true(wtl_store_is_damaged(reader));
	wtl_store_close(reader);
	lines[0] = '\0';
	assert_in_range(wtl_store_check(bench->path, take_line, lines, NULL), 1, 100);
	assert_non_null(strstr(lines, "table series: id 3: rows from here on cannot be reached\n"));
	free(image.bytes);
}

/* A leaf of rows that are each nearly as long as the file, of the same page again and again. */
static void fill_leaf(uint8_t page[WTL_PAGE_BYTES], uint32_t overflow, size_t cells, size_t length)
{
	enum { HEADER = 8, LOCAL = 489, CELL = 3 + 1 + LOCAL + 4 };

	memset(page, 0, WTL_PAGE_BYTES);
	page[0] = 13;
	put16(page + 3, cells);
	put16(page + 5, WTL_PAGE_BYTES - cells * CELL);
	for (size_t i = 0; i < cells; i++) {
		size_t at = WTL_PAGE_BYTES - (i + 1) * CELL;
		uint8_t *cell = page + at;

		put16(page + HEADER + 2 * i, at);
		/* A varint of 3 bytes; the key. */
		cell[0] = (uint8_t)(0x80 | length >> 14);
		cell[1] = (uint8_t)(0x80 | (length >> 7 & 0x7f));
		cell[2] = (uint8_t)(length & 0x7f);
		cell[3] = (uint8_t)(i + 1);
		/* Two columns: NULL, and a text that is the rest. */
		size_t text = 2 * (length - 5) + 13;
		uint8_t record[] = {5, 0, (uint8_t)(0x80 | text >> 14),
				    (uint8_t)(0x80 | (text >> 7 & 0x7f)), (uint8_t)(text & 0x7f)};

		memcpy(cell + 4, record, sizeof(record));
		put32(cell + 4 + LOCAL, overflow);
	}
}

static void test_long_rows_of_one_page(void **state)
{
	enum { CELLS = 7 };
	struct store_bench *bench = *state;
	struct image image = make_whole(bench, 3);
	uint32_t root = root_of(bench, "series"), n_pages = (uint32_t)(image.len / WTL_PAGE_BYTES);
	uint8_t *bytes = calloc(n_pages + 1, WTL_PAGE_BYTES);
	struct wtl_store_reader *reader;
	static char lines[65536];

	/* 489 bytes in the leaf, and whole pages; after each of them comes the same one. */
	assert_in_range(n_pages, 15, 100);
	memcpy(bytes, image.bytes, image.len);
	free(image.bytes);
	fill_leaf(bytes + (size_t)(root - 1) * WTL_PAGE_BYTES, n_pages + 1, CELLS,
		  489 + (n_pages - 5) * (WTL_PAGE_BYTES - 4));
	put32(bytes + (size_t)n_pages * WTL_PAGE_BYTES, n_pages + 1);
	put32(bytes + 28, n_pages + 1);
	image = (struct image){(char *)bytes, (size_t)(n_pages + 1) * WTL_PAGE_BYTES};
	put_back(bench, &image);
	reader = store_bench_open(bench);
	assert_true(wtl_store_is_damaged(reader));
	wtl_store_close(reader);
	lines[0] = '\0';
	assert_in_range(wtl_store_check(bench->path, take_line, lines, NULL), 2, 100);
	/* One fits into the file, and two do not. */
	assert_non_null(strstr(lines, "table series: id 2 is damaged\n"));
	assert_null(strstr(lines, "table series: id 3 is damaged\n"));
	assert_non_null(strstr(lines, "table series: id 3: rows from here on cannot be reached\n"));
	free(bytes);
}

/* ---- Values that take no room ---- */

/* A chunk of so many zeros, in a dozen bytes. */
static void put_zeros(struct wtl_file *file, int64_t period, uint64_t n)
{
	struct wtl_row_chunk chunk = {.id = period * WTL_STORE_SERIES_MAX, .n = (uint32_t)n};
	struct wtl_row_period row = {.id = period};
	const int64_t count = (int64_t)n;
	struct wtl_buf block;

	wtl_buf_init(&block, 1000);
	wtl_buf_putc(&block, 0);
	wtl_varint_put(&block, n);
	wtl_varint_put(&block, 1);
	wtl_buf_putc(&block, 0);
	wtl_varint_put(&block, n - 1);
	chunk.size = (uint32_t)block.len;
	chunk.data = (struct wtl_bytes){block.data, block.len};
	assert_int_equal(wtl_file_put(file, &wtl_table_chunk, &chunk), SQLITE_OK);
	wtl_buf_clear(&block);
	assert_int_equal(wtl_code_put(&block, &count, 1), 0);
	row.counts = (struct wtl_bytes){block.data, block.len};
	assert_int_equal(wtl_file_put(file, &wtl_table_period, &row), SQLITE_OK);
	wtl_buf_done(&block);
}

/* However many a file claims, no more are read than one of its size could have; the others are damaged. */
static void test_values_out_of_nothing(void **state)
{
	enum { PERIODS = 40, FIRST = 30 };
	struct store_bench *bench = *state;
	struct image image = make_whole(bench, 3);
	struct wtl_file file = {.lock = -1};
	struct wtl_store_reader *reader;
	struct wtl_store_period period;
	const int64_t *values;
	uint64_t sum = 0;
	size_t n, n_read = 0;

	assert_int_equal(sqlite3_open(bench->path, &file.db), SQLITE_OK);
	assert_int_equal(wtl_file_run(&file, "BEGIN"), SQLITE_OK);
	for (int64_t i = 1; i <= PERIODS; i++)
		put_zeros(&file, i, WTL_CODE_VALUES_MAX);
	assert_int_equal(wtl_file_run(&file, "COMMIT"), SQLITE_OK);
	wtl_file_close(&file, true);
	reader = store_bench_open(bench);
	assert_int_equal(wtl_store_period(reader, PERIODS - 1, &period), 0);
	/* Those that are asked for first. */
	for (size_t i = 0; i < PERIODS; i++)
		if (wtl_store_values(reader, 0, (i + FIRST) % PERIODS, &values, &n, NULL) == 0) {
			assert_int_equal(n_read, i);
			n_read++;
			sum += n;
		}
	assert_in_range(n_read, 4, PERIODS - 1);
	assert_in_range(sum, UINT64_C(64) << 20, (UINT64_C(64) << 20) + image.len * 2048);
	assert_true(wtl_store_is_damaged(reader));
	/* Once more they are neither more nor fewer. */
	assert_int_equal(wtl_store_values(reader, 0, FIRST, &values, &n, NULL), 0);
	assert_int_equal(wtl_store_values(reader, 0, FIRST - 1, &values, &n, NULL), -EBADMSG);
	wtl_store_close(reader);
	free(image.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(test_schemas),
		STORE_TEST(test_encoding),
		STORE_TEST(test_large_schemas),
		STORE_TEST(test_own_tables_of_others),
		cmocka_unit_test(test_guard),
		cmocka_unit_test(test_guard_by_size),
		STORE_TEST(test_schema_changes_later),
		STORE_TEST(test_pages_in_a_circle),
		STORE_TEST(test_rows_out_of_order),
		STORE_TEST(test_long_rows_of_one_page),
		STORE_TEST(test_values_out_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
