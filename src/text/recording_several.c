/* SPDX-License-Identifier: MIT */
/* Several recordings for people: side by side, or as a series of runs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "energy/units.h"
#include "document/format.h"
#include "text/layout.h"
#include "text/page.h"
#include "text/recording_page.h"
#include "document/words.h"

enum { SPARKS = 8, SPARKS_MAX = 60, UNIT = 6, REMARK_SIZE = 192, LINE_MAX_BYTES = 1 << 20 };

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
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
		if (recording->n_runs > 1)
			wtl_buf_printf(buf, "mean of %zu runs", recording->n_runs);
		else
			wtl_page_local(buf, recording->compared_utc_ns
						    ? recording->compared_utc_ns
						    : recording->report.window.begin_utc_ns);
		wtl_buf_puts(buf, recording->host[0] ? ", on " : "");
		wtl_layout_text(buf, recording->host, style);
		wtl_buf_puts(buf, ": ");
		wtl_page_words(buf, recording->report.command, "the machine", style);
		wtl_layout_cut(buf, start, WTL_LAYOUT_WIDTH, style);
		wtl_buf_putc(buf, '\n');
	}
}

static bool is_modelled(const struct wtl_report *report, const struct wtl_compared *row)
{
	if (row->quantity == WTL_COMPARED_S)
		return false;
	if (!row->is_domain)
		return wtl_page_is_modelled(report);
	for (size_t i = 0; i < report->n_domains; i++)
		if (strcmp(report->domains[i].domain.name, row->what) == 0)
			return wtl_words_method(&report->domains[i]) == WATTLE_METHOD_MODELLED;
	return false;
}

static void add_value(struct wtl_grid *grid, const struct wtl_compared_value *value, bool modelled,
		      unsigned scale, const struct wtl_output_style *style)
{
	const struct wtl_measured *measured = &value->measured;
	unsigned last = wtl_format_last_digit(measured->value, measured->uncertainty);

	if (!value->is_known) {
		wtl_grid_cell(grid, "-");
		return;
	}
	wtl_buf_puts(&grid->rows, value->is_incomplete ? "! " : "");
	wtl_buf_puts(&grid->rows, modelled ? "~" : "");
	wtl_format_rounded(&grid->rows, measured->value, last, scale);
	if (measured->uncertainty > 0) {
		wtl_buf_puts(&grid->rows, style->ascii ? " +/- " : " ± ");
		wtl_format_rounded_up(&grid->rows, measured->uncertainty, last, scale);
	}
	wtl_grid_next(grid);
}

/* is_exact: what is not said to have an error has none, as one time has not. */
static void add_difference(struct wtl_grid *grid, const struct wtl_compared_value *value,
			   unsigned scale, bool is_exact, const struct wtl_output_style *style)
{
	const struct wtl_difference *difference = &value->difference;
	uint64_t uncertainty = difference->uncertainty;
	unsigned last = wtl_format_last_digit(
		difference->value > uncertainty ? difference->value : uncertainty, uncertainty);

	if (!value->has_difference)
		return;
	wtl_buf_puts(&grid->rows, difference->is_negative ? "-" : "+");
	wtl_format_rounded(&grid->rows, difference->value, last, scale);
	wtl_grid_next(grid);
	wtl_page_add_uncertainty(grid, uncertainty, last, scale, style);
	if (difference->has_ratio) {
		wtl_buf_puts(&grid->rows, difference->is_negative ? "-" : "+");
		wtl_format_percent(&grid->rows, fabs(difference->ratio));
	}
	wtl_grid_next(grid);
	if (value->has_other_domains)
		wtl_grid_cell(grid, "not of the same domains");
	else if (!difference->is_significant && !(is_exact && uncertainty == 0))
		wtl_grid_cell(grid, "within its error");
}

static void add_compared(struct wtl_grid *grid, const struct wtl_comparison *comparison,
			 const struct wtl_compared *row, size_t i,
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
	add_value(grid, first, is_modelled(&comparison->recordings[0].report, row), scale, style);
	add_value(grid, other, is_modelled(&comparison->recordings[i].report, row), scale, style);
	add_difference(grid, other, scale, row->quantity == WTL_COMPARED_S, style);
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
			add_compared(&grid, comparison, &comparison->rows[k], i, style);
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

static const struct wtl_report *compared_report(const void *of, size_t i)
{
	const struct wtl_comparison *comparison = of;

	return &comparison->recordings[i].report;
}

static bool has_other_domains(const struct wtl_comparison *comparison, size_t i)
{
	for (size_t k = 0; k < comparison->n_rows; k++)
		if (comparison->rows[k].values[i].has_other_domains)
			return true;
	return false;
}

static void put_other_domains(struct wtl_buf *buf, const struct wtl_comparison *comparison,
			      const struct wtl_output_style *style)
{
	struct wtl_buf line;
	size_t n = 0;

	wtl_buf_init(&line, LINE_MAX_BYTES);
	for (size_t i = 1; i < comparison->n_recordings; i++)
		n += has_other_domains(comparison, i);
	wtl_buf_puts(&line, n > 1 ? "the totals of " : "the total of ");
	n = 0;
	for (size_t i = 1; i < comparison->n_recordings; i++)
		if (has_other_domains(comparison, i))
			wtl_buf_printf(&line, "%s[%zu]", n++ > 0 ? ", " : "", i + 1);
	wtl_buf_printf(
		&line,
		" %s not of the same domains as that of [1]: what they differ by is not only "
		"what was used more or less",
		n > 1 ? "are" : "is");
	if (n > 0)
		wtl_page_remark(buf, WTL_PAGE_DOUBT, wtl_buf_str(&line), style);
	wtl_layout_close(&line, buf);
}

/* What keeps them from being compared as they stand. */
static void put_remarks(struct wtl_buf *buf, const struct wtl_comparison *comparison,
			const struct wtl_output_style *style)
{
	const struct wtl_page_several several = {
		.report = compared_report,
		.of = comparison,
		.n = comparison->n_recordings,
		.before = "[",
		.after = "]",
	};

	for (size_t i = 0; i < comparison->n_recordings; i++) {
		char label[32];

		snprintf(label, sizeof(label), "[%zu]", i + 1);
		wtl_page_file_remarks(buf, label, &comparison->recordings[i], style);
	}
	wtl_page_energy_remarks(buf, &several, style);
	put_other_domains(buf, comparison, style);
	wtl_page_carbon_remarks(buf, &several, &comparison->recordings[0], style);
	wtl_page_policy_remark(buf, &comparison->recordings[0], style);
}

/* Whose emissions are in no row, and why. */
static void put_unknown(struct wtl_buf *buf, const struct wtl_comparison *comparison,
			const struct wtl_output_style *style)
{
	for (size_t i = 0; i < comparison->n_recordings; i++) {
		const struct wtl_report *report = &comparison->recordings[i].report;
		const char *reason =
			wtl_words_not_all_emitted(&report->carbon, &report->window.total);
		char text[REMARK_SIZE];

		if (!reason || !report->window.total.has_energy)
			continue;
		snprintf(text, sizeof(text), "no CO2e of [%zu]: %s", i + 1, reason);
		wtl_page_remark(buf, WTL_PAGE_DOUBT, text, style);
	}
}

static int page_comparison(struct wtl_buf *buf, const void *what,
			   const struct wtl_output_style *style)
{
	const struct wtl_comparison *comparison = what;
	struct wtl_buf line;
	size_t start;

	wtl_buf_printf(buf, "wattle: %zu recordings side by side\n\n", comparison->n_recordings);
	put_list(buf, comparison, style);
	for (size_t i = 1; i < comparison->n_recordings; i++)
		put_pair(buf, comparison, i, style);
	wtl_buf_putc(buf, '\n');
	start = buf->len;
	put_remarks(buf, comparison, style);
	put_unknown(buf, comparison, style);
	if (buf->len > start)
		wtl_buf_putc(buf, '\n');
	if (is_any_common(comparison))
		return wtl_layout_wrap(
			buf,
			"A difference's error is at k = 2. What the same sensor of the same machine is "
			"wrong by in both alike (its gain and zero) is in it only as far as both differ; "
			"all else is taken as independent.",
			0, 0);
	wtl_buf_init(&line, 256);
	wtl_buf_printf(
		&line,
		"A difference's error is at k = 2. %s were not measured by the same sensors of "
		"the same machine, so their errors are taken as independent.",
		comparison->n_recordings > 2 ? "These" : "The two");
	wtl_layout_wrap(buf, wtl_buf_str(&line), 0, 0);
	return wtl_layout_close(&line, buf);
}

/* ---- Runs ---- */

/* What is the same of all rows. */
struct look {
	unsigned scale, scale_g, scale_rate;
	bool is_one_day, has_end;
};

static void begin_runs(struct wtl_grid *grid, const struct look *look,
		       const struct wtl_output_style *style)
{
	wtl_grid_init(grid, "rlrrurrrl");
	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	wtl_grid_cell(grid, "run");
	wtl_grid_cell(grid, "began");
	wtl_grid_cell(grid, "time [s]");
	wtl_grid_cell(grid, "energy");
	wtl_page_add_unit(grid, "", WTL_FORMAT_J, look->scale, style);
	wtl_grid_cell(grid, "mean [W]");
	wtl_page_add_unit(grid, "CO2e ", WTL_FORMAT_G, look->scale_g, style);
	wtl_buf_printf(&grid->rows, "rate [%s/s]",
		       wtl_format_unit(WTL_FORMAT_G, look->scale_rate, style->ascii));
	wtl_grid_next(grid);
	if (look->has_end)
		wtl_grid_cell(grid, "end");
}

static bool has_end(const struct wtl_run *run)
{
	return run->is_unfinished || run->report.interrupted || run->report.has_exit;
}

static void add_end(struct wtl_grid *grid, const struct wtl_run *run)
{
	if (run->is_unfinished)
		wtl_buf_puts(&grid->rows, run->is_live ? "still running" : "cut off");
	else if (run->report.interrupted)
		wtl_buf_puts(&grid->rows, "interrupted");
	else if (!wtl_page_end(&grid->rows, &run->report))
		wtl_buf_puts(&grid->rows, run->report.has_exit ? "ok" : "-");
	wtl_grid_next(grid);
}

/* Micrograms per second; 0 where it is not known. */
static uint64_t rate_ug(const struct wtl_run *run)
{
	uint64_t rate_ng_per_s = 0;

	wtl_run_rate_ng_per_s(run, &rate_ng_per_s);
	return rate_ng_per_s / 1000 + (rate_ng_per_s % 1000 >= 500);
}

static void add_rate(struct wtl_grid *grid, const struct wtl_run *run, unsigned scale)
{
	uint64_t rate_ng_per_s;

	if (wtl_run_rate_ng_per_s(run, &rate_ng_per_s))
		wtl_format_rounded(&grid->rows, rate_ug(run),
				   wtl_format_last_digit(rate_ug(run), 0), scale);
	else
		wtl_buf_putc(&grid->rows, '-');
	wtl_grid_next(grid);
}

/* energy to rate */
static void add_figures(struct wtl_grid *grid, const struct wtl_run *run, const struct look *look,
			const struct wtl_output_style *style)
{
	const struct wattle_energy *total = &run->report.window.total;
	const struct wtl_report_carbon *carbon = &run->report.carbon;

	wtl_buf_puts(&grid->rows, wtl_page_incomplete(&run->report) ? "! " : "");
	wtl_page_add_measure(grid, total->energy_uj, total->uncertainty_uj,
			     wtl_page_is_modelled(&run->report), look->scale, style);
	wtl_page_add_mean(grid, total);
	/* Without its ± in the table: as the statistics below have it. */
	if (wtl_words_not_all_emitted(carbon, total))
		wtl_buf_putc(&grid->rows, '-');
	else
		wtl_format_rounded(&grid->rows, carbon->emitted_ug,
				   wtl_format_last_digit(carbon->emitted_ug, 0), look->scale_g);
	wtl_grid_next(grid);
	add_rate(grid, run, look->scale_rate);
}

static void add_no_figures(struct wtl_grid *grid)
{
	wtl_page_add_nothing(grid);
	for (size_t i = 0; i < 3; i++)
		wtl_grid_cell(grid, "");
}

static void add_run(struct wtl_grid *grid, const struct wtl_run *run, size_t number,
		    const struct look *look, const struct wtl_output_style *style)
{
	const struct wattle_energy *total = &run->report.window.total;

	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	wtl_buf_printf(&grid->rows, "%zu", number);
	wtl_grid_next(grid);
	if (look->is_one_day)
		wtl_page_local_clock(&grid->rows, run->report.window.begin_utc_ns);
	else
		wtl_page_local_minute(&grid->rows, run->report.window.begin_utc_ns);
	wtl_grid_next(grid);
	wtl_page_add_seconds(grid, run->report.window.duration_ns);
	if (total->has_energy)
		add_figures(grid, run, look, style);
	else
		add_no_figures(grid);
	if (look->has_end)
		add_end(grid, run);
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
	const struct wtl_report *report = &run->report;

	return wtl_words_not_all_emitted(&report->carbon, &report->window.total)
		       ? (double)NAN
		       : (double)report->carbon.emitted_ug;
}

static double rate_of(const struct wtl_run *run)
{
	uint64_t rate_ng_per_s;

	return wtl_run_rate_ng_per_s(run, &rate_ng_per_s) ? (double)rate_ng_per_s : (double)NAN;
}

static void put_sparks(struct wtl_buf *buf, const struct wtl_runs *runs, const char *name,
		       double (*value)(const struct wtl_run *run),
		       const struct wtl_output_style *style)
{
	static const char *const bars[SPARKS + 1] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const plain[SPARKS + 1] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
	double greatest = (double)NAN;

	for (size_t i = 0; i < runs->n_runs; i++)
		greatest = fmax(greatest, value(&runs->runs[i]));
	if (!isfinite(greatest))
		return; /* nothing is known of any */
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

static bool is_same_words(char *const *a, char *const *b)
{
	if (!a || !b)
		return a == b;
	while (*a && *b && strcmp(*a, *b) == 0) {
		a++;
		b++;
	}
	return !*a && !*b;
}

static bool is_same_command(const struct wtl_runs *runs)
{
	for (size_t i = 1; i < runs->n_runs; i++)
		if (!is_same_words(runs->runs[0].report.command, runs->runs[i].report.command))
			return false;
	return true;
}

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
	if (is_same_command(runs))
		wtl_page_words(buf, runs->runs[0].report.command, "the machine", style);
	else
		wtl_buf_puts(buf, "different commands");
	wtl_page_end_title(buf, start, style);
}

/* Where the runs are, and what each was where they are not all the same. */
static void put_sources(struct wtl_buf *buf, const struct wtl_runs *runs,
			const struct wtl_output_style *style)
{
	bool is_same = is_same_command(runs);

	for (size_t i = 0; (runs->has_files || !is_same) && i < runs->n_runs; i++) {
		size_t start;

		wtl_buf_puts(buf, i == 0 ? "\n" : "");
		start = buf->len;
		wtl_buf_printf(buf, "  run %zu is", i + 1);
		if (runs->has_files) {
			wtl_buf_puts(buf, " in ");
			wtl_layout_text(buf, runs->runs[i].path, style);
		}
		if (!is_same) {
			wtl_buf_puts(buf, runs->has_files ? ": " : " ");
			wtl_page_words(buf, runs->runs[i].report.command, "the machine", style);
			wtl_layout_cut(buf, start, WTL_LAYOUT_WIDTH, style);
		}
		wtl_buf_putc(buf, '\n');
	}
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
		look.has_end |= has_end(&runs->runs[i]);
		if (!report->window.total.has_energy)
			continue;
		if (report->window.total.energy_uj > energy_uj)
			energy_uj = report->window.total.energy_uj;
		if (!wtl_words_not_all_emitted(&report->carbon, &report->window.total) &&
		    report->carbon.emitted_ug > emitted_ug)
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
	bool modelled = false;
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

	for (size_t i = 0; i < runs->n_runs; i++)
		modelled |= wtl_page_is_modelled(&runs->runs[i].report);
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

/* The runs whose emissions are not known: how many, and why the first one's are not. */
static void put_not_emitted(struct wtl_buf *buf, const struct wtl_runs *runs,
			    const struct wtl_output_style *style)
{
	const char *first = NULL;
	char text[REMARK_SIZE];
	size_t n = 0;

	for (size_t i = 0; i < runs->n_runs; i++) {
		const struct wtl_report *report = &runs->runs[i].report;
		const char *reason =
			wtl_words_not_all_emitted(&report->carbon, &report->window.total);

		if (!reason || !report->window.total.has_energy)
			continue;
		first = first ? first : reason;
		n++;
	}
	if (n == 0)
		return;
	snprintf(text, sizeof(text), "no CO2e of %zu of %zu runs: %s", n, runs->n_runs, first);
	wtl_page_remark(buf, WTL_PAGE_DOUBT, text, style);
}

static void put_not_whole(struct wtl_buf *buf, const struct wtl_runs *runs,
			  const struct wtl_output_style *style)
{
	char text[REMARK_SIZE];
	size_t n = 0;

	for (size_t i = 0; i < runs->n_runs; i++)
		n += !runs->runs[i].is_unfinished && !runs->runs[i].report.interrupted;
	if (n == runs->n_runs)
		return;
	snprintf(
		text, sizeof(text),
		"mean and spread are those of %zu of %zu runs, which ended and were not interrupted",
		n, runs->n_runs);
	wtl_page_remark(buf, WTL_PAGE_DOUBT, text, style);
}

static const struct wtl_report *run_report(const void *of, size_t i)
{
	const struct wtl_runs *runs = of;

	return &runs->runs[i].report;
}

static void put_runs_remarks(struct wtl_buf *buf, const struct wtl_runs *runs,
			     const struct wtl_output_style *style)
{
	const struct wtl_page_several several = {
		.report = run_report, .of = runs, .n = runs->n_runs, .before = "run ", .after = ""};
	size_t start;

	wtl_buf_putc(buf, '\n');
	start = buf->len;
	put_not_whole(buf, runs, style);
	for (size_t i = 0; i < runs->n_recordings; i++)
		wtl_page_file_remarks(buf,
				      runs->has_files ? runs->recordings[i]->path
						      : base_name(runs->recordings[i]->path),
				      runs->recordings[i], style);
	wtl_page_energy_remarks(buf, &several, style);
	put_not_emitted(buf, runs, style);
	wtl_page_carbon_remarks(buf, &several, runs->n_recordings > 0 ? runs->recordings[0] : NULL,
				style);
	if (runs->n_recordings > 0)
		wtl_page_policy_remark(buf, runs->recordings[0], style);
	if (!buf->error && buf->len == start)
		wtl_layout_truncate(buf, start - 1);
}

/* Of the recordings with the runs, together: their models are wrong in the same way. */
static void put_self(struct wtl_buf *buf, const struct wtl_runs *runs,
		     const struct wtl_output_style *style)
{
	struct wtl_report_self sum = {.has_energy = true};

	for (size_t i = 0; i < runs->n_recordings; i++) {
		const struct wtl_report_self *self = &runs->recordings[i]->report.self;

		if (__builtin_add_overflow(sum.cpu_ns, self->cpu_ns, &sum.cpu_ns))
			sum.cpu_ns = INT64_MAX;
		sum.has_energy &= self->has_energy;
		sum.energy_uj = wtl_add_sat(sum.energy_uj, self->energy_uj);
		sum.uncertainty_uj = wtl_add_sat(sum.uncertainty_uj, self->uncertainty_uj);
		if (self->max_rss_bytes > sum.max_rss_bytes)
			sum.max_rss_bytes = self->max_rss_bytes;
	}
	if (runs->n_recordings == 0)
		return;
	wtl_buf_putc(buf, '\n');
	wtl_page_recording_self(buf, &sum, style);
}

/* That of any run with emissions, where their intensities are known equally well; or NULL. */
static const struct wtl_report_carbon *shared_carbon(const struct wtl_runs *runs)
{
	const struct wtl_report_carbon *first = NULL;

	for (size_t i = 0; i < runs->n_runs; i++) {
		const struct wtl_report *report = &runs->runs[i].report;

		if (wtl_words_not_all_emitted(&report->carbon, &report->window.total))
			continue;
		first = first ? first : &report->carbon;
		if (report->carbon.carbon.uncertainty_ppm != first->carbon.uncertainty_ppm)
			return NULL;
	}
	return first;
}

static int page_runs(struct wtl_buf *buf, const void *what, const struct wtl_output_style *style)
{
	const struct wtl_runs *runs = what;
	if (runs->n_runs == 0)
		return wtl_buf_puts(buf, "wattle: no run ended\n");
	put_title(buf, runs, style);
	put_table(buf, runs, style);
	put_sources(buf, runs, style);
	put_series(buf, runs, style);
	put_statistics(buf, runs, style);
	put_runs_remarks(buf, runs, style);
	wtl_buf_putc(buf, '\n');
	wtl_page_legend(buf, shared_carbon(runs), style);
	put_self(buf, runs, style);
	return buf->error;
}

const struct wtl_thing wtl_thing_comparison = {wtl_comparison_check, wtl_doc_comparison,
					       page_comparison, true};
const struct wtl_thing wtl_thing_runs = {wtl_runs_check, wtl_doc_runs, page_runs, true};
