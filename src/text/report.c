/* SPDX-License-Identifier: MIT */
#include "document/report.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "document/format.h"
#include "text/layout.h"
#include "text/page.h"
#include "document/words.h"

enum { LINE_MAX_BYTES = 1 << 23 };

int wtl_page_command(struct wtl_buf *buf, const struct wtl_report *report,
		     const struct wtl_output_style *style)
{
	size_t start = buf->len;

	wtl_buf_puts(buf, "wattle: ");
	wtl_page_words(buf, report->command, "this machine", style);
	return wtl_page_end_title(buf, start, style);
}

bool wtl_page_end(struct wtl_buf *buf, const struct wtl_report *report)
{
	const char *name = wtl_words_signal(report->exit_signal);

	if (report->exit_signal > 0 && name)
		wtl_buf_printf(buf, "killed by %s", name);
	else if (report->exit_signal > 0)
		wtl_buf_printf(buf, "killed by signal %d", report->exit_signal);
	else if (report->has_exit && report->exit_status != 0)
		wtl_buf_printf(buf, "exit status %d", report->exit_status);
	else
		return false;
	return true;
}

void wtl_page_add_pue(struct wtl_buf *buf, uint32_t pue_milli)
{
	wtl_buf_puts(buf, "with PUE ");
	wtl_format_fixed(buf, pue_milli, 3);
	while (buf->len > 0 && strchr("0.", buf->data[buf->len - 1])) {
		bool was_point = buf->data[buf->len - 1] == '.';

		wtl_layout_truncate(buf, buf->len - 1);
		if (was_point)
			break;
	}
}

int wtl_page_pue(struct wtl_buf *buf, const struct wtl_report_carbon *carbon,
		 const struct wtl_output_style *style)
{
	if (carbon->pue_milli == 0)
		return buf->error;
	wtl_page_label(buf, "");
	wtl_format_measure(buf, wtl_words_with_pue(carbon),
			   wtl_format_share(carbon->uncertainty_ug, carbon->pue_milli, 1000),
			   WTL_FORMAT_G, style->ascii);
	wtl_buf_putc(buf, ' ');
	wtl_page_add_pue(buf, carbon->pue_milli);
	return wtl_buf_puts(buf, ", which is not in the energies\n");
}

void wtl_page_intensity(struct wtl_buf *buf, const struct wtl_report_carbon *carbon,
			const struct wtl_output_style *style)
{
	const struct wattle_carbon *grid = &carbon->carbon;

	wtl_format_rounded(buf, grid->intensity_mg_per_kwh,
			   wtl_format_last_digit(grid->intensity_mg_per_kwh, 0), 3);
	wtl_buf_puts(buf, " g/kWh (");
	if (carbon->is_default)
		wtl_buf_puts(buf, "world average");
	else if (grid->year)
		wtl_layout_text(buf, grid->location, style);
	else
		wtl_buf_puts(buf, "as given");
	if (grid->dataset[0] && (carbon->is_default || grid->year)) {
		wtl_buf_puts(buf, ", ");
		wtl_layout_text(buf, grid->dataset, style);
	}
	if (grid->year)
		wtl_buf_printf(buf, ", %" PRIu32, grid->year);
	wtl_buf_putc(buf, ')');
}

int wtl_page_carbon(struct wtl_buf *buf, const struct wtl_report *report,
		    const struct wtl_output_style *style)
{
	struct wtl_buf line;

	wtl_buf_init(&line, LINE_MAX_BYTES);
	wtl_page_emitted(&line, report, style);
	wtl_page_intensity(&line, &report->carbon, style);
	wtl_page_line(buf, "carbon", &line);
	return wtl_page_pue(buf, &report->carbon, style);
}

/* What the reader must know even if the rest of the page stays unread. */
static void put_caveats(struct wtl_buf *buf, const struct wtl_report *report)
{
	static const char *const words[] = {
		[WTL_PAGE_MEASURED] = "",
		[WTL_PAGE_PARTLY] = "~ partly modelled",
		[WTL_PAGE_MODELLED] = "~ modelled, not measured",
	};
	enum wtl_page_modelled modelled = wtl_page_modelled(report->domains, report->n_domains);
	bool incomplete = wtl_page_incomplete(report);

	if (modelled == WTL_PAGE_MEASURED && !incomplete)
		return;
	wtl_buf_printf(buf, "  (%s%s%s)", words[modelled],
		       modelled != WTL_PAGE_MEASURED && incomplete ? ", " : "",
		       incomplete ? "! incomplete" : "");
}

void wtl_page_energy(struct wtl_buf *buf, const struct wtl_report *report,
		     const struct wtl_output_style *style)
{
	const struct wattle_energy *total = &report->window.total;

	wtl_page_label(buf, "energy");
	if (!total->has_energy) {
		wtl_buf_printf(buf, "not known: %s\n", wtl_words_total_reason(total));
		return;
	}
	wtl_layout_tone(buf, WTL_TONE_STRONG, style);
	if (wtl_page_is_modelled(report))
		wtl_buf_puts(buf, "~ ");
	wtl_format_measure(buf, total->energy_uj, total->uncertainty_uj, WTL_FORMAT_J,
			   style->ascii);
	wtl_layout_tone_end(buf, WTL_TONE_STRONG, style);
	wtl_buf_puts(buf, "  =  ");
	wtl_format_measure(buf, wtl_format_uwh(total->energy_uj),
			   wtl_format_uwh(total->uncertainty_uj), WTL_FORMAT_WH, style->ascii);
	put_caveats(buf, report);
	wtl_buf_putc(buf, '\n');
	if (!total->has_power)
		return;
	wtl_page_label(buf, "power");
	wtl_format_measure(
		buf, total->mean_uw,
		wtl_format_share(total->mean_uw, total->uncertainty_uj, total->energy_uj),
		WTL_FORMAT_W, style->ascii);
	wtl_buf_puts(buf, " mean\n");
}

void wtl_page_usage(struct wtl_buf *buf, const struct wtl_report *report,
		    const struct wtl_output_style *style)
{
	if (report->command && report->command_cpu_ns >= 0 && !wtl_page_tells_cpu(report)) {
		wtl_buf_puts(buf, ", CPU time ");
		wtl_format_duration(buf, report->command_cpu_ns, style->ascii);
	}
	if (report->command_rss_bytes) {
		wtl_buf_puts(buf, ", peak memory ");
		wtl_format_bytes(buf, report->command_rss_bytes);
	}
}

static void put_time(struct wtl_buf *buf, const struct wtl_report *report,
		     const struct wtl_output_style *style)
{
	wtl_page_label(buf, "time");
	wtl_format_duration(buf, report->window.duration_ns, style->ascii);
	wtl_page_usage(buf, report, style);
	wtl_buf_putc(buf, '\n');
	if (style->verbose) {
		wtl_page_label(buf, "began");
		wtl_format_utc(buf, report->window.begin_utc_ns);
		wtl_buf_putc(buf, '\n');
	}
}

int wtl_page_end_line(struct wtl_buf *buf, const struct wtl_report *report)
{
	size_t start = buf->len;

	wtl_page_label(buf, "ended");
	if (wtl_page_end(buf, report))
		wtl_buf_puts(buf, report->interrupted ? ", measurement interrupted\n" : "\n");
	else if (report->interrupted)
		wtl_buf_puts(buf, "interrupted: the figures are those of what ran\n");
	else
		wtl_layout_truncate(buf, start);
	return buf->error;
}

void wtl_page_self(struct wtl_buf *buf, const struct wtl_report_self *self,
		   const struct wtl_output_style *style)
{
	wtl_layout_tone(buf, WTL_TONE_FAINT, style);
	wtl_buf_puts(buf, "wattle itself: ");
	wtl_page_own(buf, self, style);
	wtl_buf_printf(buf, ", %" PRIu64 " samples", self->ticks);
	if (self->late_ticks)
		wtl_buf_printf(buf, " (%" PRIu64 " late)", self->late_ticks);
	wtl_layout_tone_end(buf, WTL_TONE_FAINT, style);
	wtl_buf_putc(buf, '\n');
}

static int text_report(struct wtl_buf *buf, const void *what, const struct wtl_output_style *style)
{
	const struct wtl_report *report = what;

	wtl_page_command(buf, report, style);
	wtl_page_energy(buf, report, style);
	wtl_page_command_energy(buf, report, style);
	wtl_page_idle(buf, report->domains, report->n_domains,
		      wtl_words_end_utc_ns(&report->window), style);
	put_time(buf, report, style);
	if (report->window.total.has_energy)
		wtl_page_carbon(buf, report, style);
	wtl_page_end_line(buf, report);
	wtl_buf_putc(buf, '\n');
	wtl_page_domains(buf, report, style);
	wtl_page_ledger(buf, report, style);
	wtl_page_processes(buf, report, style);
	wtl_page_remarks(buf, report, style);
	wtl_buf_putc(buf, '\n');
	wtl_page_self(buf, &report->self, style);
	return buf->error;
}

const struct wtl_thing wtl_thing_report = {wtl_ledgers_check, wtl_doc_report, text_report, true};
const struct wtl_thing wtl_thing_doctor = {NULL, wtl_doc_doctor, wtl_page_doctor, true};
