/* SPDX-License-Identifier: MIT */
#include "profile/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/thread.h"
#include "profile/trace.h"

/* How often an unchanged size is kept. */
#define STEADY_NS (100 * INT64_C(1000000))

/* For PSS the kernel walks over all pages: it is read at most this often, and takes at most 1/PSS_PART of the time. */
#define PSS_EVERY_NS (100 * INT64_C(1000000))
enum { PSS_PART = 50 };

enum { READINGS_MOST = 1 << 20 };

/* The longest time from a sample's arrival until it is taken. */
#define TAKEN_NS (1000 * INT64_C(1000000))

void wtl_memory_done(struct wtl_memory *memory)
{
	for (size_t i = 0; i < memory->n; i++) {
		if (memory->processes[i].statm >= 0)
			close(memory->processes[i].statm);
		free(memory->processes[i].readings);
	}
	free(memory->processes);
	wtl_hash_done(&memory->by_pid);
	*memory = (struct wtl_memory){.n = 0};
}

static bool has_pid(const void *context, uint32_t value, const void *key)
{
	const struct wtl_memory *memory = context;
	const int *pid = key;

	return memory->processes[value].pid == *pid;
}

/* The newest process of that PID, or NULL. */
static struct wtl_memory_process *find(const struct wtl_memory *memory, int pid)
{
	const uint32_t *found = wtl_hash_find(&memory->by_pid, wtl_hash_number((uint32_t)pid),
					      has_pid, memory, &pid);

	return found ? &memory->processes[*found] : NULL;
}

static int open_file(int pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* The second number of "12345 678 …", in pages. */
static bool read_rss(int statm, uint64_t *ret_rss)
{
	char text[128], *end;
	ssize_t n = pread(statm, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return false;
	text[n] = '\0';
	strtoull(text, &end, 10);
	*ret_rss = strtoull(end, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
	return *ret_rss > 0; /* 0: it is exiting */
}

static void close_file(struct wtl_memory *memory, struct wtl_memory_process *process)
{
	if (process->statm < 0)
		return;
	close(process->statm);
	process->statm = -1;
	memory->files[(unsigned)process->pid % WTL_MEMORY_FILES] = 0;
}

static void end_process(struct wtl_memory *memory, struct wtl_memory_process *process)
{
	close_file(memory, process);
	process->has_ended = true;
}

void wtl_memory_ended(struct wtl_memory *memory, int pid)
{
	struct wtl_memory_process *process = find(memory, pid);

	if (process)
		end_process(memory, process);
}

/* Reads RSS by a descriptor that stays open, unless another process needs its place. If it fails, the process ended. */
static bool read_size(struct wtl_memory *memory, struct wtl_memory_process *process,
		      uint64_t *ret_rss)
{
	uint32_t *place = &memory->files[(unsigned)process->pid % WTL_MEMORY_FILES];

	if (process->statm < 0) {
		if (*place)
			close_file(memory, &memory->processes[*place - 1]);
		process->statm = open_file(process->pid, "statm");
		*place = process->statm < 0 ? 0 : (uint32_t)(process - memory->processes) + 1;
	}
	if (process->statm >= 0 && read_rss(process->statm, ret_rss))
		return true;
	end_process(memory, process);
	return false;
}

/* NULL: its memory may not be read, or it has ended. */
static struct wtl_memory_process *add(struct wtl_memory *memory, int pid, uint64_t *ret_rss)
{
	uint32_t sum = wtl_hash_number((uint32_t)pid);
	uint32_t *found;

	if (wtl_array_reserve(&memory->processes, &memory->room, memory->n + 1,
			      sizeof(*memory->processes)) < 0 ||
	    wtl_hash_reserve(&memory->by_pid, memory->n + 1) < 0) {
		memory->is_full = true;
		return NULL;
	}
	memory->processes[memory->n] = (struct wtl_memory_process){.pid = pid, .statm = -1};
	if (!read_size(memory, &memory->processes[memory->n], ret_rss))
		return NULL;
	found = wtl_hash_find(&memory->by_pid, sum, has_pid, memory, &pid);
	if (found)
		*found = (uint32_t)memory->n;
	else
		wtl_hash_add(&memory->by_pid, sum, (uint32_t)memory->n);
	return &memory->processes[memory->n++];
}

/* The process, added if need be, and its size. NULL: it cannot be read. */
static struct wtl_memory_process *look_at(struct wtl_memory *memory, int pid, uint64_t *ret_rss)
{
	struct wtl_memory_process *process = find(memory, pid);

	if (process && !process->has_ended && read_size(memory, process, ret_rss))
		return process;
	return add(memory, pid, ret_rss);
}

/* "Pss:        1234 kB", of a file of some hundred bytes. 0: not known. */
static uint64_t read_pss(int pid)
{
	char text[4096];
	int fd = open_file(pid, "smaps_rollup");
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	const char *line;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	line = strstr(text, "\nPss:");
	return line ? 1024 * strtoull(line + strlen("\nPss:"), NULL, 10) : 0;
}

static void look_at_pss(struct wtl_memory_process *process)
{
	int64_t begin_ns = wtl_thread_clock_ns(), took_ns;
	uint64_t pss;

	if (begin_ns < process->pss_due_ns)
		return;
	pss = read_pss(process->pid);
	took_ns = wtl_thread_clock_ns() - begin_ns;
	process->pss_due_ns =
		begin_ns + (PSS_PART * took_ns > PSS_EVERY_NS ? PSS_PART * took_ns : PSS_EVERY_NS);
	if (pss > process->peak_pss)
		process->peak_pss = pss;
}

/* ---- Readings ---- */

/* Drops every second reading of each process, but not the last. */
static void halve(struct wtl_memory *memory)
{
	memory->n_halved++;
	memory->n_readings = 0;
	for (size_t i = 0; i < memory->n; i++) {
		struct wtl_memory_process *process = &memory->processes[i];
		size_t n = 0;

		for (size_t k = 0; k < process->n; k++) {
			if (k % 2 && k + 1 < process->n)
				continue;
			process->readings[n] = process->readings[k];
			if (n > 0)
				process->readings[n].before = process->readings[n - 1].rss;
			n++;
		}
		process->n = n;
		memory->n_readings += n;
	}
	/* With very many processes this frees little: it must not be repeated at each reading. */
	if (memory->n_readings > memory->readings_most / 4 * 3)
		memory->readings_most = 2 * memory->n_readings;
}

/* A process's next reading, with `before` set. NULL: no memory. */
static struct wtl_memory_reading *next_reading(struct wtl_memory *memory,
					       struct wtl_memory_process *process)
{
	uint64_t rest = (UINT64_C(1) << memory->n_halved) - 1, n_before = process->n_looks++;
	struct wtl_memory_reading *reading;

	/* One that will not be kept is overwritten by the next. */
	if (n_before > 0 && ((n_before - 1) & rest))
		return &process->readings[process->n - 1];
	if (wtl_array_reserve(&process->readings, &process->room, process->n + 1,
			      sizeof(*process->readings)) < 0) {
		memory->is_full = true;
		return NULL;
	}
	memory->n_readings++;
	reading = &process->readings[process->n++];
	*reading = (struct wtl_memory_reading){
		.before = reading > process->readings ? reading[-1].rss : 0};
	return reading;
}

void wtl_memory_look(struct wtl_memory *memory, int pid, int tid, int64_t t_ns)
{
	uint64_t rss;
	struct wtl_memory_process *process = pid > 0 ? look_at(memory, pid, &rss) : NULL;
	struct wtl_memory_reading *reading;

	if (!process)
		return;
	look_at_pss(process);
	if (rss > process->peak_rss)
		process->peak_rss = rss;
	if (process->n > 0 && rss == process->readings[process->n - 1].rss &&
	    t_ns - process->readings[process->n - 1].t_ns < STEADY_NS)
		return;
	if (memory->readings_most == 0)
		memory->readings_most = READINGS_MOST;
	if (memory->n_readings >= memory->readings_most)
		halve(memory);
	reading = next_reading(memory, process);
	if (!reading)
		return;
	reading->t_ns = wtl_trace_time(t_ns);
	reading->rss = rss;
	reading->tid = tid;
	reading->node = 0;
	if (process->n == 1)
		reading->before = rss;
}

void wtl_memory_seen(struct wtl_memory *memory, int pid, int tid, int64_t t_ns, uint32_t node)
{
	struct wtl_memory_process *process = find(memory, pid);

	t_ns = wtl_trace_time(t_ns);
	for (size_t i = process ? process->n : 0; i-- > 0;) {
		struct wtl_memory_reading *reading = &process->readings[i];

		if (reading->t_ns == t_ns && reading->tid == tid) {
			reading->node = node;
			return;
		}
		if (reading->t_ns < t_ns - TAKEN_NS)
			return;
	}
}

/* ---- Charging ---- */

void wtl_memory_add(struct wtl_memory_change *to, const struct wtl_memory_change *more)
{
	to->grown += more->grown;
	to->shrunk += more->shrunk;
	if (more->peak > to->peak)
		to->peak = more->peak;
}

static void charge_readings(const struct wtl_memory_process *process,
			    struct wtl_memory_change changes[])
{
	for (size_t i = 0; i < process->n; i++) {
		const struct wtl_memory_reading *reading = &process->readings[i];
		struct wtl_memory_change change = {.peak = reading->rss};

		if (reading->rss > reading->before)
			change.grown = reading->rss - reading->before;
		else
			change.shrunk = reading->before - reading->rss;
		wtl_memory_add(&changes[reading->node], &change);
	}
}

/* RSS at the last reading up to then. 0: there was none. */
static uint64_t rss_at(const struct wtl_memory_process *process, int64_t t_ns)
{
	size_t n = WTL_TIMES_UP_TO(process->readings, process->n, t_ns, t_ns);

	return n > 0 ? process->readings[n - 1].rss : 0;
}

/* For each thread its process; NULL: not known. */
static const struct wtl_memory_process **find_processes(const struct wtl_memory *memory,
							const struct wtl_trace *trace)
{
	const struct wtl_memory_process **found = calloc(trace->n_threads + 1, sizeof(*found));
	struct wtl_memory newest = {.processes = memory->processes};

	if (found && wtl_hash_reserve(&newest.by_pid, memory->n + 1) < 0) {
		free((void *)found);
		return NULL;
	}
	for (size_t i = memory->n; found && i-- > 0;)
		if (!find(&newest, memory->processes[i].pid))
			wtl_hash_add(&newest.by_pid,
				     wtl_hash_number((uint32_t)memory->processes[i].pid),
				     (uint32_t)i);
	for (size_t i = 0; found && i < trace->n_threads; i++)
		found[i] = find(&newest, trace->threads[i].pid);
	wtl_hash_done(&newest.by_pid);
	return found;
}

int wtl_memory_charge(const struct wtl_memory *memory, const struct wtl_trace *trace,
		      struct wtl_memory_change changes[])
{
	const struct wtl_memory_process **of_threads = find_processes(memory, trace);

	if (!of_threads)
		return -ENOMEM;
	for (size_t i = 0; i < memory->n; i++)
		charge_readings(&memory->processes[i], changes);
	for (size_t i = 0; i < trace->n_samples; i++) {
		const struct wtl_trace_sample *sample = &trace->samples[i];
		const struct wtl_memory_process *process = of_threads[sample->thread];
		struct wtl_memory_change change = {.peak = process ? rss_at(process, sample->t_ns)
								   : 0};

		wtl_memory_add(&changes[sample->node], &change);
	}
	free((void *)of_threads);
	return 0;
}
