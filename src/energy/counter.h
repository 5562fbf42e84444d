/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_COUNTER_H
#define WTL_ENERGY_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

#include "energy/units.h"

/* What must be known of a counter to take a difference. */
struct wtl_counter_spec {
	uint64_t range;	      /* it wraps to 0 after range - 1; 0: it does not wrap */
	struct wtl_unit unit; /* µJ per count */
	uint64_t max_uw;      /* it never draws more; 0: not known */
};

/*
 * A sensor publishes what it has counted up to this much later: 1 s covers every known update
 * period. So a reading may hold that much of the time before, and lack as much of its own.
 *
 * What that costs: a reset that leaves the counter within max_uw × (dt_ns + 1 s) ahead of (or, with a
 * range, one wrap after) the value before it passes for consumption. The error is below that bound,
 * and at 1 kW a counter of 262 kJ must have stood within 0.4 % of its range.
 */
#define WTL_COUNTER_SLACK_NS WTL_NS_PER_S

enum wtl_step {
	WTL_STEP_OK,	    /* the difference is certain */
	WTL_STEP_WRAPPED,   /* certain, and the counter wrapped once */
	WTL_STEP_RESET,	    /* it started anew: the energy between the two is not known */
	WTL_STEP_AMBIGUOUS, /* it may have wrapped one time more or less: not known either */
	WTL_STEP_BAD,	    /* a value is outside the range, or time goes back: not known */
};

/*
 * The counts that passed between two readings of one counter, dt_ns apart. The only place in
 * wattle that subtracts two counter values.
 *
 * With a range, every number of wraps k is possible for which the energy of
 *	cur - prev + k × range
 * is at least 0 and at most max_uw × (dt_ns + WTL_COUNTER_SLACK_NS): exactly one is a certain
 * difference, none a reset, several ambiguous. Without max_uw the least k is taken. Without a range
 * a step back, or one that is too large, is a reset. *ret_counts is set for OK and WRAPPED only.
 */
enum wtl_step wtl_counter_step(const struct wtl_counter_spec *spec, uint64_t prev, uint64_t cur,
			       int64_t dt_ns, uint64_t *ret_counts);

/*
 * A counter followed over time: the sum of all certain steps. What a step leaves of a µJ is kept for
 * the next, so that nothing is lost to rounding however often it is read, and the sum is not bound
 * to 64 bits of counts (of 2^-32 J they last a package of 500 W 99 days).
 *
 * measured_ns + gap_ns is the time from the first reading to the last, always.
 */
struct wtl_counter {
	struct wtl_counter_spec spec;
	bool started;  /* there has been a reading */
	bool has_base; /* last is good for the next difference */
	uint64_t last;
	int64_t last_ns;
	uint64_t energy_uj;  /* passed since the start, whole µJ; saturates */
	uint64_t rest;	     /* and beyond them, in 1/unit.den µJ */
	int64_t measured_ns; /* time in certain steps */
	int64_t gap_ns;	     /* time in steps that are not known */
	uint32_t wraps, resets, gaps;
};

void wtl_counter_init(struct wtl_counter *counter, const struct wtl_counter_spec *spec);

/*
 * Takes a reading in. dt of 0 is fine and adds nothing but a value that moved. A reading from before
 * the last one is BAD and changes nothing. A value outside the range is BAD and no base for the next
 * difference: if such values are read, the range is in doubt. OK for the first reading and for the
 * first after a break, which add nothing: has_base tells.
 */
enum wtl_step wtl_counter_feed(struct wtl_counter *counter, int64_t t_mono_ns, uint64_t value);

/* The next reading starts a new epoch: what lies between is a gap (the machine slept, the device was
 * away). Nothing before the first reading. */
void wtl_counter_break(struct wtl_counter *counter);

/* Energy since the start, rounded down to a µJ. */
uint64_t wtl_counter_uj(const struct wtl_counter *counter);

#endif
