/* SPDX-License-Identifier: MIT */
/* The files of a new recording: how they are made, and what is left of them when the recorder is killed meanwhile. */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store_bench.h"

enum { STEPS_MAX = 20000 };

/* ---- A recorder that is killed while it begins ---- */

static void create_under_trace(struct store_bench *bench)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		_exit(77);
	raise(SIGSTOP);
	if (store_bench_try_create(bench, NULL) < 0)
		_exit(1);
	_exit(0);
}

/* Kills the recorder where it enters or leaves a system call, by their number. 0; 1 where it was through before; -1
 * where nobody may be traced. */
static int kill_at(struct store_bench *bench, unsigned number)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		create_under_trace(bench);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status))
		return WEXITSTATUS(status) == 77 ? -1 : 1;
	for (unsigned i = 0; i < number; i++) {
		assert_int_equal(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status)) {
			assert_int_equal(WEXITSTATUS(status), 0);
			return 1;
		}
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return 0;
}

/* What has the name is a recording; what has none does not keep the next one from having it. */
static bool check_left(struct store_bench *bench, unsigned number)
{
	struct wtl_store_reader *reader = NULL;
	struct wtl_err err = {.text = ""};

	if (access(bench->path, F_OK) < 0) {
		store_bench_create(bench);
		store_bench_seconds(bench, 1, 10);
		store_bench_end(bench);
		store_bench_expect(bench, 10);
		return false;
	}
	if (wtl_store_open(bench->path, &reader, &err) < 0)
		fail_msg("killed at call %u: %s", number, err.text);
	assert_false(wtl_store_is_whole(reader));
	assert_false(wtl_store_is_live(reader));
	assert_false(wtl_store_is_damaged(reader));
	assert_int_equal(wtl_store_periods(reader), 0);
	wtl_store_close(reader);
	return true;
}

static void test_killed_while_it_begins(void **state)
{
	unsigned unnamed = 0, named = 0;
	int rc = 0;

	(void)state;
	/* Between two calls nothing happens to files. */
	for (unsigned number = 1; rc == 0; number += 2) {
		struct store_bench bench;

		assert_true(number < STEPS_MAX);
		store_bench_init(&bench);
		rc = kill_at(&bench, number);
		if (rc == 0)
			++*(check_left(&bench, number) ? &named : &unnamed);
		store_bench_done(&bench);
	}
	if (rc < 0)
		skip();
	assert_true(unnamed > 10 && named > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed_while_it_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
