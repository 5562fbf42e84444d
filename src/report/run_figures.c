/* SPDX-License-Identifier: MIT */
#include "report/run_figures.h"

#include <math.h>
#include <string.h>

#include "document/words.h"
#include "wattle.h"

static double known(bool is_known, uint64_t millionths)
{
	return is_known ? (double)millionths / 1e6 : (double)NAN;
}

double wtl_run_figure(const struct wtl_report *report, size_t figure)
{
	const struct wattle_energy *total = &report->window.total, *energy;
	const struct wtl_report_attribution *attribution = &report->attribution;
	const struct wtl_share_energy *command = &attribution->command;
	bool has_command = attribution->is_known && attribution->has_command;

	switch (figure) {
	case WTL_RUN_DURATION_S:
		return (double)report->window.duration_ns / 1e9;
	case WTL_RUN_ENERGY_J:
		return known(total->has_energy, total->energy_uj);
	case WTL_RUN_POWER_W:
		return known(total->has_energy && total->has_power, total->mean_uw);
	case WTL_RUN_COMMAND_DYNAMIC_J:
		return known(has_command && command->has_dynamic, command->dynamic_uj);
	case WTL_RUN_COMMAND_FULL_J:
		return known(has_command, command->full_uj);
	case WTL_RUN_EMITTED_G:
		return wtl_words_not_all_emitted(&report->carbon, total)
			       ? (double)NAN
			       : (double)wtl_words_emitted_ng(&report->carbon) / 1e9;
	default:
		energy = &report->domains[figure - WTL_RUN_DOMAIN_J].energy;
		return known(energy->has_energy, energy->energy_uj);
	}
}

size_t wtl_runs_whole(const struct wtl_run_list *runs)
{
	size_t n = 0;

	for (size_t run = 0; run < runs->n; run++)
		n += !runs->at(runs->of, run)->interrupted;
	return n;
}

void wtl_runs_statistics(const struct wtl_run_list *runs, size_t figure, struct wtl_statistics *ret)
{
	struct wtl_tally tally = {0};

	for (size_t run = 0; run < runs->n; run++) {
		const struct wtl_report *report = runs->at(runs->of, run);
		double value = wtl_run_figure(report, figure);

		if (!report->interrupted && isfinite(value))
			wtl_tally_add(&tally, value);
	}
	wtl_tally_statistics(&tally, ret);
}

void wtl_runs_statistics_of_all(const struct wtl_run_list *runs, size_t figure,
				struct wtl_statistics *ret)
{
	wtl_runs_statistics(runs, figure, ret);
	if (ret->n < wtl_runs_whole(runs))
		memset(ret, 0, sizeof(*ret));
}

void wtl_runs_figures(const struct wtl_run_list *runs, struct wtl_statistics ret[WTL_RUN_FIGURES])
{
	for (size_t i = 0; i < WTL_RUN_FIGURES; i++)
		if (i == WTL_RUN_COMMAND_DYNAMIC_J || i == WTL_RUN_COMMAND_FULL_J)
			wtl_runs_statistics_of_all(runs, i, &ret[i]);
		else
			wtl_runs_statistics(runs, i, &ret[i]);
}
