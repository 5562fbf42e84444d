/* SPDX-License-Identifier: MIT */
/*
 * NVIDIA GPUs through NVML: reading what nvml_probe.c found, and getting over a driver or a GPU
 * that goes away and comes back, or that sleeps. All of a GPU that sleeps is left alone, and NVML is
 * loaded when the first one wakes: the only reading that allocates.
 *
 * Readings carry the time of the call. NVML stamps fields with a time of its own, but on which
 * clock is documented nowhere, so it is not used.
 */
#include "sensors/nvml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "energy/units.h"
#include "gpu/pci.h"

/* Most power sensors update every 100 ms, some every 20 (facts/carbon-and-ml.md 5.1): asking more often
 * than this costs without telling better when they did. Not 20 ms, so that ticks on a grid of whole ms
 * are due or not whatever their jitter, and a tape's replay asks what was asked. */
#define POWER_PERIOD_NS (17500 * (WTL_NS_PER_MS / 1000))

#define SLEEP_CHECK_NS (1 * WTL_NS_PER_S)
/* What a GPU draws between waking and its first reading is lost: so it is looked for more often. Less
 * than 100 ms for the same reason as above. */
#define WAKE_CHECK_NS  (95 * WTL_NS_PER_MS)
#define LOST_RETRY_NS  (1 * WTL_NS_PER_S)
#define DENIED_WAIT_NS (1 * WTL_NS_PER_S)
#define REFUSE_WAIT_NS (60 * WTL_NS_PER_S) /* "not supported" of what was: hardly ever changes */
#define INIT_WAIT_NS   (1 * WTL_NS_PER_S)
#define INIT_WAIT_MAX  (60 * WTL_NS_PER_S)

/* ---- Going and coming back ---- */

static void lose(struct wtl_nvml_gpu *gpu, int64_t now_ns)
{
	gpu->handle = 0;
	gpu->retry_ns = now_ns + LOST_RETRY_NS;
}

/* Every handle is void: NVML has to be initialised anew. */
static void lose_all(struct wtl_nvml *nvml, int64_t now_ns)
{
	nvml->broken = true;
	nvml->init_ns = now_ns + nvml->init_wait_ns;
	for (size_t i = 0; i < nvml->n_gpus; i++)
		lose(&nvml->gpus[i], now_ns);
}

static bool is_any_left(const struct wtl_nvml *nvml)
{
	for (size_t i = 0; i < nvml->n_gpus; i++)
		if (nvml->gpus[i].handle)
			return true;
	return false;
}

/* The library is not loaded yet where every GPU slept when the meter opened. */
static int start_anew(struct wtl_nvml *nvml)
{
	int rc = 0;

	wtl_nvml_lib_stop(&nvml->lib);
	if (nvml->lib.handle < 0)
		rc = wtl_nvml_lib_load(&nvml->lib, nvml->path, NULL);
	return rc < 0 ? rc : wtl_nvml_lib_start(&nvml->lib);
}

static bool recover(struct wtl_nvml *nvml, int64_t now_ns)
{
	if (!nvml->broken)
		return true;
	if (now_ns < nvml->init_ns)
		return false;
	nvml->trouble = start_anew(nvml);
	nvml->broken = nvml->trouble != WTL_NVML_OK;
	nvml->init_wait_ns *= 2;
	if (nvml->init_wait_ns > INIT_WAIT_MAX)
		nvml->init_wait_ns = INIT_WAIT_MAX;
	nvml->init_ns = now_ns + nvml->init_wait_ns;
	return !nvml->broken;
}

/* Is the GPU behind the handle the one that was lost? Another card may sit in its slot. */
static int check_uuid(struct wtl_nvml *nvml, struct wtl_nvml_gpu *gpu, uint64_t handle)
{
	char uuid[WTL_NVML_UUID_SIZE];
	int code = wtl_nvml_device_text(&nvml->lib, WTL_NVML_UUID, handle, uuid, sizeof(uuid));

	if (code == WTL_NVML_OK && gpu->uuid[0] && strcmp(uuid, gpu->uuid) != 0)
		return WTL_NVML_GPU_NOT_FOUND;
	if (code == WTL_NVML_OK && gpu->is_late)
		wtl_text_copy(gpu->uuid, sizeof(gpu->uuid), uuid);
	return code;
}

static void take_back(struct wtl_nvml *nvml, struct wtl_nvml_gpu *gpu, uint64_t handle)
{
	gpu->handle = handle;
	nvml->init_wait_ns = INIT_WAIT_NS;
	if (gpu->is_late)
		wtl_nvml_probe_late(nvml, gpu);
	gpu->is_late = false;
	for (size_t i = 0; i < gpu->n_channels; i++)
		gpu->channels[i].next_ns = 0;
}

/* Looks for a GPU that was lost, or that woke up, now and then. Does it have a handle (again)? */
static bool find_again(struct wtl_nvml *nvml, struct wtl_nvml_gpu *gpu, int64_t *t_ns)
{
	int64_t now_ns = *t_ns;
	uint64_t handle = 0;
	int code;

	if (now_ns < gpu->retry_ns)
		return false;
	gpu->retry_ns = now_ns + LOST_RETRY_NS;
	if (!recover(nvml, now_ns)) {
		if (nvml->trouble != WTL_NVML_OK)
			gpu->trouble = nvml->trouble;
		return false;
	}
	if (gpu->bus_id[0])
		code = wtl_nvml_handle_by_text(&nvml->lib, WTL_NVML_BY_BUS_ID, gpu->bus_id,
					       &handle);
	else
		code = wtl_nvml_handle_by_text(&nvml->lib, WTL_NVML_BY_UUID, gpu->uuid, &handle);
	if (code == WTL_NVML_OK)
		code = check_uuid(nvml, gpu, handle);
	gpu->trouble = code;
	if (code == WTL_NVML_OK) {
		take_back(nvml, gpu, handle);
		*t_ns = wtl_io_mono_ns(nvml->io); /* the search is not a part of the reading */
		return true;
	}
	/* While other GPUs work, NVML stays initialised for them. */
	if (code == WTL_NVML_UNINITIALIZED || code == WTL_NVML_DRIVER_NOT_LOADED ||
	    !is_any_left(nvml))
		lose_all(nvml, now_ns);
	return false;
}

/* Asks the kernel, not the GPU. What cannot be told counts as awake. */
static bool is_asleep(struct wtl_nvml_gpu *gpu, int64_t now_ns)
{
	if (!gpu->power.io)
		return false;
	if (now_ns < gpu->power_next_ns)
		return gpu->asleep;
	gpu->asleep = wtl_nvml_pci_asleep(&gpu->power);
	gpu->power_next_ns = now_ns + (gpu->asleep ? WAKE_CHECK_NS : SLEEP_CHECK_NS);
	return gpu->asleep;
}

/* ---- Reading ---- */

static void set_all(struct wtl_nvml_gpu *gpu, const struct wtl_reading *reading)
{
	for (size_t i = 0; i < gpu->n_channels; i++)
		gpu->channels[i].last = *reading;
}

static void set_gone(struct wtl_nvml_gpu *gpu, int64_t now_ns)
{
	set_all(gpu, &(struct wtl_reading){
			     .t_mono_ns = now_ns, .status = WATTLE_STATUS_GONE, .error = -ENODEV});
}

static const char *or_null(const char *text)
{
	return text[0] ? text : NULL;
}

/* In the words of NVML's code, where it is one. */
static void explain(struct wtl_reading *reading, int code)
{
	if (code <= WTL_NVML_OK)
		return;
	reading->reason = or_null(wtl_nvml_reason(code));
	reading->remedy = or_null(wtl_nvml_remedy(code));
}

static int error_of(int code)
{
	switch (wtl_nvml_status(code)) {
	case WATTLE_STATUS_OK:
		return 0;
	case WATTLE_STATUS_DENIED:
		return -EACCES;
	case WATTLE_STATUS_GONE:
		return -ENODEV;
	case WATTLE_STATUS_ABSENT:
		return -EOPNOTSUPP;
	case WATTLE_STATUS_FAILED:
	case WATTLE_STATUS_STALE:
	case WATTLE_STATUS_GAP:
	case WATTLE_STATUS_ASLEEP:
		break;
	}
	return code == WTL_NVML_TIMEOUT ? -ETIMEDOUT : -WTL_ELIBRARY;
}

/* There is no handle for a GPU that is awake: it was lost, or could never be had. */
static void set_missing(const struct wtl_nvml *nvml, struct wtl_nvml_gpu *gpu, int64_t now_ns)
{
	int code = gpu->trouble ? gpu->trouble : WTL_NVML_UNINITIALIZED;
	struct wtl_reading reading = {.t_mono_ns = now_ns};

	if (!gpu->is_late) {
		set_gone(gpu, now_ns);
		return;
	}
	if (code < 0) { /* not an answer of the GPU: the library is not there */
		reading.status = WATTLE_STATUS_FAILED;
		reading.error = code;
		reading.reason = wtl_nvml_load_reason(code, nvml->path);
		reading.remedy = or_null(wtl_nvml_load_remedy(code, nvml->path));
	} else {
		reading.status = wtl_nvml_gpu_status(code);
		reading.error = error_of(code);
		explain(&reading, code);
	}
	set_all(gpu, &reading);
}

/* One channel's answer. Whether the GPU itself is still there is seen to by its_fate(). */
static void take(struct wtl_nvml_channel *channel, int64_t t0_ns, int64_t t1_ns, int code,
		 uint64_t value)
{
	int error = code < 0 ? code : error_of(code);

	wtl_reading_set(&channel->last, t0_ns, t1_ns, error, value);
	explain(&channel->last, code);
	if (code == WTL_NVML_OK)
		channel->answered = true;
	channel->next_ns = 0;
	switch (wtl_nvml_status(code)) {
	case WATTLE_STATUS_OK:
		if (channel->quantity == WTL_QUANTITY_POWER)
			channel->next_ns = t0_ns + POWER_PERIOD_NS;
		break;
	case WATTLE_STATUS_DENIED:
		channel->next_ns = t1_ns + DENIED_WAIT_NS;
		break;
	case WATTLE_STATUS_ABSENT:
		channel->last.status = WATTLE_STATUS_GONE;
		if (!channel->answered) { /* it was declared, for a GPU that slept */
			channel->last.status = WATTLE_STATUS_ABSENT;
			channel->last.error = -WTL_ENOCOUNTER;
			channel->last.reason = "this GPU has no energy counter";
			channel->last.remedy = "start wattle while it is awake: then its power "
					       "readings are used";
		}
		channel->next_ns = t1_ns + REFUSE_WAIT_NS;
		break;
	case WATTLE_STATUS_GONE:
	case WATTLE_STATUS_FAILED:
	case WATTLE_STATUS_STALE:
	case WATTLE_STATUS_GAP:
	case WATTLE_STATUS_ASLEEP:
		break;
	}
}

/* Draws the conclusions from a code that concerns the whole GPU or driver. Is the GPU left? */
static bool its_fate(struct wtl_nvml *nvml, struct wtl_nvml_gpu *gpu, int code, int64_t now_ns)
{
	if (code == WTL_NVML_UNINITIALIZED || code == WTL_NVML_DRIVER_NOT_LOADED)
		lose_all(nvml, now_ns);
	else if (code > 0 && wtl_nvml_status(code) == WATTLE_STATUS_GONE)
		lose(gpu, now_ns);
	else
		return true;
	return false;
}

static bool is_due(const struct wtl_nvml_channel *channel, int64_t now_ns)
{
	return now_ns >= channel->next_ns;
}

/* All that is due and a field, with one call. Is the GPU left? */
static bool read_fields(struct wtl_nvml *nvml, struct wtl_nvml_gpu *gpu, int64_t *t_ns)
{
	struct wtl_nvml_field fields[WTL_NVML_CHANNELS_MAX] = {0};
	struct wtl_nvml_channel *asked[WTL_NVML_CHANNELS_MAX];
	struct wtl_lib_arg args[3] = {{.word = gpu->handle}, {.memory = NULL}, {.memory = fields}};
	int64_t before_ns = *t_ns;
	size_t n = 0;
	int whole;

	for (size_t i = 0; i < gpu->n_channels; i++) {
		struct wtl_nvml_channel *channel = &gpu->channels[i];

		if (channel->via != WTL_NVML_VIA_FIELD || !is_due(channel, before_ns))
			continue;
		fields[n].field = channel->field;
		fields[n].scope = channel->scope;
		asked[n++] = channel;
	}
	if (!n)
		return true;
	args[1].word = n;
	args[2].size = n * sizeof(fields[0]);
	whole = wtl_nvml_call(&nvml->lib, WTL_NVML_FIELD_VALUES, args);
	*t_ns = wtl_io_mono_ns(nvml->io);
	for (size_t i = 0; i < n; i++) {
		int code = whole != WTL_NVML_OK ? whole : wtl_nvml_field_code(&fields[i]);
		uint64_t value = 0;

		if (code == WTL_NVML_OK && !wtl_nvml_field_u64(&fields[i], &value))
			code = WTL_NVML_UNKNOWN;
		take(asked[i], before_ns, *t_ns, code, value);
		if (!its_fate(nvml, gpu, code, *t_ns))
			return false;
	}
	return true;
}

/* A channel that has a function of its own. Is the GPU left? */
static bool read_function(struct wtl_nvml *nvml, struct wtl_nvml_gpu *gpu,
			  struct wtl_nvml_channel *channel, int64_t *t_ns)
{
	bool is_energy = channel->via == WTL_NVML_VIA_TOTAL_ENERGY;
	uint64_t energy_mj = 0;
	uint32_t power_mw = 0;
	struct wtl_lib_arg args[] = {
		{.word = gpu->handle},
		{.memory = is_energy ? (void *)&energy_mj : (void *)&power_mw,
		 .size = is_energy ? sizeof(energy_mj) : sizeof(power_mw)},
	};
	int64_t before_ns = *t_ns;
	int code = wtl_nvml_call(&nvml->lib,
				 is_energy ? WTL_NVML_TOTAL_ENERGY : WTL_NVML_POWER_USAGE, args);

	*t_ns = wtl_io_mono_ns(nvml->io);
	take(channel, before_ns, *t_ns, code, is_energy ? energy_mj : power_mw);
	return its_fate(nvml, gpu, code, *t_ns);
}

static bool read_functions(struct wtl_nvml *nvml, struct wtl_nvml_gpu *gpu, int64_t *t_ns)
{
	for (size_t i = 0; i < gpu->n_channels; i++) {
		struct wtl_nvml_channel *channel = &gpu->channels[i];

		if (channel->via == WTL_NVML_VIA_FIELD || !is_due(channel, *t_ns))
			continue;
		if (!read_function(nvml, gpu, channel, t_ns))
			return false;
	}
	return true;
}

static void read_gpu(struct wtl_nvml *nvml, struct wtl_nvml_gpu *gpu, int64_t *t_ns)
{
	if (is_asleep(gpu, *t_ns))
		set_all(gpu,
			&(struct wtl_reading){.t_mono_ns = *t_ns, .status = WATTLE_STATUS_ASLEEP});
	else if (!gpu->handle && !find_again(nvml, gpu, t_ns))
		set_missing(nvml, gpu, *t_ns);
	else if (!read_fields(nvml, gpu, t_ns) || !read_functions(nvml, gpu, t_ns))
		set_gone(gpu, *t_ns);
}

static void nvml_read(void *state, struct wtl_reading readings[])
{
	struct wtl_nvml *nvml = state;
	int64_t t_ns = wtl_io_mono_ns(nvml->io);

	for (size_t i = 0; i < nvml->n_gpus; i++) {
		struct wtl_nvml_gpu *gpu = &nvml->gpus[i];

		if (!gpu->n_channels)
			continue;
		read_gpu(nvml, gpu, &t_ns);
		for (size_t k = 0; k < gpu->n_channels; k++)
			*readings++ = gpu->channels[k].last;
	}
}

/* ---- Opening and closing ---- */

static int nvml_open(void *state, const struct wtl_env *env,
		     const struct wtl_source_options *options, struct wtl_catalog *catalog)
{
	struct wtl_nvml *nvml = state;

	nvml->io = env->io;
	nvml->log = env->log;
	wtl_nvml_lib_init(&nvml->lib, env->io);
	nvml->init_wait_ns = INIT_WAIT_NS;
	return wtl_nvml_find(nvml, options, catalog);
}

static void nvml_close(void *state)
{
	struct wtl_nvml *nvml = state;

	if (!nvml->io)
		return;
	for (size_t i = 0; i < nvml->n_gpus; i++)
		wtl_held_file_close(&nvml->gpus[i].power);
	wtl_nvml_lib_close(&nvml->lib);
	free(nvml->gpus);
	free(nvml->path);
	*nvml = (struct wtl_nvml){0};
}

const struct wtl_source_ops wtl_source_nvml = {
	.name = "nvml",
	.state_size = sizeof(struct wtl_nvml),
	.may_hang = true,
	.open = nvml_open,
	.read = nvml_read,
	.close = nvml_close,
};
