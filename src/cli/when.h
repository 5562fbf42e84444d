/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_WHEN_H
#define WTL_CLI_WHEN_H

#include <stdbool.h>
#include <stdint.h>

/* A moment of a recording, as --from and --to give it. */
enum wtl_when_kind {
	WTL_WHEN_NOT,	/* not given */
	WTL_WHEN_SINCE, /* time since the start: "90", "+1h30m", "250ms" */
	WTL_WHEN_UTC,	/* "2026-11-21T14:00Z" */
	WTL_WHEN_LOCAL, /* "2026-11-21 14:00": this machine's time zone */
	WTL_WHEN_CLOCK, /* "14:00": local, the first one after the start */
};

struct wtl_when {
	enum wtl_when_kind kind;
	int64_t ns; /* since the start; since 1970, as if it were UTC; or since midnight */
};

/* 0 or -EINVAL. */
int wtl_when_parse(const char *text, struct wtl_when *ret_when);

/* A length of time: "90" (seconds), "1.5min", "1h30m", "7d", "2w". 0 or -EINVAL. */
int wtl_when_parse_length(const char *text, int64_t *ret_ns);

/* The forms in one line, for error texts. */
const char *wtl_when_forms(void);

/* Nanoseconds since the start. A time of day is searched from `after_ns` (since the start)
 * on: for --to, that is the moment of --from. Local times go by TZ. 0 or -ERANGE. */
int wtl_when_since_ns(const struct wtl_when *when, int64_t begin_utc_ns, int64_t after_ns,
		      int64_t *ret_since_ns);

/* A local time (as if it were UTC) as UTC, by TZ's rules for that time. A clock
 * that was put back showed some times twice: is_second says which is meant. */
int64_t wtl_when_local_utc_ns(int64_t wall_ns, bool is_second);

/* Is --to not after --from, whatever the recording? */
bool wtl_when_is_backwards(const struct wtl_when *from, const struct wtl_when *to);

#endif
