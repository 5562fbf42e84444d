/* SPDX-License-Identifier: MIT */
/* The notes below the picture: which lines are missing, and why. */
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

/* The total has no power as long as one of its parts has none. */
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
	/* A modelled domain's reason is why it is not measured. */
	reason = domain.domain.method == WATTLE_METHOD_MODELLED ? NULL : wtl_words_reason(&domain);
	return reason ? reason : "too short to speak of power";
}

/* NULL: it has a line, or is not asked for. */
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

/* "a, b and 3 more", of the domains that are `in`. */
static const char *names_of(const struct wtl_plot_curves *curves, const bool in[])
{
	struct wtl_buf names;
	const char *text;
	size_t n = 0;

	wtl_buf_init(&names, 1024);
	for (size_t i = 0; i <= curves->n_domains; i++) {
		struct wattle_domain domain = {.name = "total"};

		if (!in[i])
			continue;
		wtl_meter_domain(curves->meter, i, &domain);
		if (n++ < NAMES_MAX)
			wtl_buf_printf(&names, "%s%.60s", n > 1 ? ", " : "", domain.name);
	}
	if (n > NAMES_MAX)
		wtl_buf_printf(&names, " and %zu more", n - NAMES_MAX);
	text = wtl_plot_sheet_printf(curves->replay->sheet, "%s", wtl_buf_str(&names));
	wtl_buf_done(&names);
	return text;
}

/* Domains without a line: one note for each reason, in the order of the first domain. */
static void note_without_lines(const struct wtl_plot_curves *curves,
			       const struct wtl_plot_series *series, bool in[])
{
	struct wtl_plot_sheet *sheet = curves->replay->sheet;

	for (size_t i = 0; i <= curves->n_domains; i++) {
		const char *reason = reason_without_line(curves, series, i), *own;
		bool is_first = reason != NULL;

		for (size_t k = 0; reason && k <= curves->n_domains; k++) {
			own = reason_without_line(curves, series, k);
			in[k] = own && strcmp(own, reason) == 0;
			is_first &= k >= i || !in[k];
		}
		if (is_first)
			wtl_plot_note(sheet, wtl_plot_sheet_printf(sheet, "no line of %s: %s",
								   names_of(curves, in), reason));
	}
}

/* As in a report. */
static void note_lacking(const struct wtl_plot_curves *curves, bool in[])
{
	struct wtl_plot_sheet *sheet = curves->replay->sheet;
	bool any = false;

	for (size_t i = 0; i <= curves->n_domains; i++) {
		in[i] = i < curves->n_domains && curves->counts[i] &&
			!curves->energies[i].has_energy;
		any |= in[i];
	}
	if (any)
		wtl_plot_note(sheet, wtl_plot_sheet_printf(sheet, "the total lacks %s",
							   names_of(curves, in)));
}

/* "Not drawn: ± (k = 2) beyond 50 %: package-0 100 %, dram-0 100 %." */
static void note_wide(const struct wtl_plot_curves *curves, const struct wtl_plot_series *series)
{
	struct wtl_plot_sheet *sheet = curves->replay->sheet;
	const char *list = "";

	for (size_t i = 0; i < curves->n; i++) {
		const struct wattle_energy *energy = &curves->energies[curves->list[i].domain];

		if (!series[i].has_range && has_line(&series[i]) && energy->energy_uj > 0)
			list = wtl_plot_sheet_printf(
				sheet, "%s%s%s", list, list[0] ? ", " : "",
				wtl_plot_sheet_percent(sheet, series[i].name,
						       (double)energy->uncertainty_uj /
							       (double)energy->energy_uj));
	}
	if (list[0])
		wtl_plot_note(sheet, wtl_plot_sheet_printf(
					     sheet, "not drawn: ± (k = 2) beyond 50 %%: %s", list));
}

void wtl_plot_power_note(const struct wtl_plot_curves *curves, const struct wtl_plot_series *series)
{
	struct wtl_plot_sheet *sheet = curves->replay->sheet;
	bool *in = wtl_plot_sheet_array(sheet, curves->n_domains + 1, sizeof(*in));
	bool has_level = false, has_total = false, has_band = false;

	for (size_t i = 0; i < curves->n; i++) {
		if (!has_line(&series[i]))
			continue;
		has_level |= series[i].level.is_known;
		has_band |= series[i].has_range;
		has_total |= curves->list[i].domain == curves->n_domains;
	}
	if (has_band || has_level)
		wtl_plot_sheet_note(
			sheet,
			wtl_plot_sheet_printf(
				sheet, "%s%s%s",
				has_band ? "Band: ± (k = 2), the percentage of the energy so far."
					 : "",
				has_band && has_level ? " " : "",
				has_level ? "Dashed: idle power." : ""));
	note_wide(curves, series);
	if (in)
		note_without_lines(curves, series, in);
	if (in && has_total)
		note_lacking(curves, in);
}
