/* SPDX-License-Identifier: MIT */
/* The memory of processes: the slow tier. */
#include <stdio.h>

#include "workload/procfs.h"
#include "workload/state.h"

/* PSS and USS, which need the right to look into the process; false without it. */
static bool rollup_read(struct wtl_workload *workload, struct wtl_consumer *consumer)
{
	struct wtl_proc_memory memory;
	char path[64];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", consumer->pid);
	len = wtl_io_slurp(workload->io, path, workload->text, sizeof(workload->text));
	if (len <= 0 || wtl_proc_parse_rollup(workload->text, (size_t)len, &memory) < 0)
		return false;
	consumer->rss_bytes = memory.rss_bytes;
	consumer->pss_bytes = memory.pss_bytes;
	consumer->uss_bytes = memory.uss_bytes;
	return true;
}

static void memory_read(struct wtl_workload *workload, struct wtl_consumer *consumer)
{
	struct wtl_proc_status status;
	char path[64];
	ssize_t len;

	if (rollup_read(workload, consumer))
		return;
	/* In kB whatever the page size is, unlike statm. */
	snprintf(path, sizeof(path), "/proc/%d/status", consumer->pid);
	len = wtl_io_slurp(workload->io, path, workload->text, sizeof(workload->text));
	if (len > 0 && wtl_proc_parse_status(workload->text, (size_t)len, &status) == 0 &&
	    status.rss_bytes != UINT64_MAX) {
		consumer->rss_bytes = status.rss_bytes;
		consumer->pss_bytes = consumer->uss_bytes = UINT64_MAX;
	}
}

unsigned wtl_workload_read_memory(struct wtl_workload *workload, const uint32_t slots[], size_t n,
				  unsigned budget)
{
	struct wtl_roster *roster = &workload->roster;
	size_t n_all = n ? n : roster->n_live;
	unsigned n_read = 0;

	for (size_t i = 0; i < n_all && n_read < budget; i++) {
		uint32_t slot;

		if (workload->memory_turn >= n_all)
			workload->memory_turn = 0;
		slot = (n ? slots : roster->slots)[workload->memory_turn++];
		if (slot >= roster->capacity || roster->places[slot].kind != WTL_PLACE_PROCESS ||
		    roster->places[slot].live == WTL_NOT_LIVE)
			continue;
		/* A kernel thread has none of its own. */
		if (roster->places[slot].is_kernel)
			continue;
		memory_read(workload, &roster->consumers[slot]);
		n_read++;
	}
	return n_read;
}
