/* SPDX-License-Identifier: MIT */
#include "replay/recorder_gap.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "energy/catalog.h"
#include "energy/units.h"
#include "record/store.h"

/* Failures that are closer to each other than this are one gap (judgement). */
#define APART_NS WTL_NS_PER_S

/* A stale reading is no failure: the last good one still counts. */
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

static bool is_same_reason(const struct wtl_reading *a, const struct wtl_reading *b)
{
	return a->status == b->status && strcmp(why(a), why(b)) == 0;
}

/* The failures of one gap may have several reasons. */
static void note_reason(struct wtl_channel_gap *gap, const struct wtl_reading *reading)
{
	if (is_same_reason(reading, &gap->first))
		return;
	if (gap->later.status == WATTLE_STATUS_OK)
		gap->later = *reading;
	else
		gap->has_more |= !is_same_reason(reading, &gap->later);
}

/* "failed: Input/output error; gone: No such device; and others" */
static void put_reasons(const struct wtl_channel_gap *gap, char *text, size_t size)
{
	const struct wtl_reading *first = &gap->first, *later = &gap->later;
	const char *status = wattle_status_name(first->status);
	bool is_same = first->status == later->status;

	if (later->status == WATTLE_STATUS_OK)
		snprintf(text, size, "%s: %.110s", status, why(first));
	else
		snprintf(text, size, "%s: %.60s; %s%s%.60s%s", status, why(first),
			 is_same ? "" : wattle_status_name(later->status), is_same ? "" : ": ",
			 why(later), gap->has_more ? "; and others" : "");
}

static void close_gap(struct wtl_channel_gap *gap, const struct wtl_channel *channel,
		      struct wtl_stored_gap *ret_gap)
{
	char times[32] = "", reasons[160];

	if (gap->n > 1)
		snprintf(times, sizeof(times), " (%u times)", gap->n);
	*ret_gap = (struct wtl_stored_gap){
		.kind = WTL_GAP_CHANNEL,
		.begin_mono_ns = gap->begin_ns,
		.duration_ns = gap->end_ns - gap->begin_ns,
	};
	wtl_text_copy(ret_gap->subject, sizeof(ret_gap->subject), channel->domain);
	put_reasons(gap, reasons, sizeof(reasons));
	snprintf(ret_gap->text, sizeof(ret_gap->text), "%.23s: %s%s",
		 channel->source ? channel->source : "?", reasons, times);
	gap->begin_ns = 0;
}

bool wtl_channel_gap_follow(struct wtl_channel_gap *gap, const struct wtl_channel *channel,
			    const struct wtl_reading *reading, int64_t t_ns,
			    struct wtl_stored_gap *ret_gap)
{
	bool is_over = false;

	if (is_failure(reading)) {
		/* A channel that never answered is a miss, not a gap. */
		if (!gap->was_good)
			return false;
		if (!gap->is_failing && gap->begin_ns == 0) {
			gap->begin_ns = gap->good_ns;
			gap->first = *reading;
			gap->later.status = WATTLE_STATUS_OK;
			gap->has_more = false;
			gap->n = 0;
		}
		note_reason(gap, reading);
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
