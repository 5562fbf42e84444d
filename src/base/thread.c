/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)

int wtl_thread_start(pthread_t *ret_thread, void *(*run)(void *), void *argument)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(ret_thread, NULL, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}

int64_t wtl_thread_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

void wtl_thread_mutex_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t recursive;

	pthread_mutexattr_init(&recursive);
	pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(lock, &recursive);
	pthread_mutexattr_destroy(&recursive);
}

void wtl_thread_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

bool wtl_thread_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_ns)
{
	const struct timespec until = {.tv_sec = (time_t)(until_ns / NS_PER_S),
				       .tv_nsec = (long)(until_ns % NS_PER_S)};

	return pthread_cond_timedwait(cond, lock, &until) != ETIMEDOUT;
}
