/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_HELP_H
#define WTL_CLI_HELP_H

#include <stdbool.h>

struct wtl_app;
struct wtl_command;

/* Help, man pages and completion, all from the commands' own tables. Commands are ended by NULL. */

/* NULL: there is none of that name. */
const struct wtl_command *wtl_command_find(const struct wtl_command *const commands[],
					   const char *name);
/* Why this build has no command of that name; NULL: no build has one. */
const char *wtl_command_left_out(const struct wtl_app *app, const char *name);
void wtl_help_overview(const struct wtl_command *const commands[]);
/* all: with options that few need. */
void wtl_help_command(const struct wtl_command *command, bool all);
/* 0 or -ENOENT: there is no such page, or nothing for that shell. */
int wtl_help_man(const struct wtl_command *const commands[], const char *name);
extern const char *const wtl_help_shells[]; /* ended by NULL */
int wtl_help_completion(const struct wtl_command *const commands[], const char *shell);

#endif
