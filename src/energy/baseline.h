/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_BASELINE_H
#define WTL_ENERGY_BASELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A domain's idle power: what it draws at (nearly) no use. Learned as a low quantile of the power
 * over intervals in which the machine was nearly idle; known once enough of them were seen.
 */
struct wtl_baseline {
	bool is_known;
	uint64_t idle_uw;
	uint64_t
		uncertainty_uw; /* standard: how far idle intervals spread; without the sensor's gain,
				    which is the same for idle and busy */
	int64_t t_utc_ns;	/* when it was last learned */
	int64_t seen_ns;	/* idle time that it rests on */
};

struct wtl_baseline_learner;

struct wtl_baseline_learner *wtl_baseline_learner_new(void);	      /* NULL: no memory */
void wtl_baseline_learner_free(struct wtl_baseline_learner *learner); /* NULL is fine */

/* What an earlier session learned; from then on new intervals replace it step by step. */
void wtl_baseline_learner_start(struct wtl_baseline_learner *learner,
				const struct wtl_baseline *known);

/* One interval: energy over duration_ns (shorter than 200 ms is ignored), with `use_ppm` parts per
 * million of the capacity used. Allocates nothing. */
void wtl_baseline_learner_add(struct wtl_baseline_learner *learner, uint64_t energy_uj,
			      int64_t duration_ns, uint32_t use_ppm, int64_t t_utc_ns);

void wtl_baseline_learner_get(const struct wtl_baseline_learner *learner,
			      struct wtl_baseline *ret_baseline);

/* ---- Kept between sessions: one line a domain ---- */

enum { WTL_BASELINE_LINE_MAX = 256 };

/* "package-0 rapl-perf 74050000 310000 2026-11-21T10:55:45Z 12000000000\n": domain, source, idle_uw,
 * uncertainty_uw, when, seen_ns. Returns the length; never more than the line's maximum. */
int wtl_baseline_print(char line[WTL_BASELINE_LINE_MAX], const char *domain, const char *source,
		       const struct wtl_baseline *baseline);

/* The same back, from a line with or without its '\n'. domain and source get 32 bytes each. 0 or
 * -WTL_EFORMAT. */
int wtl_baseline_parse(const char *line, size_t len, char domain[32], char source[32],
		       struct wtl_baseline *ret_baseline);

#endif
