/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PLOT_REPORT_H
#define WTL_COMMANDS_PLOT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "draw/plot.h"

struct wtl_err;

/* Plots of the output of `wattle run --format json`: reports and series of them, one or many in a file. */

enum { WTL_PLOT_REPORTS_MAX = 10000 };

struct wtl_plot_reports;

/* NULL: out of memory. */
struct wtl_plot_reports *wtl_plot_reports_new(void);
void wtl_plot_reports_free(struct wtl_plot_reports *reports); /* NULL is fine */

/* Adds a file's reports; its name is for errors. 0; -WTL_EFORMAT: not such a file (nothing is added);
 * -EFBIG; -ENOMEM; -ENOSYS in builds without jansson. */
int wtl_plot_reports_add(struct wtl_plot_reports *reports, const char *name, const char *text,
			 size_t len, struct wtl_err *err);

/* The start of the first one. false: not known. */
bool wtl_plot_reports_begin(const struct wtl_plot_reports *reports, int64_t *ret_utc_ns);

/* Makes a figure of them, which lives as long as the sheet. 0; -EINVAL: they lack what is wanted, and err says
 * what they have; -ENODATA: there is nothing to plot; -ENOMEM. */
int wtl_plot_reports_figure(const struct wtl_plot_reports *reports,
			    const struct wtl_plot_wanted *wanted, struct wtl_plot_sheet *sheet,
			    struct wtl_err *err);

#endif
