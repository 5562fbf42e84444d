/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_PAST_H
#define WTL_SERVE_PAST_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wattle.h>

#include "serve/live.h"

/*
 * What an agent keeps of the last day for those who ask how it was: the power of each domain by time, who had used how
 * much by when, and windows that ended. A cache of fixed size, some 500 KB for 8 domains: what is to stay is in the
 * recordings, and after a restart it is filled from those (past_fill.h). For several threads; nobody waits for more
 * than a copy.
 *
 * It is kept by a clock that nobody sets: the time since boot, and at the first look it shows UTC. Whoever asks says and
 * is told UTC as the clock shows it now: where the clock was set meanwhile, no stretch is longer or shorter for it, and
 * none is gone.
 */

enum {
	WTL_PAST_LEVELS = 3,
	WTL_PAST_DOMAINS = 64,	/* those after them are not kept */
	WTL_PAST_POINTS = 1000, /* that are given at most */
	WTL_PAST_USERS = WTL_TOTALS_GROUPINGS * WTL_TOTALS_PLACES,
	WTL_PAST_MARKS = 60 + 60 + 144 + 1, /* moments of which it is known who had used how much */
	WTL_PAST_WINDOWS = 256,
};

/* Power in a stretch of time, in watts. */
struct wtl_past_cell {
	float mean, uncertainty, least, most; /* k = 2; mean NAN: not known */
};

/* A day at most, by steps of a second, ten or sixty. Cells are at their number modulo their count. */
struct wtl_past_level {
	int64_t step_ns;
	size_t n;
	int64_t newest; /* its time (not UTC) / step_ns; INT64_MIN: there is none */
	struct wtl_past_cell *cells;
};

/* A cell on its way. */
struct wtl_past_sum {
	double joules, uncertainty, seconds;
	float least, most;
};

/* Sums of one source of points: what is measured now, or what a recording had. One a level and column. */
struct wtl_past_sums {
	int64_t number[WTL_PAST_LEVELS]; /* of the cells that they are of */
	struct wtl_past_sum *of;
};

struct wtl_past_window {
	char name[64];
	int64_t begin_utc_ns, end_utc_ns;
	uint64_t energy_uj, uncertainty_uj;
	bool has_energy;
};

/* Who had used how much at a moment: energy in the counted domains, of each place of wtl_totals. */
struct wtl_past_mark {
	int64_t t_ns; /* not UTC */
	uint64_t accounts_uj[WTL_TOTALS_ACCOUNTS];
};

/* Where it stands: plain numbers, which past_blob.c tells as they lie. */
struct wtl_past_state {
	int64_t boot_ns;      /* the time since boot at which its own clock would have shown 0 */
	int64_t ahead_ns;     /* how far UTC is ahead of its own clock: the clock was set so far */
	int64_t seen_ns;      /* the newest look; 0: none was yet */
	int64_t begin_ns;     /* of what was measured now: what is older comes from recordings */
	int64_t agent_utc_ns; /* when the agent began whose counters the marks are of */
	uint64_t n_marks[WTL_PAST_LEVELS]; /* ever, in each ring */
	uint64_t n_windows;		   /* ever: the newest are kept */
};

struct wtl_past {
	pthread_mutex_t lock;
	size_t n_domains, n_columns;  /* a column a domain, and one for the total */
	char (*names)[WTL_NAME_SIZE]; /* of the domains */
	struct wtl_past_state state;
	struct wtl_past_level levels[WTL_PAST_LEVELS];
	struct wtl_past_sums now;
	/* Rings of marks, every 10 s, minute and 10 minutes, and the newest. What users had used by place, then by mark. */
	struct wtl_past_mark *marks;
	uint64_t *used_uj;
	char (*users)[WTL_TOTALS_NAME_SIZE];
	int64_t *user_since_ns;		 /* when that name got the place; 0: there is none */
	struct wtl_past_window *windows; /* by its own clock */
};

/* Of those domains, the snapshots' first ones in their order. 0 or -ENOMEM; done() in any case. */
int wtl_past_init(struct wtl_past *past, const char *const names[], size_t n);
void wtl_past_done(struct wtl_past *past);

/* What a snapshot says of its last interval. Takes no memory. */
void wtl_past_look(struct wtl_past *past, const struct wtl_live *live);
void wtl_past_add_window(struct wtl_past *past, const struct wtl_past_window *window);
/* Was that looked at, of the same agent, or one after it? */
bool wtl_past_knows(const struct wtl_past *past, const struct wtl_live *live);

/* Its parts for the clock and for power; past_users.c calls them, with the lock. false: it has no time. */
bool wtl_past_look_at_clock(struct wtl_past *past, const struct wtl_live *live);
void wtl_past_look_at_power(struct wtl_past *past, const struct wtl_live *live);
/* By its own clock. */
int64_t wtl_past_own_time(const struct wtl_past *past, int64_t t_utc_ns);

/* ---- For who fills it with what was before ---- */

int wtl_past_sums_init(struct wtl_past_sums *sums, const struct wtl_past *past);
void wtl_past_sums_done(struct wtl_past_sums *sums);
/* A stretch of the past that was not looked at, the sums' newest: watts and their ± (k = 2) by columns, NAN where not
 * known. What is known already stays. */
void wtl_past_add(struct wtl_past *past, struct wtl_past_sums *sums, int64_t t_utc_ns,
		  int64_t duration_ns, const float watts[], const float uncertainties[]);

bool wtl_past_has_begun(const struct wtl_past *past); /* something is known */
/* The power that another one of the same domains knows, and this one, which has begun, does not. */
void wtl_past_take(struct wtl_past *past, const struct wtl_past *other);

/* ---- For who asks ---- */

/* Power from one moment to another in at most WTL_PAST_POINTS + 1 steps. */
struct wtl_past_curve {
	int64_t begin_utc_ns, step_ns;
	size_t n, n_columns;
	struct wtl_past_cell *cells; /* n_columns a step; the last one is the total's */
};

/* 0 or -ENOMEM; free(ret_curve->cells). */
int wtl_past_curve(struct wtl_past *past, int64_t from_utc_ns, int64_t to_utc_ns,
		   struct wtl_past_curve *ret_curve);

/* What was used between two moments, the nearest ones that are known: from the one before, until the one after. Whoever
 * has no place any more is in the overflow, with what he used in that time; nobody is in the retired. */
struct wtl_past_use {
	int64_t begin_utc_ns, end_utc_ns;
	uint64_t accounts_uj[WTL_TOTALS_ACCOUNTS];
	uint64_t users_uj[WTL_PAST_USERS]; /* WTL_TOTALS_PLACES a grouping */
	char names[WTL_PAST_USERS][WTL_TOTALS_NAME_SIZE];
};

/* false: nothing is known of it. */
bool wtl_past_use(struct wtl_past *past, int64_t from_utc_ns, int64_t to_utc_ns,
		  struct wtl_past_use *ret_use);

/* Copies the windows that were open at any time between those, oldest first; how many. */
size_t wtl_past_windows(struct wtl_past *past, int64_t from_utc_ns, int64_t to_utc_ns,
			struct wtl_past_window windows[WTL_PAST_WINDOWS]);

#endif
