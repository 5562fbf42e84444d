/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_KINETO_H
#define WTL_COMMANDS_PROFILE_KINETO_H

#include <stddef.h>
#include <stdint.h>

#include "commands/profile/format.h"
#include "profile/kernels.h"

struct wtl_err;

/*
 * A trace that the profiled program wrote with torch.profiler (Kineto's Chrome trace): its GPU kernels get the joules that
 * the GPUs used meanwhile, and what was measured can be put into a copy of the trace.
 */

enum { WTL_KINETO_GPUS = 64 };

struct wtl_kineto_gpu {
	int device; /* as the trace counts */
	int domain; /* < 0: none is known to be this one's */
	char name[64];
	size_t n_kernels;
	struct wtl_kernel_steps steps;
	uint64_t none_uj; /* above idle, while no kernel ran */
	int64_t lag_ns;
};

struct wtl_kineto {
	struct wtl_kernel *kernels;
	void **events; /* of the trace: one a kernel */
	size_t n, room;
	struct wtl_tree names; /* its names: those of kernels */
	struct wtl_kineto_gpu gpus[WTL_KINETO_GPUS];
	size_t n_gpus;
	int64_t base_utc_ns; /* what times in the trace are counted from */
	void *document;
	size_t n_outside; /* kernels that ran before the profile began or after its end */
};

/* The trace at that path (NULL: none), read and divided, for the profile. 0, or negative: the profile is told without it.
 * done() in any case. */
int wtl_kineto_load(const char *path, struct wtl_profile *profile, struct wtl_kineto *kineto,
		    struct wtl_err *err);

/* 0; -WTL_EFORMAT, -ENODATA: there is no kernel of that time in it; -ENOMEM. done() in any case. */
int wtl_kineto_read(struct wtl_kineto *kineto, const char *text, size_t len,
		    const struct wattle_window *window, struct wtl_err *err);
/* Finds their GPUs, of those that CUDA_VISIBLE_DEVICES (or NULL) names, and divides what these used. 0 or -ENOMEM. */
int wtl_kineto_divide(struct wtl_kineto *kineto, const struct wtl_profile *profile,
		      const char *visible);
void wtl_kineto_done(struct wtl_kineto *kineto);
/* A copy of the trace with joules of kernels, and power and energy over time. 0 or the buffer's error. */
int wtl_kineto_merge(struct wtl_buf *buf, const struct wtl_kineto *kineto,
		     const struct wtl_profile *profile);

/* For people, and for JSON. Nothing where there is no trace. */
void wtl_kineto_text(struct wtl_buf *buf, const struct wtl_profile *profile,
		     const struct wtl_output_style *style);
void wtl_kineto_doc(struct wtl_node *to, const struct wtl_profile *profile);

#endif
