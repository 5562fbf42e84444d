/* SPDX-License-Identifier: MIT */
#include "base/perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* As the kernel lays out a read with both times. */
struct times {
	uint64_t count, enabled_ns, running_ns;
};

static int event_open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd >= 0 ? (int)fd : -errno;
}

static int task_open(struct perf_event_attr *attr, pid_t task)
{
	int rc;

	attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	/* Threads that it starts are counted with it, other processes are not. */
	attr->inherit = 1;
	attr->inherit_thread = 1;
	rc = event_open(attr, task, -1);
	if (rc != -EINVAL)
		return rc;
	/* Before Linux 5.13 one could only have both. */
	attr->inherit = 0;
	attr->inherit_thread = 0;
	return event_open(attr, task, -1);
}

int wtl_perf_open(const struct wtl_perf_event *event)
{
	struct perf_event_attr attr = {
		.type = event->type,
		.size = sizeof(attr),
		.config = event->config,
	};

	return event->task > 0 ? task_open(&attr, event->task) : event_open(&attr, -1, event->cpu);
}

/* All of it or nothing: an event in error state reads as end of file. */
static int read_whole(int file, void *buf, size_t size)
{
	ssize_t len;

	do
		len = read(file, buf, size);
	while (len < 0 && errno == EINTR);
	if (len < 0)
		return -errno;
	return (size_t)len == size ? 0 : -EIO;
}

int wtl_perf_read(int file, uint64_t *ret_value)
{
	uint64_t value;
	int rc = read_whole(file, &value, sizeof(value));

	if (rc == 0)
		*ret_value = value;
	return rc;
}

int wtl_perf_count(int file, struct wtl_perf_count *ret_count)
{
	struct times times;
	int rc = read_whole(file, &times, sizeof(times));

	if (rc < 0)
		return rc;
	if (times.enabled_ns > INT64_MAX || times.running_ns > INT64_MAX)
		return -ERANGE;
	*ret_count = (struct wtl_perf_count){
		.count = times.count,
		.enabled_ns = (int64_t)times.enabled_ns,
		.running_ns = (int64_t)times.running_ns,
	};
	return 0;
}
