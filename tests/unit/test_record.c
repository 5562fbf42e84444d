/* SPDX-License-Identifier: MIT */
#include "base/io.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/tape.h"

#include "pass_io.h"
#include "unit.h"

/* Never called: struct inner answers for the library. */
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

static const char *const lib_names[] = {"libfake.so.1", NULL};

/* An inner wtl_io for the recorder: a real one below a root, with a library and a clock of ours. */
struct inner {
	struct pass_io pass;
	int64_t now_ns;
	unsigned calls;
	int wait_code;
};

static int inner_lib_open(struct wtl_io *io, const char *const names[],
			  const struct wtl_lib_function table[], size_t n, struct wtl_err *err)
{
	(void)io;
	(void)table;
	(void)n;
	if (strcmp(names[0], "libfake.so.1") == 0)
		return 0;
	return wtl_err_set(err, WTL_EABSENT, "fake", names[0], "none");
}

static bool inner_lib_has(struct wtl_io *io, int lib, size_t function)
{
	(void)io;
	return lib == 0 && function == 0;
}

static int inner_lib_call(struct wtl_io *io, int lib, size_t function, struct wtl_lib_arg args[],
			  int *ret_answer)
{
	struct inner *inner = (struct inner *)io;

	if (!inner_lib_has(io, lib, function))
		return -ENOSYS;
	inner->calls++;
	if (args[0].word == 13)
		return -EIO;
	*ret_answer = (int)args[0].word - 2;
	memset(args[1].memory, (int)inner->calls, 3);
	*(uint32_t *)args[2].memory += 5;
	return 0;
}

static void inner_lib_close(struct wtl_io *io, int lib)
{
	(void)io;
	(void)lib;
}

static int64_t inner_clock_ns(struct wtl_io *io, enum wtl_clock clock)
{
	struct inner *inner = (struct inner *)io;

	/* Boot time runs ahead of monotonic time: the machine once slept. */
	switch (clock) {
	case WTL_CLOCK_BOOT:
		return inner->now_ns + 5000;
	case WTL_CLOCK_REAL:
		return inner->now_ns + 1700000000000000000;
	case WTL_CLOCK_MONO:
	default:
		return inner->now_ns += 10;
	}
}

static int inner_wait_until(struct wtl_io *io, int64_t t_mono_ns)
{
	struct inner *inner = (struct inner *)io;
	int rc = inner->wait_code;

	inner->wait_code = 0;
	if (rc == 0)
		inner->now_ns = t_mono_ns;
	return rc;
}

static void inner_free(struct wtl_io *io)
{
	wtl_io_free(((struct pass_io *)io)->real);
	free(io);
}

static const struct wtl_io_ops inner_ops = {
	.file_open = pass_file_open,
	.file_read = pass_file_read,
	.file_close = pass_file_close,
	.link_read = pass_link_read,
	.dir_read = pass_dir_read,
	.perf_open = pass_perf_open,
	.perf_read = pass_perf_read,
	.perf_count = pass_perf_count,
	.perf_close = pass_perf_close,
	.lib_open = inner_lib_open,
	.lib_has = inner_lib_has,
	.lib_call = inner_lib_call,
	.lib_close = inner_lib_close,
	.process_cpu = pass_process_cpu,
	.exits_open = pass_exits_open,
	.exits_read = pass_exits_read,
	.exits_close = pass_exits_close,
	.clock_ns = inner_clock_ns,
	.wait_until = inner_wait_until,
	.file_write = pass_file_write,
	.out_write = pass_out_write,
	.free = inner_free,
};

static struct inner *inner_new(const char *root)
{
	struct inner *inner = calloc(1, sizeof(*inner));

	assert_non_null(inner);
	inner->pass.io.ops = &inner_ops;
	inner->now_ns = 1000000;
	assert_int_equal(wtl_io_real_new(root, &inner->pass.real, NULL), 0);
	return inner;
}

#define EXITS "54(4)0201\n01\n"

/* What one session saw, as text: recorded and replayed it must be the same. */
static void say_file(struct wtl_buf *seen, const char *name, ssize_t rc, const char *data)
{
	wtl_buf_printf(seen, "%s %zd ", name, rc);
	if (rc > 0)
		wtl_tape_put_quoted(seen, data, (size_t)rc);
	wtl_buf_putc(seen, '\n');
}

static void say_slurp(struct wtl_buf *seen, struct wtl_io *io, const char *path)
{
	char buf[512];
	int file = wtl_io_file_open(io, path);

	if (file < 0) {
		wtl_buf_printf(seen, "open %s %d\n", path, file);
		return;
	}
	say_file(seen, path, wtl_io_file_read(io, file, buf, sizeof(buf)), buf);
	wtl_io_file_close(io, file);
}

static void say_call(struct wtl_buf *seen, struct wtl_io *io, int lib, uint64_t word)
{
	unsigned char filled[8] = {0};
	uint32_t both = (uint32_t)word * 3;
	struct wtl_lib_arg args[] = {
		{.word = word},
		{.memory = filled, .size = sizeof(filled)},
		{.memory = &both, .size = sizeof(both)},
	};
	int answer = -99, rc = wtl_io_lib_call(io, lib, 0, args, &answer);

	wtl_buf_printf(seen, "call %d %d %d %d %u\n", rc, answer, filled[0], filled[3], both);
}

static void say_perf(struct wtl_buf *seen, struct wtl_io *io, int perf)
{
	uint64_t value = 1;
	int rc = wtl_io_perf_read(io, perf, &value);

	wtl_buf_printf(seen, "perf %d %llu\n", rc, (unsigned long long)value);
}

static void say_count(struct wtl_buf *seen, struct wtl_io *io, int file)
{
	struct wtl_perf_count count = {.count = 1};
	int rc = wtl_io_perf_count(io, file, &count);

	wtl_buf_printf(seen, "count %d %llu %lld %lld\n", rc, (unsigned long long)count.count,
		       (long long)count.enabled_ns, (long long)count.running_ns);
}

static void say_cpu(struct wtl_buf *seen, struct wtl_io *io)
{
	const int pids[] = {1, 20, 300, 0};
	int64_t cpu_ns[UNIT_COUNT(pids)] = {0};
	int rc = wtl_io_process_cpu(io, pids, cpu_ns, UNIT_COUNT(pids));

	wtl_buf_printf(seen, "cpu %d", rc);
	for (size_t i = 0; i < UNIT_COUNT(pids) && rc == 0; i++)
		wtl_buf_printf(seen, " %lld", (long long)cpu_ns[i]);
	wtl_buf_putc(seen, '\n');
}

static void say_exits(struct wtl_buf *seen, struct wtl_io *io, int file)
{
	char buf[64];
	ssize_t rc;

	do {
		rc = wtl_io_exits_read(io, file, buf, sizeof(buf));
		say_file(seen, "exit", rc, buf);
	} while (rc > 0);
}

struct session {
	struct wtl_io *io;
	struct wtl_buf *seen;
	const char *dir; /* where to change files; NULL on replay */
	int held;
	int perf, task;
	int lib;
	int exits;
};

static void change(const struct session *session, const char *path, const char *text)
{
	if (session->dir)
		unit_write(session->dir, path, text);
}

static void session_open(struct session *session)
{
	const struct wtl_perf_event event = {.type = 9, .config = 2, .cpu = 0};
	const struct wtl_perf_event denied = {.type = 9, .config = 2, .cpu = 1};
	const struct wtl_perf_event task = {.type = 0, .config = 1, .cpu = -1, .task = 20};
	const struct wtl_perf_event unread = {.type = 0, .config = 1, .cpu = -1, .task = 21};
	const struct wtl_perf_event gone = {.type = 0, .config = 1, .cpu = -1, .task = 22};
	const char *const none[] = {"libnone.so", NULL};
	struct wtl_io *io = session->io;
	struct wtl_buf *seen = session->seen;
	struct wtl_buf names;
	char link[32];
	int rc;

	wtl_buf_init(&names, 1000);
	rc = wtl_io_dir_read(io, "/sys", &names);
	say_file(seen, "dir", rc < 0 ? rc : (ssize_t)names.len, names.data);
	wtl_buf_printf(seen, "nodir %d\n", wtl_io_dir_read(io, "/none", &names));
	wtl_buf_printf(seen, "empty %d\n", wtl_io_dir_read(io, "/sys/empty", &names));
	wtl_buf_done(&names);
	say_file(seen, "link", wtl_io_link_read(io, "/sys/link", link, sizeof(link)), link);
	say_file(seen, "nolink", wtl_io_link_read(io, "/sys/a", link, sizeof(link)), link);
	wtl_buf_printf(seen, "exists %d %d %d\n", wtl_io_exists(io, "/sys/a"),
		       wtl_io_exists(io, "/none"), wtl_io_exists(io, "/sys"));
	session->held = wtl_io_file_open(io, "/sys/a");
	session->perf = wtl_io_perf_open(io, &event);
	wtl_buf_printf(seen, "denied %d\n", wtl_io_perf_open(io, &denied));
	session->task = wtl_io_perf_open(io, &task);
	rc = wtl_io_perf_open(io, &unread);
	wtl_io_perf_close(io, rc);
	wtl_buf_printf(seen, "tasks %d %d\n", rc >= 0, wtl_io_perf_open(io, &gone));
	session->lib = wtl_io_lib_open(io, lib_names, functions, 2, NULL);
	wtl_buf_printf(seen, "none %d\n", wtl_io_lib_open(io, none, functions, 2, NULL));
	wtl_buf_printf(seen, "has %d %d\n", wtl_io_lib_has(io, session->lib, 0),
		       wtl_io_lib_has(io, session->lib, 1));
	session->exits = wtl_io_exits_open(io);
	assert_true(session->exits >= 0);
	assert_true(session->held >= 0 && session->perf >= 0 && session->lib >= 0);
}

static void session_tick(struct session *session)
{
	struct wtl_io *io = session->io;
	char buf[512];

	say_file(session->seen, "held", wtl_io_file_read(io, session->held, buf, sizeof(buf)), buf);
	say_slurp(session->seen, io, "/sys/quote \" and\nline");
	say_slurp(session->seen, io, "/sys/comes");
	say_slurp(session->seen, io, "/sys/denied");
	say_perf(session->seen, io, session->perf);
	say_count(session->seen, io, session->task);
	say_call(session->seen, io, session->lib, 7);
	say_call(session->seen, io, session->lib, 1);
	say_call(session->seen, io, session->lib, 13);
	say_cpu(session->seen, io);
	say_exits(session->seen, io, session->exits);
	wtl_buf_printf(session->seen, "write %d\n", wtl_io_file_write(io, "/sys/limit", "2\n", 2));
	wtl_buf_printf(session->seen, "denied %d\n",
		       wtl_io_file_write(io, "/sys/denied", "2\"", 2));
}

/* To the nanosecond: the inner clock goes on at each look, but what is shown is the tape's. */
static void session_times(struct session *session)
{
	long long mono = wtl_io_mono_ns(session->io);

	wtl_buf_printf(session->seen, "times %lld %lld %lld\n", mono,
		       (long long)wtl_io_boot_ns(session->io),
		       (long long)wtl_io_real_ns(session->io));
	assert_int_equal(wtl_io_mono_ns(session->io), mono);
}

/* Only the live session knows the words; a replay has them from the tape. */
static void session_note(struct session *session, const char *name, const char *words)
{
	char text[32];
	int rc;

	snprintf(text, sizeof(text), "%s", session->dir ? words : "?");
	rc = wtl_io_note(session->io, name, text, sizeof(text));
	wtl_buf_printf(session->seen, "note %d %s %s\n", rc, name, text);
}

static void session_run(struct session *session)
{
	session_times(session);
	session_open(session);
	session_note(session, "command", "4711");
	session_times(session);
	session_tick(session);
	session_note(session, "idle", "a \"b\"\n\t\\");
	session_times(session);
	session_note(session, "idle", "");
	change(session, "/sys/a", "200\n");
	change(session, "/sys/comes", "here");
	change(session, "/wattle-cpu/20", "2200");
	change(session, "/wattle-perf/9-2-0", "18446744073709551615\n");
	change(session, "/wattle-perf/0-1-task20", "18446744073709551615 9223372036854775807 8\n");
	wtl_buf_printf(session->seen, "wait %d\n", wtl_io_wait_until(session->io, 50000000));
	session_times(session);
	session_note(session, "command", "4712");
	session_tick(session);
	session_times(session);
	/* Read twice in a frame, with different answers. */
	change(session, "/sys/a", "300\n");
	change(session, "/wattle-cpu/1", "1300");
	change(session, "/wattle-cpu/300", "1");
	change(session, "/wattle-exits", EXITS "0a(10)0b\n!errno ENOBUFS\n0c\n");
	session_tick(session);
	change(session, "/sys/a", "!errno ENODEV\n");
	change(session, "/sys/comes", "!errno ENOENT\n");
	change(session, "/sys/limit", "!errno EBUSY\n");
	change(session, "/wattle-cpu/20", "!errno ESRCH\n");
	change(session, "/wattle-perf/0-1-task20", "!errno EIO\n");
	wtl_buf_printf(session->seen, "wait %d\n", wtl_io_wait_until(session->io, 80000000));
	session_times(session);
	session_tick(session);
	wtl_io_file_close(session->io, session->held);
	wtl_io_perf_close(session->io, session->perf);
	wtl_io_perf_close(session->io, session->task);
	wtl_io_exits_close(session->io, session->exits);
	wtl_io_lib_close(session->io, session->lib);
}

static void root_make(const char *dir)
{
	unit_write(dir, "/sys/limit", "1\n");
	unit_write(dir, "/wattle-cpu/1", "1200");
	unit_write(dir, "/wattle-cpu/20", "2100");
	unit_write(dir, "/wattle-exits", EXITS);
	unit_write(dir, "/sys/a", "100\n");
	unit_write(dir, "/sys/empty/.hidden", "");
	unit_write(dir, "/sys/denied", "!errno EACCES\n");
	unit_write(dir, "/sys/quote \" and\nline", "\"\\ \t\001\377\n\n");
	unit_symlink(dir, "/sys/link", "../a \"place\"");
	unit_write(dir, "/wattle-perf/9-2-0", "42\n");
	unit_write(dir, "/wattle-perf/9-2-1", "!errno EACCES\n");
	unit_write(dir, "/wattle-perf/0-1-task20", "300 200 100\n");
	unit_write(dir, "/wattle-perf/0-1-task21", "1 1 1\n");
}

static void test_records_and_replays(void **state)
{
	char *dir = unit_tmpdir(), *other = unit_tmpdir(), *tape = unit_path(other, "tape");
	char *again = unit_path(other, "again"), *text, *text_again;
	struct wtl_buf live, replayed;
	struct session session = {.dir = dir, .seen = &live};
	struct wtl_io *io;

	(void)state;
	wtl_buf_init(&live, 1 << 16);
	wtl_buf_init(&replayed, 1 << 16);
	root_make(dir);
	assert_int_equal(wtl_io_record_new(&inner_new(dir)->pass.io, tape, &session.io, NULL), 0);
	session_run(&session);
	assert_int_equal(wtl_io_record_error(session.io), 0);
	wtl_io_free(session.io);
	unit_rmtree(dir);

	assert_int_equal(wtl_io_replay_new(tape, &io, NULL), 0);
	assert_int_equal(wtl_io_record_error(io), -EINVAL);
	/* Recorded again from the replay, the tape tells the same. */
	assert_int_equal(wtl_io_record_new(io, again, &io, NULL), 0);
	session = (struct session){.io = io, .seen = &replayed};
	session_run(&session);
	assert_string_equal(wtl_buf_str(&live), wtl_buf_str(&replayed));
	assert_int_equal(wtl_io_wait_until(io, 0), -WTL_ETAPE_END);
	assert_int_equal(wtl_io_wait_until(io, 0), -WTL_ETAPE_END);
	wtl_io_free(io);
	text = unit_read(other, "tape");
	text_again = unit_read(other, "again");
	assert_string_equal(text, text_again);
	assert_non_null(strstr(text, " R \"/sys/a\" \"200\\n\"\n"));
	assert_non_null(strstr(text, " O \"/none\" ENOENT\n"));
	assert_non_null(strstr(text, " P 9 2 0 42\n"));
	assert_non_null(strstr(text, " P 9 2 1 open EACCES\n"));
	assert_non_null(strstr(text, " P 0 1 task=20 300 200 100\n"));
	assert_non_null(strstr(text, " P 0 1 task=20 EIO\n"));
	assert_non_null(strstr(text, " P 0 1 task=21 open ok\n"));
	assert_non_null(strstr(text, " P 0 1 task=22 open ENOENT\n"));
	assert_non_null(strstr(text, " H \"libfake.so.1\" \"fake_fill\""));
	assert_non_null(strstr(text, " S fake_fill 7 [8:] [4:15] = 5 [010101] [1a]\n"));
	assert_non_null(strstr(text, " S fake_fill d [8:] [4:27] = EIO\n"));
	assert_non_null(strstr(text, " C 1=1200 20=2100 300=ESRCH \n"));
	assert_non_null(strstr(text, " C 20=2200 \n"));
	assert_non_null(strstr(text, " C *2 1=1300 300=1 \n"));
	assert_non_null(strstr(text, " C 20=ESRCH \n"));
	assert_non_null(strstr(text, " X open ok\n"));
	assert_non_null(strstr(text, " X [54(4)0201]\n"));
	assert_non_null(strstr(text, " X ENOBUFS\n"));
	assert_non_null(strstr(text, " W \"/sys/limit\" \"2\\n\" ok\n"));
	assert_non_null(strstr(text, " W \"/sys/limit\" \"2\\n\" EBUSY\n"));
	assert_non_null(strstr(text, " N \"command\" \"4711\"\n"));
	assert_non_null(strstr(text, " N \"idle\" \"a \\x22b\\x22\\n\\t\\\\\"\n"));
	assert_non_null(strstr(text, " W \"/sys/denied\" \"2\\x22\" EACCES\n"));
	free(text);
	free(text_again);
	free(tape);
	free(again);
	wtl_buf_done(&live);
	wtl_buf_done(&replayed);
	unit_rmtree(other);
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

static void test_interrupted_wait(void **state)
{
	char *dir = unit_tmpdir(), *path = unit_path(dir, "tape");
	struct inner *inner = inner_new(dir);
	struct wtl_io *io;

	(void)state;
	assert_int_equal(wtl_io_record_new(&inner->pass.io, path, &io, NULL), 0);
	inner->wait_code = -EINTR;
	assert_int_equal(wtl_io_wait_until(io, 5000000), -EINTR);
	assert_int_equal(wtl_io_wait_until(io, 5000000), 0);
	wtl_io_free(io);
	assert_int_equal(wtl_io_replay_new(path, &io, NULL), 0);
	assert_int_equal(wtl_io_wait_until(io, 0), -EINTR);
	assert_int_equal(wtl_io_wait_until(io, 0), 0);
	assert_true(wtl_io_mono_ns(io) >= 5000000);
	assert_int_equal(wtl_io_wait_until(io, 0), -WTL_ETAPE_END);
	wtl_io_free(io);
	free(path);
	unit_rmtree(dir);
}

/* A tape that cannot be written is told once and disturbs nothing else. */
static void test_full_disk(void **state)
{
	char *dir = unit_tmpdir(), *none = unit_path(dir, "none/tape");
	struct inner *inner = inner_new(dir);
	struct wtl_io *io;
	struct wtl_err err;

	(void)state;
	unit_write(dir, "/a", "1");
	assert_int_equal(wtl_io_record_new(&inner->pass.io, none, &io, &err), -ENOENT);
	assert_string_equal(err.path, none);
	assert_int_equal(wtl_io_record_new(&inner->pass.io, "/dev/full", &io, &err), 0);
	slurp_is(io, "/a", "1");
	assert_int_equal(wtl_io_wait_until(io, 2000000), 0);
	slurp_is(io, "/a", "1");
	slurp_fails(io, "/b", -ENOENT);
	assert_int_equal(wtl_io_record_error(io), -ENOSPC);
	assert_int_equal(wtl_io_record_error(io), -ENOSPC);
	wtl_io_free(io);
	free(none);
	unit_rmtree(dir);
}

/* What is left of a tape on a full disk ends with a line and can be replayed. */
static void test_cut_tape(void **state)
{
	char *dir = unit_tmpdir(), *path = unit_path(dir, "tape"), *text;
	struct rlimit before, limit;
	struct wtl_io *io;

	(void)state;
	unit_write(dir, "/a", "1");
	assert_int_equal(wtl_io_record_new(&inner_new(dir)->pass.io, path, &io, NULL), 0);
	slurp_is(io, "/a", "1");
	assert_int_equal(wtl_io_record_error(io), 0);
	text = unit_read(dir, "tape");
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = (struct rlimit){strlen(text) + 5, before.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	slurp_is(io, "/a", "1");
	assert_int_equal(wtl_io_record_error(io), -EFBIG);
	slurp_is(io, "/a", "1");
	wtl_io_free(io);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_DFL);
	free(text);
	assert_int_equal(wtl_io_replay_new(path, &io, NULL), 0);
	slurp_is(io, "/a", "1");
	wtl_io_free(io);
	free(path);
	unit_rmtree(dir);
}

/* An answer that no line can hold is left out, told, and still reaches the caller. */
static void test_huge_answer(void **state)
{
	char *dir = unit_tmpdir(), *path = unit_path(dir, "tape");
	const size_t size = 600000;
	char *data = malloc(size);
	struct wtl_io *io;

	(void)state;
	assert_non_null(data);
	memset(data, 1, size);
	unit_write_bytes(dir, "/binary", data, size);
	memset(data, 'a', size);
	unit_write_bytes(dir, "/text", data, size);
	assert_int_equal(wtl_io_record_new(&inner_new(dir)->pass.io, path, &io, NULL), 0);
	data = realloc(data, size + 1);
	assert_non_null(data);
	assert_int_equal(wtl_io_slurp(io, "/text", data, size + 1), size);
	assert_int_equal(wtl_io_record_error(io), 0);
	assert_int_equal(wtl_io_slurp(io, "/binary", data, size + 1), size);
	assert_int_equal(wtl_io_record_error(io), -EFBIG);
	wtl_io_free(io);
	assert_int_equal(wtl_io_replay_new(path, &io, NULL), 0);
	assert_int_equal(wtl_io_slurp(io, "/text", data, size + 1), size);
	assert_int_equal(data[size - 1], 'a');
	wtl_io_free(io);
	free(data);
	free(path);
	unit_rmtree(dir);
}

/*
 * A recording goes no further than a tape that can be replayed. The address sanitizer would take half a minute for the
 * millions of answers here and below, all of them alike.
 */
static void test_largest_tape(void **state)
{
	const unsigned fit = WTL_TAPE_MAX / 1000000;
	char *dir, *path, *data;
	struct wtl_io *io;

	(void)state;
	if (UNIT_SANITIZED)
		skip();
	dir = unit_tmpdir();
	path = unit_path(dir, "tape");
	data = malloc(1000001);
	assert_non_null(data);
	memset(data, 'a', 1000000);
	unit_write_bytes(dir, "/a", data, 1000000);
	assert_int_equal(wtl_io_record_new(&inner_new(dir)->pass.io, path, &io, NULL), 0);
	for (unsigned i = 0; i < fit; i++)
		assert_int_equal(wtl_io_slurp(io, "/a", data, 1000001), 1000000);
	assert_int_equal(wtl_io_record_error(io), 0);
	assert_int_equal(wtl_io_slurp(io, "/a", data, 1000001), 1000000);
	assert_int_equal(wtl_io_record_error(io), -EFBIG);
	wtl_io_free(io);
	assert_int_equal(wtl_io_replay_new(path, &io, NULL), 0);
	wtl_io_free(io);
	free(data);
	free(path);
	unit_rmtree(dir);
}

static void test_most_records(void **state)
{
	static const struct wtl_lib_function brief[] = {{"f", thunk_fill, 1}};
	struct wtl_lib_arg args[] = {{.word = 13}};
	char *dir, *path;
	struct wtl_io *io;
	int lib, answer;

	(void)state;
	if (UNIT_SANITIZED)
		skip();
	dir = unit_tmpdir();
	path = unit_path(dir, "tape");
	assert_int_equal(wtl_io_record_new(&inner_new(dir)->pass.io, path, &io, NULL), 0);
	lib = wtl_io_lib_open(io, lib_names, brief, 1, NULL);
	assert_int_equal(lib, 0);
	for (unsigned i = 1; i < WTL_TAPE_RECORDS_MAX; i++)
		wtl_io_lib_call(io, lib, 0, args, &answer);
	assert_int_equal(wtl_io_record_error(io), 0);
	wtl_io_lib_call(io, lib, 0, args, &answer);
	assert_int_equal(wtl_io_record_error(io), -EFBIG);
	wtl_io_free(io);
	assert_int_equal(wtl_io_replay_new(path, &io, NULL), 0);
	wtl_io_free(io);
	free(path);
	unit_rmtree(dir);
}

enum { MANY = 10000 };

/* Asks for many processes. Returns whether each has what all are expected to have. */
static bool many_are(struct wtl_io *io, const int pids[], size_t n, int64_t expected)
{
	static int64_t cpu_ns[MANY];

	assert_int_equal(wtl_io_process_cpu(io, pids, cpu_ns, n), 0);
	for (size_t i = 0; i < n; i++)
		if (cpu_ns[i] != expected + pids[i] / 100 * 100)
			return false;
	return true;
}

/* An answer for many processes: most of it never changes. */
static int many_process_cpu(struct wtl_io *io, const int pids[], int64_t cpu_ns[], size_t n)
{
	(void)io;
	for (size_t i = 0; i < n; i++)
		cpu_ns[i] = INT64_C(123456789000) + pids[i] / 100 * 100;
	return 0;
}

static void test_many_processes(void **state)
{
	char *dir = unit_tmpdir(), *path = unit_path(dir, "tape"), *text;
	struct inner *inner = inner_new(dir);
	struct wtl_io_ops ops = inner_ops;
	int *pids = calloc(MANY, sizeof(*pids));
	struct wtl_io *io;
	size_t first;

	(void)state;
	assert_non_null(pids);
	for (int i = 0; i < MANY; i++)
		pids[i] = 4000000 + i;
	ops.process_cpu = many_process_cpu;
	inner->pass.io.ops = &ops;
	assert_int_equal(wtl_io_record_new(&inner->pass.io, path, &io, NULL), 0);
	assert_true(many_are(io, pids, MANY, 123456789000));
	assert_int_equal(wtl_io_record_error(io), 0);
	text = unit_read(dir, "tape");
	first = strlen(text);
	assert_non_null(strstr(text, " C & "));
	free(text);
	/* Each later tick costs its line alone. */
	for (int i = 1; i <= 100; i++) {
		assert_int_equal(wtl_io_wait_until(io, i * 1000000000L), 0);
		assert_true(many_are(io, pids, MANY, 123456789000));
	}
	assert_int_equal(wtl_io_record_error(io), 0);
	wtl_io_free(io);
	text = unit_read(dir, "tape");
	assert_true(strlen(text) - first < 100 * 100);
	free(text);

	/* Asked in another order, and in parts. */
	assert_int_equal(wtl_io_replay_new(path, &io, NULL), 0);
	for (int i = 0; i < MANY / 2; i++) {
		int swap = pids[i];

		pids[i] = pids[MANY - 1 - i];
		pids[MANY - 1 - i] = swap;
	}
	assert_true(many_are(io, pids, 10, 123456789000));
	assert_true(many_are(io, pids + 10, MANY - 10, 123456789000));
	for (int i = 0; i < 100; i++)
		assert_int_equal(wtl_io_wait_until(io, 0), 0);
	assert_true(many_are(io, pids, MANY, 123456789000));
	wtl_io_free(io);
	free(pids);
	free(path);
	unit_rmtree(dir);
}

/* A call that cannot be answered, in between. */
static void test_cpu_fails(void **state)
{
	char *dir = unit_tmpdir(), *path = unit_path(dir, "tape");
	const int pid = 1;
	int64_t cpu_ns = 0;
	struct wtl_io *io;

	(void)state;
	io = &inner_new(dir)->pass.io;
	assert_int_equal(wtl_io_set_fault(io, "cpu:2:EBUSY", NULL), 0);
	assert_int_equal(wtl_io_record_new(io, path, &io, NULL), 0);
	assert_int_equal(wtl_io_exits_open(io), -ENOENT);
	for (int replay = 0; replay < 2; replay++) {
		if (replay)
			assert_int_equal(wtl_io_replay_new(path, &io, NULL), 0);
		else
			unit_write(dir, "/wattle-cpu/1", "5");
		assert_int_equal(wtl_io_process_cpu(io, &pid, &cpu_ns, 1), 0);
		assert_int_equal(cpu_ns, 5);
		assert_int_equal(wtl_io_process_cpu(io, &pid, &cpu_ns, 1), -EBUSY);
		assert_int_equal(wtl_io_wait_until(io, 10000000), 0);
		assert_int_equal(wtl_io_process_cpu(io, &pid, &cpu_ns, 1), 0);
		assert_int_equal(cpu_ns, 5);
		if (replay)
			assert_int_equal(wtl_io_exits_open(io), -ENOENT);
		wtl_io_free(io);
	}
	free(path);
	unit_rmtree(dir);
}

/* Whether a database may write is for the machine to say, and nothing for a tape. */
static void test_out_check(void **state)
{
	char *dir = unit_tmpdir(), *path = unit_path(dir, "tape");
	struct wtl_io *io;

	(void)state;
	io = &inner_new(dir)->pass.io;
	assert_int_equal(wtl_io_set_fault(io, "write:2:EDQUOT", NULL), 0);
	assert_int_equal(wtl_io_record_new(io, path, &io, NULL), 0);
	assert_int_equal(wtl_io_out_check(io), 0);
	assert_int_equal(wtl_io_out_check(io), -EDQUOT);
	wtl_io_free(io);
	assert_int_equal(wtl_io_replay_new(path, &io, NULL), 0);
	assert_int_equal(wtl_io_out_check(io), 0);
	wtl_io_free(io);
	free(path);
	unit_rmtree(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records_and_replays), cmocka_unit_test(test_interrupted_wait),
		cmocka_unit_test(test_full_disk),	    cmocka_unit_test(test_cut_tape),
		cmocka_unit_test(test_huge_answer),	    cmocka_unit_test(test_many_processes),
		cmocka_unit_test(test_cpu_fails),	    cmocka_unit_test(test_out_check),
		cmocka_unit_test(test_largest_tape),	    cmocka_unit_test(test_most_records),
	};

	return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
