/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_USER_H
#define WTL_BASE_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a user is called: cleaned, for several threads at once. Names are this machine's own; is_here is
 * false for another one's (a root, a tape), whose users are numbers. */
void wtl_user_name(bool is_here, uint32_t uid, char *name, size_t size);

#endif
