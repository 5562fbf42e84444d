/* SPDX-License-Identifier: MIT */
/* Those that end: exit records, what stands in for them, and the rows that ended ones are folded into. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "energy/units.h"
#include "unit.h"
#include "world.h"

enum { MS = 1000000 };

/* A shell, a first look behind it. */
static int start(struct world *world)
{
	int shell = world_fork(world, 1);

	world_exec(world, shell, "sh", "sh");
	world_at(world, shell)->uid = 1000;
	strcpy(world_at(world, shell)->cgroup, "/user.slice/session-3.scope");
	world_open(world, NULL);
	assert_int_equal(world_look(world, WTL_NS_PER_S), 0);
	return shell;
}

/* ---- With exit records ---- */

static void test_short_lives(void **state)
{
	struct world *world = *state;
	int shell = start(world), newest;
	const struct wtl_consumer *row;

	for (int i = 0; i < 100; i++)
		world_child(world, shell, "cc1", 5 * MS + i);
	newest = world->newest;
	world_child(world, shell, "ld", 3 * MS);
	world->newest = newest; /* the same number again */
	world_child(world, shell, "ld", 4 * MS);
	world_look(world, WTL_NS_PER_S);
	row = world_row(world, "cc1", NULL);
	assert_non_null(row);
	assert_int_equal(row->n_processes, 100);
	assert_int_equal(row->cpu_ns, 500 * MS + 4950);
	assert_int_equal(row->state, WTL_CONSUMER_FOLDED);
	assert_int_equal(row->uid, 1000);
	assert_false(row->is_in_tree);
	assert_null(row->command);
	assert_string_equal(row->group->unit, "session-3.scope");
	assert_int_equal(world_row(world, "ld", NULL)->cpu_ns, 7 * MS);
	assert_int_equal(world_row(world, "ld", NULL)->n_processes, 2);
	assert_int_equal(world->accounts[WTL_SLOT_UNSEEN], 0);
	/* More of them go to the same row. */
	world_child(world, shell, "cc1", 5 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_row(world, "cc1", NULL)->n_processes, 101);
}

/* Another user's, or another group's, is another row. */
static void test_rows_apart(void **state)
{
	struct world *world = *state;
	int shell = start(world), other = world_fork(world, 1), rows = 0;

	world_look(world, WTL_NS_PER_S);
	world_child(world, shell, "make", 5 * MS);
	world_child(world, other, "make", 6 * MS);
	world_look(world, WTL_NS_PER_S);
	for (uint32_t slot = wtl_workload_next(world->workload, 0);
	     slot < wtl_workload_capacity(world->workload);
	     slot = wtl_workload_next(world->workload, slot + 1))
		rows += strcmp(wtl_workload_consumer(world->workload, slot)->name, "make") == 0;
	assert_int_equal(rows, 2);
}

static void test_last_stretch(void **state)
{
	struct world *world = *state;
	int shell = start(world), child = world_fork(world, shell);
	uint32_t slot;

	world_run(world, child, 100 * MS);
	world_look(world, WTL_NS_PER_S);
	slot = (uint32_t)wtl_workload_find(world->workload, child);
	world_run(world, child, 33 * MS);
	world_at(world, child)->uid = 77; /* by its record alone */
	world_pass(world, WTL_NS_PER_S);
	world_end(world, child);
	world_look(world, MS);
	assert_int_equal(world_use(world, slot), 33 * MS);
	assert_int_equal(wtl_workload_consumer(world->workload, slot)->uid, 1000);
	assert_int_equal(wtl_workload_consumer(world->workload, slot)->state, WTL_CONSUMER_EXITED);
	assert_int_equal(wtl_workload_consumer(world->workload, slot)->cpu_ns, 133 * MS);
	assert_int_equal(wtl_workload_consumer(world->workload, slot)->pid, child);
	assert_int_equal(wtl_workload_find(world->workload, child), -ESRCH);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_consumer(world->workload, slot)->cpu_ppm, 0);
}

/* It ended before its turn to be read came: the record says who it was. */
static void test_ended_unread(void **state)
{
	const struct wtl_workload_options options = {.names_on_use = true};
	struct world *world = *state;
	int shell = world_fork(world, 1), children[2];
	uint32_t slots[2];

	world_exec(world, shell, "sh", "sh");
	world_at(world, shell)->uid = 1000;
	strcpy(world_at(world, shell)->cgroup, "/user.slice/session-3.scope");
	for (int i = 0; i < 2; i++) {
		children[i] = world_fork(world, shell);
		world_exec(world, children[i], "sleep", "sleep 1");
	}
	world_open(world, &options);
	assert_int_equal(wtl_workload_choose_tree(world->workload, 0, shell), 0);
	world_look(world, WTL_NS_PER_S);
	for (int i = 0; i < 2; i++)
		slots[i] = (uint32_t)wtl_workload_find(world->workload, children[i]);
	world_run(world, children[0], 5 * MS);
	world_end(world, children[0]);
	world_end(world, children[1]);
	world_look(world, WTL_NS_PER_S);
	for (int i = 0; i < 2; i++) {
		const struct wtl_consumer *consumer =
			wtl_workload_consumer(world->workload, slots[i]);

		assert_int_equal(consumer->state, WTL_CONSUMER_EXITED);
		assert_string_equal(consumer->name, "sleep");
		assert_int_equal(consumer->uid, 1000);
		assert_int_equal(consumer->parent, shell);
		assert_int_equal(consumer->sets, 1);
		assert_non_null(consumer->group);
		assert_string_equal(consumer->group->cgroup, "/user.slice/session-3.scope");
		assert_int_equal(world_use(world, slots[i]), i == 0 ? 5 * MS : 0);
	}
}

/* Nor is a turn spent on who has ended, however busy it was. */
static void test_turns_of_the_living(void **state)
{
	const struct wtl_workload_options options = {.reads_per_scan = 1};
	struct world *world = *state;
	int child, other;

	world_open(world, &options);
	for (int i = 0; i < 8; i++)
		world_look(world, WTL_NS_PER_S);
	child = world_fork(world, 1);
	world_run(world, child, 100 * MS);
	world_look(world, WTL_NS_PER_S);
	world_run(world, child, 33 * MS);
	world_end(world, child);
	other = world_fork(world, 1);
	world_exec(world, other, "cc1", "cc1 -O2");
	world_run(world, other, 5 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_string_equal(world_consumer(world, other)->command, "cc1 -O2");
}

/* Ended and not waited for: its clock still answers, and nothing is billed twice. */
static void test_zombies(void **state)
{
	struct world *world = *state;
	int shell = start(world), known = world_fork(world, shell), fresh;

	world_look(world, WTL_NS_PER_S);
	world_run(world, known, 10 * MS);
	world_exit(world, known);
	fresh = world_fork(world, shell);
	world_run(world, fresh, 20 * MS);
	world_exit(world, fresh);
	for (int i = 0; i < 3; i++)
		world_look(world, WTL_NS_PER_S);
	assert_int_equal(world->billed_ns, 30 * MS);
	world_reap(world, known);
	world_reap(world, fresh);
	for (int i = 0; i < 12; i++)
		world_look(world, WTL_NS_PER_S);
	assert_int_equal(world->billed_ns, 30 * MS);
	assert_int_equal(world_sum(world, WTL_CONSUMER_EXITED), 30 * MS);
}

static void test_threads(void **state)
{
	struct world *world = *state;
	int shell = start(world), known = world_fork(world, shell), fresh;

	world_look(world, WTL_NS_PER_S);
	/* Threads end, their process lives on: its clock has them. */
	world_thread(world, known, 10 * MS);
	world_thread(world, known, 11 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(world, known), 21 * MS);
	assert_int_equal(world->billed_ns, 21 * MS);
	/* A process with threads came and went. */
	fresh = world_fork(world, shell);
	world_exec(world, fresh, "java", "java");
	world_thread(world, fresh, 30 * MS);
	world_run(world, fresh, 5 * MS);
	world_end(world, fresh);
	/* And the known one ends with all its threads. */
	world_run(world, known, 4 * MS);
	world_end(world, known);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_row(world, "java", NULL)->cpu_ns, 35 * MS);
	assert_int_equal(world_row(world, "java", NULL)->n_processes, 1);
	assert_int_equal(world->billed_ns, 60 * MS);
}

/* The first thread's record came before that of the process. */
static void test_first_thread_ends_first(void **state)
{
	struct world *world = *state;
	int shell = start(world), fresh;

	world_look(world, WTL_NS_PER_S);
	fresh = world_fork(world, shell);
	world_exec(world, fresh, "java", "java");
	world_first_thread(world, fresh, 5 * MS);
	world_run(world, fresh, 30 * MS);
	world_end(world, fresh);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_row(world, "java", NULL)->cpu_ns, 35 * MS);
	assert_int_equal(world_row(world, "java", NULL)->n_processes, 1);
	assert_int_equal(world->billed_ns, 35 * MS);
}

/* Records of a process that is gone say nothing of the next one with its number. */
static void test_threads_of_a_reused_number(void **state)
{
	struct world *world = *state;
	int shell = start(world), newest = world->newest;

	for (int i = 0; i < 2; i++) {
		int fresh;

		world->newest = newest;
		fresh = world_fork(world, shell);
		world_exec(world, fresh, "java", "java");
		world_thread(world, fresh, 30 * MS);
		world_end(world, fresh);
		world_look(world, WTL_NS_PER_S);
	}
	assert_int_equal(world_row(world, "java", NULL)->n_processes, 2);
	assert_int_equal(world_row(world, "java", NULL)->cpu_ns, 60 * MS);
}

/* Before Linux 5.19, a thread's record looks like a process's. */
static void test_old_threads(void **state)
{
	struct world *world = *state;
	int shell = start(world), known = world_fork(world, shell);

	world->version = 8;
	world_look(world, WTL_NS_PER_S);
	for (int i = 0; i < 10; i++)
		world_thread(world, known, 50 * MS);
	world_child(world, shell, "cc1", 100 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(world, known), 500 * MS);
	/* No more than the machine did, to its 10 ms; and the child is not lost. */
	assert_in_range(world->billed_ns, 590 * MS, 630 * MS);
}

static void test_lost_records(void **state)
{
	struct world *world = *state;
	int shell = start(world);
	const struct wtl_workload_way *way =
		&wtl_workload_means(world->workload)->ways[WTL_WAY_EXIT_RECORDS];

	assert_true(way->is_used);
	assert_non_null(strstr(way->reason, "every process"));
	world->loses = true;
	for (int i = 0; i < 100; i++)
		world_child(world, shell, "cc1", 5 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_means(world->workload)->n_lost_exits, 1);
	assert_true(way->is_used);
	assert_non_null(strstr(way->reason, "at once 1 time, and some were lost"));
	assert_null(world_row(world, "cc1", NULL));
	assert_in_range(world_use(world, WTL_SLOT_UNSEEN), 450 * MS, 500 * MS);
}

/* Records of those that ended before the first look are nobody's. */
static void test_before_first(void **state)
{
	struct world *world = *state;

	world_open(world, NULL);
	world_child(world, 1, "early", 5 * MS);
	world_look(world, WTL_NS_PER_S);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world->billed_ns, 0);
	assert_null(world_row(world, "early", NULL));
}

/* A process that nobody saw although it was there: not all of its life was in this interval. */
static void test_unknown_elder(void **state)
{
	struct world *world = *state;
	int elder, other;

	world->newest = 5000;
	elder = world_fork(world, 1);
	other = world_fork(world, 1);
	world_at(world, elder)->is_unlisted = world_at(world, other)->is_unlisted = true;
	world->newest += 1000;
	start(world);
	world_run(world, elder, 1500 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_find(world->workload, elder), -ESRCH);
	world_run(world, elder, 10 * MS);
	world_run(world, other, 10 * MS);
	world_end(world, elder);
	world_end(world, other);
	world_look(world, WTL_NS_PER_S / 10);
	assert_int_equal(world_row(world, "init", NULL)->cpu_ns, 110 * MS);
	assert_true(world->billed_ns <= 1610 * MS);
}

/* What the kernel uses to take a process apart is in no record, but its parent is told. */
static void test_teardown(void **state)
{
	struct world *world = *state;
	int shell = start(world);

	world->teardown_ns = MS / 5;
	for (int look = 0; look < 5; look++) {
		world_run(world, shell, MS);
		for (int i = 0; i < 100; i++)
			world_child(world, shell, "cc1", 5 * MS);
		world_look(world, WTL_NS_PER_S);
	}
	/* All were of one row: it was theirs. */
	assert_in_range(world_row(world, "cc1", NULL)->cpu_ns, 2560 * (int64_t)MS,
			2600 * (int64_t)MS);
	assert_null(world_row(world, "short-lived", NULL));
	assert_in_range(world->billed_ns, 2565 * (uint64_t)MS, 2605 * (uint64_t)MS);
	assert_int_equal(world->accounts[WTL_SLOT_UNSEEN], 0);
}

/* Teardown time is the ended process's, even where it is too little to count as unseen. */
static void test_teardown_of_one(void **state)
{
	struct world *world = *state;
	int shell = start(world);

	world->teardown_ns = 21 * MS;
	world_run(world, shell, 9 * MS);
	world_child(world, shell, "ld", 9 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_row(world, "ld", NULL)->cpu_ns, 30 * MS);
}

/* One that was there before ends: its parent is told of all that it and its children ever used, which is no news. */
static void test_elder_with_children(void **state)
{
	struct world *world = *state;
	int shell = world_fork(world, 1), elder = world_fork(world, shell);
	uint32_t slot;

	world_run(world, elder, 400 * MS);
	world_at(world, elder)->child_ns = 3000 * (int64_t)MS;
	world_open(world, NULL);
	assert_int_equal(world_look(world, WTL_NS_PER_S), 0);
	slot = (uint32_t)wtl_workload_find(world->workload, elder);
	world_run(world, elder, 100 * MS);
	world_end(world, elder);
	world_run(world, shell, MS);
	world_unseen(world, 500 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_null(world_row(world, "short-lived", NULL));
	assert_int_equal(wtl_workload_consumer(world->workload, slot)->cpu_ns, 100 * MS);
}

/* Of several rows, each has as much of it as it has processes. */
static void test_teardown_of_several(void **state)
{
	struct world *world = *state;
	int shell = start(world);

	world->teardown_ns = MS / 5;
	for (int look = 0; look < 5; look++) {
		world_run(world, shell, MS);
		for (int i = 0; i < 100; i++)
			world_child(world, shell, i % 4 ? "cc1" : "as", 5 * MS);
		world_look(world, WTL_NS_PER_S);
	}
	assert_null(world_row(world, "short-lived", NULL));
	assert_in_range(world_row(world, "cc1", NULL)->cpu_ns, 1875 * MS + 48 * MS,
			1875 * MS + 75 * MS);
	assert_in_range(world_row(world, "as", NULL)->cpu_ns, 625 * MS + 16 * MS,
			625 * MS + 25 * MS);
	assert_in_range(world->billed_ns, 2565 * (uint64_t)MS, 2605 * (uint64_t)MS);
	assert_int_equal(world->accounts[WTL_SLOT_UNSEEN], 0);
}

/* One that was seen alive has its part itself; and who ended below a parent that ended is not forgotten. */
static void test_teardown_of_seen_and_below(void **state)
{
	struct world *world = *state;
	int shell = start(world), make = world_fork(world, shell), seen;
	uint32_t slot;

	world->teardown_ns = MS;
	seen = world_fork(world, make);
	world_run(world, seen, 5 * MS);
	world_look(world, WTL_NS_PER_S);
	slot = (uint32_t)wtl_workload_find(world->workload, seen);
	world_end(world, seen);
	for (int i = 0; i < 49; i++)
		world_child(world, make, "cc1", 5 * MS);
	world_run(world, make, MS);
	world_end(world, make);
	world_run(world, shell, MS);
	world_look(world, WTL_NS_PER_S);
	assert_null(world_row(world, "short-lived", NULL));
	assert_in_range(wtl_workload_consumer(world->workload, slot)->cpu_ns, 5 * MS + MS / 2,
			6 * MS);
	assert_in_range(world_row(world, "cc1", NULL)->cpu_ns, 49 * 5 * MS + 25 * MS,
			49 * 6 * (int64_t)MS);
	assert_int_equal(world->accounts[WTL_SLOT_UNSEEN], 0);
}

/* Children are folded before their parent says what their ends took: that goes where they went. */
static void test_teardown_of_folded(void **state)
{
	struct world *world = *state;
	const struct wtl_workload_options options = {.max_exited = 4};
	int shell = world_fork(world, 1), pids[40];

	world->n_cpus = 4;
	world_open(world, &options);
	world_look(world, WTL_NS_PER_S);
	for (int i = 0; i < 40; i++) {
		pids[i] = world_fork(world, shell);
		world_exec(world, pids[i], "make", "");
		world_run(world, pids[i], 5 * MS);
	}
	world_look(world, WTL_NS_PER_S);
	for (int i = 0; i < 40; i++)
		world_end(world, pids[i]);
	world_look(world, WTL_NS_PER_S);
	world_run(world, shell, MS);
	world_unseen(world, 200 * MS);
	world_at(world, shell)->child_ns += 200 * MS;
	world_look(world, WTL_NS_PER_S);
	assert_null(world_row(world, "short-lived", NULL));
	assert_in_range(world_row(world, "make", NULL)->cpu_ns, 370 * (int64_t)MS,
			390 * (int64_t)MS);
}

/* Ended children of more parents than are kept: the older half loses their names, the newer half keeps them. */
static void test_teardown_of_many(void **state)
{
	enum { PARENTS = 513, DROPPED = 256 };
	static const int told[] = {DROPPED - 1, DROPPED, PARENTS - 2, PARENTS - 1};
	struct world *world = *state;
	int parents[PARENTS];

	for (int i = 0; i < PARENTS; i++)
		parents[i] = world_fork(world, 1);
	world_open(world, NULL);
	for (int i = 0; i < 2; i++)
		world_look(world, WTL_NS_PER_S);
	for (int i = 0; i < PARENTS; i++)
		world_child(world, parents[i], "cc1", MS);
	world_look(world, WTL_NS_PER_S);
	for (size_t i = 0; i < UNIT_COUNT(told); i++) {
		world_run(world, parents[told[i]], MS);
		world_unseen(world, 200 * MS);
		world_at(world, parents[told[i]])->child_ns += 200 * MS;
	}
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_row(world, "short-lived", NULL)->parent, parents[told[0]]);
	assert_in_range(world_row(world, "short-lived", NULL)->cpu_ns, 190 * MS, 200 * MS);
	assert_in_range(world_row(world, "cc1", NULL)->cpu_ns, PARENTS * MS + 570 * MS,
			PARENTS * MS + 600 * MS);
}

/* Records are lost: that one parent's children are nobody's by name leaves those of another as they were. */
static void test_teardown_beside_lost_records(void **state)
{
	struct world *world = *state;
	int shell = start(world), make = world_fork(world, shell);

	world_look(world, WTL_NS_PER_S);
	world_child(world, shell, "cc1", 5 * MS);
	world_child(world, make, "as", 5 * MS);
	world_child(world, make, "ld", 5 * MS);
	world_look(world, WTL_NS_PER_S);
	world->loses = true;
	world_child(world, shell, "cc1", 5 * MS);
	world_run(world, shell, MS);
	world_unseen(world, 200 * MS);
	world_at(world, shell)->child_ns += 200 * MS;
	world_look(world, WTL_NS_PER_S);
	assert_non_null(world_row(world, "short-lived", NULL));
	world->loses = false;
	world_look(world, WTL_NS_PER_S);
	world_child(world, make, "ar", 5 * MS);
	world_run(world, make, MS);
	world_unseen(world, 400 * MS);
	world_at(world, make)->child_ns += 300 * MS;
	world_child(world, shell, "ranlib", 5 * MS);
	world_run(world, shell, MS);
	world_at(world, shell)->child_ns += 100 * MS;
	world_look(world, WTL_NS_PER_S);
	assert_in_range(world_row(world, "as", NULL)->cpu_ns, 95 * MS, 105 * MS);
	assert_in_range(world_row(world, "ld", NULL)->cpu_ns, 95 * MS, 105 * MS);
	assert_in_range(world_row(world, "ar", NULL)->cpu_ns, 95 * MS, 105 * MS);
	assert_in_range(world_row(world, "ranlib", NULL)->cpu_ns, 95 * MS, 105 * MS);
}

/* A record of more than the machine can have done is of a process that was there before. */
static void test_elder_with_threads(void **state)
{
	struct world *world = *state;
	int elder;

	world->newest = 5000;
	elder = world_fork(world, 1);
	world_at(world, elder)->is_unlisted = true;
	world_at(world, elder)->n_threads = 8;
	world->newest += 1000;
	start(world);
	world_look(world, WTL_NS_PER_S);
	world_at(world, elder)->cpu_ns = 3600 * (int64_t)WTL_NS_PER_S;
	world_end(world, elder);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world->billed_ns, 2 * WTL_NS_PER_S);
}

static void test_tree_of_the_short(void **state)
{
	struct world *world = *state;
	int shell = start(world), make, cc, as;
	const struct wtl_consumer *row;

	assert_int_equal(wtl_workload_follow_tree(world->workload, shell), 0);
	/* Three generations within one interval; the inner ones end first. */
	make = world_fork(world, shell);
	cc = world_fork(world, make);
	as = world_fork(world, cc);
	world_exec(world, as, "as", "as");
	world_run(world, as, 3 * MS);
	world_end(world, as);
	world_end(world, cc);
	world_end(world, make);
	world_child(world, 1, "other", 4 * MS);
	world_look(world, WTL_NS_PER_S);
	row = world_row(world, "as", NULL);
	assert_int_equal(row->cpu_ns, 3 * MS);
	assert_true(row->is_in_tree);
	assert_false(world_row(world, "other", NULL)->is_in_tree);
	/* A parent that was born in the interval and lives. */
	make = world_fork(world, shell);
	world_child(world, make, "ld", 2 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_true(world_row(world, "ld", NULL)->is_in_tree);
	assert_true(world_consumer(world, make)->is_in_tree);
}

static void test_tree_of_the_adopted(void **state)
{
	struct world *world = *state;
	struct wtl_workload_options options = {.subreaper_pid = world_fork(world, 1)};
	int command = world_fork(world, options.subreaper_pid);

	world_open(world, &options);
	world_look(world, WTL_NS_PER_S);
	wtl_workload_follow_tree(world->workload, command);
	world_child(world, options.subreaper_pid, "orphan", 5 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_true(world_row(world, "orphan", NULL)->is_in_tree);
	/* Also when the command itself is forgotten. */
	world_end(world, command);
	for (int i = 0; i < 2; i++)
		world_look(world, WTL_NS_PER_S);
	world_child(world, options.subreaper_pid, "late", 5 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_true(world_row(world, "late", NULL)->is_in_tree);
}

/* A child that the subreaper had before, and that nobody saw: its record tells that it is too old. */
static void test_older_than_the_tree(void **state)
{
	struct world *world = *state;
	struct wtl_workload_options options = {.subreaper_pid = world_fork(world, 1)};
	int older = world_fork(world, options.subreaper_pid), command;

	world_exec(world, older, "older", "older");
	world_at(world, older)->is_unlisted = true;
	world->newest += 1000;
	world_open(world, &options);
	for (int i = 0; i < 3; i++)
		world_look(world, WTL_NS_PER_S);
	command = world_fork(world, options.subreaper_pid);
	assert_int_equal(wtl_workload_follow_tree(world->workload, command), 0);
	world_look(world, WTL_NS_PER_S);
	world_run(world, older, 5 * MS);
	world_end(world, older);
	world_child(world, options.subreaper_pid, "orphan", 5 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_true(world_row(world, "orphan", NULL)->is_in_tree);
	assert_false(world_row(world, "older", NULL)->is_in_tree);
}

static void test_kernel_threads(void **state)
{
	struct world *world = *state;
	int kworker, seen;
	const struct wtl_consumer *row;

	start(world);
	seen = world_fork(world, 2);
	world_exec(world, seen, "kworker/0:1", "");
	world_run(world, seen, 3 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_consumer(world, seen)->state, WTL_CONSUMER_KERNEL);
	world_end(world, seen);
	kworker = world_child(world, 2, "kworker/1:1", 2 * MS);
	assert_true(kworker > 0);
	world_look(world, WTL_NS_PER_S);
	world_look(world, WTL_NS_PER_S);
	/* Once they have ended they are one row, and the kernel's. */
	row = world_row(world, "kernel threads", NULL);
	assert_int_equal(row->cpu_ns, 5 * MS);
	assert_int_equal(row->n_processes, 2);
	assert_int_equal(row->state, WTL_CONSUMER_KERNEL);
	assert_int_equal(world_sum(world, WTL_CONSUMER_KERNEL), 5 * MS);
}

/* ---- Without ---- */

static void test_parents(void **state)
{
	struct world *world = *state;
	const struct wtl_consumer *row;
	int shell, child;

	world->exits_errno = EPERM;
	shell = start(world);
	assert_int_equal(wtl_workload_choose_tree(world->workload, 3, shell), 0);
	world_run(world, shell, MS);
	for (int i = 0; i < 40; i++)
		world_child(world, shell, "cc1", 10 * MS);
	world_look(world, WTL_NS_PER_S);
	row = world_row(world, "short-lived", NULL);
	assert_non_null(row);
	assert_int_equal(row->cpu_ns, 400 * MS);
	assert_int_equal(row->parent, shell);
	assert_string_equal(row->command, "children of sh");
	assert_string_equal(row->group->unit, "session-3.scope");
	assert_int_equal(row->sets, 1 << 3);
	assert_int_equal(row->uid, 1000);
	assert_in_range(world->accounts[WTL_SLOT_UNSEEN], 0, 10 * MS);
	/* A child that was seen is its own: only its last stretch is not. */
	child = world_fork(world, shell);
	world_run(world, child, 300 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(world, child), 300 * MS);
	world_run(world, child, 100 * MS);
	world_end(world, child);
	world_run(world, shell, MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_row(world, "short-lived", NULL)->cpu_ns, 500 * MS);
	assert_int_equal(world_sum(world, WTL_CONSUMER_EXITED), 300 * MS);
}

/* More parents than one look asks have their turns; what nobody was asked for is unseen, and in no account twice. */
static void test_parents_of_many(void **state)
{
	struct world *world = *state;
	enum { PARENTS = 300, LOOKS = 2 };
	int parents[PARENTS], rows = 0;
	uint64_t told_ns = 0;

	world->exits_errno = EPERM;
	for (int i = 0; i < PARENTS; i++)
		parents[i] = world_fork(world, 1);
	world_open(world, NULL);
	world_look(world, WTL_NS_PER_S);
	world_look(world, WTL_NS_PER_S); /* whoever had no turn at the first is known now */
	for (int look = 0; look < LOOKS; look++) {
		for (int i = 0; i < PARENTS; i++) {
			world_run(world, parents[i], MS);
			world_child(world, parents[i], "cc1", 100 * MS);
		}
		world_look(world, 20 * WTL_NS_PER_S);
	}
	for (uint32_t slot = wtl_workload_next(world->workload, 0);
	     slot < wtl_workload_capacity(world->workload);
	     slot = wtl_workload_next(world->workload, slot + 1)) {
		const struct wtl_consumer *row = wtl_workload_consumer(world->workload, slot);

		rows += row->state == WTL_CONSUMER_FOLDED;
		told_ns += row->state == WTL_CONSUMER_FOLDED ? row->cpu_ns : 0;
	}
	assert_int_equal(rows, PARENTS);
	told_ns += world->accounts[WTL_SLOT_UNSEEN];
	assert_in_range(told_ns, (LOOKS * PARENTS * 100 - 40) * (uint64_t)MS,
			LOOKS * PARENTS * 100 * (uint64_t)MS);
}

/* Kernel threads wait for no child: however many there are, they take nobody's turn. */
static void test_parents_beside_kernel_threads(void **state)
{
	struct world *world = *state;
	enum { THREADS = 600 };
	int threads[THREADS], shell;

	world->exits_errno = EPERM;
	shell = start(world);
	for (int i = 0; i < THREADS; i++) {
		threads[i] = world_fork(world, 1);
		world_at(world, threads[i])->is_kernel = true;
	}
	world_look(world, WTL_NS_PER_S);
	for (int look = 1; look <= 3; look++) {
		for (int i = 0; i < THREADS; i++)
			world_run(world, threads[i], MS);
		world_run(world, shell, MS);
		world_child(world, shell, "cc1", 400 * MS);
		world_look(world, WTL_NS_PER_S);
		assert_int_equal(world_row(world, "short-lived", NULL)->cpu_ns, look * 400 * MS);
	}
}

/* Whoever was born while we looked is known whole, whatever it waited for before its first look. */
static void test_parents_of_the_new(void **state)
{
	struct world *world = *state;
	int shell, script;

	world->exits_errno = EPERM;
	shell = start(world);
	script = world_fork(world, shell);
	world_exec(world, script, "x", "x");
	world_run(world, script, MS);
	for (int i = 0; i < 40; i++)
		world_child(world, script, "cc1", 10 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_row(world, "short-lived", NULL)->cpu_ns, 400 * MS);
	assert_int_equal(world_row(world, "short-lived", NULL)->parent, script);
	assert_string_equal(world_row(world, "short-lived", NULL)->command, "children of x");
}

/* A look after the shell ran, beside use that nobody accounts for. */
static void look_beside_unseen(struct world *world, int shell, int64_t unseen_ns)
{
	world_run(world, shell, MS);
	world_unseen(world, unseen_ns);
	world_look(world, WTL_NS_PER_S);
}

/* A parent that does not wait for one child still gets the times of its others, once they exceed what rounding to ticks hides. */
static void test_parents_that_do_not_wait(void **state)
{
	struct world *world = *state;
	int shell;

	world->exits_errno = EPERM;
	shell = start(world);
	for (int i = 0; i < 2; i++) {
		int child = world_fork(world, shell);

		world_run(world, child, 300 * MS);
		world_look(world, WTL_NS_PER_S);
		world_end(world, child);
		world_at(world, shell)->child_ns -= i ? 300 * MS : 200 * MS;
		look_beside_unseen(world, shell, 50 * MS);
	}
	for (int i = 0; i < 3; i++) {
		assert_null(world_row(world, "short-lived", NULL));
		world_child(world, shell, "cc1", i < 2 ? 10 * MS : 30 * MS);
		look_beside_unseen(world, shell, 50 * MS);
	}
	assert_int_equal(world_row(world, "short-lived", NULL)->cpu_ns, 50 * MS);
}

/* Where a new process has a parent's number, its child times are not the old parent's. */
static void test_parents_of_a_reused_number(void **state)
{
	struct world *world = *state;
	int shell;

	world->exits_errno = EPERM;
	shell = start(world);
	world_run(world, shell, 50 * MS);
	for (int i = 0; i < 2; i++)
		world_look(world, WTL_NS_PER_S);
	world_end(world, shell);
	world->newest = shell - 1;
	assert_int_equal(world_fork(world, 1), shell);
	world_run(world, shell, 52 * MS);
	world_child(world, 1, "cc1", 400 * MS);
	world_at(world, shell)->child_ns = 400 * MS;
	world_look(world, WTL_NS_PER_S);
	assert_null(world_row(world, "short-lived", NULL));
}

/* What somebody older was told before the first look is not this measurement's. */
static void test_parents_of_the_old(void **state)
{
	struct world *world = *state;
	int elder = world_fork(world, 1);

	world->exits_errno = EPERM;
	world_at(world, elder)->child_ns = 5000 * (int64_t)MS;
	world_open(world, NULL);
	world_look(world, WTL_NS_PER_S);
	world_run(world, elder, MS);
	world_unseen(world, 300 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_null(world_row(world, "short-lived", NULL));
}

/* Who waits for the command knows what the whole of it used. */
static void test_tree_ended(void **state, int exits_errno)
{
	/* With records it is theirs of whom these tell. */
	const char *name = exits_errno ? "short-lived" : "cc1";
	struct world *world = *state;
	int shell, command, orphan;

	world->exits_errno = exits_errno;
	shell = start(world);
	command = world_fork(world, shell);
	wtl_workload_follow_tree(world->workload, command);
	world_run(world, command, 5 * MS);
	for (int i = 0; i < 3; i++)
		world_child(world, command, "cc1", 3 * MS);
	orphan = world_fork(world, command);
	world_run(world, orphan, 2 * MS);
	world_exit(world, command);
	wtl_workload_tree_ended(world->workload, 15 * MS);
	world_look(world, WTL_NS_PER_S);
	/* With the orphan, of which nobody has told. */
	assert_int_equal(world->billed_ns, 17 * MS);
	assert_int_equal(world_sum(world, WTL_CONSUMER_FOLDED), 10 * MS);
	assert_int_equal(world_row(world, name, NULL)->cpu_ns, 10 * MS);
	assert_true(world_row(world, name, NULL)->is_in_tree);
	assert_int_equal(world_row(world, name, NULL)->uid, 1000);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world->billed_ns, 17 * MS);
	/* Less than is known already changes nothing. */
	wtl_workload_tree_ended(world->workload, 14 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world->billed_ns, 17 * MS);
	/* Nor does what is said of one that nobody knows any more. */
	world_reap(world, command);
	world_look(world, WTL_NS_PER_S);
	wtl_workload_tree_ended(world->workload, 40 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world->billed_ns, 17 * MS);
}

static void test_tree_ended_with_records(void **state)
{
	test_tree_ended(state, 0);
}

static void test_tree_ended_without(void **state)
{
	test_tree_ended(state, EPERM);
}

/* What the whole of it used is billed once, though the parent who waited for it is told of it, too. */
static void test_tree_ended_is_billed_once(void **state)
{
	struct world *world = *state;
	int shell, command;

	world->exits_errno = EPERM;
	shell = start(world);
	command = world_fork(world, shell);
	wtl_workload_follow_tree(world->workload, command);
	world_run(world, command, 5 * MS);
	world_child(world, command, "cc1", 300 * MS);
	world_exit(world, command);
	wtl_workload_tree_ended(world->workload, 305 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_sum(world, WTL_CONSUMER_FOLDED), 300 * MS);
	world_reap(world, command);
	for (int i = 0; i < 3; i++) {
		world_run(world, shell, 50 * MS);
		world_unseen(world, 200 * MS);
		world_look(world, WTL_NS_PER_S);
	}
	assert_int_equal(world_sum(world, WTL_CONSUMER_FOLDED), 300 * MS);
}

/* What others used that have ended is no part of it. */
static void test_tree_ended_beside_others(void **state)
{
	struct world *world = *state;
	int shell = start(world), command = world_fork(world, shell);

	wtl_workload_follow_tree(world->workload, command);
	world_run(world, command, 5 * MS);
	world_child(world, shell, "ld", 30 * MS);
	world_child(world, command, "cc1", 3 * MS);
	world_exit(world, command);
	wtl_workload_tree_ended(world->workload, 10 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_row(world, "ld", NULL)->cpu_ns, 30 * MS);
	assert_int_equal(world_row(world, "cc1", NULL)->cpu_ns, 5 * MS);
}

/* What parents are told is never more than the machine did. */
static void test_parents_exaggerate(void **state)
{
	struct world *world = *state;
	int shell;

	world->exits_errno = EPERM;
	shell = start(world);
	world_run(world, shell, MS);
	world_unseen(world, 200 * MS);
	world_at(world, shell)->child_ns += 5000 * (int64_t)MS;
	world_look(world, WTL_NS_PER_S);
	assert_true(world->billed_ns <= (uint64_t)241 * MS);
}

/* While nobody is born or ends, no parent can be told of anything, and none is read. */
static void parents_in_calm(struct world *world, int exits_errno)
{
	enum { CALM_LOOKS = 20 };
	unsigned stats;
	int shell;

	world->exits_errno = exits_errno;
	shell = start(world);
	for (int i = 0; i < 3; i++)
		look_beside_unseen(world, shell, 60 * MS);
	stats = world->stats_opened;
	for (int i = 0; i < CALM_LOOKS; i++)
		look_beside_unseen(world, shell, 60 * MS);
	/* Names are read again: of each of the three processes once in three looks. */
	assert_in_range(world->stats_opened - stats, 0, CALM_LOOKS / 2);
	world_child(world, shell, "cc1", 50 * MS);
	look_beside_unseen(world, shell, 60 * MS);
	assert_int_equal(world_row(world, exits_errno ? "short-lived" : "cc1", NULL)->cpu_ns,
			 50 * MS);
}

static void test_parents_in_calm(void **state)
{
	parents_in_calm(*state, EPERM);
}

static void test_parents_in_calm_with_records(void **state)
{
	parents_in_calm(*state, 0);
}

/* Without the newest number, somebody may have been born at any time. */
static void test_parents_without_newest(void **state)
{
	struct world *world = *state;
	int shell;

	world->exits_errno = EPERM;
	world->no_loadavg = true;
	shell = start(world);
	for (int i = 0; i < 3; i++)
		look_beside_unseen(world, shell, 60 * MS);
	world_child(world, shell, "cc1", 50 * MS);
	look_beside_unseen(world, shell, 60 * MS);
	assert_int_equal(world_row(world, "short-lived", NULL)->cpu_ns, 50 * MS);
}

/* What there was no room for is asked for again, though it stays calm. */
static void parents_wait_for_room(struct world *world, int64_t unseen_ns)
{
	int shell;

	world->exits_errno = EPERM;
	shell = start(world);
	world_child(world, shell, "cc1", 0);
	world_at(world, shell)->child_ns += 200 * MS;
	for (int i = 0; i < 6; i++)
		look_beside_unseen(world, shell, unseen_ns);
	assert_in_range(world_row(world, "short-lived", NULL)->cpu_ns, 180 * MS, 200 * MS);
}

static void test_parents_wait_for_room(void **state)
{
	parents_wait_for_room(*state, 70 * MS);
}

/* So it is where each second look has no room at all. */
static void test_parents_wait_for_unseen(void **state)
{
	parents_wait_for_room(*state, 60 * MS);
}

static void test_units(void **state)
{
	static const char path[] = "/sys/fs/cgroup/user.slice/session-3.scope/cpu.stat";
	static const char *const rubbish[] = {"usage_usec x\n", "usage_usec 9000000",
					      "other_usec 9000000\n",
					      "usage_usec 99999999999999999\n", ""};
	struct world *world = *state;
	const struct wtl_consumer *row;
	int shell;

	world->exits_errno = EPERM;
	world_put(world, "/sys/fs/cgroup/cgroup.controllers", "cpu\n");
	world_put(world, path, "usage_usec 1000000\nuser_usec 1\n");
	shell = start(world);
	world_look(world, WTL_NS_PER_S);
	/* The shell does not wait, so its child times say nothing. */
	world_run(world, shell, 50 * MS);
	world_unseen(world, 300 * MS);
	world_put(world, path, "usage_usec 1350000\nuser_usec 1\n");
	world_look(world, WTL_NS_PER_S);
	row = world_row(world, "short-lived", NULL);
	assert_non_null(row);
	assert_in_range(row->cpu_ns, 290 * MS, 310 * MS);
	assert_string_equal(row->group->unit, "session-3.scope");
	assert_in_range(world->accounts[WTL_SLOT_UNSEEN], 0, 10 * MS);
	/* What it used before the accounts began. */
	world_put(world, path, "usage_usec 2000000\nuser_usec 1\n");
	wtl_workload_reset(world->workload);
	memset(world->accounts, 0, world->n_accounts * sizeof(*world->accounts));
	world->billed_ns = 0;
	world_look(world, WTL_NS_PER_S);
	world_unseen(world, 300 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_in_range(world_use(world, WTL_SLOT_UNSEEN), 250 * MS, 310 * MS);
	/* A group that is gone, or writes rubbish. */
	for (size_t i = 0; i < UNIT_COUNT(rubbish); i++) {
		/* After rubbish, it is counted from what is there first. */
		for (int is_bad = 0; is_bad < 2; is_bad++) {
			world_put(world, path, is_bad ? rubbish[i] : "usage_usec 2000000\n");
			world_unseen(world, 300 * MS);
			world_look(world, WTL_NS_PER_S);
			assert_in_range(world_use(world, WTL_SLOT_UNSEEN), 250 * MS, 310 * MS);
		}
	}
}

/* A unit that is started again has its old path, and a new group: its total is another one, from 0. */
static void unit_starts_again(struct world *world, const char *mount)
{
	char path[96], text[64];
	int shell;

	world->exits_errno = EPERM;
	snprintf(path, sizeof(path), "%s/cgroup.controllers", mount);
	world_put(world, path, "cpu\n");
	snprintf(path, sizeof(path), "%s/user.slice/session-3.scope/cpu.stat", mount);
	world_put(world, path, "usage_usec 9000000\n");
	shell = start(world);
	world_look(world, WTL_NS_PER_S);
	/* For some looks, nothing is there at all. */
	world_take_away(world, path);
	for (int i = 0; i < 3; i++) {
		world_unseen(world, 100 * MS);
		world_look(world, WTL_NS_PER_S);
	}
	assert_null(world_row(world, "short-lived", NULL));
	for (int i = 0; i < 4; i++) {
		snprintf(text, sizeof(text), "usage_usec %d\n", 100000 + i * 250000);
		world_put(world, path, text);
		world_run(world, shell, 50 * MS);
		world_unseen(world, 200 * MS);
		world_look(world, WTL_NS_PER_S);
	}
	assert_non_null(world_row(world, "short-lived", NULL));
	assert_in_range(world_row(world, "short-lived", NULL)->cpu_ns, 550 * MS, 610 * MS);
}

static void test_unit_starts_again(void **state)
{
	unit_starts_again(*state, "/sys/fs/cgroup");
}

/* Beside version 1. */
static void test_unit_of_a_mixed_machine(void **state)
{
	world_put(*state, "/sys/fs/cgroup/user.slice/session-3.scope/cpu.stat", "nr_periods 0\n");
	unit_starts_again(*state, "/sys/fs/cgroup/unified");
}

/* A group with groups below it counts them, too: its total says nothing of its own. */
static void test_inner_units(void **state)
{
	struct world *world = *state;
	int shell, inner;

	world->exits_errno = EPERM;
	world_put(world, "/sys/fs/cgroup/cgroup.controllers", "cpu\n");
	world_put(world, "/sys/fs/cgroup/user.slice/session-3.scope/cpu.stat",
		  "usage_usec 1000000\n");
	shell = start(world);
	world_look(world, WTL_NS_PER_S);
	inner = world_fork(world, shell);
	strcpy(world_at(world, inner)->cgroup, "/user.slice/session-3.scope/inner");
	world_look(world, WTL_NS_PER_S);
	world_unseen(world, 300 * MS);
	world_put(world, "/sys/fs/cgroup/user.slice/session-3.scope/cpu.stat",
		  "usage_usec 1300000\n");
	world_look(world, WTL_NS_PER_S);
	assert_null(world_row(world, "short-lived", NULL));
	assert_in_range(world_use(world, WTL_SLOT_UNSEEN), 250 * MS, 300 * MS);
}

/* Where there is room for one of several, it is the first by name, wherever they lie in memory. */
static void test_order_of_units(void **state)
{
	static const char *const names[] = {"m", "a", "z"};
	struct world *world = *state;
	const struct wtl_consumer *row;
	unsigned n_rows = 0;
	char text[80];

	world->exits_errno = EPERM;
	world_put(world, "/sys/fs/cgroup/cgroup.controllers", "cpu\n");
	world_open(world, NULL);
	for (size_t i = 0; i < 2 * UNIT_COUNT(names); i++) {
		const char *name = names[i % UNIT_COUNT(names)];
		bool is_later = i >= UNIT_COUNT(names);

		snprintf(text, sizeof(text), "/sys/fs/cgroup/%s.slice/cpu.stat", name);
		world_put(world, text, is_later ? "usage_usec 1300000\n" : "usage_usec 1000000\n");
		if (!is_later)
			snprintf(world_at(world, world_fork(world, 1))->cgroup, 32, "/%s.slice",
				 name);
		world_look(world, WTL_NS_PER_S / 10);
	}
	world_unseen(world, 200 * MS);
	world_look(world, WTL_NS_PER_S);
	row = world_row(world, "short-lived", NULL);
	assert_non_null(row);
	assert_string_equal(row->group->cgroup, "/a.slice");
	assert_in_range(row->cpu_ns, 180 * MS, 240 * MS);
	/* The others have no row for nothing. */
	for (uint32_t slot = wtl_workload_next(world->workload, 0);
	     slot < wtl_workload_capacity(world->workload);
	     slot = wtl_workload_next(world->workload, slot + 1))
		n_rows += strcmp(wtl_workload_consumer(world->workload, slot)->name,
				 "short-lived") == 0;
	assert_int_equal(n_rows, 1);
}

static void test_not_asked_for(void **state)
{
	struct world *world = *state;
	const struct wtl_workload_options options = {.without_exits = true};

	world_open(world, &options);
	world_look(world, WTL_NS_PER_S);
	assert_false(world->listens);
	assert_false(wtl_workload_means(world->workload)->ways[WTL_WAY_EXIT_RECORDS].is_used);
	assert_null(wtl_workload_means(world->workload)->ways[WTL_WAY_EXIT_RECORDS].remedy);
	assert_string_equal(wtl_workload_means(world->workload)->ways[WTL_WAY_EXIT_RECORDS].reason,
			    "not asked for");
}

/* ---- Rows ---- */

/* Beyond the allowed number, the smallest are folded, by name; the sum stays. */
static void test_folding(void **state)
{
	struct world *world = *state;
	const struct wtl_workload_options options = {.max_exited = 81};
	const struct wtl_consumer *row;
	uint64_t ran_ns = 0;
	int pids[200], large = 0, small = 0;

	world_open(world, &options);
	world_look(world, WTL_NS_PER_S);
	for (int i = 0; i < 200; i++) {
		pids[i] = world_fork(world, 1);
		world_exec(world, pids[i], i % 2 ? "odd" : "even", "");
		world_run(world, pids[i], (i / 2 + 1) * MS / 4); /* two alike */
		ran_ns += (uint64_t)(i / 2 + 1) * MS / 4;
	}
	world->n_cpus = 8;
	world_look(world, WTL_NS_PER_S);
	for (int i = 0; i < 200; i++) {
		world_end(world, pids[i]);
		if (i != 80 && i != 199)
			continue;
		/* As many as are allowed at first, and then more. */
		for (int look = 0; look < 3; look++)
			world_look(world, WTL_NS_PER_S);
		assert_int_equal(world_row(world, "odd", NULL) != NULL, i == 199);
	}
	row = world_row(world, "odd", NULL);
	/* Ten more than need be. */
	assert_int_equal(row->n_processes + world_row(world, "even", NULL)->n_processes, 129);
	assert_int_equal(world->billed_ns, ran_ns);
	/* The largest have accounts of their own. */
	for (uint32_t slot = wtl_workload_next(world->workload, 0);
	     slot < wtl_workload_capacity(world->workload);
	     slot = wtl_workload_next(world->workload, slot + 1)) {
		const struct wtl_consumer *consumer = wtl_workload_consumer(world->workload, slot);

		if (consumer->state == WTL_CONSUMER_EXITED) {
			small += consumer->pid <= pids[128];
			large++;
		}
	}
	assert_int_equal(large, 71);
	assert_in_range(small, 0, 1); /* beside the larger one of two alike */
}

/* One that was seen and one of whom there is only a record are of one row, where they have one name. */
static void test_seen_and_unseen_in_a_row(void **state)
{
	const struct wtl_workload_options options = {.max_exited = 1};
	struct world *world = *state;
	int shell = world_fork(world, 1), seen[2];

	world_open(world, &options);
	for (int i = 0; i < 2; i++) {
		seen[i] = world_fork(world, shell);
		world_exec(world, seen[i], "cc1", "cc1");
	}
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_choose_tree(world->workload, 0, shell), 0);
	assert_int_equal(wtl_workload_follow_tree(world->workload, shell), 0);
	for (int i = 0; i < 2; i++) {
		world_run(world, seen[i], (20 + i) * MS);
		world_end(world, seen[i]);
	}
	world_child(world, shell, "cc1", 5 * MS);
	for (int i = 0; i < 2; i++)
		world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_row(world, "cc1", NULL)->n_processes, 2);
	assert_int_equal(world_row(world, "cc1", NULL)->cpu_ns, 25 * MS);
	assert_int_equal(world_row(world, "cc1", NULL)->sets, 1);
	assert_true(world_row(world, "cc1", NULL)->is_in_tree);
}

/* A row of a set that nobody is in any more is as others of its name; whoever is in the set later has one apart. */
static void test_row_of_a_former_set(void **state)
{
	struct world *world = *state;
	int shell = start(world), first = world_fork(world, shell),
	    second = world_fork(world, shell);

	world_look(world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_choose_tree(world->workload, 0, first), 0);
	world_child(world, first, "cc1", 5 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_row(world, "cc1", NULL)->sets, 1);
	/* However often that is said. */
	for (int i = 0; i < 5000; i++)
		wtl_workload_choose_nobody(world->workload, 0);
	assert_int_equal(world_row(world, "cc1", NULL)->sets, 0);
	assert_int_equal(wtl_workload_choose_tree(world->workload, 0, second), 0);
	world_child(world, second, "cc1", 7 * MS);
	world_child(world, shell, "cc1", MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_row(world, "cc1", NULL)->cpu_ns, 6 * MS);
}

/* A row that is no more does not come back as one of its name. */
static void test_row_of_a_former_set_after_a_reset(void **state)
{
	struct world *world = *state;
	int shell = start(world), first = world_fork(world, shell);

	world_look(world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_choose_tree(world->workload, 0, first), 0);
	world_child(world, first, "cc1", 5 * MS);
	world_child(world, first, "ld", 5 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_non_null(world_row(world, "ld", NULL));
	wtl_workload_reset(world->workload);
	assert_null(world_row(world, "cc1", NULL));
	assert_null(world_row(world, "ld", NULL));
	world->billed_ns = 0;
	memset(world->accounts, 0, world->n_accounts * sizeof(*world->accounts));
	wtl_workload_choose_nobody(world->workload, 0);
	world_child(world, shell, "cc1", 7 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_non_null(world_row(world, "cc1", NULL));
	assert_int_equal(world_row(world, "cc1", NULL)->cpu_ns, 7 * MS);
}

/* Each child has a name of its own. */
static void run_many_names(struct world *world, int parent)
{
	world->n_cpus = 60;
	world_look(world, WTL_NS_PER_S);
	for (int i = 0; i < 3000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "name-%d", i);
		world_child(world, parent, name, MS);
	}
	world_look(world, WTL_NS_PER_S);
}

/* However many names there are, rows are bounded. */
static void test_many_names(void **state)
{
	struct world *world = *state;
	const struct wtl_consumer *others;
	uint64_t of_set = 0, n_others;
	int shell = start(world);

	run_many_names(world, shell);
	others = world_row(world, "others", NULL);
	assert_non_null(others);
	n_others = others->n_processes;
	assert_true(n_others > 1900);
	assert_int_equal(others->uid, UINT32_MAX);
	assert_null(others->group);
	assert_int_equal(world->billed_ns, (uint64_t)3000 * MS);
	assert_int_equal(world->accounts[WTL_SLOT_UNSEEN], 0);
	/* Those of a chosen set have another row of others; of a second set there is room in the first row alone. */
	for (unsigned set = 0; set < 2; set++) {
		int chosen = world_fork(world, 1);

		world_look(world, WTL_NS_PER_S);
		assert_int_equal(wtl_workload_choose_tree(world->workload, set, chosen), 0);
		for (int i = 0; i < 50; i++)
			world_child(world, chosen, i % 2 ? "cc1" : "as", MS);
		world_look(world, WTL_NS_PER_S);
	}
	for (uint32_t slot = wtl_workload_next(world->workload, 0); slot < world->n_accounts;
	     slot = wtl_workload_next(world->workload, slot + 1))
		of_set += wtl_workload_consumer(world->workload, slot)->sets == 1
				  ? world->accounts[slot]
				  : 0;
	assert_int_equal(of_set, 50 * MS);
	assert_int_equal(others->n_processes, n_others + 50);
	assert_int_equal(world->accounts[WTL_SLOT_UNSEEN], 0);
}

/* When rows run out, others share one row for the tree and one for a set; the rest have none. */
static void test_many_names_of_a_tree(void **state)
{
	struct world *world = *state;
	int shell = start(world), chosen = world_fork(world, 1), other = world_fork(world, 1);

	assert_int_equal(wtl_workload_follow_tree(world->workload, shell), 0);
	run_many_names(world, shell);
	assert_true(world_row(world, "others", NULL)->is_in_tree);
	assert_int_equal(wtl_workload_choose_tree(world->workload, 0, chosen), 0);
	world_child(world, chosen, "cc1", 50 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world->accounts[WTL_SLOT_UNSEEN], 0);
	world_child(world, other, "cc1", 50 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world->accounts[WTL_SLOT_UNSEEN], 50 * MS);
}

/* ---- All of it, at random ---- */

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* Whatever is born, runs and ends, each nanosecond is billed once, to somebody. */
static void random_life(struct world *world, uint32_t seed,
			const struct wtl_workload_options *options)
{
	int live[64], n_live = 0;
	uint64_t ran_ns = 0;

	world_open(world, options);
	world_look(world, WTL_NS_PER_S);
	for (int look = 0; look < 60; look++) {
		for (unsigned i = next_random(&seed) % 40; i > 0; i--) {
			unsigned what = next_random(&seed) % 8, who = next_random(&seed);
			int64_t cpu_ns = next_random(&seed) % (3 * MS);

			if (what < 3 && n_live < 64) {
				int parent = n_live ? live[who % (unsigned)n_live] : 1;

				live[n_live++] = world_fork(world, parent);
			} else if (what < 5 && n_live > 0) {
				world_run(world, live[who % (unsigned)n_live], cpu_ns);
				ran_ns += (uint64_t)cpu_ns;
			} else if (what == 5 && n_live > 0) {
				int at = (int)(who % (unsigned)n_live);

				world_end(world, live[at]);
				live[at] = live[--n_live];
			} else if (what == 6) {
				world_child(world, n_live ? live[who % (unsigned)n_live] : 1, "x",
					    cpu_ns);
				ran_ns += (uint64_t)cpu_ns;
			} else if (n_live > 0) {
				world_thread(world, live[who % (unsigned)n_live], cpu_ns);
				ran_ns += (uint64_t)cpu_ns;
			}
		}
		world_look(world, WTL_NS_PER_S / 2);
	}
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world->billed_ns, ran_ns);
	assert_int_equal(world->accounts[WTL_SLOT_UNSEEN], 0);
	assert_int_equal(world->busy_sum_ns, ran_ns);
}

static void test_random_lives(void **state)
{
	const struct wtl_workload_options options[] = {
		{.max_exited = 0},
		{.max_exited = 10, .reads_per_scan = 3},
		{.max_slots = 128, .max_exited = 5},
	};
	struct world *world = *state;

	for (uint32_t seed = 1; seed <= 30; seed++) {
		random_life(world, seed, &options[seed % UNIT_COUNT(options)]);
		world_done(world);
		world_init(world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_short_lives, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_rows_apart, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_last_stretch, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_ended_unread, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_turns_of_the_living, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_zombies, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_threads, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_first_thread_ends_first, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_teardown_of_folded, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_elder_with_children, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_threads_of_a_reused_number, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_old_threads, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_lost_records, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_before_first, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_unknown_elder, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_teardown, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_teardown_of_one, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_teardown_of_several, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_teardown_of_seen_and_below, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_teardown_beside_lost_records, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_teardown_of_many, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_elder_with_threads, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_tree_of_the_short, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_tree_of_the_adopted, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_older_than_the_tree, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_kernel_threads, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_parents, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_parents_of_many, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_parents_beside_kernel_threads, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_parents_of_the_new, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_parents_of_the_old, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_parents_that_do_not_wait, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_parents_of_a_reused_number, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_tree_ended_with_records, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_tree_ended_without, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_tree_ended_is_billed_once, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_tree_ended_beside_others, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_parents_in_calm, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_parents_in_calm_with_records, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_parents_without_newest, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_parents_wait_for_room, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_parents_wait_for_unseen, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_parents_exaggerate, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_units, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_unit_starts_again, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_unit_of_a_mixed_machine, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_inner_units, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_order_of_units, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_not_asked_for, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_folding, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_seen_and_unseen_in_a_row, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_row_of_a_former_set, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_row_of_a_former_set_after_a_reset, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_many_names, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_many_names_of_a_tree, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_random_lives, world_setup, world_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
