/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/text.h"
#include "energy/catalog.h"
#include "energy/units.h"
#include "sensors/source.h"

#define CLASS_DIR "/sys/class/power_supply"

enum { BATTERIES_MAX = 16, NAMES_MAX = 1 << 16 };

/* A laptop's battery gives 300 W at most. */
#define MAX_UW UINT64_C(500000000)

/* Judgement: fuel gauges are calibrated to a few per cent. */
#define GAIN_PPM 50000

/* The ACPI driver asks the firmware at most once a second (cache_time in drivers/acpi/battery.c). */
#define UPDATE_NS WTL_NS_PER_S

struct battery {
	struct wtl_io *io;
	struct wtl_held_file status;  /* "Charging" */
	struct wtl_held_file power;   /* µW, or the current in µA with a voltage */
	struct wtl_held_file voltage; /* µV; not open: power is power */
	bool product;
};

struct batteries {
	size_t n;
	struct battery list[BATTERIES_MAX];
};

/* The battery's status ("Charging"), or a negative errno. A battery can be changed for another. */
static int read_status(struct battery *battery, char text[32])
{
	ssize_t len = wtl_held_file_text(&battery->status, text, 31);

	wtl_text_clean(text, 32, text, len < 0 ? 0 : (size_t)len);
	return len < 0 ? (int)len : 0;
}

static uint64_t magnitude(int64_t value)
{
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

/* Some drivers give discharge a minus sign, for power or for current. */
static int read_power(struct battery *battery, uint64_t *ret_uw)
{
	int64_t power = 0;
	int64_t voltage_uv = 0;
	uint64_t uw;
	int rc = wtl_held_file_i64(&battery->power, &power);

	if (rc == 0 && battery->product)
		rc = wtl_held_file_i64(&battery->voltage, &voltage_uv);
	if (rc < 0)
		return rc;
	uw = magnitude(power);
	if (battery->product) {
		if (__builtin_mul_overflow(uw, magnitude(voltage_uv), &uw))
			return -ERANGE;
		uw /= 1000000; /* µA × µV = pW */
	}
	/* Firmware that has no answer yet says 0; a machine that runs draws more. */
	if (uw == 0)
		return -ENODATA;
	*ret_uw = uw;
	return 0;
}

/*
 * The draw is known only while the battery discharges: otherwise the number is the charger's. Status
 * text is for the caller's explanation.
 */
static void battery_get(struct battery *battery, int64_t *t_ns, struct wtl_reading *reading,
			char text[32])
{
	int64_t before_ns = *t_ns;
	uint64_t uw = 0;
	int rc = read_status(battery, text);
	bool discharging = strcmp(text, "Discharging") == 0;

	if (rc == 0)
		rc = discharging ? read_power(battery, &uw) : -ENODATA;
	*t_ns = wtl_io_mono_ns(battery->io);
	wtl_reading_set(reading, before_ns, *t_ns, rc, uw);
	if (rc == -ENODATA)
		reading->status = discharging ? WATTLE_STATUS_STALE : WATTLE_STATUS_ABSENT;
}

static bool is_text(struct wtl_io *io, const char *dir, const char *name, const char *want)
{
	char path[160];
	char text[32];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return wtl_io_read_line(io, path, text, sizeof(text)) == 0 && strcmp(text, want) == 0;
}

static void name_device(struct wtl_io *io, const char *dir, const char *entry,
			struct wtl_channel *channel)
{
	char path[160];
	char maker[24] = "";
	char model[24] = "";

	snprintf(path, sizeof(path), "%s/manufacturer", dir);
	(void)wtl_io_read_line(io, path, maker, sizeof(maker));
	snprintf(path, sizeof(path), "%s/model_name", dir);
	(void)wtl_io_read_line(io, path, model, sizeof(model));
	if (!maker[0] && !model[0])
		wtl_text_clean(channel->device, sizeof(channel->device), entry, strlen(entry));
	else
		snprintf(channel->device, sizeof(channel->device), "%s%s%s", maker,
			 maker[0] && model[0] ? " " : "", model);
}

/* Opens power_now, else current_now and voltage_now. */
static int open_files(struct battery *battery, struct wtl_io *io, const char *dir)
{
	char path[160];
	int rc;

	*battery = (struct battery){.io = io};
	snprintf(path, sizeof(path), "%s/status", dir);
	rc = wtl_held_file_open(&battery->status, io, path);
	if (rc < 0)
		return rc;
	snprintf(path, sizeof(path), "%s/power_now", dir);
	rc = wtl_held_file_open(&battery->power, io, path);
	if (rc != -ENOENT)
		return rc;
	battery->product = true;
	snprintf(path, sizeof(path), "%s/current_now", dir);
	rc = wtl_held_file_open(&battery->power, io, path);
	snprintf(path, sizeof(path), "%s/voltage_now", dir);
	return rc < 0 ? rc : wtl_held_file_open(&battery->voltage, io, path);
}

static void close_files(struct battery *battery)
{
	wtl_held_file_close(&battery->power);
	wtl_held_file_close(&battery->voltage);
	wtl_held_file_close(&battery->status);
}

/* Notes why there is no figure now, if there is none. */
static int note_state(struct battery *battery, const char *domain, struct wtl_catalog *catalog)
{
	struct wtl_reading reading = {.status = WATTLE_STATUS_OK};
	int64_t t_ns = wtl_io_mono_ns(battery->io);
	char text[32];

	battery_get(battery, &t_ns, &reading, text);
	if (reading.status == WATTLE_STATUS_OK || reading.status == WATTLE_STATUS_STALE)
		return 0;
	if (reading.status == WATTLE_STATUS_ABSENT)
		return wtl_catalog_missf(
			catalog, WATTLE_KIND_BATTERY, domain, WATTLE_STATUS_ABSENT,
			"unplug the charger",
			"the battery's status is \"%s\": only while it discharges does it tell "
			"what the machine draws",
			text);
	return wtl_catalog_missf(catalog, WATTLE_KIND_BATTERY, domain, reading.status, "",
				 "the battery's power cannot be read: %s",
				 wtl_err_text(reading.error));
}

static int open_battery(struct batteries *state, struct wtl_io *io, const char *entry,
			struct wtl_catalog *catalog)
{
	struct wtl_channel channel = {.kind = WATTLE_KIND_BATTERY,
				      .quantity = WTL_QUANTITY_POWER,
				      .method = WATTLE_METHOD_INTEGRATED,
				      .unit = WTL_UNIT_MICRO,
				      .max_uw = MAX_UW,
				      .update_ns = UPDATE_NS,
				      .gain_ppm = GAIN_PPM};
	struct battery *battery = &state->list[state->n];
	char dir[128];
	int rc;

	snprintf(dir, sizeof(dir), CLASS_DIR "/%.80s", entry);
	/* A "Device" is a mouse or a headset, which feeds itself. */
	if (!is_text(io, dir, "type", "Battery") || is_text(io, dir, "scope", "Device") ||
	    is_text(io, dir, "present", "0"))
		return 0;
	snprintf(channel.domain, sizeof(channel.domain), "battery-%u",
		 wtl_catalog_count(catalog, WATTLE_KIND_BATTERY));
	name_device(io, dir, entry, &channel);
	rc = open_files(battery, io, dir);
	if (rc < 0) {
		close_files(battery);
		return wtl_catalog_missf(
			catalog, WATTLE_KIND_BATTERY, channel.domain,
			rc == -ENOENT ? WATTLE_STATUS_ABSENT : wtl_status_from_error(rc), "",
			"the battery tells neither power nor current: %s", wtl_err_text(rc));
	}
	state->n++;
	rc = wtl_catalog_add(catalog, &channel);
	return rc < 0 ? rc : note_state(battery, channel.domain, catalog);
}

static int battery_open(void *state_, const struct wtl_env *env,
			const struct wtl_source_options *options, struct wtl_catalog *catalog)
{
	struct batteries *state = state_;
	struct wtl_buf names;
	int rc;

	(void)options;
	wtl_buf_init(&names, NAMES_MAX);
	rc = wtl_io_dir_read(env->io, CLASS_DIR, &names);
	if (rc > 0)
		rc = 0;
	for (size_t at = 0; at < names.len && rc == 0 && state->n < BATTERIES_MAX;
	     at += strlen(names.data + at) + 1)
		rc = open_battery(state, env->io, names.data + at, catalog);
	wtl_buf_done(&names);
	return rc == -ENOMEM || rc == -E2BIG ? rc : 0;
}

static void battery_read(void *state_, struct wtl_reading readings[])
{
	struct batteries *state = state_;
	int64_t t_ns;
	char text[32];

	if (state->n == 0)
		return;
	t_ns = wtl_io_mono_ns(state->list[0].io);
	for (size_t i = 0; i < state->n; i++)
		battery_get(&state->list[i], &t_ns, &readings[i], text);
}

static void battery_close(void *state_)
{
	struct batteries *state = state_;

	for (size_t i = 0; i < state->n; i++)
		close_files(&state->list[i]);
	state->n = 0;
}

const struct wtl_source_ops wtl_source_battery = {
	.name = "battery",
	.state_size = sizeof(struct batteries),
	.open = battery_open,
	.read = battery_read,
	.close = battery_close,
};
