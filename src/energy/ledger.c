/* SPDX-License-Identifier: MIT */
#include "energy/ledger.h"

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
