/* SPDX-License-Identifier: MIT */
#include "base/sparse.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"

enum { RUN_MIN = 3 }; /* zeros that are shorter as a number */

static size_t zeros_count(const unsigned char *at, size_t len)
{
	size_t n = 0;

	while (n < len && at[n] == 0)
		n++;
	return n;
}

int wtl_sparse_put(struct wtl_buf *buf, const void *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *at = bytes, *end = at + len;

	while (at < end) {
		size_t zeros = zeros_count(at, (size_t)(end - at));

		if (zeros >= RUN_MIN) {
			wtl_buf_printf(buf, "(%zu)", zeros);
			at += zeros;
		} else {
			wtl_buf_putc(buf, digits[*at >> 4]);
			wtl_buf_putc(buf, digits[*at & 15]);
			at++;
		}
	}
	return buf->error;
}

/* The number of zeros that "(N)" at the text's start stands for; its length in *ret_used. */
static int run_parse(const char *text, size_t len, uint64_t *ret_zeros, size_t *ret_used)
{
	const char *stop = memchr(text, ')', len);

	if (!stop || wtl_num_u64(text + 1, (size_t)(stop - text) - 1, ret_zeros) < 0)
		return -EINVAL;
	*ret_used = (size_t)(stop - text) + 1;
	return 0;
}

ssize_t wtl_sparse_parse(const char *text, size_t len, void *bytes, size_t size)
{
	unsigned char *out = bytes;
	size_t n = 0;

	for (size_t at = 0; at < len;) {
		uint64_t run = 1;
		size_t used = 2;
		int high = 0, low = 0;

		if (text[at] == '(') {
			if (run_parse(text + at, len - at, &run, &used) < 0)
				return -EINVAL;
		} else {
			high = wtl_num_hex_digit(text[at]);
			low = at + 1 < len ? wtl_num_hex_digit(text[at + 1]) : -1;
			if (high < 0 || low < 0)
				return -EINVAL;
		}
		if (run > size - n)
			return -EMSGSIZE;
		memset(out + n, high << 4 | low, run);
		n += run;
		at += used;
	}
	return (ssize_t)n;
}
