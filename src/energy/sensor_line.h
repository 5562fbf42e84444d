/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_SENSOR_LINE_H
#define WTL_ENERGY_SENSOR_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "energy/kept_line.h"
#include "energy/sensor_fit.h"

/* How a sensor of a device samples, as it is kept: a line of text. */
struct wtl_kept_sensor {
	char key[WTL_KEPT_KEY_SIZE]; /* "UUID:instant"; see wtl_kept_sensor_key() */
	int64_t update_us;
	int64_t window_us, latency_us, latency_sd_us; /* of power; of counters 0 */
	int64_t t_utc_s;			      /* when it was found */
};

/* Of a power field, or of a device's energy counter. */
void wtl_kept_sensor_key(char key[WTL_KEPT_KEY_SIZE], const char *uuid, enum wtl_power_field field);
void wtl_kept_sensor_counter_key(char key[WTL_KEPT_KEY_SIZE], const char *uuid);

/* From what was found. A sensor that charges like a capacitor is kept as the mean that is as late. */
void wtl_kept_sensor_set(struct wtl_kept_sensor *kept, const char *key,
			 const struct wtl_sensor_found *found, int64_t t_utc_s);
/* What such a sensor is. ret_class has a field and architecture; the rest is replaced. */
void wtl_kept_sensor_class(const struct wtl_kept_sensor *kept, struct wtl_sensor_class *ret_class);

/* With a newline. Its length, or -EINVAL. */
int wtl_kept_sensor_print(char line[WTL_KEPT_LINE_MAX], const struct wtl_kept_sensor *kept);
/* The same without the newline. 0 or -EINVAL. */
int wtl_kept_sensor_parse(const char *line, size_t len, struct wtl_kept_sensor *ret_kept);

#endif
