/* SPDX-License-Identifier: MIT */
/* What NVIDIA's GPUs tell on request: fabric, platform, SRAM errors, recovery action, info ROM, host link. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "gpu/abi.h"
#include "gpu/pci.h"
#include "reading_bench.h"

#define DETAILS WTL_GPU_READ_DETAILS
#define ONE_GPU "gpu Fake\n  bus 00000000:0C:00.0\n  power 0 const 100\n  sensor usage gpu 100\n"

static const enum wtl_gpu_number fabric_parts[] = {
	WTL_GPU_FABRIC_CLIQUE,	      WTL_GPU_FABRIC_HEALTH,	WTL_GPU_FABRIC_DEGRADED,
	WTL_GPU_FABRIC_RECOVERING,    WTL_GPU_FABRIC_BAD_ROUTE, WTL_GPU_FABRIC_TIMED_OUT,
	WTL_GPU_FABRIC_MISCONFIGURED, WTL_GPU_FABRIC_PARTITION,
};

static bool is_detail(unsigned number)
{
	return number >= WTL_GPU_ON_REQUEST;
}

/* By a number of its own, not by a function that a driver may lack. */
static bool is_field(unsigned number)
{
	return number == WTL_GPU_RECOVERY_ACTION || number == WTL_GPU_EDPP_MICROPERCENT ||
	       number == WTL_GPU_PCIE_REPLAY_ROLLOVERS ||
	       (number >= WTL_GPU_SHUTDOWN_MARGIN_C && number <= WTL_GPU_MAX_OPERATING_MARGIN_C);
}

/* What every GPU of the fake has. */
static bool is_always_known(unsigned number)
{
	return number == WTL_GPU_ARCHITECTURE || number == WTL_GPU_MINOR_NUMBER;
}

/* ---- All of it ---- */

static void everything(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	reading_start_own(
		&reading, ONE_GPU
		"  value field:230:0 4\n  value field:274:0 85\n"
		"  value nvmlDeviceGetVirtualizationMode 3\n"
		"  value nvmlDeviceGetBrand 13\n  value nvmlDeviceGetMultiGpuBoard 1\n"
		"  value nvmlDeviceGetBoardId 0x8300\n  value nvmlDeviceGetPdi 0xdcf1ff36c40bd6cb\n"
		"  value nvmlDeviceGetBBXTimeData_v1 13572809\n"
		"  value nvmlDeviceGetPcieReplayCounter 9\n  value field:95:0 8\n"
		"  value nvmlDeviceGetBAR1MemoryInfo 256 41 215\n"
		"  value nvmlDeviceGetFBCStats 31 32 33\n  value nvmlDeviceGetRepairStatus 0 1\n"
		"  value nvmlDeviceGetMaxCustomerBoostClock:0 1980\n"
		"  value nvmlDeviceGetTemperatureThreshold:0 100\n"
		"  value nvmlDeviceGetTemperatureThreshold:1 97\n"
		"  value nvmlDeviceGetTemperatureThreshold:2 95\n"
		"  value nvmlDeviceGetTemperatureThreshold:3 89\n"
		"  value nvmlDeviceGetTemperatureThreshold:5 84\n"
		"  value field:193:0 -8\n  value field:194:0 -2\n  value field:195:0 3\n"
		"  value field:196:0 0\n  value nvmlDeviceGetBoardPartNumber 900-2G133\n"
		"  value nvmlDeviceGetGspFirmwareVersion 610.57.04\n"
		"  value nvmlDeviceGetRemappedRows_v2 1 2 3 4 1 0\n"
		"  value nvmlDeviceGetSramEccErrorStatus 11 12 13 14 15 16 17 18 19 20 21 1\n"
		"  value nvmlDeviceGetPlatformInfo 14 4 1 1 2 0x034c4931ff7d1c4f 1820000000001\n");
	gpu = reading_at(&reading, 1, DETAILS);
	reading_check(gpu, WTL_GPU_RECOVERY_ACTION, WTL_RECOVERY_DRAIN_AND_RESET);
	reading_check(gpu, WTL_GPU_EDPP_MICROPERCENT, 85000000);
	reading_check(gpu, WTL_GPU_VIRTUALIZATION, WTL_VIRTUALIZATION_HOST_VGPU);
	reading_check(gpu, WTL_GPU_REMAPPED_CORRECTABLE_INACTIVE, 2);
	reading_check(gpu, WTL_GPU_REMAPPED_UNCORRECTABLE_INACTIVE, 4);
	reading_check(gpu, WTL_GPU_ECC_SRAM_PARITY_AGGREGATE, 11);
	reading_check(gpu, WTL_GPU_ECC_SRAM_SECDED_AGGREGATE, 12);
	reading_check(gpu, WTL_GPU_ECC_SRAM_PARITY_VOLATILE, 14);
	reading_check(gpu, WTL_GPU_ECC_SRAM_SECDED_VOLATILE, 15);
	reading_check(gpu, WTL_GPU_ECC_SRAM_L2, 17);
	reading_check(gpu, WTL_GPU_ECC_SRAM_SM, 18);
	reading_check(gpu, WTL_GPU_ECC_SRAM_PCIE, 19);
	reading_check(gpu, WTL_GPU_ECC_SRAM_MICROCONTROLLER, 20);
	reading_check(gpu, WTL_GPU_ECC_SRAM_OTHER, 21);
	reading_check(gpu, WTL_GPU_ECC_SRAM_EXCEEDED, 1);
	reading_check(gpu, WTL_GPU_PLATFORM_SLOT, 14);
	reading_check(gpu, WTL_GPU_PLATFORM_TRAY, 4);
	reading_check(gpu, WTL_GPU_PLATFORM_HOST, 1);
	reading_check(gpu, WTL_GPU_PLATFORM_PEER, 1);
	reading_check(gpu, WTL_GPU_PLATFORM_GUID, UINT64_C(0x034c4931ff7d1c4f));
	assert_string_equal(gpu->chassis_serial, "1820000000001");
	reading_check(gpu, WTL_GPU_BRAND, 13);
	reading_check(gpu, WTL_GPU_ARCHITECTURE, 7);
	reading_check(gpu, WTL_GPU_MINOR_NUMBER, 0);
	reading_check(gpu, WTL_GPU_MULTI_GPU_BOARD, 1);
	reading_check(gpu, WTL_GPU_BOARD_ID, 0x8300);
	reading_check(gpu, WTL_GPU_PDI, UINT64_C(0xdcf1ff36c40bd6cb));
	reading_check(gpu, WTL_GPU_TIME_RUN_S, 13572809);
	reading_check(gpu, WTL_GPU_PCIE_REPLAYS, 9);
	reading_check(gpu, WTL_GPU_PCIE_REPLAY_ROLLOVERS, 8);
	reading_check(gpu, WTL_GPU_BAR1_TOTAL_BYTES, UINT64_C(256) << 20);
	reading_check(gpu, WTL_GPU_BAR1_USED_BYTES, UINT64_C(41) << 20);
	reading_check(gpu, WTL_GPU_BAR1_FREE_BYTES, UINT64_C(215) << 20);
	reading_check(gpu, WTL_GPU_CAPTURE_SESSIONS, 31);
	reading_check(gpu, WTL_GPU_CAPTURE_FPS, 32);
	reading_check(gpu, WTL_GPU_CAPTURE_LATENCY_US, 33);
	reading_check(gpu, WTL_GPU_CHANNEL_REPAIR_PENDING, 0);
	reading_check(gpu, WTL_GPU_TPC_REPAIR_PENDING, 1);
	reading_check(gpu, WTL_GPU_CLOCK_GRAPHICS_BOOST_MAX_MHZ, 1980);
	reading_check(gpu, WTL_GPU_SHUTDOWN_C, 100);
	reading_check(gpu, WTL_GPU_SLOWDOWN_C, 97);
	reading_check(gpu, WTL_GPU_MEMORY_MAX_OPERATING_C, 95);
	reading_check(gpu, WTL_GPU_MAX_OPERATING_C, 89);
	reading_check(gpu, WTL_GPU_TARGET_C, 84);
	reading_check(gpu, WTL_GPU_SHUTDOWN_MARGIN_C, (uint64_t)-8);
	reading_check(gpu, WTL_GPU_SLOWDOWN_MARGIN_C, (uint64_t)-2);
	reading_check(gpu, WTL_GPU_MEMORY_MAX_OPERATING_MARGIN_C, 3);
	reading_check(gpu, WTL_GPU_MAX_OPERATING_MARGIN_C, 0);
	assert_string_equal(gpu->board_part, "900-2G133");
	assert_string_equal(gpu->gsp_firmware, "610.57.04");
	/* No other call than what was asked for. */
	reading_check_not(gpu, WTL_GPU_INFOROM_VALID, WATTLE_STATUS_ABSENT, 0);
	reading_check_not(gpu, WTL_GPU_POWER_UW, WATTLE_STATUS_ABSENT, 0);
	assert_int_equal(reading.nv.calls("nvmlDeviceValidateInforom"), 0);
	reading_done(&reading);
}

/* Who does not ask for them does not pay for them. */
static void only_on_request(void **state)
{
	static const char *const calls[] = {
		"nvmlDeviceGetVirtualizationMode", "nvmlDeviceGetRemappedRows_v2",
		"nvmlDeviceGetSramEccErrorStatus", "nvmlDeviceGetGpuFabricInfoV",
		"nvmlDeviceGetPlatformInfo",	   "nvmlDeviceValidateInforom",
	};
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	reading_start(&reading, "capture-h100-load");
	gpu = reading_at(&reading, 1,
			 WTL_GPU_READ_NUMBERS | WTL_GPU_READ_PCIE | WTL_GPU_READ_PROCESSES |
				 WTL_GPU_READ_USE);
	for (size_t i = 0; i < UNIT_COUNT(calls); i++)
		assert_int_equal(reading.nv.calls(calls[i]), 0);
	for (unsigned i = 0; i < WTL_GPU_NUMBERS; i++)
		if (is_detail(i))
			reading_check_not(gpu, i, WATTLE_STATUS_ABSENT, 0);
	reading_at(&reading, 2, DETAILS);
	for (size_t i = 0; i < UNIT_COUNT(calls); i++)
		assert_int_equal(reading.nv.calls(calls[i]), i < 5);
	reading_done(&reading);
}

/* ---- Old drivers and failures ---- */

/* A library without the functions; then one that refuses them. Neither is asked again within a minute. */
static void old_drivers(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	reading_start_own(&reading,
			  "missing nvmlDeviceGetVirtualizationMode nvmlDeviceGetRemappedRows_v2 "
			  "nvmlDeviceGetSramEccErrorStatus nvmlDeviceGetGpuFabricInfoV\n"
			  "missing nvmlDeviceGetGpuFabricInfo nvmlDeviceGetPlatformInfo "
			  "nvmlDeviceValidateInforom nvmlDeviceGetBrand nvmlDeviceGetArchitecture\n"
			  "missing nvmlDeviceGetMinorNumber nvmlDeviceGetMultiGpuBoard "
			  "nvmlDeviceGetBoardId nvmlDeviceGetPdi nvmlDeviceGetBBXTimeData_v1\n"
			  "missing nvmlDeviceGetPcieReplayCounter nvmlDeviceGetBAR1MemoryInfo "
			  "nvmlDeviceGetFBCStats nvmlDeviceGetTemperatureThreshold\n"
			  "missing nvmlDeviceGetMaxCustomerBoostClock nvmlDeviceGetRepairStatus "
			  "nvmlDeviceGetBoardPartNumber nvmlDeviceGetGspFirmwareVersion\n" ONE_GPU
			  "  answer field:230:0 INVALID_ARGUMENT\n");
	gpu = reading_at(&reading, 1, DETAILS | WTL_GPU_READ_INFOROM);
	assert_int_equal(gpu->status, WATTLE_STATUS_OK);
	for (unsigned i = 0; i < WTL_GPU_NUMBERS; i++)
		if (is_detail(i) && !is_field(i) && i != WTL_GPU_PCIE_GEN_HOST_MAX)
			reading_check_not(gpu, i, WATTLE_STATUS_ABSENT,
					  WTL_NVML_FUNCTION_NOT_FOUND);
	reading_check_not(gpu, WTL_GPU_RECOVERY_ACTION, WATTLE_STATUS_ABSENT, 2);
	reading_check_not(gpu, WTL_GPU_EDPP_MICROPERCENT, WATTLE_STATUS_ABSENT, 3);
	assert_string_equal(gpu->chassis_serial, "");
	reading_done(&reading);

	reading_start_own(&reading, ONE_GPU);
	gpu = reading_at(&reading, 1, DETAILS | WTL_GPU_READ_INFOROM);
	for (unsigned i = 0; i < WTL_GPU_NUMBERS; i++)
		if (is_detail(i) && !is_always_known(i))
			reading_check_not(gpu, i, WATTLE_STATUS_ABSENT, WTL_NVML_NOT_SUPPORTED);
	reading_at(&reading, 30, DETAILS | WTL_GPU_READ_INFOROM);
	assert_int_equal(reading.nv.calls("nvmlDeviceGetSramEccErrorStatus"), 1);
	assert_int_equal(reading.nv.calls("nvmlDeviceGetGpuFabricInfoV"), 1);
	assert_int_equal(reading.nv.calls("nvmlDeviceGetPlatformInfo"), 1);
	assert_int_equal(reading.nv.calls("nvmlDeviceValidateInforom"), 1);
	assert_int_equal(reading.nv.calls("nvmlDeviceGetFieldValues"), 1);
	reading_at(&reading, 62, DETAILS);
	assert_int_equal(reading.nv.calls("nvmlDeviceGetSramEccErrorStatus"), 2);
	reading_done(&reading);
}

/* SRAM errors are for root; a failure is tried again. */
static void denied_and_failed(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	reading_start_own(&reading,
			  ONE_GPU "  answer nvmlDeviceGetSramEccErrorStatus NO_PERMISSION\n"
				  "  answer nvmlDeviceGetPlatformInfo UNKNOWN until 2\n"
				  "  value nvmlDeviceGetPlatformInfo 0 0 1 0 1 0\n");
	gpu = reading_at(&reading, 1, DETAILS);
	reading_check_not(gpu, WTL_GPU_ECC_SRAM_L2, WATTLE_STATUS_DENIED, 4);
	reading_check_not(gpu, WTL_GPU_ECC_SRAM_EXCEEDED, WATTLE_STATUS_DENIED, 4);
	reading_check_not(gpu, WTL_GPU_PLATFORM_SLOT, WATTLE_STATUS_FAILED, 999);
	gpu = reading_at(&reading, 3, DETAILS);
	reading_check(gpu, WTL_GPU_PLATFORM_SLOT, 0);
	reading_check(gpu, WTL_GPU_PLATFORM_HOST, 1);
	reading_done(&reading);
}

/* The GPU is lost in the midst of it, at each of the calls: the row says so. */
static void lost_between(void **state)
{
	static const char *const functions[] = {
		"nvmlDeviceGetFieldValues",	   "field:230:0",
		"nvmlDeviceGetVirtualizationMode", "nvmlDeviceGetRemappedRows_v2",
		"nvmlDeviceGetSramEccErrorStatus", "nvmlDeviceGetGpuFabricInfoV",
		"nvmlDeviceGetPlatformInfo",	   "nvmlDeviceValidateInforom",
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(functions); i++) {
		struct reading reading;
		const struct wtl_gpu *gpu;
		char text[256];

		snprintf(text, sizeof(text), ONE_GPU "  answer %s GPU_IS_LOST\n", functions[i]);
		reading_start_own(&reading, text);
		gpu = reading_at(&reading, 1, DETAILS | WTL_GPU_READ_INFOROM);
		assert_int_equal(gpu->status, WATTLE_STATUS_GONE);
		reading_check_not(gpu, WTL_GPU_FABRIC_STATE, WATTLE_STATUS_GONE, 15);
		reading_check_not(gpu, WTL_GPU_PLATFORM_GUID, WATTLE_STATUS_GONE, 15);
		reading_done(&reading);
	}
}

/* ---- Fabric ---- */

static const struct wtl_gpu *fabric(struct reading *reading, const char *before, const char *value)
{
	char text[512];

	snprintf(text, sizeof(text), "%s" ONE_GPU "  value nvmlDeviceGetGpuFabricInfoV %s\n",
		 before, value);
	reading_start_own(reading, text);
	return reading_at(reading, 1, DETAILS);
}

static void a_healthy_fabric(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	/* Each part says no; the configuration is right; no word of a partition. */
	gpu = fabric(&reading, "", "3 0 32766 0x1aa 1 dc6e40c4-d722-4357-9ba6-5291dd461278");
	reading_check(gpu, WTL_GPU_FABRIC_STATE, 3);
	reading_check(gpu, WTL_GPU_FABRIC_CLIQUE, 32766);
	reading_check(gpu, WTL_GPU_FABRIC_HEALTH, 1);
	reading_check(gpu, WTL_GPU_FABRIC_DEGRADED, 0);
	reading_check(gpu, WTL_GPU_FABRIC_RECOVERING, 0);
	reading_check(gpu, WTL_GPU_FABRIC_BAD_ROUTE, 0);
	reading_check(gpu, WTL_GPU_FABRIC_TIMED_OUT, 0);
	reading_check(gpu, WTL_GPU_FABRIC_MISCONFIGURED, WTL_MISCONFIGURED_NONE);
	reading_check_not(gpu, WTL_GPU_FABRIC_PARTITION, WATTLE_STATUS_ABSENT, 3);
	assert_string_equal(gpu->fabric_cluster, "dc6e40c4-d722-4357-9ba6-5291dd461278");
	assert_string_equal(gpu->fabric_status, "Success");
	reading_done(&reading);
}

static void an_unhealthy_fabric(void **state)
{
	static const enum wtl_gpu_number flags[] = {
		WTL_GPU_FABRIC_DEGRADED, WTL_GPU_FABRIC_RECOVERING, WTL_GPU_FABRIC_BAD_ROUTE,
		WTL_GPU_FABRIC_TIMED_OUT};
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	/* All is wrong: yes, yes, yes, yes, no partition (4), and one is assigned. */
	gpu = fabric(&reading, "", "3 0 2 0x1455 2");
	for (size_t i = 0; i < UNIT_COUNT(flags); i++)
		reading_check(gpu, flags[i], 1);
	reading_check(gpu, WTL_GPU_FABRIC_MISCONFIGURED, WTL_MISCONFIGURED_NO_PARTITION);
	reading_check(gpu, WTL_GPU_FABRIC_PARTITION, 1);
	reading_check(gpu, WTL_GPU_FABRIC_HEALTH, 2);
	assert_string_equal(gpu->fabric_cluster, "00000000-0000-0000-0000-000000000000");
	reading_done(&reading);
	/* A value that no driver has today is not taken for a no. */
	gpu = fabric(&reading, "", "3 0 2 0x3 1");
	reading_check_not(gpu, WTL_GPU_FABRIC_DEGRADED, WATTLE_STATUS_ABSENT, 3);
	reading_done(&reading);
	/* The summary says that there is no health, as an H100's does. */
	gpu = fabric(&reading, "", "3 0 0 0x1aa 0");
	reading_check(gpu, WTL_GPU_FABRIC_CLIQUE, 0);
	for (size_t i = 1; i < UNIT_COUNT(fabric_parts); i++)
		reading_check_not(gpu, fabric_parts[i], WATTLE_STATUS_ABSENT, 3);
	reading_done(&reading);
}

/* What is not through has neither status nor clique. */
static void a_fabric_on_its_way(void **state)
{
	static const unsigned states[] = {0, 1, 2};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(states); i++) {
		struct reading reading;
		const struct wtl_gpu *gpu;
		char text[80];

		snprintf(text, sizeof(text), "%u 0 5 0x1aa 1", states[i]);
		gpu = fabric(&reading, "", text);
		if (states[i])
			reading_check(gpu, WTL_GPU_FABRIC_STATE, states[i]);
		else
			reading_check_not(gpu, WTL_GPU_FABRIC_STATE, WATTLE_STATUS_ABSENT, 3);
		for (size_t k = 0; k < UNIT_COUNT(fabric_parts); k++)
			reading_check_not(gpu, fabric_parts[k], WATTLE_STATUS_ABSENT, 3);
		assert_string_equal(gpu->fabric_status, "");
		reading_done(&reading);
	}
}

/* The driver's own words for what went wrong; a number where it has none. */
static void words_of_a_failed_fabric(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	gpu = fabric(&reading, "", "3 23 0 0 0");
	assert_string_equal(gpu->fabric_status, "Insufficient Resources");
	reading_done(&reading);
	gpu = fabric(&reading, "missing nvmlErrorString\n", "3 23 0 0 0");
	assert_string_equal(gpu->fabric_status, "Error 23");
	reading_check(gpu, WTL_GPU_FABRIC_CLIQUE, 0);
	reading_done(&reading);
}

/* Drivers 550 to 570 know version 2, which has no summary; those before only the form without a version. */
static void old_forms_of_the_fabric(void **state)
{
	static const char value[] = "3 0 7 0x1aa 1 dc6e40c4-d722-4357-9ba6-5291dd461278\n"
				    "  value fabric-version 2";
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	gpu = fabric(&reading, "", value);
	assert_int_equal(reading.nv.calls("nvmlDeviceGetGpuFabricInfoV"), 2);
	reading_check(gpu, WTL_GPU_FABRIC_CLIQUE, 7);
	reading_check(gpu, WTL_GPU_FABRIC_DEGRADED, 0);
	reading_check(gpu, WTL_GPU_FABRIC_MISCONFIGURED, 0);
	reading_check_not(gpu, WTL_GPU_FABRIC_HEALTH, WATTLE_STATUS_ABSENT, 3);
	assert_string_equal(gpu->fabric_cluster, "dc6e40c4-d722-4357-9ba6-5291dd461278");
	reading_done(&reading);

	gpu = fabric(&reading, "missing nvmlDeviceGetGpuFabricInfoV\n", value);
	reading_check(gpu, WTL_GPU_FABRIC_STATE, 3);
	reading_check(gpu, WTL_GPU_FABRIC_CLIQUE, 7);
	assert_string_equal(gpu->fabric_cluster, "dc6e40c4-d722-4357-9ba6-5291dd461278");
	assert_string_equal(gpu->fabric_status, "Success");
	for (size_t i = 1; i < UNIT_COUNT(fabric_parts); i++)
		reading_check_not(gpu, fabric_parts[i], WATTLE_STATUS_ABSENT, 3);
	reading_done(&reading);

	gpu = fabric(&reading, "", "3 0 7 0 1\n  value fabric-version 1");
	reading_check_not(gpu, WTL_GPU_FABRIC_STATE, WATTLE_STATUS_ABSENT, 25);
	reading_done(&reading);
}

/* ---- Platform ---- */

static void forms_of_the_platform(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	reading_start_own(&reading,
			  ONE_GPU "  value platform-version 1\n"
				  "  value nvmlDeviceGetPlatformInfo 3 1 1 1 2 0x10 18200\n");
	gpu = reading_at(&reading, 1, DETAILS);
	assert_int_equal(reading.nv.calls("nvmlDeviceGetPlatformInfo"), 2);
	reading_check(gpu, WTL_GPU_PLATFORM_SLOT, 3);
	assert_string_equal(gpu->chassis_serial, "18200");
	reading_done(&reading);

	reading_start_own(&reading, ONE_GPU "  value platform-version 0\n"
					    "  value nvmlDeviceGetPlatformInfo 3 1 1 1 2 0x10\n");
	gpu = reading_at(&reading, 1, DETAILS);
	assert_int_equal(reading.nv.calls("nvmlDeviceGetPlatformInfo"), 2);
	reading_check_not(gpu, WTL_GPU_PLATFORM_SLOT, WATTLE_STATUS_ABSENT, 25);
	reading_done(&reading);

	/* A machine without trays; and a serial number that fills its place. */
	reading_start_own(&reading, ONE_GPU
			  "  value nvmlDeviceGetPlatformInfo 255 255 1 1 6 0x2 0123456789abcdef\n");
	gpu = reading_at(&reading, 1, DETAILS);
	reading_check_not(gpu, WTL_GPU_PLATFORM_SLOT, WATTLE_STATUS_ABSENT, 3);
	reading_check_not(gpu, WTL_GPU_PLATFORM_TRAY, WATTLE_STATUS_ABSENT, 3);
	reading_check(gpu, WTL_GPU_PLATFORM_HOST, 1);
	reading_check(gpu, WTL_GPU_PLATFORM_GUID, 2);
	assert_string_equal(gpu->chassis_serial, "0123456789abcdef");
	reading_done(&reading);
}

static int hostile_chassis(struct nv *nv, size_t function, struct wtl_lib_arg args[], int *answer)
{
	(void)nv;
	(void)answer;
	if (function == WTL_NVML_PLATFORM)
		memset(((struct wtl_nvml_platform *)args[1].memory)->chassis, '\033', 16);
	return 0;
}

static void a_hostile_serial_number(void **state)
{
	struct reading reading;

	(void)state;
	reading_start_own(&reading, ONE_GPU "  value nvmlDeviceGetPlatformInfo 0 0 1 0 1 0\n");
	reading.nv.twist = hostile_chassis;
	assert_string_equal(reading_at(&reading, 1, DETAILS)->chassis_serial, "????????????????");
	reading_done(&reading);
}

/* ---- Fields ---- */

static double edpp;

static int as_double(struct nv *nv, size_t function, struct wtl_lib_arg args[], int *answer)
{
	struct wtl_nvml_field *fields;

	(void)nv;
	(void)answer;
	if (function != WTL_NVML_FIELD_VALUES)
		return 0;
	fields = args[2].memory;
	for (uint64_t i = 0; i < args[1].word; i++)
		if (fields[i].field == WTL_NVML_FIELD_EDPP_MULTIPLIER) {
			fields[i].code = WTL_NVML_OK;
			fields[i].type = WTL_NVML_VALUE_DOUBLE;
			fields[i].value.real = edpp;
		}
	return 0;
}

static void a_multiplier_with_a_fraction(void **state)
{
	struct reading reading;

	(void)state;
	reading_start_own(&reading, ONE_GPU);
	reading.nv.twist = as_double;
	edpp = 87.5;
	reading_check(reading_at(&reading, 1, DETAILS), WTL_GPU_EDPP_MICROPERCENT, 87500000);
	edpp = -1;
	reading_check_not(reading_at(&reading, 2, DETAILS), WTL_GPU_EDPP_MICROPERCENT,
			  WATTLE_STATUS_FAILED, WTL_NVML_NO_DATA);
	reading_done(&reading);
}

static void millionths(void **state)
{
	static const struct {
		double real;
		bool is_good;
		uint64_t value;
	} reals[] = {
		{0, true, 0},
		{1e-7, true, 0},
		{0.0000015, true, 2},
		{100, true, 100000000},
		{1e12, true, UINT64_C(1000000000000000000)},
		{1.1e12, false, 0},
		{-0.5, false, 0},
		{__builtin_nan(""), false, 0},
		{__builtin_inf(), false, 0},
	};
	struct wtl_nvml_field field = {.type = WTL_NVML_VALUE_DOUBLE};
	uint64_t value;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(reals); i++) {
		field.value.real = reals[i].real;
		assert_int_equal(wtl_nvml_field_millionths(&field, &value), reals[i].is_good);
		if (reals[i].is_good)
			assert_int_equal(value, reals[i].value);
	}
	field = (struct wtl_nvml_field){.type = WTL_NVML_VALUE_U32, .value.u32 = 85};
	assert_true(wtl_nvml_field_millionths(&field, &value));
	assert_int_equal(value, 85000000);
	field = (struct wtl_nvml_field){.type = WTL_NVML_VALUE_U64, .value.u64 = UINT64_MAX};
	assert_false(wtl_nvml_field_millionths(&field, &value));
	field.type = 77;
	assert_false(wtl_nvml_field_millionths(&field, &value));
}

/* ---- Info ROM ---- */

static void info_rom(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	reading_start_own(&reading, ONE_GPU "  value nvmlDeviceValidateInforom 0\n"
					    "  answer nvmlDeviceValidateInforom 14 from 50\n");
	gpu = reading_at(&reading, 1, WTL_GPU_READ_INFOROM);
	reading_check(gpu, WTL_GPU_INFOROM_VALID, 1);
	/* It reads a flash: once a minute at most. */
	gpu = reading_at(&reading, 60, WTL_GPU_READ_INFOROM);
	reading_check(gpu, WTL_GPU_INFOROM_VALID, 1);
	assert_int_equal(reading.nv.calls("nvmlDeviceValidateInforom"), 1);
	gpu = reading_at(&reading, 62, WTL_GPU_READ_INFOROM);
	reading_check(gpu, WTL_GPU_INFOROM_VALID, 0);
	assert_int_equal(reading.nv.calls("nvmlDeviceValidateInforom"), 2);
	reading_done(&reading);

	reading_start_own(&reading, ONE_GPU "  answer nvmlDeviceValidateInforom UNKNOWN\n");
	gpu = reading_at(&reading, 1, WTL_GPU_READ_INFOROM);
	reading_check_not(gpu, WTL_GPU_INFOROM_VALID, WATTLE_STATUS_FAILED, 999);
	reading_at(&reading, 2, WTL_GPU_READ_INFOROM);
	assert_int_equal(reading.nv.calls("nvmlDeviceValidateInforom"), 2);
	reading_done(&reading);
}

/* ---- The host's end of the link ---- */

#define DEVICES "sys/devices/"

static void put_gpu(struct nv *nv, const char *way)
{
	static const char *const files[][2] = {{"vendor", "0x10de\n"}, {"class", "0x030200\n"}};
	char path[256], target[256];

	for (size_t i = 0; i < UNIT_COUNT(files); i++) {
		snprintf(path, sizeof(path), "/" DEVICES "%s/%s", way, files[i][0]);
		bench_write(&nv->bench, path, files[i][1]);
	}
	snprintf(target, sizeof(target), "../../../devices/%s", way);
	bench_link(&nv->bench, PCI "0000:0c:00.0", target);
}

static void put_port(struct nv *nv, const char *way, const char *speed)
{
	char path[256], target[256];
	const char *name = strrchr(way, '/') + 1;

	snprintf(path, sizeof(path), "/" DEVICES "%s/max_link_speed", way);
	bench_write(&nv->bench, path, speed);
	snprintf(path, sizeof(path), PCI "%s", name);
	snprintf(target, sizeof(target), "../../../devices/%s", way);
	bench_link(&nv->bench, path, target);
}

static void check_host(const char *mode, const char *speed, unsigned expected)
{
	struct reading reading;
	const struct wtl_gpu *gpu;
	char text[256];

	snprintf(text, sizeof(text), ONE_GPU "  value nvmlDeviceGetVirtualizationMode %s\n", mode);
	nv_empty_own(&reading.nv, text);
	put_port(&reading.nv, "pci0000:00/0000:00:03.1", speed);
	put_port(&reading.nv, "pci0000:00/0000:00:03.1/0000:0a:00.0", "2.5 GT/s PCIe\n");
	put_gpu(&reading.nv, "pci0000:00/0000:00:03.1/0000:0a:00.0/0000:0c:00.0");
	reading_open(&reading, nv_library());
	gpu = reading_at(&reading, 1, DETAILS);
	if (expected)
		reading_check(gpu, WTL_GPU_PCIE_GEN_HOST_MAX, expected);
	else
		reading_check_not(gpu, WTL_GPU_PCIE_GEN_HOST_MAX, WATTLE_STATUS_ABSENT, 3);
	reading_done(&reading);
}

/* The root port's generation, not that of a bridge between; none in a virtual machine. */
static void host_link(void **state)
{
	(void)state;
	check_host("0", "16.0 GT/s PCIe\n", 4);
	check_host("0", "64.0 GT/s PCIe\n", 6);
	check_host("3", "8 GT/s\n", 3);
	check_host("0", "Unknown\n", 0);
	check_host("1", "16.0 GT/s PCIe\n", 0);
	check_host("2", "16.0 GT/s PCIe\n", 0);
}

static void root_ports(void **state)
{
	static const struct {
		const char *link, *port;
	} cases[] = {
		{"../../../devices/pci0000:00/0000:00:01.1/0000:01:00.0", "0000:00:01.1"},
		{"../../../devices/pci0000:00/0000:00:01.1/0000:02:00.0/0000:03:00.0",
		 "0000:00:01.1"},
		{"../../../devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:01.0/10000:e1:00.0",
		 "10000:e0:01.0"},
		{"../../../devices/platform/soc/pci000f:00/000f:00:00.0/000f:01:00.0",
		 "000f:00:00.0"},
		{"../../../devices/pci0000:00/0000:00:09.0", NULL}, /* on the root bus */
		{"../../../devices/pci0000:00/../../etc/0000:01:00.0", NULL},
		{"../../../devices/pci0000:00/a b/0000:01:00.0", NULL},
		{"../../../devices/pci0000:00//0000:01:00.0", NULL},
		{"../../../devices/pci0000:00/0000000000000000000000000000000000000:1/0000:01:00.0",
		 NULL},
		{"pci", NULL},
		{"pci:", NULL},
		{"/", NULL},
		{"..", NULL},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		struct reading reading;
		char port[WTL_NVML_BUS_ID_SIZE] = "untouched";
		bool is_found;

		nv_empty(&reading.nv, "a100");
		bench_link(&reading.nv.bench, PCI "0000:01:00.0", cases[i].link);
		is_found =
			wtl_pci_root_port(&reading.nv.bench.io, "0000:01:00.0", port, sizeof(port));
		assert_string_equal(port, cases[i].port ? cases[i].port : "untouched");
		assert_int_equal(is_found, cases[i].port != NULL);
		assert_false(wtl_pci_root_port(&reading.nv.bench.io, "0000:02:00.0", port,
					       sizeof(port)));
		reading_open(&reading, "");
		reading_done(&reading);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything),
		cmocka_unit_test(only_on_request),
		cmocka_unit_test(old_drivers),
		cmocka_unit_test(denied_and_failed),
		cmocka_unit_test(lost_between),
		cmocka_unit_test(a_healthy_fabric),
		cmocka_unit_test(an_unhealthy_fabric),
		cmocka_unit_test(a_fabric_on_its_way),
		cmocka_unit_test(words_of_a_failed_fabric),
		cmocka_unit_test(old_forms_of_the_fabric),
		cmocka_unit_test(forms_of_the_platform),
		cmocka_unit_test(a_hostile_serial_number),
		cmocka_unit_test(a_multiplier_with_a_fraction),
		cmocka_unit_test(millionths),
		cmocka_unit_test(info_rom),
		cmocka_unit_test(host_link),
		cmocka_unit_test(root_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
