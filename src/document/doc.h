/* SPDX-License-Identifier: MIT */
#ifndef WTL_DOCUMENT_DOC_H
#define WTL_DOCUMENT_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A document: what there is to tell as a tree of objects, lists and typed values, and (for formats that
 * are flat) a table whose cells are values of that tree. The formats render it and know nothing else.
 * The unit of a number is the last word of its key: energy_j, mean_w, duration_s, gco2e.
 * What is not known is not put, and a "reason" stands beside it.
 */

enum wtl_node_kind {
	WTL_NODE_OBJECT,
	WTL_NODE_LIST,
	WTL_NODE_TEXT, /* raw bytes: each format escapes them */
	WTL_NODE_NUMBER,
	WTL_NODE_FLAG,
	WTL_NODE_UTC,
	WTL_NODE_NULL, /* known not to be there */
};

struct wtl_doc;

struct wtl_node {
	struct wtl_doc *doc;
	const char *key; /* NULL within a list */
	struct wtl_node *next;
	enum wtl_node_kind kind;
	bool is_negative;
	unsigned decimals; /* of a number: its value is ± number × 10^-decimals, exactly */
	union {
		struct {
			struct wtl_node *first, *last;
		};
		const char *text;
		uint64_t number;
		int64_t t_utc_ns;
		bool flag;
	};
};

/* ---- Tables ---- */

enum { WTL_DOC_SCOPES_MAX = 8 };

struct wtl_doc_table {
	const char *name; /* what its rows are */
	/* "0:start_utc 1:run,domain 2:kind": the columns' names, which are the keys of
	 * their cells. The number says in which of the row's objects (scopes) they are. */
	const char *columns;
};

struct wtl_doc_column {
	const char *name;
	size_t len;
	unsigned scope;
};

/* Call it with a zeroed column for the first one, then for each next one. false: there are no more. */
bool wtl_doc_next_column(const struct wtl_doc_table *table, struct wtl_doc_column *column);

/* The objects that a row's cells come from; NULL: those cells are empty. */
struct wtl_doc_row {
	struct wtl_doc_row *next;
	const struct wtl_node *scopes[WTL_DOC_SCOPES_MAX];
};

/* ---- The document ---- */

/* The first failure sticks in `error`. Values put after it are lost, so it has to be asked at the end. */
struct wtl_doc {
	struct wtl_node *root; /* an object */
	const struct wtl_doc_table *table;
	struct wtl_doc_row *first_row, *last_row;
	struct wtl_doc_block *blocks;
	size_t n_used; /* bytes of the newest block */
	struct wtl_node nowhere;
	int error;
};

void wtl_doc_init(struct wtl_doc *doc);
void wtl_doc_done(struct wtl_doc *doc);
/* Empties it, and keeps memory. */
void wtl_doc_clear(struct wtl_doc *doc);

/*
 * Each puts a value into an object under a key, or at the end of a list (key NULL). Keys are borrowed
 * until the document is done or cleared, texts are copied.
 */
struct wtl_node *wtl_doc_object(struct wtl_node *to, const char *key);
struct wtl_node *wtl_doc_list(struct wtl_node *to, const char *key);
/* A NULL text puts nothing; wtl_doc_known() puts no "" either. */
void wtl_doc_text(struct wtl_node *to, const char *key, const char *text);
void wtl_doc_known(struct wtl_node *to, const char *key, const char *text);
void wtl_doc_fixed(struct wtl_node *to, const char *key, uint64_t value, unsigned decimals);
/* 0 has no sign. */
void wtl_doc_signed(struct wtl_node *to, const char *key, bool is_negative, uint64_t value,
		    unsigned decimals);
/* Microjoules as joules, microwatts as watts; nanograms as grams. */
void wtl_doc_micro(struct wtl_node *to, const char *key, uint64_t value);
void wtl_doc_nano(struct wtl_node *to, const char *key, uint64_t value);
/* Below 0 it is not known, and nothing is put. */
void wtl_doc_seconds(struct wtl_node *to, const char *key, int64_t ns);
/* Beyond INT64_MAX, which no reader takes as an integer, it is cut. */
void wtl_doc_count(struct wtl_node *to, const char *key, uint64_t value);
void wtl_doc_integer(struct wtl_node *to, const char *key, int64_t value);
/* Rounded to that many decimals; nothing when it is not finite. */
void wtl_doc_double(struct wtl_node *to, const char *key, double value, unsigned decimals);
void wtl_doc_flag(struct wtl_node *to, const char *key, bool value);
void wtl_doc_utc(struct wtl_node *to, const char *key, int64_t t_utc_ns);
/* A copy of another node, which shares its children; NULL puts nothing. */
void wtl_doc_copy(struct wtl_node *to, const char *key, const struct wtl_node *value);
void wtl_doc_null(struct wtl_node *to, const char *key);

/* "schema" and "version": every document begins with them, also within another one. */
void wtl_doc_schema(struct wtl_node *to, const char *schema);

/* An object that is no part of the tree: what only a table has. */
struct wtl_node *wtl_doc_aside(struct wtl_doc *doc);
/* Adds a row to the document's table, which has to be set. */
void wtl_doc_add_row(struct wtl_doc *doc, const struct wtl_node *const scopes[], size_t n);

/* The value of a key, or NULL: also where the object is NULL. */
const struct wtl_node *wtl_node_get(const struct wtl_node *object, const char *key);
/* The value of a row's column, or NULL. */
const struct wtl_node *wtl_doc_cell(const struct wtl_doc_row *row,
				    const struct wtl_doc_column *column);

#endif
