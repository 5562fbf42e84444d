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
 * What came to a trace lately, as a recording has it: all of its slices and samples, and of threads, modules, names,
 * frames and nodes those behind so many. A trace only adds such, so that numbers are what they were before.
 */
struct wtl_saved_part {
	struct wtl_trace trace;
	uint64_t n_threads, n_modules, n_names, n_frames, n_nodes;
	uint64_t n_unseen;
	unsigned hz, stack_bytes;
};

enum wtl_saved_part_kind {
	WTL_PART_MORE,
	WTL_PART_NAMES /* at the end: all of the above again, with what functions are called */
};

/* Frames have modules of all of them; read, these become more by the part's. */
void wtl_saved_pack_part(struct wtl_pack *pack, struct wtl_saved_part *part,
			 struct wtl_modules *all);
void wtl_saved_pack_all_names(struct wtl_pack *pack, struct wtl_saved *saved);

/* ---- saved.c ---- */

/* Content as it stands in a file, with its length, its sum, and compressed. 0 or negative. */
int wtl_saved_wrap(struct wtl_buf *buf, const struct wtl_buf *content);
/* And back, to be read by pack: content is initialised, and the caller's to end. 0 or negative. */
int wtl_saved_unwrap(struct wtl_buf *content, struct wtl_pack *pack, const void *bytes, size_t len);
/* The profile is of what was read, or put together. 0 or -ENOMEM. */
int wtl_saved_join(struct wtl_saved *saved);

#endif
