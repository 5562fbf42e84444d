/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_MARKS_H
#define WTL_COMMANDS_PROFILE_MARKS_H

#include "commands/mark/mark.h"
#include "commands/profile/profile.h"

struct wtl_app;
struct wtl_loop;

/* Windows that `wattle mark` begins and ends during a profile. */
struct wtl_profile_marks {
	struct wtl_mark_server server;
	bool is_open;
	struct wtl_profile_window *list;
	size_t n, room;
	size_t n_open;
	/* Takes a sample now. Returns its time, or negative. */
	int64_t (*sample)(void *context);
	void *context;
	const char *path; /* the profile's output file; NULL: none */
	int64_t begin_utc_ns;
};

/* The command finds the server by WATTLE_MARK; one set by a recording outside is replaced only if is_wanted. If the
 * server cannot be opened, no windows can be marked; that is said if is_wanted. */
void wtl_profile_marks_open(struct wtl_profile_marks *marks, struct wtl_app *app, bool is_wanted);
void wtl_profile_marks_watch(struct wtl_profile_marks *marks, struct wtl_loop *loop);
/* Ends windows that are still open. */
void wtl_profile_marks_end(struct wtl_profile_marks *marks, int64_t t_ns);
void wtl_profile_marks_close(struct wtl_profile_marks *marks);

#endif
