/* SPDX-License-Identifier: MIT */
#include "client/grid_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/err.h"
#include "base/num.h"
#include "energy/carbon.h"
#include "energy/units.h"

#define HEAD "# wattle-intensity/1 "

enum { ROWS_MAX = 1 << 20, CELLS = 4 };

static const char *const kinds[] = {"measured", "estimated", "none"};

void wtl_grid_rows_done(struct wtl_grid_rows *rows)
{
	free(rows->rows);
	*rows = (struct wtl_grid_rows){.n = 0};
}

/* The number of rows before that time. */
static size_t before(const struct wtl_grid_rows *rows, int64_t t_utc_ns)
{
	size_t low = 0, high = rows->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rows->rows[middle].t_utc_ns < t_utc_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct wtl_grid_row *wtl_grid_rows_at(const struct wtl_grid_rows *rows, int64_t t_utc_ns)
{
	size_t i = before(rows, t_utc_ns);

	return i < rows->n && rows->rows[i].t_utc_ns == t_utc_ns ? &rows->rows[i] : NULL;
}

int wtl_grid_rows_put(struct wtl_grid_rows *rows, const struct wtl_grid_row *row)
{
	/* Whole seconds: the file has no others. */
	int64_t t_utc_ns = row->t_utc_ns - row->t_utc_ns % WTL_NS_PER_S;
	size_t i = before(rows, t_utc_ns);

	if (i == rows->n || rows->rows[i].t_utc_ns != t_utc_ns) {
		if (rows->n == ROWS_MAX ||
		    wtl_array_reserve(&rows->rows, &rows->room, rows->n + 1, sizeof(*row)) < 0)
			return -ENOMEM;
		memmove(&rows->rows[i + 1], &rows->rows[i], (rows->n - i) * sizeof(*row));
		rows->n++;
	}
	rows->rows[i] = *row;
	rows->rows[i].t_utc_ns = t_utc_ns;
	return 0;
}

/* ---- The file ---- */

static int parse_line(const char *line, size_t len, struct wtl_grid_row *ret)
{
	struct wtl_grid_row row = {.kind = WTL_GRID_NONE};
	const char *cells[CELLS], *end = line + len;
	size_t lens[CELLS];
	uint64_t mg = 0;

	for (size_t i = 0; i < CELLS; i++) {
		const char *comma = memchr(line, ',', (size_t)(end - line));

		if (!comma != (i + 1 == CELLS))
			return -EINVAL;
		cells[i] = line;
		lens[i] = (size_t)((comma ? comma : end) - line);
		line = comma ? comma + 1 : end;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (lens[2] == strlen(kinds[i]) && memcmp(cells[2], kinds[i], lens[2]) == 0)
			row.kind = (enum wtl_grid_kind)i;
	if (wtl_date_parse_utc(cells[0], lens[0], &row.t_utc_ns) < 0 ||
	    wtl_date_parse_utc(cells[3], lens[3], &row.asked_utc_ns) < 0)
		return -EINVAL;
	if (row.kind != WTL_GRID_NONE &&
	    (wtl_num_fixed(cells[1], lens[1], 3, &mg) < 0 || mg > WTL_CARBON_MAX_MG_PER_KWH))
		return -EINVAL;
	row.mg_per_kwh = (uint32_t)mg;
	*ret = row;
	return 0;
}

int wtl_grid_rows_parse(struct wtl_grid_rows *ret_rows, const char *source, const char *text,
			size_t len)
{
	const char *end = text + len, *stop = memchr(text, '\n', len);
	size_t head = strlen(HEAD), name = strlen(source);
	struct wtl_grid_rows rows = {.n = 0};
	struct wtl_grid_row row;

	if (!stop || (size_t)(stop - text) != head + name || memcmp(text, HEAD, head) != 0 ||
	    memcmp(text + head, source, name) != 0)
		return -WTL_EFORMAT;
	for (text = stop + 1; text < end; text = stop + 1) {
		stop = memchr(text, '\n', (size_t)(end - text));
		if (!stop)
			break; /* a torn line */
		if (parse_line(text, (size_t)(stop - text), &row) == 0 &&
		    wtl_grid_rows_put(&rows, &row) < 0) {
			wtl_grid_rows_done(&rows);
			return -ENOMEM;
		}
	}
	*ret_rows = rows;
	return 0;
}

static void put_time(struct wtl_buf *buf, int64_t t_utc_ns)
{
	struct wtl_date date = wtl_date_of(t_utc_ns);

	wtl_buf_printf(buf, "%04u-%02u-%02uT%02u:%02u:%02uZ", date.year, date.month, date.day,
		       date.hour, date.minute, date.second);
}

void wtl_grid_rows_print(const struct wtl_grid_rows *rows, const char *source, struct wtl_buf *buf)
{
	wtl_buf_printf(buf, HEAD "%s\n", source);
	for (size_t i = 0; i < rows->n; i++) {
		const struct wtl_grid_row *row = &rows->rows[i];

		put_time(buf, row->t_utc_ns);
		wtl_buf_putc(buf, ',');
		if (row->kind != WTL_GRID_NONE)
			wtl_buf_printf(buf, "%" PRIu32 ".%03" PRIu32, row->mg_per_kwh / 1000,
				       row->mg_per_kwh % 1000);
		wtl_buf_printf(buf, ",%s,", kinds[row->kind]);
		put_time(buf, row->asked_utc_ns);
		wtl_buf_putc(buf, '\n');
	}
}
