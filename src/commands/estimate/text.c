/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "commands/estimate/estimate.h"
#include "base/text.h"
#include "text/layout.h"
#include "text/report_text.h"

/* The page for people: a table of layers, and their totals. */

enum { NAME_LEAST = 20, NAME_MOST = 60, GAP = 2 };

static const char *const heads[] = {"LAYER",	  "OP",	       "MACS", "OTHER OPS",
				    "PARAMETERS", "PRECISION", NULL};

/* With a comma after each three digits: these numbers are long. */
static void put_number(struct wtl_buf *buf, uint64_t number)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, number);

	for (int i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			wtl_buf_putc(buf, ',');
		wtl_buf_putc(buf, digits[i]);
	}
}

static void add_number(struct wtl_grid *grid, uint64_t number)
{
	if (number > 0)
		put_number(&grid->rows, number);
	wtl_grid_next(grid);
}

static void add_name(struct wtl_grid *grid, const char *name, size_t columns,
		     const struct wtl_output_style *style)
{
	size_t start = grid->rows.len;

	wtl_layout_text(&grid->rows, name, style);
	wtl_layout_cut_middle(&grid->rows, start, columns, style);
	wtl_grid_next(grid);
}

static bool is_shown(const struct wtl_layer *layer, const struct wtl_output_style *style)
{
	return style->verbose || layer->macs > 0 || layer->parameters > 0 || layer->buffers > 0 ||
	       layer->scales > 0;
}

static size_t number_columns(uint64_t number, const char *heading)
{
	size_t digits = 1, wide;

	for (; number >= 10; number /= 10)
		digits++;
	wide = digits + (digits - 1) / 3;
	return GAP + (wide > strlen(heading) ? wide : strlen(heading));
}

/* The width that the other columns leave. */
static size_t name_columns(const struct wtl_network *network,
			   const struct wtl_estimate_totals *totals,
			   const struct wtl_output_style *style)
{
	size_t op = 0, rest;

	for (size_t i = 0; i < network->n; i++)
		if (is_shown(&network->layers[i], style) && strlen(network->layers[i].op) > op)
			op = strlen(network->layers[i].op);
	rest = GAP + op + number_columns(network->macs_max, heads[2]) +
	       number_columns(totals->other_ops, heads[3]) +
	       number_columns(totals->parameters, heads[4]) + GAP + strlen(heads[5]);
	if (rest + NAME_LEAST >= WTL_LAYOUT_WIDTH)
		return NAME_LEAST;
	return WTL_LAYOUT_WIDTH - rest < NAME_MOST ? WTL_LAYOUT_WIDTH - rest : NAME_MOST;
}

static void add_layer(struct wtl_grid *grid, const struct wtl_layer *layer, size_t columns,
		      const struct wtl_output_style *style)
{
	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	add_name(grid, layer->name, columns, style);
	wtl_grid_text(grid, layer->op);
	add_number(grid, layer->macs);
	add_number(grid, layer->other_ops);
	add_number(grid, layer->parameters);
	wtl_grid_cell(grid, layer->weights == WTL_PRECISION_UNKNOWN
				    ? ""
				    : wtl_precision_names[layer->weights]);
}

static void put_layers(const struct wtl_report_text *text, const struct wtl_network *network,
		       const struct wtl_estimate_totals *totals)
{
	const size_t columns = name_columns(network, totals, text->style);
	uint64_t hidden = 0, hidden_ops = 0;
	struct wtl_grid grid;

	wtl_grid_init(&grid, "llrrrl", text->style);
	wtl_grid_row(&grid, WTL_TONE_FAINT, heads);
	for (size_t i = 0; i < network->n; i++)
		if (is_shown(&network->layers[i], text->style)) {
			add_layer(&grid, &network->layers[i], columns, text->style);
		} else {
			hidden++;
			hidden_ops += network->layers[i].other_ops;
		}
	if (hidden > 0) {
		wtl_grid_begin(&grid, WTL_TONE_PLAIN);
		wtl_buf_printf(&grid.rows, "%" PRIu64 " without weights (-v)", hidden);
		wtl_grid_next(&grid);
		wtl_grid_next(&grid);
		wtl_grid_next(&grid);
		add_number(&grid, hidden_ops);
	}
	wtl_grid_begin(&grid, WTL_TONE_STRONG);
	wtl_grid_cell(&grid, "total");
	wtl_grid_next(&grid);
	add_number(&grid, network->macs_max);
	add_number(&grid, totals->other_ops);
	add_number(&grid, totals->parameters);
	wtl_grid_render(&grid, text->buf);
}

/* ---- Totals ---- */

static void put_bytes(const struct wtl_report_text *text, uint64_t bytes)
{
	static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 1000.0 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1000.0;
		unit++;
	}
	wtl_buf_printf(text->buf, "%.*f %s", unit ? 2 : 0, value, units[unit]);
}

static void put_count(const struct wtl_report_text *text, uint64_t count)
{
	put_number(text->buf, count);
}

static void put_range(const struct wtl_report_text *text, uint64_t least, uint64_t most,
		      void (*put)(const struct wtl_report_text *text, uint64_t number))
{
	if (least != most) {
		put(text, least);
		wtl_buf_puts(text->buf, " to ");
	}
	put(text, most);
}

static void put_macs(const struct wtl_report_text *text, const struct wtl_network *network)
{
	size_t start = wtl_report_text_begin_line(text, "MACs          ");

	put_range(text, network->macs_min, network->macs_max, put_count);
	wtl_buf_puts(text->buf, "; a MAC is one multiplication and one addition, 2 FLOP");
	wtl_report_text_end_line(text, start);
}

static void put_parameters(const struct wtl_report_text *text,
			   const struct wtl_estimate_totals *totals)
{
	size_t start = wtl_report_text_begin_line(text, "parameters    ");

	put_number(text->buf, totals->parameters);
	wtl_buf_puts(text->buf, "; buffers ");
	put_number(text->buf, totals->buffers);
	wtl_buf_puts(text->buf, "; scales ");
	put_number(text->buf, totals->scales);
	wtl_buf_puts(text->buf, "; together ");
	put_bytes(text, totals->weight_bytes);
	wtl_report_text_end_line(text, start);
}

static void put_activations(const struct wtl_report_text *text,
			    const struct wtl_estimate_totals *totals)
{
	size_t start = wtl_report_text_begin_line(text, "activations   ");

	put_range(text, totals->input_bytes_min, totals->input_bytes, put_bytes);
	wtl_buf_puts(text->buf, " read, ");
	put_range(text, totals->output_bytes_min, totals->output_bytes, put_bytes);
	wtl_buf_puts(text->buf, " written, layer by layer");
	wtl_report_text_end_line(text, start);
}

void wtl_estimate_put_coverage(struct wtl_buf *buf, const struct wtl_coverage *coverage,
			       const struct wtl_output_style *style)
{
	wtl_buf_printf(buf, "%zu of %zu nodes", coverage->n_counted, coverage->n_nodes);
	for (size_t i = 0; i < coverage->n; i++) {
		const struct wtl_uncounted_op *of = &coverage->uncounted[i];

		wtl_buf_puts(buf, i == 0 ? "; not counted: " : ", ");
		wtl_buf_printf(buf, "%zu ", of->n);
		wtl_layout_text(buf, of->op, style);
		if (of->why == WTL_UNCOUNTED_SIZE)
			wtl_buf_puts(buf, " (only running it tells the sizes)");
	}
}

static void put_coverage(const struct wtl_report_text *text, const struct wtl_network *network)
{
	size_t start = wtl_report_text_begin_line(text, "counted       ");

	wtl_estimate_put_coverage(text->buf, &network->coverage, text->style);
	wtl_report_text_end_line(text, start);
}

void wtl_estimate_remark_repeats(const struct wtl_report_text *text,
				 const struct wtl_network *network)
{
	for (size_t i = 0; i < network->n; i++)
		if (network->layers[i].repeats_unknown) {
			wtl_report_text_remark(
				text, WTL_TEXT_DOUBT,
				"a loop runs as often as its data say: what is in it is "
				"counted once");
			return;
		}
}

static void put_remarks(const struct wtl_report_text *text, const struct wtl_network *network)
{
	size_t start = wtl_report_text_begin_remarks(text);

	wtl_estimate_remark_repeats(text, network);
	if (network->n_branches > 0)
		wtl_report_text_remark(
			text, WTL_TEXT_NOTE,
			"of each If, one side runs: what runs is from the lesser to the larger "
			"one, the total is of the larger; the table lists both");
	wtl_report_text_end_remarks(text, start);
}

int wtl_estimate_text(struct wtl_buf *buf, const void *what, const struct wtl_output_style *style)
{
	const struct wtl_estimate *estimate = what;
	const struct wtl_network *network = &estimate->model->network;
	const struct wtl_report_text text = {.buf = buf, .style = style};
	const struct wtl_estimate_totals *totals = &estimate->totals;
	size_t start = buf->len;

	wtl_report_text_put(&text, "wattle estimate: %s", estimate->path);
	wtl_report_text_end_title(&text, start);
	put_layers(&text, network, totals);
	wtl_buf_putc(buf, '\n');
	put_macs(&text, network);
	put_parameters(&text, totals);
	put_activations(&text, totals);
	put_coverage(&text, network);
	put_remarks(&text, network);
	return buf->error;
}
