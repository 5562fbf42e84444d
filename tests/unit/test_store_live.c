/* SPDX-License-Identifier: MIT */
/* Recordings that are read, held and locked by others while they are written. */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "energy/units.h"
#include "record/writer.h"
#include "store_bench.h"

enum { READERS = 3, PER_COMMIT = 20 };

static int setup(void **state)
{
	struct store_bench *bench = malloc(sizeof(*bench));

	store_bench_init(bench);
	*state = bench;
	return 0;
}

static int teardown(void **state)
{
	store_bench_done(*state);
	free(*state);
	return 0;
}

/* ---- Readers in threads ---- */

struct watch {
	const struct store_bench *bench;
	atomic_bool is_over;
	atomic_uint_fast64_t done; /* values that were written when somebody last looked */
};

struct looker {
	struct watch *watch;
	pthread_t thread;
	unsigned looks;
	const char *wrong;
};

/* How many values the first series has over all periods, or UINT64_MAX where they are not in order. cmocka's
 * checks are for the main thread alone. */
static uint64_t count_values(struct wtl_store_reader *reader)
{
	uint64_t sum = 0, next = UINT64_MAX;

	for (size_t i = 0; i < wtl_store_periods(reader); i++) {
		const int64_t *values;
		size_t n;

		if (wtl_store_values(reader, 0, i, &values, &n, NULL) < 0)
			return UINT64_MAX;
		if (n > 0 && next == UINT64_MAX)
			next = (uint64_t)(values[0] - store_bench_value(0, 0)) / 1000000;
		for (size_t k = 0; k < n; k++)
			if (values[k] != store_bench_value(0, next++))
				return UINT64_MAX;
		sum += n;
	}
	return sum;
}

static const char *look_once(const struct watch *watch, uint64_t *last)
{
	struct wtl_store_reader *reader = NULL;
	uint64_t before = atomic_load(&watch->done), n;
	const char *wrong = NULL;

	if (wtl_store_open(watch->bench->path, &reader, NULL) < 0)
		return "it cannot be opened";
	n = count_values(reader);
	if (n == UINT64_MAX)
		wrong = "values are wrong";
	else if (n % PER_COMMIT)
		wrong = "half a commit is there";
	else if (n < before || n < *last)
		wrong = "a commit is not there";
	else if (count_values(reader) != n)
		wrong = "it changes while it is open";
	*last = n;
	wtl_store_close(reader);
	return wrong;
}

static void *look(void *context)
{
	struct looker *looker = context;
	uint64_t last = 0;

	do {
		looker->wrong = look_once(looker->watch, &last);
		looker->looks++;
	} while (!looker->wrong && !atomic_load(&looker->watch->is_over));
	return NULL;
}

static void test_readers_beside_the_writer(void **state)
{
	struct store_bench *bench = *state;
	struct watch watch = {.bench = bench};
	struct looker lookers[READERS];

	/* Short periods: chunks, parts, and what goes from one to the other. */
	bench->options.period_ns = 3 * WTL_NS_PER_S;
	store_bench_create(bench);
	store_bench_seconds(bench, 1, PER_COMMIT);
	for (size_t i = 0; i < READERS; i++) {
		lookers[i] = (struct looker){.watch = &watch};
		assert_int_equal(pthread_create(&lookers[i].thread, NULL, look, &lookers[i]), 0);
	}
	for (int second = 0; second < 300; second++) {
		store_bench_seconds(bench, 1, PER_COMMIT);
		atomic_store(&watch.done, bench->n_put);
	}
	atomic_store(&watch.is_over, true);
	for (size_t i = 0; i < READERS; i++) {
		pthread_join(lookers[i].thread, NULL);
		if (lookers[i].wrong)
			fail_msg("look %u: %s", lookers[i].looks, lookers[i].wrong);
	}
	store_bench_end(bench);
}

/* What a ring drops is still there for whoever opened it before. */
static void test_held_while_a_ring_turns(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;

	bench->options.max_age_ns = 20 * WTL_NS_PER_S;
	store_bench_create(bench);
	store_bench_seconds(bench, 12, PER_COMMIT);
	reader = store_bench_open(bench);
	store_bench_seconds(bench, 100, PER_COMMIT);
	assert_int_equal(store_bench_verify(reader, NULL), 12 * PER_COMMIT);
	wtl_store_close(reader);
	reader = store_bench_open(bench);
	assert_in_range(store_bench_verify(reader, NULL), 20 * PER_COMMIT, 32 * PER_COMMIT);
	wtl_store_close(reader);
}

/* ---- Others that write ---- */

static sqlite3 *outsider(const struct store_bench *bench)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(bench->path, &db), SQLITE_OK);
	return db;
}

/* Somebody holds the database locked: commits come back at once, and nothing is lost. */
static void test_locked_for_a_while(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	sqlite3 *db;

	store_bench_create(bench);
	store_bench_seconds(bench, 3, PER_COMMIT);
	db = outsider(bench);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	for (int i = 0; i < 50; i++)
		assert_true(store_bench_second(bench, PER_COMMIT, NULL) >= 0);
	/* The first of them is with the thread, the others wait together. */
	assert_int_equal(bench->writer->n_taken, 4);
	reader = store_bench_open(bench);
	assert_int_equal(store_bench_verify(reader, NULL), 3 * PER_COMMIT);
	wtl_store_close(reader);
	assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	wtl_writer_wait(bench->writer);
	store_bench_seconds(bench, 1, PER_COMMIT);
	store_bench_end(bench);
	reader = store_bench_open(bench);
	assert_int_equal(store_bench_verify(reader, NULL), 54 * PER_COMMIT);
	wtl_store_close(reader);
}

/* Somebody took a table away: the recording stops, once, and says why. */
static void test_changed_by_another(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_err err = {.text = ""};
	sqlite3 *db;
	int rc = 0;

	store_bench_create(bench);
	store_bench_seconds(bench, 2, PER_COMMIT);
	db = outsider(bench);
	assert_int_equal(sqlite3_exec(db, "DROP TABLE part", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	for (int i = 0; i < 3 && rc >= 0; i++) {
		rc = store_bench_second(bench, PER_COMMIT, &err);
		wtl_writer_wait(bench->writer);
	}
	assert_int_equal(rc, -EBADMSG);
	assert_non_null(strstr(err.text, "another program has changed the file"));
	/* From then on it takes everything, and keeps nothing. */
	assert_true(wtl_store_put(bench->writer, 0, 1));
	assert_int_equal(wtl_store_fact(bench->writer, "a", "b"), 0);
	for (int i = 0; i < 10000; i++)
		assert_true(wtl_store_put(bench->writer, 0, 1));
	assert_int_equal(wtl_store_commit(bench->writer, 1, 1, &err), -EBADMSG);
	assert_int_equal(wtl_store_end(bench->writer, &err), -EBADMSG);
	bench->writer = NULL;
}

/* Other tables are nobody's business. */
static void test_own_tables_of_others(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	sqlite3 *db;

	store_bench_create(bench);
	store_bench_seconds(bench, 2, PER_COMMIT);
	db = outsider(bench);
	assert_int_equal(sqlite3_exec(db,
				      "CREATE TABLE note(text); INSERT INTO note VALUES('mine');"
				      "CREATE INDEX n ON chunk(n); CREATE VIEW v AS SELECT 1",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	store_bench_seconds(bench, 12, PER_COMMIT);
	store_bench_end(bench);
	reader = store_bench_open(bench);
	assert_int_equal(store_bench_verify(reader, NULL), 14 * PER_COMMIT);
	assert_false(wtl_store_is_damaged(reader));
	wtl_store_close(reader);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_readers_beside_the_writer), TEST(test_held_while_a_ring_turns),
		TEST(test_locked_for_a_while),	      TEST(test_changed_by_another),
		TEST(test_own_tables_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
