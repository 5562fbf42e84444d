/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sensors/hwmon_read.h"
#include "sensors/hwmon_rules.h"
#include "sensors/source.h"
#include "source_bench.h"

#define SECOND INT64_C(1000000000)
#define HWMON  "/sys/class/hwmon/"

/* Puts one chip with one sensor into the copy. */
static void chip(const struct bench *bench, unsigned n, const char *name, const char *file,
		 const char *value, const char *label)
{
	char path[128];

	snprintf(path, sizeof(path), HWMON "hwmon%u/name", n);
	bench_write(bench, path, name);
	snprintf(path, sizeof(path), HWMON "hwmon%u/%s", n, file);
	bench_write(bench, path, value);
	if (label) {
		snprintf(path, sizeof(path), HWMON "hwmon%u/%.*s_label", n, (int)strcspn(file, "_"),
			 file);
		bench_write(bench, path, label);
	}
}

static void patterns(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
		int number;
	} cases[] = {
		{"Esocket#", "Esocket0", true, 0},
		{"Esocket#", "Esocket12", true, 12},
		{"Esocket#", "Esocket", false, -1},
		{"Esocket#", "Esocket1x", false, -1},
		{"Esocket#", "Esocket99999", false, -1},
		{"CPU Power Socket #", "CPU Power Socket 1", true, 1},
		{"*", "", true, -1},
		{"*", "anything", true, -1},
		{"", "", true, -1},
		{"", "x", false, -1},
		{"x", "", false, -1},
		{"#", "", false, -1},
		{"#*", "7 of 9", true, 7},
		{"*CORE VRD", "power1 CORE VRD", true, -1},
		{"*CORE VRD", "power1 CORE VRD temp", false, -1},
		{"*aab", "aaaaaab", true, -1},
		{"*_proc", "0_proc_proc", true, -1},
		{"a*b*c", "a1b2b3c", true, -1},
		{"a*b*c", "a1c2b", false, -1},
		{"Chip #", "Chip 0 Vdd", false, -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int number = -1;

		if (wtl_hwmon_match(cases[i].pattern, cases[i].text, &number) != cases[i].matches ||
		    number != cases[i].number)
			fail_msg("\"%s\" on \"%s\": %d", cases[i].pattern, cases[i].text, number);
	}
}

/* What goes into a remedy is a name that the kernel makes. */
static void entries(void **state)
{
	(void)state;
	assert_true(wtl_hwmon_is_entry("hwmon0"));
	assert_true(wtl_hwmon_is_entry("hwmon123"));
	assert_false(wtl_hwmon_is_entry("hwmon"));
	assert_false(wtl_hwmon_is_entry("hwmon1 "));
	assert_false(wtl_hwmon_is_entry("hwmon1\n"));
	assert_false(wtl_hwmon_is_entry("hwmon;reboot"));
	assert_false(wtl_hwmon_is_entry("hwmon-1"));
	assert_false(wtl_hwmon_is_entry("hwmon123456789"));
	assert_false(wtl_hwmon_is_entry("card0"));
}

/* Every rule's own consistency, by what it gives for typical labels. */
static void rules(void **state)
{
	static const struct {
		const char *chip, *label;
		enum wtl_hwmon_use use;
		enum wattle_kind kind;
		int number;
	} cases[] = {
		{"amd_energy", "Esocket1", WTL_HWMON_PART, WATTLE_KIND_CPU, 1},
		{"amd_energy", "Ecore007", WTL_HWMON_IGNORE, WATTLE_KIND_BOARD, -1},
		{"zenergy", "Esocket0", WTL_HWMON_PART, WATTLE_KIND_CPU, 0},
		{"zenergy", "Ecore015", WTL_HWMON_IGNORE, WATTLE_KIND_BOARD, -1},
		{"amd_hsmp_hwmon", "", WTL_HWMON_PART, WATTLE_KIND_CPU, -1},
		{"acpi_fan", "", WTL_HWMON_IGNORE, WATTLE_KIND_BOARD, -1},
		{"apm_xgene", "CPU power", WTL_HWMON_PART, WATTLE_KIND_CPU, -1},
		{"apm_xgene", "IO power", WTL_HWMON_PART, WATTLE_KIND_SOC, -1},
		{"smpro_hwmon", "power1 CORE VRD", WTL_HWMON_PART, WATTLE_KIND_CPU, -1},
		{"smpro_hwmon", "power2 SoC", WTL_HWMON_PART, WATTLE_KIND_SOC, -1},
		{"smpro_hwmon", "power4 DIMM VRD2", WTL_HWMON_PART, WATTLE_KIND_DRAM, -1},
		{"smpro_hwmon", "power5 RCA VRD", WTL_HWMON_PART, WATTLE_KIND_SOC, -1},
		{"power_meter", "Module Power Socket 1", WTL_HWMON_SHOWN, WATTLE_KIND_MODULE, 1},
		{"power_meter", "System power", WTL_HWMON_SHOWN, WATTLE_KIND_BOARD, -1},
		{"power_meter", "", WTL_HWMON_SHOWN, WATTLE_KIND_BOARD, -1},
		{"ibmpowernv", "Chip 8", WTL_HWMON_PART, WATTLE_KIND_CPU, 8},
		{"ibmpowernv", "Chip 8 Vdd", WTL_HWMON_IGNORE, WATTLE_KIND_BOARD, -1},
		{"ibmpowernv", "System", WTL_HWMON_SHOWN, WATTLE_KIND_BOARD, -1},
		{"occ", "0_proc", WTL_HWMON_PART, WATTLE_KIND_CPU, -1},
		{"occ", "0_vdd", WTL_HWMON_IGNORE, WATTLE_KIND_BOARD, -1},
		{"fam15h_power", "", WTL_HWMON_PART, WATTLE_KIND_CPU, -1},
		{"ina3221", "VDD_GPU_SOC", WTL_HWMON_PART, WATTLE_KIND_SOC, -1},
		{"ina3221", "VDDQ_VDD2_1V8AO", WTL_HWMON_PART, WATTLE_KIND_DRAM, -1},
		{"ina3221", "VIN_SYS_5V0", WTL_HWMON_SHOWN, WATTLE_KIND_BOARD, -1},
		{"ina226", "", WTL_HWMON_SHOWN, WATTLE_KIND_BOARD, -1},
		{"corsairpsu", "power total", WTL_HWMON_SHOWN, WATTLE_KIND_BOARD, -1},
		{"corsairpsu", "power +12v", WTL_HWMON_IGNORE, WATTLE_KIND_BOARD, -1},
		{"sfp_2", "TX_power", WTL_HWMON_IGNORE, WATTLE_KIND_BOARD, -1},
		{"anything", "at all", WTL_HWMON_SHOWN, WATTLE_KIND_BOARD, -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int number;
		const struct wtl_hwmon_rule *rule =
			wtl_hwmon_rule_find(cases[i].chip, cases[i].label, &number);

		if (rule->use != cases[i].use || rule->kind != cases[i].kind ||
		    number != cases[i].number)
			fail_msg("%s, \"%s\": %d %d %d", cases[i].chip, cases[i].label,
				 (int)rule->use, (int)rule->kind, number);
		assert_true(rule->use == WTL_HWMON_IGNORE || rule->gain_ppm > 0);
	}
	for (int kind = 0; kind < WATTLE_KINDS; kind++)
		assert_true(wtl_hwmon_max_uw((enum wattle_kind)kind) >= UINT64_C(1000000000));
	assert_true(wtl_hwmon_chip_owned("i915_gt0"));
	assert_false(wtl_hwmon_chip_owned("xeno"));
}

static void sockets_and_no_cores(void **state)
{
	struct bench bench;
	const struct wtl_channel *channel;

	(void)state;
	bench_root(&bench, "amd-energy-hwmon");
	bench_open(&bench, &wtl_source_hwmon);
	assert_int_equal(bench.catalog.n_channels, 1);
	assert_int_equal(bench.catalog.n_misses, 0);
	channel = bench_channel(&bench, "package-0");
	assert_int_equal(channel->kind, WATTLE_KIND_CPU);
	assert_true(channel->in_total);
	assert_int_equal(channel->quantity, WTL_QUANTITY_ENERGY);
	assert_int_equal(channel->method, WATTLE_METHOD_COUNTER);
	assert_int_equal(channel->update_ns, 1000000);
	assert_string_equal(channel->device, "amd_energy: Esocket0");
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "package-0")->value, 21889104322);
	bench_done(&bench);
}

static void arm_server(void **state)
{
	struct bench bench;
	char text[256];

	(void)state;
	bench_root(&bench, "arm-server");
	bench_open(&bench, &wtl_source_hwmon);
	assert_string_equal(bench_domains(&bench, text, sizeof(text)),
			    "package-0 soc-0 board-0 board-1 board-2");
	assert_true(bench_channel(&bench, "package-0")->in_total);
	assert_true(bench_channel(&bench, "soc-0")->in_total);
	/* A server's meter, and a chip whose labels are its firmware's, are second opinions. */
	assert_false(bench_channel(&bench, "board-0")->in_total);
	assert_string_equal(bench_channel(&bench, "board-0")->device, "power_meter: System power");
	assert_int_equal(bench_channel(&bench, "board-0")->update_ns, SECOND);
	assert_string_equal(bench_channel(&bench, "board-1")->device, "scmi_sensors: SOC_ENERGY");
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "package-0")->value, 38440000);
	assert_int_equal(bench_reading(&bench, "soc-0")->value, 18250000);
	assert_int_equal(bench_reading(&bench, "board-0")->value, 142000000);
	assert_int_equal(bench_reading(&bench, "board-1")->value, 5230114886);
	assert_int_equal(bench_reading(&bench, "board-2")->value, 39120000);
	bench_done(&bench);
}

static void grace(void **state)
{
	struct bench bench;
	char text[256];
	static const struct {
		const char *domain, *inside;
		enum wattle_kind kind;
		bool in_total;
		uint64_t value;
	} want[] = {
		{"module-0", "", WATTLE_KIND_MODULE, false, 164800000},
		{"soc-0", "module-0", WATTLE_KIND_SOC, false, 74200000},
		{"package-0", "soc-0", WATTLE_KIND_CPU, true, 40100000},
		{"uncore-0", "soc-0", WATTLE_KIND_UNCORE, true, 26300000},
	};

	(void)state;
	bench_root(&bench, "grace");
	bench_open(&bench, &wtl_source_hwmon);
	assert_string_equal(bench_domains(&bench, text, sizeof(text)),
			    "module-0 soc-0 package-0 uncore-0");
	bench_read(&bench, SECOND);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		const struct wtl_channel *channel = bench_channel(&bench, want[i].domain);

		assert_string_equal(channel->inside, want[i].inside);
		assert_int_equal(channel->kind, want[i].kind);
		assert_int_equal(channel->in_total, want[i].in_total);
		assert_int_equal(channel->update_ns, 50000000);
		assert_int_equal(bench_reading(&bench, want[i].domain)->value, want[i].value);
	}
	bench_done(&bench);
}

static void jetson(void **state)
{
	struct bench bench;
	char text[256];

	(void)state;
	bench_root(&bench, "jetson");
	bench_open(&bench, &wtl_source_hwmon);
	/* Three rails; the sum of shunt voltages is none. */
	assert_string_equal(bench_domains(&bench, text, sizeof(text)), "board-0 soc-0 soc-1");
	assert_false(bench_channel(&bench, "board-0")->in_total);
	assert_true(bench_channel(&bench, "soc-0")->in_total);
	assert_string_equal(bench_channel(&bench, "soc-0")->inside, "board-0");
	assert_string_equal(bench_channel(&bench, "soc-0")->device, "ina3221: VDD_CPU_GPU_CV");
	assert_int_equal(bench_channel(&bench, "soc-0")->update_ns, 2000000);
	assert_true(bench_channel(&bench, "soc-0")->offset_uw > 0);
	bench_read(&bench, SECOND);
	/* 4.976 V × 1.120 A and so on. */
	assert_int_equal(bench_reading(&bench, "board-0")->value, 5573120);
	assert_int_equal(bench_reading(&bench, "soc-0")->value, 1510272);
	assert_int_equal(bench_reading(&bench, "soc-1")->value, 1669248);
	bench_done(&bench);
}

#define INA "/sys/devices/platform/bus@0/c240000.i2c/i2c-1/1-0040/hwmon/hwmon1"

static void jetson_without_rails(void **state)
{
	struct bench bench;
	const struct wtl_channel *channel;

	(void)state;
	bench_copy(&bench, "jetson");
	bench_write(&bench, INA "/in2_enable", "0\n");
	bench_write(&bench, INA "/in3_label", "NC\n");
	bench_open(&bench, &wtl_source_hwmon);
	/* The input is all there is, so it counts, as what it feeds. */
	assert_int_equal(bench.catalog.n_channels, 1);
	channel = bench_channel(&bench, "module-0");
	assert_true(channel->in_total);
	assert_int_equal(channel->kind, WATTLE_KIND_MODULE);
	bench_done(&bench);
}

static void product_of_two_files(void **state)
{
	struct bench bench;

	(void)state;
	bench_copy(&bench, "jetson");
	bench_open(&bench, &wtl_source_hwmon);
	/* An idle rail's offset may be negative: that is no power, not a huge one. */
	bench_write(&bench, INA "/curr2_input", "-8\n");
	bench_write(&bench, INA "/in3_input", "!errno ENODATA");
	bench_write(&bench, INA "/curr1_input", "9223372036854775807\n");
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "soc-0")->status, WATTLE_STATUS_OK);
	assert_int_equal(bench_reading(&bench, "soc-0")->value, 0);
	assert_int_equal(bench_reading(&bench, "soc-1")->status, WATTLE_STATUS_FAILED);
	assert_int_equal(bench_reading(&bench, "soc-1")->error, -ENODATA);
	assert_int_equal(bench_reading(&bench, "board-0")->error, -ERANGE);
	bench_write(&bench, INA "/in3_input", "5000\n");
	bench_read(&bench, 2 * SECOND);
	assert_int_equal(bench_reading(&bench, "soc-1")->value, 1680000);
	bench_done(&bench);
}

static void other_sources_chips(void **state)
{
	static const char *const roots[] = {"amd-gpu",	  "amd-apu",	   "intel-gpu",
					    "vm-nothing", "nvidia-laptop", "laptop-battery"};

	(void)state;
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		struct bench bench;

		bench_root(&bench, roots[i]);
		bench_open(&bench, &wtl_source_hwmon);
		assert_int_equal(bench.catalog.n_channels, 0);
		assert_int_equal(bench.catalog.n_misses, 0);
		bench_read(&bench, SECOND);
		bench_done(&bench);
	}
}

static void rubbish(void **state)
{
	struct bench bench;

	(void)state;
	bench_root(&bench, "rubbish");
	bench_open(&bench, &wtl_source_hwmon);
	/* What is no number is a miss with a reason; the chip without a name has a good number. */
	assert_int_equal(bench.catalog.n_channels, 1);
	assert_string_equal(bench.catalog.channels[0].device, "unnamed chip");
	assert_true(bench.catalog.n_misses >= 4);
	for (size_t i = 0; i < bench.catalog.n_misses; i++) {
		assert_int_equal(bench.catalog.misses[i].status, WATTLE_STATUS_FAILED);
		assert_false(bench.catalog.misses[i].in_total);
	}
	bench_read(&bench, SECOND);
	assert_int_equal(bench.readings[0].value, 1000000);
	bench_done(&bench);
}

static void denied(void **state)
{
	struct bench bench;
	const struct wtl_miss *miss;

	(void)state;
	bench_copy(&bench, "amd-energy-hwmon");
	bench_write(&bench, "/sys/devices/platform/amd_energy.0/hwmon/hwmon0/energy9_input",
		    "!errno EACCES");
	bench_open(&bench, &wtl_source_hwmon);
	assert_int_equal(bench.catalog.n_channels, 0);
	miss = bench_miss(&bench, "package-0");
	assert_int_equal(miss->status, WATTLE_STATUS_DENIED);
	assert_int_equal(miss->kind, WATTLE_KIND_CPU);
	assert_true(miss->in_total);
	assert_string_equal(
		miss->remedy,
		"sudo chgrp $(id -gn) /sys/class/hwmon/hwmon0/energy9_input && "
		"sudo chmod g+r /sys/class/hwmon/hwmon0/energy9_input (until the next boot)");
	bench_done(&bench);
}

/* POWER9: energy and power of one label are one domain, measured twice. */
static void energy_and_power(void **state)
{
	struct bench bench;
	char text[256];

	(void)state;
	bench_copy(&bench, "");
	chip(&bench, 0, "ibmpowernv\n", "energy1_input", "7510000000000\n", "Chip 8 \n");
	chip(&bench, 0, "ibmpowernv\n", "energy2_input", "2680000000000\n", "Chip 8 Vdd\n");
	chip(&bench, 0, "ibmpowernv\n", "energy3_input", "21290000000000\n", "System\n");
	chip(&bench, 0, "ibmpowernv\n", "power4_input", "99000000\n", "Chip 8 \n");
	chip(&bench, 0, "ibmpowernv\n", "power5_input", "426000000\n", "System\n");
	bench_open(&bench, &wtl_source_hwmon);
	assert_string_equal(bench_domains(&bench, text, sizeof(text)),
			    "package-8 board-0 package-8 board-0");
	bench_read(&bench, SECOND);
	assert_int_equal(bench.readings[0].value, 7510000000000);
	assert_int_equal(bench.readings[2].value, 99000000);
	assert_int_equal(bench.catalog.channels[0].quantity, WTL_QUANTITY_ENERGY);
	assert_int_equal(bench.catalog.channels[2].quantity, WTL_QUANTITY_POWER);
	bench_done(&bench);
}

static void several_of_a_kind(void **state)
{
	struct bench bench;
	char text[256];

	(void)state;
	bench_copy(&bench, "");
	chip(&bench, 0, "fam15h_power", "power1_input", "31000000", NULL);
	chip(&bench, 1, "fam15h_power", "power1_average", "30000000", NULL);
	chip(&bench, 1, "fam15h_power", "power1_input", "0", NULL);
	chip(&bench, 2, "sfp_1", "power1_input", "512", "TX_power");
	chip(&bench, 3, "pmbus", "power1_input", "210000000", "pin");
	chip(&bench, 3, "pmbus", "power2_input", "190000000", "pout1");
	bench_open(&bench, &wtl_source_hwmon);
	assert_string_equal(bench_domains(&bench, text, sizeof(text)),
			    "package-0 package-1 board-0 board-1");
	bench_read(&bench, SECOND);
	/* The average is preferred. */
	assert_int_equal(bench.readings[1].value, 30000000);
	bench_done(&bench);

	/* Two chips that claim one domain: it is there once. */
	bench_copy(&bench, "");
	chip(&bench, 0, "amd_energy", "energy1_input", "1", "Esocket0");
	chip(&bench, 1, "amd_energy", "energy1_input", "2", "Esocket0");
	bench_open(&bench, &wtl_source_hwmon);
	assert_int_equal(bench.catalog.n_channels, 1);
	bench_read(&bench, SECOND);
	assert_int_equal(bench.readings[0].value, 1);
	bench_done(&bench);
}

/* A part names its whole only where that is known. */
static void parts_of_a_package(void **state)
{
	const struct wtl_channel package = {
		.domain = "package-0", .kind = WATTLE_KIND_CPU, .unit = {1, 1}};

	(void)state;
	for (int known = 0; known < 2; known++) {
		struct bench bench;

		bench_copy(&bench, "");
		chip(&bench, 0, "zenpower", "power1_input", "31000000", "SVI2_P_Core");
		bench.catalog.source = "rapl-perf";
		if (known)
			assert_return_code(wtl_catalog_add(&bench.catalog, &package), 0);
		bench_open(&bench, &wtl_source_hwmon);
		assert_string_equal(bench_channel(&bench, "core-0")->inside,
				    known ? "package-0" : "");
		assert_false(bench_channel(&bench, "core-0")->in_total);
		bench_done(&bench);
	}
}

/* A GPU that sleeps is not woken through its hwmon either; its number follows the others'. */
static void sleeping_nouveau(void **state)
{
	const struct wtl_channel other = {
		.domain = "gpu-0", .kind = WATTLE_KIND_GPU, .unit = {1, 1}};
	struct bench bench;

	(void)state;
	bench_copy(&bench, "");
	chip(&bench, 0, "nouveau", "power1_input", "!errno EINVAL", NULL);
	bench_write(&bench, HWMON "hwmon0/device/power/runtime_status", "suspended\n");
	bench.catalog.source = "intel-gpu";
	assert_return_code(wtl_catalog_add(&bench.catalog, &other), 0);
	bench_open(&bench, &wtl_source_hwmon);
	assert_int_equal(bench_miss(&bench, "gpu-1")->status, WATTLE_STATUS_ASLEEP);
	bench.ops->read(bench.state, bench.readings);
	assert_int_equal(bench.readings[0].status, WATTLE_STATUS_ASLEEP);
	bench_write(&bench, HWMON "hwmon0/device/power/runtime_status", "active\n");
	bench_write(&bench, HWMON "hwmon0/power1_input", "6500000\n");
	bench_read(&bench, SECOND);
	assert_int_equal(bench.readings[0].status, WATTLE_STATUS_OK);
	assert_int_equal(bench.readings[0].value, 6500000);
	bench_done(&bench);
}

/* "unsupported" is told once; later reads are one file each. */
static void no_needless_reads(void **state)
{
	struct bench bench;
	unsigned reads, opens;

	(void)state;
	bench_copy(&bench, "");
	chip(&bench, 0, "fam15h_power", "power1_input", "31000000", NULL);
	bench_write(&bench, HWMON "hwmon0/device/power/runtime_status", "unsupported\n");
	bench_open(&bench, &wtl_source_hwmon);
	reads = bench.reads;
	opens = bench.opens;
	for (int i = 0; i < 10; i++)
		bench_read(&bench, 5 * SECOND);
	assert_int_equal(bench.reads - reads, 10);
	assert_int_equal(bench.opens, opens);
	bench_done(&bench);
}

static void batteries_are_left_to_theirs(void **state)
{
	struct bench bench;

	(void)state;
	bench_copy(&bench, "");
	chip(&bench, 0, "power_meter", "power1_average", "12000000", NULL);
	bench_write(&bench, HWMON "hwmon0/power1_is_battery", "1\n");
	bench_open(&bench, &wtl_source_hwmon);
	assert_int_equal(bench.catalog.n_channels, 0);
	bench_done(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns),
		cmocka_unit_test(entries),
		cmocka_unit_test(rules),
		cmocka_unit_test(sockets_and_no_cores),
		cmocka_unit_test(arm_server),
		cmocka_unit_test(grace),
		cmocka_unit_test(jetson),
		cmocka_unit_test(jetson_without_rails),
		cmocka_unit_test(product_of_two_files),
		cmocka_unit_test(other_sources_chips),
		cmocka_unit_test(rubbish),
		cmocka_unit_test(denied),
		cmocka_unit_test(energy_and_power),
		cmocka_unit_test(several_of_a_kind),
		cmocka_unit_test(parts_of_a_package),
		cmocka_unit_test(sleeping_nouveau),
		cmocka_unit_test(no_needless_reads),
		cmocka_unit_test(batteries_are_left_to_theirs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
