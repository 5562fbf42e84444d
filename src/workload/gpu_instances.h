/* SPDX-License-Identifier: MIT */
#ifndef WTL_WORKLOAD_GPU_INSTANCES_H
#define WTL_WORKLOAD_GPU_INSTANCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/instances.h"
#include "gpu/processes.h"
#include "workload/gpu_use.h"

/*
 * Divides what a GPU did among its processes where MIG divides it: arithmetic only.
 *
 * An instance weighs its activity times its slices. Its processes share that by the memory they have
 * in it; one that is alone has all of it. Weights add up to all instances' weights: what cannot be
 * given to anybody (no process is seen there, or there was no room for it) is nobody's by name.
 */
struct wtl_gpu_instances_sum {
	uint64_t unseen_weight;
	bool is_guess; /* some processes shared an instance that was busy: memory decided */
};

/* Why that cannot be done, or NULL if it can: all activity and every process's instance is known. */
const char *wtl_gpu_instances_lack(const struct wtl_nvml_instances *instances,
				   const struct wtl_nvml_process_list *list);

/* Sets weight and use_ppm of processes[], which are those of the list that there is room for. */
void wtl_gpu_instances_weigh(const struct wtl_nvml_instances *instances,
			     const struct wtl_nvml_process_list *list,
			     struct wtl_gpu_use_process processes[], size_t n_processes,
			     struct wtl_gpu_instances_sum *ret_sum);

#endif
