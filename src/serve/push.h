/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_PUSH_H
#define WTL_SERVE_PUSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serve/push_http.h"
#include "serve/push_rows.h"

struct wtl_err;
struct wtl_live;
struct wtl_live_push;
struct wtl_push;

/*
 * Sends a row for each second to an engine, several at a time, in a thread of its own. Rows that were not
 * taken are sent later: the newest from memory, older ones from the recordings (push_log.h). The cursor
 * is the first row that no engine has acknowledged; its owner stores it where it survives a restart.
 */

/* The stored state: the first row that no engine acknowledged, the next row's number, the last row
 * that may have been sent, and the first one that an engine may have lost after acknowledging it. */
struct wtl_push_place {
	uint64_t cursor, next, doubtful, again; /* next 0: nothing was pushed yet */
};

struct wtl_push_options {
	struct wtl_push_http_options http;
	const char *const *labels; /* "name=value" each, ended by NULL */
	unsigned sets;		   /* of families: WTL_METRICS_… */
	int64_t interval_ns;
	const char *
		verify; /* the URL of the engine's queries; NULL: what it acknowledges is taken for stored */
	struct wtl_push_place begin;
	uint64_t machine; /* nearly unique: agents must not all send at once */
	/* Paths of the recordings, the oldest first, ended by NULL: the array and
	 * each path are freed by free(). NULL: none. Called by the pushing thread. */
	char **(*recordings)(void *context);
	void *context;
};

/* The options are borrowed until stop(). 0, or negative with the reason. */
int wtl_push_start(const struct wtl_push_options *options, struct wtl_push **ret_push,
		   struct wtl_err *err);
/* Ends it after a last, short attempt. NULL is fine. */
void wtl_push_stop(struct wtl_push *push);
void wtl_push_free(struct wtl_push *push);

/*
 * For the thread that measures. take() makes a snapshot the row that waits; show() lets it be sent, once it is
 * where a restart finds it. Without memory there is no row. waiting() gives that row; both NULL: there is none.
 */
void wtl_push_take(struct wtl_push *push, const struct wtl_live *live);
void wtl_push_show(struct wtl_push *push);
void wtl_push_waiting(struct wtl_push *push, const struct wtl_push_table **ret_table,
		      const struct wtl_push_row **ret_row);
/* While the push runs, every row may have been sent. */
void wtl_push_place(struct wtl_push *push, struct wtl_push_place *ret_place);
void wtl_push_count(struct wtl_push *push, struct wtl_live_push *ret_counts);
/* The next line for the user: it fails, and why; it works again. false: there is none. */
bool wtl_push_news(struct wtl_push *push, char *text, size_t size);

#endif
