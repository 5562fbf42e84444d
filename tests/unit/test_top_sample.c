/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "commands/top/collect.h"
#include "energy/units.h"
#include "meter_bench.h"

#include "unit.h"

#define MS	 WTL_NS_PER_MS
#define ZONES	 "sys/devices/virtual/powercap/intel-rapl/"
#define PACKAGE0 ZONES "intel-rapl:0/energy_uj"

/* A machine whose package-0 is moved by hand, sampled every 100 ms. */
struct bench {
	struct meter_bench machine;
	struct wtl_top_sampler sampler;
	struct wtl_top_view view;
	uint64_t counter_uj;
};

static void start(struct bench *bench)
{
	memset(bench, 0, sizeof(*bench));
	meter_bench_copy(&bench->machine, "nvidia-server");
	bench->counter_uj = 1000000;
	meter_bench_write(&bench->machine, PACKAGE0, "1000000\n");
	meter_bench_open(&bench->machine);
	wtl_top_view_init(&bench->view);
	bench->view.interval_ns = 100 * MS;
	bench->view.clock.bin_ns = 100 * MS;
	assert_int_equal(wtl_top_sampler_init(&bench->sampler, bench->machine.meter, &bench->view),
			 0);
	assert_int_equal(wtl_top_sampler_begin(&bench->sampler), 0);
	wtl_top_sampler_take(&bench->sampler, &bench->view, meter_bench_now(&bench->machine));
}

static void finish(struct bench *bench)
{
	wtl_top_sampler_done(&bench->sampler);
	wtl_top_view_done(&bench->view);
	meter_bench_done(&bench->machine);
}

static void sample(struct bench *bench, int64_t later_ns, uint64_t uj)
{
	bench->counter_uj += uj;
	meter_bench_write(&bench->machine, PACKAGE0, "%llu\n",
			  (unsigned long long)bench->counter_uj);
	meter_bench_tick(&bench->machine, later_ns);
	wtl_top_sampler_take(&bench->sampler, &bench->view, meter_bench_now(&bench->machine));
}

static const struct wtl_top_domain *package(struct bench *bench)
{
	return &bench->view.domains[meter_bench_find(&bench->machine, "package-0")];
}

static uint32_t bin(struct bench *bench, uint64_t back)
{
	return wtl_top_curve_at(&bench->view, package(bench), 0, back);
}

static void test_power(void **state)
{
	struct bench bench;

	(void)state;
	start(&bench);
	assert_false(package(&bench)->has_power);
	for (unsigned i = 0; i < 20; i++)
		sample(&bench, 100 * MS, 5000000); /* 50 W */
	assert_true(package(&bench)->has_power);
	assert_int_equal(package(&bench)->power_uw, 50000000);
	assert_int_equal(package(&bench)->energy.energy_uj, 100000000);
	assert_int_equal(bench.view.clock.n_bins[0], 20);
	for (unsigned back = 0; back < 20; back++)
		assert_int_equal(bin(&bench, back), 50000);
	/* The figure is a mean over a second; the curve is not. */
	for (unsigned i = 0; i < 5; i++)
		sample(&bench, 100 * MS, 15000000);
	assert_int_equal(package(&bench)->power_uw, 100000000);
	assert_int_equal(bin(&bench, 0), 150000);
	assert_int_equal(bin(&bench, 5), 50000);
	/* The sum of what is shown. */
	assert_true(bench.view.total.power_uw >= package(&bench)->power_uw);
	finish(&bench);
}

/* Late by three intervals: the energy is spread over the time that it was used in. */
static void test_late_sample(void **state)
{
	struct bench bench;

	(void)state;
	start(&bench);
	sample(&bench, 100 * MS, 1000000);
	sample(&bench, 400 * MS, 8000000);
	sample(&bench, 100 * MS, 1000000);
	assert_int_equal(bench.view.clock.n_bins[0], 6);
	assert_int_equal(bin(&bench, 0), 10000);
	for (unsigned back = 1; back < 5; back++)
		assert_int_equal(bin(&bench, back), 20000);
	assert_int_equal(bin(&bench, 5), 10000);
	finish(&bench);
}

/* A timer that is off by a little neither adds nor loses bins. */
static void test_jitter(void **state)
{
	struct bench bench;

	(void)state;
	start(&bench);
	for (unsigned i = 0; i < 200; i++)
		sample(&bench, (i % 2 ? 110 : 90) * MS, 1000000);
	assert_int_equal(bench.view.clock.n_bins[0], 200);
	finish(&bench);
}

/* A counter that cannot be read: a gap in the curve, and no power. */
static void test_failed_reads(void **state)
{
	struct bench bench;
	unsigned gaps = 0;

	(void)state;
	start(&bench);
	for (unsigned i = 0; i < 15; i++)
		sample(&bench, 100 * MS, 5000000);
	meter_bench_write(&bench.machine, PACKAGE0, "rubbish\n");
	for (unsigned i = 0; i < 30; i++) {
		meter_bench_tick(&bench.machine, 100 * MS);
		wtl_top_sampler_take(&bench.sampler, &bench.view, meter_bench_now(&bench.machine));
	}
	assert_false(package(&bench)->has_power);
	assert_int_equal(package(&bench)->status, WATTLE_STATUS_FAILED);
	for (unsigned back = 0; back < 25; back++)
		gaps += bin(&bench, back) == WTL_TOP_GAP;
	assert_true(gaps >= 20);
	/* It comes back. */
	for (unsigned i = 0; i < 30; i++)
		sample(&bench, 100 * MS, 5000000);
	assert_true(package(&bench)->has_power);
	assert_int_equal(bin(&bench, 0), 50000);
	finish(&bench);
}

/* The machine was stopped for a day: no endless catching up. */
static void test_long_pause(void **state)
{
	struct bench bench;

	(void)state;
	start(&bench);
	sample(&bench, 100 * MS, 1000000);
	sample(&bench, INT64_C(86400) * WTL_NS_PER_S, 1000000);
	sample(&bench, 100 * MS, 1000000);
	assert_in_range(bench.view.clock.n_bins[0], WTL_TOP_BINS, WTL_TOP_BINS + 5);
	finish(&bench);
}

static void bill(struct bench *bench)
{
	wtl_top_sampler_bill(&bench->sampler, &bench->view, bench->sampler.energies);
}

/* Power is that of the last bill, as that of the processes is, until the next one. */
static void test_power_of_the_bill(void **state)
{
	struct bench bench;
	uint64_t others_uw;

	(void)state;
	start(&bench);
	for (unsigned i = 0; i < 10; i++)
		sample(&bench, 100 * MS, 5000000); /* 50 W */
	bill(&bench);
	assert_int_equal(package(&bench)->power_uw, 50000000);
	others_uw = bench.view.total.power_uw - package(&bench)->power_uw;
	for (unsigned i = 0; i < 10; i++) {
		sample(&bench, 100 * MS, 15000000);
		assert_int_equal(package(&bench)->power_uw, 50000000);
		assert_int_equal(bin(&bench, 0), 150000);
	}
	bill(&bench);
	assert_int_equal(package(&bench)->power_uw, 150000000);
	assert_int_equal(bench.view.total.power_uw, 150000000 + others_uw);
	/* Half a second: of that alone. */
	for (unsigned i = 0; i < 5; i++)
		sample(&bench, 100 * MS, 2000000);
	bill(&bench);
	assert_int_equal(package(&bench)->power_uw, 20000000);
	/* No more bills: the newest second again, some time later. */
	for (unsigned i = 0; i < 40; i++)
		sample(&bench, 100 * MS, 7000000);
	assert_int_equal(package(&bench)->power_uw, 70000000);
	/* A bill over all of that would not be the power of now. */
	for (unsigned i = 0; i < 10; i++)
		sample(&bench, 100 * MS, 8000000);
	bill(&bench);
	assert_int_equal(package(&bench)->power_uw, 80000000);
	/* What cannot be read has no power, whatever was billed. */
	meter_bench_write(&bench.machine, PACKAGE0, "rubbish\n");
	for (unsigned i = 0; i < 20; i++) {
		meter_bench_tick(&bench.machine, 100 * MS);
		wtl_top_sampler_take(&bench.sampler, &bench.view, meter_bench_now(&bench.machine));
	}
	assert_false(package(&bench)->has_power);
	bill(&bench);
	assert_false(package(&bench)->has_power);
	finish(&bench);
}

static void test_description(void **state)
{
	struct bench bench;

	(void)state;
	start(&bench);
	sample(&bench, 100 * MS, 1000000);
	assert_string_equal(package(&bench)->name, "package-0");
	assert_int_equal(package(&bench)->kind, WATTLE_KIND_CPU);
	assert_true(package(&bench)->in_total);
	assert_true(package(&bench)->source[0]);
	assert_int_equal(package(&bench)->gpu, -1);
	assert_true(wtl_top_power_uncertainty_uw(package(&bench)) > 0);
	assert_int_equal(bench.view.duration_ns, 100 * MS);
	for (size_t i = 0; i < bench.view.n_domains; i++)
		assert_true(bench.view.domains[i].energy.has_energy ||
			    bench.view.domains[i].reason[0]);
	finish(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_power),
		cmocka_unit_test(test_late_sample),
		cmocka_unit_test(test_jitter),
		cmocka_unit_test(test_failed_reads),
		cmocka_unit_test(test_long_pause),
		cmocka_unit_test(test_description),
		cmocka_unit_test(test_power_of_the_bill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
