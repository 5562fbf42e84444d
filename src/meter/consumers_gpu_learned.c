/* SPDX-License-Identifier: MIT */
/* What GPUs' users are learned to draw, and how their energy is divided by that. */
#include <errno.h>
#include <string.h>

#include "energy/units.h"
#include "meter/consumers_state.h"
#include "workload/gpu_use.h"

int wtl_consumers_learn_gpus(struct wtl_consumers *consumers)
{
	for (size_t i = 0; i < consumers->n_gpus; i++) {
		consumers->gpu_divisions[i].learned = wtl_gpu_learned_new();
		if (!consumers->gpu_divisions[i].learned)
			return -ENOMEM;
	}
	return wtl_chunk_add_gpus(&consumers->own.chunk, consumers->n_gpus);
}

bool wtl_consumers_learns_gpus(const struct wtl_consumers *consumers)
{
	return consumers->n_gpus > 0 && consumers->gpu_divisions[0].learned;
}

void wtl_consumers_free_gpu_watts(struct wtl_consumers *consumers)
{
	for (size_t i = 0; i < consumers->n_gpus; i++)
		wtl_gpu_learned_free(consumers->gpu_divisions[i].learned);
}

/* Samples tell of processes. What else is told of GPUs' use (of MIG's instances, of memory, of other makers' engines) is not
 * learned from. */
static bool is_sampled(const struct wtl_gpu_division *division)
{
	return wtl_gpu_use_method_find(division->weight) == WTL_GPU_USE_SAMPLES;
}

struct wtl_gpu_learned *wtl_consumers_gpu_learned(const struct wtl_consumers *consumers,
						  const struct wtl_divided_domain *domain)
{
	if (!domain->is_gpu || domain->gpu < 0 || (size_t)domain->gpu >= consumers->n_gpus)
		return NULL;
	return consumers->gpu_divisions[domain->gpu].learned;
}

void wtl_consumers_scan_gpu_watts(struct wtl_consumers *consumers)
{
	const struct wtl_workload_scan *scan = wtl_workload_scan(consumers->workload);

	for (size_t i = 0; i < consumers->n_gpus; i++) {
		struct wtl_gpu_division *division = &consumers->gpu_divisions[i];

		if (division->learned)
			wtl_gpu_learned_scan(division->learned, consumers->workload,
					     is_sampled(division) ? division->uses : NULL,
					     division->n_uses, scan->duration_ns);
	}
}

void wtl_consumers_fold_gpu_watts(struct wtl_consumers *consumers, const struct wtl_fold *fold)
{
	for (size_t i = 0; i < consumers->n_gpus; i++)
		if (consumers->gpu_divisions[i].learned)
			wtl_gpu_learned_fold(consumers->gpu_divisions[i].learned, fold->from,
					     fold->into);
}

void wtl_consumers_reset_gpu_watts(struct wtl_consumers *consumers)
{
	for (size_t i = 0; i < consumers->n_gpus; i++)
		if (consumers->gpu_divisions[i].learned)
			wtl_gpu_learned_reset(consumers->gpu_divisions[i].learned,
					      consumers->workload);
}

void wtl_consumers_doubt_gpu_watts(struct wtl_consumers *consumers)
{
	for (size_t i = 0; i < consumers->n_gpus; i++)
		if (consumers->gpu_divisions[i].learned)
			wtl_gpu_learned_doubt(consumers->gpu_divisions[i].learned);
}

/* While it rests, what it draws is not divided anew: those who work later have no part in it. */
static bool is_chunked(const struct wtl_gpu_division *division)
{
	return is_sampled(division) && wtl_gpu_learned_is_shared(division->learned) &&
	       division->use_ppm > wtl_baseline_use_max_ppm(1);
}

static void settle(const struct wtl_consumers *consumers, struct wtl_book *book, size_t gpu)
{
	for (size_t i = 0; i < consumers->n_domains; i++)
		if (consumers->domains[i].is_gpu && consumers->domains[i].gpu == (int)gpu)
			wtl_attribution_keep_recent(book->chunk.recent, i);
	wtl_gpu_chunk_settle(&book->chunk.gpus[gpu]);
}

void wtl_consumers_add_to_gpu_chunks(const struct wtl_consumers *consumers, struct wtl_book *book)
{
	for (size_t i = 0; i < book->chunk.n_gpus && i < consumers->n_gpus; i++) {
		const struct wtl_gpu_division *division = &consumers->gpu_divisions[i];

		if (wtl_gpu_chunk_is_long(&book->chunk.gpus[i]))
			settle(consumers, book, i);
		if (is_chunked(division))
			wtl_gpu_chunk_add(&book->chunk.gpus[i], division->learned);
	}
}

/* Whoever was alone in a look has all of it. So until watts are known, looks are divided one by one. */
bool wtl_consumers_bill_gpu(const struct wtl_consumers *consumers, struct wtl_book *book,
			    const struct wtl_divided_domain *domain, uint64_t energy_uj,
			    int64_t duration_ns)
{
	size_t i = (size_t)(domain - consumers->domains);
	struct wtl_gpu_learned *learned = wtl_consumers_gpu_learned(consumers, domain);
	struct wtl_attribution *recent = book->chunk.recent;
	struct wtl_learned_uses uses;

	if (!learned || !recent || (size_t)domain->gpu >= book->chunk.n_gpus ||
	    !is_chunked(&consumers->gpu_divisions[domain->gpu]))
		return false;
	if (wtl_gpu_learned_has(learned)) {
		wtl_gpu_learned_weigh(learned, &book->chunk.gpus[domain->gpu],
				      wtl_attribution_total(recent, i).full_uj + energy_uj, &uses);
		wtl_attribution_redivide(book->attribution, recent, i, energy_uj, duration_ns,
					 uses.uses, uses.doubts_ppm, uses.n);
		return true;
	}
	wtl_gpu_learned_weigh(learned, NULL, energy_uj, &uses);
	wtl_attribution_add_recent(book->attribution, recent, i, energy_uj, duration_ns, uses.uses,
				   uses.doubts_ppm, uses.n);
	return true;
}
