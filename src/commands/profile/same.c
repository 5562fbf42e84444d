/* SPDX-License-Identifier: MIT */
#include "commands/profile/same.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/profile/label.h"

/* If so many parts of paths are alike, the whole paths are compared. Names have no more than SHOWN_MAX of a path's. */
enum { PARTS_MAX = 16, SHOWN_MAX = 64 };

/* A function of a run. Python's are known by name and file alone, which are their name here. */
struct seen {
	uint32_t name, whole_name; /* in `names`: without what is added to copies, and with it */
	uint32_t object;	   /* in `objects` */
	const char *file, *path;   /* its source's and its object's; "": not known */
	uint64_t address;
	size_t run;
};

/* What is known of all functions of a name. */
struct name {
	const char *file;		   /* the only name of their files; NULL: none is known */
	bool has_several;		   /* of files */
	bool by_address;		   /* a run has several that nothing else tells apart */
	unsigned file_parts, object_parts; /* how much of paths tells them apart in each run */
};

/* What is known of all programs or libraries of a name, on each side. */
struct object {
	bool is_there[2];
	bool has_files[2]; /* sources of some of its functions are known */
};

struct matching {
	const struct wtl_stacks *runs;
	size_t n_runs, n_first;
	struct seen *list;
	size_t n;
	struct wtl_tree names, objects, keys; /* texts */
	struct name *of_names;
	struct object *of_objects;
	const struct seen **owners; /* by key: the last one */
};

static unsigned side_of(const struct matching *matching, size_t run)
{
	return run >= matching->n_first;
}

static const char *base_of(const char *path)
{
	return wtl_functions_last_parts(path, 1);
}

/* ---- What there is ---- */

static int add_modules(struct matching *matching, size_t run)
{
	const struct wtl_modules *modules = &matching->runs[run].profile->trace->modules;

	for (size_t i = 0; i < modules->n; i++) {
		int64_t object = wtl_tree_name(&matching->objects, base_of(modules->list[i]->path));

		if (object < 0)
			return -ENOMEM;
		matching->of_objects[object].is_there[side_of(matching, run)] = true;
	}
	return 0;
}

/* Numbers the first len bytes of a name. */
static int64_t number_name(struct matching *matching, const char *name, size_t len)
{
	char *text = strndup(name, len);
	int64_t number = text ? wtl_tree_name(&matching->names, text) : -ENOMEM;

	free(text);
	return number;
}

static int64_t number_python(struct matching *matching, const struct wtl_stacks_function *is)
{
	char *text;
	int64_t number;

	if (asprintf(&text, "%s (%s)", is->label, base_of(is->file)) < 0)
		return -ENOMEM;
	number = wtl_tree_name(&matching->names, text);
	free(text);
	return number;
}

static int add_function(struct matching *matching, size_t run, const struct wtl_stacks_function *is)
{
	size_t len = wtl_stacks_name_len(is), source_len = wtl_label_source_len(is->name);
	struct seen *seen = &matching->list[matching->n++];
	bool is_python = is->label != is->name;
	int64_t name, whole, object;

	*seen = (struct seen){.file = "", .path = "", .run = run};
	if (!is_python) {
		seen->path = is->object;
		seen->file = is->file != is->object ? is->file : "";
		seen->address = seen->file[0] ? 0 : is->address;
	}
	name = is_python ? number_python(matching, is)
			 : number_name(matching, is->name, source_len < len ? source_len : len);
	whole = is_python ? name : number_name(matching, is->name, len);
	object = wtl_tree_name(&matching->objects, base_of(seen->path));
	if (name < 0 || whole < 0 || object < 0)
		return -ENOMEM;
	seen->name = (uint32_t)name;
	seen->whole_name = (uint32_t)whole;
	seen->object = (uint32_t)object;
	if (seen->file[0]) {
		struct name *of = &matching->of_names[name];

		matching->of_objects[object].has_files[side_of(matching, run)] = true;
		of->has_several |= of->file && strcmp(of->file, base_of(seen->file)) != 0;
		of->file = base_of(seen->file);
	}
	return 0;
}

/* Finds what only its address tells from another one of the run. A copy without a file may be that of either. */
static int find_addresses(struct matching *matching, size_t first, size_t end)
{
	struct wtl_tree texts = {.n_names = 0};
	int rc = 0;

	for (size_t i = first; i < end && rc == 0; i++) {
		const struct seen *seen = &matching->list[i];
		size_t n = texts.n_names;
		char *text;

		if (!seen->address)
			continue;
		if (asprintf(&text, "%u\n%s", seen->whole_name, seen->path) < 0) {
			rc = -ENOMEM;
			break;
		}
		rc = wtl_tree_name(&texts, text) < 0 ? -ENOMEM : 0;
		free(text);
		if (texts.n_names == n)
			matching->of_names[seen->name].by_address = true;
	}
	wtl_tree_done(&texts);
	return rc;
}

static int list_all(struct matching *matching)
{
	size_t n = 1, n_modules = 1;
	int rc = 0;

	for (size_t run = 0; run < matching->n_runs; run++) {
		n += matching->runs[run].tree.n_names;
		n_modules += matching->runs[run].profile->trace->modules.n;
	}
	matching->list = calloc(n, sizeof(*matching->list));
	matching->of_names = calloc(2 * n, sizeof(*matching->of_names));
	matching->of_objects = calloc(n + n_modules, sizeof(*matching->of_objects));
	matching->owners = calloc(n, sizeof(*matching->owners));
	if (!matching->list || !matching->of_names || !matching->of_objects || !matching->owners)
		return -ENOMEM;
	for (size_t i = 0; i < 2 * n; i++)
		matching->of_names[i].file_parts = 1;
	for (size_t run = 0; run < matching->n_runs && rc == 0; run++) {
		const struct wtl_stacks *of = &matching->runs[run];
		size_t first = matching->n;

		rc = add_modules(matching, run);
		for (size_t i = 0; i < of->tree.n_names && rc == 0; i++)
			rc = add_function(matching, run, &of->functions[i]);
		if (rc == 0)
			rc = find_addresses(matching, first, matching->n);
	}
	return rc;
}

/* ---- What is the same ---- */

/* As much of its file as is needed. A build without debug information has the only file that is known of the name. */
static const char *file_of(const struct matching *matching, const struct seen *seen)
{
	const struct name *name = &matching->of_names[seen->name];

	if (seen->file[0])
		return wtl_functions_last_parts(seen->file, name->file_parts);
	if (seen->path[0] && name->file && !name->has_several && !name->by_address &&
	    !matching->of_objects[seen->object].has_files[side_of(matching, seen->run)])
		return name->file;
	return "";
}

/* Its program or library, if that is there on both sides: another one may have had another name. */
static const char *object_of(const struct matching *matching, const struct seen *seen)
{
	const struct object *object = &matching->of_objects[seen->object];
	unsigned parts = matching->of_names[seen->name].object_parts;

	if (parts > 0)
		return wtl_functions_last_parts(seen->path, parts);
	return object->is_there[0] && object->is_there[1] ? base_of(seen->path) : "";
}

static int64_t key_of(struct matching *matching, const struct seen *seen)
{
	bool by_address = matching->of_names[seen->name].by_address;
	uint64_t address = by_address ? seen->address : 0;
	char *text;
	int64_t key;

	if (asprintf(&text, "%u\n%s\n%s\n%" PRIx64, address ? seen->whole_name : seen->name,
		     file_of(matching, seen), object_of(matching, seen), address) < 0)
		return -ENOMEM;
	key = wtl_tree_name(&matching->keys, text);
	free(text);
	return key;
}

static void tell_more(unsigned *parts)
{
	*parts = *parts < PARTS_MAX ? *parts + 1 : UINT_MAX;
}

/* Whether two of one run and one key are not the same; then keys of their name get more. */
static bool tell_apart(struct name *name, const struct seen *a, const struct seen *b)
{
	if (strcmp(a->file, b->file) != 0) {
		name->has_several = true;
		if (a->file[0] && b->file[0])
			tell_more(&name->file_parts);
		return true;
	}
	if (strcmp(a->path, b->path) == 0)
		return false;
	tell_more(&name->object_parts);
	return true;
}

/* 1: keys have to be made again; 0 or -ENOMEM. */
static int make_keys(struct matching *matching, uint32_t *keys)
{
	int again = 0;

	wtl_tree_done(&matching->keys);
	matching->keys = (struct wtl_tree){.n_names = 0};
	memset((void *)matching->owners, 0, (matching->n + 1) * sizeof(*matching->owners));
	for (size_t i = 0; i < matching->n; i++) {
		const struct seen *seen = &matching->list[i], **owner;
		int64_t key = key_of(matching, seen);

		if (key < 0)
			return -ENOMEM;
		owner = &matching->owners[key];
		if (*owner && (*owner)->run == seen->run)
			again |= tell_apart(&matching->of_names[seen->name], *owner, seen);
		*owner = seen;
		keys[i] = (uint32_t)key;
	}
	return again;
}

/* Adds each key's first function. */
static int add_names(struct matching *matching, const uint32_t *keys,
		     struct wtl_functions *functions)
{
	for (size_t i = 0; i < matching->n; i++) {
		const struct seen *seen = &matching->list[i];
		bool by_address = matching->of_names[seen->name].by_address && seen->address;
		struct wtl_function function = {
			.name = matching->names.names[by_address ? seen->whole_name : seen->name],
			.source = wtl_functions_last_parts(
				seen->file[0] ? seen->file : file_of(matching, seen), SHOWN_MAX),
			.module = wtl_functions_last_parts(seen->path, SHOWN_MAX),
			.of = matching->keys.names[keys[i]],
			.address = by_address ? seen->address : 0,
		};

		if (keys[i] == functions->n && wtl_functions_add(functions, &function) < 0)
			return -ENOMEM;
	}
	return wtl_functions_name(functions);
}

int wtl_same_functions(const struct wtl_stacks *runs, size_t n_runs, size_t n_first,
		       struct wtl_functions *functions, uint32_t *const numbers[])
{
	struct matching matching = {.runs = runs, .n_runs = n_runs, .n_first = n_first};
	uint32_t *keys = NULL;
	int rc = list_all(&matching);

	if (rc == 0 && !(keys = calloc(matching.n + 1, sizeof(*keys))))
		rc = -ENOMEM;
	if (rc == 0)
		do
			rc = make_keys(&matching, keys);
		while (rc > 0);
	if (rc == 0)
		rc = add_names(&matching, keys, functions);
	for (size_t run = 0, i = 0; run < n_runs && rc == 0; run++)
		for (size_t k = 0; k < runs[run].tree.n_names; k++)
			numbers[run][k] = keys[i++];
	wtl_tree_done(&matching.names);
	wtl_tree_done(&matching.objects);
	wtl_tree_done(&matching.keys);
	free(matching.list);
	free(matching.of_names);
	free(matching.of_objects);
	free((void *)matching.owners);
	free(keys);
	return rc;
}
