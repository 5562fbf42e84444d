/* SPDX-License-Identifier: MIT */
/* What keeps figures of several recordings, or runs, from being compared as they stand. */
#include <string.h>

#include "base/buf.h"
#include "document/format.h"
#include "text/layout.h"
#include "text/page.h"
#include "text/recording_page.h"
#include "document/words.h"

enum { LINE_MAX_BYTES = 1 << 20, NAMES_MAX = 6, TOLD_MAX = 5, CARBON_MAX = 4 };

static const struct wtl_report *report_of(const struct wtl_page_several *several, size_t i)
{
	return several->report(several->of, i);
}

static void put_label(struct wtl_buf *line, const struct wtl_page_several *several, size_t i)
{
	wtl_buf_printf(line, "%s%zu%s", several->before, i + 1, several->after);
}

static void end_line(struct wtl_buf *buf, struct wtl_buf *line, enum wtl_page_bullet bullet,
		     const struct wtl_output_style *style)
{
	wtl_page_remark(buf, bullet, wtl_buf_str(line), style);
	wtl_layout_close(line, buf);
}

/* ---- The file ---- */

static void remark_part(struct wtl_buf *buf, const char *label,
			const struct wtl_recording *recording, const struct wtl_output_style *style)
{
	struct wtl_buf line;

	wtl_buf_init(&line, LINE_MAX_BYTES);
	wtl_layout_text(&line, label, style);
	wtl_buf_puts(&line, " is told in part: ");
	wtl_format_duration(&line, recording->report.window.duration_ns, style->ascii);
	wtl_buf_puts(&line, " of ");
	wtl_format_duration(&line, recording->span_ns, style->ascii);
	end_line(buf, &line, WTL_PAGE_NOTE, style);
}

/* Those of it that leave a figure as it is, too: the machine was not what it was in the others. */
static void remark_gaps(struct wtl_buf *buf, const char *label,
			const struct wtl_recording *recording, const struct wtl_output_style *style)
{
	struct wtl_buf line;

	wtl_buf_init(&line, LINE_MAX_BYTES);
	wtl_layout_text(&line, label, style);
	if (recording->n_gaps == 1) {
		wtl_buf_puts(&line, " has a gap: ");
		wtl_layout_text(&line,
				recording->gaps[0].text && recording->gaps[0].text[0]
					? recording->gaps[0].text
					: recording->gaps[0].kind,
				style);
	} else {
		wtl_buf_printf(&line, " has %zu gaps: wattle report of it alone tells them",
			       recording->n_gaps);
	}
	end_line(buf, &line, WTL_PAGE_DOUBT, style);
}

void wtl_page_file_remarks(struct wtl_buf *buf, const char *label,
			   const struct wtl_recording *recording,
			   const struct wtl_output_style *style)
{
	struct wtl_buf line;

	if (recording->is_live || !recording->is_whole) {
		wtl_buf_init(&line, LINE_MAX_BYTES);
		wtl_layout_text(&line, label, style);
		wtl_buf_puts(&line, recording->is_live
					    ? " is being recorded: its figures are those so far"
					    : " was cut off: its figures go to the last look that "
					      "was written");
		end_line(buf, &line, recording->is_live ? WTL_PAGE_NOTE : WTL_PAGE_DOUBT, style);
	}
	if (recording->is_part)
		remark_part(buf, label, recording, style);
	if (recording->n_gaps > 0)
		remark_gaps(buf, label, recording, style);
}

/* ---- Energy that is missing ---- */

static bool has_gap(const struct wtl_report_domain *domain)
{
	return domain->domain.in_total && domain->energy.has_energy && domain->energy.gap_ns > 0;
}

/* Returns how many there are. */
static size_t add_names(struct wtl_buf *line, const struct wtl_report *report,
			bool (*has)(const struct wtl_report_domain *domain),
			const struct wtl_output_style *style)
{
	size_t n = 0;

	for (size_t i = 0; i < report->n_domains; i++) {
		if (!has(&report->domains[i]))
			continue;
		if (n < NAMES_MAX) {
			wtl_buf_puts(line, n > 0 ? ", " : "");
			wtl_layout_text(line, report->domains[i].domain.name, style);
		}
		n++;
	}
	if (n > NAMES_MAX)
		wtl_buf_printf(line, " and %zu more", n - NAMES_MAX);
	return n;
}

static void remark_names(struct wtl_buf *buf, const struct wtl_page_several *several, size_t i,
			 const char *verb, bool (*has)(const struct wtl_report_domain *domain),
			 const struct wtl_output_style *style)
{
	struct wtl_buf line;

	wtl_buf_init(&line, LINE_MAX_BYTES);
	wtl_buf_puts(&line, "the total of ");
	put_label(&line, several, i);
	wtl_buf_puts(&line, verb);
	if (add_names(&line, report_of(several, i), has, style) > 0)
		wtl_page_remark(buf, WTL_PAGE_DOUBT, wtl_buf_str(&line), style);
	wtl_layout_close(&line, buf);
}

void wtl_page_energy_remarks(struct wtl_buf *buf, const struct wtl_page_several *several,
			     const struct wtl_output_style *style)
{
	struct wtl_buf line;
	size_t n = 0;

	for (size_t i = 0; i < several->n; i++) {
		const struct wtl_report *report = report_of(several, i);

		if (!report->window.total.has_energy || !wtl_page_incomplete(report) ||
		    n++ >= TOLD_MAX)
			continue;
		remark_names(buf, several, i, " lacks ", wtl_page_lacks, style);
		remark_names(buf, several, i, " lacks stretches of ", has_gap, style);
	}
	if (n <= TOLD_MAX)
		return;
	wtl_buf_init(&line, LINE_MAX_BYTES);
	wtl_buf_printf(&line, "%zu more lack energy", n - TOLD_MAX);
	end_line(buf, &line, WTL_PAGE_DOUBT, style);
}

/* ---- Emissions ---- */

static bool has_emissions(const struct wtl_report *report)
{
	return !wtl_words_not_all_emitted(&report->carbon, &report->window.total);
}

static bool is_new_intensity(const struct wtl_page_several *several, size_t i)
{
	uint64_t own = report_of(several, i)->carbon.carbon.intensity_mg_per_kwh;

	for (size_t k = 0; k < i; k++)
		if (has_emissions(report_of(several, k)) &&
		    report_of(several, k)->carbon.carbon.intensity_mg_per_kwh == own)
			return false;
	return has_emissions(report_of(several, i));
}

static void remark_intensities(struct wtl_buf *buf, const struct wtl_page_several *several,
			       const struct wtl_output_style *style)
{
	const struct wtl_report_carbon *first = NULL;
	struct wtl_buf line;
	size_t n = 0;

	wtl_buf_init(&line, LINE_MAX_BYTES);
	wtl_buf_puts(&line, "CO2e is not at one intensity: ");
	for (size_t i = 0; i < several->n; i++) {
		const struct wtl_report_carbon *carbon = &report_of(several, i)->carbon;

		if (!is_new_intensity(several, i))
			continue;
		if (n < CARBON_MAX) {
			wtl_buf_puts(&line, n > 0 ? ", " : "");
			wtl_page_intensity(&line, carbon, style);
			wtl_buf_puts(&line, " in ");
			put_label(&line, several, i);
		}
		first = first ? first : carbon;
		n++;
	}
	if (n > CARBON_MAX)
		wtl_buf_printf(&line, " and %zu more", n - CARBON_MAX);
	if (n == 1) {
		wtl_buf_clear(&line);
		wtl_buf_puts(&line, "CO2e is at ");
		wtl_page_intensity(&line, first, style);
	}
	if (n > 0)
		wtl_page_remark(buf, n > 1 ? WTL_PAGE_DOUBT : WTL_PAGE_NOTE, wtl_buf_str(&line),
				style);
	wtl_layout_close(&line, buf);
}

static void note_varying(struct wtl_buf *buf, const struct wtl_page_several *several,
			 const char *file, const struct wtl_output_style *style)
{
	struct wtl_buf line;
	bool has = false;

	for (size_t i = 0; i < several->n; i++)
		has |= has_emissions(report_of(several, i));
	if (!has)
		return;
	wtl_buf_init(&line, LINE_MAX_BYTES);
	wtl_buf_puts(&line, "CO2e is at the intensities over the time in ");
	wtl_layout_text(&line, file, style);
	end_line(buf, &line, WTL_PAGE_NOTE, style);
}

void wtl_page_carbon_remarks(struct wtl_buf *buf, const struct wtl_page_several *several,
			     const struct wtl_recording *first,
			     const struct wtl_output_style *style)
{
	if (first && first->carbon.is_varying)
		note_varying(buf, several, first->carbon.file, style);
	else
		remark_intensities(buf, several, style);
	for (size_t i = 0; i < several->n; i++)
		if (report_of(several, i)->carbon.pue_milli &&
		    has_emissions(report_of(several, i))) {
			wtl_page_remark(buf, WTL_PAGE_NOTE, "CO2e is told without PUE", style);
			return;
		}
}

bool wtl_page_policy(struct wtl_buf *line, const struct wtl_recording_policy *policy,
		     const struct wtl_output_style *style)
{
	bool is_recorded = !policy->idle || strcmp(policy->idle, "recorded") == 0;

	if (policy->n_idle_given == 0 && is_recorded)
		return false;
	wtl_buf_puts(line, "idle power ");
	if (!is_recorded)
		wtl_buf_puts(line, strcmp(policy->idle, "none") == 0
					   ? "taken as none"
					   : "as learned within the recording alone");
	for (size_t i = 0; i < policy->n_idle_given; i++) {
		wtl_buf_puts(line, i > 0 || !is_recorded ? ", " : "given: ");
		wtl_layout_text(line, policy->idle_given[i], style);
	}
	return true;
}

void wtl_page_policy_remark(struct wtl_buf *buf, const struct wtl_recording *recording,
			    const struct wtl_output_style *style)
{
	struct wtl_buf line;

	wtl_buf_init(&line, LINE_MAX_BYTES);
	if (wtl_page_policy(&line, &recording->policy, style))
		wtl_page_remark(buf, WTL_PAGE_NOTE, wtl_buf_str(&line), style);
	wtl_layout_close(&line, buf);
}
