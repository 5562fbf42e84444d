/* SPDX-License-Identifier: MIT */
/* What was sampled: raw readings, power by domain, and devices' figures. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/export/export.h"
#include "energy/units.h"
#include "meter/meter.h"
#include "replay/device.h"
#include "replay/format.h"

/* After so many updates without a change, a counter's power is 0; rows may be closer than an update by that
 * part of it (judgement). */
enum { STILL_UPDATES = 10, JITTER_PART = 8 };

static struct wtl_node *new_row(struct wtl_export *export, int64_t t_mono_ns)
{
	struct wtl_node *row = wtl_export_new_row(export);

	wtl_doc_utc(row, "t_utc", wtl_history_utc(export->history, t_mono_ns));
	wtl_doc_integer(row, "t_mono_ns", t_mono_ns);
	return row;
}

/* Older files may have a reading twice: the second time with a time cut to whole microseconds, which is earlier. */
static bool is_new(struct wtl_export *export, size_t channel, const struct wtl_reading *reading)
{
	int64_t seen_ns = export->seen_ns[channel], t_ns = reading->t_mono_ns;

	if (t_ns == seen_ns || t_ns == seen_ns - seen_ns % 1000)
		return false;
	export->seen_ns[channel] = t_ns;
	return true;
}

/* ---- samples ---- */

static void put_reading(struct wtl_export *export, const struct wtl_channel *channel,
			const struct wtl_reading *reading)
{
	struct wtl_node *row = new_row(export, reading->t_mono_ns);

	wtl_doc_text(row, "domain", channel->domain);
	wtl_doc_text(row, "source", channel->source);
	wtl_doc_text(row, "status", wattle_status_name(reading->status));
	if (reading->status == WATTLE_STATUS_OK) {
		wtl_doc_fixed(row, "count", reading->value, 0);
		wtl_doc_micro(row,
			      channel->quantity == WTL_QUANTITY_ENERGY ? "energy_j" : "power_w",
			      wtl_unit_convert(channel->unit, reading->value));
	}
	wtl_export_put_row(export);
}

static void put_readings(struct wtl_export *export)
{
	const struct wtl_catalog *catalog = &export->history->meter->catalog;
	const struct wtl_reading *readings = wtl_player_readings(export->history->player);

	for (size_t i = 0; i < catalog->n_channels; i++) {
		if (!is_new(export, i, &readings[i]))
			continue;
		put_reading(export, &catalog->channels[i], &readings[i]);
	}
}

static int begin_seen(struct wtl_export *export)
{
	size_t n = export->history->meter->catalog.n_channels;

	export->seen_ns = malloc((n + 1) * sizeof(*export->seen_ns));
	if (!export->seen_ns)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		export->seen_ns[i] = INT64_MIN;
	return 0;
}

static int begin_samples(struct wtl_export *export)
{
	int rc = begin_seen(export);

	/* The meter's first sample. */
	if (rc == 0)
		put_readings(export);
	return rc;
}

static int take_samples(struct wtl_export *export, const struct wtl_played *played)
{
	if (played && wtl_played_has_sample(played))
		put_readings(export);
	return 0;
}

const struct wtl_export_table wtl_export_samples = {
	.table = {"samples", "t_utc,t_mono_ns,domain,source,status,count,energy_j,power_w"},
	.begin = begin_samples,
	.take = take_samples,
};

/* ---- power ---- */

static int begin_power(struct wtl_export *export)
{
	const struct wattle_meter *meter = export->history->meter;
	int64_t now_ns = wtl_player_mono(export->history->player);

	export->marks = calloc(export->history->n_domains + 1, sizeof(*export->marks));
	export->powers = calloc(export->history->n_domains + 1, sizeof(*export->powers));
	if (!export->marks || !export->powers)
		return -ENOMEM;
	for (size_t i = 0; i < meter->n_domains; i++)
		if (meter->domains[i].account)
			wtl_account_mark(meter->domains[i].account, now_ns, 0, &export->marks[i]);
	return begin_seen(export);
}

/*
 * Has it been long enough for a mean? A counter's value between two updates belongs to no exact moment: its
 * means go from one row in which it moved to another, until it has stood still for many updates.
 */
static bool is_power_known(const struct wtl_domain_state *line, const struct wattle_energy *energy,
			   const struct wtl_export_power *power)
{
	const struct wtl_account *account = line->account;
	int64_t apart_ns = energy->measured_ns - power->before.measured_ns;
	int64_t update_ns = wtl_account_update_ns(account);
	int64_t least_ns = update_ns > WTL_POWER_MIN_NS ? update_ns : WTL_POWER_MIN_NS;

	/* Less energy than before: an estimate was corrected. */
	if (!energy->has_energy || energy->energy_uj < power->before.energy_uj ||
	    apart_ns < least_ns - least_ns / JITTER_PART)
		return false;
	if (account->channel->quantity != WTL_QUANTITY_ENERGY ||
	    energy->energy_uj != power->last_uj)
		return true;
	return energy->energy_uj == power->before.energy_uj && update_ns > 0 &&
	       apart_ns / STILL_UPDATES >= update_ns && !wtl_account_is_unclear(account);
}

/* The next mean begins where this one ends, or if the energy or its time went back. */
static void go_on_from(struct wtl_export_power *power, const struct wattle_energy *energy,
		       bool was_told)
{
	if (!energy->has_energy)
		return;
	power->last_uj = energy->energy_uj;
	if (was_told || energy->energy_uj < power->before.energy_uj ||
	    energy->measured_ns < power->before.measured_ns)
		power->before = *energy;
}

static void put_power(struct wtl_export *export, const struct wtl_domain_state *line,
		      int64_t t_mono_ns, const struct wattle_energy *energy,
		      struct wtl_export_power *power)
{
	const struct wattle_energy *before = &power->before;
	bool is_known = is_power_known(line, energy, power);
	struct wtl_node *row = new_row(export, t_mono_ns);

	wtl_doc_text(row, "domain", line->domain.name);
	wtl_doc_flag(row, "in_total", line->domain.in_total);
	wtl_doc_text(row, "status", wattle_status_name(energy->status));
	if (energy->has_energy)
		wtl_doc_micro(row, "energy_j", energy->energy_uj);
	if (is_known)
		wtl_doc_micro(row, "power_w",
			      wtl_power_uw(energy->energy_uj - before->energy_uj,
					   energy->measured_ns - before->measured_ns));
	wtl_doc_seconds(row, "gap_s", energy->gap_ns > 0 ? energy->gap_ns : 0);
	wtl_export_put_row(export);
	go_on_from(power, energy, is_known);
}

static int take_power(struct wtl_export *export, const struct wtl_played *played)
{
	const struct wattle_meter *meter = export->history->meter;
	const struct wtl_reading *readings = wtl_player_readings(export->history->player);

	if (!played || !wtl_played_has_sample(played))
		return 0;
	for (size_t i = 0; i < meter->n_domains; i++) {
		const struct wtl_domain_state *line = &meter->domains[i];
		struct wattle_energy energy;
		struct wtl_budget budget;
		int primary = line->domain.primary;

		if (primary < 0 || !is_new(export, (size_t)primary, &readings[primary]))
			continue;
		wtl_account_settle_mark(line->account, &export->marks[i]);
		wtl_domain_state_energy(line, &export->marks[i], readings[primary].t_mono_ns,
					&energy, &budget);
		put_power(export, line, readings[primary].t_mono_ns, &energy, &export->powers[i]);
	}
	return 0;
}

const struct wtl_export_table wtl_export_power = {
	.table = {"power", "t_utc,t_mono_ns,domain,in_total,status,energy_j,power_w,gap_s"},
	.begin = begin_power,
	.take = take_power,
};

/* ---- devices ---- */

/* "machine", the device's domain, or its number where it has none. */
static const char *device_name(struct wtl_export *export, int32_t device, char *text, size_t size)
{
	char key[WTL_STORE_NAME_SIZE];
	const char *domain;

	if (device < 0)
		return "machine";
	snprintf(key, sizeof(key), WTL_FACT_DEVICE_DOMAIN, (size_t)device);
	domain = wtl_history_fact(export->history, key);
	if (domain[0])
		return domain;
	snprintf(text, size, "device-%d", device);
	return text;
}

static int take_devices(struct wtl_export *export, const struct wtl_played *played)
{
	char name[32];

	if (!played || played->kind != WTL_PLAYED_DEVICES)
		return 0;
	for (size_t i = 0; i < played->n_devices; i++) {
		const struct wtl_device_value *device = &played->devices[i];
		struct wtl_node *row = new_row(export, played->t_mono_ns);

		wtl_doc_text(row, "device", device_name(export, device->gpu, name, sizeof(name)));
		wtl_doc_text(row, "quantity", wtl_device_quantities[device->number].name);
		if (device->number == WTL_DEVICE_LIMIT_UW && device->value >= 0)
			wtl_doc_micro(row, "value", (uint64_t)device->value);
		else
			wtl_doc_integer(row, "value", device->value);
		wtl_export_put_row(export);
	}
	return 0;
}

const struct wtl_export_table wtl_export_devices = {
	.table = {"devices", "t_utc,t_mono_ns,device,quantity,value"},
	.take = take_devices,
};
