/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "commands/estimate/host.h"
#include "commands/estimate/tell.h"
#include "text/layout.h"
#include "text/report_text.h"

/* One row per kernel. A MAC is two FLOP: figures are given per FLOP. */
static const struct wtl_doc_table table = {
	"kernels",
	"0:kernel,precision,repetitions,busy_cpus,flop_per_s,flop_per_s_uncertainty,flop_j,"
	"flop_uncertainty_j,byte_per_s,byte_per_s_uncertainty,byte_j,byte_uncertainty_j"};

#define BUSY_PART 0.9 /* of the CPUs: below this, other processes had them */

enum { FLOP_OF_MAC = 2 };

static double per_of(const struct wtl_host_row *row)
{
	return row->is_mac ? FLOP_OF_MAC : 1;
}

static double rate_of(const struct wtl_host_row *row)
{
	return per_of(row) * 1e9 / row->ns.mean;
}

static void put_row(struct wtl_node *to, const struct wtl_host_row *row)
{
	static const char *const keys[2][4] = {
		{"byte_per_s", "byte_per_s_uncertainty", "byte_j", "byte_uncertainty_j"},
		{"flop_per_s", "flop_per_s_uncertainty", "flop_j", "flop_uncertainty_j"}};
	const char *const *key = keys[row->is_mac];

	wtl_doc_text(to, "kernel", row->name);
	if (row->is_mac)
		wtl_doc_text(to, "precision", wtl_precision_names[row->precision]);
	wtl_doc_count(to, "repetitions", row->ns.n);
	wtl_doc_double(to, "busy_cpus", row->busy, 3);
	wtl_estimate_put_number(to, key[0], rate_of(row));
	wtl_estimate_put_number(to, key[1], rate_of(row) * row->ns.ci95 / row->ns.mean);
	if (!row->has_energy)
		return;
	wtl_estimate_put_number(to, key[2], row->pj * 1e-12 / per_of(row));
	wtl_estimate_put_number(to, key[3], row->uncertainty_pj * 1e-12 / per_of(row));
}

static void document(struct wtl_doc *doc, const void *what)
{
	const struct wtl_estimate_host *host = what;

	doc->table = &table;
	wtl_doc_schema(doc->root, "wattle.estimate-host/1");
	wtl_doc_text(doc->root, "processor", host->cpu);
	wtl_doc_count(doc->root, "threads", host->cpus);
	wtl_doc_count(doc->root, "cache_bytes", host->cache_bytes);
	wtl_doc_text(doc->root, "measured_utc", host->when);
	wtl_doc_known(doc->root, "openblas", host->blas);
	wtl_doc_known(doc->root, "file", host->path);
	if (host->has_energy) {
		wtl_doc_text(doc->root, "source", host->source);
		wtl_doc_text(doc->root, "grade", host->is_modelled ? "modelled" : "measured");
		wtl_estimate_put_number(doc->root, "idle_w", host->idle_w);
		wtl_estimate_put_number(doc->root, "idle_uncertainty_w", host->idle_uncertainty_w);
	} else {
		wtl_doc_text(doc->root, "reason", host->reason);
	}
	struct wtl_node *list = wtl_doc_list(doc->root, "kernels");
	for (size_t i = 0; i < host->n; i++) {
		struct wtl_node *row = wtl_doc_object(list, NULL);
		put_row(row, &host->rows[i]);
		wtl_doc_add_row(doc, (const struct wtl_node *const[]){row}, 1);
	}
}

/* "± 12 %" */
static void add_part(struct wtl_grid *grid, double part)
{
	wtl_layout_text(&grid->rows, "± ", grid->style);
	wtl_buf_printf(&grid->rows, part < 0.0995 ? "%.1f %%" : "%.0f %%", part * 100);
	wtl_grid_next(grid);
}

static void text_rows(const struct wtl_estimate_host *host, struct wtl_grid *grid)
{
	static const char *const head[] = {"KERNEL", "RATE", "", "ENERGY", "", NULL};
	const char *about = host->is_modelled ? "~ " : "";

	wtl_grid_row(grid, WTL_TONE_FAINT, head);
	for (size_t i = 0; i < host->n; i++) {
		const struct wtl_host_row *row = &host->rows[i];
		wtl_grid_begin(grid, WTL_TONE_PLAIN);
		wtl_grid_text(grid, row->name);
		wtl_estimate_put_si(&grid->rows, rate_of(row), row->is_mac ? "FLOP/s" : "B/s",
				    grid->style);
		wtl_grid_next(grid);
		add_part(grid, row->ns.ci95 / row->ns.mean);
		if (!row->has_energy) {
			wtl_grid_cell(grid, "not known");
			continue;
		}
		wtl_buf_puts(&grid->rows, about);
		wtl_estimate_put_si(&grid->rows, row->pj * 1e-12 / per_of(row),
				    row->is_mac ? "J/FLOP" : "J/B", grid->style);
		wtl_grid_next(grid);
		add_part(grid, row->uncertainty_pj / row->pj);
	}
}

static double least_busy(const struct wtl_estimate_host *host)
{
	double least = host->cpus;

	for (size_t i = 0; i < host->n; i++)
		least = fmin(least, host->rows[i].busy);
	return least;
}

static void text_remarks(const struct wtl_report_text *text, const struct wtl_estimate_host *host)
{
	size_t start = wtl_report_text_begin_remarks(text);

	if (!host->has_energy)
		wtl_report_text_remark(text, WTL_TEXT_DOUBT, "%wenergy is not known: %s", "",
				       host->reason);
	else if (host->is_modelled)
		wtl_report_text_remark(
			text, WTL_TEXT_MODEL,
			"no sensor measures energy here: joules are by wattle's model of "
			"power, from how busy the processor is; it cannot tell kernels apart");
	if (host->has_energy) {
		size_t at = wtl_report_text_begin_remark(text, WTL_TEXT_NOTE);
		wtl_report_text_put(text, "energy is above what the machine draws at rest, ");
		wtl_estimate_put_si(text->buf, host->idle_w, "W", text->style);
		wtl_report_text_put(text, "; from %s", host->source);
		wtl_report_text_end_remark(text, at);
	}
	if (least_busy(host) < BUSY_PART * host->cpus) {
		size_t at = wtl_report_text_begin_remark(text, WTL_TEXT_DOUBT);
		wtl_buf_printf(
			text->buf,
			"kernels had %.1f of %u CPUs at the least, so rates are too low: other "
			"programs ran meanwhile, or a limit holds wattle back",
			least_busy(host), host->cpus);
		wtl_report_text_end_remark(text, at);
	}
	wtl_report_text_remark(
		text, WTL_TEXT_NOTE,
		"energy of arithmetic has what its matrices in the nearest cache take; "
		"a stream reads two parts and writes one");
	if (!host->blas[0])
		wtl_report_text_remark(
			text, WTL_TEXT_NOTE,
			"OpenBLAS is not here (libopenblas.so.0, package libopenblas0): "
			"wattle's own loops alone");
	else
		wtl_report_text_remark(text, WTL_TEXT_NOTE,
				       "%s; the faster product stands for its "
				       "precision",
				       host->blas);
	if (host->path[0])
		wtl_report_text_remark(text, WTL_TEXT_NOTE,
				       "kept in %s, for wattle estimate --device host", host->path);
	wtl_report_text_end_remarks(text, start);
}

static int text(struct wtl_buf *buf, const void *what, const struct wtl_output_style *style)
{
	const struct wtl_estimate_host *host = what;
	const struct wtl_report_text text = {.buf = buf, .style = style};
	const uint64_t cpus = host->cpus;
	size_t start = buf->len;
	struct wtl_grid grid;

	wtl_report_text_put(&text, "wattle estimate, this machine: %s, %u threads", host->cpu,
			    cpus);
	wtl_report_text_end_title(&text, start);
	wtl_grid_init(&grid, "lrrrr", style);
	text_rows(host, &grid);
	wtl_grid_render(&grid, buf);
	text_remarks(&text, host);
	return buf->error;
}

const struct wtl_thing wtl_estimate_host_thing = {.build = document, .text = text, .is_page = true};
