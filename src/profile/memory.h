/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_MEMORY_H
#define WTL_PROFILE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct wtl_trace;

/*
 * Memory of a program's processes: the resident size (RSS) at each sample and, now and then, the proportional size
 * (PSS), which has only a part of shared pages. Growth since the reading before is charged to the sample's stack. All
 * is read from outside: nothing is allocated or hooked in the program.
 */

struct wtl_memory_reading {
	int64_t t_ns;	      /* of the sample */
	uint64_t rss, before; /* bytes, now and at the reading before */
	uint32_t node;	      /* of the sample; 0: it is not known */
	int tid;
};

struct wtl_memory_process {
	int pid;
	int statm; /* a descriptor; < 0: it is not open now */
	bool has_ended;
	struct wtl_memory_reading *readings; /* when RSS changed, and now and then */
	size_t n, room;
	uint64_t n_looks; /* looks with a reading, kept or not */
	int64_t pss_due_ns;
	uint64_t peak_rss, peak_pss; /* PSS 0: not known */
};

/* How many statm files are open at a time. */
enum { WTL_MEMORY_FILES = 64 };

struct wtl_memory {
	struct wtl_memory_process *processes; /* in the order they were first seen */
	size_t n, room;
	struct wtl_hash by_pid;		  /* the newest of a PID */
	uint32_t files[WTL_MEMORY_FILES]; /* places of those with an open file, + 1; 0: free */
	/*
	 * The most readings kept (0: a million); raised if there are too many processes for it. At the limit, only one
	 * of each 2^n_halved is kept, and each process's last one, as if memory had been read less often.
	 */
	size_t readings_most, n_readings;
	unsigned n_halved;
	bool is_full; /* out of memory: some readings are missing */
};

void wtl_memory_done(struct wtl_memory *memory); /* all zeros is fine */
/* A thread's sample has just come: reads the process's size. */
void wtl_memory_look(struct wtl_memory *memory, int pid, int tid, int64_t t_ns);
/* That sample was taken: its node is known. */
void wtl_memory_seen(struct wtl_memory *memory, int pid, int tid, int64_t t_ns, uint32_t node);
/* The process has ended: its PID may be reused. */
void wtl_memory_ended(struct wtl_memory *memory, int pid);

struct wtl_memory_change {
	uint64_t grown, shrunk; /* bytes */
	uint64_t peak;		/* the most that the process had meanwhile; 0: it is not known */
};

void wtl_memory_add(struct wtl_memory_change *to, const struct wtl_memory_change *more);
/* Adds each node's growth, shrinkage and peak to changes[], one per node; node 0 has what belongs to no node. 0 or
 * -ENOMEM. */
int wtl_memory_charge(const struct wtl_memory *memory, const struct wtl_trace *trace,
		      struct wtl_memory_change changes[]);

#endif
