/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_PYTHON_H
#define WTL_PROFILE_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/python_code.h"
#include "profile/python_read.h"
#include "profile/space.h"
#include "profile/unwind.h"

struct wtl_tree;

/*
 * Python functions in stacks of processes that run CPython. A sample comes twice: as soon as it is there, when its
 * thread's Python frames are read (glance); and in its order, when they are put in place of the interpreter's own
 * frames (merge).
 */

enum { WTL_PYTHON_PLACES = 512 }; /* of a stack, at the most */

struct wtl_python_named {
	uint32_t frame;	     /* of the tree */
	bool is_entry;	     /* as in wtl_python_frame */
	bool is_nobody;	     /* the loop was called, and has no frame yet */
	uint64_t begin, end; /* of its instructions */
};

struct wtl_python_reading {
	int tid;
	int64_t t_ns; /* the sample's */
	bool is_good; /* it could be read */
	bool is_cut;  /* frames towards its begin are missing */
	bool is_taken;
	size_t n;
	struct wtl_python_named *frames; /* the innermost first */
};

/* What a thread was last seen with. */
struct wtl_python_last {
	int tid;
	struct wtl_python_reading reading;
};

struct wtl_python_process {
	int pid;
	struct wtl_module *module; /* CPython's */
	uint8_t *kinds;		   /* what each of its symbols is to stacks; NULL: not asked yet */
	struct wtl_python_target target;
	struct wtl_python_codes codes;
	struct wtl_python_last *lasts;
	size_t n_lasts, room_lasts;
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
	struct wtl_python_reading *readings; /* as they came */
	size_t n_readings, room_readings;
	struct wtl_python_stack *stack;
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
/* There is a process that runs Python, and samples are to be glanced at at once. */
bool wtl_python_is_there(const struct wtl_python *python);
struct wtl_python_process *wtl_python_find(const struct wtl_python *python, int pid);

/* Whether a function of CPython only leads from one function to the next. */
bool wtl_python_is_calling(const char *name);
/* A sample came. */
void wtl_python_glance(struct wtl_python *python, int pid, int tid, int64_t t_ns, int64_t now_ns);
/* The node of a sample's stack; negative: no memory. */
int64_t wtl_python_merge(struct wtl_python *python, struct wtl_python_process *process,
			 const struct wtl_ring_event *sample,
			 const struct wtl_unwind_place places[], size_t n, bool is_whole);

#endif
