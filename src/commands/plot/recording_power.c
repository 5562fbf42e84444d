/* SPDX-License-Identifier: MIT */
#include "commands/plot/recording_power.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "cli/complain.h"
#include "energy/budget.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "meter/meter.h"

/* Power over less than this is mostly the jitter of edges. */
#define SPAN_MIN_NS (20 * WTL_NS_PER_MS)

static int add_curve(struct wtl_plot_curves *curves, size_t domain, const char *name,
		     int64_t update_ns)
{
	struct wtl_plot_replay *replay = curves->replay;
	struct wtl_plot_curve *curve = &curves->list[curves->n++];
	struct wtl_plot_point *points = wtl_plot_sheet_array(
		replay->sheet, wtl_plot_reduced_max(WTL_PLOT_COLUMNS), sizeof(*points));

	*curve = (struct wtl_plot_curve){.domain = domain,
					 .span_ns = 2 * update_ns,
					 .zero_uw = wtl_meter_zero_uw(curves->meter, domain)};
	if (curve->span_ns < SPAN_MIN_NS)
		curve->span_ns = SPAN_MIN_NS;
	curve->name = wtl_plot_sheet_printf(replay->sheet, "%s", name);
	curve->last = wtl_plot_sheet_array(replay->sheet, curves->n_domains, sizeof(*curve->last));
	if (!points || !curve->last)
		return -ENOMEM;
	wtl_plot_reducer_init(&curve->reducer, replay->from_utc_ns, replay->to_utc_ns,
			      WTL_PLOT_COLUMNS, points);
	return 0;
}

static bool wants_total(const struct wtl_plot_wanted *wanted, size_t n_others)
{
	return wanted->n_domains == 0 ? n_others > 1 : wtl_plot_is_asked_for(wanted, "total");
}

static int choose(struct wtl_plot_curves *curves)
{
	int64_t longest_ns = 0;
	int rc = wtl_plot_check_domains(curves->replay, true);

	curves->n_domains = wattle_meter_domains(curves->meter);
	curves->list = wtl_plot_sheet_array(curves->replay->sheet, curves->n_domains + 1,
					    sizeof(*curves->list));
	curves->energies = curves->replay->whole;
	curves->counts = wtl_plot_sheet_array(curves->replay->sheet, curves->n_domains + 1,
					      sizeof(*curves->counts));
	if (rc == 0 && (!curves->list || !curves->counts))
		rc = -ENOMEM;
	for (size_t i = 0; rc == 0 && i < curves->n_domains; i++) {
		struct wattle_domain domain;

		wtl_meter_domain(curves->meter, i, &domain);
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

/* Parts of the total are all domains that count and have energy. */
static bool is_part(const struct wtl_plot_curves *curves, const struct wtl_plot_curve *curve,
		    size_t domain)
{
	bool is_total = curve->domain == curves->n_domains;

	return (is_total ? curves->counts[domain] : curve->domain == domain) &&
	       curves->energies[domain].has_energy;
}

/* Not after a failed reading: only later does a counter show whether anything was lost. */
static bool is_read(const struct wattle_energy *energy)
{
	return energy->status == WATTLE_STATUS_OK || energy->status == WATTLE_STATUS_GAP ||
	       energy->status == WATTLE_STATUS_STALE;
}

/* From the start of a curve's point until now. */
struct stretch {
	size_t n_parts;
	bool has_other_parts; /* than at the start */
	bool is_read, is_measured, is_seen;
	int64_t shortest_ns; /* of the parts */
	double watts;	     /* the parts' sum, each over its own time */
};

static void add_part(struct stretch *stretch, const struct wattle_energy *last,
		     const struct wattle_energy *now)
{
	int64_t span_ns = now->measured_ns - last->measured_ns;

	stretch->n_parts++;
	stretch->is_read &= is_read(now);
	stretch->is_measured &= now->gap_ns <= last->gap_ns + WTL_NS_PER_MS;
	stretch->is_seen &= wtl_plot_power_is_seen(now);
	if (span_ns < stretch->shortest_ns)
		stretch->shortest_ns = span_ns;
	if (span_ns > 0)
		stretch->watts +=
			((double)now->energy_uj - (double)last->energy_uj) * 1e3 / (double)span_ns;
}

static struct stretch stretch_of(const struct wtl_plot_curves *curves,
				 const struct wtl_plot_curve *curve)
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

static void begin_point(const struct wtl_plot_curves *curves, struct wtl_plot_curve *curve)
{
	for (size_t i = 0; i < curves->n_domains; i++)
		curve->last[i] = is_part(curves, curve, i) ? curves->energies[i]
							   : (struct wattle_energy){.gap_ns = 0};
}

static void break_line(struct wtl_plot_curve *curve, int64_t t_utc_ns)
{
	wtl_plot_reducer_add(&curve->reducer,
			     &(struct wtl_plot_point){.x = t_utc_ns, .y = WTL_PLOT_UNKNOWN});
}

/* When there are more parts than ever, the line starts anew, as all points before lack one. Else it breaks: a part has
 * gone, or come back. */
static void change_parts(const struct wtl_plot_curves *curves, struct wtl_plot_curve *curve,
			 size_t n_parts, int64_t t_utc_ns)
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

static void add_point(struct wtl_plot_curve *curve, const struct wattle_energy *energy,
		      double watts, int64_t t_utc_ns)
{
	double doubt_w =
		wtl_budget_power_uw((uint64_t)(fmax(0.0, watts) * 1e6), energy->energy_uj,
				    energy->uncertainty_uj, energy->measured_ns, curve->zero_uw) /
		1e6;
	const struct wtl_plot_point point = {
		.x = t_utc_ns,
		.y = watts,
		.low = fmax(0.0, watts - doubt_w),
		.high = watts + doubt_w,
	};

	wtl_plot_reducer_add(&curve->reducer, &point);
}

/* The power since the curve's last point, once that is long enough. */
static void go_on(const struct wtl_plot_curves *curves, struct wtl_plot_curve *curve,
		  int64_t t_utc_ns)
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
		/* Negative: the newest sampled power is an estimate, which may have been too high. */
		add_point(curve, &curves->energies[curve->domain], stretch.watts, t_utc_ns);
	}
	begin_point(curves, curve);
}

static int play(struct wtl_plot_curves *curves)
{
	struct wtl_played played;
	int rc;

	while ((rc = wtl_plot_go_on(curves->replay, &played)) > 0)
		if (played.kind == WTL_PLAYED_SAMPLE || played.kind == WTL_PLAYED_BEGUN ||
		    played.kind == WTL_PLAYED_ENDED)
			for (size_t i = 0; i < curves->n; i++)
				go_on(curves, &curves->list[i], played.t_utc_ns);
	return rc;
}

/* Idle power of a domain; unknown: false. */
static bool add_idle(const struct wtl_plot_curves *curves, size_t domain, double *sum)
{
	const struct wtl_consumers *consumers = curves->replay->history->consumers;
	struct wtl_baseline idle;

	wtl_consumers_baseline(consumers, domain, &idle);
	if (!idle.is_known)
		return false;
	*sum += (double)idle.idle_uw / 1e6;
	return true;
}

/* The total's is known if that of all its parts is. */
static struct wtl_plot_level idle_of(const struct wtl_plot_curves *curves, size_t domain)
{
	struct wtl_plot_level level = {.is_known = true, .name = "idle"};
	struct wattle_domain info;

	if (domain < curves->n_domains) {
		level.is_known = add_idle(curves, domain, &level.y);
		return level;
	}
	for (size_t i = 0; level.is_known && i < curves->n_domains; i++) {
		wtl_meter_domain(curves->meter, i, &info);
		if (info.in_total && info.method != WATTLE_METHOD_NONE)
			level.is_known = add_idle(curves, i, &level.y);
	}
	return level;
}

static const char *remark_of(const struct wtl_plot_curves *curves, size_t domain)
{
	struct wattle_domain info;

	if (domain >= curves->n_domains || wtl_meter_domain(curves->meter, domain, &info) < 0 ||
	    !info.source)
		return NULL;
	return wtl_plot_sheet_printf(curves->replay->sheet, "%s, %s", info.source,
				     wattle_method_name(info.method));
}

static int make_panel(struct wtl_plot_curves *curves)
{
	struct wtl_plot_sheet *sheet = curves->replay->sheet;
	struct wtl_plot_panel *panel = wtl_plot_sheet_panels(sheet, 1);
	struct wtl_plot_series *series =
		wtl_plot_sheet_array(sheet, curves->n + 1, sizeof(*series));

	if (!panel || !series)
		return -ENOMEM;
	for (size_t i = 0; i < curves->n; i++) {
		struct wtl_plot_curve *curve = &curves->list[i];
		const struct wattle_energy *energy = &curves->energies[curve->domain];

		/* A ± of more than half the power would cover the other curves: it is in a note. */
		series[i] = (struct wtl_plot_series){
			.name = curve->name,
			.remark = remark_of(curves, curve->domain),
			.n = wtl_plot_reducer_end(&curve->reducer),
			.points = curve->reducer.points,
			.has_range = energy->uncertainty_uj <= energy->energy_uj / 2,
			.is_total = curve->domain == curves->n_domains,
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
	wtl_plot_recorded_gaps(curves->replay, panel);
	wtl_plot_power_note(curves, series);
	return sheet->error;
}

int wtl_plot_recorded_power(struct wtl_plot_replay *replay)
{
	struct wtl_plot_curves curves = {.replay = replay, .meter = replay->history->meter};
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
	reason = wtl_plot_power_reason(&curves, curves.list[0].domain);
	if (!reason)
		return -ENODATA;
	wtl_complain(replay->app, "there is nothing to plot of '%s': %s: %s", replay->path,
		     curves.list[0].name, reason);
	return -ENOTSUP;
}
