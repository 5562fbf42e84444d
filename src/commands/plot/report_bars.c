/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands/plot/report_parts.h"

/* Energies as bars: a row per domain, run or consumer. */

#define WHISKERS "Whiskers: ± (k = 2), up to 50 %; more only in figures."

/* Bars of n_series series, with n named rows: points[s][i] of series s. */
struct chart {
	struct wtl_plot_panel *panel;
	const char **names;
	struct wtl_plot_series *series;
	struct wtl_plot_point **points;
};

/* -ENOMEM */
static int begin_chart(struct wtl_plot_sheet *sheet, const char *label, size_t n, size_t n_series,
		       struct chart *chart)
{
	*chart = (struct chart){
		.panel = wtl_plot_sheet_panels(sheet, 1),
		.names = wtl_plot_sheet_array(sheet, n, sizeof(*chart->names)),
		.series = wtl_plot_sheet_array(sheet, n_series, sizeof(*chart->series)),
		.points = wtl_plot_sheet_array(sheet, n_series, sizeof(*chart->points)),
	};
	if (sheet->error)
		return sheet->error;
	for (size_t s = 0; s < n_series; s++) {
		chart->points[s] = wtl_plot_sheet_array(sheet, n, sizeof(**chart->points));
		chart->series[s] = (struct wtl_plot_series){.points = chart->points[s], .n = n};
	}
	*chart->panel = (struct wtl_plot_panel){.marks = WTL_PLOT_BARS,
						.x = WTL_PLOT_X_CATEGORY,
						.label = label,
						.unit = "J",
						.prefix = WTL_PLOT_SI,
						.series = chart->series,
						.n_series = n_series,
						.categories = chart->names,
						.n_categories = n};
	return sheet->error;
}

/* ---- Energies ---- */

static struct wtl_plot_point domain_point(const struct wtl_plot_chosen *chosen, size_t run,
					  size_t domain, size_t x)
{
	return wtl_plot_json_point(
		wtl_plot_json_domain(chosen->reports[run], chosen->domains[domain]), "energy_j",
		(int64_t)x);
}

/* A row per domain, each with whiskers. */
static int domains_of_one(const struct wtl_plot_chosen *chosen)
{
	struct chart chart;

	if (begin_chart(chosen->sheet, "Energy", chosen->n_domains, 1, &chart) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < chosen->n_domains; i++) {
		chart.names[i] = chosen->domains[i];
		chart.points[0][i] = domain_point(chosen, 0, i, i);
	}
	chart.series[0].has_range = true;
	wtl_plot_sheet_note(chosen->sheet, WHISKERS);
	return 0;
}

/* A row per run, with its domains end to end. */
static int runs_by_domain(const struct wtl_plot_chosen *chosen)
{
	struct wtl_plot_sheet *sheet = chosen->sheet;
	struct wtl_plot_point *totals = wtl_plot_sheet_array(sheet, chosen->n, sizeof(*totals));
	struct chart chart;

	if (begin_chart(sheet, "Energy", chosen->n, chosen->n_domains, &chart) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < chosen->n; i++) {
		chart.names[i] = wtl_plot_sheet_printf(
			sheet, "%zu: %s", i + 1, wtl_plot_json_command(sheet, chosen->reports[i]));
		totals[i] = wtl_plot_json_point(json_object_get(chosen->reports[i], "total"),
						"energy_j", (int64_t)i);
		for (size_t d = 0; d < chosen->n_domains; d++)
			chart.points[d][i] = domain_point(chosen, i, d, i);
	}
	for (size_t d = 0; d < chosen->n_domains; d++)
		chart.series[d].name = chosen->domains[d];
	/* The ± of some domains together is not known. */
	if (!chosen->wanted->n_domains) {
		chart.panel->totals = totals;
		wtl_plot_sheet_note(sheet, WHISKERS);
	}
	wtl_plot_report_files(chosen, false);
	return 0;
}

int wtl_plot_report_energies(const struct wtl_plot_chosen *chosen)
{
	if (chosen->n_domains == 0)
		return -ENODATA;
	if (chosen->n > 1) {
		wtl_plot_report_title(chosen, "Energy of ");
		return runs_by_domain(chosen);
	}
	wtl_plot_json_title(chosen->sheet, "Energy", chosen->reports[0]);
	return domains_of_one(chosen);
}

/* ---- Consumers ---- */

struct bar {
	const char *name;
	double energy_j, uncertainty_j;
};

static const char *name_of(struct wtl_plot_sheet *sheet, const json_t *process, enum wtl_plot_by by)
{
	static const char *const keys[] = {[WTL_PLOT_BY_USER] = "user",
					   [WTL_PLOT_BY_CONTAINER] = "container",
					   [WTL_PLOT_BY_UNIT] = "unit"};
	const char *text, *command = wtl_plot_json_text(process, "command");
	const json_t *pid = json_object_get(process, "pid");

	if (by != WTL_PLOT_BY_PROCESS) {
		text = wtl_plot_json_text(process, keys[by]);
		if (text && text[0])
			return wtl_plot_sheet_printf(sheet, "%s", text);
		return by == WTL_PLOT_BY_USER ? "not known"
					      : wtl_plot_sheet_printf(sheet, "in no %s", keys[by]);
	}
	text = command && command[0] ? command : wtl_plot_json_text(process, "name");
	if (!text || !text[0])
		text = "name not known";
	if (!json_is_integer(pid))
		return wtl_plot_sheet_printf(sheet, "%s", text);
	return wtl_plot_sheet_printf(sheet, "%s (%lld)", text, (long long)json_integer_value(pid));
}

/* A process is a bar of its own. In groups ± are added, as they come from the same sensors. */
static void add_bar(struct bar *bars, size_t *n, const struct bar *added, bool groups)
{
	if (!(added->energy_j > 0))
		return;
	for (size_t i = 0; groups && i < *n; i++)
		if (strcmp(bars[i].name, added->name) == 0) {
			bars[i].energy_j += added->energy_j;
			bars[i].uncertainty_j += added->uncertainty_j;
			return;
		}
	bars[(*n)++] = *added;
}

static int compare(const void *a, const void *b)
{
	const struct bar *left = a, *right = b;

	return (left->energy_j < right->energy_j) - (left->energy_j > right->energy_j);
}

/* Keeps the largest, and merges the rest. */
static size_t fold(struct bar *bars, size_t n, size_t top)
{
	struct bar rest = {.name = "others"};

	qsort(bars, n, sizeof(*bars), compare);
	if (n <= top + 1)
		return n;
	for (size_t i = top; i < n; i++) {
		rest.energy_j += bars[i].energy_j;
		rest.uncertainty_j += bars[i].uncertainty_j;
	}
	bars[top] = rest;
	return top + 1;
}

static int draw_bars(struct wtl_plot_sheet *sheet, const struct bar *bars, size_t n, bool dynamic)
{
	const char *label = dynamic ? "Energy above idle" : "Energy, its part of idle included";
	struct chart chart;

	if (begin_chart(sheet, label, n, 1, &chart) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		double y = bars[i].energy_j, half = bars[i].uncertainty_j;

		chart.names[i] = bars[i].name;
		chart.points[0][i] = (struct wtl_plot_point){
			.x = (int64_t)i, .y = y, .low = y - half, .high = y + half};
	}
	chart.series[0].has_range = true;
	wtl_plot_sheet_note(sheet, WHISKERS);
	return 0;
}

/* Has everybody with a known energy a part above idle, including those that the report does not list? */
static bool all_dynamic(const json_t *processes, const json_t *others)
{
	const json_t *process;
	size_t i;

	if (wtl_plot_json_number(others, "full_j") > 0 && !json_object_get(others, "dynamic_j"))
		return false;
	json_array_foreach(processes, i, process)
	{
		if (!json_object_get(process, "dynamic_j"))
			return false;
	}
	return true;
}

/* If there is a part above idle, the report's ± is that part's: the one of all energy is unknown. */
static double uncertainty_of(const json_t *share, bool dynamic)
{
	if (!dynamic && json_object_get(share, "dynamic_j"))
		return WTL_PLOT_UNKNOWN;
	return wtl_plot_json_number(share, "uncertainty_j");
}

int wtl_plot_report_consumers(const struct wtl_plot_chosen *chosen)
{
	const json_t *report = chosen->reports[0], *process;
	const json_t *processes = json_object_get(report, "processes");
	const json_t *others = json_object_get(report, "others");
	const bool dynamic = all_dynamic(processes, others);
	const char *key = dynamic ? "dynamic_j" : "full_j";
	const enum wtl_plot_by by = chosen->wanted->by;
	size_t n = 0, i;
	struct bar *bars =
		wtl_plot_sheet_array(chosen->sheet, json_array_size(processes) + 2, sizeof(*bars));

	if (!bars)
		return -ENOMEM;
	json_array_foreach(processes, i, process)
	{
		const struct bar bar = {.name = name_of(chosen->sheet, process, by),
					.energy_j = wtl_plot_json_number(process, key),
					.uncertainty_j = uncertainty_of(process, dynamic)};

		add_bar(bars, &n, &bar, by != WTL_PLOT_BY_PROCESS);
	}
	n = fold(bars, n, chosen->wanted->top);
	/* Those that the report does not list. */
	add_bar(bars, &n,
		&(struct bar){.name = "not listed in the report",
			      .energy_j = wtl_plot_json_number(others, key),
			      .uncertainty_j = uncertainty_of(others, dynamic)},
		false);
	if (n == 0)
		return -ENODATA;
	wtl_plot_json_title(chosen->sheet, "Who used the energy", report);
	return draw_bars(chosen->sheet, bars, n, dynamic);
}
