/* SPDX-License-Identifier: MIT */
/* What each format makes of a row of any values. */
#include "document/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "recording_bench.h"
#include "unit.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct wtl_doc_table table_of_tests = {"tests", "a,b,c,d,e"};

static void put_row(const struct wtl_writer *writer, struct wtl_buf *buf, const struct wtl_doc *doc)
{
	const struct wtl_doc_table three = {"tests", "a,b,c"};
	const struct wtl_doc_row row = {.scopes = {doc->root}};

	assert_int_equal(doc->error, 0);
	writer->row(buf, &three, &row, true);
	assert_int_equal(buf->error, 0);
}

static void assert_cell(const char *value, const char *wanted)
{
	struct wtl_buf buf, line;
	struct wtl_doc doc;

	wtl_doc_init(&doc);
	wtl_doc_text(doc.root, "a", value);
	wtl_doc_text(doc.root, "c", value);
	wtl_buf_init(&buf, 1 << 16);
	put_row(&wtl_writer_csv, &buf, &doc);
	wtl_buf_init(&line, 1 << 16);
	wtl_buf_printf(&line, "%s,,%s\n", wanted, wanted);
	assert_string_equal(wtl_buf_str(&buf), wtl_buf_str(&line));
	wtl_buf_done(&line);
	wtl_buf_done(&buf);
	wtl_doc_done(&doc);
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
		/* Only at the start is it one. */
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
		struct wtl_doc doc;
		struct table *table;
		const char *cell;

		for (size_t i = 0; i < (size_t)(round % 17); i++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
			value[i] = odd[(seed >> 33) % (sizeof(odd) - 1)];
		}
		wtl_buf_init(&buf, 4096);
		wtl_buf_init(&back, 4096);
		wtl_doc_init(&doc);
		wtl_doc_text(doc.root, "a", "before");
		wtl_doc_text(doc.root, "b", value);
		wtl_doc_text(doc.root, "c", value);
		put_row(&wtl_writer_csv, &buf, &doc);
		wtl_doc_done(&doc);
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

/* Numbers keep all their digits; lists are words. */
static void test_values(void **state)
{
	static const struct wtl_doc_table table = {"values",
						   "large,minus,zero,utc,words,null,flag,cut"};
	struct wtl_doc_row row = {.next = NULL};
	struct wtl_node *words;
	struct wtl_doc doc;
	struct wtl_buf buf;

	(void)state;
	wtl_doc_init(&doc);
	row.scopes[0] = doc.root;
	wtl_doc_micro(doc.root, "large", UINT64_MAX);
	wtl_doc_integer(doc.root, "minus", INT64_MIN);
	wtl_doc_signed(doc.root, "zero", true, 0, 6);
	wtl_doc_utc(doc.root, "utc", INT64_C(1795269600123456789));
	words = wtl_doc_list(doc.root, "words");
	wtl_doc_text(words, NULL, "sh");
	wtl_doc_text(words, NULL, "a b");
	wtl_doc_null(doc.root, "null");
	wtl_doc_flag(doc.root, "flag", false);
	wtl_doc_count(doc.root, "cut", UINT64_MAX);
	/* None of these is known. */
	wtl_doc_seconds(doc.root, "no", -1);
	wtl_doc_known(doc.root, "no", "");
	wtl_doc_text(doc.root, "no", NULL);
	wtl_doc_double(doc.root, "no", 0.0 / 0.0, 3);
	assert_null(wtl_node_get(doc.root, "no"));
	wtl_buf_init(&buf, 1 << 16);
	wtl_writer_csv.row(&buf, &table, &row, true);
	assert_int_equal(buf.error, 0);
	assert_string_equal(wtl_buf_str(&buf), "18446744073709.551615,-9223372036854775808,"
					       "0.000000,2026-11-21T14:00:00.123Z,sh 'a b',,false,"
					       "9223372036854775807\n");
	wtl_buf_clear(&buf);
	wtl_writer_ndjson.row(&buf, &table, &row, true);
	assert_int_equal(buf.error, 0);
	assert_string_equal(wtl_buf_str(&buf),
			    "{\"large\":18446744073709.551615,\"minus\":-9223372036854775808,"
			    "\"zero\":0.000000,\"utc\":\"2026-11-21T14:00:00.123Z\",\"words\":"
			    "[\"sh\",\"a b\"],\"null\":null,\"flag\":false,"
			    "\"cut\":9223372036854775807}\n");
	wtl_buf_done(&buf);
	wtl_doc_done(&doc);
}

/* What does not fit is an error of the whole table, not a cell that is cut. */
static void test_too_long(void **state)
{
	enum { LARGE = 1 << 23 };
	char *large = malloc(LARGE + 2);
	struct wtl_doc_row row = {.next = NULL};
	struct wtl_doc doc;
	struct wtl_buf buf;

	(void)state;
	assert_non_null(large);
	memset(large, 'x', LARGE + 1);
	large[LARGE + 1] = '\0';
	wtl_doc_init(&doc);
	wtl_doc_text(doc.root, "a", large);
	row.scopes[0] = doc.root;
	wtl_buf_init(&buf, LARGE * 2);
	wtl_writer_csv.row(&buf, &table_of_tests, &row, true);
	assert_int_equal(buf.error, -EFBIG);
	wtl_buf_done(&buf);
	wtl_buf_init(&buf, 100);
	wtl_writer_json.row(&buf, &table_of_tests, &row, true);
	assert_int_equal(buf.error, -EFBIG);
	wtl_buf_done(&buf);
	wtl_doc_done(&doc);
	free(large);
}

/* ---- Tables row by row ---- */

static void assert_rows(const struct wtl_writer *writer, const char *wanted)
{
	struct wtl_doc_row row = {.next = NULL};
	struct wtl_doc doc;
	struct wtl_buf buf;

	wtl_buf_init(&buf, 1 << 16);
	wtl_doc_init(&doc);
	if (writer->begin)
		writer->begin(&buf, &table_of_tests);
	wtl_doc_utc(doc.root, "a", INT64_C(1795269600123456789));
	wtl_doc_text(doc.root, "b", "=1+\"x\", \xc3\xa9 \xf0\x9f\x90\xa7\n\x1b\\ \xff\x7f");
	wtl_doc_micro(doc.root, "c", 1234567);
	wtl_doc_integer(doc.root, "d", -5);
	wtl_doc_flag(doc.root, "e", true);
	row.scopes[0] = doc.root;
	writer->row(&buf, &table_of_tests, &row, true);
	wtl_doc_clear(&doc);
	/* The order of the columns counts, and only they do. */
	wtl_doc_count(doc.root, "d", 0);
	wtl_doc_text(doc.root, "other", "x");
	wtl_doc_count(doc.root, "a", 1);
	row.scopes[0] = doc.root;
	writer->row(&buf, &table_of_tests, &row, false);
	if (writer->end)
		writer->end(&buf, false);
	assert_int_equal(buf.error, 0);
	assert_string_equal(wtl_buf_str(&buf), wanted);
	wtl_doc_done(&doc);
	wtl_buf_done(&buf);
}

#define ROW                                                                      \
	"{\"a\":\"2026-11-21T14:00:00.123Z\",\"b\":\"=1+\\\"x\\\", \\u00E9 "     \
	"\\uD83D\\uDC27\\n\\u001B\\\\ \\uFFFD\\u007F\",\"c\":1.234567,\"d\":-5," \
	"\"e\":true}"

static void test_tables(void **state)
{
	(void)state;
	assert_rows(&wtl_writer_csv,
		    "a,b,c,d,e\n"
		    "2026-11-21T14:00:00.123Z,\"'=1+\"\"x\"\", \xc3\xa9 \xf0\x9f\x90\xa7"
		    "\\n\\x1b\\\\ \\xff\\x7f\",1.234567,-5,true\n1,,,0,\n");
	assert_rows(&wtl_writer_json,
		    "{\"schema\":\"wattle.export/1\",\"what\":\"tests\",\"rows\":[\n" ROW
		    ",\n{\"a\":1,\"d\":0}\n]}\n");
	assert_rows(&wtl_writer_ndjson, ROW "\n{\"a\":1,\"d\":0}\n");
}

/* Columns take their cells from the row's objects, by number. */
static void test_scopes(void **state)
{
	static const struct wtl_doc_table table = {"tests", "0:a 1:a,b 0:b 2:c"};
	struct wtl_doc_row row = {.next = NULL};
	struct wtl_node *other;
	struct wtl_doc doc;
	struct wtl_buf buf;

	(void)state;
	wtl_doc_init(&doc);
	wtl_buf_init(&buf, 1 << 16);
	other = wtl_doc_aside(&doc);
	wtl_doc_count(doc.root, "a", 1);
	wtl_doc_count(doc.root, "ab", 5);
	wtl_doc_count(other, "b", 2);
	wtl_doc_copy(other, "a", wtl_node_get(doc.root, "ab"));
	row.scopes[0] = doc.root;
	row.scopes[1] = other;
	wtl_writer_csv.begin(&buf, &table);
	wtl_writer_csv.row(&buf, &table, &row, true);
	assert_string_equal(wtl_buf_str(&buf), "a,a,b,b,c\n1,5,2,,\n");
	wtl_buf_done(&buf);
	wtl_doc_done(&doc);
}

static void test_no_rows(void **state)
{
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 1 << 16);
	wtl_writer_json.begin(&buf, &table_of_tests);
	wtl_writer_json.end(&buf, true);
	assert_string_equal(wtl_buf_str(&buf),
			    "{\"schema\":\"wattle.export/1\",\"what\":\"tests\",\"rows\":[]}\n");
	wtl_buf_done(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_formulas),
		cmocka_unit_test(test_control_characters),
		cmocka_unit_test(test_any_bytes_come_back),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_scopes),
		cmocka_unit_test(test_no_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
