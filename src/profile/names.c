/* SPDX-License-Identifier: MIT */
#include "profile/names.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profile/cxx_local.h"
#include "profile/cxx_names.h"
#include "profile/functions.h"
#include "profile/lines.h"
#include "profile/rust_names.h"

/* A frame has at least one function; a list has an end mark. */
enum { NAME_SIZE = 512, TEXT_SIZE = 2048, LIST_SIZE = WTL_LINES_MAX + 1 };

typedef char *demangle_fn(const char *mangled, char *room, size_t *size, int *ret_status);

/* The C++ runtime's demangler; NULL: not installed, as on machines without C++ programs. */
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
	struct wtl_functions functions;
	demangle_fn *demangle;
};

static void clean_name(const struct naming *naming, const char *name, char clean[NAME_SIZE])
{
	char *readable = NULL, rust[NAME_SIZE];
	int status = -1;

	if (wtl_rust_name(name, rust, sizeof(rust)))
		name = rust;
	else if (naming->demangle && strncmp(name, "_Z", 2) == 0 && wtl_cxx_name_is_short(name))
		readable = naming->demangle(name, NULL, NULL, &status);
	name = readable && status == 0 ? readable : name;
	wtl_text_clean(clean, NAME_SIZE, name, strlen(name));
	free(readable);
}

/* Why the functions of a file are not known. */
static const char *why_unreadable(const struct wtl_module *module)
{
	switch (module->error) {
	case -ESTALE:
		return ": file was replaced";
	case -ENOENT:
		return ": file is gone";
	case -EACCES:
		return ": file may not be read";
	default:
		return "";
	}
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
	snprintf(name, NAME_SIZE, "[%s%s]", clean, why_unreadable(module));
}

/* A Python frame's text has name, file and first line: "fit (/home/me/train.py:12)". */
static int64_t add_python(struct naming *naming, const char *text)
{
	const char *open = strstr(text, " ("), *colon = strrchr(text, ':');
	struct wtl_function function = {.name = text, .source = "", .module = ""};
	char name[TEXT_SIZE], source[TEXT_SIZE];

	if (open && colon && colon > open + 2) {
		snprintf(name, sizeof(name), "%.*s", (int)(open - text), text);
		snprintf(source, sizeof(source), "%.*s", (int)(colon - open - 2), open + 2);
		function.name = name;
		function.source = source;
		function.line = (uint32_t)strtoul(colon + 1, NULL, 10);
	}
	return wtl_functions_add(&naming->functions, &function);
}

/* The function of a frame by its symbol, without inlined calls; or one for the module, if there is no symbol. */
static int64_t add_place(struct naming *naming, const struct wtl_frame *frame, const char *source)
{
	const char *text = frame->kind == WTL_FRAME_NATIVE ? WTL_CALLS_UNKNOWN
							   : naming->trace->tree.names[frame->name];
	struct wtl_function function = {.name = text, .source = "", .module = ""};
	const struct wtl_module_symbol *symbol;
	char name[NAME_SIZE];

	if (frame->kind == WTL_FRAME_PYTHON)
		return add_python(naming, text);
	if (frame->kind != WTL_FRAME_NATIVE || !frame->module)
		return wtl_functions_add(&naming->functions, &function);
	symbol = wtl_module_symbol(&naming->trace->modules, frame->module, frame->address);
	if (symbol)
		symbol = wtl_module_whole(&naming->trace->modules, frame->module, symbol,
					  source[0] != '\0');
	if (symbol)
		clean_name(naming, symbol->name, name);
	else
		name_module(frame->module, name);
	function = (struct wtl_function){
		.name = name,
		.source = symbol ? source : "",
		.module = frame->module->path,
		.of = frame->module->is_jit ? NULL : frame->module,
		.address = symbol && !source[0] && !frame->module->is_jit ? symbol->address : 0,
	};
	return wtl_functions_add(&naming->functions, &function);
}

/* The name of an inlined call: that of the same function where it was compiled for itself, if it was, as its rows have. */
static void name_inlined(const struct naming *naming, const struct wtl_frame *frame,
			 const struct wtl_line *line, char clean[NAME_SIZE])
{
	const struct wtl_module_symbol *symbol =
		line->instance
			? wtl_module_symbol(&naming->trace->modules, frame->module, line->instance)
			: NULL;
	/* Without what is added to copies: C++ names have no dots. */
	char *mangled = symbol ? strndup(symbol->name, strcspn(symbol->name, ".")) : NULL;
	bool matches = mangled && wtl_cxx_local_matches(mangled, line->name);

	clean_name(naming, matches ? mangled : line->name, clean);
	free(mangled);
}

/* A call that was inlined at the frame: a function of the same module. */
static int64_t add_inlined(struct naming *naming, const struct wtl_frame *frame,
			   const struct wtl_line *line)
{
	char clean[NAME_SIZE];
	struct wtl_function function = {.name = clean,
					.source = line->file ? line->file : "",
					.module = frame->module->path,
					.of = frame->module};

	name_inlined(naming, frame, line, clean);
	return wtl_functions_add(&naming->functions, &function);
}

/* Lists a frame's functions, the outermost first: its own, and the calls inlined there. UINT32_MAX ends the list. */
static int add_frame(struct naming *naming, size_t at, uint32_t list[LIST_SIZE])
{
	const struct wtl_frame *frame = &naming->trace->tree.frames[at];
	const struct wtl_line *lines;
	size_t n = 0, n_lines = wtl_lines_of(&naming->trace->lines, at, &lines);
	const char *source = n_lines > 0 ? lines[0].file : NULL;
	int64_t number = add_place(naming, frame, source ? source : "");

	if (number >= 0)
		list[n++] = (uint32_t)number;
	for (size_t i = 1; i < n_lines && number != -ENOMEM; i++) {
		number = add_inlined(naming, frame, &lines[i]);
		if (number >= 0)
			list[n++] = (uint32_t)number;
	}
	list[n] = UINT32_MAX;
	return number == -ENOMEM ? -ENOMEM : 0;
}

/* Lists each frame's functions once, then replaces them by the numbers of their names. */
static int name_frames(struct naming *naming, uint32_t (*lists)[LIST_SIZE])
{
	const struct wtl_tree *from = &naming->trace->tree;
	int rc = wtl_lines_make(&naming->trace->lines, &naming->trace->modules, from);

	for (size_t i = 0; i < from->n_frames && rc == 0; i++)
		rc = add_frame(naming, i, lists[i]);
	if (rc == 0)
		rc = wtl_functions_name(&naming->functions);
	for (size_t i = 0; i < from->n_frames && rc == 0; i++)
		for (uint32_t *at = lists[i]; *at != UINT32_MAX && rc == 0; at++) {
			int64_t name = wtl_tree_name(&naming->calls->tree,
						     wtl_functions_text(&naming->functions, *at));

			*at = (uint32_t)name;
			rc = name < 0 ? -ENOMEM : 0;
		}
	return rc;
}

static int64_t call_of(struct naming *naming, uint32_t parent, uint32_t name)
{
	struct wtl_tree *tree = &naming->calls->tree;
	const struct wtl_frame called = {.kind = WTL_FRAME_NAMED, .name = name};
	int64_t frame = wtl_tree_frame(tree, &called);

	return frame < 0 ? frame : wtl_tree_child(tree, parent, (uint32_t)frame);
}

/* Each node of the trace becomes calls below its parent's call. */
static int name_nodes(struct naming *naming, const uint32_t (*lists)[LIST_SIZE], uint32_t *calls)
{
	const struct wtl_tree *from = &naming->trace->tree;

	for (size_t i = 1; i < from->n_nodes; i++) {
		const uint32_t *names = lists[from->nodes[i].frame];
		int64_t call = calls[from->nodes[i].parent];

		for (size_t k = 0; names[k] != UINT32_MAX && call >= 0; k++)
			call = call_of(naming, (uint32_t)call, names[k]);
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
		to->doubt_uj[i] += more->doubt_uj[i];
	}
	to->cpu_ns += more->cpu_ns;
	to->wait_ns += more->wait_ns;
	to->n_samples += more->n_samples;
}

static int make_costs(struct wtl_calls *calls)
{
	size_t n = calls->tree.n_nodes, each = calls->n_domains;

	calls->own = calloc(n, sizeof(*calls->own));
	calls->all = calloc(n, sizeof(*calls->all));
	calls->energies = calloc(6 * n * each + 1, sizeof(*calls->energies));
	if (!calls->own || !calls->all || !calls->energies)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint64_t *at = &calls->energies[6 * i * each];

		calls->own[i] = (struct wtl_calls_cost){
			.dynamic_uj = at, .idle_uj = at + each, .doubt_uj = at + 2 * each};
		calls->all[i] = (struct wtl_calls_cost){.dynamic_uj = at + 3 * each,
							.idle_uj = at + 4 * each,
							.doubt_uj = at + 5 * each};
	}
	return 0;
}

int wtl_calls_add_up(struct wtl_calls *calls, const struct wtl_split_result *result)
{
	int rc = make_costs(calls);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < result->n_nodes; i++) {
		const struct wtl_calls_cost own = {
			.dynamic_uj = &result->dynamic_uj[i * result->n_domains],
			.idle_uj = &result->idle_uj[i * result->n_domains],
			.doubt_uj = &result->doubt_uj[i * result->n_domains],
			.cpu_ns = result->cpu_ns[i],
			.wait_ns = result->wait_ns ? result->wait_ns[i] : 0,
			.n_samples = result->n_samples[i]};

		add_cost(&calls->own[calls->of_nodes[i]], &own, calls->n_domains);
	}
	/* Children have higher numbers than their parents. */
	for (size_t i = calls->tree.n_nodes; i-- > 0;) {
		add_cost(&calls->all[i], &calls->own[i], calls->n_domains);
		if (i > 0)
			add_cost(&calls->all[calls->tree.nodes[i].parent], &calls->all[i],
				 calls->n_domains);
	}
	return 0;
}

int wtl_calls_make(struct wtl_trace *trace, const struct wtl_split_result *result,
		   struct wtl_calls *ret_calls)
{
	struct naming naming = {.trace = trace, .calls = ret_calls, .demangle = find_demangler()};
	uint32_t(*lists)[LIST_SIZE] = calloc(trace->tree.n_frames + 1, sizeof(*lists));
	uint32_t *calls = calloc(trace->tree.n_nodes, sizeof(*calls));
	int rc;

	*ret_calls = (struct wtl_calls){.n_domains = result->n_domains};
	rc = lists && calls ? wtl_tree_init(&ret_calls->tree) : -ENOMEM;
	if (rc == 0)
		rc = name_frames(&naming, lists);
	if (rc == 0)
		rc = name_nodes(&naming, (const uint32_t(*)[LIST_SIZE])lists, calls);
	wtl_functions_done(&naming.functions);
	ret_calls->of_nodes = calls;
	if (rc == 0)
		rc = wtl_calls_add_up(ret_calls, result);
	free(lists);
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
