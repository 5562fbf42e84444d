/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/num.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/help.h"
#include "cli/options.h"
#include "meter/meter.h"
#include "document/report.h"
#include "energy/carbon.h"
#include "energy/units.h"
#include "workload/workload.h"

enum { INTERVAL_DEFAULT_MS = 100, INTERVAL_MAX_MS = 60000 };
enum { REDRAW_MIN_MS = 50, REDRAW_MAX_MS = 10000 };
enum { TOP_DEFAULT = 10, TOP_MAX = 65536, IDLE_FIRST_MAX_S = 3600 };

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
	if (wtl_carbon_is_other_provider(location))
		return wtl_complain(app, "--location: the provider of '%s' is not known; known: %s",
				    location, wtl_carbon_providers);
	if (wtl_meter_carbon(location, &app->settings.carbon) < 0)
		return wtl_complain(app, "--location takes %s, not '%s'", wtl_carbon_forms(),
				    location);
	app->settings.location = location;
	return 0;
}

static int set_fault(struct wtl_app *app, const char *spec)
{
	struct wtl_err err = {.code = 0};

	if (wtl_io_fault_check(spec, &err) < 0)
		return wtl_complain(app, "--fault: %s", err.text);
	app->settings.fault = spec;
	return 0;
}

/* "-" is where it goes without the option. */
static int set_output(struct wtl_app *app, const char *path)
{
	if (strcmp(path, "-") == 0) {
		app->settings.output_path = NULL;
		return 0;
	}
	return wtl_option_path(app, "output", "a file", path, &app->settings.output_path);
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
	app->settings.screen.has_interval = true;
	return rc;
}

static int set_idle_first(struct wtl_app *app, const char *text)
{
	uint64_t value;
	int rc = wtl_option_number(app, "idle-first", text, 3, IDLE_FIRST_MAX_S, &value);

	if (rc == 0)
		app->settings.idle_first_ns = (int64_t)value * WTL_NS_PER_S;
	return rc;
}

static int set_weight(struct wtl_app *app, const char *name)
{
	int weight = wtl_weight_find(name);

	if (weight < 0)
		return wtl_complain(
			app, "--weight takes cpu-time, instructions or cycles, not '%s'", name);
	app->settings.weight = (enum wtl_weight)weight;
	return 0;
}

static int machine_option(struct wtl_app *app, int key, char *argument)
{
	struct wtl_settings *settings = &app->settings;

	switch (key) {
	case WTL_OPTION_ROOT:
		return wtl_option_path(app, "root", "a folder", argument, &settings->root);
	case WTL_OPTION_TAPE:
		return wtl_option_path(app, "tape", "a file", argument, &settings->tape);
	case WTL_OPTION_TAPE_RECORD:
		return wtl_option_path(app, "tape-record", "a file", argument,
				       &settings->tape_record);
	case WTL_OPTION_NVML:
		return wtl_option_text(&settings->nvml_path, argument);
	case WTL_OPTION_FAULT:
		return set_fault(app, argument);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int shared_option(struct wtl_app *app, int key, char *argument)
{
	struct wtl_settings *settings = &app->settings;

	switch (key) {
	case 'i':
		return set_interval(app, argument);
	case WTL_OPTION_LOCATION:
		return set_location(app, argument);
	case WTL_OPTION_PUE:
		return set_pue(app, argument);
	case 'f':
		return set_format(app, argument);
	case 'd':
		return wtl_option_unsigned(app, "redraw", argument, REDRAW_MIN_MS, REDRAW_MAX_MS,
					   &settings->screen.redraw_ms);
	case 'o':
		return set_output(app, argument);
	case WTL_OPTION_TOP:
		return wtl_option_unsigned(app, "top", argument, 0, TOP_MAX, &settings->top);
	case WTL_OPTION_IDLE_FIRST:
		return set_idle_first(app, argument);
	case WTL_OPTION_IDLE_FILE:
		return wtl_option_text(&settings->idle_file, argument);
	case WTL_OPTION_WEIGHT:
		return set_weight(app, argument);
	default:
		return machine_option(app, key, argument);
	}
}

static int shared_flag(struct wtl_app *app, int key)
{
	struct wtl_settings *settings = &app->settings;

	switch (key) {
	case WTL_OPTION_JITTER:
		return wtl_option_flag(&settings->jitter);
	case WTL_OPTION_APPEND:
		return wtl_option_flag(&settings->append);
	case WTL_OPTION_NO_COLOR:
		return wtl_option_flag(&settings->no_color);
	case WTL_OPTION_ASCII:
		return wtl_option_flag(&settings->ascii);
	case WTL_OPTION_NO_PROCESSES:
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
	if (settings->tape && settings->idle_first_ns)
		return wtl_complain(app, "a tape cannot wait: --idle-first has no use");
	if (settings->no_processes && settings->idle_first_ns)
		return wtl_complain(app,
				    "--idle-first is for finding out who used the energy, which "
				    "--no-processes rules out");
	return wtl_option_check_outputs(app);
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
	if (wtl_meter_carbon(NULL, &app->settings.carbon) < 0)
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
