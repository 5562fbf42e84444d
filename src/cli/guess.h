/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_GUESS_H
#define WTL_CLI_GUESS_H

#include <stddef.h>

#include "cli/option.h"

/* What the user may have meant by an unknown word: the closest of the known ones. */
struct wtl_guess {
	const char *word;
	const char *best; /* NULL: none is close */
	size_t distance;  /* letters that differ, were left out, put in or swapped */
};

/* Considers one more: borrowed. */
void wtl_guess_consider(struct wtl_guess *guess, const char *known);
/* All of a list that NULL ends. */
void wtl_guess_words(struct wtl_guess *guess, const char *const known[]);

/* Returns EINVAL. */
int wtl_complain_no_command(struct wtl_app *app, const char *word);
/* A code for --location; *ret_place is the place's name. */
const char *wtl_guess_location(const char *word, const char **ret_place);
/* What --location takes, for completion: countries alone, since in bash a colon would begin a new word. */
void wtl_offer_locations(const struct wtl_option *option, struct wtl_buf *words);

#endif
