/* SPDX-License-Identifier: MIT */
#include "meter/sensed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/date.h"
#include "energy/units.h"
#include "meter/kept_file.h"
#include "meter/meter.h"

#define HEAD "wattle-sensors/1\n"

int wtl_sensed_path(const char *idle_path, char *ret_path, size_t size)
{
	return wtl_kept_file_beside(idle_path, "sensors", ret_path, size);
}

int wtl_sensed_keep(struct wtl_io *io, const char *path, const struct wtl_kept_sensor *kept)
{
	char line[WTL_KEPT_LINE_MAX];
	int len = wtl_kept_sensor_print(line, kept);

	return len < 0 ? len : wtl_kept_file_put(io, path, HEAD, kept->key, line);
}

/* Channels of other sources come from an imported file: its rows are readings of the same sensor, with times of their own. */
static bool is_live(const struct wtl_channel *channel)
{
	return strcmp(channel->source, "nvml") == 0;
}

/* Is the line of this channel? Never for a file's energy counters and scrapes (class "mean"), whose
 * times are not the sensor's own. */
static bool is_of(const struct wtl_channel *channel, const char *kept_key)
{
	char key[WTL_KEPT_KEY_SIZE];

	if (!channel->serial[0] || channel->kind != WATTLE_KIND_GPU ||
	    (channel->quantity == WTL_QUANTITY_ENERGY && !is_live(channel)))
		return false;
	if (channel->quantity == WTL_QUANTITY_ENERGY)
		wtl_kept_sensor_counter_key(key, channel->serial);
	else if (channel->class && strcmp(channel->class->name, "mean") != 0)
		wtl_kept_sensor_key(key, channel->serial, channel->class->field);
	else
		return false;
	return strcmp(key, kept_key) == 0;
}

static void say_so(struct wtl_channel *channel, const struct wtl_kept_sensor *kept)
{
	struct wtl_date date = wtl_date_of(kept->t_utc_s * WTL_NS_PER_S);
	size_t len = strlen(channel->device);

	snprintf(channel->device + len, sizeof(channel->device) - len,
		 "%ssensor measured %04d-%02d-%02d", len ? ", " : "", date.year, date.month,
		 date.day);
}

/* The account goes by the sensor as it is now, from the reading that the meter began with. */
static void begin_anew(struct wattle_meter *meter, size_t i)
{
	const struct wtl_channel *channel = &meter->catalog.channels[i];
	struct wtl_account *account = &meter->accounts[i];

	wtl_account_init(account, channel, account->integral);
	if (meter->read_ns > 0)
		wtl_account_feed(account, &meter->readings[i]);
	for (size_t k = 0; k < meter->n_domains; k++) {
		struct wattle_domain *info = &meter->domains[k].info;

		if (meter->domains[k].domain.primary != (int)i)
			continue;
		info->update_ns = channel->update_ns;
		info->sensor = channel->class ? channel->class->name : NULL;
		info->device = channel->device;
	}
}

static bool take_line(void *context, const char *line, size_t len)
{
	struct wattle_meter *meter = context;
	struct wtl_kept_sensor kept;

	if (wtl_kept_sensor_parse(line, len, &kept) < 0)
		return false;
	for (size_t i = 0; i < meter->catalog.n_channels; i++) {
		struct wtl_channel *channel = &meter->catalog.channels[i];

		if (!is_of(channel, kept.key))
			continue;
		if (is_live(channel))
			channel->update_ns = 1000 * kept.update_us;
		if (channel->quantity == WTL_QUANTITY_POWER) {
			struct wtl_sensor_class *class = &meter->sensed[i];

			*class = *channel->class;
			wtl_kept_sensor_class(&kept, class);
			if (!is_live(channel))
				wtl_sensor_class_space(class, channel->update_ns);
			channel->class = class;
		}
		say_so(channel, &kept);
		begin_anew(meter, i);
	}
	return true;
}

int wtl_sensed_load(struct wattle_meter *meter, const char *idle_path)
{
	char path[4096];

	if (meter->sensed || wtl_sensed_path(idle_path, path, sizeof(path)) < 0)
		return 0;
	meter->sensed = calloc(meter->catalog.n_channels + 1, sizeof(*meter->sensed));
	if (!meter->sensed)
		return -ENOMEM;
	return wtl_kept_file_read(path, HEAD, meter->env.log, take_line, meter);
}
