/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buf.h"
#include "base/config.h"
#include "base/io.h"
#include "cli/billing.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/loop.h"
#include "cli/machine.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/rights.h"
#include "commands/profile/keep.h"
#include "commands/record/background.h"
#include "commands/record/follow.h"
#include "commands/record/settings.h"
#include "cli/when.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "document/format.h"
#include "meter/meter.h"

#define WINDOW "recording"

/* The usual interval: a shorter recording would hold no sample. */
#define TIME_MIN_NS (WTL_NS_PER_S / 10)

enum { DURATION_MAX_S = 366 * 86400, NAME_MAX_LEN = 80, SIZE_LEAST = 256000 };

static int set_name(struct wtl_app *app, const struct wtl_option *option, const char *text)
{
	size_t len = strlen(text);

	if (len == 0 || len >= NAME_MAX_LEN)
		return wtl_complain(app, "--%s takes a name of up to %d characters, not '%s'",
				    option->name, NAME_MAX_LEN - 1, text);
	*(const char **)wtl_option_target(app, option) = text;
	return 0;
}

#define TIME(field)                                                          \
	WTL_OPTION_DURATION, WTL_OWN(struct wtl_record_settings, field),     \
		.least = TIME_MIN_NS, .most = DURATION_MAX_S * WTL_NS_PER_S, \
		.takes = "a time from 100ms to 366 days such as 90, 30m, 1h30m or 7d"

static const struct wtl_option options[] = {
	{"output", 'o', "FILE",
	 "The recording (default: wattle-YYYYMMDD-HHMMSS.wattle); it must not exist yet",
	 WTL_OPTION_OWN, WTL_OWN(struct wtl_record_settings, recording.path), .what = "a file",
	 .file = WTL_FILE_RECORDING, .set = wtl_recording_set_path},
	{"duration", 0, "TIME",
	 "Stop after TIME: seconds, or with units, such as 90, 30m, 1h30m, 7d", TIME(duration_ns)},
	{"pid", 0, "PID", "Follow this running process and its descendants, and stop when it ends",
	 WTL_OPTION_NUMBER, WTL_OWN(struct wtl_record_settings, pid), .least = 1, .most = 1 << 30},
	{"container", 0, "NAME|ID", "Follow whatever runs in this container, also what comes later",
	 WTL_OPTION_OWN, WTL_OWN(struct wtl_record_settings, container), .set = set_name},
	{"unit", 0, "UNIT",
	 "Follow whatever runs in this systemd unit, such as nginx.service, also what comes later",
	 WTL_OPTION_OWN, WTL_OWN(struct wtl_record_settings, unit), .set = set_name},
#if HAVE_PROFILER
	{"profile", 0, NULL,
	 "Keep as well where in the code the command, or the process of --pid, was: wattle profile show FILE "
	 "tells joules by function",
	 WTL_OPTION_FLAG, WTL_OWN(struct wtl_record_settings, profile)},
	{"profile-rate", 0, "HZ",
	 "With --profile: samples a second of CPU time of each thread (default 997)",
	 WTL_OPTION_NUMBER, WTL_OWN(struct wtl_record_settings, profile_hz), .least = 1,
	 .most = WTL_PROFILE_HZ_MAX},
#endif
	{"background", 0, NULL,
	 "Go on in the background once it records; errors after that go to FILE.log",
	 WTL_OPTION_FLAG, WTL_OWN(struct wtl_record_settings, background)},
	{"stop", 0, NULL,
	 "Stop the recording that runs (of several: FILE), and wait until it is whole",
	 WTL_OPTION_FLAG, WTL_OWN(struct wtl_record_settings, stop)},
	{"max-size", 0, "SIZE",
	 "Keep about SIZE at the most, the newest: bytes, or with a unit, such as 500M, 20G, 2GiB",
	 WTL_OPTION_OWN, WTL_OWN(struct wtl_record_settings, recording.max_bytes),
	 .takes = "a size of at least 256k such as 500M, 20G or 1.5GiB", .least = SIZE_LEAST,
	 .set = wtl_option_set_bytes},
	{"max-age", 0, "TIME", "Keep the newest TIME only, such as 7d", TIME(recording.max_age_ns)},
	{0},
};

static const struct wtl_option *const shared[] = {
	wtl_options_idle_first, wtl_options_consumers, wtl_options_interval,
	wtl_options_gpus,	wtl_options_jitter,    wtl_options_carbon,
	wtl_options_machine,	wtl_options_general,   NULL,
};

struct session {
	struct wtl_app *app;
	struct wattle_meter *meter;
	struct wtl_io *io;
	struct wtl_loop loop;
	struct wtl_billing billing;
	struct wtl_recording_session recording;
	struct wtl_follow follow;
	struct wtl_background background;
	struct wtl_profile_keep *keep; /* NULL: no profile, or it has ended */
	char told[1500];	       /* the summary line */
};

static void ticked(void *context)
{
	struct session *session = context;

	wtl_billing_look(&session->billing);
	wtl_follow_look(&session->follow);
	wtl_recording_look(&session->recording);
}

/* ---- What is recorded ---- */

static int start_command(struct session *session, struct wtl_child *child)
{
	int stop = wtl_child_start(child, session->app);

	if (stop)
		return stop;
	if (session->billing.consumers)
		wtl_consumers_follow(session->billing.consumers, child->number);
	wtl_recording_command(&session->recording, child);
	return 0;
}

/* A signal to stop is the usual end of a recording. */
static void record_machine(struct session *session)
{
	const struct wtl_record_settings *record = session->app->own;
	int64_t duration_ns = record->duration_ns;

	wtl_loop_idle(&session->loop, session->meter, session->io,
		      duration_ns ? duration_ns : DURATION_MAX_S * WTL_NS_PER_S);
}

static void record_tape(struct session *session)
{
	while (!session->loop.stop && wtl_io_wait_until(session->io, INT64_MAX) == 0) {
		wattle_meter_tick(session->meter);
		ticked(session);
	}
}

/* ---- The recording ---- */

static void tell_end(struct session *session, const struct wattle_window *window)
{
	const struct wtl_record_settings *record = session->app->own;
	const char *path = session->recording.path;
	struct wtl_buf size, typed;
	struct stat file;

	if (stat(path, &file) < 0)
		return;
	wtl_buf_init(&size, 60);
	wtl_format_duration(&size, window->duration_ns, false);
	wtl_buf_puts(&size, ", ");
	wtl_format_bytes(&size, (uint64_t)file.st_size);
	wtl_buf_init(&typed, sizeof(session->told) - 100);
	wtl_recording_type_path(&typed, path);
	snprintf(session->told, sizeof(session->told), "recorded %s: wattle %s %s tells %s",
		 wtl_buf_str(&size), record->profile ? "profile show" : "report",
		 typed.error ? "FILE" : wtl_buf_str(&typed),
		 record->profile ? "where in the code" : "what");
	wtl_buf_done(&typed);
	wtl_buf_done(&size);
	wtl_remark(session->app, "%s", session->told);
}

/* ---- Its profile ---- */

static void keep_more(void *context)
{
	struct session *session = context;

	if (HAVE_PROFILER && session->keep)
		wtl_profile_keep_more(session->keep, session->recording.recorder);
}

/* 0, or negative after wtl_complain(). */
static int begin_profile(struct session *session)
{
	const struct wtl_record_settings *record = session->app->own;
	struct wtl_err err = {.code = 0};

	if (!HAVE_PROFILER || !record->profile)
		return 0;
	session->recording.committing = keep_more;
	session->recording.committing_context = session;
	if (wtl_profile_keep_new(record->profile_hz ? record->profile_hz : WTL_PROFILE_HZ,
				 record->pid, &session->keep, &err) == 0)
		return 0;
	wtl_complain(session->app, "--profile: %s", err.text);
	return -1;
}

static void end_profile(struct session *session)
{
	struct wtl_profile_keep *keep = session->keep;

	if (!HAVE_PROFILER || !keep)
		return;
	session->keep = NULL;
	if (session->recording.recorder && !session->recording.has_failed)
		wtl_profile_keep_end(session->app, keep, session->recording.recorder,
				     session->meter->sampled_ns);
	wtl_profile_keep_free(keep);
}

/* 0, or negative if the recording is not complete. */
static int end_recording(struct session *session)
{
	size_t n_domains = wattle_meter_domains(session->meter);
	struct wattle_energy *energies = session->recording.energies;
	struct wattle_window window;

	if (HAVE_PROFILER && session->keep)
		wtl_profile_keep_stop(session->keep);
	wtl_window_end(session->meter, WINDOW, &window, energies, n_domains);
	wtl_billing_bill(&session->billing, &window, energies);
	end_profile(session);
	wtl_recording_window(&session->recording, WINDOW, false, &window, energies);
	if (wtl_recording_close(&session->recording) < 0)
		return -1;
	tell_end(session, &window);
	return 0;
}

/* The recording was stopped, but its command goes on, and wattle's caller waits for that. */
static void wait_for_command(struct session *session, struct wtl_child *child)
{
	wtl_recording_done(&session->recording, session->told);
	session->loop.stop = false;
	session->loop.ticked = NULL;
	session->loop.n_guests = 0;
	session->loop.interval_ns = WTL_NS_PER_S; /* no more samples */
	wtl_loop_run(&session->loop, NULL, session->io, child);
}

static bool tell_ready(struct session *session)
{
	return wtl_background_ready(&session->background, session->recording.marks.path[0]);
}

static int measure_command(struct session *session)
{
	struct wtl_child child;
	int rc = start_command(session, &child), code;

	if (rc) {
		wtl_recording_discard(&session->recording);
		return rc;
	}
	/* The command runs: go on even if the foreground has gone. */
	tell_ready(session);
	wtl_loop_run_command(&session->loop, session->app, session->meter, session->io, &child);
	wtl_billing_command_ended(&session->billing, &child);
	rc = end_recording(session);
	if (!child.ended && session->loop.stop)
		wait_for_command(session, &child);
	code = wtl_child_end(&child, session->loop.last_signal);
	return rc < 0 ? WTL_EXIT_WATTLE_FAILED : code;
}

static int measure_machine(struct session *session)
{
	int rc = 0;

	if (session->billing.consumers)
		rc = wtl_follow_begin(&session->follow, session->app, &session->billing,
				      &session->loop, session->recording.recorder);
	if (rc < 0 || !tell_ready(session)) {
		wtl_recording_discard(&session->recording);
		return WTL_EXIT_FAILED;
	}
	if (session->app->settings.tape)
		record_tape(session);
	else
		record_machine(session);
	return end_recording(session) < 0 ? WTL_EXIT_FAILED : WTL_EXIT_DONE;
}

/* A command's own exit status may be 1, too. */
static int exit_of_failure(const struct wtl_app *app)
{
	return app->settings.command ? WTL_EXIT_WATTLE_FAILED : WTL_EXIT_FAILED;
}

static int measure(struct session *session)
{
	int stop = wtl_billing_watch_idle(&session->billing, &session->loop,
					  session->recording.recorder);

	if (stop) {
		wtl_recording_discard(&session->recording);
		return stop;
	}
	wtl_billing_begin(&session->billing);
	wattle_window_begin(session->meter, WINDOW);
	if (begin_profile(session) < 0) {
		wtl_recording_discard(&session->recording);
		return exit_of_failure(session->app);
	}
	return session->app->settings.command ? measure_command(session) : measure_machine(session);
}

/* ---- Settings ---- */

/* wattle-20261121-141530.wattle, in local time as usual for file names. */
static const char *default_path(char *name, size_t size)
{
	time_t now = time(NULL);
	struct tm local;

	if (!localtime_r(&now, &local) ||
	    strftime(name, size, "wattle-%Y%m%d-%H%M%S.wattle", &local) == 0)
		snprintf(name, size, "wattle.wattle");
	return name;
}

static int check_follow(struct wtl_app *app)
{
	const struct wtl_settings *settings = &app->settings;
	const struct wtl_record_settings *record = app->own;
	int n = (settings->command != NULL) + (record->pid != 0) + (record->container != NULL) +
		(record->unit != NULL);

	if (n > 1)
		return wtl_complain(app,
				    "a command, --pid, --container and --unit exclude each other");
	if (n > 0 && !settings->command && settings->no_processes)
		return wtl_complain(app, "--%s and --no-processes exclude each other",
				    record->pid		? "pid"
				    : record->container ? "container"
							: "unit");
	return 0;
}

static int check_profile(struct wtl_app *app)
{
	const struct wtl_settings *settings = &app->settings;
	const struct wtl_record_settings *record = app->own;

	if (record->profile && (settings->tape || (!settings->command && !record->pid)))
		return wtl_complain(
			app, "--profile is of a command that is started, or of a process (--pid)");
	if (record->profile && settings->no_processes)
		return wtl_complain(app, "--profile and --no-processes exclude each other");
	if (record->profile_hz && !record->profile)
		return wtl_complain(app, "--profile-rate is for --profile");
	return 0;
}

static int check_settings(struct wtl_app *app)
{
	const struct wtl_record_settings *record = app->own;
	const struct wtl_settings *settings = &app->settings;

	if (settings->command && record->duration_ns)
		return wtl_complain(app, "--duration is for recordings without a command");
	if (settings->tape && settings->command)
		return wtl_complain(app, "a tape replays a machine: it takes no command");
	if (settings->tape && record->background)
		return wtl_complain(app, "a tape is over at once: --background has no use");
	if (settings->tape && record->duration_ns)
		return wtl_complain(app, "a tape is recorded whole: --duration has no use");
	return check_profile(app) ? EINVAL : check_follow(app);
}

/* The file may be given as a word, or with -o. */
static int stop(struct wtl_app *app)
{
	static const char *const others[] = {
		"--background", "--duration",	 "--max-size",	   "--max-age",
		"--pid",	"--container",	 "--unit",	   "--idle-first",
		"--location",	"--jitter",	 "--no-processes", "--root",
		"--tape",	"--tape-record", "--nvml",	   NULL};
	const struct wtl_record_settings *record = app->own;
	const char *name = wtl_option_first_used(app, others), *file = record->recording.path;
	char **words = app->settings.command;

	if (words && (file || words[1]))
		wtl_complain(app, "--stop takes one recording, and no command");
	else if (name)
		wtl_complain(app, "--stop and %s exclude each other", name);
	else if (words && !words[0][0])
		wtl_complain(app, "--stop takes the path of a recording, not ''");
	else
		return wtl_background_stop(app, words ? words[0] : file);
	return WTL_EXIT_USAGE;
}

/* ---- All of it ---- */

static int record(struct session *session)
{
	struct wtl_app *app = session->app;
	int code = exit_of_failure(app);

	if (wtl_loop_init(&session->loop, app, ticked, session) < 0)
		return code;
	if (wtl_billing_open(&session->billing, app, session->meter, session->io, WINDOW) == 0 &&
	    wtl_recording_open(&session->recording, &session->billing, &session->loop) == 0)
		code = measure(session);
	wtl_follow_done(&session->follow);
	end_profile(session);
	wtl_recording_done(&session->recording, session->told);
	wtl_billing_close(&session->billing);
	wtl_loop_done(&session->loop);
	return code;
}

static int run(struct wtl_app *app)
{
	struct wtl_record_settings *settings = app->own;
	struct session session = {.app = app};
	char name[64];
	int code, rc;

	if (settings->stop) {
		wtl_rights_drop();
		return stop(app);
	}
	if (check_settings(app))
		return WTL_EXIT_USAGE;
	if (!settings->recording.path)
		settings->recording.path = default_path(name, sizeof(name));
	code = exit_of_failure(app);
	rc = wtl_background_enter(&session.background, app, &code);
	if (rc <= 0)
		return code == WTL_EXIT_FAILED ? exit_of_failure(app) : code;
	wtl_recording_listen(&session.recording, app, &settings->recording, true);
	if (HAVE_PROFILER && settings->profile)
		wtl_profile_choose_interval(app, NULL);
	if (wtl_open_meter(app, &session.meter, &session.io) == 0) {
		if (HAVE_PROFILER && settings->profile)
			wtl_profile_choose_interval(app, session.meter);
		code = record(&session);
		wtl_close_meter(app, session.meter, session.io);
	}
	wtl_recording_done(&session.recording, NULL);
	wtl_background_leave(&session.background, code);
	return code;
}

const struct wtl_command wtl_command_record = {
	.name = "record",
	.summary = "Record all measurements in a file",
	.synopsis = "[OPTION...] [--] [COMMAND [ARGUMENT...]] | --stop [FILE]",
	.description =
		"Writes all that is measured to one file: every reading of every sensor, who ran and what "
		"they used, windows, gaps, temperatures, clocks and memory, and what wattle itself cost. "
		"Without a COMMAND it records until it is told to stop (Ctrl-C, --stop), or for --duration; "
		"with one until that ends, and exits with its status. The whole machine is recorded in any "
		"case; --pid, --container and --unit say who is looked at first.\n\n"
		"The file is an SQLite database. It is written once a second, so that not even a power cut "
		"costs more than the last second. wattle report reads it, also while it is written.\n\n"
		"What it starts, and what else runs as this user, can mark windows in the recording: see "
		"wattle mark.",
	.examples = "wattle record -o night.wattle --duration 12h\n"
		    "    the whole machine for a night\n\n"
		    "wattle record -i 1 -- ./benchmark\n"
		    "    a command at 1 kHz\n\n"
		    "wattle record -o db.wattle --unit postgresql --background\n"
		    "    a service, until told to stop:\n\n"
		    "wattle record --stop db.wattle\n"
		    "    which waits until the file is whole\n\n"
		    "wattle record -o ring.wattle --max-age 7d --max-size 2G\n"
		    "    always the last week, and never more than 2 GB",
	.exit_status = "0\tthe recording is whole (--stop: and its recorder has ended it)\n"
		       "1\tit failed, or what there is of it is not whole; there is none to stop\n"
		       "2\twrong options\n"
		       "N\twith a command: the command's own exit status, or 128 + N when signal N "
		       "ended it; 125 when wattle failed",
	.options = options,
	.shared = shared,
	.settings_size = sizeof(struct wtl_record_settings),
	.takes_command = true,
	.measures = true,
	.usage_exit = WTL_EXIT_USAGE,
	.run = run,
};
