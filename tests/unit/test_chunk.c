/* SPDX-License-Identifier: MIT */
/* The newest stretch of a book: whose CPU time it keeps until it is divided anew. */
#include "meter/chunk.h"

#include "energy/units.h"
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
	wtl_chunk_done(&chunk);
	wtl_learned_free(learned);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_folds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
