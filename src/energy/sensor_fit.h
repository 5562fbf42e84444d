/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_SENSOR_FIT_H
#define WTL_ENERGY_SENSOR_FIT_H

#include <stddef.h>
#include <stdint.h>

#include "energy/calibration.h"
#include "energy/sensor_class.h"

/*
 * How a power sensor samples, from what it showed while a load was switched on and off: how often it has a new value,
 * over how long that is a mean, and how late it comes. The load itself is the reference, as in Yang, Adamek, Armour,
 * SC'24 (arXiv 2312.02741), so no wattmeter is needed, and nothing is learned of gain and zero.
 */

/* When the load was on: from edges_ns[0] to [1], from [2] to [3], and so on; they rise. */
struct wtl_sensor_load {
	const int64_t *edges_ns;
	size_t n;
};

struct wtl_sensor_found {
	enum wtl_sensor_kind kind; /* a mean over a window, or like a capacitor that is charged */
	int64_t update_ns;
	/* Of a mean. Of the other kind, twice its time constant: a mean over that is as late, and sees as much. */
	int64_t window_ns;
	int64_t latency_ns;		     /* from the window's end to the new value */
	int64_t window_sd_ns, latency_sd_ns; /* standard uncertainties */
	double low_w, high_w;		     /* without the load, and under it */
	double rms_w;			     /* what is left over */
	size_t n;			     /* new values that were seen */
	int64_t poll_ns;		     /* how often it was asked */
};

/*
 * polls: all readings with their times, asked for at least three times an update. 0; -ENODATA with the reason in err:
 * too few new values, or they do not follow the load; -ENOMEM.
 */
int wtl_sensor_fit(const struct wtl_power_log *polls, const struct wtl_sensor_load *load,
		   struct wtl_sensor_found *ret_found, struct wtl_err *err);

/* How often a counter moves, of readings in which it is a power: what the first step of the fit finds. */
int wtl_sensor_update(const struct wtl_power_log *polls, int64_t *ret_update_ns,
		      struct wtl_err *err);

#endif
