/* SPDX-License-Identifier: MIT */
/* What recordings are made with: names of series, the lock, the files that SQLite gets, and stretches. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "record/code.h"
#include "record/database.h"
#include "record/names.h"
#include "record/vfs.h"
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
	unit_write(dir, "r-wal", "");
	assert_false(wtl_database_is_locked(path));
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
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++)
		assert_int_equal(wtl_database_errno(NULL, cases[i].code), cases[i].rc);
}

/* ---- The files that SQLite gets ---- */

struct asked_io {
	struct wtl_io io;
	unsigned n;
	int answer;
};

static int asked_check(struct wtl_io *io)
{
	struct asked_io *own = (struct asked_io *)io;

	own->n++;
	return own->answer;
}

static const struct wtl_io_ops asked_ops = {.out_check = asked_check};
static const struct wtl_io_ops silent_ops = {.out_check = NULL};

static sqlite3 *open_by(const struct wtl_vfs *vfs, const char *path)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
					 wtl_vfs_name(vfs)),
			 SQLITE_OK);
	sqlite3_extended_result_codes(db, 1);
	return db;
}

static int run(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static void test_vfs_asks(void **state)
{
	struct asked_io io = {.io.ops = &asked_ops};
	struct wtl_vfs *vfs = wtl_vfs_new(&io.io);
	char *dir = unit_tmpdir(), *path = unit_path(dir, "x.db");
	sqlite3 *db;
	unsigned before;

	(void)state;
	assert_non_null(vfs);
	db = open_by(vfs, path);
	assert_int_equal(run(db, "CREATE TABLE t(x); INSERT INTO t VALUES(1)"), SQLITE_OK);
	assert_true(io.n > 4);
	/* Reading asks nobody. */
	before = io.n;
	assert_int_equal(run(db, "SELECT * FROM t"), SQLITE_OK);
	assert_int_equal(io.n, before);
	assert_int_equal(wtl_vfs_error(vfs), 0);
	/* Each way to fail, with its own errno; nothing of it stays. */
	io.answer = -EDQUOT;
	assert_int_equal(run(db, "INSERT INTO t VALUES(2)") & 0xff, SQLITE_IOERR);
	assert_int_equal(wtl_vfs_error(vfs), -EDQUOT);
	io.answer = -ENOSPC;
	assert_int_equal(run(db, "INSERT INTO t VALUES(2)"), SQLITE_FULL);
	assert_int_equal(wtl_vfs_error(vfs), -ENOSPC);
	io.answer = 0;
	assert_int_equal(run(db, "INSERT INTO t SELECT 1 WHERE (SELECT count(*) FROM t) = 1"),
			 SQLITE_OK);
	assert_int_equal(sqlite3_changes(db), 1);
	assert_int_equal(run(db, "PRAGMA journal_mode=WAL; INSERT INTO t VALUES(3)"), SQLITE_OK);
	io.answer = -EIO;
	assert_int_equal(run(db, "INSERT INTO t VALUES(4)") & 0xff, SQLITE_IOERR);
	io.answer = 0;
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	wtl_vfs_free(vfs);
	free(path);
	unit_rmtree(dir);
}

static int64_t number_of(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt;
	int64_t number;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	number = sqlite3_column_int64(stmt, 0);
	assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
	return number;
}

/* What may not be is refused, as on a disk that is full, and what was there is as it was. */
static void test_vfs_limits(void **state)
{
	struct wtl_vfs *vfs = wtl_vfs_new(NULL);
	char *dir = unit_tmpdir(), *path = unit_path(dir, "x.db");
	sqlite3 *db;
	int rc, n = 0;

	(void)state;
	assert_non_null(vfs);
	db = open_by(vfs, path);
	assert_int_equal(run(db, "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;"
				 "CREATE TABLE t(x)"),
			 SQLITE_OK);
	assert_false(wtl_vfs_was_limited(vfs));
	wtl_vfs_limit(vfs, 100000, 30000);
	do {
		rc = run(db, "INSERT INTO t VALUES(zeroblob(4000))");
	} while (rc == SQLITE_OK && ++n < 100);
	/* Each has frames of 4120 bytes: its page, and that of the table. In the end they shall have room in
	 * the database. */
	assert_int_equal(rc, SQLITE_FULL);
	assert_in_range(n, 5, 12);
	assert_true(wtl_vfs_was_limited(vfs));
	assert_false(wtl_vfs_was_limited(vfs));
	assert_int_equal(wtl_vfs_error(vfs), 0);
	assert_int_equal(number_of(db, "SELECT count(*) FROM t"), n);
	assert_in_range(wtl_vfs_wal_bytes(vfs), 40000, 100000);
	/* The WAL can be emptied, and then there is room again. */
	assert_int_equal(
		sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL),
		SQLITE_OK);
	assert_int_equal(wtl_vfs_wal_bytes(vfs), 0);
	assert_int_equal(run(db, "INSERT INTO t VALUES(zeroblob(4000))"), SQLITE_OK);
	/* Until the database leaves too little. */
	do {
		sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
		rc = run(db, "INSERT INTO t VALUES(zeroblob(4000))");
	} while (rc == SQLITE_OK && ++n < 100);
	assert_int_equal(rc, SQLITE_FULL);
	assert_true(wtl_vfs_was_limited(vfs));
	assert_in_range(number_of(db, "PRAGMA page_count") * 4096, 60000, 70000);
	/* That is for what makes it smaller. */
	n = (int)number_of(db, "SELECT count(*) FROM t");
	assert_int_equal(run(db, "DELETE FROM t WHERE rowid = 1"), SQLITE_OK);
	assert_int_equal(number_of(db, "SELECT count(*) FROM t"), n - 1);
	wtl_vfs_limit(vfs, 0, 0);
	assert_int_equal(run(db, "INSERT INTO t VALUES(zeroblob(400000))"), SQLITE_OK);
	assert_false(wtl_vfs_was_limited(vfs));
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	wtl_vfs_free(vfs);
	free(path);
	unit_rmtree(dir);
}

/* Two writers do not see each other, and nothing is left when they are gone. */
static void test_vfs_is_one_a_writer(void **state)
{
	struct asked_io io = {.io.ops = &asked_ops, .answer = -EIO};
	struct wtl_io silent = {.ops = &silent_ops};
	struct wtl_vfs *first = wtl_vfs_new(&io.io), *second = wtl_vfs_new(&silent),
		       *third = wtl_vfs_new(NULL);
	char *dir = unit_tmpdir(), *path = unit_path(dir, "x.db"), name[64];
	sqlite3 *db;

	(void)state;
	assert_string_not_equal(wtl_vfs_name(first), wtl_vfs_name(second));
	assert_ptr_not_equal(sqlite3_vfs_find(NULL), sqlite3_vfs_find(wtl_vfs_name(first)));
	db = open_by(first, path);
	assert_int_not_equal(run(db, "CREATE TABLE t(x)"), SQLITE_OK);
	sqlite3_close(db);
	for (int i = 0; i < 2; i++) {
		db = open_by(i ? third : second, path);
		assert_int_equal(run(db, "CREATE TABLE t(x); DROP TABLE t"), SQLITE_OK);
		sqlite3_close(db);
	}
	snprintf(name, sizeof(name), "%s", wtl_vfs_name(first));
	wtl_vfs_free(first);
	assert_null(sqlite3_vfs_find(name));
	wtl_vfs_free(second);
	wtl_vfs_free(third);
	wtl_vfs_free(NULL);
	free(path);
	unit_rmtree(dir);
}

/* ---- Stretches and blocks ---- */

static void test_stretch_gives_memory_back(void **state)
{
	struct wtl_stretch stretch = {0};

	(void)state;
	stretch.runs = calloc(2, sizeof(stretch.runs[0]));
	stretch.n_runs = stretch.runs_room = 2;
	stretch.runs[0] = (struct wtl_run){malloc(1000 * sizeof(int64_t)), 900, 1000};
	stretch.runs[1] = (struct wtl_run){malloc(40 * sizeof(int64_t)), 40, 40};
	stretch.is_lost = stretch.ends_period = true;
	stretch.grown_bytes = 7;
	wtl_stretch_clear(&stretch, 16);
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
	wtl_gather_clear(&gather);
	assert_int_equal(gather.n, 6);
	assert_int_equal(gather.counts[5] + (int64_t)gather.blocks[5].len, 0);
	wtl_gather_done(&gather);
	assert_int_equal(gather.n, 0);
	wtl_buf_done(&block);
}

static void test_shares_of_a_ring(void **state)
{
	static const uint64_t sizes[] = {256 << 10, 1 << 20, 100 << 20, UINT64_C(1) << 40};
	struct wtl_store_options options = {.max_bytes = 0};

	(void)state;
	assert_int_equal(wtl_ring_wal_bytes(&options), 4 << 20);
	assert_int_equal(wtl_ring_period_bytes(&options), 8 << 20);
	for (size_t i = 0; i < UNIT_COUNT(sizes); i++) {
		options.max_bytes = sizes[i];
		/* Something is left for what is kept. */
		assert_true(wtl_ring_wal_bytes(&options) + 3 * wtl_ring_period_bytes(&options) <=
			    sizes[i] / 2);
		assert_true(wtl_ring_wal_bytes(&options) >= 8 * WTL_PAGE_BYTES);
		/* And for dropping. */
		assert_true(wtl_ring_kept_bytes(&options) <= sizes[i] / 4);
		assert_true(wtl_ring_kept_bytes(&options) >= 15 * WTL_PAGE_BYTES);
	}
	assert_int_equal(wtl_ring_period_bytes(&options), 8 << 20);
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
		cmocka_unit_test(test_vfs_asks),
		cmocka_unit_test(test_vfs_limits),
		cmocka_unit_test(test_vfs_is_one_a_writer),
		cmocka_unit_test(test_stretch_gives_memory_back),
		cmocka_unit_test(test_gather),
		cmocka_unit_test(test_shares_of_a_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
