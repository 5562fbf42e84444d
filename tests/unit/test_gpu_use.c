/* SPDX-License-Identifier: MIT */
/* Who uses the GPUs, as weights. */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "gpu/abi.h"
#include "golden.h"
#include "gpu/drm.h"
#include "gpu/processes.h"
#include "nvml_bench.h"
#include "pass_io.h"
#include "workload/gpu_smooth.h"
#include "workload/gpu_use.h"

#define SECOND INT64_C(1000000000)

struct watch {
	struct nv nv;
	struct wtl_gpu gpus[3];
	struct wtl_gpu_use *use;
};

static void describe(struct wtl_gpu *gpu, const char *vendor, const char *domain,
		     const char *bus_id, const char *uuid)
{
	memset(gpu, 0, sizeof(*gpu));
	snprintf(gpu->vendor, sizeof(gpu->vendor), "%s", vendor);
	snprintf(gpu->domain, sizeof(gpu->domain), "%s", domain);
	snprintf(gpu->bus_id, sizeof(gpu->bus_id), "%s", bus_id);
	snprintf(gpu->uuid, sizeof(gpu->uuid), "%s", uuid);
}

static void watch_open(struct watch *watch, const char *path, size_t n)
{
	const struct wtl_env env = {.io = &watch->nv.bench.io};

	watch->nv.ops.lib_has = pass_lib_has;
	assert_int_equal(wtl_gpu_use_new(&env, path, watch->gpus, n, &watch->use, NULL), 0);
}

/* One NVIDIA GPU at the fake's usual place, by a script of the test's own. */
static void start_own(struct watch *watch, const char *text)
{
	nv_empty_own(&watch->nv, text);
	describe(&watch->gpus[0], "nvidia", "gpu-0", "00000000:17:00.0", "");
	watch_open(watch, nv_library(), 1);
}

static void done(struct watch *watch)
{
	wtl_gpu_use_free(watch->use);
	nv_done(&watch->nv);
}

static const struct wtl_gpu_use_gpu *tick(struct watch *watch, double seconds)
{
	size_t n;

	nv_set_time(&watch->nv, S(seconds));
	wtl_gpu_use_tick(watch->use, watch->nv.bench.now_ns);
	return wtl_gpu_use_gpus(watch->use, &n);
}

#define ONE_GPU "gpu Fake\n  power 0 const 100\n"

/* ---- Smoothing ---- */

static void smoothing(void **state)
{
	struct wtl_gpu_smooth smooth = {.n = 0};

	(void)state;
	wtl_gpu_smooth_sample(&smooth, 7, 800000, SECOND);
	wtl_gpu_smooth_step(&smooth, SECOND, true);
	/* The first sample is taken as it is. */
	assert_int_equal(wtl_gpu_smooth_get(&smooth, 7), 800000);
	assert_int_equal(wtl_gpu_smooth_get(&smooth, 8), 0);

	/* Then the mean of all, ... */
	wtl_gpu_smooth_sample(&smooth, 7, 0, 2 * SECOND);
	wtl_gpu_smooth_step(&smooth, 2 * SECOND, true);
	assert_int_equal(wtl_gpu_smooth_get(&smooth, 7), 400000);
	wtl_gpu_smooth_sample(&smooth, 7, 700000, 3 * SECOND);
	wtl_gpu_smooth_step(&smooth, 3 * SECOND, true);
	assert_int_equal(wtl_gpu_smooth_get(&smooth, 7), 500000);
	wtl_gpu_smooth_sample(&smooth, 7, 900000, 4 * SECOND);
	wtl_gpu_smooth_step(&smooth, 4 * SECOND, true);
	assert_int_equal(wtl_gpu_smooth_get(&smooth, 7), 600000);
	/* ... and after 4 s a fifth of the way with each second (1 / (4 + 1)). */
	for (int i = 5; i < 7; i++) {
		static const uint32_t values[] = {680000, 744000};

		wtl_gpu_smooth_sample(&smooth, 7, 1000000, i * SECOND);
		wtl_gpu_smooth_step(&smooth, i * SECOND, true);
		assert_int_equal(wtl_gpu_smooth_get(&smooth, 7), values[i - 5]);
	}

	/* Without any sample nothing is known for 1.5 s, and then there was nothing. */
	wtl_gpu_smooth_step(&smooth, 7 * SECOND, true);
	assert_int_equal(wtl_gpu_smooth_get(&smooth, 7), 744000);
	wtl_gpu_smooth_step(&smooth, 8 * SECOND, true);
	assert_int_equal(wtl_gpu_smooth_get(&smooth, 7), 595200);

	/* However long nobody looked, it never goes below 0. */
	wtl_gpu_smooth_step(&smooth, 100000 * SECOND, true);
	assert_true(wtl_gpu_smooth_get(&smooth, 7) < 100);

	/* Who has gone is known for one more round, and weighs nothing. */
	assert_int_equal(wtl_gpu_smooth_forget(&smooth), 0);
	assert_int_equal(smooth.n, 1);
	assert_int_equal(wtl_gpu_smooth_forget(&smooth), 0);
	assert_int_equal(smooth.n, 1);
	assert_int_equal(smooth.at[0].ppm, 0);
	assert_int_equal(wtl_gpu_smooth_forget(&smooth), 0);
	assert_int_equal(smooth.n, 0);
	wtl_gpu_smooth_done(&smooth);
	wtl_gpu_smooth_done(&smooth);
}

static void smoothing_is_bounded(void **state)
{
	struct wtl_gpu_smooth smooth = {.n = 0};

	(void)state;
	for (int pid = 1; pid < 3000; pid++)
		wtl_gpu_smooth_sample(&smooth, pid, 1000, SECOND);
	assert_int_equal(smooth.n, WTL_GPU_SMOOTH_MAX);
	wtl_gpu_smooth_done(&smooth);
}

/* ---- Methods ---- */

static void methods_that_agree(void **state)
{
	(void)state;
	for (int i = 0; i < WTL_GPU_USE_METHODS; i++)
		for (int k = 0; k < WTL_GPU_USE_METHODS; k++) {
			bool both_mig = i >= WTL_GPU_USE_INSTANCES && k >= WTL_GPU_USE_INSTANCES;

			assert_int_equal(wtl_gpu_use_methods_agree((enum wtl_gpu_use_method)i,
								   (enum wtl_gpu_use_method)k),
					 i == k || both_mig);
		}
}

/* ---- NVIDIA ---- */

static void by_samples(void **state)
{
	const struct wtl_gpu_use_gpu *gpu;
	struct watch watch;

	(void)state;
	start_own(&watch, ONE_GPU "process 7 C 100 60 20 0 0\nprocess 8 C 50 20 5 10 30\n"
				  "process 9 G 10\n");
	unit_write(watch.nv.bench.root, "proc/7/stat", "7 (x) S\n");
	gpu = tick(&watch, 2.5);
	assert_string_equal(gpu->domain, "gpu-0");
	assert_int_equal(gpu->method, WTL_GPU_USE_SAMPLES);
	assert_string_equal(wtl_gpu_use_method_name(gpu->method), "sm-use");
	assert_string_equal(gpu->reason, "");
	assert_int_equal(gpu->n_processes, 3);
	assert_int_equal(gpu->processes[0].pid, 7);
	assert_int_equal(gpu->processes[0].weight, 60 * 8 * 10000);
	assert_int_equal(gpu->processes[0].use_ppm, 600000);
	assert_true(gpu->processes[0].is_visible);
	assert_int_equal(gpu->processes[1].weight, (20 * 8 + 40) * 10000);
	assert_false(gpu->processes[1].is_visible);
	assert_int_equal(gpu->processes[1].memory_bytes, 50 << 20);
	assert_int_equal(gpu->processes[2].weight, 0);
	assert_int_equal(gpu->processes[2].use_ppm, 0);
	/* The same again: nothing drifts. */
	gpu = tick(&watch, 3.5);
	assert_int_equal(gpu->processes[0].weight, 60 * 8 * 10000);
	done(&watch);
}

/* Processes that /proc hides have the library's names; each is asked for once. */
static void names_of_the_hidden(void **state)
{
	const struct wtl_gpu_use_gpu *gpu;
	struct watch watch;

	(void)state;
	start_own(&watch, "process-name 7 /usr/bin/seen\nprocess-name 8 /opt/a/train\n"
			  "process-name 9 bare\n" ONE_GPU
			  "  mig on\nprocess 7 C 100\nprocess 8 C 50\nprocess-instance 8 1 0\n"
			  "process 8 C 50\nprocess-instance 8 2 0\nprocess 9 C 50\n");
	unit_write(watch.nv.bench.root, "proc/7/stat", "7 (x) S\n");
	for (int k = 0; k < 2; k++) {
		gpu = tick(&watch, 2.5 + k);
		assert_int_equal(gpu->n_processes, 3);
		assert_string_equal(gpu->processes[0].name, "");
		assert_string_equal(gpu->processes[1].name, "train");
		assert_string_equal(gpu->processes[2].name, "bare");
		assert_int_equal(watch.nv.calls("nvmlSystemGetProcessName"), 2);
	}
	/* One that has ended, and that the driver still lists, is not one that is hidden. */
	bench_remove(&watch.nv.bench, "/proc/7/stat");
	gpu = tick(&watch, 4.5);
	assert_true(gpu->processes[0].is_visible);
	assert_string_equal(gpu->processes[0].name, "");
	assert_false(gpu->processes[1].is_visible);
	done(&watch);
}

/* It moves up in the list when one before it leaves. */
static void seen_before_another_left(void **state)
{
	const struct wtl_gpu_use_gpu *gpu;
	struct watch watch;

	(void)state;
	start_own(&watch, "process-name 7 /usr/bin/seen\n" ONE_GPU
			  "process 6 C 100 10 0 0 0 0 3\nprocess 7 C 100 10 0 0 0\n");
	unit_write(watch.nv.bench.root, "proc/6/stat", "6 (x) S\n");
	unit_write(watch.nv.bench.root, "proc/7/stat", "7 (x) S\n");
	gpu = tick(&watch, 2.5);
	assert_int_equal(gpu->n_processes, 2);
	bench_remove(&watch.nv.bench, "/proc/7/stat");
	gpu = tick(&watch, 3.5);
	assert_int_equal(gpu->n_processes, 1);
	assert_int_equal(gpu->processes[0].pid, 7);
	assert_true(gpu->processes[0].is_visible);
	assert_int_equal(watch.nv.calls("nvmlSystemGetProcessName"), 0);
	done(&watch);
}

/* NOT_FOUND: everybody is idle, which is not "not known". */
static void all_idle(void **state)
{
	const struct wtl_gpu_use_gpu *gpu;
	struct watch watch;

	(void)state;
	start_own(&watch, ONE_GPU "process 7 C 100\n");
	gpu = tick(&watch, 2.5);
	assert_int_equal(gpu->method, WTL_GPU_USE_SAMPLES);
	assert_int_equal(gpu->n_processes, 1);
	assert_int_equal(gpu->processes[0].weight, 0);
	done(&watch);
}

/* A process that ended takes nothing with it, and a new one with its number begins anew. */
static void ended_processes_are_forgotten(void **state)
{
	const struct wtl_gpu_use_gpu *gpu;
	struct watch watch;

	(void)state;
	start_own(&watch, ONE_GPU "process 7 C 100 90 0 0 0 0 3\nprocess 8 C 100 10 0 0 0\n"
				  "process 7 C 100 10 0 0 0 6 -\n");
	gpu = tick(&watch, 2.5);
	assert_int_equal(gpu->n_processes, 2);
	gpu = tick(&watch, 3.5);
	assert_int_equal(gpu->n_processes, 1);
	assert_int_equal(gpu->processes[0].pid, 8);
	gpu = tick(&watch, 7.5);
	assert_int_equal(gpu->n_processes, 2);
	assert_int_equal(gpu->processes[1].pid, 7);
	assert_int_equal(gpu->processes[1].use_ppm, 100000);
	done(&watch);
}

static void by_the_old_function(void **state)
{
	const struct wtl_gpu_use_gpu *gpu;
	struct watch watch;

	(void)state;
	start_own(&watch, "missing nvmlDeviceGetProcessesUtilizationInfo\n" ONE_GPU
			  "process 7 C 100 60 20 0 0\n");
	gpu = tick(&watch, 2.5);
	assert_int_equal(gpu->method, WTL_GPU_USE_SAMPLES);
	assert_int_equal(gpu->processes[0].use_ppm, 600000);
	done(&watch);
}

/* Two processes with moments of their own: none of their samples is lost or counted twice. */
static int two_clocks(struct nv *nv, size_t function, struct wtl_lib_arg args[], int *answer)
{
	struct wtl_nvml_uses *uses;
	struct wtl_nvml_use *at;
	uint64_t now_us = (uint64_t)nv->bench.now_ns / 1000;

	if (function != WTL_NVML_USES)
		return 0;
	uses = args[1].memory;
	at = args[2].memory;
	/* 7 is 700 ms behind 8. */
	at[0] = (struct wtl_nvml_use){.t_us = now_us - 700000, .pid = 7, .sm = 30};
	at[1] = (struct wtl_nvml_use){.t_us = now_us, .pid = 8, .sm = 40};
	at[2] = (struct wtl_nvml_use){.t_us = now_us, .pid = 9, .sm = 101};
	at[3] = (struct wtl_nvml_use){.t_us = now_us - 60000000, .pid = 10, .sm = 50};
	uses->count = 4;
	assert_true(!uses->last_seen_us || uses->last_seen_us < at[0].t_us);
	*answer = WTL_NVML_OK;
	return 0;
}

static void samples_of_different_moments(void **state)
{
	const struct wtl_gpu_use_gpu *gpu;
	struct watch watch;

	(void)state;
	start_own(&watch, ONE_GPU "process 7 C 100\nprocess 8 C 100\nprocess 9 C 100\n"
				  "process 10 C 100\n");
	watch.nv.twist = two_clocks;
	for (int i = 100; i < 110; i++) {
		gpu = tick(&watch, i);
		assert_int_equal(gpu->processes[0].use_ppm, 300000);
		assert_int_equal(gpu->processes[1].use_ppm, 400000);
		/* Above 100 % is rubbish; a minute ago is not now. */
		assert_int_equal(gpu->processes[2].use_ppm, 0);
		assert_int_equal(gpu->processes[3].use_ppm, 0);
	}
	done(&watch);
}

/* A driver has no sample of who did nothing: where another has one, that is known at once. */
static void turns_of_a_second(void **state)
{
	const struct wtl_gpu_use_gpu *gpu;
	uint64_t sums[2] = {0};
	struct watch watch;
	char text[4096] = ONE_GPU "process 8 C 100 45 0 0 0\n";

	(void)state;
	for (int i = 0; i < 40; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "process 7 C 100 %d 0 0 0 %d %d\n", i % 2 ? 90 : 0, i, i + 1);
	start_own(&watch, text);
	for (int i = 1; i <= 40; i++) {
		gpu = tick(&watch, i + 0.25);
		for (size_t k = 0; k < gpu->n_processes; k++)
			sums[gpu->processes[k].pid - 7] += gpu->processes[k].weight;
	}
	assert_int_equal(sums[1], UINT64_C(40) * 45 * 8 * 10000);
	assert_true(fabs((double)sums[0] / (double)sums[1] - 1) < 0.05);
	done(&watch);
}

/* 7 has 60 %, then rubbish; 8 always has its sample. */
static int rubbish_later(struct nv *nv, size_t function, struct wtl_lib_arg args[], int *answer)
{
	bool is_early = nv->bench.now_ns < BENCH_START_NS + 101 * SECOND;
	uint64_t now_us = (uint64_t)nv->bench.now_ns / 1000;
	struct wtl_nvml_use *at;

	if (function != WTL_NVML_USES)
		return 0;
	at = args[2].memory;
	at[0] = (struct wtl_nvml_use){.t_us = now_us, .pid = 7, .sm = is_early ? 60 : 101};
	at[1] = (struct wtl_nvml_use){.t_us = now_us, .pid = 8, .sm = 40};
	((struct wtl_nvml_uses *)args[1].memory)->count = 2;
	*answer = WTL_NVML_OK;
	return 0;
}

/* Who has a sample that is rubbish may have done anything, for a second and a half. */
static void rubbish_is_not_idle(void **state)
{
	const struct wtl_gpu_use_gpu *gpu;
	struct watch watch;

	(void)state;
	start_own(&watch, ONE_GPU "process 7 C 100\nprocess 8 C 100\n");
	watch.nv.twist = rubbish_later;
	tick(&watch, 100);
	gpu = tick(&watch, 101);
	assert_int_equal(gpu->processes[0].use_ppm, 600000);
	assert_int_equal(gpu->processes[1].use_ppm, 400000);
	gpu = tick(&watch, 102);
	assert_int_equal(gpu->processes[0].use_ppm, 300000);
	assert_int_equal(gpu->processes[1].use_ppm, 400000);
	done(&watch);
}

/* 7 and 9 are sampled, and 9 is in no list. */
static int one_unlisted(struct nv *nv, size_t function, struct wtl_lib_arg args[], int *answer)
{
	uint64_t now_us = (uint64_t)nv->bench.now_ns / 1000;
	struct wtl_nvml_use *at;

	if (function != WTL_NVML_USES)
		return 0;
	at = args[2].memory;
	at[0] = (struct wtl_nvml_use){.t_us = now_us, .pid = 7, .sm = 30};
	at[1] = (struct wtl_nvml_use){.t_us = now_us, .pid = 9, .sm = 20};
	((struct wtl_nvml_uses *)args[1].memory)->count = 2;
	*answer = WTL_NVML_OK;
	return 0;
}

/* Born and ended between two lists, or cut off from them: what it used is nobody's, not the others'. */
static void samples_of_nobody_listed(void **state)
{
	const struct wtl_gpu_use_gpu *gpu;
	struct watch watch;

	(void)state;
	start_own(&watch, ONE_GPU "process 7 C 100\n");
	watch.nv.twist = one_unlisted;
	for (int i = 100; i < 105; i++) {
		gpu = tick(&watch, i);
		assert_int_equal(gpu->method, WTL_GPU_USE_SAMPLES);
		assert_int_equal(gpu->n_processes, 1);
		assert_int_equal(gpu->processes[0].weight, 30 * 8 * 10000);
		assert_int_equal(gpu->unseen_weight, 20 * 8 * 10000);
	}
	done(&watch);
}

/* What comes late of one that was listed is not nobody's: whoever divides knows that it has ended. */
static void late_samples_of_one_that_ended(void **state)
{
	const struct wtl_gpu_use_gpu *gpu;
	struct watch watch;

	(void)state;
	start_own(&watch, ONE_GPU "process 7 C 100\nprocess 9 C 100 0 0 0 0 0 101.5\n");
	watch.nv.twist = one_unlisted;
	gpu = tick(&watch, 101);
	assert_int_equal(gpu->n_processes, 2);
	for (int i = 102; i < 104; i++) {
		gpu = tick(&watch, i);
		assert_int_equal(gpu->n_processes, 1);
		assert_int_equal(gpu->unseen_weight, 0);
	}
	/* For how long nobody says: then the number is someone else's. */
	gpu = tick(&watch, 104);
	assert_int_equal(gpu->unseen_weight, 20 * 8 * 10000);
	done(&watch);
}

static void by_memory_under_mig(void **state)
{
	const struct wtl_gpu_use_gpu *gpu;
	struct watch watch;

	(void)state;
	start_own(&watch, ONE_GPU "  mig on\nprocess 7 C 100\nprocess-instance 7 1 0\n"
				  "process 7 C 50\nprocess-instance 7 2 0\nprocess 8 C 30\n");
	gpu = tick(&watch, 2.5);
	assert_int_equal(gpu->method, WTL_GPU_USE_MEMORY);
	assert_non_null(strstr(wtl_gpu_use_method_name(gpu->method), "guess"));
	assert_non_null(strstr(gpu->reason, "not supported"));
	/* Both instances of a process are one entry. */
	assert_int_equal(gpu->n_processes, 2);
	assert_int_equal(gpu->processes[0].weight, 150 << 10);
	assert_int_equal(gpu->processes[0].use_ppm, UINT32_MAX);
	assert_int_equal(gpu->processes[1].weight, 30 << 10);
	done(&watch);
}

/* ---- MIG's instances ---- */

static void start_script(struct watch *watch, const char *name, const char *bus_id)
{
	nv_empty(&watch->nv, name);
	describe(&watch->gpus[0], "nvidia", "gpu-0", bus_id, "");
	watch_open(watch, nv_library(), 1);
}

/* Nothing that the library lent is kept. */
static void done_with_samples(struct watch *watch)
{
	int (*samples)(void) = (int (*)(void))dlsym(watch->nv.fake, "fake_nvml_samples");

	wtl_gpu_use_free(watch->use);
	assert_int_equal(samples(), 0);
	nv_done(&watch->nv);
}

static const struct wtl_gpu_use_process *process(const struct wtl_gpu_use_gpu *gpu, int pid)
{
	size_t i = 0;

	while (i < gpu->n_processes && gpu->processes[i].pid != pid)
		i++;
	assert_true(i < gpu->n_processes);
	return &gpu->processes[i];
}

static void by_instances(void **state)
{
	const struct wtl_gpu_use_gpu *gpu;
	struct watch watch;

	(void)state;
	start_script(&watch, "h100-mig", "00000000:1B:00.0");
	/* It takes two samples. */
	gpu = tick(&watch, 1);
	assert_int_equal(gpu->method, WTL_GPU_USE_MEMORY);
	assert_non_null(strstr(gpu->reason, "MIG's instances: the first sample"));
	gpu = tick(&watch, 2);
	assert_int_equal(gpu->method, WTL_GPU_USE_INSTANCES_MEMORY);
	assert_string_equal(gpu->reason, "");
	/* 80 % of three slices, by memory 2 : 1; 30 % of two; 10 % of one where nobody is seen. */
	assert_int_equal(process(gpu, 1001)->weight, 1600000);
	assert_int_equal(process(gpu, 1002)->weight, 800000);
	assert_int_equal(process(gpu, 1003)->weight, 600000);
	assert_int_equal(gpu->unseen_weight, 100000);
	assert_int_equal(process(gpu, 1003)->use_ppm, 600000 / 7);
	assert_int_equal(process(gpu, 1003)->memory_bytes, UINT64_C(4000) << 20);
	/* Nothing is asked for too early, and nothing is forgotten. */
	gpu = tick(&watch, 2.09);
	assert_int_equal(gpu->method, WTL_GPU_USE_INSTANCES_MEMORY);
	assert_int_equal(process(gpu, 1003)->weight, 600000);
	assert_int_equal(watch.nv.calls("nvmlGpmMigSampleGet"), 2 * 4);
	done_with_samples(&watch);
}

#define TWO_INSTANCES                                                   \
	"  mig on\n  gpm on\nmig-device 1g.10gb MIG-0 1 0 10000 5 16\n" \
	"mig-device 1c.3g.40gb MIG-1 2 0 40000 5 20\n"                  \
	"mig-device 2c.3g.40gb MIG-2 2 1 40000 5 40\n"                  \
	"process 7 C 100\nprocess-instance 7 1 0\n"                     \
	"process 8 C 50\nprocess-instance 8 2 0\n"

/* Shares follow activity: the mean since the look before, however short it was. */
static void instances_change(void **state)
{
	const struct wtl_gpu_use_gpu *gpu;
	struct watch watch;

	(void)state;
	start_own(&watch,
		  ONE_GPU TWO_INSTANCES "instance-use 1 90 90 0 3\ninstance-use 1 10 10 3 -\n"
					"instance-use 2 20 50 3.5 4\n");
	tick(&watch, 2);
	gpu = tick(&watch, 3);
	assert_int_equal(gpu->method, WTL_GPU_USE_INSTANCES);
	assert_false(wtl_gpu_use_method_is_guess(gpu->method));
	assert_int_equal(process(gpu, 7)->weight, 900000);
	assert_int_equal(process(gpu, 8)->weight, 0);
	gpu = tick(&watch, 4);
	assert_int_equal(process(gpu, 7)->weight, 100000);
	assert_int_equal(process(gpu, 8)->weight, 100000 * 3);
	gpu = tick(&watch, 4.5);
	assert_int_equal(process(gpu, 8)->weight, 0);
	assert_int_equal(process(gpu, 7)->use_ppm, 100000 / 7);
	done_with_samples(&watch);
}

static void instances_refused(void **state)
{
	static const struct {
		const char *line, *reason;
		unsigned long samples;
	} cases[] = {
		{"  gpm off\n", "instances: not supported", 0},
		{"  answer nvmlGpmQueryDeviceSupport NOT_SUPPORTED\n", "instances: not supported",
		 0},
		{"  answer nvmlGpmMigSampleGet NO_PERMISSION\n", "denies permission", 1},
		{"  answer nvmlGpmMigSampleGet NOT_SUPPORTED\n", "not supported", 1},
		{"  answer nvmlDeviceGetAttributes_v2 NOT_SUPPORTED\n", "not supported", 0},
	};
	const struct wtl_gpu_use_gpu *gpu;
	struct watch watch;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[1024];

		snprintf(text, sizeof(text), "%s%s%s",
			 strstr(cases[i].line, "Attributes") ? cases[i].line : "",
			 ONE_GPU TWO_INSTANCES, cases[i].line);
		start_own(&watch, text);
		for (int t = 1; t < 4; t++) {
			gpu = tick(&watch, t);
			assert_int_equal(gpu->method, WTL_GPU_USE_MEMORY);
			assert_non_null(strstr(gpu->reason, cases[i].reason));
			assert_int_equal(process(gpu, 7)->weight, 100 << 10);
		}
		/* What is refused as a matter of principle is not asked for again. */
		assert_int_equal(watch.nv.calls("nvmlGpmMigSampleGet"), cases[i].samples);
		done_with_samples(&watch);
	}
	start_own(&watch,
		  "missing nvmlGpmQueryDeviceSupport nvmlGpmMigSampleGet\n" ONE_GPU TWO_INSTANCES);
	gpu = tick(&watch, 1);
	assert_int_equal(gpu->method, WTL_GPU_USE_MEMORY);
	assert_non_null(strstr(gpu->reason, "too old"));
	done_with_samples(&watch);
	start_script(&watch, "a100-mig", "00000000:17:00.0");
	tick(&watch, 1);
	gpu = tick(&watch, 2);
	assert_int_equal(gpu->method, WTL_GPU_USE_MEMORY);
	assert_int_equal(process(gpu, 1001)->weight, 6000 << 10);
	done_with_samples(&watch);
}

/* Metrics have answers of their own: whether anything ran is second best. */
static void instances_metrics(void **state)
{
	const struct wtl_gpu_use_gpu *gpu;
	struct watch watch;

	(void)state;
	start_own(&watch, ONE_GPU TWO_INSTANCES "  answer gpm:2 NOT_SUPPORTED\n"
						"  answer gpm:1 NO_DATA from 3 until 4.5\n"
						"instance-use 1 20 60\n");
	tick(&watch, 1);
	gpu = tick(&watch, 2);
	assert_int_equal(gpu->method, WTL_GPU_USE_INSTANCES);
	assert_int_equal(process(gpu, 7)->weight, 600000);
	gpu = tick(&watch, 3);
	assert_int_equal(gpu->method, WTL_GPU_USE_MEMORY);
	assert_non_null(strstr(gpu->reason, "no data"));
	tick(&watch, 4);
	tick(&watch, 5);
	assert_int_equal(tick(&watch, 6)->method, WTL_GPU_USE_INSTANCES);
	done_with_samples(&watch);
}

static double odd_percent;

static int odd_metrics(struct nv *nv, size_t function, struct wtl_lib_arg args[], int *answer)
{
	struct wtl_nvml_gpm_metric *metrics;

	(void)nv;
	(void)answer;
	if (function == WTL_NVML_GPM_METRICS) {
		metrics = args[2].memory;
		metrics[0].value = metrics[1].value = odd_percent;
	}
	return 0;
}

/* More than all is all; what is no number is no answer. */
static void instances_odd_numbers(void **state)
{
	const struct wtl_gpu_use_gpu *gpu;
	struct watch watch;

	(void)state;
	start_own(&watch, ONE_GPU TWO_INSTANCES "instance-use 1 20 20\n");
	watch.nv.twist = odd_metrics;
	tick(&watch, 1);
	odd_percent = 140.0;
	gpu = tick(&watch, 2);
	assert_int_equal(process(gpu, 7)->weight, 1000000);
	assert_int_equal(process(gpu, 8)->weight, 3000000);
	odd_percent = -1.0;
	assert_int_equal(tick(&watch, 3)->method, WTL_GPU_USE_MEMORY);
	odd_percent = nan("");
	assert_int_equal(tick(&watch, 4)->method, WTL_GPU_USE_MEMORY);
	done_with_samples(&watch);
}

/* They come and go, one call fails, the driver goes away: memory decides until it is known again. */
static void instances_interrupted(void **state)
{
	static const char *const lines[] = {
		"  answer nvmlDeviceGetMigDeviceHandleByIndex NOT_FOUND from 3 until 3.5\n",
		"  answer nvmlGpmMigSampleGet UNKNOWN from 3 until 3.5\n",
		"  answer nvmlDeviceGetMigMode GPU_IS_LOST from 3 until 3.5\n",
		"answer nvmlGpmMetricsGet 20 from 3 until 3.5\n",
		"  lost from 3 until 3.5\n",
		"answer * DRIVER_NOT_LOADED from 3 until 3.5\n",
	};
	struct watch watch;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const struct wtl_gpu_use_gpu *gpu;
		char text[1024];

		snprintf(text, sizeof(text), "%s%s%s", lines[i][0] == ' ' ? "" : lines[i],
			 ONE_GPU TWO_INSTANCES "instance-use 1 20 20\n",
			 lines[i][0] == ' ' ? lines[i] : "");
		start_own(&watch, text);
		tick(&watch, 1);
		assert_int_equal(tick(&watch, 2)->method, WTL_GPU_USE_INSTANCES);
		gpu = tick(&watch, 3);
		assert_true(gpu->method == WTL_GPU_USE_MEMORY || gpu->method == WTL_GPU_USE_NONE);
		assert_true(gpu->reason[0] != '\0');
		for (int t = 5; t < 8; t++)
			gpu = tick(&watch, t);
		assert_int_equal(gpu->method, WTL_GPU_USE_INSTANCES);
		assert_int_equal(process(gpu, 7)->weight, 200000);
		done_with_samples(&watch);
	}
}

static void method_names(void **state)
{
	(void)state;
	for (int i = WTL_GPU_USE_NONE + 1; i < WTL_GPU_USE_METHODS; i++) {
		const char *name = wtl_gpu_use_method_name((enum wtl_gpu_use_method)i);

		assert_int_equal(wtl_gpu_use_method_find(name), i);
		/* What says that it is a guess is one. */
		assert_int_equal(strstr(name, "guess") != NULL,
				 wtl_gpu_use_method_is_guess((enum wtl_gpu_use_method)i));
	}
	assert_int_equal(wtl_gpu_use_method_find(NULL), WTL_GPU_USE_NONE);
	assert_int_equal(wtl_gpu_use_method_find("x"), WTL_GPU_USE_NONE);
}

enum { BEYOND = 6, MANY = WTL_GPU_USE_PROCESSES_MAX + BEYOND };

/* More compute processes than there is room for, of 2 MiB each. */
static int list_many(struct nv *nv, size_t function, struct wtl_lib_arg args[], int *answer)
{
	struct wtl_nvml_process *process;
	uint32_t room;

	(void)nv;
	if (function != WTL_NVML_COMPUTE_V3)
		return 0;
	process = args[2].memory;
	room = (uint32_t)(args[2].size / sizeof(*process));
	*(uint32_t *)args[1].memory = MANY;
	*answer = room < MANY ? WTL_NVML_INSUFFICIENT_SIZE : WTL_NVML_OK;
	for (uint32_t i = 0; i < MANY && room >= MANY; i++)
		process[i] = (struct wtl_nvml_process){.pid = 1000 + i,
						       .used_bytes = 2 << 20,
						       .instance = UINT32_MAX,
						       .compute_instance = UINT32_MAX};
	return 0;
}

/* The same, and the first and the last one use the GPU. From 4 s on, there are samples of more unlisted processes than there is
 * room for. */
static int use_by_many(struct nv *nv, size_t function, struct wtl_lib_arg args[], int *answer)
{
	uint64_t now_us = (uint64_t)nv->bench.now_ns / 1000;
	struct wtl_nvml_use *use;

	if (function != WTL_NVML_USES)
		return list_many(nv, function, args, answer);
	use = args[2].memory;
	*answer = WTL_NVML_OK;
	if (nv->bench.now_ns >= BENCH_START_NS + 4 * SECOND) {
		((struct wtl_nvml_uses *)args[1].memory)->count = WTL_NVML_USES_MAX + 1;
		if (args[2].size < WTL_NVML_USES_MAX * sizeof(*use))
			*answer = WTL_NVML_INSUFFICIENT_SIZE;
		for (uint32_t i = 0; i < WTL_NVML_USES_MAX && *answer == WTL_NVML_OK; i++)
			use[i] = (struct wtl_nvml_use){.t_us = now_us, .pid = 9000 + i, .sm = 1};
		return 0;
	}
	use[0] = (struct wtl_nvml_use){.t_us = now_us, .pid = 1000, .sm = 30};
	use[1] = (struct wtl_nvml_use){.t_us = now_us, .pid = 1000 + MANY - 1, .sm = 50};
	((struct wtl_nvml_uses *)args[1].memory)->count = 2;
	return 0;
}

/* What those beyond have is nobody's, and not the others'. */
static void too_many(void **state)
{
	const struct wtl_gpu_use_gpu *gpu;
	struct watch watch;

	(void)state;
	start_own(&watch, ONE_GPU);
	watch.nv.twist = use_by_many;
	for (int k = 0; k < 2; k++) {
		gpu = tick(&watch, 2.5 + k);
		assert_int_equal(gpu->method, WTL_GPU_USE_SAMPLES);
		assert_int_equal(gpu->n_processes, WTL_GPU_USE_PROCESSES_MAX);
		assert_int_equal(gpu->processes[0].use_ppm, 300000);
		assert_int_equal(gpu->unseen_weight, gpu->processes[0].weight / 3 * 5);
	}
	gpu = tick(&watch, 4.5);
	assert_int_equal(gpu->processes[0].use_ppm, 300000);
	assert_int_equal(gpu->unseen_weight, (50 + WTL_NVML_USES_MAX) * 8 * 10000);
	done(&watch);

	start_own(&watch, ONE_GPU "  mig on\n");
	watch.nv.twist = list_many;
	for (int k = 0; k < 2; k++) {
		gpu = tick(&watch, 2.5 + k);
		assert_int_equal(gpu->method, WTL_GPU_USE_MEMORY);
		assert_int_equal(gpu->processes[0].weight, 2 << 10);
		assert_int_equal(gpu->unseen_weight, BEYOND * (2 << 10));
	}
	done(&watch);
}

static void nothing_is_known(void **state)
{
	const struct wtl_gpu_use_gpu *gpu;
	struct watch watch;

	(void)state;
	start_own(&watch, ONE_GPU "  mig on\nprocess 7 C -\n");
	gpu = tick(&watch, 2.5);
	assert_int_equal(gpu->method, WTL_GPU_USE_NONE);
	assert_int_equal(gpu->n_processes, 0);
	assert_null(wtl_gpu_use_method_name(gpu->method));
	assert_true(gpu->reason[0] != '\0');
	done(&watch);

	start_own(&watch, ONE_GPU "  answer nvmlDeviceGetComputeRunningProcesses_v3 NO_PERMISSION\n"
				  "process 7 C 10 50 0 0 0\n");
	gpu = tick(&watch, 2.5);
	assert_int_equal(gpu->method, WTL_GPU_USE_NONE);
	assert_non_null(strstr(gpu->reason, "permission"));
	done(&watch);
}

/* One that is not there is asked for once a second. */
static void not_there(void **state)
{
	struct watch watch;

	(void)state;
	nv_empty_own(&watch.nv, ONE_GPU);
	describe(&watch.gpus[0], "nvidia", "gpu-0", "00000000:99:00.0", "");
	watch_open(&watch, nv_library(), 1);
	for (int i = 0; i < 20; i++)
		tick(&watch, 1.0 + i / 10.0);
	assert_int_equal(watch.nv.calls("nvmlDeviceGetHandleByPciBusId_v2"), 2);
	done(&watch);
}

static void lost_and_back(void **state)
{
	const struct wtl_gpu_use_gpu *gpu;
	struct watch watch;

	(void)state;
	start_own(&watch, ONE_GPU "  lost from 3 until 6\nprocess 7 C 100 60 0 0 0\n");
	assert_int_equal(tick(&watch, 2.5)->method, WTL_GPU_USE_SAMPLES);
	gpu = tick(&watch, 3.5);
	assert_int_equal(gpu->method, WTL_GPU_USE_NONE);
	assert_non_null(strstr(gpu->reason, "lost"));
	assert_int_equal(tick(&watch, 7.5)->method, WTL_GPU_USE_SAMPLES);
	/* The handle of before is not a GPU's any more. */
	assert_int_equal(watch.nv.calls("nvmlDeviceGetHandleByPciBusId_v2"), 2);
	done(&watch);
}

static void driver_away(void **state)
{
	struct watch watch;

	(void)state;
	start_own(&watch,
		  "answer * DRIVER_NOT_LOADED until 3\n" ONE_GPU "process 7 C 100 60 0 0 0\n");
	assert_non_null(strstr(tick(&watch, 1)->reason, "not loaded"));
	assert_non_null(strstr(tick(&watch, 1.99)->reason, "not loaded"));
	assert_int_equal(watch.nv.calls("nvmlInit_v2"), 1);
	tick(&watch, 2);
	assert_int_equal(watch.nv.calls("nvmlInit_v2"), 2);
	assert_int_equal(tick(&watch, 4.5)->method, WTL_GPU_USE_SAMPLES);
	done(&watch);

	/* Whichever says that NVML is to be started again: no handle is one any more. */
	nv_empty_own(
		&watch.nv, ONE_GPU
		"  bus 00000000:17:00.0\n" ONE_GPU "  bus 00000000:18:00.0\n"
		"  answer nvmlDeviceGetComputeRunningProcesses_v3 UNINITIALIZED from 3 until 4\n");
	describe(&watch.gpus[0], "nvidia", "gpu-0", "00000000:17:00.0", "");
	describe(&watch.gpus[1], "nvidia", "gpu-1", "00000000:18:00.0", "");
	watch_open(&watch, nv_library(), 2);
	for (int t = 1; t < 15; t += 2)
		tick(&watch, t);
	assert_int_equal(watch.nv.calls("nvmlDeviceGetHandleByPciBusId_v2"), 4);
	done(&watch);

	nv_empty(&watch.nv, "a100");
	describe(&watch.gpus[0], "nvidia", "gpu-0", "00000000:17:00.0", "");
	watch_open(&watch, "/nowhere/libnvidia-ml.so.1", 1);
	assert_int_equal(tick(&watch, 1)->method, WTL_GPU_USE_NONE);
	done(&watch);

	nv_empty(&watch.nv, "a100");
	watch_open(&watch, "", 1);
	assert_non_null(strstr(tick(&watch, 1)->reason, "switched off"));
	assert_int_equal(watch.nv.lib_opens, 0);
	done(&watch);
}

static void asleep(void **state)
{
	struct watch watch;

	(void)state;
	nv_empty(&watch.nv, "a100");
	bench_write(&watch.nv.bench, PCI "0000:17:00.0/power/runtime_status", "suspended\n");
	describe(&watch.gpus[0], "nvidia", "gpu-0", "00000000:17:00.0", "");
	watch_open(&watch, nv_library(), 1);
	assert_non_null(strstr(tick(&watch, 1)->reason, "suspended"));
	assert_int_equal(watch.nv.lib_opens, 0);
	done(&watch);
}

/* Numbers of processes mean others in a PID namespace of one's own: nobody here is to be billed. */
static void in_a_container(void **state)
{
	const struct wtl_gpu_use_gpu *gpu;
	struct watch watch;

	(void)state;
	nv_empty(&watch.nv, "h100");
	unit_symlink(watch.nv.bench.root, "proc/self/ns/pid", "pid:[4026532448]");
	unit_write(watch.nv.bench.root, "proc/1001/stat", "1001 (x) S\n");
	describe(&watch.gpus[0], "nvidia", "gpu-0", "00000000:1B:00.0", "");
	watch_open(&watch, nv_library(), 1);
	gpu = tick(&watch, 2.5);
	assert_int_equal(gpu->processes[0].pid, 1001);
	assert_false(gpu->processes[0].is_visible);
	assert_int_equal(gpu->processes[0].use_ppm, 600000);
	done(&watch);
}

/* ---- AMD and Intel ---- */

static void put_client(struct watch *watch, int pid, const char *pdev, int client,
		       unsigned long long gfx, unsigned long long enc)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/7", pid);
	snprintf(text, sizeof(text),
		 "drm-pdev:\t%s\ndrm-client-id:\t%d\ndrm-engine-gfx:\t%llu ns\n"
		 "drm-engine-enc:\t%llu ns\n",
		 pdev, client, gfx, enc);
	bench_write(&watch->nv.bench, path, text);
}

/* Another user's process. */
static int hide_fds_of_22(struct wtl_io *io, const char *path, struct wtl_buf *names)
{
	return strcmp(path, "/proc/22/fd") == 0 ? -EACCES : pass_dir_read(io, path, names);
}

static void by_fdinfo(void **state)
{
	const struct wtl_gpu_use_gpu *gpus;
	struct watch watch;

	(void)state;
	nv_empty(&watch.nv, "a100");
	describe(&watch.gpus[0], "amd", "gpu-0", "00000000:09:00.0", "");
	describe(&watch.gpus[1], "intel", "", "00000000:00:02.0", "");
	describe(&watch.gpus[2], "intel", "gpu-1", "00000000:C3:00.0", "");
	bench_link(&watch.nv.bench, "/proc/20/fd/7", "/dev/dri/renderD128");
	bench_link(&watch.nv.bench, "/proc/21/fd/7", "/dev/dri/renderD129");
	bench_write(&watch.nv.bench, "/proc/22/comm", "other\n");
	watch.nv.ops.dir_read = hide_fds_of_22;
	put_client(&watch, 20, "0000:09:00.0", 1, 5, 5);
	put_client(&watch, 21, "0000:c3:00.0", 1, 5, 5);
	watch_open(&watch, NULL, 3);
	gpus = tick(&watch, 1);
	assert_int_equal(gpus[0].method, WTL_GPU_USE_FDINFO);
	assert_int_equal(gpus[0].processes[0].weight, 0);
	assert_int_equal(gpus[0].processes[0].use_ppm, UINT32_MAX);
	put_client(&watch, 20, "0000:09:00.0", 1, 5 + SECOND / 2, 5 + SECOND / 10);
	gpus = tick(&watch, 2);
	assert_int_equal(gpus[0].n_processes, 1);
	assert_int_equal(gpus[0].processes[0].pid, 20);
	assert_true(gpus[0].processes[0].is_visible);
	assert_int_equal(gpus[0].processes[0].weight, SECOND / 2 * 8 + SECOND / 10);
	assert_int_equal(gpus[0].processes[0].use_ppm, 512500);
	assert_non_null(strstr(gpus[0].reason, "other users"));
	assert_int_equal(gpus[0].unseen_weight, 0);
	/* The one without a domain is left out. */
	assert_string_equal(gpus[1].domain, "gpu-1");
	assert_int_equal(gpus[1].processes[0].pid, 21);
	assert_int_equal(gpus[1].processes[0].weight, 0);
	assert_int_equal(watch.nv.lib_opens, 0);
	done(&watch);
}

/* More processes than are told apart, and more clients than are followed. */
static void too_many_by_fdinfo(void **state)
{
	const struct wtl_gpu_use_gpu *gpu;
	struct watch watch;

	(void)state;
	nv_empty(&watch.nv, "a100");
	describe(&watch.gpus[0], "amd", "gpu-0", "00000000:09:00.0", "");
	for (int round = 0; round < 3; round++) {
		int from = round < 2 ? 0 : MANY;
		int to = round < 2 ? MANY : WTL_DRM_CLIENTS_MAX + 1;

		for (int i = from; i < to; i++) {
			char path[32];

			snprintf(path, sizeof(path), "/proc/%d/fd/7", 100 + i);
			if (round != 1)
				bench_link(&watch.nv.bench, path, "/dev/dri/renderD128");
			put_client(&watch, 100 + i, "0000:09:00.0", 1 + i, 5 + round * SECOND / 2,
				   5);
		}
		if (round == 0)
			watch_open(&watch, NULL, 1);
		gpu = tick(&watch, round < 2 ? 1 + round : 60);
		if (round == 1) {
			assert_int_equal(gpu->method, WTL_GPU_USE_FDINFO);
			assert_int_equal(gpu->n_processes, WTL_GPU_USE_PROCESSES_MAX);
			assert_int_equal(gpu->unseen_weight, BEYOND * (SECOND / 2 * 8));
		}
	}
	assert_int_equal(gpu->method, WTL_GPU_USE_NONE);
	assert_non_null(strstr(gpu->reason, "no room"));
	done(&watch);
}

static void no_gpus(void **state)
{
	struct watch watch;
	size_t n;

	(void)state;
	nv_empty(&watch.nv, "a100");
	watch_open(&watch, NULL, 0);
	tick(&watch, 1);
	wtl_gpu_use_gpus(watch.use, &n);
	assert_int_equal(n, 0);
	done(&watch);
	wtl_gpu_use_free(NULL);
}

/* ---- What was told of each script's machine ---- */

static void print_gpu(FILE *out, const struct wtl_gpu_use_gpu *gpu)
{
	fprintf(out, "  %s %s (%s) unseen %llu:", gpu->domain,
		gpu->method == WTL_GPU_USE_NONE ? "-" : wtl_gpu_use_method_name(gpu->method),
		gpu->reason, (unsigned long long)gpu->unseen_weight);
	for (size_t i = 0; i < gpu->n_processes; i++) {
		const struct wtl_gpu_use_process *process = &gpu->processes[i];

		fprintf(out, " %d%s %llu %u %lld", process->pid, process->is_visible ? "" : "?",
			(unsigned long long)process->weight, process->use_ppm,
			(long long)process->memory_bytes);
	}
	fprintf(out, "\n");
}

static void test_scripts(void **state)
{
	static const char *const scripts[] = {
		"a100-mig",
		"a100",
		"asleep",
		"capture-h100-load",
		"capture-h100-mig-load",
		"capture-l40s-load",
		"capture-rtx2080s-load",
		"eight-gpus",
		"flaky",
		"gb200",
		"h100-mig-denied",
		"h100-mig",
		"h100",
		"init-denied",
		"laptop",
		"lost",
		"lost-for-good",
		"mig",
		"mismatch",
		"no-permission",
		"not-supported",
		"pascal",
		"reload",
		"reset",
		"two",
	};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	for (size_t i = 0; i < UNIT_COUNT(scripts); i++) {
		const char *at;
		struct watch watch;
		char name[64], *script;
		size_t n = 0;

		snprintf(name, sizeof(name), "%s.nvml", scripts[i]);
		nv_empty(&watch.nv, scripts[i]);
		script = unit_read(getenv("WATTLE_FAKE_SCRIPTS"), name);
		for (at = script; n < 2 && (at = strstr(at, "\ngpu ")) != NULL; n++, at++) {
			const char *bus = strstr(at, "\n  bus "), *next = strstr(at + 1, "\ngpu ");
			char bus_id[32], domain[16];

			snprintf(bus_id, sizeof(bus_id), "00000000:%02X:00.0", 0x17 + (int)n);
			if (bus && (!next || bus < next))
				sscanf(bus, " bus %31s", bus_id);
			snprintf(domain, sizeof(domain), "gpu-%zu", n);
			describe(&watch.gpus[n], "nvidia", domain, bus_id, "");
		}
		free(script);
		watch_open(&watch, nv_library(), n);
		for (int k = 0; k < 9; k++) {
			const struct wtl_gpu_use_gpu *used;

			used = tick(&watch, 0.5 + k * (k < 5 ? 1 : 2));
			fprintf(out, "%s %d\n", scripts[i], k);
			for (size_t j = 0; j < n; j++)
				print_gpu(out, &used[j]);
		}
		done(&watch);
	}
	fclose(out);
	golden_check("gpu-use.txt", text);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(smoothing),
		cmocka_unit_test(smoothing_is_bounded),
		cmocka_unit_test(methods_that_agree),
		cmocka_unit_test(by_samples),
		cmocka_unit_test(names_of_the_hidden),
		cmocka_unit_test(seen_before_another_left),
		cmocka_unit_test(all_idle),
		cmocka_unit_test(ended_processes_are_forgotten),
		cmocka_unit_test(by_the_old_function),
		cmocka_unit_test(samples_of_different_moments),
		cmocka_unit_test(turns_of_a_second),
		cmocka_unit_test(rubbish_is_not_idle),
		cmocka_unit_test(samples_of_nobody_listed),
		cmocka_unit_test(late_samples_of_one_that_ended),
		cmocka_unit_test(by_memory_under_mig),
		cmocka_unit_test(by_instances),
		cmocka_unit_test(instances_change),
		cmocka_unit_test(instances_refused),
		cmocka_unit_test(instances_metrics),
		cmocka_unit_test(instances_odd_numbers),
		cmocka_unit_test(instances_interrupted),
		cmocka_unit_test(method_names),
		cmocka_unit_test(too_many),
		cmocka_unit_test(nothing_is_known),
		cmocka_unit_test(not_there),
		cmocka_unit_test(lost_and_back),
		cmocka_unit_test(driver_away),
		cmocka_unit_test(asleep),
		cmocka_unit_test(in_a_container),
		cmocka_unit_test(by_fdinfo),
		cmocka_unit_test(too_many_by_fdinfo),
		cmocka_unit_test(no_gpus),
		cmocka_unit_test(test_scripts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
