/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_LAUNCH_H
#define WTL_PROFILE_LAUNCH_H

#include <stdbool.h>

struct wtl_trace;

/*
 * Stacks that work with a GPU, as far as the CPU shows: they are in a library of its driver, to launch work on it or to wait
 * for it. (Waiting is seen where it keeps the processor busy, as CUDA does unless it is told to sleep.)
 */

/* Of each node of the trace: is it in a driver, or below a function that is? NULL: no memory; free() it. */
bool *wtl_launches_find(const struct wtl_trace *trace);
/* Whether a sample was taken of any of them. */
bool wtl_launches_are_seen(const struct wtl_trace *trace);

#endif
