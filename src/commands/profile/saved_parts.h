/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_SAVED_PARTS_H
#define WTL_COMMANDS_PROFILE_SAVED_PARTS_H

#include "commands/profile/pack.h"
#include "commands/profile/saved.h"

/* ---- saved_trace.c: descriptions of what is packed ---- */

void wtl_saved_pack_trace(struct wtl_pack *pack, struct wtl_trace *trace);
void wtl_saved_pack_places(struct wtl_pack *pack, struct wtl_places *places);
void wtl_saved_pack_calls(struct wtl_pack *pack, struct wtl_saved *saved);

/*
 * What was added to a trace since the last part of a recording: all of its slices and samples; and threads, modules,
 * names, frames and nodes after the first n_... ones. A trace only appends to these, so numbers stay the same.
 */
struct wtl_saved_part {
	struct wtl_trace trace;
	uint64_t n_threads, n_modules, n_names, n_frames, n_nodes;
	uint64_t n_unseen;
	unsigned hz, stack_bytes;
};

enum wtl_saved_part_kind {
	WTL_PART_MORE,
	WTL_PART_NAMES /* at the end: all threads, modules and stacks again, with names */
};

/* Frames refer to `all` modules; reading appends the part's modules to these. */
void wtl_saved_pack_part(struct wtl_pack *pack, struct wtl_saved_part *part,
			 struct wtl_modules *all);
void wtl_saved_pack_all_names(struct wtl_pack *pack, struct wtl_saved *saved);

/* ---- saved.c ---- */

/* Wraps content as in a file: with its length and CRC-32, compressed. 0 or negative. */
int wtl_saved_wrap(struct wtl_buf *buf, const struct wtl_buf *content);
/* Unwraps it for reading by pack. Initialises content, which the caller ends. 0 or negative. */
int wtl_saved_unwrap(struct wtl_buf *content, struct wtl_pack *pack, const void *bytes, size_t len);
/* Points the profile to what was read or put together, and adds up calls. 0 or -ENOMEM. */
int wtl_saved_join(struct wtl_saved *saved);

#endif
