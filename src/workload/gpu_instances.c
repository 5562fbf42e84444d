/* SPDX-License-Identifier: MIT */
#include "workload/gpu_instances.h"

typedef unsigned __int128 wide;

static bool is_in(const struct wtl_gpu_process *process, const struct wtl_nvml_instance *instance)
{
	return process->instance == instance->id;
}

static bool has_instance(const struct wtl_nvml_instances *instances,
			 const struct wtl_gpu_process *process)
{
	for (size_t i = 0; i < instances->n; i++)
		if (is_in(process, &instances->at[i]))
			return true;
	return false;
}

const char *wtl_gpu_instances_lack(const struct wtl_nvml_instances *instances,
				   const struct wtl_nvml_process_list *list)
{
	for (size_t i = 0; i < instances->n; i++)
		if (!instances->at[i].has_activity)
			return "the first sample of an instance";
	for (size_t i = 0; i < list->n; i++)
		if (!has_instance(instances, &list->at[i]))
			return "a process in an instance that is not listed";
	return NULL;
}

/* How an instance's weight is cut up: by memory, or all to the only one. */
struct cut {
	int pid; /* of the first process there */
	bool is_shared;
	uint64_t memory; /* of all, KiB */
};

static uint64_t memory_of(const struct wtl_gpu_process *process)
{
	return process->memory_bytes == UINT64_MAX ? 0 : process->memory_bytes >> 10;
}

static struct cut look_at(const struct wtl_nvml_process_list *list,
			  const struct wtl_nvml_instance *instance)
{
	struct cut cut = {.pid = 0};

	for (size_t i = 0; i < list->n; i++) {
		if (!is_in(&list->at[i], instance))
			continue;
		cut.memory += memory_of(&list->at[i]);
		if (cut.pid == 0)
			cut.pid = list->at[i].pid;
		cut.is_shared = cut.is_shared || list->at[i].pid != cut.pid;
	}
	return cut;
}

static struct wtl_gpu_use_process *find(struct wtl_gpu_use_process processes[], size_t n, int pid)
{
	for (size_t i = 0; i < n; i++)
		if (processes[i].pid == pid)
			return &processes[i];
	return NULL;
}

static void give(struct wtl_gpu_use_process *process, uint64_t weight,
		 struct wtl_gpu_instances_sum *sum)
{
	if (process)
		process->weight += weight;
	else
		sum->unseen_weight += weight;
}

static void divide(const struct wtl_nvml_process_list *list,
		   const struct wtl_nvml_instance *instance, struct wtl_gpu_use_process processes[],
		   size_t n_processes, struct wtl_gpu_instances_sum *sum)
{
	uint64_t weight = (uint64_t)instance->activity_ppm * instance->slices, given = 0,
		 so_far = 0;
	struct cut cut = look_at(list, instance);

	if (!cut.is_shared) {
		give(find(processes, n_processes, cut.pid), weight, sum);
		return;
	}
	sum->is_guess = sum->is_guess || weight > 0;
	for (size_t i = 0; i < list->n && cut.memory > 0; i++) {
		uint64_t end;

		if (!is_in(&list->at[i], instance))
			continue;
		so_far += memory_of(&list->at[i]);
		end = (uint64_t)((wide)weight * so_far / cut.memory);
		give(find(processes, n_processes, list->at[i].pid), end - given, sum);
		given = end;
	}
	sum->unseen_weight += weight - given;
}

void wtl_gpu_instances_weigh(const struct wtl_nvml_instances *instances,
			     const struct wtl_nvml_process_list *list,
			     struct wtl_gpu_use_process processes[], size_t n_processes,
			     struct wtl_gpu_instances_sum *ret_sum)
{
	struct wtl_gpu_instances_sum sum = {0};

	for (size_t i = 0; i < n_processes; i++)
		processes[i].weight = 0;
	for (size_t i = 0; i < instances->n; i++)
		divide(list, &instances->at[i], processes, n_processes, &sum);
	for (size_t i = 0; i < n_processes; i++) {
		uint64_t ppm =
			instances->slices ? processes[i].weight / instances->slices : 1000000;

		processes[i].use_ppm = ppm < 1000000 ? (uint32_t)ppm : 1000000;
	}
	*ret_sum = sum;
}
