/* SPDX-License-Identifier: MIT */
/* A trace in a file: threads, slices, samples and stacks, and where these are in the source. */
#include "commands/profile/saved_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static void pack_modules(struct wtl_pack *pack, struct wtl_modules *modules)
{
	size_t n = wtl_pack_texts(pack, &modules->list, &modules->n, sizeof(*modules->list));

	for (size_t i = 0; i < n && pack->error == 0; i++) {
		if (!pack->out && !(modules->list[i] = calloc(1, sizeof(**modules->list)))) {
			pack->error = -ENOMEM;
			modules->n = i;
			return;
		}
		if (!pack->out) {
			modules->list[i]->fd = modules->list[i]->debug_fd = -1;
			modules->list[i]->has_debug = true;
			modules->list[i]->has_symbols = modules->list[i]->has_dwarf =
				modules->list[i]->has_frames = modules->list[i]->has_python = true;
		}
		wtl_pack_name(pack, &modules->list[i]->path);
		if (!modules->list[i]->path && pack->error == 0)
			pack->error = -EBADMSG;
	}
	if (!pack->out && pack->error < 0)
		for (size_t i = 0; i < modules->n; i++)
			if (!modules->list[i])
				modules->n = i;
}

static uint32_t number_of_module(const struct wtl_modules *modules, const struct wtl_module *module)
{
	for (size_t i = 0; module && i < modules->n; i++)
		if (modules->list[i] == module)
			return (uint32_t)i + 1;
	return 0;
}

/* Packs the modules of frames as their numbers + 1; 0: none. */
static void pack_modules_of(struct wtl_pack *pack, struct wtl_frame *frames, size_t n,
			    const struct wtl_modules *modules)
{
	uint32_t *numbers = calloc(n + 1, sizeof(*numbers));

	if (!numbers) {
		pack->error = -ENOMEM;
		return;
	}
	for (size_t i = 0; pack->out && i < n; i++)
		numbers[i] = number_of_module(modules, frames[i].module);
	wtl_pack_column(pack, numbers, n, sizeof(*numbers), sizeof(*numbers));
	for (size_t i = 0; !pack->out && pack->error == 0 && i < n; i++)
		if (numbers[i] > modules->n)
			pack->error = -EBADMSG;
		else if (numbers[i] > 0)
			frames[i].module = modules->list[numbers[i] - 1];
	free(numbers);
}

/* Names with paths stay as they are, and are cleaned when shown. */
static void pack_names(struct wtl_pack *pack, struct wtl_tree *tree, bool are_files)
{
	size_t n = wtl_pack_texts(pack, &tree->names, &tree->n_names, sizeof(*tree->names));

	for (size_t i = 0; i < n; i++) {
		(are_files ? wtl_pack_name : wtl_pack_text)(pack, &tree->names[i]);
		if (!tree->names[i] && pack->error == 0)
			pack->error = -EBADMSG;
	}
}

static void pack_tree(struct wtl_pack *pack, struct wtl_tree *tree,
		      const struct wtl_modules *modules, bool has_files)
{
	size_t n;

	pack_names(pack, tree, has_files);
	n = wtl_pack_array(pack, &tree->frames, &tree->n_frames, sizeof(*tree->frames));
	WTL_PACK_COLUMN(pack, tree->frames, n, kind);
	WTL_PACK_COLUMN(pack, tree->frames, n, name);
	WTL_PACK_COLUMN(pack, tree->frames, n, address);
	pack_modules_of(pack, tree->frames, n, modules);
	n = wtl_pack_array(pack, &tree->nodes, &tree->n_nodes, sizeof(*tree->nodes));
	WTL_PACK_COLUMN(pack, tree->nodes, n, parent);
	WTL_PACK_COLUMN(pack, tree->nodes, n, frame);
}

static int by_module(const void *a, const void *b)
{
	const struct wtl_frame *const *x = a, *const *y = b;

	if ((*x)->module != (*y)->module)
		return (uintptr_t)(*x)->module < (uintptr_t)(*y)->module ? -1 : 1;
	return (*x)->address < (*y)->address ? -1 : (*x)->address > (*y)->address;
}

/* Adds a symbol that spans all frames seen of a function, or widens it to this frame. */
static void add_symbol(struct wtl_pack *pack, const struct wtl_frame *frame, uint64_t address)
{
	struct wtl_module *module = frame->module;
	struct wtl_module_symbol *last =
		module->n_symbols > 0 ? &module->symbols[module->n_symbols - 1] : NULL;

	if (address > frame->address || (last && address < last->address)) {
		pack->error = -EBADMSG;
	} else if (last && last->address == address) {
		last->size = frame->address - address + 1;
	} else if (wtl_array_resize(&module->symbols, module->n_symbols + 1,
				    sizeof(*module->symbols)) < 0) {
		pack->error = -ENOMEM;
	} else {
		module->symbols[module->n_symbols++] = (struct wtl_module_symbol){
			.address = address, .size = frame->address - address + 1, .name = ""};
	}
}

static void add_symbols(struct wtl_pack *pack, const struct wtl_trace *trace,
			const uint64_t *functions)
{
	const struct wtl_tree *tree = &trace->tree;
	const struct wtl_frame **sorted = calloc(tree->n_frames + 1, sizeof(const void *));

	if (!sorted)
		pack->error = -ENOMEM;
	for (size_t i = 0; sorted && i < tree->n_frames; i++)
		sorted[i] = &tree->frames[i];
	if (sorted && tree->n_frames > 0)
		qsort((void *)sorted, tree->n_frames, sizeof(*sorted), by_module);
	for (size_t i = 0; pack->error == 0 && i < tree->n_frames; i++) {
		uint64_t function = functions[sorted[i] - tree->frames];

		if (sorted[i]->module && function > 0)
			add_symbol(pack, sorted[i], function - 1);
	}
	free((void *)sorted);
}

/* Packs the address of each native frame's function, + 1; 0: not known. It is needed to learn watts of functions
 * when a profile is cut. */
static void pack_functions(struct wtl_pack *pack, struct wtl_trace *trace)
{
	const struct wtl_tree *tree = &trace->tree;
	uint64_t *functions = calloc(tree->n_frames + 1, sizeof(*functions));

	if (!functions) {
		pack->error = -ENOMEM;
		return;
	}
	for (size_t i = 0; pack->out && i < tree->n_frames; i++) {
		const struct wtl_frame *frame = &tree->frames[i];
		const struct wtl_module_symbol *symbol =
			frame->kind == WTL_FRAME_NATIVE && frame->module
				? wtl_module_symbol(&trace->modules, frame->module, frame->address)
				: NULL;

		functions[i] = symbol ? symbol->address + 1 : 0;
	}
	wtl_pack_column(pack, functions, tree->n_frames, sizeof(*functions), sizeof(*functions));
	if (!pack->out && pack->error == 0)
		add_symbols(pack, trace, functions);
	free(functions);
}

static void pack_threads(struct wtl_pack *pack, struct wtl_trace *trace)
{
	size_t n =
		wtl_pack_texts(pack, &trace->threads, &trace->n_threads, sizeof(*trace->threads));

	WTL_PACK_COLUMN(pack, trace->threads, n, pid);
	WTL_PACK_COLUMN(pack, trace->threads, n, tid);
	WTL_PACK_COLUMN(pack, trace->threads, n, cpu_ns);
	WTL_PACK_COLUMN(pack, trace->threads, n, node);
	for (size_t i = 0; i < n; i++)
		WTL_PACK_CHARS(pack, trace->threads[i].name);
}

/* Packs threads, slices and samples. */
static void pack_seen(struct wtl_pack *pack, struct wtl_trace *trace)
{
	size_t n;

	WTL_PACK_FIELD(pack, trace->n_lost);
	WTL_PACK_FIELD(pack, trace->n_broken);
	if (pack->out || pack->version >= 3)
		WTL_PACK_FIELD(pack, trace->n_cut);
	else
		trace->n_cut = trace->n_broken; /* as far as is known */
	WTL_PACK_FIELD(pack, trace->n_joined);
	WTL_PACK_FIELD(pack, trace->n_unresolved);
	WTL_PACK_FIELD(pack, trace->n_halved);
	wtl_pack_flag(pack, &trace->is_full);
	WTL_PACK_FIELD(pack, trace->python.n_merged);
	WTL_PACK_FIELD(pack, trace->python.n_moved);
	WTL_PACK_FIELD(pack, trace->python.n_missing);
	WTL_PACK_FIELD(pack, trace->python.n_unknown);
	pack_threads(pack, trace);
	n = wtl_pack_array(pack, &trace->slices, &trace->n_slices, sizeof(*trace->slices));
	WTL_PACK_COLUMN(pack, trace->slices, n, thread);
	WTL_PACK_COLUMN(pack, trace->slices, n, begin_ns);
	WTL_PACK_COLUMN(pack, trace->slices, n, end_ns);
	n = wtl_pack_array(pack, &trace->samples, &trace->n_samples, sizeof(*trace->samples));
	WTL_PACK_COLUMN(pack, trace->samples, n, thread);
	WTL_PACK_COLUMN(pack, trace->samples, n, node);
	WTL_PACK_COLUMN(pack, trace->samples, n, t_ns);
}

void wtl_saved_pack_trace(struct wtl_pack *pack, struct wtl_trace *trace)
{
	pack_seen(pack, trace);
	pack_modules(pack, &trace->modules);
	pack_tree(pack, &trace->tree, &trace->modules, true);
	pack_functions(pack, trace);
}

void wtl_saved_pack_places(struct wtl_pack *pack, struct wtl_places *places)
{
	size_t n;

	pack_names(pack, &places->files, true);
	n = wtl_pack_array(pack, &places->n_of_frames, &places->n_frames,
			   sizeof(*places->n_of_frames));
	wtl_pack_column(pack, places->n_of_frames, n, sizeof(*places->n_of_frames),
			sizeof(*places->n_of_frames));
	n = wtl_pack_array(pack, &places->list, &places->n, sizeof(*places->list));
	WTL_PACK_COLUMN(pack, places->list, n, file);
	WTL_PACK_COLUMN(pack, places->list, n, begin);
	WTL_PACK_COLUMN(pack, places->list, n, line);
}

void wtl_saved_pack_calls(struct wtl_pack *pack, struct wtl_saved *saved)
{
	struct wtl_calls *calls = &saved->calls;
	size_t n = saved->trace.tree.n_nodes;

	pack_tree(pack, &calls->tree, &saved->trace.modules, false);
	n = wtl_pack_array(pack, &calls->of_nodes, &n, sizeof(*calls->of_nodes));
	wtl_pack_column(pack, calls->of_nodes, n, sizeof(*calls->of_nodes),
			sizeof(*calls->of_nodes));
	if (n != saved->trace.tree.n_nodes && pack->error == 0)
		pack->error = -EBADMSG;
}

/* ---- Parts ---- */

/* Appends those modules of `more` that are new to `all`; frees the rest. */
static void add_modules(struct wtl_pack *pack, struct wtl_modules *all, struct wtl_modules *more,
			uint64_t first)
{
	size_t n_old = first <= all->n ? all->n - first : 0;

	if (first > all->n && pack->error == 0)
		pack->error = -EBADMSG;
	if (pack->error == 0 && n_old < more->n) {
		if (wtl_array_resize(&all->list, first + more->n, sizeof(*all->list)) < 0)
			pack->error = -ENOMEM;
		for (size_t i = n_old; pack->error == 0 && i < more->n; i++) {
			all->list[all->n++] = more->list[i];
			more->list[i] = NULL;
		}
	}
	for (size_t i = 0; i < more->n; i++) {
		if (more->list[i])
			free(more->list[i]->path);
		free(more->list[i]);
	}
	free(more->list);
	*more = (struct wtl_modules){.n = 0};
}

void wtl_saved_pack_part(struct wtl_pack *pack, struct wtl_saved_part *part,
			 struct wtl_modules *all)
{
	struct wtl_modules *modules = &part->trace.modules;

	WTL_PACK_FIELD(pack, part->hz);
	WTL_PACK_FIELD(pack, part->stack_bytes);
	WTL_PACK_FIELD(pack, part->n_unseen);
	WTL_PACK_FIELD(pack, part->n_threads);
	WTL_PACK_FIELD(pack, part->n_modules);
	WTL_PACK_FIELD(pack, part->n_names);
	WTL_PACK_FIELD(pack, part->n_frames);
	WTL_PACK_FIELD(pack, part->n_nodes);
	pack_seen(pack, &part->trace);
	pack_modules(pack, modules);
	for (size_t i = 0; i < modules->n && pack->error == 0; i++) {
		WTL_PACK_FIELD(pack, modules->list[i]->device);
		WTL_PACK_FIELD(pack, modules->list[i]->inode);
	}
	if (!pack->out)
		add_modules(pack, all, modules, part->n_modules);
	pack_tree(pack, &part->trace.tree, all, true);
}

void wtl_saved_pack_all_names(struct wtl_pack *pack, struct wtl_saved *saved)
{
	pack_threads(pack, &saved->trace);
	pack_modules(pack, &saved->trace.modules);
	pack_tree(pack, &saved->trace.tree, &saved->trace.modules, true);
	pack_functions(pack, &saved->trace);
	wtl_saved_pack_places(pack, &saved->places);
	wtl_saved_pack_calls(pack, saved);
}
