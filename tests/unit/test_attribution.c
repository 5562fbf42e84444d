/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "energy/attribution.h"

enum { DOMAINS = 3, SLOTS = 40, SECOND_NS = 1000000000 };

/* Sebastiano Vigna's splitmix64. */
static uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint64_t random_below(uint64_t *state, uint64_t n)
{
	return random_next(state) % n;
}

static struct wtl_share sum_of(const struct wtl_attribution *attribution, size_t domain)
{
	struct wtl_share sum = {0};
	uint32_t n = wtl_attribution_slots(attribution);

	for (uint32_t slot = 0; slot < n; slot++) {
		struct wtl_share share = wtl_attribution_share(attribution, slot, domain);

		assert_true(share.share_ns >= 0);
		sum.full_uj += share.full_uj;
		sum.share_ns += share.share_ns;
		sum.doubt_uj += share.doubt_uj;
	}
	return sum;
}

static void assert_share(const struct wtl_share *share, uint64_t full_uj, int64_t share_ns)
{
	assert_int_equal(share->full_uj, full_uj);
	assert_int_equal(share->share_ns, share_ns);
}

static void assert_account(const struct wtl_attribution *attribution, uint32_t slot, size_t domain,
			   uint64_t full_uj, int64_t share_ns)
{
	struct wtl_share share = wtl_attribution_share(attribution, slot, domain);

	assert_share(&share, full_uj, share_ns);
}

static void assert_total(const struct wtl_attribution *attribution, size_t domain, uint64_t full_uj,
			 int64_t share_ns)
{
	struct wtl_share total = wtl_attribution_total(attribution, domain);
	struct wtl_share sum = sum_of(attribution, domain);

	assert_share(&total, full_uj, share_ns);
	assert_share(&sum, full_uj, share_ns);
	assert_int_equal(total.doubt_uj, sum.doubt_uj);
}

static void test_by_use(void **state)
{
	const struct wtl_use uses[] = {{3, 1}, {4, 0}, {5, 3}, {WTL_SLOT_INTERRUPTS, 4}};
	struct wtl_attribution *attribution = wtl_attribution_new(2, 8);

	(void)state;
	assert_non_null(attribution);
	wtl_attribution_add(attribution, 1, 8000, SECOND_NS, uses, UNIT_COUNT(uses));
	assert_account(attribution, 3, 1, 1000, SECOND_NS / 8);
	assert_account(attribution, 4, 1, 0, 0);
	assert_account(attribution, 5, 1, 3000, SECOND_NS / 8 * 3);
	assert_account(attribution, WTL_SLOT_INTERRUPTS, 1, 4000, SECOND_NS / 2);
	assert_total(attribution, 1, 8000, SECOND_NS);
	assert_total(attribution, 0, 0, 0);
	assert_int_equal(wtl_attribution_slots(attribution), 6);
	wtl_attribution_free(attribution);
}

/* No use, or nobody there: the energy has an owner all the same. */
static void test_no_use(void **state)
{
	const struct wtl_use uses[] = {{3, 0}, {4, 0}};
	struct wtl_attribution *attribution = wtl_attribution_new(1, 8);

	(void)state;
	wtl_attribution_add(attribution, 0, 7, 11, NULL, 0);
	wtl_attribution_add(attribution, 0, 70, 110, uses, UNIT_COUNT(uses));
	wtl_attribution_add(attribution, 0, 700, -5, uses, UNIT_COUNT(uses)); /* no such time */
	assert_account(attribution, WTL_SLOT_NOBODY, 0, 777, 121);
	assert_total(attribution, 0, 777, 121);
	wtl_attribution_free(attribution);
}

static void test_beyond_capacity(void **state)
{
	const struct wtl_use uses[] = {{3, 1}, {4, 1}, {UINT32_MAX, 2}};
	struct wtl_attribution *attribution = wtl_attribution_new(1, 4);

	(void)state;
	wtl_attribution_add(attribution, 0, 400, 40, uses, UNIT_COUNT(uses));
	assert_account(attribution, 3, 0, 100, 10);
	assert_account(attribution, WTL_SLOT_UNSEEN, 0, 300, 30);
	assert_account(attribution, 4, 0, 0, 0);
	assert_total(attribution, 0, 400, 40);
	wtl_attribution_free(attribution);
	attribution = wtl_attribution_new(1, 0); /* the fixed slots are always there */
	wtl_attribution_add(attribution, 0, 5, 1, NULL, 0);
	assert_account(attribution, WTL_SLOT_NOBODY, 0, 5, 1);
	wtl_attribution_free(attribution);
	attribution = wtl_attribution_new(0, 10);
	assert_non_null(attribution);
	assert_int_equal(wtl_attribution_grow(attribution, 20), 0);
	wtl_attribution_free(attribution);
	wtl_attribution_free(NULL);
}

/* Sizes that no memory holds, or whose product is no size. */
static void test_too_large(void **state)
{
	struct wtl_attribution *attribution = wtl_attribution_new(2, 8);

	(void)state;
	assert_null(wtl_attribution_new(SIZE_MAX, 8));
	assert_null(wtl_attribution_new(SIZE_MAX / 24, 8));
	assert_null(wtl_attribution_new(2, SIZE_MAX / 2 + 2));
	assert_null(wtl_attribution_new(1, (size_t)UINT32_MAX + 1));
	wtl_attribution_add(attribution, 1, 5, 6, NULL, 0);
	assert_int_equal(wtl_attribution_grow(attribution, SIZE_MAX / 2 + 2), -ENOMEM);
	assert_int_equal(wtl_attribution_grow(attribution, (size_t)UINT32_MAX + 1), -ENOMEM);
	assert_total(attribution, 1, 5, 6);
	wtl_attribution_free(attribution);
}

/* Sums of weights at and beyond what 64 bits hold, with the largest energies. */
static void test_wide(void **state)
{
	const struct wtl_use half[] = {{3, UINT64_C(1) << 62}, {4, UINT64_C(1) << 62}};
	const struct wtl_use all[] = {
		{3, UINT64_MAX}, {4, UINT64_MAX}, {5, UINT64_MAX}, {6, UINT64_MAX - 1}};
	const struct wtl_use uneven[] = {{3, 1}, {4, UINT64_MAX}};
	struct wtl_attribution *attribution = wtl_attribution_new(4, 8);

	(void)state;
	wtl_attribution_add(attribution, 0, UINT64_MAX, INT64_MAX, half, UNIT_COUNT(half));
	assert_total(attribution, 0, UINT64_MAX, INT64_MAX);
	assert_true(wtl_attribution_share(attribution, 3, 0).full_uj - (UINT64_MAX / 2) <= 1);
	wtl_attribution_add(attribution, 1, UINT64_MAX, INT64_MAX, all, UNIT_COUNT(all));
	assert_total(attribution, 1, UINT64_MAX, INT64_MAX);
	for (uint32_t slot = 3; slot <= 6; slot++)
		assert_true(wtl_attribution_share(attribution, slot, 1).full_uj -
				    (UINT64_MAX / 4 - 2) <=
			    4);
	wtl_attribution_add(attribution, 2, 1000000, SECOND_NS, uneven, UNIT_COUNT(uneven));
	assert_account(attribution, 4, 2, 1000000, SECOND_NS);
	assert_total(attribution, 2, 1000000, SECOND_NS);
	wtl_attribution_settle(attribution, 1, UINT64_MAX / 3);
	assert_total(attribution, 1, UINT64_MAX / 3, INT64_MAX);
	wtl_attribution_free(attribution);
}

/* Each piece is the exact share, less than one unit off. */
static void test_proportion(void **state)
{
	struct wtl_attribution *attribution = wtl_attribution_new(1, SLOTS);
	uint64_t seed = 5;

	(void)state;
	for (unsigned round = 0; round < UNIT_TRIES(2000); round++) {
		struct wtl_use uses[SLOTS - WTL_SLOTS_FIXED];
		uint64_t energy_uj = random_below(&seed, 20000000);
		uint64_t sum = 0;

		for (uint32_t i = 0; i < UNIT_COUNT(uses); i++) {
			uses[i] = (struct wtl_use){WTL_SLOTS_FIXED + i,
						   random_below(&seed, 100000000)};
			sum += uses[i].weight;
		}
		wtl_attribution_reset(attribution);
		wtl_attribution_add(attribution, 0, energy_uj, SECOND_NS, uses, UNIT_COUNT(uses));
		for (uint32_t i = 0; i < UNIT_COUNT(uses); i++) {
			double part = (double)uses[i].weight / (double)sum;
			struct wtl_share share =
				wtl_attribution_share(attribution, uses[i].slot, 0);

			assert_true(fabs((double)share.full_uj - part * (double)energy_uj) <
				    1.0001);
			assert_true(fabs((double)share.share_ns - part * SECOND_NS) < 1.0001);
		}
	}
	wtl_attribution_free(attribution);
}

/* ---- Any history adds up ---- */

struct history {
	struct wtl_attribution *attribution;
	size_t capacity;
	struct wtl_share billed[DOMAINS];
	uint64_t seed;
	unsigned settled_down, settled_up, folded, grown, reset;
};

static void history_add(struct history *history)
{
	struct wtl_use uses[SLOTS];
	size_t n = random_below(&history->seed, SLOTS);
	uint32_t first = (uint32_t)random_below(&history->seed, history->capacity);
	unsigned bits = (unsigned)random_below(&history->seed, 58);
	size_t domain = random_below(&history->seed, DOMAINS);
	uint64_t energy_uj = random_next(&history->seed) >> (14 + random_below(&history->seed, 50));
	int64_t duration_ns = (int64_t)random_below(&history->seed, 10 * (uint64_t)SECOND_NS);

	for (size_t i = 0; i < n; i++) {
		uses[i].slot = (uint32_t)((first + 7 * i) % history->capacity);
		uses[i].weight = random_next(&history->seed) >> (6 + bits);
		if (random_below(&history->seed, 4) == 0)
			uses[i].weight = 0;
	}
	wtl_attribution_add(history->attribution, domain, energy_uj, duration_ns, uses, n);
	history->billed[domain].full_uj += energy_uj;
	history->billed[domain].share_ns += duration_ns;
}

/* Down by little or much, up, or to nothing. */
static void history_settle(struct history *history)
{
	size_t domain = random_below(&history->seed, DOMAINS);
	struct wtl_share *billed = &history->billed[domain];
	uint64_t step_uj = random_next(&history->seed) >> (14 + random_below(&history->seed, 50));
	uint64_t total_uj = billed->full_uj + step_uj;

	if (random_below(&history->seed, 3) > 0)
		total_uj = billed->full_uj > step_uj ? billed->full_uj - step_uj : 0;
	history->settled_down += total_uj < billed->full_uj;
	history->settled_up += total_uj > billed->full_uj;
	wtl_attribution_settle(history->attribution, domain, total_uj);
	billed->full_uj = total_uj;
}

static void history_fold(struct history *history)
{
	uint32_t from = (uint32_t)random_below(&history->seed, history->capacity);
	uint32_t into = (uint32_t)random_below(&history->seed, history->capacity);
	size_t domain = random_below(&history->seed, DOMAINS);
	struct wtl_share source = wtl_attribution_share(history->attribution, from, domain);
	struct wtl_share target = wtl_attribution_share(history->attribution, into, domain);

	wtl_attribution_fold(history->attribution, from, into);
	history->folded++;
	if (from == into) {
		assert_account(history->attribution, from, domain, source.full_uj, source.share_ns);
		return;
	}
	assert_account(history->attribution, into, domain, source.full_uj + target.full_uj,
		       source.share_ns + target.share_ns);
	for (size_t i = 0; i < DOMAINS; i++)
		assert_account(history->attribution, from, i, 0, 0);
}

static void history_step(struct history *history)
{
	switch (random_below(&history->seed, 100)) {
	case 0:
		history->capacity += random_below(&history->seed, 10);
		assert_int_equal(wtl_attribution_grow(history->attribution, history->capacity), 0);
		history->grown++;
		break;
	case 1:
		if (random_below(&history->seed, 3) > 0)
			break;
		wtl_attribution_reset(history->attribution);
		memset(history->billed, 0, sizeof(history->billed));
		history->reset++;
		break;
	case 2 ... 11:
		history_settle(history);
		break;
	case 12 ... 21:
		history_fold(history);
		break;
	default:
		history_add(history);
	}
}

static void test_histories(void **state)
{
	struct history seen = {0};

	(void)state;
	for (uint64_t seed = 1; seed <= UNIT_TRIES(2000); seed++) {
		struct history history = {.seed = seed, .capacity = SLOTS};

		history.attribution = wtl_attribution_new(DOMAINS, SLOTS);
		assert_non_null(history.attribution);
		for (unsigned step = 0; step < 60; step++) {
			history_step(&history);
			for (size_t domain = 0; domain < DOMAINS; domain++)
				assert_total(history.attribution, domain,
					     history.billed[domain].full_uj,
					     history.billed[domain].share_ns);
		}
		seen.settled_down += history.settled_down;
		seen.settled_up += history.settled_up;
		seen.folded += history.folded;
		seen.grown += history.grown;
		seen.reset += history.reset;
		wtl_attribution_free(history.attribution);
	}
	assert_true(seen.settled_down > UNIT_TRIES(1000) && seen.settled_up > UNIT_TRIES(1000) &&
		    seen.folded > UNIT_TRIES(1000) && seen.grown > UNIT_TRIES(100) &&
		    seen.reset > UNIT_TRIES(100));
}

/* ---- Nobody is favoured ---- */

/* How far the accounts of n equal consumers lie apart after many intervals, in energy. */
static uint64_t spread_of_equals(unsigned n, bool is_constant)
{
	struct wtl_attribution *attribution = wtl_attribution_new(1, SLOTS);
	uint64_t least_uj = UINT64_MAX, most_uj = 0, seed = n;
	struct wtl_use uses[SLOTS];

	for (uint32_t i = 0; i < n; i++)
		uses[i] = (struct wtl_use){WTL_SLOTS_FIXED + i, 100000000};
	for (unsigned i = 0; i < 100000; i++)
		wtl_attribution_add(attribution, 0,
				    is_constant ? 7400001 : random_below(&seed, 10000000) | 1,
				    SECOND_NS / 10, uses, n);
	for (uint32_t i = 0; i < n; i++) {
		struct wtl_share share = wtl_attribution_share(attribution, WTL_SLOTS_FIXED + i, 0);

		least_uj = share.full_uj < least_uj ? share.full_uj : least_uj;
		most_uj = share.full_uj > most_uj ? share.full_uj : most_uj;
		/* 100 ms cut in n pieces, 1e5 times: within 20 ns of 10,000 s / n. */
		assert_in_range(share.share_ns * n, INT64_C(10000) * SECOND_NS - 20 * n,
				INT64_C(10000) * SECOND_NS + 20 * n);
	}
	wtl_attribution_free(attribution);
	return most_uj - least_uj;
}

/*
 * Cumulative rounding alone gives the first of two equals half a microjoule less each time: 50 mJ
 * over these 1e5 intervals. What is left is chance: within 4 standard deviations of a fair coin's
 * (4 × sqrt(1e5) / 2 µJ each way) where the energies are random, next to nothing where they are not.
 */
static void test_fair(void **state)
{
	const unsigned numbers[] = {2, 3, 7, 10, 37};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(numbers); i++) {
		assert_in_range(spread_of_equals(numbers[i], true), 0, 40);
		assert_in_range(spread_of_equals(numbers[i], false), 0, 1265);
	}
}

/* One that uses little beside one that uses much gets its fractions too. */
static void test_fair_to_the_small(void **state)
{
	struct wtl_attribution *attribution = wtl_attribution_new(1, SLOTS);
	const struct wtl_use uses[] = {{5, 1}, {6, 9999}, {7, 1}};
	uint64_t seed = 11, energy_uj = 0;

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t step_uj = 1000 + random_below(&seed, 5000);

		wtl_attribution_add(attribution, 0, step_uj, 1000, uses, UNIT_COUNT(uses));
		energy_uj += step_uj;
	}
	for (uint32_t slot = 5; slot <= 7; slot += 2) {
		struct wtl_share share = wtl_attribution_share(attribution, slot, 0);

		assert_true(fabs((double)share.full_uj - (double)energy_uj / 10001) < 500);
	}
	wtl_attribution_free(attribution);
}

/* ---- Corrections ---- */

static void test_settle(void **state)
{
	const struct wtl_use uses[] = {{3, 100}, {4, 0}, {5, 300}, {WTL_SLOT_UNSEEN, 600}};
	struct wtl_attribution *attribution = wtl_attribution_new(2, 8);

	(void)state;
	wtl_attribution_add(attribution, 0, 10000, 1000, uses, UNIT_COUNT(uses));
	wtl_attribution_add(attribution, 1, 77, 1000, uses, UNIT_COUNT(uses));
	wtl_attribution_settle(attribution, 0, 10000);
	assert_account(attribution, WTL_SLOT_UNSEEN, 0, 6000, 600);
	wtl_attribution_settle(attribution, 0, 9000);
	assert_account(attribution, 3, 0, 900, 100);
	assert_account(attribution, 4, 0, 0, 0);
	assert_account(attribution, 5, 0, 2700, 300);
	assert_account(attribution, WTL_SLOT_UNSEEN, 0, 5400, 600);
	assert_total(attribution, 0, 9000, 1000);
	wtl_attribution_settle(attribution, 0, 9500);
	assert_account(attribution, 5, 0, 2700, 300);
	assert_account(attribution, WTL_SLOT_UNSEEN, 0, 5900, 600);
	assert_total(attribution, 0, 9500, 1000);
	wtl_attribution_settle(attribution, 0, 0);
	assert_total(attribution, 0, 0, 1000);
	wtl_attribution_settle(attribution, 0, 5);
	assert_account(attribution, WTL_SLOT_UNSEEN, 0, 5, 600);
	assert_total(attribution, 1, 77, 1000);
	wtl_attribution_free(attribution);
}

/* Many small corrections take from all in proportion, not from the first or last. */
static void test_settle_often(void **state)
{
	struct wtl_attribution *attribution = wtl_attribution_new(1, 16);
	struct wtl_use uses[10];

	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		uses[i] = (struct wtl_use){3 + i, 1};
	wtl_attribution_add(attribution, 0, 10000000, 1000, uses, 10);
	for (uint64_t taken_uj = 1; taken_uj <= 100000; taken_uj++) {
		struct wtl_share before = wtl_attribution_share(attribution, 7, 0);

		wtl_attribution_settle(attribution, 0, 10000000 - taken_uj);
		assert_true(wtl_attribution_share(attribution, 7, 0).full_uj <= before.full_uj);
	}
	assert_total(attribution, 0, 9900000, 1000);
	for (uint32_t slot = 3; slot < 13; slot++)
		assert_in_range(wtl_attribution_share(attribution, slot, 0).full_uj, 989500,
				990500);
	wtl_attribution_free(attribution);
}

static void test_fold(void **state)
{
	const struct wtl_use uses[] = {{3, 1}, {5, 3}};
	struct wtl_attribution *attribution = wtl_attribution_new(2, 10);

	(void)state;
	wtl_attribution_add(attribution, 0, 400, 40, uses, UNIT_COUNT(uses));
	wtl_attribution_add(attribution, 1, 4000, 40, uses, UNIT_COUNT(uses));
	wtl_attribution_fold(attribution, 5, 9); /* never named before */
	assert_account(attribution, 5, 0, 0, 0);
	assert_account(attribution, 5, 1, 0, 0);
	assert_account(attribution, 9, 0, 300, 30);
	assert_account(attribution, 9, 1, 3000, 30);
	wtl_attribution_fold(attribution, 9, 3);
	wtl_attribution_fold(attribution, 3, 3);
	wtl_attribution_fold(attribution, 8, 3);
	assert_account(attribution, 3, 1, 4000, 40);
	assert_total(attribution, 0, 400, 40);
	assert_total(attribution, 1, 4000, 40);
	wtl_attribution_free(attribution);
}

static void test_grow_and_reset(void **state)
{
	const struct wtl_use uses[] = {{3, 1}, {999, 3}};
	struct wtl_attribution *attribution = wtl_attribution_new(2, 4);

	(void)state;
	wtl_attribution_add(attribution, 1, 400, 40, uses, 1);
	assert_int_equal(wtl_attribution_grow(attribution, 2), 0); /* never less */
	assert_account(attribution, 3, 1, 400, 40);
	assert_int_equal(wtl_attribution_grow(attribution, 1000), 0);
	assert_account(attribution, 3, 1, 400, 40);
	assert_account(attribution, 999, 1, 0, 0);
	wtl_attribution_add(attribution, 1, 400, 40, uses, 2);
	assert_account(attribution, 999, 1, 300, 30);
	assert_int_equal(wtl_attribution_slots(attribution), 1000);
	wtl_attribution_reset(attribution);
	assert_int_equal(wtl_attribution_slots(attribution), WTL_SLOTS_FIXED);
	wtl_attribution_add(attribution, 0, 1, 1, uses, 2);
	for (uint32_t slot = 0; slot < 1000; slot++)
		assert_account(attribution, slot, 1, 0, 0);
	assert_total(attribution, 0, 1, 1);
	wtl_attribution_free(attribution);
}

/* What is not known of all shares is told with the total, also when they are divided anew. */
static void test_doubts(void **state)
{
	const struct wtl_use uses[] = {{3, 1}, {5, 3}};
	const uint32_t first_ppm[] = {100000, 200000}, then_ppm[] = {40000, 20000};
	struct wtl_attribution *attribution = wtl_attribution_new(1, 8);
	struct wtl_attribution *recent = wtl_attribution_new(1, 8);

	(void)state;
	wtl_attribution_redivide(attribution, recent, 0, 4000, SECOND_NS, uses, first_ppm, 2);
	assert_total(attribution, 0, 4000, SECOND_NS);
	assert_int_equal(wtl_attribution_total(attribution, 0).doubt_uj, 100 + 600);
	wtl_attribution_redivide(attribution, recent, 0, 4000, SECOND_NS, uses, then_ppm, 2);
	assert_total(attribution, 0, 8000, 2 * SECOND_NS);
	assert_int_equal(wtl_attribution_total(attribution, 0).doubt_uj, 80 + 120);
	wtl_attribution_fold(attribution, 3, 5);
	assert_total(attribution, 0, 8000, 2 * SECOND_NS);
	wtl_attribution_free(attribution);
	wtl_attribution_free(recent);
}

static void test_idle(void **state)
{
	struct wtl_share share = {.full_uj = 5000000, .share_ns = SECOND_NS / 2};

	(void)state;
	assert_int_equal(wtl_share_idle_uj(&share, 0), 0);
	assert_int_equal(wtl_share_idle_uj(&share, 8000000), 4000000);
	assert_int_equal(wtl_share_idle_uj(&share, 10000000), 5000000);
	assert_int_equal(wtl_share_idle_uj(&share, 12000000), 5000000);
	assert_int_equal(wtl_share_idle_uj(&share, UINT64_MAX), 5000000);
	share.share_ns = 0;
	assert_int_equal(wtl_share_idle_uj(&share, 8000000), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_use),
		cmocka_unit_test(test_no_use),
		cmocka_unit_test(test_beyond_capacity),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_wide),
		cmocka_unit_test(test_proportion),
		cmocka_unit_test(test_histories),
		cmocka_unit_test(test_fair),
		cmocka_unit_test(test_fair_to_the_small),
		cmocka_unit_test(test_settle),
		cmocka_unit_test(test_settle_often),
		cmocka_unit_test(test_fold),
		cmocka_unit_test(test_grow_and_reset),
		cmocka_unit_test(test_doubts),
		cmocka_unit_test(test_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
