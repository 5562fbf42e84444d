/* SPDX-License-Identifier: MIT */
/*
 * What following processes costs, and what it sees.
 *
 *	bench_workload tick N	CPU time of a look at N sleeping processes, beside reading each /proc/PID/stat
 *	bench_workload forks N [MS]	how much of the CPU time of N children of so many ms (5) is billed to somebody
 *	bench_workload sleep N	N sleeping processes until its input ends, for what others cost beside them
 *	bench_workload memory N	CPU time of reading the memory of a process of N MiB, beside walking it each time
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "energy/units.h"
#include "workload/workload.h"

enum { PROCESSES_MAX = 20000, LOOKS = 101, LOOK_MS = 500 };

static int64_t clock_now(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * WTL_NS_PER_S + now.tv_nsec;
}

static void sleep_ms(int ms)
{
	const struct timespec time = {.tv_nsec = (long)ms * WTL_NS_PER_MS};

	nanosleep(&time, NULL);
}

static struct wtl_workload *open_workload(struct wtl_io *io, bool without_exits)
{
	const struct wtl_workload_options options = {.without_exits = without_exits,
						     .subreaper_pid = getpid()};
	const struct wtl_env env = {.io = io};
	struct wtl_workload *workload;

	if (wtl_workload_new(&env, &options, &workload, NULL) < 0)
		exit(1);
	return workload;
}

static int compare(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static int64_t median(int64_t values[], size_t n)
{
	qsort(values, n, sizeof(values[0]), compare);
	return values[n / 2];
}

static void read_each(const pid_t pids[], int n)
{
	char path[32], text[1024];

	for (int i = 0; i < n; i++) {
		ssize_t len = -1;
		int fd;

		snprintf(path, sizeof(path), "/proc/%d/stat", pids[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			len = read(fd, text, sizeof(text));
		if (len <= 0)
			exit(1);
		close(fd);
	}
}

static int sleepers(pid_t pids[], int n)
{
	for (int i = 0; i < n; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			return i;
		if (pids[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	}
	return n;
}

static void end(const pid_t pids[], int n)
{
	for (int i = 0; i < n; i++)
		kill(pids[i], SIGKILL);
	for (int i = 0; i < n; i++)
		waitpid(pids[i], NULL, 0);
}

static void only_sleep(int wanted)
{
	static pid_t pids[PROCESSES_MAX];
	int n = sleepers(pids, wanted);
	char byte;

	puts("ready");
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	end(pids, n);
}

static void bench_tick(struct wtl_io *io, int wanted)
{
	static pid_t pids[PROCESSES_MAX];
	static int64_t look_ns[LOOKS], read_ns[LOOKS];
	int n = sleepers(pids, wanted);
	struct wtl_workload *workload = open_workload(io, false);
	int64_t look, all;

	/* Until all names are read. */
	for (int i = 0; i < n / 200 + 20; i++)
		wtl_workload_tick(workload);
	for (int i = 0; i < LOOKS; i++) {
		int64_t begin_ns = clock_now(CLOCK_THREAD_CPUTIME_ID);

		wtl_workload_tick(workload);
		look_ns[i] = clock_now(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
		begin_ns = clock_now(CLOCK_THREAD_CPUTIME_ID);
		read_each(pids, n);
		read_ns[i] = clock_now(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
	}
	look = median(look_ns, LOOKS);
	all = median(read_ns, LOOKS);
	printf("  %6d sleeping processes: a look %.3f ms of CPU (worst of %d: %.3f ms), reading each stat "
	       "%.3f ms: 1/%.1f\n",
	       n, (double)look / 1e6, LOOKS, (double)look_ns[LOOKS - 1] / 1e6, (double)all / 1e6,
	       (double)all / (double)look);
	wtl_workload_free(workload);
	end(pids, n);
}

/* In a process of its own: n children, one after the other. Its answer is their CPU time. */
static void fork_loop(int n, int64_t child_ns, int answer)
{
	struct rusage usage;
	int64_t cpu_ns;

	for (int i = 0; i < n; i++) {
		pid_t child = fork();

		if (child == 0) {
			while (clock_now(CLOCK_PROCESS_CPUTIME_ID) < child_ns)
				;
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	getrusage(RUSAGE_CHILDREN, &usage);
	cpu_ns = ((int64_t)usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * WTL_NS_PER_S +
		 ((int64_t)usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
	if (write(answer, &cpu_ns, sizeof(cpu_ns)) != sizeof(cpu_ns))
		_exit(1);
	pause();
}

static bool is_row(const struct wtl_consumer *consumer)
{
	return consumer->state == WTL_CONSUMER_FOLDED;
}

/* Else it is a row of what short-lived processes of a parent used, of which none was seen. */
static bool has_name(const struct wtl_consumer *consumer)
{
	return consumer->n_processes > 0;
}

/* What is billed to the tree, but for the loop itself. is: NULL for all. */
static int64_t billed(const struct wtl_workload *workload, pid_t loop,
		      bool (*is)(const struct wtl_consumer *consumer))
{
	int64_t cpu_ns = 0;

	for (uint32_t slot = wtl_workload_next(workload, 0); slot < wtl_workload_capacity(workload);
	     slot = wtl_workload_next(workload, slot + 1)) {
		const struct wtl_consumer *consumer = wtl_workload_consumer(workload, slot);

		if (consumer->is_in_tree && consumer->pid != loop && (!is || is(consumer)))
			cpu_ns += consumer->cpu_ns;
	}
	return cpu_ns;
}

static void bench_forks(struct wtl_io *io, int n, int ms, bool without_exits)
{
	struct wtl_workload *workload = open_workload(io, without_exits);
	int64_t truth_ns = 0, cpu_ns;
	uint64_t unseen_ns = 0;
	int pipes[2];
	pid_t loop;

	wtl_workload_tick(workload);
	if (pipe(pipes) < 0 || fcntl(pipes[0], F_SETFL, O_NONBLOCK) < 0)
		exit(1);
	loop = fork();
	if (loop == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fork_loop(n, ms * WTL_NS_PER_MS, pipes[1]);
	}
	wtl_workload_follow_tree(workload, loop);
	for (bool is_over = false; !is_over;) {
		const struct wtl_workload_scan *look;

		sleep_ms(LOOK_MS);
		is_over = read(pipes[0], &truth_ns, sizeof(truth_ns)) == sizeof(truth_ns);
		wtl_workload_tick(workload);
		look = wtl_workload_scan(workload);
		for (size_t i = 0; i < look->n_uses; i++)
			if (look->uses[i].slot == WTL_SLOT_UNSEEN)
				unseen_ns += look->uses[i].weight;
	}
	cpu_ns = billed(workload, loop, NULL);
	printf("  %s exit records: %.2f %% of the CPU time of %d children of %d ms is billed to them "
	       "(%.2f %% with a name, %.2f %% to rows), %.2f %% as much is unattributed\n",
	       wtl_workload_means(workload)->ways[WTL_WAY_EXIT_RECORDS].is_used ? "with   "
										: "without",
	       100 * (double)cpu_ns / (double)truth_ns, n, ms,
	       100 * (double)billed(workload, loop, has_name) / (double)truth_ns,
	       100 * (double)billed(workload, loop, is_row) / (double)truth_ns,
	       100 * (double)unseen_ns / (double)truth_ns);
	kill(loop, SIGKILL);
	waitpid(loop, NULL, 0);
	wtl_workload_free(workload);
}

static pid_t holder(int mebibytes)
{
	size_t size = (size_t)mebibytes << 20;
	int pipes[2];
	char ready;
	pid_t child;

	if (pipe(pipes) < 0)
		exit(1);
	child = fork();
	if (child == 0) {
		volatile char *memory = malloc(size);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!memory)
			_exit(1);
		for (size_t i = 0; i < size; i += 4096)
			memory[i] = 1;
		if (write(pipes[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(pipes[1]);
	if (read(pipes[0], &ready, 1) != 1)
		exit(1);
	close(pipes[0]);
	return child;
}

static void walk(pid_t pid)
{
	char path[48], text[4096];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text)) <= 0)
		exit(1);
	close(fd);
}

/* Beside it, what `wattle top` reads in a second, in the mean of a minute. */
static void bench_memory(struct wtl_io *io, int mebibytes)
{
	enum { SECONDS = 60, READINGS = 10 };
	pid_t child = holder(mebibytes);
	struct wtl_workload *workload = open_workload(io, false);
	int64_t walk_ns = INT64_MAX, begin_ns, read_ns;

	wtl_workload_tick(workload);
	for (int i = 0; i < 5; i++) {
		begin_ns = clock_now(CLOCK_THREAD_CPUTIME_ID);
		walk(child);
		begin_ns = clock_now(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
		walk_ns = begin_ns < walk_ns ? begin_ns : walk_ns;
	}
	begin_ns = clock_now(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < SECONDS; i++)
		wtl_workload_read_memory(workload, READINGS);
	read_ns = (clock_now(CLOCK_THREAD_CPUTIME_ID) - begin_ns) / SECONDS;
	printf("  %6d MiB: %.3f ms of CPU a walk; %d readings a second, of all processes in turn: %.3f ms a second\n",
	       mebibytes, (double)walk_ns / 1e6, READINGS, (double)read_ns / 1e6);
	wtl_workload_free(workload);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 0, ms = argc > 3 ? atoi(argv[3]) : 5;
	struct wtl_io *io;

	if (n < 1 || n > PROCESSES_MAX || wtl_io_real_new(NULL, &io, NULL) < 0) {
		fprintf(stderr, "usage: bench_workload tick|sleep|forks|memory N [MS]\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IONBF, 0);
	if (strcmp(argv[1], "tick") == 0) {
		bench_tick(io, n);
	} else if (strcmp(argv[1], "sleep") == 0) {
		only_sleep(n);
	} else if (strcmp(argv[1], "memory") == 0) {
		bench_memory(io, n);
	} else {
		bench_forks(io, n, ms, false);
		bench_forks(io, n, ms, true);
	}
	wtl_io_free(io);
	return 0;
}
