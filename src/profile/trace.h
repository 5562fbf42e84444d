/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_TRACE_H
#define WTL_PROFILE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/asleep.h"
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

/* Names of what no function is known of: samples without a place; what is below the known part of stacks when there are
 * too many; and, as "[name: too short]", threads without a sample. */
#define WTL_TRACE_UNRESOLVED "[unresolved]"
#define WTL_TRACE_REST	     "[too many different stacks]"
#define WTL_TRACE_SHORT	     "too short"

struct wtl_trace_thread {
	int pid, tid;
	char name[16];
	bool is_on;		/* on a processor, since on_ns */
	bool is_doubtful;	/* a record was lost since: it may have left, and come again */
	uint32_t cpu;		/* which one */
	int64_t on_ns, seen_ns; /* when it came, and was last recorded there */
	int64_t cpu_ns;
	int64_t off_ns, wait_ns; /* when it left; how long it was on none before */
	int64_t since_ns; /* when it was attached to, if nothing else is known of it; else 0 */
	/* Waits by place: after it left by itself, and after others pushed it off. */
	struct wtl_waits rests, pushed;
	bool is_pushed;		       /* when it last left */
	uint64_t mark;		       /* of where it last left; 0: not known */
	bool is_shown;		       /* a sample of it as it leaves was just taken, */
	uint32_t shown;		       /* at that node; 0: its stack is not known */
	enum wtl_unwind_end shown_end; /* of that stack */
	bool is_unsure;		       /* its Python functions are of another moment */
	bool is_told;		       /* where it last left was shown, by a whole stack */
	bool is_noted;		       /* its registers, as it last left, */
	uint32_t slot;		       /* in this slot of `asleep` */
	/* The node where a look found it asleep, from late_from_ns to late_ns; 0: there was no look. It holds for a
	 * wait that began before and ended after. */
	uint32_t late;
	int64_t late_from_ns, late_ns;
	bool is_mended; /* that stack is whole, and the one that was counted when it left is not */
	uint64_t n_samples;
	int64_t born_ns; /* 0: it is not known */
	size_t slice;	 /* its last one, + 1; 0: none */
	uint32_t node;	 /* for the time of a thread that never had a sample; else 0 */
	bool has_ended;
	bool is_new;	/* became a program, of which nothing else was recorded yet */
	bool is_hidden; /* that is all: the kernel ended its events, see wtl_trace_n_hidden() */
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
	struct wtl_unwind_place *places; /* WTL_TRACE_DEPTH: the stack being taken */
	struct wtl_tree tree;
	struct wtl_lines lines; /* of its frames, once they are named */
	struct wtl_python python;
	struct wtl_tails tails;
	struct wtl_asleep asleep; /* threads that left, and of which no stack came with that */
	struct wtl_trace_thread *threads;
	struct wtl_trace_slice *slices;	  /* in the order in which their ends were known */
	struct wtl_trace_sample *samples; /* by time */
	size_t n_threads, n_slices, n_samples, room_threads, room_slices, room_samples;
	struct wtl_hash by_tid; /* the newest thread of a number */
	uint32_t *on_cpus;	/* the thread on each processor, + 1; 0: none of the program's */
	size_t n_on_cpus;
	/* For each node, how long threads that left a processor there were on none. Nodes from n_waits on: 0. */
	int64_t *waits_ns;
	size_t n_waits;
	/* Of these: placed where the thread was shown before or after, and not placed. */
	int64_t guessed_ns, unplaced_ns;
	bool has_waits;	       /* waits are recorded */
	bool lacks_turns;      /* there are no samples of turns */
	bool lacks_kernel;     /* there are none of time in the kernel */
	uint64_t n_turns;      /* samples of threads that left a processor */
	uint64_t n_lost;       /* events that the kernel dropped */
	uint64_t n_broken;     /* samples, of turns as well, whose stack is not whole */
	uint64_t n_broken_ran; /* of them, those of threads that ran */
	uint64_t n_cut;	       /* of n_broken, those for which more of the stack had to be copied */
	uint64_t n_joined;     /* samples made whole by their tails (tails.h) */
	uint64_t n_unresolved; /* samples without any place */
	bool is_full;	       /* out of memory: some data are missing */
	/*
	 * Bounds, however long a profile takes. Beyond samples_most, only one of each 2^n_halved samples is kept.
	 * Beyond slices_most, slices of a thread that begin within the same slice_ns become one, as long as all of
	 * them.
	 */
	size_t samples_most, slices_most;
	unsigned n_halved;
	uint64_t n_taken; /* before some were dropped, or a window was cut */
	int64_t slice_ns;
	uint32_t unresolved; /* the frame of unresolved samples */
	uint32_t seen_node;  /* of the sample that was taken last */
};

/*
 * The programs of which nothing was seen: at the exec() of a file that its user may not read, or that gives other rights
 * (setuid), the kernel ends all perf events of the process.
 */
size_t wtl_trace_n_hidden(const struct wtl_trace *trace);

/* Rounds down to whole microseconds, in which times are kept: files become smaller. */
int64_t wtl_trace_time(int64_t t_ns);

/* An empty trace with the usual bounds, to be filled by the two calls below. */
void wtl_trace_clear(struct wtl_trace *trace);
/* At the bounds, slices are joined and samples dropped. */
void wtl_trace_add_slice(struct wtl_trace *trace, uint32_t thread, int64_t begin_ns,
			 int64_t end_ns);
void wtl_trace_add_sample(struct wtl_trace *trace, uint32_t thread, uint32_t node, int64_t t_ns);
/* Threads without a sample get one node for all of their command name. */
void wtl_trace_name_unseen(struct wtl_trace *trace);

/* A trace to be filled with ring events. 0 or negative. */
int wtl_trace_init(struct wtl_trace *trace, struct wtl_err *err);
void wtl_trace_done(struct wtl_trace *trace);
void wtl_trace_take(void *trace, const struct wtl_ring_event *event);
/* A sample has come, and will be taken later: reads Python frames and stack tails, which may change until then. */
void wtl_trace_glance(void *trace, const struct wtl_ring_glance *glance);
/* Events up to now were taken: reads the stacks of threads that sleep and were not shown to leave. */
void wtl_trace_look_back(struct wtl_trace *trace);
/* Ends the slices of threads on a processor at when they were last seen; new ones begin there. */
void wtl_trace_cut(struct wtl_trace *trace);
/* Drops samples and slices, which the caller has kept elsewhere; stacks and threads stay. */
void wtl_trace_forget(struct wtl_trace *trace);
/* Threads on a processor count up to now, if they were seen lately, or if /proc says that they run. */
void wtl_trace_end(struct wtl_trace *trace, int64_t now_ns);

#endif
