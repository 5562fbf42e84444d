/* SPDX-License-Identifier: MIT */
/* The newest stretch of a book: whose CPU time it keeps until it is divided anew. */
#include "meter/chunk.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "energy/units.h"
#include "meter/known_watts.h"
#include "unit.h"

static uint64_t weight_of(const struct wtl_chunk *chunk, uint32_t slot)
{
	uint64_t weight = 0;

	for (size_t i = 0; i < chunk->n_uses; i++)
		if (chunk->uses[i].slot == slot)
			weight += chunk->uses[i].weight;
	return weight;
}

static void scan_of(struct wtl_chunk *chunk, struct wtl_learned *learned,
		    const struct wtl_use uses[], size_t n)
{
	const struct wtl_workload_scan scan = {
		.duration_ns = WTL_NS_PER_S, .uses = uses, .n_uses = n};

	assert_int_equal(wtl_chunk_add(chunk, learned, &scan), 0);
}

/* What ended is its row's from then on; the slot's next owner begins with nothing. */
static void test_folds(void **state)
{
	static const struct wtl_use uses[] = {
		{.slot = 7, .weight = 1}, {.slot = 3, .weight = 100}, {.slot = 5, .weight = 20}};
	struct wtl_learned *learned = wtl_learned_new(1, false);
	struct wtl_chunk chunk;

	(void)state;
	assert_non_null(learned);
	assert_int_equal(wtl_chunk_init(&chunk, 1, 16), 0);
	scan_of(&chunk, learned, uses, 3);
	scan_of(&chunk, learned, uses, 2);
	assert_int_equal(weight_of(&chunk, 3), 200);
	wtl_chunk_fold(&chunk, &(struct wtl_fold){.from = 3, .into = 5});
	assert_int_equal(weight_of(&chunk, 3), 0);
	assert_int_equal(weight_of(&chunk, 5), 220);
	assert_int_equal(weight_of(&chunk, 7), 2);
	/* Into one that has used nothing yet; of one that has used nothing, or was never seen. */
	wtl_chunk_fold(&chunk, &(struct wtl_fold){.from = 5, .into = 9});
	wtl_chunk_fold(&chunk, &(struct wtl_fold){.from = 3, .into = 7});
	wtl_chunk_fold(&chunk, &(struct wtl_fold){.from = 11, .into = 7});
	assert_int_equal(weight_of(&chunk, 5), 0);
	assert_int_equal(weight_of(&chunk, 9), 220);
	assert_int_equal(weight_of(&chunk, 7), 2);
	scan_of(&chunk, learned, &uses[1], 1);
	assert_int_equal(weight_of(&chunk, 3), 100);
	assert_int_equal(weight_of(&chunk, 9), 220);
	wtl_chunk_settle(&chunk);
	assert_int_equal(weight_of(&chunk, 9), 0);
	scan_of(&chunk, learned, uses, 1);
	wtl_chunk_fold(&chunk, &(struct wtl_fold){.from = 7, .into = 9});
	assert_int_equal(weight_of(&chunk, 9), 1);
	wtl_chunk_done(&chunk);
	wtl_learned_free(learned);
}

static size_t allocated(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* All that learned watts take beside 1,000 processes that work: two packages and two memories, the newest minute, and as many
 * programs as are known before. (Sanitizers' allocators tell nothing.) */
static void test_memory(void **state)
{
	enum { PROCESSES = 1000, SLOTS = PROCESSES + WTL_SLOTS_FIXED };
	static const char *const names[] = {"package-0", "package-1", "dram-0", "dram-1"};
	struct wtl_use *uses = calloc(PROCESSES, sizeof(*uses));
	struct wtl_attribution *accounts = wtl_attribution_new(4, SLOTS);
	size_t before = allocated(), taken;
	struct wtl_learned *learned = wtl_learned_new(4, false);
	struct wtl_chunk chunk;

	(void)state;
	assert_true(uses && accounts && learned);
	for (uint32_t i = 0; i < PROCESSES; i++)
		uses[i] = (struct wtl_use){.slot = WTL_SLOTS_FIXED + i, .weight = WTL_NS_PER_S};
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(
			wtl_learned_add_domain(learned, i, names[i],
					       i < 2 ? WTL_LEARNED_PACKAGES : WTL_LEARNED_MEMORIES),
			0);
	for (uint32_t i = 0; i < WTL_KNOWN_WATTS_MAX; i++) {
		struct wtl_known_watts known = {.of = "packages", .watts.idle_uw = 1};

		snprintf(known.name, sizeof(known.name), "p%u", i);
		assert_int_equal(wtl_learned_know(learned, &known), 0);
	}
	assert_int_equal(wtl_learned_widen(learned, SLOTS), 0);
	/* As where there was no memory for the newest slots: sanitizers notice. */
	wtl_learned_fold(learned, &(struct wtl_fold){.from = SLOTS, .into = SLOTS - 1});
	wtl_learned_fold(learned, &(struct wtl_fold){.from = SLOTS - 1, .into = SLOTS});
	assert_int_equal(wtl_chunk_init(&chunk, 4, SLOTS), 0);
	scan_of(&chunk, learned, uses, PROCESSES);
	for (size_t i = 0; i < 4; i++)
		wtl_chunk_bill(&chunk, learned, accounts, i, 100000000, WTL_NS_PER_S);
	taken = allocated() - before;
	print_message("%zu bytes\n", taken);
	assert_true(taken <= 200000);
	wtl_chunk_done(&chunk);
	wtl_learned_free(learned);
	wtl_attribution_free(accounts);
	free(uses);
}

/* Of a scan without a capacity nothing is known: not how long the processors were awake either. */
static void test_awake(void **state)
{
	const struct wtl_use use = {.slot = WTL_SLOTS_FIXED, .weight = WTL_NS_PER_S / 4};
	struct wtl_workload_scan scan = {.duration_ns = WTL_NS_PER_S,
					 .capacity_ns = 4 * WTL_NS_PER_S,
					 .busy_ns = WTL_NS_PER_S / 4,
					 .uses = &use,
					 .n_uses = 1};
	struct wtl_learned *learned = wtl_learned_new(1, false);
	struct wtl_workload *workload;

	(void)state;
	assert_non_null(learned);
	assert_int_equal(wtl_workload_new_restored(&workload, NULL), 0);
	wtl_workload_restore_scan(workload, &scan);
	wtl_learned_scan(learned, workload);
	assert_true(fabs(wtl_learned_awake_s(learned) - 0.25) < 1e-9);
	scan.capacity_ns = 0;
	wtl_workload_restore_scan(workload, &scan);
	wtl_learned_scan(learned, workload);
	assert_true(wtl_learned_awake_s(learned) == 0.0);
	wtl_learned_free(learned);
	wtl_workload_free(workload);
}

/* From a place that parts of a sum do not have, to one that they have: sanitizers notice what is read beyond. */
static void test_move(void **state)
{
	static const uint32_t places[] = {40, 5};
	const struct wtl_use use = {.slot = WTL_SLOTS_FIXED, .weight = WTL_NS_PER_S / 4};
	const struct wtl_workload_scan scan = {.duration_ns = WTL_NS_PER_S,
					       .capacity_ns = 4 * WTL_NS_PER_S,
					       .uses = &use,
					       .n_uses = 1};
	struct wtl_learned *learned = wtl_learned_new(2, true);
	struct wtl_workload *workload;

	(void)state;
	assert_non_null(learned);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(wtl_learned_add_domain(learned, i, "p", WTL_LEARNED_PACKAGES), 0);
	assert_int_equal(wtl_learned_widen(learned, use.slot + 1), 0);
	assert_int_equal(wtl_workload_new_restored(&workload, NULL), 0);
	for (size_t i = 0; i < 2; i++) {
		wtl_workload_restore_consumer(workload, use.slot)->watts_key =
			WTL_WATTS_PLACES_MAX + places[i];
		wtl_workload_restore_scan(workload, &scan);
		wtl_learned_scan(learned, workload);
	}
	wtl_learned_free(learned);
	wtl_workload_free(workload);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_folds),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_awake),
		cmocka_unit_test(test_move),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
