/* SPDX-License-Identifier: MIT */
/* The pages of a run: the full one, the brief one, and that of one line. */
#include "text/report_text.h"

#include <stdint.h>

#include "base/buf.h"
#include "document/words.h"

static void put_energy(const struct wtl_report_text *text, const struct wattle_energy *total)
{
	wtl_format_measure(text->buf, total->energy_uj, total->uncertainty_uj, WTL_FORMAT_J,
			   text->style->ascii);
}

static void put_machine(const struct wtl_report_text *text, const struct wtl_report *report)
{
	static const char *const words[] = {
		[WTL_TEXT_MEASURED] = "",
		[WTL_TEXT_PARTLY] = " (partly modelled)",
		[WTL_TEXT_MODELLED] = " (modelled)",
	};
	const struct wattle_energy *total = &report->window.total;
	size_t start = wtl_report_text_begin_line(text, "machine");

	if (!total->has_energy) {
		wtl_report_text_put(text, "not known: %w", wtl_words_total_reason(total));
		wtl_report_text_end_line(text, start);
		return;
	}
	wtl_buf_puts(text->buf, wtl_report_text_is_modelled(report) ? "~ " : "");
	put_energy(text, total);
	wtl_buf_puts(text->buf, " = ");
	wtl_format_measure(text->buf, wtl_format_uwh(total->energy_uj),
			   wtl_format_uwh(total->uncertainty_uj), WTL_FORMAT_WH,
			   text->style->ascii);
	if (total->has_power) {
		wtl_buf_puts(text->buf, ", mean ");
		wtl_report_text_mean_power(text, total);
	}
	wtl_report_text_put(text, "%w%w", words[wtl_report_text_modelled(report)],
			    wtl_report_text_incomplete(report) ? " (! incomplete)" : "");
	wtl_report_text_end_line(text, start);
}

static void put_carbon(const struct wtl_report_text *text, const struct wtl_report *report)
{
	size_t start = wtl_report_text_begin_line(text, "carbon");

	wtl_report_text_emitted(text, report);
	wtl_report_text_place(text, &report->carbon);
	wtl_buf_putc(text->buf, ')');
	wtl_report_text_end_line(text, start);
	wtl_report_text_pue(text, &report->carbon);
}

void wtl_report_text_best_remark(const struct wtl_report_text *text,
				 const struct wtl_report *report)
{
	struct wtl_report_text_choice choice = {.wanted = SIZE_MAX};
	const struct wtl_report_text chosen = {text->buf, text->style, &choice};
	size_t n;

	wtl_report_text_remarks(&chosen, report);
	n = choice.n;
	if (n == 0 || choice.best_rank == 0)
		return;
	choice = (struct wtl_report_text_choice){.wanted = choice.best, .of = n};
	wtl_report_text_remarks(&chosen, report);
}

static void put_brief(const struct wtl_report_text *text, const struct wtl_report *report)
{
	wtl_report_text_title(text, report->command, "this machine");
	wtl_report_text_command_energy(text, report);
	put_machine(text, report);
	wtl_report_text_time(text, report);
	if (report->window.total.has_energy)
		put_carbon(text, report);
	wtl_report_text_ended(text, report);
	wtl_report_text_best_remark(text, report);
}

static void put_one_line(const struct wtl_report_text *text, const struct wtl_report *report)
{
	const struct wattle_energy *total = &report->window.total;
	size_t start = text->buf->len;

	wtl_buf_puts(text->buf, "wattle: ");
	if (wtl_report_text_command_share(text, report))
		wtl_buf_puts(text->buf, ", machine ");
	if (total->has_energy) {
		wtl_buf_puts(text->buf, wtl_report_text_is_modelled(report) ? "~ " : "");
		put_energy(text, total);
	} else {
		wtl_buf_puts(text->buf, "energy not known");
	}
	wtl_report_text_put(text, ", %t", report->window.duration_ns);
	if (report->has_exit && (report->exit_signal || report->exit_status)) {
		wtl_buf_puts(text->buf, ", ");
		wtl_report_text_end(text->buf, report);
	}
	wtl_layout_wrap(text->buf, start, 0, 2);
}

void wtl_report_text_tables(const struct wtl_report_text *text, const struct wtl_report *report)
{
	size_t start;

	wtl_report_text_domains(text, report);
	wtl_report_text_ledger(text, report);
	wtl_report_text_processes(text, report);
	start = wtl_report_text_begin_remarks(text);
	wtl_report_text_remarks(text, report);
	wtl_report_text_end_remarks(text, start);
	wtl_buf_putc(text->buf, '\n');
	wtl_report_text_self(text, &report->self);
}

static int text_report(struct wtl_buf *buf, const void *what, const struct wtl_output_style *style)
{
	const struct wtl_report_text text = {buf, style, NULL};
	const struct wtl_report *report = what;

	if (style->brief && style->quiet)
		put_one_line(&text, report);
	else if (style->brief)
		put_brief(&text, report);
	if (style->brief)
		return buf->error;
	wtl_report_text_title(&text, report->command, "this machine");
	wtl_report_text_energy(&text, report);
	wtl_report_text_command_energy(&text, report);
	wtl_report_text_idle(&text, report->domains, report->n_domains,
			     wtl_words_end_utc_ns(&report->window));
	wtl_report_text_time(&text, report);
	if (report->window.total.has_energy)
		wtl_report_text_carbon(&text, report);
	wtl_report_text_ended(&text, report);
	wtl_buf_putc(buf, '\n');
	wtl_report_text_tables(&text, report);
	return buf->error;
}

const struct wtl_thing wtl_thing_report = {wtl_ledgers_check, wtl_doc_report, text_report, true};
const struct wtl_thing wtl_thing_doctor = {NULL, wtl_doc_doctor, wtl_report_text_doctor, true};
