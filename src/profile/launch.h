/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_LAUNCH_H
#define WTL_PROFILE_LAUNCH_H

#include <stdbool.h>

struct wtl_trace;

/*
 * Finds stacks that use a GPU: those in a library of its driver, which launch work or wait for it. (Waiting has samples
 * only if it spins on the processor, as CUDA does unless it is set to block.)
 */

/* For each node of the trace: is it in a driver, or called from one? NULL: no memory. free() it. */
bool *wtl_launches_find(const struct wtl_trace *trace);
/* Whether any sample has such a node. */
bool wtl_launches_are_seen(const struct wtl_trace *trace);

#endif
