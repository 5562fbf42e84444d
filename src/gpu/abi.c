/* SPDX-License-Identifier: MIT */
#include "gpu/abi.h"

#include "base/err.h"
#include "base/text.h"
#include "energy/reading.h"

/* Calls by the functions' types: a handle is a pointer to an unknown struct, and so is all that a call fills in. */

static void *handle_of(const struct wtl_lib_arg *arg)
{
	return (void *)(uintptr_t)arg->word;
}

static int call_plain(void *function, const struct wtl_lib_arg args[])
{
	(void)args;
	return ((int (*)(void))function)();
}

static int call_text(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(char *, unsigned))function)(args[0].memory, (unsigned)args[1].word);
}

static int call_out(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(void *))function)(args[0].memory);
}

static int call_2_out(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(void *, void *))function)(args[0].memory, args[1].memory);
}

static int call_number_out(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(unsigned, void *))function)((unsigned)args[0].word, args[1].memory);
}

static int call_device_out(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(void *, void *))function)(handle_of(&args[0]), args[1].memory);
}

static int call_device_2_out(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(void *, void *, void *))function)(handle_of(&args[0]), args[1].memory,
							   args[2].memory);
}

static int call_device_3_out(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(void *, void *, void *, void *))function)(
		handle_of(&args[0]), args[1].memory, args[2].memory, args[3].memory);
}

static int call_device_4_out(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(void *, void *, void *, void *, void *))function)(
		handle_of(&args[0]), args[1].memory, args[2].memory, args[3].memory,
		args[4].memory);
}

static int call_device_number_out(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(void *, unsigned, void *))function)(
		handle_of(&args[0]), (unsigned)args[1].word, args[2].memory);
}

static int call_device_text(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(void *, char *, unsigned))function)(handle_of(&args[0]), args[1].memory,
							     (unsigned)args[2].word);
}

static int call_pid_text(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(unsigned, char *, unsigned))function)(
		(unsigned)args[0].word, args[1].memory, (unsigned)args[2].word);
}

/* NVML returns a text of its own, which stays valid. */
static int call_error_text(void *function, const struct wtl_lib_arg args[])
{
	const char *text = ((const char *(*)(int))function)((int)args[0].word);

	if (!text)
		return WTL_NVML_NOT_FOUND;
	wtl_text_copy(args[1].memory, args[1].size, text);
	return WTL_NVML_OK;
}

static int call_device_number_text(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(void *, unsigned, char *, unsigned))function)(
		handle_of(&args[0]), (unsigned)args[1].word, args[2].memory,
		(unsigned)args[3].word);
}

/* A handle alone. */
static int call_handle(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(void *))function)(handle_of(&args[0]));
}

static int call_ecc_total(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(void *, unsigned, unsigned, unsigned long long *))function)(
		handle_of(&args[0]), (unsigned)args[1].word, (unsigned)args[2].word,
		args[3].memory);
}

static int call_ecc_place(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(void *, unsigned, unsigned, unsigned, unsigned long long *))function)(
		handle_of(&args[0]), (unsigned)args[1].word, (unsigned)args[2].word,
		(unsigned)args[3].word, args[4].memory);
}

static int call_uses(void *function, const struct wtl_lib_arg args[])
{
	struct wtl_nvml_uses *uses = args[1].memory;
	int answer;

	uses->uses = args[2].memory;
	answer = ((int (*)(void *, struct wtl_nvml_uses *))function)(handle_of(&args[0]), uses);
	uses->uses = NULL;
	return answer;
}

static int call_samples(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(void *, struct wtl_nvml_sample *, unsigned *,
			 unsigned long long))function)(handle_of(&args[0]), args[1].memory,
						       args[2].memory, args[3].word);
}

/* ---- GPM ---- */

/* The entries were 98, then 210, 333 and 477, always with version 1: room for more than all of them, as a
 * driver may look at as many as it knows. */
enum { GPM_METRICS_MAX = 512, GPM_VERSION = 1 };

struct gpm_entry {
	uint32_t metric;
	uint32_t code;
	double value;
	const char *names[3]; /* short, long, unit: filled in, not used */
};

struct gpm_request {
	uint32_t version, count;
	void *before, *after;
	struct gpm_entry entries[GPM_METRICS_MAX];
};

_Static_assert(sizeof(struct gpm_entry) == 40, "GPM metric");
_Static_assert(offsetof(struct gpm_request, entries) == 24, "GPM metrics");

static int call_device_number_sample(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(void *, unsigned, void *))function)(
		handle_of(&args[0]), (unsigned)args[1].word, handle_of(&args[2]));
}

static int call_gpm_metrics(void *function, const struct wtl_lib_arg args[])
{
	struct wtl_nvml_gpm_metric *metrics = args[2].memory;
	size_t n = args[2].size / sizeof(metrics[0]);
	struct gpm_request request = {
		.version = GPM_VERSION,
		.count = n < GPM_METRICS_MAX ? (uint32_t)n : GPM_METRICS_MAX,
		.before = handle_of(&args[0]),
		.after = handle_of(&args[1]),
	};
	int answer;

	for (uint32_t i = 0; i < request.count; i++)
		request.entries[i].metric = metrics[i].metric;
	answer = ((int (*)(struct gpm_request *))function)(&request);
	for (uint32_t i = 0; i < request.count; i++) {
		metrics[i].code = request.entries[i].code;
		metrics[i].value = request.entries[i].value;
	}
	return answer;
}

static int call_device_set(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(void *, unsigned))function)(handle_of(&args[0]), (unsigned)args[1].word);
}

const struct wtl_lib_function wtl_nvml_functions[WTL_NVML_FUNCTIONS] = {
	[WTL_NVML_INIT] = {"nvmlInit_v2", call_plain, 0},
	[WTL_NVML_SHUTDOWN] = {"nvmlShutdown", call_plain, 0},
	[WTL_NVML_DRIVER_VERSION] = {"nvmlSystemGetDriverVersion", call_text, 2},
	[WTL_NVML_NVML_VERSION] = {"nvmlSystemGetNVMLVersion", call_text, 2},
	[WTL_NVML_CUDA_VERSION] = {"nvmlSystemGetCudaDriverVersion_v2", call_out, 1},
	[WTL_NVML_CUDA_VERSION_V1] = {"nvmlSystemGetCudaDriverVersion", call_out, 1},
	[WTL_NVML_PROCESS_NAME] = {"nvmlSystemGetProcessName", call_pid_text, 3},
	[WTL_NVML_ERROR_TEXT] = {"nvmlErrorString", call_error_text, 2},
	[WTL_NVML_COUNT] = {"nvmlDeviceGetCount_v2", call_out, 1},
	[WTL_NVML_BY_INDEX] = {"nvmlDeviceGetHandleByIndex_v2", call_number_out, 2},
	[WTL_NVML_BY_BUS_ID] = {"nvmlDeviceGetHandleByPciBusId_v2", call_2_out, 2},
	[WTL_NVML_BY_UUID] = {"nvmlDeviceGetHandleByUUID", call_2_out, 2},
	[WTL_NVML_NAME] = {"nvmlDeviceGetName", call_device_text, 3},
	[WTL_NVML_UUID] = {"nvmlDeviceGetUUID", call_device_text, 3},
	[WTL_NVML_SERIAL] = {"nvmlDeviceGetSerial", call_device_text, 3},
	[WTL_NVML_VBIOS] = {"nvmlDeviceGetVbiosVersion", call_device_text, 3},
	[WTL_NVML_INFOROM_IMAGE] = {"nvmlDeviceGetInforomImageVersion", call_device_text, 3},
	[WTL_NVML_BOARD_PART] = {"nvmlDeviceGetBoardPartNumber", call_device_text, 3},
	[WTL_NVML_GSP_FIRMWARE] = {"nvmlDeviceGetGspFirmwareVersion", call_device_out, 2},
	[WTL_NVML_INFOROM] = {"nvmlDeviceGetInforomVersion", call_device_number_text, 4},
	[WTL_NVML_INDEX] = {"nvmlDeviceGetIndex", call_device_out, 2},
	[WTL_NVML_PCI_INFO] = {"nvmlDeviceGetPciInfo_v3", call_device_out, 2},
	[WTL_NVML_ARCHITECTURE] = {"nvmlDeviceGetArchitecture", call_device_out, 2},
	[WTL_NVML_CAPABILITY] = {"nvmlDeviceGetCudaComputeCapability", call_device_2_out, 3},
	[WTL_NVML_TOTAL_ENERGY] = {"nvmlDeviceGetTotalEnergyConsumption", call_device_out, 2},
	[WTL_NVML_POWER_USAGE] = {"nvmlDeviceGetPowerUsage", call_device_out, 2},
	[WTL_NVML_FIELD_VALUES] = {"nvmlDeviceGetFieldValues", call_device_number_out, 3},
	[WTL_NVML_LIMIT_ENFORCED] = {"nvmlDeviceGetEnforcedPowerLimit", call_device_out, 2},
	[WTL_NVML_LIMIT_REQUESTED] = {"nvmlDeviceGetPowerManagementLimit", call_device_out, 2},
	[WTL_NVML_LIMIT_DEFAULT] = {"nvmlDeviceGetPowerManagementDefaultLimit", call_device_out, 2},
	[WTL_NVML_PERSISTENCE] = {"nvmlDeviceGetPersistenceMode", call_device_out, 2},
	[WTL_NVML_PSTATE] = {"nvmlDeviceGetPerformanceState", call_device_out, 2},
	[WTL_NVML_FAN] = {"nvmlDeviceGetFanSpeed", call_device_out, 2},
	[WTL_NVML_COMPUTE_MODE] = {"nvmlDeviceGetComputeMode", call_device_out, 2},
	[WTL_NVML_DISPLAY_ACTIVE] = {"nvmlDeviceGetDisplayActive", call_device_out, 2},
	[WTL_NVML_DISPLAY_ATTACHED] = {"nvmlDeviceGetDisplayMode", call_device_out, 2},
	[WTL_NVML_PCIE_GEN] = {"nvmlDeviceGetCurrPcieLinkGeneration", call_device_out, 2},
	[WTL_NVML_PCIE_GEN_MAX] = {"nvmlDeviceGetMaxPcieLinkGeneration", call_device_out, 2},
	[WTL_NVML_PCIE_GEN_GPU_MAX] = {"nvmlDeviceGetGpuMaxPcieLinkGeneration", call_device_out, 2},
	[WTL_NVML_PCIE_WIDTH] = {"nvmlDeviceGetCurrPcieLinkWidth", call_device_out, 2},
	[WTL_NVML_PCIE_WIDTH_MAX] = {"nvmlDeviceGetMaxPcieLinkWidth", call_device_out, 2},
	[WTL_NVML_ACCOUNTING_MODE] = {"nvmlDeviceGetAccountingMode", call_device_out, 2},
	[WTL_NVML_ACCOUNTING_BUFFER] = {"nvmlDeviceGetAccountingBufferSize", call_device_out, 2},
	[WTL_NVML_MODULE_ID] = {"nvmlDeviceGetModuleId", call_device_out, 2},
	[WTL_NVML_C2C_MODE] = {"nvmlDeviceGetC2cModeInfoV", call_device_out, 2},
	[WTL_NVML_VIRTUALIZATION] = {"nvmlDeviceGetVirtualizationMode", call_device_out, 2},
	[WTL_NVML_BRAND] = {"nvmlDeviceGetBrand", call_device_out, 2},
	[WTL_NVML_MINOR_NUMBER] = {"nvmlDeviceGetMinorNumber", call_device_out, 2},
	[WTL_NVML_MULTI_GPU_BOARD] = {"nvmlDeviceGetMultiGpuBoard", call_device_out, 2},
	[WTL_NVML_BOARD_ID] = {"nvmlDeviceGetBoardId", call_device_out, 2},
	[WTL_NVML_TIME_RUN] = {"nvmlDeviceGetBBXTimeData_v1", call_device_out, 2},
	[WTL_NVML_PCIE_REPLAYS] = {"nvmlDeviceGetPcieReplayCounter", call_device_out, 2},
	[WTL_NVML_MIG_COUNT_MAX] = {"nvmlDeviceGetMaxMigDeviceCount", call_device_out, 2},
	[WTL_NVML_INSTANCE] = {"nvmlDeviceGetGpuInstanceId", call_device_out, 2},
	[WTL_NVML_COMPUTE_INSTANCE] = {"nvmlDeviceGetComputeInstanceId", call_device_out, 2},
	[WTL_NVML_LIMIT_RANGE] = {"nvmlDeviceGetPowerManagementLimitConstraints", call_device_2_out,
				  3},
	[WTL_NVML_MIG_MODE] = {"nvmlDeviceGetMigMode", call_device_2_out, 3},
	[WTL_NVML_ECC_MODE] = {"nvmlDeviceGetEccMode", call_device_2_out, 3},
	[WTL_NVML_GSP_MODE] = {"nvmlDeviceGetGspFirmwareMode", call_device_2_out, 3},
	[WTL_NVML_ENCODER_USE] = {"nvmlDeviceGetEncoderUtilization", call_device_2_out, 3},
	[WTL_NVML_DECODER_USE] = {"nvmlDeviceGetDecoderUtilization", call_device_2_out, 3},
	[WTL_NVML_JPEG_USE] = {"nvmlDeviceGetJpgUtilization", call_device_2_out, 3},
	[WTL_NVML_OFA_USE] = {"nvmlDeviceGetOfaUtilization", call_device_2_out, 3},
	[WTL_NVML_ENCODER_STATS] = {"nvmlDeviceGetEncoderStats", call_device_3_out, 4},
	[WTL_NVML_REMAPPED_ROWS] = {"nvmlDeviceGetRemappedRows", call_device_4_out, 5},
	[WTL_NVML_EVENT_REASONS] = {"nvmlDeviceGetCurrentClocksEventReasons", call_device_out, 2},
	[WTL_NVML_THROTTLE_REASONS] = {"nvmlDeviceGetCurrentClocksThrottleReasons", call_device_out,
				       2},
	[WTL_NVML_EVENT_REASONS_KNOWN] = {"nvmlDeviceGetSupportedClocksEventReasons",
					  call_device_out, 2},
	[WTL_NVML_THROTTLE_REASONS_KNOWN] = {"nvmlDeviceGetSupportedClocksThrottleReasons",
					     call_device_out, 2},
	[WTL_NVML_CLOCK] = {"nvmlDeviceGetClockInfo", call_device_number_out, 3},
	[WTL_NVML_CLOCK_MAX] = {"nvmlDeviceGetMaxClockInfo", call_device_number_out, 3},
	[WTL_NVML_CLOCK_APPLICATION] = {"nvmlDeviceGetApplicationsClock", call_device_number_out,
					3},
	[WTL_NVML_CLOCK_APPLICATION_DEFAULT] = {"nvmlDeviceGetDefaultApplicationsClock",
						call_device_number_out, 3},
	[WTL_NVML_CLOCK_BOOST_MAX] = {"nvmlDeviceGetMaxCustomerBoostClock", call_device_number_out,
				      3},
	[WTL_NVML_THRESHOLD] = {"nvmlDeviceGetTemperatureThreshold", call_device_number_out, 3},
	[WTL_NVML_TEMPERATURE_V1] = {"nvmlDeviceGetTemperature", call_device_number_out, 3},
	[WTL_NVML_PCIE_THROUGHPUT] = {"nvmlDeviceGetPcieThroughput", call_device_number_out, 3},
	[WTL_NVML_TEMPERATURE] = {"nvmlDeviceGetTemperatureV", call_device_out, 2},
	[WTL_NVML_TEMPERATURE_MARGIN] = {"nvmlDeviceGetMarginTemperature", call_device_out, 2},
	[WTL_NVML_ADDRESSING_MODE] = {"nvmlDeviceGetAddressingMode", call_device_out, 2},
	[WTL_NVML_UTILIZATION] = {"nvmlDeviceGetUtilizationRates", call_device_out, 2},
	[WTL_NVML_MEMORY_V2] = {"nvmlDeviceGetMemoryInfo_v2", call_device_out, 2},
	[WTL_NVML_MEMORY] = {"nvmlDeviceGetMemoryInfo", call_device_out, 2},
	[WTL_NVML_PROTECTED_MEMORY] = {"nvmlDeviceGetConfComputeProtectedMemoryUsage",
				       call_device_out, 2},
	[WTL_NVML_BAR1] = {"nvmlDeviceGetBAR1MemoryInfo", call_device_out, 2},
	[WTL_NVML_CAPTURE_STATS] = {"nvmlDeviceGetFBCStats", call_device_out, 2},
	[WTL_NVML_PDI] = {"nvmlDeviceGetPdi", call_device_out, 2},
	[WTL_NVML_REPAIR] = {"nvmlDeviceGetRepairStatus", call_device_out, 2},
	[WTL_NVML_REMAPPER] = {"nvmlDeviceGetRowRemapperHistogram", call_device_out, 2},
	[WTL_NVML_ATTRIBUTES] = {"nvmlDeviceGetAttributes_v2", call_device_out, 2},
	[WTL_NVML_SRAM_ERRORS] = {"nvmlDeviceGetSramEccErrorStatus", call_device_out, 2},
	[WTL_NVML_FABRIC] = {"nvmlDeviceGetGpuFabricInfoV", call_device_out, 2},
	[WTL_NVML_FABRIC_V1] = {"nvmlDeviceGetGpuFabricInfo", call_device_out, 2},
	[WTL_NVML_PLATFORM] = {"nvmlDeviceGetPlatformInfo", call_device_out, 2},
	[WTL_NVML_REMAPPED_V2] = {"nvmlDeviceGetRemappedRows_v2", call_device_out, 2},
	[WTL_NVML_VALIDATE_INFOROM] = {"nvmlDeviceValidateInforom", call_handle, 1},
	[WTL_NVML_ECC_TOTAL] = {"nvmlDeviceGetTotalEccErrors", call_ecc_total, 4},
	[WTL_NVML_ECC_PLACE] = {"nvmlDeviceGetMemoryErrorCounter", call_ecc_place, 5},
	[WTL_NVML_COMPUTE_V3] = {"nvmlDeviceGetComputeRunningProcesses_v3", call_device_2_out, 3},
	[WTL_NVML_COMPUTE_V2] = {"nvmlDeviceGetComputeRunningProcesses_v2", call_device_2_out, 3},
	[WTL_NVML_COMPUTE_V1] = {"nvmlDeviceGetComputeRunningProcesses", call_device_2_out, 3},
	[WTL_NVML_GRAPHICS_V3] = {"nvmlDeviceGetGraphicsRunningProcesses_v3", call_device_2_out, 3},
	[WTL_NVML_GRAPHICS_V2] = {"nvmlDeviceGetGraphicsRunningProcesses_v2", call_device_2_out, 3},
	[WTL_NVML_GRAPHICS_V1] = {"nvmlDeviceGetGraphicsRunningProcesses", call_device_2_out, 3},
	[WTL_NVML_MPS_V3] = {"nvmlDeviceGetMPSComputeRunningProcesses_v3", call_device_2_out, 3},
	[WTL_NVML_MPS_V2] = {"nvmlDeviceGetMPSComputeRunningProcesses_v2", call_device_2_out, 3},
	[WTL_NVML_MPS_V1] = {"nvmlDeviceGetMPSComputeRunningProcesses", call_device_2_out, 3},
	[WTL_NVML_USES] = {"nvmlDeviceGetProcessesUtilizationInfo", call_uses, 3},
	[WTL_NVML_SAMPLES] = {"nvmlDeviceGetProcessUtilization", call_samples, 4},
	[WTL_NVML_MIG_BY_INDEX] = {"nvmlDeviceGetMigDeviceHandleByIndex", call_device_number_out,
				   3},
	[WTL_NVML_GPM_SUPPORT] = {"nvmlGpmQueryDeviceSupport", call_device_out, 2},
	[WTL_NVML_GPM_ALLOC] = {"nvmlGpmSampleAlloc", call_out, 1},
	[WTL_NVML_GPM_FREE] = {"nvmlGpmSampleFree", call_handle, 1},
	[WTL_NVML_GPM_MIG_SAMPLE] = {"nvmlGpmMigSampleGet", call_device_number_sample, 3},
	[WTL_NVML_GPM_METRICS] = {"nvmlGpmMetricsGet", call_gpm_metrics, 3},
	[WTL_NVML_SET_PERSISTENCE] = {"nvmlDeviceSetPersistenceMode", call_device_set, 2},
	[WTL_NVML_SET_LIMIT_V2] = {"nvmlDeviceSetPowerManagementLimit_v2", call_device_out, 2},
	[WTL_NVML_SET_LIMIT] = {"nvmlDeviceSetPowerManagementLimit", call_device_set, 2},
	[WTL_NVML_CONF_COMPUTE] = {"nvmlDeviceGetConfComputeMemSizeInfo", call_device_out, 2},
	[WTL_NVML_PROCESS_DETAILS] = {"nvmlDeviceGetRunningProcessDetailList", call_device_out, 2},
};

int wtl_nvml_field_code(const struct wtl_nvml_field *field)
{
	return field->code <= WTL_NVML_UNKNOWN ? (int)field->code : WTL_NVML_UNKNOWN;
}

bool wtl_nvml_field_u64(const struct wtl_nvml_field *field, uint64_t *ret_value)
{
	switch (field->type) {
	case WTL_NVML_VALUE_U32:
		*ret_value = field->value.u32;
		return true;
	case WTL_NVML_VALUE_ULONG: /* 64 bits on every system that wattle runs on */
	case WTL_NVML_VALUE_U64:
		*ret_value = field->value.u64;
		return true;
	case WTL_NVML_VALUE_I64:
	case WTL_NVML_VALUE_I32: {
		int64_t value =
			field->type == WTL_NVML_VALUE_I64 ? field->value.i64 : field->value.i32;

		if (value < 0)
			return false;
		*ret_value = (uint64_t)value;
		return true;
	}
	case WTL_NVML_VALUE_U16:
		*ret_value = field->value.u16;
		return true;
	default:
		return false;
	}
}

bool wtl_nvml_field_i64(const struct wtl_nvml_field *field, uint64_t *ret_value)
{
	if (field->type == WTL_NVML_VALUE_I32)
		*ret_value = (uint64_t)(int64_t)field->value.i32;
	else
		*ret_value = field->value.u64;
	return field->type == WTL_NVML_VALUE_I32 || field->type == WTL_NVML_VALUE_I64 ||
	       wtl_nvml_field_u64(field, ret_value);
}

bool wtl_nvml_field_millionths(const struct wtl_nvml_field *field, uint64_t *ret_value)
{
	const double most =
		1e12; /* as a number of ones: far from what 64 bits hold as millionths */
	uint64_t whole;

	if (field->type == WTL_NVML_VALUE_DOUBLE) {
		if (!(field->value.real >= 0 && field->value.real <= most))
			return false;
		*ret_value = (uint64_t)(field->value.real * 1e6 + 0.5);
		return true;
	}
	return wtl_nvml_field_u64(field, &whole) &&
	       !__builtin_mul_overflow(whole, UINT64_C(1000000), ret_value);
}

/* ---- What the codes mean for a domain, in words for people ---- */

static const struct {
	int code;
	enum wattle_status status;
	const char *reason;
	const char *remedy;
} meanings[] = {
	{WTL_NVML_OK, WATTLE_STATUS_OK, "", ""},
	{WTL_NVML_UNINITIALIZED, WATTLE_STATUS_GONE, "NVML has to be started anew", ""},
	{WTL_NVML_INVALID_ARGUMENT, WATTLE_STATUS_ABSENT, "the driver does not know this figure",
	 ""},
	{WTL_NVML_NOT_SUPPORTED, WATTLE_STATUS_ABSENT, "not supported", ""},
	{WTL_NVML_NO_PERMISSION, WATTLE_STATUS_DENIED, "the driver denies permission",
	 "run as root, or let this user open /dev/nvidiactl and /dev/nvidia* (ls -l /dev/nvidia*; "
	 "often: usermod -aG video USER)"},
	{WTL_NVML_NOT_FOUND, WATTLE_STATUS_GONE, "NVML does not find the GPU",
	 "look for the driver's messages: dmesg | grep -i -e nvrm -e xid"},
	{WTL_NVML_INSUFFICIENT_SIZE, WATTLE_STATUS_FAILED, "there are more than can be listed", ""},
	{WTL_NVML_INSUFFICIENT_POWER, WATTLE_STATUS_FAILED, "its power cables are not connected",
	 "connect the GPU's power cables"},
	{WTL_NVML_DRIVER_NOT_LOADED, WATTLE_STATUS_FAILED, "the NVIDIA kernel driver is not loaded",
	 "modprobe nvidia (as root); a container needs --gpus all"},
	{WTL_NVML_TIMEOUT, WATTLE_STATUS_FAILED, "the driver did not answer in time", ""},
	{WTL_NVML_LIBRARY_NOT_FOUND, WATTLE_STATUS_FAILED,
	 "NVML does not find a library of the driver that it needs",
	 "install NVIDIA's driver libraries of the same version again"},
	{WTL_NVML_FUNCTION_NOT_FOUND, WATTLE_STATUS_ABSENT,
	 "the driver's library is too old for this figure", ""},
	{WTL_NVML_CORRUPTED_INFOROM, WATTLE_STATUS_FAILED, "the GPU's info ROM is damaged", ""},
	{WTL_NVML_GPU_IS_LOST, WATTLE_STATUS_GONE,
	 "the GPU is lost: it fell off the bus or does not respond",
	 "see dmesg | grep -i xid; nvidia-smi --gpu-reset or a reboot brings it back"},
	{WTL_NVML_RESET_REQUIRED, WATTLE_STATUS_GONE, "the GPU has to be reset",
	 "nvidia-smi --gpu-reset (as root), or reboot"},
	{WTL_NVML_OPERATING_SYSTEM, WATTLE_STATUS_DENIED,
	 "the operating system keeps the device away (a cgroup or container)",
	 "give the GPU to this container: --gpus all, or the device in its cgroup"},
	{WTL_NVML_VERSION_MISMATCH, WATTLE_STATUS_FAILED,
	 "the driver was upgraded: kernel module and library are of different versions",
	 "reboot, or unload and load the nvidia modules (modprobe -r nvidia_uvm nvidia_drm "
	 "nvidia_modeset nvidia; modprobe nvidia)"},
	{WTL_NVML_NO_DATA, WATTLE_STATUS_FAILED, "the sensor has no data", ""},
	{WTL_NVML_ARGUMENT_VERSION, WATTLE_STATUS_ABSENT,
	 "the driver does not know this version of the question", ""},
	{WTL_NVML_DEPRECATED, WATTLE_STATUS_ABSENT, "the driver gives this figure no more", ""},
	{WTL_NVML_NOT_READY, WATTLE_STATUS_FAILED, "the GPU is not ready", ""},
	{WTL_NVML_GPU_NOT_FOUND, WATTLE_STATUS_GONE, "NVML does not find the GPU",
	 "look for the driver's messages: dmesg | grep -i -e nvrm -e xid"},
	{WTL_NVML_UNKNOWN, WATTLE_STATUS_FAILED, "the driver reports an unknown error",
	 "look for the driver's messages: dmesg | grep -i -e nvrm -e xid"},
};

enum { N_MEANINGS = sizeof(meanings) / sizeof(meanings[0]) };

static size_t meaning(int code)
{
	for (size_t i = 0; i < N_MEANINGS; i++)
		if (meanings[i].code == code)
			return i;
	return N_MEANINGS - 1;
}

enum wattle_status wtl_nvml_status(int code)
{
	return code < 0 ? wtl_status_from_error(code) : meanings[meaning(code)].status;
}

enum wattle_status wtl_nvml_gpu_status(int code)
{
	enum wattle_status status = wtl_nvml_status(code);

	return status == WATTLE_STATUS_ABSENT ? WATTLE_STATUS_FAILED : status;
}

const char *wtl_nvml_reason(int code)
{
	return code < 0 ? wtl_err_text(code) : meanings[meaning(code)].reason;
}

const char *wtl_nvml_remedy(int code)
{
	return code < 0 ? "" : meanings[meaning(code)].remedy;
}
