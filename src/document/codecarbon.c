/* SPDX-License-Identifier: MIT */
#include "document/codecarbon.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "document/writer.h"
#include "energy/units.h"

#define UJ_PER_KWH 3.6e12
#define J_PER_KWH  3.6e6

/* The cells as they are written: texts, and numbers, of which negative ones stay blank. */
struct cells {
	struct wtl_codecarbon row;
	char time[32], version[64], gpu_model[128];
	const char *country, *country_code;
	double rate, memory_gib;
	double power_w[WTL_CODECARBON_ALL]; /* without PUE */
};

/* The columns in their order. */
static const struct column {
	const char *name;
	enum { ALWAYS, NUMBER, TEXT, ARRAY } kind;
	size_t at;	  /* in struct cells */
	const char *text; /* ALWAYS */
	enum wtl_codecarbon_format since;
} columns[] = {
#define CELL(name, kind, field)                                    \
	{                                                          \
		name, kind, offsetof(struct cells, field), NULL, 0 \
	}
#define SAME(name, text)                 \
	{                                \
		name, ALWAYS, 0, text, 0 \
	}
#define NEW(name)                                          \
	{                                                  \
		name, ALWAYS, 0, "", WTL_CODECARBON_LATEST \
	}
	CELL("timestamp", ARRAY, time),
	CELL("project_name", TEXT, row.project),
	CELL("run_id", TEXT, row.run_id),
	NEW("experiment_id"),
	CELL("duration", NUMBER, row.seconds),
	CELL("emissions", NUMBER, row.kg),
	CELL("emissions_rate", NUMBER, rate),
	CELL("cpu_power", NUMBER, power_w[WTL_CODECARBON_CPU]),
	CELL("gpu_power", NUMBER, power_w[WTL_CODECARBON_GPU]),
	CELL("ram_power", NUMBER, power_w[WTL_CODECARBON_RAM]),
	CELL("cpu_energy", NUMBER, row.kwh[WTL_CODECARBON_CPU]),
	CELL("gpu_energy", NUMBER, row.kwh[WTL_CODECARBON_GPU]),
	CELL("ram_energy", NUMBER, row.kwh[WTL_CODECARBON_RAM]),
	CELL("energy_consumed", NUMBER, row.kwh[WTL_CODECARBON_ALL]),
	NEW("water_consumed"),
	CELL("country_name", TEXT, country),
	CELL("country_iso_code", TEXT, country_code),
	SAME("region", ""),
	SAME("cloud_provider", ""),
	SAME("cloud_region", ""),
	CELL("os", TEXT, row.os),
	SAME("python_version", ""),
	CELL("codecarbon_version", ARRAY, version),
	CELL("cpu_count", NUMBER, row.n_cpus),
	CELL("cpu_model", TEXT, row.cpu_model),
	CELL("gpu_count", NUMBER, row.n_gpus),
	CELL("gpu_model", ARRAY, gpu_model),
	SAME("longitude", ""),
	SAME("latitude", ""),
	CELL("ram_total_size", NUMBER, memory_gib),
	SAME("tracking_mode", "machine"),
	NEW("cpu_utilization_percent"),
	NEW("gpu_utilization_percent"),
	NEW("ram_utilization_percent"),
	NEW("ram_used_gb"),
	SAME("on_cloud", "N"),
	CELL("pue", NUMBER, row.pue),
	NEW("wue"),
};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

enum wtl_codecarbon_part wtl_codecarbon_part_of(enum wattle_kind kind)
{
	return kind == WATTLE_KIND_GPU	  ? WTL_CODECARBON_GPU
	       : kind == WATTLE_KIND_DRAM ? WTL_CODECARBON_RAM
					  : WTL_CODECARBON_CPU;
}

double wtl_codecarbon_kwh(uint64_t energy_uj)
{
	return (double)energy_uj / UJ_PER_KWH;
}

void wtl_codecarbon_put_header(struct wtl_buf *buf, enum wtl_codecarbon_format format)
{
	for (size_t i = 0; i < COLUMNS; i++)
		if (columns[i].since <= format)
			wtl_buf_printf(buf, "%s%s", i ? "," : "", columns[i].name);
	wtl_buf_putc(buf, '\n');
}

static void fill(struct cells *cells)
{
	const struct wtl_codecarbon *row = &cells->row;
	time_t end = (time_t)(row->end_utc_ns / WTL_NS_PER_S);
	bool is_country = strlen(row->carbon->location) == 3, has_time = row->seconds > 0;
	struct tm local;

	/* Without a zone, as CodeCarbon writes it. */
	if (localtime_r(&end, &local))
		strftime(cells->time, sizeof(cells->time), "%Y-%m-%dT%H:%M:%S", &local);
	snprintf(cells->version, sizeof(cells->version), "wattle %s", wattle_version());
	if (row->n_gpus > 0 && row->gpu_model[0])
		snprintf(cells->gpu_model, sizeof(cells->gpu_model), "%.0f x %s", row->n_gpus,
			 row->gpu_model);
	cells->country = is_country ? row->carbon->place : "";
	cells->country_code = is_country ? row->carbon->location : "";
	cells->rate = has_time ? row->kg / row->seconds : -1;
	cells->memory_gib = row->memory_bytes > 0 ? row->memory_bytes / 1073741824.0 : -1;
	for (size_t i = 0; i < WTL_CODECARBON_ALL; i++)
		cells->power_w[i] =
			has_time ? row->kwh[i] * J_PER_KWH / row->pue / row->seconds : -1;
}

static void put_cell(struct wtl_buf *buf, const struct cells *cells, const struct column *column)
{
	const void *at = (const char *)cells + column->at;
	const char *text = column->text;

	if (column->kind == NUMBER) {
		if (*(const double *)at >= 0)
			wtl_buf_printf(buf, "%.15g", *(const double *)at);
		return;
	}
	if (column->kind != ALWAYS)
		text = column->kind == ARRAY ? at : *(const char *const *)at;
	wtl_csv_put_text(buf, text, strlen(text));
}

void wtl_codecarbon_put_row(struct wtl_buf *buf, const struct wtl_codecarbon *row,
			    enum wtl_codecarbon_format format)
{
	struct cells cells = {.row = *row};

	fill(&cells);
	for (size_t i = 0; i < COLUMNS; i++) {
		if (columns[i].since > format)
			continue;
		if (i > 0)
			wtl_buf_putc(buf, ',');
		put_cell(buf, &cells, &columns[i]);
	}
	wtl_buf_putc(buf, '\n');
}
