/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdint.h>

#include "record/reader.h"

/*
 * While a read transaction is open, SQLite cannot empty the writer's WAL: a screen that is left open over
 * night would let it grow by gigabytes. So whatever the writer may still change is copied at the opening,
 * and the transaction ended. What is left in the file are chunks, which are never changed, but may be
 * dropped by a ring.
 */

struct copy {
	struct wtl_store_reader *reader;
	const struct wtl_table *table;
	struct wtl_buf *rows;
	int64_t window, domain; /* of the last row of energies */
};

/* Energies are looked for by their windows, in order. */
static bool is_behind(struct copy *copy, const struct wtl_row_energy *row)
{
	bool is = row->window > copy->window ||
		  (row->window == copy->window && row->domain > copy->domain);

	copy->window = row->window;
	copy->domain = row->domain;
	return is;
}

static int copy_row(void *context, const void *row)
{
	struct copy *copy = context;

	if (copy->table == &wtl_table_energy && !is_behind(copy, row))
		copy->reader->is_damaged = true;
	return wtl_row_pack(copy->rows, copy->table, row);
}

static int copy_tables(struct wtl_store_reader *reader)
{
	const struct wtl_table *table;
	int rc = 0;

	for (size_t i = 0; rc == 0 && (table = wtl_table_at(i)); i++) {
		struct copy copy = {reader, table, &reader->copies[i], -1, INT64_MIN};
		const struct wtl_scan scan = {.row = copy_row, .context = &copy};

		wtl_buf_init(copy.rows, SIZE_MAX);
		if (wtl_reader_is_copied(table))
			rc = wtl_reader_scan(reader, table, &scan);
	}
	reader->has_copies = rc == 0;
	return rc;
}

static int copy_parts(struct wtl_store_reader *reader)
{
	uint64_t before = reader->n_bytes_read;

	for (size_t i = 0; i < reader->n_periods; i++) {
		struct wtl_read_period *period = &reader->periods[i];

		if (period->n_parts == 0)
			continue;
		period->is_copied = true;
		/* Together they are no larger than the file. */
		period->error = -EBADMSG;
		if (reader->n_bytes_read - before <= reader->guard.bytes)
			period->error = wtl_reader_load_parts(reader, period, &period->parts);
		if (period->error == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}

int wtl_reader_let_go(struct wtl_store_reader *reader)
{
	int rc = copy_parts(reader);

	if (rc == 0)
		rc = copy_tables(reader);
	if (rc == 0)
		rc = wtl_reader_prepare_lookups(reader);
	/* Damage is reported where a caller reads it, as in any other file. */
	if (rc == -ENOMEM)
		return rc;
	if (rc == 0)
		sqlite3_exec(reader->db, "COMMIT", NULL, NULL, NULL);
	/* Whoever writes it may also change its schema from now on. */
	reader->guard.is_closed = rc == 0;
	return 0;
}
