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

/* In MiB: all, used, free. */
#define MEMORY(name)                                                 \
	FAKE_API int name(void *device, struct fake_memory *memory); \
	FAKE_API int name(void *device, struct fake_memory *memory)  \
	{                                                            \
		const char *value;                                   \
		FAKE_ENTER_DEVICE(device);                           \
		value = fake_value(gpu, __func__);                   \
		if (!value)                                          \
			return FAKE_NOT_SUPPORTED;                   \
		memory->total = number_at(value, 0) << 20;           \
		memory->used = number_at(value, 1) << 20;            \
		memory->free = number_at(value, 2) << 20;            \
		return FAKE_OK;                                      \
	}

TEXT(nvmlDeviceGetVbiosVersion)
TEXT(nvmlDeviceGetInforomImageVersion)
TEXT(nvmlDeviceGetBoardPartNumber)
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
WORD(nvmlDeviceGetVirtualizationMode)
WORD(nvmlDeviceGetBrand)
WORD(nvmlDeviceGetMultiGpuBoard)
WORD(nvmlDeviceGetBoardId)
WORD(nvmlDeviceGetBBXTimeData_v1)
WORD(nvmlDeviceGetPcieReplayCounter)
WORD(nvmlDeviceGetGpuInstanceId)
WORD(nvmlDeviceGetComputeInstanceId)
TWO_WORDS(nvmlDeviceGetDriverModel)
TWO_WORDS(nvmlDeviceGetEccMode)
TWO_WORDS(nvmlDeviceGetGspFirmwareMode)
TWO_WORDS(nvmlDeviceGetJpgUtilization)
TWO_WORDS(nvmlDeviceGetOfaUtilization)
LONG(nvmlDeviceGetSupportedClocksEventReasons)
LONG(nvmlDeviceGetSupportedClocksThrottleReasons)
BY_TYPE(nvmlDeviceGetApplicationsClock)
BY_TYPE(nvmlDeviceGetDefaultApplicationsClock)
BY_TYPE(nvmlDeviceGetTemperatureThreshold)
BY_TYPE(nvmlDeviceGetMaxCustomerBoostClock)
VERSIONED(nvmlDeviceGetMarginTemperature)
VERSIONED(nvmlDeviceGetAddressingMode)
MEMORY(nvmlDeviceGetConfComputeProtectedMemoryUsage)
MEMORY(nvmlDeviceGetBAR1MemoryInfo)

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
FAKE_API int nvmlDeviceGetGspFirmwareVersion(void *device, char *text);
FAKE_API int nvmlDeviceGetFBCStats(void *device, unsigned stats[3]);
FAKE_API int nvmlDeviceGetPdi(void *device, struct fake_pdi *pdi);
FAKE_API int nvmlDeviceGetRepairStatus(void *device, unsigned status[3]);
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

FAKE_API int nvmlDeviceGetGspFirmwareVersion(void *device, char *text)
{
	const char *value;

	FAKE_ENTER_DEVICE(device);
	value = fake_value(gpu, __func__);
	return value ? fake_copy(text, 64, value) : FAKE_NOT_SUPPORTED;
}

FAKE_API int nvmlDeviceGetFBCStats(void *device, unsigned stats[3])
{
	unsigned *const to[] = {&stats[0], &stats[1], &stats[2]};

	FAKE_ENTER_DEVICE(device);
	return give_words(gpu, __func__, to, 3);
}

FAKE_API int nvmlDeviceGetPdi(void *device, struct fake_pdi *pdi)
{
	unsigned long long value;
	int rc;

	FAKE_ENTER_DEVICE(device);
	if (pdi->version != (sizeof(*pdi) | 1u << 24))
		return FAKE_VERSION_MISMATCH;
	rc = give_long(fake_value(gpu, __func__), &value);
	if (rc == FAKE_OK)
		pdi->value = value;
	return rc;
}

/* Channel, TPC, behind the version. */
FAKE_API int nvmlDeviceGetRepairStatus(void *device, unsigned status[3])
{
	unsigned *const to[] = {&status[1], &status[2]};

	FAKE_ENTER_DEVICE(device);
	if (status[0] != (3 * sizeof(*status) | 1u << 24))
		return FAKE_VERSION_MISMATCH;
	return give_words(gpu, __func__, to, 2);
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

/* ---- What few ask for ---- */

FAKE_API int nvmlDeviceValidateInforom(void *device);
FAKE_API int nvmlDeviceGetRemappedRows_v2(void *device, struct fake_remapped_rows *rows);
FAKE_API int nvmlDeviceGetSramEccErrorStatus(void *device, struct fake_sram_errors *errors);
FAKE_API int nvmlDeviceGetGpuFabricInfo(void *device, struct fake_fabric *fabric);
FAKE_API int nvmlDeviceGetGpuFabricInfoV(void *device, struct fake_fabric_v3 *fabric);
FAKE_API int nvmlDeviceGetPlatformInfo(void *device, struct fake_platform *platform);

/* The newest version of a struct that this driver knows. */
static unsigned newest(const struct fake_gpu *gpu, const char *key, unsigned usual)
{
	const char *text = fake_value(gpu, key);

	return text ? (unsigned)number_at(text, 0) : usual;
}

/* The i-th word of a value; "" past its end. */
static void word_at(const char *text, unsigned i, char *word, size_t size)
{
	size_t len;

	text += strspn(text, " ");
	for (; i > 0; i--) {
		text += strcspn(text, " ");
		text += strspn(text, " ");
	}
	len = strcspn(text, " ");
	snprintf(word, size, "%.*s", (int)len, text);
}

FAKE_API int nvmlDeviceValidateInforom(void *device)
{
	const char *value;

	FAKE_ENTER_DEVICE(device);
	value = fake_value(gpu, __func__);
	return value ? (int)number_at(value, 0) : FAKE_NOT_SUPPORTED;
}

FAKE_API int nvmlDeviceGetRemappedRows_v2(void *device, struct fake_remapped_rows *rows)
{
	unsigned *const to[] = {&rows->corrected,   &rows->corrected_inactive,
				&rows->uncorrected, &rows->uncorrected_inactive,
				&rows->pending,	    &rows->failed};

	FAKE_ENTER_DEVICE(device);
	return give_words(gpu, __func__, to, 6);
}

FAKE_API int nvmlDeviceGetSramEccErrorStatus(void *device, struct fake_sram_errors *errors)
{
	const char *value;

	FAKE_ENTER_DEVICE(device);
	if (errors->version != (sizeof(*errors) | 1u << 24))
		return FAKE_VERSION_MISMATCH;
	value = fake_value(gpu, __func__);
	if (!value)
		return FAKE_NOT_SUPPORTED;
	for (unsigned i = 0; i < 11; i++)
		errors->counts[i] = number_at(value, i);
	errors->threshold_exceeded = (uint32_t)number_at(value, 11);
	return FAKE_OK;
}

/* STATE STATUS CLIQUE MASK SUMMARY [CLUSTER] */
static void give_fabric(const char *value, struct fake_fabric_v3 *fabric)
{
	char text[FAKE_SYMBOL_SIZE], digits[3] = "";
	unsigned n = 0;

	fabric->state = (unsigned char)number_at(value, 0);
	fabric->status = (uint32_t)number_at(value, 1);
	fabric->clique = (uint32_t)number_at(value, 2);
	fabric->health_mask = (uint32_t)number_at(value, 3);
	fabric->health_summary = (unsigned char)number_at(value, 4);
	memset(fabric->cluster, 0, sizeof(fabric->cluster));
	word_at(value, 5, text, sizeof(text));
	for (const char *at = text; at[0] && at[1] && n < sizeof(fabric->cluster); at += 2) {
		at += *at == '-';
		memcpy(digits, at, 2);
		fabric->cluster[n++] = (unsigned char)strtoul(digits, NULL, 16);
	}
}

FAKE_API int nvmlDeviceGetGpuFabricInfo(void *device, struct fake_fabric *fabric)
{
	struct fake_fabric_v3 whole;
	const char *value;

	FAKE_ENTER_DEVICE(device);
	value = fake_value(gpu, "nvmlDeviceGetGpuFabricInfoV");
	if (!value)
		return FAKE_NOT_SUPPORTED;
	give_fabric(value, &whole);
	memcpy(fabric->cluster, whole.cluster, sizeof(fabric->cluster));
	fabric->status = whole.status;
	fabric->clique = whole.clique;
	fabric->state = whole.state;
	return FAKE_OK;
}

FAKE_API int nvmlDeviceGetGpuFabricInfoV(void *device, struct fake_fabric_v3 *fabric)
{
	struct fake_fabric_v3 whole;
	const char *value;
	unsigned version = fabric->version >> 24;

	FAKE_ENTER_DEVICE(device);
	whole.version = fabric->version;
	if ((whole.version != (sizeof(whole) | 3u << 24) &&
	     whole.version != (sizeof(struct fake_fabric_v2) | 2u << 24)) ||
	    version > newest(gpu, "fabric-version", 3))
		return FAKE_VERSION_MISMATCH;
	value = fake_value(gpu, __func__);
	if (!value)
		return FAKE_NOT_SUPPORTED;
	give_fabric(value, &whole);
	memcpy(fabric, &whole, version == 3 ? sizeof(whole) : sizeof(struct fake_fabric_v2));
	return FAKE_OK;
}

/* SLOT TRAY HOST PEER MODULE GUID [CHASSIS] */
FAKE_API int nvmlDeviceGetPlatformInfo(void *device, struct fake_platform *platform)
{
	char chassis[sizeof(platform->chassis) + 1];
	unsigned long long guid;
	const char *value;

	FAKE_ENTER_DEVICE(device);
	if ((platform->version & 0xffffff) != sizeof(*platform) || platform->version >> 24 < 1 ||
	    platform->version >> 24 > newest(gpu, "platform-version", 2))
		return FAKE_VERSION_MISMATCH;
	value = fake_value(gpu, __func__);
	if (!value)
		return FAKE_NOT_SUPPORTED;
	memset(platform->guid, 0, sizeof(platform->guid));
	memset(platform->chassis, 0, sizeof(platform->chassis));
	platform->slot = (unsigned char)number_at(value, 0);
	platform->tray = (unsigned char)number_at(value, 1);
	platform->host = (unsigned char)number_at(value, 2);
	platform->peer = (unsigned char)number_at(value, 3);
	platform->module = (unsigned char)number_at(value, 4);
	guid = number_at(value, 5);
	for (int i = 7; i >= 0; i--, guid >>= 8)
		platform->guid[i] = (unsigned char)guid;
	word_at(value, 6, chassis, sizeof(chassis));
	memcpy(platform->chassis, chassis, strlen(chassis));
	return FAKE_OK;
}
