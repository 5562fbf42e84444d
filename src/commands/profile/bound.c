/* SPDX-License-Identifier: MIT */
#include "commands/profile/bound.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/option.h"
#include "commands/profile/label.h"
#include "commands/profile/stacks.h"

static const char *const units[] = {[WTL_BOUND_J] = "J",
				    [WTL_BOUND_KJ] = "kJ",
				    [WTL_BOUND_S] = "s",
				    [WTL_BOUND_G] = "gCO2e",
				    [WTL_BOUND_PERCENT] = "%"};

enum { N_UNITS = sizeof(units) / sizeof(units[0]) };

/* ---- "NAME > NUMBER UNIT" ---- */

static size_t trim(const char *text, size_t len)
{
	while (len > 0 && text[len - 1] == ' ')
		len--;
	return len;
}

/* Removes the unit at the end. */
static int take_unit(const char *text, size_t *len, enum wtl_bound_unit *ret_unit)
{
	size_t longest = 0;

	for (unsigned i = 0; i < N_UNITS; i++) {
		size_t n = strlen(units[i]);

		if (n > longest && n < *len && memcmp(text + *len - n, units[i], n) == 0) {
			longest = n;
			*ret_unit = (enum wtl_bound_unit)i;
		}
	}
	*len = trim(text, *len - longest);
	return longest > 0 ? 0 : -EINVAL;
}

/* Parses from the end: names may have blanks, and signs as well ("operator>"). */
static int parse(const char *text, struct wtl_bound *bound)
{
	size_t len = trim(text, strlen(text)), begin;

	*bound = (struct wtl_bound){.text = text};
	if (take_unit(text, &len, &bound->unit) < 0)
		return -EINVAL;
	for (begin = len; begin > 0 && text[begin - 1] != '>' && text[begin - 1] != '<';)
		begin--;
	if (begin == 0)
		return -EINVAL;
	bound->is_less = text[begin - 1] == '<';
	bound->name_len = trim(text, begin - 1);
	begin += strspn(text + begin, " ");
	if (bound->name_len == 0 || begin > len ||
	    wtl_num_double(text + begin, len - begin, &bound->limit) < 0)
		return -EINVAL;
	return 0;
}

int wtl_bound_set(struct wtl_app *app, const struct wtl_option *option, const char *text)
{
	struct wtl_bounds *bounds = wtl_option_target(app, option);

	if (bounds->n == WTL_BOUNDS_MAX)
		return wtl_complain(app, "--fail-if: these are more than %d", WTL_BOUNDS_MAX);
	if (parse(text, &bounds->list[bounds->n]) < 0)
		return -EINVAL;
	bounds->n++;
	return 0;
}

/* ---- Verdicts ---- */

bool wtl_bound_is_of_total(const struct wtl_bound *bound)
{
	return bound->name_len == strlen("total") &&
	       memcmp(bound->text, "total", bound->name_len) == 0;
}

/* Said with --quiet as well: who gave a bound wants to know. */
bool wtl_bound_undecided(struct wtl_app *app, const struct wtl_bounds *bounds,
			 const struct wtl_bound *bound, const char *why)
{
	wtl_complain(app, "--fail-if '%s' is not decided%s: %s", bound->text,
		     bounds->is_strict ? ", which fails by --fail-strict" : "", why);
	return !bounds->is_strict;
}

bool wtl_bound_is_kept(struct wtl_app *app, const struct wtl_bounds *bounds,
		       const struct wtl_bound *bound, double value, double uncertainty, double less,
		       double more)
{
	double over = bound->is_less ? bound->limit - value : value - bound->limit;
	double most = uncertainty + (bound->is_less ? less : more);  /* over it by as much more, */
	double least = uncertainty + (bound->is_less ? more : less); /* or by as much less */
	bool is_more = (over > 0.0) == bound->is_less;
	char is[64], why[160];

	snprintf(is, sizeof(is),
		 uncertainty < 99.5 ? "it is %.6g \xc2\xb1 %.2g %s" : "it is %.6g \xc2\xb1 %.0f %s",
		 value, uncertainty, units[bound->unit]);
	if (over > least) {
		wtl_complain(app, "--fail-if '%s' fails: %s", bound->text, is);
		return false;
	}
	if (over < -most || (over <= 0.0 && most <= 0.0))
		return true;
	if (fabs(over) <= uncertainty)
		return wtl_bound_undecided(app, bounds, bound, is);
	snprintf(why, sizeof(why),
		 "%s, and may be up to %.3g %s %s: of so much no function is known", is,
		 is_more ? more : less, units[bound->unit], is_more ? "more" : "less");
	return wtl_bound_undecided(app, bounds, bound, why);
}

bool wtl_bound_is_unknown(const char *function)
{
	static const char *const rows[] = {WTL_STACKS_NOT_SEEN,	 WTL_STACKS_NO_TIME,
					   WTL_TRACE_UNRESOLVED, WTL_PYTHON_UNRESOLVED,
					   WTL_CALLS_UNKNOWN,	 WTL_TRACE_REST};
	static const char end[] = ": " WTL_TRACE_SHORT "]";
	size_t len = strlen(function);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(function, rows[i]) == 0)
			return true;
	return function[0] == '[' && len >= sizeof(end) - 1 &&
	       strcmp(function + len - (sizeof(end) - 1), end) == 0;
}

double wtl_bound_broken(const struct wtl_trace *trace)
{
	return trace->n_taken > 0 ? fmin((double)trace->n_broken_ran / (double)trace->n_taken, 1.0)
				  : 0.0;
}

const char *wtl_bound_why_unknown(const struct wtl_bound *bound, bool is_seen, bool has_energy)
{
	if (!is_seen)
		return "no such function was seen";
	return bound->unit == WTL_BOUND_S || has_energy ? NULL : "no energy is known";
}

/* ---- Bounds of a profile ---- */

enum { TOTAL = -1, NOT_SEEN = -2, SEVERAL = -3 };

/* Its file, or its program or library, may be given where it is not shown: that depends on what else was seen. */
static enum wtl_label_match match_of(const struct wtl_bound *bound, const char *shown,
				     size_t name_len, const char *const paths[2])
{
	bool has_path = paths[0][0] || paths[1][0];
	enum wtl_label_match best = wtl_label_match(shown, bound->text, bound->name_len, has_path);
	char text[2 * PATH_MAX];

	for (size_t i = 0; i < 2; i++) {
		enum wtl_label_match match;

		if (!paths[i][0] || snprintf(text, sizeof(text), "%.*s (%s)", (int)name_len, shown,
					     paths[i]) >= (int)sizeof(text))
			continue;
		match = wtl_label_match(text, bound->text, bound->name_len, paths[i][0] == '/');
		best = match > best ? match : best;
	}
	return best;
}

void wtl_bound_match(const struct wtl_bound *bound, struct wtl_bound_search *search, size_t number,
		     const char *shown, size_t name_len, const char *const paths[2],
		     bool is_installed)
{
	enum wtl_label_match match = match_of(bound, shown, name_len, paths);
	unsigned rank = 2 * (unsigned)match + !is_installed;

	if (match == WTL_LABEL_OTHER || (search->name && rank < search->rank))
		return;
	if (search->name && rank == search->rank)
		search->other = shown;
	else
		*search = (struct wtl_bound_search){.number = number, .name = shown, .rank = rank};
}

int wtl_bound_found(struct wtl_app *app, const struct wtl_bound *bound,
		    const struct wtl_bound_search *search)
{
	if (!search->other)
		return search->name ? 0 : 1;
	wtl_complain(app, "--fail-if '%s': which one? '%s' or '%s'", bound->text, search->name,
		     search->other);
	return -EINVAL;
}

static void match_function(const struct wtl_bound *bound, struct wtl_bound_search *search,
			   const struct wtl_stacks *stacks, size_t number)
{
	const struct wtl_stacks_function *is = &stacks->functions[number];
	const char *open = strstr(is->name, " ("), *paths[] = {is->file, is->object};
	size_t len = wtl_stacks_name_len(is);
	char place[PATH_MAX + 16]; /* Python's: with its line */

	if (is->label != is->name && open) {
		len = (size_t)(open - is->name);
		snprintf(place, sizeof(place), "%s:%u", is->file, is->line);
		paths[0] = place;
	}
	wtl_bound_match(bound, search, number, is->name, len, paths,
			wtl_stacks_is_installed(stacks, number));
}

static int64_t find_function(struct wtl_app *app, const struct wtl_bound *bound,
			     const struct wtl_stacks *stacks)
{
	struct wtl_bound_search search = {.name = NULL};
	int rc;

	if (wtl_bound_is_of_total(bound))
		return TOTAL;
	for (size_t i = 0; i < stacks->tree.n_names; i++)
		match_function(bound, &search, stacks, i);
	rc = wtl_bound_found(app, bound, &search);
	return rc == 0 ? (int64_t)search.number : rc < 0 ? SEVERAL : NOT_SEEN;
}

/* The uncertainty (k = 2) by the number of samples alone. */
static double seen(double value, uint64_t n, uint64_t n_all)
{
	double p = n_all > 0 ? fmin((double)n / (double)n_all, 1.0) : 0.0;

	return n > 0 ? 2.0 * value * sqrt((1.0 - p) / (double)n) : value;
}

/* What a function may have used beside what it was seen with: below rows that may be any function's, but for what it has
 * of them; and callers that are not known. Negative: no memory. */
static double find_unknown(const struct wtl_stacks *stacks, uint32_t function, size_t metric)
{
	enum { IS_KNOWN = 1, IS_UNKNOWN = 2 };
	uint8_t *states = calloc(stacks->tree.n_nodes, sizeof(*states));
	uint64_t known = stacks->functions_all[function * stacks->n_metrics + metric];
	uint64_t all = stacks->all[metric];
	double sum = (double)all * wtl_bound_broken(stacks->profile->trace);

	if (!states)
		return -1.0;
	for (size_t i = 1; i < stacks->tree.n_nodes; i++) { /* parents come first */
		uint32_t name = wtl_stacks_function(stacks, i);

		states[i] = states[stacks->tree.nodes[i].parent];
		if (name == function)
			states[i] |= IS_KNOWN;
		else if (wtl_bound_is_unknown(stacks->functions[name].name))
			states[i] |= IS_UNKNOWN;
		if (states[i] == IS_UNKNOWN)
			sum += (double)stacks->own[i * stacks->n_metrics + metric];
	}
	free(states);
	return fmin(sum, (double)(all - known));
}

/* From microjoules, or nanoseconds, to the bound's unit. */
static double factor_of(const struct wtl_bound *bound, const struct wtl_stacks *stacks)
{
	double all_uj = (double)stacks->profile->dynamic_uj;

	switch (bound->unit) {
	case WTL_BOUND_PERCENT:
		return all_uj > 0.0 ? 100.0 / all_uj : 0.0;
	case WTL_BOUND_G:
		return all_uj > 0.0 ? (double)stacks->all[WTL_METRIC_CO2E] / all_uj / 1e6 : 0.0;
	case WTL_BOUND_S:
	case WTL_BOUND_KJ:
		return 1e-9;
	case WTL_BOUND_J:
		break;
	}
	return 1e-6;
}

static bool check_total(struct wtl_app *app, const struct wtl_bounds *bounds,
			const struct wtl_bound *bound, const struct wtl_stacks *stacks)
{
	bool is_exact = bound->unit == WTL_BOUND_S || bound->unit == WTL_BOUND_PERCENT;
	double factor = factor_of(bound, stacks);
	double value =
		(double)stacks
			->all[bound->unit == WTL_BOUND_S ? WTL_METRIC_CPU : WTL_METRIC_ENERGY];

	return wtl_bound_is_kept(app, bounds, bound, value * factor,
				 is_exact ? 0.0 : (double)stacks->profile->uncertainty_uj * factor,
				 0.0, 0.0);
}

static bool check_one(struct wtl_app *app, const struct wtl_bounds *bounds,
		      const struct wtl_bound *bound, const struct wtl_stacks *stacks,
		      size_t function)
{
	const uint64_t *costs = &stacks->functions_all[function * stacks->n_metrics];
	uint64_t n = costs[WTL_METRIC_SAMPLES];
	size_t metric = bound->unit == WTL_BOUND_S ? WTL_METRIC_CPU : WTL_METRIC_ENERGY;
	double more = find_unknown(stacks, (uint32_t)function, metric);
	double value = (double)costs[metric], factor = factor_of(bound, stacks), uncertainty;

	if (more < 0.0)
		return wtl_bound_undecided(app, bounds, bound, "out of memory");
	if (bound->unit == WTL_BOUND_S || bound->unit == WTL_BOUND_PERCENT)
		uncertainty = seen(value, n, stacks->all[WTL_METRIC_SAMPLES]);
	else
		uncertainty = wtl_profile_uncertainty_uj(
			stacks->profile, value, n, stacks->functions_doubts[2 * function + 1]);
	return wtl_bound_is_kept(app, bounds, bound, value * factor, uncertainty * factor, 0.0,
				 more * factor);
}

int wtl_bounds_check(struct wtl_app *app, const struct wtl_bounds *bounds,
		     const struct wtl_stacks *stacks)
{
	bool are_kept = true;

	for (size_t i = 0; i < bounds->n; i++) {
		const struct wtl_bound *bound = &bounds->list[i];
		int64_t function = find_function(app, bound, stacks);
		const char *why = wtl_bound_why_unknown(bound, function != NOT_SEEN,
							wtl_profile_has_energy(stacks->profile));

		if (function == SEVERAL)
			return -EINVAL;
		if (why)
			are_kept &= wtl_bound_undecided(app, bounds, bound, why);
		else if (function == TOTAL)
			are_kept &= check_total(app, bounds, bound, stacks);
		else
			are_kept &= check_one(app, bounds, bound, stacks, (size_t)function);
	}
	return are_kept ? 0 : 1;
}
