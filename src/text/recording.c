/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/buf.h"
#include "document/format.h"
#include "document/words.h"
#include "energy/units.h"
#include "text/report_text.h"
#include "text/recording_text.h"

/* ---- The head ---- */

static void put_title(const struct wtl_report_text *text, const struct wtl_recording *recording)
{
	size_t start = text->buf->len;

	wtl_report_text_put(text, "wattle: %s: ", recording->path);
	wtl_report_text_words(text, recording->report.command,
			      recording->host[0] ? recording->host : "a machine");
	wtl_report_text_end_title(text, start);
}

static void put_when(const struct wtl_report_text *text, const struct wtl_recording *recording)
{
	const struct wattle_window *window = &recording->report.window;
	int64_t end_utc_ns = recording->end_utc_ns;
	size_t start = wtl_report_text_begin_line(text, "time");
	struct wtl_buf *buf = text->buf;

	wtl_report_text_put(text, "%t, ", window->duration_ns);
	wtl_report_text_local(buf, window->begin_utc_ns);
	wtl_buf_puts(buf, " to ");
	if (wtl_report_text_is_same_day(window->begin_utc_ns, end_utc_ns))
		wtl_report_text_local_clock(buf, end_utc_ns);
	else
		wtl_report_text_local(buf, end_utc_ns);
	wtl_buf_putc(buf, ' ');
	wtl_report_text_zone(buf, end_utc_ns);
	if (recording->is_part)
		wtl_report_text_put(text, ", of %t", recording->span_ns);
	wtl_report_text_usage(text, &recording->report);
	wtl_report_text_end_line(text, start);
}

static void put_made(const struct wtl_report_text *text, const struct wtl_recording *recording)
{
	size_t start = wtl_report_text_begin_line(text, "made"), keep;

	wtl_report_text_put(text, "by wattle%w%s%w%s", recording->version[0] ? " " : "",
			    recording->version, recording->host[0] ? " on " : "", recording->host);
	if (recording->imported[0])
		wtl_report_text_put(text, ", imported from %w", recording->imported);
	if (recording->cpu_model[0])
		wtl_report_text_put(text, " (%s)", recording->cpu_model);
	if (recording->interval_ns > 0) {
		wtl_buf_puts(text->buf, ", ");
		keep = text->buf->len;
		wtl_buf_puts(text->buf, "every ");
		wtl_format_period(text->buf, recording->interval_ns, text->style->ascii);
		wtl_layout_keep(text->buf, keep);
	}
	wtl_report_text_end_line(text, start);
}

/* An intensity that changes: its mean, its range if it is known, and the file that it is from. */
static void put_varying(const struct wtl_report_text *text, const struct wtl_recording *recording)
{
	const struct wtl_emission *emission = &recording->carbon.emission;
	const struct wtl_report *report = &recording->report;
	uint64_t mg_per_kwh = report->carbon.carbon.intensity_mg_per_kwh;
	const char *reason = wtl_words_not_emitted(&report->carbon, &report->window.total);
	size_t start = wtl_report_text_begin_line(text, "carbon");
	struct wtl_buf *buf = text->buf;

	if (reason) {
		wtl_report_text_put(text, "not known: %w (%s)", reason, recording->carbon.file);
		wtl_report_text_end_line(text, start);
		return;
	}
	wtl_report_text_emitted(text, report);
	wtl_format_rounded(buf, mg_per_kwh, wtl_format_last_digit(mg_per_kwh, 0), 3);
	wtl_buf_puts(buf, " g/kWh (");
	if (emission->has_intensity) {
		wtl_format_rounded(buf, emission->least_mg_per_kwh, 3, 3);
		wtl_buf_puts(buf, " to ");
		wtl_format_rounded(buf, emission->greatest_mg_per_kwh, 3, 3);
		wtl_buf_puts(buf, " over the time, ");
	}
	wtl_report_text_put(text, "%s)", recording->carbon.file);
	wtl_report_text_end_line(text, start);
	wtl_report_text_pue(text, &report->carbon);
}

static void put_head(const struct wtl_report_text *text, const struct wtl_recording *recording)
{
	const struct wtl_report *report = &recording->report;
	size_t start;

	put_title(text, recording);
	put_made(text, recording);
	wtl_report_text_energy(text, report);
	wtl_report_text_command_energy(text, report);
	wtl_report_text_idle(text, report->domains, report->n_domains, recording->end_utc_ns);
	if (wtl_report_text_has_policy(&recording->policy)) {
		start = wtl_report_text_begin_line(text, "policy");
		wtl_report_text_policy(text, &recording->policy);
		wtl_report_text_end_line(text, start);
	}
	put_when(text, recording);
	if (recording->carbon.is_varying)
		put_varying(text, recording);
	else if (report->window.total.has_energy)
		wtl_report_text_carbon(text, report);
	wtl_report_text_ended(text, report);
}

/* ---- Remarks on the file ---- */

static void remark_on_file(const struct wtl_report_text *text,
			   const struct wtl_recording *recording)
{
	const struct wtl_emission *emission = &recording->carbon.emission;
	size_t start;

	if (recording->is_live)
		wtl_report_text_remark(text, WTL_TEXT_NOTE,
				       "it is being recorded: the figures are those so far");
	else if (!recording->is_whole)
		wtl_report_text_remark(
			text, WTL_TEXT_DOUBT,
			"the recording was cut off: the figures go to the last look that "
			"was written");
	if (!recording->carbon.is_varying || emission->missing_ns <= 0 ||
	    recording->report.carbon.reason)
		return;
	start = wtl_report_text_begin_remark(text, WTL_TEXT_DOUBT);
	wtl_report_text_put(text, "%s does not cover %t of the time: ", recording->carbon.file,
			    emission->missing_ns);
	wtl_format_measure(text->buf, emission->missing_uj > 0 ? (uint64_t)emission->missing_uj : 0,
			   0, WTL_FORMAT_J, text->style->ascii);
	wtl_buf_puts(text->buf, " are without emissions");
	wtl_report_text_end_remark(text, start);
}

void wtl_report_text_recording_self(const struct wtl_report_text *text,
				    const struct wtl_report_self *self)
{
	wtl_layout_tone(text->buf, WTL_TONE_FAINT, text->style);
	wtl_buf_puts(text->buf, "recording took ");
	wtl_report_text_own(text, self);
	wtl_layout_tone_end(text->buf, WTL_TONE_FAINT, text->style);
	wtl_buf_putc(text->buf, '\n');
}

/* ---- The page ---- */

static int text_recording(struct wtl_buf *buf, const void *what,
			  const struct wtl_output_style *style)
{
	const struct wtl_report_text text = {buf, style, NULL};
	const struct wtl_recording *recording = what;
	const struct wtl_report *report = &recording->report;
	size_t start;

	put_head(&text, recording);
	wtl_buf_putc(buf, '\n');
	wtl_report_text_domains(&text, report);
	wtl_report_text_ledger(&text, report);
	if (!recording->has_by || recording->by == WTL_BY_PROCESS)
		wtl_report_text_processes(&text, report);
	for (size_t i = 0; i < recording->n_groupings; i++)
		wtl_report_text_grouping(&text, recording, &recording->groupings[i]);
	if (!recording->has_by || recording->by == WTL_BY_WINDOW)
		wtl_report_text_windows(&text, recording);
	start = wtl_report_text_begin_remarks(&text);
	wtl_report_text_remarks(&text, report);
	wtl_report_text_gaps(&text, recording);
	remark_on_file(&text, recording);
	wtl_report_text_end_remarks(&text, start);
	/* What another tool itself used is not known. */
	if (!recording->imported[0]) {
		wtl_buf_putc(buf, '\n');
		wtl_report_text_recording_self(&text, &report->self);
	}
	return buf->error;
}

const struct wtl_thing wtl_thing_recording = {wtl_recording_check, wtl_doc_recording,
					      text_recording, true};
