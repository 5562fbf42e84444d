/* SPDX-License-Identifier: MIT */
#ifndef WTL_SENSORS_NVML_H
#define WTL_SENSORS_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/held.h"
#include "energy/catalog.h"
#include "gpu/library.h"
#include "sensors/source.h"

/* The state of the NVML source, shared by nvml.c (opening, reading, recovery), nvml_find.c (which
 * GPUs there are) and nvml_probe.c (what each of them can measure). */

enum {
	WTL_NVML_CHANNELS_MAX = 4, /* energy, power, the memory's power, the module's power */
	WTL_NVML_GPUS_MAX = 256,
};

enum wtl_nvml_via { WTL_NVML_VIA_FIELD, WTL_NVML_VIA_TOTAL_ENERGY, WTL_NVML_VIA_POWER_USAGE };

struct wtl_nvml_channel {
	enum wtl_nvml_via via;
	uint32_t field;
	uint32_t scope;
	enum wtl_quantity quantity;
	bool answered;	 /* it has given a figure at least once */
	int64_t next_ns; /* not to be asked before: the last reading stands until then */
	struct wtl_reading last;
};

struct wtl_nvml_gpu {
	uint64_t handle;		   /* 0: none, never to be passed on */
	char bus_id[WTL_NVML_BUS_ID_SIZE]; /* as sysfs or NVML writes it; "" if not known */
	char uuid[WTL_NVML_UUID_SIZE];
	struct wtl_held_file power; /* its runtime_status */
	bool asleep;
	bool is_late; /* it has slept so far: its channel is declared, and nothing was asked */
	int trouble;  /* is_late: why the last look for it was in vain, a code or negative errno */
	int64_t power_next_ns;
	int64_t retry_ns; /* without a handle: not to be looked for before */
	struct wtl_nvml_channel channels[WTL_NVML_CHANNELS_MAX];
	size_t n_channels;
};

struct wtl_nvml {
	struct wtl_nvml_lib lib;
	struct wtl_io *io;
	const struct wtl_log *log;
	char *path;		   /* of the library, to be loaded when a GPU wakes; NULL: usual */
	bool broken;		   /* it must be initialised anew before any other call */
	int trouble;		   /* why that was in vain, a code or negative errno */
	int64_t init_ns;	   /* not to be tried before */
	int64_t init_wait_ns;	   /* doubles with each attempt in vain */
	struct wtl_nvml_gpu *gpus; /* those with channels, in their order */
	size_t n_gpus;
};

/* ---- nvml_find.c ---- */

/*
 * Loads the library, unless every GPU sleeps, and finds the GPUs; what cannot be used becomes a
 * miss. GPUs that sleep are declared. 0 or -ENOMEM or -E2BIG.
 */
int wtl_nvml_find(struct wtl_nvml *nvml, const struct wtl_source_options *options,
		  struct wtl_catalog *catalog);

/* ---- nvml_probe.c ---- */

/*
 * Finds out what the GPU with this handle can measure and adds its channels to the catalog as
 * gpu-`number`, or a miss. gpu has its handle; name is the maker's. 0 or -ENOMEM or -E2BIG.
 */
int wtl_nvml_probe(struct wtl_nvml *nvml, struct wtl_nvml_gpu *gpu, unsigned number,
		   struct wtl_catalog *catalog);

/*
 * Adds the channel of a GPU that sleeps, unasked: an energy counter. Only Turing and later can be
 * suspended while the driver holds them (runtime D3), and all since Volta have the counter. device
 * is what it is called. 0 or -ENOMEM or -E2BIG.
 */
int wtl_nvml_declare(struct wtl_nvml_gpu *gpu, unsigned number, const char *device,
		     struct wtl_catalog *catalog);

/* A declared GPU is awake, and has a handle: finds out by which call its counter answers. Nothing
 * is allocated. */
void wtl_nvml_probe_late(struct wtl_nvml *nvml, struct wtl_nvml_gpu *gpu);

#endif
