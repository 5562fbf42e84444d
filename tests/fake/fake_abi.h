/* SPDX-License-Identifier: MIT */
#ifndef WTL_TESTS_FAKE_ABI_H
#define WTL_TESTS_FAKE_ABI_H

#include <stdint.h>

/*
 * NVML's binary interface as the fake serves it. On purpose not shared with src/gpu/abi.h:
 * a mistake in one of them shows when the two meet (and when pynvml meets the fake).
 */

enum fake_return {
	FAKE_OK = 0,
	FAKE_UNINITIALIZED = 1,
	FAKE_INVALID_ARGUMENT = 2,
	FAKE_NOT_SUPPORTED = 3,
	FAKE_NO_PERMISSION = 4,
	FAKE_NOT_FOUND = 6,
	FAKE_INSUFFICIENT_SIZE = 7,
	FAKE_DRIVER_NOT_LOADED = 9,
	FAKE_FUNCTION_NOT_FOUND = 13,
	FAKE_GPU_IS_LOST = 15,
	FAKE_NO_DATA = 21,
	FAKE_VERSION_MISMATCH = 25,
	FAKE_UNKNOWN = 999,
};

struct fake_pci {
	char bus_id_legacy[16];
	uint32_t domain, bus, device, pci_device, pci_subsystem;
	char bus_id[32];
};

struct fake_field {
	uint32_t field;
	uint32_t scope;
	int64_t timestamp_us;
	int64_t latency_us;
	uint32_t value_type; /* 1: 32 bits, 3: 64 bits, unsigned */
	uint32_t answer;
	union {
		uint32_t u32;
		uint64_t u64;
	} value;
};

struct fake_memory {
	uint64_t total, free, used;
};

struct fake_memory_v2 {
	uint32_t version;
	uint64_t total, reserved, free, used;
};

struct fake_utilization {
	uint32_t gpu, memory;
};

struct fake_process_v1 {
	uint32_t pid;
	uint64_t used;
};

struct fake_process {
	uint32_t pid;
	uint64_t used;
	uint32_t gpu_instance, compute_instance;
};

/* What drivers 535.43 up to 535.86 wrote from the _v3 functions. */
struct fake_process_535 {
	struct fake_process process;
	uint64_t used_protected;
};

struct fake_process_sample {
	uint32_t pid;
	uint64_t timestamp_us;
	uint32_t sm, memory, encoder, decoder;
};

struct fake_processes_utilization {
	uint32_t version, count;
	uint64_t last_seen_us;
	struct fake_process_use *samples;
};

struct fake_process_use {
	uint64_t timestamp_us;
	uint32_t pid, sm, memory, encoder, decoder, jpeg, ofa;
};

struct fake_sample {
	uint64_t timestamp_us;
	union {
		uint32_t u32;
		uint64_t u64;
	} value;
};

struct fake_power_value {
	uint32_t version;
	uint8_t scope;
	uint32_t power_mw;
};

struct fake_temperature {
	uint32_t version, sensor;
	int32_t celsius;
};

/* Margin temperature, addressing mode. */
struct fake_pdi {
	uint32_t version;
	uint64_t value;
};

struct fake_versioned {
	uint32_t version;
	int32_t value;
};

struct fake_attributes {
	uint32_t multiprocessors, copy_engines, decoders, encoders, jpegs, ofas;
	uint32_t gpu_slices, compute_slices;
	uint64_t memory_mb;
};

struct fake_sram_errors {
	uint32_t version; /* 1 */
	/* aggregate parity, SEC-DED, corrected; volatile ones; L2, SM, PCIe, microcontroller, other */
	uint64_t counts[11];
	uint32_t threshold_exceeded;
};

struct fake_fabric {
	unsigned char cluster[16];
	uint32_t status, clique;
	unsigned char state;
};

struct fake_fabric_v2 {
	uint32_t version;
	unsigned char cluster[16];
	uint32_t status, clique;
	unsigned char state;
	uint32_t health_mask;
};

struct fake_fabric_v3 {
	uint32_t version;
	unsigned char cluster[16];
	uint32_t status, clique;
	unsigned char state;
	uint32_t health_mask;
	unsigned char health_summary;
};

struct fake_platform {
	uint32_t version; /* 1 and 2 */
	unsigned char guid[16], chassis[16];
	unsigned char slot, tray, host, peer, module;
};

struct fake_remapped_rows {
	uint32_t corrected, corrected_inactive, uncorrected, uncorrected_inactive, pending, failed;
};

struct fake_gpm_support {
	uint32_t version; /* 1 */
	uint32_t is_supported;
};

struct fake_gpm_metric {
	uint32_t metric;
	uint32_t answer;
	double value;
	struct {
		const char *short_name, *long_name, *unit;
	} info;
};

enum { FAKE_GPM_METRICS_MAX = 477 };

struct fake_gpm_get {
	uint32_t version; /* 1 */
	uint32_t count;
	void *sample1, *sample2;
	struct fake_gpm_metric metrics[FAKE_GPM_METRICS_MAX];
};

_Static_assert(sizeof(struct fake_sram_errors) == 104, "nvmlEccSramErrorStatus_v1_t");
_Static_assert(sizeof(struct fake_fabric) == 28, "nvmlGpuFabricInfo_t");
_Static_assert(sizeof(struct fake_fabric_v2) == 36, "nvmlGpuFabricInfo_v2_t");
_Static_assert(sizeof(struct fake_fabric_v3) == 40, "nvmlGpuFabricInfo_v3_t");
_Static_assert(sizeof(struct fake_platform) == 44, "nvmlPlatformInfo_v2_t");
_Static_assert(sizeof(struct fake_remapped_rows) == 24, "nvmlRemappedRowsInfo_v2_t");
_Static_assert(sizeof(struct fake_gpm_support) == 8, "nvmlGpmSupport_t");
_Static_assert(sizeof(struct fake_gpm_metric) == 40, "nvmlGpmMetric_t");
_Static_assert(sizeof(struct fake_gpm_get) == 24 + 477 * 40, "nvmlGpmMetricsGet_t of 615");
_Static_assert(sizeof(struct fake_pdi) == 16, "nvmlPdi_t");
_Static_assert(sizeof(struct fake_versioned) == 8, "nvmlMarginTemperature_v1_t");
_Static_assert(sizeof(struct fake_attributes) == 40, "nvmlDeviceAttributes_t");
_Static_assert(sizeof(struct fake_pci) == 68, "nvmlPciInfo_t");
_Static_assert(sizeof(struct fake_field) == 40, "nvmlFieldValue_t");
_Static_assert(sizeof(struct fake_memory_v2) == 40, "nvmlMemory_v2_t");
_Static_assert(sizeof(struct fake_process_v1) == 16, "nvmlProcessInfo_v1_t");
_Static_assert(sizeof(struct fake_process) == 24, "nvmlProcessInfo_t");
_Static_assert(sizeof(struct fake_process_535) == 32, "nvmlProcessInfo_t of 535.43");
_Static_assert(sizeof(struct fake_process_sample) == 32, "nvmlProcessUtilizationSample_t");
_Static_assert(sizeof(struct fake_process_use) == 40, "nvmlProcessUtilizationInfo_v1_t");
_Static_assert(sizeof(struct fake_processes_utilization) == 24, "nvmlProcessesUtilizationInfo_t");
_Static_assert(sizeof(struct fake_sample) == 16, "nvmlSample_t");
_Static_assert(sizeof(struct fake_power_value) == 12, "nvmlPowerValue_v2_t");
_Static_assert(sizeof(struct fake_temperature) == 12, "nvmlTemperature_v1_t");

#endif
