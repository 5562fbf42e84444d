/* SPDX-License-Identifier: MIT */
/* A look that finds nobody new allocates nothing, whoever runs. Linked with tests/alloc/failmalloc.c,
 * which counts. */
#include <stdio.h>

#include "allocations.h"
#include "energy/units.h"
#include "unit.h"
#include "world.h"

enum { MS = 1000000, LOOKS = 200, PROCESSES = 300 };

/* With counters of those that run, too. */
static void test_counted_looks(void **state)
{
	static struct world world; /* large */
	const struct wtl_workload_options options = {.weight = WTL_WEIGHT_INSTRUCTIONS};
	unsigned long before = 0;
	int pids[20];

	(void)state;
	need_counter();
	world_init(&world);
	world.has_pmu = true;
	for (int i = 0; i < 20; i++) {
		pids[i] = world_fork(&world, 1);
		world_at(&world, pids[i])->per_us = 1000 + 100 * (unsigned)i;
		world_at(&world, pids[i])->n_threads = 2;
	}
	world_open(&world, &options);
	for (int i = 0; i < LOOKS; i++) {
		if (i == 20)
			before = wattle_test_allocations();
		for (int k = 0; k < 20; k++)
			world_run(&world, pids[k], 10 * MS);
		world_look(&world, WTL_NS_PER_S);
	}
	assert_int_equal(wattle_test_allocations(), before);
	assert_int_equal(wtl_workload_weight(world.workload), WTL_WEIGHT_INSTRUCTIONS);
	assert_int_equal(world.counters_now, 40);
	world_done(&world);
}

static void test_looks(void **state)
{
	static struct world world; /* large */
	unsigned long before;
	int pids[PROCESSES];

	(void)state;
	need_counter();
	world_init(&world);
	for (int i = 0; i < PROCESSES; i++)
		pids[i] = world_fork(&world, 1);
	world_open(&world, NULL);
	/* Names, groups and the listing's buffer. */
	for (int i = 0; i < 20; i++)
		world_look(&world, WTL_NS_PER_S);
	before = wattle_test_allocations();
	for (int i = 0; i < LOOKS; i++) {
		world_run(&world, pids[i % PROCESSES], MS);
		world_run(&world, pids[i * 7 % PROCESSES], MS);
		if (i % 50 == 0)
			world_unseen(&world, 100 * MS);
		world_look(&world, WTL_NS_PER_S);
		wtl_workload_read_memory(world.workload, 5);
	}
	assert_int_equal(wattle_test_allocations(), before);
	wtl_workload_reset(world.workload);
	assert_int_equal(wattle_test_allocations(), before);
	world_done(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_looks),
		cmocka_unit_test(test_counted_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
