/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/num.h"
#include "cli/app.h"
#include "cli/record_background.h"
#include "cli/record_follow.h"
#include "cli/recording.h"
#include "energy/units.h"
#include "meter/consumers.h"

#define WINDOW "recording"

enum {
	KEY_MAX_SIZE = 0x400,
	KEY_MAX_AGE,
	KEY_DURATION,
	KEY_PID,
	KEY_CONTAINER,
	KEY_UNIT,
	KEY_BACKGROUND,
	KEY_STOP,
	KEY_NO_PROCESSES,
	KEY_IDLE_FIRST,
	KEY_IDLE_FILE,
	KEY_WEIGHT,
};

enum { DURATION_MAX_S = 366 * 86400, NAME_MAX_LEN = 80 };

static const struct argp_option options[] = {
	{"output", 'o', "FILE", 0,
	 "The recording (default: wattle-YYYYMMDD-HHMMSS.wattle); it must not exist yet", 1},
	{"duration", KEY_DURATION, "TIME", 0,
	 "Stop after TIME: seconds, or with a unit, such as 90, 30m, 12h, 7d", 1},
	{"pid", KEY_PID, "PID", 0,
	 "Follow this running process and its descendants, and stop when it ends", 1},
	{"container", KEY_CONTAINER, "NAME|ID", 0,
	 "Follow whatever runs in this container, also what comes later", 1},
	{"unit", KEY_UNIT, "UNIT", 0,
	 "Follow whatever runs in this systemd unit, such as nginx.service, also what comes later",
	 1},
	{"background", KEY_BACKGROUND, 0, 0,
	 "Go on in the background once it records; errors after that go to FILE.log", 1},
	{"stop", KEY_STOP, 0, 0,
	 "Stop the recording that runs (of several: FILE), and wait until it is whole", 1},
	{"max-size", KEY_MAX_SIZE, "SIZE", 0,
	 "Keep about SIZE at the most, the newest: bytes, or with a unit, such as 500M, 20G", 1},
	{"max-age", KEY_MAX_AGE, "TIME", 0, "Keep the newest TIME only, such as 7d", 1},
	{"no-processes", KEY_NO_PROCESSES, 0, 0, "Do not find out who used the energy", 2},
	{"idle-first", KEY_IDLE_FIRST, "SECONDS", 0,
	 "Before anything else, watch the idle machine for so long (3 to 3600) and learn what it "
	 "draws",
	 2},
	{"idle-file", KEY_IDLE_FILE, "FILE", 0,
	 "Where the idle power of this machine is kept (default: $XDG_STATE_HOME/wattle/idle or "
	 "~/.local/state/wattle/idle)",
	 2},
	{"weight", KEY_WEIGHT, "WEIGHT", 0,
	 "What a use of the processors weighs: cpu-time (default), instructions or cycles", 2},
	{0},
};

static const struct argp_option *const shared[] = {
	wtl_options_sampling, wtl_options_carbon, wtl_options_machine, wtl_options_general, NULL,
};

/* A whole number and one letter of `letters`, which stands for the factor at its place; none: 1. */
static int with_unit(const char *text, const char *letters, const uint64_t factors[], uint64_t *ret)
{
	size_t len = strlen(text);
	const char *letter = len > 1 ? strchr(letters, text[len - 1]) : NULL;
	uint64_t value, factor = 1;

	if (letter) {
		factor = factors[letter - letters];
		len--;
	}
	if (wtl_num_u64(text, len, &value) < 0 || value > UINT64_MAX / factor)
		return -EINVAL;
	*ret = value * factor;
	return 0;
}

static int set_time(struct wtl_app *app, const char *option, const char *text, int64_t *ret_ns)
{
	static const uint64_t factors[] = {1, 60, 3600, 86400};
	uint64_t seconds;

	if (with_unit(text, "smhd", factors, &seconds) < 0 || seconds == 0 ||
	    seconds > DURATION_MAX_S)
		return wtl_complain(app,
				    "--%s takes a time up to 366 days such as 90, 30m, 12h or 7d, "
				    "not '%s'",
				    option, text);
	*ret_ns = (int64_t)seconds * WTL_NS_PER_S;
	return 0;
}

static int set_size(struct wtl_app *app, const char *text, uint64_t *ret_bytes)
{
	static const uint64_t factors[] = {1000, 1000000, 1000000000, UINT64_C(1000000000000)};

	if (with_unit(text, "kMGT", factors, ret_bytes) < 0 || *ret_bytes < 256 * 1024)
		return wtl_complain(
			app,
			"--max-size takes a size of at least 256 KiB such as 500M or 20G, "
			"not '%s'",
			text);
	return 0;
}

static int set_name(struct wtl_app *app, const char *option, const char *text, const char **ret)
{
	size_t len = strlen(text);

	if (len == 0 || len >= NAME_MAX_LEN)
		return wtl_complain(app, "--%s takes a name of up to %d characters, not '%s'",
				    option, NAME_MAX_LEN - 1, text);
	*ret = text;
	return 0;
}

static int option(struct wtl_app *app, int key, char *argument)
{
	struct wtl_record_settings *record = &app->settings.record;
	uint64_t value;

	switch (key) {
	case 'o':
		record->path = argument;
		return 0;
	case KEY_DURATION:
		return set_time(app, "duration", argument, &record->duration_ns);
	case KEY_MAX_AGE:
		return set_time(app, "max-age", argument, &record->max_age_ns);
	case KEY_MAX_SIZE:
		return set_size(app, argument, &record->max_bytes);
	case KEY_PID:
		if (wtl_option_number(app, "pid", argument, 1, 1 << 30, &value))
			return EINVAL;
		record->pid = (int)value;
		return 0;
	case KEY_CONTAINER:
		return set_name(app, "container", argument, &record->container);
	case KEY_UNIT:
		return set_name(app, "unit", argument, &record->unit);
	case KEY_NO_PROCESSES:
		app->settings.no_processes = true;
		return 0;
	case KEY_IDLE_FIRST:
		return wtl_option_idle_first(app, argument);
	case KEY_IDLE_FILE:
		app->settings.idle_file = argument;
		return 0;
	case KEY_WEIGHT:
		return wtl_option_weight(app, argument);
	case KEY_BACKGROUND:
		record->background = true;
		return 0;
	case KEY_STOP:
		record->stop = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

struct session {
	struct wtl_app *app;
	struct wattle_meter *meter;
	struct wtl_io *io;
	struct wtl_loop loop;
	struct wtl_billing billing;
	struct wtl_recording recording;
	struct wtl_follow follow;
	struct wtl_background background;
	char told[512]; /* what it came to, in a line */
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
	int rc = wtl_child_start(child, session->app->settings.command, &session->app->inherited);

	if (rc < 0)
		return wtl_child_complain(session->app, rc);
	if (session->billing.consumers)
		wtl_consumers_follow(session->billing.consumers, child->pid);
	return 0;
}

static void record_command(struct session *session, struct wtl_child *child)
{
	if (wtl_loop_run(&session->loop, session->meter, session->io, child) < 0)
		wtl_remark(session->app, "'%s' (process %d) does not end, and is left to itself",
			   session->app->settings.command[0], child->pid);
}

/* Being told to stop is how a recording usually ends. */
static void record_machine(struct session *session)
{
	int64_t duration_ns = session->app->settings.record.duration_ns;

	wtl_loop_idle(&session->loop, session->meter, session->io,
		      duration_ns ? duration_ns : DURATION_MAX_S * WTL_NS_PER_S);
}

static void record_tape(struct session *session)
{
	while (!session->loop.stop && session->io->ops->wait_until(session->io, INT64_MAX) == 0) {
		wattle_meter_tick(session->meter);
		ticked(session);
	}
}

/* ---- The recording ---- */

static void tell_end(struct session *session, const struct wattle_window *window)
{
	const char *path = session->app->settings.record.path;
	struct stat file;

	if (stat(path, &file) < 0)
		return;
	snprintf(session->told, sizeof(session->told),
		 "recorded %.1f s, %.1f kB: wattle report %.400s tells what",
		 (double)window->duration_ns / 1e9, (double)file.st_size / 1e3, path);
	wtl_remark(session->app, "%s", session->told);
}

/* 0, or negative where the recording is not whole. */
static int end_recording(struct session *session)
{
	size_t n_domains = wattle_meter_domains(session->meter);
	struct wattle_energy *energies = session->recording.energies;
	struct wattle_window window;

	wattle_window_end(session->meter, WINDOW, &window, energies, n_domains);
	wtl_billing_bill(&session->billing, &window, energies);
	wtl_recording_window(&session->recording, WINDOW, false, &window, energies);
	if (wtl_recording_close(&session->recording) < 0)
		return -1;
	tell_end(session, &window);
	return 0;
}

/* The recording was stopped, and its command goes on: whoever waits for wattle waits for that. */
static void wait_for_command(struct session *session, struct wtl_child *child)
{
	wtl_recording_done(&session->recording, session->told);
	session->loop.stop = false;
	session->loop.ticked = NULL;
	session->loop.n_guests = 0;
	session->loop.interval_ns = WTL_NS_PER_S; /* nothing is sampled any more */
	wtl_loop_run(&session->loop, NULL, session->io, child);
}

static int measure_command(struct session *session)
{
	struct wtl_child child;
	int rc = start_command(session, &child), code;

	if (rc) {
		wtl_recording_discard(&session->recording);
		return rc;
	}
	/* It runs: also where nobody is there any more to be told. */
	wtl_background_ready(&session->background);
	record_command(session, &child);
	rc = end_recording(session);
	if (!child.ended && session->loop.stop)
		wait_for_command(session, &child);
	wtl_child_reap(&child);
	code = child.ended ? wtl_child_exit_code(&child) : 128 + session->loop.last_signal;
	return rc < 0 ? WTL_EXIT_WATTLE_FAILED : code;
}

static int measure_machine(struct session *session)
{
	int rc = 0;

	if (session->billing.consumers)
		rc = wtl_follow_begin(&session->follow, session->app, &session->billing,
				      &session->loop, session->recording.recorder);
	if (rc < 0 || !wtl_background_ready(&session->background)) {
		wtl_recording_discard(&session->recording);
		return WTL_EXIT_FAILED;
	}
	if (session->app->settings.tape)
		record_tape(session);
	else
		record_machine(session);
	return end_recording(session) < 0 ? WTL_EXIT_FAILED : WTL_EXIT_DONE;
}

static int measure(struct session *session)
{
	int stop = wtl_billing_watch_idle(&session->billing, &session->loop);

	if (stop) {
		wtl_recording_discard(&session->recording);
		return stop;
	}
	wtl_billing_begin(&session->billing);
	wattle_window_begin(session->meter, WINDOW);
	return session->app->settings.command ? measure_command(session) : measure_machine(session);
}

/* ---- Settings ---- */

/* wattle-20261121-141530.wattle, in local time as people name files. */
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
	const struct wtl_record_settings *record = &settings->record;
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

static int check_settings(struct wtl_app *app)
{
	const struct wtl_settings *settings = &app->settings;

	if (settings->command && settings->record.duration_ns)
		return wtl_complain(app, "--duration is for recordings without a command");
	if (settings->tape && settings->command)
		return wtl_complain(app, "a tape replays a machine: it takes no command");
	if (settings->tape && settings->idle_first_ns)
		return wtl_complain(app, "a tape cannot wait: --idle-first has no use");
	if (settings->no_processes && settings->idle_first_ns)
		return wtl_complain(app,
				    "--idle-first is for finding out who used the energy, which "
				    "--no-processes rules out");
	if (settings->tape && settings->record.background)
		return wtl_complain(app, "a tape is over at once: --background has no use");
	return check_follow(app);
}

/* The file may be said as a word, or with -o. */
static int stop(struct wtl_app *app)
{
	const struct wtl_settings *settings = &app->settings;
	const char *file = settings->record.path;

	if (settings->command && (file || settings->command[1])) {
		wtl_complain(app, "--stop takes one recording, and no command");
		return WTL_EXIT_USAGE;
	}
	if (settings->record.background) {
		wtl_complain(app, "--stop and --background exclude each other");
		return WTL_EXIT_USAGE;
	}
	return wtl_background_stop(app, settings->command ? settings->command[0] : file);
}

/* ---- All of it ---- */

static int record(struct session *session)
{
	struct wtl_app *app = session->app;
	int code = WTL_EXIT_FAILED;
	int rc = wtl_loop_init(&session->loop, &app->settings, &app->inherited);

	session->loop.ticked = ticked;
	session->loop.context = session;
	if (rc < 0) {
		wtl_complain(app, "cannot set up the sampling loop: %s", wtl_err_text(rc));
		return code;
	}
	if (wtl_billing_open(&session->billing, app, session->meter, session->io, WINDOW) == 0 &&
	    wtl_recording_open(&session->recording, &session->billing, &session->loop) == 0)
		code = measure(session);
	wtl_follow_done(&session->follow);
	wtl_recording_done(&session->recording, session->told);
	wtl_billing_close(&session->billing);
	wtl_loop_done(&session->loop);
	return code;
}

static int run(struct wtl_app *app)
{
	struct session session = {.app = app};
	char name[64];
	int code = WTL_EXIT_FAILED, rc;

	if (app->settings.record.stop)
		return stop(app);
	if (check_settings(app))
		return WTL_EXIT_USAGE;
	if (!app->settings.record.path)
		app->settings.record.path = default_path(name, sizeof(name));
	rc = wtl_background_enter(&session.background, app, &code);
	if (rc <= 0)
		return code;
	wtl_recording_listen(&session.recording, app, true);
	if (wtl_open_meter(app, &session.meter, &session.io) == 0) {
		code = record(&session);
		wtl_close_meter(app, session.meter, session.io);
	}
	wtl_recording_done(&session.recording, NULL);
	wtl_background_leave(&session.background, code);
	return code;
}

const struct wtl_command wtl_command_record = {
	.name = "record",
	.summary = "Keep what is measured in a file",
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
	.takes_command = true,
	.usage_exit = WTL_EXIT_USAGE,
	.option = option,
	.run = run,
};
