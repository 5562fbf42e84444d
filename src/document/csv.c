/* SPDX-License-Identifier: MIT */
/* CSV: the document's table. docs/format-csv.md */
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "document/format.h"
#include "document/writer.h"

enum { CELL_MAX = 1 << 23 };

static void put_quoted(struct wtl_buf *buf, const char *text, bool is_formula)
{
	wtl_buf_puts(buf, is_formula ? "\"'" : "\"");
	for (; *text && !buf->error; text++) {
		if (*text == '"')
			wtl_buf_putc(buf, '"');
		wtl_buf_putc(buf, *text);
	}
	wtl_buf_putc(buf, '"');
}

void wtl_csv_put_text(struct wtl_buf *buf, const char *raw, size_t raw_len)
{
	struct wtl_buf cell;
	const char *text;
	bool is_formula;

	wtl_buf_init(&cell, CELL_MAX);
	wtl_text_escape(&cell, raw, raw_len);
	text = wtl_buf_str(&cell);
	is_formula = cell.len > 0 && strchr("=+-@", text[0]);
	if (is_formula || strpbrk(text, "\",") ||
	    (cell.len > 0 && (text[0] == ' ' || text[cell.len - 1] == ' ')))
		put_quoted(buf, text, is_formula);
	else
		wtl_buf_add(buf, text, cell.len);
	if (cell.error && !buf->error)
		buf->error = cell.error;
	wtl_buf_done(&cell);
}

/* Words with blanks between them, as one would type them into a shell. */
static void put_words(struct wtl_buf *buf, const struct wtl_node *list)
{
	struct wtl_buf words;

	wtl_buf_init(&words, CELL_MAX);
	for (const struct wtl_node *word = list->first; word; word = word->next) {
		wtl_buf_puts(&words, word == list->first ? "" : " ");
		wtl_format_word(&words, word->text);
	}
	wtl_csv_put_text(buf, wtl_buf_str(&words), words.len);
	if (words.error && !buf->error)
		buf->error = words.error;
	wtl_buf_done(&words);
}

static void put_cell(struct wtl_buf *buf, const struct wtl_node *cell)
{
	switch (cell ? cell->kind : WTL_NODE_NULL) {
	case WTL_NODE_TEXT:
		wtl_csv_put_text(buf, cell->text, strlen(cell->text));
		break;
	case WTL_NODE_NUMBER:
		wtl_buf_puts(buf, cell->is_negative ? "-" : "");
		wtl_format_fixed(buf, cell->number, cell->decimals);
		break;
	case WTL_NODE_FLAG:
		wtl_buf_puts(buf, cell->flag ? "true" : "false");
		break;
	case WTL_NODE_UTC:
		wtl_format_utc(buf, cell->t_utc_ns);
		break;
	case WTL_NODE_LIST:
		put_words(buf, cell);
		break;
	case WTL_NODE_OBJECT:
	case WTL_NODE_NULL:
		break;
	}
}

static void csv_begin(struct wtl_buf *buf, const struct wtl_doc_table *table)
{
	struct wtl_doc_column column = {.name = NULL};

	for (size_t i = 0; wtl_doc_next_column(table, &column); i++) {
		wtl_buf_puts(buf, i ? "," : "");
		wtl_buf_add(buf, column.name, column.len);
	}
	wtl_buf_putc(buf, '\n');
}

static void csv_row(struct wtl_buf *buf, const struct wtl_doc_table *table,
		    const struct wtl_doc_row *row, bool is_first)
{
	struct wtl_doc_column column = {.name = NULL};

	(void)is_first;
	for (size_t i = 0; wtl_doc_next_column(table, &column); i++) {
		wtl_buf_puts(buf, i ? "," : "");
		put_cell(buf, wtl_doc_cell(row, &column));
	}
	wtl_buf_putc(buf, '\n');
}

static int csv_document(struct wtl_buf *buf, const struct wtl_doc *doc,
			const struct wtl_output_style *style)
{
	if (!style->append)
		csv_begin(buf, doc->table);
	for (const struct wtl_doc_row *row = doc->first_row; row; row = row->next)
		csv_row(buf, doc->table, row, false);
	return buf->error;
}

const struct wtl_writer wtl_writer_csv = {
	.name = "csv",
	.doc = "one row a domain and run, for spreadsheets and data frames",
	.is_flat = true,
	.document = csv_document,
	.begin = csv_begin,
	.row = csv_row,
};
