/* SPDX-License-Identifier: MIT */
/* Commands that ran in turn: docs/compare.md says what the ± of their ratios includes. */
#include "report/compare.h"

#include <math.h>
#include <string.h>

#include "document/words.h"
#include "meter/meter.h"
#include "report/run_figures.h"
#include "sensors/rapl.h"

/* How much a model's error varies from program to program: relative, standard. Judgement: as for CPU time
 * as a weight (docs/attribution.md), which the model goes by. The rest of its error is the machine's. */
#define MODEL_SPREAD 0.22

static const struct wtl_report *report_at(const void *of, size_t run)
{
	const struct wtl_series *series = of;

	return &series->reports[run];
}

/* The runs that count. An interrupted run is always the last one. */
static size_t whole(const struct wtl_series *series)
{
	return series->of[WTL_RUN_DURATION_S].n;
}

static bool is_amd(const struct wattle_meter *meter, size_t domain)
{
	int primary = meter->domains[domain].domain.primary;

	return primary >= 0 && wtl_rapl_dynamic_ppm(&meter->catalog.channels[primary]) > 0;
}

/* ---- Which energy ---- */

static bool counts(const struct wtl_report_domain *domain)
{
	return domain->domain.in_total && domain->energy.has_energy;
}

static bool has_same_domains(const struct wtl_report *a, const struct wtl_report *b)
{
	for (size_t i = 0; i < a->n_domains; i++)
		if (counts(&a->domains[i]) != counts(&b->domains[i]) ||
		    (counts(&a->domains[i]) &&
		     a->domains[i].energy.method != b->domains[i].energy.method))
			return false;
	return true;
}

/* Why the commands' own energies cannot be compared; NULL: every run has one. */
static const char *why_not_dynamic(const struct wtl_compare *compare,
				   const struct wattle_meter *meter, enum wtl_compare_by by)
{
	const struct wtl_report *first = &compare->commands[0].series.reports[0];

	if (by == WTL_COMPARE_MACHINE)
		return "as --energy asks for";
	for (size_t i = 0; by == WTL_COMPARE_BEST && i < first->n_domains; i++)
		if (counts(&first->domains[i]) && is_amd(meter, i))
			return "above idle AMD's RAPL misses what data and memory cost";
	for (size_t i = 0; i < compare->n; i++) {
		const struct wtl_series *series = &compare->commands[i].series;

		if (series->of[WTL_RUN_COMMAND_DYNAMIC_J].n == whole(series))
			continue;
		return series->of[WTL_RUN_COMMAND_FULL_J].n > 0
			       ? "the machine's idle power is not known: --idle-first SECONDS learns it"
			       : "who used it is not known";
	}
	return NULL;
}

/* Why the energies cannot be compared; NULL: they can. */
static const char *why_not(const struct wtl_compare *compare)
{
	const struct wtl_report *first = &compare->commands[0].series.reports[0];

	for (size_t i = 0; i < compare->n; i++) {
		const struct wtl_series *series = &compare->commands[i].series;

		if (whole(series) == 0)
			return "not every command has a run that ended";
		if (series->of[compare->figure].n < whole(series))
			return first->window.total.has_energy
				       ? "not every run has a figure"
				       : wtl_words_total_reason(&first->window.total);
		for (size_t run = 0; run < whole(series); run++)
			if (!has_same_domains(first, &series->reports[run]))
				return "not every run was measured by the same sensors";
			else if (!(wtl_run_figure(&series->reports[run], compare->figure) > 0))
				return "a run used no energy that its sensors saw";
	}
	return NULL;
}

/* ---- Errors that all pairs share ---- */

/* Means over a command's runs. */
struct used {
	double all_j, duration_s;
	const struct wtl_statistics *domain_j;
	double gpu_j, idle_doubt_j, weight_doubt_j; /* of dynamic energy */
};

struct pair {
	const struct wtl_report *report; /* any of them, for the domains */
	const struct wattle_meter *meter;
	bool is_dynamic;
	struct used a, b;
};

static struct used used_of(const struct wtl_compare *compare, size_t command)
{
	const struct wtl_series *series = &compare->commands[command].series;
	struct used used = {
		.all_j = series->of[compare->figure].mean,
		.duration_s = series->of[WTL_RUN_DURATION_S].mean,
		.domain_j = series->domain_j,
	};
	const double n = 1e6 * (double)series->of[compare->figure].n;

	for (size_t i = 0; i < whole(series); i++) {
		const struct wtl_report_attribution *of = &series->reports[i].attribution;

		used.gpu_j += (double)of->command_gpu.dynamic_uj / n;
		used.idle_doubt_j += (double)of->command.idle_doubt_uj / n;
		used.weight_doubt_j += (double)of->command.weight_doubt_uj / n;
	}
	return used;
}

static double square(double x)
{
	return x * x;
}

static const struct wtl_channel *channel_of(const struct pair *pair, size_t domain)
{
	int primary = pair->meter->domains[domain].domain.primary;

	return counts(&pair->report->domains[domain]) && primary >= 0
		       ? &pair->meter->catalog.channels[primary]
		       : NULL;
}

/* The relative error of a domain's figure that varies from program to program,
 * and so is no property of the machine. AMD's RAPL is a model as well. */
static double spread_of(const struct pair *pair, size_t domain)
{
	const struct wtl_channel *channel = channel_of(pair, domain);
	uint32_t amd_ppm = wtl_rapl_dynamic_ppm(channel);

	if (pair->report->domains[domain].energy.method == WATTLE_METHOD_MODELLED)
		return MODEL_SPREAD;
	return (amd_ppm > 0 && !pair->is_dynamic ? channel->gain_ppm : amd_ppm) / 1e6;
}

/* A gain error that both share cancels, except as far as they use other domains. */
static double gain_left(const struct pair *pair, size_t domain)
{
	const struct used *a = &pair->a, *b = &pair->b;

	if (spread_of(pair, domain) > 0.0)
		return 0.0;
	return channel_of(pair, domain)->gain_ppm / 1e6 *
	       (b->domain_j[domain].mean / b->all_j - a->domain_j[domain].mean / a->all_j);
}

/* A zero error that both share is a smaller part of a higher power. */
static double zero_left(const struct pair *pair, size_t domain)
{
	return channel_of(pair, domain)->offset_uw / 1e6 *
	       (pair->b.duration_s / pair->b.all_j - pair->a.duration_s / pair->a.all_j);
}

/* Sensors of one kind and source err alike: (x + y)² is the sum of all products. All else is independent. */
static double machine_variance(const struct pair *pair)
{
	const struct wtl_report_domain *domains = pair->report->domains;
	double variance = 0.0;

	for (size_t i = 0; i < pair->report->n_domains; i++) {
		if (!channel_of(pair, i))
			continue;
		variance += square(spread_of(pair, i)) *
			    (square(pair->a.domain_j[i].mean / pair->a.all_j) +
			     square(pair->b.domain_j[i].mean / pair->b.all_j));
		for (size_t k = 0; k < pair->report->n_domains; k++)
			if (channel_of(pair, k) &&
			    domains[i].domain.kind == domains[k].domain.kind &&
			    domains[i].domain.source == domains[k].domain.source)
				variance += gain_left(pair, i) * gain_left(pair, k) +
					    zero_left(pair, i) * zero_left(pair, k);
	}
	return variance;
}

/* In dynamic energy the zero error cancels, and that of idle power takes its place. Half of the
 * weights' variance is the program's own; the other half is everybody else's, and the same in both. */
static double dynamic_variance(const struct pair *pair)
{
	const struct used *a = &pair->a, *b = &pair->b;
	double gpu_a = a->gpu_j / a->all_j, gpu_b = b->gpu_j / b->all_j;
	double weight_a = a->weight_doubt_j / a->all_j, weight_b = b->weight_doubt_j / b->all_j;
	double gain[2] = {0.0}, spread = 0.0; /* gain: the worst of processors, and of GPUs */

	for (size_t i = 0; i < pair->report->n_domains; i++) {
		const struct wtl_channel *channel = channel_of(pair, i);
		enum wattle_kind kind = pair->report->domains[i].domain.kind;

		if (!channel)
			continue;
		gain[kind == WATTLE_KIND_GPU] =
			fmax(gain[kind == WATTLE_KIND_GPU], channel->gain_ppm / 1e6);
		/* Modelled DRAM has no dynamic energy. */
		if (kind != WATTLE_KIND_DRAM)
			spread = fmax(spread, spread_of(pair, i));
	}
	return (square(gain[0]) + square(gain[1])) * square(gpu_b - gpu_a) +
	       square(b->idle_doubt_j / b->all_j - a->idle_doubt_j / a->all_j) +
	       (square(weight_a) + square(weight_b) + square(weight_b - weight_a)) / 2.0 +
	       square(spread) * (square(1.0 - gpu_a) + square(1.0 - gpu_b));
}

/* ---- Ratios ---- */

/* Pairs of runs: drift is nearly the same in neighbouring runs. */
static void find_ratio(const struct wtl_series *a, const struct wtl_series *b, size_t figure,
		       double of_all, struct wtl_ratio *ret_ratio)
{
	struct wtl_tally logs = {0};

	for (size_t i = 0; i < whole(a) && i < whole(b); i++)
		wtl_tally_add(&logs, log(wtl_run_figure(&b->reports[i], figure) /
					 wtl_run_figure(&a->reports[i], figure)));
	wtl_ratio_of(&logs, of_all, ret_ratio);
}

/* The mean power of a run is its energy over its time. */
static void find_power(const struct wtl_compare *compare, struct wtl_compared_command *command)
{
	struct wtl_tally powers = {0};

	for (size_t i = 0; i < whole(&command->series); i++) {
		const struct wtl_report *report = &command->series.reports[i];
		double power_w = compare->figure == WTL_RUN_ENERGY_J
					 ? wtl_run_figure(report, WTL_RUN_POWER_W)
					 : wtl_run_figure(report, compare->figure) /
						   wtl_run_figure(report, WTL_RUN_DURATION_S);

		if (isfinite(power_w))
			wtl_tally_add(&powers, power_w);
	}
	wtl_tally_statistics(&powers, &command->power_w);
}

static double log_sum(const struct wtl_compare *compare, size_t command, size_t n_pairs)
{
	double sum = 0.0;

	for (size_t i = 0; i < n_pairs; i++)
		sum += log(wtl_run_figure(&compare->commands[command].series.reports[i],
					  compare->figure));
	return sum;
}

/* By the mean of the logarithms, like the ratios: so none is below 1. As given if nothing can be compared. */
static void find_order(const struct wtl_compare *compare, size_t order[])
{
	size_t n_pairs = SIZE_MAX;

	for (size_t i = 0; i < compare->n; i++)
		n_pairs = whole(&compare->commands[i].series) < n_pairs
				  ? whole(&compare->commands[i].series)
				  : n_pairs;
	for (size_t i = 0; i < compare->n; i++) {
		size_t at = i;

		while (!compare->reason && at > 0 &&
		       log_sum(compare, i, n_pairs) < log_sum(compare, order[at - 1], n_pairs)) {
			order[at] = order[at - 1];
			at--;
		}
		order[at] = i;
	}
}

static void find_statistics(struct wtl_compared_command *command, struct wtl_statistics domain_j[])
{
	struct wtl_series *series = &command->series;
	const struct wtl_run_list runs = {report_at, series, series->n_reports};

	wtl_runs_figures(&runs, series->of);
	for (size_t i = 0; i < series->reports[0].n_domains; i++)
		wtl_runs_statistics(&runs, WTL_RUN_DOMAIN_J + i, &domain_j[i]);
	series->domain_j = domain_j;
	for (size_t i = 0; i < whole(series); i++)
		command->n_failed += series->reports[i].exit_status != 0;
}

void wtl_compare_find(struct wtl_compare *compare, struct wtl_compared_command commands[],
		      const struct wattle_meter *meter, enum wtl_compare_by by,
		      struct wtl_statistics domain_j[], size_t order[])
{
	struct pair pair = {.report = &commands[0].series.reports[0], .meter = meter};

	compare->commands = commands;
	compare->order = order;
	for (size_t i = 0; i < compare->n; i++)
		find_statistics(&commands[i], domain_j + i * pair.report->n_domains);
	compare->why = why_not_dynamic(compare, meter, by);
	if (by == WTL_COMPARE_DYNAMIC) {
		compare->reason = compare->why;
		compare->why = NULL;
	}
	compare->figure = compare->why ? WTL_RUN_ENERGY_J : WTL_RUN_COMMAND_DYNAMIC_J;
	compare->reason = compare->reason ? compare->reason : why_not(compare);
	find_order(compare, order);
	pair.is_dynamic = !compare->why;
	pair.a = used_of(compare, order[0]);
	for (size_t i = 0; i < compare->n; i++) {
		const struct wtl_series *best = &commands[order[0]].series;

		find_power(compare, &commands[i]);
		if (i == order[0] || compare->reason)
			continue;
		pair.b = used_of(compare, i);
		find_ratio(
			best, &commands[i].series, compare->figure,
			sqrt(pair.is_dynamic ? dynamic_variance(&pair) : machine_variance(&pair)),
			&commands[i].ratio);
	}
}
