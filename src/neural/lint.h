/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_LINT_H
#define WTL_NEURAL_LINT_H

#include <stddef.h>

struct wtl_err;

/*
 * Checks a table of energies (CSV; docs/estimate-papers.md has its columns) for mistakes that published ones had: the
 * spike rate multiplied twice, time steps forgotten, unlike things compared.
 */
enum { WTL_LINT_FINDINGS_MAX = 10000 };

struct wtl_lint_finding {
	unsigned int line; /* in the file */
	char row[64];	   /* its name */
	const char *rule;  /* "rate-twice" */
	char text[300];
};

struct wtl_lint {
	struct wtl_lint_finding *findings;
	size_t n, room;
	size_t n_more; /* findings beyond WTL_LINT_FINDINGS_MAX, which are only counted */
	size_t n_rows;
};

/* 0, -WTL_EFORMAT or -ENOMEM. After success, call wtl_lint_done() for *ret. */
int wtl_lint_table(const char *text, size_t len, const char *file, struct wtl_lint *ret,
		   struct wtl_err *err);
void wtl_lint_done(struct wtl_lint *lint);

#endif
