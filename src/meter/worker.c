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
	pthread_cond_t wanted;
	const struct wtl_source_ops *ops;
	void *state;
	size_t n;
	bool asked, answered, stop;
	struct wtl_reading *mailbox; /* n, under the lock */
	struct wtl_reading *draft;   /* n, the thread's own */
};

static void *work(void *argument)
{
	struct wtl_worker *worker = argument;

	pthread_mutex_lock(&worker->lock);
	while (!worker->stop) {
		if (!worker->asked) {
			pthread_cond_wait(&worker->wanted, &worker->lock);
			continue;
		}
		pthread_mutex_unlock(&worker->lock);
		worker->ops->read(worker->state, worker->draft);
		pthread_mutex_lock(&worker->lock);
		memcpy(worker->mailbox, worker->draft, worker->n * sizeof(*worker->draft));
		worker->asked = false;
		worker->answered = true;
	}
	pthread_mutex_unlock(&worker->lock);
	return NULL;
}

static void destroy(struct wtl_worker *worker)
{
	pthread_cond_destroy(&worker->wanted);
	pthread_mutex_destroy(&worker->lock);
	free(worker->mailbox);
	free(worker->draft);
	free(worker);
}

struct wtl_worker *wtl_worker_new(const struct wtl_source_ops *ops, void *state, size_t n)
{
	struct wtl_worker *worker = calloc(1, sizeof(*worker));

	if (!worker)
		return NULL;
	worker->ops = ops;
	worker->state = state;
	worker->n = n;
	pthread_mutex_init(&worker->lock, NULL);
	pthread_cond_init(&worker->wanted, NULL);
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

bool wtl_worker_exchange(struct wtl_worker *worker, struct wtl_reading readings[])
{
	bool answered;

	pthread_mutex_lock(&worker->lock);
	answered = worker->answered;
	if (answered)
		memcpy(readings, worker->mailbox, worker->n * sizeof(*readings));
	worker->answered = false;
	if (!worker->asked) {
		worker->asked = true;
		pthread_cond_signal(&worker->wanted);
	}
	pthread_mutex_unlock(&worker->lock);
	return answered;
}
