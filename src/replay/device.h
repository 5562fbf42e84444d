/* SPDX-License-Identifier: MIT */
#ifndef WTL_REPLAY_DEVICE_H
#define WTL_REPLAY_DEVICE_H

#include "energy/gpu.h"
#include "replay/format.h"

struct wtl_device_quantity {
	const char *name;	    /* in exports */
	enum wtl_gpu_number of_gpu; /* WTL_GPU_NUMBERS: only processors have it */
};

extern const struct wtl_device_quantity wtl_device_quantities[WTL_DEVICE_NUMBERS];

#endif
