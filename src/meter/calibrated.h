/* SPDX-License-Identifier: MIT */
#ifndef WTL_METER_CALIBRATED_H
#define WTL_METER_CALIBRATED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "energy/calibration_line.h"
#include "energy/reading.h"

struct wattle_meter;
struct wtl_calibrated;
struct wtl_channel;
struct wtl_io;

/*
 * What calibrations make of readings. They are kept in a text file beside that of idle power (its format:
 * docs/calibrate.md), each by a key: "UUID:gpu" of what has a serial, else "MACHINE:DOMAIN", and "MACHINE:wall".
 */

void wtl_calibration_key(char key[WTL_KEPT_KEY_SIZE], uint64_t machine_id,
			 const struct wtl_channel *channel); /* NULL: the wall's */

/* The file beside that one. 0 or -ENAMETOOLONG. */
int wtl_calibration_path(const char *idle_path, char *ret_path, size_t size);

/* Keeps one, in place of what the file had of the same key. 0 or negative. */
int wtl_calibration_keep(struct wtl_io *io, const char *path,
			 const struct wtl_kept_calibration *kept);

/*
 * Takes what the file beside idle_path has of this meter's channels: from now on their readings are corrected, and
 * their gain and zero are as sure as the calibration. Before anybody else has the meter. What is wrong with the file is
 * logged. 0 or -ENOMEM.
 */
int wtl_calibrated_load(struct wattle_meter *meter, const char *idle_path);
/* The same of what has a serial alone: its readings may be another machine's. */
int wtl_calibrated_load_serials(struct wattle_meter *meter, const char *idle_path);
void wtl_calibrated_free(struct wtl_calibrated *calibrated); /* NULL is fine */

/* What is shown of that behind the device's name, such as "calibrated 2026-07-03"; NULL: it is not calibrated. */
const char *wtl_calibrated_note(const struct wtl_channel *channel);

/* Corrects readings first to first + n, which a source has just made; calibrated may be NULL. */
void wtl_calibrated_apply(struct wtl_calibrated *calibrated, struct wtl_reading readings[],
			  size_t first, size_t n);

/* The wall's: NULL: there is none. */
const struct wtl_kept_calibration *wtl_calibrated_wall(const struct wtl_calibrated *calibrated);

#endif
