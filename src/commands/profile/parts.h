/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_PARTS_H
#define WTL_COMMANDS_PROFILE_PARTS_H

#include "commands/profile/saved_parts.h"

struct wtl_err;

/* The parts of a profile that a recording has (keep.h), put together again as a trace. */
struct wtl_profile_parts {
	struct wtl_saved
		*saved; /* its trace, what functions are called, and what the parts say of all */
	int64_t begin_ns, end_ns; /* samples and slices of other times are left out */
	size_t room;		  /* memory that may still be taken */
	int64_t cpu_ns;		  /* of all slices */
	struct wtl_saved names;	  /* from the end */
	bool has_names;
	size_t n_parts, n_bad; /* that cannot be read */
};

/* The values of a period. 0, -ENOMEM or -EFBIG; what is damaged is passed over, and counted. */
int wtl_profile_parts_take(struct wtl_profile_parts *parts, const int64_t values[], size_t n);
/* Once the trace is sound: what the recording's end says of it. false: it has no proper end. */
bool wtl_profile_parts_use_names(struct wtl_profile_parts *parts);
/* Else: what the program's files say that are there now, if they are the same. 0, or negative with the reason. */
int wtl_profile_parts_open_files(struct wtl_profile_parts *parts, struct wtl_err *err);

#endif
