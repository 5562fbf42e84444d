/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_KEPT_LINE_H
#define WTL_ENERGY_KEPT_LINE_H

#include <stddef.h>
#include <stdint.h>

/* A line of a file that is kept by device: a key of one word, and whole numbers, with a space between each. */

enum { WTL_KEPT_KEY_SIZE = 96, WTL_KEPT_LINE_MAX = 256 };

/* A number of the line: an int64_t of the struct, and what it may be. */
struct wtl_kept_number {
	size_t offset;
	int64_t least, most;
};

#define WTL_KEPT_NUMBER(type, name, least, most)  \
	{                                         \
		offsetof(type, name), least, most \
	}

/* 0 or -EINVAL: the key is no word, or a number is out of its bounds. */
int wtl_kept_line_check(const char *key, const void *row, const struct wtl_kept_number numbers[],
			size_t n);
/* With a newline. Its length, or -EINVAL. */
int wtl_kept_line_print(char line[WTL_KEPT_LINE_MAX], const char *key, const void *row,
			const struct wtl_kept_number numbers[], size_t n);
/* The same without the newline. 0 or -EINVAL. */
int wtl_kept_line_parse(const char *line, size_t len, char ret_key[WTL_KEPT_KEY_SIZE],
			void *ret_row, const struct wtl_kept_number numbers[], size_t n);

#endif
