/* SPDX-License-Identifier: MIT */
#include "text/report_text.h"
#include "document/words.h"
#include "document/writer.h"

#include <math.h>
#include <stdio.h>

#include "base/buf.h"
#include "document/format.h"
#include "text/layout.h"

enum { DOMAIN_NAME_MAX = 128 };

/* Which energy of the command a column of the runs shows: the same in all rows. */
enum of_command { NOTHING, FULL, DYNAMIC };

static enum of_command of_command(const struct wtl_series *series)
{
	enum of_command best = NOTHING;

	for (size_t i = 0; i < series->n_reports; i++) {
		const struct wtl_report_attribution *attribution = &series->reports[i].attribution;

		if (!attribution->is_known || !attribution->has_command)
			continue;
		if (!attribution->command.has_dynamic)
			return FULL;
		best = DYNAMIC;
	}
	return best;
}

/* In a column of full energies, a run that has a dynamic part gets no ±: it would be that of the dynamic part. */
static void add_command(struct wtl_grid *grid, const struct wtl_report *report,
			enum of_command what, bool modelled, unsigned scale)
{
	const struct wtl_report_attribution *attribution = &report->attribution;
	const struct wtl_share_energy *share = &attribution->command;

	if (!attribution->is_known || !attribution->has_command)
		wtl_report_text_add_nothing(grid);
	else if (what == DYNAMIC)
		wtl_report_text_add_measure(grid, share->dynamic_uj, share->uncertainty_uj,
					    modelled, scale);
	else
		wtl_report_text_add_measure(grid, share->full_uj,
					    share->has_dynamic ? 0 : share->uncertainty_uj,
					    modelled, scale);
}

void wtl_report_text_add_end(struct wtl_grid *grid, const struct wtl_report *report)
{
	if (report->interrupted)
		wtl_buf_puts(&grid->rows, "interrupted");
	else if (!wtl_report_text_end(&grid->rows, report))
		wtl_buf_puts(&grid->rows, report->has_exit ? "ok" : "-");
	wtl_grid_next(grid);
}

static void put_runs(const struct wtl_report_text *text, const struct wtl_series *series)
{
	enum of_command what = of_command(series);
	uint64_t largest = 0;
	struct wtl_grid grid;
	unsigned scale;

	for (size_t i = 0; i < series->n_reports; i++) {
		const struct wattle_energy *total = &series->reports[i].window.total;

		if (total->has_energy && total->energy_uj > largest)
			largest = total->energy_uj;
	}
	scale = wtl_format_scale(largest);
	wtl_grid_init(&grid, what == NOTHING ? "rrrul" : "rrrurul", text->style);
	wtl_grid_row(&grid, WTL_TONE_PLAIN,
		     (const char *const[]){"run", "time [s]", "energy", NULL});
	wtl_report_text_add_unit(&grid, "", WTL_FORMAT_J, scale);
	if (what != NOTHING) {
		wtl_grid_cell(&grid, "command");
		wtl_report_text_add_unit(&grid, what == DYNAMIC ? "dynamic " : "full ",
					 WTL_FORMAT_J, scale);
	}
	wtl_grid_cell(&grid, "end");
	for (size_t i = 0; i < series->n_reports; i++) {
		const struct wtl_report *report = &series->reports[i];
		bool modelled = wtl_report_text_is_modelled(report);

		wtl_grid_begin(&grid, WTL_TONE_PLAIN);
		wtl_grid_number(&grid, i + 1);
		wtl_report_text_add_seconds(&grid, report->window.duration_ns);
		wtl_report_text_add_energy(&grid, &report->window.total, modelled, scale);
		if (what != NOTHING)
			add_command(&grid, report, what, modelled, scale);
		wtl_report_text_add_end(&grid, report);
	}
	wtl_grid_render(&grid, text->buf);
}

static void add_cell(struct wtl_grid *grid, double value, unsigned last, unsigned scale)
{
	wtl_format_rounded(&grid->rows, wtl_format_micro(value), last, scale);
	wtl_grid_next(grid);
}

/* A run's own figure is known however wide the mean's interval is, so it has at least two digits. */
static void add_extreme(struct wtl_grid *grid, double value, unsigned last, unsigned scale)
{
	uint64_t micro = wtl_format_micro(value);
	unsigned two = wtl_format_last_digit(micro, micro);

	add_cell(grid, value, two < last ? two : last, scale);
}

/* Name, mean, ± interval, unit, sd, least, greatest. */
static void add_statistics(struct wtl_grid *grid, const char *name, const struct wtl_statistics *of,
			   enum wtl_format_quantity quantity, const char *unit, bool modelled)
{
	uint64_t mean = wtl_format_micro(of->mean), spread = wtl_format_micro(of->ci95);
	unsigned scale = unit ? 6 : wtl_format_scale(mean);
	unsigned last = wtl_format_last_digit(mean, spread);

	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	wtl_grid_text(grid, name);
	if (of->n == 0 || !isfinite(of->mean) || !isfinite(of->ci95)) {
		wtl_grid_cell(grid, "-");
		return;
	}
	wtl_buf_puts(&grid->rows, modelled ? "~" : "");
	add_cell(grid, of->mean, last, scale);
	wtl_report_text_add_uncertainty(grid, spread, last, scale);
	wtl_grid_cell(grid, unit ? unit : wtl_format_unit(quantity, scale, grid->style->ascii));
	if (of->n < 2)
		return;
	add_cell(grid, of->sd, last, scale);
	if (of->mean > 0)
		wtl_format_percent(&grid->rows, of->sd / of->mean);
	wtl_grid_next(grid);
	add_extreme(grid, of->min, last, scale);
	add_extreme(grid, of->max, last, scale);
}

void wtl_report_text_add_figure(struct wtl_grid *grid,
				const struct wtl_statistics of[WTL_RUN_FIGURES], size_t figure,
				bool modelled)
{
	bool is_time = figure == WTL_RUN_DURATION_S;

	add_statistics(grid, wtl_words_figures[figure], &of[figure],
		       figure == WTL_RUN_POWER_W     ? WTL_FORMAT_W
		       : figure == WTL_RUN_EMITTED_G ? WTL_FORMAT_G
						     : WTL_FORMAT_J,
		       is_time ? "s" : NULL, modelled && !is_time);
}

void wtl_report_text_begin_statistics(struct wtl_grid *grid, const struct wtl_output_style *style)
{
	wtl_grid_init(grid, "lrulrrrr", style);
	wtl_grid_row(grid, WTL_TONE_PLAIN,
		     (const char *const[]){"over the runs", "mean",
					   style->ascii ? "+/- 95 %" : "± 95 %", "", "sd", "",
					   "least", "most", NULL});
}

/* Of any run: a source may be lost, and a model take its place. */
static bool is_domain_modelled(const struct wtl_series *series, size_t domain)
{
	for (size_t i = 0; i < series->n_reports; i++)
		if (series->reports[i].domains[domain].energy.has_energy &&
		    series->reports[i].domains[domain].energy.method == WATTLE_METHOD_MODELLED)
			return true;
	return false;
}

/* All runs have the same intensity: the last one's is that of all. */
static const struct wtl_report_carbon *carbon_of(const struct wtl_series *series)
{
	return &series->reports[series->n_reports - 1].carbon;
}

static void add_emitted(struct wtl_grid *grid, const struct wtl_series *series, bool modelled)
{
	struct wtl_statistics of = series->of[WTL_RUN_EMITTED_G];
	uint32_t pue_milli = carbon_of(series)->pue_milli;
	double pue = pue_milli / 1e3;
	struct wtl_buf name;

	wtl_report_text_add_figure(grid, series->of, WTL_RUN_EMITTED_G, modelled);
	if (pue_milli == 0 || of.n == 0)
		return;
	of.mean *= pue;
	of.sd *= pue;
	of.ci95 *= pue;
	of.min *= pue;
	of.max *= pue;
	wtl_buf_init(&name, 64);
	wtl_buf_puts(&name, "  ");
	wtl_report_text_add_pue(&name, pue_milli);
	add_statistics(grid, wtl_buf_str(&name), &of, WTL_FORMAT_G, NULL, modelled);
	wtl_buf_done(&name);
}

static void put_statistics(const struct wtl_report_text *text, const struct wtl_series *series)
{
	const struct wtl_report *first = &series->reports[0];
	bool modelled = false;
	struct wtl_grid grid;

	for (size_t i = 0; i < series->n_reports; i++)
		modelled |= wtl_report_text_is_modelled(&series->reports[i]);
	wtl_report_text_begin_statistics(&grid, text->style);
	wtl_report_text_add_figure(&grid, series->of, WTL_RUN_DURATION_S, modelled);
	wtl_report_text_add_figure(&grid, series->of, WTL_RUN_ENERGY_J, modelled);
	for (size_t i = 0; series->domain_j && !text->style->brief && i < first->n_domains; i++) {
		char name[DOMAIN_NAME_MAX];

		snprintf(name, sizeof(name), "  %s", first->domains[i].domain.name);
		if (series->domain_j[i].n > 0)
			add_statistics(&grid, name, &series->domain_j[i], WTL_FORMAT_J, NULL,
				       is_domain_modelled(series, i));
	}
	for (size_t i = WTL_RUN_COMMAND_DYNAMIC_J; i <= WTL_RUN_COMMAND_FULL_J; i++)
		if (series->of[i].n > 0)
			wtl_report_text_add_figure(&grid, series->of, i, modelled);
	add_emitted(&grid, series, modelled);
	wtl_grid_render(&grid, text->buf);
}

void wtl_report_text_legend(const struct wtl_report_text *text,
			    const struct wtl_report_carbon *carbon)
{
	const char *sign = wtl_layout_plus_minus(text->style);
	size_t start = text->buf->len;

	wtl_report_text_put(
		text,
		"%w of a run: its sensors' uncertainty (k = 2). %w of a mean: 95 %% "
		"interval over the runs; an error that is the same in every run is not in it",
		sign, sign);
	if (carbon && carbon->carbon.uncertainty_ppm) {
		wtl_report_text_put(text, ", such as the %w ", sign);
		wtl_format_percent(text->buf, 2e-6 * carbon->carbon.uncertainty_ppm);
		wtl_buf_puts(text->buf, " of the intensity of CO2e");
	}
	wtl_buf_putc(text->buf, '.');
	wtl_layout_wrap(text->buf, start, 0, 0);
}

static void put_intensity(const struct wtl_report_text *text,
			  const struct wtl_report_carbon *carbon)
{
	size_t start = text->buf->len;

	wtl_buf_puts(text->buf, "CO2e is at ");
	wtl_report_text_intensity(text, carbon);
	if (carbon->pue_milli) {
		wtl_buf_puts(text->buf, ", also ");
		wtl_report_text_add_pue(text->buf, carbon->pue_milli);
		wtl_buf_puts(text->buf, ", which is not in the energies");
	}
	wtl_buf_putc(text->buf, '.');
	wtl_layout_wrap(text->buf, start, 0, 0);
}

static void put_until(const struct wtl_report_text *text, const struct wtl_series *series)
{
	const struct wtl_statistics *energy = &series->of[WTL_RUN_ENERGY_J];
	struct wtl_buf *buf = text->buf;
	size_t start = 0;

	if (!(series->until > 0))
		return;
	if (!series->converged)
		start = wtl_report_text_begin_remark(text, WTL_TEXT_DOUBT);
	wtl_buf_puts(buf, series->converged ? "Reached" : "Not reached");
	if (energy->n >= 2 && energy->mean > 0 && isfinite(energy->ci95)) {
		wtl_report_text_put(text, ": the mean is good to %s ", "±");
		wtl_format_percent(buf, energy->ci95 / energy->mean);
	}
	wtl_report_text_put(text, " after %z runs, ", series->of[WTL_RUN_DURATION_S].n);
	wtl_format_percent(buf, series->until);
	wtl_buf_puts(buf, " was asked for.");
	if (series->converged)
		wtl_buf_putc(buf, '\n');
	else
		wtl_report_text_end_remark(text, start);
}

static void put_interrupted(const struct wtl_report_text *text, const struct wtl_series *series)
{
	size_t n = series->of[WTL_RUN_DURATION_S].n;

	if (n == 0 && series->n_reports > 0)
		wtl_buf_puts(text->buf, "A run was interrupted: none is whole.\n");
	else if (n < series->n_reports)
		wtl_report_text_put(
			text,
			"A run was interrupted: mean and spread are those of the %z that "
			"%w not.\n",
			n, n == 1 ? "was" : "were");
}

static void put_failed(const struct wtl_report_text *text, const struct wtl_series *series)
{
	const struct wtl_report *first = NULL;
	size_t n = 0;
	size_t start;

	for (size_t i = series->n_reports; i-- > 0;)
		if (series->reports[i].exit_status || series->reports[i].exit_signal) {
			first = &series->reports[i];
			n++;
		}
	if (!first)
		return;
	start = wtl_report_text_begin_remark(text, WTL_TEXT_DOUBT);
	wtl_report_text_put(text, "%z of %z runs failed, first with: ", n, series->n_reports);
	wtl_report_text_end(text->buf, first);
	wtl_report_text_end_remark(text, start);
}

/* The remarks below the mean. */
static void put_brief_end(const struct wtl_report_text *text, const struct wtl_series *series)
{
	const struct wattle_energy *total = &series->reports[series->n_reports - 1].window.total;
	size_t n = series->of[WTL_RUN_DURATION_S].n, start;

	if (text->style->quiet)
		return;
	wtl_buf_putc(text->buf, '\n');
	put_interrupted(text, series);
	put_failed(text, series);
	put_until(text, series);
	start = text->buf->len;
	wtl_report_text_put(text, "%z runs. An error that all share is not in the %s", n, "±");
	if (total->has_energy && total->energy_uj > 0) {
		wtl_report_text_put(text, ": that of the sensors is %s ", "±");
		wtl_format_percent(text->buf,
				   (double)total->uncertainty_uj / (double)total->energy_uj);
		wtl_buf_puts(text->buf, " of the energy");
	}
	wtl_buf_putc(text->buf, '.');
	wtl_layout_wrap(text->buf, start, 0, 0);
	wtl_report_text_best_remark(text, &series->reports[series->n_reports - 1]);
}

static int text_series(struct wtl_buf *buf, const void *what, const struct wtl_output_style *style)
{
	const struct wtl_report_text text = {buf, style, NULL};
	const struct wtl_series *series = what;
	const struct wtl_report *last;

	if (series->n_reports == 0)
		return wtl_buf_puts(buf, "wattle: no run ended\n");
	if (style->brief && series->n_reports == 1)
		return wtl_thing_report.text(buf, &series->reports[0], style);
	last = &series->reports[series->n_reports - 1];
	wtl_report_text_title(&text, last->command, "this machine");
	if (style->brief) {
		put_statistics(&text, series);
		put_brief_end(&text, series);
		return buf->error;
	}
	put_runs(&text, series);
	wtl_buf_putc(buf, '\n');
	put_statistics(&text, series);
	wtl_buf_putc(buf, '\n');
	if (series->of[WTL_RUN_EMITTED_G].n > 0)
		put_intensity(&text, carbon_of(series));
	wtl_report_text_legend(&text,
			       series->of[WTL_RUN_EMITTED_G].n > 0 ? carbon_of(series) : NULL);
	put_interrupted(&text, series);
	put_until(&text, series);
	wtl_buf_puts(buf, "\nThe last run:\n\n");
	/* wattle's own use is counted from its start, so that of the last run covers all runs. */
	wtl_report_text_tables(&text, last);
	return buf->error;
}

const struct wtl_thing wtl_thing_series = {wtl_series_check, wtl_doc_series, text_series, true};
