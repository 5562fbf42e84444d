/* SPDX-License-Identifier: MIT */
#include "commands/plot/report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "plot_bench.h"

#include "unit.h"

/* Made-up reports in the form of docs/format-json.md. */

#define DOMAIN(name, in_total, energy)                                          \
	"{\"name\":\"" name "\",\"in_total\":" in_total                         \
	",\"source\":\"rapl-perf\",\"method\":\"counter\",\"energy_j\":" energy \
	",\"uncertainty_j\":0.5,\"mean_w\":20}"

#define REPORT(start, command, energy, more)                                         \
	"{\"schema\":\"wattle.report/1\",\"version\":\"0.1.0\",\"command\":" command \
	",\"start_utc\":\"" start "\",\"duration_s\":1.5,"                           \
	"\"total\":{\"energy_j\":" energy ",\"uncertainty_j\":1.25,\"mean_w\":30},"  \
	"\"domains\":[" DOMAIN("package-0", "true", energy) "," DOMAIN(              \
		"dram-0", "true",                                                    \
		"3.5") "," DOMAIN("core-0", "false",                                 \
				  "9") ",{\"name\":\"gpu-0\",\"status\":\"denied\"}]" more "}"

#define PROCESSES                                                                      \
	",\"processes\":["                                                             \
	"{\"pid\":11,\"command\":\"make -j\",\"user\":\"bob\",\"unit\":\"a.service\"," \
	"\"dynamic_j\":6,\"full_j\":8,\"uncertainty_j\":0.5},"                         \
	"{\"pid\":12,\"name\":\"cc1\",\"user\":\"eve\",\"dynamic_j\":3,\"full_j\":4,"  \
	"\"uncertainty_j\":0.25},"                                                     \
	"{\"name\":\"ended\",\"user\":\"bob\",\"dynamic_j\":1,\"full_j\":2,"           \
	"\"uncertainty_j\":0.25}],"                                                    \
	"\"others\":{\"dynamic_j\":0.5,\"full_j\":0.75,\"uncertainty_j\":0.1}"

#define MAKE "[\"make\",\"-j\"]"

static const char three[] = REPORT("2026-11-21T08:00:00.000Z", MAKE, "10", "") "\n" REPORT(
	"2026-11-21T08:00:10.000Z", MAKE, "12", "") "\n\n" REPORT("2026-11-21T08:00:20.000Z", MAKE,
								  "14", "");
/* And a fourth, which was ended by Ctrl-C. */
static const char cut[] = REPORT("2026-11-21T08:00:00.000Z", MAKE, "10", "") "\n" REPORT(
	"2026-11-21T08:00:10.000Z", MAKE, "12",
	"") "\n" REPORT("2026-11-21T08:00:20.000Z", MAKE, "14",
			"") "\n" REPORT("2026-11-21T08:00:30.000Z", MAKE, "1",
					",\"interrupted\":true");
static const char one[] = REPORT("2026-11-21T08:00:00.000Z", MAKE, "10", PROCESSES);

struct bench {
	struct wtl_plot_reports *reports;
	struct wtl_plot_sheet sheet;
	struct wtl_plot_wanted wanted;
	struct wtl_err err;
};

static void begin(struct bench *bench, const char *text)
{
	memset(bench, 0, sizeof(*bench));
	bench->wanted.top = 8;
	wtl_plot_sheet_init(&bench->sheet);
	bench->reports = wtl_plot_reports_new();
	assert_non_null(bench->reports);
	if (text && wtl_plot_reports_add(bench->reports, "a.json", text, strlen(text), &bench->err))
		fail_msg("%s", bench->err.text);
}

static void end(struct bench *bench)
{
	wtl_plot_reports_free(bench->reports);
	wtl_plot_sheet_done(&bench->sheet);
}

static int figure(struct bench *bench)
{
	return wtl_plot_reports_figure(bench->reports, &bench->wanted, &bench->sheet, &bench->err);
}

/* The reports may be gone: the figure has what it needs. */
static const struct wtl_plot_figure *good(struct bench *bench)
{
	struct plot_journal journal;
	int rc = figure(bench);

	if (rc < 0)
		fail_msg("%d: %s", rc, bench->err.text);
	wtl_plot_reports_free(bench->reports);
	bench->reports = NULL;
	plot_journal_draw(&journal, &bench->sheet.figure);
	plot_journal_done(&journal);
	return &bench->sheet.figure;
}

static void has_y(const struct wtl_plot_series *series, size_t i, double y, double low, double high)
{
	assert_true(i < series->n);
	assert_true(fabs(series->points[i].y - y) < 1e-9);
	assert_true(fabs(series->points[i].low - low) < 1e-9);
	assert_true(fabs(series->points[i].high - high) < 1e-9);
}

static void test_runs(void **state)
{
	const struct wtl_plot_figure *made;
	const struct wtl_plot_series *series;
	struct bench bench;

	(void)state;
	begin(&bench, three);
	made = good(&bench);
	assert_string_equal(made->title, "3 runs of: make -j");
	assert_int_equal(made->n_lines, 1);
	assert_string_equal(
		made->lines[0],
		"rapl-perf (counter) · 2026-11-21 08:00:00 to 08:00:21 UTC · wattle 0.1.0");
	/* No command's energy is known: its points are not there. */
	assert_int_equal(made->n_panels, 3);
	assert_true(made->shares_x);
	assert_string_equal(made->summary,
			    "mean of the runs · machine: 12.0 ± 5.1 J · mean power 30.0 ± 3.2 W");
	assert_string_equal(made->panels[0].title, "Energy");
	assert_int_equal(made->panels[0].n_series, 1);
	assert_string_equal(made->panels[1].title, "Duration");
	assert_string_equal(made->panels[2].unit, "W");
	series = made->panels[0].series;
	assert_int_equal(series->n, 3);
	assert_int_equal(series->points[2].x, 3);
	has_y(series, 0, 10, 8.75, 11.25);
	/* As many percent of the power. */
	assert_false(made->panels[2].series->has_range);
	series = made->panels[2].series;
	assert_true(fabs((series->points[0].high / series->points[0].y) - 1.125) < 1e-9);
	assert_true(fabs((series->points[0].low / series->points[0].y) - 0.875) < 1e-9);
	series = made->panels[0].series;
	assert_int_equal(made->n_notes, 2); /* all of one file and command */
	assert_string_equal(
		made->notes[1],
		"Not drawn: the sensors' ± (k = 2), most of it the same in all runs: machine 10 %.");
	has_y(series, 2, 14, 12.75, 15.25);
	/* 10, 12, 14: sd 2, t 4.3027 with 2 degrees of freedom, so ± 4.968. */
	assert_true(series->level.is_known);
	assert_true(fabs(series->level.y - 12) < 1e-9);
	assert_true(fabs(series->level.high - 16.9683) < 1e-3);
	end(&bench);
}

static void test_an_interrupted_run(void **state)
{
	const struct wtl_plot_series *series;
	struct bench bench;

	(void)state;
	begin(&bench, cut);
	series = good(&bench)->panels[0].series;
	assert_int_equal(series->n, 4);
	has_y(series, 3, 1, -0.25, 2.25);
	assert_true(fabs(series->level.y - 12) < 1e-9);
	assert_true(fabs(series->level.high - 16.9683) < 1e-3);
	end(&bench);
}

static void test_command_energy(void **state)
{
	static const char text[] =
		REPORT("2026-11-21T08:00:00Z", MAKE, "10",
		       ",\"command_energy\":{\"dynamic_j\":4,\"full_j\":9,\"uncertainty_j\":1}")
			REPORT("2026-11-21T08:00:10Z", "[\"cc\"]", "10",
			       ",\"command_energy\":{\"full_j\":9,\"uncertainty_j\":1}");
	const struct wtl_plot_figure *made;
	struct bench bench;

	(void)state;
	begin(&bench, text);
	made = good(&bench);
	assert_string_equal(made->title, "2 runs");
	assert_int_equal(made->n_notes, 3);
	assert_string_equal(made->notes[1], "Run 1: a.json, make -j");
	assert_string_equal(made->notes[2], "Run 2: a.json, cc");
	assert_int_equal(made->n_panels, 3);
	assert_int_equal(made->panels[0].n_series, 2);
	assert_string_equal(made->panels[0].series[1].name, "command, above idle");
	has_y(&made->panels[0].series[1], 0, 4, 3, 5);
	/* Without a baseline, a full share is no dynamic one. */
	assert_true(isnan(made->panels[0].series[1].points[1].y));
	/* Of different commands nobody wants the mean. */
	assert_false(made->panels[0].series[0].level.is_known);
	assert_null(made->summary);
	end(&bench);
}

#define COMPARED(energy, dynamic)                            \
	REPORT("2026-11-21T08:00:00Z", "[\"gzip\"]", energy, \
	       ",\"command_energy\":{" dynamic "\"full_j\":9,\"uncertainty_j\":1}")

/* Two commands in two runs each. */
static void begin_comparison(struct bench *bench, const char *last)
{
	static const char form[] =
		"{\"schema\":\"wattle.compare/1\",\"commands\":[{\"command\":\"gzip -1\","
		"\"series\":{\"schema\":\"wattle.series/1\",\"runs\":[%s,%s]}},"
		"{\"command\":\"gzip -9\",\"name\":\"best\","
		"\"series\":{\"schema\":\"wattle.series/1\",\"runs\":[%s,%s]}}]}";
	char text[4096];

	snprintf(text, sizeof(text), form, COMPARED("10", "\"dynamic_j\":4,"),
		 COMPARED("12", "\"dynamic_j\":5,"), COMPARED("20", "\"dynamic_j\":8,"), last);
	begin(bench, text);
}

/* Each command has points of its own, and a mean. */
static void test_comparison(void **state)
{
	const struct wtl_plot_figure *made;
	const struct wtl_plot_series *series;
	struct bench bench;

	(void)state;
	begin_comparison(&bench, COMPARED("22", "\"dynamic_j\":9,"));
	made = good(&bench);
	assert_string_equal(made->title, "4 runs of 2 commands");
	assert_int_equal(made->n_panels, 3);
	assert_string_equal(made->panels[0].title, "Energy above idle");
	assert_string_equal(made->panels[2].title, "Mean power above idle");
	assert_int_equal(made->panels[0].n_series, 2);
	series = made->panels[0].series;
	assert_string_equal(series[0].name, "gzip -1");
	assert_string_equal(series[1].name, "best");
	assert_false(series[0].is_total);
	has_y(&series[0], 1, 5, 4, 6);
	assert_true(isnan(series[0].points[2].y));
	assert_true(isnan(series[1].points[1].y));
	has_y(&series[1], 3, 9, 8, 10);
	assert_true(series[0].level.is_known && fabs(series[0].level.y - 4.5) < 1e-9);
	assert_true(series[1].level.is_known && fabs(series[1].level.y - 8.5) < 1e-9);
	assert_string_equal(made->notes[1],
			    "Not drawn: the sensors' ± (k = 2), most of it the same in all "
			    "runs: up to 22 %.");
	/* Over 1.5 s. */
	has_y(&made->panels[2].series[1], 3, 6, 8 / 1.5, 10 / 1.5);
	end(&bench);
}

/* The machine's energy where a run's own is not known; and who asks for a domain gets its. */
static void test_comparison_by_the_machine(void **state)
{
	static const char *const domains[] = {"dram-0"};
	const struct wtl_plot_figure *made;
	struct bench bench;

	(void)state;
	begin_comparison(&bench, COMPARED("22", ""));
	made = good(&bench);
	assert_string_equal(made->panels[0].title, "Energy");
	assert_int_equal(made->panels[0].n_series, 2);
	has_y(&made->panels[0].series[1], 3, 22, 20.75, 23.25);
	end(&bench);
	begin_comparison(&bench, COMPARED("22", "\"dynamic_j\":9,"));
	bench.wanted.domains = domains;
	bench.wanted.n_domains = 1;
	made = good(&bench);
	assert_int_equal(made->panels[0].n_series, 1);
	assert_string_equal(made->panels[0].series[0].name, "dram-0");
	end(&bench);
}

static void test_series_document(void **state)
{
	static const char text[] = "{\"schema\":\"wattle.series/1\",\"runs\":[" REPORT(
		"2026-11-21T08:00:00Z", MAKE, "10", "") "," REPORT("2026-11-21T08:00:10Z", MAKE,
								   "11", "") "],\"statistics\":{}}";
	const struct wtl_plot_figure *made;
	struct bench bench;

	(void)state;
	begin(&bench, text);
	/* And a second file. */
	assert_int_equal(wtl_plot_reports_add(bench.reports, "b.json", one, strlen(one), NULL), 0);
	made = good(&bench);
	assert_string_equal(made->title, "3 runs of: make -j");
	assert_int_equal(made->n_notes, 4);
	assert_string_equal(made->notes[2], "Runs 1 to 2: a.json");
	assert_string_equal(made->notes[3], "Run 3: b.json");
	end(&bench);
}

/* So many files that not all of them are told. */
static void test_many_files(void **state)
{
	const char *const *notes;
	const struct wtl_plot_figure *made;
	struct bench bench;

	(void)state;
	for (int with_bars = 0; with_bars < 2; with_bars++) {
		begin(&bench, one);
		bench.wanted.what = with_bars ? WTL_PLOT_WINDOWS : WTL_PLOT_RUNS;
		bench.wanted.has_what = true;
		for (int i = 2; i < 12; i++) {
			char name[32];

			snprintf(name, sizeof(name), "/tmp/%d.json", i);
			assert_int_equal(
				wtl_plot_reports_add(bench.reports, name, one, strlen(one), NULL),
				0);
		}
		made = good(&bench);
		/* Whiskers, or means and what they do not say. */
		notes = made->notes + (with_bars ? 1 : 2);
		assert_ptr_equal(notes + 9, made->notes + made->n_notes);
		assert_string_equal(notes[0], "Run 1: a.json");
		assert_string_equal(notes[7], "Run 8: 8.json");
		assert_string_equal(notes[8], "Runs 9 to 11: others.");
		end(&bench);
	}
	/* What is no text has no name. */
	begin(&bench, one);
	assert_int_equal(wtl_plot_reports_add(bench.reports, "\xff", one, strlen(one), NULL), 0);
	made = good(&bench);
	assert_string_equal(made->notes[3], "Run 2: ?");
	end(&bench);
}

static void test_domains(void **state)
{
	static const char *const names[] = {"core-0", "dram-0"};
	static const char *const unknown[] = {"gpu-0"};
	const struct wtl_plot_figure *made;
	struct bench bench;

	(void)state;
	begin(&bench, three);
	bench.wanted.domains = names;
	bench.wanted.n_domains = 2;
	made = good(&bench);
	assert_int_equal(made->n_panels, 3);
	assert_int_equal(made->panels[0].n_series, 2);
	assert_string_equal(made->panels[0].series[0].name, "dram-0");
	assert_string_equal(made->panels[0].series[1].name, "core-0");
	assert_string_equal(made->panels[1].title, "Duration");
	has_y(&made->panels[0].series[1], 1, 9, 8.5, 9.5);
	end(&bench);
	begin(&bench, three);
	bench.wanted.domains = unknown;
	bench.wanted.n_domains = 1;
	assert_int_equal(figure(&bench), -EINVAL);
	assert_string_equal(bench.err.text, "no domain 'gpu-0' has a figure there");
	end(&bench);
}

static void test_energies(void **state)
{
	const struct wtl_plot_figure *made;
	const struct wtl_plot_panel *panel;
	struct bench bench;

	(void)state;
	begin(&bench, one);
	made = good(&bench);
	panel = made->panels;
	assert_string_equal(made->title, "Energy of: make -j");
	assert_string_equal(made->summary, "machine: 10.0 ± 1.3 J · mean power 30.0 ± 3.8 W");
	assert_int_equal(panel->n_categories, 2); /* those that count */
	assert_string_equal(panel->categories[0], "package-0");
	has_y(panel->series, 1, 3.5, 3, 4);
	end(&bench);
	begin(&bench, three);
	bench.wanted.what = WTL_PLOT_WINDOWS;
	bench.wanted.has_what = true;
	made = good(&bench);
	panel = made->panels;
	assert_string_equal(made->title, "Energy of 3 runs of: make -j");
	assert_int_equal(panel->n_categories, 3);
	assert_string_equal(panel->categories[2], "3: make -j");
	assert_int_equal(panel->n_series, 2);
	assert_string_equal(panel->series[0].name, "package-0");
	assert_true(panel->totals[2].y == 14 && panel->totals[2].high == 15.25);
	end(&bench);
}

static void test_consumers(void **state)
{
	const struct wtl_plot_figure *made;
	const struct wtl_plot_panel *panel;
	struct bench bench;

	(void)state;
	begin(&bench, one);
	bench.wanted.what = WTL_PLOT_PROCESSES;
	bench.wanted.has_what = true;
	made = good(&bench);
	panel = made->panels;
	assert_string_equal(panel->label, "Energy above idle");
	assert_int_equal(panel->n_categories, 4);
	assert_string_equal(panel->categories[0], "make -j (11)");
	assert_string_equal(panel->categories[1], "cc1 (12)");
	assert_string_equal(panel->categories[2], "ended");
	assert_string_equal(panel->categories[3], "not listed in the report");
	has_y(panel->series, 0, 6, 5.5, 6.5);
	end(&bench);
	begin(&bench, one);
	bench.wanted.what = WTL_PLOT_PROCESSES;
	bench.wanted.has_what = true;
	bench.wanted.by = WTL_PLOT_BY_USER;
	panel = good(&bench)->panels;
	assert_int_equal(panel->n_categories, 3);
	assert_string_equal(panel->categories[0], "bob");
	has_y(panel->series, 0, 7, 6.25, 7.75);
	end(&bench);
	begin(&bench, one);
	bench.wanted.what = WTL_PLOT_PROCESSES;
	bench.wanted.has_what = true;
	bench.wanted.by = WTL_PLOT_BY_UNIT;
	bench.wanted.top = 1;
	panel = good(&bench)->panels;
	assert_string_equal(panel->categories[0], "a.service");
	assert_string_equal(panel->categories[1], "in no unit");
	end(&bench);
	/* The smallest ones together. */
	begin(&bench, one);
	bench.wanted.what = WTL_PLOT_PROCESSES;
	bench.wanted.has_what = true;
	bench.wanted.top = 1;
	panel = good(&bench)->panels;
	assert_int_equal(panel->n_categories, 3);
	assert_string_equal(panel->categories[1], "others");
	has_y(panel->series, 1, 4, 3.5, 4.5);
	end(&bench);
}

/* A model that took the place of a counter in a later run is told as well. */
static void test_sources_of_all_runs(void **state)
{
	static const char modelled[] =
		"{\"schema\":\"wattle.report/1\",\"version\":\"0.1.0\",\"command\":[\"make\",\"-j\"],"
		"\"start_utc\":\"2026-11-21T08:00:30.000Z\",\"duration_s\":1.5,"
		"\"total\":{\"energy_j\":11,\"uncertainty_j\":5},\"domains\":[{\"name\":\"package-0\","
		"\"in_total\":true,\"source\":\"model\",\"method\":\"modelled\",\"energy_j\":11,"
		"\"uncertainty_j\":5}]}";
	const struct wtl_plot_figure *made;
	struct bench bench;

	(void)state;
	begin(&bench, three);
	made = good(&bench);
	assert_int_equal(strncmp(made->lines[0], "rapl-perf (counter) · ", 22), 0);
	end(&bench);
	begin(&bench, three);
	assert_int_equal(wtl_plot_reports_add(bench.reports, "b.json", modelled, strlen(modelled),
					      &bench.err),
			 0);
	made = good(&bench);
	assert_non_null(strstr(made->lines[0], "rapl-perf (counter), model (modelled) · "));
	end(&bench);
}

static void test_consumers_without_a_name(void **state)
{
	static const char nameless[] =
		REPORT("2026-11-21T08:00:00.000Z", MAKE, "10",
		       ",\"processes\":[{\"pid\":11,\"name\":\"\",\"full_j\":8},"
		       "{\"pid\":12,\"command\":\"\",\"name\":\"cc1\",\"full_j\":7},"
		       "{\"full_j\":6}]");
	const struct wtl_plot_panel *panel;
	struct bench bench;

	(void)state;
	begin(&bench, nameless);
	bench.wanted.what = WTL_PLOT_PROCESSES;
	bench.wanted.has_what = true;
	panel = good(&bench)->panels;
	assert_int_equal(panel->n_categories, 3);
	assert_string_equal(panel->categories[0], "name not known (11)");
	assert_string_equal(panel->categories[1], "cc1 (12)");
	assert_string_equal(panel->categories[2], "name not known");
	end(&bench);
}

/* Where one has no part above idle, all are told in full; a ± of another part is not theirs. */
static void test_consumers_without_a_baseline(void **state)
{
	static const char lacks_others[] =
		REPORT("2026-11-21T08:00:00.000Z", MAKE, "10",
		       ",\"processes\":[{\"pid\":11,\"name\":\"a\",\"dynamic_j\":6,\"full_j\":8,"
		       "\"uncertainty_j\":0.5}],\"others\":{\"full_j\":2,\"uncertainty_j\":0.25}");
	static const char no_others[] =
		REPORT("2026-11-21T08:00:00.000Z", MAKE, "10",
		       ",\"processes\":[{\"pid\":11,\"name\":\"a\",\"dynamic_j\":6,\"full_j\":8,"
		       "\"uncertainty_j\":0.5}],\"others\":{\"full_j\":0,\"uncertainty_j\":0}");
	const struct wtl_plot_panel *panel;
	struct bench bench;

	(void)state;
	begin(&bench, lacks_others);
	bench.wanted.what = WTL_PLOT_PROCESSES;
	bench.wanted.has_what = true;
	panel = good(&bench)->panels;
	assert_string_equal(panel->label, "Energy, its part of idle included");
	assert_int_equal(panel->n_categories, 2);
	assert_true(panel->series->points[0].y == 8);
	assert_true(isnan(panel->series->points[0].low));
	assert_true(isnan(panel->series->points[0].high));
	has_y(panel->series, 1, 2, 1.75, 2.25);
	end(&bench);
	begin(&bench, no_others);
	bench.wanted.what = WTL_PLOT_PROCESSES;
	bench.wanted.has_what = true;
	panel = good(&bench)->panels;
	assert_string_equal(panel->label, "Energy above idle");
	has_y(panel->series, 0, 6, 5.5, 6.5);
	end(&bench);
}

static void test_time(void **state)
{
	struct bench bench;
	int64_t begin_ns = -1;

	(void)state;
	begin(&bench, three);
	bench.wanted.has_from = true;
	assert_true(wtl_plot_reports_begin(bench.reports, &begin_ns));
	assert_int_equal(begin_ns, INT64_C(1795248000000000000));
	bench.wanted.from_utc_ns = begin_ns + INT64_C(5000000000);
	assert_string_equal(good(&bench)->title, "2 runs of: make -j");
	end(&bench);
	begin(&bench, three);
	bench.wanted.has_to = true;
	bench.wanted.to_utc_ns = INT64_C(1795248010000000000);
	assert_string_equal(good(&bench)->title, "2 runs of: make -j");
	end(&bench);
	begin(&bench, three);
	bench.wanted.has_from = true;
	bench.wanted.from_utc_ns = INT64_MAX;
	assert_int_equal(figure(&bench), -ENODATA);
	assert_string_equal(bench.err.text, "there is nothing to plot: no run began in that time");
	end(&bench);
}

static void test_not_in_a_report(void **state)
{
	static const enum wtl_plot_what whats[] = {WTL_PLOT_POWER, WTL_PLOT_MEMORY};
	struct bench bench;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		begin(&bench, one);
		bench.wanted.what = whats[i];
		bench.wanted.has_what = true;
		assert_int_equal(figure(&bench), -EINVAL);
		assert_non_null(strstr(bench.err.text, "one recording has"));
		end(&bench);
	}
	begin(&bench, three);
	bench.wanted.what = WTL_PLOT_PROCESSES;
	bench.wanted.has_what = true;
	assert_int_equal(figure(&bench), -EINVAL);
	end(&bench);
	begin(&bench, REPORT("2026-11-21T08:00:00Z", MAKE, "10", ",\"processes\":[]"));
	bench.wanted.what = WTL_PLOT_PROCESSES;
	bench.wanted.has_what = true;
	assert_int_equal(figure(&bench), -ENODATA);
	end(&bench);
	begin(&bench, "{\"schema\":\"wattle.series/1\",\"runs\":[]}");
	assert_int_equal(figure(&bench), -ENODATA);
	assert_string_equal(bench.err.text, "there is nothing to plot: there are no runs");
	end(&bench);
	begin(&bench, "{\"schema\":\"wattle.report/1\"}");
	assert_int_equal(figure(&bench), -ENODATA);
	end(&bench);
}

/* What is no JSON may have been meant to be a recording: what it is not is said of both. */
static void test_neither_report_nor_recording(void **state)
{
	static const char magic[] = "SQLite format 3";
	static const char *const neither[] = {"rubbish", "  7", magic, "\x97\xff\xfe", "\"text\""};
	struct bench bench;

	(void)state;
	begin(&bench, NULL);
	for (size_t i = 0; i < UNIT_COUNT(neither); i++) {
		assert_int_equal(wtl_plot_reports_add(bench.reports, "x", neither[i],
						      strlen(neither[i]), &bench.err),
				 -WTL_EFORMAT);
		assert_string_equal(bench.err.text,
				    "this is neither a recording (it is no SQLite database, or an "
				    "encrypted one) nor a report (it is no JSON), nor the memory "
				    "over time of one program (.dat, drawn alone)");
	}
	/* With its NUL: from standard input, say. */
	assert_int_equal(wtl_plot_reports_add(bench.reports, "x", magic, sizeof(magic), &bench.err),
			 -WTL_EFORMAT);
	assert_non_null(strstr(bench.err.text, "but a recording or another SQLite database"));
	assert_int_equal(figure(&bench), -ENODATA);
	end(&bench);
}

static void test_no_reports(void **state)
{
	static const char no_runs[] =
		"{\"schema\":\"wattle.compare/1\",\"commands\":[{\"command\":\"a\","
		"\"series\":{\"schema\":\"wattle.series/1\",\"runs\":[3]}}]}";
	const char *const bad[] = {
		"",
		" \n\t ",
		"{",
		"[]",
		"[1,2]",
		"{}",
		"{\"schema\":7}",
		"{\"schema\":\"wattle.doctor/1\"}",
		"{\"schema\":\"wattle.series/1\"}",
		"{\"schema\":\"wattle.series/1\",\"runs\":[3]}",
		no_runs,
		"{\"schema\":\"wattle.report/1\"} trailing",
		"{\"schema\":\"wattle.report/1\",\"schema\":\"wattle.report/1\"}",
	};
	struct bench bench;

	(void)state;
	begin(&bench, NULL);
	for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
		int rc = wtl_plot_reports_add(bench.reports, "x.json", bad[i], strlen(bad[i]),
					      &bench.err);

		if (rc != -WTL_EFORMAT)
			fail_msg("'%s': %d", bad[i], rc);
		assert_string_equal(bench.err.path, "x.json");
		assert_non_null(strstr(bench.err.text, "this is no report"));
	}
	/* Nothing of them is left. */
	assert_int_equal(figure(&bench), -ENODATA);
	end(&bench);
}

/* Well-formed, but nothing in it is what it should be: unknown, never a crash. */
static void test_wrong_types(void **state)
{
	static const char *const odd[] = {
		"{\"schema\":\"wattle.report/1\",\"domains\":{\"a\":1},\"total\":[],\"duration_s\":\"x\"}",
		"{\"schema\":\"wattle.report/1\",\"domains\":[1,null,[],{\"name\":5},{\"name\":\"a\","
		"\"in_total\":true,\"energy_j\":\"7\"}]}",
		"{\"schema\":\"wattle.report/1\",\"command\":[1,{},null],\"start_utc\":5,"
		"\"duration_s\":-3,\"total\":{\"energy_j\":1e308,\"uncertainty_j\":1e308}}",
		"{\"schema\":\"wattle.report/1\",\"command\":[],\"start_utc\":\"2262-04-11T23:47:16Z\","
		"\"duration_s\":1e300,\"total\":{\"energy_j\":-5}}",
		"{\"schema\":\"wattle.report/1\",\"processes\":[1,{},{\"dynamic_j\":1},{\"pid\":\"x\","
		"\"dynamic_j\":1e308,\"command\":\"\\u0001\\u202e\"}],\"others\":[]}",
		"{\"schema\":\"wattle.report/1\",\"processes\":{\"x\":1},\"others\":{\"full_j\":-1}}",
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(odd); i++)
		for (unsigned what = 0; what < WTL_PLOT_WHATS; what++) {
			struct bench bench;
			int rc;

			begin(&bench, odd[i]);
			bench.wanted.what = (enum wtl_plot_what)what;
			bench.wanted.has_what = true;
			rc = figure(&bench);
			assert_int_equal(rc < 0, bench.err.text[0] != '\0');
			if (rc == 0 && !wtl_plot_is_empty(&bench.sheet.figure))
				good(&bench);
			end(&bench);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_an_interrupted_run),
		cmocka_unit_test(test_command_energy),
		cmocka_unit_test(test_many_files),
		cmocka_unit_test(test_comparison),
		cmocka_unit_test(test_comparison_by_the_machine),
		cmocka_unit_test(test_series_document),
		cmocka_unit_test(test_domains),
		cmocka_unit_test(test_energies),
		cmocka_unit_test(test_consumers),
		cmocka_unit_test(test_sources_of_all_runs),
		cmocka_unit_test(test_consumers_without_a_name),
		cmocka_unit_test(test_consumers_without_a_baseline),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_not_in_a_report),
		cmocka_unit_test(test_neither_report_nor_recording),
		cmocka_unit_test(test_no_reports),
		cmocka_unit_test(test_wrong_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
