/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_PROCFS_H
#define WTL_BASE_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Parsers of /proc's files (Documentation/filesystems/proc.rst): pure functions over text that need
 * not end with a NUL. They return 0 or -EINVAL, and set their result only on success.
 */

enum {
	/* In the flags, include/linux/sched.h. */
	WTL_PROC_EXITING = 0x00000004,	     /* PF_EXITING, also of what is not waited for yet */
	WTL_PROC_KERNEL_THREAD = 0x00200000, /* PF_KTHREAD */
};

/* /proc/PID/stat; times in ticks. */
struct wtl_proc_stat {
	char name[32]; /* cleaned */
	char state;    /* 'Z': ended, not yet waited for */
	int pid;
	int parent;
	bool is_kernel;
	bool is_exiting;      /* it has left, or leaves, its control groups and its memory */
	uint64_t cpu_ticks;   /* user and system time */
	uint64_t child_ticks; /* of children that ended and were waited for */
	uint32_t n_threads;
	uint64_t start_ticks; /* since boot */
};

int wtl_proc_parse_stat(const char *text, size_t len, struct wtl_proc_stat *ret_stat);

/* /proc/PID/status. */
struct wtl_proc_status {
	int tgid;	    /* 0: not there */
	uint32_t uid;	    /* the real one; UINT32_MAX: not there */
	uint64_t rss_bytes; /* UINT64_MAX: not there, as for kernel threads */
	unsigned n_numbers; /* PID namespaces from that of /proc to its own; 0: not there */
	int own_pid;	    /* its number in the last of them */
};

int wtl_proc_parse_status(const char *text, size_t len, struct wtl_proc_status *ret_status);

/* /proc/loadavg: the number given last in the reader's PID namespace. */
int wtl_proc_parse_newest(const char *text, size_t len, int *ret_pid);

/* The first lines of /proc/stat, times in ticks over all CPUs. */
struct wtl_proc_machine {
	unsigned n_cpus;		 /* online */
	uint64_t idle_ticks;		 /* idle and waiting for disks */
	uint64_t steal_ticks;		 /* not ours: taken by the hypervisor */
	uint64_t all_ticks;		 /* with those, and with what is not named here */
	uint64_t hard_ticks, soft_ticks; /* interrupts */
};

/* -EAGAIN: the text ends within the CPUs' lines; all but their number is told all the same. */
int wtl_proc_parse_machine(const char *text, size_t len, struct wtl_proc_machine *ret_machine);

/* /proc/PID/smaps_rollup, bytes. */
struct wtl_proc_memory {
	uint64_t rss_bytes, pss_bytes, uss_bytes;
};

int wtl_proc_parse_rollup(const char *text, size_t len, struct wtl_proc_memory *ret_memory);

/* Arguments as one line: NULs become blanks, the end ones fall away, the rest is cleaned. */
void wtl_proc_clean_command(char *dst, size_t size, const char *text, size_t len);

/* Is something mounted over that file (by /proc/self/mountinfo)? */
bool wtl_proc_is_mounted(const char *mountinfo, size_t len, const char *path);

/* Does /proc hide processes from other users? Those whom its option gid= names, and root, see them all the same. */
bool wtl_proc_hides(const char *mountinfo, size_t len);

#endif
