/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_ALIAS_H
#define WTL_ENERGY_ALIAS_H

#include <stddef.h>
#include <stdint.h>

/* How restless a series of readings is. Powers in microwatts, as standard deviations. */
struct wtl_alias {
	double rough_uw;     /* from one reading to the next, as if they were independent */
	double beat_uw;	     /* of a slow swing through many readings */
	double beat_updates; /* the period of that swing, in readings; 0 when there is none */
};

#define WTL_ALIAS_MAX 96

/* Changes that are kept: of all histories and distances of alias.c. */
#define WTL_ALIAS_CHANGES 597

/* The newest readings, microwatts, and their changes in order of size. Zeroed: none. */
struct wtl_alias_readings {
	size_t begin, n; /* in power_uw, oldest first */
	int64_t power_uw[2 * WTL_ALIAS_MAX];
	int64_t change_uw[WTL_ALIAS_CHANGES];
};

/* The next one; of those before, WTL_ALIAS_MAX - 1 stay. */
void wtl_alias_add(struct wtl_alias_readings *readings, int64_t power_uw);

/*
 * Scans them.
 *
 * A sensor that measures 25 ms in every 100 ms turns a load with a period near 100 ms into a slow beat
 * of its readings. A step of the load moves the readings once; a beat moves them all the time. So
 * the scan takes medians of |P[i+k] - P[i]| over several distances k: one or two steps in the
 * history leave them alone. How much the median grows from k/2 to k gives period and amplitude of
 * the sinusoid that would do the same: growth = 2 cos(pi k / 2 period), median = sqrt(2) amplitude
 * sin(pi k / period). Fewer than 14 readings give 0: too early to tell.
 */
void wtl_alias_scan(const struct wtl_alias_readings *readings, struct wtl_alias *ret);

#endif
