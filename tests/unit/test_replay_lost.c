/* SPDX-License-Identifier: MIT */
/* What a lost stretch may have held: counters that were reset, sleep, clocks that were set, other processes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "replay_bench.h"
#include "unit.h"

#define ENERGY_UJ(joules) ((uint64_t)(joules)*1000000)

static const struct wtl_store_options short_periods = {.period_ns = 2 * S};

struct lost {
	struct replay_bench f;
	int64_t victim_ns; /* what happens then will be lost */
	struct wtl_player *player;
	unsigned counts[WTL_PLAYED_LOST + 1];
};

static void start(struct lost *l, const struct wtl_store_options *store)
{
	const struct replay_setup setup = {.root = "xeon-2s-dram", .store = *store};

	memset(l, 0, sizeof(*l));
	replay_bench_start_on(&l->f, &setup);
	replay_bench_begin(&l->f);
	replay_bench_live_for(&l->f, 5);
}

/* The stretch's own samples have to be what tells of it: one second before, one behind. */
static void happens_now(struct lost *l)
{
	replay_bench_pass(&l->f);
	l->victim_ns = l->f.bench.now_ns;
}

static void play(struct lost *l)
{
	l->player = replay_bench_play(l->f.path, l->counts);
}

static void end_and_play(struct lost *l, bool is_damaged)
{
	struct wtl_store_period period;

	replay_bench_live_for(&l->f, 5);
	replay_bench_end(&l->f);
	replay_bench_stop(&l->f);
	if (is_damaged)
		replay_bench_spoil(&l->f, replay_bench_period(&l->f, l->victim_ns, &period), false);
	play(l);
	assert_int_equal(l->counts[WTL_PLAYED_LOST], is_damaged);
}

static void finish(struct lost *l)
{
	wtl_player_close(l->player);
	replay_bench_finish(&l->f);
}

/* The window's figure of a domain, which its ledger goes by, too. */
static const struct wattle_energy *figure(struct lost *l, size_t domain)
{
	const struct wattle_energy *energies;
	struct wattle_window window;
	struct wtl_ledger ledger;

	assert_true(wtl_player_billed(l->player, &window, &energies));
	wtl_consumers_ledger(wtl_player_consumers(l->player), domain, &ledger);
	assert_true(wtl_ledger_closed(&ledger));
	assert_int_equal(ledger.total_uj, energies[domain].energy_uj);
	return &energies[domain];
}

/* No more than is sure, and the time that is not is said. */
static void check_gap(struct lost *l, size_t domain)
{
	const struct wattle_energy *told = figure(l, domain), *live = &l->f.energies[domain];
	const struct wattle_energy *energies;
	struct wattle_window window;

	assert_true(told->has_energy);
	assert_in_range(told->gap_ns, live->gap_ns + S, live->gap_ns + 4 * S);
	assert_int_equal(told->status, WATTLE_STATUS_GAP);
	assert_true(told->energy_uj < live->energy_uj);
	assert_in_range(told->measured_ns + told->gap_ns, l->f.window.duration_ns - S,
			l->f.window.duration_ns + S);
	wtl_player_billed(l->player, &window, &energies);
	assert_true(window.total.flags & WATTLE_ENERGY_INCOMPLETE);
	assert_true(window.total.gap_ns >= told->gap_ns);
}

static void check_whole(struct lost *l, size_t domain)
{
	const struct wattle_energy *told = figure(l, domain), *live = &l->f.energies[domain];

	assert_int_equal(told->energy_uj, live->energy_uj);
	assert_int_equal(told->gap_ns, 0);
	assert_int_equal(told->status, WATTLE_STATUS_OK);
}

/* ---- Counters ---- */

/* The counter goes back and then on to a little more than it was: what is left looks like 3 J. */
static void reset_counter(struct lost *l)
{
	uint64_t before = l->f.package_counts[0];

	l->f.package_counts[0] = UINT64_C(1) << 32;
	happens_now(l);
	l->f.package_counts[0] = before + ((UINT64_C(3) - JOULES) << 32);
	replay_bench_pass(&l->f);
}

static void test_reset(void **state)
{
	struct lost l;

	(void)state;
	start(&l, &short_periods);
	reset_counter(&l);
	end_and_play(&l, true);
	assert_true(l.f.energies[0].flags & WATTLE_ENERGY_RESET);
	check_gap(&l, 0);
	/* The other one was not, and its window says so. */
	check_whole(&l, 1);
	finish(&l);
}

/* Nobody knows of it where the table of windows is gone as well. */
static void test_nothing_is_certain(void **state)
{
	struct wtl_store_period period;
	struct lost l;

	(void)state;
	start(&l, &short_periods);
	happens_now(&l);
	replay_bench_live_for(&l.f, 5);
	replay_bench_end(&l.f);
	replay_bench_stop(&l.f);
	replay_bench_sql(&l.f, "DELETE FROM energy");
	replay_bench_spoil(&l.f, replay_bench_period(&l.f, l.victim_ns, &period), false);
	play(&l);
	for (size_t i = 0; i < 2; i++)
		check_gap(&l, i);
	finish(&l);
}

/* A window that was open before and behind says nothing of one that it does not reach over. */
static void test_window_within(void **state)
{
	struct wattle_energy energies[REPLAY_DOMAINS_MAX];
	struct wtl_store_period period;
	struct wattle_window window;
	struct lost l;

	(void)state;
	start(&l, &short_periods);
	assert_int_equal(wattle_window_begin(l.f.bench.meter, "short"), 0);
	replay_bench_live_for(&l.f, 1);
	assert_int_equal(
		wtl_window_end(l.f.bench.meter, "short", &window, energies, REPLAY_DOMAINS_MAX), 0);
	wtl_recorder_window(l.f.recorder, "short", false, &window, energies);
	happens_now(&l);
	replay_bench_live_for(&l.f, 5);
	replay_bench_end(&l.f);
	replay_bench_stop(&l.f);
	replay_bench_sql(&l.f, "DELETE FROM energy WHERE window = 1");
	replay_bench_spoil(&l.f, replay_bench_period(&l.f, l.victim_ns, &period), false);
	play(&l);
	check_gap(&l, 1);
	finish(&l);
}

/* Nor does one that begins once the window of the accounts is over: what was billed stays. */
static void test_window_behind(void **state)
{
	struct lost l;
	struct wtl_store_period period;

	(void)state;
	start(&l, &short_periods);
	happens_now(&l);
	replay_bench_live_for(&l.f, 5);
	replay_bench_end(&l.f);
	for (int i = 0; i < 20; i++)
		replay_bench_pass(&l.f);
	assert_int_equal(wattle_window_begin(l.f.bench.meter, "later"), 0);
	for (int i = 0; i < 20; i++)
		replay_bench_pass(&l.f);
	assert_int_equal(wtl_window_end(l.f.bench.meter, "later", NULL, NULL, 0), 0);
	replay_bench_stop(&l.f);
	replay_bench_spoil(&l.f, replay_bench_period(&l.f, l.victim_ns, &period), false);
	play(&l);
	assert_int_equal(l.counts[WTL_PLAYED_LOST], 1);
	assert_true(figure(&l, 1)->has_energy);
	finish(&l);
}

/* ---- Clocks ---- */

static void test_sleep(void **state)
{
	struct lost l;

	(void)state;
	start(&l, &short_periods);
	l.f.bench.asleep_ns += 3600 * S;
	happens_now(&l);
	end_and_play(&l, true);
	for (size_t i = 0; i < 2; i++) {
		assert_true(l.f.energies[i].gap_ns > 0);
		check_gap(&l, i);
	}
	finish(&l);
}

/* The same recording without damage: as it was told live. */
static void test_sleep_that_is_there(void **state)
{
	struct lost l;

	(void)state;
	start(&l, &short_periods);
	l.f.bench.asleep_ns += 3600 * S;
	happens_now(&l);
	end_and_play(&l, false);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(figure(&l, i)->energy_uj, l.f.energies[i].energy_uj);
		assert_int_equal(figure(&l, i)->gap_ns, l.f.energies[i].gap_ns);
	}
	finish(&l);
}

static void test_clock_step(void **state)
{
	struct lost l;

	(void)state;
	start(&l, &short_periods);
	l.f.bench.utc_ns += 7200 * S;
	happens_now(&l);
	end_and_play(&l, true);
	/* What was measured is not touched by that, and what comes behind it has its own time. */
	for (size_t i = 0; i < 2; i++)
		check_whole(&l, i);
	assert_int_equal(wtl_player_utc(l.player, l.f.bench.now_ns) / S,
			 (l.f.bench.now_ns + l.f.bench.utc_ns) / S);
	finish(&l);
}

/* ---- Who ran ---- */

/* Nobody is told more than was his: not even who got the place of somebody who is gone. Who came in
 * what is lost has his part of what is not. */
static void check_processes(struct lost *l)
{
	const struct wtl_consumers *played = wtl_player_consumers(l->player);
	size_t n_known = 0;

	for (size_t slot = WTL_SLOTS_FIXED; slot < wtl_consumers_slots(played); slot++) {
		const struct wtl_consumer *own = wtl_consumers_get(played, slot);
		const struct wtl_consumer *live = wtl_consumers_get(l->f.consumers, slot);
		struct wtl_share_energy told, was;

		if (!own)
			continue;
		assert_non_null(live);
		assert_int_equal(own->pid, live->pid);
		assert_int_equal(own->start_ns, live->start_ns);
		wtl_consumers_energy(played, slot, WTL_PART_ALL, &told);
		wtl_consumers_energy(l->f.consumers, slot, WTL_PART_ALL, &was);
		/* Each bill rounds. */
		if (told.full_uj > was.full_uj + 50)
			fail_msg("slot %zu (%s, %d): %" PRIu64 " uJ, live %" PRIu64, slot,
				 own->name, own->pid, told.full_uj, was.full_uj);
		assert_true(strcmp(own->name, "new") != 0 || told.full_uj > was.full_uj / 4);
		n_known += told.full_uj > 0;
	}
	assert_true(n_known > 2);
}

enum { OTHERS = 12 };

static void others_in_their_places(size_t n)
{
	struct lost l;
	int old[OTHERS], new[OTHERS];

	start(&l, &short_periods);
	for (size_t i = 0; i < n; i++) {
		char name[16];

		snprintf(name, sizeof(name), "old-%zu", i);
		old[i] = world_fork(&l.f.world, 1);
		world_exec(&l.f.world, old[i], name, name);
	}
	for (int i = 0; i < 30; i++) {
		for (size_t k = 0; k < n; k++)
			world_run(&l.f.world, old[k], 10 * MS);
		replay_bench_pass(&l.f);
		if (i % 10 == 9)
			replay_bench_bill(&l.f);
	}
	/* All of them end, and as many others come, in the stretch that will be lost. */
	for (size_t i = 0; i < n; i++)
		world_end(&l.f.world, old[i]);
	happens_now(&l);
	replay_bench_bill(&l.f);
	for (size_t i = 0; i < n; i++) {
		new[i] = world_fork(&l.f.world, 1);
		world_exec(&l.f.world, new[i], "new", "new");
		world_run(&l.f.world, new[i], MS);
	}
	replay_bench_pass(&l.f);
	replay_bench_bill(&l.f);
	/* What they use behind it is theirs. */
	for (int i = 0; i < 50; i++) {
		for (size_t k = 0; k < n; k++)
			world_run(&l.f.world, new[k], 10 * MS);
		replay_bench_pass(&l.f);
		if (i % 10 == 9)
			replay_bench_bill(&l.f);
	}
	end_and_play(&l, true);
	check_processes(&l);
	finish(&l);
}

static void test_others_in_their_places(void **state)
{
	(void)state;
	others_in_their_places(OTHERS);
	others_in_their_places(4); /* one that ended is another now: the last three are kept */
}

static void live(struct lost *l, int process, int seconds)
{
	for (int i = 0; i < seconds; i++) {
		for (int k = 0; k < 10; k++) {
			if (process)
				world_run(&l->f.world, process, 100 * MS);
			replay_bench_pass(&l->f);
		}
		replay_bench_bill(&l->f);
	}
}

/* The machine rests, but for a stretch that is lost: that it was at rest in it, too, is not known. */
static void test_nothing_is_learned(void **state)
{
	struct wtl_store_period period;
	struct lost l;
	int busy;

	(void)state;
	start(&l, &short_periods);
	live(&l, 0, 10);
	busy = world_fork(&l.f.world, 1);
	world_exec(&l.f.world, busy, "busy", "busy");
	live(&l, busy, 1);
	happens_now(&l);
	live(&l, busy, 1);
	world_end(&l.f.world, busy);
	live(&l, 0, 10);
	replay_bench_end(&l.f);
	replay_bench_stop(&l.f);
	replay_bench_spoil(&l.f, replay_bench_period(&l.f, l.victim_ns, &period), false);
	play(&l);
	for (size_t i = 0; i < 2; i++) {
		struct wtl_baseline told, was;

		wtl_consumers_baseline(l.f.consumers, i, &was);
		wtl_consumers_baseline(wtl_player_consumers(l.player), i, &told);
		assert_true(was.is_known && told.is_known);
		assert_true(told.seen_ns <= was.seen_ns);
	}
	check_processes(&l);
	finish(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_nothing_is_certain),
		cmocka_unit_test(test_window_behind),
		cmocka_unit_test(test_window_within),
		cmocka_unit_test(test_sleep),
		cmocka_unit_test(test_sleep_that_is_there),
		cmocka_unit_test(test_clock_step),
		cmocka_unit_test(test_others_in_their_places),
		cmocka_unit_test(test_nothing_is_learned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
