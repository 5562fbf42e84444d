/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/guess.h"
#include "cli/help.h"
#include "cli/mapped.h"
#include "cli/options.h"
#include "cli/rights.h"
#include "wattle.h"

enum { LARGE_BYTES = 48 << 10 };

extern const struct wtl_command wtl_command_run, wtl_command_compare, wtl_command_record,
	wtl_command_report, wtl_command_export, wtl_command_import, wtl_command_calibrate,
	wtl_command_mark, wtl_command_top, wtl_command_plot, wtl_command_profile, wtl_command_serve,
	wtl_command_doctor, wtl_command_query, wtl_command_limit, wtl_command_estimate,
	wtl_command_help;

static const struct wtl_command *const commands[] = {
	&wtl_command_run,      &wtl_command_compare,
#if HAVE_RECORDINGS
	&wtl_command_record,   &wtl_command_report,  &wtl_command_export,
	&wtl_command_import,   &wtl_command_mark,    &wtl_command_calibrate,
#endif
	&wtl_command_top,      &wtl_command_plot,
#if HAVE_PROFILER
	&wtl_command_profile,
#endif
#if HAVE_SERVER
	&wtl_command_serve,
#endif
	&wtl_command_doctor,   &wtl_command_query,   &wtl_command_limit,
	&wtl_command_estimate, &wtl_command_help,    NULL,
};

static const struct wtl_left_out left_out[] = {
#if !HAVE_RECORDINGS
	{"record", WTL_WITHOUT_RECORDINGS},
	{"report", WTL_WITHOUT_RECORDINGS},
	{"export", WTL_WITHOUT_RECORDINGS},
	{"import", WTL_WITHOUT_RECORDINGS},
	{"mark", WTL_WITHOUT_RECORDINGS},
	{"calibrate", WTL_WITHOUT_RECORDINGS},
#endif
#if !HAVE_PROFILER
	{"profile", WTL_WITHOUT_PROFILER},
#endif
#if !HAVE_SERVER
	{"serve", WTL_WITHOUT_SERVER},
#endif
	{NULL, NULL},
};

static bool has_reader(void)
{
	struct pollfd out = {.fd = STDOUT_FILENO};

	return poll(&out, 1, 0) <= 0 || !(out.revents & (POLLERR | POLLHUP));
}

/* What was printed last may still be in a buffer, and fail only now. A reader
 * may close the pipe when it has read enough, which is no failure of help. */
static int close_output(struct wtl_app *app, int code, bool is_help)
{
	bool is_left;

	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	is_left = !has_reader();
	if (!is_left)
		wtl_complain(app, "cannot write to standard output");
	return code == WTL_EXIT_DONE && !(is_help && is_left) ? WTL_EXIT_FAILED : code;
}

static int do_command(void *context)
{
	struct wtl_app *app = context;

	return app->command->run(app);
}

/* Commands that measure guard their own reads. */
static int run_guarded(struct wtl_app *app)
{
	int code = app->command->measures ? do_command(app) : wtl_mapped_read(app, do_command, app);

	return code < 0 ? WTL_EXIT_FAILED : code;
}

static int run_command(struct wtl_app *app, int argc, char **argv)
{
	int stop = wtl_options_parse(app, argc, argv);
	int code = stop ? stop - 1 : run_guarded(app);

	free(app->own);
	return close_output(app, code,
			    app->command->is_about_commands || stop == WTL_EXIT_DONE + 1);
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

static void choose_command(struct wtl_app *app, const char *word)
{
	app->command = word ? wtl_command_find(commands, word) : NULL;
	if (!app->command || !app->command->measures)
		wtl_rights_drop();
}

int main(int argc, char **argv)
{
	struct wtl_app app = {.commands = commands, .left_out = left_out};
	const char *word = argc > 1 ? argv[1] : NULL, *reason;

	/* Large blocks take memory only where they are written to, and go back to the system when they are freed; all threads
	 * share what small ones leave. */
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	mallopt(M_ARENA_MAX, 1);
	hold_standard_descriptors();
	wtl_inherited_read(&app.inherited);
	/* A reader that went away, or a file that may not grow, is an error to report: the signal would end
	 * wattle without a word. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	wtl_mapped_watch();
	choose_command(&app, word);
	if (!word) {
		wtl_help_overview(commands);
		return close_output(&app, WTL_EXIT_USAGE, true);
	}
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
		wtl_help_overview(commands);
		return close_output(&app, WTL_EXIT_DONE, true);
	}
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0 ||
	    strcmp(word, "version") == 0) {
		printf("wattle %s\n", wattle_version());
		return close_output(&app, WTL_EXIT_DONE, true);
	}
	reason = wtl_command_left_out(&app, word);
	if (!app.command && reason)
		wtl_complain(&app, "%s: %s", word, reason);
	else if (!app.command)
		wtl_complain_no_command(&app, word);
	if (!app.command)
		return reason ? WTL_EXIT_FAILED : WTL_EXIT_USAGE;
	return run_command(&app, argc - 1, argv + 1);
}
