/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "cli/app.h"
#include "energy/carbon.h"

enum {
	KEY_ROOT = 0x100,
	KEY_TAPE,
	KEY_TAPE_RECORD,
	KEY_NVML,
	KEY_FAULT,
	KEY_JITTER,
	KEY_APPEND,
	KEY_NO_COLOR,
	KEY_ASCII,
	KEY_LOCATION,
	KEY_PUE,
	KEY_TOP,
	KEY_NO_PROCESSES,
	KEY_IDLE_FIRST,
	KEY_IDLE_FILE,
	KEY_WEIGHT,
};

enum { INTERVAL_DEFAULT_MS = 100, INTERVAL_MAX_MS = 60000 };
enum { TOP_DEFAULT = 10, TOP_MAX = 65536, IDLE_FIRST_MAX_S = 3600 };

const struct argp_option wtl_options_machine[] = {
	{"root", KEY_ROOT, "DIR", 0, "Read DIR/sys and DIR/proc instead of this machine's", 20},
	{"tape", KEY_TAPE, "FILE", 0, "Replay a machine from a tape", 20},
	{"tape-record", KEY_TAPE_RECORD, "FILE", 0,
	 "Write every raw reading to a tape: the best companion of a bug report", 20},
	{"nvml", KEY_NVML, "PATH", 0,
	 "The NVIDIA management library to load; an empty PATH for none", 20},
	{"fault", KEY_FAULT, "OP:N[:ERRNO][:always]", 0,
	 "For tests: make the N-th open, read, link, dir, perf, lib, cpu, exits or write fail", 20},
	{0},
};

const struct argp_option wtl_options_sampling[] = {
	{"interval", 'i', "MS", 0, "Take a sample every MS milliseconds (1 to 60000; default 100)",
	 10},
	{"jitter", KEY_JITTER, 0, 0,
	 "Vary the interval by up to a quarter, so as not to beat with the workload", 10},
	{0},
};

const struct argp_option wtl_options_output[] = {
	{"format", 'f', "FORMAT", 0, "text (default), json or csv", 11},
	{"output", 'o', "FILE", 0, "Write the result to FILE instead of standard output", 11},
	{"append", KEY_APPEND, 0, 0,
	 "Add to the end of FILE: JSON as one line, CSV with one header at the top", 11},
	{"no-color", KEY_NO_COLOR, 0, 0, "No colours (the default when it is not a terminal)", 11},
	{"ascii", KEY_ASCII, 0, 0, "No characters beyond ASCII", 11},
	{0},
};

const struct argp_option wtl_options_carbon[] = {
	{"location", KEY_LOCATION, "CODE", 0,
	 "Where the electricity comes from: a country such as FRA, a cloud region such as "
	 "gcp:europe-west9, or a number in g CO2e/kWh. Default: the world's average",
	 12},
	{"pue", KEY_PUE, "FACTOR", 0,
	 "Power usage effectiveness of the data centre (1 to 10): shown beside, never in, the "
	 "energies",
	 12},
	{0},
};

const struct argp_option wtl_options_consumers[] = {
	{"top", KEY_TOP, "N", 0, "List the N processes that used most (default 10)", 13},
	{"no-processes", KEY_NO_PROCESSES, 0, 0, "Do not find out who used the energy", 13},
	{"idle-first", KEY_IDLE_FIRST, "SECONDS", 0,
	 "Before anything else, watch the idle machine for so long (3 to 3600) and learn what it "
	 "draws: leave it alone meanwhile",
	 13},
	{"idle-file", KEY_IDLE_FILE, "FILE", 0,
	 "Where the idle power of this machine is kept between runs (default: "
	 "$XDG_STATE_HOME/wattle/idle or ~/.local/state/wattle/idle)",
	 13},
	{"weight", KEY_WEIGHT, "WEIGHT", 0,
	 "What a use of the processors weighs: cpu-time (default), or what the hardware counts of each "
	 "process: instructions or cycles",
	 13},
	{0},
};

const struct argp_option wtl_options_general[] = {
	{"quiet", 'q', 0, 0, "No remarks on standard error", 30},
	{"verbose", 'v', 0, 0, "More about sources and how they were found", 30},
	{"help", 'h', 0, 0, "Show this help", 30},
	{0},
};

int wtl_option_number(struct wtl_app *app, const char *option, const char *text, uint64_t least,
		      uint64_t most, uint64_t *ret)
{
	uint64_t value;

	if (wtl_num_u64(text, strlen(text), &value) < 0 || value < least || value > most)
		return wtl_complain(app, "--%s takes a whole number from %llu to %llu, not '%s'",
				    option, (unsigned long long)least, (unsigned long long)most,
				    text);
	*ret = value;
	return 0;
}

static int set_format(struct wtl_app *app, const char *name)
{
	app->settings.output = wtl_output_find(name);
	if (app->settings.output)
		return 0;
	if (strcmp(name, "json") == 0)
		return wtl_complain(app, "this wattle was built without JSON (libjansson)");
	return wtl_complain(app, "--format takes text, json or csv, not '%s'", name);
}

static int set_location(struct wtl_app *app, const char *location)
{
	if (wattle_carbon_find(location, &app->settings.carbon) < 0)
		return wtl_complain(app, "--location takes %s, not '%s'", wtl_carbon_forms(),
				    location);
	app->settings.location = location;
	return 0;
}

static int set_pue(struct wtl_app *app, const char *text)
{
	uint64_t milli;

	if (wtl_num_fixed(text, strlen(text), 3, &milli) < 0 || milli < 1000 || milli > 10000)
		return wtl_complain(app, "--pue takes a factor from 1 to 10 such as 1.25, not '%s'",
				    text);
	app->settings.pue_milli = (uint32_t)milli;
	return 0;
}

static int set_interval(struct wtl_app *app, const char *text)
{
	uint64_t milli;
	int rc = wtl_option_number(app, "interval", text, 1, INTERVAL_MAX_MS, &milli);

	if (rc == 0)
		app->settings.interval_ns = (int64_t)milli * WTL_NS_PER_MS;
	return rc;
}

int wtl_option_unsigned(struct wtl_app *app, const char *option, const char *text, unsigned least,
			unsigned most, unsigned *ret)
{
	uint64_t value;
	int rc = wtl_option_number(app, option, text, least, most, &value);

	if (rc == 0)
		*ret = (unsigned)value;
	return rc;
}

int wtl_option_idle_first(struct wtl_app *app, const char *text)
{
	uint64_t value;
	int rc = wtl_option_number(app, "idle-first", text, 3, IDLE_FIRST_MAX_S, &value);

	if (rc == 0)
		app->settings.idle_first_ns = (int64_t)value * WTL_NS_PER_S;
	return rc;
}

int wtl_option_weight(struct wtl_app *app, const char *name)
{
	int weight = wtl_weight_find(name);

	if (weight < 0)
		return wtl_complain(
			app, "--weight takes cpu-time, instructions or cycles, not '%s'", name);
	app->settings.weight = (enum wtl_weight)weight;
	return 0;
}

int wtl_option_flag(bool *flag)
{
	*flag = true;
	return 0;
}

int wtl_option_text(const char **setting, const char *text)
{
	*setting = text;
	return 0;
}

static int shared_option(struct wtl_app *app, int key, char *argument)
{
	struct wtl_settings *settings = &app->settings;

	switch (key) {
	case KEY_ROOT:
		return wtl_option_text(&settings->root, argument);
	case KEY_TAPE:
		return wtl_option_text(&settings->tape, argument);
	case KEY_TAPE_RECORD:
		return wtl_option_text(&settings->tape_record, argument);
	case KEY_NVML:
		return wtl_option_text(&settings->nvml_path, argument);
	case KEY_FAULT:
		return wtl_option_text(&settings->fault, argument);
	case 'i':
		return set_interval(app, argument);
	case KEY_LOCATION:
		return set_location(app, argument);
	case KEY_PUE:
		return set_pue(app, argument);
	case 'f':
		return set_format(app, argument);
	case 'o':
		return wtl_option_text(&settings->output_path, argument);
	case KEY_TOP:
		return wtl_option_unsigned(app, "top", argument, 0, TOP_MAX, &settings->top);
	case KEY_IDLE_FIRST:
		return wtl_option_idle_first(app, argument);
	case KEY_IDLE_FILE:
		return wtl_option_text(&settings->idle_file, argument);
	case KEY_WEIGHT:
		return wtl_option_weight(app, argument);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int shared_flag(struct wtl_app *app, int key)
{
	struct wtl_settings *settings = &app->settings;

	switch (key) {
	case KEY_JITTER:
		return wtl_option_flag(&settings->jitter);
	case KEY_APPEND:
		return wtl_option_flag(&settings->append);
	case KEY_NO_COLOR:
		return wtl_option_flag(&settings->no_color);
	case KEY_ASCII:
		return wtl_option_flag(&settings->ascii);
	case KEY_NO_PROCESSES:
		return wtl_option_flag(&settings->no_processes);
	case 'q':
		return wtl_option_flag(&settings->quiet);
	case 'v':
		return wtl_option_flag(&settings->verbose);
	case 'h':
		return wtl_option_flag(&app->wants_help);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_key(int key, char *argument, struct argp_state *state)
{
	struct wtl_app *app = state->input;
	int rc;

	if (key < ARGP_KEY_END) /* not argp's own: an error, say, comes after the word */
		app->next_word = state->next;
	if (key == ARGP_KEY_ARG && app->command->takes_command) {
		app->settings.command = state->argv + state->next - 1;
		state->next = state->argc;
		return 0;
	}
	if (app->command->option) {
		rc = app->command->option(app, key, argument);
		if (rc != ARGP_ERR_UNKNOWN)
			return rc;
	}
	if (key == ARGP_KEY_ARG)
		return wtl_complain(app, "'%s' is one word too many: see 'wattle %s --help'",
				    argument, app->command->name);
	rc = shared_flag(app, key);
	return rc == ARGP_ERR_UNKNOWN ? shared_option(app, key, argument) : rc;
}

/* All options of a command in one table, for argp. */
static size_t collect(const struct wtl_command *command, struct argp_option table[], size_t max)
{
	size_t n = 0;

	for (const struct argp_option *o = command->options; o && o->name && n < max; o++)
		table[n++] = *o;
	for (size_t g = 0; command->shared && command->shared[g]; g++)
		for (const struct argp_option *o = command->shared[g]; o->name && n < max; o++)
			table[n++] = *o;
	return n;
}

static const struct argp_option *find_letter(const struct argp_option table[], char letter)
{
	for (const struct argp_option *option = table; option->name; option++)
		if (option->key == letter)
			return option;
	return NULL;
}

/* The first option of a word such as -qf that is unknown (NULL) or takes a value. */
static const struct argp_option *find_short(const struct argp_option table[], const char *letters)
{
	const struct argp_option *option = NULL;

	for (; *letters; letters++) {
		option = find_letter(table, *letters);
		if (!option || option->arg)
			break;
	}
	return option;
}

/* The option that a name, or the beginning of one only, stands for; or NULL. */
static const struct argp_option *find_long(const struct argp_option table[], const char *name)
{
	const struct argp_option *found = NULL;
	size_t len = strcspn(name, "="), n_found = 0;

	for (const struct argp_option *option = table; option->name; option++) {
		if (strncmp(option->name, name, len) != 0)
			continue;
		if (!option->name[len])
			return option;
		found = option;
		n_found++;
	}
	return n_found == 1 ? found : NULL;
}

/* argp says only that something is wrong with the options: what it is. */
static void complain_of_option(struct wtl_app *app, const struct argp_option table[],
			       const char *word)
{
	const struct argp_option *option = strncmp(word, "--", 2) == 0
						   ? find_long(table, word + 2)
						   : find_short(table, word + 1);

	if (!option)
		wtl_complain(app, "unknown option '%s': see 'wattle %s --help'", word,
			     app->command->name);
	else if (option->arg)
		wtl_complain(app, "--%s needs a value: %s", option->name, option->arg);
	else
		wtl_complain(app, "--%s takes no value", option->name);
}

static int check_together(struct wtl_app *app)
{
	struct wtl_settings *settings = &app->settings;

	if (settings->append && !settings->output_path)
		return wtl_complain(app, "--append needs -o FILE");
	if (settings->tape && settings->root)
		return wtl_complain(app, "--tape and --root exclude each other");
	if (settings->tape && settings->tape_record)
		return wtl_complain(app, "--tape and --tape-record exclude each other");
	return 0;
}

int wtl_options_parse(struct wtl_app *app, int argc, char **argv)
{
	struct argp_option table[64] = {{0}};
	const struct argp argp = {.options = table, .parser = parse_key};
	int rc;

	app->next_word = 1;
	app->settings.interval_ns = INTERVAL_DEFAULT_MS * WTL_NS_PER_MS;
	app->settings.top = TOP_DEFAULT;
	app->settings.output = &wtl_output_text;
	collect(app->command, table, 63);
	if (wattle_carbon_find(NULL, &app->settings.carbon) < 0)
		return WTL_EXIT_FAILED + 1;
	rc = argp_parse(&argp, argc, argv,
			ARGP_NO_ERRS | ARGP_NO_EXIT | ARGP_NO_HELP | ARGP_IN_ORDER, NULL, app);
	if (app->wants_help) {
		wtl_help_command(app->command);
		return WTL_EXIT_DONE + 1;
	}
	if (rc && !app->complained)
		complain_of_option(app, table,
				   argv[app->next_word < argc ? app->next_word : argc - 1]);
	if (!rc)
		rc = check_together(app);
	return rc ? app->command->usage_exit + 1 : 0;
}
