/* SPDX-License-Identifier: MIT */
#ifndef WTL_SENSORS_AMDGPU_H
#define WTL_SENSORS_AMDGPU_H

#include <stdbool.h>

#include "sensors/hwmon_read.h"

/*
 * Does the GPU share its package with the CPU? amdgpu shows the voltage "vddnb" of the north bridge
 * for APUs only (hwmon_attributes_visible() in drivers/gpu/drm/amd/pm/amdgpu_pm.c), except for
 * MI300A, which is known by its number. Labels are constants of the driver: reading one wakes
 * nothing.
 */
bool wtl_amdgpu_is_apu(struct wtl_io *io, const struct wtl_hwmon_gpu *gpu);

#endif
