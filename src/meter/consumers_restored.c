/* SPDX-License-Identifier: MIT */
/* Accounts that were kept, and are told as they were. */
#include <errno.h>

#include "base/array.h"
#include "meter/consumers_state.h"
#include "meter/observer.h"

void wtl_consumers_restore_account(struct wtl_consumers *consumers, uint32_t slot, size_t domain,
				   const struct wtl_share *share)
{
	size_t capacity = wtl_workload_capacity(consumers->workload);

	if (domain >= consumers->n_domains)
		return;
	/* Without room it counts as unseen, and the sum stays right. */
	wtl_attribution_grow(consumers->own.attribution, capacity > slot ? capacity : slot + 1u);
	wtl_attribution_restore(consumers->own.attribution, slot, domain, share);
}

int wtl_consumers_restore_per_cpu(struct wtl_consumers *consumers, uint32_t slot,
				  const struct wtl_per_cpu *per_cpu)
{
	if (wtl_array_widen(&consumers->per_cpus, &consumers->n_per_cpus, slot + 1u,
			    sizeof(*per_cpu)) < 0)
		return -ENOMEM;
	consumers->per_cpus[slot] = *per_cpu;
	return 0;
}

void wtl_consumers_restore_learned(struct wtl_consumers *consumers, size_t domain)
{
	struct wtl_gpu_learned *gpu =
		wtl_consumers_gpu_learned(consumers, &consumers->domains[domain]);

	if (gpu)
		wtl_gpu_learned_restore(gpu);
	else if (consumers->learned)
		wtl_learned_restore(consumers->learned, domain);
}

void wtl_consumers_restore_billed(struct wtl_consumers *consumers,
				  const struct wattle_energy energies[])
{
	for (size_t i = 0; i < consumers->n_domains; i++)
		if (energies[i].has_energy)
			wtl_billed_note(&consumers->own.billed[i], &consumers->domains[i],
					&energies[i]);
}
