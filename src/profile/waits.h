/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_WAITS_H
#define WTL_PROFILE_WAITS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Where a thread was while it was on no processor. The kernel shows its stack only some of the times that it leaves
 * one. A wait in between is placed at the stack that was shown a moment ago, or is a moment later, for the same
 * instruction and stack pointer; else at the one that is nearest by the thread's CPU time, before or after. If there is
 * none, its place is not known.
 */

enum { WTL_WAITS_OPEN = 4, WTL_WAITS_MARKS = 4 };

/* When a thread left a processor. */
struct wtl_waits_moment {
	int64_t cpu_ns; /* its CPU time up to then */
	int64_t t_ns;
	uint64_t mark; /* of its instruction and stack pointer; 0: not known */
};

struct wtl_waits_open {
	struct wtl_waits_moment left;
	uint32_t turn;
	int64_t wait_ns;
};

struct wtl_waits {
	uint32_t node;		       /* where it was last shown to leave; 0: nowhere yet */
	uint32_t n_turns;	       /* times that it left since then */
	struct wtl_waits_moment shown; /* when it was shown there */
	/* Waits since then, by time, not placed yet: the next shown one may be nearer. If too many, two are joined. */
	unsigned n;
	struct wtl_waits_open open[WTL_WAITS_OPEN];
	struct {
		uint64_t mark; /* 0: none */
		uint32_t node;
		int64_t t_ns;
	} marks[WTL_WAITS_MARKS]; /* where each was shown last */
};

/* A wait of wait_ns at that node; 0: place not known. is_guess: the thread was shown there before or after. */
typedef void wtl_waits_place_fn(void *context, uint32_t node, int64_t wait_ns, bool is_guess);

/* The thread left then, and waited. */
void wtl_waits_add(struct wtl_waits *waits, struct wtl_waits_moment left, int64_t wait_ns,
		   wtl_waits_place_fn *place, void *context);
/* The thread was shown to leave there. node: 0, if its stack is not known. */
void wtl_waits_show(struct wtl_waits *waits, uint32_t node, struct wtl_waits_moment left,
		    wtl_waits_place_fn *place, void *context);
/* Nothing more will be shown: places the waits left. */
void wtl_waits_end(struct wtl_waits *waits, wtl_waits_place_fn *place, void *context);

#endif
