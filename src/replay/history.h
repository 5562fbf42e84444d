/* SPDX-License-Identifier: MIT */
#ifndef WTL_REPLAY_HISTORY_H
#define WTL_REPLAY_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "energy/intensity.h"
#include "replay/player.h"

/*
 * A recording, read once from its start to its end. This is the cursor of everything that reads
 * recordings: it steps a player, and keeps what is true between two steps. Times are nanoseconds of the
 * recording's CLOCK_MONOTONIC unless their name has utc in it.
 */

/* A window, with its figures once it has ended (or after wtl_history_update_open_windows()). */
struct wtl_history_window {
	uint32_t id; /* in the table of windows */
	char name[64];
	int32_t pid; /* of the process that marked it from outside; 0: from within */
	bool is_open;
	bool is_cut;  /* it began before what there is of the recording, or before the part */
	bool is_main; /* a measurement, not marked within one */
	bool has_energies;
	struct wattle_window window;
	struct wattle_energy *energies; /* one a domain */
	struct wtl_emission
		emission; /* what was emitted in it; before it has figures: up to its start */
};

struct wtl_history_options {
	struct wtl_player_policy policy;
	/* Borrowed; NULL, or one without steps: emissions are not followed. */
	const struct wtl_intensity *intensity;
	bool keeps_windows; /* that have ended; else they are forgotten with the next step */
	/* Where the recording has a summary that adds up, it is taken, and there is no step. */
	bool may_summarize;
};

struct wtl_history {
	struct wtl_history_options options;
	struct wtl_watts_past *past; /* the policy's */
	struct wtl_player *player;
	/* The player's own. */
	struct wattle_meter *meter;
	struct wtl_consumers *consumers;
	struct wtl_store_reader *reader;
	size_t n_domains;

	/* From the first sample to the last thing that the file knows of, whichever part is asked for. */
	int64_t begin_mono_ns, begin_utc_ns, end_mono_ns;
	int64_t now_mono_ns; /* the latest that was reached; it never falls */

	/* Of a part: nanoseconds since the start, INT64_MIN and INT64_MAX where it has no bound. */
	bool is_part, has_begun;
	int64_t from_ns, to_ns;

	bool is_summary;  /* it was taken from the summary */
	bool was_damaged; /* the summary was not taken, and some of it is damaged */
	bool is_over;

	/* Those that have ended, in the order of their ends, and behind them those that are open. */
	struct wtl_history_window *windows;
	size_t n_windows, n_ended, windows_room;
	/* The one that the newest step began or ended; NULL: none. Until the next step. */
	const struct wtl_history_window *window;

	/* Stretches that could not be read, as they were met, and what wtl_history_read_gaps() adds. */
	struct wtl_stored_gap *gaps;
	size_t n_gaps, gaps_room;
	size_t n_lost; /* such stretches */

	bool is_run_over;   /* a measurement is complete with the newest step */
	bool is_unfinished; /* something was billed since the last one was */

	struct wtl_played second; /* the newest step of that kind: wattle's own cost */
	int64_t cpu_before_ns;	  /* of wattle's own CPU time, what was used before the part */

	/* Emissions with options.intensity, as of the newest sample. */
	struct wtl_emission emission;
	struct wtl_emission part_emission; /* up to the part's start */
	uint64_t emission_uj;		   /* what they are of, */
	int64_t emission_utc_ns;	   /* until then */

	uint32_t ended_id; /* the window that ended last, unless its measurement is complete */
	bool has_measured; /* a measurement has ended */
};

/* 0, or negative with the reason in err. */
int wtl_history_open(const char *path, const struct wtl_history_options *options,
		     struct wtl_history **ret_history, struct wtl_err *err);
void wtl_history_close(struct wtl_history *history); /* NULL is fine */

/*
 * Before the first step: only a part, from one moment to another (as history->from_ns). It begins and ends where parts
 * that meet add up: with a bill, or where nobody was followed, with a sample.
 */
void wtl_history_choose(struct wtl_history *history, int64_t from_ns, int64_t to_ns);

/* One step. 1: *ret_played is what happened; 0: the recording, or the part, is over; or negative. */
int wtl_history_step(struct wtl_history *history, struct wtl_played *ret_played,
		     struct wtl_err *err);

/* Emissions are followed. */
static inline bool wtl_history_has_intensity(const struct wtl_history *history)
{
	return history->options.intensity && history->options.intensity->n > 0;
}

/* The part that was asked for has not begun. */
static inline bool wtl_history_is_waiting(const struct wtl_history *history)
{
	return history->is_part && !history->has_begun;
}

/* NULL: there is none of that id. */
const struct wtl_history_window *wtl_history_find_window(const struct wtl_history *history,
							 uint32_t id);
/* Windows that are open get the figures that they have as of the newest sample. */
void wtl_history_update_open_windows(struct wtl_history *history);
/* What was emitted in the window that energy is billed by, or in the part. */
struct wtl_emission wtl_history_emission(const struct wtl_history *history);

/*
 * Adds the gaps that the recording has noted, by their begins; what several channels of a domain missed at one
 * time is one gap of that domain. 0; -ENOMEM; or -EBADMSG: some could not be read.
 */
int wtl_history_read_gaps(struct wtl_history *history);
const char *wtl_gap_name(enum wtl_gap_kind kind); /* "suspend", … */
/* What happened, without the times that a text of a stretch which could not be read begins with: "period 4: series op is
 * damaged". The gap's own text, or the one that is given. */
enum { WTL_GAP_TEXT_SIZE = 200 };
const char *wtl_gap_text(const struct wtl_stored_gap *gap, char text[WTL_GAP_TEXT_SIZE]);

/* A fact of the recording (WTL_FACT_…); "": there is none. */
const char *wtl_history_fact(const struct wtl_history *history, const char *key);
/* How long the recording is, and UTC at a time of it. */
int64_t wtl_history_span_ns(const struct wtl_history *history);
int64_t wtl_history_utc(const struct wtl_history *history, int64_t t_mono_ns);

/* Something of it could not be read so far, and was passed over. */
bool wtl_history_is_damaged(const struct wtl_history *history);

/*
 * Reads all of the file (wtl_store_check()), and where that is sound, all that it means: a line for each thing that cannot
 * be read or makes no sense. Whatever else a reader of the recording could complain of is among it. Returns the number of
 * lines, or negative where the file cannot even be opened.
 */
int wtl_history_check(const char *path, void (*line)(void *context, const char *text),
		      void *context, struct wtl_err *err);

/* ---- Between the files of a history ---- */

/* A stretch that the player could not read becomes a gap. 0 or -ENOMEM. */
int wtl_history_add_lost(struct wtl_history *history, const struct wtl_played *played);

#endif
