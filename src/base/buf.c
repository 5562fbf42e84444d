/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void wtl_buf_init(struct wtl_buf *buf, size_t max)
{
	/* One byte is kept for the NUL. */
	*buf = (struct wtl_buf){.max = max < SIZE_MAX ? max : SIZE_MAX - 1};
}

void wtl_buf_done(struct wtl_buf *buf)
{
	if (!buf)
		return;
	free(buf->data);
	*buf = (struct wtl_buf){.max = buf->max};
}

void wtl_buf_clear(struct wtl_buf *buf)
{
	buf->len = 0;
	buf->error = 0;
	if (buf->data)
		buf->data[0] = '\0';
}

int wtl_buf_reserve(struct wtl_buf *buf, size_t more)
{
	size_t need, size;

	if (buf->error)
		return buf->error;
	if (more > buf->max - buf->len)
		return buf->error = -EFBIG;
	need = buf->len + more + 1;
	if (need <= buf->size)
		return 0;

	size = buf->size < 64 ? 64 : buf->size;
	while (size < need)
		size = size > SIZE_MAX / 2 ? need : size * 2;
	if (size > buf->max + 1)
		size = buf->max + 1;
	if (wtl_array_resize(&buf->data, size, 1) < 0)
		return buf->error = -ENOMEM;
	buf->data[buf->len] = '\0';
	buf->size = size;
	return 0;
}

int wtl_buf_add(struct wtl_buf *buf, const void *bytes, size_t len)
{
	if (wtl_buf_reserve(buf, len) < 0)
		return buf->error;
	if (len > 0)
		memcpy(buf->data + buf->len, bytes, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
	return 0;
}

int wtl_buf_puts(struct wtl_buf *buf, const char *text)
{
	return wtl_buf_add(buf, text, strlen(text));
}

int wtl_buf_putc(struct wtl_buf *buf, char c)
{
	return wtl_buf_add(buf, &c, 1);
}

int wtl_buf_printf(struct wtl_buf *buf, const char *format, ...)
{
	size_t room = buf->data ? buf->size - buf->len : 0;
	va_list args;
	int len;

	if (buf->error)
		return buf->error;
	va_start(args, format);
	len = vsnprintf(room > 0 ? buf->data + buf->len : NULL, room, format, args);
	va_end(args);
	if (len >= 0 && (size_t)len < room) {
		buf->len += (size_t)len;
		return 0;
	}
	if (room > 0)
		buf->data[buf->len] = '\0';
	if (len < 0)
		return buf->error = -EINVAL;
	if (wtl_buf_reserve(buf, (size_t)len) < 0)
		return buf->error;
	va_start(args, format);
	vsnprintf(buf->data + buf->len, (size_t)len + 1, format, args);
	va_end(args);
	buf->len += (size_t)len;
	return 0;
}

const char *wtl_buf_str(const struct wtl_buf *buf)
{
	return buf->data ? buf->data : "";
}
