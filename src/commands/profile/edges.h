/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_EDGES_H
#define WTL_COMMANDS_PROFILE_EDGES_H

#include "commands/profile/stacks.h"

/* The call graph: one edge per caller, line of the caller, and callee, wherever in the tree. */
struct wtl_edge {
	uint32_t caller; /* WTL_EDGE_ROOT: none */
	uint32_t line;	 /* of the caller */
	uint32_t callee;
	uint64_t *own,
		*all; /* n_metrics each: the callee itself, and with its calls; recursion is counted once */
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
