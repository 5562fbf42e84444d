/* SPDX-License-Identifier: MIT */
/* The machine is set otherwise, or sleeps: what was learned of its watts is doubted. */
#include "energy/units.h"
#include "meter/settings_watch.h"
#include "meter_bench.h"
#include "unit.h"

#define S	 WTL_NS_PER_S
#define GOVERNOR "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
#define ONLINE	 "/sys/devices/system/cpu/online"
#define LIMIT	 "/sys/class/powercap/intel-rapl:1/constraint_0_power_limit_uw"

static bool changed(struct wtl_settings_watch *watch, struct meter_bench *bench, int64_t later_ns)
{
	meter_bench_pass(bench, later_ns);
	return wtl_settings_changed(watch, bench->meter->env.io, bench->asleep_ns);
}

static void test_changes(void **state)
{
	struct wtl_settings_watch watch = {.due_ns = 0};
	struct meter_bench bench;

	(void)state;
	meter_bench_copy(&bench, "");
	meter_bench_write(&bench, GOVERNOR, "powersave\n");
	meter_bench_write(&bench, ONLINE, "0-7\n");
	meter_bench_open(&bench);
	assert_false(changed(&watch, &bench, 0));
	assert_false(changed(&watch, &bench, 10 * S));
	meter_bench_write(&bench, GOVERNOR, "performance\n");
	/* It is looked at every ten seconds, and told once. */
	assert_false(changed(&watch, &bench, 10 * S - 1));
	assert_true(changed(&watch, &bench, 1));
	assert_false(changed(&watch, &bench, 10 * S));
	meter_bench_write(&bench, ONLINE, "0-6\n");
	assert_true(changed(&watch, &bench, 10 * S));
	meter_bench_remove(&bench, ONLINE);
	assert_true(changed(&watch, &bench, 10 * S));
	meter_bench_write(&bench, ONLINE, "0-6\n");
	assert_true(changed(&watch, &bench, 10 * S));
	/* What was not there at first is not looked for. */
	meter_bench_write(&bench, LIMIT, "100000000\n");
	assert_false(changed(&watch, &bench, 10 * S));
	meter_bench_done(&bench);
}

static void test_sleep(void **state)
{
	struct wtl_settings_watch watch = {.due_ns = 0};
	struct meter_bench bench;

	(void)state;
	meter_bench_copy(&bench, "");
	meter_bench_open(&bench);
	/* Before it was watched. */
	bench.asleep_ns = 5 * S;
	assert_false(changed(&watch, &bench, S));
	/* Two clocks are not read at once. */
	bench.asleep_ns += S / 10;
	assert_false(changed(&watch, &bench, S));
	bench.asleep_ns += S / 10 + 1;
	assert_true(changed(&watch, &bench, S));
	assert_false(changed(&watch, &bench, S));
	bench.asleep_ns += S;
	assert_true(changed(&watch, &bench, 20 * S));
	assert_false(changed(&watch, &bench, 20 * S));
	meter_bench_done(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_sleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
