/* SPDX-License-Identifier: MIT */
#include "base/io.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"

#include "unit.h"

struct fixture {
	char *dir;
	struct wtl_io *io;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->dir = unit_tmpdir();
	unit_write(fixture->dir, "/a", "1");
	unit_write(fixture->dir, "/d/x", "");
	unit_write(fixture->dir, "/wattle-perf/1-2-3", "4");
	unit_write(fixture->dir, "/wattle-perf/1-2-task7", "5 6 7");
	unit_write(fixture->dir, "/wattle-cpu/5", "6");
	unit_write(fixture->dir, "/wattle-exits", "0708\n");
	unit_symlink(fixture->dir, "/l", "a");
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	wtl_io_free(fixture->io);
	unit_rmtree(fixture->dir);
	free(fixture);
	return 0;
}

static struct wtl_io *faulty(struct fixture *fixture, const char *spec)
{
	wtl_io_free(fixture->io);
	fixture->io = NULL;
	assert_int_equal(wtl_io_real_new(fixture->dir, &fixture->io, NULL), 0);
	assert_int_equal(wtl_io_set_fault(fixture->io, spec, NULL), 0);
	return fixture->io;
}

static int lib_open(struct wtl_io *io, struct wtl_err *err)
{
	const char *const names[] = {"/nonexistent/lib.so", NULL};

	return wtl_io_lib_open(io, names, NULL, 0, err);
}

static int perf_read(struct wtl_io *io)
{
	const struct wtl_perf_event event = {1, 2, 3, 0};
	uint64_t value = 0;
	int file = wtl_io_perf_open(io, &event), rc;

	if (file < 0)
		return file;
	rc = wtl_io_perf_read(io, file, &value);
	wtl_io_perf_close(io, file);
	return rc < 0 ? rc : (int)value;
}

static int64_t task_count(struct wtl_io *io)
{
	const struct wtl_perf_event event = {1, 2, -1, 7};
	struct wtl_perf_count count = {.count = 0};
	int file = wtl_io_perf_open(io, &event), rc;

	if (file < 0)
		return file;
	rc = wtl_io_perf_count(io, file, &count);
	wtl_io_perf_close(io, file);
	return rc < 0 ? rc : (int64_t)count.count;
}

static int64_t cpu(struct wtl_io *io)
{
	const int pid = 5;
	int64_t cpu_ns = -1;
	int rc = wtl_io_process_cpu(io, &pid, &cpu_ns, 1);

	return rc < 0 ? rc : cpu_ns;
}

static ssize_t exits_read(struct wtl_io *io)
{
	char buf[8];
	int file = wtl_io_exits_open(io);
	ssize_t rc;

	if (file < 0)
		return file;
	rc = wtl_io_exits_read(io, file, buf, sizeof(buf));
	wtl_io_exits_close(io, file);
	return rc;
}

static int out(struct wtl_io *io)
{
	return wtl_io_out_write(io, "/dev/null", "x", 1, WTL_OUT_REPLACE);
}

/* What a database asks before it writes counts like writing. */
static void test_out_check(void **state)
{
	struct wtl_io *io = faulty(*state, "write:3:ENOSPC");

	assert_int_equal(wtl_io_out_check(io), 0);
	assert_int_equal(out(io), 0);
	assert_int_equal(wtl_io_out_check(io), -ENOSPC);
	assert_int_equal(wtl_io_out_check(io), 0);
	io = faulty(*state, "write:2:always");
	assert_int_equal(wtl_io_out_check(io), 0);
	assert_int_equal(wtl_io_out_check(io), -EIO);
	assert_int_equal(wtl_io_out_check(io), -EIO);
	io = faulty(*state, "read:1:always");
	assert_int_equal(wtl_io_out_check(io), 0);
}

static void test_nth(void **state)
{
	struct wtl_io *io = faulty(*state, "read:2");
	char buf[8];

	assert_int_equal(wtl_io_slurp(io, "/a", buf, sizeof(buf)), 1);
	assert_int_equal(wtl_io_slurp(io, "/none", buf, sizeof(buf)), -ENOENT);
	assert_int_equal(wtl_io_slurp(io, "/a", buf, sizeof(buf)), -EIO);
	assert_int_equal(wtl_io_slurp(io, "/a", buf, sizeof(buf)), 1);
	io = faulty(*state, "read:2:ENODEV:always");
	assert_int_equal(wtl_io_slurp(io, "/a", buf, sizeof(buf)), 1);
	assert_int_equal(wtl_io_slurp(io, "/a", buf, sizeof(buf)), -ENODEV);
	assert_int_equal(wtl_io_slurp(io, "/a", buf, sizeof(buf)), -ENODEV);
	io = faulty(*state, "read:1:always");
	assert_int_equal(wtl_io_slurp(io, "/a", buf, sizeof(buf)), -EIO);
	assert_int_equal(wtl_io_slurp(io, "/a", buf, sizeof(buf)), -EIO);
}

/* Each name makes its own kind of call fail, and no other. */
static void test_each_kind(void **state)
{
	static const char *const names[] = {"open", "read", "link",  "dir",  "perf",
					    "lib",  "cpu",  "exits", "write"};
	struct wtl_buf list;
	char spec[32], buf[8];

	wtl_buf_init(&list, 100);
	for (size_t i = 0; i < UNIT_COUNT(names); i++) {
		struct wtl_io *io;
		struct wtl_err err = {0};
		ssize_t got[UNIT_COUNT(names)];

		snprintf(spec, sizeof(spec), "%s:1:EBUSY:always", names[i]);
		io = faulty(*state, spec);
		got[0] = wtl_io_file_open(io, "/a");
		if (got[0] < 0) {
			got[1] = 1;
		} else {
			got[1] = wtl_io_file_read(io, (int)got[0], buf, sizeof(buf));
			wtl_io_file_close(io, (int)got[0]);
		}
		got[2] = wtl_io_link_read(io, "/l", buf, sizeof(buf));
		got[3] = wtl_io_dir_read(io, "/d", &list);
		got[4] = perf_read(io);
		got[5] = lib_open(io, &err);
		got[6] = cpu(io);
		got[7] = exits_read(io);
		got[8] = out(io);
		for (size_t j = 0; j < UNIT_COUNT(names); j++) {
			if (i == j)
				assert_int_equal(got[j], -EBUSY);
			else
				assert_true(j == 5 ? got[j] == -WTL_EABSENT : got[j] >= 0);
		}
		if (i == 5)
			assert_string_equal(err.path, "/nonexistent/lib.so");
		assert_true(wtl_io_mono_ns(io) > 0);
		assert_int_equal(wtl_io_wait_until(io, 0), 0);
	}
	wtl_buf_done(&list);
}

static void test_exits_count_both(void **state)
{
	struct wtl_io *io = faulty(*state, "exits:2:ENOBUFS");

	assert_int_equal(exits_read(io), -ENOBUFS);
	assert_int_equal(exits_read(io), 2);
	io = faulty(*state, "exits:1:EPERM:always");
	assert_int_equal(exits_read(io), -EPERM);
	assert_int_equal(exits_read(io), -EPERM);
}

/* A limit that is set, and a report, are both written. */
static void test_write_counts_both(void **state)
{
	struct fixture *fixture = *state;
	struct wtl_io *io = faulty(fixture, "write:2");
	char *text;

	assert_int_equal(out(io), 0);
	assert_int_equal(wtl_io_file_write(io, "/a", "9", 1), -EIO);
	text = unit_read(fixture->dir, "/a");
	assert_string_equal(text, "1");
	free(text);
	assert_int_equal(wtl_io_file_write(io, "/a", "9", 1), 0);
	text = unit_read(fixture->dir, "/a");
	assert_string_equal(text, "9");
	free(text);
}

static void test_perf_counts_both(void **state)
{
	struct wtl_io *io = faulty(*state, "perf:2");

	assert_int_equal(perf_read(io), -EIO);
	assert_int_equal(perf_read(io), 4);
	assert_int_equal(task_count(io), 5);
	io = faulty(*state, "perf:2");
	assert_int_equal(task_count(io), -EIO);
	io = faulty(*state, "perf:1:EACCES");
	assert_int_equal(task_count(io), -EACCES);
	assert_int_equal(task_count(io), 5);
}

static void test_any(void **state)
{
	struct wtl_io *io = faulty(*state, "any:3:EMFILE");
	char buf[8];

	assert_int_equal(wtl_io_link_read(io, "/l", buf, sizeof(buf)), 1);
	assert_int_equal(out(io), 0);
	assert_int_equal(wtl_io_file_open(io, "/a"), -EMFILE);
	assert_int_equal(wtl_io_slurp(io, "/a", buf, sizeof(buf)), 1);
	io = faulty(*state, "any:2");
	assert_int_equal(cpu(io), 6);
	assert_int_equal(cpu(io), -EIO);
	io = faulty(*state, "any:2");
	assert_int_equal(exits_read(io), -EIO);
}

static int thunk_abs(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(int))function)((int)args[0].word);
}

static void test_lib_calls(void **state)
{
	static const char *const names[] = {"libc.so.6", NULL};
	static const struct wtl_lib_function functions[] = {{"abs", thunk_abs, 1}};
	struct wtl_lib_arg args[] = {{.word = 7}};
	struct wtl_io *io;
	int answer = 0, lib;

	(void)state;
	assert_int_equal(wtl_io_real_new(NULL, &io, NULL), 0);
	assert_int_equal(wtl_io_set_fault(io, "lib:2:ETIME", NULL), 0);
	lib = wtl_io_lib_open(io, names, functions, 1, NULL);
	assert_true(lib >= 0);
	assert_true(wtl_io_lib_has(io, lib, 0));
	assert_int_equal(wtl_io_lib_call(io, lib, 0, args, &answer), -ETIME);
	assert_int_equal(answer, 0);
	assert_int_equal(wtl_io_lib_call(io, lib, 0, args, &answer), 0);
	assert_int_equal(answer, 7);
	wtl_io_lib_close(io, lib);
	wtl_io_free(io);
}

static void test_bad_specs(void **state)
{
	static const char *const specs[] = {
		"",
		"read",
		"read:",
		"read:0",
		"read:x",
		"read:-1",
		"reads:1",
		"Read:1",
		"read:1:",
		"read:1:EFOO",
		":1",
		"read:1:5",
		"read:1:EIO:",
		"read:1:EIO:ever",
		"read:1:always:EIO",
		"a:b:c:d",
		"read:1:EIO:always:",
		"read:99999999999999999999",
	};
	struct fixture *fixture = *state;
	struct wtl_io *io;

	assert_int_equal(wtl_io_real_new(fixture->dir, &io, NULL), 0);
	for (size_t i = 0; i < UNIT_COUNT(specs); i++) {
		struct wtl_err err = {0};

		if (wtl_io_set_fault(io, specs[i], &err) != -EINVAL)
			fail_msg("\"%s\" is taken", specs[i]);
		assert_string_equal(err.source, "fault");
		assert_non_null(strstr(err.text, "OP:N"));
		assert_true(strlen(err.text) < sizeof(err.text) - 1);
	}
	assert_null(io->fault);
	wtl_io_free(io);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_nth),	      TEST(test_each_kind),	   TEST(test_perf_counts_both),
		TEST(test_any),	      TEST(test_exits_count_both), TEST(test_write_counts_both),
		TEST(test_lib_calls), TEST(test_bad_specs),	   TEST(test_out_check),
	};

	return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}
