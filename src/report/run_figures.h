/* SPDX-License-Identifier: MIT */
#ifndef WTL_REPORT_RUN_FIGURES_H
#define WTL_REPORT_RUN_FIGURES_H

#include <stddef.h>

#include "energy/statistics.h"
#include "document/report.h"

/* Statistics of repeated runs, live or from recordings. */

/* An enum wtl_run_figure of a run. NAN: it is not known. */
double wtl_run_figure(const struct wtl_report *report, size_t figure);

struct wtl_run_list {
	const struct wtl_report *(*at)(const void *of, size_t run);
	const void *of;
	size_t n;
};

/* Runs that count: an interrupted one says nothing about how much a run takes. */
size_t wtl_runs_whole(const struct wtl_run_list *runs);

/* Of the runs that count and have the figure. */
void wtl_runs_statistics(const struct wtl_run_list *runs, size_t figure,
			 struct wtl_statistics *ret);

/* The same, but n = 0 unless every run that counts has the figure. */
void wtl_runs_statistics_of_all(const struct wtl_run_list *runs, size_t figure,
				struct wtl_statistics *ret);

/* Of every figure except domains'; the command's by wtl_runs_statistics_of_all(). */
void wtl_runs_figures(const struct wtl_run_list *runs, struct wtl_statistics ret[WTL_RUN_FIGURES]);

#endif
