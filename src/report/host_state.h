/* SPDX-License-Identifier: MIT */
#ifndef WTL_REPORT_HOST_STATE_H
#define WTL_REPORT_HOST_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/held.h"
#include "base/io.h"
#include "base/procfs.h"

/* A machine's state beside its energy: shown by `wattle top`, recorded by `wattle record`. */

struct wtl_host_state {
	char host[64];
	unsigned n_cpus;
	bool has_use;
	uint32_t use_ppm;			  /* of all CPUs together */
	uint64_t memory_bytes, memory_used_bytes; /* 0: not known */
	bool has_temperature;
	int temperature_c;  /* the hottest package */
	uint32_t clock_mhz; /* of the CPUs that were asked; 0: not known */
	bool has_throttled;
	uint32_t throttled; /* times that a package was slowed by heat, since the start */
};

enum { WTL_HOST_SENSORS = 8, WTL_HOST_CPUS = 2 };

/* Reads it repeatedly, from files that are held open. */
struct wtl_host_reader {
	struct wtl_proc_machine machine; /* at the last reading; zeros: not read yet */
	struct wtl_held_file stat, memory;
	struct wtl_held_file temperatures[WTL_HOST_SENSORS];
	size_t n_temperatures;
	struct wtl_held_file clocks[WTL_HOST_CPUS], throttles[WTL_HOST_CPUS];
	size_t n_cpus; /* CPUs that are asked */
	uint64_t throttle_start;
	struct wtl_host_state state; /* at the last reading */
};

/* Finds the sensors, and reads what does not change. */
void wtl_host_init(struct wtl_host_reader *reader, struct wtl_io *io, unsigned n_cpus);
/* The use is since the reading before. machine: /proc/stat as the caller
 * has just read it. If it is NULL, or has no CPUs, it is read here. */
void wtl_host_read(struct wtl_host_reader *reader, const struct wtl_proc_machine *machine);
void wtl_host_done(struct wtl_host_reader *reader); /* a zeroed struct is fine */

#endif
