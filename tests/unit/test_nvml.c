/* SPDX-License-Identifier: MIT */
/* The NVML source against the fake library (tests/fake) and roots with and without NVIDIA GPUs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "energy/sensor_class.h"
#include "gpu/library.h"
#include "nvml_bench.h"
#include "gpu/abi.h"
#include "unit.h"

/* ---- GPUs of all ages ---- */

static void test_a100(void **state)
{
	const struct wtl_channel *energy, *power;
	struct nv nv;

	(void)state;
	nv_start(&nv, "a100");
	nv_check_domains(&nv, "gpu-0 gpu-0");
	assert_int_equal(nv.bench.catalog.n_misses, 0);
	energy = nv_channel(&nv, 0);
	assert_int_equal(energy->kind, WATTLE_KIND_GPU);
	assert_int_equal(energy->quantity, WTL_QUANTITY_ENERGY);
	assert_int_equal(energy->method, WATTLE_METHOD_COUNTER);
	assert_true(energy->in_total);
	assert_string_equal(energy->inside, "");
	assert_string_equal(energy->device, "NVIDIA A100-SXM4-80GB");
	assert_string_equal(energy->source, "nvml");
	assert_int_equal(energy->unit.num, 1000);
	assert_int_equal(energy->unit.den, 1);
	assert_int_equal(energy->range, 0);
	assert_int_equal(energy->gain_ppm, 50000);
	assert_null(energy->class);
	power = nv_channel(&nv, 1);
	assert_int_equal(power->quantity, WTL_QUANTITY_POWER);
	assert_int_equal(power->method, WATTLE_METHOD_INTEGRATED);
	assert_true(power->in_total);
	assert_string_equal(power->class->name, "ga100-instant 25/100");
	assert_int_equal(power->update_ns, power->class->update_ns);

	nv_at(&nv, 1); /* 62.5 W */
	nv_check_ok(&nv.bench.readings[0], 123456789 + 62500);
	nv_check_ok(&nv.bench.readings[1], 62500);
	assert_int_equal(nv.bench.readings[0].t_mono_ns, BENCH_START_NS + S(1));
	nv_at(&nv, 2.05); /* the counter still shows 2.0, the sensor the window before that */
	nv_check_ok(&nv.bench.readings[0], 123456789 + 125000);
	nv_check_ok(&nv.bench.readings[1], 62500);
	nv_at(&nv, 10); /* 8 s of 300 W */
	nv_check_ok(&nv.bench.readings[0], 123456789 + 125000 + 8 * 300000);
	nv_check_ok(&nv.bench.readings[1], 300000);
	nv_at(&nv, 22); /* the ramp from 300 to 100 W is 2000 J */
	nv_check_ok(&nv.bench.readings[0], 123456789 + 125000 + 3000000 + 2000000);
	nv_done(&nv);
}

static void test_pascal(void **state)
{
	const struct wtl_channel *power;
	struct nv nv;

	(void)state;
	nv_start(&nv, "pascal");
	nv_check_domains(&nv, "gpu-0");
	power = nv_channel(&nv, 0);
	assert_int_equal(power->quantity, WTL_QUANTITY_POWER);
	assert_int_equal(power->method, WATTLE_METHOD_INTEGRATED);
	assert_true(power->in_total);
	assert_string_equal(power->class->name, "pascal-draw 10/20");
	assert_int_equal(power->update_ns, 20 * WTL_NS_PER_MS);
	assert_int_equal(nv.bench.catalog.n_misses, 0);
	nv_at(&nv, 1);
	nv_check_ok(&nv.bench.readings[0], 32000);
	nv_at(&nv, 3);
	nv_check_ok(&nv.bench.readings[0], 180000);
	/* What the driver refused at the start is not asked for again. */
	assert_int_equal(nv.calls("nvmlDeviceGetFieldValues"), 1);
	assert_int_equal(nv.calls("nvmlDeviceGetTotalEnergyConsumption"), 1);
	nv_done(&nv);
}

static void test_h100(void **state)
{
	const struct wtl_channel *memory;
	struct nv nv;

	(void)state;
	nv_start(&nv, "h100");
	nv_check_domains(&nv, "gpu-0 gpu-0 gpu-0-memory");
	/* Beside the counter, the one that misses nothing. */
	assert_string_equal(nv_channel(&nv, 1)->class->name, "hopper-average 1000/100");
	memory = nv_channel(&nv, 2);
	assert_int_equal(memory->kind, WATTLE_KIND_GPU_MEMORY);
	assert_string_equal(memory->inside, "gpu-0");
	assert_false(memory->in_total);
	assert_string_equal(memory->class->name, "hopper-average 1000/100");
	nv_at(&nv, 2);
	nv_check_ok(&nv.bench.readings[0], 5000000 + 154000);
	nv_check_ok(&nv.bench.readings[1], 77000);
	nv_check_ok(&nv.bench.readings[2], 32340); /* 42 % */
	nv_at(&nv, 8); /* 0.1 s of 680/120 W, 40 % duty: the instant's 25 ms would see 120 W */
	nv_check_ok(&nv.bench.readings[1], 344000);
	nv_check_ok(&nv.bench.readings[2], 344 * 420);
	nv_done(&nv);
}

static void test_gh200(void **state)
{
	const struct wtl_channel *module;
	struct nv nv;

	(void)state;
	nv_start(&nv, "gh200");
	nv_check_domains(&nv, "gpu-0-module");
	module = nv_channel(&nv, 0);
	assert_int_equal(module->kind, WATTLE_KIND_MODULE);
	assert_false(module->in_total);
	assert_string_equal(module->inside, "");
	nv_check_miss(&nv, "gpu-0", WATTLE_STATUS_ABSENT, "gpu-0-module", NULL);
	assert_int_equal(nv.calls("nvmlDeviceGetPowerUsage"), 0);
	nv_at(&nv, 5);
	nv_check_ok(&nv.bench.readings[0], 250000);
	nv_done(&nv);
}

static void test_gb200(void **state)
{
	struct nv nv;

	(void)state;
	nv_start(&nv, "gb200");
	nv_check_domains(&nv, "gpu-0 gpu-0 gpu-0-memory gpu-0-module");
	assert_int_equal(nv.bench.catalog.n_misses, 0);
	nv_at(&nv, 4);
	nv_check_ok(&nv.bench.readings[0], 4 * 250000);
	nv_check_ok(&nv.bench.readings[1], 250000);
	nv_check_ok(&nv.bench.readings[2], 50000);
	nv_check_ok(&nv.bench.readings[3], 467000);
	nv_done(&nv);
}

static void test_no_fields(void **state)
{
	struct nv nv;

	(void)state;
	nv_start(&nv, "no-fields");
	nv_check_domains(&nv, "gpu-0 gpu-0");
	assert_string_equal(nv_channel(&nv, 1)->class->name, "volta-draw 10/20");
	nv_at(&nv, 2);
	nv_check_ok(&nv.bench.readings[0], 99000 + 90000);
	nv_check_ok(&nv.bench.readings[1], 45000);
	nv_done(&nv);
}

static void test_stride_and_mig(void **state)
{
	struct nv nv;

	(void)state;
	nv_start(&nv, "stride535");
	nv_check_domains(&nv, "gpu-0 gpu-0");
	assert_string_equal(nv_channel(&nv, 1)->class->name, "ga10x-average 1000/100");
	nv_at(&nv, 1);
	nv_check_ok(&nv.bench.readings[0], 25000);
	nv_done(&nv);
	nv_start(&nv, "mig");
	nv_check_domains(&nv, "gpu-0 gpu-0");
	nv_at(&nv, 1);
	nv_check_ok(&nv.bench.readings[0], 100000);
	nv_done(&nv);
}

/* ---- What cannot be had ---- */

static void test_not_supported(void **state)
{
	const struct wtl_miss *miss;
	struct nv nv;

	(void)state;
	nv_start(&nv, "not-supported");
	nv_check_domains(&nv, "");
	miss = nv_check_miss(&nv, "gpu-0", WATTLE_STATUS_ABSENT, "GRID A100-4C", "on its host");
	assert_int_equal(miss->kind, WATTLE_KIND_GPU);
	nv_at(&nv, 1); /* nothing to read */
	nv_done(&nv);
}

static void test_no_permission(void **state)
{
	struct nv nv;

	(void)state;
	nv_start(&nv, "no-permission");
	nv_check_domains(&nv, "");
	assert_true(nv_check_miss(&nv, "gpu-0", WATTLE_STATUS_DENIED, "permission", "/dev/nvidia")
			    ->in_total);
	nv_done(&nv);
}

static void test_init_fails(void **state)
{
	static const struct {
		const char *script;
		enum wattle_status status;
		const char *reason, *remedy;
	} cases[] = {
		{"mismatch", WATTLE_STATUS_FAILED, "versions", "reboot"},
		{"not-loaded", WATTLE_STATUS_FAILED, "not loaded", "modprobe nvidia"},
		{"init-denied", WATTLE_STATUS_DENIED, "permission", "/dev/nvidiactl"},
	};
	struct nv nv;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		/* One miss for each GPU of the bus, … */
		nv_start_on(&nv, "nvidia-server", cases[i].script);
		nv_check_domains(&nv, "");
		assert_int_equal(nv.bench.catalog.n_misses, 2);
		nv_check_miss(&nv, "gpu-0", cases[i].status, cases[i].reason, cases[i].remedy);
		nv_check_miss(&nv, "gpu-1", cases[i].status, "0000:ca:00.0", cases[i].remedy);
		nv_at(&nv, 1);
		nv_done(&nv);
		/* … or one in all where no bus is to be seen. */
		nv_start(&nv, cases[i].script);
		assert_int_equal(nv.bench.catalog.n_misses, 1);
		nv_check_miss(&nv, "", cases[i].status, cases[i].reason, cases[i].remedy);
		nv_done(&nv);
	}
}

static void test_no_gpu(void **state)
{
	struct nv nv;

	(void)state;
	/* A driver without a GPU, and a library without a driver on a bus without GPUs. */
	nv_start(&nv, "empty");
	nv_check_miss(&nv, "", WATTLE_STATUS_ABSENT, "no NVIDIA GPU", NULL);
	nv_done(&nv);
	nv_start_on(&nv, "intel-gpu", "not-loaded");
	assert_false(nv_check_miss(&nv, "", WATTLE_STATUS_ABSENT, "no NVIDIA GPU", NULL)->in_total);
	nv_done(&nv);
	/* No library either: with a root, the loader's own rules do not apply. */
	memset(&nv, 0, sizeof(nv));
	bench_root(&nv.bench, "vm-nothing");
	nv_prepare(&nv, "a100");
	assert_int_equal(nv_open(&nv, NULL), 0);
	assert_int_equal(nv.bench.catalog.n_misses, 1);
	nv_check_miss(&nv, "", WATTLE_STATUS_ABSENT, "no NVIDIA GPU", NULL);
	nv_done(&nv);
}

static void test_no_library(void **state)
{
	struct nv nv;

	(void)state;
	memset(&nv, 0, sizeof(nv));
	bench_root(&nv.bench, "nvidia-server");
	nv_prepare(&nv, "a100");
	assert_int_equal(nv_open(&nv, NULL), 0);
	assert_int_equal(nv.bench.catalog.n_misses, 2);
	nv_check_miss(&nv, "gpu-0", WATTLE_STATUS_FAILED, "0000:17:00.0", "--gpus all");
	nv_done(&nv);

	memset(&nv, 0, sizeof(nv));
	bench_root(&nv.bench, "vm-nothing");
	nv_prepare(&nv, "a100");
	assert_int_equal(nv_open(&nv, "/nonexistent/libnvidia-ml.so.1"), 0);
	nv_check_miss(&nv, "", WATTLE_STATUS_FAILED, "/nonexistent", "path");
	nv_done(&nv);

	memset(&nv, 0, sizeof(nv));
	bench_root(&nv.bench, "nvidia-server");
	nv_prepare(&nv, "a100");
	assert_int_equal(nv_open(&nv, ""), 0);
	assert_int_equal(nv.lib_opens, 0);
	nv_check_miss(&nv, "gpu-1", WATTLE_STATUS_ABSENT, "switched off", NULL);
	nv_done(&nv);
}

static void add_pci(struct nv *nv, const char *id, const char *state, const char *driver)
{
	char path[128], target[64];

	snprintf(path, sizeof(path), PCI "%s/vendor", id);
	bench_write(&nv->bench, path, "0x10de\n");
	snprintf(path, sizeof(path), PCI "%s/class", id);
	bench_write(&nv->bench, path, "0x030000\n");
	snprintf(path, sizeof(path), PCI "%s/power/runtime_status", id);
	bench_write(&nv->bench, path, state);
	if (!driver)
		return;
	snprintf(path, sizeof(path), PCI "%s/driver", id);
	snprintf(target, sizeof(target), "../../drivers/%s", driver);
	bench_link(&nv->bench, path, target);
}

static void test_other_drivers(void **state)
{
	struct nv nv;

	(void)state;
	nv_empty(&nv, "a100");
	add_pci(&nv, "0000:17:00.0", "active\n", "nvidia");
	add_pci(&nv, "0000:41:00.0", "active\n", "vfio-pci");
	add_pci(&nv, "0000:61:00.0", "active\n", "nouveau");
	add_pci(&nv, "0000:81:00.0", "active\n", "nvidia");
	assert_int_equal(nv_open(&nv, nv_library()), 0);
	nv_check_domains(&nv, "gpu-0 gpu-0");
	assert_int_equal(nv.bench.catalog.n_misses, 3);
	nv_check_miss(&nv, "gpu-1", WATTLE_STATUS_FAILED, "vfio-pci", "virtual machine");
	nv_check_miss(&nv, "gpu-2", WATTLE_STATUS_FAILED, "nouveau", "NVIDIA's own driver");
	nv_check_miss(&nv, "gpu-3", WATTLE_STATUS_FAILED, "0000:81:00.0", "dmesg");
	nv_done(&nv);
	/* The same bus seen from a container: the host's other GPUs are not ours to report. */
	nv_empty(&nv, "a100");
	add_pci(&nv, "0000:17:00.0", "active\n", "nvidia");
	add_pci(&nv, "0000:81:00.0", "active\n", "nvidia");
	bench_write(&nv.bench, "/.dockerenv", "");
	assert_int_equal(nv_open(&nv, nv_library()), 0);
	nv_check_domains(&nv, "gpu-0 gpu-0");
	assert_int_equal(nv.bench.catalog.n_misses, 0);
	nv_done(&nv);
}

/* GPUs of another source keep their numbers. */
static void test_numbers_go_on(void **state)
{
	struct wtl_channel other = {.domain = "gpu-0",
				    .kind = WATTLE_KIND_GPU,
				    .unit = WTL_UNIT_MICRO,
				    .quantity = WTL_QUANTITY_POWER};
	struct nv nv;

	(void)state;
	nv_empty(&nv, "lost-at-start");
	nv.bench.catalog.source = "other";
	assert_int_equal(wtl_catalog_add(&nv.bench.catalog, &other), 0);
	assert_int_equal(nv_open(&nv, nv_library()), 0);
	nv_check_domains(&nv, "gpu-0 gpu-2 gpu-2");
	nv_check_miss(&nv, "gpu-1", WATTLE_STATUS_GONE, "lost", "reset");
	nv_done(&nv);
}

/* ---- Sleep ---- */

#define LAPTOP_STATE PCI "0000:01:00.0/power/runtime_status"

/* The laptop with its GPU asleep, as a copy that may be changed. */
static void laptop(struct nv *nv, const char *script)
{
	memset(nv, 0, sizeof(*nv));
	bench_copy(&nv->bench, "nvidia-laptop");
	nv_prepare(nv, script);
}

static void test_asleep(void **state)
{
	const struct wtl_channel *energy;
	unsigned before;
	struct nv nv;

	(void)state;
	nv_start_on(&nv, "nvidia-laptop", "asleep");
	nv_check_domains(&nv, "gpu-0"); /* the audio function is no GPU */
	energy = nv_channel(&nv, 0);
	assert_int_equal(energy->kind, WATTLE_KIND_GPU);
	assert_int_equal(energy->quantity, WTL_QUANTITY_ENERGY);
	assert_int_equal(energy->method, WATTLE_METHOD_COUNTER);
	assert_true(energy->in_total);
	assert_string_equal(energy->device, "NVIDIA GPU 25a0 at 0000:01:00.0");
	assert_int_equal(energy->unit.num, 1000);
	assert_int_equal(energy->range, 0); /* what begins anew is a reset, and no wrap */
	assert_true(energy->max_uw > 0 && energy->update_ns > 0);
	assert_int_equal(nv.bench.catalog.n_misses, 1);
	assert_true(nv_check_miss(&nv, "gpu-0", WATTLE_STATUS_ASLEEP, "0000:01:00.0 is suspended",
				  "measured once it is in use")
			    ->in_total);
	nv_check_miss(&nv, "gpu-0", WATTLE_STATUS_ASLEEP, "would wake it",
		      "/0000:01:00.0/power/control");
	before = nv.bench.reads;
	for (int i = 1; i <= 500; i++) {
		nv_at(&nv, i * 0.01);
		nv_check_status(&nv.bench.readings[0], WATTLE_STATUS_ASLEEP);
	}
	/* Looked at ten times a second, whatever the interval. */
	assert_in_range(nv.bench.reads - before, 45, 55);
	assert_int_equal(nv.lib_opens, 0); /* loading NVML alone can wake it */
	nv_done(&nv);
}

static void test_wakes(void **state)
{
	unsigned long touched;
	struct nv nv;

	(void)state;
	laptop(&nv, "laptop");
	assert_int_equal(nv_open(&nv, nv_library()), 0);
	nv_at(&nv, 1);
	bench_write(&nv.bench, LAPTOP_STATE, "resuming\n");
	nv_at(&nv, 1.05); /* too early to look again */
	nv_check_status(&nv.bench.readings[0], WATTLE_STATUS_ASLEEP);
	nv_at(&nv, 1.1);
	nv_check_ok(&nv.bench.readings[0], 700000 + 33000);
	assert_int_equal(nv.lib_opens, 1);
	assert_int_equal(nv.calls("nvmlDeviceGetHandleByIndex_v2"), 0);
	assert_int_equal(nv.calls("nvmlDeviceGetUUID"), 1);
	for (int i = 12; i < 40; i++) {
		nv_at(&nv, i * 0.1);
		nv_check_ok(&nv.bench.readings[0], 700000 + (uint64_t)i * 3000);
	}

	bench_write(&nv.bench, LAPTOP_STATE, "suspended\n");
	nv_at(&nv, 5);
	touched = nv.calls("*");
	for (int i = 50; i < 100; i++) {
		nv_at(&nv, i * 0.1);
		nv_check_status(&nv.bench.readings[0], WATTLE_STATUS_ASLEEP);
	}
	assert_int_equal(nv.calls("*"), touched);
	bench_write(&nv.bench, LAPTOP_STATE, "active\n");
	nv_at(&nv, 10); /* and on it goes, by the same handle */
	nv_check_ok(&nv.bench.readings[0], 700000 + 300000);
	assert_int_equal(nv.calls("*"), touched + 1);
	assert_int_equal(nv.calls("nvmlInit_v2"), 1);
	/* Its counter began anew while it slept once more: for the account to see. */
	bench_write(&nv.bench, LAPTOP_STATE, "suspended\n");
	nv_at(&nv, 15);
	nv_check_status(&nv.bench.readings[0], WATTLE_STATUS_ASLEEP);
	bench_write(&nv.bench, LAPTOP_STATE, "active\n");
	nv_at(&nv, 21);
	nv_check_ok(&nv.bench.readings[0], 30000);
	assert_false(nv.bench.readings[0].anew);
	nv_done(&nv);
}

/* The library, or the driver, is not there when the GPU wakes: it is looked for less and less often, and
 * nothing is said of the GPU that is not known. */
static void test_wakes_to_no_library(void **state)
{
	struct nv nv;

	(void)state;
	laptop(&nv, "laptop");
	assert_int_equal(nv_open(&nv, "/nonexistent/libnvidia-ml.so.1"), 0);
	nv_check_domains(&nv, "gpu-0");
	bench_write(&nv.bench, LAPTOP_STATE, "active\n");
	for (int i = 1; i <= 6000; i++) {
		nv_at(&nv, i * 0.1);
		nv_check_status(&nv.bench.readings[0], WATTLE_STATUS_FAILED);
		assert_true(nv.bench.readings[0].error < 0);
	}
	assert_string_equal(nv.bench.readings[0].reason, "the NVML library cannot be loaded");
	assert_string_equal(nv.bench.readings[0].remedy, "check the path of the NVML library");
	assert_in_range(nv.lib_opens, 10, 20);
	bench_write(&nv.bench, LAPTOP_STATE, "suspended\n");
	nv_at(&nv, 602);
	nv_check_status(&nv.bench.readings[0], WATTLE_STATUS_ASLEEP);
	assert_null(nv.bench.readings[0].reason);
	nv_done(&nv);
}

static void test_words_for_loading(void **state)
{
	(void)state;
	assert_string_equal(wtl_nvml_load_reason(-WTL_EABSENT, NULL),
			    "libnvidia-ml.so.1 is not installed");
	assert_non_null(strstr(wtl_nvml_load_remedy(-ENOENT, NULL), "--gpus all"));
	assert_string_equal(wtl_nvml_load_reason(-EIO, NULL), "the NVML library cannot be loaded");
	assert_string_equal(wtl_nvml_load_remedy(-EIO, NULL), "");
	assert_string_equal(wtl_nvml_load_reason(-ENOENT, "/x.so"),
			    "the NVML library cannot be loaded");
}

static void test_wakes_to_no_driver(void **state)
{
	static const struct {
		const char *script;
		enum wattle_status status;
		const char *reason, *remedy;
	} cases[] = {
		{"not-loaded", WATTLE_STATUS_FAILED, "kernel driver is not loaded",
		 "modprobe nvidia"},
		{"init-denied", WATTLE_STATUS_DENIED, "denies permission", "ls -l /dev/nvidia*"},
		{"empty", WATTLE_STATUS_GONE, "does not find the GPU", "dmesg"},
	};
	struct nv nv;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		laptop(&nv, cases[i].script);
		assert_int_equal(nv_open(&nv, nv_library()), 0);
		bench_write(&nv.bench, LAPTOP_STATE, "active\n");
		for (int k = 1; k <= 6000; k++) {
			nv_at(&nv, k * 0.1);
			nv_check_status(&nv.bench.readings[0], cases[i].status);
			assert_true(nv.bench.readings[0].error < 0);
		}
		assert_non_null(strstr(nv.bench.readings[0].reason, cases[i].reason));
		assert_non_null(strstr(nv.bench.readings[0].remedy, cases[i].remedy));
		assert_int_equal(nv.lib_opens, 1);
		assert_in_range(nv.calls("nvmlInit_v2"), 10, 20);
		nv.faulty = true; /* an NVML that never came up is not shut down */
		nv_done(&nv);
	}
}

/* What was declared is not there: absent, never 0, and hardly asked for again. */
static void test_wakes_without_a_counter(void **state)
{
	unsigned long before = 0;
	struct nv nv;

	(void)state;
	laptop(&nv, "laptop-power-only");
	assert_int_equal(nv_open(&nv, nv_library()), 0);
	bench_write(&nv.bench, LAPTOP_STATE, "active\n");
	for (int i = 1; i < 500; i++) {
		nv_at(&nv, i * 0.1);
		nv_check_status(&nv.bench.readings[0], WATTLE_STATUS_ABSENT);
		assert_int_equal(nv.bench.readings[0].error, -WTL_ENOCOUNTER);
		if (i == 1)
			before = nv.calls("*");
	}
	assert_int_equal(nv.calls("*"), before);
	/* These are the words in a report: they say what to do. */
	assert_string_equal(nv.bench.readings[0].reason, "this GPU has no energy counter");
	assert_non_null(strstr(nv.bench.readings[0].remedy, "start wattle while it is awake"));
	nv_done(&nv);
}

static int refuse_fields(struct nv *nv, size_t function, struct wtl_lib_arg args[], int *answer)
{
	(void)nv;
	(void)answer;
	if (function == WTL_NVML_FIELD_VALUES) {
		struct wtl_nvml_field *field = args[2].memory;

		field->code = WTL_NVML_NOT_SUPPORTED;
	}
	return 0;
}

/* The same refusal of what has answered before is a loss, not a lack. */
static void test_wakes_and_loses_its_counter(void **state)
{
	struct nv nv;

	(void)state;
	laptop(&nv, "laptop");
	assert_int_equal(nv_open(&nv, nv_library()), 0);
	bench_write(&nv.bench, LAPTOP_STATE, "active\n");
	nv_at(&nv, 1);
	assert_int_equal(nv.bench.readings[0].status, WATTLE_STATUS_OK);
	nv.twist = refuse_fields;
	nv_at(&nv, 2);
	nv_check_status(&nv.bench.readings[0], WATTLE_STATUS_GONE);
	assert_int_equal(nv.bench.readings[0].error, -EOPNOTSUPP);
	nv_done(&nv);
}

/* A driver without fields, whose counter has a function of its own. */
static void test_wakes_to_an_old_driver(void **state)
{
	struct nv nv;

	(void)state;
	nv_empty(&nv, "no-fields");
	add_pci(&nv, "0000:17:00.0", "suspended\n", "nvidia");
	assert_int_equal(nv_open(&nv, nv_library()), 0);
	nv_check_domains(&nv, "gpu-0");
	bench_write(&nv.bench, PCI "0000:17:00.0/power/runtime_status", "active\n");
	nv_at(&nv, 2);
	nv_check_ok(&nv.bench.readings[0], 99000 + 90000);
	nv_done(&nv);
}

/* Nothing is declared of a sleeping GPU that NVML could not measure, or whose sleep cannot be followed. */
static void test_asleep_and_not_ours(void **state)
{
	struct nv nv;

	(void)state;
	nv_empty(&nv, "asleep");
	add_pci(&nv, "0000:01:00.0", "suspended\n", "nouveau");
	add_pci(&nv, "0000:02:00.0", "suspended\n", NULL);
	assert_int_equal(nv_open(&nv, nv_library()), 0);
	assert_int_equal(nv.lib_opens, 0);
	nv_check_domains(&nv, "");
	assert_int_equal(nv.bench.catalog.n_misses, 2);
	nv_check_miss(&nv, "gpu-0", WATTLE_STATUS_ASLEEP, "0000:02:00.0 is suspended",
		      "start wattle while it is in use");
	nv_check_miss(&nv, "gpu-1", WATTLE_STATUS_FAILED, "driven by nouveau", "own driver");
	nv_at(&nv, 1);
	nv_done(&nv);

	laptop(&nv, "asleep");
	assert_int_equal(nv_open(&nv, ""), 0);
	nv_check_domains(&nv, "");
	nv_check_miss(&nv, "gpu-0", WATTLE_STATUS_ABSENT, "switched off", NULL);
	nv_done(&nv);
}

static void test_one_of_two_asleep(void **state)
{
	struct nv nv;

	(void)state;
	nv_empty(&nv, "asleep");
	add_pci(&nv, "0000:01:00.0", "suspended\n", "nvidia");
	add_pci(&nv, "0000:41:00.0", "active\n", "nvidia");
	assert_int_equal(nv_open(&nv, nv_library()), 0);
	nv_check_domains(&nv, "gpu-0 gpu-1 gpu-1");
	assert_string_equal(nv_channel(&nv, 1)->device, "NVIDIA GeForce RTX 4090");
	nv_check_miss(&nv, "gpu-0", WATTLE_STATUS_ASLEEP, "suspended", "power/control");
	for (int i = 1; i < 30; i++) {
		nv_at(&nv, i * 0.1);
		nv_check_status(&nv.bench.readings[0], WATTLE_STATUS_ASLEEP);
		nv_check_ok(&nv.bench.readings[1], 4000 + (uint64_t)i * 2100);
	}
	assert_int_equal(nv.touched(0), 0);
	assert_true(nv.touched(1) > 0);
	assert_int_equal(nv.calls("nvmlDeviceGetHandleByIndex_v2"), 0);
	assert_int_equal(nv.calls("nvmlDeviceGetHandleByUUID"), 0);
	bench_write(&nv.bench, LAPTOP_STATE, "active\n");
	nv_at(&nv, 3);
	nv_check_ok(&nv.bench.readings[0], 3000 + 15000);
	nv_check_ok(&nv.bench.readings[1], 4000 + 63000);
	assert_int_equal(nv.calls("nvmlInit_v2"), 1);
	nv_done(&nv);
}

/* A server has hundreds of PCI devices: one file tells that none of them matters. */
static void test_one_look_at_the_bus(void **state)
{
	static const struct {
		const char *devices;
		bool looks;
	} cases[] = {
		{"0008\t80862020\t0\t               0\n0208\t15b31017\t22\t        ff00000c\n",
		 false},
		{"0008\t80862020\t0\t               0\n4100\t10de2330\t1d\t        ff00000c\n",
		 true},
		{"", true}, /* tells nothing */
		{NULL, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned opens;
		struct nv nv;

		nv_empty(&nv, "asleep");
		for (int k = 0; k < 20; k++) {
			char path[96];

			snprintf(path, sizeof(path), PCI "0000:00:%02x.0/vendor", (unsigned)k);
			bench_write(&nv.bench, path, "0x8086\n");
		}
		if (cases[i].devices)
			bench_write(&nv.bench, "/proc/bus/pci/devices", cases[i].devices);
		if (cases[i].looks)
			add_pci(&nv, "0000:41:00.0", "active\n", "nvidia");
		opens = nv.bench.opens;
		assert_int_equal(nv_open(&nv, ""), 0);
		if (cases[i].looks)
			nv_check_miss(&nv, "gpu-0", WATTLE_STATUS_ABSENT, "0000:41:00.0", NULL);
		else
			nv_check_miss(&nv, "", WATTLE_STATUS_ABSENT, "NVML", NULL);
		assert_int_equal(nv.bench.opens - opens > 20, cases[i].looks);
		nv_done(&nv);
	}
}

/* NVML, and nvidia-smi with it, numbers only the GPUs of its own driver. */
static void test_foreign_gpus_take_no_number(void **state)
{
	struct nv nv;

	(void)state;
	nv_empty(&nv, "asleep");
	add_pci(&nv, "0000:00:08.0", "active\n", "vfio-pci");
	add_pci(&nv, "0000:01:00.0", "suspended\n", "nvidia");
	add_pci(&nv, "0000:41:00.0", "active\n", "nvidia");
	assert_int_equal(nv_open(&nv, nv_library()), 0);
	nv_check_domains(&nv, "gpu-0 gpu-1 gpu-1");
	nv_check_miss(&nv, "gpu-0", WATTLE_STATUS_ASLEEP, "0000:01:00.0 is suspended",
		      "power/control");
	nv_check_miss(&nv, "gpu-2", WATTLE_STATUS_FAILED, "driven by vfio-pci", "virtual machine");
	nv_done(&nv);
}

static void test_falls_asleep(void **state)
{
	const char *status = PCI "0000:01:00.0/power/runtime_status";
	unsigned long touched;
	struct nv nv;

	(void)state;
	nv_empty(&nv, "asleep");
	add_pci(&nv, "0000:01:00.0", "active\n", "nvidia");
	add_pci(&nv, "0000:41:00.0", "active\n", "nvidia");
	assert_int_equal(nv_open(&nv, nv_library()), 0);
	nv_check_domains(&nv, "gpu-0 gpu-0 gpu-1 gpu-1");
	nv_at(&nv, 1);
	nv_check_ok(&nv.bench.readings[0], 3000 + 5000);
	bench_write(&nv.bench, status, "suspended\n");
	nv_at(&nv, 2); /* the kernel is asked at most once a second */
	touched = nv.touched(0);
	nv_check_status(&nv.bench.readings[0], WATTLE_STATUS_ASLEEP);
	nv_check_status(&nv.bench.readings[1], WATTLE_STATUS_ASLEEP);
	nv_check_ok(&nv.bench.readings[2], 4000 + 42000);
	for (int i = 21; i < 50; i++) {
		nv_at(&nv, i * 0.1);
		nv_check_status(&nv.bench.readings[0], WATTLE_STATUS_ASLEEP);
	}
	assert_int_equal(nv.touched(0), touched);
	bench_write(&nv.bench, status, "active\n");
	nv_at(&nv, 6);
	nv_check_ok(&nv.bench.readings[0], 3000 + 30000);
	nv_check_ok(&nv.bench.readings[1], 5000);
	nv_done(&nv);
}

/* ---- The binary interface ---- */

static void test_field_types(void **state)
{
	struct wtl_nvml_field field = {.type = WTL_NVML_VALUE_U64, .value.u64 = UINT64_MAX};
	uint64_t value = 0;

	(void)state;
	assert_true(wtl_nvml_field_u64(&field, &value));
	assert_true(value == UINT64_MAX);
	field.type = WTL_NVML_VALUE_ULONG;
	assert_true(wtl_nvml_field_u64(&field, &value));
	field.type = WTL_NVML_VALUE_U32; /* the other half may hold anything */
	assert_true(wtl_nvml_field_u64(&field, &value));
	assert_int_equal(value, UINT32_MAX);
	field.type = WTL_NVML_VALUE_U16;
	assert_true(wtl_nvml_field_u64(&field, &value));
	assert_int_equal(value, UINT16_MAX);
	value = 7;
	field.type = WTL_NVML_VALUE_I64; /* -1 */
	assert_false(wtl_nvml_field_u64(&field, &value));
	field.type = WTL_NVML_VALUE_I32;
	assert_false(wtl_nvml_field_u64(&field, &value));
	field.type = WTL_NVML_VALUE_DOUBLE;
	assert_false(wtl_nvml_field_u64(&field, &value));
	field.type = 7;
	assert_false(wtl_nvml_field_u64(&field, &value));
	assert_int_equal(value, 7);
	field.type = WTL_NVML_VALUE_I32;
	field.value.i32 = 81;
	assert_true(wtl_nvml_field_u64(&field, &value));
	assert_int_equal(value, 81);
	field.code = 0x80000000;
	assert_int_equal(wtl_nvml_field_code(&field), WTL_NVML_UNKNOWN);
	field.code = WTL_NVML_GPU_IS_LOST;
	assert_int_equal(wtl_nvml_field_code(&field), WTL_NVML_GPU_IS_LOST);
}

static void test_function_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < WTL_NVML_FUNCTIONS; i++) {
		assert_non_null(wtl_nvml_functions[i].symbol);
		assert_non_null(wtl_nvml_functions[i].thunk);
		assert_true(wtl_nvml_functions[i].n_args <= WTL_LIB_ARGS_MAX);
		assert_int_equal(strncmp(wtl_nvml_functions[i].symbol, "nvml", 4), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a100),
		cmocka_unit_test(test_pascal),
		cmocka_unit_test(test_h100),
		cmocka_unit_test(test_gh200),
		cmocka_unit_test(test_gb200),
		cmocka_unit_test(test_no_fields),
		cmocka_unit_test(test_stride_and_mig),
		cmocka_unit_test(test_not_supported),
		cmocka_unit_test(test_no_permission),
		cmocka_unit_test(test_init_fails),
		cmocka_unit_test(test_no_gpu),
		cmocka_unit_test(test_no_library),
		cmocka_unit_test(test_other_drivers),
		cmocka_unit_test(test_numbers_go_on),
		cmocka_unit_test(test_asleep),
		cmocka_unit_test(test_wakes),
		cmocka_unit_test(test_wakes_to_no_library),
		cmocka_unit_test(test_words_for_loading),
		cmocka_unit_test(test_wakes_to_no_driver),
		cmocka_unit_test(test_wakes_without_a_counter),
		cmocka_unit_test(test_wakes_and_loses_its_counter),
		cmocka_unit_test(test_wakes_to_an_old_driver),
		cmocka_unit_test(test_asleep_and_not_ours),
		cmocka_unit_test(test_one_of_two_asleep),
		cmocka_unit_test(test_falls_asleep),
		cmocka_unit_test(test_foreign_gpus_take_no_number),
		cmocka_unit_test(test_one_look_at_the_bus),
		cmocka_unit_test(test_field_types),
		cmocka_unit_test(test_function_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
