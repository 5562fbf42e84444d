/* SPDX-License-Identifier: MIT */
#include "profile/looks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/num.h"
#include "base/thread.h"
#include "profile/python_memory.h"
#include "profile/seed.h"

/* How often threads and children are listed, and mappings read; and the longest wait while nothing runs. Listing and
 * looking each take at most 1/SHARE of the time, but lists are made at least once a second. */
#define LIST_NS	     INT64_C(20000000)
#define LIST_MOST_NS INT64_C(1000000000)
#define MAPS_NS	     INT64_C(1000000000)
#define IDLE_MOST_NS INT64_C(50000000)
/* How late, at most, the kernel updates a thread's CPU time. */
#define TICK_MOST_NS INT64_C(20000000)

/* Children of further threads than THREADS_FEW are listed only every LISTS_THOROUGH times. */
enum { THREADS_FEW = 16, LISTS_THOROUGH = 50 };
enum { SHARE = 100, CHILDREN_SIZE = 4096, PROCESSES_MOST = 1 << 16, TOLD_LEAST_NS = 1000 };
struct thread {
	int pid, tid;
	bool has_ended, has_become; /* another program */
	int fd;			    /* its schedstat; negative: it is opened each time */
	uint64_t ran_ns, told_ns, n_turns, n_rests;
	int64_t until_ns; /* the end of its last slice */
};

enum whose {
	COMMANDS, /* the command's: its threads are observed */
	PARENTS,  /* this process, which adopts the command's orphans */
	OTHERS,	  /* a child of this process from before the command */
};

struct process {
	int pid;
	enum whose whose;
	bool runs_already, has_ended;
	bool is_still; /* no thread of it ran since it was listed: nothing is new */
	struct stat program;
	uint64_t
		image; /* identifies the program's image: differs after each exec(); 0: not known */
	int64_t maps_due_ns, maps_after_ns;
};

struct wtl_looks {
	int64_t period_ns, wait_ns, list_due_ns, looked_ns;
	uint64_t n_lists, n_followed;
	struct process *processes;
	struct thread *threads;
	size_t n_processes, n_threads, n_files, files_most, room_processes, room_threads;
	struct wtl_hash by_pid, by_tid;
	void (*take)(void *context, const struct wtl_ring_event *event);
	void *context;
};

void wtl_looks_free(struct wtl_looks *looks)
{
	if (!looks)
		return;
	for (size_t i = 0; i < looks->n_threads; i++)
		if (!looks->threads[i].has_ended && looks->threads[i].fd >= 0)
			close(looks->threads[i].fd);
	wtl_hash_done(&looks->by_pid);
	wtl_hash_done(&looks->by_tid);
	free(looks->processes);
	free(looks->threads);
	free(looks);
}

/* ---- Finding processes and threads ---- */

/* The newest process or thread of that number: numbers are reused. */
static uint32_t *find(const struct wtl_hash *hash, int number)
{
	return wtl_hash_find(hash, wtl_hash_number((uint32_t)number), NULL, NULL, NULL);
}

static void add_process(struct wtl_looks *looks, struct process process)
{
	uint32_t *known = find(&looks->by_pid, process.pid);

	if (known && !looks->processes[*known].has_ended)
		return;
	if (!known && (looks->n_processes >= PROCESSES_MOST ||
		       wtl_array_reserve(&looks->processes, &looks->room_processes,
					 looks->n_processes + 1, sizeof(*looks->processes)) < 0 ||
		       wtl_hash_reserve(&looks->by_pid, looks->n_processes + 1) < 0))
		return;
	looks->n_followed += process.whose == COMMANDS;
	if (known) {
		looks->processes[*known] = process;
		return;
	}
	looks->processes[looks->n_processes] = process;
	wtl_hash_add(&looks->by_pid, wtl_hash_number((uint32_t)process.pid),
		     (uint32_t)looks->n_processes++);
}

/* Reads a file in /proc as text. false: it cannot be read any more. */
static bool read_text(int fd, char *text, size_t size)
{
	ssize_t n = pread(fd, text, size - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return n >= 0;
}

static int open_task(int pid, int tid, const char *what)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, what);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static bool read_task(int pid, int tid, const char *what, char *text, size_t size)
{
	int fd = open_task(pid, tid, what);
	bool is_read;

	if (fd < 0)
		return false;
	is_read = read_text(fd, text, size);
	close(fd);
	return is_read;
}

static bool read_used(const struct thread *thread, char *text, size_t size)
{
	return thread->fd >= 0 ? read_text(thread->fd, text, size)
			       : read_task(thread->pid, thread->tid, "schedstat", text, size);
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
	/* An exec() event puts the thread on a processor: this takes it off. */
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
	struct thread thread = {.pid = process->pid, .tid = tid, .fd = -1};
	char text[128];

	if (known && !looks->threads[*known].has_ended)
		return;
	if (!known && (wtl_array_reserve(&looks->threads, &looks->room_threads,
					 looks->n_threads + 1, sizeof(*looks->threads)) < 0 ||
		       wtl_hash_reserve(&looks->by_tid, looks->n_threads + 1) < 0))
		return;
	if (looks->n_files < looks->files_most)
		thread.fd = open_task(process->pid, tid, "schedstat");
	if (!read_used(&thread, text, sizeof(text)))
		return;
	looks->n_files += thread.fd >= 0;
	thread.ran_ns = strtoull(text, NULL, 10);
	if (process->runs_already)
		thread.told_ns = thread.ran_ns;
	if (known) {
		looks->threads[*known] = thread;
	} else {
		looks->threads[looks->n_threads] = thread;
		wtl_hash_add(&looks->by_tid, wtl_hash_number((uint32_t)tid),
			     (uint32_t)looks->n_threads++);
	}
	tell_name(looks, process->pid, tid, now_ns, false);
}

/* Adds the children in text, each a number and a space. An incomplete last one is moved to the start; its length. */
static size_t add_numbers(struct wtl_looks *looks, char *text, struct process child)
{
	char *at = text, *end;
	long number;

	for (; (number = strtol(at, &end, 10)) > 0 && *end == ' '; at = end) {
		child.pid = (int)number;
		add_process(looks, child);
	}
	memmove(text, at, strlen(at) + 1);
	return strlen(text);
}

static void add_children(struct wtl_looks *looks, int pid, int tid, struct process child)
{
	char text[CHILDREN_SIZE];
	size_t n_kept = 0;
	ssize_t n;
	int fd = open_task(pid, tid, "children");

	while (fd >= 0 && (n = read(fd, text + n_kept, sizeof(text) - 1 - n_kept)) > 0) {
		text[n_kept + (size_t)n] = '\0';
		n_kept = add_numbers(looks, text, child);
	}
	if (fd >= 0)
		close(fd);
}

/*
 * A hash of the auxiliary vector and of the random bytes that it points to: it differs between any two exec()s, even of
 * one file. 0: it may not be read.
 */
static uint64_t image_of(int pid)
{
	uint64_t words[64], sum;
	uint8_t random[16];
	char name[64];
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/auxv", pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, words, sizeof(words));
	close(fd);
	if (n <= 0)
		return 0;
	sum = wtl_hash_more(0, words, (size_t)n);
	for (size_t i = 0; i + 1 < (size_t)n / sizeof(*words); i += 2)
		if (words[i] == AT_RANDOM &&
		    wtl_python_memory_read(&wtl_python_memory_real, pid, words[i + 1], random,
					   sizeof(random)) == 0)
			sum = wtl_hash_more(sum, random, sizeof(random));
	return sum;
}

/* Reads mappings now and then, as libraries may be loaded later; and at once after an exec(). */
static void look_at_maps(struct wtl_looks *looks, struct process *process, int64_t now_ns)
{
	char name[64];
	struct stat program;
	uint64_t image = image_of(process->pid);
	const uint32_t *first;

	snprintf(name, sizeof(name), "/proc/%d/exe", process->pid);
	if (stat(name, &program) < 0)
		return;
	if (program.st_ino != process->program.st_ino ||
	    program.st_dev != process->program.st_dev || image != process->image) {
		if (process->program.st_ino)
			tell_name(looks, process->pid, process->pid, now_ns, true);
		first = find(&looks->by_tid, process->pid);
		if (process->program.st_ino && first)
			looks->threads[*first].has_become = true;
		process->program = program;
		process->image = image;
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

/* false: it has ended. */
static bool list_process(struct wtl_looks *looks, const struct process *process, bool is_thorough,
			 int64_t now_ns)
{
	const struct process child = {.runs_already = process->runs_already};
	const struct dirent *entry;
	char name[64];
	DIR *folder;
	size_t n = 0;

	snprintf(name, sizeof(name), "/proc/%d/task", process->pid);
	folder = opendir(name);
	if (!folder)
		return errno != ENOENT && errno != ESRCH;
	while (process->whose != OTHERS && (entry = readdir(folder))) {
		uint64_t tid;

		if (wtl_num_u64(entry->d_name, strlen(entry->d_name), &tid) < 0)
			continue;
		if (process->whose == COMMANDS)
			add_thread(looks, process, (int)tid, now_ns);
		if (n++ < THREADS_FEW || is_thorough)
			add_children(looks, process->pid, (int)tid, child);
	}
	closedir(folder);
	return true;
}

static int64_t own_cpu_ns(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void list(struct wtl_looks *looks, int64_t now_ns)
{
	bool is_thorough = looks->n_lists++ % LISTS_THOROUGH == 0;
	int64_t took_ns = own_cpu_ns();

	for (size_t i = 0; i < looks->n_processes; i++) {
		struct process process = looks->processes[i]; /* a copy: the list may move */

		if (process.has_ended || (process.is_still && !is_thorough))
			continue;
		/* First, as an exec() ends the threads that are known by then. */
		if (process.whose == COMMANDS)
			look_at_maps(looks, &looks->processes[i], now_ns);
		looks->processes[i].has_ended = !list_process(looks, &process, is_thorough, now_ns);
		looks->processes[i].is_still = process.whose == COMMANDS;
		looks->processes[i].runs_already = false; /* those found later started later */
	}
	took_ns = SHARE * (own_cpu_ns() - took_ns);
	looks->list_due_ns = now_ns + (took_ns < LIST_NS	? LIST_NS
				       : took_ns < LIST_MOST_NS ? took_ns
								: LIST_MOST_NS);
}

struct wtl_looks *wtl_looks_new(unsigned hz)
{
	struct wtl_looks *looks = calloc(1, sizeof(*looks));

	if (looks)
		looks->period_ns = looks->wait_ns =
			INT64_C(1000000000) /
			(hz < WTL_LOOKS_HZ_MOST ? hz : (unsigned)WTL_LOOKS_HZ_MOST);
	return looks;
}

void wtl_looks_adopt(struct wtl_looks *looks)
{
	int pid = getpid();

	add_children(looks, pid, pid, (struct process){.whose = OTHERS});
	add_process(looks, (struct process){.pid = pid, .whose = PARENTS});
}

uint64_t wtl_looks_n_followed(const struct wtl_looks *looks)
{
	return looks->n_followed;
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
	/* Only now, as the command would have inherited the higher limit. Half of the files are for other uses. */
	looks->files_most = wtl_fd_allow_many() / 2;
	add_process(looks, (struct process){.pid = pid, .runs_already = runs_already});
	looks->list_due_ns = 0;
	return 0;
}

/* ---- Looking ---- */

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

/*
 * Whether the thread is where it used its CPU time: on a processor (it came onto one once more than it left), or
 * preempted. A thread that slept and waits to go on is still where it slept.
 */
static bool is_seen(struct thread *thread)
{
	static const char by_itself[] = "\nvoluntary_ctxt_switches:",
			  pushed[] = "nonvoluntary_ctxt_switches:";
	uint64_t n_rests = 0, n_pushed = 0, n_rests_before = thread->n_rests;
	const char *state, *rests, *pushes;
	char text[16384]; /* a user may be in many groups */

	if (!read_task(thread->pid, thread->tid, "status", text, sizeof(text)))
		return false;
	state = strstr(text, "\nState:\t");
	rests = strstr(text, by_itself);
	pushes = strstr(text, pushed);
	if (!state || !rests || !pushes)
		return false;
	n_rests = strtoull(rests + sizeof(by_itself) - 1, NULL, 10);
	n_pushed = strtoull(pushes + sizeof(pushed) - 1, NULL, 10);
	thread->n_rests = n_rests;
	return state[sizeof("\nState:\t") - 1] == 'R' &&
	       (thread->n_turns == n_rests + n_pushed + 1 || n_rests == n_rests_before);
}

/*
 * After an exec() the main thread is the one that called it: it now has the process's number, and its own earlier CPU
 * time, which was reported already.
 */
static void note_program(struct wtl_looks *looks, struct thread *thread, uint64_t ran_ns,
			 int64_t now_ns)
{
	const uint32_t *process = find(&looks->by_pid, thread->pid);
	bool is_back = ran_ns < thread->ran_ns, is_known = true;

	if (is_back ||
	    ran_ns - thread->ran_ns > (uint64_t)(now_ns - looks->looked_ns + TICK_MOST_NS)) {
		if (thread->tid == thread->pid && process && !thread->has_become) {
			look_at_maps(looks, &looks->processes[*process], now_ns);
			is_known = looks->processes[*process].image != 0;
		}
		if (is_back || thread->has_become || !is_known)
			thread->told_ns = ran_ns;
	}
	thread->has_become = false;
	thread->ran_ns = ran_ns;
}

/* CPU time beyond the time since the last slice is reported at the next look. */
static void tell_slice(const struct wtl_looks *looks, struct thread *thread, int64_t now_ns)
{
	int64_t begin_ns = now_ns - (int64_t)(thread->ran_ns - thread->told_ns);

	if (begin_ns < thread->until_ns)
		begin_ns = thread->until_ns;
	if (begin_ns >= now_ns)
		return;
	tell(looks, thread, WTL_RING_SWITCH, begin_ns, false);
	tell(looks, thread, WTL_RING_SWITCH, now_ns, true);
	thread->told_ns += (uint64_t)(now_ns - begin_ns);
	thread->until_ns = now_ns;
}

static void note_run(struct wtl_looks *looks, const struct thread *thread)
{
	const uint32_t *process = find(&looks->by_pid, thread->pid);

	if (process)
		looks->processes[*process].is_still = false;
}

static void end(struct wtl_looks *looks, struct thread *thread)
{
	tell(looks, thread, WTL_RING_ENDED, wtl_thread_clock_ns(), false);
	note_run(looks, thread);
	thread->has_ended = true;
	if (thread->fd >= 0)
		close(thread->fd);
	looks->n_files -= thread->fd >= 0;
}

/* Whether the thread ran. Its number of turns on a processor is known at once, its CPU time at the next tick. */
static bool look_at(struct wtl_looks *looks, struct thread *thread,
		    void (*take_glance)(void *context, const struct wtl_ring_glance *glance))
{
	struct wtl_ring_glance glance;
	int64_t now_ns;
	uint64_t ran_ns = 0, waited_ns = 0, n_turns = 0;
	char text[128];
	bool ran, has_place;

	if (thread->has_ended)
		return false;
	errno = 0;
	if (!read_used(thread, text, sizeof(text)) ||
	    sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &ran_ns, &waited_ns, &n_turns) < 3) {
		if (errno != EMFILE && errno != ENFILE)
			end(looks, thread);
		return false;
	}
	now_ns = wtl_thread_clock_ns();
	note_program(looks, thread, ran_ns, now_ns);
	ran = ran_ns >= thread->told_ns + TOLD_LEAST_NS;
	if (!ran && n_turns == thread->n_turns)
		return false;
	thread->n_turns = n_turns;
	note_run(looks, thread);
	has_place = is_seen(thread);
	glance = (struct wtl_ring_glance){.pid = thread->pid, .tid = thread->tid, .t_ns = now_ns};
	if (has_place)
		take_glance(looks->context, &glance);
	if (ran)
		tell_slice(looks, thread, now_ns);
	if (has_place)
		tell(looks, thread, WTL_RING_SAMPLE, now_ns, false);
	return true;
}

int64_t wtl_looks_look(struct wtl_looks *looks,
		       void (*take_glance)(void *context, const struct wtl_ring_glance *glance),
		       void (*take)(void *context, const struct wtl_ring_event *event),
		       void *context)
{
	int64_t now_ns = wtl_thread_clock_ns(), took_ns;
	bool ran = false;

	looks->take = take;
	looks->context = context;
	if (now_ns >= looks->list_due_ns)
		list(looks, now_ns);
	took_ns = own_cpu_ns();
	if (looks->looked_ns == 0)
		looks->looked_ns = now_ns;
	for (size_t i = 0; i < looks->n_threads; i++)
		ran |= look_at(looks, &looks->threads[i], take_glance);
	looks->looked_ns = now_ns;
	took_ns = own_cpu_ns() - took_ns;
	looks->wait_ns = ran ? looks->period_ns : 2 * looks->wait_ns;
	if (looks->wait_ns > IDLE_MOST_NS)
		looks->wait_ns = IDLE_MOST_NS;
	if (looks->wait_ns < looks->period_ns)
		looks->wait_ns = looks->period_ns;
	return looks->wait_ns > SHARE * took_ns ? looks->wait_ns : SHARE * took_ns;
}
