/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_LINES_H
#define WTL_PROFILE_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "profile/module.h"

struct wtl_frame;

/* Where in the source a function is: the file and the line that it begins at, and the line that runs. */
struct wtl_line {
	const char *
		name; /* as the debug information has it, of a call that was inlined; the module's; NULL: not told */
	const char *file; /* the module's; NULL: not known */
	uint32_t begin, line;
};

enum { WTL_LINES_MAX = WTL_SCOPES_MAX };

/*
 * Those of the functions that a frame is in, the outermost first, behind which stand those that the compiler put into
 * it: how many. 0: there is no debug information.
 */
size_t wtl_lines_of(const struct wtl_modules *modules, const struct wtl_frame *frame,
		    struct wtl_line lines[WTL_LINES_MAX]);

#endif
