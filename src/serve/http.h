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

/*
 * The HTTP side of an agent: GET and HEAD, answered from the newest snapshot by a thread of its own. What a path
 * answers is a row of routes.c.
 */

enum { WTL_HTTP_PORT = 9177, WTL_HTTP_HOSTS_MAX = 16 };

struct wtl_http_options {
	const char *address;	/* to listen at: "127.0.0.1", "::1", "0.0.0.0" */
	unsigned port;		/* 0: any */
	const char *web_config; /* a file that says who may ask (web_config.h); NULL: everybody */
	bool needs_gate; /* without users, or certificates of clients, and TLS it must not start */
	/* Names that a request may call this server by, beside "localhost" and IP addresses; ended by NULL. Whoever
	 * reaches it by another name was sent by somebody else's page (DNS rebinding). */
	const char *const *hosts;
	struct wtl_board *board;	/* its `changed` becomes the stream's */
	struct wtl_past *past;		/* NULL: nothing is kept */
	const struct wtl_route *routes; /* ended by one without a path */
	unsigned metrics;		/* WTL_METRICS_… that /metrics has */
};

/* 0, or negative with the reason. Signals are to be blocked: the thread leaves them so. */
int wtl_http_start(const struct wtl_http_options *options, struct wtl_http **ret_http,
		   struct wtl_err *err);
/* Reads the web configuration again, by the thread that publishes snapshots. Where it is broken, the old one stays:
 * negative with the reason. Else all who are connected are let go. */
int wtl_http_reload(struct wtl_http *http, struct wtl_err *err);
/*
 * Nobody is answered from pause() until resume(), which takes another past (NULL: nothing is kept), at the same port and with
 * the web configuration as it was read last. By the thread that publishes snapshots; negative with the reason: it ended.
 */
void wtl_http_pause(struct wtl_http *http);
int wtl_http_resume(struct wtl_http *http, struct wtl_past *past, struct wtl_err *err);
bool wtl_http_has_tls(const struct wtl_http *http);
/* Can that be listened at? */
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
	int64_t age_ns;		     /* of that; since the start where there is none */
	unsigned metrics;	     /* the server's */
	struct wtl_past *past;	     /* NULL: nothing is kept */
	struct wtl_stream *stream;
};

enum { WTL_REPLY_MAX = 8 << 20 };

struct wtl_reply {
	unsigned status;	     /* 200 */
	const char *type;	     /* the content's */
	const char *cache;	     /* NULL: it is not to be kept */
	const char *etag, *encoding; /* of the content; NULL: it has none */
	struct wtl_buf body;
	/* Instead of a body, if there is one: MHD's callbacks for what has no end (stream.h). */
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
