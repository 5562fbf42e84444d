/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_PERF_H
#define WTL_BASE_PERF_H

#include <stdint.h>

#include "base/io.h"

/* Counters of this machine's perf system, perf_event_open(2), behind io_real.c. */

/* A descriptor, or a negative errno. */
int wtl_perf_open(const struct wtl_perf_event *event);

/* 0 or a negative errno; -EIO for a counter that the kernel has given up. */
int wtl_perf_read(int file, uint64_t *ret_value);		/* of the machine */
int wtl_perf_count(int file, struct wtl_perf_count *ret_count); /* of a task */

#endif
