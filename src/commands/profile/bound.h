/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_BOUND_H
#define WTL_COMMANDS_PROFILE_BOUND_H

#include <stdbool.h>
#include <stddef.h>

struct wtl_app;
struct wtl_diff;
struct wtl_option;
struct wtl_stacks;
struct wtl_trace;

/* Bounds of --fail-if: "train > 300 J". The exit status tells scripts that a profile broke one. */

enum { WTL_BOUNDS_MAX = 64, WTL_EXIT_BOUND = 124 };

enum wtl_bound_unit { WTL_BOUND_J, WTL_BOUND_KJ, WTL_BOUND_S, WTL_BOUND_G, WTL_BOUND_PERCENT };

struct wtl_bound {
	const char *text; /* the whole expression */
	size_t name_len;  /* of the function's name, at its start */
	bool is_less;	  /* it fails below the limit, not above */
	double limit;
	enum wtl_bound_unit unit;
};

struct wtl_bounds {
	struct wtl_bound list[WTL_BOUNDS_MAX];
	size_t n;
	bool is_strict; /* --fail-strict: what is not decided fails as well */
};

/* For the option: its target is a struct wtl_bounds. */
int wtl_bound_set(struct wtl_app *app, const struct wtl_option *option, const char *text);

/* Says which bounds fail, and which are not decided, as the value is too uncertain or not known. 0: all are kept; 1:
 * some are not; negative after wtl_complain(). */
int wtl_bounds_check(struct wtl_app *app, const struct wtl_bounds *bounds,
		     const struct wtl_stacks *stacks);
/* The same for what the second side uses more than the first; % is of the first. */
int wtl_bounds_check_diff(struct wtl_app *app, const struct wtl_bounds *bounds,
			  const struct wtl_diff *diff);

/* ---- One bound ---- */

bool wtl_bound_is_of_total(const struct wtl_bound *bound);

/*
 * The function that a bound names: the one whose name is nearest to it; of such ones, one of the program before those of
 * installed libraries.
 */
struct wtl_bound_search {
	size_t number;
	const char *name;  /* NULL: none was found */
	const char *other; /* another one that it may be as well; NULL: there is none */
	unsigned rank;
};

/* Takes a function, if it may be the one. Its own name is the first name_len bytes of what is shown; paths: of its
 * source, and of its program or library, or "". */
void wtl_bound_match(const struct wtl_bound *bound, struct wtl_bound_search *search, size_t number,
		     const char *shown, size_t name_len, const char *const paths[2],
		     bool is_installed);
/* 0; 1: none was found; -EINVAL after wtl_complain(): it may be several. */
int wtl_bound_found(struct wtl_app *app, const struct wtl_bound *bound,
		    const struct wtl_bound_search *search);
/* Says what the value is, if it is not certain that the bound is kept. Because of what no function is known of (below),
 * it may be as much as `less` or `more` off, beside its uncertainty. */
bool wtl_bound_is_kept(struct wtl_app *app, const struct wtl_bounds *bounds,
		       const struct wtl_bound *bound, double value, double uncertainty, double less,
		       double more);
/* Whether a row stands for what may be any function's. */
bool wtl_bound_is_unknown(const char *function);
/* The part of a profile's stacks that are not whole, so that any function may have called them. */
double wtl_bound_broken(const struct wtl_trace *trace);
/* Why a bound's value is not known; NULL: it is. */
const char *wtl_bound_why_unknown(const struct wtl_bound *bound, bool is_seen, bool has_energy);
/* Says that it is not decided, and why. Returns whether that counts as kept. */
bool wtl_bound_undecided(struct wtl_app *app, const struct wtl_bounds *bounds,
			 const struct wtl_bound *bound, const char *why);

#endif
