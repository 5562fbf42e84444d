/* SPDX-License-Identifier: MIT */
#ifndef WTL_DOCUMENT_TREE_H
#define WTL_DOCUMENT_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

struct wtl_buf;

/*
 * A jansson tree that holds exact decimals and any bytes as text, and cannot lose a value unseen: the
 * first failure sticks in `error` and wtl_tree_write() returns it.
 */
struct wtl_tree {
	json_t *root; /* an object */
	int error;
};

void wtl_tree_init(struct wtl_tree *tree);
void wtl_tree_done(struct wtl_tree *tree);

/* Each puts a value into `to`: under `key` in an object, at the end of an array (key NULL). */

/* What is not UTF-8 becomes U+FFFD, byte for byte. A NULL text puts nothing. */
void wtl_tree_text(struct wtl_tree *tree, json_t *to, const char *key, const char *text);
/* value × 10^-decimals with all its digits, which a double would not keep */
void wtl_tree_fixed(struct wtl_tree *tree, json_t *to, const char *key, uint64_t value,
		    unsigned decimals);
/* The same with a sign; 0 has none. */
void wtl_tree_signed(struct wtl_tree *tree, json_t *to, const char *key, bool is_negative,
		     uint64_t value, unsigned decimals);
/* Beyond INT64_MAX, which no reader takes as an integer, it is cut. */
void wtl_tree_count(struct wtl_tree *tree, json_t *to, const char *key, uint64_t value);
void wtl_tree_integer(struct wtl_tree *tree, json_t *to, const char *key, int64_t value);
/* Rounded to that many decimals; nothing when it is not finite. */
void wtl_tree_double(struct wtl_tree *tree, json_t *to, const char *key, double value,
		     unsigned decimals);
void wtl_tree_bool(struct wtl_tree *tree, json_t *to, const char *key, bool value);
void wtl_tree_null(struct wtl_tree *tree, json_t *to, const char *key);
/* A new object or array, owned by `to`; NULL on failure, which every function here accepts. */
json_t *wtl_tree_object(struct wtl_tree *tree, json_t *to, const char *key);
json_t *wtl_tree_array(struct wtl_tree *tree, json_t *to, const char *key);

/* Appends the tree as JSON with a newline at its end: indented, or on one line. */
int wtl_tree_write(const struct wtl_tree *tree, struct wtl_buf *buf, bool one_line);

#endif
