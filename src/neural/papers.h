/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_PAPERS_H
#define WTL_NEURAL_PAPERS_H

#include <stdbool.h>
#include <stddef.h>

struct wtl_err;

/*
 * Published figures, derived again from their inputs: share/estimate/papers.txt, built in. A row's reference was
 * printed by the authors, or is expected: other people's arithmetic with the same inputs. Measured results that no
 * estimate can derive are listed as anchors; what could not be derived, with what is missing.
 */

enum wtl_paper_line_kind {
	WTL_PAPER_ROW,	   /* derived, and compared with a reference */
	WTL_PAPER_ANCHOR,  /* measured, not derived */
	WTL_PAPER_MISSING, /* could not be derived, and why */
	WTL_PAPER_NOTE,
};

struct wtl_paper_line {
	enum wtl_paper_line_kind kind;
	char text[240]; /* what it is; a row's name */
	char formula[400];
	char unit[16];
	double derived, reference;
	bool is_printed;   /* the reference is in the paper; else only expected */
	double tolerance;  /* relative to the reference; 0: half of its last digit */
	char digits[32];   /* the reference as written */
	double half_digit; /* of the reference */
	bool agrees;
};

struct wtl_paper {
	char name[48], title[200], source[240];
	struct wtl_paper_line *lines;
	size_t n, room;
};

struct wtl_papers {
	struct wtl_paper *papers;
	size_t n, room;
};

extern const char wtl_neural_papers[];

int wtl_papers_parse(struct wtl_papers *papers, const char *text, size_t len, const char *file,
		     struct wtl_err *err);
const struct wtl_paper *wtl_papers_find(const struct wtl_papers *papers, const char *name);
void wtl_papers_done(struct wtl_papers *papers);

#endif
