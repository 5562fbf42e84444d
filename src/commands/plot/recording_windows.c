/* SPDX-License-Identifier: MIT */
/* The energy of windows, one bar each. */
#include <errno.h>

#include "commands/plot/recording.h"
#include "meter/meter.h"

enum { WINDOWS_MAX = 200 };

struct bars {
	struct wtl_plot_replay *replay;
	const char **names;
	bool *is_run;
	struct wtl_plot_point *totals;
	size_t n;
	struct wtl_plot_series *series; /* one per domain */
	struct wtl_plot_point **points; /* of the series */
	size_t *shown;			/* the domains' numbers */
	size_t n_series;
	bool is_cut;
};

static struct wtl_plot_point point_of(const struct wattle_energy *energy, size_t x)
{
	double y = (double)energy->energy_uj / 1e6, range = (double)energy->uncertainty_uj / 1e6;

	if (!energy->has_energy)
		return (struct wtl_plot_point){.x = (int64_t)x, .y = WTL_PLOT_UNKNOWN};
	return (struct wtl_plot_point){
		.x = (int64_t)x, .y = y, .low = y - range, .high = y + range};
}

static int choose_domains(struct bars *bars)
{
	struct wtl_plot_sheet *sheet = bars->replay->sheet;
	const struct wtl_history *history = bars->replay->history;
	int rc = wtl_plot_check_domains(bars->replay, false);

	for (size_t i = 0; rc == 0 && i < history->n_domains; i++) {
		struct wattle_domain domain;
		size_t k = bars->n_series;

		wtl_meter_domain(history->meter, i, &domain);
		if (!wtl_plot_is_wanted(bars->replay, &domain))
			continue;
		bars->points[k] =
			wtl_plot_sheet_array(sheet, WINDOWS_MAX, sizeof(*bars->points[k]));
		bars->series[k].points = bars->points[k];
		bars->series[k].name = wtl_plot_sheet_printf(sheet, "%s", domain.name);
		bars->shown[bars->n_series++] = i;
	}
	return rc < 0 ? rc : sheet->error;
}

static void add_bar(struct bars *bars, const struct wtl_history_window *window)
{
	size_t i = bars->n;

	bars->is_cut = i == WINDOWS_MAX;
	if (bars->is_cut)
		return;
	bars->names[i] = wtl_plot_sheet_printf(bars->replay->sheet, "%s", window->name);
	bars->is_run[i] = window->is_main;
	bars->totals[i] = point_of(&window->window.total, i);
	for (size_t k = 0; k < bars->n_series; k++)
		bars->points[k][i] = point_of(&window->energies[bars->shown[k]], i);
	bars->n++;
}

static int collect(struct bars *bars)
{
	struct wtl_played played;
	int rc;

	while ((rc = wtl_plot_go_on(bars->replay, &played)) > 0)
		if (played.kind == WTL_PLAYED_ENDED && bars->replay->history->window)
			add_bar(bars, bars->replay->history->window);
	return rc;
}

/* Repeated runs share one name: they are numbered, as in a picture of their reports. */
static void number_runs(struct bars *bars)
{
	const char *command = wtl_history_fact(bars->replay->history, "command");
	size_t all = 0, n = 0;

	for (size_t i = 0; i < bars->n; i++)
		all += bars->is_run[i];
	for (size_t i = 0; all > 1 && i < bars->n; i++)
		if (bars->is_run[i])
			bars->names[i] =
				wtl_plot_sheet_printf(bars->replay->sheet, "%zu: %s", ++n,
						      command[0] ? command : bars->names[i]);
}

static void make_panel(const struct bars *bars)
{
	struct wtl_plot_sheet *sheet = bars->replay->sheet;
	struct wtl_plot_panel *panel = wtl_plot_sheet_panels(sheet, 1);
	bool has_whole = !bars->replay->settings->wanted.n_domains;

	if (!panel)
		return;
	for (size_t k = 0; k < bars->n_series; k++) {
		bars->series[k].n = bars->n;
		bars->series[k].has_range = bars->n_series == 1;
	}
	*panel = (struct wtl_plot_panel){
		.marks = WTL_PLOT_BARS,
		.x = WTL_PLOT_X_CATEGORY,
		.label = "Energy",
		.unit = "J",
		.prefix = WTL_PLOT_SI,
		.series = bars->series,
		.n_series = bars->n_series,
		.categories = bars->names,
		.n_categories = bars->n,
		.totals = has_whole ? bars->totals : NULL,
	};
	/* Some domains alone make no whole. */
	if (has_whole || bars->n_series == 1)
		wtl_plot_sheet_note(
			sheet,
			"Whiskers: ± of the whole (k = 2), up to 50 %; more only in figures.");
	if (bars->is_cut)
		wtl_plot_sheet_note(sheet, "Only the first 200 windows are shown.");
}

int wtl_plot_recorded_windows(struct wtl_plot_replay *replay)
{
	struct wtl_plot_sheet *sheet = replay->sheet;
	size_t n = replay->history->n_domains + 1;
	struct bars bars = {
		.replay = replay,
		.names = wtl_plot_sheet_array(sheet, WINDOWS_MAX, sizeof(*bars.names)),
		.is_run = wtl_plot_sheet_array(sheet, WINDOWS_MAX, sizeof(*bars.is_run)),
		.totals = wtl_plot_sheet_array(sheet, WINDOWS_MAX, sizeof(*bars.totals)),
		.series = wtl_plot_sheet_array(sheet, n, sizeof(*bars.series)),
		.points = wtl_plot_sheet_array(sheet, n, sizeof(*bars.points)),
		.shown = wtl_plot_sheet_array(sheet, n, sizeof(*bars.shown)),
	};
	int rc = sheet->error;

	if (rc == 0)
		rc = choose_domains(&bars);
	if (rc == 0)
		rc = collect(&bars);
	if (rc == 0 && (bars.n == 0 || bars.n_series == 0))
		rc = -ENODATA;
	if (rc < 0)
		return rc;
	number_runs(&bars);
	make_panel(&bars);
	return 0;
}
