/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/process.h"
#include "unit.h"

/* A child that waits for its end. */
static pid_t child_start(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

static void child_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void starts_in_the_order_of_births(void **state)
{
	pid_t pid = child_start();
	uint64_t own = 0, start = 0;
	siginfo_t info;

	(void)state;
	assert_int_equal(wtl_process_start(getpid(), &own), 0);
	assert_int_equal(wtl_process_start(pid, &start), 0);
	assert_true(own > 0 && start >= own);
	/* One that ended has its start until it is waited for. */
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	own = start;
	start = 0;
	assert_int_equal(wtl_process_start(pid, &start), 0);
	assert_int_equal(start, own);
	waitpid(pid, NULL, 0);
	start = 7;
	assert_int_equal(wtl_process_start(pid, &start), -ENOENT);
	assert_int_equal(wtl_process_start(0, &start), -ESRCH);
	assert_int_equal(wtl_process_start(-ESRCH, &start), -ESRCH);
	assert_int_equal(start, 7);
}

/* The name is the program's own choice. */
static void names_do_not_move_the_start(void **state)
{
	uint64_t before = 0, after = 0;

	(void)state;
	assert_int_equal(wtl_process_start(getpid(), &before), 0);
	prctl(PR_SET_NAME, ") R 1 2 3 (x");
	assert_int_equal(wtl_process_start(getpid(), &after), 0);
	assert_int_equal(after, before);
}

static void number_is_its_own_in_its_own_proc(void **state)
{
	pid_t pid = child_start();

	(void)state;
	assert_int_equal(wtl_process_number(getpid()), getpid());
	assert_int_equal(wtl_process_number(pid), pid);
	child_end(pid);
	assert_int_equal(wtl_process_number(pid), -ESRCH);
}

static void fd_that_stands_for_no_process(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(wtl_process_of_fd(fd), -EOPNOTSUPP);
	close(fd);
	assert_int_equal(wtl_process_of_fd(fd), -ENOENT);
}

/* What a process in a namespace of its own, under the /proc of ours, finds for itself. */
static int number_from_within(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		int number;

		if (unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0)
			_exit(77);
		pid = fork();
		if (pid == 0) {
			char text[16] = "";

			number = wtl_process_number(getpid());
			if (readlink("/proc/self", text, sizeof(text) - 1) < 0)
				_exit(77);
			_exit(getpid() == 1 && number > 1 && number == atoi(text) ? 0 : 1);
		}
		waitpid(pid, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void number_under_the_proc_of_another_namespace(void **state)
{
	int rc = number_from_within();

	(void)state;
	if (rc == 77) {
		printf("skipped: no PID namespace can be made here\n");
		skip();
	}
	assert_int_equal(rc, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_in_the_order_of_births),
		cmocka_unit_test(names_do_not_move_the_start),
		cmocka_unit_test(number_is_its_own_in_its_own_proc),
		cmocka_unit_test(fd_that_stands_for_no_process),
		cmocka_unit_test(number_under_the_proc_of_another_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
