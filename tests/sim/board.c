/* SPDX-License-Identifier: MIT */
#include "board.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)

struct sim_board *sim_board_open(const char *dir, bool create)
{
	struct sim_board *board = NULL;
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/board", dir);
	fd = open(path, O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_TRUNC : 0), 0666);
	if (fd < 0)
		return NULL;
	/* The tool may have given up its privilege, and starts the workers. */
	if (create)
		fchmod(fd, 0666);
	if (!create || ftruncate(fd, sizeof(*board)) == 0) {
		board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (board == MAP_FAILED)
			board = NULL;
	}
	close(fd);
	return board;
}

void sim_board_close(struct sim_board *board)
{
	if (board)
		munmap(board, sizeof(*board));
}

int64_t sim_mono_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

void sim_sleep_until(int64_t t_mono_ns)
{
	struct timespec until = {t_mono_ns / NS_PER_S, t_mono_ns % NS_PER_S};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

int64_t sim_process_cpu_ns(int pid)
{
	struct timespec cpu;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &cpu) < 0)
		return -1;
	return cpu.tv_sec * NS_PER_S + cpu.tv_nsec;
}

/* A writer that was killed leaves the version odd: then what can be read is as good as it gets. */
int64_t sim_slot_cpu_ns(struct sim_slot *slot)
{
	int64_t sum_ns = 0;

	for (unsigned attempt = 0; attempt < 1000; attempt++) {
		unsigned version = atomic_load(&slot->version);

		sum_ns = atomic_load(&slot->ended_ns);
		for (int place = 0; place < 2; place++) {
			int pid = atomic_load(&slot->live[place]);
			int64_t cpu_ns = pid > 0 ? sim_process_cpu_ns(pid) : 0;

			sum_ns += cpu_ns > 0 ? cpu_ns : 0;
		}
		if (version % 2 == 0 && atomic_load(&slot->version) == version)
			break;
	}
	return sum_ns;
}

void sim_slot_started(struct sim_slot *slot, int place, int pid)
{
	if (place == 0) {
		atomic_store(&slot->pid, pid);
	} else {
		unsigned n = atomic_load(&slot->n_children);

		if (n < SIM_PIDS_MAX)
			atomic_store(&slot->children[n], pid);
		atomic_store(&slot->n_children, n + 1);
	}
	atomic_store(&slot->live[place], pid);
}

void sim_slot_wait(struct sim_slot *slot, int place)
{
	int pid = atomic_load(&slot->live[place]);
	struct rusage usage = {0};
	int64_t cpu_ns;
	siginfo_t info;
	unsigned version;

	while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	cpu_ns = sim_process_cpu_ns(pid);
	version = atomic_load(&slot->version) | 1U;
	atomic_store(&slot->version, version);
	if (cpu_ns < 0) {
		/* Without a clock for the dead: what the system tells of them, in µs. */
		wait4(pid, NULL, 0, &usage);
		cpu_ns = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_S +
			 (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
	}
	atomic_fetch_add(&slot->ended_ns, cpu_ns);
	atomic_store(&slot->live[place], 0);
	atomic_store(&slot->version, version + 1);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}
