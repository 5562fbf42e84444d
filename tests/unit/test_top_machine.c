/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "commands/top/collect.h"
#include "energy/units.h"

#include "unit.h"

struct bench {
	char *dir;
	struct wtl_io *io;
	struct wtl_host_reader reader;
	struct wtl_top_view view;
};

static void start(struct bench *bench)
{
	memset(bench, 0, sizeof(*bench));
	bench->dir = unit_tmpdir();
	unit_write(bench->dir, "proc/sys/kernel/hostname", "node\x1b[2J17\n");
	unit_write(bench->dir, "proc/stat", "cpu  100 0 100 700 100 0 0 0 5 5\ncpu0 1 2 3 4\n");
	unit_write(bench->dir, "proc/meminfo",
		   "MemTotal:       1000 kB\nMemFree: 10 kB\nMemAvailable:    400 kB\n");
	unit_write(bench->dir, "sys/class/hwmon/hwmon0/name", "nvme\n");
	unit_write(bench->dir, "sys/class/hwmon/hwmon0/temp1_input", "99000\n");
	unit_write(bench->dir, "sys/class/hwmon/hwmon1/name", "coretemp\n");
	unit_write(bench->dir, "sys/class/hwmon/hwmon1/temp1_input", "60600\n");
	unit_write(bench->dir, "sys/class/hwmon/hwmon2/name", "coretemp\n");
	unit_write(bench->dir, "sys/class/hwmon/hwmon2/temp1_input", "55000\n");
	unit_write(bench->dir, "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2000000\n");
	unit_write(bench->dir, "sys/devices/system/cpu/cpu4/cpufreq/scaling_cur_freq", "3000000\n");
	unit_write(bench->dir,
		   "sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "7\n");
	assert_int_equal(wtl_io_real_new(bench->dir, &bench->io, NULL), 0);
	wtl_top_view_init(&bench->view);
	wtl_host_init(&bench->reader, bench->io, 8);
}

static void finish(struct bench *bench)
{
	wtl_host_done(&bench->reader);
	wtl_top_view_done(&bench->view);
	wtl_io_free(bench->io);
	unit_rmtree(bench->dir);
}

static void test_all(void **state)
{
	const struct wtl_proc_machine told = {.n_cpus = 8, .idle_ticks = 935, .all_ticks = 1300};
	struct bench bench;
	const struct wtl_host_state *machine = &bench.reader.state;

	(void)state;
	start(&bench);
	wtl_host_read(&bench.reader, NULL);
	assert_string_equal(machine->host, "node?[2J17");
	assert_int_equal(machine->n_cpus, 8);
	assert_false(machine->has_use); /* of no stretch of time */
	assert_int_equal(machine->memory_bytes, 1024000);
	assert_int_equal(machine->memory_used_bytes, 614400);
	assert_true(machine->has_temperature);
	assert_int_equal(machine->temperature_c, 61);
	assert_int_equal(machine->clock_mhz, 2500);
	assert_int_equal(machine->throttled, 0);
	unit_write(bench.dir, "proc/stat", "cpu  150 0 125 800 125 0 0 0 9 9\n");
	unit_write(bench.dir, "sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count",
		   "10\n");
	wtl_host_read(&bench.reader, NULL);
	assert_true(machine->has_use);
	assert_int_equal(machine->use_ppm, 375000); /* 75 of 200 */
	assert_int_equal(machine->throttled, 3);
	/* Whoever has read it just now tells; the same again is no stretch of time. */
	wtl_host_read(&bench.reader, &told);
	assert_int_equal(machine->use_ppm, 900000);
	wtl_host_read(&bench.reader, &told);
	assert_true(machine->has_use);
	assert_int_equal(machine->use_ppm, 900000);
	finish(&bench);
}

static void test_rubbish(void **state)
{
	static const char *const stats[] = {
		"",	      "cpu\n",	  "cpu  x y z\n",
		"cpu  1 2\n", "intr 5\n", "cpu  18446744073709551615 1 1 1 1 1 1 1\n"};
	struct bench bench;

	(void)state;
	start(&bench);
	for (size_t i = 0; i < UNIT_COUNT(stats); i++) {
		unit_write(bench.dir, "proc/stat", stats[i]);
		wtl_host_read(&bench.reader, NULL);
		if (bench.reader.state.has_use)
			assert_in_range(bench.reader.state.use_ppm, 0, 1000000);
	}
	unit_write(bench.dir, "proc/meminfo", "MemTotal: x\nMemAvailable: 5 kB\n");
	unit_write(bench.dir, "sys/class/hwmon/hwmon1/temp1_input", "-5\n");
	unit_write(bench.dir, "sys/class/hwmon/hwmon2/temp1_input", "9999999999\n");
	bench.reader.state.memory_bytes = 5;
	wtl_host_read(&bench.reader, NULL);
	assert_int_equal(bench.reader.state.memory_bytes, 0);
	assert_int_equal(bench.reader.state.memory_used_bytes, 0);
	assert_false(bench.reader.state.has_temperature);
	finish(&bench);
}

static void test_nothing_there(void **state)
{
	struct wtl_host_reader reader;
	struct wtl_top_limits limits;
	struct wtl_top_view view;
	char *dir = unit_tmpdir();
	struct wtl_io *io;

	(void)state;
	assert_int_equal(wtl_io_real_new(dir, &io, NULL), 0);
	wtl_top_view_init(&view);
	wtl_host_init(&reader, io, 1);
	wtl_host_read(&reader, NULL);
	wtl_top_limits_init(&limits, io, &view);
	wtl_top_limits_take(&limits, &view);
	assert_string_equal(reader.state.host, "");
	assert_false(reader.state.has_use);
	assert_false(reader.state.has_temperature);
	assert_int_equal(reader.state.clock_mhz, 0);
	wtl_host_done(&reader);
	wtl_top_view_done(&view);
	wtl_io_free(io);
	unit_rmtree(dir);
}

static void add_domain(struct wtl_top_view *view, const char *name, enum wattle_kind kind)
{
	struct wtl_top_domain *domain;

	assert_int_equal(wtl_top_view_reserve(view, view->n_domains + 1, 0, 0, 0), 0);
	domain = &view->domains[view->n_domains++];
	memset(domain, 0, sizeof(*domain));
	strcpy(domain->name, name);
	domain->kind = kind;
}

static void test_limits(void **state)
{
	struct wtl_top_limits limits;
	struct bench bench;
	const char *dir;

	(void)state;
	start(&bench);
	dir = bench.dir;
	unit_write(dir, "sys/class/powercap/intel-rapl/enabled", "1\n");
	unit_write(dir, "sys/class/powercap/intel-rapl:0/name", "package-1\n");
	unit_write(dir, "sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw",
		   "165000000\n");
	unit_write(dir, "sys/class/powercap/intel-rapl:1/name", "package-0\n");
	unit_write(dir, "sys/class/powercap/intel-rapl:1/constraint_0_power_limit_uw", "rubbish\n");
	unit_write(dir, "sys/class/powercap/intel-rapl:1:0/name", "core\n");
	unit_write(dir, "sys/class/powercap/intel-rapl:1:0/constraint_0_power_limit_uw", "5\n");
	unit_write(dir, "sys/class/powercap/other:0/name", "package-0\n");
	unit_write(dir, "sys/class/powercap/other:0/constraint_0_power_limit_uw", "7\n");
	add_domain(&bench.view, "package-0", WATTLE_KIND_CPU);
	add_domain(&bench.view, "package-1", WATTLE_KIND_CPU);
	add_domain(&bench.view, "core-1", WATTLE_KIND_CORE);
	wtl_top_limits_init(&limits, bench.io, &bench.view);
	wtl_top_limits_take(&limits, &bench.view);
	assert_int_equal(bench.view.domains[0].limit_uw, 0);
	assert_int_equal(bench.view.domains[1].limit_uw, 165000000);
	assert_int_equal(bench.view.domains[2].limit_uw, 0);
	/* It is read again and again. */
	unit_write(dir, "sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw",
		   "95000000\n");
	wtl_top_limits_take(&limits, &bench.view);
	assert_int_equal(bench.view.domains[1].limit_uw, 95000000);
	wtl_top_limits_done(&limits);
	finish(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_rubbish),
		cmocka_unit_test(test_nothing_there),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
