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

/*
 * Scans power_uw[0..n-1], oldest first (the last WTL_ALIAS_MAX are used).
 *
 * A sensor that looks 25 ms in every 100 ms turns a load with a period near 100 ms into a slow beat
 * of its readings. A step of the load moves the readings once; a beat moves them all the time. So
 * the scan takes medians of |P[i+k] - P[i]| over several distances k: one or two steps in the
 * history leave them alone. How much the median grows from k/2 to k gives period and amplitude of
 * the sinusoid that would do the same: growth = 2 cos(pi k / 2 period), median = sqrt(2) amplitude
 * sin(pi k / period). Fewer than 14 readings give 0: too early to tell.
 */
void wtl_alias_scan(const int64_t *power_uw, size_t n, struct wtl_alias *ret);

#endif
