/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_MEMORY_H
#define WTL_PROFILE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "profile/trace.h"

/*
 * How much memory a program's processes have: their resident size (RSS) when a sample comes, and now and then what of it
 * is theirs where pages are shared (PSS). What they have grown by since the look before is charged to the stack that was
 * seen then. It is read from outside, and nothing is allocated or hooked in the program.
 */

struct wtl_memory_reading {
	int64_t t_ns; /* of the sample */
	uint64_t rss;
	int tid;
};

struct wtl_memory_process {
	int pid;
	int statm;			     /* a descriptor; < 0: it has ended */
	struct wtl_memory_reading *readings; /* where it changed, and every now and then */
	size_t n, room;
	int64_t pss_due_ns;
	uint64_t peak_rss, peak_pss, last_rss; /* PSS 0: not known */
};

struct wtl_memory {
	struct wtl_memory_process *processes; /* the one that was seen first is the first */
	size_t n, room;
	struct wtl_hash by_pid; /* the newest of a number */
	bool is_full;		/* there was no memory for all */
};

void wtl_memory_done(struct wtl_memory *memory); /* of zeros as well */
/* A thread's sample has just come. */
void wtl_memory_look(struct wtl_memory *memory, int pid, int tid, int64_t t_ns);

struct wtl_memory_change {
	uint64_t grown, shrunk; /* bytes */
};

/* Adds what each node of the trace has grown and shrunk by. Room for one a node. */
void wtl_memory_charge(const struct wtl_memory *memory, const struct wtl_trace *trace,
		       struct wtl_memory_change changes[]);

#endif
