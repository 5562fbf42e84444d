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

/* Periods are so short with a small --max-age. */
enum { ROWS = 400, SERIES = 30, PERIOD_S = 15 };

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
	struct bench *bench = *state;

	for (uint64_t start = 1; start <= ROWS + 1; start++) {
		struct wtl_push_reader *reader;
		struct wtl_push_row row = {.n = 0};
		uint64_t number = start;

		assert_int_equal(wtl_push_reader_open(bench->path, number, &reader, NULL), 0);
		assert_int_equal(wtl_push_reader_table(reader)->n, bench->table.n);
		while (wtl_push_reader_next(reader, &row) > 0) {
			assert_int_equal(row.number, number);
			check_row(&row, &bench->rows[number++]);
		}
		assert_int_equal(number, ROWS + 1);
		wtl_push_row_done(&row);
		wtl_push_reader_close(reader);
	}
}

/* ---- Names that come and go ---- */

enum { LIVES = 3, LATE = 7, CHANGES = 3000 };

/* One that stays, and one for three rows. */
static void put_changing(struct wtl_push_table *table, struct wtl_push_log *log,
			 struct wtl_push_row *row, uint64_t number)
{
	char text[80];

	snprintf(text, sizeof(text), "a %llu\nb_joules{n=\"%llu\"} %llu\n",
		 (unsigned long long)number, (unsigned long long)(number / LIVES),
		 (unsigned long long)number);
	row->number = number;
	row->t_utc_ms = (int64_t)number;
	table->read_from = number > LATE ? number - LATE : 0;
	assert_int_equal(wtl_push_row_read(row, table, text), 0);
	if (log)
		assert_int_equal(wtl_push_log_put(log, table, row), 0);
}

/* Each row has its names, with its value; what ended has no value. */
static void check_changing(const struct wtl_push_table *table, const struct wtl_push_row *row)
{
	size_t n_values = 0;
	char name[40];

	snprintf(name, sizeof(name), "b_joules{n=\"%llu\"}",
		 (unsigned long long)(row->number / LIVES));
	for (size_t i = 0; i < row->n; i++) {
		const struct wtl_push_series *series = &table->series[row->samples[i].series];

		if (row->samples[i].value == WTL_PUSH_ENDED) {
			assert_int_equal(row->number % LIVES, 0);
			continue;
		}
		assert_true(strcmp(series->name, "a") == 0 || strcmp(series->name, name) == 0);
		assert_true(wtl_push_value(series, row->samples[i].value) == (double)row->number);
		n_values++;
	}
	assert_int_equal(n_values, 2);
}

static void check_changing_from(const char *path, uint64_t from, uint64_t last)
{
	struct wtl_push_row row = {.n = 0};
	struct wtl_push_reader *reader;

	assert_int_equal(wtl_push_reader_open(path, from, &reader, NULL), 0);
	for (uint64_t number = from; wtl_push_reader_next(reader, &row) > 0; number++) {
		assert_int_equal(row.number, number);
		check_changing(wtl_push_reader_table(reader), &row);
		from = number + 1;
	}
	assert_int_equal(from, last + 1);
	wtl_push_row_done(&row);
	wtl_push_reader_close(reader);
}

/* A place is another series' once no row that names it is read again: a table is no longer than what there was at once. */
static void test_places_change_hands(void **state)
{
	const struct wtl_store_options options = {.period_ns = PERIOD_S * WTL_NS_PER_S};
	struct wtl_push_table table = {.n = 0};
	struct wtl_push_log log = {.writer = NULL};
	struct wtl_push_row row = {.n = 0};
	struct wtl_store_writer *writer;
	char *dir = unit_tmpdir(), *path = unit_path(dir, "a.wattle");

	(void)state;
	assert_int_equal(wtl_store_create(path, &options, &writer, NULL), 0);
	assert_int_equal(wtl_push_log_begin(&log, writer), 0);
	for (uint64_t number = 1; number <= CHANGES; number++) {
		/* A second without memory, say, is not in the recording. */
		put_changing(&table, number % 100 == 50 ? NULL : &log, &row, number);
		check_changing(&table, &row);
		assert_true(wtl_store_commit(writer, (int64_t)number * WTL_NS_PER_S,
					     (int64_t)number * WTL_NS_PER_S, NULL) >= 0);
		wtl_store_wait(writer);
		if (number % 500 == 0)
			check_changing_from(path, number - LATE, number);
	}
	assert_true(table.n < 10);
	assert_int_equal(wtl_store_end(writer, NULL), 0);
	check_changing_from(path, CHANGES - LATE, CHANGES);
	wtl_push_row_done(&row);
	wtl_push_log_done(&log);
	wtl_push_table_done(&table);
	free(path);
	unit_rmtree(dir);
}

/* Not one that comes back, nor one whose end may be read again. */
static void test_places_that_are_kept(void **state)
{
	static const char *const texts[] = {"a 1\nb 1\n", "a 1\n", "a 1\nb 1\n",
					    "a 1\n",	  "c 1\n", "c 1\nd 1\n"};
	/* Where the last row's series are, read from there on. */
	static const struct {
		uint64_t read_from;
		uint32_t c, d;
	} cases[] = {{0, 2, 3}, {4, 2, 3}, {5, 1, 2}, {6, 1, 0}};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		struct wtl_push_table table = {.n = 0};
		struct wtl_push_row row = {.n = 0};

		for (uint64_t k = 0; k < UNIT_COUNT(texts); k++) {
			row.number = k + 1;
			table.read_from = k >= 4 ? cases[i].read_from : 2;
			assert_int_equal(wtl_push_row_read(&row, &table, texts[k]), 0);
		}
		assert_int_equal(row.n, 2);
		assert_int_equal(row.samples[0].series, cases[i].c);
		assert_int_equal(row.samples[1].series, cases[i].d);
		wtl_push_row_done(&row);
		wtl_push_table_done(&table);
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
		cmocka_unit_test(test_places_change_hands),
		cmocka_unit_test(test_places_that_are_kept),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_lines_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
