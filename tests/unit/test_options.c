/* SPDX-License-Identifier: MIT */
/* Options: what the parsers of their values take, what they leave when they refuse, and the whole line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "cli/command.h"
#include "cli/option.h"
#include "cli/options.h"
#include "commands/plot/plot.h"
#include "commands/record/settings.h"
#include "document/report.h"
#include "energy/units.h"
#include "said.h"
#include "workload/weigh.h"
#include "workload/workload.h"

extern const struct wtl_command wtl_command_run, wtl_command_record, wtl_command_report,
	wtl_command_export, wtl_command_mark, wtl_command_top, wtl_command_plot, wtl_command_doctor,
	wtl_command_query, wtl_command_limit;

/* A command with an option of each kind that has bounds. */
struct probe {
	uint64_t some;
	uint32_t small;
	int64_t ms_ns, s_ns;
};

static const struct wtl_option probe_options[] = {
	{"some", 0, "N", "", WTL_OPTION_NUMBER, WTL_OWN(struct probe, some), .least = 1,
	 .most = 10},
	{"small", 0, "N", "", WTL_OPTION_NUMBER, WTL_OWN(struct probe, small), .most = UINT32_MAX},
	{"ms", 0, "MS", "", WTL_OPTION_DURATION, WTL_OWN(struct probe, ms_ns),
	 .least = WTL_NS_PER_MS, .most = 10 * WTL_NS_PER_S, .is_ms = true},
	{"s", 0, "SECONDS", "", WTL_OPTION_DURATION, WTL_OWN(struct probe, s_ns),
	 .least = 20 * WTL_NS_PER_MS, .most = 7200 * WTL_NS_PER_S},
	{0},
};

static const struct probe untouched = {4711, 4711, 4711, 4711};

static const struct wtl_command probe = {
	.name = "probe",
	.options = probe_options,
	.settings_size = sizeof(struct probe),
	.defaults = &untouched,
	.usage_exit = WTL_EXIT_USAGE,
};

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

static void *last_own; /* of the newest line */

/* Returns what wtl_options_parse() does. */
static int parse_words(struct wtl_app *app, const struct wtl_command *command, char *words[])
{
	int n = 0, rc;

	while (words[n])
		n++;
	begin(app, command);
	rc = wtl_options_parse(app, n, words);
	assert_string_equal(said_remarks(), "");
	free(last_own);
	last_own = app->own;
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

static void refuse(const char *option, const char *const values[], size_t n, const char *says)
{
	for (size_t i = 0; i < n; i++) {
		struct wtl_app app;
		char expected[200];

		assert_int_equal(parse_value(&app, &probe, option, values[i]), WTL_EXIT_USAGE + 1);
		assert_memory_equal(app.own, &untouched, sizeof(untouched));
		assert_true(app.complained);
		snprintf(expected, sizeof(expected), "probe: --%s takes %s, not '%s'", option, says,
			 values[i]);
		check_said(said_complaints(), expected);
	}
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
	static const char *const large[] = {"4294967296", "-1"};
	const struct probe *settings;
	struct wtl_app app;

	(void)state;
	assert_int_equal(parse(&app, &probe, "--some=1 --some 007 --small=4294967295"), 0);
	settings = app.own;
	assert_int_equal(settings->some, 7);
	assert_int_equal(settings->small, UINT32_MAX);
	assert_int_equal(settings->ms_ns, untouched.ms_ns);
	assert_int_equal(parse(&app, &probe, "--some 10"), 0);
	settings = app.own;
	assert_int_equal(settings->some, 10);
	assert_int_equal(settings->small, untouched.small);
	assert_string_equal(said_complaints(), "");
	refuse("some", bad, UNIT_COUNT(bad), "a whole number from 1 to 10");
	refuse("small", large, UNIT_COUNT(large), "a whole number from 0 to 4294967295");
}

/* A number alone is what the option's help says; a unit may be given everywhere. */
static void durations(void **state)
{
	static const struct {
		const char *text;
		int64_t ms_ns, s_ns; /* 0: it is refused */
	} cases[] = {
		{"1", WTL_NS_PER_MS, WTL_NS_PER_S},
		{"250", 250 * WTL_NS_PER_MS, 250 * WTL_NS_PER_S},
		{"7200", 7200 * WTL_NS_PER_MS, 7200 * WTL_NS_PER_S},
		{"10000", 10 * WTL_NS_PER_S, 0},
		{"0.02", 0, 20 * WTL_NS_PER_MS},
		{"1.5", 0, 1500 * WTL_NS_PER_MS},
		{"10ms", 10 * WTL_NS_PER_MS, 0},
		{"20ms", 20 * WTL_NS_PER_MS, 20 * WTL_NS_PER_MS},
		{"2s", 2 * WTL_NS_PER_S, 2 * WTL_NS_PER_S},
		{"1.5s", 1500 * WTL_NS_PER_MS, 1500 * WTL_NS_PER_MS},
		{"2h", 0, 7200 * WTL_NS_PER_S},
		{"1h30m", 0, 5400 * WTL_NS_PER_S},
		{"0", 0, 0},
		{"10001", 0, 0},
		{"", 0, 0},
		{".", 0, 0},
		{"-3", 0, 0},
		{"1e3", 0, 0},
		{"3x", 0, 0},
		{"2 h", 0, 0},
		{"9223372036854775808", 0, 0},
		{"9223372036855", 0, 0},
		{"99999999999999999999", 0, 0},
	};
	struct wtl_app app;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		const struct probe *settings;

		if (cases[i].ms_ns) {
			assert_int_equal(parse_value(&app, &probe, "ms", cases[i].text), 0);
			settings = app.own;
			assert_int_equal(settings->ms_ns, cases[i].ms_ns);
		} else {
			refuse("ms", &cases[i].text, 1,
			       "milliseconds from 1 to 10000, or a time such as 20ms or 2s");
		}
		if (cases[i].s_ns) {
			assert_int_equal(parse_value(&app, &probe, "s", cases[i].text), 0);
			settings = app.own;
			assert_int_equal(settings->s_ns, cases[i].s_ns);
		} else {
			refuse("s", &cases[i].text, 1,
			       "seconds from 0.02 to 7200, or a time such as 20ms or 1h");
		}
	}
}

static void idle_first(void **state)
{
	static const char *const bad[] = {"", "2", "3601", "61m", "-3"};
	struct wtl_app app;

	(void)state;
	assert_int_equal(parse_value(&app, &wtl_command_record, "idle-first", "3"), 0);
	assert_int_equal(app.settings.idle_first_ns, 3 * WTL_NS_PER_S);
	assert_string_equal(said_complaints(), "");
	assert_int_equal(parse_value(&app, &wtl_command_record, "idle-first", "1h"), 0);
	assert_int_equal(app.settings.idle_first_ns, 3600 * WTL_NS_PER_S);
	assert_string_equal(said_complaints(), "");
	for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
		assert_int_equal(parse_value(&app, &wtl_command_record, "idle-first", bad[i]),
				 WTL_EXIT_USAGE + 1);
		assert_int_equal(app.settings.idle_first_ns, 0);
		check_said(said_complaints(), "record: --idle-first takes seconds from 3 to 3600");
	}
}

static void weights(void **state)
{
	static const struct {
		const char *name;
		enum wtl_weight weight;
	} good[] = {{"cpu-time", WTL_WEIGHT_CPU_TIME},
		    {"instructions", WTL_WEIGHT_INSTRUCTIONS},
		    {"cycles", WTL_WEIGHT_CYCLES},
		    {"learned", WTL_WEIGHT_LEARNED}};
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
		assert_int_equal(app.settings.weight, WTL_WEIGHT_LEARNED);
		check_said(said_complaints(),
			   "--weight takes cpu-time, instructions, cycles or learned");
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
	assert_ptr_equal(app.settings.output, &wtl_writer_text);
	assert_null(app.settings.output_path);
	assert_null(app.settings.location);
	assert_true(app.settings.carbon.intensity_mg_per_kwh > 0);
	assert_int_equal(app.settings.pue_milli, 0);
	assert_int_equal(app.settings.idle_first_ns, 0);
	assert_int_equal(app.settings.weight, WTL_WEIGHT_LEARNED);
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
	assert_ptr_equal(settings->output, &wtl_writer_csv);
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
	assert_ptr_equal(app.settings.output, &wtl_writer_text);
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
		{&wtl_command_top, "--redraw 49", "--redraw takes milliseconds from 50 to 10000"},
		{&wtl_command_plot, "-d 10001 --live", "--redraw takes milliseconds from 50"},
		{&wtl_command_top, "--idle-first 3", "unknown option '--idle-first'"},
		{&wtl_command_record, "--top 3", "unknown option '--top'"},
		{&wtl_command_doctor, "word",
		 "'word' is one word too many: see 'wattle doctor --help'"},
		{&wtl_command_doctor, "--pue 2", "unknown option '--pue'"},
		{&wtl_command_export, "--format=xml x",
		 "--format takes csv, json or ndjson, not 'xml'"},
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
	const struct wtl_plot_settings *plot;
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
	plot = app.own;
	assert_true(app.settings.no_color && app.settings.ascii);
	assert_int_equal(plot->screen.redraw_ns, 50 * WTL_NS_PER_MS);
	assert_int_equal(app.settings.interval_ns, 7 * WTL_NS_PER_MS);
	assert_int_equal(parse(&app, &wtl_command_report, "--top=0 --from +5 --to=+1m x"), 0);
	assert_int_equal(app.settings.top, 0);
	assert_int_equal(
		parse(&app, &wtl_command_plot, "--top=1 --from +5 --to=+1m --by unit -o x.svg x"),
		0);
	plot = app.own;
	assert_int_equal(plot->wanted.top, 1);
	assert_int_equal(plot->wanted.by, WTL_PLOT_BY_UNIT);
	assert_int_equal(plot->from.ns, 5 * WTL_NS_PER_S);
	assert_int_equal(plot->to.ns, 60 * WTL_NS_PER_S);
	assert_int_equal(plot->words.n, 1);
	assert_string_equal(plot->words.words[0], "x");
	assert_string_equal(app.settings.output_path, "x.svg");
	assert_int_equal(parse(&app, &wtl_command_export, "-o x.csv x"), 0);
	assert_string_equal(app.settings.output_path, "x.csv");
	/* … but where a letter is another maker's. */
	assert_int_equal(parse(&app, &wtl_command_query, "-q -i 0 -o D --quiet --ascii"), 0);
	assert_true(wtl_option_is_used(&app, "-q") && wtl_option_is_used(&app, "--id"));
	assert_true(wtl_option_is_used(&app, "-o") && !wtl_option_is_used(&app, "--loop"));
	assert_true(app.settings.quiet && app.settings.ascii);
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
	const struct wtl_record_settings *record;
	struct wtl_app app;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(told); i++) {
		int rc = parse(&app, &wtl_command_record, told[i].line);

		assert_string_equal(said_complaints(), "");
		assert_int_equal(rc, 0);
		record = app.own;
		assert_int_equal(record->duration_ns, told[i].duration_ns);
		assert_int_equal(record->recording.max_bytes, told[i].max_bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(durations),
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
