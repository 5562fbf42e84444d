/* SPDX-License-Identifier: MIT */
/* Figures as text: what must hold for every number, against wider arithmetic. Examples: test_output.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#include "base/buf.h"
#include "document/format.h"

enum { TRIES = 20000 };

typedef unsigned __int128 wide;

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Of every length, small ones as often as large ones. */
static uint64_t next_number(uint64_t *seed)
{
	unsigned bits = (unsigned)(next_random(seed) % 65);

	return bits == 0 ? 0 : next_random(seed) >> (64 - bits);
}

static uint64_t power_of_ten(unsigned exponent)
{
	uint64_t power = 1;

	while (exponent-- > 0)
		power *= 10;
	return power;
}

/* The decimal text as a number of millionths of millionths …: digits without their point. */
static wide digits_of(const char *text, unsigned *ret_decimals)
{
	wide value = 0;
	bool after = false;

	*ret_decimals = 0;
	for (; *text && *text != ' '; text++) {
		if (*text == '.') {
			assert_false(after);
			after = true;
			continue;
		}
		assert_in_range(*text, '0', '9');
		value = value * 10 + (wide)(*text - '0');
		*ret_decimals += after;
	}
	return value;
}

static void fixed_is_exact(void **state)
{
	uint64_t seed = 1;
	struct wtl_buf buf;
	unsigned told;

	(void)state;
	wtl_buf_init(&buf, 64);
	for (int i = 0; i < TRIES; i++) {
		uint64_t value = next_number(&seed);
		unsigned decimals = (unsigned)i % 19;

		wtl_buf_clear(&buf);
		assert_int_equal(wtl_format_fixed(&buf, value, decimals), 0);
		assert_true(digits_of(wtl_buf_str(&buf), &told) == value);
		assert_int_equal(told, decimals);
	}
	wtl_buf_clear(&buf);
	wtl_format_fixed(&buf, UINT64_MAX, 18);
	assert_string_equal(wtl_buf_str(&buf), "18.446744073709551615");
	wtl_buf_done(&buf);
}

/* An error stays, and nothing is appended after it. */
static void errors_stay(void **state)
{
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 64);
	wtl_buf_puts(&buf, "before");
	assert_int_equal(wtl_format_fixed(&buf, 1, 19), -EINVAL);
	assert_int_equal(wtl_format_fixed(&buf, 1, 2), -EINVAL);
	assert_int_equal(wtl_format_duration(&buf, 1, false), -EINVAL);
	assert_int_equal(wtl_format_utc(&buf, 0), -EINVAL);
	assert_string_equal(wtl_buf_str(&buf), "before");
	wtl_buf_done(&buf);

	wtl_buf_init(&buf, 8);
	assert_true(wtl_format_utc(&buf, 0) < 0);
	assert_true(wtl_format_measure(&buf, 1, 1, WTL_FORMAT_J, true) < 0);
	wtl_buf_done(&buf);
}

static const char *as_double(struct wtl_buf *buf, double value, unsigned decimals)
{
	wtl_buf_clear(buf);
	assert_int_equal(wtl_format_double(buf, value, decimals), 0);
	return wtl_buf_str(buf);
}

static void doubles(void **state)
{
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 64);
	assert_string_equal(as_double(&buf, 0.0, 2), "0.00");
	/* What rounds to nothing has no sign. */
	assert_string_equal(as_double(&buf, -0.0, 2), "0.00");
	assert_string_equal(as_double(&buf, -0.004, 2), "0.00");
	assert_string_equal(as_double(&buf, -0.005, 2), "-0.01");
	assert_string_equal(as_double(&buf, 0.995, 0), "1");
	assert_string_equal(as_double(&buf, -1.5, 0), "-2");
	assert_string_equal(as_double(&buf, 1e-9, 9), "0.000000001");
	assert_string_equal(as_double(&buf, 1e300, 0), "18446744073709551615");
	assert_string_equal(as_double(&buf, -1e300, 0), "-18446744073709551615");
	wtl_buf_done(&buf);
}

/* However large or small, one to four digits stand before the point. */
static void a_prefix_fits(void **state)
{
	uint64_t seed = 2;

	(void)state;
	for (int i = 0; i < TRIES; i++) {
		uint64_t value = next_number(&seed);
		unsigned scale = wtl_format_scale(value);
		uint64_t before = value / power_of_ten(scale);

		assert_true(scale % 3 == 0 && scale <= 15);
		assert_true(value == 0 || before >= 1);
		assert_true(before <= 9999 || scale == 15);
		/* The unit itself is kept as long as it goes. */
		if (value >= 1000000 && value < UINT64_C(10000000000))
			assert_int_equal(scale, 6);
	}
}

static void units_of_every_scale(void **state)
{
	static const char *const joules[] = {"uJ", "mJ", "J", "kJ", "MJ", "GJ"};
	static const char *const grams[] = {"ug", "mg", "g", "kg", "t", "kt"};

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		assert_string_equal(wtl_format_unit(WTL_FORMAT_J, 3 * i, true), joules[i]);
		assert_string_equal(wtl_format_unit(WTL_FORMAT_G, 3 * i, true), grams[i]);
	}
	assert_string_equal(wtl_format_unit(WTL_FORMAT_J, 0, false), "µJ");
	assert_string_equal(wtl_format_unit(WTL_FORMAT_W, 0, false), "µW");
	assert_string_equal(wtl_format_unit(WTL_FORMAT_W, 0, true), "uW");
	assert_string_equal(wtl_format_unit(WTL_FORMAT_WH, 0, true), "uWh");
	/* Beyond the last there is the last. */
	assert_string_equal(wtl_format_unit(WTL_FORMAT_W, 18, false), "GW");
}

static unsigned length_of(uint64_t value)
{
	char text[32];

	return (unsigned)snprintf(text, sizeof(text), "%" PRIu64, value);
}

/* Not more digits than are known: six of the value, two of what is uncertain, four of a power. */
static void digits_are_those_that_are_known(void **state)
{
	uint64_t seed = 3;

	(void)state;
	for (int i = 0; i < TRIES; i++) {
		uint64_t value = next_number(&seed), u = next_number(&seed);
		unsigned last = wtl_format_last_digit(value, u);
		unsigned power = wtl_format_power_digit(value, u);

		assert_true(power >= last);
		if (value == 0 && u == 0)
			continue;
		assert_true(length_of(value / power_of_ten(last)) <= 6);
		assert_true(length_of(value / power_of_ten(power)) <= 4);
		if (u > 0)
			assert_true(length_of(u / power_of_ten(last)) <= 2);
	}
	assert_int_equal(wtl_format_last_digit(0, 0), 6);
	assert_int_equal(wtl_format_last_digit(9999, 0), 0);
	assert_int_equal(wtl_format_last_digit(10000, 0), 1);
}

static void rounding_is_to_the_nearest(void **state)
{
	uint64_t seed = 4;
	struct wtl_buf buf;
	unsigned decimals;

	(void)state;
	wtl_buf_init(&buf, 64);
	for (int i = 0; i < TRIES; i++) {
		uint64_t value = next_number(&seed) >> 4;
		unsigned last = (unsigned)(next_random(&seed) % 13),
			 scale = wtl_format_scale(value);
		uint64_t step = power_of_ten(last), rounded = wtl_format_round(value, last);
		wide told;

		wtl_buf_clear(&buf);
		assert_int_equal(wtl_format_rounded(&buf, value, last, scale), 0);
		told = digits_of(wtl_buf_str(&buf), &decimals) * power_of_ten(scale - decimals);
		assert_true(told == rounded);
		assert_int_equal(decimals, last <= scale ? scale - last : 0);
		assert_true(rounded % step == 0);
		assert_true((rounded > value ? rounded - value : value - rounded) * 2 <= step);

		/* No uncertainty is told as none. */
		wtl_buf_clear(&buf);
		wtl_format_rounded_up(&buf, value, last, scale);
		assert_true(digits_of(wtl_buf_str(&buf), &decimals) > 0);
	}
	/* What would not fit is rounded down. */
	assert_int_equal(wtl_format_round(UINT64_MAX, 1), UINT64_MAX - 5);
	wtl_buf_done(&buf);
}

/* The parts as printed add up to the whole as printed, whichever way it was rounded. */
static void parts_close_the_sum(void **state)
{
	enum { PARTS = 7 };
	uint64_t seed = 5, parts[PARTS], rounded[PARTS];

	(void)state;
	for (int i = 0; i < TRIES; i++) {
		unsigned last = (unsigned)(next_random(&seed) % 10);
		size_t n = 1 + next_random(&seed) % PARTS;
		uint64_t sum = 0, step = power_of_ten(last), whole, total = 0;

		for (size_t k = 0; k < n; k++) {
			parts[k] = next_number(&seed) >> 4;
			sum += parts[k];
		}
		whole = sum / step * step + (i % 2 && sum % step ? step : 0);
		wtl_format_apportion(parts, n, last, whole, rounded);
		for (size_t k = 0; k < n; k++) {
			assert_true((rounded[k] > parts[k] ? rounded[k] - parts[k]
							   : parts[k] - rounded[k]) < step);
			assert_true(rounded[k] % step == 0);
			total += rounded[k];
		}
		assert_true(total == whole);
	}
}

/* A whole that is not the parts' sum: it ends, and no part is bent for it by a step. */
static void parts_of_something_else(void **state)
{
	const uint64_t parts[] = {140, 260, 100};
	uint64_t rounded[3];

	(void)state;
	wtl_format_apportion(parts, 3, 2, 100000, rounded);
	assert_int_equal(rounded[0], 200);
	assert_int_equal(rounded[1], 300);
	assert_int_equal(rounded[2], 100);
	wtl_format_apportion(parts, 3, 2, 0, rounded);
	assert_int_equal(rounded[0], 100);
	assert_int_equal(rounded[1], 200);
	assert_int_equal(rounded[2], 100);
	wtl_format_apportion(parts, 0, 2, 0, rounded);
}

static void shares(void **state)
{
	uint64_t seed = 6;

	(void)state;
	for (int i = 0; i < TRIES; i++) {
		uint64_t value = next_number(&seed), part = next_number(&seed),
			 whole = next_number(&seed), share = wtl_format_share(value, part, whole);

		if (whole == 0)
			assert_int_equal(share, 0);
		else if (share < UINT64_MAX)
			assert_true((wide)share * whole <= (wide)value * part &&
				    ((wide)share + 1) * whole > (wide)value * part);
		if (part <= whole)
			assert_true(share <= value);
	}
	assert_true(wtl_format_share(UINT64_MAX, 2, 1) == UINT64_MAX);
	assert_true(wtl_format_share(UINT64_MAX, UINT64_MAX, UINT64_MAX) == UINT64_MAX);
}

static void micro(void **state)
{
	(void)state;
	assert_int_equal(wtl_format_micro(1.0000005), 1000001);
	assert_int_equal(wtl_format_micro(-1), 0);
	assert_int_equal(wtl_format_micro(0.0 / 0.0), 0);
	assert_true(wtl_format_micro(1.0 / 0.0) == UINT64_MAX);
	assert_int_equal(wtl_format_micro(-1.0 / 0.0), 0);
	assert_true(wtl_format_micro(2e13) == UINT64_MAX);
	assert_int_equal(wtl_format_uwh(1799), 0);
	assert_int_equal(wtl_format_uwh(1800), 1);
	assert_int_equal(wtl_format_uwh(3600 + 1799), 1);
	assert_true(wtl_format_uwh(UINT64_MAX) == UINT64_MAX / 3600 + 1 ||
		    wtl_format_uwh(UINT64_MAX) == UINT64_MAX / 3600);
}

struct told {
	int64_t ns;
	const char *text;
};

static void check_told(const struct told told[], size_t n,
		       int (*format)(struct wtl_buf *buf, int64_t ns, bool ascii))
{
	struct wtl_buf buf;

	wtl_buf_init(&buf, 64);
	for (size_t i = 0; i < n; i++) {
		wtl_buf_clear(&buf);
		assert_int_equal(format(&buf, told[i].ns, true), 0);
		assert_string_equal(wtl_buf_str(&buf), told[i].text);
	}
	wtl_buf_done(&buf);
}

/* On both sides of each change of unit. */
static void durations_at_their_edges(void **state)
{
	static const struct told told[] = {
		{INT64_MIN, "0 us"},
		{-1, "0 us"},
		{999, "0 us"},
		{999999, "999 us"},
		{1000000, "1.00 ms"},
		{9994999, "9.99 ms"},
		{9999999, "10.00 ms"},
		{10000000, "10.0 ms"},
		{99999999, "100.0 ms"},
		{100000000, "100 ms"},
		{999999999, "1000 ms"},
		{1000000000, "1.000 s"},
		{9999999999, "10.000 s"},
		{10000000000, "10.00 s"},
		{59994999999, "59.99 s"},
		{59995000000, "1 min 0.0 s"},
		{3599949999999, "59 min 59.9 s"},
		{3599950000000, "1 h 00 min 00 s"},
		{86399499999999, "23 h 59 min 59 s"},
		{86399500000000, "1 d 0 h 00 min"},
		{INT64_MAX, "106751 d 23 h 47 min"},
	};

	(void)state;
	check_told(told, UNIT_COUNT(told), wtl_format_duration);
}

static int format_age(struct wtl_buf *buf, int64_t age_ns, bool ascii)
{
	(void)ascii;
	return wtl_format_age(buf, age_ns);
}

static void ages_at_their_edges(void **state)
{
	static const struct told told[] = {
		{INT64_MIN, "0 s"},	   {999999999, "0 s"},	       {119999999999, "119 s"},
		{120000000000, "2 min"},   {7199999999999, "119 min"}, {7200000000000, "2 h"},
		{172799999999999, "47 h"}, {172800000000000, "2 d"},   {INT64_MAX, "106751 d"},
	};

	(void)state;
	check_told(told, UNIT_COUNT(told), format_age);
}

static void periods(void **state)
{
	static const struct told told[] = {
		{1000000, "1 ms"},	   {60000000000, "60 s"}, {1500000000, "1500 ms"},
		{1000001, "1.00 ms"},	   {0, "0 us"},		  {-1000000000, "0 us"},
		{3600000000000, "3600 s"},
	};

	(void)state;
	check_told(told, UNIT_COUNT(told), wtl_format_period);
}

static void bytes(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} told[] = {
		{0, "0 KiB"},
		{1, "0 KiB"},
		{1023, "0.9 KiB"},
		{1024, "1 KiB"},
		{102399, "99.9 KiB"},
		{102400, "100 KiB"},
		{1048575, "1023 KiB"},
		{1048576, "1 MiB"},
		{UINT64_C(1) << 40, "1 TiB"},
		{UINT64_MAX, "15.9 EiB"},
	};
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 64);
	for (size_t i = 0; i < UNIT_COUNT(told); i++) {
		wtl_buf_clear(&buf);
		wtl_format_bytes(&buf, told[i].bytes);
		assert_string_equal(wtl_buf_str(&buf), told[i].text);
	}
	wtl_buf_done(&buf);
}

static int format_utc(struct wtl_buf *buf, int64_t t_ns, bool ascii)
{
	(void)ascii;
	return wtl_format_utc(buf, t_ns);
}

static void moments(void **state)
{
	static const struct told told[] = {
		{0, "1970-01-01T00:00:00.000Z"},
		{999999999, "1970-01-01T00:00:00.999Z"},
		{-1, "1969-12-31T23:59:59.999Z"},
		{-1000000000, "1969-12-31T23:59:59.000Z"},
		{INT64_C(951782400000000000), "2000-02-29T00:00:00.000Z"},
		{INT64_MAX, "2262-04-11T23:47:16.854Z"},
		{INT64_MIN, "1677-09-21T00:12:43.145Z"},
	};

	(void)state;
	check_told(told, UNIT_COUNT(told), format_utc);
}

static size_t encode(uint32_t point, char text[5])
{
	if (point < 0x80) {
		text[0] = (char)point;
		return 1;
	}
	if (point < 0x800) {
		text[0] = (char)(0xc0 | point >> 6);
		text[1] = (char)(0x80 | (point & 0x3f));
		return 2;
	}
	if (point < 0x10000) {
		text[0] = (char)(0xe0 | point >> 12);
		text[1] = (char)(0x80 | (point >> 6 & 0x3f));
		text[2] = (char)(0x80 | (point & 0x3f));
		return 3;
	}
	text[0] = (char)(0xf0 | point >> 18);
	text[1] = (char)(0x80 | (point >> 12 & 0x3f));
	text[2] = (char)(0x80 | (point >> 6 & 0x3f));
	text[3] = (char)(0x80 | (point & 0x3f));
	return 4;
}

/* Every code point there and back, and none of its beginnings; the surrogates are none. */
static void every_character(void **state)
{
	(void)state;
	for (uint32_t point = 0; point <= 0x10ffff; point++) {
		char text[5];
		uint32_t told = UINT32_MAX;
		size_t len = encode(point, text);
		bool is_surrogate = point >= 0xd800 && point <= 0xdfff;

		assert_int_equal(wtl_format_utf8(text, len, &told), is_surrogate ? 0 : len);
		assert_true(is_surrogate || told == point);
		for (size_t cut = 0; cut < len; cut++)
			assert_int_equal(wtl_format_utf8(text, cut, &told), 0);
	}
}

static void what_is_no_character(void **state)
{
	static const char *const bad[] = {
		"\x80",
		"\xbf",
		"\xc0\x80",
		"\xc1\xbf",
		"\xe0\x80\x80",
		"\xe0\x9f\xbf",
		"\xf0\x80\x80\x80",
		"\xf0\x8f\xbf\xbf",
		"\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80",
		"\xff",
		"\xc3(",
		"\xe2\x82(",
		"\xf0\x9f\x98(",
		"\xed\xa0\x80",
	};
	uint32_t point = 4711;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(bad); i++)
		assert_int_equal(wtl_format_utf8(bad[i], strlen(bad[i]), &point), 0);
	assert_int_equal(point, 4711);
}

/* What a shell makes of a command as it is printed. */
static void check_by_shell(const char *printed, const char *expected)
{
	char script[1024], got[512] = "";
	FILE *pipe;
	size_t len;
	int status;

	snprintf(script, sizeof(script), "printf '[%%s]' %s", printed);
	pipe = popen(script, "r"); /* NOLINT(cert-env33-c): a shell is what is asked */
	assert_non_null(pipe);
	len = fread(got, 1, sizeof(got) - 1, pipe);
	status = pclose(pipe);
	assert_int_equal(status, 0);
	got[len] = '\0';
	assert_string_equal(got, expected);
}

static void commands_as_one_would_type_them(void **state)
{
	static char pieces[][8] = {"'", "\"", "$x", "`", "\\", "!", " ", "\t",
				   "a", "é",  "\n", ";", "*",  "~", "#"};
	uint64_t seed = 7;

	(void)state;
	for (int i = 0; i < 60; i++) {
		char words[3][40] = {"", "", ""}, expected[160] = "";
		char *command[] = {words[0], words[1], words[2], NULL};
		struct wtl_buf buf;

		for (size_t w = 0; w < 3; w++) {
			for (size_t k = next_random(&seed) % 5; k > 0; k--)
				strcat(words[w], pieces[next_random(&seed) % UNIT_COUNT(pieces)]);
			strcat(strcat(strcat(expected, "["), words[w]), "]");
		}
		wtl_buf_init(&buf, 512);
		assert_int_equal(wtl_format_command(&buf, command), 0);
		check_by_shell(wtl_buf_str(&buf), expected);
		wtl_buf_done(&buf);
	}
}

static void commands_that_are_none(void **state)
{
	char *empty[] = {NULL};
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 16);
	assert_int_equal(wtl_format_command(&buf, NULL), 0);
	assert_int_equal(wtl_format_command(&buf, empty), 0);
	assert_string_equal(wtl_buf_str(&buf), "");
	wtl_buf_done(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixed_is_exact),
		cmocka_unit_test(errors_stay),
		cmocka_unit_test(doubles),
		cmocka_unit_test(a_prefix_fits),
		cmocka_unit_test(units_of_every_scale),
		cmocka_unit_test(digits_are_those_that_are_known),
		cmocka_unit_test(rounding_is_to_the_nearest),
		cmocka_unit_test(parts_close_the_sum),
		cmocka_unit_test(parts_of_something_else),
		cmocka_unit_test(shares),
		cmocka_unit_test(micro),
		cmocka_unit_test(durations_at_their_edges),
		cmocka_unit_test(ages_at_their_edges),
		cmocka_unit_test(periods),
		cmocka_unit_test(bytes),
		cmocka_unit_test(moments),
		cmocka_unit_test(every_character),
		cmocka_unit_test(what_is_no_character),
		cmocka_unit_test(commands_as_one_would_type_them),
		cmocka_unit_test(commands_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
