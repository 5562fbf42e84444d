/* SPDX-License-Identifier: MIT */
/* Several recordings: what they differ by, and repeated runs in a row. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/report/several.h"
#include "energy/units.h"
#include "unit.h"

enum { DOMAINS = 3, RUNS_MAX = 4 };

/* A recording that somebody has gone by, with domains that a test sets. */
struct fake {
	struct wtl_recorded recorded;
	struct wtl_recorded_run runs[RUNS_MAX], *pointers[RUNS_MAX];
	struct wtl_report_domain domains[RUNS_MAX][DOMAINS];
	struct wtl_recording_sensor sensors[DOMAINS];
};

static const char rapl[] = "rapl-perf", nvml[] = "nvml";

static void set_energy(struct fake *fake, size_t run, size_t i, uint64_t energy_j,
		       uint64_t uncertainty_j)
{
	struct wattle_energy *energy = &fake->domains[run][i].energy;
	struct wattle_energy *total = &fake->runs[run].report.window.total;
	int64_t duration_ns = 10 * WTL_NS_PER_S;

	*energy = (struct wattle_energy){.has_energy = 1,
					 .energy_uj = energy_j * WTL_UJ_PER_J,
					 .uncertainty_uj = uncertainty_j * WTL_UJ_PER_J,
					 .method = WATTLE_METHOD_COUNTER,
					 .measured_ns = duration_ns};
	if (!fake->domains[run][i].domain.in_total)
		return;
	total->has_energy = total->has_power = 1;
	total->energy_uj += energy->energy_uj;
	/* Of one source they add up. */
	total->uncertainty_uj += energy->uncertainty_uj;
	total->mean_uw = wtl_power_uw(total->energy_uj, duration_ns);
}

static struct fake *make(const char *path, const char *host, size_t n_runs)
{
	static const char *const names[DOMAINS] = {"package-0", "package-1", "psys-0"};
	struct fake *fake = calloc(1, sizeof(*fake));

	assert_non_null(fake);
	fake->recorded.runs = fake->pointers;
	fake->recorded.n_runs = n_runs;
	for (size_t k = 0; k < n_runs; k++) {
		struct wtl_report *report = &fake->runs[k].report;

		fake->pointers[k] = &fake->runs[k];
		for (size_t i = 0; i < DOMAINS; i++)
			fake->domains[k][i].domain = (struct wattle_domain){
				.name = names[i], .source = rapl, .in_total = i < 2};
		report->domains = fake->domains[k];
		report->n_domains = DOMAINS;
		report->window.duration_ns = (10 + (int64_t)k) * WTL_NS_PER_S;
		report->window.begin_utc_ns = (1000 + 100 * (int64_t)k) * WTL_NS_PER_S;
	}
	for (size_t i = 0; i < DOMAINS; i++)
		fake->sensors[i].gain_ppm = 10000;
	fake->recorded.recording = (struct wtl_recording){
		.path = path, .host = host, .cpu_model = "Xeon", .sensors = fake->sensors};
	return fake;
}

/* What wtl_recorded_new() does. */
static struct wtl_recorded *finish(struct fake *fake)
{
	fake->recorded.recording.report = fake->runs[fake->recorded.n_runs - 1].report;
	return &fake->recorded;
}

static const struct wtl_compared *find(const struct wtl_comparison_data *data, const char *what)
{
	for (size_t i = 0; i < data->comparison.n_rows; i++)
		if (strcmp(data->rows[i].what, what) == 0)
			return &data->rows[i];
	fail_msg("there is no row %s", what);
	return NULL;
}

/* Two packages of 1 % gain and nothing else: 500 +- 10 J each. */
static struct fake *make_usual(const char *path, const char *host, uint64_t energy_j)
{
	struct fake *fake = make(path, host, 1);

	set_energy(fake, 0, 0, energy_j, energy_j / 50);
	set_energy(fake, 0, 1, energy_j, energy_j / 50);
	finish(fake);
	return fake;
}

static void test_same_sensors(void **state)
{
	struct fake *one = make_usual("a", "tea", 500), *other = make_usual("b", "tea", 600);
	struct wtl_recorded *const both[] = {&one->recorded, &other->recorded};
	struct wtl_comparison_data data;
	const struct wtl_compared_value *value;

	(void)state;
	assert_int_equal(wtl_comparison_new(both, 2, &data), 0);
	value = &find(&data, "package-0")->values[1];
	assert_true(value->has_difference && value->is_common);
	assert_int_equal(value->difference.value, 100 * WTL_UJ_PER_J);
	/* 1 % of the difference, k = 2. */
	assert_int_equal(value->difference.uncertainty, 2 * WTL_UJ_PER_J);
	assert_true(value->difference.is_significant);
	/* The gains of one source err alike: 1 % of 200 J. */
	value = &find(&data, "energy")->values[1];
	assert_true(value->is_common);
	assert_int_equal(value->difference.value, 200 * WTL_UJ_PER_J);
	assert_int_equal(value->difference.uncertainty, 4 * WTL_UJ_PER_J);
	value = &find(&data, "power")->values[1];
	assert_true(value->is_common && value->difference.value == 20 * WTL_UJ_PER_J);
	assert_in_range(value->difference.uncertainty, 399999, 400001);
	wtl_comparison_free(&data);
	free(one);
	free(other);
}

/* 1 mg/J, which may be wrong by 5 %, and sensors by 1 % and a zero: independently of each other. */
static void set_emissions(struct fake *fake, const char *dataset, uint32_t zero_w)
{
	struct wtl_report_carbon *carbon = &fake->runs[0].report.carbon;
	double emitted_ug = (double)fake->runs[0].report.window.total.energy_uj / 1e3;
	double zero_ug = 2.0 * zero_w * 10.0 * 1e3;

	for (size_t i = 0; i < 2; i++)
		fake->sensors[i].offset_uw = zero_w * 1000000;
	carbon->emitted_ug = (uint64_t)emitted_ug;
	carbon->uncertainty_ug =
		(uint64_t)(2.0 * hypot(hypot(0.01 * emitted_ug, zero_ug), 0.05 * emitted_ug));
	carbon->carbon = (struct wattle_carbon){
		.intensity_mg_per_kwh = 3600000, .uncertainty_ppm = 50000, .location = "FRA"};
	snprintf(carbon->carbon.dataset, sizeof(carbon->carbon.dataset), "%s", dataset);
	finish(fake);
}

/* The uncertainty of what they emitted beyond each other. */
static double emissions_apart_ug(const char *host, const char *dataset, uint32_t zero_w)
{
	struct fake *one = make_usual("a", "tea", 500), *other = make_usual("b", host, 600);
	struct wtl_recorded *const both[] = {&one->recorded, &other->recorded};
	struct wtl_comparison_data data;
	struct wtl_difference difference;

	set_emissions(one, "a table", zero_w);
	set_emissions(other, dataset, zero_w);
	assert_int_equal(wtl_comparison_new(both, 2, &data), 0);
	difference = find(&data, "CO2e")->values[1].difference;
	assert_int_equal(difference.value, 200000);
	wtl_comparison_free(&data);
	free(one);
	free(other);
	return (double)difference.uncertainty;
}

/* The same intensity is wrong by the same in both, whoever measured the energy. */
static void test_same_intensity(void **state)
{
	const struct {
		const char *host, *dataset;
		uint32_t zero_w;
		double expected_ug;
	} cases[] = {
		{"tea", "a table", 0, 2.0 * hypot(0.01, 0.05) * 2e5},
		{"coffee", "a table", 0, 2.0 * hypot(0.01 * hypot(1e6, 1.2e6), 0.05 * 2e5)},
		{"tea", "another", 0, 2.0 * hypot(0.01 * 2e5, 0.05 * hypot(1e6, 1.2e6))},
		/* Both took as long: a zero cancels. */
		{"tea", "a table", 2, 2.0 * hypot(0.01, 0.05) * 2e5},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++)
		assert_true(
			fabs(emissions_apart_ug(cases[i].host, cases[i].dataset, cases[i].zero_w) -
			     cases[i].expected_ug) < 1e-3 * cases[i].expected_ug);
}

static void assert_independent(struct fake *one, struct fake *other)
{
	struct wtl_recorded *const both[] = {&one->recorded, &other->recorded};
	struct wtl_comparison_data data;
	const struct wtl_compared_value *value;

	assert_int_equal(wtl_comparison_new(both, 2, &data), 0);
	value = &find(&data, "package-0")->values[1];
	assert_true(value->has_difference && !value->is_common);
	/* 10 and 12 J in quadrature. */
	assert_int_equal(value->difference.uncertainty, (uint64_t)ceil(sqrt(244.0) * 1e6));
	assert_false(find(&data, "energy")->values[1].is_common);
	assert_false(find(&data, "power")->values[1].is_common);
	wtl_comparison_free(&data);
	free(one);
	free(other);
}

static void test_other_sensors(void **state)
{
	struct fake *other = make_usual("b", "tea", 600);

	(void)state;
	assert_independent(make_usual("a", "tea", 500), make_usual("b", "coffee", 600));
	assert_independent(make_usual("a", "", 500), make_usual("b", "", 600));
	other->domains[0][0].domain.source = nvml;
	assert_independent(make_usual("a", "tea", 500), finish(other) ? other : NULL);
	other = make_usual("b", "tea", 600);
	other->recorded.recording.cpu_model = "EPYC";
	assert_independent(make_usual("a", "tea", 500), other);
	other = make_usual("b", "tea", 600);
	other->domains[0][0].energy.method = WATTLE_METHOD_MODELLED;
	assert_independent(make_usual("a", "tea", 500), finish(other) ? other : NULL);
}

/* A domain of only one of them, in either order. */
static void test_domains_of_one_alone(void **state)
{
	struct fake *one = make("a", "tea", 1), *other = make_usual("b", "tea", 600);
	struct wtl_recorded *const orders[2][2] = {{&one->recorded, &other->recorded},
						   {&other->recorded, &one->recorded}};

	(void)state;
	one->domains[0][0].domain.name = "gpu-0";
	set_energy(one, 0, 0, 100, 10);
	finish(one);
	for (size_t i = 0; i < 2; i++) {
		struct wtl_comparison_data data;
		const struct wtl_compared *gpu, *package;

		assert_int_equal(wtl_comparison_new(orders[i], 2, &data), 0);
		gpu = find(&data, "gpu-0");
		package = find(&data, "package-0");
		assert_true(gpu->values[i].is_known && !gpu->values[1 - i].is_known);
		assert_true(package->values[1 - i].is_known && !package->values[i].is_known);
		for (size_t k = 0; k < 2; k++)
			assert_false(gpu->values[k].has_difference ||
				     package->values[k].has_difference);
		/* The totals are of other domains: nothing is common. */
		assert_true(find(&data, "energy")->values[1].has_difference);
		assert_false(find(&data, "energy")->values[1].is_common);
		wtl_comparison_free(&data);
	}
	free(one);
	free(other);
}

static void test_commands(void **state)
{
	struct fake *one = make_usual("a", "tea", 500), *other = make_usual("b", "tea", 600);
	struct wtl_recorded *const both[] = {&one->recorded, &other->recorded};
	struct wtl_comparison_data data;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct wtl_report_attribution *attribution =
			&(i ? other : one)->runs[0].report.attribution;

		attribution->is_known = attribution->has_command = true;
		attribution->command = (struct wtl_share_energy){.has_dynamic = i == 0,
								 .full_uj = 300 + i,
								 .dynamic_uj = 200,
								 .uncertainty_uj = 30};
	}
	finish(one);
	finish(other);
	assert_int_equal(wtl_comparison_new(both, 2, &data), 0);
	assert_int_equal(find(&data, "command, full")->values[1].difference.value, 1);
	assert_true(find(&data, "command, dynamic")->values[0].is_known);
	assert_false(find(&data, "command, dynamic")->values[1].is_known);
	assert_false(find(&data, "command, dynamic")->values[1].has_difference);
	wtl_comparison_free(&data);
	free(one);
	free(other);
}

/* Of repeated runs the mean is compared, and what they scatter by is its error. */
static void test_means_of_runs(void **state)
{
	static const char *const made_of_it[] = {"CO2e", "command, dynamic"};
	struct fake *one = make_usual("a", "tea", 500), *other = make("b", "tea", 3);
	struct wtl_recorded *const both[] = {&one->recorded, &other->recorded};
	struct wtl_comparison_data data;
	const struct wtl_compared_value *value;

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		struct wtl_report *report = &other->runs[k].report;

		for (size_t i = 0; i < 2; i++)
			set_energy(other, k, i, 590 + 10 * k, 12);
		/* A tenth of the energy, and a gram for 1000 J. */
		report->carbon.emitted_ug = (590 + 10 * k) * 2 * 1000;
		report->attribution.is_known = report->attribution.has_command = true;
		report->attribution.command = (struct wtl_share_energy){
			.has_dynamic = true,
			.full_uj = (590 + 10 * k) * 2 * WTL_UJ_PER_J / 10,
			.dynamic_uj = (590 + 10 * k) * WTL_UJ_PER_J / 10,
			/* of gain alone */
			.uncertainty_uj = (590 + 10 * k) * WTL_UJ_PER_J / 10 / 50};
	}
	finish(other);
	assert_int_equal(wtl_comparison_new(both, 2, &data), 0);
	value = &find(&data, "package-0")->values[1];
	assert_int_equal(value->measured.value, 600 * WTL_UJ_PER_J);
	/* 95 % of three: 4.303 × 10 / sqrt(3) = 24.84 J, and the gain of the mean, 2 % of 600 J. */
	assert_in_range(value->measured.uncertainty, 27580000, 27590000);
	assert_true(value->has_difference && value->is_common);
	/* What is made of the energy errs as it does: scattering alone is not all there is. */
	for (size_t i = 0; i < sizeof(made_of_it) / sizeof(made_of_it[0]); i++) {
		const struct wtl_compared_value *energy = &find(&data, "energy")->values[1];
		double of_energy =
			(double)energy->measured.uncertainty / (double)energy->measured.value;

		value = &find(&data, made_of_it[i])->values[1];
		assert_true(value->is_known);
		assert_true(
			fabs((double)value->measured.uncertainty / (double)value->measured.value -
			     of_energy) < 1e-3);
	}
	value = &find(&data, "time")->values[1];
	assert_int_equal(value->measured.value, 11000000);
	wtl_comparison_free(&data);
	free(one);
	free(other);
}

/* What gain leaves in a mean is that of the mean, however much the last run used. */
static void test_gain_is_of_the_mean(void **state)
{
	static const uint64_t used_j[] = {900, 900, 300};
	struct fake *one = make_usual("a", "tea", 600), *other = make("b", "tea", 3);
	struct wtl_recorded *const both[] = {&one->recorded, &other->recorded};
	static const char *const rows[] = {"package-0", "energy", "power"};
	struct wtl_comparison_data data;
	const struct wtl_compared_value *value;

	(void)state;
	for (size_t k = 0; k < 3; k++)
		for (size_t i = 0; i < 2; i++)
			set_energy(other, k, i, used_j[k], used_j[k] / 50);
	finish(other);
	assert_int_equal(wtl_comparison_new(both, 2, &data), 0);
	assert_int_equal(data.recordings[1].n_runs, 3);
	value = &find(&data, "package-0")->values[1];
	/* Mean 700 J, s 346.4 J: ± 4.3027 × 200 = 860.5 J, and 2 % of 700 J: 860.6. */
	assert_int_equal(value->measured.value, 700 * WTL_UJ_PER_J);
	assert_true(fabs(value->measured.common - 7e6) < 1.0);
	assert_in_range(value->measured.uncertainty, 860600000, 860700000);
	/* Of the difference, 1 % (k = 1) of 100 J is left of the gain, as between any two. */
	assert_in_range(value->difference.uncertainty, 860500000, 860600000);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		value = &find(&data, rows[i])->values[1];
		assert_true(fabs(value->measured.common / (double)value->measured.value - 0.01) <
			    (i == 2 ? 2e-3 : 1e-6));
	}
	wtl_comparison_free(&data);
	free(one);
	free(other);
}

/* Only one of its runs counts: that is told, with its own error. */
static void test_one_run_that_counts(void **state)
{
	struct fake *one = make_usual("a", "tea", 500), *other = make("b", "tea", 2);
	struct wtl_recorded *const both[] = {&one->recorded, &other->recorded};
	struct wtl_comparison_data data;
	const struct wtl_compared_value *value;

	(void)state;
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < 2; i++)
			set_energy(other, k, i, k == 0 ? 600 : 1, k == 0 ? 12 : 1);
	for (size_t unfinished = 0; unfinished < 2; unfinished++) {
		other->runs[1].report.interrupted = !unfinished;
		other->recorded.is_unfinished = unfinished;
		finish(other);
		assert_int_equal(wtl_comparison_new(both, 2, &data), 0);
		assert_int_equal(data.recordings[1].n_runs, 1);
		assert_int_equal(data.recordings[1].compared_utc_ns, 1000 * WTL_NS_PER_S);
		value = &find(&data, "package-0")->values[1];
		assert_int_equal(value->measured.value, 600 * WTL_UJ_PER_J);
		assert_int_equal(value->measured.uncertainty, 12 * WTL_UJ_PER_J);
		assert_int_equal(find(&data, "energy")->values[1].measured.value,
				 1200 * WTL_UJ_PER_J);
		assert_int_equal(find(&data, "time")->values[1].measured.value, 10000000);
		wtl_comparison_free(&data);
	}
	free(one);
	free(other);
}

/* What not every run has is not told of all of them. */
static void test_runs_without_a_figure(void **state)
{
	struct fake *one = make_usual("a", "tea", 500), *other = make("b", "tea", 2);
	struct wtl_recorded *const both[] = {&one->recorded, &other->recorded};
	struct wtl_comparison_data data;

	(void)state;
	set_energy(other, 0, 0, 600, 12);
	set_energy(other, 0, 1, 600, 12);
	set_energy(other, 1, 0, 600, 12);
	other->runs[1].report.window.total.flags = WATTLE_ENERGY_INCOMPLETE;
	finish(other);
	assert_int_equal(wtl_comparison_new(both, 2, &data), 0);
	assert_true(find(&data, "package-0")->values[1].is_known);
	assert_false(find(&data, "package-1")->values[1].is_known);
	assert_true(find(&data, "energy")->values[1].is_incomplete);
	assert_true(find(&data, "power")->values[1].is_incomplete);
	assert_false(find(&data, "energy")->values[0].is_incomplete);
	assert_false(find(&data, "package-0")->values[1].is_incomplete);
	wtl_comparison_free(&data);
	free(one);
	free(other);
}

/* The time of repeated runs has an error, and so has a difference to it. */
static void test_mean_time(void **state)
{
	struct fake *one = make_usual("a", "tea", 500), *other = make("b", "tea", 3);
	struct wtl_recorded *const both[] = {&one->recorded, &other->recorded};
	struct wtl_comparison_data data;
	const struct wtl_compared_value *value;

	(void)state;
	finish(other);
	assert_int_equal(wtl_comparison_new(both, 2, &data), 0);
	value = find(&data, "time")->values;
	assert_int_equal(value[0].measured.uncertainty, 0);
	/* 4.3027 × 1 s / sqrt(3) */
	assert_in_range(value[1].measured.uncertainty, 2484100, 2484200);
	assert_in_range(value[1].difference.uncertainty, 2484100, 2484200);
	assert_false(value[1].difference.is_significant);
	wtl_comparison_free(&data);
	free(one);
	free(other);
}

/* Totals of other domains differ by more than what was used. */
static void test_totals_of_other_domains(void **state)
{
	static const char *const of_total[] = {"energy", "power", "command, full", "CO2e"};
	struct fake *one = make_usual("a", "tea", 500), *other = make("b", "tea", 1);
	struct wtl_recorded *const both[] = {&one->recorded, &other->recorded};
	struct wtl_comparison_data data;

	(void)state;
	set_energy(other, 0, 0, 100, 2);
	one->runs[0].report.attribution = (struct wtl_report_attribution){
		.is_known = true, .has_command = true, .command = {.full_uj = 9000000}};
	one->runs[0].report.carbon.emitted_ug = 900;
	other->runs[0].report.attribution = one->runs[0].report.attribution;
	other->runs[0].report.attribution.command.full_uj = 1;
	other->runs[0].report.carbon.emitted_ug = 1;
	finish(one);
	finish(other);
	assert_int_equal(wtl_comparison_new(both, 2, &data), 0);
	for (size_t i = 0; i < sizeof(of_total) / sizeof(of_total[0]); i++) {
		const struct wtl_compared_value *value = &find(&data, of_total[i])->values[1];

		assert_true(value->has_difference && value->has_other_domains);
		assert_true(value->difference.value > value->difference.uncertainty);
		assert_false(value->difference.is_significant);
	}
	/* Each domain is what it is in both. */
	assert_true(find(&data, "package-0")->values[1].difference.is_significant);
	assert_false(find(&data, "package-0")->values[1].has_other_domains);
	wtl_comparison_free(&data);
	free(one);
	free(other);
}

/* One that was cut short says nothing of what a run takes, in a comparison or in a series. */
static void test_interrupted_runs_do_not_count(void **state)
{
	struct fake *one = make_usual("a", "tea", 500), *other = make("b", "tea", 4);
	struct wtl_recorded *const both[] = {&one->recorded, &other->recorded};
	struct wtl_comparison_data data;
	struct wtl_runs runs;

	(void)state;
	for (size_t k = 0; k < 4; k++)
		for (size_t i = 0; i < 2; i++)
			set_energy(other, k, i, k < 3 ? 590 + 10 * k : 1, 12);
	other->runs[3].report.interrupted = true;
	finish(other);
	assert_int_equal(wtl_comparison_new(both, 2, &data), 0);
	assert_int_equal(find(&data, "package-0")->values[1].measured.value, 600 * WTL_UJ_PER_J);
	assert_int_equal(find(&data, "time")->values[1].measured.value, 11000000);
	wtl_comparison_free(&data);
	assert_int_equal(wtl_runs_new(both + 1, 1, NULL, 0, &runs), 0);
	assert_int_equal(runs.n_runs, 4);
	assert_int_equal(runs.of[WTL_RUN_ENERGY_J].n, 3);
	assert_true(fabs(runs.of[WTL_RUN_ENERGY_J].min - 1180.0) < 1e-9);
	wtl_runs_free(&runs);
	free(one);
	free(other);
}

static void test_three_of_them(void **state)
{
	struct fake *one = make_usual("a", "tea", 500), *other = make_usual("b", "tea", 600);
	struct wtl_recorded *const all[] = {&one->recorded, &other->recorded, &one->recorded};
	struct wtl_comparison_data data;
	const struct wtl_compared *energy;

	(void)state;
	assert_int_equal(wtl_comparison_new(all, 3, &data), 0);
	energy = find(&data, "energy");
	assert_false(energy->values[0].has_difference);
	assert_true(energy->values[1].difference.value == 200 * WTL_UJ_PER_J);
	assert_true(energy->values[2].has_difference && energy->values[2].difference.value == 0);
	assert_int_equal(energy->values[2].difference.uncertainty, 0);
	wtl_comparison_free(&data);
	assert_true(wtl_comparison_new(all, 1, &data) < 0);
	wtl_comparison_free(&data);
	free(one);
	free(other);
}

/* ---- Runs ---- */

static void test_runs_in_order(void **state)
{
	struct fake *one = make("a", "tea", 3), *other = make("b", "tea", 2);
	struct wtl_recorded *const both[] = {&one->recorded, &other->recorded};
	static const char *const paths[] = {"a", "b", "a", "b", "a"};
	static const size_t numbers[] = {1, 1, 2, 2, 3};
	struct wtl_runs runs;

	(void)state;
	for (size_t k = 0; k < 3; k++)
		set_energy(one, k, 0, 100 + k, 2);
	for (size_t k = 0; k < 2; k++) {
		set_energy(other, k, 0, 200, 2);
		other->runs[k].report.window.begin_utc_ns += 50 * WTL_NS_PER_S;
	}
	assert_int_equal(wtl_runs_new(both, 2, NULL, 0, &runs), 0);
	assert_int_equal(runs.n_runs, 5);
	assert_true(runs.has_files);
	for (size_t i = 0; i < 5; i++) {
		assert_string_equal(runs.runs[i].path, paths[i]);
		assert_int_equal(runs.runs[i].number, numbers[i]);
	}
	assert_int_equal(runs.of[WTL_RUN_ENERGY_J].n, 5);
	assert_true(fabs(runs.of[WTL_RUN_ENERGY_J].mean - (100 + 101 + 102 + 400) / 5.0) < 1e-9);
	assert_true(fabs(runs.of[WTL_RUN_DURATION_S].max - 12.0) < 1e-9);
	/* Not every run has a command. */
	assert_int_equal(runs.of[WTL_RUN_COMMAND_FULL_J].n, 0);
	wtl_runs_free(&runs);
	free(one);
	free(other);
}

/* What was not ended is listed, but in no statistic. */
static void test_unfinished_runs(void **state)
{
	struct fake *one = make("a", "tea", 2), *other = make("b", "tea", 1);
	struct wtl_recorded *const both[] = {&one->recorded, &other->recorded};
	struct wtl_runs runs;

	(void)state;
	for (size_t k = 0; k < 2; k++)
		set_energy(one, k, 0, 100 + k, 2);
	assert_null(wtl_recorded_unfinished(&one->recorded));
	one->recorded.is_unfinished = true;
	one->recorded.recording.is_live = true;
	assert_int_equal(wtl_recorded_runs(&one->recorded), 1);
	assert_ptr_equal(wtl_recorded_unfinished(&one->recorded), &one->runs[1].report);
	assert_int_equal(wtl_runs_new(both, 1, NULL, 0, &runs), 0);
	assert_int_equal(runs.n_runs, 2);
	assert_int_equal(runs.n_unfinished, 1);
	assert_false(runs.runs[0].is_unfinished);
	assert_true(runs.runs[1].is_unfinished && runs.runs[1].is_live);
	assert_int_equal(runs.runs[1].number, 2);
	assert_false(runs.has_files);
	assert_int_equal(runs.of[WTL_RUN_ENERGY_J].n, 1);
	assert_true(fabs(runs.of[WTL_RUN_ENERGY_J].max - 100.0) < 1e-9);
	assert_int_equal(runs.n_recordings, 1);
	assert_string_equal(runs.recordings[0]->path, "a");
	wtl_runs_free(&runs);
	/* A file of such a run alone is not passed over. */
	other->recorded.is_unfinished = true;
	other->runs[0].report.window.begin_utc_ns -= WTL_NS_PER_S;
	assert_int_equal(wtl_runs_new(both, 2, NULL, 0, &runs), 0);
	assert_int_equal(runs.n_runs, 3);
	assert_string_equal(runs.runs[0].path, "b");
	assert_true(runs.runs[0].is_unfinished && !runs.runs[0].is_live);
	wtl_runs_free(&runs);
	free(one);
	free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_sensors),
		cmocka_unit_test(test_same_intensity),
		cmocka_unit_test(test_other_sensors),
		cmocka_unit_test(test_domains_of_one_alone),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_means_of_runs),
		cmocka_unit_test(test_gain_is_of_the_mean),
		cmocka_unit_test(test_one_run_that_counts),
		cmocka_unit_test(test_runs_without_a_figure),
		cmocka_unit_test(test_mean_time),
		cmocka_unit_test(test_totals_of_other_domains),
		cmocka_unit_test(test_interrupted_runs_do_not_count),
		cmocka_unit_test(test_three_of_them),
		cmocka_unit_test(test_runs_in_order),
		cmocka_unit_test(test_unfinished_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
