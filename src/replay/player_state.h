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

/* The parts of a player: player_open.c and player_tables.c (what it begins with), player_values.c
 * (values of series), player.c (steps), player_windows.c, player_scan.c (use of processors and
 * GPUs), player_past.c (use before the accounts), player_lost.c (what cannot be read). */

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
	char name[64], meter_name[16]; /* meter_name: in the meter, as names may repeat */
	bool is_open, has_begun;
	/* As in the table; end INT64_MAX: it never ended. */
	int64_t begin_mono_ns, begin_utc_ns, end_mono_ns;
	int32_t pid;
};

/* Of a consumer: CPU time, how much of it was counted, and processes. */
enum { WTL_PAST_COUNTS = 3 };

/* A consumer as it is in the table. */
struct wtl_played_consumer {
	uint32_t id, slot;
	struct wtl_consumer consumer;
	struct wtl_per_cpu per_cpu; /* at the recording's end */
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
	char (*sources)[WTL_NAME_SIZE];	  /* each of them once */
	size_t n_sources;
	struct wtl_miss *misses;
	size_t n_misses, misses_room;
	struct wtl_played_consumer **who; /* with rising ids */
	size_t n_who, who_room;
	struct wtl_played_user {
		uint32_t uid;
		char name[33];
	} * users; /* each of them once */
	size_t n_users, users_room;
	struct wtl_played_window *windows; /* with rising ids */
	size_t n_windows, windows_room;

	/* The domains at the end, for a summary. */
	struct wtl_stored_domain *domains;
	size_t n_domains, domains_room;

	/* The state between two steps. */
	size_t period; /* the next one to load */
	bool has_period;
	bool is_broken;		      /* something is missing before the next sample */
	size_t caught_up;	      /* windows below this were compared with the table since */
	struct wtl_played lost_first; /* before the first sample; empty text: nothing was lost */
	struct wtl_cursor cursors[WTL_SINGLES];
	struct wtl_channel_cursors *channel_cursors;
	struct wtl_gpu_cursors *gpus;
	size_t n_gpus;
	struct wtl_reading *readings;
	int64_t sampled_ns; /* when their sample began */
	int64_t took_ns;    /* of all samples; the meter adds that up as well */
	struct wattle_energy *energies, *billed;
	struct wattle_window billed_window;
	bool was_billed;
	bool is_behind_dropped; /* a ring has dropped the start, or it was recorded late; no scan came since */
	bool has_scans;		/* a scan was played, or the summary taken */
	uint32_t main_window;	/* whose energy was billed live; 0: none */
	int64_t bill_offset_ns; /* UTC of its bills - CLOCK_MONOTONIC */
	bool main_ended, main_is_own;
	struct wattle_window ended_window;
	struct wtl_wall wall;
	struct wtl_use *uses;
	size_t uses_room;
	struct wtl_fold *folds;
	size_t folds_room, n_folded; /* of this scan, so far */
	struct wtl_played_slot {
		uint32_t list;	   /* the newest list of changes that had it */
		uint32_t owner;	   /* in the table of consumers; 0: nobody */
		bool is_over;	   /* it had ended before accounts began: its changes are skipped */
		bool is_kept;	   /* a skipped reset removed it: its account stays */
		int64_t cpu_ns;	   /* as recorded in this period; */
		int64_t before_ns; /* and in the one before, until this period has it */
		/* What was before the accounts; and the part of it that came with this scan's folds. */
		int64_t past[WTL_PAST_COUNTS], folded[WTL_PAST_COUNTS];
		int64_t folded_cpu_ns; /* CPU time that those folds bring, which was used earlier */
	} * slots;		       /* by number */
	size_t slots_room;
	/* Slots with another owner before something was lost: the account may be either one's. */
	uint32_t *stale;
	size_t n_stale, stale_room;
	uint32_t *busy; /* slots whose CPU time changed with the newest list */
	size_t n_busy, busy_room;
	uint32_t n_lists;
	bool is_first_list; /* in this period */
	bool lost_reset;    /* the missing stretch may have a reset of accounts */
	bool *is_certain;   /* by domain: its counter is certain over the missing stretch */
	bool skips_reset;   /* the file's accounts start again with this list; the player's go on */
	/* From the first skipped reset on, the player's slot for each slot of the file: those that
	 * the reset removed keep the old slots, and new consumers get new ones. 0: none yet. */
	uint32_t *moved;
	size_t moved_room;
	uint32_t next_slot; /* the first one that was never used; 0: all slots are as in the file */
	bool is_learned;    /* the weight of the use of processors is learned watts */
	bool has_keys;	    /* watts keys were recorded */
	bool lost_before;   /* the next bill is nobody's: its use is not known */
	struct wtl_device_value *devices;
	size_t devices_room;
};

/* ---- player_tables.c ---- */

int wtl_player_keep_domains(struct wtl_player *player);

int wtl_player_read_tables(struct wtl_player *player, struct wtl_err *err);
void wtl_player_free_tables(struct wtl_player *player);

/* NULL: the table has none of that id. */
struct wtl_played_consumer *wtl_player_find_consumer(const struct wtl_player *player, int64_t id);

/* ---- player_values.c: values, one after the other. -EBADMSG at the end of the series ---- */

void wtl_player_find_series(struct wtl_player *player);
/* Loads the next readable period. 1; 0: there is none. A period that cannot be read is in *played. */
int wtl_player_load_period(struct wtl_player *player, struct wtl_played *played,
			   struct wtl_err *err);
/* Notes that something is lost between what was before and what comes: the event has the reason. */
void wtl_player_note_lost(struct wtl_player *player, struct wtl_played *played, const char *text);
/* The next op, which stays; -1: none in this period. */
int64_t wtl_player_peek_op(const struct wtl_player *player);
/* Sets the clocks and readings for the meter's next sample. 0 or -EBADMSG. */
int wtl_player_take_sample(struct wtl_player *player);

int wtl_player_next(struct wtl_cursor *cursor, int64_t *ret_value);
int wtl_player_take(struct wtl_player *player, enum wtl_single id, int64_t *ret_value);
/* A count for which the series has enough values. */
int wtl_player_count(struct wtl_player *player, enum wtl_single id, size_t *ret_n);

/* ---- player_windows.c ---- */

/* NULL: the table has none of that id. */
struct wtl_played_window *wtl_player_find_window(const struct wtl_player *player, int64_t id);
void wtl_player_report_window(struct wtl_played *played, const struct wtl_played_window *window);

/* With the sample that was taken before, or a new one. 0 or -EBADMSG. */
int wtl_player_begin_window(struct wtl_player *player, struct wtl_played *played);
int wtl_player_end_window(struct wtl_player *player, struct wtl_played *played);
int wtl_player_cancel_window(struct wtl_player *player, struct wtl_played *played);

/* For windows that begin, end or are cancelled without an op. */
void wtl_player_note_begun(struct wtl_player *player, struct wtl_played_window *window,
			   int64_t utc_offset_ns);
void wtl_player_note_ended(struct wtl_player *player, struct wtl_played_window *window,
			   const struct wattle_window *figures);
void wtl_player_cancel(struct wtl_player *player, struct wtl_played_window *window);
/* Accounts begin again, and no window is theirs. */
void wtl_player_reset_accounts(struct wtl_player *player);
/* Before a window begins: if something was lost since accounts last began, and no
 * window is open that they are for, they started again in the missing stretch. */
void wtl_player_begin_accounts(struct wtl_player *player);

/* ---- player_lost.c ---- */

/* Before the meter takes the first sample after a missing stretch; the newest before that began at from_ns.
 * 0 or -ENOMEM. */
int wtl_player_resume(struct wtl_player *player, int64_t from_ns);
/* The slot's owner before the missing stretch was another one. 0 or -ENOMEM. */
int wtl_player_note_stale(struct wtl_player *player, uint32_t slot);
/* Puts folds before the scan's own: they move the accounts of such slots to unseen use. 0 or -ENOMEM. */
int wtl_player_fold_stale(struct wtl_player *player, struct wtl_workload_scan *scan);

/* A window may have begun or ended in a missing stretch. 1: one that did is in *played; 0: there are no more. */
int wtl_player_catch_up(struct wtl_player *player, struct wtl_played *played);

/* ---- player_past.c ---- */

/* Makes room for the slot in slots[]. 0 or -ENOMEM. */
int wtl_player_reach_slot(struct wtl_player *player, uint32_t slot);
/* The slot's owner is recorded again, or changes. */
void wtl_player_renew_past(struct wtl_player *player, uint32_t slot, bool is_same);
/* Of a consumer whose numbers start from 0: subtracts what was before from its counts. */
void wtl_player_take_off_past(const struct wtl_player *player, uint32_t slot,
			      struct wtl_consumer *consumer);
/* 0 or -ENOMEM. After a scan's changes, wtl_player_forget_folded(). */
int wtl_player_fold_past(struct wtl_player *player, uint32_t from, uint32_t into);
void wtl_player_forget_folded(struct wtl_player *player);
/* A skipped reset has changed a count by that much: keeps it as it was. */
void wtl_player_keep_number(struct wtl_player *player, uint32_t slot, enum wtl_change which,
			    int64_t by);
/* The live accounts began here, too. */
void wtl_player_forget_past(struct wtl_player *player);
/* Begins accounts: consumers that have ended are gone, and all counts are 0. */
void wtl_player_begin_counts(struct wtl_player *player);

/* ---- player_scan.c ---- */

/* Restores the next scan; or only changes, as after a reset. 0, -ENOMEM or -EBADMSG. */
int wtl_player_restore_scan(struct wtl_player *player);
int wtl_player_restore_changes(struct wtl_player *player, int64_t duration_ns);

#endif
