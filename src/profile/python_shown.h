/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_PYTHON_SHOWN_H
#define WTL_PROFILE_PYTHON_SHOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "profile/python_loop.h"

/*
 * Stacks that a sample shows by itself. Up to CPython 3.10 each Python function has a loop and a native frame of its
 * own, which keeps a pointer to the function's frame. What function a frame is of is known from stacks that were read.
 */

struct wtl_python_named {
	uint32_t frame;	     /* of the tree */
	bool is_entry;	     /* as in wtl_python_frame */
	bool is_nobody;	     /* the loop was called, and has no frame yet */
	uint64_t address;    /* of the interpreter's frame */
	uint64_t begin, end; /* of its instructions */
};

enum { WTL_PYTHON_SPOTS = 8 };

/* Where loops that called something have a pointer: the first of a habit's places that always had it. */
struct wtl_python_spots {
	struct wtl_python_habit habit;
	uint8_t places[WTL_PYTHON_SPOTS];
	size_t n;
};

struct wtl_python_shown_frame {
	struct wtl_python_named named; /* as it was read last */
	/* Until then it was another function's, or that is not known; 0: it never was; INT64_MAX: of one with the same
	 * code. */
	int64_t since_ns;
};

struct wtl_python_shown {
	bool is_used;
	struct wtl_python_spots frame, instruction;
	uint64_t learned; /* the frame of the last sample that was learned from */
	struct wtl_python_shown_frame *frames; /* that were read */
	size_t n, room;
	bool has_forgotten; /* some, as there were too many */
	struct wtl_hash by_address;
};

/* For a process whose C calls each frame. */
void wtl_python_shown_init(struct wtl_python_shown *shown);
void wtl_python_shown_done(struct wtl_python_shown *shown);

/* These frames were read at t_ns. */
void wtl_python_shown_read(struct wtl_python_shown *shown, const struct wtl_python_named frames[],
			   size_t n, int64_t t_ns);
/* A function was freed: `frame` is its number, and its instructions began there. */
void wtl_python_shown_forget(struct wtl_python_shown *shown, uint32_t frame, uint64_t begin);
/* The sample has this stack, the innermost frame first: learns where loops keep what leads to it. */
void wtl_python_shown_learn(struct wtl_python_shown *shown, const struct wtl_python_sample *sample,
			    const struct wtl_python_named frames[], size_t n);
/* Whether the sample shows the frame of each loop: copies them, the innermost first. */
bool wtl_python_shown_find(const struct wtl_python_shown *shown,
			   const struct wtl_python_sample *sample,
			   struct wtl_python_named ret_frames[]);

#endif
