/* SPDX-License-Identifier: MIT */
/* A ring tells of what it has as if it had begun there: as a part of the same recording, had nothing been dropped. */
#include <string.h>

#include "base/err.h"
#include "meter/consumers.h"
#include "record/writer.h"
#include "replay/player.h"
#include "replay_bench.h"
#include "unit.h"

static void record(struct replay_bench *f, int64_t max_age_ns)
{
	const struct replay_setup setup = {
		.root = "xeon-2s-dram",
		.store = {.period_ns = S, .max_age_ns = max_age_ns},
	};

	memset(f, 0, sizeof(*f));
	replay_bench_start_on(f, &setup);
	replay_bench_begin(f);
	replay_bench_live_for(f, 15);
	replay_bench_end(f);
	replay_bench_stop(f);
}

/* To its end; with from_ns >= 0, as if it began with the first bill since. */
static void play_from(struct wtl_player *player, int64_t from_ns)
{
	struct wtl_played played;
	struct wtl_err err;
	bool has_begun = from_ns < 0;
	int rc;

	while ((rc = wtl_player_step(player, &played, &err)) > 0) {
		assert_int_not_equal(played.kind, WTL_PLAYED_LOST);
		if (has_begun || played.kind != WTL_PLAYED_BILLED || played.t_mono_ns < from_ns)
			continue;
		assert_int_equal(wtl_player_begin_here(player, 0), 0);
		has_begun = true;
	}
	assert_int_equal(rc, 0);
	assert_true(has_begun);
}

static struct wtl_player *open_player(const struct replay_bench *f)
{
	struct wtl_player *player;
	struct wtl_err err;

	assert_int_equal(wtl_player_open(f->path, NULL, &player, &err), 0);
	return player;
}

static void check_same_energies(struct wtl_player *part, struct wtl_player *rest)
{
	const struct wattle_energy *energies[2];
	struct wattle_window windows[2];

	assert_true(wtl_player_billed(part, &windows[0], &energies[0]));
	assert_true(wtl_player_billed(rest, &windows[1], &energies[1]));
	assert_int_equal(windows[0].begin_mono_ns, windows[1].begin_mono_ns);
	assert_int_equal(windows[0].duration_ns, windows[1].duration_ns);
	for (size_t i = 0; i < wattle_meter_domains(wtl_player_meter(part)); i++) {
		assert_int_equal(energies[0][i].energy_uj, energies[1][i].energy_uj);
		assert_int_equal(energies[0][i].uncertainty_uj, energies[1][i].uncertainty_uj);
	}
}

/* But for what is left over when energy is shared in microjoules, which is given with the next bill. */
static void check_same_share(uint64_t a_uj, uint64_t b_uj)
{
	assert_true((a_uj > b_uj ? a_uj - b_uj : b_uj - a_uj) <= 2);
}

static void check_same(struct wtl_player *part, struct wtl_player *rest)
{
	const struct wtl_consumers *a = wtl_player_consumers(part), *b = wtl_player_consumers(rest);
	size_t n_used = 0;

	check_same_energies(part, rest);
	assert_int_equal(wtl_consumers_slots(a), wtl_consumers_slots(b));
	for (uint32_t slot = 0; slot < wtl_consumers_slots(a); slot++) {
		const struct wtl_consumer *one = wtl_consumers_get(a, slot);
		const struct wtl_consumer *other = wtl_consumers_get(b, slot);

		for (size_t i = 0; i < wattle_meter_domains(wtl_player_meter(part)); i++)
			check_same_share(wtl_consumers_share(a, slot, i).full_uj,
					 wtl_consumers_share(b, slot, i).full_uj);
		assert_int_equal(one != NULL, other != NULL);
		if (!one)
			continue;
		assert_int_equal(one->pid, other->pid);
		assert_int_equal(one->state, other->state);
		assert_int_equal(one->cpu_ns, other->cpu_ns);
		assert_int_equal(one->counted_ns, other->counted_ns);
		assert_int_equal(one->n_processes, other->n_processes);
		assert_string_equal(one->name, other->name);
		n_used += one->cpu_ns > 0;
	}
	assert_true(n_used >= 2);
}

static void test_as_a_part(void **state)
{
	struct replay_bench all, ring;
	struct wtl_player *part, *rest;
	struct wtl_store_period first;
	const struct wattle_energy *energies;
	struct wattle_window window;

	(void)state;
	record(&all, 0);
	record(&ring, 4 * S);
	part = open_player(&all);
	rest = open_player(&ring);
	assert_false(wtl_store_has_dropped(wtl_player_reader(part)));
	assert_true(wtl_store_has_dropped(wtl_player_reader(rest)));
	assert_int_equal(wtl_store_period(wtl_player_reader(rest), 0, &first), 0);
	play_from(part, first.begin_mono_ns);
	play_from(rest, -1);
	assert_int_equal(wtl_player_main_window(rest), 1);
	assert_true(wtl_player_billed(rest, &window, &energies));
	assert_true(window.begin_mono_ns >= first.begin_mono_ns);
	assert_in_range(window.duration_ns, 2 * S, 6 * S);
	check_same(part, rest);
	wtl_player_close(part);
	wtl_player_close(rest);
	replay_bench_finish(&all);
	replay_bench_finish(&ring);
}

/* Where nobody was followed before that, no bill is missing. */
static void test_followed_late(void **state)
{
	const struct replay_setup setup = {.root = "xeon-2s-dram",
					   .store = {.period_ns = S, .max_age_ns = 4 * S}};
	unsigned counts[WTL_PLAYED_LOST + 1] = {0};
	struct wtl_player *player;
	struct replay_bench f;

	(void)state;
	memset(&f, 0, sizeof(f));
	replay_bench_start_on(&f, &setup);
	for (int i = 0; i < 100; i++) {
		replay_bench_pass(&f);
		if (i % 10 == 9) {
			assert_int_equal(wtl_recorder_commit(f.recorder, NULL), 0);
			wtl_writer_wait(wtl_recorder_writer(f.recorder));
		}
	}
	replay_bench_begin(&f);
	replay_bench_live_for(&f, 2);
	replay_bench_end(&f);
	replay_bench_stop(&f);
	player = replay_bench_play(f.path, counts);
	assert_true(wtl_store_has_dropped(wtl_player_reader(player)));
	assert_int_equal(counts[WTL_PLAYED_RESET], 1);
	assert_int_equal(counts[WTL_PLAYED_BILLED], f.n_bills);
	wtl_player_close(player);
	replay_bench_finish(&f);
}

/* What the file says of its end is of all that was recorded: it is not taken. */
static void test_no_summary(void **state)
{
	const struct wtl_player_policy only_summary = {.only_summary = true};
	struct replay_bench ring;
	struct wtl_player *player;
	struct wtl_played second;
	struct wtl_err err;

	(void)state;
	record(&ring, 4 * S);
	assert_int_equal(wtl_player_open(ring.path, &only_summary, &player, &err), 0);
	assert_int_equal(wtl_player_summary(player, &second, &err), 0);
	wtl_player_close(player);
	replay_bench_finish(&ring);
	record(&ring, 1000 * S);
	assert_int_equal(wtl_player_open(ring.path, &only_summary, &player, &err), 0);
	assert_int_equal(wtl_player_summary(player, &second, &err), 1);
	wtl_player_close(player);
	replay_bench_finish(&ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_a_part),
		cmocka_unit_test(test_followed_late),
		cmocka_unit_test(test_no_summary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
