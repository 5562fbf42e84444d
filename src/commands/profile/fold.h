/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_FOLD_H
#define WTL_COMMANDS_PROFILE_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wtl_profile;

/*
 * Of each call, whether its function is a library's: of the system or of CPython, or of a package that was installed; not of
 * the program. NULL: no memory. free() it.
 */
bool *wtl_profile_find_libraries(const struct wtl_profile *profile);

#endif
