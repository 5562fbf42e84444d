/* SPDX-License-Identifier: MIT */
#include "said.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cli/command.h"
#include "cli/complain.h"

enum { SAID_MAX = 8192 };

static char complaints[SAID_MAX], remarks[SAID_MAX];

static void keep(char *kept, const char *command, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

static void keep(char *kept, const char *command, const char *format, va_list args)
{
	size_t len = strlen(kept);

	len += (size_t)snprintf(kept + len, SAID_MAX - len, "wattle: %s%s", command ? command : "",
				command ? ": " : "");
	if (len < SAID_MAX)
		len += (size_t)vsnprintf(kept + len, SAID_MAX - len, format, args);
	if (len < SAID_MAX)
		snprintf(kept + len, SAID_MAX - len, "\n");
}

void said_forget(void)
{
	complaints[0] = remarks[0] = '\0';
}

const char *said_complaints(void)
{
	return complaints;
}

const char *said_remarks(void)
{
	return remarks;
}

int wtl_complain(struct wtl_app *app, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	keep(complaints, app->command ? app->command->name : NULL, format, args);
	va_end(args);
	app->complained = true;
	return EINVAL;
}

void wtl_complain_err(struct wtl_app *app, const struct wtl_err *err)
{
	wtl_complain(app, "%s", err->text);
}

void wtl_remark(const struct wtl_app *app, const char *format, ...)
{
	va_list args;

	if (app->settings.quiet)
		return;
	va_start(args, format);
	keep(remarks, NULL, format, args);
	va_end(args);
}
