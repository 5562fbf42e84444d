/* SPDX-License-Identifier: MIT */
/* Accounts that were kept, and are told as they were. */
#include "meter/consumers_state.h"

void wtl_consumers_restore_account(struct wtl_consumers *consumers, uint32_t slot, size_t domain,
				   const struct wtl_share *share)
{
	const struct wtl_use all = {.slot = slot, .weight = 1};
	size_t capacity = wtl_workload_capacity(consumers->workload);

	if (domain >= consumers->n_domains)
		return;
	/* Without room it is nobody's that is known, and the sum stays right. */
	wtl_attribution_grow(consumers->own.attribution, capacity > slot ? capacity : slot + 1u);
	wtl_attribution_add(consumers->own.attribution, domain, share->full_uj, share->share_ns,
			    &all, 1);
}

void wtl_consumers_restore_billed(struct wtl_consumers *consumers,
				  const struct wattle_energy energies[])
{
	for (size_t i = 0; i < consumers->n_domains; i++)
		if (energies[i].has_energy)
			wtl_billed_note(&consumers->own.billed[i], &consumers->domains[i],
					&energies[i]);
}
