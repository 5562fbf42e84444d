/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_SAVED_H
#define WTL_COMMANDS_PROFILE_SAVED_H

#include "commands/profile/places.h"
#include "commands/profile/profile.h"

/* A .wprof file: all of a profile (docs/profile-file.md). What formats and views are made of is there again as it was. */
struct wtl_saved {
	struct wtl_profile profile; /* points to what is below */
	struct wtl_trace trace;	    /* without its programs' files */
	struct wtl_calls calls;
	struct wtl_split split;
	struct wtl_split_result result;
	struct wtl_places places;
	struct wattle_window window;
	struct wtl_profile_domain *domains;
	struct wtl_ledger *ledgers;
	bool *counts;
	struct wtl_memory memory;
	bool has_memory;
	struct wtl_profile_window *windows;
	size_t n_windows;
	char **command; /* ended by NULL */
	size_t n_command;
	char *host;
};

/* Appends a file. The profile has places. 0, or negative: -EFBIG where it is too long to be read again. */
int wtl_saved_write(struct wtl_buf *buf, const struct wtl_profile *profile);
/*
 * From all of a file. 0, or negative with the reason: -EBADMSG: it is none, or damaged; -ENOTSUP: of a newer wattle.
 * done() in any case.
 */
int wtl_saved_read(struct wtl_saved *saved, const void *bytes, size_t len, struct wtl_err *err);
void wtl_saved_done(struct wtl_saved *saved);

/* Whether what was read can be: every number is of something that is there, and all sums are what they should be. */
bool wtl_saved_is_sound(struct wtl_saved *saved);
bool wtl_saved_trace_is_sound(const struct wtl_trace *trace);

#endif
