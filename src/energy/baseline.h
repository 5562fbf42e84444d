/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_BASELINE_H
#define WTL_ENERGY_BASELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A domain's idle power: what it draws at (nearly) no use. Learned as the 10 % quantile of the power
 * over stretches in which the machine was nearly idle; known once enough of them were seen.
 *
 * A low quantile, because even an idle machine has moments with more to do than others, and what
 * they add is not idle power. Its price is a bias: where power only scatters about its mean with a
 * standard deviation s from stretch to stretch, it lies 1.28 s below the mean. That is why short
 * intervals are first put together to stretches of at least 1 s, whose s is small (that of a mean
 * over 1 s), and why the uncertainty is never less than the distance from the 10 % to the 50 %
 * quantile, which for symmetric noise is that bias. What a counter that is updated every 100 ms tells
 * of 1 s scatters by 4 % in itself: a stretch goes on until its edges are 1/128 of it, up to 60 s.
 *
 * The constants are judgement: 10 %, 1 s, 1/128, 3 s until it is known, 60 s for what an earlier session
 * saw, one hour until old stretches count half, and the limits of use.
 *
 * Where a domain is modelled, the model itself says what it gives at no use, and nothing is learned.
 */
struct wtl_baseline {
	bool is_known;
	bool is_modelled; /* a model's: t_utc_ns and seen_ns are 0 */
	bool is_given;	  /* said by the user: the same */
	uint64_t idle_uw;
	uint64_t uncertainty_uw; /* standard: how far idle stretches spread, at least 1/128 of
				    idle_uw and what their edges leave open; without the sensor's gain, which is the same for idle and
				    busy */
	int64_t t_utc_ns;	 /* when it was last learned */
	int64_t seen_ns;	 /* idle time that it rests on, the old counted less */
};

struct wtl_baseline_learner;

struct wtl_baseline_learner *wtl_baseline_learner_new(void);	      /* NULL: no memory */
void wtl_baseline_learner_free(struct wtl_baseline_learner *learner); /* NULL is fine */

/*
 * Up to how much use a machine with that many CPUs counts as nearly idle: 3 % of the whole, but no
 * more than a fifth of one CPU. (On 128 CPUs, 3 % are four busy threads, and one already doubles
 * what the cores draw.)
 */
uint32_t wtl_baseline_use_max_ppm(unsigned n_cpus);

/* Intervals with more use than this are not idle. Before it is set: 30000 (3 %). */
void wtl_baseline_learner_limit(struct wtl_baseline_learner *learner, uint32_t use_max_ppm);

/* What an earlier session learned, unless it is not known; counts as much as 60 s of idle time at the
 * most, so that new intervals replace it step by step. */
void wtl_baseline_learner_start(struct wtl_baseline_learner *learner,
				const struct wtl_baseline *known);

/* The domain is modelled, and idle_uw is what its model gives at no use, with its standard uncertainty: known
 * at once and for good. */
void wtl_baseline_learner_model(struct wtl_baseline_learner *learner, uint64_t idle_uw,
				uint64_t uncertainty_uw);

/* Sets the baseline for good: for a user who knows better, or wants to see what would be if. */
void wtl_baseline_learner_fix(struct wtl_baseline_learner *learner,
			      const struct wtl_baseline *known);

/* Energy between two reads. The edges are standard uncertainties of the times up to which the reads
 * tell; an interval begins where the one before it ended, unless there is a break. */
struct wtl_baseline_interval {
	uint64_t energy_uj;
	int64_t duration_ns; /* shorter than 20 ms: ignored */
	int64_t begin_edge_ns, end_edge_ns;
	uint32_t
		use_ppm; /* parts per million of the capacity used; UINT32_MAX: do not learn from it */
	int64_t t_utc_ns; /* its end */
};

/* Takes 2 KiB when idle power is seen in an octave for the first time; without memory that stretch is
 * not learned from. */
void wtl_baseline_learner_add(struct wtl_baseline_learner *learner,
			      const struct wtl_baseline_interval *interval);

/* The next interval does not begin where the newest one ended. */
void wtl_baseline_learner_break(struct wtl_baseline_learner *learner);

/* is_known after 3 s of idle time; before that only seen_ns is set. */
void wtl_baseline_learner_get(const struct wtl_baseline_learner *learner,
			      struct wtl_baseline *ret_baseline);

/* ---- Kept between sessions: one line a domain ---- */

enum { WTL_BASELINE_LINE_MAX = 256 };

/* "package-0 rapl-perf 74050000 310000 2026-11-21T10:55:45Z 12000000000\n": domain, source, idle_uw,
 * uncertainty_uw, when, seen_ns. Returns the length; never more than the line's maximum. -EINVAL for
 * what could not be read back: a name that is not one word of 1 to 31 ASCII characters, or figures
 * out of range. */
int wtl_baseline_print(char line[WTL_BASELINE_LINE_MAX], const char *domain, const char *source,
		       const struct wtl_baseline *baseline);

/* The same back, from a line with or without its '\n'. domain and source get 32 bytes each. 0 or
 * -WTL_EFORMAT. */
int wtl_baseline_parse(const char *line, size_t len, char domain[32], char source[32],
		       struct wtl_baseline *ret_baseline);

#endif
