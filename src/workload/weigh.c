/* SPDX-License-Identifier: MIT */
#include "workload/weigh.h"

#include <stdbool.h>

typedef unsigned __int128 wide;

/* More than any machine does in a scan, and still so little that sums and products of it fit. */
#define WORK_MAX (UINT64_C(1) << 52)

/* In units of the counter. */
static uint64_t work_in(const struct wtl_work *rate, uint64_t cpu_ns)
{
	wide done = (wide)rate->count * cpu_ns / (uint64_t)rate->over_ns;

	return done < WORK_MAX ? (uint64_t)done : WORK_MAX;
}

static bool is_slower(const struct wtl_work *a, const struct wtl_work *b)
{
	return (wide)a->count * (uint64_t)b->over_ns < (wide)b->count * (uint64_t)a->over_ns;
}

/* Without qsort(), which may allocate. */
static void sort(struct wtl_work works[], size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct wtl_work work = works[i];
		size_t at = i;

		for (; at > 0 && is_slower(&work, &works[at - 1]); at--)
			works[at] = works[at - 1];
		works[at] = work;
	}
}

/* The work that it is due now: plus what it got too little before, or minus what it got too much. */
static uint64_t work_due(const struct wtl_work *work, uint64_t all_work, uint64_t all_ns)
{
	uint64_t cpu_ns = (uint64_t)work->cpu_ns, before_ns = (uint64_t)work->before_ns;
	uint64_t weight = work->before_weight, due = work_in(work, cpu_ns), paid;

	if (before_ns > cpu_ns) {
		weight = (uint64_t)((wide)weight * cpu_ns / before_ns);
		before_ns = cpu_ns;
	}
	/* A nanosecond of weight stood for as much as it does now. */
	paid = (uint64_t)((wide)(weight < all_ns ? weight : all_ns) * all_work / all_ns);
	due += work_in(work, before_ns);
	return due > paid ? due - paid : 0;
}

uint64_t wtl_weigh(struct wtl_work works[], size_t n, uint64_t rest_ns)
{
	uint64_t all_ns = rest_ns, all_work, all_due, so_far = 0, given_ns = 0;

	if (n == 0)
		return rest_ns;
	sort(works, n);
	/* The lower one of two in the middle. */
	all_work = all_due = work_in(&works[(n - 1) / 2], rest_ns);
	for (size_t i = 0; i < n; i++) {
		all_ns += (uint64_t)works[i].cpu_ns;
		all_work += work_in(&works[i], (uint64_t)works[i].cpu_ns);
		works[i].weight = (uint64_t)works[i].cpu_ns;
	}
	for (size_t i = 0; i < n && all_ns > 0; i++)
		all_due += work_due(&works[i], all_work, all_ns);
	if (all_due == 0)
		return rest_ns;
	for (size_t i = 0; i < n; i++) {
		uint64_t end_ns;

		so_far += work_due(&works[i], all_work, all_ns);
		end_ns = (uint64_t)((wide)so_far * all_ns / all_due);
		works[i].weight = end_ns - given_ns;
		given_ns = end_ns;
	}
	return all_ns - given_ns;
}
