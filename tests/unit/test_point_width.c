/* SPDX-License-Identifier: MIT */
/* Columns of characters: examples, the C library's opinion where it has one, and what has to hold. */
#include "unit.h"

#include <locale.h>
#include <wchar.h>

#include "base/text.h"

enum { POINTS = 0x110000 };

struct example {
	uint32_t point;
	unsigned width;
};

static void test_examples(void **state)
{
	static const struct example examples[] = {
		{'A', 1},	 {' ', 1},     {0xe9, 1}, /* e acute */
		{0x2ff, 1},				  /* the last one below the table */
		{0x300, 0},				  /* combining grave accent */
		{0x36f, 0},	 {0x370, 1},   {0x41, 1},    {0x5d0, 1}, /* Hebrew alef */
		{0x5b0, 0},						 /* Hebrew point sheva */
		{0xe31, 0},						 /* Thai mai han-akat */
		{0x200b, 0},						 /* zero width space */
		{0x200d, 0},						 /* zero width joiner */
		{0x202e, 0},		      /* right-to-left override */
		{0x2028, 1},	 {0x20ac, 1}, /* euro */
		{0x2192, 1},		      /* arrow */
		{0x2500, 1},		      /* box drawing */
		{0x2588, 1},		      /* full block */
		{0x28ff, 1},		      /* braille */
		{0x1100, 2},		      /* Hangul initial consonant */
		{0x1160, 0},		      /* Hangul vowel: joins it */
		{0x11ff, 0},	 {0x231a, 2}, /* watch */
		{0x3000, 2},		      /* ideographic space */
		{0x3042, 2},		      /* hiragana a */
		{0x4e2d, 2},	 {0x6e2c, 2},  {0xac00, 2},  {0xd7a3, 2},
		{0xfe0f, 0},  /* variation selector */
		{0xfeff, 0},  /* byte order mark */
		{0xff01, 2},  /* full width ! */
		{0xff61, 1},  /* half width */
		{0x1f600, 2}, /* emoji */
		{0x1f680, 2},	 {0x20000, 2}, {0x3fffd, 2}, {0x3fffe, 1},
		{0xe0001, 0},	 {0xe01ef, 0}, {0xe01f0, 1}, {0x10ffff, 1},
		{UINT32_MAX, 1},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(examples); i++)
		if (wtl_point_width(examples[i].point) != examples[i].width)
			fail_msg("U+%04X is %u columns wide, not %u", examples[i].point,
				 wtl_point_width(examples[i].point), examples[i].width);
}

/* Nothing but 0, 1 and 2; ASCII and Latin 1 are 1. */
static void test_all(void **state)
{
	unsigned n[3] = {0};

	(void)state;
	for (uint32_t point = 0; point < POINTS; point++) {
		unsigned width = wtl_point_width(point);

		assert_true(width <= 2);
		if (point < 0x300)
			assert_int_equal(width, 1);
		n[width]++;
	}
	/* As many as there are: a table that was cut off, or is not in order, has fewer. */
	assert_in_range(n[0], 2000, 4000);
	assert_in_range(n[2], 150000, 230000);
}

/* Both ends of each stretch of one width: what lies beside it is another one. A binary search that loses an
 * end shows here. */
static void test_stretches(void **state)
{
	unsigned n_stretches[3] = {0}, before = 1;

	(void)state;
	for (uint32_t point = 0x300; point < POINTS; point++) {
		unsigned width = wtl_point_width(point);

		n_stretches[width] += width != before;
		before = width;
	}
	assert_in_range(n_stretches[0], 250, 450);
	assert_in_range(n_stretches[2], 60, 140);
}

/* The scripts that are written without marks are wide all over. */
static void test_blocks(void **state)
{
	static const struct {
		uint32_t first, last;
		unsigned width;
	} blocks[] = {
		{0x20, 0x7e, 1},       /* ASCII */
		{0xa1, 0x2ff, 1},      /* Latin */
		{0x391, 0x3a1, 1},     /* Greek */
		{0x410, 0x44f, 1},     /* Cyrillic */
		{0x2500, 0x259f, 1},   /* boxes and blocks: what curves are drawn with */
		{0x2800, 0x28ff, 1},   /* braille: the same */
		{0x3041, 0x3096, 2},   /* hiragana */
		{0x30a1, 0x30fa, 2},   /* katakana */
		{0x4e00, 0x9fff, 2},   /* Chinese characters */
		{0xac00, 0xd7a3, 2},   /* Hangul */
		{0xff01, 0xff60, 2},   /* full width */
		{0x300, 0x36f, 0},     /* accents */
		{0x20d0, 0x20f0, 0},   /* more of them */
		{0xfe00, 0xfe0f, 0},   /* variation selectors */
		{0x1f300, 0x1f320, 2}, /* pictures */
		{0x20000, 0x2a6df, 2}, /* rare Chinese characters */
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(blocks); i++)
		for (uint32_t point = blocks[i].first; point <= blocks[i].last; point++)
			assert_int_equal(wtl_point_width(point), blocks[i].width);
}

/* The C library's table is of another version of Unicode, and differs for marks: most have to be the same. */
static void test_as_the_c_library(void **state)
{
	unsigned n_same = 0, n_known = 0;

	(void)state;
	if (!setlocale(LC_CTYPE, "C.UTF-8")) {
		print_message("the C library has no C.UTF-8\n");
		skip();
	}
	for (uint32_t point = 0x20; point < POINTS; point++) {
		int width = wcwidth((wchar_t)point);

		if (width < 0)
			continue;
		n_known++;
		n_same += (unsigned)width == wtl_point_width(point);
	}
	setlocale(LC_CTYPE, "C");
	assert_true(n_known > 100000);
	assert_true(n_same > n_known - n_known / 200);
}

/* Whatever the locale is. */
static void test_never_asks_the_locale(void **state)
{
	static const char *const locales[] = {"C", "POSIX", "C.UTF-8"};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(locales); i++) {
		if (!setlocale(LC_ALL, locales[i]))
			continue;
		assert_int_equal(wtl_point_width(0x6e2c), 2);
		assert_int_equal(wtl_point_width(0x301), 0);
		assert_int_equal(wtl_point_width(0xe9), 1);
	}
	setlocale(LC_ALL, "C");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_stretches),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_as_the_c_library),
		cmocka_unit_test(test_never_asks_the_locale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
