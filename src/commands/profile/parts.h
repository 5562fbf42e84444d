/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_PARTS_H
#define WTL_COMMANDS_PROFILE_PARTS_H

#include "commands/profile/saved_parts.h"

struct wtl_err;

/* Puts the parts of a profile in a recording (keep.h) together again as a trace. */
struct wtl_profile_parts {
	struct wtl_saved *saved;  /* gets the trace, names, and counts */
	int64_t begin_ns, end_ns; /* samples and slices outside are left out */
	size_t room;		  /* bytes that may still be allocated */
	int64_t cpu_ns;		  /* of all slices */
	struct wtl_saved names;	  /* from the recording's end */
	bool has_names;
	size_t n_parts, n_bad; /* n_bad: damaged ones */
};

/* Takes the values of a period. 0, -ENOMEM or -EFBIG; damaged parts are skipped and counted. */
int wtl_profile_parts_take(struct wtl_profile_parts *parts, const int64_t values[], size_t n);
/* Call when the trace is sound: uses the names from the recording's end. false: it has no proper end. */
bool wtl_profile_parts_use_names(struct wtl_profile_parts *parts);
/* Otherwise: opens the program's files, if they are still the same ones (by inode), for names. 0, or negative with the
 * reason. */
int wtl_profile_parts_open_files(struct wtl_profile_parts *parts, struct wtl_err *err);

#endif
