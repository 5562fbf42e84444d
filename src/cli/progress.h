/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_PROGRESS_H
#define WTL_CLI_PROGRESS_H

#include <stdbool.h>

struct wtl_app;

/* How far a long measurement is, for whoever sits before the terminal. */

/* Is anybody there: standard error is a terminal (that can clear a line), and --quiet was not given? */
bool wtl_progress_is_shown(const struct wtl_app *app);
/* Shows a line, if so. is_alone: nothing else writes to the terminal, so that the next line takes its place. */
void wtl_progress_show(const struct wtl_app *app, bool is_alone, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Takes a line that stands alone away. */
void wtl_progress_clear(const struct wtl_app *app);

#endif
