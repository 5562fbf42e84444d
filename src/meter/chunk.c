/* SPDX-License-Identifier: MIT */
#include "meter/chunk.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "energy/units.h"

#define CHUNK_S 60.0

int wtl_chunk_init(struct wtl_chunk *chunk, size_t n_domains, size_t capacity)
{
	*chunk = (struct wtl_chunk){.recent = wtl_attribution_new(n_domains, capacity)};
	if (chunk->recent && wtl_chunk_grow(chunk, capacity) == 0)
		return 0;
	wtl_chunk_done(chunk);
	return -ENOMEM;
}

void wtl_chunk_done(struct wtl_chunk *chunk)
{
	for (size_t i = 0; i < chunk->n_gpus; i++)
		wtl_gpu_chunk_done(&chunk->gpus[i]);
	free(chunk->gpus);
	wtl_attribution_free(chunk->recent);
	free(chunk->uses);
	free(chunk->at);
	*chunk = (struct wtl_chunk){.recent = NULL};
}

int wtl_chunk_grow(struct wtl_chunk *chunk, size_t capacity)
{
	if (!chunk->recent)
		return 0;
	if (wtl_attribution_grow(chunk->recent, capacity) < 0)
		return -ENOMEM;
	return wtl_array_widen(&chunk->at, &chunk->n_at, capacity, sizeof(*chunk->at));
}

int wtl_chunk_add_gpus(struct wtl_chunk *chunk, size_t n_gpus)
{
	return wtl_array_widen(&chunk->gpus, &chunk->n_gpus, n_gpus, sizeof(*chunk->gpus));
}

void wtl_chunk_settle(struct wtl_chunk *chunk)
{
	if (!chunk->recent)
		return;
	for (size_t i = 0; i < chunk->n_gpus; i++)
		wtl_gpu_chunk_settle(&chunk->gpus[i]);
	wtl_attribution_reset(chunk->recent);
	for (size_t i = 0; i < chunk->n_uses; i++)
		chunk->at[chunk->uses[i].slot] = 0;
	chunk->n_uses = 0;
	chunk->awake_s = chunk->duration_s = 0.0;
}

static int add_use(struct wtl_chunk *chunk, uint32_t slot, uint64_t weight)
{
	if (slot >= chunk->n_at)
		slot = WTL_SLOT_UNSEEN;
	if (chunk->at[slot] == 0) {
		if (wtl_array_reserve(&chunk->uses, &chunk->uses_room, chunk->n_uses + 1,
				      sizeof(*chunk->uses)) < 0)
			return -ENOMEM;
		chunk->uses[chunk->n_uses++] = (struct wtl_use){.slot = slot};
		chunk->at[slot] = (uint32_t)chunk->n_uses;
	}
	chunk->uses[chunk->at[slot] - 1].weight += weight;
	return 0;
}

void wtl_chunk_fold(struct wtl_chunk *chunk, const struct wtl_fold *fold)
{
	uint64_t weight;

	if (!chunk->recent)
		return;
	wtl_attribution_fold(chunk->recent, fold->from, fold->into);
	for (size_t i = 0; i < chunk->n_gpus; i++)
		wtl_gpu_chunk_fold(&chunk->gpus[i], fold);
	if (fold->from >= chunk->n_at || chunk->at[fold->from] == 0)
		return;
	weight = chunk->uses[chunk->at[fold->from] - 1].weight;
	if (weight > 0 && add_use(chunk, fold->into, weight) == 0)
		chunk->uses[chunk->at[fold->from] - 1].weight = 0;
}

int wtl_chunk_add(struct wtl_chunk *chunk, struct wtl_learned *learned,
		  const struct wtl_workload_scan *scan)
{
	int rc = 0;

	if (chunk->duration_s >= CHUNK_S) {
		wtl_learned_pass(learned);
		wtl_chunk_settle(chunk);
	}
	for (size_t i = 0; rc == 0 && i < scan->n_uses; i++)
		rc = add_use(chunk, scan->uses[i].slot, scan->uses[i].weight);
	chunk->awake_s += wtl_learned_awake_s(learned);
	chunk->duration_s += (double)scan->duration_ns / WTL_NS_PER_S;
	return rc;
}

void wtl_chunk_bill(struct wtl_chunk *chunk, struct wtl_learned *learned,
		    struct wtl_attribution *attribution, size_t domain, uint64_t energy_uj,
		    int64_t duration_ns)
{
	struct wtl_share total = wtl_attribution_total(chunk->recent, domain);
	struct wtl_watts_look whole = {
		.energy_j = (double)(total.full_uj + energy_uj) / 1e6,
		.duration_s = (double)(total.share_ns + duration_ns) / WTL_NS_PER_S,
		.awake_s = chunk->awake_s,
	};
	struct wtl_learned_uses uses;

	wtl_learned_weigh(learned, domain, chunk->uses, chunk->n_uses, &whole, &uses);
	wtl_attribution_redivide(attribution, chunk->recent, domain, energy_uj, duration_ns,
				 uses.uses, uses.doubts_ppm, uses.n);
}
