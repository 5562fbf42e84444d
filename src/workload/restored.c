/* SPDX-License-Identifier: MIT */
/* A workload that is filled from a recording. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "workload/state.h"

int wtl_workload_new_restored(struct wtl_workload **ret_workload, struct wtl_err *err)
{
	struct wtl_workload *workload = calloc(1, sizeof(*workload));

	if (workload) {
		workload->is_restored = true;
		workload->find.loadavg = workload->stat = workload->exits = -1;
	}
	if (!workload || wtl_roster_init(&workload->roster, UINT32_MAX) < 0) {
		wtl_workload_free(workload);
		return wtl_err_set(err, ENOMEM, "workload", NULL, "out of memory");
	}
	*ret_workload = workload;
	return 0;
}

struct wtl_consumer *wtl_workload_restore_consumer(struct wtl_workload *workload, uint32_t slot)
{
	struct wtl_roster *roster = &workload->roster;

	if (slot < WTL_SLOTS_FIXED || slot >= WTL_RESTORED_SLOTS_MAX)
		return NULL;
	while (roster->n_used <= slot) {
		int64_t added = wtl_roster_add(roster, WTL_PLACE_ROW);

		if (added < 0)
			return NULL;
		roster->places[added].kind = WTL_PLACE_FREE;
	}
	roster->places[slot].kind = WTL_PLACE_PROCESS;
	return &roster->consumers[slot];
}

void wtl_workload_restore_nobody(struct wtl_workload *workload, uint32_t slot)
{
	if (slot >= WTL_SLOTS_FIXED && slot < workload->roster.n_used)
		workload->roster.places[slot].kind = WTL_PLACE_FREE;
}

void wtl_workload_restore_scan(struct wtl_workload *workload, const struct wtl_workload_scan *scan)
{
	workload->scan = *scan;
	workload->has_restored_scan = true;
}

void wtl_workload_restore_weight(struct wtl_workload *workload, enum wtl_weight weight)
{
	workload->weight = weight;
}
