/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "commands/profile/kineto.h"

/* A trace of torch.profiler, of a program that ran for a second and used 100 J of a GPU. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct wattle_window window = {.begin_utc_ns = INT64_C(1700000000000000000),
					     .begin_mono_ns = INT64_C(5000000000),
					     .duration_ns = INT64_C(1000000000)};
	struct wtl_kernel_step step = {INT64_C(5000000000), INT64_C(6000000000), 100000000};
	const struct wtl_kernel_steps steps = {.list = &step, .n = 1, .total_uj = 100000000};
	struct wtl_kineto kineto = {.n = 0};

	if (wtl_kineto_read(&kineto, (const char *)data, size, &window, NULL) == 0)
		for (uint32_t i = 0; i < kineto.n_gpus; i++) {
			uint64_t sum_uj =
				wtl_kernels_divide(kineto.kernels, kineto.n, i, &steps, 0);

			for (size_t k = 0; k < kineto.n; k++)
				sum_uj += kineto.kernels[k].gpu == i ? kineto.kernels[k].energy_uj
								     : 0;
			if (sum_uj != steps.total_uj)
				abort();
		}
	wtl_kineto_done(&kineto);
	return 0;
}
