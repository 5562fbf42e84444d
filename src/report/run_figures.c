/* SPDX-License-Identifier: MIT */
#include "report/run_figures.h"

#include <math.h>
#include <string.h>

#include "document/words.h"
#include "wattle.h"

double wtl_run_duration_s(const struct wtl_report *report, size_t i)
{
	(void)i;
	return (double)report->window.duration_ns / 1e9;
}

double wtl_run_energy_j(const struct wtl_report *report, size_t i)
{
	const struct wattle_energy *total = &report->window.total;

	(void)i;
	return total->has_energy ? (double)total->energy_uj / 1e6 : (double)NAN;
}

double wtl_run_power_w(const struct wtl_report *report, size_t i)
{
	const struct wattle_energy *total = &report->window.total;

	(void)i;
	return total->has_energy && total->has_power ? (double)total->mean_uw / 1e6 : (double)NAN;
}

double wtl_run_emitted_g(const struct wtl_report *report, size_t i)
{
	const struct wtl_report_carbon *carbon = &report->carbon;
	const struct wattle_energy *total = &report->window.total;

	(void)i;
	if (wtl_words_not_all_emitted(carbon, total))
		return (double)NAN;
	return (double)wtl_words_emitted_ng(carbon) / 1e9;
}

double wtl_run_domain_j(const struct wtl_report *report, size_t i)
{
	const struct wattle_energy *energy = &report->domains[i].energy;

	return energy->has_energy ? (double)energy->energy_uj / 1e6 : (double)NAN;
}

static bool has_command(const struct wtl_report *report)
{
	return report->attribution.is_known && report->attribution.has_command;
}

double wtl_run_command_full_j(const struct wtl_report *report, size_t i)
{
	(void)i;
	return has_command(report) ? (double)report->attribution.command.full_uj / 1e6
				   : (double)NAN;
}

double wtl_run_command_dynamic_j(const struct wtl_report *report, size_t i)
{
	(void)i;
	return has_command(report) && report->attribution.command.has_dynamic
		       ? (double)report->attribution.command.dynamic_uj / 1e6
		       : (double)NAN;
}

size_t wtl_runs_whole(const struct wtl_run_list *runs)
{
	size_t n = 0;

	for (size_t run = 0; run < runs->n; run++)
		n += !runs->at(runs->of, run)->interrupted;
	return n;
}

void wtl_runs_statistics(const struct wtl_run_list *runs, wtl_run_figure *figure, size_t i,
			 struct wtl_statistics *ret)
{
	struct wtl_tally tally = {0};

	for (size_t run = 0; run < runs->n; run++) {
		const struct wtl_report *report = runs->at(runs->of, run);
		double value = figure(report, i);

		if (!report->interrupted && isfinite(value))
			wtl_tally_add(&tally, value);
	}
	wtl_tally_statistics(&tally, ret);
}

void wtl_runs_statistics_of_all(const struct wtl_run_list *runs, wtl_run_figure *figure, size_t i,
				struct wtl_statistics *ret)
{
	wtl_runs_statistics(runs, figure, i, ret);
	if (ret->n < wtl_runs_whole(runs))
		memset(ret, 0, sizeof(*ret));
}
