/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sensors/source.h"
#include "source_bench.h"

#define SECOND INT64_C(1000000000)

#define B580 "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:03:00.0"
#define A380 "/sys/devices/pci0000:00/0000:00:1c.0/0000:04:00.0/0000:05:01.0/0000:06:00.0"

static void xe_and_i915(void **state)
{
	struct bench bench;
	const struct wtl_channel *channel;
	char text[256];

	(void)state;
	bench_root(&bench, "intel-gpu");
	bench_open(&bench, &wtl_source_intel_gpu);
	/* The integrated one is a part of the package and has no entry. */
	assert_string_equal(bench_domains(&bench, text, sizeof(text)), "gpu-0 gpu-1");
	assert_int_equal(bench.catalog.n_misses, 0);
	for (unsigned i = 0; i < 2; i++) {
		channel = &bench.catalog.channels[i];
		assert_int_equal(channel->kind, WATTLE_KIND_GPU);
		assert_int_equal(channel->quantity, WTL_QUANTITY_ENERGY);
		assert_int_equal(channel->method, WATTLE_METHOD_COUNTER);
		assert_int_equal(channel->range, 0);
		assert_true(channel->in_total);
	}
	assert_string_equal(bench.catalog.channels[0].device, "Intel GPU e20b at 0000:03:00.0");
	bench_read(&bench, SECOND);
	/* The card, not the package on it; more than 32 bits hold (nvtop#409). */
	assert_int_equal(bench_reading(&bench, "gpu-0")->value, 30114886223);
	assert_int_equal(bench_reading(&bench, "gpu-1")->value, 4120338917);
	bench_done(&bench);
}

static void counts_on(void **state)
{
	struct bench bench;

	(void)state;
	bench_copy(&bench, "intel-gpu");
	bench_open(&bench, &wtl_source_intel_gpu);
	bench_read(&bench, SECOND);
	bench_write(&bench, A380 "/hwmon/hwmon3/energy1_input", "4295967296\n");
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "gpu-1")->value, 4295967296);
	assert_int_equal(bench_reading(&bench, "gpu-1")->t_mono_ns, BENCH_START_NS + 2 * SECOND);
	bench_done(&bench);
}

static void package_only(void **state)
{
	struct bench bench;

	(void)state;
	bench_copy(&bench, "intel-gpu");
	bench_remove(&bench, B580 "/hwmon/hwmon2/energy1_input");
	bench_open(&bench, &wtl_source_intel_gpu);
	assert_string_equal(bench_channel(&bench, "gpu-0")->device,
			    "Intel GPU e20b at 0000:03:00.0, chip only");
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "gpu-0")->value, 21889104322);
	bench_done(&bench);

	/* Some drivers' only counter is the first, and called pkg. */
	bench_copy(&bench, "intel-gpu");
	bench_remove(&bench, B580 "/hwmon/hwmon2/energy2_input");
	bench_write(&bench, B580 "/hwmon/hwmon2/energy1_label", "pkg\n");
	bench_open(&bench, &wtl_source_intel_gpu);
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "gpu-0")->value, 30114886223);
	bench_done(&bench);
}

static void asleep(void **state)
{
	struct bench bench;

	(void)state;
	bench_copy(&bench, "intel-gpu");
	bench_write(&bench, B580 "/power/runtime_status", "suspended\n");
	bench_write(&bench, B580 "/hwmon/hwmon2/energy1_input", "!errno EIO");
	bench_open(&bench, &wtl_source_intel_gpu);
	assert_int_equal(bench_miss(&bench, "gpu-0")->status, WATTLE_STATUS_ASLEEP);
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "gpu-0")->status, WATTLE_STATUS_ASLEEP);
	assert_int_equal(bench_reading(&bench, "gpu-1")->status, WATTLE_STATUS_OK);
	bench_write(&bench, B580 "/power/runtime_status", "active\n");
	bench_write(&bench, B580 "/hwmon/hwmon2/energy1_input", "30114886224\n");
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "gpu-0")->value, 30114886224);
	bench_done(&bench);
}

static void no_counter(void **state)
{
	struct bench bench;
	const struct wtl_miss *miss;

	(void)state;
	bench_copy(&bench, "intel-gpu");
	bench_remove(&bench, B580 "/hwmon");
	bench_write(&bench, A380 "/hwmon/hwmon3/energy1_input", "!errno EACCES");
	bench_open(&bench, &wtl_source_intel_gpu);
	assert_int_equal(bench.catalog.n_channels, 0);
	miss = bench_miss(&bench, "gpu-0");
	assert_int_equal(miss->status, WATTLE_STATUS_ABSENT);
	assert_non_null(strstr(miss->reason, "GPU e20b at 0000:03:00.0"));
	assert_string_equal(miss->remedy, "use Linux 6.2 (i915) or 6.8 (xe) or later");
	miss = bench_miss(&bench, "gpu-1");
	assert_int_equal(miss->status, WATTLE_STATUS_DENIED);
	assert_string_equal(
		miss->remedy,
		"sudo chgrp $(id -gn) /sys/class/drm/card2/device/hwmon/hwmon3/energy1_input && "
		"sudo chmod g+r /sys/class/drm/card2/device/hwmon/hwmon3/energy1_input (until the next boot)");
	bench_done(&bench);
}

/* A counter that is busy while the source opens is kept and tried again. */
static void passing_failure(void **state)
{
	struct bench bench;

	(void)state;
	bench_copy(&bench, "intel-gpu");
	bench_write(&bench, A380 "/hwmon/hwmon3/energy1_input", "!errno EBUSY");
	bench_open(&bench, &wtl_source_intel_gpu);
	assert_int_equal(bench.catalog.n_channels, 2);
	bench_write(&bench, A380 "/hwmon/hwmon3/energy1_input", "7\n");
	bench_read(&bench, 2 * SECOND);
	assert_int_equal(bench_reading(&bench, "gpu-1")->status, WATTLE_STATUS_OK);
	assert_int_equal(bench_reading(&bench, "gpu-1")->value, 7);
	bench_done(&bench);
}

static void machines_without(void **state)
{
	static const char *const roots[] = {"vm-nothing", "amd-gpu", "nvidia-laptop", "rubbish"};

	(void)state;
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		struct bench bench;

		bench_root(&bench, roots[i]);
		bench_open(&bench, &wtl_source_intel_gpu);
		assert_int_equal(bench.catalog.n_channels, 0);
		assert_int_equal(bench.catalog.n_misses, 0);
		bench_done(&bench);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(xe_and_i915),	    cmocka_unit_test(counts_on),
		cmocka_unit_test(package_only),	    cmocka_unit_test(asleep),
		cmocka_unit_test(no_counter),	    cmocka_unit_test(passing_failure),
		cmocka_unit_test(machines_without),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
