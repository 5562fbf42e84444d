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
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/num.h"
#include "base/thread.h"
#include "profile/record.h"

/* The kernel lets each user lock 512 KiB per processor (perf_event_mlock_kb); less is taken where other profiles use
 * that. With few processors up to 2 MiB each, so that the reader wakes less often. */
enum {
	PAGES_MOST = 512,
	PAGES_ALL = 4096,
	PAGES_USUAL = 128,
	PAGES_LEAST = 8,
	RECORD_MAX = 1 << 16,
	GLANCES = 1024 /* at a time; further samples are not glanced at */
};

/* Samples that wait for the reader fill at most a quarter of a ring, which holds records of switches too. Beside its
 * stack a sample takes some 300 bytes. */
enum { SAMPLE_HEAD = 300 };
#define WAIT_MAX_NS INT64_C(50000000)

/* With more processors there is no quiet event: each event adds microseconds to the start of a thread. */
enum { CPUS_FEW = 32 };

/* The quiet event is enabled when no sample had to be read at once for this time. Where changing events is slow, it
 * is longer: changes to and fro take a hundredth of the time at most. */
#define QUIET_AFTER_NS INT64_C(200000000)
enum { CHANGE_SHARE = 200 };

struct ring {
	int fd, cpu;
	int fds[WTL_RECORD_EVENTS]; /* < 0: none, or each thread has its own */
	struct perf_event_mmap_page *head;
	uint8_t *data;
	uint64_t size, read_to; /* of the data; up to where records were taken */
	uint64_t glanced_from, glanced_to;
	size_t mapped;
	const struct perf_event_header
		*next; /* the record at read_to, whole; NULL: there is none */
	int64_t next_ns;
	uint8_t *copy; /* for a record that wraps around */
};

struct wtl_rings {
	struct ring *list;
	size_t n;
	int epoll; /* what the reader waits for: the rings */
	struct perf_event_attr attrs[WTL_RECORD_EVENTS];
	bool has[WTL_RECORD_EVENTS];
	int self; /* wattle's own threads have the events too */
	bool is_quiet, has_program, is_unsure, has_stopped;
	int64_t needed_ns, quiet_after_ns; /* when samples last had to be read at once */
	/* Threads that ran already: their events go into the rings. They are added while another thread drains. */
	pthread_mutex_t lock;
	struct wtl_hash
		by_tid; /* the thread's place in fds, which has one per kind and ring (-1: none) */
	int *fds;
	size_t n_threads, room_fds;
	bool has_stack;
	int64_t period_ns;	   /* of samples */
	unsigned n_fit, n_awaited; /* samples in a quarter of a ring; most that may collect */
	bool comes_itself;	   /* the reader wakes by its own timer */
	bool waits;		   /* the reader, for more samples to collect */
	bool is_filling;	   /* a ring was so full that the reader has to come sooner */
	struct wtl_ring_glance glances[GLANCES];
	size_t n_glances;
};

int wtl_rings_fd(const struct wtl_rings *rings)
{
	return rings->epoll;
}

bool wtl_rings_see_turns(const struct wtl_rings *rings)
{
	return rings->has[WTL_RECORD_TURNS];
}

bool wtl_rings_see_kernel(const struct wtl_rings *rings)
{
	return !rings->attrs[WTL_RECORD_LOUD].exclude_kernel;
}

/* ---- Opening ---- */

static int open_event(struct perf_event_attr *attr, int tid, int cpu)
{
	long fd = syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

/* The most pages to try, a power of two. */
static size_t most_pages(int n_cpus)
{
	size_t pages = PAGES_MOST;

	while (pages > PAGES_USUAL && pages * (size_t)n_cpus > PAGES_ALL)
		pages /= 2;
	return pages;
}

static int map_ring(struct ring *ring, size_t pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	ring->head = at;
	ring->data = (uint8_t *)at + page;
	ring->size = pages * page;
	ring->mapped = (pages + 1) * page;
	return 0;
}

static void unmap_ring(struct ring *ring)
{
	if (ring->head)
		munmap(ring->head, ring->mapped);
	ring->head = NULL;
}

/* All of one size, so that the first does not take what the last needs. */
static int map_rings(struct wtl_rings *rings, int n_cpus)
{
	int rc = -EPERM;

	for (size_t pages = most_pages(n_cpus); rc < 0 && pages >= PAGES_LEAST; pages /= 2) {
		rc = 0;
		for (size_t i = 0; rc == 0 && i < rings->n; i++)
			rc = map_ring(&rings->list[i], pages);
		for (size_t i = 0; rc < 0 && i < rings->n; i++)
			unmap_ring(&rings->list[i]);
	}
	for (size_t i = 0; rc == 0 && i < rings->n; i++)
		if (!(rings->list[i].copy = malloc(RECORD_MAX)))
			rc = -ENOMEM;
	return rc;
}

/* A missing permission is EACCES; a seccomp profile that denies the call mostly gives EPERM or ENOSYS. */
static int fail(struct wtl_err *err, int pid, int rc)
{
	if (rc == -EPERM || rc == -ENOSYS)
		return wtl_err_set(err, rc, "profile", NULL,
				   "the call perf_event_open is denied, most likely by a seccomp "
				   "profile: allow it there, or start the container with --cap-add "
				   "PERFMON (of a systemd unit: SystemCallFilter=)");
	if (rc == -EACCES && pid)
		return wtl_err_set(err, rc, "profile", NULL,
				   "process %d is another user's, or perf_event_open is denied: be "
				   "that user or root; sudo sysctl kernel.perf_event_paranoid=2 "
				   "lets users profile their own programs",
				   pid);
	if (rc == -EACCES)
		return wtl_err_set(
			err, rc, "profile", NULL,
			"perf_event_open is denied: sudo sysctl "
			"kernel.perf_event_paranoid=2 (perhaps it is higher) lets users profile "
			"their own programs");
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
	struct epoll_event event = {.events = EPOLLIN, .data.fd = -1};

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* An event of the calling thread that records nothing: its ring takes the events of other threads. */
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

/* Opens an event that records into the ring. A descriptor, or negative. */
static int open_into(struct wtl_rings *rings, enum wtl_record_event kind, int tid,
		     const struct ring *ring)
{
	int fd = open_event(&rings->attrs[kind], tid, ring->cpu), rc;

	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

/* Opens the events beside the loud one, which owns the ring. 0 or negative. */
static int open_others(struct wtl_rings *rings, struct ring *ring)
{
	for (enum wtl_record_event kind = WTL_RECORD_LOUD + 1; kind < WTL_RECORD_EVENTS; kind++) {
		if (rings->has[kind])
			ring->fds[kind] = open_into(rings, kind, 0, ring);
		if (rings->has[kind] && ring->fds[kind] < 0 && kind != WTL_RECORD_BARE)
			return ring->fds[kind];
	}
	return 0;
}

/* One ring per processor: only then may inherited events share it. */
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
		memset(ring->fds, -1, sizeof(ring->fds));
		ring->fd = options->pid ? open_empty(cpu)
					: open_event(&rings->attrs[WTL_RECORD_LOUD], 0, cpu);
		if (ring->fd == -ENODEV || ring->fd == -ENXIO)
			continue; /* the processor is offline */
		if (ring->fd < 0)
			return fail(err, options->pid, ring->fd);
		if (!options->pid)
			ring->fds[WTL_RECORD_LOUD] = ring->fd;
		rings->n++;
	}
	if (rings->n == 0)
		return fail(err, options->pid, -ENODEV);
	rc = map_rings(rings, n_cpus);
	if (rc == -EPERM)
		return fail_to_map(err);
	for (size_t i = 0; rc >= 0 && i < rings->n; i++) {
		struct ring *ring = &rings->list[i];

		rc = watch(rings->epoll, ring->fd);
		if (rc == 0 && !options->pid)
			rc = open_others(rings, ring);
	}
	return rc < 0 ? fail(err, options->pid, rc) : 0;
}

/* Asks for as many of them as the kernel gives (kernel.perf_event_max_sample_rate). Whether it gives any. */
static bool has_bare(struct wtl_rings *rings, int pid, unsigned hz)
{
	struct perf_event_attr *bare = &rings->attrs[WTL_RECORD_BARE];
	int fd;

	while ((fd = open_event(bare, pid, -1)) == -EINVAL && bare->sample_freq > hz)
		bare->sample_freq /= 2;
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Finds out whether the kernel may be sampled too, or only user space. 0 or negative. */
static int try_event(struct wtl_rings *rings, const struct wtl_rings_options *options)
{
	struct perf_event_attr *loud = &rings->attrs[WTL_RECORD_LOUD];
	int fd;

	wtl_record_ask(options, true, rings->attrs);
	fd = open_event(loud, options->pid, -1);
	if (fd == -EACCES || fd == -EPERM) {
		wtl_record_ask(options, false, rings->attrs);
		fd = open_event(loud, options->pid, -1);
	}
	if (fd >= 0)
		close(fd);
	rings->has[WTL_RECORD_LOUD] = true;
	rings->has[WTL_RECORD_QUIET] = get_nprocs_conf() <= CPUS_FEW;
	rings->has[WTL_RECORD_TURNS] = options->sees_turns && !loud->exclude_kernel;
	rings->has[WTL_RECORD_BARE] = rings->has[WTL_RECORD_TURNS] && rings->has_stack &&
				      has_bare(rings, options->pid, options->hz);
	return fd < 0 ? fd : 0;
}

/* ---- Threads that run already ---- */

static const uint32_t *place_of(const struct wtl_rings *rings, int tid)
{
	return wtl_hash_find(&rings->by_tid, wtl_hash_number((uint32_t)tid), NULL, NULL, NULL);
}

static size_t n_each(const struct wtl_rings *rings)
{
	return WTL_RECORD_EVENTS * rings->n;
}

static void close_thread(struct wtl_rings *rings, size_t place)
{
	for (size_t i = place * n_each(rings); i < (place + 1) * n_each(rings); i++) {
		if (rings->fds[i] >= 0)
			close(rings->fds[i]);
		rings->fds[i] = -1;
	}
}

/* Closes a thread's own events: it inherited its parent's, and would be recorded twice. */
static void forget_thread(struct wtl_rings *rings, int tid)
{
	const uint32_t *place;

	pthread_mutex_lock(&rings->lock);
	place = place_of(rings, tid);
	if (place)
		close_thread(rings, *place);
	pthread_mutex_unlock(&rings->lock);
}

/* Opens a thread's events. 0 or negative; -ESRCH: it has ended. */
static int open_thread(struct wtl_rings *rings, int tid, int fds[])
{
	for (enum wtl_record_event kind = 0; kind < WTL_RECORD_EVENTS; kind++)
		for (size_t i = 0; rings->has[kind] && i < rings->n; i++) {
			int *fd = &fds[kind * rings->n + i];

			*fd = open_into(rings, kind, tid, &rings->list[i]);
			if (*fd < 0 && kind != WTL_RECORD_BARE)
				return *fd;
		}
	return 0;
}

/* Registers of turns are better than nothing, but where there are too few descriptors, other events come first. */
static void drop_bare(struct wtl_rings *rings)
{
	pthread_mutex_lock(&rings->lock);
	rings->has[WTL_RECORD_BARE] = false;
	for (size_t i = 0; i < rings->n_threads * rings->n; i++) {
		int *fd = &rings->fds[i / rings->n * n_each(rings) + WTL_RECORD_BARE * rings->n +
				      i % rings->n];

		if (*fd >= 0)
			close(*fd);
		*fd = -1;
	}
	pthread_mutex_unlock(&rings->lock);
}

/* 1: added; 0: it was there or has ended; or negative. Only one thread may add. */
static int add_thread(struct wtl_rings *rings, int tid)
{
	size_t n_fds = (rings->n_threads + 1) * n_each(rings);
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
	fds = &rings->fds[rings->n_threads * n_each(rings)];
	memset(fds, -1, n_each(rings) * sizeof(*fds));
	rc = open_thread(rings, tid, fds);
	if (rc < 0) {
		close_thread(rings, rings->n_threads);
		return rc == -ESRCH ? 0 : rc;
	}
	pthread_mutex_lock(&rings->lock);
	wtl_hash_add(&rings->by_tid, wtl_hash_number((uint32_t)tid), (uint32_t)rings->n_threads++);
	if (rings->is_quiet)
		rings->is_unsure = true; /* its loud events are on */
	pthread_mutex_unlock(&rings->lock);
	return 1;
}

int wtl_rings_add(struct wtl_rings *rings, int pid, struct wtl_err *err)
{
	const struct dirent *entry;
	char name[64];
	unsigned n_kinds = 0;
	DIR *threads;
	int rc = 0, n = 0;

	wtl_fd_allow_many();
	snprintf(name, sizeof(name), "/proc/%d/task", pid);
	threads = opendir(name);
	if (!threads)
		return fail(err, pid, errno == ENOENT ? -ESRCH : -errno);
	while (rc >= 0 && (entry = readdir(threads))) {
		uint64_t tid;

		if (wtl_num_u64(entry->d_name, strlen(entry->d_name), &tid) < 0)
			continue;
		rc = add_thread(rings, (int)tid);
		if ((rc == -EMFILE || rc == -ENFILE) && rings->has[WTL_RECORD_BARE]) {
			drop_bare(rings);
			rc = add_thread(rings, (int)tid);
		}
		n += rc > 0;
	}
	closedir(threads);
	for (enum wtl_record_event kind = 0; kind < WTL_RECORD_EVENTS; kind++)
		n_kinds += rings->has[kind];
	if (rc == -EMFILE || rc == -ENFILE)
		return wtl_err_set(err, rc, "profile", NULL,
				   "process %d has so many threads that there are too few "
				   "file descriptors: each needs %u for each processor (ulimit -n)",
				   pid, n_kinds);
	return rc < 0 ? fail(err, pid, rc) : n;
}

static void switch_all(struct wtl_rings *rings, enum wtl_record_event kind, unsigned long request)
{
	for (size_t i = 0; i < rings->n; i++)
		if (rings->list[i].fds[kind] >= 0)
			ioctl(rings->list[i].fds[kind], request, 0);
	for (size_t i = kind * rings->n; i < rings->n_threads * n_each(rings); i += n_each(rings))
		for (size_t k = i; k < i + rings->n; k++)
			if (rings->fds[k] >= 0)
				ioctl(rings->fds[k], request, 0);
}

static unsigned count_fitting(const struct wtl_rings *rings, unsigned stack_bytes)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < rings->n; i++)
		if (rings->list[i].size < least)
			least = rings->list[i].size;
	return (unsigned)(least / 4 / (stack_bytes + SAMPLE_HEAD)) /
	       (rings->has[WTL_RECORD_TURNS] ? 2 : 1);
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
	rc = rings->epoll < 0 ? -errno : try_event(rings, options);
	rc = rc < 0 ? fail(err, options->pid, rc) : open_rings(rings, options, err);
	rings->self = getpid();
	rings->needed_ns = wtl_thread_clock_ns();
	rings->quiet_after_ns = QUIET_AFTER_NS;
	rings->period_ns = (int64_t)rings->attrs[WTL_RECORD_LOUD].sample_period;
	rings->n_fit = rc < 0 ? 0 : count_fitting(rings, options->stack_bytes);
	if (rc < 0)
		wtl_rings_close(rings);
	else
		*ret_rings = rings;
	return rc;
}

void wtl_rings_stop(struct wtl_rings *rings)
{
	pthread_mutex_lock(&rings->lock);
	rings->has_stopped = true;
	for (enum wtl_record_event kind = 0; kind < WTL_RECORD_EVENTS; kind++)
		switch_all(rings, kind, PERF_EVENT_IOC_DISABLE);
	pthread_mutex_unlock(&rings->lock);
}

void wtl_rings_close(struct wtl_rings *rings)
{
	if (!rings)
		return;
	for (size_t i = 0; i < rings->n; i++) {
		unmap_ring(&rings->list[i]);
		free(rings->list[i].copy);
		close(rings->list[i].fd);
		for (enum wtl_record_event kind = WTL_RECORD_LOUD + 1; kind < WTL_RECORD_EVENTS;
		     kind++)
			if (rings->list[i].fds[kind] >= 0)
				close(rings->list[i].fds[kind]);
	}
	if (rings->epoll >= 0)
		close(rings->epoll);
	for (size_t i = 0; i < rings->n_threads; i++)
		close_thread(rings, i);
	free(rings->fds);
	wtl_hash_done(&rings->by_tid);
	pthread_mutex_destroy(&rings->lock);
	free(rings->list);
	free(rings);
}

/* ---- Reading ---- */

/* Finds the record at read_to, if it is complete. */
static void look(struct ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->head->data_head, __ATOMIC_ACQUIRE);
	uint64_t at = ring->read_to % ring->size;
	const struct perf_event_header *record = (const void *)&ring->data[at];
	size_t size, first;

	ring->next = NULL;
	if (head - ring->read_to < sizeof(*record))
		return;
	size = record->size; /* records are aligned to 8 bytes: a header never wraps */
	if (size < sizeof(*record) || size > head - ring->read_to) {
		ring->read_to = head; /* not a record: pass over everything */
		return;
	}
	first = ring->size - at < size ? (size_t)(ring->size - at) : size;
	if (first < size) {
		memcpy(ring->copy, record, first);
		memcpy(ring->copy + first, ring->data, size - first);
		record = (const void *)ring->copy;
	}
	ring->next = record;
	ring->next_ns = wtl_record_time(record);
}

static void advance(struct ring *ring)
{
	ring->read_to += ring->next->size;
	__atomic_store_n(&ring->head->data_tail, ring->read_to, __ATOMIC_RELEASE);
	look(ring);
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

int64_t wtl_rings_wait_ns(const struct wtl_rings *rings, unsigned n_samples)
{
	int64_t wait_ns = (n_samples < rings->n_fit ? n_samples : rings->n_fit) * rings->period_ns;

	return wait_ns < WAIT_MAX_NS ? wait_ns : WAIT_MAX_NS;
}

/*
 * The new event is enabled before the old one is disabled. Records may come twice, but none of a thread that was there
 * is missed. A thread born meanwhile may have both enabled, or neither; so the next call repeats the change.
 */
static void choose_events(struct wtl_rings *rings, bool needs_each)
{
	int64_t now_ns = wtl_thread_clock_ns();
	bool is_quiet;

	if (!rings->has[WTL_RECORD_QUIET])
		return;
	if (needs_each)
		rings->needed_ns = now_ns;
	is_quiet = now_ns - rings->needed_ns > rings->quiet_after_ns;
	pthread_mutex_lock(&rings->lock);
	if ((is_quiet != rings->is_quiet || rings->is_unsure) && !rings->has_stopped) {
		switch_all(rings, is_quiet ? WTL_RECORD_QUIET : WTL_RECORD_LOUD,
			   PERF_EVENT_IOC_ENABLE);
		switch_all(rings, is_quiet ? WTL_RECORD_LOUD : WTL_RECORD_QUIET,
			   PERF_EVENT_IOC_DISABLE);
		rings->is_unsure = is_quiet != rings->is_quiet;
		rings->is_quiet = is_quiet;
		rings->quiet_after_ns = CHANGE_SHARE * (wtl_thread_clock_ns() - now_ns);
		if (rings->quiet_after_ns < QUIET_AFTER_NS)
			rings->quiet_after_ns = QUIET_AFTER_NS;
	}
	pthread_mutex_unlock(&rings->lock);
}

/*
 * Each sample could wake the reader. After a first one it waits a while for more. If none came meanwhile, the next one
 * wakes it: a program that sleeps wakes nobody.
 */
static void wait_for_more(struct wtl_rings *rings, bool has_more)
{
	rings->waits = has_more && rings->n_awaited > 1 && rings->n_fit > 1;
	choose_events(rings, (!rings->waits && !rings->comes_itself) || rings->has_program);
	rings->has_program = false;
}

void wtl_rings_await(struct wtl_rings *rings, unsigned n_samples, bool comes_itself)
{
	rings->n_awaited = n_samples;
	rings->comes_itself = comes_itself;
}

int64_t wtl_rings_rest_ns(const struct wtl_rings *rings)
{
	if (rings->waits)
		return wtl_rings_wait_ns(rings, rings->n_awaited) / (rings->is_filling ? 4 : 1);
	return rings->comes_itself && rings->is_quiet ? 0 : -1;
}

/* A word of a record, which never wraps. */
static uint64_t word_at(const struct ring *ring, uint64_t at)
{
	uint64_t word;

	memcpy(&word, &ring->data[at & (ring->size - 1)], sizeof(word));
	return word;
}

/* The first bytes of the record there; NULL: it is not complete. */
static const struct perf_event_header *peek(const struct ring *ring, uint64_t at, uint64_t head,
					    uint8_t copy[WTL_RECORD_GLANCE])
{
	const struct perf_event_header *record = (const void *)copy;

	if (head - at < sizeof(*record))
		return NULL;
	for (size_t k = 0; k < WTL_RECORD_GLANCE && (k == 0 || k < record->size); k += 8) {
		uint64_t word = word_at(ring, at + k);

		memcpy(&copy[k], &word, sizeof(word));
	}
	return record->size < sizeof(*record) || record->size > head - at ? NULL : record;
}

/* Lists new samples. The processor that the last one came from, or negative. */
static int list_glances(struct wtl_rings *rings)
{
	_Alignas(8) uint8_t copy[WTL_RECORD_GLANCE];
	const struct perf_event_header *record;
	int cpu = -1;

	rings->n_glances = 0;
	for (size_t i = 0; i < rings->n; i++) {
		struct ring *ring = &rings->list[i];
		uint64_t head = __atomic_load_n(&ring->head->data_head, __ATOMIC_ACQUIRE);

		if (ring->glanced_to < ring->read_to)
			ring->glanced_to = ring->read_to;
		ring->glanced_from = ring->glanced_to;
		for (; (record = peek(ring, ring->glanced_to, head, copy));
		     ring->glanced_to += record->size) {
			struct wtl_ring_glance *glance = &rings->glances[rings->n_glances];

			if (rings->n_glances == GLANCES || !wtl_record_glance(record, glance) ||
			    glance->pid == rings->self)
				continue;
			rings->n_glances++;
			cpu = ring->cpu;
			if (glance->copied > 0)
				glance->copied =
					word_at(ring, ring->glanced_to + WTL_RECORD_GLANCE +
							      glance->copied);
		}
	}
	return cpu;
}

static void note_turn(struct wtl_rings *rings, const struct wtl_ring_event *turn)
{
	for (size_t i = 0; i < rings->n_glances; i++) {
		struct wtl_ring_glance *glance = &rings->glances[i];

		if (glance->tid != turn->tid || turn->t_ns < glance->turned_ns)
			continue;
		glance->turned_ns = turn->t_ns;
		glance->is_off = turn->turn.is_out;
	}
}

/* Notes whether their threads were switched since; after all are listed, as a thread may move to another processor. */
static void note_turns(struct wtl_rings *rings)
{
	_Alignas(8) uint8_t copy[WTL_RECORD_GLANCE];
	const struct perf_event_header *record;
	struct wtl_ring_event turn;

	for (size_t i = 0; i < rings->n; i++) {
		const struct ring *ring = &rings->list[i];
		uint64_t head = __atomic_load_n(&ring->head->data_head, __ATOMIC_ACQUIRE);

		for (uint64_t at = ring->glanced_from; (record = peek(ring, at, head, copy));
		     at += record->size)
			if (record->type == PERF_RECORD_SWITCH && record->size <= sizeof(copy) &&
			    wtl_record_read(record, false, &turn))
				note_turn(rings, &turn);
	}
}

int wtl_rings_glance(struct wtl_rings *rings,
		     void (*take_glance)(void *context, const struct wtl_ring_glance *glance),
		     void *context)
{
	int cpu = list_glances(rings);

	if (rings->n_glances > 0)
		note_turns(rings);
	for (size_t i = 0; i < rings->n_glances; i++)
		take_glance(context, &rings->glances[i]);
	return cpu;
}

static bool is_theirs(const struct wtl_rings *rings, const struct wtl_ring_event *event)
{
	return event->pid != rings->self || event->kind == WTL_RING_LOST;
}

static bool has_next(const struct wtl_rings *rings, const struct ring *ring)
{
	struct wtl_ring_event event;

	return ring->next && wtl_record_read(ring->next, false, &event) && is_theirs(rings, &event);
}

static bool is_filling(const struct ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->head->data_head, __ATOMIC_ACQUIRE);

	return head - ring->read_to > ring->size / 4;
}

void wtl_rings_drain(struct wtl_rings *rings, int64_t until_ns,
		     void (*take_event)(void *context, const struct wtl_ring_event *event),
		     void *context)
{
	struct ring *ring;
	bool has_some = false;

	rings->is_filling = false;
	for (size_t i = 0; i < rings->n; i++) {
		look(&rings->list[i]);
		rings->is_filling |= is_filling(&rings->list[i]);
		has_some |= has_next(rings, &rings->list[i]);
	}
	while ((ring = earliest(rings)) && ring->next_ns < until_ns) {
		struct wtl_ring_event event;

		if (wtl_record_read(ring->next, rings->has_stack, &event) &&
		    is_theirs(rings, &event)) {
			if (event.kind == WTL_RING_BORN)
				forget_thread(rings, event.tid);
			rings->has_program |= event.kind == WTL_RING_NAME && event.name.is_exec;
			has_some = true;
			take_event(context, &event);
		}
		advance(ring);
	}
	wait_for_more(rings, has_some);
}
