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
 * Time and energy of an inference on a processor with measured rates: the roofline of both (Choi et al., IPDPS 2013). A
 * layer takes as long as the slower of its arithmetic and its traffic. Its energy is a price per operation and byte,
 * plus the machine's idle power for that time. docs/estimate-host.md has the formulas.
 *
 * The device has, each measured on the whole machine: "time mac-PRECISION", "time cache-64bit", "time dram-64bit", and
 * if energy is known "mac PRECISION", "sram SIZE 64bit" (SIZE: of the cache), "dram 64bit" and "static".
 */

enum { WTL_LOW, WTL_NOMINAL, WTL_HIGH, WTL_BOUNDS };

struct wtl_roofline_layer {
	enum wtl_precision priced; /* the precision its MACs are priced at */
	double compute_s[WTL_BOUNDS], memory_s[WTL_BOUNDS], seconds[WTL_BOUNDS];
	double joules[WTL_BOUNDS]; /* NAN: the device has no energy */
	double compute_j[WTL_BOUNDS], memory_j[WTL_BOUNDS], idle_j[WTL_BOUNDS]; /* parts of it */
	double cache_bytes, dram_bytes;
};

struct wtl_roofline {
	struct wtl_roofline_layer *layers; /* one per layer of the network */
	size_t n;
	double seconds[WTL_BOUNDS], joules[WTL_BOUNDS];
	double compute_j[WTL_BOUNDS], memory_j[WTL_BOUNDS], idle_j[WTL_BOUNDS]; /* parts of it */
	bool has_energy;
	char reason[256];	    /* why it has no energy */
	struct wtl_buf assumptions; /* one per line */
};

/* Whether a device has the times that are needed. */
bool wtl_roofline_fits(const struct wtl_device *device);
/* 0, or negative with the reason. After success, call wtl_roofline_done() for *ret. */
int wtl_roofline_of(const struct wtl_network *network, const struct wtl_device *device,
		    enum wtl_precision precision, struct wtl_roofline *ret, struct wtl_err *err);
void wtl_roofline_done(struct wtl_roofline *roofline);

#endif
