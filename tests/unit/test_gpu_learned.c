/* SPDX-License-Identifier: MIT */
/* What two processes on one GPU draw each, from smoothed samples of their use and from energy. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "energy/units.h"
#include "meter/known_watts.h"
#include "meter/learned_gpu.h"
#include "workload/gpu_smooth.h"
#include "workload/gpu_use.h"
#include "world.h"

enum { IDLE_W = 50, LIGHT_W = 100, HEAVY_W = 300, PHASE_S = 8 };

struct gpu {
	struct world *world;
	struct wtl_known_programs programs; /* none */
	struct wtl_gpu_learned *learned;
	struct wtl_gpu_smooth smooth;
	int pids[2];
	uint32_t slots[2];
	bool light_has_ended, energy_is_of_more;
	int second;
	double energy_j; /* of the newest second */
};

static void gpu_open(struct gpu *gpu, struct world *world)
{
	*gpu = (struct gpu){.world = world};
	gpu->learned = wtl_gpu_learned_new("gpu-0", &gpu->programs);
	assert_non_null(gpu->learned);
	for (int i = 0; i < 2; i++)
		gpu->pids[i] = world_fork(world, 1);
	world_open(world, NULL);
	world_look(world, WTL_NS_PER_S);
	for (int i = 0; i < 2; i++)
		gpu->slots[i] = (uint32_t)wtl_workload_find(world->workload, gpu->pids[i]);
}

static void gpu_close(struct gpu *gpu)
{
	wtl_gpu_smooth_done(&gpu->smooth);
	wtl_gpu_learned_free(gpu->learned);
}

/* A second in which they use these parts of it. */
static void pass(struct gpu *gpu, double light, double heavy)
{
	static const struct wtl_baseline idle = {
		.is_known = true, .idle_uw = IDLE_W * 1000000, .uncertainty_uw = 500000};
	const double parts[] = {light, heavy};
	int64_t now_ns = ++gpu->second * WTL_NS_PER_S;
	struct wtl_use uses[2];

	for (int i = 0; i < 2; i++)
		wtl_gpu_smooth_sample(&gpu->smooth, gpu->pids[i],
				      (uint32_t)(parts[i] * WTL_GPU_USE_WHOLE), now_ns);
	wtl_gpu_smooth_step(&gpu->smooth, now_ns, true);
	for (int i = 0; i < 2; i++)
		uses[i] =
			(struct wtl_use){.slot = gpu->slots[i],
					 .weight = wtl_gpu_smooth_get(&gpu->smooth, gpu->pids[i])};
	/* Nobody smooths what is left of one that has ended. */
	if (gpu->light_has_ended)
		uses[0].weight = (uint64_t)(light * WTL_GPU_USE_WHOLE);
	wtl_gpu_smooth_forget(&gpu->smooth);
	wtl_gpu_learned_scan(gpu->learned, gpu->world->workload, uses, 2, WTL_NS_PER_S);
	gpu->energy_j = IDLE_W + LIGHT_W * light + HEAVY_W * heavy;
	wtl_gpu_learned_add(gpu->learned, (uint64_t)(gpu->energy_j * 1e6),
			    gpu->energy_is_of_more ? 2 * WTL_NS_PER_S : WTL_NS_PER_S, 0.5, &idle);
}

/* How both are weighed in the newest second; the light one's part, and the greater doubt. */
static double light_part(struct gpu *gpu, uint32_t *ret_doubt_ppm)
{
	struct wtl_learned_uses uses;

	wtl_gpu_learned_weigh(gpu->learned, NULL, (uint64_t)(gpu->energy_j * 1e6), &uses);
	assert_int_equal(uses.n, 2);
	*ret_doubt_ppm = uses.doubts_ppm[uses.doubts_ppm[1] > uses.doubts_ppm[0]];
	return (double)uses.uses[0].weight / (double)(uses.uses[0].weight + uses.uses[1].weight);
}

/* What a program drew in an earlier session counts from the first block on; both have its name. */
static void test_known_before(void **state)
{
	struct wtl_known_watts known = {
		.of = "gpu-0", .watts = {.is_known = true, .idle_uw = 77000000, .seen_ns = 1}};
	struct wtl_watts_figure light;
	struct gpu gpu;

	gpu_open(&gpu, *state);
	strcpy(known.name, wtl_workload_consumer(gpu.world->workload, gpu.slots[0])->name);
	assert_int_equal(wtl_known_add(&gpu.programs, &known), 0);
	for (int i = 0; i < 20 && !wtl_gpu_learned_has(gpu.learned); i++)
		pass(&gpu, 0.4, 0.4);
	assert_true(wtl_gpu_learned_watts(gpu.learned, gpu.slots[0], &light));
	assert_true(fabs(light.w - 77) < 20);
	wtl_known_done(&gpu.programs);
	gpu_close(&gpu);
}

static void test_watts(void **state)
{
	static const double phases[][2] = {{0.6, 0}, {0, 0.6}, {0.3, 0.3}, {0.8, 0.1}, {0.1, 0.7}};
	struct wtl_watts_figure light, heavy;
	uint32_t first_ppm, later_ppm;
	struct gpu gpu;

	gpu_open(&gpu, *state);
	pass(&gpu, 0.4, 0.4);
	pass(&gpu, 0.4, 0.4);
	assert_true(wtl_gpu_learned_is_shared(gpu.learned));
	assert_true(wtl_gpu_learned_is_mixed(gpu.learned));
	/* Nothing is learned: use counts the same, and that is in doubt. */
	assert_false(wtl_gpu_learned_has(gpu.learned));
	assert_false(wtl_gpu_learned_watts(gpu.learned, gpu.slots[0], &light));
	assert_true(fabs(light_part(&gpu, &first_ppm) - 0.5) < 0.01);
	assert_int_equal(first_ppm, 140000);
	for (int i = 0; i < 200; i++) {
		pass(&gpu, phases[i / PHASE_S % 5][0], phases[i / PHASE_S % 5][1]);
		if (i % 10 == 9)
			wtl_gpu_learned_pass(gpu.learned);
	}
	assert_true(wtl_gpu_learned_has(gpu.learned));
	assert_true(wtl_gpu_learned_watts(gpu.learned, gpu.slots[0], &light));
	assert_true(wtl_gpu_learned_watts(gpu.learned, gpu.slots[1], &heavy));
	assert_true(fabs(light.w - LIGHT_W) < 0.15 * LIGHT_W);
	assert_true(fabs(heavy.w - HEAVY_W) < 0.15 * HEAVY_W);
	pass(&gpu, 0.4, 0.4);
	pass(&gpu, 0.4, 0.4);
	assert_true(fabs(light_part(&gpu, &later_ppm) - 0.25) < 0.04);
	/* Samples that jump leave a quarter of it in doubt. */
	assert_in_range(later_ppm, 248000, 256000);
	world_end(gpu.world, gpu.pids[0]);
	world_look(gpu.world, WTL_NS_PER_S);
	gpu.light_has_ended = true;
	pass(&gpu, 0.2, 0.4);
	assert_true(fabs(light_part(&gpu, &later_ppm) - 1.0 / 7) < 0.03);
	gpu_close(&gpu);
}

/* Seconds without an energy of their own are not bridged. */
static void test_torn(void **state)
{
	struct gpu gpu;

	gpu_open(&gpu, *state);
	for (int i = 0; i < 150; i++) {
		gpu.energy_is_of_more = i % 3 == 2;
		pass(&gpu, i / PHASE_S % 2 ? 0.2 : 0.6, 0.3);
	}
	assert_true(wtl_gpu_learned_is_shared(gpu.learned));
	assert_false(wtl_gpu_learned_has(gpu.learned));
	gpu_close(&gpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_known_before, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_watts, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_torn, world_setup, world_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
