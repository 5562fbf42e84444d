/* SPDX-License-Identifier: MIT */
#ifndef WTL_REPLAY_DEVICE_H
#define WTL_REPLAY_DEVICE_H

#include "energy/gpu.h"
#include "replay/format.h"

/* Which number of a GPU a device's is; WTL_GPU_NUMBERS: one that only processors have. */
enum wtl_gpu_number wtl_device_gpu_number(enum wtl_device_number number);

#endif
