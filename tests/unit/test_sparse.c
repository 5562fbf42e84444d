/* SPDX-License-Identifier: MIT */
#include "base/sparse.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"

#include "unit.h"

static void put_is(const void *bytes, size_t len, const char *expected)
{
	unsigned char back[64];
	struct wtl_buf buf;

	wtl_buf_init(&buf, 1000);
	assert_int_equal(wtl_sparse_put(&buf, bytes, len), 0);
	assert_string_equal(wtl_buf_str(&buf), expected);
	memset(back, 0xa5, sizeof(back));
	assert_int_equal(wtl_sparse_parse(wtl_buf_str(&buf), buf.len, back, len), len);
	assert_memory_equal(back, bytes, len);
	assert_int_equal(back[len], 0xa5);
	wtl_buf_done(&buf);
}

static void test_there_and_back(void **state)
{
	(void)state;
	put_is("", 0, "");
	put_is("\x54", 1, "54");
	put_is("\0", 1, "00");
	put_is("\x54\0\0\x1f", 4, "5400001f");
	put_is("\x54\0\0\0\x1f\xff", 6, "54(3)1fff");
	put_is("\0\0\0\0\x01", 5, "(4)01");
	put_is("\x01\0\0\0\0\0\0\0\0\0\0\0", 12, "01(11)");
	put_is("\0\0\0\0\0\0\0", 7, "(7)");
}

static void test_parse(void **state)
{
	unsigned char bytes[4];

	(void)state;
	/* As a person may write it. */
	assert_int_equal(wtl_sparse_parse("Ab(1)C0", 7, bytes, 4), 3);
	assert_memory_equal(bytes, "\xab\0\xc0", 3);
	assert_int_equal(wtl_sparse_parse("(0)ff(2)", 8, bytes, 4), 3);
	assert_int_equal(wtl_sparse_parse("(4)", 3, bytes, 4), 4);
	assert_int_equal(wtl_sparse_parse("", 0, bytes, 0), 0);
	assert_int_equal(wtl_sparse_parse("(5)", 3, bytes, 4), -EMSGSIZE);
	assert_int_equal(wtl_sparse_parse("(18446744073709551615)", 22, bytes, 4), -EMSGSIZE);
	assert_int_equal(wtl_sparse_parse("0102030405", 10, bytes, 4), -EMSGSIZE);
	/* The text need not end with a NUL. */
	assert_int_equal(wtl_sparse_parse("0102", 3, bytes, 4), -EINVAL);
}

static void test_rubbish(void **state)
{
	static const char *const texts[] = {
		"0",
		"0g",
		"g0",
		" 00",
		"0 0",
		"(",
		"(3",
		"()",
		"(x)",
		"(-1)",
		"00)",
		"(3))",
		"(99999999999999999999)",
		"0x00",
		"((3))",
	};
	unsigned char bytes[8];

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(texts); i++)
		if (wtl_sparse_parse(texts[i], strlen(texts[i]), bytes, 8) != -EINVAL)
			fail_msg("\"%s\" is taken", texts[i]);
}

static void test_full_buffer(void **state)
{
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 4);
	assert_int_equal(wtl_sparse_put(&buf, "\1\2\3", 3), -EFBIG);
	wtl_buf_done(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_rubbish),
		cmocka_unit_test(test_full_buffer),
	};

	return cmocka_run_group_tests_name("sparse", tests, NULL, NULL);
}
