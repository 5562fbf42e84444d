/* SPDX-License-Identifier: MIT */
#include "cli/when.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/date.h"
#include "base/num.h"
#include "energy/units.h"

/* A hundred years. */
#define LONGEST_NS UINT64_C(3155760000000000000)

/* For a recording that began at 14:00:20, 14:00 means that minute. */
#define CLOCK_SLACK_NS (60 * WTL_NS_PER_S)

enum { NANO = 9 };

struct unit {
	const char *name;
	uint64_t factor;
	unsigned decimals; /* the unit is factor × 10^-decimals seconds */
};

/* The unit that the text begins with. Longer names come first, so that ms is not read as m. */
static const struct unit *find_unit(const char *text)
{
	static const struct unit units[] = {
		{"ms", 1, 3},	 {"min", 60, 0}, {"m", 60, 0},	   {"h", 3600, 0},
		{"d", 86400, 0}, {"s", 1, 0},	 {"w", 604800, 0},
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strncmp(text, units[i].name, strlen(units[i].name)) == 0)
			return &units[i];
	return NULL;
}

int wtl_when_parse_length(const char *text, int64_t *ret_ns)
{
	static const struct unit plain = {"", 1, 0};
	uint64_t sum = 0, value;
	bool is_first = true;

	do {
		size_t len = strspn(text, "0123456789.");
		const struct unit *unit = find_unit(text + len);

		if (!unit && is_first && text[len] == '\0')
			unit = &plain;
		if (len == 0 || !unit ||
		    wtl_num_fixed(text, len, NANO - unit->decimals, &value) < 0 ||
		    __builtin_mul_overflow(value, unit->factor, &value) ||
		    __builtin_add_overflow(sum, value, &sum) || sum > LONGEST_NS)
			return -EINVAL;
		text += len + strlen(unit->name);
		is_first = false;
	} while (*text);
	*ret_ns = (int64_t)sum;
	return 0;
}

int wtl_when_parse(const char *text, struct wtl_when *ret_when)
{
	struct wtl_when when = {.kind = WTL_WHEN_SINCE};
	struct wtl_date_text date;

	if (wtl_date_parse(text, strlen(text), &date) == 0) {
		when.kind = date.has_zone ? WTL_WHEN_UTC : WTL_WHEN_LOCAL;
		when.ns = wtl_date_utc_ns(&date.date) - date.zone_s * WTL_NS_PER_S;
	} else if (wtl_date_parse_clock(text, strlen(text), &when.ns) == 0) {
		when.kind = WTL_WHEN_CLOCK;
	} else if (wtl_when_parse_length(text + (text[0] == '+'), &when.ns) < 0) {
		return -EINVAL;
	}
	*ret_when = when;
	return 0;
}

const char *wtl_when_forms(void)
{
	return "a time such as '2026-11-21 14:00' or 14:00 (local) or 2026-11-21T14:00Z (UTC), "
	       "from 1970 to 2261, or one since the start such as +90 or +1h30m";
}

/* Is the offset from UTC the same at both moments? */
static bool is_even(time_t from_s, time_t to_s)
{
	struct tm from, to;

	return localtime_r(&from_s, &from) && localtime_r(&to_s, &to) &&
	       from.tm_gmtoff == to.tm_gmtoff;
}

/* false: the local clock never shows that time, or not with this is_dst. */
static bool local_as(const struct tm *wanted, int is_dst, int64_t *ret_s)
{
	struct tm tm = *wanted, shown;
	time_t seconds;

	tm.tm_isdst = is_dst;
	seconds = mktime(&tm);
	*ret_s = seconds;
	return localtime_r(&seconds, &shown) && shown.tm_hour == wanted->tm_hour &&
	       shown.tm_min == wanted->tm_min && shown.tm_mday == wanted->tm_mday;
}

int64_t wtl_when_local_utc_ns(int64_t wall_ns, bool is_second)
{
	struct wtl_date date = wtl_date_of(wall_ns);
	const struct tm tm = {
		.tm_year = (int)date.year - 1900,
		.tm_mon = (int)date.month - 1,
		.tm_mday = (int)date.day,
		.tm_hour = (int)date.hour,
		.tm_min = (int)date.minute,
		.tm_sec = (int)date.second,
	};
	int64_t summer_s, winter_s, any_s;
	bool is_summer, is_winter;

	local_as(&tm, -1, &any_s);
	/* mktime() searches decades for an is_dst that the zone never had: it is not asked without need. */
	if (is_even(any_s - 86400, any_s + 86400))
		return any_s * WTL_NS_PER_S + date.nanosecond;
	is_summer = local_as(&tm, 1, &summer_s);
	is_winter = local_as(&tm, 0, &winter_s);
	if (is_summer && is_winter && is_second)
		any_s = summer_s > winter_s ? summer_s : winter_s;
	else if (is_summer && is_winter)
		any_s = summer_s < winter_s ? summer_s : winter_s;
	return any_s * WTL_NS_PER_S + date.nanosecond;
}

/* Local midnight of that moment's day, as if it were UTC. */
static int64_t midnight_ns(int64_t t_utc_ns)
{
	time_t seconds = (time_t)(t_utc_ns / WTL_NS_PER_S);
	struct wtl_date date = {.year = 1970, .month = 1, .day = 1};
	struct tm tm;

	if (localtime_r(&seconds, &tm)) {
		date.year = (unsigned)(tm.tm_year + 1900);
		date.month = (unsigned)(tm.tm_mon + 1);
		date.day = (unsigned)tm.tm_mday;
	}
	return wtl_date_is_valid(&date) ? wtl_date_utc_ns(&date) : 0;
}

static int64_t clock_utc_ns(int64_t clock_ns, int64_t after_utc_ns)
{
	int64_t wall_ns = midnight_ns(after_utc_ns) + clock_ns;
	int64_t utc_ns = wtl_when_local_utc_ns(wall_ns, false);

	if (utc_ns < after_utc_ns - CLOCK_SLACK_NS)
		utc_ns = wtl_when_local_utc_ns(wall_ns + 86400 * WTL_NS_PER_S, false);
	return utc_ns;
}

int wtl_when_since_ns(const struct wtl_when *when, int64_t begin_utc_ns, int64_t after_ns,
		      int64_t *ret_since_ns)
{
	int64_t utc_ns = 0;

	switch (when->kind) {
	case WTL_WHEN_NOT:
	case WTL_WHEN_SINCE:
		*ret_since_ns = when->ns;
		return 0;
	case WTL_WHEN_UTC:
		utc_ns = when->ns;
		break;
	case WTL_WHEN_LOCAL:
		utc_ns = wtl_when_local_utc_ns(when->ns, false);
		break;
	case WTL_WHEN_CLOCK:
		utc_ns = clock_utc_ns(when->ns, begin_utc_ns + after_ns);
		break;
	}
	return __builtin_sub_overflow(utc_ns, begin_utc_ns, ret_since_ns) ? -ERANGE : 0;
}

bool wtl_when_is_backwards(const struct wtl_when *from, const struct wtl_when *to)
{
	/* A time of day is never backwards: 13:00 after 14:00 is that of the next day. */
	return from->kind == to->kind && from->kind != WTL_WHEN_NOT &&
	       from->kind != WTL_WHEN_CLOCK && from->ns >= to->ns;
}
