/* SPDX-License-Identifier: MIT */
#ifndef TEST_WORLD_H
#define TEST_WORLD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/io.h"
#include "workload/workload.h"

/*
 * A machine with processes, behind a struct wtl_io: they are born, run, end and are waited for when
 * told to, and /proc, CPU clocks and exit records say what a kernel would. The clocks move only by
 * world_pass(). Everything fails the running cmocka test by itself.
 */
enum { WORLD_PIDS = 1 << 17, WORLD_FILES = 16, WORLD_START_NS = 1000000000 };

struct world_process {
	int pid, parent;
	bool is_zombie, has_forked;
	int64_t cpu_ns, child_ns; /* child_ns: of those waited for */
	int64_t start_ns;	  /* of boot time */
	uint32_t uid;
	bool is_kernel;
	bool is_closed;	  /* its files are -EACCES */
	bool is_unlisted; /* with hidepid: its files are not there at all */
	unsigned n_threads;
	bool has_gone;		  /* the second thread is listed, and has ended since */
	int64_t ended_threads_ns; /* of that, in ended threads */
	char name[32];
	char command[64];
	size_t command_len;
	char cgroup[160];
	uint64_t rss_kb, pss_kb; /* pss 0: no smaps_rollup */
	uint64_t per_us;	 /* instructions in each µs of CPU time from now on */
	uint64_t count;		 /* so far */
	unsigned running_part;	 /* the counter runs one of so many nanoseconds; 0: all */
};

/* A counter of one of its threads, to each of which the same part is due. */
struct world_counter {
	bool is_used;
	int pid;
	unsigned n_threads;
	struct wtl_perf_count last; /* of one that is gone */
};

struct world {
	struct wtl_io io;
	struct wtl_workload *workload;

	struct world_process *of[WORLD_PIDS]; /* by pid; NULL: nobody */
	int newest, highest;		      /* highest: of all there have been */
	int pid_max;
	unsigned n_cpus;
	int64_t mono_ns, boot_ns;
	int64_t idle_ns, busy_ns; /* busy_ns: since the last world_pass() */
	int64_t irq_ns, softirq_ns, steal_ns;

	bool no_clocks;	 /* process_cpu: -EOPNOTSUPP */
	bool no_loadavg; /* no such file */
	bool no_stat;
	bool foreign;	  /* the clocks mean other processes by their numbers: nobody */
	bool no_proc;	  /* /proc is gone */
	int exits_errno;  /* 0: exit records can be had */
	unsigned version; /* of the records; 0: 13 */
	bool listens;
	int64_t teardown_ns; /* used by each process after its record */
	bool loses;	     /* records are lost, and that is told once */
	bool has_lost;
	int own_thread; /* the asking thread's number, not a process; 0: none */
	int self;	/* the asking process; 0: it is 1 */

	struct world_file {
		char path[160], text[600];
	} files[WORLD_FILES]; /* whatever else there is */
	size_t n_files;

	/* Records that were not read yet: length and bytes. */
	unsigned char *queue;
	size_t queue_len, queue_size, queue_at;

	struct world_handle {
		char path[160];
	} handles[512]; /* path "": free */
	/* Of the handles: GPUs' drivers are asked in a thread of its own, which opens files as well. */
	pthread_mutex_t lock;
	_Atomic int open_now;

	unsigned
		births_in_listing; /* of processes, just before /proc is listed; each has used 1 ms */
	unsigned clock_asks, clocks_asked, opens, stats_opened, perf_opens;
	_Atomic unsigned dir_reads;
	/* From 1: that call fails with fail_errno, and later ones if fail_always. */
	unsigned fail_at;
	_Atomic unsigned calls;
	int fail_errno;
	bool fail_always;
	_Atomic bool has_failed;
	bool fails_clocks, fails_listing;

	/* The processors' counters. */
	bool has_pmu;
	int pmu_errno;	       /* why there are none */
	unsigned max_counters; /* then there is no descriptor any more; 0: no limit */
	int counters_now, counters_most;
	uint64_t event; /* the code that was asked for last */
	struct world_counter counters[512];

	/* What was billed, by the rules of struct wtl_workload_scan. */
	uint64_t *accounts;
	size_t n_accounts;
	uint64_t billed_ns;
	int64_t busy_sum_ns;
};

/* A machine with processes 1 (init) and 2 (kthreadd), two CPUs and exit records. */
void world_init(struct world *world);
/* Frees the workload, and checks that no handle is open. */
void world_done(struct world *world);
/* A test's, whose state is a world. */
int world_setup(void **state);
int world_teardown(void **state);
void world_put(struct world *world, const char *path, const char *text);
/* It is no more: who has it open finds that out, whatever gets the path later. */
void world_take_away(struct world *world, const char *path);

/* Returns the number of a new process, which has the parent's name, user and group. */
int world_fork(struct world *world, int parent);
void world_exec(struct world *world, int pid, const char *name, const char *command);
void world_run(struct world *world, int pid, int64_t cpu_ns);
/* The counters that are held open for a process. */
unsigned world_counted(const struct world *world, int pid);
void world_unseen(struct world *world, int64_t cpu_ns); /* busy, and nobody's */
/* A thread of it ended after that much CPU time: a record, and no process ends. */
void world_thread(struct world *world, int pid, int64_t cpu_ns);
void world_first_thread(struct world *world, int pid, int64_t cpu_ns);
void world_exit(struct world *world, int pid); /* a zombie, and a record */
void world_reap(struct world *world, int pid);
void world_end(struct world *world, int pid); /* both */
/* A whole short life. */
int world_child(struct world *world, int parent, const char *name, int64_t cpu_ns);
struct world_process *world_at(struct world *world, int pid);

void world_pass(struct world *world, int64_t duration_ns);

/* NULL: default options. */
void world_open(struct world *world, const struct wtl_workload_options *options);
/* Time passes, one look, and its bill: checks what holds of every look. Returns the tick's code. */
int world_look(struct world *world, int64_t duration_ns);
/* The use of a slot, or of a live pid, in the last look. */
uint64_t world_use(const struct world *world, uint32_t slot);
uint64_t world_pid_use(const struct world *world, int pid);
/* The consumer of a live pid, or a failed test. */
const struct wtl_consumer *world_consumer(const struct world *world, int pid);
/* The row of that name, or NULL; and its slot. */
const struct wtl_consumer *world_row(const struct world *world, const char *name,
				     uint32_t *ret_slot);
/* All accounts together, of those in that state. */
uint64_t world_sum(const struct world *world, enum wtl_consumer_state state);

#endif
