/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_KERNELS_H
#define WTL_PROFILE_KERNELS_H

#include <stddef.h>
#include <stdint.h>

struct wtl_split;

/*
 * Divides a GPU's energy among the kernels that ran on it. The energy above idle between two changes of the counter is
 * split by how long each kernel ran in that time. Every microjoule goes to a kernel, to idle, or to "no kernel ran".
 */

struct wtl_kernel {
	int64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t energy_uj;
	uint32_t name; /* a number that the caller chose */
	uint32_t gpu;
	int tid; /* the thread that launched it at launched_ns; 0: not known */
	int64_t launched_ns;
};

/* From one change of a counter to the next. */
struct wtl_kernel_step {
	int64_t begin_ns, end_ns;
	uint64_t dynamic_uj;
};

struct wtl_kernel_steps {
	struct wtl_kernel_step *list;
	size_t n;
	uint64_t idle_uj; /* already subtracted from the steps */
	uint64_t total_uj;
};

/* The steps of a domain. idle_uw: its idle power, UINT64_MAX: not known. 0 or -ENOMEM; free() the list. */
int wtl_kernel_steps_make(const struct wtl_split *split, size_t domain, uint64_t idle_uw,
			  struct wtl_kernel_steps *ret_steps);

/*
 * How late the sensor shows what runs, below 1.5 s: the lag at which its power correlates best with the kernels. 0
 * where no lag is clearly better than none.
 */
int64_t wtl_kernels_lag(const struct wtl_kernel kernels[], size_t n, uint32_t gpu,
			const struct wtl_kernel_steps *steps);

/* Adds to each kernel of that GPU its part of the energy. Returns the energy of times without a kernel. */
uint64_t wtl_kernels_divide(struct wtl_kernel kernels[], size_t n, uint32_t gpu,
			    const struct wtl_kernel_steps *steps, int64_t lag_ns);

#endif
