/* SPDX-License-Identifier: MIT */
#include "gpu/instances.h"

#include <string.h>

#define PPM_PER_PERCENT 10000.0

static int call_u32(struct wtl_nvml_lib *lib, enum wtl_nvml_function function, uint64_t handle,
		    uint32_t *value)
{
	struct wtl_lib_arg args[] = {
		{.word = handle},
		{.memory = value, .size = sizeof(*value)},
	};

	return wtl_nvml_call(lib, function, args);
}

/* ---- Which there are ---- */

static int read_mode(struct wtl_nvml_instances *instances, struct wtl_nvml_lib *lib,
		     uint64_t handle)
{
	uint32_t now = 0, pending = 0;
	struct wtl_lib_arg args[] = {
		{.word = handle},
		{.memory = &now, .size = sizeof(now)},
		{.memory = &pending, .size = sizeof(pending)},
	};
	int code = wtl_nvml_call(lib, WTL_NVML_MIG_MODE, args);

	instances->is_divided = code == WTL_NVML_OK && now == 1;
	if (code == WTL_NVML_OK && !instances->is_divided)
		code = WTL_NVML_NOT_SUPPORTED;
	return code;
}

static int read_support(struct wtl_nvml_instances *instances, struct wtl_nvml_lib *lib,
			uint64_t handle)
{
	struct wtl_nvml_gpm_support support = {.version = 1};
	struct wtl_lib_arg args[] = {
		{.word = handle},
		{.memory = &support, .size = sizeof(support)},
	};
	int code;

	if (instances->is_supported)
		return WTL_NVML_OK;
	code = wtl_nvml_call(lib, WTL_NVML_GPM_SUPPORT, args);
	if (code == WTL_NVML_OK && !support.is_supported)
		code = WTL_NVML_NOT_SUPPORTED;
	instances->is_supported = code == WTL_NVML_OK;
	return code;
}

/* The MIG device at that index: its GPU instance, and how large that is. */
static int read_device(struct wtl_nvml_lib *lib, uint64_t handle, uint32_t index,
		       struct wtl_nvml_instance *ret_instance)
{
	struct wtl_nvml_attributes attributes = {0};
	struct wtl_nvml_instance instance = {0};
	uint64_t device = 0;
	struct wtl_lib_arg by_index[] = {
		{.word = handle},
		{.word = index},
		{.memory = &device, .size = sizeof(device)},
	};
	struct wtl_lib_arg what[] = {
		{.word = 0},
		{.memory = &attributes, .size = sizeof(attributes)},
	};
	int code = wtl_nvml_call(lib, WTL_NVML_MIG_BY_INDEX, by_index);

	if (code == WTL_NVML_OK && !device)
		code = WTL_NVML_NOT_FOUND;
	if (code == WTL_NVML_OK)
		code = call_u32(lib, WTL_NVML_INSTANCE, device, &instance.id);
	what[0].word = device;
	if (code == WTL_NVML_OK)
		code = wtl_nvml_call(lib, WTL_NVML_ATTRIBUTES, what);
	if (code != WTL_NVML_OK)
		return code;
	instance.slices = attributes.instance_slices;
	*ret_instance = instance;
	return instance.slices > 0 ? WTL_NVML_OK : WTL_NVML_NO_DATA;
}

static struct wtl_nvml_instance *find(struct wtl_nvml_instance at[], size_t n, uint32_t id)
{
	for (size_t i = 0; i < n; i++)
		if (at[i].id == id)
			return &at[i];
	return NULL;
}

static void free_sample(struct wtl_nvml_lib *lib, uint64_t sample)
{
	struct wtl_lib_arg args[] = {{.word = sample}};

	if (sample && lib->up)
		wtl_nvml_call(lib, WTL_NVML_GPM_FREE, args);
}

/* The new list keeps what is known of those that were there before. */
static void replace(struct wtl_nvml_instances *instances, struct wtl_nvml_lib *lib,
		    const struct wtl_nvml_instance now[], size_t n)
{
	struct wtl_nvml_instance before[WTL_NVML_INSTANCES_MAX];
	size_t n_before = instances->n;

	memcpy(before, instances->at, sizeof(before));
	for (size_t i = 0; i < n; i++) {
		struct wtl_nvml_instance *old = find(before, n_before, now[i].id);
		bool is_same = old && old->slices == now[i].slices;

		instances->at[i] = is_same ? *old : now[i];
		if (is_same)
			old->sample = 0;
	}
	instances->n = n;
	for (size_t i = 0; i < n_before; i++)
		free_sample(lib, before[i].sample);
}

static int list(struct wtl_nvml_instances *instances, struct wtl_nvml_lib *lib, uint64_t handle)
{
	struct wtl_nvml_instance now[WTL_NVML_INSTANCES_MAX] = {0};
	uint32_t max = 0;
	size_t n = 0;
	int code = call_u32(lib, WTL_NVML_MIG_COUNT_MAX, handle, &max);

	/* A GPU can be divided into as many devices as it has slices. */
	instances->slices = max;
	for (uint32_t i = 0; i < max && n < WTL_NVML_INSTANCES_MAX && code == WTL_NVML_OK; i++) {
		struct wtl_nvml_instance instance;

		code = read_device(lib, handle, i, &instance);
		if (code == WTL_NVML_OK && !find(now, n, instance.id))
			now[n++] = instance;
		else if (code == WTL_NVML_NOT_FOUND || code == WTL_NVML_INVALID_ARGUMENT)
			code = WTL_NVML_OK; /* no device there */
	}
	if (code != WTL_NVML_OK)
		return code;
	replace(instances, lib, now, n);
	return n > 0 ? WTL_NVML_OK : WTL_NVML_NO_DATA;
}

/* ---- How busy they were ---- */

/* How busy the SMs were, or at least whether anything ran. */
static int compare(struct wtl_nvml_lib *lib, uint64_t before, uint64_t after, uint32_t *ret_ppm)
{
	struct wtl_nvml_gpm_metric metrics[] = {
		{.metric = WTL_NVML_GPM_SM_USE},
		{.metric = WTL_NVML_GPM_GRAPHICS_USE},
	};
	struct wtl_lib_arg args[] = {
		{.word = before},
		{.word = after},
		{.memory = metrics, .size = sizeof(metrics)},
	};
	int code = wtl_nvml_call(lib, WTL_NVML_GPM_METRICS, args);

	for (size_t i = 0; i < 2 && code == WTL_NVML_OK; i++) {
		double percent = metrics[i].value;

		/* A NaN is refused, too. More than 100 % has been seen of MIG instances by another
		 * tool (NVIDIA/DCGM#152). */
		if (metrics[i].code != WTL_NVML_OK || !(percent >= 0.0))
			continue;
		*ret_ppm = (uint32_t)((percent < 100.0 ? percent : 100.0) * PPM_PER_PERCENT + 0.5);
		return WTL_NVML_OK;
	}
	return code == WTL_NVML_OK ? WTL_NVML_NO_DATA : code;
}

static int sample_one(struct wtl_nvml_instances *instances, struct wtl_nvml_instance *instance,
		      struct wtl_nvml_lib *lib, uint64_t handle, int64_t now_ns)
{
	struct wtl_lib_arg alloc[] = {
		{.memory = &instances->spare, .size = sizeof(instances->spare)}};
	struct wtl_lib_arg take[] = {{.word = handle}, {.word = instance->id}, {.word = 0}};
	uint64_t before = instance->sample;
	int code = WTL_NVML_OK;

	if (before && now_ns - instance->t_ns < WTL_NVML_GPM_APART_NS)
		return WTL_NVML_OK;
	instance->has_activity = false;
	if (!instances->spare)
		code = wtl_nvml_call(lib, WTL_NVML_GPM_ALLOC, alloc);
	take[2].word = instances->spare;
	if (code == WTL_NVML_OK)
		code = wtl_nvml_call(lib, WTL_NVML_GPM_MIG_SAMPLE, take);
	if (code != WTL_NVML_OK)
		return code;
	if (before)
		code = compare(lib, before, instances->spare, &instance->activity_ppm);
	instance->has_activity = before && code == WTL_NVML_OK;
	instance->sample = instances->spare;
	instance->t_ns = now_ns;
	instances->spare = before;
	return code;
}

static bool is_for_good(int code)
{
	return code == WTL_NVML_NOT_SUPPORTED || code == WTL_NVML_NO_PERMISSION ||
	       code == WTL_NVML_FUNCTION_NOT_FOUND || code == WTL_NVML_DEPRECATED;
}

int wtl_nvml_instances_read(struct wtl_nvml_instances *instances, struct wtl_nvml_lib *lib,
			    uint64_t handle, int64_t now_ns)
{
	int code = read_mode(instances, lib, handle);

	if (code != WTL_NVML_OK)
		return code;
	if (instances->refused != WTL_NVML_OK)
		return instances->refused;
	code = read_support(instances, lib, handle);
	if (code == WTL_NVML_OK)
		code = list(instances, lib, handle);
	for (size_t i = 0; i < instances->n && code == WTL_NVML_OK; i++)
		code = sample_one(instances, &instances->at[i], lib, handle, now_ns);
	if (is_for_good(code))
		instances->refused = code;
	return code;
}

void wtl_nvml_instances_done(struct wtl_nvml_instances *instances, struct wtl_nvml_lib *lib)
{
	for (size_t i = 0; i < instances->n; i++)
		free_sample(lib, instances->at[i].sample);
	free_sample(lib, instances->spare);
	*instances = (struct wtl_nvml_instances){0};
}
