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
 * This machine as a device: what it takes for an operation and a byte, measured by short kernels under wattle's own meter,
 * and kept beside its idle power as a file of devices (docs/estimate-host.md).
 */

#define WTL_ESTIMATE_HOST "host" /* the device's name */

enum { WTL_HOST_ROWS_MAX = 8, WTL_HOST_REPEAT = 5 };

/* A kernel, measured. */
struct wtl_host_row {
	const char *name;
	bool is_mac;
	enum wtl_precision precision; /* of MACs */
	bool is_dram;		      /* of bytes: else of the cache */
	struct wtl_statistics ns;     /* of a MAC, or of a byte, by repetition */
	double busy;		      /* CPUs that it had, in the mean */
	bool has_energy;
	double pj, uncertainty_pj; /* of the same, at k = 2 */
};

struct wtl_estimate_host {
	char cpu[96], when[32], source[64];
	const char *blas; /* "" where it is not there */
	unsigned cpus;
	uint64_t cache_bytes;
	struct wtl_host_row rows[WTL_HOST_ROWS_MAX];
	size_t n;
	bool has_energy, is_modelled;
	char reason[256]; /* where there is none: why */
	double idle_w, idle_uncertainty_w;
	char path[PATH_MAX]; /* where it is kept, or "" */
};

/* Measures it, that many repetitions of each kernel, and keeps it. 0, or after a complaint the exit code to stop with. */
int wtl_estimate_measure_host(struct wtl_app *app, unsigned repeat, struct wtl_estimate_host *ret);
/* Adds it to the devices, if it was measured. 1; 0: it was not; negative after a complaint. */
int wtl_estimate_load_host(struct wtl_app *app, struct wtl_devices *devices);

/* host_tell.c */
extern const struct wtl_thing wtl_estimate_host_thing; /* struct wtl_estimate_host */

#endif
