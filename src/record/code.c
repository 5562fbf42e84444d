/* SPDX-License-Identifier: MIT */
#include "record/code.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"

/* All arithmetic is modulo 2^64. */

enum how { HOW_VALUES, HOW_DIFFERENCES, HOW_SECOND, HOWS };

enum { LAYOUT_PLANES = 4, HEAD_MAX = 2 + 3 * WTL_VARINT_MAX };

/* How many values are coded best is seen in so many pieces of them. */
enum { PIECES = 16, PIECE = 64, FLAT_MIN = 32 };

static uint64_t zigzag(uint64_t x)
{
	return x << 1 ^ (x >> 63 ? UINT64_MAX : 0);
}

static uint64_t unzigzag(uint64_t z)
{
	return z >> 1 ^ (z & 1 ? UINT64_MAX : 0);
}

/* ---- Varints ---- */

static unsigned varint_len(uint64_t value)
{
	return (70u - (unsigned)__builtin_clzll(value | 1)) / 7;
}

static uint8_t *varint_write(uint8_t *to, uint64_t value)
{
	while (value >= 0x80) {
		*to++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*to++ = (uint8_t)value;
	return to;
}

int wtl_varint_put(struct wtl_buf *buf, uint64_t value)
{
	uint8_t *end;

	if (wtl_buf_reserve(buf, WTL_VARINT_MAX) < 0)
		return buf->error;
	end = varint_write((uint8_t *)buf->data + buf->len, value);
	*end = '\0';
	buf->len = (size_t)((char *)end - buf->data);
	return 0;
}

int wtl_varint_put_signed(struct wtl_buf *buf, int64_t value)
{
	return wtl_varint_put(buf, zigzag((uint64_t)value));
}

static inline __attribute__((always_inline)) int varint_read(const uint8_t **at, const uint8_t *end,
							     uint64_t *ret_value)
{
	const uint8_t *from = *at;
	uint64_t value = 0;

	for (unsigned shift = 0; from < end; shift += 7) {
		uint8_t byte = *from++;

		if (shift == 63 && byte > 1)
			return -EBADMSG;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*at = from;
			*ret_value = value;
			return 0;
		}
	}
	return -EBADMSG;
}

int wtl_varint_get(const uint8_t **at, const uint8_t *end, uint64_t *ret_value)
{
	return varint_read(at, end, ret_value);
}

int wtl_varint_get_signed(const uint8_t **at, const uint8_t *end, int64_t *ret_value)
{
	uint64_t value;

	if (varint_read(at, end, &value) < 0)
		return -EBADMSG;
	*ret_value = (int64_t)unzigzag(value);
	return 0;
}

/* ---- Encoding ---- */

/* What is coded of value i; i > 0 unless the values themselves are. */
static inline uint64_t coded(enum how how, const int64_t values[], size_t i)
{
	uint64_t here = (uint64_t)values[i], difference;

	if (how == HOW_VALUES)
		return here;
	difference = here - (uint64_t)values[i - 1];
	if (how == HOW_DIFFERENCES || i == 1)
		return difference;
	return difference - ((uint64_t)values[i - 1] - (uint64_t)values[i - 2]);
}

static size_t first_coded(enum how how)
{
	return how == HOW_VALUES ? 0 : 1;
}

static uint64_t size_of(uint64_t x)
{
	return x >> 63 ? 0 - x : x;
}

static uint64_t greatest_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/*
 * A divisor with what makes dividing by it a multiplication: what is divided is a multiple of it, or it is asked whether it
 * is one (Hacker's Delight, 10-16 and 10-17). Of 2^shift times an odd number: that one's inverse modulo 2^64, and the
 * greatest quotient that it leaves.
 */
struct divisor {
	uint64_t step, inverse, most;
	unsigned shift;
};

static struct divisor divisor_of(uint64_t step)
{
	unsigned shift = (unsigned)__builtin_ctzll(step);
	uint64_t odd = step >> shift, inverse = odd;

	/* Each turn doubles the bits that are right, of three to begin with. */
	for (unsigned i = 0; i < 5; i++)
		inverse *= 2 - odd * inverse;
	return (struct divisor){step, inverse, UINT64_MAX / odd, shift};
}

static inline bool divides(const struct divisor *by, uint64_t size)
{
	return (size & ((UINT64_C(1) << by->shift) - 1)) == 0 && size * by->inverse <= by->most;
}

/* The greatest divisor of all differences, as signed numbers. */
static uint64_t step_of(const int64_t values[], size_t n)
{
	struct divisor by = {.step = 0};

	for (size_t i = 1; i < n && by.step != 1; i++) {
		uint64_t size = size_of(coded(HOW_DIFFERENCES, values, i));

		if (size == 0 || (by.step && divides(&by, size)))
			continue;
		by = divisor_of(by.step ? greatest_divisor(by.step, size) : size);
	}
	return by.step ? by.step : 1;
}

/*
 * Times the step, this is x again, modulo 2^64: the quotient, where the step divides x as signed
 * numbers. Else something wrapped around; but even then the powers of two in the step divide x, and
 * the rest of the step is odd and has an inverse.
 */
static inline uint64_t divided(uint64_t x, const struct divisor *by)
{
	return (uint64_t)((int64_t)x >> by->shift) * by->inverse;
}

static inline uint64_t token(enum how how, const struct divisor *by, const int64_t values[],
			     size_t i)
{
	return zigzag(divided(coded(how, values, i), by));
}

/* A result above `most` need not be exact. */
static inline __attribute__((always_inline)) size_t tokens_len(enum how how, uint64_t step,
							       const int64_t values[], size_t n,
							       size_t most)
{
	const struct divisor by = divisor_of(step);
	size_t len = 0, run = 0;

	for (size_t i = first_coded(how); i < n && len <= most; i++) {
		uint64_t x = token(how, &by, values, i);

		if (x == 0) {
			run++;
			continue;
		}
		if (run)
			len += 1 + varint_len(run - 1);
		run = 0;
		len += varint_len(x);
	}
	return run ? len + 1 + varint_len(run - 1) : len;
}

static uint8_t *run_write(uint8_t *to, size_t run)
{
	*to++ = 0;
	return varint_write(to, run - 1);
}

static inline __attribute__((always_inline)) uint8_t *tokens_write(uint8_t *to, enum how how,
								   uint64_t step,
								   const int64_t values[], size_t n)
{
	const struct divisor by = divisor_of(step);
	size_t run = 0;

	for (size_t i = first_coded(how); i < n; i++) {
		uint64_t x = token(how, &by, values, i);

		if (x == 0) {
			run++;
			continue;
		}
		if (run)
			to = run_write(to, run);
		run = 0;
		to = varint_write(to, x);
	}
	return run ? run_write(to, run) : to;
}

static size_t len_of(enum how how, uint64_t step, const int64_t values[], size_t n, size_t most)
{
	if (how == HOW_VALUES)
		return tokens_len(HOW_VALUES, step, values, n, most);
	if (how == HOW_DIFFERENCES)
		return tokens_len(HOW_DIFFERENCES, step, values, n, most);
	return tokens_len(HOW_SECOND, step, values, n, most);
}

/* With differences, the first value comes before the tokens. */
static size_t first_len(enum how how, const int64_t values[])
{
	return how == HOW_VALUES ? 0 : varint_len(zigzag((uint64_t)values[0]));
}

static struct wtl_code_plan plan_of(enum how how, uint64_t step, const int64_t values[], size_t n,
				    size_t most)
{
	struct wtl_code_plan plan = {.how = how, .step = step, .len = first_len(how, values)};

	if (n <= PIECES * PIECE) {
		plan.len += len_of(how, step, values, n, most);
		return plan;
	}
	for (size_t i = 0; i < PIECES && plan.len <= most; i++)
		plan.len += len_of(how, step, values + (n - PIECE) / (PIECES - 1) * i, PIECE, most);
	return plan;
}

/*
 * The shortest way; of equal ones that with the lowest number. The way that is mostly the longest
 * is tried last. A divisor of the differences also divides the differences of these; and of the
 * values, if it divides the first of them.
 */
static struct wtl_code_plan shortest_plan(const int64_t values[], size_t n)
{
	uint64_t step = step_of(values, n);
	struct wtl_code_plan best = plan_of(HOW_DIFFERENCES, step, values, n, SIZE_MAX), plan;

	plan = plan_of(HOW_SECOND, step, values, n, best.len);
	if (plan.len < best.len)
		best = plan;
	step = greatest_divisor(step, size_of((uint64_t)values[0]));
	plan = plan_of(HOW_VALUES, step, values, n, best.len);
	return plan.len <= best.len ? plan : best;
}

/* Of no values: HOW_VALUES. */
static struct wtl_code_plan find_plan(const int64_t values[], size_t n)
{
	struct wtl_code_plan plan = {.how = HOW_VALUES, .step = 1};

	/* All are as the one behind them. */
	if (n >= FLAT_MIN && memcmp(values, values + 1, (n - 1) * sizeof(values[0])) == 0) {
		plan.is_flat = true;
		plan.how = values[0] ? HOW_DIFFERENCES : HOW_VALUES;
		plan.len = 1 + varint_len(n - first_coded(plan.how) - 1);
		plan.len += first_len(plan.how, values);
	} else if (n > 0) {
		plan = shortest_plan(values, n);
		if (n > PIECES * PIECE)
			plan.len = plan.len * n / (PIECES * PIECE);
	}
	return plan;
}

int wtl_code_plan(const int64_t values[], size_t n, struct wtl_code_plan *ret_plan)
{
	if (n > WTL_CODE_VALUES_MAX)
		return -E2BIG;
	*ret_plan = find_plan(values, n);
	return 0;
}

static uint8_t *head_write(uint8_t *to, const struct wtl_code_plan *plan, unsigned layout,
			   const int64_t values[], size_t n)
{
	*to++ = (uint8_t)(plan->how | layout);
	to = varint_write(to, n);
	if (n > 0)
		to = varint_write(to, plan->step);
	if (plan->how != HOW_VALUES)
		to = varint_write(to, zigzag((uint64_t)values[0]));
	return to;
}

static void end_at(struct wtl_buf *buf, const uint8_t *end)
{
	buf->len = (size_t)((const char *)end - buf->data);
	buf->data[buf->len] = '\0';
}

int wtl_code_put_by(struct wtl_buf *buf, const struct wtl_code_plan *plan, const int64_t values[],
		    size_t n)
{
	uint8_t *to;

	size_t len = plan->len;

	if (!plan->is_flat && n > PIECES * PIECE)
		len = len_of(plan->how, plan->step, values, n, SIZE_MAX);
	if (wtl_buf_reserve(buf, len + HEAD_MAX) < 0)
		return buf->error;
	to = (uint8_t *)buf->data + buf->len;
	to = head_write(to, plan, 0, values, n);
	if (plan->is_flat)
		to = run_write(to, n - first_coded(plan->how));
	else if (plan->how == HOW_VALUES)
		to = tokens_write(to, HOW_VALUES, plan->step, values, n);
	else if (plan->how == HOW_DIFFERENCES)
		to = tokens_write(to, HOW_DIFFERENCES, plan->step, values, n);
	else
		to = tokens_write(to, HOW_SECOND, plan->step, values, n);
	end_at(buf, to);
	return 0;
}

int wtl_code_put(struct wtl_buf *buf, const int64_t values[], size_t n)
{
	struct wtl_code_plan plan;
	int rc = wtl_code_plan(values, n, &plan);

	return rc < 0 ? rc : wtl_code_put_by(buf, &plan, values, n);
}

static inline __attribute__((always_inline)) uint64_t all_tokens(enum how how,
								 const struct divisor *by,
								 const int64_t values[], size_t n)
{
	uint64_t all = 0;

	for (size_t i = first_coded(how); i < n; i++)
		all |= token(how, by, values, i);
	return all;
}

static inline __attribute__((always_inline)) void planes_write(uint8_t *to, enum how how,
							       const struct divisor *by,
							       unsigned width,
							       const int64_t values[], size_t n)
{
	size_t first = first_coded(how), n_coded = n - first;

	for (size_t i = 0; i < n_coded; i++) {
		uint64_t x = token(how, by, values, first + i);

		for (unsigned k = 0; k < width; k++)
			to[k * n_coded + i] = (uint8_t)(x >> 8 * k);
	}
}

/* Most blocks have one plane or two, and the compiler knows what to do about them. */
static inline __attribute__((always_inline)) int put_planes(struct wtl_buf *buf, enum how how,
							    const struct wtl_code_plan *plan,
							    const int64_t values[], size_t n)
{
	const struct divisor by = divisor_of(plan->step);
	uint64_t all = plan->is_flat ? 0 : all_tokens(how, &by, values, n);
	size_t n_coded = n - first_coded(how);
	unsigned width = 0;
	uint8_t *to;

	while (width < 8 && all >> 8 * width)
		width++;
	if (wtl_buf_reserve(buf, n_coded * width + HEAD_MAX) < 0)
		return buf->error;
	to = (uint8_t *)buf->data + buf->len;
	to = head_write(to, plan, LAYOUT_PLANES, values, n);
	if (n > 0)
		*to++ = (uint8_t)width;
	if (width == 1)
		planes_write(to, how, &by, 1, values, n);
	else if (width == 2)
		planes_write(to, how, &by, 2, values, n);
	else if (width)
		planes_write(to, how, &by, width, values, n);
	end_at(buf, to + n_coded * width);
	return 0;
}

int wtl_code_put_planes_by(struct wtl_buf *buf, const struct wtl_code_plan *plan,
			   const int64_t values[], size_t n)
{
	if (plan->how == HOW_VALUES)
		return put_planes(buf, HOW_VALUES, plan, values, n);
	if (plan->how == HOW_DIFFERENCES)
		return put_planes(buf, HOW_DIFFERENCES, plan, values, n);
	return put_planes(buf, HOW_SECOND, plan, values, n);
}

int wtl_code_put_planes(struct wtl_buf *buf, const int64_t values[], size_t n)
{
	struct wtl_code_plan plan;
	int rc = wtl_code_plan(values, n, &plan);

	return rc < 0 ? rc : wtl_code_put_planes_by(buf, &plan, values, n);
}

/* ---- Decoding ---- */

struct head {
	enum how how;
	bool has_planes;
	size_t n;
	uint64_t step, first;
	const uint8_t *at, *end; /* the tokens */
};

static int head_read(const uint8_t *bytes, size_t len, struct head *head)
{
	uint64_t n, first = 0, step = 1;

	head->at = bytes;
	head->end = bytes + len;
	if (len == 0 || (bytes[0] & ~LAYOUT_PLANES) >= HOWS)
		return -EBADMSG;
	head->how = (enum how)(bytes[0] & ~LAYOUT_PLANES);
	head->has_planes = bytes[0] & LAYOUT_PLANES;
	head->at++;
	if (varint_read(&head->at, head->end, &n) < 0 || n > WTL_CODE_VALUES_MAX)
		return -EBADMSG;
	if (n > 0 && (varint_read(&head->at, head->end, &step) < 0 || step == 0))
		return -EBADMSG;
	if (n > 0 && head->how != HOW_VALUES && varint_read(&head->at, head->end, &first) < 0)
		return -EBADMSG;
	head->n = (size_t)n;
	head->step = step;
	head->first = unzigzag(first);
	return 0;
}

int64_t wtl_code_count(const uint8_t *bytes, size_t len)
{
	struct head head;

	return head_read(bytes, len, &head) < 0 ? -EBADMSG : (int64_t)head.n;
}

/* Where reading stands. */
struct place {
	const uint8_t *at;
	size_t i;
	uint64_t value, difference;
};

static inline __attribute__((always_inline)) void take(enum how how, struct place *place,
						       uint64_t coded_here, int64_t values[])
{
	if (how == HOW_VALUES) {
		place->value = coded_here;
	} else if (how == HOW_DIFFERENCES) {
		place->value += coded_here;
	} else {
		place->difference += coded_here;
		place->value += place->difference;
	}
	values[place->i++] = (int64_t)place->value;
}

/* So many values of which nothing is coded. */
static inline __attribute__((always_inline)) int take_run(enum how how, struct place *place,
							  const uint8_t *end, int64_t values[],
							  size_t n)
{
	uint64_t more, difference = how == HOW_SECOND ? place->difference : 0;
	size_t stop;

	if (varint_read(&place->at, end, &more) < 0 || more >= n - place->i)
		return -EBADMSG;
	if (how == HOW_VALUES)
		place->value = 0;
	for (stop = place->i + (size_t)more + 1; place->i < stop; place->i++) {
		place->value += difference;
		values[place->i] = (int64_t)place->value;
	}
	return 0;
}

#define BYTES(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Eight tokens of one byte each, none of them a run's. The bytes of a word without any highest bit have a
 * zero if taking one from each borrows. */
static inline bool are_eight(uint64_t word)
{
	return !((word | (word - BYTES(1))) & BYTES(0x80));
}

static inline __attribute__((always_inline)) int tokens_read(enum how how, const struct head *head,
							     int64_t values[])
{
	struct place place = {.at = head->at, .i = first_coded(how), .value = head->first};
	const uint8_t *const end = head->end;
	const uint64_t step = head->step;
	const size_t n = head->n;

	while (place.i < n) {
		uint64_t word = BYTES(0xff), token;

		if (end - place.at >= 8) {
			memcpy(&word, place.at, 8);
			word = le64toh(word);
		}
		if (are_eight(word) && n - place.i >= 8) {
			for (unsigned k = 0; k < 64; k += 8)
				take(how, &place, unzigzag(word >> k & 0x7f) * step, values);
			place.at += 8;
			continue;
		}
		if ((word & 0x8080) != 0x8080) {
			/* One byte or two, as it comes: no branch could be foretold. */
			uint64_t is_two = word >> 7 & 1;

			token = (word & 0x7f) | (word >> 1 & 0x3f80 & (0 - is_two));
			place.at += 1 + is_two;
		} else if (varint_read(&place.at, end, &token) < 0) {
			return -EBADMSG;
		}
		if (token != 0)
			take(how, &place, unzigzag(token) * step, values);
		else if (take_run(how, &place, end, values, n) < 0)
			return -EBADMSG;
	}
	return place.at == end ? 0 : -EBADMSG;
}

static inline __attribute__((always_inline)) void planes_read(enum how how, const struct head *head,
							      const uint8_t *planes, unsigned width,
							      int64_t values[])
{
	struct place place = {.i = first_coded(how), .value = head->first};
	const uint64_t step = head->step;
	const size_t n = head->n - place.i;

	for (size_t i = 0; i < n; i++) {
		uint64_t x = 0;

		for (unsigned k = 0; k < width; k++)
			x |= (uint64_t)planes[k * n + i] << 8 * k;
		take(how, &place, unzigzag(x) * step, values);
	}
}

/* Most blocks have one plane or two, and the compiler knows what to do about them. */
static inline __attribute__((always_inline)) int all_planes_read(enum how how,
								 const struct head *head,
								 int64_t values[])
{
	const uint8_t *at = head->at;
	size_t n_coded = head->n - first_coded(how);
	unsigned width;

	if (at == head->end || *at > 8)
		return -EBADMSG;
	width = *at++;
	if ((size_t)(head->end - at) != n_coded * width)
		return -EBADMSG;
	if (width == 1)
		planes_read(how, head, at, 1, values);
	else if (width == 2)
		planes_read(how, head, at, 2, values);
	else
		planes_read(how, head, at, width, values);
	return 0;
}

static inline __attribute__((always_inline)) int coded_read(enum how how, const struct head *head,
							    int64_t values[])
{
	return head->has_planes ? all_planes_read(how, head, values)
				: tokens_read(how, head, values);
}

int wtl_code_get(const uint8_t *bytes, size_t len, int64_t values[], size_t n)
{
	struct head head;

	if (head_read(bytes, len, &head) < 0 || head.n != n)
		return -EBADMSG;
	if (n == 0)
		return head.at == head.end ? 0 : -EBADMSG;
	if (head.how == HOW_VALUES)
		return coded_read(HOW_VALUES, &head, values);
	values[0] = (int64_t)head.first;
	if (head.how == HOW_DIFFERENCES)
		return coded_read(HOW_DIFFERENCES, &head, values);
	return coded_read(HOW_SECOND, &head, values);
}
