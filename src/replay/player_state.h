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
#include "replay/player_io.h"

/* The parts of a player, for player.c (stepping), player_tables.c (what it begins with), player_windows.c
 * and player_look.c (who ran). */

/* Times beyond these are damaged ones; of others a few can be added. */
#define WTL_PLAYER_MONO_MAX_NS (INT64_C(1) << 60) /* 36 years */
#define WTL_PLAYER_UTC_MAX_NS  (INT64_C(1) << 62)

/* A series within the present period. */
struct wtl_cursor {
	int64_t series; /* -ENOENT: the recording has none */
	const int64_t *values;
	size_t n, at;
};

/* The single series. */
enum wtl_cursor_id {
	WTL_CURSOR_OP,
	WTL_CURSOR_SAMPLE_MONO,
	WTL_CURSOR_SAMPLE_TOOK,
	WTL_CURSOR_SAMPLE_ASLEEP,
	WTL_CURSOR_WINDOW_ID,
	WTL_CURSOR_WINDOW_MONO,
	WTL_CURSOR_WINDOW_UTC,
	WTL_CURSOR_LOOK_MONO,
	WTL_CURSOR_LOOK_DURATION,
	WTL_CURSOR_LOOK_CAPACITY,
	WTL_CURSOR_LOOK_BUSY,
	WTL_CURSOR_LOOK_WEIGHT,
	WTL_CURSOR_LOOK_USES,
	WTL_CURSOR_USE_SLOT,
	WTL_CURSOR_USE_WEIGHT,
	WTL_CURSOR_LOOK_FOLDS,
	WTL_CURSOR_FOLD_FROM,
	WTL_CURSOR_FOLD_INTO,
	WTL_CURSOR_BILL_UTC,
	WTL_CURSOR_CHANGES,
	WTL_CURSOR_CHANGE_SLOT,
	WTL_CURSOR_CHANGE_FIELD,
	WTL_CURSOR_CHANGE_BY,
	WTL_CURSOR_SECOND_MONO,
	WTL_CURSOR_SECOND_UTC,
	WTL_CURSOR_SECOND_CPU,
	WTL_CURSOR_SECOND_RSS,
	WTL_CURSOR_DEVICES,
	WTL_CURSOR_DEVICE_GPU,
	WTL_CURSOR_DEVICE_NUMBER,
	WTL_CURSOR_DEVICE_VALUE,
	WTL_CURSORS
};

struct wtl_channel_cursors {
	struct wtl_cursor at, value, half, state, error;
};

struct wtl_gpu_cursors {
	struct wtl_cursor weight, use, uses, slot, share;
	char domain[WTL_NAME_SIZE];
	struct wtl_use *told;
	size_t room;
};

struct wtl_played_window {
	uint32_t id;
	char name[64], told_name[16]; /* the meter's: names may repeat */
	bool is_open, has_begun;
	/* As the table says; end INT64_MAX: it was open to the end. */
	int64_t begin_mono_ns, begin_utc_ns, end_mono_ns;
	int32_t pid;
};

/* A consumer as the table tells of it. */
struct wtl_played_consumer {
	uint32_t id, slot;
	bool is_there; /* to the end */
	struct wtl_consumer consumer;
	struct wtl_group group;
};

struct wtl_player {
	struct wtl_player_io io;
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
	bool is_broken;	  /* something is missing before the next sample */
	size_t caught_up; /* windows below this were held against the table since */
	char lost_first[sizeof(((struct wtl_played *)0)->text)]; /* before the first sample */
	struct wtl_cursor cursors[WTL_CURSORS];
	struct wtl_channel_cursors *channel_cursors;
	struct wtl_gpu_cursors *gpus;
	size_t n_gpus;
	struct wtl_reading *readings;
	int64_t sampled_ns; /* when their sample began */
	struct wattle_energy *energies, *billed;
	struct wattle_window billed_window;
	bool was_billed;
	bool has_looks;		/* who ran was recorded */
	uint32_t main_window;	/* whose energy was billed live; 0: none */
	int64_t bill_offset_ns; /* of the UTC of its bills to CLOCK_MONOTONIC */
	bool main_ended, main_is_own;
	struct wattle_window ended_window;
	int64_t utc_offset_ns;
	struct wtl_use *uses;
	size_t uses_room;
	struct wtl_fold *folds;
	size_t folds_room;
	uint32_t *told; /* by slot: the list of changes that told of it last */
	size_t told_room;
	uint32_t n_lists;
	bool is_first_list; /* in this period */
	bool lost_before;   /* what is billed next is nobody's: who ran is not known */
	struct wtl_played_device *devices;
	size_t devices_room;
};

static inline bool wtl_player_is_mono(int64_t t_ns)
{
	return t_ns >= 0 && t_ns <= WTL_PLAYER_MONO_MAX_NS;
}

static inline bool wtl_player_is_utc(int64_t t_ns)
{
	return t_ns >= -WTL_PLAYER_UTC_MAX_NS && t_ns <= WTL_PLAYER_UTC_MAX_NS;
}

/* ---- player_tables.c ---- */

int wtl_player_keep_domains(struct wtl_player *player);

int wtl_player_read_tables(struct wtl_player *player, struct wtl_err *err);
void wtl_player_free_tables(struct wtl_player *player);

/* NULL: the table has none of that id. */
struct wtl_played_consumer *wtl_player_find_consumer(const struct wtl_player *player, int64_t id);

/* ---- player.c: values, one after the other. -EBADMSG where the series is over ---- */

int wtl_player_next(struct wtl_cursor *cursor, int64_t *ret_value);
int wtl_player_take(struct wtl_player *player, enum wtl_cursor_id id, int64_t *ret_value);
/* A count that the series can have. */
int wtl_player_count(struct wtl_player *player, enum wtl_cursor_id id, size_t *ret_n);

/* ---- player_windows.c ---- */

/* NULL: the table has none of that id. */
struct wtl_played_window *wtl_player_find_window(const struct wtl_player *player, int64_t id);
void wtl_player_tell_window(struct wtl_played *played, const struct wtl_played_window *window);

/* With the sample that was taken before, or on its own. 0 or -EBADMSG. */
int wtl_player_begin_window(struct wtl_player *player, struct wtl_played *played);
int wtl_player_end_window(struct wtl_player *player, struct wtl_played *played);
int wtl_player_cancel_window(struct wtl_player *player, struct wtl_played *played);

/* Where something is missing, a window may have begun or ended in it. 1: one that has is told; 0: there is
 * none any more. */
int wtl_player_catch_up(struct wtl_player *player, struct wtl_played *played);

/* ---- player_look.c ---- */

/* Tells the consumers of the next look; of changes alone, as after a reset. 0, -ENOMEM or -EBADMSG. */
int wtl_player_tell_look(struct wtl_player *player);
int wtl_player_tell_changes(struct wtl_player *player, int64_t duration_ns);

#endif
