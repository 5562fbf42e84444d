/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_EDGES_H
#define WTL_COMMANDS_PROFILE_EDGES_H

#include "commands/profile/stacks.h"

/* Who calls whom, wherever in the tree: one edge for each caller, line of it, and function that is called. */
struct wtl_edge {
	uint32_t caller; /* WTL_EDGE_ROOT: nobody */
	uint32_t line;	 /* of the caller */
	uint32_t callee;
	uint64_t *own,
		*all; /* n_metrics: of what is called, itself and with its calls; recursion is counted once */
};

enum { WTL_EDGE_ROOT = UINT32_MAX };

struct wtl_edges {
	struct wtl_edge *list; /* by callee; or by caller, line and callee */
	size_t n;
	uint64_t *values;
};

/* 0 or -ENOMEM; done() in any case. */
int wtl_edges_make(struct wtl_edges *edges, const struct wtl_stacks *stacks, bool by_caller);
void wtl_edges_done(struct wtl_edges *edges);

#endif
