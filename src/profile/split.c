/* SPDX-License-Identifier: MIT */
#include "profile/split.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* A stretch without a sample is that of the thread's next one, if that is so near. */
#define NEAR_NS INT64_C(5000000)

void wtl_split_init(struct wtl_split *split, size_t n_domains, int64_t begin_ns)
{
	*split = (struct wtl_split){.n_domains = n_domains, .begin_ns = begin_ns};
}

void wtl_split_done(struct wtl_split *split)
{
	for (size_t i = 0; i < split->n_ticks; i++)
		free(split->ticks[i].energy_uj);
	for (size_t i = 0; i < split->n_bills; i++)
		free(split->bills[i].dynamic_uj);
	free(split->ticks);
	free(split->bills);
}

struct wtl_split_tick *wtl_split_add_tick(struct wtl_split *split, int64_t t_ns)
{
	uint64_t *energies = calloc(split->n_domains + 1, sizeof(*energies));

	if (!energies || wtl_array_reserve(&split->ticks, &split->room_ticks, split->n_ticks + 1,
					   sizeof(*split->ticks)) < 0) {
		free(energies);
		return NULL;
	}
	split->ticks[split->n_ticks] = (struct wtl_split_tick){t_ns, energies};
	return &split->ticks[split->n_ticks++];
}

struct wtl_split_bill *wtl_split_add_bill(struct wtl_split *split, int64_t t_ns)
{
	uint64_t *energies = calloc(3 * split->n_domains + 1, sizeof(*energies));
	struct wtl_split_bill *bill;

	if (!energies || wtl_array_reserve(&split->bills, &split->room_bills, split->n_bills + 1,
					   sizeof(*split->bills)) < 0) {
		free(energies);
		return NULL;
	}
	bill = &split->bills[split->n_bills++];
	*bill = (struct wtl_split_bill){.t_ns = t_ns,
					.busy_ns = -1,
					.dynamic_uj = energies,
					.idle_uj = energies + split->n_domains,
					.idle_uw = energies + 2 * split->n_domains};
	return bill;
}

/* ---- Pieces: who was seen with what, when ---- */

/* A thread's time on a processor with one stack, within a tick. */
struct piece {
	int64_t begin_ns, end_ns;
	uint32_t node; /* NOBODY: unsampled */
};

enum { NOBODY = UINT32_MAX };

struct pieces {
	struct piece *list; /* by their begins */
	size_t n, room;
};

struct thread_samples {
	const struct wtl_trace_sample **list; /* of one thread, by time */
	size_t n;
};

static int add_piece(struct pieces *pieces, int64_t begin_ns, int64_t end_ns, uint32_t node)
{
	if (end_ns <= begin_ns)
		return 0;
	if (wtl_array_reserve(&pieces->list, &pieces->room, pieces->n + 1, sizeof(*pieces->list)) <
	    0)
		return -ENOMEM;
	pieces->list[pieces->n++] = (struct piece){begin_ns, end_ns, node};
	return 0;
}

static int64_t distance(const struct wtl_trace_sample *sample, int64_t t_ns)
{
	return sample->t_ns > t_ns ? sample->t_ns - t_ns : t_ns - sample->t_ns;
}

/* The first sample not before that time. */
static size_t first_at(const struct thread_samples *samples, int64_t t_ns)
{
	size_t low = 0, high = samples->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (samples->list[middle]->t_ns < t_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint32_t nearest(const struct thread_samples *samples, size_t at, int64_t t_ns)
{
	const struct wtl_trace_sample *best = NULL;

	if (at < samples->n)
		best = samples->list[at];
	if (at > 0 && (!best || distance(samples->list[at - 1], t_ns) < distance(best, t_ns)))
		best = samples->list[at - 1];
	return best && distance(best, t_ns) <= NEAR_NS ? best->node : (uint32_t)NOBODY;
}

/* A slice is cut half way between samples: each stack has the time around the moment when it was seen. */
static int cut_slice(const struct wtl_trace_slice *slice, const struct thread_samples *samples,
		     struct pieces *pieces)
{
	size_t at = first_at(samples, slice->begin_ns);
	int64_t begin_ns = slice->begin_ns;
	int rc = 0;

	if (at == samples->n || samples->list[at]->t_ns > slice->end_ns)
		return add_piece(pieces, slice->begin_ns, slice->end_ns,
				 nearest(samples, at, slice->begin_ns));
	for (; rc == 0 && at < samples->n && samples->list[at]->t_ns <= slice->end_ns; at++) {
		bool is_last = at + 1 == samples->n || samples->list[at + 1]->t_ns > slice->end_ns;
		int64_t end_ns = is_last ? slice->end_ns
					 : samples->list[at]->t_ns + (samples->list[at + 1]->t_ns -
								      samples->list[at]->t_ns) /
									     2;

		rc = add_piece(pieces, begin_ns, end_ns, samples->list[at]->node);
		begin_ns = end_ns;
	}
	return rc;
}

static int by_begin(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

/* Samples of all threads, put together by thread: their number is in ends[thread]. */
static int sort_samples(const struct wtl_trace *trace, struct thread_samples **ret_threads,
			const struct wtl_trace_sample ***ret_all)
{
	struct thread_samples *threads = calloc(trace->n_threads + 1, sizeof(*threads));
	const struct wtl_trace_sample **all = calloc(trace->n_samples + 1, sizeof(const void *));
	const struct wtl_trace_sample **at = all;

	*ret_threads = threads;
	*ret_all = all;
	if (!threads || !all)
		return -ENOMEM;
	for (size_t i = 0; i < trace->n_threads; i++) {
		threads[i].list = at;
		at += trace->threads[i].n_samples;
	}
	for (size_t i = 0; i < trace->n_samples; i++) {
		struct thread_samples *thread = &threads[trace->samples[i].thread];

		thread->list[thread->n++] = &trace->samples[i];
	}
	return 0;
}

static int make_pieces(const struct wtl_trace *trace, struct pieces *pieces)
{
	const struct wtl_trace_sample **all = NULL;
	struct thread_samples *threads = NULL;
	int rc = sort_samples(trace, &threads, &all);

	for (size_t i = 0; rc == 0 && i < trace->n_slices; i++)
		rc = cut_slice(&trace->slices[i], &threads[trace->slices[i].thread], pieces);
	free(threads);
	free((void *)all);
	if (rc == 0 && pieces->n > 0)
		qsort(pieces->list, pieces->n, sizeof(*pieces->list), by_begin);
	return rc;
}

/* ---- Dividing ---- */

struct work {
	const struct wtl_split *split;
	struct wtl_split_result *result;
	struct pieces pieces;
	size_t first;	 /* pieces before it have ended */
	int64_t *cut_ns; /* of each part of the bill: its time */
	uint32_t *nodes;
	uint32_t *ticks; /* the tick that it lies in */
	size_t n, room_cut, room_nodes, room_ticks;
	size_t first_tick;
	double *weights, *drawn;
	size_t room_weights, room_drawn;
};

static size_t place_of(const struct wtl_split_result *result, uint32_t node, enum wtl_split_row row)
{
	return node == NOBODY ? result->n_nodes + row : node;
}

static int add_part(struct work *work, uint32_t node, uint32_t tick, int64_t ns)
{
	if (wtl_array_reserve(&work->cut_ns, &work->room_cut, work->n + 1, sizeof(*work->cut_ns)) <
		    0 ||
	    wtl_array_reserve(&work->nodes, &work->room_nodes, work->n + 1, sizeof(*work->nodes)) <
		    0 ||
	    wtl_array_reserve(&work->ticks, &work->room_ticks, work->n + 1, sizeof(*work->ticks)) <
		    0)
		return -ENOMEM;
	work->cut_ns[work->n] = ns;
	work->nodes[work->n] = node;
	work->ticks[work->n++] = tick;
	return 0;
}

/* A piece's time from there to there, cut at the ticks from that one on. */
static int cut_piece(struct work *work, uint32_t node, int64_t from_ns, int64_t to_ns, size_t tick)
{
	const struct wtl_split *split = work->split;
	int rc = 0;

	while (tick < split->n_ticks && split->ticks[tick].t_ns <= from_ns)
		tick++;
	for (; rc == 0 && from_ns < to_ns; tick++) {
		int64_t until_ns = to_ns;

		if (tick < split->n_ticks && split->ticks[tick].t_ns < to_ns)
			until_ns = split->ticks[tick].t_ns;
		rc = add_part(work, node, (uint32_t)tick, until_ns - from_ns);
		from_ns = until_ns;
	}
	return rc;
}

/* The pieces within [begin, end), cut at the ticks. Tick i ends the interval number i. */
static int cut_at_ticks(struct work *work, int64_t begin_ns, int64_t end_ns)
{
	const struct wtl_split *split = work->split;
	const struct pieces *pieces = &work->pieces;
	int rc = 0;

	work->n = 0;
	while (work->first < pieces->n && pieces->list[work->first].end_ns <= begin_ns)
		work->first++;
	while (work->first_tick < split->n_ticks && split->ticks[work->first_tick].t_ns <= begin_ns)
		work->first_tick++;
	for (size_t i = work->first; rc == 0 && i < pieces->n; i++) {
		const struct piece *piece = &pieces->list[i];
		int64_t from_ns = piece->begin_ns > begin_ns ? piece->begin_ns : begin_ns;
		int64_t to_ns = piece->end_ns < end_ns ? piece->end_ns : end_ns;

		if (piece->begin_ns >= end_ns)
			break;
		rc = cut_piece(work, piece->node, from_ns, to_ns, work->first_tick);
	}
	return rc;
}

/* What a domain drew above idle from the tick before to this one. */
static double drawn_uj(const struct wtl_split *split, size_t tick, size_t domain, uint64_t idle_uw)
{
	const struct wtl_split_tick *now = &split->ticks[tick];
	uint64_t before_uj = tick > 0 ? now[-1].energy_uj[domain] : 0;
	int64_t before_ns = tick > 0 ? now[-1].t_ns : split->begin_ns;
	double uj = now->energy_uj[domain] > before_uj
			    ? (double)(now->energy_uj[domain] - before_uj)
			    : 0.0;

	if (idle_uw != UINT64_MAX)
		uj -= (double)idle_uw * (double)(now->t_ns - before_ns) / 1e9;
	return uj > 0.0 ? uj : 0.0;
}

/* Ticks that parts lie in, and the program's CPU time in each: behind what is drawn in each. */
struct span {
	size_t first, n;
	double *drawn, *own_ns;
	double others; /* CPU time of others in a nanosecond */
};

static int sum_own_time(struct work *work, const struct wtl_split_bill *bill, int64_t begin_ns,
			struct span *span)
{
	size_t first = work->n > 0 ? work->ticks[0] : 0, last = first;
	double own_ns = 0.0, length = (double)(bill->t_ns - begin_ns);

	for (size_t i = 0; i < work->n; i++) {
		own_ns += (double)work->cut_ns[i];
		first = work->ticks[i] < first ? work->ticks[i] : first;
		last = work->ticks[i] > last ? work->ticks[i] : last;
	}
	*span = (struct span){.first = first, .n = last - first + 1};
	if (wtl_array_reserve(&work->drawn, &work->room_drawn, 2 * span->n, sizeof(*work->drawn)) <
		    0 ||
	    wtl_array_reserve(&work->weights, &work->room_weights, work->n + 1,
			      sizeof(*work->weights)) < 0)
		return -ENOMEM;
	span->drawn = work->drawn;
	span->own_ns = work->drawn + span->n;
	if ((double)bill->busy_ns > own_ns && length > 0.0)
		span->others = ((double)bill->busy_ns - own_ns) / length;
	memset(span->own_ns, 0, span->n * sizeof(*span->own_ns));
	for (size_t i = 0; i < work->n; i++)
		span->own_ns[work->ticks[i] - first] += (double)work->cut_ns[i];
	return 0;
}

/* What the domain drew in a tick for each nanosecond that anybody was on a processor. */
static double drawn_per_ns(const struct wtl_split *split, const struct span *span, size_t tick,
			   size_t domain, uint64_t idle_uw)
{
	int64_t before_ns = tick > 0 ? split->ticks[tick - 1].t_ns : split->begin_ns;
	double busy_ns;

	if (tick >= split->n_ticks)
		return 0.0;
	busy_ns = span->own_ns[tick - span->first] +
		  span->others * (double)(split->ticks[tick].t_ns - before_ns);
	return busy_ns > 0.0 ? drawn_uj(split, tick, domain, idle_uw) / busy_ns : 0.0;
}

/*
 * What each part weighs: its CPU time, times what a nanosecond of that drew in its tick. Others' time is only known of
 * the whole bill, and is taken to be even. Where nothing is known to have been drawn, its time alone.
 */
static int weigh_parts(struct work *work, const struct wtl_split_bill *bill, int64_t begin_ns,
		       size_t domain)
{
	struct span span;
	double sum = 0.0;
	int rc = sum_own_time(work, bill, begin_ns, &span);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < span.n; i++)
		span.drawn[i] = drawn_per_ns(work->split, &span, span.first + i, domain,
					     bill->idle_uw[domain]);
	for (size_t i = 0; i < work->n; i++) {
		work->weights[i] =
			span.drawn[work->ticks[i] - span.first] * (double)work->cut_ns[i];
		sum += work->weights[i];
	}
	for (size_t i = 0; i < work->n && sum <= 0.0; i++)
		work->weights[i] = (double)work->cut_ns[i];
	return 0;
}

/* All of it, to the last microjoule: each part gets what the sum up to it grows by. */
static void divide(struct work *work, uint64_t total_uj, uint64_t *energies, size_t domain)
{
	const struct wtl_split_result *result = work->result;
	double all = 0.0, sum = 0.0;
	uint64_t given = 0;
	size_t last = 0;

	for (size_t i = 0; i < work->n; i++) {
		all += work->weights[i];
		last = work->weights[i] > 0.0 ? i : last;
	}
	if (all <= 0.0) {
		energies[place_of(result, NOBODY, WTL_SPLIT_UNKNOWN) * result->n_domains +
			 domain] += total_uj;
		return;
	}
	for (size_t i = 0; i <= last; i++) {
		uint64_t upto;

		sum += work->weights[i];
		upto = i == last ? total_uj : (uint64_t)((double)total_uj * (sum / all));
		upto = upto > total_uj ? total_uj : upto < given ? given : upto;
		energies[place_of(result, work->nodes[i], WTL_SPLIT_UNSAMPLED) * result->n_domains +
			 domain] += upto - given;
		given = upto;
	}
}

static int divide_bill(struct work *work, const struct wtl_split_bill *bill, int64_t begin_ns)
{
	struct wtl_split_result *result = work->result;
	int rc = cut_at_ticks(work, begin_ns, bill->t_ns);

	for (size_t i = 0; i < work->n; i++)
		result->cpu_ns[place_of(result, work->nodes[i], WTL_SPLIT_UNSAMPLED)] +=
			work->cut_ns[i];
	for (size_t domain = 0; rc == 0 && domain < result->n_domains; domain++) {
		rc = weigh_parts(work, bill, begin_ns, domain);
		if (rc < 0)
			break;
		divide(work, bill->dynamic_uj[domain], result->dynamic_uj, domain);
		/* Idle power is drawn all the time. */
		for (size_t i = 0; i < work->n; i++)
			work->weights[i] = (double)work->cut_ns[i];
		divide(work, bill->idle_uj[domain], result->idle_uj, domain);
	}
	return rc;
}

int wtl_split_compute(const struct wtl_split *split, const struct wtl_trace *trace,
		      struct wtl_split_result *ret_result)
{
	struct wtl_split_result *result = ret_result;
	size_t n_places = trace->tree.n_nodes + WTL_SPLIT_ROWS;
	struct work work = {.split = split, .result = result};
	int64_t begin_ns = split->begin_ns;
	int rc;

	*result = (struct wtl_split_result){.n_domains = split->n_domains,
					    .n_nodes = trace->tree.n_nodes};
	result->dynamic_uj = calloc(n_places * split->n_domains + 1, sizeof(uint64_t));
	result->idle_uj = calloc(n_places * split->n_domains + 1, sizeof(uint64_t));
	result->cpu_ns = calloc(n_places, sizeof(int64_t));
	result->n_samples = calloc(n_places, sizeof(uint64_t));
	if (!result->dynamic_uj || !result->idle_uj || !result->cpu_ns || !result->n_samples)
		return -ENOMEM;
	for (size_t i = 0; i < trace->n_samples; i++)
		result->n_samples[trace->samples[i].node]++;
	rc = make_pieces(trace, &work.pieces);
	for (size_t i = 0; rc == 0 && i < split->n_bills; i++) {
		rc = divide_bill(&work, &split->bills[i], begin_ns);
		begin_ns = split->bills[i].t_ns;
	}
	free(work.pieces.list);
	free(work.cut_ns);
	free(work.nodes);
	free(work.ticks);
	free(work.weights);
	free(work.drawn);
	return rc;
}

void wtl_split_result_done(struct wtl_split_result *result)
{
	free(result->dynamic_uj);
	free(result->idle_uj);
	free(result->cpu_ns);
	free(result->n_samples);
	*result = (struct wtl_split_result){.n_nodes = 0};
}
