/* SPDX-License-Identifier: MIT */
/* The tables as they are described: whatever a row holds comes back, and whatever was changed is seen. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/crc.h"
#include "record/table.h"

struct bench {
	sqlite3 *db;
	uint64_t random;
};

static int setup(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	const struct wtl_table *table;

	assert_int_equal(sqlite3_open(":memory:", &bench->db), SQLITE_OK);
	bench->random = 4711;
	for (size_t i = 0; (table = wtl_table_at(i)); i++) {
		struct wtl_buf sql;

		wtl_buf_init(&sql, 8192);
		assert_int_equal(wtl_table_create_sql(table, &sql), 0);
		if (sqlite3_exec(bench->db, wtl_buf_str(&sql), NULL, NULL, NULL) != SQLITE_OK)
			fail_msg("%s: %s", wtl_buf_str(&sql), sqlite3_errmsg(bench->db));
		wtl_buf_done(&sql);
	}
	*state = bench;
	return 0;
}

static int teardown(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(sqlite3_close(bench->db), SQLITE_OK);
	free(bench);
	return 0;
}

static uint64_t next_random(struct bench *bench)
{
	bench->random =
		bench->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return bench->random >> 20 ^ bench->random << 44;
}

static void run(struct bench *bench, const char *sql)
{
	if (sqlite3_exec(bench->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(bench->db));
}

/* ---- Rows with anything in them ---- */

static void fill_field(struct bench *bench, const struct wtl_field *field, void *at)
{
	static const uint8_t bytes[] = {0, 1, 2, 3, 255, 0};
	uint64_t number = next_random(bench);
	uint32_t u32;
	size_t len;

	/* The edges more often than chance would have them. */
	if (number % 4 == 0)
		number = number % 8 ? 0 : UINT64_MAX;
	switch (field->kind) {
	case WTL_FIELD_BOOL:
		*(bool *)at = number & 1;
		return;
	case WTL_FIELD_I32:
	case WTL_FIELD_U32:
		u32 = (uint32_t)(field->size ? number % field->size : number);
		memcpy(at, &u32, sizeof(u32));
		return;
	case WTL_FIELD_I64:
	case WTL_FIELD_U64:
		memcpy(at, &number, sizeof(number));
		return;
	case WTL_FIELD_TEXT:
		len = number % field->size;
		for (size_t i = 0; i < len; i++)
			((char *)at)[i] = (char)('a' + next_random(bench) % 26);
		((char *)at)[len] = '\0';
		return;
	case WTL_FIELD_BYTES:
		*(struct wtl_bytes *)at = (struct wtl_bytes){bytes, number % sizeof(bytes)};
		return;
	}
}

static void *random_row(struct bench *bench, const struct wtl_table *table)
{
	char *row = calloc(1, table->size);

	assert_non_null(row);
	for (size_t i = 0; i < table->n_fields; i++)
		fill_field(bench, &table->fields[i], row + table->fields[i].offset);
	return row;
}

static bool same_field(const struct wtl_field *field, const void *a, const void *b)
{
	const struct wtl_bytes *x = a, *y = b;

	switch (field->kind) {
	case WTL_FIELD_BOOL:
		return *(const bool *)a == *(const bool *)b;
	case WTL_FIELD_I32:
	case WTL_FIELD_U32:
		return memcmp(a, b, 4) == 0;
	case WTL_FIELD_I64:
	case WTL_FIELD_U64:
		return memcmp(a, b, 8) == 0;
	case WTL_FIELD_TEXT:
		return strcmp(a, b) == 0;
	case WTL_FIELD_BYTES:
		return x->len == y->len && (x->len == 0 || memcmp(x->data, y->data, x->len) == 0);
	}
	return false;
}

static void insert(struct bench *bench, const struct wtl_table *table, const void *row)
{
	sqlite3_stmt *stmt;
	struct wtl_buf sql;

	wtl_buf_init(&sql, 8192);
	assert_int_equal(wtl_table_insert_sql(table, &sql), 0);
	assert_int_equal(sqlite3_prepare_v2(bench->db, wtl_buf_str(&sql), -1, &stmt, NULL),
			 SQLITE_OK);
	assert_int_equal(wtl_row_bind(stmt, table, row), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
	sqlite3_finalize(stmt);
	wtl_buf_done(&sql);
}

/* Reads the only row. With `row`, it must be that one. Returns what wtl_row_get() did. */
static int read_only_row(struct bench *bench, const struct wtl_table *table, const char *row)
{
	char *back = malloc(table->size);
	struct wtl_rows rows;
	int rc;

	assert_non_null(back);
	memset(back, 0x5a, table->size);
	assert_int_equal(wtl_rows_prepare(&rows, bench->db, table, ""), SQLITE_OK);
	assert_int_equal(sqlite3_step(rows.stmt), SQLITE_ROW);
	rc = wtl_row_get(&rows, back);
	for (size_t i = 0; row && i < table->n_fields; i++) {
		const struct wtl_field *field = &table->fields[i];

		if (!same_field(field, back + field->offset, row + field->offset))
			fail_msg("%s.%s is not what it was", table->name, field->name);
	}
	assert_int_equal(sqlite3_step(rows.stmt), SQLITE_DONE);
	wtl_rows_done(&rows);
	free(back);
	return rc;
}

static void clear(struct bench *bench, const struct wtl_table *table)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "DELETE FROM %s", table->name);
	run(bench, sql);
}

static void test_every_table_takes_anything(void **state)
{
	struct bench *bench = *state;
	const struct wtl_table *table;

	for (size_t i = 0; (table = wtl_table_at(i)); i++)
		for (int round = 0; round < 50; round++) {
			void *row = random_row(bench, table);

			insert(bench, table, row);
			assert_int_equal(read_only_row(bench, table, row), 0);
			clear(bench, table);
			free(row);
		}
}

/* Packed one behind the other they come back as well, those before one for which there is no room. */
static void test_packed(void **state)
{
	enum { ROUNDS = 20 };
	struct bench *bench = *state;
	const struct wtl_table *table;

	for (size_t i = 0; (table = wtl_table_at(i)); i++) {
		char back[WTL_ROW_SIZE_MAX] __attribute__((aligned(16)));
		void *rows[ROUNDS];
		struct wtl_buf packed;
		const uint8_t *at;
		size_t len;

		wtl_buf_init(&packed, SIZE_MAX);
		for (size_t round = 0; round < ROUNDS; round++) {
			rows[round] = random_row(bench, table);
			assert_int_equal(wtl_row_pack(&packed, table, rows[round]), 0);
		}
		len = packed.len;
		packed.max = len + 8;
		assert_int_equal(wtl_row_pack(&packed, table, rows[0]), -ENOMEM);
		assert_int_equal(packed.len, len);
		packed.max = SIZE_MAX - 1;
		assert_int_equal(wtl_row_pack(&packed, table, rows[0]), 0);
		at = (const uint8_t *)packed.data;
		for (size_t round = 0; round <= ROUNDS; round++) {
			const char *row = rows[round % ROUNDS];

			memset(back, 0x5a, sizeof(back));
			assert_ptr_equal(
				wtl_row_unpack(&at, (uint8_t *)packed.data + packed.len, back),
				table);
			for (size_t k = 0; k < table->n_fields; k++) {
				const struct wtl_field *field = &table->fields[k];
				const struct wtl_bytes none = {0};

				if (!same_field(field, back + field->offset,
						field->kind == WTL_FIELD_BYTES
							? (const char *)&none
							: row + field->offset))
					fail_msg("%s.%s is not what it was", table->name,
						 field->name);
			}
		}
		assert_ptr_equal(at, packed.data + packed.len);
		for (size_t round = 0; round < ROUNDS; round++)
			free(rows[round]);
		wtl_buf_done(&packed);
	}
}

/* A row of the same key takes the other's place. */
static void test_replacing(void **state)
{
	struct bench *bench = *state;
	const struct wtl_table *table;

	for (size_t i = 0; (table = wtl_table_at(i)); i++) {
		char *first = random_row(bench, table), *second = random_row(bench, table);

		for (size_t k = 0; k < table->n_keys; k++) {
			const struct wtl_field *field = &table->fields[k];
			size_t len = field->kind == WTL_FIELD_TEXT  ? field->size
				     : field->kind == WTL_FIELD_I64 ? 8
								    : 4;

			memcpy(second + field->offset, first + field->offset, len);
		}
		insert(bench, table, first);
		insert(bench, table, second);
		assert_int_equal(read_only_row(bench, table, second), 0);
		free(first);
		free(second);
	}
}

/* ---- What was changed ---- */

/* Each column is covered by the checksum, whatever it is changed to. */
static void test_every_column_is_watched(void **state)
{
	static const char *const changes[] = {"NULL", "77", "'x'", "x'00'", "1.5", "-1"};
	struct bench *bench = *state;
	const struct wtl_table *table;
	size_t n_changes = 0;

	for (size_t i = 0; (table = wtl_table_at(i)); i++)
		/* Not the rowid: SQLite takes only integers there. */
		for (size_t k = table->n_keys; k <= table->n_fields; k++)
			for (size_t c = 0; c < UNIT_COUNT(changes); c++) {
				const char *name =
					k < table->n_fields ? table->fields[k].name : "crc";
				void *row = random_row(bench, table);
				char sql[256];

				insert(bench, table, row);
				snprintf(sql, sizeof(sql),
					 "UPDATE %s SET %s = %s WHERE %s IS NOT %s", table->name,
					 name, changes[c], name, changes[c]);
				run(bench, sql);
				if (sqlite3_changes(bench->db) > 0) {
					if (read_only_row(bench, table, NULL) != -EBADMSG)
						fail_msg("%s was not noticed", sql);
					n_changes++;
				}
				clear(bench, table);
				free(row);
			}
	assert_true(n_changes > 500);
}

/* A number that fits its checksum, but that the field cannot have. */
static void test_bounds(void **state)
{
	static const struct {
		const char *column;
		int64_t number;
		int rc;
	} cases[] = {
		{"state", WTL_CONSUMER_FOLDED, 0},
		{"state", WTL_CONSUMER_FOLDED + 1, -EBADMSG},
		{"state", -1, -EBADMSG},
		{"state", INT64_MAX, -EBADMSG},
		{"pid", INT32_MAX, 0},
		{"pid", INT32_MIN, 0},
		{"pid", INT64_C(1) << 31, -EBADMSG},
		{"pid", -(INT64_C(1) << 31) - 1, -EBADMSG},
		{"slot", UINT32_MAX, 0},
		{"slot", INT64_C(1) << 32, -EBADMSG},
		{"slot", -1, -EBADMSG},
		{"is_in_tree", 1, 0},
		{"is_in_tree", 2, -EBADMSG},
		{"is_in_tree", -1, -EBADMSG},
		{"cpu_ns", INT64_MIN, 0},
	};
	struct bench *bench = *state;

	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		/* The same rows with a wider field in place: what another writer might put there. */
		static struct wtl_field fields[WTL_FIELDS_MAX];
		struct wtl_table table = wtl_table_consumer;
		struct {
			struct wtl_row_consumer row;
			int64_t number;
		} own = {.number = cases[i].number};

		memcpy(fields, table.fields, table.n_fields * sizeof(fields[0]));
		table.fields = fields;
		for (size_t k = 0; k < table.n_fields; k++)
			if (strcmp(fields[k].name, cases[i].column) == 0) {
				fields[k].kind = WTL_FIELD_I64;
				fields[k].is_optional = false;
				fields[k].offset = (uint32_t)((char *)&own.number - (char *)&own);
			}
		insert(bench, &table, &own);
		if (read_only_row(bench, &wtl_table_consumer, NULL) != cases[i].rc)
			fail_msg("%s = %lld", cases[i].column, (long long)cases[i].number);
	}
}

static void put_number(const struct wtl_table *table, char *row, const char *name, int64_t number)
{
	for (size_t i = 0; i < table->n_fields; i++) {
		const struct wtl_field *field = &table->fields[i];
		bool is_wide = field->kind == WTL_FIELD_I64 || field->kind == WTL_FIELD_U64;

		if (strcmp(field->name, name) == 0)
			memcpy(row + field->offset, &number,
			       field->kind == WTL_FIELD_BOOL ? 1
			       : is_wide		     ? 8
							     : 4);
		else if (field->kind == WTL_FIELD_TEXT)
			row[field->offset] = 'x';
	}
}

/* Which numbers a recorder can have written. */
static void test_sound_numbers(void **state)
{
	enum { CATALOG = WTL_CATALOG_MAX - 1 };
	const int64_t mono = WTL_STORE_MONO_MAX_NS, utc = WTL_STORE_UTC_MAX_NS,
		      span = WTL_STORE_SPAN_MAX_NS;
	const struct {
		const struct wtl_table *table;
		const char *field;
		int64_t least, most;
	} cases[] = {
		{&wtl_table_recording, "begin_mono_ns", 0, mono},
		{&wtl_table_recording, "begin_utc_ns", -utc, utc},
		{&wtl_table_recording, "end_mono_ns", 0, mono},
		{&wtl_table_recording, "end_utc_ns", -utc, utc},
		{&wtl_table_recording, "period_ns", 0, mono},
		{&wtl_table_recording, "max_age_ns", 0, mono},
		{&wtl_table_recording, "first_period", 0, WTL_PERIODS_MAX},
		{&wtl_table_recording, "last_period", 0, WTL_PERIODS_MAX},
		{&wtl_table_series, "id", 0, WTL_STORE_SERIES_MAX - 1},
		{&wtl_table_period, "id", 1, WTL_PERIODS_MAX},
		{&wtl_table_period, "parts", 0, WTL_PARTS_MAX},
		{&wtl_table_period, "begin_mono_ns", 0, mono},
		{&wtl_table_period, "begin_utc_ns", -utc, utc},
		{&wtl_table_period, "end_mono_ns", 0, mono},
		{&wtl_table_period, "end_utc_ns", -utc, utc},
		{&wtl_table_domain, "id", 0, CATALOG},
		{&wtl_table_miss, "id", 0, CATALOG},
		{&wtl_table_channel, "id", 0, CATALOG},
		{&wtl_table_channel, "unit_num", 1, INT64_MAX},
		{&wtl_table_channel, "unit_den", 1, INT64_MAX},
		{&wtl_table_channel, "update_ns", 0, span},
		{&wtl_table_channel, "class_window_ns", 0, span},
		{&wtl_table_channel, "class_update_ns", 0, span},
		{&wtl_table_channel, "class_latency_ns", -span, span},
		{&wtl_table_channel, "class_latency_sd_ns", 0, span},
		{&wtl_table_consumer, "id", 1, UINT32_MAX},
		{&wtl_table_consumer, "start_ns", 0, mono},
		{&wtl_table_consumer, "cpu_ns", 0, mono},
		{&wtl_table_consumer, "counted_ns", 0, mono},
		{&wtl_table_window, "id", 1, UINT32_MAX},
		{&wtl_table_window, "begin_mono_ns", 0, mono},
		{&wtl_table_window, "begin_utc_ns", -utc, utc},
		{&wtl_table_window, "duration_ns", 0, mono},
		{&wtl_table_energy, "domain", -1, CATALOG},
		{&wtl_table_energy, "measured_ns", 0, mono},
		{&wtl_table_energy, "gap_ns", 0, mono},
		{&wtl_table_gap, "begin_mono_ns", 0, mono},
		{&wtl_table_gap, "duration_ns", 0, mono},
		{&wtl_table_account, "domain", 0, CATALOG},
		{&wtl_table_account, "share_ns", 0, mono},
		{&wtl_table_baseline, "domain", 0, CATALOG},
		{&wtl_table_baseline, "t_utc_ns", -utc, utc},
		{&wtl_table_baseline, "seen_ns", 0, mono},
	};
	/* What no row can be without, and a sensor's class, which some channels have. */
	static const char *const ones[] = {"id", "unit_num", "unit_den", "has_class"};
	char row[WTL_ROW_SIZE_MAX] __attribute__((aligned(16)));

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		const struct {
			int64_t number;
			bool is_sound;
		} tried[] = {{cases[i].least, true},
			     {cases[i].most, true},
			     {cases[i].least - 1, false},
			     {(int64_t)((uint64_t)cases[i].most + 1), false}};

		for (size_t k = 0; k < UNIT_COUNT(tried); k++) {
			/* Of 32 bits, or of 64 without a sign, there is no more. */
			if (k == 3 && (cases[i].most == UINT32_MAX || cases[i].most == INT64_MAX))
				continue;
			memset(row, 0, sizeof(row));
			for (size_t one = 0; one < UNIT_COUNT(ones); one++)
				put_number(cases[i].table, row, ones[one], 1);
			put_number(cases[i].table, row, cases[i].field, tried[k].number);
			if (wtl_row_is_sound(cases[i].table, row) != tried[k].is_sound)
				fail_msg("%s.%s = %lld", cases[i].table->name, cases[i].field,
					 (long long)tried[k].number);
		}
	}
}

static void test_not_known_is_null(void **state)
{
	struct wtl_row_consumer row = {.stored.consumer = {.uid = UINT32_MAX,
							   .rss_bytes = UINT64_MAX,
							   .pss_bytes = UINT64_MAX - 1,
							   .uss_bytes = 0,
							   .gpu_memory_bytes = UINT64_MAX,
							   .gpu_ppm = UINT32_MAX}};
	struct bench *bench = *state;
	sqlite3_stmt *stmt;

	insert(bench, &wtl_table_consumer, &row);
	assert_int_equal(
		sqlite3_prepare_v2(bench->db,
				   "SELECT 1 FROM consumer WHERE uid IS NULL AND rss_bytes IS "
				   "NULL AND pss_bytes = -2 AND uss_bytes = 0 AND "
				   "gpu_memory_bytes IS NULL AND gpu_ppm IS NULL",
				   -1, &stmt, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	sqlite3_finalize(stmt);
	assert_int_equal(read_only_row(bench, &wtl_table_consumer, (char *)&row), 0);
}

/* Text that nobody should print as it is comes out clean, and is no damage. */
static void test_text_is_cleaned(void **state)
{
	struct wtl_row_series row = {.id = 1, .name = "a\033[31mb\xff\n"}, back;
	struct bench *bench = *state;
	struct wtl_rows rows;

	insert(bench, &wtl_table_series, &row);
	assert_int_equal(wtl_rows_prepare(&rows, bench->db, &wtl_table_series, ""), SQLITE_OK);
	assert_int_equal(sqlite3_step(rows.stmt), SQLITE_ROW);
	assert_int_equal(wtl_row_get(&rows, &back), 0);
	assert_string_equal(back.name, "a?[31mb?");
	wtl_rows_done(&rows);
}

/* Longer than there is room for: cut, and always ended. */
static void test_long_text(void **state)
{
	static struct wtl_field fields[2];
	struct wtl_table table = wtl_table_series;
	struct {
		uint32_t id;
		char name[200];
	} own = {.id = 1};
	struct wtl_row_series back;
	struct bench *bench = *state;
	struct wtl_rows rows;

	memset(own.name, 'x', sizeof(own.name));
	memcpy(fields, table.fields, sizeof(fields));
	fields[1].size = sizeof(own.name);
	table.fields = fields;
	insert(bench, &table, &own);
	assert_int_equal(wtl_rows_prepare(&rows, bench->db, &wtl_table_series, ""), SQLITE_OK);
	assert_int_equal(sqlite3_step(rows.stmt), SQLITE_ROW);
	assert_int_equal(wtl_row_get(&rows, &back), 0);
	assert_int_equal(strlen(back.name), sizeof(back.name) - 1);
	wtl_rows_done(&rows);
}

/* ---- Columns that are not there ---- */

/* What nothing stands for, and where there is such a thing, "not known", from a field on. */
static void expect_nothing(const struct wtl_table *table, size_t from, const char *row)
{
	for (size_t i = from; i < table->n_fields; i++) {
		const struct wtl_field *field = &table->fields[i];
		const char zeros[WTL_FACT_SIZE] = "";
		const uint64_t unknown = UINT64_MAX;

		if (!same_field(field, row + field->offset,
				field->is_optional ? (const char *)&unknown : zeros))
			fail_msg("%s.%s is not nothing", table->name, field->name);
	}
}

static void test_nothing_but_a_key(void **state)
{
	static const struct wtl_table *const tables[] = {&wtl_table_consumer, &wtl_table_channel,
							 &wtl_table_period, &wtl_table_chunk};
	struct bench *bench = *state;

	for (size_t i = 0; i < UNIT_COUNT(tables); i++) {
		char sql[128], row[WTL_ROW_SIZE_MAX] __attribute__((aligned(16)));
		struct wtl_rows rows;
		uint32_t sum = wtl_crc_add(0, "\1\0\0\0\0\0\0", 8);

		for (size_t k = 1; k < tables[i]->n_fields; k++)
			sum = wtl_crc_add(sum, "", 1);
		snprintf(sql, sizeof(sql), "INSERT INTO %s(id, crc) VALUES(1, %u)", tables[i]->name,
			 sum);
		run(bench, sql);
		assert_int_equal(wtl_rows_prepare(&rows, bench->db, tables[i], ""), SQLITE_OK);
		assert_int_equal(sqlite3_step(rows.stmt), SQLITE_ROW);
		assert_int_equal(wtl_row_get(&rows, row), 0);
		expect_nothing(tables[i], 1, row);
		wtl_rows_done(&rows);
	}
}

static void test_missing_columns(void **state)
{
	struct bench *bench = *state;
	struct wtl_row_consumer row = {.stored = {.id = 1, .slot = 2}}, back;
	struct wtl_table older = wtl_table_consumer;
	struct wtl_rows rows;
	struct wtl_buf sql;

	/* As a version wrote it that did not know the last ten. */
	older.n_fields -= 10;
	run(bench, "DROP TABLE consumer");
	wtl_buf_init(&sql, 8192);
	assert_int_equal(wtl_table_create_sql(&older, &sql), 0);
	run(bench, wtl_buf_str(&sql));
	wtl_buf_done(&sql);
	insert(bench, &older, &row);
	assert_int_equal(wtl_rows_prepare(&rows, bench->db, &wtl_table_consumer, ""), SQLITE_OK);
	assert_int_equal(sqlite3_step(rows.stmt), SQLITE_ROW);
	assert_int_equal(wtl_row_get(&rows, &back), 0);
	assert_int_equal(back.stored.slot, 2);
	expect_nothing(&wtl_table_consumer, older.n_fields, (const char *)&back);
	assert_true(back.stored.consumer.rss_bytes == UINT64_MAX);
	assert_true(back.stored.consumer.gpu_ppm == UINT32_MAX);
	wtl_rows_done(&rows);
}

static void test_missing_table(void **state)
{
	struct bench *bench = *state;
	struct wtl_rows rows;

	run(bench, "DROP TABLE fact");
	assert_int_equal(wtl_rows_prepare(&rows, bench->db, &wtl_table_fact, ""), SQLITE_ERROR);
	wtl_rows_done(&rows);
	/* Its place taken by something that has none of its columns. */
	run(bench, "CREATE TABLE fact(x)");
	assert_int_equal(wtl_rows_prepare(&rows, bench->db, &wtl_table_fact, ""), SQLITE_ERROR);
	wtl_rows_done(&rows);
}

/* The keys of parts and chunks, as people see them. */
static void test_computed_columns(void **state)
{
	const struct wtl_row_chunk chunk = {.id = INT64_C(12) << 16 | 65535};
	const struct wtl_row_part part = {.id = INT64_C(1) << 40 | 7};
	struct bench *bench = *state;
	sqlite3_stmt *stmt;

	insert(bench, &wtl_table_chunk, &chunk);
	insert(bench, &wtl_table_part, &part);
	assert_int_equal(
		sqlite3_prepare_v2(bench->db,
				   "SELECT 1 FROM chunk, part WHERE chunk.period = 12 AND "
				   "series = 65535 AND part.period = 16777216 AND number = 7",
				   -1, &stmt, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	sqlite3_finalize(stmt);
}

static void test_descriptions(void **state)
{
	const struct wtl_table *table;

	(void)state;
	for (size_t i = 0; (table = wtl_table_at(i)); i++) {
		assert_in_range(table->n_fields, 2, WTL_FIELDS_MAX);
		assert_in_range(table->n_keys, 1, table->n_fields);
		for (size_t k = 0; k < table->n_fields; k++) {
			const struct wtl_field *field = &table->fields[k];

			assert_in_range(field->offset, 0, table->size - 1);
			if (field->is_optional)
				assert_true(field->kind == WTL_FIELD_U32 ||
					    field->kind == WTL_FIELD_U64);
			for (size_t m = 0; m < k; m++)
				assert_string_not_equal(field->name, table->fields[m].name);
		}
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(table->name, wtl_table_at(k)->name);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_every_table_takes_anything),
		TEST(test_packed),
		TEST(test_replacing),
		TEST(test_every_column_is_watched),
		TEST(test_bounds),
		TEST(test_sound_numbers),
		TEST(test_not_known_is_null),
		TEST(test_text_is_cleaned),
		TEST(test_long_text),
		TEST(test_nothing_but_a_key),
		TEST(test_missing_columns),
		TEST(test_missing_table),
		TEST(test_computed_columns),
		TEST(test_descriptions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
