/* SPDX-License-Identifier: MIT */
/* After a meter is open and has sampled once, sampling and windows allocate nothing. Linked with
 * tests/alloc/failmalloc.c, which counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <wattle.h>

#include "allocations.h"
#include "energy/baseline.h"
#include "energy/units.h"
#include "meter_bench.h"
#include "record/writer.h"
#include "replay/recorder.h"
#include "unit.h"

enum { TICKS = 10000, WINDOWS = 1000 };

/* Two packages, two DRAMs and their second sources, and eight GPUs. */
static void open_big(struct meter_bench *bench)
{
	const char *scripts = getenv("WATTLE_FAKE_SCRIPTS");
	char path[512];

	assert_non_null(scripts);
	snprintf(path, sizeof(path), "%s/eight-gpus.nvml", scripts);
	setenv("WATTLE_FAKE_NVML", path, 1);
	meter_bench_root(bench, "xeon-2s-dram");
	bench->nvml = getenv("WATTLE_NVML_LIBRARY");
	assert_non_null(bench->nvml);
	bench->clock_step_ns = 100;
	meter_bench_open(bench);
	assert_int_equal(wattle_meter_domains(bench->meter), 12);
	assert_int_equal(meter_bench_domain(bench, "gpu-7").status, WATTLE_STATUS_OK);
}

static void test_ticks(void **state)
{
	struct meter_bench bench;
	unsigned long before;

	(void)state;
	need_counter();
	open_big(&bench);
	assert_return_code(wattle_window_begin(bench.meter, "open all along"), 0);
	before = wattle_test_allocations();
	for (int i = 0; i < TICKS; i++) {
		bench.now_ns += 10 * WTL_NS_PER_MS;
		wattle_meter_tick(bench.meter);
	}
	assert_int_equal(wattle_test_allocations() - before, 0);
	meter_bench_done(&bench);
}

static void test_windows(void **state)
{
	struct wattle_energy energies[16];
	struct wattle_window window;
	struct meter_bench bench;
	unsigned long before;
	int wrong = 0;

	(void)state;
	need_counter();
	open_big(&bench);
	before = wattle_test_allocations();
	for (int i = 0; i < WINDOWS; i++) {
		bench.now_ns += WTL_NS_PER_MS / 10;
		wrong += wattle_window_begin(bench.meter, "w") != 0;
		wrong += wattle_window_push(bench.meter, "p") != 0;
		bench.now_ns += WTL_NS_PER_MS / 10;
		wrong += wtl_window_read(bench.meter, "w", &window, energies, 16) != 0;
		wrong += wattle_window_pop(bench.meter, &window, energies, 16) != 0;
		wrong += wtl_window_end(bench.meter, "w", &window, energies, 16) != 0;
		wrong += wattle_window_cancel(bench.meter, "w") != -WATTLE_E_NO_WINDOW;
	}
	assert_int_equal(wattle_test_allocations() - before, 0);
	assert_int_equal(wrong, 0);
	assert_int_equal(window.total.has_energy, 1);
	meter_bench_done(&bench);
}

/* Sources that go away, are looked for again, and come back. */
static void test_failures(void **state)
{
	static const char zone[] = "sys/devices/virtual/powercap/intel-rapl/intel-rapl:0/energy_uj";
	struct meter_bench bench;
	unsigned long counted = 0;

	(void)state;
	need_counter();
	meter_bench_copy(&bench, "nvidia-server");
	meter_bench_open(&bench);
	for (int i = 0; i < 200; i++) {
		unsigned long before;

		meter_bench_write(&bench, zone, i % 20 < 10 ? "!errno ENODEV\n" : "204599532281\n");
		before = wattle_test_allocations();
		bench.now_ns += 300 * WTL_NS_PER_MS;
		wattle_meter_tick(bench.meter);
		counted += wattle_test_allocations() - before;
	}
	assert_int_equal(counted, 0);
	meter_bench_done(&bench);
}

/* Idle power that stays within a factor of two takes memory once. */
static void test_learning(void **state)
{
	struct wtl_baseline_learner *learner;
	struct wtl_baseline baseline;
	unsigned long before, taken[3];

	(void)state;
	need_counter();
	learner = wtl_baseline_learner_new();
	assert_non_null(learner);
	for (int octave = 0; octave < 3; octave++) {
		before = wattle_test_allocations();
		for (uint64_t i = 0; i < 100; i++) {
			const struct wtl_baseline_interval interval = {
				.energy_uj = (UINT64_C(1) << (23 + octave % 2)) + i,
				.duration_ns = WTL_NS_PER_S,
			};

			wtl_baseline_learner_add(learner, &interval);
		}
		taken[octave] = wattle_test_allocations() - before;
	}
	assert_int_equal(taken[0], 1);
	assert_int_equal(taken[1], 1);
	assert_int_equal(taken[2], 0);
	wtl_baseline_learner_get(learner, &baseline);
	assert_in_range(baseline.idle_uw, 8388608, 8388708);
	wtl_baseline_learner_free(learner);
}

/* Neither does whoever writes it all down; the thread that has the disk is waited for. */
static void test_recorded(void **state)
{
	struct wtl_recorder_options options = {.interval_ns = 10 * WTL_NS_PER_MS};
	char *dir, *path;
	struct wtl_recorder *recorder = NULL;
	struct meter_bench bench;
	unsigned long counted = 0;

	(void)state;
	need_counter();
	dir = unit_tmpdir();
	options.path = path = unit_path(dir, "test.wattle");
	open_big(&bench);
	assert_int_equal(wtl_recorder_new(bench.meter, NULL, &options, &recorder, NULL), 0);
	for (int second = 0; second < 5; second++) {
		unsigned long before;

		wtl_writer_wait(wtl_recorder_writer(recorder));
		before = wattle_test_allocations();
		for (int i = 0; i < 100; i++) {
			bench.now_ns += 10 * WTL_NS_PER_MS;
			wattle_meter_tick(bench.meter);
		}
		if (second > 0)
			counted += wattle_test_allocations() - before;
		assert_int_equal(wtl_recorder_commit(recorder, NULL), 0);
	}
	assert_int_equal(counted, 0);
	assert_int_equal(wtl_recorder_end(recorder, NULL), 0);
	meter_bench_done(&bench);
	unit_rmtree(dir);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ticks),	 cmocka_unit_test(test_windows),
		cmocka_unit_test(test_failures), cmocka_unit_test(test_learning),
		cmocka_unit_test(test_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
