/* SPDX-License-Identifier: MIT */
/*
 * Learned watts on made-up machines whose watts are known: workers of 8 to 24 W per second of CPU, a background that
 * never ends, and looks that scatter, some of them far. bench/bench_attribution.py asks the same of the command.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "base/buf.h"
#include "energy/watts.h"
#include "energy/watts_past.h"
#include "golden.h"
#include "unit.h"

enum { WORKERS_MAX = 48, LOOKS_MAX = 600, SEEDS = 100 };

enum use { PHASES, JITTER, STEADY };

struct world {
	enum use use;
	size_t n_workers;
	unsigned looks;
	double idle_w, awake_w, drift_w;
	bool is_idle_known;
	double user_drift; /* of everybody's watts, from look to look: relative */
};

struct errors {
	double at[SEEDS * WORKERS_MAX];
	size_t n, n_covered;
};

static uint64_t random_state;

static double uniform(void)
{
	uint64_t z = (random_state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2.0 * log(uniform())) * cos(2.0 * M_PI * uniform());
}

struct worker {
	double w, level;
	bool is_on;
	unsigned left; /* looks until it changes */
};

static double use_of(struct worker *worker, enum use use)
{
	switch (use) {
	case JITTER:
		return fmin(fmax(worker->level * (1.0 + 0.2 * normal()), 0.0), 1.0);
	case STEADY:
		return worker->level * (1.0 + 0.02 * normal());
	case PHASES:
		break;
	}
	if (worker->left == 0) {
		worker->is_on = !worker->is_on;
		worker->left = 1 + (unsigned)(-3.0 * log(uniform()));
	}
	worker->left--;
	return worker->is_on ? worker->level : 0.05 * worker->level;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double percentile(struct errors *errors, double part)
{
	assert_true(errors->n > 0);
	qsort(errors->at, errors->n, sizeof(errors->at[0]), compare);
	return 100.0 * errors->at[(size_t)(part * (double)(errors->n - 1))];
}

static void note(struct errors *errors, double said, double truth, double uncertainty)
{
	errors->at[errors->n++] = fabs(said - truth) / truth;
	errors->n_covered += fabs(said - truth) <= 2.0 * uncertainty;
}

struct score {
	struct errors live;	/* each look divided when it came */
	struct errors whole;	/* minute by minute, by the watts at its end, as the command does */
	struct errors smoothed; /* each look divided by what all of them tell */
	struct errors by_time, idle;
};

/* All looks of a machine, for who goes through them twice. */
static struct {
	double use_s[LOOKS_MAX][WORKERS_MAX + 1], energy_j[LOOKS_MAX], awake_s[LOOKS_MAX];
} seen;

static struct wtl_watts_look seen_look(unsigned k)
{
	return (struct wtl_watts_look){.duration_s = 1.0,
				       .energy_j = seen.energy_j[k],
				       .awake_s = seen.awake_s[k],
				       .use_s = seen.use_s[k]};
}

enum { STRETCH = 30 };

static struct wtl_watts_past *learn_past(const struct world *world)
{
	size_t n = world->n_workers + 1;
	struct wtl_watts_past *past = wtl_watts_past_new();
	struct wtl_watts *watts = wtl_watts_new(n);
	uint32_t keys[WORKERS_MAX + 1] = {0};
	const struct wtl_watts_moment now = {n, 1, keys, &watts};

	assert_true(past && watts);
	wtl_watts_past_begin(past, STRETCH * INT64_C(1000000000));
	wtl_watts_hold(watts);
	if (world->is_idle_known)
		wtl_watts_know_idle(watts, world->idle_w, 1.0);
	for (unsigned k = 0; k < world->looks; k++) {
		struct wtl_watts_look look = seen_look(k);

		wtl_watts_past_reach(past, k + 1, &now);
		wtl_watts_past_note(past, &look, n);
		wtl_watts_add(watts, &look);
	}
	wtl_watts_past_end(past, &now, false);
	assert_false(wtl_watts_past_is_smooth(past));
	assert_int_equal(wtl_watts_past_smooth(past), 0);
	assert_true(wtl_watts_past_is_smooth(past));
	wtl_watts_free(watts);
	return past;
}

/* As a recording is divided: each look by what all of them tell of its stretch. */
static void go_again(const struct world *world, const double truth[], double truth_j,
		     struct errors *errors)
{
	size_t n = world->n_workers + 1;
	struct wtl_watts_past *past = learn_past(world);
	double billed[WORKERS_MAX + 1] = {0}, doubt[WORKERS_MAX + 1] = {0};
	double weights[WORKERS_MAX + 1], doubts[WORKERS_MAX + 1];

	for (unsigned k = 0; k < world->looks; k++) {
		struct wtl_watts_look look = seen_look(k);
		struct wtl_watts_moment moment;
		struct wtl_watts_figure idle;
		double sum = 0.0, above_j;

		assert_true(wtl_watts_past_show(past, k + 1, &moment));
		idle = wtl_watts_idle(moment.watts[0]);
		wtl_watts_weights(moment.watts[0], &look, weights);
		wtl_watts_doubts(moment.watts[0], &look, weights, doubts);
		above_j = fmax(look.energy_j - idle.w, 0.0);
		for (size_t i = 0; i < n; i++)
			sum += weights[i] * look.use_s[i];
		for (size_t i = 0; i < n; i++) {
			double share_j = above_j * weights[i] * look.use_s[i] / sum;

			billed[i] += share_j;
			doubt[i] += share_j * doubts[i] +
				    idle.uncertainty_w * share_j / fmax(above_j, 1e-9);
		}
	}
	for (size_t i = 0; i < world->n_workers; i++)
		if (truth[i] >= 0.05 * truth_j)
			note(errors, billed[i], truth[i], doubt[i]);
	wtl_watts_past_free(past);
}

/* The newest minute, and what was divided so far. */
struct chunk {
	double use_s[WORKERS_MAX + 1];
	struct wtl_watts_look look;
	double ran_s[WORKERS_MAX + 1];
	double full_j[WORKERS_MAX + 1], time_s[WORKERS_MAX + 1], doubt_j[WORKERS_MAX + 1];
};

static void bill(struct chunk *chunk, const struct wtl_watts *watts, size_t n)
{
	double weights[WORKERS_MAX + 1], doubts[WORKERS_MAX + 1], sum = 0.0;
	double above_j = chunk->look.energy_j - wtl_watts_idle(watts).w * chunk->look.duration_s;

	chunk->look.use_s = chunk->use_s;
	wtl_watts_weights(watts, &chunk->look, weights);
	wtl_watts_doubts(watts, &chunk->look, weights, doubts);
	for (size_t i = 0; i < n; i++)
		sum += weights[i] * chunk->use_s[i];
	for (size_t i = 0; i < n; i++) {
		double share = weights[i] * chunk->use_s[i] / sum;

		chunk->full_j[i] += share * chunk->look.energy_j;
		chunk->time_s[i] += share * chunk->look.duration_s;
		chunk->doubt_j[i] += share * above_j * doubts[i];
	}
	chunk->look = (struct wtl_watts_look){.duration_s = 0.0};
	memset(chunk->use_s, 0, sizeof(chunk->use_s));
}

static void add_to_chunk(struct chunk *chunk, const struct wtl_watts_look *look, size_t n)
{
	chunk->look.energy_j += look->energy_j;
	chunk->look.duration_s += look->duration_s;
	chunk->look.awake_s += look->awake_s;
	for (size_t i = 0; i < n; i++)
		chunk->use_s[i] += look->use_s[i];
}

static void end_chunk(struct chunk *chunk, struct wtl_watts *watts, size_t n,
		      struct wtl_watts_stretch *stretch)
{
	bill(chunk, watts, n);
	wtl_watts_pass(watts, stretch);
	wtl_watts_stretch_begin(stretch, n);
}

/* One machine. The last place is the background's. */
static void play(const struct world *world, uint64_t seed, struct score *score)
{
	size_t n = world->n_workers + 1;
	struct wtl_watts *watts = wtl_watts_new(n);
	struct worker workers[WORKERS_MAX + 1];
	double live[WORKERS_MAX + 1] = {0}, live_doubt[WORKERS_MAX + 1] = {0};
	double truth[WORKERS_MAX + 1] = {0}, cpu_s[WORKERS_MAX + 1] = {0};
	double all_j = 0.0, idle_w = world->idle_w, truth_j = 0.0, cpu = 0.0, true_idle_j = 0.0;
	struct chunk chunk = {.look.duration_s = 0.0};
	struct wtl_watts_stretch stretch = {.ran_s = chunk.ran_s};
	double weights[WORKERS_MAX + 1], doubts[WORKERS_MAX + 1];

	assert_non_null(watts);
	random_state = seed;
	for (size_t i = 0; i < n; i++)
		workers[i] = (struct worker){.w = 8.0 + 16.0 * uniform(),
					     .level = 0.2 + 0.75 * uniform(),
					     .is_on = uniform() < 0.5};
	if (world->is_idle_known)
		wtl_watts_know_idle(watts, idle_w, 1.0);
	for (unsigned k = 0; k < world->looks; k++) {
		double use_s[WORKERS_MAX + 1], rest = 1.0, used = 0.0, above_j, sum = 0.0;
		struct wtl_watts_look look = {.duration_s = 1.0, .use_s = use_s};

		for (size_t i = 0; i < n; i++) {
			use_s[i] = i < world->n_workers ? use_of(&workers[i], world->use)
							: 0.06 * fmax(0.2, 1.0 + 0.5 * normal());
			rest *= 1.0 - fmin(use_s[i], 1.0);
			used += use_s[i];
			workers[i].w *= 1.0 + world->user_drift * normal();
			look.energy_j += use_s[i] * workers[i].w;
			cpu_s[i] += use_s[i];
			truth[i] += use_s[i] * workers[i].w;
		}
		look.awake_s = 1.0 - rest;
		for (size_t i = 0; i < n; i++)
			truth[i] += world->awake_w * look.awake_s * use_s[i] / used;
		idle_w += world->drift_w * normal();
		true_idle_j += idle_w;
		look.energy_j += idle_w + world->awake_w * look.awake_s + 0.3 * normal();
		if (uniform() < 0.02)
			look.energy_j += 3.0 * normal();
		memcpy(seen.use_s[k], use_s, n * sizeof(use_s[0]));
		seen.energy_j[k] = look.energy_j;
		seen.awake_s[k] = look.awake_s;
		all_j += look.energy_j;
		wtl_watts_add(watts, &look);
		add_to_chunk(&chunk, &look, n);
		wtl_watts_stretch_add(&stretch, &look, n);
		if (k % 60 == 59 || k + 1 == world->looks)
			end_chunk(&chunk, watts, n, &stretch);
		wtl_watts_weights(watts, &look, weights);
		wtl_watts_doubts(watts, &look, weights, doubts);
		above_j = fmax(look.energy_j - wtl_watts_idle(watts).w, 0.0);
		for (size_t i = 0; i < n; i++)
			sum += use_s[i] * weights[i];
		for (size_t i = 0; i < n; i++) {
			double share_j = above_j * use_s[i] * weights[i] / sum;

			live[i] += share_j;
			live_doubt[i] += share_j * doubts[i];
		}
	}
	for (size_t i = 0; i < n; i++) {
		truth_j += truth[i];
		cpu += cpu_s[i];
	}
	for (size_t i = 0; i < world->n_workers; i++) {
		struct wtl_watts_figure idle = wtl_watts_idle_of_all(watts);
		double idle_doubt_j = idle.uncertainty_w * chunk.time_s[i];

		if (truth[i] < 0.05 * truth_j)
			continue;
		note(&score->live, live[i], truth[i], live_doubt[i] + idle_doubt_j);
		note(&score->whole, chunk.full_j[i] - idle.w * chunk.time_s[i], truth[i],
		     hypot(chunk.doubt_j[i], idle_doubt_j));
		note(&score->by_time, (all_j - true_idle_j) * cpu_s[i] / cpu, truth[i], 0.0);
	}
	go_again(world, truth, truth_j, &score->smoothed);
	note(&score->idle, wtl_watts_idle(watts).w, idle_w,
	     wtl_watts_idle_of_all(watts).uncertainty_w);
	wtl_watts_free(watts);
}

static struct score *play_all(struct world world, const char *title)
{
	struct score *score = calloc(1, sizeof(*score));

	assert_non_null(score);
	if (world.idle_w == 0.0)
		world.idle_w = 70.0;
	for (uint64_t seed = 0; seed < SEEDS; seed++)
		play(&world, seed, score);
	print_message(
		"%-26s live %4.1f / %4.1f %% (%3.0f %% covered)  whole %4.1f / %4.1f %% (%3.0f %%)  "
		"smoothed %4.1f / %4.1f %% (%3.0f %%)  "
		"CPU time %4.1f / %4.1f %%  idle %.2f / %.2f %% (%3.0f %%)\n",
		title, percentile(&score->live, 0.5), percentile(&score->live, 0.95),
		100.0 * (double)score->live.n_covered / (double)score->live.n,
		percentile(&score->whole, 0.5), percentile(&score->whole, 0.95),
		100.0 * (double)score->whole.n_covered / (double)score->whole.n,
		percentile(&score->smoothed, 0.5), percentile(&score->smoothed, 0.95),
		100.0 * (double)score->smoothed.n_covered / (double)score->smoothed.n,
		percentile(&score->by_time, 0.5), percentile(&score->by_time, 0.95),
		percentile(&score->idle, 0.5), percentile(&score->idle, 0.95),
		100.0 * (double)score->idle.n_covered / (double)score->idle.n);
	return score;
}

/* In percent: the median and the error that 95 % are within, of shares that use the last watts; and of idle power. */
struct bounds {
	double median, most, idle_most;
	unsigned covered; /* 0: 95 */
};

static void check(const struct score *score, const struct bounds *bounds)
{
	struct errors whole = score->whole, idle = score->idle, smoothed = score->smoothed;

	assert_true(percentile(&whole, 0.5) <= bounds->median);
	assert_true(percentile(&whole, 0.95) <= bounds->most);
	assert_true(percentile(&smoothed, 0.5) <= bounds->median);
	assert_true(percentile(&smoothed, 0.95) <= bounds->most + 1.0);
	assert_true(100 * score->smoothed.n_covered >= 95 * score->smoothed.n);
	assert_true(percentile(&idle, 0.95) <= bounds->idle_most);
	assert_true(100 * score->live.n_covered >= 95 * score->live.n);
	assert_true(100 * score->whole.n_covered >=
		    (bounds->covered ? bounds->covered : 95) * score->whole.n);
}

static const struct {
	const char *title;
	struct world world;
	struct bounds bounds;
} worlds[] = {
	{"phases 30 s", {PHASES, 4, 30, 70.0, 0.0, 0.0, true, 0.0}, {3.0, 10.0, 1.5, 0}},
	{"phases 120 s", {PHASES, 4, 120, 70.0, 0.0, 0.0, true, 0.0}, {2.0, 7.0, 1.0, 0}},
	{"phases 30 s, awake", {PHASES, 4, 30, 70.0, 15.0, 0.0, true, 0.0}, {3.0, 10.0, 1.5, 0}},
	{"phases 30 s, never rests",
	 {PHASES, 4, 30, 70.0, 0.0, 0.0, false, 0.0},
	 {3.0, 15.0, 3.0, 0}},
	{"phases 120 s, never rests",
	 {PHASES, 4, 120, 70.0, 0.0, 0.0, false, 0.0},
	 {3.0, 10.0, 1.0, 0}},
	{"jitter 120 s", {JITTER, 4, 120, 70.0, 0.0, 0.0, true, 0.0}, {4.0, 20.0, 2.0, 0}},
	{"jitter 600 s, never rests",
	 {JITTER, 4, 600, 70.0, 0.0, 0.0, false, 0.0},
	 {5.0, 20.0, 8.0, 0}},
	{"phases 120 s, drift", {PHASES, 4, 120, 70.0, 0.0, 0.1, true, 0.0}, {3.0, 10.0, 2.0, 93}},
	{"phases 120 s, users drift",
	 {PHASES, 4, 120, 70.0, 0.0, 0.0, true, 0.007},
	 {3.0, 10.0, 2.0, 0}},
	{"phases 600 s, users drift",
	 {PHASES, 4, 600, 70.0, 0.0, 0.0, true, 0.007},
	 {3.0, 10.0, 2.0, 0}},
	{"16 workers", {PHASES, 16, 60, 70.0, 0.0, 0.0, true, 0.0}, {2.0, 6.0, 2.0, 0}},
	{"48 workers", {PHASES, 48, 60, 70.0, 0.0, 0.0, true, 0.0}, {3.0, 10.0, 1.5, 0}},
};

/* CPU time alone is wrong by 17 % in the middle, and by 65 % for one in twenty. */
static void test_worlds(void **s)
{
	(void)s;
	for (size_t i = 0; i < sizeof(worlds) / sizeof(worlds[0]); i++) {
		struct score *score = play_all(worlds[i].world, worlds[i].title);

		check(score, &worlds[i].bounds);
		free(score);
	}
}

/* Steady use tells nothing: nobody is worse off than by CPU time, and the ± says so. */
static void test_steady_use(void **s)
{
	struct score *score =
		play_all((struct world){STEADY, 4, 30, 70.0, 0.0, 0.0, true, 0.0}, "steady 30 s");

	(void)s;
	assert_true(percentile(&score->live, 0.5) <= percentile(&score->by_time, 0.5) + 2.0);
	assert_true(percentile(&score->live, 0.95) <= percentile(&score->by_time, 0.95) + 2.0);
	assert_true(100 * score->live.n_covered >= 95 * score->live.n);
	free(score);
}

/* The first look is of a moment in which nothing was measured yet, or next to nothing. */
static void test_low_first_look(void **s)
{
	(void)s;
	for (unsigned part = 1; part <= 100; part *= 10) {
		double use_s[2];
		struct wtl_watts *watts = wtl_watts_new(2);
		struct wtl_watts_look look = {.duration_s = 1.0, .use_s = use_s};

		random_state = part;
		for (int i = 0; i < 60; i++) {
			use_s[0] = uniform();
			use_s[1] = i % 3 ? 0.0 : uniform();
			look.awake_s = 1.0 - (1.0 - use_s[0]) * (1.0 - use_s[1]);
			look.energy_j = 10.0 + 6.0 * use_s[0] + 24.0 * use_s[1] + 0.05 * normal();
			if (i == 0)
				look.energy_j = 10.0 / part;
			wtl_watts_add(watts, &look);
		}
		assert_true(fabs(wtl_watts_idle(watts).w - 10.0) <
			    3.0 * wtl_watts_idle(watts).uncertainty_w);
		assert_true(fabs(wtl_watts_of(watts, 0).w - 6.0) < 0.6);
		assert_true(fabs(wtl_watts_of(watts, 1).w - 24.0) < 1.2);
		wtl_watts_free(watts);
	}
}

/* Who ran for next to none of a long first look is not taken for the one that drew all of what is above idle power. */
static void test_long_first_look(void **s)
{
	(void)s;
	for (unsigned is_short = 0; is_short < 2; is_short++) {
		double use_s[] = {is_short ? 0.5 : 5.0};
		struct wtl_watts *watts = wtl_watts_new(1);
		const struct wtl_watts_look look = {
			.duration_s = 20.0, .use_s = use_s, .energy_j = 400.0, .awake_s = use_s[0]};

		wtl_watts_add(watts, &look);
		assert_true(wtl_watts_of(watts, 0).w > 20.0 && wtl_watts_of(watts, 0).w < 30.0);
		wtl_watts_free(watts);
	}
}

/* Power that does not depend on use, or falls with it: nobody draws less than nothing. */
static void test_impossible_watts(void **s)
{
	(void)s;
	for (int falls = 0; falls <= 1; falls++) {
		double use_s[4], weights[4], doubts[4];
		struct wtl_watts *watts = wtl_watts_new(4);
		struct wtl_watts_look look = {.duration_s = 1.0, .use_s = use_s};

		random_state = 7;
		for (int i = 0; i < 300; i++) {
			look.energy_j = 4.0;
			for (int k = 0; k < 4; k++) {
				use_s[k] = uniform();
				look.energy_j -= falls * 0.05 * use_s[k];
			}
			look.awake_s = 1.0;
			wtl_watts_add(watts, &look);
			wtl_watts_weights(watts, &look, weights);
			wtl_watts_doubts(watts, &look, weights, doubts);
			assert_true(wtl_watts_idle(watts).w >= 0.0 &&
				    wtl_watts_idle(watts).w < 4.1);
			for (int k = 0; k < 4; k++)
				assert_true(weights[k] > 0.0 && weights[k] < 4.0 &&
					    doubts[k] >= 0.0);
		}
		wtl_watts_free(watts);
	}
}

/* All draw 1.6 times as much from a moment on, as after a change of the governor. Who is told so has learned it half a
 * minute later, and says until then how little is sure. Who is not goes on with the old watts, and is sure of them. */
static double changed(uint64_t seed, bool is_told, unsigned *n_covered)
{
	double use_s[3], error = 0.0;
	struct wtl_watts *watts = wtl_watts_new(3);
	struct wtl_watts_look look = {.duration_s = 1.0, .use_s = use_s};

	random_state = seed;
	for (int k = 0; k < 330; k++) {
		double factor = k < 300 ? 1.0 : 1.6;

		if (k == 300 && is_told)
			wtl_watts_doubt(watts);
		look.energy_j = 70.0 + 0.3 * normal();
		for (int i = 0; i < 3; i++) {
			use_s[i] = k / (2 + i) % 2 ? uniform() : 0.0;
			look.energy_j += factor * 8.0 * (i + 1) * use_s[i];
		}
		look.awake_s = 1.0 - (1.0 - use_s[0]) * (1.0 - use_s[1]) * (1.0 - use_s[2]);
		wtl_watts_add(watts, &look);
		for (int i = 0; k >= 300 && i < 3; i++)
			*n_covered += fabs(wtl_watts_of(watts, (size_t)i).w - 12.8 * (i + 1)) <
				      2.0 * wtl_watts_of(watts, (size_t)i).uncertainty_w;
	}
	for (int i = 0; i < 3; i++)
		error = fmax(error,
			     fabs(wtl_watts_of(watts, (size_t)i).w / (12.8 * (i + 1)) - 1.0));
	wtl_watts_free(watts);
	return error;
}

static void test_machine_changed(void **s)
{
	unsigned told = 0, untold = 0, n_near = 0;

	(void)s;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		n_near += changed(seed, true, &told) < 0.05;
		assert_true(changed(seed, false, &untold) > 0.1);
	}
	print_message("changed: %u of %u covered, %u near, untold %u\n", told, 90 * SEEDS, n_near,
		      untold);
	assert_true(told * 100 >= 95 * 90 * SEEDS && n_near >= 95 && untold < 45 * SEEDS);
}

/* What was known before counts from the first look on, for whom it was known; and looks correct it. */
static void test_known_before(void **s)
{
	const double use_s[2] = {0.5, 0.5};
	struct wtl_watts *watts = wtl_watts_new(2);
	struct wtl_watts_look look = {
		.duration_s = 1.0, .energy_j = 80.0, .awake_s = 0.75, .use_s = use_s};
	double weights[2];

	(void)s;
	wtl_watts_know_idle(watts, 70.0, 0.5);
	wtl_watts_know(watts, 1, 5.0, 1.0);
	wtl_watts_add(watts, &look);
	assert_true(fabs(wtl_watts_of(watts, 1).w - 5.0) < 0.5);
	wtl_watts_weights(watts, &look, weights);
	assert_true(weights[1] < 0.7 * weights[0]);
	/* Another one comes to the place, new or from another place. */
	for (int is_split = 0; is_split < 2; is_split++) {
		wtl_watts_know(watts, 1, 5.0, 1.0);
		if (is_split)
			wtl_watts_split(watts, 1, 0);
		else
			wtl_watts_clear(watts, 1);
		wtl_watts_weights(watts, &look, weights);
		assert_true(weights[1] == weights[0]);
	}
	wtl_watts_free(watts);
	/* Or before the first look. */
	watts = wtl_watts_new(2);
	wtl_watts_know(watts, 1, 5.0, 1.0);
	wtl_watts_clear(watts, 1);
	wtl_watts_add(watts, &look);
	assert_true(wtl_watts_of(watts, 1).w == wtl_watts_of(watts, 0).w);
	wtl_watts_free(watts);
}

/* One that draws 1.3 times as much from its middle on: each half is told with its own watts, as in a machine that changes. */
static void test_smoothed_change(void **s)
{
	struct wtl_watts_past *past = wtl_watts_past_new();
	struct wtl_watts *watts = wtl_watts_new(1);
	const uint32_t key = 1;
	const struct wtl_watts_moment now = {1, 1, &key, &watts};
	struct wtl_watts_moment moment, after;

	(void)s;
	random_state = 5;
	wtl_watts_past_begin(past, STRETCH * INT64_C(1000000000));
	wtl_watts_hold(watts);
	wtl_watts_past_end(past, &now, false); /* of nothing */
	assert_false(wtl_watts_past_show(past, 1, &moment));
	for (unsigned k = 0; k < 600; k++) {
		double use_s = k % 7 < 3 ? 0.9 : 0.1;
		struct wtl_watts_look look = {.duration_s = 1.0, .awake_s = use_s, .use_s = &use_s};

		look.energy_j = 70.0 + use_s * (k < 300 ? 10.0 : 13.0) + 0.3 * normal();
		if (k == 300) {
			wtl_watts_past_end(past, &now, true);
			wtl_watts_doubt(watts);
		}
		wtl_watts_past_reach(past, k + 1, &now);
		wtl_watts_past_note(past, &look, 1);
		wtl_watts_add(watts, &look);
	}
	wtl_watts_past_end(past, &now, false);
	assert_int_equal(wtl_watts_past_smooth(past), 0);
	for (unsigned k = 1; k <= 600; k++) {
		struct wtl_watts_figure own, awake;

		assert_true(wtl_watts_past_show(past, k, &moment));
		own = wtl_watts_of(moment.watts[0], 0);
		awake = wtl_watts_awake(moment.watts[0]);
		assert_true(fabs(own.w + awake.w - (k <= 300 ? 10.0 : 13.0)) < 0.5);
	}
	/* Later than all that is known: as at its end. */
	assert_true(wtl_watts_past_show(past, 700, &after));
	assert_ptr_equal(after.watts, moment.watts);
	wtl_watts_past_free(past);
	wtl_watts_free(watts);
}

/* Any of its allocations fails: that is said, and nothing is told of the past. */
static void test_past_without_memory(void **s)
{
	const double use_s = 0.5;
	const struct wtl_watts_look look = {
		.energy_j = 10.0, .duration_s = 1.0, .awake_s = use_s, .use_s = &use_s};
	const uint32_t key = 1;
	struct wtl_watts *watts;
	const struct wtl_watts_moment now = {1, 1, &key, &watts};
	unsigned long failures, n = 0;

	(void)s;
	need_counter();
	watts = wtl_watts_new(1);
	do {
		struct wtl_watts_past *past = wtl_watts_past_new();
		long before = wattle_test_blocks();
		int rc;

		failures = wattle_test_failures();
		wattle_test_fail_alloc(++n, false);
		for (unsigned k = 0; k < 3; k++) {
			wtl_watts_past_reach(past, k + 1, &now);
			wtl_watts_past_note(past, &look, 1);
			wtl_watts_past_end(past, &now, false);
		}
		rc = wtl_watts_past_smooth(past);
		wattle_test_fail_alloc(0, false);
		assert_int_equal(rc, wattle_test_failures() > failures ? -ENOMEM : 0);
		assert_int_equal(wtl_watts_past_is_smooth(past), rc == 0);
		wtl_watts_past_free(past);
		assert_int_equal(wattle_test_blocks(), before - 1);
	} while (wattle_test_failures() > failures);
	assert_true(n > 10);
	wtl_watts_free(watts);
}

/* A stretch in which nothing was learned is told by what was learned later, and so is one of a single look. */
static void test_smoothed_from_nothing(void **s)
{
	struct wtl_watts *early = wtl_watts_new(1), *later = wtl_watts_new(1);
	struct wtl_watts *single = wtl_watts_new(1), *predicted = wtl_watts_new(1);
	const bool goes_on = true;

	(void)s;
	for (int k = 0; k < 20; k++) {
		const double use_s = k % 2 ? 0.9 : 0.1;
		const struct wtl_watts_look look = {.energy_j = 70.0 + 10.0 * use_s,
						    .duration_s = 1.0,
						    .awake_s = use_s,
						    .use_s = &use_s};

		wtl_watts_add(later, &look);
		if (k == 0)
			wtl_watts_copy(single, later);
	}
	assert_int_equal(wtl_watts_smooth(early, early, later, &goes_on), 0);
	assert_true(wtl_watts_of(early, 0).w == wtl_watts_of(later, 0).w);
	wtl_watts_copy(predicted, single);
	assert_int_equal(wtl_watts_smooth(single, predicted, later, &goes_on), 0);
	assert_int_equal(wtl_watts_looks(single), 20);
	assert_true(fabs(wtl_watts_idle(single).w - 70.0) < 0.5);
	/* Without later looks, or if somebody's watts are not in doubt at all, it stays as it was. */
	wtl_watts_free(later);
	later = wtl_watts_new(1);
	assert_int_equal(wtl_watts_smooth(single, predicted, later, &goes_on), 0);
	assert_int_equal(wtl_watts_looks(single), 20);
	wtl_watts_know(predicted, 0, 10.0, 0.0);
	wtl_watts_copy(later, early);
	assert_int_equal(wtl_watts_smooth(single, predicted, later, &goes_on), 0);
	assert_true(fabs(wtl_watts_idle(single).w - 70.0) < 0.5);
	wtl_watts_free(early);
	wtl_watts_free(later);
	wtl_watts_free(single);
	wtl_watts_free(predicted);
}

/* Power at rest that is known from before is that as long as nothing was seen; then no more than what was seen, from the
 * first look on. */
static void test_known_idle(void **s)
{
	const double use_s = 0.0;
	struct wtl_watts *watts = wtl_watts_new(1);
	const struct wtl_watts_look look = {.duration_s = 1.0, .energy_j = 50.0, .use_s = &use_s};

	(void)s;
	wtl_watts_know_idle(watts, 70.0, 0.5);
	assert_true(wtl_watts_idle(watts).w == 70.0);
	assert_true(wtl_watts_idle(watts).uncertainty_w == 0.5);
	wtl_watts_add(watts, &look);
	assert_true(fabs(wtl_watts_idle(watts).w - 50.0) < 1.0);
	wtl_watts_free(watts);
	/* Unless it is beyond doubt. */
	watts = wtl_watts_new(1);
	wtl_watts_hold(watts);
	wtl_watts_know_idle(watts, 70.0, 0.0);
	wtl_watts_add(watts, &look);
	assert_true(wtl_watts_idle(watts).w == 70.0);
	wtl_watts_free(watts);
}

/* In the mean, many who share a place differ less from a typical one than one does; of each of them, no more is known. */
static void test_mixed_place(void **s)
{
	const double use_s[3] = {0.3, 0.3, 0.3};
	struct wtl_watts *watts = wtl_watts_new(3);
	const struct wtl_watts_look look = {
		.duration_s = 1.0, .energy_j = 80.0, .awake_s = 0.6, .use_s = use_s};
	double weights[3], doubts[3];

	(void)s;
	wtl_watts_mix(watts, 1);
	wtl_watts_know_idle(watts, 70.0, 0.5);
	wtl_watts_add(watts, &look);
	assert_true(wtl_watts_of(watts, 1).uncertainty_w < wtl_watts_of(watts, 0).uncertainty_w);
	assert_true(wtl_watts_of(watts, 0).uncertainty_w == wtl_watts_of(watts, 2).uncertainty_w);
	wtl_watts_weights(watts, &look, weights);
	wtl_watts_doubts(watts, &look, weights, doubts);
	assert_true(doubts[1] > 0.35 && doubts[0] < doubts[1]);
	wtl_watts_free(watts);
}

static void test_nothing_to_learn_from(void **s)
{
	const double use_s[2] = {0.0, 0.0};
	struct wtl_watts *watts = wtl_watts_new(2);
	struct wtl_watts_look look = {.use_s = use_s, .energy_j = 50.0};
	double weights[2], doubts[2];

	(void)s;
	wtl_watts_add(watts, &look);
	look.duration_s = 1.0;
	look.energy_j = 0.0;
	wtl_watts_add(watts, &look);
	assert_int_equal(wtl_watts_looks(watts), 0);
	look.energy_j = 50.0;
	for (int i = 0; i < 60; i++)
		wtl_watts_add(watts, &look);
	assert_true(fabs(wtl_watts_idle(watts).w - 50.0) < 0.5);
	wtl_watts_weights(watts, &look, weights);
	wtl_watts_doubts(watts, &look, weights, doubts);
	assert_true(weights[0] > 0.0 && weights[0] == weights[1]);
	assert_true(doubts[0] > 0.0 && isfinite(doubts[0]));
	wtl_watts_free(watts);
}

/* ---- What is learned of one machine, in figures ---- */

static void put_watts(struct wtl_buf *buf, const struct wtl_watts *watts,
		      const struct wtl_watts_look *look)
{
	double weights[4], doubts[4];

	wtl_watts_weights(watts, look, weights);
	wtl_watts_doubts(watts, look, weights, doubts);
	wtl_buf_printf(buf, "%u looks: idle %.5g +- %.4g W, awake %.5g +- %.4g W\n",
		       wtl_watts_looks(watts), wtl_watts_idle(watts).w,
		       wtl_watts_idle(watts).uncertainty_w, wtl_watts_awake(watts).w,
		       wtl_watts_awake(watts).uncertainty_w);
	for (size_t i = 0; i < 4; i++)
		wtl_buf_printf(buf, "  %.5g +- %.4g W, weight %.5g, doubt %.4g\n",
			       wtl_watts_of(watts, i).w, wtl_watts_of(watts, i).uncertainty_w,
			       weights[i], doubts[i]);
}

/* As of 45 looks, with what the later ones tell. All of the last one's use is of that stretch. */
static void put_smoothed(struct wtl_buf *buf, struct wtl_watts *stretch,
			 const struct wtl_watts *later, const struct wtl_watts_look *look)
{
	static const bool goes_on[4] = {true, true, false, true};
	struct wtl_watts *predicted = wtl_watts_new(4);
	double ran_s[4] = {0.0};
	struct wtl_watts_stretch stretch_of = {.ran_s = ran_s};

	wtl_watts_copy(predicted, stretch);
	wtl_watts_hold(predicted);
	wtl_watts_stretch_add(&stretch_of, look, 4);
	wtl_watts_pass(predicted, &stretch_of);
	assert_int_equal(wtl_watts_smooth(stretch, predicted, later, goes_on), 0);
	wtl_buf_puts(buf, "smoothed, ");
	put_watts(buf, stretch, look);
	wtl_watts_free(predicted);
}

static void put_machine(struct wtl_buf *buf, double idle_w, double awake_w)
{
	double use_s[4], ran_s[4] = {0.0};
	struct wtl_watts_look look = {.use_s = use_s, .use_doubt_s = 0.02, .noise_j = 0.4};
	struct wtl_watts_stretch half = {.ran_s = ran_s};
	struct wtl_watts *watts = wtl_watts_new(4), *stretch = wtl_watts_new(4);

	wtl_buf_printf(buf, "%.4g W at rest, %.4g W more for being awake\n", idle_w, awake_w);
	random_state = 11;
	for (unsigned k = 0; k < 90; k++) {
		double used = 0.0;

		look.duration_s = k % 7 ? 1.0 : 0.4;
		look.energy_j = (k < 60 ? idle_w : 1.05 * idle_w) * look.duration_s;
		for (size_t i = 0; i < 4; i++) {
			use_s[i] = k % 11 < 2 ? 0.0 : uniform() * look.duration_s;
			look.energy_j += use_s[i] * (6.0 + 5.0 * (double)i);
			used += use_s[i];
		}
		look.awake_s = fmin(used, look.duration_s);
		look.energy_j += awake_w * look.awake_s + normal() + (k == 33 ? 40.0 : 0.0);
		if (k == 20)
			wtl_watts_know_idle(watts, 1.02 * idle_w, 0.5);
		if (k == 40)
			wtl_watts_clear(watts, 2);
		if (k == 50)
			wtl_watts_split(watts, 1, 3);
		if (k == 60)
			wtl_watts_doubt(watts);
		wtl_watts_add(watts, &look);
		wtl_watts_stretch_add(&half, &look, 4);
		if (k % 30 == 29) {
			wtl_watts_pass(watts, &half);
			wtl_watts_stretch_begin(&half, 4);
		}
		if (k < 10 || k % 10 == 1)
			put_watts(buf, watts, &look);
		if (k == 45)
			wtl_watts_copy(stretch, watts);
	}
	put_smoothed(buf, stretch, watts, &look);
	wtl_watts_free(stretch);
	wtl_watts_free(watts);
}

/* The latter two come to what cannot be: less than nothing. */
static void test_figures(void **s)
{
	struct wtl_buf buf;

	(void)s;
	wtl_buf_init(&buf, 1 << 16);
	put_machine(&buf, 42.0, 3.0);
	put_machine(&buf, 12.0, -3.0);
	put_machine(&buf, 0.3, 1.0);
	golden_check("watts.txt", wtl_buf_str(&buf));
	wtl_buf_done(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_worlds),
		cmocka_unit_test(test_steady_use),
		cmocka_unit_test(test_low_first_look),
		cmocka_unit_test(test_long_first_look),
		cmocka_unit_test(test_impossible_watts),
		cmocka_unit_test(test_machine_changed),
		cmocka_unit_test(test_known_before),
		cmocka_unit_test(test_smoothed_change),
		cmocka_unit_test(test_past_without_memory),
		cmocka_unit_test(test_smoothed_from_nothing),
		cmocka_unit_test(test_known_idle),
		cmocka_unit_test(test_mixed_place),
		cmocka_unit_test(test_nothing_to_learn_from),
		cmocka_unit_test(test_figures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
