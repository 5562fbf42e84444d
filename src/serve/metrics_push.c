/* SPDX-License-Identifier: MIT */
#include "serve/live.h"
#include "serve/metrics.h"
#include "serve/metrics_writer.h"

static void put_samples(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	const struct {
		const char *result;
		uint64_t samples;
	} results[] = {{"sent", live->push.sent},
		       {"repeated", live->push.repeated},
		       {"refused", live->push.refused},
		       {"no_room", live->push.no_room}};

	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
		wtl_metrics_sample(writer, "result", results[i].result, NULL);
		wtl_metrics_number(writer, results[i].samples);
	}
}

static void put_stored(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	if (live->push.stored != WTL_LIVE_STORED && live->push.stored != WTL_LIVE_MISSING)
		return;
	wtl_metrics_begin(writer);
	wtl_metrics_number(writer, live->push.stored == WTL_LIVE_STORED);
}

#define GAUGE	WTL_METRICS_GAUGE
#define COUNTER WTL_METRICS_COUNTER

const struct wtl_metrics_family wtl_metrics_push_families[] = {
	{"wattle_push_samples_total", "result",
	 "Samples sent to an engine: sent (it acknowledged them), repeated (once more, or it had them), refused; no_room: not sent, of more than 65536 series",
	 COUNTER, .write = put_samples},
	{"wattle_push_dropped_rows_total", "",
	 "Seconds' rows that were not sent, since no recording has them any more", COUNTER,
	 WTL_METRICS_OF_HOST(push.dropped, COUNT, ALWAYS)},
	{"wattle_push_requests_total", "", "Requests to an engine", COUNTER,
	 WTL_METRICS_OF_HOST(push.requests, COUNT, ALWAYS)},
	{"wattle_push_failures_total", "", "Of them, those that are tried again", COUNTER,
	 WTL_METRICS_OF_HOST(push.failures, COUNT, ALWAYS)},
	{"wattle_push_bytes_total", "", "Compressed bytes of requests to an engine", COUNTER,
	 WTL_METRICS_OF_HOST(push.bytes, COUNT, ALWAYS)},
	{"wattle_push_behind_seconds", "",
	 "From the newest row that an engine took to the newest that there is", GAUGE,
	 WTL_METRICS_OF_HOST(push.behind_ns, NS_MS, ALWAYS)},
	{"wattle_push_stored", "",
	 "1: a query (--push-verify) found what the engine had acknowledged; 0: it did not. Not there: it was not asked",
	 GAUGE, .write = put_stored},
	{0},
};
