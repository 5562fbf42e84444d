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

/* What a ring drops is lost for whoever opened it before, who is told so; the newest is as it was then. */
static void test_open_while_a_ring_turns(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_err err = {.text = ""};
	struct wtl_store_reader *reader;
	const int64_t *values;
	uint64_t lost = 0;
	size_t n;

	bench->options.max_age_ns = 20 * WTL_NS_PER_S;
	store_bench_create(bench);
	store_bench_seconds(bench, 15, PER_COMMIT);
	reader = store_bench_open(bench);
	assert_int_equal(wtl_store_periods(reader), 3);
	store_bench_seconds(bench, 1, PER_COMMIT);
	assert_int_equal(store_bench_verify(reader, NULL), 15 * PER_COMMIT);
	/* Also where it is the period that was read last. */
	assert_int_equal(wtl_store_values(reader, 0, 0, &values, &n, &err), 0);
	store_bench_seconds(bench, 99, PER_COMMIT);
	assert_int_equal(wtl_store_values(reader, 1, 0, &values, &n, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "(period 1): the ring has dropped it since"));
	assert_int_equal(store_bench_verify(reader, &lost), 2 * PER_COMMIT);
	assert_int_equal(lost, 2);
	assert_int_equal(wtl_store_values(reader, 1, 0, &values, &n, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "(period 1): the ring has dropped it since"));
	assert_false(wtl_store_is_damaged(reader));
	wtl_store_close(reader);
	reader = store_bench_open(bench);
	assert_in_range(store_bench_verify(reader, NULL), 20 * PER_COMMIT, 32 * PER_COMMIT);
	wtl_store_close(reader);
}

/* ---- Tables beside a writer ---- */

static void put_window(struct store_bench *bench, uint32_t id, bool is_open, uint64_t energy_uj)
{
	const struct wattle_energy energy = {.has_energy = 1, .energy_uj = energy_uj};
	const struct wattle_energy energies[] = {energy, energy};
	const struct wtl_stored_window window = {.id = id,
						 .name = "w",
						 .is_open = is_open,
						 .total = energy,
						 .energies = energies,
						 .n_energies = 2};

	assert_int_equal(wtl_store_window(bench->writer, &window), 0);
}

static int add_window(void *context, const struct wtl_stored_window *row)
{
	char *text = context;
	size_t len = strlen(text);

	snprintf(text + len, 256 - len, "%u%s=%llu/%llu ", row->id, row->is_open ? "+" : "",
		 (unsigned long long)row->total.energy_uj,
		 row->n_energies == 2 ? (unsigned long long)row->energies[1].energy_uj : 0);
	return 0;
}

static int add_consumer(void *context, const struct wtl_stored_consumer *row)
{
	char *text = context;
	size_t len = strlen(text);

	snprintf(text + len, 256 - len, "%u:%s:%lld:%s ", row->id, row->user,
		 (long long)row->last_look, row->consumer.group ? row->group.unit : "-");
	return 0;
}

static int add_account(void *context, const struct wtl_stored_account *row)
{
	char *text = context;
	size_t len = strlen(text);

	snprintf(text + len, 256 - len, "%u=%llu ", row->consumer,
		 (unsigned long long)row->full_uj);
	return 0;
}

static void expect_tables(struct wtl_store_reader *reader, const char *wanted)
{
	char text[256] = "";

	assert_int_equal(wtl_store_each_window(reader, add_window, text), 0);
	assert_int_equal(wtl_store_each_consumer(reader, add_consumer, text), 0);
	assert_int_equal(wtl_store_each_account(reader, add_account, text), 0);
	assert_string_equal(text, wanted);
	assert_false(wtl_store_is_damaged(reader));
}

/* They stay as they were when the reader came, like the values that belong to them. */
static void test_tables_of_one_moment(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_stored_consumer consumer = {.id = 1, .last_look = -1, .user = "jane"};
	struct wtl_stored_account account = {.consumer = 1, .full_uj = UINT64_MAX};
	struct wtl_store_reader *before, *after;

	store_bench_create(bench);
	snprintf(consumer.group.unit, sizeof(consumer.group.unit), "ssh.service");
	consumer.consumer.group = &consumer.group;
	wtl_store_consumer(bench->writer, &consumer);
	wtl_store_account(bench->writer, &account);
	put_window(bench, 1, true, 5);
	store_bench_seconds(bench, 2, PER_COMMIT);
	before = store_bench_open(bench);
	wtl_store_consumer_end(bench->writer, 1, 7);
	account.full_uj = 6;
	wtl_store_account(bench->writer, &account);
	put_window(bench, 1, false, 10);
	put_window(bench, 2, true, 1);
	store_bench_seconds(bench, 2, PER_COMMIT);
	after = store_bench_open(bench);
	expect_tables(before, "1+=5/5 1:jane:-1:ssh.service 1=18446744073709551615 ");
	expect_tables(after, "1=10/10 2+=1/1 1:jane:7:ssh.service 1=6 ");
	wtl_store_close(after);
	wtl_store_close(before);
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
	sqlite3 *db;

	store_bench_create(bench);
	store_bench_seconds(bench, 3, PER_COMMIT);
	db = outsider(bench);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	for (int i = 0; i < 50; i++)
		assert_true(store_bench_second(bench, PER_COMMIT, NULL) >= 0);
	/* The first of them is with the thread, the others wait together. */
	assert_int_equal(bench->writer->n_taken, 4);
	store_bench_expect(bench, 3 * PER_COMMIT);
	assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	wtl_writer_wait(bench->writer);
	store_bench_seconds(bench, 1, PER_COMMIT);
	store_bench_end(bench);
	store_bench_expect(bench, 54 * PER_COMMIT);
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

/* Other tables stop no recorder; readers want them gone. */
static void test_own_tables_of_others(void **state)
{
	struct store_bench *bench = *state;
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
	db = outsider(bench);
	assert_int_equal(
		sqlite3_exec(db, "DROP TABLE note; DROP INDEX n; DROP VIEW v", NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
	store_bench_expect(bench, 14 * PER_COMMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(test_readers_beside_the_writer),
		STORE_TEST(test_open_while_a_ring_turns),
		STORE_TEST(test_tables_of_one_moment),
		STORE_TEST(test_locked_for_a_while),
		STORE_TEST(test_changed_by_another),
		STORE_TEST(test_own_tables_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
