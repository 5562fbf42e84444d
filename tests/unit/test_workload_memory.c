/* SPDX-License-Identifier: MIT */
/* The memory of processes: who is read when, by counting calls. */
#include "energy/units.h"
#include "unit.h"
#include "world.h"

#define MS WTL_NS_PER_MS

enum { MIB_KB = 1024 };

/* Processes below init, a first look behind them; each of them, and init, has so much memory. */
static void start(struct world *world, int pids[], int n, uint64_t kb)
{
	for (int i = 0; i < n; i++) {
		pids[i] = world_fork(world, 1);
		world_at(world, pids[i])->rss_kb = kb;
		world_at(world, pids[i])->pss_kb = kb / 2;
	}
	world_open(world, NULL);
	assert_int_equal(world_look(world, WTL_NS_PER_S), 0);
}

static bool has_pss(const struct world *world, int pid)
{
	return world_consumer(world, pid)->pss_bytes != UINT64_MAX;
}

static int count_pss(const struct world *world, const int pids[], int n)
{
	int n_known = 0;

	for (int i = 0; i < n; i++)
		n_known += has_pss(world, pids[i]);
	return n_known;
}

/* A second in which these did something, and what is read of memory then. */
static unsigned read_second(struct world *world, const int busy[], int n_busy, unsigned budget)
{
	for (int i = 0; i < n_busy; i++)
		world_run(world, busy[i], 30 * MS);
	world_look(world, WTL_NS_PER_S);
	return wtl_workload_read_memory(world->workload, budget);
}

static void test_in_turn(void **state)
{
	struct world *world = *state;
	int pids[3];

	start(world, pids, 3, 600);
	world_at(world, pids[1])->rss_kb = 2000;
	world_at(world, pids[1])->pss_kb = 0;
	/* Five processes, one of them the kernel's. */
	assert_int_equal(wtl_workload_read_memory(world->workload, 0), 0);
	assert_int_equal(wtl_workload_read_memory(world->workload, 2), 2);
	assert_int_equal(wtl_workload_read_memory(world->workload, 2), 2);
	assert_int_equal(world_consumer(world, pids[0])->rss_bytes, 600 * 1024);
	assert_int_equal(world_consumer(world, pids[0])->pss_bytes, 300 * 1024);
	assert_int_equal(world_consumer(world, pids[0])->uss_bytes, 12 * 1024);
	assert_int_equal(world_consumer(world, pids[1])->rss_bytes, 2000 * 1024);
	assert_false(has_pss(world, pids[1]));
	assert_true(has_pss(world, pids[2]));
	/* Each once in a call, however many it may be. */
	assert_int_equal(wtl_workload_read_memory(world->workload, 100), 4);
	/* No more PSS than RSS is known once it cannot be read. */
	world_at(world, pids[0])->pss_kb = 0;
	wtl_workload_read_memory(world->workload, 10);
	assert_false(has_pss(world, pids[0]));
}

static void test_busy_first(void **state)
{
	struct world *world = *state;
	int pids[40];

	start(world, pids, 40, 1000);
	assert_int_equal(read_second(world, &pids[37], 1, 4), 4);
	assert_true(has_pss(world, pids[37]));
	assert_int_equal(count_pss(world, pids, 40), 3); /* init is the fourth */
	/* Busy ones have no more than half of it, in turn; they come up among all as well. */
	for (int second = 0; second < 3; second++)
		assert_int_equal(read_second(world, &pids[30], 6, 4), 4);
	for (int i = 30; i < 36; i++)
		assert_true(has_pss(world, pids[i]));
	assert_int_equal(count_pss(world, pids, 40), 15);
	/* Nobody is: all of it is the others'. */
	assert_int_equal(read_second(world, NULL, 0, 4), 4);
	assert_int_equal(count_pss(world, pids, 40), 19);
}

/* PSS costs what there is to walk, RSS next to nothing. */
static void test_paid_off(void **state)
{
	struct world *world = *state;
	const struct wtl_consumer *large;
	int pids[1];

	start(world, pids, 1, 41 * MIB_KB);
	world_at(world, 1)->rss_kb = 0;
	large = world_consumer(world, pids[0]);
	assert_int_equal(wtl_workload_read_memory(world->workload, 2), 2);
	assert_int_equal(large->pss_bytes, 41 * MIB_KB * 512);
	/* 41 MiB, 4 a call: nine more with RSS alone, which is as of now. */
	for (uint64_t call = 1; call <= 9; call++) {
		world_at(world, pids[0])->rss_kb = 41 * MIB_KB + call;
		world_at(world, pids[0])->pss_kb = 700;
		assert_int_equal(wtl_workload_read_memory(world->workload, 2), 2);
		assert_int_equal(large->rss_bytes, (41 * MIB_KB + call) * 1024);
		assert_int_equal(large->pss_bytes, 41 * MIB_KB * 512);
	}
	wtl_workload_read_memory(world->workload, 2);
	assert_int_equal(large->pss_bytes, 700 * 1024);
	/* Who has become smaller than its PSS was has none until it is walked again. */
	world_at(world, pids[0])->rss_kb = 500;
	wtl_workload_read_memory(world->workload, 2);
	assert_int_equal(large->rss_bytes, 500 * 1024);
	assert_true(large->pss_bytes == UINT64_MAX && large->uss_bytes == UINT64_MAX);
}

/* What large ones that do nothing cost is not taken from those that are busy. */
static void test_busy_beside_large(void **state)
{
	struct world *world = *state;
	int pids[9];

	start(world, pids, 9, 4000 * MIB_KB);
	world_at(world, pids[8])->rss_kb = 35 * MIB_KB;
	world_at(world, pids[8])->pss_kb = 100;
	wtl_workload_read_memory(world->workload, 10); /* the first large one */
	assert_int_equal(count_pss(world, pids, 9), 1);
	read_second(world, &pids[8], 1, 10);
	assert_true(has_pss(world, pids[8]));
	assert_int_equal(count_pss(world, pids, 9), 2);
	/* 35 MiB, 10 a call: as of now again in the third call after that. */
	world_at(world, pids[8])->pss_kb = 200;
	for (int second = 1; second <= 2; second++)
		read_second(world, &pids[8], 1, 10);
	assert_int_equal(world_consumer(world, pids[8])->pss_bytes, 100 * 1024);
	read_second(world, &pids[8], 1, 10);
	assert_int_equal(world_consumer(world, pids[8])->pss_bytes, 200 * 1024);
}

/* Everybody's pages were walked when all were paid for, whoever is busy. */
static void test_nobody_waits_longer(void **state)
{
	struct world *world = *state;
	int pids[9], seconds = 0;

	start(world, pids, 9, 48 * MIB_KB);
	world_at(world, pids[8])->rss_kb = 8 * MIB_KB;
	world_at(world, pids[8])->pss_kb = 100;
	for (; count_pss(world, pids, 9) < 9 && seconds < 100; seconds++)
		assert_int_equal(read_second(world, &pids[8], 1, 10), 10);
	/* 20 MiB a second, 8 of it for the busy one; before the last one is walked, 7 are to be paid. */
	assert_int_equal(seconds, 7 * 48 / 12 + 1);
	/* And once more, in turn, from there on. */
	for (int i = 0; i < 8; i++)
		world_at(world, pids[i])->pss_kb = 77;
	for (seconds = 0; seconds < (8 * 48 + 8) / 12 + 1; seconds++)
		read_second(world, &pids[8], 1, 10);
	for (int i = 0; i < 8; i++)
		assert_int_equal(world_consumer(world, pids[i])->pss_bytes, 77 * 1024);
}

/* Nor if others come and go all the time, whose slots are used again. */
static void test_nobody_waits_longer_beside_others(void **state)
{
	struct world *world = *state;
	int pids[6], others[8] = {0}, seconds = 0;

	start(world, pids, 6, 10 * MIB_KB);
	for (; count_pss(world, pids, 6) < 6 && seconds < 100; seconds++) {
		for (int i = 0; i < 8; i++) {
			if (others[i])
				world_end(world, others[i]);
			others[i] = world_fork(world, 1);
		}
		read_second(world, NULL, 0, 4);
	}
	/* 4 readings a second, 15 processes; 8 MiB a second, 70 MiB. */
	assert_in_range(seconds, 4, 4 + 9);
}

/* RSS has turns of its own: it is not what a large one makes wait. */
static void test_rss_meanwhile(void **state)
{
	struct world *world = *state;
	int pids[6];

	start(world, pids, 6, 4000 * MIB_KB);
	for (int call = 0; call < 8; call++)
		assert_int_equal(wtl_workload_read_memory(world->workload, 1), 1);
	for (int i = 0; i < 6; i++)
		assert_int_equal(world_consumer(world, pids[i])->rss_bytes,
				 UINT64_C(4000) * 1024 * 1024);
	assert_int_equal(count_pss(world, pids, 6), 1);
	/* Theirs are read again in the same turn, nobody twice before everybody was. */
	for (int i = 0; i < 6; i++)
		world_at(world, pids[i])->rss_kb = 5000 * MIB_KB;
	for (int call = 0; call < 7; call++)
		assert_int_equal(wtl_workload_read_memory(world->workload, 1), 1);
	for (int i = 0; i < 6; i++)
		assert_true(has_pss(world, pids[i]) || world_consumer(world, pids[i])->rss_bytes ==
							       UINT64_C(5000) * 1024 * 1024);
}

/* A slot that is not its own any more reads nobody. */
static void test_gone(void **state)
{
	struct world *world = *state;
	int pids[3];

	start(world, pids, 3, 1000);
	for (int i = 0; i < 3; i++)
		world_end(world, pids[i]);
	world_look(world, WTL_NS_PER_S);
	assert_int_equal(wtl_workload_read_memory(world->workload, 10), 1);
}

/* A second in which these did something, and whose RSS alone is read then. */
static unsigned read_resident_second(struct world *world, const int pids[], int n, unsigned budget)
{
	for (int i = 0; i < n; i++)
		world_run(world, pids[i], 30 * MS);
	world_look(world, WTL_NS_PER_S);
	return wtl_workload_read_resident(world->workload, budget);
}

static int count_rss(const struct world *world, const int pids[], int n, uint64_t kb)
{
	int n_such = 0;

	for (int i = 0; i < n; i++)
		n_such += world_consumer(world, pids[i])->rss_bytes == kb * 1024;
	return n_such;
}

/* Of those that ran, in turn; nobody's pages are walked. Names, which come with RSS, are read in turn as well: of a
 * sixteenth in a look. */
static void test_resident_alone(void **state)
{
	enum { N = 40, RAN = 30, LOOKS = 3 };
	struct world *world = *state;
	int pids[N];

	start(world, pids, N, 600);
	for (int look = 0; look < LOOKS; look++)
		read_resident_second(world, pids, N, N);
	for (int i = 0; i < N; i++)
		world_at(world, pids[i])->rss_kb = 700;
	assert_int_equal(read_resident_second(world, NULL, 0, N), 0);
	assert_in_range(count_rss(world, pids, N, 600), N - LOOKS, N);
	assert_int_equal(read_resident_second(world, pids, RAN, 10), 10);
	assert_in_range(count_rss(world, pids, RAN, 700), 10, 10 + 2 * LOOKS);
	for (int look = 0; look < 2; look++)
		read_resident_second(world, NULL, 0, 10);
	assert_int_equal(read_resident_second(world, NULL, 0, 10), 0);
	assert_int_equal(count_rss(world, pids, RAN, 700), RAN);
	assert_true(count_rss(world, pids, N, 600) > 0);
	assert_int_equal(count_pss(world, pids, N), 0);
	/* Who had PSS when it was asked for keeps it as long as it can be true. */
	while (!has_pss(world, pids[0]))
		wtl_workload_read_memory(world->workload, 10);
	world_at(world, pids[0])->rss_kb = 200;
	read_resident_second(world, pids, 1, 10);
	assert_int_equal(world_consumer(world, pids[0])->rss_bytes, 200 * 1024);
	assert_false(has_pss(world, pids[0]));
}

/* Who ran little has a turn within four scans, and one is enough. */
static void test_resident_of_those_that_run_little(void **state)
{
	enum { N = 8, TURNS = 4 };
	struct world *world = *state;
	int pids[N];

	start(world, pids, N, 600);
	for (int look = 0; look < TURNS; look++)
		read_resident_second(world, pids, N, N);
	for (int i = 0; i < N; i++) {
		world_at(world, pids[i])->rss_kb = 700;
		world_run(world, pids[i], MS);
	}
	assert_in_range(read_resident_second(world, NULL, 0, N), 1, N / 2);
	for (int look = 1; look < TURNS; look++)
		read_resident_second(world, NULL, 0, N);
	assert_int_equal(count_rss(world, pids, N, 700), N);
	assert_int_equal(read_resident_second(world, NULL, 0, N), 0);
	/* A new one's came with its name. */
	pids[0] = world_fork(world, 1);
	world_at(world, pids[0])->rss_kb = 800;
	assert_int_equal(read_resident_second(world, pids, 1, N), 0);
	assert_int_equal(count_rss(world, pids, 1, 800), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_in_turn, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_resident_of_those_that_run_little, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_busy_first, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_paid_off, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_busy_beside_large, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_nobody_waits_longer, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_nobody_waits_longer_beside_others, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(test_rss_meanwhile, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_gone, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_resident_alone, world_setup, world_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
