/* SPDX-License-Identifier: MIT */
#ifndef WTL_WORKLOAD_TASKSTATS_H
#define WTL_WORKLOAD_TASKSTATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Exit records: what the kernel sends to listeners of taskstats when a task ends (include/uapi/linux/
 * taskstats.h, Documentation/accounting/taskstats.rst).
 */

/* A task that ended, or with is_group a whole process with several threads. */
struct wtl_exit {
	int pid;	    /* of the process where that is known, else of the task */
	int task;	    /* the task's own number */
	int parent;	    /* pid; 0: not told */
	uint32_t uid;	    /* UINT32_MAX: not told */
	char name[32];	    /* cleaned */
	int64_t cpu_ns;	    /* since it was born */
	int64_t elapsed_ns; /* since it was born; 0: not told */
	bool is_group;	    /* cpu_ns is that of all threads */
	/* A thread of a process that lives on, or whose record for all threads comes: no process of
	 * its own. */
	bool is_thread;
	/* Before version 12 (Linux 5.19) a thread's record looks like a process's. */
	bool may_be_thread;
};

/* Where a datagram has been read to. */
struct wtl_taskstats {
	const unsigned char *at;
	size_t left;
	unsigned n_bad; /* messages that were left out because they made no sense */
};

void wtl_taskstats_start(struct wtl_taskstats *reader, const void *datagram, size_t len);

/* The next task of the datagram; false when there is none, and then it is not called again. */
bool wtl_taskstats_next(struct wtl_taskstats *reader, struct wtl_exit *ret_exit);

#endif
