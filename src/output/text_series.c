/* SPDX-License-Identifier: MIT */
#include "output/page.h"

#include <math.h>

#include "base/buf.h"
#include "output/format.h"
#include "output/layout.h"

enum { NAME_MAX_BYTES = 1 << 16 };

static void add_run(struct wtl_grid *grid, size_t i, const struct wtl_report *report,
		    unsigned scale, const struct wtl_output_style *style)
{
	const struct wattle_energy *total = &report->window.total;
	unsigned last = wtl_format_last_digit(total->energy_uj, total->uncertainty_uj);
	int64_t duration_ns = report->window.duration_ns;

	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	wtl_buf_printf(&grid->rows, "%zu", i + 1);
	wtl_grid_next(grid);
	wtl_format_rounded(&grid->rows, duration_ns > 0 ? (uint64_t)duration_ns / 1000 : 0, 3, 6);
	wtl_grid_next(grid);
	if (total->has_energy) {
		if (wtl_page_modelled(report->domains, report->n_domains) != WTL_PAGE_MEASURED)
			wtl_buf_putc(&grid->rows, '~');
		wtl_format_rounded(&grid->rows, total->energy_uj, last, scale);
		wtl_grid_next(grid);
		if (total->uncertainty_uj > 0) {
			wtl_buf_puts(&grid->rows, style->ascii ? "+/- " : "± ");
			wtl_format_rounded_up(&grid->rows, total->uncertainty_uj, last, scale);
		}
	} else {
		wtl_buf_putc(&grid->rows, '-');
		wtl_grid_next(grid);
	}
	wtl_grid_next(grid);
	if (!wtl_page_end(&grid->rows, report))
		wtl_buf_puts(&grid->rows, report->has_exit ? "ok" : "-");
	if (report->interrupted)
		wtl_buf_puts(&grid->rows, ", interrupted");
	wtl_grid_next(grid);
}

static void put_runs(struct wtl_buf *buf, const struct wtl_series *series,
		     const struct wtl_output_style *style)
{
	uint64_t largest = 0;
	struct wtl_grid grid;
	unsigned scale;

	for (size_t i = 0; i < series->n_reports; i++) {
		const struct wattle_energy *total = &series->reports[i].window.total;

		if (total->has_energy && total->energy_uj > largest)
			largest = total->energy_uj;
	}
	scale = wtl_format_scale(largest);
	wtl_grid_init(&grid, "rrrul");
	wtl_grid_begin(&grid, WTL_TONE_PLAIN);
	wtl_grid_cell(&grid, "run");
	wtl_grid_cell(&grid, "time [s]");
	wtl_grid_cell(&grid, "energy");
	wtl_buf_printf(&grid.rows, "[%s]", wtl_format_unit(WTL_FORMAT_J, scale, style->ascii));
	wtl_grid_next(&grid);
	wtl_grid_cell(&grid, "end");
	for (size_t i = 0; i < series->n_reports; i++)
		add_run(&grid, i, &series->reports[i], scale, style);
	wtl_grid_render(&grid, buf, style);
	wtl_grid_done(&grid);
}

struct row {
	const char *name;
	const struct wtl_statistics *statistics;
	const char *unit; /* NULL: joules with the prefix that fits */
	bool is_strong;
};

static void add_cell(struct wtl_grid *grid, double value, unsigned last, unsigned scale)
{
	wtl_format_rounded(&grid->rows, wtl_format_micro(value), last, scale);
	wtl_grid_next(grid);
}

/* Name, mean, ± interval, unit, sd, least, greatest. */
static void add_statistics(struct wtl_grid *grid, const char *name, const struct wtl_statistics *of,
			   enum wtl_format_quantity quantity, const char *unit, bool modelled,
			   const struct wtl_output_style *style)
{
	uint64_t mean = wtl_format_micro(of->mean), spread = wtl_format_micro(of->ci95);
	unsigned scale = unit ? 6 : wtl_format_scale(mean);
	unsigned last = wtl_format_last_digit(mean, spread);

	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	wtl_layout_text(&grid->rows, name, style);
	wtl_grid_next(grid);
	if (of->n == 0 || !isfinite(of->mean) || !isfinite(of->ci95)) {
		wtl_grid_cell(grid, "-");
		return;
	}
	if (modelled)
		wtl_buf_putc(&grid->rows, '~');
	add_cell(grid, of->mean, last, scale);
	if (spread > 0) {
		wtl_buf_puts(&grid->rows, style->ascii ? "+/- " : "± ");
		wtl_format_rounded_up(&grid->rows, spread, last, scale);
	}
	wtl_grid_next(grid);
	wtl_grid_cell(grid, unit ? unit : wtl_format_unit(quantity, scale, style->ascii));
	if (of->n < 2)
		return;
	add_cell(grid, of->sd, last, scale);
	if (of->mean > 0)
		wtl_format_percent(&grid->rows, of->sd / of->mean);
	wtl_grid_next(grid);
	add_cell(grid, of->min, last, scale);
	add_cell(grid, of->max, last, scale);
}

static void put_statistics(struct wtl_buf *buf, const struct wtl_series *series,
			   const struct wtl_output_style *style)
{
	const struct wtl_report *first = &series->reports[0];
	enum wattle_method method = first->window.total.method;
	bool modelled = method == WATTLE_METHOD_MODELLED || method == WATTLE_METHOD_MIXED;
	struct wtl_grid grid;

	wtl_grid_init(&grid, "lrulrrrr");
	wtl_grid_begin(&grid, WTL_TONE_PLAIN);
	wtl_grid_cell(&grid, "over the runs");
	wtl_grid_cell(&grid, "mean");
	wtl_grid_cell(&grid, style->ascii ? "+/- 95 %" : "± 95 %");
	wtl_grid_cell(&grid, "");
	wtl_grid_cell(&grid, "sd");
	wtl_grid_cell(&grid, "");
	wtl_grid_cell(&grid, "least");
	wtl_grid_cell(&grid, "most");
	add_statistics(&grid, "time", &series->duration_s, WTL_FORMAT_J, "s", false, style);
	add_statistics(&grid, "energy", &series->energy_j, WTL_FORMAT_J, NULL, modelled, style);
	for (size_t i = 0; series->domain_j && i < first->n_domains; i++) {
		struct wtl_buf name;

		if (series->domain_j[i].n == 0)
			continue;
		wtl_buf_init(&name, NAME_MAX_BYTES);
		wtl_buf_printf(&name, "  %s", first->domains[i].domain.name);
		add_statistics(&grid, wtl_buf_str(&name), &series->domain_j[i], WTL_FORMAT_J, NULL,
			       first->domains[i].domain.method == WATTLE_METHOD_MODELLED, style);
		wtl_layout_close(&name, buf);
	}
	add_statistics(&grid, "CO2e", &series->emitted_g, WTL_FORMAT_G, NULL, modelled, style);
	wtl_grid_render(&grid, buf, style);
	wtl_grid_done(&grid);
}

static void put_until(struct wtl_buf *buf, const struct wtl_series *series,
		      const struct wtl_output_style *style)
{
	const struct wtl_statistics *energy = &series->energy_j;
	struct wtl_buf line;

	if (!(series->until > 0))
		return;
	wtl_buf_init(&line, 1024);
	wtl_buf_puts(&line, series->converged ? "Reached" : "Not reached");
	if (energy->n >= 2 && energy->mean > 0 && isfinite(energy->ci95)) {
		wtl_buf_puts(&line, style->ascii ? ": the mean is good to +/- "
						 : ": the mean is good to ± ");
		wtl_format_percent(&line, energy->ci95 / energy->mean);
	}
	wtl_buf_printf(&line, " after %zu runs, ", series->n_reports);
	wtl_format_percent(&line, series->until);
	wtl_buf_puts(&line, " was asked for.");
	if (series->converged) {
		wtl_buf_puts(buf, wtl_buf_str(&line));
		wtl_buf_putc(buf, '\n');
	} else {
		wtl_page_remark(buf, WTL_PAGE_DOUBT, wtl_buf_str(&line), style);
	}
	wtl_layout_close(&line, buf);
}

int wtl_page_series(struct wtl_buf *buf, const struct wtl_series *series,
		    const struct wtl_output_style *style)
{
	const struct wtl_report *last;

	if (series->n_reports == 0)
		return wtl_buf_puts(buf, "wattle: no run ended\n");
	last = &series->reports[series->n_reports - 1];
	wtl_page_command(buf, last, "wattle: ", style);
	wtl_buf_putc(buf, '\n');
	put_runs(buf, series, style);
	wtl_buf_putc(buf, '\n');
	put_statistics(buf, series, style);
	wtl_buf_putc(buf, '\n');
	wtl_layout_wrap(
		buf,
		style->ascii
			? "+/- of a run: its sensors' uncertainty (k = 2). +/- of a mean: 95 % "
			  "interval over the runs, which does not see an error that all runs share."
			: "± of a run: its sensors' uncertainty (k = 2). ± of a mean: 95 % interval "
			  "over the runs, which does not see an error that all runs share.",
		0, 0);
	put_until(buf, series, style);
	wtl_buf_puts(buf, "\nThe last run:\n\n");
	wtl_page_domains(buf, last, style);
	return wtl_page_remarks(buf, last, style);
}
