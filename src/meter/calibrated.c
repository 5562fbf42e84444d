/* SPDX-License-Identifier: MIT */
#include "meter/calibrated.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/date.h"
#include "meter/kept_file.h"
#include "meter/meter.h"

#define HEAD "wattle-calibration/1\n"
/* After such a time without a step, a counter's zero is not added: the device may have been off. */
#define APART_MAX_NS (3600 * WTL_NS_PER_S)
#define MILLION	     1000000
#define NOTE	     "calibrated "

/* A channel's reading as it was, and as it was made. */
struct corrected {
	const struct wtl_channel *channel; /* NULL: it is not calibrated */
	int64_t gain_ppm, zero_uw;
	bool has_begun;
	int64_t t_ns;	      /* of the reading that was corrected last */
	int64_t change_ns;    /* counters: when the count last changed */
	uint64_t count, made; /* then */
	__int128 rest;	      /* of a count */
};

struct wtl_calibrated {
	struct corrected *channels; /* one a channel of the catalog */
	bool has_wall;
	struct wtl_kept_calibration wall;
};

/* ---- The file ---- */

void wtl_calibration_key(char key[WTL_KEPT_KEY_SIZE], uint64_t machine_id,
			 const struct wtl_channel *channel)
{
	if (channel && channel->serial[0])
		snprintf(key, WTL_KEPT_KEY_SIZE, "%s:%s", channel->serial,
			 wattle_kind_name(channel->kind));
	else
		snprintf(key, WTL_KEPT_KEY_SIZE, "%016" PRIx64 ":%s", machine_id,
			 channel ? channel->domain : "wall");
	for (char *at = key; *at; at++)
		if (*at <= ' ' || *at > '~')
			*at = '_';
}

int wtl_calibration_path(const char *idle_path, char *ret_path, size_t size)
{
	return wtl_kept_file_beside(idle_path, "calibration", ret_path, size);
}

int wtl_calibration_keep(struct wtl_io *io, const char *path,
			 const struct wtl_kept_calibration *kept)
{
	char line[WTL_KEPT_LINE_MAX];
	int len = wtl_kept_calibration_print(line, kept);

	return len < 0 ? len : wtl_kept_file_put(io, path, HEAD, kept->key, line);
}

/* ---- Readings ---- */

static uint64_t to_count(__int128 value)
{
	return value < 0 ? 0 : value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

static uint64_t correct_power(const struct corrected *corrected, uint64_t count)
{
	const struct wtl_unit unit = corrected->channel->unit;
	__int128 zero = (__int128)corrected->zero_uw * (int64_t)unit.den / (int64_t)unit.num;

	return to_count((__int128)count * corrected->gain_ppm / MILLION + zero);
}

/*
 * A counter goes on from its corrected value by corrected steps. It moves only when the sensor's does, so that the
 * sensor's update period is seen as before; the zero's energy since the last step is added with the next step.
 */
static uint64_t correct_energy(struct corrected *corrected, const struct wtl_reading *reading)
{
	const struct wtl_channel *channel = corrected->channel;
	int64_t apart_ns = reading->t_mono_ns - corrected->change_ns;
	__int128 count = reading->value, whole = (__int128)MILLION * (int64_t)channel->unit.num;
	__int128 step;

	if (reading->value == corrected->count)
		return corrected->made;
	if (reading->value < corrected->count && channel->range > 0)
		count += channel->range;
	if (count < corrected->count) { /* a reset */
		corrected->made = reading->value;
	} else {
		step = (count - corrected->count) * corrected->gain_ppm *
		       (int64_t)channel->unit.num;
		if (apart_ns <= APART_MAX_NS)
			/* µW × ns = 1e-9 µJ; a millionth of a count is left */
			step += (__int128)corrected->zero_uw * apart_ns / 1000 *
				(int64_t)channel->unit.den;
		step += corrected->rest;
		if (step < 0)
			step = 0;
		corrected->rest = step % whole;
		corrected->made = to_count(corrected->made + step / whole);
		if (channel->range > 0)
			corrected->made %= channel->range;
	}
	corrected->count = reading->value;
	corrected->change_ns = reading->t_mono_ns;
	return corrected->made;
}

static void correct(struct corrected *corrected, struct wtl_reading *reading)
{
	if (!corrected->channel || reading->status != WATTLE_STATUS_OK)
		return;
	/* A source may leave its reading as it was. */
	if (corrected->has_begun && reading->t_mono_ns == corrected->t_ns) {
		reading->value = corrected->made;
		return;
	}
	if (!corrected->has_begun || reading->anew) {
		corrected->has_begun = true;
		corrected->count = corrected->made = reading->value;
		corrected->change_ns = reading->t_mono_ns;
		corrected->rest = 0;
	}
	corrected->t_ns = reading->t_mono_ns;
	if (corrected->channel->quantity == WTL_QUANTITY_ENERGY)
		reading->value = correct_energy(corrected, reading);
	else
		reading->value = corrected->made = correct_power(corrected, reading->value);
}

void wtl_calibrated_apply(struct wtl_calibrated *calibrated, struct wtl_reading readings[],
			  size_t first, size_t n)
{
	for (size_t i = 0; calibrated && i < n; i++)
		correct(&calibrated->channels[first + i], &readings[i]);
}

const struct wtl_kept_calibration *wtl_calibrated_wall(const struct wtl_calibrated *calibrated)
{
	return calibrated && calibrated->has_wall ? &calibrated->wall : NULL;
}

/* ---- Opening ---- */

static void take_channel(struct wtl_calibrated *calibrated, struct wtl_catalog *catalog, size_t i,
			 const struct wtl_kept_calibration *kept)
{
	struct wtl_channel *channel = &catalog->channels[i];
	struct wtl_date date = wtl_date_of(kept->t_utc_s * WTL_NS_PER_S);
	size_t len = strlen(channel->device);

	calibrated->channels[i] = (struct corrected){
		.channel = channel,
		.gain_ppm = kept->gain_ppm,
		.zero_uw = kept->zero_uw,
	};
	channel->gain_ppm = (uint32_t)kept->gain_error_ppm;
	channel->offset_uw = (uint32_t)kept->zero_error_uw;
	channel->max_uw = channel->max_uw / MILLION * (uint64_t)kept->gain_ppm;
	if (channel->max_uw && kept->zero_uw > 0)
		channel->max_uw += (uint64_t)kept->zero_uw;
	snprintf(channel->device + len, sizeof(channel->device) - len, "%s" NOTE "%04d-%02d-%02d",
		 len ? ", " : "", date.year, date.month, date.day);
}

const char *wtl_calibrated_note(const struct wtl_channel *channel)
{
	return strstr(channel->device, NOTE);
}

struct taking {
	struct wattle_meter *meter;
	bool of_serials; /* only of channels with a serial */
	struct wtl_calibrated *calibrated;
	size_t n;
};

static bool take_line(void *context, const char *line, size_t len)
{
	struct taking *taking = context;
	struct wtl_catalog *catalog = &taking->meter->catalog;
	char key[WTL_KEPT_KEY_SIZE];
	struct wtl_kept_calibration kept;

	if (wtl_kept_calibration_parse(line, len, &kept) < 0)
		return false;
	wtl_calibration_key(key, taking->meter->machine.id, NULL);
	if (!taking->of_serials && strcmp(key, kept.key) == 0) {
		taking->calibrated->has_wall = true;
		taking->calibrated->wall = kept;
		taking->n++;
	}
	for (size_t i = 0; i < catalog->n_channels; i++) {
		/* A model has no sensor; an agent's readings are calibrated where they are read. */
		if ((taking->of_serials && !catalog->channels[i].serial[0]) ||
		    catalog->channels[i].method == WATTLE_METHOD_MODELLED ||
		    strcmp(catalog->channels[i].source, "serve") == 0 ||
		    taking->calibrated->channels[i].channel)
			continue;
		wtl_calibration_key(key, taking->meter->machine.id, &catalog->channels[i]);
		if (strcmp(key, kept.key) != 0)
			continue;
		take_channel(taking->calibrated, catalog, i, &kept);
		taking->n++;
	}
	return true;
}

static int load(struct wattle_meter *meter, const char *idle_path, bool of_serials)
{
	struct taking taking = {.meter = meter, .of_serials = of_serials};
	char path[4096];
	int rc;

	if (meter->calibrated || wtl_calibration_path(idle_path, path, sizeof(path)) < 0)
		return 0;
	taking.calibrated = calloc(1, sizeof(*taking.calibrated));
	if (taking.calibrated)
		taking.calibrated->channels =
			calloc(meter->catalog.n_channels + 1, sizeof(*taking.calibrated->channels));
	rc = taking.calibrated && taking.calibrated->channels
		     ? wtl_kept_file_read(path, HEAD, meter->env.log, take_line, &taking)
		     : -ENOMEM;
	if (taking.n > 0)
		meter->calibrated = taking.calibrated;
	else
		wtl_calibrated_free(taking.calibrated);
	return rc;
}

int wtl_calibrated_load(struct wattle_meter *meter, const char *idle_path)
{
	return load(meter, idle_path, false);
}

int wtl_calibrated_load_serials(struct wattle_meter *meter, const char *idle_path)
{
	return load(meter, idle_path, true);
}

void wtl_calibrated_free(struct wtl_calibrated *calibrated)
{
	if (!calibrated)
		return;
	free(calibrated->channels);
	free(calibrated);
}
