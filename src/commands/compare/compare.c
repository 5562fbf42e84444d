/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wordexp.h>

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/option.h"
#include "cli/progress.h"
#include "cli/sink.h"
#include "commands/run/session.h"
#include "document/words.h"
#include "report/compare.h"

enum { REPEAT_DEFAULT = 10, WARMUP_MAX = 1000 };

struct settings {
	unsigned warmup;
	struct wtl_option_list commands, prepare, names;
	bool no_shell, show_output, ignore_failure;
	enum wtl_compare_by by;
};

static const char *const energies[] = {[WTL_COMPARE_BEST] = "best",
				       [WTL_COMPARE_DYNAMIC] = "dynamic",
				       [WTL_COMPARE_MACHINE] = "machine",
				       NULL};

static const struct wtl_option options[] = {
	{"warmup", 'w', "N", "First run each command N times without measuring it (0 to 1000)",
	 WTL_OPTION_NUMBER, WTL_OWN(struct settings, warmup), .least = 0, .most = WARMUP_MAX},
	{"prepare", 0, "CMD",
	 "Run CMD before each run, and do not measure it; given once for all commands, or once for each",
	 WTL_OPTION_LIST, WTL_OWN(struct settings, prepare), .takes = "preparations"},
	{"command-name", 'n', "NAME", "What to call a command; given once for each, in their order",
	 WTL_OPTION_LIST, WTL_OWN(struct settings, names), .takes = "names"},
	{"energy", 0, "WHICH",
	 "What is compared: dynamic, the commands' own above idle; machine, all that it used; best "
	 "(default), dynamic where it is known",
	 WTL_OPTION_WORD, WTL_OWN(struct settings, by), .words = energies},
	{"ignore-failure", 0, NULL, "Go on when a command fails", WTL_OPTION_FLAG,
	 WTL_OWN(struct settings, ignore_failure)},
	{"show-output", 0, NULL,
	 "Show what the commands write to standard output; the result goes to standard error then",
	 WTL_OPTION_FLAG, WTL_OWN(struct settings, show_output)},
	{"no-shell", 'N', NULL,
	 "Run the commands without a shell, which takes a millisecond itself; quotes are understood",
	 WTL_OPTION_FLAG, WTL_OWN(struct settings, no_shell)},
	{0},
};

static const struct wtl_option *const shared[] = {
	wtl_options_repeat,
	wtl_options_idle_first,
	wtl_options_consumers,
	wtl_options_interval,
	wtl_options_gpus,
	wtl_options_jitter,
	wtl_options_format_all,
	wtl_options_output,
	wtl_options_terminal,
	wtl_options_carbon,
	wtl_options_machine,
	wtl_options_general,
	NULL,
};

static const struct wtl_option word = {"COMMAND", .kind = WTL_OPTION_LIST,
				       WTL_OWN(struct settings, commands), .takes = "commands"};

/* ---- Command lines ---- */

/* A line, and the words of the program that is to be run: the shell's, or its own. */
struct line {
	const char *text; /* NULL: none */
	char *shell[4];
	wordexp_t own;
	char **words;
};

struct contest {
	struct wtl_app *app;
	struct wtl_run_session session;
	struct line *lines; /* the commands, then their preparations */
	size_t n;
};

static const struct settings *settings_of(const struct contest *contest)
{
	return contest->app->own;
}

static int set_line(struct contest *contest, struct line *line, const char *text)
{
	line->text = text;
	line->words = line->shell;
	line->shell[0] = (char *)(uintptr_t) "sh";
	line->shell[1] = (char *)(uintptr_t) "-c";
	line->shell[2] = (char *)(uintptr_t)text;
	if (!settings_of(contest)->no_shell)
		return 0;
	if (wordexp(text, &line->own, WRDE_NOCMD) != 0 || line->own.we_wordc == 0)
		return wtl_complain(contest->app, "'%s' needs a shell: leave out --no-shell", text);
	line->words = line->own.we_wordv;
	return 0;
}

static int set_lines(struct contest *contest)
{
	const struct settings *settings = settings_of(contest);
	int rc = 0;

	contest->lines = calloc(2 * contest->n, sizeof(*contest->lines));
	if (!contest->lines)
		return wtl_complain(contest->app, "out of memory");
	for (size_t i = 0; rc == 0 && i < contest->n; i++)
		rc = set_line(contest, &contest->lines[i], settings->commands.words[i]);
	for (size_t i = 0; rc == 0 && settings->prepare.n > 0 && i < contest->n; i++)
		rc = set_line(contest, &contest->lines[contest->n + i],
			      settings->prepare.words[settings->prepare.n > 1 ? i : 0]);
	return rc;
}

static void free_lines(struct contest *contest)
{
	for (size_t i = 0; contest->lines && i < 2 * contest->n; i++)
		if (contest->lines[i].own.we_wordv)
			wordfree(&contest->lines[i].own);
	free(contest->lines);
}

static int check_settings(struct contest *contest)
{
	const struct settings *settings = settings_of(contest);
	struct wtl_app *app = contest->app;

	contest->n = settings->commands.n;
	if (app->settings.tape)
		return wtl_complain(app, "a tape replays a machine: it takes no command");
	if (contest->n < 2)
		return wtl_complain(app,
				    "which commands? Two at least, as in: wattle compare 'sleep 1' "
				    "'sleep 2'");
	if (settings->prepare.n > 1 && settings->prepare.n != contest->n)
		return wtl_complain(app,
				    "%zu preparations for %zu commands: give one, or one for each",
				    settings->prepare.n, contest->n);
	if (settings->names.n > 0 && settings->names.n != contest->n)
		return wtl_complain(app, "%zu names for %zu commands: give one for each",
				    settings->names.n, contest->n);
	return wtl_option_check_repeat(app);
}

/* ---- What the runs say ---- */

/* The commands and their results; to be freed by free_compared(). */
struct compared {
	struct wtl_compare compare;
	struct wtl_compared_command *commands;
	struct wtl_statistics *domain_j;
	size_t *order;
	struct wtl_report *reports; /* one a run; those of a command are next to each other */
};

static void free_compared(struct compared *compared)
{
	free(compared->commands);
	free(compared->domain_j);
	free(compared->order);
	free(compared->reports);
}

/* Runs alternate: that of command i in round k is outcome k × n + i. At least one round. -ENOMEM. */
static int compare(const struct contest *contest, struct compared *ret)
{
	const struct wtl_run_session *session = &contest->session;
	const struct settings *settings = settings_of(contest);
	const size_t n = contest->n;
	size_t at = 0;

	*ret = (struct compared){
		.compare = {.n = n,
			    .warmup = settings->warmup,
			    .until = contest->app->settings.until},
		.commands = calloc(n, sizeof(*ret->commands)),
		.domain_j = calloc(n * (session->outcomes[0].report.n_domains + 1),
				   sizeof(*ret->domain_j)),
		.order = calloc(n, sizeof(*ret->order)),
		.reports = calloc(session->n, sizeof(*ret->reports)),
	};
	if (!ret->commands || !ret->domain_j || !ret->order || !ret->reports) {
		free_compared(ret);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		struct wtl_compared_command *command = &ret->commands[i];

		command->line = contest->lines[i].text;
		command->name = settings->names.n > 0 ? settings->names.words[i] : NULL;
		command->series.reports = &ret->reports[at];
		for (size_t run = i; run < session->n; run += n)
			ret->reports[at++] = session->outcomes[run].report;
		command->series.n_reports = (size_t)(&ret->reports[at] - command->series.reports);
	}
	wtl_compare_find(&ret->compare, ret->commands, session->meter, settings->by, ret->domain_j,
			 ret->order);
	ret->compare.converged = !ret->compare.reason;
	for (size_t i = 0; i < n; i++) {
		const struct wtl_ratio *ratio = &ret->commands[i].ratio;

		if (i != ret->order[0] &&
		    (ratio->n < WTL_UNTIL_RUNS_MIN || ratio->of_pairs > ret->compare.until))
			ret->compare.converged = false;
	}
	return 0;
}

/* ---- Running ---- */

static unsigned most_rounds(const struct wtl_settings *settings)
{
	if (settings->until > 0.0)
		return settings->repeat_max ? settings->repeat_max : WTL_UNTIL_RUNS_MAX;
	return settings->repeat ? settings->repeat : REPEAT_DEFAULT;
}

static bool goes_on(const struct contest *contest)
{
	const struct wtl_settings *settings = &contest->app->settings;
	size_t rounds = contest->session.n / contest->n;
	struct compared compared;
	bool has_converged = false;

	if (settings->until > 0.0 && rounds >= WTL_UNTIL_RUNS_MIN &&
	    compare(contest, &compared) == 0) {
		has_converged = compared.compare.converged;
		free_compared(&compared);
	}
	return rounds < most_rounds(settings) && !has_converged;
}

static int complain_failed(struct contest *contest, const char *what, const struct line *line,
			   const struct wtl_report *report)
{
	const char *signal = report->exit_signal ? wtl_words_signal(report->exit_signal) : NULL;

	wtl_progress_clear(contest->app);
	if (signal)
		wtl_complain(contest->app, "%s'%s' was killed by %s", what, line->text, signal);
	else
		wtl_complain(contest->app, "%s'%s' failed with exit status %d%s", what, line->text,
			     report->exit_status, *what ? "" : ": --ignore-failure goes on");
	return *what ? WTL_EXIT_WATTLE_FAILED : report->exit_status;
}

/* Adds an outcome, unless it is not to be kept. 0, or the exit code to stop with. */
static int run_line(struct contest *contest, const struct line *line, bool keeps, const char *what)
{
	struct wtl_run_session *session = &contest->session;
	bool ignores = !*what && settings_of(contest)->ignore_failure;
	const struct wtl_report *report;
	int stop;

	contest->app->settings.command = line->words;
	stop = wtl_run_once(session);
	if (stop)
		return stop;
	report = &session->outcomes[session->n - 1].report;
	if (report->interrupted || wtl_loop_interrupted(&session->loop))
		stop = 128 + session->loop.last_signal;
	else if (report->exit_status && !ignores)
		stop = complain_failed(contest, what, line, report);
	if (!keeps || (stop && !report->interrupted))
		wtl_run_forget(session);
	return stop;
}

static int run_prepared(struct contest *contest, size_t i, bool keeps)
{
	int stop = 0;

	if (contest->lines[contest->n + i].text)
		stop = run_line(contest, &contest->lines[contest->n + i], false,
				"the preparation ");
	return stop ? stop : run_line(contest, &contest->lines[i], keeps, "");
}

/* began_ns: the start of the first round. */
static void show_progress(const struct contest *contest, int64_t began_ns)
{
	const struct wtl_settings *settings = &contest->app->settings;
	const char *most = settings->until > 0.0 ? "at most " : "";
	size_t rounds = contest->session.n / contest->n, all = most_rounds(settings);
	double took_s = (double)(wtl_io_mono_ns(contest->session.io) - began_ns) / 1e9;
	double left_s = rounds > 0 ? took_s / (double)rounds * (double)(all - rounds) : 0.0;
	char left[48] = "";

	if (rounds > 0)
		snprintf(left, sizeof(left), ", %sabout %.*f s left", most, left_s < 9.95, left_s);
	wtl_progress_show(contest->app, settings->hides_output, "round %zu of %s%zu%s", rounds + 1,
			  most, all, left);
}

/* 0, or the exit code to stop with; runs that were made before still count. */
static int run_all(struct contest *contest)
{
	const unsigned warmup = settings_of(contest)->warmup;
	int64_t began_ns;
	int stop = 0;

	for (size_t i = 0; !stop && i < contest->n * warmup; i++)
		stop = run_prepared(contest, i % contest->n, false);
	began_ns = wtl_io_mono_ns(contest->session.io);
	while (!stop && goes_on(contest)) {
		show_progress(contest, began_ns);
		for (size_t i = 0; !stop && i < contest->n; i++)
			stop = run_prepared(contest, i, true);
	}
	wtl_progress_clear(contest->app);
	return stop;
}

static int write_result(struct contest *contest)
{
	struct wtl_app *app = contest->app;
	struct wtl_result result = {.thing = &wtl_thing_compare,
				    .max = WTL_RUN_OUTPUT_MAX,
				    .cannot_be_had_again = true};
	struct compared compared;
	int rc;

	/* Without one whole round there is nothing to compare. */
	if (contest->session.n < contest->n)
		return 0;
	if (compare(contest, &compared) < 0) {
		wtl_complain(app, "out of memory");
		return -ENOMEM;
	}
	/* Standard output is free if the commands' output was not shown: the result goes there. */
	if (!settings_of(contest)->show_output)
		app->settings.command = NULL;
	result.what = &compared.compare;
	rc = wtl_sink_write(app, contest->session.io, &result);
	free_compared(&compared);
	return rc;
}

static int measure(struct contest *contest)
{
	struct wtl_run_session *session = &contest->session;
	int stop = wtl_billing_watch_idle(&session->billing, &session->loop, NULL);

	if (stop == 0)
		stop = run_all(contest);
	wtl_run_finish(session);
	return write_result(contest) < 0 ? WTL_EXIT_WATTLE_FAILED : stop;
}

static int run(struct wtl_app *app)
{
	static const struct wtl_recording_settings no_recording;
	struct contest contest = {.app = app};
	int code = WTL_EXIT_WATTLE_FAILED;

	app->settings.top = 0;
	app->settings.lacks_input = true;
	app->settings.hides_output = !settings_of(&contest)->show_output;
	if (!check_settings(&contest) && !set_lines(&contest) && wtl_sink_check(app) == 0 &&
	    wtl_run_open(&contest.session, app, &no_recording) == 0) {
		code = measure(&contest);
		wtl_run_close(&contest.session);
	}
	free_lines(&contest);
	return code;
}

const struct wtl_command wtl_command_compare = {
	.name = "compare",
	.summary = "Measure which of several commands uses less energy",
	.synopsis = "[OPTION...] 'COMMAND' 'COMMAND'...",
	.description =
		"Runs the commands in turn (a b a b ...), so that what drifts, such as temperature, falls "
		"on all alike, and tells energy, time and mean power of each with its 95 % interval over "
		"the runs, and how many times less energy the best one uses than each other one. Each "
		"COMMAND is one word: a line for the shell.\n\n"
		"What is compared is the commands' dynamic energy, which is above what the machine draws "
		"at rest, where that is known in every run, and else the energy of the whole machine: the "
		"result says which. --idle-first learns what the machine draws at rest.\n\n"
		"The commands read from and write to /dev/null; what they write to standard error is "
		"shown. Without --repeat and --until each runs 10 times. --until looks at the ratios. "
		"Ctrl-C ends it, and what ran is still compared.",
	.examples = "wattle compare 'gzip -1 -c big' 'gzip -9 -c big'\n"
		    "    which of the two uses less energy, and how sure that is\n\n"
		    "wattle compare -w 1 --until 2% -n old -n new ./old ./new\n"
		    "    as many runs as it takes to know the ratio within 2 %\n\n"
		    "wattle compare --prepare 'make clean' 'make -j1' 'make -j8'\n"
		    "    each run begins with a clean tree\n\n"
		    "wattle compare -f markdown ./old ./new >>README.md\n"
		    "    the table for people to read",
	.exit_status =
		"N\tthe exit status of a command that failed, or 128 + N when a signal ended it\n"
		"125\twattle itself or a preparation failed, or its options were wrong\n"
		"126\ta command could not be run\n"
		"127\ta command was not found",
	.options = options,
	.shared = shared,
	.settings_size = sizeof(struct settings),
	.word = &word,
	.measures = true,
	.usage_exit = WTL_EXIT_WATTLE_FAILED,
	.run = run,
};
