/* SPDX-License-Identifier: MIT */
#include "serve/web.h"

#include <string.h>

#include "base/buf.h"
#include "serve/http.h"

static const struct wtl_web_file *find(const char *path)
{
	for (const struct wtl_web_file *file = wtl_web_files; file->path; file++)
		if (strcmp(file->path, path) == 0)
			return file;
	return NULL;
}

/* A client that names no coding takes any (RFC 9110, 12.5.3). Browsers take gzip. */
static bool takes_gzip(const struct wtl_request *request)
{
	const char *accepted = request->header(request, "Accept-Encoding");

	return !accepted || strstr(accepted, "gzip") || strchr(accepted, '*');
}

void wtl_web_answer(const struct wtl_request *request, struct wtl_reply *reply)
{
	const struct wtl_web_file *file = find(request->path);
	const char *known = request->header(request, "If-None-Match");

	if (!file) {
		wtl_reply_say(reply, 404,
			      "wattle was built without its page (dygraphs was not there): "
			      "see /metrics and /api/v1/live");
		return;
	}
	if (!takes_gzip(request)) {
		wtl_reply_say(reply, 406, "the page is sent compressed by gzip alone");
		return;
	}
	reply->etag = file->etag;
	reply->cache = "no-cache"; /* revalidated each time, and mostly unchanged */
	reply->type = file->type;
	if (known && strstr(known, file->etag)) {
		reply->status = 304;
		return;
	}
	reply->encoding = "gzip";
	wtl_buf_add(&reply->body, file->bytes, file->size);
}
