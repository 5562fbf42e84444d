/* SPDX-License-Identifier: MIT */
#ifndef WTL_SENSORS_GPU_NVML_H
#define WTL_SENSORS_GPU_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/held.h"
#include "energy/catalog.h"
#include "energy/gpu.h"
#include "energy/units.h"
#include "gpu/library.h"
#include "gpu/processes.h"

/*
 * NVIDIA's back end: gpu_nvml.c (which GPUs there are, sleep, loss and return, setting),
 * gpu_nvml_identity.c (what never changes), gpu_nvml_read.c (what does) and gpu_nvml_details.c (what
 * few ask for).
 */

struct wtl_gpu_nvml_use {
	struct wtl_nvml_process_use use;
	int64_t t_ns; /* when it was read */
};

struct wtl_gpu_nvml_gpu {
	size_t row;
	uint64_t handle;		   /* 0: none */
	char bus_id[WTL_NVML_BUS_ID_SIZE]; /* as sysfs writes it; else NVML; or "" */
	char uuid[WTL_NVML_UUID_SIZE];
	int index;	/* NVML's, < 0: it was found on the bus */
	bool is_on_bus; /* bus_id is a directory of sysfs: sleep shows */
	struct wtl_held_file power;
	bool is_foreign; /* another driver has it, for good */
	int64_t retry_ns;

	/* Numbers that were refused for good are left alone until then, by enum wtl_gpu_number. */
	int64_t refused_ns[WTL_GPU_NUMBERS];

	bool has_pcie;
	uint64_t pcie_tx, pcie_rx;
	int64_t pcie_ns;

	struct wtl_nvml_process_list processes;
	struct wtl_nvml_use_list uses;
	struct wtl_gpu_nvml_use *held;
	size_t n_held, room_held;
	bool has_lost_use; /* there was no room to hold all of them */
	struct wtl_gpu_mig *migs;
	size_t n_migs;
};

struct wtl_gpus_nvml {
	struct wtl_io *io;
	struct wtl_nvml_lib lib;
	const char *path; /* of the library, as in the options; our copy */
	char *path_copy;
	struct wtl_gpu_nvml_gpu *gpus;
	size_t n_gpus;
	struct wtl_gpu_set left_out;
	bool pids_are_ours;
	int64_t start_ns; /* not to be started before */
	char cuda[16], version[80];
	char trouble[160];
};

/* ---- gpu_nvml_identity.c ---- */

void wtl_gpu_nvml_versions(struct wtl_gpus_nvml *nvml);

/* Everything that does not change while a driver is loaded. */
void wtl_gpu_nvml_identify(struct wtl_gpus_nvml *nvml, struct wtl_gpu_nvml_gpu *own,
			   struct wtl_gpu *gpu);

/* The MIG devices, if any. */
void wtl_gpu_nvml_read_migs(struct wtl_gpus_nvml *nvml, struct wtl_gpu_nvml_gpu *own,
			    struct wtl_gpu *gpu);

/* ---- gpu_nvml_details.c ---- */

/* Fabric, platform, errors of on-chip memory and the like; and whether the info ROM is whole, which is looked
 * at once a minute at most. Return codes as below. */
int wtl_gpu_nvml_read_details(struct wtl_gpus_nvml *nvml, struct wtl_gpu_nvml_gpu *own,
			      struct wtl_gpu *gpu);
int wtl_gpu_nvml_read_inforom(struct wtl_gpus_nvml *nvml, struct wtl_gpu_nvml_gpu *own,
			      struct wtl_gpu *gpu);

/* ---- gpu_nvml_read.c ---- */

/* All numbers (but PCIe throughput) or those on a screen; or the throughput. Return the code that says that the GPU or the
 * driver is gone, else WTL_NVML_OK. */
int wtl_gpu_nvml_read_numbers(struct wtl_gpus_nvml *nvml, struct wtl_gpu_nvml_gpu *own, bool all,
			      struct wtl_gpu *gpu);
int wtl_gpu_nvml_read_pcie(struct wtl_gpus_nvml *nvml, struct wtl_gpu_nvml_gpu *own,
			   struct wtl_gpu *gpu);

/* What is refused as a matter of principle may change with a mode (MIG, ECC), but not often. */
#define WTL_GPU_NVML_REFUSED_NS (60 * WTL_NS_PER_S)

/* One reading of one GPU. */
struct wtl_gpu_nvml_read {
	struct wtl_nvml_lib *lib;
	struct wtl_gpu_nvml_gpu *own;
	struct wtl_gpu *gpu;
	int64_t now_ns;
	int gone; /* the code that ends it all, or 0 */
};

/* Is it worth asking? Not where the GPU is gone, nor where the last answer stands for a while. */
bool wtl_gpu_nvml_is_due(const struct wtl_gpu_nvml_read *read, enum wtl_gpu_number number);
/* Calls, and takes note where the GPU is gone. */
int wtl_gpu_nvml_ask(struct wtl_gpu_nvml_read *read, enum wtl_nvml_function function,
		     struct wtl_lib_arg args[]);
/* The answer: the value where the code is OK. */
void wtl_gpu_nvml_put(struct wtl_gpu_nvml_read *read, enum wtl_gpu_number number, int code,
		      uint64_t value);

enum { WTL_GPU_NVML_INPUTS = 3, WTL_GPU_NVML_ANSWERS = 6, WTL_GPU_NVML_FIELDS = 24 };

#define WTL_GPU_NVML_NONE WTL_GPU_NUMBERS /* an answer that has no use */

/* A function that answers with numbers: each by a pointer of its own, or all in one struct. */
struct wtl_gpu_nvml_call {
	enum wtl_nvml_function function;
	enum wtl_nvml_function older; /* where the driver lacks the function; 0 (nvmlInit): none */
	uint32_t in[WTL_GPU_NVML_INPUTS]; /* behind the handle */
	size_t n_in;
	uint32_t version; /* of the struct, in its first answer; 0: it has none */
	uint32_t factor;  /* 0: 1 */
	bool is_struct;
	bool is_long;	/* 64 bits each, else 32 */
	bool is_signed; /* of 32 bits */
	bool on_screen; /* WTL_GPU_READ_SCREEN has it */
	enum wtl_gpu_number to[WTL_GPU_NVML_ANSWERS];
	size_t n;
};

void wtl_gpu_nvml_read_call(struct wtl_gpu_nvml_read *read, const struct wtl_gpu_nvml_call *call);

#define WTL_GPU_NVML_SIGNED UINT32_MAX /* in place of a factor: an int64_t */

/* A value that has a number of its own in NVML; many are read by one call. */
struct wtl_gpu_nvml_field {
	uint32_t field, scope;
	uint32_t factor; /* 0: a fraction, as millionths */
	enum wtl_gpu_number to;
};

/* At most WTL_GPU_NVML_FIELDS. */
void wtl_gpu_nvml_read_fields(struct wtl_gpu_nvml_read *read,
			      const struct wtl_gpu_nvml_field list[], size_t n_list);

/* Does this code mean that the GPU or the driver is gone, for every further call? */
bool wtl_gpu_nvml_is_gone(int code);

/* The status of a number or list that could not be had, of a GPU that is there. */
enum wattle_status wtl_gpu_nvml_part_status(int code);

#endif
