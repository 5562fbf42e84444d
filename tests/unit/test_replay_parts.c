/* SPDX-License-Identifier: MIT */
/* Parts of a recording: who used what in them, and the clock on the wall. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <wattle-recording.h>

#include "replay/format.h"
#include "replay/wall.h"
#include "replay_bench.h"
#include "unit.h"
#include "workload/gpu_use.h"

enum { PIDS_MAX = 4096, SECONDS = 4, FILE_MAX = 4 << 20 };

/* Each second everything is told again, from 0. */
static const struct wtl_store_options short_periods = {.period_ns = S};

struct part {
	struct replay_bench f;
	int64_t before_ns[PIDS_MAX]; /* CPU time by pid, when the part began */
	bool was_there[PIDS_MAX];
	struct wtl_player *player;
	int64_t begin_ns;
};

static struct part *start(void)
{
	const struct replay_setup setup = {.root = "xeon-2s-dram", .store = short_periods};
	struct part *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	replay_bench_start_on(&p->f, &setup);
	replay_bench_begin(&p->f);
	replay_bench_live_for(&p->f, SECONDS);
	return p;
}

static void end(struct part *p)
{
	replay_bench_live_for(&p->f, SECONDS);
	replay_bench_end(&p->f);
	replay_bench_stop(&p->f);
	assert_int_equal(wtl_player_open(p->f.path, NULL, &p->player, NULL), 0);
}

static void finish(struct part *p)
{
	wtl_player_close(p->player);
	replay_bench_finish(&p->f);
	free(p);
}

static void remember(struct part *p)
{
	for (size_t slot = 0; slot < wtl_consumers_slots(p->f.consumers); slot++) {
		const struct wtl_consumer *one = wtl_consumers_get(p->f.consumers, slot);

		if (!one || one->pid <= 0 || one->pid >= PIDS_MAX)
			continue;
		p->before_ns[one->pid] = one->cpu_ns;
		p->was_there[one->pid] = one->state == WTL_CONSUMER_EXITED;
	}
}

/* Plays until so many looks were billed, begins there, and goes on to the end. */
static void play_part(struct part *p, unsigned n_bills)
{
	struct wtl_played played;
	int rc;

	while ((rc = wtl_player_step(p->player, &played, NULL)) > 0) {
		bool begins = played.kind == WTL_PLAYED_BILLED && n_bills > 0 && --n_bills == 0;

		if (begins)
			assert_int_equal(wtl_player_begin_here(p->player, 0), 0);
		for (size_t slot = 0; slot < wtl_consumers_slots(wtl_player_consumers(p->player));
		     slot++) {
			const struct wtl_consumer *one =
				wtl_consumers_get(wtl_player_consumers(p->player), slot);

			/* Nobody has more than two threads here; children come in one go. */
			assert_true(!one || one->cpu_ppm < 2000000);
			assert_true(!one || one->cpu_ns >= 0);
			/* Who had ended before is no part of it, nor what was used before. */
			assert_true(!one || !begins || one->state != WTL_CONSUMER_EXITED);
			assert_true(!one || !begins || one->cpu_ns == 0);
		}
	}
	assert_int_equal(rc, 0);
}

static void test_cpu_time_of_a_part(void **state)
{
	struct part *p = start();
	const struct wtl_consumers *played;
	int64_t live_ns = 0, told_ns = 0;
	size_t n = 0;

	(void)state;
	remember(p);
	for (size_t slot = 0; slot < wtl_consumers_slots(p->f.consumers); slot++) {
		const struct wtl_consumer *one = wtl_consumers_get(p->f.consumers, slot);

		live_ns -= one ? one->cpu_ns : 0;
	}
	end(p);
	play_part(p, SECONDS);
	played = wtl_player_consumers(p->player);
	for (size_t slot = 0; slot < wtl_consumers_slots(p->f.consumers); slot++) {
		const struct wtl_consumer *live = wtl_consumers_get(p->f.consumers, slot);
		const struct wtl_consumer *told = wtl_consumers_get(played, slot);

		live_ns += live ? live->cpu_ns : 0;
		told_ns += told ? told->cpu_ns : 0;
		if (!live || live->pid <= 0 || live->pid >= PIDS_MAX)
			continue;
		/* Who had ended before is none of the part. */
		assert_true((told == NULL) == p->was_there[live->pid]);
		if (!told)
			continue;
		assert_int_equal(told->pid, live->pid);
		assert_int_equal(told->cpu_ns, live->cpu_ns - p->before_ns[live->pid]);
		assert_int_equal(told->n_processes, 1);
		n += told->cpu_ns > 0;
	}
	assert_true(n > 0);
	assert_int_equal(told_ns, live_ns);
	finish(p);
}

/* Rows stand for those that ended in the part, and for no others. */
static void test_processes_of_a_part(void **state)
{
	struct part *p = start();
	uint64_t before = 0, whole = 0, told = 0;

	(void)state;
	for (size_t slot = 0; slot < wtl_consumers_slots(p->f.consumers); slot++) {
		const struct wtl_consumer *one = wtl_consumers_get(p->f.consumers, slot);

		before += one && (one->pid <= 0 || one->state == WTL_CONSUMER_EXITED)
				  ? one->n_processes
				  : 0;
	}
	assert_true(before > 5);
	end(p);
	play_part(p, SECONDS);
	for (size_t slot = 0; slot < wtl_consumers_slots(p->f.consumers); slot++) {
		const struct wtl_consumer *live = wtl_consumers_get(p->f.consumers, slot);
		const struct wtl_consumer *one =
			wtl_consumers_get(wtl_player_consumers(p->player), slot);

		whole += live ? live->n_processes : 0;
		told += one ? one->n_processes : 0;
	}
	assert_int_equal(told, whole - before);
	finish(p);
}

/* The recording's own accounts begin anew within the part, which goes on, and then many processes come. */
static void test_many_behind_a_reset(void **state)
{
	enum { MANY = 200 };
	struct part *p = start();
	const struct wtl_consumers *played;
	size_t n = 0;

	(void)state;
	replay_bench_end(&p->f);
	replay_bench_begin(&p->f);
	for (int i = 0; i < MANY; i++) {
		int process = world_fork(&p->f.world, 1);

		world_exec(&p->f.world, process, "many", "many");
		world_run(&p->f.world, process, MS / 4);
	}
	end(p);
	play_part(p, 1);
	played = wtl_player_consumers(p->player);
	for (size_t slot = 0; slot < wtl_consumers_slots(played); slot++) {
		const struct wtl_consumer *one = wtl_consumers_get(played, slot);

		n += one && one->cpu_ns == MS / 4 && strcmp(one->name, "many") == 0;
	}
	assert_int_equal(n, MANY);
	finish(p);
}

/* ---- The clock on the wall ---- */

static int64_t utc_now(const struct part *p)
{
	return p->f.bench.now_ns + p->f.bench.utc_ns;
}

/* Who starts does so when the clock shows that; before the recording it is taken to have gone evenly. */
static void check_starts(const struct part *p, int64_t start_ns, int64_t utc_ns)
{
	const struct wtl_wall *wall = wtl_player_wall(p->player);
	int64_t begin_ns = wall->points[0].mono_ns, early_ns = begin_ns / 2;

	assert_in_range(wtl_player_start_utc(p->player, start_ns) + 10 * MS, utc_ns,
			utc_ns + 20 * MS);
	assert_int_equal(wtl_player_start_utc(p->player, 0), 0);
	assert_int_equal(wtl_player_start_utc(p->player, -1), 0);
	assert_int_equal(wtl_player_start_utc(p->player, INT64_MAX), 0);
	assert_int_equal(wtl_player_start_utc(p->player, early_ns) + begin_ns - early_ns,
			 wtl_wall_utc(wall, begin_ns));
}

/* Bills have the clock of the start. */
static void check_learned(const struct part *p, int64_t utc_ns, int64_t mono_ns)
{
	int64_t found_ns;

	assert_true(wtl_player_learned(p->player, utc_ns, &found_ns));
	assert_in_range(found_ns + 10 * MS, mono_ns, mono_ns + 20 * MS);
	assert_true(wtl_player_learned(p->player, utc_ns + 2 * S, &found_ns));
	assert_in_range(found_ns + 10 * MS, mono_ns + 2 * S, mono_ns + 2 * S + 20 * MS);
	assert_false(wtl_player_learned(p->player, utc_ns - 60 * S, &found_ns));
	assert_false(wtl_player_learned(p->player, utc_ns + 60 * S, &found_ns));
	assert_false(wtl_player_learned(p->player, INT64_MIN, &found_ns));
}

/* Set forward and back, while the machine slept as well: each moment has the time that was shown then. */
static void check_wall(int64_t step_ns, int64_t asleep_ns)
{
	struct part *p = start();
	int64_t mono_ns[2] = {p->f.bench.now_ns - S, 0}, utc_ns[2] = {utc_now(p) - S, 0}, found_ns;
	const struct wtl_wall *wall;

	p->f.bench.utc_ns += step_ns + asleep_ns;
	p->f.bench.asleep_ns += asleep_ns;
	replay_bench_live_for(&p->f, 2);
	mono_ns[1] = p->f.bench.now_ns;
	utc_ns[1] = utc_now(p);
	end(p);
	wall = wtl_player_wall(p->player);
	for (size_t i = 0; i < 2; i++) {
		assert_in_range(wtl_wall_utc(wall, mono_ns[i]) + 10 * MS, utc_ns[i],
				utc_ns[i] + 20 * MS);
		assert_true(wtl_wall_find(wall, utc_ns[i], &found_ns));
		/* The clock that was set back shows it twice, and the first time counts. */
		if (i == 0 || step_ns >= 0 || step_ns < -60 * S)
			assert_in_range(found_ns + 10 * MS, mono_ns[i], mono_ns[i] + 20 * MS);
		else
			assert_true(found_ns < mono_ns[i] - S);
	}
	/* Wherever it stands, it says the same. */
	assert_int_equal(wtl_player_utc(p->player, mono_ns[1]), wtl_wall_utc(wall, mono_ns[1]));
	check_starts(p, mono_ns[0], utc_ns[0]);
	check_starts(p, mono_ns[1] + asleep_ns, utc_ns[1]);
	assert_int_equal(wtl_wall_slept(wall, mono_ns[0]), 0);
	assert_in_range(wtl_wall_slept(wall, mono_ns[1]) + MS, asleep_ns, asleep_ns + 2 * MS);
	play_part(p, 0);
	check_starts(p, mono_ns[0], utc_ns[0]);
	check_starts(p, mono_ns[1] + asleep_ns, utc_ns[1]);
	check_learned(p, utc_ns[0], mono_ns[0]);
	assert_false(wtl_wall_find(wall, utc_ns[0] - 86400 * S, &found_ns));
	assert_true(wtl_wall_find(wall, utc_ns[1] + 86400 * S, &found_ns));
	assert_true(found_ns > p->f.bench.now_ns);
	if (step_ns + asleep_ns > 0) {
		/* What it skipped is where it went on. */
		assert_true(wtl_wall_find(wall, utc_ns[0] + (step_ns + asleep_ns) / 2, &found_ns));
		assert_in_range(found_ns, mono_ns[0], mono_ns[0] + 3 * S);
	}
	finish(p);
}

static void test_wall(void **state)
{
	(void)state;
	check_wall(0, 0);
	check_wall(7200 * S, 0);
	check_wall(-7200 * S, 0);
	check_wall(-3 * S, 0);
	check_wall(0, 3600 * S);
	check_wall(7200 * S, 3600 * S);
}

/* ---- Steps of the library ---- */

/* Steps as long as the time between samples are one sample each, however those jitter. */
static void test_steps_of_the_interval(void **state)
{
	struct wattle_recording *recording;
	struct wattle_recording_step step = {.size = sizeof(step)};
	struct replay_bench f;
	int64_t due_ns;
	unsigned n = 0;

	(void)state;
	replay_bench_start(&f, 0);
	f.bench.clock_step_ns = 20000;
	due_ns = f.bench.now_ns;
	for (int i = 0; i < 40; i++) {
		due_ns += 100 * MS;
		meter_bench_tick(&f.bench, due_ns - i % 3 * 30000 - f.bench.now_ns);
	}
	f.bench.clock_step_ns = 0;
	replay_bench_stop(&f);
	assert_int_equal(wattle_recording_open(f.path, &recording, NULL), 0);
	while (wattle_recording_next(recording, 100 * MS, &step, NULL, 0, NULL) > 0) {
		assert_in_range(step.duration_ns, 99 * MS, 101 * MS);
		n++;
	}
	assert_int_equal(n, 40);
	wattle_recording_close(recording);
	replay_bench_finish(&f);
}

/* ---- Values that cannot be ---- */

/* The last (or first) that a series says in a period: it cannot be, so the rest is lost, and that is told. */
static const struct {
	const char *series;
	int64_t value;
	bool is_first;
} impossible[] = {
	{"op", -1, false},
	{"op", WTL_OPS, false},
	{"sample.mono", 0, false},
	{"sample.took", INT64_C(1) << 59, false},
	{"sample.took", (INT64_C(1) << 50) + 1, false},
	{"sample.took", -1, false},
	{"sample.asleep", INT64_MIN, false},
	{"ch.0.at", INT64_MAX, false},
	{"ch.0.half", -1, false},
	{"ch.0.state", -1, false},
	{"ch.0.state", WATTLE_STATUS_ABSENT + 1, false},
	{"ch.0.state", 2 * WTL_STATE_ANEW, false},
	{"window.mono", 0, false},
	{"window.mono", INT64_MAX, false},
	{"window.utc", INT64_MIN, false},
	{"look.mono", -1, false},
	{"look.duration", -1, false},
	{"look.capacity", -1, false},
	{"look.busy", -1, false},
	{"look.busy", INT64_MAX, false},
	{"look.weight", -1, false},
	{"look.weight", WTL_WEIGHTS, false},
	{"look.uses", -1, false},
	{"look.uses", 100000, false},
	{"use.slot", -WTL_RESTORED_SLOTS_MAX, false},
	{"use.slot", WTL_RESTORED_SLOTS_MAX, false},
	{"look.folds", -1, false},
	{"fold.from", -1, false},
	{"fold.into", WTL_RESTORED_SLOTS_MAX, false},
	{"bill.utc", INT64_MIN, false},
	{"bill.utc", 0, false},
	{"gpu.0.weight", -1, false},
	{"gpu.0.weight", WTL_GPU_USE_METHODS, false},
	{"gpu.0.uses", -1, false},
	{"gpu.0.uses", 100000, false},
	{"change.count", -1, false},
	{"change.slot", -WTL_RESTORED_SLOTS_MAX, false},
	{"change.field", -1, false},
	{"change.field", WTL_CHANGES, false},
	{"change.by", -1, true},
	{"second.mono", -1, false},
	{"second.utc", INT64_MIN, false},
	{"second.cpu", -1, false},
	{"second.rss", -1, false},
};

static void test_values_that_cannot_be(void **state)
{
	const struct replay_setup setup = {
		.root = "nvidia-server", .script = "two", .store = {.period_ns = 2 * S}};
	unsigned none[WTL_PLAYED_LOST + 1] = {0};
	struct wtl_player *player;
	struct replay_bench f;
	size_t size;
	char *bytes;
	FILE *file;

	(void)state;
	replay_bench_start_on(&f, &setup);
	replay_bench_begin(&f);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(wattle_window_begin(f.bench.meter, "w"), 0);
		replay_bench_crowd(&f);
		replay_bench_live_for(&f, 1);
		assert_int_equal(wattle_window_end(f.bench.meter, "w", NULL, NULL, 0), 0);
	}
	replay_bench_end(&f);
	replay_bench_stop(&f);
	file = fopen(f.path, "re");
	assert_non_null(file);
	bytes = malloc(FILE_MAX);
	size = fread(bytes, 1, FILE_MAX, file);
	assert_in_range(size, 1, FILE_MAX - 1);
	fclose(file);
	for (size_t i = 0; i < UNIT_COUNT(impossible); i++) {
		unsigned counts[WTL_PLAYED_LOST + 1] = {0};

		unit_write_bytes(f.dir, "test.wattle", bytes, size);
		replay_bench_forge(f.path, impossible[i].series, 2,
				   impossible[i].is_first ? 0 : SIZE_MAX, impossible[i].value);
		wtl_player_close(replay_bench_play(f.path, counts));
		if (counts[WTL_PLAYED_LOST] != 1)
			fail_msg("%s %" PRId64 ": %u periods are lost", impossible[i].series,
				 impossible[i].value, counts[WTL_PLAYED_LOST]);
	}
	/* There is room for what is moved to the last slot that can be. */
	unit_write_bytes(f.dir, "test.wattle", bytes, size);
	replay_bench_forge(f.path, "fold.into", 2, 0, WTL_RESTORED_SLOTS_MAX - 1);
	player = replay_bench_play(f.path, none);
	assert_int_equal(none[WTL_PLAYED_LOST], 0);
	assert_int_equal(wtl_consumers_slots(wtl_player_consumers(player)), WTL_RESTORED_SLOTS_MAX);
	wtl_player_close(player);
	free(bytes);
	replay_bench_finish(&f);
}

/* A period that is sound, but begins with something else than a sample, is lost, and that is said. */
static void test_no_sample_first(void **state)
{
	struct part *p = start();
	struct wtl_played played;

	(void)state;
	replay_bench_end(&p->f);
	replay_bench_stop(&p->f);
	replay_bench_forge(p->f.path, "op", 1, 0, WTL_OP_SECOND);
	assert_int_equal(wtl_player_open(p->f.path, NULL, &p->player, NULL), 0);
	assert_int_equal(wtl_player_step(p->player, &played, NULL), 1);
	assert_int_equal(played.kind, WTL_PLAYED_LOST);
	assert_non_null(strstr(played.text, "period 1 does not begin with a sample"));
	assert_in_range(played.lost_ns, S / 2, 3 * S);
	finish(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpu_time_of_a_part),
		cmocka_unit_test(test_processes_of_a_part),
		cmocka_unit_test(test_many_behind_a_reset),
		cmocka_unit_test(test_wall),
		cmocka_unit_test(test_steps_of_the_interval),
		cmocka_unit_test(test_values_that_cannot_be),
		cmocka_unit_test(test_no_sample_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
