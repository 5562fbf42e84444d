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
	WTL_NVML_INSUFFICIENT_POWER = 8, /* a board's power cables are not plugged in */
	WTL_NVML_DRIVER_NOT_LOADED = 9,
	WTL_NVML_TIMEOUT = 10,
	WTL_NVML_LIBRARY_NOT_FOUND = 12,
	WTL_NVML_FUNCTION_NOT_FOUND = 13,
	WTL_NVML_GPU_IS_LOST = 15,
	WTL_NVML_RESET_REQUIRED = 16,
	WTL_NVML_OPERATING_SYSTEM = 17, /* a cgroup keeps the device away */
	WTL_NVML_VERSION_MISMATCH = 18, /* kernel module and library are of different versions */
	WTL_NVML_NO_DATA = 21,
	WTL_NVML_DEPRECATED = 26,
	WTL_NVML_NOT_READY = 27,
	WTL_NVML_GPU_NOT_FOUND = 28,
	WTL_NVML_UNKNOWN = 999,
};

/* Field ids and scopes for field values. Power is in mW, energy in mJ. */
enum wtl_nvml_field_id {
	WTL_NVML_FIELD_ENERGY = 83,	    /* since the driver was loaded; Volta and later */
	WTL_NVML_FIELD_POWER_AVERAGE = 185, /* driver 535 and later, as the next */
	WTL_NVML_FIELD_POWER_INSTANT = 186,
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

_Static_assert(sizeof(struct wtl_nvml_field) == 40, "field value");
_Static_assert(offsetof(struct wtl_nvml_field, timestamp_us) == 8, "field value");
_Static_assert(offsetof(struct wtl_nvml_field, type) == 24, "field value");
_Static_assert(offsetof(struct wtl_nvml_field, code) == 28, "field value");
_Static_assert(offsetof(struct wtl_nvml_field, value) == 32, "field value");
_Static_assert(sizeof(struct wtl_nvml_pci) == 68, "PCI info");
_Static_assert(offsetof(struct wtl_nvml_pci, bus_id) == 36, "PCI info");
_Static_assert(sizeof(unsigned long long) == sizeof(uint64_t), "energy");

/* The functions, as indices of the table below. Arguments are given in order as wtl_lib_arg. */
enum wtl_nvml_function {
	WTL_NVML_INIT,		 /* () */
	WTL_NVML_SHUTDOWN,	 /* () */
	WTL_NVML_DRIVER_VERSION, /* (text, length) */
	WTL_NVML_COUNT,		 /* (u32 *) */
	WTL_NVML_BY_INDEX,	 /* (u32, handle *) */
	WTL_NVML_BY_BUS_ID,	 /* (text, handle *) */
	WTL_NVML_BY_UUID,	 /* (text, handle *) */
	WTL_NVML_NAME,		 /* (handle, text, length) */
	WTL_NVML_UUID,		 /* (handle, text, length) */
	WTL_NVML_PCI_INFO,	 /* (handle, struct wtl_nvml_pci *) */
	WTL_NVML_ARCHITECTURE,	 /* (handle, u32 *) */
	WTL_NVML_CAPABILITY,	 /* (handle, i32 *, i32 *) */
	WTL_NVML_TOTAL_ENERGY,	 /* (handle, u64 *) */
	WTL_NVML_POWER_USAGE,	 /* (handle, u32 *) */
	WTL_NVML_FIELD_VALUES,	 /* (handle, count, struct wtl_nvml_field *) */
	WTL_NVML_FUNCTIONS
};

extern const struct wtl_lib_function wtl_nvml_functions[WTL_NVML_FUNCTIONS];

/* The field's own code; one that is no code is UNKNOWN. */
int wtl_nvml_field_code(const struct wtl_nvml_field *field);

/* A field's value as a count; false for a type or a sign that no counter or power has. */
bool wtl_nvml_field_u64(const struct wtl_nvml_field *field, uint64_t *ret_value);

/* What a code (or negative errno) means for a domain: ABSENT is a figure that does not exist, GONE a
 * device that went away. */
enum wattle_status wtl_nvml_status(int code);

/* The same where the GPU as a whole is concerned: what exists is not ABSENT but FAILED. */
enum wattle_status wtl_nvml_gpu_status(int code);

const char *wtl_nvml_reason(int code); /* "the GPU is lost": no full stop */
const char *wtl_nvml_remedy(int code); /* "" where there is none */

#endif
