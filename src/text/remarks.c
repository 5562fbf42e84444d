/* SPDX-License-Identifier: MIT */
#include "text/report_text.h"

#include <string.h>

#include "base/buf.h"
#include "document/words.h"

static bool has_flag(const struct wtl_report_domain *domain, const void *what)
{
	const uint32_t *flag = what;

	return domain->energy.has_energy && (domain->energy.flags & *flag) != 0;
}

static bool is_modelled(const struct wtl_report_domain *domain)
{
	return domain->energy.has_energy && domain->energy.method == WATTLE_METHOD_MODELLED;
}

static bool has_remedy(const struct wtl_report_domain *domain, const void *what)
{
	bool is_unmeasured =
		!domain->energy.has_energy || domain->energy.gap_ns > 0 || is_modelled(domain);

	return is_unmeasured && domain->domain.remedy && domain->domain.remedy[0] &&
	       strcmp(domain->domain.remedy, what) == 0;
}

static bool is_modelled_because(const struct wtl_report_domain *domain, const void *what)
{
	return is_modelled(domain) && domain->domain.reason &&
	       strcmp(domain->domain.reason, what) == 0;
}

/* Was it divided among processes without a baseline, so that idle energy is in their figures? */
static bool lacks_baseline(const struct wtl_report_domain *domain, const void *what)
{
	(void)what;
	return domain->domain.in_total && domain->energy.has_energy && domain->weight &&
	       !domain->ledger.has_idle;
}

static bool is_guessed_by(const struct wtl_report_domain *domain, const void *what)
{
	return domain->energy.has_energy && domain->weight && strstr(domain->weight, "guess") &&
	       strcmp(domain->weight, what) == 0;
}

static bool is_counted(const struct wtl_report_domain *domain, const void *what)
{
	(void)what;
	return domain->energy.has_energy && domain->weight &&
	       (strcmp(domain->weight, "instructions") == 0 ||
		strcmp(domain->weight, "cycles") == 0);
}

static bool in_notes(const struct wtl_report *report, const char *text)
{
	for (size_t i = 0; i < report->n_notes; i++)
		if (report->notes[i] && strstr(report->notes[i], text))
			return true;
	return false;
}

/* Is domain i the first with that text? All that share it get one remark. */
static bool is_first(const struct wtl_report_text_names *names, size_t i)
{
	const struct wtl_report before = {.domains = names->report->domains, .n_domains = i};

	return names->what && names->has(&names->report->domains[i], names->what) &&
	       !wtl_report_text_any(
		       &(struct wtl_report_text_names){&before, names->has, names->what});
}

static void remark_models(const struct wtl_report_text *text, const struct wtl_report *report)
{
	if (!wtl_report_text_is_modelled(report))
		return;
	wtl_report_text_remark(
		text, WTL_TEXT_MODEL,
		"modelled: computed from load and tables, not measured; how far a package or "
		"memory may be off is judgement");
	for (size_t i = 0; i < report->n_domains; i++) {
		const char *reason = report->domains[i].domain.reason;
		const struct wtl_report_text_names names = {report, is_modelled_because, reason};

		if (is_first(&names, i) && !in_notes(report, reason))
			wtl_report_text_remark(text, WTL_TEXT_MODEL, "%N: modelled, because %s",
					       &names, reason);
	}
}

static void remark_gap(const struct wtl_report_text *text, const struct wtl_report *report,
		       const struct wtl_report_domain *domain)
{
	const char *reason =
		domain->energy.method != WATTLE_METHOD_MODELLED ? domain->domain.reason : NULL;

	wtl_report_text_remark(text, WTL_TEXT_DOUBT,
			       "%s: %t of %t not measured and not filled in%w%s",
			       domain->domain.name, domain->energy.gap_ns,
			       report->window.duration_ns, reason ? ": " : "", reason);
}

static void remark_disagreement(const struct wtl_report_text *text,
				const struct wattle_domain *about)
{
	static const char end[] = " disagree by more than they may: one of them is wrong";

	if (about->source && about->check && strcmp(about->source, about->check) == 0)
		wtl_report_text_remark(text, WTL_TEXT_DOUBT, "%s: its counter and its power%w",
				       about->name, end);
	else
		wtl_report_text_remark(text, WTL_TEXT_DOUBT, "%s: %s and %s%w", about->name,
				       about->source, about->check, end);
}

static void remark_figures(const struct wtl_report_text *text, const struct wtl_report *report)
{
	static const uint32_t reset = WATTLE_ENERGY_RESET, is_short = WATTLE_ENERGY_SHORT;
	const struct wtl_report_text_names were_reset = {report, has_flag, &reset};
	const struct wtl_report_text_names were_short = {report, has_flag, &is_short};
	const struct wtl_report_text_names lacking = {report, wtl_report_text_lacks, NULL};

	for (size_t i = 0; i < report->n_domains; i++) {
		const struct wtl_report_domain *domain = &report->domains[i];

		if (domain->energy.has_energy && domain->energy.gap_ns > 0)
			remark_gap(text, report, domain);
		if (domain->energy.has_energy && (domain->energy.flags & WATTLE_ENERGY_DISAGREES))
			remark_disagreement(text, &domain->domain);
	}
	if (wtl_report_text_any(&were_reset))
		wtl_report_text_remark(text, WTL_TEXT_DOUBT,
				       "%N: the counter started anew, so a stretch is missing",
				       &were_reset);
	if (wtl_report_text_any(&were_short))
		wtl_report_text_remark(text, WTL_TEXT_DOUBT,
				       "%N: too short for the sensor, so its %s is large",
				       &were_short, "±");
	if (report->window.total.has_energy && wtl_report_text_any(&lacking))
		wtl_report_text_remark(text, WTL_TEXT_DOUBT, "the total lacks %N", &lacking);
}

/* Where nothing better is known, what processes use of a domain is a guess (DESIGN 5). */
static void remark_guesses(const struct wtl_report_text *text, const struct wtl_report *report)
{
	for (size_t i = 0; i < report->n_domains; i++) {
		const char *weight = report->domains[i].weight;
		const struct wtl_report_text_names names = {report, is_guessed_by, weight};

		if (is_first(&names, i))
			wtl_report_text_remark(text, WTL_TEXT_DOUBT,
					       "%N: divided among processes by %s", &names, weight);
	}
}

/* Another weight than usual: what the hardware counted of each process. */
static void note_counted(const struct wtl_report_text *text, const struct wtl_report *report)
{
	const struct wtl_report_text_names names = {report, is_counted, NULL};
	size_t i = 0;

	if (!wtl_report_text_any(&names))
		return;
	while (!is_counted(&report->domains[i], NULL))
		i++;
	wtl_report_text_remark(text, WTL_TEXT_NOTE, "divided among processes by %w: %N",
			       report->domains[i].weight, &names);
}

/* Returns whether it said that a baseline is missing; a note of the report may say so already. */
static bool note_no_idle(const struct wtl_report_text *text, const struct wtl_report *report)
{
	const struct wtl_report_text_names names = {report, lacks_baseline, NULL};

	if (!report->attribution.is_known || in_notes(report, "idle baseline") ||
	    !wtl_report_text_any(&names))
		return false;
	wtl_report_text_remark(text, WTL_TEXT_NOTE,
			       "%w yet for %N: who used that energy is billed in full, idle power "
			       "included",
			       wtl_words_no_idle, &names);
	return true;
}

static void remark_remedies(const struct wtl_report_text *text, const struct wtl_report *report)
{
	for (size_t i = 0; i < report->n_domains; i++) {
		const char *remedy = report->domains[i].domain.remedy;
		const struct wtl_report_text_names names = {report, has_remedy, remedy};
		size_t start;

		if (!is_first(&names, i) || in_notes(report, remedy))
			continue;
		start = wtl_report_text_begin_remark(text, WTL_TEXT_REMEDY);
		wtl_report_text_put(text, "for %N: %s", &names, remedy);
		wtl_layout_keep_commands(text->buf, start);
		wtl_report_text_end_remark(text, start);
	}
}

static void put_details(const struct wtl_report_text *text, const struct wtl_report_domain *domain)
{
	const struct wattle_domain *about = &domain->domain;
	size_t start;

	wtl_buf_puts(text->buf, "  ");
	start = text->buf->len;
	wtl_report_text_put(text, "%s%w%s", about->name, about->device ? ": " : "", about->device);
	if (domain->energy.has_energy)
		wtl_report_text_put(text, "; %u samples over %t", (uint64_t)domain->energy.samples,
				    domain->energy.measured_ns);
	if (about->update_ns > 0) {
		wtl_buf_puts(text->buf, "; a new value every ");
		wtl_format_period(text->buf, about->update_ns, text->style->ascii);
	}
	if (about->sensor)
		wtl_report_text_put(text, "; sensor %s", about->sensor);
	if (about->check)
		wtl_report_text_put(text, "; compared with %s", about->check);
	if (domain->weight)
		wtl_report_text_put(text, "; weight %s", domain->weight);
	wtl_layout_wrap(text->buf, start, 2, 4);
}

void wtl_report_text_remarks(const struct wtl_report_text *text, const struct wtl_report *report)
{
	const struct wtl_report_attribution *attribution = &report->attribution;
	bool lacks_idle;

	remark_models(text, report);
	remark_figures(text, report);
	remark_guesses(text, report);
	if (!attribution->is_known && attribution->reason && !in_notes(report, attribution->reason))
		wtl_report_text_remark(text, WTL_TEXT_NOTE, "energy of processes is not known: %s",
				       attribution->reason);
	note_counted(text, report);
	lacks_idle = note_no_idle(text, report);
	for (size_t i = 0; i < report->n_notes; i++)
		if (report->notes[i] && report->notes[i][0])
			wtl_report_text_remark(text, WTL_TEXT_NOTE, "%s", report->notes[i]);
	remark_remedies(text, report);
	if (lacks_idle)
		wtl_report_text_remark(
			text, WTL_TEXT_REMEDY,
			"wattle run --idle-first 10 measures an idle baseline first");
	for (size_t i = 0; text->style->verbose && i < report->n_domains; i++)
		put_details(text, &report->domains[i]);
}
