/* SPDX-License-Identifier: MIT */
#ifndef WTL_RECORD_CODE_H
#define WTL_RECORD_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wtl_buf;

/*
 * A run of integers as bytes (a block), small where they change little or evenly. Every run comes back
 * as it was: differences wrap around.
 *
 * A block is, with numbers as varints (7 bits a byte, the lowest first, the highest bit: there is more):
 *
 *	how          one byte: 0 the values themselves, 1 their differences, 2 the differences of those
 *	n            how many values; nothing follows after 0
 *	step         what is coded is divided by this, at least 1
 *	first        the first value, unless `how` is 0 (not divided)
 *	tokens       for each value (but the first, unless `how` is 0): 0 and a number r: r + 1 times
 *	             nothing; else what is coded, divided by `step`, as 2x for x > 0 and -2x - 1 for x < 0
 *
 * With 2, the first difference is coded as it is. The first value is coded as 2x or -2x - 1 as well.
 *
 * `how` + 4: in place of the tokens, one byte w of 0 to 8, and w times a byte for each value that tokens
 * would be for: the lowest byte of each, then the next of each… That is larger, but smaller once it is
 * compressed where values are noisy, and read much faster.
 */
enum {
	WTL_CODE_VALUES_MAX = 1 << 24, /* in a block */
	WTL_CODE_BYTES_MAX = WTL_CODE_VALUES_MAX * 10 + 32,
	WTL_VARINT_MAX = 10, /* bytes */
};

/* Appends a block. 0, or the buffer's error; -E2BIG for too many values. */
int wtl_code_put(struct wtl_buf *buf, const int64_t values[], size_t n);
int wtl_code_put_planes(struct wtl_buf *buf, const int64_t values[], size_t n);

/* How values are best coded, for whoever wants the same ones in both forms: it is found once. */
struct wtl_code_plan {
	unsigned how;
	bool is_flat; /* nothing is coded of any value, or of any but the first */
	uint64_t step;
	size_t len; /* of the tokens, and of the first value; of more than a few thousand about */
};

int wtl_code_plan(const int64_t values[], size_t n, struct wtl_code_plan *ret_plan);
/* The plan is of the same values. */
int wtl_code_put_by(struct wtl_buf *buf, const struct wtl_code_plan *plan, const int64_t values[],
		    size_t n);
int wtl_code_put_planes_by(struct wtl_buf *buf, const struct wtl_code_plan *plan,
			   const int64_t values[], size_t n);

/* How many values a block says that it has (at most WTL_CODE_VALUES_MAX), or -EBADMSG. */
int64_t wtl_code_count(const uint8_t *bytes, size_t len);

/* The values of a block that fills all of bytes. 0; -EBADMSG where it is no block or has not n values:
 * values are undefined then. */
int wtl_code_get(const uint8_t *bytes, size_t len, int64_t values[], size_t n);

int wtl_varint_put(struct wtl_buf *buf, uint64_t value);
/* x as 2x for x >= 0, and -2x - 1 for x < 0. */
int wtl_varint_put_signed(struct wtl_buf *buf, int64_t value);

/* A varint at *at, which moves behind it. 0, or -EBADMSG past the end or for more than 64 bits. */
int wtl_varint_get(const uint8_t **at, const uint8_t *end, uint64_t *ret_value);
int wtl_varint_get_signed(const uint8_t **at, const uint8_t *end, int64_t *ret_value);

#endif
