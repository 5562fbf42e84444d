/* SPDX-License-Identifier: MIT */
/* Uses weighed by what the processors counted of each process. */
#include "workload/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "energy/units.h"
#include "unit.h"
#include "world.h"

enum { MS = 1000000 };

static const struct wtl_workload_options by_instructions = {.weight = WTL_WEIGHT_INSTRUCTIONS};

static int setup(void **state)
{
	static struct world world; /* large */

	world_init(&world);
	world.has_pmu = true;
	world.n_cpus = 16;
	*state = &world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	world_done(world);
	return 0;
}

/* A process that does so many instructions in each µs. */
static int worker(struct world *world, uint64_t per_us)
{
	int pid = world_fork(world, 1);

	world_at(world, pid)->per_us = per_us;
	return pid;
}

static void run_all(struct world *world, const int pids[], size_t n, int64_t cpu_ns)
{
	for (size_t i = 0; i < n; i++)
		world_run(world, pids[i], cpu_ns);
	world_look(world, WTL_NS_PER_S);
}

static void reset(struct world *world)
{
	wtl_workload_reset(world->workload);
	memset(world->accounts, 0, world->n_accounts * sizeof(*world->accounts));
	world->billed_ns = 0;
}

static const struct wtl_workload_way *way(const struct world *world)
{
	return &wtl_workload_means(world->workload)->ways[WTL_WAY_COUNTERS];
}

static int64_t counted_ns(const struct world *world, int pid)
{
	return world_consumer(world, pid)->counted_ns;
}

/* The first look in which they run finds them, the next one weighs them, and what they did before. */
static void test_weighs(void **state)
{
	struct world *world = *state;
	const struct wtl_workload_scan *look;
	int pids[] = {worker(world, 2000), worker(world, 3000)};

	world_open(world, &by_instructions);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_weight(world->workload), WTL_WEIGHT_CPU_TIME);
	run_all(world, pids, 2, 400 * MS);
	assert_int_equal(world_pid_use(world, pids[0]), 400 * MS);
	assert_int_equal(world_pid_use(world, pids[1]), 400 * MS);
	assert_int_equal(world->event, PERF_COUNT_HW_INSTRUCTIONS);
	assert_int_equal(wtl_workload_weight(world->workload), WTL_WEIGHT_CPU_TIME);
	assert_int_equal(counted_ns(world, pids[0]), 0);

	run_all(world, pids, 2, 400 * MS);
	/* 640 and 960 ms of both looks together. */
	assert_int_equal(world_pid_use(world, pids[0]), 240 * MS);
	assert_int_equal(world_pid_use(world, pids[1]), 560 * MS);
	assert_int_equal(wtl_workload_weight(world->workload), WTL_WEIGHT_INSTRUCTIONS);
	run_all(world, pids, 2, 300 * MS);
	assert_int_equal(world_pid_use(world, pids[0]), 240 * MS);
	assert_int_equal(world_pid_use(world, pids[1]), 360 * MS);
	/* CPU time stays what it is. */
	look = wtl_workload_scan(world->workload);
	assert_int_equal(look->busy_ns, 600 * MS);
	assert_int_equal(world_consumer(world, pids[1])->cpu_ns, 1100 * MS);
	assert_int_equal(world_consumer(world, pids[1])->cpu_ppm, 300000);
	assert_int_equal(counted_ns(world, pids[1]), 700 * MS);
	reset(world);
	assert_int_equal(counted_ns(world, pids[1]), 0);
}

/* One that comes to others was weighed like them at first. The next look gives it half of what it lacked, as
 * nobody else's debt is known. */
static void test_comes_later(void **state)
{
	struct world *world = *state;
	int pids[] = {worker(world, 1000), worker(world, 1000), worker(world, 1600)};
	uint64_t sum = 0;

	world_open(world, &by_instructions);
	world_look(world, WTL_NS_PER_S);
	for (int i = 0; i < 3; i++)
		run_all(world, pids, 2, 100 * MS);
	for (int i = 0; i < 2; i++) {
		run_all(world, pids, 3, 100 * MS);
		sum += world_pid_use(world, pids[2]);
	}
	/* By rate alone it would be 267 ms of twice 300, and is 233 if nothing is put right. */
	assert_int_equal(sum, 250 * MS);
	/* The debt is paid once. */
	run_all(world, pids, 3, 100 * MS);
	assert_in_range(world_pid_use(world, pids[2]), 133333332, 133333334);
	/* And not at all when what was weighed then is no longer anybody's. */
	pids[2] = worker(world, 1600);
	run_all(world, pids, 3, 100 * MS);
	reset(world);
	run_all(world, pids, 3, 100 * MS);
	assert_in_range(world_pid_use(world, pids[2]), 133333332, 133333334);
}

/* One that comes to others was weighed less than its time, as they are: nobody owes anybody anything. */
static void test_comes_to_others(void **state)
{
	struct world *world = *state;
	int pids[] = {worker(world, 1000), worker(world, 4000), worker(world, 1000)};

	world_open(world, &by_instructions);
	world_look(world, WTL_NS_PER_S);
	for (int i = 0; i < 3; i++)
		run_all(world, pids, 2, 100 * MS);
	for (int i = 0; i < 3; i++) {
		run_all(world, pids, 3, 100 * MS);
		assert_in_range(world_pid_use(world, pids[2]), 50 * MS - 1, 50 * MS + 1);
	}
	/* When they have ended, the next ones are weighed as the first were. */
	for (int is_reset = 0; is_reset < 2; is_reset++) {
		world_child(world, 1, "cc1", 100 * MS);
		for (int i = 0; i < 3; i++) {
			world_run(world, pids[i], 100 * MS);
			world_end(world, pids[i]);
			pids[i] = worker(world, 1000 * (uint64_t)i + 2000);
		}
		world_look(world, WTL_NS_PER_S);
		run_all(world, pids, 2, 400 * MS);
		if (is_reset)
			reset(world);
		run_all(world, pids, 2, 400 * MS);
		assert_int_equal(world_pid_use(world, pids[0]), (is_reset ? 320 : 240) * MS);
	}
}

/* Who is idle now still says what is usual: one alone would make all others like itself. */
static void test_idle_ones_are_examples(void **state)
{
	struct world *world = *state;
	int pids[] = {worker(world, 1000), worker(world, 4000)}, tiny = worker(world, 1);

	world_open(world, &by_instructions);
	world_look(world, WTL_NS_PER_S);
	for (int i = 0; i < 3; i++)
		run_all(world, pids, 2, 100 * MS);
	world_run(world, tiny, 4 * MS);
	run_all(world, pids + 1, 1, 96 * MS);
	/* 96 · 4 of 96 · 4 + 4 · 1. */
	assert_in_range(world_pid_use(world, pids[1]), 98969070, 98969073);
	assert_int_equal(world_pid_use(world, tiny), 100 * MS - world_pid_use(world, pids[1]));
	/* A look in which nobody did anything. */
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_scan(world->workload)->n_uses, 0);
}

/* Others are taken for typical: short ones, the kernel's, and whoever may not be counted. */
static void test_not_counted(void **state)
{
	struct world *world = *state;
	int pids[] = {worker(world, 1000), worker(world, 4000), worker(world, 9000),
		      worker(world, 9000)};
	unsigned before;

	world_at(world, pids[2])->is_closed = true;
	world_at(world, pids[3])->is_kernel = true;
	world_open(world, &by_instructions);
	world_look(world, WTL_NS_PER_S);
	run_all(world, pids, 4, 100 * MS);
	run_all(world, pids, 4, 100 * MS);
	before = world->calls;
	run_all(world, pids, 4, 100 * MS);
	assert_int_equal(world_counted(world, pids[2]) + world_counted(world, pids[3]), 0);
	/* Who was refused once is not asked for again. */
	assert_true(world->calls - before < 40);
	/* Of two, the slower one is: all but pids[1] weigh the same. */
	assert_int_equal(world_pid_use(world, pids[1]), 400 * MS * 4 / 7);
	for (int i = 0; i < 4; i++)
		if (i != 1)
			assert_in_range(world_pid_use(world, pids[i]), 57142856, 57142858);
	assert_int_equal(counted_ns(world, pids[2]), 0);
	/* Nor is it asked for who has ended, or whom a record alone tells of. */
	before = world->perf_opens;
	pids[0] = worker(world, 1000);
	world_look(world, WTL_NS_PER_S);
	world_run(world, pids[0], 100 * MS);
	world_end(world, pids[0]);
	world_child(world, 1, "cc1", 100 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world->perf_opens, before);
	/* One that hardly ran is not worth it. */
	pids[0] = worker(world, 1000);
	run_all(world, pids, 1, 4 * MS);
	assert_int_equal(world_counted(world, pids[0]), 0);
	run_all(world, pids, 1, 5 * MS);
	assert_int_equal(world_counted(world, pids[0]), 1);
}

/* Who was refused is not asked for again; after another failure, at each look. */
static void test_refused(void **state)
{
	static const struct {
		int error;
		unsigned asked;
	} cases[] = {{EACCES, 1}, {EPERM, 1}, {ENOENT, 1}, {EIO, 3}};
	struct world *world = *state;

	world_open(world, &by_instructions);
	world_look(world, WTL_NS_PER_S);
	world->has_pmu = false;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		int pid = worker(world, 1000);
		unsigned before = world->perf_opens;

		world_at(world, pid)->n_threads = 3;
		world->pmu_errno = cases[i].error;
		for (int look = 0; look < 3; look++)
			run_all(world, &pid, 1, 100 * MS);
		assert_int_equal(world->perf_opens - before, cases[i].asked);
	}
}

/* One that does next to nothing in its time has a weight, at the expense of the heaviest. */
static void test_none_is_nothing(void **state)
{
	struct world *world = *state;
	int pids[] = {worker(world, 1), worker(world, 1000000000)}, tiny = worker(world, 1);

	world_open(world, &by_instructions);
	world_look(world, WTL_NS_PER_S);
	run_all(world, pids, 2, 100 * MS);
	world_run(world, tiny, 1000);
	run_all(world, pids, 2, 100 * MS);
	assert_int_equal(world_pid_use(world, pids[0]), 1);
	assert_int_equal(world_pid_use(world, tiny), 1);
	assert_int_equal(world_pid_use(world, pids[1]), 200 * MS + 1000 - 2);
}

static void test_threads(void **state)
{
	struct world *world = *state;
	int pids[] = {worker(world, 1000), worker(world, 3000)}, many = worker(world, 2000);

	world_at(world, pids[0])->n_threads = 6;
	world_at(world, pids[0])->has_gone = true;    /* the others are counted all the same */
	world_at(world, pids[1])->is_unlisted = true; /* nor are they said to be there */
	world_at(world, many)->n_threads = 500;
	world_open(world, &by_instructions);
	world_look(world, WTL_NS_PER_S);
	run_all(world, pids, 2, 100 * MS);
	assert_int_equal(world_counted(world, pids[0]), 5);
	assert_int_equal(world_counted(world, pids[1]), 1);
	run_all(world, pids, 2, 100 * MS);
	run_all(world, pids, 2, 100 * MS);
	assert_in_range(world_pid_use(world, pids[0]), 50 * MS - 5, 50 * MS + 5);
	/* Some of very many are a sample. */
	run_all(world, &many, 1, 1000 * MS);
	assert_int_equal(world_counted(world, many), 32);
	world_run(world, many, 1000 * MS);
	run_all(world, pids, 2, 100 * MS);
	assert_in_range(counted_ns(world, many), 40 * MS, 100 * MS);
}

/* While somebody else has the hardware's counters, what was counted stands for the rest. */
static void test_taking_turns(void **state)
{
	struct world *world = *state;
	int pids[] = {worker(world, 1000), worker(world, 3000)};

	world_at(world, pids[0])->running_part = 4;
	world_open(world, &by_instructions);
	world_look(world, WTL_NS_PER_S);
	for (int i = 0; i < 3; i++)
		run_all(world, pids, 2, 100 * MS);
	assert_in_range(world_pid_use(world, pids[0]), 50 * MS - 10, 50 * MS + 10);
	assert_int_equal(counted_ns(world, pids[0]), 200 * MS);
	/* One that never had them is not counted. */
	world_at(world, pids[0])->running_part = 1000000000;
	run_all(world, pids, 2, 100 * MS);
	pids[0] = worker(world, 1000);
	world_at(world, pids[0])->running_part = 1000000000;
	for (int i = 0; i < 3; i++)
		run_all(world, pids, 2, 100 * MS);
	assert_int_equal(counted_ns(world, pids[0]), 0);
}

/* The last stretch of one that ended is weighed, too; then its descriptors are given back. */
static void test_ended(void **state)
{
	struct world *world = *state;
	int pids[] = {worker(world, 1000), worker(world, 3000)};
	uint32_t slot;

	world_open(world, &by_instructions);
	world_look(world, WTL_NS_PER_S);
	run_all(world, pids, 2, 100 * MS);
	run_all(world, pids, 2, 100 * MS);
	slot = (uint32_t)wtl_workload_find(world->workload, pids[1]);
	world_run(world, pids[0], 100 * MS);
	world_run(world, pids[1], 100 * MS);
	world_end(world, pids[1]);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_use(world, slot), 150 * MS);
	assert_int_equal(world->counters_now, 1);
	/* Its number is another one's now, who is counted anew. */
	run_all(world, pids, 1, 100 * MS);
	assert_int_equal(world_pid_use(world, pids[0]), 100 * MS);
}

/* A stretch that is too short for a rate of its own has the last one. */
static void test_rate_stays(void **state)
{
	struct world *world = *state;
	int pids[] = {worker(world, 1000), worker(world, 3000)};

	world_open(world, &by_instructions);
	world_look(world, WTL_NS_PER_S);
	run_all(world, pids, 2, 100 * MS);
	run_all(world, pids, 2, 100 * MS);
	world_at(world, pids[1])->per_us = 50;
	run_all(world, pids, 2, MS / 2);
	assert_int_equal(world_pid_use(world, pids[0]), MS / 4);
	assert_int_equal(world_pid_use(world, pids[1]), 3 * MS / 4);
	run_all(world, pids, 2, MS - 1);
	assert_in_range(world_pid_use(world, pids[0]), MS / 2 - 1, MS / 2 + 1);
	/* A millisecond is enough for 1000 of 1050. */
	run_all(world, pids, 2, MS);
	assert_in_range(world_pid_use(world, pids[0]), 1904760, 1904763);
	/* Where the count stands still, or steps back, the rate is what it was. */
	for (int is_back = 0; is_back < 2; is_back++) {
		world_at(world, pids[1])->per_us = 0;
		if (is_back)
			world_at(world, pids[1])->count = 0;
		run_all(world, pids, 2, 10 * MS);
		assert_in_range(world_pid_use(world, pids[0]), 19047618, 19047620);
	}
}

/* With more busy processes than descriptors, those that use most have them. */
static void test_most_used(void **state)
{
	struct world *world = *state;
	int pids[WTL_COUNTED_MAX + 60], large;

	world->n_cpus = 64;
	for (size_t i = 0; i < UNIT_COUNT(pids); i++)
		pids[i] = worker(world, 1000);
	large = worker(world, 2000);
	world_open(world, &by_instructions);
	world_look(world, WTL_NS_PER_S);
	run_all(world, pids, 1, 10 * MS);
	for (int i = 0; i < 8; i++)
		run_all(world, pids, UNIT_COUNT(pids), 10 * MS);
	assert_int_equal(world->counters_now, WTL_COUNTED_MAX);
	/* The only one that rests makes room, though it was the first. */
	assert_int_equal(world_counted(world, pids[0]), 1);
	run_all(world, pids + 1, UNIT_COUNT(pids) - 1, 10 * MS);
	assert_int_equal(world_counted(world, pids[0]), 0);
	assert_int_equal(world->counters_now, WTL_COUNTED_MAX);
	/* So does whichever rests later, wherever it is in the list. */
	for (size_t i = 1; i < UNIT_COUNT(pids); i++) {
		bool was_counted = world_counted(world, pids[i]) > 0;

		for (size_t j = 0; j < i; j++)
			world_run(world, pids[j], 10 * MS);
		run_all(world, pids + i + 1, UNIT_COUNT(pids) - i - 1, 10 * MS);
		if (was_counted)
			assert_int_equal(world_counted(world, pids[i]), 0);
	}
	world_run(world, large, 500 * MS);
	run_all(world, pids, UNIT_COUNT(pids), 10 * MS);
	assert_int_equal(world_counted(world, large), 1);
	assert_int_equal(world->counters_now, WTL_COUNTED_MAX);
	assert_true(world->counters_most <= WTL_COUNTERS_MAX);
}

/* When descriptors run out, some are left to others. */
static void no_descriptors(struct world *world, int max, int left)
{
	int pids[60], later;

	world->max_counters = (unsigned)max;
	for (size_t i = 0; i < UNIT_COUNT(pids); i++)
		pids[i] = worker(world, 1000 + i);
	world_open(world, &by_instructions);
	world_look(world, WTL_NS_PER_S);
	for (int i = 0; i < 5; i++)
		run_all(world, pids, UNIT_COUNT(pids), 10 * MS);
	assert_int_equal(world->counters_now, max);
	assert_int_equal(wtl_workload_weight(world->workload), WTL_WEIGHT_INSTRUCTIONS);
	/* Later ones find room at the expense of those that are idle now. */
	later = worker(world, 1000);
	world_at(world, later)->n_threads = 4;
	for (int i = 0; i < 5; i++)
		run_all(world, &later, 1, 500 * MS);
	assert_int_equal(world_counted(world, later), left > 0);
	assert_int_equal(world->counters_now, left);
}

static void test_few_descriptors(void **state)
{
	no_descriptors(*state, 40, 32);
}

/* All are for others, where there are next to none. */
static void test_no_descriptors(void **state)
{
	no_descriptors(*state, 5, 0);
}

static void test_without(void **state)
{
	struct world *world = *state;
	static const struct {
		int error;
		const char *reason, *remedy;
	} cases[] = {
		{ENOENT, "virtual machines", "PMU"},
		{EOPNOTSUPP, "virtual machines", "PMU"},
		{EACCES, "Permission denied", "perf_event_paranoid=1"},
		{EPERM, "not permitted", "perf_event_paranoid=1"},
		{EMFILE, "open files", NULL},
	};

	world->has_pmu = false;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		int pid = worker(world, 1000);

		world->pmu_errno = cases[i].error;
		world_open(world, &by_instructions);
		assert_int_equal(wtl_workload_weight_error(world->workload), -cases[i].error);
		assert_false(way(world)->is_used);
		assert_non_null(strstr(way(world)->reason, cases[i].reason));
		if (cases[i].remedy)
			assert_non_null(strstr(way(world)->remedy, cases[i].remedy));
		else
			assert_null(way(world)->remedy);
		world_look(world, WTL_NS_PER_S);
		run_all(world, &pid, 1, 100 * MS);
		run_all(world, &pid, 1, 100 * MS);
		assert_int_equal(world_pid_use(world, pid), 100 * MS);
		assert_int_equal(wtl_workload_weight(world->workload), WTL_WEIGHT_CPU_TIME);
		assert_int_equal(world->counters_most, 0);
		wtl_workload_free(world->workload);
		world->workload = NULL;
		world->billed_ns = 0;
		memset(world->accounts, 0, world->n_accounts * sizeof(*world->accounts));
	}
}

static void test_containers_need_another_remedy(void **state)
{
	struct world *world = *state;

	world->has_pmu = false;
	world->pmu_errno = EPERM;
	world_put(world, "/proc/self/ns/pid", "pid:[4026532000]");
	world_open(world, &by_instructions);
	assert_non_null(strstr(way(world)->remedy, "--cap-add PERFMON"));
}

/* /proc shows the numbers of another namespace: they would be somebody else's. */
static void test_numbers_of_others(void **state)
{
	struct world *world = *state;

	world_put(world, "/proc/self/status", "Tgid:\t5\nUid:\t0\nNSpid:\t5\t1\n");
	world_open(world, &by_instructions);
	assert_int_equal(wtl_workload_weight_error(world->workload), -EXDEV);
	assert_non_null(way(world)->remedy);
}

static void test_probe(void **state)
{
	struct world *world = *state;

	world_open(world, NULL);
	world_look(world, WTL_NS_PER_S);
	assert_false(way(world)->is_used);
	assert_non_null(strstr(way(world)->reason, "not asked for"));
	wtl_workload_probe_weights(world->workload);
	assert_true(way(world)->is_used);
	assert_string_equal(way(world)->reason, "--weight can be instructions or cycles");
	assert_int_equal(world->counters_now, 0);
	world->has_pmu = false;
	wtl_workload_probe_weights(world->workload);
	assert_false(way(world)->is_used);
	assert_non_null(way(world)->remedy);
	assert_int_equal(wtl_workload_weight_error(world->workload), 0);
}

/* It is asked for itself, and whether others can be counted. */
static void test_probe_of_own(void **state)
{
	struct world *world = *state;

	world->self = worker(world, 1000);
	world_at(world, 1)->is_closed = true;
	world_open(world, NULL);
	world_look(world, WTL_NS_PER_S);
	wtl_workload_probe_weights(world->workload);
	assert_true(way(world)->is_used);
	assert_string_equal(way(world)->reason, "--weight can be instructions or cycles, for your "
						"own processes only");
}

/* Descriptors for so many in one look, and only for who used enough. */
static void test_some_at_a_time(void **state)
{
	enum { AT_ONCE = 32, MORE = 8 };
	struct world *world = *state;
	int pids[AT_ONCE + MORE], idle = worker(world, 1000);

	world_open(world, &by_instructions);
	for (size_t i = 0; i < UNIT_COUNT(pids); i++)
		pids[i] = worker(world, 1000);
	world_look(world, WTL_NS_PER_S);
	for (int look = 0; look < 3; look++) {
		world_run(world, idle, 5 * MS - 1);
		run_all(world, pids, UNIT_COUNT(pids), 5 * MS);
		assert_int_equal(world->counters_now, look == 0 ? AT_ONCE : AT_ONCE + MORE);
	}
	assert_int_equal(world_counted(world, idle), 0);
	world_run(world, idle, 5 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_counted(world, idle), 1);
}

static void test_cycles(void **state)
{
	const struct wtl_workload_options options = {.weight = WTL_WEIGHT_CYCLES};
	struct world *world = *state;
	int pid = worker(world, 1000);

	world_open(world, &options);
	assert_true(way(world)->is_used);
	world_look(world, WTL_NS_PER_S);
	run_all(world, &pid, 1, 100 * MS);
	run_all(world, &pid, 1, 100 * MS);
	assert_int_equal(world->event, PERF_COUNT_HW_CPU_CYCLES);
	assert_int_equal(wtl_workload_weight(world->workload), WTL_WEIGHT_CYCLES);
}

/* What is folded into a row takes with it how much of it was counted. */
static void test_rows(void **state)
{
	const struct wtl_workload_options options = {.weight = WTL_WEIGHT_INSTRUCTIONS,
						     .max_exited = 1};
	struct world *world = *state;
	const struct wtl_consumer *row;
	int pids[] = {worker(world, 1000), worker(world, 3000), worker(world, 3000)};

	for (size_t i = 0; i < 3; i++)
		world_exec(world, pids[i], "job", "job");
	world_open(world, &options);
	world_look(world, WTL_NS_PER_S);
	run_all(world, pids, 3, 100 * MS);
	run_all(world, pids, 3, 100 * MS);
	for (size_t i = 0; i < 3; i++)
		world_end(world, pids[i]);
	world_look(world, WTL_NS_PER_S);
	world_look(world, WTL_NS_PER_S);
	row = world_row(world, "job", NULL);
	assert_non_null(row);
	assert_int_equal(row->counted_ns, row->n_processes * 100 * MS);
}

/* Every call in turn: no look is wrong, and nothing stays open. */
static void test_faults(void **state)
{
	struct world *world = *state;
	bool has_failed = true;

	for (unsigned at = 1; has_failed; at++) {
		int pids[2];

		assert_true(at < 3000);
		world_done(world);
		setup(state);
		world->fail_at = at;
		pids[0] = worker(world, 1000);
		pids[1] = worker(world, 3000);
		world_at(world, pids[1])->n_threads = 3;
		world_open(world, &by_instructions);
		for (int i = 0; i < 4; i++)
			run_all(world, pids, 2, 100 * MS);
		world_end(world, pids[1]);
		world_look(world, WTL_NS_PER_S);
		has_failed = world->has_failed;
		world->fail_at = 0;
		for (int i = 0; i < 2; i++)
			run_all(world, pids, 1, 100 * MS);
		if (wtl_workload_weight_error(world->workload) == 0)
			assert_int_equal(world_counted(world, pids[0]), 1);
	}
}

static void test_names(void **state)
{
	(void)state;
	for (int i = 0; i < WTL_WEIGHTS; i++)
		assert_int_equal(wtl_weight_find(wtl_weight_name((enum wtl_weight)i)), i);
	assert_string_equal(wtl_weight_name(WTL_WEIGHT_CPU_TIME), "cpu-time");
	assert_int_equal(wtl_weight_find("instruction"), -EINVAL);
	assert_int_equal(wtl_weight_find(""), -EINVAL);
}

static void test_told(void **state)
{
	struct wtl_workload *told;

	(void)state;
	assert_int_equal(wtl_workload_new_restored(&told, NULL), 0);
	assert_int_equal(wtl_workload_weight(told), WTL_WEIGHT_CPU_TIME);
	wtl_workload_restore_weight(told, WTL_WEIGHT_CYCLES);
	assert_int_equal(wtl_workload_weight(told), WTL_WEIGHT_CYCLES);
	wtl_workload_free(told);
}

#define WORLD_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(test_weighs),
		WORLD_TEST(test_comes_later),
		WORLD_TEST(test_comes_to_others),
		WORLD_TEST(test_idle_ones_are_examples),
		WORLD_TEST(test_not_counted),
		WORLD_TEST(test_refused),
		WORLD_TEST(test_none_is_nothing),
		WORLD_TEST(test_threads),
		WORLD_TEST(test_taking_turns),
		WORLD_TEST(test_ended),
		WORLD_TEST(test_rate_stays),
		WORLD_TEST(test_most_used),
		WORLD_TEST(test_few_descriptors),
		WORLD_TEST(test_no_descriptors),
		WORLD_TEST(test_without),
		WORLD_TEST(test_containers_need_another_remedy),
		WORLD_TEST(test_numbers_of_others),
		WORLD_TEST(test_probe),
		WORLD_TEST(test_probe_of_own),
		WORLD_TEST(test_some_at_a_time),
		WORLD_TEST(test_cycles),
		WORLD_TEST(test_rows),
		WORLD_TEST(test_faults),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
