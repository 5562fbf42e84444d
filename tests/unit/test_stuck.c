/* SPDX-License-Identifier: MIT */
/* A source that never answers any more. What its thread uses is left behind by design, so leaks are
 * not looked for in this program. */
#include <string.h>
#include <time.h>

#include <wattle.h>

#include "energy/units.h"
#include "left_behind.h"
#include "meter_bench.h"
#include "unit.h"

#define MS WTL_NS_PER_MS

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

/* Freed memory of a reader that never comes back would be a crash: it is left to it. */
static void test_stuck_for_ever(void **state)
{
	/* Outlives the test, like the thread. */
	static struct meter_bench bench;
	struct timespec begin, end;
	unsigned done;

	(void)state;
	start_slow(&bench);
	done = bench.slow_reads;
	bench.stuck = true;
	bench.leave_io = true;
	meter_bench_tick(&bench, 100 * MS);
	meter_bench_await_begun(&bench, done + 1);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	meter_bench_done(&bench);
	clock_gettime(CLOCK_MONOTONIC, &end);
	/* Far beyond the 2 s it waits, far below for ever. */
	assert_true(end.tv_sec - begin.tv_sec < 15);
	/* The reader wakes up after all, and finds its own memory in place. */
	meter_bench_release(&bench);
	meter_bench_await_done(&bench, done + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stuck_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
