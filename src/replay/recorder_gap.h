/* SPDX-License-Identifier: MIT */
#ifndef WTL_REPLAY_RECORDER_GAP_H
#define WTL_REPLAY_RECORDER_GAP_H

#include <stdbool.h>
#include <stdint.h>

#include "energy/reading.h"

struct wtl_channel;
struct wtl_stored_gap;

/*
 * A stretch in which a channel could not be read, or slept: from its last good reading to the next one.
 * Failures that are less than a second apart are one gap, so that a channel that comes and goes does
 * not fill the recording.
 */
struct wtl_channel_gap {
	bool was_good, is_failing;
	int64_t good_ns;	  /* the last good reading */
	int64_t begin_ns, end_ns; /* of the gap that is open or may still grow; begin 0: none */
	struct wtl_reading first; /* why it began */
	struct wtl_reading later; /* the first other reason; status OK: none */
	bool has_more;		  /* there are more reasons than these two */
	unsigned n;		  /* failures so far */
};

/* The usual case: no gap, and the next reading, of a sample at t_ns, is good. false: call wtl_channel_gap_follow(). */
static inline bool wtl_channel_gap_is_none(struct wtl_channel_gap *gap,
					   const struct wtl_reading *reading, int64_t t_ns)
{
	if (gap->begin_ns || gap->is_failing || reading->status != WATTLE_STATUS_OK)
		return false;
	gap->was_good = true;
	gap->good_ns = t_ns;
	return true;
}

/* The next reading, of a sample at t_ns. true: *ret_gap is over, and has to be stored. *gap must start zeroed. */
bool wtl_channel_gap_follow(struct wtl_channel_gap *gap, const struct wtl_channel *channel,
			    const struct wtl_reading *reading, int64_t t_ns,
			    struct wtl_stored_gap *ret_gap);
/* After the last reading: true if a gap is open, which is then *ret_gap. */
bool wtl_channel_gap_finish(struct wtl_channel_gap *gap, const struct wtl_channel *channel,
			    int64_t t_ns, struct wtl_stored_gap *ret_gap);

#endif
