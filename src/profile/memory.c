/* SPDX-License-Identifier: MIT */
#include "profile/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/thread.h"

/* A size that does not change is kept so often. */
#define STEADY_NS (100 * INT64_C(1000000))

/* PSS takes a walk over all that a process has: so seldom, and at most this part of the time. */
#define PSS_EVERY_NS (100 * INT64_C(1000000))
enum { PSS_PART = 50 };

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

	return memory->processes[value].pid == *pid && memory->processes[value].statm >= 0;
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
	return *ret_rss > 0; /* 0: it ends */
}

/* NULL: its memory may not be read, or it has ended. */
static struct wtl_memory_process *add(struct wtl_memory *memory, int pid, uint64_t *ret_rss)
{
	int statm = open_file(pid, "statm");

	if (statm >= 0 && read_rss(statm, ret_rss)) {
		if (wtl_array_reserve(&memory->processes, &memory->room, memory->n + 1,
				      sizeof(*memory->processes)) == 0 &&
		    wtl_hash_reserve(&memory->by_pid, memory->n + 1) == 0) {
			memory->processes[memory->n] =
				(struct wtl_memory_process){.pid = pid, .statm = statm};
			wtl_hash_add(&memory->by_pid, wtl_hash_number((uint32_t)pid),
				     (uint32_t)memory->n);
			return &memory->processes[memory->n++];
		}
		memory->is_full = true;
	}
	if (statm >= 0)
		close(statm);
	return NULL;
}

/* The process and its size. One whose descriptor tells nothing any more has ended: its number may be another one's. */
static struct wtl_memory_process *find(struct wtl_memory *memory, int pid, uint64_t *ret_rss)
{
	const uint32_t *found = wtl_hash_find(&memory->by_pid, wtl_hash_number((uint32_t)pid),
					      has_pid, memory, &pid);
	struct wtl_memory_process *process = found ? &memory->processes[*found] : NULL;

	if (process && read_rss(process->statm, ret_rss))
		return process;
	if (process) {
		close(process->statm);
		process->statm = -1;
	}
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

void wtl_memory_look(struct wtl_memory *memory, int pid, int tid, int64_t t_ns)
{
	uint64_t rss;
	struct wtl_memory_process *process = pid > 0 ? find(memory, pid, &rss) : NULL;

	if (!process)
		return;
	look_at_pss(process);
	if (rss > process->peak_rss)
		process->peak_rss = rss;
	if (process->n > 0 && rss == process->last_rss &&
	    t_ns - process->readings[process->n - 1].t_ns < STEADY_NS)
		return;
	if (wtl_array_reserve(&process->readings, &process->room, process->n + 1,
			      sizeof(*process->readings)) < 0) {
		memory->is_full = true;
		return;
	}
	process->readings[process->n++] =
		(struct wtl_memory_reading){wtl_trace_time(t_ns), rss, tid};
	process->last_rss = rss;
}

/* ---- Who has grown ---- */

static bool is_of(const struct wtl_trace *trace, const struct wtl_trace_sample *sample,
		  const struct wtl_memory_process *process, const struct wtl_memory_reading *at)
{
	const struct wtl_trace_thread *thread = &trace->threads[sample->thread];

	return sample->t_ns == at->t_ns && thread->tid == at->tid && thread->pid == process->pid;
}

/* The node of the sample that a reading is of; 0 (the root): there is none. */
static uint32_t node_of(const struct wtl_trace *trace, const struct wtl_memory_process *process,
			const struct wtl_memory_reading *at)
{
	size_t low = 0, high = trace->n_samples;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (trace->samples[middle].t_ns < at->t_ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < trace->n_samples && trace->samples[low].t_ns == at->t_ns; low++)
		if (is_of(trace, &trace->samples[low], process, at))
			return trace->samples[low].node;
	return 0;
}

void wtl_memory_charge(const struct wtl_memory *memory, const struct wtl_trace *trace,
		       struct wtl_memory_change changes[])
{
	for (size_t i = 0; i < memory->n; i++) {
		const struct wtl_memory_process *process = &memory->processes[i];

		for (size_t k = 1; k < process->n; k++) {
			const struct wtl_memory_reading *now = &process->readings[k];
			uint64_t before = now[-1].rss;
			struct wtl_memory_change *change = &changes[node_of(trace, process, now)];

			if (now->rss > before)
				change->grown += now->rss - before;
			else
				change->shrunk += before - now->rss;
		}
	}
}
