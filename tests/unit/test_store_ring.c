/* SPDX-License-Identifier: MIT */
/* Recordings that keep only the newest. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "energy/units.h"
#include "record/writer.h"
#include "store_bench.h"

enum { MAX_BYTES = 256 * 1024 };

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
	size_t n_energies;
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
	/* 1 and 3 end now, but 3 has an account; 2 is still there at the end. */
	wtl_store_consumer_end(writer, 1, 5);
	wtl_store_consumer_end(writer, 3, 5);
	wtl_store_account(writer, &(struct wtl_stored_account){.consumer = 3, .full_uj = 1});
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
	assert_string_equal(rows.consumers, "1 2 3 4 ");
	assert_string_equal(rows.windows, "1 2 3 4 ");
	assert_string_equal(rows.gaps, "old ");
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
	assert_string_equal(rows.consumers, "2 3 4 5 ");
	/* The recording itself, and the one that is open. */
	assert_string_equal(rows.windows, "1 4 ");
	assert_int_equal(rows.n_energies, 2);
	assert_string_equal(rows.gaps, "new ");
	wtl_store_close(reader);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bytes),
		TEST(test_more_bytes),
		TEST(test_age),
		TEST(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
