/* SPDX-License-Identifier: MIT */
#include "cli/guess.h"

#include <ctype.h>
#include <string.h>

#include "cli/complain.h"
#include "energy/carbon_table.h"

enum { LENGTH_MAX = 63 }; /* of words that are compared */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static bool is_same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Damerau and Levenshtein's distance, in which no part is changed twice, by rows. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t rows[3][LENGTH_MAX + 1];

	for (size_t k = 0; k <= b_len; k++)
		rows[0][k] = k;
	for (size_t i = 1; i <= a_len; i++) {
		size_t *row = rows[i % 3], *before = rows[(i + 2) % 3], *swap = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t k = 1; k <= b_len; k++) {
			row[k] = least(before[k - 1] + !is_same(a[i - 1], b[k - 1]),
				       least(before[k], row[k - 1]) + 1);
			if (i > 1 && k > 1 && is_same(a[i - 1], b[k - 2]) &&
			    is_same(a[i - 2], b[k - 1]))
				row[k] = least(row[k], swap[k - 2] + 1);
		}
	}
	return rows[a_len % 3][b_len];
}

/* One letter and a quarter of the word may be wrong, but not all of a short one. */
void wtl_guess_consider(struct wtl_guess *guess, const char *known)
{
	size_t len = strlen(guess->word), known_len = strlen(known), far;

	if (len < 2 || len > LENGTH_MAX || known_len > LENGTH_MAX)
		return;
	far = distance(guess->word, len, known, known_len);
	if (far <= 1 + len / 4 && far < len && (!guess->best || far < guess->distance)) {
		guess->best = known;
		guess->distance = far;
	}
}

void wtl_guess_words(struct wtl_guess *guess, const char *const known[])
{
	for (; *known; known++)
		wtl_guess_consider(guess, *known);
}

int wtl_complain_no_command(struct wtl_app *app, const char *word)
{
	struct wtl_guess guess = {.word = word};

	for (size_t i = 0; app->commands[i]; i++)
		wtl_guess_consider(&guess, app->commands[i]->name);
	if (guess.best)
		return wtl_complain(app, "there is no command '%s': did you mean '%s'?", word,
				    guess.best);
	return wtl_complain(app, "there is no command '%s': see 'wattle --help'", word);
}

const char *wtl_guess_location(const char *word, const char **ret_place)
{
	struct wtl_guess guess = {.word = word};
	const struct wtl_carbon_row *best = NULL;

	for (size_t i = 0; i < wtl_carbon_row_count; i++) {
		const struct wtl_carbon_row *row = &wtl_carbon_rows[i];
		const char *before = guess.best;

		wtl_guess_consider(&guess, row->code);
		wtl_guess_consider(&guess, row->place);
		if (guess.best != before)
			best = row;
	}
	if (!best)
		return NULL;
	*ret_place = best->place;
	return best->code;
}

void wtl_offer_locations(const struct wtl_option *option, struct wtl_buf *words)
{
	(void)option;
	for (size_t i = 0; i < wtl_carbon_row_count; i++)
		if (!strchr(wtl_carbon_rows[i].code, ':'))
			wtl_buf_printf(words, " %s", wtl_carbon_rows[i].code);
}
