/* SPDX-License-Identifier: MIT */
#include "recording.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "memvfs.h"
#include "record/database.h"
#include "record/store.h"
#include "sqlite_memory.h"

enum { TABLES = WTL_TABLES, KEPT = 6, SQL_MAX = 65536 };

static struct {
	sqlite3 *db;
	const struct wtl_table *tables[TABLES];
	sqlite3_stmt *inserts[TABLES], *kept[KEPT];
} made;

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* ---- Making ---- */

static void run(const char *sql)
{
	check(sqlite3_exec(made.db, sql, NULL, NULL, NULL) == SQLITE_OK);
}

static void make_table(size_t i)
{
	struct wtl_buf sql;

	wtl_buf_init(&sql, SQL_MAX);
	made.tables[i] = wtl_table_at(i);
	check(made.tables[i] && wtl_table_create_sql(made.tables[i], &sql) == 0);
	run(wtl_buf_str(&sql));
	wtl_buf_clear(&sql);
	check(wtl_table_insert_sql(made.tables[i], &sql) == 0);
	check(sqlite3_prepare_v2(made.db, wtl_buf_str(&sql), -1, &made.inserts[i], NULL) ==
	      SQLITE_OK);
	wtl_buf_done(&sql);
}

/* Both the empty one and one that holds something can be read: else every input would be refused at once. */
static void check_itself(void)
{
	struct wtl_store_reader *reader = NULL;
	const struct wtl_row_fact fact = {.key = "host", .value = "name"};

	recording_begin();
	recording_put(&wtl_table_fact, &fact);
	memvfs_database.bytes = recording_image(&memvfs_database.len);
	check(wtl_store_open(memvfs_path(), &reader, NULL) == 0);
	check(strcmp(wtl_store_get_fact(reader, "host"), "name") == 0);
	check(!wtl_store_is_damaged(reader));
	wtl_store_close(reader);
	sqlite3_free(memvfs_database.bytes);
	memvfs_database.bytes = NULL;
	recording_forget();
}

static void set_up(void)
{
	const struct wtl_row_recording recording = {.id = 1};
	char sql[256];

	sqlite_memory_take_over();
	check(sqlite3_open_v2(":memory:", &made.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
			      NULL) == SQLITE_OK);
	memvfs_take_over();
	snprintf(sql, sizeof(sql),
		 "PRAGMA page_size=%d; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA application_id=%d;"
		 "PRAGMA user_version=%d; PRAGMA writable_schema=ON",
		 WTL_PAGE_BYTES, WTL_APPLICATION_ID, WTL_FORMAT_VERSION);
	run(sql);
	for (size_t i = 0; i < TABLES; i++)
		make_table(i);
	check(!wtl_table_at(TABLES));
	recording_put(&wtl_table_recording, &recording);
	for (uint32_t i = 0; i < RECORDING_SERIES; i++) {
		struct wtl_row_series series = {.id = i};

		snprintf(series.name, sizeof(series.name), "series-%u", i);
		recording_put(&wtl_table_series, &series);
	}
	check_itself();
}

sqlite3 *recording_begin(void)
{
	if (!made.db)
		set_up();
	recording_run("BEGIN", 0);
	return made.db;
}

void recording_forget(void)
{
	recording_run("ROLLBACK", 0);
}

void recording_put(const struct wtl_table *table, const void *row)
{
	size_t i = 0;

	while (made.tables[i] != table)
		i++;
	check(wtl_row_bind(made.inserts[i], table, row) == SQLITE_OK);
	sqlite3_step(made.inserts[i]);
	sqlite3_reset(made.inserts[i]);
}

void recording_run(const char *sql, int64_t number)
{
	size_t i = 0;

	while (made.kept[i] && strcmp(sqlite3_sql(made.kept[i]), sql) != 0)
		check(++i < KEPT);
	if (!made.kept[i])
		check(sqlite3_prepare_v2(made.db, sql, -1, &made.kept[i], NULL) == SQLITE_OK);
	sqlite3_bind_int64(made.kept[i], 1, number);
	sqlite3_step(made.kept[i]);
	sqlite3_reset(made.kept[i]);
}

uint8_t *recording_image(size_t *ret_len)
{
	sqlite3_int64 len = 0;
	uint8_t *bytes = sqlite3_serialize(made.db, "main", &len, 0);

	check(bytes && len > 0);
	*ret_len = (size_t)len;
	return bytes;
}

/* ---- Rows of an input ---- */

bool recording_next_row(const uint8_t **data, size_t *size, struct recording_row *ret_row)
{
	unsigned bits;

	if (*size < 3)
		return false;
	bits = (unsigned)(*data)[1];
	*ret_row = (struct recording_row){
		.len = (*data)[0] | (size_t)(bits & 0x3f) << 8,
		.what = (*data)[2],
		.is_of_any_table = bits & 0x80,
		.has_action = bits & 0x40,
		.data = *data + 3,
	};
	*data += 3;
	*size -= 3;
	if (ret_row->len > *size)
		ret_row->len = *size;
	*data += ret_row->len;
	*size -= ret_row->len;
	return true;
}

struct input {
	const uint8_t *data;
	size_t left;
};

static unsigned byte(struct input *input)
{
	if (input->left == 0)
		return 0;
	input->left--;
	return *input->data++;
}

/* Small numbers are a byte. */
static uint64_t number(struct input *input)
{
	unsigned how = byte(input);
	uint64_t value = 0;

	if (how < 240)
		return how;
	for (unsigned i = 0; i < 1 + how % 8; i++)
		value = value << 8 | byte(input);
	return how < 248 ? value : -value;
}

static void read_field(struct input *input, const struct wtl_field *field, char *to)
{
	struct wtl_bytes bytes;
	uint64_t value;
	size_t len = 0;

	switch (field->kind) {
	case WTL_FIELD_BOOL:
		*(bool *)to = byte(input) & 1;
		return;
	case WTL_FIELD_I32:
	case WTL_FIELD_U32:
		value = number(input);
		memcpy(to, &value, sizeof(uint32_t)); /* its lower half */
		return;
	case WTL_FIELD_I64:
	case WTL_FIELD_U64:
		value = number(input);
		memcpy(to, &value, sizeof(value));
		return;
	case WTL_FIELD_TEXT:
		len = byte(input) % field->size;
		len = len < input->left ? len : input->left;
		memcpy(to, input->data, len);
		break;
	case WTL_FIELD_BYTES:
		len = byte(input);
		len = len < input->left ? len : input->left;
		bytes = (struct wtl_bytes){input->data, len};
		memcpy(to, &bytes, sizeof(bytes));
		break;
	}
	input->data += len;
	input->left -= len;
}

static void put_any(const struct recording_row *from)
{
	const struct wtl_table *table = made.tables[from->what % TABLES];
	struct input input = {from->data, from->len};
	_Alignas(max_align_t) static char row[WTL_ROW_SIZE_MAX];

	memset(row, 0, table->size);
	for (size_t i = 0; i < table->n_fields; i++)
		read_field(&input, &table->fields[i], row + table->fields[i].offset);
	recording_put(table, row);
}

void recording_put_row(const struct recording_row *row)
{
	const struct wtl_bytes bytes = {row->data, row->len};
	const int64_t period = 1 + (row->what >> 5);
	uint32_t number_of = row->what >> 2 & 7;
	struct wtl_row_period period_row = {.id = period, .counts = bytes};
	struct wtl_row_part part = {.id = period << 16 | number_of, .data = bytes};
	struct wtl_row_chunk chunk = {.id = period << 16 | number_of, .packed = row->what & 1};

	if (row->is_of_any_table) {
		put_any(row);
	} else if ((row->what & 3) == 0) {
		recording_put(&wtl_table_period, &period_row);
	} else if ((row->what & 3) == 1) {
		period_row.parts = number_of + 1;
		recording_put(&wtl_table_period, &period_row);
		recording_put(&wtl_table_part, &part);
	} else if (row->len >= 3) {
		chunk.n = row->data[0];
		chunk.size = (uint32_t)(row->data[1] | row->data[2] << 8);
		chunk.data = (struct wtl_bytes){row->data + 3, row->len - 3};
		recording_put(&wtl_table_chunk, &chunk);
	}
}

/* ---- Reading everything ---- */

static int see_domain(void *context, uint32_t i, const struct wtl_stored_domain *row)
{
	(void)context;
	(void)i;
	check(strlen(row->name) < sizeof(row->name) && row->kind < WATTLE_KINDS);
	return 0;
}

static int see_channel(void *context, uint32_t i, const struct wtl_channel *row)
{
	(void)context;
	(void)i;
	check(row->source && strlen(row->domain) < sizeof(row->domain));
	check(!row->class || strlen(row->class->name) < WTL_STORE_NAME_SIZE);
	return 0;
}

static int see_miss(void *context, uint32_t i, const struct wtl_miss *row)
{
	(void)context;
	(void)i;
	check(row->source && row->status <= WATTLE_STATUS_ABSENT);
	return 0;
}

static int see_consumer(void *context, const struct wtl_stored_consumer *row)
{
	(void)context;
	check(strnlen(row->command, sizeof(row->command)) < sizeof(row->command));
	check(!row->consumer.group || strlen(row->consumer.group->cgroup) < 256);
	return 0;
}

static int see_window(void *context, const struct wtl_stored_window *row)
{
	uint64_t *sum = context;

	for (size_t i = 0; i < row->n_energies; i++)
		*sum += row->energies[i].energy_uj;
	return 0;
}

static int see_gap(void *context, const struct wtl_stored_gap *row)
{
	(void)context;
	check(row->kind <= WTL_GAP_EXITS);
	return 0;
}

static int see_account(void *context, const struct wtl_stored_account *row)
{
	*(uint64_t *)context += row->full_uj;
	return 0;
}

static int see_baseline(void *context, const struct wtl_stored_baseline *row)
{
	*(uint64_t *)context += row->baseline.idle_uw;
	return 0;
}

static void read_values(struct wtl_store_reader *reader, uint64_t *sum)
{
	for (size_t i = 0; i < wtl_store_periods(reader) && i < 64; i++) {
		struct wtl_store_period period;

		check(wtl_store_period(reader, i, &period) == 0);
		for (uint32_t k = 0; k < wtl_store_n_series(reader) && k < 64; k++) {
			struct wtl_err err = {.text = ""};
			const int64_t *values = NULL;
			size_t n = 0;
			int rc = wtl_store_values(reader, k, i, &values, &n, &err);

			check(rc == 0 || err.text[0]);
			/* What is wrong with the period is the same for all series. */
			if (rc < 0 && (reader->periods[i].is_lost || reader->period_error))
				break;
			for (size_t j = 0; rc == 0 && j < n; j++)
				*sum += (uint64_t)values[j];
		}
	}
}

static void read_tables(struct wtl_store_reader *reader, uint64_t *sum)
{
	wtl_store_get_fact(reader, "host");
	wtl_store_each_domain(reader, see_domain, NULL);
	wtl_store_each_channel(reader, see_channel, NULL);
	wtl_store_each_miss(reader, see_miss, NULL);
	wtl_store_each_consumer(reader, see_consumer, NULL);
	wtl_store_each_window(reader, see_window, sum);
	wtl_store_each_gap(reader, see_gap, NULL);
	wtl_store_each_account(reader, see_account, sum);
	wtl_store_each_baseline(reader, see_baseline, sum);
}

uint64_t recording_read_parts(struct wtl_store_reader *reader, unsigned parts)
{
	uint64_t sum = 0;

	if (parts & RECORDING_TABLES)
		read_tables(reader, &sum);
	if (parts & RECORDING_VALUES)
		read_values(reader, &sum);
	return sum;
}

static void take_line(void *context, const char *text)
{
	check(text[0] && !strchr(text, '\n'));
	++*(int *)context;
}

static void check_all(void)
{
	struct wtl_err err = {.text = ""};
	int lines = 0;
	int rc = wtl_store_check(memvfs_path(), take_line, &lines, &err);

	check(rc < 0 ? err.text[0] != '\0' : rc == lines);
}

static void read_some(unsigned parts, bool lets_go)
{
	struct wtl_store_reader *reader = NULL;
	struct wtl_err err = {.text = ""};
	uint64_t sum;

	if (wtl_store_open(memvfs_path(), &reader, &err) < 0) {
		check(err.text[0] && !reader);
		return;
	}
	sum = recording_read_parts(reader, parts);
	/* Beside a writer it reads from copies: the same. */
	if (lets_go && wtl_reader_let_go(reader) == 0)
		check(recording_read_parts(reader, parts) == sum || wtl_store_is_damaged(reader));
	wtl_store_close(reader);
}

void recording_read(size_t way)
{
	/* SQLite opens in 0.2 ms, and prepares the statements of all tables in as much; copying tables takes 0.7 ms. */
	switch (way) {
	case 0:
		check_all();
		break;
	case 1:
		read_some(RECORDING_TABLES | RECORDING_VALUES, true);
		break;
	case 2:
	case 3:
	case 4:
		read_some(RECORDING_TABLES, false);
		break;
	default:
		read_some(RECORDING_VALUES, false);
	}
	check(memvfs_is_closed());
}
