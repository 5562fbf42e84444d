/* SPDX-License-Identifier: MIT */
/* The files of a new recording: how they are made, and what is left of them when the recorder is killed meanwhile. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/outfile.h"
#include "base/outplace.h"
#include "record/reader.h"
#include "record/writer.h"
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
	for (unsigned number = 1; rc == 0; number += UNIT_SANITIZED ? 10 : 2) {
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

/* ---- Names that are taken ---- */

enum taken { EMPTY, FULL, LINKED, SYMLINK, DANGLING, FIFO, TAKEN };

static void take_name(const struct store_bench *bench, const char *name, enum taken taken)
{
	char *path = unit_path(bench->dir, name), *other = unit_path(bench->dir, "other");

	unit_write(bench->dir, "other", "");
	if (taken == EMPTY || taken == FULL)
		unit_write(bench->dir, name, taken == FULL ? "precious" : "");
	else if (taken == LINKED)
		assert_int_equal(link(other, path), 0);
	else if (taken == FIFO)
		assert_int_equal(mkfifo(path, 0600), 0);
	else
		unit_symlink(bench->dir, name, taken == SYMLINK ? "other" : "nothing");
	free(path);
	free(other);
}

/* Other people's files of the names that SQLite would use: it would write into them, and remove them. */
static void check_taken(const char *end, enum taken taken)
{
	struct wtl_err err = {.text = ""};
	struct store_bench bench;
	struct stat before, after;
	char name[64], *path;

	store_bench_init(&bench);
	snprintf(name, sizeof(name), "r.wattle%s", end);
	take_name(&bench, name, taken);
	path = unit_path(bench.dir, name);
	assert_int_equal(lstat(path, &before), 0);
	assert_int_equal(store_bench_try_create(&bench, &err), -EEXIST);
	assert_string_equal(err.path, bench.path);
	assert_non_null(strstr(err.text, end));
	assert_int_equal(lstat(path, &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
	assert_int_equal(after.st_size, before.st_size);
	/* Nothing else is there. */
	assert_int_equal(unit_entries(bench.dir, ""), 2);
	free(path);
	store_bench_done(&bench);
}

static void test_names_that_are_taken(void **state)
{
	static const char *const ends[] = {"-wal", "-shm", "-journal"};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(ends); i++)
		for (enum taken taken = EMPTY; taken < TAKEN; taken++)
			check_taken(ends[i], taken);
}

/* The same beside a recording that is there: a reader would take it for its own. */
static void test_files_with_several_names_beside_a_recording(void **state)
{
	static const char *const ends[] = {"-wal", "-shm", "-journal"};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(ends); i++) {
		struct wtl_store_reader *reader = NULL;
		struct wtl_err err = {.text = ""};
		struct store_bench bench;
		char name[64];

		store_bench_init(&bench);
		store_bench_create(&bench);
		store_bench_seconds(&bench, 2, 10);
		store_bench_end(&bench);
		snprintf(name, sizeof(name), "r.wattle%s", ends[i]);
		take_name(&bench, name, LINKED);
		assert_int_equal(wtl_store_open(bench.path, &reader, &err), -WTL_EFORMAT);
		assert_null(reader);
		assert_non_null(strstr(err.text, ends[i]));
		assert_non_null(strstr(err.text, "a file with several names"));
		store_bench_done(&bench);
	}
}

/* ---- Somebody puts another file in the place of ours while SQLite opens it, and back again ---- */

static struct {
	const char *end;
	char *theirs, *ours;
	bool stays;
} swap;

static int swapping_open(const char *path, int flags, int mode)
{
	size_t len = strlen(path), end = swap.end ? strlen(swap.end) : 0;
	int fd;

	if (!swap.end || len < end || strcmp(path + len - end, swap.end) != 0)
		return open(path, flags, mode);
	rename(path, swap.ours);
	rename(swap.theirs, path);
	fd = open(path, flags, mode);
	if (swap.stays) {
		swap.end = NULL;
		return fd;
	}
	rename(path, swap.theirs);
	rename(swap.ours, path);
	return fd;
}

static void test_files_that_are_swapped(void **state)
{
	static const struct {
		const char *end;
		bool stays;
	} swaps[] = {{"-wal", false}, {"-shm", false}, {"r.wattle", false}, {"r.wattle", true}};
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	struct store_bench *bench = *state;

	swap.theirs = unit_path(bench->dir, "theirs");
	swap.ours = unit_path(bench->dir, "ours");
	vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)swapping_open);
	for (size_t i = 0; i < UNIT_COUNT(swaps); i++) {
		struct wtl_err err = {.text = ""};

		/* A recording, in place of the file itself. */
		store_bench_create(bench);
		store_bench_end(bench);
		assert_int_equal(rename(bench->path, swap.theirs), 0);
		if (swaps[i].end[0] == '-')
			unit_write(bench->dir, "theirs", "");
		swap.end = swaps[i].end;
		swap.stays = swaps[i].stays;
		assert_int_equal(store_bench_try_create(bench, &err), -EEXIST);
		swap.end = NULL;
		assert_non_null(
			strstr(err.text, "another program has put other files in its place"));
		assert_int_equal(unit_entries(bench->dir, ""), 1);
	}
	vfs->xSetSystemCall(vfs, NULL, NULL);
	store_bench_create(bench);
	free(swap.theirs);
	free(swap.ours);
}

/* Whoever has rights that others lack stays in the folder where it began, whatever is put in its place. */
static void test_folder_that_is_swapped(void **state)
{
	struct store_bench *bench = *state;
	char *folder = unit_path(bench->dir, "folder"), *ours = unit_path(bench->dir, "ours");
	struct wtl_err err = {.text = ""};
	int rc;

	assert_int_equal(mkdir(folder, 0700), 0);
	free(bench->path);
	bench->path = unit_path(folder, "r.wattle");
	store_bench_create(bench);
	store_bench_seconds(bench, 2, 10);
	assert_int_equal(rename(folder, ours), 0);
	assert_int_equal(mkdir(folder, 0700), 0);
	rc = store_bench_second(bench, 10, &err);
	if (rc == 0)
		wtl_writer_wait(bench->writer);
	rc = wtl_store_end(bench->writer, &err);
	bench->writer = NULL;
	assert_int_equal(unit_entries(folder, ""), 0);
	if (wtl_outplace_is_privileged()) {
		assert_int_equal(rc, 0);
		assert_int_equal(unit_entries(ours, ""), 1);
	} else {
		assert_int_equal(rc, -ENOENT);
		assert_non_null(strstr(err.text, "moved or removed"));
	}
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(rename(ours, folder), 0);
	store_bench_expect(bench, 30);
	free(folder);
	free(ours);
}

/* Old temporary files are left over and go; new ones may be another program's, which is about to begin. */
static void test_old_beginnings(void **state)
{
	static const char *const names[] = {".wattle-1-0.tmp", ".wattle-1-1.tmp"};
	const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	struct store_bench *bench = *state;

	for (size_t i = 0; i < UNIT_COUNT(names); i++) {
		char *path = unit_path(bench->dir, names[i]);

		unit_write(bench->dir, names[i], "");
		if (i == 0)
			assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
		free(path);
	}
	store_bench_create(bench);
	store_bench_end(bench);
	assert_int_equal(unit_entries(bench->dir, ""), 2);
}

/* ---- Rights ---- */

/* What stands beside the file is its owner's alone. */
static void test_rights(void **state)
{
	static const char *const ends[] = {"", "-wal", "-shm"};
	struct store_bench *bench = *state;
	mode_t before = umask(027);

	store_bench_create(bench);
	umask(before);
	for (size_t i = 0; i < UNIT_COUNT(ends); i++) {
		char name[64], *path;
		struct stat st;

		snprintf(name, sizeof(name), "r.wattle%s", ends[i]);
		path = unit_path(bench->dir, name);
		assert_int_equal(lstat(path, &st), 0);
		assert_int_equal(st.st_mode, S_IFREG | (i == 0 && geteuid() != 0 ? 0640 : 0600));
		free(path);
	}
	assert_int_equal(unit_entries(bench->dir, ""), 3);
}

static const struct wtl_io_ops ops = {.clock_ns = store_bench_still_ns};

static void test_rights_given(void **state)
{
	struct wtl_io io = {.ops = &ops, .file_mode = WTL_MODE_GIVEN | 0644};
	struct store_bench *bench = *state;
	char *wal = unit_path(bench->dir, "r.wattle-wal");
	struct stat st;

	bench->options.io = &io;
	store_bench_create(bench);
	assert_int_equal(lstat(bench->path, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0644);
	assert_int_equal(lstat(wal, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	free(wal);
	store_bench_end(bench);
}

/* And not with its first commit. */
static void test_begins_as_it_is_made(void **state)
{
	struct wtl_io io = {.ops = &ops};
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	struct wtl_store_period period;

	bench->options.io = &io;
	store_bench_create(bench);
	store_bench_seconds(bench, 1, 2);
	store_bench_end(bench);
	reader = store_bench_open(bench);
	assert_int_equal(wtl_store_period(reader, 0, &period), 0);
	assert_int_equal(period.begin_mono_ns, WTL_NS_PER_S);
	assert_int_equal(period.begin_utc_ns, STORE_UTC_NS);
	assert_true(period.end_mono_ns > WTL_NS_PER_S);
	assert_int_equal(reader->recording.begin_mono_ns, WTL_NS_PER_S);
	assert_int_equal(reader->recording.begin_utc_ns, STORE_UTC_NS);
	assert_int_equal(reader->recording.end_mono_ns, period.end_mono_ns);
	assert_int_equal(reader->recording.end_utc_ns, period.end_utc_ns);
	wtl_store_close(reader);
}

/* Without a commit, values have the time of the beginning. */
static void test_nothing_committed(void **state)
{
	struct wtl_io io = {.ops = &ops};
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	struct wtl_store_period period;

	bench->options.io = &io;
	store_bench_create(bench);
	for (size_t k = 0; k < STORE_SERIES; k++)
		wtl_store_put(bench->writer, bench->series[k], store_bench_value(k, 0));
	store_bench_end(bench);
	store_bench_expect(bench, 1);
	reader = store_bench_open(bench);
	assert_int_equal(wtl_store_period(reader, 0, &period), 0);
	assert_int_equal(period.end_mono_ns, WTL_NS_PER_S);
	assert_int_equal(period.end_utc_ns, STORE_UTC_NS);
	wtl_store_close(reader);
}

/* A period that begins with the recording is as long as any other. */
static void test_first_period(void **state)
{
	struct wtl_io io = {.ops = &ops};
	struct store_bench *bench = *state;

	bench->options.io = &io;
	store_bench_create(bench);
	for (int64_t second = 2; second < 14; second++) {
		assert_int_equal(wtl_store_commit(bench->writer, second * WTL_NS_PER_S,
						  STORE_UTC_NS + second * WTL_NS_PER_S, NULL),
				 second == 11);
		wtl_writer_wait(bench->writer);
	}
	store_bench_end(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed_while_it_begins),
		cmocka_unit_test(test_names_that_are_taken),
		cmocka_unit_test(test_files_with_several_names_beside_a_recording),
		STORE_TEST(test_files_that_are_swapped),
		STORE_TEST(test_folder_that_is_swapped),
		STORE_TEST(test_old_beginnings),
		STORE_TEST(test_rights),
		STORE_TEST(test_rights_given),
		STORE_TEST(test_begins_as_it_is_made),
		STORE_TEST(test_nothing_committed),
		STORE_TEST(test_first_period),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
