/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_THREAD_H
#define WTL_BASE_THREAD_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* A thread that leaves the program's signals to others, all but SIGBUS. 0 or a negative errno. */
int wtl_thread_start(pthread_t *ret_thread, void *(*run)(void *), void *argument);
/* Runs it in a thread, whose stack is large whatever ulimit -s says, and waits; where there can be none, here. What it
 * returned. */
int wtl_thread_call(int (*run)(void *argument), void *argument);

/*
 * Waiting for another thread goes by this process' monotonic clock, whatever clock readings go by: a
 * tape's stands still, and that on the wall is set.
 */
int64_t wtl_thread_clock_ns(void);
/* A time, or how long, as calls of the kernel want it. Not negative. */
struct timespec wtl_thread_timespec(int64_t ns);
/* Its holder may lock it again. */
void wtl_thread_mutex_init(pthread_mutex_t *lock);
void wtl_thread_cond_init(pthread_cond_t *cond);
/* As pthread_cond_timedwait(), which may wake for nothing; false: until_ns has come. */
bool wtl_thread_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_ns);
/* The same for a semaphore; INT64_MAX: for ever. */
bool wtl_thread_wait_semaphore(sem_t *semaphore, int64_t until_ns);

#endif
