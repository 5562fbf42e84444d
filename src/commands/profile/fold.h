/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_FOLD_H
#define WTL_COMMANDS_PROFILE_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wtl_profile;

/* Whether a file belongs to an installed library or interpreter, not to the program. */
bool wtl_profile_is_installed(const char *path);
/*
 * For each call: whether its function is a library's (the system's, CPython's, or an installed package's) and not the
 * program's. NULL: no memory. free() it.
 */
bool *wtl_profile_find_libraries(const struct wtl_profile *profile);

#endif
