/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_USER_H
#define WTL_CLI_USER_H

#include "base/user.h"

/* Makes a folder, and those that it lies in, as far as they are missing, for this user alone. 0 or a
 * negative errno. */
int wtl_user_make_folder(const char *folder);
/* The one that a file lies in. */
int wtl_user_make_folder_of(const char *file);

#endif
