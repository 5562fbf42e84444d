/* SPDX-License-Identifier: MIT */
#ifndef WTL_REPLAY_RECORDER_H
#define WTL_REPLAY_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wattle.h>

#include "record/store.h"
#include "replay/format.h"

struct wtl_consumers;
struct wtl_err;
struct wtl_recorder;

/*
 * Writes all that a meter and its consumers compute with to a recording, from which a player (player.h) goes
 * by it again. All from one thread, the meter's sampling included.
 */
struct wtl_recorder_options {
	const char *path;
	struct wtl_store_options store;
	int64_t interval_ns; /* of the samples: room for them, where store has no number */
	int64_t commit_ns; /* > 0: commits before a sample, so long after the last time; 0: the caller does */
	bool waits; /* for the disk, with each of those: samples come faster than time passes */
	bool is_late; /* the meter has measured before: accounts begin with the consumers' next bill */
	/* A user's name, "" where there is none. */
	void (*user)(void *context, uint32_t uid, char name[33]);
	void *user_context;
	/* The highest resident memory of this program so far, bytes; NULL: not recorded. */
	uint64_t (*peak_memory)(void);
};

/*
 * Creates the recording. To be called right after the meter was opened, and the consumers (NULL: nobody
 * is followed), which must know the baselines that they begin with; both go on without it after
 * wtl_recorder_end(). 0, or negative with the reason.
 */
int wtl_recorder_new(struct wattle_meter *meter, struct wtl_consumers *consumers,
		     const struct wtl_recorder_options *options, struct wtl_recorder **ret_recorder,
		     struct wtl_err *err);

/* The error that stopped it, kept for later; code 0: none. */
const struct wtl_err *wtl_recorder_error(const struct wtl_recorder *recorder);

/* The consumers' bills are of a window that began earlier than the recording's own: to be added to their times. */
void wtl_recorder_shift_bills(struct wtl_recorder *recorder, int64_t by_ns);

/* A word about the recording: the command, the host (docs/recording.md lists them). */
void wtl_recorder_fact(struct wtl_recorder *recorder, const char *key, const char *value);

/* Idle power of a domain of which none was known yet, from before the recording. NULL is fine. */
void wtl_recorder_idle(struct wtl_recorder *recorder, size_t domain,
		       const struct wtl_baseline *idle);

/*
 * About once a second, also where samples are further apart: writes what came since. 0, or the error that
 * stopped the recording: returned once, later calls return 0 and nothing is recorded.
 */
int wtl_recorder_commit(struct wtl_recorder *recorder, struct wtl_err *err);

/* The figures of a window by its name, the newest one of that name: as in the table of windows. */
void wtl_recorder_window(struct wtl_recorder *recorder, const char *name, bool is_open,
			 const struct wattle_window *window, const struct wattle_energy energies[]);

/* A word about the newest window of that name: the fact WTL_FACT_WINDOW. */
void wtl_recorder_window_fact(struct wtl_recorder *recorder, const char *name, const char *key,
			      const char *value);

/* Who marked the newest window of that name from outside. */
void wtl_recorder_marked_by(struct wtl_recorder *recorder, const char *name, int pid);

/* What devices report beside energy, about once a second. */
void wtl_recorder_devices(struct wtl_recorder *recorder, const struct wtl_device_value values[],
			  size_t n);

/* Samples of one moment each, at which every channel has a value, and so has every device behind it. */
struct wtl_recorder_rows {
	size_t n;
	const int64_t *t_mono_ns;
	const int64_t *const *values; /* by channel */
	size_t n_devices;
	const struct wtl_device_value *devices; /* without their values */
	const int64_t *const *device_values;	/* by device */
};

/*
 * As if they were taken and put one after the other, where one more of them comes next in the usual way. false: nothing is
 * put, since a channel may be in a gap.
 */
bool wtl_recorder_rows(struct wtl_recorder *recorder, const struct wtl_recorder_rows *rows);

/* Bytes that mean nothing to a player: their length, and eight a value, in the series of that name. */
void wtl_recorder_bytes(struct wtl_recorder *recorder, const char *series, const void *bytes,
			size_t len);
/* How many periods have begun: each is to be readable without those before it. */
uint32_t wtl_recorder_periods(const struct wtl_recorder *recorder);

/* What it writes to, until the end; for tests, which wait for the disk. */
struct wtl_store_writer *wtl_recorder_writer(struct wtl_recorder *recorder);

/* Writes the accounts and what is left, and frees. NULL is fine. The same error as from commit. */
int wtl_recorder_end(struct wtl_recorder *recorder, struct wtl_err *err);

#endif
