/* SPDX-License-Identifier: MIT */
/* What is said below the picture: whose line is not there, and why. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "commands/plot/recording_power.h"
#include "document/report.h"
#include "document/words.h"
#include "meter/meter.h"
#include "report/missing.h"

enum { NAMES_MAX = 6 };

static bool has_line(const struct wtl_plot_series *series)
{
	for (size_t i = 0; i < series->n; i++)
		if (isfinite(series->points[i].y))
			return true;
	return false;
}

/* "a, b and 3 more" */
static void add_name(struct wtl_buf *names, size_t n, const char *name)
{
	if (n < NAMES_MAX)
		wtl_buf_printf(names, "%s%.60s", n > 0 ? ", " : "", name);
}

static void end_names(struct wtl_buf *names, size_t n)
{
	if (n > NAMES_MAX)
		wtl_buf_printf(names, " and %zu more", n - NAMES_MAX);
}

static int note_names(const struct wtl_plot_curves *curves, const char *before,
		      struct wtl_buf *names, const char *after)
{
	char text[WTL_REMARK_SIZE + 256];

	snprintf(text, sizeof(text), "%s%s%s%s", before, wtl_buf_str(names), after[0] ? ": " : "",
		 after);
	return wtl_plot_note(curves->replay->sheet, text);
}

/* Nor has the total a power as long as a part of it has none. */
static const char *reason_of_total(const struct wtl_plot_curves *curves)
{
	for (size_t i = 0; i < curves->n_domains; i++) {
		const struct wattle_energy *energy = &curves->energies[i];

		if (curves->counts[i] && energy->has_energy && !wtl_plot_power_is_seen(energy))
			return "power is not known of all of it";
	}
	return NULL;
}

const char *wtl_plot_power_reason(const struct wtl_plot_curves *curves, size_t i)
{
	struct wtl_report_domain domain = {.energy = curves->energies[i]};
	const char *reason;

	if (i == curves->n_domains)
		return reason_of_total(curves);
	wtl_meter_domain(curves->meter, i, &domain.domain);
	/* Of a model it is why nothing is measured. */
	reason = domain.domain.method == WATTLE_METHOD_MODELLED ? NULL : wtl_words_reason(&domain);
	return reason ? reason : "too short to speak of power";
}

/* NULL: it has a line, or shall have none. */
static const char *reason_without_line(const struct wtl_plot_curves *curves,
				       const struct wtl_plot_series *series, size_t domain)
{
	bool is_asked_for =
		curves->replay->settings->wanted.n_domains == 0 && curves->counts[domain];

	for (size_t i = 0; i < curves->n; i++) {
		if (curves->list[i].domain != domain)
			continue;
		if (has_line(&series[i]))
			return NULL;
		is_asked_for = true;
	}
	return is_asked_for ? wtl_plot_power_reason(curves, domain) : NULL;
}

/* All that have none for one reason, once: with the first of them. */
static int note_reason(const struct wtl_plot_curves *curves, const struct wtl_plot_series *series,
		       size_t first, const char *reason)
{
	struct wtl_buf names;
	size_t n = 0;
	int rc = 0;

	wtl_buf_init(&names, 1024);
	for (size_t i = 0; i <= curves->n_domains; i++) {
		const char *own = reason_without_line(curves, series, i);
		struct wattle_domain domain = {.name = "total"};

		if (!own || strcmp(own, reason) != 0)
			continue;
		if (i < first)
			goto done;
		wtl_meter_domain(curves->meter, i, &domain);
		add_name(&names, n++, domain.name);
	}
	end_names(&names, n);
	rc = note_names(curves, "No line of ", &names, reason);
done:
	wtl_buf_done(&names);
	return rc;
}

static int note_without_lines(const struct wtl_plot_curves *curves,
			      const struct wtl_plot_series *series)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i <= curves->n_domains; i++) {
		const char *reason = reason_without_line(curves, series, i);

		if (reason)
			rc = note_reason(curves, series, i, reason);
	}
	return rc;
}

/* As a report says it. */
static int note_lacking(const struct wtl_plot_curves *curves)
{
	struct wtl_buf names;
	size_t n = 0;
	int rc = 0;

	wtl_buf_init(&names, 1024);
	for (size_t i = 0; i < curves->n_domains; i++) {
		struct wattle_domain domain;

		if (!curves->counts[i] || curves->energies[i].has_energy)
			continue;
		wtl_meter_domain(curves->meter, i, &domain);
		add_name(&names, n++, domain.name);
	}
	end_names(&names, n);
	if (n > 0)
		rc = note_names(curves, "The total lacks ", &names, "");
	wtl_buf_done(&names);
	return rc;
}

int wtl_plot_power_note(const struct wtl_plot_curves *curves, const struct wtl_plot_series *series)
{
	bool has_level = false, has_total = false;
	int rc;

	for (size_t i = 0; i < curves->n; i++) {
		if (!has_line(&series[i]))
			continue;
		has_level |= series[i].level.is_known;
		has_total |= curves->list[i].domain == curves->n_domains;
	}
	rc = wtl_plot_note(
		curves->replay->sheet,
		has_level
			? "Band: ± (k = 2), the percentage of the energy so far. Dashed: idle power"
			: "Band: ± (k = 2), the percentage of the energy so far");
	if (rc == 0)
		rc = note_without_lines(curves, series);
	if (rc == 0 && has_total)
		rc = note_lacking(curves);
	return rc;
}
