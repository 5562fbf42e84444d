/* SPDX-License-Identifier: MIT */
/* What the machine's CPUs did, and what each live process did. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/procfs.h"
#include "energy/units.h"
#include "workload/state.h"

enum {
	STAT_FIRST = 16384,
	STAT_MAX = 1 << 20,
	LISTED_MIN = 8,
	/* For a process that used so much since the last scan, the file that says whether it is
	 * still the same one is read: that takes a thousandth of this time. */
	DOUBT_NS = 2 * WTL_NS_PER_TICK,
};

int wtl_clocks_open(struct wtl_workload *workload)
{
	workload->has_clocks = true;
	workload->stat_size = STAT_FIRST;
	workload->stat_text = malloc(STAT_FIRST);
	workload->stat = wtl_io_file_open(workload->io, "/proc/stat");
	return workload->stat_text ? 0 : -ENOMEM;
}

void wtl_clocks_close(struct wtl_workload *workload)
{
	wtl_io_file_close(workload->io, workload->stat);
	free(workload->stat_text);
}

/* The CPUs' lines, however many they are. */
static bool machine_read(struct wtl_workload *workload, struct wtl_proc_machine *ret_machine)
{
	for (;;) {
		ssize_t len = wtl_io_file_read(workload->io, workload->stat, workload->stat_text,
					       workload->stat_size);
		int rc;

		if (len < 0)
			return false;
		rc = wtl_proc_parse_machine(workload->stat_text, (size_t)len, ret_machine);
		if (rc != -EAGAIN || (size_t)len < workload->stat_size ||
		    workload->stat_size >= STAT_MAX ||
		    wtl_array_resize(&workload->stat_text, 2 * workload->stat_size, 1) < 0)
			return rc == 0;
		workload->stat_size *= 2;
	}
}

void wtl_clocks_read_machine(struct wtl_workload *workload)
{
	struct wtl_proc_machine *machine = &workload->scan.machine;

	if (workload->stat >= 0 && machine_read(workload, machine)) {
		wtl_busy_scan(&workload->busy, machine, workload->scan.t_mono_ns,
			      workload->t_boot_ns);
	} else {
		machine->n_cpus = 0;
		wtl_busy_lost(&workload->busy);
	}
	workload->scan.capacity_ns = workload->busy.capacity_ns;
}

/* In 10 ms ticks, for machines without better clocks. */
static int64_t ticks_read(struct wtl_workload *workload, int pid)
{
	struct wtl_proc_stat stat;
	char path[48];
	int64_t cpu_ns;
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	len = wtl_io_slurp(workload->io, path, workload->text, sizeof(workload->text));
	if (len == -ENOENT)
		return -ESRCH;
	if (len < 0)
		return len;
	if (wtl_proc_parse_stat(workload->text, (size_t)len, &stat) < 0 ||
	    __builtin_mul_overflow(stat.cpu_ticks, WTL_NS_PER_TICK, &cpu_ns))
		return -EINVAL;
	return cpu_ns;
}

/* 0, or negative: no answer for anyone. */
static int ask(struct wtl_workload *workload, const int pids[], int64_t clocks[], size_t n)
{
	int rc = -EOPNOTSUPP;

	if (n == 0)
		return 0;
	if (workload->has_clocks && workload->io->ops->process_cpu)
		rc = wtl_io_process_cpu(workload->io, pids, clocks, n);
	if (rc == -EOPNOTSUPP || rc == -ENOSYS)
		workload->has_clocks = false;
	else
		return rc;
	for (size_t i = 0; i < n; i++)
		clocks[i] = ticks_read(workload, pids[i]);
	return 0;
}

int wtl_clocks_ask(struct wtl_workload *workload, const int pids[], int64_t clocks[], size_t n)
{
	int rc = ask(workload, pids, clocks, n);

	for (size_t i = 0; i < n && rc < 0; i++)
		clocks[i] = -ESRCH;
	return rc;
}

static bool is_in_doubt(const struct wtl_place *place, int64_t clock_ns)
{
	/* Taken up in this scan, or it did nothing since. */
	if ((place->clock_ns == 0 && !place->has_stat) || clock_ns == place->clock_ns)
		return false;
	return place->is_stale || place->has_record || clock_ns - place->clock_ns >= DOUBT_NS;
}

/* The slot of whoever has the number now. WTL_NO_SLOT: there is none for it. */
static uint32_t owner(struct wtl_workload *workload, uint32_t slot, int64_t clock_ns)
{
	struct wtl_place *place = &workload->roster.places[slot];
	/* Two ways to read a process's clock may differ by this much. */
	int64_t slack_ns = workload->has_clocks ? WTL_NS_PER_MS : 2 * WTL_NS_PER_TICK;
	/* A process's clock never steps back: this is another process, whatever its files say. */
	bool is_other = clock_ns + slack_ns < place->clock_ns;
	int64_t billed_ns = place->clock_ns, taken;
	uint64_t start_ticks = 0;

	if (!is_other && is_in_doubt(place, clock_ns)) {
		place->is_stale = false;
		start_ticks = wtl_names_successor(workload, slot);
		is_other = start_ticks > 0;
	}
	if (!is_other)
		return slot;
	taken = wtl_workload_replace(workload, slot);
	if (taken < 0)
		return WTL_NO_SLOT;
	/* It was there at the last scan: its use up to then is billed already, to the process that we took it for. */
	if (start_ticks > 0 && start_ticks < workload->before_ticks)
		workload->roster.places[taken].clock_ns = billed_ns;
	return (uint32_t)taken;
}

/* Bills what a process did since the last scan, by its clock's answer. */
static void judge(struct wtl_workload *workload, uint32_t slot, int64_t clock_ns)
{
	struct wtl_place *place = &workload->roster.places[slot];
	int64_t capacity_ns = workload->scan.capacity_ns;

	if (clock_ns == -ESRCH)
		wtl_workload_end(workload, slot);
	if (clock_ns < 0)
		return;
	if (place->needs_base || workload->n_scans == 1) {
		place->needs_base = false;
		place->clock_ns = clock_ns;
		return;
	}
	slot = owner(workload, slot, clock_ns);
	if (slot == WTL_NO_SLOT)
		return;
	place = &workload->roster.places[slot];
	/* A process that is found late did not use all of that since the last scan. */
	if (place->clock_ns == 0 && capacity_ns > 0 && clock_ns > capacity_ns)
		place->clock_ns = clock_ns - capacity_ns;
	if (clock_ns > place->clock_ns) {
		wtl_roster_use(&workload->roster, slot, clock_ns - place->clock_ns);
		wtl_busy_bill(&workload->busy, clock_ns - place->clock_ns);
		place->clock_ns = clock_ns;
	}
}

/* The first time: numbers that /proc lists and that mean nobody to the clocks are another PID
 * namespace's. */
static bool numbers_differ(const struct wtl_roster *roster)
{
	uint32_t n_gone = 0;

	for (uint32_t i = 0; i < roster->n_live; i++)
		n_gone += roster->clocks[i] == -ESRCH;
	return roster->n_live >= LISTED_MIN && n_gone > roster->n_live / 2;
}

void wtl_clocks_read(struct wtl_workload *workload)
{
	struct wtl_roster *roster = &workload->roster;
	int rc = ask(workload, roster->pids, roster->clocks, roster->n_live);

	workload->clocks_failed = rc < 0;
	if (rc < 0)
		return;
	if (workload->n_scans == 1 && workload->has_clocks && numbers_differ(roster)) {
		workload->has_clocks = false;
		ask(workload, roster->pids, roster->clocks, roster->n_live);
	}
	/* From the end: one that leaves the list is replaced by one that had its turn. */
	for (uint32_t i = roster->n_live; i-- > 0;)
		judge(workload, roster->slots[i], roster->clocks[i]);
}
