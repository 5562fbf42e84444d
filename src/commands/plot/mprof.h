/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PLOT_MPROF_H
#define WTL_COMMANDS_PLOT_MPROF_H

#include <stdbool.h>
#include <stddef.h>

#include "commands/plot/plot.h"

/* Memory over time, as written by memory-profiler's `mprof run` and `wattle profile -o FILE.dat`. */

struct wtl_err;

/* By the file's first bytes. */
bool wtl_plot_is_mprof(const char *path);

/* Makes a figure of such a file, which lives as long as the sheet, by `wanted`: its times, and its top (0: all).
 * Changes the text. 0; -WTL_EFORMAT with the line; -ENODATA: there is nothing to plot; -ENOMEM. */
int wtl_plot_mprof_figure(char *text, const struct wtl_plot_wanted *wanted,
			  struct wtl_plot_sheet *sheet, struct wtl_err *err);

/* As wtl_plot_load(), for one such file. */
int wtl_plot_mprof(struct wtl_app *app, const char *path, const struct wtl_plot_settings *settings,
		   struct wtl_plot_sheet *sheet);

#endif
