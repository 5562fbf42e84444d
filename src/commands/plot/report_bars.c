/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands/plot/report_parts.h"

/* Energies as bars: a row a domain, a run or a consumer. */

static struct wtl_plot_panel *make_panel(struct wtl_plot_sheet *sheet, const char *label,
					 const char *const *categories, size_t n)
{
	struct wtl_plot_panel *panel = wtl_plot_sheet_array(sheet, 1, sizeof(*panel));

	const char **notes = wtl_plot_sheet_array(sheet, 1, sizeof(*notes));

	if (!panel || !notes)
		return NULL;
	notes[0] = "Whiskers: ± (k = 2).";
	*panel = (struct wtl_plot_panel){.marks = WTL_PLOT_BARS,
					 .x = WTL_PLOT_X_CATEGORY,
					 .label = label,
					 .unit = "J",
					 .prefix = WTL_PLOT_SI,
					 .categories = categories,
					 .n_categories = n};
	sheet->figure.panels = panel;
	sheet->figure.n_panels = 1;
	sheet->figure.notes = notes;
	sheet->figure.n_notes = 1;
	return panel;
}

/* One series of bars with whiskers of their own. */
static int one_series(struct wtl_plot_sheet *sheet, struct wtl_plot_panel *panel,
		      const struct wtl_plot_point *points, size_t n)
{
	struct wtl_plot_series *series = wtl_plot_sheet_array(sheet, 1, sizeof(*series));

	if (!series)
		return -ENOMEM;
	*series = (struct wtl_plot_series){.points = points, .n = n, .has_range = true};
	panel->series = series;
	panel->n_series = 1;
	return 0;
}

/* ---- Domains of one run ---- */

static int domains_of_one(const struct wtl_plot_chosen *chosen)
{
	struct wtl_plot_sheet *sheet = chosen->sheet;
	struct wtl_plot_point *points =
		wtl_plot_sheet_array(sheet, chosen->n_domains, sizeof(*points));
	const char **names = wtl_plot_sheet_array(sheet, chosen->n_domains, sizeof(*names));
	struct wtl_plot_panel *panel = make_panel(sheet, "Energy", names, chosen->n_domains);

	if (!points || !names || !panel)
		return -ENOMEM;
	for (size_t i = 0; i < chosen->n_domains; i++) {
		names[i] = chosen->domains[i];
		points[i] = wtl_plot_json_point(wtl_plot_json_domain(chosen->reports[0], names[i]),
						"energy_j", (int64_t)i);
	}
	return one_series(sheet, panel, points, chosen->n_domains);
}

/* ---- Runs, their domains end to end ---- */

static int add_domains(const struct wtl_plot_chosen *chosen, struct wtl_plot_panel *panel)
{
	struct wtl_plot_series *series =
		wtl_plot_sheet_array(chosen->sheet, chosen->n_domains, sizeof(*series));

	if (!series)
		return -ENOMEM;
	for (size_t d = 0; d < chosen->n_domains; d++) {
		struct wtl_plot_point *points =
			wtl_plot_sheet_array(chosen->sheet, chosen->n, sizeof(*points));

		if (!points)
			return -ENOMEM;
		for (size_t i = 0; i < chosen->n; i++)
			points[i] = wtl_plot_json_point(
				wtl_plot_json_domain(chosen->reports[i], chosen->domains[d]),
				"energy_j", (int64_t)i);
		series[d] = (struct wtl_plot_series){
			.name = chosen->domains[d], .points = points, .n = chosen->n};
	}
	panel->series = series;
	panel->n_series = chosen->n_domains;
	return 0;
}

static int runs_by_domain(const struct wtl_plot_chosen *chosen)
{
	struct wtl_plot_sheet *sheet = chosen->sheet;
	struct wtl_plot_point *totals = wtl_plot_sheet_array(sheet, chosen->n, sizeof(*totals));
	const char **names = wtl_plot_sheet_array(sheet, chosen->n, sizeof(*names));
	struct wtl_plot_panel *panel = make_panel(sheet, "Energy", names, chosen->n);

	if (!totals || !names || !panel)
		return -ENOMEM;
	for (size_t i = 0; i < chosen->n; i++) {
		const char *command = wtl_plot_json_command(sheet, chosen->reports[i]);

		names[i] = command ? wtl_plot_sheet_printf(sheet, "%zu: %s", i + 1, command) : NULL;
		if (!names[i])
			return -ENOMEM;
		totals[i] = wtl_plot_json_point(json_object_get(chosen->reports[i], "total"),
						"energy_j", (int64_t)i);
	}
	/* Of some domains, nobody knows the ± together. */
	if (!chosen->wanted->n_domains)
		panel->totals = totals;
	else
		sheet->figure.n_notes = 0;
	return add_domains(chosen, panel);
}

int wtl_plot_report_energies(const struct wtl_plot_chosen *chosen)
{
	if (chosen->n_domains == 0)
		return -ENODATA;
	chosen->sheet->figure.title =
		chosen->n > 1
			? wtl_plot_sheet_printf(chosen->sheet, "Energy of %zu runs", chosen->n)
			: wtl_plot_json_title(chosen->sheet, "Energy", chosen->reports[0]);
	if (!chosen->sheet->figure.title)
		return -ENOMEM;
	if (chosen->n == 1)
		return domains_of_one(chosen);
	return runs_by_domain(chosen) < 0 ? -ENOMEM : wtl_plot_report_files(chosen, false);
}

/* ---- Who used it ---- */

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

/* A process is a bar of its own; of a group, ± are added: they have the sensors' in common. */
static int add_bar(struct bar *bars, size_t *n, const struct bar *added, bool groups)
{
	if (!added->name)
		return -ENOMEM;
	if (!(added->energy_j > 0))
		return 0;
	for (size_t i = 0; groups && i < *n; i++)
		if (strcmp(bars[i].name, added->name) == 0) {
			bars[i].energy_j += added->energy_j;
			bars[i].uncertainty_j += added->uncertainty_j;
			return 0;
		}
	bars[(*n)++] = *added;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct bar *left = a, *right = b;

	return (left->energy_j < right->energy_j) - (left->energy_j > right->energy_j);
}

/* The largest on their own, the rest in one. */
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
	struct wtl_plot_point *points = wtl_plot_sheet_array(sheet, n, sizeof(*points));
	const char **names = wtl_plot_sheet_array(sheet, n, sizeof(*names));
	struct wtl_plot_panel *panel = make_panel(
		sheet, dynamic ? "Energy above idle" : "Energy, its part of idle included", names,
		n);

	if (!points || !names || !panel)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		names[i] = bars[i].name;
		points[i] =
			(struct wtl_plot_point){.x = (int64_t)i,
						.y = bars[i].energy_j,
						.low = bars[i].energy_j - bars[i].uncertainty_j,
						.high = bars[i].energy_j + bars[i].uncertainty_j};
	}
	return one_series(sheet, panel, points, n);
}

/* Has everybody whose energy is known a part above idle, also those that are not named? */
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

/* The ± in a report is that of the part above idle, where there is one: it says nothing of all. */
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
	int rc = bars ? 0 : -ENOMEM;

	json_array_foreach(processes, i, process)
	{
		const struct bar bar = {.name = name_of(chosen->sheet, process, by),
					.energy_j = wtl_plot_json_number(process, key),
					.uncertainty_j = uncertainty_of(process, dynamic)};

		if (rc == 0)
			rc = add_bar(bars, &n, &bar, by != WTL_PLOT_BY_PROCESS);
	}
	if (rc < 0)
		return rc;
	n = fold(bars, n, chosen->wanted->top);
	/* Those that the report does not name. */
	add_bar(bars, &n,
		&(struct bar){.name = "not listed in the report",
			      .energy_j = wtl_plot_json_number(others, key),
			      .uncertainty_j = uncertainty_of(others, dynamic)},
		false);
	if (n == 0)
		return -ENODATA;
	chosen->sheet->figure.title =
		wtl_plot_json_title(chosen->sheet, "Who used the energy", report);
	return chosen->sheet->figure.title ? draw_bars(chosen->sheet, bars, n, dynamic) : -ENOMEM;
}
