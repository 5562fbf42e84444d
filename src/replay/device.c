/* SPDX-License-Identifier: MIT */
#include "replay/device.h"

enum wtl_gpu_number wtl_device_gpu_number(enum wtl_device_number number)
{
	switch (number) {
	case WTL_DEVICE_TEMPERATURE_C:
		return WTL_GPU_TEMPERATURE_C;
	case WTL_DEVICE_MEMORY_TEMPERATURE_C:
		return WTL_GPU_MEMORY_TEMPERATURE_C;
	case WTL_DEVICE_CLOCK_MHZ:
		return WTL_GPU_CLOCK_SM_MHZ;
	case WTL_DEVICE_MEMORY_CLOCK_MHZ:
		return WTL_GPU_CLOCK_MEMORY_MHZ;
	case WTL_DEVICE_USE_PERCENT:
		return WTL_GPU_USE_PERCENT;
	case WTL_DEVICE_MEMORY_USED_BYTES:
		return WTL_GPU_MEMORY_USED_BYTES;
	case WTL_DEVICE_MEMORY_TOTAL_BYTES:
		return WTL_GPU_MEMORY_TOTAL_BYTES;
	case WTL_DEVICE_LIMIT_UW:
		return WTL_GPU_LIMIT_UW;
	case WTL_DEVICE_THROTTLE:
		return WTL_GPU_THROTTLE;
	case WTL_DEVICE_FAN_PERCENT:
		return WTL_GPU_FAN_PERCENT;
	case WTL_DEVICE_THROTTLED:
	case WTL_DEVICE_NUMBERS:
		break;
	}
	return WTL_GPU_NUMBERS;
}
