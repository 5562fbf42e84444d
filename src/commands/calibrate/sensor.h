/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_CALIBRATE_SENSOR_H
#define WTL_COMMANDS_CALIBRATE_SENSOR_H

#include <stdbool.h>
#include <stdint.h>

struct wtl_app;

struct wtl_sensor_settings {
	const char *load;  /* a command; NULL: wattle's own kernel */
	const char *cuda;  /* the library for that kernel; NULL: the driver's */
	int64_t length_ns; /* of the load */
	bool dry_run;
};

/* Finds how the power sensors of each GPU sample, prints it, and keeps it. Returns the exit code. */
int wtl_calibrate_sensors(struct wtl_app *app, const struct wtl_sensor_settings *settings);

#endif
