/* SPDX-License-Identifier: MIT */
/* The memory of processes: the slow tier. */
#include <stdio.h>

#include "base/procfs.h"
#include "energy/units.h"
#include "workload/state.h"

/*
 * For PSS the kernel walks all pages of a process: 0.05 ms and 12 us a MiB measured (Linux 6.18), so
 * 0.2 s for one of 16 GiB. What may be walked grows by so much a reading that is allowed, and who is
 * larger than that is paid off by the readings after it, which get RSS alone.
 */
static const uint64_t walked_a_reading_bytes = UINT64_C(2) << 20;

/* Of one CPU: who uses more is one of those that are looked at. */
enum { BUSY_PPM = 10000 };

/* PSS and USS, which need the right to look into the process; false without it. */
static bool rollup_read(struct wtl_workload *workload, uint32_t slot, uint64_t *walked_bytes)
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
	*walked_bytes += memory.rss_bytes;
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

static bool takes_turns(const struct wtl_workload *workload, uint32_t slot, uint32_t least_ppm)
{
	const struct wtl_roster *roster = &workload->roster;
	const struct wtl_place *place = &roster->places[slot];

	/* A kernel thread has no memory of its own. */
	return place->kind == WTL_PLACE_PROCESS && place->live != WTL_NOT_LIVE &&
	       !place->is_kernel && roster->consumers[slot].cpu_ppm >= least_ppm;
}

/*
 * By slots, which a process keeps as long as it lives: so nobody is passed over, whoever comes and
 * goes. One that cannot be walked yet keeps its turn, and RSS has turns of its own.
 */
static unsigned read_in_turn(struct wtl_workload *workload, struct wtl_memory_turns *turns,
			     uint32_t least_ppm, unsigned budget, uint64_t may_walk_bytes)
{
	uint32_t n_slots = workload->roster.n_used, first = turns->walk_slot, n_walked;
	unsigned n_read = 0;

	for (n_walked = 0;
	     n_walked < n_slots && n_read < budget && turns->walked_bytes < may_walk_bytes;
	     n_walked++) {
		uint32_t slot = (first + n_walked) % n_slots;

		if (!takes_turns(workload, slot, least_ppm))
			continue;
		if (!rollup_read(workload, slot, &turns->walked_bytes))
			status_read(workload, &workload->roster.consumers[slot], false);
		turns->walk_slot = slot + 1;
		n_read++;
	}
	for (uint32_t i = 0, from = turns->rss_slot; i < n_slots && n_read < budget; i++) {
		uint32_t slot = (from + i) % n_slots;
		bool was_walked = (slot + n_slots - first) % n_slots < n_walked;

		if (was_walked || !takes_turns(workload, slot, least_ppm))
			continue;
		status_read(workload, &workload->roster.consumers[slot], true);
		turns->rss_slot = slot + 1;
		n_read++;
	}
	return n_read;
}

/* Pays off walked bytes. Returns what is left of `bytes`. */
static uint64_t pay_off(struct wtl_memory_turns *turns, uint64_t bytes)
{
	uint64_t paid_bytes = turns->walked_bytes < bytes ? turns->walked_bytes : bytes;

	turns->walked_bytes -= paid_bytes;
	return bytes - paid_bytes;
}

unsigned wtl_workload_read_memory(struct wtl_workload *workload, unsigned budget)
{
	unsigned n_busy = budget / 2, n_all;
	uint64_t may_walk_bytes = n_busy * walked_a_reading_bytes;

	n_busy = read_in_turn(workload, &workload->memory_busy, BUSY_PPM, n_busy, may_walk_bytes);
	may_walk_bytes = (budget - budget / 2) * walked_a_reading_bytes +
			 pay_off(&workload->memory_busy, may_walk_bytes);
	n_all = read_in_turn(workload, &workload->memory_all, 0, budget - n_busy, may_walk_bytes);
	pay_off(&workload->memory_all, may_walk_bytes);
	return n_busy + n_all;
}

/* Memory takes time to fill: nobody can have touched some MiB more in less (judgement). */
#define RESIDENT_LEAST_NS (WTL_NS_PER_MS / 2)
/* A process that ran for this long is read at the next scan, others when it is their turn. */
#define RESIDENT_SOON_NS (4 * WTL_NS_PER_MS)

enum { RESIDENT_TURNS = 4 /* scans */ };

static bool resident_is_due(const struct wtl_workload *workload, uint32_t slot)
{
	const struct wtl_place *place = &workload->roster.places[slot];
	int64_t used_ns = place->clock_ns - place->resident_clock_ns;

	return used_ns >= RESIDENT_SOON_NS ||
	       (used_ns >= RESIDENT_LEAST_NS && (slot + workload->n_scans) % RESIDENT_TURNS == 0);
}

unsigned wtl_workload_read_resident(struct wtl_workload *workload, unsigned budget)
{
	struct wtl_roster *roster = &workload->roster;
	uint32_t n_slots = roster->n_used, from = workload->resident_slot;
	unsigned n_read = 0;

	for (uint32_t i = 0; i < n_slots && n_read < budget; i++) {
		uint32_t slot = (from + i) % n_slots;

		if (!resident_is_due(workload, slot) || !takes_turns(workload, slot, 0))
			continue;
		roster->places[slot].resident_clock_ns = roster->places[slot].clock_ns;
		status_read(workload, &roster->consumers[slot], true);
		workload->resident_slot = slot + 1;
		n_read++;
	}
	return n_read;
}
