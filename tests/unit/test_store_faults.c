/* SPDX-License-Identifier: MIT */
/* Recordings whose writing fails, or whose writer is killed: what was committed is there. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "energy/units.h"
#include "record/database.h"
#include "record/writer.h"
#include "store_bench.h"

/* ---- Writes that fail ---- */

/* Counts SQLite's system calls that write, and fails the one of that number, or all from then on. */
static struct {
	_Atomic unsigned n;
	unsigned fails_at; /* 0: none */
	bool always;
	int error;
} fault;

static bool fails(void)
{
	unsigned n = ++fault.n;

	if (fault.fails_at == 0 || n < fault.fails_at || (n > fault.fails_at && !fault.always))
		return false;
	errno = -fault.error;
	return true;
}

/* A call that needs no room on a disk. */
static bool fails_otherwise(void)
{
	return fault.error == -EIO && fails();
}

static ssize_t faulty_pwrite(int fd, const void *data, size_t len, off_t at)
{
	return fails() ? -1 : pwrite(fd, data, len, at);
}

static int faulty_ftruncate(int fd, off_t len)
{
	return fails() ? -1 : ftruncate(fd, len);
}

static int faulty_unlink(const char *path)
{
	return fails_otherwise() ? -1 : unlink(path);
}

static int fault_setup(void **state)
{
	static const struct {
		const char *name;
		sqlite3_syscall_ptr call;
	} calls[] = {
		{"pwrite", (sqlite3_syscall_ptr)faulty_pwrite},
		{"pwrite64", (sqlite3_syscall_ptr)faulty_pwrite},
		{"ftruncate", (sqlite3_syscall_ptr)faulty_ftruncate},
		{"unlink", (sqlite3_syscall_ptr)faulty_unlink},
	};
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	for (size_t i = 0; i < UNIT_COUNT(calls); i++)
		if (vfs->xGetSystemCall(vfs, calls[i].name))
			vfs->xSetSystemCall(vfs, calls[i].name, calls[i].call);
	return store_bench_setup(state);
}

static int fault_teardown(void **state)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	vfs->xSetSystemCall(vfs, NULL, NULL);
	fault.fails_at = 0;
	return store_bench_teardown(state);
}

static void remove_file(const struct store_bench *bench, const char *end)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s%s", bench->path, end);
	unlink(path);
}

static void remove_files(const struct store_bench *bench)
{
	remove_file(bench, "");
	remove_file(bench, "-wal");
	remove_file(bench, "-shm");
	remove_file(bench, "-journal");
	assert_int_equal(unit_entries(bench->dir, ""), 0);
}

static void expect_error(int rc, const struct wtl_err *err, int wanted)
{
	assert_int_equal(rc, wanted);
	assert_int_equal(err->code, wanted);
	assert_string_equal(err->source, "record");
	assert_non_null(strstr(err->text, wtl_err_text(wanted)));
}

/* Thirteen seconds, of which ten are merged. Returns what failed first; *ret_safe: so many values were
 * committed before. */
static int record_all(struct store_bench *bench, int wanted, uint64_t *ret_safe)
{
	struct wtl_err err = {.code = 0};
	int rc = 0, ended;

	for (int i = 0; i < 13; i++) {
		int more = store_bench_second(bench, 50, &err);

		if (more < 0) {
			expect_error(more, &err, wanted);
			rc = more;
			continue;
		}
		assert_int_equal(rc, 0); /* it does not begin again */
		wtl_writer_wait(bench->writer);
		if (!bench->writer->error)
			*ret_safe = bench->n_put;
	}
	err.code = 0;
	ended = wtl_store_end(bench->writer, &err);
	bench->writer = NULL;
	if (ended < 0)
		expect_error(ended, &err, wanted);
	/* One file again, or it says which is beside it. */
	if (ended == 0)
		assert_int_equal(unit_entries(bench->dir, ""), 1);
	if (ended > 0) {
		assert_int_equal(err.code, wanted);
		assert_non_null(strstr(err.text, "all is recorded, but "));
		assert_true(unit_entries(bench->dir, "") > 1);
	}
	assert_true(rc == 0 || ended == rc);
	return ended;
}

static void expect_safe(struct store_bench *bench, uint64_t safe, int error)
{
	struct wtl_store_reader *reader = store_bench_open(bench);
	uint64_t n = store_bench_verify(reader, NULL);

	assert_true(n >= safe && n <= bench->n_put);
	assert_false(wtl_store_is_damaged(reader));
	assert_false(wtl_store_is_live(reader));
	/* Where the very last sync fails, it may be there all the same. */
	assert_true(error < 0 || wtl_store_is_whole(reader));
	if (wtl_store_is_whole(reader))
		assert_int_equal(n, bench->n_put);
	wtl_store_close(reader);
}

/* Fails every write in turn, until one run has none that would have failed. */
static void fail_each(struct store_bench *bench, bool always, int error)
{
	unsigned failed_runs = 0, said_runs = 0, turn = 0;

	fault.always = always;
	fault.error = error;
	do {
		struct wtl_err err = {.code = 0};
		uint64_t safe = 0;
		int rc;

		fault.n = 0;
		fault.fails_at = ++turn;
		rc = store_bench_try_create(bench, &err);
		if (rc < 0) {
			expect_error(rc, &err, error);
			assert_string_equal(err.path, bench->path);
			assert_int_equal(unit_entries(bench->dir, ""), 0);
		} else {
			rc = record_all(bench, error, &safe);
			fault.fails_at = 0;
			expect_safe(bench, safe, rc);
		}
		failed_runs += rc < 0;
		said_runs += rc > 0;
		remove_files(bench);
	} while (fault.n >= turn);
	/* Every commit has some writes that must not fail; tidying up has some that may. */
	assert_in_range(failed_runs, 50, turn - 1);
	assert_true(said_runs > 0 || !always);
}

static void test_each_write_fails_once(void **state)
{
	fail_each(*state, false, -EIO);
}

static void test_disk_is_full_from_each_write_on(void **state)
{
	fail_each(*state, true, -ENOSPC);
}

/* What the command's --fault gives is asked before anything is made, each transaction and tidying up; then nothing is
 * written any more. */
static void check_fault_option(struct store_bench *bench)
{
	unsigned turn = 0, n_said = 0;
	int rc;

	do {
		struct wtl_err err = {.code = 0};
		struct wtl_io *io;
		uint64_t safe = 0;
		char spec[64];

		snprintf(spec, sizeof(spec), "write:%u:EDQUOT:always", ++turn);
		assert_int_equal(wtl_io_real_new(NULL, &io, NULL), 0);
		assert_int_equal(wtl_io_set_fault(io, spec, NULL), 0);
		bench->options.io = io;
		rc = store_bench_try_create(bench, &err);
		assert_int_equal(rc < 0, turn == 1);
		if (rc < 0) {
			expect_error(rc, &err, -EDQUOT);
			assert_int_equal(unit_entries(bench->dir, ""), 0);
		} else {
			rc = record_all(bench, -EDQUOT, &safe);
			expect_safe(bench, safe, rc);
		}
		n_said += rc > 0;
		remove_files(bench);
		wtl_io_free(io);
	} while (rc != 0);
	assert_in_range(turn, 15, 100);
	assert_int_equal(n_said, 1);
}

static void test_fault_option(void **state)
{
	struct store_bench *bench = *state;

	check_fault_option(bench);
	/* Also before the WAL is emptied on the way. */
	bench->options.max_bytes = 256000;
	check_fault_option(bench);
}

/* A limit that the kernel knows: no file can be larger. Its signal is nobody's but ours. */
static void test_file_size_limit(void **state)
{
	struct store_bench *bench = *state;
	const struct rlimit little = {300000, RLIM_INFINITY};
	struct wtl_err err = {.text = ""};
	int status, rc = 0;
	pid_t pid = fork();

	if (pid == 0) {
		setrlimit(RLIMIT_FSIZE, &little);
		store_bench_create(bench);
		for (int i = 0; i < 1000 && rc >= 0; i++) {
			rc = store_bench_second(bench, 500, &err);
			wtl_writer_wait(bench->writer);
		}
		_exit(rc == -EFBIG && strstr(err.text, "File too large") ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	bench->n_put = 500 * 1000;
	expect_safe(bench, 500, -EFBIG);
}

static void test_file_is_removed(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_err err = {.text = ""};
	int rc = 0;

	store_bench_create(bench);
	store_bench_seconds(bench, 1, 10);
	remove_files(bench);
	for (int i = 0; i < 3 && rc >= 0; i++) {
		rc = store_bench_second(bench, 10, &err);
		wtl_writer_wait(bench->writer);
	}
	assert_int_equal(rc, -ENOENT);
	assert_non_null(strstr(err.text, "moved or removed"));
}

/* Somebody tidies up: what was in it is in the file, and nothing more is written where nobody finds it. */
static void check_wal_is_removed(struct store_bench *bench)
{
	struct wtl_err err = {.text = ""};
	char *wal = unit_path(bench->dir, "r.wattle-wal");
	int rc = 0;

	store_bench_create(bench);
	store_bench_seconds(bench, 3, 10);
	assert_int_equal(unlink(wal), 0);
	for (int i = 0; i < 3 && rc >= 0; i++) {
		rc = store_bench_second(bench, 10, &err);
		wtl_writer_wait(bench->writer);
	}
	assert_int_equal(rc, -ENOENT);
	assert_non_null(strstr(err.text, "r.wattle-wal was removed"));
	assert_int_equal(wtl_store_end(bench->writer, NULL), -ENOENT);
	bench->writer = NULL;
	/* The one with which it was noticed is there as well. */
	store_bench_expect(bench, 40);
	free(wal);
}

static void test_wal_is_removed(void **state)
{
	check_wal_is_removed(*state);
}

static void test_wal_of_a_ring_is_removed(void **state)
{
	struct store_bench *bench = *state;

	bench->options.max_bytes = 256000;
	check_wal_is_removed(bench);
}

/* Or when all is over but for the end. */
static void test_wal_is_removed_last(void **state)
{
	struct store_bench *bench = *state;
	char *wal = unit_path(bench->dir, "r.wattle-wal");

	store_bench_create(bench);
	store_bench_seconds(bench, 3, 10);
	assert_int_equal(unlink(wal), 0);
	assert_int_equal(wtl_store_end(bench->writer, NULL), -ENOENT);
	bench->writer = NULL;
	store_bench_expect(bench, 30);
	free(wal);
}

static void test_where_nothing_can_be_made(void **state)
{
	/* There is the folder, but no right; or it is read-only. */
	int sys = open("/sys/r.wattle", O_WRONLY | O_CREAT, 0600), sys_errno = errno;
	const struct {
		const char *path;
		int error;
	} bad[] = {
		{"/nowhere/r.wattle", -ENOENT},
		{"/proc/r.wattle", -ENOENT},
		{"/sys/r.wattle", sys < 0 ? -sys_errno : -EEXIST},
		{"/dev/null/r.wattle", -ENOTDIR},
		{"/", -EEXIST},
	};
	struct store_bench *bench = *state;

	for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
		struct wtl_store_writer *writer = NULL;
		struct wtl_err err = {.text = ""};

		assert_int_equal(wtl_store_create(bad[i].path, &bench->options, &writer, &err),
				 bad[i].error);
		assert_string_equal(err.path, bad[i].path);
		assert_true(err.text[0]);
		assert_null(writer);
	}
	if (sys >= 0) {
		close(sys);
		unlink("/sys/r.wattle");
	}
}

/* ---- Out of memory ---- */

/* Merging failed, and another stretch was handed over by then: nothing is written any more. */
static void test_stopped_while_merging(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_writer *writer;

	store_bench_create(bench);
	store_bench_seconds(bench, 2, 10);
	writer = bench->writer;
	pthread_mutex_lock(&writer->lock);
	writer->error = -ENOMEM;
	writer->merge.is_active = true;
	writer->full = &writer->stretches[writer->front == &writer->stretches[0]];
	pthread_cond_broadcast(&writer->changed);
	pthread_mutex_unlock(&writer->lock);
	wtl_writer_wait(writer);
	assert_true(writer->merge.is_active);
	assert_int_equal(wtl_store_end(writer, NULL), -ENOMEM);
	bench->writer = NULL;
	store_bench_expect(bench, 20);
}

/* ---- Power cuts ---- */

/* What of a recording's files is on the disk. SQLite syncs by calls of these names. */
static struct disk_file {
	_Atomic unsigned writes, syncs;
	_Atomic bool is_unsynced;
} wal_file, main_file;
static _Atomic bool was_copied_unsynced; /* from the WAL into the file */

static struct disk_file *disk_file_of(int fd)
{
	char link[64], path[4096];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	path[len > 0 ? len : 0] = '\0';
	if (len > 4 && strcmp(path + len - 4, "-wal") == 0)
		return &wal_file;
	return len > 7 && strcmp(path + len - 7, ".wattle") == 0 ? &main_file : NULL;
}

static ssize_t noted_pwrite(int fd, const void *data, size_t len, off_t at)
{
	struct disk_file *file = disk_file_of(fd);

	if (file) {
		file->writes++;
		file->is_unsynced = true;
	}
	if (file == &main_file && wal_file.is_unsynced)
		was_copied_unsynced = true;
	return pwrite(fd, data, len, at);
}

static void note_sync(int fd)
{
	struct disk_file *file = disk_file_of(fd);

	if (!file)
		return;
	file->syncs++;
	file->is_unsynced = false;
}

__attribute__((visibility("default"))) int fdatasync(int fd)
{
	note_sync(fd);
	return fails_otherwise() ? -1 : (int)syscall(SYS_fdatasync, fd);
}

__attribute__((visibility("default"))) int fsync(int fd)
{
	note_sync(fd);
	return fails_otherwise() ? -1 : (int)syscall(SYS_fsync, fd);
}

static void test_each_commit_is_synced(void **state)
{
	struct store_bench *bench = *state;
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	store_bench_create(bench);
	vfs->xSetSystemCall(vfs, "pwrite", (sqlite3_syscall_ptr)noted_pwrite);
	vfs->xSetSystemCall(vfs, "pwrite64", (sqlite3_syscall_ptr)noted_pwrite);
	for (int i = 0; i < 25; i++) {
		unsigned before = wal_file.syncs;

		store_bench_seconds(bench, 1, 10);
		assert_true(wal_file.syncs > before && !wal_file.is_unsynced);
	}
	store_bench_end(bench);
	vfs->xSetSystemCall(vfs, NULL, NULL);
	assert_true(wal_file.writes > 0 && main_file.writes > 0);
	assert_true(main_file.syncs > 0 && !main_file.is_unsynced);
	assert_false(was_copied_unsynced);
}

/* ---- What a file system lacks ---- */

static int lock_error, name_error; /* 0: none */

__attribute__((visibility("default"))) int fcntl(int fd, int command, ...)
{
	va_list args;
	long argument;

	va_start(args, command);
	argument = va_arg(args, long);
	va_end(args);
	if (command != F_OFD_SETLK || lock_error == 0)
		return (int)syscall(SYS_fcntl, fd, command, argument);
	errno = lock_error;
	return -1;
}

__attribute__((visibility("default"))) int renameat2(int from_folder, const char *from,
						     int to_folder, const char *to, unsigned flags)
{
	if (name_error == 0)
		return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
	errno = name_error;
	return -1;
}

static void check_refused(struct store_bench *bench, int *which, int error, int wanted,
			  const char *words)
{
	struct wtl_err err = {.text = ""};
	int rc;

	*which = error;
	rc = store_bench_try_create(bench, &err);
	*which = 0;
	assert_int_equal(rc, wanted);
	assert_string_equal(err.path, bench->path);
	assert_non_null(strstr(err.text, words));
	assert_int_equal(unit_entries(bench->dir, ""), 0);
}

static void test_lacks_as_it_begins(void **state)
{
	check_refused(*state, &lock_error, ENOLCK, -ENOLCK, wtl_err_text(ENOLCK));
	/* Some say so of a lock that another one has. */
	check_refused(*state, &lock_error, EACCES, -EAGAIN, wtl_err_text(EAGAIN));
	check_refused(*state, &name_error, EROFS, -EROFS, wtl_err_text(EROFS));
	check_refused(*state, &name_error, EEXIST, -EEXIST, "there is a file of that name already");
}

/* No stack is that large. */
static void test_no_thread(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_err err = {.text = ""};
	pthread_attr_t before, large;
	int rc;

	assert_int_equal(pthread_getattr_default_np(&before), 0);
	assert_int_equal(pthread_attr_init(&large), 0);
	assert_int_equal(pthread_attr_setstacksize(&large, SIZE_MAX / 4 + 1), 0);
	assert_int_equal(pthread_setattr_default_np(&large), 0);
	rc = store_bench_try_create(bench, &err);
	assert_int_equal(pthread_setattr_default_np(&before), 0);
	assert_int_equal(rc, -EAGAIN);
	assert_int_equal(err.code, -EAGAIN);
	assert_string_equal(err.path, bench->path);
	assert_non_null(strstr(err.text, "no thread can be started"));
	assert_int_equal(unit_entries(bench->dir, ""), 0);
}

/* ---- A writer that is killed ---- */

enum { KILLS = UNIT_TRIES(100), STRETCHES_MAX = 1 << 20 };

/* What the child tells before it dies. */
struct shared {
	volatile uint64_t is_created, put, taken, safe;
	volatile uint64_t at[STRETCHES_MAX]; /* values put when stretch i was taken */
};

static void record_until_killed(struct store_bench *bench, struct shared *shared)
{
	bench->options.period_ns = 2 * WTL_NS_PER_S;
	store_bench_create(bench);
	shared->is_created = 1;
	for (;;) {
		uint64_t taken, written;

		shared->put = bench->n_put + 7;
		if (store_bench_second(bench, 7, NULL) < 0)
			_exit(1);
		pthread_mutex_lock(&bench->writer->lock);
		taken = bench->writer->n_taken;
		written = bench->writer->n_written;
		pthread_mutex_unlock(&bench->writer->lock);
		if (taken >= STRETCHES_MAX)
			_exit(2);
		if (taken > shared->taken)
			shared->at[taken] = bench->n_put;
		else
			nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
		shared->taken = taken;
		shared->safe = shared->at[written];
	}
}

static bool was_a_commit(const struct shared *shared, uint64_t n)
{
	bool was = n == 0 || n == shared->put;

	for (uint64_t i = 1; !was && i <= shared->taken; i++)
		was = shared->at[i] == n;
	return was;
}

/* A moment: some commits, and some time after the last of them. */
static void wait_for(const struct shared *shared, pid_t pid, uint64_t random)
{
	const struct timespec little = {.tv_nsec = 20000},
			      delay = {.tv_nsec = (long)(random >> 20) % 3000000};
	uint64_t commits = random % 20;

	while (shared->taken < commits && kill(pid, 0) == 0)
		nanosleep(&little, NULL);
	nanosleep(&delay, NULL);
}

static void kill_once(struct store_bench *bench, struct shared *shared, uint64_t random)
{
	struct wtl_store_reader *reader = NULL;
	struct wtl_err err = {.text = ""};
	pid_t pid;
	int status;
	uint64_t n;

	memset(shared, 0, sizeof(*shared));
	pid = fork();
	if (pid == 0)
		record_until_killed(bench, shared);
	wait_for(shared, pid, random);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	if (wtl_store_open(bench->path, &reader, &err) < 0) {
		char name[64], *temp;

		if (shared->is_created)
			fail_msg("%s", err.text);
		snprintf(name, sizeof(name), ".wattle-%d-0.tmp", pid);
		temp = unit_path(bench->dir, name);
		unlink(temp);
		free(temp);
		return;
	}
	assert_false(wtl_store_is_whole(reader));
	assert_false(wtl_store_is_live(reader));
	n = store_bench_verify(reader, NULL);
	if (n < shared->safe || n > shared->put || !was_a_commit(shared, n))
		fail_msg("%llu values are there; %llu were put, %llu written",
			 (unsigned long long)n, (unsigned long long)shared->put,
			 (unsigned long long)shared->safe);
	wtl_store_close(reader);
}

static void test_killed(void **state)
{
	struct store_bench *bench = *state;
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t random = 4711, longest = 0;

	assert_true(shared != MAP_FAILED);
	for (int i = 0; i < KILLS; i++) {
		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		kill_once(bench, shared, random >> 20);
		longest = shared->taken > longest ? shared->taken : longest;
		remove_files(bench);
	}
	/* They got so far that periods were over: one has 2 commits. */
	assert_true(longest >= 19);
	munmap(shared, sizeof(*shared));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_each_write_fails_once, fault_setup,
						fault_teardown),
		cmocka_unit_test_setup_teardown(test_disk_is_full_from_each_write_on, fault_setup,
						fault_teardown),
		STORE_TEST(test_fault_option),
		STORE_TEST(test_file_size_limit),
		STORE_TEST(test_file_is_removed),
		STORE_TEST(test_wal_is_removed),
		STORE_TEST(test_wal_of_a_ring_is_removed),
		STORE_TEST(test_wal_is_removed_last),
		STORE_TEST(test_where_nothing_can_be_made),
		STORE_TEST(test_stopped_while_merging),
		STORE_TEST(test_each_commit_is_synced),
		STORE_TEST(test_lacks_as_it_begins),
		STORE_TEST(test_no_thread),
		STORE_TEST(test_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
