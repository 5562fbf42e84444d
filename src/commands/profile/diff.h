/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_DIFF_H
#define WTL_COMMANDS_PROFILE_DIFF_H

#include <stddef.h>
#include <stdint.h>

#include "commands/profile/saved.h"
#include "profile/tree.h"

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
	uint64_t doubts_uj[2]; /* as watts are learned: own, with calls */
};

struct wtl_diff {
	struct wtl_saved *runs; /* of the first side, then of the second */
	size_t n_runs, n_first;
	struct wtl_tree keys;	     /* its names: what functions are called */
	struct wtl_diff_cell *cells; /* n_runs a function, then those of whole runs */
	bool is_same_machine;	     /* all were measured by the same sensors */
	bool has_energy; /* else that of a run is not known, and they differ by CPU time */
};

struct wtl_difference_row {
	double first, second; /* means */
	double change;	      /* second - first */
	double uncertainty;   /* of that; k = 2 */
	bool is_significant;
};

/* The functions of what runs[] have. 0 or -ENOMEM; done() in any case, which does not end the runs. */
int wtl_diff_make(struct wtl_diff *diff, struct wtl_saved *runs, size_t n_runs, size_t n_first);
void wtl_diff_done(struct wtl_diff *diff);
/* Of a function, or of whole runs: keys.n_names. */
void wtl_diff_row(const struct wtl_diff *diff, size_t function, enum wtl_diff_what what,
		  struct wtl_difference_row *ret_row);

/* `wattle profile diff A B`: its exit code. */
int wtl_profile_diff(struct wtl_app *app);

#endif
