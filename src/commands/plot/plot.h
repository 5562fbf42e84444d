/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PLOT_PLOT_H
#define WTL_COMMANDS_PLOT_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/option.h"
#include "commands/top/settings.h"
#include "draw/plot.h"

struct wtl_app;

/* What the options of `wattle plot` say. */
struct wtl_plot_settings {
	struct wtl_plot_wanted wanted; /* but for its time */
	struct wtl_when from, to;
	struct wtl_option_list domains;
	struct wtl_option_list words; /* files; with --live, domains */
	enum wtl_plot_format format;
	unsigned width, height, scale; /* 0: not given */
	bool live;
	struct wtl_top_settings screen; /* with --live */
};

/*
 * Makes a figure of the files that the words name: recordings, or reports of `wattle run --format json`.
 * The sheet, which was init-ed, holds all that the figure needs. 0, or the exit code after a complaint.
 */
int wtl_plot_load(struct wtl_app *app, const struct wtl_plot_settings *settings,
		  struct wtl_plot_sheet *sheet);

/* Is it one of the domains that --domain names? */
bool wtl_plot_is_asked_for(const struct wtl_plot_wanted *wanted, const char *domain);

/* A recording, by the first bytes of the file. */
bool wtl_plot_is_recording(const char *path);

/* --from and --to, where they are given, of what began then, in nanoseconds since. 0, or negative after a
 * complaint. */
int wtl_plot_since(struct wtl_app *app, const struct wtl_plot_settings *settings,
		   int64_t begin_utc_ns, int64_t *ret_from_ns, int64_t *ret_to_ns);

/* The power of the chosen domains (none: the total), live in the terminal. Returns the exit code. */
int wtl_plot_live(struct wtl_app *app, const struct wtl_plot_settings *settings);

#endif
