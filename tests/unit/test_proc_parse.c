/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/procfs.h"
#include "unit.h"

static int parse_stat(const char *text, struct wtl_proc_stat *stat)
{
	return wtl_proc_parse_stat(text, strlen(text), stat);
}

static void test_stat(void **state)
{
	struct wtl_proc_stat stat;

	(void)state;
	/* A real line of Linux 6.18. */
	assert_int_equal(
		parse_stat(
			"1327 (bash) S 1326 1327 1327 34816 2010 4194304 1402 31012 0 5 3 4 91 "
			"27 20 0 1 0 210043 4771840 1004 18446744073709551615 94 95 140 0 0 0 "
			"65536 3686404 1266761467 1 0 0 17 0 0 0 0 0 0 94 94 94 140 140 140 140 0\n",
			&stat),
		0);
	assert_int_equal(stat.pid, 1327);
	assert_string_equal(stat.name, "bash");
	assert_int_equal(stat.state, 'S');
	assert_int_equal(stat.parent, 1326);
	assert_false(stat.is_kernel);
	assert_int_equal(stat.cpu_ticks, 7);
	assert_int_equal(stat.child_ticks, 118);
	assert_int_equal(stat.n_threads, 1);
	assert_int_equal(stat.start_ticks, 210043);
	/* A kernel thread, with a negative number among the fields. */
	assert_int_equal(
		parse_stat("12 (kworker/0:1-events) I 2 0 0 0 -1 69238880 0 0 0 0 0 9 0 0 20 "
			   "0 1 0 30 0 0\n",
			   &stat),
		0);
	assert_true(stat.is_kernel);
	assert_string_equal(stat.name, "kworker/0:1-events");
	assert_int_equal(stat.start_ticks, 30);
}

static void test_stat_names(void **state)
{
	static const struct {
		const char *raw, *name;
	} names[] = {
		{"a b", "a b"},
		{") R 1 (", ") R 1 ("},
		{"(sd-pam)", "(sd-pam)"},
		{"", ""},
		{"a\nb", "a?b"},
		{"\033[2J", "?[2J"},
		{"\xff", "?"},
		{"a) S 99 99", "a) S 99 99"},
		{"тест", "тест"},
	};
	struct wtl_proc_stat stat;
	char line[256];

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(names); i++) {
		snprintf(line, sizeof(line),
			 "7 (%s) R 3 1 1 0 -1 0 1 2 3 4 10 20 30 40 20 0 5 0 77 0 0\n",
			 names[i].raw);
		assert_int_equal(parse_stat(line, &stat), 0);
		assert_string_equal(stat.name, names[i].name);
		assert_int_equal(stat.parent, 3);
		assert_int_equal(stat.cpu_ticks, 30);
		assert_int_equal(stat.child_ticks, 70);
		assert_int_equal(stat.n_threads, 5);
		assert_int_equal(stat.start_ticks, 77);
	}
}

static void test_stat_rubbish(void **state)
{
	static const char *const bad[] = {
		"",
		"7",
		"7 (x",
		"7 x) S 1",
		"7 (x)",
		"7 (x) S",
		"7 (x) S ",
		")7 (x S 1 1 1 0 -1 0 1 2 3 4 10 20 30 40 20 0 5 0 77",
		"x (x) S 1 1 1 0 -1 0 1 2 3 4 10 20 30 40 20 0 5 0 77",
		"-7 (x) S 1 1 1 0 -1 0 1 2 3 4 10 20 30 40 20 0 5 0 77",
		"7 (x) S 1 1 1 0 -1 0 1 2 3 4 10 20 30 40 20 0 5 0",
		"7 (x) S 1 1 1 0 -1 0 1 2 3 4 10 -20 30 40 20 0 5 0 77",
		"7 (x) S 1 1 1 0 -1 0 1 2 3 4 10 20 30 40 20 0 5 0 y",
		"7 (x) S 99999999999 1 1 0 -1 0 1 2 3 4 10 20 30 40 20 0 5 0 77",
		"7 (x) S 1 1 1 0 -1 0 1 2 3 4 99999999999999999999 20 30 40 20 0 5 0 77",
	};
	struct wtl_proc_stat stat = {.pid = 42};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(bad); i++)
		if (parse_stat(bad[i], &stat) != -EINVAL)
			fail_msg("%s", bad[i]);
	assert_int_equal(stat.pid, 42);
}

static void test_status(void **state)
{
	static const char text[] =
		"Name:\tbash\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t1327\nNgid:\t0\n"
		"Pid:\t1327\nPPid:\t1326\nUid:\t1000\t1001\t1002\t1003\nGid:\t5\t5\t5\t5\n"
		"NStgid:\t1327\t8\nNSpid:\t1327\t8\t1\nVmRSS:\t    4016 kB\nThreads:\t1\n";
	struct wtl_proc_status status;

	(void)state;
	assert_int_equal(wtl_proc_parse_status(text, strlen(text), &status), 0);
	assert_int_equal(status.tgid, 1327);
	assert_int_equal(status.uid, 1000);
	assert_int_equal(status.rss_bytes, 4016 * 1024);
	assert_int_equal(status.n_numbers, 3);
	assert_int_equal(status.own_pid, 1);
	assert_int_equal(wtl_proc_parse_status("Tgid:\t9\n", 7, &status), 0);
	assert_int_equal(status.tgid, 9);
	assert_true(status.uid == UINT32_MAX);
	assert_true(status.rss_bytes == UINT64_MAX);
	assert_int_equal(status.n_numbers, 0);
	assert_int_equal(wtl_proc_parse_status("", 0, &status), -EINVAL);
	assert_int_equal(wtl_proc_parse_status("Uid:\tx\n", 7, &status), -EINVAL);
	assert_int_equal(wtl_proc_parse_status("Uid:\t4294967296\n", 16, &status), -EINVAL);
	assert_int_equal(wtl_proc_parse_status("Tgid:\t9\nVmRSS:\t9 MB\n", 21, &status), -EINVAL);
	assert_int_equal(wtl_proc_parse_status("Tgid:\tx\nUid:\t1\n", 15, &status), -EINVAL);
	assert_int_equal(wtl_proc_parse_status("Tgid:\t2147483648\nUid:\t1\n", 24, &status),
			 -EINVAL);
	/* Either is enough. */
	assert_int_equal(wtl_proc_parse_status("Tgid:\t9\n", 8, &status), 0);
	assert_int_equal(status.tgid, 9);
	assert_int_equal(status.uid, UINT32_MAX);
	assert_true(status.rss_bytes == UINT64_MAX);
	assert_int_equal(wtl_proc_parse_status("Uid:\t4294967294\n", 16, &status), 0);
	assert_int_equal(status.uid, UINT32_MAX - 1);
	assert_int_equal(status.tgid, 0);
}

static void test_newest(void **state)
{
	static const char *const bad[] = {"",
					  "1 2 3 4/5",
					  "1 2 3 4/5 x",
					  "1 2 3 4/5 0",
					  "1 2 3 4/5 -1",
					  "1 2 3 4/5 6 7",
					  "1 2 3 4/5 99999999999"};
	int pid = 0;

	(void)state;
	assert_int_equal(wtl_proc_parse_newest("0.20 0.18 0.12 1/80 11206\n", 26, &pid), 0);
	assert_int_equal(pid, 11206);
	for (size_t i = 0; i < UNIT_COUNT(bad); i++)
		assert_int_equal(wtl_proc_parse_newest(bad[i], strlen(bad[i]), &pid), -EINVAL);
	assert_int_equal(pid, 11206);
}

static int parse_machine(const char *text, struct wtl_proc_machine *machine)
{
	return wtl_proc_parse_machine(text, strlen(text), machine);
}

static void test_machine(void **state)
{
	struct wtl_proc_machine machine;

	(void)state;
	assert_int_equal(parse_machine("cpu  548350 15324 289214 1466733 16028 7 5690 678 0 0\n"
				       "cpu0 1 1 1 1 1 1 1 1 0 0\ncpu3 1 1 1 1 1 1 1 1 0 0\n"
				       "intr 11971225 0\nctxt 27360252\n",
				       &machine),
			 0);
	assert_int_equal(machine.n_cpus, 2);
	assert_int_equal(machine.idle_ticks, 1466733 + 16028);
	assert_int_equal(machine.hard_ticks, 7);
	assert_int_equal(machine.soft_ticks, 5690);
	assert_int_equal(machine.steal_ticks, 678);
	/* Emulations may leave out the last columns. */
	assert_int_equal(parse_machine("cpu  1 2 3 4 5 6 7\ncpu0 1\nintr 1\n", &machine), 0);
	assert_int_equal(machine.steal_ticks, 0);
	/* Cut anywhere, it asks for more, and never takes a part for the whole. */
	assert_int_equal(parse_machine("cpu  1 2 3 4 5 6 7 8\n", &machine), -EAGAIN);
	assert_int_equal(parse_machine("cpu  1 2 3 4 5 6 7 8\ncpu0 1\n", &machine), -EAGAIN);
	assert_int_equal(parse_machine("cpu  1 2 3 4 5 6 7 8\ncpu0 1\ncp", &machine), -EAGAIN);
	assert_int_equal(parse_machine("cpu  1 2 3 4 5 6 7 8\ncpu0 1\nintr", &machine), -EAGAIN);
	assert_int_equal(parse_machine("", &machine), -EINVAL);
	assert_int_equal(parse_machine("cpu  1 2 3\ncpu0 1\nintr 1\n", &machine), -EINVAL);
	assert_int_equal(parse_machine("cpu  a b c d e f g\ncpu0 1\nintr 1\n", &machine), -EINVAL);
	assert_int_equal(parse_machine("cpu  1 2 3 4 5 6 7 8\nintr 1 2 3\n", &machine), -EINVAL);
	assert_int_equal(parse_machine("intr 1\n", &machine), -EINVAL);
}

static void test_rollup(void **state)
{
	static const char text[] =
		"55a0ed0d1000-7ffd249be000 ---p 00000000 00:00 0                          [rollup]\n"
		"Rss:                1772 kB\nPss:                 410 kB\nPss_Dirty:    104 kB\n"
		"Private_Clean:         8 kB\nPrivate_Dirty:       96 kB\nPrivate_Hugetlb: 2048 kB\n";
	struct wtl_proc_memory memory;

	(void)state;
	assert_int_equal(wtl_proc_parse_rollup(text, strlen(text), &memory), 0);
	assert_int_equal(memory.rss_bytes, 1772 * 1024);
	assert_int_equal(memory.pss_bytes, 410 * 1024);
	assert_int_equal(memory.uss_bytes, (8 + 96 + 2048) * 1024);
	assert_int_equal(wtl_proc_parse_rollup("Rss: 1 kB\n", 10, &memory), -EINVAL);
	assert_int_equal(wtl_proc_parse_rollup("Pss: 1 kB\n", 10, &memory), -EINVAL);
	assert_int_equal(wtl_proc_parse_rollup("Rss: x kB\nPss: 1 kB\n", 20, &memory), -EINVAL);
	/* The most that there is room for, and one more. */
	assert_int_equal(
		wtl_proc_parse_rollup("Rss: 18014398509481983 kB\nPss: 1 kB\n", 36, &memory), 0);
	assert_true(memory.rss_bytes == UINT64_MAX - 1023);
	assert_int_equal(memory.uss_bytes, 0);
	assert_int_equal(
		wtl_proc_parse_rollup("Rss: 18014398509481984 kB\nPss: 1 kB\n", 36, &memory),
		-EINVAL);
	assert_int_equal(wtl_proc_parse_rollup("Rss: 1 kB\nPss: x kB\n", 20, &memory), -EINVAL);
	assert_int_equal(
		wtl_proc_parse_rollup("Rss: 1 kB\nPss: 18446744073709551615 kB\n", 39, &memory),
		-EINVAL);
}

static void test_command(void **state)
{
	char command[16];

	(void)state;
	wtl_proc_clean_command(command, sizeof(command), "cc\0-c\0a b\0", 10);
	assert_string_equal(command, "cc -c a b");
	wtl_proc_clean_command(command, sizeof(command), "\0\0\0", 3);
	assert_string_equal(command, "");
	wtl_proc_clean_command(command, sizeof(command), "", 0);
	assert_string_equal(command, "");
	wtl_proc_clean_command(command, sizeof(command), "\033]0;x\a\xc3\0\n", 10);
	assert_string_equal(command, "?]0;x??");
	wtl_proc_clean_command(command, sizeof(command), "0123456789abcdefghij", 20);
	assert_string_equal(command, "0123456789abcde");
}

static void test_mounts(void **state)
{
	static const char text[] =
		"20 1 0:5 / /proc rw,relatime shared:2 - proc proc rw,gid=10,hidepid=2\n"
		"short line\n"
		"21 20 0:9 /proc/stat /proc/stat rw - fuse.lxcfs lxcfs rw\n";

	(void)state;
	assert_true(wtl_proc_is_mounted(text, strlen(text), "/proc"));
	assert_true(wtl_proc_is_mounted(text, strlen(text), "/proc/stat"));
	assert_false(wtl_proc_is_mounted(text, strlen(text), "/proc/loadavg"));
}

static void test_hidden_processes(void **state)
{
	static const struct {
		const char *options;
		bool hides;
	} cases[] = {
		{"proc rw,gid=10,hidepid=2", true},
		{"proc rw,hidepid=invisible", true},
		{"proc rw,hidepid=ptraceable", true},
		{"proc rw,hidepid=1,gid=4", true},
		{"proc rw,gid=10,hidepid=0", false},
		{"proc rw,hidepid=off", false},
		{"proc rw", false},
	};
	char text[200];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text),
			 "20 1 0:5 / /proc rw,relatime shared:2 - proc %s\n"
			 "21 20 0:9 /x /x rw - fuse.lxcfs lxcfs rw,hidepid=2\n",
			 cases[i].options);
		assert_int_equal(wtl_proc_hides(text, strlen(text)), cases[i].hides);
	}
	assert_false(wtl_proc_hides("", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stat),	     cmocka_unit_test(test_stat_names),
		cmocka_unit_test(test_stat_rubbish), cmocka_unit_test(test_status),
		cmocka_unit_test(test_newest),	     cmocka_unit_test(test_machine),
		cmocka_unit_test(test_rollup),	     cmocka_unit_test(test_command),
		cmocka_unit_test(test_mounts),	     cmocka_unit_test(test_hidden_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
