/* SPDX-License-Identifier: MIT */
/* What two processes on one GPU draw each, from smoothed samples of their use and from energy. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "energy/units.h"
#include "golden.h"
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
	/* In a container, number 1 is a program like others. */
	gpu.pids[0] = 1;
	gpu.slots[0] = (uint32_t)wtl_workload_find(gpu.world->workload, 1);
	strcpy(known.name, wtl_workload_consumer(gpu.world->workload, gpu.slots[0])->name);
	assert_int_equal(wtl_known_add(&gpu.programs, &known), 0);
	for (int i = 0; i < 20 && !wtl_gpu_learned_has(gpu.learned); i++)
		pass(&gpu, 0.4, 0.4);
	assert_int_equal(gpu.second, 4);
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

/* ---- Many ---- */

enum { MANY = 11, STRANGER = MANY, SECONDS = 420 };

struct many {
	struct world *world;
	struct wtl_known_programs programs;
	struct wtl_gpu_learned *learned;
	struct wtl_gpu_smooth smooth;
	struct wtl_gpu_chunk chunk;
	struct wtl_buf text;
	int pids[MANY + 1];
	uint32_t slots[MANY + 1];
	uint64_t random;
	int64_t now_ns;
	double parts[MANY + 1], chunk_j;
};

static unsigned below(struct many *many, unsigned n)
{
	many->random = many->random * 6364136223846793005U + 1442695040888963407U;
	return (unsigned)(many->random >> 33) % n;
}

static void tell_uses(struct many *many, struct wtl_gpu_chunk *chunk, double energy_j)
{
	struct wtl_learned_uses uses;

	wtl_gpu_learned_weigh(many->learned, chunk, (uint64_t)(energy_j * 1e6), &uses);
	for (size_t i = 0; i < uses.n; i++)
		if (uses.uses[i].weight > 0)
			wtl_buf_printf(&many->text, " %u: %.4g +- %.3g,", uses.uses[i].slot,
				       (double)uses.uses[i].weight / 1e9,
				       (double)uses.doubts_ppm[i] / 1e6);
	wtl_buf_puts(&many->text, "\n");
}

static void tell(struct many *many, int second, double energy_j)
{
	struct wtl_gpu_learned *learned = many->learned;

	wtl_buf_printf(&many->text, "%d s, shared %d, mixed %d, learned %d:", second,
		       wtl_gpu_learned_is_shared(learned), wtl_gpu_learned_is_mixed(learned),
		       wtl_gpu_learned_has(learned));
	tell_uses(many, NULL, energy_j);
	if (second % 20)
		return;
	for (size_t i = 0; i <= MANY; i++) {
		const struct wtl_use one = {.slot = many->slots[i], .weight = 1000000},
				     *scaled = &one;
		struct wtl_watts_figure found;

		wtl_gpu_learned_scale(learned, &scaled, 1);
		if (wtl_gpu_learned_watts(learned, many->slots[i], &found))
			wtl_buf_printf(&many->text, "  %u: %.4g +- %.3g W, %.4g\n", many->slots[i],
				       found.w, found.uncertainty_w, (double)scaled->weight);
	}
	wtl_buf_printf(&many->text, "  %.4g s, use %d, long %d:", many->chunk.duration_s,
		       wtl_gpu_chunk_has_use(&many->chunk), wtl_gpu_chunk_is_long(&many->chunk));
	tell_uses(many, &many->chunk, many->chunk_j);
}

/* Who begins and who stops: one and a stranger of whom hardly anything is seen, then up to five at a time. */
static void change(struct many *many, int second)
{
	for (unsigned i = 0; i <= MANY; i++)
		if (second < 40)
			many->parts[i] = i == 1 ? 0.5
					 : i == STRANGER && second >= 20
						 ? second < 30 ? 0.008 : 0.012
						 : 0.0;
		else if (below(many, 12) == 0)
			many->parts[i] = below(many, 3) ? 0.0 : 0.004 * (1 + below(many, 50));
}

/* What it draws is each one's part times watts of its own. */
static void pass_many(struct many *many, int second)
{
	static const struct wtl_baseline idle = {
		.is_known = true, .idle_uw = IDLE_W * 1000000, .uncertainty_uw = 500000};
	int64_t took_ns = second % 50 == 49 ? 2 * WTL_NS_PER_S : WTL_NS_PER_S;
	double energy_j = IDLE_W * (double)took_ns / 1e9;
	bool is_silent = second % 7 == 3, is_torn = second % 31 == 30;
	struct wtl_use uses[MANY + 1];
	size_t n = 0;

	change(many, second);
	many->now_ns += took_ns;
	for (unsigned i = 0; i <= MANY; i++) {
		double jump = i % 2 ? 0.7 + 0.1 * below(many, 7) : 1.0;

		energy_j += (80 + 25.0 * i) * many->parts[i] * (double)took_ns / 1e9;
		if (!is_silent && many->parts[i] > 0)
			wtl_gpu_smooth_sample(&many->smooth, many->pids[i],
					      (uint32_t)(jump * many->parts[i] * WTL_GPU_USE_WHOLE),
					      many->now_ns);
	}
	wtl_gpu_smooth_step(&many->smooth, many->now_ns, true);
	for (unsigned i = 0; i <= MANY; i++) {
		uint64_t weight = wtl_gpu_smooth_get(&many->smooth, many->pids[i]);

		if (weight > 0)
			uses[n++] = (struct wtl_use){.slot = many->slots[i], .weight = weight};
	}
	wtl_gpu_smooth_forget(&many->smooth);
	wtl_gpu_learned_scan(many->learned, many->world->workload, is_torn ? NULL : uses, n,
			     took_ns);
	assert_int_equal(wtl_gpu_chunk_add(&many->chunk, many->learned), 0);
	many->chunk_j += energy_j;
	wtl_gpu_learned_add(many->learned, (uint64_t)(energy_j * 1e6),
			    second % 37 == 36 ? 2 * took_ns : took_ns, 0.5, &idle);
	if (second < 60 || second % 10 == 0)
		tell(many, second, energy_j);
}

/* What befalls them. */
static void befall_many(struct many *many, int second)
{
	if (second % 10 == 9)
		wtl_gpu_learned_pass(many->learned);
	if (second == 200)
		wtl_gpu_learned_doubt(many->learned);
	if (second == 240) {
		world_end(many->world, many->pids[2]);
		world_look(many->world, WTL_NS_PER_S);
	}
	if (second == 260)
		wtl_gpu_learned_reset(many->learned, many->world->workload);
	if (second == 300) {
		const struct wtl_fold fold = {.from = many->slots[4], .into = many->slots[5]};

		wtl_gpu_learned_fold(many->learned, fold.from, fold.into);
		wtl_gpu_chunk_fold(&many->chunk, &fold);
	}
	if (wtl_gpu_chunk_is_long(&many->chunk)) {
		wtl_gpu_chunk_settle(&many->chunk);
		many->chunk_j = 0;
	}
	if (second % 100 == 99)
		wtl_gpu_learned_keep(many->learned, second * WTL_NS_PER_S);
}

/* More than have places of their own. All that is told of them is in tests/golden/gpu-learned.txt. */
static void test_many(void **state)
{
	struct many many = {.world = *state};
	struct wtl_known_watts known = {.of = "gpu-0",
					.watts = {.is_known = true,
						  .idle_uw = 200000000,
						  .uncertainty_uw = 9000000,
						  .seen_ns = 50 * WTL_NS_PER_S}};

	wtl_buf_init(&many.text, 1 << 20);
	for (unsigned i = 0; i < MANY; i++) {
		char name[16];

		many.pids[i] = world_fork(many.world, 1);
		snprintf(name, sizeof(name), "program%u", i);
		world_exec(many.world, many.pids[i], name, name);
	}
	world_open(many.world, NULL);
	world_look(many.world, WTL_NS_PER_S);
	for (unsigned i = 0; i < MANY; i++)
		many.slots[i] = (uint32_t)wtl_workload_find(many.world->workload, many.pids[i]);
	many.pids[STRANGER] = 99999;
	many.slots[STRANGER] = (uint32_t)wtl_workload_capacity(many.world->workload);
	strcpy(known.name, "program3");
	assert_int_equal(wtl_known_add(&many.programs, &known), 0);
	many.learned = wtl_gpu_learned_new("gpu-0", &many.programs);
	assert_non_null(many.learned);
	for (int second = 0; second < SECONDS; second++) {
		pass_many(&many, second);
		befall_many(&many, second);
	}
	for (size_t i = 0; i < many.programs.table->n; i++) {
		const struct wtl_known_watts *kept = &many.programs.table->at[i];

		wtl_buf_printf(&many.text, "kept of %s: %.4g +- %.3g W, of %.3g s\n", kept->name,
			       (double)kept->watts.idle_uw / 1e6,
			       (double)kept->watts.uncertainty_uw / 1e6,
			       (double)kept->watts.seen_ns / 1e9);
	}
	golden_check("gpu-learned.txt", wtl_buf_str(&many.text));
	wtl_buf_done(&many.text);
	wtl_known_done(&many.programs);
	wtl_gpu_chunk_done(&many.chunk);
	wtl_gpu_smooth_done(&many.smooth);
	wtl_gpu_learned_free(many.learned);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_known_before, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_watts, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_torn, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_many, world_setup, world_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
