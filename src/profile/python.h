/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_PYTHON_H
#define WTL_PROFILE_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/python_code.h"
#include "profile/python_read.h"
#include "profile/python_shown.h"
#include "profile/python_when.h"
#include "profile/space.h"
#include "profile/unwind.h"

struct wtl_tree;

/*
 * Python functions in stacks of processes that run CPython. A sample comes twice: soon after it was taken, when its
 * thread's Python frames may be read (glance); and in its order, when frames that were read replace the interpreter's
 * own (merge). A sample shows which function each interpreter loop runs, and where its Python frame lies. So a reading
 * of another moment will do if it is the only one that matches, or was seen both before and after the sample. While one
 * does for nearly all samples, frames are read after every 8th to 24th (see python_when.h); else as soon as each sample
 * is there. Up to 3.10 most samples need none (see python_shown.h).
 */

enum {
	WTL_PYTHON_PLACES = 512,  /* native frames of a stack, at most */
	WTL_PYTHON_READINGS = 64, /* kept per thread */
	WTL_PYTHON_LOG = 32,
	WTL_PYTHON_LEFT =
		16, /* innermost frames of a reading that may have returned or still run at a sample */
	WTL_PYTHON_MARKS = 2048,
};

/* A function that is not known. */
#define WTL_PYTHON_UNRESOLVED "[python: unresolved]"

/* Many readings are compared with each sample, but few match: marks quickly exclude the others. */
static inline uint16_t wtl_python_mark(uint64_t address)
{
	return address / 8 % WTL_PYTHON_MARKS;
}

struct wtl_python_reading {
	int64_t since_ns; /* when it was read first, or first again after it was not valid */
	int64_t t_ns;	  /* when it was read last */
	int64_t gone_ns;  /* not valid for samples after this; INT64_MAX: still valid */
	bool is_cut;	  /* the outermost frames are missing */
	unsigned
		n_read; /* how often it was read: one that was read rarely may be of two moments, */
	bool is_still; /* but not if its thread could not run, or had kept still for some readings */
	uint16_t marks[WTL_PYTHON_LEFT]; /* of the frames' addresses */
	size_t n;
	struct wtl_python_named *frames; /* the innermost first */
};

/* The distinct stacks that were read of a thread, and when. */
struct wtl_python_seen {
	int tid;
	int64_t read_ns;
	struct wtl_python_reading *readings;
	size_t n;
	/* Ring buffer of the last readings: the sample's time, and which of the readings. */
	struct {
		int64_t t_ns;
		size_t reading;
	} log[WTL_PYTHON_LOG];
	size_t n_logged;
};

struct wtl_python_process {
	int pid;
	struct wtl_module *module; /* CPython's */
	struct wtl_python_target target;
	struct wtl_python_codes codes;
	struct wtl_python_habit instruction, frame; /* where pointers to what runs are kept */
	struct wtl_python_shown shown;
	struct wtl_python_seen *seen;
	size_t n_seen, room_seen;
	int64_t prepare_ns; /* not tried again before then */
	bool is_ready;	    /* its layout is known */
	bool is_unknown;    /* its version is unknown, or it may not be read */
};

struct wtl_python {
	struct wtl_python_memory memory;
	struct wtl_modules *modules;
	struct wtl_tree *tree;
	struct wtl_python_process **list;
	size_t n, room;
	struct wtl_python_stack *stack;
	struct wtl_python_named *named; /* the stack's frames */
	/* Of the sample being merged: the kind of each place, and which of them are loops. */
	uint8_t *kinds;
	size_t *loops;
	uint8_t *by_row; /* kinds of CPython's places by wtl_unwind_place.row; 0: not known yet */
	size_t n_rows;
	struct wtl_python_when when;
	bool is_looked; /* there are no samples, but looks at /proc: any reading is better than none */
	unsigned n_still; /* readings in a row whose thread did not move */
	bool is_unsure; /* the sample that was merged last is told by a reading of another moment */
	bool is_behind; /* what was to be caught up with last could not be read, or not yet */
	uint64_t n_read;    /* readings that were of one moment */
	uint64_t n_late;    /* samples that came too late to be read */
	uint64_t n_hasty;   /* readings that failed: the thread ran too fast */
	uint64_t n_merged;  /* samples of Python, without turns, as in the next two */
	uint64_t n_moved;   /* samples whose reading came after the thread had moved on */
	uint64_t n_missing; /* samples of Python with an unresolved frame */
	uint64_t n_unknown; /* processes whose Python cannot be read */
	uint32_t unresolved;
};

/* 0 or -ENOMEM. */
int wtl_python_init(struct wtl_python *python, struct wtl_modules *modules, struct wtl_tree *tree);
void wtl_python_done(struct wtl_python *python);

/* A process has mapped that module: notes the process if it is CPython's. */
void wtl_python_mapped(struct wtl_python *python, const struct wtl_space *space, uint64_t start,
		       uint64_t offset, struct wtl_module *module);
void wtl_python_forked(struct wtl_python *python, int pid, int parent_pid);
/* The process ended, or became another program. */
void wtl_python_ended(struct wtl_python *python, int pid);
/* How many samples may collect before they are glanced at. 1: Python is read at each; UINT_MAX: there is no Python. */
unsigned wtl_python_awaits(const struct wtl_python *python);
struct wtl_python_process *wtl_python_find(const struct wtl_python *python, int pid);
/* Valid until the next call. NULL: no memory. */
struct wtl_python_seen *wtl_python_seen_of(struct wtl_python_process *process, int tid);

/* Whether a function of CPython is only a part of how it calls others. */
bool wtl_python_is_calling(const char *name);
/*
 * A sample came: reads its thread's frames, if it is time to. ran_ns: when the thread left its processor, if it is
 * still on none; else now. may_run: it may be running, on another processor.
 */
void wtl_python_glance(struct wtl_python *python, int pid, int tid, int64_t t_ns, int64_t ran_ns,
		       int64_t now_ns, bool may_run);
/*
 * Before a sample of a thread that left its processor is merged, without being read in time: reads its frames. If it is
 * still on none, they are the sample's; else they hardly fit. is_asleep: the sample was taken just now, of a thread
 * that sleeps.
 */
void wtl_python_catch_up(struct wtl_python *python, struct wtl_python_process *process, int tid,
			 int64_t t_ns, int64_t now_ns, bool is_asleep);
/* What was read first since when.apart_ns is not used for samples after when.back_ns. */
void wtl_python_forget(struct wtl_python *python);
/* The node of a sample's stack; negative: no memory. */
int64_t wtl_python_merge(struct wtl_python *python, struct wtl_python_process *process,
			 const struct wtl_ring_event *sample,
			 const struct wtl_unwind_place places[], size_t n, bool is_whole);
/* The node of a sample without a native stack, glanced at just before; 0: the thread is not known to run Python. */
int64_t wtl_python_looked(struct wtl_python *python, struct wtl_python_process *process, int tid,
			  int64_t t_ns);

#endif
