/* SPDX-License-Identifier: MIT */
#ifndef WTL_REPLAY_PLAYER_STATE_H
#define WTL_REPLAY_PLAYER_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "energy/sensor_class.h"
#include "meter/observer.h"
#include "record/store.h"
#include "replay/format.h"
#include "replay/player.h"
#include "meter/given_io.h"
#include "replay/series.h"
#include "replay/wall.h"

/* The parts of a player: player_open.c and player_tables.c (what it begins with), player_values.c (what is read
 * of the series), player.c (stepping), player_windows.c, player_scan.c (who ran), player_past.c (what they
 * used before), player_lost.c (what cannot be read). */

/* A series within the present period. */
struct wtl_cursor {
	int64_t series; /* -ENOENT: the recording has none */
	const int64_t *values;
	size_t n, at;
};

struct wtl_channel_cursors {
	struct wtl_cursor of[WTL_OF_CHANNEL];
};

struct wtl_gpu_cursors {
	struct wtl_cursor of[WTL_OF_GPU];
	char domain[WTL_NAME_SIZE];
	struct wtl_use *used;
	size_t room;
};

struct wtl_played_window {
	uint32_t id;
	char name[64], meter_name[16]; /* the meter's: names may repeat */
	bool is_open, has_begun;
	/* As in the table; end INT64_MAX: it was open to the end. */
	int64_t begin_mono_ns, begin_utc_ns, end_mono_ns;
	int32_t pid;
};

/* Of a consumer: CPU time, how much of it was counted, and processes. */
enum { WTL_PAST_COUNTS = 3 };

/* A consumer as it is in the table. */
struct wtl_played_consumer {
	uint32_t id, slot;
	struct wtl_consumer consumer;
	struct wtl_per_cpu per_cpu; /* at the end */
	struct wtl_group group;
	char command[WTL_COMMAND_SIZE];
};

struct wtl_player {
	struct wtl_given_io io;
	struct wtl_store_reader *reader;
	struct wattle_meter *meter;
	struct wtl_consumers *consumers;
	struct wtl_player_policy policy;

	/* The tables. */
	struct wtl_channel *channels;
	size_t n_channels, channels_room;
	struct wtl_sensor_class *classes; /* one a channel */
	char (*sources)[WTL_NAME_SIZE];	  /* each once */
	size_t n_sources;
	struct wtl_miss *misses;
	size_t n_misses, misses_room;
	struct wtl_played_consumer **who; /* ids rise */
	size_t n_who, who_room;
	struct wtl_played_user {
		uint32_t uid;
		char name[33];
	} * users; /* each once */
	size_t n_users, users_room;
	struct wtl_played_window *windows; /* ids rise */
	size_t n_windows, windows_room;

	/* The domains as they were at the end, for a summary. */
	struct wtl_stored_domain *domains;
	size_t n_domains, domains_room;

	/* Where it stands. */
	size_t period; /* the next to be loaded */
	bool has_period;
	bool is_broken;		      /* something is missing before the next sample */
	size_t caught_up;	      /* windows below this were held against the table since */
	struct wtl_played lost_first; /* before the first sample; without text: nothing */
	struct wtl_cursor cursors[WTL_SINGLES];
	struct wtl_channel_cursors *channel_cursors;
	struct wtl_gpu_cursors *gpus;
	size_t n_gpus;
	struct wtl_reading *readings;
	int64_t sampled_ns; /* when their sample began */
	int64_t took_ns;    /* all samples; the meter adds that up as well */
	struct wattle_energy *energies, *billed;
	struct wattle_window billed_window;
	bool was_billed;
	bool is_behind_dropped; /* a ring has dropped what was before, and there was no scan since */
	bool has_scans;		/* who ran was recorded */
	uint32_t main_window;	/* whose energy was billed live; 0: none */
	int64_t bill_offset_ns; /* of the UTC of its bills to CLOCK_MONOTONIC */
	bool main_ended, main_is_own;
	struct wattle_window ended_window;
	struct wtl_wall wall;
	struct wtl_use *uses;
	size_t uses_room;
	struct wtl_fold *folds;
	size_t folds_room, n_folded; /* of this scan, so far */
	struct wtl_played_slot {
		uint32_t list;	/* the newest list of changes that had it */
		uint32_t owner; /* in the table of consumers; 0: nobody */
		bool is_over;	/* it had ended before accounts began: changes of it are skipped */
		bool is_kept;	/* a skipped reset removed it: its account stays as it is */
		int64_t cpu_ns; /* as recorded in this period; */
		int64_t before_ns; /* and in the one before, unless it was recorded in this one */
		/* Before accounts began; and of it, what came with the folds of this scan. */
		int64_t past[WTL_PAST_COUNTS], folded[WTL_PAST_COUNTS];
		int64_t folded_cpu_ns; /* all CPU time that those folds bring: it was used before */
	} * slots;		       /* by number */
	size_t slots_room;
	/* Slots that had another owner before something was lost: whose the account is now is not known. */
	uint32_t *stale;
	size_t n_stale, stale_room;
	uint32_t *busy; /* slots whose CPU time changed with the newest list */
	size_t n_busy, busy_room;
	uint32_t n_lists;
	bool is_first_list; /* in this period */
	bool lost_reset;    /* accounts may have started again in what is missing */
	bool *is_certain;   /* by domain: nothing happened to its counter in what is missing */
	bool skips_reset;   /* the file's accounts start again with this list; the player's go on */
	/* From the first skipped reset on, the player's slot of each slot in the file. The two differ: who was removed
	 * by the reset keeps the old slot, and who comes gets a new one. 0: not yet. */
	uint32_t *moved;
	size_t moved_room;
	uint32_t next_slot; /* the first one that nobody had; 0: all slots are as in the file */
	bool is_learned;    /* watts are learned: the weight of the use of processors */
	bool has_keys;	    /* with whom was recorded */
	bool lost_before;   /* what is billed next is nobody's: who ran is not known */
	struct wtl_device_value *devices;
	size_t devices_room;
};

/* ---- player_tables.c ---- */

int wtl_player_keep_domains(struct wtl_player *player);

int wtl_player_read_tables(struct wtl_player *player, struct wtl_err *err);
void wtl_player_free_tables(struct wtl_player *player);

/* NULL: the table has none of that id. */
struct wtl_played_consumer *wtl_player_find_consumer(const struct wtl_player *player, int64_t id);

/* ---- player_values.c: values, one after the other. -EBADMSG where the series is over ---- */

void wtl_player_find_series(struct wtl_player *player);
/* The next period that can be read. 1; 0: there is none; a period that cannot be read is in *played. */
int wtl_player_load_period(struct wtl_player *player, struct wtl_played *played,
			   struct wtl_err *err);
/* What comes next does not follow what was before: the event has the reason. */
void wtl_player_note_lost(struct wtl_player *player, struct wtl_played *played, const char *text);
/* What happens next, but for what has begun; -1: nothing in this period. */
int64_t wtl_player_peek_op(const struct wtl_player *player);
/* Sets the clocks and readings for the meter's next sample. 0 or -EBADMSG. */
int wtl_player_take_sample(struct wtl_player *player);

int wtl_player_next(struct wtl_cursor *cursor, int64_t *ret_value);
int wtl_player_take(struct wtl_player *player, enum wtl_single id, int64_t *ret_value);
/* A count that the series can have. */
int wtl_player_count(struct wtl_player *player, enum wtl_single id, size_t *ret_n);

/* ---- player_windows.c ---- */

/* NULL: the table has none of that id. */
struct wtl_played_window *wtl_player_find_window(const struct wtl_player *player, int64_t id);
void wtl_player_report_window(struct wtl_played *played, const struct wtl_played_window *window);

/* With the sample that was taken before, or on its own. 0 or -EBADMSG. */
int wtl_player_begin_window(struct wtl_player *player, struct wtl_played *played);
int wtl_player_end_window(struct wtl_player *player, struct wtl_played *played);
int wtl_player_cancel_window(struct wtl_player *player, struct wtl_played *played);

/* For windows that begin, end and are cancelled without an event of their own. */
void wtl_player_note_begun(struct wtl_player *player, struct wtl_played_window *window,
			   int64_t utc_offset_ns);
void wtl_player_note_ended(struct wtl_player *player, struct wtl_played_window *window,
			   const struct wattle_window *figures);
void wtl_player_cancel(struct wtl_player *player, struct wtl_played_window *window);
/* Before a window begins: where something is missing since accounts last began, and no window is open that they
 * are of, they started again in what is missing. */
void wtl_player_begin_accounts(struct wtl_player *player);

/* ---- player_lost.c ---- */

/* The next sample is there, but the meter has not taken it: the newest one before began at from_ns. 0 or -ENOMEM. */
int wtl_player_resume(struct wtl_player *player, int64_t from_ns);
/* The slot has another owner than before what is missing. 0 or -ENOMEM. */
int wtl_player_note_stale(struct wtl_player *player, uint32_t slot);
/* Before all other folds of the scan, the accounts of those go to what was not seen. 0 or -ENOMEM. */
int wtl_player_fold_stale(struct wtl_player *player, struct wtl_workload_scan *scan);

/* Where something is missing, a window may have begun or ended in it. 1: one that has is in *played; 0: there is
 * none any more. */
int wtl_player_catch_up(struct wtl_player *player, struct wtl_played *played);

/* ---- player_past.c ---- */

/* There is a slots[] of the slot. 0 or -ENOMEM. */
int wtl_player_reach_slot(struct wtl_player *player, uint32_t slot);
/* The slot's owner is recorded again, or it has another one. */
void wtl_player_renew_past(struct wtl_player *player, uint32_t slot, bool is_same);
/* A consumer whose numbers start again from 0: its counts start below that by what was before. */
void wtl_player_take_off_past(const struct wtl_player *player, uint32_t slot,
			      struct wtl_consumer *consumer);
/* 0 or -ENOMEM. After a scan's changes, wtl_player_forget_folded(). */
int wtl_player_fold_past(struct wtl_player *player, uint32_t from, uint32_t into);
void wtl_player_forget_folded(struct wtl_player *player);
/* A count that changed by that much in a skipped reset: it stays as it was. */
void wtl_player_keep_number(struct wtl_player *player, uint32_t slot, enum wtl_change which,
			    int64_t by);
/* All accounts began live, too. */
void wtl_player_forget_past(struct wtl_player *player);
/* Accounts begin: who has ended is gone, and nobody has used anything. */
void wtl_player_begin_counts(struct wtl_player *player);

/* ---- player_scan.c ---- */

/* Restores the next scan; or changes alone, as after a reset. 0, -ENOMEM or -EBADMSG. */
int wtl_player_restore_scan(struct wtl_player *player);
int wtl_player_restore_changes(struct wtl_player *player, int64_t duration_ns);

#endif
