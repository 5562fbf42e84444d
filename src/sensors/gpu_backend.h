/* SPDX-License-Identifier: MIT */
#ifndef WTL_SENSORS_GPU_BACKEND_H
#define WTL_SENSORS_GPU_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/io.h"
#include "energy/gpu.h"
#include "sensors/source.h"

struct wtl_err;

/* What gpu_info.c asks of those that know one maker's GPUs, and what these share (gpu_rows.c). */

enum { WTL_GPUS_MAX = 256 };

/* The rows of a reader. They move in memory when one is added: back ends keep their indices. */
struct wtl_gpu_list {
	struct wtl_gpu *at;
	size_t n;
	unsigned n_domains; /* "gpu-N" given out so far */
};

struct wtl_gpu_backend {
	size_t state_size; /* zeroed bytes */

	/* Adds its GPUs to the list. 0 or -ENOMEM; close() follows in any case. */
	int (*open)(void *state, const struct wtl_env *env,
		    const struct wtl_source_options *options, struct wtl_gpu_list *list);
	/* Reads what is asked for (enum in gpu_info.h) of its own rows. */
	void (*read)(void *state, unsigned what, struct wtl_gpu_list *list);
	/* NULL: its GPUs cannot be set. gpu is one of its rows, and its status is OK. */
	int (*set_limit)(void *state, const struct wtl_gpu *gpu, size_t index, uint64_t limit_uw,
			 struct wtl_err *err);
	int (*set_persistence)(void *state, const struct wtl_gpu *gpu, size_t index, bool on,
			       struct wtl_err *err);
	void (*close)(void *state); /* of a half-opened state, too */
};

extern const struct wtl_gpu_backend wtl_gpu_nvml;
extern const struct wtl_gpu_backend wtl_gpu_amdgpu;
extern const struct wtl_gpu_backend wtl_gpu_intel;

/* A row with nothing known; NULL: no memory, or WTL_GPUS_MAX rows. */
struct wtl_gpu *wtl_gpu_list_add(struct wtl_gpu_list *list, const char *vendor);

/* The next energy domain's name. */
void wtl_gpu_list_name(struct wtl_gpu_list *list, struct wtl_gpu *gpu);

void wtl_gpu_set(struct wtl_gpu *gpu, enum wtl_gpu_number number, uint64_t value);
void wtl_gpu_unset(struct wtl_gpu *gpu, enum wtl_gpu_number number, enum wattle_status status,
		   int code);

/* The whole row: status, words (may be NULL), and all numbers and processes with the same status. */
void wtl_gpu_fail(struct wtl_gpu *gpu, enum wattle_status status, int code, const char *trouble);
void wtl_gpu_recover(struct wtl_gpu *gpu); /* status OK; the numbers keep what they had */

/* "0000:17:00.0" as bus_id, pci_domain and so on; anything else is kept as it is. */
void wtl_gpu_set_address(struct wtl_gpu *gpu, const char *address);

#endif
