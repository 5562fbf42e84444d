/* SPDX-License-Identifier: MIT */
#ifndef WTL_WORKLOAD_GPU_USE_H
#define WTL_WORKLOAD_GPU_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/io.h"
#include "energy/gpu.h"

struct wtl_err;

/*
 * Who uses the GPUs, as weights for dividing their energy (struct wtl_use of energy/attribution.h).
 * A tick may take long (NVML has locks of its own, and looking for DRM clients means looking at every
 * process), so this is for a thread of its own; it has its own hold on NVML, and one thread at a
 * time uses it.
 */

enum wtl_gpu_use_method {
	WTL_GPU_USE_NONE,    /* not known, see reason: the energy is unattributed */
	WTL_GPU_USE_SAMPLES, /* the driver's samples of SM use, smoothed over some 4 s */
	WTL_GPU_USE_FDINFO,  /* the time that engines worked for each process */
	WTL_GPU_USE_MEMORY,  /* a guess: by how much memory each holds */
	/* MIG: by how busy each instance was and how large it is. Recordings hold these numbers. */
	WTL_GPU_USE_INSTANCES,
	WTL_GPU_USE_INSTANCES_MEMORY, /* and inside of an instance by memory: a guess */
	WTL_GPU_USE_METHODS
};

/* "sm-use", "fdinfo", "memory (a guess)", "instance-use", "instance-use, memory (a guess)"; NULL for
 * WTL_GPU_USE_NONE. */
const char *wtl_gpu_use_method_name(enum wtl_gpu_use_method method);
bool wtl_gpu_use_method_is_guess(enum wtl_gpu_use_method method);

/* Have their weights the same unit? */
bool wtl_gpu_use_methods_agree(enum wtl_gpu_use_method one, enum wtl_gpu_use_method other);

/* The other way: WTL_GPU_USE_NONE for NULL and unknown names. */
enum wtl_gpu_use_method wtl_gpu_use_method_find(const char *name);

struct wtl_gpu_use_process {
	int pid;	       /* is_visible: here; else as the first PID namespace counts */
	bool is_visible;       /* false: no process here is to be billed for it */
	uint64_t weight;       /* in units of its GPU; 0 is fine */
	uint32_t use_ppm;      /* of the whole GPU; UINT32_MAX: not known */
	uint64_t memory_bytes; /* UINT64_MAX: not known */
	char name[32];	       /* of one that is not visible, by NVML: its program; "": not known */
};

struct wtl_gpu_use_gpu {
	char domain[32]; /* of the energy, as given to _new() */
	enum wtl_gpu_use_method method;
	char reason[128]; /* why there is no method, or what it misses; or "" */
	const struct wtl_gpu_use_process *processes; /* each pid once */
	size_t n_processes;
	uint64_t unseen_weight; /* of processes without room, or in no list: nobody's by name */
};

enum { WTL_GPU_USE_PROCESSES_MAX = 1024 }; /* for each GPU */

enum { WTL_GPU_USE_WHOLE = 8000000 }; /* the weight of all SMs, where samples tell */

struct wtl_gpu_use;

/*
 * gpus: identities as a wtl_gpu_reader gives them (domain, vendor, bus_id, uuid); those without a
 * domain are left out. nvml_path as in struct wtl_source_options. Wakes nothing. 0 or -ENOMEM; a
 * driver that does not answer is a reason, not an error.
 */
int wtl_gpu_use_new(const struct wtl_env *env, const char *nvml_path, const struct wtl_gpu gpus[],
		    size_t n_gpus, struct wtl_gpu_use **ret_use, struct wtl_err *err);
void wtl_gpu_use_free(struct wtl_gpu_use *use); /* NULL is fine */

/* Looks anew: about once a second. now_ns is monotonic. */
void wtl_gpu_use_tick(struct wtl_gpu_use *use, int64_t now_ns);

/* Borrowed, until the next tick. In the order of _new(). */
const struct wtl_gpu_use_gpu *wtl_gpu_use_gpus(const struct wtl_gpu_use *use, size_t *ret_n);

#endif
