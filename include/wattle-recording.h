/* SPDX-License-Identifier: MIT */
/*
 * Reading recordings that `wattle record` wrote (libwattle-recording): what was measured, and who used
 * it, computed from the recorded readings by the code that measures live.
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
 * Words, units and manners are those of wattle.h. One thread at a time uses a recording.
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
WATTLE_API void wattle_recording_close(struct wattle_recording *recording); /* NULL is fine */

/* A word about it: "host", "command", "cpu", "kernel", "wattle" (docs/recording.md lists them). NULL:
 * it does not say. Until the recording is closed. */
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

#ifdef __cplusplus
}
#endif

#endif
