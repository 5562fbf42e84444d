/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_SEED_H
#define WTL_PROFILE_SEED_H

#include "profile/trace.h"

/*
 * What a process that runs already has: its threads, their names, and what it has mapped, from its files in /proc. What
 * it maps while that is read may be told twice, which is the same. 0, or negative: it has ended, or is somebody else's.
 */
int wtl_trace_seed(struct wtl_trace *trace, int pid);

#endif
