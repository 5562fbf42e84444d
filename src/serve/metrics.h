/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_METRICS_H
#define WTL_SERVE_METRICS_H

struct wtl_buf;
struct wtl_live;

/* A snapshot as Prometheus' text format 0.0.4. */
void wtl_metrics_write(const struct wtl_live *live, struct wtl_buf *buf);

#endif
