/* SPDX-License-Identifier: MIT */
/* The energy of windows, a bar each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands/plot/recording.h"
#include "meter/meter.h"

enum { WINDOWS_MAX = 200 };

/* What there is to be drawn of a window. */
struct bar {
	const char *name;
	bool is_run;
	struct wattle_energy total;
	struct wattle_energy *energies;
};

struct bars {
	struct wtl_plot_replay *replay;
	struct wattle_meter *meter;
	struct bar *list;
	size_t n, n_domains;
	size_t *shown; /* domains that count */
	size_t n_shown;
	bool is_cut;
};

static int add_bar(struct bars *bars, const struct wtl_history_window *window)
{
	struct wtl_plot_sheet *sheet = bars->replay->sheet;
	struct bar *bar;

	if (bars->n == WINDOWS_MAX) {
		bars->is_cut = true;
		return 0;
	}
	bar = &bars->list[bars->n++];
	bar->name = wtl_plot_sheet_printf(sheet, "%s", window->name);
	bar->is_run = window->is_main;
	bar->total = window->window.total;
	bar->energies = wtl_plot_sheet_array(sheet, bars->n_domains + 1, sizeof(*bar->energies));
	if (!bar->name || !bar->energies)
		return -ENOMEM;
	memcpy(bar->energies, window->energies, bars->n_domains * sizeof(*bar->energies));
	return 0;
}

static int collect(struct bars *bars)
{
	struct wtl_played played;
	int rc;

	while ((rc = wtl_plot_go_on(bars->replay, &played)) > 0) {
		if (played.kind != WTL_PLAYED_ENDED || !bars->replay->history->window)
			continue;
		rc = add_bar(bars, bars->replay->history->window);
		if (rc < 0)
			return rc;
	}
	return rc;
}

/* Runs that were repeated have one name, and are told apart as in a picture of their reports. */
static int number_runs(struct bars *bars)
{
	const char *command = wtl_history_fact(bars->replay->history, "command");
	size_t n = 0;

	for (size_t i = 0; i < bars->n; i++)
		n += bars->list[i].is_run;
	if (n < 2)
		return 0;
	n = 0;
	for (size_t i = 0; i < bars->n; i++) {
		struct bar *bar = &bars->list[i];

		if (bar->is_run)
			bar->name = wtl_plot_sheet_printf(bars->replay->sheet, "%zu: %s", ++n,
							  command[0] ? command : bar->name);
		if (!bar->name)
			return -ENOMEM;
	}
	return 0;
}

static int choose_domains(struct bars *bars)
{
	int rc = wtl_plot_check_domains(bars->replay, false);

	for (size_t i = 0; rc == 0 && i < bars->n_domains; i++) {
		struct wattle_domain domain;

		wtl_meter_domain(bars->meter, i, &domain);
		if (wtl_plot_is_wanted(bars->replay, &domain))
			bars->shown[bars->n_shown++] = i;
	}
	return rc;
}

static struct wtl_plot_point point_of(const struct wattle_energy *energy, size_t x)
{
	double y = (double)energy->energy_uj / 1e6, range = (double)energy->uncertainty_uj / 1e6;

	if (!energy->has_energy)
		return (struct wtl_plot_point){.x = (int64_t)x, .y = WTL_PLOT_UNKNOWN};
	return (struct wtl_plot_point){
		.x = (int64_t)x, .y = y, .low = y - range, .high = y + range};
}

static int add_series(struct bars *bars, struct wtl_plot_series *series, size_t domain)
{
	struct wtl_plot_point *points =
		wtl_plot_sheet_array(bars->replay->sheet, bars->n, sizeof(*points));
	struct wattle_domain info;

	wtl_meter_domain(bars->meter, domain, &info);
	series->name = wtl_plot_sheet_printf(bars->replay->sheet, "%s", info.name);
	if (!points || !series->name)
		return -ENOMEM;
	for (size_t i = 0; i < bars->n; i++)
		points[i] = point_of(&bars->list[i].energies[domain], i);
	series->points = points;
	series->n = bars->n;
	series->has_range = bars->n_shown == 1;
	return 0;
}

static int make_panel(struct bars *bars)
{
	static const char *const notes[] = {"Whiskers: ± of the whole (k = 2).",
					    "Only the first 200 windows are shown."};
	struct wtl_plot_sheet *sheet = bars->replay->sheet;
	struct wtl_plot_panel *panel = wtl_plot_sheet_array(sheet, 1, sizeof(*panel));
	struct wtl_plot_series *series =
		wtl_plot_sheet_array(sheet, bars->n_shown + 1, sizeof(*series));
	const char **names = wtl_plot_sheet_array(sheet, bars->n, sizeof(*names));
	struct wtl_plot_point *totals = wtl_plot_sheet_array(sheet, bars->n, sizeof(*totals));
	int rc = panel && series && names && totals ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < bars->n_shown; i++)
		rc = add_series(bars, &series[i], bars->shown[i]);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < bars->n; i++) {
		names[i] = bars->list[i].name;
		totals[i] = point_of(&bars->list[i].total, i);
	}
	*panel = (struct wtl_plot_panel){
		.marks = WTL_PLOT_BARS,
		.x = WTL_PLOT_X_CATEGORY,
		.label = "Energy",
		.unit = "J",
		.prefix = WTL_PLOT_SI,
		.series = series,
		.n_series = bars->n_shown,
		.categories = names,
		.n_categories = bars->n,
		.totals = bars->replay->settings->wanted.n_domains ? NULL : totals,
	};
	sheet->figure.panels = panel;
	sheet->figure.n_panels = 1;
	sheet->figure.notes = notes;
	sheet->figure.n_notes = bars->is_cut ? 2 : 1;
	/* Of some domains without the others there is no whole. */
	if (!panel->totals && bars->n_shown > 1) {
		sheet->figure.notes++;
		sheet->figure.n_notes--;
	}
	return 0;
}

int wtl_plot_recorded_windows(struct wtl_plot_replay *replay)
{
	struct bars bars = {.replay = replay, .meter = replay->history->meter};
	int rc;

	bars.n_domains = wattle_meter_domains(bars.meter);
	bars.list = wtl_plot_sheet_array(replay->sheet, WINDOWS_MAX, sizeof(*bars.list));
	bars.shown = wtl_plot_sheet_array(replay->sheet, bars.n_domains + 1, sizeof(*bars.shown));
	if (!bars.list || !bars.shown)
		return -ENOMEM;
	rc = choose_domains(&bars);
	if (rc == 0)
		rc = collect(&bars);
	if (rc == 0)
		rc = number_runs(&bars);
	if (rc == 0 && (bars.n == 0 || bars.n_shown == 0))
		rc = -ENODATA;
	return rc < 0 ? rc : make_panel(&bars);
}
