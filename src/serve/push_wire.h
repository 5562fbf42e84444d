/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_PUSH_WIRE_H
#define WTL_SERVE_PUSH_WIRE_H

#include <stdbool.h>
#include <stddef.h>

#include "serve/push_rows.h"

struct wtl_buf;

/*
 * Rows as requests: Prometheus' remote-write 1.0 (https://prometheus.io/docs/specs/prw/remote_write_spec/), before it is
 * compressed, and version 1 of InfluxDB's line protocol.
 */

/* Labels "name=value" for each series, ended by NULL; a series' own labels override them. */
struct wtl_push_labels {
	const char *const *texts;
};

/* Is it "name=value", with a name that Prometheus accepts? */
bool wtl_push_is_label(const char *text);

/* 0 or -ENOMEM. The labels of the table's series are cached in it, so `labels` must always be the same. */
int wtl_push_remote_write(struct wtl_push_table *table, const struct wtl_push_row rows[], size_t n,
			  const struct wtl_push_labels *labels, struct wtl_buf *buf);
int wtl_push_influx(struct wtl_push_table *table, const struct wtl_push_row rows[], size_t n,
		    const struct wtl_push_labels *labels, struct wtl_buf *buf);

#endif
