/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)

/* Nobody knows how much stack other libraries take; by default a thread has as much as ulimit -s says. */
#define STACK_LEAST (1u << 20)

static void take_large_stack(pthread_attr_t *attributes)
{
	size_t size;

	if (pthread_attr_getstacksize(attributes, &size) == 0 && size < STACK_LEAST)
		pthread_attr_setstacksize(attributes, STACK_LEAST);
}

int wtl_thread_start(pthread_t *ret_thread, void *(*run)(void *), void *argument)
{
	sigset_t all, before;
	pthread_attr_t attributes;
	int error = pthread_attr_init(&attributes);

	if (error)
		return -error;
	take_large_stack(&attributes);
	sigfillset(&all);
	/* The thread itself causes that one: where it is blocked, the kernel calls no handler. */
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(ret_thread, &attributes, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -error;
}

struct call {
	int (*run)(void *argument);
	void *argument;
	int returned;
};

static void *make_call(void *argument)
{
	struct call *call = argument;

	call->returned = call->run(call->argument);
	return NULL;
}

int wtl_thread_call(int (*run)(void *argument), void *argument)
{
	struct call call = {.run = run, .argument = argument};
	pthread_t thread;

	if (wtl_thread_start(&thread, make_call, &call) < 0)
		return run(argument);
	pthread_join(thread, NULL);
	return call.returned;
}

int64_t wtl_thread_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

struct timespec wtl_thread_timespec(int64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S),
				 .tv_nsec = (long)(ns % NS_PER_S)};
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

bool wtl_thread_wait_semaphore(sem_t *semaphore, int64_t until_ns)
{
	const struct timespec until = wtl_thread_timespec(until_ns);
	int rc = until_ns == INT64_MAX ? sem_wait(semaphore)
				       : sem_clockwait(semaphore, CLOCK_MONOTONIC, &until);

	return rc == 0 || errno != ETIMEDOUT;
}

bool wtl_thread_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_ns)
{
	const struct timespec until = wtl_thread_timespec(until_ns);

	return pthread_cond_timedwait(cond, lock, &until) != ETIMEDOUT;
}
