/* SPDX-License-Identifier: MIT */
/* Recordings that keep only the newest. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/io.h"
#include "energy/units.h"
#include "record/reader.h"
#include "record/writer.h"
#include "store_bench.h"

enum { MAX_BYTES = 256 * 1024 };

/* ---- Sizes before each commit and each checkpoint ---- */

struct watch {
	struct wtl_io io;
	const struct store_bench *bench;
	size_t most, most_wal, n;
};

static size_t size_of(const struct store_bench *bench, const char *end)
{
	struct stat st = {0};
	char path[4096];

	snprintf(path, sizeof(path), "%s%s", bench->path, end);
	return stat(path, &st) < 0 ? 0 : (size_t)st.st_size;
}

static int look(struct wtl_io *io)
{
	struct watch *watch = (struct watch *)io;
	size_t size = size_of(watch->bench, "");
	size_t wal = size_of(watch->bench, "-wal") + size_of(watch->bench, "-journal");

	watch->most = size > watch->most ? size : watch->most;
	watch->most_wal = wal > watch->most_wal ? wal : watch->most_wal;
	watch->n++;
	return 0;
}

static int64_t stand_still(struct wtl_io *io, enum wtl_clock clock)
{
	const struct watch *watch = (struct watch *)io;

	(void)clock;
	return watch->bench->now_ns;
}

static const struct wtl_io_ops watch_ops = {.out_check = look, .clock_ns = stand_still};

/* Of the test that runs. The writer has its io until teardown, also where an assertion fails. */
static struct watch seen;

static void watch(struct watch *watch, struct store_bench *bench, uint64_t max_bytes)
{
	*watch = (struct watch){.io.ops = &watch_ops, .bench = bench};
	bench->options.io = &watch->io;
	bench->options.max_bytes = max_bytes;
	store_bench_create(bench);
}

/* docs/recording.md: the file has max_bytes, and FILE-wal as much again, but never more than 64 MiB. */
static void check_watch(struct watch *watch)
{
	uint64_t max_bytes = watch->bench->options.max_bytes;

	look(&watch->io);
	assert_in_range(watch->n, 10, SIZE_MAX);
	assert_in_range(watch->most, 1, max_bytes);
	assert_in_range(watch->most_wal, 1, max_bytes);
}

/* Of what was dropped nothing is left that only takes room. */
static void check_rest(const struct store_bench *bench)
{
	static const char *const left[] = {
		"chunk WHERE id >> 16 NOT IN (SELECT id FROM period)",
		"part WHERE id >> 16 NOT IN (SELECT id FROM period)",
		"period WHERE id > (SELECT min(id) FROM period) AND "
		"id - 1 NOT IN (SELECT id FROM period)",
		"energy WHERE window NOT IN (SELECT id FROM window)",
		"consumer WHERE end_period > 0 AND end_period < (SELECT min(id) FROM period)",
		"gap WHERE begin_mono_ns + duration_ns < (SELECT min(begin_mono_ns) FROM period)",
		"window WHERE id > 1 AND NOT is_open AND "
		"begin_mono_ns + duration_ns < (SELECT min(begin_mono_ns) FROM period)",
		"account",
	};
	sqlite3 *db;

	assert_int_equal(sqlite3_open(bench->path, &db), SQLITE_OK);
	for (size_t i = 0; i < UNIT_COUNT(left); i++) {
		sqlite3_stmt *stmt;
		char sql[256];

		snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", left[i]);
		assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
		assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
		if (sqlite3_column_int(stmt, 0) > 0)
			fail_msg("%d left: %s", sqlite3_column_int(stmt, 0), left[i]);
		sqlite3_finalize(stmt);
	}
	sqlite3_close(db);
}

/* ---- A size ---- */

/* It holds as much as it reasonably can. */
static void run_ring(struct store_bench *bench, uint64_t max_bytes, size_t seconds, size_t n)
{
	struct wtl_store_reader *reader;
	int64_t busy_ms = 0;
	uint64_t kept;

	watch(&seen, bench, max_bytes);
	store_bench_seconds(bench, seconds, n);
	assert_int_equal(
		wtl_store_account(bench->writer, &(struct wtl_stored_account){0, 5, 9, 1, 1, 0}),
		0);
	/* The short wait for readers, while the WAL is emptied, is over: the usual one holds again. */
	assert_int_equal(wtl_file_number(&bench->writer->file, "PRAGMA busy_timeout", &busy_ms), 0);
	assert_int_equal(busy_ms, 10000);
	store_bench_end(bench);
	check_watch(&seen);
	assert_in_range(seen.most, max_bytes - max_bytes / 8, max_bytes);
	/* Without another program's transaction, a period and what is there before it is emptied. */
	assert_in_range(seen.most_wal, max_bytes / 8, max_bytes / 2);
	assert_in_range(size_of(bench, ""), max_bytes / 2, max_bytes);
	reader = store_bench_open(bench);
	kept = store_bench_verify(reader, NULL);
	assert_true(kept < seconds * n);
	assert_true(kept > seconds * n / 100);
	assert_false(wtl_store_is_damaged(reader));
	wtl_store_close(reader);
	check_rest(bench);
}

static void test_bytes(void **state)
{
	struct store_bench *bench = *state;

	run_ring(bench, MAX_BYTES, 400, 200);
}

static void test_more_bytes(void **state)
{
	struct store_bench *bench = *state;

	run_ring(bench, 8 * MAX_BYTES, 150, 10000);
}

/* No value is missing from the start of the oldest kept period on. before: values put before each second since start_ns. */
static void check_whole(const struct store_bench *bench, const uint64_t before[], int64_t start_ns)
{
	struct wtl_store_reader *reader = store_bench_open(bench);
	uint64_t kept = store_bench_verify(reader, NULL);
	struct wtl_store_period first;

	assert_false(wtl_store_is_damaged(reader));
	assert_true(kept > 0);
	assert_int_equal(wtl_store_period(reader, 0, &first), 0);
	assert_in_range(first.begin_mono_ns, start_ns, bench->now_ns - WTL_NS_PER_S);
	assert_int_equal(kept,
			 bench->n_put - before[(first.begin_mono_ns - start_ns) / WTL_NS_PER_S]);
	wtl_store_close(reader);
}

/* As few as can be asked for, at once a quarter of it, and what has to be written is not like what was. */
static void test_uneven(void **state)
{
	struct store_bench *bench = *state;
	const int64_t start_ns = bench->now_ns;
	uint64_t before[300];

	watch(&seen, bench, 256000);
	for (size_t i = 0; i < UNIT_COUNT(before); i++) {
		before[i] = bench->n_put;
		store_bench_seconds(bench, 1, i % 37 == 36 ? 5000 : i % 5 == 0 ? 1500 : i % 40);
	}
	store_bench_end(bench);
	check_watch(&seen);
	check_whole(bench, before, start_ns);
}

/* One second's values take the room of all older periods. Nothing of their own period is dropped. */
static void test_much_of_one_period(void **state)
{
	struct store_bench *bench = *state;

	for (size_t n = 40; n < 43; n++) {
		uint64_t before[60];
		int64_t start_ns;

		watch(&seen, bench, MAX_BYTES);
		start_ns = bench->now_ns;
		for (size_t i = 0; i <= n; i++) {
			before[i] = bench->n_put;
			store_bench_seconds(bench, 1, i < n ? 200 : 50000);
		}
		wtl_writer_wait(bench->writer);
		check_whole(bench, before, start_ns);
		store_bench_end(bench);
		assert_int_equal(unlink(bench->path), 0);
	}
}

/* One second's values alone are more than all of it: nothing is lost, and afterwards the limit holds again. */
static void test_too_much_at_once(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;

	watch(&seen, bench, MAX_BYTES);
	store_bench_seconds(bench, 3, 200);
	assert_false(wtl_store_is_over(bench->writer));
	store_bench_seconds(bench, 1, 50000);
	wtl_writer_wait(bench->writer);
	assert_true(wtl_store_is_over(bench->writer));
	look(&seen.io);
	assert_in_range(seen.most, MAX_BYTES, 8 * MAX_BYTES);
	store_bench_seconds(bench, 60, 200);
	wtl_writer_wait(bench->writer);
	seen.most = seen.most_wal = 0;
	store_bench_seconds(bench, 60, 200);
	check_watch(&seen);
	store_bench_end(bench);
	check_watch(&seen);
	reader = store_bench_open(bench);
	assert_false(wtl_store_is_damaged(reader));
	assert_true(store_bench_verify(reader, NULL) >= 2000);
	wtl_store_close(reader);
}

/* ---- Somebody reads all the time ---- */

static void test_reader_all_along(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *readers[3] = {NULL};

	watch(&seen, bench, MAX_BYTES);
	for (size_t i = 0; i < UNIT_COUNT(readers); i++) {
		store_bench_seconds(bench, 5, 200);
		readers[i] = store_bench_open(bench);
	}
	store_bench_seconds(bench, 400, 200);
	/* It reads now and then, as a screen does that goes on. */
	for (size_t i = 0; i < 20; i++) {
		uint64_t lost = 0;

		store_bench_seconds(bench, 20, 200);
		store_bench_verify(readers[i % 3], &lost);
	}
	/* Nothing is in the WAL alone, although it cannot go while somebody has the file open. */
	assert_int_equal(wtl_store_end(bench->writer, NULL), 1);
	bench->writer = NULL;
	check_watch(&seen);
	assert_int_equal(size_of(bench, "-wal"), 0);
	assert_in_range(size_of(bench, ""), MAX_BYTES / 4, MAX_BYTES);
	for (size_t i = 0; i < UNIT_COUNT(readers); i++)
		wtl_store_close(readers[i]);
}

/* Nobody can take a transaction away from another program: in the end the recording stops, before there is more
 * than was allowed. */
static void test_held_too_long(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	struct wtl_err err = {.text = ""};
	int rc = 0;

	bench->options.busy_ms = 20;
	watch(&seen, bench, MAX_BYTES);
	store_bench_seconds(bench, 3, 200);
	assert_int_equal(wtl_reader_open(bench->path, true, &reader, NULL), 0);
	for (int i = 0; i < 2000 && rc >= 0; i++) {
		rc = store_bench_second(bench, 200, &err);
		wtl_writer_wait(bench->writer);
	}
	assert_int_equal(rc, -EBUSY);
	assert_non_null(strstr(err.text, "another program has been reading the file for so long"));
	assert_int_equal(store_bench_verify(reader, NULL), 3 * 200);
	wtl_store_close(reader);
	assert_int_equal(wtl_store_end(bench->writer, &err), -EBUSY);
	bench->writer = NULL;
	check_watch(&seen);
	reader = store_bench_open(bench);
	assert_true(store_bench_verify(reader, NULL) > 4 * 200);
	assert_false(wtl_store_is_damaged(reader));
	wtl_store_close(reader);
}

/* As long as it is waited for, what comes is kept in memory, and nothing is lost. */
static void test_held_for_a_while(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	struct wtl_err err = {.text = ""};

	watch(&seen, bench, 4 * MAX_BYTES);
	store_bench_seconds(bench, 3, 200);
	assert_int_equal(wtl_reader_open(bench->path, true, &reader, NULL), 0);
	/* What can be written is written; the writer waits for the rest. */
	for (int i = 0; i < 400; i++)
		if (store_bench_second(bench, 100, &err) < 0)
			fail_msg("%s", err.text);
	wtl_store_close(reader);
	store_bench_end(bench);
	check_watch(&seen);
	reader = store_bench_open(bench);
	assert_false(wtl_store_is_damaged(reader));
	assert_true(store_bench_verify(reader, NULL) > 1000);
	wtl_store_close(reader);
}

static void test_age(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_period first, last;
	struct wtl_store_reader *reader;
	int64_t n_free;

	bench->options.max_age_ns = 20 * WTL_NS_PER_S;
	store_bench_create(bench);
	store_bench_seconds(bench, 10, 5000);
	store_bench_seconds(bench, 90, 10);
	/* The room of the many, some hundred pages, was given back. */
	assert_int_equal(wtl_file_number(&bench->writer->file, "PRAGMA freelist_count", &n_free),
			 0);
	assert_in_range(n_free, 0, 20);
	store_bench_end(bench);
	reader = store_bench_open(bench);
	assert_int_equal(wtl_store_period(reader, 0, &first), 0);
	assert_int_equal(wtl_store_period(reader, wtl_store_periods(reader) - 1, &last), 0);
	/* Whole periods: a quarter of its length, and the one that is not full yet. */
	assert_in_range((last.end_mono_ns - first.begin_mono_ns) / WTL_NS_PER_S, 20, 32);
	assert_in_range(store_bench_verify(reader, NULL), 200, 320);
	wtl_store_close(reader);
	check_rest(bench);
}

/* ---- What is told of what is gone ---- */

struct rows {
	char consumers[256], windows[256], gaps[256];
	size_t n_energies, n_accounts;
};

static int see_consumer(void *context, const struct wtl_stored_consumer *row)
{
	struct rows *rows = context;
	size_t len = strlen(rows->consumers);

	snprintf(rows->consumers + len, sizeof(rows->consumers) - len, "%u ", row->id);
	return 0;
}

static int see_window(void *context, const struct wtl_stored_window *row)
{
	struct rows *rows = context;
	size_t len = strlen(rows->windows);

	snprintf(rows->windows + len, sizeof(rows->windows) - len, "%u ", row->id);
	rows->n_energies += row->n_energies;
	return 0;
}

static int see_gap(void *context, const struct wtl_stored_gap *row)
{
	struct rows *rows = context;
	size_t len = strlen(rows->gaps);

	snprintf(rows->gaps + len, sizeof(rows->gaps) - len, "%s ", row->text);
	return 0;
}

static int see_account(void *context, const struct wtl_stored_account *row)
{
	struct rows *rows = context;

	(void)row;
	rows->n_accounts++;
	return 0;
}

static void put_rows(struct store_bench *bench)
{
	const struct wattle_energy energy = {.has_energy = 1, .energy_uj = 1};
	struct wtl_store_writer *writer = bench->writer;

	for (uint32_t id = 1; id <= 4; id++) {
		const struct wtl_stored_consumer consumer = {.id = id, .last_look = -1};
		const struct wtl_stored_window window = {
			.id = id,
			.is_open = id == 4,
			.begin_mono_ns = bench->now_ns,
			.duration_ns = 1,
			.energies = &energy,
			.n_energies = 1,
		};

		wtl_store_consumer(writer, &consumer);
		wtl_store_window(writer, &window);
	}
	wtl_store_gap(writer,
		      &(struct wtl_stored_gap){.begin_mono_ns = bench->now_ns, .text = "old"});
	/* 1 and 3 end now; 2 is still there at the end. */
	wtl_store_consumer_end(writer, 1, 5);
	wtl_store_consumer_end(writer, 3, 5);
	wtl_store_account(writer, &(struct wtl_stored_account){.consumer = 3, .full_uj = 1});
	wtl_store_account(writer, &(struct wtl_stored_account){.consumer = 2, .full_uj = 1});
}

static void test_rows(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	struct rows rows = {.n_energies = 0};
	struct wtl_stored_consumer late = {.id = 5, .last_look = 1};

	bench->options.max_age_ns = 20 * WTL_NS_PER_S;
	store_bench_create(bench);
	put_rows(bench);
	store_bench_seconds(bench, 3, 10);
	/* All is there as long as its period is. */
	reader = store_bench_open(bench);
	wtl_store_each_consumer(reader, see_consumer, &rows);
	wtl_store_each_window(reader, see_window, &rows);
	wtl_store_each_gap(reader, see_gap, &rows);
	wtl_store_each_account(reader, see_account, &rows);
	assert_string_equal(rows.consumers, "1 2 3 4 ");
	assert_string_equal(rows.windows, "1 2 3 4 ");
	assert_string_equal(rows.gaps, "old ");
	assert_int_equal(rows.n_accounts, 2);
	assert_false(wtl_store_has_dropped(reader));
	wtl_store_close(reader);
	store_bench_seconds(bench, 60, 10);
	wtl_store_consumer(bench->writer, &late);
	wtl_store_gap(bench->writer,
		      &(struct wtl_stored_gap){.begin_mono_ns = bench->now_ns, .text = "new"});
	store_bench_end(bench);
	reader = store_bench_open(bench);
	rows = (struct rows){.n_energies = 0};
	wtl_store_each_consumer(reader, see_consumer, &rows);
	wtl_store_each_window(reader, see_window, &rows);
	wtl_store_each_gap(reader, see_gap, &rows);
	wtl_store_each_account(reader, see_account, &rows);
	assert_string_equal(rows.consumers, "2 4 5 ");
	/* They were of all that was recorded. */
	assert_int_equal(rows.n_accounts, 0);
	assert_true(wtl_store_has_dropped(reader));
	/* The recording itself, and the one that is open. */
	assert_string_equal(rows.windows, "1 4 ");
	assert_int_equal(rows.n_energies, 2);
	assert_string_equal(rows.gaps, "new ");
	wtl_store_close(reader);
	check_rest(bench);
}

/* ---- More than fits ---- */

static int count_consumer(void *context, const struct wtl_stored_consumer *row)
{
	size_t *n = context;

	(void)row;
	(*n)++;
	return 0;
}

static void put_crowd(struct store_bench *bench, uint32_t from, uint32_t to)
{
	struct wtl_stored_consumer consumer = {.last_look = -1};

	memset(consumer.command, 'x', 150);
	for (uint32_t id = from; id <= to; id++) {
		consumer.id = consumer.slot = id;
		wtl_store_consumer(bench->writer, &consumer);
	}
}

static size_t count_consumers(struct wtl_store_reader *reader)
{
	size_t n = 0;

	assert_int_equal(wtl_store_each_consumer(reader, count_consumer, &n), 0);
	return n;
}

/* More than the WAL and the database have room for at the same time, but not more than the database has. */
static void test_crowd(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;

	watch(&seen, bench, MAX_BYTES);
	store_bench_seconds(bench, 3, 10);
	put_crowd(bench, 1, 350);
	store_bench_seconds(bench, 60, 10);
	for (uint32_t id = 1; id <= 350; id++)
		wtl_store_account(bench->writer, &(struct wtl_stored_account){.consumer = id});
	store_bench_end(bench);
	check_watch(&seen);
	reader = store_bench_open(bench);
	assert_false(wtl_store_is_damaged(reader));
	/* A period is 10 s, and there is room for all of them. */
	assert_int_equal(store_bench_verify(reader, NULL), 63 * 10);
	assert_int_equal(count_consumers(reader), 350);
	wtl_store_close(reader);
}

/* Whoever is there is told of, however small the ring is to be; when they have gone, it is as small again. */
static void test_too_large_a_crowd(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;

	watch(&seen, bench, MAX_BYTES);
	store_bench_seconds(bench, 3, 10);
	put_crowd(bench, 1, 2000);
	store_bench_seconds(bench, 60, 10);
	wtl_writer_wait(bench->writer);
	assert_true(wtl_store_is_over(bench->writer));
	look(&seen.io);
	assert_in_range(seen.most, MAX_BYTES, 10 * MAX_BYTES);
	reader = store_bench_open(bench);
	assert_int_equal(count_consumers(reader), 2000);
	wtl_store_close(reader);
	for (uint32_t id = 1; id <= 2000; id++)
		wtl_store_consumer_end(bench->writer, id, 60);
	store_bench_seconds(bench, 60, 10);
	wtl_writer_wait(bench->writer);
	seen.most = seen.most_wal = 0;
	store_bench_seconds(bench, 60, 10);
	check_watch(&seen);
	store_bench_end(bench);
	check_watch(&seen);
	reader = store_bench_open(bench);
	assert_false(wtl_store_is_damaged(reader));
	assert_int_equal(count_consumers(reader), 0);
	assert_true(store_bench_verify(reader, NULL) >= 600);
	wtl_store_close(reader);
}

/* Those who left are forgotten with the periods that they were in. */
static void test_crowds_that_leave(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;

	watch(&seen, bench, MAX_BYTES);
	for (uint32_t round = 0; round < 40; round++) {
		uint32_t id = round * 100 + 1;

		put_crowd(bench, id, id + 99);
		store_bench_seconds(bench, 2, 200);
		for (uint32_t i = id; i < id + 100; i++)
			wtl_store_consumer_end(bench->writer, i, round);
		store_bench_seconds(bench, 5, 200);
	}
	store_bench_end(bench);
	check_watch(&seen);
	reader = store_bench_open(bench);
	assert_false(wtl_store_is_damaged(reader));
	assert_true(wtl_store_periods(reader) >= 2);
	assert_in_range(count_consumers(reader), 100, 1500);
	wtl_store_close(reader);
}

/* A hundred processes a second that last for as long: less of the past is kept. */
static void test_storm(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;

	watch(&seen, bench, MAX_BYTES);
	for (uint32_t round = 0; round < 60; round++) {
		uint32_t id = round * 100 + 1;

		put_crowd(bench, id, id + 99);
		for (uint32_t i = id; round > 0 && i < id + 100; i++)
			wtl_store_consumer_end(bench->writer, i - 100, round);
		store_bench_seconds(bench, 1, 200);
	}
	store_bench_end(bench);
	check_watch(&seen);
	reader = store_bench_open(bench);
	assert_false(wtl_store_is_damaged(reader));
	assert_true(store_bench_verify(reader, NULL) >= 200);
	assert_in_range(count_consumers(reader), 100, 800);
	wtl_store_close(reader);
}

static uint32_t next_random(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525 + 1013904223;
	return (*state >> 8) % below;
}

static void run_random(struct store_bench *bench, uint32_t seed, uint64_t max_bytes)
{
	uint32_t random = seed, id = 1, oldest = 1;
	struct wtl_store_reader *reader;

	watch(&seen, bench, max_bytes);
	for (uint32_t second = 0; second < 150; second++) {
		uint32_t n = next_random(&random, 10) == 0 ? next_random(&random, 80) : 3;
		bool is_much = next_random(&random, 20) == 0;

		put_crowd(bench, id, id + n - 1);
		id += n;
		while (id - oldest > 60)
			wtl_store_consumer_end(bench->writer, oldest++, second);
		store_bench_seconds(bench, 1, next_random(&random, is_much ? 3000 : 300));
	}
	store_bench_end(bench);
	check_watch(&seen);
	reader = store_bench_open(bench);
	assert_false(wtl_store_is_damaged(reader));
	assert_true(store_bench_verify(reader, NULL) > 0);
	assert_in_range(count_consumers(reader), id - oldest, id - 1);
	wtl_store_close(reader);
	check_rest(bench);
}

static void test_random(void **state)
{
	struct store_bench *bench = *state;

	for (uint32_t seed = 1; seed <= UNIT_TRIES(12); seed++) {
		run_random(bench, seed, 256000 + seed % 4 * 100000);
		assert_int_equal(unlink(bench->path), 0);
	}
}

/* The oldest periods' rows are damaged while it runs: those periods go like any other, and what is of later times stays. */
static void check_damaged_oldest(struct store_bench *bench, size_t seconds, size_t n)
{
	const struct wtl_stored_gap gap = {.begin_mono_ns = bench->now_ns,
					   .duration_ns = 2 * (int64_t)seconds * WTL_NS_PER_S,
					   .text = "long"};
	struct rows rows = {.n_energies = 0};
	struct wtl_store_reader *reader;
	struct wtl_store_period first;
	sqlite3 *db;

	store_bench_create(bench);
	wtl_store_gap(bench->writer, &gap);
	store_bench_seconds(bench, seconds, n);
	assert_int_equal(sqlite3_open(bench->path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(
			db,
			"UPDATE period SET begin_mono_ns = (id > (SELECT min(id) FROM period)) << 61, "
			"end_mono_ns = 1 << 62 WHERE id < (SELECT min(id) + 2 FROM period)",
			NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
	store_bench_seconds(bench, seconds, n);
	store_bench_end(bench);
	reader = store_bench_open(bench);
	wtl_store_each_gap(reader, see_gap, &rows);
	assert_string_equal(rows.gaps, "long ");
	assert_false(wtl_store_is_damaged(reader));
	assert_int_equal(wtl_store_period(reader, 0, &first), 0);
	assert_true(first.begin_mono_ns >
		    bench->now_ns - (int64_t)seconds * WTL_NS_PER_S - 20 * WTL_NS_PER_S);
	wtl_store_close(reader);
}

static void test_damaged_oldest(void **state)
{
	struct store_bench *bench = *state;

	bench->options.max_age_ns = 20 * WTL_NS_PER_S;
	check_damaged_oldest(bench, 50, 10);
}

static void test_damaged_oldest_of_bytes(void **state)
{
	struct store_bench *bench = *state;

	bench->options.max_bytes = MAX_BYTES;
	check_damaged_oldest(bench, 200, 200);
	assert_in_range(size_of(bench, ""), MAX_BYTES / 4, MAX_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(test_damaged_oldest),
		STORE_TEST(test_damaged_oldest_of_bytes),
		STORE_TEST(test_bytes),
		STORE_TEST(test_more_bytes),
		STORE_TEST(test_uneven),
		STORE_TEST(test_much_of_one_period),
		STORE_TEST(test_too_much_at_once),
		STORE_TEST(test_reader_all_along),
		STORE_TEST(test_held_too_long),
		STORE_TEST(test_held_for_a_while),
		STORE_TEST(test_age),
		STORE_TEST(test_rows),
		STORE_TEST(test_crowd),
		STORE_TEST(test_too_large_a_crowd),
		STORE_TEST(test_crowds_that_leave),
		STORE_TEST(test_storm),
		STORE_TEST(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
