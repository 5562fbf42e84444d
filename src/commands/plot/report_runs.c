/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "energy/statistics.h"
#include "commands/plot/report_parts.h"

/* Repeated runs as a series: a panel per quantity, a point per run, the mean with its 95 % interval. */

enum { FILES_MAX = 8 };

/* One panel each. The command's energy is in the machine's panel, unless commands are compared by it. */
enum quantity { ENERGY, DURATION, MEAN_POWER, EMITTED, RATE, COMMAND, COMMAND_POWER, QUANTITIES };

/* Whose points; NULL: the machine's, and of any command. */
struct whose {
	const char *domain;
	const char *compared; /* a command of a comparison */
};

static struct wtl_plot_point point_of(const json_t *report, enum quantity quantity,
				      const char *domain, int64_t run)
{
	const json_t *total =
		domain ? wtl_plot_json_domain(report, domain) : json_object_get(report, "total");

	if (quantity == ENERGY)
		return wtl_plot_json_point(total, "energy_j", run);
	if (quantity == COMMAND)
		return wtl_plot_json_dynamic(report, run);
	if (quantity == COMMAND_POWER)
		return wtl_plot_json_over_time(report, wtl_plot_json_dynamic(report, run));
	if (quantity == MEAN_POWER)
		return wtl_plot_json_power(total, run);
	if (quantity == EMITTED)
		return wtl_plot_json_emitted(report, run);
	if (quantity == RATE)
		return wtl_plot_json_rate(report, run);
	return (struct wtl_plot_point){.x = run, .y = wtl_plot_json_number(report, "duration_s")};
}

static bool is_of(const json_t *report, const char *compared)
{
	return !compared || strcmp(wtl_plot_json_text(report, WTL_PLOT_JSON_NAME), compared) == 0;
}

/* Points of all runs; those of other commands are unknown. NULL: out of memory. */
static const struct wtl_plot_point *points_of(const struct wtl_plot_chosen *chosen,
					      enum quantity quantity, struct whose whose)
{
	struct wtl_plot_point *points =
		wtl_plot_sheet_array(chosen->sheet, chosen->n, sizeof(*points));

	for (size_t i = 0; points && i < chosen->n; i++) {
		int64_t run = chosen->starts_utc_ns ? chosen->starts_utc_ns[i] : (int64_t)i + 1;

		points[i] = is_of(chosen->reports[i], whose.compared)
				    ? point_of(chosen->reports[i], quantity, whose.domain, run)
				    : (struct wtl_plot_point){.x = run, .y = WTL_PLOT_UNKNOWN};
	}
	return points;
}

static bool is_one_command(const struct wtl_plot_chosen *chosen)
{
	for (size_t i = 1; i < chosen->n; i++)
		if (!json_equal(json_object_get(chosen->reports[0], "command"),
				json_object_get(chosen->reports[i], "command")))
			return false;
	return true;
}

/* The mean of runs that were not interrupted, as in the report's statistics. false: there are fewer than two, or
 * they are not of one command. is_of_one: the points are known to be of one command. */
static bool find_mean(const struct wtl_plot_chosen *chosen, const struct wtl_plot_point points[],
		      bool is_of_one, struct wtl_statistics *ret_statistics)
{
	double *values = wtl_plot_sheet_array(chosen->sheet, chosen->n, sizeof(*values));
	size_t n = 0;

	for (size_t i = 0; values && i < chosen->n; i++)
		if (isfinite(points[i].y) &&
		    !json_is_true(json_object_get(chosen->reports[i], "interrupted")))
			values[n++] = points[i].y;
	if (n < 2 || (!is_of_one && !is_one_command(chosen)))
		return false;
	wtl_statistics_of(values, n, ret_statistics);
	return true;
}

static void set_mean(const struct wtl_plot_chosen *chosen, bool is_of_one,
		     struct wtl_plot_series *series)
{
	struct wtl_statistics statistics;

	if (!find_mean(chosen, series->points, is_of_one, &statistics))
		return;
	series->level = (struct wtl_plot_level){.is_known = true,
						.name = "mean",
						.y = statistics.mean,
						.low = statistics.mean - statistics.ci95,
						.high = statistics.mean + statistics.ci95};
	if (statistics.mean > 0)
		series->remark = wtl_plot_sheet_percent(chosen->sheet, "sd",
							statistics.sd / statistics.mean);
}

/* Adds the quantity of a domain, the machine or a command to the panel, unless it is unknown in all runs. */
static int add_series(const struct wtl_plot_chosen *chosen, enum quantity quantity,
		      struct whose whose, struct wtl_plot_panel *panel,
		      struct wtl_plot_series *series)
{
	static const char *const names[QUANTITIES] = {
		[ENERGY] = "machine", [COMMAND] = "command, above idle",
		[DURATION] = "a run", [MEAN_POWER] = "machine",
		[EMITTED] = "a run",  [RATE] = "a run"};
	const struct wtl_plot_point *points = points_of(chosen, quantity, whose);
	const char *name = whose.compared ? whose.compared : whose.domain;
	bool any = false;

	if (!points)
		return -ENOMEM;
	for (size_t i = 0; i < chosen->n; i++)
		any |= isfinite(points[i].y);
	if (!any)
		return 0;
	series += panel->n_series++;
	*series = (struct wtl_plot_series){.name = name ? name : names[quantity],
					   .points = points,
					   .n = chosen->n,
					   .is_total = !name && quantity != COMMAND};
	set_mean(chosen, whose.compared != NULL, series);
	return 0;
}

/* All energies have one axis, so that they can be compared. */
static int make_panel(const struct wtl_plot_chosen *chosen, enum quantity quantity,
		      struct wtl_plot_panel *panel)
{
	static const struct {
		const char *title, *label, *unit;
	} words[] = {
		[ENERGY] = {"Energy", "Energy", "J"},
		[DURATION] = {"Duration", "Duration", "s"},
		[MEAN_POWER] = {"Mean power", "Power", "W"},
		[EMITTED] = {"Emissions (CO2e)", "CO2e", "g"},
		[RATE] = {"Emissions rate (CO2e)", "CO2e", "g/s"},
		[COMMAND] = {"Energy above idle", "Energy", "J"},
		[COMMAND_POWER] = {"Mean power above idle", "Power", "W"},
	};
	struct wtl_plot_series *series =
		wtl_plot_sheet_array(chosen->sheet, WTL_PLOT_DOMAINS_MAX + 2, sizeof(*series));
	size_t n_domains =
		chosen->wanted->n_domains && (quantity == ENERGY || quantity == MEAN_POWER)
			? chosen->n_domains
			: 0;
	int rc = series ? 0 : -ENOMEM;

	*panel = (struct wtl_plot_panel){.title = words[quantity].title,
					 .marks = WTL_PLOT_POINTS,
					 .x = chosen->starts_utc_ns ? WTL_PLOT_X_UTC
								    : WTL_PLOT_X_NUMBER,
					 .x_label = "Run",
					 .label = words[quantity].label,
					 .unit = words[quantity].unit,
					 .prefix = WTL_PLOT_SI,
					 .may_be_cut = true,
					 .series = series};
	for (size_t i = 0; rc == 0 && i < n_domains; i++)
		rc = add_series(chosen, quantity, (struct whose){.domain = chosen->domains[i]},
				panel, series);
	for (size_t i = 0; rc == 0 && n_domains == 0 && i < chosen->n_compared; i++)
		rc = add_series(chosen, quantity, (struct whose){.compared = chosen->compared[i]},
				panel, series);
	if (rc < 0 || n_domains + chosen->n_compared > 0)
		return rc;
	rc = add_series(chosen, quantity, (struct whose){.domain = NULL}, panel, series);
	if (rc == 0 && quantity == ENERGY)
		rc = add_series(chosen, COMMAND, (struct whose){.domain = NULL}, panel, series);
	return rc;
}

/* The mean of the sensors' ± of single runs, relative to the runs' mean. */
static double shared_part(const struct wtl_plot_point points[], size_t n)
{
	double half = 0, sum = 0;

	for (size_t i = 0; i < n; i++)
		if (isfinite(points[i].y) && isfinite(points[i].high)) {
			half += points[i].high - points[i].y;
			sum += points[i].y;
		}
	return sum > 0 ? half / sum : 0;
}

/* The only run, or the mean with both its errors: the random one, and that common to all runs. */
static struct wtl_plot_point whole_of(const struct wtl_plot_chosen *chosen, enum quantity quantity,
				      const char *domain)
{
	const struct wtl_plot_point *points =
		points_of(chosen, quantity, (struct whose){.domain = domain});
	struct wtl_statistics mean;

	if (points && chosen->n == 1)
		return points[0];
	if (!points || !find_mean(chosen, points, false, &mean))
		return (struct wtl_plot_point){.y = WTL_PLOT_UNKNOWN};
	return (struct wtl_plot_point){
		.y = mean.mean,
		.high = mean.mean + hypot(mean.ci95, mean.mean * shared_part(points, chosen->n))};
}

void wtl_plot_report_title(const struct wtl_plot_chosen *chosen, const char *before)
{
	struct wtl_plot_sheet *sheet = chosen->sheet;
	const char *domain = chosen->wanted->n_domains == 1 ? chosen->domains[0] : NULL;
	const struct wtl_plot_point energy = whole_of(chosen, ENERGY, domain);
	const struct wtl_plot_point power = whole_of(chosen, MEAN_POWER, domain);
	const struct wtl_plot_point dynamic =
		domain ? (struct wtl_plot_point){.y = WTL_PLOT_UNKNOWN}
		       : whole_of(chosen, COMMAND, NULL);
	const char *of = is_one_command(chosen) ? " of: " : "";

	if (chosen->n_compared > 0) {
		sheet->figure.title = wtl_plot_sheet_printf(sheet, "%s%zu runs of %zu commands",
							    before, chosen->n, chosen->n_compared);
		return;
	}
	sheet->figure.title = wtl_plot_sheet_printf(
		sheet, "%s%zu %s%s%s", before, chosen->n, chosen->n == 1 ? "run" : "runs", of,
		of[0] ? wtl_plot_json_command(sheet, chosen->reports[0]) : "");
	wtl_plot_json_summary(sheet, domain ? domain : "machine", &dynamic, &energy, &power);
	if (sheet->figure.summary && chosen->n > 1)
		sheet->figure.summary = wtl_plot_sheet_printf(sheet, "mean of the runs · %s",
							      sheet->figure.summary);
}

/* ---- Notes on files ---- */

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Would the same note apply to both? */
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
	bool is_one = true;
	size_t first = 0;

	for (size_t i = 1; i < chosen->n; i++)
		is_one &= is_like(reports[0], reports[i], with_commands);
	if (is_one)
		return;
	with_commands &= !is_one_command(chosen);
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

/* "machine 13 %; command, above idle 23 %"; for compared commands "up to 23 %" */
static void note_shared(const struct wtl_plot_chosen *chosen, const struct wtl_plot_panel *energies)
{
	struct wtl_plot_sheet *sheet = chosen->sheet;
	const char *list = "";
	double most = 0;

	for (size_t i = 0; i < energies->n_series; i++) {
		double part = shared_part(energies->series[i].points, chosen->n);

		most = fmax(most, part);
		if (part > 0)
			list = wtl_plot_sheet_printf(
				sheet, "%s%s%s", list, list[0] ? "; " : "",
				wtl_plot_sheet_percent(sheet, energies->series[i].name, part));
	}
	if (chosen->n_compared > 0 && most > 0)
		list = wtl_plot_sheet_percent(sheet, "up to", most);
	if (list[0])
		wtl_plot_sheet_note(
			sheet,
			wtl_plot_sheet_printf(
				sheet, "Not drawn: the %s ± (k = 2)%s: %s.",
				energies->unit[0] == 'g' ? "emissions'" : "sensors'",
				chosen->n > 1 ? ", most of it the same in all runs" : "", list));
}

static int make(const struct wtl_plot_chosen *chosen, const enum quantity quantities[],
		size_t n_quantities)
{
	struct wtl_plot_sheet *sheet = chosen->sheet;
	struct wtl_plot_panel *panels = wtl_plot_sheet_panels(sheet, n_quantities);
	size_t n = 0;
	int rc = panels ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < n_quantities; i++) {
		rc = make_panel(chosen, quantities[i], &panels[n]);
		n += panels[n].n_series > 0;
	}
	sheet->figure.n_panels = n;
	if (rc < 0 || n == 0)
		return rc < 0 ? rc : -ENODATA;
	sheet->figure.shares_x = true;
	wtl_plot_report_title(chosen, "");
	if (panels[0].series[0].level.is_known)
		wtl_plot_sheet_note(
			sheet, "Dashed: mean of the runs. Band: its 95 % interval (Student's t). "
			       "sd: how much single runs differ.");
	for (size_t i = 0; i < n; i++)
		if (strcmp(panels[i].unit, "J") == 0 || strcmp(panels[i].unit, "g") == 0)
			note_shared(chosen, &panels[i]);
	if (!chosen->starts_utc_ns)
		wtl_plot_report_files(chosen, true);
	return 0;
}

/* By energy above idle, if that was compared, or the document does not say and it is known for every run. */
static bool is_compared_above_idle(const struct wtl_plot_chosen *chosen)
{
	bool is_known = chosen->n_compared > 0 && chosen->wanted->n_domains == 0;

	for (size_t i = 0; i < chosen->n; i++) {
		const char *energy = wtl_plot_json_text(chosen->reports[i], WTL_PLOT_JSON_COMPARED);

		is_known &= isfinite(wtl_plot_json_dynamic(chosen->reports[i], 0).y) &&
			    (!energy || strcmp(energy, "energy_j") != 0);
	}
	return is_known;
}

int wtl_plot_report_runs(const struct wtl_plot_chosen *chosen)
{
	static const enum quantity quantities[] = {ENERGY, DURATION, MEAN_POWER};
	static const enum quantity above_idle[] = {COMMAND, DURATION, COMMAND_POWER};

	if (is_compared_above_idle(chosen))
		return make(chosen, above_idle, sizeof(above_idle) / sizeof(above_idle[0]));
	return make(chosen, quantities, sizeof(quantities) / sizeof(quantities[0]));
}

/* Without notes on files: runs have no numbers here. */
int wtl_plot_report_emissions(const struct wtl_plot_chosen *chosen)
{
	static const enum quantity quantities[] = {DURATION, ENERGY, EMITTED, RATE};

	return make(chosen, quantities, sizeof(quantities) / sizeof(quantities[0]));
}
