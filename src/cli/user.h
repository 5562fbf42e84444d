/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_USER_H
#define WTL_CLI_USER_H

#include "base/user.h"

/* The folder that an environment variable such as HOME names. NULL: none, a relative path, or, as root, a folder
 * that is another user's or would be made in one (sudo -E): that user could not read what root makes there. */
const char *wtl_user_folder(const char *variable);
/* Where a file or folder of that name is kept: below such a folder, else below one in HOME, else, as root, in
 * /var/lib/wattle. 0, -ENOENT (none of these is there), -ENAMETOOLONG. */
int wtl_user_path(const char *variable, const char *in_home, const char *name, char *path,
		  size_t size);
/* The same for data about the machine. As root it is always in
 * /var/lib/wattle, where every root finds it, whatever HOME sudo has set. */
int wtl_user_machine_path(const char *name, char *path, size_t size);
/* Makes a folder, and those that it lies in, as far as they are missing, for this user alone. 0 or a
 * negative errno. */
int wtl_user_make_folder(const char *folder);
/* The same for the folder that a file is in. */
int wtl_user_make_folder_of(const char *file);

#endif
