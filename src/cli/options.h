/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_OPTIONS_H
#define WTL_CLI_OPTIONS_H

#include <stdbool.h>

struct wtl_app;
struct wtl_option;

/*
 * Reads the command line (argv[0] is the command's name) into the app's settings and those of its command, which
 * are the caller's to free(). Returns 0 to go on, or an exit code + 1 to stop with.
 */
int wtl_options_parse(struct wtl_app *app, int argc, char **argv);

/* Keeps a value. 0, or EINVAL after wtl_complain(); then nothing is set. */
int wtl_option_set(struct wtl_app *app, const struct wtl_option *option, const char *text);

/* The set() of an option with a size in bytes (base/num.h), kept as uint64_t: least is the smallest. */
int wtl_option_set_bytes(struct wtl_app *app, const struct wtl_option *option, const char *text);

/* Was the option given, "--name" or a letter such as "-o"? */
bool wtl_option_is_used(const struct wtl_app *app, const char *name);
/* The first of the names, ended by NULL, that was given; NULL: none was. */
const char *wtl_option_first_used(const struct wtl_app *app, const char *const names[]);

/* The input must not be the file that -o replaces, under whatever name. 0, or EINVAL after a complaint. */
int wtl_option_check_output(struct wtl_app *app, const char *input);

#endif
