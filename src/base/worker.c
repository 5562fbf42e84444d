/* SPDX-License-Identifier: MIT */
#include "base/worker.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "base/thread.h"

struct wtl_worker {
	void (*job)(void *argument);
	void (*end)(void *argument);
	void *argument;
	pthread_t thread;

	/* What each side waits on. A condition would take its lock as well: seven system calls, not four. */
	sem_t for_thread, for_owner;
	pthread_mutex_t lock; /* of all below */
	enum { NOTHING_NEW, ORDERED, DONE } state;
	bool stop;	/* the owner is closing */
	bool has_ended; /* the thread touches nothing but the worker any more */
	bool is_left;	/* the owner has gone: the worker is the thread's */
};

static void destroy(struct wtl_worker *worker)
{
	sem_destroy(&worker->for_thread);
	sem_destroy(&worker->for_owner);
	pthread_mutex_destroy(&worker->lock);
	free(worker);
}

/* With the lock. */
static void do_once(struct wtl_worker *worker)
{
	pthread_mutex_unlock(&worker->lock);
	worker->job(worker->argument);
	pthread_mutex_lock(&worker->lock);
	worker->state = DONE;
	/* Unlocked first: whoever wakes takes the lock. */
	pthread_mutex_unlock(&worker->lock);
	sem_post(&worker->for_owner);
	pthread_mutex_lock(&worker->lock);
}

/* With the lock, which is given up meanwhile. false: until_ns has come. true: perhaps woken for nothing. */
static bool wait_for(struct wtl_worker *worker, sem_t *semaphore, int64_t until_ns)
{
	bool is_woken;

	pthread_mutex_unlock(&worker->lock);
	is_woken = wtl_thread_wait_semaphore(semaphore, until_ns);
	pthread_mutex_lock(&worker->lock);
	return is_woken;
}

static void *work(void *context)
{
	struct wtl_worker *worker = context;
	bool is_left;

	pthread_mutex_lock(&worker->lock);
	while (!worker->stop) {
		if (worker->state == ORDERED)
			do_once(worker);
		else
			wait_for(worker, &worker->for_thread, INT64_MAX);
	}
	pthread_mutex_unlock(&worker->lock);
	if (worker->end)
		worker->end(worker->argument);
	pthread_mutex_lock(&worker->lock);
	worker->has_ended = true;
	is_left = worker->is_left;
	sem_post(&worker->for_owner);
	pthread_mutex_unlock(&worker->lock);
	if (is_left)
		destroy(worker);
	return NULL;
}

int wtl_worker_new(void (*job)(void *argument), void (*end)(void *argument), void *argument,
		   struct wtl_worker **ret_worker)
{
	struct wtl_worker *worker = calloc(1, sizeof(*worker));
	int rc;

	if (!worker)
		return -ENOMEM;
	worker->job = job;
	worker->end = end;
	worker->argument = argument;
	pthread_mutex_init(&worker->lock, NULL);
	sem_init(&worker->for_thread, 0, 0);
	sem_init(&worker->for_owner, 0, 0);
	rc = wtl_thread_start(&worker->thread, work, worker);
	if (rc < 0) {
		destroy(worker);
		return rc;
	}
	*ret_worker = worker;
	return 0;
}

bool wtl_worker_order(struct wtl_worker *worker)
{
	bool is_free;

	pthread_mutex_lock(&worker->lock);
	is_free = worker->state != ORDERED;
	worker->state = ORDERED;
	pthread_mutex_unlock(&worker->lock);
	if (!is_free)
		return false;
	/* Posts of answers that nobody waited for would wake the next wait for nothing. */
	while (sem_trywait(&worker->for_owner) == 0)
		continue;
	sem_post(&worker->for_thread);
	return true;
}

bool wtl_worker_take(struct wtl_worker *worker, int64_t wait_ns)
{
	int64_t until_ns = wait_ns > 0 ? wtl_thread_clock_ns() + wait_ns : 0;
	bool is_new;

	pthread_mutex_lock(&worker->lock);
	while (wait_ns > 0 && worker->state == ORDERED &&
	       wait_for(worker, &worker->for_owner, until_ns))
		continue;
	is_new = worker->state == DONE;
	if (is_new)
		worker->state = NOTHING_NEW;
	pthread_mutex_unlock(&worker->lock);
	return is_new;
}

bool wtl_worker_free(struct wtl_worker *worker, int64_t wait_ns)
{
	int64_t until_ns = wtl_thread_clock_ns() + wait_ns;
	bool has_ended;

	if (!worker)
		return true;
	pthread_mutex_lock(&worker->lock);
	worker->stop = true;
	sem_post(&worker->for_thread);
	while (!worker->has_ended && wait_for(worker, &worker->for_owner, until_ns))
		continue;
	has_ended = worker->has_ended;
	worker->is_left = !has_ended;
	/* While it has the lock, the thread is there for sure. */
	if (!has_ended)
		pthread_detach(worker->thread);
	pthread_mutex_unlock(&worker->lock);
	if (!has_ended)
		return false;
	pthread_join(worker->thread, NULL);
	destroy(worker);
	return true;
}
