/* SPDX-License-Identifier: MIT */
/*
 * Which values a recorder can have written: anybody can compute a checksum that fits. What is read of the tables needs no
 * further check, but of how rows fit each other.
 */
#include "record/table.h"

static bool recording_is_sound(const void *at)
{
	const struct wtl_row_recording *row = at;

	return wtl_store_is_mono(row->begin_mono_ns) && wtl_store_is_utc(row->begin_utc_ns) &&
	       wtl_store_is_mono(row->end_mono_ns) && wtl_store_is_utc(row->end_utc_ns) &&
	       wtl_store_is_mono(row->period_ns) && wtl_store_is_mono(row->max_age_ns) &&
	       row->first_period >= 0 && row->first_period <= WTL_PERIODS_MAX &&
	       row->last_period >= 0 && row->last_period <= WTL_PERIODS_MAX;
}

static bool series_is_sound(const void *at)
{
	const struct wtl_row_series *row = at;

	return row->id < WTL_STORE_SERIES_MAX && row->name[0];
}

static bool period_is_sound(const void *at)
{
	const struct wtl_row_period *row = at;

	return row->id >= 1 && row->id <= WTL_PERIODS_MAX && row->parts <= WTL_PARTS_MAX &&
	       wtl_store_is_mono(row->begin_mono_ns) && wtl_store_is_utc(row->begin_utc_ns) &&
	       wtl_store_is_mono(row->end_mono_ns) && wtl_store_is_utc(row->end_utc_ns);
}

static bool domain_is_sound(const void *at)
{
	return ((const struct wtl_row_domain *)at)->id < WTL_CATALOG_MAX;
}

static bool miss_is_sound(const void *at)
{
	return ((const struct wtl_row_miss *)at)->id < WTL_CATALOG_MAX;
}

static bool class_is_sound(const struct wtl_sensor_class *class)
{
	return wtl_store_is_span(class->window_ns) && wtl_store_is_span(class->update_ns) &&
	       wtl_store_is_delay(class->latency_ns) && wtl_store_is_span(class->latency_sd_ns);
}

static bool channel_is_sound(const void *at)
{
	const struct wtl_row_channel *row = at;
	const struct wtl_channel *channel = &row->channel;

	return row->id < WTL_CATALOG_MAX && channel->domain[0] && channel->unit.num > 0 &&
	       channel->unit.den > 0 && wtl_store_is_span(channel->update_ns) &&
	       (!row->has_class || class_is_sound(&row->class));
}

static bool window_is_sound(const void *at)
{
	const struct wtl_stored_window *row = &((const struct wtl_row_window *)at)->stored;

	return row->id >= 1 && wtl_store_is_mono(row->begin_mono_ns) &&
	       wtl_store_is_utc(row->begin_utc_ns) && wtl_store_is_mono(row->duration_ns);
}

static bool energy_is_sound(const void *at)
{
	const struct wtl_row_energy *row = at;

	return row->domain >= -1 && row->domain < WTL_CATALOG_MAX &&
	       wtl_store_is_mono(row->energy.measured_ns) && wtl_store_is_mono(row->energy.gap_ns);
}

/* A clock can be set by any time, and back. */
static bool gap_is_sound(const void *at)
{
	const struct wtl_stored_gap *row = &((const struct wtl_row_gap *)at)->gap;

	return wtl_store_is_mono(row->begin_mono_ns) &&
	       (row->kind == WTL_GAP_CLOCK_STEP ? wtl_store_is_utc(row->duration_ns)
						: wtl_store_is_mono(row->duration_ns));
}

static bool consumer_is_sound(const void *at)
{
	const struct wtl_row_consumer *row = at;
	const struct wtl_consumer *consumer = &row->stored.consumer;

	return row->stored.id >= 1 && wtl_store_is_mono(consumer->start_ns) &&
	       wtl_store_is_mono(consumer->cpu_ns) && wtl_store_is_mono(consumer->counted_ns);
}

static bool account_is_sound(const void *at)
{
	const struct wtl_stored_account *row = &((const struct wtl_row_account *)at)->account;

	return row->domain < WTL_CATALOG_MAX && wtl_store_is_mono(row->share_ns);
}

static bool baseline_is_sound(const void *at)
{
	const struct wtl_stored_baseline *row = &((const struct wtl_row_baseline *)at)->stored;

	return row->domain < WTL_CATALOG_MAX && wtl_store_is_utc(row->baseline.t_utc_ns) &&
	       wtl_store_is_mono(row->baseline.seen_ns);
}

bool wtl_row_is_sound(const struct wtl_table *table, const void *row)
{
	static const struct {
		const struct wtl_table *table;
		bool (*is_sound)(const void *row);
	} rules[] = {
		{&wtl_table_recording, recording_is_sound},
		{&wtl_table_series, series_is_sound},
		{&wtl_table_period, period_is_sound},
		{&wtl_table_domain, domain_is_sound},
		{&wtl_table_channel, channel_is_sound},
		{&wtl_table_miss, miss_is_sound},
		{&wtl_table_consumer, consumer_is_sound},
		{&wtl_table_window, window_is_sound},
		{&wtl_table_energy, energy_is_sound},
		{&wtl_table_gap, gap_is_sound},
		{&wtl_table_account, account_is_sound},
		{&wtl_table_baseline, baseline_is_sound},
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].table == table)
			return rules[i].is_sound(row);
	return true;
}
