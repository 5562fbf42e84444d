/* SPDX-License-Identifier: MIT */
#include "record/table.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "record/code.h"
#include "record/crc.h"

/* ---- SQL ---- */

enum { SELECT_SIZE = 192 };

bool wtl_table_has_rowid(const struct wtl_table *table)
{
	return table->n_keys == 1 && table->fields[0].kind != WTL_FIELD_TEXT;
}

int wtl_table_create_sql(const struct wtl_table *table, struct wtl_buf *sql)
{
	/* In few pieces: it is compared with what each recording has that is opened. */
	wtl_buf_puts(sql, "CREATE TABLE ");
	wtl_buf_puts(sql, table->name);
	wtl_buf_puts(sql, "(");
	if (wtl_table_has_rowid(table)) {
		wtl_buf_puts(sql, table->fields[0].name);
		wtl_buf_puts(sql, " INTEGER PRIMARY KEY, ");
	}
	for (size_t i = wtl_table_has_rowid(table); i < table->n_fields; i++)
		wtl_buf_puts(sql, table->fields[i].sql);
	wtl_buf_puts(sql, "crc INTEGER");
	if (table->more)
		wtl_buf_printf(sql, ", %s", table->more);
	if (wtl_table_has_rowid(table))
		return wtl_buf_puts(sql, ")");
	wtl_buf_puts(sql, ", PRIMARY KEY(");
	for (size_t i = 0; i < table->n_keys; i++)
		wtl_buf_printf(sql, "%s%s", i ? ", " : "", table->fields[i].name);
	return wtl_buf_puts(sql, ")) WITHOUT ROWID");
}

int wtl_table_insert_sql(const struct wtl_table *table, struct wtl_buf *sql)
{
	wtl_buf_printf(sql, "INSERT OR REPLACE INTO %s(", table->name);
	for (size_t i = 0; i < table->n_fields; i++)
		wtl_buf_printf(sql, "%s, ", table->fields[i].name);
	wtl_buf_puts(sql, "crc) VALUES(");
	for (size_t i = 0; i < table->n_fields; i++)
		wtl_buf_puts(sql, "?, ");
	return wtl_buf_puts(sql, "?)");
}

int wtl_rows_prepare(struct wtl_rows *rows, sqlite3 *db, const struct wtl_table *table,
		     const char *rest)
{
	char sql[SELECT_SIZE];
	int at = (int)table->n_fields, rc;

	*rows = (struct wtl_rows){.table = table};
	if (snprintf(sql, sizeof(sql), "SELECT * FROM main.%s%s", table->name, rest) >=
	    (int)sizeof(sql))
		return SQLITE_TOOBIG;
	rc = sqlite3_prepare_v2(db, sql, -1, &rows->stmt, NULL);
	/* Where the checksum is, the columns end that the recording has. */
	while (rc == SQLITE_OK) {
		const char *name = sqlite3_column_name(rows->stmt, at);

		if (name && strcmp(name, "crc") == 0)
			break;
		if (at-- == (int)table->n_keys)
			rc = SQLITE_ERROR;
	}
	if (rc)
		wtl_rows_done(rows);
	rows->n_present = at;
	return rc;
}

void wtl_rows_done(struct wtl_rows *rows)
{
	sqlite3_finalize(rows->stmt);
	*rows = (struct wtl_rows){0};
}

/* ---- Checksums ---- */

static uint32_t add_number(uint32_t sum, int64_t number)
{
	uint64_t bytes = htole64((uint64_t)number);

	return wtl_crc_add(sum, &bytes, sizeof(bytes));
}

static uint32_t add_bytes(uint32_t sum, const void *data, size_t len)
{
	sum = add_number(sum, (int64_t)len);
	return wtl_crc_add(sum, data, len);
}

static uint32_t add_null(uint32_t sum)
{
	return wtl_crc_add(sum, "", 1);
}

/* ---- Writing a row ---- */

/* false: it is not known. */
static bool number_of(const struct wtl_field *field, const void *at, int64_t *ret_number)
{
	uint64_t u64;
	int32_t i32;

	switch (field->kind) {
	case WTL_FIELD_BOOL:
		*ret_number = *(const bool *)at;
		return true;
	case WTL_FIELD_I32:
		memcpy(&i32, at, sizeof(i32));
		*ret_number = i32;
		return true;
	case WTL_FIELD_U32:
		*ret_number = *(const uint32_t *)at;
		return !field->is_optional || *ret_number != UINT32_MAX;
	case WTL_FIELD_I64:
	case WTL_FIELD_U64:
	case WTL_FIELD_TEXT:
	case WTL_FIELD_BYTES:
		break;
	}
	memcpy(&u64, at, sizeof(u64));
	*ret_number = (int64_t)u64;
	return !field->is_optional || u64 != UINT64_MAX;
}

static int bind_field(sqlite3_stmt *stmt, int column, const struct wtl_field *field, const void *at,
		      uint32_t *sum)
{
	const struct wtl_bytes *bytes = at;
	int64_t number;
	size_t len;

	if (field->kind == WTL_FIELD_TEXT) {
		len = strnlen(at, field->size);
		*sum = add_bytes(*sum, at, len);
		return sqlite3_bind_text64(stmt, column, at, len, SQLITE_STATIC, SQLITE_UTF8);
	}
	if (field->kind == WTL_FIELD_BYTES) {
		*sum = add_bytes(*sum, bytes->data, bytes->len);
		return sqlite3_bind_blob64(stmt, column, bytes->len ? bytes->data : "", bytes->len,
					   SQLITE_STATIC);
	}
	if (!number_of(field, at, &number)) {
		*sum = add_null(*sum);
		return sqlite3_bind_null(stmt, column);
	}
	*sum = add_number(*sum, number);
	return sqlite3_bind_int64(stmt, column, number);
}

int wtl_row_bind(sqlite3_stmt *stmt, const struct wtl_table *table, const void *row)
{
	uint32_t sum = 0;
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < table->n_fields; i++) {
		const struct wtl_field *field = &table->fields[i];

		rc = bind_field(stmt, (int)i + 1, field, (const char *)row + field->offset, &sum);
	}
	return rc ? rc : sqlite3_bind_int64(stmt, (int)table->n_fields + 1, sum);
}

/* ---- Reading a row ---- */

static int set_number(const struct wtl_field *field, void *at, int64_t number)
{
	uint32_t u32 = (uint32_t)number;

	switch (field->kind) {
	case WTL_FIELD_BOOL:
		*(bool *)at = number != 0;
		return number >> 1 ? -EBADMSG : 0;
	case WTL_FIELD_I32:
		memcpy(at, &u32, sizeof(u32));
		return number < INT32_MIN || number > INT32_MAX ? -EBADMSG : 0;
	case WTL_FIELD_U32:
		memcpy(at, &u32, sizeof(u32));
		return number < 0 || number > UINT32_MAX || (field->size && number >= field->size)
			       ? -EBADMSG
			       : 0;
	case WTL_FIELD_I64:
	case WTL_FIELD_U64:
	case WTL_FIELD_TEXT:
	case WTL_FIELD_BYTES:
		break;
	}
	memcpy(at, &number, sizeof(number));
	return 0;
}

/* What a field has where the table has no value: the zeros that its row begins with, or "not known". */
static void set_nothing(const struct wtl_field *field, void *at)
{
	if (field->is_optional)
		memset(at, 0xff,
		       field->kind == WTL_FIELD_U32 ? sizeof(uint32_t) : sizeof(uint64_t));
}

/* ---- Packed rows ---- */

int wtl_row_pack(struct wtl_buf *packed, const struct wtl_table *table, const void *row)
{
	size_t before = packed->len;

	wtl_buf_add(packed, &table, sizeof(table));
	for (size_t i = 0; i < table->n_fields; i++) {
		const struct wtl_field *field = &table->fields[i];
		const char *at = (const char *)row + field->offset;
		int64_t number;

		if (field->kind == WTL_FIELD_TEXT) {
			size_t len = strnlen(at, field->size);

			wtl_varint_put(packed, len);
			wtl_buf_add(packed, at, len);
		} else if (field->kind != WTL_FIELD_BYTES) {
			number_of(field, at, &number);
			wtl_varint_put_signed(packed, number);
		}
	}
	if (packed->error == 0)
		return 0;
	/* The rows before it are still whole. */
	packed->len = before;
	packed->error = 0;
	return -ENOMEM;
}

const struct wtl_table *wtl_row_unpack(const uint8_t **at, const uint8_t *end, void *row)
{
	const struct wtl_table *table;

	memcpy(&table, *at, sizeof(table));
	*at += sizeof(table);
	memset(row, 0, table->size);
	for (size_t i = 0; i < table->n_fields; i++) {
		const struct wtl_field *field = &table->fields[i];
		char *to = (char *)row + field->offset;
		uint64_t len;
		int64_t number;

		if (field->kind == WTL_FIELD_TEXT) {
			wtl_varint_get(at, end, &len);
			memcpy(to, *at, len);
			*at += len;
		} else if (field->kind != WTL_FIELD_BYTES) {
			wtl_varint_get_signed(at, end, &number);
			set_number(field, to, number);
		}
	}
	return table;
}

static int get_text(struct wtl_rows *rows, int column, const struct wtl_field *field, char *at,
		    uint32_t *sum)
{
	const char *text = (const char *)sqlite3_column_text(rows->stmt, column);
	/* Without memory, there is no text. */
	size_t len = text ? (size_t)sqlite3_column_bytes(rows->stmt, column) : 0;

	rows->n_bytes += len;
	*sum = add_bytes(*sum, text, len);
	wtl_text_clean(at, field->size, text ? text : "", len);
	return 0;
}

static int get_field(struct wtl_rows *rows, int column, const struct wtl_field *field, char *at,
		     uint32_t *sum)
{
	sqlite3_stmt *stmt = rows->stmt;
	int type = sqlite3_column_type(stmt, column);
	struct wtl_bytes bytes;
	int64_t number;

	if (type == SQLITE_NULL) {
		*sum = add_null(*sum);
		set_nothing(field, at);
		return 0;
	}
	if (field->kind == WTL_FIELD_TEXT)
		return get_text(rows, column, field, at, sum);
	if (field->kind == WTL_FIELD_BYTES && type == SQLITE_BLOB) {
		bytes.data = sqlite3_column_blob(stmt, column);
		bytes.len = (size_t)sqlite3_column_bytes(stmt, column);
		rows->n_bytes += bytes.len;
		*sum = add_bytes(*sum, bytes.data, bytes.len);
		memcpy(at, &bytes, sizeof(bytes));
		return 0;
	}
	if (type != SQLITE_INTEGER || field->kind == WTL_FIELD_BYTES)
		return -EBADMSG;
	number = sqlite3_column_int64(stmt, column);
	*sum = add_number(*sum, number);
	return set_number(field, at, number);
}

int wtl_row_get(struct wtl_rows *rows, void *row)
{
	const struct wtl_table *table = rows->table;
	int n_fields = (int)table->n_fields, rc = 0;
	uint32_t sum = 0;

	memset(row, 0, table->size);
	for (int i = 0; i < n_fields; i++) {
		const struct wtl_field *field = &table->fields[i];
		char *at = (char *)row + field->offset;

		if (i >= rows->n_present)
			set_nothing(field, at);
		else if (get_field(rows, i, field, at, &sum) < 0)
			rc = -EBADMSG;
	}
	if (rc == 0 && (sqlite3_column_type(rows->stmt, rows->n_present) != SQLITE_INTEGER ||
			sqlite3_column_int64(rows->stmt, rows->n_present) != sum))
		rc = -EBADMSG;
	return rc;
}
