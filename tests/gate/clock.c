/* SPDX-License-Identifier: MIT */
/*
 * This machine's clock as it would be if it had been set to $WATTLE_TEST_CLOCK, in seconds since 1970, when the
 * command was started: by LD_PRELOAD. It goes on from there.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static time_t ahead_s(time_t now_s)
{
	static time_t begin_s;
	const char *set = getenv("WATTLE_TEST_CLOCK");

	if (begin_s == 0)
		begin_s = now_s;
	return set ? (time_t)atoll(set) - begin_s : 0;
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	int rc = (int)syscall(SYS_clock_gettime, clock, ret_time);

	if (rc == 0 && clock == CLOCK_REALTIME)
		ret_time->tv_sec += ahead_s(ret_time->tv_sec);
	return rc;
}

__attribute__((visibility("default"))) time_t time(time_t *ret_time)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (ret_time)
		*ret_time = now.tv_sec;
	return now.tv_sec;
}
