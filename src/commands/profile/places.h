/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_PLACES_H
#define WTL_COMMANDS_PROFILE_PLACES_H

#include "profile/lines.h"
#include "profile/trace.h"

/* Where each frame of a trace is in the source: from the programs' debug information, read once, or from a file. */

struct wtl_place {
	uint32_t file; /* index into files.names, + 1; 0: not known */
	uint32_t begin, line;
};

struct wtl_places {
	struct wtl_tree files; /* its names */
	uint32_t *n_of_frames;
	size_t n_frames;
	struct wtl_place *list; /* frame by frame, the outermost first in each */
	size_t n;
	size_t *first; /* index of each frame's first place */
	size_t room;
};

/* 0 or -ENOMEM; done() in any case. */
int wtl_places_make(struct wtl_places *places, const struct wtl_trace *trace);
void wtl_places_done(struct wtl_places *places);
/* Computes `first` from n_of_frames. 0, -ENOMEM, or -EBADMSG: the counts do not match n. */
int wtl_places_index(struct wtl_places *places);
size_t wtl_places_of(const struct wtl_places *places, size_t frame,
		     struct wtl_line lines[WTL_LINES_MAX]);

#endif
