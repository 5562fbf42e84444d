/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "meter/meter.h"

/* How long closing waits for a read that is under way. */
#define STUCK_AFTER_S 2

struct wtl_worker {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wanted, given;
	const struct wtl_source_ops *ops;
	void *state;
	size_t n;
	bool asked, answered, stop;
	struct wtl_reading *mailbox; /* n, under the lock */
	struct wtl_reading *draft;   /* n, the thread's own */
	int64_t took_ns;	     /* what is in the mailbox */
};

/* Of this process, whatever clock the readings go by: how long somebody is kept waiting. */
static int64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * WTL_NS_PER_S + now.tv_nsec;
}

static void *work(void *argument)
{
	struct wtl_worker *worker = argument;

	pthread_mutex_lock(&worker->lock);
	while (!worker->stop) {
		int64_t begin_ns;

		if (!worker->asked) {
			pthread_cond_wait(&worker->wanted, &worker->lock);
			continue;
		}
		pthread_mutex_unlock(&worker->lock);
		begin_ns = clock_ns();
		worker->ops->read(worker->state, worker->draft);
		pthread_mutex_lock(&worker->lock);
		worker->took_ns = clock_ns() - begin_ns;
		memcpy(worker->mailbox, worker->draft, worker->n * sizeof(*worker->draft));
		worker->asked = false;
		worker->answered = true;
		pthread_cond_signal(&worker->given);
	}
	pthread_mutex_unlock(&worker->lock);
	return NULL;
}

static void destroy(struct wtl_worker *worker)
{
	pthread_cond_destroy(&worker->given);
	pthread_cond_destroy(&worker->wanted);
	pthread_mutex_destroy(&worker->lock);
	free(worker->mailbox);
	free(worker->draft);
	free(worker);
}

struct wtl_worker *wtl_worker_new(const struct wtl_source_ops *ops, void *state, size_t n)
{
	struct wtl_worker *worker = calloc(1, sizeof(*worker));
	pthread_condattr_t monotonic;

	if (!worker)
		return NULL;
	worker->ops = ops;
	worker->state = state;
	worker->n = n;
	pthread_mutex_init(&worker->lock, NULL);
	pthread_cond_init(&worker->wanted, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&worker->given, &monotonic);
	pthread_condattr_destroy(&monotonic);
	worker->mailbox = calloc(n, sizeof(*worker->mailbox));
	worker->draft = calloc(n, sizeof(*worker->draft));
	if (!worker->mailbox || !worker->draft ||
	    wtl_thread_start(&worker->thread, work, worker) < 0) {
		destroy(worker);
		return NULL;
	}
	return worker;
}

bool wtl_worker_free(struct wtl_worker *worker)
{
	struct timespec until;

	if (!worker)
		return true;
	pthread_mutex_lock(&worker->lock);
	worker->stop = true;
	pthread_cond_signal(&worker->wanted);
	pthread_mutex_unlock(&worker->lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += STUCK_AFTER_S;
	if (pthread_timedjoin_np(worker->thread, NULL, &until) != 0) {
		pthread_detach(worker->thread);
		return false;
	}
	destroy(worker);
	return true;
}

static void ask(struct wtl_worker *worker)
{
	worker->asked = true;
	pthread_cond_signal(&worker->wanted);
}

static void ask_and_wait(struct wtl_worker *worker, int64_t wait_ns)
{
	int64_t until_ns = clock_ns() + wait_ns;
	const struct timespec until = {.tv_sec = (time_t)(until_ns / WTL_NS_PER_S),
				       .tv_nsec = (long)(until_ns % WTL_NS_PER_S)};

	/* One that came too late to be waited for: there is a newer one in a moment. */
	worker->answered = false;
	ask(worker);
	while (!worker->answered &&
	       pthread_cond_timedwait(&worker->given, &worker->lock, &until) != ETIMEDOUT)
		continue;
}

bool wtl_worker_exchange(struct wtl_worker *worker, int64_t wait_ns, struct wtl_reading readings[],
			 int64_t *ret_took_ns)
{
	bool is_waited_for, is_new;

	pthread_mutex_lock(&worker->lock);
	is_waited_for = wait_ns > 0 && !worker->asked;
	if (is_waited_for)
		ask_and_wait(worker, wait_ns);
	is_new = worker->answered;
	if (is_new)
		memcpy(readings, worker->mailbox, worker->n * sizeof(*readings));
	worker->answered = false;
	*ret_took_ns = is_new ? worker->took_ns : is_waited_for ? wait_ns : 0;
	if (!is_waited_for && !worker->asked)
		ask(worker);
	pthread_mutex_unlock(&worker->lock);
	return is_new;
}
