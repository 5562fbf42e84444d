/* SPDX-License-Identifier: MIT */
/* What GPUs' users are learned to draw, and how their energy is divided by that. */
#include <errno.h>

#include "meter/consumers_state.h"
#include "workload/gpu_use.h"

int wtl_consumers_learn_gpus(struct wtl_consumers *consumers)
{
	for (size_t i = 0; i < consumers->n_gpus; i++) {
		consumers->gpu_divisions[i].learned = wtl_gpu_learned_new(
			consumers->gpu_divisions[i].domain, wtl_learned_known(consumers->learned));
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
	return division->method == WTL_GPU_USE_SAMPLES;
}

struct wtl_gpu_learned *wtl_consumers_gpu_learned(const struct wtl_consumers *consumers,
						  const struct wtl_divided_domain *domain)
{
	if (!domain->is_gpu || domain->gpu < 0)
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
	for (size_t i = 0; i < consumers->own.chunk.n_gpus; i++)
		consumers->own.chunk.gpus[i].n = 0;
}

void wtl_consumers_doubt_gpu_watts(struct wtl_consumers *consumers)
{
	for (size_t i = 0; i < consumers->n_gpus; i++)
		if (consumers->gpu_divisions[i].learned)
			wtl_gpu_learned_doubt(consumers->gpu_divisions[i].learned);
}

void wtl_consumers_keep_gpu_watts(const struct wtl_consumers *consumers, int64_t t_utc_ns)
{
	for (size_t i = 0; i < consumers->n_gpus; i++)
		if (consumers->gpu_divisions[i].learned)
			wtl_gpu_learned_keep(consumers->gpu_divisions[i].learned, t_utc_ns);
}

/* A GPU at rest is divided without learned watts. */
static bool is_weighed(const struct wtl_gpu_division *division)
{
	return is_sampled(division) && wtl_gpu_learned_is_shared(division->learned) &&
	       division->use_ppm > wtl_baseline_use_max_ppm(1);
}

/* One process alone in a look gets all of it. It is not divided anew, as those who work later have no part in it. */
static bool is_chunked(const struct wtl_gpu_division *division)
{
	return is_weighed(division) && wtl_gpu_learned_is_mixed(division->learned);
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

		if (wtl_gpu_chunk_is_long(&book->chunk.gpus[i])) {
			wtl_gpu_learned_pass(division->learned);
			settle(consumers, book, i);
		}
		if (is_chunked(division))
			wtl_gpu_chunk_add(&book->chunk.gpus[i], division->learned);
	}
}

static bool has_weight(const struct wtl_learned_uses *uses)
{
	for (size_t i = 0; i < uses->n; i++)
		if (uses->uses[i].weight > 0)
			return true;
	return false;
}

bool wtl_consumers_bill_gpu(const struct wtl_consumers *consumers, struct wtl_book *book,
			    const struct wtl_divided_domain *domain, uint64_t energy_uj,
			    int64_t duration_ns)
{
	size_t i = (size_t)(domain - consumers->domains);
	struct wtl_gpu_learned *learned = wtl_consumers_gpu_learned(consumers, domain);
	struct wtl_attribution *recent = book->chunk.recent;
	const struct wtl_gpu_division *division;
	struct wtl_learned_uses uses;
	bool is_of_chunk;

	if (!learned || !recent || (size_t)domain->gpu >= book->chunk.n_gpus)
		return false;
	division = &consumers->gpu_divisions[domain->gpu];
	if (!is_weighed(division))
		return false;
	is_of_chunk = is_chunked(division);
	if (is_of_chunk && wtl_gpu_learned_has(learned) &&
	    wtl_gpu_chunk_has_use(&book->chunk.gpus[domain->gpu])) {
		wtl_gpu_learned_weigh(learned, &book->chunk.gpus[domain->gpu],
				      wtl_attribution_total(recent, i).full_uj + energy_uj, &uses);
		wtl_attribution_redivide(book->attribution, recent, i, energy_uj, duration_ns,
					 uses.uses, uses.doubts_ppm, uses.n);
		return true;
	}
	/* Until watts are known, looks are divided one by one; afterwards they are divided anew. */
	wtl_gpu_learned_weigh(learned, NULL, energy_uj, &uses);
	if (!has_weight(&uses))
		return false;
	wtl_attribution_add_recent(book->attribution, is_of_chunk ? recent : NULL, i, energy_uj,
				   duration_ns, uses.uses, is_of_chunk ? uses.doubts_ppm : NULL,
				   uses.n);
	return true;
}

void wtl_consumers_per_gpu(const struct wtl_consumers *consumers, size_t slot,
			   struct wtl_per_cpu *ret_per_gpu)
{
	struct wtl_watts_figure sum = {0.0, 0.0};
	double n = 0.0;

	for (size_t i = 0; i < consumers->n_gpus; i++) {
		struct wtl_watts_figure watts;

		if (!wtl_gpu_learned_watts(consumers->gpu_divisions[i].learned, (uint32_t)slot,
					   &watts))
			continue;
		sum.w += watts.w;
		sum.uncertainty_w += watts.uncertainty_w;
		n++;
	}
	*ret_per_gpu = (struct wtl_per_cpu){.power_uw = 0};
	if (n > 0.0)
		*ret_per_gpu = (struct wtl_per_cpu){
			.power_uw = (uint64_t)(sum.w / n * 1e6),
			.uncertainty_uw = (uint64_t)(2.0 * sum.uncertainty_w / n * 1e6)};
}
