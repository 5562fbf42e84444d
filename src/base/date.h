/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_DATE_H
#define WTL_BASE_DATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A date and time of the calendar, 1970 to 2261 (what nanoseconds since 1970 can tell). Nothing here
 * reads the environment, as gmtime_r() does in glibc. */
struct wtl_date {
	unsigned year, month, day, hour, minute, second; /* month and day from 1 */
	uint32_t nanosecond;
};

bool wtl_date_is_valid(const struct wtl_date *date);

/* Of a valid date in UTC, nanoseconds since 1970; and back, for t_utc_ns >= 0. */
int64_t wtl_date_utc_ns(const struct wtl_date *date);
struct wtl_date wtl_date_of(int64_t t_utc_ns);

/* What a text like the ones below says. */
struct wtl_date_text {
	struct wtl_date date;
	bool has_time;	/* hours and minutes; else it is the day's start */
	bool has_zone;	/* "Z", "UTC" or an offset */
	int32_t zone_s; /* how far the date is ahead of UTC */
};

/*
 * ISO 8601 as people write it: "2026-11-21", "2026-11-21T14:00Z", "2026-11-21 14:00:30.5",
 * "2026-11-21T14:00:00+01:00", "2026-11-21 14:00 UTC". 0 or -EINVAL: rubbish, or no such day.
 */
int wtl_date_parse(const char *text, size_t len, struct wtl_date_text *ret);

/* A text that says all of it, with time and zone: nanoseconds since 1970. 0 or -EINVAL. */
int wtl_date_parse_utc(const char *text, size_t len, int64_t *ret_utc_ns);

/* "14:00", "14:00:30", "14:00:30.25": the time of day alone, in nanoseconds since midnight. 0 or
 * -EINVAL. */
int wtl_date_parse_clock(const char *text, size_t len, int64_t *ret_ns);

/* "Mon Oct 13 00:25:36 2025", as asctime() writes it; the day of the week may be any. 0 or -EINVAL. */
int wtl_date_parse_asctime(const char *text, size_t len, struct wtl_date *ret);

#endif
