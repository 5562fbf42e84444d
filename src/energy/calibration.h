/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_CALIBRATION_H
#define WTL_ENERGY_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wtl_err;

/*
 * What a sensor says, held against a wattmeter: the sensor's lag, and gain and zero of the line
 * true power = gain × shown power + zero.
 */

/* Power over time: each point holds until the next one. */
struct wtl_power_point {
	int64_t t_ns;
	double power_w;
};

struct wtl_power_log {
	struct wtl_power_point *points;
	size_t n, room;
};

enum { WTL_POWER_LOG_MAX = 1 << 24 };

/* Appends; a point that is not later than the last one is left out. 0, -ENOMEM or -E2BIG. */
int wtl_power_log_add(struct wtl_power_log *log, int64_t t_ns, double power_w);
void wtl_power_log_done(struct wtl_power_log *log); /* a zeroed one is fine */

struct wtl_calibration {
	double gain, zero_w;
	double gain_error, zero_error_w; /* standard uncertainties */
	double rms_w;	    /* of what the line leaves over, in the stretches compared */
	double correlation; /* at that lag */
	int64_t lag_ns;	    /* how much later the sensor shows what the meter shows */
	int64_t step_ns;    /* both were compared over means of so long */
	size_t n;	    /* of which there were so many */
};

/*
 * Fits. The lag is that of the highest correlation, up to max_lag_ns either way. Gain and zero are by least
 * squares over stretches in which neither changes, if there are enough; their uncertainties are by leaving out
 * a tenth of the time at a time. 0; -ENODATA with the reason in err: too little of both at the same time, or
 * power that is too even to tell gain from zero, or that does not follow the meter.
 */
int wtl_calibration_fit(const struct wtl_power_log *sensor, const struct wtl_power_log *meter,
			int64_t max_lag_ns, struct wtl_calibration *ret_calibration,
			struct wtl_err *err);

#endif
