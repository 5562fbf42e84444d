/* SPDX-License-Identifier: MIT */
/* The fake's entry points: performance monitoring (GPM) of GPU instances. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "fake_state.h"

FAKE_API int nvmlGpmQueryDeviceSupport(void *device, struct fake_gpm_support *support);
FAKE_API int nvmlGpmSampleAlloc(void **sample);
FAKE_API int nvmlGpmSampleFree(void *sample);
FAKE_API int nvmlGpmMigSampleGet(void *device, unsigned instance, void *sample);
FAKE_API int nvmlGpmMetricsGet(struct fake_gpm_get *get);
FAKE_API int fake_nvml_samples(void);

enum { VERSION = 1, GRAPHICS_UTIL = 1, SM_UTIL = 2 };

#define APART_NS INT64_C(100000000)

struct sample {
	struct fake_gpu *gpu; /* NULL: nothing was sampled into it */
	uint32_t instance;
	int64_t t_ns;
};

static atomic_int n_samples;

FAKE_API int fake_nvml_samples(void)
{
	return atomic_load(&n_samples);
}

FAKE_API int nvmlGpmQueryDeviceSupport(void *device, struct fake_gpm_support *support)
{
	FAKE_ENTER_DEVICE(device);
	if (support->version != VERSION)
		return FAKE_VERSION_MISMATCH;
	support->is_supported = gpu->has_gpm;
	return FAKE_OK;
}

FAKE_API int nvmlGpmSampleAlloc(void **sample)
{
	FAKE_ENTER();
	*sample = calloc(1, sizeof(struct sample));
	atomic_fetch_add(&n_samples, *sample != NULL);
	return *sample ? FAKE_OK : FAKE_UNKNOWN;
}

FAKE_API int nvmlGpmSampleFree(void *sample)
{
	if (!sample)
		return FAKE_INVALID_ARGUMENT;
	/* Plain memory, whatever the driver says. */
	free(sample);
	atomic_fetch_sub(&n_samples, 1);
	FAKE_ENTER();
	return FAKE_OK;
}

static bool has_instance(const struct fake_gpu *gpu, unsigned instance)
{
	for (size_t i = 0; i < gpu->n_migs; i++) {
		const char *id = fake_value(gpu->migs[i], "nvmlDeviceGetGpuInstanceId");

		if (id && strtoul(id, NULL, 10) == instance)
			return true;
	}
	return false;
}

FAKE_API int nvmlGpmMigSampleGet(void *device, unsigned instance, void *sample)
{
	FAKE_ENTER_DEVICE(device);
	if (!gpu->has_gpm)
		return FAKE_NOT_SUPPORTED;
	if (gpu->mig != 1 || !has_instance(gpu, instance))
		return FAKE_INVALID_ARGUMENT;
	*(struct sample *)sample =
		(struct sample){.gpu = gpu, .instance = instance, .t_ns = fake_now_ns()};
	return FAKE_OK;
}

/* The mean between two samples, percent. */
static double mean_of(const struct sample *first, const struct sample *last, uint32_t metric)
{
	const struct fake_gpu *gpu = first->gpu;
	double sum = 0;

	for (size_t i = 0; i < gpu->n_instance_uses; i++) {
		const struct fake_instance_use *use = &gpu->instance_uses[i];
		int64_t from_ns = use->from_ns > first->t_ns ? use->from_ns : first->t_ns;
		int64_t until_ns = use->until_ns < last->t_ns ? use->until_ns : last->t_ns;

		if (use->instance == first->instance && until_ns > from_ns)
			sum += (double)(until_ns - from_ns) *
			       (metric == SM_UTIL ? use->sm : use->graphics);
	}
	return sum / (double)(last->t_ns - first->t_ns);
}

static void answer_metric(const struct sample *first, const struct sample *last,
			  struct fake_gpm_metric *metric)
{
	char name[FAKE_SYMBOL_SIZE];
	int rule;

	snprintf(name, sizeof(name), "gpm:%u", metric->metric);
	rule = fake_named_rule(first->gpu, name, last->t_ns);
	metric->info.short_name = metric->info.long_name = "fake";
	metric->info.unit = "%";
	metric->answer = FAKE_OK;
	if (rule)
		metric->answer = (uint32_t)rule;
	else if (metric->metric == GRAPHICS_UTIL || metric->metric == SM_UTIL)
		metric->value = mean_of(first, last, metric->metric);
	else
		metric->answer = FAKE_NOT_SUPPORTED;
}

FAKE_API int nvmlGpmMetricsGet(struct fake_gpm_get *get)
{
	const struct sample *first = get->sample1, *last = get->sample2;

	FAKE_ENTER();
	if (get->version != VERSION)
		return FAKE_VERSION_MISMATCH;
	if (!first || !last || !first->gpu || first->gpu != last->gpu ||
	    first->instance != last->instance || last->t_ns - first->t_ns < APART_NS ||
	    get->count > FAKE_GPM_METRICS_MAX)
		return FAKE_INVALID_ARGUMENT;
	/* As a driver of today: it may look at all that there is room for. */
	for (uint32_t i = get->count; i < FAKE_GPM_METRICS_MAX; i++)
		if (get->metrics[i].metric != 0)
			return FAKE_INVALID_ARGUMENT;
	for (uint32_t i = 0; i < get->count; i++)
		answer_metric(first, last, &get->metrics[i]);
	return FAKE_OK;
}
