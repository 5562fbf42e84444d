/* SPDX-License-Identifier: MIT */
/* Who is new: by number, by listing, and when numbers are used again. */
#include <errno.h>
#include <string.h>

#include "energy/units.h"
#include "unit.h"
#include "world.h"
#include "workload/state.h"

enum { MS = 1000000 };

static void start(struct world *world)
{
	world_open(world, NULL);
	assert_int_equal(world_look(world, WTL_NS_PER_S), 0);
}

static void test_by_number(void **state)
{
	struct world *world = *state;
	unsigned dirs;
	int pids[10];

	start(world);
	dirs = world->dir_reads;
	for (int i = 0; i < 10; i++) {
		pids[i] = world_fork(world, 1);
		world->newest += i * 3; /* threads */
		world_run(world, pids[i], (i + 1) * MS);
	}
	world_look(world, WTL_NS_PER_S / 2);
	for (int i = 0; i < 10; i++)
		assert_int_equal(world_pid_use(world, pids[i]), (i + 1) * MS);
	assert_int_equal(world->dir_reads, dirs);
	assert_int_equal(wtl_workload_means(world->workload)->n_found_late, 0);
}

/* Nobody was born: nobody is asked for but those that are known. */
static void test_quiet(void **state)
{
	struct world *world = *state;
	unsigned asked;

	world->newest += 1000;
	start(world);
	world_look(world, WTL_NS_PER_S / 10);
	asked = world->clocks_asked;
	for (int i = 0; i < 5; i++)
		world_look(world, WTL_NS_PER_S / 10);
	assert_int_equal(world->clocks_asked - asked, 5 * 2);
}

/* A process that was being made when the newest number was read answers one look later. */
static void test_slow_birth(void **state)
{
	struct world *world = *state;
	struct world_process *slow;

	start(world);
	/* By its number; and by a listing, after looks at which nobody was born. */
	for (int step = 0; step <= 5000; step += 5000) {
		int pid;

		world->newest += step;
		pid = world_fork(world, 1);
		slow = world->of[pid];
		world->of[pid] = NULL;
		world->newest += 127; /* as many as may be given out meanwhile */
		world_look(world, WTL_NS_PER_S / 10);
		assert_int_equal(wtl_workload_find(world->workload, pid), -ESRCH);
		world->of[pid] = slow;
		world_run(world, pid, MS);
		world_look(world, WTL_NS_PER_S / 10);
		assert_int_equal(world_pid_use(world, pid), MS);
		world_look(world, WTL_NS_PER_S / 10);
	}
}

static void test_wrap(void **state)
{
	struct world *world = *state;
	int last = 0, first;
	unsigned dirs;

	world->newest = 2;
	world->pid_max = 1000;
	start(world);
	world->newest = 990;
	for (int i = 0; i < 9; i++)
		last = world_fork(world, 1);
	world_look(world, WTL_NS_PER_S / 10);
	assert_int_equal(last, 999);
	dirs = world->dir_reads;
	first = world_fork(world, 1);
	world_run(world, first, 2 * MS);
	world_look(world, WTL_NS_PER_S / 10);
	assert_int_equal(first, 300);
	assert_int_equal(world_pid_use(world, first), 2 * MS);
	assert_int_equal(world->dir_reads, dirs + 1);
}

/* The last two: as many numbers as there is room to ask for, and one more. */
static void test_great_step(void **state)
{
	static const struct {
		int step;
		bool lists;
	} cases[] = {{5000, true}, {WTL_PROBE_MAX - 128, false}, {WTL_PROBE_MAX - 127, true}};
	struct world *world = *state;

	start(world);
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		unsigned dirs = world->dir_reads;
		int pid;

		world->newest += cases[i].step - 1;
		pid = world_fork(world, 1);
		world_run(world, pid, 2 * MS);
		world_look(world, WTL_NS_PER_S / 10);
		assert_int_equal(world->dir_reads, dirs + cases[i].lists);
		assert_int_equal(world_pid_use(world, pid), 2 * MS);
	}
}

static void test_no_loadavg(void **state)
{
	struct world *world = *state;
	int pid;

	world->no_loadavg = true;
	start(world);
	for (unsigned i = 0; i < 5; i++) {
		pid = world_fork(world, 1);
		world_run(world, pid, 2 * MS);
		world_look(world, WTL_NS_PER_S / 10);
		assert_int_equal(world_pid_use(world, pid), 2 * MS);
		assert_int_equal(world->dir_reads, i + 2);
	}
	assert_false(wtl_workload_means(world->workload)->ways[WTL_WAY_NEWEST_PID].is_used);
}

static void test_loadavg_stops(void **state)
{
	struct world *world = *state;
	int pid;

	start(world);
	world->no_loadavg = true;
	pid = world_fork(world, 1);
	world_run(world, pid, 2 * MS);
	world_look(world, WTL_NS_PER_S / 10);
	assert_int_equal(world_pid_use(world, pid), 2 * MS);
	world->no_loadavg = false;
	pid = world_fork(world, 1);
	world_run(world, pid, 3 * MS);
	world_look(world, WTL_NS_PER_S / 10);
	assert_int_equal(world_pid_use(world, pid), 3 * MS);
}

/* Whoever got a number in another way is found by the listing in its turn, and what it used before
 * was nobody's already. */
static void test_late(void **state)
{
	struct world *world = *state;
	int pid;

	start(world);
	world->newest += 300;
	pid = world_fork(world, 1);
	world->newest = 2;
	world_run(world, pid, 500 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_find(world->workload, pid), -ESRCH);
	assert_in_range(world_use(world, WTL_SLOT_UNSEEN), 450 * MS, 500 * MS);
	for (int i = 0; i < 12; i++)
		world_look(world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_means(world->workload)->n_found_late, 1);
	assert_int_equal(world_consumer(world, pid)->cpu_ns, 0);
	world_run(world, pid, 20 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(world, pid), 20 * MS);
}

/* A busy machine: many are born between the reading of the newest number and the listing of /proc. They are
 * no reason to trust that number less, however long it goes on, and lose nothing. */
static void test_births_beside_a_listing(void **state)
{
	struct world *world = *state;
	unsigned dirs;

	start(world);
	dirs = world->dir_reads;
	world->births_in_listing = 80;
	for (int i = 0; i < 40; i++)
		world_look(world, WTL_NS_PER_S);
	assert_int_equal(world->dir_reads, dirs + 4);
	assert_int_equal(wtl_workload_means(world->workload)->n_found_late, 0);
	assert_true(wtl_workload_means(world->workload)->ways[WTL_WAY_NEWEST_PID].is_used);
	assert_int_equal(world->billed_ns, 4 * 80 * MS);
	/* Nor is it listed more often than at each tenth look. */
	dirs = world->dir_reads;
	for (int i = 0; i < 20; i++)
		world_look(world, 5 * (int64_t)WTL_NS_PER_S);
	assert_int_equal(world->dir_reads, dirs + 2);
}

/* A few that are found late now and then, in all more than one listing may show. */
static void test_late_now_and_then(void **state)
{
	struct world *world = *state;
	int next = 1000;

	start(world);
	for (int look = 0; look < 100; look++) {
		world->newest = next++;
		world_fork(world, 1);
		world->newest = 2;
		world_look(world, WTL_NS_PER_S);
	}
	assert_true(wtl_workload_means(world->workload)->n_found_late > 80);
	assert_true(wtl_workload_means(world->workload)->ways[WTL_WAY_NEWEST_PID].is_used);
}

/* A number that stands still while processes come is no newest number. */
static void test_loadavg_lies(void **state)
{
	struct world *world = *state;
	int next = 10;

	start(world);
	for (int look = 0; look < 30; look++) {
		for (int i = 0; i < 10; i++) {
			world->newest = next++;
			world_fork(world, 1);
		}
		world->newest = 2;
		world_look(world, WTL_NS_PER_S);
	}
	assert_false(wtl_workload_means(world->workload)->ways[WTL_WAY_NEWEST_PID].is_used);
	assert_int_equal(wtl_workload_means(world->workload)->n_live, 302);
}

/* ---- Numbers used again ---- */

static void take_over(struct world *world, int pid, int64_t cpu_ns)
{
	world_end(world, pid);
	world->newest = pid - 1;
	assert_int_equal(world_fork(world, 1), pid);
	world_exec(world, pid, "second", "second");
	world_run(world, pid, cpu_ns);
}

static void test_reused(void **state)
{
	struct world *world = *state;
	int first;

	world->newest = 500;
	first = world_fork(world, 1);
	world->exits_errno = EPERM;
	world_run(world, first, 100 * MS);
	world->busy_ns = 0;
	start(world);
	world_run(world, first, 50 * MS);
	world_look(world, WTL_NS_PER_S);
	/* Its clock stands lower than the first one's. */
	take_over(world, first, 30 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(world, first), 30 * MS);
	assert_string_equal(world_consumer(world, first)->name, "second");
	assert_int_equal(world_sum(world, WTL_CONSUMER_EXITED), 50 * MS);
	assert_int_equal(wtl_workload_means(world->workload)->n_reused, 1);
	/* It stands higher, but the number was given out anew. */
	world->newest = first - 3;
	world_look(world, WTL_NS_PER_S);
	take_over(world, first, 31 * MS);
	world_exec(world, first, "third", "third");
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(world, first), 31 * MS);
	assert_string_equal(world_consumer(world, first)->name, "third");
	assert_int_equal(wtl_workload_means(world->workload)->n_reused, 2);
}

/* The numbers began anew, and one of them means another process, however little that has used since. */
static void test_reused_after_a_wrap(void **state)
{
	struct world *world = *state;
	int first;

	world->newest = 500;
	first = world_fork(world, 1);
	world->exits_errno = EPERM;
	start(world);
	world_run(world, first, 50 * MS);
	world->newest = 20000;
	world_look(world, WTL_NS_PER_S);
	take_over(world, first, 55 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(world, first), 55 * MS);
	assert_string_equal(world_consumer(world, first)->name, "second");
	assert_int_equal(world_sum(world, WTL_CONSUMER_EXITED), 50 * MS);
}

/* What one that has ended had used. */
static int64_t ended_ns(const struct world *world, int pid)
{
	for (uint32_t slot = 0; slot < wtl_workload_capacity(world->workload); slot++) {
		const struct wtl_consumer *one = wtl_workload_consumer(world->workload, slot);

		if (one && one->pid == pid && one->state == WTL_CONSUMER_EXITED)
			return one->cpu_ns;
	}
	fail_msg("%d has no account", pid);
	return 0;
}

static void test_reused_with_records(void **state)
{
	struct world *world = *state;
	int first, other;

	world->newest = 500;
	first = world_fork(world, 1);
	other = world_fork(world, 1);
	start(world);
	world_run(world, first, 50 * MS);
	world_run(world, other, 10 * MS);
	world->newest = 20000;
	world_look(world, WTL_NS_PER_S);
	world_run(world, first, 5 * MS);
	world_end(world, first);
	world_run(world, other, 3 * MS);
	world_end(world, other);
	world_pass(world, 500 * MS);
	world->newest = first - 1;
	world_fork(world, 1);
	assert_int_equal(world_fork(world, 1), other);
	world_exec(world, first, "second", "second");
	world_run(world, first, 70 * MS);
	world_run(world, other, MS);
	world_look(world, 500 * MS);
	assert_int_equal(world_pid_use(world, first), 70 * MS);
	/* Each one's last stretch is its own. */
	assert_int_equal(ended_ns(world, first), 55 * MS);
	assert_int_equal(ended_ns(world, other), 13 * MS);
	assert_int_equal(world->billed_ns, 139 * MS);
	assert_int_equal(world->accounts[WTL_SLOT_UNSEEN], 0);
}

/* Both lived for as long as one look takes, so the record of the first does not tell by its times whose it is. */
static void test_reused_at_once(void **state)
{
	struct world *world = *state;
	int first;

	start(world);
	first = world_fork(world, 1);
	world_run(world, first, 100 * MS);
	world_look(world, WTL_NS_PER_S);
	world_run(world, first, 33 * MS);
	world_end(world, first);
	world->newest = first - 1;
	assert_int_equal(world_fork(world, 1), first);
	for (int i = 0; i < 2; i++) {
		world_run(world, first, 5 * MS);
		world_look(world, WTL_NS_PER_S);
	}
	assert_int_equal(world_consumer(world, first)->cpu_ns, 10 * MS);
	assert_int_equal(ended_ns(world, first), 133 * MS);
	assert_int_equal(world->billed_ns, 143 * MS);
}

/* Found on a later turn only: what was billed stays where it is, and nothing is billed twice. */
static void test_reused_unnoticed(void **state)
{
	struct world *world = *state;
	int first = world_fork(world, 1);

	world->exits_errno = EPERM;
	start(world);
	world_run(world, first, 50 * MS);
	world_look(world, WTL_NS_PER_S);
	world->newest = first + 2000;
	world_look(world, WTL_NS_PER_S);
	take_over(world, first, 60 * MS);
	world->newest = first + 2000;
	for (int i = 0; i < 5; i++)
		world_look(world, WTL_NS_PER_S);
	assert_string_equal(world_consumer(world, first)->name, "second");
	assert_int_equal(world_consumer(world, first)->cpu_ns, 0);
	world_run(world, first, 7 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_consumer(world, first)->cpu_ns, 7 * MS);
	assert_int_equal(world_sum(world, WTL_CONSUMER_EXITED), 60 * MS);
}

/* A process that did so much and then nothing for a look; nobody gets records of ends. */
static int rest_after(struct world *world, int64_t cpu_ns)
{
	int pid = world_fork(world, 1);

	world->exits_errno = EPERM;
	start(world);
	world_run(world, pid, cpu_ns);
	world_look(world, WTL_NS_PER_S);
	world_look(world, WTL_NS_PER_S);
	return pid;
}

/* The kernel's newest number tells nothing, but the new one uses much: its start time is looked at. */
static void test_reused_out_of_order(void **state)
{
	struct world *world = *state;
	int first = rest_after(world, 100 * MS);

	take_over(world, first, 400 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(world, first), 400 * MS);
	assert_string_equal(world_consumer(world, first)->name, "second");
	assert_int_equal(world_sum(world, WTL_CONSUMER_EXITED), 100 * MS);
	assert_int_equal(wtl_workload_means(world->workload)->n_reused, 1);
	assert_int_equal(world->accounts[WTL_SLOT_UNSEEN], 0);
}

/* Used little at first: billed to the one that had the number, and not once more. */
static void test_reused_noticed_later(void **state)
{
	struct world *world = *state;
	int first = rest_after(world, 50 * MS);

	take_over(world, first, 60 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(world, first), 10 * MS);
	world_run(world, first, 30 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(world, first), 30 * MS);
	assert_string_equal(world_consumer(world, first)->name, "second");
	assert_int_equal(world_sum(world, WTL_CONSUMER_EXITED), 60 * MS);
}

/* The record of its end says that whoever answers next is another one, however little that does. */
static void test_reused_after_a_record(void **state)
{
	struct world *world = *state;
	int first = world_fork(world, 1), second = world_fork(world, 1);

	start(world);
	world_run(world, first, 50 * MS);
	world_run(world, second, 50 * MS);
	world_look(world, WTL_NS_PER_S);
	world_look(world, WTL_NS_PER_S);
	/* Replaced within a second: noticed when it does something again. */
	take_over(world, first, 52 * MS);
	world->newest = second;
	/* A zombie for some looks before that. */
	world_exit(world, second);
	world_look(world, WTL_NS_PER_S);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_means(world->workload)->n_reused, 0);
	world_run(world, first, 3 * MS);
	world_reap(world, second);
	world->newest = second - 1;
	assert_int_equal(world_fork(world, 1), second);
	world_run(world, second, 55 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_means(world->workload)->n_reused, 2);
	assert_int_equal(world_consumer(world, first)->cpu_ns, 3 * MS);
	assert_int_equal(world_consumer(world, second)->cpu_ns, 55 * MS);
	assert_int_equal(world_sum(world, WTL_CONSUMER_EXITED), 102 * MS);
}

/* Nobody ever read who had the number: it was there when all began, and this one began later. */
static void test_reused_of_unread(void **state)
{
	const struct wtl_workload_options options = {.names_on_use = true};
	struct world *world = *state;
	int first = world_fork(world, 1), other = world_fork(world, 1);
	uint32_t slot;

	world_exec(world, first, "first", "first");
	world_run(world, first, 300 * MS);
	world_run(world, other, 300 * MS);
	world->busy_ns = 0;
	world_open(world, &options);
	world_look(world, WTL_NS_PER_S);
	slot = (uint32_t)wtl_workload_find(world->workload, first);
	world_look(world, WTL_NS_PER_S);
	assert_string_equal(world_consumer(world, first)->name, "");
	take_over(world, first, 400 * MS);
	world->newest = other;
	world_run(world, other, 40 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(world, first), 400 * MS);
	assert_string_equal(world_consumer(world, first)->name, "second");
	/* The one that was there is told by its record. */
	assert_int_equal(wtl_workload_consumer(world->workload, slot)->state, WTL_CONSUMER_EXITED);
	assert_string_equal(wtl_workload_consumer(world->workload, slot)->name, "first");
	assert_int_equal(world_pid_use(world, other), 40 * MS);
	assert_int_equal(wtl_workload_means(world->workload)->n_reused, 1);
}

/* Whoever came later goes on as the same, however much it uses; so does a parent whose files were closed for a while. */
static void test_goes_on(void **state)
{
	struct world *world = *state;
	int parent, child;

	start(world);
	world_look(world, WTL_NS_PER_S);
	parent = world_fork(world, 1);
	world_at(world, parent)->is_closed = true;
	child = world_fork(world, parent);
	wtl_workload_follow_tree(world->workload, child);
	for (int i = 0; i < 4; i++) {
		world_run(world, child, 200 * MS);
		world_run(world, parent, MS);
		world_look(world, WTL_NS_PER_S);
		world_at(world, parent)->is_closed = false;
	}
	assert_int_equal(world_consumer(world, child)->cpu_ns, 800 * MS);
	/* Two ways to read a clock may differ by a millisecond; by more, it is another one's. */
	world_at(world, child)->cpu_ns -= MS;
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_means(world->workload)->n_reused, 0);
	world_at(world, child)->cpu_ns -= 1;
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_means(world->workload)->n_reused, 1);
}

/* A copy of another machine's /proc, which has been up for longer. */
static void test_starts_to_come(void **state)
{
	const struct wtl_workload_options options = {.names_on_use = true};
	struct world *world = *state;
	int first = world_fork(world, 1);

	world_at(world, first)->start_ns = world->boot_ns + 3600 * (int64_t)WTL_NS_PER_S;
	world_run(world, first, 300 * MS);
	world->busy_ns = 0;
	world_open(world, &options);
	world_look(world, WTL_NS_PER_S);
	for (int i = 0; i < 3; i++) {
		world_run(world, first, 400 * MS);
		world_look(world, WTL_NS_PER_S);
		assert_int_equal(world_pid_use(world, first), 400 * MS);
	}
	assert_int_equal(wtl_workload_means(world->workload)->n_reused, 0);
	assert_int_equal(world_sum(world, WTL_CONSUMER_LIVE), 1200 * MS);
}

/* ---- Who is asked, and who cannot be seen ---- */

/* The thread that asks answers with the clock of its whole process. */
static void test_own_thread(void **state)
{
	struct world *world = *state;

	start(world);
	world->newest += 5;
	world->own_thread = world->newest;
	world_look(world, WTL_NS_PER_S / 10);
	assert_int_equal(wtl_workload_find(world->workload, world->own_thread), -ESRCH);
	assert_int_equal(world->billed_ns, 0);
	/* The process itself is one like others. */
	world->own_thread = world->self = world_fork(world, 1);
	world_run(world, world->self, 5 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(world, world->self), 5 * MS);
}

static void test_hidepid(void **state)
{
	struct world *world = *state;
	int old = world_fork(world, 1), fresh;

	world_put(world, "/proc/self/mountinfo",
		  "20 1 0:5 / /proc rw,relatime shared:2 - proc proc rw,hidepid=2\n");
	world_put(world, "/proc/sys/kernel/pid_max", "131072\n");
	for (int pid = 1; pid <= old; pid++)
		world_at(world, pid)->is_closed = world_at(world, pid)->is_unlisted = true;
	world_open(world, NULL);
	world_look(world, WTL_NS_PER_S);
	fresh = world_fork(world, 1);
	world_at(world, fresh)->is_closed = world_at(world, fresh)->is_unlisted = true;
	world_run(world, fresh, 5 * MS);
	world_run(world, old, 6 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(world, fresh), 5 * MS);
	assert_int_equal(world_pid_use(world, old), 6 * MS);
	assert_false(world_consumer(world, old)->is_readable);
	assert_false(wtl_workload_means(world->workload)->ways[WTL_WAY_VISIBLE].is_used);
	assert_non_null(wtl_workload_means(world->workload)->ways[WTL_WAY_VISIBLE].remedy);
}

/* Where /proc hides it, and nothing leads to it but its number. */
static int start_beside_hidden(struct world *world)
{
	int pid;

	world_put(world, "/proc/self/mountinfo",
		  "20 1 0:5 / /proc rw,relatime shared:2 - proc proc rw,hidepid=2\n");
	world->newest = 3 * WTL_PROBE_MAX;
	pid = world_fork(world, 1);
	world->newest += 1000;
	world_at(world, 1)->is_closed = world_at(world, 1)->is_unlisted = true;
	world_at(world, pid)->is_closed = world_at(world, pid)->is_unlisted = true;
	start(world);
	return pid;
}

/* Its record comes before anything has led to it, and its clock answers as long as nobody waits for it. */
static void test_hidepid_ends_unseen(void **state)
{
	struct world *world = *state;
	int pid = start_beside_hidden(world);

	world_run(world, pid, 6 * MS);
	world_exit(world, pid);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world->billed_ns, 6 * MS);
	world_reap(world, pid);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world->billed_ns, 6 * MS);
	assert_int_equal(world_sum(world, WTL_CONSUMER_EXITED), 6 * MS);
}

/* Where the highest number is not said either, it may be any that the kernel has. */
static void test_hidepid_of_a_high_number(void **state)
{
	struct world *world = *state;
	int pid = start_beside_hidden(world);

	for (int i = 0; i < 4; i++)
		world_look(world, WTL_NS_PER_S);
	world_run(world, pid, 6 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(world, pid), 6 * MS);
}

/* Hidden numbers are tried up to pid_max, then from the first again: so a number that was passed before it was used is found. */
static void test_hidepid_of_a_number_passed(void **state)
{
	struct world *world = *state;
	int newest, pid;

	assert_int_equal(4 * WTL_PROBE_MAX + 1, 16385);
	world_put(world, "/proc/sys/kernel/pid_max", "16385\n");
	start_beside_hidden(world);
	newest = world->newest;
	world->newest = 500;
	pid = world_fork(world, 1);
	world_at(world, pid)->is_closed = world_at(world, pid)->is_unlisted = true;
	world->newest = newest;
	world_run(world, pid, 500 * MS);
	for (int i = 0; i < 3; i++)
		world_look(world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_find(world->workload, pid), -ESRCH);
	world_look(world, WTL_NS_PER_S);
	world_run(world, pid, 6 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_consumer(world, pid)->cpu_ns, 6 * MS);
}

/* Exit records tell of everybody; what /proc hides stays hidden, and all that was used is billed. */
static void test_hidepid_with_records(void **state)
{
	struct world *world = *state;
	int theirs = world_fork(world, 1), ours, born;
	uint32_t slot;

	world_put(world, "/proc/self/mountinfo",
		  "20 1 0:5 / /proc rw,relatime shared:2 - proc proc rw,hidepid=2\n");
	world_put(world, "/proc/self/status", "Tgid:\t77\nUid:\t1000\t1000\nNSpid:\t77\n");
	world_put(world, "/proc/sys/kernel/pid_max", "131072\n");
	strcpy(world_at(world, theirs)->name, "secret");
	for (int pid = 1; pid <= theirs; pid++)
		world_at(world, pid)->is_closed = world_at(world, pid)->is_unlisted = true;
	ours = world_fork(world, 1);
	world_at(world, ours)->uid = 1000;
	world_open(world, NULL);
	world_look(world, WTL_NS_PER_S);
	/* Two lives between two looks; then one that was followed ends. */
	born = world_child(world, ours, "mine", 3 * MS);
	world_child(world, theirs, "secret", 5 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_true(born > 0);
	assert_non_null(world_row(world, "mine", NULL));
	assert_int_equal(world_row(world, "mine", NULL)->uid, 1000);
	assert_null(world_row(world, "secret", NULL));
	assert_non_null(world_row(world, "", &slot));
	assert_int_equal(world_row(world, "", NULL)->uid, UINT32_MAX);
	assert_int_equal(world_use(world, slot), 5 * MS);
	slot = (uint32_t)wtl_workload_find(world->workload, theirs);
	world_run(world, theirs, 7 * MS);
	world_end(world, theirs);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_use(world, slot), 7 * MS);
	assert_string_equal(wtl_workload_consumer(world->workload, slot)->name, "");
	assert_int_equal(wtl_workload_consumer(world->workload, slot)->uid, UINT32_MAX);
	assert_int_equal(wtl_workload_consumer(world->workload, slot)->pid, theirs);
}

/* Everyone is listed, but closed. */
static void test_hidepid_noaccess(void **state)
{
	struct world *world = *state;

	world_put(world, "/proc/self/mountinfo",
		  "20 1 0:5 / /proc rw,relatime shared:2 - proc proc rw,hidepid=noaccess\n");
	world_at(world, 1)->is_closed = true;
	start(world);
	assert_false(wtl_workload_means(world->workload)->ways[WTL_WAY_VISIBLE].is_used);
	assert_int_equal(wtl_workload_means(world->workload)->n_unreadable, 1);
	assert_false(world_consumer(world, 1)->is_readable);
	assert_true(world_consumer(world, 2)->is_readable);
}

/* The mount option does not hold for us. */
static void test_hidepid_of_others(void **state)
{
	struct world *world = *state;

	world_put(world, "/proc/self/mountinfo",
		  "20 1 0:5 / /proc rw,relatime shared:2 - proc proc rw,hidepid=invisible\n");
	start(world);
	assert_true(wtl_workload_means(world->workload)->ways[WTL_WAY_VISIBLE].is_used);
}

/* Where clocks are files, nobody's are opened to see whether there is one. */
static void test_hidepid_without_clocks(void **state)
{
	struct world *world = *state;
	unsigned opens;

	world->no_clocks = true;
	start_beside_hidden(world);
	opens = world->opens;
	world_fork(world, 1);
	for (int i = 0; i < 4; i++)
		world_look(world, WTL_NS_PER_S);
	assert_in_range(world->opens - opens, 1, 50);
}

/* /proc lists numbers that the clocks do not know. With fewer than 8, all may just have ended. */
static void test_foreign_proc(void **state)
{
	struct world *world = *state;
	int first = 0;

	world->foreign = true;
	for (int i = 2; i < 7; i++)
		world_fork(world, 1);
	start(world);
	assert_int_equal(wtl_workload_means(world->workload)->n_live, 0);
	world_done(world);
	world_init(world);
	for (int i = 2; i < 8; i++) {
		int pid = world_fork(world, 1);

		first = first ? first : pid;
	}
	/* They are listed and have files, and no clock: as when the clocks are another namespace's. */
	world->foreign = true;
	start(world);
	assert_false(wtl_workload_means(world->workload)->ways[WTL_WAY_CPU_CLOCKS].is_used);
	world_run(world, first, 40 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(world, first), 40 * MS);
}

/* ---- Many ---- */

static void test_many(void **state)
{
	struct world *world = *state;
	struct wtl_workload_options options = {.reads_per_scan = 100};
	uint64_t sum = 0;
	int last = 0;

	world_open(world, &options);
	world_look(world, WTL_NS_PER_S);
	for (int i = 0; i < 50000; i++)
		last = world_fork(world, 1);
	world->n_cpus = 60;
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_means(world->workload)->n_live, 50002);
	assert_int_equal(wtl_workload_means(world->workload)->n_unfollowed, 0);
	for (int pid = 3; pid <= last; pid += 7) {
		world_run(world, pid, pid);
		sum += (uint64_t)pid;
	}
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world->billed_ns, sum);
	for (int pid = 3; pid <= last; pid++)
		if (pid % 5)
			world_end(world, pid);
	world_look(world, WTL_NS_PER_S);
	for (int i = 0; i < 3; i++)
		world_look(world, WTL_NS_PER_S);
	/* Ended ones are folded beyond 4096; nothing is lost by that. */
	assert_int_equal(world->billed_ns, sum);
	assert_true(wtl_workload_means(world->workload)->n_live < 10010);
}

/* There is room at once for all whom the first listing shows; later, twice as much as there was. */
static void test_room(void **state)
{
	struct world *world = *state;

	for (int i = 0; i < 990; i++)
		world_fork(world, 1);
	start(world);
	/* With init, kthreadd and four names that are no process. */
	assert_int_equal(wtl_workload_capacity(world->workload), 996 * 9 / 8);
	world->newest += 5000;
	for (int i = 0; i < 300; i++)
		world_fork(world, 1);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_capacity(world->workload), 996 * 9 / 8 * 2);
}

static unsigned n_exited(const struct world *world)
{
	unsigned n = 0;

	for (uint32_t slot = wtl_workload_next(world->workload, 0);
	     slot < wtl_workload_capacity(world->workload);
	     slot = wtl_workload_next(world->workload, slot + 1))
		n += wtl_workload_consumer(world->workload, slot)->state == WTL_CONSUMER_EXITED;
	return n;
}

/* More than there are slots for: the others are nobody's, and said so. */
static void test_full(void **state)
{
	struct world *world = *state;
	struct wtl_workload_options options = {.max_slots =
						       1}; /* less than there are at least: 64 */
	int pids[100];
	unsigned before;

	world_open(world, &options);
	world_look(world, WTL_NS_PER_S);
	for (int i = 0; i < 100; i++)
		pids[i] = world_fork(world, 1);
	assert_int_equal(world_look(world, WTL_NS_PER_S), 0);
	assert_int_equal(wtl_workload_capacity(world->workload), 64);
	assert_true(wtl_workload_means(world->workload)->n_unfollowed >= 45);
	assert_non_null(strstr(wtl_workload_means(world->workload)->ways[WTL_WAY_VISIBLE].reason,
			       "for which there was no room"));
	assert_int_equal(wtl_workload_find(world->workload, pids[99]), -ESRCH);
	world_run(world, pids[0], 300 * MS);
	world_run(world, pids[99], 300 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(world, pids[0]), 300 * MS);
	assert_in_range(world_use(world, WTL_SLOT_UNSEEN), 250 * MS, 300 * MS);
	/* So is another one with the number of one of them, whose slot is kept until the next look. */
	take_over(world, pids[0], 200 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_find(world->workload, pids[0]), -ESRCH);
	assert_in_range(world_use(world, WTL_SLOT_UNSEEN), 150 * MS, 200 * MS);
	/* Those that end make room, not all at once. */
	for (int i = 0; i < 90; i++)
		world_end(world, pids[i]);
	world_look(world, WTL_NS_PER_S);
	world_look(world, WTL_NS_PER_S);
	before = n_exited(world);
	assert_in_range(before, 40, 60);
	world_fork(world, 1);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(n_exited(world), before - before / 8 - 2);
	for (int i = 0; i < 30; i++)
		pids[i] = world_fork(world, 1);
	world_look(world, WTL_NS_PER_S);
	for (int i = 0; i < 30; i++)
		assert_true(wtl_workload_find(world->workload, pids[i]) >= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_by_number, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_quiet, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_slow_birth, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_wrap, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_great_step, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_no_loadavg, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_loadavg_stops, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_late, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_births_beside_a_listing, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_late_now_and_then, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_loadavg_lies, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_reused, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_reused_after_a_wrap, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_goes_on, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_reused_with_records, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_reused_unnoticed, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_reused_out_of_order, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_reused_noticed_later, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_reused_at_once, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_reused_after_a_record, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_reused_of_unread, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_starts_to_come, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_own_thread, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_hidepid, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_hidepid_ends_unseen, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_hidepid_of_a_high_number, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_hidepid_of_a_number_passed, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_hidepid_with_records, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_hidepid_noaccess, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_hidepid_of_others, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_hidepid_without_clocks, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_foreign_proc, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_many, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_room, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_full, world_setup, world_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
