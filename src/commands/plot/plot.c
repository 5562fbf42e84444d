/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/num.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/fd.h"
#include "cli/options.h"
#include "cli/sink.h"
#include "commands/plot/plot.h"
#include "cli/screen.h"
#include "cli/when.h"

#define PICTURE_MAX (256u << 20)

enum { TOP_DEFAULT = 8, TOP_MAX = 100, SCALE_MAX = 8 };

enum {
	KEY_FORMAT = WTL_OPTION_OWN,
	KEY_WHAT,
	KEY_BY,
	KEY_DOMAIN,
	KEY_WIDTH,
	KEY_HEIGHT,
	KEY_SCALE,
	KEY_TOP,
	KEY_LIVE,
	KEY_ONCE,
};

static const struct argp_option options[] = {
	{"output", 'o', "FILE", 0, "Write the picture to FILE: .svg, .png or .pdf", 1},
	{"format", KEY_FORMAT, "KIND", 0, "svg, png or pdf, whatever FILE is called", 1},
	{"what", KEY_WHAT, "WHAT", 0,
	 "power (over time), processes, windows, memory or runs. Default: what FILE is best at", 2},
	{"by", KEY_BY, "GROUP", 0, "Of processes: by process (default), user, container or unit",
	 2},
	{"domain", KEY_DOMAIN, "NAME", 0,
	 "Only this domain, such as package-0; may be given several times", 2},
	{"top", KEY_TOP, "N", 0, "Show the N largest on their own (1 to 100; default 8)", 2},
	{"width", KEY_WIDTH, "PIXELS", 0, "Width of the picture (400 to 16000; default 960)", 3},
	{"height", KEY_HEIGHT, "PIXELS", 0, "Its height (240 to 16000). Default: what it takes", 3},
	{"scale", KEY_SCALE, "N", 0, "Of a PNG: N pixels for one (1 to 8; default 2)", 3},
	{"live", KEY_LIVE, 0, 0, "Draw the power now, in the terminal", 4},
	{"once", KEY_ONCE, 0, 0, "With --live: print one picture as plain text, after 20 seconds",
	 4},
	{"interval", 'i', "MS", 0, "With --live: take a sample every MS milliseconds (default 100)",
	 4},
	{"redraw", 'd', "MS", 0,
	 "With --live: draw every MS milliseconds (50 to 10000; default 200)", 4},
	{"no-color", WTL_OPTION_NO_COLOR, 0, 0, "With --live: no colours", 4},
	{"ascii", WTL_OPTION_ASCII, 0, 0, "With --live: no characters beyond ASCII", 4},
	{0},
};

static const struct argp_option *const shared[] = {
	wtl_options_part,
	wtl_options_machine,
	wtl_options_general,
	NULL,
};

static int set_format(struct wtl_app *app, const char *name)
{
	app->settings.plot.has_format = true;
	if (wtl_plot_format_find(name, &app->settings.plot.format) < 0)
		return wtl_complain(app, "--format takes svg, png or pdf, not '%s'", name);
	return 0;
}

static int set_what(struct wtl_app *app, const char *name)
{
	struct wtl_plot_wanted *wanted = &app->settings.plot.wanted;

	for (enum wtl_plot_what what = WTL_PLOT_POWER; what < WTL_PLOT_WHATS; what++)
		if (strcmp(name, wtl_plot_what_name(what)) == 0) {
			wanted->what = what;
			wanted->has_what = true;
			return 0;
		}
	return wtl_complain(app, "--what takes power, processes, windows, memory or runs, not '%s'",
			    name);
}

static int set_by(struct wtl_app *app, const char *name)
{
	static const char *const names[] = {[WTL_PLOT_BY_PROCESS] = "process",
					    [WTL_PLOT_BY_USER] = "user",
					    [WTL_PLOT_BY_CONTAINER] = "container",
					    [WTL_PLOT_BY_UNIT] = "unit"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0) {
			app->settings.plot.wanted.by = (enum wtl_plot_by)i;
			app->settings.plot.has_by = true;
			return 0;
		}
	return wtl_complain(app, "--by takes process, user, container or unit, not '%s'", name);
}

static int add_domain(struct wtl_app *app, const char *name)
{
	struct wtl_plot_settings *plot = &app->settings.plot;

	if (plot->wanted.n_domains == WTL_PLOT_NAMES_MAX)
		return wtl_complain(app, "these are more than %d domains", WTL_PLOT_NAMES_MAX);
	plot->domains[plot->wanted.n_domains++] = name;
	plot->wanted.domains = plot->domains;
	return 0;
}

static int add_word(struct wtl_app *app, const char *word)
{
	struct wtl_plot_settings *plot = &app->settings.plot;

	if (plot->n_words == WTL_PLOT_FILES_MAX)
		return wtl_complain(app, "these are more than %d files", WTL_PLOT_FILES_MAX);
	plot->words[plot->n_words++] = word;
	return 0;
}

static int set_length(struct wtl_app *app, const char *name, const char *text, uint64_t least,
		      double *ret)
{
	uint64_t value;
	int rc = wtl_option_number(app, name, text, least, WTL_PLOT_SIZE_MAX, &value);

	if (rc == 0)
		*ret = (double)value;
	return rc;
}

static int set_scale(struct wtl_app *app, const char *text)
{
	uint64_t value;
	int rc = wtl_option_number(app, "scale", text, 1, SCALE_MAX, &value);

	if (rc == 0)
		app->settings.plot.scale = (double)value;
	return rc;
}

static int picture_option(struct wtl_app *app, int key, char *argument)
{
	struct wtl_plot_settings *plot = &app->settings.plot;

	switch (key) {
	case KEY_FORMAT:
		return set_format(app, argument);
	case KEY_WHAT:
		return set_what(app, argument);
	case KEY_BY:
		return set_by(app, argument);
	case KEY_DOMAIN:
		return add_domain(app, argument);
	case KEY_WIDTH:
		return set_length(app, "width", argument, WTL_PLOT_WIDTH_MIN, &plot->width);
	case KEY_HEIGHT:
		return set_length(app, "height", argument, WTL_PLOT_SIZE_MIN, &plot->height);
	case WTL_OPTION_FROM:
		return wtl_option_when(app, "from", argument, &plot->from);
	case WTL_OPTION_TO:
		return wtl_option_when(app, "to", argument, &plot->to);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int option(struct wtl_app *app, int key, char *argument)
{
	struct wtl_plot_settings *plot = &app->settings.plot;

	switch (key) {
	case KEY_LIVE:
		return wtl_option_flag(&plot->live);
	case KEY_ONCE:
		return wtl_option_flag(&plot->once);
	case KEY_SCALE:
		return set_scale(app, argument);
	case KEY_TOP:
		return wtl_option_unsigned(app, "top", argument, 1, TOP_MAX, &plot->wanted.top);
	case ARGP_KEY_ARG:
		return add_word(app, argument);
	default:
		return picture_option(app, key, argument);
	}
}

/* ---- Live ---- */

static int run_live(struct wtl_app *app)
{
	struct wtl_plot_settings *plot = &app->settings.plot;

	const struct wtl_option_use others[] = {
		{app->settings.output_path, "-o"},
		{plot->has_format, "--format"},
		{plot->wanted.has_what, "--what"},
		{plot->has_by, "--by"},
		{plot->wanted.top, "--top"},
		{plot->from.kind != WTL_WHEN_NOT, "--from"},
		{plot->to.kind != WTL_WHEN_NOT, "--to"},
		{plot->width > 0, "--width"},
		{plot->height > 0, "--height"},
		{plot->scale > 0, "--scale"},
	};
	const char *other = wtl_option_first_used(others, sizeof(others) / sizeof(others[0]));

	if (other) {
		wtl_complain(app, "--live draws power in the terminal: %s is of no use", other);
		return WTL_EXIT_USAGE;
	}
	if (!plot->once && !wtl_screen_is_built()) {
		wtl_complain(app, "this wattle was built without ncurses: only --once works");
		return WTL_EXIT_USAGE;
	}
	for (size_t i = 0; i < plot->n_words; i++)
		if (add_domain(app, plot->words[i]))
			return WTL_EXIT_USAGE;
	return wtl_plot_live(app, plot->domains, plot->wanted.n_domains);
}

/* ---- Pictures ---- */

static int find_format(struct wtl_app *app)
{
	struct wtl_plot_settings *plot = &app->settings.plot;
	const char *path = app->settings.output_path, *dot = path ? strrchr(path, '.') : NULL;

	if (plot->has_format)
		return 0;
	if (!path) {
		plot->format = WTL_PLOT_SVG;
		return 0;
	}
	if (dot && !strchr(dot, '/') && wtl_plot_format_find(dot + 1, &plot->format) == 0)
		return 0;
	return wtl_complain(
		app,
		"-o %s: its name has to end in .svg, .png or .pdf, or --format says what "
		"it is",
		path);
}

/* --fault is for the writing of the picture, too. */
static int check_files_alone(struct wtl_app *app)
{
	const struct wtl_settings *settings = &app->settings;
	const struct wtl_option_use live[] = {
		{settings->plot.once, "--once"},
		{settings->screen.redraw_ms, "--redraw"},
		{settings->screen.has_interval, "--interval"},
		{settings->no_color, "--no-color"},
		{settings->ascii, "--ascii"},
		{settings->root, "--root"},
		{settings->tape, "--tape"},
		{settings->tape_record, "--tape-record"},
		{settings->nvml_path, "--nvml"},
	};
	const char *name = wtl_option_first_used(live, sizeof(live) / sizeof(live[0]));

	return name ? wtl_complain(app, "%s is for --live", name) : 0;
}

/* Options that are for some pictures only. */
static int check_what(struct wtl_app *app)
{
	const struct wtl_plot_settings *plot = &app->settings.plot;
	const struct wtl_plot_wanted *wanted = &plot->wanted;
	bool is_of_people = wanted->has_what &&
			    (wanted->what == WTL_PLOT_PROCESSES || wanted->what == WTL_PLOT_MEMORY);

	if (is_of_people && wanted->n_domains > 0)
		return wtl_complain(
			app, "--domain goes with power, windows and runs, not with --what %s",
			wtl_plot_what_name(wanted->what));
	if (!is_of_people && (plot->has_by || wanted->top))
		return wtl_complain(app, "--%s goes with --what processes and memory",
				    plot->has_by ? "by" : "top");
	return 0;
}

static int check(struct wtl_app *app)
{
	const struct wtl_plot_settings *plot = &app->settings.plot;

	if (check_files_alone(app))
		return EINVAL;
	if (plot->n_words == 0)
		return wtl_complain(app, "which FILE? (Or --live: the power now, in the terminal)");
	for (size_t i = 0; i < plot->n_words; i++)
		if (wtl_option_word(app, "a recording or report", plot->words[i]) ||
		    wtl_option_check_output(app, plot->words[i]))
			return EINVAL;
	if (!app->settings.output_path && isatty(STDOUT_FILENO) == 1)
		return wtl_complain(app,
				    "-o FILE says where the picture goes; a terminal shows none");
	if (check_what(app))
		return EINVAL;
	if (wtl_when_is_backwards(&plot->from, &plot->to))
		return wtl_complain(app, "--to is not after --from");
	if (!wtl_plot_is_built())
		return wtl_complain(app, "this wattle was built without cairo: only --live works");
	return find_format(app);
}

/* Through an io, so that a write can be made to fail. */
static int write_file(struct wtl_app *app, const struct wtl_buf *picture)
{
	struct wtl_err err = {.code = 0};
	struct wtl_io *io = NULL;
	int rc = wtl_io_real_new(NULL, &io, &err);

	if (rc == 0 && app->settings.fault)
		rc = wtl_io_set_fault(io, app->settings.fault, &err);
	if (rc < 0)
		wtl_complain_err(app, &err);
	else
		rc = wtl_io_out_write(io, app->settings.output_path, picture->data, picture->len,
				      WTL_OUT_REPLACE);
	if (rc < 0 && !app->complained)
		wtl_complain(app, "cannot write '%s': %s", app->settings.output_path,
			     wtl_err_text(rc));
	wtl_io_free(io);
	return rc;
}

static int draw(struct wtl_app *app, const struct wtl_plot_figure *figure)
{
	const struct wtl_plot_settings *plot = &app->settings.plot;
	const struct wtl_plot_paper paper = {.format = plot->format,
					     .width = plot->width,
					     .height = plot->height,
					     .scale = plot->scale > 0 ? plot->scale : 2};
	struct wtl_err err = {.code = 0};
	struct wtl_buf picture;
	int rc;

	wtl_buf_init(&picture, PICTURE_MAX);
	rc = wtl_plot_draw(figure, &paper, &picture, &err);
	if (rc < 0)
		wtl_complain(app, "%s", err.text);
	else if (app->settings.output_path)
		rc = write_file(app, &picture);
	else if ((rc = wtl_fd_write_all(STDOUT_FILENO, picture.data, picture.len)) < 0)
		wtl_complain(app, "cannot write to standard output: %s", wtl_err_text(rc));
	wtl_buf_done(&picture);
	return rc < 0 ? WTL_EXIT_FAILED : WTL_EXIT_DONE;
}

static int run(struct wtl_app *app)
{
	struct wtl_plot_settings *plot = &app->settings.plot;
	struct wtl_plot_sheet sheet;
	int code;

	if (plot->live)
		return run_live(app);
	if (check(app))
		return WTL_EXIT_USAGE;
	if (!plot->wanted.top)
		plot->wanted.top = TOP_DEFAULT;
	if (wtl_sink_check(app) < 0)
		return WTL_EXIT_FAILED;
	wtl_plot_sheet_init(&sheet);
	code = wtl_plot_load(app, plot, &sheet);
	if (code == 0)
		code = draw(app, &sheet.figure);
	wtl_plot_sheet_done(&sheet);
	return code;
}

const struct wtl_command wtl_command_plot = {
	.name = "plot",
	.summary = "Draw pictures: of files as SVG, PNG or PDF, or live in the terminal",
	.synopsis = "[OPTION...] FILE... | --live [DOMAIN...]",
	.description =
		"Draws what was measured: power over time per domain, who drew it, the energy of windows, "
		"memory over time, and repeated runs as a series. Axes have units; ± are bands or whiskers, "
		"idle power is a dashed line, and what was not measured is a gap. Pictures can be read "
		"without colours.\n\n"
		"FILE is a recording (wattle record, wattle run --record), of which everything can be "
		"drawn, or what `wattle run --format json` has written (- is standard input), of which "
		"windows, processes and runs can. Several FILEs, of either kind, are drawn as runs.\n\n"
		"--live shows the power of the machine, or of the named domains, as curves in the terminal. "
		"q ends it, + and - change how far back it goes (20 seconds to an hour), space holds it.",
	.examples = "wattle record -o build.wattle -- make -j\n"
		    "wattle plot build.wattle -o power.svg\n"
		    "    power over time, per domain\n\n"
		    "wattle plot build.wattle --what processes --from +30 --to +90 -o who.pdf\n"
		    "    who used it in that minute\n\n"
		    "wattle run -r 10 --format json -o runs.json -- make -j\n"
		    "wattle plot runs.json -o runs.svg\n"
		    "    ten runs, their mean and its 95 % interval\n\n"
		    "wattle plot report.json --what processes --by user -o users.png\n"
		    "    who used the energy\n\n"
		    "wattle plot --live package-0 gpu-0\n"
		    "    the power now, in the terminal",
	.exit_status =
		"0\tthe picture was written, or the user has quit\n"
		"1\twattle failed, there is nothing to plot, or standard output is no terminal (--live)\n"
		"2\tits options were wrong\n"
		"N\t128 + the number of the signal that ended it; 129 as well when the terminal went "
		"away",
	.options = options,
	.shared = shared,
	.usage_exit = WTL_EXIT_USAGE,
	.option = option,
	.run = run,
};
