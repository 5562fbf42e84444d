/* SPDX-License-Identifier: MIT */
/* Recordings, comparisons and runs in every format. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/buf.h"
#include "energy/units.h"
#include "document/recording.h"
#include "document/words.h"
#include "output_bench.h"
#include "recording_bench.h"
#include "output_machines_users.h"

#define BEGIN_UTC_NS (INT64_C(1795269600) * WTL_NS_PER_S) /* 2026-11-21T14:00Z */

/* ---- What is told ---- */

struct told {
	struct wtl_recording recording;
	struct wtl_recording_group groups[3];
	struct wtl_recording_grouping groupings[2];
	struct wtl_recording_window windows[4];
	struct wtl_recording_gap gaps[3];
	struct wtl_recording_sensor sensors[16];
	struct wattle_energy energies[16];
};

static void add(struct wtl_recording_group *group, const struct wtl_report_process *process)
{
	bool is_first = group->n_processes == 0;

	group->n_processes += process->consumer->n_processes;
	group->cpu_ns += process->consumer->cpu_ns;
	group->all.has_dynamic = (is_first || group->all.has_dynamic) && process->all.has_dynamic;
	group->all.full_uj += process->all.full_uj;
	group->all.dynamic_uj += process->all.dynamic_uj;
	group->all.uncertainty_uj += process->all.uncertainty_uj;
	group->gpu.full_uj += process->gpu.full_uj;
}

static void make_windows(struct told *told, const struct wtl_report *report)
{
	static const char *const names[] = {"recording", "warm up", "=epoch(1)\n\x1b[31m", "late"};

	for (size_t i = 0; i < report->n_domains; i++)
		told->energies[i] = report->domains[i].energy;
	for (size_t i = 0; i < COUNT(told->windows); i++) {
		struct wtl_recording_window *window = &told->windows[i];

		*window = (struct wtl_recording_window){
			.id = (uint32_t)i + 1, .name = names[i], .window = report->window};
		window->window.begin_utc_ns = BEGIN_UTC_NS + (int64_t)i * WTL_NS_PER_S;
		window->window.begin_mono_ns = 1000 + (int64_t)i * WTL_NS_PER_S;
		window->window.total.energy_uj /= i + 1;
		window->window.duration_ns /= (int64_t)i + 1;
		window->energies = i < 3 ? told->energies : NULL;
		window->has_carbon = true;
		window->carbon = report->carbon;
	}
	told->windows[0].is_main = true;
	told->windows[1].pid = 4711;
	told->windows[2].is_open = true;
	told->windows[3].is_cut = true;
	told->windows[3].has_carbon = false;
	told->recording.windows = told->windows;
	told->recording.n_windows = COUNT(told->windows);
}

static void make_gaps(struct told *told)
{
	told->gaps[0] = (struct wtl_recording_gap){.kind = "suspend",
						   .begin_utc_ns = BEGIN_UTC_NS,
						   .duration_ns = 90 * WTL_NS_PER_S,
						   .domain = "",
						   .text = "the machine slept"};
	told->gaps[1] = (struct wtl_recording_gap){.kind = "clock-step",
						   .begin_utc_ns = BEGIN_UTC_NS + WTL_NS_PER_S,
						   .duration_ns = -2 * WTL_NS_PER_S,
						   .domain = "",
						   .text = "UTC was set back by 2.000 s"};
	told->gaps[2] = (struct wtl_recording_gap){.kind = "channel",
						   .begin_utc_ns = BEGIN_UTC_NS,
						   .duration_ns = WTL_NS_PER_S,
						   .domain = "gpu-0",
						   .text = "it \x1b[31mwent away"};
	told->recording.gaps = told->gaps;
	told->recording.n_gaps = COUNT(told->gaps);
}

/* Listed processes go by turns to two groups; the others stay. */
static void make_groups(struct told *told, const struct wtl_report *report)
{
	const struct wtl_report_attribution *attribution = &report->attribution;

	told->groups[0].name = "alice";
	told->groups[1].name = "=bob \x1b[31m,\"";
	for (size_t i = 0; i < attribution->n_processes; i++)
		add(&told->groups[i % 2], &attribution->processes[i]);
	if (told->groups[1].all.full_uj > told->groups[0].all.full_uj) {
		struct wtl_recording_group group = told->groups[0];

		told->groups[0] = told->groups[1];
		told->groups[1] = group;
	}
	for (size_t i = 0; i < 2; i++)
		told->groupings[i] = (struct wtl_recording_grouping){
			.by = i == 0 ? WTL_BY_USER : WTL_BY_CONTAINER,
			.groups = told->groups,
			.n_groups = attribution->n_processes > 1 ? 2 : 1,
			.others = {.name = "",
				   .n_processes = attribution->n_others,
				   .cpu_ns = attribution->others_cpu_ns,
				   .all = attribution->others},
			.n_others = attribution->n_others > 0 ? 3 : 0,
		};
	told->recording.groupings = told->groupings;
	told->recording.n_groupings = 2;
}

static struct told *make(const struct wtl_report *report)
{
	struct told *told = calloc(1, sizeof(*told));

	assert_non_null(told);
	assert_true(report->n_domains <= COUNT(told->sensors));
	told->recording = (struct wtl_recording){
		.path = "night.wattle",
		.version = "0.1.0",
		.host = "tea",
		.cpu_model = "Intel(R) Xeon(R) Platinum 8480+",
		.kernel = "6.1.0",
		.location = "FRA",
		.imported = "",
		.interval_ns = 100 * WTL_NS_PER_MS,
		.is_whole = true,
		.begin_utc_ns = BEGIN_UTC_NS,
		.begin_mono_ns = 1000,
		.span_ns = 4000 * WTL_NS_PER_S,
		.report = *report,
		.policy = {.idle = "recorded"},
		.by = WTL_BYS,
		.sensors = told->sensors,
	};
	told->recording.report.window.begin_utc_ns = BEGIN_UTC_NS;
	told->recording.end_utc_ns = BEGIN_UTC_NS + report->window.duration_ns;
	make_windows(told, report);
	make_gaps(told);
	make_groups(told, report);
	return told;
}

static const char *const given[] = {"package-0: 12.5 W", "dram-0: 0 W"};

/* A part of one that was cut off, by another policy and an intensity that changes. */
static struct told *make_part(void)
{
	struct told *told = make(&machine_used);
	struct wtl_recording *recording = &told->recording;

	recording->is_whole = false;
	recording->is_part = true;
	recording->policy = (struct wtl_recording_policy){
		.idle = "learned", .idle_given = given, .n_idle_given = COUNT(given)};
	recording->carbon =
		(struct wtl_recording_carbon){.is_varying = true,
					      .file = "grid.csv",
					      .emission = {.has_intensity = true,
							   .least_mg_per_kwh = 56040,
							   .greatest_mg_per_kwh = 312000,
							   .known_ns = 8 * WTL_NS_PER_S,
							   .missing_ns = 4 * WTL_NS_PER_S,
							   .missing_uj = 1234567}};
	recording->has_by = true;
	recording->by = WTL_BY_USER;
	recording->n_groupings = 1;
	return told;
}

/* ---- Several ---- */

static const struct wtl_compared_value compared_values[][2] = {
	{{.is_known = true, .measured = {.value = 4438025}},
	 {.is_known = true,
	  .measured = {.value = 2035526},
	  .has_difference = true,
	  .difference =
		  {.is_negative = true, .value = 2402499, .has_ratio = true, .ratio = -0.541}}},
	{{.is_known = true, .measured = {.value = 74053099, .uncertainty = 1500000}},
	 {.is_known = true,
	  .measured = {.value = 76553099, .uncertainty = 1600000},
	  .has_difference = true,
	  .is_common = true,
	  .difference = {.value = 2500000,
			 .uncertainty = 310000,
			 .is_significant = true,
			 .has_ratio = true,
			 .ratio = 0.03376}}},
	{{.is_known = true, .measured = {.value = 34878688, .uncertainty = 700000}},
	 {.is_known = true,
	  .measured = {.value = 34877454, .uncertainty = 700000},
	  .has_difference = true,
	  .difference = {.is_negative = true,
			 .value = 1234, /* 0 in its figures, and without a sign */
			 .uncertainty = 990000,
			 .has_ratio = true,
			 .ratio = -0.0000354}}},
	{{.is_known = false}, {.is_known = true, .measured = {.value = 5, .uncertainty = 7}}},
	{{.is_known = true, .measured = {.value = 0, .uncertainty = 1}},
	 {.is_known = true,
	  .measured = {.value = 12, .uncertainty = 1},
	  .has_difference = true,
	  .difference = {.value = 12, .uncertainty = 2, .is_significant = true}}},
};

static const struct wtl_compared compared[] = {
	{"time", false, WTL_COMPARED_S, compared_values[0]},
	{"energy", false, WTL_COMPARED_J, compared_values[1]},
	{"package-0", true, WTL_COMPARED_J, compared_values[2]},
	{"gpu-\x1b[0", true, WTL_COMPARED_J, compared_values[3]},
	{"CO2e", false, WTL_COMPARED_G, compared_values[4]},
};

static void make_runs(struct wtl_run list[], size_t n, struct wtl_runs *ret_runs)
{
	for (size_t i = 0; i < n; i++) {
		list[i] = (struct wtl_run){.path = i < 2 ? "a.wattle" : "b.wattle",
					   .number = i + 1,
					   .report = machine_used};
		list[i].report.window.begin_utc_ns = BEGIN_UTC_NS + (int64_t)i * 60 * WTL_NS_PER_S;
		list[i].report.window.duration_ns -= (int64_t)i * WTL_NS_PER_S;
	}
	*ret_runs = (struct wtl_runs){
		.runs = list,
		.n_runs = n,
		.has_files = true,
		.of[WTL_RUN_DURATION_S] =
			{.n = n, .mean = 11, .sd = 1, .ci95 = 2.48, .min = 10, .max = 12},
		.of[WTL_RUN_ENERGY_J] =
			{.n = n, .mean = 500, .sd = 5, .ci95 = 12.4, .min = 495, .max = 505},
		.of[WTL_RUN_POWER_W] =
			{.n = n, .mean = 45, .sd = 4, .ci95 = 10, .min = 41, .max = 49},
		.of[WTL_RUN_EMITTED_G] = {.n = n,
					  .mean = 0.06,
					  .sd = 0.001,
					  .ci95 = 0.002,
					  .min = 0.05,
					  .max = 0.07},
		.of[WTL_RUN_COMMAND_FULL_J] =
			{.n = n, .mean = 400, .sd = 4, .ci95 = 10, .min = 396, .max = 404},
	};
}

/* ---- Tests ---- */

static void test_golden(void **state)
{
	struct told *whole = make(&machine_used), *part = make_part();
	const struct wtl_recording both[2] = {whole->recording, part->recording};
	const struct wtl_comparison comparison = {
		.recordings = both, .n_recordings = 2, .rows = compared, .n_rows = COUNT(compared)};
	struct wtl_run list[3];
	struct wtl_runs several;

	(void)state;
	make_runs(list, COUNT(list), &several);
	output_check_golden("recording", &wtl_thing_recording, &whole->recording);
	output_check_golden("recording-part", &wtl_thing_recording, &part->recording);
	output_check_golden("comparison", &wtl_thing_comparison, &comparison);
	output_check_golden("runs", &wtl_thing_runs, &several);
	free(whole);
	free(part);
}

static void test_pages(void **state)
{
	static const struct wtl_report *const reports[] = {&machine_used,    &machine_full,
							   &machine_used_vm, &machine_build,
							   &machine_hostile, &machine_unknown};
	struct told *part = make_part();
	struct wtl_run list[3];
	struct wtl_runs several;

	(void)state;
	for (size_t i = 0; i < COUNT(reports); i++) {
		struct told *told = make(reports[i]);

		output_check_page(&wtl_thing_recording, &told->recording);
		told->recording.has_by = true;
		told->recording.by = WTL_BY_WINDOW;
		told->recording.n_groupings = 0;
		output_check_page(&wtl_thing_recording, &told->recording);
		free(told);
	}
	output_check_page(&wtl_thing_recording, &part->recording);
	make_runs(list, COUNT(list), &several);
	output_check_page(&wtl_thing_runs, &several);
	free(part);
}

static void assert_refused(const struct wtl_recording *recording)
{
	const struct wtl_output_style style = {.color = false};

	for (size_t i = 0; wtl_writers[i]; i++) {
		struct wtl_buf buf;

		wtl_buf_init(&buf, OUTPUT_MAX);
		assert_int_equal(wtl_thing_write(&buf, &wtl_thing_recording, recording,
						 wtl_writers[i], &style),
				 -EPROTO);
		assert_int_equal(buf.len, 0);
		wtl_buf_done(&buf);
	}
}

/* What does not add up is not printed. */
static void test_breaches_are_refused(void **state)
{
	struct told *told = make(&machine_used);
	struct wtl_report_domain domains[16];

	(void)state;
	told->groups[0].all.full_uj++;
	assert_refused(&told->recording);
	told->groups[0].all.full_uj--;
	assert_int_equal(wtl_recording_check(&told->recording), 0);
	told->groups[0].all.dynamic_uj = told->groups[0].all.full_uj + 1;
	assert_refused(&told->recording);
	told->groups[0].all.dynamic_uj = 0;
	memcpy(domains, told->recording.report.domains,
	       told->recording.report.n_domains * sizeof(domains[0]));
	told->recording.report.domains = domains;
	domains[0].ledger.live_uj++;
	assert_refused(&told->recording);
	free(told);
}

/* Nothing is written of several where one is not sound. */
static void test_one_breach_refuses_all(void **state)
{
	const struct wtl_output_style style = {.color = false};
	struct recording_bench good, bad;
	struct wtl_recording both[2];
	const struct wtl_comparison comparison = {.recordings = both, .n_recordings = 2};
	struct wtl_run list[2];
	const struct wtl_runs both_runs = {.runs = list, .n_runs = 2};

	(void)state;
	for (int breach = 0; breach < 2; breach++) {
		recording_bench_init(&good);
		recording_bench_init(&bad);
		if (breach == 0)
			bad.domains[0].ledger.idle_uj--;
		else
			bad.domains[2].energy.energy_uj++;
		both[0] = good.recording;
		both[1] = bad.recording;
		list[0] = (struct wtl_run){.path = "a", .report = good.recording.report};
		list[1] = (struct wtl_run){.path = "b", .report = bad.recording.report};
		assert_refused(&bad.recording);
		for (size_t i = 0; wtl_writers[i]; i++) {
			struct wtl_buf buf;

			wtl_buf_init(&buf, OUTPUT_MAX);
			assert_int_equal(wtl_thing_write(&buf, &wtl_thing_comparison, &comparison,
							 wtl_writers[i], &style),
					 -EPROTO);
			assert_int_equal(wtl_thing_write(&buf, &wtl_thing_runs, &both_runs,
							 wtl_writers[i], &style),
					 -EPROTO);
			assert_int_equal(buf.len, 0);
			wtl_buf_done(&buf);
		}
	}
}

static void test_words(void **state)
{
	(void)state;
	for (int i = 0; i < WTL_BYS; i++) {
		assert_string_equal(wtl_by_names[i], wtl_by_name((enum wtl_by)i));
		assert_int_equal(
			strncmp(wtl_by_plural((enum wtl_by)i), wtl_by_name((enum wtl_by)i), 3), 0);
	}
	assert_null(wtl_by_names[WTL_BYS]);
}

static void test_rates(void **state)
{
	struct wtl_run run = {
		.report = {.window = {.duration_ns = 2 * WTL_NS_PER_S, .total.has_energy = 1},
			   .carbon = {.emitted_ug = 1000000}}};
	uint64_t rate_ng_per_s = 1;

	(void)state;
	/* A gram in two seconds. */
	assert_true(wtl_run_rate_ng_per_s(&run, &rate_ng_per_s));
	assert_int_equal(rate_ng_per_s, 500000000);
	/* Without time, or without a figure, there is no rate, not one of 0. */
	run.report.window.duration_ns = 0;
	assert_false(wtl_run_rate_ng_per_s(&run, &rate_ng_per_s));
	run.report.window.duration_ns = WTL_NS_PER_S;
	run.report.window.total.has_energy = 0;
	assert_false(wtl_run_rate_ng_per_s(&run, &rate_ng_per_s));
	assert_int_equal(rate_ng_per_s, 500000000);
	/* What does not fit is as much as fits. */
	run.report.window.total.has_energy = 1;
	run.report.window.duration_ns = 1;
	run.report.carbon.emitted_ug = UINT64_MAX / 2;
	assert_true(wtl_run_rate_ng_per_s(&run, &rate_ng_per_s));
	assert_true(rate_ng_per_s == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_breaches_are_refused),
		cmocka_unit_test(test_one_breach_refuses_all),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_rates),
	};

	/* Pages have local times. */
	setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
