/* SPDX-License-Identifier: MIT */
#include "energy/units.h"
#include "unit.h"
#include "workload/busy.h"

enum { MS = 1000000, CPUS = 4 };

/* A machine whose columns are cut to ticks, as the kernel does. */
struct machine {
	struct wtl_busy busy;
	int64_t t_ns, idle_ns, hard_ns, soft_ns;
	int64_t billed_ns, unseen_ns, interrupts_ns;
};

static void look(struct machine *machine, int64_t step_ns, int64_t busy_ns, int64_t seen_ns)
{
	struct wtl_proc_machine columns;

	machine->t_ns += step_ns;
	machine->idle_ns += CPUS * step_ns - busy_ns;
	columns = (struct wtl_proc_machine){
		.n_cpus = CPUS,
		.idle_ticks = (uint64_t)machine->idle_ns / WTL_NS_PER_TICK,
		.hard_ticks = (uint64_t)machine->hard_ns / WTL_NS_PER_TICK,
		.soft_ticks = (uint64_t)machine->soft_ns / WTL_NS_PER_TICK,
	};
	wtl_busy_scan(&machine->busy, &columns, machine->t_ns, machine->t_ns);
	wtl_busy_bill(&machine->busy, seen_ns);
	machine->billed_ns += seen_ns;
	machine->interrupts_ns += wtl_busy_take_interrupts(&machine->busy);
	machine->unseen_ns += wtl_busy_take_unseen(&machine->busy);
}

static void test_first(void **state)
{
	struct machine machine = {.idle_ns = 1000000 * (int64_t)MS};

	(void)state;
	look(&machine, 500 * MS, 400 * MS, 0);
	assert_int_equal(machine.unseen_ns, 0);
	assert_int_equal(machine.busy.capacity_ns, 0);
	assert_int_equal(wtl_busy_left(&machine.busy), 0);
	assert_int_equal(wtl_busy_room(&machine.busy), WTL_BUSY_SLACK_NS);
	look(&machine, 500 * MS, 400 * MS, 100 * MS);
	assert_in_range(machine.unseen_ns, 260 * MS, 300 * MS);
	assert_int_equal(machine.busy.capacity_ns, 2000 * MS);
}

/* However the cuts fall, a sum is never off by more than they are. */
static void test_sums(void **state)
{
	struct machine machine = {.idle_ns = 123456789};
	int64_t truth_ns = 0;
	uint32_t seed = 7;

	(void)state;
	look(&machine, MS, 0, 0);
	for (int i = 0; i < 20000; i++) {
		int64_t step_ns, busy_ns, seen_ns;

		seed = seed * 1664525 + 1013904223;
		step_ns = MS + seed % (100 * MS);
		busy_ns = (int64_t)(seed >> 7) % (CPUS * step_ns);
		seen_ns = busy_ns - (int64_t)(seed >> 5) % (busy_ns / 3 + 1);
		look(&machine, step_ns, busy_ns, seen_ns);
		truth_ns += busy_ns - seen_ns;
		assert_true(machine.unseen_ns <= truth_ns + 2 * WTL_NS_PER_TICK);
		assert_true(machine.unseen_ns >= truth_ns - 3 * WTL_BUSY_SLACK_NS);
	}
}

static void test_nothing_unseen(void **state)
{
	struct machine machine = {.idle_ns = 5};
	uint32_t seed = 3;

	(void)state;
	look(&machine, MS, 0, 0);
	for (int i = 0; i < 20000; i++) {
		int64_t busy_ns;

		seed = seed * 1664525 + 1013904223;
		busy_ns = seed % (40 * MS);
		look(&machine, 10 * MS + seed % 1000, busy_ns, busy_ns);
	}
	assert_int_equal(machine.unseen_ns, 0);
}

/* Tasks' clocks that run faster than the machine's must not hide use for ever. */
static void test_debt_is_bounded(void **state)
{
	struct machine machine = {.idle_ns = 5};

	(void)state;
	look(&machine, MS, 0, 0);
	for (int i = 0; i < 100; i++)
		look(&machine, 1000 * MS, 1000 * MS, 1050 * MS);
	assert_int_equal(machine.unseen_ns, 0);
	look(&machine, 1000 * MS, 1000 * MS, 500 * MS);
	assert_in_range(machine.unseen_ns, 390 * MS, 500 * MS);
}

static void test_interrupts(void **state)
{
	struct machine machine = {.idle_ns = 9000 * (int64_t)MS, .hard_ns = 100 * MS};

	(void)state;
	look(&machine, MS, 0, 0);
	assert_true(machine.busy.has_interrupts);
	machine.hard_ns += 100 * MS;
	machine.soft_ns += 50 * MS;
	look(&machine, 1000 * MS, 400 * MS, 200 * MS);
	assert_int_equal(machine.interrupts_ns, 150 * MS);
	assert_true(machine.unseen_ns == 0);
	/* More than was left. */
	machine.soft_ns += 900 * MS;
	look(&machine, 1000 * MS, 400 * MS, 200 * MS);
	assert_in_range(machine.interrupts_ns, 340 * MS, 410 * MS);
	/* And that is not asked for later. */
	look(&machine, 1000 * MS, 400 * MS, 0);
	assert_in_range(machine.interrupts_ns, 340 * MS, 450 * MS);
	assert_true(machine.unseen_ns > 250 * MS);
	/* Nor is anything of it behind a break. */
	machine.soft_ns += 900 * MS;
	look(&machine, 1000 * MS, 400 * MS, 200 * MS);
	machine.interrupts_ns = 0;
	machine.idle_ns -= 5000 * (int64_t)MS;
	look(&machine, 1000 * MS, 0, 0);
	look(&machine, 1000 * MS, 400 * MS, 0);
	assert_int_equal(machine.interrupts_ns, 0);
}

static void test_starts_anew(void **state)
{
	struct wtl_busy busy = {.is_known = false};
	struct wtl_proc_machine columns = {.n_cpus = 4, .idle_ticks = 100000};
	int64_t t_ns = 1000 * (int64_t)MS, boot_ns = t_ns;

	(void)state;
	wtl_busy_scan(&busy, &columns, t_ns, boot_ns);
	assert_int_equal(wtl_busy_take_unseen(&busy), 0);
	/* A CPU comes. */
	columns.n_cpus = 5;
	wtl_busy_scan(&busy, &columns, t_ns += WTL_NS_PER_S, boot_ns += WTL_NS_PER_S);
	assert_int_equal(wtl_busy_left(&busy), 0);
	assert_int_equal(busy.capacity_ns, 5 * WTL_NS_PER_S);
	assert_int_equal(wtl_busy_take_unseen(&busy), 0);
	/* Asleep for an hour. */
	wtl_busy_scan(&busy, &columns, t_ns += WTL_NS_PER_S, boot_ns += 3600 * WTL_NS_PER_S);
	assert_int_equal(wtl_busy_take_unseen(&busy), 0);
	/* Idle time steps back. */
	columns.idle_ticks -= 5000;
	wtl_busy_scan(&busy, &columns, t_ns += WTL_NS_PER_S, boot_ns += WTL_NS_PER_S);
	assert_int_equal(wtl_busy_take_unseen(&busy), 0);
	/* Within what waits for disks may take back, two ticks of each CPU, it goes on; not beyond that. */
	columns.idle_ticks -= 10;
	wtl_busy_scan(&busy, &columns, t_ns += WTL_NS_PER_S, boot_ns += WTL_NS_PER_S);
	assert_in_range(wtl_busy_take_unseen(&busy), 4900 * (int64_t)MS, 5100 * (int64_t)MS);
	columns.idle_ticks -= 11;
	wtl_busy_scan(&busy, &columns, t_ns += WTL_NS_PER_S, boot_ns += WTL_NS_PER_S);
	assert_int_equal(wtl_busy_take_unseen(&busy), 0);
	/* Less than a tenth of a second is no sleep. */
	wtl_busy_scan(&busy, &columns, t_ns += WTL_NS_PER_S,
		      boot_ns += WTL_NS_PER_S + 100 * MS - 1);
	assert_in_range(wtl_busy_take_unseen(&busy), 4900 * (int64_t)MS, 5100 * (int64_t)MS);
	wtl_busy_scan(&busy, &columns, t_ns += WTL_NS_PER_S, boot_ns += WTL_NS_PER_S + 100 * MS);
	assert_int_equal(wtl_busy_take_unseen(&busy), 0);
	/* The clock steps back. */
	wtl_busy_scan(&busy, &columns, t_ns -= WTL_NS_PER_S, boot_ns);
	assert_int_equal(busy.capacity_ns, 0);
	assert_int_equal(wtl_busy_take_unseen(&busy), 0);
	/* Nothing can be read for a while. */
	wtl_busy_lost(&busy);
	assert_int_equal(wtl_busy_take_unseen(&busy), 0);
	assert_int_equal(wtl_busy_left(&busy), 0);
	assert_int_equal(wtl_busy_room(&busy), 0);
	wtl_busy_scan(&busy, &columns, t_ns + WTL_NS_PER_S, boot_ns);
	assert_int_equal(wtl_busy_take_unseen(&busy), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first),	       cmocka_unit_test(test_sums),
		cmocka_unit_test(test_nothing_unseen), cmocka_unit_test(test_debt_is_bounded),
		cmocka_unit_test(test_interrupts),     cmocka_unit_test(test_starts_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
