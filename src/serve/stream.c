/* SPDX-License-Identifier: MIT */
#include "serve/stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "energy/units.h"
#include "serve/http.h"
#include "serve/live.h"
#include "serve/live_doc.h"
#include "serve/mhd.h"

/* An event's text; freed with its last holder. */
struct wtl_stream_frame {
	struct wtl_live_id of;
	unsigned holders;
	struct wtl_buf text;
};

struct wtl_stream_client {
	struct wtl_stream *stream;
	struct MHD_Connection *connection;
	struct wtl_stream_client *next;	 /* of the waiting clients */
	struct wtl_stream_client *older; /* of all clients */
	unsigned char address[16];
	bool is_over;
	bool is_catching_up;		/* it reconnected, and gets the kept frames first */
	struct wtl_live_id sent;	/* the newest frame that it got; number 0: none */
	char head[96];			/* goes before the frame */
	struct wtl_stream_frame *frame; /* the frame that it is getting */
	size_t at;			/* the offset in head and frame together */
};

/* ---- Frames ---- */

static void give_back(struct wtl_stream_frame *frame)
{
	if (!frame || --frame->holders > 0)
		return;
	wtl_buf_done(&frame->text);
	free(frame);
}

/* An id belongs to one run of the agent: the next run counts from 1. */
static void put_id(const struct wtl_live *live, struct wtl_buf *buf)
{
	wtl_buf_printf(buf, "%" PRId64 "-%" PRIu64, live->begin_utc_ns / WTL_NS_PER_MS,
		       live->number);
}

static struct wtl_stream_frame *make_frame(const struct wtl_live *live)
{
	struct wtl_stream_frame *frame = calloc(1, sizeof(*frame));

	if (!frame)
		return NULL;
	frame->of = wtl_live_id(live);
	frame->holders = 1;
	wtl_buf_init(&frame->text, WTL_REPLY_MAX);
	wtl_buf_puts(&frame->text, "id: ");
	put_id(live, &frame->text);
	wtl_buf_puts(&frame->text, "\nevent: live\ndata: ");
	if (wtl_live_json(live, false, &frame->text) == 0 && wtl_buf_putc(&frame->text, '\n') == 0)
		return frame;
	give_back(frame);
	return NULL;
}

static struct wtl_stream_frame *newest(const struct wtl_stream *stream)
{
	return stream->n_frames > 0 ? stream->kept[(stream->n_frames - 1) % WTL_STREAM_KEPT] : NULL;
}

/* Makes a frame of the newest snapshot, unless there is one. */
static void update(struct wtl_stream *stream)
{
	const struct wtl_live *live = wtl_board_hold(stream->board);
	struct wtl_stream_frame *last = newest(stream), *frame = NULL;

	if (live && (!last || !wtl_live_is(live, &last->of)))
		frame = make_frame(live);
	wtl_board_give_back(stream->board, live);
	if (!frame)
		return;
	give_back(stream->kept[stream->n_frames % WTL_STREAM_KEPT]);
	stream->kept[stream->n_frames++ % WTL_STREAM_KEPT] = frame;
}

/* ---- A client ---- */

/* The first kept frame after that one, of the same run of the agent; there is one. */
static struct wtl_stream_frame *oldest_after(const struct wtl_stream *stream,
					     const struct wtl_live_id *id)
{
	uint64_t from = stream->n_frames > WTL_STREAM_KEPT ? stream->n_frames - WTL_STREAM_KEPT : 0;

	while (from + 1 < stream->n_frames &&
	       (stream->kept[from % WTL_STREAM_KEPT]->of.begin_utc_ns != id->begin_utc_ns ||
		stream->kept[from % WTL_STREAM_KEPT]->of.number <= id->number))
		from++;
	return stream->kept[from % WTL_STREAM_KEPT];
}

/* false: there is nothing new. */
static bool take_frame(struct wtl_stream_client *client)
{
	struct wtl_stream *stream = client->stream;
	struct wtl_stream_frame *frame;
	struct wtl_live_id sent = client->sent;
	uint64_t lost = 0;

	update(stream);
	frame = newest(stream);
	if (!frame || memcmp(&frame->of, &sent, sizeof(sent)) == 0)
		return false;
	if (client->is_catching_up)
		frame = oldest_after(stream, &sent);
	client->is_catching_up &= frame != newest(stream);
	/* Another reader's numbers start from 1: then it is not known whether any were lost. */
	if (sent.number > 0 && sent.begin_utc_ns == frame->of.begin_utc_ns &&
	    frame->of.number > sent.number)
		lost = frame->of.number - sent.number - 1;
	client->head[0] = '\0';
	if (lost > 0)
		snprintf(client->head, sizeof(client->head),
			 "event: lost\ndata: {\"frames\":%" PRIu64 "}\n\n", lost);
	client->sent = frame->of;
	client->frame = frame;
	frame->holders++;
	client->at = 0;
	return true;
}

/* 0: the client has its whole frame. */
static size_t copy(struct wtl_stream_client *client, char *bytes, size_t size)
{
	size_t head = strlen(client->head), n;
	const char *from;

	if (!client->frame)
		return 0;
	if (client->at < head) {
		from = client->head + client->at;
		n = head - client->at;
	} else {
		from = client->frame->text.data + (client->at - head);
		n = client->frame->text.len - (client->at - head);
	}
	n = n < size ? n : size;
	memcpy(bytes, from, n);
	client->at += n;
	if (n == 0) {
		give_back(client->frame);
		client->frame = NULL;
	}
	return n;
}

/* The number of wakes so far. false: the stream has ended. */
static bool count_wakes(struct wtl_stream *stream, uint64_t *ret_wakes)
{
	bool goes_on;

	pthread_mutex_lock(&stream->lock);
	*ret_wakes = stream->n_wakes;
	goes_on = !stream->is_over;
	pthread_mutex_unlock(&stream->lock);
	return goes_on;
}

/* Waits for the next wake after so many of them. false: there was one already, or the stream has ended. */
static bool wait_for_more(struct wtl_stream_client *client, uint64_t seen)
{
	struct wtl_stream *stream = client->stream;
	bool waits;

	pthread_mutex_lock(&stream->lock);
	waits = !stream->is_over && stream->n_wakes == seen;
	if (waits) {
		client->next = stream->waiting;
		stream->waiting = client;
		stream->mhd->suspend_connection(client->connection);
	}
	pthread_mutex_unlock(&stream->lock);
	return waits;
}

static ssize_t feed(void *feeder, uint64_t at, char *bytes, size_t size)
{
	struct wtl_stream_client *client = feeder;
	uint64_t seen;

	(void)at;
	while (!client->is_over && count_wakes(client->stream, &seen)) {
		size_t n = copy(client, bytes, size);

		if (n > 0)
			return (ssize_t)n;
		if (!take_frame(client) && wait_for_more(client, seen))
			return 0;
	}
	return MHD_CONTENT_READER_END_OF_STREAM;
}

/* Ends a client's waiting. false: it did not wait. */
static bool stop_waiting(struct wtl_stream_client *client)
{
	struct wtl_stream_client **link = &client->stream->waiting;
	bool waited;

	pthread_mutex_lock(&client->stream->lock);
	while (*link && *link != client)
		link = &(*link)->next;
	waited = *link != NULL;
	if (waited)
		*link = client->next;
	pthread_mutex_unlock(&client->stream->lock);
	return waited;
}

static void feed_ends(void *feeder)
{
	struct wtl_stream_client *client = feeder;
	struct wtl_stream_client **link = &client->stream->clients;

	stop_waiting(client);
	while (*link != client)
		link = &(*link)->older;
	*link = client->older;
	give_back(client->frame);
	client->stream->n_clients -= !client->is_over;
	free(client);
}

static size_t count_of(const struct wtl_stream *stream, const unsigned char address[16])
{
	size_t n = 0;

	for (const struct wtl_stream_client *at = stream->clients; at; at = at->older)
		n += !at->is_over && memcmp(at->address, address, sizeof(at->address)) == 0;
	return n;
}

/* Ends the oldest client of the address that has most. */
static void end_one(struct wtl_stream *stream)
{
	struct wtl_stream_client *chosen = NULL;
	size_t most = 0;

	for (struct wtl_stream_client *at = stream->clients; at; at = at->older) {
		size_t n = at->is_over ? 0 : count_of(stream, at->address);

		if (n == 0 || n < most)
			continue;
		chosen = at;
		most = n;
	}
	if (!chosen)
		return;
	chosen->is_over = true;
	stream->n_clients--;
	if (stop_waiting(chosen))
		stream->mhd->resume_connection(chosen->connection);
}

/* Continues where the client left off, if that was a frame of this run. */
static void resume(struct wtl_stream_client *client, const struct wtl_request *request)
{
	const char *id = request->header(request, "Last-Event-ID"), *dash;
	uint64_t number;
	int64_t begin_ms;

	if (!id)
		id = request->argument(request, "last");
	dash = id ? strchr(id, '-') : NULL;
	if (!dash || wtl_num_i64(id, (size_t)(dash - id), &begin_ms) < 0 ||
	    wtl_num_u64(dash + 1, strlen(dash + 1), &number) < 0 ||
	    begin_ms != request->live->begin_utc_ns / WTL_NS_PER_MS ||
	    number > request->live->number)
		return;
	client->sent = (struct wtl_live_id){request->live->begin_utc_ns, number};
	client->is_catching_up = true;
}

void wtl_stream_answer(const struct wtl_request *request, struct wtl_reply *reply)
{
	struct wtl_stream *stream = request->stream;
	struct wtl_stream_client *client;

	client = calloc(1, sizeof(*client));
	if (!client) {
		wtl_reply_say(reply, 500, "there is no memory for the answer");
		return;
	}
	client->stream = stream;
	client->connection = request->connection;
	if (request->address)
		memcpy(client->address, request->address, sizeof(client->address));
	if (stream->n_clients >= WTL_STREAM_CLIENTS)
		end_one(stream);
	client->older = stream->clients;
	stream->clients = client;
	stream->n_clients++;
	resume(client, request);
	reply->type = "text/event-stream";
	reply->feed = feed;
	reply->feed_ends = feed_ends;
	reply->feeder = client;
}

/* ---- All clients ---- */

/* Called by the thread that measures, after each snapshot. */
static void wake(void *context)
{
	struct wtl_stream *stream = context;
	struct wtl_stream_client *client;

	pthread_mutex_lock(&stream->lock);
	stream->n_wakes++;
	client = stream->waiting;
	stream->waiting = NULL;
	while (client) {
		struct wtl_stream_client *next = client->next;

		stream->mhd->resume_connection(client->connection);
		client = next;
	}
	pthread_mutex_unlock(&stream->lock);
}

void wtl_stream_init(struct wtl_stream *stream, const struct wtl_mhd *mhd, struct wtl_board *board)
{
	*stream = (struct wtl_stream){.mhd = mhd, .board = board};
	pthread_mutex_init(&stream->lock, NULL);
	board->context = stream;
	board->changed = wake;
}

void wtl_stream_end(struct wtl_stream *stream)
{
	stream->board->changed = NULL;
	pthread_mutex_lock(&stream->lock);
	stream->is_over = true;
	pthread_mutex_unlock(&stream->lock);
	wake(stream);
}

void wtl_stream_done(struct wtl_stream *stream)
{
	for (size_t i = 0; i < WTL_STREAM_KEPT; i++)
		give_back(stream->kept[i]);
	pthread_mutex_destroy(&stream->lock);
}
