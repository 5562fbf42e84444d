/* SPDX-License-Identifier: MIT */
/* What a recording says when it is replayed is what was said live: to the microjoule, and in every figure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "meter/observer.h"
#include "record/reader.h"
#include "replay_bench.h"
#include "unit.h"

/* ---- Tests ---- */

static void test_same_to_the_microjoule(void **state)
{
	unsigned counts[WTL_PLAYED_LOST + 1];
	struct replay_bench f;

	(void)state;
	replay_bench_start(&f, 0);
	replay_bench_begin(&f);
	replay_bench_live_for(&f, 8);
	replay_bench_end(&f);
	replay_bench_stop(&f);
	replay_bench_check(&f, counts);
	assert_int_equal(counts[WTL_PLAYED_BEGUN], 1);
	assert_int_equal(counts[WTL_PLAYED_ENDED], 1);
	assert_int_equal(counts[WTL_PLAYED_SAMPLE], 80);
	assert_int_equal(counts[WTL_PLAYED_BILLED], 9);
	replay_bench_golden(&f, "plain");
	replay_bench_finish(&f);
}

/* Every period stands for itself, and all of them together are the same again. */
static void test_many_periods(void **state)
{
	struct wtl_store_period period;
	struct replay_bench f;

	(void)state;
	replay_bench_start(&f, 2 * S);
	replay_bench_begin(&f);
	for (int i = 0; i < 4; i++) {
		replay_bench_crowd(&f);
		replay_bench_live_for(&f, 2);
	}
	replay_bench_end(&f);
	replay_bench_stop(&f);
	assert_in_range(replay_bench_period(&f, f.bench.now_ns - S, &period), 2, 8);
	replay_bench_check(&f, NULL);
	replay_bench_golden(&f, "crowd");
	replay_bench_finish(&f);
}

/* What was known of idle power before the recording, of a machine that never rests in it. */
static void test_idle_from_before(void **state)
{
	const struct wtl_baseline known = {.is_known = true,
					   .idle_uw = 5000000,
					   .uncertainty_uw = 100000,
					   .t_utc_ns = 1700000000 * S,
					   .seen_ns = 60 * S};
	struct replay_bench f;
	size_t package;

	(void)state;
	replay_bench_start(&f, 0);
	package = meter_bench_find(&f.bench, "package-0");
	wtl_consumers_set_baseline(f.consumers, package, &known);
	wtl_recorder_idle(f.recorder, package, &known);
	replay_bench_begin(&f);
	replay_bench_live_for(&f, 4);
	replay_bench_end(&f);
	replay_bench_stop(&f);
	replay_bench_check(&f, NULL);
	replay_bench_finish(&f);
}

/* By a recorder that knew of no GPUs. */
static void test_no_word_of_gpus(void **state)
{
	struct replay_bench f;

	(void)state;
	replay_bench_start(&f, 0);
	replay_bench_begin(&f);
	replay_bench_live_for(&f, 2);
	replay_bench_end(&f);
	replay_bench_stop(&f);
	replay_bench_sql(&f, "DELETE FROM fact WHERE key = 'gpus'");
	replay_bench_check(&f, NULL);
	replay_bench_finish(&f);
}

/* The accounts begin anew in between, as with wattle run --repeat or --idle-first. */
static void test_resets(void **state)
{
	unsigned counts[WTL_PLAYED_LOST + 1];
	struct replay_bench f;

	(void)state;
	replay_bench_start(&f, 0);
	replay_bench_begin(&f);
	for (int i = 0; i < 50; i++) {
		replay_bench_pass(&f);
		if (i % 10 == 9)
			replay_bench_bill(&f);
	}
	assert_int_equal(wattle_window_cancel(f.bench.meter, "run"), 0);
	replay_bench_begin(&f);
	replay_bench_live_for(&f, 3);
	replay_bench_end(&f);
	replay_bench_begin(&f);
	replay_bench_live_for(&f, 4);
	replay_bench_end(&f);
	replay_bench_stop(&f);
	replay_bench_check(&f, counts);
	assert_int_equal(counts[WTL_PLAYED_BEGUN], 3);
	assert_int_equal(counts[WTL_PLAYED_CANCELLED], 1);
	replay_bench_finish(&f);
}

/* Suspend, a sensor that fails and comes back, a counter that starts anew. */
static void trouble(const struct replay_setup *setup, const char *name)
{
	struct replay_bench f;

	replay_bench_start_on(&f, setup);
	replay_bench_begin(&f);
	replay_bench_live_for(&f, 2);
	f.bench.asleep_ns += 3600 * S;
	replay_bench_live_for(&f, 2);
	f.first_fails = true;
	for (int i = 0; i < 12; i++)
		replay_bench_pass(&f);
	replay_bench_bill(&f);
	f.first_fails = false;
	f.package_counts[1] = 17;
	replay_bench_live_for(&f, 2);
	wtl_consumers_machine_changed(f.consumers);
	f.bench.utc_ns += 5 * S;
	replay_bench_live_for(&f, 3);
	f.bench.utc_ns -= 3600 * S;
	replay_bench_live_for(&f, 2);
	replay_bench_end(&f);
	replay_bench_stop(&f);
	replay_bench_check(&f, NULL);
	replay_bench_golden(&f, name);
	replay_bench_finish(&f);
}

static void test_troubles(void **state)
{
	static const enum wtl_weight weights[] = {WTL_WEIGHT_CPU_TIME, WTL_WEIGHT_LEARNED};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(weights); i++)
		trouble(&(struct replay_setup){.root = "xeon-2s-dram",
					       .weight = weights[i],
					       .store = {.period_ns = 3 * S}},
			weights[i] == WTL_WEIGHT_LEARNED ? "trouble-learned" : "trouble");
}

/* Uses that weigh what the hardware counted. */
static void test_weights(void **state)
{
	static const enum wtl_weight weights[] = {WTL_WEIGHT_INSTRUCTIONS, WTL_WEIGHT_CYCLES,
						  WTL_WEIGHT_LEARNED};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(weights); i++) {
		const struct replay_setup setup = {.root = "xeon-2s-dram",
						   .weight = weights[i],
						   .store = {.period_ns = 2 * S}};
		struct wtl_store_reader *reader;
		struct replay_bench f;
		int fast, slow;

		replay_bench_start_on(&f, &setup);
		fast = world_fork(&f.world, 1);
		slow = world_fork(&f.world, 1);
		world_at(&f.world, fast)->per_us = 3000;
		world_at(&f.world, slow)->per_us = 1000;
		replay_bench_begin(&f);
		for (int k = 0; k < 60; k++) {
			world_run(&f.world, fast, 40 * MS);
			world_run(&f.world, slow, 40 * MS);
			replay_bench_pass(&f);
			if (k % 10 == 9)
				replay_bench_bill(&f);
		}
		replay_bench_end(&f);
		assert_int_equal(wtl_workload_weight(wtl_consumers_workload(f.consumers)),
				 weights[i]);
		replay_bench_stop(&f);
		assert_int_equal(wtl_store_open(f.path, &reader, NULL), 0);
		assert_string_equal(wtl_store_get_fact(reader, WTL_FACT_WEIGHT),
				    wtl_weight_name(weights[i]));
		assert_string_equal(wtl_store_get_fact(reader, WTL_FACT_VERSION), wattle_version());
		wtl_store_close(reader);
		replay_bench_golden(&f, wtl_weight_name(weights[i]));
		replay_bench_check(&f, NULL);
		replay_bench_finish(&f);
	}
}

/* Recorded by CPU time, with each period told from 0: played with learned watts, each keeps its place. */
static void test_places_last(void **state)
{
	static const struct wtl_player_policy policy = {.has_weight = true,
							.weight = WTL_WEIGHT_LEARNED};
	struct wtl_player *player;
	struct wtl_played played;
	struct replay_bench f;
	unsigned n_seen = 0;
	uint32_t key = 0;
	int pid;

	(void)state;
	replay_bench_start(&f, S);
	pid = world_fork(&f.world, 1);
	world_exec(&f.world, pid, "one", "one");
	replay_bench_begin(&f);
	for (int k = 0; k < 100; k++) {
		world_run(&f.world, pid, k / 20 % 2 ? 0 : 60 * MS);
		replay_bench_pass(&f);
		if (k % 10 == 9)
			replay_bench_bill(&f);
	}
	replay_bench_end(&f);
	replay_bench_stop(&f);
	assert_int_equal(wtl_player_open(f.path, &policy, &player, NULL), 0);
	while (wtl_player_step(player, &played, NULL) > 0) {
		struct wtl_consumers *consumers = wtl_player_consumers(player);

		for (size_t i = 0; i < wtl_consumers_slots(consumers); i++) {
			const struct wtl_consumer *who = wtl_consumers_get(consumers, i);

			if (!who || who->pid != pid || played.kind != WTL_PLAYED_BILLED)
				continue;
			assert_true(who->watts_key > 0 && (key == 0 || who->watts_key == key));
			key = who->watts_key;
			n_seen++;
		}
	}
	assert_true(n_seen >= 10);
	wtl_player_close(player);
	replay_bench_finish(&f);
}

/* All machines of the fixtures, whatever their sensors. */
static void test_every_root(void **state)
{
	static const char *const roots[] = {
		"amd-epyc",  "client-psys", "laptop-battery", "arm-server",    "jetson",  "amd-gpu",
		"intel-gpu", "vm-nothing",  "eacces",	      "zero-counters", "rubbish", "grace"};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(roots); i++) {
		const struct replay_setup setup = {.root = roots[i], .is_quiet = true};
		struct replay_bench f;

		replay_bench_start_on(&f, &setup);
		wtl_consumers_begin(f.consumers);
		assert_int_equal(wattle_window_begin(f.bench.meter, "run"), 0);
		for (int k = 0; k < 40; k++) {
			meter_bench_tick(&f.bench, 97 * MS);
			world_pass(&f.world, 97 * MS);
			if (k % 10 == 0)
				replay_bench_bill(&f);
		}
		replay_bench_end(&f);
		replay_bench_stop(&f);
		replay_bench_golden(&f, roots[i]);
		replay_bench_check(&f, NULL);
		replay_bench_finish(&f);
	}
}

/* Windows of any name nest and overlap; each has the figures that it had. */
static void test_windows(void **state)
{
	struct wattle_energy inner[REPLAY_DOMAINS_MAX],
		pushed[REPLAY_DOMAINS_MAX] = {{.size = sizeof(pushed[0])}};
	struct wattle_window inner_window, pushed_window = {.size = sizeof(pushed_window)};
	struct wtl_player *player;
	struct wtl_played played;
	struct replay_bench f;
	unsigned seen = 0;
	size_t n;

	(void)state;
	replay_bench_start(&f, 0);
	n = wattle_meter_domains(f.bench.meter);
	replay_bench_begin(&f);
	replay_bench_live_for(&f, 1);
	assert_int_equal(wattle_window_begin(f.bench.meter, "inner"), 0);
	replay_bench_pass(&f);
	assert_int_equal(wattle_window_push(f.bench.meter, "step"), 0);
	assert_int_equal(wattle_window_push(f.bench.meter, "step"), 0);
	replay_bench_pass(&f);
	replay_bench_pass(&f);
	assert_int_equal(wattle_window_pop(f.bench.meter, &pushed_window, pushed, n), 0);
	assert_int_equal(wtl_window_end(f.bench.meter, "inner", &inner_window, inner, n), 0);
	replay_bench_pass(&f);
	assert_int_equal(wattle_window_pop(f.bench.meter, NULL, NULL, 0), 0);
	replay_bench_end(&f);
	replay_bench_stop(&f);
	assert_int_equal(wtl_player_open(f.path, NULL, &player, NULL), 0);
	while (wtl_player_step(player, &played, NULL) > 0) {
		if (played.kind != WTL_PLAYED_ENDED)
			continue;
		seen++;
		if (seen == 1) {
			assert_string_equal(played.window_name, "step");
			assert_memory_equal(&played.window, &pushed_window, sizeof(pushed_window));
			assert_memory_equal(played.energies, pushed, n * sizeof(*pushed));
		}
		if (seen == 2) {
			assert_string_equal(played.window_name, "inner");
			assert_memory_equal(&played.window, &inner_window, sizeof(inner_window));
			assert_memory_equal(played.energies, inner, n * sizeof(*inner));
		}
	}
	assert_int_equal(seen, 4);
	wtl_player_close(player);
	replay_bench_finish(&f);
}

static int count_exits(void *context, const struct wtl_stored_gap *gap)
{
	int64_t *times_ns = context;

	assert_int_equal(gap->kind, WTL_GAP_EXITS);
	assert_true(times_ns[0]++ == 0);
	times_ns[1] = gap->begin_mono_ns;
	times_ns[2] = gap->duration_ns;
	return 0;
}

/* What the kernel dropped is told once, with the time between the two scans that it was in. */
static void test_lost_exits(void **state)
{
	struct wtl_store_reader *reader;
	int64_t times_ns[3] = {0}, scans_ns[3];
	struct replay_bench f;

	(void)state;
	replay_bench_start(&f, 0);
	replay_bench_begin(&f);
	for (int i = 0; i < 3; i++) {
		f.world.has_lost = i == 1;
		replay_bench_live_for(&f, 1);
		scans_ns[i] = wtl_consumers_scan(f.consumers)->t_mono_ns;
	}
	replay_bench_end(&f);
	assert_int_equal(wtl_consumers_means(f.consumers)->n_lost_exits, 1);
	replay_bench_stop(&f);
	assert_int_equal(wtl_store_open(f.path, &reader, NULL), 0);
	assert_int_equal(wtl_store_each_gap(reader, count_exits, times_ns), 0);
	assert_int_equal(times_ns[0], 1);
	assert_int_equal(times_ns[1], scans_ns[0]);
	assert_int_equal(times_ns[2], scans_ns[1] - scans_ns[0]);
	wtl_store_close(reader);
	replay_bench_check(&f, NULL);
	replay_bench_finish(&f);
}

/* A part of a recording has a ledger of its own, which is closed. */
static void test_a_part(void **state)
{
	const struct wattle_energy *energies;
	struct wattle_window window;
	struct wtl_player *player;
	struct wtl_played played;
	struct wtl_ledger ledger;
	struct replay_bench f;
	unsigned billed = 0;

	(void)state;
	replay_bench_start(&f, 0);
	replay_bench_begin(&f);
	replay_bench_live_for(&f, 6);
	replay_bench_end(&f);
	replay_bench_stop(&f);
	assert_int_equal(wtl_player_open(f.path, NULL, &player, NULL), 0);
	while (billed < 5 && wtl_player_step(player, &played, NULL) > 0)
		if (played.kind == WTL_PLAYED_BILLED && ++billed <= 2) /* the newest counts */
			assert_int_equal(wtl_player_begin_here(player, 0), 0);
	assert_true(wtl_player_billed(player, &window, &energies));
	assert_in_range(window.duration_ns, 2900 * MS, 3100 * MS);
	wtl_consumers_ledger(wtl_player_consumers(player), 0, &ledger);
	assert_true(wtl_ledger_closed(&ledger));
	assert_int_equal(ledger.total_uj, energies[0].energy_uj);
	assert_in_range(energies[0].energy_uj, 29 * JOULES * 1000000, 31 * JOULES * 1000000);
	wtl_player_close(player);
	replay_bench_finish(&f);
}

/* How busy somebody is does not depend on when accounts began. */
static void test_busy_in_a_part(void **state)
{
	struct wtl_player *whole, *part;
	const struct wattle_energy *energies;
	struct wattle_window window;
	struct wtl_played played;
	struct replay_bench f;
	unsigned billed = 0, n_busy = 0;

	(void)state;
	replay_bench_start(&f, 0);
	replay_bench_begin(&f);
	for (int i = 0; i < 10; i++) {
		replay_bench_crowd(&f);
		replay_bench_live_for(&f, 1);
	}
	replay_bench_end(&f);
	replay_bench_stop(&f);
	assert_int_equal(wtl_player_open(f.path, NULL, &whole, NULL), 0);
	assert_int_equal(wtl_player_open(f.path, NULL, &part, NULL), 0);
	while (wtl_player_step(whole, &played, NULL) > 0) {
		assert_int_equal(wtl_player_step(part, &played, NULL), 1);
		if (played.kind != WTL_PLAYED_BILLED)
			continue;
		if (++billed == 3) {
			assert_int_equal(wtl_player_begin_here(part, 0), 0);
			assert_false(wtl_player_billed(part, &window, &energies));
		}
		for (size_t i = 0; i < wtl_consumers_slots(wtl_player_consumers(part)); i++) {
			const struct wtl_consumer *one =
				wtl_consumers_get(wtl_player_consumers(part), i);

			if (!one)
				continue;
			assert_int_equal(
				one->cpu_ppm,
				wtl_consumers_get(wtl_player_consumers(whole), i)->cpu_ppm);
			n_busy += billed > 3 && one->cpu_ppm > 0;
		}
	}
	assert_true(n_busy > 20);
	wtl_player_close(whole);
	wtl_player_close(part);
	replay_bench_finish(&f);
}

/* A row that others were folded into is as busy as it was, when one more of its name is in it. */
static void test_busy_after_a_fold(void **state)
{
	struct replay_bench f;

	(void)state;
	replay_bench_start(&f, 0);
	replay_bench_begin(&f);
	for (int i = 0; i < 3; i++) {
		replay_bench_crowd(&f);
		replay_bench_live_for(&f, 1);
	}
	for (int i = 0; i < 4; i++) {
		char name[16];

		snprintf(name, sizeof(name), "crowd%d", i);
		world_child(&f.world, 1, name, 5 * MS);
	}
	replay_bench_pass(&f);
	replay_bench_bill(&f);
	replay_bench_end(&f);
	replay_bench_stop(&f);
	replay_bench_check(&f, NULL);
	replay_bench_finish(&f);
}

static void test_a_policy(void **state)
{
	const struct wtl_player_policy policy = {.given = {{"package-0", 20000000}}, .n_given = 1};
	struct wtl_player *player;
	struct wtl_played played;
	struct wtl_baseline idle;
	struct wtl_ledger ledger;
	struct replay_bench f;

	(void)state;
	replay_bench_start(&f, 0);
	replay_bench_begin(&f);
	replay_bench_live_for(&f, 5);
	replay_bench_end(&f);
	replay_bench_stop(&f);
	assert_int_equal(wtl_player_open(f.path, &policy, &player, NULL), 0);
	while (wtl_player_step(player, &played, NULL) > 0)
		continue;
	wtl_consumers_baseline(wtl_player_consumers(player), 0, &idle);
	assert_int_equal(idle.idle_uw, 20000000);
	wtl_consumers_ledger(wtl_player_consumers(player), 0, &ledger);
	assert_true(wtl_ledger_closed(&ledger));
	assert_in_range(ledger.idle_uj, 99000000, 101000000);
	wtl_player_close(player);
	replay_bench_finish(&f);
}

/* What a window had, and how many samples there were up to its end. */
struct ended {
	unsigned n_samples;
	uint64_t energy_uj;
	int64_t duration_ns;
};

static size_t play_windows(const char *path, bool skips_use, struct ended ended[], size_t most)
{
	const struct wtl_player_policy policy = {.skips_use = skips_use};
	struct wtl_player *player;
	struct wtl_played played;
	unsigned n_samples = 0;
	size_t n = 0;

	assert_int_equal(wtl_player_open(path, &policy, &player, NULL), 0);
	assert_int_equal(wtl_player_follows(player), !skips_use);
	while (wtl_player_step(player, &played, NULL) > 0) {
		assert_int_not_equal(played.kind, WTL_PLAYED_LOST);
		assert_true(!skips_use || played.kind != WTL_PLAYED_BILLED);
		n_samples += wtl_played_has_sample(&played);
		if (played.kind != WTL_PLAYED_ENDED)
			continue;
		assert_true(n < most);
		ended[n++] = (struct ended){n_samples, played.window.total.energy_uj,
					    played.window.duration_ns};
	}
	for (size_t i = WTL_SLOTS_FIXED;
	     skips_use && i < wtl_consumers_slots(wtl_player_consumers(player)); i++)
		assert_null(wtl_consumers_get(wtl_player_consumers(player), (uint32_t)i));
	wtl_player_close(player);
	return n;
}

/* Who used it is left out, and what was measured is the same. */
static void test_without_use(void **state)
{
	struct ended all[8], some[8];
	struct replay_bench f;
	size_t n;

	(void)state;
	replay_bench_start(&f, 2 * S);
	replay_bench_begin(&f);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(wattle_window_begin(f.bench.meter, "part"), 0);
		replay_bench_live_for(&f, 2);
		assert_int_equal(wattle_window_end(f.bench.meter, "part", NULL, NULL, 0), 0);
	}
	replay_bench_end(&f);
	replay_bench_stop(&f);
	n = play_windows(f.path, false, all, UNIT_COUNT(all));
	assert_int_equal(n, 4);
	assert_int_equal(play_windows(f.path, true, some, UNIT_COUNT(some)), n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(some[i].n_samples, all[i].n_samples);
		assert_int_equal(some[i].energy_uj, all[i].energy_uj);
		assert_int_equal(some[i].duration_ns, all[i].duration_ns);
		assert_true(all[i].energy_uj > 0);
	}
	replay_bench_finish(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_to_the_microjoule),
		cmocka_unit_test(test_many_periods),
		cmocka_unit_test(test_idle_from_before),
		cmocka_unit_test(test_no_word_of_gpus),
		cmocka_unit_test(test_resets),
		cmocka_unit_test(test_troubles),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_places_last),
		cmocka_unit_test(test_every_root),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_lost_exits),
		cmocka_unit_test(test_a_part),
		cmocka_unit_test(test_busy_in_a_part),
		cmocka_unit_test(test_busy_after_a_fold),
		cmocka_unit_test(test_a_policy),
		cmocka_unit_test(test_without_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
