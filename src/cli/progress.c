/* SPDX-License-Identifier: MIT */
#include "cli/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "base/fd.h"

/* Goes to the start of the line and clears it, on every terminal since the VT100. */
#define CLEAR "\r\033[K"

enum { LINE_BYTES = 256 };

bool wtl_progress_is_shown(const struct wtl_app *app)
{
	const char *term = getenv("TERM");

	return !app->settings.quiet && term && strcmp(term, "dumb") != 0 &&
	       isatty(STDERR_FILENO) == 1;
}

void wtl_progress_show(const struct wtl_app *app, bool is_alone, const char *format, ...)
{
	char text[LINE_BYTES], line[LINE_BYTES + 32];
	va_list args;
	int len;

	if (!wtl_progress_is_shown(app))
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	len = snprintf(line, sizeof(line), "%swattle: %s%s", is_alone ? CLEAR : "", text,
		       is_alone ? "" : "\n");
	(void)wtl_fd_write_some(STDERR_FILENO, line, (size_t)len); /* never waits */
}

void wtl_progress_clear(const struct wtl_app *app)
{
	if (wtl_progress_is_shown(app))
		(void)wtl_fd_write_some(STDERR_FILENO, CLEAR, sizeof(CLEAR) - 1);
}
