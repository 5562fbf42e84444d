/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "energy/statistics.h"
#include "commands/plot/report_parts.h"

/* Repeated runs as a series: a panel a quantity, a point a run, the mean with its 95 % interval. */

enum { FILES_MAX = 8 };

enum quantity { ENERGY, COMMAND, DURATION, MEAN_POWER, QUANTITIES };

static struct wtl_plot_point command_point(const json_t *report, int64_t run)
{
	const json_t *command = json_object_get(report, "command_energy");

	if (json_object_get(command, "dynamic_j"))
		return wtl_plot_json_point(command, "dynamic_j", run);
	return (struct wtl_plot_point){.x = run, .y = WTL_PLOT_UNKNOWN};
}

static struct wtl_plot_point point_of(const json_t *report, enum quantity quantity,
				      const char *domain, int64_t run)
{
	const json_t *total =
		domain ? wtl_plot_json_domain(report, domain) : json_object_get(report, "total");
	double y, half;

	if (quantity == ENERGY)
		return wtl_plot_json_point(total, "energy_j", run);
	if (quantity == COMMAND)
		return command_point(report, run);
	if (quantity == DURATION) {
		y = wtl_plot_json_number(report, "duration_s");
		return (struct wtl_plot_point){.x = run, .y = y, .low = y, .high = y};
	}
	/* The time is known so much better that the energy's ± is the power's. */
	y = wtl_plot_json_number(total, "mean_w");
	half = y * wtl_plot_json_number(total, "uncertainty_j") /
	       wtl_plot_json_number(total, "energy_j");
	return (struct wtl_plot_point){.x = run, .y = y, .low = y - half, .high = y + half};
}

/* Of those that were not cut short, as in the report's statistics. */
static void find_mean(const struct wtl_plot_chosen *chosen, struct wtl_plot_series *series)
{
	double *values = wtl_plot_sheet_array(chosen->sheet, series->n, sizeof(*values));
	struct wtl_statistics statistics;
	size_t n = 0;

	for (size_t i = 0; values && i < series->n; i++)
		if (isfinite(series->points[i].y) &&
		    !json_is_true(json_object_get(chosen->reports[i], "interrupted")))
			values[n++] = series->points[i].y;
	if (n < 2)
		return;
	wtl_statistics_of(values, n, &statistics);
	series->level = (struct wtl_plot_level){.is_known = true,
						.name = "mean",
						.y = statistics.mean,
						.low = statistics.mean - statistics.ci95,
						.high = statistics.mean + statistics.ci95};
}

/* A panel, unless the quantity is not known of any run. 1: it is there. */
static int add_panel(const struct wtl_plot_chosen *chosen, enum quantity quantity,
		     const char *domain, struct wtl_plot_panel *panel)
{
	static const struct {
		const char *title, *label, *unit, *name;
		bool has_range;
	} words[QUANTITIES] = {
		[ENERGY] = {"Energy of the machine", "Energy", "J", "a run", true},
		[COMMAND] = {"Energy of the command, above idle", "Energy", "J", "a run", true},
		[DURATION] = {"Duration", "Duration", "s", "a run", false},
		[MEAN_POWER] = {"Mean power of the machine", "Power", "W", "a run", true},
	};
	struct wtl_plot_point *points =
		wtl_plot_sheet_array(chosen->sheet, chosen->n, sizeof(*points));
	struct wtl_plot_series *series = wtl_plot_sheet_array(chosen->sheet, 1, sizeof(*series));
	bool any = false;

	if (!points || !series)
		return -ENOMEM;
	for (size_t i = 0; i < chosen->n; i++) {
		points[i] = point_of(chosen->reports[i], quantity, domain, (int64_t)i + 1);
		any |= isfinite(points[i].y);
	}
	*series = (struct wtl_plot_series){.name = words[quantity].name,
					   .points = points,
					   .n = chosen->n,
					   .has_range = words[quantity].has_range};
	find_mean(chosen, series);
	*panel = (struct wtl_plot_panel){.title = words[quantity].title,
					 .marks = WTL_PLOT_POINTS,
					 .x = WTL_PLOT_X_NUMBER,
					 .x_label = "Run",
					 .label = words[quantity].label,
					 .unit = words[quantity].unit,
					 .prefix = WTL_PLOT_SI,
					 .without_zero = true,
					 .series = series,
					 .n_series = 1};
	if (domain)
		panel->title =
			wtl_plot_sheet_printf(chosen->sheet, "%s of %s",
					      quantity == ENERGY ? "Energy" : "Mean power", domain);
	return any;
}

static const char *title_of(const struct wtl_plot_chosen *chosen)
{
	const char *first = wtl_plot_json_command(chosen->sheet, chosen->reports[0]);
	bool same = true;

	for (size_t i = 1; same && i < chosen->n; i++)
		same = json_equal(json_object_get(chosen->reports[0], "command"),
				  json_object_get(chosen->reports[i], "command"));
	return wtl_plot_sheet_printf(chosen->sheet, "%zu %s%s%s", chosen->n,
				     chosen->n == 1 ? "run" : "runs", same ? " of: " : "",
				     same ? first : "");
}

/* ---- Of which file ---- */

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Is all that would be said of both the same? */
static bool is_like(const json_t *a, const json_t *b, bool with_command)
{
	return is_same_text(wtl_plot_json_text(a, WTL_PLOT_JSON_FILE),
			    wtl_plot_json_text(b, WTL_PLOT_JSON_FILE)) &&
	       (!with_command ||
		json_equal(json_object_get(a, "command"), json_object_get(b, "command")));
}

/* "Runs 1 to 10: a.wattle, make -j8": first to last. */
static const char *file_note(const struct wtl_plot_chosen *chosen, size_t first, size_t last,
			     bool with_command)
{
	const json_t *report = chosen->reports[first];
	const char *file = wtl_plot_json_text(report, WTL_PLOT_JSON_FILE);
	const char *slash = file ? strrchr(file, '/') : NULL;
	char to[32] = "";

	if (last > first)
		snprintf(to, sizeof(to), " to %zu", last + 1);
	return wtl_plot_sheet_printf(
		chosen->sheet, "Run%s %zu%s: %s%s%s", last > first ? "s" : "", first + 1, to,
		slash ? slash + 1 : (file ? file : "?"), with_command ? ", " : "",
		with_command ? wtl_plot_json_command(chosen->sheet, report) : "");
}

void wtl_plot_report_files(const struct wtl_plot_chosen *chosen, bool with_commands)
{
	json_t *const *reports = chosen->reports;
	bool is_one = true, is_one_command = true;
	size_t first = 0;

	for (size_t i = 1; i < chosen->n; i++) {
		is_one &= is_like(reports[0], reports[i], with_commands);
		is_one_command &= json_equal(json_object_get(reports[0], "command"),
					     json_object_get(reports[i], "command"));
	}
	if (is_one)
		return;
	with_commands &= !is_one_command;
	for (size_t i = 1, n = 0; i <= chosen->n; i++) {
		if (i < chosen->n && is_like(reports[first], reports[i], with_commands))
			continue;
		if (n++ == FILES_MAX) {
			wtl_plot_sheet_note(chosen->sheet,
					    wtl_plot_sheet_printf(chosen->sheet,
								  "Runs %zu to %zu: others.",
								  first + 1, chosen->n));
			return;
		}
		wtl_plot_sheet_note(chosen->sheet, file_note(chosen, first, i - 1, with_commands));
		first = i;
	}
}

int wtl_plot_report_runs(const struct wtl_plot_chosen *chosen)
{
	struct wtl_plot_sheet *sheet = chosen->sheet;
	struct wtl_plot_panel *panels =
		wtl_plot_sheet_panels(sheet, WTL_PLOT_DOMAINS_MAX + QUANTITIES);
	size_t n_domains = chosen->wanted->n_domains ? chosen->n_domains : 0, n = 0;
	int rc = panels ? 0 : -ENOMEM;

	for (size_t i = 0; rc >= 0 && i < n_domains; i++) {
		rc = add_panel(chosen, ENERGY, chosen->domains[i], &panels[n]);
		n += rc > 0;
	}
	for (enum quantity q = ENERGY; rc >= 0 && q < QUANTITIES; q++) {
		/* Asked for domains, nobody wants the machine; how long it took, always. */
		if (chosen->wanted->n_domains && q != DURATION)
			continue;
		rc = add_panel(chosen, q, NULL, &panels[n]);
		n += rc > 0;
	}
	sheet->figure.n_panels = n;
	if (rc < 0)
		return rc;
	sheet->figure.shares_x = true;
	sheet->figure.title = title_of(chosen);
	wtl_plot_sheet_note(
		sheet,
		chosen->n > 1
			? "Whiskers: ± of one run (k = 2). Dashed: mean of the runs. Band: its 95 % "
			  "interval (Student's t)."
			: "Whiskers: ± of the run (k = 2).");
	wtl_plot_report_files(chosen, true);
	return n > 0 ? 0 : -ENODATA;
}
