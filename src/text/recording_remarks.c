/* SPDX-License-Identifier: MIT */
/* What keeps figures of several recordings, or runs, from being compared as they stand. */
#include <string.h>

#include "base/buf.h"
#include "document/words.h"
#include "text/report_text.h"
#include "text/recording_text.h"

enum { LACKING_MAX = 5, CARBON_MAX = 4 };

static const struct wtl_report *report_of(const struct wtl_report_text_several *several, size_t i)
{
	return several->report(several->of, i);
}

/* ---- The file ---- */

void wtl_report_text_file_remarks(const struct wtl_report_text *text, const char *label,
				  const struct wtl_recording *recording)
{
	const struct wtl_recording_gap *gap = recording->gaps;

	if (recording->is_live)
		wtl_report_text_remark(text, WTL_TEXT_NOTE,
				       "%s is being recorded: its figures are those so far", label);
	else if (!recording->is_whole)
		wtl_report_text_remark(
			text, WTL_TEXT_DOUBT,
			"%s was cut off: its figures go to the last look that was written", label);
	if (recording->is_part)
		wtl_report_text_remark(text, WTL_TEXT_NOTE, "%s is told in part: %t of %t", label,
				       recording->report.window.duration_ns, recording->span_ns);
	/* Also gaps that leave a figure as it is: the machine did not run as it did in the other recordings. */
	if (recording->n_gaps == 1)
		wtl_report_text_remark(text, WTL_TEXT_DOUBT, "%s has a gap: %s", label,
				       gap->text && gap->text[0] ? gap->text : gap->kind);
	else if (recording->n_gaps > 1)
		wtl_report_text_remark(text, WTL_TEXT_DOUBT,
				       "%s has %z gaps: wattle report of it alone tells them",
				       label, recording->n_gaps);
}

static bool has_other_idle(const struct wtl_recording_policy *policy)
{
	return policy->n_idle_given > 0 || (policy->idle && strcmp(policy->idle, "recorded") != 0);
}

bool wtl_report_text_has_policy(const struct wtl_recording_policy *policy)
{
	return has_other_idle(policy) || policy->is_smoothed;
}

void wtl_report_text_policy(const struct wtl_report_text *text,
			    const struct wtl_recording_policy *policy)
{
	const char *idle = policy->idle ? policy->idle : "recorded";
	bool is_recorded = strcmp(idle, "recorded") == 0;

	if (policy->is_smoothed)
		wtl_report_text_put(text, "learned watts smoothed backwards%s",
				    has_other_idle(policy) ? "; " : "");
	if (!has_other_idle(policy))
		return;
	wtl_report_text_put(text, "idle power %w",
			    is_recorded			? ""
			    : strcmp(idle, "none") == 0 ? "taken as none"
							: "as learned within the recording alone");
	for (size_t i = 0; i < policy->n_idle_given; i++)
		wtl_report_text_put(text, "%w%s", i > 0 || !is_recorded ? ", " : "given: ",
				    policy->idle_given[i]);
}

void wtl_report_text_policy_remark(const struct wtl_report_text *text,
				   const struct wtl_recording *recording)
{
	size_t start;

	if (!wtl_report_text_has_policy(&recording->policy))
		return;
	start = wtl_report_text_begin_remark(text, WTL_TEXT_NOTE);
	wtl_report_text_policy(text, &recording->policy);
	wtl_report_text_end_remark(text, start);
}

/* ---- Energy that is missing ---- */

static void remark_names(const struct wtl_report_text *text,
			 const struct wtl_report_text_several *several, size_t i, const char *verb,
			 bool (*has)(const struct wtl_report_domain *domain, const void *what))
{
	const struct wtl_report_text_names names = {report_of(several, i), has, NULL};

	if (wtl_report_text_any(&names))
		wtl_report_text_remark(text, WTL_TEXT_DOUBT, "the total of %w%z%w %w %N",
				       several->before, i + 1, several->after, verb, &names);
}

void wtl_report_text_energy_remarks(const struct wtl_report_text *text,
				    const struct wtl_report_text_several *several)
{
	size_t n = 0;

	for (size_t i = 0; i < several->n; i++) {
		const struct wtl_report *report = report_of(several, i);

		if (!report->window.total.has_energy || !wtl_report_text_incomplete(report) ||
		    n++ >= LACKING_MAX)
			continue;
		remark_names(text, several, i, "lacks", wtl_report_text_lacks);
		remark_names(text, several, i, "lacks stretches of", wtl_report_text_has_gap);
	}
	if (n > LACKING_MAX)
		wtl_report_text_remark(text, WTL_TEXT_DOUBT, "%z more lack energy",
				       n - LACKING_MAX);
}

/* ---- Emissions ---- */

static bool has_emissions(const struct wtl_report *report)
{
	return !wtl_words_not_all_emitted(&report->carbon, &report->window.total);
}

/* A mean intensity of 0 where there was no energy is no intensity. */
static bool has_intensity(const struct wtl_report *report)
{
	return has_emissions(report) && (report->window.total.energy_uj > 0 ||
					 report->carbon.carbon.intensity_mg_per_kwh > 0);
}

static bool is_new_intensity(const struct wtl_report_text_several *several, size_t i)
{
	uint64_t own = report_of(several, i)->carbon.carbon.intensity_mg_per_kwh;

	for (size_t k = 0; k < i; k++)
		if (has_intensity(report_of(several, k)) &&
		    report_of(several, k)->carbon.carbon.intensity_mg_per_kwh == own)
			return false;
	return has_intensity(report_of(several, i));
}

static void remark_intensities(const struct wtl_report_text *text,
			       const struct wtl_report_text_several *several)
{
	size_t n = 0, all = 0, start;

	for (size_t i = 0; i < several->n; i++)
		all += is_new_intensity(several, i);
	if (all == 0)
		return;
	start = wtl_report_text_begin_remark(text, all > 1 ? WTL_TEXT_DOUBT : WTL_TEXT_NOTE);
	wtl_buf_puts(text->buf, all > 1 ? "CO2e is not at one intensity: " : "CO2e is at ");
	for (size_t i = 0; i < several->n && n < CARBON_MAX; i++) {
		if (!is_new_intensity(several, i))
			continue;
		wtl_buf_puts(text->buf, n++ > 0 ? ", " : "");
		wtl_report_text_intensity(text, &report_of(several, i)->carbon);
		if (all > 1)
			wtl_report_text_put(text, " in %w%z%w", several->before, i + 1,
					    several->after);
	}
	if (all > n)
		wtl_report_text_put(text, " and %z more", all - n);
	wtl_report_text_end_remark(text, start);
}

void wtl_report_text_carbon_remarks(const struct wtl_report_text *text,
				    const struct wtl_report_text_several *several,
				    const struct wtl_recording *first)
{
	bool has = false, has_pue = false;

	for (size_t i = 0; i < several->n; i++) {
		has |= has_emissions(report_of(several, i));
		has_pue |= has_emissions(report_of(several, i)) &&
			   report_of(several, i)->carbon.pue_milli;
	}
	if (!first || !first->carbon.is_varying)
		remark_intensities(text, several);
	else if (has)
		wtl_report_text_remark(text, WTL_TEXT_NOTE,
				       "CO2e is at the intensities over the time in %s",
				       first->carbon.file);
	if (has_pue)
		wtl_report_text_remark(text, WTL_TEXT_NOTE, "CO2e is told without PUE");
}
