/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_TAILS_H
#define WTL_PROFILE_TAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/ring.h"
#include "profile/unwind.h"

/*
 * What of a stack lies beyond the part that the kernel copies: numpy's and OpenBLAS's functions have more than that in
 * one frame. Of threads whose stacks were cut lately, it is read from the program's memory as soon as a sample is in its
 * ring. Callers are still where they were, unless the function that ran has returned meanwhile.
 */

/* What a thread needs. All zeros: nothing yet. */
struct wtl_tail_need {
	int64_t cut_ns;	 /* a stack was cut then */
	size_t size;	 /* bytes */
	unsigned n_vain; /* tails in a row that led nowhere */
	uint64_t far;	 /* an address beyond those, where the last one was cut; 0: none was */
};

struct wtl_tail {
	int tid;
	int64_t t_ns; /* of its sample */
	uint64_t address;
	uint8_t *bytes; /* room for what was copied; then this many: */
	size_t n, room;
	uint8_t *far; /* a part further on, behind those */
	uint64_t far_address;
	size_t far_n;
};

struct wtl_tails {
	struct wtl_tail *list; /* a circle */
	size_t size, next;
	size_t copied;		      /* of the sample that was joined */
	int64_t cut_ns;		      /* the last time */
	struct wtl_ring_event joined; /* see wtl_tails_join() */
};

int wtl_tails_init(struct wtl_tails *tails); /* 0 or -ENOMEM */
void wtl_tails_done(struct wtl_tails *tails);

/* Whether samples are to be glanced at as soon as they are there, at that time. */
bool wtl_tails_are_needed(const struct wtl_tails *tails, int64_t now_ns);
/* A sample came, of a thread with that stack pointer. */
void wtl_tails_glance(struct wtl_tails *tails, const struct wtl_tail_need *need,
		      const struct wtl_ring_glance *glance, int64_t now_ns);
/* That sample's stack is cut. The sample with all of it that was read, until the next one; NULL: nothing was. */
const struct wtl_ring_event *wtl_tails_join(struct wtl_tails *tails, struct wtl_tail_need *need,
					    const struct wtl_ring_event *sample);
/* How the last one ended, its outermost place, and what was asked for where it was cut. */
void wtl_tails_learn(const struct wtl_tails *tails, struct wtl_tail_need *need,
		     enum wtl_unwind_end end, const struct wtl_unwind_place *outermost,
		     uint64_t cut_at);

#endif
