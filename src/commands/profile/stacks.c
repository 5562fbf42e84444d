/* SPDX-License-Identifier: MIT */
#include "commands/profile/stacks.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "commands/profile/fold.h"
#include "commands/profile/places.h"

/* The program's costs without a stack: the first rows of enum wtl_split_row. */
enum { ROWS = WTL_SPLIT_UNKNOWN + 1 };

static const struct {
	const char *name, *symbol;
	double factor;
} units[WTL_STACKS_UNITS] = {
	[WTL_STACKS_COUNT] = {"count", "samples", 1.0},
	[WTL_STACKS_NS] = {"nanoseconds", "s", 1e9},
	[WTL_STACKS_UJ] = {"microjoules", "J", 1e6},
	[WTL_STACKS_UG] = {"micrograms", "mg CO2e", 1e3},
	[WTL_STACKS_BYTES] = {"bytes", "B", 1.0},
};

const char *wtl_stacks_unit_name(enum wtl_stacks_unit unit)
{
	return units[unit].name;
}

const char *wtl_stacks_unit_symbol(enum wtl_stacks_unit unit, double *ret_factor)
{
	*ret_factor = units[unit].factor;
	return units[unit].symbol;
}

uint32_t wtl_stacks_function(const struct wtl_stacks *stacks, size_t node)
{
	return stacks->tree.frames[stacks->tree.nodes[node].frame].name;
}

uint32_t wtl_stacks_line(const struct wtl_stacks *stacks, size_t node)
{
	return (uint32_t)stacks->tree.frames[stacks->tree.nodes[node].frame].address;
}

bool wtl_stacks_is_installed(const struct wtl_stacks *stacks, size_t function)
{
	const struct wtl_stacks_function *is = &stacks->functions[function];

	return wtl_profile_is_installed(is->object[0] ? is->object : is->file);
}

/* How much is left of name[0..end) without " (" and the last parts of that path; end: all. */
static size_t without_path(const char *name, size_t end, const char *path)
{
	size_t len = strlen(path);

	for (size_t n = 1; n <= len && n + 2 <= end && path[len - n] == name[end - n]; n++)
		if ((n == len || path[len - n - 1] == '/') &&
		    memcmp(&name[end - n - 2], " (", 2) == 0)
			return end - n - 2;
	return end;
}

size_t wtl_stacks_name_len(const struct wtl_stacks_function *function)
{
	const char *name = function->name;
	size_t all = strlen(name), digits = all, end, left;

	while (digits > 0 && strchr("0123456789", name[digits - 1]))
		digits--;
	if (digits < all && digits > 2 && memcmp(&name[digits - 2], " #", 2) == 0)
		all = digits - 2;
	if (all == 0 || name[all - 1] != ')')
		return all;
	end = digits = all - 1;
	while (digits > 0 && strchr("0123456789abcdef", name[digits - 1]))
		digits--;
	if (digits < end && digits > 3 && memcmp(&name[digits - 3], "+0x", 3) == 0)
		end = digits - 3;
	left = without_path(name, end, function->file);
	if (left == end)
		left = without_path(name, end, function->object);
	return left < end ? left : all;
}

/* ---- Metrics ---- */

bool wtl_stacks_is_known(const struct wtl_stacks *stacks, size_t metric)
{
	return (metric != WTL_METRIC_ENERGY && metric != WTL_METRIC_CO2E) ||
	       wtl_profile_has_energy(stacks->profile);
}

static bool has_energy(const struct wtl_profile *profile, size_t domain)
{
	for (size_t i = 0; i < profile->ticks->n_bills; i++)
		if (profile->ticks->bills[i].dynamic_uj[domain] > 0)
			return true;
	return false;
}

static int list_metrics(struct wtl_stacks *stacks)
{
	static const struct wtl_stacks_metric always[WTL_METRIC_DOMAINS] = {
		[WTL_METRIC_SAMPLES] = {"samples", "samples", WTL_STACKS_COUNT, 0},
		[WTL_METRIC_CPU] = {"cpu", "CPU time", WTL_STACKS_NS, 0},
		[WTL_METRIC_ENERGY] = {"energy", "energy", WTL_STACKS_UJ, 0},
		[WTL_METRIC_CO2E] = {"co2e", "emissions", WTL_STACKS_UG, 0},
	};
	static const struct wtl_stacks_metric growth = {"memory growth", "memory growth (RSS)",
							WTL_STACKS_BYTES, 0};
	const struct wtl_profile *profile = stacks->profile;
	enum wtl_profile_gpu_by gpu_by = wtl_profile_gpu_by(profile);

	stacks->metrics = calloc(WTL_METRIC_DOMAINS + profile->calls->n_domains + 3,
				 sizeof(*stacks->metrics));
	if (!stacks->metrics)
		return -ENOMEM;
	memcpy(stacks->metrics, always, sizeof(always));
	stacks->n_metrics = WTL_METRIC_DOMAINS;
	for (size_t i = 0; i < profile->calls->n_domains; i++) {
		const char *name = profile->domains[i].name;
		struct wtl_stacks_metric *metric = &stacks->metrics[stacks->n_metrics];

		if (!has_energy(profile, i))
			continue;
		metric->unit = WTL_STACKS_UJ;
		metric->domain = i;
		snprintf(metric->name, sizeof(metric->name), "%.40s energy", name);
		snprintf(metric->title, sizeof(metric->title), "energy of %.40s%s%s", name,
			 profile->domains[i].kind == WATTLE_KIND_GPU &&
					 gpu_by == WTL_GPU_BY_LAUNCHES
				 ? " (of who launched or waits)"
				 : "",
			 profile->counts[i] ? "" : " (not in the total)");
		stacks->n_metrics++;
	}
	stacks->end_domains = stacks->n_metrics;
	if (profile->split->wait_ns) {
		stacks->wait = stacks->n_metrics++;
		stacks->metrics[stacks->wait] =
			(struct wtl_stacks_metric){"waiting", "time waiting", WTL_STACKS_NS, 0};
		stacks->clock = stacks->n_metrics++;
		stacks->metrics[stacks->clock] = (struct wtl_stacks_metric){
			"time", "time (CPU and waiting)", WTL_STACKS_NS, 0};
	}
	if (profile->memory) {
		stacks->growth = stacks->n_metrics++;
		stacks->metrics[stacks->growth] = growth;
	}
	return 0;
}

/* Adds the costs at a place of the result: a node of the trace, or a row after the nodes. */
static void add_costs(const struct wtl_stacks *stacks, size_t place, uint64_t *to)
{
	const struct wtl_profile *profile = stacks->profile;
	const struct wtl_split_result *split = profile->split;
	const uint64_t *energies = &split->dynamic_uj[place * split->n_domains];

	to[WTL_METRIC_SAMPLES] += split->n_samples[place];
	to[WTL_METRIC_CPU] += (uint64_t)split->cpu_ns[place];
	for (size_t i = 0; i < split->n_domains; i++)
		if (profile->counts[i])
			to[WTL_METRIC_ENERGY] += energies[i];
	if (stacks->wait && place < split->n_nodes)
		to[stacks->wait] += (uint64_t)split->wait_ns[place];
	if (stacks->clock)
		to[stacks->clock] = to[WTL_METRIC_CPU] + to[stacks->wait];
	for (size_t i = WTL_METRIC_DOMAINS; i < stacks->end_domains; i++)
		to[i] += energies[stacks->metrics[i].domain];
}

/* ---- The tree ---- */

struct making {
	struct wtl_stacks *stacks;
	bool has_lines;
	struct wtl_line lines[WTL_LINES_MAX]; /* of the frame being added, the outermost first */
	size_t n_lines;
};

static int64_t add_call(struct making *making, int64_t parent, const char *name,
			const struct wtl_line *line)
{
	struct wtl_stacks *stacks = making->stacks;
	int64_t function = wtl_tree_name(&stacks->tree, name), frame;
	struct wtl_frame called = {.kind = WTL_FRAME_NAMED, .name = (uint32_t)function};

	if (function < 0 || parent < 0)
		return -ENOMEM;
	called.address = making->has_lines && line ? line->line : 0;
	frame = wtl_tree_frame(&stacks->tree, &called);
	return frame < 0 ? frame : wtl_tree_child(&stacks->tree, (uint32_t)parent, (uint32_t)frame);
}

/* Adds the calls between those of a node's parent and its own, the outermost first. */
static int64_t add_calls(struct making *making, uint32_t call, uint32_t until, int64_t parent,
			 size_t n_behind)
{
	const struct wtl_calls *calls = making->stacks->profile->calls;
	const struct wtl_line *line = NULL;

	if (call == until)
		return parent;
	parent = add_calls(making, calls->tree.nodes[call].parent, until, parent, n_behind + 1);
	if (n_behind < making->n_lines)
		line = &making->lines[making->n_lines - 1 - n_behind];
	return add_call(making, parent, wtl_calls_name(calls, call), line);
}

static int add_nodes(struct making *making)
{
	struct wtl_stacks *stacks = making->stacks;
	const struct wtl_profile *profile = stacks->profile;
	const struct wtl_tree *from = &profile->trace->tree;
	const uint32_t *calls = profile->calls->of_nodes;

	for (size_t i = 1; i < from->n_nodes; i++) {
		uint32_t parent = from->nodes[i].parent;
		int64_t node;

		making->n_lines = making->has_lines
					  ? wtl_places_of(profile->places, from->nodes[i].frame,
							  making->lines)
					  : 0;
		node = add_calls(making, calls[i], calls[parent], stacks->of_nodes[parent], 0);
		if (node < 0)
			return -ENOMEM;
		stacks->of_nodes[i] = (uint32_t)node;
	}
	return 0;
}

/* Costs without a stack become functions of their own, so that a format's sum is the program's. */
static int add_rows(struct making *making, uint32_t rows[ROWS])
{
	static const char *const names[ROWS] = {WTL_STACKS_NOT_SEEN, WTL_STACKS_NO_TIME};

	for (size_t i = 0; i < ROWS; i++) {
		int64_t node = add_call(making, 0, names[i], NULL);

		if (node < 0)
			return -ENOMEM;
		rows[i] = (uint32_t)node;
	}
	return 0;
}

/* ---- Functions ---- */

/* Cleans a file name, which may be any bytes, to text. "": no memory. */
static const char *clean_file(struct wtl_stacks *stacks, const char *file)
{
	char clean[PATH_MAX];
	int64_t number = wtl_tree_name(&stacks->files,
				       wtl_text_clean(clean, sizeof(clean), file, strlen(file)));

	return number < 0 ? "" : stacks->files.names[number];
}

/* A Python function's file and line are in its frame's name: "fit (/home/me/train.py:12)". */
static void place_python(struct wtl_stacks *stacks, struct wtl_stacks_function *function,
			 const struct wtl_frame *frame)
{
	const char *name = stacks->profile->trace->tree.names[frame->name];
	const char *open = strstr(name, " ("), *colon = strrchr(name, ':');
	char part[PATH_MAX];

	if (!open || !colon || colon <= open + 2)
		return;
	snprintf(part, sizeof(part), "%.*s", (int)(colon - open - 2), open + 2);
	function->file = clean_file(stacks, part);
	function->line = (uint32_t)frame->address;
	snprintf(part, sizeof(part), "%.*s", (int)(open - name), name);
	function->label = clean_file(stacks, part);
}

/* Where the function of a native frame begins: the outermost of those that were inlined there. */
static void place_address(const struct wtl_stacks *stacks, const struct wtl_frame *frame,
			  uint32_t node, uint32_t until)
{
	const struct wtl_module_symbol *symbol =
		wtl_module_symbol(&stacks->profile->trace->modules, frame->module, frame->address);

	while (stacks->tree.nodes[node].parent != until)
		node = stacks->tree.nodes[node].parent;
	if (symbol)
		stacks->functions[wtl_stacks_function(stacks, node)].address = symbol->address;
}

/* A function's file and line are those of its first frame that has them. */
static int place_functions(struct making *making)
{
	struct wtl_stacks *stacks = making->stacks;
	const struct wtl_trace *trace = stacks->profile->trace;
	struct wtl_line lines[WTL_LINES_MAX];

	stacks->functions = calloc(stacks->tree.n_names + 1, sizeof(*stacks->functions));
	if (!stacks->functions)
		return -ENOMEM;
	for (size_t i = 0; i < stacks->tree.n_names; i++)
		stacks->functions[i] = (struct wtl_stacks_function){.name = stacks->tree.names[i],
								    .label = stacks->tree.names[i],
								    .file = "",
								    .object = ""};
	for (size_t i = 1; i < trace->tree.n_nodes; i++) {
		const struct wtl_frame *frame = &trace->tree.frames[trace->tree.nodes[i].frame];
		uint32_t node = stacks->of_nodes[i],
			 until = stacks->of_nodes[trace->tree.nodes[i].parent];
		struct wtl_stacks_function *innermost =
			&stacks->functions[wtl_stacks_function(stacks, node)];
		const char *object = "";
		size_t n;

		if (node == until)
			continue;
		if (frame->kind == WTL_FRAME_NATIVE && frame->module) {
			object = clean_file(stacks, frame->module->path);
			place_address(stacks, frame, node, until);
		}
		if (!innermost->file[0] && frame->kind == WTL_FRAME_PYTHON)
			place_python(stacks, innermost, frame);
		else if (!innermost->file[0])
			innermost->file = innermost->object = object;
		n = wtl_places_of(stacks->profile->places, trace->tree.nodes[i].frame, lines);
		for (; n > 0 && node != until; n--, node = stacks->tree.nodes[node].parent) {
			struct wtl_stacks_function *function =
				&stacks->functions[wtl_stacks_function(stacks, node)];

			if (!lines[n - 1].file || function->line)
				continue;
			function->object = object;
			function->file = clean_file(stacks, lines[n - 1].file);
			function->line = lines[n - 1].begin;
		}
	}
	return 0;
}

/* ---- Costs ---- */

static void keep_most(uint64_t *to, uint64_t value)
{
	if (value > *to)
		*to = value;
}

static void add(uint64_t *to, const uint64_t *more, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] += more[i];
}

/* Growth is a cost like others. Peaks are not added up: the highest counts. */
static int add_memory(struct wtl_stacks *stacks, const uint32_t rows[ROWS])
{
	const struct wtl_profile *profile = stacks->profile;
	size_t n = profile->trace->tree.n_nodes;
	struct wtl_memory_change *changes = profile->memory ? calloc(n, sizeof(*changes)) : NULL;

	if (!profile->memory)
		return 0;
	stacks->peaks = calloc(stacks->tree.n_nodes, sizeof(*stacks->peaks));
	stacks->functions_peaks =
		calloc(stacks->tree.n_names + 1, sizeof(*stacks->functions_peaks));
	if (!changes || !stacks->peaks || !stacks->functions_peaks ||
	    wtl_memory_charge(profile->memory, profile->trace, changes) < 0) {
		free(changes);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t node = i > 0 ? stacks->of_nodes[i] : rows[WTL_SPLIT_UNSAMPLED];

		stacks->own[node * stacks->n_metrics + stacks->growth] += changes[i].grown;
		keep_most(&stacks->peaks[node], changes[i].peak);
	}
	for (size_t i = stacks->tree.n_nodes; i-- > 1;) {
		keep_most(&stacks->functions_peaks[wtl_stacks_function(stacks, i)],
			  stacks->peaks[i]);
		keep_most(&stacks->peaks[stacks->tree.nodes[i].parent], stacks->peaks[i]);
	}
	free(changes);
	return 0;
}

static void add_up(struct wtl_stacks *stacks, const uint32_t rows[ROWS])
{
	const struct wtl_split_result *split = stacks->profile->split;
	size_t n = stacks->n_metrics;
	uint64_t so_far_uj = 0;

	for (size_t i = 0; i < split->n_nodes; i++)
		add_costs(stacks, i, &stacks->own[stacks->of_nodes[i] * n]);
	for (size_t i = 0; i < ROWS; i++)
		add_costs(stacks, split->n_nodes + i, &stacks->own[rows[i] * n]);
	/* As differences of what all nodes up to here emitted: rounding leaves nothing out of the sum. */
	for (size_t i = 0; i < stacks->tree.n_nodes; i++) {
		uint64_t *own = &stacks->own[i * n];

		own[WTL_METRIC_CO2E] =
			wtl_profile_co2e_ug(stacks->profile, so_far_uj + own[WTL_METRIC_ENERGY]) -
			wtl_profile_co2e_ug(stacks->profile, so_far_uj);
		so_far_uj += own[WTL_METRIC_ENERGY];
	}
	/* Children have higher numbers than their parents. */
	for (size_t i = stacks->tree.n_nodes; i-- > 0;) {
		add(&stacks->all[i * n], &stacks->own[i * n], n);
		if (i > 0)
			add(&stacks->all[stacks->tree.nodes[i].parent * n], &stacks->all[i * n], n);
	}
	for (size_t i = 1; i < stacks->tree.n_nodes; i++) {
		uint32_t function = wtl_stacks_function(stacks, i);

		add(&stacks->functions_own[function * n], &stacks->own[i * n], n);
		if (wtl_tree_is_outermost(&stacks->tree, i))
			add(&stacks->functions_all[function * n], &stacks->all[i * n], n);
	}
}

static void add_doubts(struct wtl_stacks *stacks, const uint32_t rows[ROWS])
{
	const struct wtl_split_result *split = stacks->profile->split;

	for (size_t i = 0; i < split->n_nodes + ROWS; i++) {
		uint32_t node = i < split->n_nodes ? stacks->of_nodes[i] : rows[i - split->n_nodes];

		stacks->doubts[2 * node] += wtl_profile_total_uj(
			stacks->profile, &split->doubt_uj[i * split->n_domains]);
	}
	for (size_t i = stacks->tree.n_nodes; i-- > 1;) {
		uint64_t *own = &stacks->doubts[2 * i];
		uint64_t *function = &stacks->functions_doubts[2 * wtl_stacks_function(stacks, i)];

		own[1] += own[0];
		stacks->doubts[2 * stacks->tree.nodes[i].parent + 1] += own[1];
		function[0] += own[0];
		if (wtl_tree_is_outermost(&stacks->tree, i))
			function[1] += own[1];
	}
}

static int make_costs(struct wtl_stacks *stacks)
{
	size_t n_nodes = stacks->tree.n_nodes, n_functions = stacks->tree.n_names + 1;

	stacks->own = calloc(n_nodes * stacks->n_metrics, sizeof(uint64_t));
	stacks->all = calloc(n_nodes * stacks->n_metrics, sizeof(uint64_t));
	stacks->functions_own = calloc(n_functions * stacks->n_metrics, sizeof(uint64_t));
	stacks->functions_all = calloc(n_functions * stacks->n_metrics, sizeof(uint64_t));
	stacks->doubts = calloc(2 * n_nodes, sizeof(uint64_t));
	stacks->functions_doubts = calloc(2 * n_functions, sizeof(uint64_t));
	return stacks->own && stacks->all && stacks->functions_own && stacks->functions_all &&
			       stacks->doubts && stacks->functions_doubts
		       ? 0
		       : -ENOMEM;
}

int wtl_stacks_make(struct wtl_stacks *stacks, const struct wtl_profile *profile, bool has_lines)
{
	struct making making = {.stacks = stacks, .has_lines = has_lines};
	uint32_t rows[ROWS];
	int rc;

	*stacks = (struct wtl_stacks){.profile = profile};
	stacks->of_nodes = calloc(profile->trace->tree.n_nodes, sizeof(*stacks->of_nodes));
	rc = stacks->of_nodes ? wtl_tree_init(&stacks->tree) : -ENOMEM;
	if (rc == 0)
		rc = list_metrics(stacks);
	if (rc == 0)
		rc = add_nodes(&making);
	if (rc == 0)
		rc = add_rows(&making, rows);
	if (rc == 0)
		rc = place_functions(&making);
	if (rc == 0)
		rc = make_costs(stacks);
	if (rc == 0)
		rc = add_memory(stacks, rows);
	if (rc == 0) {
		add_up(stacks, rows);
		add_doubts(stacks, rows);
		stacks->main = wtl_profile_is_by_energy(stacks->profile) ? WTL_METRIC_ENERGY
									 : WTL_METRIC_CPU;
	}
	return rc;
}

void wtl_stacks_done(struct wtl_stacks *stacks)
{
	wtl_tree_done(&stacks->tree);
	wtl_tree_done(&stacks->files);
	free(stacks->metrics);
	free(stacks->functions);
	free(stacks->of_nodes);
	free(stacks->own);
	free(stacks->all);
	free(stacks->functions_own);
	free(stacks->functions_all);
	free(stacks->doubts);
	free(stacks->functions_doubts);
	free(stacks->peaks);
	free(stacks->functions_peaks);
}
