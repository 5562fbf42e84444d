/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_ESTIMATE_KERNELS_H
#define WTL_COMMANDS_ESTIMATE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neural/network.h"

struct wtl_err;

/* Short loops of known work on all CPUs that wattle may use: matrix products, and streams through memory. */

enum wtl_kernel_kind { WTL_KERNEL_MAC, WTL_KERNEL_CACHE, WTL_KERNEL_DRAM };

struct wtl_kernel {
	const char *name; /* "gemm fp32" */
	enum wtl_kernel_kind kind;
	enum wtl_precision precision; /* of MACs */
	uint64_t work;		      /* of one round, by all threads: MACs, or bytes */
	bool is_blas;		      /* it starts its threads itself */
};

struct wtl_kernels;

/* Loads OpenBLAS if it is installed; else wtl_kernels_blas() is "". Memory is allocated when a kernel runs. */
int wtl_kernels_new(struct wtl_kernels **ret, struct wtl_err *err);
void wtl_kernels_free(struct wtl_kernels *kernels);

size_t wtl_kernels_count(const struct wtl_kernels *kernels);
const struct wtl_kernel *wtl_kernels_get(const struct wtl_kernels *kernels, size_t i);
unsigned wtl_kernels_threads(const struct wtl_kernels *kernels);
/* Bytes of the processor's last-level cache; DRAM's kernel uses far more. */
uint64_t wtl_kernels_cache(const struct wtl_kernels *kernels);
const char *wtl_kernels_blas(const struct wtl_kernels *kernels);

/* Starts threads that are ready for a kernel, with filled memory. 0 or negative errno: then there are none. */
int wtl_kernels_prepare(struct wtl_kernels *kernels, size_t i, uint64_t rounds, int done);
/* Runs the kernel; `done` (an eventfd) becomes readable at its end. */
void wtl_kernels_go(struct wtl_kernels *kernels);
/* Waits for the end. Nanoseconds from the first thread's start to the last one's end; negative: out of memory. */
int64_t wtl_kernels_finish(struct wtl_kernels *kernels);

#endif
