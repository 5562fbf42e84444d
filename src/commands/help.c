/* SPDX-License-Identifier: MIT */
#include <argp.h>

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/help.h"
#include "cli/options.h"

enum { KEY_MAN = WTL_OPTION_OWN, KEY_COMPLETION };

static const struct argp_option options[] = {
	{"man", KEY_MAN, "PAGE", 0, "Print a man page, such as wattle-run, for the man program", 1},
	{"completion", KEY_COMPLETION, "SHELL", 0, "Print the completion script for bash", 1},
	{0},
};

static const struct argp_option *const shared[] = {wtl_options_general, NULL};

static int option(struct wtl_app *app, int key, char *argument)
{
	const struct wtl_command *command;

	switch (key) {
	case KEY_MAN:
		if (wtl_help_man(argument) < 0)
			return wtl_complain(app, "there is no man page '%s'", argument);
		break;
	case KEY_COMPLETION:
		if (wtl_help_completion(argument) < 0)
			return wtl_complain(app, "there is no completion for '%s', only for bash",
					    argument);
		break;
	case ARGP_KEY_ARG:
		command = wtl_command_find(argument);
		if (!command)
			return wtl_complain(app, "there is no command '%s'", argument);
		wtl_help_command(command);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	app->helped = true;
	return 0;
}

static int run(struct wtl_app *app)
{
	if (!app->helped)
		wtl_help_overview();
	return WTL_EXIT_DONE;
}

const struct wtl_command wtl_command_help = {
	.name = "help",
	.summary = "Show help, a man page or the completion script",
	.synopsis = "[COMMAND]",
	.description = "Shows the help of COMMAND, or what commands there are.",
	.options = options,
	.shared = shared,
	.usage_exit = WTL_EXIT_USAGE,
	.option = option,
	.run = run,
};
