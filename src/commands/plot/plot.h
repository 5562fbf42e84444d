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

/* The options of `wattle plot`. */
struct wtl_plot_settings {
	struct wtl_plot_wanted wanted; /* except its times */
	struct wtl_when from, to;
	struct wtl_option_list domains;
	struct wtl_option_list words; /* files; domains with --live */
	enum wtl_plot_format format;
	unsigned width, height, scale; /* 0: not given */
	bool live;
	struct wtl_top_settings screen; /* for --live */
};

/*
 * Makes a figure of the files named by the words: recordings, or reports of `wattle run --format json`. The
 * sheet, which must be initialized, owns what the figure needs. 0, or the exit code after a complaint.
 */
int wtl_plot_load(struct wtl_app *app, const struct wtl_plot_settings *settings,
		  struct wtl_plot_sheet *sheet);

/* Does --domain name it? */
bool wtl_plot_is_asked_for(const struct wtl_plot_wanted *wanted, const char *domain);

/* By the file's first bytes. */
bool wtl_plot_is_recording(const char *path);

/* --from and --to, if given, in nanoseconds since begin_utc_ns. 0, or negative after a complaint. */
int wtl_plot_since(struct wtl_app *app, const struct wtl_plot_settings *settings,
		   int64_t begin_utc_ns, int64_t *ret_from_ns, int64_t *ret_to_ns);

/* Draws the power of the chosen domains (none: the total) live in the terminal. Returns the exit code. */
int wtl_plot_live(struct wtl_app *app, const struct wtl_plot_settings *settings);

#endif
