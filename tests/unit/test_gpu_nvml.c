/* SPDX-License-Identifier: MIT */
/* What NVIDIA's GPUs tell of themselves, by the fake library. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "base/err.h"
#include "gpu/abi.h"
#include "reading_bench.h"
#include "sensors/gpu_info.h"
#include "sensors/gpu_nvml.h"

/* ---- Everything is there ---- */

static void identity_and_numbers(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	reading_start(&reading, "h100");
	gpu = reading_gpu(&reading, 0);
	assert_string_equal(gpu->name, "NVIDIA H100 80GB HBM3");
	assert_string_equal(gpu->vendor, "nvidia");
	assert_string_equal(gpu->uuid, "GPU-7be2d1aa-90c1-4d8e-a9a0-70f1c2d3e4f5");
	assert_string_equal(gpu->bus_id, "00000000:1B:00.0");
	assert_string_equal(gpu->domain, "gpu-0");
	assert_string_equal(gpu->serial, "1654922000011");
	assert_string_equal(gpu->pci_device_id, "0x233010DE");
	assert_string_equal(gpu->pci_subsystem_id, "0x16C110DE");
	assert_string_equal(gpu->compute_capability, "9.0");
	assert_string_equal(gpu->driver, "550.90.07");
	assert_int_equal(gpu->pci_bus, 0x1b);
	assert_int_equal(gpu->status, WATTLE_STATUS_OK);
	/* Nothing else was asked for. */
	assert_int_equal(gpu->numbers[WTL_GPU_POWER_UW].status, WATTLE_STATUS_ABSENT);
	assert_string_equal(wtl_gpu_reader_driver_version(reading.reader), "550.90.07");
	assert_string_equal(wtl_gpu_reader_cuda_version(reading.reader), "12.4");
	assert_string_equal(wtl_gpu_reader_nvml_version(reading.reader), "12.550.90.07");
	assert_string_equal(wtl_gpu_reader_trouble(reading.reader), "");

	gpu = reading_at(&reading, 1, WTL_GPU_READ_NUMBERS);
	reading_check(gpu, WTL_GPU_POWER_UW, 77000000);
	reading_check(gpu, WTL_GPU_POWER_AVERAGE_UW, 77000000);
	reading_check(gpu, WTL_GPU_POWER_INSTANT_UW, 77000000);
	reading_check(gpu, WTL_GPU_MEMORY_POWER_AVERAGE_UW, 32340000);
	reading_check_not(gpu, WTL_GPU_MEMORY_POWER_INSTANT_UW, WATTLE_STATUS_ABSENT, 3);
	reading_check(gpu, WTL_GPU_ENERGY_UJ, 5077000000);
	reading_check(gpu, WTL_GPU_LIMIT_UW, 700000000);
	reading_check(gpu, WTL_GPU_LIMIT_MIN_UW, 200000000);
	reading_check(gpu, WTL_GPU_LIMIT_MAX_UW, 700000000);
	reading_check(gpu, WTL_GPU_USE_PERCENT, 88);
	reading_check(gpu, WTL_GPU_MEMORY_USE_PERCENT, 30);
	reading_check(gpu, WTL_GPU_MEMORY_TOTAL_BYTES, UINT64_C(81559) << 20);
	reading_check(gpu, WTL_GPU_MEMORY_RESERVED_BYTES, UINT64_C(551) << 20);
	reading_check(gpu, WTL_GPU_TEMPERATURE_C, 31);
	reading_check(gpu, WTL_GPU_MEMORY_TEMPERATURE_C, 40);
	reading_check(gpu, WTL_GPU_CLOCK_MEMORY_MHZ, 2619);
	reading_check(gpu, WTL_GPU_CLOCK_VIDEO_MAX_MHZ, 1545);
	reading_check(gpu, WTL_GPU_THROTTLE, WTL_THROTTLE_SW_POWER_CAP);
	reading_check(gpu, WTL_GPU_PSTATE, 0);
	reading_check(gpu, WTL_GPU_PERSISTENCE, 1);
	reading_check(gpu, WTL_GPU_MIG_MODE, 0);
	reading_check_not(gpu, WTL_GPU_FAN_PERCENT, WATTLE_STATUS_ABSENT, 3);
	reading_done(&reading);
}

/* Every value that a capture shows comes out as it stands there. */
static void a_capture(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	reading_start(&reading, "capture-rtx2080s-load");
	gpu = reading_at(&reading, 1, WTL_GPU_READ_NUMBERS | WTL_GPU_READ_PROCESSES);
	assert_string_equal(gpu->vbios, "90.04.7A.40.73");
	assert_string_equal(gpu->inforom_image, "G001.0000.02.04");
	assert_string_equal(gpu->inforom_oem, "1.1");
	assert_string_equal(gpu->inforom_ecc, "");
	assert_string_equal(gpu->serial, "");
	assert_string_equal(wtl_gpu_reader_cuda_version(reading.reader), "13.2");
	reading_check(gpu, WTL_GPU_POWER_UW, 111500000);
	reading_check_not(gpu, WTL_GPU_POWER_AVERAGE_UW, WATTLE_STATUS_ABSENT, 3);
	reading_check(gpu, WTL_GPU_POWER_INSTANT_UW, 111500000);
	reading_check_not(gpu, WTL_GPU_MODULE_LIMIT_UW, WATTLE_STATUS_ABSENT, 3);
	reading_check(gpu, WTL_GPU_MEMORY_TOTAL_BYTES, UINT64_C(8192) << 20);
	reading_check(gpu, WTL_GPU_MEMORY_USED_BYTES, UINT64_C(819) << 20);
	reading_check(gpu, WTL_GPU_MEMORY_FREE_BYTES, UINT64_C(6967) << 20);
	reading_check(gpu, WTL_GPU_ENCODER_PERCENT, 100);
	reading_check(gpu, WTL_GPU_JPEG_PERCENT, 0);
	reading_check(gpu, WTL_GPU_FAN_PERCENT, 38);
	reading_check(gpu, WTL_GPU_PSTATE, 2);
	reading_check(gpu, WTL_GPU_PCIE_GEN, 3);
	reading_check(gpu, WTL_GPU_PCIE_WIDTH_MAX, 16);
	reading_check(gpu, WTL_GPU_THROTTLE_KNOWN, 0x1ff);
	reading_check(gpu, WTL_GPU_THROTTLED_SW_POWER_CAP_NS, 221310321000);
	reading_check(gpu, WTL_GPU_ENCODER_SESSIONS, 2);
	reading_check(gpu, WTL_GPU_ENCODER_LATENCY_US, 99454);
	reading_check(gpu, WTL_GPU_ADDRESSING_MODE, 1);
	reading_check(gpu, WTL_GPU_DISPLAY_ACTIVE, 1);
	reading_check(gpu, WTL_GPU_PERSISTENCE, 0);
	reading_check(gpu, WTL_GPU_GSP_MODE, 1);
	reading_check_not(gpu, WTL_GPU_ECC_MODE, WATTLE_STATUS_ABSENT, 3);
	reading_check_not(gpu, WTL_GPU_REMAPPED_MAX, WATTLE_STATUS_ABSENT, 3);
	reading_check_not(gpu, WTL_GPU_CLOCK_GRAPHICS_APPLICATION_MHZ, WATTLE_STATUS_ABSENT, 26);
	assert_int_equal(gpu->n_processes, 4);
	assert_int_equal(gpu->processes[0].pid, 5268);
	assert_string_equal(gpu->processes[0].name, "ffmpeg");
	assert_int_equal(gpu->processes[0].memory_bytes, UINT64_C(370) << 20);
	assert_int_equal(gpu->processes[0].types, WTL_GPU_PROCESS_COMPUTE);
	assert_int_equal(gpu->processes[1].pid, 5267);
	assert_false(gpu->processes[1].has_use);
	assert_int_equal(gpu->processes[2].pid, 1696);
	assert_string_equal(gpu->processes[2].name, "/usr/bin/gnome-shell");
	assert_int_equal(gpu->processes[2].types, WTL_GPU_PROCESS_GRAPHICS);
	assert_int_equal(gpu->processes[3].memory_bytes, UINT64_C(3) << 20);
	reading_done(&reading);
}

static void ecc_and_rows(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	reading_start(&reading, "capture-h100-load");
	gpu = reading_at(&reading, 1, WTL_GPU_READ_NUMBERS);
	reading_check(gpu, WTL_GPU_ECC_MODE, 1);
	reading_check(gpu, WTL_GPU_ECC_PENDING, 1);
	reading_check(gpu, WTL_GPU_ECC_UNCORRECTED_AGGREGATE, 0);
	reading_check(gpu, WTL_GPU_ECC_SRAM_CORRECTED_VOLATILE, 0);
	reading_check(gpu, WTL_GPU_ECC_DRAM_UNCORRECTED_AGGREGATE, 0);
	reading_check(gpu, WTL_GPU_REMAPPED_MAX, 2560);
	reading_check(gpu, WTL_GPU_REMAPPED_FAILURE, 0);
	reading_check(gpu, WTL_GPU_TEMPERATURE_MARGIN_C, 26);
	reading_check(gpu, WTL_GPU_C2C_MODE, 0);
	reading_check(gpu, WTL_GPU_MODULE_ID, 7);
	reading_check(gpu, WTL_GPU_MEMORY_FREE_BYTES, UINT64_C(61263) << 20);
	reading_check(gpu, WTL_GPU_POWER_UW, 631950000);
	reading_check(gpu, WTL_GPU_POWER_INSTANT_UW, 625680000);
	reading_done(&reading);
}

static void mig_devices(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	reading_start(&reading, "capture-h100-mig-load");
	gpu = reading_at(&reading, 1,
			 WTL_GPU_READ_NUMBERS | WTL_GPU_READ_PROCESSES | WTL_GPU_READ_USE);
	reading_check(gpu, WTL_GPU_MIG_MODE, 1);
	reading_check_not(gpu, WTL_GPU_USE_PERCENT, WATTLE_STATUS_ABSENT, 3);
	reading_check_not(gpu, WTL_GPU_ENCODER_PERCENT, WATTLE_STATUS_ABSENT, 3);
	reading_check_not(gpu, WTL_GPU_OFA_PERCENT, WATTLE_STATUS_ABSENT, 3);
	assert_int_equal(gpu->n_migs, 4);
	assert_string_equal(gpu->migs[0].profile, "3g.40gb");
	assert_string_equal(gpu->migs[1].uuid, "MIG-00000001-0000-0000-0000-000000000001");
	assert_int_equal(gpu->migs[0].instance, 2);
	assert_int_equal(gpu->migs[3].instance, 10);
	assert_int_equal(gpu->migs[0].multiprocessors, 60);
	assert_int_equal(gpu->migs[0].memory_total_bytes, UINT64_C(40448) << 20);
	assert_int_equal(gpu->migs[0].memory_used_bytes, UINT64_C(11091) << 20);
	assert_int_equal(gpu->n_processes, 3);
	assert_int_equal(gpu->processes[2].instance, 2);
	assert_int_equal(gpu->processes[2].compute_instance, 0);
	assert_string_equal(gpu->processes[2].name, "./gpu_burn");
	/* No samples for the parent of MIG devices. */
	assert_false(gpu->processes[2].has_use);
	reading_done(&reading);
}

/* ---- Older drivers ---- */

static void pascal_has_power_only(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	reading_start(&reading, "pascal");
	gpu = reading_at(&reading, 1, WTL_GPU_READ_NUMBERS);
	assert_int_equal(gpu->numbers[WTL_GPU_POWER_UW].status, WATTLE_STATUS_OK);
	assert_int_equal(gpu->numbers[WTL_GPU_ENERGY_UJ].status, WATTLE_STATUS_ABSENT);
	reading_done(&reading);
}

/* No fields: the counter by its own function, also the second time. */
static void without_fields(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;
	uint64_t first;

	(void)state;
	reading_start(&reading, "no-fields");
	gpu = reading_at(&reading, 1, WTL_GPU_READ_NUMBERS);
	assert_int_equal(gpu->numbers[WTL_GPU_ENERGY_UJ].status, WATTLE_STATUS_OK);
	first = gpu->numbers[WTL_GPU_ENERGY_UJ].value;
	assert_int_equal(gpu->numbers[WTL_GPU_POWER_INSTANT_UW].status, WATTLE_STATUS_ABSENT);
	gpu = reading_at(&reading, 3, WTL_GPU_READ_NUMBERS);
	assert_true(gpu->numbers[WTL_GPU_ENERGY_UJ].value > first);
	reading_done(&reading);
}

/* The script's text below the first one, in a script of the test's own. */
#define ONE_GPU "gpu Fake\n  power 0 const 100\n  sensor usage gpu 100\n"

static void old_names_and_structs(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	reading_start_own(
		&reading,
		"missing nvmlDeviceGetMemoryInfo_v2 nvmlDeviceGetTemperatureV "
		"nvmlDeviceGetCurrentClocksEventReasons nvmlDeviceGetComputeRunningProcesses_v3\n"
		"missing nvmlSystemGetCudaDriverVersion_v2\n" ONE_GPU
		"  memory 1000 10 20\n  temperature 44\n  state 1 0 0x20\n"
		"  process 7 C 30\n  process 7 G 40\n  process 9 G -\n");
	gpu = reading_at(&reading, 1, WTL_GPU_READ_NUMBERS | WTL_GPU_READ_PROCESSES);
	reading_check(gpu, WTL_GPU_MEMORY_TOTAL_BYTES, UINT64_C(1000) << 20);
	reading_check(gpu, WTL_GPU_MEMORY_USED_BYTES, UINT64_C(100) << 20);
	reading_check_not(gpu, WTL_GPU_MEMORY_RESERVED_BYTES, WATTLE_STATUS_ABSENT, 13);
	reading_check(gpu, WTL_GPU_TEMPERATURE_C, 44);
	reading_check(gpu, WTL_GPU_THROTTLE, WTL_THROTTLE_SW_THERMAL);
	assert_string_equal(wtl_gpu_reader_cuda_version(reading.reader), "12.4");
	assert_int_equal(gpu->n_processes, 2);
	assert_int_equal(gpu->processes[0].types,
			 WTL_GPU_PROCESS_COMPUTE | WTL_GPU_PROCESS_GRAPHICS);
	assert_int_equal(gpu->processes[0].memory_bytes, UINT64_C(40) << 20);
	assert_int_equal(gpu->processes[1].pid, 9);
	assert_int_equal(gpu->processes[1].memory_bytes, UINT64_MAX);
	assert_int_equal(gpu->processes[1].types, WTL_GPU_PROCESS_GRAPHICS);
	reading_done(&reading);
}

static void oldest_process_lists(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	reading_start_own(&reading, "missing nvmlDeviceGetComputeRunningProcesses_v3 "
				    "nvmlDeviceGetComputeRunningProcesses_v2\n" ONE_GPU
				    "  process 7 C 30\n  process 8 C 31\n");
	gpu = reading_at(&reading, 1, WTL_GPU_READ_PROCESSES);
	assert_int_equal(gpu->n_processes, 2);
	assert_int_equal(gpu->processes[1].pid, 8);
	assert_int_equal(gpu->processes[1].memory_bytes, UINT64_C(31) << 20);
	assert_int_equal(gpu->processes[1].instance, UINT32_MAX);
	reading_done(&reading);
}

/* Drivers 535.43 to 535.86 write 32 bytes an entry. */
static void long_entries(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	reading_start(&reading, "stride535");
	gpu = reading_at(&reading, 1, WTL_GPU_READ_PROCESSES);
	assert_true(gpu->n_processes >= 2);
	for (size_t i = 0; i < gpu->n_processes; i++) {
		assert_true(gpu->processes[i].pid > 0);
		assert_int_equal(gpu->processes[i].instance, UINT32_MAX);
		assert_true(gpu->processes[i].memory_bytes < UINT64_C(1) << 40);
	}
	reading_done(&reading);
}

static int no_such_call(struct nv *nv, size_t function, struct wtl_lib_arg args[], int *answer)
{
	(void)nv;
	(void)args;
	(void)answer;
	return function == WTL_NVML_PSTATE || function == WTL_NVML_COMPUTE_V3 ? -ENOENT : 0;
}

/* A tape does not have every call: the number is not there, which does not make the GPU one that is
 * gone. */
static void calls_that_a_tape_has_not(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	reading_start(&reading, "h100");
	reading.nv.twist = no_such_call;
	gpu = reading_at(&reading, 1, WTL_GPU_READ_NUMBERS | WTL_GPU_READ_PROCESSES);
	assert_int_equal(gpu->status, WATTLE_STATUS_OK);
	reading_check_not(gpu, WTL_GPU_PSTATE, WATTLE_STATUS_ABSENT, -ENOENT);
	reading_check(gpu, WTL_GPU_TEMPERATURE_C, 31);
	assert_int_equal(gpu->processes_status, WATTLE_STATUS_ABSENT);
	assert_int_equal(wtl_gpu_nvml_part_status(WTL_NVML_GPU_IS_LOST), WATTLE_STATUS_GONE);
	assert_int_equal(wtl_gpu_nvml_part_status(WTL_NVML_NOT_FOUND), WATTLE_STATUS_ABSENT);
	assert_int_equal(wtl_gpu_nvml_part_status(WTL_NVML_NO_PERMISSION), WATTLE_STATUS_DENIED);
	reading_done(&reading);
}

/* More than there is room for at first. */
static void many_processes(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;
	char text[4096] = ONE_GPU;
	size_t len = strlen(text);

	(void)state;
	for (int i = 0; i < 60; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "process %d C 10\n",
					1000 + i);
	reading_start_own(&reading, text);
	gpu = reading_at(&reading, 1, WTL_GPU_READ_PROCESSES);
	assert_int_equal(gpu->n_processes, 60);
	assert_int_equal(gpu->processes[59].pid, 1059);
	reading_done(&reading);
}

static void names_of_processes(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;
	const char *root;

	(void)state;
	reading_start_own(&reading, ONE_GPU "process 7 C 1\nprocess 8 C 1\nprocess 9 C 1\n"
					    "process 10 C 1\nprocess-name 7 by-nvml\n");
	root = reading.nv.bench.root;
	unit_write(root, "proc/7/stat", "7 (x) S\n");
	unit_write(root, "proc/8/stat", "8 (x) S\n");
	unit_write_bytes(root, "proc/8/cmdline", "/bin/\033evil\0-x\0", 14);
	unit_write(root, "proc/9/stat", "9 (x) S\n");
	unit_symlink(root, "proc/9/exe", "/usr/bin/python3");
	gpu = reading_at(&reading, 1, WTL_GPU_READ_PROCESSES);
	assert_string_equal(gpu->processes[0].name, "by-nvml");
	assert_string_equal(gpu->processes[1].name, "/bin/?evil");
	assert_string_equal(gpu->processes[2].name, "/usr/bin/python3");
	assert_true(gpu->processes[2].is_visible);
	assert_string_equal(gpu->processes[3].name, "host pid 10, not visible here");
	assert_false(gpu->processes[3].is_visible);
	reading_close(&reading);

	/* In a PID namespace of its own the numbers mean other processes. */
	unit_symlink(root, "proc/self/ns/pid", "pid:[4026532448]");
	reading_open(&reading, nv_library());
	gpu = reading_at(&reading, 2, WTL_GPU_READ_PROCESSES);
	assert_string_equal(gpu->processes[0].name, "host pid 7, not visible here");
	assert_false(gpu->processes[1].is_visible);
	reading_close(&reading);

	/* But not where /proc is the host's. */
	unit_write(root, "proc/2/comm", "kthreadd\n");
	reading_open(&reading, nv_library());
	gpu = reading_at(&reading, 3, WTL_GPU_READ_PROCESSES);
	assert_true(gpu->processes[1].is_visible);
	reading_done(&reading);
}

/* ---- Use of processes ---- */

static void use_of_processes(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	reading_start(&reading, "h100");
	gpu = reading_at(&reading, 5.5, WTL_GPU_READ_PROCESSES | WTL_GPU_READ_USE);
	assert_int_equal(gpu->n_processes, 2);
	assert_true(gpu->processes[0].has_use);
	assert_int_equal(gpu->processes[0].sm_percent, 60);
	assert_int_equal(gpu->processes[1].sm_percent, 28);
	assert_int_equal(gpu->processes[1].memory_percent, 10);

	/* Nothing new yet: the last samples stand for a while. */
	gpu = reading_at(&reading, 5.6, WTL_GPU_READ_PROCESSES | WTL_GPU_READ_USE);
	assert_int_equal(gpu->processes[0].sm_percent, 60);
	assert_int_equal(gpu->processes[1].sm_percent, 28);

	/* The second ended at 9 s. */
	gpu = reading_at(&reading, 12.5, WTL_GPU_READ_PROCESSES | WTL_GPU_READ_USE);
	assert_int_equal(gpu->n_processes, 1);
	assert_int_equal(gpu->processes[0].sm_percent, 60);
	reading_done(&reading);
}

static void use_by_the_old_function(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	reading_start_own(&reading, "missing nvmlDeviceGetProcessesUtilizationInfo\n" ONE_GPU
				    "process 7 C 10 33 4 5 6\nprocess 8 C 10\n");
	gpu = reading_at(&reading, 5.5, WTL_GPU_READ_PROCESSES | WTL_GPU_READ_USE);
	assert_int_equal(gpu->processes[0].sm_percent, 33);
	assert_int_equal(gpu->processes[0].decoder_percent, 6);
	/* Who has no sample did nothing. */
	assert_true(gpu->processes[1].has_use);
	assert_int_equal(gpu->processes[1].sm_percent, 0);
	reading_done(&reading);
}

/* Rubbish that drivers give now and then. */
static int absurd(struct nv *nv, size_t function, struct wtl_lib_arg args[], int *answer)
{
	(void)nv;
	(void)answer;
	if (function == WTL_NVML_USES)
		((struct wtl_nvml_use *)args[2].memory)->sm = 4000000;
	return 0;
}

static void absurd_use_is_dropped(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	reading_start(&reading, "h100");
	reading.nv.twist = absurd;
	gpu = reading_at(&reading, 5.5, WTL_GPU_READ_PROCESSES | WTL_GPU_READ_USE);
	assert_int_equal(gpu->processes[0].sm_percent, 0);
	assert_int_equal(gpu->processes[1].sm_percent, 28);
	reading_done(&reading);
}

/* ---- PCIe ---- */

static void pcie_throughput(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	reading_start(&reading, "capture-l40s-load");
	gpu = reading_at(&reading, 1, WTL_GPU_READ_NUMBERS);
	assert_int_equal(reading.nv.calls("nvmlDeviceGetPcieThroughput"), 0);
	gpu = reading_at(&reading, 2, WTL_GPU_READ_PCIE);
	assert_int_equal(reading.nv.calls("nvmlDeviceGetPcieThroughput"), 2);
	assert_int_equal(gpu->numbers[WTL_GPU_PCIE_TX_BYTES_PER_S].status, WATTLE_STATUS_OK);
	assert_int_equal(gpu->numbers[WTL_GPU_PCIE_TX_BYTES_PER_S].value % 1000, 0);
	reading_done(&reading);
}

static uint32_t pcie_count;

static int count_pcie(struct nv *nv, size_t function, struct wtl_lib_arg args[], int *answer)
{
	struct wtl_nvml_field *fields;

	(void)nv;
	(void)answer;
	if (function != WTL_NVML_FIELD_VALUES)
		return 0;
	fields = args[2].memory;
	if (fields[0].field != WTL_NVML_FIELD_PCIE_TX_BYTES)
		return 0;
	for (unsigned i = 0; i < 2; i++) {
		fields[i].code = WTL_NVML_OK;
		fields[i].type = WTL_NVML_VALUE_U32;
		fields[i].value.u32 = pcie_count * (i + 1);
	}
	return 0;
}

/* With byte counters, which wrap: the mean between two readings, and nothing blocks. */
static void pcie_counters(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	reading_start(&reading, "a100");
	reading.nv.twist = count_pcie;
	pcie_count = UINT32_MAX - 999;
	reading_at(&reading, 1, WTL_GPU_READ_PCIE);
	assert_int_equal(reading.nv.calls("nvmlDeviceGetPcieThroughput"), 2);
	pcie_count = 3000;
	gpu = reading_at(&reading, 3, WTL_GPU_READ_PCIE);
	assert_int_equal(reading.nv.calls("nvmlDeviceGetPcieThroughput"), 2);
	reading_check(gpu, WTL_GPU_PCIE_TX_BYTES_PER_S, 2000);
	reading_check(gpu, WTL_GPU_PCIE_RX_BYTES_PER_S, 4000);
	/* Too soon for a rate: the last one stands. */
	pcie_count = 9000;
	gpu = reading_at(&reading, 3.001, WTL_GPU_READ_PCIE);
	reading_check(gpu, WTL_GPU_PCIE_TX_BYTES_PER_S, 2000);
	reading_done(&reading);
}

/* ---- Trouble ---- */

static void refusals_are_not_repeated(void **state)
{
	struct reading reading;
	unsigned long calls;

	(void)state;
	reading_start(&reading, "a100");
	reading_at(&reading, 1, WTL_GPU_READ_NUMBERS);
	calls = reading.nv.calls("nvmlDeviceGetEccMode");
	assert_int_equal(calls, 1);
	reading_at(&reading, 2, WTL_GPU_READ_NUMBERS);
	assert_int_equal(reading.nv.calls("nvmlDeviceGetEccMode"), 1);
	assert_int_equal(reading.nv.calls("nvmlDeviceGetPowerUsage"), 2);
	reading_at(&reading, 62, WTL_GPU_READ_NUMBERS);
	assert_int_equal(reading.nv.calls("nvmlDeviceGetEccMode"), 2);
	reading_done(&reading);
}

static void permission_is_told_apart(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	reading_start_own(&reading, ONE_GPU
			  "  answer nvmlDeviceGetUtilizationRates NO_PERMISSION\n"
			  "  answer field:186:0 NO_PERMISSION\n"
			  "  answer nvmlDeviceGetComputeRunningProcesses_v3 NO_PERMISSION\n");
	gpu = reading_at(&reading, 1, WTL_GPU_READ_NUMBERS | WTL_GPU_READ_PROCESSES);
	assert_int_equal(gpu->status, WATTLE_STATUS_OK);
	reading_check_not(gpu, WTL_GPU_USE_PERCENT, WATTLE_STATUS_DENIED, 4);
	reading_check_not(gpu, WTL_GPU_POWER_INSTANT_UW, WATTLE_STATUS_DENIED, 4);
	reading_check(gpu, WTL_GPU_POWER_UW, 100000000);
	assert_int_equal(gpu->processes_status, WATTLE_STATUS_DENIED);
	assert_int_equal(gpu->n_processes, 0);
	reading_done(&reading);
}

/* One of two is lost and comes back: its row stays, and the other one does not notice. */
static void lost_and_back(void **state)
{
	struct reading reading;

	(void)state;
	reading_start_own(&reading,
			  ONE_GPU "  uuid GPU-1\n  lost from 2 until 5\n" ONE_GPU "  uuid GPU-2\n");
	reading_at(&reading, 1, WTL_GPU_READ_NUMBERS);
	reading_check(reading_gpu(&reading, 0), WTL_GPU_POWER_UW, 100000000);
	reading_at(&reading, 3, WTL_GPU_READ_NUMBERS | WTL_GPU_READ_PROCESSES);
	assert_int_equal(reading_gpu(&reading, 0)->status, WATTLE_STATUS_GONE);
	assert_int_equal(reading_gpu(&reading, 0)->code, WTL_NVML_GPU_IS_LOST);
	assert_non_null(strstr(reading_gpu(&reading, 0)->trouble, "lost"));
	assert_string_equal(reading_gpu(&reading, 0)->uuid, "GPU-1");
	reading_check_not(reading_gpu(&reading, 0), WTL_GPU_POWER_UW, WATTLE_STATUS_GONE, 15);
	assert_int_equal(reading_gpu(&reading, 0)->processes_status, WATTLE_STATUS_GONE);
	reading_check(reading_gpu(&reading, 1), WTL_GPU_POWER_UW, 100000000);
	reading_at(&reading, 6, WTL_GPU_READ_NUMBERS);
	assert_int_equal(reading_gpu(&reading, 0)->status, WATTLE_STATUS_OK);
	assert_string_equal(reading_gpu(&reading, 0)->trouble, "");
	reading_check(reading_gpu(&reading, 0), WTL_GPU_POWER_UW, 100000000);
	reading_done(&reading);
}

static void lost_at_the_start(void **state)
{
	struct reading reading;

	(void)state;
	reading_start_own(&reading, ONE_GPU "  lost\n" ONE_GPU);
	assert_int_equal(reading_gpu(&reading, 0)->status, WATTLE_STATUS_GONE);
	assert_string_equal(reading_gpu(&reading, 0)->domain, "gpu-0");
	assert_int_equal(reading_gpu(&reading, 1)->status, WATTLE_STATUS_OK);
	assert_string_equal(reading_gpu(&reading, 1)->domain, "gpu-1");
	reading_at(&reading, 3, WTL_GPU_READ_NUMBERS);
	assert_int_equal(reading_gpu(&reading, 0)->status, WATTLE_STATUS_GONE);
	reading_done(&reading);
}

/* The driver is unloaded and loaded again: NVML is started anew, and all GPUs are found again. */
static void driver_reload(void **state)
{
	struct reading reading;
	const struct wtl_gpu *gpu;

	(void)state;
	reading_start_own(&reading, "answer * DRIVER_NOT_LOADED from 2 until 5\n" ONE_GPU ONE_GPU);
	reading_at(&reading, 1, WTL_GPU_READ_NUMBERS);
	gpu = reading_at(&reading, 3, WTL_GPU_READ_NUMBERS);
	assert_int_equal(gpu->status, WATTLE_STATUS_FAILED);
	assert_int_not_equal(reading_gpu(&reading, 1)->status, WATTLE_STATUS_OK);
	assert_true(wtl_gpu_reader_set_limit(reading.reader, 0, 200000000, NULL) < 0);
	reading_at(&reading, 6, WTL_GPU_READ_NUMBERS);
	reading_at(&reading, 8, WTL_GPU_READ_NUMBERS);
	assert_int_equal(reading_gpu(&reading, 0)->status, WATTLE_STATUS_OK);
	assert_int_equal(reading_gpu(&reading, 1)->status, WATTLE_STATUS_OK);
	reading_done(&reading);
}

static void no_driver_at_all(void **state)
{
	struct reading reading;
	size_t n;

	(void)state;
	reading_start(&reading, "not-loaded");
	wtl_gpu_reader_gpus(reading.reader, &n);
	assert_int_equal(n, 0);
	assert_non_null(strstr(wtl_gpu_reader_trouble(reading.reader), "not loaded"));
	wtl_gpu_reader_read(reading.reader, WTL_GPU_READ_NUMBERS);
	reading_done(&reading);

	nv_empty(&reading.nv, "a100");
	reading_open(&reading, "");
	wtl_gpu_reader_gpus(reading.reader, &n);
	assert_int_equal(n, 0);
	assert_non_null(strstr(wtl_gpu_reader_trouble(reading.reader), "switched off"));
	reading_done(&reading);

	nv_empty(&reading.nv, "a100");
	reading_open(&reading, "/nowhere/libnvidia-ml.so.1");
	assert_true(wtl_gpu_reader_trouble(reading.reader)[0] != '\0');
	reading_done(&reading);

	nv_empty(&reading.nv, "a100");
	reading_open(&reading, NULL);
	assert_string_equal(wtl_gpu_reader_trouble(reading.reader), "");
	reading_done(&reading);
}

static void put_status(struct nv *nv, const char *id, const char *status)
{
	char path[160];

	snprintf(path, sizeof(path), PCI "%s/power/runtime_status", id);
	bench_write(&nv->bench, path, status);
}

static void put_pci(struct nv *nv, const char *id, const char *status, const char *driver)
{
	char path[160];

	snprintf(path, sizeof(path), PCI "%s/vendor", id);
	bench_write(&nv->bench, path, "0x10de\n");
	snprintf(path, sizeof(path), PCI "%s/class", id);
	bench_write(&nv->bench, path, "0x030200\n");
	snprintf(path, sizeof(path), PCI "%s/device", id);
	bench_write(&nv->bench, path, "0x20f1\n");
	put_status(nv, id, status);
	snprintf(path, sizeof(path), PCI "%s/driver", id);
	bench_link(&nv->bench, path, driver);
}

/* A GPU that sleeps is not touched; when it wakes by itself, it is read. */
static void sleeps_and_wakes(void **state)
{
	struct reading reading;

	(void)state;
	nv_empty(&reading.nv, "two");
	put_pci(&reading.nv, "0000:17:00.0", "active\n", "../drivers/nvidia");
	put_pci(&reading.nv, "0000:ca:00.0", "suspended\n", "../drivers/nvidia");
	reading_open(&reading, nv_library());
	reading_at(&reading, 1, WTL_GPU_READ_NUMBERS | WTL_GPU_READ_PROCESSES);
	reading_check(reading_gpu(&reading, 0), WTL_GPU_POWER_UW, 100000000);
	reading_check(reading_gpu(&reading, 0), WTL_GPU_PCI_CLASS, 0x302);
	assert_int_equal(reading_gpu(&reading, 1)->status, WATTLE_STATUS_ASLEEP);
	assert_string_equal(reading_gpu(&reading, 1)->bus_id, "00000000:CA:00.0");
	assert_string_equal(reading_gpu(&reading, 1)->name, "NVIDIA GPU 20f1");
	assert_string_equal(reading_gpu(&reading, 1)->pci_device_id, "0x20F110DE");
	assert_string_equal(reading_gpu(&reading, 1)->domain, "gpu-1");
	assert_int_equal(reading.nv.touched(1), 0);

	put_status(&reading.nv, "0000:17:00.0", "suspended\n");
	put_status(&reading.nv, "0000:ca:00.0", "active\n");
	reading_at(&reading, 3, WTL_GPU_READ_NUMBERS);
	assert_int_equal(reading_gpu(&reading, 0)->status, WATTLE_STATUS_ASLEEP);
	assert_string_equal(reading_gpu(&reading, 0)->name, "NVIDIA A100-PCIE-40GB");
	reading_check(reading_gpu(&reading, 1), WTL_GPU_POWER_UW, 200000000);
	assert_string_equal(reading_gpu(&reading, 1)->uuid,
			    "GPU-10570000-0000-4000-8000-000000000001");
	assert_string_equal(reading_gpu(&reading, 1)->name, "NVIDIA A100-PCIE-40GB");
	reading_done(&reading);
}

/* The GPU says what its domain does: it is the library that lacks, and not a part of it. */
static void no_library(void **state)
{
	struct reading reading;

	(void)state;
	nv_empty(&reading.nv, "a100");
	put_pci(&reading.nv, "0000:17:00.0", "active\n", "../drivers/nvidia");
	reading_open(&reading, NULL);
	assert_int_equal(reading_gpu(&reading, 0)->status, WATTLE_STATUS_FAILED);
	assert_string_equal(reading_gpu(&reading, 0)->trouble,
			    "libnvidia-ml.so.1 is not installed");
	assert_string_equal(wtl_gpu_reader_trouble(reading.reader),
			    reading_gpu(&reading, 0)->trouble);
	reading_done(&reading);
}

/* All sleep: nothing is even loaded, until one wakes. */
static void all_asleep(void **state)
{
	struct reading reading;

	(void)state;
	nv_empty(&reading.nv, "two");
	put_pci(&reading.nv, "0000:17:00.0", "suspended\n", "../drivers/nvidia");
	put_pci(&reading.nv, "0000:ca:00.0", "active\n", "../drivers/nouveau");
	reading_open(&reading, nv_library());
	assert_int_equal(reading.nv.lib_opens, 0);
	assert_int_equal(reading_gpu(&reading, 0)->status, WATTLE_STATUS_ASLEEP);
	assert_int_equal(reading_gpu(&reading, 1)->status, WATTLE_STATUS_FAILED);
	assert_non_null(strstr(reading_gpu(&reading, 1)->trouble, "nouveau"));
	put_status(&reading.nv, "0000:17:00.0", "active\n");
	reading_at(&reading, 2, WTL_GPU_READ_NUMBERS);
	assert_int_equal(reading.nv.lib_opens, 1);
	reading_check(reading_gpu(&reading, 0), WTL_GPU_POWER_UW, 100000000);
	assert_int_equal(reading_gpu(&reading, 1)->status, WATTLE_STATUS_FAILED);
	reading_done(&reading);
}

/* ---- Setting ---- */

static void limits(void **state)
{
	struct reading reading;
	struct wtl_err err = {0};
	const struct wtl_gpu *gpu;

	(void)state;
	reading_start(&reading, "h100");
	assert_int_equal(wtl_gpu_reader_set_limit(reading.reader, 0, 500000000, &err), 0);
	gpu = reading_at(&reading, 1, WTL_GPU_READ_NUMBERS);
	reading_check(gpu, WTL_GPU_LIMIT_UW, 500000000);
	assert_int_equal(wtl_gpu_reader_set_limit(reading.reader, 0, 199999999, &err), -ERANGE);
	assert_non_null(strstr(err.text, "200.00 to 700.00 W"));
	assert_int_equal(wtl_gpu_reader_set_limit(reading.reader, 0, 700000001, &err), -ERANGE);
	assert_int_equal(reading.nv.calls("nvmlDeviceSetPowerManagementLimit"), 1);
	assert_int_equal(wtl_gpu_reader_set_limit(reading.reader, 1, 500000000, &err), -EINVAL);
	assert_int_equal(wtl_gpu_reader_set_persistence(reading.reader, 0, false, &err), 0);
	gpu = reading_at(&reading, 2, WTL_GPU_READ_NUMBERS);
	reading_check(gpu, WTL_GPU_PERSISTENCE, 0);
	reading_done(&reading);
}

static void limits_need_root(void **state)
{
	struct reading reading;
	struct wtl_err err = {0};

	(void)state;
	reading_start(&reading, "a100");
	assert_int_equal(wtl_gpu_reader_set_limit(reading.reader, 0, 300000000, &err), -EPERM);
	assert_non_null(strstr(err.text, "root"));
	assert_int_equal(wtl_gpu_reader_set_persistence(reading.reader, 0, true, &err), -EPERM);
	reading_done(&reading);
}

static void limits_by_the_new_function(void **state)
{
	struct reading reading;

	(void)state;
	reading_start_own(&reading, "may-set\nmissing nvmlDeviceSetPowerManagementLimit\n" ONE_GPU);
	assert_int_equal(wtl_gpu_reader_set_limit(reading.reader, 0, 300000000, NULL), 0);
	reading_check(reading_at(&reading, 1, WTL_GPU_READ_NUMBERS), WTL_GPU_LIMIT_UW, 300000000);
	reading_done(&reading);
}

static void no_limits(void **state)
{
	struct reading reading;
	struct wtl_err err = {0};

	(void)state;
	reading_start_own(&reading, "may-set\n" ONE_GPU
				    "  answer nvmlDeviceGetEnforcedPowerLimit NOT_SUPPORTED\n"
				    "  answer nvmlDeviceSetPersistenceMode NOT_SUPPORTED\n");
	assert_int_equal(wtl_gpu_reader_set_limit(reading.reader, 0, 300000000, &err), -EOPNOTSUPP);
	assert_int_equal(wtl_gpu_reader_set_persistence(reading.reader, 0, true, &err),
			 -EOPNOTSUPP);
	reading_done(&reading);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(identity_and_numbers),
		cmocka_unit_test(a_capture),
		cmocka_unit_test(ecc_and_rows),
		cmocka_unit_test(mig_devices),
		cmocka_unit_test(pascal_has_power_only),
		cmocka_unit_test(without_fields),
		cmocka_unit_test(old_names_and_structs),
		cmocka_unit_test(oldest_process_lists),
		cmocka_unit_test(long_entries),
		cmocka_unit_test(calls_that_a_tape_has_not),
		cmocka_unit_test(many_processes),
		cmocka_unit_test(names_of_processes),
		cmocka_unit_test(use_of_processes),
		cmocka_unit_test(use_by_the_old_function),
		cmocka_unit_test(absurd_use_is_dropped),
		cmocka_unit_test(pcie_throughput),
		cmocka_unit_test(pcie_counters),
		cmocka_unit_test(refusals_are_not_repeated),
		cmocka_unit_test(permission_is_told_apart),
		cmocka_unit_test(lost_and_back),
		cmocka_unit_test(lost_at_the_start),
		cmocka_unit_test(driver_reload),
		cmocka_unit_test(no_driver_at_all),
		cmocka_unit_test(sleeps_and_wakes),
		cmocka_unit_test(no_library),
		cmocka_unit_test(all_asleep),
		cmocka_unit_test(limits),
		cmocka_unit_test(limits_need_root),
		cmocka_unit_test(limits_by_the_new_function),
		cmocka_unit_test(no_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
