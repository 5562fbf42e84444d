/* SPDX-License-Identifier: MIT */
/* Calls that fail, one after the other: nobody crashes, nothing leaks, and the next looks are right. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "energy/units.h"
#include "unit.h"
#include "world.h"

enum { MS = 1000000, LIMIT = 4000 };

/* A life with everything in it. world_look() checks each look's accounts. */
static void live(struct world *world, bool with_records)
{
	const struct wtl_workload_options options = {.max_exited = 3};
	const struct wtl_env env = {.io = &world->io};
	int shell, child, thread;

	world->exits_errno = with_records ? 0 : EPERM;
	world_put(world, "/sys/fs/cgroup/cgroup.controllers", "cpu\n");
	world_put(world, "/sys/fs/cgroup/a.slice/b.service/cpu.stat", "usage_usec 1000000\n");
	world_put(world, "/proc/self/mountinfo", "20 1 0:5 / /proc rw - proc proc rw\n");
	world_put(world, "/proc/self/status", "Tgid:\t5\nUid:\t0\nNSpid:\t5\n");
	shell = world_fork(world, 1);
	strcpy(world_at(world, shell)->cgroup, "/a.slice/b.service");
	if (wtl_workload_new(&env, &options, &world->workload, NULL) < 0)
		fail_msg("only memory may fail here");
	world_look(world, WTL_NS_PER_S);
	wtl_workload_follow_tree(world->workload, shell);
	for (int i = 0; i < 4; i++) {
		child = world_fork(world, shell);
		world_run(world, child, 20 * MS);
		thread = world_fork(world, child);
		world_look(world, WTL_NS_PER_S);
		world_thread(world, thread, 10 * MS);
		world_run(world, shell, MS);
		world_child(world, shell, "cc1", 40 * MS);
		world_unseen(world, 100 * MS);
		world_end(world, thread);
		world_end(world, child);
		world_look(world, WTL_NS_PER_S);
	}
	wtl_workload_read_memory(world->workload, 10);
	world->newest = 1;
	world_look(world, WTL_NS_PER_S);
}

/* When calls succeed again, a process that runs is billed. */
static void recover(struct world *world, int shell)
{
	world->fail_at = 0;
	world_look(world, WTL_NS_PER_S);
	world_look(world, WTL_NS_PER_S);
	world_run(world, shell, 50 * MS);
	world_look(world, WTL_NS_PER_S);
	/* Where clocks were never to be had, in steps of 10 ms. */
	assert_in_range(world_pid_use(world, shell), 40 * MS, 60 * MS);
}

static unsigned fail_each(int error, bool with_records)
{
	static struct world world; /* large */
	unsigned n;

	for (n = 1; n < LIMIT; n++) {
		bool has_failed;

		world_init(&world);
		world.fail_at = n;
		world.fail_errno = error;
		live(&world, with_records);
		has_failed = world.has_failed;
		recover(&world, 3);
		world_done(&world);
		if (!has_failed)
			return n;
	}
	fail_msg("never over");
	return n;
}

static void test_each_call(void **state)
{
	(void)state;
	assert_true(fail_each(EIO, true) > 100);
	assert_true(fail_each(EIO, false) > 100);
}

static void test_each_call_denied(void **state)
{
	(void)state;
	fail_each(EACCES, true);
	fail_each(ENOENT, false);
	fail_each(ESRCH, true);
	fail_each(EOPNOTSUPP, true);
}

/* From some call on, all fail: looks go on, and see what there is to see. */
static void test_all_calls(void **state)
{
	static struct world world; /* large */

	(void)state;
	for (unsigned n = 1; n < 200; n++) {
		world_init(&world);
		world.fail_at = n;
		world.fail_always = true;
		live(&world, true);
		recover(&world, 3);
		world_done(&world);
	}
}

/* A look whose clocks cannot be read leaves their use to the next one, and to nobody else. */
static void test_clocks_fail_once(void **state)
{
	static struct world world; /* large */
	int shell;

	(void)state;
	world_init(&world);
	shell = world_fork(&world, 1);
	world_run(&world, shell, 500 * MS);
	world_open(&world, NULL);
	/* The first look, too: what was used before anybody looked is nobody's. */
	for (int i = 0; i < 3; i++) {
		world.fails_clocks = i == 0;
		world_look(&world, WTL_NS_PER_S);
	}
	world_run(&world, shell, 800 * MS);
	world.fails_clocks = true;
	world_look(&world, WTL_NS_PER_S);
	assert_int_equal(world.billed_ns, 0);
	world.fails_clocks = false;
	world_run(&world, shell, 100 * MS);
	world_look(&world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(&world, shell), 900 * MS);
	assert_int_equal(world.billed_ns, 900 * MS);
	world_done(&world);
}

/* Nobody can be listed at a look: whoever is there is found at the next. */
static void test_listing_fails_once(void **state)
{
	static struct world world; /* large */
	int shell, newest;

	(void)state;
	world_init(&world);
	shell = world_fork(&world, 1);
	world.newest += 1000; /* far above it */
	world_open(&world, NULL);
	world.fails_listing = true;
	world_look(&world, WTL_NS_PER_S);
	world.fails_listing = false;
	world_look(&world, WTL_NS_PER_S);
	world_run(&world, shell, 100 * MS);
	world_look(&world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(&world, shell), 100 * MS);
	/* Or where the numbers have begun anew, and are where they were at the next. */
	newest = world.newest;
	world.newest = 10;
	shell = world_fork(&world, 1);
	world.fails_listing = true;
	world_look(&world, WTL_NS_PER_S);
	world.fails_listing = false;
	world.newest = newest;
	world_run(&world, shell, 100 * MS);
	world_look(&world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(&world, shell), 100 * MS);
	world_done(&world);
}

/* Nobody can be asked for in one look: whoever was born is found in the next. */
static void test_births_wait(void **state)
{
	static struct world world; /* large */
	int child;

	(void)state;
	world_init(&world);
	world_open(&world, NULL);
	world_look(&world, WTL_NS_PER_S);
	world.newest += 10; /* threads */
	child = world_fork(&world, 1);
	world.fails_clocks = true;
	world_look(&world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_means(world.workload)->n_live, 2);
	world.fails_clocks = false;
	world_run(&world, child, 9 * MS);
	world_look(&world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(&world, child), 9 * MS);
	world_done(&world);
}

/* Rubbish in place of records. */
static void test_bad_records(void **state)
{
	static struct world world; /* large */

	(void)state;
	world_init(&world);
	world_open(&world, NULL);
	world_look(&world, WTL_NS_PER_S);
	world_child(&world, 1, "cc1", 5 * MS);
	/* The message's length, which is behind the queue's own. */
	world.queue[sizeof(size_t)] = 0xff;
	world.queue[sizeof(size_t) + 1] = 0xff;
	world_look(&world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_means(world.workload)->n_bad_exits, 1);
	assert_null(world_row(&world, "cc1", NULL));
	world_done(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_call),	   cmocka_unit_test(test_each_call_denied),
		cmocka_unit_test(test_all_calls),	   cmocka_unit_test(test_clocks_fail_once),
		cmocka_unit_test(test_listing_fails_once), cmocka_unit_test(test_births_wait),
		cmocka_unit_test(test_bad_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
