/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "commands/top/collect.h"
#include "energy/units.h"

#define WINDOW "top"

/* The shown power is a mean over this time. */
#define FIGURE_NS WTL_NS_PER_S

/* Power billed longer ago, or over longer, is not shown as the current one, except within so many samples. */
#define BILLED_NS (3 * WTL_NS_PER_S)
enum { BILLED_SAMPLES = 3 };

static bool is_of_now(int64_t span_ns, int64_t interval_ns)
{
	return span_ns <= BILLED_NS || span_ns <= BILLED_SAMPLES * interval_ns;
}

static void describe(struct wtl_top_domain *domain, const struct wattle_domain *info)
{
	wtl_text_copy(domain->name, sizeof(domain->name), info->name);
	wtl_text_copy(domain->inside, sizeof(domain->inside), info->inside);
	wtl_text_copy(domain->device, sizeof(domain->device), info->device);
	wtl_text_copy(domain->source, sizeof(domain->source), info->source);
	wtl_text_copy(domain->reason, sizeof(domain->reason), info->reason);
	wtl_text_copy(domain->remedy, sizeof(domain->remedy), info->remedy);
	domain->kind = info->kind;
	domain->method = info->method;
	domain->status = info->status;
	domain->in_total = info->in_total != 0;
}

int wtl_top_sampler_init(struct wtl_top_sampler *sampler, struct wattle_meter *meter,
			 struct wtl_top_view *view)
{
	size_t n = wattle_meter_domains(meter);

	*sampler = (struct wtl_top_sampler){.meter = meter, .n = n};
	sampler->energies = calloc(n + 1, sizeof(*sampler->energies));
	sampler->tracks = calloc(n + 1, sizeof(*sampler->tracks));
	if (!sampler->energies || !sampler->tracks || wtl_top_view_reserve(view, n, 0, 0, 0) < 0) {
		wtl_top_sampler_done(sampler);
		return -ENOMEM;
	}
	view->n_domains = n;
	for (size_t i = 0; i < n; i++) {
		struct wtl_top_domain *domain = &view->domains[i];
		struct wattle_domain info;

		memset(domain, 0, sizeof(*domain));
		wtl_meter_domain(meter, i, &info);
		describe(domain, &info);
		domain->zero_uw = wtl_meter_zero_uw(meter, i);
		domain->gpu = -1;
	}
	wtl_text_copy(view->total.name, sizeof(view->total.name), "total");
	view->total.in_total = true;
	view->total.zero_uw = wtl_meter_zero_uw(meter, n);
	return 0;
}

int wtl_top_sampler_begin(struct wtl_top_sampler *sampler)
{
	return wattle_window_begin(sampler->meter, WINDOW);
}

void wtl_top_sampler_done(struct wtl_top_sampler *sampler)
{
	free(sampler->energies);
	free(sampler->tracks);
	memset(sampler, 0, sizeof(*sampler));
}

/* Without energy yet, a moment is 0, as at the window's start. */
static struct wtl_top_moment moment_of(const struct wattle_energy *energy)
{
	if (!energy->has_energy)
		return (struct wtl_top_moment){.is_known = false};
	return (struct wtl_top_moment){.is_known = true,
				       .energy_uj = energy->energy_uj,
				       .measured_ns = energy->measured_ns,
				       .gap_ns = energy->gap_ns};
}

/* The mean power between two moments. false: not fully measured. */
static bool power_between(const struct wtl_top_moment *then, const struct wtl_top_moment *now,
			  uint64_t *ret_uw)
{
	int64_t span_ns = now->measured_ns - then->measured_ns;

	if (!now->is_known || span_ns <= 0 || now->gap_ns > then->gap_ns)
		return false;
	/* Sampled power: the newest part is an estimate, which may have been too high. */
	if (now->energy_uj < then->energy_uj)
		*ret_uw = 0;
	else
		*ret_uw = (uint64_t)((double)(now->energy_uj - then->energy_uj) * 1e9 /
				     (double)span_ns);
	return true;
}

/* The same over the last `back` samples; since the oldest moment, at most. */
static bool power_over(const struct wtl_top_sampler *sampler, const struct wtl_top_track *track,
		       uint64_t back, uint64_t *ret_uw)
{
	uint64_t newest = sampler->n_moments - 1;
	uint64_t most = newest < WTL_TOP_MOMENTS ? newest : WTL_TOP_MOMENTS - 1;

	if (back > most)
		back = most;
	return power_between(&track->moments[(newest - back) % WTL_TOP_MOMENTS],
			     &track->moments[newest % WTL_TOP_MOMENTS], ret_uw);
}

/* The least number of samples that take that long. */
static uint64_t samples_for(int64_t interval_ns, int64_t span_ns)
{
	return interval_ns > 0 ? (uint64_t)((span_ns + interval_ns - 1) / interval_ns) : 1;
}

static uint32_t curve_value(bool known, uint64_t mw)
{
	return !known ? WTL_TOP_GAP : mw < WTL_TOP_GAP ? (uint32_t)mw : WTL_TOP_GAP - 1;
}

/* Processes' figures are from the last bill, and should be parts of their domain's: so that uses the bill's power, too.
 * Not with a sensor that is too slow for a second. */
static void go_by_bill(const struct wtl_top_sampler *sampler, const struct wtl_top_track *track,
		       int64_t interval_ns, struct wtl_top_domain *domain)
{
	int64_t back = (int64_t)(sampler->n_moments - sampler->n_moments_billed);

	if (domain->has_power && sampler->n_moments_billed > 0 && track->has_billed_power &&
	    2 * track->update_ns <= FIGURE_NS && is_of_now(back * interval_ns, interval_ns))
		domain->power_uw = track->billed_uw;
}

/* The figure is over a second; the curve's value over as few samples as the sensor allows. */
static void take_power(const struct wtl_top_sampler *sampler, const struct wtl_top_track *track,
		       int64_t interval_ns, struct wtl_top_domain *domain)
{
	uint64_t power_uw = 0, few = samples_for(interval_ns, 2 * track->update_ns);
	uint64_t many = samples_for(interval_ns, FIGURE_NS);
	bool known = domain->status == WATTLE_STATUS_OK || domain->status == WATTLE_STATUS_GAP ||
		     domain->status == WATTLE_STATUS_STALE;

	if (few < 1 || track->update_ns * 2 <= interval_ns)
		few = 1;
	domain->has_power =
		known && power_over(sampler, track, many > few ? many : few, &domain->power_uw);
	known = known && power_over(sampler, track, few, &power_uw);
	/* After a gap, the figure returns together with the curve. */
	if (known && !domain->has_power) {
		domain->has_power = true;
		domain->power_uw = power_uw;
	}
	go_by_bill(sampler, track, interval_ns, domain);
	domain->curve.newest = curve_value(known, power_uw / 1000);
}

static void take_domain(struct wtl_top_sampler *sampler, size_t i, struct wtl_top_view *view)
{
	struct wtl_top_domain *domain = &view->domains[i];
	struct wtl_top_track *track = &sampler->tracks[i];
	const struct wattle_energy *energy = &sampler->energies[i];
	struct wattle_domain info;

	domain->curve.newest = WTL_TOP_GAP;
	if (wtl_meter_domain(sampler->meter, i, &info) < 0)
		return;
	if (info.status != domain->status || !domain->energy.has_energy)
		describe(domain, &info);
	track->update_ns = info.update_ns;
	track->moments[(sampler->n_moments - 1) % WTL_TOP_MOMENTS] = moment_of(energy);
	domain->energy = *energy;
	if (energy->method != WATTLE_METHOD_NONE)
		domain->method = energy->method;
	take_power(sampler, track, view->interval_ns, domain);
}

/* The total's power is the sum of its domains', so that they add up on the screen. */
static void sum_powers(struct wtl_top_view *view)
{
	struct wtl_top_sum sum = wtl_top_sum(view, WTL_STYLE_PLAIN, false);

	view->total.has_power = sum.has_power;
	view->total.power_uw = sum.power_uw;
	view->total.limit_uw = sum.limit_uw;
	view->total.idle = (struct wtl_baseline){.is_known = sum.has_idle, .idle_uw = sum.idle_uw};
}

/* Adds bins up to now, rounded. */
static void add_bins(struct wtl_top_sampler *sampler, struct wtl_top_view *view, int64_t now_ns)
{
	int64_t bin_ns = view->clock.bin_ns, missing;

	if (sampler->begin_ns == 0) {
		sampler->begin_ns = now_ns;
		return;
	}
	missing =
		(now_ns - sampler->begin_ns + bin_ns / 2) / bin_ns - (int64_t)view->clock.n_bins[0];
	/* Longer than any curve: the machine was suspended, or stopped. */
	if (missing > WTL_TOP_BINS) {
		sampler->begin_ns += (missing - WTL_TOP_BINS) * bin_ns;
		missing = WTL_TOP_BINS;
	}
	for (; missing > 0; missing--)
		wtl_top_view_add_bin(view, !sampler->has_missed || missing == 1);
	sampler->has_missed = false;
}

bool wtl_top_sampler_sum(struct wtl_top_sampler *sampler, struct wtl_top_view *view)
{
	const struct wattle_window *window = &sampler->window;

	if (wtl_window_look(sampler->meter, WINDOW, &sampler->window, sampler->energies,
			    sampler->n) < 0)
		return false;
	for (size_t i = 0; i < sampler->n; i++)
		view->domains[i].energy = sampler->energies[i];
	view->total.energy = window->total;
	view->total.status = window->total.status;
	if (window->total.method != WATTLE_METHOD_NONE)
		view->total.method = window->total.method;
	view->duration_ns = window->duration_ns;
	view->emitted_ug = wattle_carbon_ug(&view->carbon, window->total.energy_uj);
	return true;
}

void wtl_top_sampler_take(struct wtl_top_sampler *sampler, struct wtl_top_view *view,
			  int64_t now_ns)
{
	uint64_t sum_mw = 0;
	bool known = false;

	if (!wtl_top_sampler_sum(sampler, view))
		return;
	sampler->n_moments++;
	for (size_t i = 0; i < sampler->n; i++) {
		const struct wtl_top_domain *domain = &view->domains[i];

		take_domain(sampler, i, view);
		if (!domain->in_total || domain->curve.newest == WTL_TOP_GAP)
			continue;
		known = true;
		sum_mw += domain->curve.newest;
	}
	sum_powers(view);
	view->total.curve.newest = curve_value(known, sum_mw);
	add_bins(sampler, view, now_ns);
}

void wtl_top_sampler_bill(struct wtl_top_sampler *sampler, struct wtl_top_view *view,
			  const struct wattle_energy energies[])
{
	sampler->n_moments_billed = sampler->n_moments;
	for (size_t i = 0; i < sampler->n; i++) {
		struct wtl_top_track *track = &sampler->tracks[i];
		struct wtl_top_moment now = moment_of(&energies[i]);

		track->has_billed_power =
			is_of_now(now.measured_ns - track->billed.measured_ns, view->interval_ns) &&
			power_between(&track->billed, &now, &track->billed_uw);
		track->billed = now;
		go_by_bill(sampler, track, view->interval_ns, &view->domains[i]);
	}
	sum_powers(view);
}
