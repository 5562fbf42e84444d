/* SPDX-License-Identifier: MIT */
#include "sensors/cpu_tdp.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sensors/cpu_tdp_table.h"

struct word {
	const char *text;
	size_t len;
};

/* Key under construction. The vendor is held back: it is needed only beside a lone model number. */
struct key {
	char *text;
	size_t len;
	size_t word_count;
	struct word vendor;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char flat(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	if ((c >= 'a' && c <= 'z') || is_digit(c) || (c != '\0' && strchr("-+./", c) != NULL))
		return c;
	return ' ';
}

/* Copies without what stands in parentheses, up to the clock or the graphics, in lower case. */
static void flatten(const char *name, char out[WTL_CPU_TDP_NAME_MAX])
{
	bool inside = false;
	size_t n = 0;

	for (; *name != '\0'; name++) {
		if (!inside && (*name == '@' || *name == ','))
			break;
		if (*name == '(')
			inside = true;
		out[n++] = inside ? ' ' : flat(*name);
		if (*name == ')')
			inside = false;
	}
	out[n] = '\0';
}

static bool word_is(struct word word, const char *text)
{
	return strlen(text) == word.len && memcmp(word.text, text, word.len) == 0;
}

static bool word_is_any(struct word word, const char *const list[], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (word_is(word, list[i]))
			return true;
	}
	return false;
}

static bool is_vendor(struct word word)
{
	return word_is(word, "intel") || word_is(word, "amd");
}

/* "12th" */
static bool is_ordinal(struct word word)
{
	static const char *const endings[] = {"st", "nd", "rd", "th"};
	struct word ending;

	if (word.len < 3)
		return false;
	for (size_t i = 0; i < word.len - 2; i++) {
		if (!is_digit(word.text[i]))
			return false;
	}
	ending = (struct word){word.text + word.len - 2, 2};
	return word_is_any(ending, endings, sizeof(endings) / sizeof(endings[0]));
}

static bool is_dropped(struct word word)
{
	static const char *const dropped[] = {"cpu", "processor", "apu", "soc",
					      "gen", "edition",	  "0"};

	if (word.len == 2 && word.text[0] == 'r' && is_digit(word.text[1]))
		return true;
	return is_ordinal(word) || word_is_any(word, dropped, sizeof(dropped) / sizeof(dropped[0]));
}

static bool is_noise(struct word token)
{
	static const char ending[] = "-core";
	const size_t len = sizeof(ending) - 1;

	if (token.len >= len && memcmp(token.text + token.len - len, ending, len) == 0)
		return true;
	return word_is(token, "x-series");
}

static bool is_stop(struct word token)
{
	return word_is(token, "with") || word_is(token, "w/") || word_is(token, "radeon");
}

/* The next run of characters that are not in `separators`; false at the end of the text. */
static bool next_word(const char **text, const char *end, const char *separators,
		      struct word *ret_word)
{
	const char *start = *text, *stop;

	while (start < end && strchr(separators, *start) != NULL)
		start++;
	for (stop = start; stop < end && strchr(separators, *stop) == NULL; stop++)
		;
	*text = stop;
	if (stop == start)
		return false;
	*ret_word = (struct word){start, (size_t)(stop - start)};
	return true;
}

/* The key is never longer than the name, so it always fits. */
static void key_add(struct key *key, struct word word)
{
	if (key->word_count++ > 0)
		key->text[key->len++] = ' ';
	memcpy(key->text + key->len, word.text, word.len);
	key->len += word.len;
}

static void key_add_token(struct key *key, struct word token)
{
	const char *text = token.text;
	struct word word;

	while (next_word(&text, token.text + token.len, "-/", &word)) {
		if (!is_vendor(word)) {
			if (!is_dropped(word))
				key_add(key, word);
		} else if (key->vendor.text == NULL) {
			key->vendor = word;
		}
	}
}

size_t wtl_cpu_tdp_key(const char *model_name, char key[WTL_CPU_TDP_NAME_MAX])
{
	char buf[WTL_CPU_TDP_NAME_MAX];
	struct key made = {.text = key};
	const char *text = buf;
	struct word token;

	key[0] = '\0';
	if (strnlen(model_name, sizeof(buf)) == sizeof(buf))
		return 0;
	flatten(model_name, buf);
	while (next_word(&text, buf + strlen(buf), " ", &token) && !is_stop(token)) {
		if (!is_noise(token))
			key_add_token(&made, token);
	}
	if (made.word_count == 1 && made.vendor.text != NULL) {
		memmove(key + made.vendor.len + 1, key, made.len);
		memcpy(key, made.vendor.text, made.vendor.len);
		key[made.vendor.len] = ' ';
		made.len += made.vendor.len + 1;
	}
	key[made.len] = '\0';
	return made.len;
}

int wtl_cpu_tdp_find(const char *model_name, uint32_t *ret_tdp_mw, const char **ret_matched)
{
	char key[WTL_CPU_TDP_NAME_MAX];
	size_t low = 0, high = wtl_tdp_row_count;

	if (model_name == NULL)
		return -EINVAL;
	if (wtl_cpu_tdp_key(model_name, key) == 0)
		return -ENOENT;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct wtl_tdp_row *row = &wtl_tdp_rows[middle];
		const int order = strcmp(key, wtl_tdp_names + row->name);

		if (order == 0) {
			*ret_tdp_mw = row->tdp_mw;
			if (ret_matched != NULL)
				*ret_matched = wtl_tdp_names + row->name;
			return 0;
		}
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -ENOENT;
}
