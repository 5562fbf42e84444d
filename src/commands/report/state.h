/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_REPORT_STATE_H
#define WTL_COMMANDS_REPORT_STATE_H

#include "cli/describe.h"
#include "commands/report/replay.h"
#include "replay/format.h"

/* The parts of a replay: replay.c goes by the recording, replay_tell.c says what was seen. */

struct wtl_replay_window {
	struct wtl_recording_window told;
	char name[64];
	struct wattle_energy *energies;
	bool has_energies;
	struct wtl_emission emission; /* while it is open: by its begin */
};

struct wtl_replay_gap {
	const char *kind;
	struct wtl_stored_gap stored;
};

/* A measurement: the recording, a part of it, or one run of several. */
struct wtl_replay_run {
	struct wtl_report report;
	struct wtl_description description;
	struct wtl_emission emission;
};

/* --from or --to. */
struct wtl_replay_bound {
	bool is_given;
	int64_t since_ns; /* the begin */
};

enum { WTL_REPLAY_GROUPINGS = 5 };

struct wtl_replay {
	struct wtl_app *app;
	const struct wtl_replay_settings *asked;
	const char *path;
	struct wtl_policy *policy;
	struct wtl_player *player;
	size_t n_domains;
	struct wtl_store_period begin, end; /* the first and the last */

	bool is_part, has_begun;
	bool has_measured; /* a measurement has ended */
	struct wtl_replay_bound from, to;
	struct wtl_emitter emitter;
	struct wtl_emission part_emission; /* by its begin */
	int64_t part_self_cpu_ns;	   /* the same of wattle's own */
	struct wtl_played second;	   /* the newest */
	uint32_t ended_id;		   /* the window that ended last */
	bool unfinished;		   /* something was billed since the last run ended */
	bool is_unfinished;		   /* the last run had not ended */

	struct wtl_replay_window *windows;
	size_t n_windows, windows_room;
	struct wtl_replay_gap *gaps;
	size_t n_gaps, gaps_room;
	struct wtl_replay_run *runs;
	size_t n_runs, runs_room;

	/* What is told. */
	struct wtl_settings
		settings; /* the app's; where and with what PUE as recorded, unless given */
	struct wtl_naming naming;
	char **command;
	struct wtl_recording recording;
	struct wtl_recording_window *told_windows;
	struct wtl_recording_gap *told_gaps;
	struct wtl_recording_sensor *sensors;
	struct wtl_recording_grouping groupings[WTL_REPLAY_GROUPINGS];
	size_t n_groupings;
};

/* ---- replay.c ---- */

/* A ring has: what is told begins behind that. */
bool wtl_replay_has_dropped(const struct wtl_replay *replay);
bool wtl_replay_is_waiting(const struct wtl_replay *replay);

/* ---- replay_tell.c ---- */

/* Which part it is to be. 0, or negative after wtl_complain(). */
int wtl_replay_find_part(struct wtl_replay *replay);
/* The run as of the player's newest bill. 0 or -ENOMEM. */
int wtl_replay_describe(struct wtl_replay *replay, struct wtl_replay_run *run,
			const struct wtl_emission *emission);
int wtl_replay_finish(struct wtl_replay *replay);

#endif
