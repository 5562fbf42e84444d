/* SPDX-License-Identifier: MIT */
#include "profile/split.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/launch.h"
#include "profile/learn.h"

/* A slice without a sample gets the thread's nearest one, if that is so near, or within a period of CPU time. */
#define NEAR_NS INT64_C(5000000)

enum { TICKS_MOST = 1 << 18 };

void wtl_split_init(struct wtl_split *split, size_t n_domains, int64_t begin_ns)
{
	*split = (struct wtl_split){.n_domains = n_domains,
				    .begin_ns = begin_ns,
				    .ticks_most = TICKS_MOST,
				    .ticks_each = 1};
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

/* Drops every second tick, but not the last. */
static void halve_ticks(struct wtl_split *split)
{
	size_t n = 0;

	for (size_t i = 0; i < split->n_ticks; i++) {
		if (i % 2 == 0 && i + 1 < split->n_ticks)
			free(split->ticks[i].energy_uj);
		else
			split->ticks[n++] = split->ticks[i];
	}
	split->n_ticks = n;
	split->ticks_each *= 2;
}

/* The last tick, to be filled again: it was not to be kept. */
static struct wtl_split_tick *replace_tick(struct wtl_split *split, int64_t t_ns)
{
	struct wtl_split_tick *last = &split->ticks[split->n_ticks - 1];

	last->t_ns = t_ns;
	memset(last->energy_uj, 0, split->n_domains * sizeof(*last->energy_uj));
	return last;
}

struct wtl_split_tick *wtl_split_add_tick(struct wtl_split *split, int64_t t_ns)
{
	uint64_t *energies;

	if (split->n_ticks > 0 && ++split->n_since < split->ticks_each)
		return replace_tick(split, t_ns);
	split->n_since = 0;
	if (split->n_ticks >= split->ticks_most)
		halve_ticks(split);
	energies = calloc(split->n_domains + 1, sizeof(*energies));
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
					.own_ns = -1,
					.dynamic_uj = energies,
					.idle_uj = energies + split->n_domains,
					.idle_uw = energies + 2 * split->n_domains};
	return bill;
}

/* ---- Pieces: which thread had which stack, when ---- */

/* A thread's time on a processor with one stack. */
struct piece {
	int64_t begin_ns, end_ns;
	uint32_t node; /* NOBODY: unsampled */
};

enum { NOBODY = UINT32_MAX };

struct pieces {
	struct piece *list; /* by begin_ns */
	size_t n, room;
};

struct thread_samples {
	const struct wtl_trace_sample **list; /* of one thread, by time */
	uint64_t *cpu_ns;		      /* for how long it had run by each */
	size_t n;
	uint64_t ran_ns; /* up to the slice that is looked at */
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

/* A sample is taken each period of a thread's CPU time, and stands for that much. */
static uint32_t nearest_by_cpu(const struct thread_samples *samples, size_t at, uint64_t length_ns,
			       uint64_t near_ns)
{
	uint64_t before_ns = at > 0 ? samples->ran_ns - samples->cpu_ns[at - 1] : UINT64_MAX;
	uint64_t after_ns =
		at < samples->n ? samples->cpu_ns[at] - samples->ran_ns - length_ns : UINT64_MAX;

	if ((before_ns < after_ns ? before_ns : after_ns) > near_ns)
		return NOBODY;
	return samples->list[before_ns < after_ns ? at - 1 : at]->node;
}

static uint32_t nearest(const struct thread_samples *samples, size_t at, int64_t t_ns,
			int64_t near_ns)
{
	const struct wtl_trace_sample *best = NULL;

	if (at < samples->n)
		best = samples->list[at];
	if (at > 0 && (!best || distance(samples->list[at - 1], t_ns) < distance(best, t_ns)))
		best = samples->list[at - 1];
	return best && distance(best, t_ns) <= near_ns ? best->node : (uint32_t)NOBODY;
}

/* A slice is cut half way between samples: each stack has the time around the moment when it was seen. */
static int cut_slice(const struct wtl_trace *trace, const struct wtl_trace_slice *slice,
		     const struct thread_samples *samples, int64_t period_ns, struct pieces *pieces)
{
	uint32_t node = trace->threads[slice->thread].node;
	size_t at = first_at(samples, slice->begin_ns);
	int64_t begin_ns = slice->begin_ns;
	int rc = 0;

	if (node)
		return add_piece(pieces, slice->begin_ns, slice->end_ns, node);
	if (at == samples->n || samples->list[at]->t_ns > slice->end_ns) {
		node = nearest(samples, at, slice->begin_ns, NEAR_NS << trace->n_halved);
		if (node == NOBODY)
			node = nearest_by_cpu(samples, at,
					      (uint64_t)(slice->end_ns - slice->begin_ns),
					      (uint64_t)period_ns << trace->n_halved);
		return add_piece(pieces, slice->begin_ns, slice->end_ns, node);
	}
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

/* For how long each thread had run by each of its samples. Its slices come in the order of time. */
static void clock_samples(const struct wtl_trace *trace, struct thread_samples *threads)
{
	for (size_t i = 0; i < trace->n_threads; i++)
		threads[i].n = 0; /* those that were passed */
	for (size_t i = 0; i < trace->n_slices; i++) {
		const struct wtl_trace_slice *slice = &trace->slices[i];
		struct thread_samples *thread = &threads[slice->thread];

		for (; thread->n < trace->threads[slice->thread].n_samples &&
		       thread->list[thread->n]->t_ns <= slice->end_ns;
		     thread->n++) {
			int64_t t_ns = thread->list[thread->n]->t_ns;

			thread->cpu_ns[thread->n] =
				thread->ran_ns +
				(t_ns > slice->begin_ns ? (uint64_t)(t_ns - slice->begin_ns) : 0);
		}
		thread->ran_ns += (uint64_t)(slice->end_ns - slice->begin_ns);
	}
	for (size_t i = 0; i < trace->n_threads; i++) {
		for (; threads[i].n < trace->threads[i].n_samples; threads[i].n++)
			threads[i].cpu_ns[threads[i].n] = threads[i].ran_ns;
		threads[i].ran_ns = 0;
	}
}

/* The samples of each thread, in lists within `all` and `clocks`. */
static void sort_samples(const struct wtl_trace *trace, struct thread_samples *threads,
			 const struct wtl_trace_sample **all, uint64_t *clocks)
{
	for (size_t i = 0, n = 0; i < trace->n_threads; n += trace->threads[i++].n_samples) {
		threads[i].list = all + n;
		threads[i].cpu_ns = clocks + n;
	}
	for (size_t i = 0; i < trace->n_samples; i++) {
		struct thread_samples *thread = &threads[trace->samples[i].thread];

		thread->list[thread->n++] = &trace->samples[i];
	}
	clock_samples(trace, threads);
}

static int make_pieces(const struct wtl_trace *trace, int64_t period_ns, struct pieces *pieces)
{
	const struct wtl_trace_sample **all = calloc(trace->n_samples + 1, sizeof(const void *));
	uint64_t *clocks = calloc(trace->n_samples + 1, sizeof(*clocks));
	struct thread_samples *threads = calloc(trace->n_threads + 1, sizeof(*threads));
	int rc = threads && all && clocks ? 0 : -ENOMEM;

	if (rc == 0)
		sort_samples(trace, threads, all, clocks);
	for (size_t i = 0; rc == 0 && i < trace->n_slices; i++) {
		const struct wtl_trace_slice *slice = &trace->slices[i];
		struct thread_samples *thread = &threads[slice->thread];

		rc = cut_slice(trace, slice, thread, period_ns, pieces);
		thread->ran_ns += (uint64_t)(slice->end_ns - slice->begin_ns);
	}
	free(threads);
	free((void *)all);
	free(clocks);
	if (rc == 0 && pieces->n > 0)
		qsort(pieces->list, pieces->n, sizeof(*pieces->list), by_begin);
	return rc;
}

/* ---- Dividing ---- */

/* The part of a piece in one tick. */
struct part {
	uint32_t tick, node;
	int64_t ns;
	double weight, doubt;
};

struct work {
	const struct wtl_split *split;
	struct wtl_learned_functions *functions; /* of the domain; NULL: all seconds count alike */
	struct wtl_split_result *result;
	struct pieces pieces;
	size_t first; /* pieces before it have ended */
	size_t first_tick;
	struct part *parts; /* of the bill, by their ticks */
	size_t n, room;
	double others;	 /* CPU time of others per nanosecond of the bill */
	double *doubts;	 /* as result->doubt_uj */
	bool *launching; /* of each node, where the domain's energy goes to launches; else NULL */
	uint32_t last_launch; /* the node of the last one; 0: none yet */
};

bool wtl_split_asks(const struct wtl_split *split, int64_t t_ns)
{
	for (size_t i = 0; i < split->n_stretches; i++)
		if (t_ns > split->stretches[i].begin_ns && t_ns <= split->stretches[i].end_ns)
			return true;
	return !split->stretches;
}

/* Where a part's energy goes. Stretches begin and end with ticks, so a tick is inside or outside. */
static size_t place_of(const struct work *work, const struct part *part)
{
	const struct wtl_split *split = work->split;

	if (part->tick < split->n_ticks ? !wtl_split_asks(split, split->ticks[part->tick].t_ns)
					: split->stretches != NULL)
		return work->result->n_nodes + WTL_SPLIT_OUTSIDE;
	return part->node == NOBODY ? work->result->n_nodes + WTL_SPLIT_UNSAMPLED : part->node;
}

static int add_part(struct work *work, uint32_t node, uint32_t tick, int64_t ns)
{
	if (wtl_array_reserve(&work->parts, &work->room, work->n + 1, sizeof(*work->parts)) < 0)
		return -ENOMEM;
	work->parts[work->n++] = (struct part){.tick = tick, .node = node, .ns = ns};
	return 0;
}

static int by_tick(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->tick != y->tick)
		return x->tick < y->tick ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Adds a piece's time from from_ns to to_ns, cut at the ticks from `tick` on. */
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
	if (work->n > 0)
		qsort(work->parts, work->n, sizeof(*work->parts), by_tick);
	return rc;
}

/* Missing CPU time of up to one part in so many is put down to clocks that differ. */
enum { CLOCKS_PART = 50 };

/* Adds the CPU time that was billed but not recorded (of processes started before), spread evenly over the bill. */
static int add_unseen(struct work *work, int64_t begin_ns, int64_t end_ns, double unseen_ns)
{
	const struct wtl_split *split = work->split;
	double length = (double)(end_ns - begin_ns);
	int rc = 0;

	for (size_t tick = work->first_tick; rc == 0 && begin_ns < end_ns; tick++) {
		int64_t until_ns = end_ns;

		if (tick < split->n_ticks && split->ticks[tick].t_ns < end_ns)
			until_ns = split->ticks[tick].t_ns;
		rc = add_part(work, NOBODY, (uint32_t)tick,
			      (int64_t)(unseen_ns * (double)(until_ns - begin_ns) / length));
		begin_ns = until_ns;
	}
	if (work->n > 0)
		qsort(work->parts, work->n, sizeof(*work->parts), by_tick);
	return rc;
}

/* A bill's parts, and how much others used the processors. */
static int take_bill(struct work *work, const struct wtl_split_bill *bill, int64_t begin_ns)
{
	double own_ns = 0.0, length = (double)(bill->t_ns - begin_ns);
	int rc = cut_at_ticks(work, begin_ns, bill->t_ns);

	for (size_t i = 0; i < work->n; i++)
		own_ns += (double)work->parts[i].ns;
	if (rc == 0 && (double)bill->own_ns * (CLOCKS_PART - 1) > own_ns * CLOCKS_PART) {
		rc = add_unseen(work, begin_ns, bill->t_ns, (double)bill->own_ns - own_ns);
		own_ns = (double)bill->own_ns;
	}
	work->others = (double)bill->busy_ns > own_ns && length > 0.0
			       ? ((double)bill->busy_ns - own_ns) / length
			       : 0.0;
	return rc;
}

static double drawn_all_uj(const struct wtl_split *split, size_t tick, size_t domain)
{
	uint64_t now_uj = split->ticks[tick].energy_uj[domain];
	uint64_t before_uj = tick > 0 ? split->ticks[tick - 1].energy_uj[domain] : 0;

	return now_uj > before_uj ? (double)(now_uj - before_uj) : 0.0;
}

/* What a domain drew above idle from the tick before to this one. */
static double drawn_uj(const struct wtl_split *split, size_t tick, size_t domain, uint64_t idle_uw)
{
	const struct wtl_split_tick *now = &split->ticks[tick];
	int64_t before_ns = tick > 0 ? now[-1].t_ns : split->begin_ns;
	double uj = drawn_all_uj(split, tick, domain);

	if (idle_uw != UINT64_MAX)
		uj -= (double)idle_uw * (double)(now->t_ns - before_ns) / 1e9;
	return uj > 0.0 ? uj : 0.0;
}

static int64_t tick_length(const struct wtl_split *split, size_t tick)
{
	return split->ticks[tick].t_ns - (tick > 0 ? split->ticks[tick - 1].t_ns : split->begin_ns);
}

/* How many parts from `first` on lie in the same tick. */
static size_t count_in_tick(const struct work *work, size_t first)
{
	size_t n = 1;

	while (first + n < work->n && work->parts[first + n].tick == work->parts[first].tick)
		n++;
	return n;
}

static double others_in_tick(const struct work *work, size_t tick)
{
	return work->others * (double)tick_length(work->split, tick) / 1e9;
}

/* Passes on who used the processors in the tick of those parts. */
static void tell_use(const struct work *work, struct wtl_learned_functions *functions, size_t first,
		     size_t n)
{
	size_t tick = work->parts[first].tick;

	wtl_learned_functions_begin(functions, tick_length(work->split, tick),
				    others_in_tick(work, tick));
	for (size_t i = first; i < first + n; i++)
		wtl_learned_functions_use(functions, work->parts[i].node, work->parts[i].ns);
}

/* Weighs one tick's parts: what the domain drew is divided among them and others. */
static void weigh_tick(struct work *work, size_t first, size_t n, size_t domain, uint64_t idle_uw)
{
	const struct wtl_split *split = work->split;
	size_t tick = work->parts[first].tick;
	double watts[WTL_LEARNED_PLACES], doubts[WTL_LEARNED_PLACES] = {0.0};
	double others_s, sum = 0.0, drawn;
	struct part *parts = &work->parts[first];

	if (tick >= split->n_ticks)
		return; /* after the last tick nothing is known */
	drawn = drawn_uj(split, tick, domain, idle_uw);
	others_s = others_in_tick(work, tick);
	for (size_t i = 0; i < WTL_LEARNED_PLACES; i++)
		watts[i] = 1.0;
	if (work->functions) {
		tell_use(work, work->functions, first, n);
		wtl_learned_functions_weigh(work->functions, watts, doubts);
	}
	for (size_t i = 0; i < n; i++) {
		size_t place = wtl_learned_functions_place(work->functions, parts[i].node);

		parts[i].weight = watts[place] * (double)parts[i].ns / 1e9;
		parts[i].doubt = doubts[place];
		sum += parts[i].weight;
	}
	sum += watts[WTL_LEARNED_OTHERS] * others_s;
	for (size_t i = 0; i < n; i++)
		parts[i].weight *= sum > 0.0 ? drawn / sum : 0.0;
}

/*
 * A part weighs its share of what the domain drew in its tick. Others' CPU time is known only of the whole bill, and is
 * taken to be even. If nothing is known to have been drawn, a part weighs its time.
 */
static void weigh_parts(struct work *work, size_t domain, uint64_t idle_uw)
{
	double sum = 0.0;

	for (size_t i = 0; i < work->n; i++)
		work->parts[i].weight = work->parts[i].doubt = 0.0;
	for (size_t first = 0, n; first < work->n; first += n) {
		n = count_in_tick(work, first);
		weigh_tick(work, first, n, domain, idle_uw);
	}
	for (size_t i = 0; i < work->n; i++)
		sum += work->parts[i].weight;
	for (size_t i = 0; i < work->n && sum <= 0.0; i++)
		work->parts[i].weight = (double)work->parts[i].ns;
}

/* Gives energy drawn since the counter last changed to the parts [from, to) that launched work or waited; or, as
 * work goes on alone, to the last one that did. 0 or -ENOMEM. */
static int give_to_launches(struct work *work, size_t from, size_t to, size_t tick, double drawn)
{
	double sum = 0.0;
	int rc;

	for (size_t i = from; i < to; i++)
		if (work->parts[i].node != NOBODY && work->launching[work->parts[i].node]) {
			sum += (double)work->parts[i].ns;
			work->last_launch = work->parts[i].node;
		}
	for (size_t i = from; i < to && sum > 0.0; i++)
		if (work->parts[i].node != NOBODY && work->launching[work->parts[i].node])
			work->parts[i].weight = drawn * (double)work->parts[i].ns / sum;
	if (sum > 0.0 || !work->last_launch)
		return 0;
	rc = add_part(work, work->last_launch, (uint32_t)tick, 0);
	if (rc == 0)
		work->parts[work->n - 1].weight = drawn;
	return rc;
}

/* Weighs a bill's parts for a domain whose energy goes to launches. Before the first launch nothing weighs. */
static int weigh_launches(struct work *work, const struct wtl_split_bill *bill, size_t domain)
{
	const struct wtl_split *split = work->split;
	size_t from = 0, to = 0, n = work->n, last = work->first_tick;

	for (size_t i = 0; i < n; i++)
		work->parts[i].weight = work->parts[i].doubt = 0.0;
	for (size_t tick = work->first_tick;
	     tick < split->n_ticks && split->ticks[tick].t_ns <= bill->t_ns; tick++) {
		double drawn = drawn_uj(split, tick, domain, bill->idle_uw[domain]);

		while (to < n && work->parts[to].tick <= tick)
			to++;
		if (drawn <= 0.0)
			continue;
		if (give_to_launches(work, from, to, tick, drawn) < 0)
			return -ENOMEM;
		last = tick;
		from = to;
	}
	/* What was billed goes to launches even if the counter did not move meanwhile. */
	return from > 0 || work->n > n ? 0 : give_to_launches(work, 0, n, last, 1.0);
}

/* Divides exactly: each part gets what the rounded sum up to it grows by. */
static void divide(struct work *work, uint64_t total_uj, uint64_t *energies, size_t domain,
		   int64_t bill_ns)
{
	const struct wtl_split_result *result = work->result;
	double all = 0.0, sum = 0.0;
	uint64_t given = 0;
	size_t last = 0;

	for (size_t i = 0; i < work->n; i++) {
		all += work->parts[i].weight;
		last = work->parts[i].weight > 0.0 ? i : last;
	}
	if (all <= 0.0) {
		energies[(result->n_nodes + (wtl_split_asks(work->split, bill_ns)
						     ? WTL_SPLIT_UNKNOWN
						     : WTL_SPLIT_OUTSIDE)) *
				 result->n_domains +
			 domain] += total_uj;
		return;
	}
	for (size_t i = 0; i <= last; i++) {
		uint64_t upto;

		sum += work->parts[i].weight;
		upto = i == last ? total_uj : (uint64_t)((double)total_uj * (sum / all));
		upto = upto > total_uj ? total_uj : upto < given ? given : upto;
		energies[place_of(work, &work->parts[i]) * result->n_domains + domain] +=
			upto - given;
		given = upto;
	}
}

/* Watts that are wrong are so in all ticks: their errors add up. */
static void add_doubts(struct work *work, uint64_t total_uj, size_t domain)
{
	const struct wtl_split_result *result = work->result;
	double all = 0.0;

	for (size_t i = 0; i < work->n; i++)
		all += work->parts[i].weight;
	for (size_t i = 0; i < work->n && all > 0.0; i++) {
		const struct part *part = &work->parts[i];
		size_t place = place_of(work, part);

		work->doubts[place * result->n_domains + domain] +=
			part->doubt * (double)total_uj * part->weight / all;
	}
}

static int divide_bill(struct work *work, const struct wtl_split_bill *bill, size_t domain)
{
	struct wtl_split_result *result = work->result;

	if (work->launching && weigh_launches(work, bill, domain) < 0)
		return -ENOMEM;
	if (!work->last_launch)
		weigh_parts(work, domain, bill->idle_uw[domain]);
	divide(work, bill->dynamic_uj[domain], result->dynamic_uj, domain, bill->t_ns);
	add_doubts(work, bill->dynamic_uj[domain], domain);
	/* Idle power is drawn all the time. */
	for (size_t i = 0; i < work->n; i++)
		work->parts[i].weight = (double)work->parts[i].ns;
	divide(work, bill->idle_uj[domain], result->idle_uj, domain, bill->t_ns);
	return 0;
}

/* Back to the first bill. */
static void rewind_work(struct work *work)
{
	work->first = work->first_tick = 0;
	work->last_launch = 0;
}

/* What the functions draw is learned from all ticks, before any is divided. */
static int learn(struct work *work, struct wtl_learned_functions *functions, size_t domain)
{
	const struct wtl_split *split = work->split;
	int64_t begin_ns = split->begin_ns;
	int rc = 0;

	rewind_work(work);
	for (size_t i = 0; rc == 0 && i < split->n_bills; i++) {
		const struct wtl_split_bill *bill = &split->bills[i];

		if (i == 0 && bill->idle_uw[domain] != UINT64_MAX)
			wtl_learned_functions_know_idle(functions, bill->idle_uw[domain]);
		rc = take_bill(work, bill, begin_ns);
		for (size_t first = 0, n; rc == 0 && first < work->n; first += n) {
			size_t tick = work->parts[first].tick;

			n = count_in_tick(work, first);
			if (tick >= split->n_ticks)
				continue;
			tell_use(work, functions, first, n);
			wtl_learned_functions_end(functions, drawn_all_uj(split, tick, domain));
		}
		begin_ns = bill->t_ns;
	}
	return rc;
}

static int divide_domain(struct work *work, size_t domain)
{
	const struct wtl_split *split = work->split;
	int64_t begin_ns = split->begin_ns;
	int rc = 0;

	rewind_work(work);
	for (size_t i = 0; rc == 0 && i < split->n_bills; i++) {
		rc = take_bill(work, &split->bills[i], begin_ns);
		if (rc == 0)
			rc = divide_bill(work, &split->bills[i], domain);
		for (size_t k = 0; domain == 0 && k < work->n; k++)
			work->result->cpu_ns[place_of(work, &work->parts[k])] += work->parts[k].ns;
		begin_ns = split->bills[i].t_ns;
	}
	return rc;
}

static int divide_all(struct work *work, const struct wtl_trace *trace)
{
	const struct wtl_split *split = work->split;
	int rc = make_pieces(trace, split->period_ns, &work->pieces);

	for (size_t domain = 0; rc == 0 && domain < split->n_domains; domain++) {
		struct wtl_learned_functions *functions = NULL;

		if (split->learns && split->learns[domain]) {
			functions = wtl_learned_functions_new(trace);
			rc = functions ? learn(work, functions, domain) : -ENOMEM;
		}
		work->functions = functions;
		if (rc == 0 && split->launches && split->launches[domain]) {
			work->launching = wtl_launches_find(trace);
			rc = work->launching ? 0 : -ENOMEM;
		}
		if (rc == 0)
			rc = divide_domain(work, domain);
		wtl_learned_functions_free(functions);
		free(work->launching);
		work->launching = NULL;
	}
	return rc;
}

/* Waits have no times: they are known of the whole alone. 0 or -ENOMEM. */
static int copy_waits(const struct wtl_split *split, const struct wtl_trace *trace,
		      struct wtl_split_result *result)
{
	if (!trace->has_waits || split->stretches)
		return 0;
	result->wait_ns = calloc(result->n_nodes, sizeof(int64_t));
	if (!result->wait_ns)
		return -ENOMEM;
	if (trace->n_waits > 0)
		memcpy(result->wait_ns, trace->waits_ns, trace->n_waits * sizeof(*trace->waits_ns));
	return 0;
}

int wtl_split_compute(const struct wtl_split *split, const struct wtl_trace *trace,
		      struct wtl_split_result *ret_result)
{
	struct wtl_split_result *result = ret_result;
	size_t n_places = trace->tree.n_nodes + WTL_SPLIT_ROWS;
	struct work work = {.split = split, .result = result};
	int rc;

	*result = (struct wtl_split_result){.n_domains = split->n_domains,
					    .n_nodes = trace->tree.n_nodes};
	result->dynamic_uj = calloc(n_places * split->n_domains + 1, sizeof(uint64_t));
	result->idle_uj = calloc(n_places * split->n_domains + 1, sizeof(uint64_t));
	result->doubt_uj = calloc(n_places * split->n_domains + 1, sizeof(uint64_t));
	result->cpu_ns = calloc(n_places, sizeof(int64_t));
	result->n_samples = calloc(n_places, sizeof(uint64_t));
	work.doubts = calloc(n_places * split->n_domains + 1, sizeof(double));
	if (!result->dynamic_uj || !result->idle_uj || !result->doubt_uj || !result->cpu_ns ||
	    !result->n_samples || !work.doubts) {
		free(work.doubts);
		return -ENOMEM;
	}
	for (size_t i = 0; i < trace->n_samples; i++)
		if (wtl_split_asks(split, trace->samples[i].t_ns))
			result->n_samples[trace->samples[i].node]++;
	rc = copy_waits(split, trace, result);
	if (rc == 0)
		rc = divide_all(&work, trace);
	for (size_t i = 0; i < n_places * split->n_domains; i++)
		result->doubt_uj[i] = (uint64_t)work.doubts[i];
	free(work.doubts);
	free(work.pieces.list);
	free(work.parts);
	return rc;
}

double wtl_split_uncertainty_uj(double energy_uj, uint64_t n, uint64_t n_all, double doubt_uj,
				double doubt_all_uj)
{
	double p = n_all > 0 ? (double)n / (double)n_all : 0.0;
	double seen_uj = n > 0 ? energy_uj * sqrt((1.0 - p) / (double)n) : energy_uj / 2.0;
	double others_uj = doubt_all_uj > doubt_uj ? doubt_all_uj - doubt_uj : 0.0;

	return 2.0 * hypot(seen_uj, doubt_uj < others_uj ? doubt_uj : others_uj);
}

void wtl_split_result_done(struct wtl_split_result *result)
{
	free(result->dynamic_uj);
	free(result->idle_uj);
	free(result->doubt_uj);
	free(result->cpu_ns);
	free(result->n_samples);
	free(result->wait_ns);
	*result = (struct wtl_split_result){.n_nodes = 0};
}
