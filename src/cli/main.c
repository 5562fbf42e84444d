/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text.h"
#include "cli/app.h"
#include "cli/options.h"

const struct wtl_command *const wtl_commands[] = {
	&wtl_command_run,   &wtl_command_record, &wtl_command_report, &wtl_command_export,
	&wtl_command_mark,  &wtl_command_top,	 &wtl_command_plot,   &wtl_command_doctor,
	&wtl_command_query, &wtl_command_limit,	 &wtl_command_help,   NULL,
};

const struct wtl_command *wtl_command_find(const char *name)
{
	for (size_t i = 0; wtl_commands[i]; i++)
		if (strcmp(wtl_commands[i]->name, name) == 0)
			return wtl_commands[i];
	return NULL;
}

static void print_line(const char *prefix, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

static void print_line(const char *prefix, const char *format, va_list args)
{
	char line[2048];
	struct wtl_buf clean;

	vsnprintf(line, sizeof(line), format, args);
	wtl_buf_init(&clean, sizeof(line) * 5);
	wtl_text_escape(&clean, line, strlen(line));
	fprintf(stderr, "wattle: %s%s%s\n", prefix ? prefix : "", prefix ? ": " : "",
		clean.error ? wtl_err_text(clean.error) : wtl_buf_str(&clean));
	wtl_buf_done(&clean);
}

int wtl_complain(struct wtl_app *app, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(app->command ? app->command->name : NULL, format, args);
	va_end(args);
	app->complained = true;
	return EINVAL;
}

void wtl_complain_err(struct wtl_app *app, const struct wtl_err *err)
{
	const char *text = err->text[0] ? err->text : wtl_err_text(err->code);

	if (err->path[0])
		wtl_complain(app, "%s: %s: %s", err->source, err->path, text);
	else
		wtl_complain(app, "%s: %s", err->source, text);
}

void wtl_remark(const struct wtl_app *app, const char *format, ...)
{
	va_list args;

	if (app->settings.quiet)
		return;
	va_start(args, format);
	print_line(NULL, format, args);
	va_end(args);
}

/* What was printed last may still be in a buffer, and fail only now. */
static int close_output(struct wtl_app *app, int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	wtl_complain(app, "cannot write to standard output");
	return code == WTL_EXIT_DONE ? WTL_EXIT_FAILED : code;
}

static int run_command(struct wtl_app *app, int argc, char **argv)
{
	int stop = wtl_options_parse(app, argc, argv);

	if (stop)
		return close_output(app, stop - 1);
	return close_output(app, app->command->run(app));
}

/* A standard descriptor that is closed must not become a file of wattle's, which would then get the
 * report or be read as the command's input. The command finds it closed as before. */
static void hold_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_PATH | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	struct wtl_app app = {.command = NULL};
	const char *word = argc > 1 ? argv[1] : NULL;

	hold_standard_descriptors();
	wtl_inherited_read(&app.inherited);
	/* A reader that went away, or a file that may not grow, is an error to report, not a reason
	 * to die unheard. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (!word) {
		wtl_help_overview();
		return close_output(&app, WTL_EXIT_USAGE);
	}
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
		wtl_help_overview();
		return close_output(&app, WTL_EXIT_DONE);
	}
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
		printf("wattle %s\n", wattle_version());
		return close_output(&app, WTL_EXIT_DONE);
	}
	app.command = wtl_command_find(word);
	if (!app.command) {
		wtl_complain(&app, "there is no command '%s': see 'wattle --help'", word);
		return WTL_EXIT_USAGE;
	}
	return run_command(&app, argc - 1, argv + 1);
}
