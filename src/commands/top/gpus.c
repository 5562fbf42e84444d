/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "commands/top/collect.h"

void wtl_top_gpus_join(struct wtl_top_view *view)
{
	for (size_t i = 0; i < view->n_domains; i++) {
		struct wtl_top_domain *domain = &view->domains[i];

		domain->gpu = -1;
		for (size_t k = 0; k < view->n_gpus && domain->kind == WATTLE_KIND_GPU; k++) {
			const struct wtl_gpu *gpu = &view->gpus[k];

			if (strcmp(gpu->domain, domain->name) != 0)
				continue;
			domain->gpu = (int)k;
			domain->limit_uw = gpu->numbers[WTL_GPU_LIMIT_UW].status == WATTLE_STATUS_OK
						   ? gpu->numbers[WTL_GPU_LIMIT_UW].value
						   : 0;
		}
	}
}

void wtl_top_gpus_show(const struct wtl_gpu_details *details, struct wtl_top_view *view)
{
	if (wtl_top_view_reserve(view, 0, details->n, 0, 0) == 0) {
		view->n_gpus = details->n;
		for (size_t i = 0; i < details->n; i++) {
			view->gpus[i] = details->gpus[i];
			view->gpu_answered_ns[i] = details->answered_ns;
		}
	}
	wtl_top_gpus_join(view);
}
