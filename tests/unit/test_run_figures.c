/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/run_figures.h"

enum { RUNS = 4 };

static struct wtl_report_domain domains[RUNS];

static const struct wtl_report *at(const void *of, size_t run)
{
	const struct wtl_report *reports = of;

	return &reports[run];
}

/* Runs of 1, 2, 3, 4 s that take 10, 20, 30, 40 J at 10 W. */
static struct wtl_run_list make(struct wtl_report reports[RUNS])
{
	for (size_t i = 0; i < RUNS; i++) {
		struct wattle_energy energy = {.has_energy = true,
					       .has_power = true,
					       .energy_uj = (i + 1) * 10000000,
					       .mean_uw = 10000000};

		domains[i] = (struct wtl_report_domain){.energy = energy};
		reports[i] = (struct wtl_report){
			.has_exit = true,
			.window = {.duration_ns = (int64_t)(i + 1) * 1000000000, .total = energy},
			.domains = &domains[i],
			.n_domains = 1,
			.carbon = {.emitted_ug = (i + 1) * 1000},
			.attribution = {.is_known = true,
					.has_command = true,
					.command = {.has_dynamic = true,
						    .full_uj = (i + 1) * 1000000,
						    .dynamic_uj = (i + 1) * 500000}}};
	}
	return (struct wtl_run_list){at, reports, RUNS};
}

static void assert_mean(const struct wtl_run_list *runs, size_t figure, size_t n, double mean)
{
	struct wtl_statistics got;

	wtl_runs_statistics(runs, figure, &got);
	assert_int_equal(got.n, n);
	if (!(fabs(got.mean - mean) <= 1e-12 * mean))
		fail_msg("%.17g is not %.17g", got.mean, mean);
}

static void test_every_figure(void **state)
{
	struct wtl_report reports[RUNS];
	struct wtl_run_list runs = make(reports);

	(void)state;
	assert_int_equal(wtl_runs_whole(&runs), RUNS);
	assert_mean(&runs, WTL_RUN_DURATION_S, RUNS, 2.5);
	assert_mean(&runs, WTL_RUN_ENERGY_J, RUNS, 25);
	assert_mean(&runs, WTL_RUN_POWER_W, RUNS, 10);
	assert_mean(&runs, WTL_RUN_EMITTED_G, RUNS, 0.0025);
	assert_mean(&runs, WTL_RUN_DOMAIN_J, RUNS, 25);
	assert_mean(&runs, WTL_RUN_COMMAND_FULL_J, RUNS, 2.5);
	assert_mean(&runs, WTL_RUN_COMMAND_DYNAMIC_J, RUNS, 1.25);
}

/* Runs that emit a few micrograms differ by less than one. */
static void test_little_is_emitted(void **state)
{
	struct wtl_report reports[RUNS];
	struct wtl_run_list runs = make(reports);
	struct wtl_statistics got;

	(void)state;
	for (size_t i = 0; i < RUNS; i++) {
		reports[i].carbon.emitted_ug = 2;
		reports[i].carbon.emitted_rest_ng = 100 * (int32_t)i;
	}
	wtl_runs_statistics(&runs, WTL_RUN_EMITTED_G, &got);
	assert_true(fabs(got.min - 2e-6) < 1e-12 && fabs(got.max - 2.3e-6) < 1e-12);
	assert_true(got.sd > 1e-7);
}

/* It is in no figure: not in the mean, the least or the most. */
static void test_interrupted(void **state)
{
	struct wtl_report reports[RUNS];
	struct wtl_run_list runs = make(reports);
	struct wtl_statistics got;

	(void)state;
	reports[3].interrupted = true;
	reports[3].window.duration_ns = 6000000;
	assert_int_equal(wtl_runs_whole(&runs), 3);
	wtl_runs_statistics(&runs, WTL_RUN_DURATION_S, &got);
	assert_int_equal(got.n, 3);
	assert_true(fabs(got.mean - 2) < 1e-12 && fabs(got.sd - 1) < 1e-12);
	assert_true(fabs(got.min - 1) < 1e-12 && fabs(got.max - 3) < 1e-12);
	assert_mean(&runs, WTL_RUN_DOMAIN_J, 3, 20);
	/* What it does not know keeps nobody from saying what all others know. */
	reports[3].attribution.is_known = false;
	wtl_runs_statistics_of_all(&runs, WTL_RUN_COMMAND_FULL_J, &got);
	assert_int_equal(got.n, 3);
	for (size_t i = 0; i < 3; i++)
		reports[i].interrupted = true;
	wtl_runs_statistics(&runs, WTL_RUN_DURATION_S, &got);
	assert_int_equal(got.n, 0);
	assert_int_equal(wtl_runs_whole(&runs), 0);
}

/* The ways not to know a figure, each of the second run. */
static void forget_total(struct wtl_report *report)
{
	report->window.total.has_energy = false;
}

static void forget_power(struct wtl_report *report)
{
	report->window.total.has_power = false;
}

static void forget_domain(struct wtl_report *report)
{
	(void)report;
	domains[1].energy.has_energy = false;
}

static void forget_attribution(struct wtl_report *report)
{
	report->attribution.is_known = false;
}

static void forget_command(struct wtl_report *report)
{
	report->attribution.has_command = false;
}

static void forget_dynamic(struct wtl_report *report)
{
	report->attribution.command.has_dynamic = false;
}

static void test_unknown(void **state)
{
	static const struct {
		void (*forget)(struct wtl_report *report);
		size_t figure;
	} cases[] = {
		{forget_total, WTL_RUN_ENERGY_J},
		{forget_total, WTL_RUN_POWER_W},
		{forget_total, WTL_RUN_EMITTED_G},
		{forget_power, WTL_RUN_POWER_W},
		{forget_domain, WTL_RUN_DOMAIN_J},
		{forget_attribution, WTL_RUN_COMMAND_FULL_J},
		{forget_command, WTL_RUN_COMMAND_FULL_J},
		{forget_command, WTL_RUN_COMMAND_DYNAMIC_J},
		{forget_dynamic, WTL_RUN_COMMAND_DYNAMIC_J},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wtl_report reports[RUNS];
		struct wtl_run_list runs = make(reports);
		struct wtl_statistics got;

		cases[i].forget(&reports[1]);
		wtl_runs_statistics(&runs, cases[i].figure, &got);
		assert_int_equal(got.n, RUNS - 1);
		wtl_runs_statistics_of_all(&runs, cases[i].figure, &got);
		assert_int_equal(got.n, 0);
		assert_true(isnan(wtl_run_figure(&reports[1], cases[i].figure)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_figure),
		cmocka_unit_test(test_little_is_emitted),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
