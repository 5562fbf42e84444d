/* SPDX-License-Identifier: MIT */
#include "base/date.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define NS	     INT64_C(1000000000)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The C library as the second opinion. */
static void test_every_day_is_the_librarys(void **state)
{
	(void)state;
	for (int64_t day = 0; day < 106000; day++) {
		time_t seconds = (time_t)(day * 86400 + day % 86400);
		struct wtl_date date = wtl_date_of(seconds * NS + day);
		struct tm tm;

		gmtime_r(&seconds, &tm);
		assert_int_equal(date.year, tm.tm_year + 1900);
		assert_int_equal(date.month, tm.tm_mon + 1);
		assert_int_equal(date.day, tm.tm_mday);
		assert_int_equal(date.hour, tm.tm_hour);
		assert_int_equal(date.minute, tm.tm_min);
		assert_int_equal(date.second, tm.tm_sec);
		assert_true(wtl_date_is_valid(&date));
		assert_int_equal(wtl_date_utc_ns(&date), seconds * NS + day);
	}
}

static void test_texts(void **state)
{
	static const struct {
		const char *text;
		int64_t utc_ns;
		bool has_time, has_zone;
	} good[] = {
		{"1970-01-01", 0, false, false},
		{"2026-11-21", 1795219200 * NS, false, false},
		{"2026-11-21T14:00Z", 1795269600 * NS, true, true},
		{"2026-11-21 14:00", 1795269600 * NS, true, false},
		{"2026-11-21 14:00 UTC", 1795269600 * NS, true, true},
		{"2026-11-21 14:00UTC", 1795269600 * NS, true, true},
		{"2026-11-21T14:00:30z", 1795269630 * NS, true, true},
		{"2026-11-21T14:00:30.5Z", 1795269630 * NS + NS / 2, true, true},
		{"2026-11-21T14:00:30.1234567899Z", 1795269630 * NS + 123456789, true, true},
		{"2026-11-21T15:00:00+01:00", 1795269600 * NS, true, true},
		{"2026-11-21T09:30-0430", 1795269600 * NS, true, true},
		{"2026-11-21T16:00+02", 1795269600 * NS, true, true},
		{"2024-02-29T00:00Z", 1709164800 * NS, true, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		struct wtl_date_text date;

		assert_int_equal(wtl_date_parse(good[i].text, strlen(good[i].text), &date), 0);
		assert_int_equal(wtl_date_utc_ns(&date.date) - date.zone_s * NS, good[i].utc_ns);
		assert_int_equal(date.has_time, good[i].has_time);
		assert_int_equal(date.has_zone, good[i].has_zone);
	}
}

static void test_rubbish(void **state)
{
	static const char *const bad[] = {
		"",
		"2026",
		"2026-11",
		"2026-11-2",
		"2026-1-21",
		"2026-13-01",
		"2026-00-01",
		"2026-02-29",
		"2026-02-30T00:00Z",
		"2026-11-21T",
		"2026-11-21T14",
		"2026-11-21T14:0",
		"2026-11-21T24:00Z",
		"2026-11-21T14:60Z",
		"2026-11-21T14:00:60Z",
		"2026-11-21T14:00:30.Z",
		"2026-11-21T14:00ZZ",
		"2026-11-21T14:00 ",
		"2026-11-21T14:00+",
		"2026-11-21T14:00+1",
		"2026-11-21T14:00+15:00",
		"2026-11-21T14:00+01:60",
		"2026-11-21T14:00+01:0",
		"2026-11-21T14:00+01:00x",
		"2026-11-21x14:00",
		"1969-12-31",
		"2262-01-01",
		"-026-11-21",
		" 2026-11-21",
		"2026-11-21\n",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct wtl_date_text date = {.zone_s = 77};

		assert_int_equal(wtl_date_parse(bad[i], strlen(bad[i]), &date), -EINVAL);
		assert_int_equal(date.zone_s, 77);
	}
}

/* The text need not end with a NUL, and what follows it does not count. */
static void test_length_counts(void **state)
{
	struct wtl_date_text date;

	(void)state;
	assert_int_equal(wtl_date_parse("2026-11-21T14:00Z", 10, &date), 0);
	assert_false(date.has_time);
	assert_int_equal(wtl_date_parse("2026-11-21T14:00Z", 16, &date), 0);
	assert_false(date.has_zone);
}

/* As wattle writes it itself. */
static void test_moments(void **state)
{
	static const struct {
		const char *text;
		int64_t utc_ns;
	} good[] = {
		{"1970-01-01T00:00:00Z", 0},
		{"2026-11-21T08:00:00Z", 1795248000 * NS},
		{"2026-11-21 08:00Z", 1795248000 * NS},
		{"2026-11-21T09:00:00+01:00", 1795248000 * NS},
		{"2026-11-21T08:00:00.123456789Z", 1795248000 * NS + 123456789},
		{"2261-12-31T23:59:59Z", 9214646399 * NS},
	};
	static const char *const bad[] = {
		"",
		"Z",
		"now",
		"2026-11-21",
		"2026-11-21T08:00:00",
		"2026-11-21T08:00:00.Z",
		"2026-11-21T8:00:00Z",
		"2026-04-31T00:00:00Z",
		"2026-01-00T00:00:00Z",
		"2026/01/01T00:00:00Z",
		"2026-01-01T00:00:00ZZ",
		"9999-12-31T23:59:59Z",
		"0000-01-01T00:00:00Z",
	};
	int64_t ns = 42;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(wtl_date_parse_utc(bad[i], strlen(bad[i]), &ns), -EINVAL);
	assert_int_equal(ns, 42);
	for (size_t i = 0; i < COUNT(good); i++) {
		assert_int_equal(wtl_date_parse_utc(good[i].text, strlen(good[i].text), &ns), 0);
		assert_int_equal(ns, good[i].utc_ns);
	}
	/* Never beyond the length that was given. */
	for (size_t len = 0; len < strlen(good[1].text); len++)
		assert_int_equal(wtl_date_parse_utc(good[1].text, len, &ns), -EINVAL);
}

static void test_clock(void **state)
{
	int64_t ns = 5;

	(void)state;
	assert_int_equal(wtl_date_parse_clock("00:00", 5, &ns), 0);
	assert_int_equal(ns, 0);
	assert_int_equal(wtl_date_parse_clock("14:05", 5, &ns), 0);
	assert_int_equal(ns, (14 * 3600 + 5 * 60) * NS);
	assert_int_equal(wtl_date_parse_clock("23:59:59.5", 10, &ns), 0);
	assert_int_equal(ns, 86399 * NS + NS / 2);
	for (const char *const *bad =
		     (const char *const[]){"24:00", "14", "14:", "14:0", "14:60", "1:00", "14:00x",
					   "14:00:61", "14:00:00.", "", NULL};
	     *bad; bad++)
		assert_int_equal(wtl_date_parse_clock(*bad, strlen(*bad), &ns), -EINVAL);
	assert_int_equal(ns, 86399 * NS + NS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_day_is_the_librarys),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_rubbish),
		cmocka_unit_test(test_length_counts),
		cmocka_unit_test(test_moments),
		cmocka_unit_test(test_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
