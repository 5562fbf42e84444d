/* SPDX-License-Identifier: MIT */
/* GPUs that are measured, used, lost and found again are the same when they are replayed. */
#include <stdio.h>
#include <string.h>

#include <wattle-recording.h>

#include "meter/observer.h"
#include "replay_bench.h"
#include "unit.h"

/* Counted in the order in which the world makes processes. */
static void world_first_pids(int *first, int *second)
{
	struct world world;

	world_init(&world);
	*first = world_fork(&world, 1);
	*second = world_fork(&world, 1);
	world_done(&world);
}

/* Seconds in which processors work for processes that are on the GPUs. */
static void live(struct replay_bench *f, int first, int second, int seconds)
{
	for (int i = 0; i < 10 * seconds; i++) {
		world_run(&f->world, first, 30 * MS);
		world_run(&f->world, second, 10 * MS);
		replay_bench_pass(f);
		if (i % 10 == 9)
			replay_bench_bill(f);
	}
}

/* The script names n processes, from this number on: they are born here. */
static void start_with(struct replay_bench *f, const struct replay_setup *setup, int first, int n)
{
	replay_bench_start_on(f, setup);
	for (int i = 0; i < n; i++)
		assert_int_equal(world_fork(&f->world, 1), first + i);
	replay_bench_begin(f);
}

/* Played, it is the same, and as in the golden file of that name. */
static void end_and_check(struct replay_bench *f, const char *name)
{
	replay_bench_end(f);
	replay_bench_stop(f);
	replay_bench_check(f, NULL);
	replay_bench_golden(f, name);
}

static void check_script(const char *root, const char *script, int seconds)
{
	const struct replay_setup setup = {
		.root = root, .script = script, .store = {.period_ns = 3 * S}};
	struct replay_bench f;
	int first, second;

	replay_bench_start_on(&f, &setup);
	first = world_fork(&f.world, 1);
	second = world_fork(&f.world, 1);
	assert_true(meter_bench_find(&f.bench, "gpu-0") > 0);
	replay_bench_begin(&f);
	live(&f, first, second, seconds);
	end_and_check(&f, script);
	replay_bench_finish(&f);
}

static void test_eight(void **state)
{
	(void)state;
	check_script("xeon-2s-dram", "eight-gpus", 6);
}

static void test_mig(void **state)
{
	(void)state;
	check_script("xeon-2s-dram", "mig", 6);
}

/* It falls off the bus, and is back with a counter that begins anew. */
static void test_lost(void **state)
{
	(void)state;
	check_script("xeon-2s-dram", "lost", 9);
}

static void test_reload(void **state)
{
	(void)state;
	check_script("xeon-2s-dram", "reload", 9);
}

static void test_asleep(void **state)
{
	(void)state;
	check_script("nvidia-laptop", "asleep", 6);
}

/* Power alone, which is integrated, and is corrected after the fact. */
static void test_power_only(void **state)
{
	(void)state;
	check_script("xeon-2s-dram", "laptop-power-only", 8);
}

/* ---- Who used them ---- */

/* "head" is of the GPU; one and other are what is told of two processes. */
static void check_users(const char *name, const char *head, const char *one, const char *other)
{
	struct replay_setup setup = {.root = "xeon-2s-dram", .store = {.period_ns = 2 * S}};
	struct wtl_share_energy energy;
	struct replay_bench f;
	char script[512];
	int first, second;

	world_first_pids(&first, &second);
	snprintf(script, sizeof(script),
		 "gpu Fake\n  power 0 const 100\n  sensor counter gpu 100\n%s"
		 "process %d C %s\nprocess %d C %s\n",
		 head, first, one, second, other);
	setup.script = script;
	assert_int_equal(second, first + 1);
	start_with(&f, &setup, first, 2);
	live(&f, first, second, 7);
	end_and_check(&f, name);
	/* Somebody was billed for it, so that there was something to be the same. */
	wtl_consumers_energy(f.consumers,
			     (size_t)wtl_workload_find(wtl_consumers_workload(f.consumers), first),
			     WTL_PART_GPU, &energy);
	assert_true(energy.full_uj > 0);
	replay_bench_finish(&f);
}

static void test_users(void **state)
{
	(void)state;
	check_users("users", "", "100 60 0 0 0", "50 20 0 0 0 2 5");
}

/* One is on two GPUs, another on one and for a while on the other; and one is of another container. */
static void test_users_of_two(void **state)
{
	struct replay_setup setup = {.root = "xeon-2s-dram", .store = {.period_ns = 2 * S}};
	char script[1024];
	struct replay_bench f;
	int first, second;

	(void)state;
	world_first_pids(&first, &second);
	snprintf(script, sizeof(script),
		 "gpu Fake\n  power 0 const 100\n  sensor counter gpu 100\n"
		 "  process %d C 100 40 0 0 0\n  process %d C 50 20 0 0 0\n"
		 "  process 70001 C 25 10 0 0 0 3 5\nprocess-name 70001 elsewhere\n"
		 "gpu Fake\n  power 0 const 60\n  sensor counter gpu 100\n"
		 "  process %d C 300 30 0 0 0\n  process %d G 75 10 0 0 0 2 4\n",
		 first, second, first, second);
	setup.script = script;
	assert_int_equal(second, first + 1);
	start_with(&f, &setup, first, 2);
	live(&f, first, second, 7);
	assert_int_equal(
		wtl_consumers_get(f.consumers, (size_t)wtl_workload_find(
						       wtl_consumers_workload(f.consumers), first))
			->gpu_memory_bytes,
		400 << 20);
	end_and_check(&f, "users-of-two");
	replay_bench_finish(&f);
}

/* Only memory is told: a guess. */
static void test_guess(void **state)
{
	(void)state;
	check_users("guess", "  mig on\n", "100", "300");
}

/* The same from what the recording says of its end. */
static void check_summary(struct replay_bench *f)
{
	static const struct wtl_player_policy only_summary = {.only_summary = true};
	struct wtl_player *player;
	struct wtl_played second;

	assert_int_equal(wtl_player_open(f->path, &only_summary, &player, NULL), 0);
	assert_int_equal(wtl_player_summary(player, &second, NULL), 1);
	replay_bench_check_same(replay_bench_print_live(f), replay_bench_print_played(player));
	wtl_player_close(player);
}

/* One that draws 100 W while it keeps all SMs busy, and one that draws 300: apart and together, for more than the
 * minute that is divided anew. */
static void live_by_watts(struct replay_bench *f, const char *head, int pids[2])
{
	enum { LIGHT_W = 100, HEAVY_W = 300, PHASES = 18, PHASE_S = 8 };
	static const int phases[][2] = {{60, 0},  {0, 60},  {30, 30}, {20, 40}, {60, 0},
					{40, 20}, {30, 30}, {10, 50}, {40, 40}};
	struct replay_setup setup = {.root = "xeon-2s-dram",
				     .weight = WTL_WEIGHT_LEARNED,
				     .store = {.period_ns = 20 * S}};
	char script[4096];
	int len;

	world_first_pids(&pids[0], &pids[1]);
	len = snprintf(script, sizeof(script), "%s", head);
	for (int i = 0; i < PHASES; i++) {
		const int *phase = phases[i % 9];

		len += snprintf(script + len, sizeof(script) - (size_t)len, "  power %d const %d\n",
				i * PHASE_S, 50 + (LIGHT_W * phase[0] + HEAVY_W * phase[1]) / 100);
		for (int k = 0; k < 2; k++)
			len += snprintf(script + len, sizeof(script) - (size_t)len,
					"process %d C 100 %d 0 0 0 %d %d\n", pids[k], phase[k],
					i * PHASE_S, (i + 1) * PHASE_S);
	}
	setup.script = script;
	assert_int_equal(pids[1], pids[0] + 1);
	start_with(f, &setup, pids[0], 2);
	live(f, pids[0], pids[1], 10 * PHASE_S);
	/* More is in doubt from here on. */
	wtl_consumers_machine_changed(f->consumers);
	live(f, pids[0], pids[1], 8 * PHASE_S - 1);
}

static void test_watts(void **state)
{
	struct wtl_share_energy light, heavy;
	struct wtl_consumer_power light_now, heavy_now;
	struct replay_bench f;
	struct wtl_per_cpu watts;
	size_t slots[2];
	int pids[2];

	(void)state;
	live_by_watts(&f, "gpu Fake\n  sensor counter gpu 100\n", pids);
	for (int i = 0; i < 2; i++)
		slots[i] = (size_t)wtl_workload_find(wtl_consumers_workload(f.consumers), pids[i]);
	/* The samples are the driver's of the second before, and blur it. */
	wtl_consumers_per_gpu(f.consumers, slots[0], &watts);
	assert_in_range(watts.power_uw, 60000000, 110000000);
	assert_in_range(watts.uncertainty_uw, 30000000, 90000000);
	wtl_consumers_per_gpu(f.consumers, slots[1], &watts);
	assert_in_range(watts.power_uw, 240000000, 330000000);
	/* By use alone it would be 0.9 times as much. */
	wtl_consumers_energy(f.consumers, slots[0], WTL_PART_GPU, &light);
	wtl_consumers_energy(f.consumers, slots[1], WTL_PART_GPU, &heavy);
	assert_in_range(100 * heavy.full_uj / light.full_uj, 240, 290);
	/* Of the last second, in which both used it alike, as well. */
	assert_true(wtl_consumers_power(f.consumers, slots[0], WTL_PART_GPU, &light_now));
	assert_true(wtl_consumers_power(f.consumers, slots[1], WTL_PART_GPU, &heavy_now));
	assert_in_range(100 * heavy_now.full_uw / light_now.full_uw, 240, 480);
	end_and_check(&f, "watts");
	check_summary(&f);
	/* When accounts begin anew, whoever is next in the slot of one that ended has not its watts. */
	world_end(&f.world, pids[0]);
	wtl_consumers_begin(f.consumers);
	for (int i = 0; i < 8; i++)
		world_fork(&f.world, 1);
	wtl_consumers_begin(f.consumers);
	assert_non_null(wtl_consumers_get(f.consumers, slots[0]));
	wtl_consumers_per_gpu(f.consumers, slots[0], &watts);
	assert_int_equal(watts.power_uw, 0);
	replay_bench_finish(&f);
}

/* The same two on a GPU that tells power alone. */
static void test_watts_by_power_alone(void **state)
{
	struct replay_bench f;
	int pids[2];

	(void)state;
	live_by_watts(
		&f,
		"gpu NVIDIA GeForce GTX 1050\n  arch pascal\n  cc 6.1\n  sensor usage gpu 20 10\n",
		pids);
	end_and_check(&f, "watts-by-power-alone");
	replay_bench_finish(&f);
}

/*
 * Eight that draw 60 to 340 W on all of a GPU, each for twelve seconds, two at a time; then they end, and more have ended
 * than are kept apart: what their watts were divided by goes with their energy.
 */
static void test_watts_of_many(void **state)
{
	enum { USERS = 8, STEP_S = 6, FIRST_W = 60, MORE_W = 40 };
	struct replay_setup setup = {.root = "xeon-2s-dram",
				     .weight = WTL_WEIGHT_LEARNED,
				     .store = {.period_ns = 20 * S}};
	char script[2048];
	struct replay_bench f;
	int first, second, len;

	(void)state;
	world_first_pids(&first, &second);
	len = snprintf(script, sizeof(script), "gpu Fake\n  sensor counter gpu 100\n");
	for (int i = 0; i <= USERS; i++) {
		int watts = 50 + (i > 0 ? 3 * (FIRST_W + MORE_W * (i - 1)) / 10 : 0) +
			    (i < USERS ? 5 * (FIRST_W + MORE_W * i) / 10 : 0);

		len += snprintf(script + len, sizeof(script) - (size_t)len, "  power %d const %d\n",
				i * STEP_S, watts);
	}
	for (int i = 0; i < USERS; i++)
		len += snprintf(
			script + len, sizeof(script) - (size_t)len,
			"process %d C 100 50 0 0 0 %d %d\nprocess %d C 100 30 0 0 0 %d %d\n",
			first + i, i * STEP_S, (i + 1) * STEP_S, first + i, (i + 1) * STEP_S,
			(i + 2) * STEP_S);
	setup.script = script;
	start_with(&f, &setup, first, USERS);
	for (int i = 0; i <= USERS; i++) {
		live(&f, first + (i < USERS ? i : USERS - 1), first + (i > 0 ? i - 1 : 0), STEP_S);
		if (i > 0)
			world_end(&f.world, first + i - 1);
	}
	live(&f, 1, 1, 2);
	end_and_check(&f, "watts-of-many");
	check_summary(&f);
	replay_bench_finish(&f);
}

/* Whom only the GPU's driver sees used an unknown time of the CPUs, not none: programs are told so. */
static void test_a_user_of_elsewhere(void **state)
{
	enum { ELSEWHERE = 90001 };
	const struct replay_setup setup = {
		.root = "xeon-2s-dram",
		.script = "gpu Fake\n  power 0 const 100\n  sensor counter gpu 100\n"
			  "process 90001 C 100 60 0 0 0\n",
		.store = {.period_ns = 2 * S}};
	struct wattle_energy energies[REPLAY_DOMAINS_MAX] = {{.size = sizeof(energies[0])}};
	struct wattle_consumer consumer = {.size = sizeof(consumer)};
	struct wattle_consumers *list;
	struct wattle_recording *recording;
	struct wattle_recording_step step = {.size = sizeof(step)};
	bool is_known_of_others = false, is_there = false;
	struct replay_bench f;
	int first;

	(void)state;
	replay_bench_start_on(&f, &setup);
	first = world_fork(&f.world, 1);
	replay_bench_begin(&f);
	live(&f, first, first, 4);
	replay_bench_end(&f);
	replay_bench_stop(&f);
	assert_int_equal(wattle_recording_open(f.path, &recording, NULL), 0);
	while (wattle_recording_next(recording, S, &step, energies, REPLAY_DOMAINS_MAX, NULL) > 0)
		;
	assert_int_equal(wattle_recording_consumers(recording, &list, NULL), 0);
	for (size_t i = 0; wattle_consumers_get(list, i, &consumer) == 0; i++) {
		if (consumer.pid == ELSEWHERE)
			assert_int_equal(consumer.cpu_ns, -1);
		is_there |= consumer.pid == ELSEWHERE;
		is_known_of_others |= consumer.pid == first && consumer.cpu_ns > 0;
	}
	wattle_consumers_free(list);
	assert_true(is_there);
	assert_true(is_known_of_others);
	wattle_recording_close(recording);
	replay_bench_finish(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_eight),
		cmocka_unit_test(test_mig),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_asleep),
		cmocka_unit_test(test_power_only),
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_users_of_two),
		cmocka_unit_test(test_guess),
		cmocka_unit_test(test_watts),
		cmocka_unit_test(test_watts_of_many),
		cmocka_unit_test(test_watts_by_power_alone),
		cmocka_unit_test(test_a_user_of_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
