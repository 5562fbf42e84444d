/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_LEDGER_H
#define WTL_ENERGY_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "energy/attribution.h"
#include "energy/baseline.h"

/*
 * The accounts of one domain over one interval (DESIGN 1): every microjoule is in exactly one.
 * total_uj is what the domain measured; the others add up to it.
 */
struct wtl_ledger {
	bool has_idle;	  /* false: no idle baseline is known, and the idle part is in the others */
	uint64_t live_uj; /* processes that still run */
	uint64_t exited_uj;	  /* processes that ended */
	uint64_t kernel_uj;	  /* kernel threads and interrupts */
	uint64_t idle_uj;	  /* what the domain draws anyway, taken out of all the others */
	uint64_t unattributed_uj; /* what cannot be seen */
	uint64_t total_uj;
};

/* Which account the dynamic part of a share belongs to. */
enum wtl_ledger_account {
	WTL_LEDGER_LIVE,
	WTL_LEDGER_EXITED,
	WTL_LEDGER_KERNEL,
	WTL_LEDGER_UNATTRIBUTED,
};

/* The account of a consumer's slot (never one of the fixed slots). */
typedef enum wtl_ledger_account wtl_ledger_account_of(void *context, uint32_t slot);

/*
 * The ledger of a domain from all its shares. Interrupts are the kernel's; what nobody seen used is
 * unattributed. Without a baseline (NULL, or not known) each account holds full shares.
 */
void wtl_ledger_of(const struct wtl_attribution *attribution, size_t domain,
		   wtl_ledger_account_of *account_of, void *context,
		   const struct wtl_baseline *baseline, struct wtl_ledger *ret_ledger);

/* Do the accounts add up to the total, to the microjoule? */
bool wtl_ledger_closed(const struct wtl_ledger *ledger);

#endif
