/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_PLACES_H
#define WTL_COMMANDS_PROFILE_PLACES_H

#include "profile/lines.h"
#include "profile/trace.h"

/* Where in the source each frame of a trace is. The programs' debug information is asked once, or a file had it. */

struct wtl_place {
	uint32_t file; /* a number of the names, and one more; 0: not known */
	uint32_t begin, line;
};

struct wtl_places {
	struct wtl_tree files; /* its names */
	uint32_t *n_of_frames;
	size_t n_frames;
	struct wtl_place *list; /* those of each frame, outermost first, frame by frame */
	size_t n;
	size_t *first; /* of each frame */
	size_t room;
};

/* 0 or -ENOMEM; done() in any case. */
int wtl_places_make(struct wtl_places *places, const struct wtl_trace *trace);
void wtl_places_done(struct wtl_places *places);
/* Of how many places each frame has, where its first one is. 0, -ENOMEM, or -EBADMSG: these are not as many as there are. */
int wtl_places_index(struct wtl_places *places);
size_t wtl_places_of(const struct wtl_places *places, size_t frame,
		     struct wtl_line lines[WTL_LINES_MAX]);

#endif
