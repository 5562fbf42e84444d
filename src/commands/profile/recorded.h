/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_RECORDED_H
#define WTL_COMMANDS_PROFILE_RECORDED_H

struct wtl_app;
struct wtl_history;
struct wtl_saved;

/*
 * The profile that a recording has (keep.h): what was seen is read, and joules are computed from what was recorded, by
 * the code that does so live. It is as if it had been a .wprof file. 0, or negative after wtl_complain(); wtl_saved_done()
 * in any case. The history took no step.
 */
int wtl_profile_of_recording(struct wtl_app *app, const char *path, struct wtl_history *history,
			     struct wtl_saved *saved);

#endif
