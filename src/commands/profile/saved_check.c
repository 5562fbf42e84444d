/* SPDX-License-Identifier: MIT */
/* Checks a profile that was read: indices, the order of times, and sums. */
#include "commands/profile/saved.h"

#include <stdlib.h>

/* The most calls of one node, and the deepest stacks that a trace can have. */
enum { CALLS_MAX = 64, DEPTH_MAX = 2 * WTL_TRACE_DEPTH * WTL_LINES_MAX };

/* The most work, as the sum of all calls' depths; no real profile has as much. */
#define DEPTHS_MAX ((uint64_t)1 << 31)

/* Differences of times up to this cannot overflow. */
#define TIME_MAX (INT64_MAX / 4)

static bool is_time(int64_t t_ns)
{
	return t_ns >= 0 && t_ns <= TIME_MAX;
}

static bool tree_is_sound(const struct wtl_tree *tree)
{
	if (tree->n_nodes < 1 || tree->nodes[0].parent != 0 || tree->n_nodes > UINT32_MAX)
		return false;
	for (size_t i = 0; i < tree->n_frames; i++)
		if (tree->frames[i].kind > WTL_FRAME_NAMED || tree->frames[i].name >= tree->n_names)
			return false;
	for (size_t i = 1; i < tree->n_nodes; i++)
		if (tree->nodes[i].parent >= i || tree->nodes[i].frame >= tree->n_frames)
			return false;
	return true;
}

static bool is_shallow(const struct wtl_tree *tree)
{
	uint32_t *depths = calloc(tree->n_nodes, sizeof(*depths));
	uint64_t sum = 0;
	bool is = depths != NULL;

	for (size_t i = 1; is && i < tree->n_nodes; i++) {
		depths[i] = depths[tree->nodes[i].parent] + 1;
		sum += depths[i];
		is = depths[i] <= DEPTH_MAX && sum <= DEPTHS_MAX;
	}
	free(depths);
	return is;
}

/* Each node's calls must begin at its parent's. */
static bool calls_are_sound(const struct wtl_calls *calls, const struct wtl_tree *tree)
{
	if (calls->of_nodes[0] != 0 || !tree_is_sound(&calls->tree) || !is_shallow(&calls->tree))
		return false;
	for (size_t i = 1; i < tree->n_nodes; i++) {
		uint32_t at = calls->of_nodes[i], until = calls->of_nodes[tree->nodes[i].parent];

		if (at >= calls->tree.n_nodes)
			return false;
		for (int n = 0; at > until && n < CALLS_MAX; n++)
			at = calls->tree.nodes[at].parent;
		if (at != until)
			return false;
	}
	return true;
}

bool wtl_saved_trace_is_sound(const struct wtl_trace *trace)
{
	for (size_t i = 0; i < trace->n_threads; i++)
		if (!is_time(trace->threads[i].cpu_ns) ||
		    trace->threads[i].node >= trace->tree.n_nodes)
			return false;
	for (size_t i = 0; i < trace->n_slices; i++) {
		const struct wtl_trace_slice *slice = &trace->slices[i];

		if (slice->thread >= trace->n_threads || slice->begin_ns < 0 ||
		    slice->begin_ns > slice->end_ns || !is_time(slice->end_ns))
			return false;
	}
	for (size_t i = 0; i < trace->n_samples; i++)
		if (!is_time(trace->samples[i].t_ns))
			return false;
	return tree_is_sound(&trace->tree);
}

static bool times_are_sound(const struct wtl_split *split, const struct wattle_window *window)
{
	int64_t before_ns = split->begin_ns;

	if (!is_time(before_ns) || !is_time(window->begin_utc_ns) ||
	    !is_time(window->begin_mono_ns) || !is_time(window->duration_ns))
		return false;
	for (size_t i = 0; i < split->n_ticks; i++) {
		if (split->ticks[i].t_ns < before_ns || !is_time(split->ticks[i].t_ns))
			return false;
		before_ns = split->ticks[i].t_ns;
	}
	before_ns = split->begin_ns;
	for (size_t i = 0; i < split->n_bills; i++) {
		const struct wtl_split_bill *bill = &split->bills[i];

		if (bill->t_ns < before_ns || !is_time(bill->t_ns) || bill->busy_ns > TIME_MAX ||
		    bill->own_ns > TIME_MAX)
			return false;
		before_ns = bill->t_ns;
	}
	return true;
}

/* Adds. false: more than there can be. */
static bool add(uint64_t *sum, uint64_t more)
{
	return !__builtin_add_overflow(*sum, more, sum) && *sum <= INT64_MAX;
}

struct sums {
	uint64_t dynamic_uj, idle_uj;
};

/* Whether it adds up and has the command's energy (in idle too, by rounding: see wtl_profile_sums()). */
static bool ledger_is_sound(const struct wtl_ledger *ledger, uint64_t own_uj)
{
	uint64_t running_uj = ledger->live_uj, all_uj;

	if (!add(&running_uj, ledger->exited_uj))
		return false;
	all_uj = running_uj;
	return add(&all_uj, ledger->kernel_uj) && add(&all_uj, ledger->idle_uj) &&
	       add(&all_uj, ledger->unattributed_uj) && all_uj == ledger->total_uj &&
	       (own_uj <= running_uj || own_uj - running_uj <= ledger->idle_uj);
}

/* Whether nodes and rows got exactly what was billed, and the ledger has that. */
static bool domain_is_sound(const struct wtl_saved *saved, size_t domain, struct sums *all)
{
	const struct wtl_split_result *result = &saved->result;
	struct sums billed = {0, 0}, given = {0, 0};
	bool is = true;

	for (size_t i = 0; is && i < saved->split.n_bills; i++)
		is = add(&billed.dynamic_uj, saved->split.bills[i].dynamic_uj[domain]) &&
		     add(&billed.idle_uj, saved->split.bills[i].idle_uj[domain]);
	for (size_t i = 0; is && i < result->n_nodes + WTL_SPLIT_ROWS; i++)
		is = add(&given.dynamic_uj, result->dynamic_uj[i * result->n_domains + domain]) &&
		     add(&given.idle_uj, result->idle_uj[i * result->n_domains + domain]);
	if (is && saved->counts[domain])
		is = add(&all->dynamic_uj, given.dynamic_uj) && add(&all->idle_uj, given.idle_uj);
	return is && billed.dynamic_uj == given.dynamic_uj && billed.idle_uj == given.idle_uj &&
	       ledger_is_sound(&saved->ledgers[domain], given.dynamic_uj);
}

static bool sums_are_sound(const struct wtl_saved *saved)
{
	uint64_t cpu_ns = 0, total_uj = 0;
	struct sums all = {0, 0};

	for (size_t i = 0; i < saved->result.n_nodes + WTL_SPLIT_ROWS; i++)
		if (saved->result.cpu_ns[i] < 0 || !add(&cpu_ns, (uint64_t)saved->result.cpu_ns[i]))
			return false;
	cpu_ns = 0;
	for (size_t i = 0; saved->result.wait_ns && i < saved->result.n_nodes; i++)
		if (saved->result.wait_ns[i] < 0 ||
		    !add(&cpu_ns, (uint64_t)saved->result.wait_ns[i]))
			return false;
	for (size_t i = 0; i < saved->split.n_domains; i++)
		if (!domain_is_sound(saved, i, &all) || !add(&total_uj, saved->ledgers[i].total_uj))
			return false;
	return all.dynamic_uj == saved->profile.dynamic_uj && all.idle_uj == saved->profile.idle_uj;
}

static bool memory_is_sound(const struct wtl_memory *memory, size_t n_nodes)
{
	if (memory->n_halved >= 32)
		return false;
	for (size_t i = 0; i < memory->n; i++)
		for (size_t k = 0; k < memory->processes[i].n; k++)
			if (!is_time(memory->processes[i].readings[k].t_ns) ||
			    memory->processes[i].readings[k].node >= n_nodes)
				return false;
	return true;
}

bool wtl_saved_is_sound(struct wtl_saved *saved)
{
	const struct wtl_places *places = &saved->places;

	for (size_t i = 0; i < saved->n_windows; i++)
		if (saved->windows[i].begin_ns < 0 || !is_time(saved->windows[i].end_ns) ||
		    saved->windows[i].begin_ns > saved->windows[i].end_ns)
			return false;
	for (size_t i = 0; i < places->n; i++)
		if (places->list[i].file > places->files.n_names)
			return false;
	return places->n_frames == saved->trace.tree.n_frames && saved->profile.hz > 0 &&
	       saved->trace.n_halved < 32 && wtl_saved_trace_is_sound(&saved->trace) &&
	       memory_is_sound(&saved->memory, saved->trace.tree.n_nodes) &&
	       calls_are_sound(&saved->calls, &saved->trace.tree) &&
	       times_are_sound(&saved->split, &saved->window) && sums_are_sound(saved);
}
