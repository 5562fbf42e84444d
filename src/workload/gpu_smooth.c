/* SPDX-License-Identifier: MIT */
#include "workload/gpu_smooth.h"

#include <stdlib.h>

#include "base/array.h"

void wtl_gpu_smooth_done(struct wtl_gpu_smooth *smooth)
{
	free(smooth->at);
	*smooth = (struct wtl_gpu_smooth){0};
}

static struct wtl_gpu_smooth_one *find(struct wtl_gpu_smooth *smooth, int pid)
{
	for (size_t i = 0; i < smooth->n; i++)
		if (smooth->at[i].pid == pid)
			return &smooth->at[i];
	return NULL;
}

bool wtl_gpu_smooth_reserve(struct wtl_gpu_smooth *smooth, size_t n_more)
{
	size_t left = WTL_GPU_SMOOTH_MAX - smooth->n;

	return wtl_array_reserve(&smooth->at, &smooth->room,
				 smooth->n + (n_more < left ? n_more : left),
				 sizeof(smooth->at[0])) == 0;
}

bool wtl_gpu_smooth_sample(struct wtl_gpu_smooth *smooth, int pid, uint32_t ppm, int64_t now_ns)
{
	struct wtl_gpu_smooth_one *one = find(smooth, pid);

	if (!one) {
		if (smooth->n == WTL_GPU_SMOOTH_MAX ||
		    wtl_array_reserve(&smooth->at, &smooth->room, smooth->n + 1,
				      sizeof(smooth->at[0])) < 0)
			return false;
		one = &smooth->at[smooth->n++];
		*one = (struct wtl_gpu_smooth_one){.pid = pid, .ppm = ppm};
	}
	if (one->state == WTL_GPU_SMOOTH_PAST) {
		one->ppm = ppm;
		one->averaged_ns = 0;
	}
	one->sample_ppm = ppm;
	one->told_ns = now_ns;
	one->is_fresh = true;
	smooth->has_news = true;
	return true;
}

static void average(struct wtl_gpu_smooth_one *one, uint32_t x_ppm, int64_t dt_ns)
{
	int64_t sum_ns = one->averaged_ns + dt_ns;

	if (one->averaged_ns == 0) {
		one->averaged_ns = WTL_GPU_FIRST_NS;
		return;
	}
	one->ppm = (uint32_t)((int64_t)one->ppm +
			      (int64_t)((__int128)((int64_t)x_ppm - (int64_t)one->ppm) * dt_ns /
					sum_ns));
	one->averaged_ns = sum_ns < WTL_GPU_SMOOTH_NS ? sum_ns : WTL_GPU_SMOOTH_NS;
}

void wtl_gpu_smooth_step(struct wtl_gpu_smooth *smooth, int64_t now_ns, bool is_whole)
{
	int64_t dt_ns = smooth->t_ns && now_ns > smooth->t_ns ? now_ns - smooth->t_ns : 0;

	for (size_t i = 0; i < smooth->n; i++) {
		struct wtl_gpu_smooth_one *one = &smooth->at[i];

		if (smooth->has_news && is_whole)
			one->told_ns = now_ns;
		else if (!one->is_fresh && now_ns - one->told_ns <= WTL_GPU_SAMPLE_NS)
			continue;
		average(one, one->is_fresh ? one->sample_ppm : 0, dt_ns);
		one->is_fresh = false;
	}
	smooth->has_news = false;
	smooth->t_ns = now_ns;
}

uint32_t wtl_gpu_smooth_get(struct wtl_gpu_smooth *smooth, int pid)
{
	struct wtl_gpu_smooth_one *one = find(smooth, pid);

	if (!one)
		return 0;
	one->state = WTL_GPU_SMOOTH_ASKED;
	return one->ppm;
}

uint64_t wtl_gpu_smooth_forget(struct wtl_gpu_smooth *smooth)
{
	uint64_t never_ppm = 0;
	size_t kept = 0;

	for (size_t i = 0; i < smooth->n; i++) {
		struct wtl_gpu_smooth_one one = smooth->at[i];

		if (one.state == WTL_GPU_SMOOTH_NEW)
			never_ppm += one.ppm;
		if (one.state == WTL_GPU_SMOOTH_ASKED) {
			one.state = WTL_GPU_SMOOTH_KNOWN;
		} else if (one.state == WTL_GPU_SMOOTH_KNOWN) {
			one.state = WTL_GPU_SMOOTH_PAST;
			one.ppm = 0;
		} else {
			continue;
		}
		smooth->at[kept++] = one;
	}
	smooth->n = kept;
	return never_ppm;
}
