/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_STACKS_H
#define WTL_COMMANDS_PROFILE_STACKS_H

#include "commands/profile/profile.h"

/*
 * A profile as formats have it: a tree of calls with several costs each. Made for the format that was asked for: with
 * a node for each line of a function, or one for all of them.
 */

enum wtl_stacks_unit {
	WTL_STACKS_COUNT,
	WTL_STACKS_NS,
	WTL_STACKS_UJ,
	WTL_STACKS_UG, /* micrograms */
	WTL_STACKS_BYTES,
	WTL_STACKS_UNITS
};

/* The first ones are always there, and in this order; then come the domains, then what memory grew by, if that is known. */
enum { WTL_METRIC_SAMPLES, WTL_METRIC_CPU, WTL_METRIC_ENERGY, WTL_METRIC_CO2E, WTL_METRIC_DOMAINS };

struct wtl_stacks_metric {
	char name[64];	 /* "energy", "package-0 energy" */
	char title[128]; /* for people */
	enum wtl_stacks_unit unit;
	size_t domain; /* of those of domains */
};

struct wtl_stacks_function {
	const char *name;
	const char *label; /* where file and line stand beside it: "fit" of "fit (train.py:12)" */
	const char *file;  /* "" where it is not known */
	uint32_t line;	   /* where it begins; 0: not known */
};

struct wtl_stacks {
	const struct wtl_profile *profile;
	struct wtl_stacks_metric *metrics;
	size_t n_metrics, end_domains; /* behind those of domains */
	size_t main;   /* of formats with one: energy, or CPU time if there is none */
	size_t wait;   /* time on no processor; 0: nobody asked */
	size_t growth; /* of memory; 0: it was not looked at */
	/* Names are functions' numbers, and lines frames' addresses (0: all of them). Node 0 is the root. */
	struct wtl_tree tree;
	struct wtl_tree files;		       /* its names: those of files */
	struct wtl_stacks_function *functions; /* by number */
	uint32_t *of_nodes;		       /* the node of each node of the trace */
	uint64_t *own, *all; /* n_metrics a node: itself; with all that it called */
	uint64_t *functions_own,
		*functions_all; /* n_metrics a function; recursion is counted once */
	/* Doubts of the total's energy (profile/split.h), of each node and function: itself, and with all. */
	uint64_t *doubts, *functions_doubts;
	/* The most that processes had in each node and function, with calls, in bytes; 0: not known. NULL: nobody asked. */
	uint64_t *peaks, *functions_peaks;
};

/* Of a profile with places. 0 or -ENOMEM; done() in any case. */
int wtl_stacks_make(struct wtl_stacks *stacks, const struct wtl_profile *profile, bool has_lines);
void wtl_stacks_done(struct wtl_stacks *stacks);

/* No energy may be known, nor then what it emits. */
bool wtl_stacks_is_known(const struct wtl_stacks *stacks, size_t metric);
uint32_t wtl_stacks_function(const struct wtl_stacks *stacks, size_t node); /* not of the root */
uint32_t wtl_stacks_line(const struct wtl_stacks *stacks, size_t node);	    /* 0: not known */

/* What formats call the units: "microjoules"; and the one that people read, as a factor of it: "J", 1e6. */
const char *wtl_stacks_unit_name(enum wtl_stacks_unit unit);
const char *wtl_stacks_unit_symbol(enum wtl_stacks_unit unit, double *ret_factor);

#endif
