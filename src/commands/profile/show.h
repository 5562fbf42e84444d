/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_SHOW_H
#define WTL_COMMANDS_PROFILE_SHOW_H

struct wtl_app;

/* `wattle profile show FILE` and `wattle profile diff A B`: returns the exit code. */
int wtl_profile_of_files(struct wtl_app *app);

#endif
