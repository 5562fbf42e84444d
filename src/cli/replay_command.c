/* SPDX-License-Identifier: MIT */
/* Texts of a recording, taken apart. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/replay.h"

/* Copies one word without its quotes, which may stand anywhere in it. Returns what follows it. */
static const char *take_word(const char *text, char **to)
{
	char quote = '\0';

	for (; *text && (quote || *text != ' '); text++) {
		if (quote ? *text == quote : *text == '\'' || *text == '"')
			quote = quote ? '\0' : *text;
		else
			*(*to)++ = *text;
	}
	*(*to)++ = '\0';
	return text + strspn(text, " ");
}

char **wtl_command_words(const char *text)
{
	/* No more words than blanks + 1, no more characters than there are. */
	size_t len = strlen(text), n = 2;
	char **words, *to;

	for (size_t i = 0; i < len; i++)
		n += text[i] == ' ';
	words = malloc(n * sizeof(*words) + len + n);
	if (!words)
		return NULL;
	to = (char *)(words + n);
	n = 0;
	for (text += strspn(text, " "); *text;) {
		words[n++] = to;
		text = take_word(text, &to);
	}
	words[n] = NULL;
	return words;
}

void wtl_gap_damage(const char *lost, char text[], size_t size)
{
	static const char before[] = "(period ";
	const char *period = strstr(lost, before), *end = period ? strchr(period, ')') : NULL;

	if (!end) {
		snprintf(text, size, "%.199s", lost);
		return;
	}
	/* "period 4: series op is damaged" */
	snprintf(text, size, "%.*s%.150s", (int)(end - period - 1), period + 1, end + 1);
}
