/* SPDX-License-Identifier: MIT */
#include "nvml/abi.h"

#include "base/err.h"
#include "energy/reading.h"

/* Calls by the functions' true types: a handle is a pointer to an unknown struct. */

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

static int call_u32(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(unsigned *))function)(args[0].memory);
}

static int call_by_index(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(unsigned, void **))function)((unsigned)args[0].word, args[1].memory);
}

static int call_by_text(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(const char *, void **))function)(args[0].memory, args[1].memory);
}

static int call_device_text(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(void *, char *, unsigned))function)(handle_of(&args[0]), args[1].memory,
							     (unsigned)args[2].word);
}

static int call_device_pci(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(void *, struct wtl_nvml_pci *))function)(handle_of(&args[0]),
								  args[1].memory);
}

static int call_device_u32(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(void *, unsigned *))function)(handle_of(&args[0]), args[1].memory);
}

static int call_device_u64(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(void *, unsigned long long *))function)(handle_of(&args[0]),
								 args[1].memory);
}

static int call_device_i32_i32(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(void *, int *, int *))function)(handle_of(&args[0]), args[1].memory,
							 args[2].memory);
}

static int call_device_fields(void *function, const struct wtl_lib_arg args[])
{
	return ((int (*)(void *, int, struct wtl_nvml_field *))function)(
		handle_of(&args[0]), (int)args[1].word, args[2].memory);
}

const struct wtl_lib_function wtl_nvml_functions[WTL_NVML_FUNCTIONS] = {
	[WTL_NVML_INIT] = {"nvmlInit_v2", call_plain, 0},
	[WTL_NVML_SHUTDOWN] = {"nvmlShutdown", call_plain, 0},
	[WTL_NVML_DRIVER_VERSION] = {"nvmlSystemGetDriverVersion", call_text, 2},
	[WTL_NVML_COUNT] = {"nvmlDeviceGetCount_v2", call_u32, 1},
	[WTL_NVML_BY_INDEX] = {"nvmlDeviceGetHandleByIndex_v2", call_by_index, 2},
	[WTL_NVML_BY_BUS_ID] = {"nvmlDeviceGetHandleByPciBusId_v2", call_by_text, 2},
	[WTL_NVML_BY_UUID] = {"nvmlDeviceGetHandleByUUID", call_by_text, 2},
	[WTL_NVML_NAME] = {"nvmlDeviceGetName", call_device_text, 3},
	[WTL_NVML_UUID] = {"nvmlDeviceGetUUID", call_device_text, 3},
	[WTL_NVML_PCI_INFO] = {"nvmlDeviceGetPciInfo_v3", call_device_pci, 2},
	[WTL_NVML_ARCHITECTURE] = {"nvmlDeviceGetArchitecture", call_device_u32, 2},
	[WTL_NVML_CAPABILITY] = {"nvmlDeviceGetCudaComputeCapability", call_device_i32_i32, 3},
	[WTL_NVML_TOTAL_ENERGY] = {"nvmlDeviceGetTotalEnergyConsumption", call_device_u64, 2},
	[WTL_NVML_POWER_USAGE] = {"nvmlDeviceGetPowerUsage", call_device_u32, 2},
	[WTL_NVML_FIELD_VALUES] = {"nvmlDeviceGetFieldValues", call_device_fields, 3},
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
