/* SPDX-License-Identifier: MIT */
#include "energy/sensor_line.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#define NUMBER(name, least, most) WTL_KEPT_NUMBER(struct wtl_kept_sensor, name, least, most)

static const struct wtl_kept_number numbers[] = {
	NUMBER(update_us, 100, 60000000),	 NUMBER(window_us, 0, 60000000),
	NUMBER(latency_us, 0, 60000000),	 NUMBER(latency_sd_us, 0, 60000000),
	NUMBER(t_utc_s, 0, INT64_C(9000000000)),
};

enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

/* Times are no surer than this (judgement): by the load's own edges, and by when the sensor is asked. */
enum { LATENCY_SD_MIN_US = 2000 };

void wtl_kept_sensor_key(char key[WTL_KEPT_KEY_SIZE], const char *uuid, enum wtl_power_field field)
{
	static const char *const names[] = {[WTL_POWER_DRAW] = "draw",
					    [WTL_POWER_AVERAGE] = "average",
					    [WTL_POWER_INSTANT] = "instant"};

	snprintf(key, WTL_KEPT_KEY_SIZE, "%.80s:%s", uuid, names[field]);
}

void wtl_kept_sensor_counter_key(char key[WTL_KEPT_KEY_SIZE], const char *uuid)
{
	snprintf(key, WTL_KEPT_KEY_SIZE, "%.80s:counter", uuid);
}

void wtl_kept_sensor_set(struct wtl_kept_sensor *kept, const char *key,
			 const struct wtl_sensor_found *found, int64_t t_utc_s)
{
	double poll_us = (double)found->poll_ns / 1e3 / sqrt(12);
	double sd_us = hypot((double)found->latency_sd_ns / 1e3, poll_us);

	*kept = (struct wtl_kept_sensor){
		.update_us = found->update_ns / 1000,
		.window_us = found->window_ns / 1000,
		.latency_us = found->latency_ns / 1000,
		.latency_sd_us = llround(fmax(sd_us, LATENCY_SD_MIN_US)),
		.t_utc_s = t_utc_s,
	};
	snprintf(kept->key, sizeof(kept->key), "%s", key);
}

void wtl_kept_sensor_class(const struct wtl_kept_sensor *kept, struct wtl_sensor_class *ret_class)
{
	int64_t permille = 1000 * kept->window_us / kept->update_us;

	ret_class->name = "measured";
	ret_class->kind = WTL_SENSOR_BOXCAR;
	ret_class->window_ns = 1000 * kept->window_us;
	ret_class->update_ns = 1000 * kept->update_us;
	ret_class->latency_ns = 1000 * kept->latency_us;
	ret_class->latency_sd_ns = 1000 * kept->latency_sd_us;
	ret_class->coverage_permille = permille < 1000 ? (unsigned)permille : 1000;
	ret_class->known = true;
}

int wtl_kept_sensor_print(char line[WTL_KEPT_LINE_MAX], const struct wtl_kept_sensor *kept)
{
	return wtl_kept_line_print(line, kept->key, kept, numbers, NUMBERS);
}

int wtl_kept_sensor_parse(const char *line, size_t len, struct wtl_kept_sensor *ret_kept)
{
	struct wtl_kept_sensor kept = {.update_us = 0};

	if (wtl_kept_line_parse(line, len, kept.key, &kept, numbers, NUMBERS) < 0)
		return -EINVAL;
	*ret_kept = kept;
	return 0;
}
