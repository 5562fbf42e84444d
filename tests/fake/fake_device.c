/* SPDX-License-Identifier: MIT */
/* The fake's entry points: memory, clocks, use, limits, processes. */
#include <string.h>

#include "fake_state.h"

FAKE_API int nvmlDeviceGetMemoryInfo(void *device, struct fake_memory *memory);
FAKE_API int nvmlDeviceGetMemoryInfo_v2(void *device, struct fake_memory_v2 *memory);
FAKE_API int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius);
FAKE_API int nvmlDeviceGetTemperatureV(void *device, struct fake_temperature *temperature);
FAKE_API int nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz);
FAKE_API int nvmlDeviceGetMaxClockInfo(void *device, int type, unsigned *mhz);
FAKE_API int nvmlDeviceGetUtilizationRates(void *device, struct fake_utilization *utilization);
FAKE_API int nvmlDeviceGetEncoderUtilization(void *device, unsigned *percent, unsigned *period_us);
FAKE_API int nvmlDeviceGetDecoderUtilization(void *device, unsigned *percent, unsigned *period_us);
FAKE_API int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons);
FAKE_API int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons);
FAKE_API int nvmlDeviceGetPcieThroughput(void *device, int counter, unsigned *kbs);
FAKE_API int nvmlDeviceGetPerformanceState(void *device, int *pstate);
FAKE_API int nvmlDeviceGetFanSpeed(void *device, unsigned *percent);
FAKE_API int nvmlDeviceGetComputeMode(void *device, int *mode);
FAKE_API int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending);
FAKE_API int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count);
FAKE_API int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **handle);
FAKE_API int nvmlDeviceGetPersistenceMode(void *device, int *mode);
FAKE_API int nvmlDeviceSetPersistenceMode(void *device, int mode);
FAKE_API int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *limit_mw);
FAKE_API int nvmlDeviceGetPowerManagementLimit(void *device, unsigned *limit_mw);
FAKE_API int nvmlDeviceGetPowerManagementDefaultLimit(void *device, unsigned *limit_mw);
FAKE_API int nvmlDeviceGetPowerManagementLimitConstraints(void *device, unsigned *min_mw,
							  unsigned *max_mw);
FAKE_API int nvmlDeviceSetPowerManagementLimit(void *device, unsigned limit_mw);
FAKE_API int nvmlDeviceSetPowerManagementLimit_v2(void *device, struct fake_power_value *value);
FAKE_API int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *count, void *infos);
FAKE_API int nvmlDeviceGetComputeRunningProcesses_v2(void *device, unsigned *count, void *infos);
FAKE_API int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, void *infos);
FAKE_API int nvmlDeviceGetGraphicsRunningProcesses(void *device, unsigned *count, void *infos);
FAKE_API int nvmlDeviceGetGraphicsRunningProcesses_v2(void *device, unsigned *count, void *infos);
FAKE_API int nvmlDeviceGetGraphicsRunningProcesses_v3(void *device, unsigned *count, void *infos);
FAKE_API int nvmlDeviceGetMPSComputeRunningProcesses_v3(void *device, unsigned *count, void *infos);
FAKE_API int nvmlDeviceGetConfComputeMemSizeInfo(void *device, void *info);
FAKE_API int nvmlDeviceGetRunningProcessDetailList(void *device, void *list);
FAKE_API int nvmlDeviceGetProcessUtilization(void *device, struct fake_process_sample *samples,
					     unsigned *count, unsigned long long last_seen_us);
FAKE_API int nvmlDeviceGetProcessesUtilizationInfo(void *device,
						   struct fake_processes_utilization *info);

/* ---- State of the device ---- */

static uint64_t memory_used(const struct fake_gpu *gpu)
{
	uint64_t used = gpu->memory_used;
	int64_t now_ns = fake_now_ns();

	for (size_t i = 0; i < gpu->n_processes; i++) {
		const struct fake_process_spec *process = &gpu->processes[i];

		if (now_ns >= process->from_ns && now_ns < process->until_ns &&
		    process->used_bytes != UINT64_MAX)
			used += process->used_bytes;
	}
	return used;
}

FAKE_API int nvmlDeviceGetMemoryInfo(void *device, struct fake_memory *memory)
{
	FAKE_ENTER_DEVICE(device);
	memory->total = gpu->memory_total;
	memory->used = memory_used(gpu) + gpu->memory_reserved; /* the old call counts both */
	memory->free =
		gpu->memory_free != UINT64_MAX ? gpu->memory_free : memory->total - memory->used;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetMemoryInfo_v2(void *device, struct fake_memory_v2 *memory)
{
	FAKE_ENTER_DEVICE(device);
	if (memory->version != (sizeof(*memory) | 2u << 24))
		return FAKE_VERSION_MISMATCH;
	memory->total = gpu->memory_total;
	memory->reserved = gpu->memory_reserved;
	memory->used = memory_used(gpu);
	memory->free = gpu->memory_free != UINT64_MAX
			       ? gpu->memory_free
			       : memory->total - memory->used - memory->reserved;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
	FAKE_ENTER_DEVICE(device);
	if (sensor != 0)
		return FAKE_INVALID_ARGUMENT;
	*celsius = gpu->temperature;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetTemperatureV(void *device, struct fake_temperature *temperature)
{
	FAKE_ENTER_DEVICE(device);
	if (temperature->version != (sizeof(*temperature) | 1u << 24))
		return FAKE_VERSION_MISMATCH;
	temperature->celsius = (int32_t)gpu->temperature;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz)
{
	FAKE_ENTER_DEVICE(device);
	if (type < 0 || type > 3)
		return FAKE_INVALID_ARGUMENT;
	*mhz = gpu->clock_mhz[type];
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetMaxClockInfo(void *device, int type, unsigned *mhz)
{
	FAKE_ENTER_DEVICE(device);
	if (type < 0 || type > 3)
		return FAKE_INVALID_ARGUMENT;
	*mhz = gpu->clock_max_mhz[type];
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetUtilizationRates(void *device, struct fake_utilization *utilization)
{
	FAKE_ENTER_DEVICE(device);
	if (gpu->mig == 1)
		return FAKE_NOT_SUPPORTED;
	utilization->gpu = gpu->util_gpu;
	utilization->memory = gpu->util_memory;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetEncoderUtilization(void *device, unsigned *percent, unsigned *period_us)
{
	FAKE_ENTER_DEVICE(device);
	*percent = gpu->util_encoder;
	*period_us = 167000;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetDecoderUtilization(void *device, unsigned *percent, unsigned *period_us)
{
	FAKE_ENTER_DEVICE(device);
	*percent = gpu->util_decoder;
	*period_us = 167000;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
	FAKE_ENTER_DEVICE(device);
	*reasons = gpu->throttle;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons)
{
	FAKE_ENTER_DEVICE(device);
	*reasons = gpu->throttle;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetPcieThroughput(void *device, int counter, unsigned *kbs)
{
	FAKE_ENTER_DEVICE(device);
	if (counter < 0 || counter > 1)
		return FAKE_INVALID_ARGUMENT;
	*kbs = counter ? gpu->pcie_rx_kbs : gpu->pcie_tx_kbs;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetPerformanceState(void *device, int *pstate)
{
	FAKE_ENTER_DEVICE(device);
	*pstate = (int)gpu->pstate;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetFanSpeed(void *device, unsigned *percent)
{
	FAKE_ENTER_DEVICE(device);
	*percent = gpu->fan;
	return gpu->fan == UINT32_MAX ? FAKE_NOT_SUPPORTED : FAKE_OK;
}

FAKE_API int nvmlDeviceGetComputeMode(void *device, int *mode)
{
	FAKE_ENTER_DEVICE(device);
	(void)gpu;
	*mode = 0;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending)
{
	FAKE_ENTER_DEVICE(device);
	if (gpu->mig < 0)
		return FAKE_NOT_SUPPORTED;
	*current = *pending = (unsigned)gpu->mig;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count)
{
	FAKE_ENTER_DEVICE(device);
	*count = gpu->mig < 0 ? 0 : 7;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **handle)
{
	FAKE_ENTER_DEVICE(device);
	if (gpu->mig < 0 || index >= gpu->n_migs)
		return gpu->mig < 0 ? FAKE_NOT_SUPPORTED : FAKE_NOT_FOUND;
	*handle = gpu->migs[index];
	return FAKE_OK;
}

/* ---- Settings ---- */

FAKE_API int nvmlDeviceGetPersistenceMode(void *device, int *mode)
{
	FAKE_ENTER_DEVICE(device);
	*mode = gpu->persistence;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceSetPersistenceMode(void *device, int mode)
{
	FAKE_ENTER_DEVICE(device);
	if (!fake_script.may_set)
		return FAKE_NO_PERMISSION;
	if (mode != 0 && mode != 1)
		return FAKE_INVALID_ARGUMENT;
	gpu->persistence = mode;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *limit_mw)
{
	FAKE_ENTER_DEVICE(device);
	*limit_mw = gpu->limit_mw;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetPowerManagementLimit(void *device, unsigned *limit_mw)
{
	FAKE_ENTER_DEVICE(device);
	*limit_mw = gpu->limit_mw;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetPowerManagementDefaultLimit(void *device, unsigned *limit_mw)
{
	FAKE_ENTER_DEVICE(device);
	*limit_mw = gpu->limit_default_mw;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetPowerManagementLimitConstraints(void *device, unsigned *min_mw,
							  unsigned *max_mw)
{
	FAKE_ENTER_DEVICE(device);
	*min_mw = gpu->limit_min_mw;
	*max_mw = gpu->limit_max_mw;
	return FAKE_OK;
}

static int set_limit(struct fake_gpu *gpu, unsigned limit_mw)
{
	if (!fake_script.may_set)
		return FAKE_NO_PERMISSION;
	if (limit_mw < gpu->limit_min_mw || limit_mw > gpu->limit_max_mw)
		return FAKE_INVALID_ARGUMENT;
	gpu->limit_mw = limit_mw;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceSetPowerManagementLimit(void *device, unsigned limit_mw)
{
	FAKE_ENTER_DEVICE(device);
	return set_limit(gpu, limit_mw);
}

FAKE_API int nvmlDeviceSetPowerManagementLimit_v2(void *device, struct fake_power_value *value)
{
	FAKE_ENTER_DEVICE(device);
	if (value->version != (sizeof(*value) | 2u << 24))
		return FAKE_VERSION_MISMATCH;
	if (value->scope != FAKE_SCOPE_GPU)
		return FAKE_NOT_SUPPORTED;
	return set_limit(gpu, value->power_mw);
}

/* ---- Processes ---- */

static void put_process(void *infos, size_t i, size_t stride,
			const struct fake_process_spec *process)
{
	struct fake_process_535 entry = {
		.process = {.pid = process->pid,
			    .used = process->used_bytes,
			    .gpu_instance = process->instance,
			    .compute_instance = process->compute_instance},
		.used_protected = 0,
	};

	/* Every layout is a prefix of the longest one. */
	memcpy((char *)infos + i * stride, &entry, stride);
}

static int processes(const struct fake_gpu *gpu, char type, size_t stride, unsigned *count,
		     void *infos)
{
	int64_t now_ns = fake_now_ns();
	unsigned n = 0, room = *count;

	for (size_t i = 0; i < gpu->n_processes; i++) {
		const struct fake_process_spec *process = &gpu->processes[i];

		if (process->type != type || now_ns < process->from_ns ||
		    now_ns >= process->until_ns)
			continue;
		if (infos && n < room)
			put_process(infos, n, stride, process);
		n++;
	}
	*count = n;
	return n > room || (n && !infos) ? FAKE_INSUFFICIENT_SIZE : FAKE_OK;
}

FAKE_API int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *count, void *infos)
{
	FAKE_ENTER_DEVICE(device);
	return processes(gpu, 'C', sizeof(struct fake_process_v1), count, infos);
}

FAKE_API int nvmlDeviceGetComputeRunningProcesses_v2(void *device, unsigned *count, void *infos)
{
	FAKE_ENTER_DEVICE(device);
	return processes(gpu, 'C', sizeof(struct fake_process), count, infos);
}

FAKE_API int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, void *infos)
{
	FAKE_ENTER_DEVICE(device);
	return processes(gpu, 'C', fake_script.stride, count, infos);
}

FAKE_API int nvmlDeviceGetGraphicsRunningProcesses(void *device, unsigned *count, void *infos)
{
	FAKE_ENTER_DEVICE(device);
	return processes(gpu, 'G', sizeof(struct fake_process_v1), count, infos);
}

FAKE_API int nvmlDeviceGetGraphicsRunningProcesses_v2(void *device, unsigned *count, void *infos)
{
	FAKE_ENTER_DEVICE(device);
	return processes(gpu, 'G', sizeof(struct fake_process), count, infos);
}

FAKE_API int nvmlDeviceGetGraphicsRunningProcesses_v3(void *device, unsigned *count, void *infos)
{
	FAKE_ENTER_DEVICE(device);
	return processes(gpu, 'G', fake_script.stride, count, infos);
}

FAKE_API int nvmlDeviceGetMPSComputeRunningProcesses_v3(void *device, unsigned *count, void *infos)
{
	FAKE_ENTER_DEVICE(device);
	return processes(gpu, 'M', fake_script.stride, count, infos);
}

/* Only their presence matters: tools tell the 535 stride by which of the two symbols exists. */
FAKE_API int nvmlDeviceGetConfComputeMemSizeInfo(void *device, void *info)
{
	FAKE_ENTER_DEVICE(device);
	(void)gpu;
	(void)info;
	return FAKE_NOT_SUPPORTED;
}

FAKE_API int nvmlDeviceGetRunningProcessDetailList(void *device, void *list)
{
	FAKE_ENTER_DEVICE(device);
	(void)gpu;
	(void)list;
	return FAKE_NOT_SUPPORTED;
}

static bool in_use(const struct fake_process_spec *process, int64_t t_ns)
{
	return t_ns > process->from_ns && t_ns <= process->until_ns &&
	       (process->sm || process->memory || process->encoder || process->decoder);
}

/* The last sample of each process that used something and is newer than last_seen_us. */
static unsigned uses(const struct fake_gpu *gpu, uint64_t last_seen_us,
		     struct fake_process_use found[], unsigned max)
{
	int64_t now_ns = fake_now_ns();
	int64_t t_ns = now_ns - now_ns % fake_script.sample_ns;
	unsigned n = 0;

	if (fake_utc_us(t_ns) <= last_seen_us)
		return 0;
	for (size_t i = 0; i < gpu->n_processes && n < max; i++) {
		const struct fake_process_spec *process = &gpu->processes[i];

		if (!in_use(process, t_ns))
			continue;
		found[n++] = (struct fake_process_use){.timestamp_us = fake_utc_us(t_ns),
						       .pid = process->pid,
						       .sm = process->sm,
						       .memory = process->memory,
						       .encoder = process->encoder,
						       .decoder = process->decoder};
	}
	return n;
}

enum { SAMPLES_SIZE = 100 }; /* what the real one asks for, however few there are */

FAKE_API int nvmlDeviceGetProcessUtilization(void *device, struct fake_process_sample *samples,
					     unsigned *count, unsigned long long last_seen_us)
{
	struct fake_process_use found[FAKE_PROCESSES_MAX];
	unsigned n, room;

	FAKE_ENTER_DEVICE(device);
	if (gpu->mig == 1)
		return FAKE_NOT_SUPPORTED;
	room = *count;
	if (!samples) {
		*count = SAMPLES_SIZE;
		return FAKE_INSUFFICIENT_SIZE;
	}
	n = uses(gpu, last_seen_us, found, FAKE_PROCESSES_MAX);
	*count = n;
	if (n > room)
		return FAKE_INSUFFICIENT_SIZE;
	for (unsigned i = 0; i < n; i++)
		samples[i] = (struct fake_process_sample){.pid = found[i].pid,
							  .timestamp_us = found[i].timestamp_us,
							  .sm = found[i].sm,
							  .memory = found[i].memory,
							  .encoder = found[i].encoder,
							  .decoder = found[i].decoder};
	return n ? FAKE_OK : FAKE_NOT_FOUND;
}

FAKE_API int nvmlDeviceGetProcessesUtilizationInfo(void *device,
						   struct fake_processes_utilization *info)
{
	struct fake_process_use found[FAKE_PROCESSES_MAX];
	unsigned n, room;

	FAKE_ENTER_DEVICE(device);
	if (info->version != (sizeof(*info) | 1u << 24))
		return FAKE_VERSION_MISMATCH;
	if (gpu->mig == 1)
		return FAKE_NOT_SUPPORTED;
	room = info->count;
	n = uses(gpu, info->last_seen_us, found, FAKE_PROCESSES_MAX);
	info->count = n;
	if (!info->samples || n > room)
		return FAKE_INSUFFICIENT_SIZE;
	memcpy(info->samples, found, n * sizeof(found[0]));
	return n ? FAKE_OK : FAKE_NOT_FOUND;
}
