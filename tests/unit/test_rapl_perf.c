/* SPDX-License-Identifier: MIT */
#include "sensors/source.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/remedy.h"
#include "sensors/rapl.h"
#include "source_bench.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define POWER	     "/sys/devices/power"
#define DEVICES	     "/sys/bus/event_source/devices"
#define TOPOLOGY     "/sys/devices/system/cpu/cpu%d/topology/%s"

/* 2^-32 J: half a microjoule short of what is expected is a wrong unit. */
static uint64_t uj(const struct bench *bench, const char *domain)
{
	return wtl_unit_convert(bench_channel(bench, domain)->unit,
				bench_reading(bench, domain)->value);
}

static void put_cpu(const struct bench *bench, int cpu, int package, int die)
{
	char path[96], text[16];

	snprintf(path, sizeof(path), TOPOLOGY, cpu, "physical_package_id");
	snprintf(text, sizeof(text), "%d\n", package);
	bench_write(bench, path, text);
	snprintf(path, sizeof(path), TOPOLOGY, cpu, "die_id");
	snprintf(text, sizeof(text), "%d\n", die);
	bench_write(bench, path, text);
}

static void put_event(const struct bench *bench, const char *pmu, const char *event,
		      const char *content)
{
	char path[128];

	snprintf(path, sizeof(path), DEVICES "/%s/events/%s", pmu, event);
	bench_write(bench, path, content);
	snprintf(path, sizeof(path), DEVICES "/%s/events/%s.scale", pmu, event);
	bench_write(bench, path, "2.3283064365386962890625e-10\n");
	snprintf(path, sizeof(path), DEVICES "/%s/events/%s.unit", pmu, event);
	bench_write(bench, path, "Joules\n");
}

static void put_pmu(const struct bench *bench, const char *pmu, const char *type,
		    const char *cpumask)
{
	char path[96];

	snprintf(path, sizeof(path), DEVICES "/%s/type", pmu);
	bench_write(bench, path, type);
	snprintf(path, sizeof(path), DEVICES "/%s/cpumask", pmu);
	bench_write(bench, path, cpumask);
}

/* A client with one package: PMU type 9, one event. */
static void small_machine(struct bench *bench, const char *vendor)
{
	char text[96];

	bench_copy(bench, "");
	snprintf(text, sizeof(text), "processor\t: 0\nvendor_id\t: %s\nphysical id\t: 0\n", vendor);
	bench_write(bench, "/proc/cpuinfo", text);
	put_cpu(bench, 0, 0, 0);
	put_pmu(bench, "power", "9\n", "0\n");
	put_event(bench, "power", "energy-pkg", "event=0x02\n");
	bench_write(bench, "/wattle-perf/9-2-0", "4294967296\n");
}

static void known_machines(void **state)
{
	static const struct {
		const char *root, *domains;
	} cases[] = {
		{"xeon-2s-dram", "package-0 package-1 dram-0 dram-1"},
		{"client-psys", "package-0 core-0 uncore-0 dram-0 psys-0"},
		{"xeon-multidie", "package-0-die-0 package-0-die-1 package-1-die-0 package-1-die-1 "
				  "dram-0-die-0 dram-0-die-1 dram-1-die-0 dram-1-die-1"},
		{"amd-epyc", "package-0 package-1"},
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bench bench;

		bench_root(&bench, cases[i].root);
		bench_open(&bench, &wtl_source_rapl_perf);
		assert_string_equal(bench_domains(&bench, text, sizeof(text)), cases[i].domains);
		assert_int_equal(bench.catalog.n_misses, 0);
		bench_read(&bench, 0);
		for (size_t j = 0; j < bench.catalog.n_channels; j++)
			assert_int_equal(bench.readings[j].status, WATTLE_STATUS_OK);
		bench_done(&bench);
	}
}

/* The roots' perf counters stand where their powercap zones do. */
static void same_energy_as_powercap(void **state)
{
	static const char *const roots[] = {"xeon-2s-dram", "client-psys", "xeon-multidie",
					    "amd-epyc"};

	(void)state;
	for (size_t i = 0; i < COUNT(roots); i++) {
		struct bench perf, powercap;

		bench_root(&perf, roots[i]);
		bench_root(&powercap, roots[i]);
		bench_open(&perf, &wtl_source_rapl_perf);
		bench_open(&powercap, &wtl_source_rapl_powercap);
		bench_read(&perf, 0);
		bench_read(&powercap, 0);
		for (size_t j = 0; j < perf.catalog.n_channels; j++) {
			const struct wtl_channel *channel = &perf.catalog.channels[j];
			const struct wtl_channel *other = bench_channel(&powercap, channel->domain);
			double one = (double)uj(&perf, channel->domain);
			double two = (double)bench_reading(&powercap, channel->domain)->value;

			/* DRAM: 2^-16 J here and 15.3 µJ there, 0.27 % apart; AMD's 15.258. */
			assert_true(one / two > 0.997 && one / two < 1.003);
			assert_int_equal(channel->kind, other->kind);
			assert_int_equal(channel->in_total, other->in_total);
			assert_string_equal(channel->inside, other->inside);
			assert_int_equal(channel->max_uw, other->max_uw);
			assert_int_equal(channel->gain_ppm, other->gain_ppm);
			assert_int_equal(channel->offset_uw, other->offset_uw);
			assert_int_equal(channel->range, 0);
		}
		bench_done(&perf);
		bench_done(&powercap);
	}
}

static void the_unit_is_exact(void **state)
{
	struct bench bench;

	(void)state;
	small_machine(&bench, "GenuineIntel");
	bench_open(&bench, &wtl_source_rapl_perf);
	bench_read(&bench, 0);
	assert_int_equal(uj(&bench, "package-0"), 1000000);
	bench_write(&bench, "/wattle-perf/9-2-0", "18446744073709551615\n");
	bench_read(&bench, 0);
	/* 2^32 J less one count. */
	assert_int_equal(uj(&bench, "package-0"), UINT64_C(4294967295999999));
	bench_done(&bench);
	/* Whatever the file says is meant. */
	small_machine(&bench, "GenuineIntel");
	bench_write(&bench, DEVICES "/power/events/energy-pkg.scale", "1e-3\n");
	bench_open(&bench, &wtl_source_rapl_perf);
	bench_read(&bench, 0);
	assert_int_equal(uj(&bench, "package-0"), UINT64_C(4294967296000));
	bench_done(&bench);
}

/* The cpumask's order is not that of the packages. */
static void topology_names_the_packages(void **state)
{
	struct bench bench;
	char text[128];

	(void)state;
	small_machine(&bench, "GenuineIntel");
	put_pmu(&bench, "power", "9\n", "0-1,5\n");
	put_cpu(&bench, 0, 3, 0);
	put_cpu(&bench, 1, 1, 1);
	put_cpu(&bench, 5, 1, 0);
	put_event(&bench, "power", "energy-psys", "event=0x05\n");
	bench_write(&bench, "/wattle-perf/9-2-0", "30");
	bench_write(&bench, "/wattle-perf/9-2-1", "11");
	bench_write(&bench, "/wattle-perf/9-2-5", "10");
	bench_write(&bench, "/wattle-perf/9-5-0", "50");
	bench_open(&bench, &wtl_source_rapl_perf);
	assert_string_equal(bench_domains(&bench, text, sizeof(text)),
			    "package-3 package-1-die-1 package-1-die-0 psys-0");
	bench_read(&bench, 0);
	assert_int_equal(bench_reading(&bench, "package-3")->value, 30);
	assert_int_equal(bench_reading(&bench, "package-1-die-0")->value, 10);
	assert_int_equal(bench_reading(&bench, "package-1-die-1")->value, 11);
	assert_false(bench_channel(&bench, "psys-0")->in_total);
	assert_int_equal(bench.catalog.n_misses, 0);
	bench_done(&bench);
}

/* One counter behind many CPUs must not be added up. */
static void amd_has_one_counter_a_package(void **state)
{
	struct bench bench;
	char text[128];

	(void)state;
	small_machine(&bench, "AuthenticAMD");
	put_pmu(&bench, "power", "9\n", "0,8,16,24\n");
	for (int ccd = 0; ccd < 4; ccd++)
		put_cpu(&bench, 8 * ccd, 0, ccd);
	put_event(&bench, "power", "energy-cores", "event=0x01\n");
	put_event(&bench, "power", "energy-ram", "event=0x03\n");
	bench_write(&bench, "/wattle-perf/9-1-0", "1");
	bench_open(&bench, &wtl_source_rapl_perf);
	assert_string_equal(bench_domains(&bench, text, sizeof(text)), "package-0");
	assert_int_equal(bench.catalog.n_misses, 0);
	assert_int_equal(bench_channel(&bench, "package-0")->gain_ppm, 50000);
	bench_done(&bench);
}

static void other_pmus(void **state)
{
	struct bench bench;
	char text[128];

	(void)state;
	small_machine(&bench, "GenuineIntel");
	put_cpu(&bench, 4, 1, 0);
	/* AMD's single cores: not ours. Something of the same shape: ours, but not twice. */
	put_pmu(&bench, "power_core", "10\n", "0\n");
	put_event(&bench, "power_core", "energy-core", "event=0x01\n");
	put_event(&bench, "power_core", "energy-ram", "event=0x03\n");
	bench_write(&bench, "/wattle-perf/10-3-0", "9");
	put_pmu(&bench, "power_tpmi", "11\n", "0,4\n");
	put_event(&bench, "power_tpmi", "energy-pkg", "event=0x12\n");
	put_pmu(&bench, "powerless", "12\n", "0\n");
	put_event(&bench, "powerless", "energy-ram", "event=0x03\n");
	bench_write(&bench, "/wattle-perf/11-12-0", "7");
	bench_write(&bench, "/wattle-perf/11-12-4", "8");
	bench_open(&bench, &wtl_source_rapl_perf);
	assert_string_equal(bench_domains(&bench, text, sizeof(text)), "package-0 package-1");
	bench_read(&bench, 0);
	assert_int_equal(bench_reading(&bench, "package-0")->value, 4294967296);
	assert_int_equal(bench_reading(&bench, "package-1")->value, 8);
	bench_done(&bench);
}

static void denied(void **state)
{
	static const struct {
		const char *error, *paranoid, *reason;
	} cases[] = {
		{"!errno EACCES", "4\n", "Permission denied (kernel.perf_event_paranoid is 4)"},
		{"!errno EPERM", "-1\n",
		 "Operation not permitted (kernel.perf_event_paranoid is -1)"},
		{"!errno EACCES", "", "(kernel.perf_event_paranoid is unknown)"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct wtl_miss *miss;
		struct bench bench;

		small_machine(&bench, "GenuineIntel");
		bench_write(&bench, "/proc/sys/kernel/perf_event_paranoid", cases[i].paranoid);
		bench_write(&bench, "/wattle-perf/9-2-0", cases[i].error);
		bench_open(&bench, &wtl_source_rapl_perf);
		assert_int_equal(bench.catalog.n_channels, 0);
		assert_int_equal(bench.catalog.n_misses, 1);
		miss = bench_miss(&bench, "package-0");
		assert_int_equal(miss->status, WATTLE_STATUS_DENIED);
		assert_int_equal(miss->kind, WATTLE_KIND_CPU);
		assert_true(miss->in_total);
		assert_non_null(strstr(miss->reason, cases[i].reason));
		if (strstr(cases[i].error, "EPERM")) {
			/* No right that is lent helps there. */
			assert_non_null(strstr(miss->remedy, "seccomp"));
			assert_null(strstr(miss->remedy, "setcap"));
		} else {
			assert_non_null(strstr(miss->remedy, WTL_REMEDY_SETCAP));
			assert_non_null(strstr(miss->remedy, "kernel.perf_event_paranoid=0"));
		}
		bench_read(&bench, 0);
		bench_done(&bench);
	}
}

/* However many CPUs are asked in vain. */
static void each_part_is_missed_once(void **state)
{
	static const char *const vendors[] = {"AuthenticAMD", "GenuineIntel"};

	(void)state;
	for (size_t i = 0; i < COUNT(vendors); i++) {
		struct bench bench;

		small_machine(&bench, vendors[i]);
		put_pmu(&bench, "power", "9\n", "0,8\n");
		put_cpu(&bench, 8, 0, 1);
		put_event(&bench, "power", "energy-psys", "event=0x05\n");
		bench_write(&bench, "/wattle-perf/9-2-0", "!errno EPERM");
		bench_write(&bench, "/wattle-perf/9-2-8", "!errno EPERM");
		bench_write(&bench, "/wattle-perf/9-5-0", "!errno EPERM");
		bench_open(&bench, &wtl_source_rapl_perf);
		/* One package; or two dies and the board. */
		assert_int_equal(bench.catalog.n_misses, i == 0 ? 1 : 3);
		bench_done(&bench);
	}
}

static void denied_in_a_container(void **state)
{
	struct bench bench;

	(void)state;
	small_machine(&bench, "GenuineIntel");
	bench_write(&bench, "/.dockerenv", "");
	bench_write(&bench, "/wattle-perf/9-2-0", "!errno EPERM");
	bench_open(&bench, &wtl_source_rapl_perf);
	assert_int_equal(bench_miss(&bench, "package-0")->status, WATTLE_STATUS_DENIED);
	assert_non_null(strstr(bench_miss(&bench, "package-0")->remedy, "--cap-add PERFMON"));
	bench_done(&bench);
}

static void nothing_there(void **state)
{
	static const struct {
		const char *root, *reason, *remedy;
	} cases[] = {
		{"vm-nothing", "virtual machine", "host"},
		{"arm-server", "processors of ARM have no RAPL", ""},
		{"hex-zones", "module rapl is not loaded", "sudo modprobe rapl"},
	};
	struct bench bench;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		bench_root(&bench, cases[i].root);
		bench_open(&bench, &wtl_source_rapl_perf);
		assert_int_equal(bench.catalog.n_channels, 0);
		assert_int_equal(bench.catalog.n_misses, 1);
		assert_int_equal(bench_miss(&bench, "")->status, WATTLE_STATUS_ABSENT);
		assert_non_null(strstr(bench_miss(&bench, "")->reason, cases[i].reason));
		assert_non_null(strstr(bench_miss(&bench, "")->remedy, cases[i].remedy));
		bench_done(&bench);
	}
	/* A container cannot load modules itself. */
	bench_copy(&bench, "hex-zones");
	bench_write(&bench, "/.dockerenv", "");
	bench_open(&bench, &wtl_source_rapl_perf);
	assert_non_null(strstr(bench_miss(&bench, "")->remedy, "container's host"));
	bench_done(&bench);
	/* Something is there, but no directory: said once. */
	bench_copy(&bench, "");
	bench_write(&bench, DEVICES, "");
	bench_open(&bench, &wtl_source_rapl_perf);
	assert_int_equal(bench.catalog.n_misses, 1);
	assert_int_equal(bench_miss(&bench, "")->status, WATTLE_STATUS_FAILED);
	bench_done(&bench);
}

static void rubbish_in_the_pmu(void **state)
{
	static const struct {
		const char *file, *content, *reason;
	} cases[] = {
		{"type", "x9\n", "power/type: not what is expected"},
		{"type", "-1\n", "power/type: not what is expected"},
		{"type", "4294967296\n", "power/type: not what is expected"},
		{"type", "", "power/type: not what is expected"},
		{"type", "!errno EIO", "power/type: Input/output error"},
		{"cpumask", "0-,zz,99999999999\n", "power/cpumask: not what is expected"},
		{"cpumask", "0-5000\n", "power/cpumask: not what is expected"},
		{"cpumask", "\n", "power/cpumask: not what is expected"},
		{"cpumask", "!errno EACCES", "power/cpumask: Permission denied"},
		{"cpumask", "0,77\n", "power/cpumask: the CPUs' topology"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct wtl_miss *miss;
		struct bench bench;
		char path[96];

		small_machine(&bench, "GenuineIntel");
		snprintf(path, sizeof(path), DEVICES "/power/%s", cases[i].file);
		bench_write(&bench, path, cases[i].content);
		bench_open(&bench, &wtl_source_rapl_perf);
		assert_int_equal(bench.catalog.n_channels, 0);
		assert_int_equal(bench.catalog.n_misses, 1);
		miss = bench_miss(&bench, "");
		assert_int_equal(miss->status, WATTLE_STATUS_FAILED);
		if (!strstr(miss->reason, cases[i].reason))
			fail_msg("%s", miss->reason);
		bench_done(&bench);
	}
}

static void rubbish_in_an_event(void **state)
{
	static const struct {
		const char *suffix, *content, *reason;
	} cases[] = {
		{"", "", "energy-pkg: not what"},
		{"", "event=", "energy-pkg: not what"},
		{"", "event=zz", "energy-pkg: not what"},
		{"", "event=0x02,umask=0x1", "energy-pkg: not what"},
		{"", "config=0x02", "energy-pkg: not what"},
		{"", "event=0x11112222333344445", "energy-pkg: not what"},
		{".unit", "MilliJoules\n", "energy-pkg.unit: not what"},
		{".unit", "Joules per hour\n", "energy-pkg.unit: not what"},
		{".unit", "Joule\n", "energy-pkg.unit: not what"},
		{".unit", "", "energy-pkg.unit: not what"},
		{".unit", "!errno EIO", "energy-pkg.unit: Input/output error"},
		{".scale", "nan", "energy-pkg.scale: not what"},
		{".scale", "-1", "energy-pkg.scale: not what"},
		{".scale", "0", "energy-pkg.scale: not what"},
		{".scale", "1e9", "energy-pkg.scale: not what"},
		{".scale", "0x1p-32", "energy-pkg.scale: not what"},
		{".scale", "", "energy-pkg.scale: not what"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct wtl_miss *miss;
		struct bench bench;
		char path[128];

		small_machine(&bench, "GenuineIntel");
		put_event(&bench, "power", "energy-ram", "event=0x03\n");
		bench_write(&bench, "/wattle-perf/9-3-0", "3");
		snprintf(path, sizeof(path), DEVICES "/power/events/energy-pkg%s", cases[i].suffix);
		bench_write(&bench, path, cases[i].content);
		bench_open(&bench, &wtl_source_rapl_perf);
		miss = bench_miss(&bench, "package-0");
		assert_int_equal(miss->status, WATTLE_STATUS_FAILED);
		if (!strstr(miss->reason, cases[i].reason))
			fail_msg("%s", miss->reason);
		/* The other event is none the worse. */
		assert_int_equal(bench.catalog.n_channels, 1);
		bench_read(&bench, 0);
		assert_int_equal(bench_reading(&bench, "dram-0")->value, 3);
		bench_done(&bench);
	}
}

static void the_root_of_rubbish(void **state)
{
	struct bench bench;

	(void)state;
	bench_root(&bench, "rubbish");
	bench_open(&bench, &wtl_source_rapl_perf);
	assert_int_equal(bench.catalog.n_channels, 0);
	assert_int_equal(bench_miss(&bench, "")->status, WATTLE_STATUS_FAILED);
	bench_done(&bench);
}

/* An event that is listed and does not work. */
static void an_event_without_a_counter(void **state)
{
	struct bench bench;

	(void)state;
	small_machine(&bench, "GenuineIntel");
	put_event(&bench, "power", "energy-gpu", "event=0x4\n");
	bench_open(&bench, &wtl_source_rapl_perf);
	assert_int_equal(bench.catalog.n_channels, 1);
	assert_int_equal(bench_miss(&bench, "uncore-0")->status, WATTLE_STATUS_FAILED);
	assert_non_null(strstr(bench_miss(&bench, "uncore-0")->reason, "event 0x4 on CPU 0"));
	bench_read(&bench, 0);
	assert_int_equal(bench_reading(&bench, "package-0")->value, 4294967296);
	bench_done(&bench);
	/* Opens, but cannot be read. */
	small_machine(&bench, "GenuineIntel");
	bench_write(&bench, "/wattle-perf/9-2-0", "rubbish");
	bench_open(&bench, &wtl_source_rapl_perf);
	assert_int_equal(bench_miss(&bench, "package-0")->status, WATTLE_STATUS_FAILED);
	assert_int_equal(bench.open_now, 0);
	bench_done(&bench);
}

static void counters_at_zero_are_no_counters(void **state)
{
	struct bench bench;

	(void)state;
	/* powercap gives it away. */
	bench_root(&bench, "zero-counters");
	bench_open(&bench, &wtl_source_rapl_perf);
	assert_int_equal(bench.catalog.n_channels, 0);
	assert_int_equal(bench.open_now, 0);
	assert_int_equal(bench_miss(&bench, "package-0")->status, WATTLE_STATUS_FAILED);
	assert_int_equal(bench_miss(&bench, "dram-0")->status, WATTLE_STATUS_FAILED);
	assert_non_null(strstr(bench_miss(&bench, "dram-0")->reason, "stands at 0"));
	bench_done(&bench);

	/* Without it: at first 0 is as it should be, not for long. */
	small_machine(&bench, "GenuineIntel");
	put_event(&bench, "power", "energy-gpu", "event=0x04\n");
	bench_write(&bench, "/wattle-perf/9-2-0", "0\n");
	bench_write(&bench, "/wattle-perf/9-4-0", "0\n");
	bench_open(&bench, &wtl_source_rapl_perf);
	bench_read(&bench, 0);
	assert_int_equal(bench_reading(&bench, "package-0")->status, WATTLE_STATUS_OK);
	bench_read(&bench, WTL_NS_PER_S - 1);
	assert_int_equal(bench_reading(&bench, "package-0")->status, WATTLE_STATUS_OK);
	bench_read(&bench, 1);
	assert_int_equal(bench_reading(&bench, "package-0")->status, WATTLE_STATUS_FAILED);
	assert_int_equal(bench_reading(&bench, "package-0")->error, -ENODATA);
	/* A GPU that nothing is drawn on may well use nothing. */
	assert_int_equal(bench_reading(&bench, "uncore-0")->status, WATTLE_STATUS_OK);
	bench_write(&bench, "/wattle-perf/9-2-0", "1\n");
	bench_read(&bench, 1);
	assert_int_equal(bench_reading(&bench, "package-0")->status, WATTLE_STATUS_OK);
	assert_int_equal(bench_reading(&bench, "package-0")->value, 1);
	bench_done(&bench);
}

static void a_counter_fails_and_comes_back(void **state)
{
	static const struct {
		const char *content;
		enum wattle_status status;
		int error;
	} faults[] = {
		{"!errno EIO\n", WATTLE_STATUS_FAILED, -EIO},
		{"!errno ENODEV\n", WATTLE_STATUS_GONE, -ENODEV},
		{"!errno EACCES\n", WATTLE_STATUS_DENIED, -EACCES},
		{"-5\n", WATTLE_STATUS_FAILED, -EINVAL},
		{"", WATTLE_STATUS_FAILED, -EINVAL},
	};
	struct bench bench;

	(void)state;
	bench_copy(&bench, "xeon-2s-dram");
	bench_open(&bench, &wtl_source_rapl_perf);
	for (size_t i = 0; i < COUNT(faults); i++) {
		unsigned opens, reads;

		bench_write(&bench, "/wattle-perf/18-2-0", faults[i].content);
		for (int k = 0; k < 2; k++) {
			bench_read(&bench, WTL_NS_PER_MS);
			assert_int_equal(bench_reading(&bench, "package-0")->status,
					 faults[i].status);
			assert_int_equal(bench_reading(&bench, "package-0")->error,
					 faults[i].error);
			assert_int_equal(bench_reading(&bench, "package-0")->value, 0);
			assert_int_equal(bench_reading(&bench, "package-1")->status,
					 WATTLE_STATUS_OK);
		}
		/* Left alone for a second. */
		bench_write(&bench, "/wattle-perf/18-2-0", "77\n");
		opens = bench.opens;
		reads = bench.reads;
		bench_read(&bench, WTL_REPROBE_NS - 1);
		assert_int_equal(bench_reading(&bench, "package-0")->error, faults[i].error);
		assert_int_equal(bench.opens, opens);
		assert_int_equal(bench.reads, reads + 3);
		bench_read(&bench, 1);
		assert_int_equal(bench_reading(&bench, "package-0")->status, WATTLE_STATUS_OK);
		assert_int_equal(bench_reading(&bench, "package-0")->value, 77);
		/* It counts from 0 again, which only its first reading tells. */
		assert_true(bench_reading(&bench, "package-0")->anew);
		assert_false(bench_reading(&bench, "package-1")->anew);
		bench_read(&bench, 1);
		assert_false(bench_reading(&bench, "package-0")->anew);
	}
	bench_done(&bench);
}

/* The descriptor holds the sum so far: giving it up for one failed read would lose that. */
static void one_failed_read_loses_no_energy(void **state)
{
	struct bench bench;
	unsigned opens;

	(void)state;
	bench_copy(&bench, "xeon-2s-dram");
	bench_open(&bench, &wtl_source_rapl_perf);
	opens = bench.opens;
	for (int i = 0; i < 3; i++) {
		bench_write(&bench, "/wattle-perf/18-2-0", "!errno EIO\n");
		bench_read(&bench, WTL_NS_PER_MS);
		assert_int_equal(bench_reading(&bench, "package-0")->error, -EIO);
		bench_write(&bench, "/wattle-perf/18-2-0", "99\n");
		bench_read(&bench, WTL_NS_PER_MS);
		assert_int_equal(bench_reading(&bench, "package-0")->status, WATTLE_STATUS_OK);
		assert_int_equal(bench_reading(&bench, "package-0")->value, 99);
		assert_false(bench_reading(&bench, "package-0")->anew);
	}
	assert_int_equal(bench.opens, opens);
	bench_done(&bench);
}

static unsigned n_drops;

static void drop(void)
{
	n_drops++;
}

static void put_energy(const struct bench *bench, uint64_t joules_milli)
{
	char text[32];

	/* The bench's counters are in units of 2^-32 J. */
	snprintf(
		text, sizeof(text), "%llu\n",
		(unsigned long long)((unsigned __int128)joules_milli * (UINT64_C(1) << 32) / 1000));
	bench_write(bench, "/wattle-perf/9-2-0", text);
}

static bool was_read(struct bench *bench, int64_t later_ns)
{
	bench_read(bench, later_ns);
	return bench->readings[0].t_mono_ns == bench->now_ns;
}

/* Whose rights the program has borrowed gets a reading a second, in steps, from the window's start on. */
static void coarse_with_borrowed_rights(void **state)
{
	struct bench bench;

	(void)state;
	small_machine(&bench, "GenuineIntel");
	bench_write(&bench, "/proc/sys/kernel/perf_event_paranoid", "2\n");
	bench.drop_rights = drop;
	n_drops = 0;
	put_energy(&bench, 5000);
	bench_open(&bench, &wtl_source_rapl_perf);
	assert_int_equal(n_drops, 1);
	assert_true(wtl_rapl_is_coarse(&bench.catalog.channels[0]));
	assert_true(was_read(&bench, 0));
	assert_int_equal(uj(&bench, "package-0"), 0);
	/* Whatever there was before tells nothing. */
	put_energy(&bench, 5778);
	assert_true(was_read(&bench, 20 * WTL_NS_PER_MS));
	assert_int_equal(uj(&bench, "package-0"), 0);
	assert_true(bench_reading(&bench, "package-0")->anew);
	put_energy(&bench, 5999);
	for (int i = 0; i < 9; i++)
		assert_false(was_read(&bench, 100 * WTL_NS_PER_MS));
	put_energy(&bench, 6999);
	assert_true(was_read(&bench, 100 * WTL_NS_PER_MS));
	assert_false(bench_reading(&bench, "package-0")->anew);
	/* 1.221 J since, of which a hundredth of a joule is the step. */
	assert_int_equal(uj(&bench, "package-0"), 1220000);
	assert_false(was_read(&bench, 900 * WTL_NS_PER_MS));
	/* The parts of steps are not lost. */
	put_energy(&bench, 7009);
	assert_true(was_read(&bench, 100 * WTL_NS_PER_MS));
	assert_int_equal(uj(&bench, "package-0"), 1230000);
	bench_done(&bench);
}

/* Who could read it anyway is not limited: by the kernel's setting, or by powercap. */
static void not_coarse_for_who_may_read(void **state)
{
	static const struct {
		const char *paranoid, *powercap;
		bool has_borrowed, is_coarse;
	} cases[] = {
		{"2\n", NULL, true, true},   {"2\n", "!errno EACCES\n", true, true},
		{NULL, NULL, true, true},    {"0\n", NULL, true, false},
		{"-1\n", NULL, true, false}, {"4\n", "77\n", true, false},
		{"2\n", NULL, false, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bench bench;

		small_machine(&bench, "GenuineIntel");
		if (cases[i].paranoid)
			bench_write(&bench, "/proc/sys/kernel/perf_event_paranoid",
				    cases[i].paranoid);
		if (cases[i].powercap)
			bench_write(&bench, "/sys/class/powercap/intel-rapl:0/energy_uj",
				    cases[i].powercap);
		bench.drop_rights = cases[i].has_borrowed ? drop : NULL;
		bench_open(&bench, &wtl_source_rapl_perf);
		assert_int_equal(wtl_rapl_is_coarse(&bench.catalog.channels[0]),
				 cases[i].is_coarse);
		assert_true(was_read(&bench, 0));
		assert_int_equal(was_read(&bench, 1) && was_read(&bench, 1), !cases[i].is_coarse);
		bench_done(&bench);
	}
}

/* When the lead CPU has gone, the kernel names another one of that package. */
static void another_cpu_leads(void **state)
{
	struct bench bench;

	(void)state;
	bench_copy(&bench, "xeon-2s-dram");
	bench_open(&bench, &wtl_source_rapl_perf);
	bench_write(&bench, "/wattle-perf/18-2-32", "!errno ENODEV");
	bench_read(&bench, 0);
	assert_int_equal(bench_reading(&bench, "package-1")->status, WATTLE_STATUS_GONE);
	put_cpu(&bench, 33, 1, 0);
	bench_write(&bench, POWER "/cpumask", "0,33\n");
	bench_write(&bench, "/wattle-perf/18-2-33", "12\n");
	/* The second failure in a row gives the old CPU up, and the new one is asked at once. */
	bench_read(&bench, WTL_NS_PER_MS);
	assert_int_equal(bench_reading(&bench, "package-1")->status, WATTLE_STATUS_OK);
	assert_true(bench_reading(&bench, "package-1")->anew);
	assert_int_equal(bench_reading(&bench, "package-1")->value, 12);
	/* With the whole package gone, the old CPU is asked in vain. */
	bench_write(&bench, "/wattle-perf/18-2-33", "!errno ENODEV");
	bench_read(&bench, 0);
	bench_write(&bench, POWER "/cpumask", "0\n");
	bench_read(&bench, WTL_REPROBE_NS);
	assert_int_equal(bench_reading(&bench, "package-1")->status, WATTLE_STATUS_GONE);
	bench_done(&bench);
}

static void reading_opens_nothing(void **state)
{
	unsigned opens, reads;
	struct bench bench;

	(void)state;
	bench_root(&bench, "xeon-multidie");
	bench_open(&bench, &wtl_source_rapl_perf);
	opens = bench.opens;
	reads = bench.reads;
	bench.step_ns = 1000;
	for (int i = 0; i < 100; i++)
		bench_read(&bench, WTL_NS_PER_MS);
	assert_int_equal(bench.opens, opens);
	assert_int_equal(bench.reads, reads + 100 * 8);
	for (size_t i = 1; i < 8; i++)
		assert_int_equal(bench.readings[i].t_mono_ns,
				 bench.readings[i - 1].t_mono_ns + 1000);
	assert_int_equal(bench.readings[0].half_ns, 500);
	bench_done(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_machines),
		cmocka_unit_test(same_energy_as_powercap),
		cmocka_unit_test(the_unit_is_exact),
		cmocka_unit_test(topology_names_the_packages),
		cmocka_unit_test(amd_has_one_counter_a_package),
		cmocka_unit_test(other_pmus),
		cmocka_unit_test(denied),
		cmocka_unit_test(each_part_is_missed_once),
		cmocka_unit_test(denied_in_a_container),
		cmocka_unit_test(nothing_there),
		cmocka_unit_test(rubbish_in_the_pmu),
		cmocka_unit_test(rubbish_in_an_event),
		cmocka_unit_test(the_root_of_rubbish),
		cmocka_unit_test(an_event_without_a_counter),
		cmocka_unit_test(counters_at_zero_are_no_counters),
		cmocka_unit_test(a_counter_fails_and_comes_back),
		cmocka_unit_test(one_failed_read_loses_no_energy),
		cmocka_unit_test(coarse_with_borrowed_rights),
		cmocka_unit_test(not_coarse_for_who_may_read),
		cmocka_unit_test(another_cpu_leads),
		cmocka_unit_test(reading_opens_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
