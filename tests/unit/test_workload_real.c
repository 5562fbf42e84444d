/* SPDX-License-Identifier: MIT */
/* On the machine that the tests run on: its own kernel answers. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "energy/units.h"
#include "unit.h"
#include "workload/workload.h"

enum { CHILDREN = 40 };

struct real {
	struct wtl_io *io;
	struct wtl_workload *workload;
};

static int setup(void **state)
{
	static struct real real;
	const struct wtl_workload_options options = {.subreaper_pid = getpid()};
	struct wtl_env env;

	assert_int_equal(wtl_io_real_new(NULL, &real.io, NULL), 0);
	env = (struct wtl_env){.io = real.io};
	assert_int_equal(wtl_workload_new(&env, &options, &real.workload, NULL), 0);
	assert_int_equal(wtl_workload_tick(real.workload), 0);
	*state = &real;
	return 0;
}

static int teardown(void **state)
{
	struct real *real = *state;

	wtl_workload_free(real->workload);
	wtl_io_free(real->io);
	return 0;
}

static void need(const struct real *real, enum wtl_workload_way_id way)
{
	const struct wtl_workload_way *at = &wtl_workload_means(real->workload)->ways[way];

	if (at->is_used)
		return;
	print_message("SKIPPED: no %s: %s\n", at->way, at->reason);
	skip();
}

static int64_t own_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (int64_t)now.tv_sec * WTL_NS_PER_S + now.tv_nsec;
}

static void burn(int64_t cpu_ns)
{
	int64_t until_ns = own_cpu_ns() + cpu_ns;

	while (own_cpu_ns() < until_ns)
		;
}

/* A child that burns, tells so through a pipe and waits to be killed. */
static pid_t burner(int64_t cpu_ns)
{
	int pipes[2];
	char byte;
	pid_t child;

	assert_int_equal(pipe(pipes), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "burner) x");
		burn(cpu_ns);
		if (write(pipes[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	close(pipes[0]);
	close(pipes[1]);
	return child;
}

static void test_live(void **state)
{
	struct real *real = *state;
	const struct wtl_consumer *consumer;
	int64_t slot;
	pid_t child;

	need(real, WTL_WAY_CPU_CLOCKS);
	child = burner(30 * WTL_NS_PER_MS);
	assert_int_equal(wtl_workload_follow_tree(real->workload, child), 0);
	assert_int_equal(wtl_workload_tick(real->workload), 0);
	slot = wtl_workload_find(real->workload, child);
	assert_true(slot >= WTL_SLOTS_FIXED);
	consumer = wtl_workload_consumer(real->workload, (uint32_t)slot);
	assert_true(consumer->cpu_ns >= 30 * WTL_NS_PER_MS);
	assert_true(consumer->cpu_ns < 20 * (int64_t)WTL_NS_PER_S);
	assert_int_equal(consumer->pid, child);
	assert_int_equal(consumer->parent, getpid());
	assert_int_equal(consumer->uid, getuid());
	assert_string_equal(consumer->name, "burner) x");
	assert_true(consumer->is_in_tree);
	assert_int_equal(consumer->state, WTL_CONSUMER_LIVE);
	assert_true(wtl_workload_find(real->workload, getpid()) >= 0);
	assert_false(wtl_workload_consumer(real->workload,
					   (uint32_t)wtl_workload_find(real->workload, getpid()))
			     ->is_in_tree);
	slot = wtl_workload_find(real->workload, child);
	assert_true(wtl_workload_read_memory(real->workload, 1 << 16) > 0);
	assert_true(consumer->rss_bytes > 0 && consumer->rss_bytes != UINT64_MAX);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(wtl_workload_tick(real->workload), 0);
	assert_int_equal(wtl_workload_find(real->workload, child), -ESRCH);
	assert_int_equal(wtl_workload_consumer(real->workload, (uint32_t)slot)->state,
			 WTL_CONSUMER_EXITED);
}

static void test_look(void **state)
{
	struct real *real = *state;
	const struct wtl_workload_scan *look;

	need(real, WTL_WAY_CPU_CLOCKS);
	burn(50 * WTL_NS_PER_MS);
	assert_int_equal(wtl_workload_tick(real->workload), 0);
	look = wtl_workload_scan(real->workload);
	assert_true(look->duration_ns > 0);
	assert_true(look->n_uses > 0);
	assert_true(look->busy_ns >= 50 * WTL_NS_PER_MS);
	assert_true(look->capacity_ns == 0 || look->busy_ns <= look->capacity_ns);
	assert_true(wtl_workload_find(real->workload, getpid()) >= 0);
}

static void sleep_ms(int ms)
{
	const struct timespec time = {.tv_nsec = ms * WTL_NS_PER_MS};

	nanosleep(&time, NULL);
}

/* Children that nobody sees alive. */
static void test_short_lives(void **state)
{
	struct real *real = *state;
	int64_t cpu_ns = 0;
	uint32_t n_ended = 0;
	char name[16];

	need(real, WTL_WAY_CPU_CLOCKS);
	need(real, WTL_WAY_EXIT_RECORDS);
	/* Not another run's of this test. */
	snprintf(name, sizeof(name), "short-%d", getpid());
	assert_int_equal(wtl_workload_follow_tree(real->workload, getpid()), 0);
	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();

		assert_true(child >= 0);
		if (child == 0) {
			prctl(PR_SET_NAME, name);
			burn(WTL_NS_PER_MS);
			_exit(0);
		}
		assert_int_equal(waitpid(child, NULL, 0), child);
	}
	/* Records are sent before a parent is told, and read at once. */
	sleep_ms(10);
	assert_int_equal(wtl_workload_tick(real->workload), 0);
	for (uint32_t slot = wtl_workload_next(real->workload, 0);
	     slot < wtl_workload_capacity(real->workload);
	     slot = wtl_workload_next(real->workload, slot + 1)) {
		const struct wtl_consumer *consumer = wtl_workload_consumer(real->workload, slot);

		if (strcmp(consumer->name, name) != 0)
			continue;
		cpu_ns += consumer->cpu_ns;
		n_ended += consumer->n_processes;
		assert_true(consumer->is_in_tree);
	}
	assert_int_equal(n_ended, CHILDREN);
	assert_true(cpu_ns >= CHILDREN * (int64_t)WTL_NS_PER_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_live, setup, teardown),
		cmocka_unit_test_setup_teardown(test_look, setup, teardown),
		cmocka_unit_test_setup_teardown(test_short_lives, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
