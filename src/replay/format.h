/* SPDX-License-Identifier: MIT */
#ifndef WTL_REPLAY_FORMAT_H
#define WTL_REPLAY_FORMAT_H

#include <inttypes.h>
#include <stdint.h>

/*
 * What a recording's series mean (docs/recording.md). Times are nanoseconds; those of samples are whole
 * microseconds. A series that has "N" in its name is one of many: channel or GPU number N.
 */

/* "op": what happened, in order. The other series hold the arguments, one value (or several) for each
 * op of their kind. */
enum wtl_op {
	WTL_OP_SAMPLE, /* sample.… and ch.N.… */
	WTL_OP_BEGIN,  /* of a window, with the sample before it: window.… */
	WTL_OP_END,
	WTL_OP_CANCEL,
	WTL_OP_SCAN,		/* who ran: look.…, use.…, fold.…, gpu.N.…, change.… */
	WTL_OP_BILLED,		/* bill.utc */
	WTL_OP_RESET,		/* change.… */
	WTL_OP_SECOND,		/* second.…: clocks, and wattle's own cost */
	WTL_OP_DEVICES,		/* device.…: what GPUs report beside energy */
	WTL_OP_SETTLED,		/* accounts up to here stay divided as they are (learned watts) */
	WTL_OP_MACHINE_CHANGED, /* the same, and watts may have to be learned anew */
	WTL_OPS
};

/* A series that is one of many: prefix, number, name. */
#define WTL_SERIES_FORMAT  "%s.%zu.%s"
#define WTL_SERIES_CHANNEL "ch"
#define WTL_SERIES_GPU	   "gpu"

#define WTL_SERIES_OP "op"

/* When a sample started (CLOCK_MONOTONIC), how long it took, and CLOCK_BOOTTIME - CLOCK_MONOTONIC. */
#define WTL_SERIES_SAMPLE_MONO	 "sample.mono"
#define WTL_SERIES_SAMPLE_TOOK	 "sample.took"
#define WTL_SERIES_SAMPLE_ASLEEP "sample.asleep"

/* "ch.N.…". For each sample of channel N: 0 if the reading is that of the sample before; else its time
 * since the sample's start, plus 1 unless it is before that. The rest is there for new readings only. */
#define WTL_SERIES_CHANNEL_AT	 "at"
#define WTL_SERIES_CHANNEL_VALUE "value"
#define WTL_SERIES_CHANNEL_HALF	 "half"
#define WTL_SERIES_CHANNEL_STATE \
	"state" /* enum wattle_status, + 16 for a counter that started again */
#define WTL_SERIES_CHANNEL_ERROR "error" /* if the status is not OK */

enum { WTL_STATE_ANEW = 16 };

#define WTL_SERIES_WINDOW_ID   "window.id"   /* in the table of windows */
#define WTL_SERIES_WINDOW_MONO "window.mono" /* of a start or an end */
#define WTL_SERIES_WINDOW_UTC  "window.utc"  /* of a start */

#define WTL_SERIES_SCAN_MONO	 "look.mono"
#define WTL_SERIES_SCAN_DURATION "look.duration"
#define WTL_SERIES_SCAN_CAPACITY "look.capacity"
#define WTL_SERIES_SCAN_BUSY	 "look.busy"
#define WTL_SERIES_SCAN_WEIGHT	 "look.weight" /* enum wtl_weight: what uses of processors weigh */
#define WTL_SERIES_SCAN_USES	 "look.uses"   /* how many */
#define WTL_SERIES_USE_SLOT	 "use.slot"    /* the difference to the slot before in this scan */
#define WTL_SERIES_USE_WEIGHT	 "use.weight"
#define WTL_SERIES_SCAN_FOLDS	 "look.folds"
#define WTL_SERIES_FOLD_FROM	 "fold.from"
#define WTL_SERIES_FOLD_INTO	 "fold.into"
#define WTL_SERIES_BILL_UTC	 "bill.utc"

/* "gpu.N.…" */
#define WTL_SERIES_GPU_WEIGHT "weight" /* enum wtl_gpu_use_method */
#define WTL_SERIES_GPU_USE    "use"    /* parts per million of its capacity */
#define WTL_SERIES_GPU_USES   "uses"   /* how many */
#define WTL_SERIES_GPU_SLOT   "slot"
#define WTL_SERIES_GPU_SHARE  "share"

/* The consumers' changes since the last SCAN or RESET: how many they are, and for each the
 * slot (as the difference to the change before), which number, and by how much it changed. */
#define WTL_SERIES_CHANGES	"change.count"
#define WTL_SERIES_CHANGE_SLOT	"change.slot"
#define WTL_SERIES_CHANGE_FIELD "change.field"
#define WTL_SERIES_CHANGE_BY	"change.by"

enum wtl_change {
	WTL_CHANGE_OWNER, /* BY is the consumer's id in the table, all numbers are 0; 0: nobody has it */
	WTL_CHANGE_STATE,   /* enum wtl_consumer_state */
	WTL_CHANGE_CPU,	    /* nanoseconds */
	WTL_CHANGE_COUNTED, /* CPU time, weighed by what the hardware counted */
	WTL_CHANGE_FLAGS,   /* 1: of the command, 2: readable */
	WTL_CHANGE_PARENT,
	WTL_CHANGE_PROCESSES,
	WTL_CHANGE_THREADS,
	/* Bytes, or parts per million; -1: not known. */
	WTL_CHANGE_RSS,
	WTL_CHANGE_PSS,
	WTL_CHANGE_USS,
	WTL_CHANGE_GPU_MEMORY,
	WTL_CHANGE_GPU_USE,
	WTL_CHANGE_WATTS_KEY, /* who shares its learned watts: wtl_consumer.watts_key */
	WTL_CHANGES
};

#define WTL_SERIES_SECOND_MONO "second.mono"
#define WTL_SERIES_SECOND_UTC  "second.utc"
#define WTL_SERIES_SECOND_CPU  "second.cpu" /* wattle's own, nanoseconds */
#define WTL_SERIES_SECOND_RSS  "second.rss" /* the highest so far, bytes; empty: not known */

/* What devices report beside energy: how many values are known, and for each the device (that of the
 * facts device.N.…, or -1: the machine and its processors), enum wtl_device_number, and the value. */
#define WTL_SERIES_DEVICES	 "device.count"
#define WTL_SERIES_DEVICE_GPU	 "device.gpu"
#define WTL_SERIES_DEVICE_NUMBER "device.number"
#define WTL_SERIES_DEVICE_VALUE	 "device.value"

enum wtl_device_number {
	WTL_DEVICE_TEMPERATURE_C,
	WTL_DEVICE_MEMORY_TEMPERATURE_C,
	WTL_DEVICE_CLOCK_MHZ, /* of a GPU's SMs, or the processors' highest */
	WTL_DEVICE_MEMORY_CLOCK_MHZ,
	WTL_DEVICE_USE_PERCENT,
	WTL_DEVICE_MEMORY_USED_BYTES,
	WTL_DEVICE_MEMORY_TOTAL_BYTES,
	WTL_DEVICE_LIMIT_UW,
	WTL_DEVICE_THROTTLE, /* enum wtl_gpu_throttle */
	WTL_DEVICE_FAN_PERCENT,
	WTL_DEVICE_THROTTLED, /* times that processors were slowed by heat, since the start */
	WTL_DEVICE_NUMBERS
};

struct wtl_device_value {
	int32_t gpu;
	enum wtl_device_number number;
	int64_t value;
};

/* Parts of a profile: for each its length in bytes, then those, eight a value, lowest first (docs/profile-file.md). */
#define WTL_SERIES_PROFILE "profile.bytes"

/* ---- Facts ---- */

#define WTL_FACT_VERSION    "wattle"	 /* the version that wrote it */
#define WTL_FACT_MACHINE_ID "machine-id" /* hashes, 16 digits: wtl_machine_hash() */
#define WTL_FACT_BOOT_ID    "boot-id"
#define WTL_FACT_SERIAL	    "channel.%zu.serial" /* of the device that it measures */
#define WTL_FACT_CPUS	    "cpus"
#define WTL_FACT_PACKAGES   "packages"
#define WTL_FACT_CPU_MODEL  "cpu"
#define WTL_FACT_VENDOR	    "cpu-vendor"
#define WTL_FACT_PRODUCT    "product"
#define WTL_FACT_KERNEL	    "kernel"
#define WTL_FACT_MEMORY	    "memory-bytes"
#define WTL_FACT_WALL	    "wall" /* the line of the wall calibration (energy/calibration_line.h) */
#define WTL_FACT_VM	    "virtual-machine"
#define WTL_FACT_CONTAINER  "container"
#define WTL_FACT_GPU_DOMAIN "gpu.%zu.domain"
#define WTL_FACT_GPUS	    "gpus"
#define WTL_FACT_GPU_WATTS  "gpus.learned"  /* "1": the watts of their users were learned, too */
#define WTL_FACT_WEIGHT	    "cpu-weight"    /* of the use of processors: wtl_weight_names */
#define WTL_FACT_IMPORTED   "imported-from" /* another tool: the format of its file */
#define WTL_FACT_LATE	    "begins-late"   /* "1": accounts begin with the first bill in it */
#define WTL_FACT_UPDATE	    "update.%zu" /* of the sensor of the domain, as it was seen: nanoseconds */
#define WTL_FACT_IDLE	    "idle.%zu" /* of the domain, when the recording began */
#define WTL_FACT_KNOWN \
	"known.%zu" /* watts of a program that were known before: a key, and their line */
#define WTL_FACT_LEARNED "learned.%zu" /* "1": watts of that domain were learned */
/* A device of WTL_SERIES_DEVICES: its energy domain ("" if it has none), and the maker's name. */
#define WTL_FACT_DEVICE_DOMAIN "device.%zu.domain"
#define WTL_FACT_DEVICE_NAME   "device.%zu.name"
/* How the run that is this window (by its id in the table) ended. The reason is there if the rest is not. */
#define WTL_FACT_WINDOW		"window.%" PRIu32 ".%s"
#define WTL_FACT_EXIT_STATUS	"exit_status" /* as a shell reports it */
#define WTL_FACT_EXIT_SIGNAL	"exit_signal" /* that ended it */
#define WTL_FACT_EXIT_REASON	"exit_reason"
#define WTL_FACT_INTERRUPTED	"interrupted" /* "1": wattle was interrupted */
#define WTL_FACT_COMMAND_CPU	"cpu_ns"      /* of the command and what it waited for */
#define WTL_FACT_COMMAND_MEMORY "max_rss_bytes"
/* What the recording was asked to follow: a process, a container, a unit. */
#define WTL_FACT_FOLLOW_PID	  "follow.pid"
#define WTL_FACT_FOLLOW_CONTAINER "follow.container"
#define WTL_FACT_FOLLOW_UNIT	  "follow.unit"

#endif
