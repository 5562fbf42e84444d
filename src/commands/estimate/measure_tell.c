/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>

#include "commands/estimate/measure.h"
#include "commands/estimate/tell.h"
#include "text/layout.h"
#include "text/report_text.h"

/* One row per repetition (docs/estimate-host.md); figures are per inference. */
static const struct wtl_doc_table table = {
	"repetitions", "0:file,runtime,inferences 1:repetition,duration_s,dynamic_j,energy_j,"
		       "uncertainty_j,time_ratio,energy_ratio,reason"};

/* Estimate over measurement. NAN: one of them is not known. */
static double time_ratio(const struct wtl_measured *measured, double seconds)
{
	return measured->has_estimate ? measured->estimate.roofline.seconds[WTL_NOMINAL] / seconds
				      : (double)NAN;
}

static double energy_ratio(const struct wtl_measured *measured, bool is_known, double joules)
{
	return is_known && measured->has_estimate && measured->estimate.roofline.has_energy
		       ? measured->estimate.roofline.joules[WTL_NOMINAL] / joules
		       : (double)NAN;
}

/* Bounds of a ratio: from the estimate's bounds and the measurement's ±. */
static void bound(const double of[WTL_BOUNDS], double mean, double uncertainty, double *ret_low,
		  double *ret_high)
{
	*ret_low = of[WTL_LOW] / (mean + uncertainty);
	*ret_high = uncertainty < mean ? of[WTL_HIGH] / (mean - uncertainty) : (double)INFINITY;
}

static const struct wtl_node *put_run(struct wtl_node *to, const struct wtl_measured *measured,
				      size_t i)
{
	const struct wtl_measured_run *run = &measured->runs[i];
	struct wtl_node *object = wtl_doc_object(to, NULL);

	wtl_doc_count(object, "repetition", i + 1);
	wtl_estimate_put_number(object, "duration_s", run->seconds);
	wtl_estimate_put_number(object, "time_ratio", time_ratio(measured, run->seconds));
	if (run->energy.is_known) {
		wtl_estimate_put_number(object, "dynamic_j",
					run->energy.dynamic_j / (double)measured->inferences);
		wtl_estimate_put_number(object, "energy_j", run->joules);
		wtl_estimate_put_number(object, "uncertainty_j", run->uncertainty_j);
		wtl_estimate_put_number(object, "energy_ratio",
					energy_ratio(measured, true, run->joules));
	} else {
		wtl_doc_text(object, "reason", run->energy.reason);
	}
	return object;
}

static void put_mean(struct wtl_node *to, const struct wtl_measured *measured)
{
	const struct wtl_roofline *roofline = &measured->estimate.roofline;
	double low, high;

	wtl_estimate_put_number(to, "duration_s", measured->seconds.mean);
	wtl_estimate_put_number(to, "duration_ci95_s", measured->seconds.ci95);
	if (measured->has_energy) {
		wtl_estimate_put_number(to, "energy_j", measured->joules.mean);
		wtl_estimate_put_number(to, "uncertainty_j", measured->uncertainty_j);
		wtl_doc_text(to, "grade", measured->is_modelled ? "modelled" : "measured");
	}
	if (!measured->has_estimate)
		return;
	bound(roofline->seconds, measured->seconds.mean, measured->seconds.ci95, &low, &high);
	wtl_estimate_put_number(to, "time_ratio", time_ratio(measured, measured->seconds.mean));
	wtl_estimate_put_number(to, "time_ratio_low", low);
	wtl_estimate_put_number(to, "time_ratio_high", high);
	if (!measured->has_energy || !roofline->has_energy)
		return;
	bound(roofline->joules, measured->joules.mean, measured->uncertainty_j, &low, &high);
	wtl_estimate_put_number(to, "energy_ratio",
				energy_ratio(measured, true, measured->joules.mean));
	wtl_estimate_put_number(to, "energy_ratio_low", low);
	wtl_estimate_put_number(to, "energy_ratio_high", high);
}

static void put_estimate(struct wtl_node *to, const struct wtl_roofline *roofline)
{
	wtl_estimate_put_number(to, "duration_low_s", roofline->seconds[WTL_LOW]);
	wtl_estimate_put_number(to, "duration_s", roofline->seconds[WTL_NOMINAL]);
	wtl_estimate_put_number(to, "duration_high_s", roofline->seconds[WTL_HIGH]);
	if (roofline->has_energy) {
		wtl_estimate_put_number(to, "energy_low_j", roofline->joules[WTL_LOW]);
		wtl_estimate_put_number(to, "energy_j", roofline->joules[WTL_NOMINAL]);
		wtl_estimate_put_number(to, "energy_high_j", roofline->joules[WTL_HIGH]);
	} else {
		wtl_doc_text(to, "reason", roofline->reason);
	}
	wtl_estimate_put_lines(to, "assumptions", wtl_buf_str(&roofline->assumptions));
}

static void document(struct wtl_doc *doc, const void *what)
{
	const struct wtl_measured *measured = what;

	doc->table = &table;
	wtl_doc_schema(doc->root, "wattle.estimate-measure/1");
	wtl_doc_text(doc->root, "file", measured->path);
	wtl_doc_text(doc->root, "runtime", measured->runtime);
	wtl_doc_count(doc->root, "inferences", measured->inferences);
	struct wtl_node *list = wtl_doc_list(doc->root, "repetitions");
	for (size_t i = 0; i < measured->n; i++) {
		const struct wtl_node *const scopes[] = {doc->root, put_run(list, measured, i)};
		wtl_doc_add_row(doc, scopes, 2);
	}
	put_mean(wtl_doc_object(doc->root, "mean"), measured);
	if (measured->has_estimate)
		put_estimate(wtl_doc_object(doc->root, "estimate"), &measured->estimate.roofline);
}

/* ---- For people ---- */

static void add_ratio(struct wtl_grid *grid, double ratio)
{
	if (isfinite(ratio))
		wtl_buf_printf(&grid->rows, "%.3g", ratio);
	wtl_grid_next(grid);
}

static void add_row(struct wtl_grid *grid, const struct wtl_measured *measured, const char *name,
		    const double figures[3], bool has_energy)
{
	wtl_grid_text(grid, name);
	wtl_estimate_put_si(&grid->rows, figures[0], "s", grid->style);
	wtl_grid_next(grid);
	add_ratio(grid, time_ratio(measured, figures[0]));
	if (!has_energy) {
		wtl_grid_cell(grid, "not known");
		return;
	}
	wtl_buf_puts(&grid->rows, measured->is_modelled ? "~ " : "");
	wtl_estimate_put_si(&grid->rows, figures[1], "J", grid->style);
	wtl_grid_next(grid);
	wtl_layout_text(&grid->rows, "± ", grid->style);
	wtl_estimate_put_si(&grid->rows, figures[2], "J", grid->style);
	wtl_grid_next(grid);
	add_ratio(grid, energy_ratio(measured, true, figures[1]));
}

static void text_rows(struct wtl_grid *grid, const struct wtl_measured *measured)
{
	static const char *const head[] = {"REPETITION", "TIME",     "EST/MEAS", "ENERGY",
					   "",		 "EST/MEAS", NULL};
	char name[32];

	wtl_grid_row(grid, WTL_TONE_FAINT, head);
	for (size_t i = 0; i < measured->n; i++) {
		const struct wtl_measured_run *run = &measured->runs[i];
		const double figures[] = {run->seconds, run->joules, run->uncertainty_j};
		snprintf(name, sizeof(name), "%zu", i + 1);
		wtl_grid_begin(grid, WTL_TONE_PLAIN);
		add_row(grid, measured, name, figures, run->energy.is_known);
	}
	const double mean[] = {measured->seconds.mean, measured->joules.mean,
			       measured->uncertainty_j};
	wtl_grid_begin(grid, WTL_TONE_STRONG);
	add_row(grid, measured, "mean", mean, measured->has_energy);
}

static void text_range(const struct wtl_report_text *text, const char *label,
		       const double of[WTL_BOUNDS], const char *unit, double mean,
		       double uncertainty)
{
	size_t start = wtl_report_text_begin_line(text, label);
	double low, high;

	bound(of, mean, uncertainty, &low, &high);
	wtl_buf_puts(text->buf, "estimate ");
	wtl_estimate_put_si(text->buf, of[WTL_NOMINAL], unit, text->style);
	wtl_buf_puts(text->buf, " (");
	wtl_estimate_put_si(text->buf, of[WTL_LOW], unit, text->style);
	wtl_buf_puts(text->buf, " to ");
	wtl_estimate_put_si(text->buf, of[WTL_HIGH], unit, text->style);
	wtl_buf_printf(text->buf, "), %.3g of what was measured (", of[WTL_NOMINAL] / mean);
	if (isfinite(high))
		wtl_buf_printf(text->buf, "%.3g to %.3g)", low, high);
	else
		wtl_buf_printf(text->buf, "at least %.3g)", low);
	wtl_report_text_end_line(text, start);
}

static void text_remarks(const struct wtl_report_text *text, const struct wtl_measured *measured)
{
	size_t start = wtl_report_text_begin_remarks(text);

	if (measured->is_modelled)
		wtl_report_text_remark(
			text, WTL_TEXT_MODEL,
			"no sensor measures energy here: joules are by wattle's model of "
			"power");
	for (size_t i = 0; i < measured->n; i++)
		if (!measured->runs[i].energy.is_known) {
			wtl_report_text_remark(text, WTL_TEXT_DOUBT, "energy is not known: %s",
					       measured->runs[i].energy.reason);
			break;
		}
	wtl_report_text_remark(
		text, WTL_TEXT_NOTE,
		"inferences a repetition: %u, of random numbers; all figures are of one",
		measured->inferences);
	wtl_report_text_remark(
		text, WTL_TEXT_NOTE,
		"energy is what the process took above what the machine draws at rest, and "
		"that for its time");
	if (measured->has_estimate)
		wtl_estimate_put_remarks(text,
					 wtl_buf_str(&measured->estimate.roofline.assumptions), "");
	wtl_report_text_end_remarks(text, start);
}

static int text(struct wtl_buf *buf, const void *what, const struct wtl_output_style *style)
{
	const struct wtl_measured *measured = what;
	const struct wtl_roofline *roofline = &measured->estimate.roofline;
	const struct wtl_report_text text = {.buf = buf, .style = style};
	size_t start = buf->len;
	struct wtl_grid grid;

	wtl_report_text_put(&text, "wattle estimate, measured on ONNX Runtime %s: %s",
			    measured->runtime, measured->path);
	wtl_report_text_end_title(&text, start);
	wtl_grid_init(&grid, "lrrrrr", style);
	text_rows(&grid, measured);
	wtl_grid_render(&grid, buf);
	if (measured->has_estimate) {
		wtl_buf_putc(buf, '\n');
		text_range(&text, "time", roofline->seconds, "s", measured->seconds.mean,
			   measured->seconds.ci95);
		if (measured->has_energy && roofline->has_energy)
			text_range(&text, "energy", roofline->joules, "J", measured->joules.mean,
				   measured->uncertainty_j);
	}
	text_remarks(&text, measured);
	return buf->error;
}

const struct wtl_thing wtl_estimate_measured_thing = {
	.build = document, .text = text, .is_page = true};
