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
 * Where the views of `wattle top --replay` come from: a player is stepped through a recording, at the
 * pace and to the places that collector->play says (behind the collector's lock).
 */

/* What is known of a stretch of the recording beside its figures. */
struct wtl_top_remark {
	int64_t from_ns, to_ns; /* since the start */
	char text[WTL_REMARK_SIZE];
};

struct wtl_top_replay {
	struct wtl_history
		*history;  /* owns the meter and the consumers; has all gaps from the start on */
	int64_t sample_ns; /* between two samples that are taken */
	struct wtl_played event; /* what comes next */
	bool has_event;
	int64_t event_ns;	    /* since the start, as the others: when it comes */
	int64_t reached_ns;	    /* all to here is in the view */
	int64_t first_ns;	    /* the first that is */
	int64_t taken_ns;	    /* the sampler's newest; < 0: none */
	int64_t seek_ns;	    /* where a seek is to end; 0: none */
	bool is_lost;		    /* what comes next is behind a stretch that could not be read */
	bool is_changed;	    /* since the view was published */
	bool has_bill;		    /* and the processes as well */
	struct wtl_top_remark lost; /* the newest stretch that could not be read */
	struct wtl_top_remark
		missing;	/* what else it does not have, and where that was found out */
	bool is_damaged;	/* that is tables which could not be read */
	int64_t publish_due_ns; /* by the screen's clock */
};

/* Opens the settings' recording and begins. 0, or negative after wtl_complain(). */
int wtl_top_replay_open(struct wtl_top_collector *collector);
void wtl_top_replay_done(struct wtl_top_collector *collector);

/* Plays on until the collector is to stop, as it is ordered. 0, or negative after wtl_complain(). */
int wtl_top_replay_run(struct wtl_top_collector *collector);
/* Without waiting: all that comes up to then (the settings' --at, or the end), and publishes it. 0 or
 * negative. */
int wtl_top_replay_once(struct wtl_top_collector *collector);

/* ---- replay_facts.c: what a recording says beside samples and processes ---- */

/* What else is missing, by what was read so far, is replay->missing then. */
void wtl_top_replay_find_missing(struct wtl_top_replay *replay);
/* The machine and its GPUs. 0 or -ENOMEM. */
int wtl_top_replay_read_facts(struct wtl_top_replay *replay, struct wtl_top_view *view);
void wtl_top_replay_take_devices(const struct wtl_played *played, struct wtl_top_view *view);
/* What recording it took, since the second before. */
void wtl_top_replay_take_second(struct wtl_top_replay *replay, const struct wtl_played *played,
				struct wtl_top_view *view);
/* For so long after a stretch is over it is still shown. */
#define WTL_TOP_LINGER_NS INT64_C(5000000000)
/* The newest gap that is about that moment, or was until a moment ago; NULL: none. Stretches that could not be read are
 * none of these. */
const struct wtl_stored_gap *wtl_top_gap_at(const struct wtl_stored_gap gaps[], size_t n,
					    int64_t at_mono_ns);
/* What is known of it, in one line. */
void wtl_top_gap_text(const struct wtl_stored_gap *gap, char text[WTL_REMARK_SIZE]);

#endif
