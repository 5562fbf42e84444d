/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"

#include "unit.h"

static void test_copy(void **state)
{
	char dst[6] = "xxxxx";

	(void)state;
	assert_ptr_equal(wtl_text_copy(dst, sizeof(dst), "abc"), dst);
	assert_string_equal(dst, "abc");
	assert_string_equal(wtl_text_copy(dst, sizeof(dst), "abcdefgh"), "abcde");
	assert_string_equal(wtl_text_copy(dst, sizeof(dst), NULL), "");
	wtl_text_copy(dst, 1, "abc");
	assert_string_equal(dst, "");
	dst[0] = 'k';
	wtl_text_copy(dst, 0, "abc");
	assert_int_equal(dst[0], 'k');
	/* Never half a character: the euro sign has three bytes. */
	assert_string_equal(wtl_text_copy(dst, sizeof(dst), "abc\xe2\x82\xac"), "abc");
	assert_string_equal(wtl_text_copy(dst, sizeof(dst), "ab\xe2\x82\xac"), "ab\xe2\x82\xac");
}

static void clean_is(const char *src, size_t len, const char *expected)
{
	char dst[64];

	wtl_text_clean(dst, sizeof(dst), src, len);
	assert_string_equal(dst, expected);
	/* In place. */
	memcpy(dst, src, len);
	wtl_text_clean(dst, sizeof(dst), dst, len);
	assert_string_equal(dst, expected);
}

static void test_clean(void **state)
{
	char dst[5];

	(void)state;
	clean_is("", 0, "");
	clean_is(" \t\n ", 4, "");
	clean_is("  Intel(R)  Xeon \n", 18, "Intel(R)  Xeon");
	clean_is("a\nb\tc", 5, "a?b?c");
	clean_is("a\0b", 3, "a?b");
	clean_is("\033[31mred", 8, "?[31mred");
	clean_is("\x7f", 1, "?");
	clean_is("gr\xc3\xbc\xc3\x9f", 6, "gr\xc3\xbc\xc3\x9f");
	clean_is(" \xc3\xbc", 3, "\xc3\xbc");
	/* Not UTF-8: alone, cut off, overlong, a surrogate, too large, C1 controls. */
	clean_is("\x80", 1, "?");
	clean_is("\xc3", 1, "?");
	clean_is("\xc3(", 2, "?(");
	clean_is("\xe2\x82", 2, "??");
	clean_is("\xc0\xaf", 2, "??");
	clean_is("\xe0\x80\xaf", 3, "???");
	clean_is("\xed\xa0\x80", 3, "???");
	clean_is("\xf4\x90\x80\x80", 4, "????");
	clean_is("\xff", 1, "?");
	clean_is("\xc2\x9b", 2, "??");
	/* Text direction and invisible characters hide what is really there. */
	clean_is("\xe2\x80\xae"
		 "exe",
		 6, "???exe");
	clean_is("\xf0\x9f\x94\x8b", 4, "\xf0\x9f\x94\x8b");

	wtl_text_clean(dst, sizeof(dst), "abcdefgh", 8);
	assert_string_equal(dst, "abcd");
	wtl_text_clean(dst, sizeof(dst), "abc\xc3\xbc", 5);
	assert_string_equal(dst, "abc");
	dst[0] = 'k';
	wtl_text_clean(dst, 0, "abc", 3);
	assert_int_equal(dst[0], 'k');
}

/* The character as UTF-8; its length. */
static size_t encode(uint32_t point, char text[4])
{
	size_t n = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;

	for (size_t i = n; i-- > 1; point >>= 6)
		text[i] = (char)(0x80 | (point & 0x3f));
	text[0] = (char)(n == 1 ? point : (0xf00u >> n & 0xff) | point);
	return n;
}

static bool is_kept(uint32_t point)
{
	char text[4], dst[8];
	size_t n = encode(point, text);

	wtl_text_clean(dst, sizeof(dst), text, n);
	if (strlen(dst) == n && memcmp(dst, text, n) == 0)
		return true;
	for (size_t i = 0; i < n; i++)
		assert_int_equal(dst[i], '?');
	return false;
}

/* cairo refuses a whole picture for one of them, which any process can have in its name. */
static void test_noncharacters(void **state)
{
	unsigned n = 0;

	(void)state;
	for (uint32_t point = 0xa0; point <= 0x10ffff; point++) {
		bool is_none = (point >= 0xfdd0 && point <= 0xfdef) || (point & 0xfffe) == 0xfffe;

		n += is_none;
		if (is_none || (point >= 0xd800 && point <= 0xdfff))
			assert_false(is_kept(point));
	}
	assert_int_equal(n, 66);
	assert_true(is_kept(0xfdcf) && is_kept(0xfdf0) && is_kept(0xfffd) && is_kept(0x1fffd) &&
		    is_kept(0x20000));
}

/* What is not seen, or looks like a space, would make two names look like one. */
static void test_hidden_ones(void **state)
{
	static const uint32_t ranges[][2] = {
		{0xa0, 0xa0},	    {0xad, 0xad},	{0x34f, 0x34f},	    {0x115f, 0x1160},
		{0x17b4, 0x17b5},   {0x180b, 0x180f},	{0x2000, 0x200f},   {0x2028, 0x202f},
		{0x205f, 0x206f},   {0x2800, 0x2800},	{0x3000, 0x3000},   {0x3164, 0x3164},
		{0xfe00, 0xfe0f},   {0xffa0, 0xffa0},	{0x1bca0, 0x1bca3}, {0x1d159, 0x1d159},
		{0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		assert_true(is_kept(ranges[i][0] - 1) || ranges[i][0] == 0xa0 ||
			    ranges[i][0] == 0xe0000);
		for (uint32_t point = ranges[i][0]; point <= ranges[i][1]; point++)
			assert_false(is_kept(point));
		assert_true(is_kept(ranges[i][1] + 1));
	}
}

static void test_small_ones(void **state)
{
	(void)state;
	assert_int_equal(wtl_text_trimmed("ab \n", 4), 2);
	assert_int_equal(wtl_text_trimmed(" \n", 2), 0);
	assert_int_equal(wtl_text_trimmed("", 0), 0);
	assert_true(wtl_text_starts("package-0", "package-"));
	assert_true(wtl_text_starts("package-0", ""));
	assert_false(wtl_text_starts("pack", "package"));
}

static void escape_is(const char *text, size_t len, const char *expected)
{
	struct wtl_buf escaped, back;

	wtl_buf_init(&escaped, 4096);
	wtl_buf_init(&back, 4096);
	assert_int_equal(wtl_text_escape(&escaped, text, len), 0);
	assert_string_equal(wtl_buf_str(&escaped), expected);
	assert_int_equal(wtl_text_unescape(&back, wtl_buf_str(&escaped), escaped.len), 0);
	assert_int_equal(back.len, len);
	assert_memory_equal(wtl_buf_str(&back), text, len);
	wtl_buf_done(&escaped);
	wtl_buf_done(&back);
}

static void test_escape(void **state)
{
	char all[256];
	struct wtl_buf buf;

	(void)state;
	escape_is("", 0, "");
	escape_is("plain \"text\"", 12, "plain \"text\"");
	escape_is("a\nb\tc\\d", 7, "a\\nb\\tc\\\\d");
	escape_is("\0\r\033\x7f", 4, "\\x00\\x0d\\x1b\\x7f");
	escape_is("\xc3\xbc\xc3", 3, "\xc3\xbc\\xc3");
	for (unsigned i = 0; i < sizeof(all); i++)
		all[i] = (char)i;
	wtl_buf_init(&buf, 4096);
	wtl_text_escape(&buf, all, sizeof(all));
	for (size_t i = 0; i < buf.len; i++)
		assert_in_range((unsigned char)buf.data[i], 0x20, 0x7e);
	escape_is(all, sizeof(all), wtl_buf_str(&buf));
	wtl_buf_done(&buf);
}

static void test_unescape_rubbish(void **state)
{
	static const char *const texts[] = {"\\", "a\\", "\\q", "\\x", "\\x1", "\\xg0", "\\x0g"};
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 4);
	for (size_t i = 0; i < UNIT_COUNT(texts); i++) {
		wtl_buf_clear(&buf);
		assert_int_equal(wtl_text_unescape(&buf, texts[i], strlen(texts[i])), -EINVAL);
	}
	wtl_buf_clear(&buf);
	assert_int_equal(wtl_text_unescape(&buf, "\\x4Ak", 5), 0);
	assert_string_equal(wtl_buf_str(&buf), "Jk");
	assert_int_equal(wtl_text_unescape(&buf, "abc", 3), -EFBIG);
	wtl_buf_clear(&buf);
	assert_int_equal(wtl_text_escape(&buf, "\001\001", 2), -EFBIG);
	wtl_buf_done(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_noncharacters),
		cmocka_unit_test(test_hidden_ones),
		cmocka_unit_test(test_small_ones),
		cmocka_unit_test(test_escape),
		cmocka_unit_test(test_unescape_rubbish),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
