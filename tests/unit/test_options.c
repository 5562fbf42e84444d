/* SPDX-License-Identifier: MIT */
/* Options: what the parsers of their values take, what they leave when they refuse, and the whole line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "cli/app.h"
#include "energy/units.h"
#include "workload/weigh.h"

struct desk {
	struct wtl_app app;
	char said[8192];
};

/* main.c's, which is not linked here: these keep what is said. */
static void say(struct wtl_app *app, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

static void say(struct wtl_app *app, const char *format, va_list args)
{
	struct desk *desk = (struct desk *)app; /* its first member */
	size_t len = strlen(desk->said);

	len += (size_t)snprintf(desk->said + len, sizeof(desk->said) - len,
				"wattle: %s: ", app->command->name);
	len += (size_t)vsnprintf(desk->said + len, sizeof(desk->said) - len, format, args);
	snprintf(desk->said + len, sizeof(desk->said) - len, "\n");
}

int wtl_complain(struct wtl_app *app, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(app, format, args);
	va_end(args);
	app->complained = true;
	return EINVAL;
}

void wtl_complain_err(struct wtl_app *app, const struct wtl_err *err)
{
	wtl_complain(app, "%s", err->text);
}

void wtl_remark(const struct wtl_app *app, const char *format, ...)
{
	(void)app;
	fail_msg("a remark: %s", format);
}

const struct wtl_command *const wtl_commands[] = {NULL};

const struct wtl_command *wtl_command_find(const char *name)
{
	(void)name;
	return NULL;
}

static void desk_init(struct desk *desk, const struct wtl_command *command)
{
	memset(desk, 0, sizeof(*desk));
	desk->app.command = command;
}

static const char *desk_done(const struct desk *desk)
{
	return desk->said;
}

/* One line that ends as a line does, and says these words. */
static void check_said(const char *text, const char *words)
{
	assert_non_null(strstr(text, words));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	assert_memory_equal(text, "wattle: ", 8);
}

static void numbers(void **state)
{
	static const char *const bad[] = {"",
					  "-1",
					  "0",
					  "11",
					  "+5",
					  "5.0",
					  "5x",
					  "0x5",
					  "99999999999999999999",
					  "18446744073709551616",
					  "five"};
	uint64_t value = 4711;
	unsigned small = 4711;
	struct desk desk;

	(void)state;
	desk_init(&desk, &wtl_command_run);
	assert_int_equal(wtl_option_number(&desk.app, "n", "1", 1, 10, &value), 0);
	assert_int_equal(value, 1);
	assert_int_equal(wtl_option_number(&desk.app, "n", "10", 1, 10, &value), 0);
	assert_int_equal(value, 10);
	assert_int_equal(
		wtl_option_number(&desk.app, "n", "18446744073709551615", 0, UINT64_MAX, &value),
		0);
	assert_true(value == UINT64_MAX);
	assert_int_equal(wtl_option_unsigned(&desk.app, "n", "007", 1, 10, &small), 0);
	assert_int_equal(small, 7);
	assert_string_equal(desk_done(&desk), "");

	for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
		char expected[200];

		desk_init(&desk, &wtl_command_run);
		value = 4711;
		assert_int_equal(wtl_option_number(&desk.app, "some", bad[i], 1, 10, &value),
				 EINVAL);
		assert_int_equal(value, 4711);
		assert_true(desk.app.complained);
		snprintf(expected, sizeof(expected),
			 "run: --some takes a whole number from 1 to 10, not '%s'", bad[i]);
		check_said(desk_done(&desk), expected);
	}
}

static void idle_first(void **state)
{
	static const char *const bad[] = {"", "2", "3601", "3.5", "1h", "-3"};
	struct desk desk;

	(void)state;
	desk_init(&desk, &wtl_command_record);
	assert_int_equal(wtl_option_idle_first(&desk.app, "3"), 0);
	assert_int_equal(desk.app.settings.idle_first_ns, 3 * WTL_NS_PER_S);
	assert_int_equal(wtl_option_idle_first(&desk.app, "3600"), 0);
	assert_int_equal(desk.app.settings.idle_first_ns, 3600 * WTL_NS_PER_S);
	assert_string_equal(desk_done(&desk), "");
	for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
		desk_init(&desk, &wtl_command_record);
		assert_int_equal(wtl_option_idle_first(&desk.app, bad[i]), EINVAL);
		assert_int_equal(desk.app.settings.idle_first_ns, 0);
		check_said(desk_done(&desk),
			   "record: --idle-first takes a whole number from 3 to 3600");
	}
}

static void weights(void **state)
{
	static const struct {
		const char *name;
		enum wtl_weight weight;
	} good[] = {{"cpu-time", WTL_WEIGHT_CPU_TIME},
		    {"instructions", WTL_WEIGHT_INSTRUCTIONS},
		    {"cycles", WTL_WEIGHT_CYCLES}};
	static const char *const bad[] = {"", "cpu", "CYCLES", "cycles ", "instructions,cycles",
					  "0"};
	struct desk desk;

	(void)state;
	desk_init(&desk, &wtl_command_run);
	for (size_t i = 0; i < UNIT_COUNT(good); i++) {
		assert_int_equal(wtl_option_weight(&desk.app, good[i].name), 0);
		assert_int_equal(desk.app.settings.weight, good[i].weight);
	}
	assert_string_equal(desk_done(&desk), "");
	for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
		desk_init(&desk, &wtl_command_run);
		desk.app.settings.weight = WTL_WEIGHT_CYCLES;
		assert_int_equal(wtl_option_weight(&desk.app, bad[i]), EINVAL);
		assert_int_equal(desk.app.settings.weight, WTL_WEIGHT_CYCLES);
		check_said(desk_done(&desk), "--weight takes cpu-time, instructions or cycles");
	}
}

enum { WORDS_MAX = 24 };

/* Parses a line of words with blanks between; returns what wtl_options_parse() does. */
static int parse(struct desk *desk, const struct wtl_command *command, const char *line)
{
	static char text[512];
	char *words[WORDS_MAX + 1];
	int n = 0;

	snprintf(text, sizeof(text), "wattle-%s %s", command->name, line);
	for (char *word = strtok(text, " "); word && n < WORDS_MAX; word = strtok(NULL, " "))
		words[n++] = word;
	words[n] = NULL;
	desk_init(desk, command);
	return wtl_options_parse(&desk->app, n, words);
}

static void what_holds_without_options(void **state)
{
	struct desk desk;

	(void)state;
	assert_int_equal(parse(&desk, &wtl_command_doctor, ""), 0);
	assert_string_equal(desk_done(&desk), "");
	assert_int_equal(desk.app.settings.interval_ns, 100 * WTL_NS_PER_MS);
	assert_int_equal(desk.app.settings.top, 10);
	assert_ptr_equal(desk.app.settings.output, &wtl_output_text);
	assert_null(desk.app.settings.output_path);
	assert_null(desk.app.settings.location);
	assert_true(desk.app.settings.carbon.intensity_mg_per_kwh > 0);
	assert_int_equal(desk.app.settings.pue_milli, 0);
	assert_int_equal(desk.app.settings.idle_first_ns, 0);
	assert_int_equal(desk.app.settings.weight, WTL_WEIGHT_CPU_TIME);
	assert_false(desk.app.settings.quiet || desk.app.settings.verbose ||
		     desk.app.settings.append);
}

static void every_shared_option(void **state)
{
	const struct wtl_settings *settings;
	struct desk desk;

	(void)state;
	assert_int_equal(
		parse(&desk, &wtl_command_run,
		      "-qv -i 60000 --jitter -fcsv --output=x --append --pue 1.25 --top 0 --no-processes sleep 1"),
		0);
	assert_string_equal(desk_done(&desk), "");
	settings = &desk.app.settings;
	assert_true(settings->quiet && settings->verbose && settings->jitter && settings->append);
	assert_true(settings->no_processes);
	assert_int_equal(settings->interval_ns, 60 * WTL_NS_PER_S);
	assert_ptr_equal(settings->output, &wtl_output_csv);
	assert_string_equal(settings->output_path, "x");
	assert_int_equal(settings->pue_milli, 1250);
	assert_int_equal(settings->top, 0);
	assert_string_equal(settings->command[0], "sleep");
	assert_string_equal(settings->command[1], "1");
	assert_null(settings->command[2]);
}

/* From the command's first word on, nothing is wattle's. */
static void the_command_keeps_its_options(void **state)
{
	struct desk desk;

	(void)state;
	assert_int_equal(parse(&desk, &wtl_command_run, "-q sh -c --nonsense -v"), 0);
	assert_string_equal(desk_done(&desk), "");
	assert_string_equal(desk.app.settings.command[2], "--nonsense");
	assert_false(desk.app.settings.verbose);
	assert_int_equal(parse(&desk, &wtl_command_run, "-- -v"), 0);
	assert_string_equal(desk_done(&desk), "");
	assert_string_equal(desk.app.settings.command[0], "-v");
	assert_false(desk.app.settings.verbose);
}

static void the_last_one_counts(void **state)
{
	struct desk desk;

	(void)state;
	assert_int_equal(parse(&desk, &wtl_command_run, "--top 3 --top 4 -fjson -ftext -i1 -i2 x"),
			 0);
	assert_string_equal(desk_done(&desk), "");
	assert_int_equal(desk.app.settings.top, 4);
	assert_ptr_equal(desk.app.settings.output, &wtl_output_text);
	assert_int_equal(desk.app.settings.interval_ns, 2 * WTL_NS_PER_MS);
}

static void lines_that_are_refused(void **state)
{
	static const struct {
		const struct wtl_command *command;
		const char *line, *says;
	} bad[] = {
		{&wtl_command_run, "--bogus x",
		 "unknown option '--bogus': see 'wattle run --help'"},
		{&wtl_command_run, "-qZ x", "unknown option '-qZ'"},
		{&wtl_command_run, "--interval", "--interval needs a value: MS"},
		{&wtl_command_run, "-qi", "--interval needs a value: MS"},
		{&wtl_command_run, "--jitter=1 x", "--jitter takes no value"},
		{&wtl_command_run, "--append x", "--append needs -o FILE"},
		{&wtl_command_run, "--no x",
		 "unknown option '--no'"}, /* --no-color or --no-processes */
		{&wtl_command_doctor, "--tape a --root b", "--tape and --root exclude each other"},
		{&wtl_command_doctor, "--tape a --tape-record b",
		 "--tape and --tape-record exclude each other"},
		{&wtl_command_doctor, "word",
		 "'word' is one word too many: see 'wattle doctor --help'"},
		{&wtl_command_doctor, "--pue 2", "unknown option '--pue'"},
		{&wtl_command_export, "--to=xml x", "--to takes csv, json or ndjson, not 'xml'"},
		{&wtl_command_report, "--pue=11 x",
		 "--pue takes a factor from 1 to 10 such as 1.25, not '11'"},
		{&wtl_command_plot, "--scale=9 x",
		 "--scale takes a whole number from 1 to 8, not '9'"},
		{&wtl_command_record, "--max-size=255K",
		 "--max-size takes a size of at least 256 KiB"},
		{&wtl_command_record, "--duration=367d", "--duration takes a time up to 366 days"},
	};
	struct desk desk;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
		int rc = parse(&desk, bad[i].command, bad[i].line);
		const char *said = desk_done(&desk);
		char begin[64];

		assert_int_equal(rc, bad[i].command->usage_exit + 1);
		check_said(said, bad[i].says);
		snprintf(begin, sizeof(begin), "wattle: %s: ", bad[i].command->name);
		assert_memory_equal(said, begin, strlen(begin));
	}
}

/* Sizes and times with units, as far as they are one thing in two spellings. */
static void sizes_and_times(void **state)
{
	static const struct {
		const char *line;
		int64_t duration_ns;
		uint64_t max_bytes;
	} told[] = {
		{"--duration=90 --max-size=262144", 90 * WTL_NS_PER_S, 262144},
		{"--duration=90s --max-size=300k", 90 * WTL_NS_PER_S, 300000},
		{"--duration=30m --max-size=1M", 1800 * WTL_NS_PER_S, 1000000},
		{"--duration=12h --max-size=500M", 43200 * WTL_NS_PER_S, UINT64_C(500000000)},
		{"--duration=366d --max-size=20G", 366 * 86400 * WTL_NS_PER_S,
		 UINT64_C(20000000000)},
	};
	struct desk desk;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(told); i++) {
		int rc = parse(&desk, &wtl_command_record, told[i].line);

		assert_string_equal(desk_done(&desk), "");
		assert_int_equal(rc, 0);
		assert_int_equal(desk.app.settings.record.duration_ns, told[i].duration_ns);
		assert_int_equal(desk.app.settings.record.max_bytes, told[i].max_bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(idle_first),
		cmocka_unit_test(weights),
		cmocka_unit_test(what_holds_without_options),
		cmocka_unit_test(every_shared_option),
		cmocka_unit_test(the_command_keeps_its_options),
		cmocka_unit_test(the_last_one_counts),
		cmocka_unit_test(lines_that_are_refused),
		cmocka_unit_test(sizes_and_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
