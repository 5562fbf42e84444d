/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "record/code.h"
#include "record/crc.h"

enum { MANY = 60000, FEW = 1024 };

/* ---- The shortest way ---- */

static uint64_t greatest_divisor(uint64_t a, uint64_t b)
{
	return b ? greatest_divisor(b, a % b) : a;
}

static uint64_t size_of(uint64_t x)
{
	return x >> 63 ? 0 - x : x;
}

/* Of the tokens and of the first value. */
static size_t len_by(const struct wtl_code_plan *plan, const int64_t values[], size_t n)
{
	struct wtl_buf buf, head;
	size_t len;

	wtl_buf_init(&buf, WTL_CODE_BYTES_MAX);
	wtl_buf_init(&head, WTL_CODE_BYTES_MAX);
	assert_int_equal(wtl_code_put_by(&buf, plan, values, n), 0);
	wtl_varint_put(&head, n);
	wtl_varint_put(&head, plan->step);
	len = buf.len - 1 - head.len;
	wtl_buf_done(&buf);
	wtl_buf_done(&head);
	return len;
}

/* Of these many, all are looked at: it is the shortest of the three ways, the first of equal ones, each by the greatest
 * step, and as long as it says. */
static void check_plan(const int64_t values[], size_t n)
{
	struct wtl_code_plan plan, way;
	uint64_t step = 0;

	if (n == 0 || n > FEW)
		return;
	assert_int_equal(wtl_code_plan(values, n, &plan), 0);
	assert_int_equal(len_by(&plan, values, n), plan.len);
	for (size_t i = 1; i < n; i++)
		step = greatest_divisor(step,
					size_of((uint64_t)values[i] - (uint64_t)values[i - 1]));
	step = step ? step : 1;
	for (unsigned how = 0; how < 3; how++) {
		way = (struct wtl_code_plan){.how = how, .step = step, .len = 11 * n};
		if (how == 0)
			way.step = greatest_divisor(step, size_of((uint64_t)values[0]));
		assert_true(len_by(&way, values, n) >= plan.len + (how < plan.how));
	}
}

/* As bytes and back; returns how many bytes. Exactly as large as it says, for the sanitizer. */
static size_t round_trip_by(int (*put)(struct wtl_buf *, const int64_t[], size_t),
			    const int64_t values[], size_t n)
{
	int64_t *back = malloc((n + 1) * sizeof(*back));
	struct wtl_buf buf;
	uint8_t *exact;
	size_t len;

	wtl_buf_init(&buf, WTL_CODE_BYTES_MAX);
	wtl_buf_puts(&buf, "before");
	assert_int_equal(put(&buf, values, n), 0);
	assert_memory_equal(buf.data, "before", 6);
	assert_int_equal(buf.data[buf.len], '\0');
	len = buf.len - 6;
	exact = malloc(len);
	assert_non_null(exact);
	memcpy(exact, buf.data + 6, len);
	assert_int_equal(wtl_code_count(exact, len), n);
	back[n] = 0x55;
	assert_int_equal(wtl_code_get(exact, len, back, n), 0);
	if (n > 0)
		assert_memory_equal(back, values, n * sizeof(*back));
	assert_int_equal(back[n], 0x55);
	/* Nothing shorter is a block, and nothing longer. */
	for (size_t cut = 1; cut <= len && cut < 40; cut++)
		assert_int_equal(wtl_code_get(exact, len - cut, back, n), -EBADMSG);
	wtl_buf_putc(&buf, 0);
	assert_int_equal(wtl_code_get((uint8_t *)buf.data + 6, len + 1, back, n), -EBADMSG);
	assert_int_equal(wtl_code_get(exact, len, back, n + 1), -EBADMSG);
	if (n > 0)
		assert_int_equal(wtl_code_get(exact, len, back, n - 1), -EBADMSG);
	wtl_buf_done(&buf);
	free(exact);
	free(back);
	return len;
}

/* Both ways; how many bytes as tokens. */
static size_t round_trip(const int64_t values[], size_t n)
{
	check_plan(values, n);
	round_trip_by(wtl_code_put_planes, values, n);
	return round_trip_by(wtl_code_put, values, n);
}

static void test_empty_and_single(void **state)
{
	static const int64_t ones[] = {0, 1, -1, 63, 64, -64, -65, INT64_MAX, INT64_MIN};

	(void)state;
	assert_int_equal(wtl_code_count((const uint8_t *)"", 0), -EBADMSG);
	assert_int_equal(round_trip(NULL, 0), 2);
	for (size_t i = 0; i < UNIT_COUNT(ones); i++)
		assert_in_range(round_trip(&ones[i], 1), 3, 15);
}

static void test_extremes(void **state)
{
	static const int64_t edges[] = {INT64_MIN,     INT64_MAX,    0, -1, 1,
					INT64_MIN + 1, INT64_MAX - 1};
	int64_t values[UNIT_COUNT(edges) * UNIT_COUNT(edges) * UNIT_COUNT(edges)];
	size_t n = 0;

	(void)state;
	/* Every edge after every two others: all differences wrap around somewhere. */
	for (size_t i = 0; i < UNIT_COUNT(edges); i++)
		for (size_t k = 0; k < UNIT_COUNT(edges); k++)
			for (size_t m = 0; m < UNIT_COUNT(edges); m++) {
				const int64_t three[] = {edges[i], edges[k], edges[m]};

				round_trip(three, 3);
				values[n++] = edges[i] + (edges[k] == 1) * (edges[i] < 0);
			}
	round_trip(values, n);
	for (size_t i = 0; i < n; i++)
		values[i] = i % 2 ? INT64_MIN : 0;
	round_trip(values, n);
}

/* What repeats costs next to nothing, in each of the three ways to tell it. */
static void test_repetition(void **state)
{
	int64_t *values = calloc(MANY, sizeof(*values));

	(void)state;
	assert_non_null(values);
	assert_in_range(round_trip(values, MANY), 1, 12);
	for (size_t i = 0; i < MANY; i++)
		values[i] = -123456789012;
	assert_in_range(round_trip(values, MANY), 1, 16);
	for (size_t i = 0; i < MANY; i++)
		values[i] = 1763712000000000000 + (int64_t)i * 1000000;
	assert_in_range(round_trip(values, MANY), 1, 28);
	/* Seldom something: what is told of it, and of the time between. */
	for (size_t i = 0; i < MANY; i++)
		values[i] = i % 1000 == 999 ? 7 : 0;
	assert_in_range(round_trip(values, MANY), 60, 60 * 4 + 12);
	/* A power that is held for 104 ms: 577 of 60000 differ. */
	for (size_t i = 0; i < MANY; i++)
		values[i] = 60000 + (int64_t)(i / 104 * 7919 % 5000);
	assert_in_range(round_trip(values, MANY), 577, 577 * 4 + 16);
	for (int64_t value = 0; value < 2; value++)
		for (size_t n = 0; n < 300; n++) {
			values[n] = value;
			round_trip(values, n);
		}
	/* In the middle, and at the end. */
	memset(values, 0, 300 * sizeof(*values));
	values[0] = 3;
	for (size_t n = 1; n < 300; n++) {
		values[n] = 1;
		round_trip(values, n);
		round_trip(values, n + 1);
		values[n] = 0;
	}
	free(values);
}

/* Whole microseconds in nanoseconds cost what microseconds do. */
static void test_common_step(void **state)
{
	int64_t *values = calloc(MANY, sizeof(*values));
	size_t fine, coarse;

	(void)state;
	assert_non_null(values);
	for (size_t i = 0; i < MANY; i++)
		values[i] = (int64_t)(i * 1000 + i * 31 % 41);
	fine = round_trip(values, MANY);
	for (size_t i = 0; i < MANY; i++)
		values[i] = values[i] * 1000 + 1;
	coarse = round_trip(values, MANY);
	assert_in_range(coarse, fine - 4, fine + 4);
	assert_in_range(fine, MANY / 2, MANY * 3 / 2);
	/* One that is no multiple. */
	values[MANY / 2] += 1;
	assert_true(round_trip(values, MANY) > coarse + MANY / 2);
	free(values);
}

static uint64_t next_random(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

static void test_random(void **state)
{
	uint64_t random = 88172645463325252;
	int64_t values[FEW];

	(void)state;
	for (int round = 0; round < 2000; round++) {
		size_t n = round < 20 ? FEW : next_random(&random) % 300;
		unsigned shift = next_random(&random) % 64, stay = next_random(&random) % 8;
		uint64_t factor = round % 2 ? next_random(&random) : 1;
		int64_t value = 0;

		for (size_t i = 0; i < n; i++) {
			uint64_t x = next_random(&random);

			if (x % 8 >= stay)
				value = (int64_t)((uint64_t)value + (x >> shift) -
						  (x >> shift) / 2);
			/* With a step, whatever wraps around. */
			values[i] = (int64_t)((uint64_t)value * factor);
		}
		round_trip(values, n);
	}
}

/* Of many, 16 pieces that are spread over all of them say which way is the shortest, and about how long it is. */
static void test_pieces(void **state)
{
	enum { PIECE = 64, PIECES = 16 };
	int64_t *values = calloc(MANY, sizeof(*values));
	struct wtl_code_plan plan;
	struct wtl_buf buf;
	size_t len;

	(void)state;
	assert_non_null(values);
	for (size_t i = 0; i < PIECES; i++) {
		size_t first = (MANY - PIECE) / (PIECES - 1) * i;

		/* Here alone, differences are shorter. */
		for (size_t k = 1; k < PIECE - 1; k++)
			values[first + k] = (INT64_C(1) << 40) + (int64_t)(k * k % 50);
		assert_int_equal(wtl_code_plan(values, MANY, &plan), 0);
		assert_int_equal(plan.how, 1);
		memset(values + first, 0, PIECE * sizeof(*values));
	}
	/* What no piece shows needs its room as well. */
	for (size_t k = PIECE; k < 1000; k++)
		values[k] = INT64_MAX - (int64_t)k;
	round_trip(values, MANY);
	wtl_buf_init(&buf, 1000);
	assert_int_equal(wtl_code_put(&buf, values, MANY), -EFBIG);
	wtl_buf_done(&buf);
	for (size_t i = 0; i < MANY; i++)
		values[i] = (int64_t)(i * i % 7919);
	for (size_t n = FEW + 1; n < MANY; n *= 3) {
		len = round_trip(values, n);
		assert_int_equal(wtl_code_plan(values, n, &plan), 0);
		assert_in_range(plan.len, len - len / 20, len + len / 20);
	}
	free(values);
}

static void expect_bad(const void *bytes, size_t len)
{
	int64_t values[16];

	for (size_t n = 0; n < UNIT_COUNT(values); n++)
		assert_int_equal(wtl_code_get(bytes, len, values, n), -EBADMSG);
}

static void test_bad_blocks(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} bad[] = {
		{"", 0},
		{"\0", 1},
		{"\3\1\1\2", 4},
		{"\x08\1\1\2", 4},
		{"\7\1\1\1\2", 5},					/* no such way */
		{"\0\1\0\2", 4},					/* a step of 0 */
		{"\0\2\1\2", 4},					/* a value is missing */
		{"\0\2\1\0", 4},					/* a run's length is */
		{"\0\2\1\0\2", 5},					/* a run is too long */
		{"\0\2\1\0\2\2\2", 7},					/* and values follow */
		{"\0\2\1\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 14}, /* by far */
		{"\0\1\1\x80\x80\x80\x80\x80\x80\x80\x80\x80\2", 13},	/* more than 64 bits */
		{"\0\1\1\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\1", 14},
		{"\1\1\1", 3},			      /* no first value */
		{"\1\1\1\2\2", 5},		      /* more than there are */
		{"\4\1\1", 3},			      /* planes: how many is not told */
		{"\4\1\1\x09\1\1\1\1\1\1\1\1\1", 13}, /* too many */
		{"\4\2\1\1\1", 5},		      /* not as long as they should be */
		{"\4\2\1\1\1\1\1", 7},
		{"\0\0\0", 3},		       /* something after nothing */
		{"\0\x81\x80\x80\x08\1\0", 7}, /* more values than a block can have */
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(bad); i++)
		expect_bad(bad[i].bytes, bad[i].len);
	assert_int_equal(wtl_code_count((const uint8_t *)"\0\x81\x80\x80\x08\1\0", 7), -EBADMSG);
	assert_int_equal(wtl_code_count((const uint8_t *)"\0\x80\x80\x80\x08\1\0", 7),
			 WTL_CODE_VALUES_MAX);
}

/* However many tokens there are, only so many values are read. */
static void test_more_tokens_than_values(void **state)
{
	(void)state;
	for (uint8_t n = 1; n < 16; n++)
		for (size_t tokens = n + 1u; tokens < 32; tokens++) {
			uint8_t bytes[64] = {0, n, 1};

			memset(bytes + 3, 2, tokens);
			expect_bad(bytes, 3 + tokens);
		}
}

/* Differences that 3 divides, and whose difference wraps around, which 3 does not divide. */
static void test_step_that_wraps(void **state)
{
	static const int64_t values[] = {-9187201952574734337, 72620543991283840,
					 -9187201407122308992};

	(void)state;
	round_trip(values, UNIT_COUNT(values));
}

static void test_too_many(void **state)
{
	int64_t value = 0;
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 8);
	assert_int_equal(wtl_code_put(&buf, &value, WTL_CODE_VALUES_MAX + 1), -E2BIG);
	assert_int_equal(wtl_code_put(&buf, &value, 1), -EFBIG);
	wtl_buf_done(&buf);
}

static void assert_bytes(int (*put)(struct wtl_buf *buf, const int64_t values[], size_t n),
			 const int64_t values[], size_t n, const char *bytes, size_t len)
{
	struct wtl_buf buf;

	wtl_buf_init(&buf, 64);
	assert_int_equal(put(&buf, values, n), 0);
	assert_int_equal(buf.len, len);
	assert_memory_equal(buf.data, bytes, len);
	wtl_buf_done(&buf);
}

/* The format as docs/recording.md tells it. */
static void test_exact_bytes(void **state)
{
	int64_t flat[40];
	static const int64_t steps[] = {1000, 1010, 1020, 1030, 1020}, mixed[] = {5, 0, 0, -1},
			     wide[] = {1, 258, 0}, even_end[] = {5, 7, 7}, below[] = {-30, 30, -10};

	(void)state;
	/* Differences 10 10 10 -10, of 10: 1 1 1 -1. */
	assert_bytes(wtl_code_put, steps, 5, "\1\5\x0a\xd0\x0f\2\2\2\1", 9);
	assert_bytes(wtl_code_put_planes, steps, 5, "\5\5\x0a\xd0\x0f\1\2\2\2\1", 10);
	assert_bytes(wtl_code_put_planes, wide, 3, "\4\3\1\2\2\4\0\0\2\0", 10);
	assert_bytes(wtl_code_put, mixed, 4, "\0\4\1\x0a\0\1\1", 7);
	/* 20 divides differences, and 10 the first value as well. */
	assert_bytes(wtl_code_put, below, 3, "\0\3\x0a\5\6\1", 6);
	/* Differences would take one more: how long the run at the end is. */
	assert_bytes(wtl_code_put, even_end, 3, "\0\3\1\x0a\x0e\x0e", 6);
	for (size_t i = 0; i < UNIT_COUNT(flat); i++)
		flat[i] = 5;
	assert_bytes(wtl_code_put, flat, UNIT_COUNT(flat), "\1\x28\1\x0a\0\x26", 6);
	assert_bytes(wtl_code_put_planes, flat, UNIT_COUNT(flat), "\5\x28\1\x0a\0", 5);
}

static void test_varints(void **state)
{
	static const uint8_t long_ones[][WTL_VARINT_MAX] = {
		{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02},
		{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x81},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(long_ones); i++) {
		const uint8_t *at = long_ones[i];
		uint64_t back;

		assert_int_equal(wtl_varint_get(&at, at + WTL_VARINT_MAX, &back),
				 i == 0 ? 0 : -EBADMSG);
	}
	for (unsigned bit = 0; bit < 64; bit++)
		for (int less = 0; less < 2; less++) {
			uint64_t value = (UINT64_C(1) << bit) - (unsigned)less, back = 1;
			int64_t signed_back;
			const uint8_t *at;
			struct wtl_buf buf;

			wtl_buf_init(&buf, 1);
			assert_int_equal(wtl_varint_put(&buf, value), -EFBIG);
			assert_int_equal(wtl_varint_put_signed(&buf, 0), -EFBIG);
			wtl_buf_init(&buf, 2 * WTL_VARINT_MAX);
			assert_int_equal(wtl_varint_put_signed(&buf, (int64_t)value), 0);
			at = (const uint8_t *)buf.data;
			assert_int_equal(wtl_varint_get_signed(&at, at + buf.len - 1, &signed_back),
					 -EBADMSG);
			assert_int_equal(wtl_varint_get_signed(&at, at + buf.len, &signed_back), 0);
			assert_true(signed_back == (int64_t)value);
			wtl_buf_puts(&buf, "----------");
			wtl_buf_clear(&buf);
			buf.max = WTL_VARINT_MAX;
			assert_int_equal(wtl_varint_put(&buf, value), 0);
			assert_int_equal(buf.data[buf.len], '\0');
			at = (const uint8_t *)buf.data;
			assert_int_equal(wtl_varint_get(&at, at + buf.len - 1, &back), -EBADMSG);
			assert_int_equal(wtl_varint_get(&at, at + buf.len, &back), 0);
			assert_true(back == value);
			assert_ptr_equal(at, buf.data + buf.len);
			wtl_buf_done(&buf);
		}
}

static void test_crc(void **state)
{
	static const char text[] = "123456789 and more of it, 123456789";

	(void)state;
	/* The check value that every description of this CRC gives. */
	assert_int_equal(wtl_crc_add(0, "123456789", 9), 0xcbf43926);
	assert_int_equal(wtl_crc_add(0, "", 0), 0);
	/* Each byte at each place, bit by bit. */
	for (unsigned byte = 0; byte < 256; byte++)
		for (size_t at = 0; at < 17; at++) {
			uint8_t bytes[17] = {0};
			uint32_t sum = UINT32_MAX;

			bytes[at] = (uint8_t)byte;
			for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
				sum ^= bytes[bit / 8] >> bit % 8 & 1u;
				sum = sum >> 1 ^ (0xedb88320 & -(sum & 1));
			}
			assert_int_equal(wtl_crc_add(0, bytes, sizeof(bytes)), (uint32_t)~sum);
		}
	for (size_t cut = 0; cut < sizeof(text); cut++) {
		uint32_t sum = wtl_crc_add(0, text, cut);

		sum = wtl_crc_add(sum, text + cut, sizeof(text) - cut);
		assert_int_equal(sum, wtl_crc_add(0, text, sizeof(text)));
	}
}

/* A buffer that may not hold all of a block has an error, however much it may hold. */
static void test_no_room(void **state)
{
	static int (*const puts[])(struct wtl_buf *, const int64_t[],
				   size_t) = {wtl_code_put, wtl_code_put_planes};
	const int64_t values[] = {5, -700, 90000, 90000, 90000, INT64_MAX, 3, 1, 4, 1, 5};
	struct wtl_buf buf;
	size_t len;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(puts); i++) {
		wtl_buf_init(&buf, 1000);
		assert_int_equal(puts[i](&buf, values, UNIT_COUNT(values)), 0);
		len = buf.len;
		wtl_buf_done(&buf);
		for (size_t most = 0; most < len; most++) {
			wtl_buf_init(&buf, most);
			assert_true(puts[i](&buf, values, UNIT_COUNT(values)) < 0);
			wtl_buf_done(&buf);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_and_single),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_repetition),
		cmocka_unit_test(test_common_step),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_bad_blocks),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_more_tokens_than_values),
		cmocka_unit_test(test_step_that_wraps),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_exact_bytes),
		cmocka_unit_test(test_varints),
		cmocka_unit_test(test_crc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
