/* SPDX-License-Identifier: MIT */
#include "import/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/device.h"

/* The power that is taken: the first that a GPU has. */
static const struct {
	enum wtl_gpu_number number;
	enum wtl_power_field field;
} powers[] = {
	{WTL_GPU_POWER_INSTANT_UW, WTL_POWER_INSTANT},
	{WTL_GPU_POWER_UW, WTL_POWER_DRAW},
	{WTL_GPU_POWER_AVERAGE_UW, WTL_POWER_AVERAGE},
};

enum { POWERS = sizeof(powers) / sizeof(powers[0]) };

static bool is_taken(const struct wtl_import_gpus *gpus, const char *domain)
{
	for (size_t i = 0; i < gpus->n; i++)
		if (strcmp(gpus->list[i].domain, domain) == 0)
			return true;
	return false;
}

static struct wtl_import_gpu *add(struct wtl_import_gpus *gpus, const struct wtl_gpu *gpu,
				  const char *key)
{
	struct wtl_import_gpu *own = &gpus->list[gpus->n];
	size_t number = gpu->index != UINT32_MAX ? gpu->index : gpus->n;

	if (gpus->n == WTL_IMPORT_GPUS_MAX)
		return NULL;
	memset(own, 0xff, sizeof(*own)); /* no series so far */
	snprintf(own->key, sizeof(own->key), "%s", key);
	do
		snprintf(own->domain, sizeof(own->domain), "gpu-%zu", number++);
	while (is_taken(gpus, own->domain));
	own->power = POWERS;
	gpus->newest = gpus->n++;
	return own;
}

struct wtl_import_gpu *wtl_import_gpu_find(struct wtl_import_gpus *gpus, const struct wtl_gpu *gpu)
{
	const char *key = gpu->uuid[0] ? gpu->uuid : gpu->bus_id;
	char number[24];

	if (!key[0]) {
		snprintf(number, sizeof(number), "%u", gpu->index);
		key = number;
	}
	/* GPUs come in turns: the next one is behind the newest. */
	for (size_t k = 1; k <= gpus->n; k++) {
		size_t i = (gpus->newest + k) % gpus->n;

		if (strcmp(gpus->list[i].key, key) == 0) {
			gpus->newest = i;
			return &gpus->list[i];
		}
	}
	return add(gpus, gpu, key);
}

static const struct wtl_sensor_class *class_of(const struct wtl_gpu *gpu,
					       enum wtl_power_field field)
{
	enum wtl_gpu_arch arch = WTL_GPU_ARCH_UNKNOWN;
	int major, minor;

	if (sscanf(gpu->compute_capability, "%3d.%3d", &major, &minor) == 2)
		arch = wtl_gpu_arch_from_capability(major, minor);
	return wtl_sensor_class_find(arch, atoi(gpu->driver), field);
}

/* A series is there from its first value on. */
static void put(struct wtl_import *import, size_t *series, const struct wtl_import_key *key,
		int64_t t_ns, const struct wtl_gpu_value *value)
{
	if (*series == SIZE_MAX && value->status == WATTLE_STATUS_OK)
		*series = wtl_import_series(import, key);
	if (value->status == WATTLE_STATUS_OK)
		wtl_import_put(import, *series, t_ns, value->value);
	else if (*series != SIZE_MAX)
		wtl_import_miss(import, *series, t_ns, value->status);
}

static void put_power(struct wtl_import *import, struct wtl_import_gpu *own,
		      const struct wtl_gpu *gpu, struct wtl_import_key *key, int64_t t_ns)
{
	for (unsigned i = 0; i < POWERS && own->power == POWERS; i++)
		if (gpu->numbers[powers[i].number].status == WATTLE_STATUS_OK)
			own->power = i;
	if (own->power == POWERS)
		return;
	if (own->power_series == SIZE_MAX) {
		key->class = class_of(gpu, powers[own->power].field);
		key->offset_uw = wtl_sensor_zero_uw(key->class->arch);
	}
	put(import, &own->power_series, key, t_ns, &gpu->numbers[powers[own->power].number]);
}

void wtl_import_gpu_put(struct wtl_import *import, struct wtl_import_gpu *own,
			const struct wtl_gpu *gpu, int64_t t_ns)
{
	struct wtl_import_key key = {.what = WTL_IMPORT_POWER_UW,
				     .domain = own->domain,
				     .device = gpu->name,
				     .serial = gpu->uuid,
				     .kind = WATTLE_KIND_GPU,
				     .gain_ppm = WTL_IMPORT_GPU_GAIN_PPM};

	put_power(import, own, gpu, &key, t_ns);
	key.what = WTL_IMPORT_ENERGY_UJ;
	put(import, &own->energy_series, &key, t_ns, &gpu->numbers[WTL_GPU_ENERGY_UJ]);
	key.what = WTL_IMPORT_DEVICE;
	for (enum wtl_device_number k = 0; k < WTL_DEVICE_NUMBERS; k++) {
		enum wtl_gpu_number from = wtl_device_quantities[k].of_gpu;

		key.number = k;
		if (from != WTL_GPU_NUMBERS)
			put(import, &own->devices[k], &key, t_ns, &gpu->numbers[from]);
	}
}
