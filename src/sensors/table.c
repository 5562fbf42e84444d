/* SPDX-License-Identifier: MIT */
#include "sensors/source.h"

/* perf comes first: what is opened after it has no right that the user lacks (struct wtl_env). */
const struct wtl_source_ops *const wtl_sources[] = {
	&wtl_source_rapl_perf, &wtl_source_rapl_powercap,
	&wtl_source_nvml,      &wtl_source_amdgpu,
	&wtl_source_intel_gpu, &wtl_source_hwmon,
	&wtl_source_battery,   &wtl_source_serve,
	&wtl_source_model,     NULL,
};
