/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_INTEGRATE_H
#define WTL_ENERGY_INTEGRATE_H

#include <stdbool.h>
#include <stdint.h>

#include "energy/alias.h"
#include "energy/sensor_class.h"

/*
 * Energy out of polled power readings, with lag correction and a stated uncertainty. What is done
 * and why: docs/integration.md. Fixed memory, no allocation, no I/O, no clock.
 *
 * Times are int64_t nanoseconds of one monotonic clock, powers microwatts, energies microjoules.
 */

#define WTL_INTEGRAL_RING 128

/* Readings above this (100 kW) are refused as nonsense: so uint64_t microjoules last for 5 years. */
#define WTL_INTEGRAL_MAX_UW UINT64_C(100000000000)

__extension__ typedef unsigned __int128 wtl_u128;

/* What has been summed up to some time. Differences of two are what happened in between. */
struct wtl_integral_sums {
	wtl_u128 energy; /* microwatt nanoseconds, exact */
	int64_t uncovered_ns;
	uint64_t updates;
	double interpolation_uj2; /* variance: power between two readings */
	double jump_uj;		  /* the same for lone jumps, as if all erred alike (linear) */
	double rough_uj2;	  /* variance: unseen time, readings independent */
	double swing_uj;	  /* unseen time, readings in step with the load (adds linearly) */
	double swing_uj2;	  /* the same as a variance once it averages out */
};

/* One distinct reading, placed at the middle of what it averaged. */
struct wtl_integral_knot {
	int64_t t_ns;
	uint64_t power_uw;
	bool after_gap; /* the time since the previous knot is a gap: nothing known */
	struct wtl_integral_sums sums;
};

/* What the times given to wtl_integral_add() are. */
enum wtl_integral_stamp {
	WTL_STAMP_POLL,	  /* when the value was read; it appeared some time since the poll before */
	WTL_STAMP_SENSOR, /* when the value appeared, by the sensor's own account */
};

struct wtl_integral {
	struct wtl_sensor_class class;
	enum wtl_integral_stamp stamp;
	int64_t gap_ns;
	uint64_t most_uw;  /* what the part may draw, set by the caller after init; 0: not known */
	unsigned head;	   /* index of the next knot to write */
	unsigned count;	   /* knots in the ring */
	int64_t update_ns; /* when the newest reading appeared */
	int64_t seen_ns;   /* when a poll first showed it */
	int64_t poll_ns;   /* time of the newest sample, repeated values included */
	int64_t poll_gap_ns; /* between the last two samples */
	int64_t spacing_ns;  /* between distinct readings, smoothed */
	struct wtl_alias alias;
	unsigned n_unscanned; /* so many of the newest readings are not in alias yet */
	uint64_t samples;     /* accepted, repeats included */
	uint64_t rejected;    /* refused: time going back, absurd power */
	uint64_t gaps;
	uint64_t total_uj; /* largest total handed out, see wtl_integral_total_uj() */
	/* Large, so init does not clear them: counts say what they hold. */
	struct wtl_alias_readings readings;
	struct wtl_integral_knot ring[WTL_INTEGRAL_RING];
};

/*
 * A time with everything summed up to it. Plain data: copy it freely. While its time is still within
 * the ring (128 updates: 12.8 s at 100 ms) it is worked out afresh, from the readings that came
 * since; later it stands as it was taken, which costs what `sd_uj` says.
 */
struct wtl_integral_mark {
	int64_t t_ns;
	struct wtl_integral_sums sums;
	double level_uw; /* lag-corrected power at that time */
	double edge_uj;	 /* standard uncertainty of where within the averaging window it lies */
	double tail_uj;	 /* standard uncertainty of what no reading has reported yet */
	bool settled;	 /* later readings will not change it */
};

struct wtl_integral_energy {
	uint64_t energy_uj;
	int64_t covered_ns;
	int64_t uncovered_ns; /* in gaps: their energy is absent, not estimated */
	uint64_t updates; /* distinct readings; below ~10 the window is too short for the sensor */
	bool settled;
	/* standard uncertainties (k = 1), independent of each other; the sensor's gain is not in here */
	double sampling_uj;	 /* time that a part-time or slowly polled sensor did not see */
	double interpolation_uj; /* where between two readings the power changed */
	double edge_uj;		 /* where within an averaging window begin and end lie */
	double lag_uj;		 /* the delay is not known exactly: it shifts both ends together */
	double tail_uj; /* the last update period or so, not yet reported; 0 once settled */
};

/*
 * class is copied. gap_ns: a hole in the samples longer than this is a gap; 0 picks 20 update
 * periods but at least 2 s. Held within 1 ms and 1 h.
 */
void wtl_integral_init(struct wtl_integral *integral, const struct wtl_sensor_class *class,
		       enum wtl_integral_stamp stamp, int64_t gap_ns);

/*
 * Takes one sample: every poll, repeated values too (they tell that the reading still held). t_ns is
 * the time of the poll, or the sensor's own stamp where it has one.
 *
 * 1: a new reading. 0: a repeat (same value within the update period, or same stamp as before).
 * -EINVAL: time went back. -ERANGE: above WTL_INTEGRAL_MAX_UW. Refused samples change nothing but
 * `rejected`.
 */
int wtl_integral_add(struct wtl_integral *integral, int64_t t_ns, uint64_t power_uw);

/*
 * Marks a time, usually now. 0; -ENODATA before the first sample; -ERANGE when the time lies before
 * what the ring holds.
 */
int wtl_integral_mark(const struct wtl_integral *integral, int64_t t_ns,
		      struct wtl_integral_mark *ret_mark);

/* The earliest time that can be marked, if there was a sample. */
int64_t wtl_integral_known_ns(const struct wtl_integral *integral);

/* Energy from the first sample to the mark, as it was taken. */
uint64_t wtl_integral_mark_uj(const struct wtl_integral_mark *mark);

/*
 * Energy between two marks. Both are worked out afresh where the ring still holds their times, so
 * calling it again later (a delay and two update periods after the end) gives the settled value.
 * In one state of the integral, energies of adjoining windows add up exactly. 0, -EINVAL when end
 * lies before begin.
 */
int wtl_integral_between(const struct wtl_integral *integral, const struct wtl_integral_mark *begin,
			 const struct wtl_integral_mark *end,
			 struct wtl_integral_energy *ret_energy);

/*
 * Running total since the first sample. Never falls: where a later reading shows that the newest,
 * unreported stretch was guessed too high, it stands still until the truth has caught up.
 */
uint64_t wtl_integral_total_uj(struct wtl_integral *integral, int64_t t_ns);

/* How long after a window's end its figure is settled. */
int64_t wtl_integral_settle_ns(const struct wtl_integral *integral);

#endif
