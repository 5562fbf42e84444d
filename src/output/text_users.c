/* SPDX-License-Identifier: MIT */
#include "output/page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "output/format.h"
#include "output/layout.h"
#include "output/words.h"

/* Who used it: the command's line of the head, and the table of processes. */

enum { LINE_MAX_BYTES = 1 << 20, SHOWN_MAX = 10, USER_COLUMNS = 10, WHOLE_SECONDS = 6 };

/* ---- The command ---- */

/* "2960 ± 200 J dynamic, 3310 J full": full with the digits that the ± leaves. */
static void add_share(struct wtl_buf *line, const struct wtl_report_share *share,
		      const struct wtl_output_style *style)
{
	unsigned scale = wtl_format_scale(share->full_uj);
	unsigned last = wtl_format_last_digit(share->full_uj, 0), least;

	if (!share->has_dynamic) {
		wtl_format_measure(line, share->full_uj, share->uncertainty_uj, WTL_FORMAT_J,
				   style->ascii);
		wtl_buf_puts(line, " full");
		return;
	}
	wtl_format_measure(line, share->dynamic_uj, share->uncertainty_uj, WTL_FORMAT_J,
			   style->ascii);
	wtl_buf_puts(line, " dynamic, ");
	least = wtl_format_last_digit(share->dynamic_uj, share->uncertainty_uj);
	wtl_format_rounded(line, share->full_uj, last > least ? last : least, scale);
	wtl_buf_printf(line, " %s full", wtl_format_unit(WTL_FORMAT_J, scale, style->ascii));
}

static void put_line(struct wtl_buf *buf, const char *label, const struct wtl_buf *line)
{
	wtl_page_label(buf, label);
	wtl_layout_wrap(buf, wtl_buf_str(line), WTL_PAGE_LABEL_COLUMNS, WTL_PAGE_LABEL_COLUMNS);
}

static bool has_line(const struct wtl_report_attribution *attribution)
{
	return attribution->is_known && attribution->has_command;
}

bool wtl_page_tells_cpu(const struct wtl_report *report)
{
	return has_line(&report->attribution) && report->attribution.command_cpu_ns >= 0;
}

int wtl_page_command_energy(struct wtl_buf *buf, const struct wtl_report *report,
			    const struct wtl_output_style *style)
{
	const struct wtl_report_attribution *attribution = &report->attribution;
	struct wtl_buf line;

	if (!has_line(attribution))
		return buf->error;
	wtl_buf_init(&line, LINE_MAX_BYTES);
	if (wtl_page_modelled(report->domains, report->n_domains) != WTL_PAGE_MEASURED)
		wtl_buf_puts(&line, "~ ");
	add_share(&line, &attribution->command, style);
	wtl_buf_printf(&line, ": %" PRIu64 " process%s", attribution->command_processes,
		       attribution->command_processes == 1 ? "" : "es");
	if (attribution->command_cpu_ns >= 0) {
		size_t start;

		wtl_buf_puts(&line, ", ");
		start = line.len;
		wtl_buf_puts(&line, "CPU time ");
		wtl_format_duration(&line, attribution->command_cpu_ns, style->ascii);
		wtl_layout_keep(&line, start);
	}
	put_line(buf, "command", &line);
	if (attribution->command_gpu.full_uj > 0) {
		wtl_buf_clear(&line);
		wtl_buf_puts(&line, "of it on GPUs ");
		add_share(&line, &attribution->command_gpu, style);
		put_line(buf, "", &line);
	}
	return wtl_layout_close(&line, buf);
}

/* ---- The processes ---- */

struct page {
	const struct wtl_report *report;
	const struct wtl_output_style *style;
	struct wtl_grid grid;
	unsigned scale, last_digit; /* of the energies */
	unsigned cpu_last_digit;
	size_t n_shown;
	bool has_dynamic, has_gpu; /* there are such columns */
};

/* Those that are not shown. */
struct others {
	struct wtl_report_share share;
	uint64_t n;
	int64_t cpu_ns;
};

static uint64_t cpu_us(int64_t cpu_ns)
{
	return (uint64_t)cpu_ns / 1000;
}

static void add_uj(uint64_t *sum, uint64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum))
		*sum = UINT64_MAX;
}

/* Uncertainties of consumers of the same domains mostly come from the same sensors: they add up. */
static void fold(struct others *others, const struct wtl_report_process *process)
{
	const struct wtl_report_share *more = &process->all;
	struct wtl_report_share *sum = &others->share;

	sum->has_dynamic = sum->has_dynamic && more->has_dynamic;
	add_uj(&sum->full_uj, more->full_uj);
	add_uj(&sum->dynamic_uj, more->dynamic_uj);
	add_uj(&sum->uncertainty_uj, more->uncertainty_uj);
	add_uj(&others->n, wtl_words_processes(process->consumer));
	if (others->cpu_ns < 0 || process->consumer->cpu_ns < 0 ||
	    __builtin_add_overflow(others->cpu_ns, process->consumer->cpu_ns, &others->cpu_ns))
		others->cpu_ns = -1;
}

static struct others others_of(const struct page *page)
{
	const struct wtl_report_attribution *attribution = &page->report->attribution;
	struct others others = {
		.share = attribution->others,
		.n = attribution->n_others,
		.cpu_ns = attribution->others_cpu_ns,
	};

	if (others.n == 0) {
		others.share.has_dynamic = true;
		others.cpu_ns = 0;
	}
	for (size_t i = page->n_shown; i < attribution->n_processes; i++)
		fold(&others, &attribution->processes[i]);
	return others;
}

static void add_energy(struct page *page, uint64_t micro, unsigned last_digit)
{
	wtl_format_rounded(&page->grid.rows, micro, last_digit, page->scale);
	wtl_grid_next(&page->grid);
}

static void add_uncertainty(struct page *page, const struct wtl_report_share *share,
			    unsigned last_digit)
{
	if (share->uncertainty_uj > 0) {
		wtl_buf_puts(&page->grid.rows, page->style->ascii ? "+/- " : "± ");
		wtl_format_rounded_up(&page->grid.rows, share->uncertainty_uj, last_digit,
				      page->scale);
	}
	wtl_grid_next(&page->grid);
}

/* Dynamic energy with its ±, and full; or full with its ±, where nothing has a dynamic part. The
 * full figures are rounded already, so that they add up. */
static void add_figures(struct page *page, const struct wtl_report_share *share,
			uint64_t rounded_uj)
{
	uint64_t best_uj = share->has_dynamic ? share->dynamic_uj : share->full_uj;
	unsigned last = wtl_format_last_digit(best_uj, share->uncertainty_uj);

	if (last < page->last_digit)
		last = page->last_digit;
	if (page->has_dynamic && share->has_dynamic) {
		add_energy(page, share->dynamic_uj, last);
		add_uncertainty(page, share, last);
	} else if (page->has_dynamic) {
		wtl_grid_cell(&page->grid, "-");
		wtl_grid_cell(&page->grid, "");
	}
	add_energy(page, rounded_uj, page->last_digit);
	if (!page->has_dynamic)
		add_uncertainty(page, share, last);
}

static void add_cpu(struct page *page, int64_t cpu_ns)
{
	if (cpu_ns >= 0)
		wtl_format_rounded(&page->grid.rows, cpu_us(cpu_ns), page->cpu_last_digit, 6);
	else
		wtl_buf_putc(&page->grid.rows, '-');
	wtl_grid_next(&page->grid);
}

static void add_times(struct page *page, uint64_t n)
{
	wtl_buf_puts(&page->grid.rows, page->style->ascii ? "x" : "×");
	wtl_buf_printf(&page->grid.rows, "%" PRIu64, n);
	wtl_grid_next(&page->grid);
}

static void add_name(struct page *page, const struct wtl_consumer *consumer)
{
	struct wtl_buf *cell = &page->grid.rows;
	bool is_kernel = consumer->state == WTL_CONSUMER_KERNEL;

	if (page->report->attribution.has_command)
		wtl_buf_puts(cell, consumer->is_in_tree ? "* " : "  ");
	wtl_buf_puts(cell, is_kernel ? "[" : "");
	wtl_layout_text(cell, wtl_words_consumer(consumer), page->style);
	wtl_buf_puts(cell, is_kernel ? "]" : "");
	wtl_grid_next(&page->grid);
}

static void add_process(struct page *page, const struct wtl_report_process *process,
			uint64_t rounded_uj)
{
	const struct wtl_consumer *consumer = process->consumer;
	struct wtl_grid *grid = &page->grid;

	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	if (consumer->state == WTL_CONSUMER_FOLDED) {
		add_times(page, wtl_words_processes(consumer));
	} else {
		if (consumer->pid > 0)
			wtl_buf_printf(&grid->rows, "%d", consumer->pid);
		wtl_grid_next(grid);
	}
	add_name(page, consumer);
	wtl_layout_text(&grid->rows, process->user ? process->user : "-", page->style);
	wtl_layout_cut(&grid->rows, grid->start, USER_COLUMNS, page->style);
	wtl_grid_next(grid);
	add_cpu(page, consumer->cpu_ns);
	add_figures(page, &process->all, rounded_uj);
	if (page->has_gpu)
		add_energy(page, process->gpu.full_uj, page->last_digit);
}

static void add_others(struct page *page, const struct others *others, uint64_t rounded_uj)
{
	const char *indent = page->report->attribution.has_command ? "  " : "";

	if (others->n == 0 && others->share.full_uj == 0)
		return;
	wtl_grid_begin(&page->grid, WTL_TONE_PLAIN);
	add_times(page, others->n);
	wtl_buf_printf(&page->grid.rows, "%sothers", indent);
	wtl_grid_next(&page->grid);
	wtl_grid_cell(&page->grid, "");
	add_cpu(page, others->cpu_ns);
	add_figures(page, &others->share, rounded_uj);
}

/* A row that has nothing but its full figure. */
static void add_sum(struct page *page, enum wtl_tone tone, const char *name, uint64_t rounded_uj)
{
	const char *indent = page->report->attribution.has_command ? "  " : "";

	wtl_grid_begin(&page->grid, tone);
	wtl_grid_cell(&page->grid, "");
	wtl_buf_printf(&page->grid.rows, "%s%s", indent, name);
	wtl_grid_next(&page->grid);
	for (int i = 0; i < (page->has_dynamic ? 4 : 2); i++)
		wtl_grid_cell(&page->grid, "");
	add_energy(page, rounded_uj, page->last_digit);
}

static void add_head(struct page *page)
{
	const char *unit = wtl_format_unit(WTL_FORMAT_J, page->scale, page->style->ascii);
	struct wtl_grid *grid = &page->grid;

	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	wtl_grid_cell(grid, "pid");
	wtl_grid_cell(grid,
		      page->report->attribution.has_command ? "  process (* command)" : "process");
	wtl_grid_cell(grid, "user");
	wtl_grid_cell(grid, "CPU [s]");
	wtl_grid_cell(grid, page->has_dynamic ? "dynamic" : "full");
	wtl_buf_printf(&grid->rows, "[%s]", unit);
	wtl_grid_next(grid);
	if (page->has_dynamic)
		wtl_grid_cell(grid, "full");
	if (page->has_gpu)
		wtl_grid_cell(grid, "GPU");
}

/* Which rows are worth one, and what the columns are like. */
static void plan(struct page *page, uint64_t total_uj)
{
	const struct wtl_report_attribution *attribution = &page->report->attribution;
	size_t most = page->style->verbose ? attribution->n_processes : SHOWN_MAX;
	uint64_t longest_us = 0;

	page->scale = wtl_format_scale(total_uj);
	page->last_digit = wtl_format_last_digit(total_uj, 0);
	page->has_dynamic = attribution->others.has_dynamic;
	for (size_t i = 0; i < attribution->n_processes && i < most; i++) {
		const struct wtl_report_process *process = &attribution->processes[i];

		/* What would be 0 in this unit is told with the others. */
		if (wtl_format_round(process->all.full_uj, page->last_digit) == 0)
			break;
		page->n_shown = i + 1;
		page->has_dynamic = page->has_dynamic || process->all.has_dynamic;
		page->has_gpu = page->has_gpu || process->gpu.full_uj > 0;
		if (process->consumer->cpu_ns > 0 && cpu_us(process->consumer->cpu_ns) > longest_us)
			longest_us = cpu_us(process->consumer->cpu_ns);
	}
	page->cpu_last_digit = wtl_format_last_digit(longest_us, 0);
	if (page->cpu_last_digit > WHOLE_SECONDS)
		page->cpu_last_digit = WHOLE_SECONDS;
}

/* Both arrays have room for those that are shown, the others, and what belongs to nobody. */
static void add_rows(struct page *page, uint64_t total_uj, uint64_t processes_uj,
		     uint64_t exact_uj[], uint64_t full_uj[])
{
	const struct wtl_report_process *processes = page->report->attribution.processes;
	uint64_t whole_uj = wtl_format_round(total_uj, page->last_digit);
	struct others others = others_of(page);
	size_t n = page->n_shown;

	for (size_t i = 0; i < n; i++)
		exact_uj[i] = processes[i].all.full_uj;
	exact_uj[n] = others.share.full_uj;
	exact_uj[n + 1] = total_uj - processes_uj;
	wtl_format_apportion(exact_uj, n + 2, page->last_digit, whole_uj, full_uj);
	add_head(page);
	for (size_t i = 0; i < n; i++)
		add_process(page, &processes[i], full_uj[i]);
	add_others(page, &others, full_uj[n]);
	if (processes_uj < total_uj)
		add_sum(page, WTL_TONE_FAINT, "no process", full_uj[n + 1]);
	add_sum(page, WTL_TONE_STRONG, "total", whole_uj);
}

int wtl_page_processes(struct wtl_buf *buf, const struct wtl_report *report,
		       const struct wtl_output_style *style)
{
	struct page page = {.report = report, .style = style};
	uint64_t processes_uj, *full_uj;
	struct wtl_ledger total;

	if (!report->attribution.is_known || !wtl_words_ledger(report, &total) ||
	    !wtl_words_processes_uj(report, &processes_uj) || processes_uj == 0)
		return buf->error;
	plan(&page, total.total_uj);
	full_uj = calloc(page.n_shown + 2, 2 * sizeof(*full_uj));
	if (!full_uj)
		return buf->error = -ENOMEM;
	wtl_grid_init(&page.grid, page.has_dynamic ? "rclrrurr" : "rclrrur");
	add_rows(&page, total.total_uj, processes_uj, full_uj, full_uj + page.n_shown + 2);
	free(full_uj);
	wtl_buf_putc(buf, '\n');
	wtl_grid_render(&page.grid, buf, style);
	wtl_grid_done(&page.grid);
	return buf->error;
}
