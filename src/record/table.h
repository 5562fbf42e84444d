/* SPDX-License-Identifier: MIT */
#ifndef WTL_RECORD_TABLE_H
#define WTL_RECORD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include <wattle.h>

#include "base/buf.h"
#include "energy/catalog.h"
#include "energy/sensor_class.h"
#include "record/store.h"

/*
 * The tables of a recording, each described once: its CREATE, INSERT and SELECT, and how a row of it
 * stands in memory, follow from the description. Every row ends with a checksum of its own (`crc`), over
 * the columns before it: a number as 8 bytes (little endian), text and bytes as their length in 8 bytes and
 * what they are, NULL as one zero byte.
 *
 * Columns are only ever added, at the end of a table: a recording that lacks the newest ones has NULL
 * there, and the checksum is over those that it has.
 */

enum wtl_field_kind {
	WTL_FIELD_BOOL,
	WTL_FIELD_I32, /* int */
	WTL_FIELD_U32, /* and enum */
	WTL_FIELD_I64,
	WTL_FIELD_U64,	 /* in the table as signed */
	WTL_FIELD_TEXT,	 /* char[size] */
	WTL_FIELD_BYTES, /* struct wtl_bytes */
};

struct wtl_field {
	const char *name;
	const char *sql; /* "NAME TYPE, " */
	enum wtl_field_kind kind;
	uint32_t offset;
	uint32_t size; /* TEXT: of the array. U32: how many values there are, 0: all are fine */
	bool is_optional; /* of U32 or U64, whose highest value stands for "not known": NULL in the table */
};

enum { WTL_TABLES = 15, WTL_FIELDS_MAX = 64, WTL_ROW_SIZE_MAX = WTL_FACT_SIZE + 128 };

struct wtl_table {
	const char *name;
	const struct wtl_field *fields;
	size_t n_fields, n_keys; /* the first fields are the primary key */
	size_t size;		 /* of a row in memory */
	const char *more;	 /* further, computed columns; or NULL */
};

/* Borrowed. */
struct wtl_bytes {
	const void *data;
	size_t len;
};

/* ---- Rows in memory ---- */

struct wtl_row_fact {
	char key[WTL_STORE_NAME_SIZE];
	char value[WTL_FACT_SIZE];
};

struct wtl_row_series {
	uint32_t id;
	char name[WTL_STORE_NAME_SIZE];
};

struct wtl_row_domain {
	uint32_t id;
	struct wtl_stored_domain domain;
};

struct wtl_row_channel {
	uint32_t id;
	struct wtl_channel channel; /* without pointers */
	char source[WTL_NAME_SIZE];
	bool has_class;
	struct wtl_sensor_class class;
	char class_name[48];
};

struct wtl_row_miss {
	uint32_t id;
	struct wtl_miss miss; /* without pointers */
	char source[WTL_NAME_SIZE];
};

struct wtl_row_consumer {
	struct wtl_stored_consumer stored;
	bool has_group;
	int64_t end_period; /* in which the slot became free; 0: not yet */
};

/* The arguments of wtl_store_consumer_end(); no table. */
struct wtl_row_consumer_end {
	uint32_t id;
	int64_t last_look;
};

struct wtl_row_window {
	struct wtl_stored_window stored; /* without energies */
};

struct wtl_row_energy {
	uint32_t window;
	int32_t domain; /* -1: the total */
	struct wattle_energy energy;
};

struct wtl_row_gap {
	uint32_t id;
	struct wtl_stored_gap gap;
};

struct wtl_row_account {
	struct wtl_stored_account account;
};

struct wtl_row_baseline {
	struct wtl_stored_baseline stored;
};

/* The recording as a whole: one row, id 1. */
struct wtl_row_recording {
	uint32_t id;
	int32_t pid; /* of the writer */
	int64_t begin_utc_ns, begin_mono_ns, period_ns, max_age_ns;
	uint64_t max_bytes;
	bool is_whole; /* it was ended properly; then also: */
	int64_t end_utc_ns, end_mono_ns;
	int64_t first_period, last_period; /* 1 and 0 where there is none */
};

struct wtl_row_period {
	int64_t id; /* from 1, without a hole but for what was lost */
	int64_t begin_mono_ns, end_mono_ns, begin_utc_ns, end_utc_ns;
	uint32_t parts;		 /* so many; 0: chunks took their place */
	struct wtl_bytes counts; /* a block: how many values series 0, 1, … have in chunks */
};

/* All series over one commit; id: period × 65536 + number from 0. */
struct wtl_row_part {
	int64_t id;
	int64_t end_mono_ns, end_utc_ns;
	struct wtl_bytes
		data; /* for each series that has values: its number less the one before, the
				  block's length, and the block */
};

/* A series over a period; id: period × 65536 + series. */
struct wtl_row_chunk {
	int64_t id;
	uint32_t n;	 /* values */
	uint32_t size;	 /* of the block */
	uint32_t packed; /* enum wtl_packing */
	struct wtl_bytes data;
};

enum wtl_packing { WTL_PACKED_NOT, WTL_PACKED_ZSTD, WTL_PACKINGS };

enum { WTL_PARTS_MAX = 65536, WTL_PERIODS_MAX = 1 << 30 };

extern const struct wtl_table wtl_table_recording, wtl_table_fact, wtl_table_series,
	wtl_table_domain, wtl_table_channel, wtl_table_miss, wtl_table_consumer,
	wtl_table_consumer_end, wtl_table_window, wtl_table_energy, wtl_table_gap,
	wtl_table_account, wtl_table_baseline, wtl_table_period, wtl_table_part, wtl_table_chunk;

/* The i-th of WTL_TABLES tables of a recording, NULL past the end. */
const struct wtl_table *wtl_table_at(size_t i);

/* Its only key is a number, by which SQLite keeps the rows. */
bool wtl_table_has_rowid(const struct wtl_table *table);

/* sound.c: the row has values that a recorder can have written, which no checksum shows. Its times and durations can be added. */
bool wtl_row_is_sound(const struct wtl_table *table, const void *row);

/* ---- SQL ---- */

int wtl_table_create_sql(const struct wtl_table *table, struct wtl_buf *sql);
int wtl_table_insert_sql(const struct wtl_table *table, struct wtl_buf *sql);

/* A SELECT that is being read. */
struct wtl_rows {
	const struct wtl_table *table;
	sqlite3_stmt *stmt;
	int n_present;	  /* of its fields, the first ones: the recording has them */
	uint64_t n_bytes; /* of texts and blobs so far */
};

/* Prepares "SELECT * FROM table" and what follows it (" WHERE …", or ""), of a table as wattle makes it. 0 or SQLite's
 * code. */
int wtl_rows_prepare(struct wtl_rows *rows, sqlite3 *db, const struct wtl_table *table,
		     const char *rest);
void wtl_rows_done(struct wtl_rows *rows); /* a zeroed one is fine */

/* Appends a row, with its table, to packed rows: as much as it says. It has no bytes (WTL_FIELD_BYTES). 0 or -ENOMEM. */
int wtl_row_pack(struct wtl_buf *packed, const struct wtl_table *table, const void *row);
/* The row at *at, which moves behind it, and its table. There is room for any of its rows (WTL_ROW_SIZE_MAX) at row. */
const struct wtl_table *wtl_row_unpack(const uint8_t **at, const uint8_t *end, void *row);

/* Binds a row to the statement of wtl_table_insert_sql(); texts and bytes are borrowed until it is
 * reset. 0 or SQLite's code. */
int wtl_row_bind(sqlite3_stmt *stmt, const struct wtl_table *table, const void *row);

/*
 * The row that the statement stands at; bytes are borrowed until it goes on. 0; -EBADMSG when the
 * checksum does not fit, or a value is none that the field can have. The key is set even then.
 */
int wtl_row_get(struct wtl_rows *rows, void *row);

#endif
