/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "document/compare.h"
#include "document/words.h"
#include "text/report_text.h"

enum { NAME_COLUMNS = 160, NAME_BESIDE = 12, UNIT = 6 };

/* An interval is written with ± where both of its sides are alike, within a quarter. */
#define UNEVEN 1.25

/* ---- What a command is called ---- */

/* Markdown takes text literally between backquotes if there are more of them than anywhere within it. */
static void put_fence(struct wtl_buf *buf, const char *text)
{
	size_t most = 0;

	for (const char *at = strchr(text, '`'); at; at = strchr(at + strspn(at, "`"), '`'))
		most = strspn(at, "`") > most ? strspn(at, "`") : most;
	for (size_t i = 0; i <= most; i++)
		wtl_buf_putc(buf, '`');
}

static void put_name(struct wtl_buf *buf, const struct wtl_compared_command *command,
		     const struct wtl_output_style *style)
{
	const char *name = wtl_compared_name(command);
	const char *apart = strchr(name, '`') ? " " : "";

	if (style->markdown) {
		put_fence(buf, name);
		wtl_buf_puts(buf, apart);
		wtl_layout_text(buf, name, style);
		wtl_buf_puts(buf, apart);
		put_fence(buf, name);
	} else {
		wtl_layout_text(buf, name, style);
	}
}

static void put_quoted(const struct wtl_report_text *text,
		       const struct wtl_compared_command *command)
{
	const char *quote = text->style->markdown ? "" : "'";
	size_t start;

	wtl_buf_puts(text->buf, quote);
	start = text->buf->len;
	put_name(text->buf, command, text->style);
	if (!text->style->markdown)
		wtl_layout_cut_middle(text->buf, start, NAME_COLUMNS, text->style);
	wtl_buf_puts(text->buf, quote);
}

/* A paragraph. Not wrapped in Markdown, where a line that began with a sign such as - would become a list. */
static void end_paragraph(const struct wtl_report_text *text, size_t start, size_t indent)
{
	if (text->style->markdown)
		wtl_buf_putc(text->buf, '\n');
	else
		wtl_layout_wrap(text->buf, start, indent, indent);
}

/* ---- Ratios ---- */

/* Is the ratio worth printing? Not where its interval spans a factor of a hundred. */
static bool is_known(const struct wtl_ratio *ratio)
{
	return ratio->n == 1 || wtl_ratio_is_significant(ratio) ||
	       (ratio->n > 1 && ratio->high < 100.0 * ratio->low);
}

static bool is_even(const struct wtl_ratio *ratio)
{
	return ratio->high - ratio->value <= UNEVEN * (ratio->value - ratio->low);
}

/* Two digits of the ±, or of the lower side. */
static unsigned last_digit(const struct wtl_ratio *ratio)
{
	double side = is_even(ratio) ? ratio->high - ratio->value : ratio->value - ratio->low;

	return wtl_format_last_digit(wtl_format_micro(ratio->value), wtl_format_micro(side));
}

static void put_rounded(struct wtl_buf *buf, const struct wtl_ratio *ratio, double value)
{
	wtl_format_rounded(buf, wtl_format_micro(value), last_digit(ratio), UNIT);
}

static void put_interval(struct wtl_buf *buf, const struct wtl_ratio *ratio, bool ascii)
{
	if (is_even(ratio)) {
		wtl_buf_puts(buf, ascii ? "+/- " : "± ");
		wtl_format_rounded_up(buf, wtl_format_micro(ratio->high - ratio->value),
				      last_digit(ratio), UNIT);
		return;
	}
	wtl_buf_putc(buf, '(');
	put_rounded(buf, ratio, ratio->low);
	wtl_buf_puts(buf, " to ");
	put_rounded(buf, ratio, ratio->high);
	wtl_buf_putc(buf, ')');
}

static void put_ratio(const struct wtl_report_text *text, const struct wtl_ratio *ratio)
{
	size_t start = text->buf->len;

	put_rounded(text->buf, ratio, ratio->value);
	wtl_buf_putc(text->buf, ' ');
	put_interval(text->buf, ratio, text->style->ascii);
	if (!text->style->markdown)
		wtl_layout_keep(text->buf, start);
}

static void put_sentence(const struct wtl_report_text *text, const struct wtl_compare *compare,
			 const struct wtl_compared_command *other)
{
	const struct wtl_compared_command *best = &compare->commands[compare->order[0]];
	const struct wtl_ratio *ratio = &other->ratio;
	bool is_seen = ratio->n == 1 || wtl_ratio_is_significant(ratio);
	struct wtl_buf *buf = text->buf;
	size_t start = buf->len;

	wtl_buf_puts(buf, text->style->markdown ? "- " : "");
	wtl_buf_puts(buf, is_seen ? "" : "No difference was seen between ");
	put_quoted(text, best);
	wtl_buf_puts(buf, !is_seen ? " and " : ratio->n == 1 ? " used " : " uses ");
	if (is_seen) {
		put_ratio(text, ratio);
		wtl_report_text_put(text, " times less %wenergy than ",
				    compare->figure == WTL_RUN_ENERGY_J ? "machine " : "dynamic ");
	}
	put_quoted(text, other);
	if (ratio->n == 1)
		wtl_buf_puts(buf, "; one run of each has no spread: it may be chance");
	else if (!is_known(ratio))
		wtl_buf_puts(buf, ": how they compare is not known well enough");
	if (!is_seen && is_known(ratio)) {
		wtl_buf_puts(buf, ": ");
		put_ratio(text, ratio);
		wtl_buf_puts(buf, " times");
	}
	end_paragraph(text, start, text->style->markdown ? 0 : 2);
}

/* ---- The table ---- */

static void add_statistics(struct wtl_grid *grid, const struct wtl_statistics *of, unsigned scale,
			   bool modelled)
{
	uint64_t mean = wtl_format_micro(of->mean), spread = wtl_format_micro(of->ci95);
	unsigned last = wtl_format_last_digit(mean, spread);

	if (of->n == 0 || !isfinite(of->mean) || !isfinite(of->ci95)) {
		wtl_report_text_add_nothing(grid);
		return;
	}
	wtl_buf_puts(&grid->rows, modelled ? "~" : "");
	wtl_format_rounded(&grid->rows, mean, last, scale);
	wtl_grid_next(grid);
	wtl_report_text_add_uncertainty(grid, spread, last, scale);
}

static unsigned scale_of(double largest)
{
	return wtl_format_scale(wtl_format_micro(largest));
}

/* The name is the row's first cell. If that of any row is too long, each is a line above its row. */
static void begin_row(struct wtl_grid *grid, const struct wtl_compared_command *command,
		      enum wtl_tone tone, bool is_long)
{
	wtl_grid_begin(grid, tone);
	if (is_long) {
		size_t start = grid->rows.len + 1;

		wtl_grid_run_on(grid);
		put_name(&grid->rows, command, grid->style);
		wtl_layout_cut_middle(&grid->rows, start, WTL_LAYOUT_WIDTH, grid->style);
		wtl_grid_next(grid);
		wtl_grid_begin(grid, tone);
	} else {
		put_name(&grid->rows, command, grid->style);
	}
	wtl_grid_next(grid);
}

static void put_table(const struct wtl_report_text *text, const struct wtl_compare *compare)
{
	bool modelled = wtl_report_text_is_modelled(&compare->commands[0].series.reports[0]);
	double most_j = 0.0, most_w = 0.0;
	bool is_long = false;
	struct wtl_grid grid;

	for (size_t i = 0; i < compare->n; i++) {
		const struct wtl_compared_command *command = &compare->commands[i];

		is_long |=
			!text->style->markdown && strlen(wtl_compared_name(command)) > NAME_BESIDE;
		most_j = fmax(most_j, command->series.of[compare->figure].mean);
		most_w = fmax(most_w, command->power_w.mean);
	}
	wtl_grid_init(&grid, "lrurururu", text->style);
	wtl_grid_row(&grid, WTL_TONE_PLAIN,
		     (const char *const[]){"command", compare->why ? "machine" : "dynamic", NULL});
	wtl_report_text_add_unit(&grid, "", WTL_FORMAT_J, scale_of(most_j));
	wtl_grid_cell(&grid, "time");
	wtl_grid_cell(&grid, "[s]");
	wtl_grid_cell(&grid, "power");
	wtl_report_text_add_unit(&grid, "", WTL_FORMAT_W, scale_of(most_w));
	wtl_grid_cell(&grid, compare->reason ? "" : "ratio");
	for (size_t i = 0; i < compare->n; i++) {
		const struct wtl_compared_command *command = &compare->commands[compare->order[i]];

		begin_row(&grid, command, i == 0 ? WTL_TONE_STRONG : WTL_TONE_PLAIN, is_long);
		add_statistics(&grid, &command->series.of[compare->figure], scale_of(most_j),
			       modelled);
		add_statistics(&grid, &command->series.of[WTL_RUN_DURATION_S], UNIT, false);
		add_statistics(&grid, &command->power_w, scale_of(most_w), modelled);
		if (compare->reason)
			continue;
		if (i == 0 || !is_known(&command->ratio)) {
			wtl_grid_cell(&grid, i == 0 ? "1" : "-");
			continue;
		}
		put_rounded(&grid.rows, &command->ratio, command->ratio.value);
		wtl_grid_next(&grid);
		put_interval(&grid.rows, &command->ratio, text->style->ascii);
		wtl_grid_next(&grid);
	}
	wtl_grid_render(&grid, text->buf);
}

/* ---- The page ---- */

static size_t whole(const struct wtl_compare *compare, size_t command)
{
	return compare->commands[command].series.of[WTL_RUN_DURATION_S].n;
}

/* The commands that come first in a round may have run once more. */
static void put_title(const struct wtl_report_text *text, const struct wtl_compare *compare)
{
	size_t most = whole(compare, 0), least = whole(compare, compare->n - 1);

	wtl_report_text_put(text, "%w%z commands in turn, ",
			    text->style->markdown ? "" : "wattle: ", compare->n);
	if (least < most)
		wtl_report_text_put(text, "%z or ", least);
	wtl_report_text_put(text, "%z run%w each", most, most == 1 ? "" : "s");
	if (compare->warmup > 0)
		wtl_report_text_put(text, " after %z warm-up%w", (size_t)compare->warmup,
				    compare->warmup == 1 ? "" : "s");
	wtl_buf_puts(text->buf, "\n\n");
}

static void put_legend(const struct wtl_report_text *text, const struct wtl_compare *compare)
{
	const char *sign = wtl_layout_plus_minus(text->style);
	size_t start = text->buf->len;

	if (compare->why)
		wtl_report_text_put(
			text,
			"Energy is the whole machine's while a command ran, its rest included: %w. ",
			compare->why);
	else
		wtl_buf_puts(text->buf,
			     "Energy is the command's own, above what the machine draws at rest. ");
	if (whole(compare, 0) < 2)
		wtl_report_text_put(
			text, "%w is what sensors and idle power may be wrong by (k = 2).", sign);
	else
		wtl_report_text_put(
			text,
			"%w of a mean: 95 %% interval over the runs. %w of a ratio: the same "
			"over pairs of neighbouring runs, and what sensors and idle power may "
			"be wrong by.",
			sign, sign);
	end_paragraph(text, start, 0);
}

/* About a command, whose name comes first; NULL: about none. The format takes at most two numbers, %z. */
static void remark(const struct wtl_report_text *text, enum wtl_report_text_bullet bullet,
		   const struct wtl_compared_command *command, const char *format, size_t a,
		   size_t b)
{
	size_t start = text->buf->len;

	if (text->style->markdown)
		wtl_buf_puts(text->buf, "- ");
	else
		start = wtl_report_text_begin_remark(text, bullet);
	if (command)
		put_quoted(text, command);
	wtl_report_text_put(text, format, a, b);
	end_paragraph(text, start, 2);
}

static void put_remarks(const struct wtl_report_text *text, const struct wtl_compare *compare)
{
	enum wtl_report_text_modelled modelled =
		wtl_report_text_modelled(&compare->commands[0].series.reports[0]);
	size_t n_short = 0;

	for (size_t i = 0; i < compare->n; i++) {
		const struct wtl_compared_command *command = &compare->commands[i];

		for (size_t run = 0; run < command->series.n_reports; run++)
			n_short += command->series.reports[run].window.total.has_energy &&
				   wtl_report_text_incomplete(&command->series.reports[run]);
		if (command->n_failed > 0)
			remark(text, WTL_TEXT_DOUBT, command, " failed in %z of %z runs",
			       command->n_failed, whole(compare, i));
		if (whole(compare, i) < command->series.n_reports)
			remark(text, WTL_TEXT_NOTE, command,
			       ": a run was interrupted, and does not count", 0, 0);
	}
	if (n_short > 0)
		remark(text, WTL_TEXT_DOUBT, NULL,
		       "runs whose energy lacks a part of the machine, or a stretch of time: %z",
		       n_short, 0);
	if (modelled != WTL_TEXT_MEASURED)
		remark(text, WTL_TEXT_MODEL, NULL,
		       modelled == WTL_TEXT_PARTLY
			       ? "a part of the energy is modelled, not measured"
			       : "modelled, not measured: that the CPU time of one program costs more than "
				 "that of another is not seen",
		       0, 0);
	if (compare->until > 0.0 && !compare->converged)
		remark(text, WTL_TEXT_DOUBT, NULL,
		       "the precision that --until asks for was not reached", 0, 0);
}

static int text_compare(struct wtl_buf *buf, const void *what, const struct wtl_output_style *style)
{
	const struct wtl_report_text text = {.buf = buf, .style = style};
	const struct wtl_compare *compare = what;
	size_t start;

	if (!style->quiet) {
		put_title(&text, compare);
		put_table(&text, compare);
		wtl_buf_putc(buf, '\n');
	}
	if (compare->reason)
		wtl_report_text_remark(&text, WTL_TEXT_DOUBT, "nothing is compared: %w",
				       compare->reason);
	for (size_t i = 1; i < compare->n && !compare->reason; i++)
		put_sentence(&text, compare, &compare->commands[compare->order[i]]);
	if (style->quiet)
		return buf->error;
	if (!compare->reason) {
		wtl_buf_putc(buf, '\n');
		put_legend(&text, compare);
	}
	start = wtl_report_text_begin_remarks(&text);
	put_remarks(&text, compare);
	wtl_report_text_end_remarks(&text, start);
	return buf->error;
}

const struct wtl_thing wtl_thing_compare = {wtl_compare_check, wtl_doc_compare, text_compare, true};
