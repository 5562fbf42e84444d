/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "commands/top/collect.h"
#include "commands/top/format.h"
#include "energy/units.h"

#define WINDOW "top"

/* A figure that people read is a mean over this long. */
#define FIGURE_NS WTL_NS_PER_S

/* What was billed longer ago, or over longer, is not the power of now; but for so many samples. */
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

static int reserve(struct wtl_top_sampler *sampler, struct wtl_top_view *view)
{
	size_t n = sampler->n;

	sampler->energies = calloc(n + 1, sizeof(*sampler->energies));
	sampler->moments = calloc((n + 1) * WTL_TOP_MOMENTS, sizeof(*sampler->moments));
	sampler->billed = calloc(n + 1, sizeof(*sampler->billed));
	sampler->curves = calloc(n + 1, sizeof(*sampler->curves));
	sampler->values = calloc(n + 1, sizeof(*sampler->values));
	if (!sampler->energies || !sampler->moments || !sampler->billed || !sampler->curves ||
	    !sampler->values)
		return -ENOMEM;
	return wtl_top_view_reserve(view, n, 0, 0, 0);
}

int wtl_top_sampler_init(struct wtl_top_sampler *sampler, struct wattle_meter *meter,
			 struct wtl_top_view *view)
{
	memset(sampler, 0, sizeof(*sampler));
	sampler->meter = meter;
	sampler->n = wattle_meter_domains(meter);
	if (reserve(sampler, view) < 0) {
		wtl_top_sampler_done(sampler);
		return -ENOMEM;
	}
	view->n_domains = sampler->n;
	for (size_t i = 0; i < sampler->n; i++) {
		struct wtl_top_domain *domain = &view->domains[i];
		struct wattle_domain info;

		memset(domain, 0, sizeof(*domain));
		wtl_top_curve_clear(&domain->power);
		wtl_meter_domain(meter, i, &info);
		describe(domain, &info);
		domain->gpu = -1;
	}
	wtl_text_copy(view->total.name, sizeof(view->total.name), "total");
	view->total.in_total = true;
	return wattle_window_begin(meter, WINDOW);
}

void wtl_top_sampler_done(struct wtl_top_sampler *sampler)
{
	free(sampler->energies);
	free(sampler->moments);
	free(sampler->billed);
	free(sampler->curves);
	free(sampler->values);
	memset(sampler, 0, sizeof(*sampler));
}

/* `back` samples before the newest; the oldest there is, at most. */
static const struct wtl_top_moment *moment(const struct wtl_top_sampler *sampler, size_t domain,
					   uint64_t back)
{
	uint64_t most = sampler->n_moments < WTL_TOP_MOMENTS ? sampler->n_moments : WTL_TOP_MOMENTS;

	if (back >= most)
		back = most - 1;
	return &sampler->moments[domain * WTL_TOP_MOMENTS +
				 (sampler->n_moments - 1 - back) % WTL_TOP_MOMENTS];
}

/* What is not known yet is 0, as at the window's begin. */
static struct wtl_top_moment moment_of(const struct wattle_energy *energy)
{
	if (!energy->has_energy)
		return (struct wtl_top_moment){.is_known = false};
	return (struct wtl_top_moment){.is_known = true,
				       .energy_uj = energy->energy_uj,
				       .measured_ns = energy->measured_ns,
				       .gap_ns = energy->gap_ns};
}

static void keep_moment(struct wtl_top_sampler *sampler, size_t domain,
			const struct wattle_energy *energy)
{
	sampler->moments[domain * WTL_TOP_MOMENTS + (sampler->n_moments - 1) % WTL_TOP_MOMENTS] =
		moment_of(energy);
}

/* The mean power from one moment to another. false: not (all) measured. */
static bool power_between(const struct wtl_top_moment *then, const struct wtl_top_moment *now,
			  uint64_t *ret_uw)
{
	int64_t span_ns = now->measured_ns - then->measured_ns;

	if (!now->is_known || span_ns <= 0 || now->gap_ns > then->gap_ns)
		return false;
	/* Of sampled power the newest stretch is an estimate, which may have been too high. */
	if (now->energy_uj < then->energy_uj)
		*ret_uw = 0;
	else
		*ret_uw = (uint64_t)((double)(now->energy_uj - then->energy_uj) * 1e9 /
				     (double)span_ns);
	return true;
}

/* The same over the last `back` samples. */
static bool power_over(const struct wtl_top_sampler *sampler, size_t domain, uint64_t back,
		       uint64_t *ret_uw)
{
	return power_between(moment(sampler, domain, back), moment(sampler, domain, 0), ret_uw);
}

/* How many samples hold at least so long. */
static uint64_t samples_for(int64_t interval_ns, int64_t span_ns)
{
	return interval_ns > 0 ? (uint64_t)((span_ns + interval_ns - 1) / interval_ns) : 1;
}

static uint32_t curve_value(bool known, uint64_t mw)
{
	return !known ? WTL_TOP_GAP : mw < WTL_TOP_GAP ? (uint32_t)mw : WTL_TOP_GAP - 1;
}

static bool is_readable(enum wattle_status status)
{
	return status == WATTLE_STATUS_OK || status == WATTLE_STATUS_GAP ||
	       status == WATTLE_STATUS_STALE;
}

static void take_energy(struct wtl_top_domain *domain, const struct wattle_energy *energy)
{
	domain->has_energy = energy->has_energy != 0;
	domain->energy_uj = energy->energy_uj;
	domain->uncertainty_uj = energy->uncertainty_uj;
	domain->max_uw = energy->has_power ? energy->max_uw : 0;
	domain->gap_ns = energy->gap_ns;
	domain->flags = energy->flags;
	domain->method = energy->method == WATTLE_METHOD_NONE ? domain->method : energy->method;
	/* As much of the power is uncertain as of the energy so far. */
	domain->uncertainty_ppm = 0;
	if (energy->has_energy && energy->energy_uj > 0) {
		double ppm = 1e6 * (double)energy->uncertainty_uj / (double)energy->energy_uj;

		domain->uncertainty_ppm = ppm < 1e9 ? (uint32_t)ppm : 1000000000u;
	}
}

/* Who uses it has figures of then, too, which shall be parts of this one. Of a sensor that has something
 * new less often a figure takes longer. */
static bool goes_by_bill(const struct wtl_top_sampler *sampler, size_t i, int64_t interval_ns,
			 int64_t update_ns)
{
	int64_t back = (int64_t)(sampler->n_moments - sampler->n_moments_billed);

	return sampler->n_moments_billed > 0 && sampler->billed[i].has_power &&
	       2 * update_ns <= FIGURE_NS && is_of_now(back * interval_ns, interval_ns);
}

/* The figure over a second and the curve's value over as few samples as the sensor allows. */
static uint32_t take_power(const struct wtl_top_sampler *sampler, size_t i, int64_t interval_ns,
			   int64_t update_ns, struct wtl_top_domain *domain)
{
	uint64_t power_uw = 0, few = samples_for(interval_ns, 2 * update_ns);
	uint64_t many = samples_for(interval_ns, FIGURE_NS);
	bool known = is_readable(domain->status);

	if (few < 1 || update_ns * 2 <= interval_ns)
		few = 1;
	domain->has_power =
		known && power_over(sampler, i, many > few ? many : few, &domain->power_uw);
	known = known && power_over(sampler, i, few, &power_uw);
	/* After a gap the figure comes back with the curve. */
	if (known && !domain->has_power) {
		domain->has_power = true;
		domain->power_uw = power_uw;
	}
	if (domain->has_power && goes_by_bill(sampler, i, interval_ns, update_ns))
		domain->power_uw = sampler->billed[i].power_uw;
	return curve_value(known, power_uw / 1000);
}

static uint32_t take_domain(struct wtl_top_sampler *sampler, size_t i, struct wtl_top_view *view)
{
	struct wtl_top_domain *domain = &view->domains[i];
	struct wattle_domain info;

	if (wtl_meter_domain(sampler->meter, i, &info) < 0)
		return WTL_TOP_GAP;
	if (info.status != domain->status || !domain->has_energy)
		describe(domain, &info);
	keep_moment(sampler, i, &sampler->energies[i]);
	take_energy(domain, &sampler->energies[i]);
	return take_power(sampler, i, view->interval_ns, info.update_ns, domain);
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

static uint32_t take_total(const struct wtl_top_sampler *sampler, struct wtl_top_view *view,
			   uint64_t curve_mw, bool curve_known)
{
	take_energy(&view->total, &sampler->window.total);
	view->total.status = sampler->window.total.status;
	view->is_incomplete = (sampler->window.total.flags & WATTLE_ENERGY_INCOMPLETE) != 0;
	sum_powers(view);
	return curve_value(curve_known, curve_mw);
}

/* As many bins as the time since the last ones holds, to the nearest. */
static void add_bins(struct wtl_top_sampler *sampler, struct wtl_top_view *view, int64_t now_ns)
{
	int64_t bin_ns = view->clock.bin_ns, due, missing;

	if (sampler->begin_ns == 0) {
		sampler->begin_ns = now_ns;
		return;
	}
	for (size_t i = 0; i < sampler->n; i++)
		sampler->curves[i] = &view->domains[i].power;
	sampler->curves[sampler->n] = &view->total.power;
	due = (now_ns - sampler->begin_ns + bin_ns / 2) / bin_ns;
	missing = due - (int64_t)view->clock.n_bins[0];
	/* The machine stood still for longer than any curve is. */
	if (missing > WTL_TOP_BINS) {
		sampler->begin_ns += (missing - WTL_TOP_BINS) * bin_ns;
		missing = WTL_TOP_BINS;
	}
	for (; missing > 0; missing--)
		wtl_top_curves_add(&view->clock, sampler->curves,
				   sampler->has_missed && missing > 1 ? NULL : sampler->values,
				   sampler->n + 1);
	sampler->has_missed = false;
}

static void take_sums(const struct wtl_top_sampler *sampler, struct wtl_top_view *view)
{
	view->duration_ns = sampler->window.duration_ns;
	view->emitted_ug = wattle_carbon_ug(&view->carbon, view->total.energy_uj);
}

void wtl_top_sampler_take(struct wtl_top_sampler *sampler, struct wtl_top_view *view,
			  int64_t now_ns)
{
	uint64_t sum_mw = 0;
	bool known = false;

	if (wtl_window_look(sampler->meter, WINDOW, &sampler->window, sampler->energies,
			    sampler->n) < 0)
		return;
	sampler->n_moments++;
	for (size_t i = 0; i < sampler->n; i++) {
		sampler->values[i] = take_domain(sampler, i, view);
		if (!view->domains[i].in_total || sampler->values[i] == WTL_TOP_GAP)
			continue;
		known = true;
		sum_mw += sampler->values[i];
	}
	sampler->values[sampler->n] = take_total(sampler, view, sum_mw, known);
	take_sums(sampler, view);
	add_bins(sampler, view, now_ns);
}

void wtl_top_sampler_bill(struct wtl_top_sampler *sampler, struct wtl_top_view *view,
			  const struct wattle_energy energies[])
{
	sampler->n_moments_billed = sampler->n_moments;
	for (size_t i = 0; i < sampler->n; i++) {
		struct wtl_top_billed *billed = &sampler->billed[i];
		struct wtl_top_moment now = moment_of(&energies[i]);
		struct wattle_domain info;

		billed->has_power =
			is_of_now(now.measured_ns - billed->until.measured_ns, view->interval_ns) &&
			power_between(&billed->until, &now, &billed->power_uw);
		billed->until = now;
		if (view->domains[i].has_power && wtl_meter_domain(sampler->meter, i, &info) == 0 &&
		    goes_by_bill(sampler, i, view->interval_ns, info.update_ns))
			view->domains[i].power_uw = billed->power_uw;
	}
	sum_powers(view);
}

void wtl_top_sampler_sum(struct wtl_top_sampler *sampler, struct wtl_top_view *view)
{
	if (wtl_window_look(sampler->meter, WINDOW, &sampler->window, sampler->energies,
			    sampler->n) < 0)
		return;
	for (size_t i = 0; i < sampler->n; i++)
		take_energy(&view->domains[i], &sampler->energies[i]);
	take_energy(&view->total, &sampler->window.total);
	take_sums(sampler, view);
}
