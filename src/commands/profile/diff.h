/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_DIFF_H
#define WTL_COMMANDS_PROFILE_DIFF_H

#include <stddef.h>
#include <stdint.h>

#include "commands/profile/saved.h"
#include "profile/functions.h"

struct wtl_app;

/*
 * Profiles of two programs, or of one before and after a change, function by function. Each side is one run or several.
 */

enum wtl_diff_what {
	WTL_DIFF_OWN_UJ,
	WTL_DIFF_ALL_UJ,
	WTL_DIFF_OWN_NS,
	WTL_DIFF_ALL_NS,
	WTL_DIFF_WHATS
};

struct wtl_diff_cell {
	uint64_t values[WTL_DIFF_WHATS];
	uint64_t n_own, n_all; /* samples */
	uint64_t doubts_uj[2]; /* due to learned watts: own, with calls */
	bool is_own;	       /* one of the program's, not of an installed library's */
};

struct wtl_diff {
	struct wtl_saved *runs; /* the first side's, then the second's */
	size_t n_runs, n_first;
	struct wtl_functions functions; /* of all runs */
	struct wtl_diff_cell *cells;	/* n_runs per function, then n_runs of whole runs */
	bool is_same_machine;		/* all runs are by the same sensors */
	bool has_energy;		/* false: a run lacks it, and CPU time is compared */
};

struct wtl_difference_row {
	double first, second; /* means */
	double change;	      /* second - first */
	double uncertainty;   /* of the change; k = 2 */
	bool is_significant;
};

/* Collects the functions of runs[]. 0 or -ENOMEM; done() in any case, which does not end the runs. */
int wtl_diff_make(struct wtl_diff *diff, struct wtl_saved *runs, size_t n_runs, size_t n_first);
void wtl_diff_done(struct wtl_diff *diff);
/* Whether a function is the program's in one of the runs, not an installed library's. */
bool wtl_diff_is_own(const struct wtl_diff *diff, size_t function);
/* A function's row; functions.n: that of whole runs. */
void wtl_diff_row(const struct wtl_diff *diff, size_t function, enum wtl_diff_what what,
		  struct wtl_difference_row *ret_row);

/* `wattle profile diff A B`: returns its exit code. */
int wtl_profile_diff(struct wtl_app *app);

#endif
