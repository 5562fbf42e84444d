/* SPDX-License-Identifier: MIT */
#include "energy/baseline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/num.h"
#include "energy/units.h"

/* More than any machine draws: a larger number in a line is not a power of ours. */
#define POWER_MAX_UW (UINT64_C(1000) * 1000 * 1000000)

enum { NAME_SIZE = 32, N_FIELDS = 6, TIME_LEN = 20, FIRST_YEAR = 1970, LAST_YEAR = 2261 };

struct date {
	unsigned year, month, day, hour, minute, second; /* month and day from 1 */
};

struct field {
	const char *text;
	size_t len;
};

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

/* Not gmtime_r(): that reads the environment (TZ) in glibc. */
static struct date date_of(int64_t t_utc_ns)
{
	uint64_t seconds = (uint64_t)(t_utc_ns / WTL_NS_PER_S);
	unsigned days = (unsigned)(seconds / 86400);
	struct date date = {.year = FIRST_YEAR,
			    .month = 1,
			    .hour = (unsigned)(seconds / 3600 % 24),
			    .minute = (unsigned)(seconds / 60 % 60),
			    .second = (unsigned)(seconds % 60)};

	for (; days >= days_in_year(date.year); date.year++)
		days -= days_in_year(date.year);
	for (; days >= days_in_month(date.year, date.month); date.month++)
		days -= days_in_month(date.year, date.month);
	date.day = days + 1;
	return date;
}

static bool date_is_valid(const struct date *date)
{
	return date->year >= FIRST_YEAR && date->year <= LAST_YEAR && date->month >= 1 &&
	       date->month <= 12 && date->day >= 1 &&
	       date->day <= days_in_month(date->year, date->month) && date->hour < 24 &&
	       date->minute < 60 && date->second < 60;
}

static int64_t date_utc_ns(const struct date *date)
{
	int64_t days = date->day - 1;

	for (unsigned year = FIRST_YEAR; year < date->year; year++)
		days += days_in_year(year);
	for (unsigned month = 1; month < date->month; month++)
		days += days_in_month(date->year, month);
	return (((days * 24 + date->hour) * 60 + date->minute) * 60 + date->second) * WTL_NS_PER_S;
}

static bool is_word(const char *text, size_t len)
{
	if (len < 1 || len >= NAME_SIZE)
		return false;
	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return true;
}

int wtl_baseline_print(char line[WTL_BASELINE_LINE_MAX], const char *domain, const char *source,
		       const struct wtl_baseline *baseline)
{
	struct date date;

	if (!is_word(domain, strlen(domain)) || !is_word(source, strlen(source)) ||
	    baseline->idle_uw > POWER_MAX_UW || baseline->uncertainty_uw > POWER_MAX_UW ||
	    baseline->t_utc_ns < 0 || baseline->seen_ns < 0)
		return -EINVAL;
	date = date_of(baseline->t_utc_ns);
	if (!date_is_valid(&date))
		return -EINVAL;
	return snprintf(
		line, WTL_BASELINE_LINE_MAX,
		"%s %s %" PRIu64 " %" PRIu64 " %04u-%02u-%02uT%02u:%02u:%02uZ %" PRId64 "\n",
		domain, source, baseline->idle_uw, baseline->uncertainty_uw, date.year, date.month,
		date.day, date.hour, date.minute, date.second, baseline->seen_ns);
}

/* Fields lie between single blanks. */
static bool split(const char *line, size_t len, struct field fields[N_FIELDS])
{
	size_t n = 0, start = 0;

	for (size_t i = 0; i <= len; i++) {
		if (i < len && line[i] != ' ')
			continue;
		if (n == N_FIELDS || !is_word(line + start, i - start))
			return false;
		fields[n++] = (struct field){line + start, i - start};
		start = i + 1;
	}
	return n == N_FIELDS;
}

static bool digits(const char *text, size_t len, unsigned *ret)
{
	unsigned value = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		value = value * 10 + (unsigned)(text[i] - '0');
	}
	*ret = value;
	return true;
}

static bool parse_time(struct field field, int64_t *ret_t_utc_ns)
{
	const char *text = field.text;
	struct date date;

	if (field.len != TIME_LEN || text[4] != '-' || text[7] != '-' || text[10] != 'T' ||
	    text[13] != ':' || text[16] != ':' || text[19] != 'Z')
		return false;
	if (!digits(text, 4, &date.year) || !digits(text + 5, 2, &date.month) ||
	    !digits(text + 8, 2, &date.day) || !digits(text + 11, 2, &date.hour) ||
	    !digits(text + 14, 2, &date.minute) || !digits(text + 17, 2, &date.second) ||
	    !date_is_valid(&date))
		return false;
	*ret_t_utc_ns = date_utc_ns(&date);
	return true;
}

static bool parse_number(struct field field, uint64_t max, uint64_t *ret)
{
	return wtl_num_u64(field.text, field.len, ret) == 0 && *ret <= max;
}

static void copy_word(char to[NAME_SIZE], struct field field)
{
	memcpy(to, field.text, field.len);
	to[field.len] = '\0';
}

int wtl_baseline_parse(const char *line, size_t len, char domain[32], char source[32],
		       struct wtl_baseline *ret_baseline)
{
	struct wtl_baseline baseline = {.is_known = true};
	struct field fields[N_FIELDS];
	uint64_t seen_ns;

	if (len > 0 && line[len - 1] == '\n')
		len--;
	if (len >= WTL_BASELINE_LINE_MAX || !split(line, len, fields) ||
	    !parse_number(fields[2], POWER_MAX_UW, &baseline.idle_uw) ||
	    !parse_number(fields[3], POWER_MAX_UW, &baseline.uncertainty_uw) ||
	    !parse_time(fields[4], &baseline.t_utc_ns) ||
	    !parse_number(fields[5], INT64_MAX, &seen_ns))
		return -WTL_EFORMAT;
	baseline.seen_ns = (int64_t)seen_ns;
	copy_word(domain, fields[0]);
	copy_word(source, fields[1]);
	*ret_baseline = baseline;
	return 0;
}
