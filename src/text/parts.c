/* SPDX-License-Identifier: MIT */
/* What the pages of the text format share: lines of the head, and cells of tables. */
#include "text/page.h"

#include "base/buf.h"
#include "document/format.h"
#include "text/layout.h"

enum { LINE_MAX_BYTES = 1 << 23, UNIT = 6, MILLISECOND = 3 };

/* ---- Lines ---- */

enum wtl_page_modelled wtl_page_modelled(const struct wtl_report_domain *domains, size_t n)
{
	size_t figures = 0, modelled = 0;

	for (size_t i = 0; i < n; i++) {
		const struct wattle_energy *energy = &domains[i].energy;

		if (!domains[i].domain.in_total || !energy->has_energy)
			continue;
		figures++;
		if (energy->method == WATTLE_METHOD_MODELLED)
			modelled++;
	}
	if (modelled == 0)
		return WTL_PAGE_MEASURED;
	return modelled == figures ? WTL_PAGE_MODELLED : WTL_PAGE_PARTLY;
}

bool wtl_page_is_modelled(const struct wtl_report *report)
{
	return wtl_page_modelled(report->domains, report->n_domains) != WTL_PAGE_MEASURED;
}

bool wtl_page_lacks(const struct wtl_report_domain *domain)
{
	return domain->domain.in_total && !domain->energy.has_energy;
}

void wtl_page_label(struct wtl_buf *buf, const char *label)
{
	wtl_buf_printf(buf, "  %-*s", WTL_PAGE_LABEL_COLUMNS - 2, label);
}

int wtl_page_line(struct wtl_buf *buf, const char *label, struct wtl_buf *line)
{
	wtl_page_label(buf, label);
	wtl_layout_wrap(buf, wtl_buf_str(line), WTL_PAGE_LABEL_COLUMNS, WTL_PAGE_LABEL_COLUMNS);
	return wtl_layout_close(line, buf);
}

int wtl_page_words(struct wtl_buf *buf, char *const command[], const char *otherwise,
		   const struct wtl_output_style *style)
{
	struct wtl_buf words;

	if (!command)
		return wtl_layout_text(buf, otherwise, style);
	wtl_buf_init(&words, LINE_MAX_BYTES);
	wtl_format_command(&words, command);
	wtl_layout_text(buf, wtl_buf_str(&words), style);
	return wtl_layout_close(&words, buf);
}

int wtl_page_end_title(struct wtl_buf *buf, size_t start, const struct wtl_output_style *style)
{
	wtl_layout_cut(buf, start, WTL_LAYOUT_WIDTH, style);
	return wtl_buf_puts(buf, "\n\n");
}

void wtl_page_own(struct wtl_buf *buf, const struct wtl_report_self *self,
		  const struct wtl_output_style *style)
{
	wtl_format_duration(buf, self->cpu_ns, style->ascii);
	wtl_buf_puts(buf, " of CPU");
	if (self->max_rss_bytes) {
		wtl_buf_puts(buf, ", ");
		wtl_format_bytes(buf, self->max_rss_bytes);
	}
	if (self->has_energy) {
		wtl_buf_puts(buf, ", ~ ");
		wtl_format_measure(buf, self->energy_uj, self->uncertainty_uj, WTL_FORMAT_J,
				   style->ascii);
	}
}

int wtl_page_emitted(struct wtl_buf *buf, const struct wtl_report *report,
		     const struct wtl_output_style *style)
{
	const struct wtl_report_carbon *carbon = &report->carbon;

	if (wtl_page_is_modelled(report))
		wtl_buf_puts(buf, "~ ");
	wtl_format_measure(buf, carbon->emitted_ug, carbon->uncertainty_ug, WTL_FORMAT_G,
			   style->ascii);
	return wtl_buf_puts(buf, " CO2e at ");
}

/* ---- Cells ---- */

void wtl_page_add_unit(struct wtl_grid *grid, const char *before, enum wtl_format_quantity quantity,
		       unsigned scale, const struct wtl_output_style *style)
{
	wtl_buf_printf(&grid->rows, "%s[%s]", before,
		       wtl_format_unit(quantity, scale, style->ascii));
	wtl_grid_next(grid);
}

void wtl_page_add_nothing(struct wtl_grid *grid)
{
	wtl_grid_cell(grid, "-");
	wtl_grid_cell(grid, "");
}

void wtl_page_add_uncertainty(struct wtl_grid *grid, uint64_t micro, unsigned last_digit,
			      unsigned scale, const struct wtl_output_style *style)
{
	if (micro > 0) {
		wtl_buf_puts(&grid->rows, style->ascii ? "+/- " : "± ");
		wtl_format_rounded_up(&grid->rows, micro, last_digit, scale);
	}
	wtl_grid_next(grid);
}

void wtl_page_add_measure(struct wtl_grid *grid, uint64_t micro, uint64_t uncertainty_micro,
			  bool is_modelled, unsigned scale, const struct wtl_output_style *style)
{
	unsigned last = wtl_format_last_digit(micro, uncertainty_micro);

	if (is_modelled)
		wtl_buf_putc(&grid->rows, '~');
	wtl_format_rounded(&grid->rows, micro, last, scale);
	wtl_grid_next(grid);
	wtl_page_add_uncertainty(grid, uncertainty_micro, last, scale, style);
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
