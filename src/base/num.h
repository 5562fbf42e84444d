/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_NUM_H
#define WTL_BASE_NUM_H

#include <stddef.h>
#include <stdint.h>

/*
 * Exact number reading, the same in every locale. White space around the number is allowed (sysfs
 * ends its values with a newline); anything else besides the number is -EINVAL, a number that does
 * not fit is -ERANGE. *ret is set only on success. `text` need not end with a NUL.
 */
int wtl_num_u64(const char *text, size_t len, uint64_t *ret);
int wtl_num_i64(const char *text, size_t len, int64_t *ret);
int wtl_num_hex(const char *text, size_t len, uint64_t *ret); /* with or without 0x */

/* The digits of value / 10^decimals (<= 18), all decimals of it, at the end of the room; where they begin. */
enum { WTL_NUM_DIGITS = 21 };
char *wtl_num_digits(uint64_t value, unsigned decimals, char room[WTL_NUM_DIGITS]);

/* The value of a hexadecimal digit in either case, else -1. */
int wtl_num_hex_digit(char c);

/*
 * A non-negative decimal such as "56.04" times 10^decimals, exactly: (…, 3) gives 56040. More
 * fraction digits than `decimals` are -EINVAL unless they are zeros; no exponent, no sign.
 */
int wtl_num_fixed(const char *text, size_t len, unsigned decimals, uint64_t *ret);

/*
 * A size in bytes: a decimal of up to 3 fraction digits and a unit, with or without "B" behind it, in
 * either case: k, M, G, T are powers of 1000; Ki, Mi, Gi, Ti of 1024. No unit: bytes, and no fraction. What
 * a fraction leaves of a byte is dropped.
 */
int wtl_num_bytes(const char *text, size_t len, uint64_t *ret);

enum { WTL_NUM_DOUBLE_MAX = 255 };

/*
 * A decimal with optional sign, fraction and exponent as the nearest double. No "inf", "nan" or
 * hexadecimal; longer than WTL_NUM_DOUBLE_MAX characters is -EINVAL; too large, or too small to be
 * told from 0, is -ERANGE.
 */
int wtl_num_double(const char *text, size_t len, double *ret);

/*
 * A kernel CPU list such as "0,32-35\n" into at most `max` numbers, in order. Returns how many,
 * -EINVAL for rubbish, -ERANGE for more than `max` or a number above 1 << 20.
 */
int wtl_num_cpu_list(const char *text, size_t len, int cpus[], size_t max);

#endif
