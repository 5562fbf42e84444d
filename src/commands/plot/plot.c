/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/config.h"
#include "base/err.h"
#include "base/io.h"
#include "base/num.h"
#include "base/thread.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "base/fd.h"
#include "cli/mapped.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/rights.h"
#include "cli/sink.h"
#include "commands/plot/mprof.h"
#include "commands/plot/plot.h"
#include "commands/plot/recording.h"
#include "energy/units.h"
#include "cli/when.h"

#define PICTURE_MAX (256u << 20)

enum { TOP_DEFAULT = 8, NAMES_MAX = 32 };

static int set_format(struct wtl_app *app, const struct wtl_option *option, const char *name)
{
	return wtl_plot_format_find(name, wtl_option_target(app, option));
}

#define OWN(field) WTL_OWN(struct wtl_plot_settings, field)

static const struct wtl_option options[] = {
	{"output", 'o', "FILE", "Write the picture to FILE: .svg, .png or .pdf", WTL_OPTION_OUTPUT,
	 WTL_SHARED(output_path), .what = "a file", .file = WTL_FILE_OUTPUT},
	{"format", 'f', "KIND", "svg, png or pdf, whatever FILE is called", WTL_OPTION_OWN,
	 OWN(format), .words = wtl_plot_formats, .set = set_format},
	{"what", 0, "WHAT",
	 "power (over time), processes, windows, memory, runs, or emissions (of runs, over time). Default: "
	 "what FILE is best at",
	 WTL_OPTION_WORD, OWN(wanted.what), .words = wtl_plot_whats},
	{"by", 0, "GROUP", "Of processes: by process (default), user, container or unit",
	 WTL_OPTION_WORD, OWN(wanted.by),
	 .words = (const char *const[]){[WTL_PLOT_BY_PROCESS] = "process",
					[WTL_PLOT_BY_USER] = "user",
					[WTL_PLOT_BY_CONTAINER] = "container",
					[WTL_PLOT_BY_UNIT] = "unit",
					NULL}},
	{"domain", 0, "NAME", "Only this domain, such as package-0; may be given several times",
	 WTL_OPTION_LIST, OWN(domains), .most = NAMES_MAX, .takes = "domains"},
	{"top", 0, "N", "Show the N largest on their own (1 to 100; default 8)", WTL_OPTION_NUMBER,
	 OWN(wanted.top), .least = 1, .most = 100},
	{"width", 0, "PIXELS", "Width of the picture (400 to 16000; default 960)",
	 WTL_OPTION_NUMBER, OWN(width), .least = WTL_PLOT_WIDTH_MIN, .most = WTL_PLOT_SIZE_MAX},
	{"height", 0, "PIXELS", "Its height (240 to 16000). Default: what it takes",
	 WTL_OPTION_NUMBER, OWN(height), .least = WTL_PLOT_SIZE_MIN, .most = WTL_PLOT_SIZE_MAX},
	{"scale", 0, "N", "Of a PNG: N pixels for one (1 to 8; default 2)", WTL_OPTION_NUMBER,
	 OWN(scale), .least = 1, .most = 8},
	{"live", 0, NULL, "Draw the power now, in the terminal", WTL_OPTION_FLAG, OWN(live)},
	{"once", 0, NULL, "With --live: print one picture as plain text, after 20 seconds",
	 WTL_OPTION_FLAG, OWN(screen.once)},
	{"interval", 'i', "MS", "With --live: take a sample every MS milliseconds (default 100)",
	 WTL_OPTION_DURATION, WTL_SHARED(interval_ns), .least = WTL_NS_PER_MS,
	 .most = 60 * WTL_NS_PER_S, .is_ms = true},
	{"redraw", 'd', "MS", "With --live: draw every MS milliseconds (50 to 10000; default 200)",
	 WTL_OPTION_DURATION, OWN(screen.redraw_ns), .least = 50 * WTL_NS_PER_MS,
	 .most = 10 * WTL_NS_PER_S, .is_ms = true},
	{"no-color", 0, NULL, "With --live: no colours", WTL_OPTION_FLAG, WTL_SHARED(no_color)},
	{"ascii", 0, NULL, "With --live: no characters beyond ASCII", WTL_OPTION_FLAG,
	 WTL_SHARED(ascii)},
	{"from", 0, "TIME", WTL_FROM_TEXT, WTL_OPTION_WHEN, OWN(from)},
	{"to", 0, "TIME", WTL_TO_TEXT, WTL_OPTION_WHEN, OWN(to)},
	{0},
};

static const struct wtl_option word = {"FILE", .kind = WTL_OPTION_LIST, OWN(words),
				       .takes = "files"};

/* ---- Live ---- */

static int run_live(struct wtl_app *app)
{
	static const char *const others[] = {"-o",	 "--format", "--what", "--by",
					     "--top",	 "--from",   "--to",   "--width",
					     "--height", "--scale",  NULL};
	struct wtl_plot_settings *plot = app->own;
	const char *other = wtl_option_first_used(app, others);

	if (other) {
		wtl_complain(app, "--live draws power in the terminal: %s is of no use", other);
		return WTL_EXIT_USAGE;
	}
	if (!HAVE_TERMINAL && !plot->screen.once) {
		wtl_complain(app, "%s", WTL_WITHOUT_TERMINAL);
		return WTL_EXIT_USAGE;
	}
	for (size_t i = 0; i < plot->words.n; i++) {
		if (plot->domains.n == NAMES_MAX) {
			wtl_complain(app, "these are more than %d domains", NAMES_MAX);
			return WTL_EXIT_USAGE;
		}
		plot->domains.words[plot->domains.n++] = plot->words.words[i];
	}
	return wtl_plot_live(app, plot);
}

/* ---- Pictures ---- */

static int find_format(struct wtl_app *app)
{
	struct wtl_plot_settings *plot = app->own;
	const char *path = app->settings.output_path;

	if (!path || wtl_option_is_used(app, "--format") ||
	    wtl_plot_is_picture(path, &plot->format))
		return 0;
	return wtl_complain(
		app,
		"-o %s: its name has to end in .svg, .png or .pdf, or --format says what "
		"it is",
		path);
}

/* --fault is not live's alone: it also applies to writing the picture. */
static int check_files_alone(struct wtl_app *app)
{
	static const char *const live[] = {"--once",  "--redraw", "--interval", "--no-color",
					   "--ascii", "--root",	  "--tape",	"--tape-record",
					   "--nvml",  NULL};
	const char *name = wtl_option_first_used(app, live);

	return name ? wtl_complain(app, "%s is for --live", name) : 0;
}

/* Checks options that apply to some pictures only. */
static int check_what(struct wtl_app *app)
{
	const struct wtl_plot_settings *plot = app->own;
	const struct wtl_plot_wanted *wanted = &plot->wanted;
	bool has_by = wtl_option_is_used(app, "--by");
	bool is_of_processes = wanted->has_what && (wanted->what == WTL_PLOT_PROCESSES ||
						    wanted->what == WTL_PLOT_MEMORY);

	if (is_of_processes && plot->domains.n > 0)
		return wtl_complain(
			app, "--domain goes with power, windows and runs, not with --what %s",
			wtl_plot_whats[wanted->what]);
	if (!is_of_processes && (has_by || wanted->top))
		return wtl_complain(app, "--%s goes with --what processes and memory",
				    has_by ? "by" : "top");
	return 0;
}

static int check(struct wtl_app *app)
{
	struct wtl_plot_settings *plot = app->own;

	plot->wanted.has_what = wtl_option_is_used(app, "--what");
	plot->wanted.domains = plot->domains.words;
	plot->wanted.n_domains = plot->domains.n;
	if (check_files_alone(app))
		return EINVAL;
	if (plot->words.n == 0)
		return wtl_complain(app, "which FILE? (Or --live: the power now, in the terminal)");
	for (size_t i = 0; i < plot->words.n; i++)
		if (!plot->words.words[i][0])
			return wtl_complain(
				app, "FILE is the path of a recording, report or .dat, not ''");
		else if (wtl_option_check_output(app, plot->words.words[i]))
			return EINVAL;
	if (!app->settings.output_path && isatty(STDOUT_FILENO) == 1)
		return wtl_complain(app,
				    "-o FILE says where the picture goes; a terminal shows none");
	if (check_what(app))
		return EINVAL;
	if (wtl_when_is_backwards(&plot->from, &plot->to))
		return wtl_complain(app, "--to is not after --from");
	if (!HAVE_CAIRO)
		return wtl_complain(app, "built without cairo: only --live works");
	return find_format(app);
}

/* One recording, and not a picture of runs: those are drawn from reports. */
static bool is_of_one_recording(const struct wtl_plot_settings *settings)
{
	return settings->words.n == 1 && wtl_plot_is_recording(settings->words.words[0]) &&
	       !(settings->wanted.has_what && (settings->wanted.what == WTL_PLOT_RUNS ||
					       settings->wanted.what == WTL_PLOT_EMISSIONS));
}

static int load(struct wtl_app *app, const struct wtl_plot_settings *settings,
		struct wtl_plot_sheet *sheet)
{
	bool is_one = is_of_one_recording(settings);

	if (settings->words.n == 1 && wtl_plot_is_mprof(settings->words.words[0]))
		return wtl_plot_mprof(app, settings->words.words[0], settings, sheet);
	if (HAVE_RECORDINGS && is_one)
		return wtl_plot_recording(app, settings->words.words[0], settings, sheet);
	if (HAVE_JANSSON && !is_one)
		return wtl_plot_load(app, settings, sheet);
	wtl_complain(app, "'%s': %s", settings->words.words[0],
		     is_one ? WTL_WITHOUT_RECORDINGS : "built without JSON (libjansson)");
	return WTL_EXIT_FAILED;
}

/* By an io, so that tests can make a write fail. */
static int write_file(struct wtl_app *app, const struct wtl_buf *picture)
{
	struct wtl_err err = {.code = 0};
	struct wtl_io *io = NULL;
	int rc = wtl_io_real_new(NULL, &io, &err);

	if (rc == 0 && app->settings.fault)
		rc = wtl_io_set_fault(io, app->settings.fault, &err);
	if (rc < 0) {
		wtl_complain_err(app, &err);
	} else {
		io->file_mode = app->settings.file_mode;
		rc = wtl_io_out_write(io, app->settings.output_path, picture->data, picture->len,
				      WTL_OUT_REPLACE);
	}
	if (rc < 0 && !app->complained)
		wtl_complain(app, "cannot write '%s': %s", app->settings.output_path,
			     wtl_err_text(rc));
	wtl_io_free(io);
	return rc;
}

static int draw(struct wtl_app *app, const struct wtl_plot_figure *figure)
{
	const struct wtl_plot_settings *plot = app->own;
	const struct wtl_plot_paper paper = {.format = plot->format,
					     .width = plot->width,
					     .height = plot->height,
					     .scale = plot->scale ? plot->scale : 2};
	struct wtl_err err = {.code = 0};
	struct wtl_buf picture;
	int rc;

	wtl_buf_init(&picture, PICTURE_MAX);
	rc = HAVE_CAIRO ? wtl_plot_draw(figure, &paper, &picture, &err) : -ENOSYS;
	if (rc < 0)
		wtl_complain(app, "%s", err.text);
	else if (app->settings.output_path)
		rc = write_file(app, &picture);
	else if ((rc = wtl_fd_write_all(STDOUT_FILENO, picture.data, picture.len)) < 0)
		wtl_complain(app, "cannot write to standard output: %s", wtl_err_text(rc));
	wtl_buf_done(&picture);
	return rc < 0 ? WTL_EXIT_FAILED : WTL_EXIT_DONE;
}

static int plot_files(void *context)
{
	struct wtl_app *app = context;
	const struct wtl_plot_settings *plot = app->own;
	struct wtl_plot_sheet sheet;
	int code;

	wtl_plot_sheet_init(&sheet);
	code = load(app, plot, &sheet);
	if (code == 0)
		code = draw(app, &sheet.figure);
	wtl_plot_sheet_done(&sheet);
	return code;
}

static int read_and_draw(void *context)
{
	int code = wtl_mapped_read(context, plot_files, context);

	return code < 0 ? WTL_EXIT_FAILED : code;
}

static int run(struct wtl_app *app)
{
	struct wtl_plot_settings *plot = app->own;

	if (plot->live)
		return run_live(app);
	wtl_rights_drop();
	if (check(app))
		return WTL_EXIT_USAGE;
	if (!plot->wanted.top)
		plot->wanted.top = TOP_DEFAULT;
	if (wtl_sink_check(app) < 0)
		return WTL_EXIT_FAILED;
	/* In a thread with a large stack: Fontconfig's files and JSON may be nested deeply. */
	return wtl_thread_call(read_and_draw, app);
}

const struct wtl_command wtl_command_plot = {
	.name = "plot",
	.summary = "Draw pictures: of files as SVG, PNG or PDF, or live in the terminal",
	.synopsis = "[OPTION...] FILE... | --live [DOMAIN...]",
	.description =
		"Draws what was measured: power over time per domain, who drew it, the energy of windows, "
		"memory over time, and repeated runs as a series. Axes have units; uncertainties are bands or whiskers, "
		"idle power is a dashed line, and what was not measured is a gap. Pictures can be read "
		"without colours.\n\n"
		"FILE is a recording (wattle record, wattle run --record), of which everything can be "
		"drawn, or what `wattle run --format json` has written (- is standard input), of which "
		"windows, processes and runs can, or an emissions.csv of CodeCarbon or of wattle run --emissions, "
		"whose rows are runs. Several FILEs, of any kind, are drawn as runs. Of what "
		"`wattle profile -o FILE.dat` or memory-profiler's `mprof run` has written, memory over time is drawn.\n\n"
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
		    "wattle plot --what emissions emissions.csv a.wattle -o year.png\n"
		    "    duration, energy, emissions and their rate, run by run over time\n\n"
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
	.shared =
		(const struct wtl_option *const[]){wtl_options_machine, wtl_options_general, NULL},
	.word = &word,
	.settings_size = sizeof(struct wtl_plot_settings),
	.measures = true,
	.usage_exit = WTL_EXIT_USAGE,
	.run = run,
};
