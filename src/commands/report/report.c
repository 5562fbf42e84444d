/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/num.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/sink.h"
#include "commands/report/several.h"
#include "document/format.h"
#include "document/report.h"
#include "cli/recordings.h"
#include "commands/report/load.h"
#include "report/missing.h"

#define OUTPUT_MAX (256u << 20)

enum { LINE_MAX_BYTES = 64 * 1024 };

/* A thousand tonnes. */
#define EMBODIED_MAX_MG UINT64_C(1000000000000)

struct settings {
	struct wtl_option_list files;
	struct wtl_replay_settings replay;
	const char *policy;
	bool series, check, sci;
	uint64_t unit_count, embodied_mg;
	bool has_embodied;
};

#define OWN(field) WTL_OWN(struct settings, field)

static int set_embodied(struct wtl_app *app, const struct wtl_option *option, const char *text)
{
	struct settings *settings = app->own;

	(void)option;
	if (wtl_num_fixed(text, strlen(text), 3, &settings->embodied_mg) < 0 ||
	    settings->embodied_mg > EMBODIED_MAX_MG)
		return -EINVAL;
	settings->has_embodied = true;
	return 0;
}

static const struct wtl_option options[] = {
	{"by", 0, "WHAT",
	 "Put together by process, user, command, container, pod, unit, job, cgroup or window",
	 WTL_OPTION_WORD, OWN(replay.by), .words = wtl_by_names},
	{"top", 0, "N", "List the N that used most (default 10)", WTL_OPTION_NUMBER,
	 WTL_SHARED(top), .least = 0, .most = WTL_TOP_MAX},
	{"series", 0, NULL, "Repeated runs, of one recording or several, as a table and a series",
	 WTL_OPTION_FLAG, OWN(series)},
	{"policy", 0, "RULES",
	 "Compute again with idle=learned (what the recording saw itself), idle=none, "
	 "idle=DOMAIN:WATTS, weight=cpu-time, weight=learned or weight=smoothed; several with commas "
	 "between",
	 WTL_OPTION_TEXT, OWN(policy)},
	{"intensity", 0, "FILE|API:ZONE",
	 "The grid's carbon intensity over time: CSV lines of a UTC time and g CO2e/kWh, or asked for of "
	 "electricity-maps:ZONE, uk-grid or uk-grid:REGION",
	 WTL_OPTION_PATH, OWN(replay.intensity_path), .what = "a file"},
	{"intensity-token", 0, "FILE", "The file with the token for that API, in its first line",
	 WTL_OPTION_PATH, OWN(replay.intensity_token), .what = "a file"},
	{"intensity-cache", 0, "DIR",
	 "Where its answers are kept (default: $XDG_CACHE_HOME/wattle or ~/.cache/wattle); an empty DIR "
	 "for nowhere",
	 WTL_OPTION_TEXT, OWN(replay.intensity_cache), .is_rare = true},
	{"intensity-url", 0, "URL", "Ask a relay at URL instead of the API's own place",
	 WTL_OPTION_TEXT, OWN(replay.intensity_url), .is_rare = true},
	{"intensity-ca", 0, "FILE", "Whom to trust instead of the system's authorities (PEM)",
	 WTL_OPTION_PATH, OWN(replay.intensity_ca), .what = "a file", .is_rare = true},
	{"replay", 0, NULL, "Go by all of the recording, even where its summary would say the same",
	 WTL_OPTION_FLAG, OWN(replay.plays)},
	{"sci", 0, NULL,
	 "The Software Carbon Intensity: emissions of energy and of making the hardware, a unit of "
	 "what was done",
	 WTL_OPTION_FLAG, OWN(sci)},
	{"unit-count", 0, "N", "How many units were done, for --sci", WTL_OPTION_NUMBER,
	 OWN(unit_count), .least = 1, .most = INT64_MAX},
	{"embodied", 0, "GRAMS",
	 "What of the emissions of making the hardware belongs to that time, for --sci: g CO2e",
	 WTL_OPTION_OWN, .takes = "grams such as 14.96", .set = set_embodied},
	{"check", 0, NULL, "Only say what is damaged or missing", WTL_OPTION_FLAG, OWN(check)},
	{"from", 0, "TIME", WTL_FROM_TEXT, WTL_OPTION_WHEN, OWN(replay.from)},
	{"to", 0, "TIME", WTL_TO_TEXT, WTL_OPTION_WHEN, OWN(replay.to)},
	{0},
};

static const struct wtl_option *const shared[] = {
	wtl_options_format,
	wtl_options_output,
	wtl_options_terminal,
	wtl_options_carbon,
	wtl_options_mode,
	wtl_options_general,
	NULL,
};

static const struct wtl_option word = {"FILE", .kind = WTL_OPTION_LIST, OWN(files),
				       .what = "a recording", .takes = "recordings"};

/* ---- --check ---- */

/* Both texts are untrusted: they are escaped. */
static void put_line(void *context, const char *text)
{
	const char *path = context;
	struct wtl_buf line;

	wtl_buf_init(&line, LINE_MAX_BYTES);
	wtl_text_escape(&line, path, strlen(path));
	wtl_buf_puts(&line, ": ");
	wtl_text_escape(&line, text, strlen(text));
	puts(wtl_buf_str(&line));
	wtl_buf_done(&line);
}

/* Is there a non-empty log? Then that holds nothing, either. SQLite itself makes empty ones for reading. */
static bool has_log(const char *path)
{
	char log[PATH_MAX];
	struct stat status;

	return snprintf(log, sizeof(log), "%s-wal", path) < (int)sizeof(log) &&
	       stat(log, &status) == 0 && status.st_size > 0;
}

/* Is the recording complete? 1: no, which was printed; or negative. */
static int check_end(char *path, struct wtl_err *err)
{
	char dropped[WTL_REMARK_SIZE];
	struct wtl_store_period last;
	struct wtl_store_reader *reader;
	struct wtl_buf text;
	int rc = wtl_store_open(path, &reader, err);
	size_t n;

	if (rc < 0)
		return rc;
	if (wtl_missing_dropped(reader, dropped))
		put_line(path, dropped);
	n = wtl_store_periods(reader);
	/* With damaged tables, the mark of its end may be what is missing. */
	if (wtl_store_is_whole(reader) || wtl_store_is_live(reader) ||
	    wtl_store_is_damaged(reader)) {
		wtl_store_close(reader);
		return 0;
	}
	wtl_buf_init(&text, 128);
	wtl_buf_puts(&text, "it was cut off: there is nothing ");
	if (n > 0 && wtl_store_period(reader, n - 1, &last) == 0) {
		wtl_buf_puts(&text, "after ");
		wtl_format_utc(&text, last.end_utc_ns);
	} else {
		wtl_buf_puts(&text, "in it");
		if (!has_log(path))
			wtl_buf_puts(&text,
				     "; was there a file beside it, of its name and \"-wal\"?");
	}
	put_line(path, wtl_buf_str(&text));
	wtl_buf_done(&text);
	wtl_store_close(reader);
	return 1;
}

static int check_one(struct wtl_app *app, char *path)
{
	struct wtl_err err = {.code = 0};
	int rc = wtl_history_check(path, put_line, path, &err);
	int end = rc < 0 ? 0 : check_end(path, &err);

	rc = end ? end : rc;
	if (rc < 0)
		wtl_complain_err(app, &err);
	else if (rc == 0)
		put_line(path, "nothing is damaged or missing");
	return rc;
}

static int check_all(struct wtl_app *app)
{
	const struct settings *settings = app->own;
	int code = WTL_EXIT_DONE;

	for (size_t i = 0; i < settings->files.n; i++) {
		char *path = strdup(settings->files.words[i]);

		if (!path) {
			wtl_complain(app, "out of memory");
			return WTL_EXIT_FAILED;
		}
		if (check_one(app, path) != 0)
			code = WTL_EXIT_FAILED;
		free(path);
	}
	return code;
}

static int check_alone(struct wtl_app *app)
{
	static const char *const others[] = {
		"--by", "--top",    "--series", "--policy",   "--intensity", "--replay", "--from",
		"--to", "--format", "--output", "--location", "--pue",	     NULL};
	const struct settings *settings = app->own;
	const char *other = wtl_option_first_used(app, others);

	return other && settings->check
		       ? wtl_complain(app,
				      "--check only says what is damaged or missing: %s has no use",
				      other)
		       : 0;
}

/* ---- The report ---- */

struct session {
	struct wtl_app *app;
	struct wtl_policy policy;
	struct wtl_intensity intensity;
	struct wtl_recorded **recorded;
	size_t n;
	struct wtl_runs_file *files; /* emissions.csv files */
	size_t n_files;
	struct wtl_runs runs;
	struct wtl_comparison_data comparison;
};

/* Checks options that apply to a single run only. */
static int check_runs(struct session *session, bool has_runs)
{
	const struct settings *settings = session->app->own;
	bool is_file = session->n_files > 0;
	const char *path = is_file ? session->files[0].path : session->recorded[0]->recording.path;
	size_t n = is_file ? session->files[0].n : session->recorded[0]->n_runs;

	if (is_file && (settings->replay.from.kind || settings->replay.to.kind ||
			settings->replay.intensity_path || session->app->settings.location))
		wtl_complain(
			session->app,
			"%s: its emissions are told as they are: --from, --to, --intensity and "
			"--location have no use",
			session->files[0].path);
	else if (has_runs && settings->sci)
		wtl_complain(session->app, "--sci is of one run: '%s' holds %zu", path, n);
	else if (has_runs && settings->replay.by >= 0)
		wtl_complain(session->app,
			     "--by is of one run: '%s' holds %zu, which are told as a series", path,
			     n);
	else
		return 0;
	return -EINVAL;
}

/* Chooses the result: one recording, a comparison, or runs. */
static int prepare(struct session *session, struct wtl_result *result)
{
	const struct settings *settings = session->app->own;
	bool has_runs =
		session->n_files > 0 || (session->n == 1 && session->recorded[0]->n_runs > 1);
	int rc = check_runs(session, has_runs);

	if (rc < 0)
		return rc;
	if (settings->series || has_runs) {
		rc = wtl_runs_new(session->recorded, session->n, session->files, session->n_files,
				  &session->runs);
		result->thing = &wtl_thing_runs;
		result->what = &session->runs;
		if (rc == 0 && session->runs.n_runs == session->runs.n_unfinished) {
			wtl_complain(session->app, "no run was recorded to its end");
			return -ENODATA;
		}
	} else if (session->n > 1) {
		rc = wtl_comparison_new(session->recorded, session->n, &session->comparison);
		result->thing = &wtl_thing_comparison;
		result->what = &session->comparison.comparison;
	} else {
		result->thing = &wtl_thing_recording;
		session->recorded[0]->recording.report.carbon.sci = (struct wtl_report_sci){
			.units = settings->unit_count,
			.embodied_mg = settings->embodied_mg,
		};
		result->what = &session->recorded[0]->recording;
	}
	if (rc < 0)
		wtl_complain(session->app, "out of memory");
	return rc;
}

/* By a real io, as the recording's own one cannot write. */
static int write_result(struct session *session, const struct wtl_result *result)
{
	struct wtl_err err = {.code = 0};
	struct wtl_io *io;
	int rc = wtl_io_real_new(NULL, &io, &err);

	if (rc < 0) {
		wtl_complain_err(session->app, &err);
		return rc;
	}
	io->file_mode = session->app->settings.file_mode;
	rc = wtl_sink_write(session->app, io, result);
	wtl_io_free(io);
	return rc;
}

static int load_all(struct session *session)
{
	const struct settings *settings = session->app->own;
	int rc = 0;

	session->recorded = calloc(settings->files.n + 1, sizeof(*session->recorded));
	session->files = calloc(settings->files.n + 1, sizeof(*session->files));
	if (!session->recorded || !session->files) {
		wtl_complain(session->app, "out of memory");
		return -ENOMEM;
	}
	for (size_t i = 0; rc == 0 && i < settings->files.n; i++) {
		const char *path = settings->files.words[i];

		if (wtl_runs_file_is(path)) {
			rc = wtl_runs_file_load(session->app, path,
						&session->files[session->n_files]);
			session->n_files += rc == 0;
			continue;
		}
		rc = wtl_report_load(session->app, &settings->replay, path, &session->policy,
				     &session->intensity, &session->recorded[session->n]);
		session->n += rc == 0;
	}
	return rc;
}

static int report(struct session *session)
{
	struct wtl_result result = {.max = OUTPUT_MAX};
	int rc = load_all(session);

	if (rc == 0)
		rc = prepare(session, &result);
	if (rc == 0)
		rc = write_result(session, &result);
	wtl_runs_free(&session->runs);
	wtl_comparison_free(&session->comparison);
	for (size_t i = 0; i < session->n; i++)
		wtl_recorded_free(session->recorded[i]);
	for (size_t i = 0; i < session->n_files; i++)
		wtl_runs_file_free(&session->files[i]);
	free(session->recorded);
	free(session->files);
	return rc;
}

static int check_files(struct wtl_app *app)
{
	const struct settings *settings = app->own;

	if (settings->files.n == 0)
		return wtl_complain(app, "which recording? As in: wattle report night.wattle");
	for (size_t i = 0; i < settings->files.n; i++)
		if (wtl_option_check_output(app, settings->files.words[i]))
			return EINVAL;
	return wtl_intensity_check(app, &settings->replay);
}

/* SCI needs all of its terms. */
static int check_sci(struct wtl_app *app)
{
	const struct settings *settings = app->own;

	if (settings->sci && (settings->unit_count == 0 || !settings->has_embodied))
		return wtl_complain(app, "--sci wants --unit-count N and --embodied GRAMS");
	if (!settings->sci && (settings->unit_count > 0 || settings->has_embodied))
		return wtl_complain(app, "--unit-count and --embodied are for --sci");
	if (settings->sci && (settings->files.n > 1 || settings->series))
		return wtl_complain(app, "--sci is of one recording");
	return 0;
}

/* Options that exclude each other. */
static int check_together(struct wtl_app *app)
{
	const struct settings *settings = app->own;
	const struct wtl_replay_settings *replay = &settings->replay;

	if (replay->intensity_path && app->settings.location)
		return wtl_complain(app, "--intensity and --location exclude each other");
	if (settings->series && (replay->from.kind || replay->to.kind))
		return wtl_complain(app, "--series tells whole runs: --from and --to have no use");
	if (settings->series && replay->by >= 0)
		return wtl_complain(app, "--series and --by exclude each other");
	if (replay->by == WTL_BY_WINDOW && wtl_option_is_used(app, "--top"))
		return wtl_complain(app, "--by window tells all windows: --top has no use");
	if (wtl_when_is_backwards(&replay->from, &replay->to))
		return wtl_complain(app, "--to is not after --from");
	if (settings->files.n > 1 && replay->by >= 0)
		return wtl_complain(app, "--by is of one recording: several are told side by side");
	return 0;
}

static int check_settings(struct wtl_app *app)
{
	return check_files(app) || check_alone(app) || check_together(app) || check_sci(app);
}

static int run(struct wtl_app *app)
{
	const struct settings *settings = app->own;
	struct session session = {.app = app};
	int rc;

	if (check_settings(app) || wtl_policy_parse(app, settings->policy, &session.policy))
		return WTL_EXIT_USAGE;
	if (settings->check)
		return check_all(app);
	if (wtl_sink_check(app) < 0 ||
	    wtl_intensity_load(app, &settings->replay, &settings->files, &session.intensity) < 0)
		return WTL_EXIT_FAILED;
	rc = report(&session);
	wtl_intensity_done(&session.intensity);
	return rc < 0 ? WTL_EXIT_FAILED : WTL_EXIT_DONE;
}

const struct wtl_command wtl_command_report = {
	.name = "report",
	.summary = "Report on recordings: energy, who used it, CO2",
	.synopsis = "[OPTION...] FILE...",
	.description =
		"Computes from a recording what was used and by whom, with the same code that measures "
		"live: the figures are those that wattle run would have told, to the microjoule.\n\n"
		"Of two or more recordings it tells what they differ by, and how sure that is; of "
		"repeated runs each, their mean, spread and sum. A recording that is still being written can "
		"be read at any time.\n\n"
		"FILE may also be an emissions.csv of CodeCarbon or of wattle run --emissions: its rows are "
		"told as runs, beside those of recordings.",
	.examples = "wattle report night.wattle\n"
		    "    what the machine used that night, and who\n\n"
		    "wattle report --from 14:00 --to 15:00 --by container night.wattle\n"
		    "    an hour of it, by container\n\n"
		    "wattle report before.wattle after.wattle\n"
		    "    two recordings side by side, with their differences\n\n"
		    "wattle report --series emissions.csv a.wattle b.wattle\n"
		    "    duration, energy and emissions of all runs over time, and their sum\n\n"
		    "wattle report --intensity grid.csv night.wattle\n"
		    "    emissions with the grid's intensity hour by hour\n\n"
		    "wattle report --intensity uk-grid night.wattle\n"
		    "    the same, asked for of those who publish that of Great Britain\n\n"
		    "wattle report --check night.wattle\n"
		    "    what of it is damaged or missing",
	.exit_status =
		"0\tdone\n"
		"1\ta recording cannot be read, or (--check) something is damaged or missing\n"
		"2\twrong options",
	.options = options,
	.shared = shared,
	.word = &word,
	.settings_size = sizeof(struct settings),
	.defaults = &(const struct settings){.replay = {.by = -1}},
	.usage_exit = WTL_EXIT_USAGE,
	.run = run,
};
