/* SPDX-License-Identifier: MIT */
#ifndef WTL_REPORT_RUN_FIGURES_H
#define WTL_REPORT_RUN_FIGURES_H

#include <stddef.h>

#include "energy/statistics.h"
#include "document/report.h"

/* What is told of repeated runs together, live or from recordings. */

/* One figure of a run, in the unit that its name ends with; i: the domain, where it is one's. NAN: it
 * is not known. */
typedef double wtl_run_figure(const struct wtl_report *report, size_t i);

wtl_run_figure wtl_run_duration_s, wtl_run_energy_j, wtl_run_power_w, wtl_run_emitted_g,
	wtl_run_domain_j, wtl_run_command_full_j, wtl_run_command_dynamic_j;

struct wtl_run_list {
	const struct wtl_report *(*at)(const void *of, size_t run);
	const void *of;
	size_t n;
};

/* Runs that count: one that was interrupted says nothing of what a run takes. */
size_t wtl_runs_whole(const struct wtl_run_list *runs);

/* Of the runs that count and have the figure. */
void wtl_runs_statistics(const struct wtl_run_list *runs, wtl_run_figure *figure, size_t i,
			 struct wtl_statistics *ret);

/* The same, but of none (n = 0) unless every run that counts has it. */
void wtl_runs_statistics_of_all(const struct wtl_run_list *runs, wtl_run_figure *figure, size_t i,
				struct wtl_statistics *ret);

#endif
