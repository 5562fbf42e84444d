/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_ESTIMATE_KERNELS_H
#define WTL_COMMANDS_ESTIMATE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neural/network.h"

struct wtl_err;

/* Short loops whose work is known: products of matrices, and streams through memory, on all CPUs that wattle may use. */

enum wtl_kernel_kind { WTL_KERNEL_MAC, WTL_KERNEL_CACHE, WTL_KERNEL_DRAM };

struct wtl_kernel {
	const char *name; /* "gemm fp32" */
	enum wtl_kernel_kind kind;
	enum wtl_precision precision; /* of MACs */
	uint64_t work;		      /* of a round, of all threads together: MACs, or bytes */
	bool is_blas;		      /* it starts its threads itself */
};

struct wtl_kernels;

/* Loads OpenBLAS where the machine has it; "" tells that it has not. Memory is taken when a kernel runs. */
int wtl_kernels_new(struct wtl_kernels **ret, struct wtl_err *err);
void wtl_kernels_free(struct wtl_kernels *kernels);

size_t wtl_kernels_count(const struct wtl_kernels *kernels);
const struct wtl_kernel *wtl_kernels_get(const struct wtl_kernels *kernels, size_t i);
unsigned wtl_kernels_threads(const struct wtl_kernels *kernels);
/* Bytes of the last level of the processor's cache; what DRAM's kernel goes through is larger by far. */
uint64_t wtl_kernels_cache(const struct wtl_kernels *kernels);
const char *wtl_kernels_blas(const struct wtl_kernels *kernels);

/* Threads that are ready for a kernel, with memory that is filled. 0 or negative errno; then there are none. */
int wtl_kernels_prepare(struct wtl_kernels *kernels, size_t i, uint64_t rounds, int done);
/* It runs from now on; `done` (an eventfd) becomes readable at its end. */
void wtl_kernels_go(struct wtl_kernels *kernels);
/* Waits for its end. How long it took, from the first thread's start to the last one's end; negative: it lacked memory. */
int64_t wtl_kernels_finish(struct wtl_kernels *kernels);

#endif
