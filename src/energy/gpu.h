/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_GPU_H
#define WTL_ENERGY_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wattle.h>

/*
 * What is known of a GPU beside its energy, as plain data: filled by sensors/gpu_*.c, shown by
 * `wattle query` and `wattle top`. What is not known is marked so per value, with the answer that
 * stood in its place, so that "not supported" and "no permission" can be told apart.
 */

/* One value: a number in the unit that its name says. */
struct wtl_gpu_value {
	uint64_t value;
	enum wattle_status status; /* OK: value means something; ABSENT: not supported; DENIED, GONE
				      (lost), FAILED */
	int code; /* the vendor's own answer where the status is not OK: NVML's, or a negative
		     errno; 0: there is none */
};

/* In the order of `wattle query --format json`. */
enum wtl_gpu_number {
	WTL_GPU_POWER_UW, /* what nvidia-smi calls power.draw */
	WTL_GPU_POWER_AVERAGE_UW,
	WTL_GPU_POWER_INSTANT_UW,
	WTL_GPU_MEMORY_POWER_AVERAGE_UW,
	WTL_GPU_MEMORY_POWER_INSTANT_UW,
	WTL_GPU_MODULE_POWER_AVERAGE_UW,
	WTL_GPU_MODULE_POWER_INSTANT_UW,
	WTL_GPU_ENERGY_UJ, /* the counter, since the driver was loaded */
	WTL_GPU_LIMIT_UW,  /* in force */
	WTL_GPU_LIMIT_REQUESTED_UW,
	WTL_GPU_LIMIT_DEFAULT_UW,
	WTL_GPU_LIMIT_MIN_UW,
	WTL_GPU_LIMIT_MAX_UW,
	WTL_GPU_MODULE_LIMIT_UW,
	WTL_GPU_MODULE_LIMIT_REQUESTED_UW,
	WTL_GPU_MODULE_LIMIT_DEFAULT_UW,
	WTL_GPU_MODULE_LIMIT_MIN_UW,
	WTL_GPU_MODULE_LIMIT_MAX_UW,
	WTL_GPU_USE_PERCENT,
	WTL_GPU_MEMORY_USE_PERCENT, /* of the memory's bandwidth */
	WTL_GPU_ENCODER_PERCENT,
	WTL_GPU_DECODER_PERCENT,
	WTL_GPU_JPEG_PERCENT,
	WTL_GPU_OFA_PERCENT,
	WTL_GPU_MEMORY_TOTAL_BYTES,
	WTL_GPU_MEMORY_RESERVED_BYTES,
	WTL_GPU_MEMORY_USED_BYTES,
	WTL_GPU_MEMORY_FREE_BYTES,
	WTL_GPU_PROTECTED_TOTAL_BYTES,
	WTL_GPU_PROTECTED_USED_BYTES,
	WTL_GPU_PROTECTED_FREE_BYTES,
	WTL_GPU_TEMPERATURE_C,
	WTL_GPU_TEMPERATURE_MARGIN_C, /* to slowdown; an int64_t: may be negative */
	WTL_GPU_MEMORY_TEMPERATURE_C,
	WTL_GPU_CLOCK_GRAPHICS_MHZ,
	WTL_GPU_CLOCK_SM_MHZ,
	WTL_GPU_CLOCK_MEMORY_MHZ,
	WTL_GPU_CLOCK_VIDEO_MHZ,
	WTL_GPU_CLOCK_GRAPHICS_MAX_MHZ,
	WTL_GPU_CLOCK_SM_MAX_MHZ,
	WTL_GPU_CLOCK_MEMORY_MAX_MHZ,
	WTL_GPU_CLOCK_VIDEO_MAX_MHZ,
	WTL_GPU_CLOCK_GRAPHICS_APPLICATION_MHZ,
	WTL_GPU_CLOCK_MEMORY_APPLICATION_MHZ,
	WTL_GPU_CLOCK_GRAPHICS_APPLICATION_DEFAULT_MHZ,
	WTL_GPU_CLOCK_MEMORY_APPLICATION_DEFAULT_MHZ,
	WTL_GPU_FAN_PERCENT,
	WTL_GPU_PSTATE,		/* 0 is the fastest */
	WTL_GPU_THROTTLE,	/* enum wtl_gpu_throttle bits in force */
	WTL_GPU_THROTTLE_KNOWN, /* bits that this GPU can show */
	/* Time that clocks were held down, since the driver was loaded. */
	WTL_GPU_THROTTLED_SW_POWER_CAP_NS,
	WTL_GPU_THROTTLED_SYNC_BOOST_NS,
	WTL_GPU_THROTTLED_SW_THERMAL_NS,
	WTL_GPU_THROTTLED_HW_THERMAL_NS,
	WTL_GPU_THROTTLED_HW_POWER_BRAKE_NS,
	WTL_GPU_PCIE_GEN,
	WTL_GPU_PCIE_GEN_MAX,
	WTL_GPU_PCIE_GEN_GPU_MAX, /* what the GPU could do in another slot */
	WTL_GPU_PCIE_WIDTH,
	WTL_GPU_PCIE_WIDTH_MAX,
	WTL_GPU_PCIE_TX_BYTES_PER_S,
	WTL_GPU_PCIE_RX_BYTES_PER_S,
	WTL_GPU_PCI_CLASS,    /* base class << 8 | subclass */
	WTL_GPU_PERSISTENCE,  /* 0 or 1 */
	WTL_GPU_COMPUTE_MODE, /* 0 default, 1 exclusive thread, 2 prohibited, 3 exclusive process */
	WTL_GPU_DISPLAY_ACTIVE,
	WTL_GPU_DISPLAY_ATTACHED,
	WTL_GPU_MIG_MODE,
	WTL_GPU_MIG_PENDING,
	WTL_GPU_ECC_MODE,
	WTL_GPU_ECC_PENDING,
	WTL_GPU_ECC_CORRECTED_VOLATILE,
	WTL_GPU_ECC_UNCORRECTED_VOLATILE,
	WTL_GPU_ECC_CORRECTED_AGGREGATE,
	WTL_GPU_ECC_UNCORRECTED_AGGREGATE,
	/* The same errors by place: nvidia-smi sums them to the four above. */
	WTL_GPU_ECC_DRAM_CORRECTED_VOLATILE,
	WTL_GPU_ECC_DRAM_UNCORRECTED_VOLATILE,
	WTL_GPU_ECC_DRAM_CORRECTED_AGGREGATE,
	WTL_GPU_ECC_DRAM_UNCORRECTED_AGGREGATE,
	WTL_GPU_ECC_SRAM_CORRECTED_VOLATILE,
	WTL_GPU_ECC_SRAM_UNCORRECTED_VOLATILE,
	WTL_GPU_ECC_SRAM_CORRECTED_AGGREGATE,
	WTL_GPU_ECC_SRAM_UNCORRECTED_AGGREGATE,
	WTL_GPU_REMAPPED_CORRECTABLE,
	WTL_GPU_REMAPPED_UNCORRECTABLE,
	WTL_GPU_REMAPPED_PENDING, /* 0 or 1, as the next */
	WTL_GPU_REMAPPED_FAILURE,
	WTL_GPU_REMAPPED_MAX, /* banks by how many rows they can still have remapped */
	WTL_GPU_REMAPPED_HIGH,
	WTL_GPU_REMAPPED_PARTIAL,
	WTL_GPU_REMAPPED_LOW,
	WTL_GPU_REMAPPED_NONE,
	WTL_GPU_ENCODER_SESSIONS,
	WTL_GPU_ENCODER_FPS,
	WTL_GPU_ENCODER_LATENCY_US,
	WTL_GPU_ACCOUNTING_MODE, /* 0 or 1 */
	WTL_GPU_ACCOUNTING_BUFFER,
	WTL_GPU_GSP_MODE, /* 0 or 1, as the next */
	WTL_GPU_GSP_DEFAULT,
	WTL_GPU_ADDRESSING_MODE, /* 0 none, 1 HMM, 2 ATS */
	WTL_GPU_C2C_MODE,	 /* 0 or 1 */
	WTL_GPU_MODULE_ID,
	/* From here on: what is read on request only (see sensors/gpu_info.h). */
	WTL_GPU_ON_REQUEST,
	WTL_GPU_VIRTUALIZATION = WTL_GPU_ON_REQUEST, /* enum wtl_gpu_virtualization */
	WTL_GPU_RECOVERY_ACTION,		     /* enum wtl_gpu_recovery */
	WTL_GPU_INFOROM_VALID,			     /* 0 or 1 */
	WTL_GPU_EDPP_MICROPERCENT,		     /* multiplier of the peak design power */
	WTL_GPU_PCIE_GEN_HOST_MAX, /* what the machine could do with another GPU */
	WTL_GPU_REMAPPED_CORRECTABLE_INACTIVE,
	WTL_GPU_REMAPPED_UNCORRECTABLE_INACTIVE,
	/* Uncorrected errors of on-chip memory, by how they were found and by where they were. */
	WTL_GPU_ECC_SRAM_PARITY_VOLATILE,
	WTL_GPU_ECC_SRAM_SECDED_VOLATILE,
	WTL_GPU_ECC_SRAM_PARITY_AGGREGATE,
	WTL_GPU_ECC_SRAM_SECDED_AGGREGATE,
	WTL_GPU_ECC_SRAM_L2,
	WTL_GPU_ECC_SRAM_SM,
	WTL_GPU_ECC_SRAM_MICROCONTROLLER,
	WTL_GPU_ECC_SRAM_PCIE,
	WTL_GPU_ECC_SRAM_OTHER,
	WTL_GPU_ECC_SRAM_EXCEEDED,    /* 0 or 1: more of them than the maker allows */
	WTL_GPU_FABRIC_STATE,	      /* 1 not started, 2 in progress, 3 completed */
	WTL_GPU_FABRIC_CLIQUE,	      /* known, with its texts, once completed */
	WTL_GPU_FABRIC_HEALTH,	      /* 1 healthy, 2 unhealthy, 3 of limited capacity */
	WTL_GPU_FABRIC_DEGRADED,      /* its bandwidth; 0 or 1, as the next three */
	WTL_GPU_FABRIC_RECOVERING,    /* routes */
	WTL_GPU_FABRIC_BAD_ROUTE,     /* a route is unhealthy */
	WTL_GPU_FABRIC_TIMED_OUT,     /* recovers from an access that took too long */
	WTL_GPU_FABRIC_MISCONFIGURED, /* enum wtl_gpu_misconfigured */
	WTL_GPU_FABRIC_PARTITION,     /* 0 or 1: it is assigned one */
	WTL_GPU_PLATFORM_SLOT,	      /* in the chassis, switches counted */
	WTL_GPU_PLATFORM_TRAY,	      /* of those that compute */
	WTL_GPU_PLATFORM_HOST,	      /* which machine in the slot */
	WTL_GPU_PLATFORM_PEER,	      /* 0: joined directly to its peers, 1: by switches */
	WTL_GPU_PLATFORM_GUID,	      /* in the fabric */
	WTL_GPU_BRAND,		      /* NVML's numbers, as the next */
	WTL_GPU_ARCHITECTURE,
	WTL_GPU_MINOR_NUMBER,	 /* of /dev/nvidia0, ... */
	WTL_GPU_MULTI_GPU_BOARD, /* 0 or 1 */
	WTL_GPU_BOARD_ID,
	WTL_GPU_PDI,	    /* of this very device */
	WTL_GPU_TIME_RUN_S, /* since its first start */
	WTL_GPU_PCIE_REPLAYS,
	WTL_GPU_PCIE_REPLAY_ROLLOVERS,
	WTL_GPU_BAR1_TOTAL_BYTES,
	WTL_GPU_BAR1_FREE_BYTES,
	WTL_GPU_BAR1_USED_BYTES,
	WTL_GPU_CAPTURE_SESSIONS, /* of the frame buffer */
	WTL_GPU_CAPTURE_FPS,
	WTL_GPU_CAPTURE_LATENCY_US,
	WTL_GPU_SHUTDOWN_C, /* temperatures at which something happens */
	WTL_GPU_SLOWDOWN_C,
	WTL_GPU_MEMORY_MAX_OPERATING_C,
	WTL_GPU_MAX_OPERATING_C,
	WTL_GPU_TARGET_C,
	WTL_GPU_SHUTDOWN_MARGIN_C, /* the same as margins; int64_t: mostly negative */
	WTL_GPU_SLOWDOWN_MARGIN_C,
	WTL_GPU_MEMORY_MAX_OPERATING_MARGIN_C,
	WTL_GPU_MAX_OPERATING_MARGIN_C,
	WTL_GPU_CLOCK_GRAPHICS_BOOST_MAX_MHZ,
	WTL_GPU_CHANNEL_REPAIR_PENDING, /* 0 or 1, as the next */
	WTL_GPU_TPC_REPAIR_PENDING,
	WTL_GPU_NUMBERS
};

/* What has to be done before a GPU with a fault is whole again; the numbers are NVML's, as in the next. */
enum wtl_gpu_recovery {
	WTL_RECOVERY_NONE,
	WTL_RECOVERY_RESET,
	WTL_RECOVERY_REBOOT,
	WTL_RECOVERY_DRAIN_P2P,
	WTL_RECOVERY_DRAIN_AND_RESET,
	WTL_RECOVERY_IMEX_DOMAIN,
};

enum wtl_gpu_virtualization {
	WTL_VIRTUALIZATION_NONE,
	WTL_VIRTUALIZATION_PASSED_THROUGH, /* this machine is virtual, and the GPU is its own */
	WTL_VIRTUALIZATION_VGPU,	   /* this machine is virtual, and has a part of the GPU */
	WTL_VIRTUALIZATION_HOST_VGPU,
	WTL_VIRTUALIZATION_HOST_VSGA,
};

/* What is wrong with a fabric's configuration: one less than NVML's numbers, where 0 is "not known". */
enum wtl_gpu_misconfigured {
	WTL_MISCONFIGURED_NONE,
	WTL_MISCONFIGURED_SYSTEM_GUID,
	WTL_MISCONFIGURED_CHASSIS_SERIAL,
	WTL_MISCONFIGURED_NO_PARTITION,
	WTL_MISCONFIGURED_TOO_FEW_LINKS,
	WTL_MISCONFIGURED_FIRMWARE,
	WTL_MISCONFIGURED_LOCATION,
	WTL_MISCONFIGURED_GPU_STATE,
};

/* Why clocks are held down; the numbers are NVML's. */
enum wtl_gpu_throttle {
	WTL_THROTTLE_IDLE = 0x1,
	WTL_THROTTLE_APPLICATION_CLOCKS = 0x2,
	WTL_THROTTLE_SW_POWER_CAP = 0x4,
	WTL_THROTTLE_HW_SLOWDOWN = 0x8,
	WTL_THROTTLE_SYNC_BOOST = 0x10,
	WTL_THROTTLE_SW_THERMAL = 0x20,
	WTL_THROTTLE_HW_THERMAL = 0x40,
	WTL_THROTTLE_HW_POWER_BRAKE = 0x80,
	WTL_THROTTLE_DISPLAY_CLOCKS = 0x100,
};

enum wtl_gpu_process_type {
	WTL_GPU_PROCESS_COMPUTE = 1,
	WTL_GPU_PROCESS_GRAPHICS = 2,
	WTL_GPU_PROCESS_MPS = 4,
};

struct wtl_gpu_process {
	int pid;			     /* as the driver counts: the first PID namespace's */
	unsigned types;			     /* enum wtl_gpu_process_type, added */
	uint64_t memory_bytes;		     /* UINT64_MAX: not known */
	uint32_t instance, compute_instance; /* MIG; UINT32_MAX: none */
	bool has_use;			     /* the percentages below mean something */
	uint32_t sm_percent, memory_percent, encoder_percent, decoder_percent;
	bool is_visible; /* pid means the same process here; else it is of another PID namespace */
	char name[128];	 /* the command's path; "host pid 1234, not visible here"; "" not known */
};

/* A MIG instance: a part of a GPU that looks like a GPU to programs. */
struct wtl_gpu_mig {
	unsigned index;
	uint32_t instance, compute_instance;
	char profile[32]; /* "3g.40gb" */
	char uuid[96];
	uint64_t memory_total_bytes, memory_used_bytes; /* UINT64_MAX: not known */
	uint32_t multiprocessors;			/* 0: not known */
};

struct wtl_gpu {
	unsigned index;	 /* NVML's for NVIDIA, after those for others */
	char domain[32]; /* "gpu-0": the energy domain, "" if it has none */
	char vendor[16]; /* "nvidia", "amd", "intel" */
	char name[96], uuid[96], serial[32], bus_id[32], vbios[32], driver[80], pci_device_id[16],
		pci_subsystem_id[16], compute_capability[16];
	char inforom_image[24], inforom_oem[24], inforom_ecc[24], inforom_power[24];
	char board_part[32], gsp_firmware[64]; /* with what is read on request */
	/* Of the fabric: which one, and how joining it went, in the driver's words ("Success"); of the platform.
	 * They mean something where WTL_GPU_FABRIC_CLIQUE and WTL_GPU_PLATFORM_HOST are known. */
	char fabric_cluster[40], fabric_status[64], chassis_serial[20];
	uint32_t pci_domain, pci_bus, pci_device;
	bool is_left_out;	   /* by request: only its number is known */
	enum wattle_status status; /* OK, ASLEEP, GONE (lost), DENIED, FAILED */
	int code;		   /* as in struct wtl_gpu_value; 0 where the status is OK */
	char trouble[128];	   /* the status in words where it is not OK, no full stop; or "" */
	struct wtl_gpu_value numbers[WTL_GPU_NUMBERS];
	struct wtl_gpu_process *processes; /* owned by what filled the struct */
	size_t n_processes;
	enum wattle_status processes_status;
	struct wtl_gpu_mig *migs; /* owned by what filled the struct */
	size_t n_migs;
	bool lacks_migs; /* it has instances, and there was no memory to list them */
};

#endif
