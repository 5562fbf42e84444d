/* SPDX-License-Identifier: MIT */
/* What one GPU can measure: asks for everything once and keeps what answers. */
#include "sensors/nvml.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "energy/sensor_class.h"

/* NVML's counter shows something new about ten times a second (facts/carbon-and-ml.md 5.2). */
#define COUNTER_UPDATE_NS (100 * WTL_NS_PER_MS)
/* No GPU board draws more (judgement; the largest of 2026 are rated 1.4 kW). */
#define MAX_UW UINT64_C(3000000000)

#define LIMIT_UNKNOWN_UW UINT64_C(450000000)

/* Relative standard uncertainty of an uncalibrated card (facts/carbon-and-ml.md 5.5). */
#define GAIN_PPM 50000

enum { ATTEMPTS = 3 };

/* What is asked for, the better one first within each scope. */
static const struct {
	uint32_t field;
	uint32_t scope;
} wanted[] = {
	{WTL_NVML_FIELD_ENERGY, WTL_NVML_SCOPE_GPU},
	{WTL_NVML_FIELD_POWER_INSTANT, WTL_NVML_SCOPE_GPU},
	{WTL_NVML_FIELD_POWER_AVERAGE, WTL_NVML_SCOPE_GPU},
	{WTL_NVML_FIELD_POWER_INSTANT, WTL_NVML_SCOPE_MEMORY},
	{WTL_NVML_FIELD_POWER_AVERAGE, WTL_NVML_SCOPE_MEMORY},
	{WTL_NVML_FIELD_POWER_INSTANT, WTL_NVML_SCOPE_MODULE},
	{WTL_NVML_FIELD_POWER_AVERAGE, WTL_NVML_SCOPE_MODULE},
};

enum { N_WANTED = sizeof(wanted) / sizeof(wanted[0]) };

/* One GPU on its way into the catalog. */
struct probe {
	struct wtl_nvml *nvml;
	struct wtl_nvml_gpu *gpu;
	struct wtl_catalog *catalog;
	char domain[WTL_NAME_SIZE - sizeof("-memory")];
	char device[64];
	enum wtl_gpu_arch arch;
	int fields_code; /* of the whole call */
	struct wtl_nvml_field fields[N_WANTED];
	int refusal; /* the most telling answer of those that gave no figure */
};

static bool is_transient(int code)
{
	return code < 0 || code == WTL_NVML_TIMEOUT || code == WTL_NVML_NO_DATA ||
	       code == WTL_NVML_NOT_READY || code == WTL_NVML_UNKNOWN;
}

/* A refusal for want of permission or a lost device says more than "not supported". */
static void note_refusal(struct probe *probe, int code)
{
	if (probe->refusal == 0 || wtl_nvml_status(probe->refusal) == WATTLE_STATUS_ABSENT)
		probe->refusal = code;
}

/* ---- Identity ---- */

static enum wtl_gpu_arch arch_from_number(uint32_t number)
{
	/* NVML's numbers; its Ampere (7) may be GA100 or GA10x, which have different sensors. */
	static const enum wtl_gpu_arch archs[] = {
		[2] = WTL_GPU_ARCH_KEPLER, [3] = WTL_GPU_ARCH_MAXWELL,	  [4] = WTL_GPU_ARCH_PASCAL,
		[5] = WTL_GPU_ARCH_VOLTA,  [6] = WTL_GPU_ARCH_TURING,	  [8] = WTL_GPU_ARCH_ADA,
		[9] = WTL_GPU_ARCH_HOPPER, [10] = WTL_GPU_ARCH_BLACKWELL,
	};

	return number < sizeof(archs) / sizeof(archs[0]) ? archs[number] : WTL_GPU_ARCH_UNKNOWN;
}

static enum wtl_gpu_arch read_arch(struct wtl_nvml *nvml, uint64_t handle)
{
	int32_t major = 0, minor = 0;
	uint32_t number = 0;
	struct wtl_lib_arg capability[] = {
		{.word = handle},
		{.memory = &major, .size = sizeof(major)},
		{.memory = &minor, .size = sizeof(minor)},
	};
	struct wtl_lib_arg architecture[] = {
		{.word = handle},
		{.memory = &number, .size = sizeof(number)},
	};
	enum wtl_gpu_arch arch;

	if (wtl_nvml_call(&nvml->lib, WTL_NVML_CAPABILITY, capability) == WTL_NVML_OK) {
		arch = wtl_gpu_arch_from_capability(major, minor);
		if (arch != WTL_GPU_ARCH_UNKNOWN)
			return arch;
	}
	if (wtl_nvml_call(&nvml->lib, WTL_NVML_ARCHITECTURE, architecture) == WTL_NVML_OK)
		return arch_from_number(number);
	return WTL_GPU_ARCH_UNKNOWN;
}

/* ---- Asking ---- */

static bool any_transient(const struct wtl_nvml_field fields[])
{
	for (size_t i = 0; i < N_WANTED; i++)
		if (is_transient(wtl_nvml_field_code(&fields[i])))
			return true;
	return false;
}

static void ask_fields(struct probe *probe)
{
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		struct wtl_lib_arg args[] = {
			{.word = probe->gpu->handle},
			{.word = N_WANTED},
			{.memory = probe->fields, .size = sizeof(probe->fields)},
		};

		memset(probe->fields, 0, sizeof(probe->fields));
		for (size_t i = 0; i < N_WANTED; i++) {
			probe->fields[i].field = wanted[i].field;
			probe->fields[i].scope = wanted[i].scope;
		}
		probe->fields_code = wtl_nvml_call(&probe->nvml->lib, WTL_NVML_FIELD_VALUES, args);
		if (probe->fields_code == WTL_NVML_OK ? !any_transient(probe->fields)
						      : !is_transient(probe->fields_code))
			return;
	}
}

/*
 * Does a field give a figure? A power of 0 is what some drivers answer for what they cannot
 * measure: no board that answers draws nothing.
 */
static bool field_works(struct probe *probe, uint32_t id, uint32_t scope)
{
	for (size_t i = 0; i < N_WANTED; i++) {
		const struct wtl_nvml_field *field = &probe->fields[i];
		uint64_t value;

		if (wanted[i].field != id || wanted[i].scope != scope)
			continue;
		if (probe->fields_code != WTL_NVML_OK || field->code != WTL_NVML_OK) {
			if (scope == WTL_NVML_SCOPE_GPU)
				note_refusal(probe, probe->fields_code
							    ? probe->fields_code
							    : wtl_nvml_field_code(field));
			return false;
		}
		return wtl_nvml_field_u64(field, &value) &&
		       (value > 0 || id == WTL_NVML_FIELD_ENERGY);
	}
	return false;
}

/* Does one of the functions of a single purpose give a figure? */
static bool function_works(struct probe *probe, enum wtl_nvml_function function)
{
	int code = WTL_NVML_UNKNOWN;

	for (int attempt = 0; attempt < ATTEMPTS && is_transient(code); attempt++) {
		uint64_t value = 0;
		struct wtl_lib_arg args[] = {
			{.word = probe->gpu->handle},
			{.memory = &value,
			 .size = function == WTL_NVML_TOTAL_ENERGY ? sizeof(uint64_t)
								   : sizeof(uint32_t)},
		};

		code = wtl_nvml_call(&probe->nvml->lib, function, args);
		if (code == WTL_NVML_OK)
			return value > 0 || function == WTL_NVML_TOTAL_ENERGY;
	}
	note_refusal(probe, code);
	return false;
}

/* ---- Channels ---- */

static int add(struct probe *probe, struct wtl_channel *channel, const struct wtl_nvml_channel *how)
{
	struct wtl_nvml_gpu *gpu = probe->gpu;
	int rc;

	wtl_text_copy(channel->device, sizeof(channel->device), probe->device);
	wtl_text_copy(channel->serial, sizeof(channel->serial), probe->gpu->uuid);
	channel->quantity = how->quantity;
	channel->unit = WTL_UNIT_MILLI;
	channel->gain_ppm = GAIN_PPM;
	channel->offset_uw = wtl_sensor_zero_uw(probe->arch);
	rc = wtl_catalog_add(probe->catalog, channel);
	if (rc < 0)
		return rc;
	gpu->channels[gpu->n_channels] = *how;
	gpu->channels[gpu->n_channels++].answered = !gpu->is_late;
	return 0;
}

/* By which call the counter answers; false: by none. */
static bool energy_works(struct probe *probe, enum wtl_nvml_via *ret_via)
{
	if (field_works(probe, WTL_NVML_FIELD_ENERGY, WTL_NVML_SCOPE_GPU))
		*ret_via = WTL_NVML_VIA_FIELD;
	else if (function_works(probe, WTL_NVML_TOTAL_ENERGY))
		*ret_via = WTL_NVML_VIA_TOTAL_ENERGY;
	else
		return false;
	return true;
}

static int add_energy(struct probe *probe, enum wtl_nvml_via via)
{
	struct wtl_channel channel = {
		.kind = WATTLE_KIND_GPU,
		.in_total = true,
		.method = WATTLE_METHOD_COUNTER,
		.update_ns = COUNTER_UPDATE_NS,
		.max_uw = MAX_UW,
	};
	const struct wtl_nvml_channel how = {
		.via = via,
		.field = WTL_NVML_FIELD_ENERGY,
		.scope = WTL_NVML_SCOPE_GPU,
		.quantity = WTL_QUANTITY_ENERGY,
	};

	wtl_text_copy(channel.domain, sizeof(channel.domain), probe->domain);
	return add(probe, &channel, &how);
}

/* Instant before average power: an average over a second loses short loads. */
static bool power_field(struct probe *probe, uint32_t scope, struct wtl_nvml_channel *how)
{
	static const uint32_t fields[] = {WTL_NVML_FIELD_POWER_INSTANT,
					  WTL_NVML_FIELD_POWER_AVERAGE};
	/* Beside a counter it is only compared with it, over long times: better by the average,
	 * which misses nothing, than by an instant that may be a quarter of the time. */
	bool average_first = scope == WTL_NVML_SCOPE_GPU && probe->gpu->n_channels > 0;

	how->scope = scope;
	how->via = WTL_NVML_VIA_FIELD;
	for (unsigned i = 0; i < 2; i++) {
		how->field = fields[average_first ? 1 - i : i];
		if (field_works(probe, how->field, scope))
			return true;
	}
	return false;
}

/* What the card may draw, in force; a guess where it does not say (judgement: few are rated more). */
static uint64_t read_limit_uw(struct probe *probe)
{
	uint32_t limit_mw = 0;
	struct wtl_lib_arg args[] = {
		{.word = probe->gpu->handle},
		{.memory = &limit_mw, .size = sizeof(limit_mw)},
	};

	if (wtl_nvml_call(&probe->nvml->lib, WTL_NVML_LIMIT_ENFORCED, args) != WTL_NVML_OK ||
	    limit_mw == 0)
		return LIMIT_UNKNOWN_UW;
	return UINT64_C(1000) * limit_mw;
}

static int add_power(struct probe *probe, struct wtl_channel *channel,
		     const struct wtl_nvml_channel *how)
{
	enum wtl_power_field field = WTL_POWER_DRAW;

	if (how->via == WTL_NVML_VIA_FIELD)
		field = how->field == WTL_NVML_FIELD_POWER_INSTANT ? WTL_POWER_INSTANT
								   : WTL_POWER_AVERAGE;
	channel->method = WATTLE_METHOD_INTEGRATED;
	channel->class = wtl_sensor_class_find(probe->arch, probe->nvml->lib.driver_major, field);
	channel->update_ns = channel->class->update_ns;
	channel->max_uw = read_limit_uw(probe);
	return add(probe, channel, how);
}

/*
 * Where the GPU's scope refuses but the module's answers (GH200), nobody says what
 * nvmlDeviceGetPowerUsage stands for: it could be the module with its CPU, so it is left alone.
 */
static int add_gpu_power(struct probe *probe, bool has_module)
{
	struct wtl_channel channel = {.kind = WATTLE_KIND_GPU, .in_total = true};
	struct wtl_nvml_channel how = {.quantity = WTL_QUANTITY_POWER};

	if (!power_field(probe, WTL_NVML_SCOPE_GPU, &how)) {
		if (has_module || !function_works(probe, WTL_NVML_POWER_USAGE))
			return 0;
		how.via = WTL_NVML_VIA_POWER_USAGE;
	}
	wtl_text_copy(channel.domain, sizeof(channel.domain), probe->domain);
	return add_power(probe, &channel, &how);
}

static int add_memory_power(struct probe *probe)
{
	struct wtl_channel channel = {.kind = WATTLE_KIND_GPU_MEMORY};
	struct wtl_nvml_channel how = {.quantity = WTL_QUANTITY_POWER};

	if (!power_field(probe, WTL_NVML_SCOPE_MEMORY, &how))
		return 0;
	snprintf(channel.domain, sizeof(channel.domain), "%s-memory", probe->domain);
	wtl_text_copy(channel.inside, sizeof(channel.inside), probe->domain);
	return add_power(probe, &channel, &how);
}

/* A module holds a CPU that may be measured elsewhere: a second opinion, in no total. */
static int add_module_power(struct probe *probe, const struct wtl_nvml_channel *how)
{
	struct wtl_channel channel = {.kind = WATTLE_KIND_MODULE};

	snprintf(channel.domain, sizeof(channel.domain), "%s-module", probe->domain);
	return add_power(probe, &channel, how);
}

/* ---- What is missing ---- */

static int miss(struct probe *probe, bool has_module)
{
	int refusal = probe->refusal ? probe->refusal : WTL_NVML_NOT_SUPPORTED;
	enum wattle_status status = wtl_nvml_status(refusal);

	if (status != WATTLE_STATUS_ABSENT)
		return wtl_catalog_missf(probe->catalog, WATTLE_KIND_GPU, probe->domain, status,
					 wtl_nvml_remedy(refusal), "%s: %s", probe->device,
					 wtl_nvml_reason(refusal));
	if (has_module)
		return wtl_catalog_missf(probe->catalog, WATTLE_KIND_GPU, probe->domain, status, "",
					 "%s measures its module only, which holds a CPU too: see "
					 "%s-module",
					 probe->device, probe->domain);
	return wtl_catalog_missf(probe->catalog, WATTLE_KIND_GPU, probe->domain, status,
				 "a virtual GPU has no sensor of its own: measure on its host",
				 "%s gives neither energy nor power through NVML", probe->device);
}

int wtl_nvml_probe(struct wtl_nvml *nvml, struct wtl_nvml_gpu *gpu, unsigned number,
		   struct wtl_catalog *catalog)
{
	struct probe probe = {.nvml = nvml, .gpu = gpu, .catalog = catalog};
	struct wtl_nvml_channel module = {.quantity = WTL_QUANTITY_POWER};
	enum wtl_nvml_via via;
	bool has_module;
	int rc = 0;

	snprintf(probe.domain, sizeof(probe.domain), "gpu-%u", number);
	wtl_nvml_device_text(&nvml->lib, WTL_NVML_NAME, gpu->handle, probe.device,
			     sizeof(probe.device));
	if (!probe.device[0])
		wtl_text_copy(probe.device, sizeof(probe.device), "NVIDIA GPU");
	probe.arch = read_arch(nvml, gpu->handle);
	ask_fields(&probe);
	has_module = power_field(&probe, WTL_NVML_SCOPE_MODULE, &module);

	if (energy_works(&probe, &via))
		rc = add_energy(&probe, via);
	if (rc == 0)
		rc = add_gpu_power(&probe, has_module);
	if (rc == 0 && !gpu->n_channels)
		rc = miss(&probe, has_module);
	if (rc == 0)
		rc = add_memory_power(&probe);
	if (rc == 0 && has_module)
		rc = add_module_power(&probe, &module);
	return rc;
}

/* ---- GPUs that sleep ---- */

int wtl_nvml_declare(struct wtl_nvml_gpu *gpu, unsigned number, const char *device,
		     struct wtl_catalog *catalog)
{
	struct probe probe = {.gpu = gpu, .catalog = catalog};

	snprintf(probe.domain, sizeof(probe.domain), "gpu-%u", number);
	wtl_text_copy(probe.device, sizeof(probe.device), device);
	return add_energy(&probe, WTL_NVML_VIA_FIELD);
}

void wtl_nvml_probe_late(struct wtl_nvml *nvml, struct wtl_nvml_gpu *gpu)
{
	struct probe probe = {.nvml = nvml, .gpu = gpu};

	ask_fields(&probe);
	/* Where neither answers, reading the field tells why. */
	(void)energy_works(&probe, &gpu->channels[0].via);
}
