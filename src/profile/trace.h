/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_TRACE_H
#define WTL_PROFILE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/lines.h"
#include "profile/python.h"
#include "profile/ring.h"
#include "profile/space.h"
#include "profile/tails.h"
#include "profile/tree.h"
#include "profile/unwind.h"
#include "profile/waits.h"

struct wtl_err;

/*
 * What a program did: its threads, when each was on a processor, and the stacks it was seen with. Filled from ring
 * events in the order of time.
 */

enum { WTL_TRACE_DEPTH = 512 };

struct wtl_trace_thread {
	int pid, tid;
	char name[16];
	bool is_on;		/* a processor, since on_ns, */
	bool is_doubtful;	/* a record was lost since: it may have left, and come again */
	uint32_t cpu;		/* that one, */
	int64_t on_ns, seen_ns; /* and was told to be then, for the last time */
	int64_t cpu_ns;
	int64_t off_ns, wait_ns; /* it is on none since then; so long it was before */
	/* Where: when it left by itself, and when others had all processors. */
	struct wtl_waits rests, pushed;
	bool is_pushed; /* the last time */
	bool is_shown;	/* a sample of it as it leaves was just taken, */
	uint32_t shown; /* of that node; 0: its stack could not be told */
	uint64_t n_samples;
	int64_t born_ns; /* 0: it is not known */
	size_t slice;	 /* its last one, + 1 */
	uint32_t
		node; /* of the time of a thread that ended before a sample of it was taken; 0: it has samples */
	bool has_ended;
	struct wtl_tail_need tail;
};

/* A stretch on a processor. */
struct wtl_trace_slice {
	uint32_t thread;
	int64_t begin_ns, end_ns;
};

struct wtl_trace_sample {
	uint32_t thread, node;
	int64_t t_ns;
};

struct wtl_trace {
	struct wtl_modules modules;
	struct wtl_spaces spaces;
	struct wtl_unwinder unwinder;
	struct wtl_unwind_place *places; /* WTL_TRACE_DEPTH: the stack that is taken */
	struct wtl_tree tree;
	struct wtl_lines lines; /* of its frames, when they were named */
	struct wtl_python python;
	struct wtl_tails tails;
	struct wtl_trace_thread *threads;
	struct wtl_trace_slice *slices;	  /* as they were known to end */
	struct wtl_trace_sample *samples; /* by time */
	size_t n_threads, n_slices, n_samples, room_threads, room_slices, room_samples;
	struct wtl_hash by_tid; /* the newest thread of a number */
	uint32_t *on_cpus;	/* the thread on each processor, + 1; 0: none of the program's */
	size_t n_on_cpus;
	/* Of each node, how long threads that left a processor there were on none; the rest of the nodes have none. */
	int64_t *waits_ns;
	size_t n_waits;
	bool has_waits;	       /* or nobody asked */
	uint64_t n_turns;      /* samples of threads that left a processor */
	uint64_t n_lost;       /* events that the kernel dropped */
	uint64_t n_broken;     /* samples whose stack is not whole */
	uint64_t n_joined;     /* that are whole by what was read of the program's memory */
	uint64_t n_unresolved; /* samples without any place */
	bool is_full;	       /* there was no memory for all */
	/*
	 * However long a profile takes, there are no more than so many of them. Of samples, then, one of each 2^n_halved
	 * is kept; slices of a thread that begin within the same slice_ns become one, as long as all of them.
	 */
	size_t samples_most, slices_most;
	unsigned n_halved;
	uint64_t n_taken;
	int64_t slice_ns;
	uint32_t unresolved; /* the frame of those */
	uint32_t seen_node;  /* of the sample that was taken last */
};

/* Times are kept in whole microseconds: that is half of what a file of them takes. */
int64_t wtl_trace_time(int64_t t_ns);

/* An empty one of bounded size, to be filled by hand. */
void wtl_trace_clear(struct wtl_trace *trace);
/* What is there already is joined, or dropped, where there is too much. */
void wtl_trace_add_slice(struct wtl_trace *trace, uint32_t thread, int64_t begin_ns,
			 int64_t end_ns);
void wtl_trace_add_sample(struct wtl_trace *trace, uint32_t thread, uint32_t node, int64_t t_ns);
/* Threads that were never seen have a row for all of their command. */
void wtl_trace_name_unseen(struct wtl_trace *trace);

/* Filled with what the kernel tells. */
int wtl_trace_init(struct wtl_trace *trace, struct wtl_err *err);
void wtl_trace_done(struct wtl_trace *trace);
void wtl_trace_take(void *trace, const struct wtl_ring_event *event);
/* A sample has come, and will be taken later: what runs on meanwhile is looked at. */
void wtl_trace_glance(void *trace, const struct wtl_ring_glance *glance);
/* Threads that are on a processor have a slice up to when they were seen, and go on with another one. */
void wtl_trace_cut(struct wtl_trace *trace);
/* Samples and slices, which somebody else keeps; stacks and threads stay. */
void wtl_trace_forget(struct wtl_trace *trace);
/* Threads that are on a processor were so up to now: if they ran lately, or are told to run by /proc. */
void wtl_trace_end(struct wtl_trace *trace, int64_t now_ns);

#endif
