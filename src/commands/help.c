/* SPDX-License-Identifier: MIT */
#include "cli/help.h"

#include "cli/complain.h"
#include "cli/guess.h"
#include "cli/option.h"

struct settings {
	bool has_helped;
};

static int print_man(struct wtl_app *app, const struct wtl_option *option, const char *page)
{
	struct settings *settings = app->own;

	(void)option;
	if (wtl_help_man(app->commands, page) < 0)
		return wtl_complain(app, "there is no man page '%s'", page);
	settings->has_helped = true;
	return 0;
}

static int print_completion(struct wtl_app *app, const struct wtl_option *option, const char *shell)
{
	struct settings *settings = app->own;

	(void)option;
	if (wtl_help_completion(app->commands, shell) < 0)
		return wtl_complain(
			app, "there is no completion for '%s': only for bash, zsh and fish", shell);
	settings->has_helped = true;
	return 0;
}

static int print_help(struct wtl_app *app, const struct wtl_option *option, const char *name)
{
	const struct wtl_command *command = wtl_command_find(app->commands, name);
	struct settings *settings = app->own;

	(void)option;
	if (!command && wtl_command_left_out(app, name))
		return wtl_complain(app, "%s: %s", name, wtl_command_left_out(app, name));
	if (!command)
		return wtl_complain_no_command(app, name);
	wtl_help_command(command, false);
	settings->has_helped = true;
	return 0;
}

static const struct wtl_option options[] = {
	{"man", 0, "PAGE", "Print a man page, such as wattle-run, for the man program",
	 WTL_OPTION_OWN, .set = print_man},
	{"completion", 0, "SHELL", "Print the completion script for bash, zsh or fish",
	 WTL_OPTION_OWN, .words = wtl_help_shells, .set = print_completion},
	{0},
};

static int run(struct wtl_app *app)
{
	const struct settings *settings = app->own;

	if (!settings->has_helped)
		wtl_help_overview(app->commands);
	return WTL_EXIT_DONE;
}

const struct wtl_command wtl_command_help = {
	.name = "help",
	.summary = "Show help, a man page or the completion script",
	.synopsis = "[COMMAND]",
	.description = "Shows the help of COMMAND, or what commands there are.",
	.options = options,
	.shared = (const struct wtl_option *const[]){wtl_options_general, NULL},
	.word = &(const struct wtl_option){"COMMAND", .kind = WTL_OPTION_OWN, .set = print_help},
	.settings_size = sizeof(struct settings),
	.is_about_commands = true,
	.usage_exit = WTL_EXIT_USAGE,
	.run = run,
};
