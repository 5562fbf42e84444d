/* SPDX-License-Identifier: MIT */
#ifndef WTL_IMPORT_GPU_H
#define WTL_IMPORT_GPU_H

#include "energy/gpu.h"
#include "import/import.h"

/* NVIDIA's GPUs as series. */

enum { WTL_IMPORT_GPUS_MAX = 256, WTL_IMPORT_GPU_GAIN_PPM = 50000 };

struct wtl_import_gpu {
	char key[96],
		domain[WTL_NAME_SIZE]; /* key: its UUID or bus number; "": only the index is known */
	uint32_t index;
	unsigned power; /* the power that is used */
	struct wtl_import_gpu_row
		*first; /* of several powers, which waits for the second row; or NULL */
	size_t power_series, energy_series;
	size_t devices[WTL_DEVICE_NUMBERS];
};

struct wtl_import_gpus {
	struct wtl_import_gpu list[WTL_IMPORT_GPUS_MAX];
	size_t n, newest;
};

/* The GPU of a record; NULL: there are too many. An index of UINT32_MAX is not known. */
struct wtl_import_gpu *wtl_import_gpu_find(struct wtl_import_gpus *gpus, const struct wtl_gpu *gpu);
/* Puts all its values at a moment. After the last of them, wtl_import_gpus_end() puts rows that wait. */
void wtl_import_gpu_put(struct wtl_import *import, struct wtl_import_gpu *own,
			const struct wtl_gpu *gpu, int64_t t_ns);
void wtl_import_gpus_end(struct wtl_import *import, struct wtl_import_gpus *gpus);

#endif
