/* SPDX-License-Identifier: MIT */
#include "text/report_text.h"

#include "base/buf.h"
#include "document/format.h"
#include "text/layout.h"
#include "document/words.h"

struct table {
	const struct wtl_doctor *doctor;
	struct wtl_grid grid;
	enum wtl_tone tone;
};

static const char *plural(unsigned n)
{
	return n == 1 ? "" : "s";
}

static void put_machine(const struct wtl_report_text *text, const struct wtl_doctor *doctor)
{
	size_t start = wtl_report_text_begin_line(text, "machine");

	wtl_report_text_put(text, "%s",
			    doctor->cpu_model ? doctor->cpu_model : "processor not known");
	if (doctor->n_packages)
		wtl_report_text_put(text, ", %u package%w", (uint64_t)doctor->n_packages,
				    plural(doctor->n_packages));
	if (doctor->n_cpus)
		wtl_report_text_put(text, ", %u logical CPU%w", (uint64_t)doctor->n_cpus,
				    plural(doctor->n_cpus));
	if (doctor->memory_bytes) {
		wtl_buf_puts(text->buf, ", ");
		wtl_format_bytes(text->buf, doctor->memory_bytes);
	}
	if (doctor->product)
		wtl_report_text_put(text, "; %s", doctor->product);
	if (doctor->kernel)
		wtl_report_text_put(text, "; Linux %s", doctor->kernel);
	if (doctor->is_vm)
		wtl_buf_puts(text->buf, "; a virtual machine");
	if (doctor->is_container)
		wtl_buf_puts(text->buf, doctor->is_vm ? ", in a container" : "; in a container");
	wtl_report_text_end_line(text, start);
	wtl_report_text_begin_line(text, "looked");
	wtl_format_utc(text->buf, doctor->t_utc_ns);
	wtl_buf_putc(text->buf, '\n');
}

static void add_power(struct table *table, const struct wattle_energy *energy)
{
	struct wtl_buf *cell = &table->grid.rows;
	uint64_t unc_uw =
		wtl_format_share(energy->mean_uw, energy->uncertainty_uj, energy->energy_uj);
	unsigned last = wtl_format_power_digit(energy->mean_uw, unc_uw);

	if (!energy->has_power) {
		wtl_grid_cell(&table->grid, "ok");
		wtl_grid_cell(&table->grid, "");
		return;
	}
	if (energy->method == WATTLE_METHOD_MODELLED)
		wtl_buf_putc(cell, '~');
	wtl_format_rounded(cell, energy->mean_uw, last, 6);
	wtl_grid_next(&table->grid);
	wtl_report_text_add_uncertainty(&table->grid, unc_uw, last, 6);
}

/* A line below a row: what would help, or why the figure is a model's. */
static void add_below(struct table *table, const char *before, const char *text)
{
	if (!text || !text[0])
		return;
	wtl_grid_begin(&table->grid, WTL_TONE_PLAIN);
	wtl_grid_cell(&table->grid, "");
	wtl_grid_run_on(&table->grid);
	wtl_layout_text(&table->grid.rows, before, table->grid.style);
	wtl_layout_text(&table->grid.rows, text, table->grid.style);
	wtl_layout_keep_commands(&table->grid.rows, table->grid.start);
	wtl_grid_next(&table->grid);
}

static void add_row(void *context, size_t i)
{
	struct table *table = context;
	const struct wtl_report_domain *domain = &table->doctor->domains[i];
	const struct wattle_domain *about = &domain->domain;
	const char *method = wattle_method_name(wtl_words_method(domain));
	bool has = domain->energy.has_energy;

	wtl_grid_begin(&table->grid, has ? table->tone : WTL_TONE_WARN);
	wtl_report_text_name(&table->grid, table->doctor->domains, table->doctor->n_domains, i, "");
	if (has) {
		add_power(table, &domain->energy);
		wtl_grid_text(&table->grid, about->source);
		wtl_grid_cell(&table->grid, method ? method : "?");
		if (about->update_ns > 0)
			wtl_format_period(&table->grid.rows, about->update_ns,
					  table->grid.style->ascii);
		wtl_grid_next(&table->grid);
		wtl_grid_text(&table->grid, about->check);
		add_below(table, "", table->grid.style->verbose ? about->device : NULL);
		add_below(table, "", wtl_words_reason(domain));
	} else {
		wtl_report_text_no_figure(&table->grid, domain);
	}
	add_below(table, "→ ", about->remedy);
}

static void put_domains(const struct wtl_report_text *text, const struct wtl_doctor *doctor)
{
	struct table table = {.doctor = doctor};

	if (doctor->n_domains == 0) {
		wtl_buf_puts(text->buf, "This machine has no domain that wattle knows.\n");
		return;
	}
	wtl_grid_init(&table.grid, "lrullll", text->style);
	wtl_grid_row(&table.grid, WTL_TONE_PLAIN,
		     (const char *const[]){"domain", "now", "[W]", "source", "method", "updates",
					   "compared with", NULL});
	wtl_report_text_walk(doctor->domains, doctor->n_domains, false, add_row, &table);
	if (wtl_report_text_beside(doctor->domains, doctor->n_domains) != WTL_TEXT_NONE) {
		table.tone = WTL_TONE_FAINT;
		wtl_grid_begin(&table.grid, WTL_TONE_FAINT);
		wtl_grid_run_on(&table.grid);
		wtl_grid_cell(&table.grid, "not in the total:");
	}
	wtl_report_text_walk(doctor->domains, doctor->n_domains, true, add_row, &table);
	wtl_grid_render(&table.grid, text->buf);
}

/* "  NAME  WORD: REASON", and what would help below it. */
static void add_answer(struct table *table, const char *name, const char *word, const char *reason,
		       const char *remedy)
{
	struct wtl_grid *grid = &table->grid;

	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	wtl_buf_puts(&grid->rows, "  ");
	wtl_grid_text(grid, name);
	wtl_grid_run_on(grid);
	wtl_buf_puts(&grid->rows, word ? word : "?");
	wtl_buf_puts(&grid->rows, reason ? ": " : "");
	wtl_grid_text(grid, reason);
	add_below(table, "→ ", remedy);
}

static void put_ways(const struct wtl_report_text *text, const struct wtl_doctor *doctor)
{
	struct table table = {.doctor = doctor};

	if (doctor->n_ways == 0)
		return;
	wtl_buf_puts(text->buf, "\nHow processes are followed:\n");
	wtl_grid_init(&table.grid, "ll", text->style);
	for (size_t i = 0; i < doctor->n_ways; i++) {
		const struct wtl_doctor_way *way = &doctor->ways[i];

		add_answer(&table, way->way, way->is_used ? "yes" : "no", way->reason, way->remedy);
	}
	wtl_grid_render(&table.grid, text->buf);
}

static void put_sources(const struct wtl_report_text *text, const struct wtl_doctor *doctor)
{
	struct table table = {.doctor = doctor};

	if (doctor->n_sources == 0)
		return;
	wtl_buf_puts(text->buf, "\nSources that offer nothing here:\n");
	wtl_grid_init(&table.grid, "ll", text->style);
	for (size_t i = 0; i < doctor->n_sources; i++) {
		const struct wtl_doctor_source *source = &doctor->sources[i];

		add_answer(&table, source->source, wattle_status_name(source->status),
			   source->reason, source->remedy);
	}
	wtl_grid_render(&table.grid, text->buf);
}

int wtl_report_text_doctor(struct wtl_buf *buf, const void *what,
			   const struct wtl_output_style *style)
{
	const struct wtl_report_text text = {buf, style, NULL};
	const struct wtl_doctor *doctor = what;
	size_t start;

	wtl_buf_puts(buf, "wattle doctor\n\n");
	put_machine(&text, doctor);
	wtl_report_text_idle(&text, doctor->domains, doctor->n_domains, doctor->t_utc_ns);
	wtl_buf_putc(buf, '\n');
	put_domains(&text, doctor);
	put_ways(&text, doctor);
	put_sources(&text, doctor);
	if (doctor->summary && doctor->summary[0]) {
		wtl_buf_putc(buf, '\n');
		start = buf->len;
		wtl_report_text_put(&text, "%s", doctor->summary);
		wtl_layout_wrap(buf, start, 0, 0);
	}
	return buf->error;
}
