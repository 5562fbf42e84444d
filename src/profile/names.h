/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_NAMES_H
#define WTL_PROFILE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "profile/split.h"
#include "profile/trace.h"

/* The same stacks by function names instead of addresses, inlined calls included. Made once, when a profile ends. */

/* Native code of no known file. */
#define WTL_CALLS_UNKNOWN "[unknown code]"

struct wtl_calls_cost {
	uint64_t *dynamic_uj, *idle_uj; /* one per domain */
	uint64_t *doubt_uj;		/* as that of wtl_split_result */
	int64_t cpu_ns, wait_ns;
	uint64_t n_samples;
};

/* A tree of calls: each node is a function, called by its parent. Node 0 is the root. */
struct wtl_calls {
	struct wtl_tree tree; /* frames are WTL_FRAME_NAMED */
	size_t n_domains;
	uint32_t *of_nodes;		  /* the innermost call of each node of the trace */
	struct wtl_calls_cost *own, *all; /* per node: itself; with all that it called */
	uint64_t *energies;		  /* of all costs */
};

/* 0 or -ENOMEM; done() in any case. */
int wtl_calls_make(struct wtl_trace *trace, const struct wtl_split_result *result,
		   struct wtl_calls *ret_calls);
/* Makes the costs, where tree and of_nodes are filled already. 0 or -ENOMEM. */
int wtl_calls_add_up(struct wtl_calls *calls, const struct wtl_split_result *result);
void wtl_calls_done(struct wtl_calls *calls);
const char *wtl_calls_name(const struct wtl_calls *calls, size_t node);

#endif
