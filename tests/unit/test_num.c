/* SPDX-License-Identifier: MIT */
#include "base/num.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

static void u64_is(const char *text, int rc, uint64_t value)
{
	uint64_t got = 77;

	if (wtl_num_u64(text, strlen(text), &got) != rc)
		fail_msg("\"%s\" does not give %d", text, rc);
	assert_int_equal(got, rc == 0 ? value : 77);
}

static void test_u64(void **state)
{
	(void)state;
	u64_is("0", 0, 0);
	u64_is("262143328850\n", 0, 262143328850);
	u64_is(" \t7 \r\n", 0, 7);
	u64_is("0000000000000000000000000000000000012", 0, 12);
	u64_is("18446744073709551615", 0, UINT64_MAX);
	u64_is("18446744073709551616", -ERANGE, 0);
	u64_is("99999999999999999999999999", -ERANGE, 0);
	u64_is("99999999999999999999999999x", -EINVAL, 0);
	u64_is("", -EINVAL, 0);
	u64_is(" \n", -EINVAL, 0);
	u64_is("-1", -EINVAL, 0);
	u64_is("+1", -EINVAL, 0);
	u64_is("1 2", -EINVAL, 0);
	u64_is("1.0", -EINVAL, 0);
	u64_is("0x10", -EINVAL, 0);
	u64_is("\xd9\xa1", -EINVAL, 0);
}

static void test_u64_is_bounded(void **state)
{
	uint64_t got = 0;

	(void)state;
	assert_int_equal(wtl_num_u64("123456", 3, &got), 0);
	assert_int_equal(got, 123);
	assert_int_equal(wtl_num_u64("12\0", 3, &got), -EINVAL);
	assert_int_equal(wtl_num_u64(NULL, 0, &got), -EINVAL);
}

static void i64_is(const char *text, int rc, int64_t value)
{
	int64_t got = 77;

	if (wtl_num_i64(text, strlen(text), &got) != rc)
		fail_msg("\"%s\" does not give %d", text, rc);
	assert_true(got == (rc == 0 ? value : 77));
}

static void test_i64(void **state)
{
	(void)state;
	i64_is("0", 0, 0);
	i64_is("-0", 0, 0);
	i64_is("-4096\n", 0, -4096);
	i64_is("9223372036854775807", 0, INT64_MAX);
	i64_is("9223372036854775808", -ERANGE, 0);
	i64_is("-9223372036854775808", 0, INT64_MIN);
	i64_is("-9223372036854775809", -ERANGE, 0);
	i64_is("-18446744073709551616", -ERANGE, 0);
	i64_is("-", -EINVAL, 0);
	i64_is("--1", -EINVAL, 0);
	i64_is("- 1", -EINVAL, 0);
	i64_is("+1", -EINVAL, 0);
	i64_is("", -EINVAL, 0);
}

static void hex_is(const char *text, int rc, uint64_t value)
{
	uint64_t got = 77;

	if (wtl_num_hex(text, strlen(text), &got) != rc)
		fail_msg("\"%s\" does not give %d", text, rc);
	assert_int_equal(got, rc == 0 ? value : 77);
}

static void test_hex(void **state)
{
	(void)state;
	hex_is("0x02\n", 0, 2);
	hex_is("10de", 0, 0x10de);
	hex_is("0XfF", 0, 255);
	hex_is("0", 0, 0);
	hex_is("0x", -EINVAL, 0);
	hex_is("x", -EINVAL, 0);
	hex_is("", -EINVAL, 0);
	hex_is("0xg", -EINVAL, 0);
	hex_is("0x0x1", -EINVAL, 0);
	hex_is("ffffffffffffffff", 0, UINT64_MAX);
	hex_is("00ffffffffffffffff", 0, UINT64_MAX);
	hex_is("10000000000000000", -ERANGE, 0);
	hex_is("10000000000000000z", -EINVAL, 0);
}

static void fixed_is(const char *text, unsigned decimals, int rc, uint64_t value)
{
	uint64_t got = 77;

	if (wtl_num_fixed(text, strlen(text), decimals, &got) != rc)
		fail_msg("\"%s\" with %u decimals does not give %d", text, decimals, rc);
	assert_int_equal(got, rc == 0 ? value : 77);
}

static void test_fixed(void **state)
{
	(void)state;
	fixed_is("56.04", 3, 0, 56040);
	fixed_is("56.04\n", 2, 0, 5604);
	fixed_is("56.04", 1, -EINVAL, 0);
	fixed_is("56.00", 1, 0, 560);
	fixed_is("56.000000000000000000000000000000", 0, 0, 56);
	fixed_is("56", 6, 0, 56000000);
	fixed_is("56.", 0, 0, 56);
	fixed_is(".5", 1, 0, 5);
	fixed_is(".", 1, -EINVAL, 0);
	fixed_is("", 1, -EINVAL, 0);
	fixed_is("-1", 1, -EINVAL, 0);
	fixed_is("1.2.3", 6, -EINVAL, 0);
	fixed_is("1e3", 6, -EINVAL, 0);
	fixed_is("1,5", 6, -EINVAL, 0);
	fixed_is("0.000001", 6, 0, 1);
	fixed_is("18446744073709.551615", 6, 0, UINT64_MAX);
	fixed_is("18446744073709.551616", 6, -ERANGE, 0);
	fixed_is("18446744073709551615", 1, -ERANGE, 0);
	fixed_is("0", 400, 0, 0);
	fixed_is("99999999999999999999.x", 1, -EINVAL, 0);
}

static void double_is(const char *text, int rc, double value)
{
	double got = 77;

	if (wtl_num_double(text, strlen(text), &got) != rc)
		fail_msg("\"%s\" does not give %d", text, rc);
	if (rc == 0 && (got < value || got > value))
		fail_msg("\"%s\" gives %.17g, not %.17g", text, got, value);
	if (rc < 0)
		assert_true(got > 76 && got < 78);
}

static void test_double(void **state)
{
	(void)state;
	double_is("2.3283064365386962890625e-10", 0, 1.0 / 4294967296.0);
	double_is("2.3283064365386963e-10\n", 0, 1.0 / 4294967296.0);
	double_is("0", 0, 0.0);
	double_is("-0.5", 0, -0.5);
	double_is("+1.", 0, 1.0);
	double_is(".25", 0, 0.25);
	double_is("1e3", 0, 1000.0);
	double_is("1E-2", 0, 0.01);
	double_is("0.1", 0, 0.1);
	double_is("123456789012345678901234567890", 0, 123456789012345678901234567890.0);
	double_is("1.7976931348623157e308", 0, 1.7976931348623157e308);
	double_is("5e-324", 0, 5e-324);
	double_is("0e999999999999999999999", 0, 0.0);
	double_is("1e309", -ERANGE, 0);
	double_is("-1e99999999999999999999", -ERANGE, 0);
	double_is("1e-400", -ERANGE, 0);
}

static void test_double_rubbish(void **state)
{
	static const char *const texts[] = {"",	   ".",	   "-",	    "e5",   "1e",      "1e+",
					    "inf", "nan",  "0x1p4", "1 2",  "1,5",     "1.2.3",
					    "--1", "1e5x", "1e5.5", "1..2", "INFINITY"};
	char text[300];
	double got;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(texts); i++)
		double_is(texts[i], -EINVAL, 0);
	memset(text, '1', sizeof(text));
	assert_int_equal(wtl_num_double(text, WTL_NUM_DOUBLE_MAX, &got), 0);
	assert_int_equal(wtl_num_double(text, WTL_NUM_DOUBLE_MAX + 1, &got), -EINVAL);
}

/* A locale with another decimal mark changes nothing; where there is none, nothing is shown. */
static void test_double_in_a_locale(void **state)
{
	static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8",
					    "fr_FR.utf8"};
	bool found = false;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(names) && !found; i++)
		found = setlocale(LC_ALL, names[i]) != NULL;
	if (!found)
		skip();
	double_is("1.5", 0, 1.5);
	double_is("1,5", -EINVAL, 0);
	setlocale(LC_ALL, "C");
}

static void test_digits(void **state)
{
	static const struct {
		uint64_t value;
		unsigned decimals;
		const char *text;
	} cases[] = {
		{0, 0, "0"},
		{1234, 0, "1234"},
		{0, 2, "0.00"},
		{7, 3, "0.007"},
		{12345, 2, "123.45"},
		{UINT64_MAX, 0, "18446744073709551615"},
		{UINT64_MAX, 18, "18.446744073709551615"},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		char room[WTL_NUM_DIGITS + 1] = "";

		assert_string_equal(wtl_num_digits(cases[i].value, cases[i].decimals, room),
				    cases[i].text);
	}
}

/* Every double survives being printed with 17 digits and read. */
static void test_double_round_trip(void **state)
{
	uint64_t bits = 0x123456789abcdef;
	unsigned read = 0;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		char text[64];
		double value, got = 0;

		bits = bits * 6364136223846793005u + 1442695040888963407u;
		memcpy(&value, &bits, sizeof(value));
		if (!isnormal(value))
			continue;
		snprintf(text, sizeof(text), "%.17g", value);
		assert_int_equal(wtl_num_double(text, strlen(text), &got), 0);
		assert_memory_equal(&got, &value, sizeof(value));
		read++;
	}
	assert_true(read > 10000);
}

static void bytes_are(const char *text, int rc, uint64_t expected)
{
	uint64_t got = 4711;

	assert_int_equal(wtl_num_bytes(text, strlen(text), &got), rc);
	assert_int_equal(got, rc < 0 ? 4711 : expected);
}

static void test_bytes(void **state)
{
	static const char *const bad[] = {
		"",	"K",   "B",    "KiB",	"1X",	   "1KK",   "1iB",  "1 0K", "-1K", "1.5",
		"1.5B", "1BK", "1KBB", "1KiBi", "1.0005M", "0x10K", "1e3K", "K1",   "1i"};

	(void)state;
	bytes_are("0", 0, 0);
	bytes_are("4711", 0, 4711);
	bytes_are("4711B", 0, 4711);
	bytes_are("256k", 0, 256000);
	bytes_are("256K", 0, 256000);
	bytes_are("256kB", 0, 256000);
	bytes_are("256KB", 0, 256000);
	bytes_are("256KiB", 0, 262144);
	bytes_are("256kib", 0, 262144);
	bytes_are("256Ki", 0, 262144);
	bytes_are("500M", 0, 500000000);
	bytes_are("500m", 0, 500000000);
	bytes_are("1MiB", 0, 1048576);
	bytes_are(".5K", 0, 500);
	bytes_are("1.5G", 0, 1500000000);
	bytes_are("1.5GiB", 0, 1610612736);
	bytes_are("0.001KiB", 0, 1);
	bytes_are("2T", 0, 2000000000000);
	bytes_are("2tib", 0, 2199023255552);
	bytes_are(" 20 G\n", 0, 20000000000);
	bytes_are("16777215TiB", 0, UINT64_C(16777215) << 40);
	bytes_are("16777215.999TiB", 0, (UINT64_C(16777215) << 40) + UINT64_C(1098412116148));
	bytes_are("16777216TiB", -ERANGE, 0);
	bytes_are("18446744073709551616", -ERANGE, 0);
	for (size_t i = 0; i < UNIT_COUNT(bad); i++)
		bytes_are(bad[i], -EINVAL, 0);
}

static void list_is(const char *text, int rc, const int expected[])
{
	int got[8];

	assert_int_equal(wtl_num_cpu_list(text, strlen(text), got, UNIT_COUNT(got)), rc);
	for (int i = 0; i < rc; i++)
		assert_int_equal(got[i], expected[i]);
}

static void test_cpu_list(void **state)
{
	(void)state;
	list_is("0\n", 1, (int[]){0});
	list_is("0,32-35\n", 5, (int[]){0, 32, 33, 34, 35});
	list_is("0-7", 8, (int[]){0, 1, 2, 3, 4, 5, 6, 7});
	list_is("5,3", 2, (int[]){5, 3});
	list_is("\n", 0, NULL);
	list_is("0-8", -ERANGE, NULL);
	list_is("0,1,2,3,4,5,6,7,8", -ERANGE, NULL);
	list_is("1048576", 1, (int[]){1048576});
	list_is("1048577", -ERANGE, NULL);
	list_is("99999999999999999999999", -ERANGE, NULL);
	list_is("0-99999999999999999999999", -ERANGE, NULL);
	list_is("3-1", -EINVAL, NULL);
	list_is("1,", -EINVAL, NULL);
	list_is(",1", -EINVAL, NULL);
	list_is("1-", -EINVAL, NULL);
	list_is("-1", -EINVAL, NULL);
	list_is("1 2", -EINVAL, NULL);
	list_is("1-2-3", -EINVAL, NULL);
	list_is("cpu0", -EINVAL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_u64),
		cmocka_unit_test(test_u64_is_bounded),
		cmocka_unit_test(test_i64),
		cmocka_unit_test(test_hex),
		cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_double),
		cmocka_unit_test(test_double_rubbish),
		cmocka_unit_test(test_double_in_a_locale),
		cmocka_unit_test(test_digits),
		cmocka_unit_test(test_double_round_trip),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_cpu_list),
	};

	return cmocka_run_group_tests_name("num", tests, NULL, NULL);
}
