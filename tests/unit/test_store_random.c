/* SPDX-License-Identifier: MIT */
/*
 * Recordings of anything: series that come and go, stretches of any length, commits that find the thread
 * busy or not, periods that end early, rows that replace others; beside a plain list of what was put. At
 * the end, and now and then before, both must be the same.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "energy/units.h"
#include "record/writer.h"

enum { SERIES_MAX = 40, ROWS_MAX = 60, ROUNDS = 12, STEPS = 400 };

struct list {
	int64_t *values;
	size_t n, room;
};

struct bench {
	char *dir, *path;
	struct wtl_store_writer *writer;
	uint64_t random;
	int64_t now_ns;
	struct list series[SERIES_MAX];
	uint32_t n_series;
	int64_t next[SERIES_MAX];
	/* What the rows say; 0: there is none. */
	int64_t consumer_ends[ROWS_MAX];
	uint32_t window_pids[ROWS_MAX];
	uint64_t accounts[ROWS_MAX];
	size_t n_gaps;
};

static uint64_t next_random(struct bench *bench, uint64_t below)
{
	bench->random =
		bench->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (bench->random >> 33) % below;
}

/* ---- Putting ---- */

/* Of each series' own kind: even, random, seldom, wrapping. */
static int64_t next_value(struct bench *bench, uint32_t series)
{
	int64_t *last = &bench->next[series];

	switch (series % 5) {
	case 0:
		*last += 1000;
		break;
	case 1:
		*last = (int64_t)(next_random(bench, UINT64_C(1) << 31) << 33 ^
				  next_random(bench, UINT64_C(1) << 31));
		break;
	case 2:
		*last += next_random(bench, 20) == 0 ? (int64_t)next_random(bench, 100000) : 0;
		break;
	case 3:
		*last = (int64_t)((uint64_t)*last + (UINT64_C(1) << 62) + next_random(bench, 3));
		break;
	default:
		*last = 50000 + (int64_t)next_random(bench, 300) * 10;
	}
	return *last;
}

static void put_value(struct bench *bench, uint32_t series)
{
	struct list *list = &bench->series[series];
	int64_t value = next_value(bench, series);

	assert_true(wtl_store_put(bench->writer, series, value));
	assert_int_equal(
		wtl_array_reserve(&list->values, &list->room, list->n + 1, sizeof(int64_t)), 0);
	list->values[list->n++] = value;
}

static void put_values(struct bench *bench)
{
	uint64_t n = next_random(bench, 200);

	for (uint64_t i = 0; i < n && bench->n_series > 0; i++) {
		uint32_t series = (uint32_t)next_random(bench, bench->n_series);
		uint64_t times = next_random(bench, 50) == 0 ? next_random(bench, 3000) : 1;

		while (times-- > 0)
			put_value(bench, series);
	}
}

static void add_series(struct bench *bench)
{
	char name[32];

	if (bench->n_series == SERIES_MAX)
		return;
	snprintf(name, sizeof(name), "s.%u", bench->n_series);
	assert_int_equal(wtl_store_series(bench->writer, name), bench->n_series);
	bench->n_series++;
}

static void put_row(struct bench *bench)
{
	uint32_t id = 1 + (uint32_t)next_random(bench, ROWS_MAX - 1);
	const struct wtl_stored_consumer consumer = {.id = id, .last_look = -1};
	const struct wtl_stored_gap gap = {.begin_mono_ns = bench->now_ns};
	struct wtl_stored_window window = {.id = id, .pid = (int32_t)next_random(bench, 1000) + 1};
	struct wtl_stored_account account = {.consumer = id,
					     .full_uj = next_random(bench, 1000) + 1};
	int64_t look = (int64_t)next_random(bench, 1000);

	switch (next_random(bench, 5)) {
	case 0:
		assert_int_equal(wtl_store_consumer(bench->writer, &consumer), 0);
		bench->consumer_ends[id] = -1;
		break;
	case 1:
		assert_int_equal(wtl_store_consumer_end(bench->writer, id, look), 0);
		if (bench->consumer_ends[id])
			bench->consumer_ends[id] = look + 1;
		break;
	case 2:
		assert_int_equal(wtl_store_window(bench->writer, &window), 0);
		bench->window_pids[id] = (uint32_t)window.pid;
		break;
	case 3:
		assert_int_equal(wtl_store_account(bench->writer, &account), 0);
		bench->accounts[id] = account.full_uj;
		break;
	default:
		assert_int_equal(wtl_store_gap(bench->writer, &gap), 0);
		bench->n_gaps++;
	}
}

/* ---- Comparing ---- */

struct seen {
	struct bench *bench;
	size_t n_consumers, n_windows, n_accounts, n_gaps;
};

static int see_consumer(void *context, const struct wtl_stored_consumer *row)
{
	struct seen *seen = context;
	int64_t end = seen->bench->consumer_ends[row->id];

	assert_true(end != 0);
	assert_int_equal(row->last_look, end < 0 ? -1 : end - 1);
	seen->n_consumers++;
	return 0;
}

static int see_window(void *context, const struct wtl_stored_window *row)
{
	struct seen *seen = context;

	assert_int_equal(row->pid, seen->bench->window_pids[row->id]);
	seen->n_windows++;
	return 0;
}

static int see_account(void *context, const struct wtl_stored_account *row)
{
	struct seen *seen = context;

	assert_int_equal(row->full_uj, seen->bench->accounts[row->consumer]);
	seen->n_accounts++;
	return 0;
}

static int see_gap(void *context, const struct wtl_stored_gap *row)
{
	(void)row;
	((struct seen *)context)->n_gaps++;
	return 0;
}

static void compare_rows(struct bench *bench, struct wtl_store_reader *reader)
{
	struct seen seen = {.bench = bench};

	assert_int_equal(wtl_store_each_consumer(reader, see_consumer, &seen), 0);
	assert_int_equal(wtl_store_each_window(reader, see_window, &seen), 0);
	assert_int_equal(wtl_store_each_account(reader, see_account, &seen), 0);
	assert_int_equal(wtl_store_each_gap(reader, see_gap, &seen), 0);
	for (uint32_t id = 0; id < ROWS_MAX; id++) {
		seen.n_consumers -= bench->consumer_ends[id] != 0;
		seen.n_windows -= bench->window_pids[id] != 0;
		seen.n_accounts -= bench->accounts[id] != 0;
	}
	assert_int_equal(seen.n_consumers + seen.n_windows + seen.n_accounts, 0);
	assert_int_equal(seen.n_gaps, bench->n_gaps);
}

static void compare_series(struct bench *bench, struct wtl_store_reader *reader, uint32_t series)
{
	const struct list *list = &bench->series[series];
	size_t at = 0;

	for (size_t i = 0; i < wtl_store_periods(reader); i++) {
		const int64_t *values;
		struct wtl_err err;
		size_t n;

		if (wtl_store_values(reader, series, i, &values, &n, &err) < 0)
			fail_msg("%s", err.text);
		assert_true(at + n <= list->n);
		if (n > 0)
			assert_memory_equal(values, list->values + at, n * sizeof(*values));
		at += n;
	}
	assert_int_equal(at, list->n);
}

static void compare(struct bench *bench, bool is_whole)
{
	struct wtl_store_reader *reader = NULL;
	struct wtl_err err = {.text = ""};

	if (wtl_store_open(bench->path, &reader, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(wtl_store_is_whole(reader), is_whole);
	assert_int_equal(wtl_store_is_live(reader), !is_whole);
	assert_int_equal(wtl_store_n_series(reader), bench->n_series);
	/* From the first to the last, and the other way, so that no order is the only one that works. */
	for (uint32_t i = 0; i < bench->n_series; i++)
		compare_series(bench, reader, is_whole ? i : bench->n_series - 1 - i);
	compare_rows(bench, reader);
	assert_false(wtl_store_is_damaged(reader));
	wtl_store_close(reader);
}

/* ---- A round ---- */

static void commit(struct bench *bench)
{
	bench->now_ns += (int64_t)next_random(bench, 2 * WTL_NS_PER_S);
	assert_true(wtl_store_commit(bench->writer, bench->now_ns, bench->now_ns, NULL) >= 0);
}

static void step(struct bench *bench)
{
	switch (next_random(bench, 12)) {
	case 0:
		add_series(bench);
		break;
	case 1:
	case 2:
		put_row(bench);
		break;
	case 3:
	case 4:
		commit(bench);
		break;
	case 5:
		commit(bench);
		wtl_writer_wait(bench->writer);
		break;
	case 6:
		/* Twice: what the thread was too busy for goes with the second. */
		if (next_random(bench, 8))
			break;
		wtl_writer_wait(bench->writer);
		commit(bench);
		wtl_writer_wait(bench->writer);
		compare(bench, false);
		break;
	default:
		put_values(bench);
	}
}

static void run_round(uint64_t seed)
{
	struct bench bench = {.random = seed, .now_ns = WTL_NS_PER_S};
	struct wtl_store_options options = {.values_per_commit = 50};
	struct wtl_err err = {.text = ""};

	bench.dir = unit_tmpdir();
	bench.path = unit_path(bench.dir, "r");
	/* From a period a commit to one for everything. */
	options.period_ns = (int64_t)next_random(&bench, 30) * WTL_NS_PER_S + 1;
	if (wtl_store_create(bench.path, &options, &bench.writer, &err) < 0)
		fail_msg("%s", err.text);
	for (int i = 0; i < STEPS; i++)
		step(&bench);
	if (wtl_store_end(bench.writer, &err) < 0)
		fail_msg("%s", err.text);
	compare(&bench, true);
	for (size_t i = 0; i < SERIES_MAX; i++)
		free(bench.series[i].values);
	free(bench.path);
	unit_rmtree(bench.dir);
}

static void test_random(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++)
		run_round(seed * 7919);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
