/* SPDX-License-Identifier: MIT */
/*
 * Stretches whose energies are known as a whole, as counters. If one lies within another, the outer one's
 * rest is spread evenly over its time outside the inner ones, so that the counter gives every stretch
 * exactly its energy. If two overlap otherwise, one counter cannot have both: the later one is left out.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "import/import.h"

struct node {
	const struct wtl_import_interval *interval;
	size_t parent; /* SIZE_MAX: none */
	int64_t inner_ns;
	bool is_out;
};

/* What one series' counter is built with. */
struct builder {
	struct wtl_import *import;
	struct node *nodes;
	size_t n;
	uint64_t *own;	/* energies of this series; UINT64_MAX: not known */
	uint64_t *rest; /* minus that of the stretches within */
	uint64_t *told; /* the part of the rest that is in the counter so far */
	int64_t *told_ns;
};

static int by_begin(const void *a, const void *b)
{
	const struct wtl_import_interval *x = ((const struct node *)a)->interval;
	const struct wtl_import_interval *y = ((const struct node *)b)->interval;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

static void find_parents(struct wtl_import *import, struct node *nodes, size_t n)
{
	size_t top = SIZE_MAX;

	for (size_t i = 0; i < n; i++) {
		const struct wtl_import_interval *own = nodes[i].interval;

		while (top != SIZE_MAX && nodes[top].interval->end_ns <= own->begin_ns)
			top = nodes[top].parent;
		nodes[i].parent = top;
		if (top != SIZE_MAX && nodes[top].interval->end_ns < own->end_ns) {
			nodes[i].is_out = true;
			wtl_import_bad(import, own->line,
				       "it overlaps line %zu, and neither lies in the other: the "
				       "same energy would count twice",
				       nodes[top].interval->line);
			continue;
		}
		if (top != SIZE_MAX)
			nodes[top].inner_ns += own->end_ns - own->begin_ns;
		top = i;
	}
}

static uint64_t energy_of(const struct wtl_import *import,
			  const struct wtl_import_interval *interval, size_t series)
{
	for (unsigned k = 0; k < interval->n; k++)
		if (import->energies[interval->first + k].series == series)
			return import->energies[interval->first + k].energy_uj;
	return UINT64_MAX;
}

/* Subtracts inner stretches from outer ones. Inner stretches with more energy than that are left out of this series. */
static void find_rests(struct builder *builder, size_t series)
{
	for (size_t i = 0; i < builder->n; i++) {
		struct node *node = &builder->nodes[i];
		size_t up = node->parent;

		builder->own[i] = node->is_out ? UINT64_MAX
					       : energy_of(builder->import, node->interval, series);
		builder->rest[i] = builder->own[i];
		builder->told[i] = 0;
		builder->told_ns[i] = node->interval->begin_ns;
		if (builder->own[i] == UINT64_MAX || up == SIZE_MAX)
			continue;
		if (builder->own[up] == UINT64_MAX || builder->rest[up] < builder->own[i]) {
			builder->own[i] = builder->rest[i] = UINT64_MAX;
			wtl_import_bad(builder->import, node->interval->line,
				       "it used more than line %zu, in which it lies",
				       builder->nodes[up].interval->line);
		} else {
			builder->rest[up] -= builder->own[i];
		}
	}
}

/* Moves the counter to t_ns within a stretch: its rest is spread over time. */
static uint64_t go_to(struct builder *builder, size_t i, int64_t t_ns, uint64_t counter)
{
	const struct node *node = &builder->nodes[i];
	int64_t outer_ns = node->interval->end_ns - node->interval->begin_ns - node->inner_ns;
	uint64_t part = builder->rest[i] - builder->told[i];

	if (t_ns < node->interval->end_ns) {
		double share =
			outer_ns > 0 ? (double)(t_ns - builder->told_ns[i]) / (double)outer_ns : 0;
		uint64_t wanted = (uint64_t)(share * (double)builder->rest[i]);

		part = wanted < part ? wanted : part;
	}
	builder->told[i] += part;
	builder->told_ns[i] = t_ns;
	return counter + part;
}

/* Puts a point at t_ns, unless the one before has the same time. */
static void put(struct builder *builder, size_t series, int64_t t_ns, uint64_t counter, bool anew)
{
	const struct wtl_import_series *to = &builder->import->series[series];

	if (to->n > 0 && to->points[to->n - 1].t_ns == t_ns)
		return;
	if (anew && to->n > 0)
		wtl_import_restart(builder->import, series, t_ns, counter);
	else
		wtl_import_put(builder->import, series, t_ns, counter);
}

static uint64_t close_until(struct builder *builder, size_t series, size_t *top, int64_t t_ns,
			    uint64_t counter)
{
	while (*top != SIZE_MAX && builder->nodes[*top].interval->end_ns <= t_ns) {
		size_t closed = *top;
		int64_t end_ns = builder->nodes[closed].interval->end_ns;

		counter = go_to(builder, closed, end_ns, counter);
		*top = builder->nodes[closed].parent;
		while (*top != SIZE_MAX && builder->own[*top] == UINT64_MAX)
			*top = builder->nodes[*top].parent;
		if (*top != SIZE_MAX)
			builder->told_ns[*top] = end_ns;
		/* A stretch around it with the same end first adds its rest, too. */
		if (*top == SIZE_MAX || builder->nodes[*top].interval->end_ns > end_ns)
			put(builder, series, end_ns, counter, false);
	}
	return counter;
}

static void build(struct builder *builder, size_t series)
{
	size_t top = SIZE_MAX;
	uint64_t counter = 0;

	find_rests(builder, series);
	for (size_t i = 0; i < builder->n; i++) {
		int64_t begin_ns = builder->nodes[i].interval->begin_ns;

		if (builder->own[i] == UINT64_MAX)
			continue;
		counter = close_until(builder, series, &top, begin_ns, counter);
		if (top != SIZE_MAX)
			counter = go_to(builder, top, begin_ns, counter);
		put(builder, series, begin_ns, counter, top == SIZE_MAX);
		top = i;
	}
	close_until(builder, series, &top, INT64_MAX, counter);
}

/* Keeps the remaining stretches, in the order of their starts: write.c marks them. */
static void keep(struct wtl_import *import, const struct node *nodes, size_t n,
		 struct wtl_import_interval *kept)
{
	import->n_intervals = 0;
	for (size_t i = 0; i < n; i++)
		if (!nodes[i].is_out)
			kept[import->n_intervals++] = *nodes[i].interval;
	memcpy(import->intervals, kept, import->n_intervals * sizeof(*kept));
}

int wtl_import_settle(struct wtl_import *import)
{
	size_t n = import->n_intervals;
	struct builder builder = {.import = import, .n = n};
	uint64_t *numbers = calloc(n + 1, 4 * sizeof(*numbers));
	struct wtl_import_interval *kept = calloc(n + 1, sizeof(*kept));
	int rc = -ENOMEM;

	builder.nodes = calloc(n + 1, sizeof(*builder.nodes));
	if (numbers && kept && builder.nodes) {
		builder.own = numbers;
		builder.rest = numbers + n;
		builder.told = numbers + 2 * n;
		builder.told_ns = (int64_t *)(numbers + 3 * n);
		for (size_t i = 0; i < n; i++)
			builder.nodes[i].interval = &import->intervals[i];
		qsort(builder.nodes, n, sizeof(*builder.nodes), by_begin);
		find_parents(import, builder.nodes, n);
		for (size_t i = 0; i < import->n_series; i++)
			if (import->series[i].what == WTL_IMPORT_ENERGY_UJ)
				build(&builder, i);
		keep(import, builder.nodes, n, kept);
		rc = import->error;
	}
	free(numbers);
	free(kept);
	free(builder.nodes);
	return rc;
}
