/* SPDX-License-Identifier: MIT */
#include "document/doc.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 14, ALIGN = _Alignof(max_align_t) };

struct wtl_doc_block {
	struct wtl_doc_block *next;
	size_t size;
	_Alignas(max_align_t) char bytes[];
};

/* Zeroed. NULL when memory is out, which the document keeps as its error. */
static void *take(struct wtl_doc *doc, size_t size)
{
	struct wtl_doc_block *block = doc->blocks;
	void *taken;

	size = (size + ALIGN - 1) / ALIGN * ALIGN;
	if (!block || size > block->size - doc->n_used) {
		size_t room = size > BLOCK ? size : BLOCK;

		block = doc->error ? NULL : malloc(sizeof(*block) + room);
		if (!block) {
			doc->error = -ENOMEM;
			return NULL;
		}
		*block = (struct wtl_doc_block){.next = doc->blocks, .size = room};
		doc->blocks = block;
		doc->n_used = 0;
	}
	taken = block->bytes + doc->n_used;
	doc->n_used += size;
	return memset(taken, 0, size);
}

static struct wtl_node *new_node(struct wtl_doc *doc, const char *key, enum wtl_node_kind kind)
{
	struct wtl_node *node = take(doc, sizeof(*node));

	if (!node)
		node = &doc->nowhere;
	*node = (struct wtl_node){.doc = doc, .key = key, .kind = kind};
	return node;
}

void wtl_doc_clear(struct wtl_doc *doc)
{
	while (doc->blocks && doc->blocks->next) {
		struct wtl_doc_block *next = doc->blocks->next;

		free(doc->blocks);
		doc->blocks = next;
	}
	*doc = (struct wtl_doc){.blocks = doc->blocks, .table = doc->table};
	doc->root = new_node(doc, NULL, WTL_NODE_OBJECT);
}

void wtl_doc_init(struct wtl_doc *doc)
{
	*doc = (struct wtl_doc){.error = 0};
	wtl_doc_clear(doc);
}

void wtl_doc_done(struct wtl_doc *doc)
{
	while (doc->blocks) {
		struct wtl_doc_block *next = doc->blocks->next;

		free(doc->blocks);
		doc->blocks = next;
	}
	*doc = (struct wtl_doc){.error = doc->error};
}

static struct wtl_node *add(struct wtl_node *to, const char *key, enum wtl_node_kind kind)
{
	struct wtl_node *node = new_node(to->doc, key, kind);

	if (node == &to->doc->nowhere || to == &to->doc->nowhere)
		return &to->doc->nowhere;
	if (to->last)
		to->last->next = node;
	else
		to->first = node;
	to->last = node;
	return node;
}

struct wtl_node *wtl_doc_object(struct wtl_node *to, const char *key)
{
	return add(to, key, WTL_NODE_OBJECT);
}

struct wtl_node *wtl_doc_list(struct wtl_node *to, const char *key)
{
	return add(to, key, WTL_NODE_LIST);
}

struct wtl_node *wtl_doc_aside(struct wtl_doc *doc)
{
	return new_node(doc, NULL, WTL_NODE_OBJECT);
}

void wtl_doc_text(struct wtl_node *to, const char *key, const char *text)
{
	size_t size = text ? strlen(text) + 1 : 0;
	char *copy = text ? take(to->doc, size) : NULL;

	if (copy)
		add(to, key, WTL_NODE_TEXT)->text = memcpy(copy, text, size);
}

void wtl_doc_known(struct wtl_node *to, const char *key, const char *text)
{
	if (text && text[0])
		wtl_doc_text(to, key, text);
}

void wtl_doc_signed(struct wtl_node *to, const char *key, bool is_negative, uint64_t value,
		    unsigned decimals)
{
	struct wtl_node *node = add(to, key, WTL_NODE_NUMBER);

	node->number = value;
	node->decimals = decimals;
	node->is_negative = is_negative && value > 0;
}

void wtl_doc_fixed(struct wtl_node *to, const char *key, uint64_t value, unsigned decimals)
{
	wtl_doc_signed(to, key, false, value, decimals);
}

void wtl_doc_micro(struct wtl_node *to, const char *key, uint64_t value)
{
	wtl_doc_fixed(to, key, value, 6);
}

void wtl_doc_nano(struct wtl_node *to, const char *key, uint64_t value)
{
	wtl_doc_fixed(to, key, value, 9);
}

void wtl_doc_seconds(struct wtl_node *to, const char *key, int64_t ns)
{
	if (ns >= 0)
		wtl_doc_nano(to, key, (uint64_t)ns);
}

void wtl_doc_count(struct wtl_node *to, const char *key, uint64_t value)
{
	wtl_doc_fixed(to, key, value < INT64_MAX ? value : INT64_MAX, 0);
}

void wtl_doc_integer(struct wtl_node *to, const char *key, int64_t value)
{
	wtl_doc_signed(to, key, value < 0, value < 0 ? -(uint64_t)value : (uint64_t)value, 0);
}

void wtl_doc_double(struct wtl_node *to, const char *key, double value, unsigned decimals)
{
	double power = 1, scaled;

	if (!isfinite(value))
		return;
	for (unsigned i = 0; i < decimals; i++)
		power *= 10;
	scaled = round(fabs(value) * power);
	wtl_doc_signed(to, key, value < 0, scaled < 0x1p64 ? (uint64_t)scaled : UINT64_MAX,
		       decimals);
}

void wtl_doc_flag(struct wtl_node *to, const char *key, bool value)
{
	add(to, key, WTL_NODE_FLAG)->flag = value;
}

void wtl_doc_utc(struct wtl_node *to, const char *key, int64_t t_utc_ns)
{
	add(to, key, WTL_NODE_UTC)->t_utc_ns = t_utc_ns;
}

void wtl_doc_copy(struct wtl_node *to, const char *key, const struct wtl_node *value)
{
	struct wtl_node *node = value ? add(to, key, value->kind) : &to->doc->nowhere;

	if (node == &to->doc->nowhere)
		return;
	*node = *value;
	node->key = key;
	node->next = NULL;
}

void wtl_doc_null(struct wtl_node *to, const char *key)
{
	add(to, key, WTL_NODE_NULL);
}

void wtl_doc_schema(struct wtl_node *to, const char *schema)
{
	wtl_doc_text(to, "schema", schema);
	wtl_doc_text(to, "version", WATTLE_VERSION);
}

void wtl_doc_add_row(struct wtl_doc *doc, const struct wtl_node *const scopes[], size_t n)
{
	struct wtl_doc_row *row = take(doc, sizeof(*row));

	if (!row)
		return;
	for (size_t i = 0; i < n; i++)
		row->scopes[i] = scopes[i];
	if (doc->last_row)
		doc->last_row->next = row;
	else
		doc->first_row = row;
	doc->last_row = row;
}

const struct wtl_node *wtl_node_get(const struct wtl_node *object, const char *key)
{
	const struct wtl_node *node = object ? object->first : NULL;

	while (node && strcmp(node->key, key) != 0)
		node = node->next;
	return node;
}

bool wtl_doc_next_column(const struct wtl_doc_table *table, struct wtl_doc_column *column)
{
	const char *at = column->name ? column->name + column->len : table->columns;

	at += column->name && *at;
	if (at[0] && at[1] == ':') {
		column->scope = (unsigned)(at[0] - '0');
		at += 2;
	}
	column->name = at;
	column->len = strcspn(at, ", ");
	return column->len > 0;
}

const struct wtl_node *wtl_doc_cell(const struct wtl_doc_row *row,
				    const struct wtl_doc_column *column)
{
	const struct wtl_node *object = row->scopes[column->scope];
	const struct wtl_node *node = object ? object->first : NULL;

	while (node &&
	       (strncmp(node->key, column->name, column->len) != 0 || node->key[column->len]))
		node = node->next;
	return node;
}
