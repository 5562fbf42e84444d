/* SPDX-License-Identifier: MIT */
/* How what the instances of a GPU did is divided among their processes. */
#include "workload/gpu_instances.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

enum { MIB = 1 << 20, PERCENT = 10000 };

struct gpu {
	struct wtl_nvml_instances instances;
	struct wtl_gpu_process listed[64];
	struct wtl_nvml_process_list list;
	struct wtl_gpu_use_process processes[64];
	size_t n;
	struct wtl_gpu_instances_sum sum;
};

static void add_instance(struct gpu *gpu, uint32_t id, uint32_t slices, uint32_t percent)
{
	gpu->instances.at[gpu->instances.n++] =
		(struct wtl_nvml_instance){.id = id,
					   .slices = slices,
					   .has_activity = true,
					   .activity_ppm = percent * PERCENT};
	gpu->instances.slices = 7;
}

static void add_process(struct gpu *gpu, int pid, uint32_t instance, uint64_t mib)
{
	gpu->list.at = gpu->listed;
	gpu->listed[gpu->list.n++] = (struct wtl_gpu_process){
		.pid = pid,
		.instance = instance,
		.memory_bytes = mib == UINT64_MAX ? UINT64_MAX : mib * MIB,
	};
	for (size_t i = 0; i < gpu->n; i++)
		if (gpu->processes[i].pid == pid)
			return;
	gpu->processes[gpu->n++] = (struct wtl_gpu_use_process){.pid = pid, .weight = 99};
}

static void weigh(struct gpu *gpu)
{
	assert_null(wtl_gpu_instances_lack(&gpu->instances, &gpu->list));
	wtl_gpu_instances_weigh(&gpu->instances, &gpu->list, gpu->processes, gpu->n, &gpu->sum);
}

static uint64_t weight(const struct gpu *gpu, int pid)
{
	for (size_t i = 0; i < gpu->n; i++)
		if (gpu->processes[i].pid == pid)
			return gpu->processes[i].weight;
	fail_msg("there is no process %d", pid);
	return 0;
}

/* Half of a large one is as much as all of one half as large, whatever memory is in use there. */
static void by_activity_and_size(void **state)
{
	struct gpu gpu = {.n = 0};

	(void)state;
	add_instance(&gpu, 1, 4, 50);
	add_instance(&gpu, 2, 2, 100);
	add_instance(&gpu, 3, 1, 0);
	add_process(&gpu, 10, 1, 100);
	add_process(&gpu, 20, 2, 9000);
	add_process(&gpu, 30, 3, 50);
	weigh(&gpu);
	assert_int_equal(weight(&gpu, 10), 200 * PERCENT);
	assert_int_equal(weight(&gpu, 20), 200 * PERCENT);
	assert_int_equal(weight(&gpu, 30), 0);
	assert_int_equal(gpu.sum.unseen_weight, 0);
	assert_false(gpu.sum.is_guess);
	/* Of the whole GPU's seven slices. */
	assert_int_equal(gpu.processes[0].use_ppm, 2000000 / 7);
	assert_int_equal(gpu.processes[2].use_ppm, 0);
}

static void by_memory_inside(void **state)
{
	struct gpu gpu = {.n = 0};

	(void)state;
	add_instance(&gpu, 1, 3, 40);
	add_instance(&gpu, 2, 4, 10);
	add_process(&gpu, 10, 1, 100);
	add_process(&gpu, 11, 1, 200);
	add_process(&gpu, 12, 1, UINT64_MAX);
	add_process(&gpu, 11, 2, 7);
	weigh(&gpu);
	assert_int_equal(weight(&gpu, 10), 40 * PERCENT);
	assert_int_equal(weight(&gpu, 11), (80 + 40) * PERCENT);
	assert_int_equal(weight(&gpu, 12), 0);
	assert_true(gpu.sum.is_guess);
}

/* One that is alone needs no memory to be known; an instance without any use is no guess. */
static void no_guess(void **state)
{
	struct gpu gpu = {.n = 0};

	(void)state;
	add_instance(&gpu, 1, 3, 40);
	add_instance(&gpu, 2, 4, 0);
	add_process(&gpu, 10, 1, UINT64_MAX);
	add_process(&gpu, 10, 1, UINT64_MAX); /* two compute instances of it */
	add_process(&gpu, 11, 2, 5);
	add_process(&gpu, 12, 2, 5);
	weigh(&gpu);
	assert_int_equal(weight(&gpu, 10), 120 * PERCENT);
	assert_false(gpu.sum.is_guess);
}

/* Nobody to be seen, no memory known, or no room: nobody's by name. */
static void unseen(void **state)
{
	struct gpu gpu = {.n = 0};

	(void)state;
	add_instance(&gpu, 1, 1, 10);
	add_instance(&gpu, 2, 1, 20);
	add_instance(&gpu, 3, 1, 40);
	add_process(&gpu, 10, 2, UINT64_MAX);
	add_process(&gpu, 11, 2, UINT64_MAX);
	add_process(&gpu, 12, 3, 5);
	gpu.n--; /* no room for 12 */
	weigh(&gpu);
	assert_int_equal(gpu.sum.unseen_weight, 70 * PERCENT);
	assert_int_equal(weight(&gpu, 10), 0);
}

static void lacks(void **state)
{
	struct gpu gpu = {.n = 0};

	(void)state;
	add_instance(&gpu, 1, 1, 10);
	add_process(&gpu, 10, 1, 5);
	assert_null(wtl_gpu_instances_lack(&gpu.instances, &gpu.list));
	/* Of a list that does not tell instances, or of one that has just been made. */
	add_process(&gpu, 11, UINT32_MAX, 5);
	assert_non_null(strstr(wtl_gpu_instances_lack(&gpu.instances, &gpu.list), "not listed"));
	gpu.instances.at[0].has_activity = false;
	assert_non_null(strstr(wtl_gpu_instances_lack(&gpu.instances, &gpu.list), "first sample"));
	gpu.list.n = 0;
	add_process(&gpu, 11, UINT32_MAX, 5);
	gpu.instances.at[0].has_activity = true;
	assert_non_null(strstr(wtl_gpu_instances_lack(&gpu.instances, &gpu.list), "not listed"));
	/* Of several, whichever it is. */
	gpu.list.n = 0;
	add_instance(&gpu, 2, 1, 10);
	add_process(&gpu, 10, 2, 5);
	for (size_t i = 0; i < 2; i++) {
		assert_null(wtl_gpu_instances_lack(&gpu.instances, &gpu.list));
		gpu.instances.at[i].has_activity = false;
		assert_non_null(wtl_gpu_instances_lack(&gpu.instances, &gpu.list));
		gpu.instances.at[i].has_activity = true;
	}
	gpu.instances.n = 0;
	assert_non_null(wtl_gpu_instances_lack(&gpu.instances, &gpu.list));
}

/* Whatever there is, the instances' weights are somebody's or nobody's by name, exactly. */
static void sum_stays(void **state)
{
	(void)state;
	srand(5);
	for (int round = 0; round < 3000; round++) {
		struct gpu gpu = {.n = 0};
		uint64_t all = 0, sum;

		for (uint32_t i = 0; i < 1 + (uint32_t)rand() % 7; i++) {
			add_instance(&gpu, i, 1 + (uint32_t)rand() % 7, 0);
			gpu.instances.at[i].activity_ppm = (uint32_t)rand() % 1000001;
			all += (uint64_t)gpu.instances.at[i].activity_ppm *
			       gpu.instances.at[i].slices;
		}
		for (int i = rand() % 60; i > 0; i--)
			add_process(&gpu, 1 + rand() % 20,
				    (uint32_t)(rand() % (int)gpu.instances.n),
				    rand() % 5 ? (uint64_t)(rand() % 80000) : UINT64_MAX);
		gpu.n = gpu.n ? (size_t)rand() % gpu.n + 1 : 0;
		weigh(&gpu);
		sum = gpu.sum.unseen_weight;
		for (size_t i = 0; i < gpu.n; i++)
			sum += gpu.processes[i].weight;
		assert_int_equal(sum, all);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_activity_and_size),
		cmocka_unit_test(by_memory_inside),
		cmocka_unit_test(no_guess),
		cmocka_unit_test(unseen),
		cmocka_unit_test(lacks),
		cmocka_unit_test(sum_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
