/* SPDX-License-Identifier: MIT */
#include "world.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/taskstats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "unit.h"

enum { TICK_NS = 10000000, FIRST_AGAIN = 300 };

static struct world *world_of(struct wtl_io *io)
{
	return (struct world *)io;
}

struct world_process *world_at(struct world *world, int pid)
{
	assert_in_range(pid, 1, WORLD_PIDS - 1);
	if (!world->of[pid])
		fail_msg("no process %d", pid);
	return world->of[pid];
}

/* Counts a call; true: it is to fail. */
static bool fails(struct world *world)
{
	unsigned call = ++world->calls;

	if (world->fail_at == 0 ||
	    (world->fail_always ? call < world->fail_at : call != world->fail_at))
		return false;
	world->has_failed = true;
	return true;
}

/* ---- /proc ---- */

static size_t print_stat(const struct world_process *process, char *text, size_t size)
{
	return (size_t)snprintf(
		text, size,
		"%d (%s) %c %d 1 1 0 -1 %u 1 2 3 4 %lld 0 %lld 0 20 0 %u 0 %lld 4096 10 "
		"18446744073709551615 0\n",
		process->pid, process->name, process->is_zombie ? 'Z' : 'S', process->parent,
		process->is_kernel   ? 0x00200040
		: process->is_zombie ? 0x0040000c
				     : 0x00400000,
		(long long)process->cpu_ns / TICK_NS, (long long)process->child_ns / TICK_NS,
		process->n_threads, (long long)process->start_ns / TICK_NS);
}

static size_t print_status(const struct world_process *process, char *text, size_t size)
{
	size_t len = (size_t)snprintf(
		text, size, "Name:\tx\nTgid:\t%d\nPid:\t%d\nUid:\t%u\t%u\t%u\t%u\n", process->pid,
		process->pid, process->uid, process->uid, process->uid, process->uid);

	if (!process->is_kernel)
		len += (size_t)snprintf(text + len, size - len, "VmRSS:\t%8llu kB\n",
					(unsigned long long)process->rss_kb);
	return len;
}

static ssize_t print_process(const struct world_process *process, const char *file, char *text,
			     size_t size)
{
	if (process->is_unlisted)
		return -ENOENT;
	if (process->is_closed)
		return -EACCES;
	if (strcmp(file, "stat") == 0)
		return (ssize_t)print_stat(process, text, size);
	if (strcmp(file, "status") == 0)
		return (ssize_t)print_status(process, text, size);
	if (strcmp(file, "cmdline") == 0) {
		if (process->is_zombie || process->is_kernel)
			return 0;
		memcpy(text, process->command, process->command_len);
		return (ssize_t)process->command_len;
	}
	if (strcmp(file, "cgroup") == 0)
		return snprintf(text, size, "0::%s\n", process->is_zombie ? "/" : process->cgroup);
	if (strcmp(file, "smaps_rollup") == 0 && process->pss_kb)
		return snprintf(text, size,
				"0-1 ---p 0 0:0 0 [rollup]\nRss: %llu kB\nPss: %llu kB\n"
				"Private_Clean: 4 kB\nPrivate_Dirty: 8 kB\n",
				(unsigned long long)process->rss_kb,
				(unsigned long long)process->pss_kb);
	return -ENOENT;
}

static ssize_t print_machine(const struct world *world, char *text, size_t size)
{
	char row[200];
	size_t len;

	snprintf(row, sizeof(row), " 0 0 0 %lld 0 %lld %lld %lld 0 0\n",
		 (long long)world->idle_ns / TICK_NS, (long long)world->irq_ns / TICK_NS,
		 (long long)world->softirq_ns / TICK_NS, (long long)world->steal_ns / TICK_NS);
	len = (size_t)snprintf(text, size, "cpu %s", row);
	for (unsigned i = 0; i < world->n_cpus; i++)
		len += (size_t)snprintf(text + len, size - len, "cpu%u%s", i, row);
	return (ssize_t)(len + (size_t)snprintf(text + len, size - len, "intr 0 0 0\n"));
}

/* A file's content. Negative: it cannot be read (any more). */
static ssize_t print(struct world *world, const char *path, char *text, size_t size)
{
	char file[64];
	int pid, at = 0;

	if (world->no_proc && strncmp(path, "/proc", 5) == 0)
		return -ENOENT;
	if (strcmp(path, "/proc/loadavg") == 0 && !world->no_loadavg)
		return snprintf(text, size, "0.10 0.20 0.30 1/100 %d\n", world->newest);
	if (strcmp(path, "/proc/stat") == 0 && !world->no_stat)
		return print_machine(world, text, size);
	for (size_t i = 0; i < world->n_files; i++)
		if (strcmp(world->files[i].path, path) == 0)
			return snprintf(text, size, "%s", world->files[i].text);
	if (sscanf(path, "/proc/%d/%63[a-z_]%n", &pid, file, &at) == 2 && path[at] == '\0' &&
	    pid > 0 && pid < WORLD_PIDS && world->of[pid])
		return print_process(world->of[pid], file, text, size);
	return -ENOENT;
}

static bool is_stat_of_process(const char *path)
{
	int pid, at = 0;

	return sscanf(path, "/proc/%d/stat%n", &pid, &at) == 1 && at > 0 && path[at] == '\0';
}

static int open_file(struct world *world, const char *path)
{
	static _Thread_local char text[65536];
	ssize_t len;

	world->opens++;
	world->stats_opened += is_stat_of_process(path);
	if (fails(world))
		return -world->fail_errno;
	len = print(world, path, text, sizeof(text));
	if (len < 0)
		return (int)len;
	for (size_t i = 0; i < UNIT_COUNT(world->handles); i++)
		if (!world->handles[i].path[0]) {
			snprintf(world->handles[i].path, sizeof(world->handles[i].path), "%s",
				 path);
			world->open_now++;
			return (int)i;
		}
	return -EMFILE;
}

static int world_file_open(struct wtl_io *io, const char *path)
{
	struct world *world = world_of(io);
	int rc;

	pthread_mutex_lock(&world->lock);
	rc = open_file(world, path);
	pthread_mutex_unlock(&world->lock);
	return rc;
}

static ssize_t world_file_read(struct wtl_io *io, int file, void *buf, size_t size)
{
	struct world *world = world_of(io);
	static _Thread_local char text[65536];
	ssize_t len;

	assert_in_range(file, 0, UNIT_COUNT(world->handles) - 1);
	assert_true(world->handles[file].path[0] != '\0');
	if (fails(world))
		return -world->fail_errno;
	len = print(world, world->handles[file].path, text, sizeof(text));
	if (len == -ENOENT)
		return -ESRCH;
	if (len > (ssize_t)size)
		len = (ssize_t)size;
	if (len > 0)
		memcpy(buf, text, (size_t)len);
	return len;
}

static void world_file_close(struct wtl_io *io, int file)
{
	struct world *world = world_of(io);

	assert_true(world->handles[file].path[0] != '\0');
	pthread_mutex_lock(&world->lock);
	world->handles[file].path[0] = '\0';
	world->open_now--;
	pthread_mutex_unlock(&world->lock);
}

static ssize_t world_link_read(struct wtl_io *io, const char *path, char *buf, size_t size)
{
	struct world *world = world_of(io);

	if (fails(world))
		return -world->fail_errno;
	if (strcmp(path, "/proc/self") == 0 && world->has_pmu)
		return snprintf(buf, size, "%d", world->self ? world->self : 1);
	if (strcmp(path, "/proc/thread-self") == 0 && world->own_thread)
		return snprintf(buf, size, "%d/task/%d", world->self ? world->self : 1,
				world->own_thread);
	if (strcmp(path, "/proc/self/ns/pid") == 0) {
		for (size_t i = 0; i < world->n_files; i++)
			if (strcmp(world->files[i].path, path) == 0)
				return snprintf(buf, size, "%s", world->files[i].text);
		return snprintf(buf, size, "pid:[4026531836]");
	}
	return -ENOENT;
}

/* /proc/PID/task: the first thread has the process's number, others one that is nobody's. */
static int list_tasks(const struct world *world, int pid, struct wtl_buf *names)
{
	const struct world_process *process = pid < WORLD_PIDS ? world->of[pid] : NULL;

	if (!process || process->is_unlisted)
		return -ENOENT;
	for (unsigned i = 0; i < process->n_threads; i++) {
		char name[16];
		int len = snprintf(name, sizeof(name), "%d", (int)i * WORLD_PIDS + pid);

		if (wtl_buf_add(names, name, (size_t)len + 1) < 0)
			return names->error;
	}
	return (int)process->n_threads;
}

static int world_dir_read(struct wtl_io *io, const char *path, struct wtl_buf *names)
{
	struct world *world = world_of(io);
	int n = 0, of;

	world->dir_reads++;
	if (fails(world) || world->fails_listing)
		return -world->fail_errno;
	if (world->no_proc)
		return -ENOENT;
	if (sscanf(path, "/proc/%d/task", &of) == 1)
		return list_tasks(world, of, names);
	assert_string_equal(path, "/proc");
	for (unsigned i = 0; i < world->births_in_listing; i++)
		world_run(world, world_fork(world, 1), 1000000);
	for (int pid = 1; pid <= world->highest; pid++) {
		char name[16];

		if (!world->of[pid] || world->of[pid]->is_unlisted)
			continue;
		snprintf(name, sizeof(name), "%d", pid);
		if (wtl_buf_add(names, name, strlen(name) + 1) < 0)
			return names->error;
		n++;
	}
	/* And what is no process. */
	if (wtl_buf_add(names, "self", 5) < 0 || wtl_buf_add(names, "4x", 3) < 0 ||
	    wtl_buf_add(names, "0", 2) < 0 || wtl_buf_add(names, "99999999999", 12) < 0)
		return names->error;
	return n + 4;
}

/* ---- Clocks and records ---- */

static int world_process_cpu(struct wtl_io *io, const int pids[], int64_t cpu_ns[], size_t n)
{
	struct world *world = world_of(io);

	if (world->no_clocks)
		return -EOPNOTSUPP;
	world->clock_asks++;
	world->clocks_asked += (unsigned)n;
	if (fails(world) || world->fails_clocks)
		return -world->fail_errno;
	for (size_t i = 0; i < n; i++) {
		assert_true(pids[i] > 0);
		cpu_ns[i] = -ESRCH;
		if (!world->foreign && pids[i] < WORLD_PIDS && world->of[pids[i]])
			cpu_ns[i] = world->of[pids[i]]->cpu_ns;
		else if (pids[i] == world->own_thread)
			cpu_ns[i] = 77;
	}
	return 0;
}

/* ---- Counters ---- */

static struct wtl_perf_count count_of(const struct world_process *process, unsigned n_threads)
{
	unsigned part = process->running_part ? process->running_part : 1;

	return (struct wtl_perf_count){
		.count = process->count / n_threads / part,
		.enabled_ns = process->cpu_ns / n_threads,
		.running_ns = process->cpu_ns / n_threads / part,
	};
}

static int world_perf_open(struct wtl_io *io, const struct wtl_perf_event *event)
{
	struct world *world = world_of(io);
	int pid = event->task % WORLD_PIDS;
	size_t i = 0;

	assert_true(event->task > 0);
	assert_int_equal(event->type, PERF_TYPE_HARDWARE);
	world->perf_opens++;
	if (fails(world))
		return -world->fail_errno;
	if (!world->has_pmu)
		return world->pmu_errno ? -world->pmu_errno : -ENOENT;
	if (!world->of[pid] || world->of[pid]->is_zombie ||
	    (world->of[pid]->has_gone && event->task / WORLD_PIDS == 1))
		return -ESRCH;
	if (world->of[pid]->is_closed)
		return -EACCES;
	if (world->max_counters && world->counters_now >= (int)world->max_counters)
		return -EMFILE;
	while (world->counters[i].is_used)
		assert_true(++i < UNIT_COUNT(world->counters));
	world->counters[i] = (struct world_counter){
		.is_used = true, .pid = pid, .n_threads = world->of[pid]->n_threads};
	world->event = event->config;
	world->open_now++;
	world->counters_now++;
	if (world->counters_now > world->counters_most)
		world->counters_most = world->counters_now;
	return (int)i;
}

static int world_perf_count(struct wtl_io *io, int file, struct wtl_perf_count *ret_count)
{
	struct world *world = world_of(io);
	struct world_counter *counter = &world->counters[file];

	assert_true(counter->is_used);
	if (fails(world))
		return -world->fail_errno;
	if (counter->pid && world->of[counter->pid])
		counter->last = count_of(world->of[counter->pid], counter->n_threads);
	*ret_count = counter->last;
	return 0;
}

static void world_perf_close(struct wtl_io *io, int file)
{
	struct world *world = world_of(io);

	assert_true(world->counters[file].is_used);
	world->counters[file].is_used = false;
	world->open_now--;
	world->counters_now--;
}

/* What a process did until it ended can still be read. */
static void counters_keep(struct world *world, int pid)
{
	for (size_t i = 0; i < UNIT_COUNT(world->counters); i++) {
		struct world_counter *counter = &world->counters[i];

		if (!counter->is_used || counter->pid != pid)
			continue;
		counter->last = count_of(world->of[pid], counter->n_threads);
		counter->pid = 0;
	}
}

unsigned world_counted(const struct world *world, int pid)
{
	unsigned n = 0;

	for (size_t i = 0; i < UNIT_COUNT(world->counters); i++)
		n += world->counters[i].is_used && world->counters[i].pid == pid;
	return n;
}

static int world_exits_open(struct wtl_io *io)
{
	struct world *world = world_of(io);

	if (fails(world))
		return -world->fail_errno;
	if (world->exits_errno)
		return -world->exits_errno;
	assert_false(world->listens);
	world->listens = true;
	world->open_now++;
	return 0; /* as the real machine's first one */
}

static ssize_t world_exits_read(struct wtl_io *io, int file, void *buf, size_t size)
{
	struct world *world = world_of(io);
	size_t len;

	assert_int_equal(file, 0);
	if (fails(world))
		return -world->fail_errno;
	if (world->has_lost) {
		world->has_lost = false;
		return -ENOBUFS;
	}
	if (world->queue_at == world->queue_len) {
		world->queue_at = world->queue_len = 0;
		return 0;
	}
	memcpy(&len, world->queue + world->queue_at, sizeof(len));
	assert_true(len <= size);
	memcpy(buf, world->queue + world->queue_at + sizeof(len), len);
	world->queue_at += sizeof(len) + len;
	return (ssize_t)len;
}

static void world_exits_close(struct wtl_io *io, int file)
{
	struct world *world = world_of(io);

	assert_int_equal(file, 0);
	assert_true(world->listens);
	world->listens = false;
	world->open_now--;
}

static void queue_add(struct world *world, const void *bytes, size_t len)
{
	if (world->queue_len + len > world->queue_size) {
		world->queue_size = 2 * (world->queue_len + len);
		world->queue = realloc(world->queue, world->queue_size);
		assert_non_null(world->queue);
	}
	memcpy(world->queue + world->queue_len, bytes, len);
	world->queue_len += len;
}

/* {AGGR_x {x, STATS}}; returns the end. */
static unsigned char *put_aggregate(unsigned char *at, unsigned aggregate, unsigned kind,
				    uint32_t number, const struct taskstats *stats,
				    size_t stats_len)
{
	struct nlattr frame = {.nla_len = (uint16_t)(4 + 8 + 4 + stats_len),
			       .nla_type = (uint16_t)aggregate};
	struct nlattr id = {.nla_len = 8, .nla_type = (uint16_t)kind};
	struct nlattr payload = {.nla_len = (uint16_t)(4 + stats_len),
				 .nla_type = TASKSTATS_TYPE_STATS};

	memcpy(at, &frame, 4);
	memcpy(at + 4, &id, 4);
	memcpy(at + 8, &number, 4);
	memcpy(at + 12, &payload, 4);
	memcpy(at + 16, stats, stats_len);
	return at + 16 + stats_len;
}

static void record_send(struct world *world, const struct world_process *process, int task,
			int64_t cpu_ns, bool with_group)
{
	unsigned version = world->version ? world->version : 13;
	size_t stats_len =
		version >= 12 ? sizeof(struct taskstats) : offsetof(struct taskstats, ac_tgid);
	unsigned char message[2048] = {0}, *at = message + NLMSG_HDRLEN + GENL_HDRLEN;
	struct taskstats stats = {.version = (uint16_t)version}, group = {.version = 13};
	struct nlmsghdr header = {.nlmsg_type = 28};
	struct genlmsghdr generic = {.cmd = TASKSTATS_CMD_NEW, .version = 1};
	size_t len;

	if (!world->listens)
		return;
	if (world->loses) {
		world->has_lost = true;
		return;
	}
	stats.cpu_run_virtual_total = (uint64_t)cpu_ns;
	stats.cpu_run_real_total = (uint64_t)cpu_ns / 4000000 * 4000000;
	stats.ac_uid = process->uid;
	stats.ac_pid = (uint32_t)task;
	stats.ac_ppid = (uint32_t)process->parent;
	stats.ac_tgid = version >= 12 ? (uint32_t)process->pid : 0;
	stats.ac_etime = (uint64_t)(world->boot_ns - process->start_ns) / 1000;
	memcpy(stats.ac_comm, process->name, sizeof(stats.ac_comm));
	at = put_aggregate(at, TASKSTATS_TYPE_AGGR_PID, TASKSTATS_TYPE_PID, (uint32_t)task, &stats,
			   stats_len);
	group.cpu_run_virtual_total = (uint64_t)process->cpu_ns;
	if (with_group)
		at = put_aggregate(at, TASKSTATS_TYPE_AGGR_TGID, TASKSTATS_TYPE_TGID,
				   (uint32_t)process->pid, &group, stats_len);
	len = (size_t)(at - message);
	header.nlmsg_len = (uint32_t)len;
	memcpy(message, &header, sizeof(header));
	memcpy(message + NLMSG_HDRLEN, &generic, sizeof(generic));
	queue_add(world, &len, sizeof(len));
	queue_add(world, message, len);
}

static int64_t world_clock(struct wtl_io *io, enum wtl_clock clock)
{
	return clock == WTL_CLOCK_MONO ? world_of(io)->mono_ns : world_of(io)->boot_ns;
}

/* The others are not for this: a call crashes the test. */
static const struct wtl_io_ops world_ops = {
	.file_open = world_file_open,
	.file_read = world_file_read,
	.file_close = world_file_close,
	.link_read = world_link_read,
	.dir_read = world_dir_read,
	.perf_open = world_perf_open,
	.perf_count = world_perf_count,
	.perf_close = world_perf_close,
	.process_cpu = world_process_cpu,
	.exits_open = world_exits_open,
	.exits_read = world_exits_read,
	.exits_close = world_exits_close,
	.clock_ns = world_clock,
};

/* ---- Lives ---- */

static struct world_process *process_add(struct world *world, int pid, int parent, const char *name)
{
	struct world_process *process = calloc(1, sizeof(*process));

	assert_non_null(process);
	assert_null(world->of[pid]);
	world->of[pid] = process;
	if (pid > world->highest)
		world->highest = pid;
	process->pid = pid;
	process->parent = parent;
	process->n_threads = 1;
	process->start_ns = world->boot_ns;
	process->rss_kb = 1000;
	snprintf(process->name, sizeof(process->name), "%s", name);
	snprintf(process->cgroup, sizeof(process->cgroup), "/");
	return process;
}

void world_init(struct world *world)
{
	memset(world, 0, sizeof(*world));
	world->io.ops = &world_ops;
	pthread_mutex_init(&world->lock, NULL);
	world->n_cpus = 2;
	world->pid_max = WORLD_PIDS;
	world->mono_ns = world->boot_ns = 1000 * (int64_t)WORLD_START_NS;
	world->idle_ns = 900 * (int64_t)WORLD_START_NS;
	world->fail_errno = EIO;
	process_add(world, 1, 0, "init");
	process_add(world, 2, 0, "kthreadd")->is_kernel = true;
	world->newest = 2;
}

void world_done(struct world *world)
{
	wtl_workload_free(world->workload);
	for (int pid = 0; pid <= world->highest; pid++)
		free(world->of[pid]);
	free(world->queue);
	free(world->accounts);
	assert_int_equal(world->open_now, 0);
}

int world_setup(void **state)
{
	static struct world world; /* large */

	world_init(&world);
	*state = &world;
	return 0;
}

int world_teardown(void **state)
{
	world_done(*state);
	return 0;
}

void world_put(struct world *world, const char *path, const char *text)
{
	size_t at = 0;

	while (at < world->n_files && strcmp(world->files[at].path, path) != 0)
		at++;
	assert_true(at < WORLD_FILES);
	if (at == world->n_files)
		world->n_files++;
	snprintf(world->files[at].path, sizeof(world->files[at].path), "%s", path);
	snprintf(world->files[at].text, sizeof(world->files[at].text), "%s", text);
}

void world_take_away(struct world *world, const char *path)
{
	for (size_t i = 0; i < world->n_files; i++)
		if (strcmp(world->files[i].path, path) == 0)
			strcpy(world->files[i].path, "(free)");
	for (size_t i = 0; i < UNIT_COUNT(world->handles); i++)
		if (strcmp(world->handles[i].path, path) == 0)
			strcpy(world->handles[i].path, "(gone)");
}

int world_fork(struct world *world, int parent)
{
	struct world_process *from = world_at(world, parent);
	struct world_process *process;
	int pid = world->newest;

	do
		pid = pid + 1 < world->pid_max ? pid + 1 : FIRST_AGAIN;
	while (world->of[pid]);
	world->newest = pid;
	process = process_add(world, pid, parent, from->name);
	from->has_forked = true;
	process->is_kernel = from->is_kernel;
	process->uid = from->uid;
	memcpy(process->cgroup, from->cgroup, sizeof(process->cgroup));
	memcpy(process->command, from->command, sizeof(process->command));
	process->command_len = from->command_len;
	return pid;
}

void world_exec(struct world *world, int pid, const char *name, const char *command)
{
	struct world_process *process = world_at(world, pid);

	snprintf(process->name, sizeof(process->name), "%s", name);
	snprintf(process->command, sizeof(process->command), "%s", command);
	process->command_len = strlen(process->command) + 1;
}

void world_run(struct world *world, int pid, int64_t cpu_ns)
{
	struct world_process *process = world_at(world, pid);

	process->cpu_ns += cpu_ns;
	process->count += (uint64_t)(cpu_ns / 1000) * process->per_us;
	world->busy_ns += cpu_ns;
}

void world_unseen(struct world *world, int64_t cpu_ns)
{
	world->busy_ns += cpu_ns;
}

static void end_thread(struct world *world, int pid, int task, int64_t cpu_ns)
{
	struct world_process *process = world_at(world, pid);

	world_run(world, pid, cpu_ns);
	process->n_threads = 2;
	record_send(world, process, task, cpu_ns, false);
}

void world_thread(struct world *world, int pid, int64_t cpu_ns)
{
	end_thread(world, pid, ++world->newest, cpu_ns);
}

void world_first_thread(struct world *world, int pid, int64_t cpu_ns)
{
	end_thread(world, pid, pid, cpu_ns);
}

void world_exit(struct world *world, int pid)
{
	struct world_process *process = world_at(world, pid);

	assert_false(process->is_zombie);
	process->is_zombie = true;
	record_send(world, process, pid, process->n_threads > 1 ? 1 : process->cpu_ns,
		    process->n_threads > 1);
	world_run(world, pid, world->teardown_ns);
	/* Who has children has forked. */
	for (int i = 1; i <= world->highest && process->has_forked; i++)
		if (world->of[i] && world->of[i]->parent == pid)
			world->of[i]->parent = 1;
}

void world_reap(struct world *world, int pid)
{
	struct world_process *process = world_at(world, pid);

	assert_true(process->is_zombie);
	if (process->parent > 0)
		world_at(world, process->parent)->child_ns += process->cpu_ns + process->child_ns;
	counters_keep(world, pid);
	free(process);
	world->of[pid] = NULL;
}

void world_end(struct world *world, int pid)
{
	world_exit(world, pid);
	world_reap(world, pid);
}

int world_child(struct world *world, int parent, const char *name, int64_t cpu_ns)
{
	int pid = world_fork(world, parent);

	world_exec(world, pid, name, name);
	world_run(world, pid, cpu_ns);
	world_end(world, pid);
	return pid;
}

void world_pass(struct world *world, int64_t duration_ns)
{
	int64_t idle_ns = duration_ns * (int64_t)world->n_cpus - world->busy_ns;

	assert_true(idle_ns >= 0);
	world->mono_ns += duration_ns;
	world->boot_ns += duration_ns;
	world->idle_ns += idle_ns;
	world->busy_ns = 0;
}

/* ---- Looks ---- */

void world_open(struct world *world, const struct wtl_workload_options *options)
{
	const struct wtl_env env = {.io = &world->io};

	assert_return_code(wtl_workload_new(&env, options, &world->workload, NULL), 0);
}

static void accounts_grow(struct world *world)
{
	size_t n = wtl_workload_capacity(world->workload);

	assert_true(n >= world->n_accounts);
	if (n == world->n_accounts)
		return;
	world->accounts = reallocarray(world->accounts, n, sizeof(*world->accounts));
	assert_non_null(world->accounts);
	memset(world->accounts + world->n_accounts, 0,
	       (n - world->n_accounts) * sizeof(*world->accounts));
	world->n_accounts = n;
}

/* Every used slot's account is what its consumer says, and nothing is in others. */
static void check_accounts(const struct world *world)
{
	uint64_t sum = world->accounts[WTL_SLOT_UNSEEN] + world->accounts[WTL_SLOT_INTERRUPTS];

	assert_int_equal(world->accounts[WTL_SLOT_NOBODY], 0);
	for (uint32_t slot = wtl_workload_next(world->workload, 0); slot < world->n_accounts;
	     slot = wtl_workload_next(world->workload, slot + 1)) {
		const struct wtl_consumer *consumer = wtl_workload_consumer(world->workload, slot);

		assert_non_null(consumer);
		if (wtl_workload_weight(world->workload) == WTL_WEIGHT_CPU_TIME)
			assert_int_equal(consumer->cpu_ns, world->accounts[slot]);
		sum += world->accounts[slot];
	}
	assert_int_equal(sum, world->billed_ns);
}

int world_look(struct world *world, int64_t duration_ns)
{
	const struct wtl_workload_scan *look;
	uint64_t sum = 0;
	int rc;

	world_pass(world, duration_ns);
	rc = wtl_workload_tick(world->workload);
	look = wtl_workload_scan(world->workload);
	accounts_grow(world);
	for (size_t i = 0; i < look->n_folds; i++) {
		assert_true(look->folds[i].from < world->n_accounts);
		assert_true(look->folds[i].into < world->n_accounts);
		world->accounts[look->folds[i].into] += world->accounts[look->folds[i].from];
		world->accounts[look->folds[i].from] = 0;
	}
	for (size_t i = 0; i < look->n_uses; i++) {
		assert_true(look->uses[i].slot < world->n_accounts);
		assert_true(look->uses[i].weight > 0);
		for (size_t j = 0; j < i && i < 500; j++)
			assert_int_not_equal(look->uses[i].slot, look->uses[j].slot);
		world->accounts[look->uses[i].slot] += look->uses[i].weight;
		sum += look->uses[i].weight;
	}
	world->billed_ns += sum;
	assert_true(look->busy_ns >= 0);
	if (look->capacity_ns > 0)
		assert_true(look->busy_ns <= look->capacity_ns);
	else
		assert_int_equal(look->busy_ns, sum);
	world->busy_sum_ns += look->busy_ns;
	check_accounts(world);
	return rc;
}

uint64_t world_use(const struct world *world, uint32_t slot)
{
	const struct wtl_workload_scan *look = wtl_workload_scan(world->workload);

	for (size_t i = 0; i < look->n_uses; i++)
		if (look->uses[i].slot == slot)
			return look->uses[i].weight;
	return 0;
}

uint64_t world_pid_use(const struct world *world, int pid)
{
	int64_t slot = wtl_workload_find(world->workload, pid);

	if (slot < 0)
		fail_msg("process %d is not followed", pid);
	return world_use(world, (uint32_t)slot);
}

const struct wtl_consumer *world_consumer(const struct world *world, int pid)
{
	int64_t slot = wtl_workload_find(world->workload, pid);

	if (slot < 0)
		fail_msg("process %d is not followed", pid);
	return wtl_workload_consumer(world->workload, (uint32_t)slot);
}

const struct wtl_consumer *world_row(const struct world *world, const char *name,
				     uint32_t *ret_slot)
{
	for (uint32_t slot = wtl_workload_next(world->workload, 0);
	     slot < wtl_workload_capacity(world->workload);
	     slot = wtl_workload_next(world->workload, slot + 1)) {
		const struct wtl_consumer *consumer = wtl_workload_consumer(world->workload, slot);

		if (consumer->pid != 0 || strcmp(consumer->name, name) != 0)
			continue;
		if (ret_slot)
			*ret_slot = slot;
		return consumer;
	}
	return NULL;
}

uint64_t world_sum(const struct world *world, enum wtl_consumer_state state)
{
	uint64_t sum = 0;

	for (uint32_t slot = wtl_workload_next(world->workload, 0); slot < world->n_accounts;
	     slot = wtl_workload_next(world->workload, slot + 1))
		if (wtl_workload_consumer(world->workload, slot)->state == state)
			sum += world->accounts[slot];
	return sum;
}
