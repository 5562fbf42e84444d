/* SPDX-License-Identifier: MIT */
/* Recordings that keep only the newest. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sqlite3.h>

#include "energy/units.h"
#include "record/reader.h"
#include "record/writer.h"
#include "store_bench.h"

enum { MAX_BYTES = 256 * 1024 };

static size_t size_of(const struct store_bench *bench, const char *end)
{
	struct stat st = {0};
	char path[4096];

	snprintf(path, sizeof(path), "%s%s", bench->path, end);
	return stat(path, &st) < 0 ? 0 : (size_t)st.st_size;
}

/* The database and its WAL, at any time; and it holds as much as it reasonably can. */
static void run_ring(struct store_bench *bench, size_t seconds, size_t n)
{
	struct wtl_store_reader *reader;
	size_t most = 0;
	uint64_t kept;

	store_bench_create(bench);
	for (size_t i = 0; i < seconds; i++) {
		size_t size;

		store_bench_seconds(bench, 1, n);
		size = size_of(bench, "") + size_of(bench, "-wal");
		most = size > most ? size : most;
	}
	assert_in_range(most, bench->options.max_bytes / 2, bench->options.max_bytes);
	store_bench_end(bench);
	assert_in_range(size_of(bench, ""), bench->options.max_bytes / 4, bench->options.max_bytes);
	reader = store_bench_open(bench);
	kept = store_bench_verify(reader, NULL);
	assert_true(kept < seconds * n);
	assert_true(kept > seconds * n / 100);
	assert_false(wtl_store_is_damaged(reader));
	wtl_store_close(reader);
}

static void test_bytes(void **state)
{
	struct store_bench *bench = *state;

	bench->options.max_bytes = MAX_BYTES;
	run_ring(bench, 400, 200);
}

static void test_more_bytes(void **state)
{
	struct store_bench *bench = *state;

	bench->options.max_bytes = 8 * MAX_BYTES;
	run_ring(bench, 150, 10000);
}

/* ---- Somebody reads all the time ---- */

/* The most that is on the disk while a ring turns so many seconds. */
static size_t turn(struct store_bench *bench, size_t seconds)
{
	size_t most = 0;

	for (size_t i = 0; i < seconds; i++) {
		size_t size;

		store_bench_seconds(bench, 1, 200);
		size = size_of(bench, "") + size_of(bench, "-wal");
		most = size > most ? size : most;
	}
	return most;
}

static void test_reader_all_along(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *readers[3] = {NULL};

	bench->options.max_bytes = MAX_BYTES;
	store_bench_create(bench);
	for (size_t i = 0; i < UNIT_COUNT(readers); i++) {
		store_bench_seconds(bench, 5, 200);
		readers[i] = store_bench_open(bench);
	}
	assert_in_range(turn(bench, 400), MAX_BYTES / 2, MAX_BYTES);
	/* It reads now and then, as a screen does that goes on. */
	for (size_t i = 0; i < 20; i++) {
		uint64_t lost = 0;

		assert_in_range(turn(bench, 20), 1, MAX_BYTES);
		store_bench_verify(readers[i % 3], &lost);
	}
	/* One that holds its moment is another matter; when it goes, so does what it kept. */
	wtl_store_close(readers[0]);
	assert_int_equal(wtl_reader_open(bench->path, true, &readers[0], NULL), 0);
	assert_true(turn(bench, 200) > 4 * MAX_BYTES);
	wtl_store_close(readers[0]);
	turn(bench, 2);
	assert_in_range(turn(bench, 100), 1, MAX_BYTES);
	/* Nothing is in the WAL alone, although it cannot go while somebody has the file open. */
	assert_int_equal(wtl_store_end(bench->writer, NULL), 1);
	bench->writer = NULL;
	assert_int_equal(size_of(bench, "-wal"), 0);
	assert_in_range(size_of(bench, ""), MAX_BYTES / 4, MAX_BYTES);
	wtl_store_close(readers[1]);
	wtl_store_close(readers[2]);
}

/* Nobody can take a transaction away from another program: in the end the recording stops, before the disk
 * is full of what it keeps. */
static void test_held_too_long(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	struct wtl_err err = {.text = ""};
	int rc = 0;

	bench->options.max_bytes = MAX_BYTES;
	store_bench_create(bench);
	store_bench_seconds(bench, 3, 200);
	assert_int_equal(wtl_reader_open(bench->path, true, &reader, NULL), 0);
	for (int i = 0; i < 2000 && rc >= 0; i++) {
		rc = store_bench_second(bench, 2000, &err);
		wtl_writer_wait(bench->writer);
	}
	assert_int_equal(rc, -EBUSY);
	assert_non_null(strstr(err.text, "another program has been reading the file for so long"));
	assert_in_range(size_of(bench, "-wal"), 64 << 20, 66 << 20);
	assert_int_equal(store_bench_verify(reader, NULL), 3 * 200);
	wtl_store_close(reader);
	assert_int_equal(wtl_store_end(bench->writer, &err), -EBUSY);
	bench->writer = NULL;
	reader = store_bench_open(bench);
	assert_true(store_bench_verify(reader, NULL) > 2000);
	assert_false(wtl_store_is_damaged(reader));
	wtl_store_close(reader);
}

static void test_age(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_period first, last;
	struct wtl_store_reader *reader;

	bench->options.max_age_ns = 20 * WTL_NS_PER_S;
	store_bench_create(bench);
	store_bench_seconds(bench, 100, 10);
	store_bench_end(bench);
	reader = store_bench_open(bench);
	assert_int_equal(wtl_store_period(reader, 0, &first), 0);
	assert_int_equal(wtl_store_period(reader, wtl_store_periods(reader) - 1, &last), 0);
	/* Whole periods: a quarter of its length, and the one that is not full yet. */
	assert_in_range((last.end_mono_ns - first.begin_mono_ns) / WTL_NS_PER_S, 20, 32);
	assert_in_range(store_bench_verify(reader, NULL), 200, 320);
	wtl_store_close(reader);
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

	memset(consumer.consumer.command, 'x', 150);
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

/* Whoever is there is told of, and so are the newest values, however small the ring is to be. */
static void test_crowd(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_period first, last;
	struct wtl_store_reader *reader;

	bench->options.max_bytes = MAX_BYTES;
	store_bench_create(bench);
	store_bench_seconds(bench, 3, 10);
	assert_false(wtl_store_is_over(bench->writer));
	put_crowd(bench, 1, 2000);
	store_bench_seconds(bench, 2, 10);
	assert_true(wtl_store_is_over(bench->writer));
	store_bench_seconds(bench, 60, 10);
	for (uint32_t id = 1; id <= 2000; id++)
		wtl_store_account(bench->writer, &(struct wtl_stored_account){.consumer = id});
	store_bench_end(bench);
	reader = store_bench_open(bench);
	assert_false(wtl_store_is_damaged(reader));
	assert_true(wtl_store_has_dropped(reader));
	/* A period is 10 s. */
	assert_int_equal(wtl_store_periods(reader), 2);
	assert_int_equal(wtl_store_period(reader, 0, &first), 0);
	assert_int_equal(wtl_store_period(reader, 1, &last), 0);
	assert_int_equal(last.end_mono_ns, bench->now_ns);
	assert_in_range((last.end_mono_ns - first.begin_mono_ns) / WTL_NS_PER_S, 10, 20);
	assert_in_range(store_bench_verify(reader, NULL), 100, 200);
	assert_int_equal(count_consumers(reader), 2000);
	wtl_store_close(reader);
}

/* Those who left are forgotten with the periods that they were in. */
static void test_crowds_that_leave(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;

	bench->options.max_bytes = MAX_BYTES;
	store_bench_create(bench);
	for (uint32_t round = 0; round < 40; round++) {
		uint32_t id = round * 100 + 1;

		put_crowd(bench, id, id + 99);
		assert_in_range(turn(bench, 2), 1, MAX_BYTES);
		for (uint32_t i = id; i < id + 100; i++)
			wtl_store_consumer_end(bench->writer, i, round);
		assert_in_range(turn(bench, 5), 1, MAX_BYTES);
	}
	assert_false(wtl_store_is_over(bench->writer));
	store_bench_end(bench);
	assert_in_range(size_of(bench, ""), 1, MAX_BYTES);
	reader = store_bench_open(bench);
	assert_true(wtl_store_periods(reader) >= 2);
	assert_in_range(count_consumers(reader), 100, 1500);
	wtl_store_close(reader);
}

/* The oldest period's row is damaged while it runs: that period goes like any other. */
static void check_damaged_oldest(struct store_bench *bench, size_t seconds, size_t n)
{
	struct wtl_store_reader *reader;
	struct wtl_store_period first;
	sqlite3 *db;

	store_bench_create(bench);
	store_bench_seconds(bench, seconds, n);
	assert_int_equal(sqlite3_open(bench->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "UPDATE period SET begin_mono_ns = 0, end_mono_ns = 1 << 62 "
				      "WHERE id = (SELECT min(id) FROM period)",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	store_bench_seconds(bench, seconds, n);
	store_bench_end(bench);
	reader = store_bench_open(bench);
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
		STORE_TEST(test_reader_all_along),
		STORE_TEST(test_held_too_long),
		STORE_TEST(test_age),
		STORE_TEST(test_rows),
		STORE_TEST(test_crowd),
		STORE_TEST(test_crowds_that_leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
