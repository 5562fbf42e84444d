/* SPDX-License-Identifier: MIT */
/* Several recordings for people: side by side, or as a series of runs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "output/format.h"
#include "output/layout.h"
#include "output/page.h"
#include "output/recording_page.h"

enum { LINE_MAX_BYTES = 1 << 20, SPARKS = 8, SPARKS_MAX = 60, UNIT = 6, MILLISECOND = 3 };

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void put_command(struct wtl_buf *buf, const struct wtl_report *report,
			const struct wtl_output_style *style)
{
	struct wtl_buf command;

	wtl_buf_init(&command, LINE_MAX_BYTES);
	wtl_format_command(&command, report->command);
	wtl_layout_text(buf, report->command ? wtl_buf_str(&command) : "the machine", style);
	wtl_layout_close(&command, buf);
}

/* ---- Side by side ---- */

static enum wtl_format_quantity format_of(enum wtl_compared_quantity quantity)
{
	switch (quantity) {
	case WTL_COMPARED_J:
		return WTL_FORMAT_J;
	case WTL_COMPARED_W:
		return WTL_FORMAT_W;
	case WTL_COMPARED_S:
	case WTL_COMPARED_G:
		break;
	}
	return WTL_FORMAT_G;
}

static void put_list(struct wtl_buf *buf, const struct wtl_comparison *comparison,
		     const struct wtl_output_style *style)
{
	for (size_t i = 0; i < comparison->n_recordings; i++) {
		const struct wtl_recording *recording = &comparison->recordings[i];
		size_t start = buf->len;

		wtl_buf_printf(buf, "  [%zu] ", i + 1);
		wtl_layout_text(buf, recording->path, style);
		wtl_buf_puts(buf, ", ");
		wtl_page_local(buf, recording->report.window.begin_utc_ns);
		wtl_buf_puts(buf, recording->host[0] ? ", on " : "");
		wtl_layout_text(buf, recording->host, style);
		wtl_buf_puts(buf, ": ");
		put_command(buf, &recording->report, style);
		wtl_layout_cut(buf, start, WTL_LAYOUT_WIDTH, style);
		wtl_buf_putc(buf, '\n');
	}
}

static void add_value(struct wtl_grid *grid, const struct wtl_compared_value *value, unsigned scale,
		      const struct wtl_output_style *style)
{
	const struct wtl_measured *measured = &value->measured;
	unsigned last = wtl_format_last_digit(measured->value, measured->uncertainty);

	if (!value->is_known) {
		wtl_grid_cell(grid, "-");
		return;
	}
	wtl_format_rounded(&grid->rows, measured->value, last, scale);
	if (measured->uncertainty > 0) {
		wtl_buf_puts(&grid->rows, style->ascii ? " +/- " : " ± ");
		wtl_format_rounded_up(&grid->rows, measured->uncertainty, last, scale);
	}
	wtl_grid_next(grid);
}

static void add_difference(struct wtl_grid *grid, const struct wtl_compared_value *value,
			   unsigned scale, bool has_uncertainty,
			   const struct wtl_output_style *style)
{
	const struct wtl_difference *difference = &value->difference;
	uint64_t uncertainty = has_uncertainty ? difference->uncertainty : 0;
	unsigned last = wtl_format_last_digit(
		difference->value > uncertainty ? difference->value : uncertainty, uncertainty);

	if (!value->has_difference)
		return;
	wtl_buf_puts(&grid->rows, difference->is_negative ? "-" : "+");
	wtl_format_rounded(&grid->rows, difference->value, last, scale);
	wtl_grid_next(grid);
	if (uncertainty > 0) {
		wtl_buf_puts(&grid->rows, style->ascii ? "+/- " : "± ");
		wtl_format_rounded_up(&grid->rows, uncertainty, last, scale);
	}
	wtl_grid_next(grid);
	if (difference->has_ratio) {
		wtl_buf_puts(&grid->rows, difference->is_negative ? "-" : "+");
		wtl_format_percent(&grid->rows, fabs(difference->ratio));
	}
	wtl_grid_next(grid);
	wtl_grid_cell(grid,
		      has_uncertainty && !difference->is_significant ? "within its error" : "");
}

static void add_compared(struct wtl_grid *grid, const struct wtl_compared *row, size_t i,
			 const struct wtl_output_style *style)
{
	const struct wtl_compared_value *first = &row->values[0], *other = &row->values[i];
	uint64_t largest = first->measured.value > other->measured.value ? first->measured.value
									 : other->measured.value;
	unsigned scale = row->quantity == WTL_COMPARED_S ? UNIT : wtl_format_scale(largest);

	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	wtl_buf_puts(&grid->rows, row->is_domain ? "  " : "");
	wtl_layout_text(&grid->rows, row->what, style);
	wtl_buf_printf(&grid->rows, " [%s]",
		       row->quantity == WTL_COMPARED_S
			       ? "s"
			       : wtl_format_unit(format_of(row->quantity), scale, style->ascii));
	wtl_grid_next(grid);
	add_value(grid, first, scale, style);
	add_value(grid, other, scale, style);
	add_difference(grid, other, scale, row->quantity != WTL_COMPARED_S, style);
}

static void put_pair(struct wtl_buf *buf, const struct wtl_comparison *comparison, size_t i,
		     const struct wtl_output_style *style)
{
	struct wtl_grid grid;

	wtl_grid_init(&grid, "lrrrurl");
	wtl_grid_begin(&grid, WTL_TONE_PLAIN);
	wtl_grid_cell(&grid, "");
	wtl_grid_cell(&grid, "[1]");
	wtl_buf_printf(&grid.rows, "[%zu]", i + 1);
	wtl_grid_next(&grid);
	wtl_grid_cell(&grid, "difference");
	for (size_t k = 0; k < comparison->n_rows; k++)
		if (comparison->rows[k].values[0].is_known ||
		    comparison->rows[k].values[i].is_known)
			add_compared(&grid, &comparison->rows[k], i, style);
	wtl_buf_putc(buf, '\n');
	wtl_grid_render(&grid, buf, style);
	wtl_grid_done(&grid);
}

static bool is_any_common(const struct wtl_comparison *comparison)
{
	for (size_t i = 0; i < comparison->n_rows; i++)
		for (size_t k = 1; k < comparison->n_recordings; k++)
			if (comparison->rows[i].values[k].is_common)
				return true;
	return false;
}

int wtl_page_comparison(struct wtl_buf *buf, const struct wtl_comparison *comparison,
			const struct wtl_output_style *style)
{
	wtl_buf_printf(buf, "wattle: %zu recordings side by side\n\n", comparison->n_recordings);
	put_list(buf, comparison, style);
	for (size_t i = 1; i < comparison->n_recordings; i++)
		put_pair(buf, comparison, i, style);
	wtl_buf_putc(buf, '\n');
	return wtl_layout_wrap(
		buf,
		is_any_common(comparison)
			? "A difference's error is at k = 2. What the same sensor of the same "
			  "machine is wrong by in both alike (its gain and zero) is in it only as far "
			  "as both differ; all else is taken as independent."
			: "A difference's error is at k = 2. The two were not measured by the same "
			  "sensors of the same machine, so their errors are taken as independent.",
		0, 0);
}

/* ---- Runs ---- */

/* What is the same of all rows. */
struct look {
	unsigned scale, scale_g, scale_rate;
	bool is_one_day;
};

static void begin_runs(struct wtl_grid *grid, const struct look *look,
		       const struct wtl_output_style *style)
{
	wtl_grid_init(grid, "rlrrurrr");
	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	wtl_grid_cell(grid, "run");
	wtl_grid_cell(grid, "began");
	wtl_grid_cell(grid, "time [s]");
	wtl_grid_cell(grid, "energy");
	wtl_buf_printf(&grid->rows, "[%s]",
		       wtl_format_unit(WTL_FORMAT_J, look->scale, style->ascii));
	wtl_grid_next(grid);
	wtl_grid_cell(grid, "mean [W]");
	wtl_buf_printf(&grid->rows, "CO2e [%s]",
		       wtl_format_unit(WTL_FORMAT_G, look->scale_g, style->ascii));
	wtl_grid_next(grid);
	wtl_buf_printf(&grid->rows, "rate [%s/s]",
		       wtl_format_unit(WTL_FORMAT_G, look->scale_rate, style->ascii));
	wtl_grid_next(grid);
}

/* Micrograms per second. */
static uint64_t rate_ug(const struct wtl_run *run)
{
	return (wtl_run_rate_ng_per_s(run) + 500) / 1000;
}

static void add_run(struct wtl_grid *grid, const struct wtl_run *run, size_t number,
		    const struct look *look, const struct wtl_output_style *style)
{
	const struct wattle_energy *total = &run->report.window.total;
	const struct wtl_report_carbon *carbon = &run->report.carbon;
	int64_t duration_ns = run->report.window.duration_ns;
	unsigned last = wtl_format_last_digit(total->energy_uj, total->uncertainty_uj);

	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	wtl_buf_printf(&grid->rows, "%zu", number);
	wtl_grid_next(grid);
	if (look->is_one_day)
		wtl_page_local_clock(&grid->rows, run->report.window.begin_utc_ns);
	else
		wtl_page_local_minute(&grid->rows, run->report.window.begin_utc_ns);
	wtl_grid_next(grid);
	wtl_format_rounded(&grid->rows, duration_ns > 0 ? (uint64_t)duration_ns / 1000 : 0,
			   MILLISECOND, UNIT);
	wtl_grid_next(grid);
	if (!total->has_energy) {
		wtl_grid_cell(grid, "-");
		return;
	}
	wtl_format_rounded(&grid->rows, total->energy_uj, last, look->scale);
	wtl_grid_next(grid);
	wtl_buf_puts(&grid->rows, style->ascii ? "+/- " : "± ");
	wtl_format_rounded_up(&grid->rows, total->uncertainty_uj, last, look->scale);
	wtl_grid_next(grid);
	if (total->has_power)
		wtl_format_rounded(&grid->rows, total->mean_uw,
				   wtl_format_power_digit(total->mean_uw, 0), UNIT);
	wtl_grid_next(grid);
	wtl_format_rounded(&grid->rows, carbon->emitted_ug,
			   wtl_format_last_digit(carbon->emitted_ug, carbon->uncertainty_ug),
			   look->scale_g);
	wtl_grid_next(grid);
	wtl_format_rounded(&grid->rows, rate_ug(run), wtl_format_last_digit(rate_ug(run), 0),
			   look->scale_rate);
	wtl_grid_next(grid);
}

/* ---- The time series in one line: as high as the greatest, from 0 ---- */

static double duration_of(const struct wtl_run *run)
{
	return (double)run->report.window.duration_ns;
}

static double energy_of(const struct wtl_run *run)
{
	const struct wattle_energy *total = &run->report.window.total;

	return total->has_energy ? (double)total->energy_uj : (double)NAN;
}

static double emitted_of(const struct wtl_run *run)
{
	return run->report.window.total.has_energy ? (double)run->report.carbon.emitted_ug
						   : (double)NAN;
}

static double rate_of(const struct wtl_run *run)
{
	return run->report.window.total.has_energy ? (double)wtl_run_rate_ng_per_s(run)
						   : (double)NAN;
}

static void put_sparks(struct wtl_buf *buf, const struct wtl_runs *runs, const char *name,
		       double (*value)(const struct wtl_run *run),
		       const struct wtl_output_style *style)
{
	static const char *const bars[SPARKS + 1] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const plain[SPARKS + 1] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
	double greatest = 0.0;

	for (size_t i = 0; i < runs->n_runs; i++)
		greatest = fmax(greatest, value(&runs->runs[i]));
	wtl_buf_printf(buf, "  %-10s", name);
	for (size_t i = 0; i < runs->n_runs; i++) {
		double part = greatest > 0.0 ? value(&runs->runs[i]) / greatest : 0.0;
		int level = isfinite(part) ? (int)ceil(part * SPARKS) : 0;

		wtl_buf_puts(buf, style->ascii ? plain[level] : bars[level]);
	}
	wtl_buf_putc(buf, '\n');
}

static void put_series(struct wtl_buf *buf, const struct wtl_runs *runs,
		       const struct wtl_output_style *style)
{
	if (runs->n_runs < 2 || runs->n_runs > SPARKS_MAX)
		return;
	wtl_buf_puts(buf, "\nrun by run, from 0 to the greatest\n");
	put_sparks(buf, runs, "time", duration_of, style);
	put_sparks(buf, runs, "energy", energy_of, style);
	put_sparks(buf, runs, "CO2e", emitted_of, style);
	put_sparks(buf, runs, "rate", rate_of, style);
}

/* ---- The page of runs ---- */

static void put_title(struct wtl_buf *buf, const struct wtl_runs *runs,
		      const struct wtl_output_style *style)
{
	size_t start = buf->len;

	wtl_buf_printf(buf, "wattle: %zu run%s", runs->n_runs, runs->n_runs == 1 ? "" : "s");
	if (!runs->has_files) {
		wtl_buf_puts(buf, " in ");
		wtl_layout_text(buf, base_name(runs->runs[0].path), style);
	}
	wtl_buf_puts(buf, ": ");
	put_command(buf, &runs->runs[0].report, style);
	wtl_layout_cut(buf, start, WTL_LAYOUT_WIDTH, style);
	wtl_buf_puts(buf, "\n\n");
}

static void put_table(struct wtl_buf *buf, const struct wtl_runs *runs,
		      const struct wtl_output_style *style)
{
	uint64_t energy_uj = 0, emitted_ug = 0, ug_per_s = 0;
	struct look look = {.is_one_day = true};
	struct wtl_grid grid;

	for (size_t i = 0; i < runs->n_runs; i++) {
		const struct wtl_report *report = &runs->runs[i].report;

		look.is_one_day &= wtl_page_is_same_day(runs->runs[0].report.window.begin_utc_ns,
							report->window.begin_utc_ns);
		if (!report->window.total.has_energy)
			continue;
		if (report->window.total.energy_uj > energy_uj)
			energy_uj = report->window.total.energy_uj;
		if (report->carbon.emitted_ug > emitted_ug)
			emitted_ug = report->carbon.emitted_ug;
		if (rate_ug(&runs->runs[i]) > ug_per_s)
			ug_per_s = rate_ug(&runs->runs[i]);
	}
	look.scale = wtl_format_scale(energy_uj);
	look.scale_g = wtl_format_scale(emitted_ug);
	look.scale_rate = wtl_format_scale(ug_per_s);
	begin_runs(&grid, &look, style);
	for (size_t i = 0; i < runs->n_runs; i++)
		add_run(&grid, &runs->runs[i], i + 1, &look, style);
	wtl_grid_render(&grid, buf, style);
	wtl_grid_done(&grid);
}

static void put_statistics(struct wtl_buf *buf, const struct wtl_runs *runs,
			   const struct wtl_output_style *style)
{
	enum wattle_method method = runs->runs[0].report.window.total.method;
	bool modelled = method == WATTLE_METHOD_MODELLED || method == WATTLE_METHOD_MIXED;
	const struct {
		const char *name;
		const struct wtl_statistics *of;
		enum wtl_format_quantity quantity;
		const char *unit;
	} rows[] = {
		{"time", &runs->duration_s, WTL_FORMAT_J, "s"},
		{"energy", &runs->energy_j, WTL_FORMAT_J, NULL},
		{"power", &runs->power_w, WTL_FORMAT_W, NULL},
		{"command, dynamic", &runs->command_dynamic_j, WTL_FORMAT_J, NULL},
		{"command, full", &runs->command_full_j, WTL_FORMAT_J, NULL},
		{"CO2e", &runs->emitted_g, WTL_FORMAT_G, NULL},
	};
	struct wtl_grid grid;

	wtl_page_begin_statistics(&grid, style);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].of->n > 0)
			wtl_page_add_statistics(&grid, rows[i].name, rows[i].of, rows[i].quantity,
						rows[i].unit, modelled && rows[i].unit == NULL,
						style);
	wtl_buf_putc(buf, '\n');
	wtl_grid_render(&grid, buf, style);
	wtl_grid_done(&grid);
}

int wtl_page_runs(struct wtl_buf *buf, const struct wtl_runs *runs,
		  const struct wtl_output_style *style)
{
	if (runs->n_runs == 0)
		return wtl_buf_puts(buf, "wattle: no run ended\n");
	put_title(buf, runs, style);
	put_table(buf, runs, style);
	for (size_t i = 0; runs->has_files && i < runs->n_runs; i++) {
		wtl_buf_printf(buf, "%s  run %zu is in ", i == 0 ? "\n" : "", i + 1);
		wtl_layout_text(buf, runs->runs[i].path, style);
		wtl_buf_putc(buf, '\n');
	}
	put_series(buf, runs, style);
	put_statistics(buf, runs, style);
	wtl_buf_putc(buf, '\n');
	return wtl_layout_wrap(
		buf,
		style->ascii
			? "+/- of a run: its sensors' uncertainty (k = 2). +/- of a mean: 95 % "
			  "interval over the runs, which does not see an error that all runs share."
			: "± of a run: its sensors' uncertainty (k = 2). ± of a mean: 95 % interval "
			  "over the runs, which does not see an error that all runs share.",
		0, 0);
}
