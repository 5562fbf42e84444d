/* SPDX-License-Identifier: MIT */
#include "text/page.h"

#include "base/buf.h"
#include "document/format.h"
#include "text/layout.h"
#include "document/words.h"

enum { LINE_MAX_BYTES = 1 << 20 };

struct page {
	const struct wtl_doctor *doctor;
	const struct wtl_output_style *style;
	struct wtl_grid grid;
	enum wtl_tone tone;
};

static const char *plural(unsigned n)
{
	return n == 1 ? "" : "s";
}

static void put_machine(struct wtl_buf *buf, const struct wtl_doctor *doctor,
			const struct wtl_output_style *style)
{
	struct wtl_buf line;

	wtl_buf_init(&line, LINE_MAX_BYTES);
	wtl_layout_text(&line, doctor->cpu_model ? doctor->cpu_model : "processor not known",
			style);
	if (doctor->n_packages)
		wtl_buf_printf(&line, ", %u package%s", doctor->n_packages,
			       plural(doctor->n_packages));
	if (doctor->n_cpus)
		wtl_buf_printf(&line, ", %u logical CPU%s", doctor->n_cpus, plural(doctor->n_cpus));
	if (doctor->memory_bytes) {
		wtl_buf_puts(&line, ", ");
		wtl_format_bytes(&line, doctor->memory_bytes);
	}
	if (doctor->product) {
		wtl_buf_puts(&line, "; ");
		wtl_layout_text(&line, doctor->product, style);
	}
	if (doctor->kernel) {
		wtl_buf_puts(&line, "; Linux ");
		wtl_layout_text(&line, doctor->kernel, style);
	}
	if (doctor->is_vm)
		wtl_buf_puts(&line, "; a virtual machine");
	if (doctor->is_container)
		wtl_buf_puts(&line, doctor->is_vm ? ", in a container" : "; in a container");
	wtl_page_line(buf, "machine", &line);
	wtl_page_label(buf, "looked");
	wtl_format_utc(buf, doctor->t_utc_ns);
	wtl_buf_putc(buf, '\n');
}

static void add_power(struct page *page, const struct wattle_energy *energy)
{
	struct wtl_buf *cell = &page->grid.rows;
	uint64_t unc_uw =
		wtl_format_share(energy->mean_uw, energy->uncertainty_uj, energy->energy_uj);
	unsigned last = wtl_format_power_digit(energy->mean_uw, unc_uw);

	if (!energy->has_power) {
		wtl_grid_cell(&page->grid, "ok");
		wtl_grid_cell(&page->grid, "");
		return;
	}
	if (energy->method == WATTLE_METHOD_MODELLED)
		wtl_buf_putc(cell, '~');
	wtl_format_rounded(cell, energy->mean_uw, last, 6);
	wtl_grid_next(&page->grid);
	wtl_page_add_uncertainty(&page->grid, unc_uw, last, 6, page->style);
}

/* A line below a row: what would help, or why the figure is a model's. */
static void add_below(struct page *page, const char *before, const char *text)
{
	if (!text || !text[0])
		return;
	wtl_grid_begin(&page->grid, WTL_TONE_PLAIN);
	wtl_grid_cell(&page->grid, "");
	wtl_grid_run_on(&page->grid);
	wtl_layout_text(&page->grid.rows, before, page->style);
	wtl_layout_text(&page->grid.rows, text, page->style);
	wtl_grid_next(&page->grid);
}

static void add_row(void *context, size_t i)
{
	struct page *page = context;
	const struct wtl_report_domain *domain = &page->doctor->domains[i];
	const struct wattle_domain *about = &domain->domain;
	const char *method = wattle_method_name(wtl_words_method(domain));
	bool has = domain->energy.has_energy;

	wtl_grid_begin(&page->grid, has ? page->tone : WTL_TONE_WARN);
	wtl_page_name(&page->grid, page->doctor->domains, page->doctor->n_domains, i, "",
		      page->style);
	if (has) {
		add_power(page, &domain->energy);
		wtl_layout_text(&page->grid.rows, about->source, page->style);
		wtl_grid_next(&page->grid);
		wtl_grid_cell(&page->grid, method ? method : "?");
		if (about->update_ns > 0)
			wtl_format_period(&page->grid.rows, about->update_ns, page->style->ascii);
		wtl_grid_next(&page->grid);
		wtl_layout_text(&page->grid.rows, about->check, page->style);
		wtl_grid_next(&page->grid);
		add_below(page, "", page->style->verbose ? about->device : NULL);
		add_below(page, "", wtl_words_reason(domain));
	} else {
		wtl_page_no_figure(&page->grid, domain, page->style);
	}
	add_below(page, "→ ", about->remedy);
}

static void put_domains(struct wtl_buf *buf, const struct wtl_doctor *doctor,
			const struct wtl_output_style *style)
{
	struct page page = {.doctor = doctor, .style = style};
	struct wtl_grid *grid = &page.grid;

	if (doctor->n_domains == 0) {
		wtl_buf_puts(buf, "This machine has no domain that wattle knows.\n");
		return;
	}
	wtl_grid_init(grid, "lrullll");
	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	wtl_grid_cell(grid, "domain");
	wtl_grid_cell(grid, "now");
	wtl_grid_cell(grid, "[W]");
	wtl_grid_cell(grid, "source");
	wtl_grid_cell(grid, "method");
	wtl_grid_cell(grid, "updates");
	wtl_grid_cell(grid, "compared with");
	wtl_page_walk(doctor->domains, doctor->n_domains, false, add_row, &page);
	if (wtl_page_beside(doctor->domains, doctor->n_domains) != WTL_PAGE_NONE) {
		page.tone = WTL_TONE_FAINT;
		wtl_grid_begin(grid, WTL_TONE_FAINT);
		wtl_grid_run_on(grid);
		wtl_grid_cell(grid, "not in the total:");
	}
	wtl_page_walk(doctor->domains, doctor->n_domains, true, add_row, &page);
	wtl_grid_render(grid, buf, style);
	wtl_grid_done(grid);
}

/* "  NAME  WORD: REASON", and what would help below it. */
static void add_answer(struct page *page, const char *name, const char *word, const char *reason,
		       const char *remedy)
{
	struct wtl_grid *grid = &page->grid;

	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	wtl_buf_puts(&grid->rows, "  ");
	wtl_layout_text(&grid->rows, name, page->style);
	wtl_grid_next(grid);
	wtl_grid_run_on(grid);
	wtl_buf_puts(&grid->rows, word ? word : "?");
	wtl_buf_puts(&grid->rows, reason ? ": " : "");
	wtl_layout_text(&grid->rows, reason, page->style);
	wtl_grid_next(grid);
	add_below(page, "→ ", remedy);
}

static void put_ways(struct wtl_buf *buf, const struct wtl_doctor *doctor,
		     const struct wtl_output_style *style)
{
	struct page page = {.doctor = doctor, .style = style};

	if (doctor->n_ways == 0)
		return;
	wtl_buf_puts(buf, "\nHow processes are followed:\n");
	wtl_grid_init(&page.grid, "ll");
	for (size_t i = 0; i < doctor->n_ways; i++) {
		const struct wtl_doctor_way *way = &doctor->ways[i];

		add_answer(&page, way->way, way->is_used ? "yes" : "no", way->reason, way->remedy);
	}
	wtl_grid_render(&page.grid, buf, style);
	wtl_grid_done(&page.grid);
}

static void put_sources(struct wtl_buf *buf, const struct wtl_doctor *doctor,
			const struct wtl_output_style *style)
{
	struct page page = {.doctor = doctor, .style = style};

	if (doctor->n_sources == 0)
		return;
	wtl_buf_puts(buf, "\nSources that offer nothing here:\n");
	wtl_grid_init(&page.grid, "ll");
	for (size_t i = 0; i < doctor->n_sources; i++) {
		const struct wtl_doctor_source *source = &doctor->sources[i];

		add_answer(&page, source->source, wattle_status_name(source->status),
			   source->reason, source->remedy);
	}
	wtl_grid_render(&page.grid, buf, style);
	wtl_grid_done(&page.grid);
}

int wtl_page_doctor(struct wtl_buf *buf, const void *what, const struct wtl_output_style *style)
{
	const struct wtl_doctor *doctor = what;
	struct wtl_buf summary;

	wtl_buf_init(&summary, LINE_MAX_BYTES);
	wtl_layout_text(&summary, doctor->summary, style);
	wtl_buf_puts(buf, "wattle doctor\n\n");
	put_machine(buf, doctor, style);
	wtl_page_idle(buf, doctor->domains, doctor->n_domains, doctor->t_utc_ns, style);
	wtl_buf_putc(buf, '\n');
	put_domains(buf, doctor, style);
	put_ways(buf, doctor, style);
	put_sources(buf, doctor, style);
	if (summary.len > 0) {
		wtl_buf_putc(buf, '\n');
		wtl_layout_wrap(buf, wtl_buf_str(&summary), 0, 0);
	}
	wtl_layout_close(&summary, buf);
	return buf->error;
}
