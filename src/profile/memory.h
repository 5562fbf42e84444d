/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_MEMORY_H
#define WTL_PROFILE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct wtl_trace;

/*
 * How much memory a program's processes have: their resident size (RSS) when a sample comes, and now and then what of it
 * is theirs where pages are shared (PSS). What they have grown by since the look before is charged to the stack that was
 * seen then. It is read from outside, and nothing is allocated or hooked in the program.
 */

struct wtl_memory_reading {
	int64_t t_ns; /* of the sample */
	uint64_t rss,
		before; /* now; and at the reading before, which is what it has changed since */
	uint32_t node;	/* of the sample; 0: it is not known */
	int tid;
};

struct wtl_memory_process {
	int pid;
	int statm; /* a descriptor; < 0: it is not open now */
	bool has_ended;
	struct wtl_memory_reading *readings; /* where it changed, and every now and then */
	size_t n, room;
	uint64_t n_looks; /* that came to a reading, also where it is not kept */
	int64_t pss_due_ns;
	uint64_t peak_rss, peak_pss; /* PSS 0: not known */
};

/* So many processes' files are open at a time. */
enum { WTL_MEMORY_FILES = 64 };

struct wtl_memory {
	struct wtl_memory_process *processes; /* the one that was seen first is the first */
	size_t n, room;
	struct wtl_hash by_pid;		  /* the newest of a number */
	uint32_t files[WTL_MEMORY_FILES]; /* whose are open: their places, + 1 */
	/*
	 * However long it takes, there are no more readings than so many (0: a million), or two of each process. Then one
	 * of each 2^n_halved is kept, and the last one: as if memory had been looked at so much less often.
	 */
	size_t readings_most, n_readings;
	unsigned n_halved;
	bool is_full; /* there was no memory for all */
};

void wtl_memory_done(struct wtl_memory *memory); /* of zeros as well */
/* A thread's sample has just come. */
void wtl_memory_look(struct wtl_memory *memory, int pid, int tid, int64_t t_ns);
/* It was taken: that is its node. */
void wtl_memory_seen(struct wtl_memory *memory, int pid, int tid, int64_t t_ns, uint32_t node);
/* Its number may be another process's from now on. */
void wtl_memory_ended(struct wtl_memory *memory, int pid);

struct wtl_memory_change {
	uint64_t grown, shrunk; /* bytes */
	uint64_t peak;		/* the most that the process had meanwhile; 0: it is not known */
};

void wtl_memory_add(struct wtl_memory_change *to, const struct wtl_memory_change *more);
/* Adds what each node has grown and shrunk by, and its peak; node 0 has what is of no node. Room for one a node.
 * 0 or -ENOMEM. */
int wtl_memory_charge(const struct wtl_memory *memory, const struct wtl_trace *trace,
		      struct wtl_memory_change changes[]);

#endif
