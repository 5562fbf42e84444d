/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "energy/units.h"
#include "serve/api.h"
#include "serve/http.h"
#include "serve/live.h"
#include "serve/metrics.h"
#include "serve/stream.h"
#include "serve/web.h"

/* A single late tick is no fault. */
#define SILENT_NS (10 * WTL_NS_PER_S)

static void answer_health(const struct wtl_request *request, struct wtl_reply *reply)
{
	int64_t slow_ns = request->live ? 3 * request->live->interval_ns : 0;
	char text[320];

	if (request->age_ns > (slow_ns > SILENT_NS ? slow_ns : SILENT_NS)) {
		snprintf(text, sizeof(text), "nothing was measured for %lld s",
			 (long long)(request->age_ns / WTL_NS_PER_S));
		wtl_reply_say(reply, 503, text);
	} else if (!request->live) {
		wtl_reply_say(reply, 503, "nothing was measured yet");
	} else if (!request->live->is_recorded && request->live->recording[0]) {
		snprintf(text, sizeof(text), "ok, but nothing is remembered: %s",
			 request->live->recording);
		wtl_reply_say(reply, 200, text);
	} else {
		wtl_reply_say(reply, 200, "ok");
	}
}

static void answer_metrics(const struct wtl_request *request, struct wtl_reply *reply)
{
	bool is_open = wtl_metrics_wants_open(request->header(request, "Accept"));

	reply->type = wtl_metrics_type(is_open);
	wtl_metrics_write(request->live, request->metrics, is_open, &reply->body);
}

/* clang-format off */
const struct wtl_route wtl_routes[] = {
	{"/healthz", 0, answer_health},
	{"/metrics", WTL_ROUTE_LIVE | WTL_ROUTE_SHARED, answer_metrics},
	{"/api/v1/live", WTL_ROUTE_LIVE, wtl_api_live},
	{"/api/v1/history", WTL_ROUTE_LIVE, wtl_api_history},
	{"/api/v1/use", WTL_ROUTE_LIVE, wtl_api_use},
	{"/api/v1/windows", WTL_ROUTE_LIVE, wtl_api_windows},
	{"/api/v1/stream", WTL_ROUTE_LIVE, wtl_stream_answer},
	{"/", 0, wtl_web_answer},
	{"/wattle.js", 0, wtl_web_answer},
	{"/wattle.css", 0, wtl_web_answer},
	{"/dygraph.min.js", 0, wtl_web_answer},
	{"/dygraph.min.css", 0, wtl_web_answer},
	{"/icon.svg", 0, wtl_web_answer},
	{0},
};
/* clang-format on */
