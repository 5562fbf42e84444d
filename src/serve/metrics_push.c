/* SPDX-License-Identifier: MIT */
#include "serve/live.h"
#include "serve/metrics.h"
#include "serve/metrics_writer.h"

static void put_samples(struct wtl_metrics_writer *writer, const struct wtl_live *live,
			unsigned what)
{
	const struct {
		const char *result;
		uint64_t samples;
	} results[] = {{"sent", live->push.sent},
		       {"repeated", live->push.repeated},
		       {"refused", live->push.refused},
		       {"no_room", live->push.no_room}};

	(void)what;
	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
		wtl_metrics_begin(writer);
		wtl_metrics_label(writer, "result", results[i].result);
		wtl_metrics_number(writer, results[i].samples);
	}
}

/* what: a number of struct wtl_live_push. */
static void put_count(struct wtl_metrics_writer *writer, const struct wtl_live *live, unsigned what)
{
	wtl_metrics_begin(writer);
	wtl_metrics_number(writer, *(const uint64_t *)((const char *)&live->push + what));
}

static void put_stored(struct wtl_metrics_writer *writer, const struct wtl_live *live,
		       unsigned what)
{
	(void)what;
	if (live->push.stored != WTL_LIVE_STORED && live->push.stored != WTL_LIVE_MISSING)
		return;
	wtl_metrics_begin(writer);
	wtl_metrics_number(writer, live->push.stored == WTL_LIVE_STORED);
}

static void put_behind(struct wtl_metrics_writer *writer, const struct wtl_live *live,
		       unsigned what)
{
	(void)what;
	wtl_metrics_begin(writer);
	wtl_metrics_decimal(writer, (uint64_t)live->push.behind_ns / 1000000, 3);
}

#define COUNT(member) put_count, offsetof(struct wtl_live_push, member), WTL_METRICS_COUNTER, 0

const struct wtl_metrics_family wtl_metrics_push_families[] = {
	{"wattle_push_samples_total", "result", "",
	 "Samples sent to an engine: sent (it acknowledged them), repeated (once more, or it had them), "
	 "refused; no_room: not sent, of more than 65536 series",
	 put_samples, 0, WTL_METRICS_COUNTER, 0},
	{"wattle_push_dropped_rows_total", "", "",
	 "Seconds' rows that were not sent, since no recording has them any more", COUNT(dropped)},
	{"wattle_push_requests_total", "", "", "Requests to an engine", COUNT(requests)},
	{"wattle_push_failures_total", "", "", "Of them, those that are tried again",
	 COUNT(failures)},
	{"wattle_push_bytes_total", "", "bytes", "Compressed bytes of requests to an engine",
	 COUNT(bytes)},
	{"wattle_push_behind_seconds", "", "seconds",
	 "From the newest row that an engine took to the newest that there is", put_behind, 0,
	 WTL_METRICS_GAUGE, 0},
	{"wattle_push_stored", "", "",
	 "1: a query (--push-verify) found what the engine had acknowledged; 0: it did not. Not there: "
	 "it was not asked",
	 put_stored, 0, WTL_METRICS_GAUGE, 0},
	{0},
};
