/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_ROOFLINE_H
#define WTL_NEURAL_ROOFLINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "neural/devices.h"
#include "neural/network.h"

struct wtl_err;

/*
 * What an inference takes on a processor whose rates were measured: the roofline of time and of energy (Choi et al., IPDPS
 * 2013). A layer takes as long as the slower of its arithmetic and its traffic; its energy is a price for each operation
 * and byte, and what the machine draws at rest for that time. docs/estimate-host.md has the formulas.
 *
 * The device has, each measured on the whole machine: "time mac-PRECISION", "time cache-64bit", "time dram-64bit", and
 * where energy is known "mac PRECISION", "sram SIZE 64bit" (SIZE: of the cache), "dram 64bit" and "static".
 */

enum { WTL_LOW, WTL_NOMINAL, WTL_HIGH, WTL_BOUNDS };

struct wtl_roofline_layer {
	enum wtl_precision priced; /* as what its MACs are priced */
	double compute_s[WTL_BOUNDS], memory_s[WTL_BOUNDS], seconds[WTL_BOUNDS];
	double joules[WTL_BOUNDS]; /* NAN where the device has no energy */
	double compute_j[WTL_BOUNDS], memory_j[WTL_BOUNDS], idle_j[WTL_BOUNDS]; /* what those are */
	double cache_bytes, dram_bytes;
};

struct wtl_roofline {
	struct wtl_roofline_layer *layers; /* one a layer of the network */
	size_t n;
	double seconds[WTL_BOUNDS], joules[WTL_BOUNDS];
	double compute_j[WTL_BOUNDS], memory_j[WTL_BOUNDS], idle_j[WTL_BOUNDS]; /* what those are */
	bool has_energy;
	char reason[256];	    /* where it has not: why */
	struct wtl_buf assumptions; /* a line each */
};

/* Whether a device has what that takes. */
bool wtl_roofline_fits(const struct wtl_device *device);
/* 0, or negative with the reason. *ret is to be given to wtl_roofline_done() after success. */
int wtl_roofline_of(const struct wtl_network *network, const struct wtl_device *device,
		    enum wtl_precision precision, struct wtl_roofline *ret, struct wtl_err *err);
void wtl_roofline_done(struct wtl_roofline *roofline);

#endif
