/* SPDX-License-Identifier: MIT */
#include "document/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "document/cells.h"
#include "document/format.h"

const char *const wtl_rows_formats[WTL_ROWS_FORMATS + 1] = {"csv", "json", "ndjson"};

static bool is_csv(const struct wtl_rows *rows)
{
	return rows->format == WTL_ROWS_CSV;
}

void wtl_rows_begin(struct wtl_rows *rows, enum wtl_rows_format format, const char *what,
		    const char *const columns[], size_t n_columns, struct wtl_buf *buf)
{
	*rows = (struct wtl_rows){
		.format = format, .buf = buf, .columns = columns, .n_columns = n_columns};
	switch (format) {
	case WTL_ROWS_CSV:
		for (size_t i = 0; i < n_columns; i++) {
			wtl_buf_puts(buf, columns[i]);
			wtl_buf_putc(buf, i + 1 < n_columns ? ',' : '\n');
		}
		return;
	case WTL_ROWS_JSON:
		wtl_buf_printf(buf, "{\"schema\":\"wattle.export/1\",\"what\":\"%s\",\"rows\":[",
			       what);
		return;
	case WTL_ROWS_NDJSON:
	case WTL_ROWS_FORMATS:
		break;
	}
}

void wtl_rows_end(struct wtl_rows *rows)
{
	if (rows->format == WTL_ROWS_JSON)
		wtl_buf_puts(rows->buf, rows->n_rows > 0 ? "\n]}\n" : "]}\n");
}

void wtl_row_begin(struct wtl_rows *rows)
{
	rows->at = rows->n_cells = 0;
	if (rows->format == WTL_ROWS_JSON)
		wtl_buf_puts(rows->buf, rows->n_rows > 0 ? ",\n" : "\n");
	if (!is_csv(rows))
		wtl_buf_putc(rows->buf, '{');
}

void wtl_row_end(struct wtl_rows *rows)
{
	rows->n_rows++;
	if (is_csv(rows)) {
		/* Each cell ended with its comma. */
		if (!rows->buf->error)
			rows->buf->data[rows->buf->len - 1] = '\n';
		return;
	}
	wtl_buf_puts(rows->buf, rows->format == WTL_ROWS_NDJSON ? "}\n" : "}");
}

static void put_key(struct wtl_rows *rows)
{
	wtl_buf_printf(rows->buf, "%s\"%s\":", rows->n_cells++ > 0 ? "," : "",
		       rows->columns[rows->at]);
}

void wtl_row_nothing(struct wtl_rows *rows)
{
	if (is_csv(rows))
		wtl_buf_putc(rows->buf, ',');
	rows->at++;
}

/* Beyond the basic plane: a pair of surrogates. */
static void put_escaped(struct wtl_buf *buf, uint32_t point)
{
	if (point < 0x10000) {
		wtl_buf_printf(buf, "\\u%04" PRIx32, point);
		return;
	}
	point -= 0x10000;
	wtl_buf_printf(buf, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd800 + (point >> 10),
		       0xdc00 + (point & 0x3ff));
}

/* In ASCII alone; what is not UTF-8 becomes U+FFFD, byte for byte, as in reports. */
static void put_json_text(struct wtl_buf *buf, const char *text)
{
	size_t len = strlen(text);
	uint32_t point;

	wtl_buf_putc(buf, '"');
	for (size_t at = 0; at < len && !buf->error;) {
		size_t n = wtl_format_utf8(text + at, len - at, &point);

		if (n == 0)
			put_escaped(buf, 0xfffd);
		else if (point == '"' || point == '\\')
			wtl_buf_printf(buf, "\\%c", (int)point);
		else if (point >= ' ' && point < 0x7f)
			wtl_buf_putc(buf, (char)point);
		else
			put_escaped(buf, point);
		at += n ? n : 1;
	}
	wtl_buf_putc(buf, '"');
}

void wtl_row_text(struct wtl_rows *rows, const char *text)
{
	if (!text || !text[0]) {
		wtl_row_nothing(rows);
		return;
	}
	if (is_csv(rows)) {
		wtl_cell_text(rows->buf, text);
	} else {
		put_key(rows);
		put_json_text(rows->buf, text);
	}
	rows->at++;
}

/* Around a value that needs no quotes in any format. */
static void begin_plain(struct wtl_rows *rows)
{
	if (!is_csv(rows))
		put_key(rows);
}

static void end_plain(struct wtl_rows *rows)
{
	if (is_csv(rows))
		wtl_buf_putc(rows->buf, ',');
	rows->at++;
}

void wtl_row_fixed(struct wtl_rows *rows, uint64_t value, unsigned decimals)
{
	begin_plain(rows);
	wtl_format_fixed(rows->buf, value, decimals);
	end_plain(rows);
}

void wtl_row_integer(struct wtl_rows *rows, int64_t value)
{
	begin_plain(rows);
	wtl_buf_printf(rows->buf, "%" PRId64, value);
	end_plain(rows);
}

void wtl_row_bool(struct wtl_rows *rows, bool value)
{
	begin_plain(rows);
	wtl_buf_puts(rows->buf, value ? "true" : "false");
	end_plain(rows);
}

void wtl_row_utc(struct wtl_rows *rows, int64_t t_utc_ns)
{
	begin_plain(rows);
	if (!is_csv(rows))
		wtl_buf_putc(rows->buf, '"');
	wtl_format_utc(rows->buf, t_utc_ns);
	if (!is_csv(rows))
		wtl_buf_putc(rows->buf, '"');
	end_plain(rows);
}
