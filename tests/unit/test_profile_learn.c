/* SPDX-License-Identifier: MIT */
/*
 * Joules of functions on a made-up machine whose watts are known: three functions take turns, for so long each time,
 * and are seen once a millisecond of CPU time; the counter is read every 5 ms. Without learning, functions that take
 * turns faster than it is read would get the mean (docs/profile.md).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/split.h"
#include "unit.h"

enum {
	FUNCTIONS = 3,
	SEEDS = UNIT_TRIES(20),
	PROGRAMS = UNIT_TRIES(100),
	SECONDS = 20,
	SAMPLES_MAX = 40000
};

#define STEP_S	   0.0001
#define TICK_S	   0.005
#define IDLE_W	   20.0
#define QUANTUM_UJ 61 /* of RAPL's counters */

static const double watts[FUNCTIONS] = {30.0, 12.0, 20.0}, often[FUNCTIONS] = {0.45, 0.45, 0.10};

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

struct world {
	struct wtl_trace trace;
	struct wtl_split split;
	struct wtl_trace_thread thread;
	struct wtl_trace_slice slice;
	uint32_t nodes[FUNCTIONS];
	double now_s, energy_j, dynamic_j, next_sample_s, next_tick_s, billed_s;
	double truth_j[FUNCTIONS];
	uint64_t billed_uj;
};

static int64_t now_ns(const struct world *world)
{
	return (int64_t)(world->now_s * 1e9);
}

static void begin(struct world *world, const bool *learns)
{
	struct wtl_tree *tree = &world->trace.tree;

	memset(world, 0, sizeof(*world));
	assert_int_equal(wtl_tree_init(tree), 0);
	for (int i = 0; i < FUNCTIONS; i++) {
		char name[8];
		struct wtl_frame frame = {.kind = WTL_FRAME_NAMED};

		snprintf(name, sizeof(name), "f%d", i);
		frame.name = (uint32_t)wtl_tree_name(tree, name);
		world->nodes[i] =
			(uint32_t)wtl_tree_child(tree, 0, (uint32_t)wtl_tree_frame(tree, &frame));
	}
	wtl_split_init(&world->split, 1, 0);
	world->split.learns = learns;
	world->trace.samples = calloc(SAMPLES_MAX, sizeof(*world->trace.samples));
	assert_non_null(world->trace.samples);
	world->next_sample_s = uniform() * 0.001;
	world->next_tick_s = TICK_S;
}

static void bill(struct world *world)
{
	struct wtl_split_bill *to = wtl_split_add_bill(&world->split, now_ns(world));
	double length_s = world->now_s - world->billed_s;

	assert_non_null(to);
	to->busy_ns = (int64_t)(length_s * 1e9);
	to->dynamic_uj[0] = (uint64_t)(world->dynamic_j * 1e6) - world->billed_uj;
	to->idle_uj[0] = (uint64_t)(length_s * IDLE_W * 1e6);
	to->idle_uw[0] = (uint64_t)(IDLE_W * 1e6);
	world->billed_uj += to->dynamic_uj[0];
	world->billed_s = world->now_s;
}

static void look(struct world *world, int function)
{
	if (world->now_s >= world->next_sample_s) {
		world->next_sample_s += 0.001 * (1.0 + 0.05 * normal());
		world->trace.samples[world->trace.n_samples++] =
			(struct wtl_trace_sample){0, world->nodes[function], now_ns(world)};
	}
	if (world->now_s >= world->next_tick_s) {
		struct wtl_split_tick *tick = wtl_split_add_tick(&world->split, now_ns(world));

		assert_non_null(tick);
		tick->energy_uj[0] = (uint64_t)(world->energy_j * 1e6 / QUANTUM_UJ) * QUANTUM_UJ;
		world->next_tick_s += TICK_S;
	}
	if (world->now_s - world->billed_s >= 1.0)
		bill(world);
}

static int choose(void)
{
	double u = uniform();

	return u < often[0] ? 0 : u < often[0] + often[1] ? 1 : 2;
}

static void run(struct world *world, double phase_s)
{
	double left_s = 0.0;
	int function = 0;

	for (int i = 0; i < (int)(SECONDS / STEP_S); i++) {
		if (left_s <= 0.0) {
			function = choose();
			left_s = -phase_s * log(uniform());
		}
		left_s -= STEP_S;
		world->now_s += STEP_S;
		world->truth_j[function] += watts[function] * STEP_S;
		world->dynamic_j += watts[function] * STEP_S;
		world->energy_j +=
			(IDLE_W + watts[function]) * STEP_S + 0.02 * sqrt(STEP_S) * normal();
		look(world, function);
	}
	bill(world);
	world->thread = (struct wtl_trace_thread){.pid = 1, .tid = 1};
	world->thread.n_samples = world->trace.n_samples;
	world->trace.threads = &world->thread;
	world->slice = (struct wtl_trace_slice){0, 0, now_ns(world)};
	world->trace.slices = &world->slice;
	world->trace.n_threads = world->trace.n_slices = 1;
}

static void end(struct world *world)
{
	free(world->trace.samples);
	wtl_tree_done(&world->trace.tree);
	wtl_split_done(&world->split);
}

/* The worst error of a function that has 5 % of the energy at least; all of it is somebody's. */
static double worst_error(struct world *world)
{
	struct wtl_split_result result;
	uint64_t sum_uj = 0;
	double worst = 0.0;

	assert_int_equal(wtl_split_compute(&world->split, &world->trace, &result), 0);
	for (size_t i = 0; i < result.n_nodes + WTL_SPLIT_ROWS; i++)
		sum_uj += result.dynamic_uj[i];
	assert_int_equal(sum_uj, world->billed_uj);
	for (int i = 0; i < FUNCTIONS; i++)
		if (world->truth_j[i] >= 0.05 * world->dynamic_j)
			worst = fmax(worst, fabs((double)result.dynamic_uj[world->nodes[i]] / 1e6 /
							 world->truth_j[i] -
						 1.0));
	wtl_split_result_done(&result);
	return worst;
}

static double worst_of_seeds(double phase_s, bool learns)
{
	double worst = 0.0;

	for (int seed = 0; seed < SEEDS; seed++) {
		struct world world;

		random_state = (uint64_t)seed * 7919 + 1;
		begin(&world, &learns);
		run(&world, phase_s);
		worst = fmax(worst, worst_error(&world));
		end(&world);
	}
	return worst;
}

/* The bound is 5 % for phases from 5 ms on. */
static void test_functions_that_take_turns(void **state)
{
	(void)state;
	assert_true(worst_of_seeds(0.002, true) < 0.05);
	assert_true(worst_of_seeds(0.005, true) < 0.03);
	assert_true(worst_of_seeds(0.1, true) < 0.03);
	assert_true(worst_of_seeds(1.0, true) < 0.05);
	assert_true(worst_of_seeds(5.0, true) < 0.05);
}

/* Whether the uncertainties cover the truth: of functions that have 5 % at least, how many there are. */
static void count_covered(struct world *world, int *n, int *n_doubted, int *n_covered)
{
	const struct wtl_trace *trace = &world->trace;
	struct wtl_split_result result;
	double doubt_all_uj = 0.0;

	assert_int_equal(wtl_split_compute(&world->split, trace, &result), 0);
	for (size_t i = 0; i < result.n_nodes + WTL_SPLIT_ROWS; i++)
		doubt_all_uj += (double)result.doubt_uj[i];
	for (int i = 0; i < FUNCTIONS; i++) {
		uint32_t node = world->nodes[i];
		double energy_uj = (double)result.dynamic_uj[node];

		if (world->truth_j[i] < 0.05 * world->dynamic_j)
			continue;
		*n += 1;
		*n_doubted += result.doubt_uj[node] > 0;
		*n_covered += fabs(energy_uj - 1e6 * world->truth_j[i]) <=
			      wtl_split_uncertainty_uj(energy_uj, result.n_samples[node],
						       trace->n_samples,
						       (double)result.doubt_uj[node], doubt_all_uj);
	}
	wtl_split_result_done(&result);
}

/* Programs whose phases take 2 ms to 5 s. */
static void test_what_is_not_known(void **state)
{
	const bool learns = true;
	int n = 0, n_doubted = 0, n_covered = 0;

	(void)state;
	for (int seed = 0; seed < PROGRAMS; seed++) {
		struct world world;

		random_state = (uint64_t)seed * 104729 + 3;
		begin(&world, &learns);
		run(&world, 0.002 * pow(2500.0, (double)(seed % 20) / 19.0));
		count_covered(&world, &n, &n_doubted, &n_covered);
		end(&world);
	}
	assert_true(n >= 2 * PROGRAMS);
	assert_true(n_doubted >= n * 9 / 10); /* one that has all has no doubts */
	assert_true(n_covered >= n * 95 / 100);
}

/* What learning is for: without it, this fails. */
static void test_without_learning(void **state)
{
	(void)state;
	assert_true(worst_of_seeds(0.005, false) > 0.15);
	assert_true(worst_of_seeds(0.1, false) < 0.05);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions_that_take_turns),
		cmocka_unit_test(test_without_learning),
		cmocka_unit_test(test_what_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
