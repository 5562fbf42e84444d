/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_PAPERS_H
#define WTL_NEURAL_PAPERS_H

#include <stdbool.h>
#include <stddef.h>

struct wtl_err;

/*
 * Published figures, derived again from their inputs: share/estimate/papers.txt, built in. What a row is compared with was
 * printed by the authors, or is expected: somebody else's arithmetic with the same inputs. Measured results that no
 * estimate can derive stand beside them as anchors, and what could not be derived is listed with what is missing.
 */

enum wtl_paper_line_kind {
	WTL_PAPER_ROW,	   /* derived, and compared with a reference */
	WTL_PAPER_ANCHOR,  /* measured: to be kept in mind, not derived */
	WTL_PAPER_MISSING, /* could not be derived, and why */
	WTL_PAPER_NOTE,
};

struct wtl_paper_line {
	enum wtl_paper_line_kind kind;
	char text[240]; /* what it is; of a row also its name */
	char formula[400];
	char unit[16];
	double derived, reference;
	bool is_printed;   /* the reference stands in the paper; else it is only expected */
	double tolerance;  /* of the reference, as a part of it; 0: half of its last digit */
	char digits[32];   /* the reference as it was written */
	double half_digit; /* of it */
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
