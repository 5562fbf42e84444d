/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_STREAM_H
#define WTL_SERVE_STREAM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wtl_board;
struct wtl_mhd;
struct wtl_reply;
struct wtl_request;
struct wtl_stream_client;
struct wtl_stream_frame;

/*
 * Snapshots as they come, for clients that stay connected: server-sent events, a frame for
 * each snapshot (docs/api.md). A frame is made once, by the HTTP thread, when the first client
 * takes it; the thread that measures only wakes waiting clients. A client that is slower than
 * the snapshots loses whole frames, and is told how many. At the limit of clients, the oldest
 * one of the address that has most is ended: so nobody can shut others out by opening many.
 *
 * All clients' callbacks come from the HTTP server's thread; the lock is for the waiting ones.
 */

enum { WTL_STREAM_CLIENTS = 64, WTL_STREAM_KEPT = 5 };

struct wtl_stream {
	const struct wtl_mhd *mhd;
	struct wtl_board *board;
	struct wtl_stream_frame *kept[WTL_STREAM_KEPT]; /* the newest at n_frames - 1, modulo */
	uint64_t n_frames;
	struct wtl_stream_client *clients; /* the newest first */
	size_t n_clients;		   /* without those that were ended */
	pthread_mutex_t lock;
	struct wtl_stream_client *waiting;
	uint64_t n_wakes;
	bool is_over;
};

void wtl_stream_init(struct wtl_stream *stream, const struct wtl_mhd *mhd, struct wtl_board *board);
void wtl_stream_end(struct wtl_stream *stream);	 /* before the server stops: all clients are told */
void wtl_stream_done(struct wtl_stream *stream); /* after it */

/* The row of routes.c. */
void wtl_stream_answer(const struct wtl_request *request, struct wtl_reply *reply);

#endif
