/* SPDX-License-Identifier: MIT */
#include "text/report_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "document/format.h"
#include "text/shares.h"
#include "document/words.h"

/* Who used the energy: the command's line of the head, and the table of processes. */

enum { USER_COLUMNS = 10, NAME_WHOLE_BYTES = 30 };

/* ---- The command ---- */

/* "2960 ± 200 J dynamic, 3310 J full": full with the digits that the ± leaves. */
static void add_share(const struct wtl_report_text *text, const struct wtl_share_energy *share)
{
	bool ascii = text->style->ascii;
	unsigned scale = wtl_format_scale(share->full_uj);
	unsigned last = wtl_format_last_digit(share->full_uj, 0), least;

	if (!share->has_dynamic) {
		wtl_format_measure(text->buf, share->full_uj, share->uncertainty_uj, WTL_FORMAT_J,
				   ascii);
		wtl_buf_puts(text->buf, " full");
		return;
	}
	wtl_format_measure(text->buf, share->dynamic_uj, share->uncertainty_uj, WTL_FORMAT_J,
			   ascii);
	wtl_buf_puts(text->buf, " dynamic, ");
	least = wtl_format_last_digit(share->dynamic_uj, share->uncertainty_uj);
	wtl_format_rounded(text->buf, share->full_uj, last > least ? last : least, scale);
	wtl_buf_printf(text->buf, " %s full", wtl_format_unit(WTL_FORMAT_J, scale, ascii));
}

bool wtl_report_text_command_share(const struct wtl_report_text *text,
				   const struct wtl_report *report)
{
	const struct wtl_report_attribution *attribution = &report->attribution;

	if (!attribution->is_known || !attribution->has_command)
		return false;
	if (text->style->brief)
		wtl_layout_tone(text->buf, WTL_TONE_STRONG, text->style);
	wtl_buf_puts(text->buf, wtl_report_text_is_modelled(report) ? "~ " : "");
	add_share(text, &attribution->command);
	if (text->style->brief)
		wtl_layout_tone_end(text->buf, WTL_TONE_STRONG, text->style);
	return true;
}

static bool has_line(const struct wtl_report_attribution *attribution)
{
	return attribution->is_known && attribution->has_command;
}

bool wtl_report_text_tells_cpu(const struct wtl_report *report)
{
	return has_line(&report->attribution) && report->attribution.command_cpu_ns >= 0;
}

void wtl_report_text_command_energy(const struct wtl_report_text *text,
				    const struct wtl_report *report)
{
	const struct wtl_report_attribution *attribution = &report->attribution;
	size_t start, keep;

	if (!has_line(attribution))
		return;
	start = wtl_report_text_begin_line(text, "command");
	wtl_report_text_command_share(text, report);
	wtl_report_text_put(text, ": %u process%w", attribution->command_processes,
			    attribution->command_processes == 1 ? "" : "es");
	if (attribution->command_cpu_ns >= 0) {
		wtl_buf_puts(text->buf, ", ");
		keep = text->buf->len;
		wtl_report_text_put(text, "CPU time %t", attribution->command_cpu_ns);
		wtl_layout_keep(text->buf, keep);
	}
	wtl_report_text_end_line(text, start);
	if (attribution->command_gpu.full_uj == 0)
		return;
	start = wtl_report_text_begin_line(text, "");
	wtl_buf_puts(text->buf, "of it on GPUs ");
	add_share(text, &attribution->command_gpu);
	wtl_report_text_end_line(text, start);
}

/* ---- The processes ---- */

/* Of a long command, show it from its program's name on: else its directories might be all that fits. */
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

static struct wtl_shares_row process_row(const void *of, size_t i)
{
	const struct wtl_report *report = of;
	const struct wtl_report_process *process = &report->attribution.processes[i];

	return (struct wtl_shares_row){process->all, process->gpu,
				       wtl_consumer_cpu_ns(process->consumer),
				       process->consumer->n_processes, process->per_cpu};
}

static void add_process_head(struct wtl_grid *grid, const void *of)
{
	const struct wtl_report *report = of;

	wtl_grid_cell(grid, "pid");
	wtl_grid_cell(grid, report->attribution.has_command ? "  process (* command)" : "process");
	wtl_grid_cell(grid, "user");
}

/* Empty for CPU time whose processes were not seen. */
static void add_times(struct wtl_grid *grid, uint64_t n)
{
	if (n > 0)
		wtl_buf_printf(&grid->rows, "%s%" PRIu64, grid->style->ascii ? "x" : "×", n);
	wtl_grid_next(grid);
}

static void add_name(struct wtl_grid *grid, const struct wtl_consumer *consumer, bool has_command)
{
	bool is_kernel = consumer->state == WTL_CONSUMER_KERNEL;

	if (has_command)
		wtl_buf_puts(&grid->rows, consumer->is_in_tree ? "* " : "  ");
	wtl_buf_puts(&grid->rows, is_kernel ? "[" : "");
	wtl_layout_text(&grid->rows, telling(wtl_words_consumer(consumer)), grid->style);
	wtl_grid_cell(grid, is_kernel ? "]" : "");
}

static void add_process(struct wtl_grid *grid, const void *of, size_t i)
{
	const struct wtl_report *report = of;
	const struct wtl_report_process *process = &report->attribution.processes[i];
	const struct wtl_consumer *consumer = process->consumer;

	if (consumer->state == WTL_CONSUMER_FOLDED)
		add_times(grid, consumer->n_processes);
	else if (consumer->pid > 0)
		wtl_grid_number(grid, (uint64_t)consumer->pid);
	else
		wtl_grid_cell(grid, "");
	add_name(grid, consumer, report->attribution.has_command);
	wtl_layout_text(&grid->rows, process->user ? process->user : "-", grid->style);
	wtl_layout_cut(&grid->rows, grid->start, USER_COLUMNS, grid->style);
	wtl_grid_next(grid);
}

/* A row that is no consumer has blanks where consumers may have the command's mark. */
static void add_plain_name(struct wtl_grid *grid, const void *of, const char *name,
			   const uint64_t *n)
{
	const struct wtl_report *report = of;

	add_times(grid, n ? *n : 0);
	wtl_buf_puts(&grid->rows, report->attribution.has_command ? "  " : "");
	wtl_grid_cell(grid, name);
	wtl_grid_cell(grid, "");
}

void wtl_report_text_processes(const struct wtl_report_text *text, const struct wtl_report *report)
{
	const struct wtl_report_attribution *attribution = &report->attribution;
	bool has_others = attribution->n_others > 0 || attribution->others.full_uj > 0;
	struct wtl_shares shares = {
		.of = report,
		.n = attribution->n_processes,
		.row = process_row,
		.others = {.all = attribution->others,
			   .cpu_ns = has_others ? attribution->others_cpu_ns : -1,
			   .n_processes = attribution->n_others},
		.has_others = has_others,
		.others_lack_gpu = true,
		.has_sums = true,
		.columns = "rcl",
		.head = add_process_head,
		.cells = add_process,
		.named = add_plain_name,
	};
	struct wtl_ledger total;

	if (!attribution->is_known || !wtl_words_ledger(report, &total) ||
	    !wtl_words_processes_uj(report, &shares.processes_uj) || shares.processes_uj == 0)
		return;
	shares.total_uj = total.total_uj;
	wtl_report_text_shares(text, &shares);
}
