/* SPDX-License-Identifier: MIT */
/* Rows of options that several commands have. */
#include "cli/option.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/num.h"
#include "base/outfile.h"
#include "cli/complain.h"
#include "cli/guess.h"
#include "document/report.h"
#include "energy/carbon.h"
#include "energy/units.h"
#include "meter/meter.h"

static int set_format(struct wtl_app *app, const struct wtl_option *option, const char *name)
{
	for (size_t i = 0; option->words[i]; i++)
		if (strcmp(option->words[i], name) == 0) {
			app->settings.output = wtl_writer_find(name);
			return 0;
		}
	return -EINVAL;
}

void wtl_option_default_format(struct wtl_app *app)
{
	const char *path = app->settings.output_path, *suffix = path ? strrchr(path, '.') : NULL;
	const struct wtl_option *option;

	if (suffix && strcmp(suffix, ".md") == 0)
		suffix = ".markdown";
	for (size_t i = 0; (option = wtl_option_at(app->command, i)); i++)
		if (option->set == set_format && suffix && !app->settings.output)
			set_format(app, option, suffix + 1);
	if (!app->settings.output)
		app->settings.output = &wtl_writer_text;
}

static int set_location(struct wtl_app *app, const struct wtl_option *option, const char *location)
{
	if (wtl_carbon_is_other_provider(location))
		return wtl_complain(app, "--location: the provider of '%s' is not known; known: %s",
				    location, wtl_carbon_providers);
	if (wtl_meter_carbon(location, &app->settings.carbon) < 0) {
		const char *place = NULL, *meant = wtl_guess_location(location, &place);

		return wtl_complain(app,
				    meant ? "--%s takes %s, not '%s': did you mean %s, %s?"
					  : "--%s takes %s, not '%s'",
				    option->name, wtl_carbon_forms(), location, meant, place);
	}
	app->settings.location = location;
	return 0;
}

static int set_fault(struct wtl_app *app, const struct wtl_option *option, const char *spec)
{
	struct wtl_err err = {.code = 0};

	(void)option;
	if (wtl_io_fault_check(spec, &err) < 0)
		return wtl_complain(app, "--fault: %s", err.text);
	app->settings.fault = spec;
	return 0;
}

static int set_pue(struct wtl_app *app, const struct wtl_option *option, const char *text)
{
	uint64_t milli;

	(void)option;
	if (wtl_num_fixed(text, strlen(text), 3, &milli) < 0 || milli < 1000 || milli > 10000)
		return -EINVAL;
	app->settings.pue_milli = (uint32_t)milli;
	return 0;
}

static int set_until(struct wtl_app *app, const struct wtl_option *option, const char *text)
{
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
	app->settings.until = value;
	return 0;
}

static int set_mode(struct wtl_app *app, const struct wtl_option *option, const char *text)
{
	size_t len = strlen(text);
	mode_t mode = (mode_t)strtoul(text, NULL, 8);

	(void)option;
	if (len < 3 || len > 4 || strspn(text, "01234567") != len || mode & ~0666u ||
	    (mode & 0600) != 0600)
		return -EINVAL;
	app->settings.file_mode = WTL_MODE_GIVEN | mode;
	return 0;
}

#define MODE                                                                                       \
	{                                                                                          \
		"mode", 0, "OCTAL",                                                                \
			"The mode of files that are made, such as 0640 (default: 0600 as root or " \
			"with capabilities, else as the umask says)",                              \
			WTL_OPTION_OWN, .takes = "an octal mode from 0600 to 0666 such as 0640",   \
					.set = set_mode                                            \
	}

const struct wtl_option wtl_options_mode[] = {MODE, {0}};

const struct wtl_option wtl_options_machine[] = {
	{"root", 0, "DIR", "Read DIR/sys and DIR/proc instead of this machine's", WTL_OPTION_PATH,
	 WTL_SHARED(root), .what = "a folder", .is_rare = true},
	{"tape", 0, "FILE", "Replay a machine from a tape", WTL_OPTION_PATH, WTL_SHARED(tape),
	 .what = "a file", .is_rare = true},
	{"tape-record", 0, "FILE",
	 "Write every raw reading to a tape: the best companion of a bug report", WTL_OPTION_PATH,
	 WTL_SHARED(tape_record), .what = "a file", .file = WTL_FILE_TAPE},
	MODE,
	{"nvml", 0, "PATH", "The NVIDIA management library to load; an empty PATH for none",
	 WTL_OPTION_TEXT, WTL_SHARED(nvml_path), .is_rare = true},
	{"fault", 0, "OP:N[:ERRNO][:always]",
	 "For tests: make the N-th open, read, link, dir, perf, lib, cpu, exits or write fail",
	 WTL_OPTION_OWN, .set = set_fault, .is_rare = true},
	{0},
};

const struct wtl_option wtl_options_interval[] = {
	{"interval", 'i', "MS", "Take a sample every MS milliseconds (1 to 60000; default 100)",
	 WTL_OPTION_DURATION, WTL_SHARED(interval_ns), .least = WTL_NS_PER_MS,
	 .most = 60 * WTL_NS_PER_S, .is_ms = true},
	{0},
};

const struct wtl_option wtl_options_gpus[] = {
	{"gpus", 0, "LIST",
	 "Of NVIDIA's GPUs measure these only: indices, UUIDs or MIG devices with commas, as in "
	 "CUDA_VISIBLE_DEVICES; an empty LIST for none (default: all)",
	 WTL_OPTION_TEXT, WTL_SHARED(gpus)},
	{0},
};

const struct wtl_option wtl_options_jitter[] = {
	{"jitter", 0, NULL,
	 "Vary the interval by up to a quarter, so as not to beat with the workload",
	 WTL_OPTION_FLAG, WTL_SHARED(jitter)},
	{0},
};

const struct wtl_option wtl_options_format[] = {
	{"format", 'f', "FORMAT",
	 "text, json, ndjson or csv (default: as FILE's suffix says, else text)", WTL_OPTION_OWN,
	 .words = wtl_writer_names, .set = set_format},
	{0},
};

const struct wtl_option wtl_options_format_all[] = {
	{"format", 'f', "FORMAT",
	 "text, json, ndjson, csv or markdown (default: as FILE's suffix says, else text)",
	 WTL_OPTION_OWN, .words = wtl_writer_names_all, .set = set_format},
	{0},
};

const struct wtl_option wtl_options_output[] = {
	{"output", 'o', "FILE", "Write the result to FILE (-: standard output)", WTL_OPTION_OUTPUT,
	 WTL_SHARED(output_path), .what = "a file", .file = WTL_FILE_OUTPUT},
	{"append", 0, NULL,
	 "Add to the end of FILE: JSON as one line, CSV with one header at the top",
	 WTL_OPTION_FLAG, WTL_SHARED(append)},
	{0},
};

const struct wtl_option wtl_options_terminal[] = {
	{"no-color", 0, NULL,
	 "No colours (the default when it is not a terminal, or NO_COLOR is set)", WTL_OPTION_FLAG,
	 WTL_SHARED(no_color)},
	{"ascii", 0, NULL, "No characters beyond ASCII", WTL_OPTION_FLAG, WTL_SHARED(ascii)},
	{0},
};

const struct wtl_option wtl_options_carbon[] = {
	{"location", 0, "CODE",
	 "Where the electricity comes from: a country such as FRA, a cloud region such as "
	 "gcp:europe-west9, or a number in g CO2e/kWh. Default: the world's average",
	 WTL_OPTION_OWN, .offer = wtl_offer_locations, .set = set_location},
	{"pue", 0, "FACTOR",
	 "Power usage effectiveness of the data centre (1 to 10): shown beside, never in, the "
	 "energies",
	 WTL_OPTION_OWN, .takes = "a factor from 1 to 10 such as 1.25", .set = set_pue},
	{0},
};

const struct wtl_option wtl_options_idle_first[] = {
	{"idle-first", 0, "SECONDS",
	 "Before anything else, watch the idle machine for so long (3 to 3600) and learn what it "
	 "draws: leave it alone meanwhile",
	 WTL_OPTION_DURATION, WTL_SHARED(idle_first_ns), .least = 3 * WTL_NS_PER_S,
	 .most = 3600 * WTL_NS_PER_S},
	{0},
};

#define IDLE_FILE                                                                     \
	{                                                                             \
		"idle-file", 0, "FILE",                                               \
			"Where the idle power of this machine is kept between runs "  \
			"(default: $XDG_STATE_HOME/wattle/idle or "                   \
			"~/.local/state/wattle/idle)",                                \
			WTL_OPTION_TEXT, WTL_SHARED(idle_file), .file = WTL_FILE_IDLE \
	}

const struct wtl_option wtl_options_idle_file[] = {IDLE_FILE, {0}};

const struct wtl_option wtl_options_consumers[] = {
	{"no-processes", 0, NULL, "Do not find out who used the energy", WTL_OPTION_FLAG,
	 WTL_SHARED(no_processes)},
	IDLE_FILE,
	{"weight", 0, "WEIGHT",
	 "What a use of the processors weighs: what each consumer was learned to draw in a second of CPU time "
	 "(learned, the default), cpu-time alone, or what the hardware counts of each process: instructions or "
	 "cycles",
	 WTL_OPTION_WORD, WTL_SHARED(weight), .words = wtl_weight_names},
	{0},
};

const struct wtl_option wtl_options_repeat[] = {
	{"repeat", 'r', "N",
	 "Run the command, or each of several, N times (1 to 1000) and tell mean and spread",
	 WTL_OPTION_NUMBER, WTL_SHARED(repeat), .least = 1, .most = WTL_RUNS_MAX},
	{"until", 0, "REL",
	 "Repeat until the 95 % interval of the mean energy, of compare that of each ratio, is within REL of it, such as 0.02 or 2%",
	 WTL_OPTION_OWN, .takes = "a part from 0.01% to 100% such as 0.02 or 2%", .set = set_until},
	{"max-repeat", 0, "N", "With --until: at most N times (default 100)", WTL_OPTION_NUMBER,
	 WTL_SHARED(repeat_max), .least = 1, .most = WTL_RUNS_MAX},
	{0},
};

int wtl_option_check_repeat(struct wtl_app *app)
{
	const struct wtl_settings *settings = &app->settings;

	if (settings->repeat_max && settings->until <= 0.0)
		return wtl_complain(app, "--max-repeat bounds --until, which is not given");
	if (settings->repeat && settings->until > 0.0)
		return wtl_complain(app,
				    "--repeat and --until exclude each other: use --max-repeat");
	return 0;
}

const struct wtl_option wtl_options_general[] = {
	{"quiet", 'q', NULL, "As little text as possible: no remarks, and short reports",
	 WTL_OPTION_FLAG, WTL_SHARED(quiet)},
	{"verbose", 'v', NULL, "More about sources and how they were found", WTL_OPTION_FLAG,
	 WTL_SHARED(verbose)},
	{"help", 'h', NULL, "Show this help", .kind = WTL_OPTION_HELP},
	{"help-all", 0, NULL, "Show this help with the options that few need",
	 .kind = WTL_OPTION_HELP, .is_rare = true},
	{0},
};

const struct wtl_option *wtl_option_at(const struct wtl_command *command, size_t i)
{
	const struct wtl_option *const *group = command->shared, *option = command->options;

	if (!option)
		option = *group++;
	for (;; option++) {
		while (!option->name) {
			if (!group || !*group)
				return NULL;
			option = *group++;
		}
		if (i-- == 0)
			return option;
	}
}

void *wtl_option_target(struct wtl_app *app, const struct wtl_option *option)
{
	char *base = option->is_shared ? (char *)&app->settings : (char *)app->own;

	return base + option->offset;
}
