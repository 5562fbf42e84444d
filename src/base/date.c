/* SPDX-License-Identifier: MIT */
#include "base/date.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define NS_PER_S INT64_C(1000000000)

enum { FIRST_YEAR = 1970, LAST_YEAR = 2261, FRACTION_DIGITS = 9 };

static unsigned days_in_month(unsigned year, unsigned month)
{
	static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && is_leap ? 1U : 0U);
}

static unsigned days_in_year(unsigned year)
{
	return 337 + days_in_month(year, 2);
}

bool wtl_date_is_valid(const struct wtl_date *date)
{
	return date->year >= FIRST_YEAR && date->year <= LAST_YEAR && date->month >= 1 &&
	       date->month <= 12 && date->day >= 1 &&
	       date->day <= days_in_month(date->year, date->month) && date->hour < 24 &&
	       date->minute < 60 && date->second < 60 && date->nanosecond < NS_PER_S;
}

struct wtl_date wtl_date_of(int64_t t_utc_ns)
{
	uint64_t seconds = (uint64_t)(t_utc_ns / NS_PER_S);
	unsigned days = (unsigned)(seconds / 86400);
	struct wtl_date date = {.year = FIRST_YEAR,
				.month = 1,
				.hour = (unsigned)(seconds / 3600 % 24),
				.minute = (unsigned)(seconds / 60 % 60),
				.second = (unsigned)(seconds % 60),
				.nanosecond = (uint32_t)(t_utc_ns % NS_PER_S)};

	for (; days >= days_in_year(date.year); date.year++)
		days -= days_in_year(date.year);
	for (; days >= days_in_month(date.year, date.month); date.month++)
		days -= days_in_month(date.year, date.month);
	date.day = days + 1;
	return date;
}

/* Days from 1970 to a year's first of March, from which months' lengths repeat: leap days come last. */
static int64_t days_to_march(unsigned year)
{
	enum { TO_1970 = 719468 };

	return (int64_t)year * 365 + year / 4 - year / 100 + year / 400 - TO_1970;
}

int64_t wtl_date_utc_ns(const struct wtl_date *date)
{
	/* Of January and February the year before is the one that ends with them. */
	unsigned from_march = (date->month + 9) % 12;
	int64_t days = days_to_march(date->year - (date->month < 3)) + (from_march * 153 + 2) / 5 +
		       date->day - 1;

	return (((days * 24 + date->hour) * 60 + date->minute) * 60 + date->second) * NS_PER_S +
	       date->nanosecond;
}

/* ---- Texts ---- */

struct reader {
	const char *text, *end;
};

/* Exactly n digits. */
static bool take_digits(struct reader *reader, size_t n, unsigned *ret)
{
	unsigned value = 0;

	if ((size_t)(reader->end - reader->text) < n)
		return false;
	for (; n > 0; n--, reader->text++) {
		if (*reader->text < '0' || *reader->text > '9')
			return false;
		value = value * 10 + (unsigned)(*reader->text - '0');
	}
	*ret = value;
	return true;
}

static bool take_char(struct reader *reader, char c)
{
	if (reader->text == reader->end || *reader->text != c)
		return false;
	reader->text++;
	return true;
}

static bool take_word(struct reader *reader, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(reader->end - reader->text) != len || memcmp(reader->text, word, len) != 0)
		return false;
	reader->text += len;
	return true;
}

/* What follows the point; further digits than nanoseconds are left out. */
static bool take_fraction(struct reader *reader, uint32_t *ret_ns)
{
	uint32_t value = 0, place = (uint32_t)NS_PER_S / 10;
	const char *start = reader->text;

	for (; reader->text < reader->end && *reader->text >= '0' && *reader->text <= '9';
	     reader->text++, place /= 10)
		value += (uint32_t)(*reader->text - '0') * place;
	*ret_ns = value;
	return reader->text > start;
}

/* HH:MM, with seconds and their fraction where they are there. */
static bool take_clock(struct reader *reader, struct wtl_date *date)
{
	if (!take_digits(reader, 2, &date->hour) || !take_char(reader, ':') ||
	    !take_digits(reader, 2, &date->minute))
		return false;
	if (!take_char(reader, ':'))
		return true;
	if (!take_digits(reader, 2, &date->second))
		return false;
	return !take_char(reader, '.') || take_fraction(reader, &date->nanosecond);
}

/* The rest of the text. */
static bool take_zone(struct reader *reader, struct wtl_date_text *date)
{
	unsigned hours, minutes = 0;
	bool is_behind;

	if (reader->text == reader->end)
		return true;
	date->has_zone = true;
	if (take_word(reader, "Z") || take_word(reader, "z") || take_word(reader, " UTC") ||
	    take_word(reader, "UTC"))
		return true;
	is_behind = *reader->text == '-';
	if (!take_char(reader, '+') && !take_char(reader, '-'))
		return false;
	if (!take_digits(reader, 2, &hours))
		return false;
	take_char(reader, ':');
	if (reader->text < reader->end && !take_digits(reader, 2, &minutes))
		return false;
	if (reader->text != reader->end || hours > 14 || minutes > 59)
		return false;
	date->zone_s = (int32_t)(hours * 3600 + minutes * 60) * (is_behind ? -1 : 1);
	return true;
}

int wtl_date_parse(const char *text, size_t len, struct wtl_date_text *ret)
{
	struct reader reader = {text, text + len};
	struct wtl_date_text date = {.has_time = false};

	if (!take_digits(&reader, 4, &date.date.year) || !take_char(&reader, '-') ||
	    !take_digits(&reader, 2, &date.date.month) || !take_char(&reader, '-') ||
	    !take_digits(&reader, 2, &date.date.day))
		return -EINVAL;
	if (reader.text < reader.end) {
		if (!take_char(&reader, 'T') && !take_char(&reader, ' '))
			return -EINVAL;
		date.has_time = true;
		if (!take_clock(&reader, &date.date) || !take_zone(&reader, &date))
			return -EINVAL;
	}
	if (!wtl_date_is_valid(&date.date))
		return -EINVAL;
	*ret = date;
	return 0;
}

int wtl_date_parse_utc(const char *text, size_t len, int64_t *ret_utc_ns)
{
	struct wtl_date_text date;

	if (wtl_date_parse(text, len, &date) < 0 || !date.has_time || !date.has_zone)
		return -EINVAL;
	*ret_utc_ns = wtl_date_utc_ns(&date.date) - date.zone_s * NS_PER_S;
	return 0;
}

static bool are_digits(uint64_t less_zeros)
{
	const uint64_t bytes = UINT64_C(0x0101010101010101);

	return (((less_zeros + bytes * (0x80 - 10)) | less_zeros) & bytes * 0x80) == 0;
}

/* "22:11:09.916", as most are. */
static bool parse_usual_clock(const char *text, size_t len, int64_t *ret_ns)
{
	uint64_t clock, form, rest = 0, rest_form = 0, hour, minute, second, ms;

	if (len != strlen("00:00:00.000"))
		return false;
	memcpy(&clock, text, sizeof(clock));
	memcpy(&form, "00:00:00", sizeof(form));
	memcpy(&rest, text + sizeof(clock), 4);
	memcpy(&rest_form, ".000", 4);
	/* Where the form has another character, the text has the same. */
	clock = le64toh(clock ^ form);
	rest = le64toh(rest ^ rest_form);
	if (!are_digits(clock) || !are_digits(rest) || (clock & UINT64_C(0x0000ff0000ff0000)) ||
	    (rest & 0xff))
		return false;
	hour = (clock & 0xff) * 10 + (clock >> 8 & 0xff);
	minute = (clock >> 24 & 0xff) * 10 + (clock >> 32 & 0xff);
	second = (clock >> 48 & 0xff) * 10 + (clock >> 56);
	ms = (rest >> 8 & 0xff) * 100 + (rest >> 16 & 0xff) * 10 + (rest >> 24 & 0xff);
	*ret_ns = (int64_t)((((hour * 60 + minute) * 60 + second) * 1000 + ms) * 1000000);
	return hour < 24 && minute < 60 && second < 60;
}

int wtl_date_parse_clock(const char *text, size_t len, int64_t *ret_ns)
{
	struct reader reader = {text, text + len};
	struct wtl_date date = {.year = FIRST_YEAR, .month = 1, .day = 1};

	if (parse_usual_clock(text, len, ret_ns))
		return 0;
	if (!take_clock(&reader, &date) || reader.text != reader.end || !wtl_date_is_valid(&date))
		return -EINVAL;
	*ret_ns = wtl_date_utc_ns(&date);
	return 0;
}

int wtl_date_parse_asctime(const char *text, size_t len, struct wtl_date *ret)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	struct reader reader = {text + 4, text + len};
	struct wtl_date date = {.month = 1};

	/* The day is of one digit with a blank before it, or of two. */
	if (len < 20 || text[3] != ' ')
		return -EINVAL;
	while (date.month <= 12 && memcmp(months + 3 * (date.month - 1), reader.text, 3) != 0)
		date.month++;
	reader.text += 3;
	if (!take_char(&reader, ' '))
		return -EINVAL;
	if (!take_digits(&reader, take_char(&reader, ' ') || reader.text[1] == ' ' ? 1 : 2,
			 &date.day) ||
	    !take_char(&reader, ' ') || !take_clock(&reader, &date) || !take_char(&reader, ' ') ||
	    !take_digits(&reader, 4, &date.year) || reader.text != reader.end ||
	    !wtl_date_is_valid(&date))
		return -EINVAL;
	*ret = date;
	return 0;
}
