/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "energy/units.h"
#include "document/format.h"
#include "text/layout.h"
#include "text/page.h"
#include "text/recording_page.h"
#include "document/words.h"

enum { LINE_MAX_BYTES = 1 << 20 };

/* ---- The head ---- */

static void put_title(struct wtl_buf *buf, const struct wtl_recording *recording,
		      const struct wtl_output_style *style)
{
	const struct wtl_report *report = &recording->report;
	size_t start = buf->len;

	wtl_buf_puts(buf, "wattle: ");
	wtl_layout_text(buf, recording->path, style);
	wtl_buf_puts(buf, ": ");
	wtl_page_words(buf, report->command, recording->host[0] ? recording->host : "a machine",
		       style);
	wtl_page_end_title(buf, start, style);
}

static void put_when(struct wtl_buf *buf, const struct wtl_recording *recording,
		     const struct wtl_output_style *style)
{
	const struct wattle_window *window = &recording->report.window;
	int64_t end_utc_ns = recording->end_utc_ns;
	struct wtl_buf line;

	wtl_buf_init(&line, LINE_MAX_BYTES);
	wtl_format_duration(&line, window->duration_ns, style->ascii);
	wtl_buf_puts(&line, ", ");
	wtl_page_local(&line, window->begin_utc_ns);
	wtl_buf_puts(&line, " to ");
	if (wtl_page_is_same_day(window->begin_utc_ns, end_utc_ns))
		wtl_page_local_clock(&line, end_utc_ns);
	else
		wtl_page_local(&line, end_utc_ns);
	wtl_buf_putc(&line, ' ');
	wtl_page_zone(&line, end_utc_ns);
	if (recording->is_part) {
		wtl_buf_puts(&line, ", of ");
		wtl_format_duration(&line, recording->span_ns, style->ascii);
	}
	wtl_page_usage(&line, &recording->report, style);
	wtl_page_line(buf, "time", &line);
}

int wtl_page_recording(struct wtl_buf *buf, const struct wtl_recording *recording,
		       const struct wtl_output_style *style)
{
	struct wtl_buf line;

	wtl_buf_init(&line, LINE_MAX_BYTES);
	wtl_buf_puts(&line, "by wattle");
	if (recording->version[0]) {
		wtl_buf_putc(&line, ' ');
		wtl_layout_text(&line, recording->version, style);
	}
	if (recording->host[0]) {
		wtl_buf_puts(&line, " on ");
		wtl_layout_text(&line, recording->host, style);
	}
	if (recording->cpu_model[0]) {
		wtl_buf_puts(&line, " (");
		wtl_layout_text(&line, recording->cpu_model, style);
		wtl_buf_putc(&line, ')');
	}
	if (recording->interval_ns > 0) {
		size_t start;

		wtl_buf_puts(&line, ", ");
		start = line.len;
		wtl_buf_puts(&line, "every ");
		wtl_format_period(&line, recording->interval_ns, style->ascii);
		wtl_layout_keep(&line, start);
	}
	wtl_page_line(buf, "made", &line);
	return buf->error;
}

/* An intensity that changes: from where to where, or that the file does not say. */
static void put_varying(struct wtl_buf *buf, const struct wtl_recording *recording,
			const struct wtl_output_style *style)
{
	const struct wtl_emission *emission = &recording->carbon.emission;
	const struct wtl_report *report = &recording->report;
	uint64_t mg_per_kwh = report->carbon.carbon.intensity_mg_per_kwh;
	const char *reason = wtl_words_not_emitted(&report->carbon, &report->window.total);
	struct wtl_buf line;

	wtl_buf_init(&line, LINE_MAX_BYTES);
	if (reason) {
		wtl_buf_printf(&line, "not known: %s (", reason);
		wtl_layout_text(&line, recording->carbon.file, style);
		wtl_buf_putc(&line, ')');
		wtl_page_line(buf, "carbon", &line);
		return;
	}
	wtl_page_emitted(&line, report, style);
	wtl_format_rounded(&line, mg_per_kwh, wtl_format_last_digit(mg_per_kwh, 0), 3);
	wtl_buf_puts(&line, " g/kWh (");
	if (emission->has_intensity) {
		wtl_format_rounded(&line, emission->least_mg_per_kwh, 3, 3);
		wtl_buf_puts(&line, " to ");
		wtl_format_rounded(&line, emission->greatest_mg_per_kwh, 3, 3);
		wtl_buf_puts(&line, " over the time, ");
	}
	wtl_layout_text(&line, recording->carbon.file, style);
	wtl_buf_putc(&line, ')');
	wtl_page_line(buf, "carbon", &line);
	wtl_page_pue(buf, &report->carbon, style);
}

static void put_policy(struct wtl_buf *buf, const struct wtl_recording *recording,
		       const struct wtl_output_style *style)
{
	struct wtl_buf line;

	wtl_buf_init(&line, LINE_MAX_BYTES);
	if (wtl_page_policy(&line, &recording->policy, style))
		wtl_page_line(buf, "policy", &line);
	else
		wtl_layout_close(&line, buf);
}

static void put_head(struct wtl_buf *buf, const struct wtl_recording *recording,
		     const struct wtl_output_style *style)
{
	const struct wtl_report *report = &recording->report;

	put_title(buf, recording, style);
	wtl_page_recording(buf, recording, style);
	wtl_page_energy(buf, report, style);
	wtl_page_command_energy(buf, report, style);
	wtl_page_idle(buf, report->domains, report->n_domains, recording->end_utc_ns, style);
	put_policy(buf, recording, style);
	put_when(buf, recording, style);
	if (recording->carbon.is_varying)
		put_varying(buf, recording, style);
	else if (report->window.total.has_energy)
		wtl_page_carbon(buf, report, style);
	wtl_page_end_line(buf, report);
}

/* ---- What is to be known of the file ---- */

static void remark_on_file(struct wtl_buf *buf, const struct wtl_recording *recording,
			   const struct wtl_output_style *style)
{
	const struct wtl_emission *emission = &recording->carbon.emission;
	struct wtl_buf line;

	if (recording->is_live)
		wtl_page_remark(buf, WTL_PAGE_NOTE,
				"it is being recorded: the figures are those so far", style);
	else if (!recording->is_whole)
		wtl_page_remark(
			buf, WTL_PAGE_DOUBT,
			"the recording was cut off: the figures go to the last look that was written",
			style);
	if (!recording->carbon.is_varying || emission->missing_ns <= 0 ||
	    recording->report.carbon.reason)
		return;
	wtl_buf_init(&line, LINE_MAX_BYTES);
	wtl_layout_text(&line, recording->carbon.file, style);
	wtl_buf_puts(&line, " does not cover ");
	wtl_format_duration(&line, emission->missing_ns, style->ascii);
	wtl_buf_puts(&line, " of the time: ");
	wtl_format_measure(&line, emission->missing_uj > 0 ? (uint64_t)emission->missing_uj : 0, 0,
			   WTL_FORMAT_J, style->ascii);
	wtl_buf_puts(&line, " are without emissions");
	wtl_page_remark(buf, WTL_PAGE_DOUBT, wtl_buf_str(&line), style);
	wtl_layout_close(&line, buf);
}

/* One paragraph of them, if any. */
static void put_remarks(struct wtl_buf *buf, const struct wtl_recording *recording,
			const struct wtl_output_style *style)
{
	size_t before = buf->len, start;

	wtl_page_remarks(buf, &recording->report, style);
	if (buf->len == before)
		wtl_buf_putc(buf, '\n');
	start = buf->len;
	wtl_page_gaps(buf, recording, style);
	remark_on_file(buf, recording, style);
	if (start == before + 1 && buf->len == start)
		wtl_layout_truncate(buf, before);
}

void wtl_page_recording_self(struct wtl_buf *buf, const struct wtl_report_self *self,
			     const struct wtl_output_style *style)
{
	wtl_layout_tone(buf, WTL_TONE_FAINT, style);
	wtl_buf_puts(buf, "recording took ");
	wtl_page_own(buf, self, style);
	wtl_layout_tone_end(buf, WTL_TONE_FAINT, style);
	wtl_buf_putc(buf, '\n');
}

/* ---- The page ---- */

static int text_recording(struct wtl_buf *buf, const void *what,
			  const struct wtl_output_style *style)
{
	const struct wtl_recording *recording = what;
	const struct wtl_report *report = &recording->report;

	put_head(buf, recording, style);
	wtl_buf_putc(buf, '\n');
	wtl_page_domains(buf, report, style);
	wtl_page_ledger(buf, report, style);
	if (!recording->has_by || recording->by == WTL_BY_PROCESS)
		wtl_page_processes(buf, report, style);
	for (size_t i = 0; i < recording->n_groupings; i++)
		wtl_page_grouping(buf, recording, &recording->groupings[i], style);
	if (!recording->has_by || recording->by == WTL_BY_WINDOW)
		wtl_page_windows(buf, recording, style);
	put_remarks(buf, recording, style);
	wtl_buf_putc(buf, '\n');
	wtl_page_recording_self(buf, &report->self, style);
	return buf->error;
}

const struct wtl_thing wtl_thing_recording = {wtl_recording_check, wtl_doc_recording,
					      text_recording, true};
