/* SPDX-License-Identifier: MIT */
#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/num.h"
#include "cli/complain.h"
#include "cli/guess.h"
#include "cli/help.h"
#include "cli/option.h"
#include "cli/when.h"
#include "document/report.h"
#include "energy/units.h"
#include "meter/meter.h"

enum { INTERVAL_DEFAULT_MS = 100, TOP_DEFAULT = 10, TAKES_MAX = 512 };
enum { OPTIONS_MAX = 64, LONG = 0x100 }; /* getopt's value of an option is LONG and its place */

/* ---- Values ---- */

static void put_words(struct wtl_buf *buf, const char *const words[])
{
	for (size_t i = 0; words[i]; i++)
		wtl_buf_printf(buf, "%s%s", i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i]);
}

/* The shortest and the longest of these times that the option takes. */
static void put_durations(struct wtl_buf *buf, const struct wtl_option *option)
{
	static const struct {
		const char *text;
		int64_t ns;
	} times[] = {{"20ms", 20 * WTL_NS_PER_MS},
		     {"200ms", 200 * WTL_NS_PER_MS},
		     {"2s", 2 * WTL_NS_PER_S},
		     {"90s", 90 * WTL_NS_PER_S},
		     {"1h", 3600 * WTL_NS_PER_S}};
	double unit_ns = option->is_ms ? WTL_NS_PER_MS : WTL_NS_PER_S;
	size_t first = 0, last = sizeof(times) / sizeof(times[0]) - 1;

	while (first < last && times[first].ns < option->least)
		first++;
	while (last > first && times[last].ns > option->most)
		last--;
	wtl_buf_printf(buf, "%sseconds from %.10g to %.10g, or a time such as %s",
		       option->is_ms ? "milli" : "", (double)option->least / unit_ns,
		       (double)option->most / unit_ns, times[first].text);
	if (last > first)
		wtl_buf_printf(buf, " or %s", times[last].text);
}

static void put_takes(struct wtl_buf *buf, const struct wtl_option *option)
{
	if (option->takes)
		wtl_buf_puts(buf, option->takes);
	else if (option->words)
		put_words(buf, option->words);
	else if (option->kind == WTL_OPTION_NUMBER)
		wtl_buf_printf(buf, "a whole number from %lld to %lld", (long long)option->least,
			       (long long)option->most);
	else if (option->kind == WTL_OPTION_DURATION)
		put_durations(buf, option);
	else if (option->kind == WTL_OPTION_WHEN)
		wtl_buf_puts(buf, wtl_when_forms());
	else
		wtl_buf_printf(buf, "the path of %s", option->what);
}

static int set_number(const struct wtl_option *option, const char *text, void *target)
{
	uint64_t value;

	if (wtl_num_u64(text, strlen(text), &value) < 0 || value < (uint64_t)option->least ||
	    value > (uint64_t)option->most)
		return -EINVAL;
	if (option->size == sizeof(uint64_t))
		*(uint64_t *)target = value;
	else
		*(uint32_t *)target = (uint32_t)value;
	return 0;
}

static int set_duration(const struct wtl_option *option, const char *text, int64_t *target)
{
	size_t len = strlen(text);
	uint64_t ms;
	int64_t ns;
	int rc;

	if (option->is_ms && strspn(text, "0123456789.") == len) {
		rc = wtl_num_fixed(text, len, 0, &ms);
		ns = rc == 0 && ms < INT64_MAX / WTL_NS_PER_MS ? (int64_t)ms * WTL_NS_PER_MS : -1;
	} else {
		rc = wtl_when_parse_length(text, &ns);
	}
	if (rc < 0 || ns < option->least || ns > option->most)
		return -EINVAL;
	*target = ns;
	return 0;
}

static int set_text(const struct wtl_option *option, const char *text, const char **target)
{
	if (option->kind != WTL_OPTION_TEXT && !text[0])
		return -EINVAL;
	*target = option->kind == WTL_OPTION_OUTPUT && strcmp(text, "-") == 0 ? NULL : text;
	return 0;
}

static int set_word(const struct wtl_option *option, const char *text, unsigned *target)
{
	for (unsigned i = 0; option->words[i]; i++)
		if (strcmp(option->words[i], text) == 0) {
			*target = i;
			return 0;
		}
	return -EINVAL;
}

static int add_word(struct wtl_app *app, const struct wtl_option *option, const char *text,
		    struct wtl_option_list *list)
{
	size_t most = option->most ? (size_t)option->most : WTL_OPTION_LIST_MAX;

	if (option->what && !text[0])
		return wtl_complain(app, "%s is the path of %s, not ''", option->name,
				    option->what);
	if (list->n == most)
		return wtl_complain(app, "these are more than %zu %s", most, option->takes);
	list->words[list->n++] = text;
	return 0;
}

/* 0, EINVAL after a complaint, or negative if it does not take that. */
static int keep(struct wtl_app *app, const struct wtl_option *option, const char *text)
{
	void *target = wtl_option_target(app, option);

	switch (option->kind) {
	case WTL_OPTION_FLAG:
		*(bool *)target = true;
		return 0;
	case WTL_OPTION_NUMBER:
		return set_number(option, text, target);
	case WTL_OPTION_DURATION:
		return set_duration(option, text, target);
	case WTL_OPTION_OUTPUT:
	case WTL_OPTION_PATH:
	case WTL_OPTION_TEXT:
		return set_text(option, text, target);
	case WTL_OPTION_WORD:
		return set_word(option, text, target);
	case WTL_OPTION_WHEN:
		return wtl_when_parse(text, target);
	case WTL_OPTION_LIST:
		return add_word(app, option, text, target);
	case WTL_OPTION_OWN:
		return option->set(app, option, text);
	case WTL_OPTION_HELP:
		break;
	}
	return 0;
}

int wtl_option_set(struct wtl_app *app, const struct wtl_option *option, const char *text)
{
	int rc = keep(app, option, text);
	struct wtl_guess guess = {.word = text};
	struct wtl_buf takes;

	if (rc >= 0)
		return rc;
	wtl_buf_init(&takes, TAKES_MAX);
	put_takes(&takes, option);
	if (option->words)
		wtl_guess_words(&guess, option->words);
	wtl_complain(app,
		     guess.best ? "--%s takes %s, not '%s': did you mean '%s'?"
				: "--%s takes %s, not '%s'",
		     option->name, wtl_buf_str(&takes), text, guess.best);
	wtl_buf_done(&takes);
	return EINVAL;
}

int wtl_option_set_bytes(struct wtl_app *app, const struct wtl_option *option, const char *text)
{
	uint64_t bytes;

	if (wtl_num_bytes(text, strlen(text), &bytes) < 0 || bytes < (uint64_t)option->least)
		return -EINVAL;
	*(uint64_t *)wtl_option_target(app, option) = bytes;
	return 0;
}

/* ---- Which were given ---- */

bool wtl_option_is_used(const struct wtl_app *app, const char *name)
{
	const struct wtl_option *option;

	for (size_t i = 0; (option = wtl_option_at(app->command, i)); i++)
		if (name[1] == '-' ? strcmp(option->name, name + 2) == 0
				   : option->letter == name[1])
			return app->used >> i & 1;
	return false;
}

const char *wtl_option_first_used(const struct wtl_app *app, const char *const names[])
{
	while (*names && !wtl_option_is_used(app, *names))
		names++;
	return *names;
}

/* ---- Files ---- */

int wtl_option_check_output(struct wtl_app *app, const char *input)
{
	const char *output = app->settings.output_path;
	struct stat in, out;

	if (!output || stat(input, &in) < 0 || stat(output, &out) < 0 || !S_ISREG(out.st_mode) ||
	    in.st_dev != out.st_dev || in.st_ino != out.st_ino)
		return 0;
	return wtl_complain(app, "-o %s would replace what is to be read: give it another name",
			    output);
}

/* For files that do not exist yet: is it the same name in the same folder? */
static bool is_same_place(const char *a, const char *b)
{
	const char *names[] = {a, b};
	struct stat folders[2];

	for (size_t i = 0; i < 2; i++) {
		const char *slash = strrchr(names[i], '/');
		char folder[PATH_MAX];
		int len = slash ? (int)(slash + 1 - names[i]) : 0;

		if (snprintf(folder, sizeof(folder), "%.*s.", len, names[i]) >=
			    (int)sizeof(folder) ||
		    stat(folder, &folders[i]) < 0)
			return false;
		names[i] += len;
	}
	return folders[0].st_dev == folders[1].st_dev && folders[0].st_ino == folders[1].st_ino &&
	       strcmp(names[0], names[1]) == 0;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat as, bs;
	bool has_a = stat(a, &as) == 0, has_b = stat(b, &bs) == 0;

	if (has_a != has_b)
		return false;
	if (!has_a)
		return is_same_place(a, b);
	return S_ISREG(as.st_mode) && as.st_dev == bs.st_dev && as.st_ino == bs.st_ino;
}

/* Two files that are written must not be the same one. */
static int check_files(struct wtl_app *app)
{
	static const char *const whats[WTL_FILES] = {
		[WTL_FILE_OUTPUT] = "what -o writes",
		[WTL_FILE_RECORDING] = "the recording",
		[WTL_FILE_TAPE] = "the tape of --tape-record",
		[WTL_FILE_IDLE] = "the idle power of --idle-file",
		[WTL_FILE_PROFILE] = "what --keep writes",
	};
	const char *paths[WTL_FILES] = {NULL};
	const struct wtl_option *option;

	for (size_t i = 0; (option = wtl_option_at(app->command, i)); i++)
		if (option->file)
			paths[option->file] = *(const char **)wtl_option_target(app, option);
	for (size_t i = 1; i < WTL_FILES; i++)
		for (size_t k = i + 1; k < WTL_FILES; k++)
			if (paths[i] && paths[k] && is_same_file(paths[i], paths[k]))
				return wtl_complain(app,
						    "%s and %s cannot be one file, '%s': give one "
						    "of them another name",
						    whats[i], whats[k], paths[i]);
	return 0;
}

/* ---- The command line ---- */

static int check_together(struct wtl_app *app)
{
	struct wtl_settings *settings = &app->settings;

	wtl_option_default_format(app);
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
	return check_files(app);
}

static int set_defaults(struct wtl_app *app)
{
	const struct wtl_command *command = app->command;

	app->settings.interval_ns = INTERVAL_DEFAULT_MS * WTL_NS_PER_MS;
	app->settings.top = TOP_DEFAULT;
	app->settings.weight = WTL_WEIGHT_LEARNED;
	app->used = 0;
	app->own = calloc(1, command->settings_size + 1);
	if (!app->own)
		return wtl_complain(app, "out of memory");
	if (command->defaults)
		memcpy(app->own, command->defaults, command->settings_size);
	return wtl_meter_carbon(NULL, &app->settings.carbon);
}

/* The index of an option by getopt's value. */
static size_t place_of(const struct wtl_command *command, int value)
{
	size_t i = 0;

	if (value >= LONG)
		return (size_t)value - LONG;
	while (wtl_option_at(command, i)->letter != value)
		i++;
	return i;
}

static int take_word(struct wtl_app *app, const char *word)
{
	const struct wtl_option *option = app->command->word;
	int rc = option ? keep(app, option, word) : -E2BIG;

	return rc >= 0 ? rc
		       : wtl_complain(app, "'%s' is one word too many: see 'wattle %s --help'",
				      word, app->command->name);
}

static int complain_unknown(struct wtl_app *app, const char *word)
{
	char name[64];
	struct wtl_guess guess = {.word = name};
	const struct wtl_option *option;
	const char *start = word + strspn(word, "-");

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(start, "="), start);
	for (size_t i = 0; (option = wtl_option_at(app->command, i)); i++)
		wtl_guess_consider(&guess, option->name);
	if (guess.best)
		return wtl_complain(app, "unknown option '%s': did you mean '--%s'?", word,
				    guess.best);
	return wtl_complain(app, "unknown option '%s': see 'wattle %s --help'", word,
			    app->command->name);
}

/* What getopt has found in a word: 0, EINVAL after a complaint, or -1 after help. */
static int take(struct wtl_app *app, int key, const char *word)
{
	const struct wtl_command *command = app->command;
	const char *value = optarg ? optarg : "";
	const struct wtl_option *option;
	size_t i;

	if (key == '?' && optopt < LONG)
		return complain_unknown(app, word);
	i = place_of(command, key == '?' || key == ':' ? optopt : key);
	option = wtl_option_at(command, i);
	if (key == '?')
		return wtl_complain(app, "--%s takes no value", option->name);
	if (key == ':')
		return wtl_complain(app, "--%s needs a value: %s", option->name, option->value);
	if (option->kind == WTL_OPTION_HELP) {
		wtl_help_command(command, option->is_rare);
		return -1;
	}
	app->used |= UINT64_C(1) << i;
	return wtl_option_set(app, option, value + (command->skips_equals && *value == '='));
}

static bool is_verb(const struct wtl_app *app, const char *word)
{
	const char *const *verbs = app->command->verbs;

	while (verbs && *verbs && strcmp(*verbs, word) != 0)
		verbs++;
	return verbs && *verbs;
}

/* Words that getopt has not taken: those after "--". */
static int take_rest(struct wtl_app *app, int argc, char **argv)
{
	int rc = 0;

	while (rc == 0 && optind < argc)
		rc = take_word(app, argv[optind++]);
	return rc;
}

/* Takes an option, or a word (key 1). A verb's "--" is a word like others: it separates files, and options may follow. */
static int take_key(struct wtl_app *app, int argc, int key, const char *word)
{
	if (key == 1)
		return take_word(app, optarg);
	if (key >= 0)
		return take(app, key, word);
	return app->settings.verb && optind < argc ? take_word(app, "--") : 0;
}

static int parse(struct wtl_app *app, int argc, char **argv, const char *letters,
		 const struct option longs[])
{
	int key = 0, rc = 0;

	optind = opterr = 0; /* optind 0: getopt starts anew */
	while (rc == 0 && (key >= 0 || (app->settings.verb && optind < argc))) {
		const char *word = argv[optind > 0 ? optind : 1];

		key = getopt_long(argc, argv, letters, longs, NULL);
		if (key == 1 && !app->settings.verb && is_verb(app, optarg)) {
			app->settings.verb = optarg;
			continue;
		}
		if (app->command->takes_command && !app->settings.verb &&
		    (key == 1 || (key < 0 && optind < argc))) {
			app->settings.command = argv + optind - (key == 1);
			return 0;
		}
		rc = take_key(app, argc, key, word);
	}
	return rc == 0 ? take_rest(app, argc, argv) : rc;
}

int wtl_options_parse(struct wtl_app *app, int argc, char **argv)
{
	struct option longs[OPTIONS_MAX + 1] = {{0}};
	char letters[2 * OPTIONS_MAX + 3] = "-:", *letter = letters + 2; /* words as they come */
	const struct wtl_option *option;
	int rc;

	for (int i = 0; (option = wtl_option_at(app->command, (size_t)i)); i++) {
		longs[i] = (struct option){
			.name = option->name, .has_arg = option->value != NULL, .val = LONG + i};
		if (option->letter)
			*letter++ = option->letter;
		if (option->letter && option->value)
			*letter++ = ':';
	}
	if (set_defaults(app))
		return (app->command->usage_exit == WTL_EXIT_USAGE ? WTL_EXIT_FAILED
								   : WTL_EXIT_WATTLE_FAILED) +
		       1;
	rc = parse(app, argc, argv, letters, longs);
	if (rc < 0)
		return WTL_EXIT_DONE + 1;
	if (rc == 0)
		rc = check_together(app);
	return rc ? app->command->usage_exit + 1 : 0;
}
