/* SPDX-License-Identifier: MIT */
/*
 * Whole command lines, of every command: words, each ended by a newline, the first of which is the command's name.
 * They are read, and nothing is run.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/said.h"
#include "base/config.h"
#include "cli/guess.h"
#include "cli/help.h"
#include "cli/option.h"
#include "cli/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS_MAX = 300 };

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

static void check(int good)
{
	if (!good)
		abort();
}

static size_t count(const char *const words[])
{
	size_t n = 0;

	while (words[n])
		n++;
	return n;
}

/* Whatever was taken is within the bounds that the help tells. */
static void check_option(struct wtl_app *app, const struct wtl_option *option)
{
	const void *target = wtl_option_target(app, option);
	int64_t value = 0;

	if (option->kind == WTL_OPTION_NUMBER || option->kind == WTL_OPTION_DURATION) {
		memcpy(&value, target, option->size); /* little endian */
		check(value >= option->least && value <= option->most);
	} else if (option->kind == WTL_OPTION_WORD) {
		check(*(const unsigned *)target < count(option->words));
	} else if (option->kind == WTL_OPTION_LIST) {
		check(((const struct wtl_option_list *)target)->n <= WTL_OPTION_LIST_MAX);
	} else if (option->kind == WTL_OPTION_PATH) {
		check((*(const char *const *)target)[0] != '\0');
	}
}

static void check_taken(struct wtl_app *app, int argc, char **argv)
{
	const struct wtl_option *option;

	for (size_t i = 0; (option = wtl_option_at(app->command, i)); i++)
		if (app->used >> i & 1)
			check_option(app, option);
	if (app->settings.command)
		check(app->settings.command >= argv && app->settings.command < argv + argc);
}

static void parse(int argc, char **argv)
{
	static const struct wtl_left_out none[] = {{NULL, NULL}};
	struct wtl_app app = {.commands = commands, .left_out = none};
	int stop;

	app.command = wtl_command_find(commands, argv[0]);
	if (!app.command) {
		wtl_complain_no_command(&app, argv[0]);
		return;
	}
	stop = wtl_options_parse(&app, argc, argv);
	check(stop >= 0 && stop <= WTL_EXIT_WATTLE_FAILED + 1);
	/* It stops without a word only after help, or goes on. */
	check((stop > 1) == app.complained);
	if (stop == 0)
		check_taken(&app, argc, argv);
	free(app.own);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), *rest = text, *word, *argv[WORDS_MAX + 1];
	int argc = 0;

	check(text != NULL);
	while (argc < WORDS_MAX && (word = strsep(&rest, "\n")))
		argv[argc++] = word;
	argv[argc] = NULL;
	said_forget();
	if (argc > 0)
		parse(argc, argv);
	free(text);
	return 0;
}
