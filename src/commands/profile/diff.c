/* SPDX-License-Identifier: MIT */
/* How two sides differ, and how certain that is. */
#include "commands/profile/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands/profile/same.h"
#include "commands/profile/stacks.h"
#include "energy/statistics.h"

/* Samples that a function without any may have had (95 %). */
#define MISSED 3.0

/* ---- Functions of all runs ---- */

static void add_own(struct wtl_diff_cell *cell, const uint64_t *own, uint64_t doubt_uj)
{
	cell->values[WTL_DIFF_OWN_UJ] += own[WTL_METRIC_ENERGY];
	cell->values[WTL_DIFF_OWN_NS] += own[WTL_METRIC_CPU];
	cell->n_own += own[WTL_METRIC_SAMPLES];
	cell->doubts_uj[0] += doubt_uj;
}

static void add_all(struct wtl_diff_cell *cell, const uint64_t *all, uint64_t doubt_uj)
{
	cell->values[WTL_DIFF_ALL_UJ] += all[WTL_METRIC_ENERGY];
	cell->values[WTL_DIFF_ALL_NS] += all[WTL_METRIC_CPU];
	cell->n_all += all[WTL_METRIC_SAMPLES];
	cell->doubts_uj[1] += doubt_uj;
}

/* Whether no caller is the same one: a copy that the compiler made of a function may be called by that function. */
static bool is_outermost(const struct wtl_stacks *stacks, const uint32_t *numbers, size_t node)
{
	uint32_t number = numbers[wtl_stacks_function(stacks, node)];

	for (uint32_t at = stacks->tree.nodes[node].parent; at; at = stacks->tree.nodes[at].parent)
		if (numbers[wtl_stacks_function(stacks, at)] == number)
			return false;
	return true;
}

static struct wtl_diff_cell *cell_of(const struct wtl_diff *diff, size_t function, size_t run)
{
	return &diff->cells[function * diff->n_runs + run];
}

static int fill(struct wtl_diff *diff, const struct wtl_stacks *stacks, uint32_t *const numbers[])
{
	diff->cells = calloc((diff->functions.n + 1) * diff->n_runs, sizeof(*diff->cells));
	if (!diff->cells)
		return -ENOMEM;
	for (size_t run = 0; run < diff->n_runs; run++) {
		const struct wtl_stacks *of = &stacks[run];
		struct wtl_diff_cell *whole = cell_of(diff, diff->functions.n, run);

		for (size_t i = 0; i < of->tree.n_names; i++) {
			struct wtl_diff_cell *cell = cell_of(diff, numbers[run][i], run);

			add_own(cell, &of->functions_own[i * of->n_metrics],
				of->functions_doubts[2 * i]);
			cell->is_own |= !wtl_stacks_is_installed(of, i);
		}
		for (size_t i = 1; i < of->tree.n_nodes; i++)
			if (is_outermost(of, numbers[run], i))
				add_all(cell_of(diff, numbers[run][wtl_stacks_function(of, i)],
						run),
					&of->all[i * of->n_metrics], of->doubts[2 * i + 1]);
		add_own(whole, of->all, of->doubts[1]);
		add_all(whole, of->all, of->doubts[1]);
	}
	return 0;
}

/* Same host and same sensors, not a model: a model's error differs between programs. */
static bool is_same_machine(const struct wtl_saved *a, const struct wtl_saved *b)
{
	if (!a->host || !b->host || strcmp(a->host, b->host) != 0 ||
	    a->split.n_domains != b->split.n_domains)
		return false;
	for (size_t i = 0; i < a->split.n_domains; i++)
		if (strcmp(a->domains[i].name, b->domains[i].name) != 0 ||
		    strcmp(a->domains[i].source, b->domains[i].source) != 0 ||
		    (a->counts[i] && a->domains[i].method == WATTLE_METHOD_MODELLED))
			return false;
	return true;
}

int wtl_diff_make(struct wtl_diff *diff, struct wtl_saved *runs, size_t n_runs, size_t n_first)
{
	struct wtl_stacks *stacks = calloc(n_runs, sizeof(*stacks));
	uint32_t **numbers = calloc(n_runs, sizeof(*numbers));
	int rc = stacks && numbers ? 0 : -ENOMEM;
	size_t made = 0;

	*diff = (struct wtl_diff){.runs = runs,
				  .n_runs = n_runs,
				  .n_first = n_first,
				  .is_same_machine = true,
				  .has_energy = true};
	for (; rc == 0 && made < n_runs; made++) {
		rc = wtl_stacks_make(&stacks[made], &runs[made].profile, false);
		if (rc == 0 &&
		    !(numbers[made] = calloc(stacks[made].tree.n_names + 1, sizeof(**numbers))))
			rc = -ENOMEM;
		diff->is_same_machine &= is_same_machine(&runs[0], &runs[made]);
		diff->has_energy &= wtl_profile_has_energy(&runs[made].profile);
	}
	if (rc == 0)
		rc = wtl_same_functions(stacks, n_runs, n_first, &diff->functions, numbers);
	if (rc == 0)
		rc = fill(diff, stacks, numbers);
	for (size_t i = 0; i < made; i++) {
		wtl_stacks_done(&stacks[i]);
		free(numbers[i]);
	}
	free(stacks);
	free(numbers);
	return rc;
}

void wtl_diff_done(struct wtl_diff *diff)
{
	wtl_functions_done(&diff->functions);
	free(diff->cells);
}

bool wtl_diff_is_own(const struct wtl_diff *diff, size_t function)
{
	for (size_t run = 0; run < diff->n_runs; run++)
		if (cell_of(diff, function, run)->is_own)
			return true;
	return false;
}

/* ---- Uncertainty ---- */

/* One side of a row. Variances are standard (k = 1). */
struct side {
	double mean;
	double seen;	 /* variance of the mean, by samples or by the spread of the runs */
	double relative; /* standard uncertainty of all energies of a run, relative */
	double spread;	 /* variance of one run; 0: there is only one */
	size_t df;	 /* degrees of freedom of `spread`; 0: there is only one run */
};

/* The variance by the number of samples. */
static double seen_variance(double value, double all, uint64_t n, uint64_t n_all)
{
	double p = n_all > 0 ? (double)n / (double)n_all : 0.0;

	if (n > 0)
		return value * value * (1.0 - fmin(p, 1.0)) / (double)n;
	return n_all > 0 ? pow(MISSED / 2.0 * all / (double)n_all, 2.0) : 0.0;
}

static void take_run(const struct wtl_diff *diff, size_t function, enum wtl_diff_what what,
		     size_t run, struct wtl_tally *tally, struct side *side)
{
	const struct wtl_diff_cell *cell = cell_of(diff, function, run);
	const struct wtl_diff_cell *whole = cell_of(diff, diff->functions.n, run);
	const struct wtl_profile *profile = &diff->runs[run].profile;
	bool is_own = what == WTL_DIFF_OWN_UJ || what == WTL_DIFF_OWN_NS;
	bool is_energy = what == WTL_DIFF_OWN_UJ || what == WTL_DIFF_ALL_UJ;
	double doubt = is_energy ? (double)cell->doubts_uj[!is_own] : 0.0;
	double doubt_all = is_energy ? (double)whole->doubts_uj[1] : 0.0;

	wtl_tally_add(tally, (double)cell->values[what]);
	if (cell == whole)
		side->seen = 0.0;
	else
		side->seen = seen_variance((double)cell->values[what], (double)whole->values[what],
					   is_own ? cell->n_own : cell->n_all, whole->n_all) +
			     pow(fmin(doubt, fmax(doubt_all - doubt, 0.0)), 2.0);
	if (is_energy && profile->dynamic_uj > 0)
		side->relative = fmax(side->relative, (double)profile->uncertainty_uj /
							      (2.0 * (double)profile->dynamic_uj));
}

static struct side side_of(const struct wtl_diff *diff, size_t function, enum wtl_diff_what what,
			   size_t from, size_t to)
{
	struct wtl_tally tally = {0};
	struct wtl_statistics of_runs;
	struct side side = {.df = 0};

	for (size_t run = from; run < to; run++)
		take_run(diff, function, what, run, &tally, &side);
	side.mean = tally.mean;
	if (to - from < 2)
		return side;
	wtl_tally_statistics(&tally, &of_runs);
	side.spread = of_runs.sd * of_runs.sd;
	side.seen = side.spread / (double)of_runs.n;
	side.df = of_runs.n - 1;
	return side;
}

/* A single run is taken to spread as the runs of the other side do. */
static void lend_spread(const struct side *from, struct side *to)
{
	if (to->df == 0)
		to->seen = fmax(to->seen, from->spread);
}

/* Student's t for Welch's degrees of freedom, or those of the only spread; k = 2 if no side has one. */
static double factor_of(const struct side *a, const struct side *b)
{
	double sum = a->seen + b->seen, parts;

	if (a->df == 0 || b->df == 0)
		return a->df + b->df > 0 ? fmax(2.0, wtl_statistics_t95(a->df + b->df)) : 2.0;
	parts = a->seen * a->seen / (double)a->df + b->seen * b->seen / (double)b->df;
	if (!(parts > 0.0))
		return 2.0;
	return fmax(2.0, wtl_statistics_t95((size_t)fmax(1.0, floor(sum * sum / parts))));
}

/*
 * The variance due to errors of whole runs. With the same sensors of one machine half of it is common to both sides,
 * like gain and idle power, and only scales the difference.
 */
static double whole_variance(const struct wtl_diff *diff, const struct side *a,
			     const struct side *b)
{
	double own = pow(a->relative * a->mean, 2.0) + pow(b->relative * b->mean, 2.0);
	double common = fmax(a->relative, b->relative) * (b->mean - a->mean);

	return diff->is_same_machine ? (own + common * common) / 2.0 : own;
}

void wtl_diff_row(const struct wtl_diff *diff, size_t function, enum wtl_diff_what what,
		  struct wtl_difference_row *ret_row)
{
	struct side a = side_of(diff, function, what, 0, diff->n_first);
	struct side b = side_of(diff, function, what, diff->n_first, diff->n_runs);
	double factor;

	lend_spread(&a, &b);
	lend_spread(&b, &a);
	factor = factor_of(&a, &b);
	*ret_row = (struct wtl_difference_row){.first = a.mean,
					       .second = b.mean,
					       .change = b.mean - a.mean,
					       .uncertainty =
						       sqrt(factor * factor * (a.seen + b.seen) +
							    4.0 * whole_variance(diff, &a, &b))};
	ret_row->is_significant = fabs(ret_row->change) > ret_row->uncertainty;
}
