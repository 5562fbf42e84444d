/* SPDX-License-Identifier: MIT */
#include "serve/push.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "base/thread.h"
#include "energy/units.h"
#include "serve/live.h"
#include "serve/metrics.h"
#include "serve/push_log.h"
#include "serve/push_verify.h"
#include "serve/push_wire.h"

/* The most rows and samples in memory. With a usual number of series, that is a minute. */
enum { RING = 64, RING_SAMPLES = 1 << 16 };
/* For a request. */
enum { ROWS_FIRST = 16, ROWS_MAX = 1024, SAMPLES_MAX = 20000 };
enum { TEXT_MAX = 64 << 20, ROWS_KEPT = 3600 };

/* An engine that was killed may have lost what it acknowledged last: VictoriaMetrics some seconds. What
 * counts is when it took a row, not how old the row is: of a backlog it takes hours in a second. */
#define OVERLAP_NS (15 * WTL_NS_PER_S)
#define SLOT_NS	   (OVERLAP_NS / 3)
/* One more, for what is taken by the connection that shows the loss. */
enum { SLOTS = 6 };

/* Rows that were acknowledged lately, in a slot of some seconds. */
struct slot {
	uint64_t first; /* row */
	int64_t begin_ns, end_ns;
};

/* The most time for a last attempt at the end. */
#define LAST_NS (2 * WTL_NS_PER_S)

/* When to verify: so long after an acknowledgement; again if it is missing, and from time to time. */
#define VERIFY_AFTER_NS (10 * WTL_NS_PER_S)
#define VERIFY_EVERY_NS (3600 * WTL_NS_PER_S)
/* A relay may need a while, so only the second miss in a row is reported. */
enum { MISSING = 2 };

#define WAIT_FIRST_NS WTL_NS_PER_S
#define WAIT_MOST_NS  (300 * WTL_NS_PER_S)

struct wtl_push {
	struct wtl_push_options options;
	struct wtl_push_labels labels;
	struct wtl_push_http *http;
	char where[160];
	pthread_t thread;
	bool has_thread;

	/* Shared by both threads. */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
	int64_t stop_ns; /* the deadline for that */
	struct wtl_push_table table;
	struct wtl_push_row ring[RING]; /* row N is at N % RING */
	uint64_t first, end;		/* the rows in the ring; equal: there is none */
	size_t ring_samples;
	uint64_t cursor;
	struct slot slots[SLOTS];
	size_t n_slots;
	uint64_t doubtful; /* up to that row, an engine may have rows that it did not acknowledge */
	int64_t newest_ms, taken_ms; /* 0: none; at first, the first row counts as taken */
	struct wtl_live_push counts;
	char news[1600]; /* lines; lines for which there is no room are dropped */

	/* Only for the thread that measures. */
	struct wtl_push_row waiting;
	struct wtl_buf text;
	uint64_t next;
	bool is_waiting;

	/* Only for the pushing thread. */
	struct wtl_push_row *batch; /* ROWS_MAX: from a recording */
	size_t n_batch;
	struct wtl_push_reader *reader;
	struct wtl_push_row ahead; /* read, but not in the batch */
	bool has_ahead;
	char **paths;
	size_t path;
	struct wtl_buf request;
	size_t max_rows;
	bool is_failing, needs_overlap, was_connected;
	unsigned n_new; /* connections in a row that were new */
	int64_t verify_ns,
		verified_ms; /* when to ask, and for which row; 0: for the next one that is taken */
	unsigned n_missing;  /* times in a row */
	int64_t wait_ns,
		told_ns; /* the wait after a failure, and the least that the engine asked for */
	unsigned random;
};

/* ---- What an engine may have lost ---- */

/* The first row that an engine may have lost after taking it. Called with the lock. */
static uint64_t first_of_overlap(const struct wtl_push *push)
{
	return push->n_slots > 0 ? push->slots[0].first : push->cursor;
}

/* Names that return within the hour keep their places. Called with the lock. */
static uint64_t first_to_read(const struct wtl_push *push)
{
	uint64_t kept = push->next > ROWS_KEPT ? push->next - ROWS_KEPT : 0;
	uint64_t first = first_of_overlap(push);

	return first < kept ? first : kept;
}

/* Notes that rows from that one on were taken just now. Called with the lock. */
static void note_taken(struct wtl_push *push, uint64_t first)
{
	int64_t now_ns = wtl_thread_clock_ns();
	size_t n = 0;

	while (!push->needs_overlap && n < push->n_slots &&
	       push->slots[n].end_ns < now_ns - OVERLAP_NS)
		n++;
	push->n_slots -= n;
	memmove(push->slots, push->slots + n, push->n_slots * sizeof(push->slots[0]));
	if (push->n_slots == 0 ||
	    (push->n_slots < SLOTS && now_ns - push->slots[push->n_slots - 1].begin_ns >= SLOT_NS))
		push->slots[push->n_slots++] = (struct slot){.first = first, .begin_ns = now_ns};
	push->slots[push->n_slots - 1].end_ns = now_ns;
}

/* ---- New rows ---- */

static void drop_first(struct wtl_push *push)
{
	push->ring_samples -= push->ring[push->first++ % RING].n;
}

void wtl_push_take(struct wtl_push *push, const struct wtl_live *live)
{
	int rc;

	wtl_buf_clear(&push->text);
	wtl_metrics_write(live, push->options.sets & ~(unsigned)WTL_METRICS_PER_PROCESS, false,
			  &push->text);
	push->waiting.number = push->next;
	push->waiting.t_utc_ms = live->t_utc_ns / 1000000;
	pthread_mutex_lock(&push->lock);
	push->table.read_from = first_to_read(push);
	rc = push->text.error
		     ? -ENOMEM
		     : wtl_push_row_read(&push->waiting, &push->table, wtl_buf_str(&push->text));
	push->counts.no_room += push->waiting.n_left_out;
	pthread_mutex_unlock(&push->lock);
	push->is_waiting = rc == 0;
	push->next += rc == 0;
}

void wtl_push_waiting(struct wtl_push *push, const struct wtl_push_table **ret_table,
		      const struct wtl_push_row **ret_row)
{
	*ret_table = push->is_waiting ? &push->table : NULL;
	*ret_row = push->is_waiting ? &push->waiting : NULL;
}

void wtl_push_show(struct wtl_push *push)
{
	const struct wtl_push_row *row = &push->waiting;

	if (!push->is_waiting)
		return;
	push->is_waiting = false;
	pthread_mutex_lock(&push->lock);
	if (push->end != row->number) { /* a row is missing, or it is the first */
		push->first = push->end = row->number;
		push->ring_samples = 0;
	}
	while (push->end > push->first &&
	       (push->end - push->first == RING || push->ring_samples + row->n > RING_SAMPLES))
		drop_first(push);
	if (wtl_push_row_copy(&push->ring[row->number % RING], row) == 0) {
		push->end = row->number + 1;
		push->ring_samples += row->n;
		push->newest_ms = row->t_utc_ms;
		if (push->taken_ms == 0)
			push->taken_ms = row->t_utc_ms;
	}
	pthread_mutex_unlock(&push->lock);
}

void wtl_push_place(struct wtl_push *push, struct wtl_push_place *ret_place)
{
	pthread_mutex_lock(&push->lock);
	*ret_place = (struct wtl_push_place){.cursor = push->cursor,
					     .next = push->next,
					     .doubtful = push->has_thread ? push->next - 1
									  : push->doubtful,
					     .again = first_of_overlap(push)};
	pthread_mutex_unlock(&push->lock);
}

void wtl_push_count(struct wtl_push *push, struct wtl_live_push *ret_counts)
{
	pthread_mutex_lock(&push->lock);
	*ret_counts = push->counts;
	ret_counts->is_on = true;
	if (push->newest_ms > push->taken_ms)
		ret_counts->behind_ns = (push->newest_ms - push->taken_ms) * 1000000;
	pthread_mutex_unlock(&push->lock);
}

bool wtl_push_news(struct wtl_push *push, char *text, size_t size)
{
	size_t len;

	pthread_mutex_lock(&push->lock);
	len = strcspn(push->news, "\n");
	if (len > 0) {
		snprintf(text, size, "%.*s", (int)len, push->news);
		memmove(push->news, push->news + len + 1, strlen(push->news + len + 1) + 1);
	}
	pthread_mutex_unlock(&push->lock);
	return len > 0;
}

static void tell(struct wtl_push *push, const char *how, const char *why)
{
	char line[400];
	size_t used;

	snprintf(line, sizeof(line), "push to %s %s%s", push->where, how, why);
	pthread_mutex_lock(&push->lock);
	used = strlen(push->news);
	if (used + strlen(line) + 1 < sizeof(push->news))
		sprintf(push->news + used, "%s\n", line);
	pthread_mutex_unlock(&push->lock);
}

/* ---- Rows of recordings ---- */

static void close_reader(struct wtl_push *push)
{
	wtl_push_reader_close(push->reader);
	push->reader = NULL;
	push->has_ahead = false;
}

static void close_recordings(struct wtl_push *push)
{
	close_reader(push);
	for (size_t i = 0; push->paths && push->paths[i]; i++)
		free(push->paths[i]);
	free(push->paths);
	push->paths = NULL;
}

/* Reads the open recording's next row. */
static bool read_ahead(struct wtl_push *push)
{
	if (!push->has_ahead && push->reader)
		push->has_ahead = wtl_push_reader_next(push->reader, &push->ahead) > 0;
	return push->has_ahead;
}

/* Opens the recording with the first row from `from` on. */
static bool find_row(struct wtl_push *push, uint64_t from)
{
	struct wtl_err err;

	if (!push->paths && push->options.recordings) {
		push->paths = push->options.recordings(push->options.context);
		push->path = 0;
	}
	while (!read_ahead(push)) {
		close_reader(push);
		do {
			if (!push->paths || !push->paths[push->path])
				return false;
		} while (wtl_push_reader_open(push->paths[push->path++], from, &push->reader,
					      &err) < 0);
	}
	return true;
}

/* May the row be in a request after `last`? When the clock was set back,
 * engines drop the earlier row and acknowledge it. On its own it is refused. */
static bool follows(const struct wtl_push_row *row, const struct wtl_push_row *last)
{
	return row->t_utc_ms > last->t_utc_ms;
}

/* Reads rows of one recording, below `below`, as many as a request may have. */
static void read_batch(struct wtl_push *push, uint64_t from, uint64_t below)
{
	size_t samples = 0;

	push->n_batch = 0;
	if (!find_row(push, from))
		return;
	while (push->n_batch < push->max_rows && samples < SAMPLES_MAX && read_ahead(push) &&
	       push->ahead.number < below &&
	       (push->n_batch == 0 || follows(&push->ahead, &push->batch[push->n_batch - 1]))) {
		struct wtl_push_row *row = &push->batch[push->n_batch++], emptied = *row;

		*row = push->ahead;
		push->ahead = emptied;
		push->has_ahead = false;
		samples += row->n;
	}
}

/* libcurl asks this as well, so that a stuck engine does not delay the end. */
static bool gives_up(void *context)
{
	struct wtl_push *push = context;
	bool is_late;

	pthread_mutex_lock(&push->lock);
	is_late = push->stop && wtl_thread_clock_ns() > push->stop_ns;
	pthread_mutex_unlock(&push->lock);
	return is_late;
}

/* ---- Requests ---- */

/* What is in a request. */
struct load {
	uint64_t first, last; /* rows; last 0: there is none */
	size_t rows, samples;
	int64_t t_utc_ms; /* of the last */
};

static void note_row(struct load *load, const struct wtl_push_row *row)
{
	if (load->last == 0)
		load->first = row->number;
	load->last = row->number;
	load->rows++;
	load->samples += row->n;
	load->t_utc_ms = row->t_utc_ms;
}

static int encode(struct wtl_push *push, struct wtl_push_table *table,
		  const struct wtl_push_row rows[], size_t n)
{
	wtl_buf_clear(&push->request);
	return push->options.http.form == WTL_PUSH_INFLUX
		       ? wtl_push_influx(table, rows, n, &push->labels, &push->request)
		       : wtl_push_remote_write(table, rows, n, &push->labels, &push->request);
}

/* Takes rows from … below-1 that are in memory, and next to each other there. */
static int load_from_memory(struct wtl_push *push, uint64_t from, uint64_t below, struct load *load)
{
	size_t at = from % RING, n = 0;

	while (from + n < below && n < push->max_rows && at + n < RING &&
	       (n == 0 || follows(&push->ring[at + n], &push->ring[at + n - 1])))
		note_row(load, &push->ring[at + n++]);
	return n > 0 ? encode(push, &push->table, &push->ring[at], n) : 0;
}

static int load_from_recordings(struct wtl_push *push, uint64_t from, uint64_t below,
				struct load *load)
{
	bool was_open = push->paths;

	read_batch(push, from, below);
	if (push->n_batch == 0 && was_open) { /* by now there may be more recordings */
		close_recordings(push);
		read_batch(push, from, below);
	}
	for (size_t i = 0; i < push->n_batch; i++)
		note_row(load, &push->batch[i]);
	return push->n_batch > 0 ? encode(push, wtl_push_reader_table(push->reader), push->batch,
					  push->n_batch)
				 : 0;
}

/* Takes the first rows from `from` on that are below `below`. */
static int fill(struct wtl_push *push, uint64_t from, uint64_t below, struct load *load)
{
	uint64_t first;
	int rc = 0;

	*load = (struct load){.last = 0};
	pthread_mutex_lock(&push->lock);
	first = push->first;
	if (below > push->end)
		below = push->end;
	if (from >= first && from < below)
		rc = load_from_memory(push, from, below, load);
	pthread_mutex_unlock(&push->lock);
	if (rc < 0 || load->last != 0 || from >= below)
		return rc;
	rc = load_from_recordings(push, from, below < first ? below : first, load);
	if (rc == 0 && load->last == 0) {
		/* They are lost. The rows in memory come next. */
		close_recordings(push);
		load->first = first;
	}
	return rc;
}

static void grow(struct wtl_push *push)
{
	push->max_rows *= 2;
	if (push->max_rows > ROWS_MAX)
		push->max_rows = ROWS_MAX;
}

/* One row may be the reason: the others must not be lost with it. */
static void halve(struct wtl_push *push, const struct load *load)
{
	push->max_rows = load->rows / 2;
	close_recordings(push); /* they must be read again */
}

/* Moves the cursor by the answer. */
static void settle(struct wtl_push *push, const struct load *load,
		   const struct wtl_push_answer *answer)
{
	bool is_taken = answer->result == WTL_PUSH_TAKEN, is_first;
	bool is_known = answer->is_known_there && load->last <= push->doubtful;

	if (!is_taken && load->rows > 1) {
		halve(push, load);
		return;
	}
	pthread_mutex_lock(&push->lock);
	is_first = push->counts.refused == 0;
	push->counts.dropped += load->last + 1 - push->cursor - load->rows;
	if (is_taken)
		note_taken(push, push->cursor);
	push->cursor = load->last + 1;
	if (is_taken) {
		push->counts.sent += load->samples;
		push->taken_ms = load->t_utc_ms;
	} else if (is_known) {
		push->counts.repeated += load->samples;
	} else {
		push->counts.refused += load->samples;
	}
	pthread_mutex_unlock(&push->lock);
	if (!is_taken && !is_known && is_first)
		tell(push, "is refused, and what is refused is not sent again: ", answer->text);
	if (is_taken)
		grow(push);
}

static void plan_again(struct wtl_push *push, const struct wtl_push_answer *answer)
{
	int64_t most_ns;

	push->wait_ns = push->wait_ns == 0 ? WAIT_FIRST_NS : 2 * push->wait_ns;
	most_ns =
		push->options.interval_ns > WAIT_MOST_NS ? push->options.interval_ns : WAIT_MOST_NS;
	if (push->wait_ns > most_ns)
		push->wait_ns = most_ns;
	push->told_ns = answer->retry_after_ns;
}

/* The same reason is reported only once. */
static void note_answer(struct wtl_push *push, const struct wtl_push_answer *answer)
{
	bool has_failed = answer->result == WTL_PUSH_FAILED;

	pthread_mutex_lock(&push->lock);
	push->counts.requests++;
	push->counts.failures += has_failed;
	push->counts.bytes = wtl_push_http_bytes(push->http);
	pthread_mutex_unlock(&push->lock);
	if (has_failed && !push->is_failing)
		tell(push, "fails, and is tried again: ", answer->text);
	else if (!has_failed && push->is_failing)
		tell(push, "works again", "");
	push->is_failing = has_failed;
	if (has_failed)
		push->needs_overlap = true;
	if (has_failed)
		plan_again(push, answer);
	else
		push->wait_ns = 0;
}

static bool send(struct wtl_push *push, struct wtl_push_answer *answer)
{
	wtl_push_http_send(push->http, &push->request, answer);
	note_answer(push, answer);
	if (answer->result == WTL_PUSH_FAILED)
		return false;
	/* The connection was closed, so the engine may have been killed; but some close after each request. */
	push->n_new = answer->is_new_connection && push->was_connected ? push->n_new + 1 : 0;
	if (push->n_new == 1)
		push->needs_overlap = true;
	push->was_connected = true;
	return true;
}

/* Sends rows before the cursor once more, in requests of their own:
 * an engine that has them may refuse them. false: it failed. */
static bool send_overlap(struct wtl_push *push)
{
	uint64_t first, from, below;

	pthread_mutex_lock(&push->lock);
	below = push->cursor;
	first = from = first_of_overlap(push);
	pthread_mutex_unlock(&push->lock);
	close_recordings(push); /* the reader is after those rows */
	while (from < below) {
		struct wtl_push_answer answer;
		struct load load;

		if (fill(push, from, below, &load) < 0 || load.last == 0)
			break;
		if (!send(push, &answer))
			return false;
		if (answer.result == WTL_PUSH_TOO_LARGE && load.rows > 1) {
			halve(push, &load);
			continue;
		}
		pthread_mutex_lock(&push->lock);
		push->counts.repeated += load.samples;
		pthread_mutex_unlock(&push->lock);
		from = load.last + 1;
	}
	close_recordings(push);
	push->needs_overlap = false;
	pthread_mutex_lock(&push->lock);
	push->n_slots = 0;
	note_taken(push, first);
	pthread_mutex_unlock(&push->lock);
	return true;
}

static void doubt(struct wtl_push *push, uint64_t last)
{
	pthread_mutex_lock(&push->lock);
	if (push->doubtful < last)
		push->doubtful = last;
	pthread_mutex_unlock(&push->lock);
}

/* Makes one request. false: there is nothing to send (yet), or it failed. */
static bool step(struct wtl_push *push)
{
	struct wtl_push_answer answer;
	struct load load;
	uint64_t cursor;

	if (push->needs_overlap && !send_overlap(push))
		return false;
	pthread_mutex_lock(&push->lock);
	cursor = push->cursor;
	pthread_mutex_unlock(&push->lock);
	if (fill(push, cursor, UINT64_MAX, &load) < 0)
		return false;
	if (load.last == 0) {
		if (load.first <= cursor)
			return false;
		pthread_mutex_lock(&push->lock);
		push->counts.dropped += load.first - cursor;
		push->cursor = load.first;
		pthread_mutex_unlock(&push->lock);
		return true;
	}
	if (!send(push, &answer)) {
		if (!answer.was_not_sent)
			doubt(push, load.last);
		close_recordings(push);
		return false;
	}
	settle(push, &load, &answer);
	if (answer.result == WTL_PUSH_TAKEN &&
	    (push->verified_ms == 0 || wtl_thread_clock_ns() < push->verify_ns - VERIFY_AFTER_NS))
		push->verified_ms = load.t_utc_ms;
	return true;
}

/* ---- Verification ---- */

static void note_stored(struct wtl_push *push, enum wtl_live_stored stored)
{
	enum wtl_live_stored before;

	pthread_mutex_lock(&push->lock);
	before = push->counts.stored;
	push->counts.stored = stored;
	pthread_mutex_unlock(&push->lock);
	if (stored == WTL_LIVE_MISSING && before != WTL_LIVE_MISSING)
		tell(push, "is acknowledged, but a query (--push-verify) finds none of it", "");
	else if (stored == WTL_LIVE_STORED && before == WTL_LIVE_MISSING)
		tell(push, "is found by a query again", "");
}

static void note_found(struct wtl_push *push, bool is_found)
{
	push->n_missing = is_found ? 0 : push->n_missing + 1;
	push->verify_ns = wtl_thread_clock_ns() + (is_found ? VERIFY_EVERY_NS : VERIFY_AFTER_NS);
	push->verified_ms = 0;
	if (is_found || push->n_missing >= MISSING)
		note_stored(push, is_found ? WTL_LIVE_STORED : WTL_LIVE_MISSING);
}

/* The reason is reported once, until there is an answer. */
static void note_no_answer(struct wtl_push *push, const char *why)
{
	push->verify_ns = wtl_thread_clock_ns() + VERIFY_EVERY_NS;
	push->verified_ms = 0;
	tell(push, "cannot be verified, and is asked again in an hour: ", why);
}

static void verify(struct wtl_push *push)
{
	enum wtl_push_form form = push->options.http.form;
	char more[WTL_PUSH_MORE_SIZE];
	struct wtl_push_answer answer;
	struct wtl_buf query;
	const char *said;
	int found;

	if (!push->options.verify || push->verified_ms == 0 || push->is_failing ||
	    wtl_thread_clock_ns() < push->verify_ns)
		return;
	/* It was taken just now, and is asked for so much later. */
	if (push->verify_ns == 0) {
		push->verify_ns = wtl_thread_clock_ns() + VERIFY_AFTER_NS;
		return;
	}
	wtl_buf_init(&query, TEXT_MAX);
	wtl_push_verify_query(form, &push->labels, push->verified_ms, &query, more);
	said = wtl_push_http_ask(push->http, push->options.verify, wtl_buf_str(&query), more,
				 &answer);
	found = said ? wtl_push_verify_answer(form, said) : -EPROTO;
	if (found >= 0)
		note_found(push, found);
	else
		note_no_answer(push, said ? "that is no answer to a query" : answer.text);
	wtl_buf_done(&query);
}

/* ---- The thread ---- */

/* Half of it to all of it, so that a thousand agents do not come at once. */
static int64_t jittered(struct wtl_push *push, int64_t wait_ns)
{
	return wait_ns / 2 +
	       (int64_t)((double)rand_r(&push->random) / RAND_MAX * (double)(wait_ns / 2));
}

static int64_t wait_after_failure(struct wtl_push *push)
{
	int64_t wait_ns = jittered(push, push->wait_ns);

	if (wait_ns < push->told_ns)
		wait_ns = push->told_ns + jittered(push, push->options.interval_ns);
	return wait_ns;
}

/* false: the thread must end. */
static bool wait_until(struct wtl_push *push, int64_t due_ns)
{
	bool stop;

	pthread_mutex_lock(&push->lock);
	while (!push->stop && wtl_thread_wait(&push->wake, &push->lock, due_ns))
		;
	stop = push->stop;
	pthread_mutex_unlock(&push->lock);
	return !stop;
}

static bool goes_on(struct wtl_push *push)
{
	bool stop;

	pthread_mutex_lock(&push->lock);
	stop = push->stop;
	pthread_mutex_unlock(&push->lock);
	return !stop;
}

static void *run(void *argument)
{
	struct wtl_push *push = argument;
	int64_t interval_ns = push->options.interval_ns;
	int64_t due_ns =
		wtl_thread_clock_ns() + (int64_t)(push->options.machine % (uint64_t)interval_ns);

	while (wait_until(push, due_ns)) {
		int64_t now_ns;

		while (step(push) && goes_on(push))
			;
		verify(push);
		now_ns = wtl_thread_clock_ns();
		due_ns += interval_ns;
		if (push->wait_ns > 0)
			due_ns = now_ns + wait_after_failure(push);
		else if (due_ns < now_ns)
			due_ns = now_ns + interval_ns;
	}
	while (!push->is_failing && !gives_up(push) && step(push))
		;
	close_recordings(push);
	return NULL;
}

/* ---- Its life ---- */

void wtl_push_free(struct wtl_push *push)
{
	if (!push)
		return;
	wtl_push_http_free(push->http);
	wtl_push_table_done(&push->table);
	for (size_t i = 0; i < RING; i++)
		wtl_push_row_done(&push->ring[i]);
	for (size_t i = 0; push->batch && i < ROWS_MAX; i++)
		wtl_push_row_done(&push->batch[i]);
	free(push->batch);
	wtl_push_row_done(&push->waiting);
	wtl_push_row_done(&push->ahead);
	wtl_buf_done(&push->text);
	wtl_buf_done(&push->request);
	pthread_cond_destroy(&push->wake);
	pthread_mutex_destroy(&push->lock);
	free(push);
}

void wtl_push_stop(struct wtl_push *push)
{
	if (!push || !push->has_thread)
		return;
	pthread_mutex_lock(&push->lock);
	push->stop = true;
	push->stop_ns = wtl_thread_clock_ns() + LAST_NS;
	pthread_cond_signal(&push->wake);
	pthread_mutex_unlock(&push->lock);
	pthread_join(push->thread, NULL);
	push->has_thread = false;
}

static int begin(struct wtl_push *push, struct wtl_err *err)
{
	int rc = wtl_push_http_new(&push->options.http, &push->http, err);

	if (rc < 0)
		return rc;
	push->batch = calloc(ROWS_MAX, sizeof(*push->batch));
	rc = push->batch ? wtl_thread_start(&push->thread, run, push) : -ENOMEM;
	if (rc < 0)
		return wtl_err_set(err, rc, "serve", NULL, "push cannot begin: %s",
				   wtl_err_text(rc));
	push->has_thread = true;
	return 0;
}

int wtl_push_start(const struct wtl_push_options *options, struct wtl_push **ret_push,
		   struct wtl_err *err)
{
	struct wtl_push *push = calloc(1, sizeof(*push));
	int rc;

	if (!push)
		return wtl_err_set(err, ENOMEM, "serve", NULL, "out of memory");
	push->options = *options;
	push->options.http.how.gives_up = gives_up;
	push->options.http.how.context = push;
	push->labels.texts = options->labels;
	push->next = options->begin.next > 0 ? options->begin.next : 1;
	push->cursor = options->begin.cursor > 0 ? options->begin.cursor : push->next;
	push->first = push->end = push->next;
	if (options->begin.again > 0 && options->begin.again < push->cursor)
		note_taken(push, options->begin.again);
	push->needs_overlap = push->n_slots > 0;
	push->doubtful = options->begin.doubtful;
	push->max_rows = ROWS_FIRST;
	push->counts.stored = options->verify ? WTL_LIVE_NOT_YET : WTL_LIVE_NOT_VERIFIED;
	push->random = (unsigned)options->machine;
	wtl_client_url_text(options->http.url, push->where, sizeof(push->where));
	wtl_buf_init(&push->text, TEXT_MAX);
	wtl_buf_init(&push->request, TEXT_MAX);
	wtl_thread_mutex_init(&push->lock);
	wtl_thread_cond_init(&push->wake);
	rc = begin(push, err);
	if (rc < 0) {
		wtl_push_free(push);
		return rc;
	}
	*ret_push = push;
	return 0;
}
