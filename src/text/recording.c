/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/buf.h"
#include "document/format.h"
#include "document/words.h"
#include "energy/units.h"
#include "text/page.h"
#include "text/recording_page.h"

/* ---- The head ---- */

static void put_title(const struct wtl_page *page, const struct wtl_recording *recording)
{
	size_t start = page->buf->len;

	wtl_page_put(page, "wattle: %s: ", recording->path);
	wtl_page_words(page, recording->report.command,
		       recording->host[0] ? recording->host : "a machine");
	wtl_page_end_title(page, start);
}

static void put_when(const struct wtl_page *page, const struct wtl_recording *recording)
{
	const struct wattle_window *window = &recording->report.window;
	int64_t end_utc_ns = recording->end_utc_ns;
	size_t start = wtl_page_begin_line(page, "time");
	struct wtl_buf *buf = page->buf;

	wtl_page_put(page, "%t, ", window->duration_ns);
	wtl_page_local(buf, window->begin_utc_ns);
	wtl_buf_puts(buf, " to ");
	if (wtl_page_is_same_day(window->begin_utc_ns, end_utc_ns))
		wtl_page_local_clock(buf, end_utc_ns);
	else
		wtl_page_local(buf, end_utc_ns);
	wtl_buf_putc(buf, ' ');
	wtl_page_zone(buf, end_utc_ns);
	if (recording->is_part)
		wtl_page_put(page, ", of %t", recording->span_ns);
	wtl_page_usage(page, &recording->report);
	wtl_page_end_line(page, start);
}

static void put_made(const struct wtl_page *page, const struct wtl_recording *recording)
{
	size_t start = wtl_page_begin_line(page, "made"), keep;

	wtl_page_put(page, "by wattle%w%s%w%s", recording->version[0] ? " " : "",
		     recording->version, recording->host[0] ? " on " : "", recording->host);
	if (recording->imported[0])
		wtl_page_put(page, ", imported from %w", recording->imported);
	if (recording->cpu_model[0])
		wtl_page_put(page, " (%s)", recording->cpu_model);
	if (recording->interval_ns > 0) {
		wtl_buf_puts(page->buf, ", ");
		keep = page->buf->len;
		wtl_buf_puts(page->buf, "every ");
		wtl_format_period(page->buf, recording->interval_ns, page->style->ascii);
		wtl_layout_keep(page->buf, keep);
	}
	wtl_page_end_line(page, start);
}

/* An intensity that changes: from where to where, or that the file does not say. */
static void put_varying(const struct wtl_page *page, const struct wtl_recording *recording)
{
	const struct wtl_emission *emission = &recording->carbon.emission;
	const struct wtl_report *report = &recording->report;
	uint64_t mg_per_kwh = report->carbon.carbon.intensity_mg_per_kwh;
	const char *reason = wtl_words_not_emitted(&report->carbon, &report->window.total);
	size_t start = wtl_page_begin_line(page, "carbon");
	struct wtl_buf *buf = page->buf;

	if (reason) {
		wtl_page_put(page, "not known: %w (%s)", reason, recording->carbon.file);
		wtl_page_end_line(page, start);
		return;
	}
	wtl_page_emitted(page, report);
	wtl_format_rounded(buf, mg_per_kwh, wtl_format_last_digit(mg_per_kwh, 0), 3);
	wtl_buf_puts(buf, " g/kWh (");
	if (emission->has_intensity) {
		wtl_format_rounded(buf, emission->least_mg_per_kwh, 3, 3);
		wtl_buf_puts(buf, " to ");
		wtl_format_rounded(buf, emission->greatest_mg_per_kwh, 3, 3);
		wtl_buf_puts(buf, " over the time, ");
	}
	wtl_page_put(page, "%s)", recording->carbon.file);
	wtl_page_end_line(page, start);
	wtl_page_pue(page, &report->carbon);
}

static void put_head(const struct wtl_page *page, const struct wtl_recording *recording)
{
	const struct wtl_report *report = &recording->report;
	size_t start;

	put_title(page, recording);
	put_made(page, recording);
	wtl_page_energy(page, report);
	wtl_page_command_energy(page, report);
	wtl_page_idle(page, report->domains, report->n_domains, recording->end_utc_ns);
	if (wtl_page_has_policy(&recording->policy)) {
		start = wtl_page_begin_line(page, "policy");
		wtl_page_policy(page, &recording->policy);
		wtl_page_end_line(page, start);
	}
	put_when(page, recording);
	if (recording->carbon.is_varying)
		put_varying(page, recording);
	else if (report->window.total.has_energy)
		wtl_page_carbon(page, report);
	wtl_page_ended(page, report);
}

/* ---- What is to be known of the file ---- */

static void remark_on_file(const struct wtl_page *page, const struct wtl_recording *recording)
{
	const struct wtl_emission *emission = &recording->carbon.emission;
	size_t start;

	if (recording->is_live)
		wtl_page_remark(page, WTL_PAGE_NOTE,
				"it is being recorded: the figures are those so far");
	else if (!recording->is_whole)
		wtl_page_remark(page, WTL_PAGE_DOUBT,
				"the recording was cut off: the figures go to the last look that "
				"was written");
	if (!recording->carbon.is_varying || emission->missing_ns <= 0 ||
	    recording->report.carbon.reason)
		return;
	start = wtl_page_begin_remark(page, WTL_PAGE_DOUBT);
	wtl_page_put(page, "%s does not cover %t of the time: ", recording->carbon.file,
		     emission->missing_ns);
	wtl_format_measure(page->buf, emission->missing_uj > 0 ? (uint64_t)emission->missing_uj : 0,
			   0, WTL_FORMAT_J, page->style->ascii);
	wtl_buf_puts(page->buf, " are without emissions");
	wtl_page_end_remark(page, start);
}

void wtl_page_recording_self(const struct wtl_page *page, const struct wtl_report_self *self)
{
	wtl_layout_tone(page->buf, WTL_TONE_FAINT, page->style);
	wtl_buf_puts(page->buf, "recording took ");
	wtl_page_own(page, self);
	wtl_layout_tone_end(page->buf, WTL_TONE_FAINT, page->style);
	wtl_buf_putc(page->buf, '\n');
}

/* ---- The page ---- */

static int text_recording(struct wtl_buf *buf, const void *what,
			  const struct wtl_output_style *style)
{
	const struct wtl_page page = {buf, style, NULL};
	const struct wtl_recording *recording = what;
	const struct wtl_report *report = &recording->report;
	size_t start;

	put_head(&page, recording);
	wtl_buf_putc(buf, '\n');
	wtl_page_domains(&page, report);
	wtl_page_ledger(&page, report);
	if (!recording->has_by || recording->by == WTL_BY_PROCESS)
		wtl_page_processes(&page, report);
	for (size_t i = 0; i < recording->n_groupings; i++)
		wtl_page_grouping(&page, recording, &recording->groupings[i]);
	if (!recording->has_by || recording->by == WTL_BY_WINDOW)
		wtl_page_windows(&page, recording);
	start = wtl_page_begin_remarks(&page);
	wtl_page_remarks(&page, report);
	wtl_page_gaps(&page, recording);
	remark_on_file(&page, recording);
	wtl_page_end_remarks(&page, start);
	/* What another tool took is not known. */
	if (!recording->imported[0]) {
		wtl_buf_putc(buf, '\n');
		wtl_page_recording_self(&page, &report->self);
	}
	return buf->error;
}

const struct wtl_thing wtl_thing_recording = {wtl_recording_check, wtl_doc_recording,
					      text_recording, true};
