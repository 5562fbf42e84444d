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
 * What an agent keeps of the last day for queries: the power of each domain over time,
 * the use by each group at moments in the past, and windows that ended. A cache of fixed
 * size, some 500 KB for 8 domains: recordings keep what has to stay, and fill this after
 * a restart (past_fill.h). For several threads; nobody waits for more than a copy.
 *
 * It has a clock of its own that nobody sets: the time since boot, shifted so that it
 * showed UTC at the first look. Queries and answers have UTC as the clock shows it now.
 * If that was set meanwhile, no stretch became longer or shorter, and none is lost.
 */

enum {
	WTL_PAST_LEVELS = 3,
	WTL_PAST_DOMAINS = 64,	/* later domains are not kept */
	WTL_PAST_POINTS = 1000, /* an answer has at most one more */
	WTL_PAST_USERS = WTL_TOTALS_GROUPINGS * WTL_TOTALS_PLACES,
	WTL_PAST_MARKS = 60 + 60 + 144 + 1, /* moments for which each group's use is known */
	WTL_PAST_WINDOWS = 256,
};

/* Power in a stretch of time, in watts. */
struct wtl_past_cell {
	float mean, uncertainty, least, most; /* k = 2; mean NAN: not known */
};

/* A level: a day at most, in steps of a second, ten or sixty. Cell N is at N modulo their count. */
struct wtl_past_level {
	int64_t step_ns;
	size_t n;
	int64_t newest; /* its own time / step_ns; INT64_MIN: there is none */
	struct wtl_past_cell *cells;
};

/* A cell that is being summed up. */
struct wtl_past_sum {
	double joules, uncertainty, seconds;
	float least, most;
};

/* The sums of one source of points: what is measured now, or a recording. One for each level and column. */
struct wtl_past_sums {
	int64_t number[WTL_PAST_LEVELS]; /* the cells that they are for */
	struct wtl_past_sum *of;
};

struct wtl_past_window {
	char name[64];
	int64_t begin_utc_ns, end_utc_ns;
	uint64_t energy_uj, uncertainty_uj;
	bool has_energy;
};

/* The use up to a moment: energy in the counted domains, for each place of wtl_totals. */
struct wtl_past_mark {
	int64_t t_ns; /* by the past's own clock */
	uint64_t accounts_uj[WTL_TOTALS_ACCOUNTS];
};

/* Its state: plain numbers, which past_blob.c copies as they are. */
struct wtl_past_state {
	int64_t boot_ns;      /* the time since boot at which its own clock shows 0 */
	int64_t ahead_ns;     /* UTC - its own clock */
	int64_t seen_ns;      /* the newest look; 0: none was yet */
	int64_t begin_ns;     /* the start of measurement: what is older comes from recordings */
	int64_t agent_utc_ns; /* start of the agent whose counters are in the marks */
	uint64_t n_marks[WTL_PAST_LEVELS]; /* so far, in each ring */
	uint64_t n_windows;		   /* so far: the newest are kept */
};

struct wtl_past {
	pthread_mutex_t lock;
	size_t n_domains, n_columns;  /* a column a domain, and one for the total */
	char (*names)[WTL_NAME_SIZE]; /* of the domains */
	struct wtl_past_state state;
	struct wtl_past_level levels[WTL_PAST_LEVELS];
	struct wtl_past_sums now;
	/* Rings of marks, every 10 s, minute and 10 minutes, and the newest. used_uj: by place, then by mark. */
	struct wtl_past_mark *marks;
	uint64_t *used_uj;
	char (*users)[WTL_TOTALS_NAME_SIZE];
	int64_t *user_since_ns;		 /* when that name got the place; 0: nobody has it */
	struct wtl_past_window *windows; /* by its own clock */
};

/* For those domains, which must be the snapshots' first ones, in their order. 0 or -ENOMEM; done() in any case. */
int wtl_past_init(struct wtl_past *past, const char *const names[], size_t n);
void wtl_past_done(struct wtl_past *past);

/* Takes a snapshot's last interval. Needs no memory. */
void wtl_past_look(struct wtl_past *past, const struct wtl_live *live);
void wtl_past_add_window(struct wtl_past *past, const struct wtl_past_window *window);
/* Has it taken that snapshot, or a later one of the same agent? */
bool wtl_past_knows(const struct wtl_past *past, const struct wtl_live *live);

/* Its parts for the clock and for power; past_users.c calls them, with the lock held. false: it has no time. */
bool wtl_past_look_at_clock(struct wtl_past *past, const struct wtl_live *live);
void wtl_past_look_at_power(struct wtl_past *past, const struct wtl_live *live);
/* UTC as its own time. */
int64_t wtl_past_own_time(const struct wtl_past *past, int64_t t_utc_ns);

/* ---- For filling it from recordings ---- */

int wtl_past_sums_init(struct wtl_past_sums *sums, const struct wtl_past *past);
void wtl_past_sums_done(struct wtl_past_sums *sums);
/* Adds a stretch of the past, which must be later than the sums' others: watts and
 * their ± (k = 2) by column, NAN if not known. What is known already stays. */
void wtl_past_add(struct wtl_past *past, struct wtl_past_sums *sums, int64_t t_utc_ns,
		  int64_t duration_ns, const float watts[], const float uncertainties[]);

bool wtl_past_has_begun(const struct wtl_past *past); /* Is anything known? */
/* Takes the power that `other`, of the same domains, knows and this one, which has begun, does not. */
void wtl_past_take(struct wtl_past *past, const struct wtl_past *other);

/* ---- For queries ---- */

/* Power from one moment to another in at most WTL_PAST_POINTS + 1 steps. */
struct wtl_past_curve {
	int64_t begin_utc_ns, step_ns;
	size_t n, n_columns;
	struct wtl_past_cell *cells; /* n_columns for each step; the last one is the total's */
};

/* 0 or -ENOMEM; free(ret_curve->cells). */
int wtl_past_curve(struct wtl_past *past, int64_t from_utc_ns, int64_t to_utc_ns,
		   struct wtl_past_curve *ret_curve);

/* The use between two moments, or the nearest known ones around them. The overflow has
 * the use, in that time, of groups that have no place any more. The retired has none. */
struct wtl_past_use {
	int64_t begin_utc_ns, end_utc_ns;
	uint64_t accounts_uj[WTL_TOTALS_ACCOUNTS];
	uint64_t users_uj[WTL_PAST_USERS]; /* WTL_TOTALS_PLACES a grouping */
	char names[WTL_PAST_USERS][WTL_TOTALS_NAME_SIZE];
};

/* false: nothing is known of that time. */
bool wtl_past_use(struct wtl_past *past, int64_t from_utc_ns, int64_t to_utc_ns,
		  struct wtl_past_use *ret_use);

/* Copies the windows that were open at any time between those, oldest first; how many. */
size_t wtl_past_windows(struct wtl_past *past, int64_t from_utc_ns, int64_t to_utc_ns,
			struct wtl_past_window windows[WTL_PAST_WINDOWS]);

#endif
