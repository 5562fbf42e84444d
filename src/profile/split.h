/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_SPLIT_H
#define WTL_PROFILE_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/trace.h"

/*
 * Divides the energy that a program was billed (meter/consumers.h) among its stacks. First over time, by what the
 * domain drew from tick to tick; then among the threads on a processor; then among the stacks that they were seen with.
 * Every microjoule of each bill goes to exactly one node, or to one of the rows below; in integers.
 */

/* What belongs to no stack. */
enum wtl_split_row {
	WTL_SPLIT_UNSAMPLED, /* a thread ran, but no sample of it is near */
	WTL_SPLIT_UNKNOWN,   /* billed, but no thread is known to have run */
	WTL_SPLIT_OUTSIDE,   /* outside the stretches that are asked for */
	WTL_SPLIT_ROWS
};

/* The machine at a moment: each domain's energy since the start. */
struct wtl_split_tick {
	int64_t t_ns;
	uint64_t *energy_uj; /* one per domain */
};

/* What the program was billed up to a moment, of each domain, since the bill before. */
struct wtl_split_bill {
	int64_t t_ns;
	int64_t busy_ns; /* CPU time of everybody since the bill before; < 0: not known */
	int64_t own_ns;	 /* of it, the program's; < 0: not known */
	uint64_t *dynamic_uj, *idle_uj; /* one per domain: above idle; its part of idle */
	uint64_t *idle_uw;		/* the domain's idle power; UINT64_MAX: not known */
};

/* A stretch of time that is asked for: from the tick at its start to the one at its end. */
struct wtl_split_stretch {
	int64_t begin_ns, end_ns;
};

struct wtl_split {
	size_t n_domains;
	struct wtl_split_tick *ticks;
	struct wtl_split_bill *bills;
	size_t n_ticks, n_bills, room_ticks, room_bills;
	int64_t begin_ns;  /* start of the first bill's interval */
	int64_t period_ns; /* of samples, in the threads' CPU time; 0: not known */
	/* The most ticks kept. Beyond that, only one of each ticks_each is kept, and the last one. */
	size_t ticks_most, ticks_each, n_since;
	/* Per domain: whether the watts of functions are learned (learn.h); else every second of CPU time counts
	 * alike. NULL: for none. Borrowed. */
	const bool *learns;
	/* Per domain: whether its energy goes to the stacks that launch work on it, or wait for it (launch.h). NULL:
	 * for none. Borrowed. */
	const bool *launches;
	const struct wtl_split_stretch *stretches; /* NULL: all of it is asked for. Borrowed. */
	size_t n_stretches;
};

void wtl_split_init(struct wtl_split *split, size_t n_domains, int64_t begin_ns);
/* Whether that moment is asked for. */
bool wtl_split_asks(const struct wtl_split *split, int64_t t_ns);
void wtl_split_done(struct wtl_split *split);
/* Call in the order of time. The new one's arrays are zeros, to be filled. NULL: no memory. */
struct wtl_split_tick *wtl_split_add_tick(struct wtl_split *split, int64_t t_ns);
struct wtl_split_bill *wtl_split_add_bill(struct wtl_split *split, int64_t t_ns);

/* The result: for each node itself, and for each row. */
struct wtl_split_result {
	size_t n_domains, n_nodes;
	uint64_t *dynamic_uj, *idle_uj; /* n_domains per node, then n_domains per row */
	/* Standard uncertainty of the dynamic energy, as watts are learned. What one node has too much, others lack:
	 * for several together it is at most their sum, and at most the sum of all others. */
	uint64_t *doubt_uj;
	int64_t *cpu_ns;     /* one per node, then one per row */
	uint64_t *n_samples; /* one per node */
	int64_t *wait_ns;    /* one per node, on no processor; NULL: not known */
};

/* 0 or -ENOMEM; done() in any case. */
int wtl_split_compute(const struct wtl_split *split, const struct wtl_trace *trace,
		      struct wtl_split_result *ret_result);
/*
 * The uncertainty (k = 2) of energy in which n of n_all samples were seen: by the number of samples, and by its doubts
 * and those of everything.
 */
double wtl_split_uncertainty_uj(double energy_uj, uint64_t n, uint64_t n_all, double doubt_uj,
				double doubt_all_uj);
void wtl_split_result_done(struct wtl_split_result *result);

#endif
