/* SPDX-License-Identifier: MIT */
#include "energy/ledger.h"

static uint64_t *account_at(struct wtl_ledger *ledger, enum wtl_ledger_account account)
{
	switch (account) {
	case WTL_LEDGER_LIVE:
		return &ledger->live_uj;
	case WTL_LEDGER_EXITED:
		return &ledger->exited_uj;
	case WTL_LEDGER_KERNEL:
		return &ledger->kernel_uj;
	case WTL_LEDGER_UNATTRIBUTED:
		break;
	}
	return &ledger->unattributed_uj;
}

/* idle_uw means nothing where has_idle is false. */
static void add_share(struct wtl_ledger *ledger, enum wtl_ledger_account account,
		      const struct wtl_share *share, uint64_t idle_uw)
{
	uint64_t idle_uj = ledger->has_idle ? wtl_share_idle_uj(share, idle_uw) : 0;

	ledger->idle_uj += idle_uj;
	*account_at(ledger, account) += share->full_uj - idle_uj;
	ledger->total_uj += share->full_uj;
}

static enum wtl_ledger_account account_of_slot(uint32_t slot, wtl_ledger_account_of *account_of,
					       void *context)
{
	if (slot == WTL_SLOT_INTERRUPTS)
		return WTL_LEDGER_KERNEL;
	if (slot < WTL_SLOTS_FIXED)
		return WTL_LEDGER_UNATTRIBUTED;
	return account_of(context, slot);
}

void wtl_ledger_of(const struct wtl_attribution *attribution, size_t domain,
		   wtl_ledger_account_of *account_of, void *context,
		   const struct wtl_baseline *baseline, struct wtl_ledger *ret_ledger)
{
	struct wtl_ledger ledger = {.has_idle = baseline && baseline->is_known};
	uint32_t n = wtl_attribution_slots(attribution);

	for (uint32_t slot = 0; slot < n; slot++) {
		struct wtl_share share = wtl_attribution_share(attribution, slot, domain);

		if (share.full_uj == 0)
			continue;
		add_share(&ledger, account_of_slot(slot, account_of, context), &share,
			  ledger.has_idle ? baseline->idle_uw : 0);
	}
	*ret_ledger = ledger;
}

bool wtl_ledger_closed(const struct wtl_ledger *ledger)
{
	const uint64_t parts[] = {ledger->live_uj, ledger->exited_uj, ledger->kernel_uj,
				  ledger->idle_uj, ledger->unattributed_uj};
	uint64_t sum = 0;

	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (__builtin_add_overflow(sum, parts[i], &sum))
			return false;
	return sum == ledger->total_uj;
}
