/* SPDX-License-Identifier: MIT */
/* Cells of CSV tables: what is hostile stays one harmless cell. */
#include "document/cells.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/text.h"
#include "recording_bench.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void assert_cell(const char *value, const char *wanted)
{
	struct wtl_buf buf;
	char *line;

	wtl_buf_init(&buf, 1 << 16);
	wtl_cell_text(&buf, value);
	assert_int_equal(buf.error, 0);
	line = buf.data + buf.len - 1;
	assert_int_equal(*line, ',');
	*line = '\0';
	assert_string_equal(buf.data, wanted);
	wtl_buf_clear(&buf);
	/* The last one of a row differs in its end alone. */
	wtl_cell_last(&buf, value);
	assert_int_equal(strncmp(wtl_buf_str(&buf), wanted, strlen(wanted)), 0);
	assert_string_equal(wtl_buf_str(&buf) + strlen(wanted), "\n");
	wtl_buf_done(&buf);
}

static void test_texts(void **state)
{
	static const struct {
		const char *value, *wanted;
	} cells[] = {
		{NULL, ""},
		{"", ""},
		{"plain", "plain"},
		{"two words", "two words"},
		{"a,b", "\"a,b\""},
		{"say \"hi\"", "\"say \"\"hi\"\"\""},
		{"\"", "\"\"\"\""},
		{" before", "\" before\""},
		{"after ", "\"after \""},
		{" ", "\" \""},
		{"µJ ± 5", "µJ ± 5"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cells); i++)
		assert_cell(cells[i].value, cells[i].wanted);
}

/* What a spreadsheet would run is text. */
static void test_formulas(void **state)
{
	static const struct {
		const char *value, *wanted;
	} cells[] = {
		{"=1+1", "\"'=1+1\""},
		{"+1", "\"'+1\""},
		{"-1", "\"'-1\""},
		{"--flag", "\"'--flag\""},
		{"@SUM(A1)", "\"'@SUM(A1)\""},
		{"=", "\"'=\""},
		{"=HYPERLINK(\"http://x\",\"y\")", "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\""},
		{"=cmd|' /C calc'!A0", "\"'=cmd|' /C calc'!A0\""},
		/* Only at the begin is it one. */
		{"a=1", "a=1"},
		{"1-2", "1-2"},
		{"me@here", "me@here"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cells); i++)
		assert_cell(cells[i].value, cells[i].wanted);
}

/* A row is a line, and a terminal is safe. */
static void test_control_characters(void **state)
{
	static const struct {
		const char *value, *wanted;
	} cells[] = {
		{"a\nb", "a\\nb"},
		{"a\tb", "a\\tb"},
		{"a\\b", "a\\\\b"},
		{"\x1b[31mred", "\\x1b[31mred"},
		{"\r\n=1", "\\x0d\\n=1"},
		{"\t=1", "\\t=1"},
		{"bad \xff utf-8", "bad \\xff utf-8"},
		{"\x7f", "\\x7f"},
		{"a,\nb", "\"a,\\nb\""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cells); i++)
		assert_cell(cells[i].value, cells[i].wanted);
}

/* Any bytes: one cell, which a reader of CSV and of escapes takes back to what it was. */
static void test_any_bytes_come_back(void **state)
{
	static const char odd[] = "=+-@\",'\n\r\t\\ ;\x1b\xff\xc3\xa4"
				  "ab0";
	uint64_t seed = 1;

	(void)state;
	for (unsigned round = 0; round < 5000; round++) {
		char value[17] = "";
		struct wtl_buf buf, back;
		struct table *table;
		const char *cell;

		for (size_t i = 0; i < (size_t)(round % 17); i++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
			value[i] = odd[(seed >> 33) % (sizeof(odd) - 1)];
		}
		wtl_buf_init(&buf, 4096);
		wtl_buf_init(&back, 4096);
		wtl_cell_text(&buf, "before");
		wtl_cell_text(&buf, value);
		wtl_cell_last(&buf, value);
		assert_int_equal(buf.error, 0);
		table = table_new(wtl_buf_str(&buf));
		assert_int_equal(table->n_rows, 1);
		assert_int_equal(table->rows[0].n_cells, 3);
		assert_string_equal(table->rows[0].cells[0], "before");
		assert_string_equal(table->rows[0].cells[1], table->rows[0].cells[2]);
		cell = table->rows[0].cells[1];
		assert_true(!*cell || !strchr("=+-@", *cell));
		if (value[0] && strchr("=+-@", value[0]))
			assert_int_equal(*cell++, '\'');
		assert_int_equal(wtl_text_unescape(&back, cell, strlen(cell)), 0);
		assert_string_equal(wtl_buf_str(&back), value);
		table_free(table);
		wtl_buf_done(&buf);
		wtl_buf_done(&back);
	}
}

static void test_numbers(void **state)
{
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 4096);
	wtl_cell_fixed(&buf, true, 1234567, 6);
	wtl_cell_fixed(&buf, true, 0, 6);
	wtl_cell_fixed(&buf, false, 1234567, 6);
	wtl_cell_fixed(&buf, true, UINT64_MAX, 6);
	wtl_cell_fixed(&buf, true, 42, 0);
	assert_string_equal(wtl_buf_str(&buf), "1.234567,0.000000,,18446744073709.551615,42,");
	wtl_buf_clear(&buf);
	wtl_cell_seconds(&buf, true, 1);
	wtl_cell_seconds(&buf, true, -5);
	wtl_cell_seconds(&buf, false, 7);
	wtl_cell_seconds(&buf, true, INT64_MAX);
	assert_string_equal(wtl_buf_str(&buf), "0.000000001,0.000000000,,9223372036.854775807,");
	wtl_buf_clear(&buf);
	wtl_cell_empty(&buf, 0);
	assert_int_equal(buf.len, 0);
	wtl_cell_empty(&buf, 3);
	assert_string_equal(wtl_buf_str(&buf), ",,,");
	wtl_buf_done(&buf);
}

static void test_words(void **state)
{
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 4096);
	wtl_cell_utc(&buf, BENCH_BEGIN_UTC_NS + 123456789);
	wtl_cell_method(&buf, WATTLE_METHOD_NONE);
	wtl_cell_method(&buf, WATTLE_METHOD_COUNTER);
	assert_string_equal(wtl_buf_str(&buf), "2026-11-21T14:00:00.123Z,,counter,");
	wtl_buf_clear(&buf);
	wtl_cell_flags(&buf, 0);
	wtl_cell_flags(&buf, WATTLE_ENERGY_DISAGREES);
	wtl_cell_flags(&buf, WATTLE_ENERGY_SHORT | WATTLE_ENERGY_RESET);
	assert_string_equal(wtl_buf_str(&buf), ",disagrees,short reset,");
	wtl_buf_done(&buf);
}

/* What does not fit is an error of the whole table, not a cell that is cut. */
static void test_too_long(void **state)
{
	struct wtl_buf buf;
	char *large = malloc(WTL_CELL_MAX + 2);

	(void)state;
	assert_non_null(large);
	memset(large, 'x', WTL_CELL_MAX + 1);
	large[WTL_CELL_MAX + 1] = '\0';
	wtl_buf_init(&buf, 1 << 26);
	wtl_cell_text(&buf, large);
	assert_int_equal(buf.error, -EFBIG);
	wtl_buf_done(&buf);
	wtl_buf_init(&buf, 8);
	wtl_cell_text(&buf, "0123456789");
	assert_int_equal(buf.error, -EFBIG);
	wtl_buf_done(&buf);
	free(large);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_formulas),
		cmocka_unit_test(test_control_characters),
		cmocka_unit_test(test_any_bytes_come_back),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
