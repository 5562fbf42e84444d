/* SPDX-License-Identifier: MIT */
#ifndef WTL_REPLAY_RECORDER_STATE_H
#define WTL_REPLAY_RECORDER_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "energy/reading.h"
#include "meter/observer.h"
#include "record/store.h"
#include "replay/recorder.h"
#include "replay/recorder_gap.h"
#include "replay/recorder_windows.h"
#include "replay/series.h"
#include "replay/delta.h"

/* The parts of a recorder: recorder_open.c, recorder_tables.c (its plain tables), recorder_rows.c (many samples at once), and
 * recorder.c (what it observes, and its end). */

struct wtl_channel_series {
	uint32_t of[WTL_OF_CHANNEL];
	struct wtl_reading last;
	struct wtl_channel_gap gap;
	bool is_primary; /* of a domain: a gap of it is one of the domain's energy */
};

struct wtl_gpu_series {
	uint32_t of[WTL_OF_GPU];
};

struct wtl_recorder {
	struct wattle_meter *meter;
	struct wtl_consumers *consumers; /* or NULL */
	struct wtl_io *io;
	struct wtl_store_writer *writer;
	struct wtl_observer observer;
	uint32_t series[WTL_SINGLE_CHANGES]; /* the rest are the delta's */
	struct wtl_channel_series *channels;
	size_t n_channels;
	struct wtl_gpu_series *gpus;
	size_t n_gpus;
	struct wtl_delta delta;
	int64_t n_scans;
	size_t n_known; /* facts of known watts that were written */
	struct wtl_known_windows windows;
	int64_t utc_offset_ns;
	bool has_clocks; /* utc_offset_ns is known */
	/* Of the newest sample; 0: there is none. */
	int64_t sampled_ns, asleep_ns;
	bool has_sampled; /* since the last commit */
	uint32_t n_periods;
	/* Of the last scan. */
	uint64_t n_lost_exits;
	int64_t scanned_ns;
	uint64_t (*peak_memory)(void);
	uint64_t peak_bytes; /* the result after n_faults page faults */
	long n_faults;
	bool is_stopped;
	struct wtl_err err; /* what stopped it */
	int64_t commit_ns, due_ns;
	bool waits, is_late;
	int64_t bill_shift_ns;
	struct wattle_energy *energies; /* one a domain: of a window that is ending */
};

/* ---- recorder.c ---- */

/* Starts and stops observing the meter and its consumers. */
void wtl_recorder_observe(struct wtl_recorder *recorder);
void wtl_recorder_stop(struct wtl_recorder *recorder);
void wtl_recorder_free(struct wtl_recorder *recorder);

/* ---- recorder_tables.c ---- */

/* Writes what the machine is, and what is known at the start. 0 or negative. */
int wtl_recorder_write_start(struct wtl_recorder *recorder);
/* Writes watts that were known before they were learned, if new since the last call. */
void wtl_recorder_write_known(struct wtl_recorder *recorder);
/* Writes accounts, idle power and domains as they are at the end. */
void wtl_recorder_write_end(struct wtl_recorder *recorder);

#endif
