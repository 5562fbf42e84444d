/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/options.h"
#include "cli/screen.h"
#include "commands/top/play.h"
#include "commands/top/session.h"
#include "workload/workload.h"

enum { ROWS_DEFAULT = 20, ROWS_MAX = 900 };

enum {
	KEY_ONCE = WTL_OPTION_OWN,
	KEY_ROWS,
	KEY_READ_ONLY,
	KEY_FILTER,
	KEY_SORT,
	KEY_CONFIG,
	KEY_REPLAY,
	KEY_SPEED,
	KEY_AT,
};

static const struct argp_option options[] = {
	{"once", KEY_ONCE, 0, 0, "Print one picture as plain text and end", 1},
	{"rows", KEY_ROWS, "N", 0, "With --once: at most N processes (default 20)", 1},
	{"redraw", 'd', "MS", 0, "Draw every MS milliseconds (50 to 10000; default 200)", 1},
	{"filter", KEY_FILTER, "EXPRESSION", 0,
	 "Show only such processes, as in 'gpu_w>10 && user==bob'", 1},
	{"sort", KEY_SORT, "FIELD", 0, "Sort by a field such as w (default), gpu_w, j, cpu or mem",
	 1},
	{"read-only", KEY_READ_ONLY, 0, 0, "Send no signals to processes", 1},
	{"config", KEY_CONFIG, "FILE", 0,
	 "Where the set-up is kept (default: $XDG_CONFIG_HOME/wattle/top.conf or "
	 "~/.config/wattle/top.conf)",
	 2},
	{"replay", KEY_REPLAY, "FILE", 0, "Play a recording (wattle record) instead", 3},
	{"speed", KEY_SPEED, "N", 0,
	 "With --replay: N times as fast as it was (0.1 to 1000, or max; default 1)", 3},
	{"at", KEY_AT, "TIME", 0,
	 "With --replay: begin there (with --once: show that; default the end): as "
	 "'2026-11-21 14:00' or 14:00 (local), 2026-11-21T14:00Z, or +90 or +1h30m since the begin",
	 3},
	{0},
};

static const struct argp_option *const shared[] = {
	wtl_options_interval,
	wtl_options_consumers,
	wtl_options_terminal,
	wtl_options_carbon,
	wtl_options_machine,
	wtl_options_general,
	NULL,
};

static int check_filter(struct wtl_app *app, const char *text)
{
	struct wtl_filter filter;
	struct wtl_filter_error error;

	if (wtl_filter_parse(&filter, text, &error) < 0)
		return wtl_complain(app, "--filter: at character %d of '%s': %s",
				    error.position + 1, text, error.text);
	app->settings.screen.filter = text;
	return 0;
}

static int check_sort(struct wtl_app *app, const char *text)
{
	if (wtl_field_find(text, strlen(text)) == WTL_FIELDS)
		return wtl_complain(app, "--sort: there is no field '%s'", text);
	app->settings.screen.sort = text;
	return 0;
}

static int set_speed(struct wtl_app *app, const char *text)
{
	if (wtl_play_parse_speed(text, &app->settings.screen.speed_milli) < 0)
		return wtl_complain(
			app, "--speed takes a number from 0.1 to 1000, or max, not '%s'", text);
	return 0;
}

static int replay_option(struct wtl_app *app, int key, char *argument)
{
	struct wtl_top_settings *screen = &app->settings.screen;

	switch (key) {
	case KEY_REPLAY:
		return wtl_option_path(app, "replay", "a recording", argument, &screen->replay);
	case KEY_SPEED:
		return set_speed(app, argument);
	case KEY_AT:
		return wtl_option_when(app, "at", argument, &screen->at);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int option(struct wtl_app *app, int key, char *argument)
{
	struct wtl_top_settings *screen = &app->settings.screen;

	switch (key) {
	case KEY_ONCE:
		return wtl_option_flag(&screen->once);
	case KEY_ROWS:
		screen->has_rows = true;
		return wtl_option_unsigned(app, "rows", argument, 0, ROWS_MAX, &screen->rows);
	case KEY_READ_ONLY:
		return wtl_option_flag(&screen->read_only);
	case KEY_FILTER:
		return check_filter(app, argument);
	case KEY_SORT:
		return check_sort(app, argument);
	case KEY_CONFIG:
		return wtl_option_text(&screen->config, argument);
	default:
		return replay_option(app, key, argument);
	}
}

/* What options say goes before the configuration, and is not kept in it. */
static void prepare(struct wtl_top_session *session)
{
	const struct wtl_settings *settings = &session->app->settings;
	struct wtl_top_ui *ui = &session->ui;
	struct wtl_filter_error error;

	wtl_top_config_load(session);
	wtl_filter_parse(&ui->filter,
			 settings->screen.filter ? settings->screen.filter : ui->config.filter,
			 &error);
	if (settings->screen.sort)
		ui->config.sort =
			wtl_field_find(settings->screen.sort, strlen(settings->screen.sort));
	ui->is_replay = settings->screen.replay != NULL;
	if (ui->is_replay) {
		ui->no_kill = true;
		ui->no_kill_why = "These processes are of a recording";
	} else if (settings->tape || settings->root) {
		ui->no_kill = true;
		ui->no_kill_why = "These are another machine's processes";
	} else if (settings->screen.read_only) {
		ui->no_kill = true;
		ui->no_kill_why = "Read-only: no signals are sent";
	}
}

/* A recording has its own machine, interval and baselines. */
static int check_replay(struct wtl_app *app)
{
	const struct wtl_settings *settings = &app->settings;
	const struct wtl_option_use others[] = {
		{settings->tape, "--tape"},
		{settings->root, "--root"},
		{settings->tape_record, "--tape-record"},
		{settings->nvml_path, "--nvml"},
		{settings->fault, "--fault"},
		{settings->screen.has_interval, "--interval"},
		{settings->idle_file, "--idle-file"},
		{settings->weight != WTL_WEIGHT_CPU_TIME, "--weight"},
	};
	const char *other = wtl_option_first_used(others, sizeof(others) / sizeof(others[0]));

	if (other)
		return wtl_complain(app, "--replay goes by the recording alone: %s is of no use",
				    other);
	if (settings->screen.once && settings->screen.speed_milli)
		return wtl_complain(app, "--speed is not for --once");
	return 0;
}

static int check_together(struct wtl_app *app)
{
	if (app->settings.screen.replay && check_replay(app))
		return EINVAL;
	if (!app->settings.screen.replay && app->settings.screen.speed_milli)
		return wtl_complain(app, "--speed is for --replay");
	if (!app->settings.screen.replay && app->settings.screen.at.kind != WTL_WHEN_NOT)
		return wtl_complain(app, "--at is for --replay");
	if (!app->settings.screen.once && app->settings.screen.has_rows)
		return wtl_complain(app, "--rows is for --once");
	if (!app->settings.screen.once && !wtl_screen_is_built())
		return wtl_complain(app,
				    "this wattle was built without ncurses: only --once works");
	return 0;
}

static int run(struct wtl_app *app)
{
	struct wtl_top_session session = {.app = app};

	if (check_together(app))
		return WTL_EXIT_USAGE;
	if (!app->settings.screen.has_rows)
		app->settings.screen.rows = ROWS_DEFAULT;
	return wtl_top_session_run(&session, app->settings.screen.once, prepare);
}

const struct wtl_command wtl_command_top = {
	.name = "top",
	.summary = "Show live what draws power, and who",
	.synopsis = "[OPTION...]",
	.description =
		"Shows the power of CPU packages, DRAM and GPUs together, with curves over time, limits and "
		"idle baselines, the joules, watt hours and CO2 equivalent since the start, and the "
		"processes with what each of them draws.\n\n"
		"Keys are those of htop: F1 or h shows them all. The picture can be sorted, filtered by "
		"an expression, searched, shown as a tree or in groups (user, container, pod, systemd "
		"unit, batch job); F9 sends a signal after asking. Clicks on headers sort, the wheel "
		"scrolls. What is chosen in the set-up window (F2) is kept.\n\n"
		"A process's watts are its dynamic share: what the machine draws above its idle baseline, "
		"divided by CPU time and GPU use. As long as no idle baseline is known, they are full "
		"shares, and the picture says so.\n\n"
		"--replay plays a recording (wattle record) instead: the same picture, as fast as it was "
		"or faster, with keys to stop, to seek (j l, J L, b e) and to change the speed (s f).",
	.examples = "wattle top\n"
		    "    the live picture; q ends it\n\n"
		    "wattle top --filter 'gpu_w > 10 && user == bob'\n"
		    "    only bob's processes that work on a GPU\n\n"
		    "wattle top --once --rows 5\n"
		    "    one picture as text, with the five largest\n\n"
		    "wattle top --replay night.wattle --speed 10\n"
		    "    a recording, ten times as fast as it was\n\n"
		    "wattle top --once --replay night.wattle --at +1h30m\n"
		    "    how it was 90 minutes after the begin\n\n"
		    "wattle top --tape server.tape\n"
		    "    a recorded machine, as fast as it was recorded",
	.exit_status =
		"0\tthe user has quit, or the picture was printed\n"
		"1\twattle failed, or standard output is no terminal (without --once)\n"
		"2\tits options were wrong\n"
		"N\t128 + the number of the signal that ended it; 129 as well when the terminal went "
		"away",
	.options = options,
	.shared = shared,
	.usage_exit = WTL_EXIT_USAGE,
	.option = option,
	.run = run,
};
