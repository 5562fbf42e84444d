/* SPDX-License-Identifier: MIT */
/*
 * No memory while the GPUs' users are looked at: what cannot be told becomes nobody's by name, with a
 * reason or a weight that says so, and the next look is whole again. Linked with
 * tests/alloc/failmalloc.c.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "allocations.h"
#include "base/err.h"
#include "gpu/abi.h"
#include "meter/gpu_watch.h"
#include "nvml_bench.h"
#include "pass_io.h"
#include "workload/gpu_smooth.h"
#include "workload/gpu_use.h"

struct watch {
	struct nv nv;
	struct wtl_gpu gpus[2];
	struct wtl_gpu_use *use;
	struct wtl_gpu_use *before; /* has the library load its script, which takes memory too */
};

static void describe(struct watch *watch)
{
	struct wtl_gpu *gpu = &watch->gpus[0];

	memset(gpu, 0, sizeof(*gpu));
	strcpy(gpu->vendor, "nvidia");
	strcpy(gpu->domain, "gpu-0");
	strcpy(gpu->bus_id, "00000000:17:00.0");
	gpu[1] = gpu[0];
	strcpy(gpu[1].vendor, "amd");
	strcpy(gpu[1].domain, "gpu-1");
	strcpy(gpu[1].bus_id, "00000000:09:00.0");
}

static void start(struct watch *watch, const char *script)
{
	const struct wtl_env env = {.io = &watch->nv.bench.io};

	nv_empty_own(&watch->nv, script);
	describe(watch);
	watch->nv.ops.lib_has = pass_lib_has;
	assert_int_equal(wtl_gpu_use_new(&env, nv_library(), watch->gpus, 1, &watch->before, NULL),
			 0);
	nv_set_time(&watch->nv, S(0.5));
	wtl_gpu_use_tick(watch->before, watch->nv.bench.now_ns);
	dlclose(watch->nv.fake); /* the bench takes a reference for each that opens it */
	watch->nv.fake = NULL;
	assert_int_equal(wtl_gpu_use_new(&env, nv_library(), watch->gpus, 1, &watch->use, NULL), 0);
}

static void done(struct watch *watch)
{
	wattle_test_fail_alloc(0, false);
	wtl_gpu_use_free(watch->use);
	wtl_gpu_use_free(watch->before);
	/* Two had it open, and the bench expects one. */
	assert_int_equal(watch->nv.lib_closes, 2);
	watch->nv.lib_closes = 1;
	nv_done(&watch->nv);
}

static const struct wtl_gpu_use_gpu *tick(struct watch *watch, double seconds)
{
	size_t n;

	nv_set_time(&watch->nv, S(seconds));
	wtl_gpu_use_tick(watch->use, watch->nv.bench.now_ns);
	return wtl_gpu_use_gpus(watch->use, &n);
}

#define TWO_USERS \
	"gpu Fake\n  power 0 const 100\nprocess 7 C 100 60 0 0 0\nprocess 8 C 50 20 0 0 0\n"

enum { WHOLE = (60 + 20) * 8 * 10000 };

/* All that is used is somebody's by name, or nobody's and visible, or not known for a reason. Looks
 * that saw nothing are smoothed over, so that later ones may have less than all for a while. */
static bool check_accounted(const struct wtl_gpu_use_gpu *gpu, bool is_smoothed)
{
	uint64_t sum = gpu->unseen_weight;

	if (gpu->method == WTL_GPU_USE_NONE) {
		assert_true(gpu->reason[0] != '\0');
		assert_int_equal(gpu->n_processes, 0);
		assert_int_equal(gpu->unseen_weight, 0);
		return false;
	}
	assert_true(gpu->n_processes <= 2);
	for (size_t i = 0; i < gpu->n_processes; i++)
		sum += gpu->processes[i].weight;
	/* Both use it all the time: nothing is no answer, unless it says why. */
	if (gpu->method == WTL_GPU_USE_SAMPLES && gpu->reason[0] == '\0')
		assert_in_range(sum, is_smoothed ? 1 : WHOLE, WHOLE);
	else if (gpu->method == WTL_GPU_USE_SAMPLES)
		assert_in_range(sum, 0, WHOLE);
	else
		assert_int_equal(sum, 150 << 10);
	return gpu->method == WTL_GPU_USE_SAMPLES && gpu->n_processes == 2;
}

/* One allocation of the first look fails, each in turn; then there is memory again. */
static void each_allocation_of_a_look(void **state)
{
	unsigned long before, total;
	unsigned n_short = 0;
	struct watch watch;

	(void)state;
	need_counter();
	start(&watch, TWO_USERS);
	before = wattle_test_allocations();
	assert_true(check_accounted(tick(&watch, 2.5), false));
	total = wattle_test_allocations() - before;
	assert_true(total > 3);
	done(&watch);
	for (unsigned long n = 1; n <= total; n++) {
		const struct wtl_gpu_use_gpu *gpu;

		start(&watch, TWO_USERS);
		wattle_test_fail_alloc(n, false);
		gpu = tick(&watch, 2.5);
		wattle_test_fail_alloc(0, false);
		n_short += !check_accounted(gpu, true);
		/* It is asked anew a second later at the latest. */
		tick(&watch, 4.5);
		gpu = tick(&watch, 6.5);
		assert_true(check_accounted(gpu, true));
		assert_string_equal(gpu->reason, "");
		done(&watch);
	}
	assert_true(n_short > 0);
}

/* The same of what is taken over from whoever looks. */
static void each_allocation_of_an_exchange(void **state)
{
	unsigned n_refused = 0;

	(void)state;
	need_counter();
	for (unsigned long n = 1; n < 20; n++) {
		struct wtl_gpu_watch *taken;
		struct watch watch;
		size_t n_gpus;

		start(&watch, TWO_USERS);
		watch.nv.bench.io.has_one_order = true;
		assert_int_equal(wtl_gpu_watch_new(&watch.nv.bench.io, watch.use, &taken), 0);
		watch.use = NULL;
		for (unsigned second = 2; second <= 6; second += 2) {
			const struct wtl_gpu_use_gpu *gpu;

			nv_set_time(&watch.nv, S(second));
			wattle_test_fail_alloc(second == 2 ? n : 0, false);
			wtl_gpu_watch_ask(taken);
			wtl_gpu_watch_take(taken);
			wattle_test_fail_alloc(0, false);
			gpu = wtl_gpu_watch_gpus(taken, &n_gpus);
			assert_true(check_accounted(gpu, true) || second == 2);
			n_refused += strcmp(gpu->reason, "out of memory") == 0;
		}
		assert_true(wtl_gpu_watch_free(taken));
		done(&watch);
	}
	assert_true(n_refused > 0);
}

/* Looks between two samples: what the one that took a sample had no room for, the next ones know nothing of. */
static void looks_between_samples(void **state)
{
	struct watch watch;

	(void)state;
	need_counter();
	for (unsigned long n = 1; n < 40; n++) {
		start(&watch, TWO_USERS);
		for (int i = 0; i < 12; i++) {
			const struct wtl_gpu_use_gpu *gpu;

			wattle_test_fail_alloc(i < 3 ? (i ? 1 : n) : 0, i < 3);
			gpu = tick(&watch, 2.5 + 0.25 * i);
			wattle_test_fail_alloc(0, false);
			check_accounted(gpu, true);
		}
		done(&watch);
		start(&watch, TWO_USERS);
		wattle_test_fail_alloc(n, false);
		tick(&watch, 2.5);
		wattle_test_fail_alloc(0, false);
		for (int i = 1; i < 8; i++)
			check_accounted(tick(&watch, 2.5 + 0.25 * i), true);
		done(&watch);
	}
}

/* From some allocation on there is none left, for several looks. */
static void no_memory_for_long(void **state)
{
	struct watch watch;

	(void)state;
	need_counter();
	for (unsigned long n = 1; n < 40; n++) {
		const struct wtl_gpu_use_gpu *gpu;

		start(&watch, TWO_USERS);
		/* A check that fails without memory could not even say so. */
		for (int i = 0; i < 4; i++) {
			wattle_test_fail_alloc(i ? 1 : n, true);
			gpu = tick(&watch, 2.5 + i);
			wattle_test_fail_alloc(0, false);
			check_accounted(gpu, true);
		}
		tick(&watch, 8.5);
		gpu = tick(&watch, 10.5);
		assert_true(check_accounted(gpu, true));
		done(&watch);
	}
}

/* Under MIG, where memory is the weight. */
static void each_allocation_under_mig(void **state)
{
	static const char script[] =
		"gpu Fake\n  power 0 const 100\n  mig on\nprocess 7 C 100\nprocess-instance 7 1 0\n"
		"process 8 C 50\n";
	struct watch watch;

	(void)state;
	need_counter();
	for (unsigned long n = 1; n < 40; n++) {
		const struct wtl_gpu_use_gpu *gpu;

		start(&watch, script);
		wattle_test_fail_alloc(n, false);
		gpu = tick(&watch, 2.5);
		wattle_test_fail_alloc(0, false);
		check_accounted(gpu, false);
		tick(&watch, 4.5);
		gpu = tick(&watch, 6.5);
		assert_int_equal(gpu->method, WTL_GPU_USE_MEMORY);
		assert_int_equal(gpu->n_processes, 2);
		assert_int_equal(gpu->unseen_weight, 0);
		done(&watch);
	}
}

/* The same with instances that can be asked: the library has no memory for a sample either. */
static void each_allocation_with_instances(void **state)
{
	static const char script[] =
		"gpu Fake\n  power 0 const 100\n  mig on\n  gpm on\n"
		"mig-device 1g.10gb MIG-0 1 0 1 1 1\nmig-device 2g.20gb MIG-1 2 0 1 1 1\n"
		"instance-use 1 50 50\ninstance-use 2 25 25\n"
		"process 7 C 100\nprocess-instance 7 1 0\nprocess 8 C 50\nprocess-instance 8 2 0\n";
	unsigned n_short = 0;
	struct watch watch;

	(void)state;
	need_counter();
	for (unsigned long n = 1; n < 40; n++) {
		const struct wtl_gpu_use_gpu *gpu;

		start(&watch, script);
		wattle_test_fail_alloc(n, false);
		check_accounted(tick(&watch, 2.5), false);
		wattle_test_fail_alloc(0, false);
		/* Nobody was sampled where there was no memory: a second later than the others. */
		gpu = tick(&watch, 4.5);
		n_short += gpu->method != WTL_GPU_USE_INSTANCES;
		tick(&watch, 5.5);
		gpu = tick(&watch, 6.5);
		assert_int_equal(gpu->method, WTL_GPU_USE_INSTANCES);
		assert_int_equal(gpu->n_processes, 2);
		assert_int_equal(gpu->processes[0].weight, 500000);
		assert_int_equal(gpu->processes[1].weight, 500000);
		done(&watch);
	}
	assert_true(n_short > 0);
}

/* There was memory for those that are known: what more come have is nobody's by name. */
static void no_memory_for_more(void **state)
{
	char script[8192] = "gpu Fake\n  power 0 const 100\nprocess 7 C 100 60 0 0 0\n";
	const struct wtl_gpu_use_gpu *gpu;
	struct watch watch;
	uint64_t sum = 0;

	(void)state;
	need_counter();
	for (int i = 0; i < 60; i++)
		snprintf(script + strlen(script), sizeof(script) - strlen(script),
			 "process %d C 1 0 0 0 0 4 -\n", 100 + i);
	start(&watch, script);
	gpu = tick(&watch, 2.5);
	assert_int_equal(gpu->n_processes, 1);
	wattle_test_fail_alloc(1, true);
	gpu = tick(&watch, 5.5);
	wattle_test_fail_alloc(0, false);
	if (gpu->method == WTL_GPU_USE_NONE) {
		assert_true(gpu->reason[0] != '\0');
	} else {
		assert_true(gpu->n_processes >= 1 && gpu->n_processes < 61);
		for (size_t i = 0; i < gpu->n_processes; i++)
			sum += gpu->processes[i].weight;
		assert_true(sum + gpu->unseen_weight > 0);
	}
	gpu = tick(&watch, 7.5);
	assert_int_equal(gpu->n_processes, 61);
	assert_int_equal(gpu->unseen_weight, 0);
	done(&watch);
}

/* Nothing is half opened. */
static void opening(void **state)
{
	struct watch watch;
	const struct wtl_env env = {.io = &watch.nv.bench.io};
	unsigned n_failed = 0;
	int rc = -1;

	(void)state;
	need_counter();
	for (unsigned long n = 1; rc != 0 && n < 100; n++) {
		struct wtl_gpu_use *use = NULL;
		struct wtl_err err = {.code = 0};

		nv_empty(&watch.nv, "a100");
		describe(&watch);
		wattle_test_fail_alloc(n, false);
		rc = wtl_gpu_use_new(&env, nv_library(), watch.gpus, 2, &use, &err);
		wattle_test_fail_alloc(0, false);
		if (rc != 0) {
			assert_int_equal(rc, -ENOMEM);
			assert_int_equal(err.code, -ENOMEM);
			assert_null(use);
			n_failed++;
		}
		wtl_gpu_use_free(use);
		nv_done(&watch.nv);
	}
	assert_int_equal(rc, 0);
	assert_true(n_failed >= 4);
}

/* A sample that there is no room for is told, so that its weight can be counted as nobody's. */
static void smoothing(void **state)
{
	struct wtl_gpu_smooth smooth = {.n = 0};
	bool taken;

	(void)state;
	need_counter();
	wattle_test_fail_alloc(1, true);
	taken = wtl_gpu_smooth_sample(&smooth, 7, 1000, S(1));
	wattle_test_fail_alloc(0, false);
	assert_false(taken);
	wtl_gpu_smooth_step(&smooth, S(1), true);
	assert_int_equal(wtl_gpu_smooth_get(&smooth, 7), 0);
	assert_true(wtl_gpu_smooth_sample(&smooth, 7, 1000, S(1)));
	wtl_gpu_smooth_done(&smooth);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_allocation_of_a_look),
		cmocka_unit_test(each_allocation_of_an_exchange),
		cmocka_unit_test(looks_between_samples),
		cmocka_unit_test(no_memory_for_long),
		cmocka_unit_test(each_allocation_under_mig),
		cmocka_unit_test(each_allocation_with_instances),
		cmocka_unit_test(no_memory_for_more),
		cmocka_unit_test(opening),
		cmocka_unit_test(smoothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
