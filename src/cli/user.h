/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_USER_H
#define WTL_CLI_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes a folder, and those that it lies in, as far as they are missing, for this user alone. 0 or a
 * negative errno. */
int wtl_user_make_folder(const char *folder);
/* The one that a file lies in. */
int wtl_user_make_folder_of(const char *file);

/* What a user is called: cleaned, for several threads at once. Names are this machine's own; is_here is
 * false for another one's (a root, a tape), whose users are numbers. */
void wtl_user_name(bool is_here, uint32_t uid, char *name, size_t size);

#endif
