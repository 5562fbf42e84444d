/* SPDX-License-Identifier: MIT */
/* The files of other energy meters. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commands/export/form.h"
#include "document/codecarbon.h"
#include "document/format.h"
#include "document/writer.h"
#include "energy/units.h"

/* AIPowerMeter's rows are closer to each other than this (as in an import). */
#define LINE_NS (250 * WTL_NS_PER_MS)

static void put_cell(struct wtl_buf *buf, const char *text)
{
	wtl_csv_put_text(buf, text, strlen(text));
}

/* ---- CodeCarbon's emissions.csv ---- */

static void begin_codecarbon(struct wtl_export *export)
{
	wtl_codecarbon_put_header(&export->buf, WTL_CODECARBON_2023);
}

/* What is not known stays below 0: blank, as in the files of wattle.compat. */
static void add_parts(const struct wtl_export *export, struct wtl_codecarbon *row)
{
	double *kwh = row->kwh, sum = 0;
	size_t n_gpus = 0;

	for (size_t i = 0; i < WTL_CODECARBON_PARTS; i++)
		kwh[i] = -1;
	for (size_t i = 0; i < export->history->n_domains; i++) {
		const struct wtl_export_part *part = &export->gathered->parts[i];
		const struct wattle_domain *domain = &part->domain;
		/* A wattmeter's is of no part. */
		enum wtl_codecarbon_part of = domain->kind == WATTLE_KIND_BOARD
						      ? WTL_CODECARBON_ALL
						      : wtl_codecarbon_part_of(domain->kind);
		double own_kwh = wtl_codecarbon_kwh(part->energy_uj) * row->pue;

		if (of == WTL_CODECARBON_GPU && n_gpus++ == 0 && domain->device)
			row->gpu_model = domain->device;
		if (!part->is_there || !domain->in_total)
			continue;
		kwh[of] = kwh[of] < 0 ? own_kwh : kwh[of] + own_kwh;
		sum += own_kwh;
	}
	row->n_gpus = n_gpus ? (double)n_gpus : -1;
	row->kwh[WTL_CODECARBON_ALL] = sum;
	row->kg = sum * (double)export->carbon->intensity_mg_per_kwh / 1e6;
}

static void put_codecarbon(struct wtl_export *export, const struct wtl_node *node)
{
	const struct wtl_export_gathered *window = export->gathered;
	const char *cpus = wtl_history_fact(export->history, WTL_FACT_CPUS);
	bool is_imported = wtl_history_fact(export->history, WTL_FACT_IMPORTED)[0];
	char run_id[24];
	struct wtl_codecarbon row = {
		.run_id = run_id,
		.os = "Linux",
		.cpu_model = wtl_history_fact(export->history, WTL_FACT_CPU_MODEL),
		.gpu_model = "",
		.carbon = export->carbon,
		.pue = export->pue_milli ? export->pue_milli / 1e3 : 1,
		.n_cpus = is_imported || !cpus[0] ? -1 : atof(cpus),
		.memory_bytes =
			is_imported ? -1 : atof(wtl_history_fact(export->history, WTL_FACT_MEMORY)),
	};

	if (!wtl_export_gather_window(export, node) || window->duration_ns <= 0)
		return;
	row.end_utc_ns = window->t_utc_ns + window->duration_ns;
	row.seconds = (double)window->duration_ns / 1e9;
	row.project = window->name;
	snprintf(run_id, sizeof(run_id), "%" PRId64, window->t_utc_ns);
	add_parts(export, &row);
	wtl_codecarbon_put_row(&export->buf, &row, WTL_CODECARBON_2023);
}

/* ---- ZeusMonitor's log_file ---- */

static bool is_gpu(const struct wattle_domain *domain)
{
	return domain->kind == WATTLE_KIND_GPU;
}

static void begin_zeus(struct wtl_export *export)
{
	wtl_buf_puts(&export->buf, "start_time,window_name,elapsed_time");
	for (size_t i = 0, n = 0; i < export->history->n_domains; i++)
		if (is_gpu(&export->gathered->parts[i].domain))
			wtl_buf_printf(&export->buf, ",gpu%zu_energy", n++);
	wtl_buf_putc(&export->buf, '\n');
}

static void put_zeus(struct wtl_export *export, const struct wtl_node *row)
{
	const struct wtl_export_gathered *window = export->gathered;
	struct wtl_buf *buf = &export->buf;

	if (!wtl_export_gather_window(export, row))
		return;
	wtl_format_fixed(buf, (uint64_t)(window->t_utc_ns / 1000), 6);
	wtl_buf_putc(buf, ',');
	put_cell(buf, window->name);
	wtl_buf_putc(buf, ',');
	wtl_format_fixed(buf, (uint64_t)window->duration_ns, 9);
	for (size_t i = 0; i < export->history->n_domains; i++) {
		const struct wtl_export_part *part = &window->parts[i];

		if (!is_gpu(&part->domain))
			continue;
		wtl_buf_putc(buf, ',');
		if (part->is_there)
			wtl_format_fixed(buf, part->energy_uj, 6);
	}
	wtl_buf_putc(buf, '\n');
}

/* ---- AIPowerMeter's power_metrics.json ---- */

static const struct {
	const char *name;
	enum wattle_kind kind;
} powers[] = {
	{"intel_power", WATTLE_KIND_CPU},      {"total_dram_power", WATTLE_KIND_DRAM},
	{"total_cpu_power", WATTLE_KIND_CORE}, {"uncore_power", WATTLE_KIND_UNCORE},
	{"psys_power", WATTLE_KIND_PLATFORM},
};

enum { POWERS = sizeof(powers) / sizeof(powers[0]) };

static bool has_power(const struct wattle_domain *domain)
{
	bool is_there = is_gpu(domain);

	for (size_t i = 0; i < POWERS; i++)
		is_there |= domain->kind == powers[i].kind;
	return is_there;
}

static bool power_of(const struct wtl_export *export, enum wattle_kind kind, double *ret_w)
{
	bool is_there = false;

	*ret_w = 0;
	for (size_t i = 0; i < export->history->n_domains; i++) {
		const struct wtl_export_part *part = &export->gathered->parts[i];

		if (!part->is_there || part->domain.kind != kind)
			continue;
		is_there = true;
		*ret_w += (double)part->power_uw / 1e6;
	}
	return is_there;
}

/* "0":20,"1":70 */
static void put_each_gpu(struct wtl_export *export)
{
	const char *separator = "";

	for (size_t i = 0, n = 0; i < export->history->n_domains; i++) {
		const struct wtl_export_part *part = &export->gathered->parts[i];

		if (!is_gpu(&part->domain))
			continue;
		if (part->is_there)
			wtl_buf_printf(&export->buf, "%s\"%zu\":%.9g", separator, n,
				       (double)part->power_uw / 1e6);
		separator = part->is_there ? "," : separator;
		n++;
	}
}

/* By the names of 2021 to 2025, and by those of 2026: each one's own parser wants all of its. */
static void put_gpus(struct wtl_export *export)
{
	struct wtl_buf *buf = &export->buf;
	double sum_w;

	if (!power_of(export, WATTLE_KIND_GPU, &sum_w))
		return;
	wtl_buf_printf(buf, ",\"gpu\":{\"nvidia_draw_absolute\":%.9g,\"per_gpu_power_draw\":{",
		       sum_w);
	put_each_gpu(export);
	/* The recording is of the machine, so all that was drawn belongs to it; what single processes used is not in
	 * this table. */
	wtl_buf_printf(
		buf,
		"},\"per_gpu_attributable_power\":{\"all\":%.9g},"
		"\"per_gpu_attributable_mem_use\":{},\"per_gpu_per_pid_utilization_absolute\":{},"
		"\"per_gpu_absolute_percent_usage\":{},"
		"\"per_gpu_estimated_attributable_utilization\":{},"
		"\"nvidia_power\":%.9g,\"nvidia_memory\":null,\"nvidia_use_rate\":null,"
		"\"per_gpu_nvidia_memory\":{},\"per_gpu_nvidia_use_rate\":{},"
		"\"per_gpu_nvidia_power\":{",
		sum_w, sum_w);
	put_each_gpu(export);
	wtl_buf_puts(buf, "}}");
}

/* Local time without a zone, and microseconds. */
static void put_local(struct wtl_buf *buf, int64_t t_utc_ns)
{
	time_t seconds = (time_t)(t_utc_ns / WTL_NS_PER_S);
	char text[32];
	struct tm tm;

	if (!localtime_r(&seconds, &tm))
		return;
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	wtl_buf_printf(buf, "%s.%06d", text, (int)(t_utc_ns % WTL_NS_PER_S / 1000));
}

static void put_line(struct wtl_export *export, int64_t t_utc_ns)
{
	struct wtl_buf *buf = &export->buf;
	const char *separator = "";
	double power_w;

	wtl_buf_puts(buf, "{\"date\":\"");
	put_local(buf, t_utc_ns);
	wtl_buf_puts(buf, "\",\"metrics\":{\"cpu\":{");
	for (size_t i = 0; i < POWERS; i++) {
		if (!power_of(export, powers[i].kind, &power_w))
			continue;
		wtl_buf_printf(buf, "%s\"%s\":%.9g", separator, powers[i].name, power_w);
		separator = ",";
	}
	wtl_buf_putc(buf, '}');
	put_gpus(export);
	wtl_buf_puts(buf, "}}\n");
}

/* A power is the mean since the line before: the first one has one before it, which says when that began. */
static void flush_line(struct wtl_export *export)
{
	struct wtl_export_gathered *line = export->gathered;

	if (!line->is_there)
		return;
	if (line->has_begun && line->begin_utc_ns < line->t_utc_ns)
		put_line(export, line->begin_utc_ns);
	line->has_begun = false;
	line->has_others = true;
	put_line(export, line->t_utc_ns);
	for (size_t i = 0; i < export->history->n_domains; i++)
		line->parts[i].is_there = false;
	line->is_there = false;
}

static void put_aipowermeter(struct wtl_export *export, const struct wtl_node *row)
{
	struct wtl_export_gathered *line = export->gathered;
	struct wtl_export_part *part = wtl_export_part_of(export, row);
	const struct wtl_node *time = wtl_node_get(row, "t_utc");
	uint64_t power_uw;

	if (!part || !time)
		return;
	if (!wtl_export_micro(row, "power_w", &power_uw)) {
		if (!line->has_begun && !line->has_others)
			line->begin_utc_ns = time->t_utc_ns;
		line->has_begun = !line->has_others;
		return;
	}
	if (part->is_there || time->t_utc_ns - line->t_utc_ns > LINE_NS)
		flush_line(export);
	if (!line->is_there)
		line->t_utc_ns = time->t_utc_ns;
	line->is_there = part->is_there = true;
	part->power_uw = power_uw;
}

static void end_aipowermeter(struct wtl_export *export)
{
	flush_line(export);
	wtl_buf_puts(&export->buf, "\"END OF RECORDING SEGMENT\"\n");
}

const struct wtl_export_form wtl_export_codecarbon = {
	.name = "codecarbon",
	.tables = {&wtl_export_windows, NULL},
	.begin = begin_codecarbon,
	.row = put_codecarbon,
};

const struct wtl_export_form wtl_export_zeus = {
	.name = "zeus",
	.tables = {&wtl_export_windows, NULL},
	.has_place = is_gpu,
	.places = "GPUs",
	.begin = begin_zeus,
	.row = put_zeus,
};

const struct wtl_export_form wtl_export_aipowermeter = {
	.name = "aipowermeter",
	.tables = {&wtl_export_power, NULL},
	.has_place = has_power,
	.places = "packages, memory and GPUs",
	.row = put_aipowermeter,
	.end = end_aipowermeter,
};
