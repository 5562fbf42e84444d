/* SPDX-License-Identifier: MIT */
#include "document/rows.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"

static const char *const columns[] = {"t_utc", "name", "energy_j", "count", "is_open"};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void put(enum wtl_rows_format format, struct wtl_buf *buf)
{
	struct wtl_rows rows;

	wtl_rows_begin(&rows, format, "tests", columns, COLUMNS, buf);
	wtl_row_begin(&rows);
	wtl_row_utc(&rows, INT64_C(1795269600123456789));
	wtl_row_text(&rows, "=1+\"x\", \xc3\xa9 \xf0\x9f\x90\xa7\n\x1b\\ \xff");
	wtl_row_fixed(&rows, 1234567, 6);
	wtl_row_integer(&rows, -5);
	wtl_row_bool(&rows, true);
	wtl_row_end(&rows);
	wtl_row_begin(&rows);
	wtl_row_nothing(&rows);
	wtl_row_text(&rows, NULL);
	wtl_row_text(&rows, "");
	wtl_row_fixed(&rows, 0, 0);
	wtl_row_nothing(&rows);
	wtl_row_end(&rows);
	wtl_rows_end(&rows);
}

static void assert_rows(enum wtl_rows_format format, const char *wanted)
{
	struct wtl_buf buf;

	wtl_buf_init(&buf, 1 << 16);
	put(format, &buf);
	assert_int_equal(buf.error, 0);
	assert_string_equal(wtl_buf_str(&buf), wanted);
	wtl_buf_done(&buf);
}

static void test_csv(void **state)
{
	(void)state;
	assert_rows(
		WTL_ROWS_CSV,
		"t_utc,name,energy_j,count,is_open\n"
		"2026-11-21T14:00:00.123Z,\"'=1+\"\"x\"\", \xc3\xa9 \xf0\x9f\x90\xa7\\n\\x1b\\\\ "
		"\\xff\",1.234567,-5,true\n"
		",,,0,\n");
}

#define ROW                                                                              \
	"{\"t_utc\":\"2026-11-21T14:00:00.123Z\",\"name\":\"=1+\\\"x\\\", \\u00e9 "      \
	"\\ud83d\\udc27\\u000a\\u001b\\\\ \\ufffd\",\"energy_j\":1.234567,\"count\":-5," \
	"\"is_open\":true}"

static void test_json(void **state)
{
	(void)state;
	assert_rows(WTL_ROWS_JSON,
		    "{\"schema\":\"wattle.export/1\",\"what\":\"tests\",\"rows\":[\n" ROW
		    ",\n{\"count\":0}\n]}\n");
}

static void test_ndjson(void **state)
{
	(void)state;
	assert_rows(WTL_ROWS_NDJSON, ROW "\n{\"count\":0}\n");
}

static void assert_empty(enum wtl_rows_format format, const char *wanted)
{
	struct wtl_rows rows;
	struct wtl_buf buf;

	wtl_buf_init(&buf, 1 << 16);
	wtl_rows_begin(&rows, format, "tests", columns, COLUMNS, &buf);
	wtl_rows_end(&rows);
	assert_string_equal(wtl_buf_str(&buf), wanted);
	wtl_buf_done(&buf);
}

static void test_no_rows(void **state)
{
	(void)state;
	assert_empty(WTL_ROWS_CSV, "t_utc,name,energy_j,count,is_open\n");
	assert_empty(WTL_ROWS_JSON,
		     "{\"schema\":\"wattle.export/1\",\"what\":\"tests\",\"rows\":[]}\n");
	assert_empty(WTL_ROWS_NDJSON, "");
}

/* The buffer may be emptied between rows, and its error stays. */
static void test_buffer(void **state)
{
	struct wtl_rows rows;
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 64);
	wtl_rows_begin(&rows, WTL_ROWS_CSV, "tests", columns, COLUMNS, &buf);
	for (int i = 0; i < 100; i++) {
		wtl_buf_clear(&buf);
		wtl_row_begin(&rows);
		for (size_t k = 0; k < COLUMNS; k++)
			wtl_row_fixed(&rows, 7, 0);
		wtl_row_end(&rows);
		assert_string_equal(wtl_buf_str(&buf), "7,7,7,7,7\n");
	}
	wtl_row_begin(&rows);
	for (size_t k = 0; k < COLUMNS; k++)
		wtl_row_fixed(&rows, UINT64_MAX, 6);
	wtl_row_end(&rows);
	assert_int_equal(buf.error, -EFBIG);
	wtl_buf_done(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_csv),    cmocka_unit_test(test_json),
		cmocka_unit_test(test_ndjson), cmocka_unit_test(test_no_rows),
		cmocka_unit_test(test_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
