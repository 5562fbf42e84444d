/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_SPLIT_H
#define WTL_PROFILE_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/trace.h"

/*
 * From what the meter measured to who called what: the energy that a program was billed (meter/consumers.h) is divided
 * over time by what the domain drew from sample to sample, then among the threads that were on a processor, then
 * among the stacks that they were seen with. Every microjoule of each bill goes to exactly one node, or to one of the
 * rows below; in integers.
 */

/* What is no stack's. */
enum wtl_split_row {
	WTL_SPLIT_UNSAMPLED, /* a thread ran, and was not seen */
	WTL_SPLIT_UNKNOWN,   /* billed, and no thread is known to have run */
	WTL_SPLIT_OUTSIDE,   /* whatever ran, at a time that was not asked for */
	WTL_SPLIT_ROWS
};

/* The machine at a moment: each domain's energy since the start. */
struct wtl_split_tick {
	int64_t t_ns;
	uint64_t *energy_uj; /* one a domain */
};

/* What the program was billed up to a moment, of each domain, since the bill before. */
struct wtl_split_bill {
	int64_t t_ns;
	int64_t busy_ns; /* CPU time of everybody since the bill before; < 0: not known */
	int64_t own_ns;	 /* of it, the program's; < 0: not known */
	uint64_t *dynamic_uj, *idle_uj; /* one a domain: above idle; its part of idle */
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
	int64_t begin_ns; /* the first bill's interval begins */
	/* However long it takes, there are no more ticks than that: then one of so many is kept, and the last one. */
	size_t ticks_most, ticks_each, n_since;
	/* Of each domain: are watts of functions learned (learn.h), or is every second of CPU time alike? NULL: they are
	 * alike everywhere. Borrowed. */
	const bool *learns;
	/* Of each domain: does its energy go to the stacks that launched work on it, or wait for it (launch.h)? NULL: none's
	 * does. Borrowed. */
	const bool *launches;
	const struct wtl_split_stretch *stretches; /* NULL: all of it is asked for. Borrowed. */
	size_t n_stretches;
};

void wtl_split_init(struct wtl_split *split, size_t n_domains, int64_t begin_ns);
/* Is what was there at that moment asked for? */
bool wtl_split_asks(const struct wtl_split *split, int64_t t_ns);
void wtl_split_done(struct wtl_split *split);
/* In the order of time. The arrays of the new one are zeros, to be filled. NULL: no memory. */
struct wtl_split_tick *wtl_split_add_tick(struct wtl_split *split, int64_t t_ns);
struct wtl_split_bill *wtl_split_add_bill(struct wtl_split *split, int64_t t_ns);

/* What it comes to: of each node itself, and of what is no stack's. */
struct wtl_split_result {
	size_t n_domains, n_nodes;
	uint64_t *dynamic_uj, *idle_uj; /* n_domains a node, then n_domains a row */
	/* Standard uncertainty of the dynamic energy, as watts are learned: one node may have of another what it has too
	 * much, so that of several together it is at most their sum, and at most the sum of all others. */
	uint64_t *doubt_uj;
	int64_t *cpu_ns;     /* a node, then a row */
	uint64_t *n_samples; /* a node */
	int64_t *wait_ns;    /* a node, on no processor; NULL: nobody asked, or not of a part */
};

/* 0 or -ENOMEM; done() in any case. */
int wtl_split_compute(const struct wtl_split *split, const struct wtl_trace *trace,
		      struct wtl_split_result *ret_result);
/*
 * The uncertainty (k = 2) of energy in which n of n_all samples were seen, as a part of all energy: by how many samples
 * those are, and by its doubts and those of everything.
 */
double wtl_split_uncertainty_uj(double energy_uj, uint64_t n, uint64_t n_all, double doubt_uj,
				double doubt_all_uj);
void wtl_split_result_done(struct wtl_split_result *result);

#endif
