/* SPDX-License-Identifier: MIT */
#include "commands/profile/edges.h"

#include <errno.h>
#include <stdlib.h>

struct place {
	uint32_t key[3]; /* the first has precedence */
	uint32_t node;
};

static int by_key(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	for (size_t i = 0; i < 3; i++)
		if (x->key[i] != y->key[i])
			return x->key[i] < y->key[i] ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static struct place place_of(const struct wtl_stacks *stacks, uint32_t node, bool by_caller)
{
	uint32_t parent = stacks->tree.nodes[node].parent;
	uint32_t callee = wtl_stacks_function(stacks, node);
	uint32_t caller = parent ? wtl_stacks_function(stacks, parent) : (uint32_t)WTL_EDGE_ROOT;
	uint32_t line = parent ? wtl_stacks_line(stacks, parent) : 0;

	if (by_caller)
		return (struct place){{caller, line, callee}, node};
	return (struct place){{callee, caller, line}, node};
}

/* Whether no caller is the same function (recursion). */
static bool is_outermost(const struct wtl_stacks *stacks, uint32_t node)
{
	uint32_t function = wtl_stacks_function(stacks, node);

	for (uint32_t at = stacks->tree.nodes[node].parent; at; at = stacks->tree.nodes[at].parent)
		if (wtl_stacks_function(stacks, at) == function)
			return false;
	return true;
}

static void add(const struct wtl_stacks *stacks, struct wtl_edge *edge, uint32_t node)
{
	bool is_counted = is_outermost(stacks, node);

	for (size_t i = 0; i < stacks->n_metrics; i++) {
		edge->own[i] += stacks->own[node * stacks->n_metrics + i];
		if (is_counted)
			edge->all[i] += stacks->all[node * stacks->n_metrics + i];
	}
}

static void merge(struct wtl_edges *edges, const struct wtl_stacks *stacks,
		  const struct place *places, bool by_caller)
{
	for (size_t i = 0; i + 1 < stacks->tree.n_nodes; i++) {
		const struct place *place = &places[i];
		struct wtl_edge *edge = &edges->list[edges->n];

		if (i > 0 && place->key[0] == place[-1].key[0] &&
		    place->key[1] == place[-1].key[1] && place->key[2] == place[-1].key[2]) {
			add(stacks, edge - 1, place->node);
			continue;
		}
		edge->caller = place->key[by_caller ? 0 : 1];
		edge->line = place->key[by_caller ? 1 : 2];
		edge->callee = place->key[by_caller ? 2 : 0];
		edge->own = &edges->values[2 * edges->n * stacks->n_metrics];
		edge->all = edge->own + stacks->n_metrics;
		edges->n++;
		add(stacks, edge, place->node);
	}
}

int wtl_edges_make(struct wtl_edges *edges, const struct wtl_stacks *stacks, bool by_caller)
{
	size_t n = stacks->tree.n_nodes;
	struct place *places = calloc(n, sizeof(*places));

	*edges = (struct wtl_edges){.n = 0};
	edges->list = calloc(n, sizeof(*edges->list));
	edges->values = calloc(2 * n * stacks->n_metrics, sizeof(*edges->values));
	if (!places || !edges->list || !edges->values) {
		free(places);
		return -ENOMEM;
	}
	for (uint32_t i = 1; i < n; i++)
		places[i - 1] = place_of(stacks, i, by_caller);
	qsort(places, n - 1, sizeof(*places), by_key);
	merge(edges, stacks, places, by_caller);
	free(places);
	return 0;
}

void wtl_edges_done(struct wtl_edges *edges)
{
	free(edges->list);
	free(edges->values);
}
