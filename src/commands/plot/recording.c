/* SPDX-License-Identifier: MIT */
#include "commands/plot/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/config.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/machine.h"
#include "document/report.h"
#include "cli/recordings.h"
#include "energy/baseline.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "meter/meter.h"
#include "commands/plot/report.h"
#include "commands/report/runs_file.h"
#include "replay/format.h"
#include "replay/wall.h"
#include "report/missing.h"
#include "report/recorded.h"

#define REPORT_MAX (64u << 20)

enum { LINES_MAX = 2 };

/* ---- The drawn part ---- */

/* For a clock that was set: the picture's time when it first showed said_ns; INT64_MIN if it never did. */
static int64_t place_of(const struct wtl_plot_replay *replay, const struct wtl_when *when,
			int64_t said_ns)
{
	const struct wtl_wall *wall = wtl_player_wall(replay->history->player);
	const struct wtl_plot_times *times = &replay->times;
	int64_t mono_ns, before_ns;

	if (!wtl_wall_find(wall, said_ns, &mono_ns))
		return INT64_MIN;
	/* A time of day refers to the day before if it is past the recording's end and the clock showed it then. */
	if (when->kind == WTL_WHEN_CLOCK && mono_ns > times->end_mono_ns &&
	    wtl_wall_find(wall, said_ns - 86400 * WTL_NS_PER_S, &before_ns) &&
	    before_ns <= times->end_mono_ns)
		mono_ns = before_ns;
	return wtl_plot_times_utc(times, mono_ns);
}

/* The picture's time of --from or --to: since the start, or a time of the wall clock. */
static int64_t picture_utc_ns(const struct wtl_plot_replay *replay, const struct wtl_when *when,
			      int64_t said_ns, int64_t since_ns)
{
	const struct wtl_plot_times *times = &replay->times;
	int64_t t_ns;

	if (__builtin_add_overflow(when->kind == WTL_WHEN_SINCE ? times->begin_mono_ns : said_ns,
				   since_ns, &t_ns))
		return since_ns < 0 ? INT64_MIN : INT64_MAX;
	if (when->kind == WTL_WHEN_SINCE)
		return wtl_plot_times_utc(times, t_ns);
	/* The axis includes suspended time, too. */
	return times->was_set ? place_of(replay, when, t_ns) : t_ns;
}

static int find_stretch(struct wtl_plot_replay *replay)
{
	const struct wtl_plot_settings *settings = replay->settings;
	const struct wtl_plot_times *times = &replay->times;
	int64_t begin_utc_ns = wtl_plot_times_utc(times, times->begin_mono_ns);
	int64_t end_utc_ns = wtl_plot_times_utc(times, times->end_mono_ns), from_ns, to_ns;
	int64_t said_ns = wtl_plot_times_said(times, begin_utc_ns);
	int rc = wtl_plot_since(replay->app, settings, said_ns, &from_ns, &to_ns);

	if (rc < 0)
		return rc;
	replay->from_utc_ns = begin_utc_ns;
	replay->to_utc_ns = end_utc_ns;
	if (settings->from.kind != WTL_WHEN_NOT)
		from_ns = picture_utc_ns(replay, &settings->from, said_ns, from_ns);
	if (settings->to.kind != WTL_WHEN_NOT)
		to_ns = picture_utc_ns(replay, &settings->to, said_ns, to_ns);
	if ((settings->from.kind != WTL_WHEN_NOT && from_ns > end_utc_ns) ||
	    (settings->to.kind != WTL_WHEN_NOT && to_ns < begin_utc_ns)) {
		wtl_complain(replay->app, "'%s' lasts %.1f s: nothing of it lies in that stretch",
			     replay->path, (double)(end_utc_ns - begin_utc_ns) / 1e9);
		return -ERANGE;
	}
	if (settings->from.kind != WTL_WHEN_NOT && from_ns > begin_utc_ns)
		replay->from_utc_ns = from_ns;
	if (settings->to.kind != WTL_WHEN_NOT && to_ns < end_utc_ns)
		replay->to_utc_ns = to_ns;
	return 0;
}

/* ---- The figure ---- */

/* "rapl-perf (counter), model (modelled)": of the drawn domains. */
static const char *sources(const struct wtl_plot_replay *replay)
{
	struct wattle_meter *meter = replay->history->meter;
	size_t n = wattle_meter_domains(meter);
	struct wtl_buf buf;
	const char *text;

	wtl_buf_init(&buf, 400);
	for (size_t i = 0; i < n && !buf.error; i++) {
		struct wattle_domain domain;

		if (wtl_meter_domain(meter, i, &domain) == 0 && domain.source &&
		    wtl_plot_is_wanted(replay, &domain))
			wtl_plot_put_source(&buf, domain.source, wattle_method_name(domain.method));
	}
	text = wtl_plot_sheet_printf(replay->sheet, "%s", wtl_buf_str(&buf));
	wtl_buf_done(&buf);
	return text;
}

/* "2026-11-21 15:30:38 to 15:30:40 UTC" */
static const char *times_text(struct wtl_plot_sheet *sheet, int64_t from_utc_ns, int64_t to_utc_ns)
{
	struct wtl_buf buf;
	const char *text;

	wtl_buf_init(&buf, 128);
	wtl_plot_put_times(&buf, from_utc_ns, to_utc_ns);
	text = wtl_plot_sheet_printf(sheet, "%s", wtl_buf_str(&buf));
	wtl_buf_done(&buf);
	return text;
}

/* "vm: AMD EPYC · 2026-11-21 15:30:38 to 15:30:40 UTC · wattle 0.1.0", and below it the sources. */
static void head(struct wtl_plot_replay *replay, bool has_sources)
{
	struct wtl_plot_figure *figure = &replay->sheet->figure;
	const char **lines = wtl_plot_sheet_array(replay->sheet, LINES_MAX, sizeof(*lines));
	const char *cpu = wtl_history_fact(replay->history, WTL_FACT_CPU_MODEL);
	const char *host = wtl_history_fact(replay->history, "host");
	/* Wall clock times as in reports, whatever the axis shows. */
	int64_t from_ns = wtl_plot_times_said(&replay->times, replay->from_utc_ns);
	int64_t to_ns = wtl_plot_times_said(&replay->times, replay->to_utc_ns);

	if (!lines)
		return;
	lines[0] = wtl_plot_sheet_printf(replay->sheet, "%.60s%s%.100s%s%s · wattle %.40s", host,
					 host[0] && cpu[0] ? ": " : "", cpu,
					 host[0] || cpu[0] ? " · " : "",
					 times_text(replay->sheet, from_ns, to_ns),
					 wtl_history_fact(replay->history, WTL_FACT_VERSION));
	lines[1] = has_sources ? sources(replay) : "";
	figure->lines = lines;
	figure->n_lines = lines[1][0] ? 2 : 1;
	figure->t_utc_ns = from_ns;
	figure->shares_x = true;
}

/* Notes on the picture's clock, and on missing data as far as the recording was played. */
static void add_notes(const struct wtl_plot_replay *replay)
{
	const struct wtl_plot_times *times = &replay->times;
	char text[WTL_REMARK_SIZE];

	if (times->was_set)
		wtl_plot_note(
			replay->sheet,
			wtl_plot_sheet_printf(
				replay->sheet,
				"the clock was set meanwhile: the axis goes by what it said from %s",
				times_text(replay->sheet,
					   wtl_plot_times_utc(times, times->longest_from_ns),
					   wtl_plot_times_utc(times, times->longest_to_ns))));
	if (wtl_missing_dropped(replay->history->reader, text))
		wtl_plot_note(replay->sheet, text);
	if (replay->has_lost)
		wtl_missing_lost(replay->lost.text, text);
	if (replay->has_lost || wtl_missing_rows(replay->history, text))
		wtl_plot_note(replay->sheet, text);
}

/* Below the title: the only drawn domain, or the machine. */
static const char *summary(const struct wtl_plot_replay *replay)
{
	const struct wtl_plot_wanted *wanted = &replay->settings->wanted;
	const char *name = wanted->n_domains == 1 ? wanted->domains[0] : "total";
	int found = wattle_meter_find(replay->history->meter, name);
	const struct wattle_energy *whole =
		&replay->whole[found >= 0 ? (size_t)found : replay->history->n_domains];
	double energy_j = (double)whole->energy_uj / 1e6, mean_w = (double)whole->mean_uw / 1e6;
	double doubt = (double)whole->uncertainty_uj / (double)whole->energy_uj;

	return wtl_plot_sheet_summary(
		replay->sheet, found >= 0 ? name : "machine",
		&(struct wtl_plot_point){.y = whole->has_energy ? energy_j : WTL_PLOT_UNKNOWN,
					 .high = energy_j * (1 + doubt)},
		&(struct wtl_plot_point){.y = whole->has_power ? mean_w : WTL_PLOT_UNKNOWN,
					 .high = mean_w * (1 + doubt)});
}

static const struct picture {
	int (*draw)(struct wtl_plot_replay *replay);
	const char *title, *nothing;
	bool has_sources; /* above the picture: below each domain's name there is no room */
} pictures[WTL_PLOT_WHATS] = {
	[WTL_PLOT_POWER] = {wtl_plot_recorded_power, "Power", "no domain was measured there",
			    false},
	[WTL_PLOT_PROCESSES] = {wtl_plot_recorded_processes, "Power by who used it",
				"it tells of no processes there", true},
	[WTL_PLOT_WINDOWS] = {wtl_plot_recorded_windows, "Energy of windows",
			      "no window ended there", true},
	[WTL_PLOT_MEMORY] = {wtl_plot_recorded_memory, "Memory",
			     "it tells of nobody's memory there", false},
};

static int draw(struct wtl_plot_replay *replay, const struct picture *picture)
{
	struct wtl_plot_figure *figure = &replay->sheet->figure;
	const char *of;
	int rc = wtl_plot_times_read(&replay->times, replay->history);

	if (rc == 0)
		rc = find_stretch(replay);
	if (rc < 0)
		return rc;
	head(replay, picture->has_sources);
	rc = picture->draw(replay);
	if (rc == 0)
		rc = replay->sheet->error;
	if (rc == 0 && wtl_plot_is_empty(figure))
		rc = -ENODATA;
	if (rc < 0)
		return rc;
	add_notes(replay);
	of = wtl_history_fact(replay->history, "command");
	if (!of[0])
		of = wtl_history_fact(replay->history, "host");
	figure->title = wtl_plot_sheet_printf(replay->sheet, "%s: %s", picture->title,
					      of[0] ? of : "this machine");
	figure->summary = summary(replay);
	return replay->sheet->error;
}

int wtl_plot_recording(struct wtl_app *app, const char *path,
		       const struct wtl_plot_settings *settings, struct wtl_plot_sheet *sheet)
{
	const struct wtl_plot_wanted *wanted = &settings->wanted;
	const struct picture *picture = &pictures[wanted->has_what ? wanted->what : WTL_PLOT_POWER];
	struct wtl_plot_replay replay = {
		.app = app, .path = path, .settings = settings, .sheet = sheet};
	int rc;

	rc = wtl_plot_rewind(&replay);
	if (rc == 0)
		rc = draw(&replay, picture);
	if (rc == -ENODATA)
		wtl_complain(app, "there is nothing to plot of '%s': %s", path, picture->nothing);
	else if (rc < 0 && !app->complained)
		wtl_complain(app, "'%s' cannot be drawn: %s", path, wtl_err_text(rc));
	wtl_plot_times_done(&replay.times);
	wtl_history_close(replay.history);
	return rc < 0 ? WTL_EXIT_FAILED : 0;
}

/* ---- Runs: drawn from their reports ---- */

static int add_report(struct wtl_app *app, const char *path, const struct wtl_report *report,
		      struct wtl_plot_reports *reports)
{
	const struct wtl_output_style style = {.ascii = false};
	struct wtl_err err = {.code = 0};
	struct wtl_buf buf;
	int rc = -ENOSYS;

	wtl_buf_init(&buf, REPORT_MAX);
	if (HAVE_JANSSON)
		rc = wtl_thing_write(&buf, &wtl_thing_report, report, &wtl_writer_json, &style);
	if (HAVE_JANSSON && rc == 0)
		rc = wtl_plot_reports_add(reports, path, wtl_buf_str(&buf), buf.len, &err);
	if (rc < 0)
		wtl_complain(app, "'%s': %s", path,
			     err.text[0] ? err.text
					 : "runs are drawn from JSON, which this wattle was built "
					   "without");
	wtl_buf_done(&buf);
	return rc;
}

int wtl_plot_add_runs(struct wtl_app *app, const char *path, struct wtl_plot_reports *reports)
{
	const struct wtl_history_options options = {.keeps_windows = true, .may_summarize = true};
	const struct wtl_recorded_options how = {.place = wtl_settings_place(&app->settings)};
	struct wtl_recorded *recorded;
	struct wtl_history *history;
	struct wtl_err err = {.code = 0};
	int rc = wtl_history_open(path, &options, &history, &err);

	if (rc == 0)
		rc = wtl_recorded_new(history, path, &how, &recorded, &err);
	if (rc < 0 && err.source[0])
		wtl_complain_err(app, &err);
	else if (rc < 0)
		wtl_complain(app, "%s: %s", path, err.text);
	if (rc < 0)
		return rc;
	wtl_remark_missing(app, path, recorded->history);
	for (size_t i = 0; rc == 0 && i < wtl_recorded_runs(recorded); i++)
		rc = add_report(app, path, &recorded->runs[i]->report, reports);
	if (rc == 0 && recorded->is_unfinished)
		wtl_remark(app, "%s: run %zu is not drawn, as its end is not in the file", path,
			   recorded->n_runs);
	wtl_recorded_free(recorded);
	return rc;
}

int wtl_plot_add_rows(struct wtl_app *app, const char *path, struct wtl_plot_reports *reports)
{
	struct wtl_runs_file file = {.n = 0};
	int rc = wtl_runs_file_load(app, path, &file);

	for (size_t i = 0; rc == 0 && i < file.n; i++)
		rc = add_report(app, path, &file.rows[i].report, reports);
	wtl_runs_file_free(&file);
	return rc;
}
