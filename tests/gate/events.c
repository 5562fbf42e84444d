/* SPDX-License-Identifier: MIT */
/*
 * What the command does with perf events, a byte each in $WATTLE_TEST_EVENTS, by LD_PRELOAD: 'l', it switches one on whose samples
 * wake the reader, 'q', one of those that wake nobody. And how the profile's reader waits, each time that this changes: 't', for a
 * time; 'k', for the kernel.
 */
#undef _FORTIFY_SOURCE /* else a header defines ppoll() */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

enum { FDS = 65536 };
static unsigned char is_quiet[FDS];
static _Thread_local char
	waits_so; /* of the reader alone: nobody else waits for events and for a time at once */

static void note(char what)
{
	const char *path = getenv("WATTLE_TEST_EVENTS");
	int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644) : -1;

	if (fd < 0 || write(fd, &what, 1) != 1)
		abort();
	close(fd);
}

static void note_wait(char how)
{
	if (how != waits_so)
		note(how);
	waits_so = how;
}

/* The next symbol of that name is the C library's. */
static long ask(long number, const long a[6])
{
	static long (*next)(long number, ...);

	if (!next)
		next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

PUBLIC long syscall(long number, ...)
{
	long a[6], fd;
	va_list more;

	va_start(more, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(more, long);
	va_end(more);
	fd = ask(number, a);
	if (number == SYS_perf_event_open && fd >= 0 && fd < FDS)
		is_quiet[fd] = ((const struct perf_event_attr *)a[0])->watermark;
	return fd;
}

PUBLIC int ioctl(int fd, unsigned long request, ...)
{
	va_list more;
	long value;

	va_start(more, request);
	value = va_arg(more, long);
	va_end(more);
	if (request == PERF_EVENT_IOC_ENABLE)
		note(fd < FDS && is_quiet[fd] ? 'q' : 'l');
	return (int)syscall(SYS_ioctl, fd, request, value);
}

PUBLIC int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout_ms)
{
	if (timeout_ms > 0)
		note_wait('k');
	return (int)syscall(SYS_epoll_pwait, epoll, events, most, timeout_ms, NULL, 0);
}

PUBLIC int ppoll(struct pollfd *files, nfds_t n, const struct timespec *wait, const sigset_t *mask)
{
	struct timespec left = wait ? *wait : (struct timespec){0};

	if (waits_so)
		note_wait('t');
	return (int)syscall(SYS_ppoll, files, n, wait ? &left : NULL, mask, sizeof(long));
}
