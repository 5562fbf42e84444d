/* SPDX-License-Identifier: MIT */
/* The files of other energy meters. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/export/form.h"
#include "document/codecarbon.h"
#include "document/format.h"
#include "document/writer.h"

static void put_cell(struct wtl_buf *buf, const char *text)
{
	wtl_csv_put_text(buf, text, strlen(text));
}

/* ---- CodeCarbon's emissions.csv ---- */

static void begin_codecarbon(struct wtl_export *export)
{
	wtl_codecarbon_put_header(&export->buf, WTL_CODECARBON_2023);
}

/* What is not known stays below 0, which is written as a blank, as in the files of wattle.compat. */
static void add_parts(const struct wtl_export *export, struct wtl_codecarbon *row)
{
	double *kwh = row->kwh, sum = 0;
	size_t n_gpus = 0;

	for (size_t i = 0; i < WTL_CODECARBON_PARTS; i++)
		kwh[i] = -1;
	for (size_t i = 0; i < export->history->n_domains; i++) {
		const struct wtl_export_part *part = &export->gathered->parts[i];
		const struct wattle_domain *domain = &part->domain;
		/* A wattmeter's figure belongs to no part. */
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
