/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_BUF_H
#define WTL_BASE_BUF_H

#include <stddef.h>

/*
 * A growing byte buffer that cannot be made without a maximum. The content is always followed by a
 * NUL that len does not count. The first failure sticks in `error` (-ENOMEM, or -EFBIG past the
 * maximum): later appends do nothing and return it, so a writer may check once at its end.
 */
struct wtl_buf {
	char *data;
	size_t len;
	size_t size;
	size_t max;
	int error;
};

void wtl_buf_init(struct wtl_buf *buf, size_t max);
void wtl_buf_done(struct wtl_buf *buf);	 /* frees; NULL and a zeroed struct are fine */
void wtl_buf_clear(struct wtl_buf *buf); /* empties, forgets the error, keeps the memory */

/* Makes room for `more` bytes beyond len. All return 0 or buf->error. */
int wtl_buf_reserve(struct wtl_buf *buf, size_t more);
int wtl_buf_add(struct wtl_buf *buf, const void *bytes, size_t len);
int wtl_buf_puts(struct wtl_buf *buf, const char *text);
int wtl_buf_putc(struct wtl_buf *buf, char c);
int wtl_buf_printf(struct wtl_buf *buf, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The content as a string: "" for a buffer that never held anything. */
const char *wtl_buf_str(const struct wtl_buf *buf);

#endif
