/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_PAST_FILL_H
#define WTL_SERVE_PAST_FILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wtl_past;
struct wtl_past_fill;

/*
 * Fills what an agent keeps of the last day from recordings of its earlier runs. A
 * thread that only gets idle CPU time plays them once, one after the other, into a
 * past of its own, so that nobody ever waits for it. What cannot be read is skipped.
 */

/* Paths, the oldest first, are copied; nothing before from_utc_ns is needed. 0 or negative: nothing is filled. */
int wtl_past_fill_start(const struct wtl_past *past, const char *const paths[], size_t n,
			int64_t from_utc_ns, struct wtl_past_fill **ret_fill);
/* Adds the result to the past once all was played: then true, once. Called repeatedly
 * by the thread that measures; NULL is fine. */
bool wtl_past_fill_take(struct wtl_past_fill *fill, struct wtl_past *past);
/* Ends the thread, and waits for it. NULL is fine. */
void wtl_past_fill_stop(struct wtl_past_fill *fill);

#endif
