/* SPDX-License-Identifier: MIT */
/* A byte in $WATTLE_TEST_EVENTS each time that the command switches a perf event on, by LD_PRELOAD. */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void note(void)
{
	const char *path = getenv("WATTLE_TEST_EVENTS");
	int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644) : -1;

	if (fd < 0 || write(fd, "+", 1) != 1)
		abort();
	close(fd);
}

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
	va_list more;
	long value;

	va_start(more, request);
	value = va_arg(more, long);
	va_end(more);
	if (request == PERF_EVENT_IOC_ENABLE)
		note();
	return (int)syscall(SYS_ioctl, fd, request, value);
}
