/* SPDX-License-Identifier: MIT */
#ifndef WTL_WORKLOAD_GPU_SMOOTH_H
#define WTL_WORKLOAD_GPU_SMOOTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The use of one GPU by process, smoothed: samples jump ("99 and nothing", then "19 and 79", seconds
 * apart, for two processes that share fairly). An exponential average with a time constant of 4 s,
 * in the form that is stable for any step: v += (x - v)·dt / (4 s + dt).
 */

#define WTL_GPU_SMOOTH_NS (4 * INT64_C(1000000000))
/* A sample stands until the next one of its process, but not longer: then it did nothing. Drivers
 * have a new one every second or sooner. */
#define WTL_GPU_SAMPLE_NS (3 * INT64_C(500000000))

enum { WTL_GPU_SMOOTH_MAX = 1024 };

struct wtl_gpu_smooth_one {
	int pid;
	uint32_t sample_ppm; /* the last one */
	int64_t sample_ns;   /* when it came */
	uint32_t ppm;	     /* smoothed */
	enum {
		WTL_GPU_SMOOTH_NEW,   /* sampled, and nobody has asked for it yet */
		WTL_GPU_SMOOTH_ASKED, /* since the last _forget() */
		WTL_GPU_SMOOTH_KNOWN, /* before that */
		WTL_GPU_SMOOTH_PAST,  /* not any more: it begins anew, or is forgotten */
	} state;
};

struct wtl_gpu_smooth {
	struct wtl_gpu_smooth_one *at;
	size_t n, room;
	int64_t t_ns; /* of the last step; 0: none yet */
};

void wtl_gpu_smooth_done(struct wtl_gpu_smooth *smooth); /* a zeroed one is empty */

/* Makes sure of room for so many more processes (up to WTL_GPU_SMOOTH_MAX in all). False: no memory. */
bool wtl_gpu_smooth_reserve(struct wtl_gpu_smooth *smooth, size_t n_more);

/* A new sample. A process that is seen for the first time starts with it (unless there are
 * WTL_GPU_SMOOTH_MAX, or no memory: false, and it has none). */
bool wtl_gpu_smooth_sample(struct wtl_gpu_smooth *smooth, int pid, uint32_t ppm, int64_t now_ns);

/* Time passes. */
void wtl_gpu_smooth_step(struct wtl_gpu_smooth *smooth, int64_t now_ns);

uint32_t wtl_gpu_smooth_get(struct wtl_gpu_smooth *smooth, int pid);

/*
 * Forgets all processes that were not asked for by _get() since the last _forget(). Returns what those of
 * them weigh that nobody ever asked for; samples that come of others until the next _forget() do not count.
 */
uint64_t wtl_gpu_smooth_forget(struct wtl_gpu_smooth *smooth);

#endif
