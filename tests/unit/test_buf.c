/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

#include "unit.h"

static void test_grows(void **state)
{
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 100000);
	assert_string_equal(wtl_buf_str(&buf), "");
	for (int i = 0; i < 10000; i++)
		assert_int_equal(wtl_buf_printf(&buf, "%d,", i % 10), 0);
	assert_int_equal(buf.len, 20000);
	assert_memory_equal(buf.data, "0,1,2,3,4,5,6,7,8,9,0,1,", 24);
	assert_int_equal(buf.data[buf.len], '\0');
	wtl_buf_done(&buf);
	assert_string_equal(wtl_buf_str(&buf), "");
	wtl_buf_done(&buf);
}

static void test_all_ways(void **state)
{
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 64);
	assert_int_equal(wtl_buf_add(&buf, "a\0b", 3), 0);
	assert_int_equal(wtl_buf_add(&buf, NULL, 0), 0);
	assert_int_equal(wtl_buf_puts(&buf, "cd"), 0);
	assert_int_equal(wtl_buf_putc(&buf, 'e'), 0);
	assert_int_equal(wtl_buf_printf(&buf, "%s", ""), 0);
	assert_int_equal(buf.len, 6);
	assert_memory_equal(buf.data, "a\0bcde", 7);
	wtl_buf_done(&buf);
}

static void test_maximum_sticks(void **state)
{
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 4);
	assert_int_equal(wtl_buf_puts(&buf, "abcd"), 0);
	assert_int_equal(wtl_buf_putc(&buf, 'e'), -EFBIG);
	assert_int_equal(wtl_buf_puts(&buf, ""), -EFBIG);
	assert_int_equal(wtl_buf_printf(&buf, "x"), -EFBIG);
	assert_int_equal(wtl_buf_reserve(&buf, 0), -EFBIG);
	assert_int_equal(buf.error, -EFBIG);
	assert_string_equal(wtl_buf_str(&buf), "abcd");
	wtl_buf_clear(&buf);
	assert_int_equal(buf.error, 0);
	assert_string_equal(wtl_buf_str(&buf), "");
	assert_int_equal(wtl_buf_puts(&buf, "wxyz"), 0);
	assert_string_equal(wtl_buf_str(&buf), "wxyz");
	wtl_buf_done(&buf);
}

static void test_huge_sizes(void **state)
{
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, SIZE_MAX);
	assert_int_equal(wtl_buf_puts(&buf, "a"), 0);
	/* No addition overflows. */
	assert_int_equal(wtl_buf_reserve(&buf, SIZE_MAX), -EFBIG);
	assert_int_equal(wtl_buf_puts(&buf, "b"), -EFBIG);
	assert_string_equal(wtl_buf_str(&buf), "a");
	wtl_buf_done(&buf);
}

static void test_zeroed(void **state)
{
	struct wtl_buf buf;

	(void)state;
	memset(&buf, 0, sizeof(buf));
	assert_string_equal(wtl_buf_str(&buf), "");
	wtl_buf_clear(&buf);
	assert_int_equal(wtl_buf_putc(&buf, 'a'), -EFBIG);
	wtl_buf_done(&buf);
	wtl_buf_done(NULL);
}

static void test_clear_keeps_memory(void **state)
{
	struct wtl_buf buf;
	const char *data;

	(void)state;
	wtl_buf_init(&buf, 1000);
	wtl_buf_printf(&buf, "%0500d", 1);
	data = buf.data;
	wtl_buf_clear(&buf);
	wtl_buf_printf(&buf, "%0500d", 2);
	assert_ptr_equal(buf.data, data);
	wtl_buf_done(&buf);
}

struct line {
	unsigned n;
	enum wtl_log_level level;
	char text[600];
};

static void line_keep(void *context, enum wtl_log_level level, const char *text)
{
	struct line *line = context;

	line->n++;
	line->level = level;
	snprintf(line->text, sizeof(line->text), "%s", text);
}

static void test_log(void **state)
{
	struct line line = {0};
	struct wtl_log log = {.line = line_keep, .context = &line};

	(void)state;
	wtl_log_line(NULL, WTL_LOG_INFO, "nowhere");
	wtl_log_line(&(struct wtl_log){0}, WTL_LOG_INFO, "nowhere");
	assert_int_equal(line.n, 0);
	wtl_log_line(&log, WTL_LOG_DEBUG, "%s lost\033[2J\n", "gpu-0");
	assert_int_equal(line.n, 1);
	assert_int_equal(line.level, WTL_LOG_DEBUG);
	assert_string_equal(line.text, "gpu-0 lost?[2J");
	wtl_log_line(&log, WTL_LOG_WARNING, "%01000d", 7);
	assert_int_equal(line.n, 2);
	assert_int_equal(strlen(line.text), 512);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grows),
		cmocka_unit_test(test_all_ways),
		cmocka_unit_test(test_maximum_sticks),
		cmocka_unit_test(test_huge_sizes),
		cmocka_unit_test(test_zeroed),
		cmocka_unit_test(test_clear_keeps_memory),
		cmocka_unit_test(test_log),
	};

	return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
