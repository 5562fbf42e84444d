/* SPDX-License-Identifier: MIT */
/* Text on a terminal: columns, cutting, wrapping, tables. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "base/buf.h"
#include "text/layout.h"

static const struct wtl_output_style plain = {.color = false};
static const struct wtl_output_style ascii = {.ascii = true};
static const struct wtl_output_style color = {.color = true};

static void check_text(const char *text, const struct wtl_output_style *style, const char *expected)
{
	struct wtl_buf buf;

	wtl_buf_init(&buf, 4096);
	assert_int_equal(wtl_layout_text(&buf, text, style), 0);
	assert_string_equal(wtl_buf_str(&buf), expected);
	wtl_buf_done(&buf);
}

static void columns(void **state)
{
	(void)state;
	assert_int_equal(wtl_layout_columns("", 0), 0);
	assert_int_equal(wtl_layout_columns("abc", 3), 3);
	assert_int_equal(wtl_layout_columns("µé", 4), 2);
	assert_int_equal(wtl_layout_columns("e\xcc\x81", 3), 1);
	assert_int_equal(wtl_layout_columns("漢字", 6), 4);
	assert_int_equal(wtl_layout_columns("😀", 4), 2);
	/* Bytes that are not UTF-8 take one each, and so does a character that is cut off. */
	assert_int_equal(wtl_layout_columns("\xff\xfe", 2), 2);
	assert_int_equal(wtl_layout_columns("漢", 2), 2);
}

static void text_from_outside(void **state)
{
	(void)state;
	check_text(NULL, &plain, "");
	check_text("", &plain, "");
	check_text("a µ b", &plain, "a µ b");
	check_text("a\033[31mb", &plain, "a\\x1b[31mb");
	check_text("a\033[31mb", &ascii, "a\\x1b[31mb");
}

/* Nothing beyond ASCII is left: what has a common spelling gets it. */
static void text_in_ascii(void **state)
{
	char all[0x100];

	(void)state;
	check_text("1 ± 2 µJ …", &ascii, "1 +/- 2 uJ ...");
	check_text("a→b – c — d’e “f” 2×3", &ascii, "a->b - c - d'e \"f\" 2x3");
	check_text("é", &ascii, "\\xc3\\xa9");
	check_text("漢", &ascii, "\\xe6\\xbc\\xa2");
	check_text("\xff", &ascii, "\\xff");
	for (int i = 1; i < 0x100; i++)
		all[i - 1] = (char)i;
	all[0xff] = '\0';
	for (size_t k = 0; k < 2; k++) {
		struct wtl_buf buf;

		wtl_buf_init(&buf, 4096);
		assert_int_equal(wtl_layout_text(&buf, all, k ? &plain : &ascii), 0);
		for (const char *at = wtl_buf_str(&buf); *at; at++)
			assert_in_range(*at, ' ', '~');
		wtl_buf_done(&buf);
	}
}

typedef int cutter(struct wtl_buf *buf, size_t start, size_t columns,
		   const struct wtl_output_style *style);

static void check(cutter *cut, const char *text, size_t at_most,
		  const struct wtl_output_style *style, const char *expected)
{
	struct wtl_buf buf;

	wtl_buf_init(&buf, 4096);
	wtl_buf_puts(&buf, "kept: ");
	wtl_buf_puts(&buf, text);
	assert_int_equal(cut(&buf, 6, at_most, style), 0);
	assert_memory_equal(wtl_buf_str(&buf), "kept: ", 6);
	assert_string_equal(wtl_buf_str(&buf) + 6, expected);
	assert_int_equal(buf.len, 6 + strlen(expected));
	assert_true(wtl_layout_columns(buf.data + 6, buf.len - 6) <= at_most);
	wtl_buf_done(&buf);
}

static void check_cut(const char *text, size_t at_most, const struct wtl_output_style *style,
		      const char *expected)
{
	check(wtl_layout_cut, text, at_most, style, expected);
}

static void check_cut_middle(const char *text, size_t at_most, const struct wtl_output_style *style,
			     const char *expected)
{
	check(wtl_layout_cut_middle, text, at_most, style, expected);
}

static void check_cut_begin(const char *text, size_t at_most, const struct wtl_output_style *style,
			    const char *expected)
{
	check(wtl_layout_cut_begin, text, at_most, style, expected);
}

static void cutting(void **state)
{
	(void)state;
	check_cut_middle("abcdefghij", 10, &plain, "abcdefghij");
	check_cut_middle("abcdefghijk", 10, &plain, "abc…fghijk");
	check_cut_middle("abcdefghijk", 10, &ascii, "a...fghijk");
	check_cut_middle("漢字漢字漢字", 10, &plain, "漢…字漢字");
	check_cut("abcdef", 6, &plain, "abcdef");
	check_cut("abcdef", 5, &plain, "abcd…");
	check_cut("abcdef", 5, &ascii, "ab...");
	check_cut("abcdef", 1, &plain, "…");
	check_cut("abcdef", 3, &ascii, "...");
	check_cut("", 1, &plain, "");
	/* A wide character is not cut in two. */
	check_cut("漢字漢", 6, &plain, "漢字漢");
	check_cut("漢字漢", 5, &plain, "漢字…");
	check_cut("漢字漢", 4, &plain, "漢…");
	check_cut("漢字漢", 2, &plain, "…");
}

static void cutting_the_begin(void **state)
{
	(void)state;
	check_cut_begin("abcdef", 6, &plain, "abcdef");
	check_cut_begin("abcdef", 5, &plain, "…cdef");
	check_cut_begin("abcdef", 5, &ascii, "...ef");
	check_cut_begin("abcdef", 1, &plain, "…");
	check_cut_begin("abcdef", 3, &ascii, "...");
	check_cut_begin("", 1, &plain, "");
	check_cut_begin("漢字漢", 6, &plain, "漢字漢");
	check_cut_begin("漢字漢", 5, &plain, "…字漢");
	check_cut_begin("漢字漢", 4, &plain, "…漢");
	check_cut_begin("漢字漢", 2, &plain, "…");
}

static void cut_at_every_width(cutter *cut, bool at_begin)
{
	static const char text[] = "a漢é😀 b\xffµ字 the end";

	for (size_t width = 3; width < 40; width++) {
		for (size_t k = 0; k < 2; k++) {
			const char *mark = k ? "…" : "...", *end;
			struct wtl_buf buf;
			size_t all = wtl_layout_columns(text, strlen(text));

			wtl_buf_init(&buf, 4096);
			wtl_buf_puts(&buf, text);
			cut(&buf, 0, width, k ? &plain : &ascii);
			assert_true(wtl_layout_columns(buf.data, buf.len) <= width);
			end = buf.data + buf.len - 3;
			if (width >= all)
				assert_string_equal(buf.data, text);
			else
				assert_memory_equal(at_begin ? buf.data : end, mark, 3);
			wtl_buf_done(&buf);
		}
	}
}

static void cutting_at_every_width(void **state)
{
	(void)state;
	cut_at_every_width(wtl_layout_cut, false);
	cut_at_every_width(wtl_layout_cut_begin, true);
}

static void tones(void **state)
{
	static const char *const begins[] = {"", "\033[1m", "\033[2m", "\033[33m"};

	(void)state;
	for (int tone = WTL_TONE_PLAIN; tone <= WTL_TONE_WARN; tone++) {
		struct wtl_buf buf;
		char expected[32];

		wtl_buf_init(&buf, 64);
		wtl_layout_tone(&buf, (enum wtl_tone)tone, &color);
		wtl_buf_puts(&buf, "x");
		wtl_layout_tone_end(&buf, (enum wtl_tone)tone, &color);
		snprintf(expected, sizeof(expected), "%sx%s", begins[tone], tone ? "\033[0m" : "");
		assert_string_equal(wtl_buf_str(&buf), expected);
		wtl_buf_clear(&buf);
		wtl_layout_tone(&buf, (enum wtl_tone)tone, &plain);
		wtl_layout_tone_end(&buf, (enum wtl_tone)tone, &plain);
		assert_string_equal(wtl_buf_str(&buf), "");
		wtl_buf_done(&buf);
	}
}

/* No line is wider than the page unless a single word is, and no word is lost. */
static void wrapping(void **state)
{
	static const char text[] =
		"Every word of this paragraph must be there, in order, and none of its lines may be "
		"wider than the page, which is of eighty columns; umlauts such as äöü and signs such "
		"as ± take one column each, 漢字 take two, and all of that is counted.";
	struct wtl_buf buf, joined;
	char *line, *rest;
	size_t n = 0;

	(void)state;
	wtl_buf_init(&buf, 4096);
	wtl_buf_init(&joined, 4096);
	wtl_buf_puts(&buf, text);
	assert_int_equal(wtl_layout_wrap(&buf, 0, 20, 4), 0);
	assert_int_equal(buf.data[buf.len - 1], '\n');
	for (line = strtok_r(buf.data, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest), n++) {
		size_t width = wtl_layout_columns(line, strlen(line));

		assert_true(width + (n == 0 ? 20 : 0) <= WTL_LAYOUT_WIDTH);
		assert_true(width == 0 || line[strlen(line) - 1] != ' ');
		if (n > 0) {
			assert_memory_equal(line, "    ", 4);
			assert_int_not_equal(line[4], ' ');
			wtl_buf_putc(&joined, ' ');
		}
		wtl_buf_puts(&joined, line + (n > 0 ? 4 : 0));
	}
	assert_true(n >= 3);
	assert_string_equal(wtl_buf_str(&joined), text);
	wtl_buf_done(&buf);
	wtl_buf_done(&joined);
}

/* A remedy's lines can be pasted into a shell: they break where it goes on, and in words for people. */
static void commands_of_a_remedy(void **state)
{
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 4096);
	wtl_buf_puts(&buf,
		     "→ sudo chgrp $(id -gn) $(command -v wattle) && sudo chmod 750 $(command -v "
		     "wattle) && sudo setcap cap_perfmon,cap_net_admin+ep $(command -v wattle), "
		     "or run it as root, which needs no more than that");
	wtl_layout_keep_commands(&buf, 0);
	wtl_layout_wrap(&buf, 0, 8, 2);
	assert_string_equal(
		wtl_buf_str(&buf),
		"→ sudo chgrp $(id -gn) $(command -v wattle) &&\n"
		"  sudo chmod 750 $(command -v wattle) &&\n"
		"  sudo setcap cap_perfmon,cap_net_admin+ep $(command -v wattle), or run it as\n"
		"  root, which needs no more than that\n");
	wtl_buf_done(&buf);
}

static void a_word_wider_than_the_page(void **state)
{
	char word[200];
	struct wtl_buf buf;

	(void)state;
	memset(word, 'w', 120);
	word[120] = '\0';
	wtl_buf_init(&buf, 4096);
	wtl_buf_puts(&buf, word);
	wtl_layout_wrap(&buf, 0, 0, 2);
	assert_int_equal(buf.len, 121);
	wtl_buf_clear(&buf);
	strcat(word, " next");
	wtl_buf_puts(&buf, word);
	wtl_layout_wrap(&buf, 0, 0, 2);
	assert_string_equal(buf.data + 120, "\n  next\n");
	wtl_buf_clear(&buf);
	wtl_layout_wrap(&buf, 0, 0, 2);
	assert_string_equal(buf.data, "\n");
	wtl_buf_done(&buf);
}

/* What was kept together stays on one line, and its blanks are blanks again. */
static void kept_together(void **state)
{
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 256);
	wtl_buf_puts(&buf, "before one two ");
	wtl_layout_keep(&buf, buf.len);
	wtl_buf_puts(&buf, "12 345 J");
	wtl_layout_keep(&buf, 15);
	wtl_layout_wrap(&buf, 7, 68, 2);
	assert_string_equal(wtl_buf_str(&buf), "before one two\n  12 345 J\n");
	wtl_buf_done(&buf);
}

static void taking_back(void **state)
{
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 64);
	wtl_layout_truncate(&buf, 0);
	wtl_buf_puts(&buf, "abcdef");
	wtl_layout_truncate(&buf, 6);
	wtl_layout_truncate(&buf, 60);
	assert_string_equal(wtl_buf_str(&buf), "abcdef");
	wtl_layout_truncate(&buf, 2);
	wtl_buf_puts(&buf, "x");
	assert_string_equal(wtl_buf_str(&buf), "abx");
	wtl_buf_done(&buf);
}

static void an_error_stays(void **state)
{
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 4);
	assert_true(wtl_buf_puts(&buf, "too long for it") < 0);
	assert_true(wtl_layout_wrap(&buf, 0, 0, 2) < 0);
	wtl_buf_done(&buf);
}

static void check_grid(struct wtl_grid *grid, const char *expected)
{
	struct wtl_buf buf;

	wtl_buf_init(&buf, 8192);
	assert_int_equal(wtl_grid_render(grid, &buf), 0);
	assert_string_equal(wtl_buf_str(&buf), expected);
	wtl_buf_done(&buf);
}

static void put_row(struct wtl_grid *grid, enum wtl_tone tone, const char *const cells[], size_t n)
{
	wtl_grid_begin(grid, tone);
	for (size_t i = 0; i < n; i++)
		wtl_grid_cell(grid, cells[i]);
}

static void tables(void **state)
{
	static const char *const first[] = {"name", "W", "J"},
				 *const second[] = {"漢字", "12.5", ""}, *const third[] = {"x"};
	struct wtl_grid grid;

	(void)state;
	wtl_grid_init(&grid, "lru", &plain);
	check_grid(&grid, "");

	wtl_grid_init(&grid, "lru", &plain);
	put_row(&grid, WTL_TONE_STRONG, first, 3);
	put_row(&grid, WTL_TONE_PLAIN, second, 3);
	put_row(&grid, WTL_TONE_FAINT, third, 1);
	check_grid(&grid, "name     W J\n漢字  12.5\nx\n");

	/* A tone ends before its line does. */
	wtl_grid_init(&grid, "lr", &color);
	put_row(&grid, WTL_TONE_WARN, first, 2);
	put_row(&grid, WTL_TONE_PLAIN, second, 2);
	check_grid(&grid, "\033[33mname     W\033[0m\n漢字  12.5\n");
}

static void a_column_that_gives_way(void **state)
{
	char wide[200], expected[100];
	const char *const cells[] = {"left", wide, "right"};
	struct wtl_grid grid;

	(void)state;
	memset(wide, 'c', 150);
	wide[150] = '\0';
	wtl_grid_init(&grid, "lcr", &ascii);
	put_row(&grid, WTL_TONE_PLAIN, cells, 3);
	/* 80 columns: "left", "right" and two gaps of two leave 67, of which three say "cut". */
	snprintf(expected, sizeof(expected), "left  %.64s...  right\n", wide);
	check_grid(&grid, expected);
}

static void cells_that_run_on(void **state)
{
	static const char *const cells[] = {"key", "value"};
	struct wtl_grid grid;

	(void)state;
	wtl_grid_init(&grid, "ll", &plain);
	put_row(&grid, WTL_TONE_PLAIN, cells, 2);
	wtl_grid_begin(&grid, WTL_TONE_PLAIN);
	wtl_grid_cell(&grid, "why");
	wtl_grid_run_on(&grid);
	wtl_grid_cell(&grid,
		      "a reason that is told in so many words that it can never stand on one "
		      "line of the page with the key before it");
	check_grid(
		&grid,
		"key  value\n"
		"why  a reason that is told in so many words that it can never stand on one line\n"
		"     of the page with the key before it\n");
}

static void a_table_that_is_too_long(void **state)
{
	struct wtl_grid grid;
	struct wtl_buf buf;
	static char cell[4096];

	(void)state;
	memset(cell, 'x', sizeof(cell) - 1);
	wtl_grid_init(&grid, "l", &plain);
	for (int i = 0; i < 1100; i++)
		put_row(&grid, WTL_TONE_PLAIN, (const char *const[]){cell}, 1);
	wtl_buf_init(&buf, (size_t)1 << 26);
	assert_true(wtl_grid_render(&grid, &buf) < 0);
	wtl_buf_done(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns),
		cmocka_unit_test(text_from_outside),
		cmocka_unit_test(text_in_ascii),
		cmocka_unit_test(cutting),
		cmocka_unit_test(cutting_the_begin),
		cmocka_unit_test(cutting_at_every_width),
		cmocka_unit_test(tones),
		cmocka_unit_test(wrapping),
		cmocka_unit_test(commands_of_a_remedy),
		cmocka_unit_test(a_word_wider_than_the_page),
		cmocka_unit_test(kept_together),
		cmocka_unit_test(taking_back),
		cmocka_unit_test(an_error_stays),
		cmocka_unit_test(tables),
		cmocka_unit_test(a_column_that_gives_way),
		cmocka_unit_test(cells_that_run_on),
		cmocka_unit_test(a_table_that_is_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
