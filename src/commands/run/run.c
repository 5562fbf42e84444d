/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/num.h"
#include "cli/billing.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "report/description.h"
#include "cli/loop.h"
#include "cli/machine.h"
#include "cli/option.h"
#include "cli/sink.h"
#include "cli/user.h"
#include "commands/record/recording.h"
#include "document/report.h"
#include "energy/units.h"
#include "report/run_figures.h"
#include "meter/consumers.h"
#include "meter/meter.h"

#define WINDOW	       "run"
#define OUTPUT_MAX     (256u << 20)
#define REPEAT_MAX     1000
#define UNTIL_MAX_RUNS 100 /* unless --max-repeat says otherwise */
#define UNTIL_MIN_RUNS 3
#define MEMORY_NS      WTL_NS_PER_S

/* Processes whose memory is read in a second. Those that are to be reported may end in the next. */
enum { MEMORY_FIRST = 32, MEMORY_READS = 10 };

struct settings {
	unsigned repeat, repeat_max; /* 0: not given */
	double until;		     /* 0: not given */
	struct wtl_recording_settings recording;
};

static int set_recording(struct wtl_app *app, const struct wtl_option *option, const char *path)
{
	return HAVE_RECORDINGS ? wtl_recording_set_path(app, option, path)
			       : wtl_complain(app, "--record: %s", WTL_WITHOUT_RECORDINGS);
}

static int set_until(struct wtl_app *app, const struct wtl_option *option, const char *text)
{
	struct settings *settings = app->own;
	size_t len = strlen(text);
	bool percent = len > 0 && text[len - 1] == '%';
	double value;

	(void)option;
	if (wtl_num_double(text, len - percent, &value) < 0)
		return -EINVAL;
	if (percent)
		value /= 100.0;
	if (!(value >= 1e-4 && value <= 1.0))
		return -EINVAL;
	settings->until = value;
	return 0;
}

static const struct wtl_option options[] = {
	{"repeat", 'r', "N", "Run the command N times (1 to 1000) and tell mean and spread",
	 WTL_OPTION_NUMBER, WTL_OWN(struct settings, repeat), .least = 1, .most = REPEAT_MAX},
	{"until", 0, "REL",
	 "Repeat until the 95 % interval of the mean energy is within REL of it, such as 0.02 or 2%",
	 WTL_OPTION_OWN, .takes = "a part from 0.01% to 100% such as 0.02 or 2%", .set = set_until},
	{"max-repeat", 0, "N", "With --until: at most N times (default 100)", WTL_OPTION_NUMBER,
	 WTL_OWN(struct settings, repeat_max), .least = 1, .most = REPEAT_MAX},
	{"record", 0, "FILE",
	 "Keep all that is measured in FILE, which must not exist yet: see wattle record",
	 WTL_OPTION_OWN, WTL_OWN(struct settings, recording.path), .what = "a file",
	 .file = WTL_FILE_RECORDING, .set = set_recording},
	{"top", 0, "N", "List the N processes that used most (default 10)", WTL_OPTION_NUMBER,
	 WTL_SHARED(top), .least = 0, .most = WTL_TOP_MAX},
	{0},
};

static const struct wtl_option *const shared[] = {
	wtl_options_idle_first, wtl_options_consumers,
	wtl_options_interval,	wtl_options_jitter,
	wtl_options_output,	wtl_options_terminal,
	wtl_options_carbon,	wtl_options_machine,
	wtl_options_general,	NULL,
};

/* One finished run. */
struct outcome {
	struct wtl_report report;
	struct wtl_description description;
};

struct session {
	struct wtl_app *app;
	struct wattle_meter *meter;
	struct wtl_io *io;
	struct wtl_loop loop;
	struct wtl_billing billing;
	struct wtl_recording_session recording;
	int64_t boot_utc_ns; /* when the machine started, by the clock as it was at the begin */
	int64_t memory_due_ns;
	bool has_read_memory;
	struct outcome *outcomes;
	size_t n, size;
};

/* What a tape, which is a machine of its own, cannot be asked for. */
static int check_tape(struct wtl_app *app)
{
	const struct settings *settings = app->own;

	if (app->settings.command)
		return wtl_complain(app, "a tape replays a machine: it takes no command");
	if (settings->repeat || settings->until > 0.0)
		return wtl_complain(app, "a tape is the same every time: --repeat has no use");
	return 0;
}

static int check_repeats(struct wtl_app *app)
{
	const struct settings *settings = app->own;

	if (settings->repeat_max && settings->until <= 0.0)
		return wtl_complain(app, "--max-repeat bounds --until, which is not given");
	if (settings->repeat && settings->until > 0.0)
		return wtl_complain(app,
				    "--repeat and --until exclude each other: use --max-repeat");
	return 0;
}

static int check_settings(struct wtl_app *app)
{
	const struct wtl_settings *settings = &app->settings;

	if (settings->tape && check_tape(app))
		return EINVAL;
	if (!settings->tape && !settings->command)
		return wtl_complain(app, "which command? As in: wattle run -- sleep 2");
	return check_repeats(app);
}

static int64_t boot_utc_ns(struct wtl_io *io)
{
	return wtl_io_real_ns(io) - wtl_io_boot_ns(io);
}

static void begin_window(struct session *session)
{
	session->boot_utc_ns = boot_utc_ns(session->io);
	session->memory_due_ns = wtl_io_mono_ns(session->io) + MEMORY_NS;
	session->has_read_memory = false;
	wtl_billing_begin(&session->billing);
	wattle_window_begin(session->meter, WINDOW);
}

static void end_window(struct session *session, struct outcome *outcome)
{
	struct wtl_description *description = &outcome->description;
	struct wattle_window *window = &outcome->report.window;

	wtl_window_end(session->meter, WINDOW, window, description->energies,
		       description->n_domains);
	wtl_billing_bill(&session->billing, window, description->energies);
	if (HAVE_RECORDINGS)
		wtl_recording_window(&session->recording, WINDOW, false, window,
				     description->energies);
}

/* Of those that are to be reported, as far as they live that long. A recording reads more of it. */
static void look_at_memory(struct session *session)
{
	int64_t now_ns = wtl_io_mono_ns(session->io);

	if (!session->billing.consumers || session->recording.recorder ||
	    now_ns < session->memory_due_ns)
		return;
	session->memory_due_ns = now_ns + MEMORY_NS;
	wtl_consumers_read_memory(session->billing.consumers,
				  session->has_read_memory ? MEMORY_READS : MEMORY_FIRST);
	session->has_read_memory = true;
}

static void ticked(void *context)
{
	struct session *session = context;

	wtl_billing_look(&session->billing);
	look_at_memory(session);
	if (HAVE_RECORDINGS)
		wtl_recording_look(&session->recording);
}

static void name_user(void *context, uint32_t uid, char *name, size_t size)
{
	const struct session *session = context;
	const struct wtl_settings *settings = &session->app->settings;

	wtl_user_name(!settings->root && !settings->tape, uid, name, size);
}

static int64_t start_of(void *context, int64_t start_ns)
{
	const struct session *session = context;

	return session->boot_utc_ns + start_ns;
}

static void report_window(struct session *session, struct outcome *outcome)
{
	struct wtl_description *description = &outcome->description;
	struct wtl_report *report = &outcome->report;
	const struct wtl_report_source source = {
		.meter = session->meter,
		.consumers = session->billing.consumers,
		.naming = {name_user, start_of, session},
		.place = wtl_settings_place(&session->app->settings),
		.top = session->app->settings.top,
	};

	wtl_description_report(description, &source, report);
	wtl_billing_describe(&session->billing, description);
	wtl_describe_clock_step(description, boot_utc_ns(session->io) - session->boot_utc_ns,
				"by the clock as it was at the begin");
	wtl_description_end(description, report);
	wtl_describe_self(session->meter, &report->self);
	report->self.late_ticks = session->loop.late_ticks;
}

/* A frame of its own for the last sample, and one more: replaying takes a sample of every frame, and
 * then the last one, so that it finds them where this run did. */
static void end_tape(struct session *session)
{
	wtl_io_wait_until(session->io, wtl_io_mono_ns(session->io));
	wattle_meter_tick(session->meter);
	ticked(session);
}

/* The command, or whom the run that made this tape followed; pid is /proc's number, 0 on a tape. */
static void follow(struct session *session, int pid)
{
	char text[16];
	uint64_t told;

	if (!session->billing.consumers)
		return;
	snprintf(text, sizeof(text), "%d", pid);
	if (wtl_io_note(session->io, "command", text, sizeof(text)) == 1 &&
	    wtl_num_u64(text, strlen(text), &told) == 0 && told > 0 && told <= INT_MAX)
		wtl_consumers_follow(session->billing.consumers, (int)told);
}

/* Returns 0, or the exit code to stop with: the command could not be started. */
static int run_once(struct session *session, struct outcome *outcome)
{
	struct wtl_report *report = &outcome->report;
	struct wtl_child child;
	int stop;

	begin_window(session);
	stop = wtl_child_start(&child, session->app);
	if (stop) {
		wattle_window_cancel(session->meter, WINDOW);
		return stop;
	}
	session->billing.lacks_command = child.number == 0;
	follow(session, child.number);
	if (HAVE_RECORDINGS)
		wtl_recording_command(&session->recording, &child);
	wtl_loop_hurry(&session->loop, session->app, session->meter, session->io);
	wtl_loop_run_command(&session->loop, session->app, session->meter, session->io, &child);
	if (session->app->settings.tape_record)
		end_tape(session);
	wtl_billing_command_ended(&session->billing, &child);
	end_window(session, outcome);
	wtl_child_reap(&child);
	report->command = session->app->settings.command;
	report->interrupted = session->loop.interrupts > 0;
	report->has_exit = child.ended;
	report->command_cpu_ns = -1;
	if (child.ended) {
		report->exit_status = wtl_child_exit_code(&child);
		report->exit_signal =
			WIFSIGNALED(child.wait_status) ? WTERMSIG(child.wait_status) : 0;
		report->command_cpu_ns = child.cpu_ns;
		report->command_rss_bytes = child.max_rss_bytes;
	}
	report_window(session, outcome);
	return 0;
}

static int run_tape(struct session *session, struct outcome *outcome)
{
	struct wtl_io *io = session->io;

	begin_window(session);
	follow(session, 0);
	while (wtl_io_wait_until(io, INT64_MAX) == 0) {
		wattle_meter_tick(session->meter);
		ticked(session);
		follow(session, 0);
	}
	wtl_billing_command_ended(&session->billing, NULL);
	end_window(session, outcome);
	outcome->report.command_cpu_ns = -1;
	report_window(session, outcome);
	return 0;
}

static struct outcome *add_outcome(struct session *session)
{
	struct outcome *outcome;

	if (wtl_array_reserve(&session->outcomes, &session->size, session->n + 1,
			      sizeof(*outcome)) < 0)
		return NULL;
	outcome = &session->outcomes[session->n];
	memset(outcome, 0, sizeof(*outcome));
	if (wtl_description_init(&outcome->description, session->meter) < 0)
		return NULL;
	session->n++;
	return outcome;
}

static void drop_last(struct session *session)
{
	wtl_description_done(&session->outcomes[--session->n].description);
}

static const struct wtl_report *report_at(const void *of, size_t run)
{
	const struct session *session = of;

	return &session->outcomes[run].report;
}

static bool has_converged(const struct session *session)
{
	const struct wtl_run_list runs = {report_at, session, session->n};
	const struct settings *settings = session->app->own;
	struct wtl_statistics energy;

	wtl_runs_statistics_of_all(&runs, WTL_RUN_ENERGY_J, &energy);
	return energy.n >= UNTIL_MIN_RUNS && energy.mean > 0.0 &&
	       energy.ci95 <= settings->until * energy.mean;
}

static bool goes_on(struct session *session)
{
	const struct settings *settings = session->app->own;
	unsigned most = settings->repeat_max ? settings->repeat_max : UNTIL_MAX_RUNS;

	if (wtl_loop_interrupted(&session->loop))
		return false;
	if (settings->until > 0.0)
		return session->n < most && !has_converged(session);
	return session->n < settings->repeat;
}

/* Returns 0 or the exit code to stop with; then the runs before it still count. */
static int run_all(struct session *session)
{
	int stop = 0;

	do {
		struct outcome *outcome = add_outcome(session);

		if (!outcome) {
			wtl_complain(session->app, "out of memory after %zu runs", session->n);
			return WTL_EXIT_WATTLE_FAILED;
		}
		stop = session->app->settings.tape ? run_tape(session, outcome)
						   : run_once(session, outcome);
		if (stop)
			drop_last(session);
	} while (!stop && goes_on(session));
	return stop;
}

static void find_statistics(const struct session *session, struct wtl_series *series,
			    struct wtl_statistics domain_j[], size_t n_domains)
{
	const struct wtl_run_list runs = {report_at, session, session->n};

	wtl_runs_figures(&runs, series->of);
	for (size_t i = 0; i < n_domains; i++)
		wtl_runs_statistics(&runs, WTL_RUN_DOMAIN_J + i, &domain_j[i]);
}

static int write_series(const struct session *session, struct wtl_result *result)
{
	const struct settings *settings = session->app->own;
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

static int write_result(const struct session *session)
{
	const struct settings *settings = session->app->own;
	struct wtl_result result = {.thing = &wtl_thing_report,
				    .what = &session->outcomes[0].report,
				    .max = OUTPUT_MAX,
				    .cannot_be_had_again = true};

	/* The notes lie within the outcomes, which have moved since they were made. */
	for (size_t i = 0; i < session->n; i++) {
		struct wtl_description *description = &session->outcomes[i].description;

		for (size_t k = 0; k < description->n_notes; k++)
			description->notes[k] = description->notes_text[k];
		session->outcomes[i].report.notes = description->notes;
	}
	if (settings->repeat || settings->until > 0.0)
		return write_series(session, &result);
	return wtl_sink_write(session->app, session->io, &result);
}

static int first_failure(const struct session *session)
{
	for (size_t i = 0; i < session->n; i++) {
		const struct wtl_report *report = &session->outcomes[i].report;

		if (report->interrupted && !report->has_exit)
			return 128 + session->loop.last_signal;
		if (report->exit_status)
			return report->exit_status;
	}
	return WTL_EXIT_DONE;
}

static int measure(struct session *session)
{
	int stop = wtl_billing_watch_idle(&session->billing, &session->loop,
					  session->recording.recorder),
	    recorded = 0;

	if (stop == 0)
		stop = run_all(session);
	if (HAVE_RECORDINGS)
		recorded = wtl_recording_close(&session->recording);
	wtl_loop_finish(&session->loop);
	if ((session->n > 0 && write_result(session) < 0) || recorded < 0)
		return WTL_EXIT_WATTLE_FAILED;
	return stop ? stop : first_failure(session);
}

static void end_session(struct session *session)
{
	for (size_t i = 0; i < session->n; i++)
		wtl_description_done(&session->outcomes[i].description);
	free(session->outcomes);
	wtl_loop_done(&session->loop);
}

static int open_recording(struct session *session)
{
	return HAVE_RECORDINGS
		       ? wtl_recording_open(&session->recording, &session->billing, &session->loop)
		       : 0;
}

static void end_recording(struct session *session)
{
	if (HAVE_RECORDINGS)
		wtl_recording_done(&session->recording, NULL);
}

static int run(struct wtl_app *app)
{
	const struct settings *settings = app->own;
	struct session session = {.app = app};
	int code = WTL_EXIT_WATTLE_FAILED;

	if (check_settings(app) || wtl_sink_check(app) < 0)
		return WTL_EXIT_WATTLE_FAILED;
	if (HAVE_RECORDINGS)
		wtl_recording_listen(&session.recording, app, &settings->recording, false);
	if (wtl_open_meter(app, &session.meter, &session.io) < 0) {
		end_recording(&session);
		return WTL_EXIT_WATTLE_FAILED;
	}
	if (wtl_loop_init(&session.loop, app, ticked, &session) < 0) {
		end_recording(&session);
	} else {
		if (wtl_billing_open(&session.billing, app, session.meter, session.io, WINDOW) ==
			    0 &&
		    open_recording(&session) == 0)
			code = measure(&session);
		end_recording(&session);
		wtl_billing_close(&session.billing);
		end_session(&session);
	}
	wtl_close_meter(app, session.meter, session.io);
	return code;
}

const struct wtl_command wtl_command_run = {
	.name = "run",
	.summary = "Measure what a command costs",
	.synopsis = "[OPTION...] [--] COMMAND [ARGUMENT...]",
	.description =
		"Runs COMMAND and tells what it used, with all its descendants, and what the machine "
		"used meanwhile: joules, watt hours and CO2 equivalent, for each part that can be told "
		"apart, each with its source, its method and its uncertainty (plus or minus, at k = 2).\n\n"
		"The first figures are those of the whole machine while the command ran. Below them "
		"stand the command's own, where the energy went, and the processes that used most. "
		"Dynamic is what is above the machine's idle power, full has a part of the idle power, "
		"too. Idle power is learned while the machine rests, and kept; --idle-first measures "
		"it now.\n\n"
		"The command keeps the terminal, and wattle's exit status is its exit status. Signals "
		"sent to wattle are passed on; Ctrl-C ends the command, and the report of what ran is "
		"still printed. The report goes to standard output after the command has ended: use -o "
		"to keep both apart.",
	.examples = "wattle run -- sleep 2\n"
		    "    what two seconds of this machine cost\n\n"
		    "wattle run --idle-first 10 -- make -j8\n"
		    "    first learn what the machine draws at rest: then it is known what the\n"
		    "    command itself used\n\n"
		    "wattle run --location FRA -- python train.py\n"
		    "    with the carbon intensity of France\n\n"
		    "wattle run --repeat 10 -f json -o cost.json -- make -j8\n"
		    "    ten runs, their mean and spread, as JSON\n\n"
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
	.usage_exit = WTL_EXIT_WATTLE_FAILED,
	.run = run,
};
