/* SPDX-License-Identifier: MIT */
#include "text/page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "document/format.h"
#include "text/layout.h"
#include "text/shares.h"
#include "document/words.h"

/* Who used it: the command's line of the head, and the table of processes. */

enum { LINE_MAX_BYTES = 1 << 20, USER_COLUMNS = 10, NAME_WHOLE_BYTES = 30 };

/* ---- The command ---- */

/* "2960 ± 200 J dynamic, 3310 J full": full with the digits that the ± leaves. */
static void add_share(struct wtl_buf *line, const struct wtl_share_energy *share,
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
	if (wtl_page_is_modelled(report))
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
	wtl_page_line(buf, "command", &line);
	if (attribution->command_gpu.full_uj == 0)
		return buf->error;
	wtl_buf_init(&line, LINE_MAX_BYTES);
	wtl_buf_puts(&line, "of it on GPUs ");
	add_share(&line, &attribution->command_gpu, style);
	return wtl_page_line(buf, "", &line);
}

/* ---- The processes ---- */

struct page {
	const struct wtl_report *report;
	const struct wtl_output_style *style;
	struct wtl_shares table;
	size_t n_shown;
};

/* Those that are not shown. */
struct others {
	struct wtl_share_energy share;
	uint64_t n;
	int64_t cpu_ns;
};

static void fold(struct others *others, const struct wtl_report_process *process, bool is_first)
{
	wtl_share_energy_add(&others->share, &process->all, is_first);
	others->cpu_ns =
		wtl_consumer_cpu_add(others->cpu_ns, wtl_consumer_cpu_ns(process->consumer));
	others->n += process->consumer->n_processes;
}

static struct others others_of(const struct page *page)
{
	const struct wtl_report_attribution *attribution = &page->report->attribution;
	bool has_others = attribution->n_others > 0 || attribution->others.full_uj > 0;
	struct others others = {
		.share = attribution->others,
		.n = attribution->n_others,
		.cpu_ns = has_others ? attribution->others_cpu_ns : -1,
	};

	for (size_t i = page->n_shown; i < attribution->n_processes; i++)
		fold(&others, &attribution->processes[i], !has_others && i == page->n_shown);
	return others;
}

/* Nothing for time that nobody was seen to use. */
static void add_times(struct page *page, uint64_t n)
{
	struct wtl_grid *grid = &page->table.grid;

	if (n > 0)
		wtl_buf_printf(&grid->rows, "%s%" PRIu64, page->style->ascii ? "x" : "×", n);
	wtl_grid_next(grid);
}

/* A long command begins with its program's name: directories would be all that is left of it. */
static const char *telling(const char *command)
{
	const char *name = command;

	if (command[0] != '/' || strlen(command) <= NAME_WHOLE_BYTES)
		return command;
	for (const char *at = command; *at && *at != ' '; at++)
		if (*at == '/' && at[1] && at[1] != ' ')
			name = at + 1;
	return name;
}

static void add_name(struct page *page, const struct wtl_consumer *consumer)
{
	struct wtl_buf *cell = &page->table.grid.rows;
	bool is_kernel = consumer->state == WTL_CONSUMER_KERNEL;

	if (page->report->attribution.has_command)
		wtl_buf_puts(cell, consumer->is_in_tree ? "* " : "  ");
	wtl_buf_puts(cell, is_kernel ? "[" : "");
	wtl_layout_text(cell, telling(wtl_words_consumer(consumer)), page->style);
	wtl_buf_puts(cell, is_kernel ? "]" : "");
	wtl_grid_next(&page->table.grid);
}

/* What is no consumer has no mark of the command either. */
static void add_plain_name(struct page *page, const char *name)
{
	struct wtl_grid *grid = &page->table.grid;

	wtl_buf_puts(&grid->rows, page->report->attribution.has_command ? "  " : "");
	wtl_grid_cell(grid, name);
}

static void add_process(struct page *page, const struct wtl_report_process *process,
			uint64_t rounded_uj)
{
	const struct wtl_consumer *consumer = process->consumer;
	struct wtl_grid *grid = &page->table.grid;

	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	if (consumer->state == WTL_CONSUMER_FOLDED) {
		add_times(page, consumer->n_processes);
	} else {
		if (consumer->pid > 0)
			wtl_buf_printf(&grid->rows, "%d", consumer->pid);
		wtl_grid_next(grid);
	}
	add_name(page, consumer);
	wtl_layout_text(&grid->rows, process->user ? process->user : "-", page->style);
	wtl_layout_cut(&grid->rows, grid->start, USER_COLUMNS, page->style);
	wtl_grid_next(grid);
	wtl_shares_row(&page->table, wtl_consumer_cpu_ns(consumer), &process->all, &process->gpu,
		       rounded_uj);
}

static void add_others(struct page *page, const struct others *others, uint64_t rounded_uj)
{
	if (others->n == 0 && others->share.full_uj == 0)
		return;
	wtl_grid_begin(&page->table.grid, WTL_TONE_PLAIN);
	add_times(page, others->n);
	add_plain_name(page, "others");
	wtl_grid_cell(&page->table.grid, "");
	wtl_shares_row(&page->table, others->cpu_ns, &others->share, NULL, rounded_uj);
}

static void add_sum(struct page *page, enum wtl_tone tone, const char *name, uint64_t rounded_uj)
{
	wtl_grid_begin(&page->table.grid, tone);
	wtl_grid_cell(&page->table.grid, "");
	add_plain_name(page, name);
	wtl_shares_sum(&page->table, rounded_uj);
}

static void add_head(struct page *page)
{
	struct wtl_grid *grid = &page->table.grid;

	wtl_grid_begin(grid, WTL_TONE_PLAIN);
	wtl_grid_cell(grid, "pid");
	wtl_grid_cell(grid,
		      page->report->attribution.has_command ? "  process (* command)" : "process");
	wtl_grid_cell(grid, "user");
	wtl_shares_head(&page->table);
}

/* Which rows are worth one. With none, the columns are those that the others need. */
static void plan(struct page *page)
{
	const struct wtl_report_attribution *attribution = &page->report->attribution;
	const struct wtl_share_energy none = {.full_uj = 0};

	page->table.has_dynamic = attribution->others.has_dynamic;
	while (page->n_shown < attribution->n_processes) {
		const struct wtl_report_process *next = &attribution->processes[page->n_shown];

		if (!wtl_shares_plan(&page->table, &next->all, &next->gpu,
				     wtl_consumer_cpu_ns(next->consumer)))
			break;
		page->n_shown++;
	}
	if (page->n_shown == 0)
		wtl_shares_plan(&page->table, &attribution->others, &none,
				attribution->others_cpu_ns);
}

/* Both arrays have room for those that are shown, the others, and what belongs to nobody. */
static void add_rows(struct page *page, uint64_t total_uj, uint64_t processes_uj,
		     uint64_t exact_uj[], uint64_t full_uj[])
{
	const struct wtl_report_process *processes = page->report->attribution.processes;
	struct others others = others_of(page);
	size_t n = page->n_shown;
	uint64_t whole_uj;

	for (size_t i = 0; i < n; i++)
		exact_uj[i] = processes[i].all.full_uj;
	exact_uj[n] = others.share.full_uj;
	exact_uj[n + 1] = total_uj - processes_uj;
	whole_uj = wtl_shares_round(&page->table, exact_uj, n + 2, total_uj, full_uj);
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
	wtl_shares_init(&page.table, total.total_uj, style);
	plan(&page);
	full_uj = calloc(page.n_shown + 2, 2 * sizeof(*full_uj));
	if (!full_uj)
		return buf->error = -ENOMEM;
	wtl_grid_init(&page.table.grid, page.table.has_dynamic ? "rclrrurr" : "rclrrur");
	add_rows(&page, total.total_uj, processes_uj, full_uj, full_uj + page.n_shown + 2);
	free(full_uj);
	return wtl_shares_render(&page.table, buf);
}
