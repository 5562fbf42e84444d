/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_PUSH_HTTP_H
#define WTL_SERVE_PUSH_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/http.h"

struct wtl_buf;
struct wtl_err;

/* Requests to an engine. Remote-write also needs Snappy (libsnappy1v5), which is loaded only for that. */

enum wtl_push_form { WTL_PUSH_REMOTE_WRITE, WTL_PUSH_INFLUX };

struct wtl_push_http_options {
	const char *url;
	enum wtl_push_form form;
	const char
		*headers; /* a file of lines "Name: value", read before each request; NULL: none */
	struct wtl_client_options how;
};

struct wtl_push_http;

/* The result of a request. */
enum wtl_push_result {
	WTL_PUSH_TAKEN,
	WTL_PUSH_REFUSED,   /* these samples: sending them again is of no use */
	WTL_PUSH_TOO_LARGE, /* send fewer at a time */
	WTL_PUSH_FAILED	    /* try again later */
};

struct wtl_push_answer {
	enum wtl_push_result result;
	int64_t retry_after_ns; /* 0: it did not say */
	bool is_new_connection;
	bool is_known_there; /* refused since it is out of order, or was sent before */
	bool was_not_sent;   /* there was no connection */
	char text[256];	     /* what went wrong; printable */
};

/* 0, or negative with the reason. free() takes NULL. The options are borrowed. */
int wtl_push_http_new(const struct wtl_push_http_options *options, struct wtl_push_http **ret_http,
		      struct wtl_err *err);
void wtl_push_http_free(struct wtl_push_http *http);
/* Sends it, compressed; waits for half a minute at most. */
void wtl_push_http_send(struct wtl_push_http *http, const struct wtl_buf *request,
			struct wtl_push_answer *ret_answer);
/* A query by GET to an engine's URL for queries; `more` follows it ("": nothing). Returns the start
 * of the answer, valid until the next request; NULL: ret_answer->text says why there is none. */
const char *wtl_push_http_ask(struct wtl_push_http *http, const char *url, const char *query,
			      const char *more, struct wtl_push_answer *ret_answer);
/* Bytes sent so far, as compressed. */
uint64_t wtl_push_http_bytes(const struct wtl_push_http *http);

#endif
