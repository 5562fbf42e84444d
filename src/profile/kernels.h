/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_KERNELS_H
#define WTL_PROFILE_KERNELS_H

#include <stddef.h>
#include <stdint.h>

struct wtl_split;

/*
 * What a GPU used among the kernels that ran on it: the energy between two changes of its counter goes, above idle, to the
 * kernels that ran in that time, by how long. Every microjoule goes to one kernel, to idle, or to "no kernel ran".
 */

struct wtl_kernel {
	int64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t energy_uj;
	uint32_t name; /* a number of the caller's */
	uint32_t gpu;
	int tid; /* the thread that launched it, at that time; 0: not known */
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
	uint64_t idle_uj; /* taken out of them */
	uint64_t total_uj;
};

/* Of a domain, of which the idle power is known or UINT64_MAX. 0 or -ENOMEM; free() the list. */
int wtl_kernel_steps_make(const struct wtl_split *split, size_t domain, uint64_t idle_uw,
			  struct wtl_kernel_steps *ret_steps);

/*
 * How much later the sensor shows what runs, up to 1.5 s: where its power goes with the kernels best. 0 where
 * nothing speaks for anything else.
 */
int64_t wtl_kernels_lag(const struct wtl_kernel kernels[], size_t n, uint32_t gpu,
			const struct wtl_kernel_steps *steps);

/* Adds its part to each kernel of that GPU. Returns what is of times without a kernel. */
uint64_t wtl_kernels_divide(struct wtl_kernel kernels[], size_t n, uint32_t gpu,
			    const struct wtl_kernel_steps *steps, int64_t lag_ns);

#endif
