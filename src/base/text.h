/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_TEXT_H
#define WTL_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wtl_buf;

/* Copies with a NUL, cut to size; returns dst. A NULL src is "". */
char *wtl_text_copy(char *dst, size_t size, const char *src);

/* Like wtl_text_copy for `len` bytes from outside: hidden characters (below), noncharacters (U+FFFE) and bytes that are
 * not UTF-8 become '?', and white space at both ends is dropped. src may be dst. */
char *wtl_text_clean(char *dst, size_t size, const char *src, size_t len);

/* Whether wtl_text_clean() leaves it as it is: no two such texts differ only in what is not seen. */
bool wtl_text_is_clean(const char *text, size_t len);

/* The length of text without white space at its end. */
size_t wtl_text_trimmed(const char *text, size_t len);

bool wtl_text_starts(const char *text, const char *prefix);

/* Behind the first character of UTF-8 text; its end stays where it is. */
const char *wtl_text_next(const char *text);

/* For terminals and logs: printable UTF-8 as it is, everything else as \n, \t, \\ or \xNN. */
int wtl_text_escape(struct wtl_buf *buf, const char *text, size_t len);

/* The columns that a character takes on a terminal: 0, 1 or 2. Never asks the locale. */
unsigned wtl_point_width(uint32_t point);

/* Whether text looks the same without it, or with a space in its place, or it moves what is beside it. */
bool wtl_point_is_hidden(uint32_t point);

/* Undoes wtl_text_escape. -EINVAL for a bad escape, else 0 or the buffer's error. */
int wtl_text_unescape(struct wtl_buf *buf, const char *text, size_t len);

#endif
