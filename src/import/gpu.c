/* SPDX-License-Identifier: MIT */
#include "import/gpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "replay/device.h"

/* The powers of a GPU. The first one that it has is used, or the one that covers most of the time (see choose()). */
static const struct {
	enum wtl_gpu_number number;
	enum wtl_power_field field;
	const char *name;
} powers[] = {
	{WTL_GPU_POWER_INSTANT_UW, WTL_POWER_INSTANT, "power.draw.instant"},
	{WTL_GPU_POWER_UW, WTL_POWER_DRAW, "power.draw"},
	{WTL_GPU_POWER_AVERAGE_UW, WTL_POWER_AVERAGE, "power.draw.average"},
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
	wtl_text_copy(own->key, sizeof(own->key), key);
	own->index = gpu->index;
	do
		snprintf(own->domain, sizeof(own->domain), "gpu-%zu", number++);
	while (is_taken(gpus, own->domain));
	own->power = POWERS;
	own->first = NULL;
	gpus->newest = gpus->n++;
	return own;
}

struct wtl_import_gpu *wtl_import_gpu_find(struct wtl_import_gpus *gpus, const struct wtl_gpu *gpu)
{
	const char *key = gpu->uuid[0] ? gpu->uuid : gpu->bus_id;

	/* GPUs come in turns: the next one mostly follows the newest. */
	for (size_t k = 1; k <= gpus->n; k++) {
		size_t i = (gpus->newest + k) % gpus->n;
		struct wtl_import_gpu *own = &gpus->list[i];

		if (key[0] ? strcmp(own->key, key) == 0
			   : !own->key[0] && own->index == gpu->index) {
			gpus->newest = i;
			return own;
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

static size_t add_series(struct wtl_import *import, const struct wtl_import_gpu *own,
			 const struct wtl_gpu *gpu, enum wtl_import_what what,
			 enum wtl_device_number number)
{
	struct wtl_import_key key = {.what = what,
				     .number = number,
				     .domain = own->domain,
				     .device = gpu->name,
				     .serial = gpu->uuid,
				     .kind = WATTLE_KIND_GPU,
				     .gain_ppm = WTL_IMPORT_GPU_GAIN_PPM};

	if (what == WTL_IMPORT_POWER_UW) {
		key.class = class_of(gpu, powers[own->power].field);
		key.offset_uw = wtl_sensor_zero_uw(key.class->arch);
	}
	return wtl_import_series(import, &key);
}

/* A series begins with its first value. */
static inline void put(struct wtl_import *import, size_t *series, const struct wtl_import_gpu *own,
		       const struct wtl_gpu *gpu, enum wtl_gpu_number from, int64_t t_ns,
		       enum wtl_import_what what, enum wtl_device_number number)
{
	const struct wtl_gpu_value *value = &gpu->numbers[from];

	if (*series == SIZE_MAX && value->status != WATTLE_STATUS_OK)
		return;
	if (*series == SIZE_MAX)
		*series = add_series(import, own, gpu, what, number);
	if (value->status == WATTLE_STATUS_OK)
		wtl_import_put(import, *series, t_ns, value->value);
	else
		wtl_import_miss(import, *series, t_ns, value->status);
}

static bool has_power(const struct wtl_gpu *gpu, unsigned i)
{
	return gpu->numbers[powers[i].number].status == WATTLE_STATUS_OK;
}

static void put_all(struct wtl_import *import, struct wtl_import_gpu *own,
		    const struct wtl_gpu *gpu, int64_t t_ns)
{
	for (unsigned i = 0; i < POWERS && own->power == POWERS; i++)
		if (has_power(gpu, i))
			own->power = i;
	if (own->power < POWERS)
		put(import, &own->power_series, own, gpu, powers[own->power].number, t_ns,
		    WTL_IMPORT_POWER_UW, 0);
	put(import, &own->energy_series, own, gpu, WTL_GPU_ENERGY_UJ, t_ns, WTL_IMPORT_ENERGY_UJ,
	    0);
	for (enum wtl_device_number k = 0; k < WTL_DEVICE_NUMBERS; k++) {
		enum wtl_gpu_number from = wtl_device_quantities[k].of_gpu;

		if (from != WTL_GPU_NUMBERS)
			put(import, &own->devices[k], own, gpu, from, t_ns, WTL_IMPORT_DEVICE, k);
	}
}

/* ---- Which power ---- */

/* A row that waits until the next one shows how far they are apart. */
struct wtl_import_gpu_row {
	struct wtl_gpu gpu;
	int64_t t_ns;
};

/* Of several, the one with the longest averaging window that is hardly longer than the rows are apart. Of a second,
 * power.draw.instant covers 25 or 100 ms, and power.draw.average, if a card has it, all (see energy/sensor_class.h). */
static unsigned choose(const struct wtl_gpu *gpu, int64_t apart_ns)
{
	int64_t longest_ns = 0;
	unsigned best = POWERS;

	for (unsigned i = 0; i < POWERS; i++) {
		enum wtl_power_field field = powers[i].field;
		int64_t window_ns = class_of(gpu, field)->window_ns;
		bool is_longer = window_ns > longest_ns ||
				 (window_ns == longest_ns && field == WTL_POWER_AVERAGE);

		if (!has_power(gpu, i) ||
		    (best < POWERS && (!is_longer || window_ns > apart_ns + apart_ns / 8)))
			continue;
		best = i;
		longest_ns = window_ns;
	}
	return best;
}

static void put_first(struct wtl_import *import, struct wtl_import_gpu *own, int64_t apart_ns)
{
	struct wtl_import_gpu_row *row = own->first;

	own->first = NULL;
	own->power = choose(&row->gpu, apart_ns);
	wtl_import_remark(import, "power is %s, which sees the most of the time between rows",
			  powers[own->power].name);
	put_all(import, own, &row->gpu, row->t_ns);
	free(row);
}

void wtl_import_gpu_put(struct wtl_import *import, struct wtl_import_gpu *own,
			const struct wtl_gpu *gpu, int64_t t_ns)
{
	unsigned n = 0;

	if (own->first)
		put_first(import, own, t_ns - own->first->t_ns);
	for (unsigned i = 0; i < POWERS && own->power == POWERS; i++)
		n += has_power(gpu, i);
	if (n < 2) {
		put_all(import, own, gpu, t_ns);
		return;
	}
	own->first = malloc(sizeof(*own->first));
	if (own->first)
		*own->first = (struct wtl_import_gpu_row){*gpu, t_ns};
	else
		import->error = -ENOMEM;
}

void wtl_import_gpus_end(struct wtl_import *import, struct wtl_import_gpus *gpus)
{
	for (size_t i = 0; i < gpus->n; i++)
		if (gpus->list[i].first)
			put_first(import, &gpus->list[i], 0);
}
