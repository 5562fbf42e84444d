/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_SEED_H
#define WTL_PROFILE_SEED_H

#include <pthread.h>

#include "profile/trace.h"

struct wtl_rings;

/*
 * Attaches to a running process and its descendants: all of their threads, also those born meanwhile. Their names and
 * mappings are read from /proc and passed to the trace. Another thread drains the rings into it, and holds the lock
 * while it does. What is mapped meanwhile may be passed twice, which does no harm.
 */
struct wtl_trace_attach {
	struct wtl_trace *trace;
	struct wtl_rings *rings;
	pthread_mutex_t *lock;
	int pid;
	size_t n_denied; /* descendants without permission */
};

/* Calls take() for each executable mapping of a process, as rings do. */
void wtl_seed_maps(int pid, void (*take)(void *context, const struct wtl_ring_event *event),
		   void *context);

int wtl_trace_attach(struct wtl_trace_attach *attach,
		     struct wtl_err *err); /* 0, or negative with the reason */

#endif
