/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_RIGHTS_H
#define WTL_CLI_RIGHTS_H

#include <stdbool.h>

/* Does this thread still have capabilities that came from the program's file, and that its user lacks? */
bool wtl_rights_are_borrowed(void);

/*
 * Gives those up for good, all of them; what the user has himself, as root has, stays. Capabilities belong
 * to threads: this one's go, and those that it starts have none. May be called again. Ends the program where
 * that fails.
 */
void wtl_rights_drop(void);

#endif
