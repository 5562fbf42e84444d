/* SPDX-License-Identifier: MIT */
#ifndef WTL_NVML_INSTANCES_H
#define WTL_NVML_INSTANCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/library.h"

/*
 * The GPU instances that MIG divides a GPU into, and how busy each was: by GPM (facts/gpu-and-nvml.md
 * 3.2), which Hopper and later have. Several MIG devices (compute instances) may lie in one GPU
 * instance; GPM knows GPU instances.
 */

enum { WTL_NVML_INSTANCES_MAX = 16 }; /* NVIDIA's limit is 7 */

/* Two samples have to be so far apart for NVML to compare them. */
#define WTL_NVML_GPM_APART_NS (100 * INT64_C(1000000))

struct wtl_nvml_instance {
	uint32_t id;
	uint32_t slices;       /* its part of the GPU's */
	bool has_activity;     /* there were two samples */
	uint32_t activity_ppm; /* of its own SMs, the mean of the time between them */
	uint64_t sample;       /* the newest one: a handle of the library's; 0: none yet */
	int64_t t_ns;	       /* of that */
};

struct wtl_nvml_instances {
	struct wtl_nvml_instance at[WTL_NVML_INSTANCES_MAX];
	size_t n;
	uint32_t slices; /* of the whole GPU */
	bool is_divided; /* by MIG, as of the last read */
	bool is_supported;
	int refused; /* an answer that will not change, so that nobody asks again; or WTL_NVML_OK */
	uint64_t spare; /* a sample for the next one to use */
};

/*
 * Lists the instances anew and samples each (one that was sampled less than WTL_NVML_GPM_APART_NS
 * before now_ns keeps its activity). WTL_NVML_OK: all were sampled, though new ones have no activity
 * yet. Else a code as wtl_nvml_call(): NOT_SUPPORTED for a GPU without GPM, or without MIG.
 */
int wtl_nvml_instances_read(struct wtl_nvml_instances *instances, struct wtl_nvml_lib *lib,
			    uint64_t handle, int64_t now_ns);

/* Gives the samples back, if the library is up, and knows nothing any more. A zeroed one is fine. */
void wtl_nvml_instances_done(struct wtl_nvml_instances *instances, struct wtl_nvml_lib *lib);

#endif
