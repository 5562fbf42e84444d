/* SPDX-License-Identifier: MIT */
/* Power over time, a line a domain. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "cli/app.h"
#include "cli/plot_recording.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "meter/meter.h"
#include "output/report.h"
#include "output/words.h"

#define WINDOW "plot"

/* Power over less than this is mostly the jitter of edges. */
#define SPAN_MIN_NS (20 * WTL_NS_PER_MS)

enum { NAMES_MAX = 6 };

/* A domain, or the total. */
struct curve {
	size_t domain; /* past the last one: the total */
	const char *name;
	int64_t span_ns; /* of a point, at least */
	struct wattle_energy last;
	bool has_last;
	size_t n_parts; /* of the total: domains that had a figure at the last point */
	struct wtl_plot_reducer reducer;
};

struct curves {
	struct wtl_plot_replay *replay;
	struct wattle_meter *meter;
	struct curve *list;
	size_t n, n_domains;
	bool *counts;			/* domains in the total */
	struct wattle_energy *energies; /* and the total */
	size_t n_parts, n_parts_most;	/* domains that count and have a figure */
};

static int add_curve(struct curves *curves, size_t domain, const char *name, int64_t update_ns)
{
	struct wtl_plot_replay *replay = curves->replay;
	struct curve *curve = &curves->list[curves->n++];
	struct wtl_plot_point *points = wtl_plot_sheet_array(
		replay->sheet, wtl_plot_reduced_max(WTL_PLOT_COLUMNS), sizeof(*points));

	*curve = (struct curve){.domain = domain, .span_ns = 2 * update_ns};
	if (curve->span_ns < SPAN_MIN_NS)
		curve->span_ns = SPAN_MIN_NS;
	curve->name = wtl_plot_sheet_printf(replay->sheet, "%s", name);
	if (!points || !curve->name)
		return -ENOMEM;
	wtl_plot_reducer_init(&curve->reducer, replay->from_utc_ns, replay->to_utc_ns,
			      WTL_PLOT_COLUMNS, points);
	return 0;
}

static bool wants_total(const struct wtl_plot_wanted *wanted, size_t n_others)
{
	for (size_t i = 0; i < wanted->n_domains; i++)
		if (strcmp(wanted->domains[i], "total") == 0)
			return true;
	return wanted->n_domains == 0 && n_others > 1;
}

static int choose(struct curves *curves)
{
	int64_t longest_ns = 0;
	int rc = wtl_plot_check_domains(curves->replay, true);

	curves->n_domains = wattle_meter_domains(curves->meter);
	curves->list = wtl_plot_sheet_array(curves->replay->sheet, curves->n_domains + 1,
					    sizeof(*curves->list));
	curves->energies = wtl_plot_sheet_array(curves->replay->sheet, curves->n_domains + 1,
						sizeof(*curves->energies));
	curves->counts = wtl_plot_sheet_array(curves->replay->sheet, curves->n_domains + 1,
					      sizeof(*curves->counts));
	if (rc == 0 && (!curves->list || !curves->energies || !curves->counts))
		rc = -ENOMEM;
	for (size_t i = 0; rc == 0 && i < curves->n_domains; i++) {
		struct wattle_domain domain;

		wattle_meter_domain(curves->meter, i, &domain);
		curves->counts[i] = domain.in_total;
		if (domain.in_total && domain.update_ns > longest_ns)
			longest_ns = domain.update_ns;
		if (wtl_plot_is_wanted(curves->replay, &domain))
			rc = add_curve(curves, i, domain.name, domain.update_ns);
	}
	if (rc == 0 && wants_total(&curves->replay->settings->wanted, curves->n))
		rc = add_curve(curves, curves->n_domains, "total", longest_ns);
	return rc;
}

/* The power since the curve's last point, once that is long enough. */
static void add_point(struct curve *curve, const struct wattle_energy *energy, int64_t t_utc_ns)
{
	int64_t span_ns = energy->measured_ns - curve->last.measured_ns;
	struct wtl_plot_point point = {.x = t_utc_ns, .y = WTL_PLOT_UNKNOWN};
	double relative;

	if (!curve->has_last) {
		curve->last = *energy;
		curve->has_last = energy->has_energy;
		return;
	}
	/* Nor is a power of 0 known where nothing was seen yet. */
	if (!energy->has_power && energy->energy_uj == 0)
		return;
	if (energy->gap_ns > curve->last.gap_ns + WTL_NS_PER_MS) {
		wtl_plot_reducer_add(&curve->reducer, &point);
		curve->last = *energy;
		return;
	}
	if (span_ns < curve->span_ns)
		return;
	/* Of sampled power the newest stretch is an estimate, which may have been too high. */
	if (energy->energy_uj >= curve->last.energy_uj) {
		relative = energy->energy_uj > 0
				   ? (double)energy->uncertainty_uj / (double)energy->energy_uj
				   : 0.0;
		point.y =
			(double)(energy->energy_uj - curve->last.energy_uj) * 1e3 / (double)span_ns;
		point.low = fmax(0.0, point.y * (1.0 - relative));
		point.high = point.y * (1.0 + relative);
		wtl_plot_reducer_add(&curve->reducer, &point);
	}
	curve->last = *energy;
}

/* The total of those that have a figure: what those without one lack is no gap of it. */
static void sum_up(struct curves *curves, const struct wattle_window *window)
{
	struct wattle_energy *total = &curves->energies[curves->n_domains];

	*total = window->total;
	total->gap_ns = 0;
	curves->n_parts = 0;
	for (size_t i = 0; i < curves->n_domains; i++) {
		const struct wattle_energy *energy = &curves->energies[i];

		if (!curves->counts[i] || !energy->has_energy)
			continue;
		curves->n_parts++;
		if (energy->gap_ns > total->gap_ns)
			total->gap_ns = energy->gap_ns;
	}
	total->measured_ns = window->duration_ns - total->gap_ns;
}

/* Where another domain has no figure any more, its line breaks; where one has its first, it begins anew: all
 * before that lacks it. */
static void follow_parts(struct curves *curves, struct curve *total, int64_t t_utc_ns)
{
	const struct wtl_plot_point broken = {.x = t_utc_ns, .y = WTL_PLOT_UNKNOWN};
	struct wtl_plot_replay *replay = curves->replay;

	if (curves->n_parts > curves->n_parts_most) {
		curves->n_parts_most = curves->n_parts;
		wtl_plot_reducer_init(&total->reducer, replay->from_utc_ns, replay->to_utc_ns,
				      WTL_PLOT_COLUMNS, total->reducer.points);
	} else if (curves->n_parts != total->n_parts) {
		wtl_plot_reducer_add(&total->reducer, &broken);
	}
	if (curves->n_parts != total->n_parts)
		total->has_last = false;
	total->n_parts = curves->n_parts;
}

static void take_sample(struct curves *curves, const struct wtl_played *played)
{
	struct wattle_window window;

	if (wtl_window_look(curves->meter, WINDOW, &window, curves->energies, curves->n_domains) <
	    0)
		return;
	sum_up(curves, &window);
	for (size_t i = 0; i < curves->n; i++) {
		struct curve *curve = &curves->list[i];

		if (curve->domain == curves->n_domains)
			follow_parts(curves, curve, played->t_utc_ns);
		add_point(curve, &curves->energies[curve->domain], played->t_utc_ns);
	}
}

static int play(struct curves *curves)
{
	struct wtl_played played;
	bool has_begun = false;
	int rc;

	while ((rc = wtl_plot_go_on(curves->replay, &played)) > 0) {
		if (!has_begun) {
			wtl_player_sample_again(curves->replay->player);
			rc = wattle_window_begin(curves->meter, WINDOW);
			if (rc < 0)
				return rc;
			has_begun = true;
		}
		if (played.kind == WTL_PLAYED_SAMPLE || played.kind == WTL_PLAYED_BEGUN ||
		    played.kind == WTL_PLAYED_ENDED)
			take_sample(curves, &played);
	}
	return rc;
}

/* Idle power of a domain; unknown: false. */
static bool add_idle(const struct curves *curves, size_t domain, double *sum)
{
	const struct wtl_consumers *consumers = wtl_player_consumers(curves->replay->player);
	struct wtl_baseline idle;

	if (wtl_consumers_baseline(consumers, domain, &idle) < 0 || !idle.is_known)
		return false;
	*sum += (double)idle.idle_uw / 1e6;
	return true;
}

/* Of the total it is known where that of all its parts is. */
static struct wtl_plot_level idle_of(const struct curves *curves, size_t domain)
{
	struct wtl_plot_level level = {.is_known = true, .name = "idle"};
	struct wattle_domain info;

	if (domain < curves->n_domains) {
		level.is_known = add_idle(curves, domain, &level.y);
		return level;
	}
	for (size_t i = 0; level.is_known && i < curves->n_domains; i++) {
		wattle_meter_domain(curves->meter, i, &info);
		if (info.in_total && info.method != WATTLE_METHOD_NONE)
			level.is_known = add_idle(curves, i, &level.y);
	}
	return level;
}

static const char *remark_of(const struct curves *curves, size_t domain)
{
	struct wattle_domain info;

	if (domain >= curves->n_domains || wattle_meter_domain(curves->meter, domain, &info) < 0 ||
	    !info.source)
		return NULL;
	return wtl_plot_sheet_printf(curves->replay->sheet, "%s, %s", info.source,
				     wattle_method_name(info.method));
}

/* ---- Notes ---- */

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

static int note_names(const struct curves *curves, const char *before, struct wtl_buf *names,
		      const char *after)
{
	char text[WTL_REMARK_SIZE + 256];

	snprintf(text, sizeof(text), "%s%s%s%s", before, wtl_buf_str(names), after[0] ? ": " : "",
		 after);
	return wtl_plot_note(curves->replay->sheet, text);
}

/* Why a domain has no line. */
static const char *reason_of(const struct curves *curves, const struct curve *curve)
{
	struct wtl_report_domain domain = {.energy = curves->energies[curve->domain]};
	const char *reason;

	wattle_meter_domain(curves->meter, curve->domain, &domain.domain);
	/* Of a model it is why nothing is measured. */
	reason = domain.domain.method == WATTLE_METHOD_MODELLED ? NULL : wtl_words_reason(&domain);
	return reason ? reason : "too short to speak of power";
}

/* NULL: it has a line, or is the total. */
static const char *reason_without_line(const struct curves *curves,
				       const struct wtl_plot_series *series, size_t i)
{
	if (has_line(&series[i]) || curves->list[i].domain == curves->n_domains)
		return NULL;
	return reason_of(curves, &curves->list[i]);
}

/* All that have none for one reason, once: with the first of them. */
static int note_reason(const struct curves *curves, const struct wtl_plot_series *series,
		       size_t first, const char *reason)
{
	struct wtl_buf names;
	size_t n = 0;
	int rc = 0;

	wtl_buf_init(&names, 1024);
	for (size_t i = 0; i < curves->n; i++) {
		const char *own = reason_without_line(curves, series, i);

		if (!own || strcmp(own, reason) != 0)
			continue;
		if (i < first)
			goto done;
		add_name(&names, n++, curves->list[i].name);
	}
	end_names(&names, n);
	rc = note_names(curves, "No line of ", &names, reason);
done:
	wtl_buf_done(&names);
	return rc;
}

static int note_without_lines(const struct curves *curves, const struct wtl_plot_series *series)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < curves->n; i++) {
		const char *reason = reason_without_line(curves, series, i);

		if (reason)
			rc = note_reason(curves, series, i, reason);
	}
	return rc;
}

/* As a report says it. */
static int note_lacking(const struct curves *curves)
{
	struct wtl_buf names;
	size_t n = 0;
	int rc = 0;

	wtl_buf_init(&names, 1024);
	for (size_t i = 0; i < curves->n_domains; i++) {
		struct wattle_domain domain;

		if (!curves->counts[i] || curves->energies[i].has_energy)
			continue;
		wattle_meter_domain(curves->meter, i, &domain);
		add_name(&names, n++, domain.name);
	}
	end_names(&names, n);
	if (n > 0)
		rc = note_names(curves, "The total lacks ", &names, "");
	wtl_buf_done(&names);
	return rc;
}

static int add_notes(const struct curves *curves, const struct wtl_plot_series *series)
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
			? "Band: ± (k = 2), as much of the power as of the energy so far. Dashed: idle power"
			: "Band: ± (k = 2), as much of the power as of the energy so far");
	if (rc == 0)
		rc = note_without_lines(curves, series);
	if (rc == 0 && has_total)
		rc = note_lacking(curves);
	return rc;
}

static int make_panel(struct curves *curves)
{
	struct wtl_plot_sheet *sheet = curves->replay->sheet;
	struct wtl_plot_panel *panel = wtl_plot_sheet_array(sheet, 1, sizeof(*panel));
	struct wtl_plot_series *series =
		wtl_plot_sheet_array(sheet, curves->n + 1, sizeof(*series));
	int rc;

	if (!panel || !series)
		return -ENOMEM;
	for (size_t i = 0; i < curves->n; i++) {
		struct curve *curve = &curves->list[i];

		series[i] = (struct wtl_plot_series){
			.name = curve->name,
			.remark = remark_of(curves, curve->domain),
			.n = wtl_plot_reducer_end(&curve->reducer),
			.points = curve->reducer.points,
			.has_range = true,
			.level = idle_of(curves, curve->domain),
		};
	}
	*panel = (struct wtl_plot_panel){
		.marks = WTL_PLOT_LINE,
		.x = WTL_PLOT_X_UTC,
		.from = curves->replay->from_utc_ns,
		.to = curves->replay->to_utc_ns,
		.label = "Power",
		.unit = "W",
		.prefix = WTL_PLOT_SI,
		.series = series,
		.n_series = curves->n,
	};
	rc = wtl_plot_recorded_gaps(curves->replay, &panel->gaps, &panel->n_gaps);
	sheet->figure.panels = panel;
	sheet->figure.n_panels = 1;
	return rc < 0 ? rc : add_notes(curves, series);
}

int wtl_plot_recorded_power(struct wtl_plot_replay *replay)
{
	struct curves curves = {.replay = replay, .meter = wtl_player_meter(replay->player)};
	int rc = choose(&curves);

	if (rc == 0 && curves.n == 0)
		rc = -ENODATA;
	if (rc == 0)
		rc = play(&curves);
	if (rc == 0)
		rc = make_panel(&curves);
	if (rc < 0 || !wtl_plot_is_empty(&replay->sheet->figure) ||
	    curves.list[0].domain == curves.n_domains)
		return rc;
	wtl_complain(replay->app, "there is nothing to plot of '%s': %s: %s", replay->path,
		     curves.list[0].name, reason_of(&curves, &curves.list[0]));
	return -ENOTSUP;
}
