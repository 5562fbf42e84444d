/* SPDX-License-Identifier: MIT */
/* Which values a machine can have: anybody can compute a checksum that fits. */
#include "record/table.h"

/* 36 years, and about 146 around 1970: some of those can be added, with 64 bits. */
#define SPAN_MAX_NS (INT64_C(1) << 60)
#define UTC_MAX_NS  (INT64_C(1) << 62)

static bool is_span(int64_t t_ns)
{
	return t_ns >= 0 && t_ns <= SPAN_MAX_NS;
}

static bool is_utc(int64_t t_ns)
{
	return t_ns >= -UTC_MAX_NS && t_ns <= UTC_MAX_NS;
}

static bool recording_is_sound(const struct wtl_row_recording *row)
{
	return is_span(row->begin_mono_ns) && is_utc(row->begin_utc_ns) &&
	       is_span(row->end_mono_ns) && is_utc(row->end_utc_ns);
}

static bool period_is_sound(const struct wtl_row_period *row)
{
	return is_span(row->begin_mono_ns) && is_utc(row->begin_utc_ns) &&
	       is_span(row->end_mono_ns) && is_utc(row->end_utc_ns);
}

static bool window_is_sound(const struct wtl_stored_window *row)
{
	return is_span(row->begin_mono_ns) && is_utc(row->begin_utc_ns) &&
	       is_span(row->duration_ns);
}

static bool energy_is_sound(const struct wtl_row_energy *row)
{
	return row->domain >= -1 && row->domain < WTL_CATALOG_MAX &&
	       is_span(row->energy.measured_ns) && is_span(row->energy.gap_ns);
}

/* A clock can be set by any time, and back. */
static bool gap_is_sound(const struct wtl_stored_gap *row)
{
	return is_span(row->begin_mono_ns) &&
	       (row->kind == WTL_GAP_CLOCK_STEP ? is_utc(row->duration_ns)
						: is_span(row->duration_ns));
}

static bool consumer_is_sound(const struct wtl_consumer *row)
{
	return is_span(row->start_ns) && is_span(row->cpu_ns) && is_span(row->counted_ns);
}

bool wtl_row_is_sound(const struct wtl_table *table, const void *row)
{
	if (table == &wtl_table_recording)
		return recording_is_sound(row);
	if (table == &wtl_table_period)
		return period_is_sound(row);
	if (table == &wtl_table_window)
		return window_is_sound(&((const struct wtl_row_window *)row)->stored);
	if (table == &wtl_table_energy)
		return energy_is_sound(row);
	if (table == &wtl_table_gap)
		return gap_is_sound(&((const struct wtl_row_gap *)row)->gap);
	if (table == &wtl_table_consumer)
		return consumer_is_sound(&((const struct wtl_row_consumer *)row)->stored.consumer);
	return true;
}
