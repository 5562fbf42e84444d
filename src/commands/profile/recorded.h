/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_RECORDED_H
#define WTL_COMMANDS_PROFILE_RECORDED_H

struct wtl_app;
struct wtl_history;
struct wtl_saved;

/*
 * Makes the profile of a recording (keep.h): samples are read, and joules are computed from what was recorded, by the
 * code that does so live. The result is like that of a .wprof file. The history must not have been stepped yet. 0, or
 * negative after wtl_complain(); wtl_saved_done() in any case.
 */
int wtl_profile_of_recording(struct wtl_app *app, const char *path, struct wtl_history *history,
			     struct wtl_saved *saved);

#endif
