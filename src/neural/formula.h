/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_FORMULA_H
#define WTL_NEURAL_FORMULA_H

#include <stddef.h>

/* Names and their values. */
struct wtl_formula_names {
	struct wtl_formula_name {
		char name[32];
		double value;
	} * names;
	size_t n, room;
};

/* Sets or replaces a value. 0 or -ENOMEM. */
int wtl_formula_names_set(struct wtl_formula_names *names, const char *name, double value);
/*
 * The value of a formula: numbers, names, + - * / ^ and parentheses, ceil(), log2(), sqrt(). 0; -EINVAL with the place in *ret_at;
 * -ENOENT for a name that is not known; -ERANGE where the value is not finite.
 */
int wtl_formula(const struct wtl_formula_names *names, const char *text, double *ret,
		const char **ret_at);
void wtl_formula_names_done(struct wtl_formula_names *names);

#endif
