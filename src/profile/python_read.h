/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_PYTHON_READ_H
#define WTL_PROFILE_PYTHON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/python_layout.h"
#include "profile/python_memory.h"

/*
 * Stacks of CPython threads, read from outside while they run: what is read is checked to be of one moment, and read
 * again if it is not.
 */

enum { WTL_PYTHON_DEPTH = 2048, WTL_PYTHON_THREADS_MAX = 4096, WTL_PYTHON_CFRAME_BYTES = 8192 };

/* Frames of one call of the interpreter's loop (_PyEval_EvalFrameDefault) are next to each other. */
struct wtl_python_frame {
	uint64_t code; /* the code object; 0: the loop was called, and has no frame yet */
	uint64_t address;
	bool is_entry; /* the outermost one of its call of the loop */
};

struct wtl_python_range {
	uint64_t first, last; /* 0: there is none yet */
};

struct wtl_python_thread {
	int tid;
	uint64_t state,
		id; /* PyThreadState, and the number that it knows the thread by; 0: not found yet, */
	int64_t search_ns, backoff_ns; /* and not looked for again before then */
	/*
	 * Where its _PyCFrames were (3.11, 3.12): each call of the loop by C has one on C's stack. All from the first
	 * to the last are read together. `recent`, the range of the last walks, replaces that now and then.
	 */
	struct wtl_python_range cframes, recent;
	uint64_t base; /* its outermost frame as last accepted; 0: none yet */
	struct wtl_python_snapshot snapshot;
};

struct wtl_python_target {
	int pid;
	struct wtl_python_layout layout;
	uint64_t runtime;		   /* _PyRuntime */
	struct wtl_python_thread *threads; /* those that were seen */
	size_t n, room;
	/* Read before and after a walk's blocks: the thread's state, and C's stack. */
	uint8_t ends[2][WTL_PYTHON_STATE_BYTES + WTL_PYTHON_CFRAME_BYTES];
};

struct wtl_python_stack {
	struct wtl_python_frame frames[WTL_PYTHON_DEPTH]; /* the innermost first */
	size_t n;
	bool is_cut;		   /* the outermost frames are missing */
	unsigned n_tries, n_moves; /* n_moves: tries in which the thread was seen to move */
	struct wtl_python_snapshot *snapshot; /* it was read through; valid until the next read */
};

void wtl_python_target_done(struct wtl_python_target *target);
/*
 * may_run: the thread may run meanwhile, on another processor.
 * 0; -ESRCH: the interpreter does not know that thread; -EAGAIN: it ran too fast for that; or another negative errno:
 * its memory cannot be read.
 */
int wtl_python_read(struct wtl_python_target *target, const struct wtl_python_memory *memory,
		    int tid, int64_t now_ns, bool may_run, struct wtl_python_stack *ret_stack);

#endif
