/* SPDX-License-Identifier: MIT */
#ifndef WTL_WORKLOAD_COUNTERS_H
#define WTL_WORKLOAD_COUNTERS_H

#include <stdint.h>

#include "base/buf.h"
#include "base/io.h"
#include "workload/weigh.h"

/*
 * The hardware's counters of the processes that use most, and what the uses of a scan weigh by them.
 * For src/workload/ alone; NULL in struct wtl_workload: nobody asked for it.
 *
 * Every thread of a process has one, which counts for those that it starts later, too; processes with
 * very many threads are judged by some of them. Short-lived processes, the kernel's threads and
 * whoever may not be counted are taken for typical ones (weigh.h).
 */
enum {
	WTL_COUNTED_MAX = 128,	/* processes */
	WTL_COUNTERS_MAX = 256, /* descriptors that are held open */
};

struct wtl_counters {
	uint64_t config; /* the event's code, of PERF_TYPE_HARDWARE */
	struct wtl_counted {
		uint32_t slot;
		int64_t used_ns; /* in the newest scan */
		/* What was counted in over_ns of CPU time: in the newest scan, and in the last scan
		 * in which that was enough for a rate. */
		uint64_t count_now, count;
		int64_t over_now_ns, over_ns;
		/* Used in the scan before it was counted (0: settled), and what that weighed. */
		int64_t before_ns;
		uint64_t before_weight;
	} counted[WTL_COUNTED_MAX];
	struct wtl_process_counter {
		int file;
		uint32_t owner; /* in counted[] */
		struct wtl_perf_count last;
	} counters[WTL_COUNTERS_MAX];
	uint32_t n_counted, n_counters;
	uint32_t max; /* counters that there are descriptors for */
	/* In the newest scan: what nobody counted, and what that weighs. 0: nothing was weighed. */
	uint64_t rest_ns, rest_weight;
	struct wtl_buf names;
	struct wtl_work works[WTL_COUNTED_MAX]; /* scratch */
};

#endif
