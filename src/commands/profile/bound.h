/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_BOUND_H
#define WTL_COMMANDS_PROFILE_BOUND_H

#include <stdbool.h>
#include <stddef.h>

struct wtl_app;
struct wtl_diff;
struct wtl_option;
struct wtl_stacks;

/* What --fail-if says: "train > 300 J". The exit status tells scripts which of them a profile does not keep. */

enum { WTL_BOUNDS_MAX = 64, WTL_EXIT_BOUND = 124 };

enum wtl_bound_unit { WTL_BOUND_J, WTL_BOUND_KJ, WTL_BOUND_S, WTL_BOUND_G, WTL_BOUND_PERCENT };

struct wtl_bound {
	const char *text; /* all of it */
	size_t name_len;  /* of the function's, at its start */
	bool is_less;	  /* it fails below the limit */
	double limit;
	enum wtl_bound_unit unit;
};

struct wtl_bounds {
	struct wtl_bound list[WTL_BOUNDS_MAX];
	size_t n;
	bool is_strict; /* what is not decided fails as well */
};

/* For the option: its target is a struct wtl_bounds. */
int wtl_bound_set(struct wtl_app *app, const struct wtl_option *option, const char *text);

/* Says which bounds are not kept, and which are within what is not known. 0: all are kept; 1: some are not; negative
 * after wtl_complain(). */
int wtl_bounds_check(struct wtl_app *app, const struct wtl_bounds *bounds,
		     const struct wtl_stacks *stacks);
/* The same of what the second side has more than the first; in percent of the first. */
int wtl_bounds_check_diff(struct wtl_app *app, const struct wtl_bounds *bounds,
			  const struct wtl_diff *diff);

/* ---- One of them ---- */

bool wtl_bound_is_of(const struct wtl_bound *bound, const char *name, size_t len);
/* Says what it is, if it is not kept for certain. */
bool wtl_bound_is_kept(struct wtl_app *app, const struct wtl_bounds *bounds,
		       const struct wtl_bound *bound, double value, double uncertainty);
/* NULL: its value is known. */
const char *wtl_bound_why_unknown(const struct wtl_bound *bound, bool is_seen, bool has_energy);
/* Says that its value is not known, and why: is that as good as kept? */
bool wtl_bound_unknown(struct wtl_app *app, const struct wtl_bounds *bounds,
		       const struct wtl_bound *bound, const char *why);

#endif
