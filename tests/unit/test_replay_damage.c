/* SPDX-License-Identifier: MIT */
/* Recordings of which a part is gone: what is left is told as it was. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "record/writer.h"
#include "replay_bench.h"
#include "unit.h"

enum { WINDOWS = 8 };

/* A window as it was told live. */
struct told {
	const char *name;
	int64_t begin_ns;
	struct wattle_window window;
	struct wattle_energy energies[REPLAY_DOMAINS_MAX];
	/* When it is played. */
	bool is_begun, is_cut, is_ended;
};

struct damage {
	struct replay_bench f;
	struct told windows[WINDOWS];
	size_t n_windows, n_domains;
	/* When it is played. */
	struct wtl_player *player;
	unsigned counts[WTL_PLAYED_LOST + 1];
	char lost[256];
	int64_t now_ns, lost_from_ns, lost_ns;
};

static struct told *window_of(struct damage *d, const char *name)
{
	for (size_t i = 0; i < d->n_windows; i++)
		if (strcmp(d->windows[i].name, name) == 0)
			return &d->windows[i];
	fail_msg("no window %s", name);
	abort();
}

static void begin(struct damage *d, const char *name)
{
	struct told *told = &d->windows[d->n_windows++];

	assert_true(d->n_windows <= WINDOWS);
	told->name = name;
	told->begin_ns = d->f.bench.now_ns;
	assert_int_equal(wattle_window_begin(d->f.bench.meter, name), 0);
}

static void end(struct damage *d, const char *name)
{
	struct told *told = window_of(d, name);

	assert_int_equal(wtl_window_end(d->f.bench.meter, name, &told->window, told->energies,
					REPLAY_DOMAINS_MAX),
			 0);
	wtl_recorder_window(d->f.recorder, name, false, &told->window, told->energies);
}

/* Twenty seconds, a window in each place with respect to second 10. */
static struct damage *record(const struct wtl_store_options *store)
{
	const struct replay_setup setup = {.root = "xeon-2s-dram", .store = *store};
	struct damage *d = calloc(1, sizeof(*d));

	assert_non_null(d);
	replay_bench_start_on(&d->f, &setup);
	d->n_domains = wattle_meter_domains(d->f.bench.meter);
	replay_bench_begin(&d->f);
	replay_bench_live_for(&d->f, 2);
	begin(d, "before");
	replay_bench_live_for(&d->f, 3);
	end(d, "before");
	begin(d, "across");
	begin(d, "into");
	begin(d, "cancelled");
	replay_bench_live_for(&d->f, 5);
	begin(d, "within");
	begin(d, "out");
	replay_bench_pass(&d->f);
	end(d, "within");
	end(d, "into");
	wattle_window_cancel(d->f.bench.meter, "cancelled");
	replay_bench_live_for(&d->f, 5);
	begin(d, "after");
	replay_bench_live_for(&d->f, 3);
	end(d, "across");
	end(d, "out");
	end(d, "after");
	replay_bench_live_for(&d->f, 2);
	replay_bench_end(&d->f);
	replay_bench_stop(&d->f);
	return d;
}

static void finish(struct damage *d)
{
	wtl_player_close(d->player);
	replay_bench_finish(&d->f);
	free(d);
}

/* ---- What is done to it ---- */

static void drop_before(struct damage *d, size_t period)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "DELETE FROM chunk WHERE (id >> 16) < "
		 "(SELECT id FROM period ORDER BY id LIMIT 1 OFFSET %zu)",
		 period);
	replay_bench_sql(&d->f, sql);
	snprintf(sql, sizeof(sql),
		 "DELETE FROM period WHERE id < "
		 "(SELECT id FROM period ORDER BY id LIMIT 1 OFFSET %zu)",
		 period);
	replay_bench_sql(&d->f, sql);
}

/* ---- What is told of it ---- */

static void check_ended(struct damage *d, struct told *told, const struct wtl_played *played)
{
	told->is_ended = true;
	if (told->is_cut)
		return;
	assert_memory_equal(&played->window.duration_ns, &told->window.duration_ns,
			    sizeof(played->window.duration_ns));
	for (size_t i = 0; i < d->n_domains; i++) {
		const struct wattle_energy *live = &told->energies[i];

		assert_int_equal(played->energies[i].has_energy, live->has_energy);
		assert_int_equal(played->energies[i].energy_uj, live->energy_uj);
	}
	assert_int_equal(played->window.total.energy_uj, told->window.total.energy_uj);
}

static void take(struct damage *d, const struct wtl_played *played)
{
	struct told *told = NULL;

	d->counts[played->kind]++;
	if (wtl_played_has_sample(played) || played->kind == WTL_PLAYED_CANCELLED) {
		assert_true(played->t_mono_ns > d->now_ns - MS);
		d->now_ns = played->t_mono_ns;
	}
	if (played->kind == WTL_PLAYED_LOST) {
		memcpy(d->lost, played->text, sizeof(d->lost));
		d->lost_from_ns = played->t_mono_ns;
		d->lost_ns = played->lost_ns;
	}
	for (size_t i = 0; i < d->n_windows; i++)
		if (strcmp(d->windows[i].name, played->window_name) == 0)
			told = &d->windows[i];
	if (told && played->kind == WTL_PLAYED_BEGUN) {
		assert_false(told->is_begun);
		told->is_begun = true;
		told->is_cut = played->is_cut;
	} else if (told && played->kind == WTL_PLAYED_ENDED) {
		check_ended(d, told, played);
	}
}

static void play(struct damage *d)
{
	struct wtl_err err = {.code = 0};
	struct wtl_played played;
	int rc = wtl_player_open(d->f.path, NULL, &d->player, &err);

	if (rc < 0)
		fail_msg("%s", err.text);
	while ((rc = wtl_player_step(d->player, &played, &err)) > 0)
		take(d, &played);
	if (rc < 0)
		fail_msg("%s", err.text);
}

static void check_ledgers(struct damage *d)
{
	const struct wattle_energy *energies;
	struct wattle_window window;

	assert_true(wtl_player_billed(d->player, &window, &energies));
	for (size_t i = 0; i < d->n_domains; i++) {
		struct wtl_ledger ledger;

		wtl_consumers_ledger(wtl_player_consumers(d->player), i, &ledger);
		assert_true(wtl_ledger_closed(&ledger));
		assert_int_equal(ledger.total_uj, energies[i].energy_uj);
	}
}

static uint64_t unattributed_uj(const struct wtl_consumers *consumers)
{
	struct wtl_ledger ledger;

	wtl_consumers_ledger(consumers, 0, &ledger);
	return ledger.unattributed_uj;
}

/* ---- Tests ---- */

static const struct wtl_store_options short_periods = {.period_ns = 2 * S};

/* The windows are where they should be with respect to what will be missing. */
static size_t victim_of(struct damage *d)
{
	struct wtl_store_period period;
	size_t i = replay_bench_period(&d->f, window_of(d, "within")->begin_ns, &period);

	assert_true(window_of(d, "across")->begin_ns < period.begin_mono_ns);
	assert_true(window_of(d, "after")->begin_ns > period.end_mono_ns);
	return i;
}

static void check_around(struct damage *d)
{
	static const char *const cut[] = {"out"};

	assert_int_equal(d->counts[WTL_PLAYED_LOST], 1);
	for (size_t i = 0; i < d->n_windows; i++) {
		struct told *told = &d->windows[i];
		bool is_cut = false;

		for (size_t k = 0; k < UNIT_COUNT(cut); k++)
			is_cut |= strcmp(told->name, cut[k]) == 0;
		assert_int_equal(told->is_cut, is_cut);
		if (strcmp(told->name, "within") == 0)
			assert_false(told->is_begun);
		else
			assert_true(told->is_begun);
		assert_int_equal(told->is_ended,
				 told->is_begun && strcmp(told->name, "cancelled") != 0);
	}
	assert_int_equal(d->counts[WTL_PLAYED_CANCELLED], 1);
	check_ledgers(d);
}

/* ---- Accounts that begin anew where nothing can be read ---- */

/* Seconds without a window. */
static void idle_for(struct damage *d, int seconds)
{
	for (int i = 0; i < 10 * seconds; i++) {
		replay_bench_pass(&d->f);
		if (i % 10 == 9) {
			assert_true(wtl_recorder_commit(d->f.recorder, NULL) >= 0);
			wtl_writer_wait(wtl_recorder_writer(d->f.recorder));
		}
	}
}

static uint64_t attributed_uj(const struct wtl_consumers *consumers)
{
	struct wtl_ledger ledger;

	wtl_consumers_ledger(consumers, 0, &ledger);
	return ledger.total_uj - ledger.unattributed_uj;
}

enum repeat { REPEAT_ENDS, REPEAT_ENDS_THERE, REPEAT_IS_CANCELLED_THERE };

/* Two runs, one after the other; `begins_there` tells whether the second one begins in what is lost. */
static void check_repeat(enum repeat how, bool begins_there)
{
	const struct replay_setup setup = {.root = "xeon-2s-dram", .store = {.period_ns = 2 * S}};
	struct damage *d = calloc(1, sizeof(*d));
	struct wtl_store_period period;
	const struct wattle_energy *energies;
	struct wattle_window window;
	int64_t there_ns;

	assert_non_null(d);
	replay_bench_start_on(&d->f, &setup);
	d->n_domains = wattle_meter_domains(d->f.bench.meter);
	replay_bench_begin(&d->f);
	replay_bench_live_for(&d->f, 5);
	if (how == REPEAT_ENDS) {
		replay_bench_end(&d->f);
		idle_for(d, 4);
	}
	there_ns = d->f.bench.now_ns;
	replay_bench_pass(&d->f);
	if (how == REPEAT_ENDS_THERE)
		replay_bench_end(&d->f);
	else if (how == REPEAT_IS_CANCELLED_THERE)
		assert_int_equal(wattle_window_cancel(d->f.bench.meter, "run"), 0);
	wtl_consumers_begin(d->f.consumers);
	if (!begins_there)
		idle_for(d, 4);
	assert_int_equal(wattle_window_begin(d->f.bench.meter, "run"), 0);
	replay_bench_live_for(&d->f, 6);
	replay_bench_end(&d->f);
	replay_bench_stop(&d->f);
	replay_bench_spoil(&d->f, replay_bench_period(&d->f, there_ns, &period), false);
	play(d);
	assert_int_equal(d->counts[WTL_PLAYED_LOST], 1);
	check_ledgers(d);
	assert_true(wtl_player_billed(d->player, &window, &energies));
	if (!begins_there)
		assert_int_equal(window.duration_ns, d->f.window.duration_ns);
	assert_int_equal(energies[0].energy_uj,
			 d->f.energies[0].energy_uj - (begins_there ? 11 * JOULES * 1000000 : 0));
	assert_true(attributed_uj(wtl_player_consumers(d->player)) <=
		    attributed_uj(d->f.consumers));
	finish(d);
}

static void test_a_reset(void **state)
{
	(void)state;
	for (int begins_there = 0; begins_there < 2; begins_there++) {
		check_repeat(REPEAT_ENDS, begins_there);
		check_repeat(REPEAT_ENDS_THERE, begins_there);
		check_repeat(REPEAT_IS_CANCELLED_THERE, begins_there);
	}
}

/* Figures are not those of a run that was cancelled there, where nobody was followed. */
static void test_cancelled_there(void **state)
{
	const struct replay_setup setup = {.root = "xeon-2s-dram"};
	struct wtl_recorder_options options = {.interval_ns = 100 * MS, .store.period_ns = 2 * S};
	struct damage *d = calloc(1, sizeof(*d));
	const struct wattle_energy *energies;
	struct wtl_store_period period;
	struct wattle_window window;
	int64_t there_ns;

	(void)state;
	assert_non_null(d);
	replay_bench_start_on(&d->f, &setup);
	replay_bench_stop(&d->f);
	unlink(d->f.path);
	options.path = d->f.path;
	assert_int_equal(wtl_recorder_new(d->f.bench.meter, NULL, &options, &d->f.recorder, NULL),
			 0);
	assert_int_equal(wattle_window_begin(d->f.bench.meter, "run"), 0);
	idle_for(d, 5);
	there_ns = d->f.bench.now_ns;
	assert_int_equal(wattle_window_cancel(d->f.bench.meter, "run"), 0);
	idle_for(d, 5);
	replay_bench_stop(&d->f);
	replay_bench_spoil(&d->f, replay_bench_period(&d->f, there_ns, &period), false);
	play(d);
	assert_int_equal(d->counts[WTL_PLAYED_LOST], 1);
	assert_int_equal(d->counts[WTL_PLAYED_CANCELLED], 1);
	wtl_player_take_figures(d->player);
	assert_false(wtl_player_billed(d->player, &window, &energies));
	finish(d);
}

/* Nothing of two seconds can be read: energy goes on, but who used it is not known. */
static void test_a_period(void **state)
{
	struct damage *d = record(&short_periods);
	uint64_t before_uj, victim_uj;
	struct wattle_window window;
	const struct wattle_energy *energies;
	struct wtl_store_period period;

	(void)state;
	before_uj = unattributed_uj(d->f.consumers);
	replay_bench_spoil(&d->f, victim_of(d), false);
	replay_bench_period(&d->f, window_of(d, "within")->begin_ns, &period);
	play(d);
	check_around(d);
	assert_int_equal(d->lost_from_ns, period.begin_mono_ns);
	assert_int_equal(d->lost_ns, period.end_mono_ns - period.begin_mono_ns);
	/* All energy is there; what cannot be told to be anybody's is no less than of those two seconds. */
	assert_true(wtl_player_billed(d->player, &window, &energies));
	assert_int_equal(energies[0].energy_uj, d->f.energies[0].energy_uj);
	assert_int_equal(window.duration_ns, d->f.window.duration_ns);
	victim_uj = unattributed_uj(wtl_player_consumers(d->player));
	assert_in_range(victim_uj - before_uj, 10 * JOULES * 1000000, 35 * JOULES * 1000000);
	finish(d);
}

static void test_what_happened(void **state)
{
	struct damage *d = record(&short_periods);

	(void)state;
	replay_bench_spoil(&d->f, victim_of(d), true);
	play(d);
	check_around(d);
	assert_true(d->lost[0] != '\0');
	finish(d);
}

/* The first one cannot be read: as if it had begun later. */
static void test_first_period(void **state)
{
	struct damage *d = record(&short_periods);
	struct wtl_store_period period;

	(void)state;
	assert_true(replay_bench_period(&d->f, window_of(d, "across")->begin_ns, &period) > 0);
	assert_int_equal(replay_bench_period(&d->f, 0, &period), 0);
	replay_bench_spoil(&d->f, 0, false);
	play(d);
	assert_int_equal(d->counts[WTL_PLAYED_LOST], 1);
	assert_int_equal(d->lost_from_ns, period.begin_mono_ns);
	assert_in_range(d->lost_ns, period.end_mono_ns - period.begin_mono_ns,
			period.end_mono_ns - period.begin_mono_ns + S);
	assert_false(window_of(d, "across")->is_cut);
	assert_true(window_of(d, "across")->is_ended);
	assert_int_equal(wtl_player_main_window(d->player), 1);
	check_ledgers(d);
	finish(d);
}

/* Every one: it says so. */
static void test_nothing_left(void **state)
{
	struct damage *d = record(&short_periods);
	struct wtl_err err = {.code = 0};

	(void)state;
	replay_bench_sql(&d->f, "UPDATE chunk SET data = randomblob(length(data))");
	assert_int_equal(wtl_player_open(d->f.path, NULL, &d->player, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "no sample that can be read"));
	assert_string_equal(err.path, d->f.path);
	finish(d);
}

/* The values are whole, but make no sense together. */
static void test_no_sense(void **state)
{
	struct damage *d = record(&short_periods);
	char sql[512];

	(void)state;
	/* Another series' values in the place of what happened. */
	snprintf(sql, sizeof(sql),
		 "DELETE FROM chunk WHERE id = (SELECT id FROM period ORDER BY id LIMIT 1 OFFSET "
		 "%zu) * 65536 + (SELECT id FROM series WHERE name = 'look.uses')",
		 victim_of(d));
	replay_bench_sql(&d->f, sql);
	play(d);
	assert_in_range(d->counts[WTL_PLAYED_LOST], 1, 1);
	assert_true(window_of(d, "after")->is_ended);
	check_ledgers(d);
	finish(d);
}

/* ---- A ring ---- */

static void check_cut(struct damage *d)
{
	assert_false(window_of(d, "before")->is_begun);
	assert_false(window_of(d, "into")->is_begun);
	assert_false(window_of(d, "within")->is_begun);
	assert_false(window_of(d, "cancelled")->is_begun);
	assert_true(window_of(d, "across")->is_cut);
	assert_true(window_of(d, "out")->is_cut);
	assert_true(window_of(d, "across")->is_ended);
	assert_false(window_of(d, "after")->is_cut);
	assert_true(window_of(d, "after")->is_ended);
	assert_int_equal(wtl_player_main_window(d->player), 1);
	check_ledgers(d);
}

/* Rows of periods are gone, and nobody says why. */
static void test_missing(void **state)
{
	struct damage *d = record(&short_periods);
	const struct wattle_energy *energies;
	struct wtl_store_period period;
	struct wattle_window window;
	size_t i;

	(void)state;
	i = replay_bench_period(&d->f, window_of(d, "after")->begin_ns, &period);
	assert_true(victim_of(d) < i - 1);
	replay_bench_period(&d->f, period.begin_mono_ns - S, &period);
	drop_before(d, i - 1);
	play(d);
	assert_int_equal(d->counts[WTL_PLAYED_LOST], 1);
	assert_non_null(strstr(d->lost, "missing"));
	check_cut(d);
	/* The recording's own window is what is left of it. */
	assert_true(wtl_player_billed(d->player, &window, &energies));
	assert_in_range(window.begin_mono_ns, period.begin_mono_ns, period.begin_mono_ns + S);
	assert_in_range(energies[0].energy_uj, 50 * JOULES * 1000000, 110 * JOULES * 1000000);
	finish(d);
}

static void test_ring(void **state)
{
	const struct wtl_store_options ring = {.max_age_ns = 8 * S};
	struct damage *d = record(&ring);

	(void)state;
	play(d);
	assert_int_equal(d->counts[WTL_PLAYED_LOST], 0);
	check_cut(d);
	finish(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_period),
		cmocka_unit_test(test_what_happened),
		cmocka_unit_test(test_first_period),
		cmocka_unit_test(test_nothing_left),
		cmocka_unit_test(test_no_sense),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_a_reset),
		cmocka_unit_test(test_cancelled_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
