/* SPDX-License-Identifier: MIT */
#include "text/page.h"

#include <string.h>

#include "base/buf.h"
#include "document/format.h"
#include "text/layout.h"
#include "document/words.h"

enum { NAMES_MAX = 6, REMARK_MAX = 1 << 20 };

/* What several domains may share. */
struct trait {
	bool (*has)(const struct wtl_report_domain *domain, const void *what);
	const void *what;
};

static bool lacks_figure(const struct wtl_report_domain *domain, const void *what)
{
	(void)what;
	return wtl_page_lacks(domain);
}

static bool has_flag(const struct wtl_report_domain *domain, const void *what)
{
	const uint32_t *flag = what;

	return domain->energy.has_energy && (domain->energy.flags & *flag) != 0;
}

static bool is_unmeasured(const struct wtl_report_domain *domain)
{
	return !domain->energy.has_energy || domain->energy.gap_ns > 0 ||
	       domain->energy.method == WATTLE_METHOD_MODELLED;
}

static bool has_remedy(const struct wtl_report_domain *domain, const void *what)
{
	return is_unmeasured(domain) && domain->domain.remedy && domain->domain.remedy[0] &&
	       strcmp(domain->domain.remedy, what) == 0;
}

static bool is_modelled_because(const struct wtl_report_domain *domain, const void *what)
{
	return domain->energy.has_energy && domain->energy.method == WATTLE_METHOD_MODELLED &&
	       domain->domain.reason && strcmp(domain->domain.reason, what) == 0;
}

/* "package-0, package-1 and 6 more" of the domains with that trait. Returns how many there are. */
static size_t add_names(struct wtl_buf *line, const struct wtl_report *report, struct trait trait,
			const struct wtl_output_style *style)
{
	size_t count = 0;

	for (size_t i = 0; i < report->n_domains; i++) {
		const struct wtl_report_domain *domain = &report->domains[i];

		if (!trait.has(domain, trait.what))
			continue;
		if (count < NAMES_MAX) {
			wtl_buf_puts(line, count ? ", " : "");
			wtl_layout_text(line, domain->domain.name, style);
		}
		count++;
	}
	if (count > NAMES_MAX)
		wtl_buf_printf(line, " and %zu more", count - NAMES_MAX);
	return count;
}

int wtl_page_remark(struct wtl_buf *buf, enum wtl_page_bullet bullet, const char *escaped,
		    const struct wtl_output_style *style)
{
	static const char *const signs[] = {
		[WTL_PAGE_MODEL] = "~",
		[WTL_PAGE_DOUBT] = "!",
		[WTL_PAGE_REMEDY] = "→",
		[WTL_PAGE_NOTE] = "-",
	};
	enum wtl_tone tone = bullet == WTL_PAGE_DOUBT ? WTL_TONE_WARN : WTL_TONE_PLAIN;
	size_t indent = bullet == WTL_PAGE_REMEDY && style->ascii ? 3 : 2;

	wtl_layout_tone(buf, tone, style);
	wtl_layout_text(buf, signs[bullet], style);
	wtl_layout_tone_end(buf, tone, style);
	wtl_buf_putc(buf, ' ');
	return wtl_layout_wrap(buf, escaped, indent, indent);
}

/* One remark for all domains with a trait: their names between `before` and `after`. */
static void remark_names(struct wtl_buf *buf, const struct wtl_report *report, const char *before,
			 struct trait trait, const char *after,
			 const struct wtl_output_style *style)
{
	struct wtl_buf line;

	wtl_buf_init(&line, REMARK_MAX);
	wtl_buf_puts(&line, before);
	if (add_names(&line, report, trait, style) > 0) {
		wtl_layout_text(&line, after, style);
		wtl_page_remark(buf, WTL_PAGE_DOUBT, wtl_buf_str(&line), style);
	}
	wtl_layout_close(&line, buf);
}

static void remark_flag(struct wtl_buf *buf, const struct wtl_report *report, uint32_t flag,
			const char *words, const struct wtl_output_style *style)
{
	remark_names(buf, report, "", (struct trait){has_flag, &flag}, words, style);
}

static void remark_gap(struct wtl_buf *buf, const struct wtl_report_domain *domain,
		       const struct wtl_report *report, const struct wtl_output_style *style)
{
	struct wtl_buf line;

	wtl_buf_init(&line, REMARK_MAX);
	wtl_layout_text(&line, domain->domain.name, style);
	wtl_buf_puts(&line, ": ");
	wtl_format_duration(&line, domain->energy.gap_ns, style->ascii);
	wtl_buf_puts(&line, " of ");
	wtl_format_duration(&line, report->window.duration_ns, style->ascii);
	wtl_buf_puts(&line, " not measured and not filled in");
	if (domain->domain.reason && domain->energy.method != WATTLE_METHOD_MODELLED) {
		wtl_buf_puts(&line, ": ");
		wtl_layout_text(&line, domain->domain.reason, style);
	}
	wtl_page_remark(buf, WTL_PAGE_DOUBT, wtl_buf_str(&line), style);
	wtl_layout_close(&line, buf);
}

/* Is domain i the first that has the trait? Each is told once. */
static bool is_first(const struct wtl_report *report, size_t i, struct trait trait)
{
	for (size_t before = 0; before < i; before++) {
		if (trait.has(&report->domains[before], trait.what))
			return false;
	}
	return trait.has(&report->domains[i], trait.what);
}

static bool in_notes(const struct wtl_report *report, const char *text)
{
	for (size_t i = 0; i < report->n_notes; i++) {
		if (report->notes[i] && strstr(report->notes[i], text))
			return true;
	}
	return false;
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

/* Another weight than usual: what the hardware counted of each process. */
static void note_counted(struct wtl_buf *buf, const struct wtl_report *report,
			 const struct wtl_output_style *style)
{
	const char *weight = NULL;
	struct wtl_buf line;

	for (size_t i = 0; i < report->n_domains && !weight; i++)
		if (is_counted(&report->domains[i], NULL))
			weight = report->domains[i].weight;
	if (!weight)
		return;
	wtl_buf_init(&line, REMARK_MAX);
	wtl_buf_printf(&line, "divided among processes by %s: ", weight);
	add_names(&line, report, (struct trait){is_counted, NULL}, style);
	wtl_page_remark(buf, WTL_PAGE_NOTE, wtl_buf_str(&line), style);
	wtl_layout_close(&line, buf);
}

/* Where nothing better is known, what processes use of a domain is a guess (DESIGN 5). */
static void remark_guesses(struct wtl_buf *buf, const struct wtl_report *report,
			   const struct wtl_output_style *style)
{
	for (size_t i = 0; i < report->n_domains; i++) {
		const char *weight = report->domains[i].weight;
		struct trait trait = {is_guessed_by, weight};
		struct wtl_buf after;

		if (!weight || !is_first(report, i, trait))
			continue;
		wtl_buf_init(&after, REMARK_MAX);
		wtl_buf_printf(&after, ": divided among processes by %s", weight);
		remark_names(buf, report, "", trait, wtl_buf_str(&after), style);
		wtl_layout_close(&after, buf);
	}
}

static void note_reason(struct wtl_buf *buf, const struct wtl_report *report,
			const struct wtl_output_style *style)
{
	const struct wtl_report_attribution *attribution = &report->attribution;
	struct wtl_buf line;

	if (attribution->is_known || !attribution->reason || in_notes(report, attribution->reason))
		return;
	wtl_buf_init(&line, REMARK_MAX);
	wtl_buf_puts(&line, "energy of processes is not known: ");
	wtl_layout_text(&line, attribution->reason, style);
	wtl_page_remark(buf, WTL_PAGE_NOTE, wtl_buf_str(&line), style);
	wtl_layout_close(&line, buf);
}

/* Returns whether it said that a baseline is missing; a note of the report may say so already. */
static bool note_no_idle(struct wtl_buf *buf, const struct wtl_report *report,
			 const struct wtl_output_style *style)
{
	struct wtl_buf line;
	bool is_missing;

	if (!report->attribution.is_known || in_notes(report, "idle baseline"))
		return false;
	wtl_buf_init(&line, REMARK_MAX);
	wtl_buf_printf(&line, "%s yet for ", wtl_words_no_idle);
	is_missing = add_names(&line, report, (struct trait){lacks_baseline, NULL}, style) > 0;
	if (is_missing) {
		wtl_buf_puts(&line, ": who used that energy is billed in full, "
				    "idle power included");
		wtl_page_remark(buf, WTL_PAGE_NOTE, wtl_buf_str(&line), style);
	}
	wtl_layout_close(&line, buf);
	return is_missing;
}

static bool is_same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static void remark_disagreement(struct wtl_buf *buf, const struct wtl_report_domain *domain,
				const struct wtl_output_style *style)
{
	struct wtl_buf line;

	wtl_buf_init(&line, REMARK_MAX);
	wtl_layout_text(&line, domain->domain.name, style);
	wtl_buf_puts(&line, ": ");
	if (is_same(domain->domain.source, domain->domain.check)) {
		wtl_buf_puts(&line, "its counter and its power");
	} else {
		wtl_layout_text(&line, domain->domain.source, style);
		wtl_buf_puts(&line, " and ");
		wtl_layout_text(&line, domain->domain.check, style);
	}
	wtl_buf_puts(&line, " disagree by more than they may: one of them is wrong");
	wtl_page_remark(buf, WTL_PAGE_DOUBT, wtl_buf_str(&line), style);
	wtl_layout_close(&line, buf);
}

static void remark_figures(struct wtl_buf *buf, const struct wtl_report *report,
			   const struct wtl_output_style *style)
{
	for (size_t i = 0; i < report->n_domains; i++) {
		const struct wtl_report_domain *domain = &report->domains[i];

		if (!domain->energy.has_energy)
			continue;
		if (domain->energy.gap_ns > 0)
			remark_gap(buf, domain, report, style);
		if (domain->energy.flags & WATTLE_ENERGY_DISAGREES)
			remark_disagreement(buf, domain, style);
	}
	remark_flag(buf, report, WATTLE_ENERGY_RESET,
		    ": the counter started anew, so a stretch is missing", style);
	remark_flag(buf, report, WATTLE_ENERGY_SHORT,
		    ": too short for the sensor (fewer than 10 of its updates), so its ± is large",
		    style);
	if (report->window.total.has_energy)
		remark_names(buf, report, "the total lacks ", (struct trait){lacks_figure, NULL},
			     "", style);
}

static void remark_remedy(struct wtl_buf *buf, const struct wtl_report *report, const char *remedy,
			  const struct wtl_output_style *style)
{
	struct wtl_buf line;

	wtl_buf_init(&line, REMARK_MAX);
	wtl_buf_puts(&line, "for ");
	add_names(&line, report, (struct trait){has_remedy, remedy}, style);
	wtl_buf_puts(&line, ": ");
	wtl_layout_text(&line, remedy, style);
	wtl_page_remark(buf, WTL_PAGE_REMEDY, wtl_buf_str(&line), style);
	wtl_layout_close(&line, buf);
}

static void remark_model(struct wtl_buf *buf, const struct wtl_report *report, const char *reason,
			 const struct wtl_output_style *style)
{
	struct wtl_buf line;

	wtl_buf_init(&line, REMARK_MAX);
	add_names(&line, report, (struct trait){is_modelled_because, reason}, style);
	wtl_buf_puts(&line, ": modelled, because ");
	wtl_layout_text(&line, reason, style);
	wtl_page_remark(buf, WTL_PAGE_MODEL, wtl_buf_str(&line), style);
	wtl_layout_close(&line, buf);
}

static void remark_models(struct wtl_buf *buf, const struct wtl_report *report,
			  const struct wtl_output_style *style)
{
	if (wtl_page_modelled(report->domains, report->n_domains) == WTL_PAGE_MEASURED)
		return;
	wtl_page_remark(buf, WTL_PAGE_MODEL,
			"modelled: computed from load and tables, not measured", style);
	for (size_t i = 0; i < report->n_domains; i++) {
		const char *reason = report->domains[i].domain.reason;

		if (reason && is_first(report, i, (struct trait){is_modelled_because, reason}) &&
		    !in_notes(report, reason))
			remark_model(buf, report, reason, style);
	}
}

static void remark_remedies(struct wtl_buf *buf, const struct wtl_report *report,
			    const struct wtl_output_style *style)
{
	for (size_t i = 0; i < report->n_domains; i++) {
		const char *remedy = report->domains[i].domain.remedy;

		if (remedy && is_first(report, i, (struct trait){has_remedy, remedy}) &&
		    !in_notes(report, remedy))
			remark_remedy(buf, report, remedy, style);
	}
}

static void put_details(struct wtl_buf *buf, const struct wtl_report_domain *domain,
			const struct wtl_output_style *style)
{
	const struct wattle_domain *about = &domain->domain;
	struct wtl_buf line;

	wtl_buf_init(&line, REMARK_MAX);
	wtl_layout_text(&line, about->name, style);
	wtl_buf_puts(&line, about->device ? ": " : "");
	wtl_layout_text(&line, about->device, style);
	if (domain->energy.has_energy) {
		wtl_buf_printf(&line, "; %u samples over ", (unsigned)domain->energy.samples);
		wtl_format_duration(&line, domain->energy.measured_ns, style->ascii);
	}
	if (about->update_ns > 0) {
		wtl_buf_puts(&line, "; a new value every ");
		wtl_format_period(&line, about->update_ns, style->ascii);
	}
	if (about->sensor) {
		wtl_buf_puts(&line, "; sensor ");
		wtl_layout_text(&line, about->sensor, style);
	}
	if (about->check) {
		wtl_buf_puts(&line, "; compared with ");
		wtl_layout_text(&line, about->check, style);
	}
	if (domain->weight) {
		wtl_buf_puts(&line, "; weight ");
		wtl_layout_text(&line, domain->weight, style);
	}
	wtl_buf_puts(buf, "  ");
	wtl_layout_wrap(buf, wtl_buf_str(&line), 2, 4);
	wtl_layout_close(&line, buf);
}

static void put_notes(struct wtl_buf *buf, const struct wtl_report *report,
		      const struct wtl_output_style *style)
{
	struct wtl_buf line;

	wtl_buf_init(&line, REMARK_MAX);
	for (size_t i = 0; i < report->n_notes; i++) {
		wtl_buf_clear(&line);
		wtl_layout_text(&line, report->notes[i], style);
		if (line.len > 0)
			wtl_page_remark(buf, WTL_PAGE_NOTE, wtl_buf_str(&line), style);
	}
	wtl_layout_close(&line, buf);
}

int wtl_page_remarks(struct wtl_buf *buf, const struct wtl_report *report,
		     const struct wtl_output_style *style)
{
	bool lacks_idle;
	size_t start;

	wtl_buf_putc(buf, '\n');
	start = buf->len;
	remark_models(buf, report, style);
	remark_figures(buf, report, style);
	remark_guesses(buf, report, style);
	note_reason(buf, report, style);
	note_counted(buf, report, style);
	lacks_idle = note_no_idle(buf, report, style);
	put_notes(buf, report, style);
	remark_remedies(buf, report, style);
	if (lacks_idle)
		wtl_page_remark(buf, WTL_PAGE_REMEDY,
				"wattle run --idle-first 10 measures an idle baseline first",
				style);
	if (style->verbose) {
		for (size_t i = 0; i < report->n_domains; i++)
			put_details(buf, &report->domains[i], style);
	}
	/* Nothing to remark: no empty line for it either. */
	if (!buf->error && buf->len == start)
		wtl_layout_truncate(buf, start - 1);
	return buf->error;
}
