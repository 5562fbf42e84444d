/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "commands/profile/kineto.h"
#include "commands/profile/profile.h"
#include "document/format.h"
#include "meter/meter.h"
#include "text/layout.h"

enum { DEPTH_MAX = 64, ROWS_MAX = 400 };

uint64_t wtl_profile_energy_uj(const struct wtl_profile *profile, const struct wtl_calls_cost *cost)
{
	uint64_t sum_uj = 0;

	for (size_t i = 0; i < profile->calls->n_domains; i++)
		if (profile->counts[i])
			sum_uj += cost->dynamic_uj[i];
	return sum_uj;
}

double wtl_profile_uncertainty_uj(const struct wtl_profile *profile, double energy_uj, uint64_t n)
{
	double all = (double)profile->trace->n_samples, p = all > 0.0 ? (double)n / all : 0.0;
	double seen = n > 0 ? 2.0 * energy_uj * sqrt((1.0 - p) / (double)n) : energy_uj;
	double whole = profile->dynamic_uj > 0 ? (double)profile->uncertainty_uj /
							 (double)profile->dynamic_uj * energy_uj
					       : 0.0;

	return hypot(seen, whole);
}

static void put_row(struct wtl_buf *buf, const struct wtl_profile *profile,
		    const struct wtl_calls_cost *cost)
{
	double energy_uj = (double)wtl_profile_energy_uj(profile, cost);
	double share =
		profile->dynamic_uj > 0 ? 100.0 * energy_uj / (double)profile->dynamic_uj : 0.0;

	wtl_buf_printf(buf, "%10.3f \xc2\xb1 %-8.3f %5.1f %9.3f  ", energy_uj / 1e6,
		       wtl_profile_uncertainty_uj(profile, energy_uj, cost->n_samples) / 1e6, share,
		       (double)cost->cpu_ns / 1e9);
}

/* ---- The tree ---- */

struct tree {
	struct wtl_buf *buf;
	const struct wtl_profile *profile;
	const struct wtl_output_style *style;
	uint64_t least_uj;
	uint32_t *first, *next; /* children of each node, those with most first */
	size_t n_rows;
};

struct child {
	uint32_t node;
	uint64_t energy_uj;
};

static int by_energy(const void *a, const void *b)
{
	const struct child *x = a, *y = b;

	if (x->energy_uj != y->energy_uj)
		return x->energy_uj > y->energy_uj ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Lists each node's children. 0 or -1: no memory. */
static int list_children(struct tree *tree)
{
	const struct wtl_calls *calls = tree->profile->calls;
	size_t n = calls->tree.n_nodes;
	struct child *all = calloc(n, sizeof(*all));

	tree->first = calloc(n, sizeof(*tree->first));
	tree->next = calloc(n, sizeof(*tree->next));
	if (!all || !tree->first || !tree->next) {
		free(all);
		return -1;
	}
	for (size_t i = 0; i < n; i++)
		all[i] = (struct child){(uint32_t)i,
					wtl_profile_energy_uj(tree->profile, &calls->all[i])};
	qsort(all, n, sizeof(*all), by_energy);
	for (size_t i = n; i-- > 0;) { /* the largest is put last, at the front */
		uint32_t node = all[i].node, parent = calls->tree.nodes[node].parent;

		if (node == 0)
			continue;
		tree->next[node] = tree->first[parent];
		tree->first[parent] = node;
	}
	free(all);
	return 0;
}

static void put_node(struct tree *tree, uint32_t node, unsigned depth)
{
	const struct wtl_calls *calls = tree->profile->calls;

	if (tree->n_rows++ >= ROWS_MAX)
		return;
	put_row(tree->buf, tree->profile, &calls->all[node]);
	wtl_buf_printf(tree->buf, "%*s", (int)(2 * depth), "");
	wtl_layout_text(tree->buf, wtl_calls_name(calls, node), tree->style);
	wtl_buf_putc(tree->buf, '\n');
	for (uint32_t child = tree->first[node]; child && depth < DEPTH_MAX;
	     child = tree->next[child])
		if (wtl_profile_energy_uj(tree->profile, &calls->all[child]) >= tree->least_uj)
			put_node(tree, child, depth + 1);
}

static void put_tree(struct tree *tree)
{
	if (list_children(tree) == 0)
		for (uint32_t node = tree->first[0]; node; node = tree->next[node])
			if (wtl_profile_energy_uj(tree->profile,
						  &tree->profile->calls->all[node]) >=
			    tree->least_uj)
				put_node(tree, node, 0);
	free(tree->first);
	free(tree->next);
}

/* ---- The table ---- */

/* A function by its name, wherever it was called from. */
struct function {
	uint32_t name;
	struct wtl_calls_cost own, all;
	uint64_t own_uj, all_uj;
};

static int by_own(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->own_uj != y->own_uj)
		return x->own_uj > y->own_uj ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* A function that calls itself is counted once with all that it called. */
static bool is_outermost(const struct wtl_calls *calls, uint32_t node)
{
	uint32_t frame = calls->tree.nodes[node].frame;

	for (uint32_t at = calls->tree.nodes[node].parent; at; at = calls->tree.nodes[at].parent)
		if (calls->tree.nodes[at].frame == frame)
			return false;
	return true;
}

static void put_table(struct wtl_buf *buf, const struct wtl_profile *profile,
		      const struct wtl_output_style *style, uint64_t least_uj)
{
	const struct wtl_calls *calls = profile->calls;
	struct function *functions = calloc(calls->tree.n_frames + 1, sizeof(*functions));

	for (uint32_t node = 1; functions && node < calls->tree.n_nodes; node++) {
		uint32_t frame = calls->tree.nodes[node].frame;
		struct function *function = &functions[frame];

		function->name = frame;
		function->own_uj += wtl_profile_energy_uj(profile, &calls->own[node]);
		function->own.cpu_ns += calls->own[node].cpu_ns;
		function->own.n_samples += calls->own[node].n_samples;
		if (is_outermost(calls, node))
			function->all_uj += wtl_profile_energy_uj(profile, &calls->all[node]);
	}
	if (functions && calls->tree.n_frames > 0)
		qsort(functions, calls->tree.n_frames, sizeof(*functions), by_own);
	wtl_buf_puts(buf, "   own [J]            with calls [J]   CPU [s]  samples  function\n");
	for (size_t i = 0; functions && i < calls->tree.n_frames; i++) {
		const struct function *function = &functions[i];

		if (function->own_uj < least_uj || function->own_uj == 0)
			break;
		wtl_buf_printf(buf, "%10.3f \xc2\xb1 %-8.3f %14.3f %9.3f %8" PRIu64 "  ",
			       (double)function->own_uj / 1e6,
			       wtl_profile_uncertainty_uj(profile, (double)function->own_uj,
							  function->own.n_samples) /
				       1e6,
			       (double)function->all_uj / 1e6, (double)function->own.cpu_ns / 1e9,
			       function->own.n_samples);
		wtl_layout_text(buf, calls->tree.names[calls->tree.frames[function->name].name],
				style);
		wtl_buf_putc(buf, '\n');
	}
	free(functions);
}

/* ---- Beside the stacks ---- */

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

	*sums = (struct wtl_profile_sums){.total_uj = 0};
	for (size_t i = 0; i < profile->calls->n_domains; i++) {
		const struct wtl_ledger *ledger = &profile->ledgers[i];
		uint64_t unsampled_uj = row_uj(profile, WTL_SPLIT_UNSAMPLED, i);
		uint64_t unknown_uj = row_uj(profile, WTL_SPLIT_UNKNOWN, i);
		uint64_t own_uj = profile->calls->all[0].dynamic_uj[i] + unsampled_uj + unknown_uj;
		uint64_t running_uj = ledger->live_uj + ledger->exited_uj;
		/* Idle parts are rounded process by process in the ledger, and here of the program at once:
		 * that may be a microjoule of idle energy more than others have. */
		uint64_t excess_uj = own_uj > running_uj ? own_uj - running_uj : 0;

		if (domain < 0 ? !profile->counts[i] : i != (size_t)domain)
			continue;
		sums->stacks_uj += profile->calls->all[0].dynamic_uj[i];
		sums->unsampled_uj += unsampled_uj;
		sums->unknown_uj += unknown_uj;
		sums->others_uj += running_uj + excess_uj - own_uj;
		sums->kernel_uj += ledger->kernel_uj;
		sums->idle_uj += ledger->idle_uj - excess_uj;
		sums->unattributed_uj += ledger->unattributed_uj;
		sums->total_uj += ledger->total_uj;
	}
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
	put_word(buf, sums.others_uj, "other processes, wattle among them");
	put_word(buf, sums.kernel_uj, "the kernel");
	put_word(buf, sums.idle_uj, "idle: what the machine draws anyway");
	put_word(buf, sums.unattributed_uj, "nobody's who was seen");
	put_word(buf, sums.total_uj, "measured in all");
}

static void put_python(struct wtl_buf *buf, const struct wtl_python *python)
{
	if (python->n_merged > 0)
		wtl_buf_printf(buf,
			       "Python: of %" PRIu64 " samples, %" PRIu64
			       " have a function that is not known, and of %" PRIu64
			       " what C did is left out\n",
			       python->n_merged, python->n_missing, python->n_moved);
	if (python->n_unknown > 0)
		wtl_buf_printf(
			buf,
			"Python: of %" PRIu64
			" processes no function is known: their CPython is not 3.8 to 3.13, "
			"or their memory may not be read (sysctl kernel.yama.ptrace_scope)\n",
			python->n_unknown);
}

static void put_head(struct wtl_buf *buf, const struct wtl_profile *profile)
{
	const struct wtl_trace *trace = profile->trace;

	wtl_buf_printf(
		buf,
		"wattle profile: %.3f \xc2\xb1 %.3f J %s, %.3f s, %zu samples at %u Hz, %zu thread%s\n",
		(double)profile->dynamic_uj / 1e6, (double)profile->uncertainty_uj / 1e6,
		profile->has_idle ? "above idle" : "(idle power is not known)",
		(double)profile->window->duration_ns / 1e9, trace->n_samples, profile->hz,
		trace->n_threads, trace->n_threads == 1 ? "" : "s");
	if (trace->n_lost || trace->n_broken || trace->n_unresolved)
		wtl_buf_printf(buf,
			       "%" PRIu64 " records were lost, %" PRIu64
			       " stacks are not whole, %" PRIu64 " are not known\n",
			       trace->n_lost, trace->n_broken, trace->n_unresolved);
	if (trace->is_full)
		wtl_buf_puts(buf, "there was too little memory: what came later is missing\n");
	put_python(buf, &trace->python);
	wtl_buf_printf(buf, "the profiler used %.3f s of CPU time\n\n",
		       (double)profile->own_cpu_ns / 1e9);
}

void wtl_profile_text(struct wtl_buf *buf, const struct wtl_profile *profile,
		      const struct wtl_profile_settings *settings,
		      const struct wtl_output_style *style)
{
	struct tree tree = {.buf = buf,
			    .profile = profile,
			    .style = style,
			    .least_uj = (uint64_t)((double)profile->dynamic_uj *
						   settings->least_percent / 100.0)};

	put_head(buf, profile);
	if (settings->is_table) {
		put_table(buf, profile, style, tree.least_uj);
	} else {
		wtl_buf_puts(buf, "      energy [J]          %   CPU [s]  function\n");
		put_tree(&tree);
	}
	put_rest(buf, profile);
	wtl_profile_memory_text(buf, profile, style);
	wtl_kineto_text(buf, profile, style);
}
