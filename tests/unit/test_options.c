/* SPDX-License-Identifier: MIT */
/* Options: what the parsers of their values take, what they leave when they refuse, and the whole line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "cli/command.h"
#include "cli/options.h"
#include "document/report.h"
#include "energy/units.h"
#include "said.h"
#include "workload/weigh.h"
#include "workload/workload.h"

const struct wtl_command *const wtl_commands[] = {NULL};

const struct wtl_command *wtl_command_find(const char *name)
{
	(void)name;
	return NULL;
}

static void begin(struct wtl_app *app, const struct wtl_command *command)
{
	memset(app, 0, sizeof(*app));
	app->command = command;
	said_forget();
}

/* One line that ends as a line does, and says these words. */
static void check_said(const char *text, const char *words)
{
	assert_non_null(strstr(text, words));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	assert_memory_equal(text, "wattle: ", 8);
}

enum { WORDS_MAX = 24 };

/* Returns what wtl_options_parse() does. */
static int parse_words(struct wtl_app *app, const struct wtl_command *command, char *words[])
{
	int n = 0, rc;

	while (words[n])
		n++;
	begin(app, command);
	rc = wtl_options_parse(app, n, words);
	assert_string_equal(said_remarks(), "");
	return rc;
}

/* Parses a line of words with blanks between. */
static int parse(struct wtl_app *app, const struct wtl_command *command, const char *line)
{
	static char text[512];
	static char *words[WORDS_MAX + 1]; /* the settings go on pointing there */
	int n = 0;

	snprintf(text, sizeof(text), "wattle-%s %s", command->name, line);
	for (char *word = strtok(text, " "); word && n < WORDS_MAX; word = strtok(NULL, " "))
		words[n++] = word;
	words[n] = NULL;
	return parse_words(app, command, words);
}

/* One option with a value, which may be anything, of a command that needs nothing else. */
static int parse_value(struct wtl_app *app, const struct wtl_command *command, const char *option,
		       const char *value)
{
	static char name[64], text[512];
	char *words[] = {name, text, NULL};

	snprintf(name, sizeof(name), "wattle-%s", command->name);
	snprintf(text, sizeof(text), "--%s=%s", option, value);
	return parse_words(app, command, words);
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
	struct wtl_app app;

	(void)state;
	begin(&app, &wtl_command_run);
	assert_int_equal(wtl_option_number(&app, "n", "1", 1, 10, &value), 0);
	assert_int_equal(value, 1);
	assert_int_equal(wtl_option_number(&app, "n", "10", 1, 10, &value), 0);
	assert_int_equal(value, 10);
	assert_int_equal(
		wtl_option_number(&app, "n", "18446744073709551615", 0, UINT64_MAX, &value), 0);
	assert_true(value == UINT64_MAX);
	assert_int_equal(wtl_option_unsigned(&app, "n", "007", 1, 10, &small), 0);
	assert_int_equal(small, 7);
	assert_string_equal(said_complaints(), "");

	for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
		char expected[200];

		begin(&app, &wtl_command_run);
		value = 4711;
		assert_int_equal(wtl_option_number(&app, "some", bad[i], 1, 10, &value), EINVAL);
		assert_int_equal(value, 4711);
		assert_true(app.complained);
		snprintf(expected, sizeof(expected),
			 "run: --some takes a whole number from 1 to 10, not '%s'", bad[i]);
		check_said(said_complaints(), expected);
	}
}

static void idle_first(void **state)
{
	static const char *const bad[] = {"", "2", "3601", "3.5", "1h", "-3"};
	struct wtl_app app;

	(void)state;
	assert_int_equal(parse_value(&app, &wtl_command_record, "idle-first", "3"), 0);
	assert_int_equal(app.settings.idle_first_ns, 3 * WTL_NS_PER_S);
	assert_string_equal(said_complaints(), "");
	assert_int_equal(parse_value(&app, &wtl_command_record, "idle-first", "3600"), 0);
	assert_int_equal(app.settings.idle_first_ns, 3600 * WTL_NS_PER_S);
	assert_string_equal(said_complaints(), "");
	for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
		assert_int_equal(parse_value(&app, &wtl_command_record, "idle-first", bad[i]),
				 WTL_EXIT_USAGE + 1);
		assert_int_equal(app.settings.idle_first_ns, 0);
		check_said(said_complaints(),
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
	struct wtl_app app;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(good); i++) {
		assert_int_equal(parse_value(&app, &wtl_command_run, "weight", good[i].name), 0);
		assert_int_equal(app.settings.weight, good[i].weight);
		assert_string_equal(said_complaints(), "");
	}
	for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
		assert_int_equal(parse_value(&app, &wtl_command_run, "weight", bad[i]),
				 WTL_EXIT_WATTLE_FAILED + 1);
		assert_int_equal(app.settings.weight, WTL_WEIGHT_CPU_TIME);
		check_said(said_complaints(), "--weight takes cpu-time, instructions or cycles");
	}
}

static void what_holds_without_options(void **state)
{
	struct wtl_app app;

	(void)state;
	assert_int_equal(parse(&app, &wtl_command_doctor, ""), 0);
	assert_string_equal(said_complaints(), "");
	assert_int_equal(app.settings.interval_ns, 100 * WTL_NS_PER_MS);
	assert_int_equal(app.settings.top, 10);
	assert_ptr_equal(app.settings.output, &wtl_output_text);
	assert_null(app.settings.output_path);
	assert_null(app.settings.location);
	assert_true(app.settings.carbon.intensity_mg_per_kwh > 0);
	assert_int_equal(app.settings.pue_milli, 0);
	assert_int_equal(app.settings.idle_first_ns, 0);
	assert_int_equal(app.settings.weight, WTL_WEIGHT_CPU_TIME);
	assert_false(app.settings.quiet || app.settings.verbose || app.settings.append);
}

static void every_shared_option(void **state)
{
	const struct wtl_settings *settings;
	struct wtl_app app;

	(void)state;
	assert_int_equal(
		parse(&app, &wtl_command_run,
		      "-qv -i 60000 --jitter -fcsv --output=x --append --pue 1.25 --top 0 --no-processes sleep 1"),
		0);
	assert_string_equal(said_complaints(), "");
	settings = &app.settings;
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

/* "-" is standard output, the last -o counts. */
static void output_to_standard_output(void **state)
{
	struct wtl_app app;

	(void)state;
	assert_int_equal(parse(&app, &wtl_command_run, "-o x -o - true"), 0);
	assert_null(app.settings.output_path);
	assert_int_equal(parse(&app, &wtl_command_run, "-o - -o ./- true"), 0);
	assert_string_equal(app.settings.output_path, "./-");
}

/* From the command's first word on, nothing is wattle's. */
static void the_command_keeps_its_options(void **state)
{
	struct wtl_app app;

	(void)state;
	assert_int_equal(parse(&app, &wtl_command_run, "-q sh -c --nonsense -v"), 0);
	assert_string_equal(said_complaints(), "");
	assert_string_equal(app.settings.command[2], "--nonsense");
	assert_false(app.settings.verbose);
	assert_int_equal(parse(&app, &wtl_command_run, "-- -v"), 0);
	assert_string_equal(said_complaints(), "");
	assert_string_equal(app.settings.command[0], "-v");
	assert_false(app.settings.verbose);
}

static void the_last_one_counts(void **state)
{
	struct wtl_app app;

	(void)state;
	assert_int_equal(parse(&app, &wtl_command_run, "--top 3 --top 4 -fjson -ftext -i1 -i2 x"),
			 0);
	assert_string_equal(said_complaints(), "");
	assert_int_equal(app.settings.top, 4);
	assert_ptr_equal(app.settings.output, &wtl_output_text);
	assert_int_equal(app.settings.interval_ns, 2 * WTL_NS_PER_MS);
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
		{&wtl_command_run, "-o none --tape-record none x",
		 "what -o writes and the tape of --tape-record cannot be one file, 'none'"},
		{&wtl_command_run, "-o none --record ./none x",
		 "what -o writes and the recording cannot be one file, 'none'"},
		{&wtl_command_record, "-o none --tape-record none",
		 "the recording and the tape of --tape-record cannot be one file"},
		{&wtl_command_run, "--tape x --idle-first 3", "a tape cannot wait"},
		{&wtl_command_record, "--tape x --idle-first 3", "a tape cannot wait"},
		{&wtl_command_run, "--no-processes --idle-first 3 x",
		 "--idle-first is for finding out who used the energy"},
		{&wtl_command_record, "--no-processes --idle-first 3",
		 "--idle-first is for finding out who used the energy"},
		{&wtl_command_top, "--redraw 49", "--redraw takes a whole number from 50 to 10000"},
		{&wtl_command_plot, "-d 10001 --live", "--redraw takes a whole number from 50"},
		{&wtl_command_top, "--idle-first 3", "unknown option '--idle-first'"},
		{&wtl_command_record, "--top 3", "unknown option '--top'"},
		{&wtl_command_doctor, "word",
		 "'word' is one word too many: see 'wattle doctor --help'"},
		{&wtl_command_doctor, "--pue 2", "unknown option '--pue'"},
		{&wtl_command_export, "--to=xml x", "--to takes csv, json or ndjson, not 'xml'"},
		{&wtl_command_report, "--pue=11 x",
		 "--pue takes a factor from 1 to 10 such as 1.25, not '11'"},
		{&wtl_command_plot, "--scale=9 x",
		 "--scale takes a whole number from 1 to 8, not '9'"},
		{&wtl_command_record, "--max-size=255K",
		 "--max-size takes a size of at least 256k"},
		{&wtl_command_record, "--max-size=255.999k", "--max-size takes a size"},
		{&wtl_command_record, "--max-size=1.5.5G", "--max-size takes a size"},
		{&wtl_command_record, "--max-size=GiB", "--max-size takes a size"},
		{&wtl_command_record, "--max-size=99999999T", "--max-size takes a size"},
		{&wtl_command_record, "--duration=99999999999999999999d",
		 "--duration takes a time from 100ms to 366 days"},
		{&wtl_command_record, "--duration=d",
		 "--duration takes a time from 100ms to 366 days"},
		{&wtl_command_record, "--duration=367d",
		 "--duration takes a time from 100ms to 366 days"},
	};
	struct wtl_app app;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
		int rc = parse(&app, bad[i].command, bad[i].line);
		const char *said = said_complaints();
		char begin[64];

		assert_int_equal(rc, bad[i].command->usage_exit + 1);
		check_said(said, bad[i].says);
		snprintf(begin, sizeof(begin), "wattle: %s: ", bad[i].command->name);
		assert_memory_equal(said, begin, strlen(begin));
	}
}

/* What several commands have, whether in a group or in a row of their own, sets the same. */
static void shared_by_several(void **state)
{
	static const struct wtl_command *const followers[] = {&wtl_command_run, &wtl_command_record,
							      &wtl_command_top};
	struct wtl_app app;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(followers); i++) {
		assert_int_equal(
			parse(&app, followers[i],
			      "--no-processes --idle-file=x --weight=cycles -i 5 --location=FRA"),
			0);
		assert_string_equal(said_complaints(), "");
		assert_true(app.settings.no_processes);
		assert_string_equal(app.settings.idle_file, "x");
		assert_int_equal(app.settings.weight, WTL_WEIGHT_CYCLES);
		assert_int_equal(app.settings.interval_ns, 5 * WTL_NS_PER_MS);
	}
	assert_int_equal(parse(&app, &wtl_command_plot, "--live --no-color --ascii -d 50 -i 7"), 0);
	assert_true(app.settings.no_color && app.settings.ascii);
	assert_int_equal(app.settings.screen.redraw_ms, 50);
	assert_int_equal(app.settings.interval_ns, 7 * WTL_NS_PER_MS);
	assert_int_equal(parse(&app, &wtl_command_report, "--top=0 --from +5 --to=+1m x"), 0);
	assert_int_equal(app.settings.top, 0);
	assert_int_equal(app.settings.replay.from.ns, 5 * WTL_NS_PER_S);
	assert_int_equal(app.settings.replay.to.ns, 60 * WTL_NS_PER_S);
	assert_int_equal(parse(&app, &wtl_command_plot, "--top=1 --from +5 -o x.svg x"), 0);
	assert_int_equal(app.settings.plot.wanted.top, 1);
	assert_int_equal(app.settings.plot.from.ns, 5 * WTL_NS_PER_S);
	assert_string_equal(app.settings.output_path, "x.svg");
	assert_int_equal(parse(&app, &wtl_command_export, "-o x.csv x"), 0);
	assert_string_equal(app.settings.output_path, "x.csv");
	/* … but where a letter is another maker's. */
	assert_int_equal(parse(&app, &wtl_command_query, "-q -i 0 -o D --quiet --ascii"), 0);
	assert_string_equal(app.settings.query.ids, "0");
	assert_string_equal(app.settings.query.mon_options, "D");
	assert_true(app.settings.quiet && app.settings.query.log && app.settings.ascii);
	assert_null(app.settings.output_path);
}

/* An empty value, as of a variable that is not set, names no file: it is said before anything is done. */
static void paths_that_name_nothing(void **state)
{
	static const struct {
		const struct wtl_command *command;
		const char *option;
	} paths[] = {
		{&wtl_command_run, "record"},	    {&wtl_command_run, "output"},
		{&wtl_command_run, "root"},	    {&wtl_command_run, "tape"},
		{&wtl_command_run, "tape-record"},  {&wtl_command_record, "output"},
		{&wtl_command_doctor, "output"},    {&wtl_command_report, "output"},
		{&wtl_command_report, "intensity"}, {&wtl_command_export, "output"},
		{&wtl_command_plot, "output"},	    {&wtl_command_top, "replay"},
		{&wtl_command_query, "filename"},   {&wtl_command_limit, "state"},
		{&wtl_command_mark, "file"},
	};
	struct wtl_app app;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(paths); i++) {
		char says[80];

		assert_int_equal(parse_value(&app, paths[i].command, paths[i].option, ""),
				 paths[i].command->usage_exit + 1);
		snprintf(says, sizeof(says), "wattle: %s: --%s takes the path of a ",
			 paths[i].command->name, paths[i].option);
		check_said(said_complaints(), says);
		check_said(said_complaints(), ", not ''\n");
		assert_int_equal(parse_value(&app, paths[i].command, paths[i].option, "x"), 0);
		assert_string_equal(said_complaints(), "");
	}
	/* Where nothing is a value of its own. */
	assert_int_equal(parse_value(&app, &wtl_command_run, "nvml", ""), 0);
	assert_int_equal(parse_value(&app, &wtl_command_run, "idle-file", ""), 0);
	assert_int_equal(parse_value(&app, &wtl_command_top, "config", ""), 0);
	assert_string_equal(said_complaints(), "");
}

static void recordings_that_name_nothing(void **state)
{
	static const struct wtl_command *const readers[] = {&wtl_command_report,
							    &wtl_command_export};
	struct wtl_app app;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(readers); i++) {
		char name[] = "wattle", first[] = "x", empty[] = "",
		     *words[] = {name, first, empty, NULL};

		assert_int_equal(parse_words(&app, readers[i], words), WTL_EXIT_USAGE + 1);
		check_said(said_complaints(), "FILE is the path of a ");
		check_said(said_complaints(), ", not ''\n");
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
		{"--duration=90 --max-size=256000", 90 * WTL_NS_PER_S, 256000},
		{"--duration=1 --max-size=256K", WTL_NS_PER_S, 256000},
		{"--duration=1 --max-size=250KiB", WTL_NS_PER_S, 256000},
		{"--duration=1 --max-size=1.5gib", WTL_NS_PER_S, UINT64_C(1610612736)},
		{"--duration=1 --max-size=2m", WTL_NS_PER_S, 2000000},
		{"--duration=1 --max-size=16383T", WTL_NS_PER_S,
		 UINT64_C(16383) * UINT64_C(1000000000000)},
		{"--duration=90s --max-size=300k", 90 * WTL_NS_PER_S, 300000},
		{"--duration=30m --max-size=1M", 1800 * WTL_NS_PER_S, 1000000},
		{"--duration=12h --max-size=500M", 43200 * WTL_NS_PER_S, UINT64_C(500000000)},
		{"--duration=366d --max-size=20G", 366 * 86400 * WTL_NS_PER_S,
		 UINT64_C(20000000000)},
	};
	struct wtl_app app;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(told); i++) {
		int rc = parse(&app, &wtl_command_record, told[i].line);

		assert_string_equal(said_complaints(), "");
		assert_int_equal(rc, 0);
		assert_int_equal(app.settings.record.duration_ns, told[i].duration_ns);
		assert_int_equal(app.settings.record.max_bytes, told[i].max_bytes);
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
		cmocka_unit_test(output_to_standard_output),
		cmocka_unit_test(the_command_keeps_its_options),
		cmocka_unit_test(the_last_one_counts),
		cmocka_unit_test(lines_that_are_refused),
		cmocka_unit_test(shared_by_several),
		cmocka_unit_test(paths_that_name_nothing),
		cmocka_unit_test(recordings_that_name_nothing),
		cmocka_unit_test(sizes_and_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
