/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "commands/plot/report.h"

/* A build without jansson. */

struct wtl_plot_reports *wtl_plot_reports_new(void)
{
	return malloc(1);
}

void wtl_plot_reports_free(struct wtl_plot_reports *reports)
{
	free(reports);
}

int wtl_plot_reports_add(struct wtl_plot_reports *reports, const char *name, const char *text,
			 size_t len, struct wtl_err *err)
{
	(void)reports;
	(void)text;
	(void)len;
	return wtl_err_set(err, ENOSYS, "plot", name,
			   "this wattle was built without JSON (libjansson)");
}

bool wtl_plot_reports_begin(const struct wtl_plot_reports *reports, int64_t *ret_utc_ns)
{
	(void)reports;
	(void)ret_utc_ns;
	return false;
}

int wtl_plot_reports_figure(const struct wtl_plot_reports *reports,
			    const struct wtl_plot_wanted *wanted, struct wtl_plot_sheet *sheet,
			    struct wtl_err *err)
{
	(void)reports;
	(void)wanted;
	(void)sheet;
	return wtl_err_set(err, ENOSYS, "plot", NULL,
			   "this wattle was built without JSON (libjansson)");
}
