/* SPDX-License-Identifier: MIT */
#ifndef WTL_NVML_ABI_H
#define WTL_NVML_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wattle.h>

#include "base/io.h"

/*
 * The part of NVML's binary interface that wattle uses, written from its public description
 * (facts/gpu-and-nvml.md 3) under names of our own. NVIDIA's header is not needed and not copied.
 */

/* What every function returns. Codes that are missing here are treated like UNKNOWN. */
enum wtl_nvml_code {
	WTL_NVML_OK = 0,
	WTL_NVML_UNINITIALIZED = 1,
	WTL_NVML_INVALID_ARGUMENT = 2, /* also: a field id that an old driver does not know */
	WTL_NVML_NOT_SUPPORTED = 3,
	WTL_NVML_NO_PERMISSION = 4,
	WTL_NVML_NOT_FOUND = 6,
	WTL_NVML_INSUFFICIENT_SIZE = 7,	 /* more entries than there is room for */
	WTL_NVML_INSUFFICIENT_POWER = 8, /* a board's power cables are not plugged in */
	WTL_NVML_DRIVER_NOT_LOADED = 9,
	WTL_NVML_TIMEOUT = 10,
	WTL_NVML_LIBRARY_NOT_FOUND = 12,
	WTL_NVML_FUNCTION_NOT_FOUND = 13,
	WTL_NVML_CORRUPTED_INFOROM = 14,
	WTL_NVML_GPU_IS_LOST = 15,
	WTL_NVML_RESET_REQUIRED = 16,
	WTL_NVML_OPERATING_SYSTEM = 17, /* a cgroup keeps the device away */
	WTL_NVML_VERSION_MISMATCH = 18, /* kernel module and library are of different versions */
	WTL_NVML_NO_DATA = 21,
	WTL_NVML_ARGUMENT_VERSION = 25, /* a struct's version is not known to this driver */
	WTL_NVML_DEPRECATED = 26,
	WTL_NVML_NOT_READY = 27,
	WTL_NVML_GPU_NOT_FOUND = 28,
	WTL_NVML_UNKNOWN = 999,
};

/* Field ids and scopes for field values. Power is in mW, energy in mJ, time in ns. */
enum wtl_nvml_field_id {
	WTL_NVML_FIELD_THROTTLED_POWER = 74,
	WTL_NVML_FIELD_THROTTLED_SYNC_BOOST = 76,
	WTL_NVML_FIELD_MEMORY_TEMPERATURE = 82, /* °C */
	WTL_NVML_FIELD_PCIE_REPLAY_ROLLOVERS = 95,
	WTL_NVML_FIELD_ENERGY = 83,	    /* since the driver was loaded; Volta and later */
	WTL_NVML_FIELD_POWER_AVERAGE = 185, /* driver 535 and later, as the next */
	WTL_NVML_FIELD_POWER_INSTANT = 186,
	WTL_NVML_FIELD_LIMIT_MIN = 187,
	WTL_NVML_FIELD_LIMIT_MAX = 188,
	WTL_NVML_FIELD_LIMIT_DEFAULT = 189,
	WTL_NVML_FIELD_LIMIT = 190, /* in force */
	WTL_NVML_FIELD_LIMIT_REQUESTED = 192,
	WTL_NVML_FIELD_SHUTDOWN_MARGIN = 193, /* °C, signed, as the next three */
	WTL_NVML_FIELD_SLOWDOWN_MARGIN = 194,
	WTL_NVML_FIELD_MEMORY_MAX_OPERATING_MARGIN = 195,
	WTL_NVML_FIELD_MAX_OPERATING_MARGIN = 196,
	WTL_NVML_FIELD_PCIE_TX_BYTES = 197, /* counters that wrap */
	WTL_NVML_FIELD_PCIE_RX_BYTES = 198,
	WTL_NVML_FIELD_RECOVERY_ACTION = 230, /* enum wtl_gpu_recovery; NVML 12.8 and later */
	WTL_NVML_FIELD_THROTTLED_SW_THERMAL = 269,
	WTL_NVML_FIELD_THROTTLED_HW_THERMAL = 270,
	WTL_NVML_FIELD_THROTTLED_POWER_BRAKE = 271,
	WTL_NVML_FIELD_EDPP_MULTIPLIER = 274, /* percent; NVML 13.1 and later */
};

enum wtl_nvml_scope {
	WTL_NVML_SCOPE_GPU = 0,	   /* the board with its memory */
	WTL_NVML_SCOPE_MODULE = 1, /* with the CPU on it (Grace) */
	WTL_NVML_SCOPE_MEMORY = 2, /* a part of GPU */
};

enum wtl_nvml_value_type {
	WTL_NVML_VALUE_DOUBLE = 0,
	WTL_NVML_VALUE_U32 = 1,
	WTL_NVML_VALUE_ULONG = 2,
	WTL_NVML_VALUE_U64 = 3,
	WTL_NVML_VALUE_I64 = 4,
	WTL_NVML_VALUE_I32 = 5,
	WTL_NVML_VALUE_U16 = 6,
};

/* One value of nvmlDeviceGetFieldValues: field and scope go in, the rest comes out. */
struct wtl_nvml_field {
	uint32_t field;
	uint32_t scope;
	int64_t timestamp_us; /* of the sensor; which clock is not documented */
	int64_t latency_us;
	uint32_t type; /* enum wtl_nvml_value_type */
	uint32_t code; /* enum wtl_nvml_code of this one value */
	union {
		double real;
		uint64_t u64;
		int64_t i64;
		uint32_t u32;
		int32_t i32;
		uint16_t u16;
	} value;
};

struct wtl_nvml_pci {
	char bus_id_short[16];
	uint32_t domain;
	uint32_t bus;
	uint32_t device;
	uint32_t device_id;
	uint32_t subsystem_id;
	char bus_id[32]; /* "00000000:17:00.0" */
};

struct wtl_nvml_memory {
	uint64_t total, free, used; /* bytes; used holds what is reserved, too */
};

struct wtl_nvml_memory_v2 {
	uint32_t version;
	uint32_t unused;
	uint64_t total, reserved, free, used;
};

struct wtl_nvml_utilization {
	uint32_t gpu, memory; /* percent */
};

struct wtl_nvml_temperature {
	uint32_t version;
	uint32_t sensor; /* 0: the GPU */
	int32_t celsius;
};

struct wtl_nvml_power_value {
	uint32_t version;
	uint8_t scope;
	uint8_t unused[3];
	uint32_t power_mw;
};

/* A struct of a version and one number: temperature margin, addressing mode. */
struct wtl_nvml_versioned {
	uint32_t version;
	int32_t value;
};

/* Entries of the process lists: v1; v2 and v3; and what 535.43 up to 535.86 write from _v3. */
struct wtl_nvml_process_v1 {
	uint32_t pid;
	uint32_t unused;
	uint64_t used_bytes; /* UINT64_MAX: not available */
};

struct wtl_nvml_process {
	uint32_t pid;
	uint32_t unused;
	uint64_t used_bytes;
	uint32_t instance, compute_instance; /* UINT32_MAX outside MIG */
};

struct wtl_nvml_process_535 {
	struct wtl_nvml_process process;
	uint64_t protected_bytes;
};

/* What a process used of a GPU, percent, up to a moment (µs, UTC). */
struct wtl_nvml_sample {
	uint32_t pid;
	uint32_t unused;
	uint64_t t_us;
	uint32_t sm, memory, encoder, decoder;
};

/* The same with more engines, since 550. */
struct wtl_nvml_use {
	uint64_t t_us;
	uint32_t pid, sm, memory, encoder, decoder, jpeg, ofa;
	uint32_t unused;
};

struct wtl_nvml_uses {
	uint32_t version;
	uint32_t count;
	uint64_t last_seen_us;
	struct wtl_nvml_use *uses;
};

struct wtl_nvml_attributes { /* of a MIG device */
	uint32_t multiprocessors, copy_engines, decoders, encoders, jpegs, ofas;
	uint32_t instance_slices, compute_slices;
	uint64_t memory_mb;
};

/* GPU performance monitoring (GPM): the version is a plain 1. */
struct wtl_nvml_gpm_support {
	uint32_t version;
	uint32_t is_supported;
};

/* The metrics that wattle asks for: percent of an instance's own, mean of the time between two samples. */
enum wtl_nvml_gpm_id {
	WTL_NVML_GPM_GRAPHICS_USE = 1, /* of the time, anything ran */
	WTL_NVML_GPM_SM_USE = 2,       /* of its SMs, were busy */
};

/* One metric, as wattle keeps it: the id goes in, the rest comes out. */
struct wtl_nvml_gpm_metric {
	uint32_t metric;
	uint32_t code; /* enum wtl_nvml_code of this one value */
	double value;
};

/* Errors of on-chip memory (SRAM). Checked against nvml.h 12.4 to 13.3. */
struct wtl_nvml_sram {
	uint32_t version;
	uint32_t unused;
	uint64_t parity_aggregate, secded_aggregate, corrected_aggregate;
	uint64_t parity_volatile, secded_volatile, corrected_volatile;
	uint64_t l2, sm, pcie, microcontroller, other; /* uncorrected, of the GPU's life */
	uint32_t is_exceeded;
	uint32_t unused_end;
};

/*
 * Where a GPU is in the NVLink fabric. This is version 3 (nvml.h 13.0 on). Version 2 (12.4 on) ends before
 * the summary, and the unversioned nvmlDeviceGetGpuFabricInfo (12.1 on) has cluster to state alone.
 */
struct wtl_nvml_fabric {
	uint32_t version;
	uint8_t cluster[16];
	uint32_t status; /* enum wtl_nvml_code, where the state is COMPLETED */
	uint32_t clique;
	uint8_t state; /* enum wtl_nvml_fabric_state */
	uint8_t unused[3];
	uint32_t health; /* parts of two bits, and one of four: enum wtl_nvml_fabric_shift */
	uint8_t summary; /* as WTL_GPU_FABRIC_HEALTH; 0: the health is not told */
	uint8_t unused_end[3];
};

enum wtl_nvml_fabric_state {
	WTL_NVML_FABRIC_NOT_SUPPORTED = 0,
	WTL_NVML_FABRIC_NOT_STARTED = 1,
	WTL_NVML_FABRIC_IN_PROGRESS = 2,
	WTL_NVML_FABRIC_COMPLETED = 3,
};

/* Each part is 0 where it is not told, 1 for yes and 2 for no; but MISCONFIGURED. */
enum wtl_nvml_fabric_shift {
	WTL_NVML_FABRIC_DEGRADED = 0,
	WTL_NVML_FABRIC_RECOVERING = 2,
	WTL_NVML_FABRIC_BAD_ROUTE = 4,
	WTL_NVML_FABRIC_TIMED_OUT = 6,
	WTL_NVML_FABRIC_MISCONFIGURED = 8, /* four bits: 1 is no, the rest is what is wrong */
	WTL_NVML_FABRIC_PARTITION = 12,
};

/* Where a GPU is in its rack (drivers 560 on; nvml.h 12.8 to 13.3). Version 1 has the same 44 bytes under other
 * names. */
struct wtl_nvml_platform {
	uint32_t version;
	uint8_t guid[16];    /* of InfiniBand: 8 bytes, the first one the highest, and zeros */
	uint8_t chassis[16]; /* serial number: text with zeros behind it */
	uint8_t slot, tray, host, peer, module;
	uint8_t unused[3];
};

/* nvmlDeviceGetRemappedRows_v2: nvml.h 13.2 on, no version word. */
struct wtl_nvml_remapped {
	uint32_t corrected, corrected_inactive;
	uint32_t uncorrected, uncorrected_inactive;
	uint32_t is_pending, has_failed;
};

/* A versioned struct says its size and version in its first word. */
#define WTL_NVML_VERSION(type, number) ((uint32_t)(sizeof(type) | (uint32_t)(number) << 24))

_Static_assert(sizeof(struct wtl_nvml_memory) == 24, "memory");
_Static_assert(WTL_NVML_VERSION(struct wtl_nvml_memory_v2, 2) == 0x02000028, "memory, v2");
_Static_assert(WTL_NVML_VERSION(struct wtl_nvml_temperature, 1) == 0x0100000c, "temperature");
_Static_assert(WTL_NVML_VERSION(struct wtl_nvml_power_value, 2) == 0x0200000c, "power value");
_Static_assert(WTL_NVML_VERSION(struct wtl_nvml_versioned, 1) == 0x01000008, "one number");
_Static_assert(WTL_NVML_VERSION(struct wtl_nvml_uses, 1) == 0x01000018, "processes' use");
_Static_assert(sizeof(struct wtl_nvml_process_v1) == 16, "process, v1");
_Static_assert(sizeof(struct wtl_nvml_process) == 24, "process");
_Static_assert(sizeof(struct wtl_nvml_process_535) == 32, "process of 535.43");
_Static_assert(sizeof(struct wtl_nvml_sample) == 32, "process utilisation sample");
_Static_assert(sizeof(struct wtl_nvml_use) == 40, "process utilisation");
_Static_assert(sizeof(struct wtl_nvml_attributes) == 40, "MIG device's attributes");
_Static_assert(sizeof(struct wtl_nvml_gpm_support) == 8, "GPM support");
_Static_assert(sizeof(struct wtl_nvml_gpm_metric) == 16, "GPM metric of our own");
_Static_assert(WTL_NVML_VERSION(struct wtl_nvml_sram, 1) == 0x01000068, "SRAM errors");
_Static_assert(offsetof(struct wtl_nvml_sram, is_exceeded) == 96, "SRAM errors");
_Static_assert(WTL_NVML_VERSION(struct wtl_nvml_fabric, 3) == 0x03000028, "fabric, v3");
_Static_assert(offsetof(struct wtl_nvml_fabric, summary) == 36, "fabric, v2");
_Static_assert(offsetof(struct wtl_nvml_fabric, health) == 32, "fabric, without a version");
_Static_assert(WTL_NVML_VERSION(struct wtl_nvml_platform, 2) == 0x0200002c, "platform");
_Static_assert(offsetof(struct wtl_nvml_platform, slot) == 36, "platform");
_Static_assert(sizeof(struct wtl_nvml_remapped) == 24, "remapped rows, v2");
_Static_assert(sizeof(struct wtl_nvml_field) == 40, "field value");
_Static_assert(offsetof(struct wtl_nvml_field, timestamp_us) == 8, "field value");
_Static_assert(offsetof(struct wtl_nvml_field, type) == 24, "field value");
_Static_assert(offsetof(struct wtl_nvml_field, code) == 28, "field value");
_Static_assert(offsetof(struct wtl_nvml_field, value) == 32, "field value");
_Static_assert(sizeof(struct wtl_nvml_pci) == 68, "PCI info");
_Static_assert(offsetof(struct wtl_nvml_pci, bus_id) == 36, "PCI info");
_Static_assert(sizeof(unsigned long long) == sizeof(uint64_t), "energy");

/*
 * The functions, as indices of the table below. Arguments are given in order as wtl_lib_arg. Where
 * NVML has older forms of a function, each has its own line, newest first: wtl_nvml_call_first()
 * takes the first that the library has.
 */
enum wtl_nvml_function {
	WTL_NVML_INIT,		 /* () */
	WTL_NVML_SHUTDOWN,	 /* () */
	WTL_NVML_DRIVER_VERSION, /* (text, length) */
	WTL_NVML_NVML_VERSION,	 /* (text, length) */
	WTL_NVML_CUDA_VERSION,	 /* (i32 *): 12040 is 12.4 */
	WTL_NVML_CUDA_VERSION_V1,
	WTL_NVML_PROCESS_NAME, /* (pid, text, length) */
	WTL_NVML_ERROR_TEXT,   /* (code, text): NVML's own words, which the call copies */
	WTL_NVML_COUNT,	       /* (u32 *) */
	WTL_NVML_BY_INDEX,     /* (u32, handle *) */
	WTL_NVML_BY_BUS_ID,    /* (text, handle *) */
	WTL_NVML_BY_UUID,      /* (text, handle *) */
	WTL_NVML_NAME,	       /* (handle, text, length), as the next four */
	WTL_NVML_UUID,
	WTL_NVML_SERIAL,
	WTL_NVML_VBIOS,
	WTL_NVML_INFOROM_IMAGE,
	WTL_NVML_BOARD_PART,
	WTL_NVML_GSP_FIRMWARE, /* (handle, text of 64 bytes) */
	WTL_NVML_INFOROM,      /* (handle, object 0 OEM, 1 ECC, 2 power, text, length) */
	WTL_NVML_INDEX,	       /* (handle, u32 *) */
	WTL_NVML_PCI_INFO,     /* (handle, struct wtl_nvml_pci *) */
	WTL_NVML_ARCHITECTURE, /* (handle, u32 *) */
	WTL_NVML_CAPABILITY,   /* (handle, i32 *, i32 *) */
	WTL_NVML_TOTAL_ENERGY, /* (handle, u64 *) */
	WTL_NVML_POWER_USAGE,  /* (handle, u32 *) */
	WTL_NVML_FIELD_VALUES, /* (handle, count, struct wtl_nvml_field *) */

	/* (handle, u32 *) */
	WTL_NVML_LIMIT_ENFORCED, /* mW, as the next two */
	WTL_NVML_LIMIT_REQUESTED,
	WTL_NVML_LIMIT_DEFAULT,
	WTL_NVML_PERSISTENCE,
	WTL_NVML_PSTATE,
	WTL_NVML_FAN, /* percent */
	WTL_NVML_COMPUTE_MODE,
	WTL_NVML_DISPLAY_ACTIVE,
	WTL_NVML_DISPLAY_ATTACHED,
	WTL_NVML_PCIE_GEN,
	WTL_NVML_PCIE_GEN_MAX,
	WTL_NVML_PCIE_GEN_GPU_MAX,
	WTL_NVML_PCIE_WIDTH,
	WTL_NVML_PCIE_WIDTH_MAX,
	WTL_NVML_ACCOUNTING_MODE,
	WTL_NVML_ACCOUNTING_BUFFER,
	WTL_NVML_MODULE_ID,
	WTL_NVML_C2C_MODE,
	WTL_NVML_VIRTUALIZATION, /* enum wtl_gpu_virtualization */
	WTL_NVML_BRAND,
	WTL_NVML_MINOR_NUMBER,
	WTL_NVML_MULTI_GPU_BOARD,
	WTL_NVML_BOARD_ID,
	WTL_NVML_TIME_RUN, /* s */
	WTL_NVML_PCIE_REPLAYS,
	WTL_NVML_MIG_COUNT_MAX,
	WTL_NVML_INSTANCE, /* of a MIG device, as the next */
	WTL_NVML_COMPUTE_INSTANCE,

	/* (handle, u32 *, u32 *) */
	WTL_NVML_LIMIT_RANGE, /* least and greatest, mW */
	WTL_NVML_MIG_MODE,    /* now and after a reset, as the next */
	WTL_NVML_ECC_MODE,
	WTL_NVML_GSP_MODE,    /* now and by default */
	WTL_NVML_ENCODER_USE, /* percent and sampling period, as the next three */
	WTL_NVML_DECODER_USE,
	WTL_NVML_JPEG_USE,
	WTL_NVML_OFA_USE,

	WTL_NVML_ENCODER_STATS, /* (handle, u32 * sessions, u32 * fps, u32 * latency_us) */
	WTL_NVML_REMAPPED_ROWS, /* (handle, u32 * corrected, u32 * uncorrected, u32 * pending,
				   u32 * failed) */

	/* (handle, u64 *): enum wtl_gpu_throttle */
	WTL_NVML_EVENT_REASONS,
	WTL_NVML_THROTTLE_REASONS, /* its name before 535 */
	WTL_NVML_EVENT_REASONS_KNOWN,
	WTL_NVML_THROTTLE_REASONS_KNOWN,

	/* (handle, type, u32 *) */
	WTL_NVML_CLOCK, /* 0 graphics, 1 SM, 2 memory, 3 video; MHz */
	WTL_NVML_CLOCK_MAX,
	WTL_NVML_CLOCK_APPLICATION,
	WTL_NVML_CLOCK_APPLICATION_DEFAULT,
	WTL_NVML_CLOCK_BOOST_MAX,
	WTL_NVML_THRESHOLD,	  /* 0 shutdown, 1 slowdown, 2 memory, 3 GPU, 5 target; °C */
	WTL_NVML_TEMPERATURE_V1,  /* sensor 0; °C */
	WTL_NVML_PCIE_THROUGHPUT, /* 0 sent, 1 received; KB/s. Blocks for 20 ms */

	/* (handle, struct *) */
	WTL_NVML_TEMPERATURE,
	WTL_NVML_TEMPERATURE_MARGIN, /* struct wtl_nvml_versioned, as the next */
	WTL_NVML_ADDRESSING_MODE,
	WTL_NVML_UTILIZATION,
	WTL_NVML_MEMORY_V2,
	WTL_NVML_MEMORY,
	WTL_NVML_PROTECTED_MEMORY, /* struct wtl_nvml_memory */
	WTL_NVML_BAR1,		   /* struct wtl_nvml_memory */
	WTL_NVML_CAPTURE_STATS,	   /* three u32: sessions, fps, latency_us */
	WTL_NVML_PDI,		   /* u32 version, u64 */
	WTL_NVML_REPAIR,	   /* u32 version, u32 channel, u32 TPC */
	WTL_NVML_REMAPPER,	   /* five u32: banks with max, high, partial, low, no rows left */
	WTL_NVML_ATTRIBUTES,
	WTL_NVML_SRAM_ERRORS, /* struct wtl_nvml_sram; root only */
	WTL_NVML_FABRIC,      /* struct wtl_nvml_fabric, v3 or v2 */
	WTL_NVML_FABRIC_V1,   /* the same from `cluster` on */
	WTL_NVML_PLATFORM,    /* struct wtl_nvml_platform */
	WTL_NVML_REMAPPED_V2, /* struct wtl_nvml_remapped */

	WTL_NVML_VALIDATE_INFOROM, /* (handle): OK, or CORRUPTED_INFOROM. Reads the flash */

	WTL_NVML_ECC_TOTAL, /* (handle, 0 corrected 1 not, 0 volatile 1 aggregate, u64 *) */
	WTL_NVML_ECC_PLACE, /* (handle, as above, 2 DRAM 7 SRAM, u64 *) */

	/* (handle, u32 * count, entries): the lists of each kind, newest first */
	WTL_NVML_COMPUTE_V3,
	WTL_NVML_COMPUTE_V2,
	WTL_NVML_COMPUTE_V1,
	WTL_NVML_GRAPHICS_V3,
	WTL_NVML_GRAPHICS_V2,
	WTL_NVML_GRAPHICS_V1,
	WTL_NVML_MPS_V3,
	WTL_NVML_MPS_V2,
	WTL_NVML_MPS_V1,

	/* (handle, struct wtl_nvml_uses * without uses, struct wtl_nvml_use *): the call puts the
	 * two together, so that a tape can hold both. */
	WTL_NVML_USES,
	WTL_NVML_SAMPLES,      /* (handle, struct wtl_nvml_sample *, u32 * count, last_seen_us) */
	WTL_NVML_MIG_BY_INDEX, /* (handle, u32, handle *) */

	/* GPM: Hopper and later. A sample is a buffer of the library's, by its handle. */
	WTL_NVML_GPM_SUPPORT,	 /* (handle, struct wtl_nvml_gpm_support *) */
	WTL_NVML_GPM_ALLOC,	 /* (sample *) */
	WTL_NVML_GPM_FREE,	 /* (sample) */
	WTL_NVML_GPM_MIG_SAMPLE, /* (handle, GPU instance, sample) */
	/* (sample, a later sample, struct wtl_nvml_gpm_metric *, as many as its size says): the call puts
	 * all of it into the library's struct. */
	WTL_NVML_GPM_METRICS,

	/* What sets: root only. */
	WTL_NVML_SET_PERSISTENCE, /* (handle, 0 or 1) */
	WTL_NVML_SET_LIMIT_V2,	  /* (handle, struct wtl_nvml_power_value *) */
	WTL_NVML_SET_LIMIT,	  /* (handle, mW) */

	/* Never called: which of them there are tells the layout of the process lists. */
	WTL_NVML_CONF_COMPUTE,
	WTL_NVML_PROCESS_DETAILS,
	WTL_NVML_FUNCTIONS
};

extern const struct wtl_lib_function wtl_nvml_functions[WTL_NVML_FUNCTIONS];

/* The field's own code; one that is no code is UNKNOWN. */
int wtl_nvml_field_code(const struct wtl_nvml_field *field);

/* A field's value as a count; false for a type or a sign that no counter or power has. */
bool wtl_nvml_field_u64(const struct wtl_nvml_field *field, uint64_t *ret_value);

/* The same for one that may be negative: an int64_t. */
bool wtl_nvml_field_i64(const struct wtl_nvml_field *field, uint64_t *ret_value);

/* A field's value in millionths, also where it is a floating-point number; false for one that is negative or
 * too large. */
bool wtl_nvml_field_millionths(const struct wtl_nvml_field *field, uint64_t *ret_value);

/* What a code (or negative errno) means for a domain: ABSENT is a figure that does not exist, GONE a
 * device that went away. */
enum wattle_status wtl_nvml_status(int code);

/* The same where the GPU as a whole is concerned: what exists is not ABSENT but FAILED. */
enum wattle_status wtl_nvml_gpu_status(int code);

const char *wtl_nvml_reason(int code); /* "the GPU is lost": no full stop */
const char *wtl_nvml_remedy(int code); /* "" where there is none */

#endif
