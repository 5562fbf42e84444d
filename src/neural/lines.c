/* SPDX-License-Identifier: MIT */
#include "neural/lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/num.h"
#include "base/text.h"

void wtl_lines_init(struct wtl_lines *lines, const char *text, size_t len, const char *file,
		    struct wtl_err *err)
{
	*lines = (struct wtl_lines){.at = text, .end = text + len, .file = file, .err = err};
}

int wtl_lines_fail(struct wtl_lines *lines, const char *format, ...)
{
	char place[160], text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(place, sizeof(place), "%.140s:%u", lines->file, lines->number);
	return wtl_err_set(lines->err, WTL_EFORMAT, "estimate", place, "%s", text);
}

static void split(struct wtl_lines *lines)
{
	char *state = NULL;

	lines->n = 0;
	lines->rest = lines->text + strlen(lines->text);
	for (char *word = strtok_r(lines->copy, " \t", &state); word;
	     word = strtok_r(NULL, " \t", &state)) {
		if (word[0] == '#') {
			lines->text[word - lines->copy] = '\0';
			break;
		}
		if (lines->n == 1)
			lines->rest = lines->text + (word - lines->copy);
		if (lines->n < WTL_LINE_WORDS_MAX)
			lines->words[lines->n++] = word;
	}
	lines->text[wtl_text_trimmed(lines->text, strlen(lines->text))] = '\0';
}

int wtl_lines_next(struct wtl_lines *lines)
{
	while (lines->at < lines->end) {
		size_t left = (size_t)(lines->end - lines->at);
		const char *newline = memchr(lines->at, '\n', left);
		size_t len = newline ? (size_t)(newline - lines->at) : left;
		const char *line = lines->at;

		lines->at += newline ? len + 1 : len;
		lines->number++;
		for (; len > 0 && (*line == ' ' || *line == '\t'); line++)
			len--;
		len = wtl_text_trimmed(line, len);
		if (len > WTL_LINE_MAX)
			return wtl_lines_fail(lines, "longer than %d bytes", WTL_LINE_MAX);
		memcpy(lines->text, line, len);
		lines->text[len] = '\0';
		for (char *c = lines->text; *c; c++)
			if (*c == '\t')
				*c = ' ';
		if (strlen(lines->text) != len || !wtl_text_is_clean(lines->text, len))
			return wtl_lines_fail(lines,
					      "control characters or bytes that are not UTF-8");
		memcpy(lines->copy, lines->text, len + 1);
		split(lines);
		if (lines->n > 0)
			return 1;
	}
	return 0;
}

int wtl_lines_number(struct wtl_lines *lines, const char *word, const char *what, double least,
		     double most, double *ret)
{
	double value;

	if (wtl_num_double(word, strlen(word), &value) < 0)
		return wtl_lines_fail(lines, "%s is a number, not '%s'", what, word);
	if (!(value >= least && value <= most))
		return wtl_lines_fail(lines, "%s is %s: from %g to %g is possible", what, word,
				      least, most);
	*ret = value;
	return 0;
}
