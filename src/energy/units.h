/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_UNITS_H
#define WTL_ENERGY_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#define WTL_NS_PER_S  INT64_C(1000000000)
#define WTL_NS_PER_MS INT64_C(1000000)
#define WTL_UJ_PER_J  UINT64_C(1000000)

/* A tick of /proc's times: USER_HZ is 100 on every architecture that wattle is built for. */
#define WTL_NS_PER_TICK (WTL_NS_PER_S / 100)

/* What one count of a channel is worth, as an exact fraction: num/den µJ for an energy counter,
 * num/den µW for a power reading. den is never 0. */
struct wtl_unit {
	uint64_t num;
	uint64_t den;
};

#define WTL_UNIT_MICRO ((struct wtl_unit){.num = 1, .den = 1})
#define WTL_UNIT_MILLI ((struct wtl_unit){.num = 1000, .den = 1})

/*
 * The unit for a scale given as a decimal in joules per count, as the perf system prints it. Scales
 * that are a power of two (2^-32 J, Linux arch/x86/events/rapl.c) or a whole number of microjoules
 * come out exact; others within 1e-12. false for a scale that is not positive, above 1000 J, or
 * (below 1e-13 J) too small for that.
 */
bool wtl_unit_from_scale(double joules_per_count, struct wtl_unit *ret_unit);

/* counts × unit, rounded down. Saturates at UINT64_MAX. */
uint64_t wtl_unit_convert(struct wtl_unit unit, uint64_t counts);

/* The other way, rounded down: how many counts make up that many µJ. Saturates. */
uint64_t wtl_unit_counts(struct wtl_unit unit, uint64_t micro);

/* energy / time, rounded to nearest; 0 for dt_ns <= 0. Saturates. */
uint64_t wtl_power_uw(uint64_t energy_uj, int64_t dt_ns);

/* power × time, rounded to nearest; 0 for dt_ns <= 0. Saturates. */
uint64_t wtl_energy_uj(uint64_t power_uw, int64_t dt_ns);

/* a + b, or UINT64_MAX. */
uint64_t wtl_add_sat(uint64_t a, uint64_t b);

#endif
