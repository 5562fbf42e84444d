/* SPDX-License-Identifier: MIT */
#include "text/report_text.h"

#include <string.h>

#include "base/buf.h"
#include "document/format.h"
#include "text/layout.h"
#include "document/words.h"

enum { DEPTH_MAX = 6, DECIMALS_MAX = 4 };

struct table {
	const struct wtl_report *report;
	struct wtl_grid grid;
	unsigned scale; /* of the energies: one unit for the whole column */
	enum wtl_tone tone;
};

static size_t find(const struct wtl_report_domain *domains, size_t n, const char *name)
{
	for (size_t i = 0; name && name[0] && i < n; i++) {
		if (domains[i].domain.name && strcmp(domains[i].domain.name, name) == 0)
			return i;
	}
	return n;
}

/*
 * The domain below which i is shown, or n. What counts for the total stands for itself even if
 * something that does not count (psys) contains it. A circle has no outermost one: all are.
 */
static size_t parent_of(const struct wtl_report_domain *domains, size_t n, size_t i)
{
	size_t parent = domains[i].domain.in_total ? n : find(domains, n, domains[i].domain.inside);
	size_t above = parent;

	for (unsigned depth = 0; above < n; depth++) {
		if (depth == DEPTH_MAX)
			return n;
		above = domains[above].domain.in_total
				? n
				: find(domains, n, domains[above].domain.inside);
	}
	return parent;
}

static void walk_below(const struct wtl_report_domain *domains, size_t n, size_t i,
		       void (*visit)(void *context, size_t i), void *context)
{
	visit(context, i);
	for (size_t child = 0; child < n; child++) {
		if (parent_of(domains, n, child) == i)
			walk_below(domains, n, child, visit, context);
	}
}

void wtl_report_text_walk(const struct wtl_report_domain *domains, size_t n, bool beside,
			  void (*visit)(void *context, size_t i), void *context)
{
	for (size_t i = 0; i < n; i++) {
		if (!domains[i].domain.in_total == beside && parent_of(domains, n, i) == n)
			walk_below(domains, n, i, visit, context);
	}
}

void wtl_report_text_name(struct wtl_grid *grid, const struct wtl_report_domain *domains, size_t n,
			  size_t i, const char *mark)
{
	for (size_t above = parent_of(domains, n, i); above < n;
	     above = parent_of(domains, n, above))
		wtl_buf_puts(&grid->rows, "  ");
	wtl_layout_text(&grid->rows, domains[i].domain.name ? domains[i].domain.name : "?",
			grid->style);
	wtl_buf_puts(&grid->rows, mark);
	wtl_grid_next(grid);
}

void wtl_report_text_no_figure(struct wtl_grid *grid, const struct wtl_report_domain *domain)
{
	const char *status = wattle_status_name(wtl_words_status(domain));

	wtl_grid_run_on(grid);
	wtl_buf_puts(&grid->rows, status ? status : "?");
	wtl_buf_puts(&grid->rows, ": ");
	wtl_grid_text(grid, wtl_words_reason(domain));
}

/* One unit for a column makes small figures long: four decimals of it are enough. */
static unsigned energy_last_digit(uint64_t micro, uint64_t uncertainty_micro, unsigned scale)
{
	unsigned last = wtl_format_last_digit(micro, uncertainty_micro);

	return last + DECIMALS_MAX < scale ? scale - DECIMALS_MAX : last;
}

static void add_figures(struct table *table, const struct wattle_energy *energy, bool modelled)
{
	struct wtl_grid *grid = &table->grid;
	unsigned last = energy_last_digit(energy->energy_uj, energy->uncertainty_uj, table->scale);
	uint64_t mean_unc_uw =
		wtl_format_share(energy->mean_uw, energy->uncertainty_uj, energy->energy_uj);

	wtl_buf_puts(&grid->rows, modelled ? "~" : "");
	wtl_format_rounded(&grid->rows, energy->energy_uj, last, table->scale);
	wtl_grid_next(grid);
	wtl_report_text_add_uncertainty(grid, energy->uncertainty_uj, last, table->scale);
	if (!energy->has_power) {
		wtl_grid_cell(grid, "-");
		wtl_grid_cell(grid, "-");
		return;
	}
	last = wtl_format_power_digit(energy->mean_uw, mean_unc_uw);
	wtl_format_rounded(&grid->rows, energy->mean_uw, last, 6);
	wtl_grid_next(grid);
	if (energy->max_uw > 0)
		wtl_format_rounded(&grid->rows, energy->max_uw, last, 6);
	wtl_grid_next(grid);
}

static bool has_remark(const struct wattle_energy *energy)
{
	return energy->flags || energy->gap_ns > 0 || energy->status != WATTLE_STATUS_OK;
}

static void add_row(void *context, size_t i)
{
	struct table *table = context;
	const struct wtl_report *report = table->report;
	const struct wtl_report_domain *domain = &report->domains[i];
	const struct wattle_energy *energy = &domain->energy;
	const char *method = wattle_method_name(wtl_words_method(domain));

	wtl_grid_begin(&table->grid, energy->has_energy ? table->tone : WTL_TONE_WARN);
	wtl_report_text_name(&table->grid, report->domains, report->n_domains, i,
			     energy->has_energy && has_remark(energy) ? " !" : "");
	if (!energy->has_energy) {
		wtl_report_text_no_figure(&table->grid, domain);
		return;
	}
	add_figures(table, energy, energy->method == WATTLE_METHOD_MODELLED);
	wtl_grid_text(&table->grid, domain->domain.source);
	wtl_grid_cell(&table->grid, method ? method : "?");
}

static void add_head(struct table *table)
{
	wtl_grid_row(&table->grid, WTL_TONE_PLAIN, (const char *const[]){"domain", "energy", NULL});
	wtl_report_text_add_unit(&table->grid, "", WTL_FORMAT_J, table->scale);
	wtl_grid_cell(&table->grid, "mean [W]");
	wtl_grid_cell(&table->grid, "max [W]");
	wtl_grid_cell(&table->grid, "source");
	wtl_grid_cell(&table->grid, "method");
}

static void add_total(struct table *table)
{
	const struct wattle_energy *total = &table->report->window.total;
	bool is_doubtful = has_remark(total) || wtl_report_text_incomplete(table->report);
	const char *method = wattle_method_name(total->method);

	if (!total->has_energy)
		return;
	wtl_grid_begin(&table->grid, WTL_TONE_STRONG);
	wtl_grid_cell(&table->grid, is_doubtful ? "total !" : "total");
	add_figures(table, total, wtl_report_text_is_modelled(table->report));
	wtl_grid_cell(&table->grid, "");
	wtl_grid_cell(&table->grid, method ? method : "?");
}

static unsigned common_scale(const struct wtl_report *report)
{
	uint64_t largest = report->window.total.has_energy ? report->window.total.energy_uj : 0;

	for (size_t i = 0; i < report->n_domains; i++) {
		const struct wattle_energy *energy = &report->domains[i].energy;

		if (energy->has_energy && energy->energy_uj > largest)
			largest = energy->energy_uj;
	}
	return wtl_format_scale(largest);
}

enum wtl_report_text_beside wtl_report_text_beside(const struct wtl_report_domain *domains,
						   size_t n)
{
	enum wtl_report_text_beside beside = WTL_TEXT_NONE;

	for (size_t i = 0; i < n; i++) {
		if (domains[i].domain.in_total || parent_of(domains, n, i) < n)
			continue;
		if (domains[i].energy.has_energy)
			return WTL_TEXT_OPINIONS;
		beside = WTL_TEXT_NO_FIGURES;
	}
	return beside;
}

void wtl_report_text_domains(const struct wtl_report_text *text, const struct wtl_report *report)
{
	struct table table = {.report = report, .scale = common_scale(report)};
	enum wtl_report_text_beside beside =
		wtl_report_text_beside(report->domains, report->n_domains);

	if (report->n_domains == 0) {
		wtl_buf_puts(text->buf, "This machine has no domain that wattle knows.\n");
		return;
	}
	wtl_grid_init(&table.grid, "lrurrll", text->style);
	add_head(&table);
	wtl_report_text_walk(report->domains, report->n_domains, false, add_row, &table);
	add_total(&table);
	if (beside != WTL_TEXT_NONE) {
		table.tone = WTL_TONE_FAINT;
		wtl_grid_begin(&table.grid, WTL_TONE_FAINT);
		wtl_grid_run_on(&table.grid);
		wtl_grid_cell(&table.grid, beside == WTL_TEXT_OPINIONS
						   ? "second opinions, not added to the total:"
						   : "not in the total:");
		wtl_report_text_walk(report->domains, report->n_domains, true, add_row, &table);
	}
	wtl_grid_render(&table.grid, text->buf);
}
