/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_TOP_REPLAY_H
#define WTL_COMMANDS_TOP_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "commands/top/view.h"
#include "replay/history.h"
#include "report/missing.h"

struct wtl_top_collector;

/*
 * The source of views for `wattle top --replay`: a player steps through a recording, at the speed and to the
 * positions in collector->play (under the collector's lock).
 */

/* A remark about a part of the recording. */
struct wtl_top_remark {
	int64_t from_ns, to_ns; /* since the start */
	char text[WTL_REMARK_SIZE];
};

struct wtl_top_replay {
	struct wtl_history
		*history;	 /* owns the meter and the consumers; has all gaps from the start */
	int64_t sample_ns;	 /* between samples taken, about */
	struct wtl_played event; /* the next event */
	bool has_event;
	int64_t event_ns;	       /* its time; since the start, as the others */
	int64_t reached_ns;	       /* the view has everything up to here */
	int64_t first_ns;	       /* the view's first event */
	int64_t taken_ns;	       /* the sampler's newest; < 0: none */
	int64_t seek_ns;	       /* the target of a seek; 0: none */
	bool is_lost;		       /* the next event follows an unreadable part */
	bool is_changed;	       /* since the last publication */
	bool has_bill;		       /* processes have changed, too */
	struct wtl_top_remark lost;    /* the newest unreadable part */
	struct wtl_top_remark missing; /* what else is missing, and where that was found */
	bool is_damaged;	       /* due to unreadable tables */
	int64_t publish_due_ns;	       /* by the screen's clock */
};

/* Opens the settings' recording and begins. 0, or negative after wtl_complain(). */
int wtl_top_replay_open(struct wtl_top_collector *collector);
void wtl_top_replay_done(struct wtl_top_collector *collector);

/* Plays by the user's orders until the collector stops. 0, or negative after wtl_complain(). */
int wtl_top_replay_run(struct wtl_top_collector *collector);
/* Plays everything up to the settings' --at, or the end, without waiting, and publishes it. 0 or negative. */
int wtl_top_replay_once(struct wtl_top_collector *collector);

/* ---- replay_facts.c: a recording's facts, devices and gaps ---- */

/* Updates replay->missing by what was read so far. */
void wtl_top_replay_find_missing(struct wtl_top_replay *replay);
/* Fills in the machine and its GPUs. 0 or -ENOMEM. */
int wtl_top_replay_read_facts(struct wtl_top_replay *replay, struct wtl_top_view *view);
void wtl_top_replay_take_devices(const struct wtl_played *played, struct wtl_top_view *view);
/* The cost of recording since the last second. */
void wtl_top_replay_take_second(struct wtl_top_replay *replay, const struct wtl_played *played,
				struct wtl_top_view *view);
/* How long a remark is shown after its part. */
#define WTL_TOP_LINGER_NS INT64_C(5000000000)
/* The newest gap around that moment, or shortly before; NULL: none. Unreadable parts are not included. */
const struct wtl_stored_gap *wtl_top_gap_at(const struct wtl_stored_gap gaps[], size_t n,
					    int64_t at_mono_ns);
/* Describes a gap in one line. */
void wtl_top_gap_text(const struct wtl_stored_gap *gap, char text[WTL_REMARK_SIZE]);

#endif
