/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_SAVED_H
#define WTL_COMMANDS_PROFILE_SAVED_H

#include "commands/profile/places.h"
#include "commands/profile/profile.h"

/* A .wprof file: a whole profile (docs/profile-file.md). Reading restores all that formats and views need. */
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

/* Appends the file of a profile that has places. 0, or negative; -EFBIG: too long to be read again. */
int wtl_saved_write(struct wtl_buf *buf, const struct wtl_profile *profile);
/*
 * Reads the bytes of a file. 0, or negative with the reason; -EBADMSG: not such a file, or damaged; -ENOTSUP: of a
 * newer wattle. done() in any case.
 */
int wtl_saved_read(struct wtl_saved *saved, const void *bytes, size_t len, struct wtl_err *err);
void wtl_saved_done(struct wtl_saved *saved);

/* Whether what was read is consistent: all numbers refer to something that exists, and all sums are right. */
bool wtl_saved_is_sound(struct wtl_saved *saved);
bool wtl_saved_trace_is_sound(const struct wtl_trace *trace);

#endif
