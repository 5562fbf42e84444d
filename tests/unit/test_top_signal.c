/* SPDX-License-Identifier: MIT */
/* wattle top's signals: to the process that was shown, or to none. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#include "commands/top/session.h"
#include "energy/units.h"

/* A child that waits to be ended, shown as it is. */
static struct wtl_top_victim start(void)
{
	struct wtl_top_victim victim = {.pid = fork(), .signal = SIGTERM};
	char path[64], text[1024], *at;
	ssize_t len;
	int fd;

	assert_true(victim.pid >= 0);
	if (victim.pid == 0)
		for (;;)
			pause();
	snprintf(path, sizeof(path), "/proc/%d/stat", victim.pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	assert_true(len > 0);
	text[len] = '\0';
	at = strrchr(text, ')');
	for (int field = 2; field < 22; field++) {
		assert_non_null(at);
		at = strchr(at + 1, ' ');
	}
	victim.start_ns = atoll(at) * (WTL_NS_PER_S / sysconf(_SC_CLK_TCK));
	return victim;
}

/* Ends it by another signal, and tells whether that is what it died of. */
static bool lived(const struct wtl_top_victim *victim)
{
	int status;

	kill(victim->pid, SIGKILL);
	assert_int_equal(waitpid(victim->pid, &status, 0), victim->pid);
	return WTERMSIG(status) == SIGKILL;
}

static void test_who_was_shown(void **state)
{
	struct wtl_top_victim victim = start();
	int status;

	(void)state;
	assert_int_equal(wtl_top_send_signal(&victim), 0);
	assert_int_equal(waitpid(victim.pid, &status, 0), victim.pid);
	assert_int_equal(WTERMSIG(status), SIGTERM);
	assert_int_equal(wtl_top_send_signal(&victim), -ESRCH);
}

/* Nobody's start is known to be that of whoever has the number. */
static void test_start_is_not_known(void **state)
{
	struct wtl_top_victim victim = start(), unknown = victim;

	(void)state;
	unknown.start_ns = 0;
	assert_int_equal(wtl_top_send_signal(&unknown), -ESRCH);
	assert_true(lived(&victim));
}

static void test_number_was_given_anew(void **state)
{
	struct wtl_top_victim victim = start(), earlier = victim, later = victim;

	(void)state;
	earlier.start_ns -= WTL_NS_PER_S;
	later.start_ns += WTL_NS_PER_S;
	assert_int_equal(wtl_top_send_signal(&earlier), -ESRCH);
	assert_int_equal(wtl_top_send_signal(&later), -ESRCH);
	assert_true(lived(&victim));
}

static void test_nobody(void **state)
{
	const int pids[] = {0, 1, -1, -4711};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(pids); i++) {
		const struct wtl_top_victim victim = {
			.pid = pids[i], .signal = SIGKILL, .start_ns = 1};

		assert_int_equal(wtl_top_send_signal(&victim), -EPERM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_was_shown),
		cmocka_unit_test(test_start_is_not_known),
		cmocka_unit_test(test_number_was_given_anew),
		cmocka_unit_test(test_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
