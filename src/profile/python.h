/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_PYTHON_H
#define WTL_PROFILE_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/python_code.h"
#include "profile/python_read.h"
#include "profile/python_when.h"
#include "profile/space.h"
#include "profile/unwind.h"

struct wtl_tree;

/*
 * Python functions in stacks of processes that run CPython. A sample comes twice: soon after it was taken, when its
 * thread's Python frames may be read (glance); and in its order, when frames that were read are put in place of the
 * interpreter's own ones (merge). A sample shows which function each of its loops runs, and where that one's frame
 * lies. So a reading of another moment is as good, if it is the only one with those, or was read before as after the
 * sample: while that is so for nearly all samples, frames are read after every 8th to 24th of them (see
 * python_when.h); else as soon as a sample is there.
 */

enum {
	WTL_PYTHON_PLACES = 512,  /* of a stack, at the most */
	WTL_PYTHON_READINGS = 64, /* of a thread that are kept */
	WTL_PYTHON_LOG = 32,
	WTL_PYTHON_LEFT =
		16, /* of a reading, those that a sample may be of: others returned since */
	WTL_PYTHON_MARKS = 2048,
};

struct wtl_python_named {
	uint32_t frame;	     /* of the tree */
	bool is_entry;	     /* as in wtl_python_frame */
	bool is_nobody;	     /* the loop was called, and has no frame yet */
	uint64_t address;    /* of the interpreter's frame */
	uint64_t begin, end; /* of its instructions */
};

/* Many readings are compared with each sample, and few have a frame of it: of the others, marks are enough to see. */
static inline uint16_t wtl_python_mark(uint64_t address)
{
	return address / 8 % WTL_PYTHON_MARKS;
}

struct wtl_python_reading {
	int64_t t_ns;			 /* when it was read last */
	int64_t gone_ns;		 /* a function of it was freed by then */
	bool is_cut;			 /* frames towards its start are missing */
	uint16_t marks[WTL_PYTHON_LEFT]; /* of the frames' addresses */
	size_t n;
	struct wtl_python_named *frames; /* the innermost first */
};

/*
 * Where the interpreter's loop keeps something: in one of the registers that calls keep, or so many words below the end
 * of its own stack. Compilers choose one place for nearly all of the loop; elsewhere are words from before.
 */
enum { WTL_PYTHON_WORDS = 96, WTL_PYTHON_HABITS = WTL_UNWIND_KEPT + WTL_PYTHON_WORDS };

struct wtl_python_habit {
	uint16_t n_found[WTL_PYTHON_HABITS], n; /* times that it was there; of so many */
	int usual;				/* nearly always; negative: not known */
};

/* The stacks that a thread was seen with, no two of which are the same; and when. */
struct wtl_python_seen {
	int tid;
	int64_t read_ns;
	struct wtl_python_reading *readings;
	size_t n;
	/* The last times, in a circle: a sample's own, and which of the readings. */
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
	struct wtl_python_habit instruction, frame; /* of what runs: pointers to them */
	struct wtl_python_seen *seen;
	size_t n_seen, room_seen;
	int64_t prepare_ns; /* not tried again before then */
	bool is_ready;	    /* its layout is known */
	bool is_unknown;    /* it is of a version that is not known, or may not be read */
};

struct wtl_python {
	struct wtl_python_memory memory;
	struct wtl_modules *modules;
	struct wtl_tree *tree;
	struct wtl_python_process **list;
	size_t n, room;
	struct wtl_python_stack *stack;
	struct wtl_python_named *named; /* that stack's */
	/* Of the sample that is merged: what each of its places is, and which of them are loops. */
	uint8_t *kinds;
	size_t *loops;
	uint8_t *by_row; /* what places of CPython are (wtl_unwind_place); 0: not asked yet */
	size_t n_rows;
	struct wtl_python_when when;
	uint64_t n_read;    /* readings that were of one moment */
	uint64_t n_late;    /* samples that came too late to be read */
	uint64_t n_hasty;   /* the thread ran too fast */
	uint64_t n_merged;  /* samples of Python */
	uint64_t n_moved;   /* the thread was elsewhere when it was read */
	uint64_t n_missing; /* samples of Python with an unresolved frame */
	uint64_t n_unknown; /* processes whose Python cannot be read */
	uint32_t unresolved;
};

/* 0 or -ENOMEM. */
int wtl_python_init(struct wtl_python *python, struct wtl_modules *modules, struct wtl_tree *tree);
void wtl_python_done(struct wtl_python *python);

/* A process has mapped that module: is it CPython's? */
void wtl_python_mapped(struct wtl_python *python, const struct wtl_space *space, uint64_t start,
		       uint64_t offset, struct wtl_module *module);
void wtl_python_forked(struct wtl_python *python, int pid, int parent_pid);
/* It ended, or became another program. */
void wtl_python_ended(struct wtl_python *python, int pid);
/* How many samples may come together before they are glanced at: 1 if a process that runs Python needs haste. */
unsigned wtl_python_awaits(const struct wtl_python *python);
struct wtl_python_process *wtl_python_find(const struct wtl_python *python, int pid);
/* NULL: no memory. Until the next one. */
struct wtl_python_seen *wtl_python_seen_of(struct wtl_python_process *process, int tid);

/* Whether a function of CPython only leads from one function to the next. */
bool wtl_python_is_calling(const char *name);
/* A sample came. may_run: its thread may be on a processor, though not on the caller's. */
void wtl_python_glance(struct wtl_python *python, int pid, int tid, int64_t t_ns, int64_t now_ns,
		       bool may_run);
/* No sample from now on is of what was read since when.apart_ns. */
void wtl_python_forget(struct wtl_python *python, int64_t now_ns);
/* The node of a sample's stack; negative: no memory. */
int64_t wtl_python_merge(struct wtl_python *python, struct wtl_python_process *process,
			 const struct wtl_ring_event *sample,
			 const struct wtl_unwind_place places[], size_t n, bool is_whole);
/* Of a sample without a stack, which was glanced at just before; 0: the thread is not known to run Python. */
int64_t wtl_python_looked(struct wtl_python *python, struct wtl_python_process *process, int tid,
			  int64_t t_ns);

#endif
