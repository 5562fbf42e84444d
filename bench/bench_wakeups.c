/* SPDX-License-Identifier: MIT */
/*
 * The baseline of bench_run.py: a program that does nothing but wake up by a timer, as `wattle run`
 * does, so many times. Prints its CPU time as a share of the time that passed.
 *
 *	bench_wakeups MICROSECONDS COUNT
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <time.h>

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	long long interval_ns = argc > 1 ? atoll(argv[1]) * 1000 : 1000000;
	long count = argc > 2 ? atol(argv[2]) : 1000;
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	struct epoll_event event = {.events = EPOLLIN};
	long long begin_ns = now_ns(), due_ns = begin_ns;
	struct rusage usage;

	if (epoll < 0 || timer < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event) < 0)
		return EXIT_FAILURE;
	for (long i = 0; i < count; i++) {
		struct itimerspec when = {.it_value = {0}};

		due_ns += interval_ns;
		when.it_value.tv_sec = due_ns / 1000000000;
		when.it_value.tv_nsec = due_ns % 1000000000;
		if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL) < 0 ||
		    epoll_wait(epoll, &event, 1, -1) != 1)
			return EXIT_FAILURE;
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("%.6f\n", (seconds(usage.ru_utime) + seconds(usage.ru_stime)) * 1e9 /
				 (double)(now_ns() - begin_ns));
	return EXIT_SUCCESS;
}
