/* SPDX-License-Identifier: MIT */
/* A meter's GPUs beside their energy, for programs that ask. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/abi.h"
#include "base/text.h"
#include "base/thread.h"
#include "energy/units.h"
#include "meter/gpu_details.h"
#include "meter/meter.h"

/* How long a caller waits for an answer; see wattle.h. */
#define WAIT_NS (WTL_NS_PER_S / 2)

#define EVERY_NS WTL_NS_PER_S

static int open_details(struct wattle_meter *meter)
{
	struct wtl_gpu_details *details = malloc(sizeof(*details));
	int rc = details ? wtl_gpu_details_init(details, meter,
						WTL_GPU_READ_NUMBERS | WTL_GPU_READ_PROCESSES |
							WTL_GPU_READ_USE)
			 : -ENOMEM;

	if (rc < 0)
		free(details);
	else
		meter->gpu_details = details;
	return rc;
}

void wtl_meter_close_gpus(struct wattle_meter *meter)
{
	if (meter->gpu_details && wtl_gpu_details_done(meter->gpu_details))
		free(meter->gpu_details);
}

static int ask(struct wattle_meter *meter)
{
	int64_t now_ns = wtl_io_mono_ns(meter->env.io);
	bool is_first = !meter->gpu_details;
	bool is_due = is_first || now_ns - meter->gpus_asked_ns >= EVERY_NS;
	int rc = is_first ? open_details(meter) : 0;

	if (rc < 0)
		return rc;
	if (is_due)
		meter->gpus_asked_ns = now_ns;
	/* With a worker, the first answer is under way already. */
	if (is_due && !(is_first && meter->gpu_details->worker))
		wtl_gpu_details_ask(meter->gpu_details, WAIT_NS);
	else
		wtl_gpu_details_poll(meter->gpu_details, is_first ? WAIT_NS : 0);
	return meter->gpu_details->answered_ns ? (int)meter->gpu_details->n : -EAGAIN;
}

/* The meter's lock is not held while a worker is waited for: samples go on. */
int wattle_meter_gpus(struct wattle_meter *meter)
{
	bool has_one_order = meter->env.io->has_one_order;
	int rc;

	pthread_mutex_lock(&meter->gpus_lock);
	if (has_one_order)
		pthread_mutex_lock(&meter->lock);
	rc = ask(meter);
	if (has_one_order)
		pthread_mutex_unlock(&meter->lock);
	pthread_mutex_unlock(&meter->gpus_lock);
	return rc;
}

static enum wattle_status status_of(const struct wtl_gpu *gpu, int64_t age_ns)
{
	return gpu->status == WATTLE_STATUS_OK && age_ns > WTL_GPU_DETAILS_OLD_NS
		       ? WATTLE_STATUS_STALE
		       : gpu->status;
}

static uint64_t number_of(const struct wtl_gpu *gpu, enum wtl_gpu_number number)
{
	return gpu->status == WATTLE_STATUS_OK && gpu->numbers[number].status == WATTLE_STATUS_OK
		       ? gpu->numbers[number].value
		       : WATTLE_UNKNOWN;
}

static void give(const struct wattle_meter *meter, const struct wtl_gpu *from,
		 struct wattle_gpu *ret_gpu)
{
	int64_t age_ns = wtl_thread_clock_ns() - meter->gpu_details->answered_ns;
	struct wattle_gpu gpu = {
		.status = status_of(from, age_ns),
		.domain = from->domain[0] ? wattle_meter_find(meter, from->domain) : -1,
		.age_ns = age_ns,
		.use_percent = number_of(from, WTL_GPU_USE_PERCENT),
		.memory_used_bytes = number_of(from, WTL_GPU_MEMORY_USED_BYTES),
		.memory_total_bytes = number_of(from, WTL_GPU_MEMORY_TOTAL_BYTES),
		.temperature_c = number_of(from, WTL_GPU_TEMPERATURE_C),
		.clock_mhz = number_of(from, WTL_GPU_CLOCK_SM_MHZ),
		.memory_clock_mhz = number_of(from, WTL_GPU_CLOCK_MEMORY_MHZ),
		.power_limit_uw = number_of(from, WTL_GPU_LIMIT_UW),
		.fan_percent = number_of(from, WTL_GPU_FAN_PERCENT),
		.processes_status = from->processes_status,
		.processes = (uint32_t)from->n_processes,
	};

	if (gpu.domain < 0)
		gpu.domain = -1;
	if (gpu.clock_mhz == WATTLE_UNKNOWN)
		gpu.clock_mhz = number_of(from, WTL_GPU_CLOCK_GRAPHICS_MHZ);
	wtl_text_copy(gpu.name, sizeof(gpu.name), from->name);
	wtl_text_copy(gpu.uuid, sizeof(gpu.uuid), from->uuid);
	wtl_text_copy(gpu.bus_id, sizeof(gpu.bus_id), from->bus_id);
	wtl_abi_give(ret_gpu, &gpu, sizeof(gpu));
}

/* NULL: there is no i-th. With the lock. */
static const struct wtl_gpu *gpu_at(const struct wattle_meter *meter, size_t i)
{
	return meter->gpu_details && i < meter->gpu_details->n ? &meter->gpu_details->gpus[i]
							       : NULL;
}

int wattle_meter_gpu(struct wattle_meter *meter, size_t i, struct wattle_gpu *ret_gpu)
{
	const struct wtl_gpu *gpu;

	if (!ret_gpu || !wtl_abi_is_sized(ret_gpu))
		return -EINVAL;
	pthread_mutex_lock(&meter->gpus_lock);
	gpu = gpu_at(meter, i);
	if (gpu)
		give(meter, gpu, ret_gpu);
	pthread_mutex_unlock(&meter->gpus_lock);
	return gpu ? 0 : -ERANGE;
}

int wattle_meter_gpu_process(struct wattle_meter *meter, size_t i, size_t k,
			     struct wattle_gpu_process *ret_process)
{
	const struct wtl_gpu *gpu;
	int rc = -ERANGE;

	if (!ret_process || !wtl_abi_is_sized(ret_process))
		return -EINVAL;
	pthread_mutex_lock(&meter->gpus_lock);
	gpu = gpu_at(meter, i);
	if (gpu && k < gpu->n_processes) {
		const struct wtl_gpu_process *from = &gpu->processes[k];
		const struct wattle_gpu_process process = {
			.pid = from->pid,
			.is_visible = from->is_visible,
			.kinds = from->types,
			.memory_bytes = from->memory_bytes,
			.use_percent = from->has_use ? from->sm_percent : WATTLE_UNKNOWN,
		};

		wtl_abi_give(ret_process, &process, sizeof(process));
		rc = 0;
	}
	pthread_mutex_unlock(&meter->gpus_lock);
	return rc;
}
