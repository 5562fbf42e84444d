/* SPDX-License-Identifier: MIT */
/*
 * The processors' counters of the simulated machine, for a tool that has this first in LD_PRELOAD:
 * perf_event_open(2) for instructions or cycles of a task, and read(2) and close(2) of what that gives.
 * Everything else goes on to the real ones. See README.md.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "board.h"

#define EXPORT __attribute__((visibility("default")))

enum { FILES_MAX = 4096, TEXT_SIZE = 4096, CYCLES_MILLI = 1000 };

static struct counter {
	atomic_int task; /* 0: this descriptor is none */
	unsigned per_cycle_milli, mhz;
	int64_t base_ns, last_ns;
} counters[FILES_MAX];

/* Both are in the header; these are what a tool's calls find first. */
EXPORT long syscall(long number, ...);

static void *real(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (!function)
		abort();
	return function;
}

static int real_close(int fd)
{
	int (*function)(int);
	void *found = real("close");

	memcpy(&function, &found, sizeof(function));
	return function(fd);
}

static ssize_t real_read(int fd, void *buf, size_t size)
{
	ssize_t (*function)(int, void *, size_t);
	void *found = real("read");

	memcpy(&function, &found, sizeof(function));
	return function(fd, buf, size);
}

/* ---- The tasks ---- */

static int proc_text(int task, const char *file, char text[TEXT_SIZE])
{
	char path[64];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", task, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ESRCH;
	len = real_read(fd, text, TEXT_SIZE - 1);
	real_close(fd);
	if (len <= 0)
		return -ESRCH;
	text[len] = '\0';
	return 0;
}

/* What the scheduler gave to this thread alone, as of its last tick. Negative: it is gone. */
static int64_t task_ns(int task)
{
	char text[TEXT_SIZE];
	int rc = proc_text(task, "schedstat", text);

	return rc < 0 ? rc : strtoll(text, NULL, 10);
}

static int process_of(int task)
{
	char text[TEXT_SIZE];
	const char *line;

	if (proc_text(task, "status", text) < 0)
		return -ESRCH;
	line = strstr(text, "\nTgid:");
	return line ? atoi(line + 6) : -ESRCH;
}

static bool is_of(struct sim_slot *slot, int pid)
{
	unsigned n = atomic_load(&slot->n_children);

	if (atomic_load(&slot->pid) == pid)
		return true;
	for (unsigned i = 0; i < n && i < SIM_PIDS_MAX; i++)
		if (atomic_load(&slot->children[i]) == pid)
			return true;
	return false;
}

/* Whoever is no worker does one instruction a cycle. */
static unsigned ipc_milli(struct sim_board *board, int pid)
{
	for (size_t i = 0; i < SIM_WORKERS_MAX; i++)
		if (is_of(&board->slots[i], pid))
			return atomic_load(&board->ipc_milli[i]);
	return 1000;
}

/* ---- The calls ---- */

/* A descriptor that stands for the counter, or a negative errno. */
static int counter_open(const struct perf_event_attr *attr, int task)
{
	const char *dir = getenv("SIM_BOARD");
	struct sim_board *board = dir ? sim_board_open(dir, false) : NULL;
	struct counter counter = {.per_cycle_milli = CYCLES_MILLI};
	int fd, pid = process_of(task);

	if (!board)
		return -ENOENT;
	counter.mhz = atomic_load(&board->pmu_mhz);
	if (attr->config == PERF_COUNT_HW_INSTRUCTIONS)
		counter.per_cycle_milli = ipc_milli(board, pid);
	sim_board_close(board);
	counter.base_ns = counter.last_ns = task_ns(task);
	if (pid < 0 || counter.base_ns < 0)
		return -ESRCH;
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fd >= FILES_MAX) {
		real_close(fd);
		return -EMFILE;
	}
	atomic_init(&counter.task, task);
	counters[fd] = counter;
	return fd;
}

static bool is_simulated(const struct perf_event_attr *attr, int task)
{
	return task > 0 && attr->type == PERF_TYPE_HARDWARE &&
	       (attr->config == PERF_COUNT_HW_INSTRUCTIONS ||
		attr->config == PERF_COUNT_HW_CPU_CYCLES);
}

EXPORT long syscall(long number, ...)
{
	long (*function)(long, ...), arguments[6];
	void *found = real("syscall");
	const struct perf_event_attr *attr;
	va_list list;
	int fd;

	va_start(list, number);
	for (size_t i = 0; i < 6; i++)
		arguments[i] = va_arg(list, long);
	va_end(list);
	memcpy(&attr, &arguments[0], sizeof(attr));
	if (number == SYS_perf_event_open && is_simulated(attr, (int)arguments[1])) {
		fd = counter_open(attr, (int)arguments[1]);
		if (fd >= 0)
			return fd;
		errno = -fd;
		return -1;
	}
	memcpy(&function, &found, sizeof(function));
	return function(number, arguments[0], arguments[1], arguments[2], arguments[3],
			arguments[4], arguments[5]);
}

static struct counter *counter_at(int fd)
{
	if (fd < 0 || fd >= FILES_MAX || atomic_load(&counters[fd].task) == 0)
		return NULL;
	return &counters[fd];
}

/* As with both times in the format. */
EXPORT ssize_t read(int fd, void *buf, size_t size)
{
	struct counter *counter = counter_at(fd);
	int64_t now_ns;
	uint64_t values[3];

	if (!counter)
		return real_read(fd, buf, size);
	if (size < sizeof(values)) {
		errno = ENOSPC;
		return -1;
	}
	now_ns = task_ns(atomic_load(&counter->task));
	if (now_ns > counter->last_ns)
		counter->last_ns = now_ns;
	values[1] = values[2] = (uint64_t)(counter->last_ns - counter->base_ns);
	values[0] = values[1] * counter->mhz / 1000 * counter->per_cycle_milli / 1000;
	memcpy(buf, values, sizeof(values));
	return sizeof(values);
}

EXPORT int close(int fd)
{
	struct counter *counter = counter_at(fd);

	if (counter)
		atomic_store(&counter->task, 0);
	return real_close(fd);
}
