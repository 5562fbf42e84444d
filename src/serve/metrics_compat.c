/* SPDX-License-Identifier: MIT */
#include "serve/metrics.h"

const char *const wtl_metrics_compat_names[] = {"kepler", "dcgm",	  "scaphandre",
						"node",	  "aipowermeter", NULL};

const struct wtl_metrics_family wtl_metrics_compat_families[] = {
	{0},
};
