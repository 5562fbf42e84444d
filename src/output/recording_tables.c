/* SPDX-License-Identifier: MIT */
/* A recording's groups, windows and gaps as tables for people. */
#include <inttypes.h>

#include "base/buf.h"
#include "output/format.h"
#include "output/layout.h"
#include "output/page.h"
#include "output/recording_page.h"
#include "output/words.h"

enum { ROWS_MAX = 10, WINDOWS_MAX = 20, LINE_MAX_BYTES = 1 << 20 };

/* ---- Groups ---- */

struct page {
	const struct wtl_output_style *style;
	struct wtl_grid grid;
	unsigned scale, last_digit, cpu_last_digit;
	bool has_dynamic, has_gpu;
};

static uint64_t cpu_us(int64_t cpu_ns)
{
	return cpu_ns > 0 ? (uint64_t)cpu_ns / 1000 : 0;
}

static void add_energy(struct page *page, uint64_t energy_uj, unsigned last)
{
	wtl_format_rounded(&page->grid.rows, energy_uj,
			   last > page->last_digit ? last : page->last_digit, page->scale);
	wtl_grid_next(&page->grid);
}

static void add_uncertainty(struct page *page, uint64_t uncertainty_uj, unsigned last)
{
	if (uncertainty_uj > 0) {
		wtl_buf_puts(&page->grid.rows, page->style->ascii ? "+/- " : "± ");
		wtl_format_rounded_up(&page->grid.rows, uncertainty_uj,
				      last > page->last_digit ? last : page->last_digit,
				      page->scale);
	}
	wtl_grid_next(&page->grid);
}

static void add_shares(struct page *page, const struct wtl_report_share *all,
		       const struct wtl_report_share *gpu)
{
	uint64_t best_uj = all->has_dynamic ? all->dynamic_uj : all->full_uj;
	unsigned last = wtl_format_last_digit(best_uj, all->uncertainty_uj);

	if (page->has_dynamic && all->has_dynamic) {
		add_energy(page, all->dynamic_uj, last);
		add_uncertainty(page, all->uncertainty_uj, last);
	} else if (page->has_dynamic) {
		wtl_grid_cell(&page->grid, "-");
		wtl_grid_cell(&page->grid, "");
	}
	add_energy(page, all->full_uj, page->has_dynamic ? 0 : last);
	if (!page->has_dynamic)
		add_uncertainty(page, all->uncertainty_uj, last);
	if (page->has_gpu)
		add_energy(page, gpu->full_uj, 0);
}

static void add_group(struct page *page, const char *name, const struct wtl_recording_group *group)
{
	struct wtl_grid *grid = &page->grid;

	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	wtl_layout_text(&grid->rows, name, page->style);
	wtl_grid_next(grid);
	wtl_buf_printf(&grid->rows, "%" PRIu64, group->n_processes);
	wtl_grid_next(grid);
	wtl_format_rounded(&grid->rows, cpu_us(group->cpu_ns), page->cpu_last_digit, 6);
	wtl_grid_next(grid);
	add_shares(page, &group->all, &group->gpu);
}

static void add_head(struct page *page, enum wtl_by by)
{
	struct wtl_grid *grid = &page->grid;

	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	wtl_grid_cell(grid, wtl_by_name(by));
	wtl_grid_cell(grid, "processes");
	wtl_grid_cell(grid, "CPU [s]");
	wtl_grid_cell(grid, page->has_dynamic ? "dynamic" : "full");
	wtl_buf_printf(&grid->rows, "[%s]",
		       wtl_format_unit(WTL_FORMAT_J, page->scale, page->style->ascii));
	wtl_grid_next(grid);
	if (page->has_dynamic)
		wtl_grid_cell(grid, "full");
	if (page->has_gpu)
		wtl_grid_cell(grid, "GPU");
}

static void add_to(struct wtl_recording_group *sum, const struct wtl_recording_group *more,
		   bool is_first)
{
	sum->n_processes += more->n_processes;
	sum->cpu_ns += more->cpu_ns;
	sum->all.has_dynamic = (is_first || sum->all.has_dynamic) && more->all.has_dynamic;
	sum->all.full_uj += more->all.full_uj;
	sum->all.dynamic_uj += more->all.dynamic_uj;
	sum->all.uncertainty_uj += more->all.uncertainty_uj;
	sum->gpu.full_uj += more->gpu.full_uj;
}

/* Those that are not shown, in one row. */
static void add_others(struct page *page, const struct wtl_recording_grouping *grouping,
		       size_t n_shown)
{
	struct wtl_recording_group others = grouping->others;
	size_t n = grouping->n_others;

	for (size_t i = n_shown; i < grouping->n_groups; i++)
		add_to(&others, &grouping->groups[i], n++ == 0);
	if (n > 0)
		add_group(page, "others", &others);
}

/* A row with nothing but a sum, below the column of full energy. */
static void add_sum(struct page *page, enum wtl_tone tone, const char *name, uint64_t full_uj)
{
	wtl_grid_begin(&page->grid, tone);
	wtl_grid_cell(&page->grid, name);
	for (int i = 0; i < (page->has_dynamic ? 4 : 2); i++)
		wtl_grid_cell(&page->grid, "");
	add_energy(page, full_uj, 0);
}

static void add_sums(struct page *page, const struct wtl_report *report)
{
	struct wtl_ledger ledger;
	uint64_t processes_uj;

	if (!wtl_words_ledger(report, &ledger) || !wtl_words_processes_uj(report, &processes_uj))
		return;
	if (processes_uj < ledger.total_uj)
		add_sum(page, WTL_TONE_FAINT, "no process", ledger.total_uj - processes_uj);
	add_sum(page, WTL_TONE_STRONG, "total", ledger.total_uj);
}

static size_t plan(struct page *page, const struct wtl_recording_grouping *grouping)
{
	size_t most = page->style->verbose ? grouping->n_groups : ROWS_MAX, n = 0;
	uint64_t longest_us = 0;

	for (size_t i = 0; i < grouping->n_groups && i < most; i++) {
		const struct wtl_recording_group *group = &grouping->groups[i];

		if (wtl_format_round(group->all.full_uj, page->last_digit) == 0)
			break;
		n = i + 1;
		page->has_dynamic |= group->all.has_dynamic;
		page->has_gpu |= group->gpu.full_uj > 0;
		if (cpu_us(group->cpu_ns) > longest_us)
			longest_us = cpu_us(group->cpu_ns);
	}
	page->cpu_last_digit = wtl_format_last_digit(longest_us, 0);
	if (page->cpu_last_digit > 6)
		page->cpu_last_digit = 6;
	return n;
}

/* What a group without a name is. */
static const char *nameless(enum wtl_by by)
{
	switch (by) {
	case WTL_BY_USER:
		return "not known";
	case WTL_BY_CONTAINER:
		return "in no container";
	case WTL_BY_POD:
		return "in no pod";
	case WTL_BY_UNIT:
		return "in no unit";
	case WTL_BY_JOB:
		return "in no job";
	case WTL_BY_PROCESS:
	case WTL_BY_COMMAND:
	case WTL_BY_CGROUP:
	case WTL_BY_WINDOW:
	case WTL_BYS:
		break;
	}
	return "-";
}

int wtl_page_grouping(struct wtl_buf *buf, const struct wtl_recording *recording,
		      const struct wtl_recording_grouping *grouping,
		      const struct wtl_output_style *style)
{
	struct page page = {.style = style};
	struct wtl_ledger total;
	size_t n;

	if (!wtl_words_ledger(&recording->report, &total) || total.total_uj == 0)
		return buf->error;
	page.scale = wtl_format_scale(total.total_uj);
	page.last_digit = wtl_format_last_digit(total.total_uj, 0);
	n = plan(&page, grouping);
	wtl_grid_init(&page.grid, page.has_dynamic ? "crrrurr" : "crrrur");
	add_head(&page, grouping->by);
	for (size_t i = 0; i < n; i++) {
		const char *name = grouping->groups[i].name;

		add_group(&page, name[0] ? name : nameless(grouping->by), &grouping->groups[i]);
	}
	add_others(&page, grouping, n);
	if (recording->has_by)
		add_sums(&page, &recording->report);
	wtl_buf_putc(buf, '\n');
	wtl_grid_render(&page.grid, buf, style);
	wtl_grid_done(&page.grid);
	return buf->error;
}

/* ---- Windows ---- */

static bool is_worth_a_row(const struct wtl_recording *recording,
			   const struct wtl_recording_window *window)
{
	return !window->is_main || recording->has_by;
}

static void add_window(struct wtl_grid *grid, const struct wtl_recording_window *window,
		       unsigned scale, const struct wtl_output_style *style)
{
	const struct wattle_energy *total = &window->window.total;
	unsigned last = wtl_format_last_digit(total->energy_uj, total->uncertainty_uj);
	int64_t duration_ns = window->window.duration_ns;

	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	wtl_layout_text(&grid->rows, window->name, style);
	wtl_buf_puts(&grid->rows, window->is_open ? " (open)" : window->is_cut ? " (cut)" : "");
	wtl_grid_next(grid);
	wtl_page_local_clock(&grid->rows, window->window.begin_utc_ns);
	wtl_grid_next(grid);
	if (!window->energies) {
		wtl_grid_cell(grid, "-");
		return;
	}
	wtl_format_rounded(&grid->rows, duration_ns > 0 ? (uint64_t)duration_ns / 1000 : 0, 3, 6);
	wtl_grid_next(grid);
	if (!total->has_energy) {
		wtl_grid_cell(grid, "-");
		return;
	}
	wtl_format_rounded(&grid->rows, total->energy_uj, last, scale);
	wtl_grid_next(grid);
	wtl_buf_puts(&grid->rows, style->ascii ? "+/- " : "± ");
	wtl_format_rounded_up(&grid->rows, total->uncertainty_uj, last, scale);
	wtl_grid_next(grid);
	if (total->has_power)
		wtl_format_rounded(&grid->rows, total->mean_uw,
				   wtl_format_power_digit(total->mean_uw, 0), 6);
	wtl_grid_next(grid);
}

static void begin_windows(struct wtl_grid *grid, unsigned scale,
			  const struct wtl_output_style *style)
{
	wtl_grid_init(grid, "clrrur");
	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	wtl_grid_cell(grid, "window");
	wtl_grid_cell(grid, "began");
	wtl_grid_cell(grid, "time [s]");
	wtl_grid_cell(grid, "energy");
	wtl_buf_printf(&grid->rows, "[%s]", wtl_format_unit(WTL_FORMAT_J, scale, style->ascii));
	wtl_grid_next(grid);
	wtl_grid_cell(grid, "mean [W]");
}

int wtl_page_windows(struct wtl_buf *buf, const struct wtl_recording *recording,
		     const struct wtl_output_style *style)
{
	size_t most = style->verbose ? SIZE_MAX : WINDOWS_MAX, n = 0, n_left = 0;
	uint64_t largest_uj = 0;
	struct wtl_grid grid;
	unsigned scale;

	for (size_t i = 0; i < recording->n_windows; i++) {
		const struct wattle_energy *total = &recording->windows[i].window.total;

		if (!is_worth_a_row(recording, &recording->windows[i]))
			continue;
		n++;
		if (total->has_energy && total->energy_uj > largest_uj)
			largest_uj = total->energy_uj;
	}
	if (n == 0)
		return buf->error;
	scale = wtl_format_scale(largest_uj);
	begin_windows(&grid, scale, style);
	n = 0;
	for (size_t i = 0; i < recording->n_windows; i++) {
		if (!is_worth_a_row(recording, &recording->windows[i]))
			continue;
		if (n++ < most)
			add_window(&grid, &recording->windows[i], scale, style);
		else
			n_left++;
	}
	wtl_buf_putc(buf, '\n');
	wtl_grid_render(&grid, buf, style);
	wtl_grid_done(&grid);
	if (n_left > 0)
		wtl_buf_printf(buf, "and %zu more (--verbose)\n", n_left);
	return buf->error;
}

/* ---- Gaps ---- */

static void put_gap(struct wtl_buf *line, const struct wtl_recording_gap *gap,
		    const struct wtl_output_style *style)
{
	wtl_page_local(line, gap->begin_utc_ns);
	wtl_buf_puts(line, ": ");
	if (gap->domain[0]) {
		wtl_layout_text(line, gap->domain, style);
		wtl_buf_puts(line, ": ");
	}
	wtl_layout_text(line, gap->text[0] ? gap->text : gap->kind, style);
	if (gap->duration_ns > 0) {
		wtl_buf_puts(line, " (");
		wtl_format_duration(line, gap->duration_ns, style->ascii);
		wtl_buf_putc(line, ')');
	}
}

int wtl_page_gaps(struct wtl_buf *buf, const struct wtl_recording *recording,
		  const struct wtl_output_style *style)
{
	size_t most = style->verbose ? SIZE_MAX : ROWS_MAX;
	struct wtl_buf line;

	for (size_t i = 0; i < recording->n_gaps && i < most; i++) {
		wtl_buf_init(&line, LINE_MAX_BYTES);
		put_gap(&line, &recording->gaps[i], style);
		wtl_page_remark(buf, WTL_PAGE_DOUBT, wtl_buf_str(&line), style);
		wtl_layout_close(&line, buf);
	}
	if (recording->n_gaps > most) {
		wtl_buf_init(&line, LINE_MAX_BYTES);
		wtl_buf_printf(&line, "and %zu more gaps (--verbose)", recording->n_gaps - most);
		wtl_page_remark(buf, WTL_PAGE_DOUBT, wtl_buf_str(&line), style);
		wtl_layout_close(&line, buf);
	}
	return buf->error;
}
