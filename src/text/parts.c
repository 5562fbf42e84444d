/* SPDX-License-Identifier: MIT */
/* What the pages of the text format share: words, lines of the head, remarks, and cells of tables. */
#include "text/page.h"

#include <inttypes.h>
#include <stdarg.h>

enum { COMMAND_MAX_BYTES = 1 << 23, NAMES_MAX = 6, LABEL_COLUMNS = 10, UNIT = 6, MILLISECOND = 3 };

/* ---- Words ---- */

bool wtl_page_any(const struct wtl_page_names *names)
{
	for (size_t i = 0; i < names->report->n_domains; i++)
		if (names->has(&names->report->domains[i], names->what))
			return true;
	return false;
}

static void put_names(const struct wtl_page *page, const struct wtl_page_names *names)
{
	size_t n = 0;

	for (size_t i = 0; i < names->report->n_domains; i++) {
		const struct wtl_report_domain *domain = &names->report->domains[i];

		if (!names->has(domain, names->what))
			continue;
		if (n < NAMES_MAX)
			wtl_page_put(page, "%w%s", n > 0 ? ", " : "", domain->domain.name);
		n++;
	}
	if (n > NAMES_MAX)
		wtl_page_put(page, " and %z more", n - NAMES_MAX);
}

static void put_value(const struct wtl_page *page, char type, va_list *args)
{
	const char *words;

	switch (type) {
	case 's':
		wtl_layout_text(page->buf, va_arg(*args, const char *), page->style);
		break;
	case 'w':
		words = va_arg(*args, const char *);
		wtl_buf_puts(page->buf, words ? words : "");
		break;
	case 'u':
		wtl_buf_printf(page->buf, "%" PRIu64, va_arg(*args, uint64_t));
		break;
	case 'z':
		wtl_buf_printf(page->buf, "%zu", va_arg(*args, size_t));
		break;
	case 't':
		wtl_format_duration(page->buf, va_arg(*args, int64_t), page->style->ascii);
		break;
	case 'N':
		put_names(page, va_arg(*args, const struct wtl_page_names *));
		break;
	default:
		wtl_buf_putc(page->buf, type);
		break;
	}
}

static void put(const struct wtl_page *page, const char *format, va_list args)
{
	va_list own;

	va_copy(own, args);
	for (const char *at = format; *at; at++) {
		if (*at == '%' && at[1])
			put_value(page, *++at, &own);
		else
			wtl_buf_putc(page->buf, *at);
	}
	va_end(own);
}

void wtl_page_put(const struct wtl_page *page, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put(page, format, args);
	va_end(args);
}

void wtl_page_words(const struct wtl_page *page, char *const command[], const char *otherwise)
{
	struct wtl_buf words;

	if (!command) {
		wtl_page_put(page, "%s", otherwise);
		return;
	}
	wtl_buf_init(&words, COMMAND_MAX_BYTES);
	wtl_format_command(&words, command);
	wtl_page_put(page, "%s", wtl_buf_str(&words));
	if (words.error && !page->buf->error)
		page->buf->error = words.error;
	wtl_buf_done(&words);
}

void wtl_page_end_title(const struct wtl_page *page, size_t start)
{
	wtl_layout_cut(page->buf, start, WTL_LAYOUT_WIDTH, page->style);
	wtl_buf_puts(page->buf, "\n\n");
}

void wtl_page_title(const struct wtl_page *page, char *const command[], const char *otherwise)
{
	size_t start = page->buf->len;

	wtl_buf_puts(page->buf, "wattle: ");
	wtl_page_words(page, command, otherwise);
	wtl_page_end_title(page, start);
}

size_t wtl_page_begin_line(const struct wtl_page *page, const char *label)
{
	wtl_buf_printf(page->buf, "  %-*s", LABEL_COLUMNS - 2, label);
	return page->buf->len;
}

void wtl_page_end_line(const struct wtl_page *page, size_t start)
{
	wtl_layout_wrap(page->buf, start, LABEL_COLUMNS, LABEL_COLUMNS);
}

static void choose(const struct wtl_page *page, enum wtl_page_bullet bullet)
{
	static const unsigned ranks[] = {
		[WTL_PAGE_DOUBT] = 4,
		[WTL_PAGE_REMEDY] = 3,
		[WTL_PAGE_NOTE] = 2,
		[WTL_PAGE_MODEL] = 1,
	};
	struct wtl_page_choice *choice = page->choice;

	if (ranks[bullet] > choice->best_rank) {
		choice->best_rank = ranks[bullet];
		choice->best = choice->n;
	}
	choice->n++;
	choice->begin = page->buf->len;
}

size_t wtl_page_begin_remark(const struct wtl_page *page, enum wtl_page_bullet bullet)
{
	static const char *const signs[] = {
		[WTL_PAGE_MODEL] = "~",
		[WTL_PAGE_DOUBT] = "!",
		[WTL_PAGE_REMEDY] = "→",
		[WTL_PAGE_NOTE] = "-",
	};
	enum wtl_tone tone = bullet == WTL_PAGE_DOUBT ? WTL_TONE_WARN : WTL_TONE_PLAIN;

	if (page->choice)
		choose(page, bullet);
	wtl_layout_tone(page->buf, tone, page->style);
	wtl_page_put(page, "%s", signs[bullet]);
	wtl_layout_tone_end(page->buf, tone, page->style);
	wtl_buf_putc(page->buf, ' ');
	return page->buf->len;
}

void wtl_page_end_remark(const struct wtl_page *page, size_t start)
{
	/* Behind "->" it begins a column later. */
	size_t indent = start >= 2 && page->buf->data[start - 2] == '>' ? 3 : 2;

	if (page->choice && page->choice->n - 1 != page->choice->wanted) {
		wtl_layout_truncate(page->buf, page->choice->begin);
		return;
	}
	if (page->choice && page->choice->of > 1)
		wtl_page_put(page, " (%z more with --full)", page->choice->of - 1);
	wtl_layout_wrap(page->buf, start, indent, indent);
}

void wtl_page_remark(const struct wtl_page *page, enum wtl_page_bullet bullet, const char *format,
		     ...)
{
	size_t start = wtl_page_begin_remark(page, bullet);
	va_list args;

	va_start(args, format);
	put(page, format, args);
	va_end(args);
	wtl_page_end_remark(page, start);
}

size_t wtl_page_begin_remarks(const struct wtl_page *page)
{
	wtl_buf_putc(page->buf, '\n');
	return page->buf->len;
}

void wtl_page_end_remarks(const struct wtl_page *page, size_t start)
{
	if (!page->buf->error && page->buf->len == start)
		wtl_layout_truncate(page->buf, start - 1);
}

/* ---- What the pages of reports share ---- */

enum wtl_page_modelled wtl_page_modelled(const struct wtl_report *report)
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
		return WTL_PAGE_MEASURED;
	return modelled == figures ? WTL_PAGE_MODELLED : WTL_PAGE_PARTLY;
}

bool wtl_page_is_modelled(const struct wtl_report *report)
{
	return wtl_page_modelled(report) != WTL_PAGE_MEASURED;
}

bool wtl_page_lacks(const struct wtl_report_domain *domain, const void *unused)
{
	(void)unused;
	return domain->domain.in_total && !domain->energy.has_energy;
}

bool wtl_page_has_gap(const struct wtl_report_domain *domain, const void *unused)
{
	(void)unused;
	return domain->domain.in_total && domain->energy.has_energy && domain->energy.gap_ns > 0;
}

bool wtl_page_incomplete(const struct wtl_report *report)
{
	return report->window.total.gap_ns > 0 ||
	       wtl_page_any(&(struct wtl_page_names){report, wtl_page_lacks, NULL}) ||
	       wtl_page_any(&(struct wtl_page_names){report, wtl_page_has_gap, NULL});
}

void wtl_page_own(const struct wtl_page *page, const struct wtl_report_self *self)
{
	wtl_page_put(page, "%t of CPU", self->cpu_ns);
	if (self->max_rss_bytes) {
		wtl_buf_puts(page->buf, ", ");
		wtl_format_bytes(page->buf, self->max_rss_bytes);
	}
	if (self->has_energy) {
		wtl_buf_puts(page->buf, ", ~ ");
		wtl_format_measure(page->buf, self->energy_uj, self->uncertainty_uj, WTL_FORMAT_J,
				   page->style->ascii);
	}
}

/* ---- Cells ---- */

void wtl_page_add_unit(struct wtl_grid *grid, const char *before, enum wtl_format_quantity quantity,
		       unsigned scale)
{
	wtl_buf_printf(&grid->rows, "%s[%s]", before,
		       wtl_format_unit(quantity, scale, grid->style->ascii));
	wtl_grid_next(grid);
}

void wtl_page_add_nothing(struct wtl_grid *grid)
{
	wtl_grid_cell(grid, "-");
	wtl_grid_cell(grid, "");
}

void wtl_page_add_uncertainty(struct wtl_grid *grid, uint64_t micro, unsigned last_digit,
			      unsigned scale)
{
	if (micro > 0) {
		wtl_buf_puts(&grid->rows, grid->style->ascii ? "+/- " : "± ");
		wtl_format_rounded_up(&grid->rows, micro, last_digit, scale);
	}
	wtl_grid_next(grid);
}

void wtl_page_add_measure(struct wtl_grid *grid, uint64_t micro, uint64_t uncertainty_micro,
			  bool is_modelled, unsigned scale)
{
	unsigned last = wtl_format_last_digit(micro, uncertainty_micro);

	wtl_buf_puts(&grid->rows, is_modelled ? "~" : "");
	wtl_format_rounded(&grid->rows, micro, last, scale);
	wtl_grid_next(grid);
	wtl_page_add_uncertainty(grid, uncertainty_micro, last, scale);
}

void wtl_page_add_energy(struct wtl_grid *grid, const struct wattle_energy *energy,
			 bool is_modelled, unsigned scale)
{
	if (energy->has_energy)
		wtl_page_add_measure(grid, energy->energy_uj, energy->uncertainty_uj, is_modelled,
				     scale);
	else
		wtl_page_add_nothing(grid);
}

void wtl_page_add_seconds(struct wtl_grid *grid, int64_t duration_ns)
{
	wtl_format_rounded(&grid->rows, duration_ns > 0 ? (uint64_t)duration_ns / 1000 : 0,
			   MILLISECOND, UNIT);
	wtl_grid_next(grid);
}

void wtl_page_add_mean(struct wtl_grid *grid, const struct wattle_energy *energy)
{
	if (energy->has_power)
		wtl_format_rounded(&grid->rows, energy->mean_uw,
				   wtl_format_power_digit(energy->mean_uw, 0), UNIT);
	wtl_grid_next(grid);
}
