/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_SAME_H
#define WTL_COMMANDS_PROFILE_SAME_H

#include <stddef.h>
#include <stdint.h>

#include "commands/profile/stacks.h"
#include "profile/functions.h"

/*
 * Which functions of several profiles are the same: those of one name, file and program or library, however much of
 * these a profile shows. Files and programs may have moved from one side to the other, and programs have another name.
 */

/* Adds the functions of runs of two sides, each once, and names them. numbers[run] gets the number of each. Runs are
 * n_first of the first side, then those of the second. 0 or -ENOMEM. */
int wtl_same_functions(const struct wtl_stacks *runs, size_t n_runs, size_t n_first,
		       struct wtl_functions *functions, uint32_t *const numbers[]);

#endif
