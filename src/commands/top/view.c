/* SPDX-License-Identifier: MIT */
#include "commands/top/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void wtl_top_curve_clear(struct wtl_top_curve *curve)
{
	memset(curve, 0, sizeof(*curve));
	/* Every byte 0xff: all bins are gaps. */
	memset(curve->bins, 0xff, sizeof(curve->bins));
}

/* A coarser bin is known if most of it is. */
static void curve_add(struct wtl_top_curve *curve, const struct wtl_top_clock *clock,
		      uint32_t value)
{
	for (unsigned grain = 0;; grain++) {
		curve->bins[grain][clock->n_bins[grain] % WTL_TOP_BINS] = value;
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

void wtl_top_curves_add(struct wtl_top_clock *clock, struct wtl_top_curve *const curves[],
			const uint32_t values[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		curve_add(curves[i], clock, values ? values[i] : WTL_TOP_GAP);
	clock->n_bins[0]++;
	for (unsigned grain = 0; grain + 1 < WTL_TOP_GRAINS; grain++) {
		if (++clock->within[grain] < WTL_TOP_GRAIN)
			return;
		clock->within[grain] = 0;
		clock->n_bins[grain + 1]++;
	}
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

uint32_t wtl_top_curve_at(const struct wtl_top_curve *curve, const struct wtl_top_clock *clock,
			  unsigned grain, uint64_t back)
{
	if (back >= WTL_TOP_BINS || back >= clock->n_bins[grain])
		return WTL_TOP_GAP;
	return curve->bins[grain][(clock->n_bins[grain] - 1 - back) % WTL_TOP_BINS];
}

void wtl_top_view_init(struct wtl_top_view *view)
{
	memset(view, 0, sizeof(*view));
	wtl_top_curve_clear(&view->total.power);
	view->total.gpu = -1;
}

void wtl_top_view_done(struct wtl_top_view *view)
{
	free(view->domains);
	free(view->gpus);
	free(view->gpu_answered_ns);
	free(view->processes);
	free(view->groups);
	wtl_top_view_init(view);
}

static int grow_gpus(struct wtl_top_view *view, size_t n)
{
	size_t first = view->size_gpus, second = view->size_gpus;

	/* size_gpus is what both have. */
	if (wtl_array_reserve(&view->gpus, &first, n, sizeof(*view->gpus)) < 0 ||
	    wtl_array_reserve(&view->gpu_answered_ns, &second, n, sizeof(*view->gpu_answered_ns)) <
		    0)
		return -ENOMEM;
	view->size_gpus = first;
	return 0;
}

int wtl_top_view_reserve(struct wtl_top_view *view, size_t domains, size_t gpus, size_t processes,
			 size_t groups)
{
	int rc = wtl_array_reserve(&view->domains, &view->size_domains, domains,
				   sizeof(*view->domains));

	if (rc == 0)
		rc = grow_gpus(view, gpus);
	if (rc == 0)
		rc = wtl_array_reserve(&view->processes, &view->size_processes, processes,
				       sizeof(*view->processes));
	if (rc == 0)
		rc = wtl_array_reserve(&view->groups, &view->size_groups, groups,
				       sizeof(*view->groups));
	return rc;
}

static void copy_array(void *dst, const void *src, size_t n, size_t element)
{
	if (n > 0)
		memcpy(dst, src, n * element);
}

int wtl_top_view_copy(struct wtl_top_view *dst, const struct wtl_top_view *src)
{
	struct wtl_top_view old;
	int rc = wtl_top_view_reserve(dst, src->n_domains, src->n_gpus, src->n_processes,
				      src->n_groups);

	if (rc < 0)
		return rc;
	old = *dst;
	*dst = *src;
	dst->domains = old.domains;
	dst->size_domains = old.size_domains;
	dst->gpus = old.gpus;
	dst->gpu_answered_ns = old.gpu_answered_ns;
	dst->size_gpus = old.size_gpus;
	dst->processes = old.processes;
	dst->size_processes = old.size_processes;
	dst->groups = old.groups;
	dst->size_groups = old.size_groups;
	copy_array(dst->domains, src->domains, src->n_domains, sizeof(*src->domains));
	copy_array(dst->gpus, src->gpus, src->n_gpus, sizeof(*src->gpus));
	copy_array(dst->gpu_answered_ns, src->gpu_answered_ns, src->n_gpus,
		   sizeof(*src->gpu_answered_ns));
	if (old.generation == src->generation)
		return 0;
	copy_array(dst->processes, src->processes, src->n_processes, sizeof(*src->processes));
	copy_array(dst->groups, src->groups, src->n_groups, sizeof(*src->groups));
	return 0;
}

bool wtl_top_has_gpus(const struct wtl_top_view *view)
{
	for (size_t i = 0; i < view->n_domains; i++)
		if (view->domains[i].kind == WATTLE_KIND_GPU)
			return true;
	return view->n_gpus > 0;
}
