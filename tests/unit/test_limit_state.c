/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "cli/process.h"
#include "commands/limit/limit.h"
#include "unit.h"

static struct wtl_limit_hold hold, back;

static struct wtl_io *real_io(void)
{
	struct wtl_io *io;

	assert_int_equal(wtl_io_real_new(NULL, &io, NULL), 0);
	return io;
}

static void fill(struct wtl_limit_hold *to)
{
	assert_int_equal(wtl_limit_hold_init(to), 0);
	to->n_changes = 2;
	strcpy(to->changes[0].gpu, "GPU-1");
	strcpy(to->changes[0].bus, "00000000:17:00.0");
	to->changes[0].has_power = true;
	to->changes[0].before_uw = 700000000;
	to->changes[0].set_uw = 250000000;
	strcpy(to->changes[1].gpu, "0000:c1:00.0");
	to->changes[1].has_persistence = true;
	to->changes[1].before_on = false;
	to->changes[1].set_on = true;
}

struct seen {
	size_t n, unreadable;
	struct wtl_limit_hold hold;
};

static void see(void *context, const char *name, const struct wtl_limit_hold *found)
{
	struct seen *seen = context;

	assert_true(strncmp(name, "hold-", 5) == 0);
	seen->n++;
	if (found)
		seen->hold = *found;
	else
		seen->unreadable++;
}

static void test_write_and_read(void **state)
{
	static struct seen seen;
	char *dir = unit_tmpdir(), *folder = unit_path(dir, "a/b/limits");
	struct wtl_io *io = real_io();
	int lock;

	(void)state;
	memset(&seen, 0, sizeof(seen));
	assert_int_equal(wtl_limit_holds(folder, see, &seen), 0); /* no folder, no file */
	lock = wtl_limit_lock(folder);
	assert_true(lock >= 0);
	fill(&hold);
	assert_int_equal(wtl_limit_hold_write(io, folder, &hold), 0);
	close(lock);
	assert_int_equal(wtl_limit_holds(folder, see, &seen), 0);
	assert_int_equal(seen.n, 1);
	assert_memory_equal(&seen.hold, &hold, sizeof(hold));
	assert_int_equal(wtl_limit_hold_remove(folder, &hold), 0);
	assert_int_equal(wtl_limit_hold_remove(folder, &hold), 0); /* gone already */
	memset(&seen, 0, sizeof(seen));
	assert_int_equal(wtl_limit_holds(folder, see, &seen), 0);
	assert_int_equal(seen.n, 0);
	wtl_io_free(io);
	free(folder);
	unit_rmtree(dir);
}

/* Ended, and not waited for: its number and start can still be read. */
static void test_owner_not_waited_for(void **state)
{
	siginfo_t info;
	pid_t pid;

	(void)state;
	fill(&hold);
	pid = fork();
	if (pid == 0)
		_exit(0);
	assert_true(pid > 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	hold.pid = pid;
	assert_int_equal(wtl_process_start(pid, &hold.start), 0);
	assert_int_equal(wtl_limit_hold_owner(&hold), WTL_LIMIT_GONE);
	waitpid(pid, NULL, 0);
}

static void test_owner(void **state)
{
	(void)state;
	fill(&hold);
	assert_int_equal(wtl_limit_hold_owner(&hold), WTL_LIMIT_LIVES);
	hold.start++; /* the number was given to another process */
	assert_int_equal(wtl_limit_hold_owner(&hold), WTL_LIMIT_GONE);
	hold.start--;
	hold.pid = INT_MAX; /* beyond what the kernel gives */
	assert_int_equal(wtl_limit_hold_owner(&hold), WTL_LIMIT_GONE);
	hold.pid = getpid();
	strcpy(hold.pids, "pid:[1]"); /* a container's number says nothing here */
	assert_int_equal(wtl_limit_hold_owner(&hold), WTL_LIMIT_ELSEWHERE);
	hold.pids[0] = '\0'; /* not known: the number is taken as ours */
	assert_int_equal(wtl_limit_hold_owner(&hold), WTL_LIMIT_LIVES);
	strcpy(hold.boot, "another boot");
	assert_int_equal(wtl_limit_hold_owner(&hold), WTL_LIMIT_REBOOTED);
}

#define GOOD \
	"wattle-limit 1\npid 7\nstart 9\nboot b\ngpu GPU-1\npower_uw 7 2\npersistence 0 1\nend\n"

static int parse(const char *text)
{
	return wtl_limit_hold_parse(text, strlen(text), &back);
}

static void test_parse(void **state)
{
	static const char *const bad[] = {
		"",
		"\n",
		"wattle-limit 1",
		"wattle-limit 1\n",
		"wattle-limit 2\npid 7\nend\n",
		"wattle-limit 1\nwattle-limit 1\npid 7\nend\n",
		"wattle-limit 1\nend\n",
		"wattle-limit 1\npid 0\nend\n",
		"wattle-limit 1\npid -4\nend\n",
		"wattle-limit 1\npid 99999999999\nend\n",
		"wattle-limit 1\npid 7\nstart x\nend\n",
		"wattle-limit 1\npid 7\nend",
		"wattle-limit 1\npid 7\nend\nmore\n",
		"wattle-limit 1\npid 7\npower_uw 1 2\nend\n", /* of which GPU? */
		"wattle-limit 1\npid 7\ngpu\nend\n",
		"wattle-limit 1\npid 7\ngpu G\npower_uw 1\nend\n",
		"wattle-limit 1\npid 7\ngpu G\npower_uw 1 x\nend\n",
		"wattle-limit 1\npid 7\ngpu G\npersistence 0 2\nend\n",
		"wattle-limit 1\npid 7\ngpu G\nfan 1 2\nend\n",
		"wattle-limit 1\npid 7\ngpu G\na-word-that-is-far-too-long 1 2\nend\n",
		"wattle-limit 1\npid 7\n\nend\n",
		"wattle-limit 1\npid 7\nbus 0000:17:00.0\nend\n", /* of which GPU? */
		"wattle-limit 1\npid 7\ngpu G\nbus\nend\n",
		"wattle-limit 1\npid 7\ngpu G\nbus 012345678901234567890123456789012\nend\n",
	};

	(void)state;
	assert_int_equal(parse(GOOD), 0);
	assert_int_equal(back.pid, 7);
	assert_int_equal(back.start, 9);
	assert_int_equal(back.n_changes, 1);
	assert_true(back.changes[0].has_power && back.changes[0].has_persistence);
	assert_int_equal(back.changes[0].before_uw, 7);
	assert_true(back.changes[0].set_on && !back.changes[0].before_on);
	for (size_t i = 0; i < UNIT_COUNT(bad); i++)
		assert_int_equal(parse(bad[i]), -WTL_EFORMAT);
	/* Notes had no bus ids once. */
	assert_string_equal(back.changes[0].bus, "");
	assert_int_equal(parse("wattle-limit 1\npid 7\ngpu G\nbus 0000:17:00.0\nend\n"), 0);
	assert_string_equal(back.changes[0].bus, "0000:17:00.0");
	/* Whatever was cut off. */
	for (size_t i = 0; i < sizeof(GOOD) - 1; i++)
		assert_int_equal(wtl_limit_hold_parse(GOOD, i, &back), -WTL_EFORMAT);
}

static void test_too_many_gpus(void **state)
{
	char text[WTL_LIMIT_CHANGES_MAX * 8 + 128];
	size_t len = (size_t)sprintf(text, "wattle-limit 1\npid 7\n");

	(void)state;
	for (size_t i = 0; i <= WTL_LIMIT_CHANGES_MAX; i++)
		len += (size_t)sprintf(text + len, "gpu G\n");
	sprintf(text + len, "end\n");
	assert_int_equal(parse(text), -WTL_EFORMAT);
}

static void test_strange_files(void **state)
{
	static struct seen seen;
	char *dir = unit_tmpdir();

	(void)state;
	memset(&seen, 0, sizeof(seen));
	unit_write(dir, "hold-1-1", "rubbish");
	unit_write(dir, "hold-2-2", GOOD);
	unit_write(dir, "hold-3-3/a-folder", "x");
	unit_symlink(dir, "hold-4-4", "/etc/passwd");
	unit_write(dir, ".hold-5-5.tmp", "half");
	unit_write(dir, "other", "x");
	assert_int_equal(wtl_limit_holds(dir, see, &seen), 0);
	assert_int_equal(seen.n, 4);
	assert_int_equal(seen.unreadable, 3);
	assert_int_equal(seen.hold.pid, 7);
	unit_rmtree(dir);
}

static void test_folder(void **state)
{
	char path[PATH_MAX], small[4];

	(void)state;
	assert_int_equal(wtl_limit_folder("/given", path, sizeof(path)), 0);
	assert_string_equal(path, "/given");
	assert_int_equal(wtl_limit_folder("/given", small, sizeof(small)), -ENAMETOOLONG);
	setenv("XDG_STATE_HOME", "/xdg", 1);
	setenv("HOME", "/home/me", 1);
	assert_int_equal(wtl_limit_folder(NULL, path, sizeof(path)), 0);
	assert_string_equal(path, geteuid() ? "/xdg/wattle/limits" : "/var/lib/wattle/limits");
	if (geteuid() == 0)
		return; /* root has one place, whatever the environment says */
	unsetenv("XDG_STATE_HOME");
	assert_int_equal(wtl_limit_folder(NULL, path, sizeof(path)), 0);
	assert_string_equal(path, "/home/me/.local/state/wattle/limits");
	unsetenv("HOME");
	assert_int_equal(wtl_limit_folder(NULL, path, sizeof(path)), -ENOENT);
}

static void test_folder_that_cannot_be(void **state)
{
	char *dir = unit_tmpdir(), *folder;

	(void)state;
	unit_write(dir, "file", "x");
	folder = unit_path(dir, "file/limits");
	assert_int_equal(wtl_limit_lock(folder), -ENOTDIR);
	free(folder);
	unit_rmtree(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write_and_read),
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_owner_not_waited_for),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_too_many_gpus),
		cmocka_unit_test(test_strange_files),
		cmocka_unit_test(test_folder),
		cmocka_unit_test(test_folder_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
