/* SPDX-License-Identifier: MIT */
#include "cli/canvas.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"

#include "unit.h"

static struct wtl_canvas fresh(int rows, int columns)
{
	struct wtl_canvas canvas;

	wtl_canvas_init(&canvas);
	assert_int_equal(wtl_canvas_resize(&canvas, rows, columns), 0);
	return canvas;
}

/* The whole canvas as text is this; then it is freed. */
static void assert_shows(struct wtl_canvas *canvas, const char *expected)
{
	struct wtl_buf buf;

	wtl_buf_init(&buf, 1 << 20);
	assert_int_equal(wtl_canvas_dump(canvas, &buf), 0);
	assert_string_equal(wtl_buf_str(&buf), expected);
	wtl_buf_done(&buf);
	wtl_canvas_done(canvas);
}

static void test_sizes(void **state)
{
	static const int sizes[][4] = {{0, 0, 0, 0},	   {1, 1, 1, 1},
				       {-5, 10, 0, 10},	   {200, 500, 200, 500},
				       {5000, 3, 1000, 3}, {3, 100000, 3, 1000}};
	struct wtl_canvas canvas;

	(void)state;
	wtl_canvas_init(&canvas);
	for (size_t i = 0; i < UNIT_COUNT(sizes); i++) {
		assert_int_equal(wtl_canvas_resize(&canvas, sizes[i][0], sizes[i][1]), 0);
		assert_int_equal(canvas.rows, sizes[i][2]);
		assert_int_equal(canvas.columns, sizes[i][3]);
		wtl_canvas_text(&canvas, 0, 0, 10, WTL_STYLE_PLAIN, "text");
		wtl_canvas_put(&canvas, canvas.rows - 1, canvas.columns - 1, 'x', WTL_STYLE_PLAIN);
		wtl_canvas_clear(&canvas);
	}
	wtl_canvas_done(&canvas);
	assert_null(canvas.cells);
}

static void test_no_memory_for_less(void **state)
{
	struct wtl_canvas canvas = fresh(10, 10);
	struct wtl_cell *cells = canvas.cells;

	(void)state;
	assert_int_equal(wtl_canvas_resize(&canvas, 5, 20), 0);
	assert_ptr_equal(canvas.cells, cells);
	wtl_canvas_done(&canvas);
}

static void test_outside(void **state)
{
	struct wtl_canvas canvas = fresh(2, 3);

	(void)state;
	wtl_canvas_put(&canvas, -1, 0, 'x', WTL_STYLE_PLAIN);
	wtl_canvas_put(&canvas, 2, 0, 'x', WTL_STYLE_PLAIN);
	wtl_canvas_put(&canvas, 0, -1, 'x', WTL_STYLE_PLAIN);
	wtl_canvas_put(&canvas, 0, 3, 'x', WTL_STYLE_PLAIN);
	wtl_canvas_fill(&canvas, 5, -3, 100, 'x', WTL_STYLE_PLAIN);
	wtl_canvas_restyle(&canvas, 5, 0, 100, WTL_STYLE_BAD);
	wtl_canvas_text(&canvas, 0, 2, 50, WTL_STYLE_PLAIN, "abc");
	wtl_canvas_text(&canvas, 1, -1, 3, WTL_STYLE_PLAIN, "xyz");
	assert_null(wtl_canvas_cell(&canvas, 2, 0));
	assert_null(wtl_canvas_cell(&canvas, 0, 3));
	assert_shows(&canvas, "  a\nyz\n");
}

static void test_text(void **state)
{
	struct wtl_canvas canvas = fresh(6, 10);

	(void)state;
	assert_int_equal(wtl_canvas_text(&canvas, 0, 0, 10, WTL_STYLE_PLAIN, "short"), 5);
	assert_int_equal(wtl_canvas_text(&canvas, 1, 0, 10, WTL_STYLE_PLAIN, "0123456789"), 10);
	assert_int_equal(wtl_canvas_text(&canvas, 2, 0, 10, WTL_STYLE_PLAIN, "01234567890"), 10);
	assert_int_equal(wtl_canvas_right(&canvas, 3, 0, 10, WTL_STYLE_PLAIN, "right"), 5);
	assert_int_equal(wtl_canvas_printf(&canvas, 4, 2, 8, WTL_STYLE_PLAIN, "%d W", 42), 4);
	assert_int_equal(wtl_canvas_text(&canvas, 5, 0, 0, WTL_STYLE_PLAIN, "none"), 0);
	assert_int_equal(wtl_canvas_text(&canvas, 5, 0, -3, WTL_STYLE_PLAIN, "none"), 0);
	assert_int_equal(wtl_canvas_text(&canvas, 5, 0, 1, WTL_STYLE_PLAIN, "one"), 1);
	assert_shows(&canvas, "short\n0123456789\n012345678…\n     right\n  42 W\n…\n");
}

/* What would steer a terminal never becomes a cell. */
static uint32_t mark_at(const struct wtl_canvas *canvas, int row, int column)
{
	return wtl_canvas_mark(canvas, wtl_canvas_cell(canvas, row, column));
}

static void test_hostile_text(void **state)
{
	static const char *const texts[] = {
		"\x1b[2J\x1b]0;owned\x07",
		"\r\n\t\b\x7f",
		"\xc2\x9b"
		"31m\xc2\x85", /* C1: CSI and NEL as UTF-8 */
		"\xe2\x80\xae"
		"abc\xe2\x80\xa8\xe2\x81\xa6",	/* direction overrides, line separator */
		"\xff\xfe\x80\xc3",		/* no UTF-8 */
		"\xed\xa0\x80\xf4\x90\x80\x80", /* a surrogate; beyond Unicode */
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(texts); i++) {
		struct wtl_canvas canvas = fresh(1, 40);

		wtl_canvas_text(&canvas, 0, 0, 40, WTL_STYLE_PLAIN, texts[i]);
		for (int column = 0; column < 40; column++) {
			const struct wtl_cell *cell = wtl_canvas_cell(&canvas, 0, column);

			assert_true(cell->point >= 0x20 && cell->point < 0x7f);
			assert_int_equal(wtl_canvas_mark(&canvas, cell), 0);
		}
		wtl_canvas_done(&canvas);
	}
}

static void test_widths(void **state)
{
	static const struct {
		uint32_t point;
		unsigned width;
	} points[] = {
		{'a', 1},     {0xe9, 1},    {0x301, 0},	   {0x200d, 0},	 {0xfe0f, 0},  {0x4e2d, 2},
		{0xac00, 2},  {0x1100, 2},  {0x1160, 0},   {0xff21, 2},	 {0xff71, 1},  {0x1f600, 2},
		{0x1f1e6, 1}, {0x2603, 1},  {0x231a, 2},   {0x20000, 2}, {0x3fffd, 2}, {0x2800, 1},
		{0x2588, 1},  {0xe0100, 0}, {0x10ffff, 1}, {0x64b, 0},	 {0xe33, 1},   {0x1b000, 2},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(points); i++)
		if (wtl_point_width(points[i].point) != points[i].width)
			fail_msg("U+%04X is %u wide", (unsigned)points[i].point,
				 wtl_point_width(points[i].point));
	assert_int_equal(wtl_text_width(""), 0);
	assert_int_equal(wtl_text_width("a测试b"), 6);
	assert_int_equal(wtl_text_width("e\xcc\x81"), 1);
	assert_int_equal(wtl_text_width("\x1b["), 2);
}

static void test_wide_and_combining(void **state)
{
	struct wtl_canvas canvas = fresh(5, 6);

	(void)state;
	wtl_canvas_text(&canvas, 0, 0, 6, WTL_STYLE_PLAIN, "测试字");
	assert_int_equal(wtl_canvas_cell(&canvas, 0, 0)->width, 2);
	assert_int_equal(wtl_canvas_cell(&canvas, 0, 1)->width, 0);
	/* There is no half of one: not at a cut, … */
	assert_int_equal(wtl_canvas_text(&canvas, 1, 0, 4, WTL_STYLE_PLAIN, "测试字"), 3);
	/* … not when its other half is overwritten, … */
	wtl_canvas_text(&canvas, 2, 0, 6, WTL_STYLE_PLAIN, "测试字");
	wtl_canvas_put(&canvas, 2, 1, 'x', WTL_STYLE_PLAIN);
	wtl_canvas_put(&canvas, 2, 2, 'y', WTL_STYLE_PLAIN);
	assert_int_equal(wtl_canvas_cell(&canvas, 2, 3)->width, 1);
	/* … not at the edge. */
	wtl_canvas_put(&canvas, 3, 5, 0x6d4b, WTL_STYLE_PLAIN);
	/* Marks stay on their character; a second one is left out. */
	wtl_canvas_text(&canvas, 4, 0, 6, WTL_STYLE_PLAIN, "e\xcc\x81\xcc\x82测\xcc\x81.");
	assert_int_equal(mark_at(&canvas, 4, 0), 0x301);
	assert_int_equal(mark_at(&canvas, 4, 1), 0x301);
	assert_shows(&canvas, "测试字\n测…\n xy 字\n\ne\xcc\x81测\xcc\x81.\n");
}

static void test_wide_over_wide(void **state)
{
	struct wtl_canvas canvas = fresh(1, 4);

	(void)state;
	wtl_canvas_text(&canvas, 0, 0, 4, WTL_STYLE_PLAIN, "测试");
	wtl_canvas_put(&canvas, 0, 1, 0x5b57, WTL_STYLE_PLAIN); /* over halves of both */
	for (int i = 0; i < 4; i++) {
		const struct wtl_cell *cell = wtl_canvas_cell(&canvas, 0, i);

		assert_int_equal(cell->width, i == 1 ? 2 : i == 2 ? 0 : 1);
	}
	assert_shows(&canvas, " 字\n");
}

static void test_lone_marks(void **state)
{
	struct wtl_canvas canvas = fresh(1, 4);

	(void)state;
	/* Nothing before it, and signs that are never seen. */
	wtl_canvas_text(&canvas, 0, 0, 4, WTL_STYLE_PLAIN,
			"\xcc\x81"
			"a\xe2\x80\x8d\xef\xb8\x8f\xf3\xa0\x84\x80"
			"b");
	assert_int_equal(mark_at(&canvas, 0, 0), 0);
	assert_shows(&canvas, "ab\n");
}

static void test_ascii(void **state)
{
	struct wtl_canvas canvas = fresh(3, 20);

	(void)state;
	canvas.ascii = true;
	wtl_canvas_text(&canvas, 0, 0, 20, WTL_STYLE_PLAIN, "±2 W · 61°C ↓→ ä测");
	wtl_canvas_text(&canvas, 1, 0, 4, WTL_STYLE_PLAIN, "too long");
	wtl_canvas_put(&canvas, 2, 0, 0x2588, WTL_STYLE_PLAIN);
	for (int row = 0; row < 3; row++)
		for (int column = 0; column < 20; column++)
			assert_true(wtl_canvas_cell(&canvas, row, column)->point < 0x7f);
	assert_shows(&canvas, "+-2 W . 61 C v> ??\ntoo.\n?\n");
	/* Two signs for one, which are cut like any. */
	canvas = fresh(3, 20);
	canvas.ascii = true;
	assert_int_equal(wtl_canvas_text(&canvas, 0, 0, 3, WTL_STYLE_PLAIN, "±2"), 3);
	assert_int_equal(wtl_canvas_text(&canvas, 0, 5, 2, WTL_STYLE_PLAIN, "±2"), 1);
	assert_int_equal(wtl_canvas_text(&canvas, 0, 8, 3, WTL_STYLE_PLAIN, "a±b"), 2);
	assert_int_equal(wtl_canvas_right(&canvas, 1, 2, 6, WTL_STYLE_PLAIN, "±10"), 4);
	assert_shows(&canvas, "+-2  .  a.\n    +-10\n\n");
}

static void test_styles(void **state)
{
	struct wtl_canvas canvas = fresh(2, 6);
	struct wtl_buf buf;

	(void)state;
	wtl_canvas_text(&canvas, 0, 0, 6, WTL_STYLE_STRONG, "ab");
	wtl_canvas_text(&canvas, 0, 2, 6, WTL_STYLE_BAD, "测");
	wtl_canvas_restyle(&canvas, 1, 0, 6, WTL_STYLE_SELECTED);
	wtl_buf_init(&buf, 1000);
	assert_int_equal(wtl_canvas_dump_styles(&canvas, &buf), 0);
	assert_string_equal(wtl_buf_str(&buf), "ss!!\nXXXXXX\n");
	wtl_buf_done(&buf);
	wtl_canvas_done(&canvas);
}

static void test_points(void **state)
{
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 100);
	wtl_point_add(&buf, 'a');
	wtl_point_add(&buf, 0xe9);
	wtl_point_add(&buf, 0x20ac);
	wtl_point_add(&buf, 0x1f600);
	assert_string_equal(wtl_buf_str(&buf), "aé€\xf0\x9f\x98\x80");
	wtl_buf_done(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_no_memory_for_less),
		cmocka_unit_test(test_outside),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_hostile_text),
		cmocka_unit_test(test_widths),
		cmocka_unit_test(test_wide_and_combining),
		cmocka_unit_test(test_wide_over_wide),
		cmocka_unit_test(test_lone_marks),
		cmocka_unit_test(test_ascii),
		cmocka_unit_test(test_styles),
		cmocka_unit_test(test_points),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
