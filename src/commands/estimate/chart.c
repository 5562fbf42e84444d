/* SPDX-License-Identifier: MIT */
#include "commands/estimate/chart.h"
#include "commands/estimate/estimate.h"

#include <errno.h>
#include <math.h>

/* The rate's axis is in thousandths, as the plot's axis takes whole numbers. */
enum {
	POINTS = 101,
	AXIS = 1000,
	LINES_OF_STEPS = 4, /* where the user does not name several */
	NOTE_MAX = 4096,
	SERIES_MAX = 2 + 2 * WTL_SWEEP_STEPS_MAX
};

struct chart {
	const struct wtl_estimate_energy *energy;
	struct wtl_plot_sheet *sheet;
	struct wtl_plot_panel *panel;
	struct wtl_plot_series *series;
	struct wtl_err *err;
	double rate_max;
};

/* A straight line of n points. */
static struct wtl_plot_series *add_line(struct chart *chart, const char *name, size_t n,
					const double rates[2], const double joules[2])
{
	struct wtl_plot_series *series = &chart->series[chart->panel->n_series++];
	struct wtl_plot_point *points = wtl_plot_sheet_array(chart->sheet, n, sizeof(*points));

	for (size_t i = 0; points && i < n; i++) {
		double part = (double)i / (double)(n - 1);
		int64_t x = llround((rates[0] + part * (rates[1] - rates[0])) * AXIS);
		if (rates[1] > rates[0])
			part = ((double)x / AXIS - rates[0]) / (rates[1] - rates[0]);
		double y = joules[0] + part * (joules[1] - joules[0]);
		points[i] = (struct wtl_plot_point){.x = x, .y = y, .low = y, .high = y};
	}
	*series = (struct wtl_plot_series){.name = name, .points = points, .n = points ? n : 0};
	return series;
}

/* A horizontal line. */
static void add_level(struct chart *chart, const char *name, const struct wtl_energy *energy,
		      bool is_total)
{
	const double rates[] = {0, chart->rate_max};
	const double joules[] = {energy->nominal, energy->nominal};

	add_line(chart, name, 2, rates, joules)->is_total = is_total;
}

/* Steps of the i-th line: the i-th of several, or a quarter, half, all, twice of one. A sequence has its own only. */
static unsigned int steps_of(const struct wtl_estimate_energy *energy, size_t i)
{
	if (energy->sweep->n_steps > 1)
		return i < energy->sweep->n_steps ? energy->sweep->steps[i] : 0;
	if (i >= LINES_OF_STEPS)
		return 0;
	double steps = energy->choice.steps ? energy->choice.steps : (double)energy->network->steps;
	double of = steps * (i == 0 ? .25 : i == 1 ? .5 : i == 2 ? 1 : 2);

	if (energy->network->is_sequence && i != 2)
		return 0;
	return of < 1 || of != floor(of) || of > 1e9 ? 0 : (unsigned int)of;
}

/* Energy is linear in the rate: two points make the line. */
static int find_line(struct chart *chart, struct wtl_price_choice *choice, double ret[2])
{
	for (int k = 0; k < 2; k++) {
		struct wtl_price price;
		choice->rate = k;
		int rc = wtl_price_network(chart->energy->network, choice, &price, chart->err);
		if (rc < 0)
			return rc;
		ret[k] = price.total.nominal;
		wtl_price_done(&price);
	}
	return 0;
}

static int add_steps(struct chart *chart, const struct wtl_estimate_device *device,
		     unsigned int steps, struct wtl_price_choice *choice)
{
	double at[2];
	const char *name = wtl_plot_sheet_printf(chart->sheet, "spiking, %u step%s", steps,
						 steps == 1 ? "" : "s");

	choice->steps = steps;
	int rc = find_line(chart, choice, at);
	if (rc < 0)
		return rc;
	const double rates[] = {0, chart->rate_max};
	const double joules[] = {at[0], at[0] + chart->rate_max * (at[1] - at[0])};
	add_line(chart, name, POINTS, rates, joules);
	if (!device->ordinary.has_price)
		return 0;
	double meet = (device->ordinary.price.total.nominal - at[0]) / (at[1] - at[0]);
	if (meet > 0 && meet < chart->rate_max) {
		const double here[] = {meet, meet};
		const double up[] = {0, device->ordinary.price.total.nominal};
		add_line(chart,
			 wtl_plot_sheet_printf(chart->sheet, "break-even %.3g, %u step%s", meet,
					       steps, steps == 1 ? "" : "s"),
			 2, here, up)
			->is_rest = true;
	}
	return 0;
}

/* Up to the highest of several rates; else to four times the break-even, within 0.02 and 10; without one to 1. */
static void find_axis(struct chart *chart, const struct wtl_estimate_device *device)
{
	const struct wtl_estimate_sweep *sweep = chart->energy->sweep;

	for (size_t i = 0; sweep->n_rates > 1 && i < sweep->n_rates; i++)
		chart->rate_max = fmax(i ? chart->rate_max : 0, sweep->rates[i]);
	if (sweep->n_rates > 1 && chart->rate_max > 0)
		return;
	double widest = device->has_break_even ? device->whole.with_memory * 4 : (double)NAN;

	chart->rate_max = isfinite(widest) ? fmin(fmax(widest, .02), 10) : 1;
	chart->rate_max = ceil(chart->rate_max * 50) / 50;
}

static int add_panel(struct chart *chart, const struct wtl_estimate_device *device)
{
	struct wtl_price_choice choice = chart->energy->choice;
	int rc = 0;

	*chart->panel = (struct wtl_plot_panel){
		.title = wtl_plot_sheet_printf(chart->sheet, "%s", device->device->name),
		.marks = WTL_PLOT_LINE,
		.x = WTL_PLOT_X_NUMBER,
		.x_label = "Spikes of 1,000 neurons in a time step",
		.label = "Estimated energy of an inference",
		.unit = "J",
		.prefix = WTL_PLOT_SI,
		.series = chart->series =
			wtl_plot_sheet_array(chart->sheet, SERIES_MAX, sizeof(*chart->series)),
	};
	if (!chart->series)
		return -ENOMEM;
	choice.device = device->device;
	choice.is_spiking = true;
	find_axis(chart, device);
	chart->panel->from = 0;
	chart->panel->to = llround(chart->rate_max * AXIS);
	if (device->ordinary.has_price)
		add_level(chart, "ordinary", &device->ordinary.price.total, true);
	if (device->has_quantized)
		add_level(chart,
			  wtl_plot_sheet_printf(chart->sheet, "ordinary, int8 and %u bits",
						device->bits),
			  &device->quantized, false);
	for (size_t i = 0; i < WTL_SWEEP_STEPS_MAX && rc == 0; i++)
		if (steps_of(chart->energy, i))
			rc = add_steps(chart, device, steps_of(chart->energy, i), &choice);
	return rc;
}

int wtl_estimate_chart(const struct wtl_estimate_energy *energy, struct wtl_plot_sheet *sheet,
		       struct wtl_err *err)
{
	struct chart chart = {.energy = energy, .sheet = sheet, .err = err};
	struct wtl_plot_panel *panels = wtl_plot_sheet_panels(sheet, energy->n);
	int rc = panels ? 0 : -ENOMEM;

	sheet->figure.title = wtl_plot_sheet_printf(sheet, "%s", energy->path);
	sheet->figure.summary = "An estimate by counts and prices: nothing was measured";
	for (size_t i = 0; rc == 0 && i < energy->n; i++) {
		chart.panel = &panels[i];
		rc = add_panel(&chart, &energy->devices[i]);
	}
	wtl_plot_sheet_note(sheet,
			    wtl_plot_sheet_printf(sheet,
						  "Weights: %s; all layers fire at one rate; "
						  "nominal prices.",
						  wtl_memory_places[energy->choice.memory]));
	if (energy->network->coverage.n > 0) {
		struct wtl_buf line;

		wtl_buf_init(&line, NOTE_MAX);
		wtl_estimate_put_coverage(&line, &energy->network->coverage,
					  &(struct wtl_output_style){0});
		wtl_plot_sheet_note(
			sheet, wtl_plot_sheet_printf(
				       sheet, "Too low, as something is missing: counted are %s.",
				       wtl_buf_str(&line)));
		wtl_buf_done(&line);
	}
	if (rc == -ENOMEM || sheet->error)
		return wtl_err_set(err, ENOMEM, "estimate", NULL, "no memory for the picture");
	return rc;
}
