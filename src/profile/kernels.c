/* SPDX-License-Identifier: MIT */
#include "profile/kernels.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "profile/split.h"

#define LAG_STEP_NS (20 * INT64_C(1000000))

/* A lag's correlation coefficient must be this much above that of no lag, and at least this high. */
#define LEAST_GAIN	  0.2
#define LEAST_CORRELATION 0.7

enum { LAGS = 75, LEAST_STEPS = 30 };

int wtl_kernel_steps_make(const struct wtl_split *split, size_t domain, uint64_t idle_uw,
			  struct wtl_kernel_steps *ret_steps)
{
	struct wtl_kernel_steps *steps = ret_steps;
	const struct wtl_split_tick *last;

	*steps =
		(struct wtl_kernel_steps){.list = calloc(split->n_ticks + 1, sizeof(*steps->list))};
	if (!steps->list)
		return -ENOMEM;
	last = split->n_ticks > 0 ? &split->ticks[0] : NULL;
	for (size_t i = 1; i < split->n_ticks; i++) {
		const struct wtl_split_tick *now = &split->ticks[i];
		uint64_t used_uj, idle_uj = 0;

		if (now->energy_uj[domain] <= last->energy_uj[domain] || now->t_ns <= last->t_ns)
			continue;
		used_uj = now->energy_uj[domain] - last->energy_uj[domain];
		if (idle_uw != UINT64_MAX)
			idle_uj = (uint64_t)((double)idle_uw * (double)(now->t_ns - last->t_ns) /
					     1e9);
		if (idle_uj > used_uj)
			idle_uj = used_uj;
		steps->list[steps->n++] =
			(struct wtl_kernel_step){last->t_ns, now->t_ns, used_uj - idle_uj};
		steps->idle_uj += idle_uj;
		steps->total_uj += used_uj;
		last = now;
	}
	return 0;
}

/* The first step that ends after t_ns. */
static size_t find_step(const struct wtl_kernel_steps *steps, int64_t t_ns)
{
	return WTL_TIMES_UP_TO(steps->list, steps->n, end_ns, t_ns);
}

static int64_t overlap(const struct wtl_kernel_step *step, int64_t begin_ns, int64_t end_ns)
{
	int64_t from = begin_ns > step->begin_ns ? begin_ns : step->begin_ns;
	int64_t to = end_ns < step->end_ns ? end_ns : step->end_ns;

	return to > from ? to - from : 0;
}

/* How long kernels ran in each step. */
static void add_times(const struct wtl_kernel kernels[], size_t n, uint32_t gpu,
		      const struct wtl_kernel_steps *steps, int64_t lag_ns, int64_t ran_ns[])
{
	for (size_t i = 0; i < n; i++) {
		int64_t begin_ns = kernels[i].begin_ns + lag_ns,
			end_ns = kernels[i].end_ns + lag_ns;

		if (kernels[i].gpu != gpu)
			continue;
		for (size_t k = find_step(steps, begin_ns);
		     k < steps->n && steps->list[k].begin_ns < end_ns; k++)
			ran_ns[k] += overlap(&steps->list[k], begin_ns, end_ns);
	}
}

static double correlation(const struct wtl_kernel_steps *steps, const int64_t ran_ns[])
{
	double n = (double)steps->n, x = 0, y = 0, xx = 0, yy = 0, xy = 0, spread;

	for (size_t i = 0; i < steps->n; i++) {
		const struct wtl_kernel_step *step = &steps->list[i];
		double took_ns = (double)(step->end_ns - step->begin_ns);
		double power = (double)step->dynamic_uj / took_ns;
		double busy = fmin(1.0, (double)ran_ns[i] / took_ns);

		x += power;
		y += busy;
		xx += power * power;
		yy += busy * busy;
		xy += power * busy;
	}
	spread = (n * xx - x * x) * (n * yy - y * y);
	return spread > 0 ? (n * xy - x * y) / sqrt(spread) : 0.0;
}

int64_t wtl_kernels_lag(const struct wtl_kernel kernels[], size_t n, uint32_t gpu,
			const struct wtl_kernel_steps *steps)
{
	int64_t *ran_ns = malloc((steps->n + 1) * sizeof(*ran_ns)), best_ns = 0;
	double best = 0, none = 0;

	for (int i = 0; ran_ns && steps->n >= LEAST_STEPS && i <= LAGS; i++) {
		double found;

		for (size_t k = 0; k < steps->n; k++)
			ran_ns[k] = 0;
		add_times(kernels, n, gpu, steps, i * LAG_STEP_NS, ran_ns);
		found = correlation(steps, ran_ns);
		if (i == 0)
			none = found;
		if (i == 0 || found > best) {
			best = found;
			best_ns = i * LAG_STEP_NS;
		}
	}
	free(ran_ns);
	if (best_ns == LAGS * LAG_STEP_NS) /* the best lag may lie beyond the range */
		return 0;
	return best >= LEAST_CORRELATION && best >= none + LEAST_GAIN ? best_ns : 0;
}

uint64_t wtl_kernels_divide(struct wtl_kernel kernels[], size_t n, uint32_t gpu,
			    const struct wtl_kernel_steps *steps, int64_t lag_ns)
{
	int64_t *left_ns = calloc(steps->n + 1, sizeof(*left_ns));
	uint64_t *left_uj = calloc(steps->n + 1, sizeof(*left_uj)), none_uj = 0;
	bool has_room = left_ns && left_uj;

	for (size_t i = 0; has_room && i < steps->n; i++)
		left_uj[i] = steps->list[i].dynamic_uj;
	if (has_room)
		add_times(kernels, n, gpu, steps, lag_ns, left_ns);
	for (size_t i = 0; has_room && i < n; i++) {
		int64_t begin_ns = kernels[i].begin_ns + lag_ns,
			end_ns = kernels[i].end_ns + lag_ns;

		if (kernels[i].gpu != gpu)
			continue;
		for (size_t k = find_step(steps, begin_ns);
		     k < steps->n && steps->list[k].begin_ns < end_ns; k++) {
			int64_t ran_ns = overlap(&steps->list[k], begin_ns, end_ns);
			/* The last kernel of a step gets the rest. */
			uint64_t part_uj =
				left_ns[k] > 0 ? (uint64_t)((unsigned __int128)left_uj[k] *
							    (uint64_t)ran_ns / (uint64_t)left_ns[k])
					       : 0;

			left_ns[k] -= ran_ns;
			left_uj[k] -= part_uj;
			kernels[i].energy_uj += part_uj;
		}
	}
	for (size_t i = 0; i < steps->n; i++)
		none_uj += has_room ? left_uj[i] : steps->list[i].dynamic_uj;
	free(left_ns);
	free(left_uj);
	return none_uj;
}
