/* SPDX-License-Identifier: MIT */
#include "commands/profile/fold.h"

#include <stdlib.h>
#include <string.h>

#include "commands/profile/profile.h"
#include "profile/module.h"

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

bool wtl_profile_is_installed(const char *path)
{
	static const char *const below[] = {"/usr/lib",	 "/lib",   "/usr/local/lib/",
					    "/usr/bin/", "/bin/",  "/usr/libexec/",
					    "<frozen ",	 "[vdso]", NULL};
	static const char *const within[] = {"/site-packages/", "/dist-packages/", "/lib/python3.",
					     NULL};
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; below[i]; i++)
		if (starts(path, below[i]))
			return true;
	for (size_t i = 0; within[i]; i++)
		if (strstr(path, within[i]))
			return true;
	/* The Python interpreter, wherever it lies. */
	return slash && (starts(slash, "/python3") || starts(slash, "/libpython3"));
}

static bool is_of_library(const struct wtl_tree *tree, const struct wtl_frame *frame)
{
	const char *open;

	if (frame->kind == WTL_FRAME_NATIVE)
		return frame->module && !frame->module->is_jit &&
		       wtl_profile_is_installed(frame->module->path);
	if (frame->kind != WTL_FRAME_PYTHON)
		return false;
	open = strstr(tree->names[frame->name], " ("); /* "fit (/home/me/train.py:12)" */
	return open && wtl_profile_is_installed(open + 2);
}

/* "_start", or "_start (two)" where several programs have one. */
static bool is_start(const char *name)
{
	return starts(name, "_start") && (!name[6] || starts(name + 6, " ("));
}

bool *wtl_profile_find_libraries(const struct wtl_profile *profile)
{
	const struct wtl_tree *places = &profile->trace->tree;
	const struct wtl_calls *calls = profile->calls;
	bool *of_frames = calloc(places->n_frames + 1, sizeof(*of_frames));
	bool *of_calls = calloc(calls->tree.n_nodes, sizeof(*of_calls));

	for (size_t i = 0; of_frames && i < places->n_frames; i++)
		of_frames[i] = is_of_library(places, &places->frames[i]);
	for (size_t i = 1; of_calls && i < calls->tree.n_nodes; i++)
		of_calls[i] = true;
	/* A node of the trace is a call and those inlined into it. */
	for (size_t i = 1; of_frames && of_calls && i < places->n_nodes; i++)
		for (uint32_t call = calls->of_nodes[i],
			      end = calls->of_nodes[places->nodes[i].parent];
		     call && call != end; call = calls->tree.nodes[call].parent)
			/* Every program starts with _start, which is in its own file. */
			of_calls[call] &= of_frames[places->nodes[i].frame] ||
					  is_start(wtl_calls_name(calls, call));
	free(of_frames);
	if (!of_frames) {
		free(of_calls);
		return NULL;
	}
	return of_calls;
}
