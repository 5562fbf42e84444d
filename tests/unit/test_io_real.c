/* SPDX-License-Identifier: MIT */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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
	assert_int_equal(wtl_io_real_new(fixture->dir, &fixture->io, NULL), 0);
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

static void test_files(void **state)
{
	struct fixture *fixture = *state;
	struct wtl_io *io = fixture->io;
	char buf[16];
	int file;

	unit_write(fixture->dir, "/sys/a", "12345\n");
	file = wtl_io_file_open(io, "/sys/a");
	assert_true(file >= 0);
	assert_int_equal(wtl_io_file_read(io, file, buf, sizeof(buf)), 6);
	assert_memory_equal(buf, "12345\n", 6);
	/* From the start again, and what is new is seen. */
	unit_write(fixture->dir, "/sys/a", "7\n");
	assert_int_equal(wtl_io_file_read(io, file, buf, sizeof(buf)), 2);
	assert_int_equal(wtl_io_file_read(io, file, buf, 2), 2);
	assert_int_equal(wtl_io_file_read(io, file, buf, 1), 1);
	assert_int_equal(wtl_io_file_read(io, file, buf, 0), 0);
	wtl_io_file_close(io, file);
	wtl_io_file_close(io, -1);
	assert_int_equal(wtl_io_file_open(io, "/sys/b"), -ENOENT);
	assert_int_equal(wtl_io_file_open(io, "sys/a"), -EINVAL);
	assert_int_equal(wtl_io_file_open(io, ""), -EINVAL);
	assert_int_equal(wtl_io_slurp(io, "/sys", buf, sizeof(buf)), -EISDIR);
	assert_true(wtl_io_exists(io, "/sys"));
	assert_true(wtl_io_exists(io, "/"));
	assert_false(wtl_io_exists(io, "/proc"));
}

static void test_helpers(void **state)
{
	struct fixture *fixture = *state;
	struct wtl_io *io = fixture->io;
	char line[16];
	uint64_t value = 5;

	unit_write(fixture->dir, "/name", " Some\tname \nsecond\n");
	unit_write(fixture->dir, "/number", "262143328850\n");
	unit_write(fixture->dir, "/rubbish", "12a\n");
	unit_write(fixture->dir, "/large", "99999999999999999999\n");
	unit_write(fixture->dir, "/long",
		   "111111111111111111111111111111111111111111111111111111111111111111111111");
	unit_write(fixture->dir, "/empty", "");
	assert_int_equal(wtl_io_read_line(io, "/name", line, sizeof(line)), 0);
	assert_string_equal(line, "Some?name");
	assert_int_equal(wtl_io_read_line(io, "/name", line, 4), 0);
	assert_string_equal(line, "Som");
	assert_int_equal(wtl_io_read_line(io, "/empty", line, sizeof(line)), 0);
	assert_string_equal(line, "");
	assert_int_equal(wtl_io_read_line(io, "/none", line, sizeof(line)), -ENOENT);
	assert_int_equal(wtl_io_slurp(io, "/number", line, 14), 13);
	assert_string_equal(line, "262143328850\n");
	assert_int_equal(wtl_io_slurp(io, "/number", line, 13), -EFBIG);
	assert_int_equal(wtl_io_slurp(io, "/number", line, 0), -EINVAL);
	assert_int_equal(wtl_io_read_u64(io, "/rubbish", &value), -EINVAL);
	assert_int_equal(wtl_io_read_u64(io, "/large", &value), -ERANGE);
	assert_int_equal(wtl_io_read_u64(io, "/long", &value), -EINVAL);
	assert_int_equal(wtl_io_read_u64(io, "/empty", &value), -EINVAL);
	assert_int_equal(wtl_io_read_u64(io, "/none", &value), -ENOENT);
	assert_int_equal(value, 5);
	assert_int_equal(wtl_io_read_u64(io, "/number", &value), 0);
	assert_int_equal(value, 262143328850);
}

static void test_links_stay_inside(void **state)
{
	struct fixture *fixture = *state;
	struct wtl_io *io = fixture->io;
	char *outside = unit_tmpdir(), *secret = unit_path(outside, "secret");
	char buf[64];

	unit_write(outside, "secret", "outside");
	unit_write(fixture->dir, "/sys/real/value", "inside");
	unit_symlink(fixture->dir, "/sys/absolute", "/sys/real/value");
	unit_symlink(fixture->dir, "/sys/relative", "real/value");
	unit_symlink(fixture->dir, "/sys/dir", "/sys/real");
	unit_symlink(fixture->dir, "/sys/out", secret);
	unit_symlink(fixture->dir, "/sys/climb", "../../../../../../../../../../etc/passwd");
	unit_symlink(fixture->dir, "/sys/magic", "/proc/self/root/etc/passwd");
	unit_symlink(fixture->dir, "/sys/loop", "loop");
	assert_int_equal(wtl_io_slurp(io, "/sys/absolute", buf, sizeof(buf)), 6);
	assert_string_equal(buf, "inside");
	assert_int_equal(wtl_io_slurp(io, "/sys/relative", buf, sizeof(buf)), 6);
	assert_int_equal(wtl_io_slurp(io, "/sys/dir/value", buf, sizeof(buf)), 6);
	assert_int_equal(wtl_io_slurp(io, "/sys/out", buf, sizeof(buf)), -ENOENT);
	assert_int_equal(wtl_io_slurp(io, "/sys/climb", buf, sizeof(buf)), -ENOENT);
	assert_int_equal(wtl_io_slurp(io, "/sys/magic", buf, sizeof(buf)), -ENOENT);
	assert_int_equal(wtl_io_slurp(io, "/sys/loop", buf, sizeof(buf)), -ELOOP);
	assert_int_equal(wtl_io_slurp(io, "/../../../../../../etc/passwd", buf, sizeof(buf)),
			 -ENOENT);
	free(secret);
	unit_rmtree(outside);
}

static void test_link_read(void **state)
{
	struct fixture *fixture = *state;
	struct wtl_io *io = fixture->io;
	char buf[9];

	unit_symlink(fixture->dir, "/sys/link", "../../dev");
	unit_symlink(fixture->dir, "/sys/up", "/sys");
	unit_write(fixture->dir, "/sys/file", "");
	memset(buf, 'x', sizeof(buf));
	assert_int_equal(wtl_io_link_read(io, "/sys/link", buf, sizeof(buf)), -ENAMETOOLONG);
	unit_symlink(fixture->dir, "/sys/short", "../../de");
	assert_int_equal(wtl_io_link_read(io, "/sys/short", buf, sizeof(buf)), 8);
	assert_string_equal(buf, "../../de");
	assert_int_equal(wtl_io_link_read(io, "/sys/up/up", buf, sizeof(buf)), 4);
	assert_string_equal(buf, "/sys");
	assert_int_equal(wtl_io_link_read(io, "/sys/file", buf, sizeof(buf)), -EINVAL);
	assert_int_equal(wtl_io_link_read(io, "/sys/none", buf, sizeof(buf)), -ENOENT);
	assert_int_equal(wtl_io_link_read(io, "none", buf, sizeof(buf)), -EINVAL);
}

static void test_dir_read(void **state)
{
	struct fixture *fixture = *state;
	struct wtl_io *io = fixture->io;
	struct wtl_buf names;
	const char *at;

	unit_write(fixture->dir, "/d/b", "");
	unit_write(fixture->dir, "/d/a/x", "");
	unit_write(fixture->dir, "/d/c10", "");
	unit_write(fixture->dir, "/d/c2", "");
	unit_write(fixture->dir, "/d/.hidden", "");
	wtl_buf_init(&names, 1 << 16);
	wtl_buf_add(&names, "kept", 5);
	assert_int_equal(wtl_io_dir_read(io, "/d", &names), 4);
	assert_int_equal(names.len, 16);
	assert_memory_equal(names.data, "kept\0a\0b\0c10\0c2\0", 16);
	wtl_buf_clear(&names);
	assert_int_equal(wtl_io_dir_read(io, "/d/a", &names), 1);
	assert_string_equal(names.data, "x");
	assert_int_equal(wtl_io_dir_read(io, "/d/b", &names), -ENOTDIR);
	assert_int_equal(wtl_io_dir_read(io, "/none", &names), -ENOENT);

	for (int i = 0; i < 1000; i++) {
		char path[32];

		snprintf(path, sizeof(path), "/many/%d", i * 7919 % 1000);
		unit_write(fixture->dir, path, "");
	}
	wtl_buf_clear(&names);
	assert_int_equal(wtl_io_dir_read(io, "/many", &names), 1000);
	at = names.data;
	for (int i = 0; i < 999; i++) {
		const char *next = at + strlen(at) + 1;

		assert_true(strcmp(at, next) < 0);
		at = next;
	}
	wtl_buf_done(&names);
	wtl_buf_init(&names, 3);
	assert_int_equal(wtl_io_dir_read(io, "/d", &names), -EFBIG);
	wtl_buf_done(&names);
}

static void test_errno_files(void **state)
{
	struct fixture *fixture = *state;
	struct wtl_io *io = fixture->io;
	char buf[64];
	int file;

	unit_write(fixture->dir, "/denied", "!errno EACCES\n");
	unit_write(fixture->dir, "/gone", "!errno ENODEV");
	unit_write(fixture->dir, "/nowhere", "!errno ENOENT\n");
	unit_write(fixture->dir, "/misspelt", "!errno EFOO\n");
	unit_write(fixture->dir, "/almost", "!errnoEACCES\n");
	unit_write(fixture->dir, "/later", "1\n");
	assert_int_equal(wtl_io_file_open(io, "/denied"), -EACCES);
	assert_int_equal(wtl_io_slurp(io, "/gone", buf, sizeof(buf)), -ENODEV);
	assert_int_equal(wtl_io_file_open(io, "/misspelt"), -EIO);
	assert_int_equal(wtl_io_slurp(io, "/almost", buf, sizeof(buf)), 13);
	assert_true(wtl_io_exists(io, "/denied"));
	assert_false(wtl_io_exists(io, "/nowhere"));
	file = wtl_io_file_open(io, "/later");
	assert_true(file >= 0);
	unit_write(fixture->dir, "/later", "!errno EIO\n");
	assert_int_equal(wtl_io_file_read(io, file, buf, sizeof(buf)), -EIO);
	wtl_io_file_close(io, file);
}

/* Neither a FIFO without a writer nor a file of any size holds the program up. */
static void test_hostile_files(void **state)
{
	struct fixture *fixture = *state;
	struct wtl_io *io = fixture->io;
	char *path = unit_path(fixture->dir, "huge"), *fifo = unit_path(fixture->dir, "fifo");
	char buf[4096];

	unit_write(fixture->dir, "huge", "x");
	assert_int_equal(truncate(path, (off_t)1 << 40), 0);
	assert_int_equal(wtl_io_slurp(io, "/huge", buf, sizeof(buf)), -EFBIG);
	assert_int_equal(wtl_io_read_line(io, "/huge", buf, sizeof(buf)), -EFBIG);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_true(wtl_io_slurp(io, "/fifo", buf, sizeof(buf)) < 0);
	free(path);
	free(fifo);
}

static void test_perf_files(void **state)
{
	struct fixture *fixture = *state;
	struct wtl_io *io = fixture->io;
	const struct wtl_perf_event event = {.type = 9, .config = 0x1b, .cpu = 32};
	const struct wtl_perf_event other = {.type = 9, .config = 2, .cpu = 0};
	uint64_t value = 3;
	int file;

	unit_write(fixture->dir, "/wattle-perf/9-1b-32", "18446744073709551615\n");
	unit_write(fixture->dir, "/wattle-perf/9-2-0", "!errno EACCES\n");
	assert_int_equal(wtl_io_perf_open(io, &other), -EACCES);
	unit_write(fixture->dir, "/wattle-perf/9-2-0", "many\n");
	file = wtl_io_perf_open(io, &other);
	assert_true(file >= 0);
	assert_int_equal(wtl_io_perf_read(io, file, &value), -EINVAL);
	assert_int_equal(value, 3);
	wtl_io_perf_close(io, file);
	file = wtl_io_perf_open(io, &event);
	assert_true(file >= 0);
	assert_int_equal(wtl_io_perf_read(io, file, &value), 0);
	assert_true(value == UINT64_MAX);
	wtl_io_perf_close(io, file);
	assert_int_equal(wtl_io_perf_open(io, &(struct wtl_perf_event){.type = 1}), -ENOENT);
}

static void count_is(struct wtl_io *io, const char *content, int expected)
{
	const struct wtl_perf_event event = {.type = 0, .config = 0x1b, .cpu = 3, .task = 4711};
	struct wtl_perf_count count = {.count = 77};
	int file = wtl_io_perf_open(io, &event), rc;

	assert_true(file >= 0);
	rc = wtl_io_perf_count(io, file, &count);
	wtl_io_perf_close(io, file);
	if (rc != expected)
		fail_msg("\"%s\" gives %d, not %d", content, rc, expected);
	if (rc < 0)
		assert_int_equal(count.count, 77);
}

/* A counter of a task is a file with three numbers. */
static void test_count_files(void **state)
{
	static const struct {
		const char *content;
		int rc;
	} cases[] = {
		{"18446744073709551615 9223372036854775807 5\n", 0},
		{"1 2 3", 0},
		{"1 2", -EINVAL},
		{"1 2 3 4", -EINVAL},
		{"1  2 3", -EINVAL},
		{"1 2 9223372036854775808", -EINVAL},
		{"1 -2 3", -EINVAL},
		{"", -EINVAL},
	};
	struct fixture *fixture = *state;
	const struct wtl_perf_event event = {.config = 0x1b, .task = 4711};
	struct wtl_perf_count count;
	int file;

	assert_int_equal(wtl_io_perf_open(fixture->io, &event), -ENOENT);
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		unit_write(fixture->dir, "/wattle-perf/0-1b-task4711", cases[i].content);
		count_is(fixture->io, cases[i].content, cases[i].rc);
	}
	unit_write(fixture->dir, "/wattle-perf/0-1b-task4711", "70 60 50\n");
	file = wtl_io_perf_open(fixture->io, &event);
	assert_int_equal(wtl_io_perf_count(fixture->io, file, &count), 0);
	assert_int_equal(count.count, 70);
	assert_int_equal(count.enabled_ns, 60);
	assert_int_equal(count.running_ns, 50);
	unit_write(fixture->dir, "/wattle-perf/0-1b-task4711", "!errno EIO\n");
	assert_int_equal(wtl_io_perf_count(fixture->io, file, &count), -EIO);
	wtl_io_perf_close(fixture->io, file);
}

static void *spin(void *nothing)
{
	struct timespec cpu;

	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	while (cpu.tv_sec == 0 && cpu.tv_nsec < 20000000);
	return nothing;
}

/* The kernel's own, by an event that every machine has: the CPU time of a thread, and of the one that it
 * starts. */
static void test_real_task(void **state)
{
	/* PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK */
	const struct wtl_perf_event event = {.type = 1, .config = 1, .cpu = -1, .task = getpid()};
	const struct wtl_perf_event nobody = {.type = 1, .config = 1, .cpu = -1, .task = 1 << 22};
	struct wtl_perf_count before, after;
	struct wtl_io *io;
	pthread_t thread;
	uint64_t value;
	int file;

	(void)state;
	assert_int_equal(wtl_io_real_new(NULL, &io, NULL), 0);
	file = wtl_io_perf_open(io, &event);
	if (file < 0) {
		print_message("SKIPPED: perf_event_open: %s\n", strerror(-file));
		wtl_io_free(io);
		skip();
	}
	assert_int_equal(wtl_io_perf_open(io, &nobody), -ESRCH);
	assert_int_equal(wtl_io_perf_count(io, file, &before), 0);
	assert_true(before.running_ns <= before.enabled_ns);
	assert_int_equal(pthread_create(&thread, NULL, spin, NULL), 0);
	pthread_join(thread, NULL);
	assert_int_equal(wtl_io_perf_count(io, file, &after), 0);
	/* Nothing else is counted for so long by this thread alone, which waits. */
	assert_true(after.running_ns - before.running_ns > 15000000);
	assert_in_range(after.count - before.count, 15000000, 10000000000);
	/* Not read as a counter of the machine. */
	assert_true(wtl_io_perf_read(io, file, &value) < 0);
	wtl_io_perf_close(io, file);
	wtl_io_free(io);
}

static int thunk_getpid(void *function, const struct wtl_lib_arg args[])
{
	(void)args;
	return ((int (*)(void))function)();
}

static const struct wtl_lib_function functions[] = {
	{"getpid", thunk_getpid, 0},
	{"wattle_has_no_such_symbol", thunk_getpid, 0},
};

static void test_lib(void **state)
{
	static const char *const names[] = {"libwattle-none.so.9", "libc.so.6", NULL};
	struct wtl_io *io;
	int lib, answer = 0;

	(void)state;
	assert_int_equal(wtl_io_real_new("/", &io, NULL), 0);
	lib = wtl_io_lib_open(io, names, functions, UNIT_COUNT(functions), NULL);
	assert_true(lib >= 0);
	assert_true(wtl_io_lib_has(io, lib, 0));
	assert_false(wtl_io_lib_has(io, lib, 1));
	assert_false(wtl_io_lib_has(io, lib, 2));
	assert_false(wtl_io_lib_has(io, lib + 1, 0));
	assert_int_equal(wtl_io_lib_call(io, lib, 0, NULL, &answer), 0);
	assert_int_equal(answer, getpid());
	assert_int_equal(wtl_io_lib_call(io, lib, 1, NULL, &answer), -ENOSYS);
	assert_int_equal(wtl_io_lib_call(io, lib, 2, NULL, &answer), -EINVAL);
	wtl_io_lib_close(io, lib);
	assert_false(wtl_io_lib_has(io, lib, 0));
	wtl_io_lib_close(io, lib);
	wtl_io_free(io);
}

static void test_lib_failures(void **state)
{
	static const char *const none[] = {"libwattle-none.so.9", NULL};
	static const char *const libc[] = {"libc.so.6", NULL};
	static const char *const nothing[] = {NULL};
	struct fixture *fixture = *state;
	struct wtl_io *io, *below = fixture->io;
	char *path = unit_path(fixture->dir, "broken.so");
	const char *broken[] = {path, "libwattle-none.so.9", NULL};
	struct wtl_err err = {0};

	unit_write(fixture->dir, "broken.so", "not a library");
	assert_int_equal(wtl_io_real_new(NULL, &io, NULL), 0);
	assert_int_equal(wtl_io_lib_open(io, none, functions, 1, &err), -WTL_EABSENT);
	assert_string_equal(err.path, "libwattle-none.so.9");
	assert_true(err.text[0] != '\0');
	assert_int_equal(wtl_io_lib_open(io, broken, functions, 1, &err), -WTL_ELIBRARY);
	assert_string_equal(err.path, path);
	assert_int_equal(wtl_io_lib_open(io, nothing, functions, 1, &err), -EINVAL);
	/* A directory that stands for a machine does not load this machine's libraries. */
	assert_int_equal(wtl_io_lib_open(below, libc, functions, 1, &err), -WTL_EABSENT);
	for (int i = 0; i < 8; i++)
		assert_int_equal(wtl_io_lib_open(io, libc, functions, 1, &err), i);
	assert_int_equal(wtl_io_lib_open(io, libc, functions, 1, &err), -EMFILE);
	wtl_io_free(io);
	free(path);
}

/* A thread that opens, calls and closes all the time, with its own table of one function. */
struct lib_user {
	struct wtl_io *io;
	struct wtl_lib_function function;
	int expected; /* the function's answer */
	pthread_barrier_t *start;
	unsigned wrong; /* calls that did not answer so */
	unsigned open;	/* opened with success */
};

static void *use_libs(void *user_)
{
	static const char *const libc[] = {"libc.so.6", NULL};
	static const char *const none[] = {"libwattle-none.so.9", NULL};
	struct lib_user *user = user_;
	const struct wtl_io_ops *ops = user->io->ops;

	pthread_barrier_wait(user->start);
	for (int i = 0; i < 300; i++) {
		int libs[3], answer = -1;

		/* Places are taken and given back, whether or not there is such a library. */
		user->wrong +=
			ops->lib_open(user->io, none, &user->function, 1, NULL) != -WTL_EABSENT;
		for (int k = 0; k < 3; k++)
			libs[k] = ops->lib_open(user->io, libc, &user->function, 1, NULL);
		for (int k = 0; k < 3; k++) {
			if (ops->lib_call(user->io, libs[k], 0, NULL, &answer) < 0 ||
			    answer != user->expected)
				user->wrong++;
			user->open += libs[k] >= 0;
			ops->lib_close(user->io, libs[k]);
		}
	}
	return NULL;
}

static void test_lib_threads(void **state)
{
	pthread_barrier_t start;
	pthread_t threads[2];
	struct wtl_io *io;
	struct lib_user users[2] = {
		{.function = {"getpid", thunk_getpid, 0}, .expected = getpid()},
		{.function = {"getppid", thunk_getpid, 0}, .expected = getppid()},
	};

	(void)state;
	assert_int_equal(wtl_io_real_new(NULL, &io, NULL), 0);
	assert_int_equal(pthread_barrier_init(&start, NULL, 2), 0);
	for (int i = 0; i < 2; i++) {
		users[i].io = io;
		users[i].start = &start;
		assert_int_equal(pthread_create(&threads[i], NULL, use_libs, &users[i]), 0);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(users[i].wrong, 0);
		assert_int_equal(users[i].open, 900);
	}
	pthread_barrier_destroy(&start);
	wtl_io_free(io);
}

static void test_clocks(void **state)
{
	struct fixture *fixture = *state;
	struct wtl_io *io = fixture->io;
	int64_t mono = wtl_io_mono_ns(io);

	assert_true(mono > 0);
	assert_true(wtl_io_boot_ns(io) >= mono);
	assert_true(wtl_io_real_ns(io) > (int64_t)1700000000 * 1000000000);
	assert_int_equal(wtl_io_wait_until(io, mono + 2000000), 0);
	assert_true(wtl_io_mono_ns(io) >= mono + 2000000);
	assert_int_equal(wtl_io_wait_until(io, 0), 0);
	assert_int_equal(wtl_io_wait_until(io, -5), 0);
}

static void test_roots(void **state)
{
	struct fixture *fixture = *state;
	struct wtl_err err = {0};
	struct wtl_io *io = NULL;
	char *path = unit_path(fixture->dir, "file"), *none = unit_path(fixture->dir, "none");
	char buf[256];

	unit_write(fixture->dir, "file", "");
	assert_int_equal(wtl_io_real_new(none, &io, &err), -ENOENT);
	assert_string_equal(err.path, none);
	assert_int_equal(wtl_io_real_new(path, &io, &err), -ENOTDIR);
	assert_null(io);
	/* "/" by another name is the machine itself, where nothing is special. */
	assert_int_equal(wtl_io_real_new("/../", &io, &err), 0);
	unit_write(fixture->dir, "file", "!errno EIO\n");
	assert_int_equal(wtl_io_slurp(io, path, buf, sizeof(buf)), 11);
	wtl_io_free(io);
	wtl_io_free(NULL);
	free(path);
	free(none);
}

static int out(struct wtl_io *io, const char *path, const char *text, enum wtl_out_mode mode)
{
	return wtl_io_out_write(io, path, text, strlen(text), mode);
}

static void file_is(const char *dir, const char *path, const char *expected)
{
	char *text = unit_read(dir, path);

	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
}

static void test_replace(void **state)
{
	struct fixture *fixture = *state;
	struct wtl_io *io = fixture->io;
	char *path = unit_path(fixture->dir, "out"), *link = unit_path(fixture->dir, "link");
	struct stat st;

	assert_int_equal(out(io, path, "one", WTL_OUT_REPLACE), 0);
	file_is(fixture->dir, "out", "one");
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(out(io, path, "two", WTL_OUT_REPLACE), 0);
	file_is(fixture->dir, "out", "two");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	/* A link stays a link. */
	unit_symlink(fixture->dir, "link", "out");
	assert_int_equal(out(io, link, "three", WTL_OUT_REPLACE), 0);
	file_is(fixture->dir, "out", "three");
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(out(io, fixture->dir, "x", WTL_OUT_REPLACE), -EISDIR);
	assert_int_equal(out(io, "/nonexistent-dir/x", "x", WTL_OUT_REPLACE), -ENOENT);
	assert_int_equal(unit_entries(fixture->dir, ""), 2);
	free(path);
	free(link);
}

/* The rest of a write that a limit on the size of files cuts off, in a child process. */
static int out_limited(struct wtl_io *io, const char *path, size_t len, enum wtl_out_mode mode)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		struct rlimit limit = {10, 10};
		char *data = calloc(1, len);
		int rc;

		signal(SIGXFSZ, SIG_IGN);
		if (!data || setrlimit(RLIMIT_FSIZE, &limit) < 0)
			_exit(99);
		memset(data, 'x', len);
		rc = wtl_io_out_write(io, path, data, len, mode);
		free(data);
		_exit(-rc);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static void test_write_fails_whole(void **state)
{
	struct fixture *fixture = *state;
	struct wtl_io *io = fixture->io;
	char *path = unit_path(fixture->dir, "out"), *fresh = unit_path(fixture->dir, "new");

	unit_write(fixture->dir, "out", "old one");
	assert_int_equal(out_limited(io, path, 100, WTL_OUT_REPLACE), -EFBIG);
	file_is(fixture->dir, "out", "old one");
	assert_int_equal(out_limited(io, path, 100, WTL_OUT_APPEND), -EFBIG);
	file_is(fixture->dir, "out", "old one");
	assert_int_equal(out_limited(io, fresh, 100, WTL_OUT_REPLACE), -EFBIG);
	assert_int_equal(unit_entries(fixture->dir, ""), 1);
	free(path);
	free(fresh);
}

static void test_append(void **state)
{
	struct fixture *fixture = *state;
	struct wtl_io *io = fixture->io;
	char *path = unit_path(fixture->dir, "log");

	assert_int_equal(out(io, path, "a\n", WTL_OUT_APPEND), 0);
	assert_int_equal(out(io, path, "b\n", WTL_OUT_APPEND), 0);
	assert_int_equal(out(io, path, "", WTL_OUT_APPEND), 0);
	file_is(fixture->dir, "log", "a\nb\n");
	assert_int_equal(out(io, fixture->dir, "x", WTL_OUT_APPEND), -EISDIR);
	free(path);
}

static void test_devices(void **state)
{
	struct fixture *fixture = *state;
	struct wtl_io *io = fixture->io;
	int ends[2];
	char path[256], buf[8];

	assert_int_equal(out(io, "/dev/null", "x", WTL_OUT_REPLACE), 0);
	assert_int_equal(out(io, "/dev/full", "x", WTL_OUT_REPLACE), -ENOSPC);
	assert_int_equal(out(io, "/dev/full", "x", WTL_OUT_APPEND), -ENOSPC);
	assert_int_equal(pipe(ends), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[1]);
	assert_int_equal(out(io, path, "piped", WTL_OUT_REPLACE), 0);
	assert_int_equal(read(ends[0], buf, sizeof(buf)), 5);
	close(ends[0]);
	close(ends[1]);
	/* A descriptor that is a file keeps being that file, with what was in it. */
	unit_write(fixture->dir, "redirected", "first ");
	snprintf(path, sizeof(path), "%s/redirected", fixture->dir);
	ends[1] = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(ends[1] >= 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[1]);
	assert_int_equal(out(io, path, "second", WTL_OUT_REPLACE), 0);
	file_is(fixture->dir, "redirected", "first second");
	close(ends[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_files),
		TEST(test_helpers),
		TEST(test_links_stay_inside),
		TEST(test_link_read),
		TEST(test_dir_read),
		TEST(test_errno_files),
		TEST(test_hostile_files),
		TEST(test_perf_files),
		TEST(test_count_files),
		cmocka_unit_test(test_real_task),
		TEST(test_lib),
		TEST(test_lib_failures),
		TEST(test_lib_threads),
		TEST(test_clocks),
		TEST(test_roots),
		TEST(test_replace),
		TEST(test_write_fails_whole),
		TEST(test_append),
		TEST(test_devices),
	};

	return cmocka_run_group_tests_name("io_real", tests, NULL, NULL);
}
