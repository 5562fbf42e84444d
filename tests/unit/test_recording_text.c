/* SPDX-License-Identifier: MIT */
/* Recordings, comparisons and runs for people: what each kind of them has on its page, and has not. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/buf.h"
#include "text/layout.h"
#include "text/recording_text.h"
#include "output_bench.h"
#include "recording_bench.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define J	     BENCH_J
#define S	     BENCH_S

static const struct wtl_output_style plain = {.color = false};
static const struct wtl_output_style verbose = {.verbose = true};

static void assert_has(const char *page, const char *text)
{
	if (!strstr(page, text)) {
		fputs(page, stderr);
		fail_msg("'%s' is not on the page", text);
	}
}

static void assert_has_not(const char *page, const char *text)
{
	if (strstr(page, text))
		fail_msg("'%s' is on the page:\n%s", text, page);
}

/* The page, which also keeps what holds for all pages. */
static char *page_of(const struct wtl_recording *recording)
{
	output_check_page(&wtl_thing_recording, recording);
	return recording_bench_text("text", recording, plain);
}

static void assert_on_page(const struct wtl_recording *recording, const char *text)
{
	char *page = page_of(recording);

	assert_has(page, text);
	free(page);
}

static void assert_not_on_page(const struct wtl_recording *recording, const char *text)
{
	char *page = page_of(recording);

	assert_has_not(page, text);
	free(page);
}

/* ---- Times ---- */

static void assert_put(int (*put)(struct wtl_buf *buf, int64_t t_utc_ns), int64_t t_utc_ns,
		       const char *wanted)
{
	struct wtl_buf buf;

	wtl_buf_init(&buf, 256);
	assert_int_equal(put(&buf, t_utc_ns), 0);
	assert_string_equal(wtl_buf_str(&buf), wanted);
	wtl_buf_done(&buf);
}

static void set_zone(const char *zone)
{
	setenv("TZ", zone, 1);
	tzset();
}

static void test_times_in_this_zone(void **state)
{
	(void)state;
	assert_put(wtl_report_text_local, BENCH_BEGIN_UTC_NS, "2026-11-21 14:00:00");
	assert_put(wtl_report_text_local_clock, BENCH_BEGIN_UTC_NS + S(61), "14:01:01");
	assert_put(wtl_report_text_local_minute, BENCH_BEGIN_UTC_NS + S(119), "2026-11-21 14:01");
	assert_put(wtl_report_text_zone, BENCH_BEGIN_UTC_NS, "UTC");
	/* Cut, not rounded: it is not yet the next second. */
	assert_put(wtl_report_text_local_clock, BENCH_BEGIN_UTC_NS + 999999999, "14:00:00");
	set_zone("IST-5:30");
	assert_put(wtl_report_text_local, BENCH_BEGIN_UTC_NS, "2026-11-21 19:30:00");
	assert_put(wtl_report_text_zone, BENCH_BEGIN_UTC_NS, "IST");
	set_zone("EST5");
	assert_put(wtl_report_text_local_minute, BENCH_BEGIN_UTC_NS, "2026-11-21 09:00");
	set_zone("UTC");
}

static void test_days(void **state)
{
	const int64_t midnight_ns = BENCH_BEGIN_UTC_NS + 10 * S(3600);

	(void)state;
	assert_true(wtl_report_text_is_same_day(BENCH_BEGIN_UTC_NS, midnight_ns - 1));
	assert_false(wtl_report_text_is_same_day(midnight_ns - 1, midnight_ns));
	assert_false(
		wtl_report_text_is_same_day(BENCH_BEGIN_UTC_NS, BENCH_BEGIN_UTC_NS + S(86400)));
	/* A day is that of the zone. */
	set_zone("EST5");
	assert_true(wtl_report_text_is_same_day(midnight_ns - 1, midnight_ns));
	set_zone("UTC");
}

/* ---- The head ---- */

static void test_head(void **state)
{
	struct recording_bench bench;
	char *page;

	(void)state;
	recording_bench_init(&bench);
	page = page_of(&bench.recording);
	assert_int_equal(strncmp(page, "wattle: night.wattle: make -j8\n\n", 32), 0);
	assert_has(page, "  made    by wattle 0.1.0 on tea (Some CPU), every 100 ms\n");
	assert_has(page, "  energy  420.0 ± 6.3 J");
	assert_has(page, "  time    10.00 s, 2026-11-21 14:00:00 to 14:00:10 UTC\n");
	assert_has(page, "at 56.04 g/kWh (FRA, 2023)");
	assert_has_not(page, "  policy ");
	free(page);
}

static void test_head_without_facts(void **state)
{
	struct recording_bench bench;
	char *page;

	(void)state;
	recording_bench_init_empty(&bench);
	page = page_of(&bench.recording);
	assert_int_equal(strncmp(page, "wattle: night.wattle: a machine\n", 32), 0);
	assert_has(page, "  made    by wattle\n");
	assert_has_not(page, "CO2e");
	assert_has_not(page, "window");
	free(page);
	bench.recording.host = "tea";
	assert_on_page(&bench.recording, "wattle: night.wattle: tea\n");
}

static void test_a_part(void **state)
{
	struct recording_bench bench;

	(void)state;
	recording_bench_init(&bench);
	bench.recording.span_ns = S(7384);
	assert_not_on_page(&bench.recording, ", of 2 h");
	bench.recording.is_part = true;
	assert_on_page(&bench.recording, "14:00:10 UTC, of 2 h 03 min 04 s\n");
	/* Over midnight both ends have their day. */
	bench.recording.report.window.begin_utc_ns += 10 * S(3600) - S(5);
	bench.recording.end_utc_ns += 10 * S(3600) - S(5);
	assert_on_page(&bench.recording, "2026-11-21 23:59:55 to 2026-11-22 00:00:05 UTC");
	/* The clock was set back meanwhile. */
	bench.recording.end_utc_ns -= 2 * S(3600);
	assert_on_page(&bench.recording, "10.00 s, 2026-11-21 23:59:55 to 22:00:05 UTC");
}

static void test_how_it_ended(void **state)
{
	struct recording_bench bench;
	struct wtl_report *report = &bench.recording.report;
	char *page;

	(void)state;
	recording_bench_init(&bench);
	page = page_of(&bench.recording);
	assert_has_not(page, "\n  ended ");
	assert_has_not(page, "peak memory");
	free(page);
	report->has_exit = true;
	report->command_rss_bytes = 12 << 20;
	page = page_of(&bench.recording);
	assert_has_not(page, "\n  ended ");
	assert_has(page, " UTC, peak memory 12 MiB\n");
	/* It is with its energy. */
	assert_has_not(page, "UTC, CPU time");
	free(page);
	report->exit_status = 3;
	report->command_cpu_ns = S(1.5);
	report->attribution.has_command = false;
	page = page_of(&bench.recording);
	assert_has(page, " UTC, CPU time 1.500 s, peak\n          memory 12 MiB\n");
	assert_has(page, "\n  ended   exit status 3\n");
	free(page);
	report->exit_signal = 9;
	report->interrupted = true;
	assert_on_page(&bench.recording,
		       "\n  ended   killed by SIGKILL, measurement interrupted\n");
}

static void test_live_and_cut_off(void **state)
{
	static const char live[] = "it is being recorded: the figures are those so far";
	static const char cut[] = "! the recording was cut off: the figures go to the last look";
	struct recording_bench bench;

	(void)state;
	recording_bench_init(&bench);
	assert_not_on_page(&bench.recording, live);
	assert_not_on_page(&bench.recording, cut);
	bench.recording.is_whole = false;
	assert_on_page(&bench.recording, cut);
	/* One that goes on is not whole, which is no fault. */
	bench.recording.is_live = true;
	assert_on_page(&bench.recording, live);
	assert_not_on_page(&bench.recording, cut);
}

static void test_policies(void **state)
{
	static const char *const given[] = {"package-0: 12 W", "dram-0: \x1b[31m"};
	static const struct {
		const char *idle;
		size_t n_given;
		const char *wanted;
		bool is_smoothed;
	} policies[] = {
		{"learned", 0, "  policy  idle power as learned within the recording alone\n",
		 false},
		{"none", 0, "  policy  idle power taken as none\n", false},
		{"recorded", 1, "  policy  idle power given: package-0: 12 W\n", false},
		{"recorded", 2, "  policy  idle power given: package-0: 12 W, dram-0: \\x1b[31m\n",
		 false},
		{"none", 1, "  policy  idle power taken as none, package-0: 12 W\n", false},
		{"recorded", 0, "  policy  learned watts smoothed backwards\n", true},
		{"none", 0,
		 "  policy  learned watts smoothed backwards; idle power taken as none\n", true},
	};
	struct recording_bench bench;

	(void)state;
	recording_bench_init(&bench);
	for (size_t i = 0; i < COUNT(policies); i++) {
		bench.recording.policy = (struct wtl_recording_policy){
			policies[i].idle, given, policies[i].n_given, policies[i].is_smoothed};
		assert_on_page(&bench.recording, policies[i].wanted);
	}
}

static void test_an_intensity_that_varies(void **state)
{
	struct recording_bench bench;
	struct wtl_recording_carbon *carbon = &bench.recording.carbon;
	char *page;

	(void)state;
	recording_bench_init(&bench);
	*carbon = (struct wtl_recording_carbon){
		.is_varying = true,
		.file = "grid\n.csv",
		.emission = {.has_intensity = true,
			     .least_mg_per_kwh = 12345,
			     .greatest_mg_per_kwh = 312000,
			     .known_ns = S(10)},
	};
	page = page_of(&bench.recording);
	assert_has(page, "6.5 ± 1.3 mg CO2e at 56.04 g/kWh (12 to 312 over the time, grid\\n.csv)");
	assert_has_not(page, "does not cover");
	assert_has_not(page, "FRA");
	free(page);
	carbon->emission.missing_ns = S(4);
	carbon->emission.missing_uj = 1234567;
	assert_on_page(&bench.recording,
		       "! grid\\n.csv does not cover 4.000 s of the time: 1.235 J "
		       "are without emissions\n");
	carbon->emission.missing_uj = -3;
	assert_on_page(&bench.recording, "of the time: 0 J are without emissions\n");
	carbon->emission = (struct wtl_emission){.missing_ns = S(10)};
	assert_on_page(&bench.recording, "g/kWh (grid\\n.csv)");
	/* The PUE is told with it as with one that does not change. */
	bench.recording.report.carbon.pue_milli = 2000;
	assert_on_page(&bench.recording,
		       "13.1 ± 2.6 mg with PUE 2, which is not in the energies\n");
	/* Nothing of the time: no figure, and nothing that is made of one. */
	bench.recording.report.carbon.reason = "no intensity";
	page = page_of(&bench.recording);
	assert_has(page, "carbon  not known: no intensity (grid\\n.csv)\n");
	assert_has_not(page, "CO2e");
	assert_has_not(page, "PUE");
	assert_has_not(page, "does not cover");
	free(page);
}

/* ---- Groups ---- */

/* The rest of the line that begins with these words, without leading blanks. */
static char *line_of(const char *page, const char *begin)
{
	const char *at = page;
	char *copy;

	while (strncmp(at, begin, strlen(begin)) != 0) {
		at = strchr(at, '\n');
		if (!at)
			fail_msg("no line begins with '%s':\n%s", begin, page);
		at++;
	}
	at += strlen(begin);
	at += strspn(at, " ");
	copy = strndup(at, strcspn(at, "\n"));
	assert_non_null(copy);
	return copy;
}

static void assert_line(const char *page, const char *begin, const char *wanted)
{
	char *line = line_of(page, begin), *to = line;

	/* Columns apart from their blanks. */
	for (const char *from = line; *from; from++)
		if (*from != ' ' || from[1] != ' ')
			*to++ = *from;
	*to = '\0';
	assert_string_equal(line, wanted);
	free(line);
}

static void test_groups_by_every_key(void **state)
{
	static const char *const nameless[WTL_BYS] = {
		[WTL_BY_USER] = "not known", [WTL_BY_CONTAINER] = "in no container",
		[WTL_BY_POD] = "in no pod",  [WTL_BY_UNIT] = "in no unit",
		[WTL_BY_JOB] = "in no job",  [WTL_BY_PROCESS] = "- ",
		[WTL_BY_COMMAND] = "- ",     [WTL_BY_CGROUP] = "- ",
		[WTL_BY_WINDOW] = "- ",
	};
	struct recording_bench bench;

	(void)state;
	for (int by = 0; by < WTL_BYS; by++) {
		char head[32], *page;

		recording_bench_init(&bench);
		bench.grouping.by = (enum wtl_by)by;
		bench.groups[1].name = "";
		page = page_of(&bench.recording);
		snprintf(head, sizeof(head), "\n%s ", wtl_by_name((enum wtl_by)by));
		assert_has(page, head);
		assert_line(page, "ada", "1 10.00 250 ± 12 300.5 280.0");
		assert_line(page, nameless[by], "8 6.50 50.0 ± 4.0 80.0 0.0");
		free(page);
	}
}

/* Asked for by one key, its rows add up to the total, and nothing else is told of processes. */
static void test_one_key_alone(void **state)
{
	struct recording_bench bench;
	char *page;

	(void)state;
	recording_bench_init(&bench);
	bench.recording.has_by = true;
	bench.recording.by = WTL_BY_USER;
	page = page_of(&bench.recording);
	assert_line(page, "others", "12 0.25 2.0 ± 0.5 4.5 0.0");
	assert_line(page, "no process", "35.0");
	assert_line(strstr(page, "\nno process") + 1, "total", "420.0");
	assert_has_not(page, "process (* command)");
	assert_has_not(page, "warm up");
	free(page);
}

static void test_groups_without_a_baseline(void **state)
{
	struct recording_bench bench;
	char *page;

	(void)state;
	recording_bench_init(&bench);
	bench.groups[0].all.has_dynamic = false;
	page = page_of(&bench.recording);
	assert_line(page, "ada", "1 10.00 - 300.5 280.0");
	assert_line(page, "bob", "8 6.50 50.0 ± 4.0 80.0 0.0");
	free(page);
	/* In none: the full energy has the ±. */
	bench.groups[1].all.has_dynamic = false;
	bench.grouping.others.all.has_dynamic = false;
	bench.groups[0].gpu.full_uj = 0;
	page = page_of(&bench.recording);
	assert_line(page, "ada", "1 10.00 300.5 ± 12");
	assert_line(page, "bob", "8 6.50 80.0 ± 4.0");
	free(page);
}

/* Each rounded to its nearest would print 421 joules: they are rounded together. */
static void test_groups_add_up_as_printed(void **state)
{
	static const double full_j[] = {300.06, 80.06, 4.88};
	struct recording_bench bench;
	char *page;

	(void)state;
	recording_bench_init(&bench);
	bench.groups[0].all.full_uj = J(full_j[0]);
	bench.groups[0].all.has_dynamic = false;
	bench.groups[1].all.full_uj = J(full_j[1]);
	bench.grouping.others.all.full_uj = J(full_j[2]);
	bench.recording.has_by = true;
	bench.recording.by = WTL_BY_USER;
	page = page_of(&bench.recording);
	assert_line(page, "ada", "1 10.00 - 300.0 280.0");
	assert_line(page, "bob", "8 6.50 50.0 ± 4.0 80.1 0.0");
	assert_line(page, "others", "12 0.25 2.0 ± 0.5 4.9 0.0");
	assert_line(page, "no process", "35.0");
	assert_line(strstr(page, "\nno process") + 1, "total", "420.0");
	free(page);
}

static void test_cpu_time_that_is_not_known(void **state)
{
	struct recording_bench bench;
	char *page;

	(void)state;
	recording_bench_init(&bench);
	bench.groups[1].cpu_ns = -1;
	page = page_of(&bench.recording);
	assert_line(page, "ada", "1 10.00 250 ± 12 300.5 280.0");
	assert_line(page, "bob", "8 - 50.0 ± 4.0 80.0 0.0");
	free(page);
}

/* All that --top lists have a row, as in the other formats: those whose energy is none in the table's digits are others. */
static void test_many_groups(void **state)
{
	enum { MANY = 24 };
	struct wtl_recording_group groups[MANY];
	char names[MANY][16], *page;
	struct recording_bench bench;
	uint64_t left_uj = J(385);

	(void)state;
	recording_bench_init(&bench);
	for (size_t i = 0; i < MANY; i++) {
		uint64_t full_uj = i + 1 < MANY ? J(30) - i * J(1.2) : left_uj;

		snprintf(names[i], sizeof(names[i]), "user-%02zu", i);
		if (full_uj > left_uj)
			full_uj = left_uj;
		left_uj -= full_uj;
		groups[i] = (struct wtl_recording_group){
			.name = names[i],
			.n_processes = 1,
			.cpu_ns = S(1),
			.all = {.full_uj = full_uj, .uncertainty_uj = J(0.5)}};
	}
	bench.grouping = (struct wtl_recording_grouping){
		.by = WTL_BY_USER, .groups = groups, .n_groups = MANY, .others = {.name = ""}};
	bench.recording.has_by = true;
	bench.recording.by = WTL_BY_USER;
	page = page_of(&bench.recording);
	assert_has(page, "\nuser-10 ");
	assert_has(page, "\nuser-22 ");
	assert_has_not(page, "\nuser-23 ");
	free(page);
}

/* --top 0: nobody has a row of their own, and what the others are known to have used above idle is told. */
static void test_nobody_alone(void **state)
{
	struct recording_bench bench;
	char *page;

	(void)state;
	recording_bench_init(&bench);
	bench.grouping.n_groups = 0;
	bench.grouping.others = (struct wtl_recording_group){.name = "",
							     .n_processes = 21,
							     .cpu_ns = S(10),
							     .all = {.has_dynamic = true,
								     .full_uj = J(385),
								     .dynamic_uj = J(300),
								     .uncertainty_uj = J(16)}};
	bench.grouping.n_others = 9;
	page = page_of(&bench.recording);
	assert_line(page, "others", "21 10.00 300 ± 16 385.0");
	free(page);
}

/* Paths that differ at their end. */
static void test_long_paths(void **state)
{
	static char path[2][120];
	struct wtl_recording_group groups[2];
	struct recording_bench bench;
	char *page;

	(void)state;
	recording_bench_init(&bench);
	for (size_t i = 0; i < 2; i++) {
		snprintf(path[i], sizeof(path[i]),
			 "/system.slice/node17_slurmstepd.scope/job_9/step_%zu/user/task_0", i);
		groups[i] =
			(struct wtl_recording_group){.name = path[i],
						     .n_processes = 1,
						     .cpu_ns = S(1),
						     .all = {.full_uj = i == 0 ? J(300) : J(85)}};
	}
	bench.grouping = (struct wtl_recording_grouping){
		.by = WTL_BY_CGROUP, .groups = groups, .n_groups = 2, .others = {.name = ""}};
	page = page_of(&bench.recording);
	for (size_t i = 0; i < 2; i++) {
		snprintf(path[i], sizeof(path[i]), "/job_9/step_%zu/user/task_0  ", i);
		assert_has(page, path[i]);
	}
	assert_has(page, "\n…");
	assert_has_not(page, "/system");
	free(page);
}

/* ---- Windows ---- */

static void test_windows(void **state)
{
	struct recording_bench bench;
	char *page;

	(void)state;
	recording_bench_init(&bench);
	page = page_of(&bench.recording);
	assert_has(page, "\nwindow ");
	assert_line(page, "warm up", "14:00:01 10.000 420.0 ± 6.3 42.00");
	assert_line(page, "epoch (open)", "14:00:02 10.000 420.0 ± 6.3 42.00");
	assert_line(page, "late (cut)", "14:00:03 -");
	/* The measurement itself is the rest of the page. */
	assert_has_not(page, "\nrecording  ");
	free(page);
	bench.recording.has_by = true;
	bench.recording.by = WTL_BY_WINDOW;
	bench.recording.n_groupings = 0;
	assert_on_page(&bench.recording, "\nrecording     14:00:00");
}

/* A time alone is of the day that the page's head tells; what is open and cut is both. */
static void test_windows_of_several_days(void **state)
{
	struct recording_bench bench;
	char *page;

	(void)state;
	recording_bench_init(&bench);
	bench.windows[2].is_cut = true;
	bench.windows[2].window.begin_utc_ns += S(86400);
	page = page_of(&bench.recording);
	assert_line(page, "warm up", "2026-11-21 14:00:01 10.000 420.0 ± 6.3 42.00");
	assert_line(page, "epoch (open, cut)", "2026-11-22 14:00:02 10.000 420.0 ± 6.3 42.00");
	free(page);
	/* All on one day, but not on that on which the recording began. */
	for (size_t i = 1; i < BENCH_WINDOWS; i++)
		bench.windows[i].window.begin_utc_ns += S(86400) * (i == 2 ? 0 : 1);
	assert_on_page(&bench.recording, "2026-11-22 14:00:01");
}

static void test_windows_without_figures(void **state)
{
	struct recording_bench bench;
	char *page;

	(void)state;
	recording_bench_init(&bench);
	bench.windows[1].window.total.has_energy = 0;
	bench.windows[2].window.total.has_power = 0;
	bench.windows[2].name = "\x1b[31m\n=1";
	page = page_of(&bench.recording);
	assert_line(page, "warm up", "14:00:01 10.000 -");
	assert_line(page, "\\x1b[31m\\n=1 (open)", "14:00:02 10.000 420.0 ± 6.3");
	free(page);
}

/* What is modelled has a ~, wherever it stands. */
static void test_modelled_windows(void **state)
{
	struct recording_bench bench;
	char *page;

	(void)state;
	recording_bench_init(&bench);
	/* Of what does not count, nothing is in the total. */
	bench.energies[3].method = WATTLE_METHOD_MODELLED;
	bench.energies[0].method = WATTLE_METHOD_INTEGRATED;
	page = page_of(&bench.recording);
	assert_line(page, "warm up", "14:00:01 10.000 420.0 ± 6.3 42.00");
	free(page);
	bench.energies[0].method = WATTLE_METHOD_MODELLED;
	page = page_of(&bench.recording);
	assert_line(page, "warm up", "14:00:01 10.000 ~420.0 ± 6.3 42.00");
	free(page);
	bench.energies[0].has_energy = 0;
	page = page_of(&bench.recording);
	assert_line(page, "warm up", "14:00:01 10.000 420.0 ± 6.3 42.00");
	free(page);
}

static void test_many_windows(void **state)
{
	enum { MANY = 31 };
	struct wtl_recording_window windows[MANY];
	struct recording_bench bench;
	char names[MANY][16], *page;

	(void)state;
	recording_bench_init(&bench);
	for (size_t i = 0; i < MANY; i++) {
		windows[i] = bench.windows[1];
		snprintf(names[i], sizeof(names[i]), "epoch-%02zu", i);
		windows[i].name = names[i];
	}
	bench.recording.windows = windows;
	bench.recording.n_windows = MANY;
	page = page_of(&bench.recording);
	assert_has(page, "\nepoch-19 ");
	assert_has_not(page, "\nepoch-20 ");
	assert_has(page, "\nand 11 more (--verbose)\n");
	free(page);
	page = recording_bench_text("text", &bench.recording, verbose);
	assert_has(page, "\nepoch-30 ");
	assert_has_not(page, "more (--verbose)");
	free(page);
}

/* ---- Gaps ---- */

static void test_gaps_of_every_kind(void **state)
{
	static const char *const lines[BENCH_GAPS] = {
		"! 2026-11-21 14:00:00: the machine slept (1 min 30.0 s)\n",
		"! 2026-11-21 14:00:00: UTC was set back by 2.000 s\n",
		"! 2026-11-21 14:00:00: gpu-0: it went away (1.500 s)\n",
		"! 2026-11-21 14:00:00: overrun (250 ms)\n",
		"! 2026-11-21 14:00:00: 12 exit records were lost\n",
		"! 2026-11-21 14:00:00: damaged\n",
	};
	static const struct {
		int64_t by_ns;
		const char *wanted;
	} steps[] = {
		{-S(7200), ": UTC was set back by 2 h 00 min 00 s\n"},
		{S(90), ": UTC was set forward by 1 min 30.0 s\n"},
		{INT64_MIN, ": UTC was set back by "},
		{0, ": UTC was set back by 2.000 s\n"}, /* as it was recorded */
	};
	struct recording_bench bench;
	char *page;

	(void)state;
	recording_bench_init(&bench);
	page = page_of(&bench.recording);
	for (size_t i = 0; i < BENCH_GAPS; i++)
		assert_has(page, lines[i]);
	free(page);
	for (size_t i = 0; i < COUNT(steps); i++) {
		bench.gaps[1].duration_ns = steps[i].by_ns;
		assert_on_page(&bench.recording, steps[i].wanted);
	}
	bench.recording.n_gaps = 0;
	assert_not_on_page(&bench.recording, "! 2026");
}

static void test_many_gaps(void **state)
{
	enum { MANY = 14 };
	struct wtl_recording_gap gaps[MANY];
	struct recording_bench bench;
	char texts[MANY][16], *page;

	(void)state;
	recording_bench_init(&bench);
	for (size_t i = 0; i < MANY; i++) {
		snprintf(texts[i], sizeof(texts[i]), "lost %02zu", i);
		gaps[i] = (struct wtl_recording_gap){"channel", BENCH_BEGIN_UTC_NS, S(1),
						     "gpu\x1b-0", texts[i]};
	}
	bench.recording.gaps = gaps;
	bench.recording.n_gaps = MANY;
	page = page_of(&bench.recording);
	assert_has(page, "gpu\\x1b-0: lost 09 (1.000 s)\n");
	assert_has_not(page, "lost 10");
	assert_has(page, "! and 4 more gaps (--verbose)\n");
	free(page);
	page = recording_bench_text("text", &bench.recording, verbose);
	assert_has(page, "lost 13");
	assert_has_not(page, "more gaps");
	free(page);
}

/* ---- The end ---- */

static void test_self(void **state)
{
	struct recording_bench bench;

	(void)state;
	recording_bench_init(&bench);
	assert_on_page(&bench.recording, "\nrecording took 12.5 ms of CPU, 4 MiB\n");
	bench.recording.report.self.has_energy = true;
	bench.recording.report.self.energy_uj = J(0.05);
	bench.recording.report.self.uncertainty_uj = J(0.025);
	assert_on_page(&bench.recording, "4 MiB, ~ 50 ± 25 mJ\n");
	bench.recording.report.self = (struct wtl_report_self){.cpu_ns = S(2)};
	assert_on_page(&bench.recording, "\nrecording took 2.000 s of CPU\n");
}

/* Appended to a file, a page begins with an empty line. */
static void test_appended(void **state)
{
	const struct wtl_output_style append = {.append = true};
	struct recording_bench bench;
	char *whole, *more;

	(void)state;
	recording_bench_init(&bench);
	whole = recording_bench_text("text", &bench.recording, plain);
	more = recording_bench_text("text", &bench.recording, append);
	assert_int_equal(more[0], '\n');
	assert_string_equal(more + 1, whole);
	free(whole);
	free(more);
}

/* ---- Several ---- */

static void test_comparison(void **state)
{
	struct wtl_compared_value values[2][2] = {
		{{.is_known = true, .measured = {.value = 420000000, .uncertainty = 6333333}},
		 {.is_known = true,
		  .measured = {.value = 421000000, .uncertainty = 6400000},
		  .has_difference = true,
		  .difference = {.value = 1000000,
				 .uncertainty = 9000000,
				 .has_ratio = true,
				 .ratio = 0.0023809}}},
		{{.is_known = false}, {.is_known = false}},
	};
	const struct wtl_compared rows[] = {
		{"energy", false, WTL_COMPARED_J, values[0]},
		{"gpu-7", true, WTL_COMPARED_J, values[1]},
	};
	struct recording_bench a, b;
	struct wtl_recording both[2];
	const struct wtl_comparison comparison = {
		.recordings = both, .n_recordings = 2, .rows = rows, .n_rows = COUNT(rows)};
	char *page;

	(void)state;
	recording_bench_init(&a);
	recording_bench_init_empty(&b);
	both[0] = a.recording;
	both[1] = b.recording;
	both[1].path = "other\x1b.wattle";
	page = comparison_bench_text("text", &comparison, plain);
	assert_has(page, "wattle: 2 recordings side by side\n");
	assert_has(page, "  [1] night.wattle, 2026-11-21 14:00:00, on tea: make -j8\n");
	assert_has(page, "  [2] other\\x1b.wattle, 2026-11-21 14:00:00: the machine\n");
	assert_line(page, "energy [J]",
		    "420.0 ± 6.3 421.0 ± 6.4 +1.0 ± 9.0 +0.24 % within its error");
	/* What neither knows has no row. */
	assert_has_not(page, "gpu-7");
	assert_has(page, "the errors of their energies are taken");
	free(page);
	values[0][1].is_common = true;
	values[0][1].difference.is_negative = true;
	values[0][1].difference.is_significant = true;
	values[0][1].difference.has_ratio = false;
	values[1][1] = (struct wtl_compared_value){.is_known = true, .measured = {.value = J(5)}};
	page = comparison_bench_text("text", &comparison, plain);
	assert_line(page, "energy [J]", "420.0 ± 6.3 421.0 ± 6.4 -1.0 ± 9.0");
	assert_line(page, "  gpu-7 [J]", "- 5.000");
	assert_has(page, "What both get wrong alike (the gain and zero");
	free(page);
	/* What is modelled in one of them only. */
	a.domains[0].energy.method = WATTLE_METHOD_MODELLED;
	page = comparison_bench_text("text", &comparison, plain);
	assert_line(page, "energy [J]", "~420.0 ± 6.3 421.0 ± 6.4 -1.0 ± 9.0");
	assert_line(page, "  gpu-7 [J]", "- 5.000");
	free(page);
}

static void test_runs(void **state)
{
	struct recording_bench bench;
	struct wtl_run list[3];
	struct wtl_runs runs = {
		.runs = list,
		.n_runs = 3,
		.of[WTL_RUN_ENERGY_J] =
			{.n = 3, .mean = 420, .sd = 4, .ci95 = 10, .min = 416, .max = 424},
	};
	char *page;

	(void)state;
	recording_bench_init(&bench);
	recording_bench_runs(list, 3, "/data/night.wattle", &bench.recording.report);
	list[1].report.window.total.has_energy = 0;
	page = runs_bench_text("text", &runs, plain);
	assert_has(page, "wattle: 3 runs in night.wattle: make -j8\n");
	assert_line(page, "  1", "14:00:00 10.000 ! 420.0 ± 6.3 42.00 6.538 654");
	assert_line(page, "  2", "14:01:00 10.000 -");
	/* As high as the greatest; one without a figure is blank. */
	assert_has(page, "\n  time      ███\n");
	assert_has(page, "\n  energy    █ █\n");
	assert_has_not(page, "is in");
	free(page);
	runs.has_files = true;
	list[2].report.window.begin_utc_ns += S(86400);
	page = runs_bench_text("text", &runs, (struct wtl_output_style){.ascii = true});
	assert_has(page, "wattle: 3 runs: make -j8\n");
	assert_has(page, "  runs 1 to 3 are in /data/night.wattle\n");
	assert_has(page, "\n  energy    # #\n");
	/* Not of one day: each has its own. */
	assert_has(page, "2026-11-22 14:02");
	free(page);
}

/* What the recordings took, each once; and the ± that an intensity has in all runs. */
static void test_self_and_intensity_of_runs(void **state)
{
	struct recording_bench bench;
	struct wtl_recording other;
	const struct wtl_recording *const recordings[] = {&bench.recording, &other};
	struct wtl_run list[2];
	struct wtl_runs runs = {
		.runs = list, .n_runs = 2, .recordings = recordings, .n_recordings = 2};
	char *page;

	(void)state;
	recording_bench_init(&bench);
	other = bench.recording;
	other.report.self.max_rss_bytes *= 2;
	recording_bench_runs(list, 2, "/data/night.wattle", &bench.recording.report);
	for (size_t i = 0; i < 2; i++)
		list[i].report.carbon.carbon.uncertainty_ppm = 100000;
	page = runs_bench_text("text", &runs, plain);
	assert_has(page, "\n- CO2e is at 56.04 g/kWh (FRA, 2023)\n");
	assert_has(page, "such as the ± 20\n% of the intensity of CO2e.\n\n"
			 "recording took 25.0 ms of CPU, 8 MiB\n");
	free(page);
	bench.recording.report.self.has_energy = other.report.self.has_energy = true;
	bench.recording.report.self.energy_uj = other.report.self.energy_uj = 15000;
	bench.recording.report.self.uncertainty_uj = other.report.self.uncertainty_uj = 15000;
	list[1].report.carbon.carbon.uncertainty_ppm = 500000;
	page = runs_bench_text("text", &runs, plain);
	assert_has(page, "run is not in it.\n\nrecording took 25.0 ms of CPU, 8 MiB, "
			 "~ 30 ± 30 mJ\n");
	free(page);
	/* However much a file says. */
	other.report.self.cpu_ns = INT64_MAX;
	other.report.self.energy_uj = UINT64_MAX;
	page = runs_bench_text("text", &runs, plain);
	assert_has(page, "recording took 106751 d 23 h 47 min of CPU, 8 MiB, ~ 18446");
	free(page);
	/* Of one it is not known. */
	other.report.self.has_energy = false;
	page = runs_bench_text("text", &runs, plain);
	assert_has(page, "8 MiB\n");
	free(page);
}

static void assert_on_runs(const struct wtl_runs *runs, const char *wanted)
{
	char *page = runs_bench_text("text", runs, plain);

	assert_has(page, wanted);
	free(page);
}

/* Of different methods, but measured; and a run that is modelled, be it the first or not. */
static void test_modelled_runs(void **state)
{
	struct recording_bench bench, modelled;
	struct wtl_run list[2];
	struct wtl_runs runs = {
		.runs = list,
		.n_runs = 2,
		.of[WTL_RUN_ENERGY_J] =
			{.n = 2, .mean = 420, .sd = 4, .ci95 = 10, .min = 416, .max = 424},
	};
	char *page;

	(void)state;
	recording_bench_init(&bench);
	recording_bench_init(&modelled);
	modelled.domains[0].energy.method = WATTLE_METHOD_MODELLED;
	bench.recording.report.window.total.method = WATTLE_METHOD_MIXED;
	recording_bench_runs(list, 2, "/data/night.wattle", &bench.recording.report);
	page = runs_bench_text("text", &runs, plain);
	assert_has_not(page, "~");
	free(page);
	list[1].report.domains = modelled.domains;
	page = runs_bench_text("text", &runs, plain);
	assert_line(page, "  1", "14:00:00 10.000 ! 420.0 ± 6.3 42.00 6.538 654");
	assert_line(page, "  2", "14:01:00 10.000 ! ~420.0 ± 6.3 42.00 6.538 654");
	assert_line(page, "energy", "~420 ± 10 J 4 0.95 % 416 424");
	free(page);
}

/* Without time there is no rate, which is not one of 0. */
static void test_a_run_of_no_time(void **state)
{
	struct recording_bench bench;
	struct wtl_run list[2];
	const struct wtl_runs runs = {.runs = list, .n_runs = 2};
	char *page;

	(void)state;
	recording_bench_init(&bench);
	recording_bench_runs(list, 2, "/data/night.wattle", &bench.recording.report);
	list[1].report.window.duration_ns = 0;
	page = runs_bench_text("text", &runs, plain);
	assert_line(page, "  2", "14:01:00 0.000 ! 420.0 ± 6.3 42.00 6.538 -");
	assert_has(page, "\n  rate      █ \n");
	free(page);
}

/* What a run emitted is not known, or not of all of its time. */
static void test_runs_without_emissions(void **state)
{
	struct recording_bench bench;
	struct wtl_run list[3];
	const struct wtl_runs runs = {.runs = list, .n_runs = 3};
	char *page;

	(void)state;
	recording_bench_init(&bench);
	recording_bench_runs(list, 3, "/data/night.wattle", &bench.recording.report);
	list[0].report.carbon.reason = "no intensity";
	list[0].report.carbon.emitted_ug = 0;
	list[1].report.carbon.missing_uj = 1;
	page = runs_bench_text("text", &runs, plain);
	assert_line(page, "  1", "14:00:00 10.000 ! 420.0 ± 6.3 42.00 - -");
	assert_line(page, "  2", "14:01:00 10.000 ! 420.0 ± 6.3 42.00 - -");
	assert_line(page, "  3", "14:02:00 10.000 ! 420.0 ± 6.3 42.00 6.538 654");
	assert_has(page, "\n  CO2e        █\n");
	assert_has(page, "\n! no CO2e of 2 of 3 runs: no intensity\n");
	free(page);
	list[2].report.carbon.missing_uj = 1;
	page = runs_bench_text("text", &runs, plain);
	assert_has_not(page, "\n  CO2e");
	assert_has_not(page, "\n  rate");
	assert_has(page, "! no CO2e of 3 of 3 runs");
	free(page);
}

static void test_runs_of_different_commands(void **state)
{
	static char make[] = "make", jobs[] = "-j8", all[] = "all";
	static char *const longer[] = {make, jobs, all, NULL};
	static char *const shorter[] = {make, NULL}, *const same[] = {make, jobs, NULL};
	char *const *others[] = {longer, shorter, NULL};
	struct recording_bench bench;
	struct wtl_run list[2];
	struct wtl_runs runs = {.runs = list, .n_runs = 2, .has_files = true};
	char *page;

	(void)state;
	recording_bench_init(&bench);
	recording_bench_runs(list, 2, "/data/night.wattle", &bench.recording.report);
	for (size_t i = 0; i < COUNT(others); i++) {
		list[1].report.command = (char **)(uintptr_t)others[i];
		page = runs_bench_text("text", &runs, plain);
		assert_has(page, "wattle: 2 runs: different commands\n");
		assert_has(page, "\n  run 1 is in /data/night.wattle: make -j8\n");
		free(page);
	}
	assert_on_runs(&runs, "\n  run 2 is in /data/night.wattle: the machine\n");
	runs.has_files = false;
	assert_on_runs(&runs, "\n  run 1 is make -j8\n  run 2 is the machine\n");
	/* Other words in other memory, but the same. */
	list[1].report.command = (char **)(uintptr_t)same;
	assert_on_runs(&runs, "wattle: 2 runs in night.wattle: make -j8\n");
}

/* However wide the mean's interval is, what a run used itself is known. */
static void test_least_and_most(void **state)
{
	struct recording_bench bench;
	struct wtl_run list[2];
	const struct wtl_runs runs = {
		.runs = list,
		.n_runs = 2,
		.of[WTL_RUN_ENERGY_J] =
			{.n = 2, .mean = 1.17, .sd = 1.6, .ci95 = 14, .min = 0.033, .max = 2.3},
		.of[WTL_RUN_EMITTED_G] =
			{.n = 2, .mean = 4, .sd = 0.1, .ci95 = 0.2, .min = 0, .max = 4.123},
	};
	char *page;

	(void)state;
	recording_bench_init(&bench);
	recording_bench_runs(list, 2, "/data/night.wattle", &bench.recording.report);
	page = runs_bench_text("text", &runs, plain);
	assert_line(page, "energy", "1 ± 14 J 2 137 % 0.033 2.3");
	assert_line(page, "CO2e", "4.00 ± 0.20 g 0.10 2.5 % 0.00 4.12");
	free(page);
}

/* How each ended; and what is told of all leaves out those that say nothing of what a run takes. */
static void test_ends_of_runs(void **state)
{
	struct recording_bench bench;
	struct wtl_run list[4];
	const struct wtl_runs runs = {.runs = list, .n_runs = COUNT(list)};
	char *page;

	(void)state;
	recording_bench_init(&bench);
	bench.recording.report.has_exit = true;
	recording_bench_runs(list, COUNT(list), "/data/night.wattle", &bench.recording.report);
	list[1].report.exit_status = 3;
	page = runs_bench_text("text", &runs, plain);
	assert_has(page, " rate [µg/s]  end\n");
	assert_line(page, "  1", "14:00:00 10.000 ! 420.0 ± 6.3 42.00 6.538 654 ok");
	assert_line(page, "  2", "14:01:00 10.000 ! 420.0 ± 6.3 42.00 6.538 654 exit status 3");
	assert_has_not(page, "mean and spread");
	free(page);
	list[1].report.interrupted = true;
	list[2].report.window.total.has_energy = 0;
	list[2].is_unfinished = list[2].is_live = true;
	list[3].is_unfinished = true;
	page = runs_bench_text("text", &runs, plain);
	assert_line(page, "  2", "14:01:00 10.000 ! 420.0 ± 6.3 42.00 6.538 654 interrupted");
	assert_line(page, "  3", "14:02:00 10.000 - still running");
	assert_line(page, "  4", "14:03:00 10.000 ! 420.0 ± 6.3 42.00 6.538 654 cut off");
	assert_has(page, "\n! mean and spread are those of 1 of 4 runs, which ended and were not ");
	free(page);
	/* Without a command nothing ends. */
	for (size_t i = 0; i < COUNT(list); i++) {
		list[i].report.has_exit = list[i].report.interrupted = false;
		list[i].is_unfinished = false;
	}
	page = runs_bench_text("text", &runs, plain);
	assert_has_not(page, " end\n");
	free(page);
}

static void test_one_run_and_none(void **state)
{
	struct recording_bench bench;
	struct wtl_run list[1];
	struct wtl_runs runs = {.runs = list, .n_runs = 1};
	char *page;

	(void)state;
	recording_bench_init(&bench);
	recording_bench_runs(list, 1, "/data/night.wattle", &bench.recording.report);
	page = runs_bench_text("text", &runs, plain);
	assert_has(page, "wattle: 1 run in night.wattle");
	assert_has_not(page, "run by run");
	free(page);
	runs.n_runs = 0;
	page = runs_bench_text("text", &runs, plain);
	assert_string_equal(page, "wattle: no run ended\n");
	free(page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times_in_this_zone),
		cmocka_unit_test(test_days),
		cmocka_unit_test(test_head),
		cmocka_unit_test(test_head_without_facts),
		cmocka_unit_test(test_a_part),
		cmocka_unit_test(test_how_it_ended),
		cmocka_unit_test(test_live_and_cut_off),
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_an_intensity_that_varies),
		cmocka_unit_test(test_groups_by_every_key),
		cmocka_unit_test(test_one_key_alone),
		cmocka_unit_test(test_groups_without_a_baseline),
		cmocka_unit_test(test_groups_add_up_as_printed),
		cmocka_unit_test(test_cpu_time_that_is_not_known),
		cmocka_unit_test(test_many_groups),
		cmocka_unit_test(test_nobody_alone),
		cmocka_unit_test(test_long_paths),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_windows_of_several_days),
		cmocka_unit_test(test_windows_without_figures),
		cmocka_unit_test(test_modelled_windows),
		cmocka_unit_test(test_many_windows),
		cmocka_unit_test(test_gaps_of_every_kind),
		cmocka_unit_test(test_many_gaps),
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_appended),
		cmocka_unit_test(test_comparison),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_self_and_intensity_of_runs),
		cmocka_unit_test(test_modelled_runs),
		cmocka_unit_test(test_a_run_of_no_time),
		cmocka_unit_test(test_runs_without_emissions),
		cmocka_unit_test(test_runs_of_different_commands),
		cmocka_unit_test(test_one_run_and_none),
		cmocka_unit_test(test_least_and_most),
		cmocka_unit_test(test_ends_of_runs),
	};

	/* Pages have local times. */
	set_zone("UTC");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
