/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_ESTIMATE_HOST_H
#define WTL_COMMANDS_ESTIMATE_HOST_H

#include <limits.h>
#include <stdbool.h>

#include "document/writer.h"
#include "energy/statistics.h"
#include "neural/devices.h"
#include "neural/roofline.h"

struct wtl_app;

/*
 * This machine as a device: time and energy of an operation and of a byte, measured by short kernels under
 * wattle's own meter, and kept beside its idle power as a device file (docs/estimate-host.md).
 */

#define WTL_ESTIMATE_HOST "host" /* the device's name */

enum { WTL_HOST_ROWS_MAX = 8, WTL_HOST_REPEAT = 5 };

/* The measurement of one kernel. */
struct wtl_host_row {
	const char *name;
	bool is_mac;
	enum wtl_precision precision; /* of MACs */
	bool is_dram;		      /* of bytes: DRAM, else the cache */
	struct wtl_statistics ns;     /* per MAC or byte, over the repetitions */
	double busy;		      /* CPUs that it had, on average */
	bool has_energy;
	double pj, uncertainty_pj; /* likewise, at k = 2 */
};

struct wtl_estimate_host {
	char cpu[96], when[32], source[64];
	const char *blas; /* "" if it is not installed */
	unsigned cpus;
	uint64_t cache_bytes;
	struct wtl_host_row rows[WTL_HOST_ROWS_MAX];
	size_t n;
	bool has_energy, is_modelled;
	char reason[256]; /* without energy: why */
	double idle_w, idle_uncertainty_w;
	char path[PATH_MAX]; /* the file, or "" */
};

/* Measures this machine, `repeat` repetitions of each kernel, and keeps it. 0, or the exit code after a complaint. */
int wtl_estimate_measure_host(struct wtl_app *app, unsigned repeat, struct wtl_estimate_host *ret);
/* Adds this machine to the devices, if it was measured. 1; 0: it was not; negative after a complaint. */
int wtl_estimate_load_host(struct wtl_app *app, struct wtl_devices *devices);

/* host_tell.c */
extern const struct wtl_thing wtl_estimate_host_thing; /* struct wtl_estimate_host */

#endif
