/* SPDX-License-Identifier: MIT */
/* Memory in a profile: each process's peak, and the functions in which it grew. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "commands/profile/profile.h"
#include "commands/profile/stacks.h"
#include "document/doc.h"
#include "document/format.h"
#include "text/layout.h"

enum { ROWS_MAX = 20 };

struct function {
	uint32_t frame;
	struct wtl_memory_change own, all; /* itself; with what it called, recursion once */
};

struct functions {
	struct function *list;
	size_t n;
	struct wtl_memory_change unseen; /* without a sample */
};

static int by_growth(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->all.grown != y->all.grown)
		return x->all.grown > y->all.grown ? -1 : 1;
	if (x->own.grown != y->own.grown)
		return x->own.grown > y->own.grown ? -1 : 1;
	return x->frame < y->frame ? -1 : x->frame > y->frame;
}

/* Sums up from the leaves: children have higher numbers than their parents. */
static void sum_up(const struct wtl_calls *calls, const struct wtl_memory_change own[],
		   struct wtl_memory_change all[], struct functions *functions)
{
	for (size_t i = calls->tree.n_nodes; i-- > 1;) {
		const struct wtl_tree_node *node = &calls->tree.nodes[i];
		struct function *function = &functions->list[node->frame];

		wtl_memory_add(&all[i], &own[i]);
		wtl_memory_add(&all[node->parent], &all[i]);
		wtl_memory_add(&function->own, &own[i]);
		if (wtl_tree_is_outermost(&calls->tree, i))
			wtl_memory_add(&function->all, &all[i]);
	}
}

/* Functions with any change, most growth with calls first. NULL: no memory; free() it. */
static struct function *list_functions(const struct wtl_profile *profile,
				       struct functions *functions)
{
	const struct wtl_calls *calls = profile->calls;
	size_t n_trace = profile->trace->tree.n_nodes, n_calls = calls->tree.n_nodes;
	struct wtl_memory_change *changes = calloc(n_trace + 2 * n_calls, sizeof(*changes));
	struct wtl_memory_change *own = changes + n_trace, *all = own + n_calls;

	functions->list = calloc(calls->tree.n_frames + 1, sizeof(*functions->list));
	if (changes && functions->list &&
	    wtl_memory_charge(profile->memory, profile->trace, changes) == 0) {
		functions->unseen = changes[0];
		for (size_t i = 1; i < n_trace; i++)
			wtl_memory_add(&own[calls->of_nodes[i]], &changes[i]);
		for (size_t i = 0; i < calls->tree.n_frames; i++)
			functions->list[i].frame = (uint32_t)i;
		sum_up(calls, own, all, functions);
		qsort(functions->list, calls->tree.n_frames, sizeof(*functions->list), by_growth);
		while (functions->n < calls->tree.n_frames &&
		       (functions->list[functions->n].all.grown > 0 ||
			functions->list[functions->n].all.shrunk > 0))
			functions->n++;
	}
	free(changes);
	return functions->list;
}

static const char *name_of(const struct wtl_profile *profile, const struct function *function)
{
	const struct wtl_tree *tree = &profile->calls->tree;

	return tree->names[tree->frames[function->frame].name];
}

static const char *process_name(const struct wtl_trace *trace, int pid)
{
	const char *name = "";

	for (size_t i = 0; i < trace->n_threads; i++)
		if (trace->threads[i].pid == pid && trace->threads[i].tid == pid)
			name = trace->threads[i].name;
	return name;
}

/* ---- For people ---- */

static void put_bytes(struct wtl_buf *buf, uint64_t bytes)
{
	struct wtl_buf text;

	wtl_buf_init(&text, 64);
	if (bytes > 0)
		wtl_format_bytes(&text, bytes);
	wtl_buf_printf(buf, "%12s", bytes > 0 ? wtl_buf_str(&text) : "-");
	wtl_buf_done(&text);
}

static int by_peak(const void *a, const void *b)
{
	const struct wtl_memory_process *const *x = a, *const *y = b;

	if ((*x)->peak_rss != (*y)->peak_rss)
		return (*x)->peak_rss > (*y)->peak_rss ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

static void put_processes(struct wtl_buf *buf, const struct wtl_profile *profile,
			  const struct wtl_output_style *style)
{
	const struct wtl_memory *memory = profile->memory;
	const struct wtl_memory_process **sorted = calloc(memory->n + 1, sizeof(*sorted));

	for (size_t i = 0; sorted && i < memory->n; i++)
		sorted[i] = &memory->processes[i];
	if (sorted)
		qsort(sorted, memory->n, sizeof(*sorted), by_peak);
	for (size_t i = 0; sorted && i < memory->n && i < ROWS_MAX; i++) {
		put_bytes(buf, sorted[i]->peak_rss);
		put_bytes(buf, sorted[i]->peak_pss);
		wtl_buf_puts(buf, "  ");
		wtl_layout_text(buf, process_name(profile->trace, sorted[i]->pid), style);
		wtl_buf_printf(buf, " [%d]\n", sorted[i]->pid);
	}
	if (memory->n > ROWS_MAX)
		wtl_buf_printf(buf, "%26s%zu more\n", "", memory->n - ROWS_MAX);
	free(sorted);
}

static void put_change(struct wtl_buf *buf, const struct wtl_memory_change *own,
		       const struct wtl_memory_change *all)
{
	put_bytes(buf, own->grown);
	put_bytes(buf, all->grown);
	put_bytes(buf, own->shrunk);
	put_bytes(buf, all->peak);
	wtl_buf_puts(buf, "  ");
}

void wtl_profile_memory_text(struct wtl_buf *buf, const struct wtl_profile *profile,
			     const struct wtl_output_style *style)
{
	const struct wtl_memory *memory = profile->memory;
	struct functions functions = {.n = 0};

	if (!memory)
		return;
	wtl_buf_puts(buf, "\n    peak RSS    peak PSS  process\n");
	put_processes(buf, profile, style);
	if (!list_functions(profile, &functions))
		return;
	wtl_buf_puts(buf,
		     "\n   RSS grown  with calls      shrunk    peak RSS  while on the stack\n");
	for (size_t i = 0; i < functions.n && i < ROWS_MAX; i++) {
		const struct function *function = &functions.list[i];

		put_change(buf, &function->own, &function->all);
		wtl_layout_text(buf, name_of(profile, function), style);
		wtl_buf_putc(buf, '\n');
	}
	if (functions.unseen.grown > 0 || functions.unseen.shrunk > 0) {
		put_change(buf, &functions.unseen, &functions.unseen);
		wtl_buf_puts(buf, WTL_STACKS_NOT_SEEN "\n");
	}
	if (memory->n_halved)
		wtl_buf_printf(buf,
			       "it was long: memory was looked at for one of %" PRIu64 " samples\n",
			       UINT64_C(1) << memory->n_halved);
	if (memory->is_full)
		wtl_buf_puts(buf, "there was too little memory: some of it is missing\n");
	free(functions.list);
}

/* ---- In numbers ---- */

void wtl_profile_memory_doc(struct wtl_node *to, const struct wtl_profile *profile)
{
	const struct wtl_memory *memory = profile->memory;
	struct functions functions = {.n = 0};
	struct wtl_node *object, *list;

	if (!memory)
		return;
	object = wtl_doc_object(to, "memory");
	list = wtl_doc_list(object, "processes");
	for (size_t i = 0; i < memory->n; i++) {
		struct wtl_node *row = wtl_doc_object(list, NULL);

		wtl_doc_integer(row, "pid", memory->processes[i].pid);
		wtl_doc_text(row, "name", process_name(profile->trace, memory->processes[i].pid));
		wtl_doc_count(row, "peak_rss_bytes", memory->processes[i].peak_rss);
		if (memory->processes[i].peak_pss > 0)
			wtl_doc_count(row, "peak_pss_bytes", memory->processes[i].peak_pss);
	}
	list = wtl_doc_list(object, "functions");
	list_functions(profile, &functions);
	for (size_t i = 0; i < functions.n; i++) {
		const struct function *function = &functions.list[i];
		struct wtl_node *row = wtl_doc_object(list, NULL);

		wtl_doc_text(row, "function", name_of(profile, function));
		wtl_doc_count(row, "own_grown_bytes", function->own.grown);
		wtl_doc_count(row, "own_shrunk_bytes", function->own.shrunk);
		wtl_doc_count(row, "grown_bytes", function->all.grown);
		wtl_doc_count(row, "shrunk_bytes", function->all.shrunk);
		wtl_doc_count(row, "peak_rss_bytes", function->all.peak);
	}
	wtl_doc_count(object, "unseen_grown_bytes", functions.unseen.grown);
	wtl_doc_count(object, "unseen_shrunk_bytes", functions.unseen.shrunk);
	free(functions.list);
}
