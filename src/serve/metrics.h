/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_METRICS_H
#define WTL_SERVE_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "serve/metrics_writer.h"

/* A snapshot as text for Prometheus: its text format 0.0.4, or
 * OpenMetrics 1.0.0 (docs/metrics.md). Unknown values are left out. */

/* Families beside those that are always there. */
enum {
	WTL_METRICS_PER_PROCESS = 1, /* every process by its pid */
	/* The names of other exporters, as in wtl_metrics_compat_names[]. */
	WTL_METRICS_KEPLER = 2,
	WTL_METRICS_DCGM = 4,
	WTL_METRICS_SCAPHANDRE = 8,
	WTL_METRICS_NODE = 16,
	WTL_METRICS_AIPOWERMETER = 32
};

extern const char *const wtl_metrics_compat_names[]; /* ended by NULL */

/* All, each table ended by one without a name. */
extern const struct wtl_metrics_family wtl_metrics_families[];
extern const struct wtl_metrics_family wtl_metrics_compat_families[];
extern const struct wtl_metrics_family wtl_metrics_push_families[]; /* with --push */

/* Of those sets (WTL_METRICS_…, added). */
void wtl_metrics_write(const struct wtl_live *live, unsigned sets, bool is_open,
		       struct wtl_buf *buf);

/* Whether a request that has this header Accept (NULL: none) wants OpenMetrics rather than text. */
bool wtl_metrics_wants_open(const char *accept);
const char *wtl_metrics_type(bool is_open); /* for Content-Type */

#endif
