/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "serve/api.h"
#include "serve/http.h"
#include "serve/live.h"
#include "serve/metrics.h"
#include "serve/stream.h"

static void answer_health(const struct wtl_request *request, struct wtl_reply *reply)
{
	if (request->live)
		wtl_reply_say(reply, 200, "ok");
	else
		wtl_reply_say(reply, 503, "nothing was measured yet");
}

static void answer_metrics(const struct wtl_request *request, struct wtl_reply *reply)
{
	bool is_open = wtl_metrics_wants_open(request->header(request, "Accept"));

	reply->type = wtl_metrics_type(is_open);
	wtl_metrics_write(request->live, request->metrics, is_open, &reply->body);
}

const struct wtl_route wtl_routes[] = {
	{"/healthz", false, answer_health},	     {"/metrics", true, answer_metrics},
	{"/api/v1/live", true, wtl_api_live},	     {"/api/v1/history", true, wtl_api_history},
	{"/api/v1/use", true, wtl_api_use},	     {"/api/v1/windows", true, wtl_api_windows},
	{"/api/v1/stream", true, wtl_stream_answer}, {0},
};
