/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PLOT_REPORT_PARTS_H
#define WTL_COMMANDS_PLOT_REPORT_PARTS_H

#include <stdbool.h>

#include <jansson.h>

#include "commands/plot/report.h"

/* Shared by the files that plot reports. docs/format-json.md describes every key. */

enum { WTL_PLOT_DOMAINS_MAX = 64, WTL_PLOT_COMPARED_MAX = 8 };

/* Added to each report: the name of its file. */
#define WTL_PLOT_JSON_FILE " file"
/* Added to each run of a comparison: its command's name there. */
#define WTL_PLOT_JSON_NAME " name"
/* And, if the document has it: which energy is compared. */
#define WTL_PLOT_JSON_COMPARED " compared"

/* The wanted reports, and what they have in common. */
struct wtl_plot_chosen {
	const struct wtl_plot_wanted *wanted;
	struct wtl_plot_sheet *sheet;
	json_t **reports;
	size_t n;
	int64_t *starts_utc_ns;			   /* of each, in pictures over time; else NULL */
	const char *domains[WTL_PLOT_DOMAINS_MAX]; /* asked for, or in the total of any */
	size_t n_domains;
	/* The commands, if all runs are from a comparison of several; else none. */
	const char *compared[WTL_PLOT_COMPARED_MAX];
	size_t n_compared;
};

/* NaN if missing or not a number. */
double wtl_plot_json_number(const json_t *object, const char *key);
/* NULL if missing or not a text. */
const char *wtl_plot_json_text(const json_t *object, const char *key);
/* A point of energy_j (or another key) and its uncertainty_j; NaN where there is none. */
struct wtl_plot_point wtl_plot_json_point(const json_t *object, const char *key, int64_t x);
/* NULL: it has no domain of that name. */
const json_t *wtl_plot_json_domain(const json_t *report, const char *name);
/* Of mean_w. Time is known so much better that energy's relative ± applies to power. */
struct wtl_plot_point wtl_plot_json_power(const json_t *object, int64_t x);
/* The energy above idle of the report's command. */
struct wtl_plot_point wtl_plot_json_dynamic(const json_t *report, int64_t x);
/* Below the figure's title: figures of the command, and of the machine or domain. */
void wtl_plot_json_summary(struct wtl_plot_sheet *sheet, const char *name,
			   const struct wtl_plot_point *dynamic,
			   const struct wtl_plot_point *energy, const struct wtl_plot_point *power);
/* Titles the figure "WHAT of: COMMAND", or "WHAT of this machine", with the report's energy below it. */
void wtl_plot_json_title(struct wtl_plot_sheet *sheet, const char *what, const json_t *report);
/* The report's command line. */
const char *wtl_plot_json_command(struct wtl_plot_sheet *sheet, const json_t *report);

/* Titles the figure "12 runs of: COMMAND", with their mean energy and power below it. */
void wtl_plot_report_title(const struct wtl_plot_chosen *chosen, const char *before);
/* Adds notes that say which run is from which file if there are several and, with_commands, of which command if
 * they differ. */
void wtl_plot_report_files(const struct wtl_plot_chosen *chosen, bool with_commands);

/* The point divided by the report's duration. */
struct wtl_plot_point wtl_plot_json_over_time(const json_t *report, struct wtl_plot_point point);
/* Of gco2e; and that divided by the duration. */
struct wtl_plot_point wtl_plot_json_emitted(const json_t *report, int64_t x);
struct wtl_plot_point wtl_plot_json_rate(const json_t *report, int64_t x);

/* 0 or -ENOMEM, or -ENODATA. */
int wtl_plot_report_runs(const struct wtl_plot_chosen *chosen);
/* The same with emissions, over time: the reports must be sorted by time. */
int wtl_plot_report_emissions(const struct wtl_plot_chosen *chosen);
int wtl_plot_report_energies(const struct wtl_plot_chosen *chosen);
int wtl_plot_report_consumers(const struct wtl_plot_chosen *chosen);

#endif
