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
	int64_t span_ns;	    /* of a point, at least */
	struct wattle_energy *last; /* of all domains, of parts of it alone: where a point begins */
	size_t n_parts_most;
	struct wtl_plot_reducer reducer;
};

struct curves {
	struct wtl_plot_replay *replay;
	struct wattle_meter *meter;
	struct curve *list;
	size_t n, n_domains;
	bool *counts;			/* domains in the total */
	struct wattle_energy *energies; /* and the total */
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
	curve->last = wtl_plot_sheet_array(replay->sheet, curves->n_domains, sizeof(*curve->last));
	if (!points || !curve->name || !curve->last)
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

/* Of the total: all that count and have a figure. */
static bool is_part(const struct curves *curves, const struct curve *curve, size_t domain)
{
	bool is_total = curve->domain == curves->n_domains;

	return (is_total ? curves->counts[domain] : curve->domain == domain) &&
	       curves->energies[domain].has_energy;
}

/* Not a failed reading, of which a counter may only later show that nothing is lost. */
static bool is_read(const struct wattle_energy *energy)
{
	return energy->status == WATTLE_STATUS_OK || energy->status == WATTLE_STATUS_GAP ||
	       energy->status == WATTLE_STATUS_STALE;
}

/* Nor is a power of 0 known where nothing was seen yet. */
static bool is_seen(const struct wattle_energy *energy)
{
	return energy->has_power || energy->energy_uj > 0;
}

/* From where a curve's point begins until now. */
struct stretch {
	size_t n_parts;
	bool has_other_parts; /* than there */
	bool is_read, is_measured, is_seen;
	int64_t shortest_ns; /* of its parts */
	double watts;	     /* their sum, of each over its own time */
};

static void add_part(struct stretch *stretch, const struct wattle_energy *last,
		     const struct wattle_energy *now)
{
	int64_t span_ns = now->measured_ns - last->measured_ns;

	stretch->n_parts++;
	stretch->is_read &= is_read(now);
	stretch->is_measured &= now->gap_ns <= last->gap_ns + WTL_NS_PER_MS;
	stretch->is_seen &= is_seen(now);
	if (span_ns < stretch->shortest_ns)
		stretch->shortest_ns = span_ns;
	if (span_ns > 0)
		stretch->watts +=
			((double)now->energy_uj - (double)last->energy_uj) * 1e3 / (double)span_ns;
}

static struct stretch stretch_of(const struct curves *curves, const struct curve *curve)
{
	struct stretch stretch = {
		.is_read = true, .is_measured = true, .is_seen = true, .shortest_ns = INT64_MAX};

	for (size_t i = 0; i < curves->n_domains; i++) {
		bool is_one = is_part(curves, curve, i);

		stretch.has_other_parts |= is_one != (curve->last[i].has_energy != 0);
		if (is_one)
			add_part(&stretch, &curve->last[i], &curves->energies[i]);
	}
	return stretch;
}

static void begin_point(const struct curves *curves, struct curve *curve)
{
	for (size_t i = 0; i < curves->n_domains; i++)
		curve->last[i] = is_part(curves, curve, i) ? curves->energies[i]
							   : (struct wattle_energy){.gap_ns = 0};
}

static void break_line(struct curve *curve, int64_t t_utc_ns)
{
	wtl_plot_reducer_add(&curve->reducer,
			     &(struct wtl_plot_point){.x = t_utc_ns, .y = WTL_PLOT_UNKNOWN});
}

/* Where a part has no figure any more, its line breaks; where one has its first, it begins anew: all before
 * that lacks it. */
static void change_parts(const struct curves *curves, struct curve *curve, size_t n_parts,
			 int64_t t_utc_ns)
{
	const struct wtl_plot_replay *replay = curves->replay;

	if (n_parts > curve->n_parts_most) {
		curve->n_parts_most = n_parts;
		wtl_plot_reducer_init(&curve->reducer, replay->from_utc_ns, replay->to_utc_ns,
				      WTL_PLOT_COLUMNS, curve->reducer.points);
	} else {
		break_line(curve, t_utc_ns);
	}
}

static void add_point(struct curve *curve, const struct wattle_energy *energy, double watts,
		      int64_t t_utc_ns)
{
	double relative = energy->energy_uj > 0
				  ? (double)energy->uncertainty_uj / (double)energy->energy_uj
				  : 0.0;
	const struct wtl_plot_point point = {
		.x = t_utc_ns,
		.y = watts,
		.low = fmax(0.0, watts * (1.0 - relative)),
		.high = watts * (1.0 + relative),
	};

	wtl_plot_reducer_add(&curve->reducer, &point);
}

/* The power since the curve's last point, once that is long enough. */
static void go_on(const struct curves *curves, struct curve *curve, int64_t t_utc_ns)
{
	struct stretch stretch = stretch_of(curves, curve);

	if (stretch.has_other_parts) {
		change_parts(curves, curve, stretch.n_parts, t_utc_ns);
	} else if (!stretch.is_read) {
		break_line(curve, t_utc_ns);
		return;
	} else if (!stretch.is_seen || stretch.n_parts == 0) {
		return;
	} else if (!stretch.is_measured) {
		break_line(curve, t_utc_ns);
	} else if (stretch.shortest_ns < curve->span_ns) {
		return;
	} else if (stretch.watts >= 0) {
		/* Of sampled power the newest stretch is an estimate, which may have been too high. */
		add_point(curve, &curves->energies[curve->domain], stretch.watts, t_utc_ns);
	}
	begin_point(curves, curve);
}

static void take_sample(struct curves *curves, const struct wtl_played *played)
{
	struct wattle_window window;

	if (wtl_window_look(curves->meter, WINDOW, &window, curves->energies, curves->n_domains) <
	    0)
		return;
	curves->energies[curves->n_domains] = window.total;
	for (size_t i = 0; i < curves->n; i++)
		go_on(curves, &curves->list[i], played->t_utc_ns);
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

/* Nor has the total a power as long as a part of it has none. */
static const char *reason_of_total(const struct curves *curves)
{
	for (size_t i = 0; i < curves->n_domains; i++) {
		const struct wattle_energy *energy = &curves->energies[i];

		if (curves->counts[i] && energy->has_energy && !is_seen(energy))
			return "power is not known of all of it";
	}
	return NULL;
}

/* Why a domain has no line. NULL: as there is none at all (the total). */
static const char *reason_of(const struct curves *curves, size_t i)
{
	struct wtl_report_domain domain = {.energy = curves->energies[i]};
	const char *reason;

	if (i == curves->n_domains)
		return reason_of_total(curves);
	wattle_meter_domain(curves->meter, i, &domain.domain);
	/* Of a model it is why nothing is measured. */
	reason = domain.domain.method == WATTLE_METHOD_MODELLED ? NULL : wtl_words_reason(&domain);
	return reason ? reason : "too short to speak of power";
}

/* NULL: it has a line, or shall have none. */
static const char *reason_without_line(const struct curves *curves,
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
	return is_asked_for ? reason_of(curves, domain) : NULL;
}

/* All that have none for one reason, once: with the first of them. */
static int note_reason(const struct curves *curves, const struct wtl_plot_series *series,
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
		wattle_meter_domain(curves->meter, i, &domain);
		add_name(&names, n++, domain.name);
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

	for (size_t i = 0; rc == 0 && i <= curves->n_domains; i++) {
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
	const char *reason;
	int rc = choose(&curves);

	if (rc == 0 && curves.n == 0)
		rc = -ENODATA;
	if (rc == 0)
		rc = play(&curves);
	if (rc == 0)
		rc = make_panel(&curves);
	if (rc < 0 || !wtl_plot_is_empty(&replay->sheet->figure))
		return rc;
	reason = reason_of(&curves, curves.list[0].domain);
	if (!reason)
		return -ENODATA;
	wtl_complain(replay->app, "there is nothing to plot of '%s': %s: %s", replay->path,
		     curves.list[0].name, reason);
	return -ENOTSUP;
}
