/* SPDX-License-Identifier: MIT */
/* Power over time, a line a domain. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cli/app.h"
#include "cli/plot_recording.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "meter/meter.h"

#define WINDOW "plot"

/* Power over less than this is mostly the jitter of edges. */
#define SPAN_MIN_NS (20 * WTL_NS_PER_MS)

/* A domain, or the total. */
struct curve {
	size_t domain; /* past the last one: the total */
	const char *name;
	int64_t span_ns; /* of a point, at least */
	struct wattle_energy last;
	bool has_last;
	struct wtl_plot_reducer reducer;
};

struct curves {
	struct wtl_plot_replay *replay;
	struct wattle_meter *meter;
	struct curve *list;
	size_t n, n_domains;
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
	if (rc == 0 && (!curves->list || !curves->energies))
		rc = -ENOMEM;
	for (size_t i = 0; rc == 0 && i < curves->n_domains; i++) {
		struct wattle_domain domain;

		wattle_meter_domain(curves->meter, i, &domain);
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

static void take_sample(struct curves *curves, const struct wtl_played *played)
{
	struct wattle_window window;

	if (wtl_window_look(curves->meter, WINDOW, &window, curves->energies, curves->n_domains) <
	    0)
		return;
	curves->energies[curves->n_domains] = window.total;
	for (size_t i = 0; i < curves->n; i++)
		add_point(&curves->list[i], &curves->energies[curves->list[i].domain],
			  played->t_utc_ns);
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

static int make_panel(struct curves *curves)
{
	static const char *const notes[] = {
		"Band: ± (k = 2), as much of the power as of the energy so far. Dashed: idle power."};
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
	sheet->figure.notes = notes;
	sheet->figure.n_notes = 1;
	return rc;
}

int wtl_plot_recorded_power(struct wtl_plot_replay *replay)
{
	struct curves curves = {.replay = replay, .meter = wtl_player_meter(replay->player)};
	int rc = choose(&curves);

	if (rc == 0 && curves.n == 0)
		rc = -ENODATA;
	if (rc == 0)
		rc = play(&curves);
	return rc < 0 ? rc : make_panel(&curves);
}
