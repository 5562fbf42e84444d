/* SPDX-License-Identifier: MIT */
/* What each table holds. docs/recording.md explains it; a test compares the two. */
#include <stddef.h>

#include "record/table.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* How SQL declares a column of each kind. */
#define SQL_BOOL  " INTEGER, "
#define SQL_I32	  " INTEGER, "
#define SQL_U32	  " INTEGER, "
#define SQL_I64	  " INTEGER, "
#define SQL_U64	  " INTEGER, "
#define SQL_TEXT  " TEXT, "
#define SQL_BYTES " BLOB, "
/* A column of the row type ROW, which each table defines for itself. */
#define FIELD(how, column, member)                                                  \
	{                                                                           \
		.name = (column), .sql = column SQL_##how, .kind = WTL_FIELD_##how, \
		.offset = offsetof(ROW, member)                                     \
	}
#define TEXT(column, member)                                                        \
	{                                                                           \
		.name = (column), .sql = column SQL_TEXT, .kind = WTL_FIELD_TEXT,   \
		.offset = offsetof(ROW, member), .size = sizeof(((ROW *)0)->member) \
	}
/* One of so many numbers from 0. */
#define ONE_OF(how_many, column, member)                                        \
	{                                                                       \
		.name = (column), .sql = column SQL_U32, .kind = WTL_FIELD_U32, \
		.offset = offsetof(ROW, member), .size = (how_many)             \
	}
#define PERHAPS(how, column, member)                                                \
	{                                                                           \
		.name = (column), .sql = column SQL_##how, .kind = WTL_FIELD_##how, \
		.offset = offsetof(ROW, member), .is_optional = true                \
	}
#define TABLE(table, title, keys, computed, ...)                                       \
	static const struct wtl_field table##_fields[] = {__VA_ARGS__};                \
	_Static_assert(COUNT(table##_fields) <= WTL_FIELDS_MAX,                        \
		       "more than guard.c lets a table have");                         \
	_Static_assert(sizeof(ROW) <= WTL_ROW_SIZE_MAX, "there is room for any");      \
	const struct wtl_table wtl_table_##table = {.name = (title),                   \
						    .fields = table##_fields,          \
						    .n_fields = COUNT(table##_fields), \
						    .n_keys = (keys),                  \
						    .size = sizeof(ROW),               \
						    .more = (computed)}

enum {
	TRUTHS = 2,
	STATUSES = WATTLE_STATUS_ABSENT + 1,
	METHODS = WATTLE_METHOD_MIXED + 1,
	QUANTITIES = WTL_QUANTITY_POWER + 1,
	ARCHITECTURES = WTL_GPU_ARCHS,
	POWER_FIELDS = WTL_POWER_INSTANT + 1,
	SENSOR_KINDS = WTL_SENSOR_ESTIMATE + 1,
	STATES = WTL_CONSUMER_FOLDED + 1,
	GAP_KINDS = WTL_GAP_EXITS + 1,
};

#define ROW struct wtl_row_recording
TABLE(recording, "recording", 1, NULL, FIELD(U32, "id", id), FIELD(I32, "pid", pid),
      FIELD(I64, "begin_utc_ns", begin_utc_ns), FIELD(I64, "begin_mono_ns", begin_mono_ns),
      FIELD(I64, "period_ns", period_ns), FIELD(I64, "max_age_ns", max_age_ns),
      FIELD(U64, "max_bytes", max_bytes), FIELD(BOOL, "is_whole", is_whole),
      FIELD(I64, "end_utc_ns", end_utc_ns), FIELD(I64, "end_mono_ns", end_mono_ns),
      FIELD(I64, "first_period", first_period), FIELD(I64, "last_period", last_period));
#undef ROW

#define ROW struct wtl_row_fact
TABLE(fact, "fact", 1, NULL, TEXT("key", key), TEXT("value", value));
#undef ROW

#define ROW struct wtl_row_series
TABLE(series, "series", 1, NULL, FIELD(U32, "id", id), TEXT("name", name));
#undef ROW

#define ROW struct wtl_row_period
TABLE(period, "period", 1, NULL, FIELD(I64, "id", id), FIELD(I64, "begin_mono_ns", begin_mono_ns),
      FIELD(I64, "end_mono_ns", end_mono_ns), FIELD(I64, "begin_utc_ns", begin_utc_ns),
      FIELD(I64, "end_utc_ns", end_utc_ns), FIELD(U32, "parts", parts),
      FIELD(BYTES, "counts", counts));
#undef ROW

#define ROW struct wtl_row_part
TABLE(part, "part", 1, "period INTEGER AS (id >> 16), number INTEGER AS (id & 65535)",
      FIELD(I64, "id", id), FIELD(I64, "end_mono_ns", end_mono_ns),
      FIELD(I64, "end_utc_ns", end_utc_ns), FIELD(BYTES, "data", data));
#undef ROW

#define ROW struct wtl_row_chunk
TABLE(chunk, "chunk", 1, "period INTEGER AS (id >> 16), series INTEGER AS (id & 65535)",
      FIELD(I64, "id", id), FIELD(U32, "n", n), FIELD(U32, "size", size),
      ONE_OF(WTL_PACKINGS, "packed", packed), FIELD(BYTES, "data", data));
#undef ROW

#define ROW struct wtl_row_domain
TABLE(domain, "domain", 1, NULL, FIELD(U32, "id", id), TEXT("name", domain.name),
      TEXT("inside", domain.inside), TEXT("source", domain.source), TEXT("device", domain.device),
      TEXT("reason", domain.reason), TEXT("remedy", domain.remedy),
      ONE_OF(WATTLE_KINDS, "kind", domain.kind), ONE_OF(METHODS, "method", domain.method),
      ONE_OF(STATUSES, "status", domain.status), FIELD(BOOL, "in_total", domain.in_total),
      FIELD(I32, "primary_channel", domain.primary), FIELD(I32, "check_channel", domain.check));
#undef ROW

#define ROW struct wtl_row_channel
TABLE(channel, "channel", 1, NULL, FIELD(U32, "id", id), TEXT("domain", channel.domain),
      TEXT("inside", channel.inside), TEXT("device", channel.device), TEXT("source", source),
      FIELD(U32, "rank", channel.rank), ONE_OF(WATTLE_KINDS, "kind", channel.kind),
      ONE_OF(METHODS, "method", channel.method), ONE_OF(QUANTITIES, "quantity", channel.quantity),
      FIELD(BOOL, "in_total", channel.in_total), FIELD(U64, "unit_num", channel.unit.num),
      FIELD(U64, "unit_den", channel.unit.den), FIELD(U64, "range", channel.range),
      FIELD(U64, "max_uw", channel.max_uw), FIELD(I64, "update_ns", channel.update_ns),
      FIELD(U32, "gain_ppm", channel.gain_ppm), FIELD(U32, "offset_uw", channel.offset_uw),
      FIELD(U64, "idle_uw", channel.idle_uw), FIELD(BOOL, "has_class", has_class),
      TEXT("class_name", class_name), ONE_OF(ARCHITECTURES, "class_arch", class.arch),
      ONE_OF(POWER_FIELDS, "class_field", class.field),
      FIELD(I32, "class_driver_min", class.driver_min),
      FIELD(I32, "class_driver_max", class.driver_max),
      ONE_OF(SENSOR_KINDS, "class_kind", class.kind),
      FIELD(I64, "class_window_ns", class.window_ns),
      FIELD(I64, "class_update_ns", class.update_ns),
      FIELD(I64, "class_latency_ns", class.latency_ns),
      FIELD(I64, "class_latency_sd_ns", class.latency_sd_ns),
      FIELD(U32, "class_coverage_permille", class.coverage_permille),
      FIELD(BOOL, "class_known", class.known));
#undef ROW

#define ROW struct wtl_row_miss
TABLE(miss, "miss", 1, NULL, FIELD(U32, "id", id), TEXT("domain", miss.domain),
      TEXT("source", source), ONE_OF(WATTLE_KINDS, "kind", miss.kind),
      ONE_OF(STATUSES, "status", miss.status), FIELD(BOOL, "in_total", miss.in_total),
      TEXT("reason", miss.reason), TEXT("remedy", miss.remedy));
#undef ROW

#define ROW struct wtl_row_consumer
TABLE(consumer, "consumer", 1, NULL, FIELD(U32, "id", stored.id), FIELD(U32, "slot", stored.slot),
      FIELD(I64, "first_look", stored.first_look), FIELD(I64, "last_look", stored.last_look),
      FIELD(I64, "end_period", end_period), ONE_OF(STATES, "state", stored.consumer.state),
      FIELD(I32, "pid", stored.consumer.pid), FIELD(I32, "parent", stored.consumer.parent),
      FIELD(I64, "start_ns", stored.consumer.start_ns), PERHAPS(U32, "uid", stored.consumer.uid),
      TEXT("user", stored.user), FIELD(U32, "n_processes", stored.consumer.n_processes),
      FIELD(BOOL, "is_in_tree", stored.consumer.is_in_tree),
      FIELD(BOOL, "is_readable", stored.consumer.is_readable), TEXT("name", stored.consumer.name),
      TEXT("command", stored.command), FIELD(BOOL, "has_group", has_group),
      TEXT("cgroup", stored.group.cgroup), TEXT("unit", stored.group.unit),
      TEXT("container", stored.group.container), TEXT("pod", stored.group.pod),
      TEXT("job", stored.group.job), FIELD(I64, "cpu_ns", stored.consumer.cpu_ns),
      FIELD(I64, "counted_ns", stored.consumer.counted_ns),
      FIELD(U32, "cpu_ppm", stored.consumer.cpu_ppm),
      FIELD(U32, "n_threads", stored.consumer.n_threads),
      PERHAPS(U64, "rss_bytes", stored.consumer.rss_bytes),
      PERHAPS(U64, "pss_bytes", stored.consumer.pss_bytes),
      PERHAPS(U64, "uss_bytes", stored.consumer.uss_bytes),
      PERHAPS(U64, "gpu_memory_bytes", stored.consumer.gpu_memory_bytes),
      PERHAPS(U32, "gpu_ppm", stored.consumer.gpu_ppm),
      FIELD(U64, "per_cpu_uw", stored.per_cpu.power_uw),
      FIELD(U64, "per_cpu_uncertainty_uw", stored.per_cpu.uncertainty_uw));
#undef ROW

#define ROW struct wtl_row_consumer_end
TABLE(consumer_end, "consumer", 1, NULL, FIELD(U32, "id", id), FIELD(I64, "last_look", last_look));
#undef ROW

#define ROW struct wtl_row_window
TABLE(window, "window", 1, NULL, FIELD(U32, "id", stored.id), TEXT("name", stored.name),
      FIELD(BOOL, "is_stacked", stored.is_stacked), FIELD(BOOL, "is_open", stored.is_open),
      FIELD(I32, "pid", stored.pid), FIELD(I64, "begin_utc_ns", stored.begin_utc_ns),
      FIELD(I64, "begin_mono_ns", stored.begin_mono_ns),
      FIELD(I64, "duration_ns", stored.duration_ns));
#undef ROW

#define ROW struct wtl_row_energy
TABLE(energy, "energy", 2, NULL, FIELD(U32, "window", window), FIELD(I32, "domain", domain),
      ONE_OF(STATUSES, "status", energy.status), ONE_OF(METHODS, "method", energy.method),
      ONE_OF(TRUTHS, "has_energy", energy.has_energy),
      ONE_OF(TRUTHS, "has_power", energy.has_power), FIELD(U64, "energy_uj", energy.energy_uj),
      FIELD(U64, "uncertainty_uj", energy.uncertainty_uj), FIELD(U64, "mean_uw", energy.mean_uw),
      FIELD(U64, "max_uw", energy.max_uw), FIELD(I64, "measured_ns", energy.measured_ns),
      FIELD(I64, "gap_ns", energy.gap_ns), FIELD(U32, "flags", energy.flags),
      FIELD(U32, "samples", energy.samples));
#undef ROW

#define ROW struct wtl_row_gap
TABLE(gap, "gap", 1, NULL, FIELD(U32, "id", id), ONE_OF(GAP_KINDS, "kind", gap.kind),
      FIELD(I64, "begin_mono_ns", gap.begin_mono_ns), FIELD(I64, "duration_ns", gap.duration_ns),
      TEXT("subject", gap.subject), TEXT("text", gap.text));
#undef ROW

#define ROW struct wtl_row_account
TABLE(account, "account", 3, NULL, FIELD(U32, "domain", account.domain),
      FIELD(U32, "consumer", account.consumer), FIELD(U32, "slot", account.slot),
      FIELD(U64, "full_uj", account.full_uj), FIELD(I64, "share_ns", account.share_ns),
      FIELD(U64, "doubt_uj", account.doubt_uj));
#undef ROW

#define ROW struct wtl_row_baseline
TABLE(baseline, "baseline", 1, NULL, FIELD(U32, "domain", stored.domain),
      FIELD(BOOL, "is_known", stored.baseline.is_known),
      FIELD(BOOL, "is_modelled", stored.baseline.is_modelled),
      FIELD(U64, "idle_uw", stored.baseline.idle_uw),
      FIELD(U64, "uncertainty_uw", stored.baseline.uncertainty_uw),
      FIELD(I64, "t_utc_ns", stored.baseline.t_utc_ns),
      FIELD(I64, "seen_ns", stored.baseline.seen_ns),
      FIELD(BOOL, "is_given", stored.baseline.is_given));
#undef ROW

const struct wtl_table *wtl_table_at(size_t i)
{
	static const struct wtl_table *const tables[] = {
		&wtl_table_recording, &wtl_table_fact,	  &wtl_table_series,   &wtl_table_domain,
		&wtl_table_channel,   &wtl_table_miss,	  &wtl_table_consumer, &wtl_table_window,
		&wtl_table_energy,    &wtl_table_account, &wtl_table_baseline, &wtl_table_gap,
		&wtl_table_period,    &wtl_table_part,	  &wtl_table_chunk,
	};

	_Static_assert(COUNT(tables) == WTL_TABLES, "there is room for so many");
	return i < COUNT(tables) ? tables[i] : NULL;
}
