/* SPDX-License-Identifier: MIT */
#ifndef WTL_TESTS_ACCOUNT_BENCH_H
#define WTL_TESTS_ACCOUNT_BENCH_H

/* What the tests of accounts share: an account that is fed by hand. */

#include "unit.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "energy/account.h"

#define S  WTL_NS_PER_S
#define MS WTL_NS_PER_MS
#define W  UINT64_C(1000000) /* in µW */
#define J  UINT64_C(1000000) /* in µJ */

/* An account with its channel, and the last sample as the meter takes it. */
struct bench {
	struct wtl_channel channel;
	struct wtl_account account;
	struct wtl_integral integral;
	int64_t fresh_ns, now_ns; /* the sample began and ended */
};

static inline struct wtl_channel counter_channel(void)
{
	struct wtl_channel channel = {.domain = "package-0",
				      .quantity = WTL_QUANTITY_ENERGY,
				      .method = WATTLE_METHOD_COUNTER,
				      .unit = WTL_UNIT_MICRO,
				      .range = UINT64_C(262143328851),
				      .max_uw = 1000 * W,
				      .update_ns = MS,
				      .gain_ppm = 30000};

	return channel;
}

static inline struct wtl_channel power_channel(void)
{
	struct wtl_channel channel = {.domain = "gpu-0",
				      .quantity = WTL_QUANTITY_POWER,
				      .method = WATTLE_METHOD_INTEGRATED,
				      .unit = WTL_UNIT_MILLI,
				      .update_ns = 100 * MS,
				      .gain_ppm = 50000};

	return channel;
}

static inline void init(struct bench *b, struct wtl_channel channel)
{
	memset(b, 0xa5, sizeof(*b));
	b->channel = channel;
	wtl_account_init(&b->account, &b->channel, &b->integral);
}

/* One sample of a single source: it begins 10 µs before the reading and ends 10 µs after it. */
static inline bool feed(struct bench *b, int64_t t_ns, uint64_t value, enum wattle_status status)
{
	const struct wtl_reading reading = {.t_mono_ns = t_ns,
					    .half_ns = 5000,
					    .value = value,
					    .status = status,
					    .error = status == WATTLE_STATUS_OK ? 0 : -EIO};

	b->fresh_ns = t_ns - 10000;
	b->now_ns = t_ns + 10000;
	return wtl_account_feed(&b->account, &reading);
}

static inline bool good(struct bench *b, int64_t t_ns, uint64_t value)
{
	return feed(b, t_ns, value, WATTLE_STATUS_OK);
}

static inline void bad(struct bench *b, int64_t t_ns)
{
	assert_false(feed(b, t_ns, 12345, WATTLE_STATUS_FAILED));
	assert_int_equal(b->account.status, WATTLE_STATUS_FAILED);
	assert_int_equal(b->account.error, -EIO);
}

static inline struct wtl_mark mark(const struct bench *b)
{
	struct wtl_mark m;

	memset(&m, 0xa5, sizeof(m));
	wtl_account_mark(&b->account, b->now_ns, b->fresh_ns, &m);
	return m;
}

static inline struct wtl_figure since(const struct bench *b, const struct wtl_mark *m)
{
	struct wtl_figure figure;

	memset(&figure, 0xa5, sizeof(figure));
	wtl_account_since(&b->account, m, b->now_ns, &figure);
	return figure;
}

#define expect_figure(figure, energy, measured, gap)                \
	do {                                                        \
		assert_true((figure).has_energy);                   \
		assert_int_equal((figure).energy_uj, (energy));     \
		assert_int_equal((figure).measured_ns, (measured)); \
		assert_int_equal((figure).gap_ns, (gap));           \
	} while (0)

#define assert_near(actual, expected, tolerance) \
	assert_true(fabs((double)(actual) - (double)(expected)) <= (double)(tolerance))

static inline uint64_t next(uint64_t *seed)
{
	uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

#endif
