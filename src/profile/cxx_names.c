/* SPDX-License-Identifier: MIT */
#include "profile/cxx_names.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/*
 * Of the bound below. It takes each reference for all that stands before it, so names are about as long as its square
 * root. Of the functions of libtorch and libarrow 0.3 and 0.1 % are above it; they keep their mangled names.
 */
#define MOST 1e9

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* A part can refer to earlier parts alone: the first, "S_", is no longer than the name, the next, "S0_", than its square. */
static double most_of_part(const char *at, size_t n, double len)
{
	if (*at != 'S' || n > 1)
		return HUGE_VAL;
	return pow(len, n == 0 ? 1.0 : (double)(strchr(digits, at[1]) - digits) + 2.0);
}

bool wtl_cxx_name_is_short(const char *mangled)
{
	double len = (double)strlen(mangled), bound = 0.0;

	for (const char *at = mangled; *at && bound < MOST; at++) {
		bool is_part = *at == 'S' ||
			       *at == 'T'; /* reference to an earlier part, or to an argument */
		size_t n = is_part ? strspn(at + 1, digits) : 0;

		if (is_part && at[1 + n] == '_') {
			bound += fmin(bound, most_of_part(at, n, len));
			at += n + 1;
		} else if (strncmp(at, "Dp", 2) == 0 || strncmp(at, "sp", 2) == 0) {
			bound *= len; /* an expression for each of a list */
			at++;
		} else {
			/* All but the last of these cannot begin anything. */
			at += n > 1 ? n - 1 : 0;
			bound += n > 1 ? (double)n : 1.0;
		}
	}
	return bound < MOST;
}
