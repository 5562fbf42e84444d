/* SPDX-License-Identifier: MIT */
#ifndef WTL_METER_SETTINGS_WATCH_H
#define WTL_METER_SETTINGS_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/io.h"

/*
 * Whether the machine is still set as it was when its processes' watts were learned: which CPUs are online, how fast
 * they may run and by which governor, the power limits of packages, and whether it slept meanwhile. A few small files,
 * read every ten seconds.
 */
struct wtl_settings_watch {
	uint32_t is_missing; /* a bit for each file that was not there at first */
	uint64_t sum;	     /* of what the others said */
	int64_t due_ns;	     /* 0: nothing was read yet */
	int64_t asleep_ns;
};

/* asleep_ns: CLOCK_BOOTTIME - CLOCK_MONOTONIC. The first time, nothing has changed. */
bool wtl_settings_changed(struct wtl_settings_watch *watch, struct wtl_io *io, int64_t asleep_ns);

#endif
