/* SPDX-License-Identifier: MIT */
/* Several recordings for people: side by side, or as a series of runs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "document/words.h"
#include "energy/units.h"
#include "text/report_text.h"
#include "text/recording_text.h"

/* Smaller parts are 0.00 %. */
#define RATIO_SEEN 0.00005

enum { SPARKS = 8, SPARKS_MAX = 60, UNIT = 6 };

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Why a report with energy has no emissions; NULL: it has some, or no energy either. */
static const char *why_not_emitted(const struct wtl_report *report)
{
	return report->window.total.has_energy
		       ? wtl_words_not_all_emitted(&report->carbon, &report->window.total)
		       : NULL;
}

static bool has_emissions(const struct wtl_report *report)
{
	return !wtl_words_not_all_emitted(&report->carbon, &report->window.total);
}

/* ---- Side by side ---- */

enum { PATH_COLUMNS = 32, PATH_ALONE_COLUMNS = 60, COMMAND_COLUMNS_MIN = 12 };

static void put_path(const struct wtl_report_text *text, const char *path, size_t columns)
{
	size_t start = text->buf->len;

	wtl_report_text_put(text, "%s", path);
	wtl_layout_cut_middle(text->buf, start, columns, text->style);
}

/* The last item of a line that begins at line_start. */
static void put_command(const struct wtl_report_text *text, size_t line_start,
			char *const command[])
{
	struct wtl_buf *buf = text->buf;
	size_t start = buf->len, room = COMMAND_COLUMNS_MIN;
	size_t used = wtl_layout_columns(wtl_buf_str(buf) + line_start, start - line_start);

	if (used + room < WTL_LAYOUT_WIDTH)
		room = WTL_LAYOUT_WIDTH - used;
	wtl_report_text_words(text, command, "the machine");
	wtl_layout_cut_middle(buf, start, room, text->style);
	wtl_layout_cut(buf, line_start, WTL_LAYOUT_WIDTH, text->style);
}

static void put_list(const struct wtl_report_text *text, const struct wtl_comparison *comparison)
{
	for (size_t i = 0; i < comparison->n_recordings; i++) {
		const struct wtl_recording *recording = &comparison->recordings[i];
		size_t start = text->buf->len;

		wtl_report_text_put(text, "  [%z] ", i + 1);
		put_path(text, recording->path, PATH_COLUMNS);
		wtl_buf_puts(text->buf, ", ");
		if (recording->n_runs > 1)
			wtl_report_text_put(text, "mean of %z runs", recording->n_runs);
		else
			wtl_report_text_local(text->buf,
					      recording->compared_utc_ns
						      ? recording->compared_utc_ns
						      : recording->report.window.begin_utc_ns);
		wtl_report_text_put(text, "%w%s: ", recording->host[0] ? ", on " : "",
				    recording->host);
		put_command(text, start, recording->report.command);
		wtl_buf_putc(text->buf, '\n');
	}
}

static bool is_modelled(const struct wtl_report *report, const struct wtl_compared *row)
{
	if (row->quantity == WTL_COMPARED_S)
		return false;
	if (!row->is_domain)
		return wtl_report_text_is_modelled(report);
	for (size_t i = 0; i < report->n_domains; i++)
		if (strcmp(report->domains[i].domain.name, row->what) == 0)
			return wtl_words_method(&report->domains[i]) == WATTLE_METHOD_MODELLED;
	return false;
}

static void add_value(struct wtl_grid *grid, const struct wtl_compared_value *value, bool modelled,
		      unsigned scale)
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
	wtl_buf_puts(&grid->rows, measured->uncertainty > 0 ? " " : "");
	wtl_report_text_add_uncertainty(grid, measured->uncertainty, last, scale);
}

/* is_exact: a value without a ± has no error, such as a single duration. */
static void add_difference(struct wtl_grid *grid, const struct wtl_compared_value *value,
			   unsigned scale, bool is_exact)
{
	const struct wtl_difference *difference = &value->difference;
	const char *sign = difference->is_negative ? "-" : "+";
	uint64_t uncertainty = difference->uncertainty;
	unsigned last = wtl_format_last_digit(
		difference->value > uncertainty ? difference->value : uncertainty, uncertainty);

	if (!value->has_difference)
		return;
	/* A difference that rounds to 0 has no sign. */
	wtl_buf_puts(&grid->rows, wtl_format_round(difference->value, last) > 0 ? sign : "");
	wtl_format_rounded(&grid->rows, difference->value, last, scale);
	wtl_grid_next(grid);
	wtl_report_text_add_uncertainty(grid, uncertainty, last, scale);
	if (difference->has_ratio) {
		wtl_buf_puts(&grid->rows, fabs(difference->ratio) >= RATIO_SEEN ? sign : "");
		wtl_format_percent(&grid->rows, fabs(difference->ratio));
	}
	wtl_grid_next(grid);
	if (value->has_other_domains)
		wtl_grid_cell(grid, "not of the same domains");
	else if (!difference->is_significant && !(is_exact && uncertainty == 0))
		wtl_grid_cell(grid, "within its error");
}

static void add_compared(struct wtl_grid *grid, const struct wtl_comparison *comparison,
			 const struct wtl_compared *row, size_t i)
{
	static const enum wtl_format_quantity quantities[] = {[WTL_COMPARED_J] = WTL_FORMAT_J,
							      [WTL_COMPARED_W] = WTL_FORMAT_W,
							      [WTL_COMPARED_G] = WTL_FORMAT_G};
	const struct wtl_compared_value *first = &row->values[0], *other = &row->values[i];
	uint64_t largest = first->measured.value > other->measured.value ? first->measured.value
									 : other->measured.value;
	bool is_time = row->quantity == WTL_COMPARED_S;
	unsigned scale = is_time ? UNIT : wtl_format_scale(largest);

	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	wtl_buf_puts(&grid->rows, row->is_domain ? "  " : "");
	wtl_layout_text(&grid->rows, row->what, grid->style);
	wtl_buf_printf(
		&grid->rows, " [%s]",
		is_time ? "s"
			: wtl_format_unit(quantities[row->quantity], scale, grid->style->ascii));
	wtl_grid_next(grid);
	add_value(grid, first, is_modelled(&comparison->recordings[0].report, row), scale);
	add_value(grid, other, is_modelled(&comparison->recordings[i].report, row), scale);
	add_difference(grid, other, scale, is_time);
}

static void put_pair(const struct wtl_report_text *text, const struct wtl_comparison *comparison,
		     size_t i)
{
	struct wtl_grid grid;

	wtl_grid_init(&grid, "lrrrurl", text->style);
	wtl_grid_row(&grid, WTL_TONE_PLAIN, (const char *const[]){"", "[1]", NULL});
	wtl_buf_printf(&grid.rows, "[%zu]", i + 1);
	wtl_grid_next(&grid);
	wtl_grid_cell(&grid, "difference");
	for (size_t k = 0; k < comparison->n_rows; k++)
		if (comparison->rows[k].values[0].is_known ||
		    comparison->rows[k].values[i].is_known)
			add_compared(&grid, comparison, &comparison->rows[k], i);
	wtl_buf_putc(text->buf, '\n');
	wtl_grid_render(&grid, text->buf);
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

static void put_other_domains(const struct wtl_report_text *text,
			      const struct wtl_comparison *comparison)
{
	size_t all = 0, n = 0, start;

	for (size_t i = 1; i < comparison->n_recordings; i++)
		all += has_other_domains(comparison, i);
	if (all == 0)
		return;
	start = wtl_report_text_begin_remark(text, WTL_TEXT_DOUBT);
	wtl_buf_puts(text->buf, all > 1 ? "the totals of " : "the total of ");
	for (size_t i = 1; i < comparison->n_recordings; i++)
		if (has_other_domains(comparison, i))
			wtl_report_text_put(text, "%w[%z]", n++ > 0 ? ", " : "", i + 1);
	wtl_report_text_put(
		text,
		" %w not of the same domains as that of [1]: what they differ by is not only "
		"what was used more or less",
		all > 1 ? "are" : "is");
	wtl_report_text_end_remark(text, start);
}

/* What keeps the recordings from being compared as they are; which have no emissions, and why. */
static void put_remarks(const struct wtl_report_text *text, const struct wtl_comparison *comparison)
{
	const struct wtl_report_text_several several = {
		.report = compared_report,
		.of = comparison,
		.n = comparison->n_recordings,
		.before = "[",
		.after = "]",
	};

	for (size_t i = 0; i < comparison->n_recordings; i++) {
		char label[32];

		snprintf(label, sizeof(label), "[%zu]", i + 1);
		wtl_report_text_file_remarks(text, label, &comparison->recordings[i]);
	}
	wtl_report_text_energy_remarks(text, &several);
	put_other_domains(text, comparison);
	wtl_report_text_carbon_remarks(text, &several, &comparison->recordings[0]);
	wtl_report_text_policy_remark(text, &comparison->recordings[0]);
	for (size_t i = 0; i < comparison->n_recordings; i++) {
		const char *reason = why_not_emitted(&comparison->recordings[i].report);

		if (reason)
			wtl_report_text_remark(text, WTL_TEXT_DOUBT, "no CO2e of [%z]: %w", i + 1,
					       reason);
	}
}

static int text_comparison(struct wtl_buf *buf, const void *what,
			   const struct wtl_output_style *style)
{
	const struct wtl_report_text text = {buf, style, NULL};
	const struct wtl_comparison *comparison = what;
	size_t start;

	wtl_report_text_put(&text, "wattle: %z recordings side by side\n\n",
			    comparison->n_recordings);
	put_list(&text, comparison);
	for (size_t i = 1; i < comparison->n_recordings; i++)
		put_pair(&text, comparison, i);
	wtl_buf_putc(buf, '\n');
	start = buf->len;
	put_remarks(&text, comparison);
	wtl_buf_puts(buf, buf->len > start ? "\n" : "");
	start = buf->len;
	wtl_buf_puts(buf, "A difference's error is at k = 2. ");
	if (is_any_common(comparison))
		wtl_buf_puts(
			buf,
			"What both get wrong alike (the gain and zero of the same sensor, an intensity "
			"that both have) counts only as far as both differ; all else is taken as "
			"independent.");
	else
		wtl_report_text_put(
			&text,
			"%w were not measured by the same sensors of the same machine, so the errors "
			"of their energies are taken as independent.",
			comparison->n_recordings > 2 ? "These" : "The two");
	return wtl_layout_wrap(buf, start, 0, 0);
}

/* ---- Runs ---- */

/* Micrograms per second; 0 where it is not known. */
static uint64_t rate_ug(const struct wtl_run *run)
{
	uint64_t rate_ng_per_s = 0;

	wtl_run_rate_ng_per_s(run, &rate_ng_per_s);
	return rate_ng_per_s / 1000 + (rate_ng_per_s % 1000 >= 500);
}

/* Without its ±, which is in the statistics below the table. */
static void add_plain(struct wtl_grid *grid, bool is_known, uint64_t micro, unsigned scale)
{
	if (is_known)
		wtl_format_rounded(&grid->rows, micro, wtl_format_last_digit(micro, 0), scale);
	else
		wtl_buf_putc(&grid->rows, '-');
	wtl_grid_next(grid);
}

/* What is the same in all rows. */
struct look {
	unsigned scale, scale_g, scale_rate;
	bool is_one_day, has_end;
};

static struct look look_at(const struct wtl_runs *runs)
{
	uint64_t energy_uj = 0, emitted_ug = 0, ug_per_s = 0;
	struct look look = {.is_one_day = true};

	for (size_t i = 0; i < runs->n_runs; i++) {
		const struct wtl_run *run = &runs->runs[i];
		const struct wtl_report *report = &run->report;

		look.is_one_day &= wtl_report_text_is_same_day(
			runs->runs[0].report.window.begin_utc_ns, report->window.begin_utc_ns);
		look.has_end |= run->is_unfinished || report->interrupted || report->has_exit;
		if (!report->window.total.has_energy)
			continue;
		if (report->window.total.energy_uj > energy_uj)
			energy_uj = report->window.total.energy_uj;
		if (has_emissions(report) && report->carbon.emitted_ug > emitted_ug)
			emitted_ug = report->carbon.emitted_ug;
		if (rate_ug(run) > ug_per_s)
			ug_per_s = rate_ug(run);
	}
	look.scale = wtl_format_scale(energy_uj);
	look.scale_g = wtl_format_scale(emitted_ug);
	look.scale_rate = wtl_format_scale(ug_per_s);
	return look;
}

/* energy to rate */
static void add_figures(struct wtl_grid *grid, const struct wtl_run *run, const struct look *look)
{
	const struct wattle_energy *total = &run->report.window.total;
	uint64_t rate_ng_per_s;

	if (!total->has_energy) {
		wtl_report_text_add_nothing(grid);
		for (size_t i = 0; i < 3; i++)
			wtl_grid_cell(grid, "");
		return;
	}
	wtl_buf_puts(&grid->rows, wtl_report_text_incomplete(&run->report) ? "! " : "");
	wtl_report_text_add_energy(grid, total, wtl_report_text_is_modelled(&run->report),
				   look->scale);
	wtl_report_text_add_mean(grid, total);
	add_plain(grid, has_emissions(&run->report), run->report.carbon.emitted_ug, look->scale_g);
	add_plain(grid, wtl_run_rate_ng_per_s(run, &rate_ng_per_s), rate_ug(run), look->scale_rate);
}

static void add_run(struct wtl_grid *grid, const struct wtl_run *run, size_t number,
		    const struct look *look)
{
	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	wtl_grid_number(grid, number);
	if (look->is_one_day)
		wtl_report_text_local_clock(&grid->rows, run->report.window.begin_utc_ns);
	else
		wtl_report_text_local_minute(&grid->rows, run->report.window.begin_utc_ns);
	wtl_grid_next(grid);
	wtl_report_text_add_seconds(grid, run->report.window.duration_ns);
	add_figures(grid, run, look);
	if (look->has_end && run->is_unfinished)
		wtl_grid_cell(grid, run->is_live ? "still running" : "cut off");
	else if (look->has_end)
		wtl_report_text_add_end(grid, &run->report);
}

static void put_table(const struct wtl_report_text *text, const struct wtl_runs *runs)
{
	const struct look look = look_at(runs);
	struct wtl_grid grid;

	wtl_grid_init(&grid, "rlrrurrrl", text->style);
	wtl_grid_row(&grid, WTL_TONE_PLAIN,
		     (const char *const[]){"run", "began", "time [s]", "energy", NULL});
	wtl_report_text_add_unit(&grid, "", WTL_FORMAT_J, look.scale);
	wtl_grid_cell(&grid, "mean [W]");
	wtl_report_text_add_unit(&grid, "CO2e ", WTL_FORMAT_G, look.scale_g);
	wtl_buf_printf(&grid.rows, "rate [%s/s]",
		       wtl_format_unit(WTL_FORMAT_G, look.scale_rate, text->style->ascii));
	wtl_grid_next(&grid);
	if (look.has_end)
		wtl_grid_cell(&grid, "end");
	for (size_t i = 0; i < runs->n_runs; i++)
		add_run(&grid, &runs->runs[i], i + 1, &look);
	wtl_grid_render(&grid, text->buf);
}

/* ---- The time series, a line for each figure: bars from 0 to the greatest value ---- */

enum spark { TIME, ENERGY, EMITTED, RATE };

static double spark_of(const struct wtl_run *run, enum spark spark)
{
	const struct wtl_report *report = &run->report;
	uint64_t rate_ng_per_s;

	if (spark == TIME)
		return (double)report->window.duration_ns;
	if (spark == ENERGY && report->window.total.has_energy)
		return (double)report->window.total.energy_uj;
	if (spark == EMITTED && has_emissions(report))
		return (double)report->carbon.emitted_ug;
	if (spark == RATE && wtl_run_rate_ng_per_s(run, &rate_ng_per_s))
		return (double)rate_ng_per_s;
	return (double)NAN;
}

static void put_sparks(const struct wtl_report_text *text, const struct wtl_runs *runs,
		       enum spark spark)
{
	static const char *const names[] = {"time", "energy", "CO2e", "rate"};
	static const char *const bars[SPARKS + 1] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const plain[SPARKS + 1] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
	double greatest = (double)NAN;

	for (size_t i = 0; i < runs->n_runs; i++)
		greatest = fmax(greatest, spark_of(&runs->runs[i], spark));
	if (!isfinite(greatest))
		return; /* no run's value is known */
	wtl_buf_printf(text->buf, "  %-10s", names[spark]);
	for (size_t i = 0; i < runs->n_runs; i++) {
		double part = greatest > 0.0 ? spark_of(&runs->runs[i], spark) / greatest : 0.0;
		int level = isfinite(part) ? (int)ceil(part * SPARKS) : 0;

		wtl_buf_puts(text->buf, text->style->ascii ? plain[level] : bars[level]);
	}
	wtl_buf_putc(text->buf, '\n');
}

static void put_series(const struct wtl_report_text *text, const struct wtl_runs *runs)
{
	if (runs->n_runs < 2 || runs->n_runs > SPARKS_MAX)
		return;
	wtl_buf_puts(text->buf, "\nrun by run, from 0 to the greatest\n");
	for (enum spark spark = TIME; spark <= RATE; spark++)
		put_sparks(text, runs, spark);
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

static void put_title(const struct wtl_report_text *text, const struct wtl_runs *runs)
{
	size_t start = text->buf->len;

	wtl_report_text_put(text, "wattle: %z run%w", runs->n_runs, runs->n_runs == 1 ? "" : "s");
	if (!runs->has_files)
		wtl_report_text_put(text, " in %s", base_name(runs->runs[0].path));
	wtl_buf_puts(text->buf, ": ");
	if (is_same_command(runs))
		wtl_report_text_words(text, runs->runs[0].report.command, "the machine");
	else
		wtl_buf_puts(text->buf, "different commands");
	wtl_report_text_end_title(text, start);
}

/* Is the next run of the same file, and command? */
static bool goes_on(const struct wtl_runs *runs, size_t i)
{
	return i + 1 < runs->n_runs && runs->runs[i].path == runs->runs[i + 1].path &&
	       is_same_words(runs->runs[i].report.command, runs->runs[i + 1].report.command);
}

/* Which file and runs are in which rows; and each run's command where they are not all the same. */
static void put_sources(const struct wtl_report_text *text, const struct wtl_runs *runs)
{
	bool is_same = is_same_command(runs);

	for (size_t i = 0; (runs->has_files || !is_same) && i < runs->n_runs; i++) {
		size_t start, first = i;

		while (goes_on(runs, i))
			i++;
		wtl_buf_puts(text->buf, first == 0 ? "\n" : "");
		start = text->buf->len;
		if (i > first)
			wtl_report_text_put(text, "  runs %z to %z are", first + 1, i + 1);
		else
			wtl_report_text_put(text, "  run %z is", i + 1);
		if (runs->has_files) {
			wtl_buf_puts(text->buf, " in ");
			put_path(text, runs->runs[i].path,
				 is_same ? PATH_ALONE_COLUMNS : PATH_COLUMNS);
		}
		if (!is_same) {
			wtl_buf_puts(text->buf, runs->has_files ? ": " : " ");
			put_command(text, start, runs->runs[i].report.command);
		}
		wtl_buf_putc(text->buf, '\n');
	}
}

static void put_statistics(const struct wtl_report_text *text, const struct wtl_runs *runs)
{
	bool modelled = false;
	struct wtl_grid grid;

	for (size_t i = 0; i < runs->n_runs; i++)
		modelled |= wtl_report_text_is_modelled(&runs->runs[i].report);
	wtl_report_text_begin_statistics(&grid, text->style);
	for (size_t i = 0; i < WTL_RUN_FIGURES; i++)
		if (runs->of[i].n > 0)
			wtl_report_text_add_figure(&grid, runs->of, i, modelled);
	wtl_buf_putc(text->buf, '\n');
	wtl_grid_render(&grid, text->buf);
}

/* The sums: "sum of 12 runs: 1 min 3 s, 3.21 ± 0.20 kJ, 0.42 ± 0.09 g CO2e". */
static void put_sum(const struct wtl_report_text *text, const struct wtl_runs *runs)
{
	const struct wtl_runs_sum *sum = &runs->sum;
	size_t start;

	if (sum->n < 2)
		return;
	wtl_buf_putc(text->buf, '\n');
	start = text->buf->len;
	wtl_report_text_put(text, "sum of %z runs: ", sum->n);
	wtl_format_duration(text->buf, (int64_t)sum->duration_ns, text->style->ascii);
	if (sum->n_energy > 0) {
		wtl_buf_puts(text->buf, ", ");
		wtl_format_measure(text->buf, sum->energy_uj, sum->energy_uncertainty_uj,
				   WTL_FORMAT_J, text->style->ascii);
	}
	if (sum->n_energy > 0 && sum->n_energy < sum->n)
		wtl_report_text_put(text, " (of %z)", sum->n_energy);
	if (sum->n_emitted > 0) {
		wtl_buf_puts(text->buf, ", ");
		wtl_format_measure(text->buf, sum->emitted_ng / 1000, sum->emitted_uncertainty_ug,
				   WTL_FORMAT_G, text->style->ascii);
		wtl_buf_puts(text->buf, " CO2e");
	}
	if (sum->n_emitted > 0 && sum->n_emitted < sum->n)
		wtl_report_text_put(text, " (of %z)", sum->n_emitted);
	wtl_layout_wrap(text->buf, start, 0, 0);
}

/* The runs whose emissions are not known: how many, and why the first one's are not. */
static void put_not_emitted(const struct wtl_report_text *text, const struct wtl_runs *runs)
{
	const char *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < runs->n_runs; i++) {
		const char *reason = why_not_emitted(&runs->runs[i].report);

		first = first ? first : reason;
		n += reason != NULL;
	}
	if (n > 0)
		wtl_report_text_remark(text, WTL_TEXT_DOUBT, "no CO2e of %z of %z runs: %w", n,
				       runs->n_runs, first);
}

static void put_not_whole(const struct wtl_report_text *text, const struct wtl_runs *runs)
{
	size_t n = 0;

	for (size_t i = 0; i < runs->n_runs; i++)
		n += !runs->runs[i].is_unfinished && !runs->runs[i].report.interrupted;
	if (n < runs->n_runs)
		wtl_report_text_remark(
			text, WTL_TEXT_DOUBT,
			"mean and spread are those of %z of %z runs, which ended and were "
			"not interrupted",
			n, runs->n_runs);
}

static const struct wtl_report *run_report(const void *of, size_t i)
{
	const struct wtl_runs *runs = of;

	return &runs->runs[i].report;
}

static void put_runs_remarks(const struct wtl_report_text *text, const struct wtl_runs *runs)
{
	const struct wtl_report_text_several several = {
		.report = run_report, .of = runs, .n = runs->n_runs, .before = "run ", .after = ""};
	const struct wtl_recording *first = runs->n_recordings > 0 ? runs->recordings[0] : NULL;
	size_t start = wtl_report_text_begin_remarks(text);

	put_not_whole(text, runs);
	for (size_t i = 0; i < runs->n_recordings; i++)
		wtl_report_text_file_remarks(text,
					     runs->has_files ? runs->recordings[i]->path
							     : base_name(runs->recordings[i]->path),
					     runs->recordings[i]);
	wtl_report_text_energy_remarks(text, &several);
	put_not_emitted(text, runs);
	wtl_report_text_carbon_remarks(text, &several, first);
	if (first)
		wtl_report_text_policy_remark(text, first);
	wtl_report_text_end_remarks(text, start);
}

/* What recording took, summed over the recordings: the ± are added up, since their models err in the same way. */
static void put_self(const struct wtl_report_text *text, const struct wtl_runs *runs)
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
	wtl_buf_putc(text->buf, '\n');
	wtl_report_text_recording_self(text, &sum);
}

/* The carbon of the first run with emissions, if the ± of all intensities is the same; or NULL. */
static const struct wtl_report_carbon *shared_carbon(const struct wtl_runs *runs)
{
	const struct wtl_report_carbon *first = NULL;

	for (size_t i = 0; i < runs->n_runs; i++) {
		const struct wtl_report *report = &runs->runs[i].report;

		if (!has_emissions(report))
			continue;
		first = first ? first : &report->carbon;
		if (report->carbon.carbon.uncertainty_ppm != first->carbon.uncertainty_ppm)
			return NULL;
	}
	return first;
}

static int text_runs(struct wtl_buf *buf, const void *what, const struct wtl_output_style *style)
{
	const struct wtl_report_text text = {buf, style, NULL};
	const struct wtl_runs *runs = what;

	if (runs->n_runs == 0)
		return wtl_buf_puts(buf, "wattle: no run ended\n");
	put_title(&text, runs);
	put_table(&text, runs);
	put_sources(&text, runs);
	put_series(&text, runs);
	put_statistics(&text, runs);
	put_sum(&text, runs);
	put_runs_remarks(&text, runs);
	wtl_buf_putc(buf, '\n');
	wtl_report_text_legend(&text, shared_carbon(runs));
	put_self(&text, runs);
	return buf->error;
}

const struct wtl_thing wtl_thing_comparison = {wtl_comparison_check, wtl_doc_comparison,
					       text_comparison, true};
const struct wtl_thing wtl_thing_runs = {wtl_runs_check, wtl_doc_runs, text_runs, true};
