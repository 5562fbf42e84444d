/* SPDX-License-Identifier: MIT */
/* The pages of a run: the full one, the brief one, and that of one line. */
#include "text/page.h"

#include <stdint.h>

#include "base/buf.h"
#include "document/words.h"

static void put_energy(const struct wtl_page *page, const struct wattle_energy *total)
{
	wtl_format_measure(page->buf, total->energy_uj, total->uncertainty_uj, WTL_FORMAT_J,
			   page->style->ascii);
}

static void put_machine(const struct wtl_page *page, const struct wtl_report *report)
{
	static const char *const words[] = {
		[WTL_PAGE_MEASURED] = "",
		[WTL_PAGE_PARTLY] = " (partly modelled)",
		[WTL_PAGE_MODELLED] = " (modelled)",
	};
	const struct wattle_energy *total = &report->window.total;
	size_t start = wtl_page_begin_line(page, "machine");

	if (!total->has_energy) {
		wtl_page_put(page, "not known: %w", wtl_words_total_reason(total));
		wtl_page_end_line(page, start);
		return;
	}
	wtl_buf_puts(page->buf, wtl_page_is_modelled(report) ? "~ " : "");
	put_energy(page, total);
	wtl_buf_puts(page->buf, " = ");
	wtl_format_measure(page->buf, wtl_format_uwh(total->energy_uj),
			   wtl_format_uwh(total->uncertainty_uj), WTL_FORMAT_WH,
			   page->style->ascii);
	if (total->has_power) {
		wtl_buf_puts(page->buf, ", mean ");
		wtl_page_mean_power(page, total);
	}
	wtl_page_put(page, "%w%w", words[wtl_page_modelled(report)],
		     wtl_page_incomplete(report) ? " (! incomplete)" : "");
	wtl_page_end_line(page, start);
}

static void put_carbon(const struct wtl_page *page, const struct wtl_report *report)
{
	size_t start = wtl_page_begin_line(page, "carbon");

	wtl_page_emitted(page, report);
	wtl_page_place(page, &report->carbon);
	wtl_buf_putc(page->buf, ')');
	wtl_page_end_line(page, start);
	wtl_page_pue(page, &report->carbon);
}

void wtl_page_best_remark(const struct wtl_page *page, const struct wtl_report *report)
{
	struct wtl_page_choice choice = {.wanted = SIZE_MAX};
	const struct wtl_page chosen = {page->buf, page->style, &choice};
	size_t n;

	wtl_page_remarks(&chosen, report);
	n = choice.n;
	if (n == 0 || choice.best_rank == 0)
		return;
	choice = (struct wtl_page_choice){.wanted = choice.best, .of = n};
	wtl_page_remarks(&chosen, report);
}

static void put_brief(const struct wtl_page *page, const struct wtl_report *report)
{
	wtl_page_title(page, report->command, "this machine");
	wtl_page_command_energy(page, report);
	put_machine(page, report);
	wtl_page_time(page, report);
	if (report->window.total.has_energy)
		put_carbon(page, report);
	wtl_page_ended(page, report);
	wtl_page_best_remark(page, report);
}

static void put_one_line(const struct wtl_page *page, const struct wtl_report *report)
{
	const struct wattle_energy *total = &report->window.total;
	size_t start = page->buf->len;

	wtl_buf_puts(page->buf, "wattle: ");
	if (wtl_page_command_share(page, report))
		wtl_buf_puts(page->buf, ", machine ");
	if (total->has_energy) {
		wtl_buf_puts(page->buf, wtl_page_is_modelled(report) ? "~ " : "");
		put_energy(page, total);
	} else {
		wtl_buf_puts(page->buf, "energy not known");
	}
	wtl_page_put(page, ", %t", report->window.duration_ns);
	if (report->has_exit && (report->exit_signal || report->exit_status)) {
		wtl_buf_puts(page->buf, ", ");
		wtl_page_end(page->buf, report);
	}
	wtl_layout_wrap(page->buf, start, 0, 2);
}

static int text_report(struct wtl_buf *buf, const void *what, const struct wtl_output_style *style)
{
	const struct wtl_page page = {buf, style, NULL};
	const struct wtl_report *report = what;
	size_t start;

	if (style->brief && style->quiet)
		put_one_line(&page, report);
	else if (style->brief)
		put_brief(&page, report);
	if (style->brief)
		return buf->error;
	wtl_page_title(&page, report->command, "this machine");
	wtl_page_energy(&page, report);
	wtl_page_command_energy(&page, report);
	wtl_page_idle(&page, report->domains, report->n_domains,
		      wtl_words_end_utc_ns(&report->window));
	wtl_page_time(&page, report);
	if (report->window.total.has_energy)
		wtl_page_carbon(&page, report);
	wtl_page_ended(&page, report);
	wtl_buf_putc(buf, '\n');
	wtl_page_domains(&page, report);
	wtl_page_ledger(&page, report);
	wtl_page_processes(&page, report);
	start = wtl_page_begin_remarks(&page);
	wtl_page_remarks(&page, report);
	wtl_page_end_remarks(&page, start);
	wtl_buf_putc(buf, '\n');
	wtl_page_self(&page, &report->self);
	return buf->error;
}

const struct wtl_thing wtl_thing_report = {wtl_ledgers_check, wtl_doc_report, text_report, true};
const struct wtl_thing wtl_thing_doctor = {NULL, wtl_doc_doctor, wtl_page_doctor, true};
