/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_SPARSE_H
#define WTL_BASE_SPARSE_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Bytes that are mostly zeros as one word of text: two hexadecimal digits a byte, and "(N)" for N
 * zero bytes in a row: "54(2)1f" is 54 00 00 1f.
 */
struct wtl_buf;

/* Appends the text. Returns 0 or the buffer's error. */
int wtl_sparse_put(struct wtl_buf *buf, const void *bytes, size_t len);

/* The bytes that a text stands for: how many, -EINVAL for another text, -EMSGSIZE for more than
 * `size` of them. */
ssize_t wtl_sparse_parse(const char *text, size_t len, void *bytes, size_t size);

#endif
