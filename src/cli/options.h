/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_OPTIONS_H
#define WTL_CLI_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/when.h"

struct wtl_app;

/*
 * Keys of options that several commands have, beside the letters d, f, i, o, q, v and h. A command has those
 * whose group it names, or that stand in its own table with words of its own; what their values set is the
 * same everywhere, and done in options.c, unless the command takes the key itself.
 */
enum wtl_option_key {
	WTL_OPTION_ROOT = 0x100,
	WTL_OPTION_TAPE,
	WTL_OPTION_TAPE_RECORD,
	WTL_OPTION_NVML,
	WTL_OPTION_FAULT,
	WTL_OPTION_JITTER,
	WTL_OPTION_APPEND,
	WTL_OPTION_NO_COLOR,
	WTL_OPTION_ASCII,
	WTL_OPTION_LOCATION,
	WTL_OPTION_PUE,
	WTL_OPTION_TOP,
	WTL_OPTION_NO_PROCESSES,
	WTL_OPTION_IDLE_FIRST,
	WTL_OPTION_IDLE_FILE,
	WTL_OPTION_WEIGHT,
	WTL_OPTION_FROM, /* the command says where it goes, with wtl_option_when() */
	WTL_OPTION_TO,
	WTL_OPTION_OWN = 0x200, /* those of the commands themselves begin here */
};

/* option_groups.c */
extern const struct argp_option wtl_options_machine[];	 /* --root, --tape, … */
extern const struct argp_option wtl_options_interval[];	 /* --interval */
extern const struct argp_option wtl_options_jitter[];	 /* --jitter */
extern const struct argp_option wtl_options_output[];	 /* --format, -o, --append */
extern const struct argp_option wtl_options_terminal[];	 /* --no-color, --ascii */
extern const struct argp_option wtl_options_carbon[];	 /* --location, --pue */
extern const struct argp_option wtl_options_consumers[]; /* --no-processes, --idle-file, --weight */
extern const struct argp_option wtl_options_idle_first[]; /* --idle-first */
extern const struct argp_option wtl_options_part[];	  /* --from, --to */
extern const struct argp_option wtl_options_general[];	  /* --quiet, --verbose, --help */

/* options.c: returns 0 to go on, or an exit code + 1 to stop with. */
int wtl_options_parse(struct wtl_app *app, int argc, char **argv);

/* option_values.c: values. 0, or EINVAL after wtl_complain() about --option; then nothing is set. */
int wtl_option_number(struct wtl_app *app, const char *option, const char *text, uint64_t least,
		      uint64_t most, uint64_t *ret);
int wtl_option_unsigned(struct wtl_app *app, const char *option, const char *text, unsigned least,
			unsigned most, unsigned *ret);
int wtl_option_when(struct wtl_app *app, const char *option, const char *text,
		    struct wtl_when *ret_when);
/* Of something there is or is to be made, which '' is not; borrowed. what: "a file", "a folder". */
int wtl_option_path(struct wtl_app *app, const char *option, const char *what, const char *text,
		    const char **ret_path);
/* The same for a word that is no option. */
int wtl_option_word(struct wtl_app *app, const char *what, const char *word);
/* An option, and whether it was used. */
struct wtl_option_use {
	bool is_used;
	const char *name;
};

/* The name of the first that was; NULL: none. */
const char *wtl_option_first_used(const struct wtl_option_use options[], size_t n);
/* What is to be read must not be what -o replaces, under whatever name. 0, or EINVAL after a complaint. */
int wtl_option_check_output(struct wtl_app *app, const char *input);
/* Nor may two files to be written be the same one. 0, or EINVAL after a complaint. */
int wtl_option_check_outputs(struct wtl_app *app);
int wtl_option_flag(bool *flag);			     /* sets it; 0 */
int wtl_option_text(const char **setting, const char *text); /* sets it; 0 */

#endif
