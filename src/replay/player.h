/* SPDX-License-Identifier: MIT */
#ifndef WTL_REPLAY_PLAYER_H
#define WTL_REPLAY_PLAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wattle.h>

#include "energy/baseline.h"
#include "record/store.h"
#include "replay/format.h"
#include "workload/workload.h"

struct wtl_wall;
struct wtl_consumers;
struct wtl_err;
struct wtl_player;
struct wtl_reading;
struct wtl_watts_past;

/* Plays a recording: feeds a meter and consumers with what was recorded, through the same
 * code that runs live. One step at a time, so that the caller can read both in between. */
enum { WTL_POLICY_DOMAINS = 64 };

/* What replaces recorded values. Zeroed: nothing. */
struct wtl_player_policy {
	bool forgets_idle; /* idle power that an earlier session had learned is not used */
	bool has_no_idle;  /* idle power is 0, except for the domains below */
	struct {
		char domain[WTL_NAME_SIZE];
		uint64_t idle_uw;
	} given[WTL_POLICY_DOMAINS]; /* idle power that is given */
	size_t n_given;
	enum wtl_weight weight;
	bool has_weight; /* the use of processors is weighed by that: CPU time, or learned watts */
	bool smooths; /* and what is learned is smoothed backwards: wtl_history_open() makes the past */
	struct wtl_watts_past *past; /* borrowed; NULL: none */
	bool only_summary;	     /* for wtl_player_summary(): ended consumers are not read */
	bool skips_energies; /* stored energies of windows are not read: they are computed anyway */
	bool skips_use;	     /* consumers are not read: as if nobody had been followed */
};

/* policy may be NULL. 0, or negative with the reason in err. */
int wtl_player_open(const char *path, const struct wtl_player_policy *policy,
		    struct wtl_player **ret_player, struct wtl_err *err);
void wtl_player_close(struct wtl_player *player); /* NULL is fine */

/* These belong to the player, and are freed with it. */
struct wattle_meter *wtl_player_meter(struct wtl_player *player);
struct wtl_consumers *wtl_player_consumers(struct wtl_player *player);
struct wtl_store_reader *wtl_player_reader(struct wtl_player *player);

enum wtl_played_kind {
	WTL_PLAYED_SAMPLE, /* and anything that is none of the others */
	WTL_PLAYED_BEGUN,  /* a window */
	WTL_PLAYED_ENDED,  /* its figures are in the event; kinds up to here come with a sample */
	WTL_PLAYED_CANCELLED,
	WTL_PLAYED_BILLED,  /* by the main window's figures, which are in the event */
	WTL_PLAYED_RESET,   /* all accounts are 0 */
	WTL_PLAYED_SECOND,  /* wattle's own cost so far */
	WTL_PLAYED_DEVICES, /* devices[] */
	WTL_PLAYED_SETTLED, /* accounts stay divided as they are */
	WTL_PLAYED_LOST,    /* a stretch could not be read, from t_mono_ns on: see text */
};

struct wtl_played {
	enum wtl_played_kind kind;
	int64_t t_mono_ns, t_utc_ns;
	uint32_t window_id;
	char window_name[64];
	int32_t window_pid; /* of the process that marked it from outside; 0: none */
	bool is_cut;	    /* BEGUN: its start is missing: dropped by a ring, or not readable */
	struct wattle_window window;
	const struct wattle_energy *energies; /* one a domain; until the next step */
	int64_t scanned_ns; /* BILLED: the scan's time; its window may have ended earlier */
	int64_t self_cpu_ns, self_rss_bytes;	/* the highest so far; 0: not known */
	const struct wtl_device_value *devices; /* what devices reported beside energy */
	size_t n_devices;
	int64_t lost_ns; /* how long the stretch is; 0: not known */
	char text[256];
};

/* Did the step come with a sample of all channels? */
static inline bool wtl_played_has_sample(const struct wtl_played *played)
{
	return played->kind <= WTL_PLAYED_ENDED;
}

/* One step. 1: *ret_played is what happened; 0: the recording is over; negative: no memory and the like. */
int wtl_player_step(struct wtl_player *player, struct wtl_played *ret_played, struct wtl_err *err);

/*
 * Forgets the accounts so far, and goes on as if the recording began here, whatever windows and resets it has:
 * for a part of it. The part begins at at_ns, or at the newest sample's end if that is later. 0 or negative.
 */
int wtl_player_begin_here(struct wtl_player *player, int64_t at_ns);

/*
 * Goes to the end of a recording without playing it, if it was ended properly and its summary adds up:
 * everything below is then as after the last step. 1, with wattle's own cost; 0: it has to be played, and
 * opened again for that; or negative. For a player that took no step, and with no policy but only_summary.
 */
int wtl_player_summary(struct wtl_player *player, struct wtl_played *ret_second,
		       struct wtl_err *err);

/* The readings of the newest sample, one a channel of the meter's catalog. */
const struct wtl_reading *wtl_player_readings(const struct wtl_player *player);

/* The window that energy is billed by, as its id in the table; 0: it is none of the recording's. */
uint32_t wtl_player_main_window(const struct wtl_player *player);
/* Is the window what was measured live, or the newest run, and not one that was
 * marked within it? Works after wtl_player_begin_here() as well. */
bool wtl_player_is_measurement(const struct wtl_player *player, uint32_t id);

/* An open window up to the newest sample; energies has room for one a domain. 0, or -ENOENT. */
int wtl_player_window(const struct wtl_player *player, uint32_t id,
		      struct wattle_window *ret_window, struct wattle_energy energies[]);

/* Makes the newest sample the meter's next one once more: a window that is begun now begins with it. */
void wtl_player_sample_again(struct wtl_player *player);

/* UTC at a monotonic time of the recording, wherever the player is; and the clock that this is from. */
int64_t wtl_player_utc(const struct wtl_player *player, int64_t t_mono_ns);
const struct wtl_wall *wtl_player_wall(const struct wtl_player *player);

/* The player's time in the recording. */
int64_t wtl_player_mono(const struct wtl_player *player);
/* When something was learned, by the clock of bills: as if that had not been set since the start
 * of the window that energy is billed by, and without sleep. false: before the recording. */
bool wtl_player_learned(const struct wtl_player *player, int64_t t_utc_ns, int64_t *ret_mono_ns);
/* UTC of a process's start, which is given since the machine's start; 0: not known. */
int64_t wtl_player_start_utc(const struct wtl_player *player, int64_t start_ns);

/* The newest billed figures of the window that energy is billed
 * by, with which ledgers are closed. false: nothing was billed. */
bool wtl_player_billed(const struct wtl_player *player, struct wattle_window *ret_window,
		       const struct wattle_energy **ret_energies);

/* false: nobody was followed when it was recorded. */
bool wtl_player_follows(const struct wtl_player *player);
/* Has a scan been played so far? */
bool wtl_player_has_scans(const struct wtl_player *player);
/* If nobody was followed: wtl_player_billed() then has the main window's
 * figures, as they were when it ended, or up to the newest sample. */
void wtl_player_take_figures(struct wtl_player *player);

/* The recorded user name of a uid; "" if it is not known. */
const char *wtl_player_user(const struct wtl_player *player, uint32_t uid);
/* The same, or the number if the name is not known; "" for UINT32_MAX. */
void wtl_player_name_user(const struct wtl_player *player, uint32_t uid, char *name, size_t size);

#endif
