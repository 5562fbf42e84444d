/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_SEED_H
#define WTL_PROFILE_SEED_H

#include <pthread.h>

#include "profile/trace.h"

struct wtl_rings;

/*
 * Looks at a process that runs already, and at its descendants: all of their threads, also those that are born
 * meanwhile. What they are called and what they have mapped is told to the trace, from their files in /proc. Another
 * thread drains the rings into it, and holds the lock while it does. What a process maps while it is read may be told
 * twice, which is the same.
 */
struct wtl_trace_attach {
	struct wtl_trace *trace;
	struct wtl_rings *rings;
	pthread_mutex_t *lock;
	int pid;
	size_t n_denied; /* descendants that may not be looked at */
};

/* Tells what a process has mapped to run, as rings do. */
void wtl_seed_maps(int pid, void (*take)(void *context, const struct wtl_ring_event *event),
		   void *context);

int wtl_trace_attach(struct wtl_trace_attach *attach,
		     struct wtl_err *err); /* 0, or negative with the reason */

#endif
