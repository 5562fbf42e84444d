/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <signal.h>

#include "meter/meter.h"

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
