/* SPDX-License-Identifier: MIT */
#include "sensors/rapl.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "energy/counter.h"
#include "source_bench.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define RAPL	     "/sys/devices/virtual/powercap/intel-rapl"
#define CLASS	     "/sys/class/powercap"

/* Every zone of a machine, in order, and nothing that could not be read. */
static void known_machines(void **state)
{
	static const struct {
		const char *root, *domains;
	} cases[] = {
		{"xeon-2s-dram", "package-0 dram-0 package-1 dram-1"},
		{"client-psys", "package-0 core-0 uncore-0 dram-0 psys-0"},
		{"xeon-multidie", "package-0-die-0 dram-0-die-0 package-0-die-1 dram-0-die-1 "
				  "package-1-die-0 dram-1-die-0 package-1-die-1 dram-1-die-1"},
		{"xeon-spr-psys", "package-0 dram-0 psys-0 package-1 dram-1 psys-1"},
		{"hex-zones", "package-0 package-1 package-2 package-3 package-4 package-5 "
			      "package-6 package-7 package-8 package-9 package-10"},
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bench bench;

		bench_root(&bench, cases[i].root);
		bench_open(&bench, &wtl_source_rapl_powercap);
		assert_string_equal(bench_domains(&bench, text, sizeof(text)), cases[i].domains);
		assert_int_equal(bench.catalog.n_misses, 0);
		bench_read(&bench, 0);
		for (size_t j = 0; j < bench.catalog.n_channels; j++)
			assert_int_equal(bench.readings[j].status, WATTLE_STATUS_OK);
		bench_done(&bench);
	}
}

static void figures_of_a_server(void **state)
{
	const struct wtl_channel *channel;
	struct bench bench;

	(void)state;
	bench_root(&bench, "xeon-2s-dram");
	bench_open(&bench, &wtl_source_rapl_powercap);
	channel = bench_channel(&bench, "package-1");
	assert_int_equal(channel->kind, WATTLE_KIND_CPU);
	assert_true(channel->in_total);
	assert_string_equal(channel->inside, "");
	assert_string_equal(channel->device, "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz");
	assert_int_equal(channel->quantity, WTL_QUANTITY_ENERGY);
	assert_int_equal(channel->method, WATTLE_METHOD_COUNTER);
	assert_int_equal(channel->unit.num, 1);
	assert_int_equal(channel->unit.den, 1);
	/* 262143328850 and a unit of 61.035 µJ: 2^32 units, as Linux computes them. */
	assert_int_equal(channel->range, 262143328911);
	assert_int_equal(channel->update_ns, 1000000);
	assert_int_equal(channel->gain_ppm, 30000);
	assert_int_equal(channel->offset_uw, 0);

	channel = bench_channel(&bench, "dram-0");
	assert_int_equal(channel->kind, WATTLE_KIND_DRAM);
	assert_true(channel->in_total);
	assert_string_equal(channel->inside, "");
	assert_int_equal(channel->range, 65712999613 + 15);
	assert_int_equal(channel->gain_ppm, 50000);
	assert_int_equal(channel->offset_uw, 2000000);

	bench_read(&bench, 0);
	assert_int_equal(bench_reading(&bench, "package-0")->value, 124599532281);
	assert_int_equal(bench_reading(&bench, "dram-0")->value, 33790114820);
	assert_int_equal(bench_reading(&bench, "package-1")->value, 118244009431);
	assert_int_equal(bench_reading(&bench, "dram-1")->value, 31217883054);
	bench_done(&bench);
}

static void figures_of_a_client(void **state)
{
	static const struct {
		const char *domain, *inside;
		enum wattle_kind kind;
		bool in_total;
		uint32_t gain_ppm;
		uint64_t value;
	} want[] = {
		{"package-0", "", WATTLE_KIND_CPU, true, 30000, 240422366267},
		{"core-0", "package-0", WATTLE_KIND_CORE, false, 30000, 118821284256},
		{"uncore-0", "package-0", WATTLE_KIND_UNCORE, false, 30000, 10448390197},
		{"dram-0", "", WATTLE_KIND_DRAM, true, 200000, 21944870208},
		{"psys-0", "", WATTLE_KIND_PLATFORM, false, 200000, 97730556871},
	};
	struct bench bench;

	(void)state;
	bench_root(&bench, "client-psys");
	bench_open(&bench, &wtl_source_rapl_powercap);
	bench_read(&bench, 0);
	for (size_t i = 0; i < COUNT(want); i++) {
		const struct wtl_channel *channel = bench_channel(&bench, want[i].domain);

		assert_string_equal(channel->inside, want[i].inside);
		assert_int_equal(channel->kind, want[i].kind);
		assert_int_equal(channel->in_total, want[i].in_total);
		assert_int_equal(channel->gain_ppm, want[i].gain_ppm);
		assert_int_equal(channel->offset_uw, 0);
		assert_int_equal(bench_reading(&bench, want[i].domain)->value, want[i].value);
	}
	bench_done(&bench);
}

static void sub_zones_are_inside_their_die(void **state)
{
	struct bench bench;

	(void)state;
	bench_copy(&bench, "xeon-multidie");
	bench_write(&bench, CLASS "/intel-rapl:2:1/name", "core\n");
	bench_write(&bench, CLASS "/intel-rapl:2:1/energy_uj", "12\n");
	bench_write(&bench, CLASS "/intel-rapl:2:1/max_energy_range_uj", "262143328850\n");
	bench_open(&bench, &wtl_source_rapl_powercap);
	assert_string_equal(bench_channel(&bench, "core-1-die-0")->inside, "package-1-die-0");
	bench_done(&bench);
}

/* Wide enough for any part, narrow enough that a reading a minute tells wraps. */
static void bounds_tell_wraps_of_a_minute(void **state)
{
	static const char *const roots[] = {"xeon-2s-dram", "client-psys", "amd-epyc",
					    "xeon-spr-psys"};

	(void)state;
	for (size_t i = 0; i < COUNT(roots); i++) {
		struct bench bench;

		bench_root(&bench, roots[i]);
		bench_open(&bench, &wtl_source_rapl_powercap);
		for (size_t j = 0; j < bench.catalog.n_channels; j++) {
			const struct wtl_channel *channel = &bench.catalog.channels[j];
			struct wtl_counter_spec spec = {.range = channel->range,
							.unit = channel->unit,
							.max_uw = channel->max_uw};
			uint64_t counts = 0;

			assert_true(channel->max_uw >= 500 * UINT64_C(1000000));
			assert_int_equal(wtl_counter_step(&spec, channel->range - 5, 5,
							  60 * WTL_NS_PER_S, &counts),
					 WTL_STEP_WRAPPED);
			assert_int_equal(counts, 10);
		}
		bench_done(&bench);
	}
}

static void amd(void **state)
{
	const struct wtl_channel *channel;
	char text[128];
	struct bench bench;

	(void)state;
	bench_root(&bench, "amd-epyc");
	bench_open(&bench, &wtl_source_rapl_powercap);
	assert_string_equal(bench_domains(&bench, text, sizeof(text)), "package-0 package-1");
	channel = bench_channel(&bench, "package-0");
	assert_int_equal(channel->gain_ppm, 50000);
	assert_int_equal(channel->range, 65532610987 + 15);
	/* It counts one core of many: no figure of the package's cores. */
	assert_int_equal(bench_miss(&bench, "core-0")->status, WATTLE_STATUS_ABSENT);
	assert_false(bench_miss(&bench, "core-0")->in_total);
	assert_int_equal(bench.catalog.n_misses, 2);
	bench_done(&bench);
}

/* Kernels that take core complexes for dies repeat the package's counter. */
/* What it counts above idle is known badly; others' as well as all of it, and so is what no RAPL counts. */
static void dynamic_energy_of_amd(void **state)
{
	static const struct {
		const char *source, *device;
		uint32_t ppm;
	} cases[] = {
		{"rapl-powercap", "AMD EPYC 7502 32-Core Processor", 350000},
		{"rapl-perf", "Hygon C86 7185 32-core Processor", 350000},
		{"rapl-perf", "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz", 0},
		{"rapl-perf", "", 0},
		{"amdgpu", "AMD Radeon PRO W7900", 0},
		{NULL, "AMD EPYC 7502 32-Core Processor", 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct wtl_channel channel = {.source = cases[i].source};

		snprintf(channel.device, sizeof(channel.device), "%s", cases[i].device);
		assert_int_equal(wtl_rapl_dynamic_ppm(&channel), cases[i].ppm);
	}
}

static void amd_dies_are_one_counter(void **state)
{
	char path[96], text[128];
	struct bench bench;

	(void)state;
	bench_copy(&bench, "amd-epyc");
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), RAPL "/intel-rapl:%d/name", i);
		snprintf(text, sizeof(text), "package-0-die-%d\n", i);
		bench_write(&bench, path, text);
	}
	bench_open(&bench, &wtl_source_rapl_powercap);
	assert_string_equal(bench_domains(&bench, text, sizeof(text)), "package-0");
	bench_done(&bench);
}

/* The order of discovery and the numbers say nothing, names everything. */
static void names_decide(void **state)
{
	char text[128];
	struct bench bench;

	(void)state;
	bench_copy(&bench, "");
	bench_write(&bench, "/proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\n");
	bench_write(&bench, CLASS "/intel-rapl:0/name", "psys\n");
	bench_write(&bench, CLASS "/intel-rapl:0/energy_uj", "9610000\n");
	bench_write(&bench, CLASS "/intel-rapl:1/name", "package-7\n");
	bench_write(&bench, CLASS "/intel-rapl:1/energy_uj", "3780000\n");
	bench_write(&bench, CLASS "/intel-rapl:1:a/name", "uncore\n");
	bench_write(&bench, CLASS "/intel-rapl:1:a/energy_uj", "840000\n");
	/* Other control types: one with the words of RAPL, one with words of its own. */
	bench_write(&bench, CLASS "/new-rapl:0/name", "package-8\n");
	bench_write(&bench, CLASS "/new-rapl:0/energy_uj", "5\n");
	bench_write(&bench, CLASS "/dtpm:0/name", "package\n");
	bench_write(&bench, CLASS "/dtpm:0/power_uw", "5\n");
	bench_write(&bench, CLASS "/dtpm:1/name", "package-9\n");
	bench_write(&bench, CLASS "/dtpm:1/power_uw", "5\n");
	bench_open(&bench, &wtl_source_rapl_powercap);
	assert_string_equal(bench_domains(&bench, text, sizeof(text)),
			    "psys-0 package-7 uncore-7 package-8");
	assert_string_equal(bench_channel(&bench, "uncore-7")->inside, "package-7");
	assert_int_equal(bench.catalog.n_misses, 0);
	/* No max_energy_range_uj: nothing is known of wraps. */
	assert_int_equal(bench_channel(&bench, "package-7")->range, 0);
	bench_done(&bench);
}

static void mmio_only_where_nothing_else_is(void **state)
{
	struct bench bench;
	char text[128];

	(void)state;
	bench_copy(&bench, "client-psys");
	bench_write(&bench,
		    "/sys/devices/virtual/powercap/intel-rapl-mmio/intel-rapl-mmio:0/energy_uj",
		    "5\n");
	bench_open(&bench, &wtl_source_rapl_powercap);
	bench_read(&bench, 0);
	assert_int_equal(bench_reading(&bench, "package-0")->value, 240422366267);
	bench_done(&bench);

	bench_copy(&bench, "client-psys");
	bench_remove(&bench, CLASS "/intel-rapl:0");
	bench_remove(&bench, CLASS "/intel-rapl:0:0");
	bench_remove(&bench, CLASS "/intel-rapl:0:1");
	bench_remove(&bench, CLASS "/intel-rapl:0:2");
	bench_open(&bench, &wtl_source_rapl_powercap);
	assert_string_equal(bench_domains(&bench, text, sizeof(text)), "psys-0 package-0");
	assert_int_equal(bench.catalog.n_misses, 0);
	bench_done(&bench);

	/* It stands in for one that cannot be read. */
	bench_copy(&bench, "client-psys");
	bench_write(&bench, RAPL "/intel-rapl:0/energy_uj", "!errno EIO");
	bench_open(&bench, &wtl_source_rapl_powercap);
	assert_int_equal(bench_channel(&bench, "package-0")->range, 262143328911);
	assert_int_equal(bench_miss(&bench, "package-0")->status, WATTLE_STATUS_FAILED);
	bench_done(&bench);
}

static void denied(void **state)
{
	static const char *const domains[] = {"package-0", "core-0", "dram-0"};
	struct bench bench;

	(void)state;
	bench_root(&bench, "eacces");
	bench_open(&bench, &wtl_source_rapl_powercap);
	assert_int_equal(bench.catalog.n_channels, 0);
	assert_int_equal(bench.catalog.n_misses, COUNT(domains));
	for (size_t i = 0; i < COUNT(domains); i++) {
		const struct wtl_miss *miss = bench_miss(&bench, domains[i]);

		assert_int_equal(miss->status, WATTLE_STATUS_DENIED);
		assert_int_equal(miss->in_total, strcmp(domains[i], "core-0") != 0);
		assert_non_null(strstr(miss->reason, "/energy_uj: Permission denied"));
		assert_non_null(strstr(miss->remedy, "sudo chmod g+r "));
	}
	bench_read(&bench, 0);
	bench_done(&bench);
}

/* There, /sys is read-only, and root may be nobody outside. */
static void denied_in_a_container(void **state)
{
	struct bench bench;

	(void)state;
	bench_copy(&bench, "eacces");
	bench_write(&bench, "/.dockerenv", "");
	bench_open(&bench, &wtl_source_rapl_powercap);
	assert_int_equal(bench_miss(&bench, "package-0")->status, WATTLE_STATUS_DENIED);
	assert_non_null(strstr(bench_miss(&bench, "package-0")->remedy, "measure on its host"));
	assert_null(strstr(bench_miss(&bench, "package-0")->remedy, "run as root"));
	bench_done(&bench);
}

/* However many zones are copies of it. */
static void each_part_is_missed_once(void **state)
{
	struct bench bench;

	(void)state;
	bench_copy(&bench, "client-psys");
	bench_write(&bench, RAPL "/intel-rapl:0/energy_uj", "!errno EACCES");
	bench_write(&bench,
		    "/sys/devices/virtual/powercap/intel-rapl-mmio/intel-rapl-mmio:0/energy_uj",
		    "!errno EACCES");
	bench_open(&bench, &wtl_source_rapl_powercap);
	assert_int_equal(bench.catalog.n_misses, 1);
	assert_int_equal(bench_miss(&bench, "package-0")->status, WATTLE_STATUS_DENIED);
	bench_done(&bench);
}

/* Half-readable: what is left is measured. */
static void denied_in_part(void **state)
{
	struct bench bench;
	char text[128];

	(void)state;
	bench_copy(&bench, "xeon-2s-dram");
	bench_write(&bench, RAPL "/intel-rapl:0/energy_uj", "!errno EPERM\n");
	bench_open(&bench, &wtl_source_rapl_powercap);
	assert_string_equal(bench_domains(&bench, text, sizeof(text)), "dram-0 package-1 dram-1");
	assert_int_equal(bench_miss(&bench, "package-0")->status, WATTLE_STATUS_DENIED);
	assert_true(bench_miss(&bench, "package-0")->in_total);
	bench_read(&bench, 0);
	assert_int_equal(bench.readings[0].value, 33790114820);
	assert_int_equal(bench.readings[2].value, 31217883054);
	bench_done(&bench);
}

static void nothing_there(void **state)
{
	static const struct {
		const char *root;
		enum wattle_status status;
		const char *reason, *remedy;
	} cases[] = {
		{"vm-nothing", WATTLE_STATUS_ABSENT, "virtual machine", "host"},
		{"container-masked", WATTLE_STATUS_DENIED, "masked in this container",
		 "systempaths=unconfined"},
		{"arm-server", WATTLE_STATUS_ABSENT, "processors of ARM have no RAPL", ""},
		{"amd-energy-hwmon", WATTLE_STATUS_ABSENT, "intel_rapl_msr is not loaded",
		 "sudo modprobe intel_rapl_msr"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct wtl_miss *miss;
		struct bench bench;

		bench_root(&bench, cases[i].root);
		bench_open(&bench, &wtl_source_rapl_powercap);
		assert_int_equal(bench.catalog.n_channels, 0);
		assert_int_equal(bench.catalog.n_misses, 1);
		miss = bench_miss(&bench, "");
		assert_int_equal(miss->kind, WATTLE_KIND_CPU);
		assert_int_equal(miss->status, cases[i].status);
		assert_non_null(strstr(miss->reason, cases[i].reason));
		assert_non_null(strstr(miss->remedy, cases[i].remedy));
		bench_done(&bench);
	}
}

static void empty_or_closed_class(void **state)
{
	struct bench bench;

	(void)state;
	/* A control type without zones. */
	bench_copy(&bench, "");
	bench_write(&bench, CLASS "/intel-rapl/enabled", "1\n");
	bench_open(&bench, &wtl_source_rapl_powercap);
	assert_int_equal(bench_miss(&bench, "")->status, WATTLE_STATUS_ABSENT);
	bench_done(&bench);
	/* Not a directory at all. */
	bench_copy(&bench, "");
	bench_write(&bench, CLASS, "");
	bench_open(&bench, &wtl_source_rapl_powercap);
	assert_int_equal(bench_miss(&bench, "")->status, WATTLE_STATUS_FAILED);
	assert_non_null(strstr(bench_miss(&bench, "")->reason, wtl_err_text(ENOTDIR)));
	bench_done(&bench);
	/* Names that may not be read. */
	bench_copy(&bench, "");
	bench_write(&bench, CLASS "/intel-rapl:0/name", "!errno EACCES");
	bench_open(&bench, &wtl_source_rapl_powercap);
	assert_int_equal(bench_miss(&bench, "")->status, WATTLE_STATUS_DENIED);
	bench_done(&bench);
}

static void counters_at_zero_are_no_counters(void **state)
{
	struct bench bench;

	(void)state;
	bench_root(&bench, "zero-counters");
	bench_open(&bench, &wtl_source_rapl_powercap);
	assert_int_equal(bench.catalog.n_channels, 0);
	assert_int_equal(bench_miss(&bench, "package-0")->status, WATTLE_STATUS_FAILED);
	assert_non_null(strstr(bench_miss(&bench, "package-0")->reason, "stands at 0"));
	assert_int_equal(bench_miss(&bench, "dram-0")->status, WATTLE_STATUS_FAILED);
	bench_done(&bench);
}

static void rubbish(void **state)
{
	static const struct {
		const char *domain, *reason;
	} misses[] = {
		{"package-0", "intel-rapl:0/energy_uj does not hold a number"},
		{"package-1", "intel-rapl:1/energy_uj does not hold a number"},
		{"package-2", "does not hold a number"},
		{"package-3", "does not hold a number"},
		{"intel-rapl:5", "intel-rapl:5/name: No such file"},
		{"package-6", "does not hold a number"},
		{"package-8", "No data available"},
		{"package-9", "Invalid argument"},
		{"package-10", "Input/output error"},
		{"package-11", "above max_energy_range_uj"},
		{"intel-rapl:c", "\"package-4294967296\": not a part"},
		{"intel-rapl:d", "\"?[2Jpack?age-xxx"},
		{"package-14", "does not hold a number"},
	};
	struct bench bench;
	char text[128];

	(void)state;
	bench_root(&bench, "rubbish");
	bench_open(&bench, &wtl_source_rapl_powercap);
	/* Of the two that call themselves package-4, the first. */
	assert_string_equal(bench_domains(&bench, text, sizeof(text)), "package-4 package-7");
	bench_read(&bench, 0);
	assert_int_equal(bench_reading(&bench, "package-4")->value, 240422366267);
	/* Its range is unknown, so it shall not be said to wrap. */
	assert_int_equal(bench_channel(&bench, "package-7")->range, 0);
	assert_int_equal(bench.catalog.n_misses, COUNT(misses));
	for (size_t i = 0; i < COUNT(misses); i++) {
		const struct wtl_miss *miss = bench_miss(&bench, misses[i].domain);

		assert_int_equal(miss->status, WATTLE_STATUS_FAILED);
		if (!strstr(miss->reason, misses[i].reason))
			fail_msg("%s: %s", miss->domain, miss->reason);
		for (const char *c = miss->reason; *c; c++)
			assert_true((unsigned char)*c >= ' ');
	}
	bench_done(&bench);
}

static void a_disabled_zone_says_so(void **state)
{
	struct bench bench;

	(void)state;
	bench_copy(&bench, "client-psys");
	bench_write(&bench, RAPL "/intel-rapl:0/intel-rapl:0:0/energy_uj", "!errno ENODATA");
	bench_open(&bench, &wtl_source_rapl_powercap);
	assert_non_null(strstr(bench_miss(&bench, "core-0")->reason, "(the zone is disabled)"));
	bench_done(&bench);
}

static void ranges(void **state)
{
	static const struct {
		const char *max;
		uint64_t range;
	} cases[] = {
		{"262143328850", 262143328911},			  /* 61.035 µJ */
		{"262143999938", 262143999999},			  /* old kernels */
		{"65532610987", 65532611002},			  /* 15.258 µJ */
		{"65712999613", 65712999628},			  /* DRAM, 15.3 µJ */
		{"32766305493", 32766305501},			  /* 7.629 µJ */
		{"4294967295000000", UINT64_C(4294967296000000)}, /* 1 J */
		{"4294967295", UINT64_C(4294967296)},		  /* 1 µJ */
		{"1000000", 1000001},
		{"0", 0},
		{"", 0},
		{"-1", 0},
		{"!errno EIO", 0},
		{"18446744073709551615", 0}, /* one more does not exist */
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bench bench;

		bench_copy(&bench, "");
		bench_write(&bench, CLASS "/intel-rapl:0/name", "package-0");
		bench_write(&bench, CLASS "/intel-rapl:0/energy_uj", "5");
		bench_write(&bench, CLASS "/intel-rapl:0/max_energy_range_uj", cases[i].max);
		bench_open(&bench, &wtl_source_rapl_powercap);
		assert_int_equal(bench_channel(&bench, "package-0")->range, cases[i].range);
		bench_done(&bench);
	}
}

/* What goes wrong later is that channel's reading, and heals. */
static void a_zone_fails_and_comes_back(void **state)
{
	static const struct {
		const char *content;
		enum wattle_status status;
		int error;
	} faults[] = {
		{"!errno EIO\n", WATTLE_STATUS_FAILED, -EIO},
		{"!errno ENODATA\n", WATTLE_STATUS_FAILED, -ENODATA},
		{"!errno ENODEV\n", WATTLE_STATUS_GONE, -ENODEV},
		{"!errno EACCES\n", WATTLE_STATUS_DENIED, -EACCES},
		{"-5\n", WATTLE_STATUS_FAILED, -EINVAL},
		{"", WATTLE_STATUS_FAILED, -EINVAL},
		{"9999999999999999999999999999999999999999\n", WATTLE_STATUS_FAILED, -ERANGE},
	};
	struct bench bench;
	unsigned opens;

	(void)state;
	bench_copy(&bench, "xeon-2s-dram");
	bench_open(&bench, &wtl_source_rapl_powercap);
	opens = bench.opens;
	bench_read(&bench, 0);
	for (size_t i = 0; i < COUNT(faults); i++) {
		bench_write(&bench, RAPL "/intel-rapl:0/energy_uj", faults[i].content);
		bench_write(&bench, RAPL "/intel-rapl:1/energy_uj", "118244109431\n");
		bench_read(&bench, WTL_NS_PER_MS);
		assert_int_equal(bench_reading(&bench, "package-0")->status, faults[i].status);
		assert_int_equal(bench_reading(&bench, "package-0")->error, faults[i].error);
		assert_int_equal(bench_reading(&bench, "package-0")->value, 0);
		assert_int_equal(bench_reading(&bench, "package-1")->value, 118244109431);
		bench_write(&bench, RAPL "/intel-rapl:0/energy_uj", "124599532342\n");
		bench_read(&bench, WTL_REPROBE_NS);
		assert_int_equal(bench_reading(&bench, "package-0")->status, WATTLE_STATUS_OK);
		assert_int_equal(bench_reading(&bench, "package-0")->value, 124599532342);
	}
	/* Each fault cost one more open, and nothing else did. */
	assert_int_equal(bench.opens, opens + COUNT(faults));
	bench_done(&bench);
}

static void a_package_goes_and_returns(void **state)
{
	struct bench bench;

	(void)state;
	bench_copy(&bench, "xeon-2s-dram");
	bench_open(&bench, &wtl_source_rapl_powercap);
	/* Of a real zone, a held descriptor answers ENODEV. */
	bench_write(&bench, RAPL "/intel-rapl:1/energy_uj", "!errno ENODEV");
	bench_read(&bench, 0);
	assert_int_equal(bench_reading(&bench, "package-1")->status, WATTLE_STATUS_GONE);
	bench_remove(&bench, CLASS "/intel-rapl:1");
	bench_read(&bench, WTL_REPROBE_NS);
	assert_int_equal(bench_reading(&bench, "package-1")->status, WATTLE_STATUS_GONE);
	assert_int_equal(bench_reading(&bench, "package-1")->error, -ENOENT);
	bench_link(&bench, CLASS "/intel-rapl:1",
		   "../../devices/virtual/powercap/intel-rapl/intel-rapl:1");
	bench_write(&bench, RAPL "/intel-rapl:1/energy_uj", "61\n");
	bench_read(&bench, WTL_REPROBE_NS);
	assert_int_equal(bench_reading(&bench, "package-1")->value, 61);
	bench_done(&bench);
}

static void reading_opens_nothing(void **state)
{
	unsigned opens, reads;
	struct bench bench;

	(void)state;
	bench_root(&bench, "client-psys");
	bench_open(&bench, &wtl_source_rapl_powercap);
	opens = bench.opens;
	reads = bench.reads;
	bench.step_ns = 1000;
	for (int i = 0; i < 100; i++)
		bench_read(&bench, WTL_NS_PER_MS);
	assert_int_equal(bench.opens, opens);
	assert_int_equal(bench.reads, reads + 100 * 5);
	/* One question for the time between each two reads. */
	for (size_t i = 1; i < 5; i++)
		assert_int_equal(bench.readings[i].t_mono_ns,
				 bench.readings[i - 1].t_mono_ns + 1000);
	assert_int_equal(bench.readings[0].half_ns, 500);
	bench_done(&bench);
}

static void names_of_zones(void **state)
{
	static const struct wtl_rapl_part package = {WATTLE_KIND_CPU, 3, 0, false},
					  die = {WATTLE_KIND_CPU, 0, 1, true};
	static const struct {
		const char *text;
		const struct wtl_rapl_part *parent;
		const char *name; /* NULL: not known */
	} cases[] = {
		{"package-0", NULL, "package-0"},
		{"package-4095", NULL, "package-4095"},
		{"package-0-die-1", NULL, "package-0-die-1"},
		{"package-0-die-0", NULL, "package-0-die-0"},
		{"psys", NULL, "psys-0"},
		{"psys-1", NULL, "psys-1"},
		{"core", &package, "core-3"},
		{"uncore", &package, "uncore-3"},
		{"dram", &package, "dram-3"},
		{"dram", &die, "dram-0-die-1"},
		{"core", NULL, NULL},
		{"dram", NULL, NULL},
		{"", NULL, NULL},
		{"", &package, NULL},
		{"package", NULL, NULL},
		{"package-", NULL, NULL},
		{"package-4096", NULL, NULL},
		{"package--1", NULL, NULL},
		{"package-0x1", NULL, NULL},
		{"package-0-die", NULL, NULL},
		{"package-0-die-", NULL, NULL},
		{"package-0-die-1 ", NULL, NULL},
		{"psys-", NULL, NULL},
		{"psysx", NULL, NULL},
		{"psys-1-die-0", NULL, NULL},
		{"Package-0", NULL, NULL},
		{"cores", &package, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct wtl_rapl_part part;
		char name[WTL_NAME_SIZE] = "";

		if (wtl_rapl_part_parse(cases[i].text, cases[i].parent, &part))
			wtl_rapl_part_name(&part, name);
		assert_string_equal(name, cases[i].name ? cases[i].name : "");
	}
}

static void servers_dram_has_an_offset(void **state)
{
	static const struct {
		const char *model;
		bool is_server;
	} cases[] = {
		{"Intel(R) Xeon(R) CPU E5-2650 v4 @ 2.20GHz", true},
		{"Intel(R) Xeon(R) Platinum 8480+", true},
		{"Intel(R) Xeon(R) 6787P", true},
		{"Intel(R) Xeon(R) W-2295 CPU @ 3.00GHz", true},
		{"Intel(R) Xeon Phi(TM) CPU 7250 @ 1.40GHz", true},
		{"Intel(R) Xeon(R) CPU E3-1230 v5 @ 3.40GHz", false},
		{"Intel(R) Xeon(R) E-2288G CPU @ 3.70GHz", false},
		{"Intel(R) Xeon(R) W-1290P CPU @ 3.70GHz", false},
		{"Intel(R) Xeon(R) 6369P", false},
		{"Intel(R) Core(TM) i7-6700 CPU @ 3.40GHz", false},
		{"", false},
	};
	const struct wtl_rapl_part dram = {.kind = WATTLE_KIND_DRAM};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct wtl_machine machine = {.vendor = "GenuineIntel"};
		struct wtl_channel channel;

		snprintf(machine.cpu_model, sizeof(machine.cpu_model), "%s", cases[i].model);
		wtl_rapl_channel(&machine, &dram, &channel);
		if (strstr(cases[i].model, " v3") || strstr(cases[i].model, " v4"))
			assert_int_equal(channel.offset_uw, 250000);
		else
			assert_int_equal(channel.offset_uw, cases[i].is_server ? 2000000 : 0);
		assert_int_equal(channel.gain_ppm, cases[i].is_server ? 50000 : 200000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_machines),
		cmocka_unit_test(figures_of_a_server),
		cmocka_unit_test(figures_of_a_client),
		cmocka_unit_test(sub_zones_are_inside_their_die),
		cmocka_unit_test(bounds_tell_wraps_of_a_minute),
		cmocka_unit_test(amd),
		cmocka_unit_test(dynamic_energy_of_amd),
		cmocka_unit_test(amd_dies_are_one_counter),
		cmocka_unit_test(names_decide),
		cmocka_unit_test(mmio_only_where_nothing_else_is),
		cmocka_unit_test(denied),
		cmocka_unit_test(denied_in_a_container),
		cmocka_unit_test(each_part_is_missed_once),
		cmocka_unit_test(denied_in_part),
		cmocka_unit_test(nothing_there),
		cmocka_unit_test(empty_or_closed_class),
		cmocka_unit_test(counters_at_zero_are_no_counters),
		cmocka_unit_test(rubbish),
		cmocka_unit_test(a_disabled_zone_says_so),
		cmocka_unit_test(ranges),
		cmocka_unit_test(a_zone_fails_and_comes_back),
		cmocka_unit_test(a_package_goes_and_returns),
		cmocka_unit_test(reading_opens_nothing),
		cmocka_unit_test(names_of_zones),
		cmocka_unit_test(servers_dram_has_an_offset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
