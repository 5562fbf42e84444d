/* SPDX-License-Identifier: MIT */
#ifndef WTL_REPLAY_HISTORY_H
#define WTL_REPLAY_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "energy/intensity.h"
#include "replay/player.h"

/*
 * A recording, read once from its start to its end: the cursor of everything that
 * reads recordings. It steps a player, and keeps what is true between two steps. Times
 * are nanoseconds of the recording's CLOCK_MONOTONIC unless their name has utc in it.
 */

/* A window, with its figures once it has ended (or after wtl_history_update_open_windows()). */
struct wtl_history_window {
	uint32_t id; /* in the table of windows */
	char name[64];
	int32_t pid; /* of the process that marked it from outside; 0: marked from within */
	bool is_open;
	bool is_cut;  /* its start is missing (see struct wtl_played), or before the part */
	bool is_main; /* a measurement, not marked within one */
	bool has_energies;
	struct wattle_window window;
	struct wattle_energy *energies; /* one a domain */
	struct wtl_emission emission; /* emissions in it; before it has figures: up to its start */
};

struct wtl_history_options {
	struct wtl_player_policy policy;
	/* Borrowed; NULL, or one without steps: emissions are not followed. */
	const struct wtl_intensity *intensity;
	bool keeps_windows; /* ended windows; else they are forgotten with the next step */
	/* If the recording has a summary that adds up, that is taken, and there is no step. */
	bool may_summarize;
};

struct wtl_history {
	struct wtl_history_options options;
	struct wtl_watts_past *past; /* of the policy */
	struct wtl_player *player;
	/* The player's own objects. */
	struct wattle_meter *meter;
	struct wtl_consumers *consumers;
	struct wtl_store_reader *reader;
	size_t n_domains;

	/* From the first sample to the newest time in the file, whichever part is asked for. */
	int64_t begin_mono_ns, begin_utc_ns, end_mono_ns;
	int64_t now_mono_ns; /* the latest time that was reached; never decreases */

	/* Of a part: nanoseconds since the start, INT64_MIN and INT64_MAX if it has no bound. */
	bool is_part, has_begun;
	int64_t from_ns, to_ns;

	bool is_summary;  /* everything is from the summary */
	bool was_damaged; /* the summary was not taken, and some of it is damaged */
	bool is_over;

	/* Windows that have ended, in the order of their ends, then those that are open. */
	struct wtl_history_window *windows;
	size_t n_windows, n_ended, windows_room;
	/* The window that the newest step began or ended; NULL: none. Valid until the next step. */
	const struct wtl_history_window *window;

	/* Stretches that could not be read so far; wtl_history_read_gaps() adds the recorded gaps. */
	struct wtl_stored_gap *gaps;
	size_t n_gaps, gaps_room;
	size_t n_lost; /* stretches that could not be read */

	bool is_run_over;   /* a measurement is complete with the newest step */
	bool is_unfinished; /* something was billed since the last complete measurement */

	struct wtl_played second; /* the newest step of that kind: wattle's own cost */
	int64_t cpu_before_ns;	  /* wattle's CPU time before the part */

	/* Emissions with options.intensity, up to the newest sample. */
	struct wtl_emission emission;
	struct wtl_emission part_emission; /* up to the part's start */
	uint64_t emission_uj;		   /* the energy they are of, */
	int64_t emission_utc_ns;	   /* and up to when */

	uint32_t ended_id; /* the window that ended last, unless its measurement is complete */
	bool has_measured; /* a measurement has ended */
};

/* 0, or negative with the reason in err. */
int wtl_history_open(const char *path, const struct wtl_history_options *options,
		     struct wtl_history **ret_history, struct wtl_err *err);
void wtl_history_close(struct wtl_history *history); /* NULL is fine */

/*
 * Before the first step: chooses a part, from one moment to another (like history->from_ns). It begins
 * and ends with a bill or, if nobody was followed, with a sample, so that adjacent parts add up.
 */
void wtl_history_choose(struct wtl_history *history, int64_t from_ns, int64_t to_ns);

/* One step. 1: *ret_played is what happened; 0: the recording, or the part, is over; or negative. */
int wtl_history_step(struct wtl_history *history, struct wtl_played *ret_played,
		     struct wtl_err *err);

/* Are emissions followed? */
static inline bool wtl_history_has_intensity(const struct wtl_history *history)
{
	return history->options.intensity && history->options.intensity->n > 0;
}

/* Has the part that was asked for not begun yet? */
static inline bool wtl_history_is_waiting(const struct wtl_history *history)
{
	return history->is_part && !history->has_begun;
}

/* NULL: there is none of that id. */
const struct wtl_history_window *wtl_history_find_window(const struct wtl_history *history,
							 uint32_t id);
/* Gives open windows their figures up to the newest sample. */
void wtl_history_update_open_windows(struct wtl_history *history);
/* Emissions in the window that energy is billed by, or in the part. */
struct wtl_emission wtl_history_emission(const struct wtl_history *history);

/*
 * Adds the recorded gaps, in the order of their starts. Gaps of several channels of a domain
 * at one time become one gap of that domain. 0; -ENOMEM; or -EBADMSG: some could not be read.
 */
int wtl_history_read_gaps(struct wtl_history *history);
const char *wtl_gap_name(enum wtl_gap_kind kind); /* "suspend", … */
/* The gap's text. For a stretch that could not be read, without the times at its
 * start: "period 4: series op is damaged". Returns the gap's own text, or `text`. */
enum { WTL_GAP_TEXT_SIZE = 200 };
const char *wtl_gap_text(const struct wtl_stored_gap *gap, char text[WTL_GAP_TEXT_SIZE]);

/* A fact of the recording (WTL_FACT_…); "": there is none. */
const char *wtl_history_fact(const struct wtl_history *history, const char *key);
/* The recording's duration, and UTC at one of its times. */
int64_t wtl_history_span_ns(const struct wtl_history *history);
int64_t wtl_history_utc(const struct wtl_history *history, int64_t t_mono_ns);

/* Was any of it unreadable so far, and skipped? */
bool wtl_history_is_damaged(const struct wtl_history *history);

/*
 * Reads all of the file (wtl_store_check()) and, if that is sound, plays it: a line for each
 * thing that cannot be read or makes no sense, which covers whatever other readers could
 * complain of. Returns the number of lines, or negative if the file cannot even be opened.
 */
int wtl_history_check(const char *path, void (*line)(void *context, const char *text),
		      void *context, struct wtl_err *err);

/* ---- Between the files of a history ---- */

/* Makes a gap of a stretch that the player could not read. 0 or -ENOMEM. */
int wtl_history_add_lost(struct wtl_history *history, const struct wtl_played *played);

#endif
