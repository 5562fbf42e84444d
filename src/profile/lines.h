/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_LINES_H
#define WTL_PROFILE_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "profile/scopes.h"
#include "profile/tree.h"

struct wtl_modules;

/* A function in the source: its file, its first line, and the line that runs. */
struct wtl_line {
	const char *name; /* of an inlined call, from the debug information; NULL: not inlined */
	const char *file; /* NULL: not known */
	uint32_t begin, line;
	/* Of an inlined call without a linkage name: where the same function was compiled for itself. 0: nowhere */
	uint64_t instance;
};

enum { WTL_LINES_MAX = WTL_SCOPES_MAX };

struct wtl_lines_of_frame {
	size_t first, n;
};

/* The lines of each frame of a tree, from the programs' debug information. */
struct wtl_lines {
	struct wtl_lines_of_frame *of_frames;
	size_t n_frames;
	struct wtl_line *list;
	size_t n, room;
	struct wtl_tree texts;
	int64_t cpu_ns; /* CPU time of the forked processes */
	int error;	/* why none could be forked; 0: they could */
};

/* Reads the lines of all frames in a forked process. A module that crashes it gets none (has_lost_lines); if it
 * cannot be forked, none gets any. 0 or -ENOMEM; done() in any case. */
int wtl_lines_make(struct wtl_lines *lines, struct wtl_modules *modules,
		   const struct wtl_tree *tree);
void wtl_lines_done(struct wtl_lines *lines);

/*
 * A frame's lines: its function's, then those of the calls inlined there, the outermost first. CPython's own calling
 * code is left out: the function around it is at the line of the call. Returns how many; 0: there is no debug
 * information.
 */
size_t wtl_lines_of(const struct wtl_lines *lines, size_t frame, const struct wtl_line **ret_lines);

#endif
