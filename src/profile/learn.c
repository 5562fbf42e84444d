/* SPDX-License-Identifier: MIT */
#include "profile/learn.h"

#include <stdlib.h>
#include <string.h>

#include "energy/watts.h"

/* With fewer ticks than this, weights are left as they are. */
enum { LOOKS_LEAST = 40 };

struct wtl_learned_functions {
	struct wtl_watts *watts;
	uint8_t *places; /* of each node */
	size_t n_nodes;
	struct wtl_watts_look look;
	double use_s[WTL_LEARNED_PLACES];
};

/* A function that was seen innermost. */
struct seen {
	const void *module; /* with address: the function; NULL: address is its name's number + 1 */
	uint64_t address;
	uint64_t n_samples;
	uint32_t node;
};

static int by_function(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->module != y->module)
		return (uintptr_t)x->module < (uintptr_t)y->module ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static int by_samples(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->n_samples != y->n_samples)
		return x->n_samples > y->n_samples ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* The function of a node's frame. */
static struct seen function_of(const struct wtl_trace *trace, uint32_t node)
{
	const struct wtl_tree *tree = &trace->tree;
	const struct wtl_frame *frame = node > 0 ? &tree->frames[tree->nodes[node].frame] : NULL;
	const struct wtl_module_symbol *symbol = NULL;

	if (!frame)
		return (struct seen){.node = node};
	if (frame->kind != WTL_FRAME_NATIVE)
		return (struct seen){.address = frame->name + UINT64_C(1), .node = node};
	if (frame->module)
		symbol = wtl_module_symbol(&trace->modules, frame->module, frame->address);
	return (struct seen){
		.module = frame->module, .address = symbol ? symbol->address : 0, .node = node};
}

/* Gives each node the samples of all nodes of its function. */
static void share_samples(struct seen seen[], size_t n)
{
	for (size_t first = 0, last; first < n; first = last) {
		uint64_t sum = 0;

		for (last = first; last < n && by_function(&seen[first], &seen[last]) == 0; last++)
			sum += seen[last].n_samples;
		for (size_t i = first; i < last; i++)
			seen[i].n_samples = sum;
	}
}

static int give_places(struct wtl_learned_functions *functions, const struct wtl_trace *trace)
{
	size_t n = trace->tree.n_nodes;
	struct seen *seen = calloc(n, sizeof(*seen)), *order = calloc(n, sizeof(*order));
	size_t place = 0;

	if (!seen || !order) {
		free(seen);
		free(order);
		return -1;
	}
	for (uint32_t i = 0; i < n; i++)
		seen[i] = function_of(trace, i);
	for (size_t i = 0; i < trace->n_samples; i++)
		seen[trace->samples[i].node].n_samples++;
	qsort(seen, n, sizeof(*seen), by_function);
	share_samples(seen, n);
	/* The first node of each function stands for it. */
	for (size_t i = 0; i < n; i++)
		order[i] = (struct seen){.n_samples = i == 0 || by_function(&seen[i - 1], &seen[i])
							      ? seen[i].n_samples
							      : 0,
					 .node = (uint32_t)i};
	qsort(order, n, sizeof(*order), by_samples);
	memset(functions->places, WTL_LEARNED_REST, n);
	for (size_t i = 0; i < n && place < WTL_LEARNED_REST && order[i].n_samples > 0;
	     i++, place++)
		for (size_t k = order[i].node;
		     k < n && by_function(&seen[order[i].node], &seen[k]) == 0; k++)
			functions->places[seen[k].node] = (uint8_t)place;
	free(seen);
	free(order);
	return 0;
}

struct wtl_learned_functions *wtl_learned_functions_new(const struct wtl_trace *trace)
{
	struct wtl_learned_functions *functions = calloc(1, sizeof(*functions));

	if (!functions)
		return NULL;

	functions->n_nodes = trace->tree.n_nodes;
	functions->watts = wtl_watts_new(WTL_LEARNED_PLACES);
	functions->places = malloc(functions->n_nodes);
	if (functions->watts && functions->places && give_places(functions, trace) == 0) {
		for (size_t i = 0; i < WTL_LEARNED_PLACES; i++)
			wtl_watts_clear(functions->watts, i);
		return functions;
	}
	wtl_learned_functions_free(functions);
	return NULL;
}

void wtl_learned_functions_free(struct wtl_learned_functions *functions)
{
	if (!functions)
		return;
	wtl_watts_free(functions->watts);
	free(functions->places);
	free(functions);
}

void wtl_learned_functions_know_idle(struct wtl_learned_functions *functions, uint64_t idle_uw)
{
	wtl_watts_know_idle(functions->watts, (double)idle_uw / 1e6, (double)idle_uw / 1e6 / 128.0);
}

size_t wtl_learned_functions_place(const struct wtl_learned_functions *functions, uint32_t node)
{
	return functions && node < functions->n_nodes ? functions->places[node] : WTL_LEARNED_REST;
}

void wtl_learned_functions_begin(struct wtl_learned_functions *functions, int64_t length_ns,
				 double others_s)
{
	memset(functions->use_s, 0, sizeof(functions->use_s));
	functions->use_s[WTL_LEARNED_OTHERS] = others_s;
	functions->look = (struct wtl_watts_look){.duration_s = (double)length_ns / 1e9,
						  .use_s = functions->use_s};
}

void wtl_learned_functions_use(struct wtl_learned_functions *functions, uint32_t node, int64_t ns)
{
	functions->use_s[wtl_learned_functions_place(functions, node)] += (double)ns / 1e9;
}

static void take_awake(struct wtl_learned_functions *functions)
{
	struct wtl_watts_look *look = &functions->look;
	double used_s = 0.0;

	for (size_t i = 0; i < WTL_LEARNED_PLACES; i++)
		used_s += functions->use_s[i];
	look->awake_s = used_s < look->duration_s ? used_s : look->duration_s;
}

void wtl_learned_functions_end(struct wtl_learned_functions *functions, double energy_uj)
{
	take_awake(functions);
	functions->look.energy_j = energy_uj / 1e6;
	wtl_watts_add(functions->watts, &functions->look);
}

void wtl_learned_functions_weigh(struct wtl_learned_functions *functions,
				 double watts[WTL_LEARNED_PLACES],
				 double doubts[WTL_LEARNED_PLACES])
{
	if (wtl_watts_looks(functions->watts) < LOOKS_LEAST)
		return;
	take_awake(functions);
	wtl_watts_weights(functions->watts, &functions->look, watts);
	wtl_watts_doubts(functions->watts, &functions->look, watts, doubts);
}
