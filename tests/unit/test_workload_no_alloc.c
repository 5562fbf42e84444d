/* SPDX-License-Identifier: MIT */
/* A look that finds nobody new allocates nothing, whoever runs. Linked with tests/alloc/failmalloc.c,
 * which counts. */
#include <errno.h>
#include <stdio.h>

#include "allocations.h"
#include "energy/units.h"
#include "meter/learned.h"
#include "unit.h"
#include "world.h"

enum { MS = 1000000, LOOKS = 200, PROCESSES = 300, LEARNED_DOMAINS = 4 };

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

static void learn(struct wtl_learned *learned, struct world *world)
{
	const struct wtl_workload_scan *scan = wtl_workload_scan(world->workload);
	const struct wtl_baseline nothing = {.is_known = false};
	struct wtl_learned_uses uses;

	assert_return_code(wtl_learned_widen(learned, wtl_workload_capacity(world->workload)), 0);
	wtl_learned_scan(learned, world->workload);
	for (size_t i = 0; i < LEARNED_DOMAINS; i++) {
		uint64_t energy_uj = 50000000 + (uint64_t)scan->busy_ns / 50;

		wtl_learned_add(learned, i, energy_uj, scan->duration_ns, 0.01, &nothing);
		wtl_learned_weigh_scan(learned, i, scan, energy_uj, &uses);
		assert_int_equal(uses.n, scan->n_uses);
	}
}

/* What is learned of everybody's watts, two packages and two DRAMs: a look allocates nothing. */
static void test_learned_looks(void **state)
{
	static struct world world; /* large */
	static const char *const names[LEARNED_DOMAINS] = {"package-0", "package-1", "dram-0",
							   "dram-1"};
	struct wtl_learned *learned;
	unsigned long before = 0;
	int pids[PROCESSES];

	(void)state;
	need_counter();
	world_init(&world);
	for (int i = 0; i < PROCESSES; i++)
		pids[i] = world_fork(&world, 1);
	world_open(&world, NULL);
	learned = wtl_learned_new(LEARNED_DOMAINS, false);
	assert_non_null(learned);
	for (size_t i = 0; i < LEARNED_DOMAINS; i++)
		assert_return_code(
			wtl_learned_add_domain(learned, i, names[i],
					       i < 2 ? WTL_LEARNED_PACKAGES : WTL_LEARNED_MEMORIES),
			0);
	for (int i = 0; i < LOOKS; i++) {
		if (i == 40)
			before = wattle_test_allocations();
		for (int k = 0; k < PROCESSES; k++)
			world_run(&world, pids[k], (i * 31 + k * 17) % 40 * MS / 10);
		world_look(&world, WTL_NS_PER_S);
		learn(learned, &world);
	}
	assert_int_equal(wattle_test_allocations(), before);
	wtl_learned_free(learned);
	world_done(&world);
}

/* Without memory it does not open: not with the counters that were asked for missing. */
static void test_no_memory(void **state)
{
	const struct wtl_workload_options options = {.weight = WTL_WEIGHT_INSTRUCTIONS};
	static struct world world; /* large */
	unsigned long failures = 0;
	bool has_failed = true;

	(void)state;
	need_counter();
	for (unsigned long n = 1; has_failed; n++) {
		const struct wtl_env env = {.io = &world.io};
		int pid, rc;

		assert_in_range(n, 1, LOOKS);
		world_init(&world);
		world.has_pmu = true;
		pid = world_fork(&world, 1);
		world_at(&world, pid)->per_us = 1000;
		failures = wattle_test_failures();
		wattle_test_fail_alloc(n, false);
		rc = wtl_workload_new(&env, &options, &world.workload, NULL);
		wattle_test_fail_alloc(0, false);
		has_failed = wattle_test_failures() > failures;
		assert_true(rc == 0 || (rc == -ENOMEM && has_failed));
		for (int i = 0; i < 3 && rc == 0; i++) {
			world_run(&world, pid, 10 * MS);
			world_look(&world, WTL_NS_PER_S);
		}
		if (rc == 0)
			assert_int_equal(wtl_workload_weight(world.workload),
					 WTL_WEIGHT_INSTRUCTIONS);
		world_done(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_looks),
		cmocka_unit_test(test_counted_looks),
		cmocka_unit_test(test_learned_looks),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
