/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_HTTP_H
#define WTL_SERVE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

struct wtl_board;
struct wtl_err;
struct wtl_http;
struct wtl_past;
struct wtl_route;
struct wtl_stream;

/* The HTTP side of an agent: GET and HEAD, answered from the newest
 * snapshot by a thread of its own. Each path is a row of routes.c. */

enum { WTL_HTTP_PORT = 9177, WTL_HTTP_HOSTS_MAX = 16 };

struct wtl_http_options {
	const char *address;	/* to listen at: "127.0.0.1", "::1", "0.0.0.0" */
	unsigned port;		/* 0: any */
	const char *web_config; /* a file that controls access (web_config.h); NULL: none does */
	bool needs_gate; /* refuses to start without TLS, and users or certificates of clients */
	/* Names by which a request may call this server, beside
	 * "localhost" and IP addresses; ended by NULL. See host.h. */
	const char *const *hosts;
	struct wtl_board *board;	/* its `changed` becomes the stream's */
	struct wtl_past *past;		/* NULL: there is no history */
	const struct wtl_route *routes; /* ended by one without a path */
	unsigned metrics;		/* WTL_METRICS_… that /metrics has */
};

/* 0, or negative with the reason. Signals must be blocked: the thread inherits that. */
int wtl_http_start(const struct wtl_http_options *options, struct wtl_http **ret_http,
		   struct wtl_err *err);
/* Reads the web configuration again, called by the thread that publishes snapshots. If it is
 * invalid, the old one stays: negative with the reason. Else all connections are closed. */
int wtl_http_reload(struct wtl_http *http, struct wtl_err *err);
/*
 * From pause() to resume(), no request is answered. resume() takes another past
 * (NULL: there is no history), with the same port and web configuration. By the
 * thread that publishes snapshots; negative with the reason: the server ended.
 */
void wtl_http_pause(struct wtl_http *http);
int wtl_http_resume(struct wtl_http *http, struct wtl_past *past, struct wtl_err *err);
bool wtl_http_has_tls(const struct wtl_http *http);
/* Is that an address to listen at? */
bool wtl_http_is_address(const char *text);
unsigned wtl_http_port(const struct wtl_http *http); /* that it listens at */
void wtl_http_stop(struct wtl_http *http);	     /* NULL is fine */

/* ---- What answers ---- */

struct wtl_live;

/* A header of the request, NULL: it has none; an argument of its query. */
struct wtl_request {
	const char *path;
	const char *(*header)(const struct wtl_request *request, const char *name);
	const char *(*argument)(const struct wtl_request *request, const char *name);
	void *connection;
	const unsigned char *address; /* the client's: 16 bytes; NULL: not known */
	const struct wtl_http *http;
	const struct wtl_live *live; /* NULL: nothing was measured yet */
	int64_t age_ns;		     /* of that; without one, since the start */
	unsigned metrics;	     /* the server's */
	struct wtl_past *past;	     /* NULL: nothing is kept */
	struct wtl_stream *stream;
};

enum { WTL_REPLY_MAX = 8 << 20 };

struct wtl_reply {
	unsigned status;	     /* 200 */
	const char *type;	     /* the content's */
	const char *cache;	     /* NULL: the answer must not be cached */
	const char *etag, *encoding; /* of the content; NULL: it has none */
	struct wtl_buf body;
	/* If set, instead of a body: MHD's callbacks for an answer without an end (stream.h). */
	ssize_t (*feed)(void *feeder, uint64_t at, char *bytes, size_t size);
	void (*feed_ends)(void *feeder);
	void *feeder;
};

enum {
	WTL_ROUTE_LIVE = 1, /* 503 until there is a snapshot */
	WTL_ROUTE_SHARED =
		2, /* the answer is made of the snapshot and of the header Accept alone */
};

struct wtl_route {
	const char *path;
	unsigned flags; /* WTL_ROUTE_… */
	void (*answer)(const struct wtl_request *request, struct wtl_reply *reply);
};

extern const struct wtl_route wtl_routes[]; /* routes.c: all of an agent's */

/* A line of text as the body. */
void wtl_reply_say(struct wtl_reply *reply, unsigned status, const char *text);

#endif
