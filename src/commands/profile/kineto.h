/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_KINETO_H
#define WTL_COMMANDS_PROFILE_KINETO_H

#include <stddef.h>
#include <stdint.h>

#include "commands/profile/format.h"
#include "profile/kernels.h"

struct wtl_err;

/*
 * A trace that the profiled program wrote with torch.profiler (Kineto's Chrome trace): its GPU kernels get the joules
 * that the GPUs used meanwhile. A copy of the trace can be written with all that was measured.
 */

enum { WTL_KINETO_GPUS = 64 };

struct wtl_kineto_gpu {
	int device; /* the trace's device number */
	int domain; /* the meter's; < 0: not known */
	char name[64];
	size_t n_kernels;
	struct wtl_kernel_steps steps;
	uint64_t none_uj; /* above idle, while no kernel ran */
	int64_t lag_ns;
};

struct wtl_kineto {
	struct wtl_kernel *kernels;
	void **events; /* the trace's event of each kernel */
	size_t n, room;
	struct wtl_tree names; /* its names: kernels' names */
	struct wtl_kineto_gpu gpus[WTL_KINETO_GPUS];
	size_t n_gpus;
	int64_t base_utc_ns; /* zero of the times in the trace */
	void *document;
	size_t n_outside; /* kernels that ran before the profile began or after its end */
};

/* Reads the trace at path (NULL: none) and divides energy among its kernels. 0, or negative: the profile is shown
 * without it. done() in any case. */
int wtl_kineto_load(const char *path, struct wtl_profile *profile, struct wtl_kineto *kineto,
		    struct wtl_err *err);

/* 0; -WTL_EFORMAT; -ENODATA: no kernel ran in the window; -ENOMEM. done() in any case. */
int wtl_kineto_read(struct wtl_kineto *kineto, const char *text, size_t len,
		    const struct wattle_window *window, struct wtl_err *err);
/* Finds the domains of the GPUs by CUDA_VISIBLE_DEVICES (or NULL), and divides their energy. 0 or -ENOMEM. */
int wtl_kineto_divide(struct wtl_kineto *kineto, const struct wtl_profile *profile,
		      const char *visible);
void wtl_kineto_done(struct wtl_kineto *kineto);
/* Writes a copy of the trace with joules of kernels, and power and energy over time. 0 or the buffer's error. */
int wtl_kineto_merge(struct wtl_buf *buf, const struct wtl_kineto *kineto,
		     const struct wtl_profile *profile);

/* As text, and as JSON. Nothing if there is no trace. */
void wtl_kineto_text(struct wtl_buf *buf, const struct wtl_profile *profile,
		     const struct wtl_output_style *style);
void wtl_kineto_doc(struct wtl_node *to, const struct wtl_profile *profile);

#endif
