/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/screen.h"
#include "commands/top/draw.h"
#include "commands/top/play.h"
#include "commands/top/session.h"
#include "energy/units.h"
#include "workload/workload.h"

enum { ROWS_DEFAULT = 20, ROWS_MAX = 900 };

static int set_filter(struct wtl_app *app, const struct wtl_option *option, const char *text)
{
	struct wtl_top_settings *settings = app->own;
	struct wtl_filter filter;
	struct wtl_filter_error error;

	(void)option;
	if (wtl_filter_parse(&filter, text, &error) < 0)
		return wtl_complain(app, "--filter: at character %d of '%s': %s",
				    error.position + 1, text, error.text);
	settings->filter = text;
	return 0;
}

static int set_sort(struct wtl_app *app, const struct wtl_option *option, const char *text)
{
	struct wtl_top_settings *settings = app->own;

	(void)option;
	if (wtl_field_find(text, strlen(text)) == WTL_FIELDS) {
		const char *meant = wtl_field_meant(text, strlen(text));

		return wtl_complain(app,
				    meant ? "--sort: there is no field '%s': did you mean '%s'?"
					  : "--sort: there is no field '%s': "
					    "such as w, gpu_w, j, cpu or mem",
				    text, meant);
	}
	settings->sort = text;
	return 0;
}

static void offer_fields(const struct wtl_option *option, struct wtl_buf *words)
{
	(void)option;
	for (enum wtl_field field = 0; field < WTL_FIELDS; field++)
		wtl_buf_printf(words, " %s", wtl_field_info(field)->name);
}

static int set_speed(struct wtl_app *app, const struct wtl_option *option, const char *text)
{
	return wtl_play_parse_speed(text, wtl_option_target(app, option));
}

#define OWN(field) WTL_OWN(struct wtl_top_settings, field)

static const struct wtl_option options[] = {
	{"once", 0, NULL, "Print one picture as plain text and end", WTL_OPTION_FLAG, OWN(once)},
	{"rows", 0, "N", "With --once: at most N processes (default 20)", WTL_OPTION_NUMBER,
	 OWN(rows), .least = 0, .most = ROWS_MAX},
	{"redraw", 'd', "MS", "Draw every MS milliseconds (50 to 10000; default 200)",
	 WTL_OPTION_DURATION, OWN(redraw_ns), .least = 50 * WTL_NS_PER_MS,
	 .most = 10 * WTL_NS_PER_S, .is_ms = true},
	{"filter", 0, "EXPRESSION", "Show only such processes, as in 'gpu_w>10 && user==bob'",
	 WTL_OPTION_OWN, .set = set_filter},
	{"sort", 0, "FIELD", "Sort by a field such as w (default), gpu_w, j, cpu or mem",
	 WTL_OPTION_OWN, .offer = offer_fields, .set = set_sort},
	{"read-only", 0, NULL, "Send no signals to processes", WTL_OPTION_FLAG, OWN(read_only)},
	{"config", 0, "FILE",
	 "Where the set-up is kept (default: $XDG_CONFIG_HOME/wattle/top.conf or "
	 "~/.config/wattle/top.conf)",
	 WTL_OPTION_TEXT, OWN(config)},
	{"replay", 0, "FILE", "Play a recording (wattle record) instead", WTL_OPTION_PATH,
	 OWN(replay), .what = "a recording"},
	{"speed", 0, "N",
	 "With --replay: N times as fast as it was (0.1 to 1000, or max; default 1)",
	 WTL_OPTION_OWN, OWN(speed_milli), .takes = "a number from 0.1 to 1000, or max",
	 .set = set_speed},
	{"at", 0, "TIME",
	 "With --replay: begin there (with --once: show that; default the end): as "
	 "'2026-11-21 14:00' or 14:00 (local), 2026-11-21T14:00Z, or +90 or +1h30m since the start",
	 WTL_OPTION_WHEN, OWN(at)},
	{0},
};

static const struct wtl_option *const shared[] = {
	wtl_options_interval, wtl_options_gpus,	   wtl_options_consumers, wtl_options_terminal,
	wtl_options_carbon,   wtl_options_machine, wtl_options_general,	  NULL,
};

static void draw(struct wtl_top_session *session, const struct wtl_top_picture *picture)
{
	(void)session;
	wtl_top_draw(picture);
}

static enum wtl_top_wish input(struct wtl_top_session *session, const struct wtl_top_view *view,
			       const struct wtl_input *input, int64_t now_ns)
{
	return wtl_top_ui_input(&session->ui, view, &session->rows, input, now_ns);
}

/* The rows needed: title, machine, domains, caption, header, processes, and wattle itself. */
static int once_rows(struct wtl_top_session *session, const struct wtl_top_view *view, int columns)
{
	const struct wtl_top_picture picture = {.canvas = &session->canvas,
						.view = view,
						.rows = &session->rows,
						.ui = &session->ui,
						.is_still = true};
	size_t n = session->rows.n < 2 ? 2 : session->rows.n;

	session->canvas.columns = columns;
	n += (size_t)wtl_top_domains_height(&picture, WTL_TOP_ALL) + 5 + view->played.is_there;
	return n < WTL_CANVAS_MAX ? (int)n : WTL_CANVAS_MAX;
}

static const struct wtl_top_face face = {
	.draw = draw, .input = input, .once_rows = once_rows, .once_ns = WTL_NS_PER_S};

/* Options override the configuration, but are not saved in it. */
static void prepare(struct wtl_top_session *session)
{
	const struct wtl_settings *shared_settings = &session->app->settings;
	const struct wtl_top_settings *settings = session->settings;
	struct wtl_top_ui *ui = &session->ui;
	struct wtl_filter_error error;

	wtl_top_config_load(session);
	wtl_filter_parse(&ui->filter, settings->filter ? settings->filter : ui->config.filter,
			 &error);
	if (settings->sort)
		ui->config.sort = wtl_field_find(settings->sort, strlen(settings->sort));
	ui->is_replay = settings->replay != NULL;
	if (ui->is_replay)
		ui->no_kill_why = "These processes are of a recording";
	else if (shared_settings->tape || shared_settings->root)
		ui->no_kill_why = "These are another machine's processes";
	else if (settings->read_only)
		ui->no_kill_why = "Read-only: no signals are sent";
}

static int check_build(struct wtl_app *app)
{
	const struct wtl_top_settings *settings = app->own;

	if (!HAVE_RECORDINGS && settings->replay)
		return wtl_complain(app, "--replay: %s", WTL_WITHOUT_RECORDINGS);
	if (!HAVE_TERMINAL && !settings->once)
		return wtl_complain(app, "%s", WTL_WITHOUT_TERMINAL);
	return 0;
}

static int check_together(struct wtl_app *app)
{
	/* A recording has its own machine, interval and baselines. */
	static const char *const others[] = {"--tape",	    "--root",	"--tape-record",
					     "--nvml",	    "--fault",	"--interval",
					     "--idle-file", "--weight", NULL};
	const struct wtl_top_settings *settings = app->own;
	const char *other = wtl_option_first_used(app, others);

	if (settings->replay && other)
		return wtl_complain(app, "--replay goes by the recording alone: %s is of no use",
				    other);
	if (settings->replay && settings->once && settings->speed_milli)
		return wtl_complain(app, "--speed is not for --once");
	if (!settings->replay && settings->speed_milli)
		return wtl_complain(app, "--speed is for --replay");
	if (!settings->replay && settings->at.kind != WTL_WHEN_NOT)
		return wtl_complain(app, "--at is for --replay");
	if (!settings->once && wtl_option_is_used(app, "--rows"))
		return wtl_complain(app, "--rows is for --once");
	return 0;
}

static int run(struct wtl_app *app)
{
	const struct wtl_top_settings *settings = app->own;
	struct wtl_top_session session = {.face = &face, .app = app, .settings = settings};

	if (check_together(app) || check_build(app))
		return WTL_EXIT_USAGE;
	return wtl_top_session_run(&session, settings->once, prepare);
}

const struct wtl_command wtl_command_top = {
	.name = "top",
	.summary = "Show live power, and the processes that draw it",
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
		    "    how it was 90 minutes after the start\n\n"
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
	.settings_size = sizeof(struct wtl_top_settings),
	.defaults = &(const struct wtl_top_settings){.rows = ROWS_DEFAULT},
	.measures = true,
	.usage_exit = WTL_EXIT_USAGE,
	.run = run,
};
