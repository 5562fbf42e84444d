/* SPDX-License-Identifier: MIT */
#ifndef WTL_WORKLOAD_GPU_SMOOTH_H
#define WTL_WORKLOAD_GPU_SMOOTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The use of one GPU by process, smoothed: samples jump ("99 and nothing", then "19 and 79", seconds
 * apart, for two processes that share fairly). The mean of all samples so far, and from 4 s on an
 * exponential average with that time constant, in the form that is stable for any step:
 * v += (x - v)·dt / (T + dt), where T is how long was averaged so far, 4 s at most.
 *
 * A sample tells of the time up to it, and drivers give none for a process that did nothing. So a
 * process without one, in an answer that has others', did nothing since the answer before. An
 * answer without any tells nothing: the driver may not have sampled yet. That time is left out.
 */

#define WTL_GPU_SMOOTH_NS (4 * INT64_C(1000000000))
/* The first sample counts for so long. */
#define WTL_GPU_FIRST_NS (1 * INT64_C(1000000000))
/* Drivers have a new sample of somebody every second or sooner. A process of which nothing is known
 * for this long did nothing. */
#define WTL_GPU_SAMPLE_NS (3 * INT64_C(500000000))

enum { WTL_GPU_SMOOTH_MAX = 1024 };

struct wtl_gpu_smooth_one {
	int pid;
	uint32_t ppm;	     /* smoothed */
	uint32_t sample_ppm; /* that came since the last step: */
	bool is_fresh;	     /* one did */
	int64_t told_ns;     /* when it was last known what it did */
	int64_t averaged_ns; /* what ppm is the average of; up to WTL_GPU_SMOOTH_NS */
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
	int64_t t_ns;  /* of the last step; 0: none yet */
	bool has_news; /* since then */
};

void wtl_gpu_smooth_done(struct wtl_gpu_smooth *smooth); /* a zeroed one is empty */

/* Makes sure of room for so many more processes (up to WTL_GPU_SMOOTH_MAX in all). False: no memory. */
bool wtl_gpu_smooth_reserve(struct wtl_gpu_smooth *smooth, size_t n_more);

/* A new sample. A process that is seen for the first time starts with it (unless there are
 * WTL_GPU_SMOOTH_MAX, or no memory: false, and it has none). */
bool wtl_gpu_smooth_sample(struct wtl_gpu_smooth *smooth, int pid, uint32_t ppm, int64_t now_ns);

/* An answer is at its end. is_whole: all of it could be read, so that a process that was not in it did nothing. */
void wtl_gpu_smooth_step(struct wtl_gpu_smooth *smooth, int64_t now_ns, bool is_whole);

uint32_t wtl_gpu_smooth_get(struct wtl_gpu_smooth *smooth, int pid);

/*
 * Forgets all processes that were not asked for by _get() since the last _forget(). Returns what those of
 * them weigh that nobody ever asked for; samples that come of others until the next _forget() do not count.
 */
uint64_t wtl_gpu_smooth_forget(struct wtl_gpu_smooth *smooth);

#endif
