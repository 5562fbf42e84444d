/* SPDX-License-Identifier: MIT */
#ifndef WTL_METER_SENSED_H
#define WTL_METER_SENSED_H

#include <stddef.h>

#include "energy/sensor_line.h"

struct wattle_meter;
struct wtl_io;
struct wtl_sensor_class;

/*
 * How sensors of this machine's devices were found to sample (wattle calibrate --sensor), kept in a text file beside that
 * of idle power (its format: docs/calibrate.md). It takes the place of what is known of their kind.
 */

/* The file beside that one. 0 or -ENAMETOOLONG. */
int wtl_sensed_path(const char *idle_path, char *ret_path, size_t size);
/* Keeps one, in place of what the file had of the same key. 0 or negative. */
int wtl_sensed_keep(struct wtl_io *io, const char *path, const struct wtl_kept_sensor *kept);

/* Takes what the file beside idle_path has of this meter's channels, imported ones included, by serial. Call it before the
 * first sample. 0 or -ENOMEM. */
int wtl_sensed_load(struct wattle_meter *meter, const char *idle_path);

#endif
