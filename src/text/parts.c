/* SPDX-License-Identifier: MIT */
/* What the pages of the text format share: words, lines of the head, remarks, and cells of tables. */
#include "text/report_text.h"

#include <inttypes.h>
#include <stdarg.h>

enum { COMMAND_MAX_BYTES = 1 << 23, NAMES_MAX = 6, LABEL_COLUMNS = 10, UNIT = 6, MILLISECOND = 3 };

/* ---- Words ---- */

bool wtl_report_text_any(const struct wtl_report_text_names *names)
{
	for (size_t i = 0; i < names->report->n_domains; i++)
		if (names->has(&names->report->domains[i], names->what))
			return true;
	return false;
}

static void put_names(const struct wtl_report_text *text, const struct wtl_report_text_names *names)
{
	size_t n = 0;

	for (size_t i = 0; i < names->report->n_domains; i++) {
		const struct wtl_report_domain *domain = &names->report->domains[i];

		if (!names->has(domain, names->what))
			continue;
		if (n < NAMES_MAX)
			wtl_report_text_put(text, "%w%s", n > 0 ? ", " : "", domain->domain.name);
		n++;
	}
	if (n > NAMES_MAX)
		wtl_report_text_put(text, " and %z more", n - NAMES_MAX);
}

static void put_value(const struct wtl_report_text *text, char type, va_list *args)
{
	const char *words;

	switch (type) {
	case 's':
		wtl_layout_text(text->buf, va_arg(*args, const char *), text->style);
		break;
	case 'w':
		words = va_arg(*args, const char *);
		wtl_buf_puts(text->buf, words ? words : "");
		break;
	case 'u':
		wtl_buf_printf(text->buf, "%" PRIu64, va_arg(*args, uint64_t));
		break;
	case 'z':
		wtl_buf_printf(text->buf, "%zu", va_arg(*args, size_t));
		break;
	case 't':
		wtl_format_duration(text->buf, va_arg(*args, int64_t), text->style->ascii);
		break;
	case 'N':
		put_names(text, va_arg(*args, const struct wtl_report_text_names *));
		break;
	default:
		wtl_buf_putc(text->buf, type);
		break;
	}
}

static void put(const struct wtl_report_text *text, const char *format, va_list args)
{
	va_list own;

	va_copy(own, args);
	for (const char *at = format; *at; at++) {
		if (*at == '%' && at[1])
			put_value(text, *++at, &own);
		else
			wtl_buf_putc(text->buf, *at);
	}
	va_end(own);
}

void wtl_report_text_put(const struct wtl_report_text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put(text, format, args);
	va_end(args);
}

void wtl_report_text_words(const struct wtl_report_text *text, char *const command[],
			   const char *otherwise)
{
	struct wtl_buf words;

	if (!command) {
		wtl_report_text_put(text, "%s", otherwise);
		return;
	}
	wtl_buf_init(&words, COMMAND_MAX_BYTES);
	wtl_format_command(&words, command);
	wtl_report_text_put(text, "%s", wtl_buf_str(&words));
	if (words.error && !text->buf->error)
		text->buf->error = words.error;
	wtl_buf_done(&words);
}

void wtl_report_text_end_title(const struct wtl_report_text *text, size_t start)
{
	wtl_layout_cut(text->buf, start, WTL_LAYOUT_WIDTH, text->style);
	wtl_buf_puts(text->buf, "\n\n");
}

void wtl_report_text_title(const struct wtl_report_text *text, char *const command[],
			   const char *otherwise)
{
	size_t start = text->buf->len;

	wtl_buf_puts(text->buf, "wattle: ");
	wtl_report_text_words(text, command, otherwise);
	wtl_report_text_end_title(text, start);
}

size_t wtl_report_text_begin_line(const struct wtl_report_text *text, const char *label)
{
	wtl_buf_printf(text->buf, "  %-*s", LABEL_COLUMNS - 2, label);
	return text->buf->len;
}

void wtl_report_text_end_line(const struct wtl_report_text *text, size_t start)
{
	wtl_layout_wrap(text->buf, start, LABEL_COLUMNS, LABEL_COLUMNS);
}

static void choose(const struct wtl_report_text *text, enum wtl_report_text_bullet bullet)
{
	static const unsigned ranks[] = {
		[WTL_TEXT_DOUBT] = 4,
		[WTL_TEXT_REMEDY] = 3,
		[WTL_TEXT_NOTE] = 2,
		[WTL_TEXT_MODEL] = 1,
	};
	struct wtl_report_text_choice *choice = text->choice;

	if (ranks[bullet] > choice->best_rank) {
		choice->best_rank = ranks[bullet];
		choice->best = choice->n;
	}
	choice->n++;
	choice->begin = text->buf->len;
}

size_t wtl_report_text_begin_remark(const struct wtl_report_text *text,
				    enum wtl_report_text_bullet bullet)
{
	static const char *const signs[] = {
		[WTL_TEXT_MODEL] = "~",
		[WTL_TEXT_DOUBT] = "!",
		[WTL_TEXT_REMEDY] = "→",
		[WTL_TEXT_NOTE] = "-",
	};
	enum wtl_tone tone = bullet == WTL_TEXT_DOUBT ? WTL_TONE_WARN : WTL_TONE_PLAIN;

	if (text->choice)
		choose(text, bullet);
	wtl_layout_tone(text->buf, tone, text->style);
	wtl_report_text_put(text, "%s", signs[bullet]);
	wtl_layout_tone_end(text->buf, tone, text->style);
	wtl_buf_putc(text->buf, ' ');
	return text->buf->len;
}

void wtl_report_text_end_remark(const struct wtl_report_text *text, size_t start)
{
	/* After "->" the text begins a column later. */
	size_t indent = start >= 2 && text->buf->data[start - 2] == '>' ? 3 : 2;

	if (text->choice && text->choice->n - 1 != text->choice->wanted) {
		wtl_layout_truncate(text->buf, text->choice->begin);
		return;
	}
	if (text->choice && text->choice->of > 1)
		wtl_report_text_put(text, " (%z more with --full)", text->choice->of - 1);
	wtl_layout_wrap(text->buf, start, indent, indent);
}

void wtl_report_text_remark(const struct wtl_report_text *text, enum wtl_report_text_bullet bullet,
			    const char *format, ...)
{
	size_t start = wtl_report_text_begin_remark(text, bullet);
	va_list args;

	va_start(args, format);
	put(text, format, args);
	va_end(args);
	wtl_report_text_end_remark(text, start);
}

size_t wtl_report_text_begin_remarks(const struct wtl_report_text *text)
{
	wtl_buf_putc(text->buf, '\n');
	return text->buf->len;
}

void wtl_report_text_end_remarks(const struct wtl_report_text *text, size_t start)
{
	if (!text->buf->error && text->buf->len == start)
		wtl_layout_truncate(text->buf, start - 1);
}

/* ---- What the pages of reports share ---- */

enum wtl_report_text_modelled wtl_report_text_modelled(const struct wtl_report *report)
{
	size_t figures = 0, modelled = 0;

	for (size_t i = 0; i < report->n_domains; i++) {
		const struct wattle_energy *energy = &report->domains[i].energy;

		if (!report->domains[i].domain.in_total || !energy->has_energy)
			continue;
		figures++;
		modelled += energy->method == WATTLE_METHOD_MODELLED;
	}
	if (modelled == 0)
		return WTL_TEXT_MEASURED;
	return modelled == figures ? WTL_TEXT_MODELLED : WTL_TEXT_PARTLY;
}

bool wtl_report_text_is_modelled(const struct wtl_report *report)
{
	return wtl_report_text_modelled(report) != WTL_TEXT_MEASURED;
}

bool wtl_report_text_lacks(const struct wtl_report_domain *domain, const void *unused)
{
	(void)unused;
	return domain->domain.in_total && !domain->energy.has_energy;
}

bool wtl_report_text_has_gap(const struct wtl_report_domain *domain, const void *unused)
{
	(void)unused;
	return domain->domain.in_total && domain->energy.has_energy && domain->energy.gap_ns > 0;
}

bool wtl_report_text_incomplete(const struct wtl_report *report)
{
	return report->window.total.gap_ns > 0 ||
	       wtl_report_text_any(
		       &(struct wtl_report_text_names){report, wtl_report_text_lacks, NULL}) ||
	       wtl_report_text_any(
		       &(struct wtl_report_text_names){report, wtl_report_text_has_gap, NULL});
}

void wtl_report_text_own(const struct wtl_report_text *text, const struct wtl_report_self *self)
{
	wtl_report_text_put(text, "%t of CPU", self->cpu_ns);
	if (self->max_rss_bytes) {
		wtl_buf_puts(text->buf, ", ");
		wtl_format_bytes(text->buf, self->max_rss_bytes);
	}
	if (self->has_energy) {
		wtl_buf_puts(text->buf, ", ~ ");
		wtl_format_measure(text->buf, self->energy_uj, self->uncertainty_uj, WTL_FORMAT_J,
				   text->style->ascii);
	}
}

/* ---- Cells ---- */

void wtl_report_text_add_unit(struct wtl_grid *grid, const char *before,
			      enum wtl_format_quantity quantity, unsigned scale)
{
	wtl_buf_printf(&grid->rows, "%s[%s]", before,
		       wtl_format_unit(quantity, scale, grid->style->ascii));
	wtl_grid_next(grid);
}

void wtl_report_text_add_nothing(struct wtl_grid *grid)
{
	wtl_grid_cell(grid, "-");
	wtl_grid_cell(grid, "");
}

void wtl_report_text_add_uncertainty(struct wtl_grid *grid, uint64_t micro, unsigned last_digit,
				     unsigned scale)
{
	if (micro > 0) {
		wtl_buf_puts(&grid->rows, grid->style->ascii ? "+/- " : "± ");
		wtl_format_rounded_up(&grid->rows, micro, last_digit, scale);
	}
	wtl_grid_next(grid);
}

void wtl_report_text_add_measure(struct wtl_grid *grid, uint64_t micro, uint64_t uncertainty_micro,
				 bool is_modelled, unsigned scale)
{
	unsigned last = wtl_format_last_digit(micro, uncertainty_micro);

	wtl_buf_puts(&grid->rows, is_modelled ? "~" : "");
	wtl_format_rounded(&grid->rows, micro, last, scale);
	wtl_grid_next(grid);
	wtl_report_text_add_uncertainty(grid, uncertainty_micro, last, scale);
}

void wtl_report_text_add_energy(struct wtl_grid *grid, const struct wattle_energy *energy,
				bool is_modelled, unsigned scale)
{
	if (energy->has_energy)
		wtl_report_text_add_measure(grid, energy->energy_uj, energy->uncertainty_uj,
					    is_modelled, scale);
	else
		wtl_report_text_add_nothing(grid);
}

void wtl_report_text_add_seconds(struct wtl_grid *grid, int64_t duration_ns)
{
	wtl_format_rounded(&grid->rows, duration_ns > 0 ? (uint64_t)duration_ns / 1000 : 0,
			   MILLISECOND, UNIT);
	wtl_grid_next(grid);
}

void wtl_report_text_add_mean(struct wtl_grid *grid, const struct wattle_energy *energy)
{
	if (energy->has_power)
		wtl_format_rounded(&grid->rows, energy->mean_uw,
				   wtl_format_power_digit(energy->mean_uw, 0), UNIT);
	wtl_grid_next(grid);
}
