/* SPDX-License-Identifier: MIT */
#include "cli/complain.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fd.h"
#include "cli/command.h"
#include "cli/locale.h"
#include "text/layout.h"

static void print_line(const struct wtl_app *app, const char *prefix, const char *format,
		       va_list args) __attribute__((format(printf, 3, 0)));

static void print_line(const struct wtl_app *app, const char *prefix, const char *format,
		       va_list args)
{
	char line[2048], whole[sizeof(line) * 5];
	const struct wtl_output_style style = {.ascii = wtl_is_ascii(&app->settings)};
	struct wtl_buf clean;

	vsnprintf(line, sizeof(line), format, args);
	wtl_buf_init(&clean, sizeof(line) * 5);
	wtl_layout_text(&clean, line, &style);
	snprintf(whole, sizeof(whole), "wattle: %s%s%s\n", prefix ? prefix : "", prefix ? ": " : "",
		 clean.error ? wtl_err_text(clean.error) : wtl_buf_str(&clean));
	/* Not by stdio: a pipe that nobody reads would hold up the exit. */
	wtl_fd_write_all(STDERR_FILENO, whole, strlen(whole));
	if (app->said)
		wtl_buf_printf(app->said, "%s\n", wtl_buf_str(&clean));
	wtl_buf_done(&clean);
}

int wtl_complain(struct wtl_app *app, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(app, app->command ? app->command->name : NULL, format, args);
	va_end(args);
	app->complained = true;
	return EINVAL;
}

void wtl_complain_err(struct wtl_app *app, const struct wtl_err *err)
{
	const char *text = err->text[0] ? err->text : wtl_err_text(err->code);

	if (err->path[0])
		wtl_complain(app, "%s: %s", err->path, text);
	else
		wtl_complain(app, "%s: %s", err->source, text);
}

void wtl_remark(const struct wtl_app *app, const char *format, ...)
{
	va_list args;

	if (app->settings.quiet)
		return;
	va_start(args, format);
	print_line(app, NULL, format, args);
	va_end(args);
}
