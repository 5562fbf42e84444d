/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "commands/profile/fold.h"
#include "commands/profile/kineto.h"
#include "commands/profile/profile.h"
#include "document/format.h"
#include "profile/launch.h"
#include "text/layout.h"

uint64_t wtl_profile_total_uj(const struct wtl_profile *profile, const uint64_t *each_uj)
{
	uint64_t sum_uj = 0;

	for (size_t i = 0; i < profile->calls->n_domains; i++)
		if (profile->counts[i])
			sum_uj += each_uj[i];
	return sum_uj;
}

int64_t wtl_profile_span_ns(const struct wtl_profile *profile)
{
	return profile->only ? profile->only_until_ns - profile->window->begin_mono_ns
			     : profile->window->duration_ns;
}

uint64_t wtl_profile_energy_uj(const struct wtl_profile *profile, const struct wtl_calls_cost *cost)
{
	return wtl_profile_total_uj(profile, cost->dynamic_uj);
}

/* The uncertainty of a part of the program's energy, by samples and learned watts. */
static double doubt_within_uj(const struct wtl_profile *profile, double energy_uj, uint64_t n,
			      uint64_t doubt_uj)
{
	const struct wtl_split_result *split = profile->split;
	uint64_t doubt_all_uj = wtl_profile_total_uj(profile, profile->calls->all[0].doubt_uj);

	for (size_t i = split->n_nodes; i < split->n_nodes + WTL_SPLIT_ROWS; i++)
		doubt_all_uj +=
			wtl_profile_total_uj(profile, &split->doubt_uj[i * split->n_domains]);
	return wtl_split_uncertainty_uj(energy_uj, n, profile->trace->n_samples, (double)doubt_uj,
					(double)doubt_all_uj);
}

double wtl_profile_uncertainty_uj(const struct wtl_profile *profile, double energy_uj, uint64_t n,
				  uint64_t doubt_uj)
{
	double whole = profile->dynamic_uj > 0 ? (double)profile->uncertainty_uj /
							 (double)profile->dynamic_uj * energy_uj
					       : 0.0;

	/* A part is between nothing and all. */
	return hypot(fmin(doubt_within_uj(profile, energy_uj, n, doubt_uj),
			  fmax(energy_uj, (double)profile->dynamic_uj - energy_uj)),
		     whole);
}

bool wtl_profile_is_resolved(const struct wtl_profile *profile, double energy_uj, uint64_t n,
			     uint64_t doubt_uj)
{
	return energy_uj <= 0.0 || doubt_within_uj(profile, energy_uj, n, doubt_uj) < energy_uj;
}

bool wtl_profile_is_by_energy(const struct wtl_profile *profile)
{
	return profile->dynamic_uj > 0;
}

/* What a tree is sorted by: energy or CPU time; with --wall, time on a processor and waiting. */
static uint64_t rank_of_call(const struct wtl_profile *profile, const struct wtl_calls_cost *cost)
{
	if (profile->split->wait_ns)
		return (uint64_t)(cost->cpu_ns + cost->wait_ns);
	return wtl_profile_is_by_energy(profile) ? wtl_profile_energy_uj(profile, cost)
						 : (uint64_t)cost->cpu_ns;
}

static void put_wait(struct wtl_buf *buf, const struct wtl_profile *profile, int64_t wait_ns)
{
	if (profile->split->wait_ns)
		wtl_buf_printf(buf, "%11.3f ", (double)wait_ns / 1e9);
}

void wtl_profile_put_doubt(struct wtl_buf *buf, double energy_j,
			   const struct wtl_output_style *style)
{
	wtl_buf_printf(buf, "%s %-*.3f", wtl_layout_plus_minus(style), style->ascii ? 6 : 8,
		       energy_j);
}

/* Two columns: "-" where no energy is known. */
static void put_energy(struct wtl_buf *buf, const struct wtl_profile *profile, double energy_uj,
		       uint64_t n, uint64_t doubt_uj, const struct wtl_output_style *style)
{
	char figure[32];

	if (!wtl_profile_has_energy(profile)) {
		wtl_buf_printf(buf, "%10s %10s", "-", "");
		return;
	}
	snprintf(figure, sizeof(figure), "%s%.3f",
		 wtl_profile_is_resolved(profile, energy_uj, n, doubt_uj) ? "" : "~",
		 energy_uj / 1e6);
	wtl_buf_printf(buf, "%10s ", figure);
	wtl_profile_put_doubt(
		buf, wtl_profile_uncertainty_uj(profile, energy_uj, n, doubt_uj) / 1e6, style);
}

static void put_row(struct wtl_buf *buf, const struct wtl_profile *profile,
		    const struct wtl_calls_cost *cost, const struct wtl_output_style *style)
{
	double energy_uj = (double)wtl_profile_energy_uj(profile, cost);
	double all_ns = (double)profile->calls->all[0].cpu_ns;
	double share = wtl_profile_is_by_energy(profile) ? energy_uj / (double)profile->dynamic_uj
		       : all_ns > 0.0			 ? (double)cost->cpu_ns / all_ns
							 : 0.0;

	put_energy(buf, profile, energy_uj, cost->n_samples,
		   wtl_profile_total_uj(profile, cost->doubt_uj), style);
	wtl_buf_printf(buf, " %5.1f %9.3f ", 100.0 * share, (double)cost->cpu_ns / 1e9);
	put_wait(buf, profile, cost->wait_ns);
	wtl_buf_putc(buf, ' ');
}

/* A function's name after `columns` columns; on a terminal as much of it as fits, but at least NAME_LEAST. */
enum { NAME_LEAST = 24, TREE_COLUMNS = 39, TABLE_COLUMNS = 57, WAIT_COLUMNS = 12 };

static void put_name(struct wtl_buf *buf, const char *name, unsigned columns,
		     const struct wtl_output_style *style)
{
	size_t start = buf->len;
	size_t most = style->columns > columns + NAME_LEAST ? style->columns - columns : NAME_LEAST;

	wtl_layout_text(buf, name, style);
	/* The end of "fit (train.py:12)" tells it apart, that of "at::mm(at::Tensor const&)" does not. */
	if (style->columns > 0)
		(strstr(name, " (") ? wtl_layout_cut_middle : wtl_layout_cut)(buf, start, most,
									      style);
	wtl_buf_putc(buf, '\n');
}

/* A sum of rows that are not shown. */
struct cut {
	size_t n;
	uint64_t energy_uj;
	int64_t cpu_ns;
};

static void leave_out(struct cut *to, size_t n, uint64_t energy_uj, int64_t cpu_ns)
{
	to->n += n;
	to->energy_uj += energy_uj;
	to->cpu_ns += cpu_ns;
}

static void put_cut(struct wtl_buf *buf, const struct wtl_profile *profile, const struct cut *cut,
		    const char *more, const char *what)
{
	if (wtl_profile_has_energy(profile))
		wtl_buf_printf(buf, "%10.3f J", (double)cut->energy_uj / 1e6);
	else
		wtl_buf_printf(buf, "%10.3f s", (double)cut->cpu_ns / 1e9);
	wtl_buf_printf(buf, " in %zu %s%s%s", cut->n, more, what, cut->n == 1 ? "" : "s");
}

static void put_cuts(struct wtl_buf *buf, const struct wtl_profile *profile,
		     const struct wtl_profile_settings *settings, const struct cut *small,
		     const struct cut *many, const char *what)
{
	if (small->n > 0) {
		put_cut(buf, profile, small, "", what);
		wtl_buf_printf(buf, " of less than %g %%%s, not shown\n", settings->least_percent,
			       small->n == 1 ? "" : " each");
	}
	if (many->n > 0) {
		put_cut(buf, profile, many, "more ", what);
		wtl_buf_printf(buf, " than --rows %u, not shown\n", settings->rows);
	}
}

/* ---- The tree ---- */

struct tree {
	struct wtl_buf *buf;
	const struct wtl_profile *profile;
	const struct wtl_output_style *style;
	uint64_t least; /* of rank_of_call() */
	size_t rows_max;
	uint32_t *first, *next; /* children of each node, largest first */
	uint32_t *n_below;	/* descendants and itself */
	bool *is_shown, *is_folded;
	struct cut small, many; /* rows below the least; rows beyond --rows */
	size_t n_folded;
};

struct child {
	uint32_t node;
	uint64_t rank;
};

static int by_rank_of_call(const void *a, const void *b)
{
	const struct child *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static bool is_small(const struct tree *tree, uint32_t node)
{
	return rank_of_call(tree->profile, &tree->profile->calls->all[node]) < tree->least;
}

/* Whether a library's call only leads to the next one: all but a small part of it is in one child. */
static bool is_led_through(const struct tree *tree, const bool *is_library, uint32_t node)
{
	const struct wtl_calls_cost *all = tree->profile->calls->all;
	uint32_t child = tree->first[node];

	return is_library[node] && child && !is_small(tree, child) &&
	       (!tree->next[child] || is_small(tree, tree->next[child])) &&
	       rank_of_call(tree->profile, &all[node]) - rank_of_call(tree->profile, &all[child]) <
		       tree->least;
}

/* In a chain of such calls the first one is shown, as the program called it. A single call is not folded. */
static void fold(struct tree *tree)
{
	const struct wtl_calls *calls = tree->profile->calls;
	bool *is_library = wtl_profile_find_libraries(tree->profile);

	for (uint32_t node = 1; is_library && node < calls->tree.n_nodes; node++) {
		uint32_t parent = calls->tree.nodes[node].parent;

		tree->is_folded[node] = is_led_through(tree, is_library, node) &&
					(parent == 0 || is_led_through(tree, is_library, parent));
	}
	for (uint32_t node = 1; node < calls->tree.n_nodes; node++)
		if (tree->is_folded[node] && !tree->is_folded[calls->tree.nodes[node].parent])
			tree->is_folded[node] = tree->is_folded[tree->first[node]];
	free(is_library);
}

/* Chooses the largest calls to show. Their parents are shown too, as no call has more than its parent. */
static void choose(struct tree *tree, const struct child *sorted, size_t n)
{
	size_t n_rows = 0;

	for (size_t i = 0; i < n; i++) {
		bool is_folded = tree->is_folded[sorted[i].node];

		tree->is_shown[sorted[i].node] =
			sorted[i].rank >= tree->least && (n_rows < tree->rows_max || is_folded);
		n_rows += !is_folded;
	}
}

/* Lists each node's children. 0 or -1: no memory. */
static int list_children(struct tree *tree, bool is_unfolded)
{
	const struct wtl_calls *calls = tree->profile->calls;
	size_t n = calls->tree.n_nodes;
	struct child *all = calloc(n, sizeof(*all));

	tree->first = calloc(n, sizeof(*tree->first));
	tree->next = calloc(n, sizeof(*tree->next));
	tree->n_below = calloc(n, sizeof(*tree->n_below));
	tree->is_shown = calloc(n, sizeof(*tree->is_shown));
	tree->is_folded = calloc(n, sizeof(*tree->is_folded));
	if (!all || !tree->first || !tree->next || !tree->n_below || !tree->is_shown ||
	    !tree->is_folded) {
		free(all);
		return -1;
	}
	for (size_t i = 1; i < n; i++)
		all[i - 1] =
			(struct child){(uint32_t)i, rank_of_call(tree->profile, &calls->all[i])};
	for (size_t i = n; i-- > 1;) /* children have higher numbers than parents */
		tree->n_below[calls->tree.nodes[i].parent] += ++tree->n_below[i];
	qsort(all, n - 1, sizeof(*all), by_rank_of_call);
	for (size_t i = n - 1; i-- > 0;) { /* the largest is inserted last, at the front */
		uint32_t node = all[i].node, parent = calls->tree.nodes[node].parent;

		tree->next[node] = tree->first[parent];
		tree->first[parent] = node;
	}
	if (!is_unfolded)
		fold(tree);
	choose(tree, all, n - 1);
	free(all);
	return 0;
}

static void leave_out_call(struct tree *tree, uint32_t node)
{
	const struct wtl_calls_cost *cost = &tree->profile->calls->all[node];

	leave_out(is_small(tree, node) ? &tree->small : &tree->many, tree->n_below[node],
		  wtl_profile_energy_uj(tree->profile, cost), cost->cpu_ns);
}

static unsigned indent_of(const struct tree *tree, unsigned depth)
{
	return TREE_COLUMNS + (tree->profile->split->wait_ns ? WAIT_COLUMNS : 0) + 2 * depth;
}

/* Writes a line for folded calls, indented past the columns, and leaves out what else they call. */
static void put_folded(struct tree *tree, uint32_t node, unsigned depth)
{
	size_t n = 0;

	for (; tree->is_folded[node]; node = tree->first[node], n++)
		for (uint32_t other = tree->next[tree->first[node]]; other;
		     other = tree->next[other])
			leave_out_call(tree, other);
	wtl_buf_printf(tree->buf, "%*s[%zu calls folded]\n", (int)indent_of(tree, depth), "", n);
	tree->n_folded += n;
}

/* Writes a call and those below it. */
static void put_call(struct tree *tree, uint32_t node, unsigned depth)
{
	const struct wtl_calls *calls = tree->profile->calls;
	uint32_t folded = node;

	while (tree->is_folded[node])
		node = tree->first[node];
	if (!tree->is_shown[node]) {
		leave_out_call(tree, folded);
		return;
	}
	if (folded != node)
		put_folded(tree, folded, depth++);
	put_row(tree->buf, tree->profile, &calls->all[node], tree->style);
	wtl_buf_printf(tree->buf, "%*s", (int)(2 * depth), "");
	put_name(tree->buf, wtl_calls_name(calls, node), indent_of(tree, depth), tree->style);
	for (uint32_t child = tree->first[node]; child; child = tree->next[child])
		put_call(tree, child, depth + 1);
}

static void put_tree(struct tree *tree, const struct wtl_profile_settings *settings)
{
	if (list_children(tree, settings->is_unfolded) == 0)
		for (uint32_t node = tree->first[0]; node; node = tree->next[node])
			put_call(tree, node, 0);
	if (tree->n_folded > 0)
		wtl_buf_printf(tree->buf,
			       "%zu calls of libraries that only lead to the next one are folded: "
			       "--unfold shows them\n",
			       tree->n_folded);
	put_cuts(tree->buf, tree->profile, settings, &tree->small, &tree->many, "call");
	free(tree->first);
	free(tree->next);
	free(tree->n_below);
	free(tree->is_shown);
	free(tree->is_folded);
}

/* ---- The table ---- */

/* A function by its name, wherever it was called from. */
struct function {
	uint32_t name;
	struct wtl_calls_cost own;
	int64_t all_ns;
	uint64_t own_uj, all_uj, doubt_uj;
	uint64_t rank; /* as --sort says */
};

const char *const wtl_profile_sort_names[] = {"energy", "calls", "cpu", "samples", "wall", NULL};

static uint64_t rank_of(const struct wtl_profile *profile, const struct function *function,
			enum wtl_profile_sort sort)
{
	bool is_by_energy = wtl_profile_is_by_energy(profile);

	switch (sort) {
	case WTL_SORT_ENERGY:
		return is_by_energy ? function->own_uj : (uint64_t)function->own.cpu_ns;
	case WTL_SORT_CALLS:
		return is_by_energy ? function->all_uj : (uint64_t)function->all_ns;
	case WTL_SORT_CPU:
		return (uint64_t)function->own.cpu_ns;
	case WTL_SORT_SAMPLES:
		return function->own.n_samples;
	case WTL_SORT_WALL:
		return (uint64_t)(function->own.cpu_ns + function->own.wait_ns);
	}
	return 0;
}

static int by_rank(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	if (x->own_uj != y->own_uj)
		return x->own_uj > y->own_uj ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* Functions by rank, highest first; *ret_least: the lowest rank that is shown. */
static struct function *list_functions(const struct wtl_profile *profile,
				       const struct wtl_profile_settings *settings,
				       uint64_t *ret_least)
{
	const struct wtl_calls *calls = profile->calls;
	struct function *functions = calloc(calls->tree.n_frames + 1, sizeof(*functions));
	struct function all = {.own = calls->all[0],
			       .all_ns = calls->all[0].cpu_ns,
			       .own_uj = profile->dynamic_uj,
			       .all_uj = profile->dynamic_uj};

	*ret_least = (uint64_t)((double)rank_of(profile, &all, settings->sort) *
				settings->least_percent / 100.0);
	for (uint32_t node = 1; functions && node < calls->tree.n_nodes; node++) {
		uint32_t frame = calls->tree.nodes[node].frame;
		struct function *function = &functions[frame];

		function->name = frame;
		function->own_uj += wtl_profile_energy_uj(profile, &calls->own[node]);
		function->doubt_uj += wtl_profile_total_uj(profile, calls->own[node].doubt_uj);
		function->own.cpu_ns += calls->own[node].cpu_ns;
		function->own.wait_ns += calls->own[node].wait_ns;
		function->own.n_samples += calls->own[node].n_samples;
		if (!wtl_tree_is_outermost(&calls->tree, node))
			continue;
		function->all_uj += wtl_profile_energy_uj(profile, &calls->all[node]);
		function->all_ns += calls->all[node].cpu_ns;
	}
	for (size_t i = 0; functions && i < calls->tree.n_frames; i++)
		functions[i].rank = rank_of(profile, &functions[i], settings->sort);
	if (functions && calls->tree.n_frames > 0)
		qsort(functions, calls->tree.n_frames, sizeof(*functions), by_rank);
	return functions;
}

static void put_table(struct wtl_buf *buf, const struct wtl_profile *profile,
		      const struct wtl_profile_settings *settings,
		      const struct wtl_output_style *style)
{
	const struct wtl_calls *calls = profile->calls;
	struct cut small = {.n = 0}, many = {.n = 0};
	uint64_t least;
	struct function *functions = list_functions(profile, settings, &least);

	wtl_buf_puts(buf, "   own [J]            with calls [J]   CPU [s]  samples ");
	wtl_buf_puts(buf, profile->split->wait_ns ? "waiting [s]  function\n" : " function\n");
	for (size_t i = 0; functions && i < calls->tree.n_frames; i++) {
		const struct function *function = &functions[i];

		if (function->rank == 0)
			break;
		if (function->rank < least || i >= settings->rows) {
			leave_out(function->rank < least ? &small : &many, 1, function->own_uj,
				  function->own.cpu_ns);
			continue;
		}
		put_energy(buf, profile, (double)function->own_uj, function->own.n_samples,
			   function->doubt_uj, style);
		if (wtl_profile_has_energy(profile))
			wtl_buf_printf(buf, " %14.3f", (double)function->all_uj / 1e6);
		else
			wtl_buf_printf(buf, " %14s", "-");
		wtl_buf_printf(buf, " %9.3f %8" PRIu64 " ", (double)function->own.cpu_ns / 1e9,
			       function->own.n_samples);
		put_wait(buf, profile, function->own.wait_ns);
		wtl_buf_putc(buf, ' ');
		put_name(buf, calls->tree.names[calls->tree.frames[function->name].name],
			 TABLE_COLUMNS + (profile->split->wait_ns ? WAIT_COLUMNS : 0), style);
	}
	put_cuts(buf, profile, settings, &small, &many, "function");
	free(functions);
}

/* ---- Around the stacks ---- */

uint64_t wtl_profile_co2e_ug(const struct wtl_profile *profile, uint64_t energy_uj)
{
	uint64_t ug = wattle_carbon_ug(&profile->place.carbon, energy_uj);

	return profile->place.pue_milli ? ug * profile->place.pue_milli / 1000 : ug;
}

static uint64_t row_uj(const struct wtl_profile *profile, enum wtl_split_row row, size_t domain)
{
	const struct wtl_split_result *split = profile->split;

	return split->dynamic_uj[(split->n_nodes + row) * split->n_domains + domain];
}

void wtl_profile_sums(const struct wtl_profile *profile, int domain,
		      struct wtl_profile_sums *ret_sums)
{
	struct wtl_profile_sums *sums = ret_sums;

	*sums = (struct wtl_profile_sums){.has_profiler = true};
	for (size_t i = 0; i < profile->calls->n_domains; i++) {
		const struct wtl_ledger *ledger = &profile->ledgers[i];
		uint64_t unsampled_uj = row_uj(profile, WTL_SPLIT_UNSAMPLED, i);
		uint64_t unknown_uj = row_uj(profile, WTL_SPLIT_UNKNOWN, i);
		uint64_t outside_uj = row_uj(profile, WTL_SPLIT_OUTSIDE, i);
		uint64_t own_uj = profile->calls->all[0].dynamic_uj[i] + unsampled_uj + unknown_uj +
				  outside_uj;
		uint64_t running_uj = ledger->live_uj + ledger->exited_uj;
		/* The ledger rounds idle parts per process, but here they are of the whole program: its own energy
		 * may be a microjoule more than the ledger's. */
		uint64_t excess_uj = own_uj > running_uj ? own_uj - running_uj : 0;
		uint64_t others_uj = running_uj + excess_uj - own_uj;
		uint64_t profiler_uj = profile->domains[i].profiler_uj < others_uj
					       ? profile->domains[i].profiler_uj
					       : others_uj;

		if (domain < 0 ? !profile->counts[i] : i != (size_t)domain)
			continue;
		sums->stacks_uj += profile->calls->all[0].dynamic_uj[i];
		sums->unsampled_uj += unsampled_uj;
		sums->unknown_uj += unknown_uj;
		sums->outside_uj += outside_uj;
		sums->has_profiler &= profile->domains[i].has_profiler;
		sums->profiler_uj += profiler_uj;
		sums->others_uj += others_uj - profiler_uj;
		sums->kernel_uj += ledger->kernel_uj;
		sums->idle_uj += ledger->idle_uj - excess_uj;
		sums->unattributed_uj += ledger->unattributed_uj;
		sums->total_uj += ledger->total_uj;
	}
	if (!sums->has_profiler) {
		sums->others_uj += sums->profiler_uj;
		sums->profiler_uj = 0;
	}
}

const char *wtl_profile_others(const struct wtl_profile_sums *sums)
{
	return sums->has_profiler ? "other processes" : "other processes, wattle among them";
}

enum wtl_profile_gpu_by wtl_profile_gpu_by(const struct wtl_profile *profile)
{
	for (size_t i = 0; i < profile->calls->n_domains; i++)
		if (profile->domains[i].kind == WATTLE_KIND_GPU &&
		    profile->calls->all[0].dynamic_uj[i] > 0)
			return wtl_launches_are_seen(profile->trace) ? WTL_GPU_BY_LAUNCHES
								     : WTL_GPU_BY_CPU_TIME;
	return WTL_GPU_BY_NOTHING;
}

static void put_gpu_by(struct wtl_buf *buf, const struct wtl_profile *profile)
{
	static const char *const words[] = {
		[WTL_GPU_BY_NOTHING] = "",
		[WTL_GPU_BY_LAUNCHES] =
			"GPU energy is in the stacks that launched work or waited for "
			"it, as far as samples show\n",
		[WTL_GPU_BY_CPU_TIME] =
			"GPU energy is divided by CPU time: no sample is in a GPU's "
			"driver\n"};

	wtl_buf_puts(buf, words[wtl_profile_gpu_by(profile)]);
}

static void put_word(struct wtl_buf *buf, uint64_t energy_uj, const char *word)
{
	if (energy_uj > 0)
		wtl_buf_printf(buf, "%10.3f J  %s\n", (double)energy_uj / 1e6, word);
}

static void put_rest(struct wtl_buf *buf, const struct wtl_profile *profile)
{
	struct wtl_profile_sums sums;

	wtl_profile_sums(profile, -1, &sums);
	wtl_buf_putc(buf, '\n');
	put_word(buf, sums.stacks_uj, "in the program's stacks, above");
	put_word(buf, sums.unsampled_uj, "the program ran, and was not seen");
	put_word(buf, sums.unknown_uj, "the program's, at a time that is not known");
	put_word(buf, sums.outside_uj, "the program's, outside of the window");
	put_word(buf, sums.profiler_uj, "the profiler itself");
	put_word(buf, sums.others_uj, wtl_profile_others(&sums));
	put_word(buf, sums.kernel_uj, "the kernel");
	put_word(buf, sums.idle_uj, "idle: what the machine draws anyway");
	put_word(buf, sums.unattributed_uj, "nobody's who was seen");
	put_word(buf, sums.total_uj, "measured in all");
	put_gpu_by(buf, profile);
}

void wtl_profile_text(struct wtl_buf *buf, const struct wtl_profile *profile,
		      const struct wtl_profile_settings *settings,
		      const struct wtl_output_style *style)
{
	struct tree tree = {
		.buf = buf,
		.profile = profile,
		.style = style,
		.rows_max = settings->rows,
		.least =
			(uint64_t)((profile->split->wait_ns || !wtl_profile_is_by_energy(profile)
					    ? (double)rank_of_call(profile, &profile->calls->all[0])
					    : (double)profile->dynamic_uj) *
				   settings->least_percent / 100.0)};

	wtl_profile_head(buf, profile, style);
	if (settings->is_table) {
		put_table(buf, profile, settings, style);
	} else {
		wtl_buf_puts(buf, "      energy [J]          %   CPU [s] ");
		wtl_buf_puts(buf,
			     profile->split->wait_ns ? "waiting [s]  function\n" : " function\n");
		put_tree(&tree, settings);
	}
	put_rest(buf, profile);
	wtl_profile_memory_text(buf, profile, style);
	wtl_kineto_text(buf, profile, style);
}
