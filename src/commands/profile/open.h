/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_OPEN_H
#define WTL_COMMANDS_PROFILE_OPEN_H

struct wtl_app;
struct wtl_saved;

/* Opens a .wprof file, or the profile in a recording; options may give another place. 0, or negative after
 * wtl_complain(); wtl_saved_done() in any case. */
int wtl_profile_open(struct wtl_app *app, const char *path, struct wtl_saved *saved);

#endif
