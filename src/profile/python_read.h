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

enum { WTL_PYTHON_DEPTH = 2048, WTL_PYTHON_THREADS_MAX = 4096 };

/* Frames of one call of the interpreter's loop (_PyEval_EvalFrameDefault) stand together. */
struct wtl_python_frame {
	uint64_t code; /* the code object; 0: the loop was called, and has no frame yet */
	uint64_t address;
	bool is_entry; /* the outermost one of its call of the loop */
};

struct wtl_python_thread {
	int tid;
	uint64_t state, id; /* PyThreadState, and the number that it knows the thread by */
	uint64_t
		cframe; /* where its innermost frame was kept, when it was read last (3.11, 3.12) */
	uint64_t base;	/* its outermost frame then; 0: it was not read */
	struct wtl_python_snapshot snapshot;
};

struct wtl_python_target {
	int pid;
	struct wtl_python_layout layout;
	uint64_t runtime;		   /* _PyRuntime */
	struct wtl_python_thread *threads; /* those that were seen */
	size_t n, room;
	int64_t search_ns, backoff_ns; /* threads are not looked for again before then */
};

struct wtl_python_stack {
	struct wtl_python_frame frames[WTL_PYTHON_DEPTH]; /* the innermost first */
	size_t n;
	bool is_cut; /* it has more frames, towards its start */
	unsigned n_tries;
};

void wtl_python_target_done(struct wtl_python_target *target);
/*
 * 0; -ESRCH: the interpreter does not know that thread; -EAGAIN: it ran too fast for that; or another negative errno:
 * its memory cannot be read.
 */
int wtl_python_read(struct wtl_python_target *target, const struct wtl_python_memory *memory,
		    int tid, int64_t now_ns, struct wtl_python_stack *ret_stack);

#endif
