/* SPDX-License-Identifier: MIT */
/* FILE-shm, which SQLite has in memory, is truncated by somebody: what was committed is there, and nobody dies of it. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "cli/mapped.h"
#include "left_behind.h"
#include "energy/units.h"
#include "record/writer.h"
#include "store_bench.h"

static int cut_to(const struct store_bench *bench, off_t size)
{
	char *shm = unit_path(bench->dir, "r.wattle-shm");
	int rc = truncate(shm, size);

	free(shm);
	return rc;
}

/* In any thread. It is not there any more where the recording has become one file. */
static int cut(const struct store_bench *bench)
{
	return cut_to(bench, 0);
}

/* ---- Between two commits: it is noticed before the next ---- */

static void expect_stopped(struct store_bench *bench, uint64_t n)
{
	struct wtl_err err = {.text = ""};
	int rc = 0;

	for (int i = 0; i < 2 && rc >= 0; i++) {
		rc = store_bench_second(bench, 10, &err);
		wtl_writer_wait(bench->writer);
	}
	assert_int_equal(rc, -EIO);
	assert_non_null(strstr(err.text, "the recording stopped: another program has truncated "));
	assert_non_null(strstr(err.text, "r.wattle-shm, "));
	assert_int_equal(wtl_store_end(bench->writer, NULL), -EIO);
	bench->writer = NULL;
	store_bench_expect(bench, n);
}

static void test_between_commits(void **state)
{
	struct store_bench *bench = *state;

	store_bench_create(bench);
	store_bench_seconds(bench, 3, 10);
	assert_int_equal(cut(bench), 0);
	expect_stopped(bench, 30);
}

/* It grows with FILE-wal. */
static void test_what_it_has_grown_by(void **state)
{
	struct store_bench *bench = *state;

	store_bench_create(bench);
	assert_int_equal(cut_to(bench, 65536), 0);
	store_bench_seconds(bench, 3, 10);
	assert_int_equal(cut_to(bench, 32768), 0);
	expect_stopped(bench, 30);
}

static void test_of_a_ring(void **state)
{
	struct store_bench *bench = *state;

	bench->options.max_bytes = 4 << 20;
	store_bench_create(bench);
	store_bench_seconds(bench, 13, 10);
	assert_int_equal(cut(bench), 0);
	expect_stopped(bench, 130);
}

/* Before FILE-wal, which is larger than it should be, is emptied. */
static void test_of_a_small_ring(void **state)
{
	struct store_bench *bench = *state;

	bench->options.max_bytes = 256000;
	store_bench_create(bench);
	store_bench_seconds(bench, 2, 3000);
	assert_true(wtl_file_wal_bytes(&bench->writer->file) > 32000);
	assert_int_equal(cut(bench), 0);
	expect_stopped(bench, 6000);
}

static void test_before_the_end(void **state)
{
	struct store_bench *bench = *state;

	store_bench_create(bench);
	store_bench_seconds(bench, 3, 10);
	assert_int_equal(cut(bench), 0);
	assert_int_equal(wtl_store_end(bench->writer, NULL), -EIO);
	bench->writer = NULL;
	store_bench_expect(bench, 30);
}

/* The writer asks before it makes the recording one file. */
static struct asking {
	struct wtl_io io;
	const struct store_bench *bench;
	unsigned n, cuts_at;
} asking;

static int cut_as_asked(struct wtl_io *io)
{
	(void)io;
	return ++asking.n == asking.cuts_at ? cut(asking.bench) : 0;
}

static void test_at_the_very_end(void **state)
{
	static const struct wtl_io_ops ops = {.out_check = cut_as_asked,
					      .clock_ns = store_bench_still_ns};
	struct store_bench *bench = *state;
	struct wtl_err err = {.text = ""};

	asking = (struct asking){.io.ops = &ops, .bench = bench};
	bench->options.io = &asking.io;
	for (int round = 0; round < 2; round++) {
		unlink(bench->path);
		asking.cuts_at = asking.n;
		asking.n = 0;
		store_bench_create(bench);
		store_bench_seconds(bench, 3, 10);
		assert_int_equal(wtl_store_end(bench->writer, &err), round);
		bench->writer = NULL;
	}
	assert_int_equal(err.code, -EIO);
	assert_non_null(strstr(err.text, "all is recorded, but "));
	assert_non_null(strstr(err.text, "-wal has a part of it still"));
	store_bench_expect(bench, 30);
}

/* Whoever removes it keeps others from reading meanwhile, and the recording goes on. */
static void test_it_is_removed(void **state)
{
	struct store_bench *bench = *state;
	char *shm = unit_path(bench->dir, "r.wattle-shm");

	store_bench_create(bench);
	store_bench_seconds(bench, 3, 10);
	assert_int_equal(unlink(shm), 0);
	store_bench_seconds(bench, 3, 10);
	unit_write(bench->dir, "r.wattle-shm", "");
	store_bench_seconds(bench, 3, 10);
	store_bench_end(bench);
	store_bench_expect(bench, 90);
	free(shm);
}

/* ---- In the middle of what SQLite does ---- */

/* Cuts it off before SQLite's write of that number. */
static struct {
	struct store_bench *bench;
	_Atomic unsigned n;
	unsigned at;
} cutter;

static ssize_t cutting_pwrite(int fd, const void *data, size_t len, off_t at)
{
	if (++cutter.n == cutter.at)
		(void)cut(cutter.bench);
	return pwrite(fd, data, len, at);
}

static int cutter_setup(void **state)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	(void)state;
	vfs->xSetSystemCall(vfs, "pwrite", (sqlite3_syscall_ptr)cutting_pwrite);
	vfs->xSetSystemCall(vfs, "pwrite64", (sqlite3_syscall_ptr)cutting_pwrite);
	return 0;
}

static int cutter_teardown(void **state)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	(void)state;
	vfs->xSetSystemCall(vfs, NULL, NULL);
	return 0;
}

static void copy_file(const struct store_bench *from, const struct store_bench *to,
		      const char *name)
{
	char *path = unit_path(from->dir, name);
	FILE *file = fopen(path, "rb");
	struct stat st;
	char *data;

	free(path);
	if (!file)
		return;
	assert_int_equal(fstat(fileno(file), &st), 0);
	data = malloc((size_t)st.st_size + 1);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, (size_t)st.st_size, file), st.st_size);
	fclose(file);
	unit_write_bytes(to->dir, name, data, (size_t)st.st_size);
	free(data);
}

/* As another process finds it: this one has what was left behind. */
static void expect_in_copy(const struct store_bench *bench, uint64_t safe)
{
	struct wtl_store_reader *reader;
	struct store_bench copy;
	uint64_t n;

	store_bench_init(&copy);
	copy_file(bench, &copy, "r.wattle");
	copy_file(bench, &copy, "r.wattle-wal");
	reader = store_bench_open(&copy);
	n = store_bench_verify(reader, NULL);
	assert_true(n >= safe && n <= bench->n_put);
	assert_false(wtl_store_is_damaged(reader));
	wtl_store_close(reader);
	store_bench_done(&copy);
}

/* Thirteen seconds, of which ten are merged. How it ended. */
static int record_all(struct store_bench *bench, uint64_t *ret_safe)
{
	int rc;

	for (int i = 0; i < 13; i++) {
		store_bench_second(bench, 50, NULL);
		wtl_writer_wait(bench->writer);
		if (!bench->writer->error)
			*ret_safe = bench->n_put;
	}
	rc = wtl_store_end(bench->writer, NULL);
	bench->writer = NULL;
	return rc;
}

static void test_at_each_write(void **state)
{
	unsigned stopped = 0, turn = 0;

	(void)state;
	wtl_mapped_watch(); /* cmocka has a handler of its own until here */
	do {
		struct store_bench bench;
		uint64_t safe = 0;
		int rc;

		store_bench_init(&bench);
		bench.options.guard = wtl_mapped_guard;
		store_bench_create(&bench);
		cutter.bench = &bench;
		cutter.n = 0;
		cutter.at = ++turn;
		rc = record_all(&bench, &safe);
		cutter.at = 0;
		if (rc < 0)
			assert_int_equal(rc, -EIO);
		stopped += rc < 0;
		expect_in_copy(&bench, safe);
		store_bench_done(&bench);
	} while (cutter.n >= turn);
	assert_in_range(stopped, 50, turn);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(test_between_commits),
		STORE_TEST(test_what_it_has_grown_by),
		STORE_TEST(test_of_a_ring),
		STORE_TEST(test_of_a_small_ring),
		STORE_TEST(test_at_the_very_end),
		STORE_TEST(test_before_the_end),
		STORE_TEST(test_it_is_removed),
		cmocka_unit_test_setup_teardown(test_at_each_write, cutter_setup, cutter_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
