/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_STACKS_H
#define WTL_COMMANDS_PROFILE_STACKS_H

#include "commands/profile/profile.h"

/*
 * A profile for formats: a tree of calls with several costs each. It has a node per line of a function, or one for all
 * lines, as the format needs.
 */

/* Costs without a stack. */
#define WTL_STACKS_NOT_SEEN "[not seen]"
#define WTL_STACKS_NO_TIME  "[at an unknown time]"

enum wtl_stacks_unit {
	WTL_STACKS_COUNT,
	WTL_STACKS_NS,
	WTL_STACKS_UJ,
	WTL_STACKS_UG, /* micrograms */
	WTL_STACKS_BYTES,
	WTL_STACKS_UNITS
};

/* These always come first; then the domains, then waiting, time in all and memory growth, if recorded. */
enum { WTL_METRIC_SAMPLES, WTL_METRIC_CPU, WTL_METRIC_ENERGY, WTL_METRIC_CO2E, WTL_METRIC_DOMAINS };

struct wtl_stacks_metric {
	char name[64];	 /* "energy", "package-0 energy" */
	char title[128]; /* for people */
	enum wtl_stacks_unit unit;
	size_t domain; /* which domain, for domains' metrics */
};

struct wtl_stacks_function {
	const char *name;
	const char *label;  /* without file and line: "fit" of "fit (train.py:12)" */
	const char *file;   /* its source; if not known, what is in object. "": not known */
	const char *object; /* the program or library; "": not known, or Python's */
	uint32_t line;	    /* its first line; 0: not known */
	uint64_t address;   /* where it begins in its object; 0: not known */
};

struct wtl_stacks {
	const struct wtl_profile *profile;
	struct wtl_stacks_metric *metrics;
	size_t n_metrics, end_domains; /* the first metric after the domains' */
	size_t main;   /* for formats with one metric: energy, or CPU time without it */
	size_t wait;   /* metric of time on no processor; 0: not recorded */
	size_t clock;  /* CPU time and waiting together; 0: not recorded */
	size_t growth; /* metric of memory growth; 0: not recorded */
	/* A frame's name is the function's number, its address the line (0: all lines). Node 0 is the root. */
	struct wtl_tree tree;
	struct wtl_tree files;		       /* its names: file names */
	struct wtl_stacks_function *functions; /* by function number */
	uint32_t *of_nodes;		       /* the node here of each node of the trace */
	uint64_t *own, *all; /* n_metrics per node: itself; with all that it called */
	uint64_t *functions_own,
		*functions_all; /* n_metrics per function; recursion is counted once */
	/* Doubts of the total's energy (profile/split.h), two per node and function: itself, and with calls. */
	uint64_t *doubts, *functions_doubts;
	/* Peak memory of processes in each node and function, with calls, in bytes; 0: not known. NULL: for all. */
	uint64_t *peaks, *functions_peaks;
};

/* The profile must have places. 0 or -ENOMEM; done() in any case. */
int wtl_stacks_make(struct wtl_stacks *stacks, const struct wtl_profile *profile, bool has_lines);
void wtl_stacks_done(struct wtl_stacks *stacks);

/* Whether a metric is known: if no energy is, neither are its emissions. */
bool wtl_stacks_is_known(const struct wtl_stacks *stacks, size_t metric);
uint32_t wtl_stacks_function(const struct wtl_stacks *stacks, size_t node); /* not of the root */
uint32_t wtl_stacks_line(const struct wtl_stacks *stacks, size_t node);	    /* 0: not known */

/* How much of a function's name was its own, before its path or address were added to tell it from others. */
size_t wtl_stacks_name_len(const struct wtl_stacks_function *function);

/* Whether a function is an installed library's or interpreter's, not the program's. */
bool wtl_stacks_is_installed(const struct wtl_stacks *stacks, size_t function);

/* The unit's name in formats: "microjoules"; and the unit for people with its factor: "J", 1e6. */
const char *wtl_stacks_unit_name(enum wtl_stacks_unit unit);
const char *wtl_stacks_unit_symbol(enum wtl_stacks_unit unit, double *ret_factor);

#endif
