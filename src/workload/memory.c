/* SPDX-License-Identifier: MIT */
/* The memory of processes: the slow tier. */
#include <stdio.h>

#include "workload/procfs.h"
#include "workload/state.h"

/*
 * For PSS the kernel walks all pages of a process: 0.05 ms and 12 us a MiB measured (Linux 6.18), so
 * 0.2 s for one of 16 GiB. What may be walked grows by so much a reading that is allowed, and who is
 * larger than that is paid off by the readings after it, which get RSS alone.
 */
static const uint64_t walked_a_reading_bytes = UINT64_C(2) << 20;

/* PSS and USS, which need the right to look into the process; false without it. */
static bool rollup_read(struct wtl_workload *workload, uint32_t slot)
{
	struct wtl_consumer *consumer = &workload->roster.consumers[slot];
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
	workload->walked_bytes += memory.rss_bytes;
	workload->walked_slot = slot;
	return true;
}

/* RSS alone. PSS and USS stay what they were, unless they cannot be that any more. */
static void status_read(struct wtl_workload *workload, struct wtl_consumer *consumer, bool keeps)
{
	struct wtl_proc_status status;
	char path[64];
	ssize_t len;

	/* In kB whatever the page size is, unlike statm. */
	snprintf(path, sizeof(path), "/proc/%d/status", consumer->pid);
	len = wtl_io_slurp(workload->io, path, workload->text, sizeof(workload->text));
	if (len <= 0 || wtl_proc_parse_status(workload->text, (size_t)len, &status) < 0 ||
	    status.rss_bytes == UINT64_MAX)
		return;
	consumer->rss_bytes = status.rss_bytes;
	if (!keeps || consumer->pss_bytes > consumer->rss_bytes)
		consumer->pss_bytes = consumer->uss_bytes = UINT64_MAX;
}

static void memory_read(struct wtl_workload *workload, uint32_t slot, uint64_t may_walk_bytes)
{
	bool may_walk = workload->walked_bytes < may_walk_bytes;

	if (!may_walk || !rollup_read(workload, slot))
		status_read(workload, &workload->roster.consumers[slot], !may_walk);
}

/* Among these, the one after whom was walked last: large ones are paid off in turn. */
static size_t place_after(const uint32_t slots[], size_t n, uint32_t slot)
{
	for (size_t i = 0; i < n; i++)
		if (slots[i] == slot)
			return i + 1;
	return 0;
}

unsigned wtl_workload_read_memory(struct wtl_workload *workload, const uint32_t slots[], size_t n,
				  unsigned budget)
{
	const struct wtl_roster *roster = &workload->roster;
	const uint32_t *turns = n > 0 ? slots : roster->slots;
	size_t n_turns = n > 0 ? n : roster->n_live, i;
	size_t first = n > 0 ? place_after(slots, n, workload->walked_slot) : workload->memory_turn;
	uint64_t may_walk_bytes = budget * walked_a_reading_bytes;
	unsigned n_read = 0;

	workload->walked_bytes -=
		workload->walked_bytes < may_walk_bytes ? workload->walked_bytes : may_walk_bytes;
	for (i = 0; i < n_turns && n_read < budget; i++) {
		uint32_t slot = turns[(first + i) % n_turns];

		/* A kernel thread has none of its own. */
		if (slot >= roster->capacity || roster->places[slot].kind != WTL_PLACE_PROCESS ||
		    roster->places[slot].live == WTL_NOT_LIVE || roster->places[slot].is_kernel)
			continue;
		memory_read(workload, slot, may_walk_bytes);
		n_read++;
	}
	if (n == 0 && n_turns > 0)
		workload->memory_turn = (uint32_t)((first + i) % n_turns);
	return n_read;
}
