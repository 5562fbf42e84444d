/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/config.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/sink.h"
#include "commands/run/emissions.h"
#include "commands/run/session.h"

struct settings {
	int64_t every_ns; /* 0: not given */
	struct wtl_recording_settings recording;
	const char *emissions;
	unsigned emissions_format;
};

static int set_recording(struct wtl_app *app, const struct wtl_option *option, const char *path)
{
	return HAVE_RECORDINGS ? wtl_recording_set_path(app, option, path)
			       : wtl_complain(app, "--record: %s", WTL_WITHOUT_RECORDINGS);
}

static const struct wtl_option options[] = {
	{"record", 0, "FILE",
	 "Keep all that is measured in FILE, which must not exist yet: see wattle record",
	 WTL_OPTION_OWN, WTL_OWN(struct settings, recording.path), .what = "a file",
	 .file = WTL_FILE_RECORDING, .set = set_recording},
	{"every", 'I', "SECONDS",
	 "Print a line for each interval as the command runs (0.01 to 86400): text, csv, or json as lines",
	 WTL_OPTION_DURATION, WTL_OWN(struct settings, every_ns), .least = 10 * WTL_NS_PER_MS,
	 .most = 86400 * WTL_NS_PER_S},
	{"emissions", 0, "FILE",
	 "Append a row for each run to FILE, as CodeCarbon does: energies there are times the PUE",
	 WTL_OPTION_PATH, WTL_OWN(struct settings, emissions), .what = "a file",
	 .file = WTL_FILE_OUTPUT},
	{"emissions-format", 0, "FORM",
	 "The columns of a FILE that is new: 2023 (default; 31 of them) or latest (38)",
	 WTL_OPTION_WORD, WTL_OWN(struct settings, emissions_format),
	 .words = wtl_emissions_formats},
	{"full", 0, NULL,
	 "The whole report as text: domains, where the energy went, processes, all remarks",
	 WTL_OPTION_FLAG, WTL_SHARED(full)},
	{"top", 0, "N", "List the N processes that used most (default 10)", WTL_OPTION_NUMBER,
	 WTL_SHARED(top), .least = 0, .most = WTL_TOP_MAX},
	{0},
};

static const struct wtl_option *const shared[] = {
	wtl_options_repeat,
	wtl_options_idle_first,
	wtl_options_consumers,
	wtl_options_interval,
	wtl_options_gpus,
	wtl_options_jitter,
	wtl_options_format,
	wtl_options_output,
	wtl_options_terminal,
	wtl_options_carbon,
	wtl_options_machine,
	wtl_options_general,
	NULL,
};

/* What does not go with a tape, which is a machine of its own. */
static int check_tape(struct wtl_app *app)
{
	const struct wtl_settings *settings = &app->settings;

	if (settings->command)
		return wtl_complain(app, "a tape replays a machine: it takes no command");
	if (settings->repeat || settings->until > 0.0)
		return wtl_complain(app, "a tape is the same every time: --repeat has no use");
	return 0;
}

static int check_every(struct wtl_app *app)
{
	const struct settings *settings = app->own;

	return settings->every_ns && (app->settings.repeat || app->settings.until > 0.0)
		       ? wtl_complain(app, "--every shows one run: leave out --repeat and --until")
		       : 0;
}

static int check_settings(struct wtl_app *app)
{
	const struct wtl_settings *settings = &app->settings;

	if (settings->tape && check_tape(app))
		return EINVAL;
	if (!settings->tape && !settings->command)
		return wtl_complain(app, "which command? As in: wattle run -- sleep 2");
	return wtl_option_check_repeat(app) || check_every(app) ? EINVAL : 0;
}

static const struct wtl_report *report_at(const void *of, size_t run)
{
	const struct wtl_run_session *session = of;

	return &session->outcomes[run].report;
}

static bool has_converged(const struct wtl_run_session *session)
{
	const struct wtl_run_list runs = {report_at, session, session->n};
	const struct wtl_settings *settings = &session->app->settings;
	struct wtl_statistics energy;

	wtl_runs_statistics_of_all(&runs, WTL_RUN_ENERGY_J, &energy);
	return energy.n >= WTL_UNTIL_RUNS_MIN && energy.mean > 0.0 &&
	       energy.ci95 <= settings->until * energy.mean;
}

static unsigned runs_max(const struct wtl_settings *settings)
{
	return settings->repeat	      ? settings->repeat
	       : settings->repeat_max ? settings->repeat_max
				      : WTL_UNTIL_RUNS_MAX;
}

static bool goes_on(struct wtl_run_session *session)
{
	const struct wtl_settings *settings = &session->app->settings;

	if (wtl_loop_interrupted(&session->loop))
		return false;
	if (settings->until > 0.0)
		return session->n < runs_max(settings) && !has_converged(session);
	return session->n < settings->repeat;
}

/* If the command also writes to the terminal, each progress line stays. */
static bool is_alone_on_terminal(void)
{
	return isatty(STDOUT_FILENO) != 1;
}

/* An estimate for --until: the interval narrows with the root of the number of runs. 0: not known yet. */
static double runs_left(const struct wtl_run_session *session, const struct wtl_statistics *energy)
{
	const struct wtl_settings *settings = &session->app->settings;
	double n = (double)session->n, wide, whole = runs_max(settings);

	if (settings->until > 0.0) {
		if (energy->n < 2 || !(energy->mean > 0.0))
			return 0.0;
		wide = energy->ci95 / energy->mean / settings->until;
		whole = fmin(whole, fmax(WTL_UNTIL_RUNS_MIN, n * wide * wide));
	}
	return fmax(1.0, ceil(whole - n));
}

/* Shows the progress. */
static void show_progress(const struct wtl_run_session *session)
{
	const struct wtl_settings *settings = &session->app->settings;
	const struct wtl_run_list runs = {report_at, session, session->n};
	struct wtl_statistics energy, time;
	char of[32] = "", mean[96] = "", left[48] = "";
	double n_left, percent;

	wtl_runs_statistics_of_all(&runs, WTL_RUN_ENERGY_J, &energy);
	wtl_runs_statistics_of_all(&runs, WTL_RUN_DURATION_S, &time);
	if (settings->repeat)
		snprintf(of, sizeof(of), " of %u", settings->repeat);
	percent = 100 * energy.ci95 / energy.mean;
	if (energy.n > 1 && energy.mean > 0)
		snprintf(mean, sizeof(mean), ", mean %.4g J, good to %.*f %%", energy.mean,
			 (percent < 9.95) + (percent < 0.995), percent);
	n_left = runs_left(session, &energy);
	if (n_left > 0.0 && time.n > 0)
		snprintf(left, sizeof(left), ", about %.*f s left", time.mean * n_left < 9.95,
			 time.mean * n_left);
	wtl_progress_show(session->app, is_alone_on_terminal(), "%zu%s run%s done%s%s", session->n,
			  of, session->n == 1 && !settings->repeat ? "" : "s", mean, left);
}

/* 0 or the exit code to stop with; earlier runs still count. */
static int run_all(struct wtl_run_session *session)
{
	int stop = wtl_run_once(session);

	while (!stop && goes_on(session)) {
		show_progress(session);
		stop = wtl_run_once(session);
	}
	if (session->n > 1 && is_alone_on_terminal())
		wtl_progress_clear(session->app);
	return stop;
}

static void find_statistics(const struct wtl_run_session *session, struct wtl_series *series,
			    struct wtl_statistics domain_j[], size_t n_domains)
{
	const struct wtl_run_list runs = {report_at, session, session->n};

	wtl_runs_figures(&runs, series->of);
	for (size_t i = 0; i < n_domains; i++)
		wtl_runs_statistics(&runs, WTL_RUN_DOMAIN_J + i, &domain_j[i]);
}

static int write_series(const struct wtl_run_session *session, struct wtl_result *result)
{
	const struct wtl_settings *settings = &session->app->settings;
	size_t n_domains = session->outcomes[0].report.n_domains;
	struct wtl_report *reports = calloc(session->n, sizeof(*reports));
	struct wtl_statistics *domain_j = calloc(n_domains + 1, sizeof(*domain_j));
	struct wtl_series series = {
		.reports = reports,
		.n_reports = session->n,
		.until = settings->until,
		.converged = settings->until > 0.0 && has_converged(session),
		.domain_j = domain_j,
	};
	int rc = -ENOMEM;

	if (reports && domain_j) {
		for (size_t i = 0; i < session->n; i++)
			reports[i] = session->outcomes[i].report;
		find_statistics(session, &series, domain_j, n_domains);
		result->thing = &wtl_thing_series;
		result->what = &series;
		rc = wtl_sink_write(session->app, session->io, result);
	} else {
		wtl_complain(session->app, "out of memory");
	}
	free(reports);
	free(domain_j);
	return rc;
}

static int write_result(const struct wtl_run_session *session)
{
	struct wtl_app *app = session->app;
	const struct wtl_settings *settings = &app->settings;
	struct wtl_result result = {.thing = &wtl_thing_report,
				    .what = &session->outcomes[0].report,
				    .max = WTL_RUN_OUTPUT_MAX,
				    .cannot_be_had_again = true};

	if (session->every) {
		result.is_beside = session->every->writer || wtl_option_is_used(app, "--output");
		if (!result.is_beside)
			wtl_run_every_finish(session->every);
		if (wtl_run_every_has_place(session->every))
			return 0;
	}
	if (settings->repeat || settings->until > 0.0)
		return write_series(session, &result);
	return wtl_sink_write(app, session->io, &result);
}

static int append_emissions(const struct wtl_run_session *session)
{
	const struct settings *settings = session->app->own;
	int rc = 0;

	for (size_t i = 0; rc == 0 && settings->emissions && i < session->n; i++)
		rc = wtl_emissions_append(session, &session->outcomes[i].report,
					  settings->emissions,
					  (enum wtl_codecarbon_format)settings->emissions_format);
	return rc;
}

static int measure(struct wtl_run_session *session)
{
	int stop = wtl_billing_watch_idle(&session->billing, &session->loop,
					  session->recording.recorder);
	int recorded;

	if (stop == 0)
		stop = run_all(session);
	recorded = wtl_run_finish(session);
	if (append_emissions(session) < 0)
		recorded = -EIO;
	if ((session->n > 0 && write_result(session) < 0) || recorded < 0)
		return WTL_EXIT_WATTLE_FAILED;
	return stop ? stop : wtl_run_exit_code(session);
}

static int run(struct wtl_app *app)
{
	const struct settings *settings = app->own;
	struct wtl_run_session session = {0};
	struct wtl_run_every every = {.fd = -1};
	int code = WTL_EXIT_WATTLE_FAILED;

	if (check_settings(app) || wtl_sink_check(app) < 0 ||
	    (settings->emissions && wtl_emissions_check(app, settings->emissions) < 0) ||
	    wtl_run_open(&session, app, &settings->recording) < 0)
		return WTL_EXIT_WATTLE_FAILED;
	if (settings->every_ns) {
		session.every = &every;
		if (wtl_run_every_open(&every, app, &session.billing, &session.loop,
				       settings->every_ns) == 0)
			code = measure(&session);
		if (wtl_run_every_close(&every) < 0)
			code = WTL_EXIT_WATTLE_FAILED;
	} else {
		code = measure(&session);
	}
	wtl_run_close(&session);
	return code;
}

const struct wtl_command wtl_command_run = {
	.name = "run",
	.summary = "Measure what a command costs",
	.synopsis = "[OPTION...] [--] COMMAND [ARGUMENT...]",
	.description =
		"Runs COMMAND and tells what it used, with all its descendants, and what the machine "
		"used meanwhile: joules, watt hours and CO2 equivalent, each with its uncertainty "
		"(plus or minus, at k = 2). --full adds each part of the machine with its source and "
		"its method, where the energy went, and the processes that used most.\n\n"
		"Dynamic is what is above the machine's idle power, full has a part of the idle power, "
		"too. Idle power is learned while the machine rests, and kept; --idle-first measures "
		"it now.\n\n"
		"The command keeps the terminal, and wattle's exit status is its exit status. Signals "
		"sent to wattle are passed on; Ctrl-C ends the command, and the report of what ran is "
		"still printed. The report goes to standard error after the command has ended: -o - "
		"sends it to standard output, -o FILE to a file.",
	.examples = "wattle run -- sleep 2\n"
		    "    what two seconds of this machine cost\n\n"
		    "wattle run --idle-first 10 -- make -j8\n"
		    "    first learn what the machine draws at rest: then it is known what the\n"
		    "    command itself used\n\n"
		    "wattle run --location FRA -- python train.py\n"
		    "    with the carbon intensity of France\n\n"
		    "wattle run --repeat 10 -f json -o cost.json -- make -j8\n"
		    "    ten runs, their mean and spread, as JSON\n\n"
		    "wattle run -I 1 -f csv -o power.csv -- ./train.sh\n"
		    "    a row a second while it runs\n\n"
		    "wattle run --until 2% -- ./benchmark\n"
		    "    as many runs as the mean needs to be known within 2 %\n\n"
		    "wattle run -f csv --append -o costs.csv -- ./nightly.sh\n"
		    "    one more line in a table",
	.exit_status = "N\tthe command's own exit status, or 128 + N when signal N ended it (of "
		       "several runs: the first that is not 0)\n"
		       "125\twattle itself failed, or its options were wrong\n"
		       "126\tthe command could not be run\n"
		       "127\tthe command was not found",
	.options = options,
	.shared = shared,
	.settings_size = sizeof(struct settings),
	.takes_command = true,
	.measures = true,
	.usage_exit = WTL_EXIT_WATTLE_FAILED,
	.run = run,
};
