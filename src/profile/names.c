/* SPDX-License-Identifier: MIT */
#include "profile/names.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profile/lines.h"

enum { NAME_SIZE = 512, INLINED_MAX = 32 };

typedef char *demangle_fn(const char *mangled, char *room, size_t *size, int *ret_status);

/* The C++ runtime's, where there is one: whoever has C++ programs has it. */
static demangle_fn *find_demangler(void)
{
	void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
	demangle_fn *demangle = NULL;

	if (library)
		*(void **)&demangle = dlsym(library, "__cxa_demangle");
	return demangle;
}

struct naming {
	struct wtl_trace *trace;
	struct wtl_calls *calls;
	demangle_fn *demangle;
};

static void clean_name(const struct naming *naming, const char *name, char clean[NAME_SIZE])
{
	char *readable = NULL;
	int status = -1;

	if (naming->demangle && strncmp(name, "_Z", 2) == 0)
		readable = naming->demangle(name, NULL, NULL, &status);
	name = readable && status == 0 ? readable : name;
	wtl_text_clean(clean, NAME_SIZE, name, strlen(name));
	free(readable);
}

static void name_module(const struct wtl_module *module, char name[NAME_SIZE])
{
	const char *slash = strrchr(module->path, '/');
	char clean[NAME_SIZE - 32];

	if (module->path[0] == '[') {
		wtl_text_clean(name, NAME_SIZE, module->path, strlen(module->path));
		return;
	}
	slash = slash ? slash + 1 : module->path;
	wtl_text_clean(clean, sizeof(clean), slash, strlen(slash));
	snprintf(name, NAME_SIZE, "[%s%s]", clean,
		 module->error == -ESTALE ? ": file was replaced" : "");
}

/* The innermost function of a place, as its symbol says. */
static void name_place(const struct naming *naming, const struct wtl_frame *frame,
		       char name[NAME_SIZE])
{
	const struct wtl_module_symbol *symbol;

	if (frame->kind != WTL_FRAME_NATIVE) {
		wtl_text_copy(name, NAME_SIZE, naming->trace->tree.names[frame->name]);
		return;
	}
	if (!frame->module) {
		wtl_text_copy(name, NAME_SIZE, "[unknown code]");
		return;
	}
	symbol = wtl_module_symbol(&naming->trace->modules, frame->module, frame->address);
	if (symbol)
		clean_name(naming, symbol->name, name);
	else
		name_module(frame->module, name);
}

/* Calls that the compiler put into that place, the outermost first: how many names there are, without the function
 * that they were put into. */
static size_t name_inlined(const struct naming *naming, const struct wtl_frame *frame,
			   char names[INLINED_MAX][NAME_SIZE])
{
	const struct wtl_modules *modules = &naming->trace->modules;
	const struct wtl_dw *dw = &modules->dw;
	Dwarf_Die unit, *scopes = NULL;
	size_t n = 0;
	int n_scopes =
		frame->kind == WTL_FRAME_NATIVE && frame->module
			? wtl_scopes_of(modules, frame->module, frame->address, &unit, &scopes)
			: 0;

	for (int i = n_scopes - 1; i >= 0 && n < INLINED_MAX; i--) {
		Dwarf_Attribute attribute;
		const char *name;

		if (dw->dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine)
			continue;
		name = dw->dwarf_formstring(
			dw->dwarf_attr_integrate(&scopes[i], DW_AT_linkage_name, &attribute));
		if (!name)
			name = dw->dwarf_diename(&scopes[i]);
		/* How CPython calls is no function of the program's. */
		if (name && !(frame->module->python.runtime && wtl_python_is_calling(name)))
			clean_name(naming, name, names[n++]);
	}
	if (n_scopes > 0)
		free(scopes);
	return n;
}

static int64_t call_of(struct naming *naming, uint32_t parent, const char *name)
{
	struct wtl_tree *tree = &naming->calls->tree;
	int64_t number = wtl_tree_name(tree, name), frame;
	struct wtl_frame called = {.kind = WTL_FRAME_NAMED, .name = (uint32_t)number};

	if (number < 0)
		return number;
	frame = wtl_tree_frame(tree, &called);
	return frame < 0 ? frame : wtl_tree_child(tree, parent, (uint32_t)frame);
}

/* What each frame is called is asked once: a list of names, ended by NULL, outermost first. */
static int name_frames(struct naming *naming, uint32_t (*lists)[INLINED_MAX + 2])
{
	const struct wtl_tree *from = &naming->trace->tree;
	char inlined[INLINED_MAX][NAME_SIZE], name[NAME_SIZE];

	for (size_t i = 0; i < from->n_frames; i++) {
		size_t n = name_inlined(naming, &from->frames[i], inlined);
		int64_t number;

		name_place(naming, &from->frames[i], name);
		number = wtl_tree_name(&naming->calls->tree, name);
		if (number < 0)
			return -ENOMEM;
		lists[i][0] = (uint32_t)number;
		for (size_t k = 0; k < n; k++) {
			number = wtl_tree_name(&naming->calls->tree, inlined[k]);
			if (number < 0)
				return -ENOMEM;
			lists[i][k + 1] = (uint32_t)number;
		}
		lists[i][n + 1] = UINT32_MAX;
	}
	return 0;
}

/* A node of places becomes a call below its parent's. */
static int name_nodes(struct naming *naming, const uint32_t (*lists)[INLINED_MAX + 2],
		      uint32_t *calls)
{
	const struct wtl_tree *from = &naming->trace->tree;

	for (size_t i = 1; i < from->n_nodes; i++) {
		const uint32_t *names = lists[from->nodes[i].frame];
		int64_t call = calls[from->nodes[i].parent];

		for (size_t k = 0; names[k] != UINT32_MAX && call >= 0; k++)
			call = call_of(naming, (uint32_t)call, naming->calls->tree.names[names[k]]);
		if (call < 0)
			return -ENOMEM;
		calls[i] = (uint32_t)call;
	}
	return 0;
}

static void add_cost(struct wtl_calls_cost *to, const struct wtl_calls_cost *more, size_t n_domains)
{
	for (size_t i = 0; i < n_domains; i++) {
		to->dynamic_uj[i] += more->dynamic_uj[i];
		to->idle_uj[i] += more->idle_uj[i];
	}
	to->cpu_ns += more->cpu_ns;
	to->n_samples += more->n_samples;
}

static int make_costs(struct wtl_calls *calls)
{
	size_t n = calls->tree.n_nodes, each = calls->n_domains;

	calls->own = calloc(n, sizeof(*calls->own));
	calls->all = calloc(n, sizeof(*calls->all));
	calls->energies = calloc(4 * n * each + 1, sizeof(*calls->energies));
	if (!calls->own || !calls->all || !calls->energies)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint64_t *at = &calls->energies[4 * i * each];

		calls->own[i] = (struct wtl_calls_cost){.dynamic_uj = at, .idle_uj = at + each};
		calls->all[i] = (struct wtl_calls_cost){.dynamic_uj = at + 2 * each,
							.idle_uj = at + 3 * each};
	}
	return 0;
}

static void add_up(struct wtl_calls *calls, const struct wtl_split_result *result,
		   const uint32_t *call_of_node)
{
	for (size_t i = 0; i < result->n_nodes; i++) {
		const struct wtl_calls_cost own = {
			.dynamic_uj = &result->dynamic_uj[i * result->n_domains],
			.idle_uj = &result->idle_uj[i * result->n_domains],
			.cpu_ns = result->cpu_ns[i],
			.n_samples = result->n_samples[i]};

		add_cost(&calls->own[call_of_node[i]], &own, calls->n_domains);
	}
	/* Children have higher numbers than their parents. */
	for (size_t i = calls->tree.n_nodes; i-- > 0;) {
		add_cost(&calls->all[i], &calls->own[i], calls->n_domains);
		if (i > 0)
			add_cost(&calls->all[calls->tree.nodes[i].parent], &calls->all[i],
				 calls->n_domains);
	}
}

int wtl_calls_make(struct wtl_trace *trace, const struct wtl_split_result *result,
		   struct wtl_calls *ret_calls)
{
	struct naming naming = {.trace = trace, .calls = ret_calls, .demangle = find_demangler()};
	uint32_t(*lists)[INLINED_MAX + 2] = calloc(trace->tree.n_frames + 1, sizeof(*lists));
	uint32_t *calls = calloc(trace->tree.n_nodes, sizeof(*calls));
	int rc;

	*ret_calls = (struct wtl_calls){.n_domains = result->n_domains};
	rc = lists && calls ? wtl_tree_init(&ret_calls->tree) : -ENOMEM;
	if (rc == 0)
		rc = name_frames(&naming, lists);
	if (rc == 0)
		rc = name_nodes(&naming, (const uint32_t(*)[INLINED_MAX + 2]) lists, calls);
	if (rc == 0)
		rc = make_costs(ret_calls);
	if (rc == 0)
		add_up(ret_calls, result, calls);
	free(lists);
	ret_calls->of_nodes = calls;
	return rc;
}

void wtl_calls_done(struct wtl_calls *calls)
{
	wtl_tree_done(&calls->tree);
	free(calls->of_nodes);
	free(calls->own);
	free(calls->all);
	free(calls->energies);
	*calls = (struct wtl_calls){.n_domains = 0};
}

const char *wtl_calls_name(const struct wtl_calls *calls, size_t node)
{
	const struct wtl_tree *tree = &calls->tree;

	return node == 0 ? "" : tree->names[tree->frames[tree->nodes[node].frame].name];
}
