/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_WORKER_H
#define WTL_BASE_WORKER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A thread of its own that does one job for its owner, each time that is ordered: asking what may be
 * slow, or never answer.
 *
 * - One at a time: nothing is ordered twice, or kept for later.
 * - The job's memory, which is what its argument leads to and the job uses, is handed to and fro. It is
 *   the worker's from an order until wtl_worker_take() has told that the job is done, and the owner's
 *   at all other times. So an answer needs neither a lock nor a second place.
 * - That a job is done is told once. With another order, one that was not taken is lost.
 * - A job that never returns keeps its memory for ever: wtl_worker_free() leaves it behind, and says
 *   so. Nothing that the job may touch may be freed, reused or closed then. Should it return after
 *   all, its thread ends the way that others do.
 *
 * The owner is one thread at a time; several have a lock of their own.
 */
struct wtl_worker;

/*
 * Starts the thread, which waits for orders. `end` (or NULL) is called by it as the last thing, where
 * closing may hang as well: the job's memory is its own for that. 0, -ENOMEM, or there is no thread.
 */
int wtl_worker_new(void (*job)(void *argument), void (*end)(void *argument), void *argument,
		   struct wtl_worker **ret_worker);

/* Lets the job be done once more. false: the one before is under way still, and nothing was ordered. */
bool wtl_worker_order(struct wtl_worker *worker);

/* Waits for what was ordered at most so long (0: not at all). true: it is done, and was not told before. */
bool wtl_worker_take(struct wtl_worker *worker, int64_t wait_ns);

/*
 * Ends the thread; what was ordered and has not begun is not done any more. NULL is fine. Waits at most
 * so long for what is under way, and for `end`. false: they were left behind with the job's memory.
 */
bool wtl_worker_free(struct wtl_worker *worker, int64_t wait_ns);

#endif
