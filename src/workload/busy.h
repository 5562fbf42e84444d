/* SPDX-License-Identifier: MIT */
#ifndef WTL_WORKLOAD_BUSY_H
#define WTL_WORKLOAD_BUSY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/procfs.h"
#include "energy/units.h"

/*
 * What the machine's CPUs did against what is billed: arithmetic only.
 *
 * Busy time is CPUs × time − idle − waiting for disks − stolen, because the idle columns of
 * /proc/stat are exact on tickless kernels, where the busy ones are samples of the timer tick. The
 * columns are cut to 10 ms each, so a single difference is off by that much, but a running sum never
 * is by more: what nobody accounts for is billed from the running sum, and only as far as it is more
 * than the cut can make.
 */
struct wtl_busy {
	bool is_known; /* a first scan has been taken */
	unsigned n_cpus;
	int64_t t_mono_ns, t_boot_ns;
	uint64_t idle_ticks, interrupt_ticks;
	bool has_interrupts;   /* the kernel accounts for them apart from tasks */
	int64_t left_ns;       /* busy so far, less what is billed: may be negative */
	int64_t interrupts_ns; /* counted, and not yet billed */
	int64_t capacity_ns;   /* of the last interval */
};

enum { WTL_BUSY_SLACK_NS = 3 * WTL_NS_PER_TICK }; /* three columns, each cut */

/* Takes in what the machine did. After a first time, a change in the number of CPUs, a suspend or columns
 * that step back, the sums start anew. */
void wtl_busy_scan(struct wtl_busy *busy, const struct wtl_proc_machine *machine, int64_t t_mono_ns,
		   int64_t t_boot_ns);

/* No scan was possible: the sums start anew at the next one. */
void wtl_busy_lost(struct wtl_busy *busy);

/* So much was billed to somebody. */
void wtl_busy_bill(struct wtl_busy *busy, int64_t use_ns);

/* What is not billed yet; 0 or more. */
int64_t wtl_busy_left(const struct wtl_busy *busy);

/* How much more may be billed on evidence of what was used, but not of when: what is left may be
 * cut by so much. 0 or more. */
int64_t wtl_busy_room(const struct wtl_busy *busy);

/* What is to be billed to interrupts and to nobody seen; both 0 or more, and billed with that. */
int64_t wtl_busy_take_interrupts(struct wtl_busy *busy);
int64_t wtl_busy_take_unseen(struct wtl_busy *busy);

#endif
