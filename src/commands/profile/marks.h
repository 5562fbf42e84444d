/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_MARKS_H
#define WTL_COMMANDS_PROFILE_MARKS_H

#include "commands/mark/mark.h"
#include "commands/profile/profile.h"

struct wtl_app;
struct wtl_loop;

/* Windows that `wattle mark` begins and ends while a profile is taken. */
struct wtl_profile_marks {
	struct wtl_mark_server server;
	bool is_open;
	struct wtl_profile_window *list;
	size_t n, room;
	size_t n_open;
	/* Takes a sample now: its time, or negative. */
	int64_t (*sample)(void *context);
	void *context;
	const char *path; /* what the profile is written to; NULL: nothing */
	int64_t begin_utc_ns;
};

/* What the command starts finds it by WATTLE_MARK, unless a recording outside has set that. Without it, no windows can be
 * marked; that is said if a window is wanted. */
void wtl_profile_marks_open(struct wtl_profile_marks *marks, struct wtl_app *app, bool is_wanted);
void wtl_profile_marks_watch(struct wtl_profile_marks *marks, struct wtl_loop *loop);
/* Windows that are open end. */
void wtl_profile_marks_end(struct wtl_profile_marks *marks, int64_t t_ns);
void wtl_profile_marks_close(struct wtl_profile_marks *marks);

#endif
