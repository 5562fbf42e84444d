/* SPDX-License-Identifier: MIT */
/* Rows of figures in a recording: what was put is read again, from any row on. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "energy/units.h"
#include "record/store.h"
#include "serve/push_log.h"
#include "serve/push_rows.h"

enum { ROWS = 400, SERIES = 30, PERIOD_S = 20 };

struct bench {
	char *dir, *path;
	struct wtl_store_writer *writer;
	struct wtl_push_table table;
	struct wtl_push_log log;
	struct wtl_push_row rows[ROWS + 1]; /* by number */
	uint64_t random, joules[SERIES];
	bool is_there[SERIES];
};

static uint64_t next_random(struct bench *bench, uint64_t below)
{
	bench->random =
		bench->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (bench->random >> 33) % below;
}

/* Series that come and go; of counters, and of numbers that fall. */
static void write_text(struct bench *bench, struct wtl_buf *text)
{
	wtl_buf_puts(text, "# HELP x y\n# TYPE x counter\n");
	for (unsigned i = 0; i < SERIES; i++) {
		if (next_random(bench, 12) == 0)
			bench->is_there[i] = !bench->is_there[i];
		bench->joules[i] += next_random(bench, 3) ? 0 : next_random(bench, 5000);
		if (!bench->is_there[i])
			continue;
		if (i % 3 == 0)
			wtl_buf_printf(text, "a_joules_total{n=\"%u\",t=\"a b\"} %llu.%03llu\n", i,
				       (unsigned long long)bench->joules[i] / 8,
				       (unsigned long long)bench->joules[i] % 8 * 125);
		else
			wtl_buf_printf(text, "b{n=\"%u\"} %s%llu.%06u\n", i, i % 3 == 1 ? "" : "-",
				       (unsigned long long)next_random(bench, 100),
				       (unsigned)next_random(bench, 1000000));
	}
}

static void put_row(struct bench *bench, uint64_t number)
{
	struct wtl_push_row *row = &bench->rows[number];
	struct wtl_buf text;

	wtl_buf_init(&text, 1 << 16);
	write_text(bench, &text);
	row->number = number;
	row->t_utc_ms = 1795248000000 + (int64_t)number * 1000;
	assert_int_equal(wtl_push_row_read(row, &bench->table, wtl_buf_str(&text)), 0);
	assert_int_equal(wtl_push_log_put(&bench->log, &bench->table, row), 0);
	wtl_buf_done(&text);
}

static int start(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	const struct wtl_store_options options = {.period_ns = PERIOD_S * WTL_NS_PER_S};
	struct wtl_err *none = NULL;

	assert_non_null(bench);
	bench->random = 7;
	bench->dir = unit_tmpdir();
	bench->path = unit_path(bench->dir, "a.wattle");
	assert_int_equal(wtl_store_create(bench->path, &options, &bench->writer, none), 0);
	assert_int_equal(wtl_push_log_begin(&bench->log, bench->writer), 0);
	for (uint64_t i = 1; i <= ROWS; i++) {
		put_row(bench, i);
		assert_true(wtl_store_commit(bench->writer, (int64_t)i * WTL_NS_PER_S,
					     (int64_t)i * WTL_NS_PER_S, none) >= 0);
		wtl_store_wait(bench->writer);
	}
	assert_int_equal(wtl_store_end(bench->writer, none), 0);
	*state = bench;
	return 0;
}

static int stop(void **state)
{
	struct bench *bench = *state;

	for (size_t i = 0; i <= ROWS; i++)
		wtl_push_row_done(&bench->rows[i]);
	wtl_push_log_done(&bench->log);
	wtl_push_table_done(&bench->table);
	free(bench->path);
	unit_rmtree(bench->dir);
	free(bench);
	return 0;
}

static int by_series(const void *a, const void *b)
{
	const struct wtl_push_sample *left = a, *right = b;

	return (left->series > right->series) - (left->series < right->series);
}

static void check_row(struct wtl_push_row *row, const struct wtl_push_row *wanted)
{
	struct wtl_push_row sorted = {.n = 0};

	assert_int_equal(row->t_utc_ms, wanted->t_utc_ms);
	assert_int_equal(row->n, wanted->n);
	assert_int_equal(wtl_push_row_copy(&sorted, wanted), 0);
	qsort(sorted.samples, sorted.n, sizeof(*sorted.samples), by_series);
	qsort(row->samples, row->n, sizeof(*row->samples), by_series);
	for (size_t i = 0; i < row->n; i++) {
		assert_int_equal(row->samples[i].series, sorted.samples[i].series);
		assert_int_equal(row->samples[i].value, sorted.samples[i].value);
	}
	wtl_push_row_done(&sorted);
}

static void test_read_from_any_row(void **state)
{
	static const uint64_t starts[] = {1, 2, 59, 60, 61, 62, 200, 399, 400, 401};
	struct bench *bench = *state;

	for (size_t i = 0; i < UNIT_COUNT(starts); i++) {
		struct wtl_push_reader *reader;
		struct wtl_push_row row = {.n = 0};
		uint64_t number = starts[i];

		assert_int_equal(wtl_push_reader_open(bench->path, number, &reader, NULL), 0);
		assert_int_equal(wtl_push_reader_table(reader)->n, bench->table.n);
		while (wtl_push_reader_next(reader, &row) > 0) {
			assert_int_equal(row.number, number);
			check_row(&row, &bench->rows[number++]);
		}
		assert_int_equal(number, starts[i] > ROWS ? starts[i] : ROWS + 1);
		wtl_push_row_done(&row);
		wtl_push_reader_close(reader);
	}
}

static void check_value(const char *line, double wanted)
{
	struct wtl_push_table table = {.n = 0};
	struct wtl_push_row row = {.number = 1};

	assert_int_equal(wtl_push_row_read(&row, &table, line), 0);
	assert_int_equal(row.n, 1);
	assert_true(wtl_push_value(&table.series[0], row.samples[0].value) == wanted);
	wtl_push_row_done(&row);
	wtl_push_table_done(&table);
}

static void test_values(void **state)
{
	(void)state;
	check_value("a_joules_total 0\n", 0);
	check_value("a_joules_total{b=\"c d\"} 1234567890.875\n", 1234567890.875);
	check_value("a_watts 0.125\n", 0.125);
	check_value("a_celsius -7\n", -7);
	check_value("a_seconds_total 0.000001\n", 0.000001);
	check_value("a 0.000133333333333\n", 0.000133333333333);
	check_value("a_hertz 3000000000\n", 3e9);
}

/* What is no sample is left out; it is no reason to have nothing. */
static void test_lines_that_are_none(void **state)
{
	struct wtl_push_table table = {.n = 0};
	struct wtl_push_row row = {.number = 1};

	(void)state;
	assert_int_equal(wtl_push_row_read(&row, &table,
					   "\n \n# a 1\na\na x\na 99999999999999999999\nb 1\n"),
			 0);
	assert_int_equal(row.n, 1);
	wtl_push_row_done(&row);
	wtl_push_table_done(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_read_from_any_row, start, stop),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_lines_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
