/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "energy/units.h"
#include "record/writer.h"
#include "store_bench.h"

#define FIRST_NS (1000 * WTL_NS_PER_S)

static const char *const names[STORE_SERIES] = {"clock", "noise", "steps"};

int64_t store_bench_value(size_t k, uint64_t i)
{
	uint64_t x = i * UINT64_C(0x9e3779b97f4a7c15);

	if (k == 0)
		return (int64_t)(i * 1000000 + 17);
	if (k == 1)
		return (int64_t)(x ^ x >> 29);
	return (int64_t)(i / 100 % 7) * 5000 - 10000;
}

void store_bench_init(struct store_bench *bench)
{
	*bench = (struct store_bench){
		.dir = unit_tmpdir(),
		.now_ns = FIRST_NS,
		.options = {.period_ns = 10 * WTL_NS_PER_S, .values_per_commit = 100},
	};
	bench->path = unit_path(bench->dir, "r.wattle");
}

void store_bench_done(struct store_bench *bench)
{
	wtl_store_end(bench->writer, NULL);
	free(bench->path);
	unit_rmtree(bench->dir);
}

int store_bench_try_create(struct store_bench *bench, struct wtl_err *err)
{
	int rc = wtl_store_create(bench->path, &bench->options, &bench->writer, err);

	bench->n_put = 0;
	bench->now_ns = FIRST_NS;
	if (rc < 0)
		return rc;
	/* The first stretch begins here. */
	for (size_t k = 0; k < STORE_SERIES; k++) {
		int64_t series = wtl_store_series(bench->writer, names[k]);

		assert_int_equal(series, (int64_t)k);
		bench->series[k] = (uint32_t)series;
	}
	return 0;
}

void store_bench_create(struct store_bench *bench)
{
	struct wtl_err err = {.text = ""};

	if (store_bench_try_create(bench, &err) < 0)
		fail_msg("%s: %s", err.path, err.text);
}

int store_bench_second(struct store_bench *bench, size_t n, struct wtl_err *err)
{
	for (size_t i = 0; i < n; i++, bench->n_put++)
		for (size_t k = 0; k < STORE_SERIES; k++)
			wtl_store_put(bench->writer, bench->series[k],
				      store_bench_value(k, bench->n_put));
	bench->now_ns += WTL_NS_PER_S;
	return wtl_store_commit(bench->writer, bench->now_ns, STORE_UTC_NS + bench->now_ns, err);
}

void store_bench_seconds(struct store_bench *bench, size_t seconds, size_t n)
{
	for (size_t i = 0; i < seconds; i++) {
		struct wtl_err err = {.text = ""};

		if (store_bench_second(bench, n, &err) < 0)
			fail_msg("%s", err.text);
		wtl_writer_wait(bench->writer);
	}
}

void store_bench_end(struct store_bench *bench)
{
	struct wtl_err err = {.text = ""};
	int rc = wtl_store_end(bench->writer, &err);

	bench->writer = NULL;
	if (rc < 0)
		fail_msg("%s", err.text);
}

struct wtl_store_reader *store_bench_open(const struct store_bench *bench)
{
	struct wtl_store_reader *reader = NULL;
	struct wtl_err err = {.text = ""};

	if (wtl_store_open(bench->path, &reader, &err) < 0)
		fail_msg("%s: %s", err.path, err.text);
	return reader;
}

/* The number of the first value of a period, told by the clock, which no two have the same of. */
static uint64_t place_of(int64_t clock)
{
	return (uint64_t)(clock - 17) / 1000000;
}

static uint64_t verify_period(struct wtl_store_reader *reader, size_t period, uint64_t *ret_end,
			      bool may_be_lost)
{
	const int64_t *values;
	uint64_t first = 0;
	size_t n, n_clock = 0;

	for (size_t k = 0; k < STORE_SERIES; k++) {
		int64_t series = wtl_store_find(reader, names[k]);
		struct wtl_err err = {.text = ""};
		int rc;

		if (series < 0) /* nothing was ever committed */
			return 0;
		rc = wtl_store_values(reader, (uint32_t)series, period, &values, &n, &err);
		if (rc < 0 && !may_be_lost)
			fail_msg("%s", err.text);
		if (rc < 0)
			return UINT64_MAX;
		if (k == 0) {
			n_clock = n;
			first = n ? place_of(values[0]) : *ret_end;
		}
		assert_int_equal(n, n_clock);
		for (size_t i = 0; i < n; i++)
			if (values[i] != store_bench_value(k, first + i))
				fail_msg("series %zu, value %zu is wrong", k, (size_t)first + i);
	}
	assert_true(first >= *ret_end);
	if (!may_be_lost && period > 0)
		assert_int_equal(first, *ret_end);
	*ret_end = first + n_clock;
	return n_clock;
}

int64_t store_bench_still_ns(struct wtl_io *io, enum wtl_clock clock)
{
	(void)io;
	return clock == WTL_CLOCK_REAL ? STORE_UTC_NS : WTL_NS_PER_S;
}

int64_t store_bench_number(const struct store_bench *bench, const char *sql)
{
	struct wtl_file file = {.lock = -1, .folder = -1};
	int64_t number = -1;

	assert_int_equal(sqlite3_open(bench->path, &file.db), SQLITE_OK);
	assert_int_equal(wtl_file_number(&file, sql, &number), SQLITE_OK);
	wtl_file_close(&file, true);
	return number;
}

uint64_t store_bench_verify(struct wtl_store_reader *reader, uint64_t *lost)
{
	uint64_t sum = 0, end = 0;

	for (size_t i = 0; i < wtl_store_periods(reader); i++) {
		uint64_t n = verify_period(reader, i, &end, lost != NULL);

		if (n != UINT64_MAX)
			sum += n;
		else if (lost)
			++*lost;
	}
	return sum;
}

void store_bench_expect(const struct store_bench *bench, uint64_t n)
{
	struct wtl_store_reader *reader = store_bench_open(bench);

	assert_int_equal(store_bench_verify(reader, NULL), n);
	assert_false(wtl_store_is_damaged(reader));
	wtl_store_close(reader);
}

int store_bench_setup(void **state)
{
	struct store_bench *bench = malloc(sizeof(*bench));

	assert_non_null(bench);
	store_bench_init(bench);
	*state = bench;
	return 0;
}

int store_bench_teardown(void **state)
{
	store_bench_done(*state);
	free(*state);
	return 0;
}
