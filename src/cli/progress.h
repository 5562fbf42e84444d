/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_PROGRESS_H
#define WTL_CLI_PROGRESS_H

#include <stdbool.h>

struct wtl_app;

/* The progress of a long measurement, for a user at the terminal. */

/* Is it shown? Standard error must be a terminal (that can clear a line), without --quiet. */
bool wtl_progress_is_shown(const struct wtl_app *app);
/* Shows a line, if so. is_alone: nothing else writes to the terminal, so the next line replaces this one. */
void wtl_progress_show(const struct wtl_app *app, bool is_alone, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Clears the line that was shown with is_alone. */
void wtl_progress_clear(const struct wtl_app *app);

#endif
