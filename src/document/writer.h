/* SPDX-License-Identifier: MIT */
#ifndef WTL_DOCUMENT_WRITER_H
#define WTL_DOCUMENT_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "document/doc.h"

struct wtl_buf;

struct wtl_output_style {
	bool color;   /* ANSI colours */
	bool ascii;   /* no characters beyond ASCII */
	bool append;  /* add to a file that has content: CSV without its header; JSON is one line */
	bool verbose; /* text: sources, gaps and notes of every domain */
	bool brief;   /* text: of a run the first lines alone */
	bool quiet;   /* text: of a run one line, if it is brief */
	bool markdown;	  /* text: its tables are Markdown's */
	unsigned columns; /* text: as wide as a profile's rows are; 0: any width */
};

/*
 * A format: a file that renders any document, and a row of wtl_writers. All append to the buffer and
 * return 0 or its error.
 */
struct wtl_writer {
	const char *name; /* as --format takes it */
	const char *doc;
	bool is_flat; /* it writes the document's table, not its tree */
	/* NULL: text for people, which is not made from the document: each thing has its own text(). */
	int (*document)(struct wtl_buf *buf, const struct wtl_doc *doc,
			const struct wtl_output_style *style);
	/* A table of any length, row by row. row NULL: not in this format; begin, end NULL: nothing. */
	void (*begin)(struct wtl_buf *buf, const struct wtl_doc_table *table);
	void (*row)(struct wtl_buf *buf, const struct wtl_doc_table *table,
		    const struct wtl_doc_row *row, bool is_first);
	void (*end)(struct wtl_buf *buf, bool is_empty);
};

extern const struct wtl_writer wtl_writer_text, wtl_writer_json, wtl_writer_ndjson, wtl_writer_csv,
	wtl_writer_markdown;

/* All formats, ended by NULL. */
extern const struct wtl_writer *const wtl_writers[];

const struct wtl_writer *wtl_writer_find(const char *name); /* or NULL */
/* The names of those that every command takes, of all, and of those that write tables row by row; ended by NULL. */
extern const char *const wtl_writer_names[], *const wtl_writer_names_all[],
						     *const wtl_writer_row_names[];

/*
 * A cell of CSV with text from anywhere: escaped, so that a row is a line and a terminal is safe; quoted where RFC 4180
 * asks for it; and with a ' before what a spreadsheet would run as a formula.
 */
void wtl_csv_put_text(struct wtl_buf *buf, const char *raw, size_t raw_len);

/* A text as JSON has it, with its quotes, in ASCII alone. */
void wtl_json_text(struct wtl_buf *buf, const char *text);
void wtl_json_inner(struct wtl_buf *buf, const char *text); /* without its quotes */

/* Something that can be written: how it becomes a document, and a page for people. */
struct wtl_thing {
	/* 0, or -EPROTO: it does not add up, and must not be written. NULL: there is nothing to check. */
	int (*check)(const void *what);
	void (*build)(struct wtl_doc *doc, const void *what);
	int (*text)(struct wtl_buf *buf, const void *what, const struct wtl_output_style *style);
	bool is_page; /* people's text: an empty line comes between two of them */
};

int wtl_thing_write(struct wtl_buf *buf, const struct wtl_thing *thing, const void *what,
		    const struct wtl_writer *writer, const struct wtl_output_style *style);

#endif
