/* SPDX-License-Identifier: MIT */
/* The fake's entry points whose answers are in the script word for word: `value KEY …`. A GPU without
 * that line does not support the function. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_state.h"

/* The i-th number of a value, or 0. */
static unsigned long long number_at(const char *text, unsigned i)
{
	char *end;
	unsigned long long value = 0;

	for (unsigned n = 0; n <= i; n++) {
		value = strtoull(text, &end, 0);
		if (end == text)
			return 0;
		text = end;
	}
	return value;
}

static const char *value_of(const struct fake_gpu *gpu, const char *function, int n, unsigned a,
			    unsigned b, unsigned c)
{
	char key[FAKE_SYMBOL_SIZE];
	const unsigned args[] = {a, b, c};
	int len = snprintf(key, sizeof(key), "%s", function);

	for (int i = 0; i < n; i++)
		len += snprintf(key + len, sizeof(key) - (size_t)len, ":%u", args[i]);
	return fake_value(gpu, key);
}

static int give_words(const struct fake_gpu *gpu, const char *function, unsigned *const to[],
		      unsigned n)
{
	const char *text = fake_value(gpu, function);

	if (!text)
		return FAKE_NOT_SUPPORTED;
	for (unsigned i = 0; i < n; i++)
		*to[i] = (unsigned)number_at(text, i);
	return FAKE_OK;
}

static int give_long(const char *text, unsigned long long *to)
{
	if (!text)
		return FAKE_NOT_SUPPORTED;
	*to = strtoull(text, NULL, 0);
	return FAKE_OK;
}

/* ---- Whole families ---- */

#define TEXT(name)                                                                  \
	FAKE_API int name(void *device, char *text, unsigned length);               \
	FAKE_API int name(void *device, char *text, unsigned length)                \
	{                                                                           \
		const char *value;                                                  \
		FAKE_ENTER_DEVICE(device);                                          \
		value = fake_value(gpu, __func__);                                  \
		return value ? fake_copy(text, length, value) : FAKE_NOT_SUPPORTED; \
	}

#define WORD(name)                                       \
	FAKE_API int name(void *device, unsigned *a);    \
	FAKE_API int name(void *device, unsigned *a)     \
	{                                                \
		unsigned *const to[] = {a};              \
		FAKE_ENTER_DEVICE(device);               \
		return give_words(gpu, __func__, to, 1); \
	}

#define TWO_WORDS(name)                                            \
	FAKE_API int name(void *device, unsigned *a, unsigned *b); \
	FAKE_API int name(void *device, unsigned *a, unsigned *b)  \
	{                                                          \
		unsigned *const to[] = {a, b};                     \
		FAKE_ENTER_DEVICE(device);                         \
		return give_words(gpu, __func__, to, 2);           \
	}

#define LONG(name)                                                  \
	FAKE_API int name(void *device, unsigned long long *value); \
	FAKE_API int name(void *device, unsigned long long *value)  \
	{                                                           \
		FAKE_ENTER_DEVICE(device);                          \
		return give_long(fake_value(gpu, __func__), value); \
	}

#define BY_TYPE(name)                                                \
	FAKE_API int name(void *device, unsigned type, unsigned *a); \
	FAKE_API int name(void *device, unsigned type, unsigned *a)  \
	{                                                            \
		const char *value;                                   \
		FAKE_ENTER_DEVICE(device);                           \
		value = value_of(gpu, __func__, 1, type, 0, 0);      \
		if (!value)                                          \
			return FAKE_NOT_SUPPORTED;                   \
		*a = (unsigned)number_at(value, 0);                  \
		return FAKE_OK;                                      \
	}

#define VERSIONED(name)                                                 \
	FAKE_API int name(void *device, struct fake_versioned *answer); \
	FAKE_API int name(void *device, struct fake_versioned *answer)  \
	{                                                               \
		const char *value;                                      \
		FAKE_ENTER_DEVICE(device);                              \
		if (answer->version != (sizeof(*answer) | 1u << 24))    \
			return FAKE_VERSION_MISMATCH;                   \
		value = fake_value(gpu, __func__);                      \
		if (!value)                                             \
			return FAKE_NOT_SUPPORTED;                      \
		answer->value = (int32_t)strtol(value, NULL, 0);        \
		return FAKE_OK;                                         \
	}

TEXT(nvmlDeviceGetVbiosVersion)
TEXT(nvmlDeviceGetInforomImageVersion)
WORD(nvmlDeviceGetDisplayActive)
WORD(nvmlDeviceGetDisplayMode)
WORD(nvmlDeviceGetCurrPcieLinkGeneration)
WORD(nvmlDeviceGetMaxPcieLinkGeneration)
WORD(nvmlDeviceGetGpuMaxPcieLinkGeneration)
WORD(nvmlDeviceGetCurrPcieLinkWidth)
WORD(nvmlDeviceGetMaxPcieLinkWidth)
WORD(nvmlDeviceGetAccountingMode)
WORD(nvmlDeviceGetAccountingBufferSize)
WORD(nvmlDeviceGetModuleId)
WORD(nvmlDeviceGetC2cModeInfoV)
WORD(nvmlDeviceGetGpuInstanceId)
WORD(nvmlDeviceGetComputeInstanceId)
TWO_WORDS(nvmlDeviceGetEccMode)
TWO_WORDS(nvmlDeviceGetGspFirmwareMode)
TWO_WORDS(nvmlDeviceGetJpgUtilization)
TWO_WORDS(nvmlDeviceGetOfaUtilization)
LONG(nvmlDeviceGetSupportedClocksEventReasons)
LONG(nvmlDeviceGetSupportedClocksThrottleReasons)
BY_TYPE(nvmlDeviceGetApplicationsClock)
BY_TYPE(nvmlDeviceGetDefaultApplicationsClock)
VERSIONED(nvmlDeviceGetMarginTemperature)
VERSIONED(nvmlDeviceGetAddressingMode)

/* ---- Single ones ---- */

FAKE_API int nvmlSystemGetProcessName(unsigned pid, char *name, unsigned length);
FAKE_API int nvmlDeviceGetInforomVersion(void *device, unsigned object, char *text,
					 unsigned length);
FAKE_API int nvmlDeviceGetEncoderStats(void *device, unsigned *sessions, unsigned *fps,
				       unsigned *latency_us);
FAKE_API int nvmlDeviceGetRemappedRows(void *device, unsigned *corrected, unsigned *uncorrected,
				       unsigned *pending, unsigned *failed);
FAKE_API int nvmlDeviceGetRowRemapperHistogram(void *device, unsigned banks[5]);
FAKE_API int nvmlDeviceGetTotalEccErrors(void *device, unsigned type, unsigned counter,
					 unsigned long long *errors);
FAKE_API int nvmlDeviceGetMemoryErrorCounter(void *device, unsigned type, unsigned counter,
					     unsigned place, unsigned long long *errors);
FAKE_API int nvmlDeviceGetConfComputeProtectedMemoryUsage(void *device, struct fake_memory *memory);
FAKE_API int nvmlDeviceGetAttributes_v2(void *device, struct fake_attributes *attributes);

FAKE_API int nvmlSystemGetProcessName(unsigned pid, char *name, unsigned length)
{
	FAKE_ENTER();
	for (size_t i = 0; i < fake_script.n_names; i++)
		if (fake_script.names[i].pid == pid)
			return fake_copy(name, length, fake_script.names[i].name);
	return FAKE_NOT_FOUND;
}

FAKE_API int nvmlDeviceGetInforomVersion(void *device, unsigned object, char *text, unsigned length)
{
	const char *value;

	FAKE_ENTER_DEVICE(device);
	value = value_of(gpu, __func__, 1, object, 0, 0);
	return value ? fake_copy(text, length, value) : FAKE_NOT_SUPPORTED;
}

FAKE_API int nvmlDeviceGetEncoderStats(void *device, unsigned *sessions, unsigned *fps,
				       unsigned *latency_us)
{
	unsigned *const to[] = {sessions, fps, latency_us};

	FAKE_ENTER_DEVICE(device);
	return give_words(gpu, __func__, to, 3);
}

FAKE_API int nvmlDeviceGetRemappedRows(void *device, unsigned *corrected, unsigned *uncorrected,
				       unsigned *pending, unsigned *failed)
{
	unsigned *const to[] = {corrected, uncorrected, pending, failed};

	FAKE_ENTER_DEVICE(device);
	return give_words(gpu, __func__, to, 4);
}

FAKE_API int nvmlDeviceGetRowRemapperHistogram(void *device, unsigned banks[5])
{
	unsigned *const to[] = {&banks[0], &banks[1], &banks[2], &banks[3], &banks[4]};

	FAKE_ENTER_DEVICE(device);
	return give_words(gpu, __func__, to, 5);
}

FAKE_API int nvmlDeviceGetTotalEccErrors(void *device, unsigned type, unsigned counter,
					 unsigned long long *errors)
{
	FAKE_ENTER_DEVICE(device);
	return give_long(value_of(gpu, __func__, 2, type, counter, 0), errors);
}

FAKE_API int nvmlDeviceGetMemoryErrorCounter(void *device, unsigned type, unsigned counter,
					     unsigned place, unsigned long long *errors)
{
	FAKE_ENTER_DEVICE(device);
	return give_long(value_of(gpu, __func__, 3, type, counter, place), errors);
}

FAKE_API int nvmlDeviceGetConfComputeProtectedMemoryUsage(void *device, struct fake_memory *memory)
{
	const char *value;

	FAKE_ENTER_DEVICE(device);
	value = fake_value(gpu, __func__);
	if (!value)
		return FAKE_NOT_SUPPORTED;
	memory->total = number_at(value, 0) << 20;
	memory->used = number_at(value, 1) << 20;
	memory->free = number_at(value, 2) << 20;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetAttributes_v2(void *device, struct fake_attributes *attributes)
{
	const char *value;

	FAKE_ENTER_DEVICE(device);
	value = fake_value(gpu, __func__);
	if (!value)
		return FAKE_NOT_SUPPORTED;
	memset(attributes, 0, sizeof(*attributes));
	attributes->multiprocessors = (uint32_t)number_at(value, 0);
	value = fake_value(gpu, "slices");
	if (value)
		attributes->gpu_slices = (uint32_t)number_at(value, 0);
	attributes->memory_mb = gpu->memory_total >> 20;
	return FAKE_OK;
}
