/* SPDX-License-Identifier: MIT */
#include "profile/looks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/num.h"
#include "base/thread.h"
#include "profile/seed.h"

/* Threads and children are looked for so often; what a process has mapped less. Where nothing runs, a look comes later;
 * looks take no more than a fiftieth of the time. */
#define LIST_NS	     INT64_C(20000000)
#define MAPS_NS	     INT64_C(1000000000)
#define IDLE_MOST_NS INT64_C(50000000)

/* Of more threads than so many, children are looked for each so many times. */
enum { THREADS_FEW = 16, LISTS_THOROUGH = 50 };
enum { SHARE = 50, CHILDREN_SIZE = 4096, PROCESSES_MOST = 1 << 16, TOLD_LEAST_NS = 1000 };

struct thread {
	int pid, tid;
	int fd; /* its schedstat; negative: it has ended */
	uint64_t told_ns, n_turns;
	int64_t until_ns; /* the end of its last slice */
};

struct process {
	int pid;
	bool runs_already, has_ended;
	struct stat program;
	int64_t maps_due_ns, maps_after_ns;
};

struct wtl_looks {
	int64_t period_ns, wait_ns, list_due_ns;
	uint64_t n_lists;
	struct process *processes;
	struct thread *threads;
	size_t n_processes, n_threads, room_processes, room_threads;
	struct wtl_hash by_pid, by_tid;
	void (*take)(void *context, const struct wtl_ring_event *event);
	void *context;
};

struct wtl_looks *wtl_looks_new(unsigned hz)
{
	struct wtl_looks *looks = calloc(1, sizeof(*looks));

	if (looks)
		looks->period_ns = looks->wait_ns =
			INT64_C(1000000000) /
			(hz < WTL_LOOKS_HZ_MOST ? hz : (unsigned)WTL_LOOKS_HZ_MOST);
	return looks;
}

void wtl_looks_free(struct wtl_looks *looks)
{
	if (!looks)
		return;
	for (size_t i = 0; i < looks->n_threads; i++)
		if (looks->threads[i].fd >= 0)
			close(looks->threads[i].fd);
	wtl_hash_done(&looks->by_pid);
	wtl_hash_done(&looks->by_tid);
	free(looks->processes);
	free(looks->threads);
	free(looks);
}

/* ---- Who there is ---- */

/* The newest one of that number; numbers come again. */
static uint32_t *find(const struct wtl_hash *hash, int number)
{
	return wtl_hash_find(hash, wtl_hash_number((uint32_t)number), NULL, NULL, NULL);
}

static void add_process(struct wtl_looks *looks, int pid, bool runs_already)
{
	uint32_t *known = find(&looks->by_pid, pid);
	const struct process process = {.pid = pid, .runs_already = runs_already};

	if (known && !looks->processes[*known].has_ended)
		return;
	if (known) {
		looks->processes[*known] = process;
		return;
	}
	if (looks->n_processes >= PROCESSES_MOST ||
	    wtl_array_reserve(&looks->processes, &looks->room_processes, looks->n_processes + 1,
			      sizeof(*looks->processes)) < 0 ||
	    wtl_hash_reserve(&looks->by_pid, looks->n_processes + 1) < 0)
		return;
	looks->processes[looks->n_processes] = process;
	wtl_hash_add(&looks->by_pid, wtl_hash_number((uint32_t)pid),
		     (uint32_t)looks->n_processes++);
}

int wtl_looks_add(struct wtl_looks *looks, int pid, bool runs_already)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	close(fd);
	add_process(looks, pid, runs_already);
	looks->list_due_ns = 0;
	return 0;
}

/* Of a file in /proc, as text. false: it is not there any more. */
static bool read_text(int fd, char *text, size_t size)
{
	ssize_t n = pread(fd, text, size - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return n >= 0;
}

/* The same of a thread's, by name. */
static bool read_task(int pid, int tid, const char *what, char *text, size_t size)
{
	char path[64];
	bool is_read;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	is_read = read_text(fd, text, size);
	close(fd);
	return is_read;
}

static void tell_name(const struct wtl_looks *looks, int pid, int tid, int64_t now_ns, bool is_exec)
{
	char comm[32];
	struct wtl_ring_event event = {
		.kind = WTL_RING_NAME, .pid = pid, .tid = tid, .t_ns = now_ns};

	if (!read_task(pid, tid, "comm", comm, sizeof(comm)))
		return;
	comm[strcspn(comm, "\n")] = '\0';
	event.name.name = comm;
	event.name.is_exec = is_exec;
	looks->take(looks->context, &event);
	/* An exec() is told of a thread that runs. */
	event = (struct wtl_ring_event){.kind = WTL_RING_SWITCH,
					.pid = pid,
					.tid = tid,
					.t_ns = now_ns,
					.turn = {.is_out = true}};
	if (is_exec)
		looks->take(looks->context, &event);
}

static void add_thread(struct wtl_looks *looks, const struct process *process, int tid,
		       int64_t now_ns)
{
	uint32_t *known = find(&looks->by_tid, tid);
	struct thread thread = {.pid = process->pid, .tid = tid};
	char name[64], text[128];

	if (known && looks->threads[*known].fd >= 0)
		return;
	if (!known && (wtl_array_reserve(&looks->threads, &looks->room_threads,
					 looks->n_threads + 1, sizeof(*looks->threads)) < 0 ||
		       wtl_hash_reserve(&looks->by_tid, looks->n_threads + 1) < 0))
		return;
	snprintf(name, sizeof(name), "/proc/%d/task/%d/schedstat", process->pid, tid);
	thread.fd = open(name, O_RDONLY | O_CLOEXEC);
	if (thread.fd < 0)
		return;
	if (process->runs_already && read_text(thread.fd, text, sizeof(text)))
		thread.told_ns = strtoull(text, NULL, 10);
	if (known) {
		looks->threads[*known] = thread;
	} else {
		looks->threads[looks->n_threads] = thread;
		wtl_hash_add(&looks->by_tid, wtl_hash_number((uint32_t)tid),
			     (uint32_t)looks->n_threads++);
	}
	tell_name(looks, process->pid, tid, now_ns, false);
}

static void add_children(struct wtl_looks *looks, int pid, int tid, bool runs_already)
{
	char text[CHILDREN_SIZE], *at = text, *end;

	if (!read_task(pid, tid, "children", text, sizeof(text)))
		return;
	for (long child; (child = strtol(at, &end, 10)) > 0 && *end == ' '; at = end)
		add_process(looks, (int)child, runs_already);
}

/* Other libraries may be there some time later; and another program, all at once. */
static void look_at_maps(struct wtl_looks *looks, struct process *process, int64_t now_ns)
{
	char name[64];
	struct stat program;

	snprintf(name, sizeof(name), "/proc/%d/exe", process->pid);
	if (stat(name, &program) < 0)
		return;
	if (program.st_ino != process->program.st_ino ||
	    program.st_dev != process->program.st_dev) {
		if (process->program.st_ino)
			tell_name(looks, process->pid, process->pid, now_ns, true);
		process->program = program;
		process->maps_due_ns = process->maps_after_ns = 0;
	}
	if (now_ns < process->maps_due_ns)
		return;
	wtl_seed_maps(process->pid, looks->take, looks->context);
	process->maps_after_ns = process->maps_after_ns == 0	    ? LIST_NS
				 : process->maps_after_ns < MAPS_NS ? 2 * process->maps_after_ns
								    : MAPS_NS;
	process->maps_due_ns = now_ns + process->maps_after_ns;
}

static void list(struct wtl_looks *looks, int64_t now_ns)
{
	bool is_thorough = looks->n_lists++ % LISTS_THOROUGH == 0;

	for (size_t i = 0; i < looks->n_processes; i++) {
		struct process process = looks->processes[i]; /* children may move them */
		size_t n = 0;
		const struct dirent *entry;
		char name[64];
		DIR *folder;

		snprintf(name, sizeof(name), "/proc/%d/task", process.pid);
		folder = process.has_ended ? NULL : opendir(name);
		looks->processes[i].has_ended = !folder;
		while (folder && (entry = readdir(folder))) {
			uint64_t tid;

			if (wtl_num_u64(entry->d_name, strlen(entry->d_name), &tid) < 0)
				continue;
			add_thread(looks, &process, (int)tid, now_ns);
			if (n++ < THREADS_FEW || is_thorough)
				add_children(looks, process.pid, (int)tid, process.runs_already);
		}
		if (!folder)
			continue;
		closedir(folder);
		looks->processes[i].runs_already = false; /* what is born from now on does not */
		look_at_maps(looks, &looks->processes[i], now_ns);
	}
	looks->list_due_ns = now_ns + LIST_NS;
}

/* ---- What they do ---- */

static void tell(const struct wtl_looks *looks, const struct thread *thread,
		 enum wtl_ring_kind kind, int64_t t_ns, bool is_out)
{
	struct wtl_ring_event event = {
		.kind = kind, .pid = thread->pid, .tid = thread->tid, .t_ns = t_ns};

	if (kind == WTL_RING_SWITCH)
		event.turn.is_out = is_out;
	else if (kind == WTL_RING_SAMPLE)
		event.sample.is_look = true;
	looks->take(looks->context, &event);
}

/* Whether it is on a processor, or others keep it from one. */
static bool is_running(const struct thread *thread)
{
	char text[512];
	const char *behind;

	if (!read_task(thread->pid, thread->tid, "stat", text, sizeof(text)))
		return false;
	behind = strrchr(text, ')');
	return behind && strncmp(behind, ") R", 3) == 0;
}

/* What is more than the time since its last slice is told the next time. */
static void tell_slice(const struct wtl_looks *looks, struct thread *thread, uint64_t ran_ns,
		       int64_t now_ns)
{
	int64_t begin_ns = now_ns - (int64_t)(ran_ns - thread->told_ns);

	if (begin_ns < thread->until_ns)
		begin_ns = thread->until_ns;
	if (begin_ns >= now_ns)
		return;
	tell(looks, thread, WTL_RING_SWITCH, begin_ns, false);
	tell(looks, thread, WTL_RING_SWITCH, now_ns, true);
	thread->told_ns += (uint64_t)(now_ns - begin_ns);
	thread->until_ns = now_ns;
}

/*
 * Whether it ran. How often it came onto a processor is known at once, for how long with the next tick. A sample is of a
 * thread that runs: one that sleeps is not where it used its time.
 */
static bool look_at(struct wtl_looks *looks, struct thread *thread,
		    void (*glance)(void *context, int pid, int tid, int64_t t_ns))
{
	int64_t now_ns;
	uint64_t ran_ns = 0, waited_ns = 0, n_turns = 0;
	char text[128];
	bool ran, is_on;

	if (thread->fd < 0)
		return false;
	if (!read_text(thread->fd, text, sizeof(text)) ||
	    sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &ran_ns, &waited_ns, &n_turns) < 3) {
		tell(looks, thread, WTL_RING_ENDED, wtl_thread_clock_ns(), false);
		close(thread->fd);
		thread->fd = -1;
		return false;
	}
	ran = ran_ns >= thread->told_ns + TOLD_LEAST_NS;
	if (!ran && n_turns == thread->n_turns)
		return false;
	thread->n_turns = n_turns;
	is_on = is_running(thread);
	now_ns = wtl_thread_clock_ns();
	if (is_on)
		glance(looks->context, thread->pid, thread->tid, now_ns);
	if (ran)
		tell_slice(looks, thread, ran_ns, now_ns);
	if (is_on)
		tell(looks, thread, WTL_RING_SAMPLE, now_ns, false);
	return true;
}

static int64_t own_cpu_ns(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int64_t wtl_looks_look(struct wtl_looks *looks,
		       void (*glance)(void *context, int pid, int tid, int64_t t_ns),
		       void (*take)(void *context, const struct wtl_ring_event *event),
		       void *context)
{
	int64_t now_ns = wtl_thread_clock_ns(), took_ns = own_cpu_ns();
	bool ran = false;

	looks->take = take;
	looks->context = context;
	if (now_ns >= looks->list_due_ns)
		list(looks, now_ns);
	for (size_t i = 0; i < looks->n_threads; i++)
		ran |= look_at(looks, &looks->threads[i], glance);
	took_ns = own_cpu_ns() - took_ns;
	looks->wait_ns = ran ? looks->period_ns : 2 * looks->wait_ns;
	if (looks->wait_ns > IDLE_MOST_NS)
		looks->wait_ns = IDLE_MOST_NS;
	if (looks->wait_ns < looks->period_ns)
		looks->wait_ns = looks->period_ns;
	return looks->wait_ns > SHARE * took_ns ? looks->wait_ns : SHARE * took_ns;
}
