/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <wattle.h>

#include "base/err.h"
#include "energy/units.h"
#include "base/thread.h"
#include "meter_bench.h"
#include "unit.h"

#define MS	 WTL_NS_PER_MS
#define S	 WTL_NS_PER_S
#define ZONES	 "sys/devices/virtual/powercap/intel-rapl/"
#define PACKAGE0 ZONES "intel-rapl:0/energy_uj"
#define PACKAGE1 ZONES "intel-rapl:1/energy_uj"
#define DRAM0	 ZONES "intel-rapl:0/intel-rapl:0:0/energy_uj"
#define RANGE	 UINT64_C(262143328850)

/* Domains in order: name, "<" what it lies in, source, "/" what it is compared with, status, "+" if it
 * is in the total. Without NVML. */
static const struct {
	const char *root, *domains;
} expected[] = {
	{"amd-apu", "package-0 rapl-powercap ok +\n"
		    "gpu-0<package-0 amdgpu ok\n"
		    "core-0 - absent\n"
		    "dram-0 model ok +\n"},
	{"amd-energy-hwmon", "package-0 hwmon ok +\n"
			     "dram-0 model ok +\n"},
	{"amd-epyc", "package-0 rapl-perf/rapl-powercap ok +\n"
		     "package-1 rapl-perf/rapl-powercap ok +\n"
		     "core-0 - absent\n"
		     "core-1 - absent\n"
		     "dram-0 model ok +\n"},
	{"amd-gpu", "package-0 rapl-perf/rapl-powercap ok +\n"
		    "core-0 - absent\n"
		    "dram-0 model ok +\n"
		    "gpu-0 amdgpu ok +\n"
		    "gpu-1 amdgpu asleep +\n"},
	{"arm-server", "package-0 hwmon ok +\n"
		       "dram-0 model ok +\n"
		       "soc-0 hwmon ok +\n"
		       "board-0 hwmon ok\n"
		       "board-1 hwmon ok\n"
		       "board-2 hwmon ok\n"},
	{"client-psys", "package-0 rapl-perf/rapl-powercap ok +\n"
			"core-0<package-0 rapl-perf/rapl-powercap ok\n"
			"uncore-0<package-0 rapl-perf/rapl-powercap ok\n"
			"dram-0 rapl-perf/rapl-powercap ok +\n"
			"psys-0 rapl-perf/rapl-powercap ok\n"},
	{"container-masked", "package-0 model ok +\n"
			     "core-0 - denied\n"
			     "dram-0 model ok +\n"
			     "machine model ok\n"},
	{"eacces", "package-0 model ok +\n"
		   "core-0 - denied\n"
		   "dram-0 model ok +\n"
		   "machine model ok\n"},
	{"grace", "dram-0 model ok +\n"
		  "gpu-0 - absent +\n"
		  "module-0 hwmon ok\n"
		  "soc-0<module-0 hwmon ok\n"
		  "package-0<soc-0 hwmon ok +\n"
		  "uncore-0<soc-0 hwmon ok +\n"},
	{"hex-zones", "package-0 rapl-powercap ok +\n"
		      "package-1 rapl-powercap ok +\n"
		      "package-2 rapl-powercap ok +\n"
		      "package-3 rapl-powercap ok +\n"
		      "package-4 rapl-powercap ok +\n"
		      "package-5 rapl-powercap ok +\n"
		      "package-6 rapl-powercap ok +\n"
		      "package-7 rapl-powercap ok +\n"
		      "package-8 rapl-powercap ok +\n"
		      "package-9 rapl-powercap ok +\n"
		      "package-10 rapl-powercap ok +\n"
		      "dram-0 model ok +\n"},
	{"intel-gpu", "package-0 rapl-powercap ok +\n"
		      "core-0<package-0 rapl-powercap ok\n"
		      "uncore-0<package-0 rapl-powercap ok\n"
		      "dram-0 model ok +\n"
		      "gpu-0 intel-gpu ok +\n"
		      "gpu-1 intel-gpu ok +\n"},
	{"jetson", "dram-0 model ok +\n"
		   "board-0 hwmon ok\n"
		   "soc-0<board-0 hwmon ok +\n"
		   "soc-1<board-0 hwmon ok +\n"},
	{"laptop-battery", "package-0 rapl-powercap ok +\n"
			   "core-0<package-0 rapl-powercap ok\n"
			   "uncore-0<package-0 rapl-powercap ok\n"
			   "dram-0 model ok +\n"
			   "battery-0 battery ok\n"
			   "battery-1 battery ok\n"},
	{"nvidia-laptop", "package-0 rapl-powercap ok +\n"
			  "core-0<package-0 rapl-powercap ok\n"
			  "uncore-0<package-0 rapl-powercap ok\n"
			  "dram-0 model ok +\n"
			  "gpu-0 - absent +\n"},
	{"nvidia-server", "package-0 rapl-powercap ok +\n"
			  "package-1 rapl-powercap ok +\n"
			  "dram-0 rapl-powercap ok +\n"
			  "dram-1 rapl-powercap ok +\n"
			  "gpu-0 - absent +\n"
			  "gpu-1 - absent +\n"},
	{"rubbish", "intel-rapl:5 - failed\n"
		    "intel-rapl:c - failed\n"
		    "intel-rapl:d - failed\n"
		    "package-0 - failed +\n"
		    "package-1 - failed +\n"
		    "package-2 - failed +\n"
		    "package-3 - failed +\n"
		    "package-4 rapl-powercap ok +\n"
		    "package-6 - failed +\n"
		    "package-7 rapl-powercap ok +\n"
		    "package-8 - failed +\n"
		    "package-9 - failed +\n"
		    "package-10 - failed +\n"
		    "package-11 - failed +\n"
		    "package-14 - failed +\n"
		    "battery-0 battery failed\n"
		    "board-0 - failed\n"
		    "board-1 - failed\n"
		    "board-2 - failed\n"
		    "board-3 hwmon ok\n"},
	{"vm-nothing", "package-0 model ok +\n"
		       "dram-0 model ok +\n"
		       "machine model ok\n"},
	{"xeon-2s-dram", "package-0 rapl-perf/rapl-powercap ok +\n"
			 "package-1 rapl-perf/rapl-powercap ok +\n"
			 "dram-0 rapl-perf/rapl-powercap ok +\n"
			 "dram-1 rapl-perf/rapl-powercap ok +\n"},
	{"xeon-multidie", "package-0-die-0 rapl-perf/rapl-powercap ok +\n"
			  "package-0-die-1 rapl-perf/rapl-powercap ok +\n"
			  "package-1-die-0 rapl-perf/rapl-powercap ok +\n"
			  "package-1-die-1 rapl-perf/rapl-powercap ok +\n"
			  "dram-0-die-0 rapl-perf/rapl-powercap ok +\n"
			  "dram-0-die-1 rapl-perf/rapl-powercap ok +\n"
			  "dram-1-die-0 rapl-perf/rapl-powercap ok +\n"
			  "dram-1-die-1 rapl-perf/rapl-powercap ok +\n"},
	{"xeon-spr-psys", "package-0 rapl-powercap ok +\n"
			  "package-1 rapl-powercap ok +\n"
			  "dram-0 rapl-powercap ok +\n"
			  "dram-1 rapl-powercap ok +\n"
			  "psys-0 rapl-powercap ok\n"
			  "psys-1 rapl-powercap ok\n"},
	{"zero-counters", "package-0 model ok +\n"
			  "dram-0 model ok +\n"
			  "machine model ok\n"},
};

static void list_domains(struct wattle_meter *meter, char *text, size_t size)
{
	size_t len = 0;

	for (size_t i = 0; i < wattle_meter_domains(meter); i++) {
		struct wattle_domain d;

		assert_return_code(wtl_meter_domain(meter, i, &d), 0);
		len += (size_t)snprintf(text + len, size - len, "%s%s%s %s%s%s %s%s\n", d.name,
					d.inside ? "<" : "", d.inside ? d.inside : "",
					d.source ? d.source : "-", d.check ? "/" : "",
					d.check ? d.check : "", wattle_status_name(d.status),
					d.in_total ? " +" : "");
		assert_true(len < size);
	}
}

static void test_roots(void **state)
{
	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(expected); i++) {
		struct meter_bench bench;
		char text[4096] = "";

		meter_bench_root(&bench, expected[i].root);
		meter_bench_open(&bench);
		list_domains(bench.meter, text, sizeof(text));
		if (strcmp(text, expected[i].domains) != 0)
			fail_msg("%s:\n%sinstead of\n%s", expected[i].root, text,
				 expected[i].domains);
		meter_bench_done(&bench);
	}
}

/* What has no figure says why; what is modelled says why it is not measured. */
static void test_reasons(void **state)
{
	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(expected); i++) {
		struct wattle_energy energies[64];
		struct meter_bench bench;

		meter_bench_root(&bench, expected[i].root);
		meter_bench_open(&bench);
		assert_return_code(wattle_window_begin(bench.meter, "w"), 0);
		assert_return_code(wtl_window_end(bench.meter, "w", NULL, energies, 64), 0);
		for (size_t k = 0; k < wattle_meter_domains(bench.meter); k++) {
			struct wattle_domain d;

			wtl_meter_domain(bench.meter, k, &d);
			if (!d.source)
				assert_int_equal(energies[k].status, d.status);
			if (!d.source && !d.reason)
				fail_msg("%s: %s is not measured, and does not say why",
					 expected[i].root, d.name);
			assert_int_equal(d.source == NULL, d.method == WATTLE_METHOD_NONE);
			assert_int_equal(meter_bench_find(&bench, d.name), k);
		}
		meter_bench_done(&bench);
	}
}

/* A machine that is an empty directory opens too. */
static void test_empty_root(void **state)
{
	struct meter_bench bench;
	struct wattle_window window;

	(void)state;
	meter_bench_copy(&bench, "");
	meter_bench_open(&bench);
	assert_return_code(wattle_window_begin(bench.meter, "w"), 0);
	meter_bench_tick(&bench, S);
	assert_return_code(wtl_window_end(bench.meter, "w", &window, NULL, 0), 0);
	assert_int_equal(window.duration_ns, S);
	for (size_t i = 0; i < wattle_meter_domains(bench.meter); i++) {
		struct wattle_domain d;

		wtl_meter_domain(bench.meter, i, &d);
		assert_true(d.reason || d.method == WATTLE_METHOD_MODELLED);
	}
	meter_bench_done(&bench);
}

static void start_server(struct meter_bench *bench)
{
	meter_bench_copy(bench, "nvidia-server");
	meter_bench_write(bench, PACKAGE0, "1000000\n");
	meter_bench_write(bench, PACKAGE1, "2000000\n");
	meter_bench_write(bench, DRAM0, "3000000\n");
	meter_bench_open(bench);
	assert_return_code(wattle_window_begin(bench->meter, "w"), 0);
}

static void test_exact_energy(void **state)
{
	struct meter_bench bench;
	struct wattle_energy e, energies[8];
	struct wattle_window window;

	(void)state;
	start_server(&bench);
	meter_bench_write(&bench, PACKAGE0, "1000001\n");
	meter_bench_tick(&bench, 100 * MS);
	meter_bench_write(&bench, PACKAGE0, "11000007\n");
	meter_bench_write(&bench, DRAM0, "3000100\n");
	meter_bench_pass(&bench, 900 * MS);
	e = meter_bench_energy(&bench, "w", "package-0");
	assert_int_equal(e.energy_uj, 10000007);
	assert_int_equal(e.measured_ns, S);
	assert_int_equal(e.gap_ns, 0);
	assert_int_equal(e.mean_uw, 10000007);
	assert_int_equal(e.status, WATTLE_STATUS_OK);
	assert_int_equal(e.method, WATTLE_METHOD_COUNTER);
	assert_true(e.uncertainty_uj > 0);
	assert_return_code(wtl_window_end(bench.meter, "w", &window, energies, 8), 0);
	assert_int_equal(energies[meter_bench_find(&bench, "dram-0")].energy_uj, 100);
	assert_int_equal(energies[meter_bench_find(&bench, "package-1")].energy_uj, 0);
	assert_int_equal(window.total.energy_uj, 10000107);
	assert_int_equal(window.total.method, WATTLE_METHOD_COUNTER);
	assert_int_equal(window.duration_ns, S);
	assert_int_equal(window.begin_mono_ns, METER_BENCH_START_NS);
	assert_int_equal(window.begin_utc_ns - window.begin_mono_ns,
			 INT64_C(1700000000) * WTL_NS_PER_S);
	meter_bench_done(&bench);
}

/* A perf counter of 2^-32 J: every 2^32 counts are a joule, to the microjoule, however read. */
static void test_perf_units(void **state)
{
	struct meter_bench bench;
	uint64_t count = 535152286236672;

	(void)state;
	meter_bench_copy(&bench, "xeon-2s-dram");
	meter_bench_open(&bench);
	assert_return_code(wattle_window_begin(bench.meter, "w"), 0);
	for (int i = 0; i < 64; i++) {
		count += UINT64_C(1) << 26; /* 1/64 J: no whole number of µJ */
		meter_bench_write(&bench, "wattle-perf/18-2-0", "%llu\n",
				  (unsigned long long)count);
		meter_bench_tick(&bench, 10 * MS);
	}
	assert_int_equal(meter_bench_energy(&bench, "w", "package-0").energy_uj, 1000000);
	meter_bench_done(&bench);
}

static void test_wrap(void **state)
{
	struct meter_bench bench;
	struct wattle_energy e;

	(void)state;
	meter_bench_copy(&bench, "nvidia-server");
	meter_bench_write(&bench, PACKAGE0, "%llu\n", (unsigned long long)(RANGE - 1000));
	meter_bench_open(&bench);
	assert_return_code(wattle_window_begin(bench.meter, "w"), 0);
	meter_bench_write(&bench, PACKAGE0, "500\n");
	meter_bench_tick(&bench, 100 * MS);
	e = meter_bench_energy(&bench, "w", "package-0");
	/* The highest value is one unit (61 µJ) below the range. */
	assert_int_equal(e.energy_uj, 1000 + 61 + 500);
	assert_int_equal(e.flags & WATTLE_ENERGY_RESET, 0);
	assert_int_equal(e.gap_ns, 0);
	meter_bench_done(&bench);
}

/* A counter that jumps back by more than could have been used began anew: a gap, no number. */
static void test_reset(void **state)
{
	struct meter_bench bench;
	struct wattle_energy e;

	(void)state;
	start_server(&bench);
	meter_bench_write(&bench, PACKAGE0, "2000000\n");
	meter_bench_tick(&bench, 100 * MS);
	meter_bench_write(&bench, PACKAGE0, "10\n");
	meter_bench_tick(&bench, 100 * MS);
	meter_bench_write(&bench, PACKAGE0, "1000010\n");
	meter_bench_tick(&bench, 100 * MS);
	e = meter_bench_energy(&bench, "w", "package-0");
	assert_int_equal(e.energy_uj, 2000000);
	assert_int_equal(e.status, WATTLE_STATUS_GAP);
	assert_int_equal(e.gap_ns, 100 * MS);
	assert_int_equal(e.measured_ns, 200 * MS);
	assert_true(e.flags & WATTLE_ENERGY_RESET);
	assert_int_equal(e.mean_uw, 10000000);
	meter_bench_done(&bench);
}

/* A zone that goes and comes back: the counter went on meanwhile, so nothing is lost. */
static void test_comes_back(void **state)
{
	struct meter_bench bench;
	struct wattle_window window;
	struct wattle_energy e;

	(void)state;
	start_server(&bench);
	meter_bench_write(&bench, PACKAGE0, "2000000\n");
	meter_bench_tick(&bench, 100 * MS);
	meter_bench_write(&bench, PACKAGE0, "!errno ENODEV\n");
	meter_bench_tick(&bench, 900 * MS);
	assert_int_equal(meter_bench_domain(&bench, "package-0").status, WATTLE_STATUS_GONE);
	e = meter_bench_energy(&bench, "w", "package-0");
	assert_int_equal(e.status, WATTLE_STATUS_GONE);
	assert_int_equal(e.energy_uj, 1000000);
	assert_int_equal(e.measured_ns, 100 * MS);
	assert_int_equal(e.gap_ns, 900 * MS);
	assert_return_code(wtl_window_read(bench.meter, "w", &window, NULL, 0), 0);
	assert_int_equal(window.total.status, WATTLE_STATUS_GAP);

	meter_bench_write(&bench, PACKAGE0, "5000000\n");
	meter_bench_tick(&bench, 1100 * MS);
	e = meter_bench_energy(&bench, "w", "package-0");
	assert_int_equal(e.status, WATTLE_STATUS_OK);
	assert_int_equal(e.energy_uj, 4000000);
	assert_int_equal(e.measured_ns, 2100 * MS);
	assert_int_equal(e.gap_ns, 0);
	meter_bench_done(&bench);
}

static void test_denied_midway(void **state)
{
	struct meter_bench bench;
	struct wattle_domain domain;

	(void)state;
	start_server(&bench);
	meter_bench_write(&bench, PACKAGE0, "!errno EACCES\n");
	meter_bench_tick(&bench, 100 * MS);
	domain = meter_bench_domain(&bench, "package-0");
	assert_int_equal(domain.status, WATTLE_STATUS_DENIED);
	assert_non_null(domain.reason);
	meter_bench_write(&bench, PACKAGE0, "rubbish\n");
	meter_bench_tick(&bench, 1500 * MS);
	domain = meter_bench_domain(&bench, "package-0");
	assert_int_equal(domain.status, WATTLE_STATUS_FAILED);
	assert_non_null(domain.reason);
	meter_bench_write(&bench, PACKAGE0, "2000000\n");
	meter_bench_tick(&bench, 1500 * MS);
	domain = meter_bench_domain(&bench, "package-0");
	assert_int_equal(domain.status, WATTLE_STATUS_OK);
	assert_null(domain.reason);
	meter_bench_done(&bench);
}

/* What is said of trouble: the source's own words, else what the status or the error means. "-": nothing. */
static void test_explained(void **state)
{
	static const struct {
		enum wattle_status status;
		enum wattle_kind kind;
		int error;
		const char *told, *told_remedy, *reason, *remedy;
	} cases[] = {
		{WATTLE_STATUS_OK, WATTLE_KIND_GPU, 0, "told", "do", "-", "-"},
		{WATTLE_STATUS_DENIED, WATTLE_KIND_GPU, -EACCES, "told", "do", "told", "do"},
		{WATTLE_STATUS_FAILED, WATTLE_KIND_CPU, -EACCES, NULL, "", "Permission denied",
		 "-"},
		{WATTLE_STATUS_ABSENT, WATTLE_KIND_CPU, 0, NULL, NULL, "-", "-"},
		{WATTLE_STATUS_STALE, WATTLE_KIND_CPU, 0, "told", "do", "its source answers late",
		 "do"},
		{WATTLE_STATUS_ASLEEP, WATTLE_KIND_GPU, 0, "told", "do",
		 "it is suspended, and reading it would wake it", "do"},
		{WATTLE_STATUS_GONE, WATTLE_KIND_CPU, 0, "told", "do", "told", "do"},
		{WATTLE_STATUS_GONE, WATTLE_KIND_GPU, 0, NULL, "do",
		 "it was there when the measurement began, and is no more",
		 "look for its driver's messages: dmesg | grep -i -e nvrm -e xid -e amdgpu -e i915 -e xe"},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		struct wtl_account account = {.status = cases[i].status,
					      .error = cases[i].error,
					      .reason = cases[i].told,
					      .remedy = cases[i].told_remedy};
		struct wtl_domain_state said = {.account = &account, .domain.kind = cases[i].kind};
		const char *reason, *remedy;

		wtl_domain_state_explain(&said);
		reason = said.info.reason;
		remedy = said.info.remedy;
		assert_string_equal(reason ? reason : "-", cases[i].reason);
		assert_string_equal(remedy ? remedy : "-", cases[i].remedy);
	}
}

/* A model takes the place of what may not be read: what is to be done about it stays said, tick after tick. */
static void test_denied_and_modelled(void **state)
{
	struct meter_bench bench;
	struct wattle_domain before, domain;

	(void)state;
	meter_bench_copy(&bench, "nvidia-server");
	meter_bench_write(&bench, PACKAGE0, "!errno EACCES\n");
	meter_bench_write(&bench, PACKAGE1, "!errno EACCES\n");
	meter_bench_open(&bench);
	before = meter_bench_domain(&bench, "package-0");
	assert_int_equal(before.method, WATTLE_METHOD_MODELLED);
	assert_non_null(before.remedy);
	assert_non_null(strstr(before.reason, "energy_uj"));
	for (int i = 0; i < 2; i++) {
		meter_bench_tick(&bench, 100 * MS);
		domain = meter_bench_domain(&bench, "package-0");
		assert_int_equal(domain.status, WATTLE_STATUS_OK);
		assert_string_equal(domain.reason, before.reason);
		assert_string_equal(domain.remedy, before.remedy);
	}
	meter_bench_done(&bench);
}

/* Why there is a model says nothing of why the model went. */
static void test_model_goes(void **state)
{
	struct meter_bench bench;
	struct wattle_domain before, domain;

	(void)state;
	meter_bench_copy(&bench, "vm-nothing");
	meter_bench_open(&bench);
	meter_bench_tick(&bench, 100 * MS);
	before = meter_bench_domain(&bench, "package-0");
	assert_int_equal(before.method, WATTLE_METHOD_MODELLED);
	assert_int_equal(before.status, WATTLE_STATUS_OK);
	meter_bench_write(&bench, "proc/stat", "!errno EIO\n");
	for (int i = 0; i < 2; i++) {
		meter_bench_tick(&bench, 100 * MS);
		domain = meter_bench_domain(&bench, "package-0");
		assert_int_equal(domain.status, WATTLE_STATUS_FAILED);
		assert_string_equal(domain.reason,
				    "it is modelled from /proc/stat, which cannot be read");
		assert_null(domain.remedy);
	}
	unit_write(bench.copy, "proc/stat", "cpu  1000 0 0 9000 0 0 0 0 0 0\n");
	meter_bench_tick(&bench, 1500 * MS);
	domain = meter_bench_domain(&bench, "package-0");
	assert_int_equal(domain.status, WATTLE_STATUS_OK);
	assert_string_equal(domain.reason, before.reason);
	meter_bench_done(&bench);
}

/* Nothing was read in the whole window: no figure, and not one of 0 either. */
static void test_never_read(void **state)
{
	struct meter_bench bench;
	struct wattle_window window;
	struct wattle_energy e;

	(void)state;
	start_server(&bench);
	meter_bench_write(&bench, PACKAGE0, "!errno EIO\n");
	meter_bench_tick(&bench, 100 * MS);
	assert_return_code(wattle_window_begin(bench.meter, "late"), 0);
	meter_bench_tick(&bench, 500 * MS);
	e = meter_bench_energy(&bench, "late", "package-0");
	assert_int_equal(e.has_energy, 0);
	assert_int_equal(e.status, WATTLE_STATUS_FAILED);
	assert_int_equal(e.gap_ns, 500 * MS);
	/* And the window whose only reading was its first: */
	e = meter_bench_energy(&bench, "w", "package-0");
	assert_int_equal(e.gap_ns, 600 * MS);
	assert_return_code(wtl_window_read(bench.meter, "late", &window, NULL, 0), 0);
	assert_int_equal(window.total.status, WATTLE_STATUS_GAP);
	assert_int_equal(window.total.gap_ns, 500 * MS);
	assert_int_equal(window.total.has_energy, 1);
	assert_int_equal(e.has_energy, 0);
	assert_int_equal(e.has_power, 0);
	/* It comes back: the figure begins there, and what lies before is a gap. */
	meter_bench_write(&bench, PACKAGE0, "7000000\n");
	meter_bench_tick(&bench, 1000 * MS);
	/* The domain is well again, but the window holds no measured time: not "ok". */
	e = meter_bench_energy(&bench, "late", "package-0");
	assert_int_equal(meter_bench_domain(&bench, "package-0").status, WATTLE_STATUS_OK);
	assert_int_equal(e.has_energy, 0);
	assert_int_equal(e.gap_ns, 1500 * MS);
	assert_int_equal(e.status, WATTLE_STATUS_GAP);
	meter_bench_write(&bench, PACKAGE0, "8000000\n");
	meter_bench_tick(&bench, 500 * MS);
	e = meter_bench_energy(&bench, "late", "package-0");
	assert_int_equal(e.energy_uj, 1000000);
	assert_int_equal(e.measured_ns, 500 * MS);
	assert_int_equal(e.gap_ns, 1500 * MS);
	assert_int_equal(e.status, WATTLE_STATUS_GAP);
	meter_bench_done(&bench);
}

static void test_suspend(void **state)
{
	struct meter_bench bench;
	struct wattle_energy e;

	(void)state;
	start_server(&bench);
	meter_bench_write(&bench, PACKAGE0, "2000000\n");
	meter_bench_tick(&bench, 100 * MS);
	bench.asleep_ns += 3600 * S;
	meter_bench_write(&bench, PACKAGE0, "90000000\n");
	meter_bench_tick(&bench, 100 * MS);
	assert_non_null(strstr(bench.log, "slept"));
	meter_bench_write(&bench, PACKAGE0, "91000000\n");
	meter_bench_tick(&bench, 100 * MS);
	e = meter_bench_energy(&bench, "w", "package-0");
	assert_int_equal(e.energy_uj, 2000000);
	assert_int_equal(e.status, WATTLE_STATUS_GAP);
	assert_int_equal(e.gap_ns, 100 * MS);
	assert_int_equal(e.measured_ns, 200 * MS);
	meter_bench_done(&bench);
}

/* The clocks' small disagreements are not sleep. */
static void test_no_suspend(void **state)
{
	struct meter_bench bench;

	(void)state;
	start_server(&bench);
	for (int i = 0; i < 1000; i++) {
		if (i % 100 == 0)
			meter_bench_write(&bench, PACKAGE0, "%d\n", 80000000 + i);
		bench.asleep_ns += 1 * MS;
		meter_bench_tick(&bench, 10 * MS);
	}
	assert_null(strstr(bench.log, "slept"));
	assert_int_equal(meter_bench_energy(&bench, "w", "package-0").gap_ns, 0);
	meter_bench_done(&bench);
}

/* Package-0 by perf and by powercap; both move by what is given. */
static void move_both(struct meter_bench *bench, double perf_j, double powercap_j)
{
	static const double counts_per_j = 4294967296.0;

	meter_bench_write(bench, "wattle-perf/18-2-0", "%llu\n",
			  (unsigned long long)(535152286236672.0 + perf_j * counts_per_j));
	meter_bench_write(bench, PACKAGE0, "%llu\n",
			  (unsigned long long)(124599532281 + powercap_j * 1e6) % (RANGE + 61));
}

static uint32_t flags_after(struct meter_bench *bench, int from_s, int to_s, double ratio)
{
	for (int i = from_s; i < to_s; i++) {
		double joule = 100.0 * (i + 1);

		move_both(bench, joule, joule * ratio);
		meter_bench_tick(bench, S);
	}
	return meter_bench_energy(bench, "w", "package-0").flags;
}

static void start_comparison(struct meter_bench *bench)
{
	meter_bench_copy(bench, "xeon-2s-dram");
	move_both(bench, 0.0, 0.0);
	meter_bench_open(bench);
	assert_return_code(wattle_window_begin(bench->meter, "w"), 0);
}

static void test_disagreement(void **state)
{
	struct meter_bench bench;
	struct wattle_energy early, late;

	(void)state;
	start_comparison(&bench);
	assert_int_equal(flags_after(&bench, 0, 4, 1.2) & WATTLE_ENERGY_DISAGREES, 0);
	early = meter_bench_energy(&bench, "w", "package-0");
	assert_true(flags_after(&bench, 4, 7, 1.2) & WATTLE_ENERGY_DISAGREES);
	late = meter_bench_energy(&bench, "w", "package-0");
	/* 20 % apart, either may be right: k = 2 times 0.2 / sqrt(3) is 23 %. */
	assert_true(late.uncertainty_uj > late.energy_uj * 23 / 100);
	assert_true(late.uncertainty_uj < late.energy_uj * 30 / 100);
	assert_true((double)early.uncertainty_uj / (double)early.energy_uj < 0.1);
	meter_bench_done(&bench);
}

static void test_agreement(void **state)
{
	struct meter_bench bench;

	(void)state;
	start_comparison(&bench);
	assert_int_equal(flags_after(&bench, 0, 20, 1.003) & WATTLE_ENERGY_DISAGREES, 0);
	meter_bench_done(&bench);
}

/* What held for hours does not cover up what begins now. */
static void test_late_disagreement(void **state)
{
	struct meter_bench bench;

	(void)state;
	start_comparison(&bench);
	assert_int_equal(flags_after(&bench, 0, 7200, 1.0) & WATTLE_ENERGY_DISAGREES, 0);
	for (int i = 0; i < 150; i++) {
		/* The second source shows half from now on. */
		move_both(&bench, 720000.0 + 100.0 * (i + 1), 720000.0 + 50.0 * (i + 1));
		meter_bench_tick(&bench, S);
	}
	assert_true(meter_bench_energy(&bench, "w", "package-0").flags & WATTLE_ENERGY_DISAGREES);
	meter_bench_done(&bench);
}

/* After so long, the second one may have come around: they are compared from there on. */
static void test_disagreement_after_a_break(void **state)
{
	struct meter_bench bench;

	(void)state;
	start_comparison(&bench);
	assert_int_equal(flags_after(&bench, 0, 7, 1.0) & WATTLE_ENERGY_DISAGREES, 0);
	meter_bench_tick(&bench, 100000 * S);
	assert_true(flags_after(&bench, 7, 20, 1.2) & WATTLE_ENERGY_DISAGREES);
	meter_bench_done(&bench);
}

struct sources {
	enum wattle_kind kind;
	enum wtl_quantity second;
	unsigned coverage_permille; /* of the second one's class; 0: it has none */
	unsigned percent;	    /* what it shows of what the first one does */
	int64_t later_ns;	    /* than the first one is read */
	int apart_s;		    /* when they are found to disagree; 0: not at all */
};

/* They begin at 1000 s, both with 100 W; from from_s on, the second one is off. */
static void check_sources(const struct sources *row, int from_s, int to_s)
{
	const struct wtl_sensor_class class = {.name = "part-time",
					       .update_ns = 100 * MS,
					       .window_ns = row->coverage_permille * (MS / 10),
					       .coverage_permille = row->coverage_permille};
	const struct wtl_channel first = {.quantity = WTL_QUANTITY_ENERGY,
					  .method = WATTLE_METHOD_COUNTER,
					  .kind = row->kind,
					  .unit = WTL_UNIT_MICRO,
					  .update_ns = MS};
	static struct wtl_integral integral; /* large */
	struct wtl_channel second = first;
	struct wtl_account own, check;
	struct wtl_domain_state both = {.domain.kind = row->kind, .account = &own, .check = &check};
	uint64_t own_uj = 0, check_uj = 0;

	second.quantity = row->second;
	second.class = row->coverage_permille ? &class : NULL;
	wtl_account_init(&own, &first, NULL);
	wtl_account_init(&check, &second, &integral);
	for (int64_t t_ns = 1000 * S; t_ns <= to_s * S; t_ns += 100 * MS) {
		unsigned percent = t_ns > from_s * S ? row->percent : 100;
		struct wtl_reading reading = {.t_mono_ns = t_ns, .value = own_uj += 10000000};

		wtl_account_feed(&own, &reading);
		check_uj += 100000 * percent;
		reading.t_mono_ns += row->later_ns;
		reading.value = row->second == WTL_QUANTITY_ENERGY ? check_uj : 1000000 * percent;
		wtl_account_feed(&check, &reading);
		wtl_domain_state_compare(&both);
		assert_int_equal(both.disagrees, row->apart_s && t_ns >= row->apart_s * S);
	}
	if (row->apart_s)
		assert_true(fabs(100 * both.disagreement - abs((int)row->percent - 100)) < 1);
}

/* How far apart two sources may be: by what they are, and by how much of the time the second one sees. That is found
 * after five seconds; after a minute, what was before does not count any more. */
static void test_what_is_apart(void **state)
{
	static const struct sources rows[] = {
		{WATTLE_KIND_CPU, WTL_QUANTITY_ENERGY, 0, 101, 0, 0},
		{WATTLE_KIND_CPU, WTL_QUANTITY_ENERGY, 0, 102, 0, 1005},
		{WATTLE_KIND_CPU, WTL_QUANTITY_ENERGY, 0, 98, 0, 1005},
		{WATTLE_KIND_CPU, WTL_QUANTITY_ENERGY, 0, 102, 10 * MS, 1005},
		{WATTLE_KIND_CPU, WTL_QUANTITY_ENERGY, 0, 102, 10 * MS + 1, 0},
		{WATTLE_KIND_CPU, WTL_QUANTITY_ENERGY, 0, 102, -10 * MS, 1005},
		{WATTLE_KIND_CPU, WTL_QUANTITY_ENERGY, 0, 102, -10 * MS - 1, 0},
		{WATTLE_KIND_GPU, WTL_QUANTITY_ENERGY, 0, 109, 0, 0},
		{WATTLE_KIND_GPU, WTL_QUANTITY_ENERGY, 0, 112, 0, 1005},
		{WATTLE_KIND_CPU, WTL_QUANTITY_POWER, 0, 109, 0, 0},
		{WATTLE_KIND_CPU, WTL_QUANTITY_POWER, 0, 115, 0, 1005},
		{WATTLE_KIND_GPU, WTL_QUANTITY_POWER, 1000, 115, 0, 1005},
		{WATTLE_KIND_GPU, WTL_QUANTITY_POWER, 250, 20, 0, 0},
		{WATTLE_KIND_GPU, WTL_QUANTITY_POWER, 250, 10, 0, 1005},
	};
	static const struct sources late = {WATTLE_KIND_CPU, WTL_QUANTITY_ENERGY, 0, 103, 0, 1065};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(rows); i++)
		check_sources(&rows[i], 0, 1006);
	check_sources(&late, 1050, 1066);
}

/* What is made of a counter that moves each millisecond, by how long it was read. */
static void test_figures_by_length(void **state)
{
	static const struct {
		int64_t ns;
		bool is_short, has_power;
	} rows[] = {
		{10 * MS - 1, true, false},
		{10 * MS, false, false},
		{WTL_POWER_MIN_NS - 1, false, false},
		{WTL_POWER_MIN_NS, false, true},
	};
	const struct wtl_channel channel = {.quantity = WTL_QUANTITY_ENERGY,
					    .method = WATTLE_METHOD_COUNTER,
					    .unit = WTL_UNIT_MICRO,
					    .update_ns = MS,
					    .gain_ppm = 10000};
	struct wtl_domain_state said = {.info = {.status = WATTLE_STATUS_DENIED},
					.disagreement = 0.2};
	struct wtl_budget budget;
	struct wattle_energy energy;
	struct wtl_account account;
	struct wtl_mark mark = {.t_ns = 0};

	(void)state;
	wtl_domain_state_energy(&said, &mark, S, &energy, &budget);
	assert_int_equal(energy.status, WATTLE_STATUS_DENIED);
	assert_false(energy.has_energy);
	said.account = &account;
	for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
		struct wtl_reading reading = {.t_mono_ns = 1000 * S, .value = 1000000};

		wtl_account_init(&account, &channel, NULL);
		wtl_account_feed(&account, &reading);
		wtl_account_mark(&account, reading.t_mono_ns, reading.t_mono_ns, &mark);
		reading.t_mono_ns += rows[i].ns;
		reading.value += 2000000;
		wtl_account_feed(&account, &reading);
		wtl_domain_state_energy(&said, &mark, reading.t_mono_ns, &energy, &budget);
		assert_int_equal(energy.status, WATTLE_STATUS_OK);
		assert_int_equal(energy.energy_uj, 2000000);
		assert_int_equal(energy.measured_ns, rows[i].ns);
		assert_int_equal(energy.samples, 1);
		assert_int_equal(energy.flags, rows[i].is_short ? WATTLE_ENERGY_SHORT : 0);
		assert_int_equal(energy.has_power, rows[i].has_power);
		assert_int_equal(energy.mean_uw, rows[i].has_power ? 2000000 / 20 * 1000 : 0);
		assert_true(fabs(budget.disagreement_uj - 400000 / sqrt(3)) < 1);
		assert_true(fabs(budget.gain_uj - wtl_budget_gain_uj(2000000, 10000)) < 1);
		assert_int_equal(energy.uncertainty_uj,
				 (uint64_t)(2 * wtl_budget_combined_uj(&budget) + 0.5));
	}
}

/* What a part-time sensor shows of a load that swings says as little as that of a few updates. */
static void test_mostly_unseen(void **state)
{
	const struct wtl_sensor_class class = {.name = "part-time",
					       .update_ns = 100 * MS,
					       .window_ns = 25 * MS,
					       .coverage_permille = 250};
	const struct wtl_channel channel = {.quantity = WTL_QUANTITY_POWER,
					    .unit = WTL_UNIT_MICRO,
					    .update_ns = 100 * MS,
					    .class = &class};
	static struct wtl_integral integral; /* large */

	(void)state;
	for (int swings = 0; swings < 2; swings++) {
		struct wtl_account account;
		struct wtl_domain_state said = {.account = &account};
		struct wtl_budget budget;
		struct wattle_energy energy;
		struct wtl_mark mark = {.t_ns = 0};

		wtl_account_init(&account, &channel, &integral);
		for (int i = 0; i < 60; i++) {
			const struct wtl_reading reading = {.t_mono_ns = 1000 * S + i * 100 * MS,
							    .value = swings && i % 2 ? 1000000
										     : 300000000};

			wtl_account_feed(&account, &reading);
			if (i == 45)
				wtl_account_mark(&account, reading.t_mono_ns, reading.t_mono_ns,
						 &mark);
		}
		wtl_domain_state_energy(&said, &mark, 1000 * S + 59 * 100 * MS, &energy, &budget);
		assert_int_equal(energy.flags, swings ? WATTLE_ENERGY_SHORT : 0);
	}
}

/* A source that takes 30 ms gets a thread of its own after three reads in a row. */
static void start_slow(struct meter_bench *bench)
{
	meter_bench_copy(bench, "laptop-battery");
	bench->slow = "power_supply/BAT0";
	bench->slow_ns = 30 * MS;
	meter_bench_open(bench);
	for (int i = 0; i < 4 && !strstr(bench->log, "answers slowly"); i++)
		meter_bench_tick(bench, 100 * MS);
	assert_non_null(strstr(bench->log, "battery answers slowly"));
}

/* The thread has to come to it. */
static void assert_answers_again(struct meter_bench *bench, const char *domain)
{
	const struct timespec moment = {.tv_nsec = 5000000};

	for (int i = 0; i < 200; i++) {
		meter_bench_tick(bench, 10 * MS);
		if (meter_bench_domain(bench, domain).status == WATTLE_STATUS_OK)
			return;
		nanosleep(&moment, NULL);
	}
	fail_msg("%s does not answer again", domain);
}

static void test_slow_source(void **state)
{
	struct meter_bench bench;
	unsigned done;
	int64_t before_ns, real_ns;

	(void)state;
	start_slow(&bench);
	done = bench.slow_reads_done;
	bench.stuck = true;
	before_ns = meter_bench_now(&bench);
	real_ns = wtl_thread_clock_ns();
	for (int i = 0; i < 50; i++)
		meter_bench_tick(&bench, 10 * MS);
	assert_true(wtl_thread_clock_ns() - real_ns < 2 * S); /* no wait for each */
	meter_bench_await_begun(&bench, done + 1);
	assert_int_equal(bench.blocked_owner, 0);
	assert_int_equal(meter_bench_now(&bench), before_ns + 500 * MS);
	/* It answers at last: its power is there again. */
	meter_bench_tick(&bench, 1100 * MS);
	assert_int_equal(meter_bench_domain(&bench, "battery-0").status, WATTLE_STATUS_STALE);
	assert_non_null(meter_bench_domain(&bench, "battery-0").reason);
	assert_int_equal(meter_bench_domain(&bench, "core-0").status, WATTLE_STATUS_OK);
	meter_bench_release(&bench);
	meter_bench_await_done(&bench, done + 1);
	assert_answers_again(&bench, "battery-0");
	meter_bench_done(&bench);
}

/* What a tape holds in one order is read by one thread, however slow it is. */
static void test_slow_in_one_order(void **state)
{
	struct meter_bench bench;

	(void)state;
	meter_bench_copy(&bench, "amd-gpu");
	bench.io.has_one_order = true;
	bench.slow = "hwmon";
	bench.slow_ns = 30 * MS;
	meter_bench_open(&bench);
	wtl_meter_guard(bench.meter);
	for (int i = 0; i < 6; i++)
		meter_bench_tick(&bench, 100 * MS);
	assert_null(strstr(bench.log, "answers slowly"));
	for (size_t i = 0; i < bench.meter->n_sensors; i++)
		assert_null(bench.meter->sensors[i].worker);
	meter_bench_done(&bench);
}

/* From the first read on its own thread: waited for, but not for long. */
static void test_guarded_source(void **state)
{
	struct meter_bench bench;
	struct wattle_energy before, after;
	unsigned done;

	(void)state;
	meter_bench_copy(&bench, "amd-gpu");
	bench.slow = "hwmon";
	meter_bench_open(&bench);
	wtl_meter_guard(bench.meter);
	assert_return_code(wattle_window_begin(bench.meter, "w"), 0);
	done = bench.slow_reads_done;
	assert_true(done > 0);
	for (unsigned i = 1; i <= 20; i++) {
		meter_bench_tick(&bench, 100 * MS);
		/* Each is there when the tick is over, and read by another. */
		assert_true(bench.slow_reads_done > done);
		done = bench.slow_reads_done;
	}
	before = meter_bench_energy(&bench, "w", "gpu-0");
	assert_int_equal(before.gap_ns, 0);
	bench.stuck = true;
	for (int i = 0; i < 30; i++)
		meter_bench_tick(&bench, 100 * MS);
	assert_int_equal(bench.blocked_owner, 0);
	assert_int_equal(meter_bench_domain(&bench, "gpu-0").status, WATTLE_STATUS_STALE);
	after = meter_bench_energy(&bench, "w", "gpu-0");
	assert_true(after.gap_ns > 0 && after.gap_ns < 4 * S);
	meter_bench_release(&bench);
	assert_answers_again(&bench, "gpu-0");
	assert_null(strstr(bench.log, "answers slowly"));
	meter_bench_done(&bench);
}

/* What only confirms another source is read once a second; 3 times too slow within a minute, it is not waited for. */
static void test_check_is_read_seldom(void **state)
{
	struct meter_bench bench;
	unsigned reads;

	(void)state;
	meter_bench_root(&bench, "client-psys");
	bench.slow = "energy_uj";
	meter_bench_open(&bench);
	reads = bench.slow_reads;
	for (unsigned i = 1; i <= 25; i++) {
		meter_bench_tick(&bench, 100 * MS);
		assert_int_equal(bench.slow_reads, reads + i / 10 * 5); /* zones */
	}
	bench.slow_ns = 5 * MS;
	for (int i = 1; i <= 5; i++) {
		assert_null(strstr(bench.log, "answers slowly"));
		meter_bench_tick(&bench, i == 3 ? 70 * S : 10 * S);
	}
	assert_non_null(strstr(bench.log, "rapl-powercap answers slowly"));
	meter_bench_done(&bench);
}

/* A slow counter's energy is that between its answers; what is missing at the edges is a gap. */
static void test_slow_counter(void **state)
{
	struct meter_bench bench;
	struct wattle_energy e;
	unsigned done;

	(void)state;
	meter_bench_copy(&bench, "nvidia-server");
	bench.slow = "intel-rapl";
	bench.slow_ns = 30 * MS;
	meter_bench_write(&bench, PACKAGE0, "1000000\n");
	meter_bench_open(&bench);
	for (int i = 0; i < 4; i++)
		meter_bench_tick(&bench, 100 * MS);
	assert_non_null(strstr(bench.log, "rapl-powercap answers slowly"));
	pthread_mutex_lock(&bench.lock);
	done = bench.slow_reads_done;
	pthread_mutex_unlock(&bench.lock);
	assert_return_code(wattle_window_begin(bench.meter, "w"), 0);
	meter_bench_await_done(&bench, done / 4 * 4 + 4);
	/* The caller never ticks: the only answer is from the window's start. */
	meter_bench_pass(&bench, 60 * S);
	e = meter_bench_energy(&bench, "w", "package-0");
	assert_true(!e.has_energy || e.gap_ns > 59 * S);
	assert_true(!e.has_power);
	meter_bench_done(&bench);
}

/* The battery's power is sampled: its energy is power times time. */
static void test_integrated(void **state)
{
	struct meter_bench bench;
	struct wattle_energy e;

	(void)state;
	meter_bench_copy(&bench, "laptop-battery");
	meter_bench_open(&bench);
	for (int i = 0; i < 100; i++)
		meter_bench_tick(&bench, 100 * MS);
	assert_return_code(wattle_window_begin(bench.meter, "w"), 0);
	for (int i = 0; i < 200; i++)
		meter_bench_tick(&bench, 100 * MS);
	e = meter_bench_energy(&bench, "w", "battery-0");
	assert_int_equal(e.method, WATTLE_METHOD_INTEGRATED);
	assert_int_equal(e.measured_ns, 20 * S);
	/* 7.42 W */
	assert_in_range(e.energy_uj, 7400000 * 20, 7440000 * 20);
	assert_in_range(e.mean_uw, 7400000, 7440000);
	meter_bench_done(&bench);
}

static void test_self(void **state)
{
	struct meter_bench bench;
	struct wattle_self self;

	(void)state;
	meter_bench_root(&bench, "xeon-2s-dram");
	bench.clock_step_ns = 1000;
	meter_bench_open(&bench);
	for (int i = 0; i < 9; i++)
		meter_bench_tick(&bench, S);
	assert_return_code(wtl_meter_self(bench.meter, &self), 0);
	assert_int_equal(self.ticks, 10);
	assert_int_equal(self.late_ticks, 0);
	assert_true(self.tick_max_ns >= 1000);
	assert_true(self.tick_sum_ns >= self.tick_max_ns && self.tick_sum_ns < S);
	meter_bench_done(&bench);
}

/* Each look at the clock takes ten times the interval, and the real one is past all of that: no tick is in time. */
static void test_late_ticks(void **state)
{
	struct meter_bench bench;
	struct wattle_self self;

	(void)state;
	meter_bench_root(&bench, "vm-nothing");
	bench.now_ns = 0;
	bench.clock_step_ns = 100 * MS;
	bench.others_step = true;
	meter_bench_open(&bench);
	bench.meter->interval_ns = 10 * MS;
	assert_int_equal(wtl_meter_start_sampler(bench.meter), 0);
	do
		assert_return_code(wtl_meter_self(bench.meter, &self), 0);
	while (self.ticks < 4);
	/* All but the one that it was opened with. */
	assert_int_equal(self.late_ticks, self.ticks - 1);
	meter_bench_done(&bench);
	/* By a clock that stands still, none is late. */
	meter_bench_root(&bench, "vm-nothing");
	bench.now_ns = 0;
	meter_bench_open(&bench);
	bench.meter->interval_ns = 10 * MS;
	assert_int_equal(wtl_meter_start_sampler(bench.meter), 0);
	do
		assert_return_code(wtl_meter_self(bench.meter, &self), 0);
	while (self.ticks < 4);
	assert_int_equal(self.late_ticks, 0);
	meter_bench_done(&bench);
}

static void test_too_many_windows_wanted(void **state)
{
	struct meter_bench bench;
	const struct wtl_env env = {.io = &bench.io};
	struct wtl_err err = {.code = 0};
	struct wattle_meter *meter = (void *)1;

	(void)state;
	meter_bench_root(&bench, "vm-nothing");
	assert_return_code(wtl_io_real_new(bench.root, &bench.real, &err), 0);
	bench.options = (struct wattle_options){.nvml_path = "", .max_windows = 65537};
	assert_int_equal(wtl_meter_new(&env, &bench.options, &meter, &err), -EINVAL);
	assert_ptr_equal(meter, (void *)1);
	assert_non_null(strstr(err.text, "max_windows"));
	assert_true(bench.freed);
	meter_bench_done(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_roots),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_empty_root),
		cmocka_unit_test(test_exact_energy),
		cmocka_unit_test(test_perf_units),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_comes_back),
		cmocka_unit_test(test_denied_midway),
		cmocka_unit_test(test_explained),
		cmocka_unit_test(test_denied_and_modelled),
		cmocka_unit_test(test_model_goes),
		cmocka_unit_test(test_never_read),
		cmocka_unit_test(test_suspend),
		cmocka_unit_test(test_no_suspend),
		cmocka_unit_test(test_disagreement),
		cmocka_unit_test(test_agreement),
		cmocka_unit_test(test_late_disagreement),
		cmocka_unit_test(test_disagreement_after_a_break),
		cmocka_unit_test(test_what_is_apart),
		cmocka_unit_test(test_figures_by_length),
		cmocka_unit_test(test_mostly_unseen),
		cmocka_unit_test(test_slow_source),
		cmocka_unit_test(test_slow_in_one_order),
		cmocka_unit_test(test_guarded_source),
		cmocka_unit_test(test_slow_counter),
		cmocka_unit_test(test_check_is_read_seldom),
		cmocka_unit_test(test_integrated),
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_late_ticks),
		cmocka_unit_test(test_too_many_windows_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
