/* SPDX-License-Identifier: MIT */
/* Bounds of what the second side uses more than the first. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cli/complain.h"
#include "commands/profile/bound.h"
#include "commands/profile/diff.h"

/* 0; 1: the function was not seen; negative after wtl_complain(). */
static int find(struct wtl_app *app, const struct wtl_bound *bound, const struct wtl_diff *diff,
		size_t *ret_function)
{
	struct wtl_bound_search search = {.name = NULL};
	size_t n = diff->functions.n;

	*ret_function = n;
	if (wtl_bound_is_of_total(bound))
		return 0;
	for (size_t i = 0; i < n; i++) {
		const struct wtl_function *is = wtl_functions_at(&diff->functions, i);
		const char *const paths[] = {is->source, is->module};

		wtl_bound_match(bound, &search, i, wtl_functions_text(&diff->functions, i),
				strlen(is->name), paths, !wtl_diff_is_own(diff, i));
	}
	*ret_function = search.number;
	return wtl_bound_found(app, bound, &search);
}

/* What a function may have used beside what it was seen with: the mean of those runs. */
static double find_unknown(const struct wtl_diff *diff, size_t function, enum wtl_diff_what what,
			   size_t from, size_t to)
{
	size_t n = diff->functions.n;
	double sum = 0.0;

	if (function == n)
		return 0.0;
	for (size_t run = from; run < to; run++) {
		double all = (double)diff->cells[n * diff->n_runs + run].values[what];
		double known = (double)diff->cells[function * diff->n_runs + run].values[what];
		double unknown = all * wtl_bound_broken(&diff->runs[run].trace);

		for (size_t i = 0; i < n; i++)
			if (i != function &&
			    wtl_bound_is_unknown(wtl_functions_at(&diff->functions, i)->name))
				unknown += (double)diff->cells[i * diff->n_runs + run].values[what];
		sum += fmin(unknown, all - known);
	}
	return sum / (double)(to - from);
}

static bool check_one(struct wtl_app *app, const struct wtl_bounds *bounds,
		      const struct wtl_bound *bound, const struct wtl_diff *diff, size_t function)
{
	static const uint64_t much_uj = 1000000000;
	bool is_time = bound->unit == WTL_BOUND_S;
	enum wtl_diff_what what = is_time ? WTL_DIFF_ALL_NS : WTL_DIFF_ALL_UJ;
	double less = find_unknown(diff, function, what, 0, diff->n_first);
	double more = find_unknown(diff, function, what, diff->n_first, diff->n_runs);
	struct wtl_difference_row row;
	double factor = 1e-6;

	wtl_diff_row(diff, function, what, &row);
	if (is_time || bound->unit == WTL_BOUND_KJ)
		factor = 1e-9;
	else if (bound->unit == WTL_BOUND_PERCENT)
		factor = row.first > 0.0 ? 100.0 / row.first : 0.0;
	else if (bound->unit == WTL_BOUND_G)
		factor = (double)wtl_profile_co2e_ug(&diff->runs[diff->n_first].profile, much_uj) /
			 (double)much_uj / 1e6;
	return wtl_bound_is_kept(app, bounds, bound, row.change * factor, row.uncertainty * factor,
				 less * factor, more * factor);
}

int wtl_bounds_check_diff(struct wtl_app *app, const struct wtl_bounds *bounds,
			  const struct wtl_diff *diff)
{
	bool are_kept = true;

	for (size_t i = 0; i < bounds->n; i++) {
		const struct wtl_bound *bound = &bounds->list[i];
		size_t function;
		int rc = find(app, bound, diff, &function);
		const char *why = wtl_bound_why_unknown(bound, rc == 0, diff->has_energy);

		if (rc < 0)
			return rc;
		are_kept &= why ? wtl_bound_undecided(app, bounds, bound, why)
				: check_one(app, bounds, bound, diff, function);
	}
	return are_kept ? 0 : 1;
}
