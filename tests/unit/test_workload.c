/* SPDX-License-Identifier: MIT */
/* Who ran, look by look: live processes, names, trees, what the machine does beside them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/remedy.h"
#include "energy/units.h"
#include "unit.h"
#include "world.h"

enum { MS = 1000000 };

/* Three processes below init, a first look behind them. */
static void start(struct world *world, int pids[3])
{
	for (int i = 0; i < 3; i++) {
		pids[i] = world_fork(world, 1);
		world_run(world, pids[i], 100 * (i + 1) * MS);
	}
	world->busy_ns = 0;
	world_open(world, NULL);
	assert_int_equal(world_look(world, WTL_NS_PER_S), 0);
}

static void test_first_look(void **state)
{
	struct world *world = *state;
	const struct wtl_workload_scan *look;
	int pids[3];

	start(world, pids);
	look = wtl_workload_scan(world->workload);
	assert_int_equal(look->n_uses, 0);
	assert_int_equal(look->n_folds, 0);
	assert_int_equal(look->duration_ns, 0);
	assert_int_equal(look->capacity_ns, 0);
	assert_int_equal(look->busy_ns, 0);
	assert_int_equal(look->t_mono_ns, world->mono_ns);
	assert_int_equal(wtl_workload_means(world->workload)->n_live, 5);
}

static void test_uses(void **state)
{
	struct world *world = *state;
	const struct wtl_workload_scan *look;
	int pids[3];

	start(world, pids);
	world_run(world, pids[0], 300 * MS);
	world_run(world, pids[2], 123456789);
	assert_int_equal(world_look(world, WTL_NS_PER_S), 0);
	look = wtl_workload_scan(world->workload);
	assert_int_equal(look->n_uses, 2);
	assert_int_equal(world_pid_use(world, pids[0]), 300 * MS);
	assert_int_equal(world_pid_use(world, pids[1]), 0);
	assert_int_equal(world_pid_use(world, pids[2]), 123456789);
	assert_int_equal(look->duration_ns, WTL_NS_PER_S);
	assert_int_equal(look->capacity_ns, 2 * WTL_NS_PER_S);
	assert_int_equal(look->busy_ns, 423456789);
	assert_int_equal(world_consumer(world, pids[0])->cpu_ppm, 300000);
	/* The next interval's share is its own. */
	assert_int_equal(world_look(world, WTL_NS_PER_S), 0);
	assert_int_equal(world_consumer(world, pids[0])->cpu_ppm, 0);
	assert_int_equal(world_consumer(world, pids[0])->cpu_ns, 300 * MS);
}

static void test_no_second_cost(void **state)
{
	struct world *world = *state;
	int pids[3];
	unsigned opens, dirs, asks;

	start(world, pids);
	for (int i = 0; i < 5; i++)
		world_look(world, WTL_NS_PER_S / 10);
	opens = world->opens;
	dirs = world->dir_reads;
	asks = world->clock_asks;
	for (int i = 0; i < 5; i++)
		world_look(world, WTL_NS_PER_S / 10);
	/* One question for everybody's time; a process's names now and then; nothing is listed. */
	assert_int_equal(world->clock_asks, asks + 5);
	assert_int_equal(world->dir_reads, dirs);
	assert_true(world->opens <= opens + 5 * 4);
}

static void test_names(void **state)
{
	struct world *world = *state;
	const struct wtl_consumer *consumer;
	int pid;

	pid = world_fork(world, 1);
	world_exec(world, pid, "a) (b R 1", "");
	memcpy(world_at(world, pid)->command, "/bin/a\0-x\0\033[31mred\0\xff\0", 21);
	world_at(world, pid)->command_len = 21;
	world_at(world, pid)->uid = 1234;
	world_at(world, pid)->n_threads = 7;
	strcpy(world_at(world, pid)->cgroup, "/system.slice/ssh.service");
	world_open(world, NULL);
	world_look(world, WTL_NS_PER_S);
	consumer = world_consumer(world, pid);
	assert_int_equal(consumer->state, WTL_CONSUMER_LIVE);
	assert_int_equal(consumer->pid, pid);
	assert_int_equal(consumer->parent, 1);
	assert_string_equal(consumer->name, "a) (b R 1");
	assert_string_equal(consumer->command, "/bin/a -x ?[31mred ?");
	assert_int_equal(consumer->uid, 1234);
	assert_int_equal(consumer->n_threads, 7);
	assert_int_equal(consumer->n_processes, 1);
	assert_true(consumer->is_readable);
	assert_int_equal(consumer->start_ns, world_at(world, pid)->start_ns);
	assert_string_equal(consumer->group->unit, "ssh.service");
	assert_int_equal(consumer->rss_bytes, 1000 * 1024);
	assert_true(consumer->pss_bytes == UINT64_MAX);
	assert_int_equal(world_consumer(world, 2)->state, WTL_CONSUMER_KERNEL);
	assert_int_equal(world_consumer(world, 2)->rss_bytes, 0);
	assert_null(world_consumer(world, 2)->command);
	/* Equal groups are one. */
	assert_ptr_equal(world_consumer(world, 1)->group, world_consumer(world, 2)->group);
}

/* The kernel shows what has ended in "/": what it used stays its group's. */
static void test_groups_of_the_ended(void **state)
{
	struct world *world = *state;
	int pid = world_fork(world, 1), moved = world_fork(world, 1);

	strcpy(world_at(world, pid)->cgroup, "/slurm/uid_0/job_7/step_batch");
	strcpy(world_at(world, moved)->cgroup, "/slurm/uid_0/job_7/step_batch");
	world_open(world, NULL);
	for (int i = 0; i < 3; i++) {
		world_run(world, pid, WTL_NS_PER_S / 4);
		world_run(world, moved, WTL_NS_PER_S / 4);
		world_look(world, WTL_NS_PER_S);
	}
	assert_string_equal(world_consumer(world, pid)->group->job, "slurm/7");
	world_run(world, pid, WTL_NS_PER_S / 4);
	world_exit(world, pid);
	/* One that lives and is in another group now belongs there. */
	strcpy(world_at(world, moved)->cgroup, "/");
	for (int i = 0; i < 40; i++) {
		world_run(world, moved, WTL_NS_PER_S / 4);
		world_look(world, WTL_NS_PER_S);
	}
	assert_string_equal(world_consumer(world, pid)->group->job, "slurm/7");
	assert_string_equal(world_consumer(world, moved)->group->cgroup, "/");
}

static void test_exec_shows(void **state)
{
	struct world *world = *state;
	int pids[3], pid;

	start(world, pids);
	pid = world_fork(world, pids[0]);
	world_run(world, pid, MS);
	world_look(world, WTL_NS_PER_S);
	assert_string_equal(world_consumer(world, pid)->name, "init");
	/* A child that becomes another program soon after is read again soon. */
	world_exec(world, pid, "cc1", "cc1 -O2");
	world_run(world, pid, MS);
	world_look(world, WTL_NS_PER_S);
	assert_string_equal(world_consumer(world, pid)->name, "cc1");
	assert_string_equal(world_consumer(world, pid)->command, "cc1 -O2");
	/* And sooner or later whoever does so late. */
	world_exec(world, pids[1], "late", "late");
	world_run(world, pids[1], MS);
	for (int i = 0; i < 10; i++)
		world_look(world, WTL_NS_PER_S);
	assert_string_equal(world_consumer(world, pids[1])->name, "late");
}

static void test_reads_are_bounded(void **state)
{
	struct world *world = *state;
	const struct wtl_workload_options options = {.reads_per_scan = 10};
	int last = 0;
	unsigned opens;

	for (int i = 0; i < 100; i++)
		last = world_fork(world, 1);
	world_open(world, &options);
	opens = world->opens;
	world_look(world, WTL_NS_PER_S);
	assert_true(world->opens - opens <= 10 * 4);
	assert_string_equal(world_consumer(world, last)->name, "");
	/* Whoever runs comes first. */
	world_run(world, last, MS);
	world_look(world, WTL_NS_PER_S);
	assert_string_equal(world_consumer(world, last)->name, "init");
	for (int i = 0; i < 12; i++)
		world_look(world, WTL_NS_PER_S);
	for (int pid = 1; pid <= last; pid++)
		assert_true(world_consumer(world, pid)->name[0] != '\0');
}

/* Of more than can be read in one look, those that use the most have names first, whoever was there first. */
static void test_reads_begin_with_the_busiest(void **state)
{
	enum { BUSY = 60, READS = 10 };
	struct world *world = *state;
	const struct wtl_workload_options options = {.reads_per_scan = READS};
	int pids[BUSY];
	unsigned n_named = 0;

	for (int i = 0; i < BUSY; i++)
		pids[i] = world_fork(world, 1);
	world_at(world, pids[BUSY - 2])->is_kernel = true;
	world_open(world, &options);
	world_look(world, WTL_NS_PER_S);
	for (int i = 0; i < BUSY; i++)
		world_run(world, pids[i], (i + 1) * MS);
	world_look(world, WTL_NS_PER_S);
	for (int i = 0; i < BUSY; i++)
		n_named += world_consumer(world, pids[i])->name[0] != '\0';
	/* The first look had those that came first, and so many are read again. */
	assert_in_range(n_named, READS + 1, 2 * READS);
	for (int i = BUSY - READS; i < BUSY; i++)
		assert_string_equal(world_consumer(world, pids[i])->name, "init");
	assert_int_equal(world_consumer(world, pids[BUSY - 2])->state, WTL_CONSUMER_KERNEL);
	/* Each is read twice. */
	for (int look = 0; look < 2 * BUSY / READS; look++) {
		for (int i = 0; i < BUSY; i++)
			world_run(world, pids[i], (i + 1) * MS);
		world_look(world, WTL_NS_PER_S);
	}
	for (int i = 0; i < BUSY; i++)
		assert_string_equal(world_consumer(world, pids[i])->name, "init");
}

/* For a picture that has no second one: also whoever does nothing, and beyond what a look may read. */
static void test_reads_of_all_when_told(void **state)
{
	enum { RESTING = 100, BUSY = 50 };
	struct world *world = *state;
	const struct wtl_workload_options options = {.reads_per_scan = 10};
	int pids[RESTING + BUSY];
	unsigned opens;

	for (int i = 0; i < RESTING + BUSY; i++)
		pids[i] = world_fork(world, 1);
	world_at(world, pids[RESTING - 1])->is_kernel = true;
	world_open(world, &options);
	world_look(world, WTL_NS_PER_S);
	assert_string_equal(world_consumer(world, pids[RESTING - 1])->name, "");
	assert_int_equal(world_consumer(world, pids[RESTING - 1])->state, WTL_CONSUMER_LIVE);
	for (int i = RESTING; i < RESTING + BUSY; i++)
		world_run(world, pids[i], MS);
	wtl_workload_name_all(world->workload);
	world_look(world, WTL_NS_PER_S);
	for (int i = 0; i < RESTING + BUSY; i++) {
		assert_string_equal(world_consumer(world, pids[i])->name, "init");
		assert_true(world_consumer(world, pids[i])->uid != UINT32_MAX);
	}
	assert_int_equal(world_consumer(world, pids[RESTING - 1])->state, WTL_CONSUMER_KERNEL);
	/* For one look. */
	for (int i = 0; i < RESTING; i++) {
		pids[i] = world_fork(world, 1);
		world_run(world, pids[i], MS);
	}
	opens = world->opens;
	world_look(world, WTL_NS_PER_S);
	/* Everybody born is asked for a parent, and ten for the rest. */
	assert_true(world->opens - opens <= RESTING + 10 * 4);
}

static void test_unreadable(void **state)
{
	struct world *world = *state;
	int pids[3];

	for (int i = 0; i < 3; i++)
		pids[i] = world_fork(world, 1);
	world_at(world, pids[1])->is_closed = true;
	world_open(world, NULL);
	world_look(world, WTL_NS_PER_S);
	world_run(world, pids[1], 50 * MS);
	world_run(world, pids[2], 60 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(world, pids[1]), 50 * MS);
	assert_int_equal(world_pid_use(world, pids[2]), 60 * MS);
	assert_false(world_consumer(world, pids[1])->is_readable);
	assert_string_equal(world_consumer(world, pids[1])->name, "");
	assert_true(world_consumer(world, pids[1])->uid == UINT32_MAX);
	assert_true(world_consumer(world, pids[2])->is_readable);
	assert_int_equal(wtl_workload_means(world->workload)->n_unreadable, 1);
	/* Until it becomes another program, which is not. */
	world_at(world, pids[1])->is_closed = false;
	for (int i = 0; i < 3; i++) {
		world_run(world, pids[1], 50 * MS);
		world_look(world, WTL_NS_PER_S);
	}
	assert_true(world_consumer(world, pids[1])->is_readable);
	assert_string_equal(world_consumer(world, pids[1])->name, "init");
	assert_int_equal(wtl_workload_means(world->workload)->n_unreadable, 0);
}

/* ---- Trees ---- */

static void test_tree(void **state)
{
	struct world *world = *state;
	int pids[3], child, grandchild, orphan, other;

	start(world, pids);
	child = world_fork(world, pids[0]);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_follow_tree(world->workload, pids[0]), 0);
	assert_true(world_consumer(world, pids[0])->is_in_tree);
	assert_true(world_consumer(world, child)->is_in_tree);
	assert_false(world_consumer(world, pids[1])->is_in_tree);
	/* Those born later, and never lost when the parent ends. */
	grandchild = world_fork(world, child);
	other = world_fork(world, pids[1]);
	world_look(world, WTL_NS_PER_S);
	world_end(world, child);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_at(world, grandchild)->parent, 1);
	assert_true(world_consumer(world, grandchild)->is_in_tree);
	assert_false(world_consumer(world, other)->is_in_tree);
	/* Two generations in one interval. */
	child = world_fork(world, grandchild);
	orphan = world_fork(world, child);
	world_look(world, WTL_NS_PER_S);
	assert_true(world_consumer(world, child)->is_in_tree);
	assert_true(world_consumer(world, orphan)->is_in_tree);
	assert_int_equal(wtl_workload_follow_tree(world->workload, 99999), -ESRCH);
	assert_int_equal(wtl_workload_follow_tree(world->workload, 0), -ESRCH);
}

/* The command is followed as soon as it is started, before a look sees it. */
static void test_tree_of_new(void **state)
{
	struct world *world = *state;
	int pids[3], command;

	start(world, pids);
	command = world_fork(world, pids[0]);
	assert_int_equal(wtl_workload_follow_tree(world->workload, command), 0);
	world_run(world, command, 70 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(world, command), 70 * MS);
	assert_true(world_consumer(world, command)->is_in_tree);
	assert_false(world_consumer(world, pids[0])->is_in_tree);
}

static void reset(struct world *world)
{
	wtl_workload_reset(world->workload);
	memset(world->accounts, 0, world->n_accounts * sizeof(*world->accounts));
	world->billed_ns = 0;
}

/* Whoever was there before the command's first process is not of its tree, nor is it when its clock is the same to a
 * tick; and a tree that the subreaper is not the parent of has none that it adopted. */
static void test_older_child_of_subreaper(void **state)
{
	struct world *world = *state;
	/* As `run` has it: whoever rests is not read before it runs. */
	struct wtl_workload_options options = {.subreaper_pid = world_fork(world, 1),
					       .names_on_use = true};
	int older = world_fork(world, options.subreaper_pid), command, orphan, other;

	world_open(world, &options);
	world_look(world, WTL_NS_PER_S);
	command = world_fork(world, options.subreaper_pid);
	assert_int_equal(wtl_workload_follow_tree(world->workload, command), 0);
	orphan = world_fork(world, options.subreaper_pid);
	world_run(world, older, MS);
	world_look(world, WTL_NS_PER_S);
	assert_false(world_consumer(world, older)->is_in_tree);
	assert_true(world_consumer(world, orphan)->is_in_tree);
	/* The next command. */
	reset(world);
	assert_false(world_consumer(world, command)->is_in_tree);
	assert_false(world_consumer(world, orphan)->is_in_tree);
	/* Until that is started, no tree is followed. */
	older = world_fork(world, options.subreaper_pid);
	world_look(world, WTL_NS_PER_S);
	assert_false(world_consumer(world, older)->is_in_tree);
	world_end(world, command);
	older = world_fork(world, options.subreaper_pid);
	command = world_fork(world, options.subreaper_pid);
	assert_int_equal(wtl_workload_follow_tree(world->workload, command), 0);
	world_run(world, older, MS);
	world_look(world, WTL_NS_PER_S);
	assert_false(world_consumer(world, older)->is_in_tree);
	assert_false(world_consumer(world, orphan)->is_in_tree);
	assert_true(world_consumer(world, command)->is_in_tree);
	/* A tree of somebody else's. */
	reset(world);
	other = world_fork(world, 1);
	assert_int_equal(wtl_workload_follow_tree(world->workload, other), 0);
	orphan = world_fork(world, options.subreaper_pid);
	world_look(world, WTL_NS_PER_S);
	assert_true(world_consumer(world, other)->is_in_tree);
	assert_false(world_consumer(world, orphan)->is_in_tree);
}

/* A machine that makes a control group for each of its jobs. */
static void test_groups_without_end(void **state)
{
	enum { JOBS = 600, LOOKS = 60 };
	struct world *world = *state;
	struct wtl_workload_options options = {.max_exited = 100, .reads_per_scan = 4096};
	int jobs[JOBS], n = 0;
	char unit[32];

	world_open(world, &options);
	world_look(world, WTL_NS_PER_S);
	for (int look = 0; look < LOOKS; look++) {
		for (int i = 0; i < JOBS; i++) {
			jobs[i] = world_fork(world, 1);
			snprintf(world_at(world, jobs[i])->cgroup,
				 sizeof(world_at(world, 1)->cgroup), "/ci.slice/job-%d.service",
				 n++);
			world_run(world, jobs[i], MS);
		}
		world_look(world, WTL_NS_PER_S);
		if (look == LOOKS - 1)
			break;
		for (int i = 0; i < JOBS; i++)
			world_end(world, jobs[i]);
	}
	for (int i = 0; i < JOBS; i++) {
		assert_non_null(world_consumer(world, jobs[i])->group);
		snprintf(unit, sizeof(unit), "job-%d.service", n - JOBS + i);
		assert_string_equal(world_consumer(world, jobs[i])->group->unit, unit);
	}
}

static void test_tree_of_subreaper(void **state)
{
	struct world *world = *state;
	struct wtl_workload_options options = {.subreaper_pid = world_fork(world, 1)};
	int command, orphan, sibling;

	command = world_fork(world, options.subreaper_pid);
	world_open(world, &options);
	world_look(world, WTL_NS_PER_S);
	sibling = world_fork(world, options.subreaper_pid);
	world_look(world, WTL_NS_PER_S);
	assert_false(world_consumer(world, sibling)->is_in_tree);
	wtl_workload_follow_tree(world->workload, command);
	/* Its parent came and went between two looks; the subreaper adopted it. */
	orphan = world_fork(world, options.subreaper_pid);
	world_look(world, WTL_NS_PER_S);
	assert_true(world_consumer(world, orphan)->is_in_tree);
	assert_false(world_consumer(world, options.subreaper_pid)->is_in_tree);
}

/* ---- The machine ---- */

static void test_unseen(void **state)
{
	struct world *world = *state;
	int pids[3];

	start(world, pids);
	world_run(world, pids[0], 100 * MS);
	world_unseen(world, 400 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(world, pids[0]), 100 * MS);
	assert_in_range(world_use(world, WTL_SLOT_UNSEEN), 360 * MS, 400 * MS);
	/* What was held back is not lost, nor billed twice. */
	for (int i = 0; i < 20; i++) {
		world_unseen(world, 50 * MS);
		world_look(world, WTL_NS_PER_S);
	}
	assert_in_range(world->accounts[WTL_SLOT_UNSEEN], 1330 * MS, 1400 * MS);
}

/* Columns cut to 10 ms are no use of anybody's. */
static void test_no_phantoms(void **state)
{
	struct world *world = *state;
	int pids[3];

	start(world, pids);
	for (int i = 0; i < 500; i++) {
		world_run(world, pids[i % 3], 7 * MS + i * 1009);
		world_look(world, 93 * MS + i * 7919);
	}
	assert_int_equal(world->accounts[WTL_SLOT_UNSEEN], 0);
}

static const char *busy_reason(const struct world *world)
{
	return wtl_workload_means(world->workload)->ways[WTL_WAY_BUSY_TIME].reason;
}

static void test_interrupts(void **state)
{
	struct world *world = *state;
	int pids[3];

	world->irq_ns = 50 * MS;
	start(world, pids);
	world_run(world, pids[0], 500 * MS);
	world_unseen(world, 300 * MS);
	world->irq_ns += 100 * MS;
	world->softirq_ns += 150 * MS;
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_use(world, WTL_SLOT_INTERRUPTS), 250 * MS);
	assert_true(world_use(world, WTL_SLOT_UNSEEN) <= 50 * MS);
	/* Never more than there was. */
	world_run(world, pids[0], 1900 * MS);
	world->softirq_ns += 1500 * MS;
	world_look(world, WTL_NS_PER_S);
	assert_true(world_use(world, WTL_SLOT_INTERRUPTS) <= 110 * MS);
	assert_true(wtl_workload_scan(world->workload)->busy_ns <= 2 * WTL_NS_PER_S);
	assert_non_null(strstr(busy_reason(world), ", interrupts apart"));
}

/* A kernel that does not count them apart: samples, which are nobody's. */
static void test_sampled_interrupts(void **state)
{
	struct world *world = *state;
	int pids[3];

	start(world, pids);
	world_unseen(world, 300 * MS);
	world->softirq_ns += 200 * MS;
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_use(world, WTL_SLOT_INTERRUPTS), 0);
	assert_true(world_use(world, WTL_SLOT_UNSEEN) > 250 * MS);
	assert_non_null(strstr(busy_reason(world), "does not count interrupts apart"));
}

static void test_stolen(void **state)
{
	struct world *world = *state;
	int pids[3];

	start(world, pids);
	world_unseen(world, WTL_NS_PER_S);
	world->steal_ns += WTL_NS_PER_S;
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_use(world, WTL_SLOT_UNSEEN), 0);
}

static void test_hotplug_and_suspend(void **state)
{
	struct world *world = *state;
	int pids[3];

	start(world, pids);
	world->n_cpus = 8;
	world->idle_ns += 5000 * (int64_t)WTL_NS_PER_S;
	world_run(world, pids[0], 10 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_scan(world->workload)->capacity_ns, 8 * WTL_NS_PER_S);
	assert_int_equal(world_use(world, WTL_SLOT_UNSEEN), 0);
	assert_int_equal(world_pid_use(world, pids[0]), 10 * MS);
	/* A CPU's idle time may vanish with it. */
	world->n_cpus = 4;
	world->idle_ns -= 3000 * (int64_t)WTL_NS_PER_S;
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_use(world, WTL_SLOT_UNSEEN), 0);
	world->idle_ns -= 10 * (int64_t)WTL_NS_PER_S;
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_use(world, WTL_SLOT_UNSEEN), 0);
	/* An hour of sleep. */
	world->boot_ns += 3600 * (int64_t)WTL_NS_PER_S;
	world_unseen(world, 500 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_use(world, WTL_SLOT_UNSEEN), 0);
	world_unseen(world, 500 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_in_range(world_use(world, WTL_SLOT_UNSEEN), 400 * MS, 500 * MS);
}

static void test_clock_stands_or_steps(void **state)
{
	struct world *world = *state;
	int pids[3];

	start(world, pids);
	world_run(world, pids[0], 10 * MS);
	world->busy_ns = 0;
	world_look(world, 0);
	assert_int_equal(world_pid_use(world, pids[0]), 10 * MS);
	assert_int_equal(world_consumer(world, pids[0])->cpu_ppm, 0);
	world->mono_ns -= WTL_NS_PER_S;
	world_run(world, pids[0], 10 * MS);
	world->busy_ns = 0;
	world_look(world, 0);
	assert_int_equal(wtl_workload_scan(world->workload)->duration_ns, 0);
	assert_int_equal(world_pid_use(world, pids[0]), 10 * MS);
}

static void check_no_machine(struct world *world)
{
	const struct wtl_workload_way *busy;
	int pids[3];

	world->no_stat = true;
	start(world, pids);
	world_run(world, pids[0], 10 * MS);
	world_child(world, pids[1], "cc1", 5 * MS);
	world_unseen(world, 500 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(world, pids[0]), 10 * MS);
	assert_int_equal(world_row(world, "cc1", NULL)->cpu_ns, 5 * MS);
	assert_int_equal(world_use(world, WTL_SLOT_UNSEEN), 0);
	assert_int_equal(wtl_workload_scan(world->workload)->capacity_ns, 0);
	busy = &wtl_workload_means(world->workload)->ways[WTL_WAY_BUSY_TIME];
	assert_false(busy->is_used);
	assert_non_null(strstr(busy->reason, "/proc/stat cannot be read"));
}

static void test_no_machine(void **state)
{
	check_no_machine(*state);
}

static void test_machine_is_rubbish(void **state)
{
	world_put(*state, "/proc/stat", "cpu0 0 0 0 0\ncpu 1 x\n");
	check_no_machine(*state);
}

/* The machine's file is gone for a look: afterwards the sums begin anew. */
static void test_machine_vanishes(void **state)
{
	struct world *world = *state;
	int pids[3];

	start(world, pids);
	for (int look = 0; look < 3; look++) {
		world->no_stat = look == 0;
		world_unseen(world, 500 * MS);
		world_look(world, WTL_NS_PER_S);
		assert_int_equal(wtl_workload_scan(world->workload)->machine.n_cpus,
				 look == 0 ? 0 : 2);
		assert_in_range(world_use(world, WTL_SLOT_UNSEEN), look < 2 ? 0 : 450 * MS,
				look < 2 ? 0 : 500 * MS);
	}
}

/* A new number whose clock shows more than the machine can have done: it was there before, unseen. */
static void test_more_than_the_machine(void **state)
{
	struct world *world = *state;
	int pids[3];

	start(world, pids);
	for (int i = 0; i < 2; i++) {
		int pid = world_fork(world, 1);

		world->no_stat = i == 1; /* then nobody knows */
		world_at(world, pid)->cpu_ns = 5 * WTL_NS_PER_S;
		world_look(world, WTL_NS_PER_S);
		assert_int_equal(world_pid_use(world, pid), (i == 0 ? 2 : 5) * WTL_NS_PER_S);
		world_run(world, pid, 100 * MS);
		world_look(world, WTL_NS_PER_S);
		assert_int_equal(world_pid_use(world, pid), 100 * MS);
	}
}

/* Whoever is followed before the first look used nothing of its own until then. */
static void test_followed_before_the_first_look(void **state)
{
	struct world *world = *state;
	int pid = world_fork(world, 1);

	world_run(world, pid, 300 * MS);
	world_open(world, NULL);
	assert_int_equal(wtl_workload_follow_tree(world->workload, pid), 0);
	for (int i = 0; i < 2; i++)
		world_look(world, WTL_NS_PER_S);
	assert_int_equal(world->billed_ns, 0);
}

static void test_many_cpus(void **state)
{
	struct world *world = *state;
	int pids[3];

	/* More lines than fit the first buffer. */
	world->n_cpus = 60;
	start(world, pids);
	world_run(world, pids[0], 10 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_scan(world->workload)->capacity_ns, 60 * WTL_NS_PER_S);
}

/* /proc is gone, and comes back. */
static void test_proc_vanishes(void **state)
{
	struct world *world = *state;
	int pids[3];

	start(world, pids);
	world->no_proc = true;
	world_run(world, pids[0], 10 * MS);
	for (int i = 0; i < 3; i++)
		assert_int_equal(world_look(world, WTL_NS_PER_S), 0);
	assert_int_equal(world_consumer(world, pids[0])->cpu_ns, 10 * MS);
	world->no_proc = false;
	world_run(world, pids[0], 5 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_consumer(world, pids[0])->cpu_ns, 15 * MS);
}

/* ---- Accounts ---- */

static void test_reset(void **state)
{
	struct world *world = *state;
	int pids[3];

	start(world, pids);
	world_run(world, pids[0], 10 * MS);
	world_run(world, pids[1], 20 * MS);
	world_child(world, pids[2], "cc1", 5 * MS);
	assert_true(wtl_workload_outsider(world->workload, 77, "gpu thing") >= 0);
	world_look(world, WTL_NS_PER_S);
	assert_non_null(world_row(world, "cc1", NULL));
	world_end(world, pids[1]);
	world_look(world, WTL_NS_PER_S);
	wtl_workload_reset(world->workload);
	memset(world->accounts, 0, world->n_accounts * sizeof(*world->accounts));
	world->billed_ns = 0;
	assert_int_equal(wtl_workload_scan(world->workload)->n_uses, 0);
	assert_null(world_row(world, "cc1", NULL));
	assert_int_equal(world_consumer(world, pids[0])->cpu_ns, 0);
	assert_string_equal(world_consumer(world, pids[0])->name, "init");
	for (uint32_t slot = wtl_workload_next(world->workload, 0);
	     slot < wtl_workload_capacity(world->workload);
	     slot = wtl_workload_next(world->workload, slot + 1))
		assert_true(wtl_workload_consumer(world->workload, slot)->pid <= world->newest &&
			    wtl_workload_consumer(world->workload, slot)->state !=
				    WTL_CONSUMER_EXITED);
	/* What was used before is not counted, what comes is. */
	world_run(world, pids[0], 3 * MS);
	world_child(world, pids[2], "cc1", 5 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_consumer(world, pids[0])->cpu_ns, 3 * MS);
	assert_int_equal(world_row(world, "cc1", NULL)->cpu_ns, 5 * MS);
}

/* Fewer slots than are needed in any case are asked for. Where none is left, an outsider has none. */
static void test_few_slots(void **state)
{
	const struct wtl_workload_options options = {.max_slots = 1};
	struct world *world = *state;
	int64_t slot = 0;
	int n = 0;

	world_open(world, &options);
	world_look(world, WTL_NS_PER_S);
	for (; slot >= 0 && n < 1000; n++)
		slot = wtl_workload_outsider(world->workload, 5000 + n, "x");
	assert_int_equal(slot, -ENOSPC);
	assert_in_range(n, 40, 64);
	assert_true(wtl_workload_outsider(world->workload, 5000, "x") >= 0);
}

static void test_slots(void **state)
{
	static const uint32_t nobody[] = {WTL_SLOT_UNSEEN, UINT32_MAX};
	struct world *world = *state;
	int pids[3];
	size_t capacity;
	int64_t outsider;

	start(world, pids);
	capacity = wtl_workload_capacity(world->workload);
	for (uint32_t slot = 0; slot < WTL_SLOTS_FIXED; slot++)
		assert_null(wtl_workload_consumer(world->workload, slot));
	assert_null(wtl_workload_consumer(world->workload, (uint32_t)capacity));
	assert_null(wtl_workload_consumer(world->workload, UINT32_MAX));
	assert_int_equal(wtl_workload_find(world->workload, 0), -ESRCH);
	assert_int_equal(wtl_workload_find(world->workload, -5), -ESRCH);
	assert_int_equal(wtl_workload_find(world->workload, 54321), -ESRCH);
	outsider = wtl_workload_outsider(world->workload, 54321, "x\033y");
	assert_true(outsider >= WTL_SLOTS_FIXED);
	assert_int_equal(wtl_workload_outsider(world->workload, 54321, "x"), outsider);
	assert_string_equal(wtl_workload_consumer(world->workload, (uint32_t)outsider)->name,
			    "x?y");
	assert_int_equal(wtl_workload_find(world->workload, 54321), -ESRCH);
	wtl_workload_set_gpu(world->workload, (uint32_t)outsider, 4096, 500000);
	for (size_t i = 0; i < UNIT_COUNT(nobody); i++) {
		wtl_workload_set_gpu(world->workload, nobody[i], 1, 1);
		wtl_workload_set_watts_key(world->workload, nobody[i], 1);
	}
	assert_int_equal(wtl_workload_consumer(world->workload, (uint32_t)outsider)->gpu_ppm,
			 500000);
	assert_int_equal(
		wtl_workload_consumer(world->workload, (uint32_t)outsider)->gpu_memory_bytes, 4096);
}

/* A row of none but those whom only a GPU's driver sees has no CPU time, as they had none. */
static void test_folded_outsiders(void **state)
{
	const struct wtl_workload_options options = {.max_exited = 1};
	struct world *world = *state;
	const struct wtl_consumer *row;

	world_open(world, &options);
	world_look(world, WTL_NS_PER_S);
	for (int n = 0; n < 4; n++)
		assert_true(wtl_workload_outsider(world->workload, 5000 + n, "gpu thing") >= 0);
	wtl_workload_keep_outsiders(world->workload, NULL, 0);
	world_look(world, WTL_NS_PER_S);
	world_look(world, WTL_NS_PER_S);
	row = world_row(world, "gpu thing", NULL);
	assert_non_null(row);
	assert_in_range(row->n_processes, 3, 4);
	assert_int_equal(wtl_consumer_cpu_ns(row), -1);
}

/* ---- Without CPU clocks ---- */

static void test_ticks(void **state)
{
	struct world *world = *state;
	int pids[3], child;

	world->no_clocks = true;
	start(world, pids);
	assert_false(wtl_workload_means(world->workload)->ways[WTL_WAY_CPU_CLOCKS].is_used);
	assert_false(wtl_workload_means(world->workload)->ways[WTL_WAY_NEWEST_PID].is_used);
	world_run(world, pids[0], 205 * MS);
	child = world_fork(world, pids[1]);
	world_run(world, child, 31 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(world, pids[0]), 200 * MS);
	assert_int_equal(world_pid_use(world, child), 30 * MS);
	/* One that cannot be read for a while is the same one afterwards. */
	world_at(world, child)->is_closed = true;
	world_end(world, pids[0]);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_find(world->workload, pids[0]), -ESRCH);
	assert_int_equal(world_sum(world, WTL_CONSUMER_EXITED), 205 * MS);
	world_at(world, child)->is_closed = false;
	world_run(world, child, 20 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world_pid_use(world, child), 20 * MS);
	/* Nor does a step back by two ticks make another one of it. */
	for (int i = 0; i < 2; i++) {
		world_at(world, child)->cpu_ns -= (20 + 10 * i) * MS;
		world_look(world, WTL_NS_PER_S);
		assert_int_equal(wtl_workload_means(world->workload)->n_reused, i);
	}
}

static void test_other_numbers(void **state)
{
	struct world *world = *state;
	int pids[3];

	/* /proc is that of the namespace around ours. */
	world_put(world, "/proc/self/status", "Name:\tx\nTgid:\t900\nUid:\t0\nNSpid:\t900\t3\n");
	start(world, pids);
	world_run(world, pids[0], 20 * MS);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(world->clock_asks, 0);
	assert_int_equal(world_pid_use(world, pids[0]), 20 * MS);
	assert_false(wtl_workload_means(world->workload)->ways[WTL_WAY_CPU_CLOCKS].is_used);
	assert_non_null(strstr(wtl_workload_means(world->workload)->ways[WTL_WAY_CPU_CLOCKS].reason,
			       "namespace"));
}

static void test_means(void **state)
{
	struct world *world = *state;
	const struct wtl_workload_means *means;
	int pids[3];

	world->exits_errno = EPERM;
	start(world, pids);
	means = wtl_workload_means(world->workload);
	assert_false(means->ways[WTL_WAY_EXIT_RECORDS].is_used);
	assert_non_null(strstr(means->ways[WTL_WAY_EXIT_RECORDS].remedy, WTL_REMEDY_SETCAP));
	assert_non_null(strstr(means->ways[WTL_WAY_EXIT_RECORDS].reason, "not permitted"));
	assert_true(means->ways[WTL_WAY_PARENTS].is_used);
	assert_true(means->ways[WTL_WAY_CPU_CLOCKS].is_used);
	assert_true(means->ways[WTL_WAY_NEWEST_PID].is_used);
	assert_true(means->ways[WTL_WAY_VISIBLE].is_used);
	for (int i = 0; i < WTL_WAYS; i++) {
		assert_non_null(means->ways[i].way);
		assert_true(means->ways[i].reason[0] != '\0');
		assert_true(!means->ways[i].is_used || means->ways[i].remedy == NULL);
	}
}

/* Why there are no records of ends, and whether something can be done about it. */
static void test_means_without_records(void **state)
{
	static const struct {
		int error;
		bool has_remedy;
		const char *reason;
	} cases[] = {
		{EOPNOTSUPP, false, "the kernel has no taskstats"},
		{ENOSYS, false, "the kernel has no taskstats"},
		{ENOENT, false, "this machine is a directory, which has none"},
		{ENODATA, false, "the tape has none"},
		{EPERM, true, "not seen one by one"},
		{EIO, true, "not seen one by one"},
	};
	struct world *world = *state;

	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		const struct wtl_workload_way *way;

		world->exits_errno = cases[i].error;
		world_open(world, NULL);
		way = &wtl_workload_means(world->workload)->ways[WTL_WAY_EXIT_RECORDS];
		assert_false(way->is_used);
		assert_non_null(strstr(way->reason, cases[i].reason));
		assert_int_equal(way->remedy != NULL, cases[i].has_remedy);
		/* What a first look will find is not denied before it. */
		assert_true(wtl_workload_means(world->workload)->ways[WTL_WAY_BUSY_TIME].is_used);
		wtl_workload_free(world->workload);
		world->workload = NULL;
	}
}

static void test_means_of_container(void **state)
{
	struct world *world = *state;
	const struct wtl_workload_means *means;
	int pids[3];

	world->exits_errno = EPERM;
	world_put(world, "/proc/self/ns/pid", "pid:[4026532099]");
	world_put(world, "/proc/self/mountinfo",
		  "20 1 0:5 / /proc rw - proc proc rw\n"
		  "21 20 0:9 /proc/loadavg /proc/loadavg rw - fuse.lxcfs lxcfs rw\n"
		  "22 20 0:9 /proc/stat /proc/stat rw - fuse.lxcfs lxcfs rw\n");
	start(world, pids);
	means = wtl_workload_means(world->workload);
	assert_non_null(strstr(means->ways[WTL_WAY_EXIT_RECORDS].remedy, "hostPID"));
	assert_false(means->ways[WTL_WAY_VISIBLE].is_used);
	assert_non_null(strstr(means->ways[WTL_WAY_VISIBLE].remedy, "hostPID"));
	/* Emulated files are not believed. */
	assert_false(means->ways[WTL_WAY_NEWEST_PID].is_used);
	assert_false(means->ways[WTL_WAY_BUSY_TIME].is_used);
}

/* A tape without processes, or an empty directory. */
static void test_means_of_nobody(void **state)
{
	static const enum wtl_workload_way_id ids[] = {WTL_WAY_CPU_CLOCKS, WTL_WAY_PARENTS,
						       WTL_WAY_NEWEST_PID, WTL_WAY_VISIBLE};
	struct world *world = *state;
	const struct wtl_workload_means *means;

	world->no_proc = true;
	world_open(world, NULL);
	assert_true(wtl_workload_means(world->workload)->ways[WTL_WAY_PARENTS].is_used);
	assert_false(wtl_workload_means(world->workload)->ways[WTL_WAY_BUSY_TIME].is_used);
	world_look(world, WTL_NS_PER_S);
	means = wtl_workload_means(world->workload);
	assert_int_equal(means->n_live, 0);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		assert_false(means->ways[ids[i]].is_used);
		assert_non_null(strstr(means->ways[ids[i]].reason, "no processes"));
	}
}

/* /proc/stat of a large machine is longer than what it is read into at first. */
static void test_many_processors(void **state)
{
	struct world *world = *state;

	world->n_cpus = 1000;
	world_open(world, NULL);
	for (int i = 0; i < 2; i++)
		world_look(world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_scan(world->workload)->capacity_ns, 1000 * WTL_NS_PER_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_first_look, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_uses, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_no_second_cost, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_names, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_groups_of_the_ended, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_exec_shows, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_reads_are_bounded, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_reads_begin_with_the_busiest, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_reads_of_all_when_told, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_unreadable, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_tree, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_tree_of_new, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_tree_of_subreaper, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_older_child_of_subreaper, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_groups_without_end, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_unseen, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_no_phantoms, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_interrupts, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_sampled_interrupts, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_stolen, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_hotplug_and_suspend, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_clock_stands_or_steps, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_no_machine, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_machine_is_rubbish, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_machine_vanishes, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_more_than_the_machine, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_followed_before_the_first_look, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_many_cpus, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_proc_vanishes, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_reset, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_slots, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_folded_outsiders, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_few_slots, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_ticks, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_other_numbers, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_means, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_means_without_records, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_means_of_container, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_means_of_nobody, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_many_processors, world_setup, world_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
