/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_INTENSITY_H
#define WTL_ENERGY_INTENSITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wtl_err;

/*
 * A grid's carbon intensity over time: steps, each of which holds until the next one begins. The last
 * holds as long as the one before it; a single one always.
 */

enum { WTL_INTENSITY_STEPS_MAX = 1 << 22 };

struct wtl_intensity_step {
	int64_t t_utc_ns;
	uint32_t mg_per_kwh; /* WTL_INTENSITY_UNKNOWN: until the next step it is not known */
};

#define WTL_INTENSITY_UNKNOWN UINT32_MAX

struct wtl_intensity {
	struct wtl_intensity_step *steps;
	size_t n, room;
};

/*
 * From CSV: a time (ISO 8601; UTC, unless it has an offset) and grams of CO2 equivalent per kWh (0 to
 * 10000, at most three decimals; nothing: not known). A first line that does not begin with a digit is
 * a heading; empty lines and those that begin with # are passed over. Times rise. 0; -WTL_EFORMAT, with
 * the line's number in err; -ENOMEM.
 */
int wtl_intensity_parse(struct wtl_intensity *ret_intensity, const char *text, size_t len,
			struct wtl_err *err);
void wtl_intensity_done(struct wtl_intensity *intensity); /* a zeroed one is fine */

/*
 * The intensity at a moment, and until when it is that (INT64_MAX: for ever). false: it is not known,
 * until then.
 */
bool wtl_intensity_at(const struct wtl_intensity *intensity, int64_t t_utc_ns,
		      uint32_t *ret_mg_per_kwh, int64_t *ret_until_utc_ns);

/* What was emitted over some time. A zeroed one is the start. */
struct wtl_emission {
	__int128 uj_mg_per_kwh; /* energy times intensity, exact */
	int64_t energy_uj;	/* of times with a known intensity */
	int64_t missing_uj;	/* of others */
	int64_t known_ns, missing_ns;
	bool has_intensity; /* the next two mean something */
	uint32_t least_mg_per_kwh, greatest_mg_per_kwh;
};

/*
 * Adds an energy that was used evenly from one moment to another: each step gets its part, to the last
 * microjoule. May be negative: an earlier estimate was too high. Where the time does not rise (the
 * clock was set) it counts as of the second moment.
 */
void wtl_emission_add(struct wtl_emission *emission, const struct wtl_intensity *intensity,
		      int64_t from_utc_ns, int64_t to_utc_ns, int64_t energy_uj);

/* What is in `later` and not in `earlier`, which it grew from. */
struct wtl_emission wtl_emission_since(const struct wtl_emission *later,
				       const struct wtl_emission *earlier);

/* Micrograms of CO2 equivalent, to the nearest (halves up); of the energy with a known intensity. */
uint64_t wtl_emission_ug(const struct wtl_emission *emission);

/* Its mean intensity by energy; 0 where there was no energy. */
uint32_t wtl_emission_mean_mg_per_kwh(const struct wtl_emission *emission);

#endif
