/* SPDX-License-Identifier: MIT */
#ifndef WTL_WORKLOAD_WEIGH_H
#define WTL_WORKLOAD_WEIGH_H

#include <stddef.h>
#include <stdint.h>

/*
 * How much the CPU time of consumers weighs by the work that was done in it: arithmetic only.
 *
 * A counter says that `count` (instructions, cycles) was done in over_ns of a consumer's CPU time; all
 * of its cpu_ns weighs count / over_ns. What nobody counted weighs as that of a typical consumer, the
 * median of those that were: whoever has most of the CPU time may well be the one that is unlike the
 * others. Weights are nanoseconds, and add up to all the CPU time.
 *
 * Whoever is counted from now on was weighed as a typical one until then: before_ns weighed
 * before_weight. If that was too little or too much, it gets or loses the difference now; but over
 * no longer a stretch than it ran now, as others may run now than did then.
 */
struct wtl_work {
	uint32_t slot;	/* whose it is: not looked at */
	int64_t cpu_ns; /* 0: it only says what is typical */
	uint64_t count;
	int64_t over_ns; /* more than 0 */
	int64_t before_ns;
	uint64_t before_weight;
	uint64_t weight; /* the answer */
};

/* Sorts works[] by rate. rest_ns is the CPU time of all others; returns what it weighs. */
uint64_t wtl_weigh(struct wtl_work works[], size_t n, uint64_t rest_ns);

#endif
