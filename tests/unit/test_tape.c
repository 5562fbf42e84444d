/* SPDX-License-Identifier: MIT */
#include "base/tape.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"

#include "unit.h"

#define START "wattle-tape 1\n@ 1000 2000 1700000000000000000\n"

/* Never called: on a tape there is no function. */
static int thunk_fill(void *function, const struct wtl_lib_arg args[])
{
	(void)function;
	(void)args;
	return -1;
}

static const struct wtl_lib_function functions[] = {
	{"fake_fill", thunk_fill, 3},
	{"fake_missing", thunk_fill, 3},
};

static struct wtl_io *replay(const char *text)
{
	struct wtl_tape *tape;
	struct wtl_io *io;
	struct wtl_err err = {0};

	if (wtl_tape_parse(text, strlen(text), &tape, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(wtl_io_replay_tape(tape, &io, NULL), 0);
	return io;
}

static void slurp_is(struct wtl_io *io, const char *path, const char *expected)
{
	char buf[64];
	ssize_t rc = wtl_io_slurp(io, path, buf, sizeof(buf));

	if (rc < 0)
		fail_msg("%s gives %zd, not \"%s\"", path, rc, expected);
	assert_string_equal(buf, expected);
}

static void slurp_fails(struct wtl_io *io, const char *path, int code)
{
	char buf[64];

	assert_int_equal(wtl_io_slurp(io, path, buf, sizeof(buf)), code);
}

static void test_more_or_fewer_reads(void **state)
{
	struct wtl_io *io = replay(START "+10 R \"/a\" \"1\"\n"
					 "+20 R \"/a\" \"2\"\n"
					 "@ 2000 3000 4000\n"
					 "R \"/b\" \"late\"\n"
					 "@ 3000 4000 5000\n"
					 "+5 R \"/a\" \"3\"\n"
					 "+6 R \"/a\" EIO\n");

	(void)state;
	slurp_is(io, "/b", "late");
	slurp_fails(io, "/c", -ENOENT);
	slurp_is(io, "/a", "1");
	slurp_is(io, "/a", "2");
	/* More often than recorded: the last one stays. */
	slurp_is(io, "/a", "2");
	assert_int_equal(wtl_io_wait_until(io, 0), 0);
	slurp_is(io, "/a", "2");
	assert_int_equal(wtl_io_wait_until(io, 0), 0);
	slurp_is(io, "/b", "late");
	slurp_is(io, "/a", "3");
	slurp_fails(io, "/a", -EIO);
	slurp_fails(io, "/a", -EIO);
	wtl_io_free(io);

	/* Less often: what a frame has left over does not come in the next. */
	io = replay(START "R \"/a\" \"1\"\nR \"/a\" \"2\"\n@ 2000 3000 4000\nR \"/a\" \"3\"\n");
	slurp_is(io, "/a", "1");
	assert_int_equal(wtl_io_wait_until(io, 0), 0);
	slurp_is(io, "/a", "3");
	wtl_io_free(io);
}

static void test_opens(void **state)
{
	struct wtl_io *io = replay(START "O \"/a\" ENOENT\nR \"/a\" \"1\"\nO \"/a\" EMFILE\n"
					 "O \"/dir\" ok\nD \"/listed\" \"x\" \"y\"\n"
					 "@ 2000 3000 4000\n"
					 "@ 3000 4000 5000\n"
					 "R \"/a\" \"2\"\n");
	struct wtl_buf names;

	(void)state;
	slurp_fails(io, "/a", -ENOENT);
	slurp_is(io, "/a", "1");
	slurp_fails(io, "/a", -EMFILE);
	assert_true(wtl_io_exists(io, "/dir"));
	slurp_fails(io, "/dir", -ENOENT);
	assert_true(wtl_io_exists(io, "/listed"));
	slurp_fails(io, "/listed", -EISDIR);
	assert_false(wtl_io_exists(io, "/unlisted"));
	assert_int_equal(wtl_io_wait_until(io, 0), 0);
	slurp_fails(io, "/a", -EMFILE);
	assert_int_equal(wtl_io_wait_until(io, 0), 0);
	slurp_is(io, "/a", "2");
	wtl_buf_init(&names, 100);
	assert_int_equal(wtl_io_dir_read(io, "/listed", &names), 2);
	assert_memory_equal(names.data, "x\0y\0", 4);
	wtl_buf_done(&names);
	wtl_io_free(io);
}

static void times_are(struct wtl_io *io, int64_t mono, int64_t boot, int64_t real)
{
	assert_true(wtl_io_mono_ns(io) == mono);
	assert_true(wtl_io_boot_ns(io) == boot);
	assert_true(wtl_io_real_ns(io) == real);
}

static void test_clock(void **state)
{
	struct wtl_io *io = replay("wattle-tape 1\n"
				   "# by hand\n"
				   "\n"
				   "@ 1000 2000 9000\r\n"
				   "+10 R \"/a\" \"1\"\r\n"
				   "\t+700 R \"/a\" \"2\" \n"
				   "@ 1500 8000 9500\n"
				   "+100 R \"/a\" \"3\"\n"
				   "@ 1800 8300 9800 EINTR\n"
				   "@ 90000 99000 99800\n"
				   "+600 R \"/late\" \"1\"\n");

	(void)state;
	times_are(io, 1000, 2000, 9000);
	/* What another frame answers takes no time in this one. */
	slurp_is(io, "/late", "1");
	times_are(io, 1000, 2000, 9000);
	slurp_is(io, "/a", "1");
	times_are(io, 1010, 2010, 9010);
	slurp_is(io, "/a", "2");
	times_are(io, 1700, 2700, 9700);
	slurp_is(io, "/a", "2");
	times_are(io, 1700, 2700, 9700);
	/* The monotonic clock never goes back, whatever was edited; the others follow it. */
	assert_int_equal(wtl_io_wait_until(io, 123456789), 0);
	times_are(io, 1700, 8200, 9700);
	slurp_is(io, "/a", "3");
	times_are(io, 1700, 8200, 9700);
	assert_int_equal(wtl_io_wait_until(io, 0), -EINTR);
	times_are(io, 1800, 8300, 9800);
	assert_int_equal(wtl_io_wait_until(io, 0), 0);
	times_are(io, 90000, 99000, 99800);
	assert_int_equal(wtl_io_wait_until(io, 0), -WTL_ETAPE_END);
	times_are(io, 90000, 99000, 99800);
	wtl_io_free(io);
}

static void test_libraries(void **state)
{
	static const char *const elsewhere[] = {"/opt/libother.so", NULL};
	static const struct wtl_lib_function unknown[] = {{"unheard_of", thunk_fill, 3}};
	struct wtl_io *io = replay(START "H \"libfake.so.1\" \"fake_fill\" \"more\"\n"
					 "H \"libbad.so\" WTL_ELIBRARY\n"
					 "S fake_fill 0x00AB [8:0100] [04:] = -3 [FF00]\n"
					 "S fake_fill 1 [8:] [4:] = 0 [] [0102030405060708]\n");
	static const char *const broken[] = {"libbad.so", NULL};
	unsigned char filled[8] = {1}, both[4] = {0};
	struct wtl_lib_arg args[] = {
		{.word = 0xab},
		{.memory = filled, .size = 8},
		{.memory = both, .size = 4},
	};
	struct wtl_err err;
	int lib, answer = 0;

	(void)state;
	assert_int_equal(wtl_io_lib_open(io, broken, functions, 2, &err), -WTL_ELIBRARY);
	assert_int_equal(wtl_io_lib_open(io, elsewhere, unknown, 1, &err), -WTL_EABSENT);
	/* The same library under another name is known by its functions. */
	lib = wtl_io_lib_open(io, elsewhere, functions, 2, &err);
	assert_true(lib >= 0);
	assert_true(wtl_io_lib_has(io, lib, 0));
	assert_false(wtl_io_lib_has(io, lib, 1));
	assert_int_equal(wtl_io_lib_call(io, lib, 1, args, &answer), -ENOSYS);
	assert_int_equal(wtl_io_lib_call(io, lib, 2, args, &answer), -EINVAL);
	assert_int_equal(wtl_io_lib_call(io, lib, 0, args, &answer), 0);
	assert_int_equal(answer, -3);
	assert_memory_equal(filled, "\xff\0\0\0\0\0\0\0", 8);
	/* What the call reads is part of the question. */
	assert_int_equal(wtl_io_lib_call(io, lib, 0, args, &answer), -ENOENT);
	args[0].word = 1;
	memset(filled, 0, sizeof(filled));
	assert_int_equal(wtl_io_lib_call(io, lib, 0, args, &answer), 0);
	assert_int_equal(answer, 0);
	/* Never more than there is room for. */
	assert_memory_equal(both, "\1\2\3\4", 4);
	wtl_io_lib_close(io, lib);
	assert_int_equal(wtl_io_lib_call(io, lib, 0, args, &answer), -EINVAL);
	wtl_io_free(io);
}

static void cpu_is(struct wtl_io *io, int pid, int64_t expected)
{
	int64_t cpu_ns = -1;

	assert_int_equal(wtl_io_process_cpu(io, &pid, &cpu_ns, 1), 0);
	if (cpu_ns != expected)
		fail_msg("%d has %lld, not %lld", pid, (long long)cpu_ns, (long long)expected);
}

static void test_cpu(void **state)
{
	struct wtl_io *io = replay(START "+10 C 1=100 2=200 9=ESRCH\n"
					 "+20 C & 3=300 4=9223372036854775807\n"
					 "@ 2000 3000 4000\n"
					 "+10 C 2=210\n"
					 "+20 C *2 1=120 *3 2=230\n"
					 "@ 3000 4000 5000\n"
					 "+10 C\n"
					 "+20 C 8=800\n"
					 "@ 4000 5000 6000\n"
					 "C EOPNOTSUPP\n");
	const int pids[] = {4, -7, 3, 77, 2, 1, 9, 0};
	int64_t cpu_ns[UNIT_COUNT(pids)];

	(void)state;
	assert_int_equal(wtl_io_has_process_cpu(io), 1);
	/* In any order, all at once or in parts. */
	assert_int_equal(wtl_io_process_cpu(io, pids, cpu_ns, UNIT_COUNT(pids)), 0);
	assert_int_equal(wtl_io_has_process_cpu(io), 0);
	assert_true(cpu_ns[0] == INT64_MAX && cpu_ns[2] == 300);
	assert_true(cpu_ns[4] == 200 && cpu_ns[5] == 100);
	/* Never asked for when it was recorded, no process, and gone. */
	assert_true(cpu_ns[1] == -ESRCH && cpu_ns[3] == -ESRCH && cpu_ns[7] == -ESRCH);
	assert_int_equal(cpu_ns[6], -ESRCH);
	assert_true(wtl_io_mono_ns(io) == 1010);
	assert_int_equal(wtl_io_wait_until(io, 0), 0);
	assert_int_equal(wtl_io_has_process_cpu(io), 1);
	/* What the second and third questions for it were told. */
	cpu_is(io, 1, 100);
	cpu_is(io, 2, 210);
	cpu_is(io, 1, 120);
	cpu_is(io, 1, 120);
	cpu_is(io, 2, 210);
	cpu_is(io, 2, 230);
	cpu_is(io, 3, 300);
	assert_int_equal(wtl_io_wait_until(io, 0), 0);
	cpu_is(io, 2, 230);
	/* Known later only. */
	cpu_is(io, 8, 800);
	assert_int_equal(wtl_io_wait_until(io, 0), 0);
	assert_int_equal(wtl_io_process_cpu(io, pids, cpu_ns, 1), -EOPNOTSUPP);
	wtl_io_free(io);

	/* A frame that asked less often leaves nothing behind. */
	io = replay(START "C 1=1\nC *2 1=2\n@ 2000 3000 4000\nC\n");
	cpu_is(io, 1, 1);
	assert_int_equal(wtl_io_wait_until(io, 0), 0);
	cpu_is(io, 1, 2);
	wtl_io_free(io);

	io = replay(START "R \"/a\" \"1\"\n");
	assert_int_equal(wtl_io_process_cpu(io, pids, cpu_ns, 1), -EOPNOTSUPP);
	assert_int_equal(wtl_io_has_process_cpu(io), -EOPNOTSUPP);
	assert_int_equal(wtl_io_exits_open(io), -ENODATA);
	assert_int_equal(wtl_io_file_write(io, "/b", "1", 1), -ENOENT);
	wtl_io_free(io);
}

static void exit_is(struct wtl_io *io, int file, ssize_t expected, unsigned char first)
{
	unsigned char buf[8] = {0};

	assert_int_equal(wtl_io_exits_read(io, file, buf, sizeof(buf)), expected);
	assert_int_equal(buf[0], first);
}

static void test_exits(void **state)
{
	const char *tape = START "X open EPERM\n"
				 "@ 2000 3000 4000\n"
				 "X [01]\n"
				 "@ 3000 4000 5000\n"
				 "+5 X open ok\n"
				 "+10 X [02(2)]\n"
				 "+20 X none\n"
				 "+30 X ENOBUFS\n"
				 "+40 X [03(100)]\n"
				 "+50 X none\n"
				 "@ 4000 5000 6000\n"
				 "X none\n"
				 "@ 5000 6000 7000\n"
				 "+10 X [04]\n";
	struct wtl_io *io = replay(tape);
	int file;

	(void)state;
	assert_int_equal(wtl_io_exits_open(io), -EPERM);
	wtl_io_wait_until(io, 0);
	wtl_io_wait_until(io, 0);
	file = wtl_io_exits_open(io);
	assert_true(file >= 0);
	/* What ended before is not told. */
	exit_is(io, file, 3, 2);
	assert_true(wtl_io_mono_ns(io) == 3010);
	exit_is(io, file, 0, 0);
	exit_is(io, file, -ENOBUFS, 0);
	exit_is(io, file, 8, 3);
	exit_is(io, file, 0, 0);
	exit_is(io, file, 0, 0);
	/* Each once, and none before its time. */
	wtl_io_wait_until(io, 0);
	exit_is(io, file, 0, 0);
	wtl_io_wait_until(io, 0);
	exit_is(io, file, 1, 4);
	assert_true(wtl_io_mono_ns(io) == 5010);
	exit_is(io, file, 0, 0);
	wtl_io_exits_close(io, file);
	exit_is(io, file, -EBADF, 0);
	wtl_io_free(io);

	/* A program that looks less often misses nothing. */
	io = replay(START "X open ok\nX [01]\nX none\n@ 2000 3000 4000\nX none\n"
			  "@ 3000 4000 5000\nX [02]\nX none\n");
	file = wtl_io_exits_open(io);
	wtl_io_wait_until(io, 0);
	wtl_io_wait_until(io, 0);
	exit_is(io, file, 1, 1);
	exit_is(io, file, 1, 2);
	exit_is(io, file, 0, 0);
	wtl_io_free(io);

	/* Written by hand: without opening, and with nothing else. */
	io = replay(START "X [05]\n");
	exit_is(io, wtl_io_exits_open(io), 1, 5);
	wtl_io_free(io);
	io = replay(START "X open ok\n");
	exit_is(io, wtl_io_exits_open(io), 0, 0);
	exit_is(io, -1, -EBADF, 0);
	wtl_io_free(io);
}

static void test_writes(void **state)
{
	struct wtl_io *io = replay(START "R \"/limit\" \"300\"\nR \"/other\" \"1\"\n"
					 "W \"/limit\" \"250\\n\" ok\n"
					 "W \"/limit\" \"9\\x00\" EINVAL\n");

	(void)state;
	assert_int_equal(wtl_io_file_write(io, "/limit", "250\n", 4), 0);
	assert_int_equal(wtl_io_file_write(io, "/limit", "100\n", 4), -EINVAL);
	assert_int_equal(wtl_io_file_write(io, "/limit", "100\n", 4), -EINVAL);
	assert_int_equal(wtl_io_file_write(io, "/other", "2", 1), -EROFS);
	assert_int_equal(wtl_io_file_write(io, "/none", "2", 1), -ENOENT);
	/* A tape is not changed by it. */
	slurp_is(io, "/limit", "300");
	wtl_io_free(io);
}

static void note_is(struct wtl_io *io, const char *name, int rc, const char *expected)
{
	char text[8] = "mine";

	assert_int_equal(wtl_io_note(io, name, text, sizeof(text)), rc);
	assert_string_equal(text, rc ? expected : "mine");
}

/* Each once and in its frame; what was not asked for there is over. */
static void test_notes(void **state)
{
	struct wtl_io *io =
		replay(START "N \"a\" \"1\"\n+9 N \"a\" \"2\"\nN \"b\" \"\"\n"
			     "N \"long\" \"12345678\"\nN \"failed\" EIO\n"
			     "@ 2000 3000 4000\nN \"a\" \"3\"\nN \"later\" \"4\"\n"
			     "@ 3000 4000 5000\nN \"a\" \"1234567\"\n@ 4000 5000 6000\n");

	(void)state;
	note_is(io, "a", 1, "1");
	note_is(io, "later", 0, NULL);
	note_is(io, "b", 1, "");
	note_is(io, "b", 0, NULL);
	note_is(io, "long", 0, NULL);
	note_is(io, "failed", 0, NULL);
	note_is(io, "none", 0, NULL);
	assert_int_equal(wtl_io_wait_until(io, 0), 0);
	note_is(io, "later", 1, "4");
	assert_int_equal(wtl_io_wait_until(io, 0), 0);
	note_is(io, "a", 1, "1234567");
	note_is(io, "a", 0, NULL);
	assert_int_equal(wtl_io_wait_until(io, 0), 0);
	note_is(io, "a", 0, NULL);
	wtl_io_free(io);
}

static void count_is(struct wtl_io *io, int file, uint64_t count, int64_t enabled, int64_t running)
{
	struct wtl_perf_count found;

	assert_int_equal(wtl_io_perf_count(io, file, &found), 0);
	assert_true(found.count == count);
	assert_true(found.enabled_ns == enabled && found.running_ns == running);
}

/* A counter of a task has three numbers; one of a CPU that is called alike has nothing to do with it. */
static void test_task_counters(void **state)
{
	struct wtl_io *io =
		replay(START "P 0 1 task=4711 18446744073709551615 9223372036854775807 0\n"
			     "P 0 1 task=4711 open EMFILE\nP 0 1 4711 5\nP 0 1 task=5 open EACCES\n"
			     "@ 2000 3000 4000\nP 0 1 task=4711 7 6 5\nP 0 1 task=4711 EIO\n");
	const struct wtl_perf_event event = {0, 1, 99, 4711}, cpu = {0, 1, 4711, 0};
	const struct wtl_perf_event denied = {0, 1, -1, 5}, other = {0, 1, -1, 6};
	struct wtl_perf_count count;
	int file = wtl_io_perf_open(io, &event), machine = wtl_io_perf_open(io, &cpu);

	(void)state;
	assert_true(file >= 0 && machine >= 0);
	assert_int_equal(wtl_io_perf_open(io, &denied), -EACCES);
	assert_int_equal(wtl_io_perf_open(io, &other), -ENOENT);
	count_is(io, file, UINT64_MAX, INT64_MAX, 0);
	assert_int_equal(wtl_io_perf_open(io, &event), -EMFILE);
	assert_int_equal(wtl_io_perf_count(io, machine, &count), -EINVAL);
	assert_int_equal(wtl_io_perf_count(io, 99, &count), -EBADF);
	assert_int_equal(wtl_io_wait_until(io, 0), 0);
	count_is(io, file, 7, 6, 5);
	assert_int_equal(wtl_io_perf_count(io, file, &count), -EIO);
	wtl_io_free(io);
}

static void test_bad_handles(void **state)
{
	struct wtl_io *io = replay(
		START
		"R \"/a\" \"long content\"\nR \"/a\" \"four\"\nP 1 2 3 4\nL \"/l\" \"abc\"\n");
	const struct wtl_perf_event event = {1, 2, 3, 0}, other = {1, 2, -1, 0};
	uint64_t value = 0;
	char buf[4];
	int file;

	(void)state;
	assert_int_equal(wtl_io_file_read(io, 0, buf, sizeof(buf)), -EBADF);
	assert_int_equal(wtl_io_file_read(io, -1, buf, sizeof(buf)), -EBADF);
	assert_int_equal(wtl_io_file_read(io, 99, buf, sizeof(buf)), -EBADF);
	assert_int_equal(wtl_io_perf_read(io, 0, &value), -EBADF);
	file = wtl_io_file_open(io, "/a");
	assert_int_equal(wtl_io_file_read(io, file, buf, sizeof(buf)), sizeof(buf));
	assert_int_equal(wtl_io_file_read(io, file, buf, 3), 3);
	assert_int_equal(wtl_io_file_read(io, file, buf, 4), 4);
	wtl_io_file_close(io, file);
	wtl_io_file_close(io, file);
	assert_int_equal(wtl_io_file_read(io, file, buf, sizeof(buf)), -EBADF);
	file = wtl_io_perf_open(io, &event);
	assert_int_equal(wtl_io_perf_read(io, file, &value), 0);
	assert_int_equal(value, 4);
	assert_int_equal(wtl_io_perf_open(io, &other), -ENOENT);
	assert_int_equal(wtl_io_link_read(io, "/l", buf, 4), 3);
	assert_int_equal(wtl_io_link_read(io, "/l", buf, 3), -ENAMETOOLONG);
	for (int i = 0; i < 100; i++)
		assert_true(wtl_io_file_open(io, "/a") >= 0);
	wtl_io_free(io);
}

struct rubbish {
	const char *text;
	const char *line;
};

static void test_rubbish(void **state)
{
	static const struct rubbish cases[] = {
		{"", "line 1:"},
		{"wattle-tape 2\n", "line 1:"},
		{"wattle-tape 1 x\n", "line 1:"},
		{"#!/bin/sh\n", "line 1:"},
		{"\x7f"
		 "ELF",
		 "line 1:"},
		{"wattle-tape 1\n", "line 1:"},
		{"wattle-tape 1\nR \"/a\" \"1\"\n", "line 2: a frame"},
		{"wattle-tape 1\n@ 1 2\n", "line 2:"},
		{"wattle-tape 1\n@ 1 2 x\n", "line 2:"},
		{"wattle-tape 1\n@ 1 2 -3\n", "line 2:"},
		{"wattle-tape 1\n@ 1 2 9223372036854775807\n", "line 2:"},
		{"wattle-tape 1\n@ 1 2 3 EFOO\n", "line 2:"},
		{"wattle-tape 1\n@ 1 2 3 EIO 4\n", "line 2:"},
		{START "@ 999 2000 3000\n", "line 3: the monotonic"},
		{START "\n\nQ \"/a\"\n", "line 5: unknown"},
		{START "R\n", "line 3:"},
		{START "R /a \"1\"\n", "line 3:"},
		{START "R \"/a\"\n", "line 3:"},
		{START "R \"/a\" \"1\n", "line 3: a quote"},
		{START "R \"/a\" \"\\q\"\n", "line 3: a backslash"},
		{START "R \"/a\\x00b\" \"1\"\n", "line 3: a name"},
		{START "R \"/a\" \"1\" \"2\"\n", "line 3: more"},
		{START "R \"/a\" \"1\" # remark\n", "line 3: more"},
		{START "R \"/a\" EFOO\n", "line 3: the name"},
		{START "R \"/a\" E#0\n", "line 3: the name"},
		{START "R \"/a\" E#99999999999\n", "line 3: the name"},
		{START "RR \"/a\" \"1\"\n", "line 3: a record"},
		{START "\"R\" \"/a\" \"1\"\n", "line 3: a record"},
		{START "+x R \"/a\" \"1\"\n", "line 3: an offset"},
		{START "+-1 R \"/a\" \"1\"\n", "line 3: an offset"},
		{START "+9223372036854775807 R \"/a\" \"1\"\n", "line 3: an offset"},
		{START "+1\n", "line 3: a record"},
		{START "O \"/a\" fine\n", "line 3:"},
		{START "O \"/a\"\n", "line 3:"},
		{START "L \"/a\" \"\\x00\"\n", "line 3: a name"},
		{START "D \"/a\" \"b\" EIO\n@ 1 1 1\n", "line 4:"},
		{START "D \"/a\" EIO \"b\"\n", "line 3: more"},
		{START "P 1 2 3\n", "line 3:"},
		{START "P 1 2 task=\n", "line 3:"},
		{START "P 1 2 task=0 1 2 3\n", "line 3: a CPU or a task"},
		{START "P 1 2 task=-4 1 2 3\n", "line 3: a CPU or a task"},
		{START "P 1 2 task=2147483648 1 2 3\n", "line 3: a CPU or a task"},
		{START "P 1 2 task=4 1\n", "line 3: COUNT"},
		{START "P 1 2 task=4 1 2\n", "line 3: COUNT"},
		{START "P 1 2 task=4 1 2 -3\n", "line 3: a time"},
		{START "P 1 2 task=4 1 2 9223372036854775808\n", "line 3: a time"},
		{START "P 1 2 task=4 1 2 3 4\n", "line 3: more"},
		{START "P 1 2 3 4 5\n", "line 3: more"},
		{START "P x 2 3 4\n", "line 3:"},
		{START "P 4294967296 2 3 4\n", "line 3:"},
		{START "P 1 xyz 3 4\n", "line 3:"},
		{START "P 1 2 99999999999 4\n", "line 3:"},
		{START "P 1 2 3 -4\n", "line 3:"},
		{START "P 1 2 3 open\n", "line 3:"},
		{START "S\n", "line 3:"},
		{START "S f 1\n", "line 3:"},
		{START "S f 1 =\n", "line 3:"},
		{START "S f xyz = 0\n", "line 3:"},
		{START "S f [ = 0\n", "line 3:"},
		{START "S f [] = 0\n", "line 3:"},
		{START "S f [4] = 0\n", "line 3:"},
		{START "S f [4: = 0\n", "line 3:"},
		{START "S f [:00] = 0\n", "line 3:"},
		{START "S f [1:0102] = 0\n", "line 3: a memory"},
		{START "S f [4:0] = 0\n", "line 3: an odd"},
		{START "S f [4:0g] = 0\n", "line 3: not a hex"},
		{START "S f [99999999999:] = 0\n", "line 3:"},
		{START "S f 1 2 3 4 5 6 7 8 9 = 0\n", "line 3: more than"},
		{START "S f = 99999999999\n", "line 3: an answer"},
		{START "S f = 0 x\n", "line 3: after"},
		{START "S f = 0 [1\n", "line 3: after"},
		{START "C 1\n", "line 3: the name"},
		{START "C 1=\n", "line 3: the name"},
		{START "C =1\n", "line 3: PID="},
		{START "C 0=1\n", "line 3: PID="},
		{START "C -1=1\n", "line 3: PID="},
		{START "C x=1\n", "line 3: PID="},
		{START "C 2147483648=1\n", "line 3: PID="},
		{START "C 1=-1\n", "line 3: the name"},
		{START "C 1=9223372036854775808\n", "line 3: the name"},
		{START "C 1=EFOO\n", "line 3: the name"},
		{START "C 1=2=3\n", "line 3: the name"},
		{START "C 1=2 3\n", "line 3: PID="},
		{START "C 1=2 EIO\n", "line 3: PID="},
		{START "C 1=2 \"3=4\"\n", "line 3: PID="},
		{START "C \"1=2\"\n", "line 3: PID="},
		{START "C 1=\"2\"\n", "line 3: the name"},
		{START "C * 1=2\n", "line 3: * and"},
		{START "C *0 1=2\n", "line 3: * and"},
		{START "C *4294967296 1=2\n", "line 3: * and"},
		{START "C EIO 1=2\n", "line 3: more"},
		{START "C 1=2 & 3=4\n", "line 3: PID="},
		{START "X\n", "line 3: open"},
		{START "X open\n", "line 3: ok"},
		{START "X open no\n", "line 3: the name"},
		{START "X 01\n", "line 3: the name"},
		{START "X []\n", "line 3: a datagram"},
		{START "X [\n", "line 3: a datagram"},
		{START "X [01\n", "line 3: a datagram"},
		{START "X [0]\n", "line 3: a datagram"},
		{START "X [(8193)]\n", "line 3: a datagram"},
		{START "X \"01\"\n", "line 3: open"},
		{START "X [01] [02]\n", "line 3: more"},
		{START "X none none\n", "line 3: more"},
		{START "W\n", "line 3: a quoted"},
		{START "W \"/a\" ok\n", "line 3: what was"},
		{START "W \"/a\" \"1\"\n", "line 3: ok"},
		{START "W \"/a\" \"1\" fine\n", "line 3: the name"},
		{START "W \"/a\\x00\" \"1\" ok\n", "line 3: a name"},
		{START "N\n", "line 3: a quoted"},
		{START "N \"a\"\n", "line 3: a quoted"},
		{START "N a \"1\"\n", "line 3: a quoted"},
		{START "N \"a\" \"1\" \"2\"\n", "line 3: more"},
		{START "N \"a\" \"\\x00\"\n", "line 3: "},
		{START "S f = 0 [] [] [] [] [] [] [] [] []\n", "line 3: after"},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		struct wtl_tape *tape = NULL;
		struct wtl_err err = {0};
		int rc = wtl_tape_parse(cases[i].text, strlen(cases[i].text), &tape, &err);

		if (rc != -WTL_EFORMAT || strncmp(err.text, cases[i].line, strlen(cases[i].line)))
			fail_msg("\"%s\" gives %d, \"%s\"", cases[i].text, rc, err.text);
		assert_null(tape);
	}
}

static void test_bounds(void **state)
{
	struct wtl_buf text;
	struct wtl_tape *tape;
	struct wtl_err err;

	(void)state;
	assert_int_equal(wtl_tape_parse(START "# a\0b\n", sizeof(START) + 5, &tape, &err),
			 -WTL_EFORMAT);
	wtl_buf_init(&text, 1 << 25);
	wtl_buf_puts(&text, START "R \"/a\" \"");
	while (text.len < WTL_TAPE_LINE_MAX)
		wtl_buf_puts(&text, "0123456789abcdef0123456789abcdef");
	wtl_buf_puts(&text, "0123456789abcdef0123456789abcdef0123456789abcdef\"\n");
	assert_int_equal(wtl_tape_parse(text.data, text.len, &tape, &err), -WTL_EFORMAT);
	assert_string_equal(err.text, "line 3: longer than 1048576 bytes");
	wtl_buf_clear(&text);
	wtl_buf_puts(&text, START);
	for (unsigned i = 0; i <= WTL_TAPE_RECORDS_MAX; i++)
		wtl_buf_puts(&text, "S f = 0\n");
	assert_int_equal(wtl_tape_parse(text.data, text.len, &tape, &err), -WTL_EFORMAT);
	assert_string_equal(err.text, "line 2097155: the tape holds too much");
	wtl_buf_done(&text);
}

static void test_files(void **state)
{
	char *dir = unit_tmpdir(), *path = unit_path(dir, "tape");
	struct wtl_io *io = NULL;
	struct wtl_err err = {0};

	(void)state;
	assert_int_equal(wtl_io_replay_new(path, &io, &err), -ENOENT);
	assert_string_equal(err.path, path);
	unit_write(dir, "tape", START "nonsense\n");
	assert_int_equal(wtl_io_replay_new(path, &io, &err), -WTL_EFORMAT);
	assert_string_equal(err.path, path);
	assert_int_equal(wtl_io_replay_new(dir, &io, &err), -EISDIR);
	assert_int_equal(wtl_io_replay_new(path, &io, NULL), -WTL_EFORMAT);
	assert_null(io);
	unit_write(dir, "tape", START "R \"/a\" \"no newline at the end\"");
	assert_int_equal(wtl_io_replay_new(path, &io, &err), 0);
	slurp_is(io, "/a", "no newline at the end");
	assert_int_equal(wtl_io_out_write(io, path, "out", 3, WTL_OUT_REPLACE), 0);
	wtl_io_free(io);
	free(path);
	unit_rmtree(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_more_or_fewer_reads),
		cmocka_unit_test(test_opens),
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_libraries),
		cmocka_unit_test(test_cpu),
		cmocka_unit_test(test_exits),
		cmocka_unit_test(test_writes),
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_task_counters),
		cmocka_unit_test(test_bad_handles),
		cmocka_unit_test(test_rubbish),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests_name("tape", tests, NULL, NULL);
}
