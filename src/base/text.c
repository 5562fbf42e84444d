/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

const char *wtl_text_next(const char *text)
{
	text += *text != '\0';
	while (is_continuation(*text))
		text++;
	return text;
}

/* A surrogate, or a noncharacter (Unicode 23.7): cairo draws nothing at all where it meets one. */
static bool is_no_character(uint32_t point)
{
	return point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff) ||
	       (point >= 0xfdd0 && point <= 0xfdef) || (point & 0xfffe) == 0xfffe;
}

/* The length of the printable UTF-8 character that text begins with, or 0. */
static size_t printable_len(const char *text, size_t len)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char first = (unsigned char)text[0];
	uint32_t point = first;
	size_t n = 1;

	if (first >= 0xf0)
		n = 4;
	else if (first >= 0xe0)
		n = 3;
	else if (first >= 0xc0)
		n = 2;
	else if (first >= 0x80)
		return 0;
	if (n > len || first > 0xf4)
		return 0;
	if (n > 1)
		point = first & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if (!is_continuation(text[i]))
			return 0;
		point = point << 6 | ((unsigned char)text[i] & 0x3f);
	}
	if (point < smallest[n] || is_no_character(point) || wtl_point_is_hidden(point))
		return 0;
	return n;
}

char *wtl_text_copy(char *dst, size_t size, const char *src)
{
	size_t len = src ? strlen(src) : 0;

	if (size == 0)
		return dst;
	if (len >= size) {
		len = size - 1;
		/* Never half a character. */
		while (len > 0 && is_continuation(src[len]))
			len--;
	}
	if (len > 0)
		memmove(dst, src, len);
	dst[len] = '\0';
	return dst;
}

char *wtl_text_clean(char *dst, size_t size, const char *src, size_t len)
{
	size_t used = 0;

	if (size == 0)
		return dst;
	len = wtl_text_trimmed(src, len);
	while (len > 0 && is_space(src[0])) {
		src++;
		len--;
	}
	for (size_t at = 0; at < len;) {
		size_t n = printable_len(src + at, len - at);

		if (used + (n ? n : 1) >= size)
			break;
		if (n)
			memmove(dst + used, src + at, n);
		else
			dst[used] = '?';
		used += n ? n : 1;
		at += n ? n : 1;
	}
	/* It may have been cut behind a blank. */
	used = wtl_text_trimmed(dst, used);
	dst[used] = '\0';
	return dst;
}

bool wtl_text_is_clean(const char *text, size_t len)
{
	if (len > 0 && (is_space(text[0]) || is_space(text[len - 1])))
		return false;
	for (size_t n; len > 0; text += n, len -= n) {
		n = printable_len(text, len);
		if (n == 0)
			return false;
	}
	return true;
}

size_t wtl_text_trimmed(const char *text, size_t len)
{
	while (len > 0 && is_space(text[len - 1]))
		len--;
	return len;
}

bool wtl_text_starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

int wtl_text_escape(struct wtl_buf *buf, const char *text, size_t len)
{
	for (size_t at = 0; at < len && !buf->error;) {
		size_t n = printable_len(text + at, len - at);

		if (text[at] == '\n')
			wtl_buf_puts(buf, "\\n");
		else if (text[at] == '\t')
			wtl_buf_puts(buf, "\\t");
		else if (text[at] == '\\')
			wtl_buf_puts(buf, "\\\\");
		else if (n)
			wtl_buf_add(buf, text + at, n);
		else
			wtl_buf_printf(buf, "\\x%02x", (unsigned)(unsigned char)text[at]);
		at += n ? n : 1;
	}
	return buf->error;
}

/* Decodes what follows a backslash. Returns the characters used, 0 for a bad escape. */
static size_t escape_decode(const char *text, size_t len, char *ret_c)
{
	int high, low;

	if (len == 0)
		return 0;
	switch (text[0]) {
	case 'n':
		*ret_c = '\n';
		return 1;
	case 't':
		*ret_c = '\t';
		return 1;
	case '\\':
		*ret_c = '\\';
		return 1;
	case 'x':
		if (len < 3)
			return 0;
		high = wtl_num_hex_digit(text[1]);
		low = wtl_num_hex_digit(text[2]);
		if (high < 0 || low < 0)
			return 0;
		*ret_c = (char)(high * 16 + low);
		return 3;
	default:
		return 0;
	}
}

int wtl_text_unescape(struct wtl_buf *buf, const char *text, size_t len)
{
	size_t at = 0;

	while (at < len) {
		const char *mark = memchr(text + at, '\\', len - at);
		size_t plain = mark ? (size_t)(mark - (text + at)) : len - at;
		size_t n;
		char c;

		wtl_buf_add(buf, text + at, plain);
		at += plain;
		if (at == len)
			break;
		n = escape_decode(text + at + 1, len - at - 1, &c);
		if (n == 0)
			return -EINVAL;
		wtl_buf_putc(buf, c);
		at += 1 + n;
	}
	return buf->error;
}
