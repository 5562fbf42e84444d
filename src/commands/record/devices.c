/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "base/thread.h"
#include "commands/record/recording.h"
#include "energy/units.h"
#include "meter/gpu_details.h"
#include "meter/meter.h"
#include "replay/device.h"
#include "report/host_state.h"

enum { VALUES_MAX = 1024, GPUS_MAX = 128 };

/* How long to wait for GPUs' answers (judgement); as long as for the answers about their users. */
#define ANSWER_NS (20 * WTL_NS_PER_MS)

/* Records what `wattle top` shows besides energy. */
struct wtl_recording_devices {
	struct wtl_gpu_details gpus;
	struct wtl_host_reader host;
	int64_t looked_ns; /* by the clock of the GPUs' answers */
	size_t n_told;	   /* GPUs whose names are in the facts */
	struct wtl_device_value values[VALUES_MAX];
	size_t n;
};

struct wtl_recording_devices *wtl_recording_devices_new(struct wattle_meter *meter)
{
	struct wtl_recording_devices *devices = calloc(1, sizeof(*devices));

	if (!devices)
		return NULL;
	wtl_host_init(&devices->host, meter->env.io, meter->machine.n_cpus);
	if (wtl_gpu_details_init(&devices->gpus, meter, WTL_GPU_READ_NUMBERS) == 0)
		return devices;
	wtl_recording_devices_free(devices);
	return NULL;
}

void wtl_recording_devices_free(struct wtl_recording_devices *devices)
{
	/* A driver that never answers may still write to this memory. */
	if (!devices || !wtl_gpu_details_done(&devices->gpus))
		return;
	wtl_host_done(&devices->host);
	free(devices);
}

static void put(struct wtl_recording_devices *devices, int32_t gpu, enum wtl_device_number number,
		uint64_t value)
{
	if (devices->n < VALUES_MAX && value <= INT64_MAX)
		devices->values[devices->n++] = (struct wtl_device_value){
			.gpu = gpu, .number = number, .value = (int64_t)value};
}

static void put_machine(struct wtl_recording_devices *devices)
{
	const struct wtl_host_state *host = &devices->host.state;

	if (host->has_temperature && host->temperature_c >= 0)
		put(devices, -1, WTL_DEVICE_TEMPERATURE_C, (uint64_t)host->temperature_c);
	if (host->clock_mhz)
		put(devices, -1, WTL_DEVICE_CLOCK_MHZ, host->clock_mhz);
	if (host->has_use)
		put(devices, -1, WTL_DEVICE_USE_PERCENT, (host->use_ppm + 5000) / 10000);
	if (host->memory_bytes) {
		put(devices, -1, WTL_DEVICE_MEMORY_USED_BYTES, host->memory_used_bytes);
		put(devices, -1, WTL_DEVICE_MEMORY_TOTAL_BYTES, host->memory_bytes);
	}
	if (host->has_throttled)
		put(devices, -1, WTL_DEVICE_THROTTLED, host->throttled);
}

static void put_gpu(struct wtl_recording_devices *devices, size_t i)
{
	const struct wtl_gpu *gpu = &devices->gpus.gpus[i];

	if (devices->looked_ns - devices->gpus.answered_ns > WTL_GPU_DETAILS_OLD_NS)
		return;
	for (enum wtl_device_number k = 0; k < WTL_DEVICE_NUMBERS; k++) {
		enum wtl_gpu_number from = wtl_device_quantities[k].of_gpu;

		if (from != WTL_GPU_NUMBERS && gpu->status == WATTLE_STATUS_OK &&
		    gpu->numbers[from].status == WATTLE_STATUS_OK)
			put(devices, (int32_t)i, k, gpu->numbers[from].value);
	}
}

static void tell_gpu(const struct wtl_gpu *gpu, size_t i, struct wtl_recorder *recorder)
{
	char key[64];

	snprintf(key, sizeof(key), WTL_FACT_DEVICE_DOMAIN, i);
	wtl_recorder_fact(recorder, key, gpu->domain);
	snprintf(key, sizeof(key), WTL_FACT_DEVICE_NAME, i);
	wtl_recorder_fact(recorder, key, gpu->name);
}

void wtl_recording_devices_look(struct wtl_recording_devices *devices,
				const struct wtl_consumers *consumers,
				struct wtl_recorder *recorder)
{
	if (!devices)
		return;
	wtl_host_read(&devices->host, wtl_consumers_machine(consumers));
	wtl_gpu_details_ask(&devices->gpus, ANSWER_NS);
	devices->looked_ns = wtl_thread_clock_ns();
	devices->n = 0;
	put_machine(devices);
	for (size_t i = 0; i < devices->gpus.n && i < GPUS_MAX; i++) {
		if (i >= devices->n_told && recorder)
			tell_gpu(&devices->gpus.gpus[i], i, recorder);
		put_gpu(devices, i);
	}
	if (devices->n_told < devices->gpus.n)
		devices->n_told = devices->gpus.n;
	if (recorder)
		wtl_recorder_devices(recorder, devices->values, devices->n);
}

void wtl_recording_devices_tell(const struct wtl_recording_devices *devices,
				const struct wtl_device_value **ret_values, size_t *ret_n_values,
				const struct wtl_gpu **ret_gpus, size_t *ret_n_gpus)
{
	*ret_values = devices->values;
	*ret_n_values = devices->n;
	*ret_gpus = devices->gpus.gpus;
	*ret_n_gpus = devices->gpus.n;
}
