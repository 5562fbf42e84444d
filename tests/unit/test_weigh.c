/* SPDX-License-Identifier: MIT */
/* How CPU time is weighed by what was counted in it. */
#include "workload/weigh.h"

#include <stdint.h>
#include <stdlib.h>

#include "unit.h"

enum { MS = 1000000 };

static uint64_t sum_of(const struct wtl_work works[], size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += works[i].weight;
	return sum;
}

static uint64_t weight_of(const struct wtl_work works[], size_t n, uint32_t slot)
{
	for (size_t i = 0; i < n; i++)
		if (works[i].slot == slot)
			return works[i].weight;
	fail_msg("nobody is %u", slot);
	return 0;
}

static void test_by_rate(void **state)
{
	/* 1.5 times as much done in the same time; the first one's rate is of more than this look. */
	struct wtl_work works[] = {
		{.slot = 7, .cpu_ns = 100 * MS, .count = 2000, .over_ns = 1000 * MS},
		{.slot = 8, .cpu_ns = 400 * MS, .count = 600, .over_ns = 400 * MS},
		{.slot = 9, .cpu_ns = 400 * MS, .count = 400, .over_ns = 400 * MS},
	};

	(void)state;
	assert_int_equal(wtl_weigh(works, 3, 0), 0);
	assert_int_equal(weight_of(works, 3, 9), 300 * MS);
	assert_int_equal(weight_of(works, 3, 8), 450 * MS);
	assert_int_equal(weight_of(works, 3, 7), 150 * MS);
}

/* Others are like the one in the middle, however much the fastest uses; of two, like the slower one. */
static void test_rest_is_typical(void **state)
{
	struct wtl_work works[] = {
		{.slot = 1, .cpu_ns = 800 * MS, .count = 16000, .over_ns = 800 * MS},
		{.slot = 2, .cpu_ns = 100 * MS, .count = 1000, .over_ns = 100 * MS},
		{.slot = 3, .cpu_ns = 100 * MS, .count = 500, .over_ns = 100 * MS},
	};

	(void)state;
	assert_in_range(wtl_weigh(works, 3, 100 * MS), 1100 * MS / 18.5 - 2, 1100 * MS / 18.5 + 2);
	assert_in_range(weight_of(works, 3, 2), 1100 * MS / 18.5 - 2, 1100 * MS / 18.5 + 2);
	assert_in_range(wtl_weigh(works, 2, 150 * MS), 116666665, 116666669);
	assert_int_equal(works[0].slot, 3);
}

/* What was weighed as usual before it was counted is put right: both looks together are by rate. */
static void test_before(void **state)
{
	struct wtl_work works[] = {
		{.slot = 1,
		 .cpu_ns = 100,
		 .count = 2,
		 .over_ns = 1,
		 .before_ns = 100,
		 .before_weight = 100},
		{.slot = 2,
		 .cpu_ns = 100,
		 .count = 3,
		 .over_ns = 1,
		 .before_ns = 100,
		 .before_weight = 100},
	};
	struct wtl_work long_ago[] = {
		{.slot = 1, .cpu_ns = 100, .count = 1, .over_ns = 1},
		{.slot = 2,
		 .cpu_ns = 10,
		 .count = 3,
		 .over_ns = 1,
		 .before_ns = 1000,
		 .before_weight = 1000},
	};
	struct wtl_work in_debt[] = {
		{.slot = 1,
		 .cpu_ns = 100,
		 .count = 1,
		 .over_ns = 1,
		 .before_ns = 100,
		 .before_weight = 100},
		{.slot = 2, .cpu_ns = 100, .count = 9, .over_ns = 1},
	};

	(void)state;
	wtl_weigh(works, 2, 0);
	assert_int_equal(weight_of(works, 2, 1), 60); /* of 160 */
	assert_int_equal(weight_of(works, 2, 2), 140);
	/* For no longer a stretch than it ran now: 10 ns that were to be 30 and not 12 (130 / 110 of 10). */
	wtl_weigh(long_ago, 2, 0);
	assert_in_range(weight_of(long_ago, 2, 2), 110 * 49 / 149 - 1, 110 * 49 / 149 + 1);
	assert_int_equal(sum_of(long_ago, 2), 110);
	/* Nobody owes more than all it has. */
	wtl_weigh(in_debt, 2, 0);
	assert_int_equal(weight_of(in_debt, 2, 1), 0);
	assert_int_equal(weight_of(in_debt, 2, 2), 200);
}

/* Whoever does nothing now says what is usual, and weighs nothing. */
static void test_examples(void **state)
{
	struct wtl_work works[] = {
		{.slot = 1,
		 .cpu_ns = 0,
		 .count = 10,
		 .over_ns = 10,
		 .before_ns = 7,
		 .before_weight = 7},
		{.slot = 2, .cpu_ns = 100, .count = 30, .over_ns = 10},
	};

	(void)state;
	assert_int_equal(wtl_weigh(works, 2, 100), 50);
	assert_int_equal(weight_of(works, 2, 1), 0);
	assert_int_equal(weight_of(works, 2, 2), 150);
	works[0].cpu_ns = works[1].cpu_ns = 0;
	assert_int_equal(wtl_weigh(works, 2, 0), 0);
}

static void test_nobody_counted(void **state)
{
	struct wtl_work idle = {.cpu_ns = 9, .count = 1, .over_ns = 100};

	(void)state;
	assert_int_equal(wtl_weigh(NULL, 0, 77), 77);
	/* So slow that its time is not even one. */
	assert_int_equal(wtl_weigh(&idle, 1, 5), 5);
	assert_int_equal(idle.weight, 9);
}

static void test_numbers_beyond_measure(void **state)
{
	struct wtl_work works[64];

	(void)state;
	for (size_t i = 0; i < 64; i++)
		works[i] = (struct wtl_work){
			.cpu_ns = INT64_MAX >> 8, .count = UINT64_MAX, .over_ns = 1};
	assert_int_equal(wtl_weigh(works, 64, INT64_MAX >> 8), INT64_MAX >> 8);
	for (size_t i = 0; i < 64; i++)
		assert_int_equal(works[i].weight, INT64_MAX >> 8);
}

/* Whatever is counted, the nanoseconds stay. */
static void test_sum_stays(void **state)
{
	struct wtl_work works[40];

	(void)state;
	srand(7);
	for (unsigned round = 0; round < 3000; round++) {
		size_t n = (size_t)(rand() % 40) + 1;
		uint64_t rest_ns = rand() % 2 ? (uint64_t)rand() : 0, before = rest_ns, rest;

		for (size_t i = 0; i < n; i++) {
			works[i] = (struct wtl_work){
				.slot = (uint32_t)i,
				.cpu_ns = rand() % 4 ? rand() : rand() % 3,
				.count = (uint64_t)rand() * (uint64_t)(rand() % 5),
				.over_ns = rand() % 1000000 + 1,
				.before_ns = rand() % 3 ? 0 : rand(),
			};
			if (works[i].before_ns > 0)
				works[i].before_weight = (uint64_t)rand();
			before += (uint64_t)works[i].cpu_ns;
		}
		rest = wtl_weigh(works, n, rest_ns);
		assert_int_equal(sum_of(works, n) + rest, before);
		for (size_t i = 1; i < n; i++)
			assert_true((unsigned __int128)works[i - 1].count *
					    (uint64_t)works[i].over_ns <=
				    (unsigned __int128)works[i].count *
					    (uint64_t)works[i - 1].over_ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_rate),
		cmocka_unit_test(test_rest_is_typical),
		cmocka_unit_test(test_before),
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_nobody_counted),
		cmocka_unit_test(test_numbers_beyond_measure),
		cmocka_unit_test(test_sum_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
