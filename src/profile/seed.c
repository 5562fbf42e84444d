/* SPDX-License-Identifier: MIT */
#include "profile/seed.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/num.h"
#include "base/thread.h"
#include "profile/asleep.h"

/* Rounds end, as a program may start others all the time; new ones are followed anyway. */
enum { LINE_SIZE = 4096 + 128, ROUNDS_MAX = 16 };

/* A line of maps: "start-end perms offset major:minor inode   path". false: no code. */
static bool read_line(const char *line, struct wtl_ring_event *event, char path[LINE_SIZE])
{
	unsigned major, minor;
	uint64_t end;
	char access[8];
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &event->map.start, &end, access, &event->map.offset, &major, &minor,
		   &event->map.inode, &at) < 7 ||
	    !strchr(access, 'x') || end <= event->map.start)
		return false;
	event->map.length = end - event->map.start;
	event->map.device = (uint64_t)major << 32 | minor;
	snprintf(path, LINE_SIZE, "%s", at > 0 && line[at] ? line + at : "//anon");
	path[strcspn(path, "\n")] = '\0';
	event->map.path = path;
	return true;
}

/* Events that are passed to the trace all at once: the thread that drains the rings does not wait for files. */
struct seed {
	struct wtl_ring_event event;
	char *text; /* its path, or name */
};

struct seeds {
	struct seed *list;
	size_t n, room;
};

/* Without memory the event is dropped. */
static void add_seed(struct seeds *seeds, const struct wtl_ring_event *event, const char *text)
{
	struct seed *seed;

	if (wtl_array_reserve(&seeds->list, &seeds->room, seeds->n + 1, sizeof(*seeds->list)) < 0)
		return;
	seed = &seeds->list[seeds->n];
	*seed = (struct seed){*event, strdup(text)};
	if (event->kind == WTL_RING_MAP)
		seed->event.map.path = seed->text;
	else if (event->kind == WTL_RING_NAME)
		seed->event.name.name = seed->text;
	seeds->n += seed->text != NULL;
}

static void tell_seeds(const struct wtl_trace_attach *attach, struct seeds *seeds)
{
	pthread_mutex_lock(attach->lock);
	for (size_t i = 0; i < seeds->n; i++)
		wtl_trace_take(attach->trace, &seeds->list[i].event);
	pthread_mutex_unlock(attach->lock);
	for (size_t i = 0; i < seeds->n; i++)
		free(seeds->list[i].text);
	free(seeds->list);
}

void wtl_seed_maps(int pid, void (*take)(void *context, const struct wtl_ring_event *event),
		   void *context)
{
	char name[64], line[LINE_SIZE], path[LINE_SIZE];
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	file = fopen(name, "re");
	while (file && fgets(line, sizeof(line), file)) {
		struct wtl_ring_event event = {.kind = WTL_RING_MAP, .pid = pid, .tid = pid};

		if (read_line(line, &event, path))
			take(context, &event);
	}
	if (file)
		fclose(file);
}

static void add_map(void *seeds, const struct wtl_ring_event *event)
{
	add_seed(seeds, event, event->map.path);
}

static void read_thread(struct seeds *seeds, int pid, int tid, bool has_waits)
{
	const struct wtl_ring_event event = {.kind = WTL_RING_NAME,
					     .pid = pid,
					     .tid = tid,
					     .t_ns = wtl_thread_clock_ns(),
					     .is_seed = true};
	struct wtl_ring_event asleep;
	char name[64], comm[32] = "";
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/task/%d/comm", pid, tid);
	file = fopen(name, "re");
	if (!file)
		return;
	if (fgets(comm, sizeof(comm), file))
		comm[strcspn(comm, "\n")] = '\0';
	fclose(file);
	add_seed(seeds, &event, comm);
	if (!has_waits || !wtl_asleep_find(pid, tid, &asleep))
		return;
	asleep.is_seed = true;
	add_seed(seeds, &asleep, "");
}

static void read_threads(struct seeds *seeds, int pid, bool has_waits)
{
	const struct dirent *entry;
	char name[64];
	DIR *threads;

	snprintf(name, sizeof(name), "/proc/%d/task", pid);
	threads = opendir(name);
	while (threads && (entry = readdir(threads))) {
		uint64_t tid;

		if (wtl_num_u64(entry->d_name, strlen(entry->d_name), &tid) == 0)
			read_thread(seeds, pid, (int)tid, has_waits);
	}
	if (threads)
		closedir(threads);
}

/* ---- Descendants ---- */

struct process {
	int pid, parent;
};

struct processes {
	struct process *list;
	size_t n, room;
	struct wtl_hash by_pid;
};

/* The parent's PID, which follows the name; that may have anything in it. 0: it has ended. */
static int parent_of(int pid)
{
	char name[64], line[512];
	const char *behind;
	int parent = 0;
	size_t n = 0;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/stat", pid);
	file = fopen(name, "re");
	if (file) {
		n = fread(line, 1, sizeof(line) - 1, file);
		fclose(file);
	}
	line[n] = '\0';
	behind = strrchr(line, ')');
	return behind && sscanf(behind + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

static int add_process(struct processes *all, int pid)
{
	if (wtl_array_reserve(&all->list, &all->room, all->n + 1, sizeof(*all->list)) < 0 ||
	    wtl_hash_reserve(&all->by_pid, all->n + 1) < 0)
		return -ENOMEM;
	all->list[all->n] = (struct process){pid, parent_of(pid)};
	wtl_hash_add(&all->by_pid, wtl_hash_number((uint32_t)pid), (uint32_t)all->n++);
	return 0;
}

static int list_processes(struct processes *all)
{
	DIR *folder = opendir("/proc");
	const struct dirent *entry;
	int rc = folder ? 0 : -errno;

	all->n = 0;
	wtl_hash_clear(&all->by_pid);
	while (rc == 0 && (entry = readdir(folder))) {
		uint64_t pid;

		if (wtl_num_u64(entry->d_name, strlen(entry->d_name), &pid) == 0)
			rc = add_process(all, (int)pid);
	}
	if (folder)
		closedir(folder);
	return rc;
}

/* Whether a process is pid or its descendant. The list is not of one moment: a cycle is possible, and ends. */
static bool is_of(const struct processes *all, const struct process *process, int pid)
{
	for (size_t i = 0; i < all->n; i++) {
		const uint32_t *parent;

		if (process->pid == pid)
			return true;
		parent = wtl_hash_find(&all->by_pid, wtl_hash_number((uint32_t)process->parent),
				       NULL, NULL, NULL);
		if (!parent)
			return false;
		process = &all->list[*parent];
	}
	return false;
}

/* ---- Attaching ---- */

static void seed(const struct wtl_trace_attach *attach, int pid, bool has_threads)
{
	struct seeds seeds = {.n = 0};

	wtl_seed_maps(pid, add_map, &seeds);
	if (has_threads)
		read_threads(&seeds, pid, attach->trace->has_waits);
	tell_seeds(attach, &seeds);
}

/* How many threads are new. Mappings are read before, so that no sample waits for them; and again after, for those
 * made before the events were enabled. */
static int attach_process(struct wtl_trace_attach *attach, int pid, struct wtl_err *err)
{
	int n;

	seed(attach, pid, false);
	n = wtl_rings_add(attach->rings, pid, err);
	if (n > 0)
		seed(attach, pid, true);
	return n;
}

/* One round: how many threads are new. Descendants without permission are counted. */
static int attach_all(struct wtl_trace_attach *attach, struct processes *all, struct wtl_err *err)
{
	int n = 0, rc = list_processes(all);

	if (rc < 0)
		return wtl_err_set(err, rc, "profile", NULL, "cannot list processes: %s",
				   wtl_err_text(rc));
	attach->n_denied = 0;
	for (size_t i = 0; i < all->n; i++) {
		int pid = all->list[i].pid;

		if (pid == getpid() || !is_of(all, &all->list[i], attach->pid))
			continue;
		rc = attach_process(attach, pid, err);
		if ((rc == -EACCES || rc == -EPERM) && pid != attach->pid)
			attach->n_denied++;
		else if (rc < 0 && rc != -ESRCH)
			return rc;
		n += rc > 0 ? rc : 0;
	}
	return n;
}

int wtl_trace_attach(struct wtl_trace_attach *attach, struct wtl_err *err)
{
	struct processes all = {.n = 0};
	int rc = attach_all(attach, &all, err);

	if (rc == 0)
		rc = wtl_err_set(err, -ESRCH, "profile", NULL, "process %d has ended", attach->pid);
	/* Children of threads that were not added yet are found in the next round. */
	for (int round = 1; rc > 0 && round < ROUNDS_MAX; round++)
		rc = attach_all(attach, &all, err);
	free(all.list);
	wtl_hash_done(&all.by_pid);
	return rc < 0 ? rc : 0;
}
