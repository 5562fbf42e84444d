/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_CUT_H
#define WTL_COMMANDS_PROFILE_CUT_H

#include "commands/profile/profile.h"

/* A part of a profile: what the program did in the windows of one name. */
struct wtl_cut {
	struct wtl_profile profile; /* points to what is below, and into the whole profile */
	struct wtl_trace trace;
	struct wtl_calls calls;
	struct wtl_split split;
	struct wtl_split_result result;
	struct wtl_memory memory;
	struct wattle_window window;
	struct wtl_split_stretch *stretches; /* by time, not overlapping */
	size_t n_stretches;
};

/* The whole profile must outlive it. 0, -ENOENT: there is no such window, or -ENOMEM; done() in any case. */
int wtl_cut_make(struct wtl_cut *cut, const struct wtl_profile *whole, const char *name);
void wtl_cut_done(struct wtl_cut *cut);

#endif
