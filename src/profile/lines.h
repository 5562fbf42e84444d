/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_LINES_H
#define WTL_PROFILE_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "profile/scopes.h"
#include "profile/tree.h"

struct wtl_modules;

/* Where in the source a function is: the file and the line that it begins at, and the line that runs. */
struct wtl_line {
	const char *
		name; /* as the debug information has it, of a call that was inlined; NULL: not told */
	const char *file; /* NULL: not known */
	uint32_t begin, line;
};

enum { WTL_LINES_MAX = WTL_SCOPES_MAX };

struct wtl_lines_of_frame {
	size_t first, n;
};

/* Of each frame of a tree, as the programs' debug information has it. */
struct wtl_lines {
	struct wtl_lines_of_frame *of_frames;
	size_t n_frames;
	struct wtl_line *list;
	size_t n, room;
	struct wtl_tree texts;
	int64_t cpu_ns; /* that the forked processes used */
	int error;	/* why none could be forked; 0: they could */
};

/* Reads those of all frames, in a forked process. A module that crashes it gets none (has_lost_lines); nor do
 * any, if it cannot be forked. 0 or -ENOMEM; done() in any case. */
int wtl_lines_make(struct wtl_lines *lines, struct wtl_modules *modules,
		   const struct wtl_tree *tree);
void wtl_lines_done(struct wtl_lines *lines);

/*
 * Those of the functions that a frame is in, the outermost first, behind which stand those that the compiler put into
 * it: how many. 0: there is no debug information.
 */
size_t wtl_lines_of(const struct wtl_lines *lines, size_t frame, const struct wtl_line **ret_lines);

#endif
