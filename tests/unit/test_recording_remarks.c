/* SPDX-License-Identifier: MIT */
/* What is said of recordings that are not to be compared as they stand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "text/recording_text.h"
#include "recording_bench.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define S	     BENCH_S

static const struct wtl_output_style plain = {.color = false};

static const struct wtl_report *bench_report(const void *of, size_t i)
{
	const struct recording_bench *benches = of;

	return &benches[i].recording.report;
}

static char *remarks_of(const struct recording_bench benches[], size_t n)
{
	const struct wtl_report_text_several several = {
		.report = bench_report, .of = benches, .n = n, .before = "run ", .after = ""};
	struct wtl_buf buf;
	const struct wtl_report_text page = {&buf, &plain, NULL};
	char *copy;

	wtl_buf_init(&buf, 1 << 16);
	for (size_t i = 0; i < n; i++)
		wtl_report_text_file_remarks(&page, "a\x1b", &benches[i].recording);
	wtl_report_text_energy_remarks(&page, &several);
	wtl_report_text_carbon_remarks(&page, &several, &benches[0].recording);
	wtl_report_text_policy_remark(&page, &benches[0].recording);
	copy = strdup(wtl_buf_str(&buf));
	assert_non_null(copy);
	wtl_buf_done(&buf);
	return copy;
}

/* A recording with nothing to be said against it. */
static void init_good(struct recording_bench *bench)
{
	recording_bench_init(bench);
	bench->recording.n_gaps = 0;
	for (size_t i = 0; i < bench->recording.report.n_domains; i++) {
		bench->domains[i].energy.gap_ns = 0;
		bench->domains[i].energy.has_energy = 1;
	}
	bench->recording.report.window.total.gap_ns = 0;
	bench->recording.report.carbon.pue_milli = 0;
	bench->recording.report.carbon.reason = "nothing is said of emissions";
}

static void assert_remarks(const struct recording_bench benches[], size_t n, const char *wanted)
{
	char *remarks = remarks_of(benches, n);

	assert_string_equal(remarks, wanted);
	free(remarks);
}

static void test_files(void **state)
{
	struct recording_bench bench;
	struct wtl_recording *recording = &bench.recording;
	static const struct wtl_recording_gap gaps[2] = {{.kind = "suspend", .text = "it slept"},
							 {.kind = "overrun", .text = ""}};

	(void)state;
	init_good(&bench);
	assert_remarks(&bench, 1, "");
	recording->is_whole = false;
	assert_remarks(&bench, 1,
		       "! a\\x1b was cut off: its figures go to the last look that was written\n");
	recording->is_live = true;
	assert_remarks(&bench, 1, "- a\\x1b is being recorded: its figures are those so far\n");
	recording->is_live = false;
	recording->is_whole = recording->is_part = true;
	recording->span_ns = S(30);
	assert_remarks(&bench, 1, "- a\\x1b is told in part: 10.00 s of 30.00 s\n");
	recording->is_part = false;
	recording->gaps = gaps;
	recording->n_gaps = 1;
	assert_remarks(&bench, 1, "! a\\x1b has a gap: it slept\n");
	recording->gaps = &gaps[1];
	assert_remarks(&bench, 1, "! a\\x1b has a gap: overrun\n");
	recording->gaps = gaps;
	recording->n_gaps = 2;
	assert_remarks(&bench, 1, "! a\\x1b has 2 gaps: wattle report of it alone tells them\n");
	recording->n_gaps = 0;
	recording->policy.idle = "none";
	assert_remarks(&bench, 1, "- idle power taken as none\n");
}

static void test_energy(void **state)
{
	struct recording_bench benches[8];
	char *remarks;

	(void)state;
	for (size_t i = 0; i < COUNT(benches); i++)
		init_good(&benches[i]);
	benches[1].domains[0].energy.has_energy = 0;
	benches[1].domains[2].energy.gap_ns = S(1);
	assert_remarks(benches, 3,
		       "! the total of run 2 lacks package-0\n"
		       "! the total of run 2 lacks stretches of gpu-0\n");
	/* Where nothing is known, nothing lacks. */
	benches[1].recording.report.window.total.has_energy = 0;
	assert_remarks(benches, 2, "");
	for (size_t i = 0; i < COUNT(benches); i++) {
		benches[i].recording.report.window.total.has_energy = 1;
		benches[i].domains[0].energy.has_energy = 0;
	}
	remarks = remarks_of(benches, COUNT(benches));
	assert_non_null(strstr(remarks, "run 5 lacks package-0\n! 3 more lack energy\n"));
	assert_null(strstr(remarks, "run 6"));
	free(remarks);
}

static void test_emissions(void **state)
{
	struct recording_bench benches[3];

	(void)state;
	for (size_t i = 0; i < COUNT(benches); i++) {
		init_good(&benches[i]);
		benches[i].recording.report.carbon.reason = NULL;
		benches[i].recording.report.carbon.carbon.intensity_mg_per_kwh = 56040;
	}
	/* Whose figure it is. */
	assert_remarks(benches, 3, "- CO2e is at 56.04 g/kWh (FRA, 2023)\n");
	benches[1].recording.report.carbon.carbon = (struct wattle_carbon){
		.intensity_mg_per_kwh = 472900, .year = 2024, .dataset = "a d\x1bta set"};
	benches[1].recording.report.carbon.is_default = true;
	benches[2].recording.report.carbon.carbon =
		(struct wattle_carbon){.intensity_mg_per_kwh = 100000, .dataset = "given"};
	assert_remarks(benches, 3,
		       "! CO2e is not at one intensity: 56.04 g/kWh (FRA, 2023) in run 1, 472.9 "
		       "g/kWh\n  (world average, a d\\x1bta set, 2024) in run 2, 100.0 g/kWh (as "
		       "given) in run 3\n");
	assert_remarks(&benches[2], 1, "- CO2e is at 100.0 g/kWh (as given)\n");
	/* It is no matter of those that have no figure. */
	benches[1].recording.report.carbon.reason = "no intensity";
	benches[2].recording.report.carbon = benches[0].recording.report.carbon;
	assert_remarks(benches, 3, "- CO2e is at 56.04 g/kWh (FRA, 2023)\n");
	assert_remarks(&benches[1], 1, "");
	benches[2].recording.report.carbon.pue_milli = 1500;
	assert_remarks(benches, 3,
		       "- CO2e is at 56.04 g/kWh (FRA, 2023)\n- CO2e is told without PUE\n");
}

static void test_varying_intensity(void **state)
{
	struct recording_bench benches[2];

	(void)state;
	for (size_t i = 0; i < COUNT(benches); i++) {
		init_good(&benches[i]);
		benches[i].recording.report.carbon.reason = NULL;
	}
	benches[1].recording.report.carbon.carbon.intensity_mg_per_kwh = 1;
	benches[0].recording.carbon.is_varying = true;
	benches[0].recording.carbon.file = "gr\x1bid.csv";
	assert_remarks(benches, 2, "- CO2e is at the intensities over the time in gr\\x1bid.csv\n");
	for (size_t i = 0; i < COUNT(benches); i++)
		benches[i].recording.report.carbon.reason = "the file does not say";
	assert_remarks(benches, 2, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_energy),
		cmocka_unit_test(test_emissions),
		cmocka_unit_test(test_varying_intensity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
