/* SPDX-License-Identifier: MIT */
#include "profile/ring.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/num.h"
#include "base/thread.h"

/* 512 KiB a processor is what the kernel lets a user lock (perf_event_mlock_kb); less where others use that. */
enum { PAGES_MOST = 128, PAGES_LEAST = 8, RECORD_MAX = 1 << 16 };

/* So many samples may wait for the reader, and so long, but no more than fill a quarter of a ring: records of switches
 * come beside them. Registers and what else is in a sample take some 300 bytes. */
enum { SAMPLES_WAIT = 8, SAMPLE_HEAD = 300 };
#define WAIT_MAX_NS INT64_C(50000000)

/* Where DWARF's registers are in what the kernel tells (asm/perf_regs.h), in its order. */
#if defined(__x86_64__)
#define SAMPLE_REGISTERS UINT64_C(0xff01ff)
static const int dwarf_number[] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15};
#elif defined(__aarch64__)
#define SAMPLE_REGISTERS UINT64_C(0x1ffffffff)
static const int dwarf_number[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
				   11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
				   22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
#else
#define SAMPLE_REGISTERS UINT64_C(0)
static const int dwarf_number[] = {0};
#endif

struct ring {
	int fd, cpu;
	struct perf_event_mmap_page *head;
	uint8_t *data;
	uint64_t size, read_to; /* of the data; what was taken */
	uint64_t glanced_to;
	size_t mapped;
	const struct perf_event_header
		*next; /* the record at read_to, whole; NULL: there is none */
	int64_t next_ns;
	uint8_t *copy; /* room for a record that goes over the end */
};

struct wtl_rings {
	struct ring *list;
	size_t n;
	int epoll;
	struct perf_event_attr attr; /* of whatever is looked at */
	/* Threads that ran already: their events go into the rings. They are added while another thread drains. */
	pthread_mutex_t lock;
	struct wtl_hash
		by_tid; /* the thread's place in the descriptors, n of them a thread (-1: closed) */
	int *fds;
	size_t n_threads, room_fds;
	bool has_stack;
	int timer;	 /* for samples to come together */
	int64_t wait_ns; /* so long */
	bool hurries;	 /* no waiting */
	bool waits;	 /* the rings are not watched, but the timer */
};

/* What stands at the end of every record that is no sample (sample_id_all). */
struct sample_id {
	uint32_t pid, tid;
	uint64_t t_ns;
	uint32_t cpu, unused;
};

int wtl_rings_fd(const struct wtl_rings *rings)
{
	return rings->epoll;
}

/* ---- Opening ---- */

static void describe(const struct wtl_rings_options *options, bool has_kernel,
		     struct perf_event_attr *attr)
{
	*attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(*attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = UINT64_C(1000000000) / options->hz,
		.sample_type =
			PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.inherit = 1,
		.disabled = options->pid == 0, /* until exec() */
		.enable_on_exec = options->pid == 0,
		.exclude_kernel = !has_kernel,
		.exclude_hv = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.context_switch = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.wakeup_events = 1, /* of samples */
	};
	if (options->stack_bytes) {
		attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr->sample_regs_user = SAMPLE_REGISTERS;
		attr->sample_stack_user = options->stack_bytes;
		attr->exclude_callchain_user = 1;
	}
}

static int open_event(struct perf_event_attr *attr, int tid, int cpu)
{
	long fd = syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static int map_ring(struct ring *ring)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t pages = PAGES_MOST; pages >= PAGES_LEAST; pages /= 2) {
		void *at = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED,
				ring->fd, 0);

		if (at == MAP_FAILED)
			continue;
		ring->head = at;
		ring->data = (uint8_t *)at + page;
		ring->size = pages * page;
		ring->mapped = (pages + 1) * page;
		ring->copy = malloc(RECORD_MAX);
		return ring->copy ? 0 : -ENOMEM;
	}
	return -errno;
}

static int fail(struct wtl_err *err, int pid, int rc)
{
	if ((rc == -EACCES || rc == -EPERM) && pid)
		return wtl_err_set(err, rc, "profile", NULL,
				   "process %d is another user's, or perf_event_open is denied: be "
				   "that user or root; sysctl kernel.perf_event_paranoid=2 lets "
				   "users profile their own programs",
				   pid);
	if (rc == -EACCES || rc == -EPERM || rc == -ENOSYS)
		return wtl_err_set(
			err, rc, "profile", NULL,
			"perf_event_open is denied: sysctl kernel.perf_event_paranoid=2 (it is "
			"higher, or a seccomp profile forbids it) lets users profile their own "
			"programs");
	return wtl_err_set(err, rc, "profile", NULL, "the kernel gives no samples: %s",
			   wtl_err_text(rc));
}

static int fail_to_map(struct wtl_err *err)
{
	return wtl_err_set(
		err, EPERM, "profile", NULL,
		"samples need memory that is locked, %d KiB for each processor, and your "
		"profiles have used up what the kernel lets you have: end others, raise "
		"ulimit -l, or sysctl kernel.perf_event_mlock_kb",
		(int)((PAGES_LEAST + 1) * sysconf(_SC_PAGESIZE) / 1024));
}

static int watch(int epoll, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* A ring that others' events go into: of the calling thread, of which it tells nothing. */
static int open_empty(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.wakeup_events = 1,
	};

	return open_event(&attr, 0, cpu);
}

/* One event a processor: only so may descendants share a ring. */
static int open_rings(struct wtl_rings *rings, const struct wtl_rings_options *options,
		      struct wtl_err *err)
{
	int n_cpus = get_nprocs_conf(), rc = 0;

	rings->list = calloc((size_t)n_cpus, sizeof(*rings->list));
	if (!rings->list)
		return fail(err, options->pid, -ENOMEM);
	for (int cpu = 0; cpu < n_cpus; cpu++) {
		struct ring *ring = &rings->list[rings->n];

		ring->cpu = cpu;
		ring->fd = options->pid ? open_empty(cpu) : open_event(&rings->attr, 0, cpu);
		if (ring->fd == -ENODEV || ring->fd == -ENXIO)
			continue; /* a processor that is off */
		if (ring->fd < 0)
			return fail(err, options->pid, ring->fd);
		rings->n++;
		rc = map_ring(ring);
		if (rc == -EPERM)
			return fail_to_map(err);
		if (rc == 0)
			rc = watch(rings->epoll, ring->fd);
		if (rc < 0)
			return fail(err, options->pid, rc);
	}
	return rings->n > 0 ? 0 : fail(err, options->pid, -ENODEV);
}

/* What may be seen of it: the kernel too, or the program alone. 0 or negative. */
static int try_event(struct wtl_rings *rings, const struct wtl_rings_options *options)
{
	int fd;

	describe(options, true, &rings->attr);
	fd = open_event(&rings->attr, options->pid, -1);
	if (fd == -EACCES || fd == -EPERM) {
		describe(options, false, &rings->attr);
		fd = open_event(&rings->attr, options->pid, -1);
	}
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

/* ---- Threads that run already ---- */

static const uint32_t *place_of(const struct wtl_rings *rings, int tid)
{
	return wtl_hash_find(&rings->by_tid, wtl_hash_number((uint32_t)tid), NULL, NULL, NULL);
}

static void close_thread(struct wtl_rings *rings, size_t place)
{
	for (size_t i = place * rings->n; i < (place + 1) * rings->n; i++) {
		if (rings->fds[i] >= 0)
			close(rings->fds[i]);
		rings->fds[i] = -1;
	}
}

/* It was born of a thread that is looked at, and so is it: its own events would tell everything twice. */
static void forget_thread(struct wtl_rings *rings, int tid)
{
	const uint32_t *place;

	pthread_mutex_lock(&rings->lock);
	place = place_of(rings, tid);
	if (place)
		close_thread(rings, *place);
	pthread_mutex_unlock(&rings->lock);
}

/* Its events, one a ring. 0 or negative; -ESRCH: it has ended. */
static int open_thread(struct wtl_rings *rings, int tid, int fds[])
{
	for (size_t i = 0; i < rings->n; i++) {
		fds[i] = open_event(&rings->attr, tid, rings->list[i].cpu);
		if (fds[i] < 0)
			return fds[i];
		if (ioctl(fds[i], PERF_EVENT_IOC_SET_OUTPUT, rings->list[i].fd) < 0)
			return -errno;
	}
	return 0;
}

/* 1, 0: it was there or has ended, or negative. Only one thread adds. */
static int add_thread(struct wtl_rings *rings, int tid)
{
	size_t n_fds = (rings->n_threads + 1) * rings->n;
	int *fds, rc;

	if (place_of(rings, tid))
		return 0;
	pthread_mutex_lock(&rings->lock);
	rc = wtl_array_reserve(&rings->fds, &rings->room_fds, n_fds, sizeof(*rings->fds)) < 0 ||
			     wtl_hash_reserve(&rings->by_tid, rings->n_threads + 1) < 0
		     ? -ENOMEM
		     : 0;
	pthread_mutex_unlock(&rings->lock);
	if (rc < 0)
		return rc;
	fds = &rings->fds[rings->n_threads * rings->n];
	for (size_t i = 0; i < rings->n; i++)
		fds[i] = -1;
	rc = open_thread(rings, tid, fds);
	if (rc < 0) {
		close_thread(rings, rings->n_threads);
		return rc == -ESRCH ? 0 : rc;
	}
	pthread_mutex_lock(&rings->lock);
	wtl_hash_add(&rings->by_tid, wtl_hash_number((uint32_t)tid), (uint32_t)rings->n_threads++);
	pthread_mutex_unlock(&rings->lock);
	return 1;
}

/* Descriptors are a soft limit first. */
static void allow_many_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int wtl_rings_add(struct wtl_rings *rings, int pid, struct wtl_err *err)
{
	const struct dirent *entry;
	char name[64];
	DIR *threads;
	int rc = 0, n = 0;

	allow_many_files();
	snprintf(name, sizeof(name), "/proc/%d/task", pid);
	threads = opendir(name);
	if (!threads)
		return fail(err, pid, errno == ENOENT ? -ESRCH : -errno);
	while (rc >= 0 && (entry = readdir(threads))) {
		uint64_t tid;

		if (wtl_num_u64(entry->d_name, strlen(entry->d_name), &tid) < 0)
			continue;
		rc = add_thread(rings, (int)tid);
		n += rc > 0;
	}
	closedir(threads);
	if (rc == -EMFILE || rc == -ENFILE)
		return wtl_err_set(
			err, rc, "profile", NULL,
			"process %d has so many threads that there are too few "
			"file descriptors: each needs one for each processor (ulimit -n)",
			pid);
	return rc < 0 ? fail(err, pid, rc) : n;
}

static void switch_all(struct wtl_rings *rings, unsigned long request)
{
	for (size_t i = 0; i < rings->n; i++)
		ioctl(rings->list[i].fd, request, 0);
	pthread_mutex_lock(&rings->lock);
	for (size_t i = 0; i < rings->n_threads * rings->n; i++)
		if (rings->fds[i] >= 0)
			ioctl(rings->fds[i], request, 0);
	pthread_mutex_unlock(&rings->lock);
}

static int64_t wait_of(const struct wtl_rings *rings, const struct wtl_rings_options *options)
{
	uint64_t n = SAMPLES_WAIT;
	int64_t ns;

	for (size_t i = 0; i < rings->n; i++) {
		uint64_t fit = rings->list[i].size / 4 / (options->stack_bytes + SAMPLE_HEAD);

		n = fit < n ? fit : n;
	}
	ns = (int64_t)n * INT64_C(1000000000) / options->hz;
	return ns < WAIT_MAX_NS ? ns : WAIT_MAX_NS;
}

int wtl_rings_open(const struct wtl_rings_options *options, struct wtl_rings **ret_rings,
		   struct wtl_err *err)
{
	struct wtl_rings *rings = calloc(1, sizeof(*rings));
	int rc;

	if (!rings)
		return fail(err, options->pid, -ENOMEM);
	rings->has_stack = options->stack_bytes > 0;
	wtl_thread_mutex_init(&rings->lock);
	rings->epoll = epoll_create1(EPOLL_CLOEXEC);
	rings->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	rc = rings->epoll < 0 || rings->timer < 0 ? -errno : watch(rings->epoll, rings->timer);
	if (rc == 0)
		rc = try_event(rings, options);
	rc = rc < 0 ? fail(err, options->pid, rc) : open_rings(rings, options, err);
	rings->wait_ns = rc < 0 ? 0 : wait_of(rings, options);
	if (rc < 0)
		wtl_rings_close(rings);
	else
		*ret_rings = rings;
	return rc;
}

void wtl_rings_stop(struct wtl_rings *rings)
{
	switch_all(rings, PERF_EVENT_IOC_DISABLE);
}

void wtl_rings_close(struct wtl_rings *rings)
{
	if (!rings)
		return;
	for (size_t i = 0; i < rings->n; i++) {
		if (rings->list[i].head)
			munmap(rings->list[i].head, rings->list[i].mapped);
		free(rings->list[i].copy);
		close(rings->list[i].fd);
	}
	if (rings->epoll >= 0)
		close(rings->epoll);
	if (rings->timer >= 0)
		close(rings->timer);
	for (size_t i = 0; i < rings->n_threads; i++)
		close_thread(rings, i);
	free(rings->fds);
	wtl_hash_done(&rings->by_tid);
	pthread_mutex_destroy(&rings->lock);
	free(rings->list);
	free(rings);
}

/* ---- Reading ---- */

/* Walks over a record's fields; what is beyond its end is zeros. */
struct fields {
	const uint8_t *at, *end;
};

static void take(struct fields *fields, void *to, size_t n)
{
	size_t left = (size_t)(fields->end - fields->at);

	memset(to, 0, n);
	memcpy(to, fields->at, n < left ? n : left);
	fields->at += n < left ? n : left;
}

static uint64_t take_u64(struct fields *fields)
{
	uint64_t value;

	take(fields, &value, sizeof(value));
	return value;
}

static uint32_t take_u32(struct fields *fields)
{
	uint32_t value;

	take(fields, &value, sizeof(value));
	return value;
}

static void skip(struct fields *fields, size_t n)
{
	size_t left = (size_t)(fields->end - fields->at);

	fields->at += n < left ? n : left;
}

static struct fields fields_of(const struct perf_event_header *record)
{
	const uint8_t *begin = (const uint8_t *)record;

	return (struct fields){begin + sizeof(*record), begin + record->size};
}

/* A record's own time, at its end; of a sample within it. */
static int64_t time_of(const struct perf_event_header *record)
{
	struct fields fields = fields_of(record);
	struct sample_id id;

	if (record->type == PERF_RECORD_SAMPLE) {
		skip(&fields, 16); /* ip; pid and tid */
		return (int64_t)take_u64(&fields);
	}
	if (fields.end - fields.at < (ptrdiff_t)sizeof(id))
		return 0;
	memcpy(&id, fields.end - sizeof(id), sizeof(id));
	return (int64_t)id.t_ns;
}

/* The record at read_to, if there is a whole one. */
static void look(struct ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->head->data_head, __ATOMIC_ACQUIRE);
	uint64_t at = ring->read_to % ring->size;
	const struct perf_event_header *record = (const void *)&ring->data[at];
	size_t size, first;

	ring->next = NULL;
	if (head - ring->read_to < sizeof(*record))
		return;
	size = record->size; /* records are 8 bytes apart: a header never goes over the end */
	if (size < sizeof(*record) || size > head - ring->read_to) {
		ring->read_to = head; /* nothing that can be understood: pass over it */
		return;
	}
	first = ring->size - at < size ? (size_t)(ring->size - at) : size;
	if (first < size) {
		memcpy(ring->copy, record, first);
		memcpy(ring->copy + first, ring->data, size - first);
		record = (const void *)ring->copy;
	}
	ring->next = record;
	ring->next_ns = time_of(record);
}

static void advance(struct ring *ring)
{
	ring->read_to += ring->next->size;
	__atomic_store_n(&ring->head->data_tail, ring->read_to, __ATOMIC_RELEASE);
	look(ring);
}

static void read_registers(struct fields *fields, struct wtl_ring_event *event)
{
	uint64_t abi = take_u64(fields);

	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	for (size_t i = 0; i < sizeof(dwarf_number) / sizeof(dwarf_number[0]); i++)
		event->sample.registers[dwarf_number[i]] = take_u64(fields);
	event->sample.has_registers = abi == PERF_SAMPLE_REGS_ABI_64;
}

static void read_stack(struct fields *fields, struct wtl_ring_event *event)
{
	uint64_t size = take_u64(fields), used;

	event->sample.stack = fields->at;
	if (size == 0 || size > (uint64_t)(fields->end - fields->at))
		return;
	skip(fields, size);
	used = take_u64(fields);
	event->sample.stack_len = used < size ? used : size;
}

static void read_sample(const struct wtl_rings *rings, const struct perf_event_header *record,
			struct wtl_ring_event *event)
{
	struct fields fields = fields_of(record);

	event->kind = WTL_RING_SAMPLE;
	skip(&fields, 8); /* where it was, which its registers say too */
	event->pid = (int)take_u32(&fields);
	event->tid = (int)take_u32(&fields);
	event->t_ns = (int64_t)take_u64(&fields);
	event->cpu = take_u32(&fields);
	skip(&fields, 4);
	if (!rings->has_stack)
		return;
	read_registers(&fields, event);
	read_stack(&fields, event);
}

static void read_map(const struct perf_event_header *record, struct wtl_ring_event *event)
{
	struct fields fields = fields_of(record);
	uint32_t major, minor;

	event->kind = WTL_RING_MAP;
	skip(&fields, 8);
	event->map.start = take_u64(&fields);
	event->map.length = take_u64(&fields);
	event->map.offset = take_u64(&fields);
	major = take_u32(&fields);
	minor = take_u32(&fields);
	event->map.device = (uint64_t)major << 32 | minor;
	event->map.inode = take_u64(&fields);
	skip(&fields, 16); /* generation, protection, flags */
	event->map.path = (const char *)fields.at;
}

static void read_name(const struct perf_event_header *record, struct wtl_ring_event *event)
{
	struct fields fields = fields_of(record);

	event->kind = WTL_RING_NAME;
	skip(&fields, 8);
	event->name.name = (const char *)fields.at;
	event->name.is_exec = record->misc & PERF_RECORD_MISC_COMM_EXEC;
}

static void read_task(const struct perf_event_header *record, struct wtl_ring_event *event)
{
	struct fields fields = fields_of(record);

	event->kind = record->type == PERF_RECORD_FORK ? WTL_RING_BORN : WTL_RING_ENDED;
	event->pid = (int)take_u32(&fields);
	event->born.parent_pid = (int)take_u32(&fields);
	event->tid = (int)take_u32(&fields);
	event->born.parent_tid = (int)take_u32(&fields);
}

/* false: nothing that anybody wants to know. */
static bool read_event(const struct wtl_rings *rings, const struct perf_event_header *record,
		       struct wtl_ring_event *event)
{
	struct sample_id id = {0};

	memset(event, 0, sizeof(*event));
	if (record->type == PERF_RECORD_SAMPLE) {
		read_sample(rings, record, event);
		return true;
	}
	if (record->size < sizeof(*record) + sizeof(id))
		return false;
	memcpy(&id, (const uint8_t *)record + record->size - sizeof(id), sizeof(id));
	event->pid = (int)id.pid;
	event->tid = (int)id.tid;
	event->t_ns = (int64_t)id.t_ns;
	event->cpu = id.cpu;
	switch (record->type) {
	case PERF_RECORD_MMAP2:
		read_map(record, event);
		return true;
	case PERF_RECORD_COMM:
		read_name(record, event);
		return true;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		read_task(record, event);
		return true;
	case PERF_RECORD_SWITCH:
		event->kind = WTL_RING_SWITCH;
		event->turn.is_out = record->misc & PERF_RECORD_MISC_SWITCH_OUT;
		return true;
	case PERF_RECORD_LOST: {
		struct fields fields = fields_of(record);

		skip(&fields, 8);
		event->kind = WTL_RING_LOST;
		event->n_lost = take_u64(&fields);
		return true;
	}
	default:
		return false;
	}
}

static struct ring *earliest(struct wtl_rings *rings)
{
	struct ring *first = NULL;

	for (size_t i = 0; i < rings->n; i++) {
		struct ring *ring = &rings->list[i];

		if (ring->next && (!first || ring->next_ns < first->next_ns))
			first = ring;
	}
	return first;
}

/* ---- Waking ---- */

static void watch_rings(const struct wtl_rings *rings, bool watches)
{
	for (size_t i = 0; i < rings->n; i++) {
		struct epoll_event event = {.events = watches ? EPOLLIN : 0};

		epoll_ctl(rings->epoll, EPOLL_CTL_MOD, rings->list[i].fd, &event);
	}
}

static void set_timer(const struct wtl_rings *rings, int64_t ns)
{
	const struct itimerspec when = {
		.it_value = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = ns % 1000000000}};

	timerfd_settime(rings->timer, 0, &when, NULL); /* 0: it stops */
}

/*
 * Each sample could wake the reader. After the first one it waits for some more, by the timer; and when none came
 * meanwhile, for the next one: a program that rests wakes nobody.
 */
static void wait_for_more(struct wtl_rings *rings, bool has_more)
{
	bool waits = has_more && !rings->hurries && rings->wait_ns > 0;

	if (waits != rings->waits)
		watch_rings(rings, !waits);
	if (waits || rings->waits)
		set_timer(rings, waits ? rings->wait_ns : 0);
	rings->waits = waits;
}

void wtl_rings_hurry(struct wtl_rings *rings, bool hurries)
{
	rings->hurries = hurries;
}

void wtl_rings_glance(struct wtl_rings *rings,
		      void (*glance)(void *context, int pid, int tid, int64_t t_ns), void *context)
{
	for (size_t i = 0; i < rings->n; i++) {
		struct ring *ring = &rings->list[i];
		uint64_t head = __atomic_load_n(&ring->head->data_head, __ATOMIC_ACQUIRE);
		_Alignas(8) uint8_t copy[sizeof(struct perf_event_header) + 24];
		const struct perf_event_header *record = (const void *)copy;

		if (ring->glanced_to < ring->read_to)
			ring->glanced_to = ring->read_to;
		while (head - ring->glanced_to >= sizeof(*record)) {
			for (size_t k = 0; k < sizeof(copy); k++)
				copy[k] = ring->data[(ring->glanced_to + k) % ring->size];
			if (record->size < sizeof(*record) ||
			    record->size > head - ring->glanced_to)
				break;
			ring->glanced_to += record->size;
			if (record->type == PERF_RECORD_SAMPLE && record->size >= sizeof(copy)) {
				struct fields fields = {copy + sizeof(*record),
							copy + sizeof(copy)};
				int pid, tid;

				skip(&fields, 8); /* ip */
				pid = (int)take_u32(&fields);
				tid = (int)take_u32(&fields);
				glance(context, pid, tid, (int64_t)take_u64(&fields));
			}
		}
	}
}

void wtl_rings_drain(struct wtl_rings *rings, int64_t until_ns,
		     void (*take_event)(void *context, const struct wtl_ring_event *event),
		     void *context)
{
	struct ring *ring;
	bool has_some = false;

	for (size_t i = 0; i < rings->n; i++) {
		look(&rings->list[i]);
		has_some |= rings->list[i].next != NULL;
	}
	while ((ring = earliest(rings)) && ring->next_ns < until_ns) {
		struct wtl_ring_event event;

		if (read_event(rings, ring->next, &event)) {
			if (event.kind == WTL_RING_BORN)
				forget_thread(rings, event.tid);
			take_event(context, &event);
		}
		advance(ring);
	}
	wait_for_more(rings, has_some);
}
