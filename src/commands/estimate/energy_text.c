/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "commands/estimate/energy.h"
#include "commands/estimate/estimate.h"
#include "commands/estimate/tell.h"
#include "text/layout.h"
#include "text/report_text.h"

static void put_joules(struct wtl_buf *buf, double joules, const struct wtl_output_style *style)
{
	wtl_estimate_put_si(buf, joules, "J", style);
}

static void add_joules(struct wtl_grid *grid, bool has, double joules)
{
	if (has && joules > 0)
		put_joules(&grid->rows, joules, grid->style);
	wtl_grid_next(grid);
}

static void add_run(struct wtl_grid *grid, const struct wtl_estimate_run *run, size_t layer)
{
	bool has = run->has_price;

	add_joules(grid, has, has ? run->price.layers[layer].compute.nominal : 0);
	add_joules(grid, has && run->price.prices_memory,
		   has ? run->price.layers[layer].memory.nominal : 0);
}

static void add_rate(struct wtl_grid *grid, bool has, double rate)
{
	if (has && isfinite(rate))
		wtl_buf_printf(&grid->rows, "%.3g", rate);
	wtl_grid_next(grid);
}

/* Layers without MACs are merged into one row, unless all are asked for. */
static void put_layers(const struct wtl_report_text *text, const struct wtl_estimate_energy *energy,
		       const struct wtl_estimate_device *device)
{
	static const char *const head[] = {"LAYER",  "COMPUTE",	   "MEMORY", "SPIKING",
					   "MEMORY", "BREAK-EVEN", "ALONE",  NULL};
	double others[4] = {0};
	size_t n_others = 0;
	struct wtl_grid grid;

	wtl_grid_init(&grid, "crrrrrr", text->style);
	wtl_grid_row(&grid, WTL_TONE_FAINT, head);
	for (size_t i = 0; i < energy->network->n; i++) {
		if (energy->network->layers[i].macs == 0 && !text->style->verbose) {
			n_others++;
			if (device->ordinary.has_price) {
				others[0] += device->ordinary.price.layers[i].compute.nominal;
				others[1] += device->ordinary.price.layers[i].memory.nominal;
			}
			if (device->spiking.has_price) {
				others[2] += device->spiking.price.layers[i].compute.nominal;
				others[3] += device->spiking.price.layers[i].memory.nominal;
			}
			continue;
		}
		wtl_grid_begin(&grid, WTL_TONE_PLAIN);
		wtl_grid_text(&grid, energy->network->layers[i].name);
		add_run(&grid, &device->ordinary, i);
		add_run(&grid, &device->spiking, i);
		bool has = device->has_break_even;
		add_rate(&grid, has, has ? device->layers[i].with_memory : 0);
		add_rate(&grid, has, has ? device->layers[i].compute : 0);
	}
	if (n_others > 0) {
		wtl_grid_begin(&grid, WTL_TONE_PLAIN);
		wtl_buf_printf(&grid.rows, "%zu without MACs (-v)", n_others);
		wtl_grid_next(&grid);
		for (size_t k = 0; k < 4; k++)
			add_joules(&grid, true, others[k]);
	}
	wtl_grid_render(&grid, text->buf);
}

static void put_sweep(const struct wtl_report_text *text, const struct wtl_estimate_energy *energy,
		      const struct wtl_estimate_device *device)
{
	static const char *const head[] = {"STEPS",   "RATE",	     "SPIKING", "LOWEST",
					   "HIGHEST", "OF ORDINARY", NULL};
	size_t n = wtl_sweep_points(energy->sweep);
	struct wtl_grid grid;

	wtl_grid_init(&grid, "rrrrrr", text->style);
	wtl_grid_row(&grid, WTL_TONE_FAINT, head);
	for (size_t i = 0; i < n; i++) {
		const struct wtl_estimate_point *point = &device->points[i];

		wtl_grid_begin(&grid, WTL_TONE_PLAIN);
		wtl_grid_number(&grid, point->steps);
		if (!isnan(point->rate))
			wtl_buf_printf(&grid.rows, "%.3g", point->rate);
		wtl_grid_next(&grid);
		const double each[] = {point->total.nominal, point->total.low, point->total.high};
		for (size_t k = 0; k < 3; k++) {
			put_joules(&grid.rows, each[k], text->style);
			wtl_grid_next(&grid);
		}
		if (point->ordinary > 0) {
			wtl_buf_printf(&grid.rows, "%.3g ", point->total.nominal / point->ordinary);
			wtl_layout_text(&grid.rows, "×", text->style);
		}
		wtl_grid_next(&grid);
	}
	wtl_grid_render(&grid, text->buf);
}

enum { LABEL_COLUMNS = 14 };

static size_t begin_line(const struct wtl_report_text *text, const char *label)
{
	wtl_buf_printf(text->buf, "  %-*s", LABEL_COLUMNS - 2, label);
	return text->buf->len;
}

static void end_line(const struct wtl_report_text *text, size_t start)
{
	wtl_layout_wrap(text->buf, start, LABEL_COLUMNS, LABEL_COLUMNS);
}

static void put_energy(const struct wtl_report_text *text, const struct wtl_energy *energy)
{
	put_joules(text->buf, energy->nominal, text->style);
	if (energy->high > energy->low) {
		wtl_buf_puts(text->buf, " (");
		put_joules(text->buf, energy->low, text->style);
		wtl_buf_puts(text->buf, " to ");
		put_joules(text->buf, energy->high, text->style);
		wtl_buf_puts(text->buf, ")");
	}
}

static void put_run(const struct wtl_report_text *text, const char *label,
		    const struct wtl_estimate_run *run)
{
	if (!run->is_wanted)
		return;
	size_t start = begin_line(text, label);

	if (!run->has_price) {
		wtl_layout_text(text->buf, run->refusal.text, text->style);
	} else {
		put_energy(text, &run->price.total);
		if (run->price.prices_memory) {
			wtl_buf_puts(text->buf, "; compute ");
			put_joules(text->buf, run->price.compute.nominal, text->style);
			wtl_buf_puts(text->buf, ", memory ");
			put_joules(text->buf, run->price.memory.nominal, text->style);
		}
	}
	end_line(text, start);
}

static void put_quantized(const struct wtl_report_text *text,
			  const struct wtl_estimate_device *device)
{
	if (!device->has_quantized)
		return;
	size_t start = begin_line(text, "quantized");

	put_energy(text, &device->quantized);
	wtl_buf_printf(text->buf,
		       "; as an ordinary network of int8 with activations of %u bits, "
		       "which tell as much as the spikes",
		       device->bits);
	end_line(text, start);
}

static void put_rate(const struct wtl_report_text *text, double rate)
{
	if (isfinite(rate))
		wtl_buf_printf(text->buf, "%.3g", rate);
	else
		wtl_buf_puts(text->buf, "none");
}

static void put_break_even(const struct wtl_report_text *text,
			   const struct wtl_estimate_device *device)
{
	if (!device->has_break_even)
		return;
	size_t start = begin_line(text, "break-even");

	put_rate(text, device->whole.with_memory);
	wtl_buf_puts(text->buf, isfinite(device->whole.with_memory)
					? " spikes per neuron and step; with computation alone "
					: ": the spiking network takes more even without a spike; "
					  "with computation alone ");
	put_rate(text, device->whole.compute);
	end_line(text, start);
}

static void put_spread(const struct wtl_report_text *text, const char *label,
		       const struct wtl_estimate_run *run)
{
	if (!run->has_price || run->price.n_swings == 0)
		return;
	size_t start = begin_line(text, label);

	for (size_t i = 0; i < run->price.n_swings && i < 4; i++) {
		const struct wtl_swing *swing = &run->price.swings[i];
		if (i > 0 && swing->high - swing->low < .005 * run->price.total.nominal)
			break;
		wtl_buf_printf(text->buf, "%s%s %+.0f %+.0f %%", i ? "; " : "",
			       swing->constant ? swing->constant->name : "model of SRAM",
			       (swing->low / run->price.total.nominal - 1) * 100,
			       (swing->high / run->price.total.nominal - 1) * 100);
	}
	end_line(text, start);
}

static const char *assumptions_of(const struct wtl_estimate_run *run)
{
	return run->has_price ? wtl_buf_str(&run->price.assumptions) : "";
}

/* First, what these joules leave out. */
static void put_doubts(const struct wtl_report_text *text, const struct wtl_network *network)
{
	if (network->coverage.n > 0) {
		size_t start = wtl_report_text_begin_remark(text, WTL_TEXT_DOUBT);

		wtl_buf_puts(text->buf, "too low, as something is missing: counted are ");
		wtl_estimate_put_coverage(text->buf, &network->coverage, text->style);
		wtl_report_text_end_remark(text, start);
	}
	wtl_estimate_remark_repeats(text, network);
}

static void put_device(const struct wtl_report_text *text, const struct wtl_estimate_energy *energy,
		       const struct wtl_estimate_device *device)
{
	size_t start = text->buf->len;

	wtl_report_text_put(text, "wattle estimate, not measured, on %s: %s", device->device->name,
			    energy->path);
	wtl_report_text_end_title(text, start);
	if (device->points)
		put_sweep(text, energy, device);
	else
		put_layers(text, energy, device);
	wtl_buf_putc(text->buf, '\n');
	put_run(text, "ordinary", &device->ordinary);
	if (!device->points) {
		put_run(text, "spiking", &device->spiking);
		put_quantized(text, device);
		put_break_even(text, device);
	}
	put_spread(text, "spread", &device->ordinary);
	if (!device->points)
		put_spread(text, "of spiking", &device->spiking);
	start = wtl_report_text_begin_remarks(text);
	put_doubts(text, energy->network);
	wtl_estimate_put_remarks(text, assumptions_of(&device->ordinary), "");
	wtl_estimate_put_remarks(text, assumptions_of(&device->spiking),
				 assumptions_of(&device->ordinary));
	wtl_report_text_end_remarks(text, start);
}

static int energy_text(struct wtl_buf *buf, const void *what, const struct wtl_output_style *style)
{
	const struct wtl_estimate_energy *energy = what;
	const struct wtl_report_text text = {.buf = buf, .style = style};

	for (size_t i = 0; i < energy->n; i++) {
		if (i)
			wtl_buf_putc(buf, '\n');
		put_device(&text, energy, &energy->devices[i]);
	}
	return buf->error;
}

const struct wtl_thing wtl_estimate_energy_thing = {
	.build = wtl_estimate_energy_document, .text = energy_text, .is_page = true};
