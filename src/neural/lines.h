/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_LINES_H
#define WTL_NEURAL_LINES_H

#include <stddef.h>

struct wtl_err;

/*
 * The plain text files of wattle estimate (devices, networks, rates, papers): one statement per line, words separated
 * by blanks; a word that begins with '#' starts a comment. Errors name file and line.
 */

enum { WTL_LINE_MAX = 1000, WTL_LINE_WORDS_MAX = 32 };

struct wtl_lines {
	const char *at, *end;
	const char *file;
	unsigned number; /* of the line, from 1 */
	struct wtl_err *err;
	char *words[WTL_LINE_WORDS_MAX]; /* valid until the next line is read */
	size_t n;
	char *rest; /* all after the first word, as written; "": nothing */
	char text[WTL_LINE_MAX + 1], copy[WTL_LINE_MAX + 1];
};

void wtl_lines_init(struct wtl_lines *lines, const char *text, size_t len, const char *file,
		    struct wtl_err *err);
/* Reads the next line that has words. 1; 0 at the end; or negative. */
int wtl_lines_next(struct wtl_lines *lines);
/* Says what is wrong with this line; returns -WTL_EFORMAT. */
int wtl_lines_fail(struct wtl_lines *lines, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Parses a number from `least` to `most`; `what` names it in the error. 0 or negative. */
int wtl_lines_number(struct wtl_lines *lines, const char *word, const char *what, double least,
		     double most, double *ret);

#endif
