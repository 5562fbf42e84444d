/* SPDX-License-Identifier: MIT */
#ifndef WTL_NVML_PROCESSES_H
#define WTL_NVML_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "energy/gpu.h"
#include "gpu/library.h"

/* Who has memory on a GPU, and who used how much of it (facts/gpu-and-nvml.md 3.4, 3.5). */

enum {
	WTL_NVML_PROCESSES_MAX = 4096, /* a list never grows longer: what is beyond is cut off */
	WTL_NVML_USES_MAX = 1024,
};

/* ---- Lists ---- */

struct wtl_nvml_process_list {
	struct wtl_gpu_process *at; /* names are not filled in; in NVML's order, each process once
				       per MIG instance */
	size_t n, room;
	bool is_cut;	 /* there were more processes, of which nothing is known */
	void *raw;	 /* what a call fills */
	size_t raw_size; /* bytes */
};

/*
 * Reads anew: compute, graphics and MPS together. Returns a code as wtl_nvml_call(), or -ENOMEM; the
 * list is empty unless it is WTL_NVML_OK. A kind of process that the driver cannot list is left out.
 */
int wtl_nvml_process_list_read(struct wtl_nvml_process_list *list, struct wtl_nvml_lib *lib,
			       uint64_t handle);
void wtl_nvml_process_list_done(struct wtl_nvml_process_list *list); /* a zeroed one is fine */

/* ---- Use ---- */

/* The newest sample of a process: percent, up to the moment t_us. */
struct wtl_nvml_process_use {
	int pid;
	uint64_t t_us;
	uint32_t sm, memory, encoder, decoder;
};

/*
 * The samples of one GPU. Each process is sampled at times of its own: a sample is new if it is
 * newer than the one before of the same process, and NVML is asked for all that are newer than the
 * oldest of the last answer.
 */
struct wtl_nvml_use_list {
	struct wtl_nvml_process_use *at; /* the new ones of the last read; room for `room` */
	size_t n;
	bool is_whole;			     /* nothing of that answer was cut off or rubbish */
	struct wtl_nvml_process_use *before; /* the newest of each process so far, bounded */
	size_t n_before, room_before;
	uint64_t asked_us; /* of the last question: last_seen */
	void *raw;
	uint32_t room;	/* samples that are asked for at once */
	size_t n_dirty; /* of raw, the samples that an answer may have left behind */
};

/*
 * Reads what is new. WTL_NVML_OK with n = 0: nobody used it, or nothing new. NOT_SUPPORTED: a GPU
 * that is divided by MIG, or one that is too old; FUNCTION_NOT_FOUND: a driver that is. Or -ENOMEM.
 */
int wtl_nvml_use_list_read(struct wtl_nvml_use_list *list, struct wtl_nvml_lib *lib,
			   uint64_t handle);
void wtl_nvml_use_list_done(struct wtl_nvml_use_list *list); /* a zeroed one is fine */

/* ---- Names ---- */

/*
 * NVML counts processes as the first PID namespace does. Do the numbers mean the same to this
 * process? Not in a container with a PID namespace of its own.
 */
bool wtl_nvml_pids_are_ours(struct wtl_io *io);

/*
 * Fills is_visible and name, by NVML and by /proc. lib may be NULL or not up: by /proc alone.
 * pids_are_ours is wtl_nvml_pids_are_ours()'s answer.
 */
void wtl_nvml_process_name(struct wtl_io *io, struct wtl_nvml_lib *lib, bool pids_are_ours,
			   struct wtl_gpu_process *process);

/* By NVML alone: as text, "" where it does not know. */
void wtl_nvml_name(struct wtl_nvml_lib *lib, int pid, char *name, size_t size);

/* The same for any process: its first argument, else its program, else "". */
void wtl_process_program(struct wtl_io *io, int pid, char *name, size_t size);

#endif
