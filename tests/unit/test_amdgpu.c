/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sensors/source.h"
#include "source_bench.h"

#define SECOND INT64_C(1000000000)

/* The sleeping card of the fixture, and its hwmon. */
#define CARD1 "/sys/devices/pci0000:00/0000:00:01.2/0000:02:00.0/0000:03:00.0/0000:05:00.0"
#define CARD0 "/sys/devices/pci0000:00/0000:00:03.1/0000:07:00.0/0000:08:00.0/0000:09:00.0"
#define APU   "/sys/devices/pci0000:00/0000:00:08.1/0000:c1:00.0"

static void two_cards_one_asleep(void **state)
{
	struct bench bench;
	const struct wtl_channel *channel;
	const struct wtl_miss *miss;
	char text[256];

	(void)state;
	bench_root(&bench, "amd-gpu");
	bench_open(&bench, &wtl_source_amdgpu);
	assert_string_equal(bench_domains(&bench, text, sizeof(text)), "gpu-0 gpu-1");
	channel = bench_channel(&bench, "gpu-0");
	assert_string_equal(channel->device, "AMD GPU 744c at 0000:09:00.0");
	assert_int_equal(channel->kind, WATTLE_KIND_GPU);
	assert_int_equal(channel->quantity, WTL_QUANTITY_POWER);
	assert_int_equal(channel->method, WATTLE_METHOD_INTEGRATED);
	assert_true(channel->in_total);
	assert_string_equal(channel->inside, "");
	assert_int_equal(channel->range, 0);

	/* The sleeping one is explained, and its name counts once. */
	assert_int_equal(bench.catalog.n_misses, 1);
	miss = bench_miss(&bench, "gpu-1");
	assert_int_equal(miss->status, WATTLE_STATUS_ASLEEP);
	assert_true(miss->in_total);
	assert_non_null(strstr(miss->reason, "suspended"));
	assert_int_equal(wtl_catalog_count(&bench.catalog, WATTLE_KIND_GPU), 2);

	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "gpu-0")->status, WATTLE_STATUS_OK);
	assert_int_equal(bench_reading(&bench, "gpu-0")->value, 87000000);
	/* A read of its files answers EPERM: this status says that there was none. */
	assert_int_equal(bench_reading(&bench, "gpu-1")->status, WATTLE_STATUS_ASLEEP);
	bench_done(&bench);
}

static void falls_asleep_and_wakes(void **state)
{
	struct bench bench;
	unsigned reads;

	(void)state;
	bench_copy(&bench, "amd-gpu");
	bench_open(&bench, &wtl_source_amdgpu);
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "gpu-0")->value, 87000000);

	/* Within a second of a look only the value is read: one read for the card that is awake. */
	reads = bench.reads;
	bench_read(&bench, SECOND / 10);
	assert_int_equal(bench.reads - reads, 1);

	bench_write(&bench, CARD0 "/power/runtime_status", "suspended\n");
	bench_write(&bench, CARD1 "/power/runtime_status", "active\n");
	bench_write(&bench, CARD1 "/hwmon/hwmon2/power1_average", "9000000\n");
	reads = bench.reads;
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "gpu-0")->status, WATTLE_STATUS_ASLEEP);
	assert_int_equal(bench_reading(&bench, "gpu-1")->status, WATTLE_STATUS_OK);
	assert_int_equal(bench_reading(&bench, "gpu-1")->value, 9000000);
	/* Two looks and one value. */
	assert_int_equal(bench.reads - reads, 3);

	bench_write(&bench, CARD0 "/power/runtime_status", "active\n");
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "gpu-0")->status, WATTLE_STATUS_OK);
	assert_int_equal(bench_reading(&bench, "gpu-0")->value, 87000000);
	bench_done(&bench);
}

/* The driver refuses before the next look at runtime_status is due. */
static void refused_while_falling_asleep(void **state)
{
	struct bench bench;

	(void)state;
	bench_copy(&bench, "amd-gpu");
	bench_open(&bench, &wtl_source_amdgpu);
	bench_read(&bench, SECOND);
	bench_write(&bench, CARD0 "/power/runtime_status", "suspending\n");
	bench_write(&bench, CARD0 "/hwmon/hwmon1/power1_average", "!errno EPERM");
	bench_read(&bench, SECOND / 10);
	assert_int_equal(bench_reading(&bench, "gpu-0")->status, WATTLE_STATUS_ASLEEP);

	/* Awake and refused is no sleep. */
	bench_write(&bench, CARD0 "/power/runtime_status", "active\n");
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "gpu-0")->status, WATTLE_STATUS_DENIED);
	assert_int_equal(bench_reading(&bench, "gpu-0")->error, -EPERM);
	bench_write(&bench, CARD0 "/hwmon/hwmon1/power1_average", "1000000\n");
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "gpu-0")->value, 1000000);
	bench_done(&bench);
}

static void energy_first_then_whatever_answers(void **state)
{
	struct bench bench;
	const struct wtl_channel *channel;

	(void)state;
	bench_copy(&bench, "amd-gpu");
	bench_write(&bench, CARD0 "/hwmon/hwmon1/energy1_input", "5000000000\n");
	bench_open(&bench, &wtl_source_amdgpu);
	channel = bench_channel(&bench, "gpu-0");
	assert_int_equal(channel->quantity, WTL_QUANTITY_ENERGY);
	assert_int_equal(channel->method, WATTLE_METHOD_COUNTER);
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "gpu-0")->value, 5000000000);
	bench_done(&bench);

	bench_copy(&bench, "amd-gpu");
	bench_write(&bench, CARD0 "/hwmon/hwmon1/power1_average", "!errno EOPNOTSUPP");
	bench_write(&bench, CARD0 "/hwmon/hwmon1/power1_input", "42000000\n");
	bench_open(&bench, &wtl_source_amdgpu);
	assert_int_equal(bench_channel(&bench, "gpu-0")->quantity, WTL_QUANTITY_POWER);
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "gpu-0")->value, 42000000);
	bench_done(&bench);
}

static void what_cannot_be_read_is_explained(void **state)
{
	struct bench bench;
	const struct wtl_miss *miss;

	(void)state;
	bench_copy(&bench, "amd-gpu");
	bench_write(&bench, CARD0 "/hwmon/hwmon1/power1_average", "!errno EACCES");
	bench_remove(&bench, CARD1 "/hwmon");
	bench_open(&bench, &wtl_source_amdgpu);
	assert_int_equal(bench.catalog.n_channels, 0);
	miss = bench_miss(&bench, "gpu-0");
	assert_int_equal(miss->status, WATTLE_STATUS_DENIED);
	assert_string_equal(miss->reason, "power1_average is not readable by this user");
	assert_string_equal(
		miss->remedy,
		"sudo chgrp $(id -gn) /sys/class/drm/card0/device/hwmon/hwmon1/power1_average && "
		"sudo chmod g+r /sys/class/drm/card0/device/hwmon/hwmon1/power1_average (until the next boot)");
	miss = bench_miss(&bench, "gpu-1");
	assert_int_equal(miss->status, WATTLE_STATUS_ABSENT);
	assert_non_null(strstr(miss->reason, "AMD GPU 7480 at 0000:05:00.0"));
	bench_read(&bench, SECOND);
	bench_done(&bench);
}

static void product_name_is_cleaned(void **state)
{
	struct bench bench;

	(void)state;
	bench_copy(&bench, "amd-gpu");
	bench_write(&bench, CARD0 "/product_name", "Instinct \x1b[2JMI210\n");
	bench_open(&bench, &wtl_source_amdgpu);
	assert_string_equal(bench_channel(&bench, "gpu-0")->device, "Instinct ?[2JMI210");
	bench_done(&bench);
}

static void numbers_go_on_after_other_gpus(void **state)
{
	const struct wtl_channel other = {
		.domain = "gpu-0", .kind = WATTLE_KIND_GPU, .unit = {1, 1}};
	struct bench bench;
	char text[256];

	(void)state;
	bench_root(&bench, "amd-gpu");
	bench.catalog.source = "nvml";
	assert_return_code(wtl_catalog_add(&bench.catalog, &other), 0);
	bench_open(&bench, &wtl_source_amdgpu);
	assert_string_equal(bench_domains(&bench, text, sizeof(text)), "gpu-0 gpu-1 gpu-2");
	bench_done(&bench);
}

/* An APU's figure is its package's: beside RAPL it must not be added, without RAPL it stands in. */
static void apu(void **state)
{
	const struct wtl_channel package = {
		.domain = "package-0", .kind = WATTLE_KIND_CPU, .unit = {1, 1}};
	struct bench bench;
	const struct wtl_channel *channel;

	(void)state;
	bench_root(&bench, "amd-apu");
	bench.catalog.source = "rapl-powercap";
	assert_return_code(wtl_catalog_add(&bench.catalog, &package), 0);
	bench_open(&bench, &wtl_source_amdgpu);
	channel = bench_channel(&bench, "gpu-0");
	assert_false(channel->in_total);
	assert_string_equal(channel->inside, "package-0");
	assert_int_equal(channel->kind, WATTLE_KIND_GPU);
	bench_done(&bench);

	bench_root(&bench, "amd-apu");
	bench_open(&bench, &wtl_source_amdgpu);
	assert_int_equal(bench.catalog.n_channels, 1);
	channel = bench_channel(&bench, "package-0");
	assert_true(channel->in_total);
	assert_int_equal(channel->kind, WATTLE_KIND_CPU);
	assert_string_equal(channel->inside, "");
	assert_string_equal(channel->device, "AMD APU 15bf at 0000:c1:00.0, with the CPU");
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "package-0")->value, 6110000);
	bench_done(&bench);

	/* MI300A shows no vddnb. */
	bench_copy(&bench, "amd-apu");
	bench_remove(&bench, APU "/hwmon/hwmon3/in1_label");
	bench_write(&bench, APU "/device", "0x74a0\n");
	bench_open(&bench, &wtl_source_amdgpu);
	assert_int_equal(bench_channel(&bench, "package-0")->kind, WATTLE_KIND_CPU);
	bench_done(&bench);

	/* The same files of any other device without it are a card. */
	bench_copy(&bench, "amd-apu");
	bench_remove(&bench, APU "/hwmon/hwmon3/in1_label");
	bench_open(&bench, &wtl_source_amdgpu);
	assert_true(bench_channel(&bench, "gpu-0")->in_total);
	bench_done(&bench);
}

/* Four sockets with an MI300A each: every one is a package of its own. */
static void several_apus(void **state)
{
	struct bench bench;
	char text[256];

	(void)state;
	bench_copy(&bench, "");
	for (unsigned i = 0; i < 4; i++) {
		char path[96];

		snprintf(path, sizeof(path), "/sys/class/drm/card%u/device/vendor", 10 - i);
		bench_write(&bench, path, "0x1002\n");
		snprintf(path, sizeof(path), "/sys/class/drm/card%u/device/device", 10 - i);
		bench_write(&bench, path, "0x74a0\n");
		snprintf(path, sizeof(path),
			 "/sys/class/drm/card%u/device/hwmon/hwmon%u/power1_input", 10 - i, 10 - i);
		bench_write(&bench, path, i == 0 ? "550000000" : "120000000");
	}
	bench_open(&bench, &wtl_source_amdgpu);
	assert_string_equal(bench_domains(&bench, text, sizeof(text)),
			    "package-0 package-1 package-2 package-3");
	/* By the numbers of the cards: card10 comes after card9. */
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "package-0")->value, 120000000);
	assert_int_equal(bench_reading(&bench, "package-3")->value, 550000000);
	bench_done(&bench);
}

static void unplugged(void **state)
{
	struct bench bench;

	(void)state;
	bench_copy(&bench, "amd-gpu");
	bench_open(&bench, &wtl_source_amdgpu);
	bench_write(&bench, CARD0 "/hwmon/hwmon1/power1_average", "!errno ENODEV");
	bench_read(&bench, SECOND / 10);
	assert_int_equal(bench_reading(&bench, "gpu-0")->status, WATTLE_STATUS_GONE);
	assert_int_equal(bench_reading(&bench, "gpu-1")->status, WATTLE_STATUS_ASLEEP);
	bench_done(&bench);
}

static void machines_without(void **state)
{
	static const char *const roots[] = {"vm-nothing", "intel-gpu", "nvidia-laptop", "rubbish",
					    "grace"};

	(void)state;
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		struct bench bench;

		bench_root(&bench, roots[i]);
		bench_open(&bench, &wtl_source_amdgpu);
		assert_int_equal(bench.catalog.n_channels, 0);
		assert_int_equal(bench.catalog.n_misses, 0);
		bench_read(&bench, SECOND);
		bench_done(&bench);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_cards_one_asleep),
		cmocka_unit_test(falls_asleep_and_wakes),
		cmocka_unit_test(refused_while_falling_asleep),
		cmocka_unit_test(energy_first_then_whatever_answers),
		cmocka_unit_test(what_cannot_be_read_is_explained),
		cmocka_unit_test(product_name_is_cleaned),
		cmocka_unit_test(numbers_go_on_after_other_gpus),
		cmocka_unit_test(apu),
		cmocka_unit_test(several_apus),
		cmocka_unit_test(unplugged),
		cmocka_unit_test(machines_without),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
