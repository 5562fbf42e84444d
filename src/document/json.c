/* SPDX-License-Identifier: MIT */
/* JSON and JSON lines, in ASCII alone: what could move a terminal's cursor or reverse its text is escaped. */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "document/format.h"
#include "document/writer.h"

enum { INDENT = 2 };

/* Beyond the basic plane: a pair of surrogates. */
static void put_escaped(struct wtl_buf *buf, uint32_t point)
{
	static const char letters[] = "btn\0fr"; /* of U+0008 to U+000D */

	if (point >= '\b' && point <= '\r' && letters[point - '\b'])
		wtl_buf_printf(buf, "\\%c", letters[point - '\b']);
	else if (point < 0x10000)
		wtl_buf_printf(buf, "\\u%04" PRIX32, point);
	else
		wtl_buf_printf(buf, "\\u%04" PRIX32 "\\u%04" PRIX32,
			       0xd800 + ((point - 0x10000) >> 10),
			       0xdc00 + ((point - 0x10000) & 0x3ff));
}

/* How many of the first bytes need no escape. */
static size_t plain_len(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && text[n] >= ' ' && text[n] < 0x7f && text[n] != '"' && text[n] != '\\')
		n++;
	return n;
}

/* Each byte that is not UTF-8 becomes U+FFFD. */
void wtl_json_inner(struct wtl_buf *buf, const char *text)
{
	size_t len = strlen(text);

	for (size_t at = 0; at < len && !buf->error;) {
		uint32_t point;
		size_t n = plain_len(text + at, len - at);

		wtl_buf_add(buf, text + at, n);
		at += n;
		if (at == len)
			break;
		n = wtl_format_utf8(text + at, len - at, &point);
		if (n == 0)
			put_escaped(buf, 0xfffd);
		else if (point == '"' || point == '\\')
			wtl_buf_printf(buf, "\\%c", (int)point);
		else
			put_escaped(buf, point);
		at += n ? n : 1;
	}
}

void wtl_json_text(struct wtl_buf *buf, const char *text)
{
	wtl_buf_putc(buf, '"');
	wtl_json_inner(buf, text);
	wtl_buf_putc(buf, '"');
}

static void put_line(struct wtl_buf *buf, int depth)
{
	if (depth >= 0)
		wtl_buf_printf(buf, "\n%*s", depth * INDENT, "");
}

static void put_value(struct wtl_buf *buf, const struct wtl_node *node, int depth);

/* An object or a list; depth: -1: all on one line. */
static void put_children(struct wtl_buf *buf, const struct wtl_node *node, int depth)
{
	int inner = depth < 0 ? depth : depth + 1;

	wtl_buf_putc(buf, node->kind == WTL_NODE_OBJECT ? '{' : '[');
	for (const struct wtl_node *child = node->first; child; child = child->next) {
		put_line(buf, inner);
		if (child->key) {
			wtl_json_text(buf, child->key);
			wtl_buf_puts(buf, depth < 0 ? ":" : ": ");
		}
		put_value(buf, child, inner);
		wtl_buf_puts(buf, child->next ? "," : "");
	}
	if (node->first)
		put_line(buf, depth);
	wtl_buf_putc(buf, node->kind == WTL_NODE_OBJECT ? '}' : ']');
}

static void put_value(struct wtl_buf *buf, const struct wtl_node *node, int depth)
{
	switch (node->kind) {
	case WTL_NODE_OBJECT:
	case WTL_NODE_LIST:
		put_children(buf, node, depth);
		break;
	case WTL_NODE_TEXT:
		wtl_json_text(buf, node->text);
		break;
	case WTL_NODE_NUMBER:
		wtl_buf_puts(buf, node->is_negative ? "-" : "");
		wtl_format_fixed(buf, node->number, node->decimals);
		break;
	case WTL_NODE_FLAG:
		wtl_buf_puts(buf, node->flag ? "true" : "false");
		break;
	case WTL_NODE_UTC:
		wtl_buf_putc(buf, '"');
		wtl_format_utc(buf, node->t_utc_ns);
		wtl_buf_putc(buf, '"');
		break;
	case WTL_NODE_NULL:
		wtl_buf_puts(buf, "null");
		break;
	}
}

static int put_document(struct wtl_buf *buf, const struct wtl_doc *doc, bool one_line)
{
	put_value(buf, doc->root, one_line ? -1 : 0);
	return wtl_buf_putc(buf, '\n');
}

static int json_document(struct wtl_buf *buf, const struct wtl_doc *doc,
			 const struct wtl_output_style *style)
{
	return put_document(buf, doc, style->append);
}

static int ndjson_document(struct wtl_buf *buf, const struct wtl_doc *doc,
			   const struct wtl_output_style *style)
{
	(void)style;
	return put_document(buf, doc, true);
}

/* ---- Rows ---- */

static void put_row(struct wtl_buf *buf, const struct wtl_doc_table *table,
		    const struct wtl_doc_row *row)
{
	struct wtl_doc_column column = {.name = NULL};
	bool is_first = true;

	wtl_buf_putc(buf, '{');
	while (wtl_doc_next_column(table, &column)) {
		const struct wtl_node *cell = wtl_doc_cell(row, &column);

		if (!cell)
			continue;
		wtl_buf_puts(buf, is_first ? "" : ",");
		wtl_json_text(buf, cell->key);
		wtl_buf_putc(buf, ':');
		put_value(buf, cell, -1);
		is_first = false;
	}
	wtl_buf_putc(buf, '}');
}

static void json_begin(struct wtl_buf *buf, const struct wtl_doc_table *table)
{
	wtl_buf_printf(buf, "{\"schema\":\"wattle.export/1\",\"what\":\"%s\",\"rows\":[",
		       table->name);
}

static void json_row(struct wtl_buf *buf, const struct wtl_doc_table *table,
		     const struct wtl_doc_row *row, bool is_first)
{
	wtl_buf_puts(buf, is_first ? "\n" : ",\n");
	put_row(buf, table, row);
}

static void json_end(struct wtl_buf *buf, bool is_empty)
{
	wtl_buf_puts(buf, is_empty ? "]}\n" : "\n]}\n");
}

static void ndjson_row(struct wtl_buf *buf, const struct wtl_doc_table *table,
		       const struct wtl_doc_row *row, bool is_first)
{
	(void)is_first;
	put_row(buf, table, row);
	wtl_buf_putc(buf, '\n');
}

const struct wtl_writer wtl_writer_json = {
	.name = "json",
	.doc = "typed, exact to the microjoule; one line a report when appended to a file",
	.document = json_document,
	.begin = json_begin,
	.row = json_row,
	.end = json_end,
};

const struct wtl_writer wtl_writer_ndjson = {
	.name = "ndjson",
	.doc = "the same as one JSON object a line",
	.document = ndjson_document,
	.row = ndjson_row,
};
