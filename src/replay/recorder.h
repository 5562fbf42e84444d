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
 * Writes everything that a meter and its consumers compute with to a recording, so that a player
 * (player.h) can repeat it. All calls come from one thread, which also takes the meter's samples.
 */
struct wtl_recorder_options {
	const char *path;
	struct wtl_store_options store;
	int64_t interval_ns; /* of the samples: gives the size of commits, if store has none */
	int64_t commit_ns; /* > 0: commits before a sample, so long after the last time; 0: the caller does */
	bool waits;   /* for the disk, with each of those: samples come faster than time passes */
	bool is_late; /* the meter measured before: accounts begin with the consumers' next bill */
	/* A user's name, "" if there is none. */
	void (*user)(void *context, uint32_t uid, char name[33]);
	void *user_context;
	/* The highest resident memory of this program so far, bytes; NULL: not recorded. */
	uint64_t (*peak_memory)(void);
};

/*
 * Creates the recording. To be called right after opening the meter and the consumers
 * (NULL: nobody is followed), which must have their first baselines. Both go on
 * without the recorder after wtl_recorder_end(). 0, or negative with the reason.
 */
int wtl_recorder_new(struct wattle_meter *meter, struct wtl_consumers *consumers,
		     const struct wtl_recorder_options *options, struct wtl_recorder **ret_recorder,
		     struct wtl_err *err);

/* The error that stopped it, kept for later; code 0: none. */
const struct wtl_err *wtl_recorder_error(const struct wtl_recorder *recorder);

/* For consumers' bills of a window that began before the recording's own: by_ns is added to their times. */
void wtl_recorder_shift_bills(struct wtl_recorder *recorder, int64_t by_ns);

/* A fact about the recording: the command, the host (docs/recording.md lists them). */
void wtl_recorder_fact(struct wtl_recorder *recorder, const char *key, const char *value);

/* Idle power from before the recording, for a domain of which none was known yet. NULL is fine. */
void wtl_recorder_idle(struct wtl_recorder *recorder, size_t domain,
		       const struct wtl_baseline *idle);

/*
 * Writes what came since the last call. To be called about once a second, even if samples are further apart.
 * 0, or the error that stopped the recording: it is returned once, later calls return 0 and record nothing.
 */
int wtl_recorder_commit(struct wtl_recorder *recorder, struct wtl_err *err);

/* Stores the figures of the newest window with that name in the table of windows. */
void wtl_recorder_window(struct wtl_recorder *recorder, const char *name, bool is_open,
			 const struct wattle_window *window, const struct wattle_energy energies[]);

/* Stores a fact about the newest window with that name: WTL_FACT_WINDOW. */
void wtl_recorder_window_fact(struct wtl_recorder *recorder, const char *name, const char *key,
			      const char *value);

/* Stores who marked the newest window with that name from outside. */
void wtl_recorder_marked_by(struct wtl_recorder *recorder, const char *name, int pid);

/* What devices report beside energy, about once a second. */
void wtl_recorder_devices(struct wtl_recorder *recorder, const struct wtl_device_value values[],
			  size_t n);

/* Samples in which every channel, and every device value below, has a value at the same moment. */
struct wtl_recorder_rows {
	size_t n;
	const int64_t *t_mono_ns;
	const int64_t *const *values; /* by channel */
	size_t n_devices;
	const struct wtl_device_value *devices; /* without their values */
	const int64_t *const *device_values;	/* by device */
};

/* Like recording them one after the other, if a further sample follows in the
 * usual way. false: nothing was recorded, since a channel may be in a gap. */
bool wtl_recorder_rows(struct wtl_recorder *recorder, const struct wtl_recorder_rows *rows);

/* Stores bytes that a player ignores in the series of that name: their length, then eight in a value. */
void wtl_recorder_bytes(struct wtl_recorder *recorder, const char *series, const void *bytes,
			size_t len);
/* How many periods have begun: for callers whose data must be readable in each period alone. */
uint32_t wtl_recorder_periods(const struct wtl_recorder *recorder);

/* The store that it writes to, until the end; for tests, which wait for the disk. */
struct wtl_store_writer *wtl_recorder_writer(struct wtl_recorder *recorder);

/* Writes the accounts and the rest, and frees. NULL is fine. The same error as from commit. */
int wtl_recorder_end(struct wtl_recorder *recorder, struct wtl_err *err);

#endif
