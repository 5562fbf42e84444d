/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_ESTIMATE_SWEEP_H
#define WTL_COMMANDS_ESTIMATE_SWEEP_H

#include <stdbool.h>
#include <stddef.h>

#include "neural/price.h"

struct wtl_err;

/* Energy over spike rates and time steps: all combinations. */

enum {
	WTL_SWEEP_STEPS_MAX = 8,
	WTL_SWEEP_RATES_MAX = 64,
	WTL_SWEEP_POINTS = 11 /* of FROM..TO */
};

struct wtl_estimate_sweep {
	unsigned int steps[WTL_SWEEP_STEPS_MAX];
	size_t n_steps; /* 0: as many as the network has */
	double rates[WTL_SWEEP_RATES_MAX];
	size_t n_rates; /* 0: the network's own, or a file's */
};

struct wtl_estimate_point {
	unsigned int steps;
	double rate; /* NAN: the network's own */
	struct wtl_energy compute, memory, total;
	double ordinary; /* joules of the ordinary network in as many steps; NAN: it has no price */
};

/* "4", "2,4,8". 0, or -EINVAL. */
int wtl_sweep_read_steps(const char *text, struct wtl_estimate_sweep *sweep);
/* "0.1", "0.1,0.2", "0.01..0.5". 0; -EINVAL: not such numbers; -ERANGE: a rate out of range. */
int wtl_sweep_read_rates(const char *text, struct wtl_estimate_sweep *sweep);
bool wtl_sweep_has_several(const struct wtl_estimate_sweep *sweep);
/* Prices all points, which are to be free()d. by: the device and all other choices. 0, or negative with the reason. */
int wtl_sweep_price(const struct wtl_estimate_sweep *sweep, const struct wtl_network *network,
		    const struct wtl_price_choice *by, struct wtl_estimate_point **ret,
		    struct wtl_err *err);
/* The number of points. */
size_t wtl_sweep_points(const struct wtl_estimate_sweep *sweep);

#endif
