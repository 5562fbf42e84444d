/* SPDX-License-Identifier: MIT */
#include "replay/device.h"

const struct wtl_device_quantity wtl_device_quantities[WTL_DEVICE_NUMBERS] = {
	[WTL_DEVICE_TEMPERATURE_C] = {"temperature_c", WTL_GPU_TEMPERATURE_C},
	[WTL_DEVICE_MEMORY_TEMPERATURE_C] = {"memory_temperature_c", WTL_GPU_MEMORY_TEMPERATURE_C},
	[WTL_DEVICE_CLOCK_MHZ] = {"clock_mhz", WTL_GPU_CLOCK_SM_MHZ},
	[WTL_DEVICE_MEMORY_CLOCK_MHZ] = {"memory_clock_mhz", WTL_GPU_CLOCK_MEMORY_MHZ},
	[WTL_DEVICE_USE_PERCENT] = {"use_percent", WTL_GPU_USE_PERCENT},
	[WTL_DEVICE_MEMORY_USED_BYTES] = {"memory_used_bytes", WTL_GPU_MEMORY_USED_BYTES},
	[WTL_DEVICE_MEMORY_TOTAL_BYTES] = {"memory_total_bytes", WTL_GPU_MEMORY_TOTAL_BYTES},
	[WTL_DEVICE_LIMIT_UW] = {"limit_w", WTL_GPU_LIMIT_UW},
	[WTL_DEVICE_THROTTLE] = {"throttle", WTL_GPU_THROTTLE},
	[WTL_DEVICE_FAN_PERCENT] = {"fan_percent", WTL_GPU_FAN_PERCENT},
	[WTL_DEVICE_THROTTLED] = {"throttled", WTL_GPU_NUMBERS},
};
