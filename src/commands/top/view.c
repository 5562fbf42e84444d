/* SPDX-License-Identifier: MIT */
#include "commands/top/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "energy/budget.h"

static uint32_t *row_of(const struct wtl_top_bins *bins, unsigned grain, uint64_t bin)
{
	return bins->rows + (grain * WTL_TOP_BINS + bin % WTL_TOP_BINS) * bins->width;
}

/* Room for the bins of `width` curves; if the number changes, old bins are lost. */
static bool reserve_bins(struct wtl_top_bins *bins, size_t width)
{
	if (bins->rows && bins->width == width)
		return true;
	free(bins->rows);
	bins->width = width;
	bins->rows = calloc(width, WTL_TOP_GRAINS * WTL_TOP_BINS * sizeof(*bins->rows));
	return bins->rows != NULL;
}

/* A coarser bin is known if at least half of it is. */
static void curve_add(const struct wtl_top_view *view, size_t i, struct wtl_top_curve *curve,
		      uint32_t value)
{
	const struct wtl_top_clock *clock = &view->clock;

	for (unsigned grain = 0;; grain++) {
		row_of(&view->bins, grain, clock->n_bins[grain])[i] = value;
		if (grain + 1 == WTL_TOP_GRAINS)
			return;
		curve->sum[grain] += value == WTL_TOP_GAP ? 0 : value;
		curve->n[grain] += value != WTL_TOP_GAP;
		if (clock->within[grain] + 1 < WTL_TOP_GRAIN)
			return;
		value = 2 * curve->n[grain] >= WTL_TOP_GRAIN
				? (uint32_t)(curve->sum[grain] / curve->n[grain])
				: WTL_TOP_GAP;
		curve->sum[grain] = curve->n[grain] = 0;
	}
}

void wtl_top_view_add_bin(struct wtl_top_view *view, bool is_known)
{
	struct wtl_top_clock *clock = &view->clock;

	if (!reserve_bins(&view->bins, view->n_domains + 1))
		return;
	for (size_t i = 0; i <= view->n_domains; i++) {
		struct wtl_top_curve *curve =
			i == 0 ? &view->total.curve : &view->domains[i - 1].curve;

		curve_add(view, i, curve, is_known ? curve->newest : WTL_TOP_GAP);
	}
	clock->n_bins[0]++;
	for (unsigned grain = 0; grain + 1 < WTL_TOP_GRAINS; grain++) {
		if (++clock->within[grain] < WTL_TOP_GRAIN)
			return;
		clock->within[grain] = 0;
		clock->n_bins[grain + 1]++;
	}
}

void wtl_top_view_clear_bins(struct wtl_top_view *view, int64_t bin_ns)
{
	view->clock = (struct wtl_top_clock){.bin_ns = bin_ns};
	view->bins.series++;
	memset(&view->total.curve, 0, sizeof(view->total.curve));
	for (size_t i = 0; i < view->n_domains; i++)
		memset(&view->domains[i].curve, 0, sizeof(view->domains[i].curve));
}

int64_t wtl_top_clock_bin_ns(const struct wtl_top_clock *clock, unsigned grain)
{
	int64_t bin_ns = clock->bin_ns;

	while (grain-- > 0)
		bin_ns *= WTL_TOP_GRAIN;
	return bin_ns;
}

unsigned wtl_top_clock_grain(const struct wtl_top_clock *clock, int64_t window_ns)
{
	unsigned grain = 0;

	while (grain + 1 < WTL_TOP_GRAINS &&
	       wtl_top_clock_bin_ns(clock, grain) * WTL_TOP_BINS < window_ns)
		grain++;
	return grain;
}

const uint32_t *wtl_top_bin_at(const struct wtl_top_view *view, unsigned grain, uint64_t back,
			       size_t *ret_n_curves)
{
	uint64_t n = view->clock.n_bins[grain];

	*ret_n_curves = view->bins.width;
	if (!view->bins.rows || back >= WTL_TOP_BINS || back >= n)
		return NULL;
	return row_of(&view->bins, grain, n - 1 - back);
}

uint32_t wtl_top_curve_at(const struct wtl_top_view *view, const struct wtl_top_domain *domain,
			  unsigned grain, uint64_t back)
{
	size_t i = domain == &view->total ? 0 : 1 + (size_t)(domain - view->domains), n;
	const uint32_t *bin = wtl_top_bin_at(view, grain, back, &n);

	return bin && i < n ? bin[i] : WTL_TOP_GAP;
}

void wtl_top_view_init(struct wtl_top_view *view)
{
	memset(view, 0, sizeof(*view));
	view->total.gpu = -1;
}

void wtl_top_view_done(struct wtl_top_view *view)
{
	free(view->bins.rows);
	free(view->domains);
	free(view->gpus);
	free(view->processes);
	free(view->groups);
	wtl_top_view_init(view);
}

int wtl_top_view_reserve(struct wtl_top_view *view, size_t domains, size_t gpus, size_t processes,
			 size_t groups)
{
	if (wtl_array_reserve(&view->domains, &view->size_domains, domains,
			      sizeof(*view->domains)) < 0 ||
	    wtl_array_reserve(&view->gpus, &view->size_gpus, gpus, sizeof(*view->gpus)) < 0 ||
	    wtl_array_reserve(&view->processes, &view->size_processes, processes,
			      sizeof(*view->processes)) < 0 ||
	    wtl_array_reserve(&view->groups, &view->size_groups, groups, sizeof(*view->groups)) < 0)
		return -ENOMEM;
	return 0;
}

static void copy_array(void *dst, const void *src, size_t n, size_t element)
{
	if (n > 0)
		memcpy(dst, src, n * element);
}

static void copy_text(char *dst, const char *src)
{
	memcpy(dst, src, strlen(src) + 1);
}

static void copy_domains(struct wtl_top_view *dst, const struct wtl_top_view *src)
{
	for (size_t i = 0; i < src->n_domains; i++) {
		const struct wtl_top_domain *from = &src->domains[i];
		struct wtl_top_domain *to = &dst->domains[i];

		memcpy(to, from, offsetof(struct wtl_top_domain, device));
		copy_text(to->device, from->device);
		copy_text(to->reason, from->reason);
		copy_text(to->remedy, from->remedy);
	}
}

static void copy_processes(struct wtl_top_view *dst, const struct wtl_top_view *src)
{
	copy_array(dst->groups, src->groups, src->n_groups, sizeof(*src->groups));
	for (size_t i = 0; i < src->n_processes; i++) {
		const struct wtl_top_process *from = &src->processes[i];
		struct wtl_top_process *to = &dst->processes[i];
		struct wtl_consumer *consumer = &to->consumer;

		memcpy(to, from, offsetof(struct wtl_top_process, command));
		copy_text(to->command, from->command);
		if (consumer->group)
			consumer->group = &dst->groups[consumer->group - src->groups];
	}
}

/* Copies what was added since the last copy. */
static int copy_bins(struct wtl_top_view *dst, const struct wtl_top_view *src)
{
	bool goes_on = dst->bins.rows && dst->bins.width == src->bins.width &&
		       dst->bins.series == src->bins.series;

	if (!src->bins.rows)
		return 0;
	if (!reserve_bins(&dst->bins, src->bins.width))
		return -ENOMEM;
	for (unsigned grain = 0; grain < WTL_TOP_GRAINS; grain++) {
		uint64_t n = src->clock.n_bins[grain],
			 from = goes_on ? dst->clock.n_bins[grain] : 0;

		for (from = n > from + WTL_TOP_BINS ? n - WTL_TOP_BINS : from; from < n; from++)
			memcpy(row_of(&dst->bins, grain, from), row_of(&src->bins, grain, from),
			       src->bins.width * sizeof(*src->bins.rows));
	}
	return 0;
}

int wtl_top_view_copy(struct wtl_top_view *dst, const struct wtl_top_view *src)
{
	struct wtl_top_view old;
	int rc = wtl_top_view_reserve(dst, src->n_domains, src->n_gpus, src->n_processes,
				      src->n_groups);

	if (rc == 0)
		rc = copy_bins(dst, src);
	if (rc < 0)
		return rc;
	old = *dst;
	*dst = *src;
	dst->bins.rows = old.bins.rows;
	dst->domains = old.domains;
	dst->size_domains = old.size_domains;
	dst->gpus = old.gpus;
	dst->size_gpus = old.size_gpus;
	dst->processes = old.processes;
	dst->size_processes = old.size_processes;
	dst->groups = old.groups;
	dst->size_groups = old.size_groups;
	copy_domains(dst, src);
	/* GPUs change when they answer; recorded ones have no time of answer. */
	if (src->gpus_answered_ns == 0 || old.gpus_answered_ns != src->gpus_answered_ns ||
	    old.n_gpus != src->n_gpus)
		copy_array(dst->gpus, src->gpus, src->n_gpus, sizeof(*src->gpus));
	if (old.generation != src->generation)
		copy_processes(dst, src);
	return 0;
}

bool wtl_top_has_gpus(const struct wtl_top_view *view)
{
	for (size_t i = 0; i < view->n_domains; i++)
		if (view->domains[i].kind == WATTLE_KIND_GPU)
			return true;
	return view->n_gpus > 0;
}

const struct wtl_top_domain *wtl_top_find_domain(const struct wtl_top_view *view, const char *name)
{
	for (size_t i = 0; i < view->n_domains; i++)
		if (strcmp(view->domains[i].name, name) == 0)
			return &view->domains[i];
	return NULL;
}

uint64_t wtl_top_power_uncertainty_uw(const struct wtl_top_domain *domain)
{
	const struct wattle_energy *energy = &domain->energy;

	return energy->has_energy
		       ? (uint64_t)wtl_budget_power_uw(domain->power_uw, energy->energy_uj,
						       energy->uncertainty_uj, energy->measured_ns,
						       domain->zero_uw)
		       : 0;
}

const char *wtl_top_place(const struct wtl_top_view *view)
{
	return view->is_over   ? "end of the tape"
	       : view->is_tape ? "tape"
	       : view->is_root ? "another root"
			       : view->machine.host;
}

const char *wtl_top_mark(bool is_modelled)
{
	return is_modelled ? "~" : "";
}

struct wtl_top_sum wtl_top_sum(const struct wtl_top_view *view, enum wtl_style style,
			       bool with_past)
{
	struct wtl_top_sum sum = {.is_there = false};
	bool limits = true, idles = true;

	for (size_t i = 0; i < view->n_domains; i++) {
		const struct wtl_top_domain *domain = &view->domains[i];

		if (!domain->in_total ||
		    (style != WTL_STYLE_PLAIN && wtl_top_kind_style(domain->kind) != style) ||
		    !(domain->has_power || (with_past && domain->energy.has_energy)))
			continue;
		sum.is_there = true;
		limits &= domain->limit_uw > 0;
		idles &= domain->idle.is_known;
		sum.limit_uw += domain->limit_uw;
		sum.idle_uw += domain->idle.idle_uw;
		if (!domain->has_power)
			continue;
		sum.has_power = true;
		sum.power_uw += domain->power_uw;
		sum.is_modelled |= domain->method == WATTLE_METHOD_MODELLED;
	}
	sum.limit_uw = limits ? sum.limit_uw : 0;
	sum.has_idle = sum.is_there && idles;
	sum.idle_uw = idles ? sum.idle_uw : 0;
	return sum;
}
