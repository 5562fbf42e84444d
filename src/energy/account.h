/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_ACCOUNT_H
#define WTL_ENERGY_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "energy/budget.h"
#include "energy/catalog.h"
#include "energy/counter.h"
#include "energy/integrate.h"
#include "energy/reading.h"

/* Power is not stated over less than this, nor over less than 10 updates of the sensor: RAPL's edges
 * jitter by up to 1 ms (facts/rapl-and-processes.md 2). */
#define WTL_POWER_MIN_NS (20 * WTL_NS_PER_MS)

/*
 * The running energy of one channel since the meter opened, and the difference between any two
 * moments (marks). Memory is fixed; nothing here allocates or reads a clock.
 */
struct wtl_account {
	const struct wtl_channel *channel;
	union {
		struct wtl_counter counter;    /* quantity ENERGY */
		struct wtl_integral *integral; /* quantity POWER: borrowed, for it is large */
	};
	struct wtl_reading last_ok; /* the newest good reading; t_mono_ns < 0: none yet */
	enum wattle_status status;  /* of the newest reading, good or not; FAILED for a good one
				      whose value cannot be */
	int error;
	const char *reason, *remedy; /* that reading's */
	uint32_t samples;	     /* good readings with a time of their own */

	/* A counter that no longer counts. */
	int64_t still_ns;     /* since when it shows its present value, the time asleep left out */
	int64_t rest_seen_ns; /* the longest standstill that ended in a step */
	bool has_slept; /* since the newest good reading: then a standing counter proves nothing */
	bool is_frozen;
	int64_t lost_ns; /* standstills of that kind that did not end in a certain step */

	/* Power between samples, over stretches long enough for this sensor; of a power sensor only
	 * what is settled, which is some time before its newest reading. */
	uint64_t span_uj;
	int64_t span_ns, span_half_ns;
	uint64_t span_uw; /* of the last complete stretch */
	uint32_t spans;	  /* complete stretches so far */

	/* The sensor's update period, seen by watching a counter stand still between updates. */
	int64_t change_ns; /* when the value last changed */
	bool stood_still;
	bool is_catching_up;	/* the newest step holds more than the time since the one before */
	int64_t update_seen_ns; /* smoothed; 0: not seen */
};

/* The state of an account at one moment. */
struct wtl_mark {
	bool valid;   /* false: taken while the channel could not be read; it becomes valid with the
		       first good reading after it */
	int64_t t_ns; /* of the moment itself */
	int64_t from_ns; /* of the reading that energy_uj belongs to */
	int64_t half_ns;
	uint64_t energy_uj;
	int64_t gap_ns;
	uint32_t samples, resets;
	struct wtl_integral_mark integral;
};

/*
 * What an account says about the time between two moments: measured_ns + gap_ns is that time, but
 * for what an update of the sensor (or 1 ms) more or less at either edge makes.
 */
struct wtl_figure {
	bool has_energy; /* false: none of it was measured */
	uint64_t energy_uj;
	int64_t measured_ns, gap_ns;
	uint32_t samples, resets;
	struct wtl_budget budget;
};

/* integral is borrowed, and only used (then not NULL) for a channel of quantity POWER. */
void wtl_account_init(struct wtl_account *account, const struct wtl_channel *channel,
		      struct wtl_integral *integral);

/* Takes a reading in. Readings with the time of the last one are ignored, as are failed ones but for
 * their status; a value that cannot be (outside a counter's range, absurd power) is a failed one.
 * Returns true when a stretch of power (span_uw) was completed. */
bool wtl_account_feed(struct wtl_account *account, const struct wtl_reading *reading);

/* What follows is a new epoch: the machine slept in between, or the counter was opened anew. */
void wtl_account_break(struct wtl_account *account);

/* How often the account lost track: resets, gaps. */
uint64_t wtl_account_breaks(const struct wtl_account *account);

/* Energy since the start. */
uint64_t wtl_account_uj(const struct wtl_account *account);

/* The update period: what was seen, else what the channel says; 0: not known. */
int64_t wtl_account_update_ns(const struct wtl_account *account);

/* Standard uncertainty of the moment that the newest good reading is of: it was sampled somewhere
 * within the read, and a counter has the value of its last update. */
int64_t wtl_account_edge_ns(const struct wtl_account *account);

/* The counter of a part that always draws something has not moved yet, for too short a time to say
 * that it never will: its 0 J are no figure of what was drawn. */
bool wtl_account_is_unclear(const struct wtl_account *account);

/*
 * Marks the moment t_ns, right after the account was fed. fresh_ns is when the sample began: an
 * account whose newest good reading is older than that cannot tell its energy at t_ns, and its mark
 * is not valid yet.
 */
void wtl_account_mark(const struct wtl_account *account, int64_t t_ns, int64_t fresh_ns,
		      struct wtl_mark *ret_mark);

/* Makes a mark valid if the account has been fed since. Call after each feed while a mark is open. */
void wtl_account_settle_mark(const struct wtl_account *account, struct wtl_mark *mark);

/* The figure from an earlier mark to the moment t_ns, the account having been fed right before. */
void wtl_account_since(const struct wtl_account *account, const struct wtl_mark *mark, int64_t t_ns,
		       struct wtl_figure *ret_figure);

#endif
