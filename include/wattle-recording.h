/* SPDX-License-Identifier: MIT */
/*
 * Recordings (libwattle-recording), as `wattle record` writes them. Reading tells what was measured, and who
 * used it, computed from the recorded readings by the code that measures live; making one is at the end.
 *
 *	struct wattle_recording *recording;
 *	struct wattle_recording_step step = {.size = sizeof(step)};
 *	struct wattle_energy energies[8] = {{.size = sizeof(energies[0])}};
 *
 *	if (wattle_recording_open("night.wattle", &recording, &error) < 0)
 *		… error.text says why …
 *	while (wattle_recording_next(recording, 1000000000, &step, energies, 8, &error) > 0)
 *		… a second of the recording: step.begin_utc_ns, energies[i].mean_uw …
 *	wattle_recording_close(recording);
 *
 * Words, units and manners are those of wattle.h. One thread at a time uses a recording or a recorder.
 */
#ifndef WATTLE_RECORDING_H
#define WATTLE_RECORDING_H

#include <wattle.h>

#ifdef __cplusplus
extern "C" {
#endif

struct wattle_recording;

/* Opens a recording, also one that is still being written: what there is of it now. 0, or negative with
 * the reason in *reterr (which may be NULL). */
WATTLE_API int wattle_recording_open(const char *path, struct wattle_recording **ret_recording,
				     struct wattle_error *reterr);
/*
 * The same, as of its end: all windows are there at once, and who used it. A recording that was ended properly has a
 * summary of that, so that it need not be gone through. wattle_recording_next() gives nothing of it.
 */
WATTLE_API int wattle_recording_open_end(const char *path, struct wattle_recording **ret_recording,
					 struct wattle_error *reterr);
WATTLE_API void wattle_recording_close(struct wattle_recording *recording); /* NULL is fine */

/* A word about it: "host", "command", "cpu", "kernel", "wattle", "machine-id", "boot-id" (docs/recording.md lists
 * them). NULL: it does not say. Until the recording is closed. */
WATTLE_API const char *wattle_recording_fact(struct wattle_recording *recording, const char *key);

/* 1: it was ended properly; 0: it was cut off, or is being written. */
WATTLE_API int wattle_recording_is_whole(const struct wattle_recording *recording);

/* As wattle_meter_domains() and wattle_meter_domain(). */
WATTLE_API size_t wattle_recording_domains(const struct wattle_recording *recording);
WATTLE_API int wattle_recording_domain(struct wattle_recording *recording, size_t i,
				       struct wattle_domain *ret_domain);

/* A stretch of the recording. */
struct wattle_recording_step {
	size_t size; /* set by the caller */
	int64_t begin_utc_ns, begin_mono_ns;
	int64_t duration_ns;
	int is_lost; /* 1: a part of it is damaged: the text says which */
	char text[256];
	struct wattle_energy total; /* of the in_total domains; stays the last member */
};

/*
 * Goes on to the first sample that is interval_ns later, or short of that by a thousandth at the most (at
 * least by one sample; 0: by one), and tells the energies of that stretch, n_energies domains at the most.
 * Returns 1; 0 at the recording's end; or negative.
 */
WATTLE_API int wattle_recording_next(struct wattle_recording *recording, int64_t interval_ns,
				     struct wattle_recording_step *ret_step,
				     struct wattle_energy *ret_energies, size_t n_energies,
				     struct wattle_error *reterr);

/* A window that has ended: one that a program marked, or at last the recording's own. */
struct wattle_recording_window {
	size_t size; /* set by the caller */
	char name[64];
	int pid;		     /* of whoever marked it from outside; 0: none */
	struct wattle_window window; /* stays the last member */
};

/* The i-th window that has ended so far. -ERANGE past the last. */
WATTLE_API int wattle_recording_window(struct wattle_recording *recording, size_t i,
				       struct wattle_recording_window *ret_window,
				       struct wattle_energy *ret_energies, size_t n_energies);

/*
 * Who used the energy of the recording so far, as wattle_meter_consumers() tells it of a meter: a list of the
 * caller's, which wattle_consumers_free() frees. The time on GPUs is not known. 0 or negative.
 */
WATTLE_API int wattle_recording_consumers(struct wattle_recording *recording,
					  struct wattle_consumers **ret_consumers,
					  struct wattle_error *reterr);

/* ---- Making recordings ---- */

struct wattle_recorder;

/* Set size to sizeof(struct wattle_recorder_options) and the rest to 0 or what you want. */
struct wattle_recorder_options {
	size_t size;
	uint64_t max_bytes; /* a ring: the file is never larger, at least 256000; 0: no limit */
	int64_t max_age_ns; /* a ring of that length; 0: no limit */
	int64_t period_ns;  /* what a ring drops at once; 0: a minute */
	/* How far apart samples will be, where the caller takes them: room for them, so that recording
	 * allocates nothing. 0: the meter's interval_ms, or not known. */
	int64_t interval_ns;
};

/*
 * Records what the meter measures from now on, with who used it where the meter was opened with
 * attribution, in a new file. A meter has one recorder at a time. The whole recording is its window
 * "recording", of which there must be none; windows that begin from now on are the recording's, too.
 * options may be NULL. 0, or negative with the reason in *reterr (which may be NULL): -EEXIST (the file is
 * there), -EBUSY (the meter is being recorded), -WATTLE_E_WINDOW_OPEN, what creating the file gave, …
 *
 * The meter's thread, or any other, may go on with the meter meanwhile: what it measures is handed to a
 * thread of the recorder's before a sample, about once a second, and nobody waits for the disk. So a
 * program that is killed loses the last second, or what came since the sample before the newest.
 */
WATTLE_API int wattle_recorder_open(const char *path, struct wattle_meter *meter,
				    const struct wattle_recorder_options *options,
				    struct wattle_recorder **ret_recorder,
				    struct wattle_error *reterr);

/* A word about the recording, which replaces one of that key: "command", "host", or any of your own of at
 * most 95 bytes. -EINVAL. */
WATTLE_API int wattle_recorder_fact(struct wattle_recorder *recorder, const char *key,
				    const char *value);

/* 0, or the error of the disk that has stopped the recording. The meter goes on. */
WATTLE_API int wattle_recorder_status(struct wattle_recorder *recorder,
				      struct wattle_error *reterr);

/*
 * Ends the window "recording" with a fresh sample, writes what is left, and frees; before the meter is
 * closed. NULL is fine. 0; 1: all is written, but a file of SQLite's stays beside it (reterr says why); or
 * negative, the error that has stopped it: what came before can be read.
 */
WATTLE_API int wattle_recorder_close(struct wattle_recorder *recorder, struct wattle_error *reterr);

#ifdef __cplusplus
}
#endif

#endif
