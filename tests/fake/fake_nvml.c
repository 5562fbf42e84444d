/* SPDX-License-Identifier: MIT */
/* The fake's entry points: the system, finding devices, energy and power. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_state.h"

/* Return codes in NVML's own words, for nvmlErrorString. */
static const struct {
	int code;
	const char *text;
} error_texts[] = {
	{0, "Success"},
	{1, "Uninitialized"},
	{2, "Invalid Argument"},
	{3, "Not Supported"},
	{4, "Insufficient Permissions"},
	{6, "Not Found"},
	{7, "Insufficient Size"},
	{9, "Driver Not Loaded"},
	{10, "Timeout"},
	{13, "Function Not Found"},
	{14, "Corrupted infoROM"},
	{15, "GPU is lost"},
	{16, "GPU requires reset"},
	{17, "The operating system has blocked the request"},
	{18, "RM has detected an NVML/RM version mismatch."},
	{23, "Insufficient Resources"},
	{999, "Unknown Error"},
};

/* Function prototypes as the real library has them, opaque pointers as void *. */
FAKE_API const char *nvmlErrorString(int code);
FAKE_API int nvmlSystemGetDriverVersion(char *text, unsigned length);
FAKE_API int nvmlSystemGetNVMLVersion(char *text, unsigned length);
FAKE_API int nvmlSystemGetCudaDriverVersion(int *version);
FAKE_API int nvmlSystemGetCudaDriverVersion_v2(int *version);
FAKE_API int nvmlDeviceGetCount(unsigned *count);
FAKE_API int nvmlDeviceGetCount_v2(unsigned *count);
FAKE_API int nvmlDeviceGetHandleByIndex(unsigned index, void **handle);
FAKE_API int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle);
FAKE_API int nvmlDeviceGetHandleByUUID(const char *uuid, void **handle);
FAKE_API int nvmlDeviceGetHandleBySerial(const char *serial, void **handle);
FAKE_API int nvmlDeviceGetHandleByPciBusId(const char *bus_id, void **handle);
FAKE_API int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **handle);
FAKE_API int nvmlDeviceGetIndex(void *device, unsigned *index);
FAKE_API int nvmlDeviceGetMinorNumber(void *device, unsigned *minor);
FAKE_API int nvmlDeviceGetName(void *device, char *name, unsigned length);
FAKE_API int nvmlDeviceGetUUID(void *device, char *uuid, unsigned length);
FAKE_API int nvmlDeviceGetSerial(void *device, char *serial, unsigned length);
FAKE_API int nvmlDeviceGetPciInfo(void *device, struct fake_pci *pci);
FAKE_API int nvmlDeviceGetPciInfo_v2(void *device, struct fake_pci *pci);
FAKE_API int nvmlDeviceGetPciInfo_v3(void *device, struct fake_pci *pci);
FAKE_API int nvmlDeviceGetArchitecture(void *device, unsigned *arch);
FAKE_API int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor);
FAKE_API int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *energy_mj);
FAKE_API int nvmlDeviceGetPowerUsage(void *device, unsigned *power_mw);
FAKE_API int nvmlDeviceGetFieldValues(void *device, int count, struct fake_field *values);
FAKE_API int nvmlDeviceGetSamples(void *device, int type, unsigned long long last_seen_us,
				  int *value_type, unsigned *count, struct fake_sample *samples);

FAKE_API const char *nvmlErrorString(int code)
{
	for (size_t i = 0; i < sizeof(error_texts) / sizeof(error_texts[0]); i++)
		if (error_texts[i].code == code)
			return error_texts[i].text;
	return "Unknown Error";
}

FAKE_API int nvmlSystemGetDriverVersion(char *text, unsigned length)
{
	FAKE_ENTER();
	return fake_copy(text, length, fake_script.driver);
}

FAKE_API int nvmlSystemGetNVMLVersion(char *text, unsigned length)
{
	FAKE_ENTER();
	return fake_copy(text, length, fake_script.nvml);
}

FAKE_API int nvmlSystemGetCudaDriverVersion(int *version)
{
	FAKE_ENTER();
	*version = fake_script.cuda;
	return FAKE_OK;
}

FAKE_API int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	FAKE_ENTER();
	*version = fake_script.cuda;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetCount(unsigned *count)
{
	FAKE_ENTER();
	*count = (unsigned)fake_script.n_gpus;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetCount_v2(unsigned *count)
{
	FAKE_ENTER();
	*count = (unsigned)fake_script.n_gpus;
	return FAKE_OK;
}

/* ---- Handles ---- */

static int give(const char *function, struct fake_gpu *gpu, void **handle)
{
	int answer;

	if (!gpu)
		return FAKE_NOT_FOUND;
	answer = fake_enter_gpu(function, gpu);
	if (answer)
		return answer;
	*handle = gpu;
	return FAKE_OK;
}

static int by_index(const char *function, unsigned index, void **handle)
{
	if (index >= fake_script.n_gpus)
		return FAKE_INVALID_ARGUMENT;
	return give(function, &fake_script.gpus[index], handle);
}

FAKE_API int nvmlDeviceGetHandleByIndex(unsigned index, void **handle)
{
	FAKE_ENTER();
	return by_index(__func__, index, handle);
}

FAKE_API int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle)
{
	FAKE_ENTER();
	return by_index(__func__, index, handle);
}

FAKE_API int nvmlDeviceGetHandleByUUID(const char *uuid, void **handle)
{
	FAKE_ENTER();
	for (size_t i = 0; i < fake_script.n_gpus; i++)
		if (strcmp(fake_script.gpus[i].uuid, uuid) == 0)
			return give(__func__, &fake_script.gpus[i], handle);
	return FAKE_NOT_FOUND;
}

FAKE_API int nvmlDeviceGetHandleBySerial(const char *serial, void **handle)
{
	FAKE_ENTER();
	for (size_t i = 0; i < fake_script.n_gpus; i++)
		if (strcmp(fake_script.gpus[i].serial, serial) == 0)
			return give(__func__, &fake_script.gpus[i], handle);
	return FAKE_NOT_FOUND;
}

static bool bus_parse(const char *text, unsigned ret[4])
{
	return sscanf(text, "%x:%x:%x.%x", &ret[0], &ret[1], &ret[2], &ret[3]) == 4;
}

static int by_bus(const char *function, const char *bus_id, void **handle)
{
	unsigned asked[4], have[4];

	if (!bus_parse(bus_id, asked))
		return FAKE_INVALID_ARGUMENT;
	for (size_t i = 0; i < fake_script.n_gpus; i++)
		if (bus_parse(fake_script.gpus[i].bus_id, have) &&
		    memcmp(asked, have, sizeof(asked)) == 0)
			return give(function, &fake_script.gpus[i], handle);
	return FAKE_NOT_FOUND;
}

FAKE_API int nvmlDeviceGetHandleByPciBusId(const char *bus_id, void **handle)
{
	FAKE_ENTER();
	return by_bus(__func__, bus_id, handle);
}

FAKE_API int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **handle)
{
	FAKE_ENTER();
	return by_bus(__func__, bus_id, handle);
}

/* ---- Identity ---- */

FAKE_API int nvmlDeviceGetIndex(void *device, unsigned *index)
{
	FAKE_ENTER_DEVICE(device);
	*index = gpu->index;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetMinorNumber(void *device, unsigned *minor)
{
	FAKE_ENTER_DEVICE(device);
	*minor = gpu->index;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetName(void *device, char *name, unsigned length)
{
	FAKE_ENTER_DEVICE(device);
	return fake_copy(name, length, gpu->name);
}

FAKE_API int nvmlDeviceGetUUID(void *device, char *uuid, unsigned length)
{
	FAKE_ENTER_DEVICE(device);
	return fake_copy(uuid, length, gpu->uuid);
}

FAKE_API int nvmlDeviceGetSerial(void *device, char *serial, unsigned length)
{
	FAKE_ENTER_DEVICE(device);
	if (strcmp(gpu->serial, "0") == 0)
		return FAKE_NOT_SUPPORTED;
	return fake_copy(serial, length, gpu->serial);
}

static int pci_info(const struct fake_gpu *gpu, struct fake_pci *pci)
{
	unsigned bus[4] = {0};

	bus_parse(gpu->bus_id, bus);
	memset(pci, 0, sizeof(*pci));
	snprintf(pci->bus_id_legacy, sizeof(pci->bus_id_legacy), "%04X:%02X:%02X.0",
		 bus[0] & 0xffff, bus[1] & 0xff, bus[2] & 0xff);
	snprintf(pci->bus_id, sizeof(pci->bus_id), "%08X:%02X:%02X.0", bus[0], bus[1] & 0xff,
		 bus[2] & 0xff);
	pci->domain = bus[0];
	pci->bus = bus[1];
	pci->device = bus[2];
	pci->pci_device = gpu->pci_device;
	pci->pci_subsystem = gpu->pci_subsystem;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetPciInfo(void *device, struct fake_pci *pci)
{
	FAKE_ENTER_DEVICE(device);
	return pci_info(gpu, pci);
}

FAKE_API int nvmlDeviceGetPciInfo_v2(void *device, struct fake_pci *pci)
{
	FAKE_ENTER_DEVICE(device);
	return pci_info(gpu, pci);
}

FAKE_API int nvmlDeviceGetPciInfo_v3(void *device, struct fake_pci *pci)
{
	FAKE_ENTER_DEVICE(device);
	return pci_info(gpu, pci);
}

FAKE_API int nvmlDeviceGetArchitecture(void *device, unsigned *arch)
{
	FAKE_ENTER_DEVICE(device);
	*arch = gpu->arch;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor)
{
	FAKE_ENTER_DEVICE(device);
	*major = (int)gpu->cc_major;
	*minor = (int)gpu->cc_minor;
	return FAKE_OK;
}

/* ---- Energy and power ---- */

FAKE_API int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *energy_mj)
{
	FAKE_ENTER_DEVICE(device);
	if (!gpu->sensors[FAKE_SENSOR_COUNTER][FAKE_SCOPE_GPU].present)
		return FAKE_NOT_SUPPORTED;
	*energy_mj = fake_counter_mj(gpu, FAKE_SCOPE_GPU, fake_now_ns());
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetPowerUsage(void *device, unsigned *power_mw)
{
	const struct fake_sensor_spec *sensor;

	FAKE_ENTER_DEVICE(device);
	sensor = &gpu->sensors[FAKE_SENSOR_USAGE][FAKE_SCOPE_GPU];
	if (!sensor->present)
		return FAKE_NOT_SUPPORTED;
	*power_mw = fake_power_mw(gpu, sensor, FAKE_SCOPE_GPU, fake_now_ns());
	return FAKE_OK;
}

enum {
	FIELD_MEMORY_TEMP = 82,
	FIELD_ENERGY = 83,
	FIELD_POWER_AVERAGE = 185,
	FIELD_POWER_INSTANT = 186,
	FIELD_LIMIT_MIN = 187,
	FIELD_LIMIT_MAX = 188,
	FIELD_LIMIT_DEFAULT = 189,
	FIELD_LIMIT_NOW = 190,
	FIELD_ENERGY_SCOPED = 191,
	FIELD_LIMIT_REQUESTED = 192,
};

static uint32_t field_u32(struct fake_field *field, uint32_t value)
{
	field->value_type = 1;
	field->value.u32 = value;
	return FAKE_OK;
}

static uint32_t field_energy(const struct fake_gpu *gpu, struct fake_field *field,
			     enum fake_scope scope, int64_t t_ns)
{
	if (!gpu->sensors[FAKE_SENSOR_COUNTER][scope].present)
		return FAKE_NOT_SUPPORTED;
	field->value_type = 3;
	field->value.u64 = fake_counter_mj(gpu, scope, t_ns);
	return FAKE_OK;
}

static uint32_t field_power(const struct fake_gpu *gpu, struct fake_field *field,
			    enum fake_sensor which, int64_t t_ns)
{
	const struct fake_sensor_spec *sensor = &gpu->sensors[which][field->scope];

	if (!sensor->present)
		return FAKE_NOT_SUPPORTED;
	return field_u32(field, fake_power_mw(gpu, sensor, (enum fake_scope)field->scope, t_ns));
}

static uint32_t field_value(struct fake_gpu *gpu, struct fake_field *field, int64_t t_ns)
{
	const char *value = NULL;

	if (fake_is_scripted(gpu)) {
		char key[FAKE_SYMBOL_SIZE];
		int rule;

		snprintf(key, sizeof(key), "field:%u:%u", field->field, field->scope);
		rule = fake_named_rule(gpu, key, t_ns);
		if (rule)
			return (uint32_t)rule;
		value = fake_value(gpu, key);
	}
	if (value) {
		field->value_type = value[0] == '-' ? 5 : 3;
		field->value.u64 = strtoull(value, NULL, 0);
		return FAKE_OK;
	}
	if (field->scope >= FAKE_SCOPES)
		return FAKE_INVALID_ARGUMENT;
	switch (field->field) {
	case FIELD_MEMORY_TEMP:
		if (!gpu->memory_temperature)
			return FAKE_NOT_SUPPORTED;
		return field_u32(field, gpu->memory_temperature);
	case FIELD_ENERGY:
		return field_energy(gpu, field, FAKE_SCOPE_GPU, t_ns);
	case FIELD_ENERGY_SCOPED:
		return field_energy(gpu, field, (enum fake_scope)field->scope, t_ns);
	case FIELD_POWER_AVERAGE:
		return field_power(gpu, field, FAKE_SENSOR_AVERAGE, t_ns);
	case FIELD_POWER_INSTANT:
		return field_power(gpu, field, FAKE_SENSOR_INSTANT, t_ns);
	case FIELD_LIMIT_MIN:
		return field_u32(field, gpu->limit_min_mw);
	case FIELD_LIMIT_MAX:
		return field_u32(field, gpu->limit_max_mw);
	case FIELD_LIMIT_DEFAULT:
		return field_u32(field, gpu->limit_default_mw);
	case FIELD_LIMIT_NOW:
	case FIELD_LIMIT_REQUESTED:
		return field_u32(field, gpu->limit_mw);
	default:
		return FAKE_NOT_SUPPORTED;
	}
}

FAKE_API int nvmlDeviceGetFieldValues(void *device, int count, struct fake_field *values)
{
	int64_t now_ns;

	FAKE_ENTER_DEVICE(device);
	if (count < 0 || !values)
		return FAKE_INVALID_ARGUMENT;
	now_ns = fake_now_ns();
	for (int i = 0; i < count; i++) {
		values[i].timestamp_us = (int64_t)fake_utc_us(now_ns);
		values[i].latency_us = 0;
		values[i].answer = field_value(gpu, &values[i], now_ns);
	}
	return FAKE_OK;
}

enum { SAMPLES_KEPT = 120, SAMPLE_TOTAL_POWER = 0 };

FAKE_API int nvmlDeviceGetSamples(void *device, int type, unsigned long long last_seen_us,
				  int *value_type, unsigned *count, struct fake_sample *samples)
{
	const struct fake_sensor_spec *sensor;
	int64_t step_ns, now_ns;
	unsigned n = 0;

	FAKE_ENTER_DEVICE(device);
	sensor = &gpu->sensors[FAKE_SENSOR_USAGE][FAKE_SCOPE_GPU];
	if (type != SAMPLE_TOTAL_POWER || !sensor->present || sensor->update_ns <= 0)
		return FAKE_NOT_SUPPORTED;
	*value_type = 1;
	if (!samples) {
		*count = SAMPLES_KEPT;
		return FAKE_OK;
	}
	step_ns = sensor->update_ns;
	now_ns = fake_now_ns();
	now_ns -= now_ns % step_ns;
	for (int64_t back = SAMPLES_KEPT - 1; back >= 0 && n < *count; back--) {
		int64_t t_ns = now_ns - back * step_ns;

		if (t_ns < 0 || fake_utc_us(t_ns) <= last_seen_us)
			continue;
		samples[n].timestamp_us = fake_utc_us(t_ns);
		samples[n++].value.u32 = fake_power_mw(gpu, sensor, FAKE_SCOPE_GPU, t_ns);
	}
	*count = n;
	return n ? FAKE_OK : FAKE_NOT_FOUND;
}
