/* SPDX-License-Identifier: MIT */
#include "energy/kept_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

static int64_t number_of(const void *row, const struct wtl_kept_number *number)
{
	int64_t value;

	memcpy(&value, (const char *)row + number->offset, sizeof(value));
	return value;
}

int wtl_kept_line_check(const char *key, const void *row, const struct wtl_kept_number numbers[],
			size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (number_of(row, &numbers[i]) < numbers[i].least ||
		    number_of(row, &numbers[i]) > numbers[i].most)
			return -EINVAL;
	for (const char *at = key; *at; at++)
		if (*at <= ' ' || *at > '~')
			return -EINVAL;
	return key[0] ? 0 : -EINVAL;
}

int wtl_kept_line_print(char line[WTL_KEPT_LINE_MAX], const char *key, const void *row,
			const struct wtl_kept_number numbers[], size_t n)
{
	int len;

	if (wtl_kept_line_check(key, row, numbers, n) < 0)
		return -EINVAL;
	len = snprintf(line, WTL_KEPT_LINE_MAX, "%s", key);
	for (size_t i = 0; i < n; i++)
		len += snprintf(line + len, (size_t)(WTL_KEPT_LINE_MAX - len), " %" PRId64,
				number_of(row, &numbers[i]));
	line[len++] = '\n';
	line[len] = '\0';
	return len;
}

int wtl_kept_line_parse(const char *line, size_t len, char ret_key[WTL_KEPT_KEY_SIZE],
			void *ret_row, const struct wtl_kept_number numbers[], size_t n)
{
	const char *end = line + len, *at = memchr(line, ' ', len);

	if (!at || (size_t)(at - line) >= WTL_KEPT_KEY_SIZE || memchr(line, '\0', len))
		return -EINVAL;
	memset(ret_key, 0, WTL_KEPT_KEY_SIZE);
	memcpy(ret_key, line, (size_t)(at - line));
	for (size_t i = 0; i < n; i++) {
		const char *word = at + 1, *stop;
		int64_t value;

		if (at == end)
			return -EINVAL;
		stop = memchr(word, ' ', (size_t)(end - word));
		at = stop ? stop : end;
		if (wtl_num_i64(word, (size_t)(at - word), &value) < 0)
			return -EINVAL;
		memcpy((char *)ret_row + numbers[i].offset, &value, sizeof(value));
	}
	return at == end ? wtl_kept_line_check(ret_key, ret_row, numbers, n) : -EINVAL;
}
