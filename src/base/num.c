/* SPDX-License-Identifier: MIT */
#include "base/num.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What is left to read. */
struct cursor {
	const char *at;
	const char *end;
};

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static struct cursor cursor_trimmed(const char *text, size_t len)
{
	struct cursor cursor = {text, text};

	if (len == 0)
		return cursor;
	cursor.end = text + len;
	while (cursor.at < cursor.end && is_space(cursor.at[0]))
		cursor.at++;
	while (cursor.end > cursor.at && is_space(cursor.end[-1]))
		cursor.end--;
	return cursor;
}

static bool cursor_skip(struct cursor *cursor, char c)
{
	if (cursor->at == cursor->end || cursor->at[0] != c)
		return false;
	cursor->at++;
	return true;
}

/* Appends the digits at the cursor to *value. False when that no longer fits. */
static bool digits_add(struct cursor *cursor, uint64_t *value)
{
	bool fits = true;

	for (; cursor->at < cursor->end && is_digit(cursor->at[0]); cursor->at++)
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, (uint64_t)(cursor->at[0] - '0'), value))
			fits = false;
	return fits;
}

/* Digits up to the end of the cursor: rubbish is told from numbers that are too large. */
static int digits_whole(struct cursor cursor, uint64_t *ret)
{
	const char *start = cursor.at;
	uint64_t value = 0;
	bool fits = digits_add(&cursor, &value);

	if (cursor.at == start || cursor.at != cursor.end)
		return -EINVAL;
	if (!fits)
		return -ERANGE;
	*ret = value;
	return 0;
}

int wtl_num_u64(const char *text, size_t len, uint64_t *ret)
{
	return digits_whole(cursor_trimmed(text, len), ret);
}

int wtl_num_i64(const char *text, size_t len, int64_t *ret)
{
	struct cursor cursor = cursor_trimmed(text, len);
	bool negative = cursor_skip(&cursor, '-');
	uint64_t value;
	int rc = digits_whole(cursor, &value);

	if (rc < 0)
		return rc;
	if (value > (uint64_t)INT64_MAX + (negative ? 1 : 0))
		return -ERANGE;
	*ret = negative ? (int64_t)(0 - value) : (int64_t)value;
	return 0;
}

char *wtl_num_digits(uint64_t value, unsigned decimals, char room[WTL_NUM_DIGITS])
{
	char *at = room + WTL_NUM_DIGITS;

	for (unsigned n = 0; n <= decimals || value > 0; n++) {
		if (n == decimals && n > 0)
			*--at = '.';
		*--at = (char)('0' + value % 10);
		value /= 10;
	}
	return at;
}

int wtl_num_hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int wtl_num_hex(const char *text, size_t len, uint64_t *ret)
{
	struct cursor cursor = cursor_trimmed(text, len);
	uint64_t value = 0;
	bool fits = true;

	if (cursor.end - cursor.at > 2 && cursor.at[0] == '0' &&
	    (cursor.at[1] == 'x' || cursor.at[1] == 'X'))
		cursor.at += 2;
	if (cursor.at == cursor.end)
		return -EINVAL;
	for (; cursor.at < cursor.end; cursor.at++) {
		int digit = wtl_num_hex_digit(cursor.at[0]);

		if (digit < 0)
			return -EINVAL;
		if (value >> 60)
			fits = false;
		value = value << 4 | (uint64_t)digit;
	}
	if (!fits)
		return -ERANGE;
	*ret = value;
	return 0;
}

int wtl_num_fixed(const char *text, size_t len, unsigned decimals, uint64_t *ret)
{
	struct cursor cursor = cursor_trimmed(text, len);
	const char *start = cursor.at;
	uint64_t value = 0;
	bool fits = digits_add(&cursor, &value), any = cursor.at > start;

	if (cursor_skip(&cursor, '.')) {
		struct cursor fraction = {cursor.at, cursor.end};

		any = any || (cursor.at < cursor.end && is_digit(cursor.at[0]));
		if ((size_t)(cursor.end - cursor.at) > decimals)
			fraction.end = cursor.at + decimals;
		cursor.at = fraction.at;
		fits = digits_add(&fraction, &value) && fits;
		decimals -= (unsigned)(fraction.at - cursor.at);
		cursor.at = fraction.at;
		while (cursor_skip(&cursor, '0'))
			;
	}
	if (!any || cursor.at != cursor.end)
		return -EINVAL;
	for (; decimals > 0 && value > 0 && fits; decimals--)
		fits = !__builtin_mul_overflow(value, 10, &value);
	if (!fits)
		return -ERANGE;
	*ret = value;
	return 0;
}

/* Takes the last character off, where it is that letter in either case. */
static bool cursor_drop(struct cursor *cursor, char lower)
{
	if (cursor->at == cursor->end || (cursor->end[-1] | 0x20) != lower)
		return false;
	cursor->end--;
	return true;
}

/* The unit at the cursor's end is taken off. 1: there is none. */
static uint64_t unit_take(struct cursor *cursor)
{
	static const char letters[] = "kmgt";
	struct cursor left = *cursor;
	uint64_t unit = 1, step;

	cursor_drop(&left, 'b');
	step = cursor_drop(&left, 'i') ? 1024 : 1000;
	for (size_t i = 0; letters[i]; i++) {
		unit *= step;
		if (cursor_drop(&left, letters[i])) {
			*cursor = left;
			return unit;
		}
	}
	cursor_drop(cursor, 'b');
	return 1;
}

int wtl_num_bytes(const char *text, size_t len, uint64_t *ret)
{
	struct cursor cursor = cursor_trimmed(text, len);
	uint64_t unit = unit_take(&cursor), thousandths, bytes;
	int rc = wtl_num_fixed(cursor.at, (size_t)(cursor.end - cursor.at), unit > 1 ? 3 : 0,
			       &thousandths);

	if (rc < 0)
		return rc;
	if (unit == 1) {
		*ret = thousandths;
		return 0;
	}
	if (__builtin_mul_overflow(thousandths / 1000, unit, &bytes) ||
	    __builtin_add_overflow(bytes, thousandths % 1000 * unit / 1000, &bytes))
		return -ERANGE;
	*ret = bytes;
	return 0;
}

/* Whether the cursor holds a plain decimal; says too whether it has a digit other than 0. */
static bool is_decimal(struct cursor cursor, bool *ret_nonzero)
{
	const char *start;
	size_t digits = 0;
	uint64_t ignored = 0;

	*ret_nonzero = false;
	if (!cursor_skip(&cursor, '-'))
		cursor_skip(&cursor, '+');
	for (; cursor.at < cursor.end && (is_digit(cursor.at[0]) || cursor.at[0] == '.');
	     cursor.at++) {
		if (cursor.at[0] == '.') {
			cursor.at++;
			break;
		}
		digits++;
		*ret_nonzero |= cursor.at[0] != '0';
	}
	for (; cursor.at < cursor.end && is_digit(cursor.at[0]); cursor.at++) {
		digits++;
		*ret_nonzero |= cursor.at[0] != '0';
	}
	if (digits == 0)
		return false;
	if (cursor_skip(&cursor, 'e') || cursor_skip(&cursor, 'E')) {
		if (!cursor_skip(&cursor, '-'))
			cursor_skip(&cursor, '+');
		start = cursor.at;
		digits_add(&cursor, &ignored);
		if (cursor.at == start)
			return false;
	}
	return cursor.at == cursor.end;
}

int wtl_num_double(const char *text, size_t len, double *ret)
{
	struct cursor cursor = cursor_trimmed(text, len);
	size_t used = (size_t)(cursor.end - cursor.at);
	char copy[WTL_NUM_DOUBLE_MAX + 1];
	bool nonzero;
	locale_t plain;
	double value;

	if (used > WTL_NUM_DOUBLE_MAX || !is_decimal(cursor, &nonzero))
		return -EINVAL;
	memcpy(copy, cursor.at, used);
	copy[used] = '\0';

	/* glibc hands out its built-in table here: nothing is allocated. */
	plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!plain)
		return -ENOMEM;
	value = strtod_l(copy, NULL, plain);
	freelocale(plain);
	if (isinf(value) || (nonzero && fpclassify(value) == FP_ZERO))
		return -ERANGE;
	*ret = value;
	return 0;
}

enum { CPU_MAX = 1 << 20 };

static int cpu_number(struct cursor *cursor, uint64_t *ret)
{
	const char *start = cursor->at;
	bool fits;

	*ret = 0;
	fits = digits_add(cursor, ret);
	if (cursor->at == start)
		return -EINVAL;
	return fits && *ret <= CPU_MAX ? 0 : -ERANGE;
}

int wtl_num_cpu_list(const char *text, size_t len, int cpus[], size_t max)
{
	struct cursor cursor = cursor_trimmed(text, len);
	uint64_t first, last;
	size_t n = 0;
	int rc;

	if (cursor.at == cursor.end)
		return 0;
	do {
		rc = cpu_number(&cursor, &first);
		if (rc < 0)
			return rc;
		last = first;
		if (cursor_skip(&cursor, '-')) {
			rc = cpu_number(&cursor, &last);
			if (rc < 0)
				return rc;
		}
		if (last < first)
			return -EINVAL;
		if (last - first >= max - n)
			return -ERANGE;
		for (; first <= last; first++)
			cpus[n++] = (int)first;
	} while (cursor_skip(&cursor, ','));
	return cursor.at == cursor.end ? (int)n : -EINVAL;
}
