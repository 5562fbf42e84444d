/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_HELP_H
#define WTL_CLI_HELP_H

struct wtl_command;

void wtl_help_overview(void);
void wtl_help_command(const struct wtl_command *command);
int wtl_help_man(const char *name);
int wtl_help_completion(const char *shell);

#endif
