/* SPDX-License-Identifier: MIT */
#include "commands/profile/cut.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "energy/units.h"

/* ---- When ---- */

static int by_begin(const void *a, const void *b)
{
	const struct wtl_split_stretch *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

static int find_stretches(struct wtl_cut *cut, const struct wtl_profile *whole, const char *name)
{
	size_t n = 0;

	cut->stretches = calloc(whole->n_windows + 1, sizeof(*cut->stretches));
	if (!cut->stretches)
		return -ENOMEM;
	for (size_t i = 0; i < whole->n_windows; i++)
		if (strcmp(whole->windows[i].name, name) == 0)
			cut->stretches[n++] = (struct wtl_split_stretch){whole->windows[i].begin_ns,
									 whole->windows[i].end_ns};
	if (n == 0)
		return -ENOENT;
	qsort(cut->stretches, n, sizeof(*cut->stretches), by_begin);
	for (size_t i = 0; i < n; i++) {
		struct wtl_split_stretch *last = &cut->stretches[cut->n_stretches];

		if (cut->n_stretches > 0 && cut->stretches[i].begin_ns <= last[-1].end_ns) {
			if (cut->stretches[i].end_ns > last[-1].end_ns)
				last[-1].end_ns = cut->stretches[i].end_ns;
			continue;
		}
		*last = cut->stretches[i];
		cut->n_stretches++;
	}
	return 0;
}

static void find_window(struct wtl_cut *cut, const struct wattle_window *whole)
{
	int64_t begin_ns = cut->stretches[0].begin_ns, sum_ns = 0;

	for (size_t i = 0; i < cut->n_stretches; i++)
		sum_ns += cut->stretches[i].end_ns - cut->stretches[i].begin_ns;
	cut->window = *whole;
	cut->window.begin_utc_ns += begin_ns - whole->begin_mono_ns;
	cut->window.begin_mono_ns = begin_ns;
	cut->window.duration_ns = sum_ns;
	cut->profile.only_until_ns = cut->stretches[cut->n_stretches - 1].end_ns;
}

/* ---- What was seen ---- */

static int cut_slices(struct wtl_cut *cut, const struct wtl_trace *whole)
{
	size_t room = 0, n = 0;

	/* A slice in several stretches is cut into several. */
	for (size_t i = 0; i < whole->n_slices; i++)
		for (size_t k = 0; k < cut->n_stretches; k++)
			room += whole->slices[i].begin_ns < cut->stretches[k].end_ns &&
				whole->slices[i].end_ns > cut->stretches[k].begin_ns;
	cut->trace.slices = calloc(room + 1, sizeof(*cut->trace.slices));
	if (!cut->trace.slices)
		return -ENOMEM;
	for (size_t i = 0; i < whole->n_slices; i++)
		for (size_t k = 0; k < cut->n_stretches; k++) {
			struct wtl_trace_slice slice = whole->slices[i];

			if (slice.begin_ns >= cut->stretches[k].end_ns ||
			    slice.end_ns <= cut->stretches[k].begin_ns)
				continue;
			if (slice.begin_ns < cut->stretches[k].begin_ns)
				slice.begin_ns = cut->stretches[k].begin_ns;
			if (slice.end_ns > cut->stretches[k].end_ns)
				slice.end_ns = cut->stretches[k].end_ns;
			cut->trace.slices[n++] = slice;
			cut->trace.threads[slice.thread].cpu_ns += slice.end_ns - slice.begin_ns;
		}
	cut->trace.n_slices = n;
	return 0;
}

static void cut_samples(struct wtl_cut *cut, const struct wtl_trace *whole)
{
	struct wtl_trace *trace = &cut->trace;

	trace->n_samples = 0;
	for (size_t i = 0; i < whole->n_samples; i++)
		if (wtl_split_asks(&cut->split, whole->samples[i].t_ns)) {
			trace->samples[trace->n_samples++] = whole->samples[i];
			trace->threads[whole->samples[i].thread].n_samples++;
		}
}

/* Threads that did nothing in the windows are left out. */
static int drop_threads(struct wtl_trace *trace)
{
	uint32_t *numbers = calloc(trace->n_threads + 1, sizeof(*numbers));
	uint32_t n = 0;

	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < trace->n_threads; i++) {
		numbers[i] = n;
		if (trace->threads[i].n_samples > 0 || trace->threads[i].cpu_ns > 0)
			trace->threads[n++] = trace->threads[i];
	}
	trace->n_threads = n;
	for (size_t i = 0; i < trace->n_slices; i++)
		trace->slices[i].thread = numbers[trace->slices[i].thread];
	for (size_t i = 0; i < trace->n_samples; i++)
		trace->samples[i].thread = numbers[trace->samples[i].thread];
	free(numbers);
	return 0;
}

static int cut_trace(struct wtl_cut *cut, const struct wtl_trace *whole)
{
	struct wtl_trace *trace = &cut->trace;

	*trace = *whole;
	trace->slices = NULL;
	trace->samples = NULL;
	trace->threads = calloc(whole->n_threads + 1, sizeof(*trace->threads));
	trace->samples = calloc(whole->n_samples + 1, sizeof(*trace->samples));
	if (!trace->threads || !trace->samples)
		return -ENOMEM;
	for (size_t i = 0; i < whole->n_threads; i++) {
		trace->threads[i] = whole->threads[i];
		trace->threads[i].n_samples = 0;
		trace->threads[i].cpu_ns = 0;
	}
	cut_samples(cut, whole);
	if (cut_slices(cut, whole) < 0)
		return -ENOMEM;
	return drop_threads(trace);
}

/* ---- Memory ---- */

/* At a window's start the size is that of the reading before. PSS is not kept over time. */
static int cut_process(struct wtl_cut *cut, const struct wtl_memory_process *whole,
		       struct wtl_memory_process *part)
{
	*part = (struct wtl_memory_process){.pid = whole->pid, .statm = -1};
	part->readings = calloc(whole->n + 1, sizeof(*part->readings));
	if (!part->readings)
		return -ENOMEM;
	for (size_t i = 0; i < whole->n; i++) {
		const struct wtl_memory_reading *reading = &whole->readings[i];
		uint64_t most = reading->rss > reading->before ? reading->rss : reading->before;

		if (!wtl_split_asks(&cut->split, reading->t_ns))
			continue;
		part->readings[part->n++] = *reading;
		if (most > part->peak_rss)
			part->peak_rss = most;
	}
	return 0;
}

static int cut_memory(struct wtl_cut *cut, const struct wtl_memory *whole)
{
	struct wtl_memory *memory = &cut->memory;

	if (!whole)
		return 0;
	memory->n_halved = whole->n_halved;
	memory->is_full = whole->is_full;
	memory->processes = calloc(whole->n + 1, sizeof(*memory->processes));
	if (!memory->processes)
		return -ENOMEM;
	for (size_t i = 0; i < whole->n; i++) {
		struct wtl_memory_process *part = &memory->processes[memory->n];

		if (cut_process(cut, &whole->processes[i], part) < 0)
			return -ENOMEM;
		if (part->n > 0)
			memory->n++;
		else
			free(part->readings);
	}
	cut->profile.memory = memory;
	return 0;
}

/* ---- What it used ---- */

static int compute(struct wtl_cut *cut, const struct wtl_profile *whole)
{
	struct wtl_split split = *whole->ticks;
	size_t n = whole->ticks->n_domains;
	bool *learns = calloc(2 * n + 1, sizeof(*learns)), *launches = learns + n;
	int rc;

	if (!learns)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		learns[i] = whole->domains[i].learns;
		launches[i] = whole->domains[i].kind == WATTLE_KIND_GPU;
	}
	split.stretches = cut->stretches;
	split.n_stretches = cut->n_stretches;
	split.learns = learns;
	split.launches = launches;
	split.period_ns = WTL_NS_PER_S / whole->hz;
	rc = wtl_split_compute(&split, whole->trace, &cut->result);
	free(learns);
	return rc;
}

static void add_up(struct wtl_cut *cut)
{
	const struct wtl_split_result *result = &cut->result;
	struct wtl_profile *profile = &cut->profile;
	uint64_t whole_uj = profile->dynamic_uj;

	profile->dynamic_uj = profile->idle_uj = 0;
	for (size_t i = 0; i < result->n_nodes + WTL_SPLIT_OUTSIDE; i++)
		for (size_t k = 0; k < result->n_domains; k++) {
			if (!profile->counts[k])
				continue;
			profile->dynamic_uj += result->dynamic_uj[i * result->n_domains + k];
			profile->idle_uj += result->idle_uj[i * result->n_domains + k];
		}
	if (whole_uj > 0)
		profile->uncertainty_uj =
			(uint64_t)((double)profile->uncertainty_uj * (double)profile->dynamic_uj /
				   (double)whole_uj);
}

/* Ticks from the first window's start to the last one's end, with the energy drawn since that start. */
static int cut_ticks(struct wtl_cut *cut, const struct wtl_split *whole)
{
	int64_t from_ns = cut->stretches[0].begin_ns;
	int64_t to_ns = cut->stretches[cut->n_stretches - 1].end_ns;
	const uint64_t *base = NULL;

	wtl_split_init(&cut->split, whole->n_domains, from_ns);
	cut->split.stretches = cut->stretches;
	cut->split.n_stretches = cut->n_stretches;
	for (size_t i = 0; i < whole->n_ticks; i++) {
		const struct wtl_split_tick *tick = &whole->ticks[i];
		struct wtl_split_tick *added;

		if (tick->t_ns <= from_ns)
			base = tick->energy_uj;
		if (tick->t_ns < from_ns || tick->t_ns > to_ns)
			continue;
		added = wtl_split_add_tick(&cut->split, tick->t_ns);
		if (!added)
			return -ENOMEM;
		for (size_t k = 0; k < whole->n_domains; k++)
			added->energy_uj[k] = tick->energy_uj[k] - (base ? base[k] : 0);
	}
	cut->split.bills = whole->bills;
	cut->split.n_bills = whole->n_bills;
	return 0;
}

int wtl_cut_make(struct wtl_cut *cut, const struct wtl_profile *whole, const char *name)
{
	int rc;

	*cut = (struct wtl_cut){.profile = *whole};
	rc = find_stretches(cut, whole, name);
	if (rc < 0)
		return rc;
	find_window(cut, whole->window);
	rc = compute(cut, whole);
	if (rc == 0)
		rc = cut_ticks(cut, whole->ticks);
	if (rc == 0)
		rc = cut_trace(cut, whole->trace);
	if (rc == 0)
		rc = cut_memory(cut, whole->memory);
	if (rc < 0)
		return rc;
	cut->calls = (struct wtl_calls){.tree = whole->calls->tree,
					.n_domains = whole->calls->n_domains,
					.of_nodes = whole->calls->of_nodes};
	rc = wtl_calls_add_up(&cut->calls, &cut->result);
	add_up(cut);
	cut->profile.only = name;
	cut->profile.calls = &cut->calls;
	cut->profile.trace = &cut->trace;
	cut->profile.split = &cut->result;
	cut->profile.ticks = &cut->split;
	cut->profile.window = &cut->window;
	return rc;
}

void wtl_cut_done(struct wtl_cut *cut)
{
	for (size_t i = 0; i < cut->split.n_ticks; i++)
		free(cut->split.ticks[i].energy_uj);
	free(cut->split.ticks);
	free(cut->trace.threads);
	free(cut->trace.slices);
	free(cut->trace.samples);
	free(cut->calls.own);
	free(cut->calls.all);
	free(cut->calls.energies);
	wtl_memory_done(&cut->memory);
	wtl_split_result_done(&cut->result);
	free(cut->stretches);
}
