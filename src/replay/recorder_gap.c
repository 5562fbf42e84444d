/* SPDX-License-Identifier: MIT */
#include "replay/recorder_gap.h"

#include <stdio.h>

#include "base/err.h"
#include "base/text.h"
#include "energy/catalog.h"
#include "energy/units.h"
#include "record/store.h"

/* Failures that are closer to each other than this are one gap (judgement). */
#define APART_NS WTL_NS_PER_S

/* Late answers are answers: the reading before is the one that counts. */
static bool is_failure(const struct wtl_reading *reading)
{
	return reading->status != WATTLE_STATUS_OK && reading->status != WATTLE_STATUS_STALE;
}

static const char *why(const struct wtl_reading *reading)
{
	if (reading->reason)
		return reading->reason;
	return reading->error ? wtl_err_text(reading->error) : "it gave no value";
}

static void close_gap(struct wtl_channel_gap *gap, const struct wtl_channel *channel,
		      struct wtl_stored_gap *ret_gap)
{
	char times[32] = "";

	if (gap->n > 1)
		snprintf(times, sizeof(times), " (%u times)", gap->n);
	*ret_gap = (struct wtl_stored_gap){
		.kind = WTL_GAP_CHANNEL,
		.begin_mono_ns = gap->begin_ns,
		.duration_ns = gap->end_ns - gap->begin_ns,
	};
	wtl_text_copy(ret_gap->subject, sizeof(ret_gap->subject), channel->domain);
	snprintf(ret_gap->text, sizeof(ret_gap->text), "%.23s: %s: %.110s%s",
		 channel->source ? channel->source : "?", wattle_status_name(gap->first.status),
		 why(&gap->first), times);
	gap->begin_ns = 0;
}

bool wtl_channel_gap_follow(struct wtl_channel_gap *gap, const struct wtl_channel *channel,
			    const struct wtl_reading *reading, int64_t t_ns,
			    struct wtl_stored_gap *ret_gap)
{
	bool is_over = false;

	if (is_failure(reading)) {
		/* What never answered is a miss, not a gap. */
		if (!gap->was_good)
			return false;
		if (!gap->is_failing && gap->begin_ns == 0) {
			gap->begin_ns = gap->good_ns;
			gap->first = *reading;
			gap->n = 0;
		}
		gap->n += !gap->is_failing;
		gap->is_failing = true;
		return false;
	}
	if (gap->is_failing)
		gap->end_ns = t_ns;
	else if (gap->begin_ns && t_ns - gap->end_ns >= APART_NS)
		is_over = true;
	gap->is_failing = false;
	gap->was_good = true;
	gap->good_ns = t_ns;
	if (is_over)
		close_gap(gap, channel, ret_gap);
	return is_over;
}

bool wtl_channel_gap_finish(struct wtl_channel_gap *gap, const struct wtl_channel *channel,
			    int64_t t_ns, struct wtl_stored_gap *ret_gap)
{
	if (gap->begin_ns == 0)
		return false;
	if (gap->is_failing)
		gap->end_ns = t_ns;
	close_gap(gap, channel, ret_gap);
	return true;
}
