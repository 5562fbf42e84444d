/* SPDX-License-Identifier: MIT */
#include "document/tree.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "document/format.h"

enum { TEXT_MAX = 1 << 23, JSON_MAX = 1 << 28 };

/*
 * jansson knows integers and doubles, and a double does not keep 16 digits. So a decimal is kept as
 * a string that begins with U+FDD0, a noncharacter, which no text from outside can hold here (it
 * becomes U+FFFD), and wtl_tree_write() takes its quotes away.
 */
#define MARK	    "\xef\xb7\x90"
#define MARK_QUOTED "\"\\uFDD0" /* as jansson writes it */
#define REPLACEMENT "\xef\xbf\xbd"

void wtl_tree_init(struct wtl_tree *tree)
{
	*tree = (struct wtl_tree){.root = json_object()};
	if (!tree->root)
		tree->error = -ENOMEM;
}

void wtl_tree_done(struct wtl_tree *tree)
{
	json_decref(tree->root);
	*tree = (struct wtl_tree){.error = tree->error};
}

/* Takes the value over, whatever happens. */
static void put(struct wtl_tree *tree, json_t *to, const char *key, json_t *value)
{
	int rc = key ? json_object_set_new(to, key, value) : json_array_append_new(to, value);

	if (rc < 0 && !tree->error)
		tree->error = -ENOMEM;
}

static void put_string(struct wtl_tree *tree, json_t *to, const char *key, struct wtl_buf *text)
{
	if (text->error && !tree->error)
		tree->error = text->error;
	put(tree, to, key, json_string(wtl_buf_str(text)));
	wtl_buf_done(text);
}

void wtl_tree_text(struct wtl_tree *tree, json_t *to, const char *key, const char *text)
{
	size_t len = text ? strlen(text) : 0;
	struct wtl_buf clean;
	uint32_t point;

	if (!text)
		return;
	wtl_buf_init(&clean, TEXT_MAX);
	for (size_t at = 0; at < len && !clean.error;) {
		size_t n = wtl_format_utf8(text + at, len - at, &point);

		if (n == 0 || point == 0xfdd0)
			wtl_buf_puts(&clean, REPLACEMENT);
		else
			wtl_buf_add(&clean, text + at, n);
		at += n ? n : 1;
	}
	put_string(tree, to, key, &clean);
}

void wtl_tree_signed(struct wtl_tree *tree, json_t *to, const char *key, bool is_negative,
		     uint64_t value, unsigned decimals)
{
	struct wtl_buf number;

	wtl_buf_init(&number, 64);
	wtl_buf_puts(&number, MARK);
	wtl_buf_puts(&number, is_negative && value > 0 ? "-" : "");
	wtl_format_fixed(&number, value, decimals);
	put_string(tree, to, key, &number);
}

void wtl_tree_fixed(struct wtl_tree *tree, json_t *to, const char *key, uint64_t value,
		    unsigned decimals)
{
	wtl_tree_signed(tree, to, key, false, value, decimals);
}

void wtl_tree_integer(struct wtl_tree *tree, json_t *to, const char *key, int64_t value)
{
	put(tree, to, key, json_integer(value));
}

void wtl_tree_count(struct wtl_tree *tree, json_t *to, const char *key, uint64_t value)
{
	wtl_tree_integer(tree, to, key, value < INT64_MAX ? (int64_t)value : INT64_MAX);
}

void wtl_tree_double(struct wtl_tree *tree, json_t *to, const char *key, double value,
		     unsigned decimals)
{
	struct wtl_buf number;

	if (!isfinite(value))
		return;
	wtl_buf_init(&number, 64);
	wtl_buf_puts(&number, MARK);
	wtl_format_double(&number, value, decimals);
	put_string(tree, to, key, &number);
}

void wtl_tree_bool(struct wtl_tree *tree, json_t *to, const char *key, bool value)
{
	put(tree, to, key, json_boolean(value));
}

void wtl_tree_null(struct wtl_tree *tree, json_t *to, const char *key)
{
	put(tree, to, key, json_null());
}

json_t *wtl_tree_object(struct wtl_tree *tree, json_t *to, const char *key)
{
	json_t *object = json_object();

	put(tree, to, key, object);
	return tree->error ? NULL : object;
}

json_t *wtl_tree_array(struct wtl_tree *tree, json_t *to, const char *key)
{
	json_t *array = json_array();

	put(tree, to, key, array);
	return tree->error ? NULL : array;
}

static int dump(const char *chunk, size_t size, void *buf)
{
	return wtl_buf_add(buf, chunk, size);
}

/* Moves the numbers out of their quotes, in place: what follows only gets shorter. */
static void unquote_numbers(struct wtl_buf *json)
{
	static const char quoted[] = MARK_QUOTED;
	const size_t n = sizeof(quoted) - 1;
	char *to = json->data, *end = json->data + json->len;

	for (const char *at = json->data; at < end;) {
		if ((size_t)(end - at) < n || memcmp(at, quoted, n) != 0) {
			*to++ = *at++;
			continue;
		}
		for (at += n; at < end && *at != '"'; at++)
			*to++ = *at;
		at++;
	}
	json->len = (size_t)(to - json->data);
}

int wtl_tree_write(const struct wtl_tree *tree, struct wtl_buf *buf, bool one_line)
{
	struct wtl_buf json;

	if (tree->error)
		return buf->error ? buf->error : (buf->error = tree->error);
	wtl_buf_init(&json, JSON_MAX);
	/* ASCII alone: what could move a terminal's cursor or turn its text around is escaped. */
	if (json_dump_callback(tree->root, dump, &json,
			       JSON_ENSURE_ASCII | (one_line ? JSON_COMPACT : JSON_INDENT(2))) <
		    0 &&
	    !json.error)
		json.error = -ENOMEM;
	if (json.error) {
		if (!buf->error)
			buf->error = json.error;
	} else {
		unquote_numbers(&json);
		wtl_buf_add(buf, json.data, json.len);
		wtl_buf_putc(buf, '\n');
	}
	wtl_buf_done(&json);
	return buf->error;
}
