/* SPDX-License-Identifier: MIT */
/* What recordings are made with: names of series, the lock, and stretches. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "record/code.h"
#include "record/database.h"
#include "record/names.h"
#include "record/writer.h"

/* ---- Names ---- */

static void test_names(void **state)
{
	struct wtl_names names = {0};
	char name[WTL_STORE_NAME_SIZE + 8];

	(void)state;
	assert_int_equal(wtl_names_find(&names, "a"), -ENOENT);
	/* In an order that is neither that of the numbers nor that of the letters. */
	for (uint32_t i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "series-%u", i * 777 % 1000);
		assert_int_equal(wtl_names_add(&names, (i * 321 + 5) % 1000, name), 0);
	}
	assert_int_equal(names.n, 1000);
	for (uint32_t i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "series-%u", i * 777 % 1000);
		assert_int_equal(wtl_names_find(&names, name), (i * 321 + 5) % 1000);
		assert_string_equal(names.names[(i * 321 + 5) % 1000], name);
	}
	assert_int_equal(wtl_names_find(&names, "series-"), -ENOENT);
	assert_int_equal(wtl_names_find(&names, "series-1000"), -ENOENT);
	assert_int_equal(wtl_names_find(&names, ""), -ENOENT);
	wtl_names_done(&names);
	wtl_names_done(&names);
}

static void test_names_refused(void **state)
{
	struct wtl_names names = {0};
	char name[WTL_STORE_NAME_SIZE + 1];

	(void)state;
	assert_int_equal(wtl_names_add(&names, 3, "three"), 0);
	assert_int_equal(names.n, 4);
	assert_string_equal(names.names[0], ""); /* not used */
	assert_int_equal(wtl_names_add(&names, 3, "four"), -EEXIST);
	assert_int_equal(wtl_names_add(&names, 4, "three"), -EEXIST);
	assert_int_equal(wtl_names_add(&names, 4, ""), -EINVAL);
	assert_int_equal(wtl_names_add(&names, WTL_STORE_SERIES_MAX, "x"), -E2BIG);
	memset(name, 'n', sizeof(name));
	name[WTL_STORE_NAME_SIZE] = '\0';
	assert_int_equal(wtl_names_add(&names, 4, name), -EINVAL);
	name[WTL_STORE_NAME_SIZE - 1] = '\0';
	assert_int_equal(wtl_names_add(&names, 4, name), 0);
	assert_int_equal(wtl_names_find(&names, name), 4);
	assert_int_equal(wtl_names_add(&names, WTL_STORE_SERIES_MAX - 1, "last"), 0);
	assert_int_equal(wtl_names_find(&names, "three"), 3);
	wtl_names_done(&names);
}

/* ---- The lock ---- */

static void test_lock(void **state)
{
	char *dir = unit_tmpdir(), *path = unit_path(dir, "r");
	int lock;

	(void)state;
	assert_int_equal(wtl_database_lock(path), -ENOENT);
	assert_false(wtl_database_is_locked(path));
	unit_write(dir, "r", "four");
	unit_write(dir, "r-wal", "");
	assert_false(wtl_database_is_locked(path));
	assert_false(wtl_database_has_wal(path));
	assert_true(wtl_database_may_read_wal(path));
	assert_int_equal(wtl_database_bytes(path), 4);
	unit_write(dir, "r-wal", "xyz");
	assert_true(wtl_database_has_wal(path));
	assert_int_equal(wtl_database_bytes(path), 7);
	lock = wtl_database_lock(path);
	assert_true(lock >= 0);
	assert_true(wtl_database_is_locked(path));
	assert_int_equal(wtl_database_lock(path), -EAGAIN);
	/* Neither looking nor failing took it away. */
	assert_true(wtl_database_is_locked(path));
	close(lock);
	assert_false(wtl_database_is_locked(path));
	unlink(path);
	free(path);
	unit_rmtree(dir);
}

/* It ends with the process that has it, and not with others that look. */
static void test_lock_of_a_process(void **state)
{
	char *dir = unit_tmpdir(), *path = unit_path(dir, "r");
	int ready[2], go[2];
	pid_t pid;
	char byte;

	(void)state;
	unit_write(dir, "r-wal", "");
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		if (wtl_database_lock(path) < 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
		_exit(2);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	for (int i = 0; i < 3; i++)
		assert_true(wtl_database_is_locked(path));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(wtl_database_is_locked(path));
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(go[i]);
	}
	free(path);
	unit_rmtree(dir);
}

static void test_lock_follows_no_link(void **state)
{
	char *dir = unit_tmpdir(), *path = unit_path(dir, "r");

	(void)state;
	unit_write(dir, "other", "");
	unit_symlink(dir, "r-wal", "other");
	assert_int_equal(wtl_database_lock(path), -ELOOP);
	assert_false(wtl_database_may_read_wal(path));
	assert_false(wtl_database_is_locked(path));
	free(path);
	unit_rmtree(dir);
}

static void test_database_paths(void **state)
{
	static const struct {
		const char *path, *whole;
	} cases[] = {
		{"a", "./a"},		{"/a", "/a"}, {":memory:", "./:memory:"},
		{"file:a", "./file:a"}, {"", "./"},   {"../a", "./../a"},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		char *whole = wtl_database_path(cases[i].path);

		assert_string_equal(whole, cases[i].whole);
		free(whole);
	}
}

static void test_error_codes(void **state)
{
	static const struct {
		int code, rc;
	} cases[] = {
		{SQLITE_NOMEM, -ENOMEM},	 {SQLITE_FULL, -ENOSPC},
		{SQLITE_CANTOPEN, -EACCES},	 {SQLITE_READONLY, -EACCES},
		{SQLITE_BUSY, -EBUSY},		 {SQLITE_BUSY_SNAPSHOT, -EBUSY},
		{SQLITE_LOCKED, -EBUSY},	 {SQLITE_CORRUPT_VTAB, -EBADMSG},
		{SQLITE_NOTADB, -EBADMSG},	 {SQLITE_ERROR, -EBADMSG},
		{SQLITE_IOERR_SHORT_READ, -EIO}, {SQLITE_MISUSE, -EIO},
		{SQLITE_TOOBIG, -EBADMSG},	 {SQLITE_INTERRUPT, -EBADMSG},
		{SQLITE_AUTH, -EBADMSG},	 {WTL_DATABASE_NO_LIBRARY, -WTL_ELIBRARY},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++)
		assert_int_equal(wtl_database_errno(NULL, cases[i].code), cases[i].rc);
}

/* Why a recording stopped, by SQLite's code, or by what forbade to write. */
static void test_why_it_stopped(void **state)
{
	static const struct {
		int code, fault, rc;
		const char *text;
	} cases[] = {
		{SQLITE_READONLY_DBMOVED, 0, -ENOENT, "moved or removed"},
		{WTL_FILE_WAL_GONE, 0, -ENOENT, "f.wattle-wal was removed"},
		{WTL_FILE_SHM_CUT, -EIO, -EIO, "truncated f.wattle-shm"},
		{SQLITE_BUSY_SNAPSHOT, 0, -EBUSY, "has been reading the file for so long"},
		{SQLITE_BUSY, 0, -EBUSY, "holds the file locked"},
		{SQLITE_LOCKED, 0, -EBUSY, "holds the file locked"},
		{SQLITE_CORRUPT, 0, -EBADMSG, "another program has changed the file"},
		{SQLITE_FULL, 0, -ENOSPC, "stopped: No space left"},
		{WTL_FILE_LIMIT, 0, -ENOSPC, "stopped: No space left"},
		{SQLITE_IOERR, -EDQUOT, -EDQUOT, "stopped: Disk quota exceeded"},
	};
	char shown[] = "f.wattle";

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		struct wtl_file file = {.shown = shown, .fault = cases[i].fault};
		struct wtl_err err = {.text = ""};

		assert_int_equal(wtl_file_complain(&file, cases[i].code, &err), cases[i].rc);
		assert_int_equal(err.code, cases[i].rc);
		assert_string_equal(err.path, shown);
		if (!strstr(err.text, cases[i].text))
			fail_msg("%s, not %s", err.text, cases[i].text);
	}
}

/* Shares of a ring's size, up to what is enough; without a ring that. */
static void test_sizes(void **state)
{
	static const struct {
		uint64_t max, wal, wal_max, period;
	} sizes[] = {
		{0, 4 << 20, 64 << 20, 8 << 20},
		{256000, 32000, 256000, 16000},
		{(32 << 20) + 16, 4 << 20, (32 << 20) + 16, (2 << 20) + 1},
		{128 << 20, 4 << 20, 64 << 20, 8 << 20},
		{UINT64_MAX, 4 << 20, 64 << 20, 8 << 20},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(sizes); i++) {
		const struct wtl_store_options options = {.max_bytes = sizes[i].max};

		assert_int_equal(wtl_ring_wal_bytes(&options), sizes[i].wal);
		assert_int_equal(wtl_ring_wal_bytes_max(&options), sizes[i].wal_max);
		assert_int_equal(wtl_ring_period_bytes(&options), sizes[i].period);
	}
}

/* ---- Stretches and blocks ---- */

static void test_stretch_gives_memory_back(void **state)
{
	const struct wtl_row_fact fact = {.key = "k", .value = "v"};
	struct wtl_stretch stretch = {0};

	(void)state;
	stretch.runs = calloc(4, sizeof(stretch.runs[0]));
	stretch.n_runs = stretch.runs_room = 4;
	stretch.runs[0] = (struct wtl_value_run){malloc(1000 * sizeof(int64_t)), 900, 1000};
	stretch.runs[1] = (struct wtl_value_run){malloc(40 * sizeof(int64_t)), 40, 40};
	stretch.runs[2] = (struct wtl_value_run){malloc(64 * sizeof(int64_t)), 1, 64};
	stretch.runs[3] = (struct wtl_value_run){malloc(65 * sizeof(int64_t)), 1, 65};
	stretch.is_lost = stretch.ends_period = true;
	stretch.grown_bytes = 7;
	wtl_buf_init(&stretch.rows, SIZE_MAX);
	assert_int_equal(wtl_row_pack(&stretch.rows, &wtl_table_fact, &fact), 0);
	stretch.n_rows = 1;
	wtl_stretch_clear(&stretch, 16);
	assert_int_equal(stretch.runs[2].room, 64);
	assert_int_equal(stretch.runs[3].room, 16);
	assert_true(stretch.rows.size > 0); /* for the next ones */
	assert_int_equal(stretch.rows.len + stretch.n_rows, 0);
	assert_int_equal(wtl_buf_reserve(&stretch.rows, 100000), 0);
	wtl_stretch_clear(&stretch, 16);
	assert_int_equal(stretch.rows.size, 0);
	assert_int_equal(stretch.runs[0].room, 16);
	assert_int_equal(stretch.runs[1].room, 40); /* not worth it */
	assert_int_equal(stretch.runs[0].n + stretch.runs[1].n, 0);
	assert_false(stretch.is_lost || stretch.ends_period);
	assert_int_equal(stretch.grown_bytes, 0);
	wtl_stretch_done(&stretch);
}

static void test_gather(void **state)
{
	static const int64_t values[] = {1, 2, 3};
	struct wtl_gather gather = {0};
	struct wtl_buf block;

	(void)state;
	wtl_buf_init(&block, 1000);
	wtl_code_put(&block, values, 3);
	assert_int_equal(wtl_gather_add(&gather, 5, &block, 3), 0);
	assert_int_equal(gather.n, 6);
	assert_int_equal(wtl_gather_add(&gather, 5, &block, 3), 0);
	assert_int_equal(wtl_gather_add(&gather, 2, &block, 3), 0);
	assert_int_equal(gather.counts[5], 6);
	assert_int_equal(gather.counts[2], 3);
	assert_int_equal(gather.counts[0], 0);
	assert_int_equal(gather.blocks[5].len, 2 * (block.len + 1));
	wtl_gather_done(&gather);
	assert_int_equal(gather.n, 0);
	wtl_buf_done(&block);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_names_refused),
		cmocka_unit_test(test_lock),
		cmocka_unit_test(test_lock_of_a_process),
		cmocka_unit_test(test_lock_follows_no_link),
		cmocka_unit_test(test_database_paths),
		cmocka_unit_test(test_error_codes),
		cmocka_unit_test(test_why_it_stopped),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_stretch_gives_memory_back),
		cmocka_unit_test(test_gather),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
