/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_LEDGER_H
#define WTL_ENERGY_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The accounts of one domain over one interval (DESIGN 1): every microjoule is in exactly one.
 * total_uj is what the domain measured; the others add up to it.
 */
struct wtl_ledger {
	uint64_t live_uj;   /* processes that still run */
	uint64_t exited_uj; /* processes that ended */
	uint64_t kernel_uj;
	uint64_t idle_uj;
	uint64_t unattributed_uj; /* what cannot be seen */
	uint64_t total_uj;
};

/* Do the accounts add up to the total, to the microjoule? */
bool wtl_ledger_closed(const struct wtl_ledger *ledger);

#endif
