/* SPDX-License-Identifier: MIT */
#include "text/report_text.h"

#include <math.h>

#include "base/buf.h"
#include "document/format.h"
#include "text/layout.h"
#include "document/words.h"

/* The line of the head that says what the machine draws at idle. */

enum { BASELINES_MAX = 6 };

/* All baselines of counted domains together. */
struct idle {
	size_t known, modelled;
	uint64_t idle_uw, uncertainty_uw;
	int64_t age_ns; /* of the oldest; < 0: not known */
};

static bool has_baseline(const struct wtl_report_domain *domain)
{
	return domain->domain.in_total && domain->idle.is_known;
}

/* Scatter is independent between domains: the uncertainties add in quadrature. */
static struct idle idle_of(const struct wtl_report_domain *domains, size_t n, int64_t t_utc_ns)
{
	struct idle all = {.age_ns = -1};
	double variance = 0;
	int64_t age_ns;

	for (size_t i = 0; i < n; i++) {
		const struct wtl_baseline *idle = &domains[i].idle;
		double part_uw = (double)wtl_words_idle_uncertainty_uw(idle);

		if (!has_baseline(&domains[i]))
			continue;
		all.known++;
		all.modelled += domains[i].idle.is_modelled;
		if (__builtin_add_overflow(all.idle_uw, idle->idle_uw, &all.idle_uw))
			all.idle_uw = UINT64_MAX;
		variance += part_uw * part_uw;
		if (wtl_words_idle_age(idle, t_utc_ns, &age_ns) && age_ns > all.age_ns)
			all.age_ns = age_ns;
	}
	all.uncertainty_uw = wtl_format_micro(sqrt(variance) / 1e6);
	return all;
}

/* "(package-0 74.1, package-1 69.9)", or the name alone where there is one. */
static void add_baselines(const struct wtl_report_text *text,
			  const struct wtl_report_domain *domains, size_t n, const struct idle *all)
{
	struct wtl_buf *buf = text->buf;
	unsigned last_digit = wtl_format_last_digit(all->idle_uw, all->uncertainty_uw);
	unsigned scale = wtl_format_scale(all->idle_uw);
	size_t shown = 0;

	wtl_buf_puts(buf, " (");
	for (size_t i = 0; i < n; i++) {
		if (!has_baseline(&domains[i]) || shown++ >= BASELINES_MAX)
			continue;
		wtl_report_text_put(text, "%w%s", shown > 1 ? ", " : "", domains[i].domain.name);
		if (all->known == 1)
			continue;
		wtl_buf_putc(buf, WTL_LAYOUT_NO_BREAK);
		wtl_buf_puts(buf, domains[i].idle.is_modelled ? "~" : "");
		wtl_format_rounded(buf, domains[i].idle.idle_uw, last_digit, scale);
	}
	if (all->known > BASELINES_MAX)
		wtl_report_text_put(text, " and %z more", all->known - BASELINES_MAX);
	wtl_buf_putc(buf, ')');
}

void wtl_report_text_idle(const struct wtl_report_text *text,
			  const struct wtl_report_domain *domains, size_t n, int64_t t_utc_ns)
{
	struct idle idle = idle_of(domains, n, t_utc_ns);
	struct wtl_buf *buf = text->buf;
	size_t start, seen;

	if (idle.known == 0)
		return;
	start = wtl_report_text_begin_line(text, "idle");
	wtl_buf_puts(buf, idle.modelled > 0 ? "~ " : "");
	wtl_format_measure(buf, idle.idle_uw, idle.uncertainty_uw, WTL_FORMAT_W,
			   text->style->ascii);
	add_baselines(text, domains, n, &idle);
	if (idle.modelled == idle.known)
		wtl_buf_puts(buf, ", modelled");
	if (idle.age_ns >= 0) {
		wtl_buf_puts(buf, ", ");
		seen = buf->len;
		wtl_buf_puts(buf, "seen ");
		wtl_format_age(buf, idle.age_ns);
		wtl_buf_puts(buf, " ago");
		wtl_layout_keep(buf, seen);
	}
	wtl_report_text_end_line(text, start);
}
